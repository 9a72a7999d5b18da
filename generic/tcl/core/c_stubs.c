/*
 * tcl/core/c_stubs.c --
 *
 *	The table of the C API for other extensions (etwStubs.h), which link c_stublib.c.
 */
#include "tcl/core/c_stubs.h"

static const EtwStubs stubs = {
        .magic = ETW_STUBS_MAGIC,
        .size = sizeof(EtwStubs),
        .registerProvider = Etw_Register,
        .unregisterProvider = Etw_Unregister,
        .defineEvent = Etw_DefineEvent,
        .write = Etw_Write,
        .writeActivity = Etw_WriteActivity,
        .activityCreate = Etw_ActivityCreate,
        .activitySet = Etw_ActivitySet,
        .activityGet = Etw_ActivityGet,
        .enableCallbackAdd = Etw_EnableCallbackAdd,
        .enableCallbackRemove = Etw_EnableCallbackRemove,
        .writeSite = Etw_WriteSite,
};

const EtwStubs *EtwStubsTable(void)
{
    return &stubs;
}
