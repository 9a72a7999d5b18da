/*
 * etl/read/buffer_index.c --
 *
 *	Iterates over a file's buffers. It does not trust any count in the file: it follows the buffers' own sizes to the end
 *	of the file, and continues after a damaged buffer where the next one would be. It reads only the first record of
 *	each buffer, unless the file's mode says that buffers may be unsorted.
 */
#include "etl/read/buffer_index.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/hash_table.h"
#include "etl/compress/decompress.h"
#include "etl/compress/pack.h"
#include "etl/read/trace_losses.h"
#include "etl/record.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLANK_ZERO = 1, BLANK_ONES = 2 };
enum {
    BUFFER_HEAD_BYTES = 0x88,
    HEAD_BYTES = 0x40,       /* start of a record, sufficient for its time */
    FORGET_BYTES = 32 << 20, /* evict pages after this number of bytes */
    UNPACKED_MAX = 64 << 20, /* maximum data of a buffer */
    EXPANSION_MAX = 32,      /* maximum data of a file, relative to the input's size */
    PACK_EXPANSION_MAX = 128 /* of a packed one; real traces 20 to 50 */
};

typedef struct Walk {
    EtlIndex *index;
    OsMap *map;
    const uint8_t *file;
    uint64_t size;
    EtlInfo *info;
    EtlClock *clock;
    bool compressed;           /* according to the file's mode */
    const EtlPackExtent *pack; /* NULL: not a packed trace */
    bool old;                  /* written before Windows Vista */
    uint8_t *scratch;          /* for compressed buffers whose first record has no time. Owned. */
    size_t scratchSize;
    uint64_t data;      /* bytes in the buffers found so far, uncompressed */
    uint64_t refused;   /* number of buffers skipped because of their compression or size */
    uint64_t refusedAt; /* offset of the first of them */
    uint64_t gapAt;     /* start of the current damage */
    bool inGap;
    int gapBlank;           /* BLANK_* bits that apply to all of it so far */
    int searched;           /* buffers in which checkLocalTime looked */
    uint32_t logger;        /* in the list: the last one used */
    EtlSequence *sequences; /* of all buffers after the header. Owned. */
    size_t sequenceCount, sequenceCapacity;
} Walk;

static void addNote(EtlIndex *index, uint64_t where, const char *format, ...) ETW_PRINTF(3, 4);
static void addNote(EtlIndex *index, uint64_t where, const char *format, ...)
{
    if (index->noteCount++ >= ETL_MAX_NOTES) {
        return;
    }
    size_t count = (size_t)index->noteCount;
    index->notes = EtwRealloc(index->notes, count * sizeof *index->notes);
    EtlNote *note = &index->notes[count - 1];
    va_list args;
    va_start(args, format);
    vsnprintf(note->text, sizeof note->text, format, args);
    va_end(args);
    note->where = where;
}

/* Check whether the start of a buffer was never written, as in preallocated files. */
static int blankKind(const uint8_t *at, uint64_t rest)
{
    size_t n = rest < ETL_BUFFER_HEADER ? (size_t)rest : ETL_BUFFER_HEADER;
    int blank = BLANK_ZERO | BLANK_ONES;
    for (size_t i = 0; i < n; i++) {
        blank &= at[i] == 0 ? BLANK_ZERO : at[i] == 0xFF ? BLANK_ONES : 0;
    }
    return blank;
}

/*
 * Check whether a buffer of that size can start with `rest` bytes left in the file. One that
 * extends past the end is truncated if it has the session's buffer size, otherwise its size is
 * damaged.
 */
static bool plausible(const Walk *w, uint32_t bufferSize, uint64_t rest)
{
    if (bufferSize < ETL_BUFFER_HEADER || bufferSize == UINT32_MAX) {
        return false;
    }
    if (bufferSize <= rest || bufferSize == w->info->bufferSize) {
        return true;
    }
    return w->compressed && bufferSize <= (uint64_t)w->info->bufferSize + ETL_BUFFER_HEADER;
}

/* The earliest tick of all records, or that of the first record with a time. False: no record. */
static bool firstTicks(const Walk *w, const uint8_t *at, const uint8_t *end, int64_t *firstPtr)
{
    bool all = (w->info->mode & ETL_MODE_UNSORTED) != 0;
    bool any = false;
    int64_t first = ETL_NO_TICKS, ticks;
    size_t size;
    while (at < end && EtlRecordPeek(at, (size_t)(end - at), &ticks, &size)) {
        any = true;
        if (ticks != ETL_NO_TICKS && (first == ETL_NO_TICKS || ticks < first)) {
            first = ticks;
        }
        if ((first != ETL_NO_TICKS && !all) || size >= (size_t)(end - at)) {
            break;
        }
        at += size;
    }
    *firstPtr = first != ETL_NO_TICKS ? first : w->info->ticks0;
    return any;
}

