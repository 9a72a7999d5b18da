/*
 * etl/write/synthetic_header.h --
 *
 *	A file header for events that do not come from a file (a live session, records in memory). It
 *	describes this machine. Its ticks are ns since 1970. The writer of the final header sets its start.
 */
#ifndef ETW_SYNTHETIC_HEADER_H
#define ETW_SYNTHETIC_HEADER_H

#include "base/text.h"
#include "etl/read/reader.h"

typedef struct EtlSyntheticHeader { /* zeroed: not initialized */
    EtlInfo info;                   /* its headerBuffer is `header` */
    EtwText header;
} EtlSyntheticHeader;

EtwStatus EtlSyntheticHeaderInit(
        EtlSyntheticHeader *synthetic, const char *loggerName, EtwError *errPtr);
void EtlSyntheticHeaderFree(EtlSyntheticHeader *synthetic);

#endif
