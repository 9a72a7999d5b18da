/*
 * tcl/core/value_bytes.c --
 *
 *	Conversion of Tcl values to the bytes of a scalar field.
 */
#include "tcl/core/value_bytes.h"
#include "base/calendar.h"
#include <math.h>

/* ---- Numbers --------------------------------------------------------------------------------- */

typedef struct Range {
    int64_t min, max;
    size_t size;
} Range;
static const Range ranges[] = {[ETW_IN_INT8] = {INT8_MIN, INT8_MAX, 1},
        [ETW_IN_UINT8] = {0, UINT8_MAX, 1},
        [ETW_IN_INT16] = {INT16_MIN, INT16_MAX, 2},
        [ETW_IN_UINT16] = {0, UINT16_MAX, 2},
        [ETW_IN_INT32] = {INT32_MIN, INT32_MAX, 4},
        [ETW_IN_UINT32] = {0, UINT32_MAX, 4},
        [ETW_IN_INT64] = {INT64_MIN, INT64_MAX, 8},
        [ETW_IN_HEX32] = {0, UINT32_MAX, 4}};

static bool appendInteger(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    const Range *range = &ranges[f->in];
    int64_t value;

    if (!EtwGetInt64(obj, &value) || value < range->min || value > range->max) {
        return false;
    }
    EtwTextAdd(out, &value, range->size); /* little-endian: the low bytes come first */
    return true;
}

static bool appendUint64(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    uint64_t value;
    (void)f;

    if (EtwGetUint64(NULL, obj, &value) != TCL_OK) {
        return false;
    }
    EtwTextAdd(out, &value, 8);
    return true;
}

static bool appendBoolean(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    int flag;
    (void)f;

    if (Tcl_GetBooleanFromObj(NULL, obj, &flag) != TCL_OK) {
        return false;
    }
    EtwTextAdd(out, (uint8_t[4]){flag != 0}, 4);
    return true;
}

static bool appendPort(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    int64_t port;
    (void)f;

    if (!EtwGetInt64(obj, &port) || port < 0 || port > UINT16_MAX) {
        return false;
    }
    EtwTextAdd(out, (uint8_t[2]){(uint8_t)(port >> 8), (uint8_t)port}, 2);
    return true;
}

static bool appendReal(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    bool isSingle = f->in == ETW_IN_FLOAT;
    double number;

    if (Tcl_GetDoubleFromObj(NULL, obj, &number) != TCL_OK) {
        return false;
    }
    float single = (float)number;
    if (isSingle && isinf(single) && !isinf(number)) {
        return false;
    }
    EtwTextAdd(out, isSingle ? (void *)&single : (void *)&number, isSingle ? 4 : 8);
    return true;
}

/* ---- Texts and bytes ------------------------------------------------------------------------- */

static void appendCounted(EtwText *out, const void *data, size_t size)
{
    uint16_t stored = (uint16_t)size;

    EtwTextAdd(out, &stored, 2);
    EtwTextAdd(out, data, size < ETW_MAX_PAYLOAD ? size : ETW_MAX_PAYLOAD);
}

static bool appendUtf8(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    Tcl_DString ds;
    size_t size;
    (void)f;

    Tcl_DStringInit(&ds);
    const char *text = EtwUtf8Of(obj, &ds, &size);
    appendCounted(out, text, size);
    Tcl_DStringFree(&ds);
    return true;
}

/*
 * UTF-16: counted, or up to the first NUL, because bytes after that would belong to the next field.
 */
static bool appendUtf16(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    EtwText wide = {NULL, 0, 0};
    size_t size = 0;

    EtwAddTextOf(&wide, obj, true);
    EtwTextAdd(&wide, "\0", 2);
    if (f->in == ETW_IN_COUNTED_UTF16) {
        appendCounted(out, wide.data, wide.size - 2);
    } else {
        while (EtwLoad16((uint8_t *)wide.data + size) != 0) {
            size += 2;
        }
        EtwTextAdd(out, wide.data, size + 2);
    }
    EtwTextFree(&wide);
    return true;
}

static bool appendBlob(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    Tcl_Size size;
    const unsigned char *bytes = Tcl_GetBytesFromObj(NULL, obj, &size);
    (void)f;

    if (bytes == NULL) {
        return false;
    }
    appendCounted(out, bytes, (size_t)size);
    return true;
}

