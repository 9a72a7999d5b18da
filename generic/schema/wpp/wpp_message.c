/*
 * schema/wpp/wpp_message.c --
 *
 *	Formats messages of WPP: a template whose arguments are %N!SPEC!, with SPEC as in printf and
 *	N from 10 on. Lower numbers are data that every message has. tmf.c parses the formats.
 */
#include "schema/model/text_defs.h"
#include "base/unicode.h"
#include "schema/model/decode.h"
#include "base/calendar.h"
#include "etl/record.h"
#include <stdio.h>

enum {
    MAX_VALUES = 256,
    MAX_WIDTH = 1024, /* maximum width of an argument, against malicious templates */
    FIRST_ARGUMENT = 10
};

typedef struct Values {
    int count;
    const EtwField *fields[MAX_VALUES];
    EtwValue values[MAX_VALUES];
} Values;

/* %[flags][width][.precision][size]conversion */
typedef struct Spec {
    bool left, plus, space, alternate, zero;
    int width;
    int precision; /* -1: not given */
    int bytes;     /* size of the number: 1, 2, 8; 0: its own */
    char conversion;
} Spec;

typedef struct Message {
    EtwText *out;
    const EtwSchema *schema;
    const EtwEvent *event;
    const Values *values;
} Message;

/* ---- Values ---------------------------------------------------------------------------------- */

static void takeValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Values *v = ctx;
    if (v->count < MAX_VALUES) {
        v->fields[v->count] = field;
        v->values[v->count++] = *value;
    }
}

static int findArgument(const Values *v, unsigned number)
{
    for (int i = 0; i < v->count; i++) {
        if (ETW_TMF_ARGUMENT(v->fields[i]->tag) == number) {
            return i;
        }
    }
    return -1;
}

/* ---- Specifications --------------------------------------------------------------------------- */

static const char *readNumber(const char *at, const char *end, int *value)
{
    *value = 0;
    while (at < end && *at >= '0' && *at <= '9') {
        *value = *value < MAX_WIDTH ? *value * 10 + (*at - '0') : MAX_WIDTH;
        at++;
    }
    *value = *value < MAX_WIDTH ? *value : MAX_WIDTH;
    return at;
}

static const char *readFlags(const char *at, const char *end, Spec *s)
{
    for (; at < end; at++) {
        switch (*at) {
        case '-':
            s->left = true;
            break;
        case '+':
            s->plus = true;
            break;
        case ' ':
            s->space = true;
            break;
        case '#':
            s->alternate = true;
            break;
        case '0':
            s->zero = true;
            break;
        default:
            return at;
        }
    }
    return at;
}

/* h, hh, l, ll, w, I, I32, I64, z, t, j */
static const char *readSize(const char *at, const char *end, Spec *s)
{
    while (at < end && strchr("hlwILqzjtF", *at) != NULL) {
        if (*at == 'h') {
            s->bytes = s->bytes == 2 ? 1 : 2;
        } else if (*at == 'I' && end - at > 2 &&
                   (memcmp(at + 1, "64", 2) == 0 || memcmp(at + 1, "32", 2) == 0)) {
            at += 2;
        }
        at++;
    }
    return at;
}

static Spec readSpec(const char *at, size_t size)
{
    Spec s = {.precision = -1, .conversion = 's'};
    const char *end = at + size;
    at = readNumber(readFlags(at, end, &s), end, &s.width);
    if (at < end && *at == '.') {
        at = readNumber(at + 1, end, &s.precision);
    }
    at = readSize(at, end, &s);
    if (at < end) {
        s.conversion = *at;
    }
    return s;
}

/* ---- One value -------------------------------------------------------------------------------- */

