/*
 * tests/schema/test_tmf.c --
 *
 *	Trace message formats of WPP and the messages made of them.
 */
#include "tests/support/check.h"
#include "tests/support/text_defs.h"
#include "base/unicode.h"
#include "etl/format.h"
#include "event/event.h"
#include "schema/model/decode.h"
#include "schema/store/definition_library.h"
#include "schema/model/tcl_list.h"

static const EtwSchema *message(const Defs *defs, int which, unsigned number)
{
    const EtwEventDef *found =
            which < defs->count ? EtwDefFind(defs->defs[which], number, 0) : NULL;
    return found ? &found->schema : NULL;
}

/* The message made of these argument bytes. */
static void checkMessage(
        const EtwSchema *schema, const void *payload, size_t size, const char *want, int line)
{
    EtwEvent event = {.kind = ETL_MESSAGE,
            .pointerSize = 8,
            .pid = 77,
            .tid = 5,
            .cpu = 2,
            .payload = payload,
            .payloadSize = (uint32_t)size};
    EtwText out = {0};
    if (CHECK_MSG(schema != NULL, "line %d: no schema", line)) {
        EtwFormatMessageWpp(&out, schema, &event);
        EtwTextChar(&out, 0);
        CHECK_MSG(strcmp(out.data, want) == 0, "line %d: \"%s\", not \"%s\"", line, out.data, want);
    }
    EtwTextFree(&out);
}
#define CHECK_MESSAGE(schema, payload, want)                                                       \
    checkMessage((schema), (payload), sizeof(payload) - 1, (want), __LINE__)

#define GUID1 "e91d0f2c-4da1-36b3-f22f-a6f5c11dda43"
#define GUID2 "4ed73968-00d8-34f3-557f-85fe0ce17799"

static const char two[] =
        "// PDB:  driver.pdb\r\n"
        "// PDB:  Last Updated :2023-1-2\r\n" GUID1 " Driver // SRC=Queue.c MJ= MN=\r\n"
        "#typev Queue_c2319 10 \"%0Timer %10!d! of %11!s! \\\"x\\\"\\n\" //   "
        "LEVEL=TRACE_LEVEL_INFORMATION FLAGS=DBG_QUEUE FUNC=OnTimer\r\n"
        "{\r\n"
        "count(a, b), ItemLong -- 10\r\n"
        "name, ItemString -- 11\r\n"
        "}\r\n"
        "#typev Queue_c99 11 \"%0%!FUNC! done, 100%%\" //   LEVEL=Noise "
        "FLAGS=DBG_QUEUE FUNC=Done\r\n"
        "{\r\n}\r\n"
        "#typev Queue_c100 12 \"%0bare\"\r\n" GUID2 " WdfCore // SRC=Unknown_cxx00 MJ= MN=\r\n"
        "#typev Unknown_cxx00 10 \"%0%!LEVEL! Handle 0x%11!p!, Type 0x%10!x!\" // "
        "  LEVEL=TRACE_LEVEL_ERROR FLAGS=TRACINGDEVICE FUNC=FxGet\r\n"
        "{\r\n"
        "Arg, ItemPtr -- 11\r\n"
        "Arg, ItemLong -- 10\r\n"
        "}\r\n";

static void tmf_1_1_names(void)
{
    Defs defs = DefsRead(EtwTmfRead, "x.tmf", two, ETW_OK, NULL);
    REQUIRE(defs.count == 2);
    const EtwProviderDef *def = defs.defs[0];
    CHECK_STR(def->name, "Driver");
    CHECK_STR(def->from, "x.tmf");
    CHECK_EQ(def->origin, ETW_ORIGIN_TMF);
    CHECK(!def->classic);
    CHECK_EQ(def->eventCount, 3);
    const EtwSchema *s = message(&defs, 0, 10);
    REQUIRE(s != NULL);
    CHECK_STR(s->provider, "Driver");
    CHECK_STR(s->event, "Queue.c:2319");
    CHECK_STR(s->task, "DBG_QUEUE");
    CHECK_STR(s->opcode, "OnTimer");
    CHECK_EQ(s->style, ETW_MESSAGE_WPP);
    CHECK_EQ(s->fieldCount, 2);
    CHECK_STR(s->fields[0].name, "count(a, b)");
    CHECK_STR(s->fields[1].name, "name");
    CHECK_EQ(def->events[0]->desc.level, 4);
    CHECK_STR(def->events[0]->symbol, "Queue_c2319");
    CHECK_EQ(def->events[1]->desc.level, 16);
    CHECK_STR(EtwDefNameOf(def, ETW_NAME_LEVEL, 16, 0), "Noise");
    CHECK_STR(message(&defs, 0, 12)->event, "Queue.c:100");
    s = message(&defs, 1, 10);
    CHECK_STR(s->event, "FxGet"); /* a public format hides its file */
    CHECK_STR(s->fields[0].name, "Arg10");
    CHECK_STR(s->fields[1].name, "Arg11");
    CHECK_EQ(s->fields[0].out, ETW_OUT_HEX);
    DefsFree(&defs);
}

