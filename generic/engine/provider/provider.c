/*
 * engine/provider/provider.c --
 *
 *	Implements etw.h: registers providers, defines and writes events. A provider handle is a
 *	slot of the shared registry. An Etw_Event belongs to this process and refers to its class in
 *	the registry's arena.
 */
#include "base/text.h"
#include "base/wide.h"
#include "engine/provider/buffer_wait.h"
#include "engine/provider/enable_callbacks.h"
#include "engine/provider/native_provider.h"
#include "engine/provider/provider.h"
#include "engine/shared/process_scope.h"
#include "engine/shared/testpoint.h"
#include "engine/shared/writer_threads.h"
#include "etl/format.h"
#include "schema/model/schema.h"

/*
 * An event is never freed, because call sites (Etw_Site) keep pointers to it. The provider's last
 * Etw_Unregister sets `provider` to NULL; defining the same event again restores it. A class
 * belongs to one provider, so an event never changes to another provider.
 */
struct Etw_Event {
    _Atomic(RegProvider *) provider; /* relaxed: the other members are constant */
    EtwDescriptor desc;
    uint32_t eventClass;
    _Atomic uint32_t generation; /* of the provider's slot when the event was defined */
    Etw_Event *next;
};

/* All events of this process. Guarded by RegLock. */
static Etw_Event *events;

static inline RegProvider *providerOf(const Etw_Event *event)
{
    return atomic_load_explicit(&event->provider, memory_order_relaxed);
}

static inline void setProvider(Etw_Event *event, RegProvider *provider)
{
    if (provider != NULL) {
        atomic_store_explicit(
                &event->generation, atomic_load(&provider->generation), memory_order_relaxed);
    }
    atomic_store_explicit(&event->provider, provider, memory_order_relaxed);
}

/* The slot still belongs to the event's provider. Checked after an enable was read: another provider's
 * enable is set after the generation has changed. */
static inline bool isCurrent(const Etw_Event *event, const RegProvider *provider)
{
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&provider->generation, memory_order_relaxed) ==
           atomic_load_explicit(&event->generation, memory_order_relaxed);
}

/* ---- Registering ----------------------------------------------------------------------------- */

EtwStatus EtwRegister(const char *name, const Etw_Guid *guid, Etw_Provider **out, EtwError *err)
{
    EtwGuid id;
    RegProvider *provider;
    int registrations = 0;
    *out = NULL;
    if (name == NULL || *name == '\0' || strlen(name) >= sizeof provider->name) {
        return EtwFail(err, ETW_E_ARG, "NAME", name ? name : "",
                "bad provider name: it must have 1 to %d bytes", (int)sizeof provider->name - 1);
    }
    if (RegOpen(err) == NULL || RegLock(err) != ETW_OK) {
        return err->status;
    }
    if (guid != NULL) {
        memcpy(&id, guid, sizeof id);
    } else {
        EtwGuidFromName(name, &id);
    }
    provider = RegFindProvider(&id, name, true);
    if (provider != NULL && (registrations = RegAddRegistration(provider)) == 0) {
        provider = NULL;
    }
    RegUnlock();
    if (provider == NULL) {
        return EtwFail(err, ETW_E_LIMIT, "PROVIDERS", name,
                "cannot register provider \"%s\": the registry of this user is full; end processes "
                "that have registered providers",
                name);
    }
    if (registrations == 1) {
        EtwNativeRegister(provider);
    }
    EtwProcessEventDefine();
    *out = &provider->pub;
    return ETW_OK;
}

Etw_Provider *Etw_Register(const char *name, const Etw_Guid *guid)
{
    Etw_Provider *provider;
    EtwError err;
    EtwRegister(name, guid, &provider, &err);
    return provider;
}

void Etw_Unregister(Etw_Provider *pub)
{
    RegProvider *provider = (RegProvider *)pub;
    bool last;
    if (provider == NULL) {
        return;
    }
    RegLockOrLocal(); /* the count that changes is this process's own */
    last = RegRemoveRegistration(provider) == 0;
    if (last) {
        for (Etw_Event *e = events; e != NULL; e = e->next) {
            if (providerOf(e) == provider) {
                setProvider(e, NULL);
            }
        }
    }
    RegUnlock();
    if (last) {
        CallbackRemoveProvider(provider);
        EtwNativeUnregister(provider);
    }
}

