/*
 * tests/schema/test_inband_schema.c --
 *
 *	What a trace says of its own events: EventSource manifests in pieces, metadata of merged
 *	files, PerfTrack manifests, files that teach before their events are due.
 */
#include "tests/support/check.h"
#include "tests/support/corpus.h"
#include "flow/source/source_int.h"
#include "tests/support/metainfo.h"
#include "schema/model/decode.h"
#include "schema/store/event_message.h"
#include "schema/eventinfo/event_info.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static const EtwGuid acme = {{4, 3, 2, 1, 6, 5, 8, 7, 9, 10, 11, 12, 13, 14, 15, 16}};

#define XML_OF(id, name, message)                                                                  \
    "<instrumentationManifest><instrumentation><events><provider name=\"Acme\" "                   \
    "guid=\"{01020304-0506-0708-090a-0b0c0d0e0f10}\"><tasks><task name=\"" name                    \
    "\" value=\"9\"/></tasks><templates><template tid=\"T\"><data name=\"a\" "                     \
    "inType=\"win:UInt8\"/></template></templates><events><event value=\"" id "\" task=\"" name    \
    "\" template=\"T\" message=\"$(string.m)\"/></events></provider></events>"                     \
    "</instrumentation><localization><resources culture=\"en-US\"><stringTable><string id=\"m\" "  \
    "value=\"" message "\"/></stringTable></resources></localization></instrumentationManifest>"

static const char xml[] = XML_OF("5", "Ping", "got {0:x}, {1} and {x}");

/* ---- Helpers --------------------------------------------------------------------------------- */

static void learn(EtwSchemaStore *store, InfoKind kind, const EtwText *payload)
{
    EtwEvent e = InfoCarrier(kind, &acme, payload->data, payload->size);
    CHECK(EtwEventIsSchema(&e));
    EtwSchemaHarvest(store, &e);
}

static void learnChunk(EtwSchemaStore *store, uint32_t pid, uint16_t total, uint16_t number,
        const char *text, size_t size)
{
    EtwText t = {0};
    InfoChunk(&t, total, number, text, size);
    EtwEvent e = InfoCarrier(INFO_CHUNK, &acme, t.data, t.size);
    e.pid = pid;
    EtwSchemaHarvest(store, &e);
    EtwTextFree(&t);
}

static EtwEvent eventOf(uint16_t code, uint8_t version, bool classic)
{
    static const uint8_t payload[] = {3, 0, 0, 0, 0, 0, 0, 0};
    EtwEvent e = {.provider = acme,
            .pointerSize = 8,
            .classic = classic,
            .payload = payload,
            .payloadSize = sizeof payload};
    e.desc.id = classic ? 0 : code;
    e.desc.opcode = classic ? (uint8_t)code : 0;
    e.desc.version = version;
    return e;
}

static const EtwSchema *schemaOf(EtwSchemaStore *store, uint16_t code, uint8_t version)
{
    EtwEvent e = eventOf(code, version, false);
    return EtwSchemaOf(store, &e);
}

/* ---- EventSource manifests ------------------------------------------------------------------- */

static void learn_1_1_whole(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    CHECK(schemaOf(store, 5, 0) == NULL);
    learnChunk(store, 7, 1, 0, xml, sizeof xml - 1);
    const EtwSchema *schema = schemaOf(store, 5, 0);
    REQUIRE(schema != NULL);
    CHECK_STR(schema->provider, "Acme");
    CHECK_STR(schema->event, "Ping");
    CHECK_EQ(schema->origin, ETW_ORIGIN_STREAM);
    CHECK_STR(schema->message, "got %1, %2 and {x}");
    CHECK_STR(EtwProviderName(store, &acme), "Acme");
    learnChunk(store, 7, 1, 0, xml, sizeof xml - 1); /* once more changes nothing */
    CHECK(schemaOf(store, 5, 0) == schema);
    EtwSchemaStoreFree(store);
}

