/*
 * flow/render/parquet/parquet_file.c --
 *
 *	Row groups of a Parquet file, and its footer (https://github.com/apache/parquet-format/blob/master/src/main/thrift).
 */
#include "flow/render/parquet/parquet_int.h"
#include "flow/render/parquet/thrift_compact.h"

#define MAGIC "PAR1"

/* A row group that is written. */
typedef struct PqGroup {
    uint32_t rows, columns; /* columns: in `chunks`; later ones are NULL */
    uint64_t bytes, packed; /* before and after compression */
    uint64_t offset;
    EtwText chunks; /* a ColumnChunk for each */
} PqGroup;

static void put(EtwPqFile *file, const void *data, size_t size)
{
    file->write(file->ctx, data, size);
    file->offset += size;
}

EtwPqFile *EtwPqNew(EtwPqWrite *write, void *ctx)
{
    EtwPqFile *file = EtwAlloc(sizeof *file);
    file->write = write;
    file->ctx = ctx;
    file->end = &file->columns;
    file->zstd = EtlZstdPagesNew();
    put(file, MAGIC, 4);
    return file;
}

void EtwPqFree(EtwPqFile *file)
{
    for (EtwPqColumn *c = file->columns, *next; c != NULL; c = next) {
        next = c->next;
        PqColumnFree(c);
    }
    for (size_t i = 0; i < file->groupCount; i++) {
        EtwTextFree(&file->groups[i].chunks);
    }
    EtwFree(file->groups);
    EtlZstdPagesFree(file->zstd);
    EtwTextFree(&file->body);
    EtwTextFree(&file->packed);
    EtwFree(file);
}

/* ---- Columns --------------------------------------------------------------------------------- */

void EtwPqGroup(EtwPqFile *file, const char *name)
{
    file->group = name;
}

void EtwPqGroupEnd(EtwPqFile *file)
{
    file->group = NULL;
}

EtwPqColumn *EtwPqAddColumn(EtwPqFile *file, const char *name, EtwPqType type, bool required)
{
    EtwPqColumn *c = EtwAlloc(sizeof *c);
    c->name = EtwStrdup(name);
    c->group = file->group != NULL ? EtwStrdup(file->group) : NULL;
    c->type = type;
    c->required = required;
    *file->end = c;
    file->end = &c->next;
    file->columnCount++;
    return c;
}

EtwPqType EtwPqTypeOf(const EtwPqColumn *column)
{
    return column->type;
}

static int physicalOf(const EtwPqColumn *c)
{
    return PqIsText(c)                ? PQ_BYTE_ARRAY
           : c->type == ETW_PQ_DOUBLE ? PQ_DOUBLE
           : c->type == ETW_PQ_BOOL   ? PQ_BOOLEAN
                                      : PQ_INT64;
}

/* ---- Metadata of a column in a row group ------------------------------------------------------ */

static void addBound(EtwText *out, int *lastPtr, int field, uint64_t v)
{
    uint8_t bytes[8];
    EtwStore64(bytes, v);
    EtwThriftBinary(out, lastPtr, field, bytes, sizeof bytes);
}

static void addStatistics(EtwText *out, const EtwPqColumn *c, uint64_t nulls)
{
    enum { NULL_COUNT = 3, MAX_VALUE = 5, MIN_VALUE = 6 };
    int last = 0;
    EtwThriftInt(out, &last, NULL_COUNT, THRIFT_I64, (int64_t)nulls);
    if (c->total > 0 && physicalOf(c) == PQ_INT64) {
        addBound(out, &last, MAX_VALUE, c->high);
        addBound(out, &last, MIN_VALUE, c->low);
    } else if (c->total > 0 && PqIsText(c) && !c->plain &&
               c->texts[c->lowText].size <= PQ_STATISTICS_BYTES &&
               c->texts[c->highText].size <= PQ_STATISTICS_BYTES) {
        const PqText *low = &c->texts[c->lowText], *high = &c->texts[c->highText];
        EtwThriftBinary(out, &last, MAX_VALUE, c->dictionary.data + high->at, high->size);
        EtwThriftBinary(out, &last, MIN_VALUE, c->dictionary.data + low->at, low->size);
    }
    EtwThriftEnd(out);
}

