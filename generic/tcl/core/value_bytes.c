/*
 * tcl/core/value_bytes.c --
 *
 *	Tcl values to the bytes of a field (tcl/core/value_bytes.h). Ranges of numbers and the layout of a
 *	payload are the encoders' business.
 */
#include "tcl/core/value_bytes.h"
#include "base/calendar.h"

size_t EtwBoolBytes(Tcl_Obj *obj, uint8_t *bytes)
{
    int flag;

    if (Tcl_GetBooleanFromObj(NULL, obj, &flag) != TCL_OK) {
        return 0;
    }
    EtwStore32(bytes, flag != 0);
    return 4;
}

size_t EtwGuidBytes(Tcl_Obj *obj, uint8_t *bytes)
{
    EtwGuid guid;

    if (!EtwGuidParse(Tcl_GetString(obj), &guid)) {
        return 0;
    }
    memcpy(bytes, guid.bytes, sizeof guid.bytes);
    return sizeof guid.bytes;
}

size_t EtwSidBytes(Tcl_Obj *obj, uint8_t *bytes)
{
    size_t size;

    return EtwParseSid(Tcl_GetString(obj), bytes, &size) ? size : 0;
}

size_t EtwIpv4Bytes(Tcl_Obj *obj, uint8_t *bytes)
{
    return EtwParseIpv4(Tcl_GetString(obj), bytes) ? 4 : 0;
}

size_t EtwIpv6Bytes(Tcl_Obj *obj, uint8_t *bytes)
{
    return EtwParseIpv6(Tcl_GetString(obj), bytes) ? 16 : 0;
}

size_t EtwPortBytes(Tcl_Obj *obj, uint8_t *bytes)
{
    Tcl_WideInt port;

    if (Tcl_GetWideIntFromObj(NULL, obj, &port) != TCL_OK || port < 0 || port > UINT16_MAX) {
        return 0;
    }
    bytes[0] = (uint8_t)(port >> 8);
    bytes[1] = (uint8_t)port;
    return 2;
}

/* ---- Times ----------------------------------------------------------------------------------- */

enum { DAY_MS = 86400000 };
/* What a SYSTEMTIME can say, in days from 1970-01-01: month and day may be 0, the year has 16 bits. */
#define FIRST_DAY INT64_C(-719560)
#define LAST_DAY INT64_C(23217004)

bool EtwSystemtimeOf(int64_t ms, uint8_t systemtime[16])
{
    int64_t days = EtwFloorDivide(ms, DAY_MS);
    int inDay = (int)(ms - days * DAY_MS);

    if (ms < FIRST_DAY * DAY_MS || ms >= LAST_DAY * DAY_MS) {
        return false;
    }
    EtwCivil date = EtwCivilOfDay(days);
    if (date.year < 0) { /* a month that is 0 stands for the one before January */
        date = (EtwCivil){.day = (int)(days - FIRST_DAY)};
    }
    int weekday = (int)(((days + 4) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
    const int parts[8] = {(int)date.year, date.month, weekday, date.day, inDay / 3600000,
            inDay / 60000 % 60, inDay / 1000 % 60, inDay % 1000};
    for (int i = 0; i < 8; i++) {
        EtwStore16(systemtime + 2 * i, (uint16_t)parts[i]);
    }
    return true;
}

size_t EtwFiletimeBytes(Tcl_Obj *obj, uint8_t *bytes)
{
    Tcl_WideInt ns;

    if (Tcl_GetWideIntFromObj(NULL, obj, &ns) != TCL_OK) {
        return 0;
    }
    EtwStore64(bytes, (uint64_t)EtwFiletimeOfNs(ns));
    return 8;
}

size_t EtwSystemtimeBytes(Tcl_Obj *obj, uint8_t *bytes)
{
    Tcl_WideInt ns;

    if (Tcl_GetWideIntFromObj(NULL, obj, &ns) != TCL_OK) {
        return 0;
    }
    EtwSystemtimeOf(EtwFloorDivide(ns, 1000000), bytes);
    return 16;
}
