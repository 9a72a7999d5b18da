/*
 * tcl/provider/tcl_provider.h --
 *
 *	Providers that Tcl code creates: their keywords and events, the types of fields, and the encoding of
 *	Tcl values. Only an enable callback has a Tcl_Obj, so that a provider can be shared with child
 *	interpreters of the same thread.
 */
#ifndef ETW_TCL_PROVIDER_H
#define ETW_TCL_PROVIDER_H

#include "tcl/core/value_bytes.h"

/* ---- Types of fields (event_types.c) ----------------------------------------------------------- */

/* Parse {field type ?field type ...?} into the list that Etw_DefineEvent takes. Free it with EtwTypesFree. */
int EtwTypesParse(Tcl_Interp *interp, Tcl_Obj *spec, Etw_Field **fieldsPtr, int *countPtr);
void EtwTypesFree(Etw_Field *fields, int count); /* fields may be NULL */
/*
 * The schema that consumers read from the event's metadata; freed with EtwFree. NULL if there is
 * none.
 */
EtwSchema *EtwTypesSchema(const char *event, const Etw_Field *fields, int count);
/* Describes the values of a scalar field of such a schema, for messages: "a GUID". */
const char *EtwTypeExpected(const EtwField *field);

/* A field of such a schema, with the function for its values; NULL for a struct, whose members follow. */
typedef struct EtwType {
    const EtwField *field;
    EtwAppendProc *append;
} EtwType;

/* ---- Payload bytes (write_encode.c) ---------------------------------------------------------------- */

/*
 * Append the value of a field: a scalar, a list for an array, a dict for a struct, whose unknown
 * keys are ignored. On an error, a message is left in interp. A value that is too large for any
 * event is not an error: *out then has more than ETW_MAX_PAYLOAD bytes.
 */
int EtwEncodeField(Tcl_Interp *interp, EtwText *out, const EtwType *type, Tcl_Obj *value);

/* ---- Providers (tcl_provider.c) ------------------------------------------------------------------ */

/*
 * Reference-counted: one reference for each interpreter whose table has it. Deleting it in the
 * interpreter that created it unregisters it at once (`deleted`); others notice at their next lookup.
 */
typedef struct EtwTclCallback EtwTclCallback;
typedef struct EtwTclProvider {
    int refCount;
    bool deleted;
    char *name;
    EtwGuid guid;
    Etw_Provider *handle;
    EtwKeyword *keywords;
    int keywordCount;
    Tcl_HashTable events;     /* name -> EtwTclEvent * */
    EtwTclCallback *callback; /* NULL: none */
} EtwTclProvider;

typedef struct EtwTclEvent {
    EtwTclProvider *provider;
    Etw_Event *event;
    uint8_t level;
    uint64_t keyword;
    Etw_EventDesc desc; /* desc.name is the key in the provider's table */
    Etw_Field *fields;  /* including members of structs */
    int fieldCount;
    EtwSchema *schema;
    EtwType *types; /* of all fields */
    int valueCount; /* fields without members of structs: the number of values that etw write
                       takes */
    char *spec;     /* as given to etw provider event */
} EtwTclEvent;

/* Incremented when a provider or an event is deleted, which invalidates caches. */
extern unsigned etwProviderEpoch;

/*
 * Find a provider of this interpreter, an event of a provider; NULL with an error that lists those
 * that exist.
 */
EtwTclProvider *EtwFindProvider(EtwInterp *ctx, Tcl_Obj *name);
EtwTclEvent *EtwFindEvent(EtwInterp *ctx, EtwTclProvider *provider, Tcl_Obj *name);
/*
 * Create and register; NULL with an error left. The result is in no table yet and has one
 * reference.
 */
EtwTclProvider *EtwProviderNew(
        Tcl_Interp *interp, Tcl_Obj *name, const EtwGuid *guid, Tcl_Obj *keywords);
int EtwProviderAddTo(EtwInterp *ctx, EtwTclProvider *provider); /* adds a reference */
void EtwProviderRemoveFrom(EtwInterp *ctx, EtwTclProvider *provider);
void EtwProviderUnregister(EtwTclProvider *provider);
void EtwProviderRelease(EtwTclProvider *provider);
/* Define or redefine an event; desc->name is copied. */
int EtwProviderDefine(
        Tcl_Interp *interp, EtwTclProvider *provider, const Etw_EventDesc *desc, Tcl_Obj *spec);
void EtwProvidersFree(EtwInterp *ctx);

/* ---- Enable callbacks (tcl_enable_callback.c) -------------------------------------------------- */

/* command: a list, which gets {enable|disable|capture level any all} appended. */
EtwTclCallback *EtwCallbackNew(Tcl_Interp *interp, Etw_Provider *handle, Tcl_Obj *command);
void EtwCallbackFree(EtwTclCallback *callback); /* on the thread that created it; callback may be
                                                   NULL */

/*
 * A provider as named in session commands: created by this interpreter, built in, registered by any
 * process, described (schema/store/known_providers.h), or a GUID.
 */
typedef struct EtwProviderRef {
    EtwGuid guid;
    char name[128]; /* "" when only the GUID is known */
    const EtwKeyword *keywords;
    int keywordCount;
} EtwProviderRef;
int EtwResolveProvider(EtwInterp *ctx, Tcl_Obj *name, EtwProviderRef *target);
/*
 * A new list of the names of the built-in and the registered providers and, if `known`, of all
 * described ones, each once.
 */
Tcl_Obj *EtwProviderNames(EtwInterp *ctx, bool known);

/* Frees the cache of etw write (write_cmd.c). */
void EtwWriteCacheFree(struct EtwWriteCache *cache);

#endif
