/*
 * script/script_int.h --
 *
 *	Shared by the files of generic/script: the state of a traced interpreter, its patterns and the hooks
 *	on its commands. All of it belongs to the interpreter's thread; only the provider (script_provider.c)
 *	is shared by all threads.
 */
#ifndef ETW_SCRIPT_INT_H
#define ETW_SCRIPT_INT_H

#include "script/usdt_probe.h"
#include "script/script.h"
#include "base/alloc.h"
#include "base/os.h"
#include "base/status.h"
#include "base/text.h"
#include "etw.h"
#include "semantics/declared_events.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifndef TCL_SIZE_MAX
typedef int Tcl_Size; /* defined as in tcl/core/tclcompat.h, which this room must not include */
#endif

#ifndef Tcl_GetParent /* its name before 8.6.11 */
#define Tcl_GetParent Tcl_GetMaster
#endif

typedef struct EtwScriptState EtwScriptState;
typedef struct EtwHook EtwHook;
typedef struct EtwBuiltin EtwBuiltin;
typedef struct EtwSampler EtwSampler;
typedef struct EtwCoverage EtwCoverage;
typedef struct EtwInterrupt EtwInterrupt;
typedef struct EtwRedaction EtwRedaction;

/* ---- Options and patterns (trace_state.c) ---------------------------------------------------------- */

/* The options of one `add`, shared by its patterns, by hooks and by running calls: counted. */
typedef struct EtwRule {
    int refs;
    EtwScriptOptions options; /* redact is NULL: see redaction */
    size_t maxLength;
    bool flat;               /* nothing is masked, and short words fit without truncation */
    EtwRedaction *redaction; /* NULL: nothing is redacted */
    int users;               /* patterns and running bodies, of a rule with a redaction */
    struct EtwRule *nextRedacting;
} EtwRule;

EtwRule *EtwRuleNew(const EtwScriptOptions *options);
static inline EtwRule *EtwRuleKeep(EtwRule *rule)
{
    rule->refs++;
    return rule;
}
void EtwRuleDrop(EtwRule *rule); /* NULL is allowed */

typedef struct EtwPattern {
    char *glob; /* without a leading :: */
    bool exact; /* has no glob character */
    EtwRule *rule;
    struct EtwPattern *next; /* the newest first: it takes precedence */
} EtwPattern;

/* ---- Nesting of calls (script_calls.c) -------------------------------------------------------------- */

/* A running call with -steps full: commands inside it are traced by its rule. Reference-counted,
 * because a coroutine that was created inside keeps it after the call has returned. */
typedef struct EtwScope {
    int refs;
    EtwRule *rule;
    struct EtwScope *outer;
} EtwScope;

/* A call whose lines are reported. */
typedef struct EtwLineCall {
    uint64_t id;
    const EtwHook *hook; /* only compared */
} EtwLineCall;

/* A running call as the events of its enter and leave have it. */
typedef struct EtwCall {
    uint64_t id;
    uint64_t ticks;
    uint64_t packed; /* depth, CALL_* */
} EtwCall;

/* An open step that has no hook, because the bytecode compiler inlines its command. */
typedef struct EtwInlineStep {
    const void *frame; /* of the bytecode */
    void *script;      /* its compiled script, a reference of the hook layer */
    int index;         /* of the command */
    EtwCall call;
} EtwInlineStep;

/* Nesting in one execution environment: that of the interpreter or of a coroutine. */
typedef struct EtwContext {
    void *env;
    int depth;       /* of traced calls and steps */
    int open;        /* calls entered in this environment and not yet left */
    int tooDeep;     /* running calls that are not traced because of -depth, nor are their lines */
    EtwScope *scope; /* innermost call with full steps, a reference */
    EtwLineCall *lineCalls; /* by depth; entries beyond the current depth are outdated */
    int lineCapacity;
    EtwInlineStep *steps; /* open, outermost first */
    int stepCount, stepCapacity;
    struct EtwContext *next;
} EtwContext;

