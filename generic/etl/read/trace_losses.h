/*
 * etl/read/trace_losses.h --
 *
 *	What a file lacks: the losses that its session counted, buffers that are missing according to the
 *	file's header or to the buffers' sequence numbers, and buffers that occur twice. All commands
 *	report them in the sentences of EtlLossesVisit. Damage inside the file is not found here, but
 *	while its buffers are indexed (buffer_index.c) and read (reader.c); EtlInfo.damages counts it.
 */
#ifndef ETW_TRACE_LOSSES_H
#define ETW_TRACE_LOSSES_H

#include "etl/read/reader.h"

/* A buffer after the header buffer, with or without records. */
typedef struct EtlSequence {
    int64_t number;
    uint16_t logger, cpu;
} EtlSequence;

/*
 * Store in info->loggers which sequence numbers are missing, and in info->repeated how many buffers
 * have a number that another buffer has. Sorts the list. Called after duplicates were counted.
 */
void EtlLossesFind(EtlInfo *info, EtlSequence *list, size_t count);

/* Add the losses and the numbers of buffers of a later part of the same trace. */
void EtlLossesAdd(EtlInfo *info, const EtlInfo *part);

/* The number of buffers that the file's header counts and that are not in the file. */
uint32_t EtlLossesUnread(const EtlInfo *info);
/* The number of buffers that are lost: counted by the session, or missing. */
uint64_t EtlLossesBuffers(const EtlInfo *info);

/* Calls proc with a sentence for each kind of loss. Losses are known as soon as the file is open. */
typedef void EtlLossProc(void *ctx, const char *sentence);
void EtlLossesVisit(const EtlInfo *info, EtlLossProc *proc, void *ctx);
/* True if there is no loss, duplicate or damage that is known without reading all records. */
bool EtlLossesNone(const EtlInfo *info);

#endif
