/*
 * tests/schema/test_mof.c --
 *
 *	Classes of a MOF text as classic definitions.
 */
#include "tests/support/check.h"
#include "tests/support/text_defs.h"
#include "etl/format.h"
#include "schema/store/definition_library.h"
#include "schema/model/tcl_list.h"

static const EtwSchema *event(const Defs *defs, int which, unsigned opcode, unsigned version)
{
    const EtwEventDef *found =
            which < defs->count ? EtwDefFind(defs->defs[which], opcode, version) : NULL;
    return found && found->schema.version == version ? &found->schema : NULL;
}

static void checkProps(
        const EtwSchema *schema, const void *payload, size_t size, const char *want, int line)
{
    EtwEvent e = {.kind = ETL_FULL64,
            .classic = true,
            .pointerSize = 8,
            .payload = payload,
            .payloadSize = (uint32_t)size};
    EtwText out = {0};
    if (CHECK_MSG(schema != NULL, "line %d: no schema", line)) {
        EtwListProps(&out, schema, &e);
        EtwTextChar(&out, 0);
        CHECK_MSG(strcmp(out.data, want) == 0, "line %d: %s, not %s", line, out.data, want);
    }
    EtwTextFree(&out);
}
#define CHECK_PROPS(schema, payload, want)                                                         \
    checkProps((schema), (payload), sizeof(payload) - 1, (want), __LINE__)

#define GUID1 "{e91d0f2c-4da1-36b3-f22f-a6f5c11dda43}"
#define GUID2 "{4ed73968-00d8-34f3-557f-85fe0ce17799}"

static const char disk[] =
        "#pragma classflags(\"forceupdate\")\n"
        "#pragma namespace (\"\\\\\\\\.\\\\Root\\\\WMI\")\n"
        "/* a comment: class Wrong {}; */\n"
        "Qualifier Guid : string = null, Scope(class), Flavor(EnableOverride);\n"
        "[dynamic : ToInstance, Description(\"Our \" \"provider\"), Guid(\"" GUID1 "\"),\n"
        " locale(\"MS\\\\0x409\")]\n"
        "class OurProvider : EventTrace\n{\n};\n"
        "[Dynamic, Guid(\"" GUID2 "\"), EventVersion(2), DisplayName(\"Disk_V2\")]\n"
        "class Disk_V2 : OurProvider\n{\n};\n"
        "[Dynamic, Guid(\"" GUID2 "\"), EventVersion(1), DisplayName(\"Disk_V1\")]\n"
        "class Disk_V1 : OurProvider {};\n"
        "[Dynamic, EventType{10, 0x0B, 300}, EventTypeName{\"Read\", \"Write\", \"Never\"}]\n"
        "class Disk_V2_Transfer : Disk_V2\n"
        "{\n"
        "  [WmiDataId(3), format(\"x\"), read] uint64 Offset;\n"
        "  [WmiDataId(1), read] uint32 DiskNumber;\n"
        "  [WmiDataId(2), pointer, read] uint32 Irp; // a pointer\n"
        "  [Description(\"no data\")] uint32 Hidden;\n"
        "  [WmiDataId(4), format(\"w\"), StringTermination(\"NullTerminated\")] string Name;\n"
        "  void Method([in] uint32 X);\n"
        "};\n"
        "[Dynamic, EventType(10), EventTypeName(\"Read\")]\n"
        "class Disk_V1_Read : Disk_V1 { [WmiDataId(1)] sint16 Old; };\n"
        "instance of Something { Name = \"{x}\"; Values = {1, 2}; };\n";

static void mof_1_1_names(void)
{
    Defs defs = DefsRead(EtwMofRead, "x.mof", disk, ETW_OK, NULL);
    REQUIRE(defs.count == 1);
    const EtwProviderDef *def = defs.defs[0];
    EtwGuid guid;
    EtwGuidParse(GUID2, &guid);
    CHECK(EtwGuidEqual(&guid, &def->guid));
    CHECK_STR(def->name, "Disk");
    CHECK_EQ(def->origin, ETW_ORIGIN_MOF);
    CHECK(def->classic);
    CHECK_EQ(def->eventCount, 3);
    const EtwSchema *s = event(&defs, 0, 11, 2);
    REQUIRE(s != NULL);
    CHECK_STR(s->provider, "Disk");
    CHECK_STR(s->event, "Write");
    CHECK_STR(EtwDefNameOf(def, ETW_NAME_OPCODE, 10, 0), "Read");
    CHECK_EQ(s->fieldCount, 4);
    DefsFree(&defs);
}

static void mof_1_2_values(void)
{
    Defs defs = DefsRead(EtwMofRead, "x.mof", disk, ETW_OK, NULL);
    CHECK_PROPS(event(&defs, 0, 10, 2),
            "\1\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"
            "a\0b\0\0\0",
            "{DiskNumber 1 Irp 2 Offset 3 Name ab}");
    CHECK_PROPS(event(&defs, 0, 10, 1), "\xff\xff", "{Old -1}");
    DefsFree(&defs);
}

