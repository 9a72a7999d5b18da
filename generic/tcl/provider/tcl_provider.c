/*
 * tcl/provider/tcl_provider.c --
 *
 *	The providers that Tcl code creates: an interpreter's table of them, their events, their
 *	deletion; and the resolution of a provider's name in session commands. The commands are in
 *	provider_cmd.c, write_cmd.c and enable_cmd.c.
 */
#include "tcl/provider/tcl_provider.h"
#include "engine/provider/provider.h"
#include "schema/store/known_providers.h"
#include <stdio.h>
#include <stdlib.h>

unsigned etwProviderEpoch = 1;

/* Relaxed, because a cache is used only by the thread that changes what it caches. */
static void bumpEpoch(void)
{
    __atomic_fetch_add(&etwProviderEpoch, 1, __ATOMIC_RELAXED);
}

/* ---- Built-in providers ---------------------------------------------------------------------- */

/* Providers that this package registers at their first use; they can be enabled before. */
static const char *const builtIns[] = {ETW_SCRIPT_PROVIDER, ETW_SESSION_PROVIDER};
enum { BUILT_INS = sizeof builtIns / sizeof builtIns[0] };

/* ---- The table ------------------------------------------------------------------------------- */

/* Names match in any case, like the GUID computed from them. *dsPtr holds the key. */
static const char *tableKey(Tcl_Obj *name, Tcl_DString *dsPtr)
{
    Tcl_Size length;
    const char *text = Tcl_GetStringFromObj(name, &length);

    Tcl_DStringInit(dsPtr);
    Tcl_DStringAppend(dsPtr, text, length);
    Tcl_UtfToLower(Tcl_DStringValue(dsPtr));
    return Tcl_DStringValue(dsPtr);
}

/* isNewPtr NULL: does not create an entry. */
static Tcl_HashEntry *providerEntry(EtwInterp *ctx, Tcl_Obj *name, int *isNewPtr)
{
    Tcl_DString ds;

    if (!ctx->providersReady) {
        Tcl_InitHashTable(&ctx->providers, TCL_STRING_KEYS);
        ctx->providersReady = true;
    }
    const char *key = tableKey(name, &ds);
    Tcl_HashEntry *entry = isNewPtr ? Tcl_CreateHashEntry(&ctx->providers, key, isNewPtr)
                                    : Tcl_FindHashEntry(&ctx->providers, key);
    Tcl_DStringFree(&ds);
    return entry;
}

static EtwTclProvider *lookUp(EtwInterp *ctx, Tcl_Obj *name)
{
    Tcl_HashEntry *entry = providerEntry(ctx, name, NULL);
    EtwTclProvider *provider = entry ? Tcl_GetHashValue(entry) : NULL;

    if (provider != NULL && provider->deleted) { /* by the interpreter that created it */
        Tcl_DeleteHashEntry(entry);
        EtwProviderRelease(provider);
        provider = NULL;
    }
    return provider;
}

static void appendNames(Tcl_HashTable *table, bool providers, Tcl_DString *out)
{
    Tcl_HashSearch search;
    Tcl_HashEntry *entry = Tcl_FirstHashEntry(table, &search);

    for (int i = 0; entry != NULL && i < 16; i++, entry = Tcl_NextHashEntry(&search)) {
        EtwTclProvider *provider = Tcl_GetHashValue(entry);
        Tcl_DStringAppend(out, i ? ", " : "", -1);
        Tcl_DStringAppend(out, providers ? provider->name : Tcl_GetHashKey(table, entry), -1);
    }
    if (Tcl_DStringLength(out) == 0) {
        Tcl_DStringAppend(out, "none", -1);
    }
}

EtwTclProvider *EtwFindProvider(EtwInterp *ctx, Tcl_Obj *name)
{
    EtwTclProvider *provider = lookUp(ctx, name);
    Tcl_DString list;

    if (provider != NULL) {
        return provider;
    }
    Tcl_DStringInit(&list);
    appendNames(&ctx->providers, true, &list);
    EtwTclFail(ctx->interp, ETW_E_LOOKUP, "PROVIDER", Tcl_GetString(name),
            "no provider \"%.100s\" was created in this interpreter; existing ones: %s",
            Tcl_GetString(name), Tcl_DStringValue(&list));
    Tcl_DStringFree(&list);
    return NULL;
}

