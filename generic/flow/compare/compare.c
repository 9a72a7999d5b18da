/*
 * flow/compare/compare.c --
 *
 *	Reads runs: counts their calls, work, files and hosts, and adds the results to the rows of the comparison.
 */
#include "flow/compare/compare_int.h"
#include "semantics/semantics.h"
#include <stdio.h>

const char *const etwCompareTableNames[ETW_COMPARE_TABLES + 1] = {
        "procs", "paths", "work", "files", "hosts", NULL};
const char *const etwMeasureNames[ETW_MEASURES + 1] = {
        "count", "errors", "self", "total", "wait", "bytes", NULL};
const char *const etwConfidenceNames[] = {"unknown", "noise", "likely", "clear", NULL};

/* ---- Names ------------------------------------------------------------------------------------ */

static const char *nameStored(EtwCompare *c, const char *text, size_t size)
{
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)text, size);
    CompareName *n = (CompareName *)EtwTableFirst(&c->names, hash);
    while (n != NULL && (n->size != size || memcmp(n->text, text, size) != 0)) {
        n = (CompareName *)n->node.next;
    }
    if (n == NULL) {
        n = EtwAlloc(sizeof *n + size + 1);
        n->size = size;
        memcpy(n->text, text, size);
        EtwTableAdd(&c->names, &n->node, hash);
    }
    return n->text;
}

/* A name of a run, and its normalized form. */
typedef struct Renamed {
    EtwTableNode node;
    const char *to;
    size_t size;
    char from[];
} Renamed;

static const char *normalized(EtwCompare *c, const char *name)
{
    EtwText own = {0}, out = {0};
    EtwTextChar(&own, 0);
    own.size = 0;
    if (c->config.rename != NULL && c->config.rename(c->config.ctx, name, &own)) {
        EtwCompareNormalize(&out, own.data, own.size);
    } else {
        EtwCompareNormalize(&out, name, strlen(name));
    }
    EtwTextChar(&out, 0);
    const char *stored = nameStored(c, out.data, out.size - 1);
    EtwTextFree(&own);
    EtwTextFree(&out);
    return stored;
}

static const char *nameOf(EtwCompareRun *run, const char *name)
{
    size_t size = strlen(name);
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)name, size);
    Renamed *r = (Renamed *)EtwTableFirst(&run->renamed, hash);
    while (r != NULL && (r->size != size || memcmp(r->from, name, size) != 0)) {
        r = (Renamed *)r->node.next;
    }
    if (r == NULL) {
        r = EtwAlloc(sizeof *r + size + 1);
        r->size = size;
        memcpy(r->from, name, size);
        r->to = normalized(run->compare, name);
        EtwTableAdd(&run->renamed, &r->node, hash);
    }
    return r->to;
}

/* ---- Rows ------------------------------------------------------------------------------------- */

typedef struct RowKey {
    EtwCompareTable table;
    const EtwCompareRow *parent;
    const char *who, *kind, *what; /* stored names, so that their addresses are compared */
} RowKey;

static uint64_t hashOf(const RowKey *key)
{
    uint64_t h = EtwHashMix((uint64_t)key->table, (uint64_t)(uintptr_t)key->parent);
    h = EtwHashMix(h, (uint64_t)(uintptr_t)key->who);
    h = EtwHashMix(h, (uint64_t)(uintptr_t)key->kind);
    return EtwHashMix(h, (uint64_t)(uintptr_t)key->what);
}

static bool isOf(const EtwCompareRow *row, const RowKey *key)
{
    return row->table == key->table && row->parent == key->parent && row->who == key->who &&
           row->kind == key->kind && row->what == key->what;
}

static EtwCompareRow *rowOf(EtwCompare *c, RowKey key)
{
    uint64_t hash = hashOf(&key);
    EtwCompareRow *row = (EtwCompareRow *)EtwTableFirst(&c->rows, hash);
    while (row != NULL && !isOf(row, &key)) {
        row = (EtwCompareRow *)row->node.next;
    }
    if (row == NULL) {
        row = EtwAlloc(sizeof *row);
        row->table = key.table;
        row->parent = key.parent;
        row->level = key.parent != NULL ? key.parent->level + 1 : 1;
        row->who = key.who;
        row->kind = key.kind;
        row->what = key.what;
        *c->end = row;
        c->end = &row->next;
        EtwTableAdd(&c->rows, &row->node, hash);
    }
    return row;
}

