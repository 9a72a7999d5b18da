/*
 * unix/kernel/transport/perf_ring.c --
 *
 *	The perf ring of one CPU as a stream of the merge. The ring is mapped from a dummy event.
 *	Records are read in place (a record that wraps is copied) and released one by one. Time
 *	stamps are converted to session ticks. Times never decrease within a ring: an interrupt
 *	between time stamp and reservation may swap two records. The second record then gets the
 *	time of the first, which is at most a microsecond off.
 */
#define _GNU_SOURCE
#include "unix/kernel/transport/perf_transport.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RECORD_ROOM = 65536, MOST_STACK = 255 };

struct PerfRing {
    TraceStream stream; /* must be first: next receives it */
    const PerfClock *clock;
    int fd;
    struct perf_event_mmap_page *control;
    const uint8_t *data;
    size_t size; /* of data; a power of two */
    uint64_t at; /* position of the next record, never decreasing */
    uint64_t head;
    uint64_t lost;
    bool samples;      /* true: PERF_SAMPLES; false: PERF_LAYOUT */
    bool copies;       /* with PERF_COPIES */
    KernelSample who;  /* the data of a sample's event */
    KernelImage image; /* of a mapping's */
    EtwUnwindSample stackCopy;
    uint64_t stack[MOST_STACK];
    uint8_t copy[RECORD_ROOM];
};

int PerfOpenFd(struct perf_event_attr *attr, int tid, int cpu)
{
    attr->size = sizeof *attr;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC_RAW;
    return (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* ---- Copies of stacks ------------------------------------------------------------------------ */

enum { COPY_BYTES = 8192 };
/* The registers that unwinding needs, by asm/perf_regs.h. */
#ifdef __aarch64__
#define COPY_REGISTERS 0x1ffffffffull /* x0 to x30, sp, pc */
#else
#define COPY_REGISTERS 0xff01ffull /* ax to sp, ip, r8 to r15 */
#endif

void PerfRequestCopies(struct perf_event_attr *attr, bool copies)
{
    attr->sample_regs_user = copies ? COPY_REGISTERS : 1; /* none is not possible */
    attr->sample_stack_user = copies ? COPY_BYTES : 0;
}

/*
 * Registers (their number of bits; none of a kernel thread) and bytes. Events without a copy have one register and no
 * bytes.
 */
static void takeCopy(PerfRing *r, const uint8_t *p, size_t size)
{
    enum { ABI_64 = 2 };
    EtwBytes b = EtwBytesOf(p, size);
    uint64_t abi = EtwTake64(&b);
    if (abi != ABI_64 || size < 8 * 4) {
        return;
    }
    r->stackCopy = (EtwUnwindSample){.mask = COPY_REGISTERS};
    r->stackCopy.registers = EtwTake(&b, 8 * (size_t)__builtin_popcountll(COPY_REGISTERS));
    uint64_t room = EtwTake64(&b);
    r->stackCopy.stack = room <= EtwBytesLeft(&b) ? EtwTake(&b, (size_t)room) : NULL;
    uint64_t used = room != 0 ? EtwTake64(&b) : 0;
    r->stackCopy.stackSize = (size_t)(used < room ? used : room);
    if (!b.failed && r->stackCopy.stack != NULL) {
        r->stream.event.copy = &r->stackCopy;
    }
}

/* ---- Creating -------------------------------------------------------------------------------- */

static bool map(PerfRing *r, size_t kb)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *at = mmap(NULL, page + kb * 1024, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
    if (at == MAP_FAILED) {
        return false;
    }
    r->control = at;
    r->data = (const uint8_t *)at + page;
    r->size = kb * 1024;
    return true;
}

static bool next(TraceStream *stream);

PerfRing *PerfRingNew(
        int cpu, size_t kb, uint8_t transport, uint64_t layout, const PerfClock *clock)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
            .config = PERF_COUNT_SW_DUMMY,
            .exclude_kernel = 1,
            .exclude_hv = 1,
            .sample_type = layout};
    if (layout & PERF_COPIES) {
        PerfRequestCopies(&attr, false);
    }
    PerfRing *r;
    int fd, why;
    fd = PerfOpenFd(&attr, 0, cpu);
    if (fd < 0) {
        return NULL;
    }
    r = EtwAlloc(sizeof *r);
    r->fd = fd;
    r->clock = clock;
    r->samples = (layout & ~(uint64_t)PERF_COPIES) == PERF_SAMPLES;
    r->copies = (layout & PERF_COPIES) != 0;
    r->stream.next = next;
    r->stream.event.cpu = (uint16_t)cpu;
    r->stream.event.transport = transport;
    if (!map(r, kb)) {
        why = errno;
        PerfRingFree(r);
        errno = why;
        return NULL;
    }
    return r;
}