/* One event of one property, written as it stands in a class. */
static void checkProperty(
        const char *property, const void *payload, size_t size, const char *want, int line)
{
    EtwText text = {0};
    EtwTextPrintf(&text,
            "[Guid(\"" GUID1 "\")] class P {}; [EventType(1)] class E : P {"
            "[WmiDataId(1)] uint8 n; %s };",
            property);
    EtwTextChar(&text, 0);
    Defs defs = DefsRead(EtwMofRead, "x.mof", text.data, ETW_OK, NULL);
    checkProps(event(&defs, 0, 1, 0), payload, size, want, line);
    DefsFree(&defs);
    EtwTextFree(&text);
}
#define CHECK_PROPERTY(property, payload, want)                                                    \
    checkProperty("[WmiDataId(2)," property, (payload), sizeof(payload) - 1, (want), __LINE__)

static void mof_2_1_types(void)
{
    CHECK_PROPERTY("read] boolean v;", "\2\1\0\0\0", "{n 2 v 1}");
    CHECK_PROPERTY("read] sint8 v;", "\2\xff", "{n 2 v -1}");
    CHECK_PROPERTY("format(\"c\")] uint8 v;", "\2A", "{n 2 v A}");
    CHECK_PROPERTY("read] real32 v;", "\2\0\0\xc0\x3f", "{n 2 v 1.5}");
    CHECK_PROPERTY("read] string v;", "\2zz\0", "{n 2 v zz}");
    CHECK_PROPERTY("StringTermination(\"Counted\")] string v;", "\2\2\0zz", "{n 2 v zz}");
    CHECK_PROPERTY("StringTermination(\"ReverseCounted\"), format(\"w\")] string v;", "\2\0\2z\0",
            "{n 2 v z}");
    CHECK_PROPERTY("StringTermination(\"NotCounted\")] string v;", "\2zzz", "{n 2 v zzz}");
    CHECK_PROPERTY("extension(\"Port\")] object v;", "\2\1\xbb", "{n 2 v 443}");
    CHECK_PROPERTY("extension(\"IPAddr\")] object v;", "\2\x7f\0\0\1", "{n 2 v 127.0.0.1}");
    CHECK_PROPERTY("extension(\"IPAddrV6\")] object v;", "\2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1",
            "{n 2 v ::1}");
    CHECK_PROPERTY("extension(\"Guid\")] object v;", "\2\1\0\0\0\2\0\3\0\4\5\6\7\x8\x9\xa\xb",
            "{n 2 v 00000001-0002-0003-0405-060708090a0b}");
    CHECK_PROPERTY("extension(\"Sid\")] object v;",
            "\2\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\1\0\0\0\0\0\5\x12\0\0\0", "{n 2 v S-1-5-18}");
    CHECK_PROPERTY("extension(\"SizeT\")] object v;", "\2\5\0\0\0\0\0\0\0", "{n 2 v 5}");
    CHECK_PROPERTY("extension(\"Variant\")] object v;", "\2\2\0\0\0\xab\xcd", "{n 2 v abcd}");
    CHECK_PROPERTY("extension(\"Mystery\")] object v;", "\2\xab\xcd", "{n 2 v abcd}");
}

static void mof_2_2_arrays(void)
{
    CHECK_PROPERTY("read] uint16 v[2];", "\2\1\0\2\0", "{n 2 v {1 2}}");
    CHECK_PROPERTY("MAX(3)] uint8 v[];", "\2\1\2\3", "{n 2 v {1 2 3}}");
    CHECK_PROPERTY("WmiSizeIs(\"n\")] uint8 v[];", "\2\1\2\3", "{n 2 v {1 2} _rest 03}");
    CHECK_PROPERTY("read] uint16 v[];", "\2\1\0\2\0", "{n 2 v {1 2}}");
    CHECK_PROPERTY("MAX(4)] char16 v[];", "\2a\0b\0\0\0\0\0", "{n 2 v ab}");
    CHECK_PROPERTY("read] char16 v[];", "\2a\0b\0\0\0", "{n 2 v ab}");
}

/* The counter may be any integer before the array, in any case of letters; what is no integer counts nothing. */
static void mof_2_2_1_counters(void)
{
    static const char text[] =
            "[Guid(\"" GUID1 "\")] class A {};"
            "[EventType(1)] class B : A { [WmiDataId(1)] uint8 a; [WmiDataId(2)] uint16 n; "
            "[WmiDataId(3), WmiSizeIs(\"N\")] uint8 v[]; [WmiDataId(4)] uint8 z; };"
            "[EventType(2)] class C : A { [WmiDataId(1)] uint8 n[2]; "
            "[WmiDataId(2), WmiSizeIs(\"n\"), MAX(1)] uint8 v[]; [WmiDataId(3)] uint8 z; };"
            "[EventType(3)] class D : A { [WmiDataId(1)] uint8 n; "
            "[WmiDataId(2), WmiSizeIs(\"none\"), MAX(1)] uint8 v[]; [WmiDataId(3)] uint8 z; };";
    Defs defs = DefsRead(EtwMofRead, "x.mof", text, ETW_OK, NULL);
    CHECK_PROPS(event(&defs, 0, 1, 0), "\7\2\0\x0a\x0b\x0c", "{a 7 n 2 v {10 11} z 12}");
    CHECK_PROPS(event(&defs, 0, 2, 0), "\1\2\3\4", "{n {1 2} v 3 z 4}");
    CHECK_PROPS(event(&defs, 0, 3, 0), "\2\3\4", "{n 2 v 3 z 4}");
    DefsFree(&defs);
}

