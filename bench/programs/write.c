/*
 * bench/programs/write.c --
 *
 *	The cost of a provider's write, through etw.h only: 40 bytes of payload (one u64 and a
 *	31-character string), enabled, with one and two threads; disabled; and in a session that has
 *	enabled other keywords. Two forms alternate, in blocks of 10000 events: Etw_Enabled with
 *	Etw_Write (`write-...`), and ETW_WRITE (`line-...`). Prints `name value unit`.
 *
 *	usage: write MODE THREADS EVENTS [FILE]     MODE: memory file disabled other
 */
#include "base/os.h"
#include "engine/engine.h"
#include "etw.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Etw_Provider *provider;
static Etw_Event *event;
static long perThread;
static _Atomic int ready, go;
static int threads;
static double nsOf[64][2];

static double now(void)
{
    OsInstant t;
    OsNow(&t);
    return (double)t.steady;
}

enum { BLOCK = 10000 };

static __attribute__((noinline)) void writeBlock(const char *text)
{
    for (long i = 0; i < BLOCK; i++) {
        if (Etw_Enabled(provider, 4, 1)) {
            uint64_t value = (uint64_t)i;
            Etw_Write(event, (Etw_Data[]){{&value, 8}, {text, 32}}, 2);
        } else {
            __asm__ volatile("" ::: "memory");
        }
    }
}

static __attribute__((noinline)) void lineBlock(const char *text)
{
    for (long i = 0; i < BLOCK; i++) {
        ETW_WRITE(provider, "Line", ETW_KEYWORD(1), ETW_U64("Value", (uint64_t)i),
                ETW_FIELD("Text", ETW_IN_ANSIZ, ETW_OUT_UTF8, text, 32));
        __asm__ volatile("" ::: "memory");
    }
}

static void worker(void *arg)
{
    long index = (long)(intptr_t)arg;
    char text[32] = "thirty-one characters of text ..";
    long blocks = perThread / BLOCK / 2;
    blocks = blocks > 0 ? blocks : 1;
    ready++;
    while (!go) {
    }
    for (long i = 0; i < blocks; i++) {
        double start = now(), middle;
        writeBlock(text);
        middle = now();
        lineBlock(text);
        nsOf[index][0] += middle - start;
        nsOf[index][1] += now() - middle;
    }
    nsOf[index][0] /= (double)(blocks * BLOCK);
    nsOf[index][1] /= (double)(blocks * BLOCK);
}

static void fail(const EtwError *err)
{
    fprintf(stderr, "write: %s\n", err->message);
    exit(1);
}

static void start(const char *mode, const char *file)
{
    EtwError err;
    bool memory = strcmp(mode, "file") != 0;
    EtwSessionConfig config = {.name = "bench-write",
            .mode = memory ? ETW_FILE_MEMORY : ETW_FILE_SEQUENTIAL,
            .file = memory ? NULL : file,
            .minBuffers = 128, /* all touched before the measurement, as the peer's are */
            .maxBuffers = 128};
    EtwEnable enable = {
            .providerName = "Etw-Bench", .level = 5, .any = strcmp(mode, "other") == 0 ? 2 : 1};
    EtwGuidFromName("Etw-Bench", &enable.provider);
    if (EtwSessionStart(&config, &err) != ETW_OK) {
        fail(&err);
    }
    if (strcmp(mode, "disabled") != 0 && EtwSessionEnable("bench-write", &enable, &err) != ETW_OK) {
        fail(&err);
    }
}

int main(int argc, char **argv)
{
    static const Etw_Field fields[] = {
            {"Value", ETW_IN_UINT64, 0, 0, 0}, {"Text", ETW_IN_ANSIZ, ETW_OUT_UTF8, 0, 0}};
    const char *mode = argc > 1 ? argv[1] : "memory";
    OsThread *thread[64];
    EtwSessionInfo info;
    double sum[2] = {0, 0};
    threads = argc > 2 ? atoi(argv[2]) : 1;
    threads = threads < 1 ? 1 : threads > 64 ? 64 : threads;
    perThread = (argc > 3 ? atol(argv[3]) : 1000000) / threads;
    provider = Etw_Register("Etw-Bench", NULL);
    event = Etw_DefineEvent(
            provider, &(Etw_EventDesc){.name = "Write", .level = 4, .keyword = 1}, fields, 2);
    start(mode, argc > 4 ? argv[4] : "/tmp/etw-bench-write.etl");
    for (long i = 0; i < threads; i++) {
        OsThreadStart(&thread[i], "writer", worker, (void *)(intptr_t)i);
    }
    while (ready < threads) {
    }
    go = 1;
    for (int i = 0; i < threads; i++) {
        OsThreadJoin(thread[i]);
        sum[0] += nsOf[i][0];
        sum[1] += nsOf[i][1];
    }
    EtwSessionStop("bench-write", &info, NULL);
    printf("write-%s-%d-threads %.2f ns/event/thread\n", mode, threads, sum[0] / threads);
    printf("line-%s-%d-threads %.2f ns/event/thread\n", mode, threads, sum[1] / threads);
    printf("write-%s-%d-lost %llu events\n", mode, threads,
            (unsigned long long)(info.lost.noBuffer + info.lost.tooBig + info.lost.io));
    return 0;
}
