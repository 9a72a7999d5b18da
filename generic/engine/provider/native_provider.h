/*
 * engine/provider/native_provider.h --
 *
 *	Registers providers of etw.h with the operating system's own tracing, so that its sessions receive
 *	their events. Implemented by win/system/system_provider.c; does nothing on unix.
 */
#ifndef ETW_NATIVE_PROVIDER_H
#define ETW_NATIVE_PROVIDER_H

#include "engine/shared/registry.h"

/*
 * This process's first registration of a provider, and its last; not under the registry's lock. In
 * between, EtwNativeWrite must be called while RegProvider.system is not zero.
 */
void EtwNativeRegister(RegProvider *provider);
void EtwNativeUnregister(RegProvider *provider);

/* An event of that class of the classic kind was defined; from then on the provider writes such events. Not under
 * the registry's lock. */
void EtwNativeDefineClassic(RegProvider *provider, const EtwGuid *eventClass);

typedef struct EtwNativeEvent {
    uint32_t eventClass;                /* RegClassAt: descriptor, traits, metadata */
    const Etw_Guid *activity, *related; /* NULL: none */
    const Etw_Data *data;
    int count;
    uint32_t size; /* of all data */
} EtwNativeEvent;
/* ETW_WRITTEN: also when no session wanted it. */
int EtwNativeWrite(const RegProvider *provider, const EtwNativeEvent *event);

#endif
