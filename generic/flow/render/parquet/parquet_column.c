/*
 * flow/render/parquet/parquet_column.c --
 *
 *	Values of a column, and their encodings (https://parquet.apache.org/docs/file-format/data-pages/encodings).
 */
#include "base/hash_table.h"
#include "flow/render/parquet/parquet_int.h"
#include "flow/render/parquet/thrift_compact.h"
#include <stdlib.h>

/* ---- Runs and packed bits -------------------------------------------------------------------- */

static int bitsOf(uint64_t v)
{
    return v != 0 ? 64 - __builtin_clzll(v) : 0;
}

/* Append `count` values of `bits` bits each, lowest bits first; count is a multiple of 8. */
static void packBits(EtwText *out, const uint64_t *values, size_t count, int bits)
{
    EtwTextReserve(out, count / 8 * (size_t)bits + 16);
    uint8_t *p = (uint8_t *)out->data + out->size;
    uint64_t kept = 0;
    int used = 0;
    for (size_t i = 0; bits > 0 && i < count; i++) {
        kept |= values[i] << used;
        int take = 64 - used;
        if (bits < take) {
            used += bits;
            continue;
        }
        EtwStore64(p, kept);
        p += 8;
        used = bits - take;
        kept = used > 0 ? values[i] >> take : 0;
    }
    for (; used > 0; used -= 8) {
        *p++ = (uint8_t)kept;
        kept >>= 8;
    }
    out->size = (size_t)((char *)p - out->data);
}

/*
 * The hybrid of runs and packed bits. Packed values come in groups of 8: a run begins where a group does.
 */
typedef struct Hybrid {
    EtwText *out;
    int bits;
    uint64_t packed[504];
    size_t count; /* of these */
} Hybrid;

static void endPacked(Hybrid *h)
{
    if (h->count > 0) {
        EtwAddVarint(h->out, (h->count / 8) << 1 | 1);
        packBits(h->out, h->packed, h->count, h->bits);
        h->count = 0;
    }
}

static void addRun(Hybrid *h, uint64_t value, size_t count)
{
    endPacked(h);
    EtwAddVarint(h->out, (uint64_t)count << 1);
    for (int i = 0; i < h->bits; i += 8) {
        EtwTextChar(h->out, (char)(value >> i));
    }
}

static void addHybrid(EtwText *out, const uint32_t *values, size_t count, int bits)
{
    Hybrid h = {.out = out, .bits = bits};
    for (size_t i = 0, run; i < count;) {
        for (run = 1; i + run < count && values[i + run] == values[i];) {
            run++;
        }
        if (run >= 8) {
            addRun(&h, values[i], run);
            i += run;
            continue;
        }
        for (int k = 0; k < 8; k++, i++) {
            h.packed[h.count++] = i < count ? values[i] : 0;
        }
        if (h.count == sizeof h.packed / sizeof *h.packed) {
            endPacked(&h);
        }
    }
    endPacked(&h);
}

/* The bits of `present` as levels of one bit: packed as they are, except runs of bytes of equal bits. */
static void addLevels(EtwText *out, const uint8_t *bytes, size_t levels)
{
    enum { RUN = 8 };
    size_t size = (levels + 7) / 8, start = 0;
    for (size_t i = 0; i <= size;) {
        size_t run = 0;
        while (i + run < size && bytes[i + run] == bytes[i]) {
            run++;
        }
        bool equal = run >= RUN && (bytes[i] == 0 || bytes[i] == 0xFF);
        if ((equal || i == size) && start < i) {
            EtwAddVarint(out, (uint64_t)(i - start) << 1 | 1);
            EtwTextAdd(out, bytes + start, i - start);
        }
        if (equal) {
            size_t count = 8 * (i + run) < levels ? 8 * run : levels - 8 * i;
            EtwAddVarint(out, (uint64_t)count << 1);
            EtwTextChar(out, bytes[i] != 0);
            start = i + run;
        }
        i += equal ? run : run == 0 ? 1 : run;
    }
}

/* ---- Differences ----------------------------------------------------------------------------- */

enum { BLOCK = 128, MINIBLOCKS = 4, MINIBLOCK = BLOCK / MINIBLOCKS };

/* Up to BLOCK differences. */
static void addBlock(EtwText *out, uint64_t *deltas, size_t count)
{
    int64_t least = INT64_MAX;
    uint8_t bits[MINIBLOCKS] = {0};
    for (size_t i = 0; i < count; i++) {
        least = (int64_t)deltas[i] < least ? (int64_t)deltas[i] : least;
    }
    for (size_t i = 0; i < BLOCK; i++) {
        deltas[i] = i < count ? deltas[i] - (uint64_t)least : 0;
    }
    for (size_t m = 0; m < MINIBLOCKS; m++) {
        uint64_t all = 0;
        for (size_t i = 0; i < MINIBLOCK; i++) {
            all |= deltas[m * MINIBLOCK + i];
        }
        bits[m] = (uint8_t)bitsOf(all);
    }
    EtwAddVarint(out, EtwZigzag(least));
    EtwTextAdd(out, bits, sizeof bits);
    for (size_t m = 0; m * MINIBLOCK < count; m++) {
        packBits(out, deltas + m * MINIBLOCK, MINIBLOCK, bits[m]);
    }
}

