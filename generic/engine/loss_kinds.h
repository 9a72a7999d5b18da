/*
 * engine/loss_kinds.h --
 *
 *	The kinds of losses of a session (EtwLost): their names and words, and what prevents each. Listings, the
 *	dict of a session and the command-line tool use this table.
 */
#ifndef ETW_LOSS_KINDS_H
#define ETW_LOSS_KINDS_H

#include "base/text.h"
#include "engine/engine.h"

typedef enum EtwLossKind {
    ETW_LOSS_NO_BUFFER,
    ETW_LOSS_TOO_BIG,
    ETW_LOSS_FILE_FULL,
    ETW_LOSS_IO,
    ETW_LOSS_ABANDONED,
    ETW_LOSS_KERNEL,
    ETW_LOSS_CONSUMER,
    ETW_LOSS_FILE_BUFFERS, /* from here on: of the system engine only, in buffers */
    ETW_LOSS_LIVE_BUFFERS,
    ETW_LOSS_KINDS
} EtwLossKind;

typedef struct EtwLossRow {
    const char *key;   /* in the dict of a session */
    const char *words; /* the reason */
    const char *
            remedy; /* what prevents it, "" if nothing does; "@" stands for the dash of an option */
    size_t at;      /* of the count in EtwLost */
} EtwLossRow;

extern const EtwLossRow etwLossRows[ETW_LOSS_KINDS];

static inline uint64_t EtwLossCount(const EtwLost *lost, EtwLossKind kind)
{
    return *(const uint64_t *)(const void *)((const char *)lost + etwLossRows[kind].at);
}

/* Append the remedy, with options written as in Tcl (dash "-") or in the shell ("--"). */
void EtwLossAddRemedy(EtwText *out, EtwLossKind kind, const char *dash);

#endif
