/*
 * flow/calls/calls_or_samples.h --
 *
 *	The calls of a trace, or its sampled stacks if it has no calls: what flame graphs and the formats of
 *	profilers show. Both are collected until the first call decides.
 */
#ifndef ETW_CALLS_OR_SAMPLES_H
#define ETW_CALLS_OR_SAMPLES_H

#include "flow/calls/call_tree.h"

typedef struct
        EtwCallsOrSamples { /* either is NULL: not requested; samples also: the trace has calls */
    EtwCalls *calls, *samples;
} EtwCallsOrSamples;

/* NULL for a configuration: the trace's calls, or samples, are not requested. */
void EtwCallsOrSamplesInit(EtwCallsOrSamples *both, const EtwCallsConfig *calls,
        const EtwCallsConfig *samples, EtwSchemaStore *store);
/* track: of the source, NULL: it has none. */
void EtwCallsOrSamplesAdd(EtwCallsOrSamples *both, const EtwTrack *track, const EtwEvent *event);
/* After the last event: what is shown. *sampledPtr: these are samples. */
EtwCalls *EtwCallsOrSamplesEnd(EtwCallsOrSamples *both, bool *sampledPtr);
void EtwCallsOrSamplesFree(EtwCallsOrSamples *both);

#endif
