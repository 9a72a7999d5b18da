/*
 * flow/track/stack_matcher.h --
 *
 *	Stacks that a trace tells in records of their own (class StackWalk), brought back to the events
 *	that they belong to: a second reader runs a little ahead of the first and keeps what it meets
 *	until the event comes by. Bounded: what is too far behind its event is lost to it.
 */
#ifndef ETW_STACK_MATCHER_H
#define ETW_STACK_MATCHER_H

#include "flow/source/source.h"

typedef struct EtwStacks EtwStacks;

/* NULL: the source cannot be read a second time. */
EtwStacks *EtwStacksNew(const EtwSource *source);
/* Learn from all records of the class first, what the keys mean that others refer to: by reading them
 * here, or, where somebody reads them anyway, one by one. */
void EtwStacksReadKeys(EtwStacks *stacks, const EtwSource *source);
void EtwStacksAddKey(EtwStacks *stacks, const EtwEvent *event);
extern const EtwGuid etwStackWalk; /* the class */
void EtwStacksFree(EtwStacks *stacks);
/* Give the event its stack, kernel part first, if one was told; valid until the next call. Events in
 * order, with their tid (flow/track/name_tracker.h). */
void EtwStacksAttach(EtwStacks *stacks, EtwEvent *event);
/* Whether the event is a record that was brought to where it belongs, or that only served for
 * that. */
bool EtwStacksUsed(const EtwStacks *stacks, const EtwEvent *event);

#endif
