/*
 * flow/timeline/timeline_boxes.c --
 *
 *	The visible part of a timeline: iterates over a row from one item that is large enough to be shown to the next, and
 *	skips smaller ones by galloping search. The cost depends on what is shown, not on the size of the trace.
 */
#include "flow/timeline/timeline_int.h"

static const char *const boxKinds[] = {"call", "event", "gap", "run", "match"};

const char *EtwBoxKindName(EtwBoxKind kind)
{
    return boxKinds[kind];
}

/* ---- Bisection -------------------------------------------------------------------------------- */

uint32_t EtwTimeLower(const int64_t *values, uint32_t low, uint32_t count, int64_t value)
{
    uint32_t step = 1, high = low;
    while (high < count && values[high] < value) { /* gallop */
        low = high + 1;
        high = count - high > step ? high + step : count;
        step *= step < 1u << 30 ? 2 : 1;
    }
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (values[middle] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t EtwTimeUpper(const int64_t *values, uint32_t low, uint32_t count, int64_t value)
{
    return value == INT64_MAX ? count : EtwTimeLower(values, low, count, value + 1);
}

/* ---- Rows of boxes ------------------------------------------------------------------------------ */

typedef struct View {
    const EtwTimeline *timeline;
    int lane;
    int64_t from, to, grain;
    EtwTimeBoxProc *visit;
    void *ctx;
} View;

static uint64_t lengthOf(const EtwTimeline *t, const TimeRow *row, uint32_t i)
{
    return (uint64_t)EtwTimeEnd(t, row, i) - (uint64_t)row->start[i];
}

/* Samples a few of the boxes [first, last); the longest one names the group. */
static uint32_t longestBox(const EtwTimeline *t, const TimeRow *row, uint32_t first, uint32_t last)
{
    enum { LOOK = 8 };
    uint32_t best = first, step = (last - first) / LOOK + 1;
    for (uint32_t i = first; i < last; i += step) {
        if (lengthOf(t, row, i) > lengthOf(t, row, best)) {
            best = i;
        }
        if (last - i <= step) {
            break;
        }
    }
    return best;
}

static bool anyBad(const TimeRow *row, uint32_t first, uint32_t last)
{
    uint32_t low = 0, high = row->badCount;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (row->bad[middle] < first) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < row->badCount && row->bad[low] < last;
}

static void showOne(const View *v, const TimeRow *row, EtwTimeBox *box, uint32_t i)
{
    box->from = row->start[i];
    box->to = EtwTimeEnd(v->timeline, row, i);
    box->text = row->text[i];
    box->event = row->event[i];
    box->count = 1;
    box->marks = (row->marks[i] & ~TIME_RESUMED) | (row->end[i] == TIME_OPEN ? ETW_MARK_OPEN : 0);
    v->visit(v->ctx, box);
}

static void showMany(
        const View *v, const TimeRow *row, EtwTimeBox *box, uint32_t first, uint32_t last)
{
    if (last - first == 1) {
        showOne(v, row, box, first);
        return;
    }
    box->from = row->start[first];
    box->to = EtwTimeEnd(v->timeline, row, last - 1);
    box->text = row->text[longestBox(v->timeline, row, first, last)];
    box->event = row->event[first];
    box->count = last - first;
    box->marks = anyBad(row, first, last) ? ETW_MARK_ERROR : 0;
    v->visit(v->ctx, box);
}

/* The sum, limited to INT64_MAX. */
static int64_t later(int64_t time, int64_t by)
{
    return time > INT64_MAX - by ? INT64_MAX : time + by;
}

static void rowBoxes(const View *v, const TimeRow *row, EtwBoxKind kind, int level)
{
    EtwTimeBox box = {.kind = kind, .lane = v->lane, .level = level};
    /* ends increase like starts; only the last may be TIME_OPEN */
    uint32_t i = EtwTimeLower(row->end, 0, row->count, v->from);
    while (i < row->count && row->start[i] <= v->to) {
        if (lengthOf(v->timeline, row, i) >= (uint64_t)v->grain) {
            showOne(v, row, &box, i++);
            continue;
        }
        /* all boxes within a grain from here */
        uint32_t next = EtwTimeUpper(row->end, i + 1, row->count, later(row->start[i], v->grain));
        showMany(v, row, &box, i, next);
        i = next;
    }
}

/* ---- Points ------------------------------------------------------------------------------------- */

static void showPoints(const View *v, const TimePoints *p, EtwBoxKind kind, const TimePoints *bad)
{
    EtwTimeBox box = {.kind = kind, .lane = v->lane};
    uint32_t b = 0;
    const EtwTimeline *t = v->timeline;
    uint32_t i = EtwTimeLower(p->time, 0, p->count, v->from);
    while (i < p->count && p->time[i] <= v->to) {
        uint32_t next = EtwTimeLower(p->time, i + 1, p->count, later(p->time[i], v->grain));
        const TimeKind *k = &t->kinds[t->kind[p->event[i]]];
        box.from = p->time[i];
        box.to = p->time[next - 1];
        box.count = next - i;
        box.text = k->event;
        box.event = p->event[i];
        box.marks = k->marks;
        if (bad != NULL) {
            b = EtwTimeLower(bad->time, b, bad->count, box.from);
            box.marks |= b < bad->count && bad->time[b] <= box.to ? ETW_MARK_ERROR : 0;
        }
        v->visit(v->ctx, &box);
        i = next;
    }
}

void EtwTimelineBoxes(const EtwTimeline *t, int lane, int64_t from, int64_t to, int64_t grain,
        EtwTimeBoxProc *visit, void *ctx)
{
    View v = {t, lane, from, to, grain > 0 ? grain : 1, visit, ctx};
    if (lane < 0 || lane >= t->laneCount) {
        return;
    }
    const TimeLane *l = t->lanes[lane];
    for (int i = 0; i < l->info.levels; i++) {
        rowBoxes(&v, &l->levels[i], ETW_BOX_CALL, i);
    }
    rowBoxes(&v, &l->spans, l->info.kind == ETW_LANE_CPU ? ETW_BOX_RUN : ETW_BOX_GAP, 0);
    showPoints(&v, &l->points, ETW_BOX_EVENT, &l->bad);
    showPoints(&v, &l->matches, ETW_BOX_MATCH, NULL);
}

/* ---- Boxes at a point ----------------------------------------------------------------------------- */

static void keepBox(void *ctx, const EtwTimeBox *box)
{
    *(EtwTimeBox *)ctx = *box;
}

static bool boxAt(const View *v, const TimeRow *row, EtwTimeBox *box, int64_t time)
{
    uint32_t i = EtwTimeLower(row->end, 0, row->count, time);
    if (i < row->count && row->end[i] == time && i + 1 < row->count && row->start[i + 1] == time) {
        i++; /* of two adjacent boxes, the one that begins here */
    }
    if (i == row->count || row->start[i] > time) {
        return false;
    }
    showOne(v, row, box, i);
    return true;
}

static uint64_t timeDistance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static bool pointAt(
        const View *v, const TimePoints *p, EtwBoxKind kind, int64_t time, int64_t slack)
{
    uint32_t i = EtwTimeLower(p->time, 0, p->count, time);
    if (i > 0 && (i == p->count ||
                         timeDistance(p->time[i - 1], time) < timeDistance(p->time[i], time))) {
        i = EtwTimeLower(p->time, 0, p->count, p->time[i - 1]); /* the first one at that time */
    }
    if (i == p->count || timeDistance(p->time[i], time) > (uint64_t)slack) {
        return false;
    }
    TimePoints one = {.time = p->time + i, .event = p->event + i, .count = 1};
    View near = *v;
    near.from = near.to = p->time[i];
    showPoints(&near, &one, kind, NULL);
    return true;
}

bool EtwTimelineAt(const EtwTimeline *t, int lane, EtwBoxKind kind, int level, int64_t time,
        int64_t slack, EtwTimeBox *box)
{
    View v = {t, lane, time, time, 1, keepBox, box};
    if (lane < 0 || lane >= t->laneCount) {
        return false;
    }
    const TimeLane *l = t->lanes[lane];
    *box = (EtwTimeBox){.kind = kind, .lane = lane, .level = level};
    switch (kind) {
    case ETW_BOX_CALL:
        return level >= 0 && level < l->info.levels && boxAt(&v, &l->levels[level], box, time);
    case ETW_BOX_EVENT:
        return pointAt(&v, &l->points, kind, time, slack);
    case ETW_BOX_MATCH:
        return pointAt(&v, &l->matches, kind, time, slack);
    default:
        return (kind == ETW_BOX_RUN) == (l->info.kind == ETW_LANE_CPU) &&
               boxAt(&v, &l->spans, box, time);
    }
}

/* ---- Events as rows ------------------------------------------------------------------------------ */

bool EtwTimelineRow(const EtwTimeline *t, uint32_t event, EtwTimeRowInfo *row)
{
    if (event >= t->count) {
        return false;
    }
    const TimeKind *kind = &t->kinds[t->kind[event]];
    *row = (EtwTimeRowInfo){.time = t->time[event],
            .lane = (int)t->lane[event],
            .cpu = t->cpu[event],
            .provider = kind->provider,
            .event = kind->event,
            .marks = kind->marks};
    return true;
}

uint32_t EtwTimelineFind(const EtwTimeline *t, int64_t time)
{
    uint32_t blocks = (t->count + BLOCK - 1) / BLOCK;
    uint32_t i = EtwTimeLower(t->blockMax, 0, blocks, time) * BLOCK;
    while (i < t->count && t->time[i] < time) {
        i++;
    }
    return i < t->count ? i : t->count;
}

/* ---- Matches --------------------------------------------------------------------------------------- */

void EtwTimelineUnmatch(EtwTimeline *t)
{
    t->matchCount = 0;
    for (int i = 0; i < t->laneCount; i++) {
        t->lanes[i]->matches.count = 0;
    }
}

void EtwTimelineMatch(EtwTimeline *t, uint32_t event)
{
    if (event >= t->count || (t->matchCount > 0 && t->matched[t->matchCount - 1] >= event)) {
        return;
    }
    TIME_GROW(t->matched, t->matchCount, t->matchCapacity);
    t->matched[t->matchCount++] = event;
    TimePoints *p = &t->lanes[t->lane[event]]->matches;
    int64_t last = p->count ? p->time[p->count - 1] : INT64_MIN;
    EtwTimePoint(p, t->time[event] > last ? t->time[event] : last, event);
}

uint32_t EtwTimelineMatches(const EtwTimeline *t)
{
    return t->matchCount;
}

uint32_t EtwTimelineMatchAt(const EtwTimeline *t, uint32_t index)
{
    return index < t->matchCount ? t->matched[index] : ETW_NO_EVENT;
}

uint32_t EtwTimelineMatchesBefore(const EtwTimeline *t, uint32_t event)
{
    uint32_t low = 0, high = t->matchCount;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->matched[middle] < event) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
