/*
 * flow/timeline/timeline.c --
 *
 *	Fills the timeline's columns: lanes from events, calls as nested by flow/calls/call_tree.c,
 *	gaps and runs from switches. Each text and each kind is stored once. timeline_boxes.c
 *	returns the visible part, timeline_totals.c the statistics.
 */
#include "schema/store/header_labels.h"
#include "flow/timeline/timeline_int.h"
#include "semantics/semantics.h"
#include "base/unicode.h"
#include <stdio.h>

/* ---- Texts ----------------------------------------------------------------------------------- */

enum { TEXT_MAX = 240 };

typedef struct TextNode {
    EtwTableNode node;
    uint32_t text;
} TextNode;

/* Control characters are shown as their symbols (U+2400...). */
static void addVisible(EtwText *out, const char *utf8, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)utf8[i];
        if (c < 32 || c == 127) {
            EtwTextAdd(out, "\xE2\x90", 2);
            EtwTextChar(out, (char)(c == 127 ? 0xA1 : 0x80 + c));
        } else {
            EtwTextChar(out, (char)c);
        }
    }
}

/* Truncate between characters. */
static void cutText(EtwText *text)
{
    if (text->size <= TEXT_MAX) {
        return;
    }
    size_t at = TEXT_MAX;
    while (at > 0 && ((unsigned char)text->data[at] & 0xC0) == 0x80) {
        at--;
    }
    text->size = at;
    EtwTextStr(text, "\xE2\x80\xA6");
}

static uint32_t textNew(EtwTimeline *t, const EtwText *text, uint64_t hash)
{
    TextNode *n = EtwAlloc(sizeof *n);
    char *copy = EtwAlloc(text->size + 1);
    if (text->size > 0) {
        memcpy(copy, text->data, text->size);
    }
    TIME_GROW(t->texts, t->textCount, t->textCapacity);
    t->texts[t->textCount] = copy;
    n->text = t->textCount++;
    EtwTableAdd(&t->textTable, &n->node, hash);
    return n->text;
}

static uint32_t textOf(EtwTimeline *t, const char *bytes, size_t size)
{
    EtwText valid = {0}, text = {0};
    EtwTextUtf8(&valid, (const uint8_t *)bytes, size < 4 * TEXT_MAX ? size : 4 * TEXT_MAX);
    addVisible(&text, valid.data, valid.size);
    cutText(&text);
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)text.data, text.size);
    TextNode *n = (TextNode *)EtwTableFirst(&t->textTable, hash);
    while (n != NULL && (n->node.hash != hash || strlen(t->texts[n->text]) != text.size ||
                                memcmp(t->texts[n->text], text.data, text.size) != 0)) {
        n = (TextNode *)n->node.next;
    }
    uint32_t found = n ? n->text : textNew(t, &text, hash);
    EtwTextFree(&valid);
    EtwTextFree(&text);
    return found;
}

const char *EtwTimelineText(const EtwTimeline *t, uint32_t text)
{
    return text < t->textCount ? t->texts[text] : "";
}

uint32_t EtwTimelineTextCount(const EtwTimeline *t)
{
    return t->textCount;
}

/* ---- Kinds of events ------------------------------------------------------------------------- */

typedef struct KindNode {
    EtwTableNode node;
    const EtwSchema *schema;
    EtwGuid provider; /* used without a schema */
    uint16_t id;
    uint8_t opcode;
    uint8_t level; /* only whether it is an error level */
    uint32_t kind;
} KindNode;

static bool isError(const EtwEvent *event)
{
    return event->desc.level == 1 || event->desc.level == 2;
}

static unsigned meaningMarks(EtwMeaning meaning)
{
    return meaning == ETW_MEANS_MARK   ? ETW_MARK_NOTE
           : meaning == ETW_MEANS_LOSS ? ETW_MARK_LOSS
                                       : 0;
}

static uint32_t providerText(EtwTimeline *t, const EtwEvent *event, const EtwSchema *schema)
{
    char guid[ETW_GUID_TEXT];
    const char *name = EtwProviderNameOf(t->store, schema, event);
    if (name == NULL) {
        EtwGuidFormat(&event->provider, guid);
        name = guid;
    }
    return textOf(t, name, strlen(name));
}

