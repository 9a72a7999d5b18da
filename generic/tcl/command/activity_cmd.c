/*
 * tcl/command/activity_cmd.c --
 *
 *	etw activity: the thread's current activity id, which its events get; scopes of an activity;
 *	and the related id, which links an activity to its origin. The engine stores the ids.
 */
#include "tcl/provider/tcl_provider.h"
#include "engine/provider/provider.h"

static Tcl_Obj *activityObj(const Etw_Guid *activity)
{
    EtwGuid guid;

    memcpy(guid.bytes, activity->bytes, sizeof guid.bytes);
    return EtwGuidIsNull(&guid) ? Tcl_NewObj() : EtwGuidObj(&guid);
}

/* *nonePtr: obj is "", no activity. */
static int getActivity(Tcl_Interp *interp, Tcl_Obj *obj, Etw_Guid *activity, bool *nonePtr)
{
    EtwGuid guid;

    *nonePtr = *Tcl_GetString(obj) == '\0';
    if (*nonePtr) {
        return TCL_OK;
    }
    if (EtwGetGuid(interp, obj, &guid) != TCL_OK) {
        return TCL_ERROR;
    }
    memcpy(activity->bytes, guid.bytes, sizeof activity->bytes);
    return TCL_OK;
}

static bool isNone(const Etw_Guid *activity)
{
    static const Etw_Guid none;

    return memcmp(activity, &none, sizeof none) == 0;
}

static int createCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Etw_Guid activity;
    (void)clientData;
    (void)objc;
    (void)objv;

    Etw_ActivityCreate(&activity);
    Tcl_SetObjResult(interp, activityObj(&activity));
    return TCL_OK;
}

static int currentCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Etw_Guid activity;
    (void)clientData;
    (void)objc;
    (void)objv;

    Etw_ActivityGet(&activity);
    Tcl_SetObjResult(interp, activityObj(&activity));
    return TCL_OK;
}

/* Returns the previous activity, so that the caller can restore it. */
static int setCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Etw_Guid before, activity;
    bool none;
    (void)clientData;
    (void)objc;

    if (getActivity(interp, objv[2], &activity, &none) != TCL_OK) {
        return TCL_ERROR;
    }
    Etw_ActivityGet(&before);
    Etw_ActivitySet(none ? NULL : &activity);
    Tcl_SetObjResult(interp, activityObj(&before));
    return TCL_OK;
}

static int transferCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Etw_Guid related;
    bool none;
    (void)clientData;
    (void)objc;

    if (getActivity(interp, objv[2], &related, &none) != TCL_OK) {
        return TCL_ERROR;
    }
    EtwActivityRelate(none ? NULL : &related);
    return TCL_OK;
}

/*
 * Run the body under an activity, whose first event has the origin as related activity. The body
 * must not yield: other code of the thread would run under this activity.
 */
static int runCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    Etw_Guid before, activity;
    bool none = true;
    int result;
    (void)clientData;

    if (objc == 4 && getActivity(interp, objv[2], &activity, &none) != TCL_OK) {
        return TCL_ERROR;
    }
    if (none) {
        Etw_ActivityCreate(&activity);
    }
    Etw_ActivityGet(&before);
    if (!isNone(&before)) {
        EtwActivityRelate(&before);
    }
    Etw_ActivitySet(&activity);
    result = Tcl_EvalObjEx(interp, objv[objc - 1], 0);
    if (!isNone(&before)) {
        EtwActivityRelate(NULL); /* no event was written under the activity */
    }
    Etw_ActivitySet(isNone(&before) ? NULL : &before);
    return result;
}

int EtwActivityCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const EtwSubCommand subCommands[] = {
            {"create", createCmd, "", 0, 0},
            {"current", currentCmd, "", 0, 0},
            {"get", currentCmd, "", 0, 0},
            {"run", runCmd, "?guid? body", 1, 2},
            {"set", setCmd, "guid", 1, 1},
            {"transfer", transferCmd, "guid", 1, 1},
            {NULL, NULL, NULL, 0, 0},
    };
    return EtwDispatch(subCommands, clientData, interp, objc, objv);
}