/* ---- The state of an interpreter (trace_state.c) --------------------------------------------------- */

struct EtwScriptState {
    Tcl_Interp *interp; /* NULL once it is deleted */
    int refs;           /* the interpreter's, and one for each hook */
    EtwPattern *patterns;
    EtwRule *redacting;                    /* rules in use that redact, a list (script_redact.c) */
    unsigned generation;                   /* counts changes of the patterns */
    EtwSampler *sampler;                   /* NULL: stacks are not sampled */
    EtwCoverage *coverage;                 /* NULL: executions are not counted */
    struct EtwCommandTrace *commandTraces; /* of script_run.c */
    EtwHook *hooks;                        /* all, doubly linked */
    int stepUsers;                         /* patterns and running `run`s with full steps */
    bool stepping;                /* every command is reported inside calls that have steps */
    void (*optimizer)(void *env); /* of the interpreter, while the hook layer has replaced it */
    bool scanning;                /* guards against a scan inside a scan */
    bool creating;       /* the command was just created: no code has been compiled with it */
    bool needsScan;      /* commands were created that are not hooked yet */
    Tcl_Obj *missed;     /* during a scan for `list`: names that could not be hooked */
    uint64_t lastScan;   /* ticks */
    uint64_t lastCount;  /* number of commands at that time */
    EtwContext now;      /* of the environment that ran last */
    EtwContext *waiting; /* other environments that have open calls */
    uint64_t nextId, endId;
    uint32_t idInterp;            /* number of the interpreter in the ids */
    char *scratch;                /* ETW_SCRATCH bytes for text that must be converted */
    EtwText payload, redacted;    /* of an event that is redacted */
    void *layer;                  /* private data of the hook layer */
    EtwScriptState *nextInThread; /* of this thread */
};

/* The state of an interpreter, NULL if it was never traced. The second function creates it. */
EtwScriptState *EtwScriptStateOf(Tcl_Interp *interp);
EtwScriptState *EtwScriptStateMake(Tcl_Interp *interp);
EtwScriptState *EtwScriptThreadStates(void); /* all of this thread, a list */
void EtwScriptStateDrop(EtwScriptState *state);
/* Add or remove a user of steps. */
void EtwScriptStepUser(EtwScriptState *state, int change);
/* The rule for a command's full name (with leading ::), NULL: none. */
EtwRule *EtwScriptMatch(EtwScriptState *state, const char *name, bool wild);
/* Message and errorCode {ETW CLASS DETAIL SUBJECT}; returns TCL_ERROR. */
int EtwScriptFail(Tcl_Interp *interp, EtwStatus status, const char *detail, const char *subject,
        const char *format, ...) ETW_PRINTF(5, 6);

/* ---- Sampling (script_sample.c) --------------------------------------------------------------------- */

enum { ETW_STACK_TEXT = 8000 };
bool EtwSampling(void);                    /* an interpreter of this thread is sampled */
void EtwSampleStop(EtwScriptState *state); /* does nothing if sampling is off */

/* ---- Coverage (script_coverage.c) ------------------------------------------------------------------- */

/* How often a command of a source file was executed in an interpreter. Commands that are compiled again keep it. */
typedef struct EtwCoverCount EtwCoverCount;

/* The count of a command; text: its first line, in Tcl's UTF-8. `coverage` keeps it until EtwCoverageDrop. */
EtwCoverCount *EtwCoverCountOf(EtwCoverage *coverage, const char *file, size_t fileSize,
        uint32_t line, uint32_t column, const char *text, size_t size);
bool EtwCoverAdd(EtwCoverage *coverage,
        EtwCoverCount *count); /* the command is executed; true: for the first time */
/* The main script of the program has come to a line; 0: to its end. */
void EtwCoverMain(EtwCoverage *coverage, Tcl_Obj *path, uint32_t line);
EtwCoverage *EtwCoverageKeep(EtwCoverage *coverage);
void EtwCoverageDrop(EtwCoverage *coverage);
void EtwCoverageStop(
        EtwScriptState *state); /* writes the counts; does nothing if coverage is off */

