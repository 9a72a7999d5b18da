/*
 * engine/provider/enable_callbacks.h --
 *
 *	Enable callbacks: a process is told when what is wanted of one of its providers changes,
 *	whichever process changed it.
 */
#ifndef ETW_ENABLE_CALLBACKS_H
#define ETW_ENABLE_CALLBACKS_H

#include "engine/shared/registry.h"

/* Something has changed for this provider: this process's callback is called, on this thread, and
 * the other processes that registered it are woken. Not under the registry's lock. */
void CallbackNotify(RegProvider *provider);
/* The operating system asks this process for the provider's state. Not under the registry's lock. */
void CallbackCaptureState(RegProvider *provider);
/* Its callbacks go; waits for one that runs on another thread. Not under the registry's lock. */
void CallbackRemoveProvider(const RegProvider *provider);
/* All callbacks go, uncalled: of a process that was forked to do something else. */
void CallbackRemoveAll(void);

#endif
