/*
 * schema/manifest/manifest_int.h --
 *
 *	The state of reading a manifest, shared by manifest.c and manifest_fields.c.
 */
#ifndef ETW_MANIFEST_INT_H
#define ETW_MANIFEST_INT_H

#include "schema/model/schema_int.h"
#include "schema/manifest/manifest.h"
#include "schema/manifest/xml_reader.h"

/* Something with a name that others refer to; names are the document's. */
typedef struct ListItem {
    const char *name;
    uint64_t scope; /* opcodes: task + 1, 0: any task; strings: rank of their language */
    size_t order;   /* of entering: the first of a name counts */
    uint64_t value; /* strings: the provider that `kept` is of */
    const void *what;
    const char *kept; /* strings: copied into the definition that is being made */
} ListItem;

typedef struct List {
    EtwText items; /* ListItem */
    size_t count;  /* sorted: what can be found */
} List;

typedef struct Manifest {
    const char *from;
    EtwOrigin origin;
    bool strict; /* malformed parts are errors; otherwise they are left out */
    EtwStatus status;
    EtwError *errPtr;
    size_t limit, spent; /* bytes: the maximum for all definitions, and the size of finished ones */
    EtwField *scratch;   /* manifest_fields.c's: fields of the template that is being read */
    List strings;
    EtwText defs; /* EtwProviderDef * */
    /* Of the provider that is being read: */
    EtwProviderDef *def;
    uint64_t providerNumber; /* from 1 */
    List names[ETW_NAME_KINDS];
    List maps;      /* what: EtwMap */
    List templates; /* what: ManifestTemplate */
} Manifest;

typedef struct ManifestTemplate {
    const EtwField *fields;
    int count;
} ManifestTemplate;

/* An error at that element if the reading is strict; false. */
bool EtwManifestRefuse(Manifest *m, const EtwElement *e, const char *format, ...) ETW_PRINTF(3, 4);
ListItem *EtwManifestFind(const List *list, const char *name, uint64_t scope);
/* The definition's copy of "$(string.ID)" or of a text; NULL: there is none. */
const char *EtwManifestText(Manifest *m, const char *reference);
/* The definition's copy of a name, cut when it is very long. */
const char *EtwManifestName(Manifest *m, const char *text);
/* Decimal, or hexadecimal with 0x. */
bool EtwManifestNumber(const char *text, uint64_t max, uint64_t *valuePtr);

/* ---- manifest_fields.c ----------------------------------------------------------------------- */

/* A template's fields, in the definition's memory; NULL: refused. */
const ManifestTemplate *EtwManifestTemplate(Manifest *m, const EtwElement *template);

#endif
