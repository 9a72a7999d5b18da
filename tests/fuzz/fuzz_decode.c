/*
 * tests/fuzz/fuzz_decode.c --
 *
 *	Random metadata and payloads through the store, the decoder, every sink and a
 *	predicate. Under libFuzzer (-fsanitize=fuzzer) as it is; else a program of its own
 *	(compile with -DFUZZ_MAIN): fuzz_decode SECONDS ?SEED? mutates well-formed events;
 *	-DFUZZ_SEEDS makes one that writes such events into a directory.
 *	What is looked for are the sanitizers' reports, and output or time out of proportion
 *	to the input.
 */
#include "base/text.h"
#include "base/os.h"
#include "etl/format.h"
#include "flow/render/sink.h"
#include "predicate/predicate.h"
#include "schema/model/tcl_list.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_OUTPUT = 1 << 28 };

static EtwPredicate *predicateOn(const char *field)
{
    EtwPredicate *pred;
    EtwNode *node = EtwNodeNew(ETW_OP_MATCH, 2);
    node->children[0] = EtwNodeNew(ETW_OP_STRING, 0);
    node->children[0]->text = EtwStrdup("*a*b*");
    node->children[0]->size = 5;
    node->children[1] = EtwNodeNew(ETW_OP_FIELD, 0);
    node->children[1]->text = EtwStrdup(field);
    node->children[1]->size = strlen(field);
    return EtwPredicateNew(&pred, node, NULL) == ETW_OK ? pred : NULL;
}

/* Whatever it decodes to must stay one line (csv: a name may have a break in quotes), and within
 * reason. */
static void checkLine(const EtwText *out, size_t from, int format, bool first)
{
    /* The first event of a listing is preceded by two lines that name the columns. */
    size_t breaks = 0, most = format == ETW_FORMAT_TEXT && first ? 3 : 1;
    for (size_t i = from; i < out->size; i++) {
        breaks += out->data[i] == '\n';
    }
    if ((breaks > most && format != ETW_FORMAT_CSV) || out->size - from > MAX_OUTPUT) {
        fprintf(stderr, "format %d: %zu lines, %zu bytes\n", format, breaks, out->size - from);
        abort();
    }
}

/* The first byte splits the rest into metadata and payload; the second one says how the event
 * looks. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const providers[] = {
            "Tcl-Script", "Linux-tcpip", "Linux-process", "Somebody-Else"};
    static const int configs[][2] = {{0, 0}, {0, 60}, {1, 0}, {2, 0}, {3, 0}};
    if (size < 2) {
        return 0;
    }
    size_t metaSize = (size - 2) * data[0] / 255;
    EtwEvent event = {.kind = ETL_EVENT64,
            .pointerSize = data[1] & 1 ? 4 : 8,
            .time = 1795249392000000000LL + data[1],
            .pid = 1,
            .tid = data[1] >> 6,
            .meta = metaSize ? data + 2 : NULL,
            .metaSize = (uint32_t)metaSize,
            .payload = data + 2 + metaSize,
            .payloadSize = (uint32_t)(size - 2 - metaSize)};
    EtwGuidFromName(providers[data[1] >> 1 & 3], &event.provider);
    if (data[1] & 8) {
        event.classic = true;
        event.desc.opcode = data[1] >> 4;
        EtwGuidParse("68fdd900-4a3e-11d1-84f4-0000f80464e3", &event.provider);
    }
    EtwSchemaStore *store = EtwSchemaStoreNew();
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        EtwSinkConfig config = {.format = (EtwFormat)configs[i][0],
                .timeFormat = (EtwTimeFormat)(data[1] >> 4 & 3),
                .width = configs[i][1]};
        EtwSink *sink = EtwSinkNew(&config, store);
        EtwText out = {0};
        EtwSinkBegin(sink, NULL, &out);
        for (int twice = 0; twice < 2; twice++) {
            size_t from = out.size;
            EtwSinkEvent(sink, &event, &out);
            checkLine(&out, from, configs[i][0], twice == 0);
        }
        EtwSinkEnd(sink, NULL, &out);
        EtwSinkFree(sink);
        EtwTextFree(&out);
    }
    const EtwSchema *schema = EtwSchemaOf(store, &event);
    for (int i = 0; schema != NULL && i < schema->fieldCount && i < 20; i++) {
        EtwValue value;
        EtwPredicate *pred = predicateOn(schema->fields[i].name);
        EtwDecodeField(schema, &event, i, &value);
        if (pred != NULL) {
            EtwPredicateTest(pred, store, &event);
            EtwPredicateFree(pred);
        }
    }
    EtwSchemaStoreFree(store);
    return 0;
}

#if defined(FUZZ_MAIN) || defined(FUZZ_SEEDS)
/* ---- Well-formed events, mostly ----------------------------------------------------------------------- */

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % n;
}

