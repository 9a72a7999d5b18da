/*
 * etl/compress/compress.h --
 *
 *	Encoder for the buffers of compressed files ([MS-XCA] plain LZ77). Decoders:
 *	etl/compress/decompress.h. Private to etl.
 *
 *	Only plain LZ77 is written, because it is the only format seen in files of Windows (in all compressed
 *	buffers of the known files: merges of PerfView, pktmon). Its window of 8 KB and its literals of 9 bits bound the
 *	result: in a sample of 400 KB, an optimal choice of matches took 12.6 bytes for each event of traced
 *	calls and 15.3 for each event of system calls; the encoder took 13.8 and 17.2 in the files of the sample.
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
