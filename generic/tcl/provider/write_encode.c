/*
 * tcl/provider/write_encode.c --
 *
 *	Tcl values to payload bytes along an event's types: what `etw write` does when somebody
 *	listens. Errors name the field. Does not write; write_cmd.c does.
 */
#include "tcl/provider/tcl_provider.h"
#include "base/calendar.h"

static int wrongValue(Tcl_Interp *interp, const EtwType *type, Tcl_Obj *value, const char *expected)
{
    return EtwTclFail(interp, ETW_E_ARG, "VALUE", type->name,
            "field \"%s\": expected %s but got \"%.100s\"", type->name, expected,
            Tcl_GetString(value));
}

static bool grow(EtwEncoder *e, size_t more)
{
    if (e->tooBig || more > ETW_MAX_PAYLOAD || e->size + more > ETW_MAX_PAYLOAD) {
        e->tooBig = true;
        return false;
    }
    size_t room = e->room;
    while (room < e->size + more) {
        room *= 2;
    }
    uint8_t *old = e->data == e->own ? NULL : e->data;
    uint8_t *data = EtwRealloc(old, room);
    if (old == NULL) {
        memcpy(data, e->own, e->size);
    }
    e->data = data;
    e->room = room;
    return true;
}

/* Room for n bytes, already counted; NULL when the event is too big. */
static inline uint8_t *take(EtwEncoder *e, size_t n)
{
    if (__builtin_expect(e->room - e->size < n, 0) && !grow(e, n)) {
        return NULL;
    }
    uint8_t *at = e->data + e->size;
    e->size += n;
    return at;
}

static inline void put(EtwEncoder *e, const void *data, size_t n)
{
    uint8_t *at = take(e, n);
    if (at != NULL) {
        memcpy(at, data, n);
    }
}

static void putCounted(EtwEncoder *e, const void *data, size_t size)
{
    if (size > UINT16_MAX) {
        e->tooBig = true;
        return;
    }
    uint8_t *at = take(e, size + 2);
    if (at != NULL) {
        EtwStore16(at, (uint16_t)size);
        memcpy(at + 2, data, size);
    }
}

/* ---- Scalars --------------------------------------------------------------------------------- */

int EtwEncodeString(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    Tcl_DString ds;
    size_t size;
    (void)interp;

    Tcl_DStringInit(&ds);
    const char *text = EtwUtf8Of(value, &ds, &size);
    if (type->info->in == ETW_IN_COUNTED_ANSI) {
        putCounted(e, text, size);
    } else {
        EtwText wide = {NULL, 0, 0};
        EtwTextToUtf16(&wide, text, size);
        putCounted(e, wide.data ? wide.data : "", wide.size);
        EtwTextFree(&wide);
    }
    Tcl_DStringFree(&ds);
    return TCL_OK;
}

/* UTF-16 that ends with a NUL: what is behind a NUL of the value's own would be another field. */
int EtwEncodeStringZ(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    Tcl_DString ds;
    size_t size;
    EtwText wide = {NULL, 0, 0};
    (void)interp;
    (void)type;

    Tcl_DStringInit(&ds);
    const char *text = EtwUtf8Of(value, &ds, &size);
    const char *nul = memchr(text, 0, size);
    EtwTextToUtf16(&wide, text, nul ? (size_t)(nul - text) : size);
    EtwTextAdd(&wide, "\0", 2);
    put(e, wide.data, wide.size);
    EtwTextFree(&wide);
    Tcl_DStringFree(&ds);
    return TCL_OK;
}

int EtwEncodeWide(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    Tcl_WideInt wide;

    if (Tcl_GetWideIntFromObj(NULL, value, &wide) != TCL_OK) {
        return wrongValue(interp, type, value, "an integer");
    }
    put(e, &wide, 8);
    return TCL_OK;
}

static bool fits(Tcl_WideInt wide, const EtwTypeInfo *info)
{
    int bits = info->size * 8 - info->isSigned;
    Tcl_WideInt max = ((Tcl_WideInt)1 << bits) - 1;
    return wide <= max && wide >= (info->isSigned ? -max - 1 : 0);
}

int EtwEncodeInteger(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    Tcl_WideInt wide;
    uint64_t u;

    if (type->info->size == 8) {
        if (EtwGetUint64(NULL, value, &u) != TCL_OK) {
            return wrongValue(interp, type, value, "an integer of 0 to 2^64-1");
        }
        put(e, &u, 8);
        return TCL_OK;
    }
    if (Tcl_GetWideIntFromObj(NULL, value, &wide) != TCL_OK || !fits(wide, type->info)) {
        return wrongValue(interp, type, value, type->info->name);
    }
    put(e, &wide, type->info->size); /* little-endian: the low bytes come first */
    return TCL_OK;
}

int EtwEncodeReal(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    double number;

    if (Tcl_GetDoubleFromObj(NULL, value, &number) != TCL_OK) {
        return wrongValue(interp, type, value, "a number");
    }
    float single = (float)number;
    put(e, type->info->size == 4 ? (void *)&single : (void *)&number, type->info->size);
    return TCL_OK;
}

