/*
 * tests/schema/test_schema.c --
 *
 *	The schema room: TraceLogging both ways, every in- and out-type, hostile metadata and
 *	payloads, the cache, Tcl list text.
 */
#include "tests/support/sample_event.h"
#include "schema/tracelogging/tracelogging.h"
#include "tests/support/check.h"
#include "schema/model/decode.h"
#include "schema/model/schema_int.h"
#include "schema/model/tcl_list.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* ---- Encoding -------------------------------------------------------------------------------- */

static void encode_1_1_bytes(void)
{
    static const Etw_Field fields[] = {
            {"A", ETW_IN_UINT32, 0, 0, 0},
            {"B", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0},
            {"C", ETW_IN_UINT8, 0, ETW_ARRAY_FIXED, 0x0304},
            {"D", ETW_IN_UINT16, ETW_OUT_PORT, ETW_ARRAY_COUNTED, 0},
            {"S", ETW_IN_STRUCT, 0, ETW_ARRAY_COUNTED, 1},
            {"M", ETW_IN_INT64, 0, 0, 0},
    };
    static const uint8_t want[] = {37, 0, 0, 'E', 'v', 0, 'A', 0, 8, 'B', 0, 0x80 | 23, 35, 'C', 0,
            0x20 | 4, 4, 3, 'D', 0, 0xC0 | 6, 7, 'S', 0, 0xC0 | 24, 1, 'M', 0, 9};
    EtwText out = {0};
    REQUIRE(EtwTraceLoggingEncode(&out, "Ev", fields, COUNT(fields), NULL) == ETW_OK);
    CHECK_EQ(EtwLoad16(out.data), out.size);
    CHECK_MEM(out.data + 2, out.size - 2, want + 2, sizeof want - 2);
    EtwTextFree(&out);
}

static void encode_1_2_traits(void)
{
    static const uint8_t want[] = {5, 0, 'P', 'q', 0};
    EtwGuid group = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    EtwText out = {0};
    EtwTraceLoggingTraits(&out, "Pq", NULL);
    CHECK_MEM(out.data, out.size, want, sizeof want);
    out.size = 0;
    EtwTraceLoggingTraits(&out, "Pq", &group);
    CHECK_EQ(out.size, 5 + 19);
    CHECK_EQ(EtwLoad16(out.data), 24);
    CHECK_EQ(EtwLoad16(out.data + 5), 19);
    CHECK_EQ(out.data[7], 1);
    CHECK_MEM(out.data + 8, 16, group.bytes, 16);
    EtwTextFree(&out);
}

/* Each is refused with a message that names the field, and leaves the output as it was. */
static void encode_1_3_refused(void)
{
    static const Etw_Field bad[][2] = {
            {{"", ETW_IN_UINT8, 0, 0, 0}, {NULL, 0, 0, 0, 0}},
            {{"Bad", 26, 0, 0, 0}, {NULL, 0, 0, 0, 0}},
            {{"Bad", ETW_IN_UINT8, 128, 0, 0}, {NULL, 0, 0, 0, 0}},
            {{"Bad", ETW_IN_UINT8, 0, 3, 0}, {NULL, 0, 0, 0, 0}},
            {{"Bad", ETW_IN_UINT8, 0, ETW_ARRAY_FIXED, 0}, {NULL, 0, 0, 0, 0}},
            {{"Bad", ETW_IN_STRUCT, 0, 0, 0}, {NULL, 0, 0, 0, 0}},
            {{"Bad", ETW_IN_STRUCT, 0, 0, 1}, {NULL, 0, 0, 0, 0}},
            {{"Bad", ETW_IN_STRUCT, 0, ETW_ARRAY_FIXED, 1}, {"M", ETW_IN_UINT8, 0, 0, 0}},
    };
    for (int i = 0; i < COUNT(bad); i++) {
        EtwText out = {0};
        EtwError err = {0};
        int count = bad[i][1].name ? 2 : 1;
        CHECK_EQ(EtwTraceLoggingEncode(&out, "Ev", bad[i], count, &err), ETW_E_ARG);
        CHECK_STR(err.detail, "FIELD");
        CHECK_MSG(strstr(err.message, bad[i][0].name) != NULL, "case %d: %s", i, err.message);
        CHECK_EQ(out.size, 0);
        EtwTextFree(&out);
    }
    EtwText out = {0};
    CHECK_EQ(EtwTraceLoggingEncode(&out, "", NULL, 0, NULL), ETW_E_ARG);
}

/* ---- Parsing what others wrote --------------------------------------------------------------- */

static EtwSchema *parse(const void *bytes, size_t size)
{
    size_t taken;
    uint8_t *copy = EtwAlloc(size ? size : 1); /* so that a sanitizer sees reads behind it */
    memcpy(copy, bytes, size);
    EtwStore16(copy, (uint16_t)size);
    EtwSchema *schema = EtwTraceLoggingParse(copy, size, &taken);
    EtwFree(copy);
    return schema;
}

