/*
 * symbol/image_table.h --
 *
 *	The images (programs and shared libraries: executable mappings of files) of each process. Addresses of
 *	stacks can be resolved only with them. The table serves two things that the kernel does not report:
 *	the images that a child inherits, and those that an exec or the end of a process unloads. Its size is
 *	limited: further images are not kept.
 */
#ifndef ETW_IMAGE_TABLE_H
#define ETW_IMAGE_TABLE_H

#include "base/hash_table.h"
#include "symbol/build_id.h"

typedef struct EtwImage {
    uint64_t base, size, offset; /* offset: of the mapping in its file */
    const char *path;
    size_t pathSize;
    uint8_t build[ETW_BUILD_ID_MAX];
    uint8_t buildSize; /* 0: the file has no build id, or cannot be read */
} EtwImage;

typedef struct EtwImageEntry {
    EtwImage of; /* its path belongs to the table */
    bool fresh;  /* set by the user of the table */
} EtwImageEntry;

typedef struct EtwImageProcess {
    EtwTableNode node;
    uint32_t pid;
    EtwImageEntry *images;
    int count, capacity;
    uint64_t epoch; /* another one after an image was unloaded; unique in the table */
} EtwImageProcess;

typedef struct EtwImageTable { /* zeroed: empty */
    EtwTable processes, paths;
    size_t pathBytes;
    int count; /* of all processes */
    uint64_t epochs;
} EtwImageTable;

/* Whether the kernel's name of a mapping is that of an image. Others are memory, for code of JIT compilers. */
bool EtwImageIsFile(const char *path);
EtwImageProcess *EtwImagesFind(const EtwImageTable *table, uint32_t pid); /* NULL: no images */
/* Images at the same place were unloaded before. */
void EtwImagesAdd(EtwImageTable *table, uint32_t pid, const EtwImage *image, bool fresh);
void EtwImagesRemove(EtwImageTable *table, EtwImageProcess *process);
void EtwImagesFree(EtwImageTable *table);

#endif
