/*
 * tests/schema/test_event_info.c --
 *
 *	TRACE_EVENT_INFO and EVENT_MAP_INFO there and back: what a description of an event says when it is read again is
 *	what the manifest said. The reading of those of Windows: test_inband_schema.c.
 */
#include "tests/support/check.h"
#include "base/bytes.h"
#include "schema/eventinfo/event_info.h"
#include "schema/manifest/manifest.h"
#include "schema/model/provider_def.h"
#include "schema/model/tdh_types.h"

static const char manifest[] =
        "<?xml version=\"1.0\"?>\n<instrumentationManifest "
        "xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">\n"
        "<instrumentation xmlns:win=\"w\" xmlns:xs=\"x\"><events>\n"
        "<provider name=\"Acme\" guid=\"{01020304-0506-0708-090a-0b0c0d0e0f10}\" symbol=\"ACME\">\n"
        "<channels><channel chid=\"C\" name=\"Acme/Ops\" type=\"Operational\" "
        "value=\"17\"/></channels>"
        "<levels><level name=\"MyLevel\" value=\"17\"/></levels>"
        "<opcodes><opcode name=\"Begin\" value=\"11\"/></opcodes><tasks><task name=\"Work\" "
        "value=\"3\"/></tasks>"
        "<keywords><keyword name=\"First\" mask=\"0x1\"/><keyword name=\"Third\" "
        "mask=\"0x4\"/></keywords>"
        "<maps><valueMap name=\"Colour\"><map value=\"1\" message=\"red\"/><map value=\"7\" "
        "message=\"blue\"/></valueMap>"
        "<bitMap name=\"Bits\"><map value=\"0x1\" message=\"one\"/><map value=\"0x4\" "
        "message=\"four\"/></bitMap></maps>"
        "<templates><template tid=\"T\">"
        "<data name=\"Count\" inType=\"win:UInt16\"/><data name=\"Text\" "
        "inType=\"win:UnicodeString\"/>"
        "<data name=\"Ansi\" inType=\"win:AnsiString\" length=\"4\"/><data name=\"Colour\" "
        "inType=\"win:UInt32\" map=\"Colour\"/>"
        "<data name=\"Bits\" inType=\"win:UInt32\" map=\"Bits\"/><data name=\"Bytes\" "
        "inType=\"win:Binary\" length=\"Count\"/>"
        "<data name=\"Three\" inType=\"win:UInt8\" count=\"3\"/><data name=\"Many\" "
        "inType=\"win:Int64\" count=\"Count\"/>"
        "<struct name=\"Pair\" count=\"2\"><data name=\"X\" inType=\"win:Float\"/><data name=\"Y\" "
        "inType=\"win:GUID\"/></struct>"
        "<data name=\"Address\" inType=\"win:UInt32\" outType=\"win:IPv4\"/><data name=\"Pointer\" "
        "inType=\"win:Pointer\"/>"
        "</template></templates>"
        "<events><event value=\"5\" version=\"2\" symbol=\"Five\" channel=\"C\" level=\"MyLevel\" "
        "opcode=\"Begin\" task=\"Work\" keywords=\"First Third\" "
        "template=\"T\" message=\"five %1\"/><event value=\"6\" symbol=\"Six\"/></events>\n"
        "</provider></events></instrumentation></instrumentationManifest>\n";

static void take(void *ctx, EtwProviderDef *def)
{
    *(EtwProviderDef **)ctx = def;
}

static EtwProviderDef *readManifest(void)
{
    EtwProviderDef *def = NULL;
    EtwError err = {0};
    CHECK_MSG(
            EtwManifestReadFile("x.man", manifest, sizeof manifest - 1, take, &def, &err) == ETW_OK,
            "%s", err.message);
    return def;
}

static const char *useMap(void *ctx, const EtwSchema *schema, const EtwField *field)
{
    (void)ctx;
    return EtwMapInfoName(schema, field->map);
}

static const EtwMap *findMap(void *ctx, const EtwGuid *provider, const char *name)
{
    const EtwProviderDef *def = ctx;
    return EtwGuidEqual(provider, &def->guid) ? EtwDefFindMap(def, name) : NULL;
}

static EtwEvent eventFor(const EtwProviderDef *def, bool first)
{
    EtwEvent event = {.provider = def->guid, .pointerSize = 8};
    event.desc = first ? (EtwDescriptor){.id = 5,
                                 .version = 2,
                                 .channel = 17,
                                 .level = 17,
                                 .opcode = 11,
                                 .task = 3,
                                 .keyword = 0x5}
                       : (EtwDescriptor){.id = 6};
    return event;
}

