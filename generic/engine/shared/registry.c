/*
 * engine/shared/registry.c --
 *
 *	See registry.h. The user's first process creates the registry file. A process that finds no other live process in
 *	it resets it.
 */
#include "engine/shared/registry.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "engine/shared/process_scope.h"
#include "engine/shared/writer_threads.h"
#include "semantics/declared_events.h"
#include <stdio.h>
#include <stdlib.h>

static struct {
    _Atomic(OsMutex *) mutex; /* between threads; the file lock is between processes */
    OsFileLock *fileLock;     /* while locked */
    OsMap map;
    _Atomic(Registry *) registry;
    char dir[900];
    bool dirGiven;
    uint32_t joinedPid; /* process that has joined; a forked child joins again */
    int process;        /* this process's index in processes[] */
    OsSlot slot;        /* proves that it is alive */
} reg;

_Atomic uint32_t regSelfKey = REG_KEY_UNKNOWN;

_Atomic(Ring *) regRings[ETW_MAX_SESSIONS];
_Atomic(RegMapProc *) regOnMap;
static _Atomic(Ring *) retired; /* replaced in regRings; unmapped when no writer uses them */

/* ---- Locking --------------------------------------------------------------------------------- */

/*
 * A fork waits until no thread of this process holds the lock. Otherwise the child would have a
 * mutex that is never unlocked, and a copy of the file lock.
 */
static void beforeFork(void)
{
    OsMutexLock(reg.mutex);
    EtwThreadsForkPrepare();
}

static void afterForkInParent(void)
{
    EtwThreadsForkDone(false);
    OsMutexUnlock(reg.mutex);
}

static void afterForkInChild(void)
{
    atomic_store(&regSelfKey, REG_KEY_UNKNOWN); /* until it joins */
    EtwThreadsForkDone(true);
    OsMutexUnlock(reg.mutex);
}

static OsMutex *mutexOnce(void)
{
    OsMutex *m = atomic_load(&reg.mutex);
    if (m == NULL) {
        OsMutex *mine = OsMutexNew();
        if (atomic_compare_exchange_strong(&reg.mutex, &m, mine)) {
            OsOnFork(beforeFork, afterForkInParent, afterForkInChild);
            return mine;
        }
        OsMutexFree(mine);
    }
    return m;
}

void RegUseDir(const char *path)
{
    snprintf(reg.dir, sizeof reg.dir, "%s", path);
    reg.dirGiven = true;
}

static EtwStatus lockedByOther(const char *path, EtwError *err)
{
    OsLockHolder holder;
    if (err == NULL) {
        return ETW_E_STATE;
    }
    if (!OsFileLockHolder(path, &holder)) {
        return EtwFail(err, ETW_E_STATE, "LOCKED", path,
                "another process has locked the registry \"%.300s\": waited %d seconds; try again, "
                "or end that process",
                path, (int)REG_PATIENCE);
    }
    if (!holder.stopped) {
        return EtwFail(err, ETW_E_STATE, "LOCKED", path,
                "process %u (%s) has locked the registry \"%.300s\": waited %d seconds; try again, "
                "or end that process",
                holder.pid, holder.name, path, (int)REG_PATIENCE);
    }
    return EtwFail(err, ETW_E_STATE, "LOCKED", path,
            "process %u (%s) has locked the registry \"%.300s\", and is stopped: waited %d "
            "seconds; "
            "continue it with \"kill -CONT %u\", or end it",
            holder.pid, holder.name, path, (int)REG_PATIENCE, holder.pid);
}

/* On success the mutex is locked, too. Else it is not, so that a fork and other threads need not wait for the other process. */
static EtwStatus tryLock(char *path, size_t size, EtwError *err)
{
    OsMutexLock(mutexOnce());
    /* Determined once: at exit the environment may no longer be available. */
    EtwStatus status = reg.dirGiven || atomic_load(&reg.registry) != NULL
                               ? ETW_OK
                               : OsRuntimeDir(reg.dir, sizeof reg.dir, err);
    if (status == ETW_OK) {
        snprintf(path, size, "%s/registry.lock", reg.dir);
        status = OsFileLockTry(&reg.fileLock, path, err);
    }
    if (status != ETW_OK) {
        OsMutexUnlock(mutexOnce());
    }
    return status;
}

