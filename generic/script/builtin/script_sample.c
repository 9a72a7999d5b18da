/*
 * script/builtin/script_sample.c --
 *
 *	A sampling profiler of an interpreter's procs. A separate thread requests an interruption of
 *	the interpreter at an interval. Tcl calls `interrupted` between two commands, which writes
 *	the call stack. A command in C that takes longer than the interval results in one sample:
 *	Weight is the time since the previous sample, Late the time from the request to the sample.
 *	The same holds for a wait in the event loop, which an event source detects. The thread is
 *	never woken for a sample.
 */
#include "script/builtin/builtin_wrappers.h"
#include "script/script_fields.h"
#include "script/script_redact.h"
#include <stdio.h>
#include <string.h>

struct EtwSampler {
    EtwScriptState *state;
    EtwInterrupt *interrupt;
    OsThread *thread;
    uint64_t interval;    /* ns */
    bool stop;            /* relaxed: the thread may see it one interval later */
    uint64_t requested;   /* ticks of the pending request, 0: none; relaxed: a number only */
    uint64_t last;        /* ticks of the last sample */
    OsCounters *counters; /* NULL: no counters */
    int which[OS_COUNTERS], counterCount;
};

/* A request can be lost, see tclint_interrupt.c: it is repeated until there is a sample. */
static void requestThread(void *arg)
{
    EtwSampler *sampler = arg;
    while (!__atomic_load_n(&sampler->stop, __ATOMIC_RELAXED)) {
        OsSleepNs((int64_t)sampler->interval);
        if (__atomic_load_n(&sampler->requested, __ATOMIC_RELAXED) == 0) {
            __atomic_store_n(&sampler->requested, OsTicks(), __ATOMIC_RELAXED);
        }
        etwHookLayer->interruptRequest(sampler->interrupt);
    }
}

enum { COUNTERS_TEXT = OS_COUNTERS * 48 };

/* The increases since the last sample, over the same time as its Weight, whether or not the event is enabled. */
static void takeCounters(const EtwSampler *sampler, uint64_t *values)
{
    if (sampler->counters != NULL) {
        OsCountersTake(sampler->counters, values);
    }
}

/* Appends {NAME INCREASE ...}. Names need no quoting as list elements. */
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
        uint64_t late, bool waiting)
{
    char stack[ETW_STACK_TEXT + 16], head[20], tail[2 + COUNTERS_TEXT];
    int depth;
    EtwPieces p;
    etwHookLayer->stack(sampler->state, stack, ETW_STACK_TEXT, &depth);
    if (waiting) {
        strcat(stack, depth > 0 ? ";(event loop)" : "(event loop)");
    }
    EtwStore64(head, EtwScriptNanoseconds(now - sampler->last));
    EtwStore64(head + 8, EtwScriptNanoseconds(late));
    put16(head + 16, (size_t)depth);
    EtwPiecesBegin(&p, sampler->state);
    EtwPiecesRaw(&p, head, sizeof head);
    EtwFieldBegin(&p, ETW_STACK_TEXT + 16);
    EtwFieldTcl(&p, stack, strlen(stack));
    put16(head + 18, EtwFieldEnd(&p));
    EtwPiecesRaw(&p, tail, (size_t)(putCounters(sampler, counters, tail) - tail));
    EtwScriptWrite(sampler->state, NULL, ETW_SCRIPT_SAMPLE, p.data, p.count, NULL);
}

/* Writes a sample if one is due. */
static void sample(EtwSampler *sampler, bool waiting)
{
    uint64_t requested = __atomic_load_n(&sampler->requested, __ATOMIC_RELAXED);
    uint64_t now, counters[OS_COUNTERS];
    if (requested == 0) {
        return;
    }
    now = OsTicks();
    takeCounters(sampler, counters);
    if (sampler->state->interp != NULL && EtwScriptOn(ETW_KEYWORD_SAMPLE)) {
        writeSample(
                sampler, counters, now, waiting || now < requested ? 0 : now - requested, waiting);
    }
    sampler->last = now;
    __atomic_store_n(&sampler->requested, 0, __ATOMIC_RELAXED);
}

static void interrupted(void *arg)
{
    sample(arg, false);
}

static void beforeWait(ClientData clientData, int flags)
{
    (void)flags;
    sample(clientData, false);
}

static void afterWait(ClientData clientData, int flags)
{
    (void)flags;
    sample(clientData, true);
}

/* ---- interp create, interp limit ------------------------------------------------------------- */

static void holdAll(bool hold)
{
    for (EtwScriptState *s = EtwScriptThreadStates(); s != NULL; s = s->nextInThread) {
        if (s->sampler != NULL) {
            etwHookLayer->interruptHold(s->sampler->interrupt, hold);
        }
    }
}

/*
 * `interp create` and `interp limit` show limits, set them, or copy them to a child. They evaluate
 * no scripts of the caller.
 */
