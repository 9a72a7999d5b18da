/*
 * tcl/core/values.c --
 *
 *	Conversions between Tcl values and the core's: text, paths, 64-bit unsigned numbers, GUIDs,
 *	levels, keyword masks. Tcl's strings are a variant of UTF-8 (NUL as C0 80, surrogates in 8.6); the
 *	core uses standard UTF-8.
 */
#include "tcl/core/tclglue.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* One per process. Encodings are reference-counted; this one is never freed. */
static Tcl_Encoding utf8Encoding(void)
{
    static Tcl_Encoding encoding;
    if (encoding == NULL) {
        encoding = Tcl_GetEncoding(NULL, "utf-8");
    }
    return encoding;
}

static bool isAscii(const char *text, size_t size)
{
    uint64_t all = 0, eight;

    if (size < 8) {
        for (size_t i = 0; i < size; i++) {
            all |= (uint8_t)text[i];
        }
        return (all & 0x80) == 0;
    }
    for (size_t i = 8; i < size; i += 8) {
        memcpy(&eight, text + i - 8, 8);
        all |= eight;
    }
    memcpy(&eight, text + size - 8, 8);
    return ((all | eight) & 0x8080808080808080) == 0;
}

/*
 * True if the text has bytes that Tcl encodes otherwise: NUL, surrogates, characters beyond the
 * BMP.
 */
static bool isModifiedUtf8(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)text[i];
        if (byte == 0xC0 || byte == 0xED || byte >= 0xF0) {
            return true;
        }
    }
    return false;
}

const char *EtwUtf8Of(Tcl_Obj *obj, Tcl_DString *dsPtr, size_t *sizePtr)
{
    Tcl_Size length;
    const char *text = Tcl_GetStringFromObj(obj, &length);

    if (!isAscii(text, (size_t)length) && isModifiedUtf8(text, (size_t)length)) {
        Tcl_DStringFree(dsPtr);
        text = Tcl_UtfToExternalDString(utf8Encoding(), text, length, dsPtr);
        length = Tcl_DStringLength(dsPtr);
    }
    if (sizePtr != NULL) {
        *sizePtr = (size_t)length;
    }
    return text;
}

static bool isPlain(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if ((uint8_t)(text[i] - 1) >= 0x7F) {
            return false;
        }
    }
    return true;
}

Tcl_Obj *EtwTextObj(const char *utf8, size_t size)
{
    EtwText clean = {NULL, 0, 0};
    Tcl_DString ds;
    Tcl_Obj *obj;

    if (isPlain(utf8, size)) {
        return Tcl_NewStringObj(utf8, (Tcl_Size)size);
    }
    EtwTextUtf8(&clean, (const uint8_t *)utf8, size);
    Tcl_ExternalToUtfDString(utf8Encoding(), clean.data, (Tcl_Size)clean.size, &ds);
    obj = Tcl_NewStringObj(Tcl_DStringValue(&ds), Tcl_DStringLength(&ds));
    Tcl_DStringFree(&ds);
    EtwTextFree(&clean);
    return obj;
}

void EtwAddTextOf(EtwText *out, Tcl_Obj *obj, bool utf16)
{
    Tcl_DString ds;
    size_t size;

    Tcl_DStringInit(&ds);
    const char *text = EtwUtf8Of(obj, &ds, &size);
    if (utf16) {
        EtwTextToUtf16(out, text, size);
    } else {
        EtwTextAdd(out, text, size);
    }
    Tcl_DStringFree(&ds);
}

Tcl_Obj *EtwStringObj(const char *utf8)
{
    return EtwTextObj(utf8, strlen(utf8));
}

Tcl_Obj *EtwTakeText(Tcl_Interp *interp, EtwText *text)
{
    Tcl_Obj *result = NULL;

    if (text->size <= ETW_RESULT_MAX) {
        result = EtwTextObj(text->data, text->size);
    } else {
        EtwTclFail(interp, ETW_E_LIMIT, "RESULT", "",
                "the result has more than %d MB: select fewer events, or write to a file with "
                "\"etw export\"",
                (int)(ETW_RESULT_MAX >> 20));
    }
    EtwTextFree(text);
    return result;
}

const char *EtwPathOf(Tcl_Interp *interp, Tcl_Obj *obj, Tcl_DString *dsPtr)
{
    if (Tcl_FSGetNormalizedPath(interp, obj) == NULL) {
        return NULL;
    }
#ifndef _WIN32
    const char *path = Tcl_FSGetNativePath(obj);
    if (path != NULL) {
        Tcl_DStringFree(dsPtr);
        return Tcl_DStringAppend(dsPtr, path, -1);
    }
#else
    if (Tcl_FSGetNativePath(obj) != NULL) {
        return EtwUtf8Of(Tcl_FSGetNormalizedPath(interp, obj), dsPtr, NULL);
    }
#endif
    EtwTclFail(interp, ETW_E_ARG, "PATH", Tcl_GetString(obj),
            "\"%.200s\" is not in the native file system: copy it to a file", Tcl_GetString(obj));
    return NULL;
}