EtwTclEvent *EtwFindEvent(EtwInterp *ctx, EtwTclProvider *provider, Tcl_Obj *name)
{
    Tcl_HashEntry *entry = Tcl_FindHashEntry(&provider->events, Tcl_GetString(name));
    Tcl_DString list;

    if (entry != NULL) {
        return Tcl_GetHashValue(entry);
    }
    Tcl_DStringInit(&list);
    appendNames(&provider->events, false, &list);
    EtwTclFail(ctx->interp, ETW_E_LOOKUP, "EVENT", Tcl_GetString(name),
            "provider \"%s\" has no event \"%.100s\"; existing ones: %s", provider->name,
            Tcl_GetString(name), Tcl_DStringValue(&list));
    Tcl_DStringFree(&list);
    return NULL;
}

int EtwProviderAddTo(EtwInterp *ctx, EtwTclProvider *provider)
{
    Tcl_Obj *name = EtwStringObj(provider->name);
    int isNew;

    Tcl_IncrRefCount(name);
    EtwTclProvider *taken = lookUp(ctx, name);
    Tcl_HashEntry *entry = taken ? NULL : providerEntry(ctx, name, &isNew);
    Tcl_DecrRefCount(name);
    if (taken != NULL) {
        return EtwTclFail(ctx->interp, ETW_E_STATE, "EXISTS", taken->name,
                "provider \"%s\" exists in this interpreter: use it, or delete it first with \"etw "
                "provider delete\"",
                taken->name);
    }
    provider->refCount++; /* for the table's reference */
    Tcl_SetHashValue(entry, provider);
    return TCL_OK;
}

void EtwProviderRemoveFrom(EtwInterp *ctx, EtwTclProvider *provider)
{
    Tcl_Obj *name = EtwStringObj(provider->name);

    Tcl_IncrRefCount(name);
    Tcl_HashEntry *entry = providerEntry(ctx, name, NULL);
    Tcl_DecrRefCount(name);
    if (entry != NULL && Tcl_GetHashValue(entry) == provider) {
        Tcl_DeleteHashEntry(entry);
        EtwProviderRelease(provider);
    }
}

void EtwProvidersFree(EtwInterp *ctx)
{
    Tcl_HashSearch search;

    if (!ctx->providersReady) {
        return;
    }
    Tcl_HashEntry *entry = Tcl_FirstHashEntry(&ctx->providers, &search);
    for (; entry != NULL; entry = Tcl_NextHashEntry(&search)) {
        EtwProviderRelease(Tcl_GetHashValue(entry));
    }
    Tcl_DeleteHashTable(&ctx->providers);
    ctx->providersReady = false;
}

/* ---- One provider ---------------------------------------------------------------------------- */

static void freeEvent(EtwTclEvent *event)
{
    EtwTypesFree(event->fields, event->fieldCount);
    EtwFree(event->schema);
    EtwFree(event->types);
    EtwFree(event->spec);
    EtwFree(event);
}

static void freeEvents(EtwTclProvider *provider)
{
    Tcl_HashSearch search;
    Tcl_HashEntry *entry = Tcl_FirstHashEntry(&provider->events, &search);

    for (; entry != NULL; entry = Tcl_NextHashEntry(&search)) {
        freeEvent(Tcl_GetHashValue(entry));
    }
    Tcl_DeleteHashTable(&provider->events);
}

void EtwProviderUnregister(EtwTclProvider *provider)
{
    if (!provider->deleted) {
        provider->deleted = true;
        bumpEpoch();
        EtwCallbackFree(provider->callback);
        provider->callback = NULL;
        Etw_Unregister(provider->handle);
    }
}

void EtwProviderRelease(EtwTclProvider *provider)
{
    if (--provider->refCount > 0) {
        return;
    }
    EtwProviderUnregister(provider);
    freeEvents(provider);
    for (int i = 0; i < provider->keywordCount; i++) {
        EtwFree((char *)provider->keywords[i].name);
    }
    EtwFree(provider->keywords);
    EtwFree(provider->name);
    EtwFree(provider);
}

