/*
 * tests/flow/test_track.c --
 *
 *	Names and stacks of kernel events, on events made up byte by byte: what is told of processes,
 *	threads, modules, files and keys, before and after it is needed, and stacks brought to their
 *	events. Real files: tests/flow/kernel_names.test.
 */
#include "tests/support/check.h"
#include "etl/format.h"
#include "flow/source/source_int.h"
#include "flow/track/stack_frames.h"
#include "flow/track/track_layout.h"
#include "schema/kernel/kernel_classes.h"
#include "semantics/declared_events.h"
#include <stdlib.h>

static const char process[] = "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c";
static const char thread[] = "3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c";
static const char image[] = "2cb15d1d-5fc1-11d2-abe1-00a0c911f518";
static const char file[] = "90cbdc39-4a3e-11d1-84f4-0000f80464e3";
static const char registry[] = "ae53722e-c863-11d2-8659-00c04fa321a1";
static const char profile[] = "ce1dbfb4-137e-4da6-87b0-3f59aa102cbc";
static const char disk[] = "3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c";
static const char stack[] = "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3";

/* An event with a payload of its own. */
typedef struct Made {
    EtwEvent event;
    uint8_t payload[256];
} Made;

/*
 * layout: a letter a value: 4 and 8 are bytes of an unsigned number, w is UTF-16 and a NUL, a is
 * 8-bit text and a NUL.
 */
static Made Make(const char *guid, unsigned opcode, unsigned version, const char *layout, ...)
{
    Made m = {.event = {.classic = true,
                      .kind = ETL_PERFINFO64,
                      .pointerSize = 8,
                      .hook = 1,
                      .pid = ETW_NO_ID,
                      .tid = ETW_NO_ID,
                      .desc = {.opcode = (uint8_t)opcode, .version = (uint8_t)version}}};
    va_list args;
    size_t at = 0;
    EtwGuidParse(guid, &m.event.provider);
    va_start(args, layout);
    for (; *layout != 0; layout++) {
        if (*layout == '4' || *layout == '8') {
            uint64_t v = va_arg(args, uint64_t);
            memcpy(m.payload + at, &v, *layout == '4' ? 4 : 8);
            at += *layout == '4' ? 4 : 8;
        } else {
            const char *text = va_arg(args, const char *);
            do {
                m.payload[at] = (uint8_t)*text;
                at += *layout == 'w' ? 2 : 1;
            } while (*text++ != 0);
        }
    }
    va_end(args);
    m.event.payloadSize = (uint32_t)at;
    return m;
}
#define N(v) ((uint64_t)(v))

static Made ProcessEvent(unsigned opcode, uint32_t pid, const char *name)
{
    return Make(process, opcode, 1, "844444a", N(0), N(pid), N(4), N(0), N(0), N(0), name);
}

static EtwEvent *Feed(EtwTrack *track, Made *m)
{
    m->event.payload = m->payload;
    EtwTrackEvent(track, &m->event);
    return &m->event;
}