typedef struct Chunk {
    uint64_t dictionary, data; /* offsets; dictionary 0: none */
    uint64_t bytes, packed;
    uint32_t rows;
    int codec;
} Chunk;

static void addEncodings(EtwText *out, int *lastPtr, const EtwPqColumn *c)
{
    unsigned encodings =
            c->encodings | 1u << PQ_RLE | 1u << PQ_PLAIN; /* of levels, of the dictionary */
    int count = __builtin_popcount(encodings);
    EtwThriftList(out, lastPtr, 2, THRIFT_I32, (size_t)count);
    for (int i = 0; i < 32; i++) {
        if (encodings >> i & 1) {
            EtwAddVarint(out, EtwZigzag(i));
        }
    }
}

/* A ColumnChunk. */
static void addChunk(EtwText *out, const EtwPqColumn *c, const Chunk *chunk)
{
    enum { FILE_OFFSET = 2, META_DATA = 3 };
    int last = 0, inner = 0;
    EtwThriftInt(out, &last, FILE_OFFSET, THRIFT_I64,
            (int64_t)(chunk->dictionary ? chunk->dictionary : chunk->data));
    EtwThriftField(out, &last, META_DATA, THRIFT_STRUCT);
    EtwThriftInt(out, &inner, 1, THRIFT_I32, physicalOf(c));
    addEncodings(out, &inner, c);
    EtwThriftList(out, &inner, 3, THRIFT_BINARY, c->group != NULL ? 2 : 1);
    if (c->group != NULL) {
        EtwThriftBytes(out, c->group, strlen(c->group));
    }
    EtwThriftBytes(out, c->name, strlen(c->name));
    EtwThriftInt(out, &inner, 4, THRIFT_I32, chunk->codec);
    EtwThriftInt(out, &inner, 5, THRIFT_I64, chunk->rows);
    EtwThriftInt(out, &inner, 6, THRIFT_I64, (int64_t)chunk->bytes);
    EtwThriftInt(out, &inner, 7, THRIFT_I64, (int64_t)chunk->packed);
    EtwThriftInt(out, &inner, 9, THRIFT_I64, (int64_t)chunk->data);
    if (chunk->dictionary != 0) {
        EtwThriftInt(out, &inner, 11, THRIFT_I64, (int64_t)chunk->dictionary);
    }
    EtwThriftField(out, &inner, 12, THRIFT_STRUCT);
    addStatistics(out, c, chunk->rows - c->total);
    EtwThriftEnd(out);
    EtwThriftEnd(out);
}

/* ---- Row groups ------------------------------------------------------------------------------ */

static void putNulls(EtwPqFile *file, PqGroup *group, const EtwPqColumn *c)
{
    Chunk chunk = {.data = file->offset, .rows = group->rows, .codec = PQ_UNCOMPRESSED};
    file->body.size = 0;
    chunk.bytes = chunk.packed = PqNullPage(&file->body, group->rows);
    put(file, file->body.data, file->body.size);
    group->bytes += chunk.bytes;
    group->packed += chunk.packed;
    group->columns++;
    addChunk(&group->chunks, c, &chunk);
}

static void putColumn(EtwPqFile *file, PqGroup *group, EtwPqColumn *c)
{
    Chunk chunk = {.rows = group->rows, .codec = file->zstd != NULL ? PQ_ZSTD : PQ_UNCOMPRESSED};
    uint64_t from = file->offset;
    EtwText dictionary = {0};
    PqPad(file, c, group->rows);
    PqPageEnd(file, c);
    chunk.bytes = PqDictionaryPage(file, c, &dictionary) + c->rawBytes;
    chunk.dictionary = dictionary.size > 0 ? from : 0;
    put(file, dictionary.data, dictionary.size);
    chunk.data = file->offset;
    put(file, c->pages.data, c->pages.size);
    chunk.packed = file->offset - from;
    group->bytes += chunk.bytes;
    group->packed += chunk.packed;
    group->columns++;
    addChunk(&group->chunks, c, &chunk);
    EtwTextFree(&dictionary);
}

