/*
 * tests/fuzz/fuzz_inband_schema.c --
 *
 *	A trace that describes its own events: metadata, maps, pieces of manifests, compressed
 *	manifests, and events that need them, in any order. An input is a row of {u8 kind, u8 code,
 *	u16 size, bytes}; the bytes are a payload.
 */
#include "schema/model/decode.h"
#include "schema/store/event_message.h"
#include "tests/support/metainfo.h"
#include <stdio.h>

enum { KIND_EVENT = 4, KIND_CLASSIC = 5, KINDS = 6 };

/* The provider that the seeds describe. */
static const EtwGuid acme = {{4, 3, 2, 1, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 16}};

static void addValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    EtwFormatValue(ctx, field, value);
}

static void useEvent(EtwSchemaStore *store, uint8_t kind, uint8_t code, const EtwBytes *payload)
{
    static const EtwVisitor visitor = {.value = addValue};
    EtwText out = {0};
    EtwEvent e = {.provider = acme,
            .pointerSize = code & 1 ? 4 : 8,
            .classic = kind == KIND_CLASSIC,
            .payload = payload->at,
            .payloadSize = (uint32_t)EtwBytesLeft(payload)};
    e.desc.id = e.classic ? 0 : code;
    e.desc.opcode = code;
    e.desc.version = 1;
    const EtwSchema *schema = EtwSchemaOf(store, &e);
    if (schema != NULL) {
        EtwDecode(schema, &e, &visitor, &out);
        EtwFormatMessage(&out, schema, &e);
    }
    EtwTextFree(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwBytes in = EtwBytesOf(data, size);
    while (EtwBytesLeft(&in) >= 4) {
        uint8_t kind = EtwTake8(&in) % KINDS, code = EtwTake8(&in);
        size_t want = EtwTake16(&in), left = EtwBytesLeft(&in);
        size_t n = want < left ? want : left;
        EtwBytes payload = EtwBytesOf(EtwTake(&in, n), n);
        if (kind >= KIND_EVENT) {
            useEvent(store, kind, code, &payload);
            continue;
        }
        EtwEvent e = InfoCarrier((InfoKind)kind, &acme, payload.at, n);
        e.pid = code;
        EtwSchemaHarvest(store, &e);
    }
    EtwSchemaStoreFree(store);
    return 0;
}

#ifdef FUZZ_SEEDS
static void addRecord(EtwText *out, uint8_t kind, uint8_t code, const EtwText *payload)
{
    uint8_t head[4] = {kind, code};
    EtwStore16(head + 2, (uint16_t)payload->size);
    EtwTextAdd(out, head, sizeof head);
    EtwTextAdd(out, payload->data, payload->size);
}

static void addMetadata(EtwText *out)
{
    static const char *const food[] = {"Egg", "Pie"};
    static const InfoProperty properties[] = {{0, "Count", 8, 8, NULL, 1, 4},
            {5, "Pairs", 4, 2, NULL, 0, 0}, {0, "Kind ", 4, 4, "Food", 1, 1},
            {2, "Name", 1, 1, NULL, 1, 0}, {0, "X", 6, 6, NULL, 1, 2},
            {0x20, "Y", 4, 4, NULL, 1, 1}};
    EtwText t = {0};
    for (int classic = 0; classic < 2; classic++) {
        t.size = 0;
        InfoEvent(&t, &acme, 21, 1, classic, properties, 6, 4);
        addRecord(out, INFO_EVENT_INFO, 0, &t);
    }
    t.size = 0;
    InfoMap(&t, &acme, "Food", 1, food, 2);
    addRecord(out, INFO_MAP_INFO, 0, &t);
    EtwTextFree(&t);
}

static void addManifest(EtwText *out)
{
    static const char xml[] =
            "<i><instrumentation><events><provider name=\"Acme\" "
            "guid=\"{01020304-0506-0708-090a-0b0c0d0e0f10}\"><templates><template tid=\"T\"><data "
            "name=\"a\" inType=\"win:UInt8\"/></template></templates><events><event value=\"5\" "
            "version=\"1\" template=\"T\" message=\"{0}\"/></events></provider></events>"
            "</instrumentation></i>";
    size_t half = sizeof xml / 2;
    EtwText t = {0};
    for (uint16_t i = 0; i < 2; i++) {
        t.size = 0;
        InfoChunk(&t, 2, i, xml + i * half, i ? sizeof xml - 1 - half : half);
        addRecord(out, INFO_CHUNK, 1, &t);
    }
    t.size = 0;
    EtwTextReserve(&t, 6);
    EtwStore32(t.data, sizeof xml - 1);
    EtwStore16(t.data + 4, (uint16_t)(0x3000 | (sizeof xml - 2)));
    t.size = 6;
    EtwTextAdd(&t, xml, sizeof xml - 1);
    addRecord(out, INFO_PERFTRACK, 0, &t);
    EtwTextFree(&t);
}

int main(int argc, char **argv)
{
    static char bytes[] = "\2\0\0\0abcdefgh";
    EtwText out = {0}, payload = {bytes, sizeof bytes - 1, 0};
    char path[1000];
    addMetadata(&out);
    addManifest(&out);
    addRecord(&out, KIND_EVENT, 21, &payload);
    addRecord(&out, KIND_CLASSIC, 21, &payload);
    addRecord(&out, KIND_EVENT, 5, &payload);
    snprintf(path, sizeof path, "%s/all", argc == 2 ? argv[1] : ".");
    FILE *file = argc == 2 ? fopen(path, "wb") : NULL;
    if (file == NULL || fwrite(out.data, 1, out.size, file) != out.size) {
        return 2;
    }
    EtwTextFree(&out);
    return fclose(file);
}
#endif
