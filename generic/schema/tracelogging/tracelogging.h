/*
 * schema/tracelogging/tracelogging.h --
 *
 *	Schemas from the metadata that TraceLogging events carry.
 */
#ifndef ETW_TRACELOGGING_H
#define ETW_TRACELOGGING_H

#include "schema/model/schema.h"

/*
 * A schema from item 11 of an event, in one block, which the caller frees with EtwFree. provider is "".
 * With malformed fields, the schema has the event's name and no fields. NULL: the name is malformed,
 * too. *bytesPtr: size of the block.
 */
EtwSchema *EtwTraceLoggingParse(const uint8_t *meta, size_t size, size_t *bytesPtr);
/* The provider's name in item 12. False: none. Neither NUL-terminated nor checked to be UTF-8. */
bool EtwTraitsName(const uint8_t *traits, size_t size, const uint8_t **namePtr, size_t *sizePtr);

#endif
