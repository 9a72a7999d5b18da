/*
 * etl/write/file_builder.h --
 *
 *	Combines records of one or several traces into the bytes of one .etl file: a header buffer, which
 *	is copied from a template file, then buffers of one logger and CPU each. Records are copied
 *	unchanged, except that times of another clock are converted, by wall time, to the template's clock.
 *	In memory only: the caller writes the bytes, and writes the header again at the end, when its
 *	counts are known.
 *
 *	etl/write/writer.h writes a session's own file, whose buffers are rewritten while they fill.
 */
#ifndef ETW_FILE_BUILDER_H
#define ETW_FILE_BUILDER_H

#include "base/text.h"
#include "etl/write/record_patch.h"
#include "etl/read/reader.h"

typedef struct EtlBuilder EtlBuilder;

/* Totals that the final header contains. */
typedef struct EtlBuilderTotals {
    uint64_t eventsLost, buffersLost; /* of all inputs */
    int64_t end;                      /* ns since 1970; 0: the last event's time */
} EtlBuilderTotals;

/*
 * base: the template; its reader stays open until the output is freed. bufferSize: 0: that of the
 * template. compressed: as in Windows' compressed files; not for files of a Windows before Vista.
 */
EtlBuilder *EtlBuilderNew(const EtlInfo *base, uint32_t bufferSize, bool compressed, EtwText *to);
/* Add `ns` (a multiple of 100) to all times of the output. Called before the first record is added. */
void EtlBuilderShift(EtlBuilder *output, int64_t ns);
/* The first tick of the output's clock that is not before `time`, and the time of that tick. */
int64_t EtlBuilderTicks(const EtlBuilder *output, int64_t time, int64_t *timePtr);
/*
 * Append a record to its stream; full buffers go to *to. The events come in time order. ETW_E_LIMIT:
 * the record would have more than 64 KB (nothing is written). edit: header fields to change, or NULL.
 */
EtwStatus EtlBuilderAdd(
        EtlBuilder *output, const EtwEvent *event, const EtlEdit *edit, EtwText *to);
/* True if the record's time is not earlier than that of the last record in its stream. */
bool EtlBuilderInOrder(EtlBuilder *output, const EtwEvent *event, const EtlEdit *edit);
/* A new output with the same header, clock and format. bufferMax: limit of its buffers. */
EtlBuilder *EtlBuilderNewLike(const EtlBuilder *output, uint32_t bufferMax, EtwText *to);
/* The maximum size of the file if it ended after one more record. */
uint64_t EtlBuilderSizeAfterNext(const EtlBuilder *output);
/* Write the remaining buffers to *to, and the final header buffer, which belongs at the file's start,
 * to *header. */
void EtlBuilderEnd(
        EtlBuilder *output, const EtlBuilderTotals *totals, EtwText *to, EtwText *header);
/*
 * For a pipe, where the header cannot be rewritten; used instead of EtlBuilderEnd. Completes the
 * records since the last slice as a small file, which ends with an empty buffer as an end mark. *to must
 * contain all output since the last slice. The caller empties it and calls EtlBuilderRestart before it
 * adds the next record.
 */
void EtlBuilderSlice(EtlBuilder *output, const EtlBuilderTotals *totals, EtwText *to);
void EtlBuilderRestart(EtlBuilder *output, EtwText *to);
uint64_t EtlBuilderBytes(const EtlBuilder *output); /* written so far */
uint64_t EtlBuilderConverted(
        const EtlBuilder *output); /* records whose time was converted from another clock */
/* Records that lack a field that an edit sets. */
uint64_t EtlBuilderUnset(const EtlBuilder *output);
void EtlBuilderFree(EtlBuilder *output);

#endif
