/*
 * flow/timeline/timeline_totals.c --
 *
 *	Statistics of a span of a timeline: calls by proc with their self and total time within the
 *	span, events by kind, gaps by cause. One pass over the span.
 */
#include "flow/timeline/timeline_int.h"
#include "base/heap.h"
#include <stdlib.h>

typedef struct Sums {
    const EtwTimeline *timeline;
    int64_t from, to;
    EtwSpanCall *calls; /* by text */
    EtwSpanWait *waits; /* by text */
    int64_t *covered;   /* by text: the end of the last outermost call on this lane */
} Sums;

/* The part of the box in ns that lies in the span. */
static uint64_t inside(const Sums *s, const TimeRow *row, uint32_t i)
{
    int64_t end = EtwTimeEnd(s->timeline, row, i);
    int64_t from = row->start[i] > s->from ? row->start[i] : s->from;
    int64_t to = end < s->to ? end : s->to;
    return to > from ? (uint64_t)to - (uint64_t)from : 0;
}

static uint32_t firstIn(const Sums *s, const TimeRow *row)
{
    return EtwTimeLower(row->end, 0, row->count, s->from);
}

/* The next call of a level. Callers come before the calls that they make. */
typedef struct NextCall {
    const TimeRow *row;
    int level;
    uint32_t at;
} NextCall;

static bool isEarlier(NextCall a, NextCall b)
{
    int64_t x = a.row->start[a.at], y = b.row->start[b.at];
    return x != y ? x < y : a.level < b.level;
}
ETW_HEAP(Next, NextCall, isEarlier)

/* In a recursion, the total is the time of the outermost call. */
static void addCall(Sums *s, const TimeRow *row, uint32_t i)
{
    uint32_t text = row->text[i];
    EtwSpanCall *sum = &s->calls[text];
    uint64_t ns = inside(s, row, i);
    sum->calls += (row->marks[i] & TIME_RESUMED) == 0 || sum->calls == 0;
    sum->errors += (row->marks[i] & ETW_MARK_ERROR) != 0;
    sum->self += ns;
    if (row->start[i] >= s->covered[text]) {
        s->covered[text] = EtwTimeEnd(s->timeline, row, i);
        sum->total += ns;
    }
}

static bool isIn(const Sums *s, const TimeRow *row, uint32_t i)
{
    return i < row->count && row->start[i] <= s->to;
}

/* The calls of all levels in the order of their starts. */
static void addCalls(Sums *s, const TimeLane *lane)
{
    NextCall *next = (NextCall *)EtwAlloc(((size_t)lane->info.levels + 1) * sizeof *next);
    size_t count = 0;
    for (uint32_t i = 0; i < s->timeline->textCount; i++) {
        s->covered[i] = INT64_MIN;
    }
    for (int i = 0; i < lane->info.levels; i++) {
        const TimeRow *row = &lane->levels[i];
        uint32_t first = firstIn(s, row);
        if (isIn(s, row, first)) {
            NextPush(next, count++, (NextCall){row, i, first});
        }
    }
    while (count > 0) {
        addCall(s, next[0].row, next[0].at);
        if (isIn(s, next[0].row, ++next[0].at)) {
            NextReplace(next, count, next[0]);
        } else {
            NextPop(next, --count);
        }
    }
    EtwFree(next);
}

/* Subtract the time of calls one level deeper from the self time of their callers. */
static void subtractChildren(Sums *s, const TimeRow *parents, const TimeRow *row)
{
    uint32_t p = firstIn(s, parents);
    for (uint32_t i = firstIn(s, row); i < row->count && row->start[i] <= s->to; i++) {
        while (p + 1 < parents->count && parents->start[p + 1] <= row->start[i]) {
            p++;
        }
        if (p < parents->count && parents->start[p] <= row->start[i]) {
            EtwSpanCall *sum = &s->calls[parents->text[p]];
            uint64_t ns = inside(s, row, i);
            sum->self -= ns < sum->self ? ns : sum->self;
        }
    }
}

static void addLane(Sums *s, const TimeLane *lane)
{
    addCalls(s, lane);
    for (int i = 1; i < lane->info.levels; i++) {
        subtractChildren(s, &lane->levels[i - 1], &lane->levels[i]);
    }
    const TimeRow *gaps = &lane->spans;
    if (lane->info.kind != ETW_LANE_THREAD) {
        return;
    }
    for (uint32_t i = firstIn(s, gaps); i < gaps->count && gaps->start[i] <= s->to; i++) {
        s->waits[gaps->text[i]].count++;
        s->waits[gaps->text[i]].total += inside(s, gaps, i);
    }
}

