/*
 * flow/timeline/timeline_totals.c --
 *
 *	Statistics of a span of a timeline: calls by proc with their self and total time within the
 *	span, events by kind, gaps by cause. One pass over the span.
 */
#include "flow/timeline/timeline_int.h"
#include <stdlib.h>

typedef struct Sums {
    const EtwTimeline *timeline;
    int64_t from, to;
    EtwSpanCall *calls; /* by text */
    EtwSpanWait *waits; /* by text */
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

static void addLevel(Sums *s, const TimeRow *row)
{
    for (uint32_t i = firstIn(s, row); i < row->count && row->start[i] <= s->to; i++) {
        EtwSpanCall *sum = &s->calls[row->text[i]];
        uint64_t ns = inside(s, row, i);
        sum->calls++;
        sum->errors += (row->marks[i] & ETW_MARK_ERROR) != 0;
        sum->total += ns;
        sum->self += ns;
    }
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
    for (int i = 0; i < lane->info.levels; i++) {
        addLevel(s, &lane->levels[i]);
        if (i > 0) {
            subtractChildren(s, &lane->levels[i - 1], &lane->levels[i]);
        }
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
    Sums sums = {t, from, to, span->calls, span->waits};
    for (int i = 0; i < t->laneCount; i++) {
        if (lane < 0 || i == lane) {
            addLane(&sums, t->lanes[i]);
        }
    }
    keepCalls(t, span);
    countEvents(t, lane, from, to, span);
}

void EtwSpanFree(EtwSpan *span)
{
    EtwFree(span->calls);
    EtwFree(span->waits);
    EtwFree(span->events);
}
