/*
 * unix/kernel/group/image_group.h --
 *
 *	The images (programs and shared libraries, executable mappings of files) of the traced processes, for
 *	the group imageload. Stacks can be resolved only with them.
 */
#ifndef ETW_IMAGE_GROUP_H
#define ETW_IMAGE_GROUP_H

#include "symbol/image_table.h"
#include "unix/kernel/transport/transport.h"

typedef EtwImage ProcImage;
typedef void ProcImageVisit(void *ctx, const ProcImage *image);

/* The executable mappings of files in /proc/PID/maps, and the vdso. The path is valid during the call. */
void ProcImagesOf(uint32_t pid, ProcImageVisit *visit, void *ctx);
/* The kernel and its modules; none without the right to read their addresses. */
void ProcImagesOfKernel(ProcImageVisit *visit, void *ctx);
#endif
