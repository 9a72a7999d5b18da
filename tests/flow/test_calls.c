/*
 * tests/flow/test_calls.c --
 *
 *	flow/calls: pairing of enters and leaves (recursion, errors, coroutines, interpreters, threads, calls that are cut
 *	or whose half is lost), names, times, percentiles. What calls cost is test_call_costs.c, deep and long traces
 *	are test_call_sizes.c.
 */
#include "tests/support/check.h"
#include "tests/support/call_events.h"

/* ---- Pairing --------------------------------------------------------------------------------- */

static void testNesting(void)
{
    begin(merged);
    enter(0, 1, 1, "a {x y} z", "::");
    enter(10, 2, 2, "b", "::a");
    leave(15, 2, 0);
    enter(20, 3, 2, "b 2", "::a");
    leave(40, 3, 1);
    leave(100, 1, 0);
    CHECK_STR(tree(), "a 100/75 (b*2 25/25!error)");
    CHECK_EQ(calls->calls, 3);
    CHECK_EQ(rowOf("b")->stats.min, 5 * US);
    CHECK_EQ(rowOf("b")->stats.max, 20 * US);
    finish();
}

/* Names are the first element of a list. */
static void testNames(void)
{
    begin(single);
    enter(0, 1, 1, "{my proc} 1", "::");
    enter(1, 2, 2, "a\\ \\{b 1", "::my proc");
    leave(2, 2, 0);
    enter(2, 3, 2, "{a {b} c}", "::my proc");
    leave(3, 3, 0);
    enter(3, 4, 2, "", "::my proc");
    leave(4, 4, 0);
    leave(5, 1, 0);
    CHECK_STR(tree(), "my proc 5/2 (a {b 1/1 a {b} c 1/1  1/1)");
    finish();
}

/* A recursion's total is that of its outermost call. */
static void testRecursion(void)
{
    begin(merged);
    enter(0, 1, 1, "f 2", "::");
    enter(10, 2, 2, "f 1", "::f");
    enter(20, 3, 3, "g", "::f");
    enter(30, 4, 4, "f 0", "::g");
    leave(40, 4, 0);
    leave(50, 3, 0);
    leave(60, 2, 0);
    leave(100, 1, 0);
    CHECK_STR(tree(), "f 100/50 (f 50/20 (g 30/20 (f 10/10)))");
    CHECK_EQ(rowOf("f")->stats.total, 100 * US);
    CHECK_EQ(rowOf("f")->stats.self, 80 * US);
    CHECK_EQ(rowOf("f")->stats.calls, 3);
    CHECK_EQ(rowOf("f")->stats.max, 100 * US);
    CHECK_EQ(rowOf("f")->stats.min, 10 * US);
    CHECK_EQ(rowOf("g")->stats.total, 30 * US);
    finish();
}

/* Yield is no event: the next enter at its depth shows it; its time away is nobody's but theirs who
 * ran meanwhile. */
static void testCoroutine(void)
{
    begin(single);
    enter(0, 1, 1, "gen", "::");
    enter(10, 2, 2, "inner", "::gen");
    enter(20, 3, 1, "other", "::"); /* inner has yielded */
    leave(30, 3, 0);
    enter(40, 4, 1, "main", "::");
    enter(50, 5, 2, "c", "::main");     /* resumes it ... */
    enter(60, 6, 3, "work", "::inner"); /* ... at the same depth as c */
    leave(70, 6, 0);
    leave(80, 2, 0);
    leave(90, 5, 0); /* gen has yielded, c is left */
    leave(100, 4, 0);
    leave(120, 1, 0);
    CHECK_STR(tree(), "gen 50/20 (inner 30/20 (work 10/10)) other 10/10 main 60/20 (c 40/10)");
    CHECK_EQ(calls->asleep, 0);
    CHECK_EQ(calls->threads->first->slept, 70 * US); /* of 120 */
    finish();
}

