/*
 * unix/attach/target_tcl.c --
 *
 *	Finds Tcl and its interpreters in a process. Each interpreter refers to Tcl's table of functions (its stubs): the table
 *	is found in libtcl by the functions at its begin, an interpreter by a word with the table's address. This layout has been
 *	the same since Tcl 8.1, because extensions depend on it. The memory is read without stopping the process, so that the result is
 *	a list of candidates, which the process itself checks again.
 */
#define _GNU_SOURCE
#include "unix/attach/target.h"
#include "base/alloc.h"
#include <stdio.h>
#include <string.h>

enum {
    CHUNK = 1 << 20,
    INTERPS_MAX = 4096,
    STUBS_OFFSET = 24, /* of the table's address in an interpreter */
    HANDLE_OFFSET = 32 /* of the address of a word with the interpreter's address */
};
#define SEARCH_MAX ((uint64_t)8 << 30) /* bytes of memory */
#define IMAGE_MAX                                                                                  \
    ((uint64_t)64 << 20) /* bytes of a program that are searched for a linked-in Tcl */

static bool sameFile(const TargetMap *a, const TargetMap *b)
{
    return a->inode == b->inode && strcmp(a->path, b->path) == 0;
}

/* The table of functions: magic number, address of more tables, then the functions. */
static uint64_t findStubs(const Target *target, const TargetMap *image)
{
    uint64_t first = TargetSymbol(target, image, "Tcl_PkgProvideEx"), *words = EtwAlloc(CHUNK);
    uint64_t second = TargetSymbol(target, image, "Tcl_PkgRequireEx"), found = 0;
    for (size_t i = 0; i < target->count && found == 0 && first != 0 && second != 0; i++) {
        const TargetMap *map = &target->maps[i];
        if (!sameFile(map, image) || !map->readable || map->executable) {
            continue;
        }
        for (uint64_t at = map->start; at < map->end && found == 0; at += CHUNK) {
            uint64_t size = map->end - at < CHUNK ? map->end - at : CHUNK;
            if (!TargetRead(target, at, words, size)) {
                break;
            }
            for (uint64_t w = 2; w + 1 < size / 8 && found == 0; w++) {
                if (words[w] == first && words[w + 1] == second) {
                    found = at + (w - 2) * 8;
                }
            }
        }
    }
    EtwFree(words);
    return found;
}

static bool isInterp(const Target *target, uint64_t interp)
{
    uint64_t handle, owner;
    return TargetRead(target, interp + HANDLE_OFFSET, &handle, sizeof handle) && handle % 8 == 0 &&
           TargetRead(target, handle, &owner, sizeof owner) && owner == interp;
}

static void searchChunk(
        const Target *target, TargetTcl *tcl, const uint64_t *words, uint64_t count, uint64_t at)
{
    for (uint64_t w = 0; w < count; w++) {
        uint64_t interp = at + w * 8 - STUBS_OFFSET;
        if (words[w] != tcl->stubs || !isInterp(target, interp)) {
            continue;
        }
        if (tcl->count == INTERPS_MAX) {
            tcl->limited = true;
            return;
        }
        tcl->interps[tcl->count++] = interp;
    }
}

static void findInterps(const Target *target, TargetTcl *tcl)
{
    uint64_t *words = EtwAlloc(CHUNK), searched = 0;
    tcl->interps = EtwAlloc(INTERPS_MAX * sizeof *tcl->interps);
    for (size_t i = 0; i < target->count && !tcl->limited; i++) {
        const TargetMap *map = &target->maps[i];
        if (!map->readable || !map->writable || !map->private || map->inode != 0 ||
                strcmp(map->path, "[stack]") == 0) {
            continue;
        }
        for (uint64_t at = map->start; at < map->end && !tcl->limited; at += CHUNK) {
            uint64_t size = map->end - at < CHUNK ? map->end - at : CHUNK;
            if (searched + size > SEARCH_MAX) {
                tcl->limited = true;
                break;
            }
            searched += size;
            if (!TargetRead(target, at, words, size)) {
                break; /* unmapped meanwhile */
            }
            searchChunk(target, tcl, words, size / 8, at);
        }
    }
    EtwFree(words);
}

/* True if the program itself contains Tcl. */
static bool isStatic(const Target *target)
{
    static const char text[] = "rename tclInit {}";
    const TargetMap *program = NULL;
    char *bytes = EtwAlloc(CHUNK);
    bool found = false;
    uint64_t searched = 0;
    for (size_t i = 0; i < target->count && !found; i++) {
        const TargetMap *map = &target->maps[i];
        if (program == NULL && map->inode != 0) {
            program = map; /* the first mapping is the program's */
        }
        if (program == NULL || !sameFile(map, program) || !map->readable) {
            continue;
        }
        for (uint64_t at = map->start; at < map->end && !found && searched < IMAGE_MAX;
                at += CHUNK - 64) {
            uint64_t size = map->end - at < CHUNK ? map->end - at : CHUNK;
            searched += size;
            found = TargetRead(target, at, bytes, size) &&
                    memmem(bytes, size, text, sizeof text - 1) != NULL;
        }
    }
    EtwFree(bytes);
    return found;
}

static EtwStatus noTcl(const Target *target, EtwError *err)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)target->pid);
    if (isStatic(target)) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "STATIC", pid,
                "process %s has Tcl linked in statically: etw can attach only to programs that use "
                "libtcl; its kernel events can be recorded (etw record -k GROUP --pids %s)",
                pid, pid);
    }
    return EtwFail(err, ETW_E_LOOKUP, "TCL", pid,
            "process %s does not use Tcl: it has not loaded libtcl; its kernel events can be "
            "recorded (etw record -k GROUP --pids %s)",
            pid, pid);
}

EtwStatus TargetTclFind(const Target *target, TargetTcl *tcl, EtwError *err)
{
    char pid[16];
    *tcl = (TargetTcl){0};
    snprintf(pid, sizeof pid, "%d", (int)target->pid);
    tcl->image = TargetImage(target, "libtcl", "Tcl_CreateInterp");
    if (tcl->image == NULL) {
        return noTcl(target, err);
    }
    if (TargetSymbol(target, tcl->image, "Tcl_NRAddCallback") == 0) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "TCL", pid,
                "the Tcl of process %s (%s) is older than 8.6", pid, tcl->image->path);
    }
    tcl->version = TargetSymbol(target, tcl->image, "TclZipfs_AppHook") != 0 ? OS_ATTACH_TCL9
                                                                             : OS_ATTACH_TCL8;
    tcl->stubs = findStubs(target, tcl->image);
    if (tcl->stubs != 0) {
        findInterps(target, tcl);
    }
    if (tcl->count == 0) {
        EtwFree(tcl->interps);
        tcl->interps = NULL;
        return EtwFail(err, ETW_E_LOOKUP, "INTERP", pid,
                "process %s has loaded %s, but no interpreter was found in it%s", pid,
                tcl->image->path, tcl->limited ? "; only 8 GB of its memory were searched" : "");
    }
    return ETW_OK;
}
