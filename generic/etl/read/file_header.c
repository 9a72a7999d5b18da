/*
 * etl/read/file_header.c --
 *
 *	The header buffer of a file: parsing, building, and the clock that it defines. Conversions
 *	of times are exact: integer arithmetic, truncated once. Reads no other buffer.
 */
#include "etl/read/file_header.h"
#include "base/unicode.h"
#include "base/calendar.h"
#include "base/wide.h"
#include "etl/record.h"

enum {
    NAME_MAX_BYTES = 1024
}; /* maximum bytes of the session's name in a header that is written */
/* TRACE_LOGFILE_HEADER, offsets behind the record's own header; from ETL_LOG_ZONE on, the 32-bit
   form is 8 bytes shorter (two pointers). */
enum {
    LOG_AT = ETL_BUFFER_HEADER + ETL_SYSTEM_HEADER,
    LOG_BUFFER_SIZE = 0x00,
    LOG_MAJOR = 0x04,
    LOG_MINOR = 0x05,
    LOG_SUB = 0x06,
    LOG_SUBMINOR = 0x07,
    LOG_BUILD = 0x08,
    LOG_CPUS = 0x0c,
    LOG_END = 0x10,
    LOG_TIMER = 0x18,
    LOG_MAX_SIZE = 0x1c,
    LOG_MODE = 0x20,
    LOG_BUFFERS = 0x24,
    LOG_START_BUFFERS = 0x28,
    LOG_POINTER = 0x2c,
    LOG_EVENTS_LOST = 0x30,
    LOG_MHZ = 0x34,
    LOG_ZONE = 0x48, /* TIME_ZONE_INFORMATION */
    LOG_STANDARD_NAME = 0x4c,
    LOG_STANDARD_BIAS = 0x9c,
    LOG_DAYLIGHT_NAME = 0xa0,
    LOG_DAYLIGHT_BIAS = 0xf0,
    LOG_BOOT = 0xf8,
    LOG_FREQUENCY = 0x100,
    LOG_START = 0x108,
    LOG_CLOCK = 0x110,
    LOG_BUFFERS_LOST = 0x114
};
enum { ZONE_NAME_BYTES = 64 };
enum { CLOCK_QPC = 1, CLOCK_SYSTEM = 2, CLOCK_CYCLES = 3 };
enum { TICKS_A_SECOND_OF_FILETIME = 10000000, NS_A_SECOND = 1000000000 };

int64_t EtlWallOfFiletime(int64_t filetime)
{
    const int64_t limit = INT64_MAX / 100;
    if (filetime == 0) {
        return 0;
    }
    if (filetime < ETW_FILETIME_EPOCH - limit) {
        return INT64_MIN;
    }
    int64_t since = filetime - ETW_FILETIME_EPOCH;
    return since > limit ? INT64_MAX : since * 100;
}

/* floor(wall / 100), also for times before 1970. */
int64_t EtlFiletimeOfWall(int64_t wall)
{
    return wall == 0 ? 0 : EtwFiletimeOfNs(wall);
}

int64_t EtlClockDivide(const EtlClock *clock, int64_t ticks)
{
    if (clock->filetime) {
        uint64_t bias = ticks != clock->ticks0 ? (uint64_t)clock->localBias : 0;
        return EtlWallOfFiletime((int64_t)((uint64_t)ticks + bias));
    }
    int64_t elapsed = (int64_t)((uint64_t)ticks - (uint64_t)clock->ticks0);
    int64_t frequency = (int64_t)clock->frequency;
    int64_t seconds = elapsed / frequency;
    int64_t rest = elapsed % frequency;
    if (rest < 0) {
        seconds--;
        rest += frequency;
    }
    uint64_t ns = (uint64_t)frequency <= UINT64_MAX / NS_A_SECOND
                          ? (uint64_t)rest * NS_A_SECOND / (uint64_t)frequency
                          : EtwMulDiv((uint64_t)rest, NS_A_SECOND, (uint64_t)frequency);
    return (int64_t)((uint64_t)clock->start + (uint64_t)seconds * NS_A_SECOND + ns);
}

