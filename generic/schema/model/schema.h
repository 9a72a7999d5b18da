/*
 * schema/model/schema.h --
 *
 *	The description of an event's payload: named, typed fields. A store finds and caches the
 *	schema of an event. An event may describe itself (TraceLogging, or one string). Of the other
 *	sources the one whose description fits the payload best is used, of equal ones the first:
 *	  1. its trace: EventSource manifests, metadata of merged files (not for a file's headers);
 *	  2. definitions that the user loaded (schema/store/definition_library.h);
 *	  3. the tables of Windows' kernel classes (schema/kernel/kernel_classes.h);
 *	  4. the catalogue of known providers (schema/catalog/catalog.h); it precedes the trace for
 *	     providers whose manifests in traces are known to be wrong (EtwProviderDef.checked);
 *	  5. on Windows, the system itself (schema/store/platform_schema.h).
 *	schema/store/schema_choice.c has the details.
 *	schema/model/linux_names.h has the names of Linux's kernel constants. A store is not
 *	thread-safe: each flow has one, and a clone for each further thread (EtwSchemaStoreClone).
 */
#ifndef ETW_SCHEMA_H
#define ETW_SCHEMA_H

#include "base/text.h"
#include "base/status.h"
#include "event/event.h"
#include "etw.h" /* ETW_IN_*, ETW_OUT_*, Etw_Field */

/* Names of values: exact (syscall 41 -> socket) or bits (MSG_PEEK|MSG_DONTWAIT). Static or owned by
 * the store or the provider's definition. */
typedef struct EtwMapEntry {
    uint64_t value;
    const char *name;
} EtwMapEntry;
typedef struct EtwMap {
    const EtwMapEntry *entries; /* ascending by value */
    int count;
    bool bits;
} EtwMap;

/*
 * In-types of manifests and classic events, in addition to TraceLogging's (etw.h). A UTF16Z, ANSIZ or
 * BINARY whose size the schema defines (EtwField.sized) has no NUL or count in the payload.
 */
enum {
    ETW_IN_SKIP = 64,          /* `length` bytes (0: a pointer) that are skipped, never shown */
    ETW_IN_COUNTED_UTF16_SWAP, /* u16 size in bytes, high byte first; UTF-16LE */
    ETW_IN_COUNTED_ANSI_SWAP,  /* the same for 8-bit text */
    ETW_IN_COUNTED32_BINARY,   /* u32 size, bytes (TDH's hex dump) */
    ETW_IN_WBEM_SID /* classic: u32 0: nothing follows; otherwise TOKEN_USER (two pointers), SID */
};
/* An out-type of this package: the address of a network adapter, 6 bytes, in events of the kernel 8. */
enum { ETW_OUT_MAC = 64 };
/* Arrays in addition to those of etw.h. */
enum {
    ETW_ARRAY_BY_FIELD = 3, /* the number of elements is in field number `count` of the schema */
    ETW_ARRAY_REST = 4      /* to the end of the payload */
};
/* The source of the size of a UTF16Z (in characters), ANSIZ or BINARY (in bytes). */
enum {
    ETW_SIZE_OWN = 0,      /* its NUL, or the u16 before it */
    ETW_SIZE_FIXED = 1,    /* `length` */
    ETW_SIZE_BY_FIELD = 2, /* field number `length` of the schema */
    ETW_SIZE_REST = 3      /* to the end of the payload */
};

typedef struct EtwField {
    const char *name; /* UTF-8, NUL-terminated, valid text */
    uint8_t in, out;  /* ETW_IN_*, ETW_OUT_* */
    uint8_t array;    /* ETW_SCALAR, ETW_ARRAY_* */
    uint8_t sized;    /* ETW_SIZE_* */
    bool counts;      /* an array's or a text's size refers to this number */
    uint16_t count;   /* ETW_ARRAY_FIXED: elements; ETW_ARRAY_BY_FIELD: index of that field */
    uint16_t length;  /* ETW_SIZE_FIXED: see there; ETW_SIZE_BY_FIELD: index of that field */
    uint16_t members; /* ETW_IN_STRUCT: number of the following fields (nested ones counted once)
                         that are its members */
    uint16_t span;    /* number of fields that this one covers, including itself: next sibling =
                         index + span */
    uint32_t tag;
    const EtwMap *map; /* NULL: none */
} EtwField;

/* The source of an event's description. */
typedef enum EtwOrigin {
    ETW_ORIGIN_BUILTIN,  /* this package: records of a file's header, events of one string */
    ETW_ORIGIN_SELF,     /* the event itself: TraceLogging, EventSource self-describing */
    ETW_ORIGIN_STREAM,   /* an EventSource manifest among the events */
    ETW_ORIGIN_METADATA, /* metadata that a merge tool put into the file */
    ETW_ORIGIN_MANIFEST, /* loaded by the user: .man */
    ETW_ORIGIN_MOF,      /* loaded by the user: .mof */
    ETW_ORIGIN_TMF,      /* loaded by the user: .tmf */
    ETW_ORIGIN_KERNEL,   /* table of Windows' kernel classes */
    ETW_ORIGIN_CATALOG,  /* catalogue of providers that ship with Windows and .NET */
    ETW_ORIGIN_COUNT
} EtwOrigin;
/* A word for display: manifest, metadata, ... */
const char *EtwOriginName(EtwOrigin origin);

