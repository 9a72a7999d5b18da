/*
 * semantics/semantics.c --
 *
 *	Determines what the events of a schema mean (semantics/semantics.h). It uses the declaration
 *	of our own events, and tables of the events and fields of Windows' kernel classes and of the
 *	providers Microsoft-Windows-Kernel-Process and -File.
 */
#include "semantics/declared_events.h"
#include "schema/model/linux_names.h"
#include <stdio.h>

/* ---- Roles ----------------------------------------------------------------------------------- */

static bool fitsRole(const EtwField *f, EtwRole role)
{
    if (role >= ETW_ROLE_COMPUTER || f->array != ETW_SCALAR) {
        return role >= ETW_ROLE_COMPUTER;
    }
    if (role == ETW_ROLE_NAME || role == ETW_ROLE_SOCKET || role == ETW_ROLE_FAMILY) {
        return true;
    }
    if (role == ETW_ROLE_BEGIN_TICKS || role == ETW_ROLE_ELAPSED_TICKS) {
        return f->in == ETW_IN_UINT64 || f->in == ETW_IN_INT64;
    }
    if (role >= ETW_ROLE_PID) {
        return f->in == ETW_IN_UINT32 || f->in == ETW_IN_UINT64 || f->in == ETW_IN_HEX32 ||
               f->in == ETW_IN_HEX64 || f->in == ETW_IN_POINTER;
    }
    if (role >= ETW_ROLE_LOCAL_ADDR) {
        return f->out == ETW_OUT_IPV4 || f->out == ETW_OUT_IPV6;
    }
    if (role >= ETW_ROLE_CALL_ID) {
        return f->in >= ETW_IN_INT8 && f->in <= ETW_IN_UINT64;
    }
    return f->in == ETW_IN_COUNTED_ANSI || f->in == ETW_IN_ANSIZ || f->in == ETW_IN_COUNTED_UTF16 ||
           f->in == ETW_IN_UTF16Z;
}

/* ---- Windows --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    EtwRole role;
} windowsFields[] = {{"ProcessId", ETW_ROLE_PID}, {"ProcessID", ETW_ROLE_PID},
        {"PID", ETW_ROLE_PID}, {"StackProcess", ETW_ROLE_PID}, {"ThreadId", ETW_ROLE_TID},
        {"ThreadID", ETW_ROLE_TID}, {"TThreadId", ETW_ROLE_TID}, {"IssuingThreadId", ETW_ROLE_TID},
        {"StackThread", ETW_ROLE_TID}, {"TTID", ETW_ROLE_TID}, {"NewThreadId", ETW_ROLE_TID},
        {"OldThreadId", ETW_ROLE_OLD_TID}, {"OldThreadState", ETW_ROLE_OLD_STATE},
        {"OldThreadWaitReason", ETW_ROLE_WAIT_REASON}, {"Flag", ETW_ROLE_INTERRUPT},
        {"size", ETW_ROLE_SIZE}, {"FileKey", ETW_ROLE_FILE_KEY}, {"KeyHandle", ETW_ROLE_FILE_KEY},
        {"FileObject", ETW_ROLE_FILE_OBJECT}, {"ImageBase", ETW_ROLE_BASE},
        {"ImageSize", ETW_ROLE_MODULE_SIZE}, {"InitialTime", ETW_ROLE_BEGIN_TICKS},
        {"HighResResponseTime", ETW_ROLE_ELAPSED_TICKS}, {"ImageFileName", ETW_ROLE_NAME},
        {"ImageName", ETW_ROLE_NAME}, {"FileName", ETW_ROLE_NAME}, {"OpenPath", ETW_ROLE_NAME},
        {"KeyName", ETW_ROLE_NAME}, {"ComputerName", ETW_ROLE_COMPUTER},
        {"DomainName", ETW_ROLE_DOMAIN}, {"NumberOfProcessors", ETW_ROLE_PROCESSORS},
        {"MHz", ETW_ROLE_MHZ}, {"MemSize", ETW_ROLE_MEMORY},
        {"ProcessorArchitecture", ETW_ROLE_ARCHITECTURE}, {"ProcessorName", ETW_ROLE_PROCESSOR},
        {"SystemManufacturer", ETW_ROLE_MANUFACTURER}, {"SystemProductName", ETW_ROLE_MODEL},
        {"BiosVersion", ETW_ROLE_BIOS}, {"ProductName", ETW_ROLE_PRODUCT},
        {"BuildLab", ETW_ROLE_BUILD}};

/*
 * The first matching row applies. A name that ends with a star matches all names with this prefix.
 */
