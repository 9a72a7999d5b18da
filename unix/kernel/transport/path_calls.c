/*
 * unix/kernel/transport/path_calls.c --
 *
 *	See path_calls.h. Two BPF programs, assembled here: one at the return of system calls, one
 *	where a task is created. They share a set of processes, a bit for each process id: a child
 *	of a process in the set is added, and any other new task is removed, because ids are
 *	reused. So a system call of another process costs one look at the set. Only the creation of
 *	a task writes its bit, with an addition, which every kernel since 5.10 does atomically.
 *
 *	perf writes the records to the rings of perf_transport.c, which also counts losses.
 */
#define _GNU_SOURCE
#include "unix/kernel/transport/path_calls.h"
#include "unix/kernel/transport/perf_transport.h"
#include "unix/kernel/transport/tracepoint_format.h"
#include "base/alloc.h"
#include <asm/ptrace.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef BPF_ATOMIC /* linux/bpf.h before 5.12 has another name */
#define BPF_ATOMIC BPF_XADD
#endif

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

typedef struct PathCalls {
    KernelTransport base;  /* must be first */
    KernelTransport *perf; /* has the rings */
    int set, rings, scratch;
    uint64_t *bits; /* the mapped set */
    size_t words;
    bool all;            /* every process */
    int calls, tasks;    /* what keeps the programs: a raw tracepoint, an event; -1: none */
    int id, childOffset; /* of task:task_newtask, and of its field pid */
} PathCalls;

struct tep_event *PathCallFormat(void)
{
    static struct tep_event format = {
            .id = PATH_CALL_TYPE_ID, .system = "etw", .name = "path_call"};
    return &format;
}

/* ---- System calls -------------------------------------------------------------------------------- */

/* Where the kernel saves a call's number and arguments (struct pt_regs). 0: no such argument. */
#if defined(__x86_64__)
enum {
    NUMBER = offsetof(struct pt_regs, orig_rax),
    MODE = offsetof(struct pt_regs, cs),
    MODE_MASK = 0xffff,
    MODE_NATIVE = 0x33,
    REG_1 = offsetof(struct pt_regs, rdi),
    REG_2 = offsetof(struct pt_regs, rsi),
    REG_3 = offsetof(struct pt_regs, rdx),
    REG_4 = offsetof(struct pt_regs, r10)
};
#elif defined(__aarch64__)
enum {
    REG_1 = sizeof(struct user_pt_regs), /* orig_x0 */
    NUMBER = REG_1 + 8,
    MODE = offsetof(struct user_pt_regs, pstate),
    MODE_MASK = 0x10,
    MODE_NATIVE = 0,
    REG_2 = 8,
    REG_3 = 16,
    REG_4 = 24
};
#else
enum {
    NUMBER,
    MODE = 0,
    MODE_MASK = 0,
    MODE_NATIVE = 1,
    REG_1 = 0,
    REG_2 = 0,
    REG_3 = 0,
    REG_4 = 0
};
#endif

static const struct {
    PathCallKind kind;
    int number, path, to, openFlags;
} calls[] = {
        {PATH_CALL_OPEN, SYS_openat, REG_2, 0, REG_3},
#ifdef SYS_openat2
        {PATH_CALL_OPEN, SYS_openat2, REG_2, 0, 0},
#endif
#ifdef SYS_open
        {PATH_CALL_OPEN, SYS_open, REG_1, 0, REG_2},
        {PATH_CALL_OPEN, SYS_creat, REG_1, 0, 0},
        {PATH_CALL_UNLINK, SYS_unlink, REG_1, 0, 0},
        {PATH_CALL_RENAME, SYS_rename, REG_1, REG_2, 0},
#endif
        {PATH_CALL_UNLINK, SYS_unlinkat, REG_2, 0, 0},
#ifdef SYS_renameat
        {PATH_CALL_RENAME, SYS_renameat, REG_2, REG_4, 0},
#endif
        {PATH_CALL_RENAME, SYS_renameat2, REG_2, REG_4, 0},
};

PathCallKind PathCallKindOf(uint32_t number)
{
    for (int i = 0; i < COUNT(calls); i++) {
        if (calls[i].number == (int)number) {
            return calls[i].kind;
        }
    }
    return PATH_CALL_NONE;
}

/* ---- Assembler ----------------------------------------------------------------------------------- */

enum { ROOM = 256, EXITS = 16 };
typedef struct Code {
    struct bpf_insn at[ROOM];
    int size;
    int exits[EXITS], exitCount; /* jumps to the end */
} Code;