/* When a call of this process last waited in vain, as OsInstant.steady. */
static _Atomic int64_t gaveUp;

/* Polls: no system call waits for a file lock with a time limit. Critical sections take microseconds. */
static EtwStatus lockWithin(int64_t patience, EtwError *err)
{
    char path[1024];
    int64_t pause = 20000; /* ns */
    OsInstant now, start;
    OsInit();
    EtwStatus status = tryLock(path, sizeof path, err);
    if (status != ETW_AGAIN) {
        return status;
    }
    OsNow(&start);
    for (now = start; status == ETW_AGAIN && now.steady - start.steady < patience; OsNow(&now)) {
        OsSleepNs(pause);
        pause = pause < 2000000 ? pause * 2 : pause;
        status = tryLock(path, sizeof path, err);
    }
    if (status == ETW_AGAIN) {
        atomic_store(&gaveUp, now.steady);
        status = lockedByOther(path, err);
    }
    return status;
}

EtwStatus RegLock(EtwError *err)
{
    return lockWithin(REG_PATIENCE * 1000000000ll, err);
}

/* An exit makes several such calls, but waits once. */
bool RegLockOrLocal(void)
{
    OsInstant now;
    int64_t patience = REG_PATIENCE * 1000000000ll, last = atomic_load(&gaveUp);
    OsNow(&now);
    if (lockWithin(last != 0 && now.steady - last < patience ? 0 : patience, NULL) == ETW_OK) {
        return true;
    }
    RegLockLocal();
    return false;
}

void RegLockLocal(void)
{
    OsMutexLock(mutexOnce());
}

void RegUnlock(void)
{
    OsFileLockRelease(reg.fileLock);
    reg.fileLock = NULL;
    OsMutexUnlock(mutexOnce());
}

/* ---- Joining --------------------------------------------------------------------------------- */

enum { GENERATIONS = 0x3FFFFE, FIRST_CLASS = 64 /* offset 0 means "none" */ };

/* Also for a provider that takes a slot. */
static uint32_t newGeneration(Registry *r)
{
    r->lastGeneration = r->lastGeneration % GENERATIONS + 1;
    return r->lastGeneration;
}

static void registryPath(char *path, size_t size)
{
    snprintf(path, size, "%s/registry-4", reg.dir);
}

static OsSlotState slotOf(const Registry *r, uint32_t index)
{
    char path[1024];
    registryPath(path, sizeof path);
    return OsSlotCheck(path, index, r->processes[index].pid, r->processes[index].start);
}

bool RegProcessLives(uint32_t key)
{
    const Registry *r = RegGet();
    if (key == REG_KEY_UNKNOWN || key == RegSelfKey() || r == NULL) {
        return true;
    }
    if (atomic_load(&r->processes[key % REG_PROCESSES].key) != key) {
        return false; /* another process has its slot */
    }
    OsSlotState state = slotOf(r, key % REG_PROCESSES);
    return state == OS_SLOT_HELD || state == OS_SLOT_UNKNOWN;
}

static void dropProcess(Registry *r, int index)
{
    for (int i = 0; i < REG_REGISTRATIONS; i++) {
        if (r->registrations[i].process == index) {
            r->registrations[i].count = 0;
        }
    }
    r->processes[index].pid = 0;
}

/*
 * Remove the entries of processes that have ended, and return the number of the others. The entry of one
 * whose forked children have not joined stays: its registrations are theirs.
 */
static int sweepProcesses(Registry *r)
{
    int count = 0;
    for (int i = 0; i < REG_PROCESSES; i++) {
        if (r->processes[i].pid == 0) {
            continue;
        }
        if (slotOf(r, (uint32_t)i) != OS_SLOT_FREE) {
            count++;
        } else {
            dropProcess(r, i);
        }
    }
    return count;
}

/* Sessions of dead processes count too: they are recovered when sessions are next accessed. */
static bool anySession(const Registry *r)
{
    bool any = false;
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        any |= atomic_load(&r->sessions[i].instance) != 0;
    }
    return any;
}

