/*
 * unix/kernel/group/file_group.c --
 *
 *	The group fileio: system calls on files as events Create, Read, Write, Flush, Close, Delete
 *	and Rename, emitted when the call returns. Sockets, pipes and the like are ignored. Sources
 *	of file names, in order of preference: the path as given to the call (NameSource 1); the
 *	link in /proc, read when the process is first traced or when the event is drained, when the
 *	descriptor may refer to another file (2); none, the name is empty (0). A BPF program reads
 *	the path of every call (path_calls.h). Where that is not possible or not permitted, a
 *	uprobe on libc's functions reads it, and calls that bypass libc have no name from source 1.
 *	io_uring, mmap and splice are not seen. Accesses of traced processes to the registry and to
 *	sessions' memory are left out.
 *
 *	Also the group virtualalloc, whose calls are pending between enter and exit in the same way.
 */
#include "unix/kernel/kernel_int.h"
#include "base/alloc.h"
#include "engine/shared/registry.h"
#include "unix/kernel/transport/path_calls.h"
#include "unix/kernel/transport/uprobes.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

enum { PENDING = 512, NAMES = 4096, NAME_ROOM = 256 };
typedef enum NameSource { NAME_UNKNOWN, NAME_OPENED, NAME_LATER } NameSource;

/*
 * A call that a thread has entered, at tid % PENDING. On a collision the event of the older call is
 * lost.
 */
typedef struct Pending {
    uint32_t tid;
    uint16_t event; /* EV_FILE_*, EV_ALLOC, EV_FREE; 0: none */
    int32_t fd;
    uint64_t size, offset, flags;
    bool named, renamed; /* name, newName are set for the next call */
    char name[NAME_ROOM], newName[NAME_ROOM];
} Pending;

/*
 * The file that a descriptor refers to, at a hash of pid and descriptor. A cache: /proc is read for
 * the others.
 */
typedef struct Named {
    uint32_t pid;
    int32_t fd;
    uint8_t source;
    bool file; /* a file, not a socket or pipe */
    bool own;  /* a file by which processes that use etw share sessions: no events */
    char *name;
} Named;

struct KernelFiles {
    Pending pending[PENDING];
    Named names[NAMES];
};

/* ---- State --------------------------------------------------------------------------------------- */

static KernelFiles *filesOf(EtwKernel *k)
{
    if (k->files == NULL) {
        k->files = EtwAlloc(sizeof *k->files);
    }
    return k->files;
}

static Pending *pendingOf(EtwKernel *k, uint32_t tid)
{
    Pending *pending = &filesOf(k)->pending[tid % PENDING];
    if (pending->tid != tid) {
        pending->tid = tid;
        pending->event = 0;
        pending->named = pending->renamed = false;
    }
    return pending;
}

static bool isOwn(const char *path)
{
    char session[1024];
    RegSessionPath(0, session, sizeof session);
    size_t size = (size_t)(strrchr(session, '/') + 1 - session);
    return strncmp(path, session, size) == 0 &&
           (strncmp(path + size, "registry", 8) == 0 || strncmp(path + size, "session-", 8) == 0);
}

static Named *slotOf(EtwKernel *k, uint32_t pid, int32_t fd)
{
    return &filesOf(k)->names[(pid * 2654435761u + (uint32_t)fd * 40503u) % NAMES];
}

static void setName(EtwKernel *k, uint32_t pid, int32_t fd, NameSource source, const char *name)
{
    Named *slot = slotOf(k, pid, fd);
    size_t size = strlen(name) + 1;
    free(slot->name);
    slot->name = malloc(size);
    if (slot->name == NULL) {
        slot->pid = 0;
        return;
    }
    memcpy(slot->name, name, size);
    slot->pid = pid;
    slot->fd = fd;
    slot->source = (uint8_t)source;
    slot->own = isOwn(name);
    slot->file = name[0] == '/' || source != NAME_LATER;
}

static void forget(EtwKernel *k, uint32_t pid, int32_t fd)
{
    Named *slot = slotOf(k, pid, fd);
    if (slot->pid == pid && slot->fd == fd) {
        slot->pid = 0;
    }
}

/* The file that the descriptor refers to; NULL: unknown. */
static const Named *nameOf(EtwKernel *k, uint32_t pid, int32_t fd)
{
    Named *slot = slotOf(k, pid, fd);
    char link[64], name[NAME_ROOM];
    ssize_t size;
    if (slot->pid == pid && slot->fd == fd) {
        return slot;
    }
    snprintf(link, sizeof link, "/proc/%u/fd/%d", pid, fd);
    size = readlink(link, name, sizeof name - 1);
    if (size < 0) {
        return NULL;
    }
    name[size] = '\0';
    setName(k, pid, fd, NAME_LATER, name);
    return slot->pid == pid ? slot : NULL;
}

