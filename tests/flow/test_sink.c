/*
 * tests/flow/test_sink.c --
 *
 *	All text forms against golden text, the listing's indentation, columns and footers, from made-up sources and
 *	from files.
 */
#include "tests/support/sample_event.h"
#include "tests/support/check.h"
#include "tests/support/played_source.h"
#include "etl/write/writer.h"
#include "flow/render/sink.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* 2026-11-21T08:23:12 UTC: a Saturday morning. */
static const int64_t begun = 1795249392000000000LL;

/* ---- The events that every form shows -------------------------------------------------------- */

static Sample *story[PLAY_MAX];
static int storySize;

static Sample *tell(int64_t afterUs, Sample *s)
{
    s->event.time = begun + afterUs * 1000;
    story[storySize++] = s;
    return s;
}

static Sample *enter(
        const char *event, uint64_t id, int depth, const char *command, const char *file)
{
    static const Etw_Field fields[] = {{"CallId", ETW_IN_UINT64, 0, 0, 0},
            {"Depth", ETW_IN_UINT16, 0, 0, 0}, {"Command", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0},
            {"Context", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0},
            {"File", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0}, {"Line", ETW_IN_UINT32, 0, 0, 0}};
    Sample *s = SampleNew("Tcl-Script", event, fields, COUNT(fields));
    s->event.desc.opcode = 1;
    s->event.desc.keyword = strcmp(event, "Enter") == 0 ? 1 : 2;
    SampleInt(s, id, 8);
    SampleInt(s, (uint64_t)depth, 2);
    SampleText(s, command);
    SampleText(s, "::");
    SampleText(s, file);
    SampleInt(s, file[0] ? 12 : 0, 4);
    return s;
}

static Sample *leave(const char *event, uint64_t id, int depth, int code, uint64_t ns,
        const char *command, const char *result)
{
    static const Etw_Field fields[] = {{"CallId", ETW_IN_UINT64, 0, 0, 0},
            {"Depth", ETW_IN_UINT16, 0, 0, 0}, {"Code", ETW_IN_INT32, 0, 0, 0},
            {"Duration", ETW_IN_UINT64, 0, 0, 0},
            {"Command", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0},
            {"Result", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0}};
    Sample *s = SampleNew("Tcl-Script", event, fields, COUNT(fields));
    s->event.desc.opcode = 2;
    s->event.desc.keyword = strcmp(event, "Leave") == 0 ? 1 : 2;
    SampleInt(s, id, 8);
    SampleInt(s, (uint64_t)depth, 2);
    SampleInt(s, (uint32_t)code, 4);
    SampleInt(s, ns, 8);
    SampleText(s, command);
    SampleText(s, result);
    return s;
}