/* Append text with precision and width, which count characters. */
static void addText(EtwText *out, const Spec *s, const char *text, size_t size)
{
    if (s->precision >= 0) {
        size_t kept = 0;
        for (int n = 0; kept < size; kept++) {
            n += ((uint8_t)text[kept] & 0xC0) != 0x80;
            if (n > s->precision) {
                break;
            }
        }
        size = kept;
    }
    int fill = s->width - (int)EtwUtf8Length(text, size);
    for (int i = 0; i < fill && !s->left; i++) {
        EtwTextChar(out, ' ');
    }
    EtwTextAdd(out, text, size);
    for (int i = 0; i < fill && s->left; i++) {
        EtwTextChar(out, ' ');
    }
}

/* "0x00000001(NAME)" and "[NAME,NAME]". */
static void addNamed(EtwText *out, const EtwField *f, const EtwValue *v, EtwTmfKind kind)
{
    const char *separator = "";
    EtwTextPrintf(out, kind == ETW_TMF_LIST ? "0x%08llx" : "[", (unsigned long long)v->u);
    for (int i = 0; f->map != NULL && i < f->map->count; i++) {
        const EtwMapEntry *e = &f->map->entries[i];
        if (kind == ETW_TMF_LIST && e->value == v->u) {
            EtwTextPrintf(out, "(%s)", e->name);
            return;
        }
        if (kind == ETW_TMF_SET && (e->value & v->u) != 0) {
            EtwTextPrintf(out, "%s%s", separator, e->name);
            separator = ",";
        }
    }
    EtwTextStr(out, kind == ETW_TMF_SET ? "]" : "");
}

static void addMac(EtwText *out, const EtwValue *v)
{
    for (size_t i = 0; i < v->size; i++) {
        EtwTextStr(out, i != 0 ? "-" : "");
        EtwTextHex(out, v->data[i], 2);
    }
}

/* Append the value of any kind as text. */
static void addPlain(EtwText *out, const EtwField *f, const EtwValue *v)
{
    EtwTmfKind kind = ETW_TMF_KIND(f->tag);
    size_t from = out->size;
    bool number = v->kind == ETW_V_INT || v->kind == ETW_V_UINT;
    if (number && (kind == ETW_TMF_LIST || kind == ETW_TMF_SET)) {
        addNamed(out, f, v, kind);
    } else if (kind == ETW_TMF_MAC && v->kind == ETW_V_BYTES) {
        addMac(out, v);
    } else {
        EtwFormatValue(out, f, v);
    }
    for (size_t i = from; kind == ETW_TMF_ONE_LINE && i < out->size; i++) {
        out->data[i] = strchr("\t\r\n", out->data[i]) && out->data[i] ? ' ' : out->data[i];
    }
    while (kind == ETW_TMF_ONE_LINE && out->size > from && out->data[out->size - 1] == ' ') {
        out->size--;
    }
}

static bool isNumber(const EtwValue *v)
{
    return v->kind == ETW_V_INT || v->kind == ETW_V_UINT || v->kind == ETW_V_BOOL ||
           v->kind == ETW_V_FILETIME;
}

/* Truncate to the size of the specification or the field, then sign-extend. */
static uint64_t numberOf(const EtwValue *v, const Spec *s, bool isSigned)
{
    int bytes = s->bytes != 0 ? s->bytes : v->width != 0 ? v->width : 8;
    if (bytes >= 8) {
        return v->u;
    }
    int shift = 64 - 8 * bytes;
    return isSigned ? (uint64_t)((int64_t)(v->u << shift) >> shift) : v->u << shift >> shift;
}