int EtwNameDistance(const char *a, const char *b)
{
    enum { MAX = 128 };
    int rows[3][MAX + 1]; /* of the last three characters of a, in turn */
    int length = 0, i = 0;

    for (; b[length] != '\0' && length < MAX; length++) {
        rows[0][length] = length;
    }
    rows[0][length] = length;
    for (; a[i] != '\0' && i < MAX; i++) {
        const int *above = rows[i % 3], *swapped = rows[(i + 2) % 3];
        int *row = rows[(i + 1) % 3];
        row[0] = i + 1;
        for (int j = 0; j < length; j++) {
            int x = a[i] | 0x20, y = b[j] | 0x20;
            int least = above[j] + (x != y);
            least = above[j + 1] + 1 < least ? above[j + 1] + 1 : least;
            least = row[j] + 1 < least ? row[j] + 1 : least;
            if (i > 0 && j > 0 && x == (b[j - 1] | 0x20) && (a[i - 1] | 0x20) == y &&
                    swapped[j - 1] + 1 < least) {
                least = swapped[j - 1] + 1;
            }
            row[j + 1] = least;
        }
    }
    return rows[i % 3][length];
}

bool EtwSameFile(Tcl_Obj *a, Tcl_Obj *b)
{
    Tcl_StatBuf *x = Tcl_AllocStatBuf(), *y = Tcl_AllocStatBuf();
    bool same = Tcl_FSEqualPaths(a, b) ||
                (Tcl_FSStat(a, x) == 0 && Tcl_FSStat(b, y) == 0 && Tcl_GetFSInodeFromStat(x) != 0 &&
                        Tcl_GetFSInodeFromStat(x) == Tcl_GetFSInodeFromStat(y) &&
                        Tcl_GetFSDeviceFromStat(x) == Tcl_GetFSDeviceFromStat(y));
    Tcl_Free((void *)x);
    Tcl_Free((void *)y);
    return same;
}

/* The whole text: a decimal number, or one with 0x, 0o or 0b. */
static bool parseUint64(const char *text, uint64_t *valuePtr)
{
    int base = 10;
    char *end;

    while (isspace((unsigned char)*text)) {
        text++;
    }
    if (text[0] == '0' && text[1] != '\0') {
        int kind = tolower((unsigned char)text[1]);
        base = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 10;
        text += base == 10 ? 0 : 2;
    }
    if (!isxdigit((unsigned char)*text)) {
        return false;
    }
    errno = 0;
    *valuePtr = strtoull(text, &end, base);
    while (isspace((unsigned char)*end)) {
        end++;
    }
    return *end == '\0' && errno == 0;
}

int EtwGetUint64(Tcl_Interp *interp, Tcl_Obj *obj, uint64_t *valuePtr)
{
    int64_t wide;

    if (EtwGetInt64(obj, &wide) && wide >= 0) {
        *valuePtr = (uint64_t)wide;
        return TCL_OK;
    }
    if (parseUint64(Tcl_GetString(obj), valuePtr)) {
        return TCL_OK;
    }
    return EtwTclFail(interp, ETW_E_ARG, "NUMBER", Tcl_GetString(obj),
            "expected an unsigned 64-bit number but got \"%.100s\"", Tcl_GetString(obj));
}

Tcl_Obj *EtwUint64Obj(uint64_t value)
{
    char text[24];

    if (value <= INT64_MAX) {
        return Tcl_NewWideIntObj((Tcl_WideInt)value);
    }
    int length = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return Tcl_NewStringObj(text, length);
}

Tcl_Obj *EtwGuidObj(const EtwGuid *guid)
{
    char text[ETW_GUID_TEXT];

    EtwGuidFormat(guid, text);
    return Tcl_NewStringObj(text, ETW_GUID_TEXT - 1);
}

int EtwGetGuid(Tcl_Interp *interp, Tcl_Obj *obj, EtwGuid *guidPtr)
{
    if (EtwGuidParse(Tcl_GetString(obj), guidPtr)) {
        return TCL_OK;
    }
    return EtwTclFail(interp, ETW_E_ARG, "GUID", Tcl_GetString(obj),
            "expected a GUID such as 01234567-89ab-cdef-0123-456789abcdef but got \"%.100s\"",
            Tcl_GetString(obj));
}

int EtwGetLevel(Tcl_Interp *interp, Tcl_Obj *obj, uint8_t *levelPtr)
{
    static const char *const levels[] = {
            "always", "critical", "error", "warning", "information", "verbose", NULL};
    int value;

    if (Tcl_GetIntFromObj(NULL, obj, &value) != TCL_OK) {
        if (Tcl_GetIndexFromObjStruct(interp, obj, levels, sizeof(char *), "level", 0, &value) !=
                TCL_OK) {
            return TCL_ERROR;
        }
    } else if (value < 0 || value > 255) {
        return EtwTclFail(interp, ETW_E_ARG, "RANGE", "level",
                "level %d is out of range: must be 0 to 255", value);
    }
    *levelPtr = (uint8_t)value;
    return TCL_OK;
}

