/*
 * etl/compress/compress.h --
 *
 *	Encoder for the buffers of compressed files ([MS-XCA] plain LZ77). Decoders:
 *	etl/compress/decompress.h. Private to etl.
 */
#ifndef ETW_COMPRESS_H
#define ETW_COMPRESS_H

#include "base/text.h"

/* Tables for the search; reused for each buffer. */
typedef struct EtlXpress EtlXpress;

EtlXpress *EtlXpressNew(void);
void EtlXpressFree(EtlXpress *x);
/* Encode `in` to *out. False: the result would not be smaller; *out is undefined. */
bool EtlXpressEncode(EtlXpress *x, const uint8_t *in, size_t size, EtwText *out);

#endif
