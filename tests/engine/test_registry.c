/*
 * tests/engine/test_registry.c --
 *
 *	The user's registry, one promise at a time: names of sessions, slots of providers, registrations of processes,
 *	what Etw_Enabled reads, event classes, files of other versions; and what a session's mapping says of it.
 */
#include "tests/support/engine_support.h"
#include "engine/shared/process_scope.h"
#include "engine/shared/registry.h"
#include "engine/session/session.h"
#include "semantics/declared_events.h"
#ifndef _WIN32
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

static Registry *r;

static EtwGuid guidOf(uint32_t number)
{
    EtwGuid g = {{0}};
    EtwStore32(g.bytes, number);
    g.bytes[15] = 1;
    return g;
}

/* ---- Files of other versions, and left by processes that have ended -------------------------- */

#ifndef _WIN32
/* Runs a function in a process of its own, which joins a registry in this directory; true: no check failed. */
static bool inProcess(const char *runtime, void (*run)(void))
{
    fflush(stdout);
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        EtwError err;
        RegUseDir(runtime);
        checkState.bad = 0;
        r = RegOpen(&err);
        if (CHECK(r != NULL)) {
            run();
        }
        fflush(stdout);
        _exit(checkState.bad != 0);
    }
    return waitpid(pid, &status, 0) == pid && status == 0;
}

static char path[1100];

static void leavesSession(void)
{
    uint64_t instance;
    EtwError err;
    RegClass head = {.provider = 1, .metaSize = 3};
    CHECK_EQ(r->arenaUsed, 64);
    CHECK_EQ(r->magic, REG_MAGIC);
    CHECK_EQ(r->size, sizeof *r);
    CHECK_EQ(RegClassOf(&head, (const uint8_t *)"", (const uint8_t *)"abc"), 64);
    CHECK_EQ(RegNewSession("left", 1000, &instance, &err), 0);
    CHECK_EQ(instance, 1000);
    RegSessionPath(instance, path, sizeof path);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fclose(f) == 0);
    RegAddRegistration(RegFindProvider(&(EtwGuid){{7}}, "left", true));
}

static void findsSession(void)
{
    CHECK_EQ(RegFindSession("left"), 0);
    CHECK(r->arenaUsed > 64);
    CHECK(RegClassAt(64) != NULL);
    /* The process that registered it has ended. */
    CHECK_EQ(RegRegistrations(RegFindProvider(&(EtwGuid){{7}}, NULL, false)), 0);
    CHECK_EQ(r->lastGeneration, 3); /* two processes, a provider */
}

static void removesSession(void)
{
    RegRemoveSession(0);
    CHECK_EQ(RegFindSession("left"), -1);
    CHECK(!OsFileExists(path));
}

static void findsNothing(void)
{
    uint64_t instance;
    EtwError err;
    CHECK_EQ(r->arenaUsed, 64);
    CHECK(RegClassAt(64) == NULL);
    CHECK(RegFindProvider(&(EtwGuid){{7}}, NULL, false) == NULL);
    CHECK_EQ(r->lastInstance, 1000);
    CHECK_EQ(r->lastGeneration, 5); /* goes on, so that keys do not recur */
    /* The clock was set back: instances rise nevertheless. */
    CHECK_EQ(RegNewSession("next", 999, &instance, &err), 0);
    CHECK_EQ(instance, 1001);
}

static void makesFile(void)
{
    uint64_t instance;
    EtwError err;
    CHECK_EQ(RegNewSession("left", 5000, &instance, &err), 1);
    RegSessionPath(instance, path, sizeof path);
    FILE *f = fopen(path, "w");
    CHECK(f != NULL && fclose(f) == 0);
}

static void spoilsMagic(void)
{
    r->magic++;
}
static void spoilsSize(void)
{
    r->size--;
}

/* Also the files of its sessions are removed, and nothing in it is believed. */
static void wasReset(void)
{
    CHECK_EQ(r->magic, REG_MAGIC);
    CHECK_EQ(r->size, sizeof *r);
    CHECK_EQ(RegFindSession("left"), -1);
    CHECK_EQ(r->lastInstance, 0);
    CHECK_EQ(r->lastGeneration, 1);
    RegSessionPath(5000, path, sizeof path);
    CHECK(!OsFileExists(path));
}