/* No live process uses the registry: clear it. */
static void reset(Registry *r)
{
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        char path[1024];
        uint64_t instance = atomic_load(&r->sessions[i].instance);
        if (instance != 0) {
            RegSessionPath(instance, path, sizeof path);
            OsFileRemove(path);
        }
    }
    bool good = r->magic == REG_MAGIC && r->size == sizeof *r;
    uint64_t last = good ? r->lastInstance : 0;
    uint32_t generation = good ? r->lastGeneration : 0;
    memset(r, 0, offsetof(Registry, arena));
    r->magic = REG_MAGIC;
    r->size = (uint32_t)sizeof *r;
    r->lastInstance = last;
    r->lastGeneration = generation;
    r->arenaUsed = FIRST_CLASS;
}

/* Give a forked child the registrations of its parent. */
static void inherit(Registry *r, int parent, int child)
{
    for (int i = 0, free = 0; i < REG_REGISTRATIONS; i++) {
        if (r->registrations[i].count == 0 || r->registrations[i].process != parent) {
            continue;
        }
        while (free < REG_REGISTRATIONS && r->registrations[free].count != 0) {
            free++;
        }
        if (free == REG_REGISTRATIONS) {
            return;
        }
        r->registrations[free] = r->registrations[i];
        r->registrations[free].process = (uint16_t)child;
    }
}

/* Enter this process, which holds the slot of this entry. */
static void enterProcess(Registry *r, int index)
{
    RegProcess *p = &r->processes[index];
    p->start = OsProcessStart(OsPid());
    p->pid = OsPid();
    atomic_store(&p->wake, 0);
    atomic_store(&p->key, newGeneration(r) * REG_PROCESSES + (uint32_t)index);
    if (reg.joinedPid != 0 && r->processes[reg.process].pid == reg.joinedPid) {
        inherit(r, reg.process, index);
    }
    reg.process = index;
    reg.joinedPid = OsPid();
    atomic_store(&regSelfKey, atomic_load(&p->key));
}

static EtwStatus joinProcess(Registry *r, EtwError *err)
{
    char path[1024];
    registryPath(path, sizeof path);
    for (int i = 0; i < REG_PROCESSES; i++) {
        OsSlot slot;
        EtwStatus status =
                r->processes[i].pid == 0 ? OsSlotHold(&slot, path, (uint32_t)i, err) : ETW_AGAIN;
        if (status == ETW_OK) {
            enterProcess(r, i);
            OsSlotLeave(&reg.slot); /* that of the parent, if this is a forked child */
            reg.slot = slot;
        }
        if (status != ETW_AGAIN) {
            return status;
        }
    }
    return EtwFail(err, ETW_E_LIMIT, "PROCESSES", NULL,
            "%d processes use etw, which is the maximum: end one of them", REG_PROCESSES);
}

static EtwStatus mapLocked(EtwError *err)
{
    char path[1024];
    EtwStatus status;
    registryPath(path, sizeof path);
    status = OsMapShared(&reg.map, path, false, 0, err);
    if (status == ETW_OK && reg.map.size < sizeof(Registry)) {
        OsUnmap(&reg.map);
        OsFileRemove(path); /* made by another version, or truncated */
        status = ETW_E_LOOKUP;
    }
    if (status == ETW_E_FORMAT) {
        OsFileRemove(path); /* its creator died before it set the size */
    }
    if (status == ETW_E_LOOKUP || status == ETW_E_FORMAT) {
        status = OsMapShared(&reg.map, path, true, sizeof(Registry), err);
    }
    /* Also of an existing one: its maker may have been killed before. The arena: when a class is added. */
    if (status == ETW_OK) {
        status = OsMapReserve(&reg.map, 0, offsetof(Registry, arena) + FIRST_CLASS, path, err);
        if (status != ETW_OK) {
            OsUnmap(&reg.map);
        }
    }
    return status;
}

static _Atomic(RegJoinedProc *) joinedProc;

void RegOnJoin(RegJoinedProc *proc)
{
    atomic_store(&joinedProc, proc);
}