static uint32_t eventText(EtwTimeline *t, const EtwEvent *event, const EtwSchema *schema)
{
    EtwText name = {0};
    EtwAddEventName(&name, schema, event);
    uint32_t text = textOf(t, name.data, name.size);
    EtwTextFree(&name);
    return text;
}

static uint32_t kindNew(EtwTimeline *t, const EtwEvent *event, const KindNode *key, uint64_t hash)
{
    KindNode *n = EtwAlloc(sizeof *n);
    const EtwSchema *schema = key->schema;
    EtwMeaning meaning = schema ? EtwMeaningOf(schema) : ETW_MEANS_OTHER;
    TIME_GROW(t->kinds, t->kindCount, t->kindCapacity);
    *n = *key;
    n->kind = t->kindCount++;
    t->kinds[n->kind] = (TimeKind){.provider = providerText(t, event, schema),
            .event = eventText(t, event, schema),
            .marks = (uint8_t)(meaningMarks(meaning) | (key->level ? ETW_MARK_ERROR : 0)),
            .call = EtwMeansCall(meaning),
            .own = EtwEventIsHeader(event) || meaning == ETW_MEANS_HOST,
            .wake = meaning == ETW_MEANS_READY};
    EtwTableAdd(&t->kindTable, &n->node, hash);
    return n->kind;
}