static void addDeltas(EtwText *out, const uint8_t *values, size_t count)
{
    uint64_t deltas[BLOCK], last = count > 0 ? EtwLoad64(values) : 0;
    size_t used = 0;
    EtwAddVarint(out, BLOCK);
    EtwAddVarint(out, MINIBLOCKS);
    EtwAddVarint(out, count);
    EtwAddVarint(out, EtwZigzag((int64_t)last));
    for (size_t i = 1; i < count; i++) {
        uint64_t v = EtwLoad64(values + 8 * i);
        deltas[used++] = v - last;
        last = v;
        if (used == BLOCK || i + 1 == count) {
            addBlock(out, deltas, used);
            used = 0;
        }
    }
}

/* ---- Pages ----------------------------------------------------------------------------------- */

static void addHeader(
        EtwText *out, int type, size_t raw, size_t packed, uint32_t values, int encoding)
{
    enum { DATA_HEADER = 5, DICTIONARY_HEADER = 7 };
    bool data = type == PQ_DATA_PAGE;
    int last = 0, inner = 0;
    EtwThriftInt(out, &last, 1, THRIFT_I32, type);
    EtwThriftInt(out, &last, 2, THRIFT_I32, (int64_t)raw);
    EtwThriftInt(out, &last, 3, THRIFT_I32, (int64_t)packed);
    EtwThriftField(out, &last, data ? DATA_HEADER : DICTIONARY_HEADER, THRIFT_STRUCT);
    EtwThriftInt(out, &inner, 1, THRIFT_I32, values);
    EtwThriftInt(out, &inner, 2, THRIFT_I32, encoding);
    if (data) {
        EtwThriftInt(out, &inner, 3, THRIFT_I32, PQ_RLE);
        EtwThriftInt(out, &inner, 4, THRIFT_I32, PQ_RLE);
    }
    EtwThriftEnd(out);
    EtwThriftEnd(out);
}

/* A page of this body. Returns its size before compression, with its header. */
static size_t addPage(
        EtwPqFile *file, EtwText *out, int type, const EtwText *body, uint32_t values, int encoding)
{
    const EtwText *packed = body;
    if (file->zstd != NULL) {
        file->packed.size = 0;
        if (!EtlZstdPage(file->zstd, body->data, body->size, &file->packed)) {
            abort(); /* no memory, as in EtwTextReserve */
        }
        packed = &file->packed;
    }
    size_t before = out->size;
    addHeader(out, type, body->size, packed->size, values, encoding);
    size_t header = out->size - before;
    EtwTextAdd(out, packed->data, packed->size);
    return header + body->size;
}

static int encodingOf(const EtwPqColumn *c)
{
    switch (c->values == 0 ? ETW_PQ_BOOL : c->type) {
    case ETW_PQ_INT:
    case ETW_PQ_UINT:
    case ETW_PQ_TIME:
        return PQ_DELTA_BINARY;
    case ETW_PQ_TEXT:
    case ETW_PQ_JSON:
        return c->plain ? PQ_DELTA_LENGTH : PQ_RLE_DICTIONARY;
    case ETW_PQ_BOOL:
    case ETW_PQ_DOUBLE:
        break;
    }
    return PQ_PLAIN;
}

static void addValues(EtwText *out, const EtwPqColumn *c, int encoding)
{
    switch (encoding) {
    case PQ_DELTA_BINARY:
        addDeltas(out, (const uint8_t *)c->data.data, c->values);
        break;
    case PQ_DELTA_LENGTH:
        addDeltas(out, (const uint8_t *)c->lengths.data, c->values);
        EtwTextAdd(out, c->data.data, c->data.size);
        break;
    case PQ_RLE_DICTIONARY: {
        int bits = bitsOf(c->textCount - 1);
        EtwTextChar(out, (char)bits);
        addHybrid(out, (const uint32_t *)(const void *)c->data.data, c->values, bits);
        break;
    }
    default:
        EtwTextAdd(out, c->data.data, c->data.size);
    }
}

static void addLevelsPrefixed(EtwText *out, const uint8_t *bytes, size_t levels)
{
    size_t at = out->size;
    EtwTextAdd(out, "\0\0\0\0", 4);
    addLevels(out, bytes, levels);
    EtwStore32(out->data + at, (uint32_t)(out->size - at - 4));
}

