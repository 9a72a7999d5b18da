/*
 * etl/compress/pack.c --
 *
 *	The frames of a packed trace (etl/compress/pack.h). Their structure is read and written here, so that
 *	a damaged or hostile file costs no more than its size; what is inside a compressed frame is left to
 *	libzstd (etl/compress/zstd.c).
 */
#include "etl/compress/pack.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "etl/compress/zstd_int.h"
#include "etl/format.h"

enum {
    MAGIC = 0xFD2FB528u,
    MAGIC_SKIP = 0x184D2A50, /* to 0x184D2A5F */
    MAGIC_SEEK = 0x184D2A5E,
    MAGIC_SEEK_END = 0x8F92EAB1u
};
enum { BLOCK_RAW = 0, BLOCK_RLE = 1, BLOCK_PACKED = 2, BLOCK_HEADER = 3, BLOCK_MAX = 128 << 10 };
/* Frame header descriptors: a single segment with a content size of 4 bytes, or of 1 byte. */
enum { SINGLE_4 = 0xA0, SINGLE_1 = 0x20 };
enum {
    RATIO_MAX = 100, /* of a buffer, below what a reader accepts (PACK_EXPANSION_MAX) */
    SMALL_FRAME = 4 + 1 + 1 + BLOCK_HEADER, /* what precedes a buffer's header */
    BLOCKS_MAX = 4096                       /* in a frame, which bounds the search after damage */
};

/* ---- Writing ---------------------------------------------------------------------------------- */

struct EtlPacker {
    EtwText table; /* the entries of the seek table */
    uint32_t frames;
    uint64_t bytes;
    bool begun; /* the header buffer was packed */
};

EtlPacker *EtlPackerNew(void)
{
    return EtwAlloc(sizeof(EtlPacker));
}

static void put32(EtwText *out, uint32_t v)
{
    uint8_t bytes[4];
    EtwStore32(bytes, v);
    EtwTextAdd(out, bytes, sizeof bytes);
}

static void putBlock(EtwText *out, int type, size_t size, bool last)
{
    uint8_t bytes[4];
    EtwStore32(bytes, (uint32_t)size << 3 | (uint32_t)type << 1 | last);
    EtwTextAdd(out, bytes, BLOCK_HEADER);
}

/* Begin a frame of `size` bytes of content. */
static void putFrame(EtwText *out, size_t size)
{
    put32(out, MAGIC);
    EtwTextChar(out, (char)SINGLE_4);
    put32(out, (uint32_t)size);
}

/* Blocks of bytes as they are. last: the frame ends. */
static void putRaw(EtwText *out, const uint8_t *data, size_t size, bool last)
{
    while (size != 0) {
        size_t n = size < BLOCK_MAX ? size : BLOCK_MAX;
        putBlock(out, BLOCK_RAW, n, last && n == size);
        EtwTextAdd(out, data, n);
        data += n;
        size -= n;
    }
}

/* Blocks of the padding of a buffer, which end the frame. */
static void putPadding(EtwText *out, size_t size)
{
    while (size != 0) {
        size_t n = size < BLOCK_MAX ? size : BLOCK_MAX;
        putBlock(out, BLOCK_RLE, n, n == size);
        EtwTextChar(out, (char)0xFF);
        size -= n;
    }
}

/* The end of a buffer's records, at most its size. */
static size_t usedOf(const uint8_t *buffer, size_t size)
{
    uint32_t used = EtwLoad32(buffer + ETL_BUF_SAVED);
    return used < size ? used : size;
}

void EtlPackHeader(const void *buffer, size_t size, EtwText *out)
{
    size_t used = usedOf(buffer, size);
    putFrame(out, size);
    putRaw(out, buffer, used, used == size);
    putPadding(out, size - used);
}

static void endFrame(EtlPacker *p, EtwText *out, size_t start, size_t content)
{
    put32(&p->table, (uint32_t)(out->size - start));
    put32(&p->table, (uint32_t)content);
    p->frames++;
    p->bytes += out->size - start;
}

static void packBuffer(EtlPacker *p, const uint8_t *buffer, size_t size, EtwText *out)
{
    size_t used = usedOf(buffer, size), start = out->size;
    put32(out, MAGIC);
    EtwTextChar(out, SINGLE_1);
    EtwTextChar(out, ETL_BUFFER_HEADER);
    putRaw(out, buffer, ETL_BUFFER_HEADER, true);
    endFrame(p, out, start, ETL_BUFFER_HEADER);

    start = out->size;
    if (!EtlZstdEncode(buffer + ETL_BUFFER_HEADER, used - ETL_BUFFER_HEADER, out)) {
        putFrame(out, used - ETL_BUFFER_HEADER);
        putRaw(out, buffer + ETL_BUFFER_HEADER, used - ETL_BUFFER_HEADER, true);
    }
    endFrame(p, out, start, used - ETL_BUFFER_HEADER);

    /* A reader limits what a small file unpacks to: data that repeats more is filled up with zeros. */
    if (out->size - start < used / RATIO_MAX) {
        size_t fill = used / RATIO_MAX - (out->size - start), at = out->size;
        put32(out, MAGIC_SKIP);
        put32(out, (uint32_t)fill);
        EtwTextReserve(out, fill);
        memset(out->data + out->size, 0, fill);
        out->size += fill;
        endFrame(p, out, at, 0);
    }
    if (used != size) {
        start = out->size;
        putFrame(out, size - used);
        putPadding(out, size - used);
        endFrame(p, out, start, size - used);
    }
}

