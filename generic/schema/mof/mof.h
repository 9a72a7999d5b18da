/*
 * schema/mof/mof.h --
 *
 *	The classes of a MOF text: mof_read.c parses them, mof.c converts them to definitions. Private to
 *	schema/mof.
 */
#ifndef ETW_MOF_H
#define ETW_MOF_H

#include "base/hash_table.h"
#include "schema/model/text_defs.h"

typedef struct MofValue {
    struct MofValue *next;
    const char *text;
} MofValue;

typedef struct MofQualifier {
    struct MofQualifier *next;
    const char *name;
    const MofValue *values; /* NULL: no values */
} MofQualifier;

typedef struct MofProperty {
    struct MofProperty *next;
    const char *name, *type;
    const MofQualifier *qualifiers;
    const struct EtwMap *map; /* of its values, in the last definition that used it */
    const struct EtwProviderDef *madeFor;
    bool array;
    uint32_t elements; /* of an array; 0: unknown */
} MofProperty;

typedef struct MofClass {
    EtwTableNode node; /* by name, lower case */
    struct MofClass *next;
    const char *name, *base;    /* base NULL: none */
    struct MofClass *baseClass; /* NULL: none, or not in the text */
    const MofQualifier *qualifiers;
    MofProperty *properties;
    int propertyCount;
} MofClass;

typedef struct Mof {
    EtwProviderDef *memory; /* owns all other data */
    EtwTable classes;
    MofClass *first; /* in text order */
} Mof;

/* Read a text. MofFree must be called in all cases. */
EtwStatus MofRead(Mof *mof, const uint8_t *data, size_t size, const char *from, EtwError *errPtr);
void MofFree(Mof *mof);
MofClass *MofFindClass(const Mof *mof, const char *name);
/* NULL: not found. The comparison ignores case. */
const MofQualifier *MofFindQualifier(const MofQualifier *list, const char *name);
/* The qualifier's first value, "" if it has none; NULL: no such qualifier. */
const char *MofText(const MofQualifier *list, const char *name);
/* The same as a number. False: no such qualifier, or not a number. */
bool MofNumber(const MofQualifier *list, const char *name, uint64_t *value);
bool MofToNumber(const char *text, uint64_t *value);
bool MofSameName(const char *a, const char *b);

#endif