static int parseKeywords(Tcl_Interp *interp, EtwTclProvider *provider, Tcl_Obj *list)
{
    Tcl_Size count;
    Tcl_Obj **words;
    Tcl_DString ds;

    if (Tcl_ListObjGetElements(interp, list, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count % 2 != 0 || count > 128) {
        return EtwTclFail(interp, ETW_E_ARG, "KEYWORDS", provider->name,
                "expected {name mask ?name mask ...?} for \"-keywords\" (at most 64) but got "
                "\"%.100s\"",
                Tcl_GetString(list));
    }
    provider->keywords = EtwAlloc(sizeof(EtwKeyword) * (size_t)(count / 2 + 1));
    for (Tcl_Size i = 0; i < count / 2; i++) {
        EtwKeyword *keyword = &provider->keywords[i];
        if (EtwGetUint64(interp, words[2 * i + 1], &keyword->mask) != TCL_OK) {
            return TCL_ERROR;
        }
        Tcl_DStringInit(&ds);
        keyword->name = EtwStrdup(EtwUtf8Of(words[2 * i], &ds, NULL));
        Tcl_DStringFree(&ds);
        provider->keywordCount++;
    }
    return TCL_OK;
}

static int checkName(Tcl_Interp *interp, const char *name)
{
    EtwGuid guid;

    if (*name == '\0' || strlen(name) > 127 || EtwGuidParse(name, &guid) ||
            strcmp(name, "kernel") == 0 || strncmp(name, "linux:", 6) == 0) {
        return EtwTclFail(interp, ETW_E_ARG, "NAME", name,
                "bad provider name \"%.100s\": it must have 1 to 127 bytes, and must not be a "
                "GUID, \"kernel\", or begin with \"linux:\"",
                name);
    }
    if (EtwDeclaredFind(name) != NULL || strncmp(name, "Linux-", 6) == 0) {
        return EtwTclFail(interp, ETW_E_ARG, "NAME", name,
                "provider \"%.100s\" is built in: use another name", name);
    }
    return TCL_OK;
}

static int registerProvider(Tcl_Interp *interp, EtwTclProvider *provider, const EtwGuid *guid)
{
    Etw_Guid given;
    EtwError err;

    if (guid != NULL) {
        provider->guid = *guid;
        memcpy(given.bytes, guid->bytes, sizeof given.bytes);
    } else {
        EtwGuidFromName(provider->name, &provider->guid);
    }
    if (EtwRegister(provider->name, guid ? &given : NULL, &provider->handle, &err) != ETW_OK) {
        return EtwTclError(interp, &err);
    }
    provider->deleted = false;
    return TCL_OK;
}

EtwTclProvider *EtwProviderNew(
        Tcl_Interp *interp, Tcl_Obj *name, const EtwGuid *guid, Tcl_Obj *keywords)
{
    EtwTclProvider *provider = EtwAlloc(sizeof *provider);
    Tcl_DString ds;

    provider->refCount = 1;   /* for the caller's reference */
    provider->deleted = true; /* not registered yet */
    Tcl_InitHashTable(&provider->events, TCL_STRING_KEYS);
    Tcl_DStringInit(&ds);
    provider->name = EtwStrdup(EtwUtf8Of(name, &ds, NULL));
    Tcl_DStringFree(&ds);
    if (checkName(interp, provider->name) != TCL_OK ||
            (keywords != NULL && parseKeywords(interp, provider, keywords) != TCL_OK) ||
            registerProvider(interp, provider, guid) != TCL_OK) {
        EtwProviderRelease(provider);
        return NULL;
    }
    return provider;
}

/* ---- Its events ------------------------------------------------------------------------------ */

static void putEvent(EtwTclProvider *provider, EtwTclEvent *event, Tcl_Obj *name)
{
    int isNew;
    Tcl_HashEntry *entry = Tcl_CreateHashEntry(&provider->events, Tcl_GetString(name), &isNew);

    if (!isNew) {
        freeEvent(Tcl_GetHashValue(entry));
        bumpEpoch();
    }
    event->desc.name = Tcl_GetHashKey(&provider->events, entry);
    Tcl_SetHashValue(entry, event);
}

static void setTypes(EtwTclEvent *event)
{
    enum { POINTER_SIZE = 8 }; /* in events that this package writes, on all platforms */
    const EtwField *fields = event->schema->fields;

    event->types = EtwAlloc(sizeof(EtwType) * (size_t)(event->fieldCount + 1));
    for (int i = 0; i < event->fieldCount; i++) {
        event->types[i] = (EtwType){&fields[i], EtwAppendProcOf(&fields[i], POINTER_SIZE)};
    }
    for (int i = 0; i < event->fieldCount; i += fields[i].span) {
        event->valueCount++;
    }
}

int EtwProviderDefine(
        Tcl_Interp *interp, EtwTclProvider *provider, const Etw_EventDesc *desc, Tcl_Obj *spec)
{
    EtwTclEvent *event = EtwAlloc(sizeof *event);

    event->provider = provider;
    event->desc = *desc;
    event->desc.classGuid = NULL; /* it belongs to the caller */
    event->level = desc->level;
    event->keyword = desc->keyword;
    event->spec = EtwStrdup(Tcl_GetString(spec));
    if (EtwTypesParse(interp, spec, &event->fields, &event->fieldCount) != TCL_OK) {
        freeEvent(event);
        return TCL_ERROR;
    }
    event->schema = EtwTypesSchema(desc->name, event->fields, event->fieldCount);
    if (event->schema != NULL) {
        event->event = Etw_DefineEvent(provider->handle, desc, event->fields, event->fieldCount);
    }
    if (event->event == NULL) {
        freeEvent(event);
        return EtwTclFail(interp, ETW_E_LIMIT, "EVENT", desc->name,
                "cannot define event \"%.100s\" of provider \"%s\": it has no name or too many "
                "fields, or the registry of this user is full",
                desc->name, provider->name);
    }
    setTypes(event);
    Tcl_Obj *name = EtwStringObj(desc->name);
    Tcl_IncrRefCount(name);
    putEvent(provider, event, name);
    Tcl_DecrRefCount(name);
    return TCL_OK;
}

/* ---- Resolution of provider names ----------------------------------------------------------- */

static void addName(Tcl_Obj *dict, const char *name)
{
    if (*name != '\0') {
        Tcl_DictObjPut(NULL, dict, EtwStringObj(name), Tcl_NewObj());
    }
}

static bool addRegistered(void *ctx, const EtwProviderInfo *info)
{
    if (info->name[0] != '\0') {
        addName(ctx, info->name);
    } else {
        Tcl_DictObjPut(NULL, ctx, EtwGuidObj(&info->guid), Tcl_NewObj());
    }
    return true;
}

static void addKnown(void *dict, const EtwKnownProvider *known)
{
    addName(dict, known->name);
}

Tcl_Obj *EtwProviderNames(EtwInterp *ctx, bool known)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    Tcl_Obj *key, *value;
    Tcl_DictSearch search;
    int done;

    for (int i = 0; i < BUILT_INS; i++) {
        addName(dict, builtIns[i]);
    }
    EtwProviderList(addRegistered, dict);
    if (known) {
        EtwKnownProviderVisit(addKnown, dict);
    }
    Tcl_DictObjFirst(NULL, dict, &search, &key, &value, &done);
    for (; !done; Tcl_DictObjNext(&search, &key, &value, &done)) {
        Tcl_ListObjAppendElement(NULL, list, key);
    }
    Tcl_DictObjDone(&search);
    Tcl_DecrRefCount(dict);
    (void)ctx;
    return list;
}

