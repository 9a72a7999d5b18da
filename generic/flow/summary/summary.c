/*
 * flow/summary/summary.c --
 *
 *	Assigns events to their groups. If a group depends on the header only, a small direct-mapped
 *	cache of the relevant words finds it without generating text. Otherwise its key is a text.
 *	summary_group.c keeps the groups, summary_report.c prints the results, summary_pair.c finds
 *	pairs.
 */
#include "schema/store/header_labels.h"
#include "flow/summary/summary_int.h"
#include "base/unicode.h"
#include "schema/model/decode.h"

/* ---- Inputs of a group ----------------------------------------------------------------------- */

enum {
    BY_SCHEMA = 1,
    BY_PROVIDER = 2,
    BY_DESC = 4,
    BY_PID = 8,
    BY_TID = 16,
    BY_CPU = 32,
    BY_PROCESS = 64,
    BY_TEXT = 128 /* not expressible as words: the key is text */
};

static unsigned dependsOn(const char *name)
{
    static const struct {
        const char *name;
        unsigned on;
    } known[] = {{"provider", BY_SCHEMA | BY_PROVIDER},
            {"event", BY_SCHEMA | BY_DESC | BY_PROVIDER}, {"id", BY_DESC}, {"version", BY_DESC},
            {"channel", BY_DESC}, {"level", BY_DESC}, {"opcode", BY_DESC}, {"task", BY_DESC},
            {"keyword", BY_DESC}, {"pid", BY_PID}, {"tid", BY_TID}, {"cpu", BY_CPU},
            {"process", BY_PROCESS}, {"guid(provider)", BY_PROVIDER},
            {"name(level)", BY_SCHEMA | BY_DESC}, {"name(channel)", BY_SCHEMA | BY_DESC},
            {"name(task)", BY_SCHEMA | BY_DESC}, {"name(opcode)", BY_SCHEMA | BY_DESC},
            {"name(keyword)", BY_SCHEMA | BY_DESC}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) == 0) {
            return known[i].on;
        }
    }
    return BY_TEXT;
}

static void wordsOf(const Summary *s, const EtwEvent *e, const EtwSchema *schema, Words *w)
{
    memset(w, 0, sizeof *w);
    if (s->needs & BY_SCHEMA) {
        w->words[0] = (uintptr_t)schema;
    }
    /* Without a schema, the provider's name is its GUID. */
    if (s->needs & BY_PROVIDER) {
        w->words[1] = EtwLoad64(e->provider.bytes);
        w->words[2] = EtwLoad64(e->provider.bytes + 8);
    }
    if (s->needs & BY_DESC) {
        memcpy(&w->words[3], &e->desc, sizeof e->desc);
    }
    w->words[5] = (s->needs & BY_PID ? (uint64_t)e->pid << 32 : 0) |
                  (s->needs & BY_TID ? (uint64_t)e->tid : 0);
    w->words[6] = s->needs & BY_CPU ? e->cpu : 0;
    w->words[7] = s->needs & BY_PROCESS ? (uintptr_t)e->process : 0;
}

/* ---- Keys ------------------------------------------------------------------------------------- */

/* Truncates between characters: the text is valid UTF-8. */
static size_t cutSize(const char *text, size_t size)
{
    return size > ETW_SUMMARY_CELL ? EtwUtf8Cut(text, ETW_SUMMARY_CELL) : size;
}

/* Events without a name are grouped by provider and id. */
static void addNameless(Summary *s, const EtwEvent *event, const EtwSchema *schema)
{
    char guid[ETW_GUID_TEXT];
    bool hasProvider = false;
    for (int i = 0; i < s->pub.config.byCount; i++) {
        hasProvider |= strcmp(s->pub.config.by[i], "provider") == 0;
    }
    if (!hasProvider) {
        EtwTextStr(&s->cell, EtwSinkProvider(s->sink, event, schema, guid));
        EtwTextChar(&s->cell, ' ');
    }
    EtwAddEventName(&s->cell, schema, event);
}