/* From the start of the first record only. False: not possible. */
static bool headTicks(const Walk *w, const uint8_t *head, const EtlBuffer *b, int64_t *firstPtr)
{
    size_t size;
    return !(w->info->mode & ETL_MODE_UNSORTED) &&
           EtlRecordPeek(head, b->end - ETL_BUFFER_HEADER, firstPtr, &size) &&
           *firstPtr != ETL_NO_TICKS;
}

static bool firstTicksPacked(Walk *w, const EtlBuffer *b, int64_t *firstPtr)
{
    const uint8_t *data = w->file + b->at + ETL_BUFFER_HEADER;
    EtlDecodeProc *decode = EtlDecoder(w->info->compression);
    size_t want = b->end - ETL_BUFFER_HEADER, size;
    uint8_t head[HEAD_BYTES] = {0};
    decode(data, b->packed, head, want < HEAD_BYTES ? want : HEAD_BYTES);
    if (headTicks(w, head, b, firstPtr)) {
        return true;
    }
    size = EtlUnpack(decode, data, b->packed, want, &w->scratch, &w->scratchSize);
    return firstTicks(w, w->scratch, w->scratch + size, firstPtr);
}

static void addBuffer(Walk *w, const EtlBuffer *buffer)
{
    EtlIndex *index = w->index;
    if (index->count == index->capacity) {
        index->capacity = index->capacity != 0 ? 2 * index->capacity : 16;
        index->buffers = EtwRealloc(index->buffers, index->capacity * sizeof *index->buffers);
    }
    index->buffers[index->count++] = *buffer;
}

/* Count the losses and the kind in the buffer's header. */
static void countBuffer(Walk *w, unsigned flags, unsigned type)
{
    EtlInfo *info = w->info;
    info->buffers = ++w->index->found;
    info->buffersByType[type < ETL_BUFFER_TYPES ? type : ETL_BUFFER_GENERIC]++;
    info->eventsLostMarks += (flags & ETL_FLAG_EVENTS_LOST) != 0;
    info->buffersLostMarks += (flags & ETL_FLAG_BUFFER_LOST) != 0;
}

/* Index of a logger in the list, which is extended; ETL_LOGGERS_MAX: the list is full. */
static uint32_t loggerOf(Walk *w, uint16_t id)
{
    EtlInfo *info = w->info;
    if (w->logger >= info->loggerCount || info->loggers[w->logger].id != id) {
        uint32_t i = 0;
        while (i < info->loggerCount && info->loggers[i].id != id) {
            i++;
        }
        if (i == info->loggerCount && i < ETL_LOGGERS_MAX) {
            info->loggers[info->loggerCount++] = (EtlLogger){.id = id};
        }
        w->logger = i;
    }
    return w->logger;
}

/*
 * Count a buffer after the header. Buffers of old files, and an appended session's header buffer, have no
 * sequence number.
 */
static void countLogger(Walk *w, const uint8_t *head, unsigned type)
{
    uint32_t i = loggerOf(w, EtwLoad16(head + ETL_BUF_LOGGER));
    if (i < ETL_LOGGERS_MAX) {
        w->info->loggers[i].buffers++;
    }
    if (w->old || type == ETL_BUFFER_HEADER_TYPE) {
        return;
    }
    if (w->sequenceCount == w->sequenceCapacity) {
        w->sequenceCapacity = w->sequenceCapacity != 0 ? 2 * w->sequenceCapacity : 16;
        w->sequences = EtwRealloc(w->sequences, w->sequenceCapacity * sizeof *w->sequences);
    }
    w->sequences[w->sequenceCount++] = (EtlSequence){(int64_t)EtwLoad64(head + ETL_BUF_SEQUENCE),
            EtwLoad16(head + ETL_BUF_LOGGER), EtwLoad16(head + ETL_BUF_CPU)};
}

static bool refuse(Walk *w, const EtlBuffer *b)
{
    if (w->refused++ == 0) {
        w->refusedAt = b->at;
    }
    return false;
}

/*
 * Compressed data can expand without limit, so the amount that is read is limited. Real traces are
 * compressed 5 to 15 times.
 */
