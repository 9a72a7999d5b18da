/*
 * bench/programs/processes.c --
 *
 *	Sessions across processes, through etw.h only: the cost of a write in a process among
 *	others, how long it takes until an enable is visible and reported in another process, and
 *	the latency of a live event in a consumer in another process. Prints `name value unit`.
 *	Linux.
 *
 *	usage: processes write EVENTS        40 bytes each, in a session that bench/processes.tcl started
 *	       processes enable ROUNDS
 *	       processes latency RATE EVENTS
 */
#include "base/os.h"
#include "engine/engine.h"
#include "etw.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static Etw_Provider *provider;
static Etw_Event *event;

static void setUp(void)
{
    static const Etw_Field fields[] = {
            {"Value", ETW_IN_UINT64, 0, 0, 0}, {"Text", ETW_IN_ANSIZ, ETW_OUT_UTF8, 0, 0}};
    provider = Etw_Register("Etw-Bench", NULL);
    event = Etw_DefineEvent(
            provider, &(Etw_EventDesc){.name = "Write", .level = 4, .keyword = 1}, fields, 2);
}

static void put(uint64_t value)
{
    Etw_Write(event, (Etw_Data[]){{&value, 8}, {"thirty-one characters of text ..", 32}}, 2);
}

/* Not OsNow, which reads all clocks many times and takes longer than the measured interval. */
static int64_t clockNs(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t steady(void)
{
    return clockNs(CLOCK_MONOTONIC);
}

static int byNumber(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(const char *name, double *us, long n)
{
    qsort(us, (size_t)n, sizeof *us, byNumber);
    printf("%s-median %.1f us\n%s-p99 %.1f us\n%s-max %.1f us\n", name, us[n / 2], name,
            us[n * 99 / 100], name, us[n - 1]);
}

static void need(EtwStatus status, const EtwError *err)
{
    if (status != ETW_OK) {
        fprintf(stderr, "processes: %s\n", err->message);
        exit(1);
    }
}

/* ---- write ----------------------------------------------------------------------------------- */

static int writeAll(long events)
{
    int64_t start;
    while (!Etw_Enabled(provider, 4, 1)) { /* both processes begin at the same time */
    }
    start = steady();
    for (long i = 0; i < events; i++) {
        if (Etw_Enabled(provider, 4, 1)) {
            put((uint64_t)i);
        }
    }
    printf("write %.2f ns/event\n", (double)(steady() - start) / (double)events);
    return 0;
}

/* ---- enable ---------------------------------------------------------------------------------- */

enum { SEEN = 1, TOLD = 2 };

static void told(void *ctx, int control, uint8_t level, uint64_t any, uint64_t all)
{
    (void)ctx;
    (void)level;
    (void)any;
    (void)all;
    if (control == ETW_CONTROL_ENABLE) {
        put(TOLD);
    }
}

/* In another process: polls, and receives a callback. */
static void watch(void)
{
    setUp();
    Etw_EnableCallbackAdd(provider, told, NULL);
    for (;;) {
        while (!Etw_Enabled(provider, 4, 1)) {
        }
        put(SEEN);
        while (Etw_Enabled(provider, 4, 1)) {
            OsSleepNs(100000);
        }
    }
}

static void session(EtwLive **livePtr)
{
    EtwError err = {0};
    EtwSessionConfig config = {.name = "bench-processes", .realtime = true};
    need(EtwSessionStart(&config, &err), &err);
    need(EtwLiveOpen("bench-processes", livePtr, &err), &err);
}

static EtwEnable request(void)
{
    EtwEnable enable = {.providerName = "Etw-Bench", .level = 5};
    EtwGuidFromName("Etw-Bench", &enable.provider);
    return enable;
}

static bool nextOfOurs(EtwLive *live, const EtwEnable *enable, EtwEvent *e)
{
    for (;;) {
        EtwStatus status = EtwLiveNext(live, e);
        if (status == ETW_OK && memcmp(&e->provider, &enable->provider, 16) == 0) {
            return true;
        }
        if (status == ETW_END) {
            return false;
        }
        if (status == ETW_AGAIN) {
            EtwLiveWait(live, 100000000);
        }
    }
}

static int enableAll(long rounds, const char *self)
{
    double *seenUs = calloc((size_t)rounds, sizeof *seenUs);
    double *toldUs = calloc((size_t)rounds, sizeof *toldUs);
    EtwEnable enable = request();
    EtwError err = {0};
    EtwLive *live;
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, "watch", (char *)NULL);
        _exit(9);
    }
    session(&live);
    OsSleepNs(300000000); /* until the child is ready */
    for (long i = 0; i < rounds; i++) {
        EtwEvent e;
        OsInstant start;
        OsNow(&start);
        need(EtwSessionEnable("bench-processes", &enable, &err), &err);
        for (int got = 0; got != (SEEN | TOLD) && nextOfOurs(live, &enable, &e);) {
            double us = (double)(e.time - start.wall) / 1000;
            int kind = e.payload[0];
            got |= kind;
            (kind == SEEN ? seenUs : toldUs)[i] = us;
        }
        need(EtwSessionDisable("bench-processes", &enable.provider, &err), &err);
        OsSleepNs(5000000);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    report("enable-to-first-event", seenUs, rounds);
    report("enable-to-callback", toldUs, rounds);
    EtwLiveClose(live);
    EtwSessionStop("bench-processes", NULL, &err);
    return 0;
}

/* ---- latency --------------------------------------------------------------------------------- */

static void pace(long rate, long events)
{
    int64_t start;
    setUp();
    while (!Etw_Enabled(provider, 4, 1)) {
        OsSleepNs(1000000);
    }
    start = steady();
    for (long i = 0; i < events; i++) {
        int64_t due = start + (int64_t)((double)i * 1e9 / (double)rate);
        int64_t left = due - steady();
        if (left > 200000) {
            OsSleepNs(left - 100000);
        }
        while (rate <= 10000 && steady() < due) {
        }
        put((uint64_t)i);
    }
}

static int latency(
        long rate, long events, const char *self, const char *rateText, const char *eventsText)
{
    double *us = calloc((size_t)events, sizeof *us);
    EtwEnable enable = request();
    EtwError err = {0};
    EtwLive *live;
    long got = 0;
    char name[64];
    pid_t child = fork();
    if (child == 0) {
        execl(self, self, "pace", rateText, eventsText, (char *)NULL);
        _exit(9);
    }
    session(&live);
    need(EtwSessionEnable("bench-processes", &enable, &err), &err);
    for (EtwEvent e; got + (long)EtwLiveLost(live) < events && nextOfOurs(live, &enable, &e);) {
        us[got++] = (double)(clockNs(CLOCK_REALTIME) - e.time) / 1000;
    }
    waitpid(child, NULL, 0);
    snprintf(name, sizeof name, "live-%ld-a-second", rate);
    report(name, us, got);
    printf("%s-lost %llu events\n", name, (unsigned long long)EtwLiveLost(live));
    EtwLiveClose(live);
    EtwSessionStop("bench-processes", NULL, &err);
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    long first = argc > 2 ? atol(argv[2]) : 0, second = argc > 3 ? atol(argv[3]) : 0;
    OsInit();
    if (strcmp(mode, "write") == 0) {
        setUp();
        return writeAll(first);
    }
    if (strcmp(mode, "watch") == 0) {
        watch();
    }
    if (strcmp(mode, "enable") == 0 && first > 0) {
        return enableAll(first, argv[0]);
    }
    if (strcmp(mode, "pace") == 0) {
        pace(first, second);
        return 0;
    }
    if (strcmp(mode, "latency") == 0 && second > 0) {
        return latency(first, second, argv[0], argv[2], argv[3]);
    }
    fprintf(stderr, "usage: processes write EVENTS | enable ROUNDS | latency RATE EVENTS\n");
    return 1;
}
#else
int main(void)
{
    fprintf(stderr, "processes: for Linux\n");
    return 2;
}
#endif
