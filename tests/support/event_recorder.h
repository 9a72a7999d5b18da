/*
 * tests/support/event_recorder.h --
 *
 *	Records the decoder's calls for an event in order, and replays them to the encoder. Values
 *	point into the event's payload. test_encode.c and fuzz_encode.c compare.
 */
#ifndef ETW_TESTS_TAPE_H
#define ETW_TESTS_TAPE_H

#include "schema/model/encode.h"

typedef enum TapeStep { TAPE_VALUE, TAPE_BEGIN, TAPE_END } TapeStep;

typedef struct TapeItem {
    TapeStep step;
    bool isStruct;
    int count; /* of an array; -1: unknown */
    const EtwField *field;
    EtwValue value;
} TapeItem;

typedef struct Tape {
    TapeItem *items;
    size_t size, capacity;
    size_t at;   /* of the next item to replay */
    size_t rest; /* bytes after the last field */
} Tape;

static inline TapeItem *TapeAdd(Tape *tape, TapeStep step, const EtwField *field)
{
    if (tape->size == tape->capacity) {
        tape->capacity = tape->capacity ? tape->capacity * 2 : 64;
        tape->items = EtwRealloc(tape->items, tape->capacity * sizeof *tape->items);
    }
    TapeItem *item = &tape->items[tape->size++];
    *item = (TapeItem){.step = step, .field = field};
    return item;
}

static inline void TapeTakeValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    TapeAdd(ctx, TAPE_VALUE, field)->value = *value;
}

static inline void TapeTakeBegin(void *ctx, const EtwField *field, bool isStruct, int count)
{
    TapeItem *item = TapeAdd(ctx, TAPE_BEGIN, field);
    item->isStruct = isStruct;
    item->count = count;
}

static inline void TapeTakeEnd(void *ctx, const EtwField *field, bool isStruct)
{
    TapeAdd(ctx, TAPE_END, field)->isStruct = isStruct;
}

static inline void TapeTakeRest(void *ctx, const uint8_t *data, size_t size)
{
    (void)data;
    ((Tape *)ctx)->rest = size;
}

static inline EtwStatus TapeRecord(Tape *tape, const EtwSchema *schema, const EtwEvent *event)
{
    static const EtwVisitor visitor = {.value = TapeTakeValue,
            .begin = TapeTakeBegin,
            .end = TapeTakeEnd,
            .rest = TapeTakeRest};
    tape->size = tape->at = tape->rest = 0;
    return EtwDecode(schema, event, &visitor, tape);
}

/* The next item if it is that step of that field; NULL: another one. */
static inline const TapeItem *TapeNext(Tape *tape, TapeStep step, const EtwField *field)
{
    const TapeItem *item = tape->at < tape->size ? &tape->items[tape->at] : NULL;
    if (item == NULL || item->step != step || item->field != field) {
        return NULL;
    }
    tape->at++;
    return item;
}

/* Number of elements of the array that has just begun. */
static inline uint32_t TapeElements(const Tape *tape)
{
    uint32_t count = 0;
    for (size_t i = tape->at, depth = 1; i < tape->size && depth > 0; i++) {
        count += depth == 1 && tape->items[i].step != TAPE_END;
        depth += tape->items[i].step == TAPE_BEGIN;
        depth -= tape->items[i].step == TAPE_END;
    }
    return count;
}

static inline EtwStatus TapeGiveValue(
        void *ctx, const EtwField *field, EtwValue *value, EtwError *errPtr)
{
    const TapeItem *item = TapeNext(ctx, TAPE_VALUE, field);
    (void)errPtr;
    if (item == NULL) {
        return ETW_END;
    }
    *value = item->value;
    return ETW_OK;
}

static inline EtwStatus TapeGiveBegin(
        void *ctx, const EtwField *field, bool isStruct, uint32_t *countPtr, EtwError *errPtr)
{
    const TapeItem *item = TapeNext(ctx, TAPE_BEGIN, field);
    (void)errPtr;
    if (item == NULL || item->isStruct != isStruct) {
        return ETW_END;
    }
    if (!isStruct) {
        *countPtr = field->array == ETW_ARRAY_REST || item->count < 0 ? TapeElements(ctx)
                                                                      : (uint32_t)item->count;
    }
    return ETW_OK;
}

static inline void TapeGiveEnd(void *ctx, const EtwField *field, bool isStruct)
{
    (void)isStruct;
    TapeNext(ctx, TAPE_END, field);
}

static const EtwFieldSource tapeGiver = {
        .value = TapeGiveValue, .begin = TapeGiveBegin, .end = TapeGiveEnd};

#endif
