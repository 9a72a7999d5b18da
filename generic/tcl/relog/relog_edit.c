/*
 * tcl/relog/relog_edit.c --
 *
 *	The edits of etw relog that run in C: -set, -redact, -rename, -timeshift. Converts the
 *	options for flow/ and etl/.
 */
#include "tcl/relog/relog_int.h"
#include "tcl/value/definition_lookup.h"

enum { ETL_CPU_MAX = 2047, SHIFT_UNIT = 100 };

typedef struct EditField {
    const char *name;
    size_t offset, size; /* of a number in EtlEdit; size 0: not a plain number */
    uint64_t max;
} EditField;

/* In the order of EtlEditField. */
#define NUMBER(name, field, max)                                                                   \
    {                                                                                              \
        name, offsetof(EtlEdit, field), sizeof((EtlEdit *)0)->field, max                           \
    }
static const EditField editFields[] = {
        {"activity", 0, 0, 0},
        NUMBER("channel", desc.channel, UINT8_MAX),
        NUMBER("cpu", cpu, ETL_CPU_MAX),
        NUMBER("id", desc.id, UINT16_MAX),
        NUMBER("keyword", desc.keyword, UINT64_MAX),
        {"level", 0, 0, 0},
        NUMBER("opcode", desc.opcode, UINT8_MAX),
        NUMBER("pid", pid, UINT32_MAX),
        {"provider", 0, 0, 0},
        NUMBER("task", desc.task, UINT16_MAX),
        NUMBER("tid", tid, UINT32_MAX),
        NUMBER("version", desc.version, UINT8_MAX),
        {NULL, 0, 0, 0},
};
#undef NUMBER

static int takeNumber(Tcl_Interp *interp, const EditField *field, Tcl_Obj *obj, EtlEdit *edit)
{
    void *to = (char *)edit + field->offset;
    uint64_t value;

    if (EtwGetUint64(interp, obj, &value) != TCL_OK) {
        return TCL_ERROR;
    }
    if (value > field->max) {
        return EtwTclFail(interp, ETW_E_ARG, "RANGE", field->name,
                "value for \"%s\" is out of range: must be at most %llu, not %.40s", field->name,
                (unsigned long long)field->max, Tcl_GetString(obj));
    }
    switch (field->size) {
    case 1:
        *(uint8_t *)to = (uint8_t)value;
        break;
    case 2:
        *(uint16_t *)to = (uint16_t)value;
        break;
    case 4:
        *(uint32_t *)to = (uint32_t)value;
        break;
    default:
        *(uint64_t *)to = value;
    }
    return TCL_OK;
}

/* A GUID, or the name of a known provider. */
static int getProvider(Tcl_Interp *interp, Tcl_Obj *value, EtwGuid *guid)
{
    if (EtwGuidParse(Tcl_GetString(value), guid)) {
        return TCL_OK;
    }
    const EtwProviderDef *def = EtwFindDef(interp, value, NULL, NULL);
    if (def == NULL) {
        return TCL_ERROR;
    }
    *guid = def->guid;
    return TCL_OK;
}

