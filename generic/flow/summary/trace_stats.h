/*
 * flow/summary/trace_stats.h --
 *
 *	Statistics of a trace's contents: the kinds of events with their counts, the source and coverage of
 *	their schemas, and facts about the machine from events. One pass.
 */
#ifndef ETW_TRACE_STATS_H
#define ETW_TRACE_STATS_H

#include "schema/model/schema.h"

/* How completely an event's payload is described. */
typedef enum EtwCoverage {
    ETW_COVER_FULL,     /* every byte is a named field */
    ETW_COVER_NEWER,    /* newer version than the schema: its first fields are known */
    ETW_COVER_LONGER,   /* all fields are there, and bytes follow them */
    ETW_COVER_SHORTER,  /* shorter than the schema */
    ETW_COVER_EVENT,    /* the provider is known, this event is not, or only by name */
    ETW_COVER_PROVIDER, /* the provider is unknown */
    ETW_COVER_FORMAT,   /* a WPP message whose format (.tmf) was not loaded */
    ETW_COVER_COUNT
} EtwCoverage;
const char *EtwCoverageName(EtwCoverage coverage); /* full, newer, ... format */
/* True if all fields of the schema are in the payload; other bytes may follow them. */
static inline bool EtwCoverageDecoded(EtwCoverage coverage)
{
    return coverage <= ETW_COVER_LONGER;
}

/*
 * Events with the same id or opcode and schema. Beyond a maximum number of kinds, the last one,
 * "(others)", has the rest.
 */
typedef struct EtwTraceStatsKind {
    struct EtwTraceStatsKind *next; /* in order of first event */
    EtwGuid provider;
    const char *providerName; /* GUID if it has no name */
    const char *event;        /* "id 7", "opcode 7" when it has no name */
    int origin;               /* EtwOrigin; -1: no schema */
    uint64_t count;
    uint64_t covered[ETW_COVER_COUNT];
} EtwTraceStatsKind;

/* computer, domain, cpus, mhz, memory (MB), architecture, processor, manufacturer, model, bios,
 * product, buildlab; of our own traces computer, system, tcl. */
typedef struct EtwTraceFact {
    struct EtwTraceFact *next;
    const char *name, *value;
} EtwTraceFact;

typedef struct EtwTraceStats {
    EtwTraceStatsKind *kinds;
    EtwTraceFact *facts;
    uint64_t events, header; /* header: records of the file itself, which are no events */
    uint64_t metadata;       /* number of schema events among them */
    uint64_t outside; /* number of events that do not set the range: metadata, names of processes */
    int64_t first, last; /* times, without those of such events if there are others; 0: no event */
} EtwTraceStats;

/* The store must outlive it. */
EtwTraceStats *EtwTraceStatsNew(EtwSchemaStore *store);
void EtwTraceStatsFree(EtwTraceStats *stats);
void EtwTraceStatsAdd(EtwTraceStats *stats, const EtwEvent *event);
const char *EtwTraceStatsFact(const EtwTraceStats *stats, const char *name); /* NULL: unknown */

/*
 * The common name of a version of Windows: "Windows 11 23H2", "Windows 10 1809 or Server 2019" if the
 * build does not distinguish them; unlisted builds are "Windows 10 build N". product: the name in the
 * trace, which distinguishes them, but says Windows 10 for Windows 11; may be NULL.
 */
void EtwWindowsName(
        EtwText *out, unsigned major, unsigned minor, unsigned build, const char *product);

#endif