/* what: 0 sizes, 1 states */
static Sample *socketEvent(const char *event, int what, bool six, int64_t a, int b)
{
    Etw_Field fields[] = {{"Socket", ETW_IN_HEX64, 0, 0, 0}, {"Family", ETW_IN_UINT16, 0, 0, 0},
            {"LocalAddr", six ? ETW_IN_BINARY : ETW_IN_UINT32, six ? ETW_OUT_IPV6 : ETW_OUT_IPV4, 0,
                    0},
            {"LocalPort", ETW_IN_UINT16, ETW_OUT_PORT, 0, 0},
            {"RemoteAddr", six ? ETW_IN_BINARY : ETW_IN_UINT32, six ? ETW_OUT_IPV6 : ETW_OUT_IPV4,
                    0, 0},
            {"RemotePort", ETW_IN_UINT16, ETW_OUT_PORT, 0, 0},
            {what ? "OldState" : "Size", what ? ETW_IN_UINT8 : ETW_IN_INT32, 0, 0, 0},
            {"NewState", ETW_IN_UINT8, 0, 0, 0}, {"ContextPid", ETW_IN_UINT32, ETW_OUT_PID, 0, 0}};
    static const uint8_t loop4[] = {127, 0, 0, 1},
                         loop6[] = {16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    Sample *s = SampleNew("Linux-tcpip", event, fields, what ? 9 : 7);
    SampleInt(s, 0xFFFF888012345600, 8);
    SampleInt(s, six ? 10 : 2, 2);
    SampleBytes(s, six ? loop6 : loop4, six ? sizeof loop6 : sizeof loop4);
    SamplePort(s, 40000);
    SampleBytes(s, six ? loop6 : loop4, six ? sizeof loop6 : sizeof loop4);
    SamplePort(s, 8080);
    SampleInt(s, (uint64_t)a, what ? 1 : 4);
    if (what) {
        SampleInt(s, (uint64_t)b, 1);
        SampleInt(s, 99, 4);
    }
    return s;
}

/* A datagram from an unknown sender: no peer of the socket is known. */
static Sample *receiveFromUnknown(void)
{
    Etw_Field fields[] = {{"Socket", ETW_IN_HEX64, 0, 0, 0}, {"Family", ETW_IN_UINT16, 0, 0, 0},
            {"LocalAddr", ETW_IN_UINT32, ETW_OUT_IPV4, 0, 0},
            {"LocalPort", ETW_IN_UINT16, ETW_OUT_PORT, 0, 0},
            {"RemoteAddr", ETW_IN_UINT32, ETW_OUT_IPV4, 0, 0},
            {"RemotePort", ETW_IN_UINT16, ETW_OUT_PORT, 0, 0}, {"Size", ETW_IN_INT32, 0, 0, 0}};
    Sample *s = SampleNew("Linux-udpip", "Receive", fields, 7);
    SampleInt(s, 0xFFFF888012345600, 8);
    SampleInt(s, 2, 2);
    SampleInt(s, 0x0100007F, 4);
    SamplePort(s, 43372);
    SampleInt(s, 0, 4);
    SamplePort(s, 0);
    SampleInt(s, 333, 4);
    return s;
}

static Sample *fileHeader(void)
{
    Sample *s = SampleNew("x", "x", NULL, 0);
    s->meta.size = s->traits.size = 0;
    EtwGuidParse("68fdd900-4a3e-11d1-84f4-0000f80464e3", &s->event.provider);
    s->event.classic = true;
    s->event.kind = ETL_SYSTEM64;
    s->event.desc = (EtwDescriptor){.opcode = 8};
    return s;
}

static Sample *unknown(void)
{
    Sample *s = SampleNew("x", "x", NULL, 0);
    s->meta.size = s->traits.size = 0;
    EtwGuidParse("00112233-4455-6677-8899-aabbccddeeff", &s->event.provider);
    s->event.desc = (EtwDescriptor){
            .id = 17, .version = 2, .level = 2, .task = 3, .keyword = 0x8000000000000000ull};
    s->event.pid = ETW_NO_ID;
    s->event.tid = ETW_NO_ID;
    s->event.cpu = 3;
    for (int i = 0; i < 40; i++) {
        SampleInt(s, (uint64_t)i, 1);
    }
    return s;
}

/* Structs, arrays, texts that need quoting, escaping and mending. */
static Sample *plain(void)
{
    static const Etw_Field fields[] = {{"Count", ETW_IN_INT32, 0, 0, 0},
            {"Text", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0}, {"Wide", ETW_IN_UTF16Z, 0, 0, 0},
            {"Ports", ETW_IN_UINT16, ETW_OUT_PORT, ETW_ARRAY_COUNTED, 0},
            {"Point", ETW_IN_STRUCT, 0, ETW_ARRAY_COUNTED, 2}, {"X", ETW_IN_INT8, 0, 0, 0},
            {"Label", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0},
            {"Hidden", ETW_IN_UINT8, ETW_OUT_NOPRINT, 0, 0}, {"Ratio", ETW_IN_DOUBLE, 0, 0, 0},
            {"Flag", ETW_IN_BOOL32, 0, 0, 0}, {"Data", ETW_IN_BINARY, 0, 0, 0},
            {"Big", ETW_IN_UINT64, 0, 0, 0}, {"Id", ETW_IN_GUID, 0, 0, 0},
            {"When", ETW_IN_FILETIME, 0, 0, 0}};
    double ratio = 0.25;
    Sample *s = SampleNew("My-Provider", "Plain", fields, COUNT(fields));
    SampleInt(s, (uint64_t)-5, 4);
    SampleText(s, "a \"b\"\n\x1b[31m\xff{");
    SampleBytes(s, "\xe9\0\x85\0\0", 6);
    SampleInt(s, 2, 2);
    SamplePort(s, 80);
    SamplePort(s, 443);
    SampleInt(s, 2, 2);
    SampleInt(s, 1, 1);
    SampleText(s, "one");
    SampleInt(s, 0xFF, 1);
    SampleText(s, "");
    SampleInt(s, 1, 1);
    SampleBytes(s, &ratio, 8);
    SampleInt(s, 1, 4);
    SampleInt(s, 2, 2);
    SampleInt(s, 0xEFBE, 2);
    SampleInt(s, UINT64_MAX, 8);
    SampleBytes(s, "0123456789abcdef", 16);
    SampleInt(s, 116444736000000000ull, 8);
    return s;
}

static void makeStory(void)
{
    static const EtwGuid activity = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}};
    static const Etw_Field one = {"Text", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0};
    static const Etw_Field pair[] = {{"A", ETW_IN_UINT32, 0, 0, 0}, {"B", ETW_IN_UINT32, 0, 0, 0}};
    static const uint8_t stack[16] = {0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x20};
    Sample *s;
    tell(0, fileHeader());
    tell(123, enter("Enter", 1, 1, "http::geturl http://127.0.0.1:8080/ -timeout 5000", ""));
    tell(150, enter("StepEnter", 2, 2, "set x 1", "/home/me/app.tcl"));
    tell(151, leave("StepLeave", 2, 2, 0, 850, "set", "1"));
    tell(200, enter("StepEnter", 3, 2, "connect 127.0.0.1 8080", ""));
    tell(220, enter("Enter", 4, 3, "::app::connect 127.0.0.1 8080", ""));
    tell(250, socketEvent("StateChange", 1, false, 2, 1));
    s = tell(260, socketEvent("Send", 0, false, 142, 0));
    s->event.tid = 4712; /* a thread that runs no script */
    tell(270, leave("Leave", 4, 3, 1, 50000, "::app::connect",
                      "couldn't open socket:\nconnection refused"));
    tell(271, leave("StepLeave", 3, 2, 2, 71234, "connect", ""));
    tell(310, socketEvent("Receive", 0, true, 512, 0));
    tell(320, socketEvent("Receive", 0, false, -11, 0));
    tell(2000123, plain());
    s = tell(2000124, unknown());
    s->event.activity = activity;
    s->event.related = activity.bytes;
    s = tell(2000125, SampleNew("My-Provider", "Short", pair, 2));
    s->event.stack = stack;
    s->event.stackCount = 2;
    SampleInt(s, 7, 4);
    SampleInt(s, 8, 3);
    s = tell(2000126, SampleNew("My-Provider", "Long", pair, 2));
    SampleInt(s, 7, 4);
    SampleInt(s, 8, 4);
    SampleInt(s, 9, 1);
    s = tell(2000127, SampleNew("My-Provider", "Simple", &one, 1));
    SampleText(s, "plain,\xe2\x82\xac");
    s = tell(2000100, SampleNew("My-Provider", "Late", &one, 1));
    SampleText(s, "");
    s->event.late = true;
    tell(4187123, leave("Leave", 1, 1, 0, 4187000, "http::geturl", "::http::1"));
    tell(4187200, enter("Enter", 9, 1,
                          "forever "
                          "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                          "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
                          "\xc3\xa9\xc3\xa9\xc3\xa9",
                          ""));
    tell(4187300, enter("Enter", 10, 2, "inner", ""));
}

