/*
 * script/hooks/tclint_oo.c --
 *
 *	Methods, constructors and destructors of TclOO: their enter and leave events, however they
 *	are called (an object's command, my, next). Before an object's command runs, the script
 *	methods of its classes and its own get a pre-call procedure, a field of the method that
 *	TclOO provides for extensions. Nothing else of the method changes. It stays until the method
 *	is deleted, and costs one comparison if no pattern matches. A method's name is CLASS::NAME
 *	(OBJECT::NAME), with <constructor> and <destructor> as in TclOO.
 */
#include "script/hooks/tclint.h"

#ifdef ETW_TCLINT

enum { DEEPEST = 32 }; /* maximum depth of a class hierarchy */

static const Tcl_MethodType *procType; /* the type of script methods; found by the self-check */

/* ---- Calls ----------------------------------------------------------------------------------- */

/* The method's frame is already pushed, but the event's context is the caller's frame. */
static bool enterFrom(
        EtwHook *hook, Interp *iPtr, const CallFrame *frame, int skip, int trace, EtwCall *call)
{
    CallFrame *running = iPtr->varFramePtr;
    bool words = skip > 0 && frame->objc >= skip; /* a destructor has no words */
    iPtr->varFramePtr = frame->callerVarPtr;
    bool entered = EtwCallEnter(hook, words ? frame->objc - skip + 1 : 1,
            words ? frame->objv + skip - 1 : frame->objv, trace, call);
    iPtr->varFramePtr = running;
    return entered;
}

static int methodRuns(void *clientData, Tcl_Interp *interp, Tcl_ObjectContext context,
        Tcl_CallFrame *framePtr, int *isFinished)
{
    EtwHook *hook = clientData;
    const CallFrame *frame = (const CallFrame *)framePtr;
    int skip = (int)((const CallContext *)context)->skip;
    EtwCall call;
    *isFinished = 0;
    if (hook == NULL || hook->state->interp == NULL) {
        return TCL_OK;
    }
    void *env = ((Interp *)interp)->execEnvPtr;
    if (hook->state->now.env != env) {
        EtwContextSwitch(hook->state, env);
    }
    EtwHookMethodRefresh(hook);
    int trace = EtwHookWants(hook);
    if (trace == TRACE_NONE) {
        return TCL_OK;
    }
    if (EtwScriptOn(ETW_KEYWORD_STEP)) {
        EtwTclintLinesOf(hook, interp, frame->procPtr, frame->nsPtr);
    }
    if (enterFrom(hook, (Interp *)interp, frame, skip, trace, &call)) {
        ClientData words[3];
        EtwCallPack(&call, words);
        Tcl_NRAddCallback(interp, EtwTclintLeave, hook, words[0], words[1], words[2]);
    } else if (hook->rule->options.steps == ETW_STEPS_LINE && EtwScriptOn(ETW_KEYWORD_STEP)) {
        EtwTclintTooDeep(hook, interp);
    }
    return TCL_OK;
}

static void methodDeleted(void *clientData)
{
    if (clientData != NULL) {
        EtwHookUnref(clientData);
    }
}

/* The copy has another name: it is hooked when its object is called. */
static void *methodCopied(void *clientData)
{
    (void)clientData;
    return NULL;
}

/* ---- Hooking --------------------------------------------------------------------------------- */

static void hookMethod(EtwScriptState *state, Object *owner, Method *method, const char *name)
{
    ProcedureMethod *pm;
    Tcl_Obj *full;
    if (method == NULL || method->typePtr != procType) {
        return; /* forwarded, written in C, or only an export flag */
    }
    pm = method->clientData;
    if (pm->version != 0 || (pm->preCallProc != NULL && pm->preCallProc != methodRuns) ||
            pm->clientData != NULL) {
        return; /* already hooked, or used by another extension */
    }
    full = Tcl_NewObj();
    Tcl_GetCommandFullName(state->interp, owner->command, full);
    Tcl_AppendStringsToObj(full, "::", name, (char *)NULL);
    Tcl_IncrRefCount(full);
    pm->clientData = EtwHookMethod(state, Tcl_GetString(full));
    Tcl_DecrRefCount(full);
    pm->deleteClientdataProc = methodDeleted;
    pm->cloneClientdataProc = methodCopied;
    pm->preCallProc = methodRuns;
}

