/*
 * tests/flow/relog/test_relog.c --
 *
 *	etl/write/file_builder.c and flow/relog/relog.c: what comes out holds what went in, byte for byte, for every real
 *	file; and made-up files for what no real one has.
 */
#include "tests/support/check.h"
#include "tests/support/corpus.h"
#include "etl/format.h"
#include "etl/read/trace_losses.h"
#include "tests/support/etlfile.h"
#include "tests/support/relog_helper.h"

static void SameEvents(EtlReader *before, EtlReader *after, const char *name)
{
    EtwEvent a, b;
    EtwStatus statusA, statusB;
    for (size_t n = 0;; n++) {
        statusA = NextEvent(before, &a);
        statusB = NextEvent(after, &b);
        if (statusA != ETW_OK || statusB != ETW_OK) {
            CHECK_MSG(statusA == statusB, "%s: not as many events behind %zu", name, n);
            return;
        }
        if (!CHECK_MSG(SameEvent(&a, &b), "%s: event %zu differs", name, n)) {
            return;
        }
    }
}

static void SameInfo(const EtlInfo *a, const EtlInfo *b, const char *name)
{
    /* The copy numbers its buffers anew, so its header counts those that are missing in the original. */
    CHECK_MSG(a->eventsLost == b->eventsLost && b->buffersLost == EtlLossesBuffers(a), "%s: lost",
            name);
    CHECK_MSG(a->startTime == b->startTime && a->ticks0 == b->ticks0 && a->bootTime == b->bootTime,
            "%s: times", name);
    CHECK_MSG(!a->closed || a->endTime == b->endTime, "%s: end", name);
    CHECK_MSG(b->closed && b->buffers == b->buffersWritten, "%s: buffers", name);
    CHECK_MSG(a->headerBytes == b->headerBytes, "%s: records of the header buffer", name);
    CHECK_MSG(a->localTime == b->localTime && a->pointerSize == b->pointerSize, "%s: form", name);
}

static void CheckFile(const char *path, bool compressed)
{
    EtwSource *source;
    EtlReader *before, *after;
    EtwError error = {0};
    if (!CHECK_MSG(EtwSourceOpen(&source, path, &error) == ETW_OK, "%s", error.message)) {
        return;
    }
    EtwText out = Relogged(source, compressed);
    EtwSourceClose(source);
    CHECK_EQ(EtlReaderOpen(&before, path, NULL, NULL, NULL), ETW_OK);
    EtwStatus status = EtlReaderOpenMemory(&after, out.data, out.size, 0, NULL, NULL, &error);
    if (CHECK_MSG(status == ETW_OK, "%s: %s", path, error.message)) {
        SameEvents(before, after, path);
        SameInfo(EtlReaderInfo(before), EtlReaderInfo(after), path);
        CHECK_MSG(compressed == (EtlReaderInfo(after)->compression != 0) ||
                          EtlReaderInfo(after)->buffers == 1,
                "%s: compression", path);
        EtlReaderClose(after);
    }
    EtlReaderClose(before);
    EtwTextFree(&out);
}

static void faithful_corpus(void)
{
    char line[2000], file[400];
    unsigned checked = 0;
    FILE *index = fopen(CorpusFile("INDEX.md"), "r");
    if (index == NULL) {
        SKIP("no %s (set ETW_CORPUS)", CorpusFile("INDEX.md"));
    }
    while (fgets(line, sizeof line, index) != NULL) {
        if (sscanf(line, "- `%399[^`]` (%*d bytes", file) == 1) {
            CheckFile(CorpusFile(file), false);
            CheckFile(CorpusFile(file), true);
            checked++;
        }
    }
    fclose(index);
    CHECK_MSG(checked >= 38, "only %u files of INDEX.md were checked", checked);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(faithful_corpus);
    return CHECK_DONE();
}