static void testAsleepAtTheEnd(void)
{
    begin(single);
    enter(0, 1, 1, "gen", "::");
    enter(10, 2, 1, "main", "::");
    leave(20, 2, 0);
    CHECK_STR(tree(), "gen 10/10!asleep main 10/10");
    CHECK_EQ(calls->asleep, 1);
    CHECK_EQ(calls->cut, 0);
    finish();
}

/* Another interpreter has ids of another block and begins at depth 1: it runs inside the call. */
static void testInterpreters(void)
{
    begin(single);
    enter(0, 1, 1, "a", "::");
    enter(10, 257, 1, "kid", "::");
    enter(20, 2, 2, "alias", "::a");
    leave(30, 2, 0);
    leave(40, 257, 0);
    leave(50, 1, 0);
    CHECK_STR(tree(), "a 50/20 (kid 30/20 (alias 10/10))");
    finish();
}

/* The same interpreter takes another block when its own is used up. */
static void testNextBlock(void)
{
    begin(single);
    enter(0, 256, 1, "a", "::");
    enter(10, 1025, 2, "b", "::a");
    leave(20, 1025, 0);
    enter(25, 1026, 1, "c", "::"); /* a has yielded, or its leave is lost */
    leave(30, 1026, 0);
    CHECK_STR(tree(), "a 25/15!asleep (b 10/10) c 5/5");
    finish();
}

/*
 * Calls in three interpreters, of which the second one calls back into the first. Each single event is left
 * out: the others are counted as before, and the missing leave of a call with a traced caller is called lost.
 */
static void testEachEventLost(void)
{
    static const struct {
        uint64_t id;
        int depth; /* 0: a leave */
        const char *command, *context;
    } trace[] = {{1, 1, "a", "::"}, {2, 2, "b", "::a"}, {2, 0, "", ""}, {257, 1, "kid", "::"},
            {258, 2, "inner", "::kid"}, {258, 0, "", ""}, {3, 2, "alias", "::a"}, {3, 0, "", ""},
            {259, 2, "inner", "::kid"}, {513, 1, "third", "::"}, {514, 2, "deep", "::third"},
            {514, 0, "", ""}, {513, 0, "", ""}, {259, 0, "", ""}, {257, 0, "", ""},
            {4, 2, "c", "::a"}, {4, 0, "", ""}, {1, 0, "", ""}};
    enum { EVENTS = sizeof trace / sizeof trace[0], CALLS = EVENTS / 2 };
    for (int missing = 0; missing < EVENTS; missing++) {
        begin(single);
        for (int i = 0; i < EVENTS; i++) {
            if (i == missing) {
                continue;
            }
            if (trace[i].depth > 0) {
                enter(10 * i, trace[i].id, trace[i].depth, trace[i].command, trace[i].context);
            } else {
                leave(10 * i, trace[i].id, 0);
            }
        }
        tree();
        bool ofLeave = trace[missing].depth == 0;
        bool nested = trace[missing].id % 256 != 1; /* not the outermost of its interpreter */
        bool outermost = trace[missing].id == 1;
        CHECK_EQ(calls->calls, CALLS - !ofLeave);
        CHECK_EQ(calls->unmatched, !ofLeave);
        CHECK_EQ(calls->lost, ofLeave && nested);
        CHECK_EQ(calls->cut, ofLeave && outermost);
        CHECK_EQ(calls->asleep, ofLeave && !nested && !outermost);
        finish();
    }
}

/* ---- Random calls of some interpreters, of which many are lost ------------------------------------------------------ */

enum { MADE = 400, INTERPS = 4 };

typedef struct Made {
    int parent; /* -1: the thread */
    bool lost;
} Made;

typedef struct Making {
    Made made[MADE];
    int count, clock, lostOf10;
    int depths[INTERPS], callers[INTERPS]; /* callers: -1: none */
    uint64_t last, next[INTERPS], end[INTERPS];
    uint32_t random;
} Making;

static int randomOf(Making *m, int n)
{
    m->random = m->random * 1103515245 + 12345;
    return (int)(m->random >> 16) % n;
}

