/*
 * flow/source/perf/perf_convert.c --
 *
 *	Records to events: what samples of each attribute become, and the parts of a sample.
 */
#include "flow/source/perf/perf_int.h"
#include <stdio.h>

/* ---- What samples become ------------------------------------------------------------------------ */

static const struct {
    const char *system, *name;
    PerfUse use;
    const char *fields[PERF_FIELDS + 1];
} known[] = {
        {"sched", "sched_switch", USE_SWITCH,
                {"prev_pid", "next_pid", "prev_state", "prev_prio", "next_prio", "prev_comm",
                        "next_comm"}},
        {"raw_syscalls", "sys_enter", USE_CALL_ENTER, {"id", "args"}},
        {"raw_syscalls", "sys_exit", USE_CALL_EXIT, {"id", "ret"}},
};

static const EtwTracepointField *findField(const EtwTracepointFormat *format, const char *name)
{
    for (int i = 0; i < format->count; i++) {
        if (strcmp(format->fields[i].name, name) == 0) {
            return &format->fields[i];
        }
    }
    return NULL;
}

static void needField(uint32_t *needPtr, const EtwTracepointField *field)
{
    uint32_t end = field->offset + field->size;
    *needPtr = end > *needPtr ? end : *needPtr;
}

/* False: it is another tracepoint, or lacks a field. */
static bool asKnown(PerfAttr *attr, size_t which)
{
    const EtwTracepointFormat *format = attr->tracepoint->format;
    if (strcmp(attr->tracepoint->system, known[which].system) != 0 ||
            strcmp(format->name, known[which].name) != 0) {
        return false;
    }
    attr->need = 0;
    for (int i = 0; i < PERF_FIELDS && known[which].fields[i] != NULL; i++) {
        attr->fields[i] = findField(format, known[which].fields[i]);
        if (attr->fields[i] == NULL) {
            return false;
        }
        needField(&attr->need, attr->fields[i]);
    }
    if (known[which].use == USE_CALL_ENTER && attr->fields[1]->size != 48) {
        return false;
    }
    attr->use = known[which].use;
    return true;
}

/* Numbers of system calls have names for x86_64 only. A file that does not name its machine is of that one. */
static bool namesCalls(const EtwPerfReader *r)
{
    return r->machine == NULL || r->machine[0] == 0 || strcmp(r->machine, "x86_64") == 0;
}

/* The provider. Another machine's calls get one that schema/model/linux_names.c does not name. */
static void nameProvider(const EtwPerfReader *r, const PerfTracepoint *t, EtwText *name)
{
    bool calls = strcmp(t->system, "raw_syscalls") == 0 || strcmp(t->system, "syscalls") == 0;
    EtwTextPrintf(name, "Linux-%s", t->system);
    if (calls && !namesCalls(r)) {
        EtwTextPrintf(name, "-%.64s", r->machine);
    }
    EtwTextChar(name, 0);
}

/* What its events have. */
static void describeTracepoint(const EtwPerfReader *r, PerfTracepoint *t)
{
    const EtwTracepointFormat *format = t->format;
    EtwText provider = {0};
    Etw_EventDesc desc = {.name = format->name, .level = ETW_LEVEL_INFO};
    Etw_Field *fields = EtwAlloc(sizeof *fields * ((size_t)format->count + 1));
    t->parts = EtwAlloc(sizeof *t->parts * ((size_t)format->count + 1));
    for (int i = 0; i < format->count; i++) {
        EtwTracepointDescribe(&format->fields[i], &fields[i], &t->parts[i]);
        needField(&t->need, &format->fields[i]);
    }
    t->partCount = format->count;
    nameProvider(r, t, &provider);
    t->class = PerfClassNew(provider.data, &desc, fields, format->count);
    t->described = true;
    EtwTextFree(&provider);
    EtwFree(fields);
}

static bool asTracepoint(const EtwPerfReader *r, PerfAttr *attr)
{
    PerfTracepoint *t = attr->tracepoint;
    if (t == NULL) {
        return false;
    }
    if (!t->described) {
        describeTracepoint(r, t);
    }
    if (t->class == NULL) {
        return false;
    }
    attr->need = t->need;
    attr->use = USE_TRACEPOINT;
    return true;
}