typedef struct Candidate {
    const char *name;
    int distance;
} Candidate;

static int nearerFirst(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    return x->distance != y->distance ? x->distance - y->distance : strcmp(x->name, y->name);
}

static int unknownProvider(EtwInterp *ctx, Tcl_Obj *name)
{
    enum { SHOWN = 12 };
    Tcl_Obj *names = EtwProviderNames(ctx, true);
    Tcl_Obj **words;
    Tcl_Size count;
    Tcl_DString list;

    Tcl_IncrRefCount(names);
    Tcl_ListObjGetElements(NULL, names, &count, &words);
    Candidate *candidates = EtwAlloc(sizeof(Candidate) * (size_t)(count + 1));
    for (Tcl_Size i = 0; i < count; i++) {
        candidates[i].name = Tcl_GetString(words[i]);
        candidates[i].distance = EtwNameDistance(Tcl_GetString(name), candidates[i].name);
    }
    qsort(candidates, (size_t)count, sizeof *candidates, nearerFirst);
    Tcl_DStringInit(&list);
    for (Tcl_Size i = 0; i < count && i < SHOWN; i++) {
        Tcl_DStringAppend(&list, i ? ", " : "", -1);
        Tcl_DStringAppend(&list, candidates[i].name, -1);
    }
    Tcl_DStringAppend(&list, count > SHOWN ? " ..." : "", -1);
    EtwTclFail(ctx->interp, ETW_E_LOOKUP, "PROVIDER", Tcl_GetString(name),
            "there is no provider \"%.100s\": must be %s, \"kernel GROUPS\", or any GUID",
            Tcl_GetString(name), Tcl_DStringValue(&list));
    Tcl_DStringFree(&list);
    EtwFree(candidates);
    Tcl_DecrRefCount(names);
    return TCL_ERROR;
}

static bool findOwn(EtwInterp *ctx, Tcl_Obj *name, EtwProviderRef *target)
{
    EtwTclProvider *provider = lookUp(ctx, name);

    if (provider == NULL) {
        return false;
    }
    target->guid = provider->guid;
    snprintf(target->name, sizeof target->name, "%s", provider->name);
    target->keywords = provider->keywords;
    target->keywordCount = provider->keywordCount;
    return true;
}

