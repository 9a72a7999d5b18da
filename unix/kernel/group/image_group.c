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

struct KernelImages {
    EtwImageTable table;
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

static void emitUnload(EtwKernel *k, const TraceEvent *e, const EtwImageProcess *p, uint32_t tid)
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
        EtwImageProcess *process = EtwImagesFind(&t->table, r->pid);
        if (process != NULL) {
            emitUnload(k, e, process, r->tid);
            EtwImagesRemove(&t->table, process);
        }
        return;
    }
    if (!EtwImageIsFile(r->path)) {
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
    EtwImagesAdd(&t->table, r->pid, &image, false);
    emit(k, e, EV_IMAGE_LOAD, r->pid, r->tid, &image);
}

/* A child without an exec runs with the images of its parent. */
void KernelImagesFork(EtwKernel *k, const TraceEvent *e, uint32_t parent, uint32_t child)
{
    const EtwImageProcess *from =
            k->images != NULL ? EtwImagesFind(&k->images->table, parent) : NULL;
    for (int i = 0; from != NULL && i < from->count; i++) {
        EtwImagesAdd(&k->images->table, child, &from->images[i].of, false);
        emit(k, e, EV_IMAGE_DCSTART, child, child, &from->images[i].of);
    }
}

void KernelImagesExit(EtwKernel *k, const TraceEvent *e, uint32_t pid)
{
    EtwImageProcess *p = k->images != NULL ? EtwImagesFind(&k->images->table, pid) : NULL;
    if (p != NULL) {
        emitUnload(k, e, p, pid);
        EtwImagesRemove(&k->images->table, p);
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
    EtwImagesAdd(&r->table->table, r->pid, image, true);
}

/* The kernel's events of the process that are not drained yet follow, with the same images or newer ones. */
void KernelImagesScan(EtwKernel *k, uint32_t pid)
{
    KernelImages *t = imagesOf(k);
    if (EtwImagesFind(&t->table, pid) != NULL) {
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
    EtwImageProcess *p = (EtwImageProcess *)node;
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
        EtwTableVisit(&t->table.processes, emitFresh, &to);
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
    End end = {*(Emission *)ctx, ((EtwImageProcess *)node)->pid};
    if (end.pid == 0) {
        for (int i = 0; i < ((EtwImageProcess *)node)->count; i++) {
            emitEnd(&end, &((EtwImageProcess *)node)->images[i].of);
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
        EtwTableVisit(&t->table.processes, emitProcessEnd, &to);
    }
}

const EtwImageTable *KernelImagesTable(const EtwKernel *k)
{
    return k->images != NULL ? &k->images->table : NULL;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

void KernelImagesFree(EtwKernel *k)
{
    if (k->images != NULL) {
        EtwImagesFree(&k->images->table);
        EtwFree(k->images);
        k->images = NULL;
    }
}

const KernelTracepointDef kernelImagePoint = {"perf", "mmap", IN_MAIN, NULL, onImage, {NULL}};
const KernelTracepointDef *const kernelImagePoints[] = {&kernelImagePoint, NULL};
