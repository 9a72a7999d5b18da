/*
 * tests/unix/test_groups.c --
 *
 *	The conversion of tracepoint records to events, without a kernel: records with the fields that a group's
 *	definition names are passed to its function, the events that it emits are compared as text. What the
 *	text shows is decoded by the declaration of the events.
 */
#define _GNU_SOURCE
#include "tests/support/check.h"

#ifdef __linux__
#include "tests/support/kernel_records.h"
#include "unix/kernel/transport/path_calls.h"
#include <unistd.h>

/* ---- Fields of records ----------------------------------------------------------------------- */

static void fields_1_1_numbers(void)
{
    static const uint8_t data[] = {0xAA, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x55};
    for (uint16_t size = 1; size <= 8; size = (uint16_t)(size * 2)) {
        KernelField f = {1, size, true};
        CHECK_EQ(KernelInt(f, data), -2);
        CHECK(KernelUint(f, data) == (UINT64_MAX >> (64 - 8 * size)) - 1);
    }
    CHECK_EQ(KernelUint((KernelField){1, 0, false}, data), 0);
    CHECK_EQ(KernelInt((KernelField){1, 0, false}, data), 0);
    CHECK_EQ(KernelUint((KernelField){1, 3, false}, data), 0);
}

/* What a __data_loc points to lies inside the record, or it is empty. */
static void fields_1_2_dynamic(void)
{
    uint8_t data[64] = {0};
    KernelField f = {8, 4, false};
    EtwBytes b;
    EtwStore32(data + 8, 5u << 16 | 20);
    b = KernelDynamic(f, false, data, 25);
    CHECK_EQ(b.at - data, 20);
    CHECK_EQ(EtwBytesLeft(&b), 5);
    b = KernelDynamic(f, true, data, 37);
    CHECK_EQ(b.at - data, 32);
    CHECK_EQ(EtwBytesLeft(&b), 5);
    b = KernelDynamic(f, false, data, 24);
    CHECK_EQ(EtwBytesLeft(&b), 0);
    b = KernelDynamic(f, true, data, 36);
    CHECK_EQ(EtwBytesLeft(&b), 0);
    b = KernelDynamic(f, false, data, 19);
    CHECK_EQ(EtwBytesLeft(&b), 0);
    EtwStore32(data + 8, 0xffffu << 16 | 0xffff);
    b = KernelDynamic(f, false, data, 64);
    CHECK_EQ(EtwBytesLeft(&b), 0);
    EtwStore32(data + 8, 1u << 16 | 0x1000a);
    b = KernelDynamic((KernelField){8, 8, false}, false, data, 64);
    CHECK_EQ(EtwBytesLeft(&b), 0);
}

