/*
 * schema/catalog/catalog_file.c --
 *
 *	The catalogue of providers that ship with Windows and .NET: one file (library/catalog.dat, made by
 *	tools/make-catalog.tcl), which is mapped when it is first needed. A provider's block is inflated and parsed when it is
 *	first requested. doc/internals/CATALOG.md describes the container and the lines of a block; field_layout.c checks
 *	fields. A damaged file behaves like an empty one; EtwCatalogProblem returns the reason.
 */
#include "schema/catalog/catalog_text.h"
#include "schema/catalog/catalog.h"
#include "base/os.h"
#include <stdatomic.h>
#include <stdio.h>
#include <zlib.h>

enum {
    HEADER_SIZE = 28, /* magic, version, number of providers, size of names, size of blocks,
                         CRC-32 of the bytes between header and blocks */
    ENTRY_SIZE =
            36, /* GUID, offset of name, offset and size of block, its uncompressed size, number
                   of events */
    FILE_VERSION = 1,
    MAX_INFLATION = 1032 /* maximum size of the text that a byte of deflate can represent */
};

/* An open file. Never freed, because callers keep names and definitions. */
typedef struct Catalog {
    OsMap map;
    uint32_t count;
    const uint8_t *entries; /* ascending by GUID; those without one first */
    const uint8_t *order;   /* u32 each: entries ascending by lower-case name */
    const char *names;
    uint32_t namesSize;
    const uint8_t *blocks;
    uint32_t blocksSize;
    _Atomic(EtwProviderDef *) *defs; /* one for each entry; NULL: not read yet */
    char problem[200];               /* why it is empty; "": valid */
} Catalog;

/*
 * A path set by EtwCatalogUse, newest first. Older ones are kept, because callers have their
 * definitions.
 */
typedef struct Source {
    struct Source *older;
    char *path;
    _Atomic(Catalog *) catalog; /* NULL: not opened yet. Complete when published (release). */
} Source;

static _Atomic(Source *) current;
/* Represents a malformed block. */
static EtwProviderDef unusable;

/* ---- Opening --------------------------------------------------------------------------------- */

static void refuse(Catalog *c, const char *path, const char *why)
{
    snprintf(c->problem, sizeof c->problem, "%.150s: %.40s", path, why);
    c->count = 0;
}

/* Set the parts of the file. NULL: valid, otherwise the reason. */
static const char *takeParts(Catalog *c)
{
    EtwBytes b = EtwBytesOf(c->map.base, c->map.base ? c->map.size : 0);
    const uint8_t *magic = EtwTake(&b, 8);
    if (magic == NULL || memcmp(magic, "ETWCATLG", 8) != 0) {
        return "no catalogue";
    }
    uint32_t version = EtwTake32(&b), count = EtwTake32(&b), crc;
    c->namesSize = EtwTake32(&b);
    c->blocksSize = EtwTake32(&b);
    crc = EtwTake32(&b);
    if (version != FILE_VERSION) {
        return "catalogue of another version";
    }
    if (b.failed || count > EtwBytesLeft(&b) / (ENTRY_SIZE + 4)) {
        return "damaged catalogue";
    }
    const uint8_t *index = b.at;
    c->entries = EtwTake(&b, (size_t)count * ENTRY_SIZE);
    c->order = EtwTake(&b, (size_t)count * 4);
    c->names = (const char *)EtwTake(&b, c->namesSize);
    if (b.failed || EtwBytesLeft(&b) != c->blocksSize ||
            crc32(0, index, (uInt)(b.at - index)) != crc ||
            (c->namesSize != 0 && c->names[c->namesSize - 1] != 0)) {
        return "damaged catalogue";
    }
    c->blocks = b.at;
    c->count = count;
    return NULL;
}

static bool entryFits(const Catalog *c, uint32_t index)
{
    const uint8_t *e = c->entries + (size_t)index * ENTRY_SIZE;
    uint32_t name = EtwLoad32(e + 16), block = EtwLoad32(e + 20), packed = EtwLoad32(e + 24);
    return name < c->namesSize && packed <= c->blocksSize && block <= c->blocksSize - packed &&
           EtwLoad32(e + 28) / MAX_INFLATION <= packed &&
           EtwLoad32(c->order + (size_t)index * 4) < c->count;
}

