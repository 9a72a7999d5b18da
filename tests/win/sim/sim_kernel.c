/*
 * tests/win/sim/sim_kernel.c --
 *
 *	The system logger's events: a few of each group, always the same values, as records of the
 *	kernel's own kinds and in the layouts of its classes. Stack walks follow the events that
 *	TraceStackTracingInfo named.
 */
#include "tests/win/sim/sim.h"
#include "base/unicode.h"
#include "etl/format.h"
#include "etl/record.h"

enum { SYSTEM_HEAD = 0x20, PERF_HEAD = 0x10, STACK_HOOK = 0x1820 };

/*
 * fields: u, U, h, b, p and a number: 32, 64, 16, 8 bits, a pointer; n: 16 bits in network order; a,
 * w and a word: text in 8 and 16 bits; s: no SID.
 */
typedef struct KernelEvent {
    ULONG flag;
    uint8_t group, opcode, version;
    bool perf; /* a short header without pid and tid */
    const char *fields;
} KernelEvent;

#define PROCESS_FIELDS "p0xffffe00012340080 u4711 u4 u1 u0 p0x1ab000 u0 s asim.exe wsim.exe_-x w w"
#define THREAD_FIELDS                                                                              \
    "u4711 u4712 p0xffffd0001000 p0xffffd0000000 p0x20000 p0x10000 p0x3 p0x7ff600001000 "          \
    "p0x7ff000 u0 b8 b5 b2 b0"
#define IMAGE_FIELDS                                                                               \
    "p0x7ff600000000 p0x21000 u4711 u0x1234 u0x5f5e100 b0 b0 h0 p0x7ff600000000 u0 u0 u0 u0 "      \
    "w\\Device\\HarddiskVolume1\\sim.exe"
#define TCP_FIELDS "u4711 u512 u0x0100007f u0x0200007f n80 n49152"
#define DISK_FIELDS                                                                                \
    "u0 u0x60043 u4096 u0 U0x100000 p0xffffe00011110000 p0xffffe00022220000 U1234 u4712"

