/*
 * unix/kernel/system_none.c --
 *
 *	Stubs of engine/engine_int.h, engine/provider/native_provider.h and
 *	schema/store/platform_schema.h for operating systems without ETW.
 */
#include "engine/provider/native_provider.h"
#include "engine/engine_int.h"
#include "schema/store/platform_schema.h"

const EtwEngineOps *EtwAutologgerOps(EtwError *errPtr)
{
    EtwFail(errPtr, ETW_E_UNSUPPORTED, "ENGINE", "autologger",
            "autologgers are sessions that Windows starts when it boots; on Linux, run \"etw "
            "start\" "
            "when the machine starts, for example from a unit of systemd");
    return NULL;
}

const EtwEngineOps *EtwSystemOps(EtwError *errPtr)
{
    EtwFail(errPtr, ETW_E_UNSUPPORTED, "ENGINE", "system",
            "the engine \"system\" is Windows' own tracing, which this system does not have: use "
            "\"-engine embedded\"");
    return NULL;
}

void EtwNativeRegister(RegProvider *provider)
{
    (void)provider;
}

void EtwNativeUnregister(RegProvider *provider)
{
    (void)provider;
}

void EtwNativeDefineClassic(RegProvider *provider, const EtwGuid *eventClass)
{
    (void)provider;
    (void)eventClass;
}

int EtwNativeWrite(const RegProvider *provider, const EtwNativeEvent *event)
{
    (void)provider;
    (void)event;
    return ETW_WRITTEN;
}

const EtwProviderDef *EtwPlatformEvent(const EtwEvent *event)
{
    (void)event;
    return NULL;
}

const EtwProviderDef *EtwPlatformProvider(const EtwGuid *provider)
{
    (void)provider;
    return NULL;
}
