/*
 * tests/flow/test_off_cpu.c --
 *
 *	Time off the CPU by stack (flow/calls/off_cpu.c), with made-up switches. tests/unix/kernel_symbols.test has real ones.
 */
#include "tests/support/check.h"
#include "tests/support/call_events.h"

enum { A = 11, B = 12, IDLE = 0, RUNNING = 0, SLEEPING = 1, DISK = 2, DEAD = 16 };

static const EtwCallsConfig offCpu = {.tree = true, .samples = true, .offCpu = true};

/* A switch, which belongs to thread `of`. */
static void switched(int64_t us, uint32_t of, uint32_t from, uint32_t to, uint16_t state)
{
    threadId = of;
    switchTo(us, from, to, state);
}

/* The self time of a row in microseconds; -1: no such row. */
static long selfOf(const char *name)
{
    for (const EtwCallRow *row = calls->rows; row != NULL; row = row->next) {
        if (row->nameSize == strlen(name) && memcmp(row->name, name, row->nameSize) == 0) {
            return (long)(row->stats.self / US);
        }
    }
    return -1;
}

static void off_1_1_until_it_runs_again(void)
{
    begin(offCpu);
    switched(0, A, A, IDLE, SLEEPING);
    switched(100, A, IDLE, A, RUNNING); /* idle is not traced: the event belongs to A */
    switched(150, A, A, B, SLEEPING);
    switched(170, B, B, A, SLEEPING); /* A is back, B leaves */
    EtwCallsEnd(calls);
    CHECK_EQ(selfOf("[waits]"), 120);
    CHECK_EQ(selfOf("[waits for a CPU]"), -1);
    CHECK_EQ(calls->calls, 2);
    finish();
}

static void off_1_2_woken_and_preempted(void)
{
    begin(offCpu);
    switched(0, A, A, B, SLEEPING);
    threadId = B;
    readyThread(30, A, B, 0);
    switched(50, B, B, A, RUNNING); /* B is preempted */
    switched(90, A, A, B, DISK);
    EtwCallsEnd(calls);
    CHECK_EQ(selfOf("[waits]"), 30);
    CHECK_EQ(selfOf("[waits for a CPU]"), 20 + 40);
    CHECK_EQ(selfOf("[waits, not interruptible]"), -1); /* lasts at the end */
    CHECK_EQ(selfOf("[no stack]"), 0);
    finish();
}

static void off_1_3_ends(void)
{
    begin(offCpu);
    switched(0, A, A, B, DEAD);
    switched(10, B, B, A, SLEEPING); /* another thread has A's id: no time */
    switched(20, A, A, B, DISK);
    switched(45, B, IDLE, A, RUNNING);
    EtwCallsEnd(calls);
    CHECK_EQ(selfOf("[waits]"), 10); /* of B */
    CHECK_EQ(selfOf("[waits, not interruptible]"), 25);
    finish();
}

static void off_1_4_idle_kernel_threads(void)
{
    enum { IDLING = 0x80 | DISK };
    begin(offCpu);
    switched(0, A, A, B, IDLING);
    switched(30, B, B, A, SLEEPING);
    EtwCallsEnd(calls);
    CHECK_EQ(selfOf("[waits, not interruptible]"), 30);
    finish();
}

/* Some kernels do not report every switch: the thread leaves the CPU twice in a row. */
static void off_1_5_switch_that_is_missing(void)
{
    begin(offCpu);
    switched(0, A, A, B, SLEEPING);
    threadId = B;
    readyThread(30, A, B, 0);
    switched(100, A, A, B, DISK);     /* it was woken, and ran then: since when is not known */
    switched(150, A, A, B, SLEEPING); /* it was not woken: until now at most */
    switched(160, B, B, A, RUNNING);
    switched(180, A, A, B, SLEEPING);
    switched(200, B, B, IDLE, SLEEPING); /* B was not waiting: it could run */
    switched(270, A, A, IDLE, DEAD);     /* nor is this one known: until its end at most */
    EtwCallsEnd(calls);
    CHECK_EQ(selfOf("[waits]"), 30 + 10 + 90);
    CHECK_EQ(selfOf("[waits, not interruptible]"), 50);
    CHECK_EQ(selfOf("[waits for a CPU]"), 20);
    finish();
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(off_1_1_until_it_runs_again);
    CHECK_RUN(off_1_2_woken_and_preempted);
    CHECK_RUN(off_1_3_ends);
    CHECK_RUN(off_1_4_idle_kernel_threads);
    CHECK_RUN(off_1_5_switch_that_is_missing);
    return CHECK_DONE();
}
