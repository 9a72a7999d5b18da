/*
 * etwStubs.h --
 *
 *	The C API of etw.h, ETW_WRITE included, for Tcl extensions. The functions are reached through a
 *	table that the loaded package etw provides. An extension therefore links no etw of its own.
 *
 *	    #define USE_ETW_STUBS
 *	    #include "etwStubs.h"
 *	    ...
 *	    if (Etw_InitStubs(interp, "1.0", 0) == NULL) {
 *	        return TCL_ERROR;
 *	    }
 *	    prov = Etw_Register("My-Extension", NULL);
 *
 *	Link libetwstub1.0.a. New functions are added at the end of the table only. Etw_InitStubs fails
 *	when the loaded etw's table is shorter than the extension's.
 */
#ifndef ETW_STUBS_H
#define ETW_STUBS_H

#ifdef USE_ETW_STUBS
#define ETW_NO_PROTOTYPES
#endif
#include "etw.h"

struct Tcl_Interp; /* the extension includes tcl.h */

#define ETW_STUBS_MAGIC 0x57544531 /* "1ETW" */

typedef struct EtwStubs {
    unsigned magic;
    unsigned size; /* of this struct, in bytes */
    Etw_Provider *(*registerProvider)(const char *name, const Etw_Guid *guid);
    void (*unregisterProvider)(Etw_Provider *provider);
    Etw_Event *(*defineEvent)(Etw_Provider *provider, const Etw_EventDesc *desc,
            const Etw_Field *fields, int fieldCount);
    int (*write)(Etw_Event *event, const Etw_Data *data, int count);
    int (*writeActivity)(Etw_Event *event, const Etw_Guid *activity, const Etw_Guid *related,
            const Etw_Data *data, int count);
    void (*activityCreate)(Etw_Guid *activity);
    void (*activitySet)(const Etw_Guid *activity);
    void (*activityGet)(Etw_Guid *activity);
    void (*enableCallbackAdd)(Etw_Provider *provider, Etw_EnableProc *proc, void *ctx);
    void (*enableCallbackRemove)(Etw_Provider *provider, Etw_EnableProc *proc, void *ctx);
    int (*writeSite)(Etw_Site *site, Etw_Provider *provider, const Etw_Guid *activity,
            const Etw_Guid *related, const Etw_Data *data, int count);
} EtwStubs;

#ifdef __cplusplus
extern "C" {
#endif

extern const EtwStubs *etwStubsPtr;

/* Require the package etw and take its table. Returns the version that was loaded, or NULL with a
 * message and an errorCode in interp. */
const char *Etw_InitStubs(struct Tcl_Interp *interp, const char *version, int exact);

#ifdef __cplusplus
}
#endif

#ifdef USE_ETW_STUBS
#define Etw_Register (etwStubsPtr->registerProvider)
#define Etw_Unregister (etwStubsPtr->unregisterProvider)
#define Etw_DefineEvent (etwStubsPtr->defineEvent)
#define Etw_Write (etwStubsPtr->write)
#define Etw_WriteActivity (etwStubsPtr->writeActivity)
#define Etw_WriteSite (etwStubsPtr->writeSite)
#define Etw_ActivityCreate (etwStubsPtr->activityCreate)
#define Etw_ActivitySet (etwStubsPtr->activitySet)
#define Etw_ActivityGet (etwStubsPtr->activityGet)
#define Etw_EnableCallbackAdd (etwStubsPtr->enableCallbackAdd)
#define Etw_EnableCallbackRemove (etwStubsPtr->enableCallbackRemove)
#endif

#endif
