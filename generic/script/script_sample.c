/*
 * script/script_sample.c --
 *
 *	A sampling profiler of an interpreter's procs: a thread of its own marks an async handler at
 *	an interval, Tcl runs that between two commands, and it writes who is on the stack then. A
 *	command in C that takes longer than the interval is one sample, whose Weight is all of the time
 *	since the one before and whose Late is how long the mark had to wait.
 */
#include "script/script_fields.h"
#include "script/script_redact.h"
#include <stdio.h>

struct EtwSampler {
    EtwScriptState *state;
    Tcl_AsyncHandler handler;
    int *ready; /* of the thread that is sampled; NULL: Tcl_AsyncMark is needed */
    Tcl_ThreadId sampled;
    OsThread *thread;
    uint64_t interval;    /* ns */
    bool stop;            /* relaxed: the thread may see it a slice later */
    uint64_t marked;      /* ticks of the mark that waits, 0: none; relaxed: a figure only */
    uint64_t last;        /* ticks of the last sample */
    OsCounters *counters; /* NULL: none are wanted */
    int which[OS_COUNTERS], counterCount;
};

static void mark(const EtwSampler *sampler)
{
    if (sampler->ready == NULL) {
        Tcl_AsyncMark(sampler->handler);
        return;
    }
    __atomic_store_n((int *)sampler->handler, 1, __ATOMIC_RELEASE);
    __atomic_store_n(sampler->ready, 1, __ATOMIC_RELEASE);
    Tcl_ThreadAlert(sampler->sampled); /* it may be waiting for events */
}

static void markThread(void *arg)
{
    EtwSampler *sampler = arg;
    while (!__atomic_load_n(&sampler->stop, __ATOMIC_RELAXED)) {
        OsSleepNs((int64_t)sampler->interval);
        if (__atomic_load_n(&sampler->marked, __ATOMIC_RELAXED) == 0) {
            __atomic_store_n(&sampler->marked, OsTicks(), __ATOMIC_RELAXED);
            mark(sampler);
        }
    }
}

enum { COUNTERS_TEXT = OS_COUNTERS * 48 };

/* Of the time since the last sample, like its Weight, whether anybody listens or not. */
static void takeCounters(const EtwSampler *sampler, uint64_t *values)
{
    if (sampler->counters != NULL) {
        OsCountersTake(sampler->counters, values);
    }
}

/* {NAME INCREASE ...}: names are words of a list as they are. */
static char *putCounters(const EtwSampler *sampler, const uint64_t *values, char *at)
{
    char text[COUNTERS_TEXT];
    int size = 0;
    for (int i = 0; i < sampler->counterCount; i++) {
        size += snprintf(text + size, (size_t)(COUNTERS_TEXT - size), "%s%s %llu", i > 0 ? " " : "",
                OsCounterName(sampler->which[i]), (unsigned long long)values[i]);
    }
    return putText(at, text, (size_t)size);
}

static void writeSample(const EtwSampler *sampler, const uint64_t *counters, uint64_t now,
        uint64_t marked, bool waiting)
{
    char stack[ETW_STACK_TEXT + 16], head[20], tail[2 + COUNTERS_TEXT];
    int depth;
    EtwPieces p;
    etwHookLayer->stack(sampler->state, stack, ETW_STACK_TEXT, &depth);
    if (waiting) {
        strcat(stack, depth > 0 ? ";(event loop)" : "(event loop)");
    }
    EtwStore64(head, EtwScriptNanoseconds(now - sampler->last));
    EtwStore64(head + 8, now > marked ? EtwScriptNanoseconds(now - marked) : 0);
    put16(head + 16, (size_t)depth);
    EtwPiecesBegin(&p, sampler->state);
    EtwPiecesRaw(&p, head, sizeof head);
    EtwFieldBegin(&p, ETW_STACK_TEXT + 16);
    EtwFieldTcl(&p, stack, strlen(stack));
    put16(head + 18, EtwFieldEnd(&p));
    EtwPiecesRaw(&p, tail, (size_t)(putCounters(sampler, counters, tail) - tail));
    EtwScriptWrite(sampler->state, NULL, ETW_SCRIPT_SAMPLE, p.data, p.count, NULL);
}

/* interp is NULL where the event loop waits. */
static int sampleNow(ClientData clientData, Tcl_Interp *interp, int code)
{
    EtwSampler *sampler = clientData;
    uint64_t now = OsTicks(), marked = __atomic_load_n(&sampler->marked, __ATOMIC_RELAXED);
    uint64_t counters[OS_COUNTERS];
    takeCounters(sampler, counters);
    if (sampler->state->interp != NULL && EtwScriptOn(ETW_KEYWORD_SAMPLE)) {
        writeSample(sampler, counters, now, marked, interp == NULL);
    }
    sampler->last = now;
    __atomic_store_n(&sampler->marked, 0, __ATOMIC_RELAXED);
    return code;
}

