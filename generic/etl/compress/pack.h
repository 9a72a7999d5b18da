/*
 * etl/compress/pack.h --
 *
 *	Packed traces (.etl.zst): an .etl file in the frames of zstd (RFC 8878), so that `zstd -d` gives the
 *	file. Each buffer has frames of its own, and can be read without the others:
 *
 *	    the file's header buffer: a frame with its used bytes as they are, and its padding
 *	    each other buffer: a frame with the buffer's header as it is, one with its records, compressed
 *	    and with a checksum, and one with its padding, if any
 *	    a seek table in zstd's seekable format, a skippable frame
 *
 *	The header buffer's frame has a constant size, so that it can be written again at the end. A reader
 *	needs the frames only, not the seek table: of a file that is cut or damaged, the intact buffers are read.
 *	Private to etl and flow.
 */
#ifndef ETW_PACK_H
#define ETW_PACK_H

#include "base/text.h"
#include <stdbool.h>

/* True if this build has libzstd. Without it nothing can be packed or unpacked. */
bool EtlPackAvailable(void);

/* ---- Writing ---- */

typedef struct EtlPacker EtlPacker;
EtlPacker *EtlPackerNew(void);
/* Pack whole buffers; the first one is the file's header buffer. */
void EtlPackerAdd(EtlPacker *packer, const void *buffers, size_t size, EtwText *out);
/* Write the seek table. */
void EtlPackerEnd(EtlPacker *packer, EtwText *out);
/* Pack the header buffer again, to the same number of bytes. */
void EtlPackHeader(const void *buffer, size_t size, EtwText *out);
uint64_t EtlPackerBytes(const EtlPacker *packer); /* packed so far */
void EtlPackerFree(EtlPacker *packer);

/* ---- Reading ---- */

enum { ETL_PACK_START = 12 }; /* where the bytes of the header buffer begin */

/* A buffer in a packed trace. */
typedef struct EtlPacked {
    uint64_t head;    /* offset of its header, ETL_BUFFER_HEADER bytes */
    uint64_t packed;  /* bytes of the frame that follows it */
    uint64_t next;    /* where to go on */
    uint64_t skipped; /* damaged bytes before the buffer's first frame */
} EtlPacked;

/* True if the file has the form above; another file of zstd is unpacked as a whole. */
bool EtlPackIs(const uint8_t *data, uint64_t size);
/* The number of the header buffer's bytes from ETL_PACK_START, and the offset after its frame. */
size_t EtlPackHeaderSize(const uint8_t *data, uint64_t size, uint64_t *nextPtr);
/* Find the next buffer. False: none; `skipped` is valid. */
bool EtlPackNext(const uint8_t *data, uint64_t size, uint64_t at, EtlPacked *buffer);

/* ---- Any file of zstd ---- */

/* Receives unpacked bytes. False: stop. */
typedef bool EtlUnpackProc(void *ctx, const uint8_t *data, size_t size);
typedef enum EtlUnpackResult {
    ETL_UNPACK_DONE,
    ETL_UNPACK_STOPPED, /* by the receiver */
    ETL_UNPACK_CUT,     /* the last frame is incomplete */
    ETL_UNPACK_DAMAGED
} EtlUnpackResult;
EtlUnpackResult EtlUnpackStream(const uint8_t *in, size_t size, EtlUnpackProc *put, void *ctx);

/* The same of data that comes in pieces. NULL: this build has no libzstd, or there is no memory. */
typedef struct EtlUnpacker EtlUnpacker;
EtlUnpacker *EtlUnpackerNew(void);
/* ETL_UNPACK_CUT: more data must follow. After ETL_UNPACK_STOPPED or _DAMAGED nothing more can be added. */
EtlUnpackResult EtlUnpackerAdd(
        EtlUnpacker *unpacker, const uint8_t *in, size_t size, EtlUnpackProc *put, void *ctx);
void EtlUnpackerFree(EtlUnpacker *unpacker);

#endif