/* Pieces in any order, of two processes at once. */
static void learn_1_2_pieces(void)
{
    static const int orders[][3] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}, {2, 1, 0}};
    static const char other[] = XML_OF("6", "Pong", "");
    enum { PART = 250 };
    for (int order = 0; order < COUNT(orders); order++) {
        EtwSchemaStore *store = EtwSchemaStoreNew();
        for (int i = 0; i < 3; i++) {
            CHECK(schemaOf(store, 5, 0) == NULL && schemaOf(store, 6, 0) == NULL);
            int n = orders[order][i];
            size_t at = (size_t)n * PART;
            learnChunk(store, 7, 3, (uint16_t)n, xml + at, n < 2 ? PART : sizeof xml - 1 - at);
            learnChunk(store, 8, 3, (uint16_t)n, other + at, n < 2 ? PART : sizeof other - 1 - at);
        }
        CHECK(schemaOf(store, 5, 0) != NULL && schemaOf(store, 6, 0) != NULL);
        EtwSchemaStoreFree(store);
    }
}

/* One was lost; the manifest is sent again from its beginning. */
static void learn_1_3_again(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    learnChunk(store, 7, 2, 0, "lost", 4);
    learnChunk(store, 7, 2, 0, xml, 100);
    CHECK(schemaOf(store, 5, 0) == NULL);
    learnChunk(store, 7, 2, 1, xml + 100, sizeof xml - 101);
    CHECK(schemaOf(store, 5, 0) != NULL);
    EtwSchemaStoreFree(store);
}

static void learn_1_4_nonsense(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    learnChunk(store, 7, 0, 0, xml, sizeof xml - 1);
    learnChunk(store, 7, 2, 2, xml, sizeof xml - 1);
    learnChunk(store, 7, 0xFFFF, 1, xml, sizeof xml - 1);
    learnChunk(store, 7, 1, 0, xml, 300);
    CHECK(schemaOf(store, 5, 0) == NULL);
    for (uint32_t pid = 0; pid < 2000; pid++) { /* none of them complete: the oldest go */
        learnChunk(store, pid, 2, 0, xml, sizeof xml - 1);
    }
    learnChunk(store, 1999, 2, 1, " ", 1);
    CHECK(schemaOf(store, 5, 0) != NULL);
    EtwSchemaStoreFree(store);
}

/* The newest manifest that has the event; an older one where only that has its version. */
static void learn_1_5_newest(void)
{
    static const char later[] = XML_OF("5\" version=\"1", "Later", "");
    static const char same[] = XML_OF("5", "Same", "");
    EtwSchemaStore *store = EtwSchemaStoreNew();
    learnChunk(store, 7, 1, 0, xml, sizeof xml - 1);
    learnChunk(store, 7, 1, 0, later, sizeof later - 1);
    REQUIRE(schemaOf(store, 5, 0) != NULL && schemaOf(store, 5, 1) != NULL);
    CHECK_STR(schemaOf(store, 5, 0)->event, "Ping");
    CHECK_STR(schemaOf(store, 5, 1)->event, "Later");
    CHECK_STR(schemaOf(store, 5, 2)->event, "Later");
    learnChunk(store, 8, 1, 0, same, sizeof same - 1);
    CHECK_STR(schemaOf(store, 5, 0)->event, "Same");
    EtwSchemaStoreFree(store);
}

/* A piece of a manifest is an event, too. */
static void learn_1_6_piece_itself(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwText t = {0};
    EtwValue value;
    InfoChunk(&t, 3, 2, "<xml>", 5);
    EtwEvent e = InfoCarrier(INFO_CHUNK, &acme, t.data, t.size);
    const EtwSchema *schema = EtwSchemaOf(store, &e);
    REQUIRE(schema != NULL);
    CHECK_STR(schema->event, "ManifestData");
    CHECK(EtwDecodeField(schema, &e, 5, &value) == ETW_OK && value.u == 2);
    CHECK(EtwDecodeField(schema, &e, 6, &value) == ETW_OK);
    CHECK_MEM(value.data, value.size, "<xml>", 5);
    EtwTextFree(&t);
    EtwSchemaStoreFree(store);
}

/* ---- Metadata -------------------------------------------------------------------------------- */

static const InfoProperty properties[] = {
        {0, "Count", 8, 8, NULL, 1, 4},
        {1, "Pairs", 4, 2, NULL, 1, 0}, /* count set to property 0 below */
        {0, "Kind ", 4, 4, "Food", 1, 1},
        {2, "Name", 1, 1, NULL, 1, 0}, /* as many characters as property 0 says */
        {0, "X", 6, 6, NULL, 1, 2},
        {0x20, "Y", 4, 4, NULL, 1, 1},
};

