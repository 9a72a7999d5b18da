/*
 * bench/programs/pace.c --
 *
 *	Writes events at a steady rate to a file session with default buffers, and prints the
 *	losses, the process's CPU time including the logger's, and its memory early and late.
 *
 *	usage: pace RATE SECONDS THREADS FILE|- ?off?     RATE events/s over all threads; -: no session
 *	(the cost of the pacing itself); off: the file is not compressed
 */
#include "base/os.h"
#include "engine/engine.h"
#include "etw.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TICK = 1000000 }; /* ns between bursts */

static Etw_Provider *provider;
static Etw_Event *event;
static double rate; /* of one thread */
static double seconds;

static int64_t steady(void)
{
    OsInstant now;
    OsNow(&now);
    return now.steady;
}

static void worker(void *unused)
{
    int64_t start = steady();
    uint64_t done = 0;
    char text[32] = "thirty-one characters of text ..";
    (void)unused;
    for (;;) {
        int64_t elapsed = steady() - start;
        uint64_t due = (uint64_t)((double)elapsed * rate / 1e9);
        if ((double)elapsed >= seconds * 1e9) {
            return;
        }
        for (; done < due; done++) {
            if (Etw_Enabled(provider, 4, 1)) {
                Etw_Write(event, (Etw_Data[]){{&done, 8}, {text, 32}}, 2);
            }
        }
        OsSleepNs(TICK);
    }
}

/* Resident memory including shared pages; 0: unknown. */
static long residentKB(void)
{
    char line[256];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "VmRSS: %ld kB", &kb) == 1) {
            break;
        }
    }
    if (f != NULL) {
        fclose(f);
    }
    return kb;
}

int main(int argc, char **argv)
{
    static const Etw_Field fields[] = {
            {"Value", ETW_IN_UINT64, 0, 0, 0}, {"Text", ETW_IN_ANSIZ, ETW_OUT_UTF8, 0, 0}};
    EtwSessionConfig config = {.name = "bench-pace"};
    EtwEnable enable = {.providerName = "Etw-Bench"};
    EtwSessionInfo info = {0};
    EtwError err;
    OsThread *thread[64];
    int threads = argc > 3 ? atoi(argv[3]) : 1;
    if (argc < 5 || threads < 1 || threads > 64) {
        fprintf(stderr, "usage: pace RATE SECONDS THREADS FILE|- ?off?\n");
        return 2;
    }
    rate = atof(argv[1]) / threads;
    seconds = atof(argv[2]);
    provider = Etw_Register("Etw-Bench", NULL);
    event = Etw_DefineEvent(
            provider, &(Etw_EventDesc){.name = "Write", .level = 4, .keyword = 1}, fields, 2);
    config.file = argv[4];
    config.compress = argc > 5 ? ETW_COMPRESS_OFF : ETW_COMPRESS_AUTO;
    EtwGuidFromName("Etw-Bench", &enable.provider);
    if (strcmp(argv[4], "-") != 0 &&
            (EtwSessionStart(&config, &err) != ETW_OK ||
                    EtwSessionEnable("bench-pace", &enable, &err) != ETW_OK)) {
        fprintf(stderr, "pace: %s\n", err.message);
        return 1;
    }
    for (int i = 0; i < threads; i++) {
        OsThreadStart(&thread[i], "writer", worker, NULL);
    }
    OsSleepNs((int64_t)(seconds * 0.3 * 1e9));
    long early = residentKB();
    OsSleepNs((int64_t)(seconds * 0.6 * 1e9));
    long late = residentKB();
    for (int i = 0; i < threads; i++) {
        OsThreadJoin(thread[i]);
    }
    if (strcmp(argv[4], "-") != 0 && EtwSessionStop("bench-pace", &info, &err) != ETW_OK) {
        fprintf(stderr, "pace: %s\n", err.message);
    }
    printf("events %llu events\n", (unsigned long long)info.events);
    printf("lost %llu events\n", (unsigned long long)(info.lost.noBuffer + info.lost.io +
                                                      info.lost.tooBig + info.lost.abandoned));
    printf("cpu %.3f s\n", (double)clock() / CLOCKS_PER_SEC);
    printf("bytes %llu bytes\n", (unsigned long long)info.bytes);
    printf("early %ld KB\nlate %ld KB\n", early, late);
    return 0;
}
