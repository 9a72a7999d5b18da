/*
 * script/hooks/tclint.h --
 *
 *	Tcl's private headers, for the files of the fast hook layer (tclint_*.c) only. ETW_TCLINT is defined
 *	where the headers exist and have a version that these files support; elsewhere the files compile to
 *	nothing.
 */
#ifndef ETW_TCLINT_H
#define ETW_TCLINT_H

#if defined(ETW_HAVE_TCLINT) && !defined(ETW_NO_TCLINT)
#include <tclInt.h>
#include <tclOOInt.h>
#include <tclCompile.h>
/* Tcl's configuration is not ours. */
#undef PACKAGE_NAME
#undef PACKAGE_TARNAME
#undef PACKAGE_VERSION
#undef PACKAGE_STRING
#if (TCL_MAJOR_VERSION == 8 && TCL_MINOR_VERSION == 6) ||                                          \
        (TCL_MAJOR_VERSION == 9 && TCL_MINOR_VERSION == 0)
#define ETW_TCLINT 1
#endif
#endif
#include "script/script_int.h"

#ifdef ETW_TCLINT

/* ---- Differences between Tcl 8.6 and 9.0 ------------------------------------------------------ */

typedef void TclintOptimizer(void *compileEnv);
#if TCL_MAJOR_VERSION > 8
#define CMD_IS_DELETED CMD_DYING
typedef Tcl_Size TclintOffset; /* in compiled code */
static inline TclintOptimizer **EtwTclintOptimizer(Interp *iPtr)
{
    return &iPtr->optimizer;
}
#else
typedef int TclintOffset;
static inline TclintOptimizer **EtwTclintOptimizer(Interp *iPtr)
{
    return &iPtr->extra.optimizer;
}
#endif

/* ---- tclint_script.c: see EtwHookLayer in script_int.h -------------------------------------------- */

Tcl_Obj *EtwTclintAlias(Tcl_Obj *look, Tcl_Size objc, Tcl_Obj *const objv[]);
Tcl_Obj *EtwTclintAliasWord(EtwScriptState *state, const char *command);
Tcl_Obj *EtwTclintAliasPrefix(EtwScriptState *state, const char *command, Tcl_Obj *rest);
void EtwTclintAliasEntered(Tcl_Obj *word);
void EtwTclintAliasRuns(Tcl_Interp *interp, Tcl_Obj *script);
void EtwTclintAliasFailed(Tcl_Interp *interp);
bool EtwTclintCheckScript(Tcl_Interp *interp);

/* ---- tclint_hooks.c --------------------------------------------------------------------------- */

/* An NRE callback: the hook, then a call's id, ticks and packed. */
int EtwTclintLeave(ClientData data[], Tcl_Interp *interp, int result);

/* ---- tclint_check.c --------------------------------------------------------------------------- */

bool EtwTclintCheck(void);

/* ---- tclint_code.c --------------------------------------------------------------------------- */

/* A literal that is to be pushed, compared and dropped before or after a command of compiled code. */
typedef struct EtwCodeMark {
    int at;        /* where: `from`, or `end` */
    int from, end; /* of the command, in the code */
    unsigned literal;
    void *data; /* see EtwMarksInsert */
} EtwCodeMark;

/*
 * Insert marks into the code of a CompileEnv. False: the code has an unknown construct and is
 * unchanged.
 */
bool EtwTclintMark(void *compileEnv, const EtwCodeMark *marks, int count, unsigned second);
bool EtwTclintCheckCode(void);

/* ---- tclint_marks.c -------------------------------------------------------------------------- */

/* The marks of one compiled script. Users embed it as the first member of their own structure. */
typedef struct EtwMarks EtwMarks;
typedef struct EtwMarkOps {
    /* A mark is executed; `literal` is on top of the stack of the running bytecode, below it is what
     * the code had pushed. Must not evaluate anything or change the interpreter's result. */
    void (*fires)(EtwMarks *marks, void *data, const Tcl_Obj *literal);
    void (*free)(EtwMarks *marks);
} EtwMarkOps;
struct EtwMarks {
    int refs;
    const EtwMarkOps *ops;
    bool stale; /* other code has requested a mark's string, so the marks no longer work */
    Tcl_Obj *second, *fired;
    char *secondBytes;
};
void EtwMarksDrop(EtwMarks *marks);
/*
 * Insert marks into code that is being compiled. Their data is owned by the code from then on and
 * freed with EtwFree. Several marks at the same place must be neighbours in the list, in the order of execution.
 * Code with an unknown construct gets no marks.
 */
