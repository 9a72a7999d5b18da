/*
 * unix/kernel/group/system_group.c --
 *
 *	The groups diskio, pagefault, hardfault, interrupt, dpc and profile. A disk request belongs
 *	to the thread that issued it, often a kernel thread that writes older data. Requests are
 *	collected from all threads and filtered by owner. Interrupts and softirqs are attributed to
 *	the thread that they interrupt.
 */
#include "unix/kernel/kernel_int.h"
#include "base/alloc.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* ---- diskio ---------------------------------------------------------------------------------------- */

enum { REQUESTS = 256 };

/*
 * Pending requests with their owner, by device and sector. On a collision the older request loses
 * its owner.
 */
typedef struct Request {
    uint64_t sector;
    uint32_t device, size, pid, tid;
    bool known;
} Request;
struct KernelDisks {
    Request requests[REQUESTS];
};

enum { RQ_DEVICE, RQ_SECTOR, RQ_COUNT, RQ_KIND, RQ_BYTES, RQ_ERROR = RQ_BYTES };

static Request *requestOf(EtwKernel *k, uint32_t device, uint64_t sector)
{
    if (k->disks == NULL) {
        k->disks = EtwAlloc(sizeof *k->disks);
    }
    return &k->disks->requests[(sector ^ sector >> 9 ^ device) % REQUESTS];
}

/* Kinds are "R", "WS", "FWFS", "D" ... A flush before a write counts as a write. */
static int diskEvent(const KernelTracepoint *p, const TraceEvent *e)
{
    const char *kind = (const char *)e->data + p->f[RQ_KIND].offset;
    size_t size = strnlen(kind, p->f[RQ_KIND].size);
    if (memchr(kind, 'W', size) != NULL) {
        return EV_DISK_WRITE;
    }
    if (memchr(kind, 'R', size) != NULL) {
        return EV_DISK_READ;
    }
    return memchr(kind, 'F', size) != NULL ? EV_DISK_FLUSH : EV_DISK_OTHER;
}

/* A dev_t of the kernel has 12 bits major and 20 bits minor. */
static void putDisk(KernelPut *put, uint32_t device, uint64_t sector, uint32_t size)
{
    Put32(put, device >> 20);
    Put32(put, device & 0xfffff);
    Put64(put, sector == UINT64_MAX ? 0 : sector * 512);
    Put32(put, size);
}

static void onIssue(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t device = (uint32_t)KernelUint(p->f[RQ_DEVICE], e->data), tid = KernelTidOf(e);
    uint64_t sector = KernelUint(p->f[RQ_SECTOR], e->data);
    uint32_t pid = KernelTaskProcess(&k->tasks, tid, e->ticks, false);
    Request *request = requestOf(k, device, sector);
    KernelPut put = KernelPutOf(k);
    *request = (Request){
            sector, device, (uint32_t)KernelUint(p->f[RQ_BYTES], e->data), pid, tid, true};
    if (pid == 0 && !k->tasks.all) {
        return;
    }
    putDisk(&put, device, sector, request->size);
    KernelEmitPut(k, e, k->events[EV_DISK_INIT], pid, tid, &put);
}

static void onComplete(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t device = (uint32_t)KernelUint(p->f[RQ_DEVICE], e->data);
    uint64_t sector = KernelUint(p->f[RQ_SECTOR], e->data);
    Request *request = requestOf(k, device, sector);
    bool known = request->known && request->device == device && request->sector == sector;
    uint32_t pid = known ? request->pid : 0, tid = known ? request->tid : UINT32_MAX;
    KernelPut put = KernelPutOf(k);
    if (pid == 0 && !k->tasks.all) {
        return;
    }
    putDisk(&put, device, sector,
            known ? request->size : 512 * (uint32_t)KernelUint(p->f[RQ_COUNT], e->data));
    Put32(&put, tid);
    Put32(&put, (uint32_t)KernelInt(p->f[RQ_ERROR], e->data));
    request->known = known ? false : request->known;
    KernelEmitPut(k, e, k->events[diskEvent(p, e)], known ? pid : UINT32_MAX, tid, &put);
}

/* ---- Faults ---------------------------------------------------------------------------------------- */

static void onFault(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t tid = KernelTidOf(e);
    KernelPut put = KernelPutOf(k);
    Put64(&put, KernelUint(p->f[0], e->data));
    Put64(&put, KernelUint(p->f[1], e->data));
    Put32(&put, (uint32_t)KernelUint(p->f[2], e->data));
    KernelEmitPut(k, e, k->events[EV_FAULT], KernelTaskProcess(&k->tasks, tid, e->ticks, true), tid,
            &put);
}

static void onHardFault(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    uint32_t tid = KernelTidOf(e), device = (uint32_t)KernelUint(p->f[1], e->data);
    KernelPut put = KernelPutOf(k);
    Put32(&put, device >> 20);
    Put32(&put, device & 0xfffff);
    Put64(&put, KernelUint(p->f[0], e->data));
    Put64(&put, KernelUint(p->f[2], e->data) * 4096);
    KernelEmitPut(k, e, k->events[EV_HARD_FAULT], KernelTaskProcess(&k->tasks, tid, e->ticks, true),
            tid, &put);
}

