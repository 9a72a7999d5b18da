/*
 * tcl/provider/event_types.c --
 *
 *	The types of an event's fields as `etw provider event` takes them: names, {type *} for
 *	counted arrays, {type N} for fixed ones, {struct {field type ...}} and {struct {field type
 *	...} *}. Parsing only; write_encode.c makes bytes from values.
 */
#include "tcl/provider/tcl_provider.h"
#include <stdio.h>

enum { MAX_DEPTH = 8, MAX_MEMBERS = 127, MAX_FIELDS = 128 };

#define PLAIN(proc) proc, NULL, NULL
#define BYTES(bytes, expected) EtwEncodeBytes, bytes, expected
#define TIME "a time in nanoseconds since 1970"
const EtwTypeInfo etwTypes[] = {
        {"binary", ETW_IN_BINARY, 0, 0, false, PLAIN(EtwEncodeBinary)},
        {"bool", ETW_IN_BOOL32, 0, 4, false, BYTES(EtwBoolBytes, "a boolean")},
        {"double", ETW_IN_DOUBLE, 0, 8, true, PLAIN(EtwEncodeReal)},
        {"filetime", ETW_IN_FILETIME, 0, 8, true, BYTES(EtwFiletimeBytes, TIME)},
        {"float", ETW_IN_FLOAT, 0, 4, true, PLAIN(EtwEncodeReal)},
        {"guid", ETW_IN_GUID, 0, 16, false, BYTES(EtwGuidBytes, "a GUID")},
        {"hex32", ETW_IN_HEX32, 0, 4, false, PLAIN(EtwEncodeInteger)},
        {"hex64", ETW_IN_HEX64, 0, 8, false, PLAIN(EtwEncodeInteger)},
        {"int", ETW_IN_INT64, 0, 8, true, PLAIN(EtwEncodeWide)},
        {"int16", ETW_IN_INT16, 0, 2, true, PLAIN(EtwEncodeInteger)},
        {"int32", ETW_IN_INT32, 0, 4, true, PLAIN(EtwEncodeInteger)},
        {"int64", ETW_IN_INT64, 0, 8, true, PLAIN(EtwEncodeWide)},
        {"int8", ETW_IN_INT8, 0, 1, true, PLAIN(EtwEncodeInteger)},
        {"ip", ETW_IN_BINARY, ETW_OUT_IPV6, 16, false, BYTES(EtwIpv6Bytes, "an IP address")},
        {"ipv4", ETW_IN_UINT32, ETW_OUT_IPV4, 4, false, BYTES(EtwIpv4Bytes, "an IPv4 address")},
        {"ipv6", ETW_IN_BINARY, ETW_OUT_IPV6, 16, false, BYTES(EtwIpv6Bytes, "an IP address")},
        {"pid", ETW_IN_UINT32, ETW_OUT_PID, 4, false, PLAIN(EtwEncodeInteger)},
        {"pointer", ETW_IN_POINTER, 0, 8, false, PLAIN(EtwEncodeInteger)},
        {"port", ETW_IN_UINT16, ETW_OUT_PORT, 2, false, BYTES(EtwPortBytes, "a port number")},
        {"sid", ETW_IN_SID, 0, 0, false, BYTES(EtwSidBytes, "a SID such as S-1-5-18")},
        {"string", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, false, PLAIN(EtwEncodeString)},
        {"systemtime", ETW_IN_SYSTEMTIME, 0, 16, true, BYTES(EtwSystemtimeBytes, TIME)},
        {"tid", ETW_IN_UINT32, ETW_OUT_TID, 4, false, PLAIN(EtwEncodeInteger)},
        {"uint16", ETW_IN_UINT16, 0, 2, false, PLAIN(EtwEncodeInteger)},
        {"uint32", ETW_IN_UINT32, 0, 4, false, PLAIN(EtwEncodeInteger)},
        {"uint64", ETW_IN_UINT64, 0, 8, false, PLAIN(EtwEncodeInteger)},
        {"uint8", ETW_IN_UINT8, 0, 1, false, PLAIN(EtwEncodeInteger)},
        {"wstring", ETW_IN_COUNTED_UTF16, 0, 0, false, PLAIN(EtwEncodeWideString)},
        {"wstringz", ETW_IN_UTF16Z, 0, 0, false, PLAIN(EtwEncodeWideString)},
        {"struct", ETW_IN_STRUCT, 0, 0, false, PLAIN(NULL)},
        {NULL, 0, 0, 0, false, PLAIN(NULL)},
};

static int parseList(
        Tcl_Interp *interp, Tcl_Obj *spec, int depth, EtwType **typesPtr, int *countPtr);

static int parseArray(Tcl_Interp *interp, Tcl_Obj *word, EtwType *type)
{
    int count;

    if (strcmp(Tcl_GetString(word), "*") == 0) {
        type->array = ETW_ARRAY_COUNTED;
        return TCL_OK;
    }
    if (Tcl_GetIntFromObj(NULL, word, &count) != TCL_OK || count < 1 || count > 65535 ||
            type->info->encode == NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "TYPE", type->name,
                type->info->encode ? "field \"%s\": expected * or an element count of 1 to 65535 "
                                     "but got \"%.100s\""
                                   : "field \"%s\": an array of structs is {struct {...} *}, not "
                                     "\"%.100s\"",
                type->name, Tcl_GetString(word));
    }
    type->array = ETW_ARRAY_FIXED;
    type->count = (uint16_t)count;
    return TCL_OK;
}