/* As EtwScriptNewId, with small blocks. */
static uint64_t idIn(Making *m, int interp)
{
    enum { BLOCK = 8 };
    if (m->next[interp] == m->end[interp]) {
        m->next[interp] = m->last;
        m->end[interp] = m->last += BLOCK;
    }
    return EtwCallId(m->next[interp]++, (uint32_t)interp);
}

/* A call from `parent` in the interpreter, with calls of its own, in other interpreters, too. */
static void makeCall(Making *m, int parent, int interp, int level)
{
    char name[20], context[20] = "::";
    int self = m->count++, caller = m->callers[interp];
    uint64_t id = idIn(m, interp);
    m->made[self] = (Made){.parent = parent, .lost = randomOf(m, 10) < m->lostOf10};
    snprintf(name, sizeof name, "c%d", self);
    if (caller >= 0) {
        snprintf(context, sizeof context, "::c%d", caller);
    }
    m->depths[interp]++;
    m->callers[interp] = self;
    if (!m->made[self].lost) {
        enter(m->clock++, id, m->depths[interp], name, context);
    }
    for (int i = randomOf(m, 4); i > 0 && level < 12 && m->count < MADE; i--) {
        makeCall(m, self, randomOf(m, 3) ? interp : randomOf(m, INTERPS), level + 1);
    }
    if (!m->made[self].lost) {
        leave(m->clock++, id, 0);
    }
    m->depths[interp]--;
    m->callers[interp] = caller;
}

/* The number of calls that are not below the innermost of their callers that is not lost. */
static int misplaced(const Making *m, const EtwCallNode *node)
{
    int wrong = 0;
    if (node->row != NULL) {
        int parent = m->made[atoi(node->row->name + 1)].parent;
        while (parent >= 0 && m->made[parent].lost) {
            parent = m->made[parent].parent;
        }
        wrong = (node->parent->row == NULL ? -1 : atoi(node->parent->row->name + 1)) != parent;
    }
    for (const EtwCallNode *child = node->first; child != NULL; child = child->next) {
        wrong += misplaced(m, child);
    }
    return wrong;
}

static void testLostCallsOfInterpreters(void)
{
    for (uint32_t seed = 1; seed <= 60; seed++) {
        Making m = {.random = seed, .lostOf10 = (int)seed % 9, .callers = {-1, -1, -1, -1}};
        begin(single);
        while (m.count < MADE) {
            makeCall(&m, -1, randomOf(&m, INTERPS), 0);
        }
        EtwCallsEnd(calls);
        if (!CHECK_MSG(misplaced(&m, calls->threads) == 0, "seed %u: %d of %d calls are misplaced",
                    seed, misplaced(&m, calls->threads), m.count)) {
            seed = 60;
        }
        CHECK_EQ(calls->asleep + calls->lost + calls->unmatched, 0);
        finish();
    }
}

/* A coroutine that never comes back is asleep, also when the calls around it are left. */
static void testAsleepIsNotLost(void)
{
    begin(single);
    enter(0, 1, 1, "main", "::");
    enter(10, 2, 2, "start", "::main");
    enter(20, 3, 1, "gen", "::");
    enter(30, 4, 2, "inner", "::gen"); /* yields */
    leave(40, 2, 0);
    leave(50, 1, 0);
    enter(60, 5, 1, "next", "::");
    leave(70, 5, 0);
    tree();
    CHECK_EQ(calls->lost, 0);
    CHECK_EQ(calls->asleep, 2);
    finish();
}

/* A lost leave costs its call, not those around it. */
static void testLost(void)
{
    begin(single);
    leave(0, 77, 0);
    enter(10, 1, 1, "a", "::");
    enter(20, 2, 2, "b", "::a");
    enter(30, 4, 2, "c", "::a");
    leave(40, 4, 0);
    leave(50, 1, 0);
    enter(60, 5, 1, "a", "::");
    leave(70, 5, 0);
    CHECK_STR(tree(), "a 40/20 (b 10/10!lost c 10/10) a 10/10");
    CHECK_EQ(calls->unmatched, 1);
    finish();
}

