/*
 * tcl/core/errors.c --
 *
 *	Converts an EtwError of the core to a Tcl result and an errorCode: {ETW CLASS DETAIL
 *	?subject?}, for errors of the operating system {POSIX EACCES text} or {ETW WIN32 5
 *	ERROR_ACCESS_DENIED text}. Wrong arguments of commands have Tcl's own messages and codes.
 */
#include "tcl/core/tclglue.h"
#include "base/os.h"
#include <stdarg.h>
#include <stdio.h>

/*
 * {POSIX EACCES {permission denied}}. The number replaces a name that the platform does not know.
 */
static Tcl_Obj *osErrorCode(int osError)
{
    char buffer[256];
    char number[16];
    const char *name = OsErrorName(osError);
    const char *text = OsErrorText(osError, buffer, sizeof buffer);
    Tcl_Obj *code = Tcl_NewListObj(0, NULL);

    snprintf(number, sizeof number, "%d", osError);
#ifdef _WIN32
    Tcl_ListObjAppendElement(NULL, code, Tcl_NewStringObj("ETW", -1));
    Tcl_ListObjAppendElement(NULL, code, Tcl_NewStringObj("WIN32", -1));
    Tcl_ListObjAppendElement(NULL, code, Tcl_NewStringObj(number, -1));
    Tcl_ListObjAppendElement(NULL, code, Tcl_NewStringObj(name, -1));
#else
    Tcl_ListObjAppendElement(NULL, code, Tcl_NewStringObj("POSIX", -1));
    Tcl_ListObjAppendElement(NULL, code, Tcl_NewStringObj(*name ? name : number, -1));
#endif
    Tcl_ListObjAppendElement(NULL, code, EtwStringObj(text));
    return code;
}

static Tcl_Obj *ownErrorCode(const EtwError *err)
{
    Tcl_Obj *code = Tcl_NewListObj(0, NULL);
    const char *name = EtwStatusName(err->status);

    Tcl_ListObjAppendElement(NULL, code, Tcl_NewStringObj("ETW", -1));
    Tcl_ListObjAppendElement(NULL, code, Tcl_NewStringObj(name, -1));
    Tcl_ListObjAppendElement(NULL, code, EtwStringObj(err->detail));
    if (err->subject[0] != '\0') {
        Tcl_ListObjAppendElement(NULL, code, EtwStringObj(err->subject));
    }
    return code;
}

int EtwTclError(Tcl_Interp *interp, const EtwError *err)
{
    if (interp != NULL) {
        Tcl_SetObjResult(interp, EtwStringObj(err->message));
        /* A missing privilege keeps its class, because the message contains our own remedy. */
        bool byOs = err->osError != 0 && err->status == ETW_E_IO;
        Tcl_SetObjErrorCode(interp, byOs ? osErrorCode(err->osError) : ownErrorCode(err));
    }
    return TCL_ERROR;
}

int EtwTclFail(Tcl_Interp *interp, EtwStatus status, const char *detail, const char *subject,
        const char *format, ...)
{
    EtwError err;
    va_list args;

    if (interp == NULL) {
        return TCL_ERROR;
    }
    memset(&err, 0, sizeof err);
    err.status = status;
    snprintf(err.detail, sizeof err.detail, "%s", detail);
    snprintf(err.subject, sizeof err.subject, "%s", subject ? subject : "");
    va_start(args, format);
    vsnprintf(err.message, sizeof err.message, format, args);
    va_end(args);
    return EtwTclError(interp, &err);
}
