/*
 * schema/schema.h --
 *
 *	What an event's payload bytes mean: named, typed fields. A store finds (and caches) the
 *	schema of an event: for now from the TraceLogging metadata that the event carries, plus the names
 *	of kernel constants (schema/names.h); manifests, MOF and WPP join here later. Not thread-safe: one
 *	store a flow.
 */
#ifndef ETW_SCHEMA_SCHEMA_H
#define ETW_SCHEMA_SCHEMA_H

#include "base/bytes.h"
#include "base/status.h"
#include "event/event.h"
#include "etw.h" /* ETW_IN_*, ETW_OUT_*, Etw_Field */

/* Names of values: exact (syscall 41 -> socket) or bits (MSG_PEEK|MSG_DONTWAIT). Static or owned by
 * the store. */
typedef struct EtwMapEntry {
    uint64_t value;
    const char *name;
} EtwMapEntry;
typedef struct EtwMap {
    const EtwMapEntry *entries; /* rising by value */
    int count;
    bool bits;
} EtwMap;

typedef struct EtwField {
    const char *name; /* UTF-8, NUL-terminated, valid text */
    uint8_t in, out;  /* ETW_IN_*, ETW_OUT_* */
    uint8_t array;    /* ETW_SCALAR, ETW_ARRAY_FIXED, ETW_ARRAY_COUNTED */
    uint8_t members;  /* ETW_IN_STRUCT: how many of the following fields (nested ones counted once)
                         are its own */
    uint16_t count;   /* ETW_ARRAY_FIXED */
    uint16_t span;    /* fields that this one covers, itself included: index of the next sibling =
                         index + span */
    uint32_t tag;
    const EtwMap *map; /* NULL: none */
} EtwField;

typedef struct EtwSchema {
    const char *provider; /* name, "" when unknown */
    const char *event;    /* name, "" when unknown */
    const EtwField *fields;
    int fieldCount; /* all, members of structs included */
} EtwSchema;

typedef struct EtwSchemaStore EtwSchemaStore;

EtwSchemaStore *EtwSchemaStoreNew(void);
void EtwSchemaStoreFree(EtwSchemaStore *store);
/* The event's schema, owned by the store; NULL: unknown (its payload is shown raw). Cheap for a
 * known one. */
const EtwSchema *EtwSchemaOf(EtwSchemaStore *store, const EtwEvent *event);
/* Name of a provider GUID as far as known (learned from events and built-in ones); NULL: unknown.
 */
const char *EtwProviderName(EtwSchemaStore *store, const EtwGuid *guid);

/* ---- TraceLogging (schema/tracelogging.c) ---------------------------------------------------- */

/* Append the metadata blob (item 11) of an event. ETW_E_ARG: malformed field list; errPtr says
 * which. */
EtwStatus EtwTraceLoggingEncode(
        EtwText *out, const char *eventName, const Etw_Field *fields, int count, EtwError *errPtr);
/* Append the provider traits blob (item 12). group may be NULL. */
void EtwTraceLoggingTraits(EtwText *out, const char *providerName, const EtwGuid *group);

#endif