static void testCut(void)
{
    begin(single);
    enter(0, 1, 1, "a", "::");
    enter(10, 2, 2, "b", "::a");
    stopOf(50, "Linux-process");
    enter(100, 900, 1, "next", "::"); /* another with the same ids */
    leave(110, 900, 0);
    CHECK_STR(tree(), "a 10/10!cut (b 0/0!cut) | next 10/10");
    finish();
    begin(single);
    enter(0, 1, 1, "a", "::");
    stopOf(50, "Linux-thread");
    CHECK_STR(tree(), "a 50/50!cut");
    CHECK_EQ(calls->cut, 1);
    finish();
}

static void testThreads(void)
{
    begin(single);
    enter(0, 1, 1, "a", "::");
    threadId = 5000;
    enter(10, 257, 1, "b", "::");
    threadId = TID;
    leave(20, 1, 0);
    threadId = 5000;
    leave(30, 257, 0);
    processId = 5000; /* the id's next owner: nothing of the old one is its own */
    leave(35, 257, 0);
    enter(40, 1, 1, "c", "::");
    leave(50, 1, 0);
    CHECK_STR(tree(), "a 20/20 | b 20/20 | c 10/10");
    CHECK_EQ(calls->unmatched, 1);
    finish();
}

/* Times that go back (a late event) end nothing before it began. */
static void testLate(void)
{
    begin(single);
    enter(100, 1, 1, "a", "::");
    leave(50, 1, 0);
    CHECK_STR(tree(), "a 0/0");
    finish();
}

static void testByLine(void)
{
    begin((EtwCallsConfig){.byLine = true});
    enterFrom(0, 1, 1, "a", "::", "/x/y.tcl", 7);
    enterFrom(10, 2, 2, "b", "::a", "/x/y.tcl", 3);
    leave(20, 2, 0);
    enterFrom(20, 3, 2, "c", "::a", "/x/y.tcl", 3);
    leave(40, 3, 0);
    enter(50, 4, 2, "d", "::a");
    leave(60, 4, 0);
    leave(100, 1, 0);
    EtwCallsEnd(calls);
    REQUIRE(rowOf("/x/y.tcl:3") != NULL && rowOf("(no source)") != NULL);
    CHECK_EQ(rowOf("/x/y.tcl:3")->stats.calls, 2);
    CHECK_EQ(rowOf("/x/y.tcl:3")->stats.total, 30 * US);
    CHECK_EQ(rowOf("/x/y.tcl:7")->stats.self, 60 * US);
    CHECK_EQ(rowOf("(no source)")->stats.self, 10 * US);
    size_t count;
    EtwFree(EtwCallRows(calls, &count, NULL));
    CHECK_EQ(count, 3); /* procs are no rows then */
    finish();
}

/* ---- Names, what is left out, percentiles ---------------------------------------------------- */

/* The name of the only call of a callback with this script. */
static const char *callbackName(const char *script)
{
    static char name[200];
    static const Etw_Field fields[] = {FIELD("CallId", ETW_IN_UINT64),
            FIELD("Depth", ETW_IN_UINT16), TEXT_FIELD("Command"), TEXT_FIELD("Context"),
            TEXT_FIELD("Kind"), FIELD("Queued", ETW_IN_UINT64)};
    Sample *s = SampleNew("Tcl-Script", "CallbackEnter", fields, 6);
    begin((EtwCallsConfig){.tree = true});
    SampleInt(s, 1, 8);
    SampleInt(s, 1, 2);
    SampleText(s, script);
    SampleText(s, "");
    SampleText(s, "readable");
    SampleInt(s, 0, 8);
    add(s, 0);
    other(10, "P", "E");
    EtwCallsEnd(calls);
    snprintf(name, sizeof name, "%s", calls->threads ? calls->threads->first->row->name : "(none)");
    finish();
    return name;
}

