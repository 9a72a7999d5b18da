/*
 * schema/store/event_message.c --
 *
 *	Messages of manifests, which follow FormatMessage: %1 and %1!spec! are the fields in order,
 *	%n %t %r %b line break, tab, carriage return, blank, %0 the end, %% and any other character
 *	itself. wpp_message.c formats those of WPP.
 */
#include "schema/store/event_message.h"
#include "base/unicode.h"
#include "schema/model/decode.h"
#include "schema/model/text_defs.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_INSERTS = 99, MAX_WIDTH = 256, MAX_SPEC = 16, MAX_MESSAGE = 256 << 10 };

/* The values of the top-level fields as text, concatenated. */
typedef struct Inserts {
    const EtwField *next; /* the next top-level field to begin */
    int count;            /* number of fields begun */
    int depth;
    bool over; /* the following values are ignored: too many fields */
    EtwText text;
    struct {
        size_t from, to;
        bool number; /* a single number: see value and width */
        uint64_t value;
        bool negative;
    } of[MAX_INSERTS];
} Inserts;

/* ---- Collecting ------------------------------------------------------------------------------ */

/* Begin the fields up to this one. Fields without a value are empty. */
static void beginInsert(Inserts *in, const EtwField *field)
{
    while (in->next <= field && in->count < MAX_INSERTS) {
        in->of[in->count].from = in->of[in->count].to = in->text.size;
        in->of[in->count++].number = false;
        in->next += in->next->span;
    }
    in->over = in->next <= field;
}

/* Separate values inside an array or a struct. */
static void separate(Inserts *in)
{
    if (in->text.size != in->of[in->count - 1].from) {
        EtwTextStr(&in->text, ", ");
    }
}

static void onValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    Inserts *in = ctx;
    if (in->depth == 0) {
        beginInsert(in, field);
    }
    if (in->over) {
        return;
    }
    bool number = in->depth == 0 && (value->kind == ETW_V_INT || value->kind == ETW_V_UINT) &&
                  !EtwValueIsText(field, value);
    separate(in);
    EtwFormatValue(&in->text, field, value);
    in->of[in->count - 1].to = in->text.size;
    in->of[in->count - 1].number = number;
    in->of[in->count - 1].value = value->u;
    in->of[in->count - 1].negative = value->kind == ETW_V_INT && value->i < 0;
    if (number && value->width < 8) { /* with its own width, for %1!x! */
        in->of[in->count - 1].value &= (1ull << 8 * value->width) - 1;
    }
}

static void onBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    Inserts *in = ctx;
    (void)isStruct, (void)count;
    if (in->depth == 0) {
        beginInsert(in, field);
    }
    in->depth++;
}

static void onEnd(void *ctx, const EtwField *field, bool isStruct)
{
    Inserts *in = ctx;
    (void)field, (void)isStruct;
    in->depth--;
}

/* ---- Inserting ------------------------------------------------------------------------------- */

/* FormatMessage's specification is that of printf. Sizes (l, h, I64, w) are ignored. */
typedef struct Spec {
    char flags[MAX_SPEC];
    int width, precision; /* -1: none */
    char conversion;
} Spec;

static Spec parseSpec(const char *at, const char *end)
{
    Spec s = {.width = -1, .precision = -1, .conversion = 's'};
    size_t flags = 0;
    while (at < end && strchr("-+ #0", *at) != NULL && flags < MAX_SPEC - 1) {
        s.flags[flags++] = *at++;
    }
    for (int *number = &s.width; at < end && ((*at >= '0' && *at <= '9') || *at == '.'); at++) {
        if (*at == '.') {
            number = &s.precision;
            *number = 0;
        } else {
            *number = (*number < 0 ? 0 : *number * 10) + (*at - '0');
            *number = *number < MAX_WIDTH ? *number : MAX_WIDTH;
        }
    }
    if (end > at) {
        s.conversion = end[-1];
    }
    return s;
}

