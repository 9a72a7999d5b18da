/*
 * symbol/image_file.c --
 *
 *	Finds the file of an image (symbol/image_file.h).
 */
#include "symbol/image_file.h"
#include "symbol/build_id.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_MAX_BYTES = 8192 };

typedef struct Search {
    const EtwImageWanted *wanted;
    EtwImageOpen *open;
    void *ctx;
    const char *why;
} Search;

typedef enum Fit { FITS, ABSENT, OTHER } Fit;

/* An image without a build id may only be a file without one. Opening a pipe could wait for ever. */
static Fit fitOf(const EtwImageWanted *w, const char *path)
{
    uint8_t id[ETW_BUILD_ID_MAX];
    char text[ETW_BUILD_ID_TEXT];
    struct stat info;
    FILE *f = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
    if (f == NULL) { /* also without permission */
        return ABSENT;
    }
    fclose(f);
    if (w->build == NULL && w->anyBuild) {
        return FITS;
    }
    EtwBuildIdText(id, EtwBuildIdOfFile(path, id), text);
    return strcmp(text, w->build != NULL ? w->build : "") == 0 ? FITS : OTHER;
}

/* False: search on. */
static bool tryFile(Search *s, const char *path)
{
    Fit fit = fitOf(s->wanted, path);
    if (fit == FITS) {
        s->why = s->open(s->ctx, path) ? NULL : "not an ELF file that elfutils can read";
    } else if (fit == OTHER) {
        s->why = "the file has another build id than the image in the trace";
    }
    return s->why == NULL;
}

static bool tryFolder(Search *s, const char *folder)
{
    static const char *const suffixes[] = {".debug", ""};
    const char *image = s->wanted->path, *build = s->wanted->build;
    const char *slash = strrchr(image, '/');
    char path[PATH_MAX_BYTES];
    for (int i = 0; build != NULL && strlen(build) > 2 && i < 2; i++) {
        snprintf(
                path, sizeof path, "%s/.build-id/%.2s/%s%s", folder, build, build + 2, suffixes[i]);
        if (tryFile(s, path)) {
            return true;
        }
    }
    snprintf(path, sizeof path, "%s%s", folder, image);
    if (tryFile(s, path)) {
        return true;
    }
    snprintf(path, sizeof path, "%s/%s", folder, slash != NULL ? slash + 1 : image);
    return tryFile(s, path);
}

const char *EtwImageFileFind(const EtwImageWanted *wanted, EtwImageOpen *open, void *ctx)
{
    static const char debug[] = "/usr/lib/debug";
    Search s = {wanted, open, ctx, "the file is not there"};
    bool found = false;
    for (int i = 0; !found && i < wanted->folderCount; i++) {
        found = tryFolder(&s, wanted->folders[i]);
    }
    if (!found && wanted->path[0] == '/' && !tryFile(&s, wanted->path)) {
        tryFolder(&s, debug);
    }
    return s.why;
}
