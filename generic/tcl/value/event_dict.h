/*
 * tcl/value/event_dict.h --
 *
 *	Events as Tcl values: the whole dict of an event, or the values of selected fields.
 */
#ifndef ETW_EVENT_DICT_H
#define ETW_EVENT_DICT_H

#include "tcl/core/tclglue.h"
#include "schema/model/decode.h"

struct EtwTrack;

/*
 * Turns events into Tcl values. Belongs to one flow and one interpreter's thread: it keeps key and
 * name objects for each schema of `store`, which must outlive it.
 */
typedef struct EtwEventMaker EtwEventMaker;

EtwEventMaker *EtwEventMakerNew(EtwInterp *ctx, EtwSchemaStore *store);
void EtwEventMakerFree(EtwEventMaker *maker); /* accepts NULL */

/* Only these: header names, names of payload fields, props(NAME). asList: EtwEventObj gives their
 * values in order. */
int EtwEventMakerSelect(Tcl_Interp *interp, EtwEventMaker *maker, Tcl_Obj *fields, bool asList);

/* The event's dict (or, with a selection, a flat dict or a list of it). A new object, no
 * references. */
Tcl_Obj *EtwEventObj(EtwEventMaker *maker, const EtwEvent *event);
/*
 * A list of the values of the first `required` selected fields, and behind them a dict of those
 * others that the event has. NULL when it lacks one of the required. Header numbers are always
 * there, as for a predicate: also those that are 0.
 */
Tcl_Obj *EtwEventValues(EtwEventMaker *maker, const EtwEvent *event, int required);
/* Call visit for each of the first `required` fields that no event passed to EtwEventValues had. */
void EtwEventMakerMissing(const EtwEventMaker *maker, int required,
        void (*visit)(void *ctx, const char *name), void *ctx);
/* Set the tracker that resolves the modules of `frames`; NULL: none. */
void EtwEventMakerTrack(EtwEventMaker *maker, const struct EtwTrack *track);
EtwSchemaStore *EtwEventMakerStore(const EtwEventMaker *maker);
/* The index of a header name, or -1. */
int EtwHeaderKey(const char *name);
/* Make ctx->keys; EtwEventKeysFree undoes it. */
void EtwEventKeysInit(EtwInterp *ctx);
void EtwEventKeysFree(EtwInterp *ctx);
/* Name of the event's provider, its GUID when it has none. A new or a shared object. */
Tcl_Obj *EtwProviderNameObj(EtwSchemaStore *store, const EtwSchema *schema, const EtwEvent *event);

#endif