static void addInfo(EtwText *t, uint16_t code, bool classic)
{
    InfoProperty own[COUNT(properties)];
    memcpy(own, properties, sizeof own);
    own[1].flags |= 4;
    own[1].count = 0;
    t->size = 0;
    InfoEvent(t, &acme, code, 1, classic, own, COUNT(own), 4);
}

static void checkInfo(const EtwSchema *schema)
{
    static const char *const names[] = {"Count", "Pairs", "X", "Y", "Kind", "Name"};
    REQUIRE(schema != NULL && schema->fieldCount == COUNT(names));
    const EtwField *f = schema->fields;
    for (int i = 0; i < COUNT(names); i++) {
        CHECK_STR(f[i].name, names[i]);
    }
    CHECK_STR(schema->provider, "Acme");
    CHECK_STR(schema->event, "Eat/Bite");
    CHECK_STR(schema->message, "Ate %1");
    CHECK_EQ(schema->origin, ETW_ORIGIN_METADATA);
    CHECK(f[0].counts && f[1].in == ETW_IN_STRUCT && f[1].members == 2 && f[1].span == 3);
    CHECK(f[1].array == ETW_ARRAY_BY_FIELD && f[1].count == 0);
    CHECK(f[2].array == ETW_SCALAR && f[3].array == ETW_ARRAY_FIXED);
    CHECK(f[5].sized == ETW_SIZE_BY_FIELD && f[5].length == 0);
}

static void learn_2_1_event(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwText t = {0};
    addInfo(&t, 21, false);
    learn(store, INFO_EVENT_INFO, &t);
    CHECK(schemaOf(store, 21, 0) == NULL); /* of another version */
    checkInfo(schemaOf(store, 21, 1));
    addInfo(&t, 12, true);
    learn(store, INFO_EVENT_INFO, &t);
    EtwEvent e = eventOf(12, 1, true);
    checkInfo(EtwSchemaOf(store, &e));
    EtwTextFree(&t);
    EtwSchemaStoreFree(store);
}

/* The map comes before or after the event that uses it. */
static void learn_2_2_maps(void)
{
    static const char *const food[] = {"Egg ", "Pie"};
    for (int after = 0; after < 2; after++) {
        EtwSchemaStore *store = EtwSchemaStoreNew();
        EtwText info = {0}, map = {0};
        addInfo(&info, 21, false);
        InfoMap(&map, &acme, "Food", 1, food, COUNT(food));
        learn(store, after ? INFO_EVENT_INFO : INFO_MAP_INFO, after ? &info : &map);
        const EtwSchema *early = schemaOf(store, 21, 1);
        CHECK((early != NULL) == (after == 1));
        learn(store, after ? INFO_MAP_INFO : INFO_EVENT_INFO, after ? &map : &info);
        const EtwSchema *schema = schemaOf(store, 21, 1);
        checkInfo(schema);
        REQUIRE(schema != NULL && schema->fields[4].map != NULL);
        CHECK_EQ(schema->fields[4].map->count, 2);
        CHECK_STR(schema->fields[4].map->entries[0].name, "Egg");
        CHECK(early == NULL || early->fields[4].map == NULL); /* whoever has it may keep it */
        EtwTextFree(&info);
        EtwTextFree(&map);
        EtwSchemaStoreFree(store);
    }
}

/* Cut anywhere, or with any byte changed, it is refused or at least harms nobody. */
static void learn_2_3_damage(void)
{
    EtwText t = {0};
    bool missing;
    addInfo(&t, 21, false);
    for (size_t size = 0; size < t.size; size++) {
        EtwSchemaStore *store = EtwSchemaStoreNew();
        uint8_t *copy = EtwAlloc(size + 1); /* of that very size, for the sanitizer */
        memcpy(copy, t.data, size);
        EtwEvent e = InfoCarrier(INFO_EVENT_INFO, &acme, copy, size);
        EtwSchemaHarvest(store, &e);
        const EtwSchema *schema = schemaOf(store, 21, 1);
        CHECK(size >= 0x70 + 24 * COUNT(properties) || schema == NULL);
        EtwFree(copy);
        EtwSchemaStoreFree(store);
    }
    for (size_t at = 0; at < t.size; at++) {
        char was = t.data[at];
        t.data[at] = (char)0xFF;
        EtwSchemaStore *store = EtwSchemaStoreNew();
        EtwEvent e = InfoCarrier(INFO_EVENT_INFO, &acme, t.data, t.size);
        EtwSchemaHarvest(store, &e);
        schemaOf(store, 21, 1);
        EtwSchemaStoreFree(store);
        t.data[at] = was;
    }
    CHECK(EtwEventInfoParse((const uint8_t *)t.data, 0x6F, NULL, NULL, &missing) == NULL);
    EtwTextFree(&t);
}