static const KernelEvent table[] = {
        {EVENT_TRACE_FLAG_PROCESS, 0x03, 1, 4, false, PROCESS_FIELDS},
        {EVENT_TRACE_FLAG_PROCESS, 0x03, 2, 4, false, PROCESS_FIELDS},
        {EVENT_TRACE_FLAG_THREAD, 0x05, 1, 3, false, THREAD_FIELDS},
        {EVENT_TRACE_FLAG_THREAD, 0x05, 2, 3, false, THREAD_FIELDS},
        /* The hook of an older class: stacks are asked for with Process' GUID (PerfView's
         * SetStackTraceIds), the event has Image's. */
        {EVENT_TRACE_FLAG_IMAGE_LOAD, 0x03, 10, 3, false, IMAGE_FIELDS},
        {EVENT_TRACE_FLAG_CSWITCH, 0x05, 36, 4, true, "u4712 u0 b8 b0 b0 b0 b0 b0 b0 b0 u1 u0"},
        {EVENT_TRACE_FLAG_DISPATCHER, 0x05, 50, 2, true, "u4712 b1 b0 b0 b0"},
        {EVENT_TRACE_FLAG_DISK_IO, 0x01, 10, 3, false, DISK_FIELDS},
        {EVENT_TRACE_FLAG_DISK_IO, 0x01, 11, 3, false, DISK_FIELDS},
        {EVENT_TRACE_FLAG_DISK_FILE_IO, 0x04, 0, 2, false,
                "p0xffffe00011110000 w\\Device\\HarddiskVolume1\\sim.dat"},
        {EVENT_TRACE_FLAG_MEMORY_PAGE_FAULTS, 0x02, 11, 2, true, "p0x7ff600002000 p0x7ff600001010"},
        {EVENT_TRACE_FLAG_MEMORY_HARD_FAULTS, 0x02, 32, 2, true,
                "U1000 U0x4000 p0x7ff600003000 p0xffffe00011110000 u4712 u4096"},
        {EVENT_TRACE_FLAG_NETWORK_TCPIP, 0x06, 12, 2, false,
                "u4711 u0 u0x0100007f u0x0200007f n80 n49152 h1460 h0 h0 h0 u65535 h0 h0 u0 p0x10"},
        {EVENT_TRACE_FLAG_NETWORK_TCPIP, 0x06, 10, 2, false, TCP_FIELDS " u1 u2 u1 p0x10"},
        {EVENT_TRACE_FLAG_NETWORK_TCPIP, 0x06, 11, 2, false, TCP_FIELDS " u1 p0x10"},
        {EVENT_TRACE_FLAG_NETWORK_TCPIP, 0x06, 13, 2, false,
                "u4711 u0 u0x0100007f u0x0200007f n80 n49152 u1 p0x10"},
        {EVENT_TRACE_FLAG_NETWORK_TCPIP, 0x08, 10, 2, false, TCP_FIELDS " u0 p0x11"},
        {EVENT_TRACE_FLAG_REGISTRY, 0x09, 11, 2, false,
                "U1000 u0 u0 p0xffffc00033330000 wSOFTWARE\\Sim"},
        {EVENT_TRACE_FLAG_SPLIT_IO, 0x1B, 32, 2, false, "p0xffffe00055550000 p0xffffe00066660000"},
        {EVENT_TRACE_FLAG_PROFILE, 0x0F, 46, 2, true, "p0x7ff600001020 u4712 u1"},
};
static const KernelEvent runs[2][2] = {
        {{EVENT_TRACE_FLAG_PROCESS, 0x03, 3, 4, false, PROCESS_FIELDS},
                {EVENT_TRACE_FLAG_THREAD, 0x05, 3, 3, false, THREAD_FIELDS}},
        {{EVENT_TRACE_FLAG_PROCESS, 0x03, 4, 4, false, PROCESS_FIELDS},
                {EVENT_TRACE_FLAG_THREAD, 0x05, 4, 3, false, THREAD_FIELDS}},
};

static void AddNumber(EtwText *out, const char *text, size_t size)
{
    uint64_t v = strtoull(text, NULL, 0);
    EtwTextAdd(out, &v, size);
}

static void AddField(EtwText *out, const char *field)
{
    uint16_t port;
    switch (field[0]) {
    case 'u':
        AddNumber(out, field + 1, 4);
        break;
    case 'U':
        AddNumber(out, field + 1, 8);
        break;
    case 'h':
        AddNumber(out, field + 1, 2);
        break;
    case 'b':
        AddNumber(out, field + 1, 1);
        break;
    case 'p':
        AddNumber(out, field + 1, sizeof(void *));
        break;
    case 'n':
        port = (uint16_t)strtoul(field + 1, NULL, 0);
        port = (uint16_t)(port << 8 | port >> 8);
        EtwTextAdd(out, &port, 2);
        break;
    case 'a':
        EtwTextAdd(out, field + 1, strlen(field + 1) + 1);
        break;
    case 'w':
        EtwTextToUtf16(out, field + 1, strlen(field + 1) + 1);
        break;
    default:
        AddNumber(out, "0", 4);
        break;
    }
}

static void AddFields(EtwText *out, const char *fields)
{
    char word[128];
    while (*fields != '\0') {
        size_t length = strcspn(fields, " ");
        memcpy(word, fields, length);
        word[length] = '\0';
        for (char *c = word; *c != '\0'; c++) {
            *c = *c == '_' ? ' ' : *c;
        }
        AddField(out, word);
        fields += length + (fields[length] == ' ');
    }
}

static bool Named(const CLASSIC_EVENT_ID *list, ULONG count, uint16_t hook)
{
    const EtwGuid *class = EtlGroupGuid(hook & 0xFF00); /* the group's own */
    for (ULONG i = 0; i < count; i++) {
        if (memcmp(&list[i].EventGuid, class, sizeof *class) == 0 &&
                list[i].Type == (hook & 0xFF)) {
            return true;
        }
    }
    return false;
}