void PerfRingFree(PerfRing *r)
{
    if (r->control != NULL) {
        munmap(r->control, (size_t)(r->data - (const uint8_t *)r->control) + r->size);
    }
    close(r->fd);
    EtwFree(r);
}

int PerfRingFd(const PerfRing *r)
{
    return r->fd;
}

TraceStream *PerfRingStream(PerfRing *r)
{
    return &r->stream;
}

uint64_t PerfRingLost(const PerfRing *r)
{
    return r->lost;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The record as one block. Positions are multiples of 8, so a header never wraps. */
static const uint8_t *record(PerfRing *r, uint16_t size)
{
    size_t offset = (size_t)r->at & (r->size - 1), first = r->size - offset;
    if (size <= first) {
        return r->data + offset;
    }
    memcpy(r->copy, r->data + offset, first);
    memcpy(r->copy + first, r->data, size - first);
    return r->copy;
}

/* True if code may be at this address. Other values are not frames. */
static bool isCode(uint64_t address)
{
    return address >= 4096 && (address < (uint64_t)1 << 56 || address >> 63 != 0);
}

/*
 * In code without frame pointers the kernel may follow a pointer to itself: the stack then ends with
 * many copies of one address, of which the first is kept. A recursion has other frames behind it;
 * one that is deeper than the kernel's limit of frames looks the same, and is cut, too.
 */
static uint8_t withoutRepeats(const uint64_t *stack, uint8_t count)
{
    uint8_t first = count;
    while (first > 1 && stack[first - 2] == stack[count - 1]) {
        first--;
    }
    return first;
}

/*
 * Copy addresses without the context markers between kernel and user addresses. The first
 * impossible address ends the stack.
 */
static uint8_t takeStack(PerfRing *r, const uint8_t *addresses, uint64_t count)
{
    uint8_t taken = 0;
    for (uint64_t i = 0; i < count && taken < MOST_STACK; i++) {
        uint64_t address = EtwLoad64(addresses + 8 * i);
        if (address >= PERF_CONTEXT_MAX) {
            continue;
        }
        if (!isCode(address)) {
            break;
        }
        r->stack[taken++] = address;
    }
    return withoutRepeats(r->stack, taken);
}

static void takeWhen(PerfRing *r, uint64_t time, const uint8_t *addresses, uint64_t count)
{
    TraceEvent *e = &r->stream.event;
    uint64_t ticks = PerfClockTicks(r->clock, time);
    e->ticks = ticks > e->ticks ? ticks : e->ticks;
    e->stackCount = takeStack(r, addresses, count);
    e->stack = e->stackCount > 0 ? (const uint8_t *)r->stack : NULL;
    e->copy = NULL;
}

/* Parse a PERF_RECORD_SAMPLE in PERF_LAYOUT. False: malformed. */
static bool takeRecord(PerfRing *r, const uint8_t *p, uint32_t size)
{
    TraceEvent *e = &r->stream.event;
    uint64_t count = size < 28 ? UINT64_MAX : EtwLoad64(p + 16);
    if (size < 28 || count > (size - 28) / 8) {
        return false;
    }
    uint32_t raw = EtwLoad32(p + 24 + 8 * count);
    if (raw > size - 28 - 8 * count) {
        return false;
    }
    takeWhen(r, EtwLoad64(p + 8), p + 24, count);
    e->data = p + 28 + 8 * count;
    e->size = raw;
    if (r->copies) {
        takeCopy(r, e->data + raw, size - 28 - 8 * count - raw);
    }
    return true;
}

/* Parse a PERF_RECORD_SAMPLE in PERF_SAMPLES. False: malformed. */
static bool takeSample(PerfRing *r, const uint8_t *p, uint32_t size)
{
    TraceEvent *e = &r->stream.event;
    uint64_t count = size < 40 ? UINT64_MAX : EtwLoad64(p + 32);
    if (size < 40 || count > (size - 40) / 8) {
        return false;
    }
    unsigned mode = EtwLoad16(p + 4) & PERF_RECORD_MISC_CPUMODE_MASK;
    takeWhen(r, EtwLoad64(p + 24), p + 40, count);
    r->who = (KernelSample){.type = SAMPLE_TYPE_ID,
            .address = EtwLoad64(p + 8),
            .pid = EtwLoad32(p + 16),
            .tid = EtwLoad32(p + 20),
            .inKernel = mode == PERF_RECORD_MISC_KERNEL};
    if (r->copies) {
        takeCopy(r, p + 40 + 8 * count, size - 40 - 8 * count);
    }
    e->data = (const uint8_t *)&r->who;
    e->size = sizeof r->who;
    return true;
}

/* The text of a record that ends at its trailer; NULL: not terminated. */
static const char *textAt(const uint8_t *p, uint32_t at, uint32_t end)
{
    return at < end && memchr(p + at, '\0', end - at) != NULL ? (const char *)p + at : NULL;
}

/*
 * Parse a PERF_RECORD_MMAP2, or a PERF_RECORD_COMM of an exec, with the trailer PERF_IMAGES. False: malformed, another
 * change of a name, or memory without the right to execute it.
 */
static bool takeImage(PerfRing *r, const uint8_t *p, uint32_t size)
{
    enum {
        TRAILER = 16,
        COMM_TEXT = 16,
        MAP_TEXT = 72,
        MAP_BUILD = 40,
        MAP_RIGHTS = 64,
        EXECUTE = 4
    };
    TraceEvent *e = &r->stream.event;
    unsigned misc = EtwLoad16(p + 4);
    bool isExec = EtwLoad32(p) == PERF_RECORD_COMM;
    uint32_t text = isExec ? COMM_TEXT : MAP_TEXT;
    if (size < text + TRAILER || (isExec && (misc & PERF_RECORD_MISC_COMM_EXEC) == 0)) {
        return false;
    }
    r->image = (KernelImage){.type = IMAGE_TYPE_ID,
            .pid = EtwLoad32(p + 8),
            .tid = EtwLoad32(p + 12),
            .isExec = isExec,
            .path = textAt(p, text, size - TRAILER)};
    if (r->image.path == NULL) {
        return false;
    }
    if (!isExec) {
        if ((EtwLoad32(p + MAP_RIGHTS) & EXECUTE) == 0) {
            return false;
        }
        r->image.address = EtwLoad64(p + 16);
        r->image.size = EtwLoad64(p + 24);
        r->image.offset = EtwLoad64(p + 32);
        if ((misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0 && p[MAP_BUILD] <= ETW_BUILD_ID_MAX) {
            r->image.buildSize = p[MAP_BUILD];
            memcpy(r->image.build, p + MAP_BUILD + 4, r->image.buildSize);
        }
    }
    takeWhen(r, EtwLoad64(p + size - 8), NULL, 0);
    e->data = (const uint8_t *)&r->image;
    e->size = sizeof r->image;
    return true;
}

static bool next(TraceStream *stream)
{
    PerfRing *r = (PerfRing *)stream;
    bool found = false;
    /* Release the records that were read (release: our reads are complete). */
    __atomic_store_n(&r->control->data_tail, r->at, __ATOMIC_RELEASE);
    while (!found) {
        const uint8_t *p;
        uint16_t size;
        if (r->at == r->head) {
            /* acquire: all records before head are written */
            r->head = __atomic_load_n(&r->control->data_head, __ATOMIC_ACQUIRE);
        }
        if (r->head - r->at < sizeof(struct perf_event_header)) {
            return false;
        }
        size = EtwLoad16(r->data + ((size_t)r->at & (r->size - 1)) + 6);
        if (size < sizeof(struct perf_event_header) || size > r->head - r->at) {
            r->at = r->head; /* malformed: skip everything */
            return false;
        }
        p = record(r, size);
        if (EtwLoad32(p) == PERF_RECORD_LOST && size >= 24) {
            r->lost += EtwLoad64(p + 16);
            stream->missed = true;
        } else if (EtwLoad32(p) == PERF_RECORD_SAMPLE) {
            found = r->samples ? takeSample(r, p, size) : takeRecord(r, p, size);
        } else if (EtwLoad32(p) == PERF_RECORD_MMAP2 || EtwLoad32(p) == PERF_RECORD_COMM) {
            found = takeImage(r, p, size);
        }
        r->at += size;
    }
    return true;
}