/* ceil(a * b / c) for any sign of a, limited to the range of int64_t. */
static int64_t scaleUp(EtwWide a, int64_t b, int64_t c)
{
    EtwWide product, quotient, rest;
    int64_t result;
    if (!EtwWideMul(a, EtwWideInt(b), &product)) {
        return EtwWideSign(a) < 0 ? INT64_MIN : INT64_MAX;
    }
    EtwWideDivide(product, EtwWideInt(c), &quotient, &rest);
    EtwWideAdd(quotient, EtwWideInt(EtwWideSign(rest)), &quotient);
    return EtwWideFits(quotient, &result) ? result
           : EtwWideSign(quotient) < 0    ? INT64_MIN
                                          : INT64_MAX;
}

int64_t EtlClockTicks(const EtlClock *clock, int64_t wall)
{
    if (wall == INT64_MIN || wall == INT64_MAX) {
        return wall;
    }
    if (clock->filetime) {
        return scaleUp(EtwWideInt(wall), 1, 100) + ETW_FILETIME_EPOCH - clock->localBias;
    }
    EtwWide elapsed;
    int64_t ticks;
    EtwWideSub(EtwWideInt(wall), EtwWideInt(clock->start), &elapsed);
    bool over = __builtin_add_overflow(
            scaleUp(elapsed, (int64_t)clock->frequency, NS_A_SECOND), clock->ticks0, &ticks);
    return !over ? ticks : clock->ticks0 < 0 ? INT64_MIN : INT64_MAX;
}

static void clockOf(const EtlInfo *info, int64_t startFiletime, EtlClock *clock)
{
    clock->ticks0 = info->ticks0;
    clock->start = EtlWallOfFiletime(startFiletime);
    clock->frequency = (uint64_t)info->frequency;
    clock->filetime = info->clock == CLOCK_SYSTEM;
    clock->multiplier = !clock->filetime && NS_A_SECOND % clock->frequency == 0
                                ? (uint32_t)(NS_A_SECOND / clock->frequency)
                                : 0;
}

void EtlClockOfInfo(const EtlInfo *info, EtlClock *clock)
{
    memset(clock, 0, sizeof *clock);
    clockOf(info, EtlFiletimeOfWall(info->startTime), clock);
    clock->localBias = info->localBias;
}

bool EtlHeaderIsEtl(const uint8_t *data, size_t size)
{
    if (size < ETL_BUFFER_HEADER + 8) {
        return false;
    }
    const uint8_t *record = data + ETL_BUFFER_HEADER;
    return EtwLoad32(data + ETL_BUF_SIZE) >= ETL_BUFFER_HEADER &&
           (record[2] == ETL_SYSTEM32 || record[2] == ETL_SYSTEM64) &&
           record[3] == ETL_MARK_TYPED && EtwLoad16(record + 6) == 0;
}

/*
 * Convert UTF-16 text up to its NUL to UTF-8, truncated to the capacity. The cursor is moved after
 * the NUL.
 */
static void takeText(EtwBytes *b, char *out, size_t capacity)
{
    const uint8_t *start = b->at;
    size_t units = 0;
    while (EtwBytesLeft(b) >= 2 && EtwTake16(b) != 0) {
        units++;
    }
    EtwText text = {0};
    EtwTextUtf16(&text, start, units < capacity ? units : capacity);
    size_t size = text.size < capacity ? text.size : EtwUtf8Cut(text.data, capacity - 1);
    memcpy(out, size != 0 ? text.data : "", size);
    out[size] = 0;
    EtwTextFree(&text);
}

/* The clock's rate in ticks per second; the usual one if the header has no valid rate. */
static int64_t frequencyOf(const EtlInfo *info, int64_t perfFrequency, uint32_t mhz)
{
    if (info->clock == CLOCK_CYCLES && mhz != 0) {
        return (int64_t)mhz * 1000000;
    }
    if (info->clock == CLOCK_SYSTEM || perfFrequency <= 0) {
        return TICKS_A_SECOND_OF_FILETIME;
    }
    return perfFrequency;
}

/*
 * Files from before Windows Vista may lack the kind of clock. FILETIME was the default then, and
 * the session's start is the same on both clocks.
 */