static void isFresh(void)
{
    CHECK_EQ(r->arenaUsed, 64);
    CHECK_EQ(r->lastGeneration, 1);
}

static void files_1_1_left(void)
{
    char runtime[600], name[700];
    snprintf(runtime, sizeof runtime, "%s", at("left"));
    CHECK_EQ(mkdir(runtime, 0700), 0);
    CHECK(inProcess(runtime, leavesSession));
    CHECK(inProcess(runtime, findsSession));
    snprintf(path, sizeof path, "%s/session-%016x", runtime, 1000);
    CHECK(OsFileExists(path));
    CHECK(inProcess(runtime, removesSession));
    CHECK(inProcess(runtime, findsNothing));
    snprintf(name, sizeof name, "%s/registry-4", runtime);
    /* Too short: of another version, or its maker died. */
    CHECK_EQ(truncate(name, (off_t)sizeof(Registry) - 1), 0);
    CHECK(inProcess(runtime, isFresh));
    CHECK_EQ(truncate(name, 0), 0);
    CHECK(inProcess(runtime, isFresh));
}

static void makesTwo(void)
{
    uint64_t instance;
    EtwError err;
    CHECK_EQ(RegNewSession("first", 4000, &instance, &err), 0);
    makesFile();
}

static void files_1_2_other_version(void)
{
    static void (*const spoil[])(void) = {spoilsMagic, spoilsSize};
    for (int i = 0; i < 2; i++) {
        char runtime[600];
        snprintf(runtime, sizeof runtime, "%s", at(i == 0 ? "magic" : "size"));
        CHECK_EQ(mkdir(runtime, 0700), 0);
        CHECK(inProcess(runtime, makesTwo));
        CHECK(inProcess(runtime, spoil[i]));
        CHECK(inProcess(runtime, wasReset));
    }
}
#endif

/* ---- Sessions -------------------------------------------------------------------------------- */

static void sessions_1_1_names(void)
{
    uint64_t a, b;
    EtwError err;
    int first = RegNewSession("Abc-Z[@", 1000, &a, &err),
        second = RegNewSession("abc", 1000, &b, &err);
    REQUIRE(first >= 0 && second >= 0);
    CHECK_EQ(b, a + 1);
    CHECK_EQ(RegFindSession("aBC-z[@"), first);
    CHECK_EQ(RegFindSession("ABC"), second);
    static const char *const others[] = {
            "abc-z{@", "abc-z[`", "abc-z[@x", "abc-", "ab", "", "abcd"};
    for (int i = 0; i < 7; i++) {
        CHECK_EQ(RegFindSession(others[i]), -1);
    }
    /* A session whose owner is dead has lost its name. */
    r->sessions[second].unsaved = 1;
    CHECK_EQ(RegFindSession("abc"), -1);
    uint64_t c;
    int third = RegNewSession("ABC", 5000, &c, &err);
    CHECK_EQ(c, 5000);
    CHECK_EQ(RegFindSession("abc"), third);
    CHECK_EQ(r->sessions[third].ownerPid, OsPid());
    CHECK_EQ(r->sessions[third].owner, RegSelfKey());
    CHECK_EQ(r->sessions[third].startWall, 5000);
    /* A slot that is used again has nothing of its former session. */
    r->sessions[second].stopping = 1;
    atomic_store(&r->sessions[second].recoverer, 77);
    RegRemoveSession(second);
    CHECK_EQ(RegNewSession("new", 6000, &b, &err), second);
    CHECK_EQ(r->sessions[second].stopping, 0);
    CHECK_EQ(r->sessions[second].unsaved, 0);
    CHECK_EQ(atomic_load(&r->sessions[second].recoverer), 0);
    RegRemoveSession(first);
    RegRemoveSession(second);
    RegRemoveSession(third);
    CHECK_EQ(RegFindSession("new"), -1);
}

