/*
 * unix/kernel/group/image_group.c --
 *
 *	The group imageload: the programs and shared libraries of the traced processes. The kernel
 *	reports each executable mapping of a file (PERF_RECORD_MMAP2) and the beginning of an exec
 *	(PERF_RECORD_COMM). Images that are mapped already are read from /proc when the process is
 *	added to the session (DCStart), and again at the session's end (DCEnd). A table of the images
 *	of each process serves two things that the kernel does not report: the images that a child
 *	inherits, and those that an exec or the end of a process unloads. A library that is unloaded
 *	by dlclose is in the table until another image is mapped to its place.
 */
#include "unix/kernel/group/image_group.h"
#include "unix/kernel/kernel_int.h"
#include "base/hash_table.h"

enum { IMAGES_OF_PROCESS = 4096, IMAGES_MAX = 200000, PATHS_MAX_BYTES = 16 << 20 };

typedef struct Path {
    EtwTableNode node;
    size_t size;
    char text[];
} Path;

typedef struct Image {
    ProcImage of; /* its path is a Path */
    bool fresh;   /* read from /proc, not reported yet */
} Image;

typedef struct Process {
    EtwTableNode node;
    uint32_t pid;
    Image *images;
    int count, capacity;
} Process;

struct KernelImages {
    EtwTable processes, paths;
    size_t pathBytes;
    int count;      /* of all processes */
    bool fresh;     /* some images are not reported yet */
    uint64_t since; /* ticks of their event */
    uint64_t end;   /* ticks of DCEnd events; 0: not yet, or done */
};

static KernelImages *imagesOf(EtwKernel *k)
{
    if (k->images == NULL) {
        k->images = EtwAlloc(sizeof *k->images);
    }
    return k->images;
}

/* ---- The table ------------------------------------------------------------------------------- */

static Process *findProcess(const KernelImages *t, uint32_t pid)
{
    EtwTableNode *n = EtwTableFirst(&t->processes, EtwHashNumber(pid));
    while (n != NULL && ((Process *)n)->pid != pid) {
        n = n->next;
    }
    return (Process *)n;
}

static Process *processOf(KernelImages *t, uint32_t pid)
{
    Process *p = findProcess(t, pid);
    if (p == NULL) {
        p = EtwAlloc(sizeof *p);
        p->pid = pid;
        EtwTableAdd(&t->processes, &p->node, EtwHashNumber(pid));
    }
    return p;
}

/* NULL: the limit was reached. */
static const char *keepPath(KernelImages *t, const char *text, size_t size)
{
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)text, size);
    for (EtwTableNode *n = EtwTableFirst(&t->paths, hash); n != NULL; n = n->next) {
        Path *path = (Path *)n;
        if (path->size == size && memcmp(path->text, text, size) == 0) {
            return path->text;
        }
    }
    if (t->pathBytes + size > PATHS_MAX_BYTES) {
        return NULL;
    }
    Path *path = EtwAlloc(sizeof *path + size + 1);
    path->size = size;
    memcpy(path->text, text, size);
    t->pathBytes += sizeof *path + size;
    EtwTableAdd(&t->paths, &path->node, hash);
    return path->text;
}

static bool overlaps(const ProcImage *a, const ProcImage *b)
{
    return a->base < b->base + b->size && b->base < a->base + a->size;
}

/* Images at the same place were unloaded before. */
static void addImage(KernelImages *t, uint32_t pid, const ProcImage *image, bool fresh)
{
    Process *p = processOf(t, pid);
    int kept = 0;
    for (int i = 0; i < p->count; i++) {
        if (!overlaps(&p->images[i].of, image)) {
            p->images[kept++] = p->images[i];
        }
    }
    t->count -= p->count - kept;
    p->count = kept;
    const char *path = keepPath(t, image->path, image->pathSize);
    if (path == NULL || p->count >= IMAGES_OF_PROCESS || t->count >= IMAGES_MAX) {
        return;
    }
    if (p->count == p->capacity) {
        p->capacity = p->capacity != 0 ? 2 * p->capacity : 16;
        p->images = EtwRealloc(p->images, (size_t)p->capacity * sizeof *p->images);
    }
    p->images[p->count] = (Image){*image, fresh};
    p->images[p->count++].of.path = path;
    t->count++;
}

