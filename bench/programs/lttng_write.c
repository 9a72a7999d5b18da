/*
 * bench/programs/lttng_write.c --
 *
 *	The peer of bench/programs/write.c: writes the same 40 bytes through LTTng-UST. Run inside
 *	an LTTng session created by bench/write.tcl.
 *
 *	usage: lttng_write NAME THREADS EVENTS
 */
#ifdef BENCH_LTTNG
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/programs/lttng_tp.h"
#include "base/os.h"
#include <stdio.h>
#include <stdlib.h>

static long perThread;
static _Atomic int ready, go;
static double nsOf[64];

static void worker(void *arg)
{
    long index = (long)(intptr_t)arg;
    const char *text = "thirty-one characters of text ..";
    OsInstant start, end;
    ready++;
    while (!go) {
    }
    OsNow(&start);
    for (long i = 0; i < perThread; i++) {
        lttng_ust_tracepoint(etw_peer, write, (uint64_t)i, text);
    }
    OsNow(&end);
    nsOf[index] = (double)(end.steady - start.steady) / (double)perThread;
}

int main(int argc, char **argv)
{
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    OsThread *thread[64];
    double sum = 0;
    threads = threads < 1 ? 1 : threads > 64 ? 64 : threads;
    perThread = (argc > 3 ? atol(argv[3]) : 1000000) / threads;
    OsInit();
    for (long i = 0; i < threads; i++) {
        OsThreadStart(&thread[i], "writer", worker, (void *)(intptr_t)i);
    }
    while (ready < threads) {
    }
    go = 1;
    for (int i = 0; i < threads; i++) {
        OsThreadJoin(thread[i]);
        sum += nsOf[i];
    }
    printf("%s-%d-threads %.2f ns/event/thread\n", argc > 1 ? argv[1] : "lttng", threads,
            sum / threads);
    return 0;
}
#else
#include <stdio.h>
int main(void)
{
    fprintf(stderr, "built without LTTng-UST: sh tools/deps.sh bench, then make again\n");
    return 2;
}
#endif
