/*
 * flow/source/source_records.c --
 *
 *	A source of records in memory, for tests of filters and callbacks without a session. Sorts
 *	and delivers the records; etl/record.h builds them.
 */
#include "flow/source/source_records.h"
#include "etl/record.h"
#include "flow/source/source_int.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct Kept {
    size_t at; /* offset of the record in `bytes` */
    size_t size;
    int64_t time;
    int order; /* in the input */
    uint16_t cpu;
} Kept;

typedef struct Records {
    EtwSource base;
    EtwText bytes;
    Kept *kept;
    int count, next;
} Records;

/* False: not a complete record. */
static bool parse(const Records *r, const Kept *kept, EtwEvent *event)
{
    size_t size;
    const uint8_t *data = (const uint8_t *)r->bytes.data + kept->at;
    if (!EtlRecordParse(data, kept->size, event, &size)) {
        return false;
    }
    event->time = kept->time;
    event->cpu = kept->cpu;
    event->logger = 0;
    return true;
}

static EtwStatus recordsNext(EtwSource *source, EtwEvent *event)
{
    Records *r = (Records *)source;
    if (r->next == r->count) {
        return ETW_END;
    }
    parse(r, &r->kept[r->next++], event);
    return ETW_OK;
}

static void recordsClose(EtwSource *source)
{
    Records *r = (Records *)source;
    EtwTextFree(&r->bytes);
    EtwFree(r->kept);
    EtwFree(r);
}

static double recordsProgress(const EtwSource *source)
{
    const Records *r = (const Records *)source;
    return r->count != 0 ? (double)r->next / r->count : 1;
}

/* Schema events may follow the events that they describe. */
static bool recordsHarvest(EtwSource *source, EtwSchemaStore *store)
{
    const Records *r = (const Records *)source;
    EtwEvent event;
    for (int i = 0; i < r->count; i++) {
        if (parse(r, &r->kept[i], &event) && EtwEventIsSchema(&event)) {
            EtwSchemaHarvest(store, &event);
        }
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    const Kept *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
                              : (x->order > y->order) - (x->order < y->order);
}

/* Copy a record. A record without a time gets the time of the previous one. */
static bool keep(Records *r, const EtwRecordPart *part)
{
    static const char padding[8];
    Kept *kept = &r->kept[r->count];
    EtwEvent event;
    *kept = (Kept){.at = r->bytes.size, .size = part->size, .order = r->count, .cpu = part->cpu};
    EtwTextAdd(&r->bytes, part->data, part->size);
    if (!parse(r, kept, &event)) {
        return false;
    }
    EtwTextAdd(&r->bytes, padding, EtwAlign8(part->size) - part->size);
    kept->time = event.ticks != ETL_NO_TICKS ? event.ticks : r->count != 0 ? kept[-1].time : 0;
    r->count++;
    return true;
}

EtwStatus EtwSourceRecords(
        EtwSource **sourcePtr, const EtwRecordPart *parts, int count, EtwError *errPtr)
{
    static const EtwSourceOps ops = {.next = recordsNext,
            .close = recordsClose,
            .progress = recordsProgress,
            .harvest = recordsHarvest};
    Records *r = EtwAlloc(sizeof *r);
    r->base.ops = &ops;
    r->kept = EtwAlloc(sizeof *r->kept * ((size_t)count + 1));
    while (r->count < count) {
        if (!keep(r, &parts[r->count])) {
            char number[16];
            snprintf(number, sizeof number, "%d", r->count);
            EtwFail(errPtr, ETW_E_FORMAT, "RECORD", number,
                    "record number %s of \"-records\" is incomplete: expected records that \"etw "
                    "test event\" makes",
                    number);
            recordsClose(&r->base);
            return ETW_E_FORMAT;
        }
    }
    qsort(r->kept, (size_t)count, sizeof *r->kept, compare);
    *sourcePtr = &r->base;
    return ETW_OK;
}
