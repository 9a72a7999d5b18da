/*
 * unix/kernel/group/image_group.h --
 *
 *	The images (programs and shared libraries, executable mappings of files) of the traced processes, for
 *	the group imageload. Stacks can be resolved only with them.
 */
#ifndef ETW_IMAGE_GROUP_H
#define ETW_IMAGE_GROUP_H

#include "symbol/build_id.h"
#include "unix/kernel/transport/transport.h"

typedef struct ProcImage {
    uint64_t base, size, offset; /* offset: of the mapping in its file */
    const char *path;
    size_t pathSize;
    uint8_t build[ETW_BUILD_ID_MAX];
    uint8_t buildSize; /* 0: the file has no build id, or cannot be read */
} ProcImage;
typedef void ProcImageVisit(void *ctx, const ProcImage *image);

/* Whether the kernel's name of a mapping is that of an image. Others are memory, for code of JIT compilers. */
bool ProcIsImage(const char *path);
/* The executable mappings of files in /proc/PID/maps, and the vdso. The path is valid during the call. */
void ProcImagesOf(uint32_t pid, ProcImageVisit *visit, void *ctx);
/* The kernel and its modules; none without the right to read their addresses. */
void ProcImagesOfKernel(ProcImageVisit *visit, void *ctx);
#endif