static void sessions_1_2_most(void)
{
    uint64_t instance;
    EtwError err;
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        char name[20];
        snprintf(name, sizeof name, "s%d", i);
        CHECK_EQ(RegNewSession(name, 1, &instance, &err), i);
    }
    CHECK_EQ(RegNewSession("one more", 1, &instance, &err), -1);
    CHECK_EQ(err.status, ETW_E_LIMIT);
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        RegRemoveSession(i);
    }
}

/* ---- What is enabled ------------------------------------------------------------------------- */

static void enable(RegProvider *p, int entry, uint64_t instance, uint8_t level, uint64_t keywords)
{
    p->enables[entry] = (RegEnable){.instance = instance, .level = level, .any = keywords};
    atomic_fetch_or(&p->active, 1u << entry);
}

/* Etw_Enabled reads the highest level and the union of keywords of all that have enabled it, Windows included. */
static void enables_1_1_union(void)
{
    EtwGuid g = guidOf(1);
    RegProvider *p = RegFindProvider(&g, "Union", true);
    REQUIRE(p != NULL);
    enable(p, 0, 1, 4, 0x1);
    enable(p, 5, 2, 2, 0x10);
    enable(p, ETW_MAX_ENABLES - 1, 3, 3, 0x8000000000000000);
    p->enables[1] = (RegEnable){.instance = 4, .level = 200, .any = 0x100}; /* not active */
    p->systemLevel = 9;
    p->systemKeywords = 0x4000;
    RegRefreshProvider(p);
    CHECK_EQ(p->pub.enabled, 4);
    CHECK(p->pub.keywords == 0x8000000000000011);
    atomic_store(&p->system, 1);
    RegRefreshProvider(p);
    CHECK_EQ(p->pub.enabled, 9);
    CHECK(p->pub.keywords == 0x8000000000004011);
    p->systemLevel = 1;
    RegRefreshProvider(p);
    CHECK_EQ(p->pub.enabled, 4);
    atomic_store(&p->system, 0);
    atomic_store(&p->active, 0);
    RegRefreshProvider(p);
    CHECK_EQ(p->pub.enabled, 0);
    CHECK_EQ(p->pub.keywords, 0);
}

/* With a session go its own enables, of all providers. */
static void enables_1_2_of_a_session(void)
{
    uint64_t a, b;
    EtwError err;
    int first = RegNewSession("a", 1000, &a, &err), second = RegNewSession("b", 1000, &b, &err);
    EtwGuid g = guidOf(1), h = guidOf(2);
    RegProvider *p = RegFindProvider(&g, "P", true);
    enable(p, 0, a, 4, 1);
    enable(p, 1, b, 5, 2);
    enable(p, 2, a, 6, 4);
    RegProvider *q = RegFindProvider(&h, "Q", true);
    enable(q, 3, a, 4, 1);
    p->enables[4].instance = b; /* not active */
    RegRefreshProvider(p);
    RegRefreshProvider(q);
    RegDisableSession(first);
    CHECK_EQ(atomic_load(&p->active), 2);
    CHECK_EQ(p->pub.enabled, 5);
    CHECK_EQ(p->pub.keywords, 2);
    CHECK_EQ(atomic_load(&q->active), 0);
    CHECK_EQ(q->pub.enabled, 0);
    CHECK(atomic_load(&r->sessions[first].instance) == a);
    RegRemoveSession(second);
    CHECK_EQ(atomic_load(&p->active), 0);
    CHECK_EQ(p->pub.enabled, 0);
    RegRemoveSession(first);
}

/* ---- Providers ------------------------------------------------------------------------------- */

