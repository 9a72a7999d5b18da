/*
 * flow/source/zst_file.c --
 *
 *	Unpacking a file of zstd (flow/source/zst_file.h).
 */
#include "flow/source/zst_file.h"
#include "etl/compress/pack.h"
#include "flow/source/zip_archive.h"

typedef struct Unpacking {
    OsFile *file;
    uint64_t written, most;
    EtwStatus status;
    int osError;
} Unpacking;

static bool put(void *ctx, const uint8_t *data, size_t size)
{
    Unpacking *u = ctx;
    if (size > u->most - u->written) {
        u->status = ETW_E_LIMIT;
    } else if (size != 0) {
        u->status = OsFileWriteAt(u->file, u->written, data, size, &u->osError);
        u->written += size;
    }
    return u->status == ETW_OK;
}

static EtwStatus fail(const Unpacking *u, const char *name, EtwError *errPtr)
{
    if (u->status == ETW_E_LIMIT) {
        return EtwFail(errPtr, ETW_E_LIMIT, "ZSTD", name,
                "the trace in \"%s\" would have more than %d times its size and %d MB more: if you "
                "trust the file, unpack it (\"zstd -d\") and read the result",
                name, ETW_ARCHIVE_RATIO, ETW_ARCHIVE_FREE_MB);
    }
    if (u->status != ETW_OK) {
        return EtwFailOs(errPtr, u->status, u->osError, "WRITE", name,
                "cannot unpack \"%s\" into a temporary file", name);
    }
    return EtwFail(errPtr, ETW_E_FORMAT, "ZSTD", name,
            "\"%s\" is damaged: its compressed data is invalid", name);
}

EtwStatus EtwZstUnpack(
        const uint8_t *data, size_t size, const char *name, OsMap *map, EtwError *errPtr)
{
    Unpacking u = {.most = ((uint64_t)ETW_ARCHIVE_FREE_MB << 20) + ETW_ARCHIVE_RATIO * size};
    if (!EtlPackAvailable()) {
        return EtwFail(errPtr, ETW_E_UNSUPPORTED, "PACKED", name,
                "\"%s\" is packed with zstd, which this build of etw cannot read: unpack it with "
                "\"zstd -d\"",
                name);
    }
    EtwStatus status = OsFileTemp(&u.file, errPtr);
    if (status != ETW_OK) {
        return status;
    }
    EtlUnpackResult result = EtlUnpackStream(data, size, put, &u);
    if (u.status != ETW_OK || u.written == 0 || result == ETL_UNPACK_STOPPED) {
        OsFileClose(u.file);
        return fail(&u, name, errPtr);
    }
    return OsFileTempMap(u.file, map, errPtr); /* what is missing is reported by the reader */
}