static int bySelf(const void *a, const void *b)
{
    const EtwSpanCall *x = a, *y = b;
    if (x->self != y->self) {
        return x->self > y->self ? -1 : 1;
    }
    return x->calls != y->calls ? (x->calls > y->calls ? -1 : 1) : x->text < y->text ? -1 : 1;
}

static int byTotal(const void *a, const void *b)
{
    const EtwSpanWait *x = a, *y = b;
    return x->total != y->total ? (x->total > y->total ? -1 : 1) : x->text < y->text ? -1 : 1;
}

static int byCount(const void *a, const void *b)
{
    const EtwSpanEvent *x = a, *y = b;
    if (x->count != y->count) {
        return x->count > y->count ? -1 : 1;
    }
    return x->provider != y->provider ? (x->provider < y->provider ? -1 : 1)
           : x->event < y->event      ? -1
                                      : 1;
}

/* Keep the entries that are used, in order. */
static void keepCalls(const EtwTimeline *t, EtwSpan *span)
{
    for (uint32_t i = 0; i < t->textCount; i++) {
        if (span->calls[i].calls > 0) {
            span->calls[span->callCount] = span->calls[i];
            span->calls[span->callCount++].text = i;
        }
        if (span->waits[i].count > 0) {
            span->waits[span->waitCount] = span->waits[i];
            span->waits[span->waitCount++].text = i;
        }
    }
    qsort(span->calls, span->callCount, sizeof *span->calls, bySelf);
    qsort(span->waits, span->waitCount, sizeof *span->waits, byTotal);
}

/* Kinds with the same name (versions, levels) are combined. */
static void addEvents(EtwSpan *span, const TimeKind *kind, uint64_t count)
{
    for (size_t i = 0; i < span->eventCount; i++) {
        EtwSpanEvent *e = &span->events[i];
        if (e->provider == kind->provider && e->event == kind->event) {
            e->count += count;
            return;
        }
    }
    span->events[span->eventCount++] = (EtwSpanEvent){kind->provider, kind->event, count};
}

static void countEvents(const EtwTimeline *t, int lane, int64_t from, int64_t to, EtwSpan *span)
{
    uint64_t *counts = EtwAlloc((t->kindCount + 1) * sizeof *counts);
    uint32_t blocks = (t->count + BLOCK - 1) / BLOCK;
    uint32_t end = EtwTimeUpper(t->blockMax, 0, blocks, to);
    uint32_t last = end < blocks && t->unordered == 0 ? (end + 1) * BLOCK : t->count;
    for (uint32_t i = EtwTimelineFind(t, from); i < t->count && i < last; i++) {
        if (t->time[i] >= from && t->time[i] <= to && (lane < 0 || t->lane[i] == (uint32_t)lane)) {
            counts[t->kind[i]]++;
        }
    }
    span->events = EtwAlloc((t->kindCount + 1) * sizeof *span->events);
    for (uint32_t i = 0; i < t->kindCount; i++) {
        if (counts[i] > 0) {
            addEvents(span, &t->kinds[i], counts[i]);
        }
    }
    qsort(span->events, span->eventCount, sizeof *span->events, byCount);
    EtwFree(counts);
}

void EtwTimelineSpan(const EtwTimeline *t, int lane, int64_t from, int64_t to, EtwSpan *span)
{
    *span = (EtwSpan){.calls = EtwAlloc((t->textCount + 1) * sizeof *span->calls),
            .waits = EtwAlloc((t->textCount + 1) * sizeof *span->waits)};
    Sums sums = {t, from, to, span->calls, span->waits,
            (int64_t *)EtwAlloc((t->textCount + 1) * sizeof(int64_t))};
    for (int i = 0; i < t->laneCount; i++) {
        if (lane < 0 || i == lane) {
            addLane(&sums, t->lanes[i]);
        }
    }
    EtwFree(sums.covered);
    keepCalls(t, span);
    countEvents(t, lane, from, to, span);
}

void EtwSpanFree(EtwSpan *span)
{
    EtwFree(span->calls);
    EtwFree(span->waits);
    EtwFree(span->events);
}