/* The values of the current run, the last one. */
static uint64_t *valuesOf(const EtwCompare *c, EtwCompareRow *row)
{
    int runs = EtwCompareRunCount(c);
    if (row->runCount < runs) {
        size_t size = (size_t)ETW_MEASURES * sizeof *row->runs;
        row->runs = EtwRealloc(row->runs, (size_t)runs * size);
        memset(row->runs + row->runCount * ETW_MEASURES, 0, (size_t)(runs - row->runCount) * size);
        row->runCount = runs;
    }
    return row->runs + (runs - 1) * ETW_MEASURES;
}

/* ---- Files and hosts -------------------------------------------------------------------------- */

static void touch(EtwCompareRun *run, const CompareTouch *t, const char *what, size_t size)
{
    if (t->table == ETW_COMPARE_FILES && EtwCompareIsOwnFile(run->compare, what, size)) {
        return;
    }
    uint64_t hash = EtwHashMix(EtwHashPointer(t->call), (uint64_t)(uintptr_t)t->kind);
    hash = EtwHashBytes(hash, (const uint8_t *)what, size);
    CompareTouch *found = (CompareTouch *)EtwTableFirst(&run->touches, hash);
    while (found != NULL &&
            (found->call != t->call || found->kind != t->kind || found->table != t->table ||
                    found->size != size || memcmp(found->what, what, size) != 0)) {
        found = (CompareTouch *)found->node.next;
    }
    if (found == NULL) {
        found = EtwAlloc(sizeof *found + size + 1);
        found->call = t->call;
        found->table = t->table;
        found->kind = t->kind;
        found->size = size;
        memcpy(found->what, what, size);
        *run->touchEnd = found;
        run->touchEnd = &found->next;
        EtwTableAdd(&run->touches, &found->node, hash);
    }
    found->count += t->count;
    found->errors += t->errors;
    found->bytes += t->bytes;
}

/* A file operation of Linux: open, close, read, write, delete ... */
static void takeFile(EtwCompareRun *run, const EtwRoleValues *v, EtwCallNode *call)
{
    static const struct {
        const char *event, *kind;
        bool moves;
    } kinds[] = {{"Create", "open", false}, {"Close", "close", false}, {"Read", "read", true},
            {"Write", "write", true}, {"Flush", "flush", false}, {"Delete", "delete", false},
            {"Rename", "rename", false}};
    size_t size;
    const char *name = EtwRoleText(v, ETW_ROLE_NAME, &size);
    int64_t outcome = (int64_t)EtwRoleNumber(v, ETW_ROLE_OUTCOME);
    for (size_t i = 0; size > 0 && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].event, v->schema->event) == 0) {
            CompareTouch t = {.call = call,
                    .table = ETW_COMPARE_FILES,
                    .kind = kinds[i].kind,
                    .count = 1,
                    .errors = outcome < 0,
                    .bytes = kinds[i].moves && outcome > 0 ? (uint64_t)outcome : 0};
            touch(run, &t, name, size);
            return;
        }
    }
}

static void takeSocket(
        EtwCompareRun *run, const EtwRoleValues *v, EtwMeaning meaning, EtwCallNode *call)
{
    int address = v->semantics->field[ETW_ROLE_REMOTE_ADDR];
    const EtwValue *size = EtwRoleValue(v, ETW_ROLE_SIZE);
    EtwText host = {0};
    if (EtwRoleValue(v, ETW_ROLE_REMOTE_ADDR) == NULL) {
        return;
    }
    EtwFormatValue(&host, &v->schema->fields[address], EtwRoleValue(v, ETW_ROLE_REMOTE_ADDR));
    EtwTextPrintf(&host, ":%u", (unsigned)EtwRoleNumber(v, ETW_ROLE_REMOTE_PORT));
    CompareTouch t = {.call = call,
            .table = ETW_COMPARE_HOSTS,
            .kind = meaning == ETW_MEANS_SOCKET_CONNECT  ? "connect"
                    : meaning == ETW_MEANS_SOCKET_ACCEPT ? "accept"
                    : meaning == ETW_MEANS_SOCKET_SEND   ? "send"
                                                         : "receive",
            .count = 1,
            .errors = size != NULL && size->i < 0,
            .bytes = size != NULL && size->i > 0 ? (uint64_t)size->i : 0};
    touch(run, &t, host.data, host.size);
    EtwTextFree(&host);
}

