/*
 * schema/model/canonical_name.h --
 *
 *	One spelling for the names of events, tasks, opcodes and levels, whichever source describes them.
 *	Windows displays the message of a task or opcode ("HTTP Request Trace Task") or, without one, the name of
 *	the manifest ("win:Start"). The canonical form has no blanks and no "win:", as PerfView shows it.
 */
#ifndef ETW_CANONICAL_NAME_H
#define ETW_CANONICAL_NAME_H

#include "base/text.h"

/*
 * Append the canonical form of a name, of "TASK/OPCODE", or of a glob pattern for one. A text that
 * consists of blanks only is appended as it is.
 */
void EtwAddCanonicalName(EtwText *out, const char *name, size_t size);
/* True if the name is its own canonical form. */
bool EtwNameIsCanonical(const char *name, size_t size);

#endif
