/*
 * etl/index.c --
 *
 *	The walk over a file's buffers. Trusts no count in the file: buffers are followed by
 *	their own sizes up to the end of the file; behind a damaged one the walk goes on
 *	where the next would be. Looks at no record but the first of each buffer, unless the
 *	file's mode says that buffers may be unsorted.
 */
#include "etl/index.h"
#include "base/bytes.h"
#include "etl/format.h"
#include "etl/record.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Private loggers and sessions without a buffer per CPU: times may go back within a buffer. */
enum { MODE_UNSORTED = 0x800 | 0x20000 | 0x10000000 };
enum { TYPE_EMPTY_MARKER = 6 };
enum { BLANK_ZERO = 1, BLANK_ONES = 2 };

typedef struct Walk {
    EtlIndex *index;
    const uint8_t *file;
    uint64_t size;
    const EtlInfo *info;
    bool compressed;   /* by the file's mode */
    uint64_t packed;   /* compressed buffers skipped */
    uint64_t packedAt; /* the first of them */
    uint64_t gapAt;    /* start of the damage that the walk is in */
    bool inGap;
    int gapBlank; /* BLANK_* bits that held for all of it so far */
} Walk;

static void Note(EtlIndex *index, uint64_t where, const char *format, ...) ETW_PRINTF(3, 4);
static void Note(EtlIndex *index, uint64_t where, const char *format, ...)
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

/* Is the start of a buffer blank: never written, as in preallocated files? */
static int Blankness(const uint8_t *at, uint64_t rest)
{
    size_t n = rest < ETL_BUFFER_HEADER ? (size_t)rest : ETL_BUFFER_HEADER;
    int blank = BLANK_ZERO | BLANK_ONES;
    for (size_t i = 0; i < n; i++) {
        blank &= at[i] == 0 ? BLANK_ZERO : at[i] == 0xFF ? BLANK_ONES : 0;
    }
    return blank;
}

/*
 * Can a buffer of that size start with `rest` bytes left of the file? One that reaches past the end
 * is a truncated one if its size is the session's, else a damaged size.
 */
static bool Plausible(const Walk *w, uint32_t bufferSize, uint64_t rest)
{
    if (bufferSize < ETL_BUFFER_HEADER || bufferSize == UINT32_MAX) {
        return false;
    }
    if (bufferSize <= rest || bufferSize == w->info->bufferSize) {
        return true;
    }
    return w->compressed && bufferSize <= (uint64_t)w->info->bufferSize + ETL_BUFFER_HEADER;
}

/* Earliest tick (of all records, or up to the first that has one); false: no record at all. */
static bool FirstTicks(const Walk *w, const uint8_t *at, const uint8_t *end, int64_t *firstPtr)
{
    bool all = (w->info->mode & MODE_UNSORTED) != 0;
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

static void AddBuffer(Walk *w, const EtlBuffer *buffer)
{
    EtlIndex *index = w->index;
    if (index->count == index->room) {
        index->room = index->room != 0 ? 2 * index->room : 16;
        index->buffers = EtwRealloc(index->buffers, index->room * sizeof *index->buffers);
    }
    index->buffers[index->count++] = *buffer;
}

static void TakeBuffer(Walk *w, uint64_t at, uint32_t bufferSize)
{
    const uint8_t *head = w->file + at;
    uint64_t rest = w->size - at;
    unsigned flags = EtwLoad16(head + ETL_BUF_FLAG);
    EtlBuffer buffer = {.at = at, .cut = bufferSize > rest};
    w->index->found++;
    if (buffer.cut) {
        Note(w->index, w->size, "the file ends inside the buffer that starts at byte %llu",
                (unsigned long long)at);
    }
    if (flags & ETL_FLAG_COMPRESSED) {
        if (w->packed++ == 0) {
            w->packedAt = at;
        }
        return;
    }
    uint32_t saved = EtwLoad32(head + ETL_BUF_SAVED), offset = EtwLoad32(head + ETL_BUF_OFFSET);
    uint32_t limit = buffer.cut ? (uint32_t)rest : bufferSize;
    buffer.end = saved > offset ? saved : offset;
    buffer.end = buffer.end < limit ? buffer.end : limit;
    if (buffer.end <= ETL_BUFFER_HEADER || EtwLoad16(head + ETL_BUF_TYPE) == TYPE_EMPTY_MARKER) {
        return;
    }
    uint16_t cpu = EtwLoad16(head + ETL_BUF_CPU);
    buffer.cpu = flags & ETL_FLAG_PROC_INDEX ? cpu & 0x7FF : cpu & 0xFF;
    buffer.logger = EtwLoad16(head + ETL_BUF_LOGGER);
    buffer.tie = w->info->mode & ETL_MODE_CIRCULAR ? EtwLoad64(head + ETL_BUF_SEQUENCE) : at;
    if (FirstTicks(w, head + ETL_BUFFER_HEADER, head + buffer.end, &buffer.first)) {
        AddBuffer(w, &buffer);
    } else if (!buffer.cut) {
        Note(w->index, at + ETL_BUFFER_HEADER,
                "no record at the start of a buffer: its %lu bytes of data are skipped",
                (unsigned long)(buffer.end - ETL_BUFFER_HEADER));
    }
}

/* The damage that the walk was in ends here. A blank tail is no damage: space never used. */
static void EndGap(Walk *w, uint64_t at)
{
    uint64_t length = at - w->gapAt;
    bool unused = at == w->size && w->gapBlank != 0 && length >= ETL_BUFFER_HEADER;
    if (w->inGap && !unused) {
        Note(w->index, w->gapAt, "damaged: no buffer starts here, %llu bytes are skipped",
                (unsigned long long)length);
    }
    w->inGap = false;
}

/* Where to look for a buffer behind a damaged one. */
static uint64_t Skip(Walk *w, uint64_t at, uint64_t rest)
{
    if (!w->inGap) {
        w->inGap = true;
        w->gapAt = at;
        w->gapBlank = BLANK_ZERO | BLANK_ONES;
    }
    w->gapBlank &= Blankness(w->file + at, rest);
    uint64_t stride = w->compressed ? 0 : w->info->bufferSize;
    return stride >= ETL_BUFFER_HEADER && stride < rest ? at + stride : w->size;
}

static int CompareBuffers(const void *left, const void *right)
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

void EtlIndexBuild(EtlIndex *index, const uint8_t *file, uint64_t size, const EtlInfo *info)
{
    Walk w = {.index = index, .file = file, .size = size, .info = info};
    w.compressed = (info->mode & ETL_MODE_COMPRESSED) != 0;
    memset(index, 0, sizeof *index);
    for (uint64_t at = 0; at < size;) {
        uint64_t rest = size - at;
        uint32_t bufferSize = rest >= ETL_BUFFER_HEADER ? EtwLoad32(file + at + ETL_BUF_SIZE) : 0;
        if (!Plausible(&w, bufferSize, rest)) {
            at = Skip(&w, at, rest);
            continue;
        }
        EndGap(&w, at);
        TakeBuffer(&w, at, bufferSize);
        at += bufferSize;
    }
    EndGap(&w, size);
    if (w.packed != 0) {
        Note(index, w.packedAt,
                "%llu compressed buffers are skipped: this version does not decompress them",
                (unsigned long long)w.packed);
    }
    if (index->count > 1) {
        qsort(index->buffers, index->count, sizeof *index->buffers, CompareBuffers);
    }
}

void EtlIndexFree(EtlIndex *index)
{
    EtwFree(index->buffers);
    EtwFree(index->notes);
    memset(index, 0, sizeof *index);
}