static void providers_1_1_slots(void)
{
    EtwGuid g = guidOf(10), h = guidOf(11), i = guidOf(12);
    CHECK(RegFindProvider(&g, "G", false) == NULL);
    RegProvider *p = RegFindProvider(&g, NULL, true);
    CHECK_STR(p->name, "");
    CHECK(RegFindProvider(&g, "Gee", false) == p); /* the name becomes known, once */
    CHECK_STR(p->name, "Gee");
    CHECK(RegFindProvider(&g, "Other", true) == p);
    CHECK_STR(p->name, "Gee");
    uint32_t generation = atomic_load(&p->generation);
    /* A slot is kept while somebody has registered or enabled its provider. */
    CHECK_EQ(RegAddRegistration(p), 1);
    RegProvider *q = RegFindProvider(&h, "H", true);
    CHECK(q != NULL && q != p);
    CHECK_EQ(RegRemoveRegistration(p), 0);
    atomic_store(&p->active, 2);
    RegAddRegistration(q);
    RegProvider *s = RegFindProvider(&i, "I", true);
    CHECK(s != p && s != q);
    atomic_store(&p->active, 0);
    p->enables[0].level = 9;
    p->pub.enabled = 9;
    EtwGuid j = guidOf(13);
    CHECK(RegFindProvider(&j, "J", true) == p);
    CHECK(atomic_load(&p->generation) != generation);
    CHECK_EQ(p->enables[0].level, 0);
    CHECK_EQ(p->pub.enabled, 0);
    CHECK_STR(p->name, "J");
    CHECK(RegFindProvider(&g, NULL, false) == NULL);
    RegRemoveRegistration(q);
}

static void providers_1_2_registrations(void)
{
    EtwGuid g = guidOf(20), h = guidOf(21);
    RegProvider *p = RegFindProvider(&g, "G", true);
    CHECK(!RegIsRegistered(p));
    CHECK_EQ(RegRemoveRegistration(p), 0);
    CHECK_EQ(RegAddRegistration(p), 1);
    CHECK_EQ(RegAddRegistration(p), 2);
    RegProvider *q = RegFindProvider(&h, "H", true);
    CHECK_EQ(RegAddRegistration(q), 1);
    CHECK_EQ(RegRegistrations(p), 2);
    CHECK(RegIsRegistered(p));
    /* Those of another process count for the provider, not for this process. */
    RegRegistration *other = &r->registrations[100];
    *other = (RegRegistration){3, 77, (uint16_t)(p - r->providers)};
    CHECK_EQ(RegRegistrations(p), 5);
    CHECK_EQ(RegRegistrations(q), 1);
    CHECK_EQ(RegRemoveRegistration(p), 1);
    CHECK_EQ(RegRemoveRegistration(p), 0);
    CHECK(!RegIsRegistered(p));
    CHECK_EQ(RegRegistrations(p), 3);
    other->count = 0;
    RegRemoveRegistration(q);
    /* The table is full. */
    for (int i = 0; i < REG_REGISTRATIONS; i++) {
        if (r->registrations[i].count == 0) {
            r->registrations[i] = (RegRegistration){1, 99, REG_PROVIDERS - 1};
        }
    }
    CHECK_EQ(RegAddRegistration(p), 0);
    for (int i = 0; i < REG_REGISTRATIONS; i++) {
        if (r->registrations[i].process == 99) {
            r->registrations[i].count = 0;
        }
    }
}

/* One slot is left for the provider of each session's first event. */
static void providers_1_3_most(void)
{
    int made = 0;
    static RegProvider *all[REG_PROVIDERS];
    EtwGuid own;
    EtwGuidFromName(ETW_SESSION_PROVIDER, &own);
    for (uint32_t i = 0; i < REG_PROVIDERS; i++) {
        EtwGuid g = guidOf(1000 + i);
        RegProvider *p = RegFindProvider(&g, "Many", true);
        if (p != NULL) {
            atomic_store(&p->active, 1); /* enabled */
            all[made++] = p;
        }
    }
    RegProvider *last = &r->providers[REG_PROVIDERS - 1];
    CHECK(!last->used);
    CHECK(RegFindProvider(&own, ETW_SESSION_PROVIDER, true) == last);
    for (int i = 0; i < made; i++) {
        atomic_store(&all[i]->active, 0);
    }
    CHECK(made > REG_PROVIDERS - 10);
}

/* ---- Processes ------------------------------------------------------------------------------- */