static const struct {
    const char *provider, *event;
    EtwMeaning meaning;
    EtwNaming naming;
    const char *moves;
} windowsEvents[] = {
        {"Process", "Start*", ETW_MEANS_OTHER, ETW_NAMES_PROCESS, NULL},
        {"Process", "End", ETW_MEANS_PROCESS_END, ETW_NAMES_PROCESS, NULL},
        {"Process", "End*", ETW_MEANS_OTHER, ETW_NAMES_PROCESS, NULL},
        {"Process", "DC*", ETW_MEANS_OTHER, ETW_NAMES_PROCESS, NULL},
        {"Process", "Defunct*", ETW_MEANS_OTHER, ETW_NAMES_PROCESS, NULL},
        {"Thread", "Start*", ETW_MEANS_OTHER, ETW_NAMES_THREAD, NULL},
        {"Thread", "DC*", ETW_MEANS_OTHER, ETW_NAMES_THREAD, NULL},
        {"Thread", "End", ETW_MEANS_THREAD_END, ETW_NAMES_NOTHING, NULL},
        {"Thread", "CSwitch", ETW_MEANS_SWITCH, ETW_NAMES_RUNNING, NULL},
        {"Thread", "CSwitch*", ETW_MEANS_OTHER, ETW_NAMES_RUNNING, NULL},
        {"Thread", "ReadyThread", ETW_MEANS_READY, ETW_NAMES_NOTHING, NULL},
        {"Image", "Load*", ETW_MEANS_OTHER, ETW_NAMES_MODULE, NULL},
        {"Image", "DC*", ETW_MEANS_OTHER, ETW_NAMES_MODULE, NULL},
        {"Image", "UnLoad*", ETW_MEANS_OTHER, ETW_NAMES_MODULE_GONE, NULL},
        {"FileIo", "Name*", ETW_MEANS_OTHER, ETW_NAMES_OBJECT, NULL},
        {"FileIo", "File*", ETW_MEANS_OTHER, ETW_NAMES_OBJECT, NULL},
        {"FileIo", "Create*", ETW_MEANS_OTHER, ETW_NAMES_OBJECT, NULL},
        {"Registry", "KCB*", ETW_MEANS_OTHER, ETW_NAMES_OBJECT, NULL},
        {"Registry", "RunDown*", ETW_MEANS_OTHER, ETW_NAMES_OBJECT, NULL},
        {"PerfInfo", "SampleProf*", ETW_MEANS_CPU_SAMPLE, ETW_NAMES_NOTHING, NULL},
        {"Microsoft-Windows-Kernel-Process", "ProcessStart*", ETW_MEANS_OTHER, ETW_NAMES_PROCESS,
                NULL},
        {"Microsoft-Windows-Kernel-Process", "ProcessRundown*", ETW_MEANS_OTHER, ETW_NAMES_PROCESS,
                NULL},
        {"Microsoft-Windows-Kernel-Process", "ThreadStart*", ETW_MEANS_OTHER, ETW_NAMES_THREAD,
                NULL},
        {"Microsoft-Windows-Kernel-Process", "ImageLoad*", ETW_MEANS_OTHER, ETW_NAMES_MODULE, NULL},
        {"Microsoft-Windows-Kernel-Process", "ImageUnload*", ETW_MEANS_OTHER, ETW_NAMES_MODULE_GONE,
                NULL},
        {"Microsoft-Windows-Kernel-File", "NameCreate*", ETW_MEANS_OTHER, ETW_NAMES_OBJECT, NULL},
        {"Microsoft-Windows-Kernel-File", "Create*", ETW_MEANS_OTHER, ETW_NAMES_OBJECT, NULL},
        {"TcpIp", "SendIPV4", ETW_MEANS_SOCKET_SEND, ETW_NAMES_NOTHING, "tcp send"},
        {"TcpIp", "RecvIPV4", ETW_MEANS_SOCKET_RECEIVE, ETW_NAMES_NOTHING, "tcp receive"},
        {"UdpIp", "SendIPV4", ETW_MEANS_SOCKET_SEND, ETW_NAMES_NOTHING, "udp send"},
        {"UdpIp", "RecvIPV4", ETW_MEANS_SOCKET_RECEIVE, ETW_NAMES_NOTHING, "udp receive"},
        {"SystemConfig", "CPU", ETW_MEANS_MACHINE, ETW_NAMES_NOTHING, NULL},
        {"SystemConfig", "Processors", ETW_MEANS_MACHINE, ETW_NAMES_NOTHING, NULL},
        {"SystemConfig", "Platform", ETW_MEANS_MACHINE, ETW_NAMES_NOTHING, NULL},
        {"SysConfigEx", "BuildInfo", ETW_MEANS_MACHINE, ETW_NAMES_NOTHING, NULL},
        {"EventTrace", "*", ETW_MEANS_TRACE, ETW_NAMES_NOTHING, NULL},
        {"Lost_Event", "*", ETW_MEANS_LOSS, ETW_NAMES_NOTHING, NULL},
};