static uint32_t clockKind(uint32_t kind, int64_t ticks0, int64_t start)
{
    if (kind >= CLOCK_QPC && kind <= CLOCK_CYCLES) {
        return kind;
    }
    uint64_t apart = (uint64_t)ticks0 - (uint64_t)start + TICKS_A_SECOND_OF_FILETIME;
    return start != 0 && apart < 2 * (uint64_t)TICKS_A_SECOND_OF_FILETIME ? CLOCK_SYSTEM
                                                                          : CLOCK_QPC;
}

static void parseZone(const uint8_t *late, EtlInfo *info)
{
    EtwBytes standard = EtwBytesOf(late + LOG_STANDARD_NAME, ZONE_NAME_BYTES);
    EtwBytes daylight = EtwBytesOf(late + LOG_DAYLIGHT_NAME, ZONE_NAME_BYTES);
    info->zoneBias = (int32_t)EtwLoad32(late + LOG_ZONE);
    info->standardBias = (int32_t)EtwLoad32(late + LOG_STANDARD_BIAS);
    info->daylightBias = (int32_t)EtwLoad32(late + LOG_DAYLIGHT_BIAS);
    takeText(&standard, info->standardName, sizeof info->standardName);
    takeText(&daylight, info->daylightName, sizeof info->daylightName);
}

static void parseFixed(const uint8_t *log, size_t shift, EtlInfo *info, EtlClock *clock)
{
    const uint8_t *late = log - shift; /* fields after the pointers */
    int64_t start = (int64_t)EtwLoad64(late + LOG_START);
    info->bufferSize = EtwLoad32(log + LOG_BUFFER_SIZE);
    info->major = log[LOG_MAJOR];
    info->minor = log[LOG_MINOR];
    info->layoutMajor = log[LOG_SUB];
    info->layoutMinor = log[LOG_SUBMINOR];
    info->build = EtwLoad32(log + LOG_BUILD);
    info->cpuMHz = EtwLoad32(log + LOG_MHZ);
    info->timerResolution = EtwLoad32(log + LOG_TIMER);
    info->maxFileSize = EtwLoad32(log + LOG_MAX_SIZE);
    info->buffersWritten = EtwLoad32(log + LOG_BUFFERS);
    info->cpus = EtwLoad32(log + LOG_CPUS);
    info->mode = EtwLoad32(log + LOG_MODE);
    info->pointerSize = EtwLoad32(log + LOG_POINTER);
    info->eventsLost = EtwLoad32(log + LOG_EVENTS_LOST);
    info->endTime = EtlWallOfFiletime((int64_t)EtwLoad64(log + LOG_END));
    info->closed = info->endTime != 0;
    parseZone(late, info);
    info->bootTime = EtlWallOfFiletime((int64_t)EtwLoad64(late + LOG_BOOT));
    info->clock = clockKind(EtwLoad32(late + LOG_CLOCK), info->ticks0, start);
    int64_t frequency = (int64_t)EtwLoad64(late + LOG_FREQUENCY);
    info->frequency = frequencyOf(info, frequency, info->cpuMHz);
    info->buffersLost = EtwLoad32(late + LOG_BUFFERS_LOST);
    info->startTime = EtlWallOfFiletime(start);
    clockOf(info, start, clock);
}

void EtlHeaderLocalTime(EtlInfo *info, EtlClock *clock, int64_t first)
{
    const int64_t minute = 60LL * TICKS_A_SECOND_OF_FILETIME;
    int64_t apart = (int64_t)((uint64_t)info->ticks0 - (uint64_t)first) / minute;
    int64_t bias = (int64_t)info->zoneBias + info->standardBias;
    int64_t daylight = (int64_t)info->zoneBias + info->daylightBias;
    int64_t off = apart - bias, daylightOff = apart - daylight;
    if ((daylightOff < 0 ? -daylightOff : daylightOff) < (off < 0 ? -off : off)) {
        bias = daylight;
    }
    info->localTime = true;
    info->localBias = clock->localBias = bias * minute;
}

void EtlHeaderReference(EtlInfo *info, EtlClock *clock, int64_t start, int64_t ticks)
{
    info->ticks0 = ticks;
    info->startTime = EtlWallOfFiletime(start);
    clockOf(info, start, clock);
}