/* The notation of inserted values in a message's text. */
typedef enum EtwMessageStyle {
    ETW_MESSAGE_MANIFEST, /* %1 %2!x! %% %n %t (FormatMessage); EventSource's {0} are already
                             converted to %1 */
    ETW_MESSAGE_WPP       /* %10!s! %!FUNC!; 10 is the first argument */
} EtwMessageStyle;

struct EtwProviderDef;

typedef struct EtwSchema {
    const char *provider; /* name, "" when unknown */
    const char *event;    /* name, "" when unknown */
    const EtwField *fields;
    int fieldCount;   /* all, including members of structs */
    uint8_t origin;   /* EtwOrigin */
    uint8_t version;  /* the described version; newer events begin with its fields */
    uint8_t style;    /* EtwMessageStyle */
    const char *task; /* names; NULL: unknown or none */
    const char *opcode;
    const char *message; /* template, NULL: none */
    const struct EtwProviderDef
            *def; /* of the event's provider; NULL: the event describes itself */
    /*
     * The meaning of its events (semantics/semantics.h): NULL until needed; freed with the schema.
     */
    struct EtwSemantics *semantics;
} EtwSchema;

typedef struct EtwSchemaStore EtwSchemaStore;

EtwSchemaStore *EtwSchemaStoreNew(void);
void EtwSchemaStoreFree(EtwSchemaStore *store);
/* The event's schema, owned by the store. NULL: unknown (its payload is shown raw). Fast for a cached
 * schema. */
const EtwSchema *EtwSchemaOf(EtwSchemaStore *store, const EtwEvent *event);
/* True if the event's trace describes it, even if another source has precedence. */
bool EtwSchemaInTrace(EtwSchemaStore *store, const EtwEvent *event);
/* Call visit for each schema that an event of this store had. */
void EtwSchemaVisit(
        const EtwSchemaStore *store, void (*visit)(void *ctx, const EtwSchema *schema), void *ctx);
/*
 * Call visit for each schema of a loaded definition that was not used, because the payload of an
 * event fits another one (used; NULL: that of a kernel class).
 */
void EtwSchemaVisitRefused(const EtwSchemaStore *store,
        void (*visit)(void *ctx, const EtwSchema *refused, const EtwSchema *used), void *ctx);
/*
 * Events that describe other events: EventSource manifests, metadata of merged files. A flow passes
 * each to the store, if possible before the events that need them. EtwEventIsSchema is fast: such
 * events have id etwSchemaEventId or a provider of etwSchemaEventProviders.
 */
bool EtwEventIsSchema(const EtwEvent *event);
void EtwSchemaHarvest(EtwSchemaStore *store, const EtwEvent *event);
enum { ETW_SCHEMA_EVENT_PROVIDERS = 2 };
extern const EtwGuid etwSchemaEventProviders[ETW_SCHEMA_EVENT_PROVIDERS];
extern const uint16_t etwSchemaEventId;
/*
 * Finds such events in a file before they are reached. Called once, for the first event that does
 * not describe itself; it calls `learn` for each. The store owns the harvester and frees it through
 * `free`. It may be called from the thread of any clone.
 */
typedef struct EtwSchemaHarvester {
    struct EtwSchemaHarvester *next; /* used by the store, which may have several */
    void (*harvest)(struct EtwSchemaHarvester *harvester,
            void (*learn)(void *ctx, const EtwEvent *event), void *ctx);
    void (*free)(struct EtwSchemaHarvester *harvester);
} EtwSchemaHarvester;
void EtwSchemaAddHarvester(EtwSchemaStore *store, EtwSchemaHarvester *harvester);
/* A store for another thread. The two share the in-band schemas that either finds. */
EtwSchemaStore *EtwSchemaStoreClone(EtwSchemaStore *store);
/*
 * The name of the event's provider, for all output and filters; NULL: unknown. schema is the event's
 * (EtwSchemaOf), or NULL. The schemas of two providers are never the same, so that the name may be
 * cached with the schema while schema->provider does not change.
 */
const char *EtwProviderNameOf(
        EtwSchemaStore *store, const EtwSchema *schema, const EtwEvent *event);
/*
 * Other names of the event and of its provider, for filters: those that other descriptions of it have.
 * True: test returned true for one of them, and the following ones were not tried.
 */
typedef bool EtwNameTest(void *ctx, const char *name);
bool EtwEventOtherName(EtwSchemaStore *store, const EtwSchema *schema, const EtwEvent *event,
        EtwNameTest *test, void *ctx);
bool EtwProviderOtherName(
        EtwSchemaStore *store, const EtwEvent *event, EtwNameTest *test, void *ctx);
/* True if it is the event's name, its canonical form (canonical_name.h) is, or another name of the event. */
bool EtwEventHasName(
        EtwSchemaStore *store, const EtwSchema *schema, const EtwEvent *event, const char *name);
/* Name of a provider GUID, from events and built-in names, without an event; NULL: unknown. */
const char *EtwProviderName(EtwSchemaStore *store, const EtwGuid *guid);

/* ---- TraceLogging (schema/tracelogging/tracelogging.c) ---------------------------------------------------- */

/* Append the metadata blob (item 11) of an event. ETW_E_ARG: malformed field list, described in
 * *errPtr. */
EtwStatus EtwTraceLoggingEncode(
        EtwText *out, const char *eventName, const Etw_Field *fields, int count, EtwError *errPtr);
/* Append the provider traits blob (item 12). group may be NULL. */
void EtwTraceLoggingTraits(EtwText *out, const char *providerName, const EtwGuid *group);

#endif
