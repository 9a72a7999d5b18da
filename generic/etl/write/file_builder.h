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

#include "base/bytes.h"
#include "etl/write/record_patch.h"
#include "etl/read/reader.h"

typedef struct EtlBuilder EtlBuilder;

/* What the header tells in the end. */
typedef struct EtlBuilderTotals {
    uint64_t eventsLost, buffersLost; /* of all inputs */
    int64_t end;                      /* ns since 1970; 0: the last event's time */
} EtlBuilderTotals;

/*
 * bufferSize: 0: the model's. compressed: buffers are stored as Windows' own compressed files have
 * them; files of a Windows before Vista cannot have them so. The model's reader stays open until the output is freed.
 */
EtlBuilder *EtlBuilderNew(const EtlInfo *base, uint32_t bufferSize, bool compressed, EtwText *to);
/* All times of the output are so many ns later (a multiple of 100); before the first record. */
void EtlBuilderShift(EtlBuilder *output, int64_t ns);
/* The first tick of the output's clock that is not before that time, and the time that it stands for. */
int64_t EtlBuilderTicks(const EtlBuilder *output, int64_t time, int64_t *timePtr);
/*
 * Append a record to its stream; full buffers go to *to. The events come in time order. ETW_E_LIMIT:
 * the record would have more than 64 KB (nothing is written). edit: what of its header to change, or
 * NULL.
 */
EtwStatus EtlBuilderAdd(
        EtlBuilder *output, const EtwEvent *event, const EtlEdit *edit, EtwText *to);
/* Would the record's time be no earlier than that of the last one in its stream? */
bool EtlBuilderInOrder(EtlBuilder *output, const EtwEvent *event, const EtlEdit *edit);
/* Another output of the same header, clock and form, nothing added yet; bufferMax: bounds its buffers. */
EtlBuilder *EtlBuilderNewLike(const EtlBuilder *output, uint32_t bufferMax, EtwText *to);
/* How large the file would be at most, if it ended after one more record. */
uint64_t EtlBuilderSizeAfterNext(const EtlBuilder *output);
/* What is in memory goes to *to, the final header buffer, which belongs at the file's start, to
 * *header. */
void EtlBuilderEnd(
        EtlBuilder *output, const EtlBuilderTotals *totals, EtwText *to, EtwText *header);
/*
 * Of a pipe, in which there is no way back to the header: what was added since the last slice as a
 * small file of its own, with the mark of its end (a buffer head that says: empty), instead of
 * EtlBuilderEnd. *to must have all that was given since; it is whole then, and to be emptied before
 * the next record is added, after EtlBuilderRestart.
 */
void EtlBuilderSlice(EtlBuilder *output, const EtlBuilderTotals *totals, EtwText *to);
void EtlBuilderRestart(EtlBuilder *output, EtwText *to);
uint64_t EtlBuilderBytes(const EtlBuilder *output);     /* given out so far */
uint64_t EtlBuilderConverted(const EtlBuilder *output); /* records whose time was another clock's */
/* Records that have no place for a field that an edit was to set. */
uint64_t EtlBuilderUnset(const EtlBuilder *output);
void EtlBuilderFree(EtlBuilder *output);

#endif
