/*
 * tcl/relog_cmd.c --
 *
 *	etw relog: a query's events as a new .etl file, which appears when it is complete. Records are
 *	copied as they are (flow/relog.h). Events that describe others are kept whatever the filter
 *	says, so that what is kept can still be decoded.
 */
#include "tcl/output.h"
#include "tcl/query.h"
#include "flow/relog.h"

typedef struct RelogOptions {
    EtwQueryOptions query;
    Tcl_Obj *providers, *set;
    EtlEdit edit; /* of -set */
    int compress;
} RelogOptions;

/* Not ETW_OPTIONS_FILTER: with -stacks, records of stacks would not be delivered. */
static const EtwOption relogOptions[] = {
        ETW_OPTION("-compress", ETW_OPT_BOOL, offsetof(RelogOptions, compress), 0, 0, 0, NULL),
        ETW_OPTION("-from", ETW_OPT_OBJ, ETW_QUERY_AT(from), 0, 0, 0, NULL),
        ETW_OPTION("-limit", ETW_OPT_WIDE, ETW_QUERY_AT(limit), 1, INT64_MAX, 0, NULL),
        ETW_OPTION_PROGRESS,
        ETW_OPTION("-providers", ETW_OPT_LIST, offsetof(RelogOptions, providers), 0, 0, 0, NULL),
        ETW_OPTION("-set", ETW_OPT_LIST, offsetof(RelogOptions, set), 0, 0, 0, NULL),
        ETW_OPTION("-to", ETW_OPT_OBJ, ETW_QUERY_AT(to), 0, 0, 0, NULL),
        ETW_OPTION("-where", ETW_OPT_OBJ, ETW_QUERY_AT(where), 0, 0, 0, NULL),
        ETW_OPTION_END,
};
enum { CHANNEL_BUFFER = 256 * 1024, ETL_CPU_MAX = 2047 };
static const char usage[] = "in ?in ...? out ?-option value ...?";

/* ---- Words ----------------------------------------------------------------------------------- */

/* -providers as a part of -where; *wherePtr has a reference, the caller's, or is NULL. */
static int whereOf(Tcl_Interp *interp, const RelogOptions *options, Tcl_Obj **wherePtr)
{
    Tcl_Obj *where = options->query.where, **names;
    Tcl_Size count = 0;

    if (options->providers != NULL) {
        Tcl_ListObjGetElements(NULL, options->providers, &count, &names);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        if (strpbrk(Tcl_GetString(names[i]), "\\\"[]$") != NULL) {
            return EtwTclFail(interp, ETW_E_ARG, "PROVIDER", Tcl_GetString(names[i]),
                    "\"%.100s\" is not the name of a provider", Tcl_GetString(names[i]));
        }
    }
    if (options->providers != NULL) {
        const char *list = Tcl_GetString(options->providers);
        where = where ? Tcl_ObjPrintf("$provider in {%s} && (%s)", list, Tcl_GetString(where))
                      : Tcl_ObjPrintf("$provider in {%s}", list);
    }
    *wherePtr = where;
    if (where != NULL) {
        Tcl_IncrRefCount(where);
    }
    return TCL_OK;
}

/* Order of EtlEditField. */
static const char *const fieldNames[] = {"activity", "channel", "cpu", "id", "keyword", "level",
        "opcode", "pid", "provider", "task", "tid", "version", NULL};

static int getNumber(
        Tcl_Interp *interp, const char *name, Tcl_Obj *obj, uint64_t max, uint64_t *valuePtr)
{
    if (EtwGetUint64(interp, obj, valuePtr) != TCL_OK) {
        return TCL_ERROR;
    }
    return *valuePtr <= max ? TCL_OK
                            : EtwTclFail(interp, ETW_E_ARG, "RANGE", name,
                                      "\"%s\" is at most %llu, not %.40s", name,
                                      (unsigned long long)max, Tcl_GetString(obj));
}

static void takeNumber(EtlEdit *edit, int field, uint64_t value)
{
    switch ((EtlEditField)field) {
    case ETL_EDIT_CHANNEL:
        edit->desc.channel = (uint8_t)value;
        break;
    case ETL_EDIT_CPU:
        edit->cpu = (uint16_t)value;
        break;
    case ETL_EDIT_ID:
        edit->desc.id = (uint16_t)value;
        break;
    case ETL_EDIT_KEYWORD:
        edit->desc.keyword = value;
        break;
    case ETL_EDIT_OPCODE:
        edit->desc.opcode = (uint8_t)value;
        break;
    case ETL_EDIT_PID:
        edit->pid = (uint32_t)value;
        break;
    case ETL_EDIT_TASK:
        edit->desc.task = (uint16_t)value;
        break;
    case ETL_EDIT_TID:
        edit->tid = (uint32_t)value;
        break;
    case ETL_EDIT_VERSION:
        edit->desc.version = (uint8_t)value;
        break;
    default:
        break;
    }
}

