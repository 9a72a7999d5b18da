/*
 * flow/source/zip_archive.h --
 *
 *	Reads traces in a zip archive: .zip, .etl.zip, .diagsession. Its .etl members are unpacked
 *	into unnamed temporary files, which are mapped. No file is created under a name from the
 *	archive. Limits: 256 members, and a total size of 100 times the archive's size plus 64 MB,
 *	so that a small archive cannot fill a disk.
 */
#ifndef ETW_ZIP_ARCHIVE_H
#define ETW_ZIP_ARCHIVE_H

#include "base/os.h"

/* tests/flow/archive.test compares these with the manual. */
enum {
    ETW_ARCHIVE_MEMBERS = 256,
    ETW_ARCHIVE_RATIO = 100,
    ETW_ARCHIVE_FREE_MB = 64 /* exempt from the ratio: buffers may be mostly empty */
};

/* The kind of file, by its first bytes. */
typedef enum EtwPacking {
    ETW_PACKING_NONE, /* not packed, or unknown */
    ETW_PACKING_ZIP,
    ETW_PACKING_ZSTD,
    ETW_PACKING_OTHER /* a packed format that is not supported */
} EtwPacking;
/* *namePtr: "7-Zip", "cabinet", ... */
EtwPacking EtwPackingOf(const uint8_t *data, size_t size, const char **namePtr);

typedef struct EtwArchive EtwArchive;

/* Read the directory of a zip archive in memory, which must outlive it. name is for messages. */
EtwStatus EtwArchiveOpen(EtwArchive **archivePtr, const uint8_t *data, size_t size,
        const char *name, EtwError *errPtr);
void EtwArchiveClose(EtwArchive *archive);
/* Its .etl members, in the order of the directory. */
int EtwArchiveCount(const EtwArchive *archive);
/* UTF-8, converted from the archive's encoding. */
const char *EtwArchiveName(const EtwArchive *archive, int index);
/*
 * Index of the member with that name, or of the only member whose last path component is that name;
 * -1: none.
 */
int EtwArchiveFind(const EtwArchive *archive, const char *name);
/* The number of packed bytes that limits how much of a member is read. */
uint64_t EtwArchiveShare(const EtwArchive *archive, int index);
/* Unpack a member. ETW_OK: its size and checksum are correct. */
EtwStatus EtwArchiveUnpack(const EtwArchive *archive, int index, OsMap *map, EtwError *errPtr);

#endif