/* An event tag of three bytes, field tags, a custom blob, a constant count. */
static void parse_2_1_tags(void)
{
    static const char bytes[] = "..\x81\x82\x03"
                                "Name\0"
                                "F\0\x88\x84\x85\x06"     /* u32, hex, tag of two bytes */
                                "G\0\x64\x03\x00xyz"      /* u8, custom, blob of 3 */
                                "H\0\x29\x05\x00"         /* i64 [5] */
                                "I\0\x98\x81\x07J\0\x04"; /* struct of one, tag */
    EtwSchema *s = parse(bytes, sizeof bytes - 1);
    REQUIRE(s != NULL);
    CHECK_STR(s->event, "Name");
    REQUIRE(s->fieldCount == 5);
    CHECK_STR(s->fields[0].name, "F");
    CHECK_EQ(s->fields[0].in, ETW_IN_UINT32);
    CHECK_EQ(s->fields[0].out, ETW_OUT_HEX);
    CHECK_EQ(s->fields[0].tag, 5 << 7 | 6);
    CHECK_EQ(s->fields[1].in, ETW_IN_COUNTED_BINARY);
    CHECK_EQ(s->fields[1].array, ETW_SCALAR);
    CHECK_EQ(s->fields[2].array, ETW_ARRAY_FIXED);
    CHECK_EQ(s->fields[2].count, 5);
    CHECK_EQ(s->fields[3].members, 1);
    CHECK_EQ(s->fields[3].span, 2);
    CHECK_EQ(s->fields[3].tag, 7);
    CHECK_STR(s->fields[4].name, "J");
    EtwFree(s);
}

/* Cut anywhere: no name gives nothing; a name and half a field give the name alone. */
static void parse_2_2_cut(void)
{
    static const char bytes[] = "..\0Name\0F\0\x88\x04G\0\x98\x02H\0\x04I\0\x21\x02\x00";
    size_t whole = sizeof bytes - 1;
    for (size_t size = 2; size < whole; size++) {
        EtwSchema *s = parse(bytes, size);
        bool named = size >= 8;
        CHECK_MSG((s != NULL) == named, "cut to %zu bytes", size);
        if (s != NULL) {
            CHECK_STR(s->event, "Name");
            bool complete = size == 8 || size == 12;
            CHECK_MSG(
                    complete || s->fieldCount == 0, "%d fields of %zu bytes", s->fieldCount, size);
        }
        EtwFree(s);
    }
    EtwSchema *s = parse(bytes, whole);
    REQUIRE(s != NULL);
    CHECK_EQ(s->fieldCount, 4);
    EtwFree(s);
}

static void parse_2_3_limits(void)
{
    EtwText deep = {0}, many = {0};
    EtwTextAdd(&deep, "..\0N\0", 5);
    EtwTextAdd(&many, "..\0N\0", 5);
    for (int i = 0; i < 100; i++) {
        EtwTextAdd(&deep, "S\0\x98\x01", 4);
    }
    EtwTextAdd(&deep, "x\0\x04", 3);
    for (int i = 0; i < ETW_MAX_FIELDS + 1; i++) {
        EtwTextAdd(&many, "x\0\x04", 3);
    }
    EtwSchema *s = parse(deep.data, deep.size);
    CHECK(s != NULL && s->fieldCount == 0);
    EtwFree(s);
    s = parse(many.data, many.size);
    CHECK(s != NULL && s->fieldCount == 0);
    EtwFree(s);
    s = parse(many.data, many.size - 3);
    CHECK(s != NULL && s->fieldCount == ETW_MAX_FIELDS);
    EtwFree(s);
    EtwTextFree(&deep);
    EtwTextFree(&many);
}

/* Names become valid text. */
static void parse_2_4_names(void)
{
    static const char bytes[] = "..\0N\xFF\0F\xC3\0\x04";
    EtwSchema *s = parse(bytes, sizeof bytes - 1);
    REQUIRE(s != NULL && s->fieldCount == 1);
    CHECK_STR(s->event, "N\xEF\xBF\xBD");
    CHECK_STR(s->fields[0].name, "F\xEF\xBF\xBD");
    EtwFree(s);
}

/* ---- Types ----------------------------------------------------------------------------------- */

/* Bytes as hex digits, blanks for the eye. */
static size_t fromHex(const char *hex, uint8_t *out)
{
    size_t size = 0;
    for (int half = 0; *hex != 0; hex++) {
        if (*hex != ' ') {
            int digit = *hex <= '9' ? *hex - '0' : *hex - 'a' + 10;
            out[size] = (uint8_t)(half ? out[size] << 4 | digit : digit);
            size += (size_t)half;
            half = !half;
        }
    }
    return size;
}

