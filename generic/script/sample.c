/*
 * script/sample.c --
 *
 *	A sampling profiler of an interpreter's procs: a thread of its own marks an async handler at
 *	an interval, Tcl runs that between two commands, and it writes who is on the stack then. A
 *	command in C that takes longer than the interval is one sample, whose Weight is all of the time
 *	since the one before and whose Late is how long the mark had to wait.
 */
#include "script/fields.h"

struct EtwSampler {
    EtwScriptState *state;
    Tcl_AsyncHandler handler;
    int *ready; /* of the thread that is sampled; NULL: Tcl_AsyncMark is needed */
    Tcl_ThreadId sampled;
    OsThread *thread;
    uint64_t interval; /* ns */
    bool stop;         /* relaxed: the thread may see it a slice later */
    uint64_t marked;   /* ticks of the mark that waits, 0: none; relaxed: a figure only */
    uint64_t last;     /* ticks of the last sample */
    uint64_t samples;
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

static void writeSample(EtwSampler *sampler, uint64_t now, uint64_t marked, bool waiting)
{
    char stack[ETW_STACK_TEXT + 16], head[20];
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
    Etw_Write(etwScriptEvents[EVENT_SAMPLE], p.data, p.count);
}

/* interp is NULL where the event loop waits. */
static int sampleNow(ClientData clientData, Tcl_Interp *interp, int code)
{
    EtwSampler *sampler = clientData;
    uint64_t now = OsTicks(), marked = __atomic_load_n(&sampler->marked, __ATOMIC_RELAXED);
    if (sampler->state->interp != NULL && EtwScriptOn(KEYWORD_SAMPLE)) {
        writeSample(sampler, now, marked, interp == NULL);
        sampler->samples++;
    }
    sampler->last = now;
    __atomic_store_n(&sampler->marked, 0, __ATOMIC_RELAXED);
    return code;
}

static void threadEnds(ClientData clientData)
{
    EtwSampleStop(clientData);
}

void EtwSampleStop(EtwScriptState *state)
{
    EtwSampler *sampler = state->sampler;
    if (sampler == NULL) {
        return;
    }
    state->sampler = NULL;
    Tcl_DeleteThreadExitHandler(threadEnds, state);
    __atomic_store_n(&sampler->stop, true, __ATOMIC_RELAXED);
    OsThreadJoin(sampler->thread);
    Tcl_AsyncDelete(sampler->handler);
    EtwFree(sampler);
}

int EtwScriptSample(Tcl_Interp *interp, Tcl_Interp *target, int milliseconds)
{
    if (EtwScriptProviderOpen(interp) != TCL_OK) {
        return TCL_ERROR;
    }
    if (etwHookLayer->stack == NULL) {
        return EtwScriptFail(interp, ETW_E_UNSUPPORTED, "SAMPLE", "",
                "stacks cannot be sampled here: Tcl %s shows them to nobody", TCL_VERSION);
    }
    EtwScriptState *state = EtwScriptStateMake(target);
    EtwSampleStop(state);
    if (milliseconds == 0) {
        return TCL_OK;
    }
    EtwSampler *sampler = EtwAlloc(sizeof *sampler);
    sampler->state = state;
    sampler->interval = (uint64_t)milliseconds * 1000000;
    sampler->last = OsTicks();
    sampler->handler = Tcl_AsyncCreate(sampleNow, sampler);
    sampler->sampled = Tcl_GetCurrentThread();
    sampler->ready = etwHookLayer->asyncReady != NULL ? etwHookLayer->asyncReady(target) : NULL;
    EtwStatus status = OsThreadStart(&sampler->thread, "etw-sample", markThread, sampler);
    if (status != ETW_OK) {
        Tcl_AsyncDelete(sampler->handler);
        EtwFree(sampler);
        return EtwScriptFail(interp, status, "THREAD", "", "cannot start a thread");
    }
    state->sampler = sampler;
    Tcl_CreateThreadExitHandler(threadEnds, state);
    return TCL_OK;
}