static bool takeCapacity(Walk *w, const EtlBuffer *b)
{
    uint64_t most = w->pack != NULL ? PACK_EXPANSION_MAX : EXPANSION_MAX;
    if (w->data + b->end > most * w->info->handedBytes) {
        return refuse(w, b);
    }
    w->data += b->end;
    return true;
}

/* Fill in the compressed part of a buffer's entry. False: not readable. */
static bool takePacked(Walk *w, EtlBuffer *b, uint32_t saved, uint32_t limit)
{
    EtlInfo *info = w->info;
    uint32_t most = info->bufferSize < UNPACKED_MAX ? info->bufferSize : UNPACKED_MAX;
    if (info->compression == ETL_FORMAT_NONE) {
        /* the header buffer's state word; without the mode bit it has another meaning */
        info->compression = w->compressed ? EtwLoad16(w->file + ETL_BUF_STATE) : ETL_FORMAT_XPRESS;
    }
    info->compressedBuffers++;
    b->packed = limit > ETL_BUFFER_HEADER ? limit - ETL_BUFFER_HEADER : 0;
    b->end = saved < most ? saved : most;
    if (EtlDecoder(info->compression) == NULL || b->packed == 0 || b->end <= ETL_BUFFER_HEADER) {
        return refuse(w, b);
    }
    info->packedBytes += b->packed;
    info->unpackedBytes += b->end - ETL_BUFFER_HEADER;
    return true;
}

/*
 * Persisted real-time buffers contain a reference time, which is used if the file's header has
 * none.
 */
static void takeReference(Walk *w, const uint8_t *head, unsigned flags)
{
    int64_t start = (int64_t)EtwLoad64(head + ETL_BUF_REFERENCE);
    int64_t ticks = (int64_t)EtwLoad64(head + ETL_BUF_REFERENCE + 8);
    if (flags & ETL_FLAG_RT_BACKUP && w->info->startTime == 0 && start > 0) {
        EtlHeaderReference(w->info, w->clock, start, ticks);
    }
}

/* head: the buffer's header and the start of its data */
static bool firstTicksOf(Walk *w, const uint8_t *head, const EtlBuffer *b, int64_t *firstPtr)
{
    if (b->packed != 0) {
        return firstTicksPacked(w, b, firstPtr);
    }
    const uint8_t *data = w->file + b->at;
    return headTicks(w, head + ETL_BUFFER_HEADER, b, firstPtr) ||
           firstTicks(w, data + ETL_BUFFER_HEADER, data + b->end, firstPtr);
}

/*
 * Performance counter logs have events of one class. Records of the file itself may precede them, also
 * in the first buffers.
 */
static void checkLocalTime(Walk *w, const EtlBuffer *b)
{
    enum { BUFFERS = 16, RECORDS = 64 }; /* searched */
    static const EtwGuid pdh = {{0xb3, 0xf3, 0x3b, 0x93, 0x3e, 0x94, 0x0d, 0x49, 0x9c, 0xed, 0x3c,
            0xbb, 0x14, 0xc1, 0x44, 0x79}};
    const uint8_t *at = w->file + b->at + ETL_BUFFER_HEADER, *end = w->file + b->at + b->end;
    EtwEvent event;
    size_t size;
    if (w->info->localTime || !w->clock->filetime || b->packed != 0 || w->searched >= BUFFERS) {
        return;
    }
    w->searched++;
    for (int i = 0; i < RECORDS && at < end; i++) {
        if (!EtlRecordParse(at, (size_t)(end - at), &event, &size)) {
            return;
        }
        if (event.classic && memcmp(&event.provider, &pdh, sizeof pdh) == 0) {
            EtlHeaderLocalTime(w->info, w->clock, event.ticks);
            return;
        }
        at += (size + 7) & ~(size_t)7;
    }
}

/* Take the sizes of a packed trace's frame. False: it has no readable data. */
static bool takeFrame(Walk *w, EtlBuffer *b, uint32_t used, uint64_t packed)
{
    b->packed = packed < UINT32_MAX ? (uint32_t)packed : UINT32_MAX;
    b->end = used < UNPACKED_MAX ? used : UNPACKED_MAX;
    if (b->packed == 0 || b->end <= ETL_BUFFER_HEADER) {
        return false;
    }
    w->info->compression = ETL_FORMAT_ZSTD;
    w->info->compressedBuffers++;
    w->info->packedBytes += b->packed;
    w->info->unpackedBytes += b->end - ETL_BUFFER_HEADER;
    return true;
}

