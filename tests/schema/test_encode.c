/*
 * tests/schema/test_encode.c --
 *
 *	Values to payload bytes: what is refused, and that every event of the real files, decoded and
 *	encoded again, has the bytes it had. Where it may not, the event's fields say why: see Reason.
 *	The corpus is ETW_CORPUS, or ../shared/corpus; without it that test is skipped.
 */
#include "tests/support/check.h"
#include "schema/catalog/catalog.h"
#include "tests/support/corpus.h"
#include "flow/source/source.h"
#include "schema/model/schema_int.h"
#include "schema/store/definition_library.h"
#include "schema/model/tcl_list.h"
#include "tests/support/event_recorder.h"

/* ---- Values of all kinds --------------------------------------------------------------------- */

/* One value after the other, the same for arrays' counts. */
typedef struct Given {
    const EtwValue *values;
    uint32_t count;
} Given;

static EtwStatus GiveValue(void *ctx, const EtwField *field, EtwValue *value, EtwError *errPtr)
{
    Given *given = ctx;
    (void)field, (void)errPtr;
    *value = *given->values++;
    return ETW_OK;
}

static EtwStatus GiveBegin(
        void *ctx, const EtwField *field, bool isStruct, uint32_t *countPtr, EtwError *errPtr)
{
    (void)field, (void)errPtr;
    *countPtr = isStruct ? 1 : ((Given *)ctx)->count;
    return ETW_OK;
}

static EtwStatus Encode(EtwText *out, EtwField *fields, int fieldCount, int pointerSize,
        const EtwValue *values, uint32_t count, EtwError *error)
{
    static const EtwFieldSource giver = {.value = GiveValue, .begin = GiveBegin};
    Given given = {values, count};
    EtwSchema schema = {.fields = fields, .fieldCount = fieldCount};
    CHECK(EtwFieldsFinish(fields, fieldCount));
    out->size = 0;
    *error = (EtwError){0};
    return EtwEncode(out, &schema, (uint8_t)pointerSize, &giver, &given, error);
}

static EtwValue Data(EtwValueKind kind, const void *data, size_t size)
{
    return (EtwValue){.kind = kind, .data = data, .size = size};
}

/* One field with one value becomes these bytes. */
static void Becomes(EtwField field, int pointerSize, EtwValue value, const void *bytes, size_t size)
{
    EtwText out = {0};
    EtwError error;
    field.name = "f";
    EtwStatus status = Encode(&out, &field, 1, pointerSize, &value, 1, &error);
    CHECK_MSG(status == ETW_OK, "type %d: %s", field.in, error.message);
    CHECK_MEM(out.data, out.size, bytes, size);
    EtwTextFree(&out);
}

static void Refused(EtwField field, EtwValue value, uint32_t count, const char *detail)
{
    EtwText out = {0};
    EtwError error;
    field.name = "f";
    CHECK_EQ(Encode(&out, &field, 1, 8, &value, count, &error), ETW_E_ARG);
    CHECK_STR(error.detail, detail);
    CHECK_STR(error.subject, "f");
    EtwTextFree(&out);
}

#define INT(n) ((EtwValue){.kind = ETW_V_INT, .i = (n)})
#define UINT(n) ((EtwValue){.kind = ETW_V_UINT, .u = (n)})
#define FIELD(...) ((EtwField){__VA_ARGS__})