/* ---- PerfTrack ------------------------------------------------------------------------------- */

/* Many fields that share one long name: what is made of a description is a dozen times its size. */
static void learn_2_4_room(void)
{
    enum { FIELDS = 2000, EVENTS = 400 };
    char name[251] = {0};
    InfoProperty *many = EtwAlloc(sizeof *many * FIELDS);
    memset(name, 'n', sizeof name - 1);
    for (int i = 0; i < FIELDS; i++) {
        many[i] = (InfoProperty){.in = 3, .count = 1, .name = i == 0 ? name : NULL};
    }
    EtwText info = {0};
    InfoEvent(&info, &acme, 0, 0, false, many, FIELDS, FIELDS);
    uint32_t shared = EtwLoad32(info.data + 0x70 + 4);
    for (size_t i = 0; i < FIELDS; i++) {
        EtwStore32(info.data + 0x70 + 24 * i + 4, shared);
    }
    EtwSchemaStore *store = EtwSchemaStoreNew();
    int known = 0;
    for (int i = 0; i < EVENTS; i++) {
        EtwStore16(info.data + 0x20, (uint16_t)i);
        learn(store, INFO_EVENT_INFO, &info);
    }
    for (int i = 0; i < EVENTS; i++) {
        known += schemaOf(store, (uint16_t)i, 0) != NULL;
    }
    CHECK_MSG(known > 100 && known < 300, "%d of %d made", known, EVENTS);
    EtwSchemaStoreFree(store);
    EtwTextFree(&info);
    EtwFree(many);
}

static void learn_3_1_perftrack(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwText t = {0};
    size_t size = sizeof xml - 1;
    EtwTextReserve(&t, 6);
    EtwStore32(t.data, (uint32_t)size);
    EtwStore16(t.data + 4, (uint16_t)(0x3000 | (size - 1))); /* a chunk that is not compressed */
    t.size = 6;
    EtwTextAdd(&t, xml, size);
    learn(store, INFO_PERFTRACK, &t);
    REQUIRE(schemaOf(store, 5, 0) != NULL);
    CHECK_STR(schemaOf(store, 5, 0)->event, "Ping");
    CHECK_EQ(schemaOf(store, 5, 0)->origin, ETW_ORIGIN_METADATA);
    EtwStore32(t.data, 0xFFFFFFFF);
    learn(store, INFO_PERFTRACK, &t);
    EtwTextFree(&t);
    EtwSchemaStoreFree(store);
}

/* ---- Stores and sources ------------------------------------------------------------------------ */

typedef struct Teacher {
    EtwSchemaHarvester base;
    int *asked, *freed;
} Teacher;

static void harvest(
        EtwSchemaHarvester *base, void (*learnProc)(void *ctx, const EtwEvent *event), void *ctx)
{
    EtwText t = {0};
    InfoChunk(&t, 1, 0, xml, sizeof xml - 1);
    EtwEvent e = InfoCarrier(INFO_CHUNK, &acme, t.data, t.size);
    learnProc(ctx, &e);
    EtwTextFree(&t);
    ++*((Teacher *)base)->asked;
}

static void freeHarvester(EtwSchemaHarvester *base)
{
    ++*((Teacher *)base)->freed;
    EtwFree(base);
}

static EtwSchemaHarvester *newTeacher(int *asked, int *freed)
{
    Teacher *t = EtwAlloc(sizeof *t);
    *t = (Teacher){
            .base = {.harvest = harvest, .free = freeHarvester}, .asked = asked, .freed = freed};
    return &t->base;
}

