/*
 * tests/support/etlfile.h --
 *
 *	Builds .etl files in memory, field by field, from the documented format only: without
 *	functions of generic/etl, so that their errors are not repeated. Also shared by the tests of
 *	the room: reading a file into a list of events and warnings.
 */
#ifndef ETW_TESTS_ETLFILE_H
#define ETW_TESTS_ETLFILE_H

#include "base/text.h"
#include "base/os.h"
#include "etl/read/reader.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- Building -------------------------------------------------------------------------------- */

typedef struct Image {
    uint8_t *data;
    size_t size;
    uint32_t bufferSize;
    size_t buffer; /* start of the current buffer */
    size_t capacity;
} Image;

__attribute__((unused)) static void ImageGrow(Image *f, size_t size, uint8_t fill)
{
    if (f->capacity < f->size + size) { /* doubled, because sanitizers make reallocation slow */
        f->capacity = 2 * (f->size + size);
        f->data = EtwRealloc(f->data, f->capacity);
    }
    memset(f->data + f->size, fill, size);
    f->size += size;
}

/* Start a buffer; BufferEnd finishes it. A test may overwrite sizes afterwards. */
__attribute__((unused)) static void BufferBegin(Image *f, int cpu, int64_t sequence)
{
    f->buffer = f->size;
    ImageGrow(f, 0x48, 0);
    uint8_t *h = f->data + f->buffer;
    EtwStore32(h, f->bufferSize);
    EtwStore64(h + 0x18, (uint64_t)sequence);
    EtwStore16(h + 0x28, (uint16_t)cpu);
    EtwStore16(h + 0x2a, 1); /* logger */
    EtwStore32(h + 0x2c, 3);
    EtwStore16(h + 0x34, 0x20);
}

__attribute__((unused)) static void BufferEnd(Image *f)
{
    uint32_t used = (uint32_t)(f->size - f->buffer);
    EtwStore32(f->data + f->buffer + 0x04, used);
    EtwStore32(f->data + f->buffer + 0x30, used);
    ImageGrow(f, f->bufferSize - used, 0xFF);
}

/*
 * Literals only, in the formats of compressed buffers: 2 LZNT1, 3 XPRESS, 4 with Huffman (all 512
 * symbols have 9-bit codes that equal the symbols).
 */
__attribute__((unused)) static void ImagePack(
        EtwText *out, unsigned format, const uint8_t *data, size_t size)
{
    uint8_t word[4] = {0};
    uint32_t bits = 0;
    int count = 0;
    for (int i = 0; format == 4 && i < 256; i++) {
        EtwTextChar(out, (char)0x99);
    }
    for (size_t i = 0; i < size; i++) {
        if (format == 2 && i % 4096 == 0) {
            EtwStore16(word, (uint16_t)(0x3000 | ((size - i < 4096 ? size - i : 4096) - 1)));
            EtwTextAdd(out, word, 2);
        } else if (format == 3 && i % 32 == 0) {
            EtwTextAdd(out, "\0\0\0\0", 4);
        }
        if (format != 4) {
            EtwTextChar(out, (char)data[i]);
            continue;
        }
        bits = bits << 9 | data[i];
        for (count += 9; count >= 16; count -= 16) {
            EtwStore16(word, (uint16_t)(bits >> (count - 16)));
            EtwTextAdd(out, word, 2);
        }
    }
    if (format == 4) {
        EtwStore16(word, (uint16_t)(bits << (16 - count)));
        EtwTextAdd(out, word, 2);
        EtwTextAdd(out, "\0\0\0\0", 4);
    }
}

/* The buffer compressed: unaligned, without padding. */
__attribute__((unused)) static void BufferEndPacked(Image *f, unsigned format)
{
    EtwText packed = {0};
    size_t used = f->size - f->buffer;
    ImagePack(&packed, format, f->data + f->buffer + 0x48, used - 0x48);
    f->size = f->buffer + 0x48;
    ImageGrow(f, packed.size, 0);
    memcpy(f->data + f->buffer + 0x48, packed.data, packed.size);
    EtwStore32(f->data + f->buffer, (uint32_t)(0x48 + packed.size));
    EtwStore32(f->data + f->buffer + 0x04, (uint32_t)used);
    EtwStore32(f->data + f->buffer + 0x30, (uint32_t)used);
    EtwStore16(f->data + f->buffer + 0x34, 0x60);
    EtwTextFree(&packed);
}

/* Add an empty record of a kind; returns its offset. The size is stored where that kind has it. */
__attribute__((unused)) static size_t RecordAdd(
        Image *f, unsigned type, size_t header, size_t payload)
{
    static const unsigned sizeAtFour[] = {1, 2, 3, 4, 16, 17};
    size_t at = f->size, sizeAt = 0, size = header + payload;
    ImageGrow(f, (size + 7) & ~(size_t)7, 0xEE); /* padding contains garbage in real files */
    uint8_t *r = f->data + at;
    memset(r, 0, header);
    for (size_t i = 0; i < sizeof sizeAtFour / sizeof *sizeAtFour; i++) {
        sizeAt = type == sizeAtFour[i] ? 4 : sizeAt;
    }
    for (size_t i = 0; i < payload; i++) {
        r[header + i] = (uint8_t)i;
    }
    r[2] = type == 0x90 ? 0 : (uint8_t)type;
    r[3] = type == 0x90 ? 0x90 : 0xC0;
    EtwStore16(r + sizeAt, (uint16_t)size);
    return at;
}

/* An EVENT_HEADER64 record with an id and a time. */
__attribute__((unused)) static size_t EventAdd(Image *f, int64_t ticks, uint16_t id)
{
    size_t at = RecordAdd(f, 19, 0x50, 8);
    EtwStore64(f->data + at + 0x10, (uint64_t)ticks);
    EtwStore16(f->data + at + 0x28, id);
    return at;
}