void EtlPackerAdd(EtlPacker *p, const void *buffers, size_t size, EtwText *out)
{
    const uint8_t *at = buffers, *end = at + size;
    while (at < end) {
        size_t n = EtwLoad32(at + ETL_BUF_SIZE), start = out->size;
        if (p->begun) {
            packBuffer(p, at, n, out);
        } else {
            p->begun = true;
            EtlPackHeader(at, n, out);
            endFrame(p, out, start, n);
        }
        at += n;
    }
}

void EtlPackerEnd(EtlPacker *p, EtwText *out)
{
    size_t start = out->size;
    put32(out, MAGIC_SEEK);
    put32(out, (uint32_t)p->table.size + 9);
    EtwTextAdd(out, p->table.data, p->table.size);
    put32(out, p->frames);
    EtwTextChar(out, 0);
    put32(out, MAGIC_SEEK_END);
    p->bytes += out->size - start;
}

uint64_t EtlPackerBytes(const EtlPacker *p)
{
    return p->bytes;
}

void EtlPackerFree(EtlPacker *p)
{
    if (p != NULL) {
        EtwTextFree(&p->table);
        EtwFree(p);
    }
}

/* ---- Reading ---------------------------------------------------------------------------------- */

/* The size of a frame's header, from its descriptor; 0: none that a zstd file may have. */
static size_t frameHeader(uint8_t descriptor)
{
    static const uint8_t sizes[] = {0, 2, 4, 8}, dictionary[] = {0, 1, 2, 4};
    bool single = descriptor & 0x20;
    size_t content = descriptor >> 6 == 0 && single ? 1 : sizes[descriptor >> 6];
    return descriptor & 8 ? 0 : 4 + 1 + !single + dictionary[descriptor & 3] + content;
}

/* The offset after the frame at `at`; 0: no frame, or not all of it. */
static uint64_t frameEnd(const uint8_t *data, uint64_t size, uint64_t at)
{
    if (size - at < SMALL_FRAME) {
        return 0;
    }
    uint32_t magic = EtwLoad32(data + at);
    if ((magic & ~15u) == MAGIC_SKIP) {
        uint64_t skip = EtwLoad32(data + at + 4);
        return skip <= size - at - 8 ? at + 8 + skip : 0;
    }
    uint8_t descriptor = data[at + 4];
    size_t header = frameHeader(descriptor), checksum = descriptor & 4;
    if (magic != MAGIC || header == 0 || size - at < header) {
        return 0;
    }
    at += header;
    for (int i = 0; i < BLOCKS_MAX && size - at >= BLOCK_HEADER; i++) {
        uint32_t block = data[at] | data[at + 1] << 8 | (uint32_t)data[at + 2] << 16;
        uint32_t type = block >> 1 & 3, bytes = type == BLOCK_RLE ? 1 : block >> 3;
        at += BLOCK_HEADER;
        if (type > BLOCK_PACKED || bytes > size - at || block >> 3 > BLOCK_MAX) {
            return 0;
        }
        at += bytes;
        if (block & 1) {
            return size - at >= checksum ? at + checksum : 0;
        }
    }
    return 0;
}

/* The bytes before each buffer's header. */
static const uint8_t bufferMark[SMALL_FRAME] = {0x28, 0xB5, 0x2F, 0xFD, SINGLE_1, ETL_BUFFER_HEADER,
        (uint8_t)(ETL_BUFFER_HEADER << 3 | BLOCK_RAW << 1 | 1), ETL_BUFFER_HEADER >> 5, 0};

static bool isBuffer(const uint8_t *data, uint64_t size, uint64_t at)
{
    return size - at > SMALL_FRAME + ETL_BUFFER_HEADER &&
           memcmp(data + at, bufferMark, SMALL_FRAME) == 0;
}

static uint64_t findBuffer(const uint8_t *data, uint64_t size, uint64_t at)
{
    while (at < size && !isBuffer(data, size, at)) {
        const uint8_t *next = memchr(data + at + 1, bufferMark[0], (size_t)(size - at - 1));
        at = next != NULL ? (uint64_t)(next - data) : size;
    }
    return at;
}

size_t EtlPackHeaderSize(const uint8_t *data, uint64_t size, uint64_t *nextPtr)
{
    uint32_t block = EtwLoad32(data + ETL_PACK_START - BLOCK_HEADER) & 0xFFFFFF;
    uint64_t rest = size - ETL_PACK_START, bytes = block >> 3, next = frameEnd(data, size, 0);
    *nextPtr = next != 0 ? next : findBuffer(data, size, ETL_PACK_START);
    return (size_t)(bytes < rest ? bytes : rest);
}

bool EtlPackIs(const uint8_t *data, uint64_t size)
{
    return size > ETL_PACK_START + ETL_BUFFER_HEADER && EtwLoad32(data) == MAGIC &&
           data[4] == SINGLE_4 && (data[9] >> 1 & 3) == BLOCK_RAW &&
           EtwLoad32(data + 5) == EtwLoad32(data + ETL_PACK_START + ETL_BUF_SIZE);
}

bool EtlPackNext(const uint8_t *data, uint64_t size, uint64_t at, EtlPacked *b)
{
    b->skipped = 0;
    while (at < size && !isBuffer(data, size, at)) {
        uint64_t next = frameEnd(data, size, at);
        if (next == 0) {
            next = findBuffer(data, size, at + 1);
            b->skipped += next - at;
        }
        at = next;
    }
    if (at >= size) {
        return false;
    }
    uint64_t frame = at + SMALL_FRAME + ETL_BUFFER_HEADER;
    b->head = at + SMALL_FRAME;
    b->next = frameEnd(data, size, frame);
    if (b->next == 0) { /* its beginning may be readable */
        b->next = findBuffer(data, size, frame);
    }
    b->packed = b->next - frame;
    return true;
}
