/*
 * tests/fuzz/fuzz_summary.c --
 *
 *	A file's events summed up in several ways, and the results written in all forms. What is looked
 *	for besides the sanitizers' reports: groups that do not add up to the total, and text that is
 *	cut or has control characters.
 *
 *	Seeds: *.etl
 */
#include "base/text.h"
#include "etl/read/reader.h"
#include "flow/summary/summary.h"
#include <stdlib.h>

static const char *const header[] = {"provider", "event", "name(level)", "pid"};
static const char *const payload[] = {"Command", "process", "CallId", "message"};
static const char *const callId[] = {"CallId"};

static const EtwSummaryConfig configs[] = {
        {.by = header, .byCount = 4, .groupsMax = 3},
        {.by = payload,
                .byCount = 4,
                .distinct = header,
                .distinctCount = 4,
                .value = "Duration",
                .groupsMax = 100},
        {.by = payload, .byCount = 2, .enter = "Enter", .leave = "Leave", .groupsMax = 5},
        {.by = header,
                .byCount = 0,
                .enter = "Send",
                .leave = "",
                .key = callId,
                .keyCount = 1,
                .groupsMax = 1},
};

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void checkResults(const EtwSummary *s)
{
    size_t count;
    uint64_t sum = 0;
    EtwText out = {0};
    const EtwSummaryGroup **groups = EtwSummaryGroups(s, &count);
    must(count <= s->config.groupsMax + 1);
    for (size_t i = 0; i < count; i++) {
        sum += groups[i]->count;
    }
    EtwFree((void *)groups);
    must(sum == s->total->count);
    EtwSummaryText(s, 2, true, &out);
    for (size_t i = 0; i < out.size; i++) {
        must((uint8_t)out.data[i] >= 0x20 || out.data[i] == '\n');
    }
    EtwSummaryCsv(s, 0, &out);
    EtwSummaryJson(s, 0, &out);
    char last = out.data[out.size - 1]; /* the floor; whoever asked closes the object */
    must(last >= '0' && last <= '9');
    EtwTextFree(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EtlReader *reader;
    EtwError error;
    EtwEvent event;
    if (EtlReaderOpenMemory(&reader, data, size, 0, NULL, NULL, &error) != ETW_OK) {
        return 0;
    }
    EtwSchemaStore *store = EtwSchemaStoreNew();
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        EtwSummary *s = EtwSummaryNew(&configs[i], store);
        EtlReaderRewind(reader);
        while (EtlReaderNext(reader, &event) == ETW_OK) {
            EtwSummaryAdd(s, &event);
        }
        EtwSummaryEnd(s);
        checkResults(s);
        EtwSummaryFree(s);
    }
    EtwSchemaStoreFree(store);
    EtlReaderClose(reader);
    return 0;
}