/* An event of Windows that has the name of its file or key. */
static void takeObject(
        EtwCompareRun *run, const EtwSchema *schema, const EtwEvent *event, EtwCallNode *call)
{
    CompareTouch t = {.call = call, .table = ETW_COMPARE_FILES, .kind = schema->event, .count = 1};
    touch(run, &t, event->object, strlen(event->object));
}

void EtwCompareAdd(EtwCompareRun *run, const EtwEvent *event)
{
    const EtwSchema *schema = EtwSchemaOf(run->store, event);
    EtwMeaning meaning = schema != NULL ? EtwMeaningOf(schema) : ETW_MEANS_OTHER;
    EtwRoleValues v;
    EtwCallsAdd(run->calls, event);
    if (!run->timed) {
        run->timed = true;
        run->firstTime = run->lastTime = event->time;
    }
    run->firstTime = event->time < run->firstTime ? event->time : run->firstTime;
    run->lastTime = event->time > run->lastTime ? event->time : run->lastTime;
    bool file = meaning == ETW_MEANS_FILE_OPEN || meaning == ETW_MEANS_FILE;
    bool socket = meaning == ETW_MEANS_SOCKET_CONNECT || meaning == ETW_MEANS_SOCKET_ACCEPT ||
                  meaning == ETW_MEANS_SOCKET_SEND || meaning == ETW_MEANS_SOCKET_RECEIVE;
    if (!file && !socket && (event->object == NULL || schema == NULL)) {
        return;
    }
    EtwCallNode *call = EtwCallsInnermost(run->calls, event);
    if (call == NULL) {
        return;
    }
    if (!file && !socket) {
        takeObject(run, schema, event, call);
    } else if (EtwRoleValuesRead(&v, schema, event)) {
        if (file) {
            takeFile(run, &v, call);
        } else {
            takeSocket(run, &v, meaning, call);
        }
    }
}

/* ---- The results of a run --------------------------------------------------------------------- */

static void addStats(uint64_t *values, const EtwCallStats *s)
{
    values[ETW_MEASURE_COUNT] += s->calls;
    values[ETW_MEASURE_ERRORS] += s->errors;
    values[ETW_MEASURE_SELF] += s->self;
    values[ETW_MEASURE_TOTAL] += s->total;
    values[ETW_MEASURE_WAIT] += EtwCostsWait(&s->own);
}

/* The parts of the name of a cost of a channel: "read config.txt". False: it is another cost. */
static bool isOfChannel(const EtwCost *cost, char operation[32], const char **whatPtr)
{
    static const char *const operations[] = {
            "open", "socket", "read", "gets", "puts", "write", "close", "flush", "copy", "seek"};
    const char *blank = strchr(cost->of->name, ' ');
    if (cost->of->kind != ETW_COST_MOVE || blank == NULL || blank[1] == '|' || blank[1] == 0) {
        return false;
    }
    size_t size = (size_t)(blank - cost->of->name);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (strlen(operations[i]) == size && memcmp(operations[i], cost->of->name, size) == 0) {
            snprintf(operation, 32, "chan %.20s", operations[i]);
            *whatPtr = blank + 1;
            return true;
        }
    }
    return false;
}

/*
 * The names by which channels of sockets are known: those that `socket` has opened, and the names of channels that a
 * server has accepted.
 */
static bool isSocket(const EtwCompareRun *run, const char *what)
{
    if (strcmp(what, "sock#") == 0) {
        return true;
    }
    const EtwTableNode *n = EtwTableFirst(&run->sockets, EtwHashPointer(what));
    while (n != NULL && ((const CompareSocket *)n)->name != what) {
        n = n->next;
    }
    return n != NULL;
}

