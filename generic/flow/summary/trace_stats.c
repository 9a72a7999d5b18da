/*
 * flow/summary/trace_stats.c --
 *
 *	Counts a trace's events by kind and determines how completely each kind is decoded. `etw
 *	info` (tcl/consume) reports the result.
 */
#include "schema/store/header_labels.h"
#include "flow/summary/trace_stats.h"
#include "etl/format.h"
#include "semantics/semantics.h"
#include "schema/kernel/kernel_classes.h"
#include "base/hash_table.h"

enum { KINDS_MAX = 25000 }; /* further kinds are counted as one */

typedef struct Kind {
    EtwTableNode node;
    EtwTraceStatsKind kind;
    const EtwSchema *schema;
    EtwDescriptor desc; /* id and opcode, if there is no schema */
    bool hasFacts;      /* its first event contains facts of the machine */
} Kind;

typedef struct TraceStats {
    EtwTraceStats stats;
    EtwSchemaStore *store;
    EtwTable table;
    Kind *last, *others; /* others: NULL if all kinds fit */
    EtwTraceStatsKind **kindsEnd;
    EtwTraceFact **factsEnd;
} TraceStats;

const char *EtwCoverageName(EtwCoverage coverage)
{
    static const char *const names[ETW_COVER_COUNT] = {
            "full", "newer", "longer", "shorter", "event", "provider", "format"};
    return coverage < ETW_COVER_COUNT ? names[coverage] : "";
}

EtwTraceStats *EtwTraceStatsNew(EtwSchemaStore *store)
{
    TraceStats *s = EtwAlloc(sizeof *s);
    s->store = store;
    s->kindsEnd = &s->stats.kinds;
    s->factsEnd = &s->stats.facts;
    return &s->stats;
}

static void freeKind(void *ctx, EtwTableNode *node)
{
    Kind *k = (Kind *)node;
    (void)ctx;
    EtwFree((char *)k->kind.providerName);
    EtwFree((char *)k->kind.event);
    EtwFree(k);
}

void EtwTraceStatsFree(EtwTraceStats *stats)
{
    TraceStats *s = (TraceStats *)stats;
    EtwTableFree(&s->table, freeKind);
    for (EtwTraceFact *f = stats->facts, *next; f != NULL; f = next) {
        next = f->next;
        EtwFree((char *)f->value);
        EtwFree(f);
    }
    EtwFree(s);
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

static inline bool kindFits(const Kind *k, const EtwSchema *schema, const EtwEvent *event)
{
    return k->schema == schema && EtwGuidEqual(&k->kind.provider, &event->provider) &&
           (schema != NULL ||
                   (k->desc.id == event->desc.id && k->desc.opcode == event->desc.opcode));
}

static char *takeText(EtwText *text)
{
    EtwTextChar(text, 0);
    return text->data;
}

static char *providerNameOf(TraceStats *s, const EtwSchema *schema, const EtwEvent *event)
{
    char guid[ETW_GUID_TEXT];
    const char *name = EtwProviderNameOf(s->store, schema, event);
    EtwGuidFormat(&event->provider, guid);
    return EtwStrdup(name != NULL ? name : guid);
}

static char *eventNameOf(const EtwSchema *schema, const EtwEvent *event)
{
    EtwText text = {0};
    EtwAddEventName(&text, schema, event);
    return takeText(&text);
}

static bool hasFacts(const EtwSchema *schema)
{
    EtwMeaning meaning = schema != NULL ? EtwMeaningOf(schema) : ETW_MEANS_OTHER;
    return meaning == ETW_MEANS_MACHINE || meaning == ETW_MEANS_HOST;
}

static Kind *newKind(TraceStats *s, const EtwSchema *schema, const EtwEvent *event)
{
    Kind *k = EtwAlloc(sizeof *k);
    k->schema = schema;
    k->desc = event->desc;
    k->kind.provider = event->provider;
    k->kind.providerName = providerNameOf(s, schema, event);
    k->kind.event = eventNameOf(schema, event);
    k->kind.origin = schema != NULL ? schema->origin : -1;
    k->hasFacts = hasFacts(schema);
    *s->kindsEnd = &k->kind;
    s->kindsEnd = &k->kind.next;
    return k;
}

/* The kind of all events beyond the limit. */
static Kind *othersOf(TraceStats *s)
{
    if (s->others == NULL) {
        Kind *k = EtwAlloc(sizeof *k);
        k->kind.providerName = EtwStrdup("(others)");
        k->kind.event = EtwStrdup("(others)");
        k->kind.origin = -1;
        *s->kindsEnd = &k->kind;
        s->kindsEnd = &k->kind.next;
        EtwTableAdd(&s->table, &k->node, 0);
        s->others = k;
    }
    return s->others;
}

static Kind *kindOf(TraceStats *s, const EtwSchema *schema, const EtwEvent *event)
{
    if (s->last != NULL && kindFits(s->last, schema, event)) {
        return s->last;
    }
    uint64_t key = schema != NULL ? (uint64_t)(uintptr_t)schema
                                  : event->desc.id | (uint64_t)event->desc.opcode << 16;
    uint64_t hash = EtwHashMix(EtwHashGuid(&event->provider), key);
    for (EtwTableNode *n = EtwTableFirst(&s->table, hash); n != NULL; n = n->next) {
        if (n->hash == hash && kindFits((Kind *)n, schema, event)) {
            return s->last = (Kind *)n;
        }
    }
    if (s->table.count >= KINDS_MAX) {
        return othersOf(s);
    }
    s->last = newKind(s, schema, event);
    EtwTableAdd(&s->table, &s->last->node, hash);
    return s->last;
}

/* ---- Coverage --------------------------------------------------------------------------------- */

static void ignoreValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    (void)ctx, (void)field, (void)value;
}

