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

typedef struct EtlSyntheticHeader { /* zeroed: not made */
    EtlInfo info;                   /* its headerBuffer is `header` */
    EtwText header;
} EtlSyntheticHeader;

EtwStatus EtlSyntheticHeaderInit(
        EtlSyntheticHeader *synthetic, const char *loggerName, EtwError *errPtr);
void EtlSyntheticHeaderFree(EtlSyntheticHeader *synthetic);

#endif
