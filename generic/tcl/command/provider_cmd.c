/*
 * tcl/command/provider_cmd.c --
 *
 *	etw providers, etw provider create|event|delete|describe|grant. tcl_provider.c implements
 *	providers.
 */
#include "tcl/provider/tcl_provider.h"
#include "tcl/value/schema_dict.h"
#include "engine/kernel_events.h"
#include "semantics/declared_events.h"

/* ---- provider create, delete, grant ---------------------------------------------------------- */

typedef struct CreateOptions {
    Tcl_Obj *guid, *keywords, *callback;
} CreateOptions;

static const EtwOption createOptions[] = {
        {"-enablecallback", ETW_OPT_LIST, offsetof(CreateOptions, callback), 0, 0, 0, NULL},
        {"-guid", ETW_OPT_OBJ, offsetof(CreateOptions, guid), 0, 0, 0, NULL},
        {"-keywords", ETW_OPT_LIST, offsetof(CreateOptions, keywords), 0, 0, 0, NULL},
        {NULL, ETW_OPT_BOOL, 0, 0, 0, 0, NULL},
};

static int createCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwInterp *ctx = clientData;
    CreateOptions options = {0};
    EtwGuid guid;

    if (EtwParseOptions(interp, createOptions, objc - 3, objv + 3, &options, NULL) != TCL_OK ||
            (options.guid && EtwGetGuid(interp, options.guid, &guid) != TCL_OK)) {
        return TCL_ERROR;
    }
    EtwTclProvider *provider =
            EtwProviderNew(interp, objv[2], options.guid ? &guid : NULL, options.keywords);
    if (provider == NULL) {
        return TCL_ERROR;
    }
    Tcl_Size words = 0;
    if (options.callback != NULL && Tcl_ListObjLength(NULL, options.callback, &words) == TCL_OK &&
            words > 0) {
        provider->callback = EtwCallbackNew(interp, provider->handle, options.callback);
    }
    int result = EtwProviderAddTo(ctx, provider);
    EtwProviderRelease(provider); /* the table has its own reference now, unless adding has
                                     failed */
    if (result == TCL_OK) {
        Tcl_SetObjResult(interp, objv[2]);
    }
    return result;
}

static int deleteCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwInterp *ctx = clientData;
    EtwTclProvider *provider = EtwFindProvider(ctx, objv[2]);
    (void)interp;
    (void)objc;

    if (provider == NULL) {
        return TCL_ERROR;
    }
    EtwProviderUnregister(provider);
    EtwProviderRemoveFrom(ctx, provider);
    return TCL_OK;
}

static int grantCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwInterp *ctx = clientData;
    EtwTclProvider *provider = EtwFindProvider(ctx, objv[2]);
    Tcl_Interp *child = provider ? Tcl_GetChild(interp, Tcl_GetString(objv[3])) : NULL;
    (void)objc;

    if (provider == NULL) {
        return TCL_ERROR;
    }
    if (child == NULL) {
        return EtwTclFail(interp, ETW_E_LOOKUP, "INTERP", Tcl_GetString(objv[3]),
                "there is no child interpreter \"%.100s\"", Tcl_GetString(objv[3]));
    }
    if (EtwInterpOf(child) == NULL && EtwInitChild(child) != TCL_OK) {
        Tcl_SetObjResult(interp, Tcl_GetObjResult(child));
        return TCL_ERROR;
    }
    if (EtwProviderAddTo(EtwInterpOf(child), provider) != TCL_OK) {
        Tcl_Obj *options = Tcl_GetReturnOptions(child, TCL_ERROR);
        Tcl_SetObjResult(interp, Tcl_GetObjResult(child));
        return Tcl_SetReturnOptions(interp, options);
    }
    return TCL_OK;
}

/* ---- provider event -------------------------------------------------------------------------- */

typedef struct EventOptions {
    Tcl_Obj *level, *keyword, *eventClass;
    int opcode, id, version, task;
} EventOptions;

