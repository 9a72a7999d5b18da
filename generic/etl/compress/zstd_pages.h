/*
 * etl/compress/zstd_pages.h --
 *
 *	A compressor for many small pieces: each becomes a frame of zstd.
 */
#ifndef ETW_ZSTD_PAGES_H
#define ETW_ZSTD_PAGES_H

#include "base/text.h"
#include <stdbool.h>

typedef struct EtlZstdPages EtlZstdPages;

/* NULL: etw was built without libzstd, or there is no memory. */
EtlZstdPages *EtlZstdPagesNew(void);
/* Append one frame. False: no memory; nothing is appended. */
bool EtlZstdPage(EtlZstdPages *pages, const void *in, size_t size, EtwText *out);
void EtlZstdPagesFree(EtlZstdPages *pages); /* NULL is accepted */

#endif
