/*
 * tests/flow/test_timeline.c --
 *
 *	flow/timeline*.c: lanes, nested calls, gaps, runs, what is visible at which zoom, figures of a
 *	span, matches, and traces that are empty, of one event, out of order or with hostile names. Events
 *	are made up; times are in microseconds.
 */
#include "tests/support/check.h"
#include "tests/support/sample_event.h"
#include "flow/timeline/timeline.h"
#include "flow/timeline/timeline_int.h"

enum { US = 1000, TID = 4711 };
#define START INT64_C(1000000000)

static EtwTimeline *timeline;
static EtwSchemaStore *store;
static uint32_t threadId;
static uint16_t cpuNumber;
static uint8_t level;
static char seen[4000];

static void begin(void)
{
    store = EtwSchemaStoreNew();
    timeline = EtwTimelineNew(store);
    threadId = TID;
    cpuNumber = 0;
    level = 4;
}

static void finish(void)
{
    EtwTimelineFree(timeline);
    EtwSchemaStoreFree(store);
}

static void add(Sample *s, int64_t us)
{
    s->event.time = START + us * US;
    s->event.pid = TID;
    s->event.tid = threadId;
    s->event.cpu = cpuNumber;
    s->event.desc.level = level;
    s->event.process = "tclsh";
    EtwTimelineAdd(timeline, SampleEvent(s));
    SampleFree(s);
}

static void enter(int64_t us, uint64_t id, int depth, const char *command)
{
    static const Etw_Field fields[] = {FIELD("CallId", ETW_IN_UINT64),
            FIELD("Depth", ETW_IN_UINT16), TEXT_FIELD("Command"), TEXT_FIELD("Context")};
    Sample *s = SampleNew("Tcl-Script", "Enter", fields, 4);
    SampleInt(s, id, 8);
    SampleInt(s, (uint64_t)depth, 2);
    SampleText(s, command);
    SampleText(s, "");
    add(s, us);
}

static void leave(int64_t us, uint64_t id, int code)
{
    static const Etw_Field fields[] = {FIELD("CallId", ETW_IN_UINT64), FIELD("Code", ETW_IN_INT32)};
    Sample *s = SampleNew("Tcl-Script", "Leave", fields, 2);
    SampleInt(s, id, 8);
    SampleInt(s, (uint64_t)code, 4);
    add(s, us);
}

static void other(int64_t us, const char *provider, const char *event)
{
    static const Etw_Field fields[] = {FIELD("Size", ETW_IN_INT32)};
    Sample *s = SampleNew(provider, event, fields, 1);
    SampleInt(s, 1, 4);
    add(s, us);
}

static void switchTo(int64_t us, uint32_t from, uint32_t to, uint16_t state)
{
    static const Etw_Field fields[] = {FIELD("OldThreadId", ETW_IN_UINT32),
            FIELD("NewThreadId", ETW_IN_UINT32), FIELD("OldState", ETW_IN_UINT16)};
    Sample *s = SampleNew("Linux-contextswitch", "Switch", fields, 3);
    SampleInt(s, from, 4);
    SampleInt(s, to, 4);
    SampleInt(s, state, 2);
    add(s, us);
}

static void readyThread(int64_t us, uint32_t tid)
{
    static const Etw_Field fields[] = {FIELD("ThreadId", ETW_IN_UINT32),
            FIELD("ByThreadId", ETW_IN_UINT32), FIELD("Interrupt", ETW_IN_UINT8)};
    Sample *s = SampleNew("Linux-dispatcher", "ReadyThread", fields, 3);
    SampleInt(s, tid, 4);
    SampleInt(s, 0, 4);
    SampleInt(s, 2, 1);
    add(s, us);
}

/* ---- What is visible, in one line: KIND LEVEL TEXT FROM-TO xCOUNT !MARKS; ... ---------------------- */

