/*
 * tests/flow/test_call_sizes.c --
 *
 *	flow/calls: deep and long traces, whose time must grow with the number of events only, and random ones, in which
 *	no time may be lost.
 */
#include "tests/support/check.h"
#include "tests/support/call_events.h"
#include <time.h>

/* ---- Sizes ----------------------------------------------------------------------------------- */

/* A tree of 60,000 levels, never left, and then as many leaves out of order. */
static void testDeep(void)
{
    enum { DEEP = 60000 };
    EtwText out = {0};
    begin(merged);
    for (int i = 1; i <= DEEP; i++) {
        enter(i, (uint64_t)i, i, "f", "::f");
    }
    for (int i = 1; i <= DEEP; i++) {
        leave(DEEP + i, (uint64_t)i, 0);
    }
    EtwCallsEnd(calls);
    CHECK_EQ(calls->calls, DEEP);
    CHECK_EQ(rowOf("f")->times.count, DEEP);
    EtwCallsJson(calls, false, true, &out);
    CHECK(out.size > DEEP);
    EtwTextFree(&out);
    finish();
}

/* A recursion deeper than a tree can be: the last level counts the rest, and no time is lost. */
static void testDeeper(void)
{
    enum { DEEP = 40000 };
    for (int round = 0; round < 2; round++) {
        EtwText out = {0};
        int levels = 0;
        begin(round ? single : merged);
        for (int i = 1; i <= DEEP; i++) {
            enter(i, (uint64_t)i, i, "f", "::f");
        }
        for (int i = DEEP; i > 0; i--) {
            leave(2 * DEEP - i, (uint64_t)i, 0);
        }
        EtwCallsEnd(calls);
        const EtwCallNode *node = calls->threads;
        for (; node->first != NULL; node = node->first) {
            levels++;
        }
        CHECK_EQ(levels, ETW_CALL_LEVELS);
        CHECK_STR(node->row->name, ETW_CALL_DEEPER);
        CHECK_EQ(node->stats.calls, DEEP - ETW_CALL_LEVELS + 1);
        CHECK_EQ(calls->folded, DEEP - ETW_CALL_LEVELS + 1);
        CHECK_EQ(node->stats.total, node->stats.self);
        CHECK_EQ(calls->threads->first->stats.total, rowOf("f")->stats.total);
        CHECK_EQ(node->parent->stats.total, node->stats.total + node->parent->stats.self);
        EtwCallsFoldedText(calls, SIZE_MAX, &out);
        CHECK(out.size < 4 << 20);
        EtwTextFree(&out);
        finish();
    }
}

/* A sampled stack that is deeper than that. */
static void testDeepSample(void)
{
    static const Etw_Field fields[] = {FIELD("Weight", ETW_IN_UINT64), TEXT_FIELD("Stack")};
    EtwText stack = {0};
    begin((EtwCallsConfig){.tree = true, .samples = true});
    for (int i = 0; i < 20000; i++) {
        EtwTextStr(&stack, i > 0 ? ";f" : "f");
    }
    EtwTextChar(&stack, 0);
    Sample *s = SampleNew("Tcl-Script", "Sample", fields, 2);
    SampleInt(s, 1000, 8);
    SampleText(s, stack.data);
    add(s, 1);
    const EtwCallNode *node = calls->threads;
    while (node->first != NULL) {
        node = node->first;
    }
    CHECK_EQ(node->level, ETW_CALL_LEVELS);
    CHECK_EQ(node->stats.calls, 1);
    CHECK_EQ(node->stats.self, 1000);
    EtwTextFree(&stack);
    finish();
}

/* Coroutines that yielded at one place, and end in the order of their begins. */
static void addSleepers(int n)
{
    for (int i = 1; i <= n; i++) {
        enter(i, (uint64_t)i, 1, "gen", "");
    }
    for (int i = 1; i <= n; i++) {
        leave(n + i, (uint64_t)i, 0);
    }
}

/* A deep coroutine that resumes and yields again and again. */
static void addYields(int n)
{
    uint64_t id = 0;
    for (int i = 1; i <= n; i++) {
        enter(i, ++id, i + 1, "gen", i > 1 ? "::gen" : "");
    }
    for (int i = 1; i <= n; i++) {
        enter(n + i, ++id, 1, "main", "");
        leave(n + i, id, 0);
        enter(n + i, ++id, n + 2, "next", "::gen");
        leave(n + i, id, 0);
    }
}

