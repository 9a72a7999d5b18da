/*
 * schema/model/tdh_types.c --
 *
 *	Converts types of manifests to ours and back. EVENT_PROPERTY_INFO (tdh_types.h) documents
 *	the numbers, InputType and OutputType of the manifest schema the names.
 */
#include "schema/model/tdh_types.h"
#include <strings.h>

typedef struct TypeName {
    const char *name;
    int number;
} TypeName;

static const TypeName inNames[] = {{"UnicodeString", 1}, {"AnsiString", 2}, {"Int8", 3},
        {"UInt8", 4}, {"Int16", 5}, {"UInt16", 6}, {"Int32", 7}, {"UInt32", 8}, {"Int64", 9},
        {"UInt64", 10}, {"Float", 11}, {"Double", 12}, {"Boolean", 13}, {"Binary", 14},
        {"GUID", 15}, {"Pointer", 16}, {"FILETIME", 17}, {"SYSTEMTIME", 18}, {"SID", 19},
        {"HexInt32", 20}, {"HexInt64", 21}, {"CountedUtf16String", 22},
        {"CountedUnicodeString", 22}, {"CountedMbcsString", 23}, {"CountedAnsiString", 23},
        {"CountedBinary", 25}, {"CountedString", 300}, {"ReversedCountedString", 302},
        {"ReversedCountedUnicodeString", 302}, {"ReversedCountedAnsiString", 303},
        {"NonNullTerminatedString", 304}, {"NonNullTerminatedAnsiString", 305},
        {"UnicodeChar", 306}, {"AnsiChar", 307}, {"SizeT", 308}, {"HexDump", 309}, {"WbemSid", 310},
        {"WString", 1}, {"String", 1}};

static const TypeName outNames[] = {{"string", 1}, {"dateTime", 2}, {"byte", 3},
        {"unsignedByte", 4}, {"short", 5}, {"unsignedShort", 6}, {"int", 7}, {"unsignedInt", 8},
        {"long", 9}, {"unsignedLong", 10}, {"float", 11}, {"double", 12}, {"boolean", 13},
        {"GUID", 14}, {"hexBinary", 15}, {"HexInt8", 16}, {"HexInt16", 17}, {"HexInt32", 18},
        {"HexInt64", 19}, {"PID", 20}, {"TID", 21}, {"Port", 22}, {"IPv4", 23}, {"IPv6", 24},
        {"SocketAddress", 25}, {"CIMDateTime", 26}, {"ETWTIME", 27}, {"Xml", 28}, {"ErrorCode", 29},
        {"Win32Error", 30}, {"NTSTATUS", 31}, {"HResult", 32}, {"DateTimeCultureInsensitive", 33},
        {"Json", 34}, {"Utf8", 35}, {"Pkcs7WithTypeInfo", 36}, {"CodePointer", 37},
        {"DateTimeUtc", 38}, {"ReducedString", 300}, {"NoPrint", 301}};

static int numberOf(const TypeName *names, size_t count, const char *name)
{
    const char *colon = strchr(name, ':');
    name = colon ? colon + 1 : name;
    for (size_t i = 0; i < count; i++) {
        if (strcasecmp(names[i].name, name) == 0) {
            return names[i].number;
        }
    }
    return -1;
}

int EtwTdhInType(const char *name)
{
    return numberOf(inNames, sizeof inNames / sizeof *inNames, name);
}

int EtwTdhOutType(const char *name)
{
    return numberOf(outNames, sizeof outNames / sizeof *outNames, name);
}

static bool isInteger(uint8_t in)
{
    return (in >= ETW_IN_INT8 && in <= ETW_IN_UINT64) || in == ETW_IN_HEX32 || in == ETW_IN_HEX64 ||
           in == ETW_IN_POINTER;
}

