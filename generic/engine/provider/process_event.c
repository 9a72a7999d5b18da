/*
 * engine/provider/process_event.c --
 *
 *	Writes the event Process of Etw-Session: the name of this process, once into each session of
 *	another process that it writes to, before its first event there. The owner of a session has its
 *	name in Host.
 */
#include "base/os.h"
#include "engine/provider/provider.h"

static _Atomic(Etw_Event *) processEvent;

/* Called by RegRingMap for a new mapping. Nothing is counted as lost when there is no room. */
static void writeName(Ring *ring)
{
    Etw_Event *event = atomic_load(&processEvent);
    char name[256];
    uint8_t payload[sizeof name + 2];
    OsProgramName(name, sizeof name);
    size_t size = strlen(name);
    EtwStore16(payload, (uint16_t)size);
    memcpy(payload + 2, name, size);
    EtwRawEvent raw = {event, 0, OsPid(), OsTid(), payload, (uint16_t)(size + 2), NULL, 0};
    if (event != NULL) {
        EtwProviderWriteTo(ring, (uint32_t)OsCpu() % ring->cpus, &raw);
    }
}

void EtwProcessEventDefine(void)
{
    static _Atomic(bool) begun;
    if (atomic_exchange(&begun, true)) {
        return;
    }
    /* The event's class remains when the provider is not registered any more. */
    Etw_Provider *provider = Etw_Register(ETW_SESSION_PROVIDER, NULL);
    if (provider != NULL) {
        atomic_store(&processEvent,
                EtwDefineDeclared(provider,
                        &EtwDeclaredFind(ETW_SESSION_PROVIDER)->events[ETW_SESSION_PROCESS]));
        Etw_Unregister(provider);
    }
    atomic_store(&regOnMap, writeName);
}