static const struct {
    const char *name;
    uint8_t in, out;
    const char *hex;
} types[] = {
        {"null", ETW_IN_NULL, 0, ""},
        {"utf16z", ETW_IN_UTF16Z, 0, "4100 e900 3dd8 00de 0000"},
        {"utf16z, lone surrogate", ETW_IN_UTF16Z, 0, "00d8 4100 0000"},
        {"utf16z, xml", ETW_IN_UTF16Z, ETW_OUT_XML, "3c00 6100 2f00 3e00 0000"},
        {"ansiz", ETW_IN_ANSIZ, 0, "414243 00"},
        {"ansiz, utf8", ETW_IN_ANSIZ, ETW_OUT_UTF8, "c3a9 e282ac 00"},
        {"ansiz, invalid", ETW_IN_ANSIZ, ETW_OUT_UTF8, "41 ff c3 00"},
        {"ansiz, json", ETW_IN_ANSIZ, ETW_OUT_JSON, "7b7d 00"},
        {"int8", ETW_IN_INT8, 0, "80"},
        {"int8, string", ETW_IN_INT8, ETW_OUT_STRING, "41"},
        {"int8, hex", ETW_IN_INT8, ETW_OUT_HEX, "ff"},
        {"int8, unsigned", ETW_IN_INT8, ETW_OUT_UNSIGNED, "ff"},
        {"uint8", ETW_IN_UINT8, 0, "ff"},
        {"uint8, signed", ETW_IN_UINT8, ETW_OUT_SIGNED, "ff"},
        {"uint8, bool", ETW_IN_UINT8, ETW_OUT_BOOL, "02"},
        {"uint8, hex", ETW_IN_UINT8, ETW_OUT_HEX, "0a"},
        {"uint8, string", ETW_IN_UINT8, ETW_OUT_STRING, "7e"},
        {"uint8, noprint", ETW_IN_UINT8, ETW_OUT_NOPRINT, "07"},
        {"int16", ETW_IN_INT16, 0, "0080"},
        {"uint16", ETW_IN_UINT16, 0, "0080"},
        {"uint16, port", ETW_IN_UINT16, ETW_OUT_PORT, "1f90"},
        {"uint16, string", ETW_IN_UINT16, ETW_OUT_STRING, "ac20"},
        {"uint16, hex", ETW_IN_UINT16, ETW_OUT_HEX, "3412"},
        {"int32", ETW_IN_INT32, 0, "00000080"},
        {"int32, unsigned", ETW_IN_INT32, ETW_OUT_UNSIGNED, "ffffffff"},
        {"int32, win32", ETW_IN_INT32, ETW_OUT_WIN32, "05000000"},
        {"int32, ntstatus", ETW_IN_INT32, ETW_OUT_NTSTATUS, "220000c0"},
        {"int32, hresult", ETW_IN_INT32, ETW_OUT_HRESULT, "05000780"},
        {"uint32", ETW_IN_UINT32, 0, "ffffffff"},
        {"uint32, pid", ETW_IN_UINT32, ETW_OUT_PID, "67120000"},
        {"uint32, tid", ETW_IN_UINT32, ETW_OUT_TID, "68120000"},
        {"uint32, ipv4", ETW_IN_UINT32, ETW_OUT_IPV4, "7f000001"},
        {"uint32, ntstatus", ETW_IN_UINT32, ETW_OUT_NTSTATUS, "22000000"},
        {"uint32, win32", ETW_IN_UINT32, ETW_OUT_WIN32, "05000000"},
        {"int64", ETW_IN_INT64, 0, "0000000000000080"},
        {"int64, unsigned", ETW_IN_INT64, ETW_OUT_UNSIGNED, "ffffffffffffffff"},
        {"int64, filetime", ETW_IN_INT64, ETW_OUT_FILETIME, "0080 3ed5 deb1 9d01"},
        {"int64, datetime", ETW_IN_INT64, ETW_OUT_DATETIME, "0100 0000 0000 0000"},
        {"uint64", ETW_IN_UINT64, 0, "ffffffffffffffff"},
        {"uint64, code pointer", ETW_IN_UINT64, ETW_OUT_CODE_POINTER, "00100040ff7f0000"},
        {"float", ETW_IN_FLOAT, 0, "cdcccc3d"},
        {"double", ETW_IN_DOUBLE, 0, "9a9999999999b93f"},
        {"double, whole", ETW_IN_DOUBLE, 0, "0000000000001440"},
        {"double, nan", ETW_IN_DOUBLE, 0, "000000000000f87f"},
        {"double, infinite", ETW_IN_DOUBLE, 0, "000000000000f0ff"},
        {"bool32", ETW_IN_BOOL32, 0, "01000000"},
        {"bool32, false", ETW_IN_BOOL32, 0, "00000000"},
        {"binary", ETW_IN_BINARY, 0, "0300 00ff10"},
        {"binary, empty", ETW_IN_BINARY, 0, "0000"},
        {"binary, ipv6", ETW_IN_BINARY, ETW_OUT_IPV6, "1000 20010db8 00000000 00000000 00000001"},
        {"binary, ipv6 loopback", ETW_IN_BINARY, ETW_OUT_IPV6,
                "1000 00000000 00000000 00000000 00000001"},
        {"binary, ipv6 any", ETW_IN_BINARY, ETW_OUT_IPV6,
                "1000 00000000 00000000 00000000 00000000"},
        {"binary, ipv6 one zero group", ETW_IN_BINARY, ETW_OUT_IPV6,
                "1000 20010db8 00000001 00010001 00010001"},
        {"binary, ipv6 zeros at the end", ETW_IN_BINARY, ETW_OUT_IPV6,
                "1000 fe800000 00000000 00010000 00000000"},
        {"binary, ipv6 mapped", ETW_IN_BINARY, ETW_OUT_IPV6,
                "1000 00000000 00000000 0000ffff 7f000001"},
        {"binary, ipv6 of a wrong size", ETW_IN_BINARY, ETW_OUT_IPV6, "0200 0102"},
        {"binary, sockaddr", ETW_IN_BINARY, ETW_OUT_SOCKADDR,
                "1000 0200 1f90 7f000001 0000000000000000"},
        {"binary, sockaddr6", ETW_IN_BINARY, ETW_OUT_SOCKADDR,
                "1c00 0a00 1f90 00000000 00000000 00000000 00000000 00000001 00000000"},
        {"binary, sockaddr of a strange family", ETW_IN_BINARY, ETW_OUT_SOCKADDR, "0300 0100 41"},
        {"binary, utf8", ETW_IN_BINARY, ETW_OUT_UTF8, "0300 e282ac"},
        {"binary, pkcs7", ETW_IN_BINARY, ETW_OUT_PKCS7, "0200 3082"},
        {"guid", ETW_IN_GUID, 0, "00d9fd68 3e4a d111 84f4 0000f80464e3"},
        {"pointer", ETW_IN_POINTER, 0, "00100040ff7f0000"},
        {"filetime", ETW_IN_FILETIME, 0, "1581 3ed5 deb1 9d01"},
        {"filetime, leap day", ETW_IN_FILETIME, 0, "0040 d8dd 4e82 bf01"},
        {"filetime, zero", ETW_IN_FILETIME, 0, "0000000000000000"},
        {"filetime, largest", ETW_IN_FILETIME, 0, "ffffffffffffffff"},
        {"systemtime", ETW_IN_SYSTEMTIME, 0, "ea07 0b00 0600 1500 0800 1700 0c00 7b00"},
        {"systemtime, utc", ETW_IN_SYSTEMTIME, ETW_OUT_DATETIME_UTC,
                "ea07 0b00 0600 1500 0800 1700 0c00 7b00"},
        {"sid", ETW_IN_SID, 0, "01 02 000000000005 20000000 20020000"},
        {"sid, no parts", ETW_IN_SID, 0, "01 00 000000000001"},
        {"hex32", ETW_IN_HEX32, 0, "0000000f"},
        {"hex32, ipv4", ETW_IN_HEX32, ETW_OUT_IPV4, "0a000001"},
        {"hex64", ETW_IN_HEX64, 0, "efcdab8967452301"},
        {"counted utf16", ETW_IN_COUNTED_UTF16, 0, "0400 4100 ac20"},
        {"counted ansi", ETW_IN_COUNTED_ANSI, 0, "0300 414243"},
        {"counted ansi, utf8", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, "0300 e282ac"},
        {"counted binary", ETW_IN_COUNTED_BINARY, 0, "0200 beef"},
};

