/*
 * tests/etl/test_trace_losses.c --
 *
 *	etl/read/trace_losses.c: what a file lacks by its header, its marks and its sequence numbers, and what must
 *	not be taken for a loss.
 */
/* The members of a buffer that a case does not name are 0. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "tests/support/check.h"
#include "base/bytes.h"
#include "base/os.h"
#include "etl/format.h"
#include "etl/read/trace_losses.h"
#include "tests/support/etlfile.h"

/* A file: its mode, the number of buffers in its header, and its buffers after the header. */
typedef struct Case {
    uint32_t mode, written;
    bool open; /* not closed */
    int count;
    struct {
        int64_t number;
        int logger, cpu;
        int64_t time; /* 0: after the buffer before it */
    } buffers[8];
} Case;

static void addSentence(void *ctx, const char *sentence)
{
    EtwText *text = ctx;
    if (text->size > 0) {
        EtwTextChar(text, '|');
    }
    EtwTextStr(text, sentence);
}

static void build(Image *f, const Case *c)
{
    ImageBegin(f, 1024);
    uint8_t *log = f->data + 0x48 + 0x20;
    EtwStore32(log + 0x20, c->mode);
    EtwStore32(log + 0x24, c->written);
    EtwStore32(log + 0x30, 0);
    EtwStore32(log + 0x114, 0);
    if (c->open) {
        EtwStore64(log + 0x10, 0);
    }
    for (int i = 0; i < c->count; i++) {
        BufferBegin(f, c->buffers[i].cpu, c->buffers[i].number);
        EtwStore16(f->data + f->buffer + 0x2a, (uint16_t)(c->buffers[i].logger + 1));
        EventAdd(f, c->buffers[i].time != 0 ? c->buffers[i].time : 2000 + i, 1);
        BufferEnd(f);
    }
}

/* Checks the sentences, separated by "|", and the number of events. */
static void losses(const char *name, const Case *c, const char *wanted, size_t events)
{
    Image f;
    EtwText text = {0};
    build(&f, c);
    Seen seen = SeenMemory(f.data, f.size);
    EtlLossesVisit(&seen.info, addSentence, &text);
    EtwTextChar(&text, 0);
    if (strcmp(text.data, wanted) != 0) {
        printf("%s:\n", name);
    }
    CHECK_STR(text.data, wanted);
    CHECK_EQ(EtlLossesNone(&seen.info), *wanted == 0);
    CHECK_EQ(seen.count, events + 1);
    CHECK_EQ(seen.warnings, c->open ? 1 : 0);
    EtwTextFree(&text);
    SeenFree(&seen);
    ImageFree(&f);
}

static void none(void)
{
    losses("whole", &(Case){1, 5, .count = 4, .buffers = {{1}, {2}, {3}, {4}}}, "", 4);
    losses("in any order", &(Case){1, 5, .count = 4, .buffers = {{3}, {1}, {4}, {2}}}, "", 4);
    losses("more than the header counts", &(Case){1, 1, .count = 2, .buffers = {{1}, {2}}}, "", 2);
    losses("not numbered", &(Case){1, 4, .count = 3, .buffers = {{0}, {0}, {0}}}, "", 3);
    losses("new-file mode", &(Case){9, 4, .count = 3, .buffers = {{908}, {909}, {910}}}, "", 3);
    losses("numbered for each CPU",
            &(Case){1, 5, .count = 4, .buffers = {{1, 0, 0}, {2, 0, 0}, {1, 0, 1}, {2, 0, 1}}}, "",
            4);
    losses("merged", &(Case){1, 5, .count = 4, .buffers = {{1, 1}, {2, 1}, {7, 2}, {8, 2}}}, "", 4);
}

static void no_false_alarm(void)
{
    static const uint32_t modes[] = {
            ETL_MODE_CIRCULAR, ETL_MODE_APPEND | ETL_MODE_SEQUENTIAL, ETL_MODE_BUFFERING};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        losses("overwritten, or of several sessions",
                &(Case){modes[i], 50, .count = 4, .buffers = {{5}, {9}, {1}, {1}}}, "", 4);
    }
    losses("not closed", &(Case){1, 50, true, .count = 2, .buffers = {{1}, {5}}}, "", 2);
}

static void header_count(void)
{
    losses("cut off", &(Case){1, 5, .count = 3, .buffers = {{1}, {2}, {3}}},
            "1 of the 5 buffers that the file's header counts are not in the file", 3);
    losses("no buffers", &(Case){1, 5, .count = 0},
            "4 of the 5 buffers that the file's header counts are not in the file", 0);
}

