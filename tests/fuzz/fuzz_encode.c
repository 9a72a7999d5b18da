/*
 * tests/fuzz/fuzz_encode.c --
 *
 *	Random schemas and payloads: what was decoded is encoded and must decode to the same values.
 *	For libFuzzer. Fields whose meaning depends on bytes that no value shows (EtwEncode makes them
 *	zeros) are built, but their values not compared.
 */
#include "tests/support/event_recorder.h"
#include "schema/model/schema_int.h"
#include "schema/model/tcl_list.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_FIELDS = 12, FIELD_BYTES = 5 };

/* One field from a few bytes. What goes to the payload's end is the last one only. */
static EtwField fieldOf(const uint8_t *p, bool last)
{
    EtwField f = {.name = "f",
            .in = p[0] % (ETW_IN_WBEM_SID + 1),
            .out = p[1] & 63,
            .array = p[2] & 7,
            .count = p[3] & 15,
            .length = p[4] & 15,
            .members = p[0] % (ETW_IN_WBEM_SID + 1) == ETW_IN_STRUCT ? p[4] & 3 : 0,
            .sized = p[2] >> 3 & 3};
    bool sizable = f.in == ETW_IN_UTF16Z || f.in == ETW_IN_ANSIZ || f.in == ETW_IN_BINARY;
    f.array =
            f.array > ETW_ARRAY_REST || (f.array == ETW_ARRAY_REST && !last) ? ETW_SCALAR : f.array;
    f.sized = !sizable || (f.sized == ETW_SIZE_REST && !last) ? ETW_SIZE_OWN : f.sized;
    return f;
}

static void compare(const EtwSchema *schema, const EtwEvent *event, const EtwText *payload)
{
    EtwText before = {0}, after = {0};
    EtwEvent again = *event;
    again.payload = (const uint8_t *)payload->data;
    again.payloadSize = (uint32_t)payload->size;
    EtwListProps(&before, schema, event);
    EtwListProps(&after, schema, &again);
    if (before.size != after.size || memcmp(before.data, after.data, after.size) != 0) {
        fprintf(stderr, "%.*s\n%.*s\n", (int)before.size, before.data, (int)after.size, after.data);
        abort();
    }
    EtwTextFree(&before);
    EtwTextFree(&after);
}

static bool isShown(const EtwSchema *schema)
{
    for (int i = 0; i < schema->fieldCount; i++) {
        if (schema->fields[i].in == ETW_IN_WBEM_SID || schema->fields[i].in == ETW_IN_SKIP) {
            return false;
        }
    }
    return true;
}

/* The first byte: how many fields, and the size of a pointer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EtwField fields[MOST_FIELDS];
    int count = size > 0 ? data[0] % (MOST_FIELDS + 1) : 0;
    size_t head = 1 + (size_t)count * FIELD_BYTES;
    if (size < head || size > 4096) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        fields[i] = fieldOf(data + 1 + i * FIELD_BYTES, i == count - 1);
    }
    EtwSchema schema = {.provider = "p", .event = "e", .fields = fields, .fieldCount = count};
    EtwEvent event = {.pointerSize = data[0] & 128 ? 4 : 8,
            .payload = data + head,
            .payloadSize = (uint32_t)(size - head)};
    if (!EtwFieldsFinish(fields, count)) {
        return 0;
    }
    Tape tape = {0};
    EtwText out = {0};
    bool whole = TapeRecord(&tape, &schema, &event) == ETW_OK;
    EtwError error = {0};
    EtwStatus status = EtwEncode(&out, &schema, event.pointerSize, &tapeGiver, &tape, &error);
    if (whole && status != ETW_OK && status != ETW_E_LIMIT) {
        fprintf(stderr, "status %d %s: %s (field %d of type %d, out %d)\n", status, error.detail,
                error.message, (int)(tape.items[tape.at - 1].field - fields),
                tape.items[tape.at - 1].field->in, tape.items[tape.at - 1].field->out);
        abort();
    }
    EtwTextAdd(&out, data + size - tape.rest, tape.rest);
    /* a smaller payload has a smaller budget of elements without bytes */
    if (whole && status == ETW_OK && isShown(&schema) && out.size >= event.payloadSize) {
        compare(&schema, &event, &out);
    }
    EtwFree(tape.items);
    EtwTextFree(&out);
    return 0;
}