static void noteTrailing(void *ctx, const uint8_t *data, size_t size)
{
    (void)data;
    *(bool *)ctx = size != 0;
}

static EtwCoverage coverageOf(TraceStats *s, const EtwSchema *schema, const EtwEvent *event)
{
    static const EtwVisitor visitor = {.value = ignoreValue, .rest = noteTrailing};
    bool rest = false;
    if (schema == NULL) {
        return event->kind == ETL_MESSAGE                            ? ETW_COVER_FORMAT
               : EtwProviderName(s->store, &event->provider) != NULL ? ETW_COVER_EVENT
                                                                     : ETW_COVER_PROVIDER;
    }
    if (EtwDecode(schema, event, &visitor, &rest) != ETW_OK) {
        return ETW_COVER_SHORTER;
    }
    if (!rest) {
        return ETW_COVER_FULL;
    }
    if (schema->fieldCount == 0) {
        return ETW_COVER_EVENT;
    }
    return event->desc.version > schema->version && event->metaSize == 0 ? ETW_COVER_NEWER
                                                                         : ETW_COVER_LONGER;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static const struct {
    EtwRole role;
    const char *fact;
} facts[] = {{ETW_ROLE_COMPUTER, "computer"}, {ETW_ROLE_DOMAIN, "domain"},
        {ETW_ROLE_SYSTEM, "system"}, {ETW_ROLE_TCL, "tcl"}, {ETW_ROLE_PROCESSORS, "cpus"},
        {ETW_ROLE_MHZ, "mhz"}, {ETW_ROLE_MEMORY, "memory"}, {ETW_ROLE_ARCHITECTURE, "architecture"},
        {ETW_ROLE_PROCESSOR, "processor"}, {ETW_ROLE_MANUFACTURER, "manufacturer"},
        {ETW_ROLE_MODEL, "model"}, {ETW_ROLE_BIOS, "bios"}, {ETW_ROLE_PRODUCT, "product"},
        {ETW_ROLE_BUILD, "buildlab"}};

static void addFact(TraceStats *s, const char *name, const EtwField *field, const EtwValue *value)
{
    EtwText text = {0};
    EtwFormatValue(&text, field, value);
    if (text.size == 0 || EtwTraceStatsFact(&s->stats, name) != NULL) {
        EtwTextFree(&text);
        return;
    }
    EtwTraceFact *fact = EtwAlloc(sizeof *fact);
    fact->name = name;
    fact->value = takeText(&text);
    *s->factsEnd = fact;
    s->factsEnd = &fact->next;
}

static void takeFacts(TraceStats *s, const Kind *k, const EtwEvent *event)
{
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        EtwValue value;
        int field = EtwSemanticsOf(k->schema)->field[facts[i].role];
        if (field >= 0 && EtwDecodeField(k->schema, event, field, &value) == ETW_OK) {
            addFact(s, facts[i].fact, &k->schema->fields[field], &value);
        }
    }
}

const char *EtwTraceStatsFact(const EtwTraceStats *stats, const char *name)
{
    for (const EtwTraceFact *f = stats->facts; f != NULL; f = f->next) {
        if (strcmp(f->name, name) == 0) {
            return f->value;
        }
    }
    return NULL;
}

/*
 * Events that describe others or name processes are at times of their own, for example when the trace was
 * merged, or is a part of another one: they set the range only while there are no others.
 */
