/*
 * bench/programs/etl_decode.c --
 *
 *	The cost of decoding an .etl file: every event in time order, its schema, every field of its
 *	payload as a typed C value. Prints `name value unit`, the best of several runs.
 *
 *	usage: etl_decode make FILE EVENTS [LOOKALIKES]     write TraceLogging events of 48 bytes
 *	       payload; every LOOKALIKES-th one is of another provider
 *	       etl_decode read FILE [RUNS]
 */
#include "base/text.h"
#include "base/os.h"
#include "etl/format.h"
#include "etl/write/writer.h"
#include "flow/source/source.h"
#include "schema/model/decode.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 5, PAYLOAD = 48, TEXT = 20 };
static const int64_t startWall = 1700000000LL * 1000000000;

static double now(void)
{
    OsInstant t;
    OsNow(&t);
    return (double)t.steady / 1e9;
}

static void fail(const EtwError *err)
{
    fprintf(stderr, "etl_decode: %s\n", err->message);
    exit(1);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static void encode(EtwText *meta, EtwText *traits, const char *provider)
{
    static const Etw_Field fields[] = {{"Sequence", ETW_IN_UINT64, 0, 0, 0},
            {"Size", ETW_IN_UINT32, 0, 0, 0}, {"Status", ETW_IN_INT32, ETW_OUT_HRESULT, 0, 0},
            {"Address", ETW_IN_HEX64, 0, 0, 0}, {"Path", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0}};
    EtwError err;
    if (EtwTraceLoggingEncode(meta, "Write", fields, 5, &err) != ETW_OK) {
        fail(&err);
    }
    EtwTraceLoggingTraits(traits, provider, NULL);
}

static void fill(uint8_t payload[PAYLOAD], uint64_t sequence)
{
    static const char text[TEXT + 1] = "/var/lib/some/file.x";
    uint32_t size = (uint32_t)(sequence * 512 % 65536), status = sequence % 7 ? 0 : 0x80070005u;
    uint64_t address = 0x7FFF12340000ull + sequence * 64;
    uint16_t length = TEXT + 2;
    memcpy(payload, &sequence, 8);
    memcpy(payload + 8, &size, 4);
    memcpy(payload + 12, &status, 4);
    memcpy(payload + 16, &address, 8);
    memcpy(payload + 24, &length, 2);
    memcpy(payload + 26, text, TEXT);
    payload[26 + TEXT] = (uint8_t)('0' + sequence % 10);
    payload[27 + TEXT] = (uint8_t)('0' + sequence / 10 % 10);
}

static void make(const char *path, uint64_t events, uint64_t lookalikes)
{
    static const char *const names[2] = {"Etw-Bench-Decode", "Etw-Bench-Other"};
    EtwError err;
    EtlWriter *writer;
    EtlWriterConfig config = {
            .path = path, .loggerName = "decode", .cpuMHz = 2000, .mode = ETL_MODE_SEQUENTIAL};
    EtwText meta[2] = {0}, traits[2] = {0};
    uint8_t payload[PAYLOAD];
    EtwGuid providers[2];
    config.bufferSize = 65536;
    config.cpus = 4;
    config.startWall = startWall;
    if (EtlWriterOpen(&writer, &config, &err) != ETW_OK) {
        fail(&err);
    }
    for (int i = 0; i < 2; i++) {
        encode(&meta[i], &traits[i], names[i]);
        EtwGuidFromName(names[i], &providers[i]);
    }
    for (uint64_t n = 0; n < events; n++) {
        int other = lookalikes != 0 && n % lookalikes == 0;
        EtwEvent event = {.ticks = (int64_t)(n * 1000), .kind = ETL_EVENT64, .pointerSize = 8};
        event.provider = providers[other];
        event.desc = (EtwDescriptor){.channel = 11, .level = 4, .keyword = 1};
        event.pid = (uint32_t)(n % 20 + 100);
        event.tid = event.pid + 1;
        event.cpu = (uint16_t)(n / 37 % 4);
        event.meta = (const uint8_t *)meta[other].data;
        event.metaSize = (uint32_t)meta[other].size;
        event.traits = (const uint8_t *)traits[other].data;
        event.traitsSize = (uint32_t)traits[other].size;
        fill(payload, n);
        event.payload = payload;
        event.payloadSize = PAYLOAD;
        if (EtlWriterAdd(writer, &event) != ETW_OK) {
            exit(1);
        }
    }
    for (int i = 0; i < 2; i++) {
        EtwTextFree(&meta[i]);
        EtwTextFree(&traits[i]);
    }
    if (EtlWriterClose(writer, 0, startWall, &err) != ETW_OK) {
        fail(&err);
    }
}

/* ---- Reading --------------------------------------------------------------------------------- */

typedef struct Tally {
    uint64_t events, decoded, fields, sum;
} Tally;

static void onValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Tally *t = ctx;
    (void)field;
    t->fields++;
    t->sum += value->u + value->size;
}

static void onBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    (void)ctx;
    (void)field;
    (void)isStruct;
    (void)count;
}

static void onEnd(void *ctx, const EtwField *field, bool isStruct)
{
    (void)ctx;
    (void)field;
    (void)isStruct;
}

static double decodeOnce(const char *path, Tally *t)
{
    static const EtwVisitor visitor = {.value = onValue, .begin = onBegin, .end = onEnd};
    EtwError err;
    EtwSource *source;
    EtwEvent event;
    *t = (Tally){0};
    double start = now();
    if (EtwSourceOpen(&source, path, &err) != ETW_OK) {
        fail(&err);
    }
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwSourceHarvest(source, store);
    while (EtwSourceNext(source, &event) == ETW_OK) {
        const EtwSchema *schema = EtwSchemaOf(store, &event);
        t->events++;
        t->decoded += schema != NULL && EtwDecode(schema, &event, &visitor, t) == ETW_OK;
    }
    EtwSourceClose(source);
    EtwSchemaStoreFree(store);
    return now() - start;
}

static void measure(const char *path, int runs)
{
    double best = 1e9;
    Tally tally;
    for (int i = 0; i < runs; i++) {
        double t = decodeOnce(path, &tally);
        best = t < best ? t : best;
    }
    printf("decode.events %llu events\n", (unsigned long long)tally.events);
    printf("decode.rate %.3f Mevents/s\n", (double)tally.events / best / 1e6);
    printf("decode.fields %.3f Mfields/s\n", (double)tally.fields / best / 1e6);
    printf("decode.share %.2f %%\n", 100.0 * (double)tally.decoded / (double)tally.events);
}

int main(int argc, char **argv)
{
    OsInit();
    if (argc >= 4 && strcmp(argv[1], "make") == 0) {
        make(argv[2], strtoull(argv[3], NULL, 10), argc > 4 ? strtoull(argv[4], NULL, 10) : 0);
    } else if (argc >= 3 && strcmp(argv[1], "read") == 0) {
        measure(argv[2], argc > 3 ? atoi(argv[3]) : RUNS);
    } else {
        fprintf(stderr, "usage: etl_decode make FILE EVENTS ?LOOKALIKES? | read FILE ?RUNS?\n");
        return 2;
    }
    return 0;
}
