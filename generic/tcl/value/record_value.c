/*
 * tcl/value/record_value.c --
 *
 *	Converts between Tcl values and records. etl/record.h builds records, test_cmd.c fills them.
 */
#include "tcl/value/record_value.h"
#include "etl/record.h"
#include "flow/source/source_records.h"

Tcl_Obj *EtwRecordObj(Tcl_Interp *interp, const EtwEvent *event)
{
    size_t size = EtlRecordSize(event);

    if (size == 0) {
        EtwTclFail(interp, ETW_E_LIMIT, "RECORD", "",
                "the event is too large: its record would have more than %d bytes", ETL_MAX_RECORD);
        return NULL;
    }
    Tcl_Obj *dict = Tcl_NewDictObj(), *bytes = Tcl_NewByteArrayObj(NULL, 0);
    EtlRecordBuild(event, Tcl_SetByteArrayLength(bytes, (Tcl_Size)size), size);
    EtwPut(dict, "cpu", Tcl_NewIntObj(event->cpu));
    EtwPut(dict, "record", bytes);
    return dict;
}

static int noRecord(Tcl_Interp *interp, const char *key, Tcl_Obj *obj)
{
    return EtwTclFail(interp, ETW_E_ARG, "RECORD", key,
            "expected a record, as \"etw test event\" makes it, but got \"%.60s\"",
            Tcl_GetString(obj));
}

static int getPart(Tcl_Interp *interp, Tcl_Obj *obj, EtwRecordPart *part)
{
    static const char *const keys[] = {"cpu", "record"};
    Tcl_Obj *values[2] = {NULL, NULL};
    Tcl_Size size = 0;
    int cpu = -1;

    for (int i = 0; i < 2; i++) {
        Tcl_Obj *key = Tcl_NewStringObj(keys[i], -1);
        Tcl_IncrRefCount(key);
        int code = Tcl_DictObjGet(NULL, obj, key, &values[i]);
        Tcl_DecrRefCount(key);
        if (code != TCL_OK || values[i] == NULL) {
            return noRecord(interp, keys[i], obj);
        }
    }
    part->data = Tcl_GetBytesFromObj(NULL, values[1], &size);
    if (Tcl_GetIntFromObj(NULL, values[0], &cpu) != TCL_OK || part->data == NULL) {
        return noRecord(interp, keys[part->data == NULL], obj);
    }
    part->size = (size_t)size;
    part->cpu = (uint16_t)cpu;
    return cpu >= 0 && cpu <= UINT16_MAX
                   ? TCL_OK
                   : EtwTclFail(interp, ETW_E_ARG, "RANGE", "cpu",
                             "cpu %d is out of range: must be 0 to 65535", cpu);
}

int EtwRecordsOpen(Tcl_Interp *interp, Tcl_Obj *records, EtwSource **sourcePtr)
{
    EtwError err;
    Tcl_Size count;
    Tcl_Obj **objs;
    int result = TCL_OK;

    if (Tcl_ListObjGetElements(interp, records, &count, &objs) != TCL_OK) {
        return TCL_ERROR;
    }
    EtwRecordPart *parts = EtwAlloc(sizeof *parts * ((size_t)count + 1));
    for (Tcl_Size i = 0; i < count && result == TCL_OK; i++) {
        result = getPart(interp, objs[i], &parts[i]);
    }
    if (result == TCL_OK && EtwSourceRecords(sourcePtr, parts, (int)count, &err) != ETW_OK) {
        result = EtwTclError(interp, &err);
    }
    EtwFree(parts);
    return result;
}