/* The nearest name, of those that are nearer than half of what was written. */
static void fields_1_3_suggestions(void)
{
    char *names[] = {"sched_switch", "sched_wakeup", "sys_enter", NULL}, *no[] = {NULL};
    static const char *const cases[][2] = {{"sched_swich", "sched_switch"},
            {"SCHED_WAKEUP", "sched_wakeup"}, {"wakeup", "sched_wakeup"}, {"sys_entr", "sys_enter"},
            {"xyz", NULL}, {"sysXXXXer", "sys_enter"}, {"syXXXXXer", NULL},
            {"ysched_wakeup", "sched_wakeup"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = KernelSuggest(names, cases[i][0]);
        CHECK_STR(got, cases[i][1]);
        free(got);
    }
    CHECK(KernelSuggest(no, "sys") == NULL);
    CHECK(KernelSuggest(NULL, "sys") == NULL);
    char *equal[] = {"ab", "ba", NULL}, *got = KernelSuggest(equal, "aa");
    CHECK_STR(got, "ab");
    free(got);
    char longName[200];
    memset(longName, 'a', sizeof longName);
    longName[199] = '\0';
    char *one[] = {longName, NULL};
    CHECK(KernelSuggest(one, "b") == NULL);
}

/* A text ends at its NUL, and where the buffer's half ends. */
static void fields_1_4_put(void)
{
    begin();
    static uint8_t big[20000];
    memset(big, 'x', sizeof big);
    KernelPut put = KernelPutOf(k);
    Put16(&put, 0x1234);
    PutText(&put, (const uint8_t *)"ab\0c", 4);
    PutBytes(&put, (const uint8_t *)"ab\0c", 4);
    CHECK_MEM(k->payload, 12, "\x34\x12\2\0ab\4\0ab\0c", 12);
    CHECK_EQ(put.at - k->payload, 12);
    PutBytes(&put, big, sizeof big);
    CHECK_EQ(put.at - k->payload, sizeof k->payload / 2);
    CHECK_EQ(EtwLoad16(k->payload + 12), sizeof k->payload / 2 - 14);
    PutBytes(&put, big, sizeof big);
    CHECK_EQ(put.at - k->payload, sizeof k->payload / 2 + 2);
    CHECK_EQ(EtwLoad16(put.at - 2), 0);
    end();
}

/* ---- Processes and threads ------------------------------------------------------------------- */

static void tasks_1_1_start(void)
{
    begin();
    fire("task_newtask", 101, "pid:4=102 comm='tcl' clone_flags=0x1ff00");
    EXPECT("thread Start 100/101 ThreadId=102 ProcessId=100 Command=tcl stack=1");
    CHECK_EQ(KernelTaskFind(&k->tasks, 102)->pid, 100);
    CHECK_EQ(KernelTaskFind(&k->tasks, 100)->threads, 3);
    fire("task_newtask", 101, "pid:4=103 comm='sh' clone_flags=0xe0ff00");
    EXPECT("process Start 100/101 ParentId=100 ProcessId=103 Command=sh stack=1\n"
           "thread Start 100/101 ThreadId=103 ProcessId=103 Command=sh stack=1");
    CHECK_EQ(KernelTaskFind(&k->tasks, 103)->pid, 103);
    CHECK_EQ(KernelTaskFind(&k->tasks, 103)->parent, 100);
    /* Either group alone. */
    only(EV_PROCESS_START, -1);
    fire("task_newtask", 101, "pid:4=104 comm='tcl' clone_flags=0x10000");
    EXPECT("");
    fire("task_newtask", 101, "pid:4=105 comm='0123456789abcde' clone_flags=0");
    EXPECT("process Start 100/101 ParentId=100 ProcessId=105 Command=0123456789abcde stack=1");
    only(EV_THREAD_START, -1);
    fire("task_newtask", 105, "pid:4=106 comm='tcl' clone_flags=0");
    EXPECT("thread Start 105/105 ThreadId=106 ProcessId=106 Command=tcl stack=1");
    end();
}

/* Exec by a thread that is not the main one: it takes over the process's id, the others have ended. */
static void tasks_1_2_exec(void)
{
    begin();
    fire("sched_process_exec", 100, "filename=~/bin/ls pid:4=100 old_pid:4=100");
    EXPECT("process Exec 100/100 FileName=/bin/ls stack=1");
    KernelTaskAdd(&k->tasks, 101, 100);
    KernelTaskFind(&k->tasks, 100)->exitCode = 3;
    KernelTaskFind(&k->tasks, 100)->exitKnown = true;
    fire("sched_process_exec", 100, "filename=~/bin/x pid:4=100 old_pid:4=101");
    EXPECT("process Exec 100/100 FileName=/bin/x stack=1");
    CHECK_EQ(KernelTaskFind(&k->tasks, 101)->exited, 5000);
    CHECK_EQ(KernelTaskFind(&k->tasks, 100)->exited, 0);
    CHECK_EQ(KernelTaskFind(&k->tasks, 100)->threads, 1);
    CHECK(!KernelTaskFind(&k->tasks, 100)->exitKnown);
    k->events[EV_PROCESS_EXEC] = NULL;
    fire("sched_process_exec", 200, "filename=~/bin/x pid:4=200 old_pid:4=200");
    end();
}

static void tasks_1_3_stop(void)
{
    begin();
    fire("sched_process_exit", 101, "pid:4=101 comm='worker'");
    EXPECT("thread Stop 100/101 ThreadId=101 ProcessId=100 Command=worker stack=1");
    CHECK_EQ(KernelTaskFind(&k->tasks, 101)->exited, 5000);
    fire("sys_enter_exit_group", 100, "error_code=0x1ff07");
    fire("sched_process_exit", 100, "pid:4=100 comm='main'");
    EXPECT("thread Stop 100/100 ThreadId=100 ProcessId=100 Command=main stack=1\n"
           "process Stop 100/100 ExitCode=7 Command=main stack=1");
    /* Where the kernel says which thread is the last, it counts. */
    KernelTaskAdd(&k->tasks, 201, 200);
    fire("sched_process_exit", 201, "pid:4=201 comm='w' group_dead:1=1");
    EXPECT("thread Stop 200/201 ThreadId=201 ProcessId=200 Command=w stack=1\n"
           "process Stop 200/201 ExitCode=0 Command=w stack=1");
    fire("sched_process_exit", 200, "pid:4=200 comm='w' group_dead:1=0");
    EXPECT("thread Stop 200/200 ThreadId=200 ProcessId=200 Command=w stack=1");
    only(EV_PROCESS_STOP, -1);
    KernelTaskAdd(&k->tasks, 300, 300);
    fire("sched_process_exit", 300, "pid:4=300 comm='w'");
    EXPECT("process Stop 300/300 ExitCode=0 Command=w stack=1");
    end();
}

static void exitOf(uint32_t pid, const char *text, int line)
{
    fire("sched_process_exit", pid, "pid:4=300 comm='w'");
    expect(text, line);
    KernelTaskAdd(&k->tasks, pid, pid);
    KernelTaskAdd(&k->tasks, pid + 1, pid);
    fire("sched_process_exit", pid + 1, "pid:4=301 comm='w'");
    seen.size = 0;
    KernelTaskAdd(&k->tasks, pid + 1, pid);
    KernelTaskFind(&k->tasks, pid)->threads = 1;
}
#define EXIT(text) exitOf(300, "process Stop 300/300 ExitCode=" text " Command=w stack=1", __LINE__)

/* The first exit code counts; a signal's is negative, of the signal that was sent and not of the kill that follows. */
static void tasks_1_4_exit_codes(void)
{
    begin();
    only(EV_PROCESS_STOP, -1);
    KernelTaskAdd(&k->tasks, 300, 300);
    EXIT("0");
    fire("sys_enter_exit_group", 301, "error_code=5");
    fire("sys_enter_exit_group", 300, "error_code=6");
    EXIT("5");
    fire("sys_enter_exit", 301, "error_code=7"); /* another thread's */
    EXIT("0");
    fire("sys_enter_exit", 300, "error_code=0x108");
    EXIT("8");
    fire("sys_enter_exit_group", 301, "error_code=3");
    fire("sys_enter_exit", 300, "error_code=8");
    EXIT("3");
    fire("sys_enter_exit", 300, "error_code=8");
    fire("sys_enter_exit_group", 301, "error_code=3");
    EXIT("3");
    fire("sys_enter_exit", 999999999, "error_code=8");
    /* SIGSEGV by default; with a handler it ends nothing. */
    fire("signal_deliver", 301, "sig:4=11 sa_handler=0x1234");
    EXIT("0");
    fire("signal_deliver", 301, "sig:4=11 sa_handler=0");
    fire("signal_deliver", 300, "sig:4=9 sa_handler=0");
    EXIT("-11");
    /* Signals that end nothing. */
    static const int harmless[] = {
            SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU};
    for (int i = 0; i < 8; i++) {
        char fields[64];
        snprintf(fields, sizeof fields, "sig:4=%d sa_handler=0", harmless[i]);
        fire("signal_deliver", 300, fields);
        snprintf(fields, sizeof fields, "sig:4=%d pid:4=301", harmless[i]);
        fire("signal_generate", 100, fields);
        fire("signal_deliver", 300, "sig:4=9 sa_handler=0");
        EXIT("-9");
    }
    static const Step steps[] = {
            /* SIGTERM is delivered as SIGKILL; the last one sent is the one that ended it, to any thread. */
            STEP("signal_generate", 100, "sig:4=2 pid:4=300", NULL),
            STEP("signal_generate", 100, "sig:4=15 pid:4=301", NULL),
            STEP("signal_generate", 100, "sig:4=1 pid:4=200", NULL),
            STEP("signal_generate", 100, "sig:4=1 pid:4=77777777", NULL),
            STEP("signal_deliver", 301, "sig:4=9 sa_handler=0", NULL),
    };
    PLAY(steps);
    EXIT("-15");
    fire("signal_generate", 100, "sig:4=15 pid:4=300");
    fire("signal_deliver", 301, "sig:4=6 sa_handler=0");
    EXIT("-6");
    end();
}

static const char switchFields[] =
        "prev_comm='old' prev_pid:4=%u prev_prio:4=120 prev_state=%s next_comm='new' "
        "next_pid:4=%u next_prio:4=-1";

static void change(uint32_t old, const char *state, uint32_t new)
{
    char fields[200];
    snprintf(fields, sizeof fields, switchFields, old, state, new);
    fire("sched_switch", old, fields);
}
#define SWITCH(owner, old, new, state, stack)                                                      \
    "contextswitch Switch " owner " OldThreadId=" old                                              \
    " NewThreadId=" new " OldState=" state                                                         \
                        " OldPriority=120 NewPriority=-1 OldCommand=old NewCommand=new" stack

/* A switch belongs to the old thread if that is traced, else to the new one, without the old one's stack. */
static void tasks_1_5_switch(void)
{
    begin();
    change(101, "0x101", 200);
    EXPECT(SWITCH("100/101", "101", "200", "257", " stack=1"));
    change(101, "0x12345603ff", 0);
    EXPECT(SWITCH("100/101", "101", "0", "511", " stack=1"));
    change(0, "0", 101);
    EXPECT(SWITCH("100/101", "0", "101", "0", ""));
    /* Not filtered by the kernel: between two threads that are not traced there is no event. */
    anyInstance = true;
    change(888888888, "0", 999999999);
    EXPECT("");
    change(888888888, "1", 200);
    EXPECT(SWITCH("200/200", "888888888", "200", "1", ""));
    change(200, "1", 888888888);
    EXPECT(SWITCH("200/200", "200", "888888888", "1", " stack=1"));
    /* Filtered: the new one passed the filter, and is looked up. */
    anyInstance = false;
    change(0, "1", 999999999);
    EXPECT(SWITCH("999999999/999999999", "0", "999999999", "1", ""));
    /* All processes are traced: the idle thread's switches belong to it. */
    k->tasks.all = true;
    change(0, "0", 200);
    EXPECT(SWITCH("0/0", "0", "200", "0", " stack=1"));
    k->events[EV_SWITCH] = NULL;
    change(0, "0", 200);
    end();
}

/* A thread that is never traced has no events of its own; who gets its CPU, and from whom, is told. */
static void tasks_1_6_switch_of_ignored(void)
{
    begin();
    KernelTaskAdd(&k->tasks, 77, 77);
    EtwKernelIgnoreThread(77);
    change(77, "0", 0);
    EXPECT("");
    change(77, "0", 101);
    EXPECT(SWITCH("100/101", "77", "101", "0", ""));
    change(101, "0", 77);
    EXPECT(SWITCH("100/101", "101", "77", "0", " stack=1"));
    anyInstance = true;
    change(888888888, "0", 77);
    EXPECT("");
    end();
}

/* A wake-up belongs to the thread that ran, if that is traced, else to the one that is woken. */
static void tasks_1_8_wake_ups(void)
{
    begin();
    static const char toTraced[] = "comm='w' pid:4=200 prio:4=120 target_cpu:4=1";
    static const char toOther[] = "comm='w' pid:4=888888888 prio:4=120 target_cpu:4=1";
    static const char toIgnored[] = "comm='w' pid:4=78 prio:4=120 target_cpu:4=1";
    fire("sched_waking", 101, toTraced);
    EXPECT("dispatcher ReadyThread 100/101 ThreadId=200 ByThreadId=101 Interrupt=0 Cpu=1 "
           "Priority=120 Command=w stack=1");
    fire("sched_waking", 0, toTraced);
    EXPECT("dispatcher ReadyThread 200/200 ThreadId=200 ByThreadId=0 Interrupt=0 Cpu=1 "
           "Priority=120 Command=w");
    anyInstance = true;
    fire("sched_waking", 999999999, toOther);
    EXPECT("");
    fire("sched_waking", 101, toOther);
    EXPECT("dispatcher ReadyThread 100/101 ThreadId=888888888 ByThreadId=101 Interrupt=0 Cpu=1 "
           "Priority=120 Command=w stack=1");
    fire("sched_waking", 999999999, toTraced);
    EXPECT("dispatcher ReadyThread 200/200 ThreadId=200 ByThreadId=999999999 Interrupt=0 Cpu=1 "
           "Priority=120 Command=w");
    EtwKernelIgnoreThread(78);
    fire("sched_waking", 101, toIgnored);
    EXPECT("");
    fire("sched_waking", 78, toTraced);
    EXPECT("dispatcher ReadyThread 200/200 ThreadId=200 ByThreadId=78 Interrupt=0 Cpu=1 "
           "Priority=120 Command=w");
    end();
}

static void tasks_1_7_calls(void)
{
    begin();
    fire("sys_enter", 101,
            "id=257 "
            "args=@"
            "0100000000000000020000000000000003000000000000000400000000000000ffffffffffffffff060000"
            "0000000080");
    EXPECT("systemcall Enter 100/101 Syscall=257 Arg0=0x1 Arg1=0x2 Arg2=0x3 Arg3=0x4 "
           "Arg4=0xffffffffffffffff "
           "Arg5=0x8000000000000006 stack=1");
    fire("sys_exit", 101, "id=257 ret=-2");
    EXPECT("systemcall Exit 100/101 Syscall=257 Result=-2 stack=1");
    fire("sys_enter", 101, "id=257 args=@0100000000000000"); /* a kernel with fewer arguments */
    only(EV_SYSCALL_EXIT, -1);
    fire("sys_enter", 101,
            "id=1 "
            "args=@"
            "0100000000000000020000000000000003000000000000000400000000000000ffffffffffffffff060000"
            "0000000080");
    fire("sys_exit", 101, "id=1 ret=5");
    EXPECT("systemcall Exit 100/101 Syscall=1 Result=5 stack=1");
    only(EV_SYSCALL_ENTER, -1);
    fire("sys_exit", 101, "id=1 ret=5");
    end();
}

/* ---- Disks, memory, interrupts, samples ------------------------------------------------------ */

static void disks_1_1_requests(void)
{
    begin();
    static const Step steps[] = {
            STEP("block_rq_issue", 101,
                    "dev:4=0x800002 sector=16 nr_sector:4=8 rwbs='WS' bytes:4=4096",
                    "diskio Init 100/101 Major=8 Minor=2 ByteOffset=8192 TransferSize=4096 "
                    "stack=1"),
            /* It is done on behalf of who issued it, once. */
            STEP("block_rq_complete", 999999999,
                    "dev:4=0x800002 sector=16 nr_sector:4=8 rwbs='WS' error:4=-5",
                    "diskio Write 100/101 Major=8 Minor=2 ByteOffset=8192 TransferSize=4096 "
                    "IssuingThreadId=101 Error=-5 stack=1"),
            STEP("block_rq_complete", 999999999,
                    "dev:4=0x800002 sector=16 nr_sector:4=8 rwbs='WS' error:4=0", ""),
            /* Those of other processes are not reported, also not to a traced thread that runs. */
            STEP("block_rq_issue", 888888888,
                    "dev:4=0x800002 sector=16 nr_sector:4=8 rwbs='R' bytes:4=4096", NULL),
            STEP("block_rq_complete", 101,
                    "dev:4=0x800002 sector=16 nr_sector:4=8 rwbs='R' error:4=0", ""),
    };
    PLAY(steps);
    static const struct {
        const char *kind, *name;
    } kinds[] = {{"R", "Read"}, {"RA", "Read"}, {"FWFS", "Write"}, {"W", "Write"}, {"F", "Flush"},
            {"FS", "Flush"}, {"D", "Other"}, {"N", "Other"}};
    for (int i = 0; i < 8; i++) {
        char fields[100], want[200];
        snprintf(fields, sizeof fields,
                "dev:4=0xfffff00000 sector=3 nr_sector:4=8 rwbs='%s' bytes:4=512 error:4=0",
                kinds[i].kind);
        fire("block_rq_issue", 101, fields);
        EXPECT("diskio Init 100/101 Major=4095 Minor=0 ByteOffset=1536 TransferSize=512 stack=1");
        fire("block_rq_complete", 101, fields);
        snprintf(want, sizeof want,
                "diskio %s 100/101 Major=4095 Minor=0 ByteOffset=1536 TransferSize=512 "
                "IssuingThreadId=101 Error=0 stack=1",
                kinds[i].name);
        EXPECT(want);
    }
    /* Without a place on the disk. */
    fire("block_rq_issue", 101, "dev:4=1 sector=-1 nr_sector:4=0 rwbs='F' bytes:4=0");
    EXPECT("diskio Init 100/101 Major=0 Minor=1 ByteOffset=0 TransferSize=0 stack=1");
    end();
}

/* With all processes traced, a request whose issue was not seen is told, without its owner; its size is in sectors. */
static void disks_1_2_unknown(void)
{
    begin();
    k->tasks.all = true;
    static const Step steps[] = {
            STEP("block_rq_complete", 101, "dev:4=0x800002 sector=16 nr_sector:4=8 rwbs='R'",
                    "diskio Read -1/-1 Major=8 Minor=2 ByteOffset=8192 TransferSize=4096 "
                    "IssuingThreadId=4294967295 Error=0 stack=1"),
            STEP("block_rq_issue", 0, "dev:4=0x800002 sector=16 nr_sector:4=8 rwbs='R' bytes:4=77",
                    "diskio Init 0/0 Major=8 Minor=2 ByteOffset=8192 TransferSize=77 stack=1"),
            /* Another sector or device at the same place of the table is another request. */
            STEP("block_rq_complete", 101, "dev:4=0x800002 sector=131088 nr_sector:4=1 rwbs='R'",
                    "diskio Read -1/-1 Major=8 Minor=2 ByteOffset=67117056 TransferSize=512 "
                    "IssuingThreadId=4294967295 Error=0 stack=1"),
            STEP("block_rq_complete", 101, "dev:4=0x900002 sector=16 nr_sector:4=1 rwbs='R'",
                    "diskio Read -1/-1 Major=9 Minor=2 ByteOffset=8192 TransferSize=512 "
                    "IssuingThreadId=4294967295 Error=0 stack=1"),
            STEP("block_rq_complete", 101, "dev:4=0x800002 sector=16 nr_sector:4=1 rwbs='R'",
                    "diskio Read 0/0 Major=8 Minor=2 ByteOffset=8192 TransferSize=77 "
                    "IssuingThreadId=0 Error=0 stack=1"),
    };
    PLAY(steps);
    end();
}

static void memory_1_1_faults(void)
{
    begin();
    static const Step steps[] = {
            STEP("page_fault_user", 101, "address=0x7f0000001000 ip=0x401234 error_code=0x14",
                    "pagefault Fault 100/101 Address=0x7f0000001000 ProgramCounter=0x401234 "
                    "ErrorCode=0x14 stack=1"),
            STEP("mm_filemap_fault", 101, "i_ino=77 s_dev:4=0x800003 index=2",
                    "hardfault Read 100/101 Major=8 Minor=3 Inode=77 ByteOffset=8192 stack=1"),
            STEP("sys_enter_mmap", 101, "addr=0 len=8192 prot=3", NULL),
            STEP("sys_exit_mmap", 101, "ret=0x7f0000000000",
                    "virtualalloc Alloc 100/101 Address=0x7f0000000000 Size=8192 Protection=0x3 "
                    "stack=1"),
            STEP("sys_enter_munmap", 101, "addr=0x7f0000000000 len=4096", NULL),
            STEP("sys_exit_munmap", 101, "ret=-22",
                    "virtualalloc Free 100/101 Address=0x7f0000000000 Size=4096 Protection=0x0 "
                    "Result=-22 stack=1"),
            STEP("sys_exit_munmap", 101, "ret=0", NULL), /* its enter was not seen */
    };
    PLAY(steps);
    end();
}

static void interrupts_1_1(void)
{
    begin();
    fire("irq_handler_entry", 101, "irq:4=-9 name=~eth0");
    EXPECT("interrupt Enter 100/101 Vector=-9 Name=eth0 stack=1");
    fire("irq_handler_exit", 101, "irq:4=9 ret:4=1");
    EXPECT("interrupt Exit 100/101 Vector=9 Handled=1 stack=1");
    static const char *const names[] = {"HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL",
            "TASKLET", "SCHED", "HRTIMER", "RCU", "", ""};
    for (int i = 0; i < 12; i++) {
        char fields[40], want[200];
        snprintf(fields, sizeof fields, "vec:4=%d", i);
        fire("softirq_entry", 101, fields);
        fire("softirq_exit", 101, fields);
        snprintf(want, sizeof want,
                "dpc Enter 100/101 Vector=%d Name=%s stack=1\ndpc Exit 100/101 Vector=%d Name=%s "
                "stack=1",
                i, names[i], i, names[i]);
        EXPECT(want);
    }
    /* The idle thread belongs to no process: its interrupts are events only of everything. */
    fire("softirq_entry", 0, "vec:4=1");
    EXPECT("");
    k->tasks.all = true;
    fire("softirq_entry", 0, "vec:4=1");
    EXPECT("dpc Enter 0/0 Vector=1 Name=TIMER stack=1");
    end();
}

static void samples_1_1(void)
{
    begin();
    KernelTracepoint point = {.def = &kernelSamplePoint, .interval = 1000000};
    KernelSample sample = {.pid = 100, .tid = 101, .address = 0x401000};
    TraceEvent e = {.ticks = now,
            .cpu = 3,
            .data = (const uint8_t *)&sample,
            .size = sizeof sample,
            .stackCount = 4};
    kernelSamplePoint.proc(k, &point, &e);
    EXPECT("profile Sample 100/101 InstructionPointer=0x401000 Weight=1000000 Mode=user stack=4");
    sample.inKernel = 1;
    kernelSamplePoint.proc(k, &point, &e);
    EXPECT("profile Sample 100/101 InstructionPointer=0x401000 Weight=1000000 Mode=kernel stack=4");
    CHECK_EQ(KernelSampleFormat()->id, SAMPLE_TYPE_ID);
    end();
}

/* ---- Heap ------------------------------------------------------------------------------------ */

static void heap_1_1_calls(void)
{
    begin();
    static const Step steps[] = {
            STEP("malloc", 101, "size=24", NULL),
            STEP("malloc", 200, "size=7", NULL), /* another thread's call in between */
            STEP("malloc_done", 101, "address=0x1000",
                    "heap Alloc 100/101 Address=0x1000 Size=24 stack=1"),
            STEP("malloc_done", 200, "address=0", "heap Alloc 200/200 Address=0x0 Size=7 stack=1"),
            STEP("malloc_done", 101, "address=0x2000", ""), /* its call was not seen */
            STEP("calloc", 101, "count=3 size=5", NULL),
            STEP("calloc_done", 101, "address=0x1010",
                    "heap Alloc 100/101 Address=0x1010 Size=15 stack=1"),
            STEP("calloc", 101, "count=0x100000000 size=0x100000000", NULL),
            STEP("calloc_done", 101, "address=0",
                    "heap Alloc 100/101 Address=0x0 Size=18446744073709551615 stack=1"),
            STEP("aligned_alloc", 101, "alignment=64 size=128", NULL),
            STEP("aligned_alloc_done", 101, "address=0x1040",
                    "heap Alloc 100/101 Address=0x1040 Size=128 stack=1"),
            STEP("free", 101, "address=0x1040", "heap Free 100/101 Address=0x1040 stack=1"),
            STEP("free", 101, "address=0", NULL),
    };
    PLAY(steps);
    end();
}

/* realloc moves, allocates or frees. */
static void heap_1_2_realloc(void)
{
    begin();
    static const Step steps[] = {
            STEP("realloc", 101, "old=0x1000 size=50", NULL),
            STEP("realloc_done", 101, "address=0x2000",
                    "heap Realloc 100/101 Address=0x2000 Size=50 OldAddress=0x1000 stack=1"),
            STEP("realloc", 101, "old=0 size=50", NULL),
            STEP("realloc_done", 101, "address=0x3000",
                    "heap Alloc 100/101 Address=0x3000 Size=50 stack=1"),
            STEP("realloc", 101, "old=0x3000 size=0", NULL),
            STEP("realloc_done", 101, "address=0", "heap Free 100/101 Address=0x3000 stack=1"),
            STEP("realloc", 101, "old=0x3000 size=0", NULL),
            STEP("realloc_done", 101, "address=0x10",
                    "heap Realloc 100/101 Address=0x10 Size=0 OldAddress=0x3000 stack=1"),
            STEP("realloc", 101, "old=0x3000 size=9", NULL),
            STEP("realloc_done", 101, "address=0",
                    "heap Realloc 100/101 Address=0x0 Size=9 OldAddress=0x3000 stack=1"),
    };
    PLAY(steps);
    end();
}

/* The malloc inside of a realloc is the same memory: one event. A second malloc is another call. */
static void heap_1_3_nested(void)
{
    begin();
    static const Step steps[] = {
            STEP("realloc", 101, "old=0 size=50", NULL),
            STEP("malloc", 101, "size=50", NULL),
            STEP("malloc_done", 101, "address=0x3000", ""),
            STEP("realloc_done", 101, "address=0x3000",
                    "heap Alloc 100/101 Address=0x3000 Size=50 stack=1"),
            STEP("calloc", 101, "count=2 size=4", NULL),
            STEP("malloc", 101, "size=8", NULL),
            STEP("malloc", 101, "size=9", NULL), /* the first returned unseen: so did calloc */
            STEP("malloc_done", 101, "address=0x4000",
                    "heap Alloc 100/101 Address=0x4000 Size=9 stack=1"),
            STEP("malloc", 101, "size=1", NULL),
            STEP("malloc", 101, "size=2", NULL),
            STEP("malloc_done", 101, "address=0x5000",
                    "heap Alloc 100/101 Address=0x5000 Size=2 stack=1"),
            /* Threads that share a place in the table: the older call is lost, the younger right. */
            STEP("malloc", 101, "size=1", NULL),
    };
    PLAY(steps);
    KernelTaskAdd(&k->tasks, 101 + 512, 100);
    static const Step crowded[] = {
            STEP("malloc", 101 + 512, "size=2", NULL),
            STEP("malloc_done", 101, "address=0x6000", ""),
            STEP("malloc_done", 101 + 512, "address=0x7000", ""),
            STEP("malloc", 101 + 512, "size=2", NULL),
            STEP("malloc_done", 101 + 512, "address=0x7000",
                    "heap Alloc 100/613 Address=0x7000 Size=2 stack=1"),
    };
    PLAY(crowded);
    end();
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* A name as given to libc belongs to the next call of its thread; a descriptor keeps it until it is closed. */
static void files_1_1_names(void)
{
    begin();
    static const Step steps[] = {
            STEP("open", 101, "path=~/tmp/a", NULL),
            STEP("sys_enter_openat", 101, "flags:4=0x241", NULL),
            STEP("sys_exit_openat", 101, "ret=5",
                    "fileio Create 100/101 Flags=0x241 Result=5 FileName=/tmp/a NameSource=1 "
                    "stack=1"),
            STEP("sys_enter_write", 100, "fd:4=5 count=10", NULL),
            STEP("sys_exit_write", 100, "ret=7",
                    "fileio Write 100/100 Descriptor=5 Size=10 Offset=-1 Result=7 FileName=/tmp/a "
                    "NameSource=1 stack=1"),
            STEP("sys_enter_pread64", 101, "fd:4=5 count=11 pos=4096", NULL),
            STEP("sys_exit_pread64", 101, "ret=-11",
                    "fileio Read 100/101 Descriptor=5 Size=11 Offset=4096 Result=-11 "
                    "FileName=/tmp/a NameSource=1 stack=1"),
            STEP("sys_enter_readv", 101, "fd:4=5", NULL),
            STEP("sys_exit_readv", 101, "ret=1",
                    "fileio Read 100/101 Descriptor=5 Size=0 Offset=-1 Result=1 FileName=/tmp/a "
                    "NameSource=1 stack=1"),
            STEP("sys_enter_fsync", 101, "fd:4=5", NULL),
            STEP("sys_exit_fsync", 101, "ret=0",
                    "fileio Flush 100/101 Descriptor=5 Result=0 FileName=/tmp/a NameSource=1 "
                    "stack=1"),
            /* The same descriptor of another process, which has ended, has no name. */
            STEP("sys_enter_close", 200, "fd:4=500", NULL),
            STEP("sys_exit_close", 200, "ret=0",
                    "fileio Close 200/200 Descriptor=500 Result=0 FileName= NameSource=0 stack=1"),
            STEP("sys_enter_close", 101, "fd:4=5", NULL),
            STEP("sys_exit_close", 101, "ret=0",
                    "fileio Close 100/101 Descriptor=5 Result=0 FileName=/tmp/a NameSource=1 "
                    "stack=1"),
    };
    PLAY(steps);
    k->tasks.all = false;
    fire("sys_enter_close", 101, "fd:4=5");
    fire("sys_exit_close", 101, "ret=-9");
    CHECK(strstr(seen.data, "/tmp/a") == NULL);
    seen.size = 0;
    end();
}

/* A file that could not be opened has its name, a call without libc has none. */
static void files_1_2_open(void)
{
    begin();
    static const Step steps[] = {
            STEP("openat", 101, "path=~relative", NULL),
            STEP("sys_enter_openat", 101, "flags:4=0", NULL),
            STEP("sys_exit_openat", 101, "ret=-2",
                    "fileio Create 100/101 Flags=0x0 Result=-2 FileName=relative "
                    "NameSource=1 stack=1"),
            STEP("sys_enter_openat", 101, "flags:4=0", NULL),
            STEP("sys_exit_openat", 101, "ret=-13",
                    "fileio Create 100/101 Flags=0x0 Result=-13 FileName= NameSource=0 "
                    "stack=1"),
            STEP("open", 101, "path=~zero", NULL),
            STEP("sys_enter_creat", 101, "", NULL),
            STEP("sys_exit_creat", 101, "ret=0",
                    "fileio Create 100/101 Flags=0x0 Result=0 FileName=zero NameSource=1 "
                    "stack=1"), /* 0 is a descriptor */
            STEP("sys_enter_read", 101, "fd:4=0 count=1", NULL),
            STEP("sys_exit_read", 101, "ret=1",
                    "fileio Read 100/101 Descriptor=0 Size=1 Offset=-1 Result=1 "
                    "FileName=zero NameSource=1 "
                    "stack=1"),
    };
    PLAY(steps);
    /* A longer path is cut. */
    char fields[400] = "path=~", want[600];
    memset(fields + 6, 'p', 250);
    fire("open", 101, fields);
    fire("sys_enter_openat", 101, "flags:4=0");
    fire("sys_exit_openat", 101, "ret=-2");
    snprintf(want, sizeof want,
            "fileio Create 100/101 Flags=0x0 Result=-2 FileName=%s NameSource=1 stack=1",
            fields + 6);
    EXPECT(want);
    end();
}

/* The link in /proc names what was open before; sockets and pipes are no files. */
static void files_1_3_proc(void)
{
    begin();
    uint32_t self = (uint32_t)getpid();
    int pipes[2];
    char fields[100], want[600], path[300];
    FILE *f = tmpfile();
    REQUIRE(f != NULL && pipe(pipes) == 0);
    snprintf(fields, sizeof fields, "/proc/self/fd/%d", fileno(f));
    ssize_t length = readlink(fields, path, sizeof path - 1);
    REQUIRE(length > 0);
    path[length] = '\0';
    KernelTaskAdd(&k->tasks, self, self);
    snprintf(fields, sizeof fields, "fd:4=%d", fileno(f));
    fire("sys_enter_fdatasync", self, fields);
    fire("sys_exit_fdatasync", self, "ret=0");
    snprintf(want, sizeof want,
            "fileio Flush %u/%u Descriptor=%d Result=0 FileName=%s NameSource=2 stack=1", self,
            self, fileno(f), path);
    EXPECT(want);
    snprintf(fields, sizeof fields, "fd:4=%d count=3", pipes[0]);
    fire("sys_enter_read", self, fields);
    fire("sys_exit_read", self, "ret=3");
    EXPECT("");
    fire("sys_enter_close", self, fields);
    fire("sys_exit_close", self, "ret=0");
    EXPECT("");
    /* The descriptor is another file's when it is opened without a name. */
    fire("open", self, "path=~/first");
    fire("sys_enter_openat", self, "flags:4=0");
    snprintf(fields, sizeof fields, "ret=%d", fileno(f));
    fire("sys_exit_openat", self, fields);
    seen.size = 0;
    fire("sys_enter_openat", self, "flags:4=7");
    fire("sys_exit_openat", self, fields);
    snprintf(want, sizeof want,
            "fileio Create %u/%u Flags=0x7 Result=%d FileName=%s NameSource=2 stack=1", self, self,
            fileno(f), path);
    EXPECT(want);
    fclose(f);
    close(pipes[0]);
    close(pipes[1]);
    end();
}

static void files_1_4_paths(void)
{
    begin();
    static const Step steps[] = {
            STEP("unlink", 101, "path=~/tmp/x", NULL),
            STEP("sys_enter_unlink", 101, "", NULL),
            STEP("sys_exit_unlink", 101, "ret=0",
                    "fileio Delete 100/101 Result=0 FileName=/tmp/x stack=1"),
            STEP("rename", 101, "path=~/a to=~/b", NULL),
            STEP("sys_enter_rename", 101, "", NULL),
            STEP("sys_exit_rename", 101, "ret=-2",
                    "fileio Rename 100/101 Result=-2 FileName=/a NewName=/b stack=1"),
            STEP("sys_enter_renameat2", 101, "", NULL),
            STEP("sys_exit_renameat2", 101, "ret=0",
                    "fileio Rename 100/101 Result=0 FileName= NewName= stack=1"),
            /* Names of a call that was interrupted by another thread with the same place in the table are not given to it. */
            STEP("unlink", 101, "path=~/tmp/x", NULL),
    };
    PLAY(steps);
    KernelTaskAdd(&k->tasks, 101 + 512, 100);
    fire("sys_enter_unlink", 101 + 512, "");
    fire("sys_exit_unlink", 101 + 512, "ret=0");
    EXPECT("fileio Delete 100/613 Result=0 FileName= stack=1");
    /* Only what is enabled. */
    only(EV_FILE_DELETE, -1);
    fire("sys_enter_openat", 101, "flags:4=0");
    fire("sys_exit_openat", 101, "ret=-2");
    EXPECT("");
    fire("sys_enter_unlinkat", 101, "");
    fire("sys_exit_unlinkat", 101, "ret=0");
    EXPECT("fileio Delete 100/101 Result=0 FileName= stack=1");
    end();
}

/* A record of the BPF program, with `cut` bytes missing at its end. */
static void firePathCall(uint32_t number, int64_t result, const char *path, const char *to, int cut)
{
    union {
        PathCall call;
        uint8_t data[1024];
    } record = {.call = {.type = PATH_CALL_TYPE_ID,
                        .tid = 101,
                        .pid = 100,
                        .number = number,
                        .result = result,
                        .openFlags = 0x241,
                        .pathSize = *path ? (uint32_t)strlen(path) + 1 : 0,
                        .toSize = *to ? (uint32_t)strlen(to) + 1 : 0}};
    size_t size = sizeof(PathCall) + record.call.pathSize + record.call.toSize;
    const KernelTracepoint point = {.def = &kernelPathCallPoint};
    memcpy(record.data + sizeof(PathCall), path, record.call.pathSize);
    memcpy(record.data + sizeof(PathCall) + record.call.pathSize, to, record.call.toSize);
    TraceEvent event = {.ticks = now,
            .data = record.data,
            .size = (uint32_t)size - (uint32_t)cut,
            .cpu = 3,
            .stackCount = 1};
    kernelPathCallPoint.proc(k, &point, &event);
}

/* Calls with paths as one record each. */
static void files_1_5_path_calls(void)
{
    begin();
    firePathCall(SYS_openat, 5, "/tmp/a b", "", 0);
    EXPECT("fileio Create 100/101 Flags=0x241 Result=5 FileName=/tmp/a b NameSource=1 stack=1");
    fire("sys_enter_read", 100, "fd:4=5 count=10");
    fire("sys_exit_read", 100, "ret=7");
    EXPECT("fileio Read 100/100 Descriptor=5 Size=10 Offset=-1 Result=7 FileName=/tmp/a b "
           "NameSource=1 stack=1");
    firePathCall(SYS_openat, -14, "", "", 0);
    EXPECT("fileio Create 100/101 Flags=0x241 Result=-14 FileName= NameSource=0 stack=1");
    firePathCall(SYS_unlinkat, -2, "gone", "", 0);
    EXPECT("fileio Delete 100/101 Result=-2 FileName=gone stack=1");
    firePathCall(SYS_renameat2, 0, "from", "to", 0);
    EXPECT("fileio Rename 100/101 Result=0 FileName=from NewName=to stack=1");
    /* Another call, and a record that is too short. */
    firePathCall(SYS_getpid, 0, "x", "", 0);
    firePathCall(SYS_renameat2, 0, "from", "to", 1);
    firePathCall(SYS_unlinkat, 0, "gone", "", 9);
    firePathCall(SYS_unlinkat, 0, "", "", 5);
    EXPECT("");
    /* A name belongs to its own call. */
    fire("sys_enter_unlink", 101, "");
    fire("sys_exit_unlink", 101, "ret=0");
    EXPECT("fileio Delete 100/101 Result=0 FileName= stack=1");
    /* A longer path is cut. */
    char path[300] = "", want[600];
    memset(path, 'p', sizeof path - 1);
    firePathCall(SYS_unlinkat, 0, path, "", 0);
    snprintf(want, sizeof want, "fileio Delete 100/101 Result=0 FileName=%.255s stack=1", path);
    EXPECT(want);
    end();
}

/* Descriptors that were open before have the names of then, even when they are closed now. */
static void files_1_6_open_before(void)
{
    char path[64] = "/tmp/etw-groups-XXXXXX", want[300];
    begin();
    uint32_t self = (uint32_t)getpid();
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    KernelTaskAdd(&k->tasks, self, self);
    KernelFilesScan(k, self);
    close(fd);
    unlink(path);
    char fields[32];
    snprintf(fields, sizeof fields, "fd:4=%d", fd);
    fire("sys_enter_close", self, fields);
    fire("sys_exit_close", self, "ret=0");
    snprintf(want, sizeof want,
            "fileio Close %u/%u Descriptor=%d Result=0 FileName=%s NameSource=2 stack=1", self,
            self, fd, path);
    EXPECT(want);
    KernelFilesScan(k, 0x7fffffff); /* no such process */
    end();
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(fields_1_1_numbers);
    CHECK_RUN(fields_1_2_dynamic);
    CHECK_RUN(fields_1_3_suggestions);
    CHECK_RUN(fields_1_4_put);
    CHECK_RUN(tasks_1_1_start);
    CHECK_RUN(tasks_1_2_exec);
    CHECK_RUN(tasks_1_3_stop);
    CHECK_RUN(tasks_1_4_exit_codes);
    CHECK_RUN(tasks_1_5_switch);
    CHECK_RUN(tasks_1_6_switch_of_ignored);
    CHECK_RUN(tasks_1_7_calls);
    CHECK_RUN(tasks_1_8_wake_ups);
    CHECK_RUN(disks_1_1_requests);
    CHECK_RUN(disks_1_2_unknown);
    CHECK_RUN(memory_1_1_faults);
    CHECK_RUN(interrupts_1_1);
    CHECK_RUN(samples_1_1);
    CHECK_RUN(heap_1_1_calls);
    CHECK_RUN(heap_1_2_realloc);
    CHECK_RUN(heap_1_3_nested);
    CHECK_RUN(files_1_1_names);
    CHECK_RUN(files_1_2_open);
    CHECK_RUN(files_1_3_proc);
    CHECK_RUN(files_1_4_paths);
    CHECK_RUN(files_1_5_path_calls);
    CHECK_RUN(files_1_6_open_before);
    EtwTextFree(&seen);
    return CHECK_DONE();
}

#else

static void groups(void)
{
    SKIP("the kernel room is for Linux");
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(groups);
    return CHECK_DONE();
}

#endif
