/*
 * flow/source/perf/perf_unwind.c --
 *
 *	Samples with copies of the registers and of the user stack (`perf record --call-graph dwarf`): their callers in user
 *	mode.
 */
#include "flow/source/perf/perf_int.h"

/* A file that does not name its machine is of x86_64, as in perf_convert.c. */
const char *PerfUnwindMachine(const EtwPerfReader *r)
{
    return r->machine != NULL && r->machine[0] != 0 ? r->machine : "x86_64";
}

/* How many of the stack's addresses are the kernel's, which come first. */
static uint32_t kernelFrames(const EtwPerfReader *r, const PerfMoment *m)
{
    uint32_t count = 0;
    while (count < m->stackCount &&
            EtwLoad64((const uint8_t *)r->stack.data + 8 * (size_t)count) >> 63 != 0) {
        count++;
    }
    return count;
}

/* Frame pointers may have led further than the copy of the stack goes. */
static void setUserFrames(EtwPerfReader *r, PerfMoment *m, const uint64_t *frames, int count)
{
    uint32_t kernel = kernelFrames(r, m);
    if ((uint32_t)count <= m->stackCount - kernel) {
        return;
    }
    m->stackCount = kernel;
    r->stack.size = 8 * (size_t)kernel;
    for (int i = 0; i < count && m->stackCount < PERF_STACK_MAX; i++) {
        EtwTextAdd(&r->stack, &frames[i], 8);
        m->stackCount++;
    }
    m->stack = (const uint8_t *)r->stack.data;
}

static void unwind(EtwPerfReader *r, const EtwUnwindSample *sample, uint64_t abi, PerfMoment *m)
{
    uint64_t frames[ETW_UNWIND_MAX];
    int count = 0;
    const char *machine = PerfUnwindMachine(r);
    if (m->stackCount == 0) {
        r->stack.size = 0;
    }
    if (abi == ABI_64) {
        r->unwinder = r->unwinder != NULL ? r->unwinder : EtwUnwinderNew(machine);
    }
    if (abi == ABI_64 && r->unwinder != NULL) {
        count = EtwUnwind(r->unwinder, &r->images, sample, frames);
    } else {
        r->notUnwound++;
        frames[0] = abi == ABI_64 ? EtwUnwindPlace(machine, sample) : 0;
        count = frames[0] != 0;
    }
    setUserFrames(r, m, frames, count);
}

static void skipBranches(EtwBytes *b, uint64_t type)
{
    uint64_t count = EtwTake64(b);
    if (type & BRANCHES_HW_INDEX) {
        EtwTake64(b);
    }
    if (count > EtwBytesLeft(b) / BRANCH) {
        b->failed = true;
        return;
    }
    EtwTake(b, (size_t)count * BRANCH);
}

void PerfTakeCopies(EtwPerfReader *r, const PerfAttr *attr, EtwBytes *b, PerfMoment *m)
{
    EtwUnwindSample sample = {.pid = m->pid, .mask = attr->registers};
    uint64_t abi = 0, size = 0;
    if (attr->sampleType & SAMPLE_BRANCH_STACK) {
        skipBranches(b, attr->branches);
    }
    if (attr->sampleType & SAMPLE_REGS_USER) {
        abi = EtwTake64(b);
        size_t count = (size_t)__builtin_popcountll(attr->registers);
        sample.registers = abi != 0 ? EtwTake(b, 8 * count) : NULL;
    }
    if (attr->sampleType & SAMPLE_STACK_USER) {
        size = EtwTake64(b);
        sample.stack = size <= EtwBytesLeft(b) ? EtwTake(b, (size_t)size) : NULL;
        uint64_t used = size != 0 ? EtwTake64(b) : 0; /* the rest was not written */
        sample.stackSize = (size_t)(used < size ? used : size);
        b->failed |= sample.stack == NULL;
    }
    if (!b->failed && sample.registers != NULL) {
        unwind(r, &sample, abi, m);
    }
}
