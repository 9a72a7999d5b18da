/*
 * tests/support/tclthreads.c --
 *
 *	Threads for tests if the Thread package is missing (Windows, if its source is not
 *	available): `tclthreads::start SCRIPT` runs SCRIPT in a new interpreter in a new thread and
 *	returns an id, `tclthreads::join ID` waits for it and returns its result or its error. No
 *	messages.
 */
#include <tcl.h>
#include <string.h>

typedef struct Job {
    Tcl_ThreadId thread;
    char *script; /* owned by the starter until the thread runs, then by the thread */
    char *result;
    int code;
} Job;

enum { MAX_JOBS = 256 };
static Job jobs[MAX_JOBS];
static int jobCount;
TCL_DECLARE_MUTEX(jobMutex)

static char *copyOf(const char *text)
{
    size_t n = strlen(text) + 1;
    return memcpy(ckalloc((unsigned)n), text, n);
}

static Tcl_ThreadCreateType runJob(ClientData clientData)
{
    Job *job = clientData;
    Tcl_Interp *interp = Tcl_CreateInterp();
    job->code = Tcl_Init(interp);
    if (job->code == TCL_OK) {
        job->code = Tcl_EvalEx(interp, job->script, -1, TCL_EVAL_GLOBAL);
    }
    job->result = copyOf(Tcl_GetStringResult(interp));
    ckfree(job->script);
    Tcl_DeleteInterp(interp);
    Tcl_ExitThread(0); /* on Windows, a join does not notice a thread that only returns */
    TCL_THREAD_CREATE_RETURN;
}

static int startCmd(ClientData unused, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    int id;
    (void)unused;
    if (objc != 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "script");
        return TCL_ERROR;
    }
    Tcl_MutexLock(&jobMutex);
    id = jobCount < MAX_JOBS ? jobCount++ : -1;
    Tcl_MutexUnlock(&jobMutex);
    if (id < 0) {
        Tcl_SetObjResult(interp, Tcl_NewStringObj("too many threads", -1));
        return TCL_ERROR;
    }
    jobs[id].script = copyOf(Tcl_GetString(objv[1]));
    if (Tcl_CreateThread(&jobs[id].thread, runJob, &jobs[id], TCL_THREAD_STACK_DEFAULT,
                TCL_THREAD_JOINABLE) != TCL_OK) {
        Tcl_SetObjResult(interp, Tcl_NewStringObj("cannot create a thread", -1));
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, Tcl_NewIntObj(id));
    return TCL_OK;
}

static int joinCmd(ClientData unused, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    int id, code;
    (void)unused;
    if (objc != 2 || Tcl_GetIntFromObj(interp, objv[1], &id) != TCL_OK || id < 0 ||
            id >= jobCount || jobs[id].thread == NULL) {
        Tcl_SetObjResult(interp, Tcl_NewStringObj("usage: join id", -1));
        return TCL_ERROR;
    }
    Tcl_JoinThread(jobs[id].thread, &code);
    jobs[id].thread = NULL;
    Tcl_SetObjResult(interp, Tcl_NewStringObj(jobs[id].result, -1));
    ckfree(jobs[id].result);
    return jobs[id].code;
}

DLLEXPORT int Tclthreads_Init(Tcl_Interp *interp)
{
    if (Tcl_InitStubs(interp, "8.6-", 0) == NULL) {
        return TCL_ERROR;
    }
    Tcl_CreateObjCommand(interp, "::tclthreads::start", startCmd, NULL, NULL);
    Tcl_CreateObjCommand(interp, "::tclthreads::join", joinCmd, NULL, NULL);
    return Tcl_PkgProvide(interp, "tclthreads", "1.0");
}