/*
 * Determine the end of the buffer's data. limit: its bytes in the file; packed: those of a packed trace's
 * frame, 0: none. False: it has no readable data.
 */
static bool takeExtent(
        Walk *w, EtlBuffer *b, const uint8_t *head, unsigned flags, uint32_t limit, uint64_t packed)
{
    uint32_t saved = EtwLoad32(head + ETL_BUF_SAVED), offset = EtwLoad32(head + ETL_BUF_OFFSET);
    if (packed != 0) {
        return flags & ETL_FLAG_COMPRESSED ? refuse(w, b) : takeFrame(w, b, saved, packed);
    }
    if (flags & ETL_FLAG_COMPRESSED) {
        return takePacked(w, b, saved, limit);
    }
    b->end = saved > offset ? saved : offset;
    b->end = b->end < limit ? b->end : limit;
    return b->end > ETL_BUFFER_HEADER;
}

/* rest: the bytes from its start that it may have; packed: as for takeExtent. */
static void takeBuffer(Walk *w, uint64_t at, uint32_t bufferSize, const uint8_t *head,
        uint64_t rest, uint64_t packed)
{
    unsigned flags = w->old ? 0 : EtwLoad16(head + ETL_BUF_FLAG);
    unsigned type = w->old ? ETL_BUFFER_GENERIC : EtwLoad16(head + ETL_BUF_TYPE);
    EtlBuffer b = {.at = at, .cut = bufferSize > rest};
    countBuffer(w, flags, type);
    if (at != 0) {
        countLogger(w, head, type);
    }
    if (!b.cut && EtwLoad32(head + ETL_BUF_STATE) == ETL_STATE_FLUSH) {
        int64_t sequence = (int64_t)EtwLoad64(head + ETL_BUF_SEQUENCE);
        w->index->complete += at != 0;
        w->index->end = at + bufferSize;
        w->index->sequence = sequence > w->index->sequence ? sequence : w->index->sequence;
    }
    if (b.cut) {
        addNote(w->index, w->size, "the file ends inside the buffer that starts at byte %llu",
                (unsigned long long)at);
    }
    if (type == ETL_BUFFER_EMPTY_MARKER ||
            !takeExtent(w, &b, head, flags, b.cut ? (uint32_t)rest : bufferSize, packed) ||
            !takeCapacity(w, &b)) {
        return;
    }
    uint16_t cpu = EtwLoad16(head + ETL_BUF_CPU);
    b.cpu = flags & ETL_FLAG_PROC_INDEX ? cpu & 0x7FF : cpu & 0xFF;
    b.logger = EtwLoad16(head + ETL_BUF_LOGGER);
    b.tie = w->info->mode & ETL_MODE_CIRCULAR ? EtwLoad64(head + ETL_BUF_SEQUENCE) : at;
    takeReference(w, head, flags);
    if (firstTicksOf(w, head, &b, &b.first)) {
        checkLocalTime(w, &b);
        addBuffer(w, &b);
    } else if (!b.cut) {
        addNote(w->index, at + ETL_BUFFER_HEADER,
                "a buffer does not begin with a record: its %lu bytes of %sdata are skipped",
                (unsigned long)(EtlBufferBytes(&b) - ETL_BUFFER_HEADER),
                b.packed != 0 ? "compressed " : "");
    }
}

/* End the current damage. A blank end of a file is not damage, but unused space. */
static void endGap(Walk *w, uint64_t at)
{
    uint64_t length = at - w->gapAt;
    bool unused = at == w->size && w->gapBlank != 0 && length >= ETL_BUFFER_HEADER;
    if (w->inGap && !unused) {
        addNote(w->index, w->gapAt, "damaged: no buffer starts here, %llu bytes are skipped",
                (unsigned long long)length);
    }
    w->inGap = false;
}

/* Fields that are consistent in a real buffer. Compressed bytes rarely look like that. */
static bool looksLikeBuffer(const Walk *w, uint64_t at)
{
    const uint8_t *head = w->file + at;
    uint32_t saved = w->size - at >= ETL_BUFFER_HEADER ? EtwLoad32(head + ETL_BUF_SAVED) : 0;
    return saved > ETL_BUFFER_HEADER && saved <= w->info->bufferSize &&
           saved == EtwLoad32(head + ETL_BUF_OFFSET) &&
           EtwLoad32(head + ETL_BUF_STATE) == ETL_STATE_FLUSH &&
           EtwLoad16(head + ETL_BUF_TYPE) < ETL_BUFFER_TYPES &&
           plausible(w, EtwLoad32(head + ETL_BUF_SIZE), w->size - at);
}

