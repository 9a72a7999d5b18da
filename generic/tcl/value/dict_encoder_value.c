/*
 * tcl/value/dict_encoder_value.c --
 *
 *	Converts one Tcl value to a field's value, if EtwAppendProcOf has no function for it. Accepts what
 *	event_dict.c shows, and further notations: map names or numbers, addresses or bytes in hex. Ranges are
 *	checked here so that the message can state them.
 */
#include "tcl/value/dict_encoder.h"
#include "base/calendar.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { MAX_NAMES_SHOWN = 12 };

/* The Tcl form of a field's values. */
typedef enum Form {
    FORM_NONE,
    FORM_NUMBER,
    FORM_CHARACTER, /* a number shown as a character, or an array of them */
    FORM_BOOLEAN,
    FORM_TIME,
    FORM_IPV4, /* a number */
    FORM_REAL,
    FORM_TEXT, /* 8-bit */
    FORM_TEXT16,
    FORM_BYTES,
    FORM_SHOWN_BYTES, /* shown as text: addresses, else hex */
    FORM_GUID,
    FORM_SYSTEMTIME,
    FORM_SID,
    FORM_WBEM_SID
} Form;

static Form integerForm(uint8_t in, uint8_t out, uint8_t width)
{
    switch (out) {
    case ETW_OUT_STRING:
        return width <= 2 ? FORM_CHARACTER : FORM_NUMBER;
    case ETW_OUT_BOOL:
        return FORM_BOOLEAN;
    case ETW_OUT_IPV4:
        return width == 4 ? FORM_IPV4 : FORM_NUMBER;
    case ETW_OUT_FILETIME:
    case ETW_OUT_DATETIME:
    case ETW_OUT_DATETIME_UTC:
        return width == 8 ? FORM_TIME : FORM_NUMBER;
    default:
        return in == ETW_IN_BOOL32 && out == ETW_OUT_DEFAULT ? FORM_BOOLEAN : FORM_NUMBER;
    }
}

static Form binaryForm(uint8_t out)
{
    return EtwBinaryKind(out) == ETW_V_TEXT ? FORM_TEXT
           : out == ETW_OUT_DEFAULT         ? FORM_BYTES
                                            : FORM_SHOWN_BYTES;
}

