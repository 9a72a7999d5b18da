/*
 * schema/store/event_message.h --
 *
 *	Formats an event's message: the sentence that its provider defines, with values inserted.
 */
#ifndef ETW_EVENT_MESSAGE_H
#define ETW_EVENT_MESSAGE_H

#include "schema/model/schema.h"

/*
 * Append the event's message. False: it has none. Marks (%3) of values that are not in the payload
 * are kept. Trailing line breaks and blanks are removed. Decodes the event.
 */
bool EtwFormatMessage(EtwText *out, const EtwSchema *schema, const EtwEvent *event);

#endif