/* Whether its samples are spread over CPU time. */
static bool isProfile(const PerfAttr *attr)
{
    uint32_t config = (uint32_t)attr->config; /* above: which kind of core */
    return (attr->type == TYPE_SOFTWARE &&
                   (config == SOFTWARE_CPU_CLOCK || config == SOFTWARE_TASK_CLOCK)) ||
           (attr->type == TYPE_HARDWARE &&
                   (config == HARDWARE_CYCLES || config == HARDWARE_REF_CYCLES));
}

/*
 * False: its samples would count CPU time twice. A machine with several kinds of cores has an event of cycles
 * for each; a core counts one of them.
 */
static bool addProfile(EtwPerfReader *r, PerfAttr *attr)
{
    uint32_t kind = (uint32_t)(attr->config >> 32);
    if (r->profile != NULL && (attr->type != TYPE_HARDWARE || r->profile->type != TYPE_HARDWARE ||
                                      (uint32_t)attr->config != (uint32_t)r->profile->config)) {
        return false;
    }
    for (int i = 0; i < r->coreKindCount; i++) {
        if (r->coreKinds[i] == kind) {
            return false;
        }
    }
    if (r->coreKindCount == PERF_CORE_KINDS) {
        return false;
    }
    r->coreKinds[r->coreKindCount++] = kind;
    r->profile = r->profile != NULL ? r->profile : attr;
    return true;
}

static void asOther(PerfAttr *attr)
{
    char name[40];
    Etw_Field fields[5] = {{.name = "InstructionPointer", .in = ETW_IN_HEX64},
            {.name = "Period", .in = ETW_IN_UINT64},
            {.name = "Mode", .in = ETW_IN_COUNTED_ANSI, .out = ETW_OUT_UTF8}};
    int count = 3;
    if (attr->sampleType & SAMPLE_ADDR) {
        fields[count++] = (Etw_Field){.name = "Address", .in = ETW_IN_HEX64};
    }
    if (attr->sampleType & SAMPLE_RAW) {
        fields[count++] = (Etw_Field){.name = "Data", .in = ETW_IN_BINARY};
    }
    snprintf(name, sizeof name, attr->type == TYPE_TRACEPOINT ? "tracepoint-%llu" : "event-%llu",
            (unsigned long long)attr->config);
    Etw_EventDesc desc = {.name = attr->name != NULL ? attr->name : name, .level = ETW_LEVEL_INFO};
    attr->class = PerfClassNew("Linux-perf", &desc, fields, count);
    attr->use = USE_OTHER;
}

void PerfDecide(EtwPerfReader *r, PerfAttr *attr)
{
    if (attr->decided) {
        return;
    }
    attr->decided = true;
    attr->tracepoint = attr->type == TYPE_TRACEPOINT ? PerfTracepointOf(r, attr->config) : NULL;
    for (size_t i = 0; attr->tracepoint != NULL && i < sizeof known / sizeof *known; i++) {
        if ((known[i].use == USE_SWITCH || namesCalls(r)) && asKnown(attr, i)) {
            r->hasSwitches |= attr->use == USE_SWITCH;
            return;
        }
    }
    if (isProfile(attr) && addProfile(r, attr)) {
        attr->use = USE_PROFILE;
        if (attr == r->profile && attr->type == TYPE_HARDWARE && !attr->freq) {
            r->warn(r->warnCtx,
                    "perf recorded cycles with a fixed period (-c): each sample counts as 1 ms",
                    true);
        }
    }
}

/* The first sample: attributes without samples, of which a file can have many, need no description. */
static void describe(EtwPerfReader *r, PerfAttr *attr)
{
    PerfDecide(r, attr);
    if (attr->use == USE_UNKNOWN && !asTracepoint(r, attr)) {
        attr->need = 0;
        asOther(attr);
    }
}

/* ---- The parts of a sample ----------------------------------------------------------------------- */

typedef struct Sample {
    PerfMoment moment;
    uint64_t ip, address, period;
    const uint8_t *raw;
    uint32_t rawSize;
} Sample;