static uint64_t pending(const EtwPqColumn *c)
{
    return c->data.size + c->lengths.size + c->present.size;
}

void PqPageEnd(EtwPqFile *file, EtwPqColumn *c)
{
    int encoding = encodingOf(c);
    if (c->levels == 0) {
        return;
    }
    file->body.size = 0;
    if (!c->required) {
        addLevelsPrefixed(&file->body, (const uint8_t *)c->present.data, c->levels);
    }
    addValues(&file->body, c, encoding);
    size_t before = c->pages.size;
    c->rawBytes += addPage(file, &c->pages, PQ_DATA_PAGE, &file->body, c->levels, encoding);
    c->encodings |= 1u << encoding;
    file->bytes += c->pages.size - before;
    file->bytes -= pending(c) < file->bytes ? pending(c) : file->bytes;
    c->present.size = c->data.size = c->lengths.size = 0;
    c->levels = c->values = 0;
}

size_t PqNullPage(EtwText *out, uint32_t rows)
{
    EtwText body = {0};
    size_t before = out->size;
    EtwTextAdd(&body, "\0\0\0\0", 4);
    EtwAddVarint(&body, (uint64_t)rows << 1);
    EtwTextChar(&body, 0);
    EtwStore32(body.data, (uint32_t)(body.size - 4));
    addHeader(out, PQ_DATA_PAGE, body.size, body.size, rows, PQ_PLAIN);
    EtwTextAdd(out, body.data, body.size);
    EtwTextFree(&body);
    return out->size - before;
}

size_t PqDictionaryPage(EtwPqFile *file, EtwPqColumn *c, EtwText *out)
{
    return c->textCount > 0
                   ? addPage(file, out, PQ_DICTIONARY_PAGE, &c->dictionary, c->textCount, PQ_PLAIN)
                   : 0;
}

/* ---- Values ---------------------------------------------------------------------------------- */

void PqPad(EtwPqFile *file, EtwPqColumn *c, uint32_t rows)
{
    size_t before = c->present.size;
    c->levels += rows - c->rows;
    c->rows = rows;
    size_t size = c->required ? 0 : (c->levels + 7) / 8;
    if (size > before) {
        EtwTextReserve(&c->present, size - before);
        memset(c->present.data + before, 0, size - before);
        c->present.size = size;
        file->bytes += size - before;
    }
}

/* The row has a value: false if it has one already. */
static void addPresent(EtwPqFile *file, EtwPqColumn *c)
{
    if (pending(c) >= PQ_PAGE_BYTES) {
        PqPad(file, c, file->rows);
        PqPageEnd(file, c);
    }
    PqPad(file, c, file->rows + 1);
    if (!c->required) {
        c->present.data[(c->levels - 1) / 8] |= (char)(1 << (c->levels - 1) % 8);
    }
    c->values++;
    c->total++;
}

static bool isLess(const EtwPqColumn *c, uint64_t a, uint64_t b)
{
    return c->type == ETW_PQ_UINT ? a < b : (int64_t)a < (int64_t)b;
}

void EtwPqNumber(EtwPqFile *file, EtwPqColumn *c, uint64_t v)
{
    addPresent(file, c);
    c->low = c->total == 1 || isLess(c, v, c->low) ? v : c->low;
    c->high = c->total == 1 || isLess(c, c->high, v) ? v : c->high;
    if (c->type != ETW_PQ_BOOL) {
        EtwTextReserve(&c->data, 8);
        EtwStore64(c->data.data + c->data.size, v);
        c->data.size += 8;
        file->bytes += 8;
        return;
    }
    if ((c->values - 1) % 8 == 0) {
        EtwTextChar(&c->data, 0);
        file->bytes++;
    }
    c->data.data[c->data.size - 1] |= (char)((v != 0) << (c->values - 1) % 8);
}

void EtwPqDouble(EtwPqFile *file, EtwPqColumn *c, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    addPresent(file, c);
    EtwTextReserve(&c->data, 8);
    EtwStore64(c->data.data + c->data.size, bits);
    c->data.size += 8;
    file->bytes += 8;
}

static bool isText(const EtwPqColumn *c, uint32_t index, const void *text, size_t size)
{
    const PqText *t = &c->texts[index];
    return t->size == size && (size == 0 || memcmp(c->dictionary.data + t->at, text, size) == 0);
}

static void growSlots(EtwPqColumn *c)
{
    uint32_t slots = c->slots ? (c->slotMask + 1) * 2 : 64;
    EtwFree(c->slots);
    c->slots = EtwAlloc(slots * sizeof *c->slots);
    c->slotMask = slots - 1;
    for (uint32_t i = 0; i < c->textCount; i++) {
        uint32_t at = (uint32_t)c->texts[i].hash & c->slotMask;
        while (c->slots[at] != 0) {
            at = (at + 1) & c->slotMask;
        }
        c->slots[at] = i + 1;
    }
}

