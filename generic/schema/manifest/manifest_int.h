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

/* A named item that can be referred to; names belong to the document. */
typedef struct ListItem {
    const char *name;
    uint64_t scope; /* opcodes: task + 1, 0: any task; strings: rank of their language */
    size_t order;   /* order of entering: the first item of a name is used */
    uint64_t value; /* strings: the provider of `kept` */
    const void *what;
    const char *kept; /* strings: copy in the definition under construction */
} ListItem;

typedef struct List {
    EtwText items; /* ListItem */
    size_t count;  /* number of sorted items, which can be found */
} List;

typedef struct Manifest {
    const char *from;
    EtwOrigin origin;
    bool strict; /* malformed parts are errors; otherwise they are omitted */
    EtwStatus status;
    EtwError *errPtr;
    size_t limit, spent; /* bytes: the maximum for all definitions, and the size of finished ones */
    EtwField *scratch;   /* manifest_fields.c's: fields of the template that is being read */
    List strings;
    EtwText defs; /* EtwProviderDef * */
    /* The provider being read: */
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

/* Reports an error at that element if reading is strict. Returns false. */
bool EtwManifestRefuse(Manifest *m, const EtwElement *e, const char *format, ...) ETW_PRINTF(3, 4);
ListItem *EtwManifestFind(const List *list, const char *name, uint64_t scope);
/* The definition's copy of "$(string.ID)" or of a text; NULL: none. */
const char *EtwManifestText(Manifest *m, const char *reference);
/* The definition's copy of a name; a very long one is truncated. */
const char *EtwManifestName(Manifest *m, const char *text);
/* Decimal, or hexadecimal with 0x. */
bool EtwManifestNumber(const char *text, uint64_t max, uint64_t *valuePtr);

/* ---- manifest_fields.c ----------------------------------------------------------------------- */

/* A template's fields, in the definition's memory; NULL: error. */
const ManifestTemplate *EtwManifestTemplate(Manifest *m, const EtwElement *template);

#endif
