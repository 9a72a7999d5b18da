/*
 * tcl/filter/where_units.c --
 *
 *	Durations and sizes in filter expressions: $Duration > 10ms, $Size >= 64KB. Tcl's parser rejects
 *	such words, so they are replaced by numbers (nanoseconds, bytes) before it runs. The rest of the
 *	package sees ordinary expressions.
 */
#include "tcl/filter/where_int.h"
#include "predicate/quantity.h"

static bool isName(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':' || c < 0;
}

/* The end of a part that begins with `open`; a backslash protects the next character. */
static const char *skipPart(const char *at, const char *end, char open, char close)
{
    int depth = 0;

    for (; at < end; at++) {
        if (*at == '\\' && at + 1 < end) {
            at++;
        } else if (*at == close && depth > 0) {
            if (--depth == 0) {
                return at + 1;
            }
        } else if (*at == open) {
            depth++;
        }
    }
    return end;
}

/* A variable, a name, a number, a quoted or bracketed part, or one other character. */
static const char *skipToken(const char *at, const char *end)
{
    const char *start = at;

    switch (*at) {
    case '"':
        return skipPart(at, end, '"', '"');
    case '{':
        return skipPart(at, end, '{', '}');
    case '[':
        return skipPart(at, end, '[', ']');
    case '$':
        at++;
        break;
    default:
        break;
    }
    while (at < end && (isName(*at) || (*at == '.' && at > start && isName(at[-1])))) {
        at++;
    }
    if (*start == '$' && at < end && (*at == '(' || (*at == '{' && at == start + 1))) {
        return skipPart(at, end, *at, *at == '(' ? ')' : '}');
    }
    return at > start ? at : at + 1;
}

Tcl_Obj *EtwWhereUnits(Tcl_Obj *expr)
{
    Tcl_Size length;
    const char *at = Tcl_GetStringFromObj(expr, &length), *end = at + length, *copied = at;
    Tcl_Obj *result = NULL;
    EtwQuantityKind kind;
    int64_t value;

    while (at < end) {
        size_t size = EtwQuantityAt(at, (size_t)(end - at), &kind, &value);
        if (size == 0) {
            at = skipToken(at, end);
            continue;
        }
        if (result == NULL) {
            result = Tcl_NewObj();
        }
        Tcl_AppendToObj(result, copied, (Tcl_Size)(at - copied));
        Tcl_Obj *number = Tcl_NewWideIntObj(value); /* %lld has 32 bits in Tcl 8.6 on Windows */
        Tcl_IncrRefCount(number);
        Tcl_AppendObjToObj(result, number);
        Tcl_DecrRefCount(number);
        copied = at += size;
    }
    if (result == NULL) {
        return expr;
    }
    Tcl_AppendToObj(result, copied, (Tcl_Size)(end - copied));
    return result;
}