static bool matchesName(const char *pattern, const char *name)
{
    size_t size = strlen(pattern);
    bool prefix = size > 0 && pattern[size - 1] == '*';
    return prefix ? strncmp(pattern, name, size - 1) == 0 : strcmp(pattern, name) == 0;
}

/* ---- Meanings -------------------------------------------------------------------------------- */

/* The roles that an event must have for this meaning. */
static uint64_t neededRoles(EtwMeaning meaning, bool windows)
{
    static const uint64_t enter = ETW_ROLE_BIT(ETW_ROLE_CALL_ID) | ETW_ROLE_BIT(ETW_ROLE_DEPTH) |
                                  ETW_ROLE_BIT(ETW_ROLE_COMMAND) | ETW_ROLE_BIT(ETW_ROLE_CONTEXT);
    switch (meaning) {
    case ETW_MEANS_CALL_ENTER:
    case ETW_MEANS_STEP_ENTER:
    case ETW_MEANS_PACKAGE_ENTER:
        return enter;
    case ETW_MEANS_CALLBACK_ENTER:
        return enter | ETW_ROLE_BIT(ETW_ROLE_KIND) | ETW_ROLE_BIT(ETW_ROLE_QUEUED);
    case ETW_MEANS_CALL_LEAVE:
    case ETW_MEANS_STEP_LEAVE:
    case ETW_MEANS_CALLBACK_LEAVE:
    case ETW_MEANS_PACKAGE_LEAVE:
        return ETW_ROLE_BIT(ETW_ROLE_CALL_ID) | ETW_ROLE_BIT(ETW_ROLE_CODE);
    case ETW_MEANS_LINE:
        return enter | ETW_ROLE_BIT(ETW_ROLE_FILE) | ETW_ROLE_BIT(ETW_ROLE_LINE);
    case ETW_MEANS_CHANNEL:
        return ETW_ROLE_BIT(ETW_ROLE_OPERATION) | ETW_ROLE_BIT(ETW_ROLE_CHANNEL) |
               ETW_ROLE_BIT(ETW_ROLE_BYTES) | ETW_ROLE_BIT(ETW_ROLE_DURATION) |
               ETW_ROLE_BIT(ETW_ROLE_CODE) | ETW_ROLE_BIT(ETW_ROLE_DETAIL);
    case ETW_MEANS_WAIT:
        return ETW_ROLE_BIT(ETW_ROLE_OPERATION) | ETW_ROLE_BIT(ETW_ROLE_DURATION) |
               ETW_ROLE_BIT(ETW_ROLE_CODE) | ETW_ROLE_BIT(ETW_ROLE_DETAIL);
    case ETW_MEANS_SCHEDULE:
        return ETW_ROLE_BIT(ETW_ROLE_ORIGIN) | ETW_ROLE_BIT(ETW_ROLE_KIND);
    case ETW_MEANS_SAMPLE:
        return ETW_ROLE_BIT(ETW_ROLE_WEIGHT) | ETW_ROLE_BIT(ETW_ROLE_STACK);
    case ETW_MEANS_SWITCH:
        return ETW_ROLE_BIT(ETW_ROLE_TID) | ETW_ROLE_BIT(ETW_ROLE_OLD_TID) |
               ETW_ROLE_BIT(ETW_ROLE_OLD_STATE) |
               (windows ? ETW_ROLE_BIT(ETW_ROLE_WAIT_REASON) : 0);
    case ETW_MEANS_PROCESS_START:
        return ETW_ROLE_BIT(ETW_ROLE_PID);
    case ETW_MEANS_THREAD_START:
        return ETW_ROLE_BIT(ETW_ROLE_PID) | ETW_ROLE_BIT(ETW_ROLE_TID);
    case ETW_MEANS_DISK_DONE:
        return ETW_ROLE_BIT(ETW_ROLE_TID);
    case ETW_MEANS_READY:
        return ETW_ROLE_BIT(ETW_ROLE_TID) | ETW_ROLE_BIT(ETW_ROLE_INTERRUPT) |
               (windows ? 0 : ETW_ROLE_BIT(ETW_ROLE_OLD_TID));
    case ETW_MEANS_CPU_SAMPLE:
        return windows ? 0 : ETW_ROLE_BIT(ETW_ROLE_WEIGHT);
    case ETW_MEANS_SYSCALL_ENTER:
    case ETW_MEANS_SYSCALL_EXIT:
        return ETW_ROLE_BIT(ETW_ROLE_SYSCALL);
    case ETW_MEANS_SOCKET_SEND:
    case ETW_MEANS_SOCKET_RECEIVE:
    case ETW_MEANS_ALLOC:
        return ETW_ROLE_BIT(ETW_ROLE_SIZE);
    case ETW_MEANS_FILE_OPEN:
    case ETW_MEANS_FILE:
        return ETW_ROLE_BIT(ETW_ROLE_NAME) | ETW_ROLE_BIT(ETW_ROLE_OUTCOME);
    default:
        return 0;
    }
}