static void noteSockets(EtwCompareRun *run, const EtwCosts *own)
{
    for (int i = 0; i < own->count; i++) {
        char operation[32];
        const char *what;
        if (!isOfChannel(&own->list[i], operation, &what) ||
                strcmp(operation, "chan socket") != 0) {
            continue;
        }
        what = nameOf(run, what);
        if (!isSocket(run, what)) {
            CompareSocket *s = EtwAlloc(sizeof *s);
            s->name = what;
            EtwTableAdd(&run->sockets, &s->node, EtwHashPointer(what));
        }
    }
}

/* Files and hosts that Tcl's channels have touched. row: the calls; NULL: outside of calls, in `who`. */
static void addChannels(
        EtwCompareRun *run, const EtwCompareRow *row, const char *who, const EtwCosts *own)
{
    EtwCompare *c = run->compare;
    for (int i = 0; i < own->count; i++) {
        char operation[32];
        const char *what;
        if (!isOfChannel(&own->list[i], operation, &what) ||
                EtwCompareIsOwnFile(c, what, strlen(what))) {
            continue;
        }
        what = nameOf(run, what);
        EtwCompareTable table = isSocket(run, what) ? ETW_COMPARE_HOSTS : ETW_COMPARE_FILES;
        RowKey key = {table, row, who, nameStored(c, operation, strlen(operation)), what};
        uint64_t *values = valuesOf(c, rowOf(c, key));
        values[ETW_MEASURE_COUNT] += own->list[i].count;
        values[ETW_MEASURE_ERRORS] += own->list[i].errors;
        values[ETW_MEASURE_SELF] += own->list[i].ns;
        values[ETW_MEASURE_WAIT] += own->list[i].waited;
        values[ETW_MEASURE_BYTES] += own->list[i].bytes;
    }
}

static void addWork(EtwCompareRun *run, const char *who, const EtwCosts *own)
{
    EtwCompare *c = run->compare;
    for (int i = 0; i < own->count; i++) {
        const EtwCost *cost = &own->list[i];
        char operation[32];
        const char *what;
        if (isOfChannel(cost, operation, &what)) {
            continue; /* it is among the files and hosts */
        }
        const char *kind = EtwCostKindName(cost->of->kind);
        EtwCompareRow *row =
                rowOf(c, (RowKey){ETW_COMPARE_WORK, NULL, who, nameStored(c, kind, strlen(kind)),
                                 nameOf(run, cost->of->name)});
        uint64_t *values = valuesOf(c, row);
        values[ETW_MEASURE_COUNT] += cost->count;
        values[ETW_MEASURE_SELF] += cost->ns;
        values[ETW_MEASURE_WAIT] += cost->waited;
        values[ETW_MEASURE_BYTES] += cost->bytes;
    }
}

/* [tclsh]; [program] of a process without a name */
static const char *processName(EtwCompareRun *run, const EtwCallNode *thread)
{
    EtwText text = {0};
    EtwTextPrintf(&text, "[%s]", thread->process != NULL ? thread->process : "program");
    EtwTextChar(&text, 0);
    const char *name = nameOf(run, text.data);
    EtwTextFree(&text);
    return name;
}

static void addProcs(EtwCompareRun *run)
{
    EtwCompare *c = run->compare;
    const char *none = nameStored(c, "", 0);
    for (const EtwCallRow *row = run->calls->rows; row != NULL; row = row->next) {
        if (!row->profiled) {
            continue;
        }
        const char *who = nameOf(run, row->name);
        addStats(valuesOf(c, rowOf(c, (RowKey){ETW_COMPARE_PROCS, NULL, who, none, none})),
                &row->stats);
        addWork(run, who, &row->stats.own);
    }
}

/* Visits the nodes below a thread, parents first. Not recursive, because a tree may be deep. */
static void addPaths(EtwCompareRun *run, EtwCallNode *thread)
{
    EtwCompare *c = run->compare;
    const char *none = nameStored(c, "", 0);
    EtwCallNode *n = thread->first;
    while (n != NULL) {
        const EtwCompareRow *parent = n->parent == thread ? NULL : n->parent->own;
        EtwCompareRow *row = rowOf(
                c, (RowKey){ETW_COMPARE_PATHS, parent, nameOf(run, n->row->name), none, none});
        addStats(valuesOf(c, row), &n->stats);
        addChannels(run, row, none, &n->stats.own);
        n->own = row;
        if (n->first != NULL) {
            n = n->first;
            continue;
        }
        while (n != thread && n->next == NULL) {
            n = n->parent;
        }
        n = n == thread ? NULL : n->next;
    }
}

