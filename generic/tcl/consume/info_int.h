/*
 * tcl/consume/info_int.h --
 *
 *	Shared by the two forms of `etw info`: the dict (info_cmd.c) and the text (info_report.c).
 */
#ifndef ETW_INFO_INT_H
#define ETW_INFO_INT_H

#include "tcl/core/tclglue.h"
#include "flow/source/source.h"
#include "flow/summary/trace_stats.h"

/* One provider's events, all kinds combined. */
typedef struct EtwInfoProvider {
    EtwGuid guid;
    const char *name; /* owned by the statistics */
    uint64_t events;
    uint64_t origins[ETW_ORIGIN_COUNT];
    uint64_t covered[ETW_COVER_COUNT];
    uint64_t decoded, extra; /* events with all fields; those of them with bytes after the fields */
} EtwInfoProvider;

typedef struct EtwInfoProviders {
    EtwInfoProvider *list; /* most events first; EtwFree */
    int count;
    uint64_t decoded, extra; /* of all providers */
} EtwInfoProviders;

EtwInfoProviders EtwInfoProvidersOf(const EtwTraceStats *stats);
/* The text form; stats NULL: the header only. */
void EtwInfoText(EtwText *out, const EtwSource *source, const EtwTraceStats *stats);

/* Name of a bit of LogFileMode; NULL: none. */
const char *EtwInfoModeName(int bit);
const char *EtwInfoCompression(const EtlInfo *info);
const char *EtwInfoClock(const EtlInfo *info);
void EtwInfoSystem(EtwText *out, const EtlInfo *info, const EtwTraceStats *stats);

#endif