static void assignRole(EtwSemantics *s, const EtwField *f, int index, EtwRole role)
{
    if (role != ETW_ROLE_NONE && s->field[role] < 0 && fitsRole(f, role)) {
        s->field[role] = (int16_t)index;
        s->roles |= ETW_ROLE_BIT(role);
    }
}

static EtwRole declaredRole(const EtwDeclaredEvent *event, const char *field)
{
    for (int i = 0; i < event->fieldCount; i++) {
        if (strcmp(event->fields[i].name, field) == 0) {
            return event->fields[i].role;
        }
    }
    return ETW_ROLE_NONE;
}

static EtwRole windowsRole(const char *field)
{
    for (size_t i = 0; i < sizeof windowsFields / sizeof *windowsFields; i++) {
        if (strcmp(windowsFields[i].name, field) == 0) {
            return windowsFields[i].role;
        }
    }
    return ETW_ROLE_NONE;
}

/* event: NULL if it is not one of our own. */
static void assignRoles(EtwSemantics *s, const EtwSchema *schema, const EtwDeclaredEvent *event)
{
    int most = event != NULL ? ETW_ROLE_FIELDS : INT16_MAX;
    for (int i = 0; i < schema->fieldCount && i < most; i += schema->fields[i].span) {
        const EtwField *f = &schema->fields[i];
        assignRole(s, f, i, event ? declaredRole(event, f->name) : windowsRole(f->name));
    }
}