static void addTouches(EtwCompareRun *run)
{
    EtwCompare *c = run->compare;
    const char *none = nameStored(c, "", 0);
    for (const CompareTouch *t = run->firstTouch; t != NULL; t = t->next) {
        bool outside = t->call->parent == NULL;
        RowKey key = {t->table, outside ? NULL : t->call->own,
                outside ? processName(run, t->call) : none, nameOf(run, t->kind),
                nameOf(run, t->what)};
        uint64_t *values = valuesOf(c, rowOf(c, key));
        values[ETW_MEASURE_COUNT] += t->count;
        values[ETW_MEASURE_ERRORS] += t->errors;
        values[ETW_MEASURE_BYTES] += t->bytes;
    }
}

/* ---- Runs ------------------------------------------------------------------------------------- */

EtwCompareRun *EtwCompareBegin(EtwCompare *compare, int side, EtwSchemaStore *store)
{
    EtwCompareRun *run = EtwAlloc(sizeof *run);
    run->compare = compare;
    run->store = store;
    run->calls = EtwCallsNew(&(EtwCallsConfig){.tree = true, .allThreads = true}, store);
    run->touchEnd = &run->firstTouch;
    EtwTextChar(&compare->sides, (char)side);
    return run;
}

static void freePlain(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static void addResults(EtwCompareRun *run, uint64_t lost)
{
    EtwCompare *c = run->compare;
    int side = c->sides.data[c->sides.size - 1];
    EtwCompareFacts *facts = &c->facts[side];
    double ns = run->timed ? (double)run->lastTime - (double)run->firstTime : 0;
    EtwCallsEnd(run->calls);
    for (const EtwCallRow *row = run->calls->rows; row != NULL; row = row->next) {
        noteSockets(run, &row->stats.own);
    }
    addProcs(run);
    for (EtwCallNode *t = run->calls->threads; t != NULL; t = t->next) {
        noteSockets(run, &t->stats.own);
        addPaths(run, t);
        addChannels(run, NULL, processName(run, t), &t->stats.own);
        addWork(run, processName(run, t), &t->stats.own);
    }
    addTouches(run);
    facts->runs++;
    facts->events += run->calls->events;
    facts->calls += run->calls->calls;
    facts->lost += lost;
    EtwTextAdd(&c->spans, &ns, sizeof ns);
}

void EtwCompareEnd(EtwCompareRun *run, uint64_t lost, bool drop)
{
    if (drop) {
        run->compare->sides.size--;
    } else {
        addResults(run, lost);
    }
    EtwCallsFree(run->calls);
    EtwTableFree(&run->touches, freePlain);
    EtwTableFree(&run->renamed, freePlain);
    EtwTableFree(&run->sockets, freePlain);
    EtwFree(run);
}

EtwCompare *EtwCompareNew(const EtwCompareConfig *config)
{
    EtwCompare *c = EtwAlloc(sizeof *c);
    c->config = *config;
    c->end = &c->first;
    return c;
}

static void freeRow(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((EtwCompareRow *)node)->runs);
    EtwFree(node);
}

void EtwCompareFree(EtwCompare *compare)
{
    if (compare == NULL) {
        return;
    }
    EtwTableFree(&compare->rows, freeRow);
    EtwTableFree(&compare->names, freePlain);
    EtwTextFree(&compare->sides);
    EtwTextFree(&compare->warnings);
    EtwTextFree(&compare->spans);
    EtwFree(compare);
}

void EtwCompareWarn(EtwCompare *compare, const char *warning)
{
    EtwTextAdd(&compare->warnings, warning, strlen(warning) + 1);
}

const EtwCompareFacts *EtwCompareFactsOf(const EtwCompare *compare, int side)
{
    return &compare->facts[side];
}