void EtwSummaryKey(
        Summary *s, const EtwEvent *event, const EtwSchema *schema, const char *begin, EtwText *out)
{
    out->size = 0;
    EtwTextReserve(out, 1); /* so that an empty key is not NULL */
    for (int i = 0; i < s->pub.config.byCount; i++) {
        s->cell.size = 0;
        EtwColumnAdd(s->by[i], s->sink, event, schema, &s->cell);
        if (s->cell.size == 0 && strcmp(s->pub.config.by[i], "event") == 0) {
            addNameless(s, event, schema);
        }
        size_t size = cutSize(s->cell.data, s->cell.size);
        const char *text = s->cell.data;
        if (begin != NULL) {
            size_t beginSize = (uint8_t)*begin++;
            if (size == 0) {
                text = begin;
                size = beginSize;
            }
            begin += beginSize;
        }
        EtwTextChar(out, (char)size);
        EtwTextAdd(out, text, size);
    }
}

static EtwSummaryGroup *groupByText(
        Summary *s, const EtwEvent *event, const EtwSchema *schema, const char *begin)
{
    EtwSummaryKey(s, event, schema, begin, &s->key);
    return EtwSummaryGroupOf(s, s->key.data, s->key.size);
}

/* The multiplications are independent. A collision costs a cache miss only. */
static uint64_t hashOf(const Words *w)
{
    static const uint64_t odd[WORDS] = {0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
            0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3,
            0x589965CC75374CC3};
    uint64_t hash = 0;
    for (int i = 0; i < WORDS; i++) {
        hash += w->words[i] * odd[i];
    }
    return hash >> 40 ^ hash >> 20;
}

static EtwSummaryGroup *groupByWords(Summary *s, const EtwEvent *event, const EtwSchema *schema)
{
    Words w;
    wordsOf(s, event, schema, &w);
    Shortcut *c = &s->shortcuts[hashOf(&w) & (SHORTCUTS - 1)];
    if (c->group == NULL || memcmp(&c->words, &w, sizeof w) != 0) {
        c->group = groupByText(s, event, schema, NULL);
        c->words = w;
    }
    return c->group;
}

/* ---- Statistics ------------------------------------------------------------------------------ */

static void countEvent(EtwSummaryGroup *g, const EtwEvent *event)
{
    g->count++;
    g->bytes += event->recordSize;
    g->first = event->time < g->first ? event->time : g->first;
    g->last = event->time > g->last ? event->time : g->last;
}

/* real: the value to add; value: its integer part, for the percentiles. */
static void countValue(EtwSummaryGroup *g, uint64_t value, double real)
{
    EtwHistogramAdd(&g->values, value);
    g->sum += real;
    g->min = value < g->min ? value : g->min;
    g->max = value > g->max ? value : g->max;
}

static void countDistinct(
        Summary *s, EtwSummaryGroup *g, const EtwEvent *event, const EtwSchema *schema)
{
    for (int i = 0; i < s->pub.config.distinctCount; i++) {
        s->cell.size = 0;
        EtwColumnAdd(s->distinct[i], s->sink, event, schema, &s->cell);
        if (s->cell.size > 0) {
            uint64_t hash = EtwHashStable((const uint8_t *)s->cell.data, s->cell.size);
            EtwDistinctAdd(&g->distinct[i], hash);
            EtwDistinctAdd(&s->pub.total->distinct[i], hash);
        }
    }
}

/* Read the number. False: there is none, or it is out of range. */
static bool numberOf(Summary *s, const EtwEvent *event, const EtwSchema *schema, uint64_t *wholePtr,
        double *realPtr)
{
    EtwValue v;
    bool good = false;
    if (!EtwColumnNumber(s->value, s->sink, event, schema, &v)) {
        return false;
    }
    if (v.kind == ETW_V_DOUBLE) {
        good = v.d >= 0 && v.d < 18446744073709551616.0;
        *wholePtr = good ? (uint64_t)v.d : 0;
        *realPtr = v.d;
    } else if (v.kind == ETW_V_UINT || v.kind == ETW_V_BOOL || v.kind == ETW_V_INT) {
        good = v.kind != ETW_V_INT || v.i >= 0;
        *wholePtr = v.u;
        *realPtr = (double)v.u;
    }
    s->pub.negative += !good;
    return good;
}