static void addSeen(void *ctx, const EtwTimeBox *box)
{
    size_t at = strlen(seen);
    char tail[60] = "";
    (void)ctx;
    if (box->count > 1) {
        snprintf(tail, sizeof tail, " x%u", box->count);
    }
    if (box->marks != 0) {
        snprintf(tail + strlen(tail), sizeof tail - strlen(tail), " !%u", box->marks);
    }
    if (at < sizeof seen - 400) {
        snprintf(seen + at, sizeof seen - at, "%s%s %d %s %lld-%lld%s", at ? "; " : "",
                EtwBoxKindName(box->kind), box->level, EtwTimelineText(timeline, box->text),
                (long long)(box->from - START) / US, (long long)(box->to - START) / US, tail);
    }
}

static const char *boxes(int lane, int64_t from, int64_t to, int64_t grain)
{
    seen[0] = 0;
    EtwTimelineBoxes(timeline, lane, START + from * US, START + to * US, grain * US, addSeen, NULL);
    return seen;
}

static int laneOf(EtwLaneKind kind, uint32_t id)
{
    EtwLaneInfo info;
    for (int i = 0; EtwTimelineLane(timeline, i, &info); i++) {
        if (info.kind == kind && (kind == ETW_LANE_CPU ? info.pid : info.tid) == id) {
            return i;
        }
    }
    return -1;
}

static int thread(void)
{
    return laneOf(ETW_LANE_THREAD, TID);
}

/* ---- Calls ------------------------------------------------------------------------------------------ */

static void timeline_1_1_nested_calls(void)
{
    begin();
    enter(0, 1, 1, "top");
    enter(10, 2, 2, "leaf 1");
    leave(20, 2, 1);
    enter(30, 3, 2, "leaf 2");
    leave(40, 3, 0);
    leave(50, 1, 0);
    EtwTimelineEnd(timeline);
    CHECK_STR(
            boxes(thread(), 0, 50, 1), "call 0 top 0-50; call 1 leaf 10-20 !1; call 1 leaf 30-40");
    finish();
}

static void timeline_1_2_open_and_cut(void)
{
    begin();
    enter(0, 1, 1, "top");
    other(10, "P", "E");
    CHECK_STR(boxes(thread(), 0, 50, 1), "call 0 top 0-10 !8; event 0 E 10-10");
    EtwTimelineEnd(timeline);
    CHECK_STR(boxes(thread(), 0, 50, 1), "call 0 top 0-10 !2; event 0 E 10-10");
    finish();
}

static void timeline_1_3_lost_leave(void)
{
    EtwTimelineInfo info;
    begin();
    enter(0, 1, 1, "a");
    enter(10, 2, 1, "b");
    leave(20, 2, 0);
    leave(30, 77, 0);
    EtwTimelineEnd(timeline);
    CHECK_STR(boxes(thread(), 0, 50, 1), "call 0 a 0-10 !4; call 0 b 10-20");
    EtwTimelineGetInfo(timeline, &info);
    CHECK_EQ(info.unmatched, 1);
    finish();
}

/* ---- Zoom ----------------------------------------------------------------------------------------------- */

static void timeline_2_1_small_ones_are_told_together(void)
{
    begin();
    for (int i = 0; i < 1000; i++) {
        enter(i * 10, (uint64_t)i + 1, 1, i == 500 ? "long" : "short");
        leave(i * 10 + (i == 500 ? 9 : 1), (uint64_t)i + 1, i == 700);
    }
    EtwTimelineEnd(timeline);
    CHECK_STR(boxes(thread(), 0, 10000, 5000),
            "call 0 short 0-4991 x500; call 0 long 5000-9991 x500 !1");
    CHECK_STR(boxes(thread(), 4990, 5011, 5),
            "call 0 short 4990-4991; call 0 long 5000-5009; call 0 short 5010-5011");
    CHECK_STR(boxes(thread(), 7000, 7005, 1), "call 0 short 7000-7001 !1");
    CHECK_STR(boxes(thread(), 7003, 7005, 1), "");
    finish();
}