void KernelFilesScan(EtwKernel *k, uint32_t pid)
{
    char path[64];
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    DIR *dir = opendir(path);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        /* Names that are known were given at the open, or are as good. */
        int fd = atoi(entry->d_name);
        if (entry->d_name[0] != '.' && slotOf(k, pid, fd)->name == NULL) {
            nameOf(k, pid, fd);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

/* ---- Names at open: uprobes on libc -------------------------------------------------------------- */

static const KernelUprobe probes[] = {
        {"open", "open64", "path=+0(" ARG_1 "):ustring", false},
        {"openat", "openat64", "path=+0(" ARG_2 "):ustring", false},
        {"unlink", "unlink", "path=+0(" ARG_1 "):ustring", false},
        {"unlinkat", "unlinkat", "path=+0(" ARG_2 "):ustring", false},
        {"rename", "rename", "path=+0(" ARG_1 "):ustring to=+0(" ARG_2 "):ustring", false},
        {"renameat", "renameat2", "path=+0(" ARG_2 "):ustring to=+0(" ARG_4 "):ustring", false},
};

void KernelFilesPrepare(void)
{
    KernelUprobesMake(probes, COUNT(probes), NULL); /* on failure, names come from /proc */
}

void KernelFilesFree(EtwKernel *k)
{
    if ((k->prepared & 1u << GROUP_FILEIO) != 0) {
        KernelUprobesRemove(probes, COUNT(probes));
    }
    for (int i = 0; k->files != NULL && i < NAMES; i++) {
        free(k->files->names[i].name);
    }
    EtwFree(k->files);
    k->files = NULL;
    EtwFree(k->disks);
    k->disks = NULL;
}

static void copyText(char *to, const KernelField *f, const TraceEvent *e)
{
    EtwBytes bytes = KernelDynamic(*f, false, e->data, e->size);
    size_t size = EtwBytesLeft(&bytes);
    size = strnlen((const char *)bytes.at, size < NAME_ROOM - 1 ? size : NAME_ROOM - 1);
    memcpy(to, bytes.at, size);
    to[size] = '\0';
}

/* The uprobe fires before the system call: keep the names for it. */
static void onName(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    Pending *pending = pendingOf(k, KernelTidOf(e));
    copyText(pending->name, &p->f[0], e);
    pending->named = true;
    pending->renamed = p->f[1].size != 0;
    if (pending->renamed) {
        copyText(pending->newName, &p->f[1], e);
    }
}

/* ---- Enter: keep the arguments -------------------------------------------------------------------- */

static Pending *enter(EtwKernel *k, const TraceEvent *e, int event)
{
    Pending *pending = pendingOf(k, KernelTidOf(e));
    pending->event = (uint16_t)event;
    pending->fd = -1;
    pending->size = pending->offset = pending->flags = 0;
    return pending;
}

/* Fields of the calls on descriptors: fd ?count ?pos. */
static void enterOn(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e, int event)
{
    Pending *pending = enter(k, e, event);
    pending->fd = (int32_t)KernelInt(p->f[0], e->data);
    pending->size = KernelUint(p->f[1], e->data);
    pending->offset = p->f[2].size != 0 ? KernelUint(p->f[2], e->data) : UINT64_MAX;
}

static void onEnterOpen(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    enter(k, e, EV_FILE_CREATE)->flags = KernelUint(p->f[0], e->data);
}
static void onEnterClose(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    enterOn(k, p, e, EV_FILE_CLOSE);
}
static void onEnterRead(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    enterOn(k, p, e, EV_FILE_READ);
}
static void onEnterWrite(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    enterOn(k, p, e, EV_FILE_WRITE);
}
static void onEnterFlush(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    enterOn(k, p, e, EV_FILE_FLUSH);
}
static void onEnterDelete(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    (void)p;
    enter(k, e, EV_FILE_DELETE);
}
static void onEnterRename(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    (void)p;
    enter(k, e, EV_FILE_RENAME);
}

/* ---- Exit: the event ------------------------------------------------------------------------------ */

static void putName(KernelPut *put, const Named *name)
{
    const char *text = name != NULL ? name->name : "";
    PutText(put, (const uint8_t *)text, strlen(text));
    Put8(put, name != NULL ? name->source : NAME_UNKNOWN);
}

static void putPath(KernelPut *put, bool told, const char *path)
{
    PutText(put, (const uint8_t *)path, told ? strlen(path) : 0);
}

static void emitCreate(
        EtwKernel *k, const TraceEvent *e, Pending *call, uint32_t pid, int64_t result)
{
    KernelPut put = KernelPutOf(k);
    Named failed = {.source = NAME_OPENED, .name = call->name};
    const Named *name = call->named ? &failed : NULL;
    if (result >= 0 && call->named) {
        setName(k, pid, (int32_t)result, NAME_OPENED, call->name);
    } else if (result >= 0) {
        forget(k, pid, (int32_t)result);
        name = nameOf(k, pid, (int32_t)result);
    }
    if (name != NULL && isOwn(name->name)) {
        return;
    }
    Put32(&put, (uint32_t)call->flags);
    Put64(&put, (uint64_t)result);
    putName(&put, name);
    KernelEmitPut(k, e, k->events[EV_FILE_CREATE], pid, call->tid, &put);
}

static void emitTransfer(
        EtwKernel *k, const TraceEvent *e, Pending *call, uint32_t pid, int64_t result)
{
    const Named *name = nameOf(k, pid, call->fd);
    KernelPut put = KernelPutOf(k);
    if (name != NULL && (!name->file || name->own)) {
        if (call->event == EV_FILE_CLOSE) {
            forget(k, pid, call->fd);
        }
        return;
    }
    Put32(&put, (uint32_t)call->fd);
    if (call->event == EV_FILE_READ || call->event == EV_FILE_WRITE) {
        Put64(&put, call->size);
        Put64(&put, call->offset);
    }
    Put64(&put, (uint64_t)result);
    putName(&put, name);
    KernelEmitPut(k, e, k->events[call->event], pid, call->tid, &put);
    if (call->event == EV_FILE_CLOSE) {
        forget(k, pid, call->fd);
    }
}

static void emitPath(EtwKernel *k, const TraceEvent *e, Pending *call, uint32_t pid, int64_t result)
{
    KernelPut put = KernelPutOf(k);
    if (call->named && isOwn(call->name)) {
        return;
    }
    Put64(&put, (uint64_t)result);
    putPath(&put, call->named, call->name);
    if (call->event == EV_FILE_RENAME) {
        putPath(&put, call->renamed, call->newName);
    }
    KernelEmitPut(k, e, k->events[call->event], pid, call->tid, &put);
}

static void emitAlloc(
        EtwKernel *k, const TraceEvent *e, Pending *call, uint32_t pid, int64_t result)
{
    KernelPut put = KernelPutOf(k);
    Put64(&put, call->event == EV_ALLOC ? (uint64_t)result : call->offset);
    Put64(&put, call->size);
    Put32(&put, (uint32_t)call->flags);
    if (call->event == EV_FREE) {
        Put64(&put, (uint64_t)result);
    }
    KernelEmitPut(k, e, k->events[call->event], pid, call->tid, &put);
}

static void onExit(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t tid = KernelTidOf(e);
    Pending *call = pendingOf(k, tid);
    int64_t result = KernelInt(p->f[0], e->data);
    if (call->event != 0 && k->events[call->event] != NULL) {
        uint32_t pid = KernelTaskProcess(&k->tasks, tid, e->ticks, true);
        switch (call->event) {
        case EV_FILE_CREATE:
            emitCreate(k, e, call, pid, result);
            break;
        case EV_FILE_DELETE:
        case EV_FILE_RENAME:
            emitPath(k, e, call, pid, result);
            break;
        case EV_ALLOC:
        case EV_FREE:
            emitAlloc(k, e, call, pid, result);
            break;
        default:
            emitTransfer(k, e, call, pid, result);
        }
    }
    call->event = 0;
    call->named = call->renamed = false;
}

/* A call with paths, by the BPF program: complete in one record (path_calls.h). */
static void onPathCall(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    static const uint16_t events[] = {[PATH_CALL_OPEN] = EV_FILE_CREATE,
            [PATH_CALL_UNLINK] = EV_FILE_DELETE,
            [PATH_CALL_RENAME] = EV_FILE_RENAME};
    PathCall record;
    Pending *call;
    (void)p;
    if (e->size < sizeof record) {
        return;
    }
    memcpy(&record, e->data, sizeof record);
    size_t room = e->size - sizeof record;
    int event = events[PathCallKindOf(record.number)];
    if (record.pathSize > room || record.toSize > room - record.pathSize || event == 0 ||
            k->events[event] == NULL) {
        return;
    }
    call = pendingOf(k, record.tid);
    const char *paths = (const char *)e->data + sizeof record;
    call->event = (uint16_t)event;
    call->flags = record.openFlags;
    call->named = record.pathSize != 0;
    call->renamed = record.toSize != 0;
    snprintf(call->name, NAME_ROOM, "%.*s", (int)record.pathSize, paths);
    snprintf(call->newName, NAME_ROOM, "%.*s", (int)record.toSize, paths + record.pathSize);
    if (event == EV_FILE_CREATE) {
        emitCreate(k, e, call, record.pid, record.result);
    } else {
        emitPath(k, e, call, record.pid, record.result);
    }
    call->event = 0;
    call->named = call->renamed = false;
}

/* ---- virtualalloc ---------------------------------------------------------------------------------- */

/* Fields: addr len ?prot. */
static void enterAlloc(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e, int event)
{
    Pending *pending = enter(k, e, event);
    pending->offset = KernelUint(p->f[0], e->data);
    pending->size = KernelUint(p->f[1], e->data);
    pending->flags = KernelUint(p->f[2], e->data);
}
static void onEnterMap(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    enterAlloc(k, p, e, EV_ALLOC);
}
static void onEnterUnmap(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    enterAlloc(k, p, e, EV_FREE);
}

/* ---- The tables ------------------------------------------------------------------------------------ */

#define ENTER(name, proc, ...)                                                                     \
    static const KernelTracepointDef enter_##name = {                                              \
            "syscalls", "sys_enter_" #name, IN_MAIN, NULL, proc, {__VA_ARGS__}};                   \
    static const KernelTracepointDef exit_##name = {                                               \
            "syscalls", "sys_exit_" #name, IN_MAIN, NULL, onExit, {"ret"}}
#define PROBE(name, ...)                                                                           \
    static const KernelTracepointDef probe_##name = {                                              \
            KERNEL_UPROBES, #name, IN_MAIN, NULL, onName, {__VA_ARGS__}}

ENTER(openat, onEnterOpen, "flags");
ENTER(open, onEnterOpen, "flags");
ENTER(creat, onEnterOpen, "?flags");
ENTER(openat2, onEnterOpen, "?flags");
ENTER(close, onEnterClose, "fd");
ENTER(read, onEnterRead, "fd", "count");
ENTER(pread64, onEnterRead, "fd", "count", "pos");
ENTER(readv, onEnterRead, "fd");
ENTER(preadv, onEnterRead, "fd");
ENTER(write, onEnterWrite, "fd", "count");
ENTER(pwrite64, onEnterWrite, "fd", "count", "pos");
ENTER(writev, onEnterWrite, "fd");
ENTER(pwritev, onEnterWrite, "fd");
ENTER(fsync, onEnterFlush, "fd");
ENTER(fdatasync, onEnterFlush, "fd");
ENTER(unlink, onEnterDelete, NULL);
ENTER(unlinkat, onEnterDelete, NULL);
ENTER(rename, onEnterRename, NULL);
ENTER(renameat, onEnterRename, NULL);
ENTER(renameat2, onEnterRename, NULL);
ENTER(mmap, onEnterMap, "addr", "len", "prot");
ENTER(munmap, onEnterUnmap, "addr", "len");
PROBE(open, "path");
PROBE(openat, "path");
PROBE(unlink, "path");
PROBE(unlinkat, "path");
PROBE(rename, "path", "to");
PROBE(renameat, "path", "to");

#define BOTH(name) &enter_##name, &exit_##name
const KernelTracepointDef *const kernelFilePoints[] = {BOTH(close), BOTH(read), BOTH(write), NULL};
const KernelTracepointDef *const kernelFileExtras[] = {BOTH(pread64), BOTH(readv), BOTH(preadv),
        BOTH(pwrite64), BOTH(writev), BOTH(pwritev), BOTH(fsync), BOTH(fdatasync), NULL};
const KernelTracepointDef *const kernelPathPoints[] = {&probe_open, &probe_openat, &probe_unlink,
        &probe_unlinkat, &probe_rename, &probe_renameat, BOTH(openat), BOTH(open), BOTH(creat),
        BOTH(openat2), BOTH(unlink), BOTH(unlinkat), BOTH(rename), BOTH(renameat), BOTH(renameat2),
        NULL};
const KernelTracepointDef kernelPathCallPoint = {
        "etw", "path_call", IN_MAIN, NULL, onPathCall, {NULL}};
const KernelTracepointDef *const kernelAllocPoints[] = {BOTH(mmap), BOTH(munmap), NULL};
