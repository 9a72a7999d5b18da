/*
 * script/hooks/tclint_hooks.c --
 *
 *	The fast hook layer: commands. A hooked command has its Command.nreProc replaced. objProc,
 *	objClientData and deleteProc stay, because Tcl identifies kinds of commands by them. A leave
 *	is an NRE callback below the command's own ones, so that yield, tailcall and the depth of
 *	recursion do not change.
 *
 *	The replacing procedure receives the command's client data and derives the entered command
 *	from it. A few shared entries find the hook in a hash table by client data, if it is unique
 *	to the command (procs, objects, aliases, imports). If client data is NULL or those entries
 *	are in use, the command gets one of 1024 private entries, numbered within its interpreter.
 *
 *	Coroutines: Tcl recognizes a coroutine by its nreProc when it injects into one or deletes
 *	its namespace. The original nreProc is restored for that time (`exposeCoroutines`,
 *	deleteEarly).
 *
 *	Supports Tcl 8.6 and 9.0; compiled out for other versions. Only the files tclint_*.c use
 *	Tcl's private headers, through tclint.h. The others: tclint_check.c (the
 *	self-check), tclint_code.c (compiled bodies), tclint_interrupt.c (calls between two commands),
 *	tclint_lines.c (lines), tclint_marks.c (marks in code), tclint_oo.c (methods),
 *	tclint_script.c (scripts with another string representation), tclint_stack.c (sampled
 *	stacks), tclint_steps.c (full steps).
 */
#include "script/hooks/tclint.h"
#include "base/alloc.h"

#ifdef ETW_TCLINT

enum {
    SHARED = 4,    /* entries that find their hook by client data */
    OWN = 1024,    /* entries for one command of an interpreter each */
    MIN_SLOTS = 64 /* minimum size of a table, a power of two */
};

typedef struct Table {
    EtwHook **slots; /* by key, linear probing, at most half full */
    unsigned mask;
    unsigned used;
} Table;

typedef struct Layer {
    Table tables[SHARED];
    EtwHook *own[OWN];
    int ownHint;
    Tcl_HashTable byCommand;      /* Command * -> EtwHook * */
    CommandTrace **retiredTraces; /* traces of deleted commands, see keepTrace */
    int retiredCount, retiredCapacity;
} Layer;

static Tcl_ObjCmdProc *entryOf(int slot);
static void exposeCoroutines(EtwScriptState *state, bool on);

/* ---- Finding a hook -------------------------------------------------------------------------- */

