/*
 * tcl/command/test_cmd.c --
 *
 *	etw test event: creates any event of any known schema as a record
 *	(tcl/value/record_value.h), to test filters and callbacks without a session. Finds the
 *	schema and fills the header; dict_encoder.c encodes the payload. Nothing is written to a
 *	session or file.
 */
#include "tcl/value/dict_encoder.h"
#include "tcl/provider/tcl_provider.h"
#include "tcl/value/record_value.h"
#include "tcl/value/definition_lookup.h"
#include "base/os.h"
#include "etl/format.h"
#include "flow/source/source.h"
#include "script/script.h"

/* EVENT_HEADER_FLAG_* of programs of 32 and 64 bits */
enum { FLAG_32_BIT = 0x20, FLAG_64_BIT = 0x40 };
enum { MAX_FRAMES = 192 }; /* in a stack, as on Windows */

static const char *const pointerNames[] = {"4", "8", NULL};
static const char *const missingNames[] = {"error", "zero", "cut", NULL}; /* EtwMissingMode */

typedef struct TestOptions {
    Tcl_Obj *activity, *fields, *from, *guid, *keyword, *level, *raw, *related, *stack;
    Tcl_WideInt time, pid, tid;
    int channel, id, opcode, task, version; /* -1: the schema's own */
    int cpu, missing, wide;
} TestOptions;

static const EtwOption eventOptions[] = {
        {"-activity", ETW_OPT_OBJ, offsetof(TestOptions, activity), 0, 0, 0, NULL},
        {"-channel", ETW_OPT_INT, offsetof(TestOptions, channel), 0, 255, 0, NULL},
        {"-cpu", ETW_OPT_INT, offsetof(TestOptions, cpu), 0, 65535, 0, NULL},
        {"-fields", ETW_OPT_OBJ, offsetof(TestOptions, fields), 0, 0, 0, NULL},
        {"-from", ETW_OPT_OBJ, offsetof(TestOptions, from), 0, 0, 0, NULL},
        {"-guid", ETW_OPT_OBJ, offsetof(TestOptions, guid), 0, 0, 0, NULL},
        {"-id", ETW_OPT_INT, offsetof(TestOptions, id), 0, 65535, 0, NULL},
        {"-keyword", ETW_OPT_OBJ, offsetof(TestOptions, keyword), 0, 0, 0, NULL},
        {"-level", ETW_OPT_OBJ, offsetof(TestOptions, level), 0, 0, 0, NULL},
        {"-missing", ETW_OPT_ENUM, offsetof(TestOptions, missing), 0, 0, 0, missingNames},
        {"-opcode", ETW_OPT_INT, offsetof(TestOptions, opcode), 0, 255, 0, NULL},
        {"-pid", ETW_OPT_WIDE, offsetof(TestOptions, pid), -1, 4294967294, 0, NULL},
        {"-pointersize", ETW_OPT_ENUM, offsetof(TestOptions, wide), 0, 0, 0, pointerNames},
        {"-raw", ETW_OPT_OBJ, offsetof(TestOptions, raw), 0, 0, 0, NULL},
        {"-related", ETW_OPT_OBJ, offsetof(TestOptions, related), 0, 0, 0, NULL},
        {"-stack", ETW_OPT_LIST, offsetof(TestOptions, stack), 0, 0, 0, NULL},
        {"-task", ETW_OPT_INT, offsetof(TestOptions, task), 0, 65535, 0, NULL},
        {"-tid", ETW_OPT_WIDE, offsetof(TestOptions, tid), -1, 4294967294, 0, NULL},
        {"-time", ETW_OPT_WIDE, offsetof(TestOptions, time), 0, INT64_MAX, 0, NULL},
        {"-version", ETW_OPT_INT, offsetof(TestOptions, version), 0, 255, 0, NULL},
        ETW_OPTION_END,
};

/* An event under construction. Contains the data that the event points to. */
typedef struct EventBuilder {
    EtwInterp *ctx;
    const TestOptions *options;
    EtwEvent event;
    const EtwSchema *schema;
    EtwSchemaStore *store; /* the store of a schema from an event's metadata or from a trace;
                              else NULL */
    EtwText meta, traits, payload, stack;
    EtwGuid related;
} EventBuilder;

