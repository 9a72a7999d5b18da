/*
 * etl/write/file_builder.c --
 *
 *	Builds a file from records. There is a stream for each (logger, CPU), found by a hash table.
 *	Each fills one buffer, which grows up to the buffer size, so that many streams with few
 *	records use little memory. Buffers are written when they are full. Those of one logger are
 *	numbered without gaps, as readers expect.
 */
#include "etl/write/file_builder.h"
#include "etl/compress/compress.h"
#include "etl/read/file_header.h"
#include "etl/record.h"

enum { MIN_BUFFER = 4096, MAX_BUFFER = 1 << 20, SIZE_UNIT = 1024, FIRST_ROOM = 16 };
enum { SECTOR = 512 }; /* a compressed file's header is padded to it */

/* The buffer of a (logger, CPU). Its header is built when it is full. */
typedef struct Stream {
    uint32_t key; /* logger << 16 | CPU */
    EtwText data; /* empty: no buffer */
    int64_t last; /* ticks of its last record */
    bool any;     /* it had a record */
} Stream;

typedef struct Numbering { /* the buffer numbers of a logger */
    uint16_t logger;
    int64_t sequence;
} Numbering;

struct EtlBuilder {
    const EtlInfo *base;
    EtlClock clock;
    uint32_t bufferSize;
    Stream *streams;
    uint32_t streamCount;
    uint32_t *table;   /* index into streams + 1; 0: free */
    uint32_t capacity; /* of the table, a power of 2, at least 2 * streamCount */
    uint32_t current;  /* stream of the last record */
    uint32_t begun;    /* number of streams with a buffer in memory */
    Numbering *numbers;
    uint32_t numberCount;
    uint32_t buffers; /* number written, including the header buffer */
    int64_t firstTime, lastTime;
    int64_t shift, tickShift; /* EtlHeaderChange */
    bool any;                 /* a record was added */
    EtlXpress *xpress;        /* NULL: buffers are not compressed */
    EtwText packed;           /* the compressed buffer */
    uint64_t bytes, converted, unset;
};

/* ---- Streams --------------------------------------------------------------------------------- */

static uint32_t slot(const EtlBuilder *o, uint32_t key)
{
    uint32_t at = key * 0x9E3779B1u & (o->capacity - 1);
    while (o->table[at] != 0 && o->streams[o->table[at] - 1].key != key) {
        at = (at + 1) & (o->capacity - 1);
    }
    return at;
}

static void growTable(EtlBuilder *o)
{
    o->capacity = o->capacity != 0 ? 2 * o->capacity : FIRST_ROOM;
    EtwFree(o->table);
    o->table = EtwAlloc(o->capacity * sizeof *o->table);
    o->streams = EtwRealloc(o->streams, o->capacity / 2 * sizeof *o->streams);
    for (uint32_t i = 0; i < o->streamCount; i++) {
        o->table[slot(o, o->streams[i].key)] = i + 1;
    }
}

static Stream *streamOf(EtlBuilder *o, uint16_t logger, uint16_t cpu)
{
    uint32_t key = (uint32_t)logger << 16 | cpu;
    if (o->current < o->streamCount && o->streams[o->current].key == key) {
        return &o->streams[o->current];
    }
    if (o->streamCount == o->capacity / 2) {
        growTable(o);
    }
    uint32_t at = slot(o, key);
    if (o->table[at] == 0) {
        o->streams[o->streamCount] = (Stream){.key = key};
        o->table[at] = ++o->streamCount;
    }
    o->current = o->table[at] - 1;
    return &o->streams[o->current];
}

static int64_t nextNumber(EtlBuilder *o, uint16_t logger)
{
    uint32_t i = 0;
    while (i < o->numberCount && o->numbers[i].logger != logger) {
        i++;
    }
    if (i == o->numberCount) {
        o->numbers = EtwRealloc(o->numbers, ++o->numberCount * sizeof *o->numbers);
        o->numbers[i] = (Numbering){logger, 0};
    }
    return ++o->numbers[i].sequence;
}