static void Ahead(EtwTrack *track, Made m)
{
    m.event.payload = m.payload;
    EtwTrackPrescan(track, &m.event);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static void names_1_1_processes(void)
{
    EtwTrack *t = EtwTrackNew(false);
    Made m = ProcessEvent(1, 42, "first.exe");
    CHECK_STR(Feed(t, &m)->process, "first.exe");
    CHECK_EQ(m.event.pid, 42);
    m = ProcessEvent(2, 42, "first.exe"); /* it has ended, but its last events are still to come */
    Feed(t, &m);
    CHECK_STR(EtwTrackProcess(t, 42), "first.exe");
    m = ProcessEvent(1, 42, "second.exe"); /* ids are used again */
    Feed(t, &m);
    CHECK_STR(EtwTrackProcess(t, 42), "second.exe");
    CHECK(EtwTrackProcess(t, 43) == NULL);
    EtwTrackFree(t);
}

static void names_1_2_ahead(void)
{
    EtwTrack *t = EtwTrackNew(false);
    Made m = ProcessEvent(1, 7, "known.exe");
    Ahead(t, ProcessEvent(4, 5, "late.exe"));
    Feed(t, &m);
    Ahead(t, ProcessEvent(4, 7, "later.exe"));
    CHECK_STR(EtwTrackProcess(t, 5), "late.exe");
    CHECK_STR(EtwTrackProcess(t, 7), "known.exe");
    EtwTrackFree(t);
}

/* Records without ids: from the payload, else by what the CPU switched to. */
static void names_1_3_ids(void)
{
    EtwTrack *t = EtwTrackNew(false);
    Made m = ProcessEvent(3, 42, "app.exe");
    Feed(t, &m);
    m = Make(thread, 3, 0, "44", N(99), N(42));
    Feed(t, &m);
    m = Make(profile, 46, 2, "844", N(0x1000), N(99), N(1));
    CHECK_EQ(Feed(t, &m)->tid, 99);
    CHECK_EQ(m.event.pid, 42);
    CHECK_STR(m.event.process, "app.exe");
    m = Make(profile, 51, 2, "8", N(0x1000)); /* a system call says nothing of its thread */
    m.event.cpu = 3;
    CHECK_EQ(Feed(t, &m)->tid, ETW_NO_ID);
    m = Make(thread, 36, 2, "444444", N(99), N(0), N(0), N(0), N(0), N(0));
    m.event.cpu = 3;
    Feed(t, &m);
    m = Make(profile, 51, 2, "8", N(0x1000));
    m.event.cpu = 3;
    CHECK_EQ(Feed(t, &m)->tid, 99);
    CHECK_EQ(m.event.pid, 42);
    m = Make(profile, 51, 2, "8", N(0x1000));
    m.event.cpu = 2;
    CHECK_EQ(Feed(t, &m)->tid, ETW_NO_ID);
    m = Make(profile, 46, 2, "844", N(0x1000), N(99), N(1)); /* a record's own ids stay */
    m.event.pid = 1;
    m.event.tid = 2;
    CHECK_EQ(Feed(t, &m)->tid, 2);
    CHECK_EQ(m.event.pid, 1);
    EtwTrackFree(t);
}

static void names_1_4_objects(void)
{
    EtwTrack *t = EtwTrackNew(false);
    Made m = Make(file, 0, 2, "8w", N(0xF00), "\\Device\\a.txt");
    CHECK(Feed(t, &m)->object == NULL); /* its payload has the name */
    Ahead(t, Make(file, 36, 2, "8w", N(0xF10), "\\Device\\b.txt"));
    m = Make(registry, 24, 2, "8448w", N(0), N(0), N(0), N(0xA00), "\\REGISTRY\\MACHINE");
    Feed(t, &m);
    m = Make(disk, 10, 2, "444488", N(0), N(0), N(512), N(0), N(0), N(0xF10));
    CHECK_STR(Feed(t, &m)->object, "\\Device\\b.txt");
    m = Make(file, 66, 3, "8884", N(1), N(0xEEE), N(0xF00), N(5)); /* Irp, FileObject, FileKey */
    CHECK_STR(Feed(t, &m)->object, "\\Device\\a.txt");
    m = Make(registry, 16, 2, "8448w", N(0), N(0), N(0), N(0xA00), "Run");
    CHECK_STR(Feed(t, &m)->object, "\\REGISTRY\\MACHINE");
    m = Make(file, 64, 3, "884444w", N(1), N(0xF00), N(5), N(0), N(0), N(0), "c.txt");
    Feed(t, &m); /* the object stands for another file now */
    m = Make(file, 66, 3, "8884", N(1), N(0xEEE), N(0xF00), N(5));
    CHECK_STR(Feed(t, &m)->object, "c.txt");
    EtwTrackFree(t);
}

/* Of schemas that a person loaded: fields in numbers that no payload can hold, a name that is a list. */
static void names_1_6_plans(void)
{
    static const EtwField fields[] = {{.name = "Much",
                                              .in = ETW_IN_BINARY,
                                              .sized = ETW_SIZE_FIXED,
                                              .length = 0xFFFF,
                                              .array = ETW_ARRAY_FIXED,
                                              .count = 0xFFFF,
                                              .span = 1},
            {.name = "FileObject", .in = ETW_IN_POINTER, .span = 1},
            {.name = "Length", .in = ETW_IN_UINT16, .counts = true, .span = 1},
            {.name = "FileName",
                    .in = ETW_IN_UINT16,
                    .out = ETW_OUT_STRING,
                    .array = ETW_ARRAY_BY_FIELD,
                    .count = 2,
                    .span = 1}};
    EtwSchema schema = {.provider = "FileIo", .event = "Name", .fields = fields, .fieldCount = 4};
    TrackLayout plan;
    EtwTrackLayoutInit(&plan, &schema);
    CHECK_EQ(plan.semantics->naming, ETW_NAMES_OBJECT);
    CHECK_EQ(plan.semantics->field[ETW_ROLE_FILE_OBJECT], 1);
    CHECK_EQ(plan.places[ETW_ROLE_FILE_OBJECT - TRACK_FIRST].offset[0], -1);
    CHECK_EQ(plan.places[ETW_ROLE_FILE_OBJECT - TRACK_FIRST].offset[1], -1);
    CHECK_EQ(plan.semantics->field[ETW_ROLE_NAME], -1);
    EtwFree(schema.semantics);
}

static void Loaded(EtwTrack *t, unsigned opcode, uint64_t base, uint64_t size, uint32_t pid,
        const char *path, bool ahead)
{
    Made m = Make(image, opcode, 1, "884w", base, size, N(pid), path);
    if (ahead) {
        Ahead(t, m);
    } else {
        Feed(t, &m);
    }
}

static void CheckAt(
        const EtwTrack *t, uint32_t pid, uint64_t address, const char *path, uint64_t offset)
{
    EtwTrackModule found = {0};
    const char *module = EtwTrackAddress(t, pid, address, &found) ? found.path : NULL;
    uint64_t got = found.offset;
    CHECK_MSG((module == NULL) == (path == NULL), "0x%llx: %s", (unsigned long long)address,
            module ? module : "nothing there");
    if (module != NULL && path != NULL) {
        CHECK_STR(module, path);
        CHECK_EQ(got, offset);
    }
}

static void names_1_5_modules(void)
{
    EtwTrack *t = EtwTrackNew(true);
    Loaded(t, 3, 0xFFFF800000010000, 0x1000, 0, "\\a\\ntoskrnl.exe", false);
    Loaded(t, 10, 0x10000, 0x1000, 42, "\\a\\b.dll", false);
    Loaded(t, 10, 0x30000, 0x1000, 42, "\\a\\c.dll", false);
    Loaded(t, 10, 0x20000, 0x1000, 42, "\\a\\d.dll", false);
    CheckAt(t, 42, 0x20010, "\\a\\d.dll", 0x10);
    CheckAt(t, 42, 0x10FFF, "\\a\\b.dll", 0xFFF);
    CheckAt(t, 42, 0x11000, NULL, 0);
    CheckAt(t, 42, 0xFFF, NULL, 0);
    CheckAt(t, 43, 0x20010, NULL, 0);
    CheckAt(t, 42, 0xFFFF800000010004, "\\a\\ntoskrnl.exe", 4);
    Loaded(t, 2, 0x20000, 0x1000, 42, "\\a\\d.dll", false);
    CheckAt(t, 42, 0x20010, NULL, 0);
    Loaded(t, 10, 0x0F800, 0x1000, 42, "\\a\\e.dll", false); /* over what nobody unloaded */
    CheckAt(t, 42, 0x10010, "\\a\\e.dll", 0x810);
    CheckAt(t, 42, 0x10FFF, NULL, 0);
    Loaded(t, 4, 0x30800, 0x1000, 42, "\\a\\f.dll", true); /* told later: where nothing is */
    CheckAt(t, 42, 0x30900, "\\a\\c.dll", 0x900);
    Loaded(t, 2, 0x50000, 0x1000, 42, "\\a\\g.dll", true); /* was there until then */
    CheckAt(t, 42, 0x50001, "\\a\\g.dll", 1);
    Loaded(t, 10, 0xFFFFFFFFFFFFF000, 0x2000, 42, "\\a\\over.dll", false);
    CheckAt(t, 42, 0xFFFFFFFFFFFFFFFF, NULL, 0);
    EtwText text = {0};
    uint64_t address = 0x30010;
    EtwEvent event = {.pid = 42, .pointerSize = 8, .stack = (uint8_t *)&address, .stackCount = 1};
    EtwFrameWalk walk;
    EtwFrameWalkBegin(&walk, t, &event);
    EtwFrameText(EtwFrameNext(&walk), &text);
    CHECK(EtwFrameNext(&walk) == NULL);
    EtwFrameWalkBegin(&walk, NULL, &event);
    EtwFrameText(EtwFrameNext(&walk), &text);
    CHECK_MEM(text.data, text.size, "c.dll+0x100x30010", 17);
    EtwTextFree(&text);
    EtwTrackFree(t);
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* A source of events made up, which can be read again. */
typedef struct MadeSource {
    EtwSource base;
    Made *events;
    int count, at;
    bool onlyStacks;
} MadeSource;

static EtwStatus MadeNext(EtwSource *source, EtwEvent *event)
{
    MadeSource *s = (MadeSource *)source;
    EtwGuid walks;
    EtwGuidParse(stack, &walks);
    for (; s->at < s->count; s->at++) {
        Made *m = &s->events[s->at];
        if (!s->onlyStacks || EtwGuidEqual(&m->event.provider, &walks)) {
            *event = m->event;
            event->payload = m->payload;
            s->at++;
            return ETW_OK;
        }
    }
    return ETW_END;
}

static void MadeClose(EtwSource *source)
{
    EtwFree(source);
}

static EtwSource *MadeAgain(const EtwSource *source, const EtlFilter *filter);
static const EtwSourceOps madeOps = {.next = MadeNext, .close = MadeClose, .reopen = MadeAgain};

static EtwSource *MadeAgain(const EtwSource *source, const EtlFilter *filter)
{
    const MadeSource *s = (const MadeSource *)source;
    MadeSource *reopen = EtwAlloc(sizeof *reopen);
    *reopen = *s;
    reopen->at = 0;
    reopen->onlyStacks = filter->providerCount == 1;
    return &reopen->base;
}

static EtwSource *SourceOf(Made *events, int count)
{
    MadeSource *s = EtwAlloc(sizeof *s);
    s->base.ops = &madeOps;
    s->events = events;
    s->count = count;
    for (int i = 0; i < count; i++) {
        events[i].event.time = events[i].event.ticks = 1000 * (i + 1);
    }
    return &s->base;
}

static Made SystemCall(uint32_t tid)
{
    Made m = Make(profile, 51, 2, "8", N(0x1000));
    m.event.pid = 42;
    m.event.tid = tid;
    return m;
}

static uint64_t FrameOf(const EtwEvent *event, int index)
{
    return EtwLoad64(event->stack + 8 * index);
}

/* The user part is told first here; an event in between, of another thread, has none. */
static void stacks_2_1_parts(void)
{
    const uint64_t kernel = 0xFFFF800000000000;
    Made events[] = {SystemCall(1), SystemCall(2),
            Make(stack, 32, 2, "84488", N(1000), N(42), N(1), N(0x10), N(0x20)),
            Make(stack, 32, 2, "8448", N(1000), N(42), N(1), kernel), SystemCall(3),
            Make(stack, 32, 2, "8448", N(77), N(42), N(9), N(0x30))};
    EtwSource *source = EtwSourceTrack(SourceOf(events, 6), true);
    EtwEvent event;
    REQUIRE(EtwSourceNext(source, &event) == ETW_OK);
    REQUIRE(event.stackCount == 3);
    CHECK(FrameOf(&event, 0) == kernel);
    CHECK_EQ(FrameOf(&event, 1), 0x10);
    CHECK_EQ(FrameOf(&event, 2), 0x20);
    REQUIRE(EtwSourceNext(source, &event) == ETW_OK);
    CHECK_EQ(event.tid, 2);
    CHECK_EQ(event.stackCount, 0);
    REQUIRE(EtwSourceNext(source, &event) == ETW_OK);
    CHECK_EQ(event.tid, 3);
    REQUIRE(EtwSourceNext(source, &event) == ETW_OK); /* nobody's stack is shown as it is */
    CHECK_EQ(event.desc.opcode, 32);
    CHECK(EtwSourceNext(source, &event) == ETW_END);
    EtwSourceClose(source);
}

/* A key is told when it leaves the cache, later; then it stands for other addresses. */
static void stacks_2_2_keys(void)
{
    Made events[] = {SystemCall(1), Make(stack, 38, 2, "8448", N(1000), N(42), N(1), N(0xABC)),
            Make(stack, 35, 2, "888", N(0xABC), N(0x10), N(0x20)), SystemCall(2),
            Make(stack, 38, 2, "8448", N(4000), N(42), N(2), N(0xABC)),
            Make(stack, 36, 2, "88", N(0xABC), N(0x70))};
    EtwSource *source = EtwSourceTrack(SourceOf(events, 6), true);
    EtwEvent event;
    REQUIRE(EtwSourceNext(source, &event) == ETW_OK);
    REQUIRE(event.stackCount == 2);
    CHECK_EQ(FrameOf(&event, 0), 0x10);
    REQUIRE(EtwSourceNext(source, &event) == ETW_OK);
    CHECK_EQ(event.tid, 2);
    REQUIRE(event.stackCount == 1);
    CHECK_EQ(FrameOf(&event, 0), 0x70);
    CHECK(EtwSourceNext(source, &event) == ETW_END);
    EtwSourceClose(source);
}

/* Who does not ask for stacks gets the records as they are. */
static void stacks_2_3_off(void)
{
    Made events[] = {SystemCall(1), Make(stack, 32, 2, "8448", N(1000), N(42), N(1), N(0x10))};
    EtwSource *source = EtwSourceTrack(SourceOf(events, 2), false);
    EtwEvent event;
    REQUIRE(EtwSourceNext(source, &event) == ETW_OK);
    CHECK_EQ(event.stackCount, 0);
    REQUIRE(EtwSourceNext(source, &event) == ETW_OK);
    CHECK_EQ(event.tid, 1);
    CHECK(EtwSourceNext(source, &event) == ETW_END);
    EtwSourceClose(source);
}

/* All of one moment, and all of one key: neither is walked through for ever. */
static void stacks_2_4_crowd(void)
{
    enum { CROWD = 20000 };
    Made *events = EtwAlloc(sizeof *events * CROWD);
    for (int i = 0; i < CROWD; i++) {
        events[i] = i % 2 ? Make(stack, 32, 2, "8448", N(1), N(42), N(i), N(0x10))
                          : Make(stack, 35, 2, "88", N(7), N(0x20));
    }
    EtwSource *source = EtwSourceTrack(SourceOf(events, CROWD), true);
    EtwEvent event;
    int count = 0;
    while (EtwSourceNext(source, &event) == ETW_OK) {
        count++;
    }
    CHECK_EQ(count, CROWD / 2);
    EtwSourceClose(source);
    EtwFree(events);
}

/* The ends of time are no reason to count beyond them. */
static void stacks_2_5_ends(void)
{
    Made events[] = {SystemCall(1), Make(stack, 32, 2, "8448", N(1000), N(42), N(1), N(0x10))};
    EtwEvent event;
    events[0].event.time = events[1].event.time = INT64_MAX;
    EtwSource *source = EtwSourceTrack(SourceOf(events, 2), true);
    REQUIRE(EtwSourceNext(source, &event) == ETW_OK);
    CHECK_EQ(event.stackCount, 1);
    EtwSourceClose(source);
}

static bool IsListed(const EtwGuid *guid)
{
    size_t count;
    const EtwGuid *classes = EtwTrackClasses(&count);
    for (size_t i = 0; i < count; i++) {
        if (EtwGuidEqual(&classes[i], guid)) {
            return true;
        }
    }
    return false;
}

static void CheckClass(void *ctx, const EtwProviderDef *def)
{
    int *listed = ctx;
    bool names = false;
    for (int i = 0; i < def->eventCount; i++) {
        names = names || EtwSemanticsOf(&def->events[i]->schema)->naming != ETW_NAMES_NOTHING;
    }
    CHECK_MSG(IsListed(&def->guid) == names, "%s: events with names: %d", def->name, names);
    *listed += names;
}

/* The list of classes has those whose events name something, by semantics.c and declared_events.c. */
static void names_1_7_classes(void)
{
    size_t count;
    int listed = 2; /* Microsoft-Windows-Kernel-Process and -File have no table */
    EtwGuid guid;
    EtwKernelVisit(CheckClass, &listed);
    for (const EtwDeclaredProvider *p = etwDeclaredProviders; p->name != NULL; p++) {
        bool names = false;
        for (int i = 0; i < p->eventCount; i++) {
            names = names || p->events[i].naming != ETW_NAMES_NOTHING;
        }
        names = names && strcmp(p->name, "Linux-contextswitch") != 0; /* is not read ahead */
        EtwGuidFromName(p->name, &guid);
        CHECK_MSG(IsListed(&guid) == names, "%s: events with names: %d", p->name, names);
        listed += names;
    }
    CHECK(EtwGuidParse("22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716", &guid) && IsListed(&guid));
    CHECK(EtwGuidParse("edd08927-9cc4-4e65-b970-c2560fb5c289", &guid) && IsListed(&guid));
    EtwTrackClasses(&count);
    CHECK_EQ(count, listed);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(names_1_1_processes);
    CHECK_RUN(names_1_2_ahead);
    CHECK_RUN(names_1_3_ids);
    CHECK_RUN(names_1_4_objects);
    CHECK_RUN(names_1_5_modules);
    CHECK_RUN(names_1_6_plans);
    CHECK_RUN(names_1_7_classes);
    CHECK_RUN(stacks_2_1_parts);
    CHECK_RUN(stacks_2_2_keys);
    CHECK_RUN(stacks_2_3_off);
    CHECK_RUN(stacks_2_4_crowd);
    CHECK_RUN(stacks_2_5_ends);
    return CHECK_DONE();
}