typedef struct Seen {
    EtwText text;
    int values, begins, ends;
    size_t rest;
} Seen;

static void seeValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Seen *seen = ctx;
    seen->values++;
    EtwTextStr(&seen->text, field->name);
    EtwTextChar(&seen->text, '=');
    EtwFormatValue(&seen->text, field, value);
    EtwTextChar(&seen->text, ' ');
}

static void seeBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    Seen *seen = ctx;
    seen->begins++;
    EtwTextPrintf(&seen->text, isStruct ? "%s{ " : "%s[%d: ", field->name, count);
}

static void seeEnd(void *ctx, const EtwField *field, bool isStruct)
{
    Seen *seen = ctx;
    (void)field;
    seen->ends++;
    EtwTextStr(&seen->text, isStruct ? "} " : "] ");
}

static void seeRest(void *ctx, const uint8_t *data, size_t size)
{
    Seen *seen = ctx;
    (void)data;
    seen->rest += size;
    EtwTextPrintf(&seen->text, "rest %zu ", size);
}

static const EtwVisitor see = {seeValue, seeBegin, seeEnd, seeRest};

/* The decoded payload as text; the caller frees it. */
static char *seen(EtwSchemaStore *store, Sample *s, EtwStatus want)
{
    Seen what = {0};
    const EtwEvent *event = SampleEvent(s);
    const EtwSchema *schema = EtwSchemaOf(store, event);
    if (schema == NULL) {
        return EtwStrdup("(no schema)");
    }
    CHECK_EQ(EtwDecode(schema, event, &see, &what), want);
    CHECK_EQ(what.begins, what.ends);
    EtwTextChar(&what.text, 0);
    return what.text.data;
}

static void types_3_1_golden(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwText text = {0};
    bool met[ETW_IN_COUNTED_BINARY + 1] = {[ETW_IN_STRUCT] = true};
    for (int i = 0; i < COUNT(types); i++) {
        uint8_t bytes[64];
        Etw_Field field = {"V", types[i].in, types[i].out, 0, 0};
        Sample *s = SampleNew("Test-Types", "Typed", &field, 1);
        SampleBytes(s, bytes, fromHex(types[i].hex, bytes));
        char *line = seen(store, s, ETW_OK);
        EtwTextPrintf(&text, "%-40s %s\n", types[i].name, line);
        EtwFree(line);
        SampleFree(s);
        met[types[i].in] = true;
    }
    for (int in = 0; in < COUNT(met); in++) {
        CHECK_MSG(met[in], "in-type %d has no case", in);
    }
    CHECK(SampleIsGolden("types.txt", text.data, text.size));
    EtwTextFree(&text);
    EtwSchemaStoreFree(store);
}