static void checkFields(const EtwSchema *got, const EtwSchema *want)
{
    CHECK_EQ(got->fieldCount, want->fieldCount);
    for (int i = 0; i < got->fieldCount && i < want->fieldCount; i++) {
        const EtwField *g = &got->fields[i], *w = &want->fields[i];
        CHECK_STR(g->name, w->name);
        CHECK_EQ(g->in, w->in);
        CHECK_EQ(g->out, w->out);
        CHECK_EQ(g->array, w->array);
        CHECK_EQ(g->sized, w->sized);
        CHECK_EQ(g->counts, w->counts);
        /* Without meaning for a single value, and for a type that has its own size. */
        CHECK_EQ(w->array == ETW_SCALAR ? 0 : g->count, w->count);
        CHECK_EQ(w->sized == ETW_SIZE_OWN ? 0 : g->length, w->length);
        CHECK_EQ(g->members, w->members);
        CHECK_EQ(g->span, w->span);
        CHECK_EQ(g->tag, w->tag);
        CHECK(g->map == w->map);
    }
}

/* Both events of the manifest: descriptor, names, message, fields with their types, sizes, counts, maps and members. */
static void build_1_1_events(void)
{
    EtwProviderDef *def = readManifest();
    REQUIRE(def != NULL && def->eventCount == 2);
    for (int i = 0; i < 2; i++) {
        EtwEvent event = eventFor(def, i == 0);
        const EtwSchema *want = &def->events[i]->schema;
        EtwText info = {0};
        EtwEventInfoKey key;
        bool missing = true;
        REQUIRE(EtwEventInfoBuild(&event, want, useMap, NULL, &info));
        const uint8_t *at = (const uint8_t *)info.data;
        CHECK(EtwEventInfoKeyOf(at, info.size, &key));
        CHECK(EtwGuidEqual(&key.guid, &def->guid));
        CHECK_EQ(key.code, event.desc.id);
        CHECK_EQ(key.version, event.desc.version);
        CHECK(!key.classic);
        CHECK_MEM(at + 0x10, 16, def->guid.bytes, 16);
        CHECK_MEM(at + 0x20, 16, (const uint8_t *)&event.desc, 16);
        EtwProviderDef *again = EtwEventInfoParse(at, info.size, findMap, def, &missing);
        REQUIRE(again != NULL && again->eventCount == 1);
        CHECK(!missing);
        const EtwSchema *got = &again->events[0]->schema;
        CHECK_STR(got->provider, "Acme");
        CHECK_STR(got->event, want->event);
        CHECK_STR(got->task, want->task);
        CHECK_STR(got->opcode, want->opcode);
        CHECK_STR(got->message, want->message);
        checkFields(got, want);
        if (i == 0) {
            CHECK_STR(got->task, "Work");
            CHECK_STR(got->message, "five %1");
            CHECK_EQ(got->fieldCount, 13);
            CHECK_STR(EtwDefNameOf(again, ETW_NAME_LEVEL, 17, 0), "MyLevel");
            CHECK_STR(EtwDefNameOf(again, ETW_NAME_CHANNEL, 17, 0), "Acme/Ops");
        }
        /* A map that is not described (yet) is reported. */
        EtwProviderDef other = {.guid = {{9}}};
        EtwProviderDef *without = EtwEventInfoParse(at, info.size, findMap, &other, &missing);
        CHECK(without != NULL);
        CHECK_EQ(missing, i == 0);
        EtwDefFree(without);
        /* Every shorter description is malformed or at least harmless. */
        for (size_t size = 0; size < info.size; size++) {
            EtwDefFree(EtwEventInfoParse(at, size, findMap, def, &missing));
        }
        EtwDefFree(again);
        EtwTextFree(&info);
    }
    EtwDefFree(def);
}

/* Arrays that only TraceLogging has cannot be expressed. */
static void build_1_2_impossible(void)
{
    EtwProviderDef *def = readManifest();
    REQUIRE(def != NULL);
    EtwField field = {.name = "F", .in = ETW_IN_UINT8, .span = 1, .array = ETW_ARRAY_COUNTED};
    EtwSchema schema = def->events[1]->schema;
    EtwEvent event = eventFor(def, false);
    EtwText info = {0};
    schema.fields = &field;
    schema.fieldCount = 1;
    CHECK(!EtwEventInfoBuild(&event, &schema, useMap, NULL, &info));
    field.array = ETW_SCALAR;
    CHECK(EtwEventInfoBuild(&event, &schema, useMap, NULL, &info));
    field.in = 200;
    CHECK(!EtwEventInfoBuild(&event, &schema, useMap, NULL, &info));
    EtwTextFree(&info);
    EtwDefFree(def);
}