#define AT(field) offsetof(EventOptions, field)
static const EtwOption eventOptions[] = {
        {"-class", ETW_OPT_OBJ, AT(eventClass), 0, 0, 0, NULL},
        {"-id", ETW_OPT_INT, AT(id), 0, 65535, 0, NULL},
        {"-keyword", ETW_OPT_OBJ, AT(keyword), 0, 0, 0, NULL},
        {"-level", ETW_OPT_OBJ, AT(level), 0, 0, 0, NULL},
        {"-opcode", ETW_OPT_INT, AT(opcode), 0, 255, 0, NULL},
        {"-task", ETW_OPT_INT, AT(task), 0, 65535, 0, NULL},
        {"-version", ETW_OPT_INT, AT(version), 0, 255, 0, NULL},
        {NULL, ETW_OPT_BOOL, 0, 0, 0, 0, NULL},
};
#undef AT

static int eventCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwInterp *ctx = clientData;
    EventOptions options = {0};
    Etw_EventDesc desc = {.level = ETW_LEVEL_INFO};
    EtwGuid guid;
    Etw_Guid eventClass;
    Tcl_DString name;
    EtwTclProvider *provider = EtwFindProvider(ctx, objv[2]);

    if (provider == NULL ||
            EtwParseOptions(interp, eventOptions, objc - 5, objv + 5, &options, NULL) != TCL_OK ||
            (options.level && EtwGetLevel(interp, options.level, &desc.level) != TCL_OK) ||
            (options.keyword &&
                    EtwGetKeywords(interp, options.keyword, provider->name, provider->keywords,
                            provider->keywordCount, &desc.keyword) != TCL_OK) ||
            (options.eventClass && EtwGetGuid(interp, options.eventClass, &guid) != TCL_OK)) {
        return TCL_ERROR;
    }
    if (options.eventClass != NULL) {
        memcpy(eventClass.bytes, guid.bytes, sizeof eventClass.bytes);
        desc.classGuid = &eventClass;
    }
    desc.id = (uint16_t)options.id;
    desc.version = (uint8_t)options.version;
    desc.opcode = (uint8_t)options.opcode;
    desc.task = (uint16_t)options.task;
    Tcl_DStringInit(&name);
    desc.name = EtwUtf8Of(objv[3], &name, NULL);
    int result = EtwProviderDefine(interp, provider, &desc, objv[4]);
    Tcl_DStringFree(&name);
    if (result == TCL_OK) {
        Tcl_SetObjResult(interp, objv[3]);
    }
    return result;
}

/* ---- provider describe ----------------------------------------------------------------------- */

typedef struct Description {
    EtwGuid guid;
    Tcl_Obj *dict;
} Description;

static Tcl_Obj *keywordsDict(const EtwProviderRef *target)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    for (int i = 0; i < target->keywordCount; i++) {
        EtwPut(dict, target->keywords[i].name, EtwUint64Obj(target->keywords[i].mask));
    }
    return dict;
}

static bool describeRegistered(void *clientData, const EtwProviderInfo *info)
{
    Description *description = clientData;
    Tcl_Obj *sessions;

    if (!EtwGuidEqual(&info->guid, &description->guid)) {
        return true;
    }
    sessions = Tcl_NewDictObj();
    for (int i = 0; i < info->enables; i++) {
        Tcl_Obj *one = Tcl_NewDictObj();
        EtwPut(one, "level", Tcl_NewIntObj(info->enabled[i].level));
        EtwPut(one, "any", EtwUint64Obj(info->enabled[i].any));
        EtwPut(one, "all", EtwUint64Obj(info->enabled[i].all));
        const char *session = info->enabled[i].session;
        Tcl_DictObjPut(NULL, sessions, EtwStringObj(session), one);
    }
    EtwPut(description->dict, "name", EtwStringObj(info->name));
    EtwPut(description->dict, "registrations", Tcl_NewIntObj(info->registrations));
    EtwPut(description->dict, "sessions", sessions);
    return false;
}

static Tcl_Obj *eventDict(const EtwTclEvent *event)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "id", Tcl_NewIntObj(event->desc.id));
    EtwPut(dict, "version", Tcl_NewIntObj(event->desc.version));
    EtwPut(dict, "level", Tcl_NewIntObj(event->desc.level));
    EtwPut(dict, "opcode", Tcl_NewIntObj(event->desc.opcode));
    EtwPut(dict, "task", Tcl_NewIntObj(event->desc.task));
    EtwPut(dict, "keyword", EtwUint64Obj(event->desc.keyword));
    EtwPut(dict, "fields", Tcl_NewStringObj(event->spec, -1));
    return dict;
}