void EtwMarksInsert(EtwMarks *marks, CompileEnv *env, EtwCodeMark *list, int count);
EtwMarks *EtwMarksOf(const ByteCode *code); /* NULL: it is not marked */
/* A plausibility check of the compile environment, which is accessed through a private structure. */
bool EtwTclintLooksValid(const CompileEnv *env, const Interp *iPtr);
/*
 * Put an optimizer of ours into the interpreter, before its own (state->optimizer), or take it out; all code is compiled
 * again. If other code has replaced the optimizer since, ours stays in its chain and must do nothing.
 */
void EtwTclintReplaceOptimizer(EtwScriptState *state, TclintOptimizer *ours, bool on);

/* A command of the compiled code. */
typedef struct EtwPlace {
    int from, end; /* in the source */
    int parent;    /* -1: none */
    int counted;   /* line by the text alone */
    int line;
    int shown; /* the line reported for it: its own, or that of an enclosing marked command */
    bool bracketed, marked;
    bool followed; /* by another command of its script */
} EtwPlace;

/* The commands of compiled code, in the order of the source. The caller frees the array. */
EtwPlace *EtwTclintPlaces(const CompileEnv *env);

/* ---- tclint_lines.c -------------------------------------------------------------------------- */

/* Before a traced call: add marks to its body, or remove them, according to the hook's rule. */
void EtwTclintLines(
        EtwHook *hook, void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[]);
/* The same for a body that is compiled in a given namespace. */
void EtwTclintLinesOf(EtwHook *hook, Tcl_Interp *interp, Proc *proc, Namespace *ns);
/* The hooked proc is no longer traced. */
void EtwTclintUnmark(const EtwHook *hook);
/* At the start of a call that is not traced because of -depth: do not report its lines either. */
void EtwTclintTooDeep(EtwHook *hook, Tcl_Interp *interp);
bool EtwTclintHasLines(void);
bool EtwTclintCompilesLines(void); /* the code that is being compiled gets marks for lines */
void EtwTclintCheckLines(Tcl_Interp *interp);

/* ---- tclint_steps.c -------------------------------------------------------------------------- */

/* Mark all code that the interpreter compiles from now on, or no longer; all code is compiled again. */
void EtwTclintSteps(EtwScriptState *state, bool on);
void EtwTclintCutSteps(EtwScriptState *state, EtwContext *context, int depth, int code);
bool EtwTclintHasSteps(void);
void EtwTclintCheckSteps(Tcl_Interp *interp); /* after EtwTclintCheckLines */

/* ---- tclint_coverage.c ------------------------------------------------------------------------ */

/* Count the commands of all code that the interpreter compiles from now on, or no longer; all code is compiled again. */
void EtwTclintCover(EtwScriptState *state, bool on);
bool EtwTclintCoverMain(EtwScriptState *state);

/* ---- tclint_interrupt.c: see EtwHookLayer in script_int.h ----------------------------------------- */

EtwInterrupt *EtwTclintInterruptOpen(Tcl_Interp *interp, void (*proc)(void *arg), void *arg);
void EtwTclintInterruptClose(EtwInterrupt *interrupt);
void EtwTclintInterruptRequest(EtwInterrupt *interrupt);
void EtwTclintInterruptHold(EtwInterrupt *interrupt, bool hold);
/* The handler of the limit while an interrupt is open: tclint_attach.c adds its own after it. */
void EtwTclintInterruptReached(ClientData clientData, Tcl_Interp *interp);
void EtwTclintCheckInterrupt(Tcl_Interp *interp);

/* ---- tclint_attach.c --------------------------------------------------------------------------- */

void EtwTclintCheckAttach(Tcl_Interp *interp);
/* An interrupt was closed, whose limit a request from outside may have shared. */
void EtwTclintAttachRearm(Tcl_Interp *interp);

/* ---- tclint_variable.c: see EtwHookLayer in script_int.h ------------------------------------------ */

void EtwTclintUndefine(Tcl_Interp *interp, const char *array, Tcl_Obj *element);
void EtwTclintCheckVariable(Tcl_Interp *interp);

/* ---- tclint_stack.c -------------------------------------------------------------------------- */

void EtwTclintStack(EtwScriptState *state, char *text, size_t capacity, int *depthPtr);

/* ---- tclint_oo.c ----------------------------------------------------------------------------- */

/* An object is about to be called: hook its methods that are not hooked yet. */
void EtwTclintMethods(EtwHook *objectHook, void *object);
/* The hook of a method's frame; NULL: it has none. */
const EtwHook *EtwTclintMethodOf(const CallFrame *frame);
bool EtwTclintCheckMethods(Tcl_Interp *interp);
bool EtwTclintIsScriptMethod(const struct Method *method);

/* ---- tclint_oo_places.c ---------------------------------------------------------------------- */

/* Store the places of the bodies of constructors and destructors that are defined from now on, or no longer. */
void EtwTclintBodyPlaces(Tcl_Interp *interp, bool on);
void EtwTclintCheckBodyPlaces(Tcl_Interp *interp);

#endif
#endif