static void timeline_2_2_moments_are_told_together(void)
{
    begin();
    for (int i = 0; i < 100; i++) {
        level = i == 50 ? 2 : 4;
        other(i * 10, "P", "E");
    }
    EtwTimelineEnd(timeline);
    CHECK_STR(boxes(thread(), 0, 1000, 400),
            "event 0 E 0-390 x40; event 0 E 400-790 x40 !1; event 0 E 800-990 x20");
    CHECK_STR(boxes(thread(), 495, 515, 1), "event 0 E 500-500 !1; event 0 E 510-510");
    finish();
}

/* What is shown, whatever the zoom, is all there is. */
static void countAll(void *ctx, const EtwTimeBox *box)
{
    ((uint32_t *)ctx)[box->kind] += box->count;
}

static void timeline_2_3_nothing_is_left_out(void)
{
    begin();
    uint32_t seed = 1;
    int64_t at = 0;
    for (uint64_t id = 1; id <= 3000; id++) {
        seed = seed * 1103515245 + 12345;
        at += seed >> 22;
        enter(at, id, 1, "p");
        at += seed >> 8 & 63;
        leave(at, id, 0);
        other(at, "P", "E");
    }
    EtwTimelineEnd(timeline);
    for (int64_t grain = 1; grain < 10000000; grain *= 3) {
        uint32_t counts[5] = {0};
        EtwTimelineBoxes(timeline, thread(), START, START + at * US, grain * US, countAll, counts);
        CHECK_EQ(counts[ETW_BOX_CALL], 3000);
        CHECK_EQ(counts[ETW_BOX_EVENT], 3000);
    }
    finish();
}

/* ---- Switches ---------------------------------------------------------------------------------------------- */

static void timeline_3_1_gaps_and_runs(void)
{
    begin();
    other(0, "P", "E");
    switchTo(10, TID, 99, 1);
    threadId = 99;
    other(20, "P", "E");
    switchTo(30, 99, TID, 256);
    threadId = TID;
    other(40, "P", "E");
    EtwTimelineEnd(timeline);
    boxes(thread(), 0, 50, 1);
    CHECK_MSG(strstr(seen, "gap 0 waits 10-30") != NULL, "%s", seen);
    boxes(laneOf(ETW_LANE_CPU, 0), 0, 50, 1);
    CHECK_MSG(
            strstr(seen, "run 0 thread 99 10-30; run 0 tclsh 4711/4711 30-40") != NULL, "%s", seen);
    finish();
}

/* A wake-up ends the wait. It may belong to the thread that is woken, which does not run yet. */
static void timeline_3_6_wake_ups(void)
{
    begin();
    other(0, "P", "E");
    switchTo(10, TID, 99, 1);
    readyThread(25, TID);
    readyThread(27, TID);
    switchTo(30, 99, TID, 256);
    readyThread(35, TID); /* it does not wait */
    other(40, "P", "E");
    EtwTimelineEnd(timeline);
    boxes(thread(), 0, 50, 1);
    CHECK_MSG(strstr(seen, "gap 0 waits 10-25; gap 0 could run 25-30") != NULL, "%s", seen);
    CHECK_MSG(strstr(strstr(seen, "could run") + 1, "gap") == NULL, "%s", seen);
    finish();
}

/* A CPU without switches has no lane: what it runs between events is not known. */
static void timeline_3_5_no_switches(void)
{
    EtwLaneInfo info;
    begin();
    other(0, "P", "E");
    other(10, "P", "E");
    threadId = 99;
    other(20, "P", "E");
    cpuNumber = 1;
    other(25, "P", "E");
    cpuNumber = 0;
    other(30, "P", "E");
    threadId = TID;
    other(40, "P", "E");
    EtwTimelineEnd(timeline);
    for (uint32_t lane = 0; EtwTimelineLane(timeline, lane, &info); lane++) {
        CHECK(info.kind != ETW_LANE_CPU);
    }
    REQUIRE(EtwTimelineLane(timeline, thread(), &info));
    CHECK_EQ(info.events, 3);
    CHECK(!info.gaps);
    finish();
}