static void mof_2_3_maps(void)
{
    CHECK_PROPERTY("Values{\"a\",\"b\"}] uint8 v;", "\2\1", "{n 2 v b}");
    CHECK_PROPERTY("ValueMap{\"5\",\"0x6\",\"..\"}, Values{\"a\",\"b\",\"c\"}] uint8 v;", "\2\6",
            "{n 2 v b}");
    CHECK_PROPERTY(
            "BitMap{\"0\",\"4\"}, BitValues{\"a\",\"b\"}] uint8 v;", "\2\x11", "{n 2 v a|b}");
    CHECK_PROPERTY("ValueMap{\"1\",\"2\"}, Values{\"a\",\"b\"}, ValueType(\"flag\")] uint8 v;",
            "\2\3", "{n 2 v a|b}");
}

/* Fields of a base class come first; version and GUID are those of the nearest class. */
static void mof_2_4_inheritance(void)
{
    static const char text[] = "[Guid(\"" GUID1 "\"), EventVersion(3)] class A {};"
                               "class B : A { [WmiDataId(1)] uint8 x; [WmiDataId(2)] uint8 y; };"
                               "[EventType(9)] class C : b { [WmiDataId(1)] uint8 z; };";
    Defs defs = DefsRead(EtwMofRead, "x.mof", text, ETW_OK, NULL);
    CHECK_PROPS(event(&defs, 0, 9, 3), "\1\2\3", "{x 1 y 2 z 3}");
    CHECK_STR(event(&defs, 0, 9, 3)->event, "C");
    DefsFree(&defs);
}

static void mof_3_1_cycle(void)
{
    static const char text[] = "[Guid(\"" GUID1 "\")] class A : B {[WmiDataId(1)] uint8 x;};"
                               "[EventType(9)] class B : A { };";
    Defs defs = DefsRead(EtwMofRead, "x.mof", text, ETW_OK, NULL);
    CHECK(event(&defs, 0, 9, 0) != NULL);
    DefsFree(&defs);
}

static void mof_3_2_errors(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {{"class X {};", "x.mof has no event classes: expected classes with the qualifiers "
                                 "Guid and EventType"},
            {"\n[Guid(\"x\") class X {};", "x.mof, line 2: expected , or ] after a qualifier"},
            {"class X {\n uint8 ;", "x.mof, line 2: expected the name of a property"},
            {"class X {\n uint8 a;\n", "x.mof, line 3: a class is not closed"},
            {"[Description(\"never", "x.mof, line 1: a string has no closing quote"},
            {"[Values{1,2", "x.mof, line 1: a bracket is not closed"},
            {"class X : { };", "x.mof, line 1: expected the name of a base class"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EtwError err = {0};
        Defs defs = DefsRead(EtwMofRead, "x.mof", cases[i].text, ETW_E_FORMAT, &err);
        CHECK_EQ(defs.count, 0);
        CHECK_STR(err.message, cases[i].message);
    }
}

static void mof_4_1_store(void)
{
    Defs defs = DefsRead(EtwMofRead, "x.mof", disk, ETW_OK, NULL);
    EtwEvent e = {.kind = ETL_FULL64, .classic = true, .pointerSize = 4, .desc.opcode = 11};
    REQUIRE(defs.count == 1);
    e.desc.version = 7; /* newer than known: its known beginning */
    EtwGuidParse(GUID2, &e.provider);
    EtwLibraryAdd(defs.defs[0]);
    EtwSchemaStore *store = EtwSchemaStoreNew();
    const EtwSchema *schema = EtwSchemaOf(store, &e);
    REQUIRE(schema != NULL);
    CHECK_STR(schema->event, "Write");
    CHECK_EQ(schema->version, 2);
    EtwSchemaStoreFree(store);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(mof_1_1_names);
    CHECK_RUN(mof_1_2_values);
    CHECK_RUN(mof_2_1_types);
    CHECK_RUN(mof_2_2_arrays);
    CHECK_RUN(mof_2_2_1_counters);
    CHECK_RUN(mof_2_3_maps);
    CHECK_RUN(mof_2_4_inheritance);
    CHECK_RUN(mof_3_1_cycle);
    CHECK_RUN(mof_3_2_errors);
    CHECK_RUN(mof_4_1_store);
    return CHECK_DONE();
}
