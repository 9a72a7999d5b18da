/*
 * tests/win/sim/sim_record.c --
 *
 *	An event of the core as EVENT_RECORD, which callbacks are given.
 */
#include "tests/win/sim/sim.h"
#include "base/bytes.h"
#include "etl/format.h"

static void AddItem(SimRecord *out, USHORT type, const void *data, USHORT size)
{
    EVENT_HEADER_EXTENDED_DATA_ITEM *item = &out->items[out->record.ExtendedDataCount];
    if (out->record.ExtendedDataCount == sizeof out->items / sizeof *out->items) {
        return;
    }
    memset(item, 0, sizeof *item);
    item->ExtType = type;
    item->DataSize = size;
    item->DataPtr = (ULONGLONG)(uintptr_t)data;
    if (out->record.ExtendedDataCount != 0) {
        item[-1].Linkage = 1;
    }
    out->record.ExtendedDataCount++;
}

/* The items as they are in the record. */
static void AddItems(SimRecord *out, const EtwEvent *event)
{
    EtwBytes b = EtwBytesOf(event->extended, event->extendedSize);
    while (EtwBytesLeft(&b) >= 8) {
        const uint8_t *at = b.at;
        uint16_t capacity = EtwLoad16(at), size = EtwLoad16(at + 6);
        if (capacity < 8 || EtwTake(&b, capacity) == NULL || size > capacity - 8) {
            break;
        }
        AddItem(out, EtwLoad16(at + 2), at + 8, size);
    }
}

void SimRecordFrom(SimRecord *out, const EtwEvent *event, LONGLONG time, PVOID context)
{
    EVENT_RECORD *r = &out->record;
    EVENT_HEADER *h = &r->EventHeader;
    memset(r, 0, sizeof *r);
    h->Size = (USHORT)event->recordSize;
    h->HeaderType = event->kind;
    h->Flags = event->flags;
    h->EventProperty = event->property;
    h->ThreadId = event->tid;
    h->ProcessId = event->pid;
    h->TimeStamp.QuadPart = time;
    memcpy(&h->ProviderId, &event->provider, sizeof h->ProviderId);
    memcpy(&h->EventDescriptor, &event->desc, sizeof h->EventDescriptor);
    h->KernelTime = event->kernelTime;
    h->UserTime = event->userTime;
    memcpy(&h->ActivityId, &event->activity, sizeof h->ActivityId);
    h->Flags |= event->pointerSize == 4 ? EVENT_HEADER_FLAG_32_BIT_HEADER
                                        : EVENT_HEADER_FLAG_64_BIT_HEADER;
    if (event->classic) {
        h->Flags |= EVENT_HEADER_FLAG_CLASSIC_HEADER;
    }
    if (event->kind == ETL_MARK_MESSAGE) {
        h->Flags |= EVENT_HEADER_FLAG_TRACE_MESSAGE;
    }
    h->Flags |= EVENT_HEADER_FLAG_PROCESSOR_INDEX;
    r->BufferContext.ProcessorIndex = event->cpu;
    r->BufferContext.LoggerId = event->logger;
    r->UserDataLength = (USHORT)event->payloadSize;
    r->UserData = (PVOID)(uintptr_t)event->payload;
    r->UserContext = context;
    AddItems(out, event);
    r->ExtendedData = r->ExtendedDataCount != 0 ? out->items : NULL;
}
