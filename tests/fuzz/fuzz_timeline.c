/*
 * tests/fuzz/fuzz_timeline.c --
 *
 *	flow/timeline*.c with events of any kind, order and time, looked at from anywhere. An input is a row
 *	of {u8 what, u8 who, u8 name, i8 step, u16 id}; times go by powers of two, back as well as on. What is
 *	seen must be all there is, in order, whatever the grain.
 */
#include "flow/timeline/timeline.h"
#include "tests/support/sample_event.h"

enum { KINDS = 6, STEP_BITS = 62 };

static const struct Known {
    const char *provider, *event;
    int count;
    Etw_Field fields[4];
} known[KINDS] = {
        {"Tcl-Script", "Enter", 4,
                {FIELD("CallId", ETW_IN_UINT64), FIELD("Depth", ETW_IN_UINT16),
                        TEXT_FIELD("Command"), TEXT_FIELD("Context")}},
        {"Tcl-Script", "Leave", 2, {FIELD("CallId", ETW_IN_UINT64), FIELD("Code", ETW_IN_INT32)}},
        {"Linux-contextswitch", "Switch", 3,
                {FIELD("OldThreadId", ETW_IN_UINT32), FIELD("NewThreadId", ETW_IN_UINT32),
                        FIELD("OldState", ETW_IN_UINT16)}},
        {"Linux-thread", "Stop", 1, {FIELD("ExitCode", ETW_IN_INT32)}},
        {"Etw-Session", "Mark", 1, {FIELD("Text", ETW_IN_INT32)}},
        {"Other", "Event", 1, {FIELD("Size", ETW_IN_INT32)}},
};

static void addPayload(Sample *s, int kind, const uint8_t in[6])
{
    char name[3] = {(char)in[2], (char)in[3], 0};
    uint64_t id = EtwLoad16(in + 4);
    switch (kind) {
    case 0:
        SampleInt(s, id, 8);
        SampleInt(s, in[1] >> 4, 2);
        SampleText(s, name);
        SampleText(s, "");
        break;
    case 1:
        SampleInt(s, id, 8);
        SampleInt(s, in[2] & 1, 4);
        break;
    case 2:
        SampleInt(s, in[1] & 7, 4);
        SampleInt(s, in[2] & 7, 4);
        SampleInt(s, id, 2);
        break;
    default:
        SampleInt(s, id, 4);
    }
}

static void addEvent(EtwTimeline *t, const uint8_t in[6], int64_t *time)
{
    int kind = in[0] % KINDS;
    int64_t step = (int64_t)1 << (in[3] % STEP_BITS);
    *time = EtwTimeAdd(*time, in[3] & 0x80 && in[0] & 0x80 ? -step : step);
    Sample *s = SampleNew(
            known[kind].provider, known[kind].event, known[kind].fields, known[kind].count);
    addPayload(s, kind, in);
    s->event.time = *time;
    s->event.tid = in[1] & 7;
    s->event.pid = in[1] & 8 ? ETW_NO_ID : 7;
    s->event.cpu = in[2] & 3;
    s->event.desc.level = in[2] & 7;
    EtwTimelineAdd(t, SampleEvent(s));
    SampleFree(s);
}

typedef struct Seen {
    EtwTimeBox last;
    bool any;
    uint64_t counts[ETW_BOX_MATCH + 1];
} Seen;

static void look(void *ctx, const EtwTimeBox *box)
{
    Seen *seen = ctx;
    bool same = seen->any && seen->last.kind == box->kind && seen->last.level == box->level;
    if (box->to < box->from || box->count == 0 || (same && box->from < seen->last.to)) {
        abort();
    }
    seen->any = true;
    seen->last = *box;
    seen->counts[box->kind] += box->count;
}

static void lookAround(const EtwTimeline *t, const EtwTimelineInfo *info)
{
    EtwTimeBox box;
    for (int lane = 0; lane < info->lanes; lane++) {
        Seen whole = {.any = false}, fine = {.any = false};
        EtwTimelineBoxes(t, lane, INT64_MIN, INT64_MAX, INT64_MAX, look, &whole);
        EtwTimelineBoxes(t, lane, INT64_MIN, INT64_MAX, 1, look, &fine);
        if (memcmp(whole.counts, fine.counts, sizeof whole.counts) != 0) {
            abort();
        }
        for (int kind = 0; kind <= ETW_BOX_MATCH; kind++) {
            EtwTimelineAt(t, lane, (EtwBoxKind)kind, 0, info->first, 1000, &box);
            EtwTimelineAt(t, lane, (EtwBoxKind)kind, 0, INT64_MAX, INT64_MAX, &box);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwTimeline *t = EtwTimelineNew(store);
    EtwTimelineInfo info;
    EtwSpan span;
    int64_t time = 1000;
    uint32_t events = 0;
    for (size_t at = 0; at + 6 <= size && events < 2000; at += 6, events++) {
        addEvent(t, data + at, &time);
        if (data[at] & 0x40) {
            EtwTimelineMatch(t, events);
        }
    }
    EtwTimelineGetInfo(t, &info);
    lookAround(t, &info);
    EtwTimelineEnd(t);
    EtwTimelineGetInfo(t, &info);
    lookAround(t, &info);
    EtwTimelineSpan(t, -1, info.first, info.last, &span);
    EtwSpanFree(&span);
    if (EtwTimelineFind(t, INT64_MAX) > info.events || EtwTimelineFind(t, INT64_MIN) != 0) {
        abort();
    }
    EtwTimelineFree(t);
    EtwSchemaStoreFree(store);
    return 0;
}

#ifdef FUZZ_SEEDS
int main(int argc, char **argv)
{
    static const uint8_t row[] = {0, 0x10, 'a', 3, 1, 0, 0, 0x20, 'b', 3, 2, 0, 5, 0, 1, 3, 0, 0, 2,
            0, 9, 3, 1, 0, 2, 1, 0, 4, 0, 0, 1, 0, 1, 3, 2, 0, 0x44, 0, 0, 3, 0, 0, 1, 0, 0, 3, 1,
            0, 0x83, 0, 0, 0x85, 0, 0};
    char path[1000];
    snprintf(path, sizeof path, "%s/calls", argc == 2 ? argv[1] : ".");
    FILE *file = argc == 2 ? fopen(path, "wb") : NULL;
    if (file == NULL || fwrite(row, 1, sizeof row, file) != sizeof row) {
        return 2;
    }
    return fclose(file);
}
#endif