/* ---- Buffers --------------------------------------------------------------------------------- */

/* The first buffer has the loss marks of the inputs' buffers. */
static uint16_t lossFlags(const EtlBuilder *o)
{
    if (o->buffers != 1) {
        return 0;
    }
    return (o->base->eventsLostMarks != 0 ? ETL_FLAG_EVENTS_LOST : 0) |
           (o->base->buffersLostMarks != 0 ? ETL_FLAG_BUFFER_LOST : 0);
}

/* A large record may need more than the usual buffer size. */
static uint32_t sizeFor(const EtlBuilder *o, size_t used)
{
    return used <= o->bufferSize ? o->bufferSize
                                 : (uint32_t)(used + SIZE_UNIT - 1) & ~(uint32_t)(SIZE_UNIT - 1);
}

static void emitBuffer(EtlBuilder *o, EtwText *to, const void *data, size_t used, size_t size)
{
    EtwTextAdd(to, data, used);
    EtwTextReserve(to, size - used);
    memset(to->data + to->size, 0xFF, size - used);
    to->size += size - used;
    o->bytes += size;
    o->buffers++;
}

/*
 * Write a buffer of a compressed file: no padding, its header not compressed. Stored uncompressed
 * if compression does not reduce it.
 */
static void emitPacked(EtlBuilder *o, EtwText *to, EtlBufferHead *head, EtwText *data)
{
    const uint8_t *records = (const uint8_t *)data->data + ETL_BUFFER_HEADER;
    bool smaller = EtlXpressEncode(o->xpress, records, data->size - ETL_BUFFER_HEADER, &o->packed);
    head->size = smaller ? ETL_BUFFER_HEADER + (uint32_t)o->packed.size : (uint32_t)data->size;
    head->flags |= smaller ? ETL_FLAG_COMPRESSED : 0;
    EtlBufferHeadBuild(head, (uint8_t *)data->data);
    if (smaller) {
        memcpy(data->data + ETL_BUFFER_HEADER, o->packed.data, o->packed.size);
    }
    emitBuffer(o, to, data->data, head->size, head->size);
}

static void putBuffer(EtlBuilder *o, Stream *s, EtwText *to)
{
    uint16_t logger = (uint16_t)(s->key >> 16);
    uint32_t size = sizeFor(o, s->data.size);
    EtlBufferHead head = {size, (uint32_t)s->data.size, s->last, nextNumber(o, logger),
            (uint16_t)s->key, logger, lossFlags(o), ETL_BUFFER_GENERIC};
    if (o->xpress != NULL) {
        emitPacked(o, to, &head, &s->data);
    } else {
        EtlBufferHeadBuild(&head, (uint8_t *)s->data.data);
        emitBuffer(o, to, s->data.data, s->data.size, size);
    }
    s->data.size = 0;
    o->begun--;
}

