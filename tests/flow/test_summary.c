/*
 * tests/flow/test_summary.c --
 *
 *	flow/summary/distinct.c and flow/summary*.c without files: estimates against what was put in, more groups
 *	and more open pairs than there is room for.
 */
#include "tests/support/check.h"
#include "base/os.h"
#include "flow/summary/summary.h"
#include "tests/support/sample_event.h"

static uint64_t distinctOf(uint64_t count, int times)
{
    EtwDistinct d = {0};
    for (int t = 0; t < times; t++) {
        for (uint64_t i = 0; i < count; i++) {
            EtwDistinctAdd(&d, EtwHashStable((const uint8_t *)&i, sizeof i));
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

/* ---- More groups than there is room for ------------------------------------------------------- */

enum { ROOM = 50, KEYS = 20000, EVENTS = 40000 };

/* Streams of keys, event by event. */
static uint32_t inTurn(uint32_t i)
{
    return i % 200;
}

static uint32_t allDifferent(uint32_t i)
{
    return i % KEYS;
}

/* Every second event is of one of ten, which come last. */
static uint32_t heavyLate(uint32_t i)
{
    return i < EVENTS / 2 || i % 2 != 0 ? i % 7919 + 10 : i / 2 % 10;
}

/* Key k in proportion to 1 / k. */
static uint32_t skewed(uint32_t i)
{
    uint32_t random = i * 2654435761u >> 8;
    return KEYS / (1 + random % KEYS);
}

static uint32_t keyOf(const EtwSummary *s, const EtwSummaryGroup *g)
{
    size_t size;
    char text[20] = "";
    const char *cell = EtwSummaryCell(s, g, 0, &size);
    memcpy(text, cell, size < sizeof text ? size : sizeof text - 1);
    return (uint32_t)strtoul(text, NULL, 10);
}

/* What is shown is in bounds of what was, nothing that weighs more than the floor is missing, and all
 * adds up. Result: weight[k] of every key, EtwFree. */
static uint64_t *checkStream(uint32_t (*stream)(uint32_t i), bool byValue)
{
    static const char *const by[] = {"N"};
    EtwSummaryConfig config = {.by = by, .byCount = 1, .groupsMax = ROOM};
    config.value = byValue ? "N" : NULL;
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwSummary *s = EtwSummaryNew(&config, store);
    Sample *sample = numbered("Event");
    uint64_t *weight = EtwAlloc(KEYS * sizeof *weight), all = 0, count = 0, sum = 0, bytes = 0;
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint32_t key = stream(i) % KEYS;
        add(s, sample, key, i);
        weight[key] += byValue ? key : 1;
        all += byValue ? key : 1;
    }
    EtwSummaryEnd(s);
    size_t groups;
    const EtwSummaryGroup **list = EtwSummaryGroups(s, &groups);
    CHECK_EQ(groups, ROOM + 1);
    CHECK(list[ROOM] == s->others && s->others->missed == 0);
    CHECK(s->floor * ROOM <= (double)all);
    bool *seen = EtwAlloc(KEYS);
    for (size_t i = 0; i < groups; i++) {
        count += list[i]->count;
        sum += (uint64_t)list[i]->sum;
        bytes += list[i]->bytes;
        if (i < ROOM) {
            uint32_t key = keyOf(s, list[i]);
            double least = EtwSummaryWeight(s, list[i]);
            seen[key] = true;
            CHECK((double)weight[key] >= least && (double)weight[key] <= least + list[i]->missed);
        }
    }
    for (uint32_t k = 0; k < KEYS; k++) {
        CHECK(seen[k] || (double)weight[k] <= s->floor);
    }
    CHECK_EQ(count, EVENTS);
    CHECK_EQ(bytes, 100 * EVENTS);
    CHECK(!byValue || sum == all);
    CHECK_EQ(s->total->count, EVENTS);
    EtwFree(seen);
    EtwFree((void *)list);
    EtwSummaryFree(s);
    EtwSchemaStoreFree(store);
    SampleFree(sample);
    return weight;
}

static void testHeaviest(void)
{
    static uint32_t (*const streams[])(uint32_t i) = {inTurn, allDifferent, heavyLate, skewed};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        EtwFree(checkStream(streams[i], false));
        EtwFree(checkStream(streams[i], true));
    }
    /* The stream is what it is said to be: these ten are above any floor, and so were shown. */
    uint64_t *weight = checkStream(heavyLate, false);
    for (int k = 0; k < 10; k++) {
        CHECK(weight[k] > EVENTS / ROOM);
    }
    EtwFree(weight);
}

/* Percentiles and different values of those that went are the others'. */
static void testMerge(void)
{
    EtwHistogram a = {.count = 0}, b = {.count = 0};
    EtwDistinct few = {0}, many = {0};
    for (uint64_t i = 0; i < 1000; i++) {
        EtwHistogramAdd(i < 600 ? &a : &b, i);
        EtwDistinctAdd(i < 100 ? &few : &many, i + 1);
    }
    EtwDistinctAdd(&many, 1); /* in both */
    EtwHistogramMerge(&a, &b);
    CHECK_EQ(a.count, 1000);
    CHECK(EtwHistogramAt(&a, 0.5) >= 490 && EtwHistogramAt(&a, 0.5) <= 510);
    EtwDistinct one = {0};
    EtwDistinctMerge(&one, &few); /* exact into empty */
    EtwDistinctMerge(&one, &few);
    CHECK_EQ(EtwDistinctCount(&one), 100);
    EtwDistinctMerge(&one, &many); /* an estimate into what is exact */
    CHECK(EtwDistinctCount(&one) > 900 && EtwDistinctCount(&one) < 1100);
    EtwDistinctMerge(&many, &few); /* and the other way */
    CHECK_EQ(EtwDistinctCount(&many), EtwDistinctCount(&one));
    EtwHistogramFree(&a);
    EtwHistogramFree(&b);
    EtwDistinctFree(&few);
    EtwDistinctFree(&many);
    EtwDistinctFree(&one);
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

/* Calls of one thread that end in the order of their begins: their ids tell which belongs to which. */
static void testCallIds(void)
{
    static const Etw_Field fields[] = {
            {.name = "CallId", .in = ETW_IN_UINT64}, {.name = "N", .in = ETW_IN_INT32}};
    EtwSummaryConfig config = {.enter = "Begin", .leave = "End", .groupsMax = 10};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwSummary *s = EtwSummaryNew(&config, store);
    static const struct {
        const char *name;
        uint64_t id;
        int64_t time;
    } events[] = {{"Begin", 1, 100}, {"Begin", 2, 110}, {"Begin", 1ull << 40, 120},
            {"End", 1ull << 40, 125}, {"End", 1, 200}, {"End", 2, 220}, {"End", 3, 230}};
    for (int i = 0; i < 7; i++) {
        Sample *sample = SampleNew("Summary", events[i].name, fields, 2);
        SampleInt(sample, events[i].id, 8);
        SampleInt(sample, 1, 4);
        sample->event.time = events[i].time;
        EtwSummaryAdd(s, SampleEvent(sample));
        SampleFree(sample);
    }
    EtwSummaryEnd(s);
    CHECK_EQ(s->total->count, 3);
    CHECK_EQ(s->total->min, 5);
    CHECK_EQ(s->total->max, 110);
    CHECK_EQ(s->unpaired, 1);
    EtwSummaryFree(s);
    EtwSchemaStoreFree(store);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(testDistinct);
    CHECK_RUN(testHeaviest);
    CHECK_RUN(testMerge);
    CHECK_RUN(testOpen);
    CHECK_RUN(testCallIds);
    return CHECK_DONE();
}