/* The version word announces the counters, which follow the header. */
static ULONG CountersOf(const SimSession *s, uint16_t hook)
{
    return Named(s->countedEvents, s->countedEventCount, hook) ? s->counterCount : 0;
}

/* One record; *ticksPtr: the time it got, 0: it was lost. */
static void Put(SimSession *s, uint16_t hook, uint8_t version, bool perf, const EtwText *payload,
        int64_t *ticksPtr)
{
    ULONG counters = CountersOf(s, hook);
    size_t head = perf ? PERF_HEAD : SYSTEM_HEAD, size = head + 8 * counters + payload->size;
    bool wide = sizeof(void *) == 8;
    ULONG error;
    uint8_t *out = SimRecordBegin(s, EtwAlign8(size), ticksPtr, &error);
    if (out == NULL) {
        *ticksPtr = 0;
        return;
    }
    EtwStore64(out + EtwAlign8(size) - 8, 0);
    EtwStore16(out, (uint16_t)(version | counters << 8));
    out[2] = perf ? (wide ? ETL_PERFINFO64 : ETL_PERFINFO32) : (wide ? ETL_SYSTEM64 : ETL_SYSTEM32);
    out[3] = ETL_MARK_TYPED;
    EtwStore16(out + 4, (uint16_t)size);
    EtwStore16(out + 6, hook);
    if (perf) {
        EtwStore64(out + 8, (uint64_t)*ticksPtr);
    } else {
        EtwStore32(out + 8, GetCurrentThreadId());
        EtwStore32(out + 12, GetCurrentProcessId());
        EtwStore64(out + 16, (uint64_t)*ticksPtr);
        EtwStore64(out + 24, 0);
    }
    for (ULONG i = 0; i < counters; i++) {
        EtwStore64(out + head + 8 * i, 1000 * s->counters[i] + 7);
    }
    memcpy(out + head + 8 * counters, payload->data, payload->size);
    SimRecordEnd(s);
}

static void PutStack(SimSession *s, int64_t ticks)
{
    static const char frames[] = "p0xfffff80000001000 p0xfffff80000002000 p0x7ff600001010";
    EtwText payload = {0};
    int64_t ignored;
    uint32_t ids[2] = {GetCurrentProcessId(), GetCurrentThreadId()};
    EtwTextAdd(&payload, &ticks, 8);
    EtwTextAdd(&payload, ids, sizeof ids);
    AddFields(&payload, frames);
    Put(s, STACK_HOOK, 2, true, &payload, &ignored);
    EtwTextFree(&payload);
}

static void Emit(SimSession *s, const KernelEvent *e)
{
    EtwText payload = {0};
    int64_t ticks;
    uint16_t hook = (uint16_t)(e->group << 8 | e->opcode);
    AddFields(&payload, e->fields);
    Put(s, hook, e->version, e->perf, &payload, &ticks);
    EtwTextFree(&payload);
    if (ticks != 0 && Named(s->stackEvents, s->stackEventCount, hook)) {
        PutStack(s, ticks);
    }
}

void SimKernelEmit(SimSession *s, ULONG flags)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (s->system && table[i].flag & flags & s->enableFlags) {
            Emit(s, &table[i]);
        }
    }
}

void SimKernelRundown(SimSession *s, bool end)
{
    for (int i = 0; i < 2; i++) {
        if (s->system && runs[end][i].flag & s->enableFlags) {
            Emit(s, &runs[end][i]);
        }
    }
}

ULONG WINAPI EtwSimKernel(ULONG flags, ULONG count)
{
    ULONG sessions = 0;
    SimInit();
    AcquireSRWLockShared(&simLock);
    for (int id = 1; id <= SIM_SESSIONS; id++) {
        SimSession *s = simSessions[id];
        for (ULONG i = 0; s != NULL && s->system && i < count; i++) {
            SimKernelEmit(s, flags);
        }
        sessions += s != NULL && s->system;
    }
    ReleaseSRWLockShared(&simLock);
    return sessions;
}
