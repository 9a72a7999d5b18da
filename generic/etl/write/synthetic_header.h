/*
 * etl/write/synthetic_header.h --
 *
 *	A header for events that come from no file (a live session, records in memory): that of a file
 *	of this machine. Its ticks are ns since 1970; its start is left open, for whoever rewrites it
 *	to fill in.
 */
#ifndef ETW_SYNTHETIC_HEADER_H
#define ETW_SYNTHETIC_HEADER_H

#include "base/bytes.h"
#include "etl/read/reader.h"

typedef struct EtlModel { /* zeroed: not made */
    EtlInfo info;         /* its headerBuffer is `header` */
    EtwText header;
} EtlModel;

EtwStatus EtlModelMake(EtlModel *model, const char *loggerName, EtwError *errPtr);
void EtlModelFree(EtlModel *model);

#endif