static void testCallbackNames(void)
{
    CHECK_STR(callbackName("tick 7"), "readable tick");
    CHECK_STR(callbackName("  tick; tock"), "readable tick");
    CHECK_STR(
            callbackName("::namespace inscope ::chat {receive sock5}"), "readable ::chat::receive");
    CHECK_STR(callbackName("::namespace inscope ::chat receive sock5"), "readable ::chat::receive");
    CHECK_STR(callbackName("namespace inscope :: {tick 1} more"), "readable tick");
    CHECK_STR(callbackName("::namespace inscope ::chat {::other::go 1}"), "readable ::other::go");
    CHECK_STR(callbackName("::namespace inscope ::oo::Obj12 {my receive sock5}"),
            "readable my receive");
    CHECK_STR(callbackName("namespace eval ::a {\n  namespace inscope ::b {c d}\n}"),
            "readable ::b::c");
    CHECK_STR(callbackName("uplevel #0 {tick 1}"), "readable tick");
    CHECK_STR(callbackName("uplevel #0 tick 1"), "readable tick");
    CHECK_STR(callbackName("eval {tick} 1"), "readable tick");
    /* what is cut or odd keeps its own name */
    CHECK_STR(callbackName("::namespace inscope"), "readable ::namespace");
    CHECK_STR(callbackName("::namespace inscope ::chat {}"), "readable ::namespace");
    CHECK_STR(callbackName("::namespace current"), "readable ::namespace");
    CHECK_STR(callbackName("::namespace inscope ::chat {rec"), "readable ::chat::rec");
    CHECK_STR(callbackName("eval"), "readable eval");
    CHECK_STR(callbackName("uplevel"), "readable uplevel");
    CHECK_STR(callbackName("{*}$prefix \\"), "readable {*}$prefix");
    CHECK_STR(callbackName(""), "readable ");
}

static void testLeftOut(void)
{
    EtwText out = {0};
    begin((EtwCallsConfig){.tree = true});
    other(0, "Linux-process", "Start"); /* of a thread that has no calls yet */
    enter(10, 1, 1, "a", "");
    other(15, "P", "E");
    leave(20, 1, 0);
    Sample *s = SampleNew("P", "E", NULL, 0);
    s->meta.size = 0; /* no description */
    add(s, 30);
    EtwCallsEnd(calls);
    EtwCallsLeftText(calls, &out);
    EtwTextChar(&out, 0);
    CHECK_STR(out.data,
            "-- left out: 1 event without a known schema, 1 event of threads without calls\n");
    CHECK_EQ(calls->events, 4);
    out.size = 0;
    EtwCallsJson(calls, false, false, &out);
    EtwTextChar(&out, 0);
    CHECK_MSG(
            strstr(out.data, ",\"left\":{\"unknown\":1,\"threadless\":1}") != NULL, "%s", out.data);
    EtwTextFree(&out);
    finish();
}

/* Callers in the order of their time; those with equal times in that of their first calls, calls without a caller first. */
/* Calls inside of a call of the same proc are in its time: they add none of their own. */
static void testRecursiveCallers(void)
{
    EtwText out = {0};
    begin(merged);
    enter(0, 1, 1, "main", "::");
    enter(10, 2, 2, "f", "::main");
    enter(20, 3, 3, "f", "::f");
    enter(30, 4, 4, "f", "::f");
    leave(40, 4, 0);
    leave(60, 3, 0);
    leave(110, 2, 0);
    leave(120, 1, 0);
    EtwCallsEnd(calls);
    EtwCallersCsv(calls, "f", &out);
    EtwTextChar(&out, 0);
    CHECK_STR(out.data, "caller,calls,total,self,errors\nmain,1,100000,60000,0\nf,2,0,40000,0\n");
    EtwTextFree(&out);
    finish();
}