/* A 32-bit process wrote it. */
static void types_3_2_pointer32(void)
{
    static const Etw_Field fields[] = {
            {"P", ETW_IN_POINTER, 0, 0, 0}, {"A", ETW_IN_UINT8, 0, 0, 0}};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = SampleNew("Test-Types", "Pointer", fields, 2);
    s->event.pointerSize = 4;
    SampleInt(s, 0xDEADBEEF, 4);
    SampleInt(s, 7, 1);
    char *text = seen(store, s, ETW_OK);
    CHECK_STR(text, "P=0xdeadbeef A=7 ");
    EtwFree(text);
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

/* Every type as an array of three elements, fixed and counted: each element as it is alone. */
static void types_3_3_arrays(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    for (int i = 0; i < COUNT(types); i++) {
        for (int form = ETW_ARRAY_FIXED; form <= ETW_ARRAY_COUNTED; form++) {
            uint8_t bytes[64];
            size_t size = fromHex(types[i].hex, bytes);
            Etw_Field field = {"V", types[i].in, types[i].out, (uint8_t)form, 3};
            Etw_Field alone = {"V", types[i].in, types[i].out, 0, 0};
            EtwField asField = {.in = field.in, .out = field.out, .array = field.array};
            if (EtwFieldIsChars(&asField)) {
                continue; /* see chars_3_4 */
            }
            Sample *one = SampleNew("Test-Types", "One", &alone, 1);
            Sample *three = SampleNew("Test-Types", "Three", &field, 1);
            EtwText want = {0};
            SampleBytes(one, bytes, size);
            if (form == ETW_ARRAY_COUNTED) {
                SampleInt(three, 3, 2);
            }
            for (int k = 0; k < 3; k++) {
                SampleBytes(three, bytes, size);
            }
            char *element = seen(store, one, ETW_OK), *array = seen(store, three, ETW_OK);
            EtwTextPrintf(&want, "V[3: %s%s%s] ", element, element, element);
            EtwTextChar(&want, 0);
            CHECK_STR(array, want.data);
            EtwFree(element);
            EtwFree(array);
            EtwTextFree(&want);
            SampleFree(one);
            SampleFree(three);
        }
    }
    EtwSchemaStoreFree(store);
}

/* Arrays of characters are texts; a fixed one ends at its NUL, a counted one has the NULs that it
 * has. */
static void types_3_4_chars(void)
{
    static const Etw_Field fields[] = {{"A", ETW_IN_INT8, ETW_OUT_STRING, ETW_ARRAY_FIXED, 6},
            {"B", ETW_IN_UINT16, ETW_OUT_STRING, ETW_ARRAY_COUNTED, 0},
            {"C", ETW_IN_UINT16, ETW_OUT_STRING, ETW_ARRAY_FIXED, 2},
            {"D", ETW_IN_UINT8, ETW_OUT_STRING, ETW_ARRAY_COUNTED, 0}};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwValue v;
    Sample *s = SampleNew("Test-Types", "Chars", fields, COUNT(fields));
    SampleBytes(s, "tclsh", 6);
    SampleInt(s, 2, 2);
    SampleBytes(s, "\xac\x20!", 4);
    SampleBytes(s, "x\0y", 4);
    SampleInt(s, 3, 2);
    SampleBytes(s, "end", 3);
    char *text = seen(store, s, ETW_OK);
    CHECK_STR(text, "A=tclsh B=\xe2\x82\xac! C=xy D=end ");
    EtwFree(text);
    REQUIRE(EtwDecodeField(EtwSchemaOf(store, SampleEvent(s)), SampleEvent(s), 3, &v) == ETW_OK);
    CHECK_MEM(v.data, v.size, "end", 3);
    s->payload.size--;
    text = seen(store, s, ETW_E_FORMAT);
    CHECK_STR(text, "A=tclsh B=\xe2\x82\xac! C=xy rest 4 ");
    EtwFree(text);
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

/* ---- Structs --------------------------------------------------------------------------------- */

static const Etw_Field nested[] = {
        {"Before", ETW_IN_UINT8, 0, 0, 0},
        {"Outer", ETW_IN_STRUCT, 0, 0, 3},
        {"A", ETW_IN_UINT16, 0, 0, 0},
        {"Inner", ETW_IN_STRUCT, 0, ETW_ARRAY_COUNTED, 2},
        {"X", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0},
        {"Y", ETW_IN_INT8, 0, ETW_ARRAY_FIXED, 2},
        {"B", ETW_IN_UINT8, 0, 0, 0},
        {"After", ETW_IN_ANSIZ, 0, 0, 0},
};

static Sample *nestedSample(void)
{
    Sample *s = SampleNew("Test-Types", "Nested", nested, COUNT(nested));
    SampleInt(s, 1, 1);
    SampleInt(s, 2, 2);
    SampleInt(s, 2, 2); /* Inner has two elements */
    SampleText(s, "one");
    SampleInt(s, 0xFFFE, 2);
    SampleText(s, "");
    SampleInt(s, 0x0403, 2);
    SampleInt(s, 5, 1);
    SampleBytes(s, "end", 4);
    return s;
}

static void structs_4_1_nested(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = nestedSample();
    char *text = seen(store, s, ETW_OK);
    CHECK_STR(text, "Before=1 Outer{ A=2 Inner[2: Inner{ X=one Y[2: Y=-2 Y=-1 ] } "
                    "Inner{ X= Y[2: Y=3 Y=4 ] } ] B=5 } After=end ");
    EtwFree(text);
    const EtwSchema *schema = EtwSchemaOf(store, SampleEvent(s));
    CHECK_EQ(schema->fields[1].span, 6);
    CHECK_EQ(schema->fields[1].members, 3);
    CHECK_EQ(schema->fields[3].span, 3);
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

/* Cut at each byte: the values that fit are given, the rest is told, nothing behind the end is
 * read. */
static void structs_4_2_cut(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = nestedSample();
    EtwEvent event = *SampleEvent(s);
    const EtwSchema *schema = EtwSchemaOf(store, &event);
    int before = 0;
    for (uint32_t size = 0; size < s->payload.size; size++) {
        Seen what = {0};
        uint8_t *copy = malloc(size ? size : 1);
        memcpy(copy, s->payload.data, size);
        event.payload = copy;
        event.payloadSize = size;
        EtwStatus status = EtwDecode(schema, &event, &see, &what);
        /* The text at the end may lack its NUL. */
        bool textBegun = size > s->payload.size - 4;
        CHECK_MSG(status == (textBegun ? ETW_OK : ETW_E_FORMAT), "%u bytes: %d", size, status);
        CHECK_EQ(what.begins, what.ends);
        CHECK_MSG(what.values >= before, "%u bytes: %d values", size, what.values);
        before = what.values;
        EtwTextFree(&what.text);
        free(copy);
    }
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

static void structs_4_3_rest(void)
{
    static const Etw_Field fields[] = {
            {"A", ETW_IN_UINT32, 0, 0, 0}, {"B", ETW_IN_UINT32, 0, 0, 0}};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = SampleNew("Test-Types", "Rest", fields, 2);
    SampleInt(s, 1, 4);
    SampleInt(s, 2, 3);
    char *text = seen(store, s, ETW_E_FORMAT);
    CHECK_STR(text, "A=1 rest 3 ");
    EtwFree(text);
    SampleInt(s, 0, 4);
    text = seen(store, s, ETW_OK);
    CHECK_STR(text, "A=1 B=2 rest 3 ");
    EtwFree(text);
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

/* A string at the end without its NUL, 8 and 16 bits; an odd byte after it is not a character. */
static void structs_4_4_open_string(void)
{
    static const Etw_Field narrow = {"T", ETW_IN_ANSIZ, 0, 0, 0},
                           wide = {"T", ETW_IN_UTF16Z, 0, 0, 0};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = SampleNew("Test-Types", "Narrow", &narrow, 1);
    SampleBytes(s, "abc", 3);
    char *text = seen(store, s, ETW_OK);
    CHECK_STR(text, "T=abc ");
    EtwFree(text);
    SampleFree(s);
    s = SampleNew("Test-Types", "Wide", &wide, 1);
    SampleBytes(s, "a\0b\0c", 5);
    text = seen(store, s, ETW_OK);
    CHECK_STR(text, "T=ab ");
    EtwFree(text);
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

/*
 * Fixed arrays of fixed arrays of nothing take no payload at all: without a budget this decodes for
 * years. The metadata cannot come from our encoder.
 */
static void structs_4_5_for_ever(void)
{
    static const char bytes[] = "..\0N\0"
                                "A\0\xB8\x01\xFF\xFF"
                                "B\0\xB8\x01\xFF\xFF"
                                "C\0\xB8\x01\xFF\xFF"
                                "D\0\x20\xFF\xFF";
    Seen what = {0};
    EtwEvent event = {.payload = (const uint8_t *)"12345678", .payloadSize = 8, .pointerSize = 8};
    EtwSchema *schema = parse(bytes, sizeof bytes - 1);
    REQUIRE(schema != NULL && schema->fieldCount == 4);
    CHECK_EQ(EtwDecode(schema, &event, &see, &what), ETW_E_FORMAT);
    CHECK_EQ(what.begins, what.ends);
    CHECK(what.values < 1000);
    EtwTextFree(&what.text);
    EtwFree(schema);
}

static void field_5_1_by_index(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = nestedSample();
    const EtwEvent *event = SampleEvent(s);
    const EtwSchema *schema = EtwSchemaOf(store, event);
    EtwValue v;
    REQUIRE(EtwDecodeField(schema, event, 0, &v) == ETW_OK);
    CHECK(v.kind == ETW_V_UINT && v.u == 1);
    REQUIRE(EtwDecodeField(schema, event, 7, &v) == ETW_OK);
    CHECK_MEM(v.data, v.size, "end", 3);
    CHECK(EtwDecodeField(schema, event, 1, &v) != ETW_OK); /* a struct */
    CHECK(EtwDecodeField(schema, event, 2, &v) != ETW_OK); /* a member */
    CHECK(EtwDecodeField(schema, event, 8, &v) != ETW_OK);
    CHECK(EtwDecodeField(schema, event, -1, &v) != ETW_OK);
    s->payload.size -= 5;
    event = SampleEvent(s);
    CHECK_EQ(EtwDecodeField(schema, event, 7, &v), ETW_E_FORMAT);
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

/* ---- Maps ------------------------------------------------------------------------------------ */

/* A size that is told by a text is 0, not what the event before had at that place. */
static void field_5_2_size_by_text(void)
{
    static const uint8_t payload[] = {3, 'a', 'b', 'c', 'd'};
    EtwField fields[] = {{.name = "Size", .in = ETW_IN_UINT8, .counts = true, .span = 1},
            {.name = "Data",
                    .in = ETW_IN_BINARY,
                    .sized = ETW_SIZE_BY_FIELD,
                    .length = 0,
                    .span = 1}};
    EtwSchema schema = {.provider = "", .event = "", .fields = fields, .fieldCount = 2};
    EtwEvent event = {.payload = payload, .payloadSize = sizeof payload, .pointerSize = 8};
    EtwValue value;
    REQUIRE(EtwDecodeField(&schema, &event, 1, &value) == ETW_OK);
    CHECK_EQ(value.size, 3);
    fields[0].in = ETW_IN_ANSIZ;
    fields[0].sized = ETW_SIZE_FIXED;
    fields[0].length = 1;
    REQUIRE(EtwDecodeField(&schema, &event, 1, &value) == ETW_OK);
    CHECK_EQ(value.size, 0);
}

static void maps_6_1_names(void)
{
    static const EtwMapEntry exactEntries[] = {{1, "ESTABLISHED"}, {2, "SYN_SENT"}};
    static const EtwMapEntry bitEntries[] = {{1, "PEEK"}, {2, "OOB"}, {0x40, "DONTWAIT"}};
    static const EtwMap exact = {exactEntries, 2, false}, bits = {bitEntries, 3, true};
    static const struct {
        const EtwMap *map;
        uint64_t v;
        const char *text;
        bool isText;
    } cases[] = {{&exact, 1, "ESTABLISHED", true}, {&exact, 3, "3", false},
            {&bits, 0x41, "PEEK|DONTWAIT", true}, {&bits, 0x80, "0x80", true},
            {&bits, 0x82, "OOB|0x80", true}, {&bits, 0, "0", false}};
    for (int i = 0; i < COUNT(cases); i++) {
        EtwField field = {.name = "F", .in = ETW_IN_UINT32, .map = cases[i].map};
        EtwValue value = {.kind = ETW_V_UINT, .width = 4, .u = cases[i].v};
        EtwText text = {0};
        EtwFormatValue(&text, &field, &value);
        EtwTextChar(&text, 0);
        CHECK_STR(text.data, cases[i].text);
        CHECK_MSG(EtwValueIsText(&field, &value) == cases[i].isText, "case %d", i);
        EtwTextFree(&text);
    }
}

/* ---- The store ------------------------------------------------------------------------------- */

/* Live sources reuse their memory: other metadata at the same address, of the same size, is another
 * schema. */
static void store_7_1_same_address(void)
{
    static const Etw_Field a = {"First", ETW_IN_UINT8, 0, 0, 0},
                           b = {"Other", ETW_IN_UINT8, 0, 0, 0};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *x = SampleNew("Test-Store", "Event", &a, 1),
           *y = SampleNew("Test-Store", "Event", &b, 1);
    REQUIRE(x->meta.size == y->meta.size);
    const EtwSchema *first = EtwSchemaOf(store, SampleEvent(x));
    CHECK(first == EtwSchemaOf(store, SampleEvent(x)));
    memcpy(x->meta.data, y->meta.data, y->meta.size);
    const EtwSchema *other = EtwSchemaOf(store, SampleEvent(x));
    REQUIRE(first != NULL && other != NULL);
    CHECK(first != other);
    CHECK_STR(first->fields[0].name, "First");
    CHECK_STR(other->fields[0].name, "Other");
    CHECK(other == EtwSchemaOf(store, SampleEvent(y)));
    CHECK_STR(other->provider, "Test-Store");
    /* The same metadata of another provider is another schema, too. */
    EtwGuidFromName("Test-Elsewhere", &y->event.provider);
    CHECK(other != EtwSchemaOf(store, SampleEvent(y)));
    SampleFree(x);
    SampleFree(y);
    EtwSchemaStoreFree(store);
}

/* Some events of a provider come without traits: the name is learned from the first that has them.
 */
static void store_7_2_name_later(void)
{
    static const Etw_Field a = {"A", ETW_IN_UINT8, 0, 0, 0};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *x = SampleNew("Test-Store", "Event", &a, 1);
    EtwEvent bare = *SampleEvent(x);
    bare.traits = NULL;
    bare.traitsSize = 0;
    const EtwSchema *schema = EtwSchemaOf(store, &bare);
    REQUIRE(schema != NULL);
    CHECK_STR(schema->provider, "");
    CHECK(EtwProviderName(store, &bare.provider) == NULL);
    CHECK(EtwSchemaOf(store, SampleEvent(x)) == schema);
    CHECK_STR(schema->provider, "Test-Store");
    CHECK_STR(EtwProviderName(store, &bare.provider), "Test-Store");
    SampleFree(x);
    EtwSchemaStoreFree(store);
}

static void store_7_3_builtin(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwGuid guid;
    EtwGuidFromName("Tcl-Script", &guid);
    CHECK_STR(EtwProviderName(store, &guid), "Tcl-Script");
    EtwGuidParse("9a280ac0-c8e0-11d1-84e2-00c04fb998a2", &guid);
    CHECK_STR(EtwProviderName(store, &guid), "TcpIp");
    EtwEvent event = {.provider = guid, .classic = true, .desc.opcode = 10, .pointerSize = 8};
    const EtwSchema *send = EtwSchemaOf(store, &event);
    REQUIRE(send != NULL);
    CHECK_STR(send->event, "Send");
    CHECK(send->origin == ETW_ORIGIN_KERNEL);
    event.desc.opcode = 200;
    CHECK(EtwSchemaOf(store, &event) == NULL);
    EtwGuidParse("68fdd900-4a3e-11d1-84f4-0000f80464e3", &event.provider);
    event.desc.opcode = 0;
    const EtwSchema *header = EtwSchemaOf(store, &event);
    REQUIRE(header != NULL);
    CHECK_STR(header->provider, "EventTrace");
    CHECK_STR(header->event, "Header");
    EtwSchemaStoreFree(store);
}

/* More schemas than any of its tables begins with. */
static void store_7_4_many(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    enum { MANY = 5000 };
    const EtwSchema **schemas = EtwAlloc(MANY * sizeof *schemas);
    for (int round = 0; round < 2; round++) {
        int wrong = 0;
        for (int i = 0; i < MANY; i++) {
            char name[48];
            snprintf(name, sizeof name, "Event-number-%06d-of-many", i);
            Sample *s = SampleNew("Test-Store", name, NULL, 0);
            const EtwSchema *schema = EtwSchemaOf(store, SampleEvent(s));
            wrong += schema == NULL || strcmp(schema->event, name) != 0 ||
                     (round == 1 && schema != schemas[i]);
            schemas[i] = schema;
            SampleFree(s);
        }
        CHECK_EQ(wrong, 0);
    }
    EtwFree(schemas);
    EtwSchemaStoreFree(store);
}

static void addVisited(void *ctx, const EtwSchema *schema)
{
    EtwTextPrintf(ctx, "%s ", schema != NULL ? schema->event : "(null)");
}

/* Visited are the schemas of the events so far, each once; an event without one has none. */
static void store_7_6_visit(void)
{
    static const char *const names[] = {"A", "B", "A"};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwText seen = {0};
    EtwSchemaVisit(store, addVisited, &seen);
    CHECK_EQ(seen.size, 0);
    for (int i = 0; i < 4; i++) {
        Sample *s = SampleNew("Test-Visit", i < 3 ? names[i] : "C", NULL, 0);
        if (i == 3) {
            s->meta.size = 2; /* cut */
        }
        CHECK_EQ(EtwSchemaOf(store, SampleEvent(s)) != NULL, i < 3);
        SampleFree(s);
    }
    EtwSchemaVisit(store, addVisited, &seen);
    EtwTextChar(&seen, 0);
    CHECK_MSG(strcmp(seen.data, "A B ") == 0 || strcmp(seen.data, "B A ") == 0, "%s", seen.data);
    EtwTextFree(&seen);
    EtwSchemaStoreFree(store);
}

static void store_7_5_string_only(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwEvent event = {
            .flags = 4, .pointerSize = 8, .payload = (const uint8_t *)"h\0i\0\0", .payloadSize = 6};
    Seen what = {0};
    const EtwSchema *schema = EtwSchemaOf(store, &event);
    REQUIRE(schema != NULL);
    CHECK_EQ(EtwDecode(schema, &event, &see, &what), ETW_OK);
    EtwTextChar(&what.text, 0);
    CHECK_STR(what.text.data, "Message=hi ");
    EtwTextFree(&what.text);
    event.flags = 0;
    CHECK(EtwSchemaOf(store, &event) == NULL);
    EtwSchemaStoreFree(store);
}

/* ---- Tcl lists ------------------------------------------------------------------------------- */

static void list_8_1_elements(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {{"", "{}"}, {"plain", "plain"}, {"two words", "{two words}"}, {"#x", "{#x}"},
            {"x#", "x#"}, {"a{b", "a\\{b"}, {"a{b}c", "{a{b}c}"}, {"}{", "\\}\\{"}, {"$x", "{$x}"},
            {"[x]", "{[x]}"}, {"a\nb", "a\\nb"}, {"a\r\tb c", "a\\r\\tb\\ c"},
            {"back\\", "back\\\\"}, {"a\\{b", "{a\\{b}"}, {"a\\\nb", "a\\\\\\nb"}, {"\"q", "{\"q}"},
            {"a;b", "{a;b}"}, {"\xC3\xA9", "\xC3\xA9"}, {"#\n", "\\#\\n"}};
    for (int i = 0; i < COUNT(cases); i++) {
        EtwText out = {0};
        EtwListElement(&out, cases[i].text, strlen(cases[i].text));
        EtwTextChar(&out, 0);
        CHECK_STR(out.data, cases[i].want);
        out.size = 0;
        EtwTextStr(&out, "x ");
        EtwTextStr(&out, cases[i].text);
        EtwListNest(&out, 2);
        EtwTextChar(&out, 0);
        CHECK_STR(out.data + 2, cases[i].want);
        EtwTextFree(&out);
    }
}

static void list_8_2_props(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = nestedSample();
    EtwText out = {0};
    const EtwEvent *event = SampleEvent(s);
    CHECK_EQ(EtwListProps(&out, EtwSchemaOf(store, event), event), ETW_OK);
    EtwTextChar(&out, 0);
    CHECK_STR(out.data,
            "{Before 1 Outer {A 2 Inner {{X one Y {-2 -1}} {X {} Y {3 4}}} B 5} After end}");
    out.size = 0;
    CHECK_EQ(EtwListField(&out, EtwSchemaOf(store, event), event, 1), ETW_OK);
    EtwTextChar(&out, 0);
    CHECK_STR(out.data, "A 2 Inner {{X one Y {-2 -1}} {X {} Y {3 4}}} B 5");
    out.size = 0;
    CHECK_EQ(EtwListProps(&out, NULL, event), ETW_OK);
    EtwTextChar(&out, 0);
    CHECK_STR(out.data, "{_payload 010200020003006f6e65feff0000030405656e6400}");
    EtwTextFree(&out);
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

/* Times are numbers in lists: ns since 1970, also before 1677 (FILETIME 0). */
static void list_8_3_times(void)
{
    static const Etw_Field fields[] = {{"F", ETW_IN_FILETIME, 0, 0, 0},
            {"Z", ETW_IN_FILETIME, 0, 0, 0}, {"S", ETW_IN_SYSTEMTIME, 0, 0, 0}};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = SampleNew("Test-Types", "Times", fields, COUNT(fields));
    uint8_t bytes[16];
    EtwText out = {0};
    SampleInt(s, 116444736000000000ull + 15, 8);
    SampleInt(s, 0, 8);
    SampleBytes(s, bytes, fromHex("b207 0100 0400 0200 0300 0400 0500 0600", bytes));
    EtwListProps(&out, EtwSchemaOf(store, SampleEvent(s)), SampleEvent(s));
    EtwTextChar(&out, 0);
    CHECK_STR(out.data, "{F 1500 Z -11644473600000000000 S 97445006000000}");
    EtwTextFree(&out);
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(encode_1_1_bytes);
    CHECK_RUN(encode_1_2_traits);
    CHECK_RUN(encode_1_3_refused);
    CHECK_RUN(parse_2_1_tags);
    CHECK_RUN(parse_2_2_cut);
    CHECK_RUN(parse_2_3_limits);
    CHECK_RUN(parse_2_4_names);
    CHECK_RUN(types_3_1_golden);
    CHECK_RUN(types_3_2_pointer32);
    CHECK_RUN(types_3_3_arrays);
    CHECK_RUN(types_3_4_chars);
    CHECK_RUN(structs_4_1_nested);
    CHECK_RUN(structs_4_2_cut);
    CHECK_RUN(structs_4_3_rest);
    CHECK_RUN(structs_4_4_open_string);
    CHECK_RUN(structs_4_5_for_ever);
    CHECK_RUN(field_5_1_by_index);
    CHECK_RUN(field_5_2_size_by_text);
    CHECK_RUN(maps_6_1_names);
    CHECK_RUN(store_7_1_same_address);
    CHECK_RUN(store_7_2_name_later);
    CHECK_RUN(store_7_3_builtin);
    CHECK_RUN(store_7_4_many);
    CHECK_RUN(store_7_5_string_only);
    CHECK_RUN(store_7_6_visit);
    CHECK_RUN(list_8_1_elements);
    CHECK_RUN(list_8_2_props);
    CHECK_RUN(list_8_3_times);
    return CHECK_DONE();
}
