/*
 * engine/provider/enable_callbacks.h --
 *
 *	Enable callbacks: they notify a process when the sessions' combined request for one of its
 *	providers changes, also when another process made the change.
 */
#ifndef ETW_ENABLE_CALLBACKS_H
#define ETW_ENABLE_CALLBACKS_H

#include "engine/shared/registry.h"

/* The request for this provider has changed: call this process's callback on this thread, and wake
 * the other processes that have registered it. Not under the registry's lock. */
void CallbackNotify(RegProvider *provider);
/* The operating system requests the provider's state. Not under the registry's lock. */
void CallbackCaptureState(RegProvider *provider);
/* Remove its callbacks; wait for one that runs on another thread. Not under the registry's lock. */
void CallbackRemoveProvider(const RegProvider *provider);

#endif
