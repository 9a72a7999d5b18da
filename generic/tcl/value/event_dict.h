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
 * Converts events to Tcl values. Belongs to one flow and one interpreter's thread: it keeps key and
 * name objects for each schema of `store`, which must outlive it.
 */
typedef struct EtwEventMaker EtwEventMaker;

EtwEventMaker *EtwEventMakerNew(EtwInterp *ctx, EtwSchemaStore *store);
void EtwEventMakerFree(EtwEventMaker *maker); /* accepts NULL */

/*
 * Select values: header names, names of payload fields, props(NAME). asList: EtwEventObj returns
 * the values in order.
 */
int EtwEventMakerSelect(Tcl_Interp *interp, EtwEventMaker *maker, Tcl_Obj *fields, bool asList);

/*
 * The event's dict (or, with a selection, a flat dict or a list of it). A new object without
 * references.
 */
Tcl_Obj *EtwEventObj(EtwEventMaker *maker, const EtwEvent *event);
/*
 * A list of the values of the first `required` selected fields, followed by a dict of the others
 * that the event has. NULL: it lacks a required one. Header numbers are always present, as in a
 * predicate, including those that are 0.
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
/* Create ctx->keys; EtwEventKeysFree frees them. */
void EtwEventKeysInit(EtwInterp *ctx);
void EtwEventKeysFree(EtwInterp *ctx);
/* Name of the event's provider, or its GUID if it has none. A new or a shared object. */
Tcl_Obj *EtwProviderNameObj(EtwSchemaStore *store, const EtwSchema *schema, const EtwEvent *event);

#endif
