/*
 * schema/model/value_text.c --
 *
 *	Formats a value as readable text. Does not quote: that is the caller's task.
 */
#include "schema/model/decode.h"
#include "base/unicode.h"
#include "schema/model/linux_names.h"
#include "base/calendar.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Numbers by name ------------------------------------------------------------------------- */

/*
 * A|B|0x10: names of the bits, the remaining bits as a number. Of entries that share bits, such as the values of a
 * number within the flags, the one with the higher value precedes.
 */
static void addBits(EtwText *out, const EtwMap *map, uint64_t v)
{
    const EtwMapEntry *found[64]; /* each takes at least one bit */
    int count = 0;
    const char *between = "";
    for (int i = map->count - 1; i >= 0 && v != 0; i--) {
        const EtwMapEntry *e = &map->entries[i];
        if (e->value != 0 && (v & e->value) == e->value) {
            found[count++] = e;
            v &= ~e->value;
        }
    }
    while (count > 0) {
        EtwTextStr(out, between);
        EtwTextStr(out, found[--count]->name);
        between = "|";
    }
    if (v != 0) {
        EtwTextStr(out, between);
        EtwTextStr(out, "0x");
        EtwTextHex(out, v, 1);
    }
}

static const char *exactName(const EtwMap *map, uint64_t v)
{
    return map != NULL && !map->bits ? EtwMapName(map, v) : NULL;
}

/* True: the map has a text for the value. */
static bool addMapped(EtwText *out, const EtwMap *map, uint64_t v)
{
    const char *name = exactName(map, v);
    if (name == NULL && map->bits && v == 0) {
        name = EtwMapName(map, 0);
    }
    if (name != NULL) {
        EtwTextStr(out, name);
    } else if (map->bits && v != 0) {
        addBits(out, map, v);
    }
    return name != NULL || (map->bits && v != 0);
}

bool EtwValueIsText(const EtwField *field, const EtwValue *value)
{
    switch (value->kind) {
    case ETW_V_INT:
    case ETW_V_UINT:
        if (field->map != NULL) {
            return (field->map->bits && value->u != 0) || EtwMapName(field->map, value->u) != NULL;
        }
        return value->out == ETW_OUT_IPV4 && value->width == 4;
    case ETW_V_DOUBLE:
    case ETW_V_BOOL:
        return false;
    default:
        return true;
    }
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static void addIpv4(EtwText *out, const uint8_t *p)
{
    for (int i = 0; i < 4; i++) {
        if (i > 0) {
            EtwTextChar(out, '.');
        }
        EtwTextDecimal(out, p[i]);
    }
}

/* Start and length of the longest run of two or more zero groups (RFC 5952); 0: none. */
static int longestZeros(const uint16_t groups[8], int *startPtr)
{
    int best = 0;
    for (int i = 0; i < 8; i++) {
        int n = 0;
        while (i + n < 8 && groups[i + n] == 0) {
            n++;
        }
        if (n > best) {
            best = n;
            *startPtr = i;
        }
    }
    return best >= 2 ? best : 0;
}

static void addIpv6(EtwText *out, const uint8_t *p)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    uint16_t groups[8];
    int start = 0;
    if (memcmp(p, mapped, sizeof mapped) == 0) {
        EtwTextStr(out, "::ffff:");
        addIpv4(out, p + 12);
        return;
    }
    for (int i = 0; i < 8; i++) {
        groups[i] = (uint16_t)(p[2 * i] << 8 | p[2 * i + 1]);
    }
    int zeros = longestZeros(groups, &start);
    for (int i = 0; i < 8; i++) {
        if (zeros != 0 && i == start) {
            EtwTextStr(out, "::");
            i += zeros - 1;
            continue;
        }
        if (i > 0 && !(zeros != 0 && i == start + zeros)) {
            EtwTextChar(out, ':');
        }
        EtwTextHex(out, groups[i], 1);
    }
}

static void addBytes(EtwText *out, const uint8_t *p, size_t size)
{
    EtwTextReserve(out, 2 * size);
    for (size_t i = 0; i < size; i++) {
        EtwTextChar(out, "0123456789abcdef"[p[i] >> 4]);
        EtwTextChar(out, "0123456789abcdef"[p[i] & 15]);
    }
}