static void countTime(EtwTraceStats *stats, const EtwEvent *event)
{
    bool schema = EtwEventIsSchema(event), none = stats->events == stats->outside;
    bool outside = schema || EtwEventNamesProcess(event);
    if (none || !outside) {
        stats->first = (outside ? stats->events == 0 : none) ? event->time : stats->first;
        stats->last = event->time;
    }
    stats->events++;
    stats->metadata += schema;
    stats->outside += outside;
}

void EtwTraceStatsAdd(EtwTraceStats *stats, const EtwEvent *event)
{
    TraceStats *s = (TraceStats *)stats;
    if (EtwEventIsHeader(event)) {
        stats->header++;
        return;
    }
    EtwEvent fitting; /* with the pointer width that listings use (flow/track/name_tracker.c) */
    uint8_t width = event->classic ? EtwKernelPointerSize(event) : event->pointerSize;
    if (width != event->pointerSize) {
        fitting = *event;
        fitting.pointerSize = width;
        event = &fitting;
    }
    const EtwSchema *schema = EtwSchemaOf(s->store, event);
    Kind *k = kindOf(s, schema, event);
    countTime(stats, event);
    k->kind.covered[coverageOf(s, schema, event)]++;
    if (k->kind.count++ == 0 && k->hasFacts) {
        takeFacts(s, k, event);
    }
}

/* ---- Versions of Windows ---------------------------------------------------------------------- */

/* server: of servers with the same build; NULL: none. */
static const struct {
    unsigned build;
    const char *name, *release, *server;
} windows[] = {{2195, "Windows 2000", "", NULL}, {2600, "Windows XP", "", NULL},
        {3790, "Windows Server 2003", "", NULL}, {6000, "Windows Vista", "", NULL},
        {6001, "Windows Vista", "SP1", "Server 2008"},
        {6002, "Windows Vista", "SP2", "Server 2008 SP2"},
        {7600, "Windows 7", "", "Server 2008 R2"}, {7601, "Windows 7", "SP1", "Server 2008 R2 SP1"},
        {9200, "Windows 8", "", "Server 2012"}, {9600, "Windows 8.1", "", "Server 2012 R2"},
        {10240, "Windows 10", "1507", NULL}, {10586, "Windows 10", "1511", NULL},
        {14393, "Windows 10", "1607", "Server 2016"}, {15063, "Windows 10", "1703", NULL},
        {16299, "Windows 10", "1709", "Server 1709"}, {17134, "Windows 10", "1803", "Server 1803"},
        {17763, "Windows 10", "1809", "Server 2019"}, {18362, "Windows 10", "1903", "Server 1903"},
        {18363, "Windows 10", "1909", "Server 1909"}, {19041, "Windows 10", "2004", "Server 2004"},
        {19042, "Windows 10", "20H2", "Server 20H2"}, {19043, "Windows 10", "21H1", NULL},
        {19044, "Windows 10", "21H2", NULL}, {19045, "Windows 10", "22H2", NULL},
        {20348, "Windows Server 2022", "", NULL}, {22000, "Windows 11", "21H2", NULL},
        {22621, "Windows 11", "22H2", NULL}, {22631, "Windows 11", "23H2", NULL},
        {25398, "Windows Server", "23H2", NULL}, {26100, "Windows 11", "24H2", "Server 2025"},
        {26200, "Windows 11", "25H2", NULL}};

enum { FIRST_OF_WINDOWS_11 = 22000 };

/* Windows 11 has the product name of Windows 10, with its edition. */
static void addProduct(EtwText *out, unsigned build, const char *product)
{
    static const char wrong[] = "Windows 10";
    size_t size = sizeof wrong - 1;
    if (build >= FIRST_OF_WINDOWS_11 && strncmp(product, wrong, size) == 0) {
        EtwTextStr(out, "Windows 11");
        product += size;
    }
    EtwTextStr(out, product);
}

void EtwWindowsName(
        EtwText *out, unsigned major, unsigned minor, unsigned build, const char *product)
{
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        if (windows[i].build == build) {
            addProduct(out, build, product != NULL ? product : windows[i].name);
            EtwTextStr(out, windows[i].release[0] ? " " : "");
            EtwTextStr(out, windows[i].release);
            if (product == NULL && windows[i].server != NULL) {
                EtwTextPrintf(out, " or %s", windows[i].server);
            }
            return;
        }
    }
    if (product != NULL) {
        addProduct(out, build, product);
    } else if (major == 10) {
        EtwTextStr(out, build >= FIRST_OF_WINDOWS_11 ? "Windows 11 or Server" : "Windows 10");
    } else {
        EtwTextPrintf(out, "Windows %u.%u", major, minor);
    }
    EtwTextPrintf(out, " build %u", build);
}
