/*
 * bench/programs/kernel.c --
 *
 *	The cost of tracing a system call (an Enter and an Exit) for the traced program: with
 *	tracefs, perf, perf with stacks, perf with copies of stacks that are unwound, and untraced; or of a malloc and
 *	its free: untraced, with group heap, and in a process other than the traced one. Runs in bursts that fit into the
 *	rings, with pauses for the logger that are not counted. Prints `name value unit`. Linux, as
 *	root.
 *
 *	usage: kernel MODE CALLS FILE     MODE: none tracefs perf stacks copies malloc heap beside
 */
#include "base/os.h"
#include "engine/engine.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>

extern bool kernelPerf; /* unix/kernel/kernel_int.h */
enum { BURST = 5000, COPIES_BURST = 500, PAUSE = 60000000 };

static void check(EtwStatus status, const EtwError *err)
{
    if (status != ETW_OK) {
        fprintf(stderr, "kernel: %s\n", err->message);
        exit(1);
    }
}

static bool ofHeap(const char *mode)
{
    return strcmp(mode, "malloc") == 0 || strcmp(mode, "heap") == 0 || strcmp(mode, "beside") == 0;
}

static void start(const char *mode, const char *file)
{
    const char *group = ofHeap(mode) ? "heap" : "systemcall";
    uint32_t parent = (uint32_t)getppid();
    EtwKernelEnable enable = {.groups = &group,
            .groupCount = 1,
            .stacks = strcmp(mode, "stacks") == 0   ? ETW_STACKS_FRAMES
                      : strcmp(mode, "copies") == 0 ? ETW_STACKS_COPIES
                                                    : ETW_STACKS_NONE};
    if (strcmp(mode, "beside") == 0) {
        enable.pids = &parent;
        enable.pidCount = 1;
    }
    EtwSessionConfig config = {.name = "bench-kernel", .file = file};
    EtwError err = {0};
    kernelPerf = strcmp(mode, "perf") == 0;
    check(EtwSessionStart(&config, &err), &err);
    check(EtwSessionEnableKernel(config.name, &enable, &err), &err);
}

static double burst(bool heap, int count)
{
    OsInstant from, to;
    OsNow(&from);
    for (int i = 0; i < count; i++) {
        if (heap) {
            void *volatile memory = malloc(100);
            free(memory);
        } else {
            syscall(SYS_getppid);
        }
    }
    OsNow(&to);
    return (double)(to.steady - from.steady) / count;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 3 ? argv[1] : "";
    long calls = argc > 3 ? atol(argv[2]) : 0;
    bool traced = strcmp(mode, "none") != 0 && strcmp(mode, "malloc") != 0;
    EtwSessionInfo info = {0};
    EtwError err = {0};
    double best = 1e9;
    OsInit();
    if (traced) {
        start(mode, argv[3]);
    }
    int size = strcmp(mode, "copies") == 0 ? COPIES_BURST : BURST;
    for (long done = 0; done < calls; done += BURST) {
        double ns = burst(ofHeap(mode), size);
        best = ns < best ? ns : best;
        OsSleepNs(traced ? PAUSE : 0);
    }
    if (traced) {
        check(EtwSessionStop("bench-kernel", &info, &err), &err);
    }
    printf("call %.1f ns\nevents %llu events\nbytes %llu bytes\nlost %llu events\n", best,
            (unsigned long long)info.events, (unsigned long long)info.bytes,
            (unsigned long long)(info.lost.kernel + info.lost.noBuffer));
    return 0;
}

#else

int main(void)
{
    fprintf(stderr, "kernel: Linux only\n");
    return 1;
}

#endif