/* A field list as an encoder could have made it: mostly right, so that decoding gets somewhere. */
static void addFields(EtwText *meta, int count, int depth)
{
    static const char *const names[] = {"CallId", "Depth", "Command", "Code", "Duration", "Result",
            "LocalAddr", "RemoteAddr", "LocalPort", "RemotePort", "Size", "x", "a b", "\xff\n"};
    for (int i = 0; i < count; i++) {
        uint8_t in = (uint8_t)below(26), array = (uint8_t)(below(4) ? 0 : below(4) << 5);
        const char *name = names[below(14)];
        EtwTextAdd(meta, name, strlen(name) + 1);
        int members = in == 24 ? (int)below(4) : 0;
        EtwTextChar(meta, (char)(in | array | 0x80));
        EtwTextChar(meta, (char)(in == 24 ? members : (int)below(40)));
        if (array == 0x20 || array == 0x60) {
            uint32_t n = below(6);
            EtwTextAdd(meta, (uint8_t[]){(uint8_t)n, (uint8_t)(below(50) ? 0 : 255)}, 2);
        }
        if (in == 24 && depth < 20) {
            addFields(meta, members, depth + 1);
        }
    }
}

static void makeInput(EtwText *out)
{
    static const char *const events[] = {"Enter", "StepLeave", "Leave", "Send", "StateChange", ""};
    EtwText meta = {0};
    const char *name = events[below(6)];
    EtwTextAdd(&meta, "\0\0", 3);
    EtwTextAdd(&meta, name, strlen(name) + 1);
    addFields(&meta, (int)below(9), 0);
    EtwStore16(meta.data, (uint16_t)meta.size);
    size_t payload = below(4) ? below(120) : below(3000);
    out->size = 0;
    EtwTextChar(out, (char)(255 * meta.size / (meta.size + payload)));
    EtwTextChar(out, (char)below(256));
    EtwTextAdd(out, meta.data, meta.size);
    for (size_t i = 0; i < payload; i++) {
        EtwTextChar(out, (char)(below(3) ? below(4) : below(256)));
    }
    for (uint32_t n = below(3) ? 0 : below(8); n > 0; n--) {
        out->data[below((uint32_t)out->size)] = (char)below(256);
    }
    EtwTextFree(&meta);
}

#endif

#ifdef FUZZ_SEEDS
int main(int argc, char **argv)
{
    EtwText input = {0};
    state = 20261121;
    for (int i = 0; argc == 2 && i < 200; i++) {
        char path[1000];
        makeInput(&input);
        snprintf(path, sizeof path, "%s/event%d", argv[1], i);
        FILE *file = fopen(path, "wb");
        if (file == NULL || fwrite(input.data, 1, input.size, file) != input.size) {
            return 1;
        }
        fclose(file);
    }
    EtwTextFree(&input);
    return argc == 2 ? 0 : 2;
}
#endif

#ifdef FUZZ_MAIN
/* ---- Without libFuzzer ----------------------------------------------------------------------- */

int main(int argc, char **argv)
{
    OsInstant start, now;
    EtwText input = {0};
    unsigned long runs = 0;
    double seconds = argc > 1 ? atof(argv[1]) : 5;
    OsInit();
    OsNow(&start);
    state = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)start.wall;
    printf("seed %llu\n", (unsigned long long)state);
    do {
        for (int i = 0; i < 100; i++, runs++) {
            makeInput(&input);
            uint8_t *exact = malloc(input.size); /* its end is the end of readable memory */
            memcpy(exact, input.data, input.size);
            LLVMFuzzerTestOneInput(exact, input.size);
            free(exact);
        }
        OsNow(&now);
    } while ((double)(now.steady - start.steady) < seconds * 1e9);
    EtwTextFree(&input);
    printf("%lu inputs, nothing found\n", runs);
    return 0;
}
#endif