static Tcl_Obj *eventsDict(EtwTclProvider *provider)
{
    Tcl_Obj *dict = Tcl_NewDictObj();
    Tcl_HashSearch search;
    Tcl_HashEntry *entry = Tcl_FirstHashEntry(&provider->events, &search);

    for (; entry != NULL; entry = Tcl_NextHashEntry(&search)) {
        EtwPut(dict, Tcl_GetHashKey(&provider->events, entry), eventDict(Tcl_GetHashValue(entry)));
    }
    return dict;
}

/*
 * The events of a provider that this interpreter created. Those of other providers are unknown
 * until they are written.
 */
static void putOwnEvents(EtwInterp *ctx, const EtwProviderRef *target, Tcl_Obj *dict)
{
    Tcl_InterpState state = Tcl_SaveInterpState(ctx->interp, TCL_OK);
    Tcl_Obj *name = EtwStringObj(target->name);

    Tcl_IncrRefCount(name);
    EtwTclProvider *provider = EtwFindProvider(ctx, name);
    if (provider != NULL) {
        EtwPut(dict, "events", eventsDict(provider));
    }
    Tcl_DecrRefCount(name);
    Tcl_RestoreInterpState(ctx->interp, state);
}

static Tcl_Obj *declaredFields(const EtwDeclaredEvent *event)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    for (int i = 0; i < event->fieldCount; i++) {
        Tcl_Obj *field = Tcl_NewDictObj();
        EtwPut(field, "type", EtwStringObj(EtwInTypeName(event->fields[i].in)));
        EtwPut(field, "about", EtwStringObj(event->fields[i].text));
        EtwPut(dict, event->fields[i].name, field);
    }
    return dict;
}

/* The documentation of the events of one of our own providers, by name. */
static void putDocumentation(const EtwDeclaredProvider *declared, Tcl_Obj *dict)
{
    Tcl_Obj *events = Tcl_NewDictObj();

    for (int i = 0; i < declared->eventCount; i++) {
        Tcl_Obj *event = Tcl_NewDictObj();
        EtwPut(event, "about", EtwStringObj(declared->events[i].text));
        EtwPut(event, "keyword", EtwUint64Obj(declared->events[i].keyword));
        EtwPut(event, "fields", declaredFields(&declared->events[i]));
        EtwPut(events, declared->events[i].name, event);
    }
    EtwPut(dict, "documentation", events);
}

static void addGroup(void *clientData, const char *group, const char *description)
{
    EtwPut(clientData, group, EtwStringObj(description));
}

/* The kernel groups of this machine, each with its description. */
static Tcl_Obj *kernelGroups(void)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwKernelGroups(addGroup, dict);
    return dict;
}

static const EtwOption describeOptions[] = {
        {"-events", ETW_OPT_BOOL, 0, 0, 0, 0, NULL},
        {NULL, ETW_OPT_BOOL, 0, 0, 0, 0, NULL},
};

/* Add what is known of a provider that is not registered. */
static void putKnown(Tcl_Obj *name, bool events, Tcl_Obj *dict)
{
    EtwKnownProvider known;

    if (!EtwKnownProviderFind(Tcl_GetString(name), &known)) {
        return;
    }
    EtwPut(dict, "origin", Tcl_NewStringObj(EtwOriginName(known.origin), -1));
    EtwPut(dict, "described", Tcl_NewIntObj(known.events));
    const EtwProviderDef *def = events ? EtwKnownProviderDef(&known) : NULL;
    if (def != NULL) {
        Tcl_Obj *list = Tcl_NewListObj(0, NULL);
        for (int i = 0; i < def->eventCount; i++) {
            Tcl_ListObjAppendElement(NULL, list, EtwEventDefObj(def->events[i]));
        }
        EtwPut(dict, "schema", list);
    }
}

/*
 * Describe a provider without a known GUID, which cannot be enabled. If the name is unknown, too,
 * the previous error is kept.
 */
