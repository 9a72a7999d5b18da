/*
 * symbol/image_file.h --
 *
 *	The file of an image of a trace: which of the files of this machine has the image's build id.
 */
#ifndef ETW_IMAGE_FILE_H
#define ETW_IMAGE_FILE_H

#include <stdbool.h>

typedef struct EtwImageWanted {
    const char *path;  /* of the image in the trace */
    const char *build; /* its build id in hexadecimal digits; NULL: none */
    bool anyBuild; /* if build is NULL: the trace does not say, so that a file of that path is the image */
    const char *const *folders; /* searched first */
    int folderCount;
} EtwImageWanted;

/* Opens a file with the build id. False: it cannot be used, search on. */
typedef bool EtwImageOpen(void *ctx, const char *path);
/* NULL: `open` has returned true; otherwise why there is no such file. */
const char *EtwImageFileFind(const EtwImageWanted *wanted, EtwImageOpen *open, void *ctx);

#endif
