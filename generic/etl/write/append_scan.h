/*
 * etl/write/append_scan.h --
 *
 *	What a writer must know of a file that it continues. Private to the room.
 */
#ifndef ETW_APPEND_SCAN_H
#define ETW_APPEND_SCAN_H

#include "etl/read/file_header.h"

typedef struct EtlAppend {
    bool found; /* false: no such file, or an empty one; nothing else is set then */
    EtlInfo info;
    uint16_t loggerId;
    uint32_t slots;   /* buffers behind the header buffer, up to the last whole one */
    int64_t sequence; /* the largest */
} EtlAppend;

/* Fails when the file is not one that this writer could have written with that buffer size; a circular
 * one only where the caller says so. */
EtwStatus EtlAppendScan(
        EtlAppend *append, const char *path, uint32_t bufferSize, bool circular, EtwError *errPtr);

#endif