/* The first value that is not less, and the first that is greater, from any place on. */
static void timeline_7_3_bounds(void)
{
    static const int64_t values[] = {INT64_MIN, 1, 2, 3, 3, 3, 5, INT64_MAX, INT64_MAX};
    const int64_t wanted[] = {
            INT64_MIN, INT64_MIN + 1, 0, 1, 2, 3, 4, 5, 6, INT64_MAX - 1, INT64_MAX};
    for (uint32_t count = 0; count <= 9; count++) {
        for (uint32_t low = 0; low <= count; low++) {
            for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
                uint32_t lower = low, upper = low;
                while (lower < count && values[lower] < wanted[i]) {
                    lower++;
                }
                while (upper < count && values[upper] <= wanted[i]) {
                    upper++;
                }
                CHECK_EQ(EtwTimeLower(values, low, count, wanted[i]), lower);
                CHECK_EQ(EtwTimeUpper(values, low, count, wanted[i]), upper);
            }
        }
    }
}

/*
 * A session that traces one process does not see when another thread leaves the CPU. The next switch
 * is from the idle thread, so nothing shows that thread 99 ran any longer than its last event.
 */
static void timeline_3_3_no_run_without_evidence(void)
{
    begin();
    other(0, "P", "E");
    switchTo(10, TID, 99, 1);
    switchTo(300, 0, TID, 0);
    switchTo(310, TID, 99, 1);
    threadId = 99;
    other(320, "P", "E");
    threadId = TID;
    switchTo(600, 0, TID, 0);
    other(610, "P", "E");
    switchTo(620, TID, 98, 1);
    other(900, "P", "E");
    EtwTimelineEnd(timeline);
    boxes(laneOf(ETW_LANE_CPU, 0), 0, 1000, 1);
    CHECK_MSG(
            strstr(seen, "run 0 thread 99 10-10; run 0 tclsh 4711/4711 300-310; ") != NULL &&
                    strstr(seen,
                            "99 310-320; run 0 tclsh 4711/4711 600-620; run 0 thread 98 620-620") !=
                            NULL,
            "%s", seen);
    finish();
}

/* A thread runs on one CPU. Where it appears on another one, it had left the first, although the switches are lost. */
static void timeline_3_4_one_cpu_at_a_time(void)
{
    begin();
    switchTo(10, 0, TID, 0);
    other(20, "P", "E");
    cpuNumber = 1;
    switchTo(30, 0, 98, 0); /* this CPU has switches */
    switchTo(35, 98, 0, 1);
    other(100, "P", "E");
    cpuNumber = 0;
    switchTo(400, TID, 0, 1);
    switchTo(500, 0, TID, 0);
    cpuNumber = 1;
    switchTo(600, TID, 0, 1);
    cpuNumber = 0;
    switchTo(900, TID, 0, 1);
    EtwTimelineEnd(timeline);
    boxes(laneOf(ETW_LANE_CPU, 0), 0, 1000, 1);
    CHECK_MSG(strstr(seen, "10-20; ") != NULL && strstr(seen, "500-500") != NULL, "%s", seen);
    finish();
}

static void timeline_3_2_marks_have_their_lane(void)
{
    begin();
    other(0, "P", "E");
    other(10, "Etw-Session", "Mark");
    EtwTimelineEnd(timeline);
    CHECK_STR(boxes(0, 0, 50, 1), "event 0 Mark 10-10 !32");
    CHECK_STR(boxes(thread(), 0, 50, 1), "event 0 E 0-0");
    finish();
}

/* ---- What is at a point ---------------------------------------------------------------------------------------- */

