/*
 * etl/compress/compress.h --
 *
 *	Encoding of the format in which Windows stores compressed files' buffers ([MS-XCA] plain LZ77;
 *	decoding: etl/compress/decompress.h). Private to the room.
 */
#ifndef ETW_COMPRESS_H
#define ETW_COMPRESS_H

#include "base/bytes.h"

/* Tables of the search, for one buffer after the other. */
typedef struct EtlXpress EtlXpress;

EtlXpress *EtlXpressNew(void);
void EtlXpressFree(EtlXpress *x);
/*
 * *out becomes the bytes that decode to `in`. False: they would not be fewer, and *out is nothing to
 * be used.
 */
bool EtlXpressEncode(EtlXpress *x, const uint8_t *in, size_t size, EtwText *out);

#endif
