/*
 * etl/compress/zstd.c --
 *
 *	What needs libzstd, which is optional: frames of packed traces, and files of zstd that other programs wrote.
 */
#include "base/alloc.h"
#include "etl/compress/decompress.h"
#include "etl/compress/pack.h"
#include "etl/compress/zstd_int.h"

#ifdef ETW_HAVE_ZSTD
#include <zstd.h>

enum {
    LEVEL = 9, /* call traces: 7.8 bytes an event; 3 takes 8.9, 19 takes 6.5 and 150 times as long */
    WINDOW_MAX = 27 /* 128 MB, what `zstd -d` accepts */
};

bool EtlPackAvailable(void)
{
    return true;
}

bool EtlZstdEncode(const uint8_t *in, size_t size, EtwText *out)
{
    /* The first bytes are a block of their own: a reader that needs the first time decodes only them. */
    enum { HEAD = 256 };
    ZSTD_inBuffer from = {in, size < HEAD ? size : HEAD, 0};
    ZSTD_CCtx *context = ZSTD_createCCtx(); /* a split writes many files: none keeps one */
    size_t left = 1;
    if (context != NULL) {
        EtwTextReserve(out, ZSTD_compressBound(size) + HEAD);
        ZSTD_outBuffer to = {out->data + out->size, out->capacity - out->size, 0};
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        ZSTD_CCtx_setPledgedSrcSize(context, size);
        left = ZSTD_compressStream2(context, &to, &from, ZSTD_e_flush);
        from.size = size;
        left = left == 0 ? ZSTD_compressStream2(context, &to, &from, ZSTD_e_end) : left;
        out->size += left == 0 ? to.pos : 0;
    }
    ZSTD_freeCCtx(context);
    return left == 0;
}

/*
 * Decode a part of a frame. Nothing is valid after an error: damaged blocks decode to wrong bytes, which often
 * only a later block or the checksum reveals. A frame that is cut is valid as far as it is there.
 */
static size_t decodePart(
        ZSTD_DCtx *d, const uint8_t *in, size_t size, uint8_t *out, size_t capacity)
{
    enum { STEP = 4096 }; /* with all input at once, libzstd writes nothing of a damaged frame */
    ZSTD_inBuffer from = {in, 0, 0};
    ZSTD_outBuffer to = {out, capacity, 0};
    size_t left, before;
    do {
        before = from.pos + to.pos;
        from.size = size - from.pos < STEP ? size : from.pos + STEP;
        left = ZSTD_decompressStream(d, &to, &from);
    } while (left != 0 && !ZSTD_isError(left) && from.pos + to.pos != before);
    return ZSTD_isError(left) ? 0 : to.pos;
}

size_t EtlZstdDecode(const uint8_t *in, size_t size, uint8_t *out, size_t capacity)
{
    ZSTD_DCtx *d = ZSTD_createDCtx();
    size_t got = 0;
    if (d != NULL && capacity != 0) {
        bool whole = ZSTD_getFrameContentSize(in, size) <= capacity;
        got = whole ? ZSTD_decompressDCtx(d, out, capacity, in, size) : 0;
        if (!whole || ZSTD_isError(got)) {
            ZSTD_DCtx_reset(d, ZSTD_reset_session_only);
            got = decodePart(d, in, size, out, capacity);
        }
    }
    ZSTD_freeDCtx(d);
    return got;
}

struct EtlUnpacker {
    ZSTD_DCtx *context;
    size_t left, capacity; /* left: bytes of the frame that are expected, 0 at its end */
    uint8_t *out;
};

EtlUnpacker *EtlUnpackerNew(void)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (context == NULL) {
        return NULL;
    }
    ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, WINDOW_MAX);
    EtlUnpacker *u = EtwAlloc(sizeof *u);
    u->context = context;
    u->capacity = ZSTD_DStreamOutSize();
    u->out = EtwAlloc(u->capacity);
    return u;
}

EtlUnpackResult EtlUnpackerAdd(
        EtlUnpacker *u, const uint8_t *in, size_t size, EtlUnpackProc *put, void *ctx)
{
    ZSTD_inBuffer from = {in, size, 0};
    bool full = false;
    while (from.pos < size || full) {
        ZSTD_outBuffer to = {u->out, u->capacity, 0};
        u->left = ZSTD_decompressStream(u->context, &to, &from);
        full = to.pos == u->capacity;
        if (!put(ctx, u->out, to.pos)) {
            return ETL_UNPACK_STOPPED;
        }
        if (ZSTD_isError(u->left)) {
            return ETL_UNPACK_DAMAGED;
        }
    }
    return u->left != 0 ? ETL_UNPACK_CUT : ETL_UNPACK_DONE;
}

void EtlUnpackerFree(EtlUnpacker *u)
{
    if (u != NULL) {
        ZSTD_freeDCtx(u->context);
        EtwFree(u->out);
        EtwFree(u);
    }
}

#else

bool EtlPackAvailable(void)
{
    return false;
}

bool EtlZstdEncode(const uint8_t *in, size_t size, EtwText *out)
{
    (void)in, (void)size, (void)out;
    return false;
}

size_t EtlZstdDecode(const uint8_t *in, size_t size, uint8_t *out, size_t capacity)
{
    (void)in, (void)size, (void)out, (void)capacity;
    return 0;
}

EtlUnpacker *EtlUnpackerNew(void)
{
    return NULL;
}

EtlUnpackResult EtlUnpackerAdd(
        EtlUnpacker *u, const uint8_t *in, size_t size, EtlUnpackProc *put, void *ctx)
{
    (void)u, (void)in, (void)size, (void)put, (void)ctx;
    return ETL_UNPACK_STOPPED;
}

void EtlUnpackerFree(EtlUnpacker *u)
{
    (void)u;
}

#endif

EtlUnpackResult EtlUnpackStream(const uint8_t *in, size_t size, EtlUnpackProc *put, void *ctx)
{
    EtlUnpacker *u = EtlUnpackerNew();
    EtlUnpackResult result = u != NULL ? EtlUnpackerAdd(u, in, size, put, ctx) : ETL_UNPACK_STOPPED;
    EtlUnpackerFree(u);
    return result;
}