int EtwWrapInterp(const EtwWrapCall *use)
{
    const char *sub = use->objc > 1 ? Tcl_GetString(use->objv[1]) : "";
    size_t size = strlen(sub);
    if (size == 0 || (strncmp(sub, "create", size) != 0 && strncmp(sub, "limit", size) != 0)) {
        return EtwWrapRun(use, use->objc, use->objv);
    }
    holdAll(true);
    int result = EtwWrapRun(use, use->objc, use->objv);
    holdAll(false);
    return result;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static void onThreadExit(ClientData clientData)
{
    EtwSampleStop(clientData);
}

static void freeSampler(EtwSampler *sampler)
{
    if (sampler->interrupt != NULL) {
        etwHookLayer->interruptClose(sampler->interrupt);
    }
    OsCountersClose(sampler->counters);
    EtwFree(sampler);
}

bool EtwSampling(void)
{
    const EtwScriptState *s = EtwScriptThreadStates();
    while (s != NULL && s->sampler == NULL) {
        s = s->nextInThread;
    }
    return s != NULL;
}

/* Hook `interp` in each interpreter that can access a sampled one, or remove these hooks. */
static void syncInterp(void)
{
    for (EtwScriptState *s = EtwScriptThreadStates(); s != NULL; s = s->nextInThread) {
        for (Tcl_Interp *i = s->sampler != NULL ? Tcl_GetParent(s->interp) : NULL; i != NULL;
                i = Tcl_GetParent(i)) {
            EtwScriptStateMake(i);
        }
    }
    for (EtwScriptState *s = EtwScriptThreadStates(); s != NULL; s = s->nextInThread) {
        if (s->interp != NULL && !Tcl_InterpDeleted(s->interp)) {
            EtwHookSyncName(s, "::interp", NULL);
        }
    }
}

void EtwSampleStop(EtwScriptState *state)
{
    EtwSampler *sampler = state->sampler;
    if (sampler == NULL) {
        return;
    }
    state->sampler = NULL;
    Tcl_DeleteThreadExitHandler(onThreadExit, state);
    Tcl_DeleteEventSource(beforeWait, afterWait, sampler);
    __atomic_store_n(&sampler->stop, true, __ATOMIC_RELAXED);
    OsThreadJoin(sampler->thread);
    freeSampler(sampler);
    syncInterp();
}

static int unknownCounter(Tcl_Interp *interp, const char *name)
{
    char list[500] = "";
    size_t size = 0;
    for (int i = 0; OsCounterName(i) != NULL && size < sizeof list; i++) {
        size += (size_t)snprintf(
                list + size, sizeof list - size, "%s%s", i > 0 ? ", " : "", OsCounterName(i));
    }
    return EtwScriptFail(
            interp, ETW_E_ARG, "COUNTER", name, "unknown counter \"%s\": must be %s", name, list);
}

/* Add a counter; an error if it is unknown or was added before. */
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
                    interp, ETW_E_ARG, "COUNTER", name, "counter \"%s\" was given twice", name);
        }
    }
    if (sampler->counterCount == OS_COUNTERS) {
        return EtwScriptFail(interp, ETW_E_LIMIT, "COUNTERS", "-counters",
                "too many counters: at most %d can be read with each sample", OS_COUNTERS);
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

/* On an error, the caller frees what was opened. */
static int start(Tcl_Interp *interp, EtwSampler *sampler)
{
    sampler->interrupt = etwHookLayer->interruptOpen(sampler->state->interp, interrupted, sampler);
    if (sampler->interrupt == NULL) {
        return EtwScriptFail(interp, ETW_E_UNSUPPORTED, "SAMPLE", "",
                "cannot sample this interpreter: it has a limit on commands, or a handler of such "
                "a limit (interp limit); remove it");
    }
    EtwStatus status = OsThreadStart(&sampler->thread, "etw-sample", requestThread, sampler);
    return status == ETW_OK ? TCL_OK
                            : EtwScriptFail(interp, status, "THREAD", "", "cannot start a thread");
}

int EtwScriptSample(
        Tcl_Interp *interp, Tcl_Interp *target, unsigned microseconds, Tcl_Obj *counters)
{
    if (EtwScriptProviderOpen(interp) != TCL_OK) {
        return TCL_ERROR;
    }
    if (etwHookLayer->stack == NULL) {
        return EtwScriptFail(interp, ETW_E_UNSUPPORTED, "SAMPLE", "",
                "stacks cannot be sampled: the package has no support for it in Tcl %s",
                TCL_VERSION);
    }
    EtwScriptState *state = EtwScriptStateMake(target);
    if (microseconds == 0) {
        EtwSampleStop(state);
        return TCL_OK;
    }
    EtwSampler *sampler = EtwAlloc(sizeof *sampler);
    sampler->state = state;
    sampler->interval = (uint64_t)microseconds * 1000;
    if (openCounters(interp, sampler, counters) != TCL_OK) {
        freeSampler(sampler);
        return TCL_ERROR; /* an earlier sampler continues */
    }
    EtwSampleStop(state);
    sampler->last = OsTicks();
    if (start(interp, sampler) != TCL_OK) {
        freeSampler(sampler);
        return TCL_ERROR;
    }
    state->sampler = sampler;
    Tcl_CreateThreadExitHandler(onThreadExit, state);
    Tcl_CreateEventSource(beforeWait, afterWait, sampler);
    syncInterp();
    return TCL_OK;
}
