/*
 * tests/flow/test_call_costs.c --
 *
 *	flow/calls: what the kernel has a call pay for (waits, system calls, bytes), and the outputs of such a trace.
 */
#include "tests/support/check.h"
#include "tests/support/call_events.h"

/* ---- Kernel ---------------------------------------------------------------------------------- */

static const EtwCost *costOf(const EtwCosts *costs, EtwCostKind kind, const char *what)
{
    for (int i = 0; i < costs->count; i++) {
        if (costs->list[i].of->kind == kind && strcmp(costs->list[i].of->name, what) == 0) {
            return &costs->list[i];
        }
    }
    return NULL;
}

/* a calls b twice: b waits in poll (7), is preempted, sends. */
static void story(void)
{
    enter(0, 1, 1, "a", "::");
    enter(10, 2, 2, "b", "::a");
    syscallEvent(20, "Enter", 7);
    switchTo(30, TID, 9999, 1);
    threadId = 9999; /* whoever runs meanwhile */
    switchTo(80, 9999, TID, 1);
    threadId = TID;
    syscallEvent(90, "Exit", 7);
    sendBytes(95, 1000);
    sendBytes(96, -11);
    leave(100, 2, 0);
    enter(110, 3, 2, "b", "::a");
    switchTo(120, TID, 9999, 256);
    switchTo(125, 9999, TID, 1);
    switchTo(130, TID, 9999, 2);
    switchTo(140, 9999, TID, 1);
    leave(150, 3, 1);
    leave(200, 1, 0);
    enter(210, 4, 1, "exits", "::");
    sendBytes(220, 20);
    EtwCallsEnd(calls);
}

static void testCosts(void)
{
    begin(merged);
    story();
    const EtwCallStats *a = &rowOf("a")->stats, *b = &rowOf("b")->stats;
    const EtwCost *poll = costOf(&b->own, ETW_COST_WAIT, "poll");
    const EtwCost *call = costOf(&b->own, ETW_COST_SYSCALL, "poll");
    const EtwCost *ready = costOf(&b->own, ETW_COST_READY, "");
    const EtwCost *other = costOf(&b->own, ETW_COST_WAIT, "");
    const EtwCost *sent = costOf(&b->own, ETW_COST_MOVE, "tcp send");
    REQUIRE(poll && call && ready && other && sent);
    CHECK_EQ(poll->ns, 50 * US);
    CHECK_EQ(call->ns, 70 * US);
    CHECK_EQ(ready->ns, 5 * US);
    CHECK_EQ(other->ns, 10 * US);
    CHECK_EQ(sent->bytes, 1000);
    CHECK_EQ(sent->count, 2);
    CHECK_EQ(EtwCostsWait(&b->own), 65 * US);
    CHECK_EQ(a->own.count, 0);
    CHECK_EQ(EtwCostsWait(&a->all), 65 * US);
    CHECK_EQ(EtwCostsWait(&calls->threads->stats.all), 65 * US);
    CHECK_EQ(EtwCostsWait(&calls->threads->first->stats.all), 65 * US);
    finish();
}

/* In a recursion the waits below are the outermost call's, once. */
static void testCostsOfRecursion(void)
{
    begin(merged);
    enter(0, 1, 1, "f", "::");
    enter(10, 2, 2, "f", "::f");
    switchTo(20, TID, 9999, 1);
    switchTo(50, 9999, TID, 1);
    leave(60, 2, 0);
    leave(70, 1, 0);
    EtwCallsEnd(calls);
    CHECK_EQ(EtwCostsWait(&rowOf("f")->stats.own), 30 * US);
    CHECK_EQ(EtwCostsWait(&rowOf("f")->stats.all), 30 * US);
    finish();
}

/* A wait ends with the wake-up; from then on the thread waits for a CPU. */
static void testWakeUps(void)
{
    begin(merged);
    enter(0, 1, 1, "f", "::");
    syscallEvent(10, "Enter", 7);
    switchTo(20, TID, 9999, 1);
    readyThread(50, TID, 9999, 0);
    readyThread(60, TID, 9999, 0); /* it is ready already */
    switchTo(80, 9999, TID, 1);
    syscallEvent(90, "Exit", 7);
    readyThread(99, TID, 9999, 2); /* on its way out */
    switchTo(100, TID, 9999, 1);
    switchTo(110, 9999, TID, 1);
    switchTo(120, TID, 9999, 256);
    readyThread(125, TID, 9999, 2); /* it does not wait */
    switchTo(140, 9999, TID, 1);
    readyThread(150, TID, 9999, 2); /* it did not sleep after all */
    switchTo(160, TID, 9999, 1);
    readyThread(190, TID, 9999, 2);
    switchTo(195, 9999, TID, 1);
    leave(200, 1, 0);
    EtwCallsEnd(calls);
    const EtwCallStats *f = &rowOf("f")->stats;
    const EtwCost *poll = costOf(&f->own, ETW_COST_WAIT, "poll");
    const EtwCost *ready = costOf(&f->own, ETW_COST_READY, "");
    const EtwCost *other = costOf(&f->own, ETW_COST_WAIT, "");
    REQUIRE(poll && ready && other);
    CHECK_EQ(poll->ns, 30 * US);
    CHECK_EQ(ready->ns, (30 + 10 + 20 + 5) * US);
    CHECK_EQ(ready->count, 4);
    CHECK_EQ(other->ns, 30 * US);
    CHECK_EQ(EtwCostsWait(&f->own), 125 * US);
    finish();
}

static void testGolden(void)
{
    EtwText out = {0};
    begin(merged);
    story();
    EtwCallsProfileText(calls, &out);
    EtwTextChar(&out, '\n');
    EtwCallsTreeText(calls, &out);
    EtwTextChar(&out, '\n');
    EtwCallsProfileCsv(calls, &out);
    EtwCallsTreeCsv(calls, &out);
    EtwCallsJson(calls, true, true, &out);
    CHECK(SampleIsGolden("calls.txt", out.data, out.size));
    EtwTextFree(&out);
    finish();
}

/* Names are shown without what a terminal would obey. */
static void testControls(void)
{
    EtwText out = {0};
    begin(merged);
    enter(0, 1, 1,
            "a\033[31m\xC2\x9B"
            "31m",
            "::");
    leave(1, 1, 0);
    EtwCallsEnd(calls);
    EtwCallsProfileText(calls, &out);
    EtwCallsTreeText(calls, &out);
    CHECK(memchr(out.data, '\033', out.size) == NULL && memchr(out.data, 0x9B, out.size) == NULL);
    EtwTextFree(&out);
    finish();
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(testCosts);
    CHECK_RUN(testCostsOfRecursion);
    CHECK_RUN(testWakeUps);
    CHECK_RUN(testGolden);
    CHECK_RUN(testControls);
    return CHECK_DONE();
}