/* Threads of one process, which end in the order of their begins. */
static void addThreads(int n)
{
    for (int i = 1; i <= n; i++) {
        threadId = (uint32_t)(TID + i);
        enter(i, (uint64_t)i, 1, "work", "");
    }
    for (int i = 1; i <= n; i++) {
        threadId = (uint32_t)(TID + i);
        stopOf(n + i, "Linux-thread");
    }
}

/* A deep stack that paid for many things. */
static void addCosts(int n)
{
    static const Etw_Field fields[] = {TEXT_FIELD("Operation"), TEXT_FIELD("Channel"),
            FIELD("Bytes", ETW_IN_UINT64), FIELD("Duration", ETW_IN_UINT64)};
    char name[20];
    for (int i = 1; i <= n; i++) {
        enter(i, (uint64_t)i, i, "f", i > 1 ? "::f" : "");
        snprintf(name, sizeof name, "sock%d", i);
        Sample *s = SampleNew("Tcl-Script", "Channel", fields, 4);
        SampleText(s, "read");
        SampleText(s, name);
        SampleInt(s, 1, 8);
        SampleInt(s, 1, 8);
        add(s, i);
    }
    for (int i = n; i > 0; i--) {
        leave(2 * n - i, (uint64_t)i, 0);
    }
}

static double secondsOf(void (*addEvents)(int n), int n)
{
    begin((EtwCallsConfig){.tree = false});
    clock_t start = clock();
    addEvents(n);
    EtwCallsEnd(calls);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    finish();
    return seconds;
}

/* Sixteen times the events take sixteen times as long; 256 times, where an algorithm is quadratic. */
static void testLinear(void)
{
    static const struct {
        const char *name;
        void (*addEvents)(int n);
        int n;
    } kinds[] = {{"sleepers", addSleepers, 4000}, {"yields", addYields, 1000},
            {"threads", addThreads, 4000}, {"costs", addCosts, 1000}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        double small = secondsOf(kinds[i].addEvents, kinds[i].n);
        double large = secondsOf(kinds[i].addEvents, 16 * kinds[i].n);
        if (large > 60 * (small > 0.002 ? small : 0.002)) {
            fprintf(stderr, "%s: %.4f s, of 16 times the events %.4f s\n", kinds[i].name, small,
                    large);
            CHECK(!"linear");
        }
    }
}

static uint64_t selfBelow(const EtwCallNode *node)
{
    uint64_t self = 0;
    for (const EtwCallNode *n = node->first; n != NULL; n = n->next) {
        self += n->stats.self + selfBelow(n);
    }
    return self;
}

/* Whatever comes, all time on a stack is the self time of exactly one row, and of one node. */
static void testRandom(void)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    uint32_t seed = 1;
    for (int round = 0; round < 40; round++) {
        begin(round % 2 ? merged : single);
        for (int i = 0; i < 2000; i++) {
            seed = seed * 1664525 + 1013904223;
            uint32_t r = seed >> 8;
            uint64_t id = 1 + r % 700;
            threadId = TID + (r >> 4) % 2;
            if (r % 5 < 3) {
                char context[] = "::x";
                context[2] = *names[(r >> 6) % 4];
                enter(i, id, 1 + (int)((r >> 10) % 5), names[(r >> 8) % 4], context);
            } else if (r % 5 == 3) {
                leave(i, id, 0);
            } else {
                switchTo(i, TID + (r >> 6) % 3, TID + (r >> 8) % 3, (uint16_t)((r >> 10) % 2));
            }
        }
        EtwCallsEnd(calls);
        uint64_t self = 0, total = 0, onNodes = 0;
        for (const EtwCallRow *row = calls->rows; row != NULL; row = row->next) {
            self += row->stats.self;
            CHECK(row->stats.total >= row->stats.self || row->stats.calls == 0);
        }
        for (const EtwCallNode *t = calls->threads; t != NULL; t = t->next) {
            total += t->stats.total;
            onNodes += selfBelow(t);
        }
        CHECK_EQ(self, total);
        CHECK_EQ(onNodes, total);
        finish();
    }
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(testDeep);
    CHECK_RUN(testDeeper);
    CHECK_RUN(testDeepSample);
    CHECK_RUN(testLinear);
    CHECK_RUN(testRandom);
    return CHECK_DONE();
}