/* struct sockaddr_in or sockaddr_in6 (family 10 on Linux, 23 on Windows). */
static bool addSockaddr(EtwText *out, const uint8_t *p, size_t size)
{
    uint16_t family = size >= 8 ? EtwLoad16(p) : 0;
    bool six = (family == 10 || family == 23) && size >= 24;
    if (!six && family != 2) {
        return false;
    }
    if (six) {
        EtwTextChar(out, '[');
        addIpv6(out, p + 8);
        EtwTextChar(out, ']');
    } else {
        addIpv4(out, p + 4);
    }
    EtwTextChar(out, ':');
    EtwTextDecimal(out, (uint64_t)p[2] << 8 | p[3]);
    return true;
}

/* As Windows writes it: 00-15-5D-01-02-03. */
static bool addMac(EtwText *out, const uint8_t *p, size_t size)
{
    if (size != 6 && !(size == 8 && p[6] == 0 && p[7] == 0)) {
        return false;
    }
    for (int i = 0; i < 6; i++) {
        EtwTextPrintf(out, "%s%02X", i > 0 ? "-" : "", p[i]);
    }
    return true;
}

static void addBinary(EtwText *out, const EtwValue *v)
{
    if (v->out == ETW_OUT_IPV6 && v->size == 16) {
        addIpv6(out, v->data);
    } else if (v->out == ETW_OUT_IPV4 && v->size == 4) {
        addIpv4(out, v->data);
    } else if (!(v->out == ETW_OUT_SOCKADDR && addSockaddr(out, v->data, v->size)) &&
               !(v->out == ETW_OUT_MAC && addMac(out, v->data, v->size))) {
        addBytes(out, v->data, v->size);
    }
}

/* ---- Times, GUIDs, SIDs ---------------------------------------------------------------------- */

/* u16 year, month, day of week, day, hour, minute, second, milliseconds */
static void addSystemtime(EtwText *out, const EtwValue *v)
{
    const uint8_t *p = v->data;
    EtwTextPrintf(out, "%04u-%02u-%02uT%02u:%02u:%02u.%03u%s", EtwLoad16(p), EtwLoad16(p + 2),
            EtwLoad16(p + 6), EtwLoad16(p + 8), EtwLoad16(p + 10), EtwLoad16(p + 12),
            EtwLoad16(p + 14), v->out == ETW_OUT_DATETIME_UTC ? "Z" : "");
}

bool EtwValueTime(const EtwValue *v, EtwWide *nsPtr)
{
    const uint8_t *p = v->data;
    if (v->kind == ETW_V_FILETIME) {
        *nsPtr = EtwWideMulAdd((int64_t)v->u, 100, 0);
        EtwWideSub(*nsPtr, EtwWideMulAdd(ETW_FILETIME_EPOCH, 100, 0), nsPtr);
        return true;
    }
    if (v->kind != ETW_V_SYSTEMTIME) {
        return false;
    }
    int64_t seconds =
            EtwDayOfCivil(EtwLoad16(p), EtwLoad16(p + 2), EtwLoad16(p + 6)) * ETW_SECONDS_A_DAY +
            EtwLoad16(p + 8) * 3600LL + EtwLoad16(p + 10) * 60LL + EtwLoad16(p + 12);
    *nsPtr = EtwWideMulAdd(seconds, ETW_NS_A_SECOND, EtwLoad16(p + 14) * 1000000LL);
    return true;
}

static void addGuid(EtwText *out, const uint8_t *p)
{
    EtwGuid guid;
    char text[ETW_GUID_TEXT];
    memcpy(guid.bytes, p, 16);
    EtwGuidFormat(&guid, text);
    EtwTextStr(out, text);
}

static void addSid(EtwText *out, const uint8_t *p)
{
    uint64_t authority = 0;
    for (int i = 2; i < 8; i++) {
        authority = authority << 8 | p[i];
    }
    EtwTextStr(out, "S-");
    EtwTextDecimal(out, p[0]);
    EtwTextChar(out, '-');
    EtwTextDecimal(out, authority);
    for (int i = 0; i < p[1]; i++) {
        EtwTextChar(out, '-');
        EtwTextDecimal(out, EtwLoad32(p + 8 + 4 * i));
    }
}