static void onThreadExit(ClientData clientData)
{
    EtwSampleStop(clientData);
}

static void freeSampler(EtwSampler *sampler)
{
    Tcl_AsyncDelete(sampler->handler);
    OsCountersClose(sampler->counters);
    EtwFree(sampler);
}

void EtwSampleStop(EtwScriptState *state)
{
    EtwSampler *sampler = state->sampler;
    if (sampler == NULL) {
        return;
    }
    state->sampler = NULL;
    Tcl_DeleteThreadExitHandler(onThreadExit, state);
    __atomic_store_n(&sampler->stop, true, __ATOMIC_RELAXED);
    OsThreadJoin(sampler->thread);
    freeSampler(sampler);
}

static int unknownCounter(Tcl_Interp *interp, const char *name)
{
    char list[500] = "";
    size_t size = 0;
    for (int i = 0; OsCounterName(i) != NULL && size < sizeof list; i++) {
        size += (size_t)snprintf(
                list + size, sizeof list - size, "%s%s", i > 0 ? ", " : "", OsCounterName(i));
    }
    return EtwScriptFail(interp, ETW_E_ARG, "COUNTER", name,
            "unknown counter \"%s\": this platform has %s", name, list);
}

/* Each known, and once. */
static int takeCounter(Tcl_Interp *interp, EtwSampler *sampler, const char *name)
{
    int index = 0;
    while (OsCounterName(index) != NULL && strcmp(OsCounterName(index), name) != 0) {
        index++;
    }
    if (OsCounterName(index) == NULL) {
        return unknownCounter(interp, name);
    }
    for (int i = 0; i < sampler->counterCount; i++) {
        if (sampler->which[i] == index) {
            return EtwScriptFail(
                    interp, ETW_E_ARG, "COUNTER", name, "counter \"%s\" is named twice", name);
        }
    }
    if (sampler->counterCount == OS_COUNTERS) {
        return EtwScriptFail(interp, ETW_E_LIMIT, "COUNTERS", "-counters",
                "at most %d counters can be read with each sample", OS_COUNTERS);
    }
    sampler->which[sampler->counterCount++] = index;
    return TCL_OK;
}

static int openCounters(Tcl_Interp *interp, EtwSampler *sampler, Tcl_Obj *list)
{
    Tcl_Size count = 0;
    Tcl_Obj **names = NULL;
    EtwError error;
    if (list != NULL && Tcl_ListObjGetElements(interp, list, &count, &names) != TCL_OK) {
        return TCL_ERROR;
    }
    for (Tcl_Size i = 0; i < count; i++) {
        if (takeCounter(interp, sampler, Tcl_GetString(names[i])) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    EtwStatus status = count == 0 ? ETW_OK
                                  : OsCountersOpen(&sampler->counters, sampler->which,
                                            sampler->counterCount, &error);
    return status == ETW_OK ? TCL_OK
                            : EtwScriptFail(interp, status, error.detail, error.subject, "%s",
                                      error.message);
}

static int startThread(Tcl_Interp *interp, EtwSampler *sampler)
{
    EtwStatus status = OsThreadStart(&sampler->thread, "etw-sample", markThread, sampler);
    return status == ETW_OK ? TCL_OK
                            : EtwScriptFail(interp, status, "THREAD", "", "cannot start a thread");
}

int EtwScriptSample(Tcl_Interp *interp, Tcl_Interp *target, int milliseconds, Tcl_Obj *counters)
{
    if (EtwScriptProviderOpen(interp) != TCL_OK) {
        return TCL_ERROR;
    }
    if (etwHookLayer->stack == NULL) {
        return EtwScriptFail(interp, ETW_E_UNSUPPORTED, "SAMPLE", "",
                "stacks cannot be sampled here: Tcl %s shows them to nobody", TCL_VERSION);
    }
    EtwScriptState *state = EtwScriptStateMake(target);
    if (milliseconds == 0) {
        EtwSampleStop(state);
        return TCL_OK;
    }
    EtwSampler *sampler = EtwAlloc(sizeof *sampler);
    sampler->state = state;
    sampler->interval = (uint64_t)milliseconds * 1000000;
    sampler->handler = Tcl_AsyncCreate(sampleNow, sampler);
    sampler->sampled = Tcl_GetCurrentThread();
    sampler->ready = etwHookLayer->asyncReady != NULL ? etwHookLayer->asyncReady(target) : NULL;
    if (openCounters(interp, sampler, counters) != TCL_OK) {
        freeSampler(sampler);
        return TCL_ERROR; /* and what was sampled stays so */
    }
    EtwSampleStop(state);
    sampler->last = OsTicks();
    if (startThread(interp, sampler) != TCL_OK) {
        freeSampler(sampler);
        return TCL_ERROR;
    }
    state->sampler = sampler;
    Tcl_CreateThreadExitHandler(onThreadExit, state);
    return TCL_OK;
}