/* ETW_OUT_* of an out-type. Those that are implied by the in-type are the default. */
static uint8_t outOf(uint8_t in, int outType)
{
    static const uint8_t outs[] = {[3] = ETW_OUT_SIGNED,
            [4] = ETW_OUT_UNSIGNED,
            [5] = ETW_OUT_SIGNED,
            [6] = ETW_OUT_UNSIGNED,
            [7] = ETW_OUT_SIGNED,
            [8] = ETW_OUT_UNSIGNED,
            [9] = ETW_OUT_SIGNED,
            [10] = ETW_OUT_UNSIGNED,
            [13] = ETW_OUT_BOOL,
            [16] = ETW_OUT_HEX,
            [17] = ETW_OUT_HEX,
            [18] = ETW_OUT_HEX,
            [19] = ETW_OUT_HEX,
            [20] = ETW_OUT_PID,
            [21] = ETW_OUT_TID,
            [22] = ETW_OUT_PORT,
            [23] = ETW_OUT_IPV4,
            [24] = ETW_OUT_IPV6,
            [25] = ETW_OUT_SOCKADDR,
            [28] = ETW_OUT_XML,
            [29] = ETW_OUT_WIN32,
            [30] = ETW_OUT_WIN32,
            [31] = ETW_OUT_NTSTATUS,
            [32] = ETW_OUT_HRESULT,
            [33] = ETW_OUT_DATETIME,
            [34] = ETW_OUT_JSON,
            [35] = ETW_OUT_UTF8,
            [36] = ETW_OUT_PKCS7,
            [37] = ETW_OUT_CODE_POINTER,
            [38] = ETW_OUT_DATETIME_UTC};
    bool narrow = in >= ETW_IN_INT8 && in <= ETW_IN_UINT16;
    if (outType == 1) {
        return narrow || in == ETW_IN_BINARY ? ETW_OUT_STRING : ETW_OUT_DEFAULT;
    }
    if (outType < 0 || outType >= (int)sizeof outs || outType == 2) {
        return outType == 301 ? ETW_OUT_NOPRINT : ETW_OUT_DEFAULT;
    }
    uint8_t out = outs[outType];
    if (out == ETW_OUT_SIGNED || out == ETW_OUT_UNSIGNED) {
        bool sign =
                in == ETW_IN_INT8 || in == ETW_IN_INT16 || in == ETW_IN_INT32 || in == ETW_IN_INT64;
        bool plain = in >= ETW_IN_INT8 && in <= ETW_IN_UINT64;
        return plain && sign == (out == ETW_OUT_SIGNED) ? ETW_OUT_DEFAULT : out;
    }
    if ((out == ETW_OUT_HEX && !isInteger(in)) || (out == ETW_OUT_BOOL && in == ETW_IN_BOOL32)) {
        return ETW_OUT_DEFAULT;
    }
    return out;
}

/* In-types from 300 on, of classic events. */
static bool setClassic(EtwField *f, int inType)
{
    switch (inType) {
    case 300:
        f->in = ETW_IN_COUNTED_UTF16;
        return true;
    case 301:
        f->in = ETW_IN_COUNTED_ANSI;
        return true;
    case 302:
        f->in = ETW_IN_COUNTED_UTF16_SWAP;
        return true;
    case 303:
        f->in = ETW_IN_COUNTED_ANSI_SWAP;
        return true;
    case 304:
        f->in = ETW_IN_UTF16Z;
        f->sized = ETW_SIZE_REST;
        return true;
    case 305:
        f->in = ETW_IN_ANSIZ;
        f->sized = ETW_SIZE_REST;
        return true;
    case 306:
        f->in = ETW_IN_UINT16;
        f->out = ETW_OUT_STRING;
        return true;
    case 307:
        f->in = ETW_IN_UINT8;
        f->out = ETW_OUT_STRING;
        return true;
    case 308:
        f->in = ETW_IN_POINTER;
        return true;
    case 309:
        f->in = ETW_IN_COUNTED32_BINARY;
        return true;
    case 310:
        f->in = ETW_IN_WBEM_SID;
        return true;
    default:
        return false;
    }
}