static void numbers(void)
{
    Becomes(FIELD(.in = ETW_IN_INT8), 8, INT(-2), "\xfe", 1);
    Becomes(FIELD(.in = ETW_IN_UINT16, .out = ETW_OUT_PORT), 8, UINT(0x1234), "\x12\x34", 2);
    Becomes(FIELD(.in = ETW_IN_UINT16), 8, UINT(0x1234), "\x34\x12", 2);
    Becomes(FIELD(.in = ETW_IN_POINTER), 4, UINT(0x01020304), "\4\3\2\1", 4);
    Becomes(FIELD(.in = ETW_IN_POINTER), 8, UINT(0x01020304), "\4\3\2\1\0\0\0\0", 8);
    Becomes(FIELD(.in = ETW_IN_BOOL32), 8, (EtwValue){.kind = ETW_V_BOOL, .u = 1}, "\1\0\0\0", 4);
    Becomes(FIELD(.in = ETW_IN_FLOAT), 8, (EtwValue){.kind = ETW_V_DOUBLE, .d = 1.5},
            "\0\0\xc0\x3f", 4);
    Becomes(FIELD(.in = ETW_IN_SKIP, .length = 3), 8, INT(0), "\0\0\0", 3);
    Becomes(FIELD(.in = ETW_IN_UINT64), 8, UINT(UINT64_MAX), "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
}

static void texts(void)
{
    Becomes(FIELD(.in = ETW_IN_ANSIZ), 8, Data(ETW_V_TEXT, "ab", 2), "ab", 3);
    Becomes(FIELD(.in = ETW_IN_ANSIZ), 8, Data(ETW_V_TEXT, "ab\0c", 4), "ab", 3);
    Becomes(FIELD(.in = ETW_IN_UTF16Z), 8, Data(ETW_V_TEXT16, "a\0b", 4), "a\0b\0\0", 6);
    Becomes(FIELD(.in = ETW_IN_COUNTED_ANSI), 8, Data(ETW_V_TEXT, "ab", 2), "\2\0ab", 4);
    Becomes(FIELD(.in = ETW_IN_COUNTED_ANSI_SWAP), 8, Data(ETW_V_TEXT, "ab", 2), "\0\2ab", 4);
    Becomes(FIELD(.in = ETW_IN_COUNTED32_BINARY), 8, Data(ETW_V_BYTES, "ab", 2), "\2\0\0\0ab", 6);
    Becomes(FIELD(.in = ETW_IN_ANSIZ, .sized = ETW_SIZE_FIXED, .length = 4), 8,
            Data(ETW_V_TEXT, "ab", 2), "ab\0\0", 4);
    Becomes(FIELD(.in = ETW_IN_UINT8, .out = ETW_OUT_STRING, .array = ETW_ARRAY_COUNTED), 8,
            Data(ETW_V_TEXT, "ab", 2), "\2\0ab", 4);
    Becomes(FIELD(.in = ETW_IN_WBEM_SID), 4, (EtwValue){.kind = ETW_V_NULL}, "\0\0\0\0", 4);
    Becomes(FIELD(.in = ETW_IN_WBEM_SID), 4, Data(ETW_V_SID, "\1\1\0\0\0\0\0\5\x12\0\0\0", 12),
            "\1\0\0\0\0\0\0\0\1\1\0\0\0\0\0\5\x12\0\0\0", 20);
}

static void refusals(void)
{
    static char big[70000];
    Refused(FIELD(.in = ETW_IN_UINT8), UINT(256), 1, "RANGE");
    Refused(FIELD(.in = ETW_IN_UINT8), INT(-1), 1, "RANGE");
    Refused(FIELD(.in = ETW_IN_INT8), INT(128), 1, "RANGE");
    Refused(FIELD(.in = ETW_IN_INT16), INT(-32769), 1, "RANGE");
    Refused(FIELD(.in = ETW_IN_UINT32), Data(ETW_V_TEXT, "1", 1), 1, "KIND");
    Refused(FIELD(.in = ETW_IN_GUID), Data(ETW_V_GUID, big, 15), 1, "KIND");
    Refused(FIELD(.in = ETW_IN_SID), Data(ETW_V_SID, "\1\2\0\0\0\0\0\5\x12\0\0\0", 12), 1, "KIND");
    Refused(FIELD(.in = ETW_IN_COUNTED_UTF16), Data(ETW_V_TEXT16, big, 3), 1, "KIND");
    Refused(FIELD(.in = ETW_IN_COUNTED_ANSI), Data(ETW_V_TEXT, big, sizeof big), 1, "SIZE");
    Refused(FIELD(.in = ETW_IN_ANSIZ, .sized = ETW_SIZE_FIXED, .length = 1),
            Data(ETW_V_TEXT, "ab", 2), 1, "SIZE");
    Refused(FIELD(.in = ETW_IN_BINARY, .sized = ETW_SIZE_FIXED, .length = 4),
            Data(ETW_V_BYTES, "ab", 2), 1, "COUNT");
    Refused(FIELD(.in = ETW_IN_UINT8, .array = ETW_ARRAY_FIXED, .count = 3), UINT(0), 2, "COUNT");
}

/* A number that counts holds for the array behind it; too large a payload ends at the limit. */
static void counts(void)
{
    EtwField fields[] = {{.name = "n", .in = ETW_IN_UINT16},
            {.name = "a", .in = ETW_IN_UINT8, .array = ETW_ARRAY_BY_FIELD, .count = 0}};
    const EtwValue good[] = {UINT(2), UINT(7), UINT(8)};
    EtwText out = {0};
    EtwError error;
    CHECK_EQ(Encode(&out, fields, 2, 8, good, 2, &error), ETW_OK);
    CHECK_MEM(out.data, out.size, "\2\0\7\10", 4);
    CHECK_EQ(Encode(&out, fields, 2, 8, good, 1, &error), ETW_E_ARG);
    CHECK_STR(error.subject, "a");
    EtwField skipped[] = {{.name = "s", .in = ETW_IN_SKIP, .length = 40000},
            {.name = "t", .in = ETW_IN_SKIP, .length = 40000}};
    CHECK_EQ(Encode(&out, skipped, 2, 8, good, 1, &error), ETW_E_LIMIT);
    CHECK(out.size <= ETW_ENCODE_MAX);
    EtwTextFree(&out);
}

/* ---- Real files ------------------------------------------------------------------------------ */

/* Why an event's bytes may not be what they were. */
typedef enum Reason {
    SKIPPED, /* bytes that no value shows: skipped ones, the pointers before a SID */
    PADDED,  /* behind a NUL in a text of a fixed room */
    ENDS,    /* a text ends the payload without its NUL, or with half a character */
    BOOLEAN, /* true that was not 1 */
    REASONS
} Reason;

typedef struct Totals {
    unsigned files, events, equal, cut, other[REASONS];
} Totals;

static Reason ReasonOf(const EtwSchema *schema)
{
    Reason reason = REASONS;
    for (int i = 0; i < schema->fieldCount; i++) {
        const EtwField *f = &schema->fields[i];
        bool text = f->in == ETW_IN_UTF16Z || f->in == ETW_IN_ANSIZ;
        bool padded = (f->sized != ETW_SIZE_OWN && text) ||
                      (EtwFieldIsChars(f) && f->array != ETW_ARRAY_COUNTED);
        Reason own = f->in == ETW_IN_SKIP || f->in == ETW_IN_WBEM_SID   ? SKIPPED
                     : padded                                           ? PADDED
                     : text || f->in == ETW_IN_COUNTED_UTF16            ? ENDS
                     : f->in == ETW_IN_BOOL32 || f->out == ETW_OUT_BOOL ? BOOLEAN
                                                                        : REASONS;
        reason = own < reason ? own : reason;
    }
    return reason;
}

/* The values are the same where the bytes are not. */
static bool ReadsAlike(const EtwSchema *schema, const EtwEvent *event, const EtwText *payload)
{
    EtwText before = {0}, after = {0};
    EtwEvent again = *event;
    again.payload = (const uint8_t *)payload->data;
    again.payloadSize = (uint32_t)payload->size;
    EtwListProps(&before, schema, event);
    EtwListProps(&after, schema, &again);
    bool same = before.size == after.size && memcmp(before.data, after.data, after.size) == 0;
    EtwTextFree(&before);
    EtwTextFree(&after);
    return same;
}

static void CheckEvent(Totals *totals, Tape *tape, const EtwSchema *schema, const EtwEvent *event,
        const char *path)
{
    EtwText out = {0};
    EtwError error = {0};
    bool whole = TapeRecord(tape, schema, event) == ETW_OK;
    size_t known = event->payloadSize - tape->rest;
    EtwStatus status = EtwEncode(&out, schema, event->pointerSize, &tapeGiver, tape, &error);
    bool equal = out.size == known && (known == 0 || memcmp(out.data, event->payload, known) == 0);
    CHECK_MSG(status == (whole ? ETW_OK : ETW_END), "%s: %s %s: status %d %s", path,
            schema->provider, schema->event, status, error.message);
    totals->events++;
    totals->equal += equal;
    totals->cut += !whole;
    if (!equal) {
        Reason reason = ReasonOf(schema);
        EtwTextAdd(&out, event->payload + known, tape->rest);
        CHECK_MSG(reason != REASONS && ReadsAlike(schema, event, &out),
                "%s: %s %s (id %u, opcode %u, version %u): %u bytes became %u", path,
                schema->provider, schema->event, event->desc.id, event->desc.opcode,
                event->desc.version, (unsigned)event->payloadSize, (unsigned)out.size);
        totals->other[reason < REASONS ? reason : 0]++;
    }
    EtwTextFree(&out);
}

static void CheckFile(Totals *totals, Tape *tape, const char *path)
{
    EtwSource *source;
    EtwError error;
    EtwEvent event;
    if (!CHECK_MSG(EtwSourceOpen(&source, path, &error) == ETW_OK, "%s", error.message)) {
        return;
    }
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwSourceHarvest(source, store);
    totals->files++;
    while (EtwSourceNext(source, &event) == ETW_OK && checkState.bad < 20) {
        const EtwSchema *schema = EtwSchemaOf(store, &event);
        if (schema != NULL && schema->fieldCount != 0) {
            CheckEvent(totals, tape, schema, &event, path);
        }
    }
    EtwSourceClose(source);
    EtwSchemaStoreFree(store);
}

static void corpus(void)
{
    char line[2000], file[400];
    Totals t = {0};
    Tape tape = {0};
    FILE *index = fopen(CorpusFile("INDEX.md"), "r");
    if (index == NULL) {
        SKIP("no %s (set ETW_CORPUS)", CorpusFile("INDEX.md"));
    }
    EtwCatalogUse(OsFileExists("library/catalog.dat") ? "library/catalog.dat" : NULL);
    while (fgets(line, sizeof line, index) != NULL) {
        if (sscanf(line, "- `%399[^`]` (%*d bytes", file) == 1 && strstr(file, ".etl") != NULL) {
            CheckFile(&t, &tape, CorpusFile(file));
        }
    }
    fclose(index);
    EtwCatalogUse(NULL);
    EtwFree(tape.items);
    printf("%u files, %u events (%u cut short): %u equal; not: %u skipped bytes, %u padding, "
           "%u texts at the end, %u booleans\n",
            t.files, t.events, t.cut, t.equal, t.other[SKIPPED], t.other[PADDED], t.other[ENDS],
            t.other[BOOLEAN]);
    CHECK_MSG(t.equal > t.events / 10 * 9, "%u of %u events are equal", t.equal, t.events);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(numbers);
    CHECK_RUN(texts);
    CHECK_RUN(refusals);
    CHECK_RUN(counts);
    CHECK_RUN(corpus);
    return CHECK_DONE();
}
