/*
 * flow/source/zip_archive.h --
 *
 *	Reads traces in a zip archive: .zip, .etl.zip, .diagsession. Its .etl members are unpacked into
 *	unnamed temporary files, which are mapped. No file is created under a name from the archive. Limits:
 *	256 members, and a total size of 300 times the archive's size plus 64 MB, so that a small archive
 *	cannot fill a disk.
 */
#ifndef ETW_ZIP_ARCHIVE_H
#define ETW_ZIP_ARCHIVE_H

#include "base/os.h"

/* What a file begins with. */
typedef enum EtwPacking {
    ETW_PACKING_NONE, /* none that is known: a trace, or something else */
    ETW_PACKING_ZIP,
    ETW_PACKING_OTHER /* packed in a way that is not read here */
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
/* UTF-8, as the archive has it. */
const char *EtwArchiveName(const EtwArchive *archive, int index);
/* Index of the member of that name, or, when only one's last part is that, of this; -1: none. */
int EtwArchiveFind(const EtwArchive *archive, const char *name);
/* The bytes of the archive that a member may be said to be made of: they bound what is read of it. */
uint64_t EtwArchiveShare(const EtwArchive *archive, int index);
/* Unpack a member; its size and checksum are right when this returns ETW_OK. */
EtwStatus EtwArchiveUnpack(const EtwArchive *archive, int index, OsMap *map, EtwError *errPtr);

#endif