typedef struct Clock {
    uint32_t kind;
    int64_t frequency;
    int64_t ticks0;
    int64_t start; /* FILETIME */
    uint32_t mhz;
} Clock;

/* The header buffer, 64-bit or 32-bit form, logger "L\u00e9", file "f.etl". */
__attribute__((unused)) static void HeaderAdd(
        Image *f, const Clock *clock, uint32_t mode, bool wide)
{
    static const uint16_t names[] = {'L', 0xe9, 0, 'f', '.', 'e', 't', 'l', 0};
    size_t fixed = wide ? 0x118 : 0x110, shift = wide ? 0 : 8;
    BufferBegin(f, 0, 0);
    EtwStore16(f->data + f->buffer + 0x36, 4);
    size_t at = RecordAdd(f, wide ? 2 : 1, 0x20, fixed + sizeof names);
    uint8_t *r = f->data + at, *log = r + 0x20, *late = log - shift;
    EtwStore16(r, 2);
    EtwStore64(r + 0x10, (uint64_t)clock->ticks0);
    memset(log, 0, fixed);
    EtwStore32(log, f->bufferSize);
    EtwStore32(log + 0x04, 0x0501000A);
    EtwStore32(log + 0x08, 22621);
    EtwStore32(log + 0x0c, 4);
    EtwStore64(log + 0x10, (uint64_t)clock->start + 50000000); /* end */
    EtwStore32(log + 0x20, mode);
    EtwStore32(log + 0x24, 1); /* buffers written: wrong, as in files that were not closed */
    EtwStore32(log + 0x2c, wide ? 8 : 4);
    EtwStore32(log + 0x30, 7); /* events lost */
    EtwStore32(log + 0x34, clock->mhz);
    EtwStore32(late + 0x48, (uint32_t)-60);
    EtwStore64(late + 0xf8, (uint64_t)clock->start - 10000000); /* boot */
    EtwStore64(late + 0x100, (uint64_t)clock->frequency);
    EtwStore64(late + 0x108, (uint64_t)clock->start);
    EtwStore32(late + 0x110, clock->kind);
    EtwStore32(late + 0x114, 3); /* buffers lost */
    memcpy(log + fixed, names, sizeof names);
    BufferEnd(f);
}

/* A file with 1 ns ticks, T0 1000 at 2023-11-14T22:13:20Z. */
#define IMAGE_START (1700000000LL * 1000000000)
__attribute__((unused)) static void ImageBegin(Image *f, uint32_t bufferSize)
{
    Clock clock = {1, 1000000000, 1000, 133444736000000000, 0};
    memset(f, 0, sizeof *f);
    f->bufferSize = bufferSize;
    HeaderAdd(f, &clock, 1, true);
}

__attribute__((unused)) static void ImageFree(Image *f)
{
    EtwFree(f->data);
    memset(f, 0, sizeof *f);
}

/* ---- Reading --------------------------------------------------------------------------------- */

typedef struct Seen {
    EtwEvent *events; /* their pointers refer to the reader's memory and become invalid with it */
    size_t count;
    int warnings;
    uint64_t where; /* of the first warning */
    char text[200]; /* of the first warning */
    size_t before;  /* events delivered before the first warning */
    EtlInfo info;
    EtwError error;
    EtwStatus status; /* of the opening */
} Seen;

__attribute__((unused)) static void SeenWarn(void *ctx, uint64_t where, const char *message)
{
    Seen *seen = ctx;
    if (seen->warnings++ == 0) {
        seen->where = where;
        seen->before = seen->count;
        snprintf(seen->text, sizeof seen->text, "%s", message);
    }
}

__attribute__((unused)) static void SeenFrom(Seen *seen, EtlReader *reader)
{
    EtwEvent event;
    size_t capacity = 0;
    while (EtlReaderNext(reader, &event) == ETW_OK) {
        if (seen->count == capacity) {
            capacity = capacity != 0 ? 2 * capacity : 64;
            seen->events = EtwRealloc(seen->events, capacity * sizeof event);
        }
        seen->events[seen->count++] = event;
    }
    seen->info = *EtlReaderInfo(reader);
    EtlReaderClose(reader);
}

__attribute__((unused)) static Seen SeenMemory(const void *data, size_t size)
{
    static Seen seen;
    EtlReader *reader;
    memset(&seen, 0, sizeof seen);
    seen.status = EtlReaderOpenMemory(&reader, data, size, 0, SeenWarn, &seen, &seen.error);
    if (seen.status == ETW_OK) {
        SeenFrom(&seen, reader);
    }
    return seen;
}

__attribute__((unused)) static Seen SeenFile(const char *path)
{
    static Seen seen;
    EtlReader *reader;
    memset(&seen, 0, sizeof seen);
    seen.status = EtlReaderOpen(&reader, path, SeenWarn, &seen, &seen.error);
    if (seen.status == ETW_OK) {
        SeenFrom(&seen, reader);
    }
    return seen;
}

__attribute__((unused)) static void SeenFree(Seen *seen)
{
    EtwFree(seen->events);
    seen->events = NULL;
}

/* A path for a file of this test, in the temporary directory; removed by the caller. */
__attribute__((unused)) static const char *TestPath(const char *name)
{
    static char path[600];
    const char *dir = getenv("TMPDIR");
#ifdef _WIN32
    dir = getenv("TEMP");
#endif
    snprintf(path, sizeof path, "%s/etw-%u-%s", dir != NULL ? dir : "/tmp", OsPid(), name);
    return path;
}

#endif