static void processes_1_1_sweep(void)
{
    RegProcess *self = RegSelf(), *dead = &r->processes[500];
    EtwGuid g = guidOf(30);
    RegProvider *p = RegFindProvider(&g, "G", true);
    CHECK_EQ(self->pid, OsPid());
    CHECK_EQ(atomic_load(&self->key), RegSelfKey());
    CHECK_EQ(RegSelfKey() % REG_PROCESSES, self - r->processes);
    RegAddRegistration(p);
    dead->pid = 999999;
    dead->start = 1;
    atomic_store(&dead->key, 3 * REG_PROCESSES + 500);
    r->registrations[200] = (RegRegistration){2, 500, (uint16_t)(p - r->providers)};
    CHECK_EQ(RegRegistrations(p), 3);
    RegSweep();
    CHECK_EQ(dead->pid, 0);
    CHECK_EQ(RegRegistrations(p), 1);
    CHECK_EQ(self->pid, OsPid());
    RegRemoveRegistration(p);
    CHECK(RegProcessLives(RegSelfKey()));
    CHECK(RegProcessLives(REG_KEY_UNKNOWN));
    CHECK(!RegProcessLives(3 * REG_PROCESSES + 500));
    CHECK(!RegProcessLives(4 * REG_PROCESSES + 500));
    CHECK(!RegProcessLives(RegSelfKey() + REG_PROCESSES)); /* the slot was taken by another since */
}

#ifndef _WIN32
/* A forked child has its parent's registrations, as its own. */
static void processes_1_2_forked(void)
{
    EtwGuid g = guidOf(31), h = guidOf(32);
    RegProvider *p = RegFindProvider(&g, "G", true);
    RegAddRegistration(p);
    RegAddRegistration(p);
    RegProvider *q = RegFindProvider(&h, "H", true);
    RegAddRegistration(q);
    uint32_t key = RegSelfKey();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        checkState.bad = 0;
        CHECK(RegSelf() == NULL); /* not yet */
        CHECK(RegOpen(NULL) == r);
        CHECK(RegSelf() != NULL && RegSelfKey() != key);
        CHECK_EQ(RegSelf()->pid, OsPid());
        CHECK(RegIsRegistered(p) && RegIsRegistered(q));
        CHECK_EQ(RegRegistrations(p), 4);
        CHECK_EQ(RegRegistrations(q), 2);
        CHECK_EQ(RegRemoveRegistration(p), 1);
        CHECK_EQ(RegRemoveRegistration(q), 0);
        CHECK(!RegIsRegistered(q));
        fflush(stdout);
        _exit(checkState.bad != 0);
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    CHECK_EQ(RegSelfKey(), key);
    RegSweep();
    CHECK_EQ(RegRegistrations(p), 2);
    CHECK_EQ(RegRegistrations(q), 1);
    RegRemoveRegistration(p);
    RegRemoveRegistration(p);
    RegRemoveRegistration(q);
}
#endif

/* ---- Event classes --------------------------------------------------------------------------- */

/* The same class is stored once; each member is a part of its identity. */
static void classes_1_1_identity(void)
{
    const uint8_t traits[] = "traits", meta[] = "metadata";
    RegClass head = {.provider = 3,
            .traitsSize = 6,
            .metaSize = 8,
            .guid = guidOf(40),
            .desc = {.id = 1, .level = 4}};
    uint32_t first = RegClassOf(&head, traits, meta), used = r->arenaUsed;
    REQUIRE(first != 0);
    CHECK_EQ(first % 8, 0);
    CHECK_EQ(RegClassOf(&head, traits, meta), first);
    CHECK_EQ(r->arenaUsed, used);
    const RegClass *c = RegClassAt(first);
    REQUIRE(c != NULL);
    CHECK_MEM(c->bytes, 14, "traitsmetadata", 14);
    CHECK_EQ(c->provider, 3);
    CHECK_EQ(c->desc.id, 1);
    CHECK_EQ(c->size, used - first);
    RegClass others[8];
    for (int i = 0; i < 8; i++) {
        others[i] = head;
    }
    others[0].provider = 4;
    others[1].classic = 1;
    others[2].traitsSize = 5;
    others[3].metaSize = 7;
    others[4].guid.bytes[9] ^= 1;
    others[5].desc.keyword = 1;
    for (int i = 0; i < 6; i++) {
        uint32_t offset = RegClassOf(&others[i], traits, meta);
        CHECK(offset != 0 && offset != first);
        CHECK_EQ(RegClassOf(&others[i], traits, meta), offset);
    }
    uint32_t offset = RegClassOf(&head, (const uint8_t *)"trait!", meta);
    CHECK(offset != first && offset != 0);
    offset = RegClassOf(&head, traits, (const uint8_t *)"metadatA");
    CHECK(offset != first && offset != 0);
    CHECK_EQ(RegClassOf(&head, traits, meta), first);
}