static void hookTable(EtwScriptState *state, Object *owner, Tcl_HashTable *methods)
{
    Tcl_HashSearch search;
    for (Tcl_HashEntry *e = Tcl_FirstHashEntry(methods, &search); e != NULL;
            e = Tcl_NextHashEntry(&search)) {
        hookMethod(state, owner, Tcl_GetHashValue(e),
                Tcl_GetString((Tcl_Obj *)Tcl_GetHashKey(methods, e)));
    }
}

static void hookClass(EtwScriptState *state, Class *class, int depth)
{
    if (class == NULL || depth > DEEPEST || class == class->thisPtr->fPtr->objectCls ||
            class == class->thisPtr->fPtr->classCls) {
        return;
    }
    hookTable(state, class->thisPtr, &class->classMethods);
    hookMethod(state, class->thisPtr, class->constructorPtr, "<constructor>");
    hookMethod(state, class->thisPtr, class->destructorPtr, "<destructor>");
    for (int i = 0; i < class->superclasses.num; i++) {
        hookClass(state, class->superclasses.list[i], depth + 1);
    }
    for (int i = 0; i < class->mixins.num; i++) {
        hookClass(state, class->mixins.list[i], depth + 1);
    }
}

/*
 * A class without instances may change without a change of its epochs, so it is examined each time.
 */
void EtwTclintMethods(EtwHook *objectHook, void *clientData)
{
    Object *object = clientData;
    EtwScriptState *state = objectHook->state;
    if (object->fPtr == NULL || object->selfCls == NULL || state->interp == NULL ||
            (object->classPtr == NULL && objectHook->epochs[0] == object->fPtr->epoch + 1 &&
                    objectHook->epochs[1] == object->epoch + 1)) {
        return;
    }
    objectHook->epochs[0] = object->fPtr->epoch + 1;
    objectHook->epochs[1] = object->epoch + 1;
    hookClass(state, object->classPtr, 0);
    hookClass(state, object->selfCls, 0);
    for (int i = 0; i < object->mixins.num; i++) {
        hookClass(state, object->mixins.list[i], 0);
    }
    if (object->methodsPtr != NULL) {
        hookTable(state, object, object->methodsPtr);
    }
}

bool EtwTclintIsScriptMethod(const Method *method)
{
    return procType != NULL && method->typePtr == procType;
}

const EtwHook *EtwTclintMethodOf(const CallFrame *frame)
{
    const CallContext *context = frame->clientData;
    const Method *method;
    const ProcedureMethod *pm;
    if (context == NULL) {
        return NULL;
    }
    method = context->callPtr->chain[context->index].mPtr;
    if (method->typePtr != procType) {
        return NULL;
    }
    pm = method->clientData;
    return pm->preCallProc == methodRuns ? pm->clientData : NULL;
}

/* ---- The self-check -------------------------------------------------------------------------- */

bool EtwTclintCheckMethods(Tcl_Interp *interp)
{
    static const char script[] = "oo::class create ::etwClass {method m {} {return 5}}";
    Tcl_CmdInfo info;
    if (Tcl_EvalEx(interp, script, -1, TCL_EVAL_GLOBAL) != TCL_OK ||
            !Tcl_GetCommandInfo(interp, "::etwClass", &info)) {
        return false;
    }
    const Object *object = info.objClientData;
    Class *class = object->classPtr;
    Tcl_Obj *name = Tcl_NewStringObj("m", -1);
    Tcl_IncrRefCount(name);
    Tcl_HashEntry *entry =
            class != NULL && class->thisPtr == object && class->classMethods.numEntries == 1
                    ? Tcl_FindHashEntry(&class->classMethods, (char *)name)
                    : NULL;
    const Method *method = entry ? Tcl_GetHashValue(entry) : NULL;
    Tcl_DecrRefCount(name);
    if (method == NULL || method->declaringClassPtr != class || method->typePtr == NULL ||
            strcmp(method->typePtr->name, "method") != 0) {
        return false;
    }
    const ProcedureMethod *pm = method->clientData;
    procType = method->typePtr;
    return pm->version == 0 && pm->clientData == NULL && pm->preCallProc == NULL &&
           pm->postCallProc == NULL && pm->refCount == 1;
}

#endif
