/*
 * symbol/symbol_list.c --
 *
 *	Symbols from a text with one of them in each line: /proc/kallsyms (address, type, name, tab,
 *	[module]), and the maps that JIT compilers write for perf (address, size, name).
 */
#include "symbol/symbols_int.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { ENTRIES_MAX = 2000000, NAME_MAX_BYTES = 2000 };
#define NAMES_MAX_BYTES (128u << 20)

typedef struct Entry {
    uint64_t address, size; /* size 0: up to the next one */
    uint32_t name;          /* offset in names */
} Entry;

struct SymbolList {
    Entry *entries;
    size_t count, capacity;
    EtwText names;
};

static void add(SymbolList *l, uint64_t address, uint64_t size, const char *name, size_t nameSize)
{
    if (l->count >= ENTRIES_MAX || l->names.size + nameSize > NAMES_MAX_BYTES) {
        return;
    }
    if (l->count == l->capacity) {
        l->capacity = l->capacity != 0 ? 2 * l->capacity : 1024;
        l->entries = EtwRealloc(l->entries, l->capacity * sizeof *l->entries);
    }
    l->entries[l->count++] = (Entry){address, size, (uint32_t)l->names.size};
    EtwTextAdd(&l->names, name, nameSize);
    EtwTextChar(&l->names, '\0');
}

static int compareEntries(const void *a, const void *b)
{
    const Entry *x = a, *y = b;
    if (x->address != y->address) {
        return x->address < y->address ? -1 : 1;
    }
    return x->name < y->name ? -1 : x->name > y->name; /* in the order of the file */
}

static void addKernelLine(SymbolList *l, char *line)
{
    char *end;
    uint64_t address = strtoull(line, &end, 16);
    if (end == line || *end != ' ' || address == 0 || strchr("tTwW", end[1]) == NULL ||
            end[1] == '\0' || end[2] != ' ') {
        return; /* without rights all addresses are 0 */
    }
    add(l, address, 0, end + 3, strcspn(end + 3, "\t\n"));
}

static void addMapLine(SymbolList *l, char *line)
{
    char *end, *name;
    uint64_t address = strtoull(line, &end, 16);
    uint64_t size = strtoull(end, &name, 16);
    if (end == line || name == end || *name != ' ' || size == 0) {
        return;
    }
    add(l, address, size, name + 1, strcspn(name + 1, "\n"));
}

static SymbolList *readList(const char *path, void (*addLine)(SymbolList *l, char *line))
{
    char line[NAME_MAX_BYTES];
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        return NULL;
    }
    SymbolList *l = EtwAlloc(sizeof *l);
    while (fgets(line, sizeof line, f) != NULL) {
        addLine(l, line);
    }
    fclose(f);
    if (l->count == 0) {
        SymbolListFree(l);
        return NULL;
    }
    qsort(l->entries, l->count, sizeof *l->entries, compareEntries);
    return l;
}

SymbolList *SymbolListOfKernel(void)
{
    return readList("/proc/kallsyms", addKernelLine);
}

SymbolList *SymbolListOfMap(const char *path)
{
    return readList(path, addMapLine);
}

void SymbolListFree(SymbolList *l)
{
    if (l != NULL) {
        EtwFree(l->entries);
        EtwTextFree(&l->names);
        EtwFree(l);
    }
}

/* The first of the last entries at or below the address; of several at one address the first in the file. */
const char *SymbolListAt(const SymbolList *l, uint64_t address, uint64_t *offsetPtr)
{
    size_t low = 0, high = l->count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->entries[mid].address <= address) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low == 0) {
        return NULL;
    }
    const Entry *e = &l->entries[low - 1];
    while (e > l->entries && e[-1].address == e->address) {
        e--;
    }
    *offsetPtr = address - e->address;
    return e->size == 0 || *offsetPtr < e->size ? l->names.data + e->name : NULL;
}

uint64_t SymbolListAddress(const SymbolList *l, const char *name)
{
    for (size_t i = 0; i < l->count; i++) {
        if (strcmp(l->names.data + l->entries[i].name, name) == 0) {
            return l->entries[i].address;
        }
    }
    return 0;
}
