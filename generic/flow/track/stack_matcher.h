/*
 * flow/track/stack_matcher.h --
 *
 *	Attaches stacks in separate records (class StackWalk) to the events that they belong to. A second
 *	reader runs slightly ahead of the first and keeps stacks until their event is delivered. Its memory
 *	is bounded: a stack that is too far after its event is not attached.
 */
#ifndef ETW_STACK_MATCHER_H
#define ETW_STACK_MATCHER_H

#include "flow/source/source.h"

typedef struct EtwStacks EtwStacks;

/* NULL: the source cannot be read a second time. */
EtwStacks *EtwStacksNew(const EtwSource *source);
/*
 * Collect the stacks of the keys in other records, before those records are matched.
 * EtwStacksReadKeys reads all records of the class. A caller that reads them anyway passes each one
 * to EtwStacksAddKey.
 */
void EtwStacksReadKeys(EtwStacks *stacks, const EtwSource *source);
void EtwStacksAddKey(EtwStacks *stacks, const EtwEvent *event);
extern const EtwGuid etwStackWalk; /* the class */
void EtwStacksFree(EtwStacks *stacks);
/* Attach the event's stack, if there is one, kernel part first; valid until the next call. Events are
 * passed in order, with their tid (flow/track/name_tracker.h). */
void EtwStacksAttach(EtwStacks *stacks, EtwEvent *event);
/* True if the event is a stack record that was attached, or an auxiliary record. */
bool EtwStacksUsed(const EtwStacks *stacks, const EtwEvent *event);

#endif
