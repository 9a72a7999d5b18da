/*
 * tests/schema/test_manifest.c --
 *
 *	Manifests into definitions (schema/manifest/manifest.c), and messages (schema/store/event_message.c). What a
 *	trace says of itself is test_inband_schema.c's.
 */
#include "tests/support/check.h"
#include "base/unicode.h"
#include "tests/support/corpus.h"
#include "flow/source/source.h"
#include "schema/store/definition_files.h"
#include "schema/model/provider_def.h"
#include "schema/model/decode.h"
#include "schema/store/definition_library.h"
#include "schema/manifest/manifest.h"
#include "schema/store/event_message.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- Helpers --------------------------------------------------------------------------------- */

enum { MAX_DEFS = 8 };
typedef struct Got {
    EtwProviderDef *defs[MAX_DEFS];
    int count;
    EtwStatus status;
    EtwError err;
} Got;

static void take(void *ctx, EtwProviderDef *def)
{
    Got *got = ctx;
    if (got->count < MAX_DEFS) {
        got->defs[got->count++] = def;
    } else {
        EtwDefFree(def);
    }
}

static void drop(Got *got)
{
    while (got->count > 0) {
        EtwDefFree(got->defs[--got->count]);
    }
}

static void readText(Got *got, const void *text, size_t size)
{
    memset(got, 0, sizeof *got);
    got->status = EtwManifestReadFile("x.man", text, size, take, got, &got->err);
}

#define HEAD                                                                                       \
    "<?xml version=\"1.0\"?>\n<instrumentationManifest "                                           \
    "xmlns=\"http://schemas.microsoft.com/win/2004/08/events\">\n"                                 \
    "<instrumentation xmlns:win=\"w\" xmlns:xs=\"x\"><events>\n"                                   \
    "<provider name=\"Acme\" guid=\"{01020304-0506-0708-090a-0b0c0d0e0f10}\" symbol=\"ACME\">\n"
#define TAIL "</provider></events></instrumentation></instrumentationManifest>\n"

