/*
 * script/script_provider.c --
 *
 *	The provider Tcl-Script and its events (semantics/declared_events.c), which are registered
 *	and defined once per process, when tracing of a script is first requested. Also the other
 *	data that all threads share: call ids, and the scale from ticks to nanoseconds.
 */
#include "script/script_text.h"
#include "engine/provider/provider.h"
#include "base/wide.h"
#include "event/clock_anchors.h"

Etw_Provider *etwScriptProvider;
Etw_Event *etwScriptEvents[ETW_SCRIPT_EVENTS];
uint64_t etwScriptScale;

TCL_DECLARE_MUTEX(openMutex)

static bool defineEvents(Etw_Provider *provider)
{
    const EtwDeclaredProvider *declared = EtwDeclaredFind(ETW_SCRIPT_PROVIDER);
    for (int i = 0; i < ETW_SCRIPT_EVENTS; i++) {
        etwScriptEvents[i] = EtwDefineDeclared(provider, &declared->events[i]);
        if (etwScriptEvents[i] == NULL) {
            return false;
        }
    }
    return true;
}

static void takeScale(void)
{
    OsInstant now;
    EtwAnchors anchors;
    OsInit();
    OsNow(&now);
    EtwAnchorsInit(&anchors, &now);
    etwScriptScale = anchors.scale;
}

static bool openOnce(void)
{
    Etw_Provider *provider = Etw_Register(ETW_SCRIPT_PROVIDER, NULL);
    if (provider == NULL || !defineEvents(provider)) {
        if (provider != NULL) {
            Etw_Unregister(provider);
        }
        return false;
    }
    takeScale();
    EtwScriptTextInit();
    EtwKindsInit();
    etwHookLayer = EtwHookLayerGet();
    etwScriptProvider = provider;
    return true;
}

const EtwHookLayer *EtwScriptLayer(void)
{
    Tcl_MutexLock(&openMutex);
    const EtwHookLayer *layer = etwHookLayer != NULL ? etwHookLayer : EtwHookLayerGet();
    Tcl_MutexUnlock(&openMutex);
    return layer;
}

int EtwScriptProviderOpen(Tcl_Interp *interp)
{
    bool ok;
    Tcl_MutexLock(&openMutex);
    ok = etwScriptProvider != NULL || openOnce();
    Tcl_MutexUnlock(&openMutex);
    if (!ok) {
        return EtwScriptFail(interp, ETW_E_IO, "REGISTRY", ETW_SCRIPT_PROVIDER,
                "cannot register provider \"Tcl-Script\": the registry of providers is full or its "
                "directory (ETW_RUNTIME_DIR) cannot be used");
    }
    return TCL_OK;
}

/* Takes a block of ids, so that threads rarely compete for the counter. */
void EtwScriptTakeIds(EtwScriptState *state)
{
    enum { BLOCK = 256 };
    static uint64_t last; /* relaxed: only its uniqueness matters */
    static uint32_t interps;
    if (state->endId == 0) {
        state->idInterp = __atomic_fetch_add(&interps, 1, __ATOMIC_RELAXED);
    }
    uint64_t first = __atomic_fetch_add(&last, BLOCK, __ATOMIC_RELAXED);
    state->nextId = EtwCallId(first, state->idInterp);
    state->endId = state->nextId + BLOCK * ETW_CALL_ID_INTERPS;
}

uint64_t EtwScriptNanoseconds(uint64_t ticks)
{
    return EtwMulShift32(ticks, etwScriptScale);
}
