/*
 * schema/model/field_layout.c --
 *
 *	Data that is derived from a schema's flat list of fields: how many fields each field covers,
 *	and which numbers other fields refer to. The last step of building a schema.
 */
#include "schema/model/schema_int.h"

/*
 * Set the spans of the field at `index` and its members. Returns the index of its next sibling, -1:
 * members are missing.
 */
static int setSpan(EtwField *fields, int count, int index, int depth)
{
    if (depth > ETW_MAX_DEPTH) {
        return -1;
    }
    int next = index + 1;
    for (int member = 0; member < fields[index].members; member++) {
        next = next < count ? setSpan(fields, count, next, depth + 1) : -1;
        if (next < 0) {
            return -1;
        }
    }
    fields[index].span = (uint16_t)(next - index);
    return next;
}

/* The innermost struct around a field; -1: none. */
static int structAround(const EtwField *fields, int index)
{
    int at = index - 1;
    while (at >= 0 && at + fields[at].span <= index) {
        at--;
    }
    return at;
}

/*
 * A size or count must refer to a number before the field, in the same or an enclosing struct, so
 * that it has been read before the field.
 */
static bool markCounter(EtwField *fields, int index, uint16_t refersTo)
{
    if (refersTo >= index || fields[refersTo].in == ETW_IN_STRUCT ||
            fields[refersTo].array != ETW_SCALAR) {
        return false;
    }
    int around = structAround(fields, refersTo);
    if (around >= 0 && around + fields[around].span <= index) {
        return false;
    }
    fields[refersTo].counts = true;
    return true;
}

bool EtwFieldsFinish(EtwField *fields, int count)
{
    for (int i = 0; i < count;) {
        i = setSpan(fields, count, i, 0);
        if (i < 0) {
            return false;
        }
    }
    for (int i = 0; i < count; i++) {
        if ((fields[i].array == ETW_ARRAY_BY_FIELD && !markCounter(fields, i, fields[i].count)) ||
                (fields[i].sized == ETW_SIZE_BY_FIELD &&
                        !markCounter(fields, i, fields[i].length))) {
            return false;
        }
    }
    return true;
}