/* ---- Hooks (command_hooks.c) ----------------------------------------------------------------- */

enum {
    HOOK_CALL = 1,     /* matches a pattern */
    HOOK_STEP = 2,     /* reported inside calls that have steps */
    HOOK_WATCH = 4,    /* creates commands: search for them when it has returned */
    HOOK_OPAQUE = 8,   /* checks the nreProc of coroutines: restored during its call */
    HOOK_BUILTIN = 16, /* see builtin_wrappers.c */
    HOOK_METHODS = 32, /* an object: its methods have to be hooked before it runs */
};

typedef enum EtwCommandKind {
    ETW_KIND_C, /* C commands, core ensembles and classes: by exact name or -builtins */
    ETW_KIND_PROC,
    ETW_KIND_ALIAS,
    ETW_KIND_ENSEMBLE, /* made by a script */
    ETW_KIND_COROUTINE,
    ETW_KIND_OBJECT,
    ETW_KIND_IMPORT,
    ETW_KIND_METHOD /* not a command: token is NULL, hook layers do not handle it */
} EtwCommandKind;

/*
 * A hooked command. References are held by its state's list, until the command is deleted or no longer
 * hooked, and by each running call. `token` is NULL after the command was deleted.
 */
struct EtwHook {
    EtwScriptState *state;
    Tcl_Command token;
    unsigned what;
    int refs;
    EtwRule *rule; /* of the last HOOK_CALL; running calls use it for their leave */
    char *name;    /* standard UTF-8, with leading :: */
    size_t nameSize;
    char *word; /* the name without leading ::, as an element of a list */
    size_t wordSize;
    EtwCommandKind kind;
    const EtwBuiltin *builtin; /* of HOOK_BUILTIN */
    bool listed;               /* in state->hooks */
    EtwHook *previous, *next;  /* in state->hooks */
    /* The following members belong to the hook layer. */
    int slot;
    void *key;
    Tcl_ObjCmdProc *nreProc;
    void (*compileProc)(void);
    bool swapped;
    void *trace;         /* of the command, see keepTrace */
    int epochs[2];       /* of an object: when its methods were hooked */
    unsigned generation; /* of a method: state->generation of `what` and `rule` */
};

/* Hook a command, change its hook, or unhook it, according to the current patterns and steps. */
void EtwHookSync(EtwScriptState *state, Tcl_Command token);
/* The same by name, resolved in a namespace (NULL: global). Does nothing if there is no such command. */
void EtwHookSyncName(EtwScriptState *state, const char *name, const char *nsName);
/* For a method, by its full name; the caller's reference. */
EtwHook *EtwHookMethod(EtwScriptState *state, const char *name);
/* Before a method runs: update `what` and `rule` from the current patterns. */
void EtwHookMethodRefresh(EtwHook *hook);
/* Examine every command. */
void EtwHookScan(EtwScriptState *state);
/* Before the outermost call: scan for commands whose creation was not noticed. Rate-limited. */
void EtwHookRefresh(EtwScriptState *state, uint64_t ticks);
void EtwHookFree(EtwHook *hook);
static inline void EtwHookUnref(EtwHook *hook)
{
    if (--hook->refs == 0) {
        EtwHookFree(hook);
    }
}
static inline EtwHook *EtwHookRef(EtwHook *hook)
{
    hook->refs++;
    return hook;
}

EtwCommandKind EtwKindOf(Tcl_Command token);
bool EtwKindIsCoreOO(const char *name);
bool EtwKindIsClass(Tcl_Interp *interp, const char *name); /* of an ETW_KIND_OBJECT */
void EtwKindsInit(void); /* once a process, from a throw-away interpreter */