static void tmf_1_2_messages(void)
{
    Defs defs = DefsRead(EtwTmfRead, "x.tmf", two, ETW_OK, NULL);
    CHECK_MESSAGE(message(&defs, 0, 10),
            "\xfe\xff\xff\xff"
            "abc\0",
            "Timer -2 of abc \"x\"");
    CHECK_MESSAGE(message(&defs, 0, 10), "\7\0\0\0", "Timer 7 of <missing> \"x\"");
    CHECK_MESSAGE(message(&defs, 0, 11), "", "Done done, 100%");
    CHECK_MESSAGE(message(&defs, 0, 12), "", "bare");
    /* In the payload the lower number comes first, wherever the list has it. */
    CHECK_MESSAGE(message(&defs, 1, 10),
            "\3\x10\0\0"
            "\x30\x12\x4a\x6f\x0c\xc5\xff\xff",
            "Error Handle 0xFFFFC50C6F4A1230, Type 0x1003");
    DefsFree(&defs);
}

/* One message of one argument. */
static void checkItem(const char *item, const char *template, const void *payload, size_t size,
        const char *want, int line)
{
    EtwText text = {0};
    EtwTextPrintf(&text,
            "%s C // SRC=c.c MJ= MN=\n#typev c_c1 1 \"%%0%s\" // LEVEL=1\n{\nv, %s -- 10\n}\n",
            GUID1, template, item);
    EtwTextChar(&text, 0);
    Defs defs = DefsRead(EtwTmfRead, "x.tmf", text.data, ETW_OK, NULL);
    checkMessage(message(&defs, 0, 1), payload, size, want, line);
    DefsFree(&defs);
    EtwTextFree(&text);
}
#define CHECK_ITEM(item, template, payload, want)                                                  \
    checkItem((item), (template), (payload), sizeof(payload) - 1, (want), __LINE__)

static void tmf_2_1_numbers(void)
{
    CHECK_ITEM("ItemLong", "[%10!d!]", "\xff\xff\xff\xff", "[-1]");
    CHECK_ITEM("ItemLong", "[%10!u!]", "\xff\xff\xff\xff", "[4294967295]");
    CHECK_ITEM("ItemLong", "[%10!08x!]", "\x2a\0\0\0", "[0000002a]");
    CHECK_ITEM("ItemLong", "[%10!#X!]", "\x2a\0\0\0", "[0X2A]");
    CHECK_ITEM("ItemLong", "[%10!-6ld!]", "\x2a\0\0\0", "[42    ]");
    CHECK_ITEM("ItemLong", "[%10!+6.3d!]", "\x2a\0\0\0", "[  +042]");
    CHECK_ITEM("ItemLong", "[%10!hd!]", "\xff\xff\0\0", "[-1]");
    CHECK_ITEM("ItemLong", "[%10!hhu!]", "\xff\xff\0\0", "[255]");
    CHECK_ITEM("ItemULong", "[%10!o!]", "\x08\0\0\0", "[10]");
    CHECK_ITEM("ItemShort", "[%10!d!]", "\xfe\xff", "[-2]");
    CHECK_ITEM("ItemUShort", "[%10!d!]", "\xfe\xff", "[-2]"); /* as %d of that width says */
    CHECK_ITEM("ItemUShort", "[%10!u!]", "\xfe\xff", "[65534]");
    CHECK_ITEM("ItemChar", "[%10!c!]", "A", "[A]");
    CHECK_ITEM("ItemChar", "[%10!d!]", "\xff", "[-1]");
    CHECK_ITEM("ItemWChar", "[%10!c!]", "\x2c\x20", "[\xe2\x80\xac]");
    CHECK_ITEM("ItemLongLong", "[%10!I64d!]", "\xff\xff\xff\xff\xff\xff\xff\xff", "[-1]");
    CHECK_ITEM("ItemULongLong", "[%10!I64u!]", "\xff\xff\xff\xff\xff\xff\xff\xff",
            "[18446744073709551615]");
    CHECK_ITEM("ItemLongLongX", "[%10!016I64x!]", "\xef\xbe\xad\xde\0\0\0\0", "[00000000deadbeef]");
    CHECK_ITEM("ItemLongLongXX", "[%10!I64X!]", "\xef\xbe\xad\xde\0\0\0\0", "[DEADBEEF]");
    CHECK_ITEM("ItemPtr", "[%10!p!]", "\xef\xbe\0\0\0\0\0\0", "[000000000000BEEF]");
    CHECK_ITEM("ItemPtr", "[%10!Id!]", "\xff\xff\xff\xff\xff\xff\xff\xff", "[-1]");
    CHECK_ITEM("ItemDouble", "[%10!s!]", "\0\0\0\0\0\0\xf8\x3f", "[1.5]");
    CHECK_ITEM("ItemDouble", "[%10!08.2f!]", "\0\0\0\0\0\0\xf8\x3f", "[00001.50]");
    CHECK_ITEM("ItemLong", "[%10]", "\x2a\0\0\0", "[42]");
}

