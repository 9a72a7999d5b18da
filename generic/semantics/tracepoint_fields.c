/*
 * semantics/tracepoint_fields.c --
 *
 *	Fields of tracepoints (semantics/tracepoint_fields.h). The format of the text is described in the
 *	kernel's Documentation/trace/events.rst.
 */
#include "semantics/tracepoint_fields.h"
#include <stdlib.h>

/* ---- Fields of events ------------------------------------------------------------------------ */

static bool isOneOf(const char *name, const char *const *names)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

static uint8_t numberType(uint32_t size, bool isSigned)
{
    switch (size) {
    case 1:
        return isSigned ? ETW_IN_INT8 : ETW_IN_UINT8;
    case 2:
        return isSigned ? ETW_IN_INT16 : ETW_IN_UINT16;
    case 4:
        return isSigned ? ETW_IN_INT32 : ETW_IN_UINT32;
    case 8:
        return isSigned ? ETW_IN_INT64 : ETW_IN_UINT64;
    default:
        return ETW_IN_NULL;
    }
}

/* True if a u8 array is an address. All network tracepoints use these names. */
static bool asAddress(const EtwTracepointField *f, Etw_Field *field, EtwTracepointPart *part)
{
    static const char *const names4[] = {"saddr", "daddr", "src", "dst", "gw4", NULL};
    static const char *const names6[] = {
            "saddr_v6", "daddr_v6", "saddr", "daddr", "src", "dst", "gw6", "gw", NULL};
    if (f->size == 4 && isOneOf(f->name, names4)) {
        field->in = ETW_IN_UINT32;
        field->out = ETW_OUT_IPV4;
        part->copy = ETW_COPY_PLAIN;
        return true;
    }
    if (f->size == 16 && isOneOf(f->name, names6)) {
        field->in = ETW_IN_BINARY;
        field->out = ETW_OUT_IPV6;
        part->copy = ETW_COPY_BYTES;
        return true;
    }
    return false;
}

static void asArray(const EtwTracepointField *f, Etw_Field *field, EtwTracepointPart *part)
{
    uint32_t size = f->elementSize;
    uint8_t in = numberType(size, f->isSigned);
    uint32_t count = size ? f->size / size : 0;
    if (size == 1 && asAddress(f, field, part)) {
        return;
    }
    if (size > 1 && in != ETW_IN_NULL && count > 0 && count * size == f->size) {
        field->in = f->isUlong && size == 8 ? ETW_IN_HEX64 : in;
        field->array = ETW_ARRAY_FIXED;
        field->count = (uint16_t)count;
        part->copy = ETW_COPY_PLAIN;
        return;
    }
    field->in = ETW_IN_BINARY;
    part->copy = ETW_COPY_BYTES;
}

void EtwTracepointDescribe(const EtwTracepointField *f, Etw_Field *field, EtwTracepointPart *part)
{
    *field = (Etw_Field){.name = f->name};
    *part = (EtwTracepointPart){.isDynamic = f->isDynamic,
            .isRelative = f->isRelative,
            .offset = (uint16_t)f->offset,
            .size = (uint16_t)f->size};
    if (f->isText) {
        field->in = ETW_IN_COUNTED_ANSI;
        field->out = ETW_OUT_UTF8;
        part->copy = ETW_COPY_TEXT;
    } else if (f->isDynamic) {
        field->in = ETW_IN_BINARY;
        part->copy = ETW_COPY_BYTES;
    } else if (f->isArray) {
        asArray(f, field, part);
    } else {
        part->copy = ETW_COPY_PLAIN;
        field->in = f->isPointer && f->size == 8 ? ETW_IN_HEX64 : numberType(f->size, f->isSigned);
        if (field->in == ETW_IN_NULL) {
            field->in = ETW_IN_BINARY;
            part->copy = ETW_COPY_BYTES;
        }
    }
}

EtwBytes EtwTracepointDynamic(
        uint16_t at, bool relative, const uint8_t *record, uint32_t recordSize)
{
    uint32_t where = EtwLoad32(record + at);
    uint32_t offset = (where & 0xffff) + (relative ? at + 4u : 0u);
    uint32_t length = where >> 16;
    return offset > recordSize || length > recordSize - offset
                   ? EtwBytesOf(record, 0)
                   : EtwBytesOf(record + offset, length);
}

static uint8_t *putCounted(
        bool text, const uint8_t *data, size_t size, uint8_t *at, const uint8_t *end)
{
    size_t capacity = end - at > 2 ? (size_t)(end - at) - 2 : 0;
    const uint8_t *nul = text && size != 0 ? memchr(data, 0, size) : NULL;
    size = nul != NULL ? (size_t)(nul - data) : size;
    size = size > capacity ? capacity : size;
    EtwStore16(at, (uint16_t)size);
    memcpy(at + 2, data, size);
    return at + 2 + size;
}

