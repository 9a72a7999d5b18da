/*
 * tcl/command/write_cmd.c --
 *
 *	etw write and etw enabled, the commands that a traced program calls often. Look-ups go through
 *	a small cache whose keys are the words' Tcl_Obj pointers. While no session has enabled the
 *	event, nothing is converted and the number of arguments is not checked. The payload is built
 *	in one buffer of the interpreter.
 */
#include "tcl/provider/tcl_provider.h"

enum { CACHE_SLOTS = 64 };

/*
 * A slot holds a reference to both words: their addresses are not reused, and shared values are not
 * changed in place.
 */
typedef struct Slot {
    Tcl_Obj *providerName;
    Tcl_Obj *eventName; /* NULL in a slot of etw enabled */
    EtwTclProvider *provider;
    EtwTclEvent *event;
} Slot;

typedef struct EtwWriteCache {
    unsigned epoch;  /* etwProviderEpoch when the slots were filled */
    EtwText payload; /* of the event that is being written */
    Slot slots[CACHE_SLOTS];
} EtwWriteCache;

static void emptySlot(Slot *slot)
{
    if (slot->providerName != NULL) {
        Tcl_DecrRefCount(slot->providerName);
    }
    if (slot->eventName != NULL) {
        Tcl_DecrRefCount(slot->eventName);
    }
    memset(slot, 0, sizeof *slot);
}

void EtwWriteCacheFree(EtwWriteCache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (int i = 0; i < CACHE_SLOTS; i++) {
        emptySlot(&cache->slots[i]);
    }
    EtwTextFree(&cache->payload);
    EtwFree(cache);
}

static inline Slot *slotOf(EtwWriteCache *cache, Tcl_Obj *provider, Tcl_Obj *event)
{
    uintptr_t mixed = ((uintptr_t)provider >> 4) * 31 + ((uintptr_t)event >> 4);
    return &cache->slots[mixed % CACHE_SLOTS];
}

/* Look both up by name and fill a slot. eventName NULL: the provider only. */
static Slot *fillSlot(EtwInterp *ctx, Tcl_Obj *providerName, Tcl_Obj *eventName)
{
    EtwTclProvider *provider = EtwFindProvider(ctx, providerName);
    EtwTclEvent *event = NULL;

    if (provider == NULL ||
            (eventName && (event = EtwFindEvent(ctx, provider, eventName)) == NULL)) {
        return NULL;
    }
    Slot *slot = slotOf(ctx->writeCache, providerName, eventName);
    emptySlot(slot);
    slot->provider = provider;
    slot->event = event;
    slot->providerName = providerName;
    Tcl_IncrRefCount(providerName);
    if (eventName != NULL) {
        slot->eventName = eventName;
        Tcl_IncrRefCount(eventName);
    }
    return slot;
}

static EtwWriteCache *newCache(EtwInterp *ctx)
{
    EtwWriteCacheFree(ctx->writeCache);
    ctx->writeCache = EtwAlloc(sizeof *ctx->writeCache);
    ctx->writeCache->epoch = __atomic_load_n(&etwProviderEpoch, __ATOMIC_RELAXED);
    return ctx->writeCache;
}

static inline Slot *findSlot(EtwInterp *ctx, Tcl_Obj *providerName, Tcl_Obj *eventName)
{
    EtwWriteCache *cache = ctx->writeCache;

    if (__builtin_expect(cache == NULL || cache->epoch != __atomic_load_n(&etwProviderEpoch,
                                                                  __ATOMIC_RELAXED),
                0)) {
        cache = newCache(ctx);
    }
    Slot *slot = slotOf(cache, providerName, eventName);
    if (__builtin_expect(slot->providerName == providerName && slot->eventName == eventName, 1)) {
        return slot;
    }
    return fillSlot(ctx, providerName, eventName);
}

static int wrongCount(Tcl_Interp *interp, const EtwTclEvent *event, Tcl_Obj *const objv[])
{
    Tcl_DString usage;

    Tcl_DStringInit(&usage);
    for (int i = 0; i < event->fieldCount; i += event->schema->fields[i].span) {
        Tcl_DStringAppend(&usage, i ? " " : "", -1);
        Tcl_DStringAppend(&usage, event->fields[i].name, -1);
    }
    Tcl_WrongNumArgs(interp, 3, objv, Tcl_DStringValue(&usage));
    Tcl_DStringFree(&usage);
    return TCL_ERROR;
}