static void dropStory(void)
{
    for (int i = 0; i < storySize; i++) {
        SampleFree(story[i]);
    }
    storySize = 0;
}

static Play *playStory(void)
{
    Play *p = playNew(false);
    for (int i = 0; i < storySize; i++) {
        p->events[p->count++] = SampleEvent(story[i]);
    }
    p->info.startTime = begun;
    p->info.closed = true;
    p->info.cpus = 2;
    strcpy(p->info.loggerName, "story");
    return p;
}

/* The whole of a source as text; closes it. */
static EtwText dump(const EtwSinkConfig *config, EtwSource *source)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwSink *sink = EtwSinkNew(config, store);
    EtwText out = {0};
    EtwEvent event;
    EtwSinkBegin(sink, source, &out);
    while (EtwSourceNext(source, &event) == ETW_OK) {
        EtwSinkEvent(sink, &event, &out);
    }
    EtwSinkEnd(sink, source, &out);
    EtwSinkFree(sink);
    EtwSchemaStoreFree(store);
    EtwSourceClose(source);
    EtwTextReserve(&out, 1);
    out.data[out.size] = 0;
    return out;
}

static void golden(const char *name, EtwSinkConfig config, Play *play)
{
    EtwText out = dump(&config, &play->base);
    CHECK(SampleIsGolden(name, out.data, out.size));
    EtwTextFree(&out);
}

static void sink_1_1_text(void)
{
    makeStory();
    golden("story.txt", (EtwSinkConfig){.format = ETW_FORMAT_TEXT}, playStory());
    dropStory();
}

/* A peer that is not known has no address in a listing. */
static void sink_1_1_unknown_peer(void)
{
    makeStory();
    tell(2000200, receiveFromUnknown());
    EtwText out = dump(&(EtwSinkConfig){.format = ETW_FORMAT_TEXT}, &playStory()->base);
    CHECK(strstr(out.data, "Receive 127.0.0.1:43372 <- - 333 bytes") != NULL);
    CHECK(strstr(out.data, "0.0.0.0") == NULL);
    EtwTextFree(&out);
    dropStory();
}

static void sink_1_2_color(void)
{
    makeStory();
    golden("story-color.txt",
            (EtwSinkConfig){.format = ETW_FORMAT_TEXT, .color = true, .width = 72}, playStory());
    dropStory();
}

