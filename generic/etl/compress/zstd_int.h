/*
 * etl/compress/zstd_int.h --
 *
 *	Encoder of the frames of packed traces. Private to etl/compress; decoder: EtlZstdDecode in
 *	etl/compress/decompress.h.
 */
#ifndef ETW_ZSTD_INT_H
#define ETW_ZSTD_INT_H

#include "base/text.h"
#include <stdbool.h>

/* Append one frame with a checksum. False: no memory; nothing is appended. */
bool EtlZstdEncode(const uint8_t *in, size_t size, EtwText *out);

#endif