/* Sets the size of texts and blobs: given, or implied by the type. */
static void setSize(EtwField *f, EtwTdhLength length)
{
    if (length == ETW_TDH_LENGTH_BY_FIELD) {
        f->sized = ETW_SIZE_BY_FIELD;
    } else if (length == ETW_TDH_LENGTH && f->length != 0) {
        f->sized = ETW_SIZE_FIXED;
    } else if (f->in == ETW_IN_BINARY && (f->out == ETW_OUT_IPV6 || f->out == ETW_OUT_SOCKADDR)) {
        f->sized = f->out == ETW_OUT_IPV6 ? ETW_SIZE_FIXED : ETW_SIZE_REST;
        f->length = 16;
    } else if (f->in == ETW_IN_BINARY) {
        f->sized = ETW_SIZE_REST; /* unknown size: the rest */
    }
}

bool EtwTdhField(EtwField *f, int inType, int outType, EtwTdhLength length)
{
    f->sized = ETW_SIZE_OWN;
    f->out = ETW_OUT_DEFAULT;
    if (inType > 310 || inType < 0 || inType == ETW_IN_STRUCT ||
            (inType > ETW_IN_COUNTED_BINARY && !setClassic(f, inType))) {
        return false;
    }
    if (inType <= ETW_IN_COUNTED_BINARY) {
        f->in = (uint8_t)inType;
    }
    uint8_t out = outOf(f->in, outType);
    f->out = out != ETW_OUT_DEFAULT ? out : f->out;
    bool varies = f->in == ETW_IN_UTF16Z || f->in == ETW_IN_ANSIZ || f->in == ETW_IN_BINARY;
    if (varies && f->sized == ETW_SIZE_OWN) {
        setSize(f, length);
    }
    return true;
}

const uint8_t etwFixedSizes[] = {[ETW_IN_INT8] = 1,
        [ETW_IN_UINT8] = 1,
        [ETW_IN_INT16] = 2,
        [ETW_IN_UINT16] = 2,
        [ETW_IN_INT32] = 4,
        [ETW_IN_UINT32] = 4,
        [ETW_IN_INT64] = 8,
        [ETW_IN_UINT64] = 8,
        [ETW_IN_FLOAT] = 4,
        [ETW_IN_DOUBLE] = 8,
        [ETW_IN_BOOL32] = 4,
        [ETW_IN_GUID] = 16,
        [ETW_IN_FILETIME] = 8,
        [ETW_IN_SYSTEMTIME] = 16,
        [ETW_IN_HEX32] = 4,
        [ETW_IN_HEX64] = 8};

/* ---- The inverse ----------------------------------------------------------------------------- */

static int inTypeOf(const EtwField *f)
{
    switch (f->in) {
    case ETW_IN_UTF16Z:
        return f->sized == ETW_SIZE_REST ? 304 : f->in;
    case ETW_IN_ANSIZ:
        return f->sized == ETW_SIZE_REST ? 305 : f->in;
    case ETW_IN_COUNTED_UTF16_SWAP:
        return 302;
    case ETW_IN_COUNTED_ANSI_SWAP:
        return 303;
    case ETW_IN_COUNTED32_BINARY:
        return 309;
    case ETW_IN_WBEM_SID:
        return 310;
    default:
        return f->in <= ETW_IN_COUNTED_BINARY ? f->in : -1;
    }
}

/* True if the numbers result in this field. */
static bool producesField(const EtwField *f, int inType, int outType)
{
    EtwField made = *f;
    EtwTdhLength length = f->sized == ETW_SIZE_FIXED      ? ETW_TDH_LENGTH
                          : f->sized == ETW_SIZE_BY_FIELD ? ETW_TDH_LENGTH_BY_FIELD
                                                          : ETW_TDH_NO_LENGTH;
    return EtwTdhField(&made, inType, outType, length) && made.in == f->in && made.out == f->out &&
           made.sized == f->sized && made.length == f->length;
}

bool EtwTdhTypes(const EtwField *f, int *inType, int *outType)
{
    enum { LAST = 38, NO_PRINT = 301 };
    *inType = inTypeOf(f);
    for (*outType = 0; *outType <= LAST; ++*outType) {
        if (producesField(f, *inType, *outType)) {
            return true;
        }
    }
    *outType = NO_PRINT;
    return producesField(f, *inType, *outType);
}
