/*
 * flow/timeline/timeline.h --
 *
 *	The data of a timeline view. A trace is read once and stored as columns of numbers (about 30 bytes an
 *	event); queries return the visible part. Lanes: losses and marks; one per thread (nested calls, other
 *	events, gaps while it is off the CPU); one per CPU (the running thread). Payloads are not stored; an
 *	event is identified by its number in the source. Draws nothing.
 */
#ifndef ETW_TIMELINE_H
#define ETW_TIMELINE_H

#include "flow/calls/call_tree.h"

typedef struct EtwTimeline EtwTimeline;

/* The store must outlive EtwTimelineEnd. */
EtwTimeline *EtwTimelineNew(EtwSchemaStore *store);
/*
 * Events must be in the source's order. ETW_E_LIMIT: there are 2^32 - 2 already, and this one is
 * ignored.
 */
EtwStatus EtwTimelineAdd(EtwTimeline *timeline, const EtwEvent *event);
/* After the last event: end open boxes. Queries are possible before that. */
void EtwTimelineEnd(EtwTimeline *timeline);
void EtwTimelineFree(EtwTimeline *timeline);

/* ---- The whole timeline ---------------------------------------------------------------------- */

#define ETW_NO_EVENT UINT32_MAX

typedef struct EtwTimelineInfo {
    uint32_t events;
    int lanes;
    int64_t first, last; /* times of events; last < first: there are none */
    int64_t begin;       /* of the first event that is not about the session, otherwise first */
    uint64_t calls, cut, unmatched;
    uint64_t unordered; /* events with a time before their lane's last one: shown at that time */
    uint64_t folded;    /* calls deeper than ETW_CALL_LEVELS, which have no box */
    uint64_t headers;   /* of the events: records of the files' headers */
    uint64_t reported;  /* events that report losses */
    size_t memory;      /* bytes of the columns */
} EtwTimelineInfo;
uint32_t EtwTimelineCount(const EtwTimeline *timeline); /* of events */
void EtwTimelineGetInfo(const EtwTimeline *timeline, EtwTimelineInfo *info);

/*
 * A text by its number in boxes and rows: valid UTF-8 without control characters; long texts are
 * truncated.
 */
const char *EtwTimelineText(const EtwTimeline *timeline, uint32_t text);
uint32_t EtwTimelineTextCount(const EtwTimeline *timeline);

/* ---- Lanes ----------------------------------------------------------------------------------- */

typedef enum EtwLaneKind { ETW_LANE_NOTES, ETW_LANE_THREAD, ETW_LANE_CPU } EtwLaneKind;
const char *EtwLaneKindName(EtwLaneKind kind);

typedef struct EtwLaneInfo {
    EtwLaneKind kind;
    uint32_t pid, tid;   /* of a thread; for a CPU pid is its number */
    const char *process; /* NULL: unknown */
    int levels;          /* maximum number of nested calls */
    uint64_t events;
    bool gaps; /* there are events about when it was off the CPU */
    uint64_t errors;
} EtwLaneInfo;
/* False: no such lane. Lane numbers do not change. */
bool EtwTimelineLane(const EtwTimeline *timeline, int lane, EtwLaneInfo *info);

/* ---- Visible boxes (timeline_boxes.c) --------------------------------------------------------- */

typedef enum EtwBoxKind {
    ETW_BOX_CALL,
    ETW_BOX_EVENT, /* a point */
    ETW_BOX_GAP,   /* off the CPU; text: reason */
    ETW_BOX_RUN,   /* a CPU runs a thread; text: its name */
    ETW_BOX_MATCH  /* a point found by a search */
} EtwBoxKind;
const char *EtwBoxKindName(EtwBoxKind kind);

enum {
    ETW_MARK_ERROR = 1,  /* call left with an error; event of level error or critical */
    ETW_MARK_CUT = 2,    /* call without a leave */
    ETW_MARK_ASLEEP = 4, /* call suspended by a yield, or whose leave was lost, or that ended
                            with its thread */
    ETW_MARK_OPEN = 8,   /* not ended yet (live) */
    ETW_MARK_LOSS = 16,  /* event that reports losses */
    ETW_MARK_NOTE = 32   /* a user's mark */
};

typedef struct EtwTimeBox {
    EtwBoxKind kind;
    int lane, level;
    int64_t from, to;
    uint32_t text;  /* of several boxes: of the longest one sampled */
    uint32_t event; /* of several boxes: the first one */
    uint32_t count; /* number of boxes that are too small to be shown separately */
    unsigned marks;
} EtwTimeBox;
typedef void EtwTimeBoxProc(void *ctx, const EtwTimeBox *box);

/*
 * The boxes of a lane that overlap [from, to], in order of kind, level and time. Boxes shorter than
 * `grain` ns are combined with their neighbours, so that a row has at most about (to - from) /
 * grain * 2 boxes, whatever the size of the trace.
 */
void EtwTimelineBoxes(const EtwTimeline *timeline, int lane, int64_t from, int64_t to,
        int64_t grain, EtwTimeBoxProc *visit, void *ctx);
/*
 * The box at that time. Kinds ETW_BOX_EVENT, MATCH: the nearest one at most `slack` ns away;
 * others: the one that contains it. False: none.
 */
bool EtwTimelineAt(const EtwTimeline *timeline, int lane, EtwBoxKind kind, int level, int64_t time,
        int64_t slack, EtwTimeBox *box);

/* ---- Statistics of a span (timeline_totals.c) -------------------------------------------------- */

typedef struct EtwSpanCall {
    uint32_t text;
    uint64_t calls, errors;
    uint64_t total; /* ns within the span; in a recursion each level counts */
    uint64_t self;
} EtwSpanCall;
typedef struct EtwSpanEvent {
    uint32_t provider, event; /* texts */
    uint64_t count;
} EtwSpanEvent;
typedef struct EtwSpanWait {
    uint32_t text;
    uint64_t count, total;
} EtwSpanWait;
typedef struct EtwSpan {
    EtwSpanCall *calls; /* most self time first */
    EtwSpanEvent *events;
    EtwSpanWait *waits;
    size_t callCount, eventCount, waitCount;
} EtwSpan;
/* Statistics of all lanes, or of one (lane >= 0). */
void EtwTimelineSpan(
        const EtwTimeline *timeline, int lane, int64_t from, int64_t to, EtwSpan *span);
void EtwSpanFree(EtwSpan *span);

/* ---- Events as rows ---------------------------------------------------------------------------- */

typedef struct EtwTimeRowInfo {
    int64_t time;
    int lane;
    uint16_t cpu;
    uint32_t provider, event; /* texts */
    unsigned marks;
} EtwTimeRowInfo;
bool EtwTimelineRow(const EtwTimeline *timeline, uint32_t event, EtwTimeRowInfo *row);
/* The first event that is not before that time; the count of events when there is none. */
uint32_t EtwTimelineFind(const EtwTimeline *timeline, int64_t time);

/* ---- Matches of a search ----------------------------------------------------------------------- */

void EtwTimelineUnmatch(EtwTimeline *timeline); /* all */
/* Must be called with increasing numbers. */
void EtwTimelineMatch(EtwTimeline *timeline, uint32_t event);
uint32_t EtwTimelineMatches(const EtwTimeline *timeline);
/* The match number `index` (from 0) in order; ETW_NO_EVENT: none. */
uint32_t EtwTimelineMatchAt(const EtwTimeline *timeline, uint32_t index);
/* The number of matches before that event, which is the index of the next match. */
uint32_t EtwTimelineMatchesBefore(const EtwTimeline *timeline, uint32_t event);

#endif