static int setField(Tcl_Interp *interp, EtlEdit *edit, int field, Tcl_Obj *value)
{
    static const uint64_t max[] = {[ETL_EDIT_CHANNEL] = UINT8_MAX,
            [ETL_EDIT_CPU] = ETL_CPU_MAX,
            [ETL_EDIT_ID] = UINT16_MAX,
            [ETL_EDIT_KEYWORD] = UINT64_MAX,
            [ETL_EDIT_OPCODE] = UINT8_MAX,
            [ETL_EDIT_PID] = UINT32_MAX,
            [ETL_EDIT_TASK] = UINT16_MAX,
            [ETL_EDIT_TID] = UINT32_MAX,
            [ETL_EDIT_VERSION] = UINT8_MAX};
    uint64_t number;

    edit->fields |= 1u << field;
    if (field == ETL_EDIT_ACTIVITY) {
        return EtwGetGuid(interp, value, &edit->activity);
    }
    if (field == ETL_EDIT_PROVIDER) {
        return EtwGetGuid(interp, value, &edit->provider);
    }
    if (field == ETL_EDIT_LEVEL) {
        return EtwGetLevel(interp, value, &edit->desc.level);
    }
    if (getNumber(interp, fieldNames[field], value, max[field], &number) != TCL_OK) {
        return TCL_ERROR;
    }
    takeNumber(edit, field, number);
    return TCL_OK;
}