static void endGroup(EtwPqFile *file)
{
    if (file->groupCount == file->groupCapacity) {
        file->groupCapacity = file->groupCapacity ? 2 * file->groupCapacity : 16;
        file->groups = EtwRealloc(file->groups, file->groupCapacity * sizeof *file->groups);
    }
    PqGroup *group = &file->groups[file->groupCount++];
    *group = (PqGroup){.rows = file->rows, .offset = file->offset};
    for (EtwPqColumn *c = file->columns; c != NULL; c = c->next) {
        if (c->total > 0) {
            putColumn(file, group, c);
        } else {
            putNulls(file, group, c);
        }
        PqColumnReset(c);
    }
    file->allRows += file->rows;
    file->rows = 0;
    file->bytes = 0;
}

void EtwPqRowEnd(EtwPqFile *file)
{
    file->rows++;
    if (file->rows >= PQ_GROUP_ROWS || file->bytes >= PQ_GROUP_BYTES) {
        endGroup(file);
    }
}

/* ---- The footer ------------------------------------------------------------------------------ */

/* An empty struct, as a member of a union. */
static void addVariant(EtwText *out, int field)
{
    int last = 0;
    EtwThriftField(out, &last, field, THRIFT_STRUCT);
    EtwThriftEnd(out);
    EtwThriftEnd(out);
}

static void addLogicalType(EtwText *out, EtwPqType type)
{
    enum { STRING = 1, TIMESTAMP = 8, INTEGER = 10, JSON = 12, NANOS = 3 };
    int last = 0, inner = 0;
    if (!(type == ETW_PQ_TIME || type == ETW_PQ_UINT)) {
        addVariant(out, type == ETW_PQ_JSON ? JSON : STRING);
        return;
    }
    EtwThriftField(out, &last, type == ETW_PQ_TIME ? TIMESTAMP : INTEGER, THRIFT_STRUCT);
    if (type == ETW_PQ_TIME) {
        /* It is UTC, but DuckDB rounds times that are marked as such to microseconds. */
        EtwThriftField(out, &inner, 1, THRIFT_FALSE);
        EtwThriftField(out, &inner, 2, THRIFT_STRUCT);
        addVariant(out, NANOS);
    } else {
        EtwThriftField(out, &inner, 1, THRIFT_BYTE);
        EtwTextChar(out, 64);
        EtwThriftField(out, &inner, 2, THRIFT_FALSE); /* signed */
    }
    EtwThriftEnd(out);
    EtwThriftEnd(out);
}

enum {
    ELEMENT_TYPE = 1,
    ELEMENT_REPETITION = 3,
    ELEMENT_NAME = 4,
    ELEMENT_CHILDREN = 5,
    ELEMENT_CONVERTED = 6,
    ELEMENT_LOGICAL = 10
};

static void addElement(EtwText *out, const EtwPqColumn *c)
{
    static const int converted[] = {[ETW_PQ_UINT] = 14, [ETW_PQ_TEXT] = 0, [ETW_PQ_JSON] = 19};
    int last = 0;
    bool typed = PqIsText(c) || c->type == ETW_PQ_UINT;
    EtwThriftInt(out, &last, ELEMENT_TYPE, THRIFT_I32, physicalOf(c));
    EtwThriftInt(out, &last, ELEMENT_REPETITION, THRIFT_I32, c->required ? 0 : 1);
    EtwThriftBinary(out, &last, ELEMENT_NAME, c->name, strlen(c->name));
    if (typed) {
        EtwThriftInt(out, &last, ELEMENT_CONVERTED, THRIFT_I32, converted[c->type]);
    }
    if (typed || c->type == ETW_PQ_TIME) {
        EtwThriftField(out, &last, ELEMENT_LOGICAL, THRIFT_STRUCT);
        addLogicalType(out, c->type);
    }
    EtwThriftEnd(out);
}

/* repetition: of a group; -1: the root, which has none. */
static void addParent(EtwText *out, const char *name, int repetition, size_t children)
{
    int last = 0;
    if (repetition >= 0) {
        EtwThriftInt(out, &last, ELEMENT_REPETITION, THRIFT_I32, repetition);
    }
    EtwThriftBinary(out, &last, ELEMENT_NAME, name, strlen(name));
    EtwThriftInt(out, &last, ELEMENT_CHILDREN, THRIFT_I32, (int64_t)children);
    EtwThriftEnd(out);
}

/* The columns from this one on that are in its group. */
static size_t groupSize(const EtwPqColumn *c)
{
    size_t count = 0;
    for (const EtwPqColumn *n = c; n != NULL && n->group != NULL && strcmp(n->group, c->group) == 0;
            n = n->next) {
        count++;
    }
    return count;
}