static void setMeaning(EtwSemantics *s, EtwMeaning meaning, const char *moves, bool windows)
{
    if ((neededRoles(meaning, windows) & ~s->roles) == 0) {
        s->meaning = meaning;
        s->moves = moves;
    }
}

static void fillWindows(EtwSemantics *s, const EtwSchema *schema)
{
    assignRoles(s, schema, NULL);
    for (size_t i = 0; i < sizeof windowsEvents / sizeof *windowsEvents; i++) {
        if (strcmp(windowsEvents[i].provider, schema->provider) == 0 &&
                matchesName(windowsEvents[i].event, schema->event)) {
            s->naming = windowsEvents[i].naming;
            setMeaning(s, windowsEvents[i].meaning, windowsEvents[i].moves, true);
            return;
        }
    }
}

/* Events with the same name (IPv4, IPv6) have the same meaning and roles. */
static void fillDeclared(
        EtwSemantics *s, const EtwSchema *schema, const EtwDeclaredProvider *provider)
{
    for (int i = 0; i < provider->eventCount; i++) {
        const EtwDeclaredEvent *event = &provider->events[i];
        if (strcmp(event->name, schema->event) == 0) {
            assignRoles(s, schema, event);
            s->naming = event->naming;
            setMeaning(s, event->meaning, event->moves, false);
            return;
        }
    }
}

static EtwSemantics *newSemantics(const EtwSchema *schema)
{
    const EtwDeclaredProvider *own = EtwDeclaredFind(schema->provider);
    EtwSemantics *s = EtwAlloc(sizeof *s);
    memset(s->field, 0xFF, sizeof s->field);
    if (own != NULL) {
        fillDeclared(s, schema, own);
    } else {
        fillWindows(s, schema);
    }
    return s;
}

const EtwSemantics *EtwSemanticsFind(const EtwSchema *schema)
{
    EtwSemantics *other = NULL;
    EtwSemantics *s = newSemantics(schema);
    /*
     * The slot is the only part of a schema that changes. Release: the contents of s are visible
     * with its pointer.
     */
    if (!__atomic_compare_exchange_n(&((EtwSchema *)schema)->semantics, &other, s, false,
                __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
        EtwFree(s); /* another thread was first */
        return other;
    }
    return s;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void takeValue(void *ctx, const EtwField *field, const EtwValue *value)
{
    EtwRoleValues *v = ctx;
    size_t index = (size_t)(field - v->schema->fields);
    if (index < ETW_ROLE_FIELDS) {
        v->values[index] = *value;
        v->found |= 1ull << index;
    }
}

bool EtwRoleValuesRead(EtwRoleValues *v, const EtwSchema *schema, const EtwEvent *event)
{
    static const EtwVisitor visitor = {.value = takeValue};
    v->schema = schema;
    v->semantics = EtwSemanticsOf(schema);
    v->found = 0;
    return EtwDecode(schema, event, &visitor, v) == ETW_OK;
}

bool EtwRoleValueRead(
        EtwRoleValues *v, const EtwSchema *schema, const EtwEvent *event, EtwRole role)
{
    v->schema = schema;
    v->semantics = EtwSemanticsOf(schema);
    v->found = 0;
    int index = v->semantics->field[role];
    if (index < 0 || index >= ETW_ROLE_FIELDS ||
            EtwDecodeField(schema, event, index, &v->values[index]) != ETW_OK) {
        return false;
    }
    v->found = 1ull << index;
    return true;
}

const char *EtwRoleName(const EtwRoleValues *v, EtwRole role, char *number, size_t size)
{
    const EtwMap *map = v->schema->fields[v->semantics->field[role]].map;
    const char *name = map && !map->bits ? EtwMapName(map, EtwRoleNumber(v, role)) : NULL;
    if (name == NULL) {
        snprintf(number, size, "%llu", (unsigned long long)EtwRoleNumber(v, role));
    }
    return name ? name : number;
}
