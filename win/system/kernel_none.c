/*
 * win/system/kernel_none.c --
 *
 *	Stubs of engine/kernel_events.h on Windows, where the embedded engine has no kernel events.
 *	The system engine provides them (system_kernel.c, which also lists the groups).
 */
#include "engine/kernel_events.h"

EtwStatus EtwKernelOpen(EtwKernel **kernelPtr, const char *sessionName,
        const EtwKernelEnable *enable, EtwError *errPtr)
{
    (void)kernelPtr;
    (void)sessionName;
    return EtwFail(errPtr, ETW_E_UNSUPPORTED, "KERNEL",
            enable->groupCount > 0 ? enable->groups[0] : "",
            "the embedded engine has no kernel events on Windows: start the session with \"-engine "
            "system -kernellogger 1\"");
}

void EtwKernelDrain(EtwKernel *kernel, uint64_t until, EtwKernelEmit *emit, void *ctx)
{
    (void)kernel;
    (void)until;
    (void)emit;
    (void)ctx;
}

uint64_t EtwKernelLost(const EtwKernel *kernel)
{
    (void)kernel;
    return 0;
}

void EtwKernelIgnoreThread(uint32_t tid)
{
    (void)tid;
}

void EtwKernelIgnoreProcess(void)
{
}

void EtwKernelQuiesce(EtwKernel *kernel)
{
    (void)kernel;
}

void EtwKernelClose(EtwKernel *kernel)
{
    (void)kernel;
}

int EtwKernelSweep(void)
{
    return 0;
}