/* The values of counters; not used. */
static void skipRead(EtwBytes *b, uint64_t format)
{
    uint64_t count = 1;
    uint64_t each = 8 * (1 + ((format & READ_ID) != 0) + ((format & READ_LOST) != 0));
    if (format & READ_GROUP) {
        count = EtwTake64(b);
    }
    uint64_t times =
            8 * (((format & READ_TIME_ENABLED) != 0) + ((format & READ_TIME_RUNNING) != 0));
    if (count > EtwBytesLeft(b) / each) {
        b->failed = true;
        return;
    }
    EtwTake(b, (size_t)(count * each + times));
}

/* Copy addresses without the marks between kernel and user addresses. */
static void takeStack(EtwPerfReader *r, EtwBytes *b, PerfMoment *m)
{
    uint64_t count = EtwTake64(b);
    if (count > EtwBytesLeft(b) / 8) {
        b->failed = true;
        return;
    }
    r->stack.size = 0;
    EtwTextReserve(&r->stack, 8);
    const uint8_t *addresses = EtwTake(b, (size_t)count * 8);
    for (uint64_t i = 0; i < count && m->stackCount < PERF_STACK_MAX; i++) {
        uint64_t address = EtwLoad64(addresses + 8 * i);
        if (address < PERF_CONTEXT_MARKS) {
            EtwTextAdd(&r->stack, &address, 8);
            m->stackCount++;
        }
    }
    m->stack = (const uint8_t *)r->stack.data;
}

/* b: the record after its header. False: malformed. */
static bool takeSample(EtwPerfReader *r, const PerfAttr *attr, EtwBytes b, Sample *s)
{
    uint64_t type = attr->sampleType;
    if (type & SAMPLE_IDENTIFIER) {
        EtwTake64(&b);
    }
    s->ip = type & SAMPLE_IP ? EtwTake64(&b) : 0;
    if (type & SAMPLE_TID) {
        s->moment.pid = EtwTake32(&b);
        s->moment.tid = EtwTake32(&b);
    }
    if (type & SAMPLE_TIME) {
        EtwTake64(&b);
    }
    s->address = type & SAMPLE_ADDR ? EtwTake64(&b) : 0;
    if (type & SAMPLE_ID) {
        EtwTake64(&b);
    }
    if (type & SAMPLE_STREAM_ID) {
        EtwTake64(&b);
    }
    s->moment.cpu = type & SAMPLE_CPU ? (uint16_t)EtwTake64(&b) : 0;
    s->period = type & SAMPLE_PERIOD ? EtwTake64(&b) : attr->freq ? 0 : attr->period;
    if (type & SAMPLE_READ) {
        skipRead(&b, attr->readFormat);
    }
    if (type & SAMPLE_CALLCHAIN) {
        takeStack(r, &b, &s->moment);
    }
    if (type & SAMPLE_RAW) {
        s->rawSize = EtwTake32(&b);
        s->raw = EtwTake(&b, s->rawSize);
    }
    if (type & (SAMPLE_REGS_USER | SAMPLE_STACK_USER)) {
        PerfTakeCopies(r, attr, &b, &s->moment);
    }
    return !b.failed;
}

/* ---- Events of samples --------------------------------------------------------------------------- */

static const char *modeOf(uint16_t misc)
{
    static const char *const modes[MISC_CPUMODE + 1] = {[MISC_KERNEL] = "kernel",
            [MISC_USER] = "user",
            [MISC_HYPERVISOR] = "hypervisor",
            [MISC_GUEST_KERNEL] = "guest kernel",
            [MISC_GUEST_USER] = "guest user"};
    const char *mode = modes[misc & MISC_CPUMODE];
    return mode != NULL ? mode : "";
}

static void onProfile(EtwPerfReader *r, const PerfAttr *attr, const Sample *s, uint16_t misc)
{
    enum { NS = 1000000000 };
    uint64_t weight = attr->freq && attr->period != 0 ? NS / attr->period : 0;
    if (attr->type == TYPE_SOFTWARE && s->period != 0) {
        weight = s->period; /* a clock counts ns */
    }
    PerfPut64(r, s->ip);
    PerfPut64(r, weight);
    PerfPutText(r, modeOf(misc));
    PerfEmitDeclared(r, PERF_PROFILE, &s->moment);
}

