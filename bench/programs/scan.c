/*
 * bench/programs/scan.c --
 *
 *	The cost of reading an .etl file before decoding: opening it, every event with all header
 *	fields, and with header filters that few events pass; compared with copying the file's bytes
 *	by memcpy. Prints `name value unit`, the best of several runs.
 *
 *	usage: scan make FILE MB PAYLOAD [CPUS]     write a file of events with that payload
 *	       scan read FILE
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/os.h"
#include "etl/format.h"
#include "etl/read/reader.h"
#include "etl/write/writer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 5, PROVIDERS = 100, CHUNK = 1 << 18 };
static const int64_t startWall = 1700000000LL * 1000000000;

static double now(void)
{
    OsInstant t;
    OsNow(&t);
    return (double)t.steady / 1e9;
}

static void fail(const EtwError *err)
{
    fprintf(stderr, "scan: %s\n", err->message);
    exit(1);
}

/* Events of 100 providers, ids 1 to 50, 20 processes; the CPUs alternate after some events each. */
static void make(const char *path, uint64_t size, uint32_t payload, int cpus)
{
    EtwError err;
    EtlWriter *writer;
    EtlWriterConfig config = {
            .path = path, .loggerName = "scan", .cpuMHz = 2000, .mode = ETL_MODE_SEQUENTIAL};
    config.bufferSize = 65536;
    config.cpus = cpus;
    config.startWall = startWall;
    if (EtlWriterOpen(&writer, &config, &err) != ETW_OK) {
        fail(&err);
    }
    uint8_t *data = EtwAlloc(payload + 1);
    uint64_t written = 0, count = 0;
    for (; written < size; count++, written += EtwAlign8(0x50 + payload)) {
        EtwEvent event = {.ticks = (int64_t)(count * 1000), .kind = ETL_EVENT64, .pointerSize = 8};
        event.provider.bytes[0] = (uint8_t)(count * 7 % PROVIDERS);
        event.desc.id = (uint16_t)(count % 50 + 1);
        event.pid = (uint32_t)(count % 20 + 100);
        event.tid = event.pid + 1;
        event.cpu = (uint16_t)(count / 37 % (unsigned)cpus);
        event.payload = data;
        event.payloadSize = payload;
        if (EtlWriterAdd(writer, &event) != ETW_OK) {
            exit(1);
        }
    }
    EtwFree(data);
    if (EtlWriterClose(writer, 0, startWall, &err) != ETW_OK) {
        fail(&err);
    }
}

static void line(const char *name, double value, const char *unit)
{
    printf("%s %.3f %s\n", name, value, unit);
}

/*
 * Best rate of reading the whole file with that filter; *deliveredPtr: number of events that
 * passed.
 */
static double scan(EtlReader *r, const EtlFilter *filter, uint64_t *deliveredPtr)
{
    double best = 1e9;
    EtwEvent event;
    for (int i = 0; i < RUNS; i++) {
        double start = now();
        EtlReaderSetFilter(r, filter);
        while (EtlReaderNext(r, &event) == ETW_OK) {
            __asm__ volatile("" ::"r"(&event) : "memory");
        }
        double t = now() - start;
        best = t < best ? t : best;
    }
    *deliveredPtr = EtlReaderInfo(r)->records;
    return best;
}

static void one(EtlReader *r, const char *name, const EtlFilter *filter, uint64_t events)
{
    uint64_t passed;
    double t = scan(r, filter, &passed);
    char text[60];
    snprintf(text, sizeof text, "scan.%s", name);
    line(text, (double)(events != 0 ? events : passed) / t / 1e6, "Mevents/s");
    snprintf(text, sizeof text, "scan.%s.bytes", name);
    line(text, (double)EtlReaderInfo(r)->fileSize / t / 1e9, "GB/s");
}

static double copy(const char *path)
{
    OsMap map;
    EtwError err;
    double best = 1e9;
    uint8_t *to = EtwAlloc(CHUNK);
    if (OsMapFile(&map, path, &err) != ETW_OK) {
        fail(&err);
    }
    for (int i = 0; i < RUNS; i++) {
        double start = now();
        for (size_t at = 0; at < map.size; at += CHUNK) {
            size_t n = map.size - at < CHUNK ? map.size - at : CHUNK;
            memcpy(to, map.base + at, n);
            __asm__ volatile("" ::"r"(to) : "memory");
        }
        double t = now() - start;
        best = t < best ? t : best;
    }
    double rate = (double)map.size / best / 1e9;
    OsUnmap(&map);
    EtwFree(to);
    return rate;
}

static double openTime(const char *path, EtlReader **readerPtr)
{
    EtwError err;
    EtwEvent event;
    double best = 1e9;
    for (int i = 0; i < RUNS; i++) {
        double start = now();
        if (EtlReaderOpen(readerPtr, path, NULL, NULL, &err) != ETW_OK) {
            fail(&err);
        }
        EtlReaderNext(*readerPtr, &event);
        double t = now() - start;
        best = t < best ? t : best;
        if (i + 1 < RUNS) {
            EtlReaderClose(*readerPtr);
        }
    }
    return best;
}

static void measure(const char *path)
{
    EtlReader *r;
    uint64_t events;
    static const EtwGuid provider = {{1}};
    static const uint16_t id = 3;
    static const uint32_t pid = 104;
    EtlFilter all = {.from = INT64_MIN, .to = INT64_MAX}, filter = all;
    line("scan.open", openTime(path, &r) * 1e3, "ms");
    double t = scan(r, NULL, &events);
    line("scan.events", (double)events, "events");
    line("scan.all", (double)events / t / 1e6, "Mevents/s");
    line("scan.all.bytes", (double)EtlReaderInfo(r)->fileSize / t / 1e9, "GB/s");
    line("scan.memcpy", copy(path), "GB/s");
    filter.providers = &provider;
    filter.providerCount = 1;
    one(r, "provider", &filter, events);
    filter.ids = &id;
    filter.idCount = 1;
    filter.pids = &pid;
    filter.pidCount = 1;
    one(r, "provider+id+pid", &filter, events);
    filter = all;
    filter.from = EtlReaderInfo(r)->startTime + 1000000;
    filter.to = filter.from + 1000000;
    one(r, "millisecond", &filter, events);
    EtlReaderClose(r);
}

int main(int argc, char **argv)
{
    OsInit();
    if (argc >= 5 && strcmp(argv[1], "make") == 0) {
        make(argv[2], strtoull(argv[3], NULL, 10) << 20, (uint32_t)strtoul(argv[4], NULL, 10),
                argc > 5 ? atoi(argv[5]) : 4);
    } else if (argc == 3 && strcmp(argv[1], "read") == 0) {
        measure(argv[2]);
    } else {
        fprintf(stderr, "usage: scan make FILE MB PAYLOAD ?CPUS? | scan read FILE\n");
        return 2;
    }
    return 0;
}