int EtwEncodeBool(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    int flag;

    if (Tcl_GetBooleanFromObj(NULL, value, &flag) != TCL_OK) {
        return wrongValue(interp, type, value, "a boolean");
    }
    uint32_t word = flag != 0;
    put(e, &word, 4);
    return TCL_OK;
}

int EtwEncodeBinary(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    Tcl_Size size;
    const unsigned char *bytes = Tcl_GetBytesFromObj(NULL, value, &size);
    if (bytes == NULL) {
        return wrongValue(interp, type, value, "bytes");
    }
    putCounted(e, bytes, (size_t)size);
    return TCL_OK;
}

int EtwEncodeGuid(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    EtwGuid guid;

    if (!EtwGuidParse(Tcl_GetString(value), &guid)) {
        return wrongValue(interp, type, value, "a GUID");
    }
    put(e, guid.bytes, 16);
    return TCL_OK;
}

int EtwEncodeFiletime(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    Tcl_WideInt ns;

    if (Tcl_GetWideIntFromObj(NULL, value, &ns) != TCL_OK) {
        return wrongValue(interp, type, value, "a time in nanoseconds since 1970");
    }
    int64_t filetime = EtwFiletimeOfNs(ns);
    put(e, &filetime, 8);
    return TCL_OK;
}

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

int EtwEncodeSystemtime(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    Tcl_WideInt ns;
    uint8_t systemtime[16];

    if (Tcl_GetWideIntFromObj(NULL, value, &ns) != TCL_OK) {
        return wrongValue(interp, type, value, "a time in nanoseconds since 1970");
    }
    EtwSystemtimeOf(EtwFloorDivide(ns, 1000000), systemtime);
    put(e, systemtime, sizeof systemtime);
    return TCL_OK;
}

int EtwEncodeSid(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    uint8_t sid[68];
    size_t size;

    if (!EtwParseSid(Tcl_GetString(value), sid, &size)) {
        return wrongValue(interp, type, value, "a SID such as S-1-5-18");
    }
    put(e, sid, size);
    return TCL_OK;
}

int EtwEncodeIpv4(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    uint8_t address[4];

    if (!EtwParseIpv4(Tcl_GetString(value), address)) {
        return wrongValue(interp, type, value, "an IPv4 address");
    }
    put(e, address, 4);
    return TCL_OK;
}

int EtwEncodeIpv6(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    uint8_t address[16];

    if (!EtwParseIpv6(Tcl_GetString(value), address)) {
        return wrongValue(interp, type, value, "an IP address");
    }
    putCounted(e, address, 16);
    return TCL_OK;
}

int EtwEncodePort(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    Tcl_WideInt port;

    if (Tcl_GetWideIntFromObj(NULL, value, &port) != TCL_OK || !fits(port, type->info)) {
        return wrongValue(interp, type, value, "a port number");
    }
    uint8_t bytes[2] = {(uint8_t)(port >> 8), (uint8_t)port};
    put(e, bytes, 2);
    return TCL_OK;
}

/* ---- Structs and arrays ---------------------------------------------------------------------- */

static int encodeStruct(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    for (int i = 0; i < type->memberCount; i++) {
        const EtwType *member = &type->members[i];
        Tcl_Obj *key = EtwTextObj(member->name, strlen(member->name));
        Tcl_Obj *found = NULL;
        Tcl_IncrRefCount(key);
        int result = Tcl_DictObjGet(interp, value, key, &found);
        Tcl_DecrRefCount(key);
        if (result != TCL_OK) {
            return TCL_ERROR;
        }
        if (found == NULL) {
            return EtwTclFail(interp, ETW_E_ARG, "VALUE", type->name,
                    "struct \"%s\" lacks its member \"%s\"", type->name, member->name);
        }
        if (EtwEncodeField(interp, e, member, found) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}

static int encodeOne(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    return type->info->encode ? type->info->encode(interp, e, type, value)
                              : encodeStruct(interp, e, type, value);
}

static int encodeArray(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    Tcl_Size count;
    Tcl_Obj *element;

    if (Tcl_ListObjLength(interp, value, &count) != TCL_OK) {
        return TCL_ERROR;
    }
    if (type->array == ETW_ARRAY_FIXED && count != type->count) {
        return EtwTclFail(interp, ETW_E_ARG, "VALUE", type->name,
                "field \"%s\": expected %d elements but got %ld", type->name, type->count,
                (long)count);
    }
    if (count > UINT16_MAX) {
        e->tooBig = true;
        return TCL_OK;
    }
    if (type->array == ETW_ARRAY_COUNTED) {
        uint16_t stored = (uint16_t)count;
        put(e, &stored, 2);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        /* Asked for one by one: an element's conversion may shimmer the list. */
        if (Tcl_ListObjIndex(interp, value, i, &element) != TCL_OK || element == NULL) {
            return TCL_ERROR;
        }
        Tcl_IncrRefCount(element);
        int result = encodeOne(interp, e, type, element);
        Tcl_DecrRefCount(element);
        if (result != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}

int EtwEncodeField(Tcl_Interp *interp, EtwEncoder *e, const EtwType *type, Tcl_Obj *value)
{
    return type->array == ETW_SCALAR ? encodeOne(interp, e, type, value)
                                     : encodeArray(interp, e, type, value);
}