/* Reserve a record of that padded size in the stream's buffer. */
static uint8_t *reserve(EtlBuilder *o, Stream *s, size_t size, EtwText *to)
{
    if (s->data.size != 0 && s->data.size + size > o->bufferSize) {
        putBuffer(o, s, to);
    }
    if (s->data.size == 0) {
        EtwTextReserve(&s->data, ETL_BUFFER_HEADER);
        s->data.size = ETL_BUFFER_HEADER;
        o->begun++;
    }
    if (s->data.capacity - s->data.size < size) {
        EtwTextReserve(&s->data, size);
    }
    uint8_t *out = (uint8_t *)s->data.data + s->data.size;
    s->data.size += size;
    return out;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* The event's time in ticks of the output; unchanged if they represent the same time there. */
static int64_t ticksOf(EtlBuilder *o, const EtwEvent *event)
{
    if (event->time == EtlClockTime(&o->clock, event->ticks)) {
        return event->ticks;
    }
    o->converted++;
    return EtlClockTicks(&o->clock, event->time);
}

static void copyRecord(const EtwEvent *event, int64_t ticks, uint8_t *out, size_t size)
{
    int64_t old;
    size_t peeked, timeAt;
    EtwStore64(out + size - 8, 0); /* padding */
    memcpy(out, event->record, event->recordSize);
    if (ticks != event->ticks && EtlRecordPeekAny(out, event->recordSize, &old, &peeked, &timeAt) &&
            timeAt != 0) {
        EtwStore64(out + timeAt, (uint64_t)ticks);
    }
}

static Stream *streamFor(EtlBuilder *o, const EtwEvent *event, const EtlEdit *edit)
{
    bool moved = edit != NULL && edit->fields >> ETL_EDIT_CPU & 1;
    return streamOf(o, event->logger, moved ? edit->cpu : event->cpu);
}

bool EtlBuilderInOrder(EtlBuilder *o, const EtwEvent *event, const EtlEdit *edit)
{
    const Stream *s = streamFor(o, event, edit);
    int64_t time = s->any ? EtlClockTime(&o->clock, s->last - o->tickShift) : INT64_MIN;
    return event->time >= time;
}

EtwStatus EtlBuilderAdd(EtlBuilder *o, const EtwEvent *event, const EtlEdit *edit, EtwText *to)
{
    bool copy = event->record != NULL;
    size_t size = copy ? EtwAlign8(event->recordSize) : EtlRecordSize(event);
    if (size < 8) {
        return ETW_E_LIMIT;
    }
    Stream *s = streamFor(o, event, edit);
    uint8_t *out = reserve(o, s, size, to);
    int64_t ticks = (int64_t)((uint64_t)ticksOf(o, event) + (uint64_t)o->tickShift);
    if (copy) {
        copyRecord(event, ticks, out, size);
    } else {
        EtwEvent own = *event;
        own.ticks = ticks;
        EtlRecordBuild(&own, out, size);
    }
    if (edit != NULL) {
        o->unset += EtlEditApply(edit, out, size) != 0;
    }
    s->last = ticks;
    s->any = true;
    o->firstTime = o->any && o->firstTime < event->time ? o->firstTime : event->time;
    o->lastTime = o->any && o->lastTime > event->time ? o->lastTime : event->time;
    o->any = true;
    return ETW_OK;
}

/* ---- The whole file -------------------------------------------------------------------------- */

/* Build the header from the template's header buffer, with its size and counts changed. */
static void buildHeader(const EtlBuilder *o, const EtlBuilderTotals *totals, EtwText *header)
{
    const EtlInfo *base = o->base;
    uint32_t used = base->headerBytes;
    /* Without a start time in the template, ticks are ns since 1970. */
    int64_t start = base->startTime != 0 ? base->startTime : o->firstTime - o->firstTime % 100;
    uint32_t stored = o->xpress != NULL ? (used + SECTOR - 1) / SECTOR * SECTOR : sizeFor(o, used);
    EtwTextAdd(header, base->headerBuffer, used);
    size_t fill = stored - used;
    EtwTextReserve(header, fill);
    memset(header->data + header->size, 0xFF, fill);
    header->size += fill;
    EtlHeaderChange change = {.bufferSize = sizeFor(o, used),
            .buffers = o->buffers,
            .stored = stored,
            .compressed = o->xpress != NULL,
            .eventsLost = totals->eventsLost,
            .buffersLost = totals->buffersLost,
            .start = start,
            .ticks0 = base->startTime != 0 ? base->ticks0 : start,
            .end = totals->end,
            .shift = o->shift,
            .tickShift = o->tickShift};
    EtlHeaderRewrite((uint8_t *)header->data, used, &change);
}

EtlBuilder *EtlBuilderNew(const EtlInfo *base, uint32_t bufferSize, bool compressed, EtwText *to)
{
    EtlBuilder *o = EtwAlloc(sizeof *o);
    EtwText header = {0};
    uint32_t size = bufferSize != 0 ? bufferSize : base->bufferSize;
    o->base = base;
    o->bufferSize = size < MIN_BUFFER ? MIN_BUFFER : size > MAX_BUFFER ? MAX_BUFFER : size;
    o->bufferSize &= ~(uint32_t)(SIZE_UNIT - 1);
    EtlClockOfInfo(base, &o->clock);
    o->xpress = compressed && !EtlIsOld(base) ? EtlXpressNew() : NULL;
    growTable(o);
    buildHeader(o, &(EtlBuilderTotals){0}, &header);
    emitBuffer(o, to, header.data, header.size, header.size);
    EtwTextFree(&header);
    return o;
}

EtlBuilder *EtlBuilderNewLike(const EtlBuilder *other, uint32_t bufferMax, EtwText *to)
{
    uint32_t size = other->bufferSize < bufferMax ? other->bufferSize : bufferMax;
    EtlBuilder *o = EtlBuilderNew(other->base, size, other->xpress != NULL, to);
    o->shift = other->shift;
    o->tickShift = other->tickShift;
    return o;
}

uint64_t EtlBuilderSizeAfterNext(const EtlBuilder *o)
{
    return o->bytes + ((uint64_t)o->begun + 1) * o->bufferSize;
}

void EtlBuilderShift(EtlBuilder *o, int64_t ns)
{
    o->shift = ns;
    o->tickShift = o->clock.filetime ? ns / 100 : 0;
}

int64_t EtlBuilderTicks(const EtlBuilder *o, int64_t time, int64_t *timePtr)
{
    int64_t ticks = EtlClockTicks(&o->clock, time);
    *timePtr = EtlClockTime(&o->clock, ticks);
    return ticks;
}

void EtlBuilderEnd(EtlBuilder *o, const EtlBuilderTotals *totals, EtwText *to, EtwText *header)
{
    for (uint32_t i = 0; i < o->streamCount; i++) {
        if (o->streams[i].data.size != 0) {
            putBuffer(o, &o->streams[i], to);
        }
    }
    EtlBuilderTotals own = *totals;
    if (own.end == 0) { /* this file is complete, even if an input was not closed */
        own.end = o->any ? o->lastTime : o->base->startTime;
    }
    buildHeader(o, &own, header);
}

void EtlBuilderSlice(EtlBuilder *o, const EtlBuilderTotals *totals, EtwText *to)
{
    static const EtlBufferHead mark = {
            .size = ETL_BUFFER_HEADER, .used = ETL_BUFFER_HEADER, .type = ETL_BUFFER_EMPTY_MARKER};
    EtwText header = {0};
    EtlBuilderEnd(o, totals, to, &header);
    memcpy(to->data, header.data, header.size);
    EtwTextFree(&header);
    EtwTextReserve(to, ETL_BUFFER_HEADER);
    EtlBufferHeadBuild(&mark, (uint8_t *)to->data + to->size);
    to->size += ETL_BUFFER_HEADER;
    o->bytes += ETL_BUFFER_HEADER;
}

void EtlBuilderRestart(EtlBuilder *o, EtwText *to)
{
    EtwText header = {0};
    o->buffers = 0;
    for (uint32_t i = 0; i < o->numberCount; i++) {
        o->numbers[i].sequence = 0;
    }
    buildHeader(o, &(EtlBuilderTotals){0}, &header);
    emitBuffer(o, to, header.data, header.size, header.size);
    EtwTextFree(&header);
}

uint64_t EtlBuilderBytes(const EtlBuilder *o)
{
    return o->bytes;
}

uint64_t EtlBuilderConverted(const EtlBuilder *o)
{
    return o->converted;
}

uint64_t EtlBuilderUnset(const EtlBuilder *o)
{
    return o->unset;
}

void EtlBuilderFree(EtlBuilder *o)
{
    if (o == NULL) {
        return;
    }
    for (uint32_t i = 0; i < o->streamCount; i++) {
        EtwTextFree(&o->streams[i].data);
    }
    EtlXpressFree(o->xpress);
    EtwTextFree(&o->packed);
    EtwFree(o->streams);
    EtwFree(o->table);
    EtwFree(o->numbers);
    EtwFree(o);
}