/* -set: names and values. */
static int editOf(Tcl_Interp *interp, Tcl_Obj *list, EtlEdit *edit)
{
    Tcl_Obj **words;
    Tcl_Size count = 0;
    int field;

    if (list != NULL) {
        Tcl_ListObjGetElements(NULL, list, &count, &words);
    }
    if (count % 2 != 0) {
        return EtwTclFail(interp, ETW_E_ARG, "SET", Tcl_GetString(list),
                "\"-set\" needs names and values of header fields");
    }
    for (Tcl_Size i = 0; i < count; i += 2) {
        if (Tcl_GetIndexFromObj(interp, words[i], fieldNames, "field", TCL_EXACT, &field) !=
                        TCL_OK ||
                setField(interp, edit, field, words[i + 1]) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}

/* "in ?in ...? out ?-option value ...?" */
static int parseWords(Tcl_Interp *interp, int objc, Tcl_Obj *const objv[], RelogOptions *options,
        Tcl_Obj **sourcesPtr, Tcl_Obj **outPtr)
{
    int first = 1;

    while (first < objc && *Tcl_GetString(objv[first]) != '-') {
        first++;
    }
    if (first < 3) {
        Tcl_WrongNumArgs(interp, 1, objv, usage);
        return TCL_ERROR;
    }
    if (EtwParseOptions(interp, relogOptions, objc - first, objv + first, options, NULL) !=
            TCL_OK) {
        return TCL_ERROR;
    }
    if (editOf(interp, options->set, &options->edit) != TCL_OK ||
            whereOf(interp, options, &options->query.where) != TCL_OK) {
        return TCL_ERROR;
    }
    *outPtr = objv[first - 1];
    *sourcesPtr = Tcl_NewListObj(first - 2, objv + 1);
    Tcl_IncrRefCount(*sourcesPtr);
    return TCL_OK;
}

/* ---- Events ---------------------------------------------------------------------------------- */

enum { TEACHING_MAX = 16 };

/* The events that describe others, read apart from a query that would leave them out. */
typedef struct Descriptions {
    EtwSource *source; /* NULL: the query delivers them itself */
    EtwEvent event;    /* the next one */
} Descriptions;

static void nextDescription(Descriptions *d)
{
    EtwStatus status = d->source != NULL ? ETW_OK : ETW_END;

    do {
        status = status == ETW_OK ? EtwSourceNext(d->source, &d->event) : status;
    } while (status == ETW_OK && !EtwSchemaTeaches(&d->event));
    if (status != ETW_OK && d->source != NULL) {
        EtwSourceClose(d->source);
        d->source = NULL;
    }
}

static void openDescriptions(Descriptions *d, const EtwQuery *query, const EtwQueryOptions *o)
{
    EtwGuid providers[TEACHING_MAX];
    size_t count = 0;

    *d = (Descriptions){.source = NULL};
    if (!o->where && !o->from && !o->to && !o->limit) {
        return;
    }
    while (count < TEACHING_MAX && etwTeachingProviders[count] != NULL) {
        providers[count] = *etwTeachingProviders[count];
        count++;
    }
    EtlFilter filter = {.providers = providers,
            .providerCount = count,
            .ids = &etwTeachingId,
            .idCount = 1,
            .either = true,
            .from = INT64_MIN,
            .to = INT64_MAX};
    d->source = EtwSourceAgain(query->source, &filter);
    nextDescription(d);
}

/* Those up to a time, in their place among the events. */
static void addDescriptions(Descriptions *d, int64_t until, EtwRelog *relog)
{
    while (d->source != NULL && d->event.time <= until) {
        EtwRelogAdd(relog, &d->event);
        nextDescription(d);
    }
}

static int copyEvents(EtwQuery *query, Descriptions *d, EtwRelog *relog, EtwOutput *output)
{
    bool apart = d->source != NULL;
    EtwEvent event;
    int result;

    while ((result = EtwQueryNext(query, &event)) == TCL_OK) {
        if (EtwRelogIsHeader(relog, &event) || (apart && EtwSchemaTeaches(&event))) {
            query->taken--;
            continue;
        }
        if (apart) {
            addDescriptions(d, event.time, relog);
        }
        EtwRelogAdd(relog, &event);
        if (EtwOutputFull(output) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    addDescriptions(d, INT64_MAX, relog);
    return result == TCL_ERROR ? TCL_ERROR : TCL_OK;
}

static int putHeader(Tcl_Interp *interp, EtwRelog *relog, EtwOutput *output)
{
    EtwText header = {0};

    EtwRelogEnd(relog, &header);
    int result = EtwOutputDrain(output);
    if (result == TCL_OK &&
            (Tcl_Seek(output->channel, 0, SEEK_SET) < 0 ||
                    Tcl_Write(output->channel, header.data, (Tcl_Size)header.size) < 0)) {
        Tcl_SetObjResult(
                interp, Tcl_ObjPrintf("error writing \"%s\": %s",
                                Tcl_GetChannelName(output->channel), Tcl_PosixError(interp)));
        result = TCL_ERROR;
    }
    EtwTextFree(&header);
    return result;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* The header is written again at the end: there must be a way back. */
static int checkOutput(Tcl_Interp *interp, const EtwOutput *output, Tcl_Obj *name)
{
    if (output->own && Tcl_Seek(output->channel, 0, SEEK_CUR) >= 0) {
        Tcl_SetChannelBufferSize(output->channel, CHANNEL_BUFFER);
        return TCL_OK;
    }
    return EtwTclFail(interp, ETW_E_UNSUPPORTED, "OUTPUT", Tcl_GetString(name),
            "\"%.200s\" is no file: its header could not be completed at the end",
            Tcl_GetString(name));
}

static int writeAll(Tcl_Interp *interp, EtwQuery *query, const RelogOptions *options,
        EtwRelog *relog, EtwOutput *output)
{
    Descriptions descriptions;
    EtwError err = {0};

    if (EtwRelogOpen(relog, query->source, options->compress, &output->text, &err) != ETW_OK) {
        return EtwTclError(interp, &err);
    }
    relog->edit = options->edit.fields != 0 ? &options->edit : NULL;
    openDescriptions(&descriptions, query, &options->query);
    int result = copyEvents(query, &descriptions, relog, output);
    if (descriptions.source != NULL) {
        EtwSourceClose(descriptions.source);
    }
    return result == TCL_OK ? putHeader(interp, relog, output) : TCL_ERROR;
}

static Tcl_Obj *resultOf(const EtwQuery *query, const EtwRelog *relog)
{
    Tcl_Obj *dict = Tcl_NewDictObj(), *warnings = EtwQueryWarnings(query);
    EtwText text = {0};

    if (EtwRelogAligned(relog, &text)) {
        Tcl_ListObjAppendElement(NULL, warnings, EtwTextObj(text.data, text.size));
    }
    text.size = 0;
    if (EtwRelogUnset(relog, &text)) {
        Tcl_ListObjAppendElement(NULL, warnings, EtwTextObj(text.data, text.size));
    }
    EtwTextFree(&text);
    EtwPut(dict, "events", EtwUint64Obj(relog->events));
    EtwPut(dict, "bytes", EtwUint64Obj(EtlOutputBytes(relog->output)));
    EtwPut(dict, "lost", EtwUint64Obj(EtwSourceLost(query->source) + relog->tooBig));
    EtwPut(dict, "warnings", warnings);
    return dict;
}

static int relogQuery(
        Tcl_Interp *interp, EtwQuery *query, const RelogOptions *options, Tcl_Obj *out)
{
    EtwOutput output;
    EtwRelog relog = {.output = NULL};

    if (EtwOutputOpen(interp, out, query->source, "relog", true, &output) != TCL_OK) {
        return TCL_ERROR;
    }
    int result = checkOutput(interp, &output, out);
    if (result == TCL_OK) {
        result = writeAll(interp, query, options, &relog, &output);
    }
    Tcl_Obj *dict = result == TCL_OK ? resultOf(query, &relog) : NULL;
    result = EtwOutputClose(&output, result);
    EtwRelogClose(&relog);
    if (result == TCL_OK) {
        Tcl_SetObjResult(interp, dict);
    } else if (dict != NULL) {
        Tcl_DecrRefCount(dict);
    }
    return result;
}

int EtwRelogCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    RelogOptions options = {.providers = NULL};
    EtwQuery query;
    Tcl_Obj *sources, *out;

    if (parseWords(interp, objc, objv, &options, &sources, &out) != TCL_OK) {
        return TCL_ERROR;
    }
    int result = EtwQueryOpen(&query, clientData, sources, &options.query);
    Tcl_DecrRefCount(sources);
    if (result == TCL_OK) {
        result = relogQuery(interp, &query, &options, out);
        EtwQueryClose(&query);
    }
    if (options.query.where != NULL) {
        Tcl_DecrRefCount(options.query.where);
    }
    return result;
}
