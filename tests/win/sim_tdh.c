/*
 * tests/win/sim_tdh.c --
 *
 *	What tdh.h gives: no schemas yet, and payload filters that let everything pass.
 */
#include "tests/win/sim.h"
void SimTdhReset(void)
{
}
bool SimPayloadPasses(const uint8_t *filter, ULONG size, const GUID *provider,
        const EVENT_DESCRIPTOR *event, const uint8_t *payload, ULONG payloadSize)
{
    (void)filter;
    (void)size;
    (void)provider;
    (void)event;
    (void)payload;
    (void)payloadSize;
    return true;
}