static void addNumber(EtwText *out, const Spec *s, uint64_t u)
{
    char format[24], digits[MAX_WIDTH + 32];
    int n = snprintf(format, sizeof format, "%%%s%s%s%s%s*", s->left ? "-" : "", s->plus ? "+" : "",
            s->space ? " " : "", s->alternate ? "#" : "", s->zero ? "0" : "");
    snprintf(format + n, sizeof format - (size_t)n, s->precision >= 0 ? ".*ll%c" : "ll%c",
            s->conversion);
    int precision = s->precision < MAX_WIDTH ? s->precision : MAX_WIDTH;
    /* The format was built above from known parts only. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int size = s->precision >= 0
                       ? snprintf(digits, sizeof digits, format, s->width, precision, (long long)u)
                       : snprintf(digits, sizeof digits, format, s->width, (long long)u);
#pragma GCC diagnostic pop
    EtwTextAdd(out, digits, size < (int)sizeof digits ? (size_t)size : sizeof digits - 1);
}

/* Upper case, all digits, without 0x. */
static void addPointer(EtwText *out, const Spec *s, uint64_t u, int bytes)
{
    Spec hex = *s;
    hex.conversion = 'X';
    hex.precision = 2 * bytes;
    hex.alternate = hex.plus = hex.space = false;
    addNumber(out, &hex, u);
}

static void addReal(EtwText *out, const Spec *s, double d)
{
    char format[24], digits[MAX_WIDTH + 400];
    int precision = s->precision < 0 ? 6 : s->precision < 60 ? s->precision : 60;
    snprintf(format, sizeof format, "%%%s%s%s%s%s*.*%c", s->left ? "-" : "", s->plus ? "+" : "",
            s->space ? " " : "", s->alternate ? "#" : "", s->zero ? "0" : "", s->conversion);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int size = snprintf(digits, sizeof digits, format, s->width, precision, d);
#pragma GCC diagnostic pop
    EtwTextAdd(out, digits, size < (int)sizeof digits ? (size_t)size : sizeof digits - 1);
}

static void addCharacter(EtwText *out, const Spec *s, uint64_t u)
{
    uint8_t utf16[2];
    EtwText text = {0};
    EtwStore16(utf16, (uint16_t)u);
    EtwTextUtf16(&text, utf16, u != 0);
    addText(out, s, text.data ? text.data : "", text.size);
    EtwTextFree(&text);
}

static void addValue(const Message *m, const Spec *s, const EtwField *f, const EtwValue *v)
{
    EtwText text = {0};
    if (isNumber(v) && strchr("diuxXo", s->conversion) != NULL) {
        bool isSigned = s->conversion == 'd' || s->conversion == 'i';
        addNumber(m->out, s, numberOf(v, s, isSigned));
    } else if (isNumber(v) && (s->conversion == 'p' || s->conversion == 'P')) {
        int bytes = f->in == ETW_IN_POINTER || v->width == 0 ? m->event->pointerSize : v->width;
        addPointer(m->out, s, numberOf(v, s, false), bytes == 4 ? 4 : 8);
    } else if (isNumber(v) && (s->conversion == 'c' || s->conversion == 'C')) {
        addCharacter(m->out, s, numberOf(v, s, false));
    } else if (v->kind == ETW_V_DOUBLE && strchr("eEfFgGaA", s->conversion) != NULL) {
        addReal(m->out, s, v->d);
    } else {
        addPlain(&text, f, v);
        addText(m->out, s, text.data ? text.data : "", text.size);
        EtwTextFree(&text);
    }
}

/* ---- Standard arguments ----------------------------------------------------------------------- */

static const EtwEventDef *definitionOf(const EtwSchema *schema)
{
    return schema->def == NULL ? NULL : EtwEventDefOf(schema);
}

uint8_t EtwMessageLevel(const EtwSchema *schema)
{
    const EtwEventDef *def = schema->style == ETW_MESSAGE_WPP ? definitionOf(schema) : NULL;
    return def ? def->desc.level : 0;
}

static void addStandard(const Message *m, unsigned number, const Spec *s)
{
    const EtwEventDef *def = definitionOf(m->schema);
    EtlMessage record = {0};
    EtwText text = {0};
    Spec plain = *s;
    switch (number) {
    case 1:
        EtwTextStr(&text, m->schema->provider);
        break;
    case 2:
        EtwTextStr(&text, def && def->symbol ? def->symbol : m->schema->event);
        break;
    case 4:
        EtwTextFiletime(&text, (uint64_t)EtwFiletimeOfNs(m->event->time));
        break;
    case 7:
        EtlRecordMessage(m->event, &record);
        EtwTextDecimal(&text, record.sequence);
        break;
    default:
        if (strchr("diuxXo", s->conversion) == NULL) {
            plain.conversion = 'u';
        }
        addNumber(m->out, &plain,
                number == 3   ? m->event->tid
                : number == 5 ? m->event->kernelTime
                : number == 6 ? m->event->userTime
                : number == 8 ? m->event->pid
                              : m->event->cpu);
        return;
    }
    addText(m->out, s, text.data ? text.data : "", text.size);
    EtwTextFree(&text);
}

static const char *levelName(const Message *m)
{
    const EtwEventDef *def = definitionOf(m->schema);
    const char *name =
            def ? EtwDefNameOf(m->schema->def, ETW_NAME_LEVEL, def->desc.level, 0) : NULL;
    return name ? name : "";
}

/* A name in %!NAME! that the preprocessor has not replaced. */
static void addName(const Message *m, const char *name, size_t size)
{
    static const struct {
        const char *name;
        int what;
    } names[] = {{"FUNC", 1}, {"LEVEL", 2}, {"FLAGS", 3}, {"FLAG", 3}, {"COMPNAME", 4}, {"MOD", 4},
            {"SPACE", 5}, {"STDPREFIX", 0}, {"SUBCOMP", 0}, {"KEYWORD", 3}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i].name) == size && memcmp(names[i].name, name, size) == 0) {
            const char *task = m->schema->task ? m->schema->task : "";
            const char *function = m->schema->opcode ? m->schema->opcode : "";
            const char *const texts[] = {
                    "", function, levelName(m), task, m->schema->provider, " "};
            EtwTextStr(m->out, texts[names[i].what]);
            return;
        }
    }
    EtwTextStr(m->out, "%!");
    EtwTextAdd(m->out, name, size);
    EtwTextChar(m->out, '!');
}