static void timeline_4_1_at(void)
{
    EtwTimeBox box;
    begin();
    enter(0, 1, 1, "a");
    leave(10, 1, 0);
    enter(10, 2, 1, "b");
    leave(20, 2, 0);
    other(100, "P", "E");
    EtwTimelineEnd(timeline);
    CHECK(EtwTimelineAt(timeline, thread(), ETW_BOX_CALL, 0, START + 5 * US, 0, &box));
    CHECK_STR(EtwTimelineText(timeline, box.text), "a");
    CHECK(EtwTimelineAt(timeline, thread(), ETW_BOX_CALL, 0, START + 10 * US, 0, &box));
    CHECK_STR(EtwTimelineText(timeline, box.text), "b");
    CHECK_EQ(box.event, 2);
    CHECK(!EtwTimelineAt(timeline, thread(), ETW_BOX_CALL, 0, START + 50 * US, 0, &box));
    CHECK(!EtwTimelineAt(timeline, thread(), ETW_BOX_CALL, 1, START + 5 * US, 0, &box));
    CHECK(EtwTimelineAt(timeline, thread(), ETW_BOX_EVENT, 0, START + 97 * US, 5 * US, &box));
    CHECK_EQ(box.event, 4);
    CHECK(!EtwTimelineAt(timeline, thread(), ETW_BOX_EVENT, 0, START + 90 * US, 5 * US, &box));
    CHECK(!EtwTimelineAt(timeline, 77, ETW_BOX_EVENT, 0, START, 5 * US, &box));
    finish();
}

