/*
 * tcl/provider/event_types.c --
 *
 *	Parses the types of an event's fields in the notation of `etw provider event`: names, {type *}
 *	for counted arrays, {type N} for fixed ones, {struct {field type ...}} and {struct {field type
 *	...} *}. write_encode.c encodes the values.
 */
#include "tcl/provider/tcl_provider.h"
#include "schema/tracelogging/tracelogging.h"
#include <stdio.h>

enum { MAX_DEPTH = 8, MAX_MEMBERS = 127, MAX_FIELDS = 128 };

typedef struct TypeInfo {
    const char *name;
    uint8_t in, out;      /* ETW_IN_*, ETW_OUT_* */
    const char *expected; /* for messages; NULL: the name */
} TypeInfo;

#define TIME "a time in nanoseconds since 1970"
#define UINT64 "an integer of 0 to 2^64-1"
static const TypeInfo types[] = {
        {"binary", ETW_IN_BINARY, 0, "bytes"},
        {"bool", ETW_IN_BOOL32, 0, "a boolean"},
        {"double", ETW_IN_DOUBLE, 0, "a number"},
        {"filetime", ETW_IN_FILETIME, 0, TIME},
        {"float", ETW_IN_FLOAT, 0, "a number of single precision"},
        {"guid", ETW_IN_GUID, 0, "a GUID"},
        {"hex32", ETW_IN_HEX32, 0, NULL},
        {"hex64", ETW_IN_HEX64, 0, UINT64},
        {"int", ETW_IN_INT64, 0, "an integer of -2^63 to 2^63-1"},
        {"int16", ETW_IN_INT16, 0, NULL},
        {"int32", ETW_IN_INT32, 0, NULL},
        {"int64", ETW_IN_INT64, 0, "an integer of -2^63 to 2^63-1"},
        {"int8", ETW_IN_INT8, 0, NULL},
        {"ip", ETW_IN_BINARY, ETW_OUT_IPV6, "an IP address"},
        {"ipv4", ETW_IN_UINT32, ETW_OUT_IPV4, "an IPv4 address"},
        {"ipv6", ETW_IN_BINARY, ETW_OUT_IPV6, "an IP address"},
        {"pid", ETW_IN_UINT32, ETW_OUT_PID, NULL},
        {"pointer", ETW_IN_POINTER, 0, UINT64},
        {"port", ETW_IN_UINT16, ETW_OUT_PORT, "a port number"},
        {"sid", ETW_IN_SID, 0, "a SID such as S-1-5-18"},
        {"string", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, NULL},
        {"systemtime", ETW_IN_SYSTEMTIME, 0, TIME},
        {"tid", ETW_IN_UINT32, ETW_OUT_TID, NULL},
        {"uint16", ETW_IN_UINT16, 0, NULL},
        {"uint32", ETW_IN_UINT32, 0, NULL},
        {"uint64", ETW_IN_UINT64, 0, UINT64},
        {"uint8", ETW_IN_UINT8, 0, NULL},
        {"wstring", ETW_IN_COUNTED_UTF16, 0, NULL},
        {"wstringz", ETW_IN_UTF16Z, 0, NULL},
        {"struct", ETW_IN_STRUCT, 0, NULL},
        {NULL, 0, 0, NULL},
};

const char *EtwTypeExpected(const EtwField *field)
{
    const TypeInfo *info = types;

    while (info->in != field->in || info->out != field->out) {
        info++;
    }
    return info->expected != NULL ? info->expected : info->name;
}

/*
 * The list under construction. It is reallocated as it grows, so fields are referred to by index.
 */
typedef struct Fields {
    Etw_Field *list;
    int count, capacity;
} Fields;

static int parseList(Tcl_Interp *interp, Tcl_Obj *spec, int depth, Fields *fields, int *countPtr);

static int parseArray(Tcl_Interp *interp, Tcl_Obj *word, Etw_Field *field)
{
    bool isStruct = field->in == ETW_IN_STRUCT;
    int count;

    if (strcmp(Tcl_GetString(word), "*") == 0) {
        field->array = ETW_ARRAY_COUNTED;
        return TCL_OK;
    }
    if (Tcl_GetIntFromObj(NULL, word, &count) != TCL_OK || count < 1 || count > 65535 || isStruct) {
        return EtwTclFail(interp, ETW_E_ARG, "TYPE", field->name,
                !isStruct ? "field \"%s\": expected * or an element count of 1 to 65535 "
                            "but got \"%.100s\""
                          : "field \"%s\": an array of structs is {struct {...} *}, not "
                            "\"%.100s\"",
                field->name, Tcl_GetString(word));
    }
    field->array = ETW_ARRAY_FIXED;
    field->count = (uint16_t)count;
    return TCL_OK;
}

static int parseStruct(Tcl_Interp *interp, Tcl_Obj *members, int depth, Fields *fields, int index)
{
    int count;

    if (parseList(interp, members, depth + 1, fields, &count) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count < 1 || count > MAX_MEMBERS) {
        return EtwTclFail(interp, ETW_E_LIMIT, "TYPE", fields->list[index].name,
                "struct \"%s\" must have 1 to %d members", fields->list[index].name, MAX_MEMBERS);
    }
    fields->list[index].count = (uint16_t)count;
    return TCL_OK;
}