static void freeEventBuilder(EventBuilder *m)
{
    if (m->store != NULL) {
        EtwSchemaStoreFree(m->store);
    }
    EtwTextFree(&m->meta);
    EtwTextFree(&m->traits);
    EtwTextFree(&m->payload);
    EtwTextFree(&m->stack);
}

/* ---- Events that describe themselves ---------------------------------------------------------- */

static int describe(EventBuilder *m, const char *provider, const EtwGuid *guid,
        const Etw_EventDesc *desc, const Etw_Field *fields, int count)
{
    EtwError err;

    EtwTraceLoggingTraits(&m->traits, provider, NULL);
    if (EtwTraceLoggingEncode(&m->meta, desc->name, fields, count, &err) != ETW_OK) {
        return EtwTclError(m->ctx->interp, &err);
    }
    EtwEvent *event = &m->event;
    event->provider = *guid;
    event->desc = (EtwDescriptor){.id = desc->id,
            .version = desc->version,
            .channel = ETL_CHANNEL_TRACELOGGING,
            .level = desc->level,
            .opcode = desc->opcode,
            .task = desc->task,
            .keyword = desc->keyword};
    event->meta = (const uint8_t *)m->meta.data;
    event->metaSize = (uint32_t)m->meta.size;
    event->traits = (const uint8_t *)m->traits.data;
    event->traitsSize = (uint32_t)m->traits.size;
    m->store = EtwSchemaStoreNew();
    m->schema = EtwSchemaOf(m->store, event);
    return m->schema != NULL ? TCL_OK
                             : EtwTclFail(m->ctx->interp, ETW_E_LIMIT, "FIELDS", desc->name,
                                       "event \"%.100s\" has too many fields", desc->name);
}

static int getProviderGuid(const EventBuilder *m, const char *name, EtwGuid *guid)
{
    if (m->options->guid != NULL) {
        return EtwGetGuid(m->ctx->interp, m->options->guid, guid);
    }
    EtwGuidFromName(name, guid);
    return TCL_OK;
}