/* Of the root: groups, and columns without one. *groupsPtr: the groups alone. */
static size_t childrenOf(const EtwPqFile *file, size_t *groupsPtr)
{
    size_t children = 0;
    const char *group = NULL;
    *groupsPtr = 0;
    for (const EtwPqColumn *c = file->columns; c != NULL; c = c->next) {
        bool first = c->group == NULL || group == NULL || strcmp(c->group, group) != 0;
        children += first;
        *groupsPtr += first && c->group != NULL;
        group = c->group;
    }
    return children;
}

static void addSchema(EtwText *out, const EtwPqFile *file, int *lastPtr)
{
    size_t groups, children = childrenOf(file, &groups);
    const char *group = NULL;
    EtwThriftList(out, lastPtr, 2, THRIFT_STRUCT, 1 + groups + file->columnCount);
    addParent(out, "events", -1, children);
    for (const EtwPqColumn *c = file->columns; c != NULL; c = c->next) {
        if (c->group != NULL && (group == NULL || strcmp(c->group, group) != 0)) {
            addParent(out, c->group, 0, groupSize(c));
        }
        addElement(out, c);
        group = c->group;
    }
}

static void addGroup(EtwText *out, const PqGroup *group, size_t index)
{
    int last = 0;
    EtwThriftList(out, &last, 1, THRIFT_STRUCT, group->columns);
    EtwTextAdd(out, group->chunks.data, group->chunks.size);
    EtwThriftInt(out, &last, 2, THRIFT_I64, (int64_t)group->bytes);
    EtwThriftInt(out, &last, 3, THRIFT_I64, group->rows);
    EtwThriftInt(out, &last, 5, THRIFT_I64, (int64_t)group->offset);
    EtwThriftInt(out, &last, 6, THRIFT_I64, (int64_t)group->packed);
    if (index <= INT16_MAX) {
        enum { I16 = 4 };
        EtwThriftInt(out, &last, 7, (ThriftType)I16, (int64_t)index);
    }
    EtwThriftEnd(out);
}

static void addFooter(EtwText *out, const EtwPqFile *file, const char *key, const char *value)
{
    static const char by[] = "etw version " ETW_VERSION;
    int last = 0, inner = 0;
    EtwThriftInt(out, &last, 1, THRIFT_I32, 2);
    addSchema(out, file, &last);
    EtwThriftInt(out, &last, 3, THRIFT_I64, (int64_t)file->allRows);
    EtwThriftList(out, &last, 4, THRIFT_STRUCT, file->groupCount);
    for (size_t i = 0; i < file->groupCount; i++) {
        addGroup(out, &file->groups[i], i);
    }
    EtwThriftList(out, &last, 5, THRIFT_STRUCT, 1);
    EtwThriftBinary(out, &inner, 1, key, strlen(key));
    EtwThriftBinary(out, &inner, 2, value, strlen(value));
    EtwThriftEnd(out);
    EtwThriftBinary(out, &last, 6, by, sizeof by - 1);
    EtwThriftList(out, &last, 7, THRIFT_STRUCT, file->columnCount);
    for (uint32_t i = 0; i < file->columnCount; i++) {
        addVariant(out, 1); /* the order of the type */
    }
    EtwThriftEnd(out);
}

/* The columns that were added after a row group was written have NULLs in it. */
static void putLateColumns(EtwPqFile *file)
{
    for (size_t i = 0; i < file->groupCount; i++) {
        uint32_t index = 0;
        for (const EtwPqColumn *c = file->columns; c != NULL; c = c->next, index++) {
            if (index >= file->groups[i].columns) {
                putNulls(file, &file->groups[i], c);
            }
        }
    }
}

void EtwPqEnd(EtwPqFile *file, const char *key, const char *value)
{
    uint8_t size[4];
    EtwText footer = {0};
    if (file->rows > 0) {
        endGroup(file);
    }
    putLateColumns(file);
    addFooter(&footer, file, key, value);
    EtwStore32(size, (uint32_t)footer.size);
    put(file, footer.data, footer.size);
    put(file, size, sizeof size);
    put(file, MAGIC, 4);
    EtwTextFree(&footer);
}