/* width: bytes of a number; 0: the field is not a number. */
static Form formOf(const EtwField *f, uint8_t width)
{
    switch (f->in) {
    case ETW_IN_FILETIME:
        return FORM_TIME;
    case ETW_IN_ANSIZ:
    case ETW_IN_COUNTED_ANSI:
    case ETW_IN_COUNTED_ANSI_SWAP:
        return FORM_TEXT;
    case ETW_IN_UTF16Z:
    case ETW_IN_COUNTED_UTF16:
    case ETW_IN_COUNTED_UTF16_SWAP:
        return FORM_TEXT16;
    case ETW_IN_BINARY:
    case ETW_IN_COUNTED_BINARY:
    case ETW_IN_COUNTED32_BINARY:
        return binaryForm(f->out);
    case ETW_IN_FLOAT:
    case ETW_IN_DOUBLE:
        return FORM_REAL;
    case ETW_IN_GUID:
        return FORM_GUID;
    case ETW_IN_SYSTEMTIME:
        return FORM_SYSTEMTIME;
    case ETW_IN_SID:
        return FORM_SID;
    case ETW_IN_WBEM_SID:
        return FORM_WBEM_SID;
    default:
        return width != 0 ? integerForm(f->in, f->out, width) : FORM_NONE;
    }
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* A number that is usually written with all its bits: 0x80070005 fits a signed field, too. */
static bool isBitPattern(const EtwField *f)
{
    return f->out == ETW_OUT_HEX || f->out == ETW_OUT_NTSTATUS || f->out == ETW_OUT_HRESULT ||
           f->out == ETW_OUT_WIN32 || f->out == ETW_OUT_CODE_POINTER || f->out == ETW_OUT_IPV4;
}

static bool setUnsigned(EtwValue *v, uint64_t u, bool half)
{
    v->kind = ETW_V_UINT;
    v->u = u;
    return v->width >= 8 ? !half || u <= INT64_MAX : u >> (8 * v->width - half) == 0;
}

static bool setNegative(EtwValue *v, int64_t i)
{
    v->kind = ETW_V_INT;
    v->i = i;
    return v->width >= 8 || i >= -((int64_t)1 << (8 * v->width - 1));
}

static bool integerFromObj(const EtwField *f, Tcl_Obj *obj, EtwValue *v)
{
    int64_t wide;
    uint64_t u;
    bool isSigned = EtwFieldIsSigned(f) && f->out != ETW_OUT_PORT;

    if (EtwGetInt64(obj, &wide) && wide < 0) {
        return isSigned && setNegative(v, wide);
    }
    return EtwGetUint64(NULL, obj, &u) == TCL_OK && setUnsigned(v, u, isSigned && !isBitPattern(f));
}

/* A map's numbers have 64 bits; those of signed fields can be negative. */
static bool setMapped(EtwValue *v, uint64_t u)
{
    return (int64_t)u < 0 && v->width < 8 ? setNegative(v, (int64_t)u) : setUnsigned(v, u, false);
}

/*
 * The map entry with the longest name that the text begins with and that ends at a `|` or at the
 * text's end.
 */
static const EtwMapEntry *nameAt(const EtwMap *map, const char *text, size_t size, bool whole)
{
    const EtwMapEntry *best = NULL;
    size_t longest = 0;
    for (int i = 0; i < map->count; i++) {
        size_t length = strlen(map->entries[i].name);
        bool fits = length <= size && memcmp(map->entries[i].name, text, length) == 0 &&
                    (length == size || (!whole && text[length] == '|'));
        if (fits && (best == NULL || length > longest)) {
            best = &map->entries[i];
            longest = length;
        }
    }
    return best;
}

static bool numberAt(const char *text, size_t size, uint64_t *uPtr)
{
    Tcl_Obj *word = Tcl_NewStringObj(text, (Tcl_Size)size);
    Tcl_IncrRefCount(word);
    bool good = size != 0 && EtwGetUint64(NULL, word, uPtr) == TCL_OK;
    Tcl_DecrRefCount(word);
    return good;
}

/* Parses names and numbers separated by bars: A|B|0x10 */
static bool bitsOf(const EtwMap *map, const char *text, size_t size, uint64_t *uPtr)
{
    *uPtr = 0;
    while (size != 0) {
        uint64_t bits;
        const EtwMapEntry *entry = nameAt(map, text, size, false);
        const char *bar = memchr(text, '|', size);
        size_t length = entry != NULL ? strlen(entry->name)
                        : bar != NULL ? (size_t)(bar - text)
                                      : size;
        if (entry == NULL && !numberAt(text, length, &bits)) {
            return false;
        }
        *uPtr |= entry != NULL ? entry->value : bits;
        length += length < size; /* the bar */
        text += length;
        size -= length;
    }
    return true;
}

static bool namedFromObj(const EtwField *f, Tcl_Obj *obj, EtwValue *v)
{
    Tcl_DString ds;
    size_t size;
    uint64_t bits;
    bool good = false;

    Tcl_DStringInit(&ds);
    const char *text = EtwUtf8Of(obj, &ds, &size);
    const EtwMapEntry *entry = nameAt(f->map, text, size, true);
    if (entry != NULL) {
        good = setMapped(v, entry->value);
    } else if (f->map->bits && size != 0 && bitsOf(f->map, text, size, &bits)) {
        good = setMapped(v, bits);
    }
    Tcl_DStringFree(&ds);
    return good;
}

static bool numberFromObj(const EtwField *f, Tcl_Obj *obj, EtwValue *v)
{
    return (f->map != NULL && namedFromObj(f, obj, v)) || integerFromObj(f, obj, v);
}

static bool ipv4FromObj(const EtwField *f, Tcl_Obj *obj, EtwValue *v)
{
    uint8_t raw[4];
    if (!EtwParseIpv4(Tcl_GetString(obj), raw)) {
        return numberFromObj(f, obj, v);
    }
    return setUnsigned(v, EtwLoad32(raw), false);
}

static bool booleanFromObj(Tcl_Obj *obj, EtwValue *v)
{
    int flag;
    v->kind = ETW_V_BOOL;
    if (Tcl_GetBooleanFromObj(NULL, obj, &flag) != TCL_OK) {
        return false;
    }
    v->u = flag != 0;
    return true;
}

/* Tcl does not parse NaN. */
static bool realFromObj(const EtwField *f, Tcl_Obj *obj, EtwValue *v)
{
    const char *text = Tcl_GetString(obj);
    v->kind = ETW_V_DOUBLE;
    if (strncmp(text + (*text == '-'), "NaN", 3) == 0) {
        v->d = *text == '-' ? -(double)NAN : (double)NAN;
        return true;
    }
    return Tcl_GetDoubleFromObj(NULL, obj, &v->d) == TCL_OK &&
           (f->in == ETW_IN_DOUBLE || isinf(v->d) || fabs(v->d) <= (double)FLT_MAX);
}

/* ---- Times ----------------------------------------------------------------------------------- */

/*
 * A decimal number, which may need more than 64 bits, divided by 10^digits and rounded down. The
 * result is limited to the ticks of a FILETIME; those before 1601 wrap around.
 */
static bool parseScaled(const char *text, size_t digits, int64_t *resultPtr)
{
    bool negative = *text == '-', rest = false;
    uint64_t most = INT64_MAX + (uint64_t)(negative ? ETW_FILETIME_EPOCH : -ETW_FILETIME_EPOCH);
    char kept[24] = "0";
    size_t size = strspn(text + negative, "0123456789");

    text += negative;
    if (size == 0 || text[size] != '\0' || size >= digits + 20) {
        return false;
    }
    if (size > digits) {
        memcpy(kept, text, size - digits);
        kept[size - digits] = '\0';
        text += size - digits;
    }
    for (; *text != '\0'; text++) {
        rest |= *text != '0';
    }
    uint64_t value = strtoull(kept, NULL, 10);
    *resultPtr = (int64_t)(negative ? 0 - value - rest : value);
    return value <= most;
}

static bool timeFromObj(Tcl_Obj *obj, EtwValue *v)
{
    int64_t ticks;
    v->kind = ETW_V_FILETIME;
    if (!parseScaled(Tcl_GetString(obj), 2, &ticks)) {
        return false;
    }
    v->u = (uint64_t)ticks + ETW_FILETIME_EPOCH;
    return true;
}

static bool systemtimeFromObj(EtwText *scratch, Tcl_Obj *obj, EtwValue *v)
{
    int64_t ms;
    EtwTextReserve(scratch, 16);
    v->kind = ETW_V_SYSTEMTIME;
    v->data = (const uint8_t *)scratch->data;
    v->size = 16;
    return parseScaled(Tcl_GetString(obj), 6, &ms) && EtwSystemtimeOf(ms, (uint8_t *)scratch->data);
}

/* ---- Texts and bytes ------------------------------------------------------------------------- */

static void setScratch(EtwText *scratch, EtwValueKind kind, EtwValue *v)
{
    EtwTextReserve(scratch, 1); /* so that the data pointer is not NULL */
    v->kind = kind;
    v->data = (const uint8_t *)scratch->data;
    v->size = scratch->size;
}

static bool textFromObj(EtwText *scratch, Tcl_Obj *obj, bool wide, EtwValue *v)
{
    EtwAddTextOf(scratch, obj, wide);
    setScratch(scratch, wide ? ETW_V_TEXT16 : ETW_V_TEXT, v);
    return true;
}

/* One character, or an array of them. A byte that is not a character is shown as U+FFFD. */
static bool charactersFromObj(EtwText *scratch, const EtwField *f, Tcl_Obj *obj, EtwValue *v)
{
    textFromObj(scratch, obj, v->width == 2, v);
    if (f->array == ETW_SCALAR && v->width == 1 && v->size == 3 &&
            memcmp(v->data, "\xEF\xBF\xBD", 3) == 0) {
        v->data = (const uint8_t *)"\xFF";
        v->size = 1;
    }
    return EtwFieldIsChars(f) || v->size == v->width;
}

static bool bytesFromObj(EtwText *scratch, Tcl_Obj *obj, EtwValue *v)
{
    Tcl_Size size;
    const unsigned char *bytes = Tcl_GetBytesFromObj(NULL, obj, &size);
    if (bytes == NULL) {
        return false;
    }
    EtwTextAdd(scratch, bytes, (size_t)size);
    setScratch(scratch, ETW_V_BYTES, v);
    return true;
}

static bool addHex(EtwText *scratch, const char *text)
{
    for (; *text != '\0'; text += 2) {
        int high = EtwHexDigit(text[0]), low = EtwHexDigit(text[1]);
        if (high > 15 || low > 15) {
            return false;
        }
        EtwTextChar(scratch, (char)(high << 4 | low));
    }
    return true;
}

/* ADDRESS:PORT or [ADDRESS]:PORT as Windows' SOCKADDR_IN or SOCKADDR_IN6. */
static bool addSockaddr(EtwText *scratch, const char *text, size_t capacity)
{
    enum { INET = 2, INET6 = 23, SIZE = 16, SIZE6 = 28 };
    char host[64];
    uint8_t address[SIZE6] = {0};
    uint64_t port;
    bool six = *text == '[';
    const char *end = strrchr(text, six ? ']' : ':'), *colon = end == NULL ? NULL : end + six;

    text += six;
    if (end == NULL || end < text || (size_t)(end - text) >= sizeof host || *colon != ':' ||
            !numberAt(colon + 1, strlen(colon + 1), &port) || port > UINT16_MAX) {
        return false;
    }
    memcpy(host, text, (size_t)(end - text));
    host[end - text] = '\0';
    if (!(six ? EtwParseIpv6(host, address + 8) : EtwParseIpv4(host, address + 4))) {
        return false;
    }
    EtwStore16(address, six ? INET6 : INET);
    address[2] = (uint8_t)(port >> 8);
    address[3] = (uint8_t)port;
    EtwTextAdd(scratch, address, six ? SIZE6 : SIZE);
    while (scratch->size < capacity && capacity <= ETW_ENCODE_MAX) {
        EtwTextChar(scratch, '\0');
    }
    return true;
}

/* XX-XX-XX-XX-XX-XX; the kernel's field has 8 bytes. */
static bool addMac(EtwText *scratch, const char *text, size_t capacity)
{
    unsigned b[6];
    char rest;
    if (sscanf(text, "%2x-%2x-%2x-%2x-%2x-%2x%c", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
                &rest) != 6) {
        return false;
    }
    for (size_t i = 0; i < 6 || (i < capacity && capacity == 8); i++) {
        EtwTextChar(scratch, i < 6 ? (char)b[i] : '\0');
    }
    return true;
}

static bool addressFromObj(EtwText *scratch, const EtwField *f, Tcl_Obj *obj, EtwValue *v)
{
    const char *text = Tcl_GetString(obj);
    uint8_t address[16];

    if (f->out == ETW_OUT_IPV6 && EtwParseIpv6(text, address)) {
        EtwTextAdd(scratch, address, 16);
    } else if (f->out == ETW_OUT_IPV4 && EtwParseIpv4(text, address)) {
        EtwTextAdd(scratch, address, 4);
    } else if (!(f->out == ETW_OUT_SOCKADDR && addSockaddr(scratch, text, v->size)) &&
               !(f->out == ETW_OUT_MAC && addMac(scratch, text, v->size)) &&
               !addHex(scratch, text)) {
        return false;
    }
    setScratch(scratch, ETW_V_BYTES, v);
    return true;
}

static bool sidFromObj(EtwText *scratch, Tcl_Obj *obj, EtwValue *v)
{
    EtwTextReserve(scratch, ETW_SID_BYTES);
    if (!EtwParseSid(Tcl_GetString(obj), (uint8_t *)scratch->data, &scratch->size)) {
        return false;
    }
    setScratch(scratch, ETW_V_SID, v);
    return true;
}

/* ---- All of them ------------------------------------------------------------------------------ */

bool EtwValueFromObj(EtwText *scratch, const EtwField *f, Tcl_Obj *obj, EtwValue *v)
{
    scratch->size = 0;
    switch (formOf(f, v->width)) {
    case FORM_NUMBER:
        return numberFromObj(f, obj, v);
    case FORM_CHARACTER:
        return charactersFromObj(scratch, f, obj, v);
    case FORM_BOOLEAN:
        return booleanFromObj(obj, v);
    case FORM_TIME:
        return timeFromObj(obj, v);
    case FORM_IPV4:
        return ipv4FromObj(f, obj, v);
    case FORM_REAL:
        return realFromObj(f, obj, v);
    case FORM_TEXT:
        return textFromObj(scratch, obj, false, v);
    case FORM_TEXT16:
        return textFromObj(scratch, obj, true, v);
    case FORM_BYTES:
        return bytesFromObj(scratch, obj, v);
    case FORM_SHOWN_BYTES:
        return addressFromObj(scratch, f, obj, v);
    case FORM_SYSTEMTIME:
        return systemtimeFromObj(scratch, obj, v);
    case FORM_WBEM_SID:
        return *Tcl_GetString(obj) == '\0' || sidFromObj(scratch, obj, v);
    case FORM_GUID:
    case FORM_SID:
        return false; /* EtwAppendProcOf has functions for them */
    case FORM_NONE:
        break;
    }
    return *Tcl_GetString(obj) == '\0';
}

static void setZeros(EtwText *scratch, EtwValueKind kind, size_t size, EtwValue *v)
{
    scratch->size = 0;
    EtwTextReserve(scratch, size + 1);
    memset(scratch->data, 0, size);
    scratch->size = size;
    setScratch(scratch, kind, v);
}

void EtwValueSetZero(EtwText *scratch, const EtwField *f, EtwValue *v)
{
    static const uint8_t nobody[8] = {1}; /* S-1-0 */
    bool chars = EtwFieldIsChars(f);

    switch (formOf(f, v->width)) {
    case FORM_NUMBER:
    case FORM_BOOLEAN:
    case FORM_TIME:
    case FORM_IPV4:
        v->kind = ETW_V_UINT;
        break;
    case FORM_CHARACTER:
        setZeros(scratch, v->width == 2 ? ETW_V_TEXT16 : ETW_V_TEXT, chars ? 0 : v->width, v);
        break;
    case FORM_REAL:
        v->kind = ETW_V_DOUBLE;
        break;
    case FORM_TEXT:
    case FORM_TEXT16:
        setZeros(scratch, formOf(f, 0) == FORM_TEXT ? ETW_V_TEXT : ETW_V_TEXT16, 0, v);
        break;
    case FORM_BYTES:
    case FORM_SHOWN_BYTES: /* one byte more than allowed is enough to fail */
        setZeros(scratch, ETW_V_BYTES, v->size <= ETW_ENCODE_MAX ? v->size : ETW_ENCODE_MAX + 1, v);
        break;
    case FORM_GUID:
    case FORM_SYSTEMTIME:
        setZeros(scratch, formOf(f, 0) == FORM_GUID ? ETW_V_GUID : ETW_V_SYSTEMTIME, 16, v);
        break;
    case FORM_SID:
        v->kind = ETW_V_SID;
        v->data = nobody;
        v->size = sizeof nobody;
        break;
    case FORM_WBEM_SID:
    case FORM_NONE:
        break;
    }
}

static void expectNumber(EtwText *out, const EtwField *f, uint8_t width)
{
    bool half = EtwFieldIsSigned(f) && f->out != ETW_OUT_PORT;
    uint64_t all = width >= 8 ? UINT64_MAX : (1ull << 8 * width) - 1;

    for (int i = 0; f->map != NULL && f->map->count <= MAX_NAMES_SHOWN && i < f->map->count; i++) {
        EtwTextStr(out, f->map->entries[i].name);
        EtwTextStr(out, f->map->bits ? " | " : ", ");
    }
    if (f->map != NULL && f->map->count > MAX_NAMES_SHOWN) {
        EtwTextPrintf(out, "one of the map's %d names or ", f->map->count);
    }
    EtwTextStr(out, "a number of ");
    EtwTextSigned(out, half ? -(int64_t)(all / 2) - 1 : 0);
    EtwTextStr(out, " to ");
    EtwTextDecimal(out, half && !isBitPattern(f) ? all / 2 : all);
}

static const char *expectBytes(uint8_t out)
{
    switch (out) {
    case ETW_OUT_IPV4:
        return "an IPv4 address, or bytes in hex";
    case ETW_OUT_IPV6:
        return "an IP address, or bytes in hex";
    case ETW_OUT_SOCKADDR:
        return "ADDRESS:PORT or [ADDRESS]:PORT, or bytes in hex";
    case ETW_OUT_MAC:
        return "XX-XX-XX-XX-XX-XX, or bytes in hex";
    default:
        return "bytes in hex";
    }
}

void EtwAddExpected(EtwText *out, const EtwField *f, uint8_t width)
{
    static const char *const texts[] = {[FORM_NONE] = "an empty value",
            [FORM_CHARACTER] = "one character",
            [FORM_BOOLEAN] = "a boolean",
            [FORM_TIME] = "a time in nanoseconds since 1970",
            [FORM_IPV4] = "an IPv4 address or a number",
            [FORM_TEXT] = "a text",
            [FORM_TEXT16] = "a text",
            [FORM_BYTES] = "bytes",
            [FORM_GUID] = "a GUID",
            [FORM_SYSTEMTIME] = "a time in nanoseconds since 1970",
            [FORM_SID] = "a SID such as S-1-5-18",
            [FORM_WBEM_SID] = "a SID such as S-1-5-18, or nothing"};
    Form form = formOf(f, width);

    if (form == FORM_NUMBER) {
        expectNumber(out, f, width);
    } else if (form == FORM_REAL) {
        EtwTextStr(out, f->in == ETW_IN_FLOAT ? "a number of single precision" : "a number");
    } else {
        EtwTextStr(out, form == FORM_SHOWN_BYTES ? expectBytes(f->out) : texts[form]);
    }
}
