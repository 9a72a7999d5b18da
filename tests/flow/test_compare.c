/*
 * tests/flow/test_compare.c --
 *
 *	flow/compare: names without what differs from run to run, the rank test (against values that were computed by
 *	counting all choices), rows of made-up runs.
 */
#include "tests/support/check.h"
#include "tests/support/sample_event.h"
#include "flow/compare/compare.h"

static char text[8192];

static const char *normalized(const char *name)
{
    EtwText out = {0};
    EtwCompareNormalize(&out, name, strlen(name));
    CHECK(out.size < sizeof text);
    memcpy(text, out.data != NULL ? out.data : "", out.size);
    text[out.size] = 0;
    EtwTextFree(&out);
    return text;
}

static void testNumbers(void)
{
    CHECK_STR(normalized("::http::12"), "::http::#");
    CHECK_STR(normalized("sock55d0c8a01f30"), "sock#");
    CHECK_STR(normalized("read sock5 now"), "read sock# now");
    CHECK_STR(normalized("::oo::Obj27::my"), "::oo::Obj#::my");
    CHECK_STR(normalized("after after#12"), "after after#");
    CHECK_STR(normalized("/proc/4711/task/4712/status"), "/proc/#/task/#/status");
    CHECK_STR(normalized("/proc/7/fd/3"), "/proc/#/fd/#");
    CHECK_STR(normalized("0x7ffe1234abcd"), "0x#");
    CHECK_STR(normalized("log-48213.txt"), "log-#.txt");
    CHECK_STR(normalized("a/3f2504e0-4f89-11d3-9a0c-0305e82c3301/b"), "a/#/b");
    CHECK_STR(normalized("/cache/9f86d081884c7d65/x"), "/cache/#/x");
    CHECK_STR(normalized("127.0.0.1:43210"), "127.0.0.1:#");
    CHECK_STR(normalized("[::1]:54321"), "[::#]:#");
}

/* What people have named stays. */
static void testKept(void)
{
    static const char *const names[] = {"", "a", "db::query", "::chat::receive", "iso8859-1.enc",
            "cp1252.enc", "sha256", "md5::md5", "utf-16", "tcl8.6/init.tcl", "localhost:8080",
            "10.0.0.1:443", "socket", "socks", "file", "profile", "objects", "facade", "deadbeef",
            "apply {x {set x 12}}", "/tmp/template.txt", "/tmp/tmpfile.txt", "core 3", "tokens",
            "passwords", "getPassword", "::token::next", "a -- b", "naïve", "0x", "x -u y",
            "/tmp/x-config.txt", "/tmp/app_Config", "/tmp/utf_sha256.c", "/tmp/fileserver.log",
            "/usr/lib/a-Header.h", "/usr/lib/libz.so.1.2.13", "/etc/passwd", "mailto:joe@host",
            "http://host:8080/a@b", "http://[::a]:80/", "-u http://host/", "compass: north",
            "nginx:latest@sha256:abc", "-tokenfile x", "cookie jar", "my authorization check",
            "a?monkey=1", "/tmp/myBigFileName", "/tmp/HTTPServerLog", "/tmp/report2024final",
            "/tmp/tmpdownloader", "/tmp/sub/iPhone12Log", "token:", "password", "12:30 at noon",
            "::a::b@c"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_STR(normalized(names[i]), names[i]);
    }
}

