/*
 * schema/model/provider_def.h --
 *
 *	The definition of one provider: its events by id (classic: by opcode) and version, keywords, tasks,
 *	opcodes, levels, channels and maps. All readers of descriptions produce it: manifests, metadata of
 *	merged files, MOF and TMF texts, the kernel's tables and the catalogue of Windows' providers. One
 *	thread builds and finishes a definition. Afterwards it does not change, and any thread may read it.
 */
#ifndef ETW_PROVIDER_DEF_H
#define ETW_PROVIDER_DEF_H

#include "schema/model/schema.h"

typedef enum EtwNameKind {
    ETW_NAME_KEYWORD, /* value: mask */
    ETW_NAME_TASK,
    ETW_NAME_OPCODE,
    ETW_NAME_LEVEL,
    ETW_NAME_CHANNEL,
    ETW_NAME_KINDS
} EtwNameKind;

typedef struct EtwNamed {
    uint64_t value;
    uint16_t task; /* opcodes: of this task only; 0: of any */
    const char *name;
    const char *message; /* NULL: none */
} EtwNamed;

typedef struct EtwNamedMap {
    const char *name;
    EtwMap map;
} EtwNamedMap;

/* One event (id and version, or opcode and version). */
typedef struct EtwEventDef {
    EtwDescriptor desc; /* channel, level, opcode, task, keyword as declared */
    const char *symbol; /* the manifest's symbol; NULL: none */
    const char *since;  /* the first version of Windows with it; NULL: unknown */
    EtwSchema schema;
} EtwEventDef;

typedef struct EtwProviderDef {
    EtwGuid guid;
    const char *name;
    const char *from; /* its file or source; "" for built-in */
    EtwOrigin origin;
    bool classic;               /* events are identified by opcode, not by id */
    bool checked;               /* of the catalogue: for the exact version of an event it overrides
                                   the manifests in traces, which are known to be wrong */
    const EtwEventDef **events; /* finished: ascending by id or opcode, then version */
    int eventCount;
    const EtwNamed *names[ETW_NAME_KINDS]; /* finished: ascending by value */
    int nameCount[ETW_NAME_KINDS];
    const EtwNamedMap **maps; /* in the order they were added */
    int mapCount;
    size_t bytes; /* size in memory */
} EtwProviderDef;

/* The event of a schema that belongs to a definition. */
static inline const EtwEventDef *EtwEventDefOf(const EtwSchema *schema)
{
    return (const EtwEventDef *)(const void *)((const char *)schema -
                                               offsetof(EtwEventDef, schema));
}

/* ---- Building -------------------------------------------------------------------------------- */

EtwProviderDef *EtwDefNew(
        const EtwGuid *guid, const char *name, EtwOrigin origin, const char *from);
/* Memory that lives as long as the definition; zeroed. */
void *EtwDefAlloc(EtwProviderDef *def, size_t size);
/* A copy of the text as valid UTF-8 with a NUL. */
const char *EtwDefText(EtwProviderDef *def, const void *utf8, size_t size);
const char *EtwDefText16(EtwProviderDef *def, const uint8_t *utf16, size_t units);
/* Names must belong to the definition (EtwDefText). A second name for the same value is ignored. */
void EtwDefName(EtwProviderDef *def, EtwNameKind kind, const EtwNamed *named);
/* Add a map, or replace the one of that name. Copies and sorts the entries; the definition owns their names. */
const EtwMap *EtwDefMap(
        EtwProviderDef *def, const char *name, const EtwMapEntry *entries, int count, bool bits);
const EtwMap *EtwDefFindMap(const EtwProviderDef *def, const char *name);
/*
 * Add an event. *fields are copied (the definition owns their names and maps); this sets spans and
 * `counts`. NULL: the fields are malformed (members missing, references forward or out of range, too
 * deep). The caller may set further members (symbol, schema.message, ...) until EtwDefFinish.
 */
EtwEventDef *EtwDefEvent(
        EtwProviderDef *def, const EtwDescriptor *desc, const EtwField *fields, int count);
/*
 * Sort, remove duplicates except the last, name tasks and opcodes, and name events without a name:
 * Task, Task/Opcode, the symbol, or Event(ID). Names get their canonical form (canonical_name.h).
 */
void EtwDefFinish(EtwProviderDef *def);
void EtwDefFree(EtwProviderDef *def);

/* ---- Queries --------------------------------------------------------------------------------- */

/*
 * The event's definition: that of its version, otherwise of the nearest older one (a newer event
 * begins with its fields), otherwise of the nearest newer one. NULL: none with that id or opcode.
 */
const EtwEventDef *EtwDefFind(const EtwProviderDef *def, uint32_t idOrOpcode, uint32_t version);
/* Name of a task, opcode, level or channel; NULL: none. task: for opcodes, otherwise 0. */
const char *EtwDefNameOf(
        const EtwProviderDef *def, EtwNameKind kind, uint64_t value, uint16_t task);
/* Windows' own names of levels and opcodes that need no manifest; NULL: none. */
const char *EtwStandardName(EtwNameKind kind, uint64_t value);

/* ---- Readers of files that describe providers ------------------------------------------------- */

/* Takes ownership of a finished definition. */
typedef void EtwDefProc(void *ctx, EtwProviderDef *def);

/*
 * Reads the whole text of a file. `from` is the path, for messages and EtwProviderDef.from. Passes
 * definitions (at least one) only if the whole text is valid. ETW_E_FORMAT: another format, or
 * malformed; the message contains the line number.
 */
typedef EtwStatus EtwSchemaReadProc(const char *from, const void *data, size_t size,
        EtwDefProc *add, void *ctx, EtwError *errPtr);

#endif