/* ---- Numbers --------------------------------------------------------------------------------- */

void EtwFormatWide(EtwText *out, EtwWide v)
{
    const EtwWide unit = EtwWideInt(1000000000000000000);
    EtwWide high, low;
    int64_t number;
    char text[24];
    if (EtwWideFits(v, &number)) {
        EtwTextSigned(out, number);
        return;
    }
    EtwWideDivide(v, unit, &high, &low);
    if (EtwWideSign(v) < 0 && EtwWideSign(low) != 0) { /* towards 0: only the high part has a
                                                          sign */
        EtwWideAdd(high, EtwWideInt(1), &high);
        EtwWideSub(unit, low, &low);
    }
    EtwFormatWide(out, high);
    EtwWideFits(low, &number);
    snprintf(text, sizeof text, "%018" PRId64, number);
    EtwTextStr(out, text);
}

void EtwFormatDouble(EtwText *out, double d, bool single)
{
    char text[40];
    int digits = single ? 6 : 15, most = single ? 9 : 17;
    if (isnan(d) || isinf(d)) {
        EtwTextStr(out, isnan(d) ? "NaN" : d > 0 ? "Inf" : "-Inf");
        return;
    }
    do {
        snprintf(text, sizeof text, "%.*g", digits, d);
    } while ((single ? (double)strtof(text, NULL) != d : strtod(text, NULL) != d) &&
             digits++ < most);
    EtwTextStr(out, text);
    if (strpbrk(text, ".e") == NULL) {
        EtwTextStr(out, ".0");
    }
}

static void addHex(EtwText *out, const EtwValue *v, int digits)
{
    uint64_t u = v->width < 8 ? v->u & ((1ull << 8 * v->width) - 1) : v->u;
    EtwTextStr(out, "0x");
    EtwTextHex(out, u, digits);
}

static void addInteger(EtwText *out, const EtwField *field, const EtwValue *v)
{
    if (field->map != NULL && addMapped(out, field->map, v->u)) {
        return;
    }
    switch (v->out) {
    case ETW_OUT_HEX:
    case ETW_OUT_CODE_POINTER:
        addHex(out, v, 1);
        break;
    case ETW_OUT_NTSTATUS:
    case ETW_OUT_HRESULT:
        addHex(out, v, 8);
        break;
    case ETW_OUT_IPV4:
        if (v->width == 4) {
            uint8_t raw[4];
            EtwStore32(raw, (uint32_t)v->u);
            addIpv4(out, raw);
            break;
        }
        /* fall through */
    default:
        if (v->kind == ETW_V_INT) {
            EtwTextSigned(out, v->i);
        } else {
            EtwTextDecimal(out, v->u);
        }
    }
}

void EtwFormatValue(EtwText *out, const EtwField *field, const EtwValue *v)
{
    switch (v->kind) {
    case ETW_V_NULL:
    case ETW_V_ENCODED:
        break;
    case ETW_V_INT:
    case ETW_V_UINT:
        addInteger(out, field, v);
        break;
    case ETW_V_DOUBLE:
        EtwFormatDouble(out, v->d, v->width == 4);
        break;
    case ETW_V_BOOL:
        EtwTextStr(out, v->u ? "true" : "false");
        break;
    case ETW_V_TEXT:
        EtwTextUtf8(out, v->data, v->size);
        break;
    case ETW_V_TEXT16:
        EtwTextUtf16(out, v->data, v->size / 2);
        break;
    case ETW_V_BYTES:
        addBinary(out, v);
        break;
    case ETW_V_GUID:
        addGuid(out, v->data);
        break;
    case ETW_V_SID:
        addSid(out, v->data);
        break;
    case ETW_V_FILETIME:
        EtwTextFiletime(out, v->u);
        break;
    case ETW_V_SYSTEMTIME:
        addSystemtime(out, v);
        break;
    }
}