/* -1: a is less; texts are compared by bytes. */
static int compareTexts(const EtwPqColumn *c, uint32_t a, uint32_t b)
{
    const PqText *x = &c->texts[a], *y = &c->texts[b];
    uint32_t size = x->size < y->size ? x->size : y->size;
    int order = size > 0 ? memcmp(c->dictionary.data + x->at, c->dictionary.data + y->at, size) : 0;
    return order != 0 ? order : x->size < y->size ? -1 : x->size > y->size;
}

static void newText(EtwPqFile *file, EtwPqColumn *c, const void *text, size_t size, uint64_t hash)
{
    uint32_t index = c->textCount;
    if (c->textCount == c->textCapacity) {
        c->textCapacity = c->textCapacity ? 2 * c->textCapacity : 32;
        c->texts = EtwRealloc(c->texts, c->textCapacity * sizeof *c->texts);
    }
    EtwTextReserve(&c->dictionary, 4);
    EtwStore32(c->dictionary.data + c->dictionary.size, (uint32_t)size);
    c->dictionary.size += 4;
    c->texts[c->textCount++] =
            (PqText){.at = (uint32_t)c->dictionary.size, .size = (uint32_t)size, .hash = hash};
    EtwTextAdd(&c->dictionary, text, size);
    file->bytes += 4 + size + sizeof(PqText);
    if (index == 0 || compareTexts(c, index, c->lowText) < 0) {
        c->lowText = index;
    }
    if (index == 0 || compareTexts(c, index, c->highText) > 0) {
        c->highText = index;
    }
}

/* The text's number in the dictionary. */
static uint32_t textOf(EtwPqFile *file, EtwPqColumn *c, const void *text, size_t size)
{
    if (c->textCount > 0 && isText(c, c->lastText, text, size)) {
        return c->lastText;
    }
    uint64_t hash = EtwHashBytes(0, text, size);
    if (c->slots == NULL || c->textCount >= c->slotMask / 2) {
        growSlots(c);
    }
    uint32_t at = (uint32_t)hash & c->slotMask;
    for (; c->slots[at] != 0; at = (at + 1) & c->slotMask) {
        uint32_t index = c->slots[at] - 1;
        if (c->texts[index].hash == hash && isText(c, index, text, size)) {
            c->lastText = index;
            return index;
        }
    }
    newText(file, c, text, size, hash);
    c->slots[at] = c->textCount;
    c->lastText = c->textCount - 1;
    return c->lastText;
}

void EtwPqText(EtwPqFile *file, EtwPqColumn *c, const void *text, size_t size)
{
    addPresent(file, c);
    if (!c->plain) {
        uint32_t index = textOf(file, c, text, size);
        EtwTextAdd(&c->data, &index, sizeof index);
        file->bytes += sizeof index;
        if (c->dictionary.size >= PQ_DICTIONARY_BYTES || c->textCount >= PQ_DICTIONARY_COUNT) {
            PqPageEnd(file, c);
            c->plain = true;
        }
        return;
    }
    EtwTextReserve(&c->lengths, 8);
    EtwStore64(c->lengths.data + c->lengths.size, size);
    c->lengths.size += 8;
    EtwTextAdd(&c->data, text, size);
    file->bytes += size + 8;
}

/* ---- The end of a row group ------------------------------------------------------------------ */

/* Large buffers are released: another column may need them more. */
static void clear(EtwText *text)
{
    enum { KEPT = 4096 };
    text->size = 0;
    if (text->capacity > KEPT) {
        EtwTextFree(text);
        *text = (EtwText){0};
    }
}

void PqColumnReset(EtwPqColumn *c)
{
    clear(&c->present);
    clear(&c->data);
    clear(&c->lengths);
    clear(&c->dictionary);
    clear(&c->pages);
    EtwFree(c->texts);
    EtwFree(c->slots);
    c->texts = NULL;
    c->slots = NULL;
    c->slotMask = c->textCount = c->textCapacity = c->lastText = 0;
    c->rows = c->levels = c->values = 0;
    c->plain = false;
    c->total = c->rawBytes = 0;
    c->encodings = 0;
    c->lowText = c->highText = 0;
}

void PqColumnFree(EtwPqColumn *c)
{
    PqColumnReset(c);
    EtwTextFree(&c->present);
    EtwTextFree(&c->data);
    EtwTextFree(&c->lengths);
    EtwTextFree(&c->dictionary);
    EtwTextFree(&c->pages);
    EtwFree(c->group);
    EtwFree(c->name);
    EtwFree(c);
}