/* Parse the further records in the header buffer that describe the file. */
static void parseFurther(const uint8_t *at, const uint8_t *end, EtlInfo *info)
{
    EtwEvent event;
    size_t size;
    while (at < end && EtlRecordParse(at, (size_t)(end - at), &event, &size)) {
        EtwBytes data = EtwBytesOf(event.payload, event.payloadSize);
        bool kernel = event.classic && event.kind <= ETL_SYSTEM64;
        if (kernel && event.hook == ETL_HOOK_BUILD_LAB) {
            const uint8_t *nul = memchr(data.at, 0, EtwBytesLeft(&data));
            size_t n = nul != NULL ? (size_t)(nul - data.at) : EtwBytesLeft(&data);
            EtwText text = {0};
            EtwTextUtf8(&text, data.at, n);
            n = text.size < sizeof info->buildLab ? text.size : sizeof info->buildLab - 1;
            memcpy(info->buildLab, n != 0 ? text.data : "", n);
            EtwTextFree(&text);
        } else if (kernel && event.hook == ETL_HOOK_PARTITION &&
                   event.payloadSize >= sizeof info->partitionInfo) {
            info->partition = true;
            memcpy(info->partitionInfo, data.at, sizeof info->partitionInfo);
        } else if (kernel &&
                   (event.hook == ETL_HOOK_EXTENSION || event.hook == ETL_HOOK_GROUP_MASKS) &&
                   event.payloadSize >= sizeof info->groupMasks) {
            info->hasGroupMasks = true;
            memcpy(info->groupMasks, data.at, sizeof info->groupMasks);
        }
        at += size < (size_t)(end - at) ? size : (size_t)(end - at);
    }
}

EtwStatus EtlHeaderParse(const uint8_t *data, size_t size, const char *name, EtlInfo *info,
        EtlClock *clock, EtwError *errPtr)
{
    if (!EtlHeaderIsEtl(data, size)) {
        return EtwFail(errPtr, ETW_E_FORMAT, size == 0 ? "EMPTY" : "NOTETL", name,
                size == 0 ? "\"%s\" is empty" : "\"%s\" is not an .etl file", name);
    }
    const uint8_t *record = data + ETL_BUFFER_HEADER;
    size_t shift = record[2] == ETL_SYSTEM64 ? 0 : 8;
    size_t fixed = ETL_SYSTEM_HEADER + ETL_LOGFILE_HEADER64 - shift;
    size_t length = EtwLoad16(record + 4);
    if (length < fixed) {
        return EtwFail(errPtr, ETW_E_FORMAT, "HEADER", name,
                "\"%s\" is damaged: its header record has %u bytes, but at least %u are needed",
                name, (unsigned)length, (unsigned)fixed);
    }
    if (length > size - ETL_BUFFER_HEADER) {
        return EtwFail(errPtr, ETW_E_FORMAT, "TRUNCATED", name,
                "\"%s\" is truncated: it ends at byte %llu, inside its header", name,
                (unsigned long long)size);
    }
    memset(info, 0, sizeof *info);
    info->fileSize = size;
    info->ticks0 = (int64_t)EtwLoad64(record + 0x10);
    parseFixed(data + LOG_AT, shift, info, clock);
    EtwBytes strings = EtwBytesOf(record + fixed, length - fixed);
    takeText(&strings, info->loggerName, sizeof info->loggerName);
    takeText(&strings, info->logFile, sizeof info->logFile);
    size_t end = EtwLoad32(data + ETL_BUF_OFFSET), used = ETL_BUFFER_HEADER + EtwAlign8(length);
    size_t whole = EtwLoad32(data + ETL_BUF_SIZE);
    whole = whole < size ? whole : size;
    end = end < whole ? end : whole;
    info->headerBuffer = data;
    info->headerBytes =
            (uint32_t)(end > ETL_BUFFER_HEADER + length ? end : ETL_BUFFER_HEADER + length);
    if (used < end) {
        parseFurther(data + used, data + end, info);
    }
    return ETW_OK;
}