static void onOther(EtwPerfReader *r, const PerfAttr *attr, const Sample *s, uint16_t misc)
{
    PerfPut64(r, s->ip);
    PerfPut64(r, s->period);
    PerfPutText(r, modeOf(misc));
    if (attr->sampleType & SAMPLE_ADDR) {
        PerfPut64(r, s->address);
    }
    if (attr->sampleType & SAMPLE_RAW) {
        PerfPutBytes(r, s->raw, s->rawSize);
    }
    if (attr->class != NULL) {
        PerfEmit(r, attr->class, &s->moment);
    }
    r->payload.size = 0;
}

static uint64_t numberOf(const EtwTracepointField *f, const uint8_t *raw)
{
    switch (f->size) {
    case 1:
        return f->isSigned ? (uint64_t)(int8_t)raw[f->offset] : raw[f->offset];
    case 2:
        return f->isSigned ? (uint64_t)(int16_t)EtwLoad16(raw + f->offset)
                           : EtwLoad16(raw + f->offset);
    case 4:
        return f->isSigned ? (uint64_t)(int32_t)EtwLoad32(raw + f->offset)
                           : EtwLoad32(raw + f->offset);
    case 8:
        return EtwLoad64(raw + f->offset);
    default:
        return 0;
    }
}

static void putChars(EtwPerfReader *r, const EtwTracepointField *f, const uint8_t *raw)
{
    const char *text = (const char *)raw + f->offset;
    PerfPutBytes(r, text, strnlen(text, f->size));
}

static void onSwitch(EtwPerfReader *r, const PerfAttr *attr, const Sample *s)
{
    enum { OLD, NEW, STATE, OLD_PRIO, NEW_PRIO, OLD_COMM, NEW_COMM, STATES = 0x1ff };
    const EtwTracepointField *const *f = attr->fields;
    PerfPut32(r, (uint32_t)numberOf(f[OLD], s->raw));
    PerfPut32(r, (uint32_t)numberOf(f[NEW], s->raw));
    PerfPut16(r, (uint16_t)(numberOf(f[STATE], s->raw) & STATES));
    PerfPut32(r, (uint32_t)numberOf(f[OLD_PRIO], s->raw));
    PerfPut32(r, (uint32_t)numberOf(f[NEW_PRIO], s->raw));
    putChars(r, f[OLD_COMM], s->raw);
    putChars(r, f[NEW_COMM], s->raw);
    PerfEmitDeclared(r, PERF_SWITCH, &s->moment);
}

static void onCall(EtwPerfReader *r, const PerfAttr *attr, const Sample *s)
{
    PerfPut32(r, (uint32_t)numberOf(attr->fields[0], s->raw));
    if (attr->use == USE_CALL_ENTER) {
        EtwTextAdd(&r->payload, s->raw + attr->fields[1]->offset, attr->fields[1]->size);
        PerfEmitDeclared(r, PERF_CALL_ENTER, &s->moment);
    } else {
        PerfPut64(r, numberOf(attr->fields[1], s->raw));
        PerfEmitDeclared(r, PERF_CALL_EXIT, &s->moment);
    }
}

static void onTracepoint(EtwPerfReader *r, const PerfAttr *attr, const Sample *s)
{
    enum { TEXTS = 32768 };
    const PerfTracepoint *t = attr->tracepoint;
    size_t room = TEXTS + s->rawSize + 2u * (size_t)t->partCount + 8;
    for (int i = 0; i < t->partCount; i++) {
        room += t->parts[i].size; /* fields of a damaged format may overlap */
    }
    EtwTextReserve(&r->payload, room);
    uint8_t *start = (uint8_t *)r->payload.data, *at = start;
    for (int i = 0; i < t->partCount; i++) {
        at = EtwTracepointCopyPart(&t->parts[i], s->raw, s->rawSize, at, start + TEXTS);
    }
    r->payload.size = (size_t)(at - start);
    PerfEmit(r, t->class, &s->moment);
}

