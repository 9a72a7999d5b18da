/*
 * script/hooks/command_kind.c --
 *
 *	Determines the kind of a command by comparing its C procedures with those of sample
 *	commands, which are created once per process in a temporary interpreter. Uses the public API
 *	only.
 */
#include "script/script_int.h"
#include <string.h>
#include <tclOO.h>

static struct {
    Tcl_CmdDeleteProc *procDelete, *coroutineDelete, *importDelete, *aliasDelete;
    Tcl_ObjCmdProc *ensemble, *object;
    bool oo;
} kinds;

static const char sampleScript[] = "proc ::etwProc {} {return 1}\n"
                                   "interp alias {} ::etwAlias {} ::etwProc\n"
                                   "namespace eval ::etwNs {proc f {} {}; namespace export f\n"
                                   "    namespace ensemble create}\n"
                                   "namespace import ::etwNs::f\n"
                                   "coroutine ::etwCoro yield\n"
                                   "oo::object create ::etwObject\n";

static void infoOf(Tcl_Interp *interp, const char *name, Tcl_CmdInfo *info)
{
    memset(info, 0, sizeof *info);
    Tcl_GetCommandInfo(interp, name, info);
}

void EtwKindsInit(void)
{
    Tcl_Interp *interp = Tcl_CreateInterp();
    Tcl_CmdInfo info;
    if (Tcl_EvalEx(interp, sampleScript, -1, TCL_EVAL_GLOBAL) == TCL_OK) {
        infoOf(interp, "::etwProc", &info);
        kinds.procDelete = info.deleteProc;
        infoOf(interp, "::etwCoro", &info);
        kinds.coroutineDelete = info.deleteProc;
        infoOf(interp, "::f", &info);
        kinds.importDelete = info.deleteProc;
        infoOf(interp, "::etwAlias", &info);
        kinds.aliasDelete = info.deleteProc;
        infoOf(interp, "::etwNs", &info);
        kinds.ensemble = info.objProc;
        infoOf(interp, "::etwObject", &info);
        kinds.object = info.objProc;
        kinds.oo = Tcl_OOInitStubs(interp) != NULL;
    }
    Tcl_DeleteInterp(interp);
}

static bool startsWith(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Tcl's own ensembles have their subcommands below ::tcl. */
static EtwCommandKind ensembleKind(Tcl_Command token)
{
    Tcl_Namespace *ns;
    if (Tcl_GetEnsembleNamespace(NULL, token, &ns) != TCL_OK ||
            startsWith(ns->fullName, "::tcl::") || startsWith(ns->fullName, "::oo::")) {
        return ETW_KIND_C;
    }
    return ETW_KIND_ENSEMBLE;
}

/* True for TclOO's own classes. Objects created with `new` are named ::oo::Obj12. */
bool EtwKindIsCoreOO(const char *name)
{
    return startsWith(name, "::oo::") && !startsWith(name, "::oo::Obj");
}

EtwCommandKind EtwKindOf(Tcl_Command token)
{
    Tcl_CmdInfo info;
    if (!Tcl_GetCommandInfoFromToken(token, &info)) {
        return ETW_KIND_C;
    }
    if (info.deleteProc != NULL) {
        if (info.deleteProc == kinds.procDelete) {
            return ETW_KIND_PROC;
        }
        if (info.deleteProc == kinds.coroutineDelete) {
            return ETW_KIND_COROUTINE;
        }
        if (info.deleteProc == kinds.importDelete) {
            return ETW_KIND_IMPORT;
        }
        if (info.deleteProc == kinds.aliasDelete) {
            return ETW_KIND_ALIAS;
        }
    }
    if (info.objProc == kinds.ensemble && kinds.ensemble != NULL) {
        return ensembleKind(token);
    }
    if (info.objProc == kinds.object && kinds.object != NULL) {
        return ETW_KIND_OBJECT;
    }
    return ETW_KIND_C;
}

bool EtwKindIsClass(Tcl_Interp *interp, const char *name)
{
    Tcl_Obj *nameObj;
    Tcl_Object object;
    bool is = false;
    if (!kinds.oo) {
        return false;
    }
    nameObj = Tcl_NewStringObj(name, -1);
    Tcl_IncrRefCount(nameObj);
    object = Tcl_GetObjectFromObj(interp, nameObj);
    if (object != NULL) {
        is = Tcl_GetObjectAsClass(object) != NULL;
    }
    Tcl_DecrRefCount(nameObj);
    return is;
}
