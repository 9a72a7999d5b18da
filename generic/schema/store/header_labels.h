/*
 * schema/store/header_labels.h --
 *
 *	Names of the numbers in an event's header, for columns and fields of listings.
 */
#ifndef ETW_HEADER_LABELS_H
#define ETW_HEADER_LABELS_H

#include "schema/model/provider_def.h"

/*
 * Name of the event's level, channel, task or opcode; NULL: none. As in TDH, the task of an event
 * that describes itself is its name, that of a classic event its class. schema may be NULL.
 */
const char *EtwEventLabel(const EtwSchema *schema, const EtwEvent *event, EtwNameKind kind);
/* True if `test` returns true for the name of one of the event's keywords; the following ones are not tried. */
bool EtwEventHasKeyword(
        const EtwSchema *schema, const EtwEvent *event, EtwNameTest *test, void *ctx);
/* Append the names of the event's keywords, as a list. */
void EtwEventKeywords(EtwText *out, const EtwSchema *schema, const EtwEvent *event);
/* Append the event's name, without a name "id 7", of a classic event "opcode 7". schema may be NULL. */
void EtwAddEventName(EtwText *out, const EtwSchema *schema, const EtwEvent *event);
/* Append a label, or the number if there is none. */
void EtwAddLabel(EtwText *out, const EtwSchema *schema, const EtwEvent *event, EtwNameKind kind);

#endif