/* An offset from a record: inside of what is used, of a class that lies inside the arena. */
static void classes_1_2_offsets(void)
{
    RegClass head = {.provider = 3, .metaSize = 8, .guid = guidOf(41)};
    uint32_t offset = RegClassOf(&head, (const uint8_t *)"", (const uint8_t *)"12345678");
    RegClass *c = (RegClass *)(r->arena + offset);
    CHECK(RegClassAt(offset) == c);
    CHECK(RegClassAt(0) == NULL);
    CHECK(RegClassAt(56) == NULL);
    CHECK(RegClassAt(offset + 4) == NULL);
    CHECK(RegClassAt(r->arenaUsed) == NULL);
    CHECK(RegClassAt(REG_ARENA) == NULL);
    CHECK(RegClassAt(UINT32_MAX - 7) == NULL);
    uint32_t size = c->size, used = r->arenaUsed;
    c->size = (uint32_t)sizeof *c + 7;
    CHECK(RegClassAt(offset) == NULL);
    c->size = REG_ARENA - offset + 8;
    CHECK(RegClassAt(offset) == NULL);
    c->size = REG_ARENA - offset;
    CHECK(RegClassAt(offset) == c);
    c->size = size;
    c->traitsSize = 100;
    CHECK(RegClassAt(offset) == NULL);
    c->traitsSize = 0;
    atomic_store(&r->arenaUsed, REG_ARENA);
    CHECK(RegClassAt(REG_ARENA - (uint32_t)sizeof *c + 8) == NULL);
    /* A chain that is damaged ends; the class is stored again. */
    atomic_store(&r->arenaUsed, used);
    c->size = 1;
    uint32_t again = RegClassOf(&head, (const uint8_t *)"", (const uint8_t *)"12345678");
    CHECK(again != 0 && again != offset);
    c->size = size;
}

static void classes_1_3_full(void)
{
    uint32_t used = r->arenaUsed;
    RegClass head = {.provider = 3, .metaSize = 8, .guid = guidOf(42)};
    uint32_t size = (uint32_t)EtwAlign8(sizeof head + 8);
    atomic_store(&r->arenaUsed, REG_ARENA - size + 8);
    CHECK_EQ(RegClassOf(&head, (const uint8_t *)"", (const uint8_t *)"12345678"), 0);
    atomic_store(&r->arenaUsed, REG_ARENA - size);
    CHECK_EQ(RegClassOf(&head, (const uint8_t *)"", (const uint8_t *)"12345678"), REG_ARENA - size);
    CHECK_EQ(r->arenaUsed, REG_ARENA);
    CHECK(RegClassAt(REG_ARENA - size) != NULL);
    memset(r->buckets, 0, sizeof r->buckets);
    atomic_store(&r->arenaUsed, used);
}

/* ---- Mappings -------------------------------------------------------------------------------- */

static Ring *newRing(uint64_t instance)
{
    static Ring ring;
    char file[1100];
    RingConfig config = {
            .instance = instance, .cpus = 2, .bufferSize = 65536, .buffers = 8, .minBuffers = 2};
    EtwError err;
    RegSessionPath(instance, file, sizeof file);
    return CHECK_MSG(RingCreate(&ring, file, &config, &err) == ETW_OK, "%s", err.message) ? &ring
                                                                                          : NULL;
}

