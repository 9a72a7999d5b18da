/*
 * semantics/system_calls.h --
 *
 *	System calls of Linux as a person reads them: openat(AT_FDCWD, 0x7fbe074070b1, O_RDONLY|O_CLOEXEC).
 *	Texts are shown as their addresses, because the events do not contain them.
 */
#ifndef ETW_SYSTEM_CALLS_H
#define ETW_SYSTEM_CALLS_H

#include "base/text.h"
#include "semantics/semantics.h"

/*
 * Append the call of an event whose meaning is ETW_MEANS_SYSCALL_ENTER. The numbers are those of x86_64.
 * false: the parameters of the call are not known, or the event has not its six arguments; nothing was
 * appended.
 */
bool EtwSystemCallText(EtwText *out, const EtwRoleValues *event);

/*
 * Append what an event with the meaning ETW_MEANS_SYSCALL_EXIT returned: "read = 832", "access failed:
 * ENOENT (-2)". false: the event has no number or no result; nothing was appended.
 */
bool EtwSystemCallResult(EtwText *out, const EtwRoleValues *event);

/* Append the negative errno of a field with a role: " failed: EAGAIN (-11)". */
void EtwFailureText(EtwText *out, const EtwRoleValues *event, EtwRole role);

#endif