static void sink_1_3_iso(void)
{
    makeStory();
    Play *play = playStory();
    play->lost = 5;
    play->info.eventsLost = 3;
    play->info.buffersLost = 1;
    play->warning = "play.etl: at byte 4096: record \x1b[31m cut short";
    golden("story-iso.txt",
            (EtwSinkConfig){.format = ETW_FORMAT_TEXT, .timeFormat = ETW_TIME_ISO, .width = 100},
            play);
    dropStory();
}

static void sink_1_4_csv(void)
{
    makeStory();
    golden("story.csv", (EtwSinkConfig){.format = ETW_FORMAT_CSV, .timeFormat = ETW_TIME_NS},
            playStory());
    dropStory();
}

static void sink_1_5_json(void)
{
    makeStory();
    golden("story.json", (EtwSinkConfig){.format = ETW_FORMAT_JSON, .timeFormat = ETW_TIME_NS},
            playStory());
    golden("story-iso.json", (EtwSinkConfig){.format = ETW_FORMAT_JSON, .timeFormat = ETW_TIME_ISO},
            playStory());
    dropStory();
}

static void sink_1_6_list(void)
{
    makeStory();
    golden("story.list",
            (EtwSinkConfig){.format = ETW_FORMAT_LIST, .timeFormat = ETW_TIME_FILETIME},
            playStory());
    golden("story-relative.list", (EtwSinkConfig){.format = ETW_FORMAT_LIST}, playStory());
    dropStory();
}

/* One event's line, without the footer. */
static char *lineOf(EtwSinkConfig config, Sample *first, Sample *s)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwSink *sink = EtwSinkNew(&config, store);
    EtwText out = {0};
    EtwSinkBegin(sink, NULL, &out);
    EtwSinkEvent(sink, SampleEvent(first), &out);
    out.size = 0;
    EtwSinkEvent(sink, SampleEvent(s), &out);
    EtwSinkFree(sink);
    EtwSchemaStoreFree(store);
    out.data[out.size - 1] = 0; /* the line's end */
    return out.data;
}

/* ---- Columns and widths ------------------------------------------------------------------------ */

static void checkListing(const char *name, EtwSinkConfig config, const char *columns)
{
    static const char *names[16];
    char words[200];
    snprintf(words, sizeof words, "%s", columns);
    config.format = ETW_FORMAT_TEXT;
    config.columns = names;
    for (char *word = strtok(words, ","); word != NULL; word = strtok(NULL, ",")) {
        CHECK(EtwListingHasColumn(word));
        names[config.columnCount++] = word;
    }
    makeStory();
    golden(name, config, playStory());
    dropStory();
}

static void columns_1_1_all(void)
{
    CHECK(!EtwListingHasColumn("tim") && !EtwListingHasColumn("props(") &&
            !EtwListingHasColumn("props()") && EtwListingHasColumn("props(a)"));
    checkListing("columns-ids.txt", (EtwSinkConfig){.width = 120},
            "cpu,t,p,pid,thread,prov,id,version,level,opcode,task,keyword,size,name");
    checkListing("columns-text.txt", (EtwSinkConfig){0},
            "n,d,activity,related,object,message,props(Text),stack,channel");
}

static void columns_1_2_raw(void)
{
    checkListing("columns-raw.txt", (EtwSinkConfig){.width = 80, .raw = true}, "time,event");
}

/* Characters of Chinese take two columns, accents none; the mark is in the last column. */
static void columns_1_3_cut(void)
{
    static const Etw_Field fields[] = {{"T", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0}};
    Sample *s = SampleNew("P", "E", fields, 1);
    SampleText(s, "\xe4\xb8\xad\xe6\x96\x87"
                  "e\xcc\x81z");
    const struct {
        int width;
        const char *want;
    } cases[] = {{51, "T=\xe4\xb8\xad\xe6\x96\x87"
                      "e\xcc\x81z"},
            {50, "T=\xe4\xb8\xad\xe6\x96\x87\xe2\x80\xa6"}, {49, "T=\xe4\xb8\xad\xe2\x80\xa6"},
            {48, "T=\xe4\xb8\xad\xe2\x80\xa6"}, {47, "T=\xe2\x80\xa6"}, {46, "T=\xe2\x80\xa6"},
            {45, "T\xe2\x80\xa6"}};
    for (int i = 0; i < COUNT(cases); i++) {
        char *line = lineOf((EtwSinkConfig){.width = cases[i].width}, s, s);
        CHECK_STR(strstr(line, "T"), cases[i].want);
        EtwFree(line);
    }
    SampleFree(s);
}

