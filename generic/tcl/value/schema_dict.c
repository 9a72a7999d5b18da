/*
 * tcl/value/schema_dict.c --
 *
 *	Converts definitions to dicts. Types have their names in manifests, without `win:`.
 *	schema_cmd.c searches for definitions.
 */
#include "tcl/value/schema_dict.h"

static void putText(Tcl_Obj *dict, const char *key, const char *text)
{
    if (text != NULL && *text != 0) {
        EtwPut(dict, key, EtwStringObj(text));
    }
}

/* ---- Fields ---------------------------------------------------------------------------------- */

const char *EtwInTypeName(uint8_t in)
{
    static const char *const names[] = {"Null", "UnicodeString", "AnsiString", "Int8", "UInt8",
            "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Float", "Double", "Boolean",
            "Binary", "GUID", "Pointer", "FILETIME", "SYSTEMTIME", "SID", "HexInt32", "HexInt64",
            "CountedUnicodeString", "CountedAnsiString", "Struct", "CountedBinary"};
    static const char *const more[] = {"Skip", "ReversedCountedUnicodeString",
            "ReversedCountedAnsiString", "HexDump", "WbemSid"};
    return in < sizeof names / sizeof *names ? names[in]
           : in >= ETW_IN_SKIP && in - ETW_IN_SKIP < (int)(sizeof more / sizeof *more)
                   ? more[in - ETW_IN_SKIP]
                   : "Unknown";
}

const char *EtwOutTypeName(uint8_t out)
{
    static const char *const names[] = {NULL, "NoPrint", "String", "Boolean", "Hex", "PID", "TID",
            "Port", "IPv4", "IPv6", "SocketAddress", "XML", "JSON", "Win32Error", "NTStatus",
            "HResult", "DateTime", "Signed", "Unsigned"};
    switch (out) {
    case ETW_OUT_DATETIME:
        return "DateTimeCultureInsensitive";
    case ETW_OUT_UTF8:
        return "UTF8";
    case ETW_OUT_PKCS7:
        return "PKCS7";
    case ETW_OUT_CODE_POINTER:
        return "CodePointer";
    case ETW_OUT_DATETIME_UTC:
        return "DateTimeUTC";
    case ETW_OUT_MAC:
        return "MAC";
    default:
        return out < sizeof names / sizeof *names ? names[out] : NULL;
    }
}

/* The name of a map of the definition. */
static const char *mapName(const EtwProviderDef *def, const EtwMap *map)
{
    for (int i = 0; def != NULL && i < def->mapCount; i++) {
        if (&def->maps[i]->map == map) {
            return def->maps[i]->name;
        }
    }
    return NULL;
}

/* The source of a size: a number, a field's name, or * for all remaining bytes. */
static void putSize(Tcl_Obj *dict, const EtwSchema *schema, const EtwField *f)
{
    switch (f->sized) {
    case ETW_SIZE_FIXED:
        EtwPut(dict, "length", Tcl_NewIntObj(f->length));
        break;
    case ETW_SIZE_BY_FIELD:
        putText(dict, "length", schema->fields[f->length].name);
        break;
    case ETW_SIZE_REST:
        putText(dict, "length", "*");
        break;
    }
}

/* The number of elements: the same, or `counted` for a count before them. */
static void putCount(Tcl_Obj *dict, const EtwSchema *schema, const EtwField *f)
{
    switch (f->array) {
    case ETW_ARRAY_FIXED:
        EtwPut(dict, "count", Tcl_NewIntObj(f->count));
        break;
    case ETW_ARRAY_COUNTED:
        putText(dict, "count", "counted");
        break;
    case ETW_ARRAY_BY_FIELD:
        putText(dict, "count", schema->fields[f->count].name);
        break;
    case ETW_ARRAY_REST:
        putText(dict, "count", "*");
        break;
    }
}

static Tcl_Obj *fieldsObj(const EtwSchema *schema, int first, int end);

static Tcl_Obj *fieldObj(const EtwSchema *schema, int index)
{
    const EtwField *f = &schema->fields[index];
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "name", EtwStringObj(f->name));
    EtwPut(dict, "type", EtwStringObj(EtwInTypeName(f->in)));
    putText(dict, "out", EtwOutTypeName(f->out));
    putSize(dict, schema, f);
    putCount(dict, schema, f);
    if (f->map != NULL) {
        putText(dict, "map", mapName(schema->def, f->map));
    }
    if (f->in == ETW_IN_STRUCT) {
        EtwPut(dict, "fields", fieldsObj(schema, index + 1, index + f->span));
    }
    return dict;
}