int EtwGetNumbers(Tcl_Interp *interp, Tcl_Obj *list, const char *option, int capacity,
        Tcl_WideInt max, uint32_t *numbers, int *countPtr)
{
    Tcl_Size count;
    Tcl_Obj **words;
    Tcl_WideInt value;

    if (Tcl_ListObjGetElements(interp, list, &count, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    if (count < 1 || count > capacity) {
        return EtwTclFail(interp, ETW_E_LIMIT, "COUNT", option,
                "\"%s\" takes 1 to %d numbers, not %ld", option, capacity, (long)count);
    }
    for (Tcl_Size i = 0; i < count; i++) {
        if (Tcl_GetWideIntFromObj(interp, words[i], &value) != TCL_OK) {
            return TCL_ERROR;
        }
        if (value < 0 || value > max) {
            return EtwTclFail(interp, ETW_E_ARG, "RANGE", option,
                    "value \"%s\" for \"%s\" is out of range: must be 0 to %lld",
                    Tcl_GetString(words[i]), option, (long long)max);
        }
        numbers[i] = (uint32_t)value;
    }
    *countPtr = (int)count;
    return TCL_OK;
}

const char *EtwJoinExecutables(Tcl_Obj *list, Tcl_DString *dsPtr)
{
    Tcl_Size count;
    Tcl_Obj **words;

    Tcl_ListObjGetElements(NULL, list, &count, &words);
    for (Tcl_Size i = 0; i < count; i++) {
        Tcl_DStringAppend(dsPtr, i > 0 ? ";" : "", -1);
        Tcl_DStringAppend(dsPtr, Tcl_GetString(words[i]), -1);
    }
    return Tcl_DStringValue(dsPtr);
}

static int unknownKeyword(
        Tcl_Interp *interp, Tcl_Obj *word, const char *provider, const EtwKeyword *names, int count)
{
    Tcl_DString list;
    int status;

    Tcl_DStringInit(&list);
    for (int i = 0; i < count; i++) {
        Tcl_DStringAppend(&list, i ? (i + 1 == count ? " or " : ", ") : "", -1);
        Tcl_DStringAppend(&list, names[i].name, -1);
    }
    Tcl_DStringAppend(&list, count ? ", or a number" : "a number (it declared no names)", -1);
    status = EtwTclFail(interp, ETW_E_LOOKUP, "KEYWORD", Tcl_GetString(word),
            "provider \"%s\" has no keyword \"%.100s\": must be %s", provider, Tcl_GetString(word),
            Tcl_DStringValue(&list));
    Tcl_DStringFree(&list);
    return status;
}

static int getKeyword(Tcl_Interp *interp, Tcl_Obj *word, const char *provider,
        const EtwKeyword *names, int count, uint64_t *maskPtr)
{
    uint64_t mask;

    if (EtwGetUint64(NULL, word, &mask) == TCL_OK) {
        *maskPtr |= mask;
        return TCL_OK;
    }
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i].name, Tcl_GetString(word)) == 0) {
            *maskPtr |= names[i].mask;
            return TCL_OK;
        }
    }
    return unknownKeyword(interp, word, provider, names, count);
}

int EtwGetKeywords(Tcl_Interp *interp, Tcl_Obj *obj, const char *provider, const EtwKeyword *names,
        int count, uint64_t *maskPtr)
{
    Tcl_Size wordCount;
    Tcl_Obj **words;

    *maskPtr = 0;
    if (EtwGetUint64(NULL, obj, maskPtr) == TCL_OK) {
        return TCL_OK;
    }
    if (Tcl_ListObjGetElements(interp, obj, &wordCount, &words) != TCL_OK) {
        return TCL_ERROR;
    }
    for (Tcl_Size i = 0; i < wordCount; i++) {
        if (getKeyword(interp, words[i], provider, names, count, maskPtr) != TCL_OK) {
            return TCL_ERROR;
        }
    }
    return TCL_OK;
}

const char **EtwWordsOf(Tcl_Obj *list, int *countPtr)
{
    Tcl_Size count;
    Tcl_Obj **words;

    Tcl_ListObjGetElements(NULL, list, &count, &words);
    const char **texts = EtwAlloc(sizeof *texts * ((size_t)count + 1));
    for (Tcl_Size i = 0; i < count; i++) {
        texts[i] = Tcl_GetString(words[i]);
    }
    *countPtr = (int)count;
    return texts;
}

void EtwPut(Tcl_Obj *dict, const char *key, Tcl_Obj *value)
{
    Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(key, -1), value);
}

int EtwCallPrefix(Tcl_Interp *interp, Tcl_Obj *prefix, int argc, Tcl_Obj *const argv[])
{
    Tcl_Obj *command = Tcl_DuplicateObj(prefix);

    Tcl_IncrRefCount(command);
    for (int i = 0; i < argc; i++) {
        Tcl_ListObjAppendElement(NULL, command, argv[i]);
    }
    int result = Tcl_EvalObjEx(interp, command, TCL_EVAL_GLOBAL | TCL_EVAL_DIRECT);
    Tcl_DecrRefCount(command);
    return result;
}
