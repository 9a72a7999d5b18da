/*
 * schema/model/field_layout.c --
 *
 *	Data that is derived from a schema's flat list of fields: how many fields each field covers,
 *	and which numbers other fields refer to. The last step of building a schema, with new names for
 *	fields that have the name of another one.
 */
#include "schema/model/schema_int.h"
#include "base/hash_table.h"
#include <stdlib.h>

/*
 * Set the spans of the field at `index` and its members. Returns the index of its next sibling, -1:
 * members are missing.
 */
static int setSpan(EtwField *fields, int count, int index, int depth)
{
    if (depth > ETW_MAX_DEPTH) {
        return -1;
    }
    int next = index + 1;
    for (int member = 0; member < fields[index].members; member++) {
        next = next < count ? setSpan(fields, count, next, depth + 1) : -1;
        if (next < 0) {
            return -1;
        }
    }
    fields[index].span = (uint16_t)(next - index);
    return next;
}

/* The innermost struct around a field; -1: none. */
static int structAround(const EtwField *fields, int index)
{
    int at = index - 1;
    while (at >= 0 && at + fields[at].span <= index) {
        at--;
    }
    return at;
}

/*
 * A size or count must refer to a number before the field, in the same or an enclosing struct, so
 * that it has been read before the field.
 */
static bool markCounter(EtwField *fields, int index, uint16_t refersTo)
{
    if (refersTo >= index || fields[refersTo].in == ETW_IN_STRUCT ||
            fields[refersTo].array != ETW_SCALAR) {
        return false;
    }
    int around = structAround(fields, refersTo);
    if (around >= 0 && around + fields[around].span <= index) {
        return false;
    }
    fields[refersTo].counts = true;
    return true;
}

bool EtwFieldsFinish(EtwField *fields, int count)
{
    for (int i = 0; i < count;) {
        i = setSpan(fields, count, i, 0);
        if (i < 0) {
            return false;
        }
    }
    for (int i = 0; i < count; i++) {
        if ((fields[i].array == ETW_ARRAY_BY_FIELD && !markCounter(fields, i, fields[i].count)) ||
                (fields[i].sized == ETW_SIZE_BY_FIELD &&
                        !markCounter(fields, i, fields[i].length))) {
            return false;
        }
    }
    return true;
}

/* ---- Fields of the same name ------------------------------------------------------------------ */

typedef struct Distinct {
    const EtwField *fields;
    const char **names; /* by field, before any is renamed */
    uint64_t *hashes;   /* of the names */
    uint64_t *sorted;
    EtwText name;
    EtwFieldRename *rename;
    void *ctx;
} Distinct;

static int byHash(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The number of siblings from `from` to `to` with this name. */
static int countNamed(const Distinct *d, int from, int to, const char *name, uint64_t hash)
{
    int count = 0;
    for (int i = from; i < to; i += d->fields[i].span) {
        count += d->hashes[i] == hash && strcmp(d->names[i], name) == 0;
    }
    return count;
}

static uint64_t hashOf(const char *name, size_t size)
{
    return EtwHashBytes(0, (const uint8_t *)name, size);
}

static void renameField(Distinct *d, int from, int to, int index, int number)
{
    do {
        d->name.size = 0;
        EtwTextPrintf(&d->name, "%s#%d", d->names[index], number++);
        EtwTextChar(&d->name, 0);
    } while (countNamed(d, from, to, d->name.data, hashOf(d->name.data, d->name.size - 1)) != 0);
    d->rename(d->ctx, index, d->name.data);
}

/* Compares each of the siblings from `from` to `to`, if two of them have the same hash. */
static void distinctSiblings(Distinct *d, int from, int to)
{
    int count = 0;
    bool doubled = false;
    for (int i = from; i < to; i += d->fields[i].span) {
        d->sorted[count++] = d->hashes[i];
    }
    qsort(d->sorted, (size_t)count, sizeof *d->sorted, byHash);
    for (int i = 1; i < count; i++) {
        doubled = doubled || d->sorted[i] == d->sorted[i - 1];
    }
    for (int i = from; doubled && i < to; i += d->fields[i].span) {
        int before = countNamed(d, from, i, d->names[i], d->hashes[i]);
        if (before != 0) {
            renameField(d, from, to, i, before + 1);
        }
    }
}

void EtwFieldsDistinct(const EtwField *fields, int count, EtwFieldRename *rename, void *ctx)
{
    enum { FEW = 32 };
    uint64_t few[2 * FEW];
    const char *fewNames[FEW];
    Distinct state = {.fields = fields, .rename = rename, .ctx = ctx}, *d = &state;
    bool many = count > FEW;
    d->hashes = many ? EtwAlloc((size_t)count * 2 * sizeof *d->hashes) : few;
    d->names = many ? EtwAlloc((size_t)count * sizeof *d->names) : fewNames;
    d->sorted = d->hashes + count;
    for (int i = 0; i < count; i++) {
        d->names[i] = fields[i].name;
        d->hashes[i] = hashOf(fields[i].name, strlen(fields[i].name));
    }
    distinctSiblings(d, 0, count);
    for (int i = 0; i < count; i++) {
        if (fields[i].in == ETW_IN_STRUCT) {
            distinctSiblings(d, i + 1, i + fields[i].span);
        }
    }
    EtwTextFree(&d->name);
    if (many) {
        EtwFree(d->hashes);
        EtwFree(d->names);
    }
}
