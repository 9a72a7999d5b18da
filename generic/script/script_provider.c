/*
 * script/script_provider.c --
 *
 *	The provider Tcl-Script and its events (doc/internals/EVENTS.md): registered and defined
 *	once a process, when the first script is to be traced. Also what all threads share beside: call
 *	ids, and the scale from ticks to nanoseconds.
 */
#include "script/script_text.h"
#include "base/wide.h"
#include "event/clock_anchors.h"

Etw_Provider *etwScriptProvider;
Etw_Event *etwScriptEvents[EVENT_COUNT];
uint64_t etwScriptScale;

TCL_DECLARE_MUTEX(openMutex)

#define U16(name)                                                                                  \
    {                                                                                              \
        name, ETW_IN_UINT16, 0, 0, 0                                                               \
    }
#define U32(name)                                                                                  \
    {                                                                                              \
        name, ETW_IN_UINT32, 0, 0, 0                                                               \
    }
#define I32(name)                                                                                  \
    {                                                                                              \
        name, ETW_IN_INT32, 0, 0, 0                                                                \
    }
#define U64(name)                                                                                  \
    {                                                                                              \
        name, ETW_IN_UINT64, 0, 0, 0                                                               \
    }
#define TEXT(name)                                                                                 \
    {                                                                                              \
        name, ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0                                              \
    }

static const Etw_Field enterFields[] = {
        U64("CallId"), U16("Depth"), TEXT("Command"), TEXT("Context"), TEXT("File"), U32("Line")};
static const Etw_Field leaveFields[] = {
        U64("CallId"), U16("Depth"), I32("Code"), U64("Duration"), TEXT("Command"), TEXT("Result")};
static const Etw_Field variableFields[] = {
        TEXT("Operation"), TEXT("Name"), TEXT("Value"), TEXT("Context")};
static const Etw_Field commandFields[] = {TEXT("Operation"), TEXT("Name"), TEXT("NewName")};

static const Etw_Field callbackFields[] = {
        U64("CallId"), U16("Depth"), TEXT("Command"), TEXT("Context"), TEXT("Kind"), U64("Queued")};
static const Etw_Field endFields[] = {
        U64("CallId"), U16("Depth"), I32("Code"), U64("Duration"), TEXT("Kind")};
static const Etw_Field packageFields[] = {
        U64("CallId"), U16("Depth"), TEXT("Command"), TEXT("Context")};
static const Etw_Field packageEndFields[] = {
        U64("CallId"), U16("Depth"), I32("Code"), U64("Duration"), TEXT("Version")};
static const Etw_Field channelFields[] = {TEXT("Operation"), TEXT("Channel"), U64("Bytes"),
        U64("Duration"), I32("Code"), TEXT("Detail")};

static const Etw_Field sampleFields[] = {
        U64("Weight"), U64("Late"), U16("Depth"), TEXT("Stack"), TEXT("Counters")};

#define FIELDS(list) list, (int)(sizeof list / sizeof list[0])
static const struct {
    const char *name;
    uint8_t opcode;
    uint64_t keyword;
    const Etw_Field *fields;
    int count;
} definitions[EVENT_COUNT] = {
        {"Enter", ETW_OPCODE_START, KEYWORD_CALL, FIELDS(enterFields)},
        {"Leave", ETW_OPCODE_STOP, KEYWORD_CALL, FIELDS(leaveFields)},
        {"StepEnter", ETW_OPCODE_START, KEYWORD_STEP, FIELDS(enterFields)},
        {"StepLeave", ETW_OPCODE_STOP, KEYWORD_STEP, FIELDS(leaveFields)},
        {"Variable", ETW_OPCODE_INFO, KEYWORD_VARIABLE, FIELDS(variableFields)},
        {"Command", ETW_OPCODE_INFO, KEYWORD_COMMAND, FIELDS(commandFields)},
        {"CallbackEnter", ETW_OPCODE_START, KEYWORD_EVENT, FIELDS(callbackFields)},
        {"CallbackLeave", ETW_OPCODE_STOP, KEYWORD_EVENT, FIELDS(endFields)},
        {"PackageEnter", ETW_OPCODE_START, KEYWORD_PACKAGE, FIELDS(packageFields)},
        {"PackageLeave", ETW_OPCODE_STOP, KEYWORD_PACKAGE, FIELDS(packageEndFields)},
        {"Channel", ETW_OPCODE_INFO, KEYWORD_CHANNEL, FIELDS(channelFields)},
        {"Sample", ETW_OPCODE_INFO, KEYWORD_SAMPLE, FIELDS(sampleFields)},
        {"Line", ETW_OPCODE_INFO, KEYWORD_STEP, FIELDS(enterFields)},
};

const Etw_Field *EtwScriptEventAt(int index, Etw_EventDesc *desc, int *fieldCountPtr)
{
    if (index < 0 || index >= EVENT_COUNT) {
        return NULL;
    }
    *desc = (Etw_EventDesc){.name = definitions[index].name,
            .level = SCRIPT_LEVEL,
            .opcode = definitions[index].opcode,
            .keyword = definitions[index].keyword};
    *fieldCountPtr = definitions[index].count;
    return definitions[index].fields;
}

static bool defineEvents(Etw_Provider *provider)
{
    for (int i = 0; i < EVENT_COUNT; i++) {
        Etw_EventDesc desc;
        int count;
        const Etw_Field *fields = EtwScriptEventAt(i, &desc, &count);
        etwScriptEvents[i] = Etw_DefineEvent(provider, &desc, fields, count);
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
    Etw_Provider *provider = Etw_Register("Tcl-Script", NULL);
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

int EtwScriptProviderOpen(Tcl_Interp *interp)
{
    bool ok;
    Tcl_MutexLock(&openMutex);
    ok = etwScriptProvider != NULL || openOnce();
    Tcl_MutexUnlock(&openMutex);
    if (!ok) {
        return EtwScriptFail(interp, ETW_E_IO, "REGISTRY", "Tcl-Script",
                "cannot register provider \"Tcl-Script\": the registry of providers is full or its "
                "directory (ETW_RUNTIME_DIR) cannot be used");
    }
    return TCL_OK;
}

/* So many that threads do not fight for one word. */
void EtwScriptTakeIds(EtwScriptState *state)
{
    enum { BLOCK = 256 };
    static uint64_t last; /* relaxed: only its uniqueness matters */
    state->nextId = __atomic_fetch_add(&last, BLOCK, __ATOMIC_RELAXED) + 1;
    state->endId = state->nextId + BLOCK;
}

uint64_t EtwScriptNanoseconds(uint64_t ticks)
{
    return EtwMulShift32(ticks, etwScriptScale);
}