static void onSample(EtwPerfReader *r, PerfAttr *attr, const PerfPending *p, PerfHeader head)
{
    Sample s = {.moment = {.time = p->time}};
    EtwBytes b = EtwBytesOf(p->record + PERF_RECORD_HEADER, head.size - PERF_RECORD_HEADER);
    if (!takeSample(r, attr, b, &s)) {
        r->malformed++;
        return;
    }
    if (attr->need != 0 && (s.raw == NULL || s.rawSize < attr->need)) {
        r->malformed++;
        return;
    }
    switch (attr->use) {
    case USE_PROFILE:
        onProfile(r, attr, &s, head.misc);
        break;
    case USE_TRACEPOINT:
        onTracepoint(r, attr, &s);
        break;
    case USE_SWITCH:
        onSwitch(r, attr, &s);
        break;
    case USE_CALL_ENTER:
    case USE_CALL_EXIT:
        onCall(r, attr, &s);
        break;
    case USE_OTHER:
    case USE_UNKNOWN:
        onOther(r, attr, &s, head.misc);
        break;
    }
}

/* ---- Other records --------------------------------------------------------------------------------- */

/*
 * A switch without the tracepoint: the kernel reports both sides. With CPU-wide records each side names both
 * threads, so that one suffices; otherwise the other thread is not known. A thread that was not preempted
 * waits for something.
 */
static void onContextSwitch(EtwPerfReader *r, const PerfMoment *m, EtwBytes *b, PerfHeader head)
{
    enum { PREEMPTED = 256, WAITS = 1 };
    bool out = (head.misc & MISC_SWITCH_OUT) != 0;
    bool wide = head.type == RECORD_SWITCH_CPU_WIDE;
    uint32_t other = 0;
    if (wide) {
        EtwTake32(b);
        other = EtwTake32(b);
    }
    if (b->failed || r->hasSwitches || (wide && !out)) {
        r->malformed += b->failed;
        return;
    }
    uint32_t old = out ? m->tid : other, new = out ? other : m->tid;
    PerfPut32(r, old);
    PerfPut32(r, new);
    PerfPut16(r, !out ? 0 : head.misc & MISC_SWITCH_PREEMPT ? PREEMPTED : WAITS);
    PerfPut32(r, 0); /* priorities are not recorded */
    PerfPut32(r, 0);
    PerfPutComm(r, old);
    PerfPutComm(r, new);
    PerfEmitDeclared(r, PERF_SWITCH, m);
}

/* What all records but samples have at their end. b is shortened to what precedes it. */
static void takeTail(const PerfAttr *attr, EtwBytes *b, PerfMoment *m)
{
    static const uint32_t parts[] = {
            SAMPLE_TID, SAMPLE_TIME, SAMPLE_ID, SAMPLE_STREAM_ID, SAMPLE_CPU, SAMPLE_IDENTIFIER};
    const uint8_t *at = b->end;
    if (attr == NULL || !attr->sampleIdAll) {
        return;
    }
    for (size_t i = sizeof parts / sizeof *parts; i > 0; i--) {
        if ((attr->sampleType & parts[i - 1]) == 0) {
            continue;
        }
        if (at - b->at < 8) {
            return;
        }
        at -= 8;
        if (parts[i - 1] == SAMPLE_CPU) {
            m->cpu = (uint16_t)EtwLoad32(at);
        } else if (parts[i - 1] == SAMPLE_TID) {
            m->pid = EtwLoad32(at);
            m->tid = EtwLoad32(at + 4);
        }
    }
    b->end = at;
}

void PerfConvert(EtwPerfReader *r, const PerfPending *p)
{
    PerfHeader head = PerfHeaderOf(p->record);
    PerfMoment m = {.time = p->time};
    EtwBytes b = EtwBytesOf(p->record + PERF_RECORD_HEADER, head.size - PERF_RECORD_HEADER);
    if (head.type == RECORD_SAMPLE) {
        describe(r, p->attr);
        onSample(r, p->attr, p, head);
        return;
    }
    takeTail(p->attr, &b, &m);
    switch (head.type) {
    case RECORD_MMAP:
    case RECORD_MMAP2:
        PerfOnMmap(r, &m, &b, head);
        break;
    case RECORD_COMM:
        PerfOnComm(r, &m, &b, head.misc);
        break;
    case RECORD_FORK:
        PerfOnFork(r, &m, &b);
        break;
    case RECORD_EXIT:
        PerfOnExit(r, &m, &b);
        break;
    case RECORD_SWITCH:
    case RECORD_SWITCH_CPU_WIDE:
        onContextSwitch(r, &m, &b, head);
        break;
    default:
        break;
    }
}
