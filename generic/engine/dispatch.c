/*
 * engine/dispatch.c --
 *
 *	Implements engine.h for both engines: finds the engine that a session name refers to and
 *	calls its functions. The prefixes "embedded:", "system:" and "autologger:" select an engine. A
 *	name without a prefix refers to the embedded or the system engine, whichever has such a session.
 */
#include "base/os.h"
#include "base/text.h"
#include "engine/engine_int.h"

/* ---- Choosing the engine --------------------------------------------------------------------- */

/* The part of the name after "ENGINE:". NULL: the name does not begin with this prefix. */
static const char *behindPrefix(const char *name, const char *engine)
{
    size_t n = strlen(engine);
    return strncmp(name, engine, n) == 0 && name[n] == ':' ? name + n + 1 : NULL;
}

/*
 * The engine that the name's prefix selects; the prefix is removed from *namePtr. ETW_END: no
 * prefix.
 */
static EtwStatus byPrefix(const char **namePtr, const EtwEngineOps **opsPtr, EtwError *err)
{
    const char *rest = behindPrefix(*namePtr, etwEmbeddedOps.name);
    if (rest != NULL) {
        *opsPtr = &etwEmbeddedOps;
    } else if ((rest = behindPrefix(*namePtr, "system")) != NULL) {
        *opsPtr = EtwSystemOps(err);
    } else if ((rest = behindPrefix(*namePtr, "autologger")) != NULL) {
        *opsPtr = EtwAutologgerOps(err);
    } else {
        return ETW_END;
    }
    *namePtr = rest;
    return *opsPtr != NULL ? ETW_OK : ETW_E_UNSUPPORTED;
}

static bool addName(void *ctx, const EtwSessionInfo *info)
{
    EtwText *list = ctx;
    EtwTextPrintf(list, "%s%s:%s", list->size ? ", " : "", info->engine, info->name);
    return true;
}

static EtwStatus noSession(const char *name, EtwError *err)
{
    EtwText list = {0};
    EtwSessionList(addName, &list);
    EtwTextChar(&list, '\0');
    EtwFail(err, ETW_E_LOOKUP, "SESSION", name, "no session \"%s\": %s%.400s", name,
            list.size > 1 ? "there are " : "none is running", list.data);
    EtwTextFree(&list);
    return ETW_E_LOOKUP;
}

/* The engine that has the session. ETW_E_LOOKUP: neither has it. */
static EtwStatus engineOf(const char **namePtr, const EtwEngineOps **opsPtr, EtwError *err)
{
    EtwStatus status = byPrefix(namePtr, opsPtr, err);
    const EtwEngineOps *system = status == ETW_END ? EtwSystemOps(NULL) : NULL;
    if (status != ETW_END || system == NULL) {
        *opsPtr = status == ETW_END ? &etwEmbeddedOps : *opsPtr;
        return status == ETW_END ? ETW_OK : status;
    }
    EtwStatus mine = etwEmbeddedOps.has(*namePtr), foreign = system->has(*namePtr);
    bool own = mine != ETW_E_LOOKUP;
    if (mine == ETW_OK && foreign == ETW_OK) {
        return EtwFail(err, ETW_E_STATE, "AMBIGUOUS", *namePtr,
                "both engines have a session \"%s\": name it \"embedded:%s\" or \"system:%s\"",
                *namePtr, *namePtr, *namePtr);
    }
    *opsPtr = own ? &etwEmbeddedOps : system;
    /*
     * When an engine cannot determine whether it has the session, the call itself reports the
     * error.
     */
    return own || foreign != ETW_E_LOOKUP ? ETW_OK : noSession(*namePtr, err);
}