/* A process's long name, a provider's on a narrow terminal. */
static void columns_1_4_names(void)
{
    Sample *s = SampleNew("Microsoft-Windows-DotNETRuntime", "E", NULL, 0);
    s->event.process = "\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad"
                       "StandardCollector.Service.exe";
    char *line = lineOf((EtwSinkConfig){.width = 80}, s, s);
    CHECK_STR(line, "  +0.000000  \xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe2\x80\xa6(4711)   "
                    "\xe2\x80\xa6"
                    "ETRuntime  E");
    EtwFree(line);
    line = lineOf((EtwSinkConfig){.width = 0}, s, s);
    CHECK_STR(line, "  +0.000000  \xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad"
                    "StandardCollector.Ser\xe2\x80\xa6(4711)  Microsoft-Windows-DotNETRuntime  E");
    EtwFree(line);
    SampleFree(s);
}

/* ---- Times and depths ------------------------------------------------------------------------ */

static void time_2_1_formats(void)
{
    static const struct {
        EtwTimeFormat format;
        int64_t time;
        const char *want;
    } cases[] = {
            {ETW_TIME_RELATIVE, 1500, "  +0.000000"}, /* base is the first event, 1000 */
            {ETW_TIME_RELATIVE, 2000, "  +0.000001"},
            {ETW_TIME_RELATIVE, 0, "  -0.000001"},
            {ETW_TIME_RELATIVE, 123456789012345678, "+123456789.012344"},
            {ETW_TIME_RELATIVE, INT64_MIN, "-9223372036.854776"},
            {ETW_TIME_ISO, 951868799999999999, "2000-02-29T23:59:59.999999Z"},
            {ETW_TIME_ISO, -1, "1969-12-31T23:59:59.999999Z"},
            {ETW_TIME_ISO, INT64_MIN, "1677-09-21T00:12:43.145224Z"},
            {ETW_TIME_ISO, INT64_MAX, "2262-04-11T23:47:16.854775Z"},
            {ETW_TIME_NS, -5, "                 -5"},
            {ETW_TIME_NS, INT64_MIN, "-9223372036854775808"},
            {ETW_TIME_FILETIME, 0, "116444736000000000"},
            {ETW_TIME_FILETIME, -1, "116444735999999999"},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        Sample *first = SampleNew("P", "E", NULL, 0), *s = SampleNew("P", "E", NULL, 0);
        first->event.time = 1000;
        s->event.time = cases[i].time;
        char *line = lineOf((EtwSinkConfig){.timeFormat = cases[i].format}, first, s);
        char want[128];
        snprintf(want, sizeof want, "%s  4711/4711       P           E", cases[i].want);
        CHECK_STR(line, want);
        EtwFree(line);
        SampleFree(first);
        SampleFree(s);
    }
}

/* The sign is that of each event, also after one with the other sign in the same second. */
static void time_2_5_signs(void)
{
    static const struct {
        int64_t ms;
        const char *want;
    } cases[] = {{0, "  +0.000000"}, {-400, "  -0.400000"}, {7, "  +0.007000"},
            {400, "  +0.400000"}, {-10, "  -0.010000"}, {-1010, "  -1.010000"},
            {1010, "  +1.010000"}};
    EtwSinkConfig config = {.timeFormat = ETW_TIME_RELATIVE};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwSink *sink = EtwSinkNew(&config, store);
    EtwText out = {0};
    EtwSinkBegin(sink, NULL, &out);
    for (int i = -1; i < COUNT(cases); i++) { /* before the first line: the header */
        Sample *s = SampleNew("P", "E", NULL, 0);
        s->event.time = 1000000000 + cases[i < 0 ? 0 : i].ms * 1000000;
        out.size = 0;
        EtwSinkEvent(sink, SampleEvent(s), &out);
        if (i < 0) {
            SampleFree(s);
            continue;
        }
        out.data[strlen(cases[i].want)] = 0;
        CHECK_STR(out.data, cases[i].want);
        SampleFree(s);
    }
    EtwSinkFree(sink);
    EtwSchemaStoreFree(store);
    EtwTextFree(&out);
}

/* A Leave without its Enter, depths that no script has: shown, and nothing goes wrong. */
static void depth_2_2_strange(void)
{
    Sample *s = leave("Leave", 1, 3, 0, 1000, "proc", "");
    Sample *deep = enter("Enter", 2, 0xFFFF, "deep", "");
    Sample *zero = enter("Enter", 2, 0, "zero", "");
    char *line = lineOf((EtwSinkConfig){.format = ETW_FORMAT_TEXT}, deep, s);
    CHECK(strstr(line, "  | | < proc  1.000 us") != NULL);
    EtwFree(line);
    line = lineOf((EtwSinkConfig){.format = ETW_FORMAT_TEXT}, s, deep);
    CHECK(strstr(line, "| | +65504 > deep") != NULL);
    EtwFree(line);
    line = lineOf((EtwSinkConfig){.format = ETW_FORMAT_TEXT}, s, zero);
    CHECK(strstr(line, "Tcl-Script  > zero") != NULL);
    EtwFree(line);
    SampleFree(s);
    SampleFree(deep);
    SampleFree(zero);
}

