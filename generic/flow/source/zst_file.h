/*
 * flow/source/zst_file.h --
 *
 *	Files of zstd that other programs wrote (`zstd trace.etl`): unpacked as a whole into an unnamed
 *	temporary file, within the limits of archives (flow/source/zip_archive.h). Files of `etw relog -pack`
 *	are read in place, by etl/read.
 */
#ifndef ETW_ZST_FILE_H
#define ETW_ZST_FILE_H

#include "base/os.h"

/* name: for messages. Of a file that is cut, what is there. */
EtwStatus EtwZstUnpack(
        const uint8_t *data, size_t size, const char *name, OsMap *map, EtwError *errPtr);

/*
 * The number of packed bytes that limits how much of the trace is read: more than the file's size, because zstd
 * packs traces better than the codecs of .etl files do.
 */
static inline uint64_t EtwZstShare(uint64_t size)
{
    enum { BETTER = 4, LEAST = 1 << 20 };
    return size * BETTER > LEAST ? size * BETTER : LEAST;
}

#endif
