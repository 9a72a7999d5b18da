/*
 * tcl/command/sessions_cmd.c --
 *
 *	etw sessions: the names of all sessions of the user, or (-long) the state, enabled providers
 *	and event rate of each. The rate is that since this interpreter's previous call, whose
 *	counters are stored here.
 */
#include "tcl/command/session_cmd_int.h"

/* The counters of a session of the embedded engine at the previous call. */
typedef struct RateSample {
    uint64_t instance; /* 0: no previous call */
    uint64_t events;
    int64_t duration;
} RateSample;

struct EtwSessionRates {
    RateSample of[ETW_MAX_SESSIONS]; /* by index */
};

void EtwSessionRatesFree(struct EtwSessionRates *rates)
{
    EtwFree(rates);
}

/* ---- The names ------------------------------------------------------------------------------- */

typedef struct Listing {
    Tcl_Obj *list;
    const char *pattern;           /* NULL: all */
    struct EtwSessionRates *rates; /* NULL: names only */
} Listing;

/* Events per second since the previous call; at the first call, since the session's start. */
static double rateOf(struct EtwSessionRates *rates, const EtwSessionInfo *info)
{
    bool known = info->index < ETW_MAX_SESSIONS && strcmp(info->engine, "embedded") == 0;
    RateSample now = {info->instance, info->events, info->duration}, before = {0};

    if (known && rates->of[info->index].instance == info->instance) {
        before = rates->of[info->index];
    }
    if (known) {
        rates->of[info->index] = now;
    }
    uint64_t events = now.events > before.events ? now.events - before.events : 0;
    int64_t ns = now.duration - before.duration;
    return ns > 0 ? (double)events * 1e9 / (double)ns : 0.0;
}

static Tcl_Obj *longDict(const Listing *listing, const EtwSessionInfo *info)
{
    Tcl_Obj *dict = EtwSessionDict(info);

    EtwPut(dict, "rate", Tcl_NewDoubleObj(rateOf(listing->rates, info)));
    EtwPut(dict, "providers", Tcl_NewDictObj());
    return dict;
}

static bool addSession(void *ctx, const EtwSessionInfo *info)
{
    const Listing *listing = ctx;
    Tcl_Obj *name = EtwStringObj(info->name);

    Tcl_IncrRefCount(name);
    if (listing->pattern == NULL ||
            Tcl_StringCaseMatch(Tcl_GetString(name), listing->pattern, TCL_MATCH_NOCASE)) {
        Tcl_ListObjAppendElement(
                NULL, listing->list, listing->rates != NULL ? longDict(listing, info) : name);
    }
    Tcl_DecrRefCount(name);
    return true;
}

/* ---- Enabled providers ----------------------------------------------------------------------- */

/* Value of a key that must exist. */
static Tcl_Obj *valueOf(Tcl_Obj *dict, const char *key)
{
    Tcl_Obj *name = Tcl_NewStringObj(key, -1), *value = NULL;

    Tcl_IncrRefCount(name);
    Tcl_DictObjGet(NULL, dict, name, &value);
    Tcl_DecrRefCount(name);
    return value;
}

/*
 * The dict of the session that a provider is enabled in; NULL: not listed. The list is not shared,
 * so its dicts may be changed in place.
 */
static Tcl_Obj *findListed(Tcl_Obj *list, const char *engine, const char *session)
{
    Tcl_Size count;
    Tcl_Obj **dicts;

    Tcl_ListObjGetElements(NULL, list, &count, &dicts);
    for (Tcl_Size i = 0; i < count; i++) {
        if (strcmp(Tcl_GetString(valueOf(dicts[i], "engine")), engine) == 0 &&
                strcmp(Tcl_GetString(valueOf(dicts[i], "name")), session) == 0) {
            return dicts[i];
        }
    }
    return NULL;
}

static bool addProvider(void *ctx, const EtwProviderInfo *info)
{
    const Listing *listing = ctx;

    for (int i = 0; i < info->enables; i++) {
        Tcl_Obj *session =
                findListed(listing->list, info->enabled[i].engine, info->enabled[i].session);
        if (session == NULL) {
            continue;
        }
        Tcl_Obj *one = Tcl_NewDictObj(),
                *providers = Tcl_DuplicateObj(valueOf(session, "providers"));
        EtwPut(one, "level", Tcl_NewIntObj(info->enabled[i].level));
        EtwPut(one, "any", EtwUint64Obj(info->enabled[i].any));
        EtwPut(one, "all", EtwUint64Obj(info->enabled[i].all));
        EtwPut(one, "registrations", Tcl_NewIntObj(info->registrations));
        Tcl_DictObjPut(NULL, providers,
                info->name[0] != '\0' ? EtwStringObj(info->name) : EtwGuidObj(&info->guid), one);
        EtwPut(session, "providers", providers);
    }
    return true;
}

static bool noProvider(void *ctx, const EtwProviderInfo *info)
{
    (void)ctx, (void)info;
    return false;
}

/* ---- The command ----------------------------------------------------------------------------- */

typedef struct SessionsOptions {
    int isLong;
} SessionsOptions;

static const EtwOption sessionsOptions[] = {
        {"-long", ETW_OPT_BOOL, offsetof(SessionsOptions, isLong), 0, 0, 0, NULL},
        ETW_OPTION_END,
};

int EtwSessionsCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwInterp *ctx = clientData;
    SessionsOptions options = {0};
    Listing listing = {NULL, NULL, NULL};
    EtwError err = {0};
    int first = objc % 2 == 0 ? 2 : 1; /* options are pairs, so an odd word is a pattern */

    if (objc > first && Tcl_GetString(objv[first])[0] != '-') {
        Tcl_WrongNumArgs(interp, 1, objv, "?pattern? ?-option value ...?");
        return TCL_ERROR;
    }
    if (EtwParseOptions(interp, sessionsOptions, objc - first, objv + first, &options, NULL) !=
            TCL_OK) {
        return TCL_ERROR;
    }
    if (EtwSessionsReachable(&err) != ETW_OK) {
        return EtwTclError(interp, &err);
    }
    if (options.isLong && ctx->rates == NULL) {
        ctx->rates = EtwAlloc(sizeof *ctx->rates);
    }
    listing.rates = options.isLong ? ctx->rates : NULL;
    listing.pattern = first == 2 ? Tcl_GetString(objv[1]) : NULL;
    listing.list = Tcl_NewListObj(0, NULL);
    if (listing.pattern != NULL && strncmp(listing.pattern, "autologger:", 11) == 0) {
        listing.pattern += 11;
        if (EtwAutologgerList(addSession, options.isLong ? addProvider : noProvider, &listing,
                    &err) != ETW_OK) {
            Tcl_DecrRefCount(listing.list);
            return EtwTclError(interp, &err);
        }
        Tcl_SetObjResult(interp, listing.list);
        return TCL_OK;
    }
    EtwSessionList(addSession, &listing);
    if (options.isLong) {
        EtwProviderList(addProvider, &listing);
    }
    Tcl_SetObjResult(interp, listing.list);
    return TCL_OK;
}