/*
 * Fill in the constant part of an event's records. An event that is not described has no metadata.
 */
static void fillClass(RegClass *head, const RegProvider *provider, const Etw_EventDesc *desc,
        const EtwText *traits, const EtwText *meta)
{
    bool classic = desc->classGuid != NULL, described = !classic && desc->undescribed == 0;
    head->provider = (uint16_t)(provider - RegGet()->providers);
    head->classic = classic;
    head->guid = provider->guid;
    head->desc =
            (EtwDescriptor){.version = desc->version, .level = desc->level, .opcode = desc->opcode};
    if (classic) {
        memcpy(head->guid.bytes, desc->classGuid->bytes, sizeof head->guid.bytes);
        return;
    }
    head->desc.id = desc->id;
    head->desc.channel = described ? ETL_CHANNEL_TRACELOGGING : 0;
    head->desc.task = desc->task;
    head->desc.keyword = desc->keyword;
    head->traitsSize = described ? (uint16_t)traits->size : 0;
    head->metaSize = described ? (uint16_t)meta->size : 0;
}

Etw_Event *Etw_DefineEvent(
        Etw_Provider *pub, const Etw_EventDesc *desc, const Etw_Field *fields, int fieldCount)
{
    RegProvider *provider = (RegProvider *)pub;
    EtwText meta = {0}, traits = {0};
    RegClass head = {0};
    Etw_Event *event = NULL;
    if (provider == NULL || RegOpen(NULL) == NULL || RegLock(NULL) != ETW_OK) {
        return NULL;
    }
    if (!RegIsRegistered(provider)) { /* the slot may belong to another provider */
        RegUnlock();
        return NULL;
    }
    EtwTraceLoggingTraits(&traits, provider->name, NULL);
    if (EtwTraceLoggingEncode(&meta, desc->name, fields, fieldCount, NULL) == ETW_OK &&
            meta.size < 0xF000) {
        fillClass(&head, provider, desc, &traits, &meta);
        uint32_t offset =
                RegClassOf(&head, (const uint8_t *)traits.data, (const uint8_t *)meta.data);
        for (event = events; event != NULL; event = event->next) {
            if (offset != 0 && event->eventClass == offset) {
                break;
            }
        }
        if (offset != 0 && event == NULL) {
            event = EtwAlloc(sizeof *event);
            event->desc = head.desc;
            event->eventClass = offset;
            event->next = events;
            events = event;
        }
        if (event != NULL) {
            setProvider(event, provider);
        }
    }
    RegUnlock();
    if (event != NULL && head.classic) {
        EtwNativeDefineClassic(provider, &head.guid);
    }
    EtwTextFree(&meta);
    EtwTextFree(&traits);
    return event;
}