static void gaps(void)
{
    losses("one", &(Case){1, 4, .count = 3, .buffers = {{1}, {2}, {4}}},
            "1 buffer is missing: the sequence numbers have a gap at 3", 3);
    losses("two", &(Case){1, 4, .count = 3, .buffers = {{9}, {4}, {1}}},
            "6 buffers are missing: the sequence numbers have gaps, the first at 2", 3);
    losses("that the header counts, too", &(Case){1, 5, .count = 3, .buffers = {{1}, {2}, {4}}},
            "1 buffer is missing: the sequence numbers have a gap at 3", 3);
    losses("and a cut end", &(Case){1, 8, .count = 3, .buffers = {{1}, {2}, {4}}},
            "4 of the 8 buffers that the file's header counts are not in the file|"
            "1 buffer is missing: the sequence numbers have a gap at 3",
            3);
    losses("of one logger", &(Case){1, 5, .count = 4, .buffers = {{1, 1}, {2, 1}, {7, 2}, {9, 2}}},
            "1 buffer of logger 3 is missing: the sequence numbers have a gap at 8", 4);
    losses("damaged numbers", &(Case){1, 4, .count = 3, .buffers = {{1}, {2}, {INT64_MAX}}},
            "the sequence numbers of the buffers are damaged: buffers may be missing", 3);
    losses("the largest difference",
            &(Case){1, 3, .count = 2, .buffers = {{INT64_MIN}, {INT64_MAX}}},
            "the sequence numbers of the buffers are damaged: buffers may be missing", 2);
}

static void copies(void)
{
    losses("a copy",
            &(Case){1, 4, .count = 4, .buffers = {{1}, {2, 0, 0, 3000}, {3}, {2, 0, 0, 3000}}},
            "1 buffer occurs twice: the copies are skipped", 3);
    losses("two copies",
            &(Case){1, 3, .count = 4,
                    .buffers = {{1}, {2, 0, 0, 3000}, {2, 0, 0, 3000}, {2, 0, 0, 3000}}},
            "2 buffers occur twice: the copies are skipped", 2);
    losses("a copy does not make up for a missing buffer",
            &(Case){1, 4, .count = 3, .buffers = {{1}, {2, 0, 0, 3000}, {2, 0, 0, 3000}}},
            "1 of the 4 buffers that the file's header counts are not in the file|"
            "1 buffer occurs twice: the copies are skipped",
            2);
    losses("copies of different buffers that begin at the same time",
            &(Case){1, 4, .count = 5,
                    .buffers = {{1, 0, 0, 3000}, {2, 0, 0, 3000}, {3, 0, 0, 3000}, {1, 0, 0, 3000},
                            {2, 0, 0, 3000}}},
            "2 buffers occur twice: the copies are skipped", 3);
    losses("the same number, other events", &(Case){1, 4, .count = 3, .buffers = {{1}, {2}, {2}}},
            "1 buffer has the sequence number of another buffer: both are read", 3);
}

/* The parts of a trace that comes through a pipe. */
static void parts(void)
{
    Image f;
    EtwText text = {0};
    build(&f, &(Case){1, 6, .count = 3, .buffers = {{1}, {2}, {4}}});
    Seen first = SeenMemory(f.data, f.size), second = SeenMemory(f.data, f.size);
    EtlLossesAdd(&first.info, &second.info);
    EtlLossesVisit(&first.info, addSentence, &text);
    EtwTextChar(&text, 0);
    CHECK_STR(text.data, "4 of the 12 buffers that the file's header counts are not in the file|"
                         "2 buffers are missing: the sequence numbers have gaps, the first at 3");
    CHECK_EQ(EtlLossesBuffers(&second.info), 2);
    CHECK_EQ(EtlLossesBuffers(&first.info), 4);
    EtwTextFree(&text);
    SeenFree(&first);
    SeenFree(&second);
    ImageFree(&f);
}

/* What the header and the marks of buffers count. */
static void counted(void)
{
    static const struct {
        uint32_t events, buffers;
        const char *text;
    } cases[] = {
            {1, 0,
                    "the session lost 1 event (more or larger buffers of the session prevent most "
                    "losses)"},
            {60, 0,
                    "the session lost 60 events (more or larger buffers of the session prevent "
                    "most losses)"},
            {0, 1,
                    "1 whole buffer was lost: the session could not write it, or the file that "
                    "this one was copied from lacked it"},
            {60, 2,
                    "the session lost 60 events (more or larger buffers of the session prevent "
                    "most losses)"
                    "|2 whole buffers were lost: the session could not write them, or the file "
                    "that "
                    "this one was copied from lacked them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        EtlInfo info = {
                .closed = true, .eventsLost = cases[i].events, .buffersLost = cases[i].buffers};
        EtwText text = {0};
        EtlLossesVisit(&info, addSentence, &text);
        EtwTextChar(&text, 0);
        CHECK_STR(text.data, cases[i].text);
        CHECK(!EtlLossesNone(&info));
        EtwTextFree(&text);
    }
    EtlInfo marked = {.closed = true, .eventsLostMarks = 2, .buffersLostMarks = 1};
    marked.buffersByType[ETL_BUFFER_EMPTY_MARKER] = 1;
    EtwText text = {0};
    EtlLossesVisit(&marked, addSentence, &text);
    EtwTextChar(&text, 0);
    CHECK_STR(text.data, "events were lost while this was recorded: 2 buffers are marked with lost "
                         "events, 1 with lost buffers|"
                         "the session dropped 1 buffer: empty ones stand in their place");
    EtwTextFree(&text);
    CHECK(EtlLossesNone(&(EtlInfo){.closed = true}));
    CHECK(!EtlLossesNone(&(EtlInfo){.closed = true, .damages = 1}));
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(none);
    CHECK_RUN(no_false_alarm);
    CHECK_RUN(header_count);
    CHECK_RUN(gaps);
    CHECK_RUN(copies);
    CHECK_RUN(parts);
    CHECK_RUN(counted);
    return CHECK_DONE();
}
