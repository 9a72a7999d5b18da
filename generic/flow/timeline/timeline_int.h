/*
 * flow/timeline/timeline_int.h --
 *
 *	The timeline's columns, shared by timeline*.c. Each column is an array that grows by half. A row's
 *	boxes do not overlap and are in time order, so that queries use binary search; there are no copies
 *	for coarser views.
 */
#ifndef ETW_TIMELINE_INT_H
#define ETW_TIMELINE_INT_H

#include "flow/timeline/timeline.h"

#define TIME_OPEN INT64_MAX /* end of a box that has not ended */
#define TIME_RESUMED 128 /* mark of a row: the box continues a call that has yielded; not shown */

/* Boxes of one level of a lane, its gaps, or the runs of a CPU. */
typedef struct TimeRow {
    int64_t *start, *end;
    uint32_t *text, *event;
    uint8_t *marks;
    uint32_t count, capacity;
    uint32_t *bad; /* numbers of the boxes with ETW_MARK_ERROR */
    uint32_t badCount, badCapacity;
} TimeRow;

/* Points of one lane. */
typedef struct TimePoints {
    int64_t *time;
    uint32_t *event;
    uint32_t count, capacity;
} TimePoints;

typedef struct TimeLane {
    EtwTableNode node; /* by kind, pid, tid */
    EtwLaneInfo info;
    uint32_t number;
    int64_t last;
    TimeRow *levels;
    int depth;     /* number of open calls */
    TimeRow spans; /* a thread's gaps, a CPU's runs */
    TimePoints points, bad, matches;
    uint32_t runTid;         /* a CPU: the thread that the last switch started; 0: none */
    int64_t runSeen;         /* the last event that shows that it runs there */
    const char *lastProcess; /* info.process as in the last event: only compared */
} TimeLane;

/* A kind of event. */
typedef struct TimeKind {
    uint32_t provider, event;
    uint8_t marks;
    bool call; /* enter or leave: drawn as a box */
    bool own;  /* about the session itself */
    bool wake; /* may belong to a thread that does not run yet */
} TimeKind;

enum { BLOCK = 512 };

struct EtwTimeline {
    EtwSchemaStore *store;
    EtwCalls *calls; /* NULL: ended */
    bool ending;
    EtwTable laneTable, textTable, kindTable, rowTable, threadTable;
    TimeLane **lanes;
    int laneCount, laneCapacity;
    TimeLane *lastLane;
    TimeLane **cpus; /* by number; NULL: none yet */
    uint32_t cpuCapacity;
    char **texts;
    uint32_t textCount, textCapacity;
    TimeKind *kinds;
    uint32_t kindCount, kindCapacity;
    /* Columns of all events. */
    int64_t *time;
    uint32_t *lane, *kind;
    uint16_t *cpu;
    uint32_t count, capacity;
    int64_t *blockMax; /* largest time up to the end of each BLOCK, for searching by time */
    uint32_t blockCapacity;
    int64_t first, last;
    int64_t begin; /* of the first event that is not about the session; INT64_MAX: none */
    uint32_t *matched;
    uint32_t matchCount, matchCapacity;
    uint64_t unordered, reported, folded, headers;
    EtwTimelineInfo final; /* counts of the calls, valid after the end */
};

/* Reserve one more element of a column. Capacities grow by half. */
#define TIME_GROW(array, count, capacity)                                                          \
    ((count) < (capacity) ? (void)0                                                                \
                          : (void)((capacity) = (capacity) + (capacity) / 2 + 8,                   \
                                    (array) = EtwRealloc(                                          \
                                            (array), (size_t)(capacity) * sizeof *(array))))

/* Append a point; times must not decrease. */
void EtwTimePoint(TimePoints *points, int64_t time, uint32_t event);
/*
 * The first index in [low, count) whose value is not less than / greater than `value`. Fast if it
 * is near `low`.
 */
uint32_t EtwTimeLower(const int64_t *values, uint32_t low, uint32_t count, int64_t value);
uint32_t EtwTimeUpper(const int64_t *values, uint32_t low, uint32_t count, int64_t value);
/* The end of a box; of an open box the end of the trace. */
static inline int64_t EtwTimeEnd(const EtwTimeline *t, const TimeRow *row, uint32_t i)
{
    return row->end[i] != TIME_OPEN  ? row->end[i]
           : t->last > row->start[i] ? t->last
                                     : row->start[i];
}

#endif
