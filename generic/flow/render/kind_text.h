/*
 * flow/render/kind_text.h --
 *
 *	Text that is the same for all events of a kind, such as the name of the provider and the number of the
 *	event: made for the first one, then copied. A small table, because few kinds of events alternate.
 */
#ifndef ETW_KIND_TEXT_H
#define ETW_KIND_TEXT_H

#include "base/text.h"
#include "event/event.h"
#include "schema/model/schema.h"

enum { ETW_KIND_TEXTS = 32 /* a power of 2 */, ETW_KIND_PARTS = 2 };

typedef struct EtwKindText {
    const EtwSchema *schema;
    const char *provider; /* its name, if it is one of the schema store's, otherwise NULL */
    EtwDescriptor desc;
    EtwGuid guid;
    bool used;
    EtwText parts[ETW_KIND_PARTS]; /* what the format makes; empty for a new kind */
} EtwKindText;

typedef struct EtwKindTexts {
    EtwKindText kinds[ETW_KIND_TEXTS];
} EtwKindTexts;

/* The texts of the event's kind. name: the provider's; guid: the caller's memory, which name may be. */
EtwKindText *EtwKindTextOf(EtwKindTexts *texts, const EtwEvent *event, const EtwSchema *schema,
        const char *name, const char *guid);
void EtwKindTextsFree(EtwKindTexts *texts); /* also *texts */

#endif
