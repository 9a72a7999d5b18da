/*
 * flow/relog/reorder_buffer.h --
 *
 *	A reorder buffer: copies of events that were moved or added, until their time is reached. Sorted by
 *	time; events of equal times keep their order.
 */
#ifndef ETW_REORDER_BUFFER_H
#define ETW_REORDER_BUFFER_H

#include "event/event.h"

typedef struct EtwReorderEvent EtwReorderEvent;

typedef struct EtwReorder { /* zeroed: empty */
    EtwReorderEvent **heap;
    size_t count, capacity;
    uint64_t added;
    EtwReorderEvent *current; /* result of EtwReorderNext: valid until the next call */
} EtwReorder;

/* The event must have a record, which is copied. */
void EtwReorderAdd(EtwReorder *reorder, const EtwEvent *event);
/* Remove the earliest event whose time is not after `until`; false: there is none. Valid until the
 * next call. */
bool EtwReorderNext(EtwReorder *reorder, int64_t until, EtwEvent *event);
void EtwReorderFree(EtwReorder *reorder);

#endif
