/*
 * event/event_fields.h --
 *
 *	The names of an event's values that are not fields of its payload: F(ID, "name") for each. Dicts of
 *	events, filters, and columns of listings, csv and summaries take their names from these lists.
 */
#ifndef ETW_EVENT_FIELDS_H
#define ETW_EVENT_FIELDS_H

/* clang-format off */

/* Scalars that all events have. */
#define ETW_FIELDS_HEADER(F) \
    F(TIME, "time") F(PROVIDER, "provider") F(EVENT, "event") F(ID, "id") F(VERSION, "version") F(CHANNEL, "channel") \
    F(LEVEL, "level") F(OPCODE, "opcode") F(TASK, "task") F(KEYWORD, "keyword") F(PID, "pid") F(TID, "tid") F(CPU, "cpu") \
    F(ACTIVITY, "activity") F(RELATED, "related") F(PROCESS, "process") F(OBJECT, "object") F(SESSION, "session")
/* Parts of an event that cannot be compared with a constant. */
#define ETW_FIELDS_PARTS(F) \
    F(PROPS, "props") F(STACK, "stack") F(FRAMES, "frames") F(COUNTERS, "counters") F(ERROR, "error") F(RAW, "raw") F(LATE, "late")
#define ETW_FIELDS_MESSAGE(F) F(MESSAGE, "message")
/* Derived texts: names of the header's numbers, the provider's GUID, the payload in TDH's format, the message's template. */
#define ETW_FIELDS_TEXTS(F) \
    F(LEVEL_NAME, "name(level)") F(CHANNEL_NAME, "name(channel)") F(TASK_NAME, "name(task)") F(OPCODE_NAME, "name(opcode)") \
    F(KEYWORD_NAMES, "name(keyword)") F(PROVIDER_GUID, "guid(provider)") F(TDH_PROPS, "tdh(props)") F(TEMPLATE, "template(message)")
/* Durations in nanoseconds. */
#define ETW_FIELDS_TIMES(F) F(KERNEL_TIME, "time(kernel)") F(USER_TIME, "time(user)") F(ELAPSED, "time(elapsed)")
/* Of columns only: the message, or else the payload in TDH's format. */
#define ETW_FIELDS_COLUMN(F) F(MESSAGE_OR_PROPS, "message(props)")

/* clang-format on */

#define ETW_FIELD_NAME(id, name) name,

#endif