static uint64_t findBuffer(const Walk *w, uint64_t at, uint64_t end)
{
    while (at < end && !looksLikeBuffer(w, at)) {
        at++;
    }
    return at < end ? at : end;
}

/*
 * Buffers of compressed files begin at any offset. If there is none after this buffer's size, the
 * size itself may be wrong.
 */
static uint64_t nextBuffer(const Walk *w, uint64_t at, uint32_t bufferSize)
{
    uint64_t next = at + bufferSize;
    if (!w->compressed || next >= w->size || looksLikeBuffer(w, next)) {
        return next;
    }
    return findBuffer(w, at + ETL_BUFFER_HEADER, next);
}

/* Where to search for a buffer after a damaged one. */
static uint64_t skip(Walk *w, uint64_t at, uint64_t rest)
{
    if (!w->inGap) {
        w->inGap = true;
        w->gapAt = at;
        w->gapBlank = BLANK_ZERO | BLANK_ONES;
    }
    w->gapBlank &= blankKind(w->file + at, rest);
    if (w->compressed) {
        return findBuffer(w, at + 1, w->size);
    }
    uint64_t stride = w->info->bufferSize;
    return stride >= ETL_BUFFER_HEADER && stride < rest ? at + stride : w->size;
}

/* ---- Duplicates ------------------------------------------------------------------------------ */

/* A buffer of a run: buffers of one stream that begin at the same tick. */
typedef struct Candidate {
    const uint8_t *data;
    uint64_t bytes, hash;
    size_t index;
} Candidate;

static int compareCandidates(const void *left, const void *right)
{
    const Candidate *a = left, *b = right;
    if (a->bytes != b->bytes) {
        return a->bytes < b->bytes ? -1 : 1;
    }
    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    return a->index < b->index ? -1 : 1;
}

/* Mark the copies among `count` buffers from `start`: all bytes are those of an earlier buffer. */
static void markCopies(Walk *w, size_t start, size_t count)
{
    Candidate *list = EtwAlloc(count * sizeof *list);
    for (size_t i = 0; i < count; i++) {
        const EtlBuffer *b = &w->index->buffers[start + i];
        uint64_t bytes = EtlBufferBytes(b);
        list[i] = (Candidate){
                w->file + b->at, bytes, EtwHashBytes(0, w->file + b->at, (size_t)bytes), start + i};
    }
    qsort(list, count, sizeof *list, compareCandidates);
    for (size_t i = 1; i < count; i++) {
        w->index->buffers[list[i].index].copy =
                list[i].bytes == list[i - 1].bytes && list[i].hash == list[i - 1].hash &&
                memcmp(list[i].data, list[i - 1].data, (size_t)list[i].bytes) == 0;
    }
    EtwFree(list);
}

static bool sameStart(const EtlBuffer *a, const EtlBuffer *b)
{
    return a->cpu == b->cpu && a->logger == b->logger && a->first == b->first;
}

/*
 * Remove exact copies of buffers, which damage or a faulty copy of the file causes. Two buffers of a
 * session differ at least in their time and sequence number. The buffers are sorted.
 */
static void dropCopies(Walk *w)
{
    EtlIndex *index = w->index;
    size_t kept = 0;
    for (size_t i = 0, end; i < index->count; i = end) {
        for (end = i + 1; end < index->count && sameStart(&index->buffers[i], &index->buffers[end]);
                end++) {
        }
        if (end - i > 1) {
            markCopies(w, i, end - i);
        }
    }
    for (size_t i = 0; i < index->count; i++) {
        if (!index->buffers[i].copy) {
            index->buffers[kept++] = index->buffers[i];
        }
    }
    w->info->duplicates = (uint32_t)(index->count - kept);
    index->count = kept;
}

