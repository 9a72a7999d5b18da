/*
 * sql/state_tables.c --
 *
 *	Tables of what the events of a file have in common: processes, threads; operations on files; frames of stacks; losses.
 */
#include "sql/sql_int.h"
#include "base/hash_table.h"
#include "etl/read/trace_losses.h"
#include "semantics/semantics.h"

#define INTEGER(name)                                                                              \
    {                                                                                              \
        name, "INTEGER", SQL_UNBOUND, false                                                        \
    }
#define TEXT(name)                                                                                 \
    {                                                                                              \
        name, "TEXT", SQL_UNBOUND, false                                                           \
    }

/* ---- Processes and threads ------------------------------------------------------------------------- */

/* A process, or a thread of one, with the events in it. */
typedef struct Actor {
    EtwTableNode node;
    struct Actor *after; /* in order of the first event */
    uint32_t pid, tid;
    char *process; /* the last name; NULL: unknown */
    int64_t first, last;
    uint64_t events;
} Actor;

typedef struct ActorState {
    bool threads;
    EtwTable table;
    Actor *list, **end;
    Actor *last; /* of the previous event */
} ActorState;

static void *beginActors(bool threads)
{
    ActorState *state = EtwAlloc(sizeof *state);
    state->threads = threads;
    state->end = &state->list;
    return state;
}

static void *beginProcesses(SqlReading *r, SqlRows *rows)
{
    (void)r, (void)rows;
    return beginActors(false);
}

static void *beginThreads(SqlReading *r, SqlRows *rows)
{
    (void)r, (void)rows;
    return beginActors(true);
}

static Actor *findActor(ActorState *state, uint32_t pid, uint32_t tid)
{
    Actor *actor = state->last;
    if (actor != NULL && actor->pid == pid && actor->tid == tid) {
        return actor;
    }
    uint64_t hash = EtwHashNumber((uint64_t)pid << 32 | tid);
    actor = (Actor *)EtwTableFirst(&state->table, hash);
    while (actor != NULL && (actor->pid != pid || actor->tid != tid)) {
        actor = (Actor *)actor->node.next;
    }
    if (actor == NULL) {
        actor = EtwAlloc(sizeof *actor);
        actor->pid = pid;
        actor->tid = tid;
        EtwTableAdd(&state->table, &actor->node, hash);
        *state->end = actor;
        state->end = &actor->after;
    }
    return actor;
}

static void actorEvent(void *ctx, SqlReading *r, SqlRows *rows)
{
    ActorState *state = ctx;
    const EtwEvent *e = &r->event;
    (void)rows;
    if (e->pid == ETW_NO_ID) {
        return;
    }
    Actor *actor = findActor(state, e->pid, state->threads ? e->tid : 0);
    state->last = actor;
    if (actor->events++ == 0 || e->time < actor->first) {
        actor->first = e->time;
    }
    actor->last = actor->events == 1 || e->time > actor->last ? e->time : actor->last;
    if (e->process != NULL && (actor->process == NULL || strcmp(actor->process, e->process) != 0)) {
        EtwFree(actor->process);
        actor->process = EtwStrdup(e->process);
    }
}

static void endActors(void *ctx, SqlReading *r, SqlRows *rows)
{
    const ActorState *state = ctx;
    (void)r;
    for (const Actor *actor = state->list; actor != NULL; actor = actor->after) {
        SqlRowId(rows, actor->pid);
        if (state->threads) {
            SqlRowId(rows, actor->tid);
        }
        SqlRowString(rows, actor->process);
        SqlRowInt(rows, actor->first);
        SqlRowInt(rows, actor->last);
        SqlRowInt(rows, (int64_t)actor->events);
    }
}

static void freeActors(void *ctx)
{
    ActorState *state = ctx;
    for (Actor *actor = state->list, *after; actor != NULL; actor = after) {
        after = actor->after;
        EtwFree(actor->process);
        EtwFree(actor);
    }
    EtwFree(state->table.slots);
    EtwFree(state);
}

static const SqlColumn processColumns[] = {
        INTEGER("pid"), TEXT("process"), INTEGER("first"), INTEGER("last"), INTEGER("events")};
static const SqlMaker processMaker = {.begin = beginProcesses,
        .event = actorEvent,
        .end = endActors,
        .free = freeActors,
        .named = true};
const SqlTable sqlProcessesTable = {.name = "etw_processes",
        .columns = processColumns,
        .columnCount = sizeof processColumns / sizeof *processColumns,
        .maker = &processMaker};

static const SqlColumn threadColumns[] = {INTEGER("pid"), INTEGER("tid"), TEXT("process"),
        INTEGER("first"), INTEGER("last"), INTEGER("events")};
static const SqlMaker threadMaker = {.begin = beginThreads,
        .event = actorEvent,
        .end = endActors,
        .free = freeActors,
        .named = true};
const SqlTable sqlThreadsTable = {.name = "etw_threads",
        .columns = threadColumns,
        .columnCount = sizeof threadColumns / sizeof *threadColumns,
        .maker = &threadMaker};

/* ---- Operations on files ---------------------------------------------------------------------------- */

static void *beginNothing(SqlReading *r, SqlRows *rows)
{
    (void)r, (void)rows;
    return NULL;
}

static void addRole(SqlRows *rows, const EtwRoleValues *values, EtwRole role)
{
    const EtwValue *value = EtwRoleValue(values, role);
    if (value == NULL) {
        SqlRowNull(rows);
    } else {
        SqlRowInt(rows, value->i);
    }
}