/* A manifest of one provider with these parts. */
static void readParts(Got *got, const char *parts)
{
    EtwText text = {0};
    EtwTextPrintf(&text, "%s%s%s", HEAD, parts, TAIL);
    readText(got, text.data, text.size);
    EtwTextFree(&text);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void manifest_1_1_empty(void)
{
    Got got;
    readText(&got, "", 0);
    CHECK_EQ(got.status, ETW_E_FORMAT);
    CHECK_STR(got.err.message, "x.man: line 1: no element found");
}

/* Everything that a manifest may have, with strings in two languages. */
static const char whole[] =
        HEAD "<channels><importChannel name=\"System\" chid=\"SYS\"/>"
             "<channel name=\"Acme/Op\" chid=\"OP\" type=\"Operational\"/>"
             "<channel name=\"Acme/Debug\" chid=\"DBG\" type=\"Debug\" value=\"20\"/></channels>"
             "<levels><level name=\"Loud\" value=\"17\" message=\"$(string.loud)\"/></levels>"
             "<tasks><task name=\"Eat\" value=\"3\" message=\"$(string.eat)\"><opcodes>"
             "<opcode name=\"Bite\" value=\"11\"/></opcodes></task>"
             "<task name=\"Sleep\" value=\"4\"/></tasks>"
             "<opcodes><opcode name=\"Bite\" value=\"12\"/></opcodes>"
             "<keywords><keyword name=\"K1\" mask=\"0x1\"/><keyword name=\"K2\" mask=\"0x20\"/>"
             "</keywords>"
             "<maps><valueMap name=\"Food\"><map value=\"2\" message=\"$(string.pie)\"/>"
             "<map value=\"0x1\" message=\"$(string.egg)\"/></valueMap>"
             "<bitMap name=\"How\"><map value=\"4\" message=\"$(string.egg)\"/></bitMap></maps>"
             "<templates><template tid=\"T\">"
             "<data name=\"What\" inType=\"win:UInt32\" map=\"Food\"/>"
             "<data name=\"N\" inType=\"win:UInt16\"/>"
             "<struct name=\"Bites\" count=\"N\"><data name=\"Size\" inType=\"win:UInt8\"/>"
             "<data name=\"Name\" inType=\"win:UnicodeString\" length=\"Size\"/></struct>"
             "</template></templates>"
             "<events><event value=\"9\" symbol=\"ALONE\" opcode=\"win:Stop\" channel=\"DBG\"/>"
             "<event value=\"7\" version=\"2\" task=\"Eat\" opcode=\"Bite\" level=\"Loud\""
             " keywords=\"K2 K1 win:AuditSuccess\" channel=\"OP\" template=\"T\" symbol=\"EATEN\""
             " message=\"$(string.m)\"/>"
             "<event value=\"8\" task=\"Sleep\" opcode=\"Bite\" level=\"win:Warning\""
             " channel=\"SYS\"/></events></provider>"
             "<provider name=\"Second\" guid=\"{11020304-0506-0708-090a-0b0c0d0e0f10}\">"
             "<events><event value=\"1\" message=\"$(string.m)\"/></events>" TAIL;
static const char strings[] =
        "<localization><resources culture=\"de-DE\"><stringTable>"
        "<string id=\"egg\" value=\"Ei\"/><string id=\"pie\" value=\"Kuchen\"/></stringTable>"
        "</resources><resources culture=\"en-US\"><stringTable>"
        "<string id=\"egg\" value=\"Egg \"/><string id=\"eat\" value=\"Eating\"/>"
        "<string id=\"m\" value=\"Ate %1 \xC3\xBC&#10;\"/></stringTable></resources></localization>"
        "</instrumentationManifest>";

static void wholeText(EtwText *text)
{
    static const char end[] = "</instrumentationManifest>\n";
    EtwTextAdd(text, whole, sizeof whole - sizeof end);
    EtwTextAdd(text, strings, sizeof strings); /* its NUL is not counted */
    text->size--;
}

static void checkEvents(const EtwProviderDef *def)
{
    CHECK_EQ(def->eventCount, 3);
    const EtwEventDef *e = EtwDefFind(def, 7, 2);
    REQUIRE(e != NULL);
    CHECK_STR(e->schema.event, "Eating/Bite");
    CHECK_STR(e->symbol, "EATEN");
    CHECK_STR(e->schema.message, "Ate %1 \xC3\xBC\n");
    CHECK_EQ(e->desc.task, 3);
    CHECK_EQ(e->desc.opcode, 11);
    CHECK_EQ(e->desc.level, 17);
    CHECK_EQ(e->desc.channel, 16);
    CHECK_EQ(e->desc.keyword, 0x20000000000021);
    CHECK_EQ(e->schema.origin, ETW_ORIGIN_MANIFEST);
    const EtwEventDef *second = EtwDefFind(def, 8, 0), *third = EtwDefFind(def, 9, 0);
    REQUIRE(second != NULL && third != NULL);
    CHECK_STR(second->schema.event, "Sleep/Bite");
    CHECK_EQ(second->desc.opcode, 12);
    CHECK_EQ(second->desc.level, 3);
    CHECK_EQ(second->desc.channel, 8);
    CHECK_STR(third->schema.event, "ALONE");
    CHECK_EQ(third->desc.opcode, 2);
    CHECK_EQ(third->desc.channel, 20);
}

static void checkFields(const EtwProviderDef *def)
{
    const EtwEventDef *e = EtwDefFind(def, 7, 2);
    REQUIRE(e != NULL && e->schema.fieldCount == 5);
    const EtwField *f = e->schema.fields;
    CHECK_STR(f[0].name, "What");
    REQUIRE(f[0].map != NULL && f[0].map->count == 2);
    CHECK_STR(f[0].map->entries[0].name, "Egg");
    CHECK_STR(f[0].map->entries[1].name, "Kuchen"); /* English lacks it */
    CHECK(!f[0].map->bits);
    CHECK(f[1].counts && f[3].counts);
    CHECK_EQ(f[2].in, ETW_IN_STRUCT);
    CHECK_EQ(f[2].array, ETW_ARRAY_BY_FIELD);
    CHECK_EQ(f[2].count, 1);
    CHECK_EQ(f[2].members, 2);
    CHECK_EQ(f[2].span, 3);
    CHECK_EQ(f[4].sized, ETW_SIZE_BY_FIELD);
    CHECK_EQ(f[4].length, 3);
}

static void checkWhole(const void *data, size_t size)
{
    Got got;
    readText(&got, data, size);
    CHECK_MSG(got.status == ETW_OK, "%s", got.err.message);
    if (CHECK_EQ(got.count, 2)) {
        CHECK_STR(got.defs[0]->name, "Acme");
        CHECK_STR(got.defs[0]->from, "x.man");
        CHECK_STR(got.defs[1]->name, "Second");
        checkEvents(got.defs[0]);
        checkFields(got.defs[0]);
        CHECK(EtwDefFindMap(got.defs[0], "How") != NULL && EtwDefFindMap(got.defs[0], "How")->bits);
        CHECK_STR(EtwDefNameOf(got.defs[0], ETW_NAME_KEYWORD, 0x20, 0), "K2");
        CHECK_STR(EtwDefNameOf(got.defs[0], ETW_NAME_CHANNEL, 16, 0), "Acme/Op");
        CHECK_STR(EtwDefNameOf(got.defs[0], ETW_NAME_LEVEL, 17, 0), "Loud");
        CHECK_STR(got.defs[1]->events[0]->schema.message, "Ate %1 \xC3\xBC\n");
    }
    drop(&got);
}

static void manifest_1_2_utf8(void)
{
    EtwText text = {0};
    wholeText(&text);
    checkWhole(text.data, text.size);
    EtwTextFree(&text);
}

static void manifest_1_3_utf16(void)
{
    EtwText text = {0}, wide = {0};
    wholeText(&text);
    EtwTextAdd(&wide, "\xFF\xFE", 2);
    EtwTextToUtf16(&wide, text.data, text.size);
    checkWhole(wide.data, wide.size);
    checkWhole(wide.data + 2, wide.size - 2); /* without its mark */
    for (size_t i = 0; i + 1 < wide.size; i += 2) {
        char c = wide.data[i];
        wide.data[i] = wide.data[i + 1];
        wide.data[i + 1] = c;
    }
    checkWhole(wide.data, wide.size);
    EtwTextFree(&text);
    EtwTextFree(&wide);
}

/* The declaration still says what the file was before it was converted. */
static void manifest_1_4_wrong_declaration(void)
{
    EtwText text = {0}, said = {0};
    wholeText(&text);
    EtwTextStr(&said, "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"UTF-16\"?>");
    EtwTextStr(&said, strstr(text.data, "<instr"));
    checkWhole(said.data, said.size);
    EtwTextFree(&text);
    EtwTextFree(&said);
}

static void manifest_1_5_codepage(void)
{
    Got got;
    static const char text[] = "<?xml version=\"1.0\" encoding=\"windows-1252\"?><a><events>"
                               "<provider name=\"\x80ur\xF6\" guid=\"{01020304-0506-0708-090a-"
                               "0b0c0d0e0f10}\"/></events></a>";
    readText(&got, text, sizeof text - 1);
    CHECK_MSG(got.status == ETW_OK, "%s", got.err.message);
    if (CHECK_EQ(got.count, 1)) {
        CHECK_STR(got.defs[0]->name, "\xE2\x82\xACur\xC3\xB6");
    }
    drop(&got);
}

/* What looks for the encoding's name must not look behind the text's beginning (a fuzzer's). */
static void manifest_1_6_cut_declaration(void)
{
    char text[200];
    Got got;
    for (size_t at = 60; at < 150; at++) {
        memset(text, ' ', sizeof text);
        memcpy(text + at, "encoding=", 9);
        readText(&got, text, at + 9);
        CHECK_EQ(got.status, ETW_E_FORMAT);
    }
}

/* ---- Types ----------------------------------------------------------------------------------- */

static const struct TypeCase {
    const char *attributes;
    int in, out, sized, length, array, count;
} types[] = {
        {"inType=\"win:UnicodeString\"", ETW_IN_UTF16Z, 0, 0, 0, 0, 0},
        {"inType=\"win:UnicodeString\" outType=\"xs:string\" length=\"9\"", ETW_IN_UTF16Z, 0,
                ETW_SIZE_FIXED, 9, 0, 0},
        {"inType=\"win:UnicodeString\" length=\"n\"", ETW_IN_UTF16Z, 0, ETW_SIZE_BY_FIELD, 0, 0, 0},
        {"inType=\"win:AnsiString\" outType=\"win:Utf8\"", ETW_IN_ANSIZ, ETW_OUT_UTF8, 0, 0, 0, 0},
        {"inType=\"win:AnsiString\" outType=\"win:Json\"", ETW_IN_ANSIZ, ETW_OUT_JSON, 0, 0, 0, 0},
        {"inType=\"win:Int8\" outType=\"xs:byte\"", ETW_IN_INT8, 0, 0, 0, 0, 0},
        {"inType=\"win:Int8\" outType=\"xs:string\"", ETW_IN_INT8, ETW_OUT_STRING, 0, 0, 0, 0},
        {"inType=\"win:UInt8\" outType=\"win:HexInt8\"", ETW_IN_UINT8, ETW_OUT_HEX, 0, 0, 0, 0},
        {"inType=\"win:UInt8\" outType=\"xs:boolean\"", ETW_IN_UINT8, ETW_OUT_BOOL, 0, 0, 0, 0},
        {"inType=\"win:Int16\"", ETW_IN_INT16, 0, 0, 0, 0, 0},
        {"inType=\"win:UInt16\" outType=\"win:Port\"", ETW_IN_UINT16, ETW_OUT_PORT, 0, 0, 0, 0},
        {"inType=\"win:Int32\" outType=\"xs:int\"", ETW_IN_INT32, 0, 0, 0, 0, 0},
        {"inType=\"win:UInt32\" outType=\"win:PID\"", ETW_IN_UINT32, ETW_OUT_PID, 0, 0, 0, 0},
        {"inType=\"win:UInt32\" outType=\"win:TID\"", ETW_IN_UINT32, ETW_OUT_TID, 0, 0, 0, 0},
        {"inType=\"win:UInt32\" outType=\"win:IPv4\"", ETW_IN_UINT32, ETW_OUT_IPV4, 0, 0, 0, 0},
        {"inType=\"win:UInt32\" outType=\"win:Win32Error\"", ETW_IN_UINT32, ETW_OUT_WIN32, 0, 0, 0,
                0},
        {"inType=\"win:UInt32\" outType=\"win:NTSTATUS\"", ETW_IN_UINT32, ETW_OUT_NTSTATUS, 0, 0, 0,
                0},
        {"inType=\"win:Int32\" outType=\"win:HResult\"", ETW_IN_INT32, ETW_OUT_HRESULT, 0, 0, 0, 0},
        {"inType=\"win:UInt32\" count=\"3\"", ETW_IN_UINT32, 0, 0, 0, ETW_ARRAY_FIXED, 3},
        {"inType=\"win:UInt32\" count=\"n\"", ETW_IN_UINT32, 0, 0, 0, ETW_ARRAY_BY_FIELD, 0},
        {"inType=\"win:UInt32\" count=\"1\"", ETW_IN_UINT32, 0, 0, 0, 0, 1},
        {"inType=\"win:Int64\" outType=\"xs:long\"", ETW_IN_INT64, 0, 0, 0, 0, 0},
        {"inType=\"win:UInt64\" outType=\"win:HexInt64\"", ETW_IN_UINT64, ETW_OUT_HEX, 0, 0, 0, 0},
        {"inType=\"win:Float\" outType=\"xs:float\"", ETW_IN_FLOAT, 0, 0, 0, 0, 0},
        {"inType=\"win:Double\"", ETW_IN_DOUBLE, 0, 0, 0, 0, 0},
        {"inType=\"win:Boolean\" outType=\"xs:boolean\"", ETW_IN_BOOL32, 0, 0, 0, 0, 0},
        {"inType=\"win:Binary\" length=\"5\"", ETW_IN_BINARY, 0, ETW_SIZE_FIXED, 5, 0, 0},
        {"inType=\"win:Binary\" length=\"n\" outType=\"win:SocketAddress\"", ETW_IN_BINARY,
                ETW_OUT_SOCKADDR, ETW_SIZE_BY_FIELD, 0, 0, 0},
        {"inType=\"win:Binary\" outType=\"win:IPv6\"", ETW_IN_BINARY, ETW_OUT_IPV6, ETW_SIZE_FIXED,
                16, 0, 0},
        {"inType=\"win:GUID\" outType=\"xs:GUID\"", ETW_IN_GUID, 0, 0, 0, 0, 0},
        {"inType=\"win:Pointer\" outType=\"win:CodePointer\"", ETW_IN_POINTER, ETW_OUT_CODE_POINTER,
                0, 0, 0, 0},
        {"inType=\"win:FILETIME\" outType=\"xs:dateTime\"", ETW_IN_FILETIME, 0, 0, 0, 0, 0},
        {"inType=\"win:FILETIME\" outType=\"win:DateTimeCultureInsensitive\"", ETW_IN_FILETIME,
                ETW_OUT_DATETIME, 0, 0, 0, 0},
        {"inType=\"win:SYSTEMTIME\" outType=\"win:DateTimeUtc\"", ETW_IN_SYSTEMTIME,
                ETW_OUT_DATETIME_UTC, 0, 0, 0, 0},
        {"inType=\"win:SID\" outType=\"xs:string\"", ETW_IN_SID, 0, 0, 0, 0, 0},
        {"inType=\"win:HexInt32\" outType=\"win:HexInt32\"", ETW_IN_HEX32, ETW_OUT_HEX, 0, 0, 0, 0},
        {"inType=\"win:HexInt64\"", ETW_IN_HEX64, 0, 0, 0, 0, 0},
        {"inType=\"win:CountedUtf16String\" outType=\"win:Xml\"", ETW_IN_COUNTED_UTF16, ETW_OUT_XML,
                0, 0, 0, 0},
        {"inType=\"win:CountedMbcsString\"", ETW_IN_COUNTED_ANSI, 0, 0, 0, 0, 0},
        {"inType=\"win:CountedBinary\"", ETW_IN_COUNTED_BINARY, 0, 0, 0, 0, 0},
};

static void manifest_2_1_types(void)
{
    EtwText text = {0};
    Got got;
    EtwTextStr(&text, "<templates><template tid=\"T\"><data name=\"n\" inType=\"win:UInt8\"/>");
    for (int i = 0; i < COUNT(types); i++) {
        EtwTextPrintf(&text, "<data name=\"f%d\" %s/>", i, types[i].attributes);
    }
    EtwTextStr(
            &text, "</template></templates><events><event value=\"1\" template=\"T\"/></events>");
    EtwTextChar(&text, 0);
    readParts(&got, text.data);
    EtwTextFree(&text);
    CHECK_MSG(got.status == ETW_OK, "%s", got.err.message);
    REQUIRE(got.count == 1 && got.defs[0]->events[0]->schema.fieldCount == COUNT(types) + 1);
    for (int i = 0; i < COUNT(types); i++) {
        const EtwField *f = &got.defs[0]->events[0]->schema.fields[i + 1];
        const struct TypeCase *t = &types[i];
        CHECK_MSG(f->in == t->in && f->out == t->out && f->sized == t->sized &&
                          f->length == t->length && f->array == t->array && f->count == t->count,
                "%s: in %d out %d sized %d length %d array %d count %d", t->attributes, f->in,
                f->out, f->sized, f->length, f->array, f->count);
    }
    drop(&got);
}

/* ---- What is refused -------------------------------------------------------------------------- */

static void manifest_3_1_errors(void)
{
    static const struct {
        const char *parts, *message;
    } cases[] = {
            {"<events>\n<event value=\"x\"/></events>",
                    "x.man: line 6: value of <event> must be a number up to 65535, not \"x\""},
            {"<events><event value=\"70000\"/></events>",
                    "x.man: line 5: value of <event> must be a number up to 65535, not \"70000\""},
            {"<events><event value=\"1\" template=\"T\"/></events>",
                    "x.man: line 5: there is no template \"T\""},
            {"<events><event value=\"1\" task=\"T\"/></events>",
                    "x.man: line 5: there is no task \"T\""},
            {"<events><event value=\"1\" keywords=\"win:SQM K\"/></events>",
                    "x.man: line 5: there is no keyword \"K\""},
            {"<keywords><keyword name=\"a\" mask=\"0xg\"/></keywords>",
                    "x.man: line 5: mask of <keyword> must be a number up to "
                    "18446744073709551615, not \"0xg\""},
            {"<templates>\n<template tid=\"T\">\n<data name=\"a\" inType=\"win:Uint9\"/>"
             "</template></templates>",
                    "x.man: line 7: unknown inType \"win:Uint9\""},
            {"<templates><template tid=\"T\"><data name=\"a\" inType=\"win:Binary\" length=\"b\"/>"
             "</template></templates>",
                    "x.man: line 5: length of \"a\" is \"b\": no number, and no field before it"},
            {"<templates><template tid=\"T\"><data name=\"a\" inType=\"win:UInt8\" map=\"m\"/>"
             "</template></templates>",
                    "x.man: line 5: there is no map \"m\""},
            {"<templates><template tid=\"T\"><struct name=\"s\"><data name=\"n\" "
             "inType=\"win:UInt8\"/></struct><data name=\"a\" inType=\"win:UInt8\" count=\"n\"/>"
             "</template></templates><events><event value=\"3\" template=\"T\"/></events>",
                    "x.man: line 5: the fields of event 3 make no sense"},
            {"<events><event></events>", "x.man: line 5: mismatched tag"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        Got got;
        readParts(&got, cases[i].parts);
        CHECK_EQ(got.status, ETW_E_FORMAT);
        CHECK_EQ(got.count, 0);
        CHECK_STR(got.err.message, cases[i].message);
    }
}

static void manifest_3_2_other_documents(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
            {"<html/>", "x.man: not an instrumentation manifest: it has no <provider> in <events>"},
            {"<events><provider name=\"a\" guid=\"b\"/></events>",
                    "x.man: line 1: the provider's guid is \"b\", which is none"},
            {"<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
                    "x.man: line 1: document type declarations are not supported"},
            {"<a>&b;</a>", "x.man: line 1: undefined entity"},
            {"text", "x.man: line 1: syntax error"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        Got got;
        readText(&got, cases[i].text, strlen(cases[i].text));
        CHECK_EQ(got.status, ETW_E_FORMAT);
        CHECK_STR(got.err.message, cases[i].message);
    }
}

static void manifest_3_3_depth(void)
{
    EtwText text = {0};
    Got got;
    for (int i = 0; i < 100000; i++) {
        EtwTextStr(&text, "<a>");
    }
    readText(&got, text.data, text.size);
    CHECK_STR(got.err.message, "x.man: line 1: elements are nested too deeply");
    EtwTextFree(&text);
}

/* A small text that asks for 20,000 events of 2,000 fields each. */
static void manifest_3_4_amplification(void)
{
    EtwText text = {0};
    Got got;
    EtwTextStr(&text, HEAD "<templates><template tid=\"T\">");
    for (int i = 0; i < 2000; i++) {
        EtwTextStr(&text, "<data name=\"a\" inType=\"win:UInt8\"/>");
    }
    EtwTextStr(&text, "</template></templates><events>");
    for (int i = 0; i < 20000; i++) {
        EtwTextPrintf(&text, "<event value=\"%d\" template=\"T\"/>", i);
    }
    EtwTextStr(&text, "</events>" TAIL);
    readText(&got, text.data, text.size);
    CHECK_EQ(got.status, ETW_E_LIMIT);
    CHECK_EQ(got.count, 0);
    EtwTextFree(&text);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void manifest_4_1_messages(void)
{
    static const struct {
        const char *template, *message;
    } cases[] = {
            {"plain", "plain"},
            {"%1 and %2", "-5 and text"},
            {"%1%n%t%2%r%b%%%.%!", "-5\n\ttext\r %.!"},
            {"%2!s!|%2!8s!|%2!-8s!|%2!.2s!", "text|    text|text    |te"},
            {"%1!d!|%1!5d!|%1!x!|%1!08I64X!", "-5|   -5|fffffffb|FFFFFFFB"},
            {"%3!x! %3!#x! %3!04x! %3", "2a 0x2a 002a 0x2a"},
            {"%3!05d!", "00x2a"},
            {"%4", "Egg"},
            {"%5", "1, 2"},
            {"%6", "7, b"},
            {"%7 %99 %0 unseen", "%7 %99"},
            {"open %2!s", "open text!s"},
            {"end %", "end %"},
            {"blanks %n %n", "blanks"},
    };
    static const EtwMapEntry entry = {1, "Egg"};
    static const EtwMap map = {&entry, 1, false};
    static const EtwField fields[] = {{.name = "I", .in = ETW_IN_INT32, .span = 1},
            {.name = "S", .in = ETW_IN_ANSIZ, .span = 1},
            {.name = "H", .in = ETW_IN_HEX32, .span = 1},
            {.name = "M", .in = ETW_IN_UINT8, .span = 1, .map = &map},
            {.name = "A", .in = ETW_IN_UINT8, .array = ETW_ARRAY_FIXED, .count = 2, .span = 1},
            {.name = "T", .in = ETW_IN_STRUCT, .members = 2, .span = 3},
            {.name = "a", .in = ETW_IN_UINT8, .span = 1},
            {.name = "b", .in = ETW_IN_ANSIZ, .span = 1}};
    static const uint8_t payload[] = "\xFB\xFF\xFF\xFFtext\0\x2A\0\0\0\x01\x01\x02\x07"
                                     "b";
    EtwEvent event = {.payload = payload, .payloadSize = sizeof payload, .pointerSize = 8};
    for (int i = 0; i < COUNT(cases); i++) {
        EtwSchema schema = {
                .fields = fields, .fieldCount = COUNT(fields), .message = cases[i].template};
        EtwText out = {0};
        CHECK(EtwFormatMessage(&out, &schema, &event));
        EtwTextChar(&out, 0);
        CHECK_STR(out.data, cases[i].message);
        EtwTextFree(&out);
    }
}

/* ---- Windows' own conversion ------------------------------------------------------------------- */

/* HTTP_Server.evtx.xml, line by line. */
typedef struct Truth {
    FILE *file;
    char line[4096];
    long values, payloads;
} Truth;

/* The text between <tag...> and </tag>, in place; NULL: the line has no such element. */
static char *between(char *line, const char *open, const char *close)
{
    char *from = strstr(line, open), *to = from ? strstr(from, close) : NULL;
    if (to == NULL) {
        return NULL;
    }
    *to = 0;
    return from + strlen(open);
}

typedef struct Compared {
    Truth *truth;
    const EtwEvent *event;
    bool failed; /* Windows could not decode it */
} Compared;

static bool nextLine(Truth *t)
{
    return fgets(t->line, sizeof t->line, t->file) != NULL;
}

static void checkValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Compared *c = ctx;
    EtwText text = {0};
    char name[200];
    if (c->failed || !nextLine(c->truth)) {
        return;
    }
    snprintf(name, sizeof name, "<Data Name=\"%s\">", field->name);
    const char *want = between(c->truth->line, name, "</Data>");
    if (!CHECK_MSG(want != NULL, "no %s in %s", name, c->truth->line)) {
        return;
    }
    c->truth->values++;
    if (value->kind == ETW_V_UINT) {
        CHECK_EQ(value->u, strtoull(want, NULL, 0));
        return;
    }
    if (value->kind == ETW_V_TEXT16) {
        EtwTextUtf16(&text, value->data, value->size / 2);
    } else {
        for (size_t i = 0; i < value->size; i++) {
            EtwTextPrintf(&text, value->kind == ETW_V_TEXT ? "%c" : "%02X", value->data[i]);
        }
    }
    EtwTextChar(&text, 0);
    CHECK_STR(text.data, want);
    EtwTextFree(&text);
}

/* Windows refuses texts without NUL; what it kept is the payload. */
static void checkPayload(Compared *c)
{
    char *want = NULL;
    while (want == NULL && nextLine(c->truth)) {
        want = between(c->truth->line, "<EventPayload>", "</EventPayload>");
    }
    REQUIRE(want != NULL && strlen(want) == 2 * c->event->payloadSize);
    for (uint32_t i = 0; i < c->event->payloadSize; i++) {
        char hex[3];
        snprintf(hex, sizeof hex, "%02X", c->event->payload[i]);
        if (!CHECK_MSG(strncmp(hex, want + 2 * i, 2) == 0, "payload differs at %u", i)) {
            return;
        }
    }
    c->truth->payloads++;
}

static void checkEvent(Truth *truth, EtwSchemaStore *store, const EtwEvent *event)
{
    static const EtwVisitor visitor = {.value = checkValue};
    Compared c = {.truth = truth, .event = event};
    const EtwSchema *schema = EtwSchemaOf(store, event);
    REQUIRE(schema != NULL && schema->origin == ETW_ORIGIN_MANIFEST);
    const char *id = NULL;
    bool data = false;
    while (!data && !c.failed && nextLine(truth)) {
        id = id ? id : between(truth->line, "<EventID>", "</EventID>");
        if (id != NULL && strstr(truth->line, "EventID") != NULL) {
            CHECK_EQ(event->desc.id, atoi(id));
        }
        data = strstr(truth->line, "<EventData>") != NULL;
        c.failed = strstr(truth->line, "<ProcessingErrorData>") != NULL;
    }
    CHECK_EQ(EtwDecode(schema, event, &visitor, &c), ETW_OK);
    if (c.failed) {
        checkPayload(&c);
    }
}

static void manifest_5_1_as_windows(void)
{
    EtwError err;
    EtwSource *source;
    EtwEvent event;
    int providers, events;
    Truth truth = {.file = fopen(CorpusFile("microsoft__Tx/HTTP_Server.evtx.xml"), "r")};
    if (truth.file == NULL) {
        SKIP("no corpus in %s", Corpus());
    }
    REQUIRE(EtwSchemaLoad(CorpusFile("microsoft__Tx/HTTP_Server.man"), &providers, &events, &err) ==
            ETW_OK);
    CHECK_EQ(providers, 1);
    CHECK_EQ(events, 85);
    REQUIRE(EtwSourceOpen(&source, CorpusFile("microsoft__Tx/HTTP_Server.etl"), &err) == ETW_OK);
    EtwSchemaStore *store = EtwSchemaStoreNew();
    long count = 0;
    while (EtwSourceNext(source, &event) == ETW_OK) {
        if (!event.classic) {
            checkEvent(&truth, store, &event);
            count++;
        }
    }
    CHECK_EQ(count, 2041);
    CHECK_EQ(truth.payloads, 291);
    CHECK_EQ(truth.values, 7873); /* all there are */
    while (nextLine(&truth)) {
        CHECK(strstr(truth.line, "<Event ") == NULL);
    }
    EtwSourceClose(source);
    EtwSchemaStoreFree(store);
    EtwLibraryClear();
    fclose(truth.file);
}

/* In a trace, what is malformed is left out, and the rest is read. */
static void manifest_6_1_in_a_trace(void)
{
    static const char parts[] =
            "<templates><template tid=\"Good\"><data name=\"a\" inType=\"win:UInt8\"/></template>"
            "<template tid=\"Type\"><data name=\"a\" inType=\"win:Nope\"/>"
            "<data name=\"b\" inType=\"win:UInt8\"/></template>"
            "<template tid=\"Length\"><data name=\"a\" inType=\"win:Binary\" "
            "length=\"none\"/></template>"
            "<template tid=\"Struct\"><struct name=\"s\"><data name=\"a\" "
            "inType=\"win:Nope\"/></struct>"
            "</template></templates><events>"
            "<event value=\"1\" template=\"Good\"/><event value=\"2\" template=\"Type\"/>"
            "<event value=\"3\" template=\"Length\"/><event value=\"4\" template=\"Struct\"/>"
            "<event value=\"x\"/><event value=\"65536\"/><event value=\"5\" version=\"256\"/>"
            "<event value=\"6\" template=\"None\"/>"
            "<event value=\"7\" level=\"None\" task=\"None\" opcode=\"None\" keywords=\"None\"/>"
            "<event value=\"8\" version=\"255\" level=\"win:Error\"/></events>";
    static const uint16_t want[] = {1, 7, 8};
    Got got = {.count = 0};
    EtwText text = {0};
    EtwTextPrintf(&text, "%s%s%s", HEAD, parts, TAIL);
    CHECK_EQ(EtwManifestReadInband("trace", text.data, text.size, ETW_ORIGIN_STREAM, take, &got),
            ETW_OK);
    EtwTextFree(&text);
    REQUIRE(got.count == 1);
    CHECK_EQ(got.defs[0]->eventCount, COUNT(want));
    for (int i = 0; i < got.defs[0]->eventCount && i < COUNT(want); i++) {
        CHECK_EQ(got.defs[0]->events[i]->desc.id, want[i]);
    }
    CHECK_EQ(got.defs[0]->events[0]->schema.fieldCount, 1);
    CHECK_EQ(got.defs[0]->events[2]->desc.version, 255);
    CHECK_EQ(got.defs[0]->events[2]->desc.level, 2);
    drop(&got);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(manifest_1_1_empty);
    CHECK_RUN(manifest_1_2_utf8);
    CHECK_RUN(manifest_1_3_utf16);
    CHECK_RUN(manifest_1_4_wrong_declaration);
    CHECK_RUN(manifest_1_5_codepage);
    CHECK_RUN(manifest_1_6_cut_declaration);
    CHECK_RUN(manifest_2_1_types);
    CHECK_RUN(manifest_3_1_errors);
    CHECK_RUN(manifest_3_2_other_documents);
    CHECK_RUN(manifest_3_3_depth);
    CHECK_RUN(manifest_3_4_amplification);
    CHECK_RUN(manifest_4_1_messages);
    CHECK_RUN(manifest_5_1_as_windows);
    CHECK_RUN(manifest_6_1_in_a_trace);
    return CHECK_DONE();
}