/* The type of field `index`: NAME, {NAME ARRAY}, {struct MEMBERS} or {struct MEMBERS ARRAY}. */
static int parseType(Tcl_Interp *interp, Tcl_Obj *spec, int depth, Fields *fields, int index)
{
    const char *name = fields->list[index].name;
    Tcl_Size count;
    Tcl_Obj **words;
    int type;

    if (Tcl_ListObjGetElements(interp, spec, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count < 1 || count > 3) {
        return EtwTclFail(interp, ETW_E_ARG, "TYPE", name,
                "field \"%s\": expected a type, {type *}, {type N} or {struct {field type ...} "
                "?*?} but got \"%.100s\"",
                name, Tcl_GetString(spec));
    }
    if (Tcl_GetIndexFromObjStruct(
                interp, words[0], types, sizeof(TypeInfo), "type", TCL_EXACT, &type) != TCL_OK) {
        return TCL_ERROR;
    }
    fields->list[index].in = types[type].in;
    fields->list[index].out = types[type].out;
    bool isStruct = types[type].in == ETW_IN_STRUCT;
    if (count != 1 + isStruct && count != 2 + isStruct) {
        return EtwTclFail(interp, ETW_E_ARG, "TYPE", name,
                "field \"%s\": expected %s but got \"%.100s\"", name,
                isStruct ? "{struct {field type ...} ?*?}" : "{type *} or {type N}",
                Tcl_GetString(spec));
    }
    if (isStruct && parseStruct(interp, words[1], depth, fields, index) != TCL_OK) {
        return TCL_ERROR;
    }
    return count == 2 + isStruct ? parseArray(interp, words[count - 1], &fields->list[index])
                                 : TCL_OK;
}

static int parseField(Tcl_Interp *interp, Tcl_Obj *name, Tcl_Obj *spec, int depth, Fields *fields)
{
    int index = fields->count++;
    Tcl_DString ds;

    if (index == fields->capacity) {
        fields->capacity = 2 * index + 8;
        fields->list = EtwRealloc(fields->list, sizeof(Etw_Field) * (size_t)fields->capacity);
    }
    Tcl_DStringInit(&ds);
    fields->list[index] = (Etw_Field){.name = EtwStrdup(EtwUtf8Of(name, &ds, NULL))};
    Tcl_DStringFree(&ds);
    if (fields->list[index].name[0] == '\0') {
        return EtwTclFail(interp, ETW_E_ARG, "FIELD", "", "a field has no name");
    }
    return parseType(interp, spec, depth, fields, index);
}

/* *countPtr: the number of fields of the list itself, without members of structs. */
static int parseList(Tcl_Interp *interp, Tcl_Obj *spec, int depth, Fields *fields, int *countPtr)
{
    Tcl_Size count;
    Tcl_Obj **words;

    if (Tcl_ListObjGetElements(interp, spec, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count % 2 != 0) {
        return EtwTclFail(interp, ETW_E_ARG, "FIELDS", "",
                "expected {field type ?field type ...?} but got \"%.200s\"", Tcl_GetString(spec));
    }
    if (count / 2 > MAX_FIELDS || depth > MAX_DEPTH) {
        return EtwTclFail(interp, ETW_E_LIMIT, "FIELDS", "",
                "an event has at most %d fields and structs %d deep", MAX_FIELDS, MAX_DEPTH);
    }
    *countPtr = (int)count / 2;
    for (int i = 0; i < *countPtr; i++) {
        if (parseField(interp, words[2 * i], words[2 * i + 1], depth, fields) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}

int EtwTypesParse(Tcl_Interp *interp, Tcl_Obj *spec, Etw_Field **fieldsPtr, int *countPtr)
{
    Fields fields = {NULL, 0, 0};
    int own;
    int result = parseList(interp, spec, 0, &fields, &own);

    if (result != TCL_OK) {
        EtwTypesFree(fields.list, fields.count);
        return TCL_ERROR;
    }
    *fieldsPtr = fields.list;
    *countPtr = fields.count;
    return TCL_OK;
}

void EtwTypesFree(Etw_Field *fields, int count)
{
    for (int i = 0; i < count; i++) {
        EtwFree((char *)fields[i].name);
    }
    EtwFree(fields);
}

EtwSchema *EtwTypesSchema(const char *event, const Etw_Field *fields, int count)
{
    EtwText meta = {NULL, 0, 0};
    EtwSchema *schema = NULL;
    size_t size;

    if (EtwTraceLoggingEncode(&meta, event, fields, count, NULL) == ETW_OK) {
        schema = EtwTraceLoggingParse((uint8_t *)meta.data, meta.size, &size);
    }
    EtwTextFree(&meta);
    if (schema != NULL && schema->fieldCount != count) { /* a name is too long to be decoded */
        EtwFree(schema);
        schema = NULL;
    }
    return schema;
}