static int put(Code *c, int code, int to, int from, int offset, int value)
{
    c->at[c->size] = (struct bpf_insn){.code = (uint8_t)code,
            .dst_reg = (uint8_t)(to & 15),
            .src_reg = (uint8_t)(from & 15),
            .off = (int16_t)offset,
            .imm = value};
    return c->size++;
}

static void copyReg(Code *c, int to, int from)
{
    put(c, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}
static void setReg(Code *c, int to, int value)
{
    put(c, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}
static void alu(Code *c, int operation, int reg, int value)
{
    put(c, BPF_ALU64 | operation | BPF_K, reg, 0, 0, value);
}
static void aluReg(Code *c, int operation, int reg, int from)
{
    put(c, BPF_ALU64 | operation | BPF_X, reg, from, 0, 0);
}
static void load(Code *c, int size, int to, int base, int offset)
{
    put(c, BPF_LDX | BPF_MEM | size, to, base, offset, 0);
}
static void store(Code *c, int size, int base, int offset, int from)
{
    put(c, BPF_STX | BPF_MEM | size, base, from, offset, 0);
}
static void storeValue(Code *c, int base, int offset, int value)
{
    put(c, BPF_ST | BPF_MEM | BPF_W, base, 0, offset, value);
}
static void call(Code *c, int helper)
{
    put(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}
static void stackAddress(Code *c, int reg, int offset)
{
    copyReg(c, reg, 10);
    alu(c, BPF_ADD, reg, offset);
}
static void loadMap(Code *c, int reg, int map)
{
    put(c, BPF_LD | BPF_DW | BPF_IMM, reg, BPF_PSEUDO_MAP_FD, 0, map);
    put(c, 0, 0, 0, 0, 0);
}
/* A jump forward; its target is the next instruction at the call of here. */
static int jumpIf(Code *c, int condition, int reg, int value)
{
    return put(c, BPF_JMP | condition | BPF_K, reg, 0, 0, value);
}
static void here(Code *c, int jump)
{
    c->at[jump].off = (int16_t)(c->size - jump - 1);
}
static void exitIf(Code *c, int condition, int reg, int value)
{
    c->exits[c->exitCount++] = jumpIf(c, condition, reg, value);
}
static void end(Code *c)
{
    for (int i = 0; i < c->exitCount; i++) {
        here(c, c->exits[i]);
    }
    setReg(c, 0, 0);
    put(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* ---- The programs -------------------------------------------------------------------------------- */

/* Offsets on the programs' stack. */
enum { WHO = -8, KEY = -12, VALUE = -24, PATH = -32, TO = -36, FLAGS = -40 };

/* r0 = address of the word of the set with the process id in `pid`, whose bit number remains in it. */
static void findWord(Code *c, const PathCalls *t, int pid)
{
    copyReg(c, 1, pid);
    alu(c, BPF_RSH, 1, 6);
    store(c, BPF_W, 10, KEY, 1);
    stackAddress(c, 2, KEY);
    loadMap(c, 1, t->set);
    call(c, BPF_FUNC_map_lookup_elem);
    exitIf(c, BPF_JEQ, 0, 0);
    alu(c, BPF_AND, pid, 63);
}

/* to = the bit, 0 or 1. */
static void loadBit(Code *c, int to, int number)
{
    load(c, BPF_DW, to, 0, 0);
    aluReg(c, BPF_RSH, to, number);
    alu(c, BPF_AND, to, 1);
}

/* VALUE = saved register at the offset in r3, of the registers at r7; r3 = VALUE */
static void readRegister(Code *c)
{
    aluReg(c, BPF_ADD, 3, 7);
    stackAddress(c, 1, VALUE);
    setReg(c, 2, 8);
    call(c, BPF_FUNC_probe_read_kernel);
    load(c, BPF_DW, 3, 10, VALUE);
}

/* Copy the string at the address in r3 to r1. r0 = its size with NUL; 0: it cannot be read */
static void readString(Code *c)
{
    int jump;
    setReg(c, 2, PATH_CALL_ROOM);
    call(c, BPF_FUNC_probe_read_user_str);
    jump = jumpIf(c, BPF_JSGT, 0, 0);
    setReg(c, 0, 0);
    here(c, jump);
    jump = jumpIf(c, BPF_JLE, 0, PATH_CALL_ROOM); /* always: for the verifier */
    setReg(c, 0, PATH_CALL_ROOM);
    here(c, jump);
}

/* r8 = number of the call. Leave on the stack where its arguments are; end for other calls. */
static void chooseCall(Code *c)
{
    int found[COUNT(calls)];
    for (int i = 0; i < COUNT(calls); i++) {
        int other = jumpIf(c, BPF_JNE, 8, calls[i].number);
        storeValue(c, 10, PATH, calls[i].path);
        storeValue(c, 10, TO, calls[i].to);
        storeValue(c, 10, FLAGS, calls[i].openFlags);
        found[i] = put(c, BPF_JMP | BPF_JA, 0, 0, 0, 0);
        here(c, other);
    }
    c->exits[c->exitCount++] = put(c, BPF_JMP | BPF_JA, 0, 0, 0, 0); /* none of them */
    for (int i = 0; i < COUNT(calls); i++) {
        here(c, found[i]);
    }
}

/* At the return of every system call. Context: registers, result. */
static void putCalls(Code *c, const PathCalls *t)
{
    int jump;
    copyReg(c, 6, 1);
    call(c, BPF_FUNC_get_current_pid_tgid);
    store(c, BPF_DW, 10, WHO, 0);
    if (!t->all) {
        copyReg(c, 7, 0);
        alu(c, BPF_RSH, 7, 32);
        findWord(c, t, 7);
        loadBit(c, 1, 7);
        exitIf(c, BPF_JEQ, 1, 0);
    }
    load(c, BPF_DW, 7, 6, 0);
    setReg(c, 3, NUMBER);
    readRegister(c);
    load(c, BPF_W, 8, 10, VALUE);
    chooseCall(c);
    setReg(c, 3, MODE);
    readRegister(c); /* 32-bit programs have other numbers */
    alu(c, BPF_AND, 3, MODE_MASK);
    exitIf(c, BPF_JNE, 3, MODE_NATIVE);
    storeValue(c, 10, KEY, 0);
    stackAddress(c, 2, KEY);
    loadMap(c, 1, t->scratch);
    call(c, BPF_FUNC_map_lookup_elem);
    exitIf(c, BPF_JEQ, 0, 0);
    copyReg(c, 9, 0);
    storeValue(c, 9, 0, PATH_CALL_TYPE_ID);
    load(c, BPF_DW, 1, 10, WHO);
    store(c, BPF_W, 9, offsetof(PathCall, tid), 1);
    alu(c, BPF_RSH, 1, 32);
    store(c, BPF_W, 9, offsetof(PathCall, pid), 1);
    store(c, BPF_W, 9, offsetof(PathCall, number), 8);
    load(c, BPF_DW, 1, 6, 8);
    store(c, BPF_DW, 9, offsetof(PathCall, result), 1);
    load(c, BPF_W, 3, 10, FLAGS);
    setReg(c, 8, 0);
    jump = jumpIf(c, BPF_JEQ, 3, 0);
    readRegister(c);
    copyReg(c, 8, 3);
    here(c, jump);
    store(c, BPF_DW, 9, offsetof(PathCall, openFlags), 8);
    load(c, BPF_W, 3, 10, PATH);
    readRegister(c);
    copyReg(c, 1, 9);
    alu(c, BPF_ADD, 1, sizeof(PathCall));
    readString(c);
    store(c, BPF_W, 9, offsetof(PathCall, pathSize), 0);
    storeValue(c, 9, offsetof(PathCall, toSize), 0);
    copyReg(c, 8, 0);
    load(c, BPF_W, 3, 10, TO);
    jump = jumpIf(c, BPF_JEQ, 3, 0);
    readRegister(c);
    copyReg(c, 1, 9);
    alu(c, BPF_ADD, 1, sizeof(PathCall));
    aluReg(c, BPF_ADD, 1, 8);
    readString(c);
    store(c, BPF_W, 9, offsetof(PathCall, toSize), 0);
    aluReg(c, BPF_ADD, 8, 0);
    here(c, jump);
    copyReg(c, 5, 8);
    alu(c, BPF_ADD, 5, sizeof(PathCall));
    copyReg(c, 4, 9);
    put(c, BPF_ALU | BPF_MOV | BPF_K, 3, 0, 0, -1); /* BPF_F_CURRENT_CPU */
    loadMap(c, 2, t->rings);
    copyReg(c, 1, 6);
    call(c, BPF_FUNC_perf_event_output);
    end(c);
}

/* Where a task is created, in the context of its creator: give it the bit of the creator. */
static void putTasks(Code *c, const PathCalls *t)
{
    int jump;
    copyReg(c, 6, 1);
    call(c, BPF_FUNC_get_current_pid_tgid);
    copyReg(c, 7, 0);
    alu(c, BPF_RSH, 7, 32);
    findWord(c, t, 7);
    loadBit(c, 8, 7);
    load(c, BPF_W, 7, 6, t->childOffset);
    findWord(c, t, 7);
    loadBit(c, 1, 7);
    c->exits[c->exitCount++] = put(c, BPF_JMP | BPF_JEQ | BPF_X, 1, 8, 0, 0);
    setReg(c, 2, 1);
    aluReg(c, BPF_LSH, 2, 7);
    jump = jumpIf(c, BPF_JNE, 8, 0);
    alu(c, BPF_NEG, 2, 0);
    here(c, jump);
    put(c, BPF_STX | BPF_ATOMIC | BPF_DW, 0, 2, 0, BPF_ADD);
    end(c);
}

/* ---- The kernel's side --------------------------------------------------------------------------- */

static int bpf(int command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

static int newMap(int type, size_t valueSize, size_t entries, unsigned flags)
{
    union bpf_attr attr = {.map_type = (uint32_t)type,
            .key_size = 4,
            .value_size = (uint32_t)valueSize,
            .max_entries = (uint32_t)entries,
            .map_flags = flags};
    return bpf(BPF_MAP_CREATE, &attr);
}

static int loadProgram(int type, const Code *c)
{
    union bpf_attr attr = {.prog_type = (uint32_t)type,
            .insns = (uintptr_t)c->at,
            .insn_cnt = (uint32_t)c->size,
            .license = (uintptr_t) "GPL"}; /* the kernel's condition for these helpers */
    return bpf(BPF_PROG_LOAD, &attr);
}

static void closeFile(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

/* Run the program at the return of system calls: -1: see errno. */
static int attachCalls(const PathCalls *t)
{
    Code code = {.size = 0};
    union bpf_attr attr = {.raw_tracepoint.name = (uintptr_t) "sys_exit"};
    int program, fd, why;
    putCalls(&code, t);
    program = loadProgram(BPF_PROG_TYPE_RAW_TRACEPOINT, &code);
    if (program < 0) {
        return -1;
    }
    attr.raw_tracepoint.prog_fd = (uint32_t)program;
    fd = bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
    why = errno;
    close(program);
    errno = why;
    return fd;
}

static int attachTasks(const PathCalls *t)
{
    struct perf_event_attr attr = {
            .type = PERF_TYPE_TRACEPOINT, .config = (uint64_t)t->id, .disabled = 1};
    Code code = {.size = 0};
    int program, fd, why;
    putTasks(&code, t);
    program = loadProgram(BPF_PROG_TYPE_TRACEPOINT, &code);
    if (program < 0) {
        return -1;
    }
    fd = PerfOpenFd(&attr, -1, OsCpu());
    if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) != 0) {
        why = errno;
        closeFile(&fd);
        errno = why;
    }
    why = errno;
    close(program);
    errno = why;
    return fd;
}

static EtwStatus refused(EtwError *err, const char *what)
{
    return EtwFailOs(err, errno == EACCES || errno == EPERM ? ETW_E_ACCESS : ETW_E_UNSUPPORTED,
            errno, "BPF", what, "the kernel refused to create a BPF %s for the names of files",
            what);
}

/* ---- Transport ------------------------------------------------------------------------------------ */

static EtwStatus enable(KernelTransport *transport, const KernelRequest *request, EtwError *err)
{
    PathCalls *t = (PathCalls *)transport;
    EtwStatus status = t->perf->ops->enable(t->perf, request, err);
    int fd;
    for (int cpu = 0; status == ETW_OK && cpu < OsCpuCount(); cpu++) {
        fd = PerfFileOf(t->perf, request->format, cpu);
        union bpf_attr attr = {.map_fd = (uint32_t)t->rings,
                .key = (uintptr_t)&cpu,
                .value = (uintptr_t)&fd,
                .flags = BPF_ANY};
        if (fd >= 0 && bpf(BPF_MAP_UPDATE_ELEM, &attr) != 0) {
            status = refused(err, "ring");
        }
    }
    return status;
}

static void disable(KernelTransport *transport, const KernelRequest *request)
{
    PathCalls *t = (PathCalls *)transport;
    t->perf->ops->disable(t->perf, request);
}

static EtwStatus follow(KernelTransport *transport, uint32_t pid, bool known, EtwError *err)
{
    PathCalls *t = (PathCalls *)transport;
    uint64_t bit = (uint64_t)1 << (pid & 63);
    (void)known;
    (void)err;
    if (pid / 64 < t->words) {
        __atomic_fetch_or(&t->bits[pid / 64], bit, __ATOMIC_SEQ_CST);
    }
    return ETW_OK;
}

static EtwStatus followAll(KernelTransport *transport, EtwError *err)
{
    PathCalls *t = (PathCalls *)transport;
    int old = t->calls;
    if (t->all) {
        return ETW_OK;
    }
    t->all = true;
    t->calls = attachCalls(t);
    closeFile(&old);
    return t->calls >= 0 ? ETW_OK : refused(err, "program");
}

/* A session never follows one thread alone. */
static EtwStatus followOne(KernelTransport *t, uint32_t tid, EtwError *err)
{
    return follow(t, tid, false, err);
}

static bool hide(KernelTransport *t, uint32_t tid)
{
    (void)t;
    (void)tid;
    return false;
}

static void start(KernelTransport *transport)
{
    PathCalls *t = (PathCalls *)transport;
    t->perf->ops->start(t->perf);
}

static void stop(KernelTransport *transport)
{
    PathCalls *t = (PathCalls *)transport;
    t->perf->ops->stop(t->perf);
    closeFile(&t->calls);
}

static void refill(KernelTransport *transport)
{
    PathCalls *t = (PathCalls *)transport;
    t->perf->ops->refill(t->perf);
}

static uint64_t lost(KernelTransport *transport)
{
    PathCalls *t = (PathCalls *)transport;
    return t->perf->ops->lost(t->perf);
}

static void closeAll(KernelTransport *transport)
{
    PathCalls *t = (PathCalls *)transport;
    closeFile(&t->calls);
    closeFile(&t->tasks);
    if (t->bits != NULL) {
        munmap(t->bits, t->words * sizeof *t->bits);
    }
    closeFile(&t->set);
    closeFile(&t->rings);
    closeFile(&t->scratch);
    if (t->perf != NULL) {
        t->perf->ops->close(t->perf);
    }
    EtwFree(t);
}

static const KernelTransportOps ops = {
        enable, disable, follow, followAll, followOne, hide, start, stop, refill, lost, closeAll};

static size_t countPids(void)
{
    unsigned long most = 4194304;
    FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
    if (f != NULL) {
        if (fscanf(f, "%lu", &most) != 1) {
            most = 4194304;
        }
        fclose(f);
    }
    return most + 1;
}

static EtwStatus makeMaps(PathCalls *t, EtwError *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE) / sizeof *t->bits;
    void *at;
    t->words = (countPids() / 64 / page + 1) * page;
    t->set = newMap(BPF_MAP_TYPE_ARRAY, sizeof *t->bits, t->words, BPF_F_MMAPABLE);
    t->rings = newMap(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, (size_t)OsCpuCount(), 0);
    t->scratch = newMap(BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(PathCall) + 2 * PATH_CALL_ROOM, 1, 0);
    if (t->set < 0 || t->rings < 0 || t->scratch < 0) {
        return refused(err, "map");
    }
    at = mmap(NULL, t->words * sizeof *t->bits, PROT_READ | PROT_WRITE, MAP_SHARED, t->set, 0);
    if (at == MAP_FAILED) {
        return refused(err, "map");
    }
    t->bits = at;
    return ETW_OK;
}

EtwStatus PathCallsOpen(KernelTransport **tPtr, const KernelTransportConfig *config, EtwError *err)
{
    PathCalls *t;
    KernelField child = {0};
    EtwStatus status;
    if (config->newTask != NULL) {
        child = KernelFieldOf(config->newTask, "pid");
    }
    if (MODE_MASK == 0 || child.size != 4) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "BPF", "task_newtask",
                "names of files by BPF need tracepoint task:task_newtask and a known processor");
    }
    t = EtwAlloc(sizeof *t);
    t->base.ops = &ops;
    t->set = t->rings = t->scratch = t->calls = t->tasks = -1;
    t->id = config->newTask->id;
    t->childOffset = child.offset;
    status = makeMaps(t, err);
    if (status == ETW_OK) {
        status = PerfOpen(&t->perf, config, err);
    }
    if (status == ETW_OK) {
        t->tasks = attachTasks(t);
        t->calls = t->tasks < 0 ? -1 : attachCalls(t);
        status = t->calls < 0 ? refused(err, "program") : ETW_OK;
    }
    if (status != ETW_OK) {
        closeAll(&t->base);
        return status;
    }
    *tPtr = &t->base;
    return ETW_OK;
}
