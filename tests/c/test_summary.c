/*
 * tests/c/test_summary.c --
 *
 *	flow/distinct.c and flow/summary*.c without files: estimates against what was put in, more groups
 *	and more open pairs than there is room for.
 */
#include "check.h"
#include "base/os.h"
#include "flow/summary.h"
#include "sample.h"

static uint64_t distinctOf(uint64_t count, int times)
{
    EtwDistinct d = {0};
    for (int t = 0; t < times; t++) {
        for (uint64_t i = 0; i < count; i++) {
            EtwDistinctAdd(&d, EtwHashBytes(0, (const uint8_t *)&i, sizeof i));
        }
    }
    uint64_t got = EtwDistinctCount(&d);
    EtwDistinctFree(&d);
    return got;
}

static void testDistinct(void)
{
    CHECK_EQ(distinctOf(0, 1), 0);
    CHECK_EQ(distinctOf(1, 5), 1);
    CHECK_EQ(distinctOf(ETW_DISTINCT_EXACT, 3), ETW_DISTINCT_EXACT);
    for (uint64_t n = 300; n < 2000000; n *= 3) {
        uint64_t got = distinctOf(n, 2);
        CHECK(got > n - n / 10 && got < n + n / 10);
    }
}

/* Events with a number, of that name. */
static Sample *numbered(const char *name)
{
    static const Etw_Field fields[] = {{.name = "N", .in = ETW_IN_INT32}};
    return SampleNew("Summary", name, fields, 1);
}

static void add(EtwSummary *s, Sample *sample, uint32_t n, int64_t time)
{
    sample->payload.size = 0;
    SampleInt(sample, n, 4);
    sample->event.time = time;
    sample->event.recordSize = 100;
    EtwSummaryAdd(s, SampleEvent(sample));
}

static void testGroups(void)
{
    static const char *const by[] = {"N"};
    EtwSummaryConfig config = {.by = by, .byCount = 1, .value = "N", .groupsMax = 50};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwSummary *s = EtwSummaryNew(&config, store);
    Sample *sample = numbered("Event");
    size_t count;
    for (uint32_t i = 0; i < 10000; i++) {
        add(s, sample, i % 200, i);
    }
    EtwSummaryEnd(s);
    const EtwSummaryGroup **groups = EtwSummaryGroups(s, &count);
    CHECK_EQ(count, 51);
    CHECK_EQ(groups[0]->count, 50);
    CHECK_EQ(groups[0]->bytes, 5000);
    CHECK(groups[50] == s->others);
    CHECK_EQ(s->others->count, 7500);
    CHECK_EQ(s->total->count, 10000);
    EtwFree((void *)groups);
    EtwSummaryFree(s);
    EtwSchemaStoreFree(store);
    SampleFree(sample);
}

/* Begins without an end, of one thread and so of one chain: neither memory nor time grows with them. */
static void testOpen(void)
{
    EtwSummaryConfig config = {.enter = "Begin", .leave = "End", .groupsMax = 10};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwSummary *s = EtwSummaryNew(&config, store);
    Sample *begin = numbered("Begin"), *end = numbered("End");
    const uint32_t begins = 10 * ETW_SUMMARY_OPEN_MAX + 1000;
    for (uint32_t i = 0; i < begins; i++) {
        add(s, begin, i, i);
    }
    uint64_t gone = s->unpaired;
    CHECK(gone >= begins - ETW_SUMMARY_OPEN_MAX && gone < begins);
    for (uint32_t i = 0; i < begins; i++) {
        add(s, end, i, 2 * (int64_t)begins - i);
    }
    /* The youngest of them ends first: that makes all equally long. */
    CHECK_EQ(s->total->count, begins - gone);
    CHECK_EQ(s->total->min, begins + 1);
    CHECK_EQ(s->total->max, begins + 1);
    CHECK_EQ(s->unpaired, 2 * gone);
    EtwSummaryEnd(s);
    CHECK_EQ(s->unpaired, 2 * gone);
    EtwSummaryFree(s);
    EtwSchemaStoreFree(store);
    SampleFree(begin);
    SampleFree(end);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(testDistinct);
    CHECK_RUN(testGroups);
    CHECK_RUN(testOpen);
    return CHECK_DONE();
}