Registry *RegOpen(EtwError *err)
{
    Registry *r = atomic_load_explicit(&reg.registry, memory_order_acquire);
    EtwStatus status = ETW_OK;
    if (r != NULL && reg.joinedPid == OsPid()) {
        return r;
    }
    if (RegLock(err) != ETW_OK) {
        return NULL;
    }
    r = atomic_load(&reg.registry);
    if (r == NULL) {
        ProcessScopeRead();
        status = mapLocked(err);
        r = (Registry *)reg.map.base;
    }
    if (status == ETW_OK && reg.joinedPid != OsPid()) {
        bool good = r->magic == REG_MAGIC && r->size == sizeof *r;
        if (!good || (sweepProcesses(r) == 0 && !anySession(r))) {
            reset(r);
        }
        status = joinProcess(r, err);
    }
    if (status == ETW_OK) {
        atomic_store_explicit(&reg.registry, r, memory_order_release);
    } else if (atomic_load(&reg.registry) == NULL) {
        OsUnmap(&reg.map); /* the next call maps it again */
    }
    RegUnlock();
    if (status != ETW_OK) {
        return NULL;
    }
    RegJoinedProc *joined = atomic_load(&joinedProc);
    if (joined != NULL) {
        joined();
    }
    return r;
}

RegProcess *RegSelf(void)
{
    Registry *r = RegGet();
    return r != NULL && reg.joinedPid == OsPid() ? &r->processes[reg.process] : NULL;
}

Registry *RegGet(void)
{
    return atomic_load_explicit(&reg.registry, memory_order_acquire);
}

/* ---- Sessions -------------------------------------------------------------------------------- */

bool RegIsNamed(const RegSession *s, const char *name)
{
    const char *a = s->name, *b = name;
    for (; *a != '\0' || *b != '\0'; a++, b++) {
        char x = *a >= 'A' && *a <= 'Z' ? (char)(*a + 32) : *a;
        char y = *b >= 'A' && *b <= 'Z' ? (char)(*b + 32) : *b;
        if (x != y) {
            return false;
        }
    }
    return true;
}

void RegSessionPath(uint64_t instance, char *path, size_t size)
{
    snprintf(path, size, "%s/session-%016llx", reg.dir, (unsigned long long)instance);
}

void RegDisableSession(int index)
{
    Registry *r = RegGet();
    uint64_t instance = atomic_load(&r->sessions[index].instance);
    for (int p = 0; p < REG_PROVIDERS; p++) {
        RegProvider *provider = &r->providers[p];
        uint32_t active = atomic_load(&provider->active), keep = active;
        for (int e = 0; provider->used && e < ETW_MAX_ENABLES; e++) {
            if ((active >> e & 1) && provider->enables[e].instance == instance) {
                keep &= ~(1u << e);
            }
        }
        if (keep != active) {
            atomic_store(&provider->active, keep);
            RegRefreshProvider(provider);
        }
    }
}

void RegRemoveSession(int index)
{
    Registry *r = RegGet();
    uint64_t instance = atomic_load(&r->sessions[index].instance);
    char path[1024];
    RegDisableSession(index);
    RegSessionPath(instance, path, sizeof path);
    OsFileRemove(path);
    atomic_store(&r->sessions[index].instance, 0);
}

int RegFindSession(const char *name)
{
    Registry *r = RegGet();
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        RegSession *s = &r->sessions[i];
        if (atomic_load(&s->instance) != 0 && !s->unsaved && RegIsNamed(s, name)) {
            return i;
        }
    }
    return -1;
}

int RegNewSession(const char *name, int64_t startWall, uint64_t *instancePtr, EtwError *err)
{
    Registry *r = RegGet();
    for (int i = 0; i < ETW_MAX_SESSIONS; i++) {
        RegSession *s = &r->sessions[i];
        if (atomic_load(&s->instance) == 0) {
            /*
             * Derived from the wall clock, so that an instance does not recur when the registry was
             * lost and created again.
             */
            uint64_t instance = (uint64_t)startWall > r->lastInstance ? (uint64_t)startWall
                                                                      : r->lastInstance + 1;
            r->lastInstance = instance;
            s->ownerPid = OsPid();
            s->owner = RegSelfKey();
            s->stopping = 0;
            s->unsaved = 0;
            atomic_store(&s->recoverer, 0);
            s->startWall = startWall;
            snprintf(s->name, sizeof s->name, "%s", name);
            *instancePtr = instance;
            atomic_store_explicit(&s->instance, instance, memory_order_release);
            return i;
        }
    }
    EtwFail(err, ETW_E_LIMIT, "SESSIONS", name,
            "cannot start session \"%s\": %d sessions are running, which is the maximum; stop one "
            "(\"etw sessions\" lists them)",
            name, ETW_MAX_SESSIONS);
    return -1;
}

/* ---- Providers ------------------------------------------------------------------------------- */