/* The engine that is to start the session. */
static EtwStatus engineFor(
        EtwEngine request, const char **namePtr, const EtwEngineOps **opsPtr, EtwError *err)
{
    EtwStatus status = byPrefix(namePtr, opsPtr, err);
    if (status != ETW_END) {
        EtwEngine said = *opsPtr == &etwEmbeddedOps ? ETW_ENGINE_EMBEDDED : ETW_ENGINE_SYSTEM;
        if (status == ETW_OK && request != ETW_ENGINE_AUTO && request != said) {
            return EtwFail(err, ETW_E_ARG, "ENGINE", *namePtr,
                    "the option -engine contradicts the prefix of the session name \"%s\": give "
                    "one of them",
                    *namePtr);
        }
        return status;
    }
    *opsPtr = request == ETW_ENGINE_EMBEDDED ? &etwEmbeddedOps : EtwSystemOps(err);
    if (*opsPtr == NULL && request == ETW_ENGINE_SYSTEM) {
        return ETW_E_UNSUPPORTED;
    }
    *opsPtr = *opsPtr != NULL ? *opsPtr : &etwEmbeddedOps;
    return ETW_OK;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

/* The embedded engine does what such a session is for, too. */
static bool mayBeEmbedded(const EtwSessionConfig *c)
{
    return c->engine == ETW_ENGINE_AUTO && !c->kernelLogger && c->privateOf == NULL &&
           c->inProcess == NULL && c->kernelFlags == 0 && c->clock == 0 && c->logMode == 0 &&
           c->guid == NULL;
}

/* The system's engine refuses a user without rights, who has the embedded one. */
static EtwStatus startOr(const EtwEngineOps *ops, EtwSessionConfig *own, EtwError *err)
{
    EtwError refused = {0}, other = {0};
    EtwStatus status = ops->start(own, &refused);
    if (status == ETW_E_IO && strcmp(OsErrorName(refused.osError), "ERROR_ACCESS_DENIED") == 0 &&
            mayBeEmbedded(own) && etwEmbeddedOps.start(own, &other) == ETW_OK) {
        return ETW_OK;
    }
    if (status != ETW_OK && err != NULL) {
        *err = refused;
    }
    return status;
}

/* name: of the session, without a prefix. */
static EtwStatus checkBoot(
        const EtwSessionConfig *config, const char *name, const EtwEngineOps *ops, EtwError *err)
{
    return config->boot == 0 || strcmp(ops->name, "autologger") == 0
                   ? ETW_OK
                   : EtwFail(err, ETW_E_ARG, "OPTIONS", name,
                             "-boot is for autologgers, but \"%s\" is a session that runs now: "
                             "name "
                             "it \"autologger:%s\", or omit the option",
                             name, name);
}

EtwStatus EtwSessionStart(const EtwSessionConfig *config, EtwError *err)
{
    EtwSessionConfig own = *config;
    const EtwEngineOps *ops;
    /* Only the embedded engine has lossless sessions. */
    EtwEngine request = config->engine == ETW_ENGINE_AUTO && config->lossless ? ETW_ENGINE_EMBEDDED
                                                                              : config->engine;
    EtwStatus status = engineFor(request, &own.name, &ops, err);
    if (status != ETW_OK) {
        return status;
    }
    if ((status = checkBoot(config, own.name, ops, err)) != ETW_OK) {
        return status;
    }
    bool chosen = own.name != config->name; /* by a prefix */
    return chosen ? ops->start(&own, err) : startOr(ops, &own, err);
}

EtwStatus EtwSessionStop(const char *name, EtwSessionInfo *info, EtwError *err)
{
    const EtwEngineOps *ops;
    EtwStatus status = engineOf(&name, &ops, err);
    return status == ETW_OK ? ops->stop(name, info, err) : status;
}

EtwStatus EtwSessionFlush(const char *name, EtwSessionInfo *info, EtwError *err)
{
    const EtwEngineOps *ops;
    EtwStatus status = engineOf(&name, &ops, err);
    return status == ETW_OK ? ops->flush(name, info, err) : status;
}

EtwStatus EtwSessionQuery(const char *name, EtwSessionInfo *info, EtwError *err)
{
    const EtwEngineOps *ops;
    EtwStatus status = engineOf(&name, &ops, err);
    return status == ETW_OK ? ops->query(name, info, err) : status;
}

EtwStatus EtwSessionUpdate(
        const char *name, const EtwSessionConfig *changes, EtwSessionInfo *info, EtwError *err)
{
    const EtwEngineOps *ops;
    EtwStatus status = engineOf(&name, &ops, err);
    if (status == ETW_OK) {
        status = checkBoot(changes, name, ops, err);
    }
    return status == ETW_OK ? ops->update(name, changes, info, err) : status;
}

EtwStatus EtwSessionSnapshot(
        const char *name, const char *file, EtwSessionInfo *info, EtwError *err)
{
    const EtwEngineOps *ops;
    EtwStatus status = engineOf(&name, &ops, err);
    return status == ETW_OK ? ops->snapshot(name, file, info, err) : status;
}

EtwStatus EtwSessionMark(const char *name, const char *text, EtwError *err)
{
    const EtwEngineOps *ops;
    EtwStatus status = engineOf(&name, &ops, err);
    return status == ETW_OK ? ops->mark(name, text, err) : status;
}

typedef struct Visit {
    EtwSessionVisit *session;
    void *ctx;
    bool ended;
} Visit;

static bool visitSession(void *ctx, const EtwSessionInfo *info)
{
    Visit *v = ctx;
    v->ended = !v->session(v->ctx, info);
    return !v->ended;
}

void EtwSessionList(EtwSessionVisit *visit, void *ctx)
{
    Visit v = {.session = visit, .ctx = ctx};
    const EtwEngineOps *system = EtwSystemOps(NULL);
    etwEmbeddedOps.list(visitSession, &v);
    if (system != NULL && !v.ended) {
        system->list(visit, ctx);
    }
}

EtwStatus EtwAutologgerList(
        EtwSessionVisit *visit, EtwProviderVisit *providers, void *ctx, EtwError *err)
{
    const EtwEngineOps *ops = EtwAutologgerOps(err);
    if (ops == NULL) {
        return ETW_E_UNSUPPORTED;
    }
    ops->list(visit, ctx);
    ops->providers(providers, ctx);
    return ETW_OK;
}

/* ---- Enabling -------------------------------------------------------------------------------- */

EtwStatus EtwSessionEnable(const char *name, const EtwEnable *enable, EtwError *err)
{
    const EtwEngineOps *ops;
    EtwStatus status = engineOf(&name, &ops, err);
    return status == ETW_OK ? ops->enable(name, enable, err) : status;
}

EtwStatus EtwSessionDisable(const char *name, const EtwGuid *provider, EtwError *err)
{
    const EtwEngineOps *ops;
    EtwStatus status = engineOf(&name, &ops, err);
    return status == ETW_OK ? ops->disable(name, provider, err) : status;
}

EtwStatus EtwSessionEnableKernel(const char *name, const EtwKernelEnable *enable, EtwError *err)
{
    const EtwEngineOps *ops;
    EtwStatus status = engineOf(&name, &ops, err);
    return status == ETW_OK ? ops->enableKernel(name, enable, err) : status;
}

EtwStatus EtwSessionDisableKernel(const char *name, EtwError *err)
{
    const EtwEngineOps *ops;
    EtwStatus status = engineOf(&name, &ops, err);
    return status == ETW_OK ? ops->disableKernel(name, err) : status;
}

/* A provider that is registered with both engines is visited once. */
typedef struct ProviderVisit {
    EtwProviderVisit *visit;
    void *ctx;
    const EtwEngineOps *system; /* NULL: none */
    EtwText seen;               /* GUIDs of visited providers */
    bool ended;
} ProviderVisit;

static bool visitOwn(void *ctx, const EtwProviderInfo *info)
{
    ProviderVisit *v = ctx;
    EtwProviderInfo both = *info;
    if (v->system != NULL) {
        v->system->providerState(&both);
        EtwTextAdd(&v->seen, info->guid.bytes, sizeof info->guid.bytes);
    }
    v->ended = !v->visit(v->ctx, &both);
    return !v->ended;
}

static bool visitSystem(void *ctx, const EtwProviderInfo *info)
{
    const ProviderVisit *v = ctx;
    for (size_t at = 0; at < v->seen.size; at += sizeof info->guid.bytes) {
        if (memcmp(v->seen.data + at, info->guid.bytes, sizeof info->guid.bytes) == 0) {
            return true;
        }
    }
    return v->visit(v->ctx, info);
}

void EtwProviderList(EtwProviderVisit *visit, void *ctx)
{
    ProviderVisit v = {.visit = visit, .ctx = ctx, .system = EtwSystemOps(NULL)};
    etwEmbeddedOps.providers(visitOwn, &v);
    if (v.system != NULL && !v.ended) {
        v.system->providers(visitSystem, &v);
    }
    EtwTextFree(&v.seen);
}

/* ---- Live consumption ------------------------------------------------------------------------ */

EtwStatus EtwLiveOpen(const char *session, EtwLive **livePtr, EtwError *err)
{
    const EtwEngineOps *ops;
    EtwStatus status = engineOf(&session, &ops, err);
    return status == ETW_OK ? ops->liveOpen(session, livePtr, err) : status;
}

EtwStatus EtwLiveNext(EtwLive *live, EtwEvent *event)
{
    return live->ops->next(live, event);
}

void EtwLiveWait(EtwLive *live, int64_t timeoutNs)
{
    live->ops->wait(live, timeoutNs);
}

void EtwLiveWake(EtwLive *live)
{
    live->ops->wake(live);
}

uint64_t EtwLiveLost(const EtwLive *live)
{
    return live->ops->lost(live);
}

void EtwLiveClose(EtwLive *live)
{
    live->ops->close(live);
}