static bool findBuiltIn(const char *name, EtwProviderRef *target)
{
    for (int i = 0; i < BUILT_INS; i++) {
        if (Tcl_StringCaseMatch(name, builtIns[i], TCL_MATCH_NOCASE)) {
            const EtwDeclaredProvider *declared = EtwDeclaredFind(builtIns[i]);
            snprintf(target->name, sizeof target->name, "%s", declared->name);
            EtwGuidFromName(declared->name, &target->guid);
            target->keywords = declared->keywords;
            target->keywordCount = declared->keywordCount;
            return true;
        }
    }
    return false;
}

typedef struct Wanted {
    EtwGuid fromName;
    EtwProviderRef *target;
    bool found;
} Wanted;

/*
 * Compares the GUIDs computed from the names, so that case does not matter and a provider
 * registered under another GUID matches by its name.
 */
static bool matchRegistered(void *ctx, const EtwProviderInfo *info)
{
    Wanted *wanted = ctx;
    EtwGuid guid;

    EtwGuidFromName(info->name, &guid);
    if (info->name[0] == '\0' || !EtwGuidEqual(&guid, &wanted->fromName)) {
        return true;
    }
    wanted->target->guid = info->guid;
    snprintf(wanted->target->name, sizeof wanted->target->name, "%s", info->name);
    wanted->found = true;
    return false;
}

/* The keywords of a provider description; valid as long as the description. */
typedef struct KnownKeywords {
    struct KnownKeywords *next;
    const EtwProviderDef *def;
    int count;
    EtwKeyword list[];
} KnownKeywords;

static const KnownKeywords *makeKnownKeywords(const EtwProviderDef *def)
{
    int count = def->nameCount[ETW_NAME_KEYWORD];
    KnownKeywords *known = EtwAlloc(sizeof *known + sizeof known->list[0] * (size_t)count);

    known->def = def;
    known->count = count;
    for (int i = 0; i < count; i++) {
        const EtwNamed *named = &def->names[ETW_NAME_KEYWORD][i];
        known->list[i] = (EtwKeyword){named->name, named->value};
    }
    return known;
}

static const KnownKeywords *knownKeywords(const EtwProviderDef *def)
{
    static KnownKeywords *all;
    TCL_DECLARE_MUTEX(mutex)
    const KnownKeywords *found;

    Tcl_MutexLock(&mutex);
    for (found = all; found != NULL && found->def != def; found = found->next) {
    }
    if (found == NULL) {
        KnownKeywords *made = (KnownKeywords *)makeKnownKeywords(def);
        made->next = all;
        all = made;
        found = made;
    }
    Tcl_MutexUnlock(&mutex);
    return found;
}

/* A provider that has a description, registered or not. */
static bool findKnown(const char *nameOrGuid, EtwProviderRef *target)
{
    EtwKnownProvider known;

    if (!EtwKnownProviderFind(nameOrGuid, &known) || EtwGuidIsNull(&known.guid)) {
        return false;
    }
    const EtwProviderDef *def = EtwKnownProviderDef(&known);
    target->guid = known.guid;
    snprintf(target->name, sizeof target->name, "%s", known.name);
    if (def != NULL && def->nameCount[ETW_NAME_KEYWORD] != 0) {
        const KnownKeywords *keywords = knownKeywords(def);
        target->keywords = keywords->list;
        target->keywordCount = keywords->count;
    }
    return true;
}

int EtwResolveProvider(EtwInterp *ctx, Tcl_Obj *name, EtwProviderRef *target)
{
    Wanted wanted = {.target = target};
    Tcl_DString ds;

    memset(target, 0, sizeof *target);
    if (EtwGuidParse(Tcl_GetString(name), &target->guid)) {
        findKnown(Tcl_GetString(name), target);
        return TCL_OK;
    }
    if (findOwn(ctx, name, target) || findBuiltIn(Tcl_GetString(name), target)) {
        return TCL_OK;
    }
    Tcl_DStringInit(&ds);
    EtwGuidFromName(EtwUtf8Of(name, &ds, NULL), &wanted.fromName);
    Tcl_DStringFree(&ds);
    EtwProviderList(matchRegistered, &wanted);
    if (wanted.found) { /* keywords, if the provider has a description */
        char guid[ETW_GUID_TEXT];
        EtwGuidFormat(&target->guid, guid);
        findKnown(guid, target);
    }
    return wanted.found || findKnown(Tcl_GetString(name), target) ? TCL_OK
                                                                  : unknownProvider(ctx, name);
}
