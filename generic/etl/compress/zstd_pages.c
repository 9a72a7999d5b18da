/*
 * etl/compress/zstd_pages.c --
 *
 *	etl/compress/zstd_pages.h. libzstd is optional.
 */
#include "etl/compress/zstd_pages.h"

#ifdef ETW_HAVE_ZSTD
#include <zstd.h>

enum { PAGE_LEVEL = 3 };
struct EtlZstdPages {
    ZSTD_CCtx *context;
};

EtlZstdPages *EtlZstdPagesNew(void)
{
    EtlZstdPages *pages = EtwAlloc(sizeof *pages);
    pages->context = ZSTD_createCCtx();
    if (pages->context == NULL) {
        EtwFree(pages);
        return NULL;
    }
    return pages;
}

bool EtlZstdPage(EtlZstdPages *pages, const void *in, size_t size, EtwText *out)
{
    EtwTextReserve(out, ZSTD_compressBound(size));
    size_t got = ZSTD_compressCCtx(
            pages->context, out->data + out->size, out->capacity - out->size, in, size, PAGE_LEVEL);
    out->size += ZSTD_isError(got) ? 0 : got;
    return !ZSTD_isError(got);
}

void EtlZstdPagesFree(EtlZstdPages *pages)
{
    if (pages != NULL) {
        ZSTD_freeCCtx(pages->context);
        EtwFree(pages);
    }
}

#else

EtlZstdPages *EtlZstdPagesNew(void)
{
    return NULL;
}

bool EtlZstdPage(EtlZstdPages *pages, const void *in, size_t size, EtwText *out)
{
    (void)pages, (void)in, (void)size, (void)out;
    return false;
}

void EtlZstdPagesFree(EtlZstdPages *pages)
{
    (void)pages;
}

#endif
