/*
 * tcl/relog/relog_edit.c --
 *
 *	The edits of etw relog that run in C: -set, -redact, -rename, -timeshift. Converts the
 *	options for flow/ and etl/.
 */
#include "tcl/relog/relog_int.h"
#include "tcl/value/definition_lookup.h"

enum { ETL_CPU_MAX = 2047, SHIFT_UNIT = 100 };

/* In the order of EtlEditField. */
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
    for (int i = 0; fieldNames[i] != NULL; i++) {
        if (strcmp(fieldNames[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

int EtwRelogSetField(Tcl_Interp *interp, EtlEdit *edit, int field, Tcl_Obj *value)
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
        return getProvider(interp, value, &edit->provider);
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

const char *EtwRelogFieldName(int field)
{
    return fieldNames[field];
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
                EtwRelogSetField(interp, edit, field, words[i + 1]) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}

/* -redact: a list of patterns. */
static int redactOf(Tcl_Interp *interp, Tcl_Obj *list, EtwSchemaStore *store, EtwRedact **redactPtr)
{
    Tcl_Obj **words;
    Tcl_Size count = 0;

    if (list == NULL) {
        return TCL_OK;
    }
    Tcl_ListObjGetElements(NULL, list, &count, &words);
    if (count == 0) {
        return EtwTclFail(interp, ETW_E_ARG, "REDACT", "", "\"-redact\" needs names of fields");
    }
    const char **globs = (const char **)EtwAlloc(sizeof *globs * (size_t)count);
    for (Tcl_Size i = 0; i < count; i++) {
        globs[i] = Tcl_GetString(words[i]);
    }
    *redactPtr = EtwRedactNew(store, globs, (int)count);
    EtwFree((void *)globs);
    return TCL_OK;
}

/* -rename: old and new names. */
static int renameOf(Tcl_Interp *interp, Tcl_Obj *list, EtwRename **renamePtr)
{
    Tcl_Obj **words;
    Tcl_Size count = 0;
    EtwError err = {0};

    if (list == NULL) {
        return TCL_OK;
    }
    Tcl_ListObjGetElements(NULL, list, &count, &words);
    if (count % 2 != 0) {
        return EtwTclFail(interp, ETW_E_ARG, "RENAME", Tcl_GetString(list),
                "\"-rename\" needs old and new names");
    }
    const char **pairs = (const char **)EtwAlloc(sizeof *pairs * ((size_t)count + 1));
    for (Tcl_Size i = 0; i < count; i++) {
        pairs[i] = Tcl_GetString(words[i]);
    }
    EtwStatus status = EtwRenameNew(renamePtr, pairs, (int)count, &err);
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
