/*
 * flow/track/track_layout.c --
 *
 *	Locates the fields that identify objects in a payload. semantics/semantics.h states
 *	which fields these are.
 */
#include "flow/track/track_layout.h"
#include "schema/model/tdh_types.h"

enum { MAX_PAYLOAD = UINT16_MAX };

/* Size of a scalar, 0: not fixed. */
static int scalarSize(const EtwField *f, int pointer)
{
    if (f->sized == ETW_SIZE_FIXED && f->in == ETW_IN_BINARY) {
        return f->length;
    }
    if (f->in == ETW_IN_SKIP) {
        return f->length ? f->length : pointer;
    }
    return EtwFixedSize(f, pointer);
}

/* Store offset and width of a field, for 4- and 8-byte pointers. */
static void place(TrackPlace *place, const EtwField *f, const int at[2])
{
    for (int wide = 0; wide < 2; wide++) {
        place->offset[wide] = at[wide];
        place->width[wide] = (uint8_t)scalarSize(f, wide ? 8 : 4);
    }
}

void EtwTrackLayoutInit(TrackLayout *layout, const EtwSchema *schema)
{
    int at[2] = {0, 0}; /* -1 after a field of variable size */
    const EtwSemantics *semantics = EtwSemanticsOf(schema);
    memset(layout, 0, sizeof *layout);
    memset(layout->places, 0xFF, sizeof layout->places);
    layout->schema = schema;
    layout->semantics = semantics;
    for (int i = 0; i < schema->fieldCount; i += schema->fields[i].span) {
        const EtwField *f = &schema->fields[i];
        int times = f->array == ETW_SCALAR ? 1 : f->array == ETW_ARRAY_FIXED ? f->count : 0;
        for (int role = TRACK_FIRST; role <= TRACK_LAST; role++) {
            if (semantics->field[role] == i) {
                place(&layout->places[role - TRACK_FIRST], f, at);
            }
        }
        for (int wide = 0; wide < 2; wide++) {
            int64_t size = (int64_t)times * scalarSize(f, wide ? 8 : 4);
            at[wide] = at[wide] < 0 || size == 0 || size > MAX_PAYLOAD - at[wide]
                               ? -1
                               : at[wide] + (int)size;
        }
    }
}
