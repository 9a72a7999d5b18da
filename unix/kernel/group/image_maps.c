/*
 * unix/kernel/group/image_maps.c --
 *
 *	The images that are mapped already: of a process from /proc/PID/maps, of the kernel from
 *	/proc/kallsyms and /proc/modules. Build ids from the notes of the ELF files, which are opened
 *	in the root directory of the process.
 */
#define _GNU_SOURCE
#include "unix/kernel/group/image_group.h"
#include "base/bytes.h"
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTES_MAX = 65536, HEADERS_MAX = 256, LINE = PATH_MAX + 200 };

/* ---- Build ids ------------------------------------------------------------------------------- */

/* Notes: sizes of name and description, type, name, description; each part padded to 4 bytes. */
static uint8_t buildIdIn(const uint8_t *notes, size_t size, uint8_t build[BUILD_ID_MAX])
{
    EtwBytes b = EtwBytesOf(notes, size);
    while (EtwBytesLeft(&b) >= sizeof(Elf64_Nhdr)) {
        uint32_t nameSize = EtwTake32(&b), idSize = EtwTake32(&b), type = EtwTake32(&b);
        const uint8_t *name = EtwTake(&b, ((size_t)nameSize + 3) & ~(size_t)3);
        const uint8_t *id = EtwTake(&b, ((size_t)idSize + 3) & ~(size_t)3);
        if (b.failed) {
            break;
        }
        if (type == NT_GNU_BUILD_ID && nameSize == 4 && memcmp(name, "GNU", 4) == 0 && idSize > 0 &&
                idSize <= BUILD_ID_MAX) {
            memcpy(build, id, idSize);
            return (uint8_t)idSize;
        }
    }
    return 0;
}

static uint8_t buildIdOfNotes(int fd, const Elf64_Phdr *h, uint8_t build[BUILD_ID_MAX])
{
    size_t size = h->p_filesz < NOTES_MAX ? (size_t)h->p_filesz : NOTES_MAX;
    uint8_t *notes = malloc(size + 1);
    ssize_t got = notes != NULL ? pread(fd, notes, size, (off_t)h->p_offset) : -1;
    uint8_t idSize = got > 0 ? buildIdIn(notes, (size_t)got, build) : 0;
    free(notes);
    return idSize;
}

uint8_t ProcBuildIdOf(const char *path, uint8_t build[BUILD_ID_MAX])
{
    Elf64_Ehdr elf;
    uint8_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && pread(fd, &elf, sizeof elf, 0) == (ssize_t)sizeof elf &&
              memcmp(elf.e_ident, ELFMAG, SELFMAG) == 0 && elf.e_ident[EI_CLASS] == ELFCLASS64 &&
              elf.e_phentsize == sizeof(Elf64_Phdr);
    for (int i = 0; is && size == 0 && i < elf.e_phnum && i < HEADERS_MAX; i++) {
        Elf64_Phdr h;
        off_t at = (off_t)(elf.e_phoff + (uint64_t)i * sizeof h);
        if (pread(fd, &h, sizeof h, at) == (ssize_t)sizeof h && h.p_type == PT_NOTE) {
            size = buildIdOfNotes(fd, &h, build);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    return size;
}

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
    if (image.path[0] != '/' && strcmp(image.path, "[vdso]") != 0) {
        return;
    }
    image.base = from;
    image.size = to - from;
    image.offset = offset;
    if (isFile(image.path) &&
            (size_t)snprintf(full, sizeof full, "/proc/%u/root%s", pid, image.path) < sizeof full) {
        image.buildSize = ProcBuildIdOf(full, image.build);
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

static uint8_t kernelBuildId(uint8_t build[BUILD_ID_MAX])
{
    uint8_t notes[4096];
    int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, notes, sizeof notes) : -1;
    if (fd >= 0) {
        close(fd);
    }
    return size > 0 ? buildIdIn(notes, (size_t)size, build) : 0;
}

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
        char name[100], path[104];
        unsigned long long size, address;
        if (sscanf(line, "%99s %llu %*s %*s %*s %llx", name, &size, &address) == 3 &&
                address != 0 && size != 0) {
            snprintf(path, sizeof path, "[%s]", name);
            visit(ctx,
                    &(ProcImage){
                            .base = address, .size = size, .path = path, .pathSize = strlen(path)});
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
        image.buildSize = kernelBuildId(image.build);
        visit(ctx, &image);
        kernelModules(visit, ctx);
    }
}
