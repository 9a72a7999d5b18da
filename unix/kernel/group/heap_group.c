/*
 * unix/kernel/group/heap_group.c --
 *
 *	The group heap: memory that a program allocates with libc's malloc, calloc, realloc and
 *	aligned_alloc and releases with free. It uses uprobes, which cost the traced processes
 *	microseconds for each call (bench/kernel.tcl). They are always opened through perf, which
 *	places them in those processes only; with tracefs every process of the machine would hit
 *	them. Of a program with an allocator of its own, only its calls to libc are seen.
 *	posix_memalign is not seen.
 */
#include "unix/kernel/kernel_int.h"
#include "base/alloc.h"
#include "unix/kernel/transport/uprobes.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

enum { PENDING = 512 };
typedef enum HeapCallKind {
    HEAP_NONE,
    HEAP_MALLOC,
    HEAP_CALLOC,
    HEAP_REALLOC,
    HEAP_ALIGNED
} HeapCallKind;

/*
 * A call that a thread has entered, at tid % PENDING. On a collision the event of the older call is
 * lost.
 */
typedef struct HeapCall {
    uint32_t tid;
    uint8_t kind;
    bool nested; /* inside a malloc that another of these calls makes: not reported */
    uint64_t size, old;
} HeapCall;

struct KernelHeap {
    HeapCall calls[PENDING];
};

/* ---- Calls ------------------------------------------------------------------------------------ */

static HeapCall *callOf(EtwKernel *k, uint32_t tid)
{
    if (k->heap == NULL) {
        k->heap = EtwAlloc(sizeof *k->heap);
    }
    HeapCall *call = &k->heap->calls[tid % PENDING];
    if (call->tid != tid) {
        *call = (HeapCall){.tid = tid};
    }
    return call;
}

static void enter(EtwKernel *k, const TraceEvent *e, HeapCallKind kind, uint64_t size, uint64_t old)
{
    HeapCall *call = callOf(k, KernelTidOf(e));
    if (kind == HEAP_MALLOC && call->kind > HEAP_MALLOC && !call->nested) {
        call->nested = true;
        return;
    }
    *call = (HeapCall){call->tid, (uint8_t)kind, false, size, old};
}

static void onMalloc(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    enter(k, e, HEAP_MALLOC, KernelUint(p->f[0], e->data), 0);
}
static void onCalloc(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint64_t size;
    if (__builtin_mul_overflow(KernelUint(p->f[0], e->data), KernelUint(p->f[1], e->data), &size)) {
        size = UINT64_MAX; /* the call will fail */
    }
    enter(k, e, HEAP_CALLOC, size, 0);
}
static void onRealloc(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    enter(k, e, HEAP_REALLOC, KernelUint(p->f[1], e->data), KernelUint(p->f[0], e->data));
}
static void onAligned(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    enter(k, e, HEAP_ALIGNED, KernelUint(p->f[1], e->data), 0);
}

/* ---- Events ----------------------------------------------------------------------------------- */

static void emitFree(EtwKernel *k, const TraceEvent *e, uint64_t address)
{
    uint32_t tid = KernelTidOf(e), pid = KernelTaskProcess(&k->tasks, tid, e->ticks, true);
    KernelPut put = KernelPutOf(k);
    Put64(&put, address);
    KernelEmitPut(k, e, k->events[EV_HEAP_FREE], pid, tid, &put);
}

static void onFree(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint64_t address = KernelUint(p->f[0], e->data);
    if (address != 0) {
        emitFree(k, e, address);
    }
}

static void emitCall(EtwKernel *k, const TraceEvent *e, const HeapCall *call, uint64_t address)
{
    bool again = call->old != 0;
    uint32_t pid = KernelTaskProcess(&k->tasks, call->tid, e->ticks, true);
    KernelPut put = KernelPutOf(k);
    if (again && call->size == 0 && address == 0) {
        emitFree(k, e, call->old);
        return;
    }
    Put64(&put, address);
    Put64(&put, call->size);
    if (again) {
        Put64(&put, call->old);
    }
    KernelEmitPut(k, e, k->events[again ? EV_HEAP_REALLOC : EV_HEAP_ALLOC], pid, call->tid, &put);
}

static void leave(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e, HeapCallKind kind)
{
    HeapCall *call = callOf(k, KernelTidOf(e));
    if (call->kind == kind) {
        emitCall(k, e, call, KernelUint(p->f[0], e->data));
        call->kind = HEAP_NONE;
    }
}

static void onMallocDone(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    leave(k, p, e, HEAP_MALLOC);
}
static void onCallocDone(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    leave(k, p, e, HEAP_CALLOC);
}
static void onReallocDone(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    leave(k, p, e, HEAP_REALLOC);
}
static void onAlignedDone(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    leave(k, p, e, HEAP_ALIGNED);
}

/* ---- The tables ------------------------------------------------------------------------------- */

static const KernelUprobe probes[] = {
        {"malloc", "malloc", "size=" ARG_1, false},
        {"malloc_done", "malloc", "address=$retval", true},
        {"calloc", "calloc", "count=" ARG_1 " size=" ARG_2, false},
        {"calloc_done", "calloc", "address=$retval", true},
        {"realloc", "realloc", "old=" ARG_1 " size=" ARG_2, false},
        {"realloc_done", "realloc", "address=$retval", true},
        {"aligned_alloc", "aligned_alloc", "alignment=" ARG_1 " size=" ARG_2, false},
        {"aligned_alloc_done", "aligned_alloc", "address=$retval", true},
        {"free", "free", "address=" ARG_1, false},
};

EtwStatus KernelHeapPrepare(EtwError *err)
{
    return KernelUprobesMake(probes, COUNT(probes), err);
}

void KernelHeapFree(EtwKernel *k)
{
    if ((k->prepared & 1u << GROUP_HEAP) != 0) {
        KernelUprobesRemove(probes, COUNT(probes));
    }
    EtwFree(k->heap);
    k->heap = NULL;
}

#define POINT(name, filter, proc, ...)                                                             \
    static const KernelTracepointDef point_##name = {                                              \
            KERNEL_UPROBES, #name, IN_UPROBES, filter, proc, {__VA_ARGS__}}

POINT(malloc, NULL, onMalloc, "size");
POINT(malloc_done, NULL, onMallocDone, "address");
POINT(calloc, NULL, onCalloc, "count", "size");
POINT(calloc_done, NULL, onCallocDone, "address");
POINT(realloc, NULL, onRealloc, "old", "size");
POINT(realloc_done, NULL, onReallocDone, "address");
POINT(aligned_alloc, NULL, onAligned, "alignment", "size");
POINT(aligned_alloc_done, NULL, onAlignedDone, "address");
POINT(free, "address != 0", onFree, "address");

const KernelTracepointDef *const kernelHeapPoints[] = {&point_malloc, &point_malloc_done,
        &point_calloc, &point_calloc_done, &point_realloc, &point_realloc_done,
        &point_aligned_alloc, &point_aligned_alloc_done, &point_free, NULL};