uint8_t *EtwTracepointCopyPart(const EtwTracepointPart *part, const uint8_t *record,
        uint32_t recordSize, uint8_t *at, const uint8_t *end)
{
    EtwBytes bytes = EtwBytesOf(record + part->offset, part->size);
    if (part->copy == ETW_COPY_PLAIN) {
        EtwCopyShort(at, bytes.at, part->size);
        return at + part->size;
    }
    if (part->isDynamic) {
        bytes = part->size == 4
                        ? EtwTracepointDynamic(part->offset, part->isRelative, record, recordSize)
                        : EtwBytesOf(record, 0);
    }
    return putCounted(part->copy == ETW_COPY_TEXT, bytes.at, EtwBytesLeft(&bytes), at, end);
}

/* ---- The kernel's text ----------------------------------------------------------------------- */

/* The number after "NAME:" in the rest of a line. */
static bool numberAfter(const char *line, const char *name, uint32_t *valuePtr)
{
    const char *found = strstr(line, name);
    char *end;
    if (found == NULL) {
        return false;
    }
    unsigned long value = strtoul(found + strlen(name), &end, 10);
    *valuePtr = (uint32_t)value;
    return end != found + strlen(name) && value <= ETW_TRACEPOINT_MAX;
}

/* The size of an element, from the words of its type when the number of elements is not known. */
static uint32_t elementSize(const char *type, uint32_t size, unsigned long elements)
{
    static const struct {
        const char *word;
        uint32_t size;
    } sizes[] = {{"char", 1}, {"u8", 1}, {"s8", 1}, {"short", 2}, {"u16", 2}, {"s16", 2},
            {"long", 8}, {"64", 8}, {"int", 4}, {"32", 4}};
    if (elements != 0 && size % elements == 0) {
        return size / (uint32_t)elements;
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (strstr(type, sizes[i].word) != NULL) {
            return sizes[i].size;
        }
    }
    return size;
}

static bool isNameChar(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* A declaration in C, such as "__data_loc char[] name" or "unsigned long args[6]". */
static bool parseDeclaration(EtwTracepointField *f, char *text)
{
    char *end = text + strlen(text), *bracket = NULL;
    unsigned long elements = 0;
    while (end > text && end[-1] == ' ') {
        *--end = 0;
    }
    if (end > text && end[-1] == ']') {
        bracket = strrchr(text, '[');
        if (bracket == NULL) {
            return false;
        }
        elements = strtoul(bracket + 1, NULL, 10);
        *bracket = 0;
        end = bracket;
        while (end > text && end[-1] == ' ') {
            *--end = 0;
        }
    }
    char *name = end;
    while (name > text && isNameChar(name[-1])) {
        name--;
    }
    if (name == end || name == text) {
        return false;
    }
    f->name = name;
    char saved = name[-1];
    name[-1] = 0; /* the type is what precedes the name */
    f->isDynamic = strstr(text, "__data_loc") != NULL || strstr(text, "__rel_loc") != NULL;
    f->isRelative = strstr(text, "__rel_loc") != NULL;
    f->isArray = bracket != NULL || f->isDynamic;
    f->isPointer = saved == '*' || strchr(text, '*') != NULL;
    f->isText = f->isArray && strstr(text, "char") != NULL && strstr(text, "unsigned") == NULL;
    f->isUlong = strstr(text, "long") != NULL && !f->isSigned;
    f->elementSize = elementSize(text, f->size, elements);
    return true;
}

/* "field:TYPE NAME; offset:N; size:N; signed:N;" False: not such a line. */
static bool parseField(EtwTracepointField *f, char *line)
{
    uint32_t isSigned = 0;
    char *semicolon = strchr(line, ';');
    *f = (EtwTracepointField){0};
    if (semicolon == NULL || !numberAfter(semicolon, "offset:", &f->offset) ||
            !numberAfter(semicolon, "size:", &f->size) || f->size == 0 ||
            f->offset + f->size > ETW_TRACEPOINT_MAX) {
        return false; /* also a dynamic array without an offset */
    }
    numberAfter(semicolon, "signed:", &isSigned);
    f->isSigned = isSigned != 0;
    *semicolon = 0;
    return parseDeclaration(f, line);
}

static char *skipBlanks(char *p)
{
    while (*p == ' ' || *p == '\t') {
        p++;
    }
    return p;
}

bool EtwTracepointFormatParse(EtwTracepointFormat *format, char *text)
{
    bool hasId = false;
    format->name = NULL;
    format->count = 0;
    for (char *line = text, *next; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) {
            *next++ = 0;
        }
        line = skipBlanks(line);
        if (strncmp(line, "name:", 5) == 0) {
            format->name = skipBlanks(line + 5);
        } else if (strncmp(line, "ID:", 3) == 0) {
            hasId = numberAfter(line, "ID:", &format->id);
        } else if (strncmp(line, "print fmt:", 10) == 0) {
            break;
        } else if (strncmp(line, "field:", 6) == 0 && format->count < ETW_TRACEPOINT_FIELDS &&
                   parseField(&format->fields[format->count], line + 6) &&
                   strncmp(format->fields[format->count].name, "common_", 7) != 0) {
            format->count++;
        }
    }
    return hasId && format->name != NULL && format->name[0] != 0;
}
