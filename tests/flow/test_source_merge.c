/*
 * tests/flow/test_source_merge.c --
 *
 *	The merge of several sources: their order, losses, warnings, files, and live sources among them.
 */
#include "tests/support/check.h"
#include "tests/support/played_source.h"
#include "base/os.h"

static EtwEvent timed(int64_t time, uint16_t cpu)
{
    return (EtwEvent){.time = time, .cpu = cpu};
}

/* Times and (as cpu) the sources' numbers, in the order that the merge gives. */
static void checkOrder(EtwSource *merged, const char *want)
{
    EtwText got = {0};
    EtwEvent event;
    EtwStatus status;
    while ((status = EtwSourceNext(merged, &event)) != ETW_END && got.size < 500) {
        if (status == ETW_AGAIN) {
            EtwTextStr(&got, "- ");
        } else {
            EtwTextPrintf(&got, "%d%c%s ", (int)event.time, 'a' + event.cpu, event.late ? "!" : "");
        }
    }
    EtwTextChar(&got, 0);
    CHECK_STR(got.data, want);
    EtwTextFree(&got);
}

static void merge_3_1_files(void)
{
    EtwEvent events[9];
    static const int times[3][3] = {{1, 5, 9}, {2, 5, 6}, {1, 5, 30}};
    EtwSource *sources[3];
    int closed = 0;
    for (int i = 0; i < 3; i++) {
        Play *p = playNew(false);
        p->lost = (uint64_t)i;
        p->warning = i == 1 ? "b.etl: at byte 8: oops" : NULL;
        p->info.startTime = i == 2 ? 0 : 1;
        p->info.cpus = (uint32_t)i;
        p->closedPtr = &closed;
        for (int k = 0; k < 3; k++) {
            events[3 * i + k] = timed(times[i][k], (uint16_t)i);
            p->events[p->count++] = &events[3 * i + k];
        }
        sources[i] = &p->base;
    }
    EtwSource *merged = EtwSourceMerge(sources, 3);
    CHECK(!EtwSourceIsLive(merged));
    checkOrder(merged, "1a 1c 2b 5a 5b 5c 6b 9a 30c ");
    CHECK_EQ(EtwSourceLost(merged), 3);
    CHECK_EQ(EtwSourceFileCount(merged), 2);
    CHECK_EQ(EtwSourceFileInfo(merged, 1, NULL)->cpus, 1);
    CHECK(EtwSourceFileInfo(merged, 2, NULL) == NULL);
    CHECK_EQ(EtwSourceWarningCount(merged), 1);
    CHECK_STR(EtwSourceWarning(merged, 0), "b.etl: at byte 8: oops");
    EtwSourceClose(merged);
    CHECK_EQ(closed, 3);
}

static void merge_3_2_single(void)
{
    Play *p = playNew(false);
    EtwSource *source = &p->base;
    CHECK(EtwSourceMerge(&source, 1) == source);
    EtwSourceClose(source);
}

/* A live source with nothing to say: old events pass, young ones wait for it; what comes late is
 * marked. */
static void merge_3_3_live(void)
{
    OsInstant now;
    OsInit();
    OsNow(&now);
    EtwEvent old = timed(5, 0), young = timed(now.wall + 3600000000000LL, 0), live = timed(3, 1);
    Play *file = playNew(false), *session = playNew(true);
    EtwSource *sources[] = {&file->base, &session->base};
    EtwEvent event;
    file->events[0] = &old;
    file->events[1] = &young;
    file->count = 2;
    session->events[0] = &live;
    session->count = 1;
    session->again[0] = true;
    EtwSource *merged = EtwSourceMerge(sources, 2);
    CHECK(EtwSourceIsLive(merged));
    REQUIRE(EtwSourceNext(merged, &event) == ETW_OK);
    CHECK_EQ(event.time, 5);
    REQUIRE(EtwSourceNext(merged, &event) == ETW_OK);
    CHECK_EQ(event.time, 3);
    CHECK(event.late);
    session->count = 0; /* nothing more for now */
    session->at = 0;
    session->again[0] = true;
    session->events[0] = &live;
    live.time = now.wall + 3500000000000LL;
    session->count = 1;
    CHECK_EQ(EtwSourceNext(merged, &event), ETW_AGAIN);
    EtwSourceWait(merged, 1000000);
    CHECK_EQ(session->waits, 1);
    REQUIRE(EtwSourceNext(merged, &event) == ETW_OK);
    CHECK_EQ(event.cpu, 1);
    CHECK(!event.late);
    EtwSourceWake(merged);
    CHECK_EQ(session->wakes, 1);
    REQUIRE(EtwSourceNext(merged, &event) == ETW_OK);
    CHECK_EQ(event.time, young.time);
    CHECK_EQ(EtwSourceNext(merged, &event), ETW_END);
    EtwSourceClose(merged);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(merge_3_1_files);
    CHECK_RUN(merge_3_2_single);
    CHECK_RUN(merge_3_3_live);
    return CHECK_DONE();
}
