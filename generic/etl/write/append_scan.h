/*
 * etl/write/append_scan.h --
 *
 *	Reads the properties of an existing file that a writer needs to continue it. Private to etl/write.
 */
#ifndef ETW_APPEND_SCAN_H
#define ETW_APPEND_SCAN_H

#include "etl/read/file_header.h"

typedef struct EtlAppend {
    bool found; /* false: no such file, or an empty one; no other member is set then */
    EtlInfo info;
    uint16_t loggerId;
    uint32_t slots;      /* complete buffers after the header buffer */
    bool compressed;     /* the file has the layout of compressed files. Then: */
    uint32_t headerSize; /* of the header buffer */
    uint64_t end;        /* of the last complete buffer */
    int64_t sequence;    /* the largest one */
} EtlAppend;

/*
 * Fails if this writer cannot have written the file with that buffer size. A circular file is
 * accepted only if the caller allows it.
 */
EtwStatus EtlAppendScan(
        EtlAppend *append, const char *path, uint32_t bufferSize, bool circular, EtwError *errPtr);

#endif