static void openCatalog(Catalog *c, const char *path)
{
    EtwError err;
    if (OsMapFile(&c->map, path, &err) != ETW_OK) {
        refuse(c, path, "cannot be read");
        return;
    }
    const char *why = takeParts(c);
    for (uint32_t i = 0; why == NULL && i < c->count; i++) {
        why = entryFits(c, i) ? NULL : "damaged catalogue";
    }
    if (why != NULL) {
        refuse(c, path, why);
        OsUnmap(&c->map);
        return;
    }
    c->defs = EtwAlloc((size_t)c->count * sizeof *c->defs + 1);
}

static void closeCatalog(Catalog *c)
{
    if (c->defs != NULL) {
        OsUnmap(&c->map);
        EtwFree(c->defs);
    }
    EtwFree(c);
}

/* The catalogue in use, opened if necessary; NULL: no path was set. */
static Catalog *theCatalog(void)
{
    Source *source = atomic_load_explicit(&current, memory_order_acquire);
    if (source == NULL) {
        return NULL;
    }
    Catalog *c = atomic_load_explicit(&source->catalog, memory_order_acquire);
    if (c == NULL) {
        Catalog *mine = EtwAlloc(sizeof *mine);
        openCatalog(mine, source->path);
        if (atomic_compare_exchange_strong_explicit(
                    &source->catalog, &c, mine, memory_order_acq_rel, memory_order_acquire)) {
            return mine;
        }
        closeCatalog(mine); /* another thread was faster: use its catalogue */
    }
    return c;
}

void EtwCatalogUse(const char *path)
{
    Source *older = atomic_load_explicit(&current, memory_order_acquire);
    if (path == NULL ? older == NULL : older != NULL && strcmp(older->path, path) == 0) {
        return;
    }
    Source *source = EtwAlloc(sizeof *source);
    source->path = EtwStrdup(path ? path : "");
    source->older = older;
    if (path == NULL) {
        atomic_store_explicit(&source->catalog, EtwAlloc(sizeof(Catalog)), memory_order_relaxed);
    }
    while (!atomic_compare_exchange_weak_explicit(
            &current, &source->older, source, memory_order_release, memory_order_relaxed)) {
    }
}

const char *EtwCatalogPath(void)
{
    const Source *source = atomic_load_explicit(&current, memory_order_acquire);
    return source ? source->path : "";
}

const char *EtwCatalogProblem(void)
{
    Catalog *c = theCatalog();
    return c && c->problem[0] ? c->problem : NULL;
}

/* ---- Finding --------------------------------------------------------------------------------- */

static void guidOf(const Catalog *c, uint32_t index, EtwGuid *guid)
{
    memcpy(guid, c->entries + (size_t)index * ENTRY_SIZE, sizeof *guid);
}

static const char *nameOf(const Catalog *c, uint32_t index)
{
    return c->names + EtwLoad32(c->entries + (size_t)index * ENTRY_SIZE + 16);
}