RegProvider *RegFindProvider(const EtwGuid *guid, const char *name, bool make)
{
    Registry *r = RegGet();
    RegProvider *empty = NULL;
    /* One slot is kept for the provider of each session's first event. */
    bool own = name != NULL && strcmp(name, ETW_SESSION_PROVIDER) == 0;
    for (int i = 0; i < REG_PROVIDERS; i++) {
        RegProvider *p = &r->providers[i];
        if (p->used && EtwGuidEqual(&p->guid, guid)) {
            if (name != NULL && p->name[0] == '\0') {
                snprintf(p->name, sizeof p->name, "%s", name);
            }
            return p;
        }
        if (empty == NULL && (own || i < REG_PROVIDERS - 1) &&
                (!p->used || (atomic_load(&p->active) == 0 && RegRegistrations(p) == 0))) {
            empty = p;
        }
    }
    if (!make || empty == NULL) {
        return NULL;
    }
    memset(empty, 0, sizeof *empty);
    empty->generation = newGeneration(r);
    empty->guid = *guid;
    snprintf(empty->name, sizeof empty->name, "%s", name ? name : "");
    empty->used = 1;
    return empty;
}

/* make: an empty entry when there is none. */
static RegRegistration *registrationOf(const RegProvider *provider, bool make)
{
    Registry *r = RegGet();
    uint16_t index = (uint16_t)(provider - r->providers);
    RegRegistration *empty = NULL;
    for (int i = 0; i < REG_REGISTRATIONS; i++) {
        RegRegistration *reg1 = &r->registrations[i];
        if (reg1->count != 0 && reg1->process == reg.process && reg1->provider == index) {
            return reg1;
        }
        if (reg1->count == 0 && empty == NULL) {
            empty = reg1;
        }
    }
    if (!make || empty == NULL) {
        return NULL;
    }
    empty->process = (uint16_t)reg.process;
    empty->provider = index;
    return empty;
}

int RegAddRegistration(RegProvider *provider)
{
    RegRegistration *r = registrationOf(provider, true);
    return r ? (int)++r->count : 0;
}

int RegRemoveRegistration(RegProvider *provider)
{
    RegRegistration *r = registrationOf(provider, false);
    return r && r->count > 0 ? (int)--r->count : 0;
}

bool RegIsRegistered(const RegProvider *provider)
{
    const RegRegistration *r = registrationOf(provider, false);
    return r != NULL && r->count > 0;
}

void RegSweep(void)
{
    sweepProcesses(RegGet());
}

int RegRegistrations(const RegProvider *provider)
{
    const Registry *r = RegGet();
    uint16_t index = (uint16_t)(provider - r->providers);
    uint32_t count = 0;
    for (int i = 0; i < REG_REGISTRATIONS; i++) {
        if (r->registrations[i].provider == index) {
            count += r->registrations[i].count;
        }
    }
    return (int)count;
}

void RegRefreshProvider(RegProvider *provider)
{
    uint32_t active = atomic_load(&provider->active), level = 0;
    uint64_t keywords = 0;
    for (int i = 0; i < ETW_MAX_ENABLES; i++) {
        if (active >> i & 1) {
            const RegEnable *e = &provider->enables[i];
            level = e->level > level ? e->level : level;
            keywords |= e->any;
        }
    }
    if (atomic_load(&provider->system) != 0) {
        level = provider->systemLevel > level ? provider->systemLevel : level;
        keywords |= provider->systemKeywords;
    }
    __atomic_store_n(&provider->pub.keywords, keywords, __ATOMIC_RELAXED);
    __atomic_store_n(&provider->pub.enabled, level, __ATOMIC_RELEASE);
}

/* ---- Event classes --------------------------------------------------------------------------- */

static uint32_t hashBytes(uint32_t h, const void *data, size_t size)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < size; i++) {
        h = (h ^ p[i]) * 16777619u; /* FNV-1a */
    }
    return h;
}

static bool sameClass(
        const RegClass *a, const RegClass *head, const uint8_t *traits, const uint8_t *meta)
{
    return a->provider == head->provider && a->classic == head->classic &&
           a->traitsSize == head->traitsSize && a->metaSize == head->metaSize &&
           EtwGuidEqual(&a->guid, &head->guid) &&
           memcmp(&a->desc, &head->desc, sizeof a->desc) == 0 &&
           memcmp(a->bytes, traits, a->traitsSize) == 0 &&
           memcmp(a->bytes + a->traitsSize, meta, a->metaSize) == 0;
}