/* Lambdas belong to the script, although `apply` is a command of Tcl. Tcl does not inline it. */
static inline bool EtwIsApply(const char *name)
{
    return strcmp(name, "::apply") == 0;
}

/* ---- Commands that create commands (command_creation.c) -------------------------------------- */

/* HOOK_WATCH and HOOK_OPAQUE bits of a command by its name. */
unsigned EtwWatchOf(const char *name);
/* After a watched command has succeeded: hook the commands that it created. Keeps the interpreter's result. */
void EtwWatchDone(EtwHook *hook, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[]);

/* ---- Wrapped commands of Tcl (builtin_wrappers.c) ------------------------------------------------------ */

/* NULL: not a wrapped command. */
const EtwBuiltin *EtwBuiltinOf(const char *name);
/* Called instead of proc, which it calls. Must be the last call of an NRE procedure. */
int EtwBuiltinCall(const EtwHook *hook, Tcl_ObjCmdProc *proc, void *clientData, Tcl_Interp *interp,
        int objc, Tcl_Obj *const objv[]);

/* ---- The provider (script_provider.c) --------------------------------------------------------------- */

extern Etw_Provider *etwScriptProvider; /* set before the first hook exists */
extern Etw_Event *etwScriptEvents[ETW_SCRIPT_EVENTS];

/* Register the provider and its events, once a process. TCL_ERROR: message left. */
int EtwScriptProviderOpen(Tcl_Interp *interp);
void EtwScriptTakeIds(EtwScriptState *state); /* a block of call ids */
/* A call id, unique in the process. */
static inline uint64_t EtwScriptNewId(EtwScriptState *state)
{
    if (state->nextId == state->endId) {
        EtwScriptTakeIds(state);
    }
    uint64_t id = state->nextId;
    state->nextId += ETW_CALL_ID_INTERPS;
    return id;
}
uint64_t EtwScriptNanoseconds(uint64_t ticks);
extern uint64_t etwScriptScale; /* ns per tick, 32.32 fixed point */

static inline bool EtwScriptOn(uint64_t keywords)
{
    return Etw_Enabled(etwScriptProvider, ETW_LEVEL_INFO, keywords) != 0;
}

/* The caller of a command, as pieces of text that are valid until the next command runs. */
typedef struct EtwCallSite {
    struct {
        const char *text; /* Tcl's UTF-8 */
        size_t size;
    } context[3];
    int pieces;
    bool real;     /* there is one piece, and it is standard UTF-8 */
    Tcl_Obj *file; /* NULL: not known; a reference of the caller's otherwise */
    uint32_t line;
} EtwCallSite;

/* ---- Calls (script_calls.c) ------------------------------------------------------------------------- */

enum { TRACE_NONE, TRACE_CALL, TRACE_STEP };

/*
 * A running call is stored in three words of an NRE callback: directly if it fits, otherwise as a
 * copy. EtwCallUnpack must be called once and frees the copy.
 */
static inline void EtwCallPack(const EtwCall *call, ClientData words[3])
{
    if (sizeof(ClientData) == sizeof(uint64_t)) {
        words[0] = (ClientData)(uintptr_t)call->id;
        words[1] = (ClientData)(uintptr_t)call->ticks;
        words[2] = (ClientData)(uintptr_t)call->packed;
    } else {
        EtwCall *copy = EtwAlloc(sizeof *copy);
        *copy = *call;
        words[0] = copy;
        words[1] = words[2] = NULL;
    }
}

static inline EtwCall EtwCallUnpack(ClientData words[3])
{
    if (sizeof(ClientData) == sizeof(uint64_t)) {
        return (EtwCall){(uintptr_t)words[0], (uintptr_t)words[1], (uintptr_t)words[2]};
    }
    EtwCall call = *(EtwCall *)words[0];
    EtwFree(words[0]);
    return call;
}
enum { CALL_DEPTH = 0xFFFFFF, CALL_STEP = 1 << 24, CALL_SCOPE = 1 << 25 };