static void mappings_1_1(void)
{
    uint64_t a;
    EtwError err;
    int index = RegNewSession("mapped", 7000, &a, &err);
    Ring *own = newRing(a);
    REQUIRE(own != NULL && index >= 0);
    CHECK(RegRing((uint32_t)index, a + 1) == NULL);
    CHECK(RegRing(ETW_MAX_SESSIONS, a) == NULL);
    CHECK(RegRingMap(ETW_MAX_SESSIONS, a) == NULL);
    RegAttach((uint32_t)index, own);
    CHECK(RegRing((uint32_t)index, a) == own);
    CHECK(RegRingMap((uint32_t)index, a) == own);
    RegDetach((uint32_t)index);
    /* Another process's view of it is mapped once. */
    Ring *mine = RegRing((uint32_t)index, a);
    CHECK(mine != NULL && mine != own);
    CHECK(RegRingMap((uint32_t)index, a) == mine);
    /* The index is another session's. */
    RegRemoveSession(index);
    CHECK(RegRingMap((uint32_t)index, a) == NULL);
    RingClose(own);
}

/* What a query reports is what the mapping says, each in its place. */
static void mappings_1_2_info(void)
{
    EtwSessionInfo info;
    Ring *ring = newRing(9000);
    REQUIRE(ring != NULL);
    RingHeader *h = ring->header;
    uint64_t v = 100;
    memset(h->name, 'n', sizeof h->name); /* without its terminator */
    memset(h->file, 'f', sizeof h->file);
    memset(h->kernel, 'k', sizeof h->kernel);
    for (uint32_t i = 0; i < 4; i++) {
        atomic_store(&ring->streams[i].lostNoBuffer, i + 1);
        atomic_store(&ring->streams[i].lostTooBig, 10 * (i + 1));
    }
    atomic_store(&h->lostTooBig, 1000);
    atomic_store(&h->lostFull, ++v);
    atomic_store(&h->lostIo, ++v);
    atomic_store(&h->lostAbandoned, ++v);
    atomic_store(&h->lostKernel, ++v);
    atomic_store(&h->lostConsumer, ++v);
    atomic_store(&h->events, ++v);
    atomic_store(&h->bytes, ++v);
    atomic_store(&h->fileBuffers, ++v);
    atomic_store(&h->overwritten, ++v);
    atomic_store(&h->flushMs, 110);
    atomic_store(&h->maxMB, 111);
    atomic_store(&h->consumers[0], RegSelfKey());
    atomic_store(&h->consumers[63], RegSelfKey());
    atomic_store(&h->consumers[5], RegSelfKey() + REG_PROCESSES); /* one that has ended */
    h->starter = 113;
    h->startWall = 1000;
    atomic_store(&h->stopWall, 1500);
    atomic_store(&h->state, RING_STOPPING);
    SessionFillInfo(ring, 5, &info);
    CHECK_EQ(strlen(info.name), 255);
    CHECK_EQ(strlen(info.file), 1023);
    CHECK_EQ(strlen(info.kernel), 511);
    CHECK_STR(info.engine, "embedded");
    CHECK_STR(info.state, "stopping");
    CHECK_EQ(info.index, 5);
    CHECK_EQ(info.instance, 9000);
    CHECK_EQ(info.lost.noBuffer, 10);
    CHECK_EQ(info.lost.tooBig, 1100);
    CHECK_EQ(info.lost.fileFull, 101);
    CHECK_EQ(info.lost.io, 102);
    CHECK_EQ(info.lost.abandoned, 103);
    CHECK_EQ(info.lost.kernel, 104);
    CHECK_EQ(info.lost.consumer, 105);
    CHECK_EQ(info.events, 106);
    CHECK_EQ(info.bytes, 107);
    CHECK_EQ(info.buffers, 108);
    CHECK_EQ(info.overwritten, 109);
    CHECK_EQ(info.flushMs, 110);
    CHECK_EQ(info.maxMB, 111);
    CHECK_EQ(info.consumers, 2);
    CHECK_EQ(info.starter, 113);
    CHECK_EQ(info.started, 1000);
    CHECK_EQ(info.duration, 500);
    CHECK_EQ(info.bufferKB, 64);
    CHECK_EQ(info.minBuffers, 2);
    CHECK_EQ(info.maxBuffers, 8);
    CHECK_EQ(info.buffersUsed + info.buffersFree, 8);
    CHECK(!info.realtime && !info.lossless);
    h->realtime = 1;
    SessionFillInfo(ring, 5, &info);
    CHECK(info.realtime && !info.lossless);
    h->realtime = 0;
    h->lossless = 1;
    atomic_store(&h->stopWall, 0);
    static const struct {
        uint32_t state;
        const char *name;
    } states[] = {{RING_RUNNING, "running"}, {RING_STOPPED, "stopped"}, {0, ""}, {4, ""},
            {UINT32_MAX, ""}};
    for (int i = 0; i < 5; i++) {
        atomic_store(&h->state, states[i].state);
        SessionFillInfo(ring, 5, &info);
        CHECK_STR(info.state, states[i].name);
    }
    CHECK(!info.realtime && info.lossless);
    CHECK(info.duration > 1000000000000000000); /* until now */
    RingClose(ring);
}