uint32_t RegClassOf(const RegClass *head, const uint8_t *traits, const uint8_t *meta)
{
    Registry *r = RegGet();
    uint32_t hash = hashBytes(2166136261u, &head->guid, sizeof head->guid);
    uint32_t size = (uint32_t)EtwAlign8(sizeof(RegClass) + head->traitsSize + head->metaSize);
    uint32_t offset, *bucket;
    RegClass *c;
    hash = hashBytes(hash, meta, head->metaSize);
    bucket = &r->buckets[hash % REG_CLASS_BUCKETS];
    for (offset = *bucket; offset != 0; offset = c->next) {
        c = (RegClass *)(r->arena + offset);
        if (RegClassAt(offset) == NULL) {
            break;
        }
        if (sameClass(c, head, traits, meta)) {
            return offset;
        }
    }
    if (size > REG_ARENA - r->arenaUsed ||
            OsMapReserve(&reg.map, offsetof(Registry, arena) + r->arenaUsed, size, "", NULL) !=
                    ETW_OK) {
        return 0;
    }
    offset = r->arenaUsed;
    c = (RegClass *)(r->arena + offset);
    *c = *head;
    c->size = size;
    c->next = *bucket;
    memcpy(c->bytes, traits, head->traitsSize);
    memcpy(c->bytes + head->traitsSize, meta, head->metaSize);
    r->arenaUsed = offset + size;
    *bucket = offset;
    return offset;
}

const RegClass *RegClassAt(uint32_t offset)
{
    const Registry *r = RegGet();
    const RegClass *c;
    if (r == NULL || offset < FIRST_CLASS || offset % 8 != 0 || offset >= r->arenaUsed ||
            offset > REG_ARENA - sizeof(RegClass)) {
        return NULL;
    }
    c = (const RegClass *)(r->arena + offset);
    if (c->size > REG_ARENA - offset || sizeof *c + c->traitsSize + c->metaSize > c->size) {
        return NULL;
    }
    return c;
}

/* ---- Sessions' mappings in this process ------------------------------------------------------ */

static void freeMapping(Ring *ring)
{
    RingClose(ring);
    EtwFree(ring);
}

static void retire(Ring *ring)
{
    if (ring == NULL || ring->owner == OsPid()) {
        return; /* freed by its session */
    }
    ring->next = atomic_load(&retired);
    while (!atomic_compare_exchange_weak(&retired, &ring->next, ring)) {
    }
}

/* Unmap the retired mappings if no writer uses them; otherwise a later call does. */
static void unmapRetired(void)
{
    Ring *list = atomic_exchange(&retired, NULL), *next;
    bool quiet = list != NULL && EtwThreadsQuiet();
    for (; list != NULL; list = next) {
        next = list->next;
        if (quiet) {
            freeMapping(list);
        } else {
            retire(list);
        }
    }
}

Ring *RegRingMap(uint32_t index, uint64_t instance)
{
    Registry *r = RegGet();
    char path[1024];
    Ring *old, *mine;
    /*
     * A writer may have read index and instance while the entry changed, so that they do not match.
     */
    if (index >= ETW_MAX_SESSIONS || atomic_load(&r->sessions[index].instance) != instance) {
        return NULL;
    }
    old = atomic_load(&regRings[index]);
    if (old != NULL && old->instance == instance) {
        return old;
    }
    RegSessionPath(instance, path, sizeof path);
    mine = EtwAlloc(sizeof *mine);
    if (RingOpen(mine, path, instance, NULL) != ETW_OK) {
        EtwFree(mine);
        return NULL;
    }
    if (!atomic_compare_exchange_strong(&regRings[index], &old, mine)) {
        freeMapping(mine); /* another thread was faster */
        return old != NULL && old->instance == instance ? old : NULL;
    }
    retire(old);
    unmapRetired();
    RegMapProc *onMap = atomic_load(&regOnMap);
    if (onMap != NULL) {
        onMap(mine);
    }
    return mine;
}

void RegAttach(uint32_t index, Ring *ring)
{
    ring->owner = OsPid();
    retire(atomic_exchange(&regRings[index], ring));
    unmapRetired();
}

void RegDetach(uint32_t index)
{
    atomic_store(&regRings[index], NULL);
}
