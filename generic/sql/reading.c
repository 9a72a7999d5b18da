/*
 * sql/reading.c --
 *
 *	Reads the files of a table with the conditions of a query. Times, ids and process ids are tested on the headers of
 *	records by the file's reader, before anything is decoded; the others here.
 */
#include "sql/sql_int.h"
#include <stdio.h>

/* As in tcl/query/query.c: the source first sees what kind of trace it has; ticks of a clock differ from ns. */
enum { PUSH_AFTER = 100, MARGIN_NS = 1000000 };

/* ---- Filters ------------------------------------------------------------------------------------ */

void SqlFilterInit(SqlFilter *filter)
{
    *filter = (SqlFilter){.from = INT64_MIN, .to = INT64_MAX};
}

void SqlTextsAdd(SqlTexts *texts, const char *text)
{
    texts->list = EtwRealloc(texts->list, sizeof *texts->list * (texts->count + 1));
    texts->list[texts->count++] = EtwStrdup(text);
}

void SqlTextsFree(SqlTexts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        EtwFree(texts->list[i]);
    }
    EtwFree(texts->list);
    *texts = (SqlTexts){0};
}

void SqlFilterFree(SqlFilter *filter)
{
    EtwFree(filter->ids.list);
    EtwFree(filter->pids.list);
    EtwFree(filter->tids.list);
    SqlTextsFree(&filter->providers);
    SqlTextsFree(&filter->events);
    SqlTextsFree(&filter->traces);
    SqlFilterInit(filter);
}

/* One list for each column suffices: SQLite tests all conditions again. */
void SqlNumbersTake(SqlFilter *filter, SqlNumbers *old, SqlNumbers *taken)
{
    filter->none |= taken->count == 0;
    EtwFree(old->list);
    *old = *taken;
    *taken = (SqlNumbers){0};
}

void SqlTextsTake(SqlFilter *filter, SqlTexts *old, SqlTexts *taken)
{
    filter->none |= taken->count == 0;
    SqlTextsFree(old);
    *old = *taken;
    *taken = (SqlTexts){0};
}

static bool hasNumber(const SqlNumbers *numbers, int64_t n)
{
    bool found = !numbers->given;
    for (size_t i = 0; i < numbers->count && !found; i++) {
        found = numbers->list[i] == n;
    }
    return found;
}

static bool hasText(const SqlTexts *texts, const char *text)
{
    bool found = !texts->given;
    for (size_t i = 0; i < texts->count && !found; i++) {
        found = strcmp(texts->list[i], text) == 0;
    }
    return found;
}

/* The header filter: it may pass more than the conditions. */
static void pushDown(SqlReading *r)
{
    const SqlFilter *f = &r->filter;
    EtlFilter filter = {.from = f->from, .to = f->to};
    uint16_t *ids = f->ids.given ? EtwAlloc(sizeof *ids * (f->ids.count + 1)) : NULL;
    uint32_t *pids = f->pids.given ? EtwAlloc(sizeof *pids * (f->pids.count + 1)) : NULL;
    for (size_t i = 0; i < f->ids.count; i++) {
        if (f->ids.list[i] >= 0 && f->ids.list[i] <= UINT16_MAX) {
            ids[filter.idCount++] = (uint16_t)f->ids.list[i];
        }
    }
    for (size_t i = 0; i < f->pids.count; i++) {
        if (f->pids.list[i] >= 0 && f->pids.list[i] < ETW_NO_ID) {
            pids[filter.pidCount++] = (uint32_t)f->pids.list[i];
        }
    }
    if (f->pids.given) { /* a source may determine the pid of such an event */
        pids[filter.pidCount++] = ETW_NO_ID;
    }
    filter.ids = ids;
    filter.pids = pids;
    filter.from -= filter.from > INT64_MIN + MARGIN_NS ? MARGIN_NS : 0;
    filter.to = filter.to < INT64_MAX - MARGIN_NS ? filter.to + MARGIN_NS : INT64_MAX;
    if (filter.idCount != 0 || filter.pidCount != 0 || filter.from != INT64_MIN ||
            filter.to != INT64_MAX) {
        EtwSourcePushFilter(r->source, &filter);
    }
    EtwFree(ids);
    EtwFree(pids);
}

static bool namesPass(SqlReading *r)
{
    char guid[ETW_GUID_TEXT], number[SQL_NUMBER_TEXT];
    return hasText(&r->filter.providers, SqlProviderText(r, guid)) &&
           hasText(&r->filter.events, SqlEventText(r, number));
}

/* The names of a schema are compared once. */
static bool schemaPasses(SqlReading *r)
{
    const EtwSchema *schema = SqlReadingSchema(r);
    if (schema == NULL || *schema->event == 0) {
        return namesPass(r);
    }
    struct SqlPass *pass = &r->passes[((uintptr_t)schema >> 4) % SQL_PASS_CACHE];
    if (pass->schema != schema || pass->provider != schema->provider) {
        *pass = (struct SqlPass){schema, schema->provider, namesPass(r)};
    }
    return pass->pass;
}