/* -fields: an event of any provider and any name. */
static int describeGiven(EventBuilder *m, Tcl_Obj *provider, Tcl_Obj *name)
{
    Etw_Field *fields;
    EtwGuid guid;
    Tcl_DString ds, dsProvider;
    int count;

    if (EtwTypesParse(m->ctx->interp, m->options->fields, &fields, &count) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_DStringInit(&ds);
    Tcl_DStringInit(&dsProvider);
    Etw_EventDesc desc = {.name = EtwUtf8Of(name, &ds, NULL), .level = ETW_LEVEL_INFO};
    const char *providerName = EtwUtf8Of(provider, &dsProvider, NULL);
    int result = getProviderGuid(m, providerName, &guid);
    if (result == TCL_OK) {
        result = describe(m, providerName, &guid, &desc, fields, count);
    }
    EtwTypesFree(fields, count);
    Tcl_DStringFree(&ds);
    Tcl_DStringFree(&dsProvider);
    return result;
}

/* An event defined by `etw provider event`. */
static int describeOwn(EventBuilder *m, EtwTclProvider *provider, Tcl_Obj *name)
{
    const EtwTclEvent *event = EtwFindEvent(m->ctx, provider, name);

    if (event == NULL) {
        return TCL_ERROR;
    }
    Etw_EventDesc desc = event->desc;
    desc.name = Tcl_GetString(name);
    return describe(m, provider->name, &provider->guid, &desc, event->fields, event->fieldCount);
}

static int describeScript(EventBuilder *m, Tcl_Obj *name)
{
    const EtwDeclaredProvider *provider = EtwDeclaredFind(ETW_SCRIPT_PROVIDER);
    EtwSuggestions near = {.wrong = Tcl_GetString(name)};
    Etw_Field fields[ETW_DECLARED_FIELDS_MAX];
    Etw_EventDesc desc;
    EtwGuid guid;

    for (int i = 0; i < provider->eventCount; i++) {
        if (strcmp(provider->events[i].name, near.wrong) == 0) {
            int count = EtwDeclaredFields(&provider->events[i], &desc, fields);
            EtwGuidFromName(provider->name, &guid);
            return describe(m, provider->name, &guid, &desc, fields, count);
        }
        EtwSuggestionsAdd(&near, provider->events[i].name);
    }
    return EtwSuggestionsFail(m->ctx->interp, &near, "no event", "EVENT");
}

/* ---- Events of a trace ------------------------------------------------------------------------- */

static bool isProvider(const EtwSchema *schema, const EtwEvent *event, const char *wanted)
{
    EtwGuid guid;
    return EtwGuidParse(wanted, &guid)
                   ? EtwGuidEqual(&guid, &event->provider)
                   : Tcl_StringCaseMatch(schema->provider, wanted, TCL_MATCH_NOCASE);
}

static bool isEvent(const EtwSchema *schema, const EtwEvent *event, Tcl_Obj *wanted, int version)
{
    int number;
    if (version >= 0 && version != event->desc.version) {
        return false;
    }
    return Tcl_GetIntFromObj(NULL, wanted, &number) == TCL_OK
                   ? number == (event->classic ? event->desc.opcode : event->desc.id)
                   : Tcl_StringCaseMatch(schema->event, Tcl_GetString(wanted), TCL_MATCH_NOCASE);
}

/* Copies the kind of an event that becomes invalid soon. */
static void copyKind(EventBuilder *m, const EtwSchema *schema, const EtwEvent *from)
{
    EtwEvent *event = &m->event;
    m->schema = schema;
    event->provider = from->provider;
    event->desc = from->desc;
    event->classic = from->classic;
    event->kind = from->kind == ETL_MESSAGE ? ETL_MESSAGE : 0;
    if (from->meta != NULL) {
        EtwTextAdd(&m->meta, from->meta, from->metaSize);
        event->meta = (const uint8_t *)m->meta.data;
        event->metaSize = from->metaSize;
    }
    if (from->traits != NULL) {
        EtwTextAdd(&m->traits, from->traits, from->traitsSize);
        event->traits = (const uint8_t *)m->traits.data;
        event->traitsSize = from->traitsSize;
    }
}

static int searchTrace(EventBuilder *m, EtwSource *source, Tcl_Obj *provider, Tcl_Obj *name)
{
    EtwEvent event;
    const char *wanted = Tcl_GetString(provider);

    while (EtwSourceNext(source, &event) == ETW_OK) {
        const EtwSchema *schema = EtwSchemaOf(m->store, &event);
        if (schema != NULL && isProvider(schema, &event, wanted) &&
                isEvent(schema, &event, name, m->options->version)) {
            copyKind(m, schema, &event);
            return TCL_OK;
        }
    }
    return EtwTclFail(m->ctx->interp, ETW_E_LOOKUP, "EVENT", Tcl_GetString(name),
            "\"%.200s\" has no event \"%.100s\" of provider \"%.100s\" with a schema",
            Tcl_GetString(m->options->from), Tcl_GetString(name), wanted);
}

/* -from: the first event of that kind. */
static int findInTrace(EventBuilder *m, Tcl_Obj *provider, Tcl_Obj *name)
{
    Tcl_Interp *interp = m->ctx->interp;
    EtwSource *source;
    EtwError err;
    Tcl_DString ds;
    int result = TCL_ERROR;

    Tcl_DStringInit(&ds);
    const char *path = EtwPathOf(interp, m->options->from, &ds);
    if (path != NULL && EtwSourceOpen(&source, path, &err) != ETW_OK) {
        EtwTclError(interp, &err);
    } else if (path != NULL) {
        m->store = EtwSchemaStoreNew();
        EtwSourceHarvest(source, m->store);
        result = searchTrace(m, source, provider, name);
        EtwSourceClose(source);
    }
    Tcl_DStringFree(&ds);
    return result;
}

/* ---- Finding the schema ----------------------------------------------------------------------- */

static int findKnown(EventBuilder *m, Tcl_Obj *provider, Tcl_Obj *name)
{
    Tcl_Interp *interp = m->ctx->interp;
    const EtwProviderDef *def = EtwFindDef(interp, provider, NULL, NULL);
    const EtwEventDef *event =
            def != NULL ? EtwFindEventDef(interp, def, name, m->options->version) : NULL;

    if (event == NULL) {
        return TCL_ERROR;
    }
    if (EtwGuidIsNull(&def->guid)) {
        return EtwTclFail(interp, ETW_E_UNSUPPORTED, "GUID", def->name,
                "the GUID of provider \"%.100s\" is not known", def->name);
    }
    m->event.provider = def->guid;
    m->event.desc = event->desc;
    m->event.classic = def->classic;
    m->event.kind = def->origin == ETW_ORIGIN_TMF ? ETL_MESSAGE : 0;
    m->schema = &event->schema;
    return TCL_OK;
}

static int findSchema(EventBuilder *m, Tcl_Obj *provider, Tcl_Obj *name)
{
    const TestOptions *o = m->options;

    if (o->fields != NULL && o->from != NULL) {
        return EtwTclFail(m->ctx->interp, ETW_E_ARG, "FIELDS", "-from",
                "\"-fields\" and \"-from\" exclude each other: both define the fields of the "
                "event");
    }
    if (o->fields != NULL) {
        return describeGiven(m, provider, name);
    }
    if (o->guid != NULL || o->id >= 0) {
        const char *option = o->guid != NULL ? "-guid" : "-id";
        return EtwTclFail(m->ctx->interp, ETW_E_ARG, "FIELDS", option,
                "\"%s\" needs \"-fields\": the schema of other events defines it", option);
    }
    if (o->from != NULL) {
        return findInTrace(m, provider, name);
    }
    EtwTclProvider *own = EtwFindProvider(m->ctx, provider);
    if (own != NULL) {
        return describeOwn(m, own, name);
    }
    Tcl_ResetResult(m->ctx->interp);
    return Tcl_StringCaseMatch(Tcl_GetString(provider), ETW_SCRIPT_PROVIDER, TCL_MATCH_NOCASE)
                   ? describeScript(m, name)
                   : findKnown(m, provider, name);
}

/* ---- The header ------------------------------------------------------------------------------- */

static int setDescriptor(const TestOptions *o, Tcl_Interp *interp, EtwDescriptor *desc)
{
    desc->id = o->id >= 0 ? (uint16_t)o->id : desc->id;
    desc->version = o->version >= 0 ? (uint8_t)o->version : desc->version;
    desc->channel = o->channel >= 0 ? (uint8_t)o->channel : desc->channel;
    desc->opcode = o->opcode >= 0 ? (uint8_t)o->opcode : desc->opcode;
    desc->task = o->task >= 0 ? (uint16_t)o->task : desc->task;
    if (o->keyword != NULL && EtwGetUint64(interp, o->keyword, &desc->keyword) != TCL_OK) {
        return TCL_ERROR;
    }
    return o->level != NULL ? EtwGetLevel(interp, o->level, &desc->level) : TCL_OK;
}

static int setStack(EventBuilder *m, Tcl_Interp *interp)
{
    Tcl_Size count;
    Tcl_Obj **addresses;
    uint64_t address;

    Tcl_ListObjGetElements(NULL, m->options->stack, &count, &addresses);
    if (count > MAX_FRAMES) {
        return EtwTclFail(interp, ETW_E_LIMIT, "STACK", "",
                "too many addresses for \"-stack\": at most %d are accepted", MAX_FRAMES);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        if (EtwGetUint64(interp, addresses[i], &address) != TCL_OK) {
            return TCL_ERROR;
        }
        EtwTextAdd(&m->stack, &address, m->event.pointerSize);
    }
    if (count != 0) {
        m->event.stack = (const uint8_t *)m->stack.data;
        m->event.stackCount = (uint32_t)count;
    }
    return TCL_OK;
}

static int setIds(EventBuilder *m, Tcl_Interp *interp)
{
    const TestOptions *o = m->options;

    if (o->activity != NULL && EtwGetGuid(interp, o->activity, &m->event.activity) != TCL_OK) {
        return TCL_ERROR;
    }
    if (o->related != NULL) {
        if (EtwGetGuid(interp, o->related, &m->related) != TCL_OK) {
            return TCL_ERROR;
        }
        m->event.related = m->related.bytes;
    }
    return o->stack != NULL ? setStack(m, interp) : TCL_OK;
}

/* An option that the event's record cannot store; NULL: none. */
static const char *unsupportedOption(const TestOptions *o, const EtwEvent *event)
{
    const char *ofMessages = o->level != NULL  ? "-level"
                             : o->opcode >= 0  ? "-opcode"
                             : o->version >= 0 ? "-version"
                                               : NULL;
    const char *ofEvents = o->activity != NULL  ? "-activity"
                           : o->related != NULL ? "-related"
                           : o->stack != NULL   ? "-stack"
                           : o->keyword != NULL ? "-keyword"
                           : o->channel >= 0    ? "-channel"
                           : o->task >= 0       ? "-task"
                                                : NULL;

    return event->kind == ETL_MESSAGE && ofMessages != NULL ? ofMessages
           : event->kind == ETL_MESSAGE || event->classic   ? ofEvents
                                                            : NULL;
}

static int checkPlaces(const EventBuilder *m, Tcl_Interp *interp)
{
    const char *option = unsupportedOption(m->options, &m->event);

    return option == NULL
                   ? TCL_OK
                   : EtwTclFail(interp, ETW_E_ARG, "CLASSIC", option,
                             "\"%s\" is not accepted: %s (of %.100s) has no such header field",
                             option, m->event.classic ? "a classic event" : "a message",
                             m->schema->provider);
}

static int setHeader(EventBuilder *m, Tcl_Interp *interp)
{
    const TestOptions *o = m->options;
    EtwEvent *event = &m->event;

    if (checkPlaces(m, interp) != TCL_OK || setDescriptor(o, interp, &event->desc) != TCL_OK) {
        return TCL_ERROR;
    }
    event->time = event->ticks = o->time;
    event->pid = o->pid >= 0 ? (uint32_t)o->pid : ETW_NO_ID;
    event->tid = o->tid >= 0 ? (uint32_t)o->tid : ETW_NO_ID;
    event->cpu = (uint16_t)o->cpu;
    event->flags = event->pointerSize == 4 ? FLAG_32_BIT : FLAG_64_BIT;
    return setIds(m, interp);
}

/* ---- The command ------------------------------------------------------------------------------ */

static int setPayload(EventBuilder *m, Tcl_Interp *interp, Tcl_Obj *values)
{
    const TestOptions *o = m->options;
    Tcl_Size size;

    if (EtwEncodeDict(interp, &m->payload, m->schema, m->event.pointerSize, values,
                (EtwMissingMode)o->missing) != TCL_OK) {
        return TCL_ERROR;
    }
    if (o->raw != NULL) {
        const unsigned char *bytes = Tcl_GetBytesFromObj(interp, o->raw, &size);
        if (bytes == NULL) {
            return TCL_ERROR;
        }
        EtwTextAdd(&m->payload, bytes, (size_t)size);
    }
    m->event.payload = (const uint8_t *)m->payload.data;
    m->event.payloadSize = (uint32_t)m->payload.size;
    return TCL_OK;
}

static int makeEvent(EventBuilder *m, Tcl_Obj *const words[3])
{
    Tcl_Interp *interp = m->ctx->interp;

    m->event.pointerSize = m->options->wide ? 8 : 4;
    if (findSchema(m, words[0], words[1]) != TCL_OK || setHeader(m, interp) != TCL_OK ||
            setPayload(m, interp, words[2]) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_Obj *record = EtwRecordObj(interp, &m->event);
    if (record == NULL) {
        return TCL_ERROR;
    }
    Tcl_SetObjResult(interp, record);
    return TCL_OK;
}

static int eventCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    OsInstant now;
    OsNow(&now);
    TestOptions options = {.time = now.wall,
            .pid = OsPid(),
            .tid = OsTid(),
            .wide = 1,
            .channel = -1,
            .id = -1,
            .opcode = -1,
            .task = -1,
            .version = -1};
    EventBuilder m = {.ctx = clientData, .options = &options};

    if (EtwParseOptions(interp, eventOptions, objc - 5, objv + 5, &options, NULL) != TCL_OK) {
        return TCL_ERROR;
    }
    int result = makeEvent(&m, objv + 2);
    freeEventBuilder(&m);
    return result;
}

static const EtwSubCommand subCommands[] = {
        {"event", eventCmd, "PROVIDER EVENT {FIELD VALUE ...} ?-option value ...?", 3, -1},
        {NULL, NULL, NULL, 0, 0},
};

int EtwTestCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    return EtwDispatch(subCommands, clientData, interp, objc, objv);
}
