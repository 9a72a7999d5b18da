/*
 * tcl/core/c_stublib.c --
 *
 *	Linked into extensions that use etw's C API: the pointer to the table, and the function that
 *	sets it. Not part of the package's own binary.
 */
#include <tcl.h>
#include "etwStubs.h"
#include <stddef.h>

const EtwStubs *etwStubsPtr = NULL;

const char *Etw_InitStubs(Tcl_Interp *interp, const char *version, int exact)
{
    void *table = NULL;
    const char *found = Tcl_PkgRequireEx(interp, "etw", version, exact, (void *)&table);
    const EtwStubs *stubs = table;

    if (found == NULL) {
        return NULL;
    }
    if (stubs == NULL || stubs->magic != ETW_STUBS_MAGIC || stubs->size < sizeof(EtwStubs)) {
        Tcl_SetObjResult(interp,
                Tcl_NewStringObj("the etw that is loaded is older than this extension needs", -1));
        Tcl_SetErrorCode(interp, "ETW", "UNSUPPORTED", "STUBS", (char *)NULL);
        return NULL;
    }
    etwStubsPtr = stubs;
    return found;
}