/* The entry of a GUID; -1: none. */
static int64_t findGuid(const Catalog *c, const EtwGuid *guid)
{
    uint32_t low = 0, high = c ? c->count : 0;
    if (EtwGuidIsNull(guid)) {
        return -1;
    }
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = memcmp(c->entries + (size_t)mid * ENTRY_SIZE, guid, sizeof *guid);
        if (order == 0) {
            return mid;
        }
        if (order < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return -1;
}

static unsigned char lower(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static int compareNames(const char *a, const char *b)
{
    while (*a != 0 && lower(*a) == lower(*b)) {
        a++;
        b++;
    }
    return (int)lower(*a) - (int)lower(*b);
}

/* The first entry with that name; -1: none. */
static int64_t findName(const Catalog *c, const char *name)
{
    uint32_t low = 0, high = c ? c->count : 0;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (compareNames(nameOf(c, EtwLoad32(c->order + (size_t)mid * 4)), name) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (c == NULL || low == c->count) {
        return -1;
    }
    uint32_t index = EtwLoad32(c->order + (size_t)low * 4);
    return compareNames(nameOf(c, index), name) == 0 ? (int64_t)index : -1;
}

/* ---- A provider ------------------------------------------------------------------------------ */

/* Decompress an entry's lines. False: malformed. */
static bool inflateEntry(const Catalog *c, uint32_t index, EtwText *raw)
{
    const uint8_t *e = c->entries + (size_t)index * ENTRY_SIZE;
    uLongf size = EtwLoad32(e + 28);
    raw->size = 0;
    EtwTextReserve(raw, size + 1);
    if (uncompress((Bytef *)raw->data, &size, c->blocks + EtwLoad32(e + 20), EtwLoad32(e + 24)) !=
                    Z_OK ||
            size != EtwLoad32(e + 28)) {
        return false;
    }
    raw->size = size;
    return true;
}

/* The definition in an entry's block; NULL: malformed. */
static EtwProviderDef *readEntry(const Catalog *c, uint32_t index)
{
    EtwText raw = {0};
    EtwGuid guid;
    EtwProviderDef *def = NULL;
    guidOf(c, index, &guid);
    if (inflateEntry(c, index, &raw)) {
        def = EtwCatalogParse(&guid, nameOf(c, index), raw.data, raw.size);
    }
    EtwTextFree(&raw);
    return def;
}

static const EtwProviderDef *entryDef(Catalog *c, int64_t index)
{
    if (index < 0) {
        return NULL;
    }
    EtwProviderDef *def = atomic_load_explicit(&c->defs[index], memory_order_acquire);
    if (def == NULL) {
        EtwProviderDef *mine = readEntry(c, (uint32_t)index);
        /*
         * It is complete before it is published (release). The thread that loses the race frees its
         * own.
         */
        if (atomic_compare_exchange_strong_explicit(&c->defs[index], &def, mine ? mine : &unusable,
                    memory_order_acq_rel, memory_order_acquire)) {
            return mine;
        }
        EtwDefFree(mine);
    }
    return def == &unusable ? NULL : def;
}

const EtwProviderDef *EtwCatalogFind(const EtwGuid *guid)
{
    Catalog *c = theCatalog();
    return entryDef(c, findGuid(c, guid));
}

const EtwProviderDef *EtwCatalogFindName(const char *name)
{
    Catalog *c = theCatalog();
    return entryDef(c, findName(c, name));
}

const char *EtwCatalogName(const EtwGuid *guid)
{
    Catalog *c = theCatalog();
    int64_t index = findGuid(c, guid);
    return index < 0 ? NULL : nameOf(c, (uint32_t)index);
}

bool EtwCatalogGuid(const char *name, EtwGuid *guid)
{
    Catalog *c = theCatalog();
    int64_t index = findName(c, name);
    if (index < 0) {
        return false;
    }
    guidOf(c, (uint32_t)index, guid);
    return !EtwGuidIsNull(guid);
}

static void visitEntry(const Catalog *c, uint32_t index, EtwCatalogProc *visit, void *ctx)
{
    EtwGuid guid;
    guidOf(c, index, &guid);
    visit(ctx, &guid, nameOf(c, index),
            (int)EtwLoad32(c->entries + (size_t)index * ENTRY_SIZE + 32));
}

void EtwCatalogVisit(EtwCatalogProc *visit, void *ctx)
{
    Catalog *c = theCatalog();
    for (uint32_t i = 0; c != NULL && i < c->count; i++) {
        visitEntry(c, EtwLoad32(c->order + (size_t)i * 4), visit, ctx);
    }
}

/* ---- Searching -------------------------------------------------------------------------------- */

/* True if the text contains the lower-case word, ignoring case. */
static bool contains(const char *text, size_t size, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++) {
        size_t k = 0;
        while (k < length && lower(text[i + k]) == (unsigned char)word[k]) {
            k++;
        }
        if (k == length) {
            return true;
        }
    }
    return false;
}

void EtwCatalogSearch(const char *word, EtwCatalogProc *visit, void *ctx)
{
    Catalog *c = theCatalog();
    EtwText raw = {0};
    for (uint32_t i = 0; c != NULL && i < c->count; i++) {
        uint32_t index = EtwLoad32(c->order + (size_t)i * 4);
        const char *name = nameOf(c, index);
        if (contains(name, strlen(name), word) ||
                (inflateEntry(c, index, &raw) && contains(raw.data, raw.size, word))) {
            visitEntry(c, index, visit, ctx);
        }
    }
    EtwTextFree(&raw);
}