/* The file that the source knows, otherwise the name in the payload. */
static void addFile(SqlRows *rows, SqlReading *r, const EtwRoleValues *values)
{
    const EtwValue *value = EtwRoleValue(values, ETW_ROLE_NAME);
    r->scratch.size = 0;
    if (r->event.object != NULL) {
        SqlRowString(rows, r->event.object);
    } else if (value != NULL) {
        EtwFormatValue(&r->scratch,
                &values->schema->fields[values->semantics->field[ETW_ROLE_NAME]], value);
        SqlRowText(rows, r->scratch.data, r->scratch.size);
    } else {
        SqlRowNull(rows);
    }
}

static void fileEvent(void *ctx, SqlReading *r, SqlRows *rows)
{
    const EtwSchema *schema = SqlReadingSchema(r);
    const EtwEvent *e = &r->event;
    EtwMeaning meaning = schema != NULL ? EtwMeaningOf(schema) : ETW_MEANS_OTHER;
    EtwRoleValues values;
    (void)ctx;
    if (meaning != ETW_MEANS_FILE_OPEN && meaning != ETW_MEANS_FILE) {
        return;
    }
    EtwRoleValuesRead(&values, schema, e);
    SqlRowInt(rows, e->time);
    SqlRowId(rows, e->pid);
    SqlRowId(rows, e->tid);
    SqlRowString(rows, e->process);
    SqlRowString(rows, schema->event);
    addFile(rows, r, &values);
    addRole(rows, &values, ETW_ROLE_SIZE);
    addRole(rows, &values, ETW_ROLE_OUTCOME);
    addRole(rows, &values, ETW_ROLE_DURATION);
}

static const SqlColumn fileColumns[] = {INTEGER("time"), INTEGER("pid"), INTEGER("tid"),
        TEXT("process"), TEXT("operation"), TEXT("file"), INTEGER("bytes"), INTEGER("outcome"),
        INTEGER("duration")};
static const SqlMaker fileMaker = {.begin = beginNothing, .event = fileEvent, .named = true};
const SqlTable sqlFilesTable = {.name = "etw_files",
        .columns = fileColumns,
        .columnCount = sizeof fileColumns / sizeof *fileColumns,
        .maker = &fileMaker};

/* ---- Stacks ------------------------------------------------------------------------------------------ */

static void stackEvent(void *ctx, SqlReading *r, SqlRows *rows)
{
    const EtwEvent *e = &r->event;
    char guid[ETW_GUID_TEXT], number[SQL_NUMBER_TEXT];
    EtwFrameWalk walk;
    int64_t frame = 0;
    (void)ctx;
    if (e->stack == NULL || e->stackCount == 0) {
        return;
    }
    EtwFrameWalkBegin(&walk, EtwSourceTracked(r->source), e);
    for (const EtwFrame *f; (f = EtwFrameNext(&walk)) != NULL; frame++) {
        SqlRowInt(rows, e->time);
        SqlRowString(rows, SqlProviderText(r, guid));
        SqlRowString(rows, SqlEventText(r, number));
        SqlRowId(rows, e->pid);
        SqlRowId(rows, e->tid);
        SqlRowString(rows, e->process);
        SqlRowInt(rows, frame);
        SqlRowString(rows, f->module);
        SqlRowString(rows, f->function);
        SqlRowInt(rows, (int64_t)f->offset);
    }
}

static const SqlColumn stackColumns[] = {INTEGER("time"), TEXT("provider"), TEXT("event"),
        INTEGER("pid"), INTEGER("tid"), TEXT("process"), INTEGER("frame"), TEXT("module"),
        TEXT("function"), INTEGER("offset")};
static const SqlMaker stackMaker = {
        .begin = beginNothing, .event = stackEvent, .named = true, .stacks = true};
const SqlTable sqlStacksTable = {.name = "etw_stacks",
        .columns = stackColumns,
        .columnCount = sizeof stackColumns / sizeof *stackColumns,
        .maker = &stackMaker};

/* ---- Losses ------------------------------------------------------------------------------------------ */

static void addLoss(SqlRows *rows, const EtlInfo *info, const char *kind, uint64_t count)
{
    SqlRowString(rows, info->loggerName);
    SqlRowString(rows, kind);
    SqlRowInt(rows, (int64_t)count);
}

static void ignoreEvent(void *ctx, SqlReading *r, SqlRows *rows)
{
    (void)ctx, (void)r, (void)rows;
}

/* Damages, and what perf lost, are counted while the file is read. The kinds are those of `etw info`. */
static void endLosses(void *ctx, SqlReading *r, SqlRows *rows)
{
    (void)ctx;
    for (int i = 0; i < EtwSourceFileCount(r->source); i++) {
        const EtlInfo *info = EtwSourceFileInfo(r->source, i, NULL);
        uint64_t missing = 0;
        for (uint32_t k = 0; k < info->loggerCount; k++) {
            missing += info->loggers[k].missing;
        }
        addLoss(rows, info, "events", info->eventsLost);
        addLoss(rows, info, "buffers", info->buffersLost);
        addLoss(rows, info, "missing", missing);
        addLoss(rows, info, "unread", EtlLossesUnread(info));
        addLoss(rows, info, "duplicates", info->duplicates);
        addLoss(rows, info, "damages", info->damages);
    }
}

static const SqlColumn lossColumns[] = {TEXT("session"), TEXT("kind"), INTEGER("count")};
static const SqlMaker lossMaker = {.begin = beginNothing, .event = ignoreEvent, .end = endLosses};
const SqlTable sqlLossesTable = {.name = "etw_losses",
        .columns = lossColumns,
        .columnCount = sizeof lossColumns / sizeof *lossColumns,
        .maker = &lossMaker};
