/*
 * schema/store/event_message.h --
 *
 *	An event as the sentence that its provider wrote for it, values inserted.
 */
#ifndef ETW_EVENT_MESSAGE_H
#define ETW_EVENT_MESSAGE_H

#include "schema/model/schema.h"

/*
 * Append the event's message; false: it has none. Values that the payload does not have leave their
 * mark (%3). Line breaks and blanks at the end are dropped, those inside stay. Costs a decoding.
 */
bool EtwFormatMessage(EtwText *out, const EtwSchema *schema, const EtwEvent *event);

#endif
