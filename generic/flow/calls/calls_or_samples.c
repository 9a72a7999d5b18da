/*
 * flow/calls/calls_or_samples.c --
 *
 *	flow/calls/calls_or_samples.h.
 */
#include "flow/calls/calls_or_samples.h"

void EtwCallsOrSamplesInit(EtwCallsOrSamples *both, const EtwCallsConfig *calls,
        const EtwCallsConfig *samples, EtwSchemaStore *store)
{
    both->calls = calls != NULL ? EtwCallsNew(calls, store) : NULL;
    both->samples = samples != NULL ? EtwCallsNew(samples, store) : NULL;
}

void EtwCallsOrSamplesAdd(EtwCallsOrSamples *both, const EtwTrack *track, const EtwEvent *event)
{
    if (both->samples != NULL) {
        both->samples->config.track = track;
        EtwCallsAdd(both->samples, event);
    }
    if (both->calls != NULL) {
        EtwCallsAdd(both->calls, event);
        if (both->samples != NULL && both->calls->threads != NULL) {
            EtwCallsFree(both->samples);
            both->samples = NULL;
        }
    }
}

EtwCalls *EtwCallsOrSamplesEnd(EtwCallsOrSamples *both, bool *sampledPtr)
{
    *sampledPtr = both->samples != NULL && (both->calls == NULL || both->samples->calls > 0);
    EtwCalls *shown = *sampledPtr ? both->samples : both->calls;
    EtwCallsEnd(shown);
    return shown;
}

void EtwCallsOrSamplesFree(EtwCallsOrSamples *both)
{
    if (both->calls != NULL) {
        EtwCallsFree(both->calls);
    }
    if (both->samples != NULL) {
        EtwCallsFree(both->samples);
    }
}