/* ---- Scopes ---------------------------------------------------------------------------------- */

static void scope(const char *text)
{
#ifdef _WIN32
    char set[300];
    snprintf(set, sizeof set, "ETW_SCOPE=%s", text);
    _putenv(set);
#else
    setenv("ETW_SCOPE", text, 1);
#endif
    memset(processScope, 0, sizeof processScope);
    ProcessScopeRead();
}

/* Sessions that a process belongs to, by ETW_SCOPE; what is no such list is ignored as a whole. */
static void scopes_1_1(void)
{
    scope("17,1234567890123456789");
    CHECK(ProcessInScope(17));
    CHECK(ProcessInScope(1234567890123456789));
    CHECK(!ProcessInScope(18));
    CHECK_EQ(processScope[2], 0);
    scope("1,2,3,4,5,6,7,8,9");
    CHECK(ProcessInScope(1) && ProcessInScope(8) && !ProcessInScope(9));
    static const char *const bad[] = {"17,", ",17", "17 ", "x", "17,x", "0", "12345678901234567890",
            "17;18", "17,0", "-1", "1,:", "1,/"};
    for (int i = 0; i < 12; i++) {
        scope(bad[i]);
        CHECK_EQ(processScope[0], 0);
    }
    scope("1234567890123456789");
    CHECK(processScope[0] == 1234567890123456789);
}

int main(int argc, char **argv)
{
    EtwError err;
    CHECK_ARGS(argc, argv);
    OsInit();
    makeDir();
#ifndef _WIN32
    /* First: this process has not joined a registry yet. */
    CHECK_RUN(files_1_1_left);
    CHECK_RUN(files_1_2_other_version);
#endif
    r = RegOpen(&err);
    if (r == NULL) {
        printf("%s\n", err.message);
        return 1;
    }
    CHECK_RUN(sessions_1_1_names);
    CHECK_RUN(sessions_1_2_most);
    CHECK_RUN(enables_1_1_union);
    CHECK_RUN(enables_1_2_of_a_session);
    CHECK_RUN(providers_1_1_slots);
    CHECK_RUN(providers_1_2_registrations);
    CHECK_RUN(processes_1_1_sweep);
#ifndef _WIN32
    CHECK_RUN(processes_1_2_forked);
#endif
    CHECK_RUN(classes_1_1_identity);
    CHECK_RUN(classes_1_2_offsets);
    CHECK_RUN(classes_1_3_full);
    CHECK_RUN(mappings_1_1);
    CHECK_RUN(mappings_1_2_info);
    CHECK_RUN(scopes_1_1);
    CHECK_RUN(providers_1_3_most);
    return CHECK_DONE();
}
