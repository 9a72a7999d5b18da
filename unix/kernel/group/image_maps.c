/*
 * unix/kernel/group/image_maps.c --
 *
 *	The images that are mapped already: of a process from /proc/PID/maps, of the kernel from
 *	/proc/kallsyms and /proc/modules. ELF files are opened in the root directory of the process,
 *	for their build ids.
 */
#define _GNU_SOURCE
#include "unix/kernel/group/image_group.h"
#include "base/bytes.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = PATH_MAX + 200 };

/* ---- Processes ------------------------------------------------------------------------------- */

/* "/usr/bin/x (deleted)": a file of that name may be another one by now. */
static bool isFile(const char *path)
{
    static const char deleted[] = " (deleted)";
    size_t size = strlen(path), tail = sizeof deleted - 1;
    return path[0] == '/' && (size < tail || strcmp(path + size - tail, deleted) != 0);
}

static void takeLine(uint32_t pid, char *line, ProcImageVisit *visit, void *ctx)
{
    unsigned long long from, to, offset;
    char rights[8], full[PATH_MAX + 32];
    int at = 0;
    ProcImage image = {0};
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %n", &from, &to, rights, &offset, &at) != 4 ||
            at == 0 || rights[2] != 'x' || to <= from) {
        return;
    }
    image.path = line + at;
    image.pathSize = strlen(image.path);
    if (!EtwImageIsFile(image.path)) {
        return;
    }
    image.base = from;
    image.size = to - from;
    image.offset = offset;
    if (isFile(image.path) &&
            (size_t)snprintf(full, sizeof full, "/proc/%u/root%s", pid, image.path) < sizeof full) {
        image.buildSize = EtwBuildIdOfFile(full, image.build);
    }
    visit(ctx, &image);
}

void ProcImagesOf(uint32_t pid, ProcImageVisit *visit, void *ctx)
{
    char name[64], *line = malloc(LINE);
    snprintf(name, sizeof name, "/proc/%u/maps", pid);
    FILE *f = line != NULL ? fopen(name, "re") : NULL;
    while (f != NULL && fgets(line, LINE, f) != NULL) {
        takeLine(pid, line, visit, ctx);
    }
    if (f != NULL) {
        fclose(f);
    }
    free(line);
}

/* ---- The kernel ------------------------------------------------------------------------------ */

/* The addresses of the first and last symbol of the kernel's code. Without rights they are 0. */
static void kernelText(ProcImage *image)
{
    char line[600];
    unsigned long long address, from = 0, to = 0;
    FILE *f = fopen("/proc/kallsyms", "re");
    while (f != NULL && to == 0 && fgets(line, sizeof line, f) != NULL) {
        char name[512];
        if (sscanf(line, "%llx %*c %511s", &address, name) != 2 || (address == 0 && from == 0)) {
            continue;
        }
        from = strcmp(name, "_stext") == 0 ? address : from;
        to = from != 0 && strcmp(name, "_etext") == 0 ? address : 0;
    }
    if (f != NULL) {
        fclose(f);
    }
    image->base = from;
    image->size = to > from ? to - from : 0;
}

static void kernelModules(ProcImageVisit *visit, void *ctx)
{
    char line[LINE];
    FILE *f = fopen("/proc/modules", "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        char name[100], path[104], notes[160];
        unsigned long long size, address;
        if (sscanf(line, "%99s %llu %*s %*s %*s %llx", name, &size, &address) == 3 &&
                address != 0 && size != 0) {
            snprintf(path, sizeof path, "[%s]", name);
            ProcImage image = {
                    .base = address, .size = size, .path = path, .pathSize = strlen(path)};
            snprintf(notes, sizeof notes, "/sys/module/%s/notes/.note.gnu.build-id", name);
            image.buildSize = EtwBuildIdOfNotesFile(notes, image.build);
            visit(ctx, &image);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

void ProcImagesOfKernel(ProcImageVisit *visit, void *ctx)
{
    ProcImage image = {.path = "[kernel]", .pathSize = strlen("[kernel]")};
    kernelText(&image);
    if (image.size != 0) {
        image.buildSize = EtwBuildIdOfNotesFile("/sys/kernel/notes", image.build);
        visit(ctx, &image);
        kernelModules(visit, ctx);
    }
}
