/*
 * flow/relog/split_needs.h --
 *
 *	What the events of each process or provider refer to: processes, files and keys, images, modules of the
 *	kernel. Found by reading the source ahead, so that each piece begins with that part of the state
 *	rundown which its events need.
 */
#ifndef ETW_SPLIT_NEEDS_H
#define ETW_SPLIT_NEEDS_H

#include "flow/relog/rundown.h"
#include "flow/source/source.h"

typedef struct EtwSplitNeeds EtwSplitNeeds;

/*
 * byProcess: a piece for each process, otherwise for each provider. NULL: the source cannot be read
 * ahead. The store is borrowed.
 */
EtwSplitNeeds *EtwSplitNeedsRead(const EtwSource *source, bool byProcess, EtwSchemaStore *store);
void EtwSplitNeedsFree(EtwSplitNeeds *needs); /* accepts NULL */
/* True if events of the piece of that process or provider refer to what the rundown event describes. */
bool EtwSplitNeedsEvent(const EtwSplitNeeds *needs, uint32_t pid, const EtwGuid *provider,
        const EtwRundownEvent *entry);

#endif