static inline unsigned hashOf(const void *key)
{
    return (unsigned)(((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 32);
}

static inline EtwHook *tableFind(const Table *table, const void *key)
{
    if (table->slots == NULL) {
        return NULL;
    }
    for (unsigned i = hashOf(key) & table->mask;; i = (i + 1) & table->mask) {
        EtwHook *hook = table->slots[i];
        if (hook == NULL || hook->key == key) {
            return hook;
        }
    }
}

static void tablePut(Table *table, EtwHook *hook)
{
    unsigned i = hashOf(hook->key) & table->mask;
    while (table->slots[i] != NULL) {
        i = (i + 1) & table->mask;
    }
    table->slots[i] = hook;
    table->used++;
}

static void tableAdd(Table *table, EtwHook *hook)
{
    if (table->slots == NULL || table->used * 2 > table->mask) {
        Table old = *table;
        unsigned size = old.slots ? (old.mask + 1) * 2 : MIN_SLOTS;
        table->slots = EtwAlloc(size * sizeof *table->slots);
        table->mask = size - 1;
        table->used = 0;
        for (unsigned i = 0; old.slots != NULL && i <= old.mask; i++) {
            if (old.slots[i] != NULL) {
                tablePut(table, old.slots[i]);
            }
        }
        EtwFree(old.slots);
    }
    tablePut(table, hook);
}

/* The entries behind the gap are inserted again, so that probing does not stop at the gap. */
static void tableRemove(Table *table, const EtwHook *hook)
{
    unsigned i = hashOf(hook->key) & table->mask;
    while (table->slots != NULL && table->slots[i] != NULL && table->slots[i] != hook) {
        i = (i + 1) & table->mask;
    }
    if (table->slots == NULL || table->slots[i] == NULL) {
        return;
    }
    table->slots[i] = NULL;
    table->used--;
    for (i = (i + 1) & table->mask; table->slots[i] != NULL; i = (i + 1) & table->mask) {
        EtwHook *moved = table->slots[i];
        table->slots[i] = NULL;
        table->used--;
        tablePut(table, moved);
    }
}

/* The state of the interpreter that ran last in this thread. Read at each hooked call: one
 * instruction instead of a function call. */
#ifdef _WIN32
#define FAST_TLS
#else
#define FAST_TLS __attribute__((tls_model("initial-exec")))
#endif
static __thread FAST_TLS struct {
    Tcl_Interp *interp;
    EtwScriptState *state;
} recent;

static EtwScriptState *stateSlow(Tcl_Interp *interp)
{
    recent.interp = interp;
    recent.state = EtwScriptStateOf(interp);
    return recent.state;
}

static inline EtwScriptState *stateOf(Tcl_Interp *interp)
{
    return __builtin_expect(recent.interp == interp, 1) ? recent.state : stateSlow(interp);
}

/* The client data was replaced with Tcl_SetCommandInfo: search all hooks. */
static EtwHook *findByClientData(EtwScriptState *state, int slot, const void *clientData)
{
    for (EtwHook *h = state ? state->hooks : NULL; h != NULL; h = h->next) {
        const Command *cmd = (const Command *)h->token;
        if (h->swapped && h->slot == slot && cmd != NULL && cmd->objClientData == clientData) {
            return h;
        }
    }
    return NULL;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Switches the context if a coroutine was entered or left since. */
static inline void followContext(EtwScriptState *state, const Tcl_Interp *interp)
{
    void *env = ((const Interp *)interp)->execEnvPtr;
    if (__builtin_expect(state->now.env != env, 0)) {
        EtwContextSwitch(state, env);
    }
}

static inline void leave(EtwHook *hook, const Tcl_Interp *interp, const EtwCall *call, int result)
{
    followContext(hook->state, interp);
    EtwCallLeave(hook, call, result);
}

int EtwTclintLeave(ClientData data[], Tcl_Interp *interp, int result)
{
    EtwCall call = EtwCallUnpack(data + 1);
    leave(data[0], interp, &call, result);
    return result;
}

static int watchCallback(ClientData data[], Tcl_Interp *interp, int result)
{
    EtwHook *hook = data[0];
    if (result == TCL_OK) {
        EtwWatchDone(hook, interp, (int)(intptr_t)data[1], data[2]);
    }
    EtwHookUnref(hook);
    return result;
}

/* Read at each call, because Tcl_SetCommandInfo may have changed it. */
static inline Tcl_ObjCmdProc *procOf(const EtwHook *hook)
{
    return hook->nreProc != NULL ? hook->nreProc : ((Command *)hook->token)->objProc;
}

static inline int callThrough(
        const EtwHook *hook, ClientData cd, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    if (__builtin_expect(hook->what & HOOK_BUILTIN, 0)) {
        return EtwBuiltinCall(hook, procOf(hook), cd, interp, objc, objv);
    }
    return procOf(hook)(cd, interp, objc, objv);
}

/* A command that is not NRE has ended when it returns. */
static int callDirect(EtwHook *hook, const EtwCall *call, ClientData cd, Tcl_Interp *interp,
        int objc, Tcl_Obj *const objv[])
{
    int result;
    EtwHookRef(hook);
    result = callThrough(hook, cd, interp, objc, objv);
    if (call != NULL) {
        leave(hook, interp, call, result);
    }
    if ((hook->what & HOOK_WATCH) && result == TCL_OK) {
        EtwWatchDone(hook, interp, objc, objv);
    }
    EtwHookUnref(hook);
    return result;
}

static int callNre(EtwHook *hook, const EtwCall *call, ClientData cd, Tcl_Interp *interp, int objc,
        Tcl_Obj *const objv[])
{
    if (hook->what & HOOK_WATCH) {
        Tcl_NRAddCallback(interp, watchCallback, EtwHookRef(hook), (ClientData)(intptr_t)objc,
                (ClientData)objv, NULL);
    }
    if (call != NULL) {
        ClientData words[3];
        EtwCallPack(call, words);
        Tcl_NRAddCallback(interp, EtwTclintLeave, hook, words[0], words[1], words[2]);
    }
    return callThrough(hook, cd, interp, objc, objv);
}

static int callOpaque(
        EtwHook *hook, ClientData cd, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwScriptState *state = hook->state;
    int result;
    EtwHookRef(hook);
    exposeCoroutines(state, true);
    result = callThrough(hook, cd, interp, objc, objv);
    exposeCoroutines(state, false);
    EtwHookUnref(hook);
    return result;
}

static int callTraced(EtwHook *hook, int trace, ClientData cd, Tcl_Interp *interp, int objc,
        Tcl_Obj *const objv[])
{
    EtwCall call;
    const EtwCall *callPtr = NULL;
    bool lines = false;
    if (trace != TRACE_NONE) {
        EtwScriptState *state = hook->state;
        if (state->now.depth == 0) {
            EtwHookRefresh(state, OsTicks());
        }
        lines = trace == TRACE_CALL && EtwScriptOn(ETW_KEYWORD_STEP);
        if (lines) {
            EtwTclintLines(hook, cd, interp, objc, objv);
        }
        callPtr = EtwCallEnter(hook, objc, objv, trace, &call) ? &call : NULL;
        if (callPtr == NULL && lines && hook->rule->options.steps == ETW_STEPS_LINE) {
            EtwTclintTooDeep(hook, interp);
        }
        if (callPtr == NULL && !(hook->what & HOOK_WATCH)) {
            return callThrough(hook, cd, interp, objc, objv);
        }
    }
    return hook->nreProc != NULL ? callNre(hook, callPtr, cd, interp, objc, objv)
                                 : callDirect(hook, callPtr, cd, interp, objc, objv);
}

static int hookLost(Tcl_Interp *interp)
{
    Tcl_SetObjResult(interp, Tcl_NewStringObj("etw: the hook of this command is lost", -1));
    return TCL_ERROR;
}

/* `string length` calls tcl::string::length: only the ensemble is reported as a step. */
static inline bool isEnsemblePart(const EtwHook *hook, Tcl_Interp *interp)
{
    return hook->kind == ETW_KIND_C && ((Interp *)interp)->ensembleRewrite.sourceObjs != NULL;
}

static int enter(EtwHook *hook, ClientData cd, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwScriptState *state = hook->state;
    int trace;
    followContext(state, interp);
    if (__builtin_expect(hook->what & (HOOK_OPAQUE | HOOK_METHODS), 0)) {
        if (hook->what & HOOK_OPAQUE) {
            return callOpaque(hook, cd, interp, objc, objv);
        }
        EtwTclintMethods(hook, cd);
    }
    trace = EtwHookWants(hook);
    if (trace == TRACE_STEP && isEnsemblePart(hook, interp)) {
        trace = TRACE_NONE;
    }
    if (trace == TRACE_NONE && !(hook->what & HOOK_WATCH)) {
        return callThrough(hook, cd, interp, objc, objv);
    }
    return callTraced(hook, trace, cd, interp, objc, objv);
}

static inline int enterShared(
        int slot, ClientData cd, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwScriptState *state = stateOf(interp);
    EtwHook *hook = state ? tableFind(&((Layer *)state->layer)->tables[slot], cd) : NULL;
    if (__builtin_expect(hook == NULL, 0)) {
        hook = findByClientData(state, slot, cd);
        if (hook == NULL) {
            return hookLost(interp);
        }
    }
    return enter(hook, cd, interp, objc, objv);
}

static int enterOwn(int slot, ClientData cd, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwScriptState *state = stateOf(interp);
    EtwHook *hook = state ? ((Layer *)state->layer)->own[slot] : NULL;
    if (__builtin_expect(hook == NULL, 0)) {
        return hookLost(interp);
    }
    return enter(hook, cd, interp, objc, objv);
}

/* ---- The entry procedures -------------------------------------------------------------------- */

#define SHARED_ENTRY(n)                                                                            \
    static int shared##n(ClientData cd, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])       \
    {                                                                                              \
        return enterShared(n, cd, interp, objc, objv);                                             \
    }
SHARED_ENTRY(0)
SHARED_ENTRY(1)
SHARED_ENTRY(2)
SHARED_ENTRY(3)

/* own_0 .. own_1023, numbered in base 4: five digits. */
#define OWN_ENTRY(n)                                                                               \
    static int own_##n(ClientData cd, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])         \
    {                                                                                              \
        return enterOwn(BASE4(1##n), cd, interp, objc, objv);                                      \
    }
/* The digits of a number written with 0-3, after a leading 1. */
#define BASE4(n)                                                                                   \
    (((n) / 10000 % 10) * 256 + ((n) / 1000 % 10) * 64 + ((n) / 100 % 10) * 16 +                   \
            ((n) / 10 % 10) * 4 + (n) % 10)
#define OWN4(n) OWN_ENTRY(n##0) OWN_ENTRY(n##1) OWN_ENTRY(n##2) OWN_ENTRY(n##3)
#define OWN16(n) OWN4(n##0) OWN4(n##1) OWN4(n##2) OWN4(n##3)
#define OWN64(n) OWN16(n##0) OWN16(n##1) OWN16(n##2) OWN16(n##3)
#define OWN256(n) OWN64(n##0) OWN64(n##1) OWN64(n##2) OWN64(n##3)
OWN256(0)
OWN256(1)
OWN256(2)
OWN256(3)

#define NAME4(n) own_##n##0, own_##n##1, own_##n##2, own_##n##3
#define NAME16(n) NAME4(n##0), NAME4(n##1), NAME4(n##2), NAME4(n##3)
#define NAME64(n) NAME16(n##0), NAME16(n##1), NAME16(n##2), NAME16(n##3)
#define NAME256(n) NAME64(n##0), NAME64(n##1), NAME64(n##2), NAME64(n##3)
static Tcl_ObjCmdProc *const ownEntries[OWN] = {NAME256(0), NAME256(1), NAME256(2), NAME256(3)};
static Tcl_ObjCmdProc *const sharedEntries[SHARED] = {shared0, shared1, shared2, shared3};

/* Slots 0..SHARED-1 are shared entries, the others a command's own. */
static Tcl_ObjCmdProc *entryOf(int slot)
{
    return slot < SHARED ? sharedEntries[slot] : ownEntries[slot - SHARED];
}

/* ---- Attaching and detaching hooks ----------------------------------------------------------- */

static int takeOwn(Layer *layer)
{
    for (int i = 0; i < OWN; i++) {
        int at = (layer->ownHint + i) % OWN;
        if (layer->own[at] == NULL) {
            layer->ownHint = at + 1;
            return SHARED + at;
        }
    }
    return -1;
}

static int takeSlot(Layer *layer, const void *key)
{
    for (int i = 0; key != NULL && i < SHARED; i++) {
        if (tableFind(&layer->tables[i], key) == NULL) {
            return i;
        }
    }
    return takeOwn(layer);
}

/*
 * Calls that the bytecode compiler inlines would not be seen. Code that may have such calls is compiled again; for a
 * new command there is none. (Compiling again is not harmless: in code that is running, Tcl then forgets the
 * lines of literals, which `info frame` shows.)
 */
static void hideCompiler(EtwHook *hook, bool hide)
{
    Command *cmd = (Command *)hook->token;
    if (hide && cmd->compileProc != NULL) {
        hook->compileProc = (void (*)(void))cmd->compileProc;
        cmd->compileProc = NULL;
        if (!hook->state->creating) {
            ((Interp *)hook->state->interp)->compileEpoch++;
        }
    } else if (!hide && hook->compileProc != NULL) {
        if (cmd->compileProc == NULL) {
            cmd->compileProc = (CompileProc *)hook->compileProc;
            ((Interp *)hook->state->interp)->compileEpoch++;
        }
        hook->compileProc = NULL;
    }
}

static void deleteEarly(ClientData clientData);

/* A namespace deletes its coroutines first, and recognizes them by their nreProc. */
static bool prepareCoroutine(Command *cmd)
{
    Namespace *ns = cmd->nsPtr;
    if (ns->earlyDeleteProc == NULL) {
        ns->earlyDeleteProc = deleteEarly;
    }
    return ns->earlyDeleteProc == deleteEarly; /* otherwise it is the namespace of an object */
}

static void swapIn(EtwHook *hook)
{
    ((Command *)hook->token)->nreProc = entryOf(hook->slot);
    hook->swapped = true;
}

/*
 * If a script's trace of a rename deletes the command, Tcl frees all its traces and continues with
 * the next one, which is ours, because it was added first. So our traces have an additional
 * reference until no trace runs.
 */
static void keepTrace(EtwHook *hook)
{
    CommandTrace *trace = ((Command *)hook->token)->tracePtr;
    while (trace != NULL && trace->clientData != hook) {
        trace = trace->nextPtr;
    }
    if (trace != NULL) {
        trace->refCount++;
    }
    hook->trace = trace;
}

static void retireTrace(EtwHook *hook)
{
    Layer *layer = hook->state->layer;
    if (hook->trace == NULL) {
        return;
    }
    if (layer->retiredCount == layer->retiredCapacity) {
        layer->retiredCapacity = layer->retiredCapacity ? 2 * layer->retiredCapacity : 16;
        layer->retiredTraces = EtwRealloc(layer->retiredTraces,
                (size_t)layer->retiredCapacity * sizeof *layer->retiredTraces);
    }
    layer->retiredTraces[layer->retiredCount++] = hook->trace;
    hook->trace = NULL;
}

static void freeRetiredTraces(Layer *layer)
{
    while (layer->retiredCount > 0) {
        CommandTrace *trace = layer->retiredTraces[--layer->retiredCount];
        if (trace->refCount-- <= 1) {
            Tcl_Free((char *)trace);
        }
    }
}

static bool attach(EtwHook *hook)
{
    Layer *layer = hook->state->layer;
    Command *cmd = (Command *)hook->token;
    int isNew;
    if (layer->retiredCount > 0 && ((Interp *)hook->state->interp)->activeCmdTracePtr == NULL) {
        freeRetiredTraces(layer);
    }
    if (hook->kind == ETW_KIND_COROUTINE && !prepareCoroutine(cmd)) {
        return false;
    }
    hook->key = cmd->objClientData;
    hook->slot = takeSlot(layer, hook->key);
    if (hook->slot < 0) {
        return false;
    }
    if (hook->slot < SHARED) {
        tableAdd(&layer->tables[hook->slot], hook);
    } else {
        layer->own[hook->slot - SHARED] = hook;
    }
    Tcl_SetHashValue(Tcl_CreateHashEntry(&layer->byCommand, (char *)cmd, &isNew), hook);
    hook->nreProc = cmd->nreProc;
    swapIn(hook);
    keepTrace(hook);
    hideCompiler(hook, hook->what & HOOK_CALL);
    return true;
}

static void update(EtwHook *hook)
{
    if (hook->token != NULL) {
        hideCompiler(hook, hook->what & HOOK_CALL);
        if (!(hook->what & HOOK_CALL)) {
            EtwTclintUnmark(hook);
        }
    }
}

static void freeSlot(EtwHook *hook)
{
    Layer *layer = hook->state->layer;
    if (hook->slot < SHARED) {
        tableRemove(&layer->tables[hook->slot], hook);
    } else if (layer->own[hook->slot - SHARED] == hook) {
        layer->own[hook->slot - SHARED] = NULL;
    }
}

static bool detach(EtwHook *hook)
{
    Layer *layer = hook->state->layer;
    Command *cmd = (Command *)hook->token;
    Tcl_HashEntry *entry = Tcl_FindHashEntry(&layer->byCommand, (char *)cmd);
    bool dying = (cmd->flags & CMD_IS_DELETED) != 0;
    if (entry == NULL || Tcl_GetHashValue(entry) != hook) {
        return true; /* already detached */
    }
    hideCompiler(hook, false);
    if (hook->swapped && cmd->nreProc == entryOf(hook->slot)) {
        cmd->nreProc = hook->nreProc;
    } else if (hook->swapped && cmd->nreProc != NULL && !dying) {
        return false; /* other code has wrapped this entry and calls it */
    }
    hook->swapped = false;
    retireTrace(hook);
    Tcl_DeleteHashEntry(entry);
    freeSlot(hook);
    return true;
}

static EtwHook *find(EtwScriptState *state, Tcl_Command token)
{
    Layer *layer = state->layer;
    Tcl_HashEntry *entry = Tcl_FindHashEntry(&layer->byCommand, (char *)token);
    return entry ? Tcl_GetHashValue(entry) : NULL;
}

/* Restore the original procedures of coroutines, or hook them again. */
static void exposeCoroutines(EtwScriptState *state, bool on)
{
    for (EtwHook *h = state->hooks; h != NULL; h = h->next) {
        Command *cmd = (Command *)h->token;
        if (h->kind != ETW_KIND_COROUTINE || cmd == NULL) {
            continue;
        }
        if (on && h->swapped && cmd->nreProc == entryOf(h->slot)) {
            cmd->nreProc = h->nreProc;
            h->swapped = false;
        } else if (!on && !h->swapped && cmd->nreProc == h->nreProc) {
            swapIn(h);
        }
    }
}

/*
 * Called with the client data of a namespace that is being deleted, which does not identify the
 * namespace. So all hooked coroutines of this thread are unhooked; the next scan hooks them again.
 */
static void deleteEarly(ClientData clientData)
{
    (void)clientData;
    for (EtwScriptState *s = EtwScriptThreadStates(); s != NULL; s = s->nextInThread) {
        exposeCoroutines(s, true);
        s->needsScan = true;
    }
}

/* ---- The interpreter ------------------------------------------------------------------------- */

static void openLayer(EtwScriptState *state)
{
    Layer *layer = EtwAlloc(sizeof *layer);
    Tcl_InitHashTable(&layer->byCommand, TCL_ONE_WORD_KEYS);
    state->layer = layer;
    recent.interp = NULL;
}

static void closeLayer(EtwScriptState *state)
{
    Layer *layer = state->layer;
    for (int i = 0; i < SHARED; i++) {
        EtwFree(layer->tables[i].slots);
    }
    Tcl_DeleteHashTable(&layer->byCommand);
    freeRetiredTraces(layer);
    EtwFree(layer->retiredTraces);
    EtwFree(layer);
    recent.interp = NULL; /* another interpreter may get the same address */
}

static void active(EtwScriptState *state, bool on)
{
    if (on) {
        exposeCoroutines(state, false);
    }
}

/* Without marks: the same steps as in Tcl_CreateObjTrace for a trace that forbids inlining. */
static void stepping(EtwScriptState *state, bool on)
{
    Interp *iPtr = (Interp *)state->interp;
    bool allowed = !on;
    if (EtwTclintHasSteps()) {
        EtwTclintSteps(state, on);
        return;
    }
    iPtr->tracesForbiddingInline += allowed ? -1 : 1;
    if (iPtr->tracesForbiddingInline == (allowed ? 0 : 1)) {
        iPtr->compileEpoch++;
        if (allowed) {
            iPtr->flags &= ~DONT_COMPILE_CMDS_INLINE;
        } else {
            iPtr->flags |= DONT_COMPILE_CMDS_INLINE;
        }
    }
}

/* NULL: none. */
static Tcl_HashTable *childrenOf(Namespace *ns)
{
#ifndef BREAK_NAMESPACE_COMPAT
    return &ns->childTable;
#else
    return ns->childTablePtr;
#endif
}

static void eachIn(Namespace *ns, void (*visit)(void *ctx, Tcl_Command token), void *ctx)
{
    Tcl_HashSearch search;
    for (Tcl_HashEntry *e = Tcl_FirstHashEntry(&ns->cmdTable, &search); e != NULL;
            e = Tcl_NextHashEntry(&search)) {
        visit(ctx, Tcl_GetHashValue(e));
    }
    if (childrenOf(ns) == NULL) {
        return;
    }
    for (Tcl_HashEntry *e = Tcl_FirstHashEntry(childrenOf(ns), &search); e != NULL;
            e = Tcl_NextHashEntry(&search)) {
        eachIn(Tcl_GetHashValue(e), visit, ctx);
    }
}

static void each(EtwScriptState *state, void (*visit)(void *ctx, Tcl_Command token), void *ctx)
{
    eachIn(((Interp *)state->interp)->globalNsPtr, visit, ctx);
}

static uint64_t countIn(Namespace *ns)
{
    Tcl_HashSearch search;
    uint64_t count = (uint64_t)ns->cmdTable.numEntries;
    if (childrenOf(ns) == NULL) {
        return count;
    }
    for (Tcl_HashEntry *e = Tcl_FirstHashEntry(childrenOf(ns), &search); e != NULL;
            e = Tcl_NextHashEntry(&search)) {
        count += countIn(Tcl_GetHashValue(e));
    }
    return count;
}

static uint64_t count(EtwScriptState *state)
{
    return countIn(((Interp *)state->interp)->globalNsPtr);
}

static void *callerEnv(void *env)
{
    const CoroutineData *cor = ((ExecEnv *)env)->corPtr;
    return cor != NULL ? cor->callerEEPtr : NULL;
}

static void *currentEnv(Tcl_Interp *interp)
{
    return ((Interp *)interp)->execEnvPtr;
}

static Tcl_Command original(Tcl_Command token)
{
    return TclGetOriginalCommand(token);
}

/* ---- The caller and its source position ------------------------------------------------------ */

static void addContext(EtwCallSite *place, const char *text, size_t size)
{
    place->context[place->pieces].text = text;
    place->context[place->pieces++].size = size;
}

static void addNamespace(EtwCallSite *place, const Namespace *ns)
{
    addContext(place, ns->fullName, strlen(ns->fullName));
}

static void commandContext(EtwCallSite *place, const Command *cmd)
{
    const char *name = Tcl_GetHashKey(cmd->hPtr->tablePtr, cmd->hPtr);
    addNamespace(place, cmd->nsPtr);
    if (cmd->nsPtr->parentPtr != NULL) {
        addContext(place, "::", 2);
    }
    addContext(place, name, strlen(name));
}

static bool isCommandOf(const Tcl_HashEntry *entry, const Proc *proc)
{
    const Command *cmd = entry != NULL ? Tcl_GetHashValue(entry) : NULL;
    return cmd != NULL && cmd == proc->cmdPtr && cmd->objClientData == proc;
}

/*
 * The command of a running proc that is not hooked. Proc.cmdPtr dangles after the command was
 * deleted, so it is only compared: with the command in the namespace that has the called name, then
 * with all commands of the namespace. NULL: deleted.
 */
static const Command *commandOf(const CallFrame *frame)
{
    Tcl_HashTable *table = &frame->nsPtr->cmdTable;
    Tcl_HashSearch search;
    Tcl_HashEntry *entry;
    if (frame->objc > 0) {
        const char *name = Tcl_GetString(frame->objv[0]);
        const char *tail = name + strlen(name);
        while (tail > name && !(tail[-1] == ':' && tail - name > 1 && tail[-2] == ':')) {
            tail--;
        }
        entry = Tcl_FindHashEntry(table, tail);
        if (isCommandOf(entry, frame->procPtr)) {
            return Tcl_GetHashValue(entry);
        }
    }
    entry = Tcl_FirstHashEntry(table, &search);
    while (entry != NULL && !isCommandOf(entry, frame->procPtr)) {
        entry = Tcl_NextHashEntry(&search);
    }
    return entry != NULL ? Tcl_GetHashValue(entry) : NULL;
}

/*
 * The hook of the running proc; NULL: not hooked. The Command of a lambda or a method is not a real
 * one.
 */
static inline const EtwHook *callerHook(const EtwScriptState *state, const CallFrame *frame)
{
    if ((frame->isProcCallFrame & (FRAME_IS_PROC | FRAME_IS_LAMBDA | FRAME_IS_METHOD)) !=
            FRAME_IS_PROC) {
        return frame->isProcCallFrame & FRAME_IS_METHOD ? EtwTclintMethodOf(frame) : NULL;
    }
    return tableFind(&((const Layer *)state->layer)->tables[0], frame->procPtr);
}

/* Without a hook: the proc's command, otherwise the namespace. */
static __attribute__((noinline)) void placeUnhooked(EtwCallSite *place, const CallFrame *frame)
{
    const Command *cmd = NULL;
    if ((frame->isProcCallFrame & FRAME_IS_PROC) && frame->procPtr != NULL &&
            !(frame->isProcCallFrame & (FRAME_IS_LAMBDA | FRAME_IS_METHOD))) {
        cmd = commandOf(frame);
    }
    if (cmd != NULL) {
        commandContext(place, cmd);
    } else {
        addNamespace(place, frame->nsPtr);
        place->real = frame->nsPtr->parentPtr == NULL; /* :: */
    }
}

/* The position of one frame, determined as by `info frame`. True: it is in a file. */
static bool frameCallSite(const CmdFrame *from, EtwCallSite *place)
{
    CmdFrame frame = *from;
    bool counted = false, inFile;
    if (frame.type == TCL_LOCATION_BC) {
        TclGetSrcInfoForPc(&frame);
        counted = frame.type == TCL_LOCATION_SOURCE;
    }
    inFile = frame.type == TCL_LOCATION_SOURCE && frame.data.eval.path != NULL;
    if (frame.line != NULL && frame.nline > 0 && frame.type != TCL_LOCATION_PREBC &&
            (inFile || place->line == 0)) {
        place->line = (uint32_t)frame.line[0];
    }
    if (inFile) {
        place->file = frame.data.eval.path;
        if (!counted) {
            Tcl_IncrRefCount(place->file);
        }
    }
    return inFile;
}

/*
 * Tcl does not know the position in a file of a script inside an expression or of a generated
 * script. Then the position of the enclosing command is used, which is more useful than a line
 * within the script.
 */
static __attribute__((noinline)) void callSiteSource(EtwScriptState *state, EtwCallSite *place)
{
    const CmdFrame *frame = ((Interp *)state->interp)->cmdFramePtr;
    const CallFrame *call = frame != NULL ? frame->framePtr : NULL;
    while (frame != NULL && frame->framePtr == call && !frameCallSite(frame, place)) {
        frame = frame->nextPtr;
    }
}

static void place(EtwScriptState *state, EtwCallSite *placePtr, bool source)
{
    placePtr->pieces = 0;
    placePtr->real = false;
    placePtr->file = NULL;
    placePtr->line = 0;
    if (state->interp == NULL) {
        return;
    }
    const CallFrame *frame = ((Interp *)state->interp)->varFramePtr;
    const EtwHook *caller = callerHook(state, frame);
    if (caller != NULL) {
        addContext(placePtr, caller->name, caller->nameSize);
        placePtr->real = true;
    } else {
        placeUnhooked(placePtr, frame);
    }
    if (source) {
        callSiteSource(state, placePtr);
    }
}

const EtwHookLayer etwHookTclInt = {
        .name = "swap",
        .check = EtwTclintCheck,
        .open = openLayer,
        .close = closeLayer,
        .find = find,
        .attach = attach,
        .update = update,
        .detach = detach,
        .active = active,
        .stepping = stepping,
        .currentEnv = currentEnv,
        .place = place,
        .scans = true,
        .each = each,
        .count = count,
        .callerEnv = callerEnv,
        .original = original,
        .stack = EtwTclintStack,
        .interruptOpen = EtwTclintInterruptOpen,
        .interruptClose = EtwTclintInterruptClose,
        .interruptRequest = EtwTclintInterruptRequest,
        .interruptHold = EtwTclintInterruptHold,
        .aliasScript = EtwTclintAlias,
        .aliasWord = EtwTclintAliasWord,
        .aliasPrefix = EtwTclintAliasPrefix,
        .aliasEntered = EtwTclintAliasEntered,
        .aliasRuns = EtwTclintAliasRuns,
        .aliasFailed = EtwTclintAliasFailed,
        .cover = EtwTclintCover,
        .coverMain = EtwTclintCoverMain,
        .hasLines = EtwTclintHasLines,
        .cutSteps = EtwTclintCutSteps,
        .undefine = EtwTclintUndefine,
};

#else

const EtwHookLayer etwHookTclInt = {.name = "swap"};

#endif