static void tmf_2_2_text(void)
{
    CHECK_ITEM("ItemString", "[%10!s!]", "abc\0", "[abc]");
    CHECK_ITEM("ItemString", "[%10!6s!]", "abc\0", "[   abc]");
    CHECK_ITEM("ItemString", "[%10!-6s!]", "abc\0", "[abc   ]");
    CHECK_ITEM("ItemString", "[%10!.2s!]", "abc\0", "[ab]");
    CHECK_ITEM("ItemWString", "[%10!4.2S!]", "\xe4\0b\0c\0\0\0",
            "[  \xc3\xa4"
            "b]");
    CHECK_ITEM("ItemPString", "[%10!s!]", "\3\0abcd", "[abc]");
    CHECK_ITEM("ItemPWString", "[%10!wZ!]", "\4\0a\0b\0", "[ab]");
    CHECK_ITEM("ItemDSString", "[%10!s!]", "\0\3abc", "[abc]");
    CHECK_ITEM("ItemRString", "[%10!s!]", "a\tb\r\n\0", "[a b]");
    CHECK_ITEM("ItemNWString", "[%10!s!]", "a\0b\0", "[ab]");
    CHECK_ITEM("ItemChar4", "[%10!s!]", "RGBA", "[RGBA]");
    CHECK_ITEM("ItemHEXDump", "[%10!s!]", "\3\0\1\xab\xff", "[01abff]");
}