/* True if a call of this command is traced. state->now must be that of the running environment. */
static inline int EtwHookWants(const EtwHook *hook)
{
    if (hook->what & HOOK_CALL) {
        return EtwScriptOn(ETW_KEYWORD_CALL | ETW_KEYWORD_STEP) || EtwProbed() ? TRACE_CALL
                                                                               : TRACE_NONE;
    }
    if ((hook->what & HOOK_STEP) && hook->state->now.scope != NULL) {
        return EtwScriptOn(ETW_KEYWORD_STEP) ? TRACE_STEP : TRACE_NONE;
    }
    return TRACE_NONE;
}

/*
 * For both, state->now must be that of the running environment. False: not traced (too deep). True:
 * EtwCallLeave must follow; the hook has a reference until then.
 */
bool EtwCallEnter(EtwHook *hook, int objc, Tcl_Obj *const objv[], int trace, EtwCall *call);
void EtwCallLeave(EtwHook *hook, const EtwCall *call, int code);
/*
 * A call without a hooked command: a body, a callback. Begin sets all members of *call except
 * ticks. End must follow.
 */
void EtwNestBegin(EtwScriptState *state, Tcl_Interp *interp, EtwCall *call);
void EtwNestEnd(EtwScriptState *state, Tcl_Interp *interp, const EtwCall *call);
/* Another execution environment is running now. */
void EtwContextSwitch(EtwScriptState *state, void *env);
void EtwContextFree(EtwScriptState *state);
EtwScope *EtwScopePush(EtwScope *outer, EtwRule *rule);
EtwScope *EtwScopePop(EtwScope *scope); /* the outer one */
/* The id of the hooked call whose line is executed; 0: it is not traced. */
static inline uint64_t EtwLineCallId(const EtwContext *now, const EtwHook *hook)
{
    return now->depth < now->lineCapacity && now->lineCalls[now->depth].hook == hook
                   ? now->lineCalls[now->depth].id
                   : 0;
}
/* The first word is written as `name`. Returns the event's ticks, 0: no session took it. */
uint64_t EtwWriteEnter(EtwScriptState *state, const EtwRule *rule, const EtwCall *call,
        const char *name, size_t nameSize, int objc, Tcl_Obj *const objv[]);
/* The interpreter's result; NULL: it was deleted. */
static inline Tcl_Obj *EtwScriptResult(const EtwScriptState *state)
{
    return state->interp != NULL ? Tcl_GetObjResult(state->interp) : NULL;
}
/* `result` NULL: none. */
void EtwWriteLeave(EtwScriptState *state, const EtwRule *rule, const EtwCall *call,
        const char *name, size_t nameSize, int code, Tcl_Obj *result);
/* The enter of a command that is given by its text. Releases place->file. */
uint64_t EtwWriteStep(EtwScriptState *state, const EtwRule *rule, const EtwCall *call,
        EtwCallSite *place, Tcl_Obj *text);

/* Write an event for the rename or deletion of a command, by the flags of its trace (script_run.c). */
void EtwWriteCommand(EtwScriptState *state, int flags, const char *oldName, const char *newName);

/* ---- The hook layer -------------------------------------------------------------------------- */