/* ---- Interrupts ------------------------------------------------------------------------------------ */

/* Emit the event for the interrupted thread, if it or everything is traced. */
static void emitInterrupt(EtwKernel *k, const TraceEvent *e, KernelEventId id, const KernelPut *put)
{
    uint32_t tid = KernelTidOf(e);
    uint32_t pid = tid != 0 ? KernelTaskProcess(&k->tasks, tid, e->ticks, true) : 0;
    if (pid != 0 || k->tasks.all) {
        KernelEmitPut(k, e, k->events[id], pid, tid, put);
    }
}

static void onInterrupt(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    EtwBytes name = KernelDynamic(p->f[1], false, e->data, e->size);
    KernelPut put = KernelPutOf(k);
    Put32(&put, (uint32_t)KernelInt(p->f[0], e->data));
    PutText(&put, name.at, EtwBytesLeft(&name));
    emitInterrupt(k, e, EV_ISR_ENTER, &put);
}

static void onInterruptEnd(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    KernelPut put = KernelPutOf(k);
    Put32(&put, (uint32_t)KernelInt(p->f[0], e->data));
    Put32(&put, (uint32_t)KernelInt(p->f[1], e->data));
    emitInterrupt(k, e, EV_ISR_EXIT, &put);
}

static void putVector(KernelPut *put, const KernelTracepoint *p, const TraceEvent *e)
{
    static const char *const names[] = {"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL",
            "TASKLET", "SCHED", "HRTIMER", "RCU"};
    uint32_t vector = (uint32_t)KernelUint(p->f[0], e->data);
    const char *name = vector < (uint32_t)COUNT(names) ? names[vector] : "";
    Put32(put, vector);
    PutText(put, (const uint8_t *)name, strlen(name));
}

static void onSoft(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    KernelPut put = KernelPutOf(k);
    putVector(&put, p, e);
    emitInterrupt(k, e, EV_DPC_ENTER, &put);
}

static void onSoftEnd(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    KernelPut put = KernelPutOf(k);
    putVector(&put, p, e);
    emitInterrupt(k, e, EV_DPC_EXIT, &put);
}

/* ---- Samples ------------------------------------------------------------------------------------ */

struct tep_event *KernelSampleFormat(void)
{
    static struct tep_event format = {.id = SAMPLE_TYPE_ID, .system = "perf", .name = "cpu-clock"};
    return &format;
}

static void onSample(EtwKernel *k, const KernelTracepoint *p, const TraceEvent *e)
{
    const KernelSample *sample = (const KernelSample *)e->data;
    const char *mode = sample->inKernel ? "kernel" : "user";
    KernelPut put = KernelPutOf(k);
    Put64(&put, sample->address);
    Put64(&put, p->interval);
    PutText(&put, (const uint8_t *)mode, strlen(mode));
    KernelEmitPut(k, e, k->events[EV_SAMPLE], sample->pid, sample->tid, &put);
}

/* ---- The tables ------------------------------------------------------------------------------------ */

static const KernelTracepointDef issue = {"block", "block_rq_issue", IN_ANY, NULL, onIssue,
        {"dev", "sector", "nr_sector", "rwbs", "bytes"}};
static const KernelTracepointDef complete = {"block", "block_rq_complete", IN_ANY, NULL, onComplete,
        {"dev", "sector", "nr_sector", "rwbs", "?error"}};
static const KernelTracepointDef fault = {
        "exceptions", "page_fault_user", IN_MAIN, NULL, onFault, {"address", "ip", "error_code"}};
static const KernelTracepointDef hardFault = {
        "filemap", "mm_filemap_fault", IN_MAIN, NULL, onHardFault, {"i_ino", "s_dev", "index"}};
static const KernelTracepointDef isr = {
        "irq", "irq_handler_entry", IN_MAIN, NULL, onInterrupt, {"irq", "name"}};
static const KernelTracepointDef isrEnd = {
        "irq", "irq_handler_exit", IN_MAIN, NULL, onInterruptEnd, {"irq", "ret"}};
static const KernelTracepointDef soft = {"irq", "softirq_entry", IN_MAIN, NULL, onSoft, {"vec"}};
static const KernelTracepointDef softEnd = {
        "irq", "softirq_exit", IN_MAIN, NULL, onSoftEnd, {"vec"}};

const KernelTracepointDef *const kernelDiskPoints[] = {&issue, &complete, NULL};
const KernelTracepointDef *const kernelFaultPoints[] = {&fault, NULL};
const KernelTracepointDef *const kernelHardFaultPoints[] = {&hardFault, NULL};
const KernelTracepointDef *const kernelInterruptPoints[] = {&isr, &isrEnd, NULL};
const KernelTracepointDef *const kernelDpcPoints[] = {&soft, &softEnd, NULL};
const KernelTracepointDef kernelSamplePoint = {
        "perf", "cpu-clock", IN_MAIN, NULL, onSample, {NULL}};
const KernelTracepointDef *const kernelProfilePoints[] = {&kernelSamplePoint, NULL};