/* Of points at one time the first, also at the beginning and at the end of the trace. */
static void timeline_4_2_first_of_equal(void)
{
    EtwTimeBox box;
    begin();
    for (int i = 0; i < 3; i++) {
        other(10, "P", "E");
    }
    other(50, "P", "E");
    other(90, "P", "E");
    other(90, "P", "E");
    EtwTimelineEnd(timeline);
    static const struct {
        int64_t at;
        uint32_t event;
    } cases[] = {{10, 0}, {0, 0}, {29, 0}, {31, 3}, {50, 3}, {69, 3}, {71, 4}, {90, 4}, {100, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        REQUIRE(EtwTimelineAt(
                timeline, thread(), ETW_BOX_EVENT, 0, START + cases[i].at * US, 20 * US, &box));
        CHECK_MSG(box.event == cases[i].event, "at %d: event %u", (int)cases[i].at, box.event);
    }
    finish();
}

/* ---- Figures ------------------------------------------------------------------------------------------------------ */

static void timeline_5_1_span(void)
{
    EtwSpan span;
    begin();
    enter(0, 1, 1, "top");
    enter(10, 2, 2, "leaf");
    leave(30, 2, 1);
    leave(50, 1, 0);
    EtwTimelineEnd(timeline);
    EtwTimelineSpan(timeline, -1, START, START + 50 * US, &span);
    REQUIRE(span.callCount == 2 && span.eventCount == 2);
    CHECK_STR(EtwTimelineText(timeline, span.calls[0].text), "top");
    CHECK_EQ(span.calls[0].self, 30 * US);
    CHECK_EQ(span.calls[0].total, 50 * US);
    CHECK_EQ(span.calls[1].self, 20 * US);
    CHECK_EQ(span.calls[1].errors, 1);
    EtwSpanFree(&span);
    EtwTimelineSpan(timeline, -1, START + 20 * US, START + 40 * US, &span);
    REQUIRE(span.callCount == 2 && span.eventCount == 1);
    CHECK_EQ(span.calls[0].self, 10 * US);
    CHECK_EQ(span.calls[1].self, 10 * US);
    CHECK_EQ(span.events[0].count, 1);
    EtwSpanFree(&span);
    finish();
}

/* Recursion, direct and by way of another proc: the total is the time of the outermost calls. */
static void timeline_5_2_recursion(void)
{
    EtwSpan span;
    begin();
    for (int round = 0; round < 2; round++) {
        int64_t at = round * 50;
        uint64_t id = (uint64_t)round * 10;
        enter(at, id + 1, 1, "walk");
        enter(at + 10, id + 2, 2, "walk");
        enter(at + 10, id + 3, 3, "visit");
        enter(at + 20, id + 4, 4, "walk");
        leave(at + 30, id + 4, 0);
        leave(at + 40, id + 3, 0);
        leave(at + 40, id + 2, 0);
        leave(at + 50, id + 1, 0); /* the next one begins at this moment */
    }
    EtwTimelineEnd(timeline);
    EtwTimelineSpan(timeline, -1, START, START + 100 * US, &span);
    REQUIRE(span.callCount == 2);
    CHECK_STR(EtwTimelineText(timeline, span.calls[0].text), "walk");
    CHECK_EQ(span.calls[0].calls, 6);
    CHECK_EQ(span.calls[0].total, 100 * US);
    CHECK_EQ(span.calls[0].self, 60 * US);
    CHECK_EQ(span.calls[1].total, 60 * US);
    EtwSpanFree(&span);
    EtwTimelineSpan(timeline, -1, START + 15 * US, START + 25 * US, &span);
    CHECK_EQ(span.calls[0].total, 10 * US);
    EtwSpanFree(&span);
    finish();
}

/* ---- Odd traces ------------------------------------------------------------------------------------------------------ */

static void timeline_6_1_empty(void)
{
    EtwTimelineInfo info;
    EtwSpan span;
    begin();
    EtwTimelineEnd(timeline);
    EtwTimelineGetInfo(timeline, &info);
    CHECK_EQ(info.events, 0);
    CHECK_EQ(info.lanes, 1);
    CHECK_STR(boxes(0, 0, 0, 0), "");
    CHECK_EQ(EtwTimelineFind(timeline, 0), 0);
    EtwTimelineSpan(timeline, -1, 0, 0, &span);
    CHECK_EQ(span.callCount + span.eventCount + span.waitCount, 0);
    EtwSpanFree(&span);
    finish();
}

static void timeline_6_2_no_time_passes(void)
{
    begin();
    for (uint64_t i = 1; i <= 5; i++) {
        enter(7, i, 1, "p");
        leave(7, i, 0);
    }
    EtwTimelineEnd(timeline);
    CHECK_STR(boxes(thread(), 7, 7, 0), "call 0 p 7-7 x5");
    finish();
}

static void timeline_6_3_out_of_order(void)
{
    EtwTimelineInfo info;
    begin();
    other(100, "P", "A");
    other(50, "P", "B");
    other(200, "P", "C");
    EtwTimelineEnd(timeline);
    CHECK_STR(boxes(thread(), 0, 300, 1), "event 0 A 100-100 x2; event 0 C 200-200");
    EtwTimelineGetInfo(timeline, &info);
    CHECK(info.unordered >= 1);
    CHECK_EQ(info.first, START + 50 * US);
    CHECK_EQ(EtwTimelineFind(timeline, START + 150 * US), 2);
    finish();
}

static void timeline_6_4_hostile_names(void)
{
    char command[2000];
    begin();
    memset(command, 'x', sizeof command);
    command[sizeof command - 1] = 0;
    enter(0, 1, 1, "{a\nb\x1b[31m\xff<b>&amp;}");
    leave(10, 1, 0);
    enter(10, 2, 1, command);
    leave(20, 2, 0);
    EtwTimelineEnd(timeline);
    boxes(thread(), 0, 10, 1);
    CHECK_MSG(strstr(seen, "call 0 a\xE2\x90\x8A"
                           "b\xE2\x90\x9B[31m\xEF\xBF\xBD<b>&amp; 0-10") == seen,
            "%s", seen);
    boxes(thread(), 15, 20, 1);
    CHECK(strlen(seen) < 300 && strstr(seen, "x\xE2\x80\xA6 10-20") != NULL);
    finish();
}

static void timeline_6_5_ends_of_time(void)
{
    Sample *s;
    static const Etw_Field fields[] = {FIELD("Size", ETW_IN_INT32)};
    const int64_t times[] = {INT64_MIN, 0, INT64_MAX};
    begin();
    for (int i = 0; i < 3; i++) {
        s = SampleNew("P", "E", fields, 1);
        SampleInt(s, 1, 4);
        s->event.time = times[i];
        EtwTimelineAdd(timeline, SampleEvent(s));
        SampleFree(s);
    }
    EtwTimelineEnd(timeline);
    uint32_t counts[5] = {0};
    EtwTimelineBoxes(timeline, thread(), INT64_MIN, INT64_MAX, INT64_MAX, countAll, counts);
    CHECK_EQ(counts[ETW_BOX_EVENT], 3);
    EtwTimelineBoxes(timeline, thread(), INT64_MIN, INT64_MAX, 1, countAll, counts);
    CHECK_EQ(counts[ETW_BOX_EVENT], 6);
    finish();
}

/* ---- Rows and matches --------------------------------------------------------------------------------------------------- */

static void timeline_7_1_rows_by_time(void)
{
    EtwTimeRowInfo row;
    begin();
    for (int i = 0; i < 3000; i++) {
        other(i, "P", "E");
    }
    CHECK_EQ(EtwTimelineFind(timeline, START - 1), 0);
    CHECK_EQ(EtwTimelineFind(timeline, START + 2345 * US), 2345);
    CHECK_EQ(EtwTimelineFind(timeline, START + 2345 * US - 1), 2345);
    CHECK_EQ(EtwTimelineFind(timeline, START + 9999 * US), 3000);
    CHECK(EtwTimelineRow(timeline, 2999, &row) && row.time == START + 2999 * US);
    CHECK(!EtwTimelineRow(timeline, 3000, &row));
    CHECK(!EtwTimelineRow(timeline, ETW_NO_EVENT, &row));
    finish();
}

static void timeline_7_2_matches(void)
{
    begin();
    for (int i = 0; i < 100; i++) {
        other(i * 10, "P", "E");
    }
    EtwTimelineMatch(timeline, 10);
    EtwTimelineMatch(timeline, 10);
    EtwTimelineMatch(timeline, 50);
    EtwTimelineMatch(timeline, 500);
    CHECK_EQ(EtwTimelineMatches(timeline), 2);
    CHECK_EQ(EtwTimelineMatchesBefore(timeline, 11), 1);
    CHECK_EQ(EtwTimelineMatchAt(timeline, 1), 50);
    CHECK_EQ(EtwTimelineMatchAt(timeline, 2), ETW_NO_EVENT);
    boxes(thread(), 100, 100, 1);
    CHECK_MSG(strstr(seen, "match 0 E 100-100") != NULL, "%s", seen);
    EtwTimelineUnmatch(timeline);
    CHECK_EQ(EtwTimelineMatches(timeline), 0);
    finish();
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(timeline_1_1_nested_calls);
    CHECK_RUN(timeline_1_2_open_and_cut);
    CHECK_RUN(timeline_1_3_lost_leave);
    CHECK_RUN(timeline_2_1_small_ones_are_told_together);
    CHECK_RUN(timeline_2_2_moments_are_told_together);
    CHECK_RUN(timeline_2_3_nothing_is_left_out);
    CHECK_RUN(timeline_3_1_gaps_and_runs);
    CHECK_RUN(timeline_3_6_wake_ups);
    CHECK_RUN(timeline_3_2_marks_have_their_lane);
    CHECK_RUN(timeline_3_3_no_run_without_evidence);
    CHECK_RUN(timeline_3_4_one_cpu_at_a_time);
    CHECK_RUN(timeline_3_5_no_switches);
    CHECK_RUN(timeline_4_1_at);
    CHECK_RUN(timeline_4_2_first_of_equal);
    CHECK_RUN(timeline_5_1_span);
    CHECK_RUN(timeline_5_2_recursion);
    CHECK_RUN(timeline_6_1_empty);
    CHECK_RUN(timeline_6_2_no_time_passes);
    CHECK_RUN(timeline_6_3_out_of_order);
    CHECK_RUN(timeline_6_4_hostile_names);
    CHECK_RUN(timeline_6_5_ends_of_time);
    CHECK_RUN(timeline_7_1_rows_by_time);
    CHECK_RUN(timeline_7_2_matches);
    CHECK_RUN(timeline_7_3_bounds);
    return CHECK_DONE();
}