/*
 * An event that is too large or finds no free buffer is counted by the session as lost; it is not
 * an error here.
 */
static int writeEvent(
        Tcl_Interp *interp, EtwText *payload, const EtwTclEvent *event, Tcl_Obj *const values[])
{
    const EtwType *type = event->types, *end = type + event->fieldCount;

    payload->size = 0;
    for (; type < end; type += type->field->span, values++) {
        if (EtwEncodeField(interp, payload, type, *values) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    Etw_Write(event->event, &(Etw_Data){payload->data, payload->size}, payload->size != 0);
    return TCL_OK;
}

int EtwWriteCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    if (objc < 3) {
        Tcl_WrongNumArgs(interp, 1, objv, "provider event ?value ...?");
        return TCL_ERROR;
    }
    Slot *slot = findSlot(clientData, objv[1], objv[2]);
    if (slot == NULL) {
        return TCL_ERROR;
    }
    const EtwTclEvent *event = slot->event;
    if (!Etw_Enabled(slot->provider->handle, event->level, event->keyword)) {
        return TCL_OK;
    }
    if (objc - 3 != event->valueCount) {
        return wrongCount(interp, event, objv);
    }
    return writeEvent(interp, &((EtwInterp *)clientData)->writeCache->payload, event, objv + 3);
}

/*
 * Looks in the registry whether an event of that level and keyword is enabled, for a provider that
 * this interpreter did not create.
 */
typedef struct EnabledMatch {
    EtwGuid guid;
    uint8_t level;
    uint64_t keyword;
    bool any;
} EnabledMatch;

static bool addEnabledMatch(void *clientData, const EtwProviderInfo *info)
{
    EnabledMatch *l = clientData;

    if (!EtwGuidEqual(&info->guid, &l->guid)) {
        return true;
    }
    for (int i = 0; i < info->enables && !l->any; i++) {
        uint8_t level = info->enabled[i].level;
        uint64_t any = info->enabled[i].any, all = info->enabled[i].all;
        l->any = (level == 0 || l->level <= level) &&
                 (l->keyword == 0 ||
                         ((any == 0 || (l->keyword & any) != 0) && (l->keyword & all) == all));
    }
    return false;
}

static int enabledInSessions(EtwInterp *ctx, int objc, Tcl_Obj *const objv[])
{
    EnabledMatch listeners = {.any = false};
    Tcl_Interp *interp = ctx->interp;
    EtwProviderRef target;

    if (EtwResolveProvider(ctx, objv[1], &target) != TCL_OK ||
            (objc > 2 && EtwGetLevel(interp, objv[2], &listeners.level) != TCL_OK) ||
            (objc > 3 && EtwGetKeywords(interp, objv[3], target.name, target.keywords,
                                 target.keywordCount, &listeners.keyword) != TCL_OK)) {
        return TCL_ERROR;
    }
    listeners.guid = target.guid;
    EtwProviderList(addEnabledMatch, &listeners);
    Tcl_SetObjResult(interp, Tcl_NewBooleanObj(listeners.any));
    return TCL_OK;
}

int EtwEnabledCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    uint8_t level = 0;
    uint64_t keyword = 0;

    if (objc < 2 || objc > 4) {
        Tcl_WrongNumArgs(interp, 1, objv, "provider ?level? ?keyword?");
        return TCL_ERROR;
    }
    Slot *slot = findSlot(clientData, objv[1], NULL);
    if (slot == NULL) { /* a safe interpreter sees only the providers granted to it */
        return Tcl_IsSafe(interp) ? TCL_ERROR : enabledInSessions(clientData, objc, objv);
    }
    if (objc > 2 && EtwGetLevel(interp, objv[2], &level) != TCL_OK) {
        return TCL_ERROR;
    }
    const EtwTclProvider *provider = slot->provider;
    if (objc > 3 && EtwGetKeywords(interp, objv[3], provider->name, provider->keywords,
                            provider->keywordCount, &keyword) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, Tcl_NewBooleanObj(Etw_Enabled(provider->handle, level, keyword)));
    return TCL_OK;
}
