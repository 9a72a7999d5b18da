/*
 * unix/attach/target.h --
 *
 *	A process that is to be attached to: its memory, its mapped files, the functions that they export, and its Tcl
 *	interpreters. Reads only; nothing here stops the process.
 */
#ifndef ETW_ATTACH_TARGET_H
#define ETW_ATTACH_TARGET_H

#include "attach/attach.h"
#include <stddef.h>
#include <sys/types.h>

typedef struct TargetMap {
    uint64_t start, end, offset;
    bool readable, writable, executable, private;
    uint64_t inode;
    char *path; /* "": anonymous */
} TargetMap;

typedef struct Target {
    pid_t pid;
    TargetMap *maps;
    size_t count;
} Target;

/* Checks that this user may attach to the process, and reads its mappings. Freed by TargetFree, also after a failure. */
EtwStatus TargetOpen(Target *target, uint32_t pid, EtwError *err);
EtwStatus TargetReadMaps(Target *target, EtwError *err); /* again */
void TargetFree(Target *target);

bool TargetRead(const Target *target, uint64_t address, void *to, size_t size);
bool TargetWrite(const Target *target, uint64_t address, const void *from, size_t size);
/* Read a text that ends with NUL; what does not fit is cut. False: there is none. */
bool TargetText(const Target *target, uint64_t address, char *to, size_t size);

/* The mapping that contains an address; NULL: none. */
const TargetMap *TargetMapOf(const Target *target, uint64_t address);
/* The address of a function that a mapped file exports; 0: none. `image` is the file's first mapping. */
uint64_t TargetSymbol(const Target *target, const TargetMap *image, const char *name);
/* The first mapping of the first file whose name begins with `name` and that exports `symbol`; NULL: none. */
const TargetMap *TargetImage(const Target *target, const char *name, const char *symbol);

/* Fails with a message about a process that may not be traced. */
EtwStatus TargetForbidden(const Target *target, EtwError *err);
EtwStatus TargetEnded(const Target *target, EtwError *err);

/* ---- target_tcl.c ---------------------------------------------------------------------------- */

typedef struct TargetTcl {
    const TargetMap *image;
    int version;       /* OS_ATTACH_TCL8 or OS_ATTACH_TCL9 */
    uint64_t stubs;    /* address of the table of functions */
    uint64_t *interps; /* addresses; the caller frees them */
    uint32_t count;
    bool limited; /* not all of the memory was searched */
} TargetTcl;

EtwStatus TargetTclFind(const Target *target, TargetTcl *tcl, EtwError *err);

#endif
