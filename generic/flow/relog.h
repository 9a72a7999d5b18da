/*
 * flow/relog.h --
 *
 *	Events of a source as a new .etl file: which input's header stands model, what is left of the
 *	inputs' header buffers, losses and ends summed up. Writes nothing itself: bytes gather in a text
 *	that the caller empties. Which events are to be kept is the caller's business.
 */
#ifndef ETW_FLOW_RELOG_H
#define ETW_FLOW_RELOG_H

#include "etl/output.h"
#include "flow/redact.h"
#include "flow/rename.h"
#include "flow/source.h"

typedef struct EtwRelog {
    const EtwSource *source; /* borrowed */
    /* Of the events, not of those that describe others; borrowed, or NULL: */
    const EtlEdit *edit;
    EtwRedact *redact;
    EtwRename *rename;
    EtlRemake remake;
    EtlOutput *output;
    EtwText *to;
    uint64_t events, headers; /* written; records of header buffers, which are not written again */
    uint64_t tooBig;
    uint64_t unknown; /* left out: nobody knows what was to be blotted out of them */
} EtwRelog;

/* ETW_E_ARG: the source has no file. The header of the input that began first stands model. */
EtwStatus EtwRelogOpen(
        EtwRelog *relog, const EtwSource *source, bool compressed, EtwText *to, EtwError *errPtr);
/* Is the event a record of an input's header buffer? Such ones are not to be added. */
bool EtwRelogIsHeader(const EtwRelog *relog, const EtwEvent *event);
void EtwRelogAdd(EtwRelog *relog, const EtwEvent *event);
/* Append the rest; *header: what belongs at the start of the output. */
void EtwRelogEnd(EtwRelog *relog, EtwText *header);
void EtwRelogClose(EtwRelog *relog); /* of one that was zeroed, too */
/* The inputs' clocks are not the same: records were aligned by wall clock. A sentence, or false. */
bool EtwRelogAligned(const EtwRelog *relog, EtwText *out);
/* Records that could not be edited; the same. */
bool EtwRelogUnset(const EtwRelog *relog, EtwText *out);
/* Events that were left out because their payload could not be looked at; the same. */
bool EtwRelogUnknown(const EtwRelog *relog, EtwText *out);

#endif
