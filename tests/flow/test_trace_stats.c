/*
 * tests/flow/test_trace_stats.c --
 *
 *	What etw info counts, where the command's own tests do not get: more kinds of events than a
 *	table should hold.
 */
#include "tests/support/check.h"
#include "base/os.h"
#include "flow/summary/trace_stats.h"

static void survey_1_1_many_kinds(void)
{
    enum { IDS = 65536, PROVIDERS = 3 };
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwTraceStats *stats = EtwTraceStatsNew(store);
    EtwEvent e = {.pointerSize = 8, .provider = {{1, 2, 3}}};
    for (int i = 0; i < IDS * PROVIDERS; i++) {
        e.provider.bytes[15] = (uint8_t)(i / IDS);
        e.desc.id = (uint16_t)i;
        EtwTraceStatsAdd(stats, &e);
    }
    uint64_t events = 0;
    int kinds = 0;
    const EtwTraceStatsKind *last = NULL;
    for (const EtwTraceStatsKind *k = stats->kinds; k != NULL; k = k->next) {
        events += k->count;
        kinds++;
        last = k;
    }
    CHECK_EQ(events, IDS * PROVIDERS);
    CHECK_EQ(kinds, 25001);
    REQUIRE(last != NULL);
    CHECK_STR(last->event, "(others)");
    CHECK_EQ(last->count, IDS * PROVIDERS - 25000);
    EtwTraceStatsFree(stats);
    EtwSchemaStoreFree(store);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(survey_1_1_many_kinds);
    return CHECK_DONE();
}