/* ---- The template ----------------------------------------------------------------------------- */

static void addArgument(const Message *m, unsigned number, const Spec *s)
{
    if (number == 0) {
        return; /* the position of the tool's prefix */
    }
    if (number < FIRST_ARGUMENT) {
        addStandard(m, number, s);
        return;
    }
    int i = findArgument(m->values, number);
    if (i < 0) {
        EtwTextStr(m->out, "<missing>");
    } else {
        addValue(m, s, m->values->fields[i], &m->values->values[i]);
    }
}

/*
 * Process a percent sign; returns the position after it. Numbers have at most two digits, except
 * %100 and higher.
 */
static const char *addPart(const Message *m, const char *at)
{
    const char *start = ++at;
    unsigned number = 0;
    if (*at == '!') {
        const char *end = strchr(at + 1, '!');
        if (end != NULL) {
            addName(m, at + 1, (size_t)(end - at - 1));
            return end + 1;
        }
    }
    if (*at == '0') { /* only one digit: the following characters are text */
        return at + 1;
    }
    while (*at >= '0' && *at <= '9' && at - start < 4) {
        number = number * 10 + (unsigned)(*at++ - '0');
    }
    if (at == start) {
        EtwTextChar(m->out, '%');
        return *at == '%' ? at + 1 : at;
    }
    const char *end = *at == '!' ? strchr(at + 1, '!') : NULL;
    Spec spec = readSpec(at + 1, end ? (size_t)(end - at - 1) : 0);
    addArgument(m, number, &spec);
    return end ? end + 1 : at;
}

void EtwFormatMessageWpp(EtwText *out, const EtwSchema *schema, const EtwEvent *event)
{
    static const EtwVisitor visitor = {.value = takeValue};
    Values values;
    Message m = {out, schema, event, &values};
    size_t from = out->size;
    values.count = 0;
    EtwDecode(schema, event, &visitor, &values);
    for (const char *at = schema->message ? schema->message : ""; *at != 0;) {
        if (*at == '%') {
            at = addPart(&m, at);
        } else {
            EtwTextChar(out, *at++);
        }
    }
    while (out->size > from && strchr(" \r\n", out->data[out->size - 1]) != NULL) {
        out->size--;
    }
}