static void learn_4_1_teachers(void)
{
    int asked = 0, freed = 0;
    EtwSchemaStore *store = EtwSchemaStoreNew(), *twin = EtwSchemaStoreClone(store);
    EtwSchemaAddHarvester(store, newTeacher(&asked, &freed));
    EtwSchemaAddHarvester(store, newTeacher(&asked, &freed));
    EtwEvent header = {.classic = true};
    EtwGuidParse("68fdd900-4a3e-11d1-84f4-0000f80464e3", &header.provider);
    EtwSchemaOf(store, &header);
    CHECK_EQ(asked, 0); /* nobody needs them yet */
    CHECK(schemaOf(twin, 5, 0) != NULL);
    CHECK_EQ(asked, 2);
    CHECK_EQ(freed, 2);
    CHECK(schemaOf(store, 5, 0) == schemaOf(twin, 5, 0));
    EtwSchemaStoreFree(store);
    CHECK_STR(schemaOf(twin, 5, 0)->event, "Ping");
    EtwSchemaAddHarvester(twin, newTeacher(&asked, &freed)); /* never asked */
    EtwSchemaStoreFree(twin);
    CHECK_EQ(asked, 2);
    CHECK_EQ(freed, 3);
}

/* One thread hears manifests while another decodes what they describe. */
enum { TOLD = 200 };

static void hear(void *arg)
{
    char text[400];
    for (int id = 1; id <= TOLD; id++) {
        int size = snprintf(text, sizeof text,
                "<a><events><provider guid=\"{01020304-0506-0708-090a-0b0c0d0e0f10}\" "
                "name=\"Acme\"><events><event value=\"%d\" symbol=\"E%d\"/></events></provider>"
                "</events></a>",
                id, id);
        learnChunk(arg, 7, 1, 0, text, (size_t)size);
    }
}

static void learn_4_3_threads(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew(), *twin = EtwSchemaStoreClone(store);
    OsThread *thread;
    char name[16];
    REQUIRE(OsThreadStart(&thread, "hear", hear, store) == ETW_OK);
    for (int id = 1; id <= TOLD; id++) {
        const EtwSchema *schema;
        do {
            schema = schemaOf(twin, (uint16_t)id, 0);
        } while (schema == NULL);
        snprintf(name, sizeof name, "E%d", id);
        CHECK_STR(schema->event, name);
    }
    OsThreadJoin(thread);
    EtwSchemaStoreFree(store);
    EtwSchemaStoreFree(twin);
}

/* A source without a way to look ahead: what it says counts from then on. */
typedef struct Talk {
    EtwSource base;
    int turn;
    EtwText chunk;
} Talk;

static EtwStatus talkNext(EtwSource *source, EtwEvent *event)
{
    Talk *talk = (Talk *)source;
    *event = talk->turn == 1 ? InfoCarrier(INFO_CHUNK, &acme, talk->chunk.data, talk->chunk.size)
                             : eventOf(5, 0, false);
    return talk->turn++ < 3 ? ETW_OK : ETW_END;
}

static void learn_4_2_as_they_come(void)
{
    static const EtwSourceOps ops = {.next = talkNext};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Talk talk = {.base.ops = &ops};
    EtwEvent e;
    InfoChunk(&talk.chunk, 1, 0, xml, sizeof xml - 1);
    EtwSourceHarvest(&talk.base, store);
    REQUIRE(EtwSourceNext(&talk.base, &e) == ETW_OK);
    CHECK(EtwSchemaOf(store, &e) == NULL);
    REQUIRE(EtwSourceNext(&talk.base, &e) == ETW_OK && EtwEventIsSchema(&e));
    REQUIRE(EtwSourceNext(&talk.base, &e) == ETW_OK);
    CHECK(EtwSchemaOf(store, &e) != NULL);
    EtwTextFree(&talk.chunk);
    EtwSchemaStoreFree(store);
}

/* ---- Real files ------------------------------------------------------------------------------ */

typedef struct Shares {
    long events, unknown, rest, origins[ETW_ORIGIN_COUNT];
    bool left;
} Shares;

static void ignoreValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    (void)ctx, (void)field, (void)value;
}

static void noteTrailing(void *ctx, const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    ((Shares *)ctx)->left = true;
}