static void testCallers(void)
{
    static const char *const names[] = {"c", "b", "d", "a", "k", "j", "z", "y"};
    EtwText out = {0};
    uint64_t id = 0;
    int64_t us = 0;
    begin(merged);
    for (int i = 0; i < 8; i++, us += 200) {
        char context[] = "::c";
        context[2] = *names[i];
        enter(us, ++id, 1, names[i], "::");
        enter(us + 10, ++id, 2, "f", context);
        enter(us + 20, ++id, 3, "g", "::f");
        leave(us + 25, id, 0);
        leave(us + 40, id - 1, i == 2);
        if (i == 2) {
            enter(us + 50, ++id, 2, "f", context);
            leave(us + 60, id, 0);
            leave(us + 100, id - 3, 0);
        } else {
            leave(us + 100, id - 2, 0);
        }
    }
    enter(us, ++id, 1, "f", "::");
    leave(us + 30, id, 0);
    EtwCallsEnd(calls);
    EtwCallersCsv(calls, "f", &out);
    EtwTextChar(&out, 0);
    CHECK_STR(out.data, "caller,calls,total,self,errors\nd,2,40000,35000,1\n,1,30000,30000,0\n"
                        "c,1,30000,25000,0\n"
                        "b,1,30000,25000,0\n"
                        "a,1,30000,25000,0\n"
                        "k,1,30000,25000,0\n"
                        "j,1,30000,25000,0\n"
                        "z,1,30000,25000,0\n"
                        "y,1,30000,25000,0\n");
    out.size = 0;
    EtwCallersText(calls, "g", &out);
    EtwTextChar(&out, 0);
    CHECK_STR(out.data, "-- callers of g\n"
                        "    calls       total total%        self   errors  caller\n"
                        "        8   40.000 us 100.0%   40.000 us        0  f\n");
    out.size = 0;
    EtwCallersJson(calls, "a", &out);
    EtwTextChar(&out, 0);
    CHECK_STR(out.data, "{\"proc\":\"a\",\"callers\":[{\"caller\":\"\",\"calls\":1,\"total\":"
                        "100000,\"self\":70000,\"errors\":0}]}\n");
    EtwTextFree(&out);
    finish();
}

static void testHistogram(void)
{
    EtwHistogram h = {.count = 0};
    uint64_t worst = 0;
    CHECK_EQ(EtwHistogramAt(&h, 0.5), 0);
    for (uint64_t v = 1; v <= 100000; v++) {
        EtwHistogramAdd(&h, v * 37);
    }
    for (int p = 1; p <= 100; p++) {
        uint64_t want = (uint64_t)p * 1000 * 37, got = EtwHistogramAt(&h, p / 100.0);
        uint64_t off = (got > want ? got - want : want - got) * 1000 / want;
        worst = off > worst ? off : worst;
    }
    CHECK_MSG(worst <= 16, "%u per mille off", (unsigned)worst);
    EtwHistogramFree(&h);
    h = (EtwHistogram){.count = 0};
    EtwHistogramAdd(&h, 0);
    EtwHistogramAdd(&h, 31);
    EtwHistogramAdd(&h, UINT64_MAX);
    CHECK_EQ(EtwHistogramAt(&h, 0.1), 0);
    CHECK_EQ(EtwHistogramAt(&h, 0.6), 31);
    CHECK(EtwHistogramAt(&h, 1) > (uint64_t)1 << 62);
    EtwHistogramFree(&h);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(testNesting);
    CHECK_RUN(testNames);
    CHECK_RUN(testRecursion);
    CHECK_RUN(testCoroutine);
    CHECK_RUN(testAsleepAtTheEnd);
    CHECK_RUN(testInterpreters);
    CHECK_RUN(testNextBlock);
    CHECK_RUN(testEachEventLost);
    CHECK_RUN(testLostCallsOfInterpreters);
    CHECK_RUN(testAsleepIsNotLost);
    CHECK_RUN(testLost);
    CHECK_RUN(testCut);
    CHECK_RUN(testThreads);
    CHECK_RUN(testLate);
    CHECK_RUN(testByLine);
    CHECK_RUN(testCallbackNames);
    CHECK_RUN(testLeftOut);
    CHECK_RUN(testCallers);
    CHECK_RUN(testRecursiveCallers);
    CHECK_RUN(testHistogram);
    return CHECK_DONE();
}