static void tmf_2_3_others(void)
{
    CHECK_ITEM("ItemGuid", "%10!s!", "\1\0\0\0\2\0\3\0\4\5\6\7\x8\x9\xa\xb",
            "00000001-0002-0003-0405-060708090a0b");
    CHECK_ITEM("ItemSid", "%10!s!", "\1\1\0\0\0\0\0\5\x12\0\0\0", "S-1-5-18");
    CHECK_ITEM("ItemIPAddr", "%10!s!", "\xc0\xa8\1\2", "192.168.1.2");
    CHECK_ITEM("ItemIPV6Addr", "%10!s!", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", "::1");
    CHECK_ITEM("ItemPort", "%10!s!", "\x01\xbb", "443");
    CHECK_ITEM("ItemMACAddr", "%10!s!", "\0\x1b\2\3\4\xff", "00-1b-02-03-04-ff");
    CHECK_ITEM("ItemTimestamp", "%10!s!", "\0\x80\x3e\xd5\xde\xb1\x9d\1",
            "1970-01-01T00:00:00.0000000Z");
    CHECK_ITEM("ItemNTSTATUS", "%10!s!", "\x22\0\0\xc0", "0xc0000022");
    CHECK_ITEM("ItemWINERROR", "%10!s!", "\5\0\0\0", "5");
    CHECK_ITEM("ItemListLong(FALSE, TRUE)", "%10!s!", "\1\0\0\0", "0x00000001(TRUE)");
    CHECK_ITEM("ItemListLong(FALSE, TRUE)", "%10!d!", "\1\0\0\0", "1");
    CHECK_ITEM("ItemListByte(Low,APC=0x10,DPC)", "%10!s!", "\x11", "0x00000011(DPC)");
    CHECK_ITEM("ItemListShort(A)", "%10!s!", "\7\0", "0x00000007");
    CHECK_ITEM("ItemSetLong(a,b,c)", "%10!s!", "\5\0\0\0", "[a,c]");
    CHECK_ITEM("ItemEnum(_X)", "%10!s!", "\xff\xff\xff\xff", "-1");
    CHECK_ITEM("ItemFromTheFuture(3)", "<%10!s!>", "\1\2", "<0102>"); /* all the rest, raw */
}

static void tmf_2_4_enumerations(void)
{
    static const char text[] = "#enumv _STATE { Idle(0), Busy(5),\n Gone }\n" GUID1 " C\n"
                               "#typev c_c1 1 \"%10!s!\"\n{\ns, ItemEnum(_STATE) -- 10\n}\n";
    Defs defs = DefsRead(EtwTmfRead, "x.tmf", text, ETW_OK, NULL);
    CHECK_MESSAGE(message(&defs, 0, 1), "\5\0\0\0", "Busy");
    CHECK_MESSAGE(message(&defs, 0, 1), "\6\0\0\0", "Gone");
    CHECK_MESSAGE(message(&defs, 0, 1), "\x9\0\0\0", "9");
    DefsFree(&defs);
}

static void tmf_2_5_standard(void)
{
    static const char text[] = GUID1 " Comp // SRC=a.cpp MJ= MN=\n"
                                     "#typev a_cpp7 3 \"%1!s!|%2!s!|%3!04X!|%8!d!|%9!u!|%!FLAGS!|"
                                     "%!COMPNAME!|a%!SPACE!b|%!WHAT!|%z\" // LEVEL=7 FLAG=F\n";
    Defs defs = DefsRead(EtwTmfRead, "x.tmf", text, ETW_OK, NULL);
    CHECK_MESSAGE(message(&defs, 0, 3), "", "Comp|a_cpp7|0005|77|2|F|Comp|a b|%!WHAT!|%z");
    DefsFree(&defs);
}

static void tmf_3_1_utf16(void)
{
    static const char text[] = GUID1 " C\n#typev c_c1 1 \"x\"\n";
    EtwText wide = {0};
    Defs defs = {0};
    EtwTextToUtf16(&wide, text, sizeof text - 1);
    CHECK_EQ(EtwTmfRead("x", wide.data, wide.size, TakeDef, &defs, NULL), ETW_OK);
    CHECK_EQ(defs.count, 1);
    EtwTextFree(&wide);
    EtwTextAdd(&wide, "\xff\xfe", 2);
    EtwTextToUtf16(&wide, text, sizeof text - 1);
    CHECK_EQ(EtwTmfRead("x", wide.data, wide.size, TakeDef, &defs, NULL), ETW_OK);
    CHECK_EQ(defs.count, 2);
    DefsFree(&defs);
    EtwTextFree(&wide);
}

static void tmf_3_2_errors(void)
{
    static const struct {
        const char *text, *message;
    } cases[] = {{"", "x.tmf has no trace message formats: expected lines \"#typev ...\""},
            {"#typev a 1 \"x\"\n", "x.tmf, line 1: a message precedes the first message GUID"},
            {GUID1 " C\n#typev a 1x \"x\"\n",
                    "x.tmf, line 2: expected: #typev NAME NUMBER \"TEMPLATE\""},
            {GUID1 " C\n#typev a 65536 \"x\"\n",
                    "x.tmf, line 2: expected: #typev NAME NUMBER \"TEMPLATE\""},
            {GUID1 " C\n#typev a 1 \"x\"\n{\nv, ItemLong\n}\n",
                    "x.tmf, line 4: expected: EXPRESSION, ItemTYPE -- NUMBER"},
            {GUID1 " C\n#typev a 1 \"x\"\n{\nv, ItemLong -- 10\n",
                    "x.tmf, line 4: a list of arguments is not closed"},
            {"#enumv X\n", "x.tmf, line 1: expected: #enumv NAME { ENTRIES }"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EtwError err = {0};
        Defs defs = DefsRead(EtwTmfRead, "x.tmf", cases[i].text, ETW_E_FORMAT, &err);
        CHECK_EQ(defs.count, 0);
        CHECK_STR(err.message, cases[i].message);
    }
}

/* The store finds messages that were loaded by GUID and number. */
static void tmf_4_1_store(void)
{
    Defs defs = DefsRead(EtwTmfRead, "x.tmf", two, ETW_OK, NULL);
    EtwEvent event = {.kind = ETL_MESSAGE,
            .pointerSize = 8,
            .desc.id = 10,
            .payload = (const uint8_t *)"\1\0\0\0z",
            .payloadSize = 6};
    REQUIRE(defs.count == 2);
    EtwGuidParse(GUID1, &event.provider);
    EtwLibraryAdd(defs.defs[0]);
    EtwDefFree(defs.defs[1]);
    EtwSchemaStore *store = EtwSchemaStoreNew();
    const EtwSchema *schema = EtwSchemaOf(store, &event);
    EtwText out = {0};
    REQUIRE(schema != NULL);
    CHECK_EQ(EtwListProps(&out, schema, &event), ETW_OK);
    EtwTextChar(&out, 0);
    CHECK_STR(out.data, "{{count(a, b)} 1 name z}");
    EtwTextFree(&out);
    event.desc.id = 4000;
    CHECK(EtwSchemaOf(store, &event) == NULL);
    EtwSchemaStoreFree(store);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(tmf_1_1_names);
    CHECK_RUN(tmf_1_2_messages);
    CHECK_RUN(tmf_2_1_numbers);
    CHECK_RUN(tmf_2_2_text);
    CHECK_RUN(tmf_2_3_others);
    CHECK_RUN(tmf_2_4_enumerations);
    CHECK_RUN(tmf_2_5_standard);
    CHECK_RUN(tmf_3_1_utf16);
    CHECK_RUN(tmf_3_2_errors);
    CHECK_RUN(tmf_4_1_store);
    return CHECK_DONE();
}