void EtwSummaryCount(Summary *s, const EtwEvent *event, const EtwSchema *schema, const char *begin,
        const uint64_t *ns)
{
    uint64_t value = ns ? *ns : 0;
    double real = (double)value;
    EtwSummaryGroup *g = s->needs & BY_TEXT || begin != NULL ? groupByText(s, event, schema, begin)
                                                             : groupByWords(s, event, schema);
    countEvent(g, event);
    countEvent(s->pub.total, event);
    countDistinct(s, g, event, schema);
    if (ns != NULL || (s->value != NULL && numberOf(s, event, schema, &value, &real))) {
        countValue(g, value, real);
        countValue(s->pub.total, value, real);
    }
}

/* ---- Create and free ------------------------------------------------------------------------- */

static void newColumns(EtwColumn **columns, const char *const *names, int count)
{
    for (int i = 0; i < count; i++) {
        columns[i] = EtwColumnNew(names[i]);
    }
}

static void freeColumns(EtwColumn **columns)
{
    for (int i = 0; i < ETW_SUMMARY_FIELDS; i++) {
        EtwColumnFree(columns[i]);
    }
}

EtwSummary *EtwSummaryNew(const EtwSummaryConfig *config, EtwSchemaStore *store)
{
    Summary *s = EtwAlloc(sizeof *s);
    EtwSinkConfig form = {.format = ETW_FORMAT_LIST, .timeFormat = ETW_TIME_NS};
    s->pub.config = *config;
    s->store = store;
    s->sink = EtwSinkNew(&form, store);
    for (int i = 0; i < config->byCount; i++) {
        s->needs |= dependsOn(config->by[i]);
    }
    newColumns(s->by, config->by, config->byCount);
    newColumns(s->distinct, config->distinct, config->distinctCount);
    newColumns(s->pairKey, config->key, config->keyCount);
    s->value = config->value != NULL ? EtwColumnNew(config->value) : NULL;
    s->callId = EtwColumnNew("props(CallId)");
    s->pub.total = EtwSummaryGroupNew("", 0);
    return &s->pub;
}

void EtwSummarySource(EtwSummary *summary, const EtwSource *source)
{
    Summary *s = (Summary *)summary;
    EtwText none = {0};
    EtwSinkBegin(s->sink, source, &none);
    EtwTextFree(&none);
}

void EtwSummaryAdd(EtwSummary *summary, const EtwEvent *event)
{
    Summary *s = (Summary *)summary;
    if (EtwEventIsHeader(event)) {
        s->pub.header++;
        return;
    }
    const EtwSchema *schema = EtwSchemaOf(s->store, event);
    if (s->pub.config.enter != NULL) {
        EtwSummaryPair(s, event, schema);
    } else {
        EtwSummaryCount(s, event, schema, NULL, NULL);
    }
}

void EtwSummaryEnd(EtwSummary *summary)
{
    Summary *s = (Summary *)summary;
    s->pub.unpaired += EtwSummaryPairsFree(s);
    EtwSummaryGroupsTrim(s, s->pub.config.groupsMax);
}

void EtwSummaryFree(EtwSummary *summary)
{
    Summary *s = (Summary *)summary;
    if (s == NULL) {
        return;
    }
    EtwSummaryPairsFree(s);
    EtwSummaryGroupsFree(s);
    freeColumns(s->by);
    freeColumns(s->distinct);
    freeColumns(s->pairKey);
    EtwColumnFree(s->value);
    EtwColumnFree(s->callId);
    EtwTextFree(&s->cell);
    EtwTextFree(&s->key);
    EtwSinkFree(s->sink);
    EtwFree(s);
}