Etw_Event *EtwDefineDeclared(Etw_Provider *provider, const EtwDeclaredEvent *event)
{
    Etw_EventDesc desc;
    Etw_Field fields[ETW_DECLARED_FIELDS_MAX];
    int count = EtwDeclaredFields(event, &desc, fields);
    return Etw_DefineEvent(provider, &desc, fields, count);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool hasPid(const RegEnable *e, uint32_t pid)
{
    int i = 0;
    while (i < e->pidCount && e->pids[i] != pid) {
        i++;
    }
    return i < e->pidCount;
}

static bool hasId(const RegEnable *e, uint16_t id)
{
    int i = 0;
    while (i < e->idCount && e->ids[i] != id) {
        i++;
    }
    return i < e->idCount;
}

static inline bool wantsProcess(const RegEnable *e)
{
    if (e->scoped) {
        return ProcessInScope(e->instance);
    }
    /* Most filters have one process, so pids[0] is compared first. */
    return e->pidCount == 0 || e->pids[0] == OsPid() || hasPid(e, OsPid());
}

static inline bool wanted(const RegEnable *e, const EtwDescriptor *desc)
{
    if (desc->level > e->level ||
            (desc->keyword != 0 &&
                    ((desc->keyword & e->any) == 0 || (desc->keyword & e->all) != e->all))) {
        return false;
    }
    return wantsProcess(e) && (e->idCount == 0 || hasId(e, desc->id));
}

static inline uint8_t *putPieces(uint8_t *at, const Etw_Data *data, int count)
{
    for (int i = 0; i < count; i++) {
        EtwCopyShort(at, data[i].data, data[i].size);
        at += data[i].size;
    }
    return at;
}

static inline void putElapsed(uint8_t *payload, const EtwElapsed *e, uint64_t now)
{
    uint64_t ticks = now > e->since ? now - e->since : 0; /* the CPUs' clocks may differ */
    EtwStore64(payload + e->at, EtwMulShift32(ticks, e->scale));
}

typedef struct WriteArgs {
    const Etw_Event *event;
    const EtwThread *thread;
    const Etw_Guid *activity, *related;
    const Etw_Data *data;
    int count;
    uint32_t payload;
    uint64_t *stamp;           /* where to return the time; NULL: nowhere */
    const EtwElapsed *elapsed; /* the duration to store in the payload; NULL: none */
} WriteArgs;

static inline __attribute__((always_inline)) int writeTo(Ring *ring, const WriteArgs *w)
{
    uint32_t ids = (w->activity ? 16u : 0u) + (w->related ? 16u : 0u);
    uint32_t size = (uint32_t)EtwAlign8(sizeof(RingRecord) + ids + w->payload);
    uint32_t cpu = (uint32_t)OsCpu();
    uint32_t stream = cpu < ring->cpus ? cpu : cpu % ring->cpus;
    RingRecord *record;
    uint8_t *at;
    if (__builtin_expect(size > ring->bufferSize || w->payload > 0xF000, 0)) {
        atomic_fetch_add_explicit(&ring->streams[stream].lostTooBig, 1, memory_order_relaxed);
        return ETW_LOST_TOO_BIG;
    }
    record = RingReserve(ring, stream, size, 0);
    if (__builtin_expect(record == NULL, 0)) {
        record = BufferWait(ring, stream, size, w->thread);
    }
    if (__builtin_expect(record == NULL, 0)) {
        atomic_fetch_add_explicit(&ring->streams[stream].lostNoBuffer, 1, memory_order_relaxed);
        return ETW_LOST_NO_BUFFER;
    }
    if (w->stamp != NULL) {
        *w->stamp = record->ticks;
    }
    record->eventClass = w->event->eventClass;
    record->tid = w->thread->tid; /* RingReserve has stored the pid */
    record->payloadSize = (uint16_t)w->payload;
    record->flags =
            (uint8_t)((w->activity ? RING_HAS_ACTIVITY : 0) | (w->related ? RING_HAS_RELATED : 0));
    at = (uint8_t *)(record + 1);
    if (w->activity) {
        memcpy(at, w->activity, 16);
        at += 16;
    }
    if (w->related) {
        memcpy(at, w->related, 16);
        at += 16;
    }
    putPieces(at, w->data, w->count);
    if (w->elapsed != NULL) {
        putElapsed(at, w->elapsed, record->ticks);
    }
    ETW_TEST_POINT("record.before-commit");
    RingCommit(record, size);
    return ETW_WRITTEN;
}

/* Write to the operating system's sessions. A duration is stored in a copy of the payload. */
static int writeNative(const RegProvider *provider, const WriteArgs *w)
{
    uint8_t copy[2048];
    EtwNativeEvent event = {
            w->event->eventClass, w->activity, w->related, w->data, w->count, w->payload};
    Etw_Data whole = {copy, w->payload};
    uint64_t now = OsTicks();
    if (w->stamp != NULL && *w->stamp == 0) {
        *w->stamp = now;
    }
    if (w->elapsed != NULL && w->payload <= sizeof copy) {
        putPieces(copy, w->data, w->count);
        putElapsed(copy, w->elapsed, now);
        event.data = &whole;
        event.count = 1;
    }
    return EtwNativeWrite(provider, &event);
}

/* Set the activity and related activity of the thread. */
static void takeIds(WriteArgs *args, EtwThread *thread)
{
    args->activity = thread->hasActivity ? &thread->activity : NULL;
    if (thread->hasRelated && args->related == NULL) {
        args->related = &thread->related;
        thread->hasRelated = false;
    }
}

/*
 * Write the event to every session that has enabled it. The caller sets all members of args except
 * thread and payload size. Inlined, so that each caller pays only for the members it uses.
 */
static inline __attribute__((always_inline)) int writeWanted(RegProvider *provider, WriteArgs *args)
{
    const Etw_Event *event = args->event;
    EtwThread *thread;
    size_t payload = 0;
    uint32_t active;
    int result = ETW_WRITTEN;
    for (int i = 0; i < args->count; i++) {
        payload += args->data[i].size;
    }
    args->payload = payload > 0xFFFFFF ? 0xFFFFFF : (uint32_t)payload;
    args->thread = thread = EtwThreadSelf();
    if (__builtin_expect(thread->pid != OsPid(), 0)) {
        EtwThreadRefresh(thread);
        RegOpen(NULL); /* in a forked child: join the registry */
    }
    if (args->activity == NULL && (thread->hasActivity || thread->hasRelated)) {
        takeIds(args, thread);
    }
    EtwThreadEnter(thread);
    /* acquire: an entry whose bit is set is complete */
    active = atomic_load_explicit(&provider->active, memory_order_acquire);
    while (active != 0) {
        const RegEnable *e = &provider->enables[__builtin_ctz(active)];
        active &= active - 1;
        if (wanted(e, &event->desc)) {
            Ring *ring = RegRing(e->session, e->instance);
            if (__builtin_expect(!isCurrent(event, provider), 0)) {
                result = ETW_LOST_UNDEFINED;
                break;
            }
            int one = ring ? writeTo(ring, args) : ETW_WRITTEN;
            result = one != ETW_WRITTEN ? one : result;
        }
    }
    EtwThreadLeave(thread);
    if (__builtin_expect(atomic_load_explicit(&provider->system, memory_order_relaxed) != 0, 0)) {
        int one = writeNative(provider, args);
        result = one != ETW_WRITTEN ? one : result;
    }
    return result;
}

/*
 * The event's provider if a session has enabled the event, otherwise NULL. event NULL: defining it
 * has failed.
 */
static inline RegProvider *enabledProvider(const Etw_Event *event)
{
    RegProvider *provider = event != NULL ? providerOf(event) : NULL;
    bool enabled =
            provider != NULL && Etw_Enabled(&provider->pub, event->desc.level, event->desc.keyword);
    return enabled ? provider : NULL;
}

int Etw_WriteActivity(Etw_Event *event, const Etw_Guid *activity, const Etw_Guid *related,
        const Etw_Data *data, int count)
{
    RegProvider *provider = enabledProvider(event);
    WriteArgs args = {event, NULL, activity, related, data, count, 0, NULL, NULL};
    return provider != NULL ? writeWanted(provider, &args) : ETW_WRITTEN;
}

int Etw_Write(Etw_Event *event, const Etw_Data *data, int count)
{
    RegProvider *provider = enabledProvider(event);
    WriteArgs args = {event, NULL, NULL, NULL, data, count, 0, NULL, NULL};
    return provider != NULL ? writeWanted(provider, &args) : ETW_WRITTEN;
}

uint64_t EtwWriteStamped(Etw_Event *event, const Etw_Data *data, int count)
{
    uint64_t stamp = 0;
    WriteArgs args = {event, NULL, NULL, NULL, data, count, 0, &stamp, NULL};
    writeWanted(providerOf(event), &args);
    return stamp;
}

void EtwWriteElapsed(Etw_Event *event, const Etw_Data *data, int count, const EtwElapsed *elapsed)
{
    WriteArgs args = {event, NULL, NULL, NULL, data, count, 0, NULL, elapsed};
    writeWanted(providerOf(event), &args);
}

/* ---- Call sites ------------------------------------------------------------------------------ */

enum { SITE_EVENTS = sizeof(((Etw_Site *)0)->events) / sizeof(Etw_Event *) };

/*
 * The site's event for this provider; NULL: not defined yet. Acquire: another thread may have
 * initialized the event before it stored the pointer.
 */
static inline Etw_Event *siteEvent(Etw_Site *site, const RegProvider *provider)
{
    for (int i = 0; i < SITE_EVENTS; i++) {
        Etw_Event *event = __atomic_load_n(&site->events[i], __ATOMIC_ACQUIRE);
        if (event == NULL) {
            break;
        }
        if (providerOf(event) == provider) {
            return event;
        }
    }
    return NULL;
}

/*
 * Define the site's event for a provider. Threads that do so at the same time get the same event
 * and may store it twice. With more providers than SITE_EVENTS, the site replaces the event of
 * another provider.
 */
static __attribute__((noinline)) Etw_Event *defineSiteEvent(Etw_Site *site, Etw_Provider *pub)
{
    Etw_Event *event;
    unsigned next;
    if (__atomic_load_n(&site->failed, __ATOMIC_RELAXED) == pub) {
        return NULL; /* failure is permanent: malformed fields, or the registry's arena is full */
    }
    event = Etw_DefineEvent(pub, &site->desc, site->fields, site->fieldCount);
    if (event == NULL) {
        __atomic_store_n(&site->failed, pub, __ATOMIC_RELAXED);
        return NULL;
    }
    next = __atomic_fetch_add(&site->next, 1, __ATOMIC_RELAXED) % SITE_EVENTS;
    __atomic_store_n(&site->events[next], event, __ATOMIC_RELEASE);
    return event;
}

int Etw_WriteSite(Etw_Site *site, Etw_Provider *pub, const Etw_Guid *activity,
        const Etw_Guid *related, const Etw_Data *data, int count)
{
    RegProvider *provider = (RegProvider *)pub;
    Etw_Event *event = siteEvent(site, provider);
    WriteArgs args = {event, NULL, activity, related, data, count, 0, NULL, NULL};
    if (__builtin_expect(event == NULL, 0)) {
        args.event = defineSiteEvent(site, pub);
        if (args.event == NULL) {
            return ETW_LOST_UNDEFINED;
        }
    }
    return writeWanted(provider, &args);
}

bool EtwProviderWriteTo(Ring *ring, uint32_t stream, const EtwRawEvent *raw)
{
    size_t stack = 8u * (size_t)raw->stackCount;
    uint32_t size = (uint32_t)EtwAlign8(sizeof(RingRecord) + stack + raw->size);
    RingRecord *record;
    if (size > ring->bufferSize || raw->size > 0xF000) {
        atomic_fetch_add_explicit(&ring->streams[stream].lostTooBig, 1, memory_order_relaxed);
        return true;
    }
    record = RingReserve(ring, stream, size, raw->ticks);
    if (record == NULL) {
        return false;
    }
    record->eventClass = raw->event->eventClass;
    record->tid = raw->tid;
    if (record->pid != raw->pid) {
        record->pid = raw->pid; /* safe before the commit, which makes the record readable */
    }
    record->payloadSize = (uint16_t)raw->size;
    record->flags = 0;
    record->stackCount = raw->stackCount;
    if (stack > 0) {
        memcpy(record + 1, raw->stack, stack);
    }
    memcpy((uint8_t *)(record + 1) + stack, raw->payload, raw->size);
    RingCommit(record, size);
    return true;
}

/* ---- Activity ids ---------------------------------------------------------------------------- */

void Etw_ActivityCreate(Etw_Guid *activity)
{
    EtwGuidRandom((EtwGuid *)activity);
}

void Etw_ActivitySet(const Etw_Guid *activity)
{
    EtwThread *thread = EtwThreadSelf();
    thread->hasActivity = activity != NULL;
    if (activity != NULL) {
        thread->activity = *activity;
    }
}

void Etw_ActivityGet(Etw_Guid *activity)
{
    EtwThread *thread = EtwThreadSelf();
    if (thread->hasActivity) {
        *activity = thread->activity;
    } else {
        memset(activity, 0, sizeof *activity);
    }
}

void EtwActivityRelate(const Etw_Guid *related)
{
    EtwThread *thread = EtwThreadSelf();
    thread->hasRelated = related != NULL;
    if (related != NULL) {
        thread->related = *related;
    }
}