static void addSpec(EtwText *out, const Inserts *in, int index, const Spec *s)
{
    char format[MAX_SPEC + 32], width[12] = "", precision[13] = "";
    const char *text = in->text.data + in->of[index].from;
    int size = (int)(in->of[index].to - in->of[index].from);
    bool number = in->of[index].number && strchr("xXo", s->conversion) != NULL;
    if (s->width >= 0) {
        snprintf(width, sizeof width, "%d", s->width);
    }
    if (s->precision >= 0) {
        snprintf(precision, sizeof precision, ".%d", s->precision);
    }
    if (number) {
        snprintf(format, sizeof format, "%%%s%s%sll%c", s->flags, width, precision, s->conversion);
        EtwTextPrintf(out, format, (unsigned long long)in->of[index].value);
        return;
    }
    bool cuts = strchr("sS", s->conversion) != NULL && s->precision >= 0 && s->precision < size;
    bool left = strchr(s->flags, '-') != NULL,
         zeros = strchr(s->flags, '0') && in->of[index].number;
    size = cuts ? s->precision : size;
    int blanks = s->width > size ? s->width - size : 0;
    for (int i = 0; i < blanks && !left; i++) {
        EtwTextChar(out, zeros && !in->of[index].negative ? '0' : ' ');
    }
    EtwTextUtf8(out, (const uint8_t *)text, (size_t)size);
    for (int i = 0; i < blanks && left; i++) {
        EtwTextChar(out, ' ');
    }
}

/* Append %1 or %1!spec!, which begins at `at`. Returns the position after it. */
static const char *addInsert(EtwText *out, const Inserts *in, const char *at)
{
    int index = *at - '0';
    const char *behind = at + 1, *close;
    if (*behind >= '0' && *behind <= '9') {
        index = index * 10 + (*behind++ - '0');
    }
    close = *behind == '!' ? strchr(behind + 1, '!') : NULL;
    if (index < 1 || index > in->count) {
        EtwTextChar(out, '%');
        EtwTextAdd(out, at, (size_t)(behind - at));
    } else {
        Spec s = {.width = -1, .precision = -1, .conversion = 's'};
        if (close != NULL) {
            s = parseSpec(behind + 1, close);
        }
        addSpec(out, in, index - 1, &s);
    }
    return close ? close + 1 : behind;
}

static void addMessage(EtwText *out, const Inserts *in, const char *at)
{
    static const char escapes[] = "n\nt\tr\rb ";
    size_t limit = out->size + MAX_MESSAGE; /* a long value may be inserted thousands of times */
    while (*at != 0 && out->size < limit) {
        if (*at != '%' || at[1] == 0) {
            EtwTextChar(out, *at++);
            continue;
        }
        const char *escape = at[1] >= 'a' ? strchr(escapes, at[1]) : NULL;
        if (at[1] == '0' && (at[2] < '0' || at[2] > '9')) {
            return;
        }
        if (at[1] >= '0' && at[1] <= '9') {
            at = addInsert(out, in, at + 1);
            continue;
        }
        EtwTextChar(out, escape ? escape[1] : at[1]);
        at += 2;
    }
}

bool EtwFormatMessage(EtwText *out, const EtwSchema *schema, const EtwEvent *event)
{
    static const EtwVisitor collect = {.value = onValue, .begin = onBegin, .end = onEnd};
    size_t from = out->size;
    if (schema->message == NULL) {
        return false;
    }
    if (schema->style == ETW_MESSAGE_WPP) {
        EtwFormatMessageWpp(out, schema, event);
        return true;
    }
    Inserts in;
    in.next = schema->fields;
    in.count = in.depth = 0;
    in.over = false;
    in.text = (EtwText){0};
    EtwTextReserve(&in.text, 1);
    EtwDecode(schema, event, &collect, &in);
    addMessage(out, &in, schema->message);
    EtwTextFree(&in.text);
    while (out->size > from && strchr(" \t\r\n", out->data[out->size - 1]) != NULL) {
        out->size--;
    }
    return true;
}