static void testTemporaryNames(void)
{
    CHECK_STR(normalized("/tmp/tcl_aB3xYz"), "/tmp/tcl_#");
    CHECK_STR(normalized("/tmp/tmp.Q8rT5k2xWz/out"), "/tmp/tmp.#/out");
    CHECK_STR(normalized("/tmp/tmpab12cd34/x.txt"), "/tmp/tmp#/x.txt");
    CHECK_STR(normalized("/dev/shm/etw-0/untraced-4711-_MavxKQ"), "/dev/shm/etw-0/untraced-#-_#");
    static const char *const same[][2] = {
            /* mkstemp, Tcl's `file tempfile` with a template and an extension */
            {"/tmp/foo.aB3xYz", "/tmp/foo.#"}, {"/tmp/foo.KQMAVX", "/tmp/foo.#"},
            {"/tmp/foo-MavxKQ", "/tmp/foo-#"}, {"/tmp/foo_a1b2c3.txt", "/tmp/foo_#.txt"},
            {"/tmp/foo_xYzabC.txt", "/tmp/foo_#.txt"},
            {"/var/tmp/a/b_aB3xYz/c", "/var/tmp/a/b_#/c"},
            /* tempnam, tmpnam and tmpfile of glibc */
            {"/tmp/fileaB3xYz", "/tmp/file#"}, {"/tmp/fileIvYqQm", "/tmp/file#"},
            {"/tmp/tmpf8aBcDe", "/tmp/tmpf#"},
            /* mktemp of a shell, Python, fileutil::tempfile of tcllib */
            {"/tmp/x.Q8rT5k2xWz", "/tmp/x.#"}, {"/tmp/tmpk_3x_9ab", "/tmp/tmp#"},
            {"/tmp/k3x9abq1z7", "/tmp/#"}, {"/tmp/foo07O0uR30wt", "/tmp/foo#"},
            {"/tmp/fooMTqBDm6FOs", "/tmp/foo#"},
            {"/tmp/tmp9iRfxbLnAm/o/x.csv", "/tmp/tmp#/o/x.csv"},
            {"/tmp/tmp5hfEEDOdKM/", "/tmp/tmp#/"},
            /* a new version beside the old one, of programs that replace a file */
            {"/etc/app/conf.json.Xa8dfQ", "/etc/app/conf.json.#"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        CHECK_STR(normalized(same[i][0]), same[i][1]);
    }
    CHECK_STR(normalized("C:\\Temp\\TCL1A2B.tmp"), "C:\\Temp\\TCL#.tmp");
}

static void testSecrets(void)
{
    CHECK_STR(normalized("http://joe:s3cret@host/x?y"), "http://***@host/x?y");
    CHECK_STR(normalized("connect -password hunter2 -user joe"), "connect -password *** -user joe");
    CHECK_STR(normalized("connect --password=hunter2 b"), "connect --password=*** b");
    CHECK_STR(normalized("curl -u joe:hunter2 http://h"), "curl -u *** http://h");
    CHECK_STR(normalized("GET /?a=1&token=abc123&b=2"), "GET /?a=1&token=***&b=2");
    CHECK_STR(normalized("-headers {Authorization: Bearer abc.def x}"),
            "-headers {Authorization: Bearer *** x}");
    CHECK_STR(normalized("-password \"two words\" c"), "-password *** c");
    CHECK_STR(normalized("-password {two words} c"), "-password *** c");
    CHECK_STR(normalized("PGPASSWORD=x"), "PGPASSWORD=***");
}

/* Nothing of the secret, which is S3CRET, is left; what stands beside it stays. */
static void testPlacements(void)
{
    static const char *const places[][2] = {
            /* URLs */
            {"redis://:S3CRET@host:6379/0", "redis://***@host:6379/0"},
            {"postgres://joe:S3CRET/S3CRET@db/x", "postgres://***@db/x"},
            {"postgres://joe:S3CRET@S3CRET@db/x", "postgres://***@db/x"},
            {"amqp://S3CRET@h and more", "amqp://***@h and more"},
            {"joe:S3CRET@tcp(10.0.0.1:3306)/shop", "***@tcp(10.0.0.1:3306)/shop"},
            {"http://h/?token=S3CRET", "http://h/?token=***"},
            {"http://h/?user=joe&password=S3CRET&page=2", "http://h/?user=joe&password=***&page=2"},
            {"http://h/?key=S3CRET&q=a", "http://h/?key=***&q=a"},
            {"http://h/?access_token=S3CRET;b=2", "http://h/?access_token=***;b=2"},
            {"http://h/a?X-Amz-Signature=S3CRET&X-Amz-Date=a",
                    "http://h/a?X-Amz-Signature=***&X-Amz-Date=a"},
            {"user[password]=S3CRET&user[name]=joe", "user[password]=***&user[name]=joe"},
            {"user%5Bpassword%5D=S3CRET", "user%5Bpassword%5D=***"},
            /* options */
            {"curl --user joe:S3CRET http://h", "curl --user *** http://h"},
            {"curl --user=joe:S3CRET http://h", "curl --user=*** http://h"},
            {"curl -u 'joe:S3CRET' http://h", "curl -u *** http://h"},
            {"curl -u {joe:S3 CRET} http://h", "curl -u *** http://h"},
            {"curl -ujoe:S3CRET http://h", "curl -u*** http://h"},
            {"curl -U joe:S3CRET http://h", "curl -U *** http://h"},
            {"curl --proxy-user joe:S3CRET http://h", "curl --proxy-user *** http://h"},
            {"mysql -h db -pS3CRET shop", "mysql -h db -p*** shop"},
            {"sshpass -p S3CRET ssh h", "sshpass -p *** ssh h"},
            {"connect -dbpassword S3CRET -db x", "connect -dbpassword *** -db x"},
            {"connect -password S3CRET", "connect -password ***"},
            {"connect --password=S3CRET x", "connect --password=*** x"},
            {"connect --password   S3CRET x", "connect --password   *** x"},
            {"connect --db-password=\"S3 CRET\" x", "connect --db-password=*** x"},
            {"connect -password S3&CRET;S3,CRET x", "connect -password *** x"},
            {"connect -password {S3 {CRET} S3} x", "connect -password *** x"},
            {"connect -password \"S3\\\"CRET\" x", "connect -password *** x"},
            {"connect {-password S3CRET} x", "connect {-password ***} x"},
            {"[connect -pass S3CRET]", "[connect -pass ***]"},
            {"connect --api-key S3CRET x", "connect --api-key *** x"},
            {"login -secret S3CRET -token S3CRET", "login -secret *** -token ***"},
            /* JSON, also in a string; dicts; settings */
            {"{\"password\":\"S3CRET\"}", "{\"password\":***}"},
            {"{\"a\": 1, \"password\" : \"S3\\\"CRET\", \"b\": 2}",
                    "{\"a\": 1, \"password\" : ***, \"b\": 2}"},
            {"{\\\"password\\\":\\\"S3CRET\\\",\\\"b\\\":2}", "{\\\"password\\\":***,\\\"b\\\":2}"},
            {"{'apiKey': 'S3CRET', 'b': 2}", "{'apiKey': ***, 'b': 2}"},
            {"{\"client_secret\":\"S3CRET\",\"id\":7}", "{\"client_secret\":***,\"id\":7}"},
            {"{user joe password S3CRET db x}", "{user joe password *** db x}"},
            {"password {S3 CRET} user joe", "password *** user joe"},
            {"host=h password=S3CRET dbname=x", "host=h password=*** dbname=x"},
            {"password=S3;CRET dbname=x", "password=*** dbname=x"},
            {"Server=h;Pwd=S3CRET;Database=x", "Server=h;Pwd=***;Database=x"},
            {"password = S3CRET", "password = ***"},
            {"aws_secret_access_key=S3CRET", "aws_secret_access_key=***"},
            {"DB_PASS=S3CRET prog", "DB_PASS=*** prog"},
            {"password=>S3CRET", "password=>***"},
            /* headers */
            {"Authorization: Basic S3CRET", "Authorization: Basic ***"},
            {"-H \"Authorization: Bearer S3CRET\" x", "-H \"Authorization: Bearer ***\" x"},
            {"-H \"Authorization: S3CRET S3CRET\" x", "-H \"Authorization: ***\" x"},
            {"-H 'Cookie: a=S3CRET; b=S3CRET' x", "-H 'Cookie: ***' x"},
            {"{Cookie: a=S3CRET; b=S3CRET} x", "{Cookie: ***} x"},
            {"-headers {Cookie {a=S3CRET; b=S3CRET} Accept x}", "-headers {Cookie *** Accept x}"},
            {"-headers {Cookie a=S3CRET Accept x}", "-headers {Cookie *** Accept x}"},
            {"-headers {Authorization {Basic S3CRET} Accept x}",
                    "-headers {Authorization *** Accept x}"},
            {"-headers {Authorization Basic\\ S3CRET}", "-headers {Authorization Basic\\ ***}"},
            {"Set-Cookie: sid=S3CRET; Path=/\nServer: x", "Set-Cookie: ***\nServer: x"},
            {"Proxy-Authorization: Digest username=\"S3CRET\", response=\"S3CRET\"",
                    "Proxy-Authorization: ***"},
            {"X-Api-Key: S3CRET", "X-Api-Key: ***"},
            {"--cookie a=S3CRET x", "--cookie *** x"},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        CHECK_STR(normalized(places[i][0]), places[i][1]);
    }
}

/* Tokens as passwords have hundreds of bytes. */
static void testLongSecrets(void)
{
    char place[1200], token[801];
    memset(token, 'S', 800);
    token[800] = 0;
    snprintf(place, sizeof place, "https://aws:%s@d.example/pypi", token);
    CHECK_STR(normalized(place), "https://***@d.example/pypi");
    snprintf(place, sizeof place, "joe:%s@host/db", token);
    CHECK_STR(normalized(place), "***@host/db");
}

/* A long name is cut, and its work is bounded. */
static void testLongName(void)
{
    static char name[100000];
    memset(name, 'a', sizeof name - 1);
    CHECK_EQ(strlen(normalized(name)), 4096);
    for (size_t i = 0; i + 2 < sizeof name; i += 2) {
        memcpy(name + i, "/-", 2);
    }
    CHECK(strlen(normalized(name)) <= 4096);
}

static bool near(double a, double b)
{
    return a - b < 1e-4 && b - a < 1e-4;
}

/* As R's wilcox.test(exact = TRUE) has them; with ties: all choices counted. */
static void testRankTest(void)
{
    const double low[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
                 high[] = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    const double odd[] = {1, 3, 5, 7}, even[] = {2, 4, 6, 8}, same[] = {5, 5, 5},
                 tied[] = {5, 5, 9};
    CHECK(near(EtwRankTest(low, 3, high, 3), 0.1));
    CHECK(near(EtwRankTest(low, 4, high, 4), 2.0 / 70));
    CHECK(near(EtwRankTest(low, 5, high, 5), 2.0 / 252));
    CHECK(near(EtwRankTest(low, 1, high, 1), 1));
    CHECK(near(EtwRankTest(low, 2, high, 2), 1.0 / 3));
    CHECK(near(EtwRankTest(odd, 4, even, 4), 0.685714));
    CHECK(near(EtwRankTest(same, 3, same, 3), 1));
    CHECK(near(EtwRankTest(same, 3, tied, 3), 1));
    CHECK(EtwRankTest(low, 10, high, 10) < 0.0003); /* the normal approximation: 0.00018 */
    CHECK(EtwRankTest(low, 10, low, 10) > 0.99);
    CHECK(EtwRankTest(low, 0, high, 3) < 0);
}

/* ---- Runs ------------------------------------------------------------------------------------- */

enum { US = 1000, TID = 4711 };
static EtwCompareRun *run;
static uint64_t nextId;
static int64_t now;

static void add(Sample *s)
{
    s->event.time = 1000000000 + now * US;
    s->event.pid = TID;
    s->event.tid = TID;
    EtwCompareAdd(run, SampleEvent(s));
    SampleFree(s);
}

static uint64_t enter(int depth, const char *command, const char *context)
{
    static const Etw_Field fields[] = {FIELD("CallId", ETW_IN_UINT64),
            FIELD("Depth", ETW_IN_UINT16), TEXT_FIELD("Command"), TEXT_FIELD("Context"),
            TEXT_FIELD("File"), FIELD("Line", ETW_IN_UINT32)};
    Sample *s = SampleNew("Tcl-Script", "Enter", fields, 6);
    SampleInt(s, ++nextId, 8);
    SampleInt(s, (uint64_t)depth, 2);
    SampleText(s, command);
    SampleText(s, context);
    SampleText(s, "");
    SampleInt(s, 0, 4);
    add(s);
    return nextId;
}

static void leave(uint64_t id, int code)
{
    static const Etw_Field fields[] = {FIELD("CallId", ETW_IN_UINT64),
            FIELD("Depth", ETW_IN_UINT16), FIELD("Code", ETW_IN_INT32),
            FIELD("Duration", ETW_IN_UINT64), TEXT_FIELD("Command"), TEXT_FIELD("Result")};
    Sample *s = SampleNew("Tcl-Script", "Leave", fields, 6);
    SampleInt(s, id, 8);
    SampleInt(s, 1, 2);
    SampleInt(s, (uint64_t)code, 4);
    SampleInt(s, 0, 8);
    SampleText(s, "x");
    SampleText(s, "");
    add(s);
}

/* page with `queries` calls of us each; query N of another connection than in the run before */
static void playRun(EtwCompare *c, int side, int queries, int us, int code)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    static int connection;
    char name[64];
    run = EtwCompareBegin(c, side, store);
    now = 0;
    connection++;
    uint64_t page = enter(1, "page x", "::");
    for (int i = 0; i < queries; i++) {
        snprintf(name, sizeof name, "::db::%d::query {select %d}", connection, i);
        uint64_t id = enter(2, name, "::page");
        now += us;
        leave(id, code);
    }
    now += 5;
    leave(page, 0);
    EtwCompareEnd(run, 0, false);
    EtwSchemaStoreFree(store);
}

static EtwCompareRow *only(EtwCompare *c, EtwCompareTable table, size_t expected)
{
    EtwCompareView view = {.min = 0};
    size_t count, hidden, same;
    EtwCompareRow **rows = EtwCompareRows(c, table, &view, &count, &hidden, &same);
    CHECK_EQ(count, expected);
    EtwCompareRow *row = count > 0 ? rows[0] : NULL;
    EtwFree(rows);
    return row;
}

static void testExtraQuery(void)
{
    EtwCompare *c = EtwCompareNew(&(EtwCompareConfig){0});
    playRun(c, ETW_SIDE_A, 3, 10, 0);
    playRun(c, ETW_SIDE_B, 5, 10, 1);
    EtwCompareFinish(c);
    EtwCompareRow *row = only(c, ETW_COMPARE_PROCS, 2);
    CHECK_STR(row->who, "::db::#::query");
    CHECK_EQ(row->sides[ETW_SIDE_A][ETW_MEASURE_COUNT].median, 3);
    CHECK_EQ(row->sides[ETW_SIDE_B][ETW_MEASURE_COUNT].median, 5);
    CHECK_EQ(row->sides[ETW_SIDE_B][ETW_MEASURE_ERRORS].median, 5);
    CHECK_EQ(row->sides[ETW_SIDE_B][ETW_MEASURE_SELF].median, 50 * US);
    CHECK_EQ(row->times, ETW_CONFIDENCE_NONE);
    row = only(c, ETW_COMPARE_PATHS, 2);
    EtwText path = {0};
    EtwComparePath(row, &path);
    EtwTextChar(&path, 0);
    CHECK_STR(path.data, "page > ::db::#::query");
    EtwTextFree(&path);
    EtwCompareFree(c);
}

static void testEqualRuns(void)
{
    EtwCompare *c = EtwCompareNew(&(EtwCompareConfig){0});
    playRun(c, ETW_SIDE_A, 3, 10, 0);
    playRun(c, ETW_SIDE_B, 3, 10, 0);
    EtwCompareFinish(c);
    for (int table = 0; table < ETW_COMPARE_TABLES; table++) {
        CHECK(only(c, (EtwCompareTable)table, 0) == NULL);
    }
    EtwCompareFree(c);
}

/* Times whose ranges overlap are noise; those that do not are a difference. */
static void testManyRuns(void)
{
    static const int a[] = {10, 14, 11, 13, 12}, noisy[] = {12, 10, 15, 11, 13},
                     slow[] = {20, 24, 21, 23, 22};
    EtwCompare *same = EtwCompareNew(&(EtwCompareConfig){0}),
               *slower = EtwCompareNew(&(EtwCompareConfig){0});
    for (int i = 0; i < 5; i++) {
        playRun(same, ETW_SIDE_A, 3, a[i], 0);
        playRun(same, ETW_SIDE_B, 3, noisy[i], 0);
        playRun(slower, ETW_SIDE_A, 3, a[i], 0);
        playRun(slower, ETW_SIDE_B, 3, slow[i], 0);
    }
    EtwCompareFinish(same);
    EtwCompareFinish(slower);
    CHECK(only(same, ETW_COMPARE_PROCS, 0) == NULL);
    EtwCompareRow *row = only(slower, ETW_COMPARE_PROCS, 1);
    CHECK_STR(row->who, "::db::#::query");
    CHECK_EQ(row->times, ETW_CONFIDENCE_CLEAR);
    CHECK_EQ(row->sides[ETW_SIDE_B][ETW_MEASURE_SELF].median, 66 * US);
    CHECK(near(row->p, 2.0 / 252));
    EtwCompareFree(same);
    EtwCompareFree(slower);
}

static bool renameQuery(void *ctx, const char *name, EtwText *out)
{
    EtwTextStr(out, strstr(name, "query") != NULL ? (const char *)ctx : name);
    return true;
}

static void testOwnRules(void)
{
    EtwCompare *c = EtwCompareNew(
            &(EtwCompareConfig){.rename = renameQuery, .ctx = (void *)(uintptr_t) "fetch"});
    playRun(c, ETW_SIDE_A, 1, 10, 0);
    playRun(c, ETW_SIDE_B, 2, 10, 0);
    EtwCompareFinish(c);
    CHECK_STR(only(c, ETW_COMPARE_PROCS, 2)->who, "fetch");
    EtwCompareFree(c);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(testNumbers);
    CHECK_RUN(testKept);
    CHECK_RUN(testTemporaryNames);
    CHECK_RUN(testSecrets);
    CHECK_RUN(testPlacements);
    CHECK_RUN(testLongSecrets);
    CHECK_RUN(testLongName);
    CHECK_RUN(testRankTest);
    CHECK_RUN(testExtraQuery);
    CHECK_RUN(testEqualRuns);
    CHECK_RUN(testManyRuns);
    CHECK_RUN(testOwnRules);
    return CHECK_DONE();
}