static void build_1_3_maps(void)
{
    EtwProviderDef *def = readManifest();
    REQUIRE(def != NULL && def->mapCount == 2);
    for (int i = 0; i < 2; i++) {
        const char *wanted = i == 0 ? "Colour" : "Bits", *name = NULL;
        const EtwMap *map = EtwDefFindMap(def, wanted);
        EtwText info = {0};
        REQUIRE(map != NULL);
        CHECK_STR(EtwMapInfoName(&def->events[0]->schema, map), wanted);
        CHECK(EtwMapInfoBuild(&def->guid, wanted, map, &info));
        CHECK_MEM(info.data, 16, def->guid.bytes, 16);
        EtwProviderDef *holder = EtwDefNew(&def->guid, "Acme", ETW_ORIGIN_METADATA, "");
        const EtwMap *again = EtwMapInfoParse(holder, (const uint8_t *)info.data, info.size, &name);
        REQUIRE(again != NULL);
        CHECK_STR(name, wanted);
        CHECK_EQ(again->count, map->count);
        CHECK_EQ(again->bits, i == 1);
        for (int k = 0; k < again->count && k < map->count; k++) {
            CHECK_EQ(again->entries[k].value, map->entries[k].value);
            CHECK_STR(again->entries[k].name, map->entries[k].name);
        }
        EtwDefFree(holder);
        EtwTextFree(&info);
    }
    /* Values of more than 32 bits cannot be expressed. */
    static const EtwMapEntry large[] = {{UINT32_MAX, "a"}, {1ull << 32, "b"}};
    EtwText info = {0};
    CHECK(EtwMapInfoBuild(&def->guid, "L", &(EtwMap){large, 1, false}, &info));
    CHECK(!EtwMapInfoBuild(&def->guid, "L", &(EtwMap){large, 2, false}, &info));
    CHECK(EtwMapInfoName(&def->events[0]->schema, &(EtwMap){large, 1, false}) == NULL);
    EtwTextFree(&info);
    EtwDefFree(def);
}

/* ---- Numbers of types ------------------------------------------------------------------------- */

/* The numbers of tdh.h that only classic events have, and numbers that are no type. */
static void types_2_1_classic(void)
{
    static const struct {
        int number, in, out, sized;
    } cases[] = {{300, ETW_IN_COUNTED_UTF16, 0, ETW_SIZE_OWN},
            {301, ETW_IN_COUNTED_ANSI, 0, ETW_SIZE_OWN},
            {302, ETW_IN_COUNTED_UTF16_SWAP, 0, ETW_SIZE_OWN},
            {303, ETW_IN_COUNTED_ANSI_SWAP, 0, ETW_SIZE_OWN},
            {304, ETW_IN_UTF16Z, 0, ETW_SIZE_REST}, {305, ETW_IN_ANSIZ, 0, ETW_SIZE_REST},
            {306, ETW_IN_UINT16, ETW_OUT_STRING, ETW_SIZE_OWN},
            {307, ETW_IN_UINT8, ETW_OUT_STRING, ETW_SIZE_OWN},
            {308, ETW_IN_POINTER, 0, ETW_SIZE_OWN}, {309, ETW_IN_COUNTED32_BINARY, 0, ETW_SIZE_OWN},
            {310, ETW_IN_WBEM_SID, 0, ETW_SIZE_OWN}};
    static const int none[] = {-1, 24, 26, 27, 299, 311, 1000};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EtwField f = {.name = "f"};
        CHECK_MSG(EtwTdhField(&f, cases[i].number, 0, ETW_TDH_NO_LENGTH), "%d", cases[i].number);
        CHECK_MSG(f.in == cases[i].in && f.out == cases[i].out && f.sized == cases[i].sized,
                "%d: in %d out %d sized %d", cases[i].number, f.in, f.out, f.sized);
    }
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        EtwField f = {.name = "f"};
        CHECK_MSG(!EtwTdhField(&f, none[i], 0, ETW_TDH_NO_LENGTH), "%d", none[i]);
    }
}

/* The numbers that are found for a field result in the same field. */
static void types_2_2_inverse(void)
{
    static const EtwTdhLength lengths[] = {
            ETW_TDH_NO_LENGTH, ETW_TDH_LENGTH, ETW_TDH_LENGTH_BY_FIELD};
    int made = 0;
    for (int number = 0; number <= 310; number = number == 25 ? 300 : number + 1) {
        for (int out = 0; out <= 39; out++) {
            for (int i = 0; i < 3; i++) {
                EtwField f = {.name = "f", .length = 5}, again = f;
                int in2, out2;
                if (number == ETW_IN_STRUCT ||
                        !CHECK(EtwTdhField(&f, number, out == 39 ? 301 : out, lengths[i]))) {
                    continue;
                }
                if (!CHECK_MSG(EtwTdhTypes(&f, &in2, &out2), "%d %d", number, out)) {
                    continue;
                }
                EtwTdhLength length = f.sized == ETW_SIZE_FIXED      ? ETW_TDH_LENGTH
                                      : f.sized == ETW_SIZE_BY_FIELD ? ETW_TDH_LENGTH_BY_FIELD
                                                                     : ETW_TDH_NO_LENGTH;
                CHECK(EtwTdhField(&again, in2, out2, length));
                CHECK_MSG(again.in == f.in && again.out == f.out && again.sized == f.sized,
                        "%d %d: %d %d", number, out, in2, out2);
                made++;
            }
        }
    }
    CHECK_EQ(made, 36 * 40 * 3);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(build_1_1_events);
    CHECK_RUN(build_1_2_impossible);
    CHECK_RUN(build_1_3_maps);
    CHECK_RUN(types_2_1_classic);
    CHECK_RUN(types_2_2_inverse);
    return CHECK_DONE();
}