static uint32_t kindOf(EtwTimeline *t, const EtwEvent *event)
{
    KindNode key = {.schema = EtwSchemaOf(t->store, event), .level = isError(event)};
    if (key.schema == NULL) {
        key.provider = event->provider;
        key.id = event->desc.id;
        key.opcode = event->desc.opcode;
    }
    uint64_t hash = EtwHashMix(key.level, (uint64_t)(uintptr_t)key.schema);
    hash = EtwHashMix(hash ^ EtwHashGuid(&key.provider), (uint64_t)key.id << 8 | key.opcode);
    KindNode *n = (KindNode *)EtwTableFirst(&t->kindTable, hash);
    while (n != NULL && (n->schema != key.schema || n->level != key.level || n->id != key.id ||
                                n->opcode != key.opcode ||
                                memcmp(&n->provider, &key.provider, sizeof key.provider) != 0)) {
        n = (KindNode *)n->node.next;
    }
    return n ? n->kind : kindNew(t, event, &key, hash);
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

static const char *const laneKinds[] = {"notes", "thread", "cpu"};

const char *EtwLaneKindName(EtwLaneKind kind)
{
    return laneKinds[kind];
}

/* The lane that a thread id refers to now. */
typedef struct ThreadNode {
    EtwTableNode node;
    uint32_t tid;
    TimeLane *lane;
} ThreadNode;

static ThreadNode *threadOf(const EtwTimeline *t, uint32_t tid)
{
    ThreadNode *n = (ThreadNode *)EtwTableFirst(&t->threadTable, EtwHashNumber(tid));
    while (n != NULL && n->tid != tid) {
        n = (ThreadNode *)n->node.next;
    }
    return n;
}

static void nameThread(EtwTimeline *t, TimeLane *lane)
{
    ThreadNode *n = threadOf(t, lane->info.tid);
    if (n == NULL) {
        n = EtwAlloc(sizeof *n);
        n->tid = lane->info.tid;
        EtwTableAdd(&t->threadTable, &n->node, EtwHashNumber(n->tid));
    }
    n->lane = lane;
}

static TimeLane *laneNew(
        EtwTimeline *t, EtwLaneKind kind, uint32_t pid, uint32_t tid, uint64_t hash)
{
    TimeLane *lane = EtwAlloc(sizeof *lane);
    TIME_GROW(t->lanes, t->laneCount, t->laneCapacity);
    lane->number = (uint32_t)t->laneCount;
    t->lanes[t->laneCount++] = lane;
    lane->info = (EtwLaneInfo){.kind = kind, .pid = pid, .tid = tid};
    lane->last = INT64_MIN;
    EtwTableAdd(&t->laneTable, &lane->node, hash);
    return lane;
}

static TimeLane *laneOf(EtwTimeline *t, EtwLaneKind kind, uint32_t pid, uint32_t tid)
{
    uint64_t hash = EtwHashMix(EtwHashMix(kind, pid), tid);
    TimeLane *lane = (TimeLane *)EtwTableFirst(&t->laneTable, hash);
    while (lane != NULL &&
            (lane->info.kind != kind || lane->info.pid != pid || lane->info.tid != tid)) {
        lane = (TimeLane *)lane->node.next;
    }
    return lane ? lane : laneNew(t, kind, pid, tid, hash);
}

static TimeLane *threadLane(EtwTimeline *t, uint32_t pid, uint32_t tid)
{
    TimeLane *lane = t->lastLane;
    if (lane == NULL || lane->info.pid != pid || lane->info.tid != tid) {
        lane = laneOf(t, ETW_LANE_THREAD, pid, tid);
        nameThread(t, lane);
        t->lastLane = lane;
    }
    return lane;
}

/* Times of a lane never decrease. */
static int64_t laneTime(EtwTimeline *t, TimeLane *lane, int64_t time)
{
    if (time < lane->last) {
        t->unordered++;
        return lane->last;
    }
    return lane->last = time;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void rowReserve(TimeRow *row)
{
    if (row->count < row->capacity) {
        return;
    }
    uint32_t capacity = row->capacity + row->capacity / 2 + 8;
    row->start = EtwRealloc(row->start, capacity * sizeof *row->start);
    row->end = EtwRealloc(row->end, capacity * sizeof *row->end);
    row->text = EtwRealloc(row->text, capacity * sizeof *row->text);
    row->event = EtwRealloc(row->event, capacity * sizeof *row->event);
    row->marks = EtwRealloc(row->marks, capacity * sizeof *row->marks);
    row->capacity = capacity;
}

static bool rowIsOpen(const TimeRow *row)
{
    return row->count > 0 && row->end[row->count - 1] == TIME_OPEN;
}

static void rowClose(TimeRow *row, int64_t time, unsigned marks)
{
    if (!rowIsOpen(row)) {
        return;
    }
    uint32_t i = row->count - 1;
    row->end[i] = time > row->start[i] ? time : row->start[i];
    row->marks[i] |= (uint8_t)marks;
    if (marks & ETW_MARK_ERROR) {
        TIME_GROW(row->bad, row->badCount, row->badCapacity);
        row->bad[row->badCount++] = i;
    }
}

static void rowOpen(TimeRow *row, int64_t time, uint32_t text, uint32_t event)
{
    rowClose(row, time, 0);
    rowReserve(row);
    uint32_t i = row->count++;
    row->start[i] = i > 0 && row->end[i - 1] > time ? row->end[i - 1] : time;
    row->end[i] = TIME_OPEN;
    row->text[i] = text;
    row->event[i] = event;
    row->marks[i] = 0;
}

void EtwTimePoint(TimePoints *p, int64_t time, uint32_t event)
{
    if (p->count == p->capacity) {
        p->capacity += p->capacity / 2 + 8;
        p->time = EtwRealloc(p->time, p->capacity * sizeof *p->time);
        p->event = EtwRealloc(p->event, p->capacity * sizeof *p->event);
    }
    p->time[p->count] = time;
    p->event[p->count++] = event;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* The text of a proc, by its row. */
typedef struct RowNode {
    EtwTableNode node;
    const EtwCallRow *row;
    uint32_t text;
} RowNode;

static uint32_t textOfRow(EtwTimeline *t, const EtwCallRow *row)
{
    uint64_t hash = EtwHashPointer(row);
    RowNode *n = (RowNode *)EtwTableFirst(&t->rowTable, hash);
    while (n != NULL && n->row != row) {
        n = (RowNode *)n->node.next;
    }
    if (n == NULL) {
        n = EtwAlloc(sizeof *n);
        n->row = row;
        n->text = textOf(t, row->name, row->nameSize);
        EtwTableAdd(&t->rowTable, &n->node, hash);
    }
    return n->text;
}

static TimeRow *levelOf(TimeLane *lane, int level)
{
    if (level >= lane->info.levels) {
        lane->levels = EtwRealloc(lane->levels, ((size_t)level + 1) * sizeof *lane->levels);
        memset(&lane->levels[level], 0, sizeof *lane->levels);
        lane->info.levels = level + 1;
    }
    return &lane->levels[level];
}

static void pushCall(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc,
        const char *text, size_t size)
{
    EtwTimeline *t = ctx;
    TimeLane *lane = threadLane(t, thread->pid, thread->tid);
    (void)text;
    if (lane->depth < ETW_CALL_LEVELS) {
        TimeRow *row = levelOf(lane, lane->depth);
        rowOpen(row, time, textOfRow(t, proc), t->count);
        row->marks[row->count - 1] = size == 0 ? TIME_RESUMED : 0;
    } else {
        t->folded++;
    }
    lane->depth++;
}

static void popCall(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc, int code)
{
    EtwTimeline *t = ctx;
    (void)proc;
    TimeLane *lane = threadLane(t, thread->pid, thread->tid);
    unsigned marks = code == ETW_CALL_OPEN ? (t->ending ? ETW_MARK_CUT : ETW_MARK_ASLEEP)
                     : code == 1           ? ETW_MARK_ERROR
                                           : 0;
    lane->info.errors += code == 1;
    if (lane->depth > 0 && --lane->depth < ETW_CALL_LEVELS) {
        rowClose(levelOf(lane, lane->depth), time, marks);
    }
}

/* ---- Switches --------------------------------------------------------------------------------- */

/* "waits: futex", "waits", "could run" */
static uint32_t textOfCause(EtwTimeline *t, const EtwCostClass *cause)
{
    char text[200];
    int size = snprintf(text, sizeof text, "%s%s%.150s",
            cause->kind == ETW_COST_READY ? "could run" : "waits", cause->name[0] ? ": " : "",
            cause->name);
    return textOf(t, text, (size_t)size);
}

static void threadOffCpu(EtwTimeline *t, uint32_t tid, int64_t time, const EtwCostClass *cause)
{
    ThreadNode *n = threadOf(t, tid);
    if (n != NULL) {
        n->lane->info.gaps = true;
        rowOpen(&n->lane->spans, laneTime(t, n->lane, time), textOfCause(t, cause), t->count);
    }
}

/* Waits that no switch reports: the time in which a command has blocked. */
static void threadBlocked(void *ctx, EtwCallNode *thread, int64_t time, const EtwCost *cost)
{
    EtwTimeline *t = ctx;
    if (cost->waited == 0 || cost->of->kind <= ETW_COST_READY) {
        return; /* switches are boxes already */
    }
    TimeLane *lane = threadLane(t, thread->pid, thread->tid);
    int64_t from = time - (int64_t)(cost->waited < INT64_MAX / 2 ? cost->waited : 0);
    lane->info.gaps = true;
    rowOpen(&lane->spans, from, textOfCause(t, cost->of), t->count);
    rowClose(&lane->spans, time, 0);
}

static TimeLane *cpuLane(EtwTimeline *t, uint16_t cpu)
{
    if (cpu >= t->cpuCapacity) {
        uint32_t capacity = cpu + 16u;
        t->cpus = (TimeLane **)EtwRealloc(t->cpus, capacity * sizeof *t->cpus);
        memset(t->cpus + t->cpuCapacity, 0, (capacity - t->cpuCapacity) * sizeof *t->cpus);
        t->cpuCapacity = capacity;
    }
    if (t->cpus[cpu] == NULL) {
        t->cpus[cpu] = laneOf(t, ETW_LANE_CPU, cpu, 0);
    }
    return t->cpus[cpu];
}

/* "tclsh8.6 4711/4712". For a thread without a lane, the name in the switch. */
static uint32_t textOfThread(
        EtwTimeline *t, uint32_t tid, const TimeLane *lane, const EtwCallsSwitch *what)
{
    char text[300];
    const EtwLaneInfo *info = lane ? &lane->info : NULL;
    int size;
    if (info != NULL) {
        size = snprintf(text, sizeof text, "%s%s%u/%u", info->process ? info->process : "",
                info->process ? " " : "", info->pid, tid);
    } else if (what != NULL && what->newNameSize > 0) {
        size = snprintf(text, sizeof text, "%.*s %u", (int)what->newNameSize, what->newName, tid);
    } else {
        size = snprintf(text, sizeof text, "thread %u", tid);
    }
    return textOf(t, text, (size_t)size < sizeof text ? (size_t)size : sizeof text - 1);
}

/*
 * End the run of the CPU's thread. A session that traces some processes has not all switches: if the
 * next one is from another thread, this one has left the CPU unseen after its last event.
 */
static void endRun(TimeLane *cpu, uint32_t oldTid, int64_t time)
{
    rowClose(&cpu->spans, cpu->runTid == oldTid ? time : cpu->runSeen, 0);
    cpu->runTid = 0;
}

/*
 * A thread is on this CPU: it has left another one on which it ran last, unseen, after its last event
 * there.
 */
static void leaveOthers(EtwTimeline *t, const TimeLane *cpu, uint32_t tid)
{
    for (uint32_t i = 0; tid != 0 && i < t->cpuCapacity; i++) {
        if (t->cpus[i] != NULL && t->cpus[i] != cpu && t->cpus[i]->runTid == tid) {
            endRun(t->cpus[i], 0, t->cpus[i]->runSeen);
        }
    }
}

/* The CPU runs the new thread from now on; 0: none. */
static void run(EtwTimeline *t, TimeLane *cpu, const EtwCallsSwitch *what, int64_t time)
{
    endRun(cpu, what->oldTid, time);
    leaveOthers(t, cpu, what->oldTid);
    leaveOthers(t, cpu, what->newTid);
    cpu->runTid = what->newTid;
    cpu->runSeen = time;
    if (what->newTid != 0) {
        const ThreadNode *n = threadOf(t, what->newTid);
        uint32_t text = textOfThread(t, what->newTid, n ? n->lane : NULL, what);
        rowOpen(&cpu->spans, time, text, t->count);
    }
}

/* At the end of the trace: a thread with events of its own is traced, so its last switch is known. */
static void endRuns(EtwTimeline *t)
{
    for (uint32_t i = 0; i < t->cpuCapacity; i++) {
        TimeLane *cpu = t->cpus[i];
        if (cpu != NULL && cpu->runTid != 0 && threadOf(t, cpu->runTid) == NULL) {
            endRun(cpu, 0, cpu->runSeen);
        }
    }
}

static void switched(void *ctx, const EtwEvent *event, const EtwCallsSwitch *what)
{
    EtwTimeline *t = ctx;
    TimeLane *cpu = cpuLane(t, event->cpu);
    ThreadNode *n = what->newTid ? threadOf(t, what->newTid) : NULL;
    if (n != NULL) {
        rowClose(&n->lane->spans, event->time, 0);
    }
    if (what->oldTid != 0 && what->oldTid != what->newTid && what->cause != NULL) {
        threadOffCpu(t, what->oldTid, event->time, what->cause);
    }
    cpu->info.events++;
    run(t, cpu, what, laneTime(t, cpu, event->time));
}

/* A wait has ended: from now on the thread could run. */
static void woken(void *ctx, const EtwEvent *event, const EtwWake *wake, const EtwCostClass *ready)
{
    EtwTimeline *t = ctx;
    ThreadNode *n = threadOf(t, wake->tid);
    TimeRow *gaps = n != NULL ? &n->lane->spans : NULL;
    uint32_t text = gaps != NULL && rowIsOpen(gaps) ? textOfCause(t, ready) : 0;
    if (gaps != NULL && rowIsOpen(gaps) && gaps->text[gaps->count - 1] != text) {
        rowOpen(gaps, laneTime(t, n->lane, event->time), text, t->count);
    }
}

/* ---- Events ------------------------------------------------------------------------------------ */

static void addColumns(EtwTimeline *t, const EtwEvent *event, uint32_t lane, uint32_t kind)
{
    if (t->count == t->capacity) {
        uint32_t capacity = t->capacity + t->capacity / 2 + 64;
        capacity = capacity > t->capacity ? capacity : UINT32_MAX;
        t->time = EtwRealloc(t->time, (size_t)capacity * sizeof *t->time);
        t->lane = EtwRealloc(t->lane, (size_t)capacity * sizeof *t->lane);
        t->kind = EtwRealloc(t->kind, (size_t)capacity * sizeof *t->kind);
        t->cpu = EtwRealloc(t->cpu, (size_t)capacity * sizeof *t->cpu);
        t->capacity = capacity;
    }
    t->first = t->count == 0 || event->time < t->first ? event->time : t->first;
    t->last = t->count == 0 || event->time > t->last ? event->time : t->last;
    TIME_GROW(t->blockMax, t->count / BLOCK, t->blockCapacity);
    t->blockMax[t->count / BLOCK] = t->last;
    t->time[t->count] = event->time;
    t->lane[t->count] = lane;
    t->kind[t->count] = kind;
    t->cpu[t->count++] = event->cpu;
}

/* Marks and losses have their own lane, the first one. */
static TimeLane *laneOfEvent(EtwTimeline *t, const EtwEvent *event, const TimeKind *kind)
{
    return kind->marks & (ETW_MARK_LOSS | ETW_MARK_NOTE) ? t->lanes[0]
                                                         : threadLane(t, event->pid, event->tid);
}

/* The last name counts: until a process calls exec, it has the name of its parent. */
static void nameProcess(TimeLane *lane, const EtwEvent *event)
{
    if (lane->lastProcess == event->process || event->process == NULL ||
            lane->info.kind != ETW_LANE_THREAD) {
        return;
    }
    EtwText valid = {0}, text = {0};
    EtwTextUtf8(&valid, (const uint8_t *)event->process, strlen(event->process));
    addVisible(&text, valid.data, valid.size);
    cutText(&text);
    EtwTextChar(&text, 0);
    EtwFree((char *)lane->info.process);
    lane->info.process = text.data;
    lane->lastProcess = event->process;
    EtwTextFree(&valid);
}

EtwStatus EtwTimelineAdd(EtwTimeline *t, const EtwEvent *event)
{
    if (t->count >= UINT32_MAX - 1 || t->calls == NULL) {
        return ETW_E_LIMIT;
    }
    uint32_t number = kindOf(t, event);
    TimeKind kind = t->kinds[number];
    TimeLane *lane = laneOfEvent(t, event, &kind);
    nameProcess(lane, event);
    int64_t time = laneTime(t, lane, event->time);
    if (!kind.wake) {
        rowClose(&lane->spans, time, 0); /* an event shows that the thread is on a CPU */
    }
    EtwCallsAdd(t->calls, event);
    if (!kind.call) {
        EtwTimePoint(&lane->points, time, t->count);
    }
    if (kind.marks & ETW_MARK_ERROR && !kind.call) {
        EtwTimePoint(&lane->bad, time, t->count);
        lane->info.errors++;
    }
    lane->info.events++;
    t->headers += EtwEventIsHeader(event);
    t->reported += (kind.marks & ETW_MARK_LOSS) != 0;
    if (lane->info.kind == ETW_LANE_THREAD && lane->info.tid != ETW_NO_ID && !kind.wake) {
        /* A CPU has a lane from its first switch on: which thread runs between events of threads is not known. */
        TimeLane *cpu = event->cpu < t->cpuCapacity ? t->cpus[event->cpu] : NULL;
        if (cpu != NULL && cpu->runTid == event->tid) {
            cpu->runSeen = laneTime(t, cpu, event->time);
        } else {
            leaveOthers(t, cpu, event->tid);
        }
    }
    if (!kind.own && event->time < t->begin) {
        t->begin = event->time;
    }
    addColumns(t, event, lane->number, number);
    return ETW_OK;
}

/* ---- Create and end ---------------------------------------------------------------------------- */

EtwTimeline *EtwTimelineNew(EtwSchemaStore *store)
{
    EtwTimeline *t = EtwAlloc(sizeof *t);
    t->store = store;
    t->begin = INT64_MAX;
    EtwCallsWatch watch = {.ctx = t,
            .push = pushCall,
            .pop = popCall,
            .spent = threadBlocked,
            .switched = switched,
            .woken = woken};
    t->calls = EtwCallsNew(&(EtwCallsConfig){.watch = watch}, store);
    laneOf(t, ETW_LANE_NOTES, ETW_NO_ID, ETW_NO_ID);
    return t;
}

static void countCalls(const EtwTimeline *t, EtwTimelineInfo *info)
{
    info->calls = t->calls->calls;
    info->cut = t->calls->cut;
    info->unmatched = t->calls->unmatched;
}

void EtwTimelineEnd(EtwTimeline *t)
{
    if (t->calls == NULL) {
        return;
    }
    t->ending = true;
    EtwCallsEnd(t->calls);
    countCalls(t, &t->final);
    endRuns(t);
    for (int i = 0; i < t->laneCount; i++) {
        rowClose(&t->lanes[i]->spans, t->last, ETW_MARK_CUT);
    }
    EtwCallsFree(t->calls);
    t->calls = NULL;
    t->store = NULL;
}

static size_t rowMemory(const TimeRow *row)
{
    return row->capacity * (2 * sizeof(int64_t) + 2 * sizeof(uint32_t) + 1) +
           row->badCapacity * sizeof(uint32_t);
}

static size_t pointsMemory(const TimePoints *p)
{
    return p->capacity * (sizeof(int64_t) + sizeof(uint32_t));
}

static size_t laneMemory(const TimeLane *lane)
{
    size_t bytes = sizeof *lane + rowMemory(&lane->spans) + pointsMemory(&lane->points) +
                   pointsMemory(&lane->bad) + pointsMemory(&lane->matches);
    for (int i = 0; i < lane->info.levels; i++) {
        bytes += sizeof(TimeRow) + rowMemory(&lane->levels[i]);
    }
    return bytes;
}

uint32_t EtwTimelineCount(const EtwTimeline *t)
{
    return t->count;
}

void EtwTimelineGetInfo(const EtwTimeline *t, EtwTimelineInfo *info)
{
    *info = t->final;
    if (t->calls != NULL) {
        countCalls(t, info);
    }
    info->events = t->count;
    info->lanes = t->laneCount;
    info->first = t->count ? t->first : 0;
    info->last = t->count ? t->last : -1;
    info->begin = t->begin != INT64_MAX ? t->begin : info->first;
    info->unordered = t->unordered;
    info->folded = t->folded;
    info->headers = t->headers;
    info->reported = t->reported;
    info->memory = (size_t)t->capacity * 18 + t->blockCapacity * 8 + t->matchCapacity * 4;
    for (int i = 0; i < t->laneCount; i++) {
        info->memory += laneMemory(t->lanes[i]);
    }
}

bool EtwTimelineLane(const EtwTimeline *t, int lane, EtwLaneInfo *info)
{
    if (lane < 0 || lane >= t->laneCount) {
        return false;
    }
    *info = t->lanes[lane]->info;
    return true;
}

static void freeRow(TimeRow *row)
{
    EtwFree(row->start);
    EtwFree(row->end);
    EtwFree(row->text);
    EtwFree(row->event);
    EtwFree(row->marks);
    EtwFree(row->bad);
}

static void freePoints(TimePoints *p)
{
    EtwFree(p->time);
    EtwFree(p->event);
}

static void freeLane(TimeLane *lane)
{
    for (int i = 0; i < lane->info.levels; i++) {
        freeRow(&lane->levels[i]);
    }
    EtwFree(lane->levels);
    freeRow(&lane->spans);
    freePoints(&lane->points);
    freePoints(&lane->bad);
    freePoints(&lane->matches);
    EtwFree((char *)lane->info.process);
    EtwFree(lane);
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

void EtwTimelineFree(EtwTimeline *t)
{
    EtwTimelineEnd(t);
    for (int i = 0; i < t->laneCount; i++) {
        freeLane(t->lanes[i]);
    }
    for (uint32_t i = 0; i < t->textCount; i++) {
        EtwFree(t->texts[i]);
    }
    EtwFree(t->laneTable.slots);
    EtwTableFree(&t->textTable, freeNode);
    EtwTableFree(&t->kindTable, freeNode);
    EtwTableFree(&t->rowTable, freeNode);
    EtwTableFree(&t->threadTable, freeNode);
    EtwFree(t->lanes);
    EtwFree(t->cpus);
    EtwFree(t->texts);
    EtwFree(t->kinds);
    EtwFree(t->time);
    EtwFree(t->lane);
    EtwFree(t->kind);
    EtwFree(t->cpu);
    EtwFree(t->blockMax);
    EtwFree(t->matched);
    EtwFree(t);
}