static int parseStruct(Tcl_Interp *interp, Tcl_Obj *members, int depth, EtwType *type)
{
    if (parseList(interp, members, depth + 1, &type->members, &type->memberCount) != TCL_OK) {
        return TCL_ERROR;
    }
    if (type->memberCount < 1 || type->memberCount > MAX_MEMBERS) {
        return EtwTclFail(interp, ETW_E_LIMIT, "TYPE", type->name,
                "struct \"%s\" must have 1 to %d members", type->name, MAX_MEMBERS);
    }
    return TCL_OK;
}

/* NAME, {NAME ARRAY}, {struct MEMBERS} or {struct MEMBERS ARRAY}. */
static int parseType(Tcl_Interp *interp, Tcl_Obj *spec, int depth, EtwType *type)
{
    Tcl_Size count;
    Tcl_Obj **words;
    int index;

    if (Tcl_ListObjGetElements(interp, spec, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count < 1 || count > 3) {
        return EtwTclFail(interp, ETW_E_ARG, "TYPE", type->name,
                "field \"%s\": expected a type, {type *}, {type N} or {struct {field type ...} "
                "?*?} but got \"%.100s\"",
                type->name, Tcl_GetString(spec));
    }
    if (Tcl_GetIndexFromObjStruct(interp, words[0], etwTypes, sizeof(EtwTypeInfo), "type",
                TCL_EXACT, &index) != TCL_OK) {
        return TCL_ERROR;
    }
    type->info = &etwTypes[index];
    bool isStruct = type->info->encode == NULL;
    if (count != 1 + isStruct && count != 2 + isStruct) {
        return EtwTclFail(interp, ETW_E_ARG, "TYPE", type->name,
                "field \"%s\": expected %s but got \"%.100s\"", type->name,
                isStruct ? "{struct {field type ...} ?*?}" : "{type *} or {type N}",
                Tcl_GetString(spec));
    }
    if (isStruct && parseStruct(interp, words[1], depth, type) != TCL_OK) {
        return TCL_ERROR;
    }
    return count == 2 + isStruct ? parseArray(interp, words[count - 1], type) : TCL_OK;
}

static int parseField(Tcl_Interp *interp, Tcl_Obj *name, Tcl_Obj *spec, int depth, EtwType *type)
{
    Tcl_DString ds;

    Tcl_DStringInit(&ds);
    type->name = EtwStrdup(EtwUtf8Of(name, &ds, NULL));
    Tcl_DStringFree(&ds);
    if (type->name[0] == '\0') {
        return EtwTclFail(interp, ETW_E_ARG, "FIELD", "", "a field needs a name");
    }
    return parseType(interp, spec, depth, type);
}

static int parseList(
        Tcl_Interp *interp, Tcl_Obj *spec, int depth, EtwType **typesPtr, int *countPtr)
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
    *typesPtr = EtwAlloc(sizeof(EtwType) * (size_t)(*countPtr + 1));
    for (int i = 0; i < *countPtr; i++) {
        if (parseField(interp, words[2 * i], words[2 * i + 1], depth, *typesPtr + i) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}

int EtwTypesParse(Tcl_Interp *interp, Tcl_Obj *spec, EtwType **typesPtr, int *countPtr)
{
    *typesPtr = NULL;
    *countPtr = 0;
    int result = parseList(interp, spec, 0, typesPtr, countPtr);
    if (result != TCL_OK) {
        EtwTypesFree(*typesPtr, *countPtr);
        *typesPtr = NULL;
    }
    return result;
}

void EtwTypesFree(EtwType *types, int count)
{
    for (int i = 0; types != NULL && i < count; i++) {
        EtwFree(types[i].name);
        EtwTypesFree(types[i].members, types[i].memberCount);
    }
    EtwFree(types);
}

static int countFields(const EtwType *types, int count)
{
    int total = count;

    for (int i = 0; i < count; i++) {
        total += countFields(types[i].members, types[i].memberCount);
    }
    return total;
}

static Etw_Field *flatten(const EtwType *types, int count, Etw_Field *at)
{
    for (int i = 0; i < count; i++) {
        const EtwType *type = &types[i];
        at->name = type->name;
        at->in = type->info->in;
        at->out = type->info->out;
        at->array = type->array;
        at->count = (uint16_t)(type->memberCount ? type->memberCount : type->count);
        at = flatten(type->members, type->memberCount, at + 1);
    }
    return at;
}

Etw_Field *EtwTypesFlatten(const EtwType *types, int count, int *fieldCountPtr)
{
    int total = countFields(types, count);
    Etw_Field *fields = EtwAlloc(sizeof(Etw_Field) * (size_t)(total + 1));

    flatten(types, count, fields);
    *fieldCountPtr = total;
    return fields;
}
