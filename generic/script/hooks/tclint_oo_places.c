/*
 * script/hooks/tclint_oo_places.c --
 *
 *	Where the bodies of constructors and destructors stand in their file. TclOO stores that of methods
 *	only (a `constructor` has fewer words than it expects), so coverage would not count their commands.
 *	While there is coverage, the commands `constructor` and `destructor` of oo::define store it as well,
 *	in Tcl's own table, from which Tcl releases it with the body.
 */
#include "script/hooks/tclint.h"
#include <string.h>

#ifdef ETW_TCLINT

typedef struct Definer {
    const char *name;
    Tcl_ObjCmdProc *proc, *original; /* original: found by the self-check, NULL: none */
} Definer;

static int defineConstructor(void *, Tcl_Interp *, int, Tcl_Obj *const[]);
static int defineDestructor(void *, Tcl_Interp *, int, Tcl_Obj *const[]);

static Definer definers[] = {
        {"::oo::define::constructor", defineConstructor, NULL},
        {"::oo::define::destructor", defineDestructor, NULL},
};

static void addPlace(Interp *iPtr, Proc *proc, Tcl_Obj *path, const CmdFrame *from)
{
    int isNew;
    Tcl_HashEntry *entry = Tcl_CreateHashEntry(iPtr->linePBodyPtr, (const char *)proc, &isNew);
    if (!isNew) {
        return; /* Tcl has stored it */
    }
    CmdFrame *frame = (CmdFrame *)ckalloc(sizeof *frame);
    memset(frame, 0, sizeof *frame);
    frame->level = -1;
    frame->type = TCL_LOCATION_SOURCE;
    frame->line = (void *)ckalloc(sizeof *frame->line);
    frame->line[0] = from->line[from->nline - 1]; /* the body is the last word */
    frame->nline = 1;
    frame->data.eval.path = path;
    Tcl_IncrRefCount(path);
    Tcl_SetHashValue(entry, frame);
}

/* The command that runs has defined this method. */
static void storePlace(Interp *iPtr, const Method *method)
{
    if (method == NULL || iPtr->cmdFramePtr == NULL || !EtwTclintIsScriptMethod(method)) {
        return;
    }
    CmdFrame frame = *iPtr->cmdFramePtr;
    bool counted = frame.type == TCL_LOCATION_BC;
    if (counted) {
        TclGetSrcInfoForPc(&frame);
    }
    if (frame.type != TCL_LOCATION_SOURCE || frame.data.eval.path == NULL) {
        return;
    }
    if (frame.line != NULL && frame.nline > 0 && frame.line[frame.nline - 1] >= 0) {
        const ProcedureMethod *pm = method->clientData;
        addPlace(iPtr, pm->procPtr, frame.data.eval.path, &frame);
    }
    if (counted) {
        Tcl_DecrRefCount(frame.data.eval.path);
    }
}

static const Class *definedClass(const Interp *iPtr)
{
    const CallFrame *frame = iPtr->varFramePtr;
    EtwScriptState *state = EtwScriptStateOf((Tcl_Interp *)iPtr);
    if (state == NULL || state->coverage == NULL || frame == NULL || frame->clientData == NULL ||
            !(frame->isProcCallFrame & FRAME_IS_OO_DEFINE)) {
        return NULL;
    }
    return ((const Object *)frame->clientData)->classPtr;
}

static int defineConstructor(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    int result = definers[0].original(clientData, interp, objc, objv);
    const Class *class = result == TCL_OK ? definedClass((Interp *)interp) : NULL;
    if (class != NULL) {
        storePlace((Interp *)interp, class->constructorPtr);
    }
    return result;
}

static int defineDestructor(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    int result = definers[1].original(clientData, interp, objc, objv);
    const Class *class = result == TCL_OK ? definedClass((Interp *)interp) : NULL;
    if (class != NULL) {
        storePlace((Interp *)interp, class->destructorPtr);
    }
    return result;
}

/* The commands keep their client data. One that something else has replaced stays as it is. */
void EtwTclintBodyPlaces(Tcl_Interp *interp, bool on)
{
    for (size_t i = 0; i < sizeof definers / sizeof *definers; i++) {
        Definer *d = &definers[i];
        Tcl_CmdInfo info;
        if (d->original == NULL || !Tcl_GetCommandInfo(interp, d->name, &info)) {
            continue;
        }
        if (info.objProc == (on ? d->original : d->proc)) {
            info.objProc = on ? d->proc : d->original;
            Tcl_SetCommandInfo(interp, d->name, &info);
        }
    }
}

/* In the interpreter of the self-check nothing has been replaced. */
void EtwTclintCheckBodyPlaces(Tcl_Interp *interp)
{
    for (size_t i = 0; i < sizeof definers / sizeof *definers; i++) {
        Tcl_CmdInfo info;
        if (Tcl_GetCommandInfo(interp, definers[i].name, &info) && info.isNativeObjectProc == 1) {
            definers[i].original = info.objProc;
        }
    }
}

#endif
