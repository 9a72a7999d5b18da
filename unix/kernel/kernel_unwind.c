/*
 * unix/kernel/kernel_unwind.c --
 *
 *	Stacks of events that have a copy of the registers and of the top of the user stack: the kernel's callers, then those
 *	in user mode, which call frame information finds. This is done when an event is emitted, so that events that are not
 *	cost nothing here.
 */
#include "unix/kernel/kernel_int.h"

enum { FRAMES = UINT8_MAX };

struct KernelUnwinding {
    EtwUnwinder *unwinder;
    bool done; /* for this event, which may be emitted in several forms */
    uint8_t count;
    uint64_t frames[FRAMES];
};

static const char *machine(void)
{
#if defined(__x86_64__)
    return "x86_64";
#elif defined(__aarch64__)
    return "aarch64";
#else
    return "another machine";
#endif
}

const char *KernelUnwindLacks(void)
{
    return EtwUnwindLacks(machine());
}

static uint32_t processOf(EtwKernel *k, const TraceEvent *e)
{
    if (EtwLoad16(e->data + KERNEL_COMMON_TYPE) == SAMPLE_TYPE_ID) {
        return ((const KernelSample *)e->data)->pid;
    }
    return KernelTaskProcess(&k->tasks, KernelTidOf(e), e->ticks, true);
}

static void unwind(EtwKernel *k, const TraceEvent *e, KernelUnwinding *u)
{
    uint64_t user[ETW_UNWIND_MAX];
    EtwUnwindSample sample = *e->copy;
    const EtwImageTable *images = KernelImagesTable(k);
    sample.pid = processOf(k, e);
    for (u->count = 0; u->count < e->stackCount; u->count++) {
        u->frames[u->count] = EtwLoad64(e->stack + 8 * (size_t)u->count);
    }
    int count = images != NULL ? EtwUnwind(u->unwinder, images, &sample, user) : 0;
    for (int i = 0; i < count && u->count < FRAMES; i++) {
        u->frames[u->count++] = user[i];
    }
}

void KernelUnwind(EtwKernel *k, const TraceEvent *e, EtwKernelRecord *record)
{
    KernelUnwinding *u = k->unwinding;
    if (u == NULL) {
        u = k->unwinding = EtwAlloc(sizeof *u);
        u->unwinder = EtwUnwinderNew(machine());
    }
    if (u->unwinder == NULL) {
        return;
    }
    if (!u->done) {
        unwind(k, e, u);
        u->done = true;
    }
    record->stack = u->count != 0 ? (const uint8_t *)u->frames : NULL;
    record->stackCount = u->count;
}

void KernelUnwindNext(EtwKernel *k)
{
    if (k->unwinding != NULL) {
        k->unwinding->done = false;
    }
}

void KernelUnwindFree(EtwKernel *k)
{
    if (k->unwinding != NULL) {
        EtwUnwinderFree(k->unwinding->unwinder);
        EtwFree(k->unwinding);
        k->unwinding = NULL;
    }
}