static void countEvent(Shares *s, EtwSchemaStore *store, const EtwEvent *event)
{
    static const EtwVisitor visitor = {.value = ignoreValue, .rest = noteTrailing};
    const EtwSchema *schema = EtwSchemaOf(store, event);
    s->events++;
    if (schema == NULL) {
        s->unknown++;
        return;
    }
    s->origins[schema->origin]++;
    s->left = false;
    EtwStatus status = EtwDecode(schema, event, &visitor, s);
    bool ours = schema->origin == ETW_ORIGIN_STREAM || schema->origin == ETW_ORIGIN_METADATA;
    /* PerfView writes eight bytes for an enumeration that its manifest calls a UInt32. */
    bool known = strcmp(schema->event, "ClrEnableParameters") == 0;
    s->rest += known;
    CHECK_MSG(!ours || known || (status == ETW_OK && !s->left), "%s/%s id %d: %s", schema->provider,
            schema->event, event->desc.id, status ? "too short" : "too long");
}

/* All events of the files, merged. */
static bool countFiles(Shares *s, const char *const *names)
{
    EtwSource *sources[8];
    int count = 0;
    EtwError err;
    EtwEvent event;
    memset(s, 0, sizeof *s);
    for (; names[count] != NULL; count++) {
        const char *path = CorpusFile(names[count]);
        if (!OsFileExists(path)) {
            return false;
        }
        if (!CHECK_MSG(EtwSourceOpen(&sources[count], path, &err) == ETW_OK, "%s", err.message)) {
            return false;
        }
    }
    EtwSource *merged = EtwSourceMerge(sources, count);
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwSourceHarvest(merged, store);
    while (EtwSourceNext(merged, &event) == ETW_OK) {
        countEvent(s, store, &event);
    }
    EtwSourceClose(merged);
    EtwSchemaStoreFree(store);
    return true;
}

/* Every event that the file itself describes is found, and decodes to exactly its end. */
static void learn_5_1_corpus(void)
{
    static const struct {
        const char *files[5];
        long stream, metadata, rest;
    } cases[] = {
            {{"microsoft__Tx/BondEtwSample.etl"}, 11, 0, 0},
            {{"microsoft__Tx/BondEtwSample~2ca9cdf.etl"}, 11, 0, 0},
            {{"microsoft__demikernel/PktMon.etl"}, 0, 403, 0},
            {{"microsoft__perfview/net.4.5.2.x64.etl"}, 118, 66394, 2},
            {{"microsoft__perfview/net.4.5.2.x86.etl"}, 119, 39854, 2},
            {{"microsoft__perfview/diaghub.etl", "microsoft__perfview/diaghub.kernel.1.etl",
                     "microsoft__perfview/diaghub.user_injected.1.etl",
                     "microsoft__perfview/diaghub.user_paged.1.etl"},
                    18, 21757, 0},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        Shares s;
        if (!countFiles(&s, cases[i].files)) {
            SKIP("no corpus in %s", Corpus());
        }
        CHECK_MSG(s.origins[ETW_ORIGIN_STREAM] == cases[i].stream &&
                          s.origins[ETW_ORIGIN_METADATA] == cases[i].metadata &&
                          s.rest == cases[i].rest,
                "%s: stream %ld, metadata %ld, rest %ld", cases[i].files[0],
                s.origins[ETW_ORIGIN_STREAM], s.origins[ETW_ORIGIN_METADATA], s.rest);
    }
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(learn_1_1_whole);
    CHECK_RUN(learn_1_2_pieces);
    CHECK_RUN(learn_1_3_again);
    CHECK_RUN(learn_1_4_nonsense);
    CHECK_RUN(learn_1_5_newest);
    CHECK_RUN(learn_1_6_piece_itself);
    CHECK_RUN(learn_2_1_event);
    CHECK_RUN(learn_2_2_maps);
    CHECK_RUN(learn_2_3_damage);
    CHECK_RUN(learn_2_4_room);
    CHECK_RUN(learn_3_1_perftrack);
    CHECK_RUN(learn_4_1_teachers);
    CHECK_RUN(learn_4_2_as_they_come);
    CHECK_RUN(learn_4_3_threads);
    CHECK_RUN(learn_5_1_corpus);
    return CHECK_DONE();
}