/* Somebody else's events under a known name keep the plain form. */
static void depth_2_3_foreign(void)
{
    static const Etw_Field fields[] = {
            {"CallId", ETW_IN_COUNTED_ANSI, 0, 0, 0}, {"Depth", ETW_IN_UINT16, 0, 0, 0}};
    Sample *s = SampleNew("Tcl-Script", "Enter", fields, 2);
    SampleText(s, "x");
    SampleInt(s, 4, 2);
    char *line = lineOf((EtwSinkConfig){.format = ETW_FORMAT_TEXT}, s, s);
    CHECK(strstr(line, "Tcl-Script  Enter CallId=x Depth=4") != NULL);
    EtwFree(line);
    SampleFree(s);
}

/* A script event cut short still is a line. */
static void depth_2_4_cut(void)
{
    Sample *s = leave("Leave", 1, 1, 1, 1000, "proc", "message");
    for (size_t size = s->payload.size; size-- > 0;) {
        s->payload.size = size;
        char *line = lineOf((EtwSinkConfig){.format = ETW_FORMAT_TEXT}, s, s);
        CHECK(strstr(line, "(payload does not fit its schema)") != NULL);
        CHECK(strchr(line, '\n') == NULL);
        EtwFree(line);
    }
    SampleFree(s);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static const char *tempPath(const char *name)
{
    static char paths[2][1100];
    static int turn;
    const char *dir = getenv("ETW_TEST_TMP");
    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", dir ? dir : ".", name);
    return paths[turn];
}

/* Events of one provider at t, t + 20 us, ... */
static void writeFile(const char *path, const char *provider, int offsetUs, int count)
{
    static const Etw_Field field = {"N", ETW_IN_UINT32, 0, 0, 0};
    EtlWriterConfig config = {.path = path,
            .loggerName = "files",
            .mode = ETL_MODE_SEQUENTIAL,
            .bufferSize = 4096,
            .loggerId = 1,
            .cpus = 2,
            .startWall = begun,
            .startSteady = 1000000,
            .bootTime = begun - 1000000000,
            .pid = 1,
            .tid = 1};
    EtlWriter *writer;
    EtwError err;
    if (!CHECK(EtlWriterOpen(&writer, &config, &err) == ETW_OK)) {
        return;
    }
    for (int i = 0; i < count; i++) {
        Sample *s = SampleNew(provider, "Tick", &field, 1);
        SampleInt(s, (uint64_t)i, 4);
        s->event.ticks = 1000000 + (offsetUs + 20 * i) * 1000LL;
        s->event.cpu = (uint16_t)(i % 2);
        CHECK_EQ(EtlWriterAdd(writer, SampleEvent(s)), ETW_OK);
        SampleFree(s);
    }
    CHECK_EQ(EtlWriterClose(writer, 2, begun + 1000000000, &err), ETW_OK);
}

static void file_4_1_two_merged(void)
{
    const char *a = tempPath("a.etl"), *b = tempPath("b.etl");
    EtwSource *sources[2];
    EtwError err;
    writeFile(a, "First-Provider", 0, 4);
    writeFile(b, "Second-Provider", 10, 4);
    REQUIRE(EtwSourceOpen(&sources[0], a, &err) == ETW_OK);
    REQUIRE(EtwSourceOpen(&sources[1], b, &err) == ETW_OK);
    EtwSource *merged = EtwSourceMerge(sources, 2);
    CHECK_EQ(EtwSourceLost(merged), 4);
    EtwText out = dump(&(EtwSinkConfig){.format = ETW_FORMAT_TEXT}, merged);
    char *body = strstr(out.data, "  +0.0");
    REQUIRE(body != NULL);
    char *footer = strstr(body, "-- LOST");
    REQUIRE(footer != NULL);
    *footer = 0;
    CHECK_STR(body, "  +0.000000  4711/4711       First-Provider  Tick N=0\n"
                    "  +0.000010  4711/4711       Second-Provider  Tick N=0\n"
                    "  +0.000020  4711/4711       First-Provider   Tick N=1\n"
                    "  +0.000030  4711/4711       Second-Provider  Tick N=1\n"
                    "  +0.000040  4711/4711       First-Provider   Tick N=2\n"
                    "  +0.000050  4711/4711       Second-Provider  Tick N=2\n"
                    "  +0.000060  4711/4711       First-Provider   Tick N=3\n"
                    "  +0.000070  4711/4711       Second-Provider  Tick N=3\n"
                    "-- 8 events in 70.000 us: First-Provider 4, Second-Provider 4; not shown: 2 "
                    "file header records\n");
    EtwTextFree(&out);
    remove(a);
    remove(b);
}

/* The file's own header, decoded. */
static void file_4_2_header(void)
{
    const char *path = tempPath("header.etl");
    EtwSource *source;
    EtwError err;
    writeFile(path, "First-Provider", 0, 1);
    REQUIRE(EtwSourceOpen(&source, path, &err) == ETW_OK);
    EtwText out =
            dump(&(EtwSinkConfig){.format = ETW_FORMAT_LIST, .timeFormat = ETW_TIME_NS}, source);
    CHECK(strstr(out.data, "provider EventTrace event Header") != NULL);
    CHECK(strstr(out.data, " EndTime 1795249393000000000 ") != NULL);
    CHECK(strstr(out.data, " EventsLost 2 ") != NULL);
    CHECK(strstr(out.data, " StartTime 1795249392000000000 ") != NULL);
    CHECK(strstr(out.data, " LoggerName files ") != NULL);
    CHECK(strstr(out.data, "error") == NULL);
    EtwTextFree(&out);
    remove(path);
}

static void file_4_3_missing(void)
{
    EtwSource *source;
    EtwError err = {0};
    CHECK(EtwSourceOpen(&source, tempPath("no-such.etl"), &err) != ETW_OK);
    CHECK(source == NULL);
    CHECK(strstr(err.message, "no-such.etl") != NULL);
    err.message[0] = 0;
    CHECK_EQ(EtwSourceOpen(&source, "session:etw-test-no-such-session", &err), ETW_E_LOOKUP);
    CHECK(err.message[0] != 0);
}

static void format_5_1_options(void)
{
    CHECK(EtwFormatTakes(ETW_FORMAT_FOLDED, "-weight"));
    CHECK(EtwFormatTakes(ETW_FORMAT_FLAMEGRAPH, "-weight"));
    CHECK(EtwFormatTakes(ETW_FORMAT_CSV, "-headers"));
    CHECK(!EtwFormatTakes(ETW_FORMAT_FOLDED, "-title"));
    CHECK(!EtwFormatTakes(ETW_FORMAT_JSON, "-fields"));
    /* only whole names */
    CHECK(!EtwFormatTakes(ETW_FORMAT_FOLDED, "-weigh"));
    CHECK(!EtwFormatTakes(ETW_FORMAT_CSV, "headers"));
    CHECK(!EtwFormatTakes(ETW_FORMAT_CSV, "-fields -headers"));
    CHECK(!EtwFormatTakes(ETW_FORMAT_JSON, ""));
}

/* A name that is not known is left out; an empty field that is no name is shown. */
static void columns_1_5_unknown_name(void)
{
    static const Etw_Field fields[] = {{"Text", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0},
            {"FileName", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0},
            {"NameSource", ETW_IN_UINT8, 0, 0, 0}};
    Sample *samples[2];
    Play *p = playNew(false);
    for (int i = 0; i < 2; i++) {
        samples[i] = SampleNew("Linux-fileio", "Close", fields, COUNT(fields));
        SampleText(samples[i], "");
        SampleText(samples[i], i == 0 ? "" : "known");
        SampleInt(samples[i], (uint64_t)i, 1);
        p->events[p->count++] = SampleEvent(samples[i]);
    }
    p->info.startTime = begun;
    EtwText out = dump(&(EtwSinkConfig){.format = ETW_FORMAT_TEXT}, &p->base);
    CHECK_MSG(strstr(out.data, "Close Text=\"\" NameSource=0") != NULL, "%s", out.data);
    CHECK_MSG(strstr(out.data, "Text=\"\" FileName=known NameSource=1") != NULL, "%s", out.data);
    EtwTextFree(&out);
    SampleFree(samples[0]);
    SampleFree(samples[1]);
}

typedef struct FileCase {
    const char *event;
    int64_t descriptor, size, offset, result; /* NONE: the event has no such field */
    const char *file, *to;                    /* to: NULL: none */
    int source;                               /* -1: none */
    const char *line;
} FileCase;

enum { NONE = INT32_MIN };

static Sample *fileSample(const FileCase *c)
{
    Etw_Field fields[7];
    int count = 0;
    bool opens = strcmp(c->event, "Create") == 0;
    if (opens) {
        fields[count++] = (Etw_Field){"Flags", ETW_IN_HEX32, 0, 0, 0};
    }
    if (c->descriptor != NONE) {
        fields[count++] = (Etw_Field){"Descriptor", ETW_IN_INT32, 0, 0, 0};
    }
    if (c->size != NONE) {
        fields[count++] = (Etw_Field){"Size", ETW_IN_UINT64, 0, 0, 0};
        fields[count++] = (Etw_Field){"Offset", ETW_IN_INT64, 0, 0, 0};
    }
    fields[count++] = (Etw_Field){"Result", ETW_IN_INT64, 0, 0, 0};
    fields[count++] = (Etw_Field){"FileName", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0};
    if (c->to != NULL) {
        fields[count++] = (Etw_Field){"NewName", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0};
    }
    if (c->source >= 0) {
        fields[count++] = (Etw_Field){"NameSource", ETW_IN_UINT8, 0, 0, 0};
    }
    Sample *s = SampleNew("Linux-fileio", c->event, fields, count);
    if (opens) {
        SampleInt(s, 0x80000, 4);
    }
    if (c->descriptor != NONE) {
        SampleInt(s, (uint64_t)c->descriptor, 4);
    }
    if (c->size != NONE) {
        SampleInt(s, (uint64_t)c->size, 8);
        SampleInt(s, (uint64_t)c->offset, 8);
    }
    SampleInt(s, (uint64_t)c->result, 8);
    SampleText(s, c->file);
    if (c->to != NULL) {
        SampleText(s, c->to);
    }
    if (c->source >= 0) {
        SampleInt(s, (uint64_t)c->source, 1);
    }
    return s;
}

/* Operations on files: the path first, the name of an error beside its number, no -1 for "the file's own position". */
static void columns_1_6_files(void)
{
    static const FileCase cases[] = {{"Create", NONE, NONE, NONE, 4, "/etc/passwd", NULL, 1,
                                             "Create /etc/passwd as descriptor 4 Flags=0x80000\n"},
            {"Create", NONE, NONE, NONE, 0, "zero", NULL, 1, "Create zero as descriptor 0 "},
            {"Create", NONE, NONE, NONE, -2, "/etc/a b", NULL, 1,
                    "Create \"/etc/a b\" failed: ENOENT (-2) Flags=0x80000\n"},
            {"Create", NONE, NONE, NONE, -4095, "", NULL, 0,
                    "Create - failed: -4095 Flags=0x80000\n"},
            {"Read", 4, 4096, -1, 1221, "/etc/passwd", NULL, 1,
                    "Read /etc/passwd 1221 of 4096 bytes Descriptor=4\n"},
            {"Read", 4, 784, 64, 784, "/etc/passwd", NULL, 2,
                    "Read /etc/passwd (name from /proc) 784 of 784 bytes at 64 Descriptor=4\n"},
            {"Read", 4, 784, 0, 0, "/etc/passwd", NULL, 1,
                    "Read /etc/passwd 0 of 784 bytes at 0 Descriptor=4\n"},
            {"Write", 1, 10, -1, -11, "", NULL, 0,
                    "Write - 10 bytes failed: EAGAIN (-11) Descriptor=1\n"},
            {"Close", 4, NONE, NONE, 0, "/etc/passwd", NULL, 1, "Close /etc/passwd Descriptor=4\n"},
            {"Flush", 4, NONE, NONE, -5, "/etc/passwd", NULL, 1,
                    "Flush /etc/passwd failed: EIO (-5) Descriptor=4\n"},
            {"Delete", NONE, NONE, NONE, 0, "/tmp/x", NULL, -1, "Delete /tmp/x\n"},
            {"Rename", NONE, NONE, NONE, -18, "/a", "/b c", -1,
                    "Rename /a -> \"/b c\" failed: EXDEV (-18)\n"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        Play *p = playNew(false);
        Sample *s = fileSample(&cases[i]);
        p->events[p->count++] = SampleEvent(s);
        p->info.startTime = begun;
        EtwText out = dump(&(EtwSinkConfig){.format = ETW_FORMAT_TEXT}, &p->base);
        CHECK_MSG(strstr(out.data, cases[i].line) != NULL, "%s: %s", cases[i].line, out.data);
        EtwTextFree(&out);
        SampleFree(s);
    }
}

int main(int argc, char **argv)
{
    OsInit();
    CHECK_ARGS(argc, argv);
    CHECK_RUN(sink_1_1_text);
    CHECK_RUN(sink_1_1_unknown_peer);
    CHECK_RUN(sink_1_2_color);
    CHECK_RUN(sink_1_3_iso);
    CHECK_RUN(sink_1_4_csv);
    CHECK_RUN(sink_1_5_json);
    CHECK_RUN(sink_1_6_list);
    CHECK_RUN(columns_1_1_all);
    CHECK_RUN(columns_1_5_unknown_name);
    CHECK_RUN(columns_1_6_files);
    CHECK_RUN(columns_1_2_raw);
    CHECK_RUN(columns_1_3_cut);
    CHECK_RUN(columns_1_4_names);
    CHECK_RUN(time_2_1_formats);
    CHECK_RUN(time_2_5_signs);
    CHECK_RUN(depth_2_2_strange);
    CHECK_RUN(depth_2_3_foreign);
    CHECK_RUN(depth_2_4_cut);
    CHECK_RUN(file_4_1_two_merged);
    CHECK_RUN(file_4_2_header);
    CHECK_RUN(file_4_3_missing);
    CHECK_RUN(format_5_1_options);
    return CHECK_DONE();
}