/* How commands are intercepted. One of two layers, selected once per process by a self-check. */
typedef struct EtwHookLayer {
    const char *name;
    bool (*check)(void); /* NULL: not available */
    void (*open)(EtwScriptState *state);
    void (*close)(EtwScriptState *state);
    EtwHook *(*find)(EtwScriptState *state, Tcl_Command token);
    bool (*attach)(EtwHook *hook); /* false: cannot be hooked */
    void (*update)(EtwHook *hook); /* `what` has changed */
    /* Unhook a command, which may be being deleted. False: the hook may still be called, so it must be
     * kept until the command is deleted. */
    bool (*detach)(EtwHook *hook);
    void (*active)(EtwScriptState *state, bool on); /* there are patterns or steps, or none */
    void (*stepping)(EtwScriptState *state,
            bool on); /* report each command, also those that Tcl's compiler inlines */
    void *(*currentEnv)(Tcl_Interp *interp); /* the execution environment that runs */
    /* Fills in all of *place; file and line with `source` only. */
    void (*place)(EtwScriptState *state, EtwCallSite *place, bool source);
    /*
     * Commands must be found before they are called. Otherwise EtwHookSync is called at the first
     * call of each command, there is only one environment, and the following members are NULL.
     */
    bool scans;
    void (*each)(EtwScriptState *state, void (*visit)(void *ctx, Tcl_Command token), void *ctx);
    uint64_t (*count)(EtwScriptState *state);   /* of all commands */
    void *(*callerEnv)(void *env);              /* the environment that runs this one; NULL: none */
    Tcl_Command (*original)(Tcl_Command token); /* that an import stands for */
    /* The call stack as text: outermost first, separated by semicolons. NULL: not supported. */
    void (*stack)(EtwScriptState *state, char *text, size_t capacity, int *depthPtr);
    /*
     * Interrupts: at the request of another thread, the interpreter's thread calls proc between two commands. proc must
     * not evaluate scripts. Open returns NULL where Tcl or the interpreter does not permit it. All but Request are
     * called by the interpreter's thread. Requests are ignored between Hold with true and Hold with false.
     */
    EtwInterrupt *(*interruptOpen)(Tcl_Interp *interp, void (*proc)(void *arg), void *arg);
    void (*interruptClose)(EtwInterrupt *interrupt);
    void (*interruptRequest)(EtwInterrupt *interrupt);
    void (*interruptHold)(EtwInterrupt *interrupt, bool hold);
    /*
     * A new object: a script whose string is `look`, and whose evaluation runs these words. NULL: not supported.
     * Such a script calls aliasRuns before it evaluates anything, and aliasFailed if it ends with an error that is
     * already logged, so that info frame and errorInfo do not show it.
     */
    Tcl_Obj *(*aliasScript)(Tcl_Obj *look, Tcl_Size objc, Tcl_Obj *const objv[]);
    /*
     * The first word of such a script, and a prefix of two or more words to which Tcl appends others (rest: a list). The
     * command calls aliasEntered with its first word before anything else. Execution traces of scripts do not see this command.
     */
    Tcl_Obj *(*aliasWord)(EtwScriptState *state, const char *command);
    Tcl_Obj *(*aliasPrefix)(EtwScriptState *state, const char *command, Tcl_Obj *rest);
    void (*aliasEntered)(Tcl_Obj *word);
    void (*aliasRuns)(Tcl_Interp *interp, Tcl_Obj *script);
    void (*aliasFailed)(Tcl_Interp *interp);
    void (*cover)(EtwScriptState *state,
            bool on); /* count the commands of all code; NULL: not supported */
    bool (*coverMain)(
            EtwScriptState *state); /* EtwCoverMain, if a file is evaluated that is not compiled */
    bool (*hasLines)(void);         /* lines of procs can be traced; NULL: they cannot */
    /* Close the open steps of a context that are deeper; code is the reason. Required if steps are put into a context. */
    void (*cutSteps)(EtwScriptState *state, EtwContext *context, int depth, int code);
    /* An element of a global array ceases to exist. No trace is called, searches of the array go on. NULL: not supported. */
    void (*undefine)(Tcl_Interp *interp, const char *array, Tcl_Obj *element);
} EtwHookLayer;

extern const EtwHookLayer etwHookTclInt; /* compiled out: without check */
extern const EtwHookLayer etwHookPublic;
const EtwHookLayer *EtwHookLayerGet(void); /* the one in use; EtwScriptProviderOpen selects it */
extern const EtwHookLayer *etwHookLayer;
/* The layer in use, or that would be used; may be called before the provider is open (script_provider.c). */
const EtwHookLayer *EtwScriptLayer(void);

#endif