static int describeUnidentified(Tcl_Interp *interp, Tcl_Obj *name, bool events)
{
    EtwKnownProvider known;
    const EtwDeclaredProvider *declared = EtwDeclaredFind(Tcl_GetString(name)); /* of the kernel */
    EtwGuid guid;

    if (declared == NULL && !EtwKnownProviderFind(Tcl_GetString(name), &known)) {
        return TCL_ERROR;
    }
    Tcl_Obj *dict = Tcl_NewDictObj();
    EtwPut(dict, "name", EtwStringObj(declared != NULL ? declared->name : known.name));
    if (declared != NULL) {
        EtwGuidFromName(declared->name, &guid);
        EtwPut(dict, "guid", EtwGuidObj(&guid));
        EtwPut(dict, "keywords", Tcl_NewDictObj());
        putDocumentation(declared, dict);
    } else {
        EtwPut(dict, "guid", Tcl_NewObj());
        putKnown(name, events, dict);
    }
    Tcl_ResetResult(interp);
    Tcl_SetObjResult(interp, dict);
    return TCL_OK;
}

static int describeCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwInterp *ctx = clientData;
    EtwProviderRef target;
    Description description;
    int events = 0;

    if (EtwParseOptions(interp, describeOptions, objc - 3, objv + 3, &events, NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    if (strcmp(Tcl_GetString(objv[2]), "kernel") == 0) {
        Tcl_SetObjResult(interp, kernelGroups());
        return TCL_OK;
    }
    if (EtwResolveProvider(ctx, objv[2], &target) != TCL_OK) {
        return describeUnidentified(interp, objv[2], events != 0);
    }
    description.guid = target.guid;
    description.dict = Tcl_NewDictObj();
    EtwPut(description.dict, "name", EtwStringObj(target.name));
    EtwPut(description.dict, "guid", EtwGuidObj(&target.guid));
    EtwPut(description.dict, "keywords", keywordsDict(&target));
    EtwPut(description.dict, "registrations", Tcl_NewIntObj(0));
    EtwPut(description.dict, "sessions", Tcl_NewDictObj());
    EtwProviderList(describeRegistered, &description);
    putOwnEvents(ctx, &target, description.dict);
    putKnown(objv[2], events != 0, description.dict);
    const EtwDeclaredProvider *declared = events ? EtwDeclaredFind(target.name) : NULL;
    if (declared != NULL) {
        putDocumentation(declared, description.dict);
    }
    Tcl_SetObjResult(interp, description.dict);
    return TCL_OK;
}

int EtwProviderCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const EtwSubCommand subCommands[] = {
            {"create", createCmd, "name ?-guid guid? ?-keywords {name mask ...}?", 1, -1},
            {"delete", deleteCmd, "name", 1, 1},
            {"describe", describeCmd, "name ?-events boolean?", 1, 3},
            {"event", eventCmd, "provider name fields ?-option value ...?", 3, -1},
            {"grant", grantCmd, "provider child", 2, 2},
            {NULL, NULL, NULL, 0, 0},
    };
    return EtwDispatch(subCommands, clientData, interp, objc, objv);
}

/* The names of a list that match the pattern. */
static Tcl_Obj *matchingNames(Tcl_Obj *all, const char *pattern)
{
    Tcl_Obj *matching = Tcl_NewListObj(0, NULL);
    Tcl_Obj **names;
    Tcl_Size count;

    Tcl_ListObjGetElements(NULL, all, &count, &names);
    for (Tcl_Size i = 0; i < count; i++) {
        if (Tcl_StringCaseMatch(Tcl_GetString(names[i]), pattern, TCL_MATCH_NOCASE)) {
            Tcl_ListObjAppendElement(NULL, matching, names[i]);
        }
    }
    return matching;
}

int EtwProvidersCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const EtwOption options[] = {
            {"-registered", ETW_OPT_BOOL, 0, 0, 0, 0, NULL},
            {NULL, ETW_OPT_BOOL, 0, 0, 0, 0, NULL},
    };
    int registered = 0;
    bool patterned = objc % 2 == 0;

    if (objc > 4) {
        Tcl_WrongNumArgs(interp, 1, objv, "?pattern? ?-registered boolean?");
        return TCL_ERROR;
    }
    if (EtwParseOptions(interp, options, objc - 1 - patterned, objv + 1 + patterned, &registered,
                NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_Obj *all = EtwProviderNames(clientData, !registered);
    Tcl_IncrRefCount(all);
    Tcl_SetObjResult(interp, patterned ? matchingNames(all, Tcl_GetString(objv[1])) : all);
    Tcl_DecrRefCount(all);
    return TCL_OK;
}