/* ---- Identifiers and addresses ----------------------------------------------------------------- */

static bool appendGuid(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    EtwGuid guid;
    (void)f;

    if (!EtwGuidParse(Tcl_GetString(obj), &guid)) {
        return false;
    }
    EtwTextAdd(out, guid.bytes, sizeof guid.bytes);
    return true;
}

static bool appendSid(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    uint8_t sid[ETW_SID_BYTES];
    size_t size;
    (void)f;

    if (!EtwParseSid(Tcl_GetString(obj), sid, &size)) {
        return false;
    }
    EtwTextAdd(out, sid, size);
    return true;
}

static bool appendIpv4(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    uint8_t address[4];
    (void)f;

    if (!EtwParseIpv4(Tcl_GetString(obj), address)) {
        return false;
    }
    EtwTextAdd(out, address, sizeof address);
    return true;
}

static bool appendIpv6(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    uint8_t address[16];
    (void)f;

    if (!EtwParseIpv6(Tcl_GetString(obj), address)) {
        return false;
    }
    appendCounted(out, address, sizeof address);
    return true;
}

/* ---- Times ----------------------------------------------------------------------------------- */

enum { DAY_MS = 86400000 };
/*
 * The range of a SYSTEMTIME in days from 1970-01-01: month and day may be 0, the year has 16 bits.
 */
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
    if (date.year < 0) { /* month 0 is the one before January */
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

static bool appendFiletime(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    int64_t ns;
    (void)f;

    if (!EtwGetInt64(obj, &ns)) {
        return false;
    }
    int64_t ticks = EtwFiletimeOfNs(ns);
    EtwTextAdd(out, &ticks, 8);
    return true;
}

static bool appendSystemtime(EtwText *out, const EtwField *f, Tcl_Obj *obj)
{
    uint8_t bytes[16];
    int64_t ns;
    (void)f;

    if (!EtwGetInt64(obj, &ns) || !EtwSystemtimeOf(EtwFloorDivide(ns, 1000000), bytes)) {
        return false;
    }
    EtwTextAdd(out, bytes, sizeof bytes);
    return true;
}

/* ---- All of them ------------------------------------------------------------------------------ */

/* Types whose notation depends on the out-type. */
static EtwAppendProc *shownProc(const EtwField *f)
{
    switch (f->in << 8 | f->out) {
    case ETW_IN_BINARY << 8 | ETW_OUT_DEFAULT:
        return appendBlob;
    case ETW_IN_BINARY << 8 | ETW_OUT_IPV6:
        return appendIpv6;
    case ETW_IN_BOOL32 << 8 | ETW_OUT_DEFAULT:
        return appendBoolean;
    case ETW_IN_UINT16 << 8 | ETW_OUT_PORT:
        return appendPort;
    case ETW_IN_UINT32 << 8 | ETW_OUT_IPV4:
        return appendIpv4;
    default:
        return NULL;
    }
}

EtwAppendProc *EtwAppendProcOf(const EtwField *f, uint8_t pointerSize)
{
    bool plain = f->out == ETW_OUT_DEFAULT || f->out == ETW_OUT_PID || f->out == ETW_OUT_TID;

    if (f->map != NULL || f->counts || f->sized != ETW_SIZE_OWN) {
        return NULL;
    }
    switch (f->in) {
    case ETW_IN_COUNTED_ANSI:
        return appendUtf8;
    case ETW_IN_COUNTED_UTF16:
    case ETW_IN_UTF16Z:
        return appendUtf16;
    case ETW_IN_FLOAT:
    case ETW_IN_DOUBLE:
        return appendReal;
    case ETW_IN_GUID:
        return appendGuid;
    case ETW_IN_SID:
        return appendSid;
    case ETW_IN_FILETIME:
        return appendFiletime;
    case ETW_IN_SYSTEMTIME:
        return appendSystemtime;
    case ETW_IN_POINTER:
        return plain && pointerSize == 8 ? appendUint64 : NULL;
    case ETW_IN_UINT64:
    case ETW_IN_HEX64:
        return plain ? appendUint64 : NULL;
    default:
        return plain && f->in < sizeof ranges / sizeof *ranges && ranges[f->in].size != 0
                       ? appendInteger
                       : shownProc(f);
    }
}
