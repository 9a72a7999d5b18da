/*
 * etl/write/file_builder.h --
 *
 *	Records of one or many traces as the bytes of one .etl file: the header buffer of a file that
 *	stands model, then buffers of one logger and CPU each. Records are copied as they are; only a
 *	time of another clock is converted, by wall time, to the model's. Pure memory: the caller writes
 *	the bytes, and the header once more at the end, when its counts are known.
 *
 *	A session's own file, whose buffers are rewritten while they fill, is etl/write/writer.h's.
 */
#ifndef ETW_FILE_BUILDER_H
#define ETW_FILE_BUILDER_H

#include "base/bytes.h"
#include "etl/write/record_patch.h"
#include "etl/read/reader.h"

typedef struct EtlOutput EtlOutput;

/* What the header tells in the end. */
typedef struct EtlOutputTotals {
    uint64_t eventsLost, buffersLost; /* of all inputs */
    int64_t end;                      /* ns since 1970; 0: the last event's time */
} EtlOutputTotals;

/*
 * bufferSize: 0: the model's. compressed: buffers are stored as Windows' own compressed files have
 * them; files of a Windows before Vista cannot have them so. The model's reader stays open until the output is freed.
 */
EtlOutput *EtlOutputNew(const EtlInfo *model, uint32_t bufferSize, bool compressed, EtwText *to);
/* All times of the output are so many ns later (a multiple of 100); before the first record. */
void EtlOutputShift(EtlOutput *output, int64_t ns);
/* The first tick of the output's clock that is not before that time, and the time that it stands for. */
int64_t EtlOutputTicks(const EtlOutput *output, int64_t time, int64_t *timePtr);
/*
 * Append a record to its stream; full buffers go to *to. The events come in time order. ETW_E_LIMIT:
 * the record would have more than 64 KB (nothing is written). edit: what of its header to change, or
 * NULL.
 */
EtwStatus EtlOutputAdd(EtlOutput *output, const EtwEvent *event, const EtlEdit *edit, EtwText *to);
/* Would the record's time be no earlier than that of the last one in its stream? */
bool EtlOutputRises(EtlOutput *output, const EtwEvent *event, const EtlEdit *edit);
/* Another output of the same header, clock and form, nothing added yet; bufferMax: bounds its buffers. */
EtlOutput *EtlOutputLike(const EtlOutput *output, uint32_t bufferMax, EtwText *to);
/* How large the file would be at most, if it ended after one more record. */
uint64_t EtlOutputSizeMore(const EtlOutput *output);
/* What is in memory goes to *to, the final header buffer, which belongs at the file's start, to
 * *header. */
void EtlOutputEnd(EtlOutput *output, const EtlOutputTotals *totals, EtwText *to, EtwText *header);
/*
 * Of a pipe, in which there is no way back to the header: what was added since the last slice as a
 * small file of its own, with the mark of its end (a buffer head that says: empty), instead of
 * EtlOutputEnd. *to must have all that was given since; it is whole then, and to be emptied before
 * the next record is added, after EtlOutputRestart.
 */
void EtlOutputSlice(EtlOutput *output, const EtlOutputTotals *totals, EtwText *to);
void EtlOutputRestart(EtlOutput *output, EtwText *to);
uint64_t EtlOutputBytes(const EtlOutput *output);     /* given out so far */
uint64_t EtlOutputConverted(const EtlOutput *output); /* records whose time was another clock's */
/* Records that have no place for a field that an edit was to set. */
uint64_t EtlOutputUnset(const EtlOutput *output);
void EtlOutputFree(EtlOutput *output);

#endif
