/*
 * tests/fuzz/fuzz_relog.c --
 *
 *	A file's events edited in every way that makes new records, and written as a file again. What is
 *	looked for besides the sanitizers' reports: an output that does not open, or that has another
 *	number of events than were put in; a text that was to be blotted out.
 *
 *	Seeds: *.etl
 */
#include "base/text.h"
#include "etl/write/file_builder.h"
#include "etl/read/reader.h"
#include "etl/write/record_rebuild.h"
#include "flow/relog/reorder_buffer.h"
#include "flow/relog/redact.h"
#include "flow/relog/rename.h"
#include "schema/model/decode.h"
#include <stdio.h>
#include <stdlib.h>

static const char *const globs[] = {"*a*", "N", "*ize*"};
static const char *const names[] = {"Tcl-Script", "Renamed", "*/Enter", "E"};

/* A macro, so that the report has the line. */
#define must(holds)                                                                                \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #holds);                    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

typedef struct Editor {
    EtwSchemaStore *store;
    EtwRedact *redact;
    EtwRename *rename;
    EtlRebuild rebuild;
    EtwReorder held;
    EtlBuilder *output;
    EtwText to;
    uint64_t added;
} Editor;

/* Items, payload and time in turn, by what the event has. */
static void change(Editor *e, EtwEvent *event, unsigned turn)
{
    static const uint8_t guid[16] = {1, 2, 3};
    uint32_t size = event->payloadSize;
    switch (turn % 6) {
    case 0:
        EtlRebuildItem(&e->rebuild, event, ETL_ITEM_RELATED_ACTIVITY, guid, sizeof guid);
        break;
    case 1:
        EtlRebuildItem(&e->rebuild, event, ETL_ITEM_SCHEMA_TL, NULL, 0);
        break;
    case 2:
        if (EtlRebuildPayload(&e->rebuild, event, guid, sizeof guid)) {
            must(event->payloadSize == sizeof guid);
        }
        break;
    case 3:
        if (EtlRebuildPayload(&e->rebuild, event, "", 0)) {
            must(event->payloadSize == 0);
        }
        break;
    case 4:
        if (EtlRebuildTime(
                    &e->rebuild, event, EtwTimeAdd(event->ticks, 5), EtwTimeAdd(event->time, 5))) {
            must(event->payloadSize == size);
        }
        break;
    default:
        EtwRenameEvent(e->rename, &e->rebuild, event);
        break;
    }
}

static void add(Editor *e, const EtwEvent *event)
{
    e->added += EtlBuilderAdd(e->output, event, NULL, &e->to) == ETW_OK;
}

static void edit(Editor *e, EtwEvent event, unsigned turn)
{
    EtwReorder *held = &e->held;
    EtwRedacted redacted = EtwRedactEvent(e->redact, &e->rebuild, &event);
    if (redacted != ETW_REDACT_UNKNOWN) {
        change(e, &event, turn);
    }
    if (turn % 7 == 0 && event.record != NULL) {
        EtwReorderAdd(held, &event);
    } else {
        add(e, &event);
    }
    if (held->count > 3 && EtwReorderNext(held, INT64_MAX, &event)) {
        add(e, &event);
    }
}

/* The output reads as many events as were added, besides those of its header. */
static void checkOutput(Editor *e)
{
    EtwText header = {0};
    EtlReader *reader;
    EtwEvent event;
    uint64_t count = 0;
    EtlBuilderEnd(e->output, &(EtlBuilderTotals){0}, &e->to, &header);
    must(header.size <= e->to.size);
    memcpy(e->to.data, header.data, header.size);
    must(EtlReaderOpenMemory(
                 &reader, (const uint8_t *)e->to.data, e->to.size, 0, NULL, NULL, NULL) == ETW_OK);
    while (EtlReaderNext(reader, &event) == ETW_OK) {
        count += !EtlInHeader(EtlReaderInfo(reader), &event);
    }
    must(count == e->added);
    EtlReaderClose(reader);
    EtwTextFree(&header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EtlReader *reader;
    EtwError error;
    EtwEvent event;
    Editor e = {.added = 0};
    if (EtlReaderOpenMemory(&reader, data, size, 0, NULL, NULL, &error) != ETW_OK) {
        return 0;
    }
    e.store = EtwSchemaStoreNew();
    e.redact = EtwRedactNew(e.store, globs, 3);
    must(EtwRenameNew(&e.rename, names, 4, &error) == ETW_OK);
    e.output = EtlBuilderNew(EtlReaderInfo(reader), 0, (size & 1) != 0, &e.to);
    for (unsigned turn = 0; EtlReaderNext(reader, &event) == ETW_OK; turn++) {
        if (!EtlInHeader(EtlReaderInfo(reader), &event)) {
            edit(&e, event, turn);
        }
    }
    while (EtwReorderNext(&e.held, INT64_MAX, &event)) {
        add(&e, &event);
    }
    checkOutput(&e);
    EtlBuilderFree(e.output);
    EtwReorderFree(&e.held);
    EtlRebuildFree(&e.rebuild);
    EtwRenameFree(e.rename);
    EtwRedactFree(e.redact);
    EtwSchemaStoreFree(e.store);
    EtwTextFree(&e.to);
    EtlReaderClose(reader);
    return 0;
}