static bool passes(SqlReading *r)
{
    const SqlFilter *f = &r->filter;
    const EtwEvent *e = &r->event;
    if (r->seen < PUSH_AFTER && ++r->seen == PUSH_AFTER) {
        pushDown(r);
    }
    /* As in summaries and exports: records that describe the file are no events. */
    return !EtwEventIsHeader(e) && e->time >= f->from && e->time <= f->to &&
           hasNumber(&f->ids, e->desc.id) && hasNumber(&f->pids, e->pid) &&
           hasNumber(&f->tids, e->tid) &&
           (!(f->providers.given || f->events.given) || schemaPasses(r));
}

/* ---- Files -------------------------------------------------------------------------------------- */

EtwStatus SqlSourceOpen(EtwSource **sourcePtr, const char *trace, EtwError *errPtr)
{
    static const char session[] = "session:";
    if (strncmp(trace, session, sizeof session - 1) == 0) {
        return EtwFail(errPtr, ETW_E_UNSUPPORTED, "SOURCE", trace,
                "\"%s\" cannot be read as a table, because each query reads the whole trace: give "
                "the file of the session",
                trace);
    }
    return EtwSourceOpen(sourcePtr, trace, errPtr);
}

EtwStatus SqlReadingOpen(SqlReading *r, EtwError *errPtr)
{
    EtwText nothing = {0};
    while (r->next < r->traceCount && !hasText(&r->filter.traces, r->traces[r->next])) {
        r->next++;
    }
    if (r->next >= r->traceCount || r->filter.none) {
        return ETW_END;
    }
    const char *trace = r->traces[r->next++];
    EtwStatus status = SqlSourceOpen(&r->source, trace, errPtr);
    if (status != ETW_OK) {
        r->source = NULL;
        return status;
    }
    if (r->names || r->stacks) {
        r->source = EtwSourceTrack(r->source, r->stacks);
    }
    r->trace = trace;
    r->seen = 0;
    r->store = EtwSchemaStoreNew();
    EtwSourceHarvest(r->source, r->store);
    r->sink = EtwSinkNew(&(EtwSinkConfig){.format = ETW_FORMAT_ROWS}, r->store);
    EtwSinkBegin(r->sink, r->source, &nothing);
    EtwTextFree(&nothing);
    return ETW_OK;
}

void SqlReadingCloseFile(SqlReading *r)
{
    if (r->source != NULL && r->connection != NULL) {
        SqlConnectionWarn(r->connection, r->source);
    }
    EtwSinkFree(r->sink);
    EtwSourceClose(r->source);
    if (r->store != NULL) {
        EtwSchemaStoreFree(r->store);
    }
    r->sink = NULL;
    r->source = NULL;
    r->store = NULL;
    memset(r->passes, 0, sizeof r->passes);
}

EtwStatus SqlReadingEvent(SqlReading *r)
{
    EtwStatus status;
    do {
        status = EtwSourceNext(r->source, &r->event);
        r->known = false;
    } while (status == ETW_AGAIN || status == ETW_PAUSE || (status == ETW_OK && !passes(r)));
    return status;
}

EtwStatus SqlReadingNext(SqlReading *r, EtwError *errPtr)
{
    for (;;) {
        EtwStatus status = r->source != NULL ? SqlReadingEvent(r) : ETW_END;
        if (status != ETW_END) {
            return status;
        }
        SqlReadingCloseFile(r);
        status = SqlReadingOpen(r, errPtr);
        if (status != ETW_OK) {
            return status;
        }
    }
}

void SqlReadingClose(SqlReading *r)
{
    SqlReadingCloseFile(r);
    SqlFilterFree(&r->filter);
    EtwTextFree(&r->scratch);
}

/* ---- Names -------------------------------------------------------------------------------------- */

const EtwSchema *SqlReadingSchema(SqlReading *r)
{
    if (!r->known) {
        r->schema = EtwSchemaOf(r->store, &r->event);
        r->known = true;
    }
    return r->schema;
}

const char *SqlProviderText(SqlReading *r, char guid[ETW_GUID_TEXT])
{
    return EtwSinkProvider(r->sink, &r->event, SqlReadingSchema(r), guid);
}

/* As in a database of `etw export`: an event without a name has its number. */
const char *SqlEventText(SqlReading *r, char number[SQL_NUMBER_TEXT])
{
    const EtwEvent *e = &r->event;
    const char *name = EtwSinkEventName(SqlReadingSchema(r));
    if (*name == 0) {
        snprintf(number, SQL_NUMBER_TEXT, e->classic ? "opcode %u" : "id %u",
                e->classic ? e->desc.opcode : e->desc.id);
        name = number;
    }
    return name;
}