static int compareBuffers(const void *left, const void *right)
{
    const EtlBuffer *a = left, *b = right;
    if (a->cpu != b->cpu) {
        return a->cpu < b->cpu ? -1 : 1;
    }
    if (a->logger != b->logger) {
        return a->logger < b->logger ? -1 : 1;
    }
    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    if (a->tie != b->tie) {
        return a->tie < b->tie ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

/*
 * Count the CPUs of each logger from buffers that are sorted into streams, and find missing buffers.
 */
static void finishLoggers(Walk *w)
{
    for (size_t i = 0; i < w->index->count; i++) {
        const EtlBuffer *b = &w->index->buffers[i];
        bool last = i + 1 == w->index->count || b[1].cpu != b->cpu || b[1].logger != b->logger;
        uint32_t logger = last && b->at != 0 ? loggerOf(w, b->logger) : ETL_LOGGERS_MAX;
        if (logger < ETL_LOGGERS_MAX) {
            w->info->loggers[logger].cpus++;
        }
    }
    EtlLossesFind(w->info, w->sequences, w->sequenceCount);
}

/* Evict the pages read so far. Otherwise a large file would fill the memory. */
static void evictPages(Walk *w, uint64_t at, uint64_t *forgottenPtr)
{
    if (at - *forgottenPtr >= FORGET_BYTES) {
        OsMapEvict(w->map);
        *forgottenPtr = at;
    }
}

/* Copy the start of a buffer; zeros after the end of the file. */
static void takeHead(const Walk *w, uint64_t at, uint8_t *head)
{
    size_t n = w->size - at < BUFFER_HEAD_BYTES ? (size_t)(w->size - at) : BUFFER_HEAD_BYTES;
    memset(head + n, 0, BUFFER_HEAD_BYTES - n);
    if (w->map->base != NULL) {
        OsMapRead(w->map, at, head, n);
    } else {
        memcpy(head, w->file + at, n);
    }
}

static void walkBuffers(Walk *w)
{
    uint8_t head[BUFFER_HEAD_BYTES];
    uint64_t forgotten = 0;
    for (uint64_t at = 0; at < w->size;) {
        uint64_t rest = w->size - at;
        takeHead(w, at, head);
        uint32_t bufferSize = rest >= ETL_BUFFER_HEADER ? EtwLoad32(head + ETL_BUF_SIZE) : 0;
        if (!plausible(w, bufferSize, rest)) {
            at = skip(w, at, rest);
            continue;
        }
        endGap(w, at);
        takeBuffer(w, at, bufferSize, head, rest, 0);
        at = nextBuffer(w, at, bufferSize);
        evictPages(w, at, &forgotten);
    }
    endGap(w, w->size);
}

/* The same for a packed trace. */
static void walkFrames(Walk *w)
{
    EtlPacked b = {.next = w->pack->frames};
    uint64_t forgotten = 0;
    uint32_t header = (uint32_t)w->pack->header;
    bool more;
    takeBuffer(w, 0, header, w->file, header, 0);
    do {
        uint64_t at = b.next;
        more = EtlPackNext(w->file, w->size, at, &b);
        if (b.skipped != 0) {
            addNote(w->index, at, "damaged: no frame starts here, %llu bytes are skipped",
                    (unsigned long long)b.skipped);
        }
        if (more) {
            const uint8_t *head = w->file + b.head;
            takeBuffer(w, b.head, ETL_BUFFER_HEADER, head, ETL_BUFFER_HEADER, b.packed);
            evictPages(w, b.next, &forgotten);
        }
    } while (more);
}

void EtlIndexBuild(EtlIndex *index, OsMap *map, const uint8_t *file, uint64_t size,
        const EtlPackExtent *pack, EtlInfo *info, EtlClock *clock)
{
    Walk w = {.index = index,
            .map = map,
            .file = file,
            .size = size,
            .pack = pack,
            .info = info,
            .clock = clock};
    w.compressed = (info->mode & ETL_MODE_COMPRESSED) != 0;
    w.old = EtlIsOld(info);
    memset(index, 0, sizeof *index);
    if (pack != NULL) {
        walkFrames(&w);
    } else {
        walkBuffers(&w);
    }
    EtwFree(w.scratch);
    if (w.refused != 0) {
        bool unknown = info->compressedBuffers != 0 && EtlDecoder(info->compression) == NULL;
        addNote(index, w.refusedAt, "%llu compressed buffers are skipped: %s",
                (unsigned long long)w.refused,
                unknown ? "their format is not known"
                        : "their sizes are more than the file justifies");
    }
    if (index->count > 1) {
        qsort(index->buffers, index->count, sizeof *index->buffers, compareBuffers);
        dropCopies(&w);
    }
    finishLoggers(&w);
    info->damages = (uint32_t)index->noteCount;
    EtwFree(w.sequences);
}

void EtlIndexFree(EtlIndex *index)
{
    EtwFree(index->buffers);
    EtwFree(index->notes);
    memset(index, 0, sizeof *index);
}