int EtwRelogField(const char *name)
{
    for (int i = 0; editFields[i].name != NULL; i++) {
        if (strcmp(editFields[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *EtwRelogFieldName(int field)
{
    return editFields[field].name;
}

int EtwRelogSetField(Tcl_Interp *interp, EtlEdit *edit, int field, Tcl_Obj *value)
{
    edit->fields |= 1u << field;
    switch ((EtlEditField)field) {
    case ETL_EDIT_ACTIVITY:
        return EtwGetGuid(interp, value, &edit->activity);
    case ETL_EDIT_PROVIDER:
        return getProvider(interp, value, &edit->provider);
    case ETL_EDIT_LEVEL:
        return EtwGetLevel(interp, value, &edit->desc.level);
    default:
        return takeNumber(interp, &editFields[field], value, edit);
    }
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
                "expected names and values of header fields for \"-set\"");
    }
    for (Tcl_Size i = 0; i < count; i += 2) {
        if (Tcl_GetIndexFromObjStruct(interp, words[i], editFields, sizeof(EditField), "field",
                    TCL_EXACT, &field) != TCL_OK ||
                EtwRelogSetField(interp, edit, field, words[i + 1]) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}

/* -redact: a list of patterns. */
static int redactOf(Tcl_Interp *interp, Tcl_Obj *list, EtwSchemaStore *store, EtwRedact **redactPtr)
{
    int count;

    if (list == NULL) {
        return TCL_OK;
    }
    const char **globs = EtwWordsOf(list, &count);
    if (count > 0) {
        *redactPtr = EtwRedactNew(store, globs, count);
    }
    EtwFree((void *)globs);
    return count > 0 ? TCL_OK
                     : EtwTclFail(interp, ETW_E_ARG, "REDACT", "",
                               "expected names or patterns of fields for \"-redact\" but got an "
                               "empty list");
}

/* -rename: old and new names. */
static int renameOf(Tcl_Interp *interp, Tcl_Obj *list, EtwRename **renamePtr)
{
    EtwError err = {0};
    Tcl_Size length;
    int count;

    if (list == NULL) {
        return TCL_OK;
    }
    Tcl_ListObjLength(NULL, list, &length);
    if (length % 2 != 0) {
        return EtwTclFail(interp, ETW_E_ARG, "RENAME", Tcl_GetString(list),
                "expected old and new names for \"-rename\"");
    }
    const char **pairs = EtwWordsOf(list, &count);
    EtwStatus status = EtwRenameNew(renamePtr, pairs, count, &err);
    EtwFree((void *)pairs);
    return status == ETW_OK ? TCL_OK : EtwTclError(interp, &err);
}

/* -timeshift: seconds, rounded to the resolution of a header. */
static int shiftOf(Tcl_Interp *interp, Tcl_Obj *obj, int64_t *shiftPtr)
{
    double seconds;

    if (obj == NULL) {
        return TCL_OK;
    }
    if (Tcl_GetDoubleFromObj(NULL, obj, &seconds) != TCL_OK || !(seconds < 9e9 && seconds > -9e9)) {
        return EtwTclFail(interp, ETW_E_ARG, "TIME", "-timeshift",
                "expected seconds for \"-timeshift\" but got \"%.100s\"", Tcl_GetString(obj));
    }
    double units = seconds * 1e9 / SHIFT_UNIT;
    *shiftPtr = (int64_t)(units + (units < 0 ? -0.5 : 0.5)) * SHIFT_UNIT;
    return TCL_OK;
}

int EtwRelogEditsParse(Tcl_Interp *interp, const EtwRelogEditOptions *options,
        EtwSchemaStore *store, EtwRelogEdits *edits)
{
    *edits = (EtwRelogEdits){.redact = NULL};
    if (editOf(interp, options->set, &edits->set) != TCL_OK ||
            shiftOf(interp, options->timeshift, &edits->shift) != TCL_OK ||
            redactOf(interp, options->redact, store, &edits->redact) != TCL_OK ||
            renameOf(interp, options->rename, &edits->rename) != TCL_OK) {
        EtwRelogEditsFree(edits);
        return TCL_ERROR;
    }
    return TCL_OK;
}

void EtwRelogEditsApply(const EtwRelogEdits *edits, EtwRelog *relog)
{
    relog->edit = edits->set.fields != 0 ? &edits->set : NULL;
    relog->redact = edits->redact;
    relog->rename = edits->rename;
    EtlBuilderShift(relog->output, edits->shift);
}

void EtwRelogEditsFree(EtwRelogEdits *edits)
{
    EtwRedactFree(edits->redact);
    EtwRenameFree(edits->rename);
    edits->redact = NULL;
    edits->rename = NULL;
}