void EtlBufferHeadBuild(const EtlBufferHead *head, uint8_t *out)
{
    memset(out, 0, ETL_BUFFER_HEADER);
    EtwStore32(out + ETL_BUF_SIZE, head->size);
    EtwStore32(out + ETL_BUF_SAVED, head->used);
    EtwStore32(out + ETL_BUF_CURRENT, head->used);
    EtwStore64(out + ETL_BUF_TIME, (uint64_t)head->time);
    EtwStore64(out + ETL_BUF_SEQUENCE, (uint64_t)head->sequence);
    EtwStore16(out + ETL_BUF_CPU, head->cpu);
    EtwStore16(out + ETL_BUF_LOGGER, head->logger);
    EtwStore32(out + ETL_BUF_STATE, ETL_STATE_FLUSH);
    EtwStore32(out + ETL_BUF_OFFSET, head->used);
    EtwStore16(out + ETL_BUF_FLAG, head->flags | ETL_FLAG_PROC_INDEX);
    EtwStore16(out + ETL_BUF_TYPE, head->type);
}

static uint32_t clamp32(uint64_t count)
{
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* Shift a time, unless it is 0 (none). */
static void shift64(uint8_t *at, int64_t by)
{
    uint64_t old = EtwLoad64(at);
    EtwStore64(at, old != 0 ? old + (uint64_t)by : 0);
}

/* Shift the times of the records in the header buffer. */
static void shiftRecords(uint8_t *data, size_t used, int64_t by)
{
    int64_t ticks;
    size_t size, timeAt;
    for (size_t at = ETL_BUFFER_HEADER;
            at < used && EtlRecordPeekAny(data + at, used - at, &ticks, &size, &timeAt);
            at += size) {
        if (timeAt != 0) {
            shift64(data + at + timeAt, by);
        }
        if (size > used - at) {
            break;
        }
    }
}

/* The version of the layout, 2.0 for compressed files. */
static void putLayout(uint8_t *log, bool compressed)
{
    log[LOG_SUB] = compressed ? 2 : 1;
    log[LOG_SUBMINOR] = compressed ? 0 : 5;
}

void EtlHeaderRewrite(uint8_t *data, size_t used, const EtlHeaderChange *change)
{
    enum {
        ORDER = ETL_MODE_CIRCULAR | ETL_MODE_APPEND | ETL_MODE_NEWFILE | ETL_MODE_BUFFERING,
        GONE = ORDER | ETL_MODE_REALTIME | ETL_MODE_COMPRESSED
    };
    uint8_t *log = data + LOG_AT;
    uint8_t *late = log - (data[ETL_BUFFER_HEADER + 2] == ETL_SYSTEM64 ? 0 : 8);
    EtlBufferHead head = {change->stored, (uint32_t)used, (int64_t)EtwLoad64(data + ETL_BUF_TIME),
            (int64_t)EtwLoad64(data + ETL_BUF_SEQUENCE), EtwLoad16(data + ETL_BUF_CPU),
            EtwLoad16(data + ETL_BUF_LOGGER), ETL_FLAG_FLUSH_MARKER, ETL_BUFFER_HEADER_TYPE};
    EtlBufferHeadBuild(&head, data);
    EtwStore32(log + LOG_BUFFER_SIZE, change->bufferSize);
    if (change->compressed || log[LOG_SUB] == 2) { /* the layout of compressed files */
        putLayout(log, change->compressed);
    }
    uint32_t mode = EtwLoad32(log + LOG_MODE);
    uint32_t sequential =
            mode & ORDER ? ETL_MODE_SEQUENTIAL : 0; /* neither bit also means sequential */
    uint32_t packed = change->compressed ? ETL_MODE_COMPRESSED : 0;
    EtwStore32(log + LOG_MODE, (mode & ~(uint32_t)GONE) | sequential | packed);
    EtwStore32(log + LOG_MAX_SIZE, 0);
    EtwStore32(log + LOG_BUFFERS, change->buffers);
    EtwStore32(log + LOG_EVENTS_LOST, clamp32(change->eventsLost));
    EtwStore32(late + LOG_BUFFERS_LOST, clamp32(change->buffersLost));
    EtwStore64(log + LOG_END, (uint64_t)EtlFiletimeOfWall(change->end) + (change->end % 100 != 0));
    if (EtwLoad64(late + LOG_START) == 0) {
        EtwStore64(late + LOG_START, (uint64_t)EtlFiletimeOfWall(change->start));
        EtwStore64(data + ETL_BUFFER_HEADER + 0x10, (uint64_t)change->ticks0);
    }
    if (change->shift != 0) {
        shift64(late + LOG_START, change->shift / 100);
        shift64(late + LOG_BOOT, change->shift / 100);
        shift64(log + LOG_END, change->shift / 100);
    }
    if (change->tickShift != 0) {
        shiftRecords(data, used, change->tickShift);
    }
}

/*
 * Store the text as UTF-16 with a NUL at out, at most `capacity` bytes (at least 2). Returns the
 * size.
 */
static size_t putText(uint8_t *out, size_t capacity, const char *text)
{
    EtwText wide = {0};
    EtwTextToUtf16(&wide, text, strlen(text));
    size_t size = wide.size;
    if (size > capacity - 2) {
        size = (capacity - 2) & ~(size_t)1;
        if (size >= 2 && ((uint8_t)wide.data[size - 1] & 0xFC) == 0xD8) {
            size -= 2; /* do not split a surrogate pair */
        }
    }
    if (size != 0) {
        memcpy(out, wide.data, size);
    }
    EtwStore16(out + size, 0);
    EtwTextFree(&wide);
    return size + 2;
}

static void putFixed(const EtlHeader *h, uint8_t *log)
{
    memset(log, 0, ETL_LOGFILE_HEADER64);
    EtwStore32(log + LOG_BUFFER_SIZE, h->bufferSize);
    log[LOG_MAJOR] = 10;
    putLayout(log, (h->mode & ETL_MODE_COMPRESSED) != 0);
    EtwStore32(log + LOG_BUILD, 19041);
    EtwStore32(log + LOG_CPUS, h->cpus);
    EtwStore64(log + LOG_END, (uint64_t)h->end);
    EtwStore32(log + LOG_TIMER, 156250);
    EtwStore32(log + LOG_MAX_SIZE, h->maxMB);
    EtwStore32(log + LOG_MODE, h->mode);
    EtwStore32(log + LOG_BUFFERS, h->buffers);
    EtwStore32(log + LOG_START_BUFFERS, 1);
    EtwStore32(log + LOG_POINTER, 8);
    EtwStore32(log + LOG_EVENTS_LOST, h->eventsLost);
    EtwStore32(log + LOG_MHZ, h->cpuMHz);
    EtwStore32(log + LOG_ZONE, (uint32_t)h->zoneBias);
    EtwStore64(log + LOG_BOOT, (uint64_t)h->boot);
    EtwStore64(log + LOG_FREQUENCY, NS_A_SECOND);
    EtwStore64(log + LOG_START, (uint64_t)h->start);
    EtwStore32(log + LOG_CLOCK, CLOCK_QPC);
}

static void putRecordHead(const EtlHeader *h, uint8_t *record, size_t size)
{
    memset(record, 0, ETL_SYSTEM_HEADER);
    EtwStore16(record, 2); /* version */
    record[2] = ETL_SYSTEM64;
    record[3] = ETL_MARK_TYPED;
    EtwStore16(record + 4, (uint16_t)size); /* hook 0 follows: EventTrace/Header */
    EtwStore32(record + 8, h->tid);
    EtwStore32(record + 12, h->pid);
    EtwStore64(record + 16, (uint64_t)h->ticks0);
}

size_t EtlHeaderBuild(const EtlHeader *h, uint8_t *out)
{
    uint32_t stored = h->stored != 0 ? h->stored : h->bufferSize;
    size_t limit = stored < ETL_MAX_RECORD ? stored : ETL_MAX_RECORD - 7;
    size_t used = LOG_AT + ETL_LOGFILE_HEADER64, half = (limit - used) / 2;
    putFixed(h, out + LOG_AT);
    used += putText(out + used, half < NAME_MAX_BYTES ? half : NAME_MAX_BYTES, h->loggerName);
    used += putText(out + used, limit - used, h->path);
    putRecordHead(h, out + ETL_BUFFER_HEADER, used - ETL_BUFFER_HEADER);
    while (used % 8 != 0) {
        out[used++] = 0;
    }
    EtlBufferHead head = {stored, (uint32_t)used, 0, 0, 0, h->loggerId, ETL_FLAG_FLUSH_MARKER,
            ETL_BUFFER_HEADER_TYPE};
    EtlBufferHeadBuild(&head, out);
    return used;
}