/* Skipped bytes are not listed. */
static Tcl_Obj *fieldsObj(const EtwSchema *schema, int first, int end)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (int i = first; i < end; i += schema->fields[i].span) {
        if (schema->fields[i].in != ETW_IN_SKIP) {
            Tcl_ListObjAppendElement(NULL, list, fieldObj(schema, i));
        }
    }
    return list;
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Names of the bits of a mask; bits without a name are omitted. */
static Tcl_Obj *keywordNames(const EtwProviderDef *def, uint64_t mask)
{
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    for (int i = 0; i < def->nameCount[ETW_NAME_KEYWORD]; i++) {
        const EtwNamed *named = &def->names[ETW_NAME_KEYWORD][i];
        if (named->value != 0 && (mask & named->value) == named->value) {
            Tcl_ListObjAppendElement(NULL, list, EtwStringObj(named->name));
        }
    }
    return list;
}

Tcl_Obj *EtwEventDefObj(const EtwEventDef *event)
{
    const EtwSchema *schema = &event->schema;
    const EtwProviderDef *def = schema->def;
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "id", Tcl_NewIntObj(event->desc.id));
    EtwPut(dict, "version", Tcl_NewIntObj(event->desc.version));
    EtwPut(dict, "name", EtwStringObj(schema->event));
    EtwPut(dict, "level", Tcl_NewIntObj(event->desc.level));
    EtwPut(dict, "opcode", Tcl_NewIntObj(event->desc.opcode));
    EtwPut(dict, "task", Tcl_NewIntObj(event->desc.task));
    EtwPut(dict, "keyword", EtwUint64Obj(event->desc.keyword));
    EtwPut(dict, "channel", Tcl_NewIntObj(event->desc.channel));
    putText(dict, "levelname", EtwDefNameOf(def, ETW_NAME_LEVEL, event->desc.level, 0));
    putText(dict, "opcodename", schema->opcode);
    putText(dict, "taskname", schema->task);
    EtwPut(dict, "keywords", keywordNames(def, event->desc.keyword));
    putText(dict, "channelname", EtwDefNameOf(def, ETW_NAME_CHANNEL, event->desc.channel, 0));
    putText(dict, "symbol", event->symbol);
    putText(dict, "since", event->since);
    putText(dict, "message", schema->message);
    EtwPut(dict, "fields", fieldsObj(schema, 0, schema->fieldCount));
    return dict;
}

/* ---- Providers ------------------------------------------------------------------------------- */

/*
 * Names with their values. Opcodes of different tasks may have the same name: only one of them is
 * kept.
 */
static Tcl_Obj *namesObj(const EtwProviderDef *def, EtwNameKind kind)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    for (int i = 0; i < def->nameCount[kind]; i++) {
        const EtwNamed *named = &def->names[kind][i];
        Tcl_DictObjPut(NULL, dict, EtwStringObj(named->name), EtwUint64Obj(named->value));
    }
    return dict;
}

static Tcl_Obj *mapsObj(const EtwProviderDef *def)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    for (int i = 0; i < def->mapCount; i++) {
        const EtwMap *map = &def->maps[i]->map;
        Tcl_Obj *one = Tcl_NewDictObj(), *values = Tcl_NewDictObj();
        for (int k = 0; k < map->count; k++) {
            Tcl_DictObjPut(NULL, values, EtwUint64Obj(map->entries[k].value),
                    EtwStringObj(map->entries[k].name));
        }
        EtwPut(one, "kind", EtwStringObj(map->bits ? "bits" : "values"));
        EtwPut(one, "values", values);
        Tcl_DictObjPut(NULL, dict, EtwStringObj(def->maps[i]->name), one);
    }
    return dict;
}

Tcl_Obj *EtwKnownProviderObj(const EtwKnownProvider *known)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    EtwPut(dict, "name", EtwStringObj(known->name));
    EtwPut(dict, "guid", EtwGuidIsNull(&known->guid) ? Tcl_NewObj() : EtwGuidObj(&known->guid));
    EtwPut(dict, "origin", EtwStringObj(EtwOriginName(known->origin)));
    EtwPut(dict, "events", Tcl_NewIntObj(known->events));
    putText(dict, "file", known->from);
    return dict;
}

Tcl_Obj *EtwDefObj(const EtwProviderDef *def)
{
    static const struct {
        const char *key;
        EtwNameKind kind;
    } names[] = {{"keywords", ETW_NAME_KEYWORD}, {"tasks", ETW_NAME_TASK},
            {"opcodes", ETW_NAME_OPCODE}, {"levels", ETW_NAME_LEVEL},
            {"channels", ETW_NAME_CHANNEL}};
    EtwKnownProvider known = {.guid = def->guid,
            .name = def->name,
            .from = def->from,
            .origin = def->origin,
            .events = def->eventCount};
    Tcl_Obj *dict = EtwKnownProviderObj(&known);

    EtwPut(dict, "classic", Tcl_NewBooleanObj(def->classic));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EtwPut(dict, names[i].key, namesObj(def, names[i].kind));
    }
    EtwPut(dict, "maps", mapsObj(def));
    return dict;
}