static void removeProcess(KernelImages *t, Process *p)
{
    t->count -= p->count;
    EtwTableRemove(&t->processes, &p->node);
    EtwFree(p->images);
    EtwFree(p);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void emit(EtwKernel *k, const TraceEvent *e, KernelEventId id, uint32_t pid, uint32_t tid,
        const ProcImage *image)
{
    char text[ETW_BUILD_ID_TEXT];
    KernelPut put = KernelPutOf(k);
    Put64(&put, image->base);
    Put64(&put, image->size);
    Put32(&put, pid);
    Put64(&put, image->offset);
    PutText(&put, (const uint8_t *)image->path, image->pathSize);
    EtwBuildIdText(image->build, image->buildSize, text);
    PutText(&put, (const uint8_t *)text, sizeof text);
    KernelEmitPut(k, e, k->events[id], pid, tid, &put);
}

static void emitUnload(EtwKernel *k, const TraceEvent *e, const Process *p, uint32_t tid)
{
    for (int i = 0; i < p->count; i++) {
        emit(k, e, EV_IMAGE_UNLOAD, p->pid, tid, &p->images[i].of);
    }
}

static void onImage(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    const KernelImage *r = (const KernelImage *)e->data;
    KernelImages *t = imagesOf(k);
    (void)p;
    if (r->isExec) {
        Process *process = findProcess(t, r->pid);
        if (process != NULL) {
            emitUnload(k, e, process, r->tid);
            removeProcess(t, process);
        }
        return;
    }
    if (!ProcIsImage(r->path)) {
        return;
    }
    ProcImage image = {.base = r->address,
            .size = r->size,
            .offset = r->offset,
            .path = r->path,
            .pathSize = strlen(r->path),
            .buildSize = r->buildSize <= ETW_BUILD_ID_MAX ? r->buildSize : 0};
    if (image.size == 0 || image.base + (image.size - 1) < image.base) {
        return;
    }
    memcpy(image.build, r->build, image.buildSize);
    addImage(t, r->pid, &image, false);
    emit(k, e, EV_IMAGE_LOAD, r->pid, r->tid, &image);
}

/* A child without an exec runs with the images of its parent. */
void KernelImagesFork(EtwKernel *k, const TraceEvent *e, uint32_t parent, uint32_t child)
{
    const Process *from = k->images != NULL ? findProcess(k->images, parent) : NULL;
    for (int i = 0; from != NULL && i < from->count; i++) {
        addImage(k->images, child, &from->images[i].of, false);
        emit(k, e, EV_IMAGE_DCSTART, child, child, &from->images[i].of);
    }
}

void KernelImagesExit(EtwKernel *k, const TraceEvent *e, uint32_t pid)
{
    Process *p = k->images != NULL ? findProcess(k->images, pid) : NULL;
    if (p != NULL) {
        emitUnload(k, e, p, pid);
        removeProcess(k->images, p);
    }
}

/* ---- Rundown --------------------------------------------------------------------------------- */

typedef struct Rundown {
    KernelImages *table;
    uint32_t pid;
} Rundown;

static void takeImage(void *ctx, const ProcImage *image)
{
    const Rundown *r = ctx;
    addImage(r->table, r->pid, image, true);
}

/* The kernel's events of the process that are not drained yet follow, with the same images or newer ones. */
void KernelImagesScan(EtwKernel *k, uint32_t pid)
{
    KernelImages *t = imagesOf(k);
    if (findProcess(t, pid) != NULL) {
        return;
    }
    if (pid == 0) {
        ProcImagesOfKernel(takeImage, &(Rundown){t, pid});
    } else {
        ProcImagesOf(pid, takeImage, &(Rundown){t, pid});
    }
    t->since = t->fresh ? t->since : OsTicks();
    t->fresh = true;
}

typedef struct Emission {
    EtwKernel *kernel;
    TraceEvent event;
} Emission;

static void emitFresh(void *ctx, EtwTableNode *node)
{
    const Emission *to = ctx;
    Process *p = (Process *)node;
    for (int i = 0; i < p->count; i++) {
        if (p->images[i].fresh) {
            p->images[i].fresh = false;
            emit(to->kernel, &to->event, EV_IMAGE_DCSTART, p->pid, p->pid, &p->images[i].of);
        }
    }
}

void KernelImagesReport(EtwKernel *k, uint64_t until)
{
    KernelImages *t = k->images;
    if (t != NULL && t->fresh && t->since <= until) {
        Emission to = {k, {.ticks = t->since}};
        EtwTableVisit(&t->processes, emitFresh, &to);
        t->fresh = false;
    }
}

void KernelImagesQuiesce(EtwKernel *k)
{
    if (k->images != NULL) {
        k->images->end = OsTicks();
    }
}

typedef struct End {
    Emission to;
    uint32_t pid;
} End;

static void emitEnd(void *ctx, const ProcImage *image)
{
    const End *end = ctx;
    emit(end->to.kernel, &end->to.event, EV_IMAGE_DCEND, end->pid, end->pid, image);
}

static void emitProcessEnd(void *ctx, EtwTableNode *node)
{
    End end = {*(Emission *)ctx, ((Process *)node)->pid};
    if (end.pid == 0) {
        for (int i = 0; i < ((Process *)node)->count; i++) {
            emitEnd(&end, &((Process *)node)->images[i].of);
        }
    } else {
        ProcImagesOf(end.pid, emitEnd, &end);
    }
}

void KernelImagesEnd(EtwKernel *k, uint64_t until)
{
    KernelImages *t = k->images;
    if (t != NULL && t->end != 0 && t->end <= until) {
        Emission to = {k, {.ticks = t->end}};
        t->end = 0;
        EtwTableVisit(&t->processes, emitProcessEnd, &to);
    }
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static void freePath(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static void freeProcess(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((Process *)node)->images);
    EtwFree(node);
}

void KernelImagesFree(EtwKernel *k)
{
    if (k->images != NULL) {
        EtwTableFree(&k->images->processes, freeProcess);
        EtwTableFree(&k->images->paths, freePath);
        EtwFree(k->images);
        k->images = NULL;
    }
}

const KernelTracepointDef kernelImagePoint = {"perf", "mmap", IN_MAIN, NULL, onImage, {NULL}};
const KernelTracepointDef *const kernelImagePoints[] = {&kernelImagePoint, NULL};
