/*
 * semantics/declared_events.c --
 *
 *	The declaration of our own events (semantics/declared_events.h). Raw tracepoints
 *	(Linux-<subsystem>) are not declared: the kernel describes them. The texts are Markdown; they
 *	are shown in doc/internals/EVENTS.md only.
 */
#include "semantics/declared_events.h"
#include "schema/model/linux_names.h"

#define COUNT(array) (array), (int)(sizeof(array) / sizeof(array)[0])

/* clang-format off */

#define U8    ETW_IN_UINT8, ETW_OUT_DEFAULT, NULL
#define U16   ETW_IN_UINT16, ETW_OUT_DEFAULT, NULL
#define U32   ETW_IN_UINT32, ETW_OUT_DEFAULT, NULL
#define U64   ETW_IN_UINT64, ETW_OUT_DEFAULT, NULL
#define I32   ETW_IN_INT32, ETW_OUT_DEFAULT, NULL
#define I64   ETW_IN_INT64, ETW_OUT_DEFAULT, NULL
#define HEX32 ETW_IN_HEX32, ETW_OUT_DEFAULT, NULL
#define HEX64 ETW_IN_HEX64, ETW_OUT_DEFAULT, NULL
#define PID   ETW_IN_UINT32, ETW_OUT_PID, NULL
#define TID   ETW_IN_UINT32, ETW_OUT_TID, NULL
#define PORT  ETW_IN_UINT16, ETW_OUT_PORT, NULL
#define IPV4  ETW_IN_UINT32, ETW_OUT_IPV4, NULL
#define IPV6  ETW_IN_BINARY, ETW_OUT_IPV6, NULL
#define TEXT  ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, NULL
/* A number whose values have names (schema/model/linux_names.h). */
#define U8_OF(names)  ETW_IN_UINT8, ETW_OUT_DEFAULT, &etwMap##names
#define U16_OF(names) ETW_IN_UINT16, ETW_OUT_DEFAULT, &etwMap##names
#define U32_OF(names) ETW_IN_UINT32, ETW_OUT_DEFAULT, &etwMap##names
#define I32_OF(names) ETW_IN_INT32, ETW_OUT_DEFAULT, &etwMap##names
#define I64_OF(names) ETW_IN_INT64, ETW_OUT_DEFAULT, &etwMap##names
#define R(role) ETW_ROLE_##role
#define NO_ROLE ETW_ROLE_NONE

#define INFO  ETW_OPCODE_INFO
#define START ETW_OPCODE_START
#define STOP  ETW_OPCODE_STOP
#define M(meaning) ETW_MEANS_##meaning
#define N(naming) ETW_NAMES_##naming

/* ---- Tcl-Script ------------------------------------------------------------------------------ */

#define K(keyword) ETW_KEYWORD_##keyword
static const EtwKeyword scriptKeywords[] = {
    {"call", K(CALL)}, {"step", K(STEP)}, {"variable", K(VARIABLE)}, {"command", K(COMMAND)},
    {"package", K(PACKAGE)}, {"channel", K(CHANNEL)}, {"event", K(EVENT)}, {"sample", K(SAMPLE)}, {"cover", K(COVER)}};

#define CALL_ID  {"CallId", U64, R(CALL_ID), "pairs an enter with its leave; unique in the process"}
#define DEPTH    {"Depth", U16, R(DEPTH), "nesting of traced calls and steps in the thread's interpreter, 1 for the outermost"}
#define CONTEXT  {"Context", TEXT, R(CONTEXT), "the proc (fully qualified) that made the call, or the namespace; `::` at top level"}
#define CODE     {"Code", I32, R(CODE), "Tcl's code: 0 ok, 1 error, 2 return, 3 break, 4 continue"}
#define DURATION {"Duration", U64, R(DURATION), "time in nanoseconds"}
#define ORIGIN   {"Origin", U64, R(ORIGIN), "pairs the event Schedule with each call of the callback that was set; unique in the process; 0: none"}
#define KIND     {"Kind", TEXT, R(KIND), "after, idle, readable, writable, accept, copy or loop"}
static const EtwDeclaredField enter[] = {CALL_ID, DEPTH,
    {"Command", TEXT, R(COMMAND), "the command with its words substituted; of a step its full name first; of a line the first line of its text"},
    CONTEXT,
    {"File", TEXT, R(FILE), "source file; empty unless `-source`"},
    {"Line", U32, R(LINE), "line in the file; 0 unless `-source`"}};
static const EtwDeclaredField leave[] = {CALL_ID, DEPTH, CODE, DURATION,
    {"Command", TEXT, R(COMMAND), "name of the command"},
    {"Result", TEXT, R(RESULT), "result or error message"}};
static const EtwDeclaredField variable[] = {
    {"Operation", TEXT, R(OPERATION), "read, write or unset"},
    {"Name", TEXT, NO_ROLE, "name of the variable"},
    {"Value", TEXT, NO_ROLE, "its value"},
    CONTEXT};
static const EtwDeclaredField command[] = {
    {"Operation", TEXT, R(OPERATION), "rename or delete"},
    {"Name", TEXT, NO_ROLE, "name of the command"},
    {"NewName", TEXT, R(NEW_NAME), "its new name"}};
static const EtwDeclaredField callbackEnter[] = {CALL_ID, DEPTH,
    {"Command", TEXT, R(COMMAND), "the script"},
    CONTEXT, KIND,
    {"Queued", U64, R(QUEUED), "nanoseconds from the time when the callback was due (after), was requested (idle) or, for other kinds, the event loop last looked for events"},
    ORIGIN};
static const EtwDeclaredField schedule[] = {ORIGIN, KIND,
    {"Command", TEXT, R(COMMAND), "the script"}};
static const EtwDeclaredField callbackLeave[] = {CALL_ID, DEPTH, CODE, DURATION, KIND};
static const EtwDeclaredField packageEnter[] = {CALL_ID, DEPTH,
    {"Command", TEXT, R(COMMAND), "the `package require` command"},
    CONTEXT};
static const EtwDeclaredField packageLeave[] = {CALL_ID, DEPTH, CODE, DURATION,
    {"Version", TEXT, R(RESULT), "version of the package; the error message if `Code` is 1"}};
static const EtwDeclaredField channel[] = {
    {"Operation", TEXT, R(OPERATION), "open, socket, exec, read, write, flush, copy or close"},
    {"Channel", TEXT, R(CHANNEL), "name of the channel; of a copy, the one that is read"},
    {"Bytes", U64, R(BYTES), "size of the data as Tcl has it: of a byte array, else of its UTF-8; characters for `gets CHAN VAR`"},
    DURATION, CODE,
    {"Detail", TEXT, R(DETAIL), "what was opened or run"}};
static const EtwDeclaredField wait[] = {
    {"Operation", TEXT, R(OPERATION), "the command that waited: after, thread::send ..."},
    DURATION, CODE,
    {"Detail", TEXT, R(DETAIL), "its other words"}};
static const EtwDeclaredField sample[] = {
    {"Weight", U64, R(WEIGHT), "nanoseconds since the previous sample"},
    {"Late", U64, NO_ROLE, "nanoseconds from the sampler's mark until Tcl took the sample"},
    {"Depth", U16, R(DEPTH), "number of calls in Stack"},
    {"Stack", TEXT, R(STACK), "the calls, outermost first, separated by `;`"},
    {"Counters", TEXT, R(COUNTERS), "list of counter names and their increases"}};

static const EtwDeclaredField cover[] = {
    {"Command", TEXT, R(COMMAND), "the first line of the command's text"},
    {"File", TEXT, R(FILE), "source file"},
    {"Line", U32, R(LINE), "line in the file"},
    {"Column", U32, NO_ROLE, "characters before it in its line, or in its script when that begins in the same line"},
    {"Count", U64, NO_ROLE, "executions that earlier events of the command did not count"}};

static const EtwDeclaredEvent scriptEvents[ETW_SCRIPT_EVENTS] = {
    [ETW_SCRIPT_ENTER] = {"Enter", START, K(CALL), M(CALL_ENTER), 0, NULL, COUNT(enter), "A traced proc, method or command is called."},
    [ETW_SCRIPT_LEAVE] = {"Leave", STOP, K(CALL), M(CALL_LEAVE), 0, NULL, COUNT(leave), "It returns."},
    [ETW_SCRIPT_STEP_ENTER] = {"StepEnter", START, K(STEP), M(STEP_ENTER), 0, NULL, COUNT(enter), "A command inside a traced call begins."},
    [ETW_SCRIPT_STEP_LEAVE] = {"StepLeave", STOP, K(STEP), M(STEP_LEAVE), 0, NULL, COUNT(leave), "It ends."},
    [ETW_SCRIPT_VARIABLE] = {"Variable", INFO, K(VARIABLE), 0, 0, NULL, COUNT(variable), "A traced variable is read, written or unset."},
    [ETW_SCRIPT_COMMAND] = {"Command", INFO, K(COMMAND), 0, 0, NULL, COUNT(command), "A traced command is renamed or deleted."},
    [ETW_SCRIPT_CALLBACK_ENTER] = {"CallbackEnter", START, K(EVENT), M(CALLBACK_ENTER), 0, NULL, COUNT(callbackEnter), "The event loop calls a script, or a command begins to wait in it."},
    [ETW_SCRIPT_CALLBACK_LEAVE] = {"CallbackLeave", STOP, K(EVENT), M(CALLBACK_LEAVE), 0, NULL, COUNT(callbackLeave), "It returns."},
    [ETW_SCRIPT_PACKAGE_ENTER] = {"PackageEnter", START, K(PACKAGE), M(PACKAGE_ENTER), 0, NULL, COUNT(packageEnter), "`package require` begins."},
    [ETW_SCRIPT_PACKAGE_LEAVE] = {"PackageLeave", STOP, K(PACKAGE), M(PACKAGE_LEAVE), 0, NULL, COUNT(packageLeave), "It ends."},
    [ETW_SCRIPT_CHANNEL] = {"Channel", INFO, K(CHANNEL), M(CHANNEL), 0, NULL, COUNT(channel), "An operation on a channel has ended."},
    [ETW_SCRIPT_SAMPLE] = {"Sample", INFO, K(SAMPLE), M(SAMPLE), 0, NULL, COUNT(sample), "The stack of Tcl calls at a moment."},
    [ETW_SCRIPT_LINE] = {"Line", INFO, K(STEP), M(LINE), 0, NULL, COUNT(enter), "A traced call reaches a line. CallId and Depth are those of the call."},
    [ETW_SCRIPT_WAIT] = {"Wait", INFO, K(EVENT), M(WAIT), 0, NULL, COUNT(wait), "A command that blocks without a channel has ended."},
    [ETW_SCRIPT_COVER] = {"Cover", INFO, K(COVER), 0, 0, NULL, COUNT(cover), "A command was executed, with `etw script cover`."},
    [ETW_SCRIPT_SCHEDULE] = {"Schedule", INFO, K(EVENT), M(SCHEDULE), 0, NULL, COUNT(schedule), "A command has set a callback: after, fileevent, fcopy or socket -server."},
};

/* ---- Etw-Session ----------------------------------------------------------------------------- */

static const EtwDeclaredField host[] = {
    {"Host", TEXT, R(COMPUTER), "name of the machine"},
    {"System", TEXT, R(SYSTEM), "kernel, release, architecture"},
    {"Tcl", TEXT, R(TCL), "version of Tcl; empty without Tcl"},
    {"Processors", U32, R(PROCESSORS), "number of CPUs"},
    {"Clock", TEXT, NO_ROLE, "clock of the trace: x86-tsc, monotonic-raw or qpc"},
    {"Program", TEXT, R(NAME), "program that owns the session"}};
static const EtwDeclaredField mark[] = {{"Text", TEXT, R(DETAIL), "the text of the mark"}};

static const EtwDeclaredField process[] = {{"Program", TEXT, R(NAME), "file name of the program that the process runs"}};

static const EtwDeclaredField symbol[ETW_SYMBOL_FIELDS] = {
    [ETW_SYMBOL_PATH] = {"FileName", TEXT, NO_ROLE, "the image, as in the events of `Linux-imageload`; empty for code of a JIT compiler"},
    [ETW_SYMBOL_BUILD] = {"BuildId", TEXT, NO_ROLE, "its build id"},
    [ETW_SYMBOL_PID] = {"ProcessId", PID, NO_ROLE, "process, for code of a JIT compiler; otherwise 0"},
    [ETW_SYMBOL_OFFSET] = {"Offset", HEX64, NO_ROLE, "address in the image's file; of code of a JIT compiler in memory"},
    [ETW_SYMBOL_RETURN] = {"Return", U8, NO_ROLE, "1: the address is where a call returns to, and the name is that of the call"},
    [ETW_SYMBOL_INLINED] = {"Inlined", U8, NO_ROLE, "1: the function is inlined into that of the next event"},
    [ETW_SYMBOL_FUNCTION] = {"Function", TEXT, NO_ROLE, "name of the function"},
    [ETW_SYMBOL_IN_FUNCTION] = {"FunctionOffset", HEX64, NO_ROLE, "offset of the address in the function"},
    [ETW_SYMBOL_FILE] = {"SourceFile", TEXT, NO_ROLE, "source file; empty: unknown"},
    [ETW_SYMBOL_LINE] = {"Line", U32, NO_ROLE, "line in the source file"}};

static const EtwDeclaredEvent sessionEvents[] = {
    [ETW_SESSION_HOST] = {"Host", INFO, 0, M(HOST), N(OWN_PROCESS), NULL, COUNT(host), "The first event of a session."},
    [ETW_SESSION_MARK] = {"Mark", INFO, 0, M(MARK), 0, NULL, COUNT(mark), "A note that a user or a script put into the trace."},
    [ETW_SESSION_SYMBOL] = {"Symbol", INFO, 0, M(SYMBOL), N(SYMBOL), NULL, COUNT(symbol), "The name of an address in stacks, written by `etw symbols`."},
    [ETW_SESSION_PROCESS] = {"Process", INFO, 0, M(PROGRAM), N(OWN_PROCESS), NULL, COUNT(process), "The first event of a process that writes into a session of another process."},
};

/* ---- Processes, threads, system calls -------------------------------------------------------- */

#define THREAD_COMMAND {"Command", TEXT, R(NAME), "name of the thread, at most 15 bytes"}
static const EtwDeclaredField processStart[] = {
    {"ParentId", PID, NO_ROLE, "process that created it"},
    {"ProcessId", PID, R(PID), "the new process"}, THREAD_COMMAND};
static const EtwDeclaredField processExec[] = {{"FileName", TEXT, R(NAME), "path of the program"}};
static const EtwDeclaredField processStop[] = {
    {"ExitCode", I32, NO_ROLE, "value given to exit (0-255), or minus the signal that ended the process"},
    THREAD_COMMAND};
static const EtwDeclaredField thread[] = {
    {"ThreadId", TID, R(TID), "the thread"}, {"ProcessId", PID, R(PID), "its process"}, THREAD_COMMAND};
static const EtwDeclaredField contextSwitch[] = {
    {"OldThreadId", TID, R(OLD_TID), "thread that leaves the CPU"},
    {"NewThreadId", TID, R(TID), "thread that gets it"},
    {"OldState", U16_OF(TaskState), R(OLD_STATE), "the kernel's task state of the old thread: 0 running, 256 preempted"},
    {"OldPriority", I32, NO_ROLE, "priority of the old thread"},
    {"NewPriority", I32, NO_ROLE, "priority of the new thread"},
    {"OldCommand", TEXT, R(NAME), "name of the old thread"},
    {"NewCommand", TEXT, R(NEW_COMMAND), "name of the new thread"}};
static const EtwDeclaredField readyThread[] = {
    {"ThreadId", TID, R(TID), "thread that waited and may run again"},
    {"ByThreadId", TID, R(OLD_TID), "thread that ran at the wake-up; 0: the CPU was idle"},
    {"Interrupt", U8_OF(WakeFrom), R(INTERRUPT), "what woke it: 0 the thread that ran, 1 a softirq and 2 an interrupt on top of that thread"},
    {"Cpu", U32, NO_ROLE, "CPU on which it will run"},
    {"Priority", I32, NO_ROLE, "priority of the woken thread"},
    {"Command", TEXT, NO_ROLE, "name of the woken thread"}};
#define SYSCALL {"Syscall", U32_OF(Syscall), R(SYSCALL), "number of the system call, shown by its name"}
#define ARG(name) {name, HEX64, NO_ROLE, "arguments of the system call"}
static const EtwDeclaredField callEnter[] = {
    SYSCALL, ARG("Arg0"), ARG("Arg1"), ARG("Arg2"), ARG("Arg3"), ARG("Arg4"), ARG("Arg5")};
static const EtwDeclaredField callExit[] = {
    SYSCALL, {"Result", I64_OF(Errno), R(OUTCOME), "result, or a negative errno"}};

static const EtwDeclaredEvent processEvents[] = {
    {"Start", START, 0, M(PROCESS_START), N(PROCESS), NULL, COUNT(processStart), "A process is created. The event belongs to its creator."},
    {"Exec", INFO, 0, 0, N(PROCESS), NULL, COUNT(processExec), "The process executes a program."},
    {"Stop", STOP, 0, M(PROCESS_END), N(OWN_PROCESS), NULL, COUNT(processStop), "The process ends."},
};
static const EtwDeclaredEvent threadEvents[] = {
    {"Start", START, 0, M(THREAD_START), 0, NULL, COUNT(thread), "A thread is created. The event belongs to its creator."},
    {"Stop", STOP, 0, M(THREAD_END), 0, NULL, COUNT(thread), "The thread ends."},
};
static const EtwDeclaredEvent switchEvents[] = {
    {"Switch", INFO, 0, M(SWITCH), N(OWN_PROCESS), NULL, COUNT(contextSwitch), "A CPU changes from one thread to another."},
};
static const EtwDeclaredEvent dispatcherEvents[] = {
    {"ReadyThread", INFO, 0, M(READY), 0, NULL, COUNT(readyThread), "A thread that waited is woken. The event belongs to the thread that woke it; to the woken one when that is not traced."},
};
static const EtwDeclaredEvent callEvents[] = {
    {"Enter", START, 0, M(SYSCALL_ENTER), 0, NULL, COUNT(callEnter), "A thread enters a system call."},
    {"Exit", STOP, 0, M(SYSCALL_EXIT), 0, NULL, COUNT(callExit), "It returns."},
};

/* ---- Sockets --------------------------------------------------------------------------------- */

#define ENDS(address)                                                                              \
    {"Socket", HEX64, R(SOCKET), "identifies the socket while it is open"},                        \
    {"Family", U16_OF(Family), R(FAMILY), "address family, shown by its name"},                    \
    {"LocalAddr", address, R(LOCAL_ADDR), "local address, IPv4 or IPv6, in network byte order"},   \
    {"LocalPort", PORT, R(LOCAL_PORT), "local port, in network byte order"},                       \
    {"RemoteAddr", address, R(REMOTE_ADDR), "remote address; 0 when it is not known"},             \
    {"RemotePort", PORT, R(REMOTE_PORT), "remote port; 0 when it is not known"}
#define STATES                                                                                     \
    {"OldState", U8_OF(TcpState), R(OLD_STATE), "TCP state before"},                               \
    {"NewState", U8_OF(TcpState), R(NEW_STATE), "TCP state after"},                                \
    {"ContextPid", PID, R(CONTEXT_PID), "process that ran when the state changed"}
#define SIZE {"Size", I32_OF(Errno), R(SIZE), "bytes moved, 0 at the end of a stream, or a negative errno"}
static const EtwDeclaredField state4[] = {ENDS(IPV4), STATES}, state6[] = {ENDS(IPV6), STATES};
static const EtwDeclaredField transfer4[] = {ENDS(IPV4), SIZE}, transfer6[] = {ENDS(IPV6), SIZE};
static const EtwDeclaredField ends4[] = {ENDS(IPV4)}, ends6[] = {ENDS(IPV6)};

/* Two event classes with the same name: IPv4, directly followed by IPv6. */
#define EVENT46(name, meaning, moves, fields, text)                                                \
    {name, INFO, 0, M(meaning), 0, moves, COUNT(fields##4), text},                                 \
    {name, INFO, 0, M(meaning), 0, moves, COUNT(fields##6), text}
static const EtwDeclaredEvent tcpEvents[] = {
    EVENT46("Connect", SOCKET_CONNECT, NULL, state, "A connection that this side opened is established."),
    EVENT46("Accept", SOCKET_ACCEPT, NULL, state, "A connection that the other side opened is established."),
    EVENT46("Disconnect", SOCKET_DISCONNECT, NULL, state, "A connection gets to the state CLOSE."),
    EVENT46("StateChange", SOCKET_STATE, NULL, state, "Any other change of the TCP state."),
    EVENT46("Send", SOCKET_SEND, "tcp send", transfer, "Bytes were sent."),
    EVENT46("Receive", SOCKET_RECEIVE, "tcp receive", transfer, "Bytes were received."),
    EVENT46("Retransmit", SOCKET_RETRANSMIT, NULL, ends, "A segment was sent again."),
};
static const EtwDeclaredEvent udpEvents[] = {
    EVENT46("Send", SOCKET_SEND, "udp send", transfer, "A datagram was sent."),
    EVENT46("Receive", SOCKET_RECEIVE, "udp receive", transfer, "A datagram was received."),
};

/* ---- Files, disks, memory -------------------------------------------------------------------- */

#define FILE_NAME {"FileName", TEXT, R(NAME), "path of the file"}
#define NAMED FILE_NAME, {"NameSource", U8, R(NAME_SOURCE), "where FileName comes from: 1 as the program gave it to the call, 2 the descriptor's link in /proc, read when the recording began or after the event, so that it can name a file that was opened earlier or later; 0 not known"}
#define DESCRIPTOR {"Descriptor", I32, NO_ROLE, "file descriptor"}
#define RESULT {"Result", I64_OF(Errno), R(OUTCOME), "result of the call, or a negative errno"}
static const EtwDeclaredField create[] = {
    {"Flags", HEX32, NO_ROLE, "flags of open"}, RESULT, NAMED};
static const EtwDeclaredField onFile[] = {DESCRIPTOR, RESULT, NAMED};
static const EtwDeclaredField transfer[] = {DESCRIPTOR,
    {"Size", U64, R(SIZE), "bytes requested"},
    {"Offset", I64, R(OFFSET), "position in the file; -1 for the file's own"}, RESULT, NAMED};
static const EtwDeclaredField deleted[] = {RESULT, FILE_NAME};
static const EtwDeclaredField renamed[] = {RESULT, FILE_NAME, {"NewName", TEXT, R(NEW_NAME), "new path of the file"}};

static const EtwDeclaredEvent fileEvents[] = {
    {"Create", INFO, 0, M(FILE_OPEN), 0, NULL, COUNT(create), "A file was opened or created."},
    {"Close", INFO, 0, M(FILE), 0, NULL, COUNT(onFile), "A file was closed."},
    {"Read", INFO, 0, M(FILE), 0, NULL, COUNT(transfer), "Bytes were read."},
    {"Write", INFO, 0, M(FILE), 0, NULL, COUNT(transfer), "Bytes were written."},
    {"Flush", INFO, 0, M(FILE), 0, NULL, COUNT(onFile), "A file was flushed."},
    {"Delete", INFO, 0, M(FILE), 0, NULL, COUNT(deleted), "A file was deleted."},
    {"Rename", INFO, 0, M(FILE), 0, NULL, COUNT(renamed), "A file was renamed."},
};

#define DEVICE {"Major", U32, NO_ROLE, "major number of the device"}, {"Minor", U32, NO_ROLE, "minor number of the device"}
#define BYTE_OFFSET {"ByteOffset", U64, NO_ROLE, "position in bytes"}
#define DISK DEVICE, BYTE_OFFSET, {"TransferSize", U32, NO_ROLE, "size of the request in bytes"}
static const EtwDeclaredField diskInit[] = {DISK};
static const EtwDeclaredField diskDone[] = {DISK,
    {"IssuingThreadId", TID, R(TID), "thread that issued the request"},
    {"Error", I32_OF(Errno), NO_ROLE, "0, or a negative errno"}};
static const EtwDeclaredEvent diskEvents[] = {
    {"Init", INFO, 0, 0, 0, NULL, COUNT(diskInit), "A request is issued to a disk."},
    {"Read", INFO, 0, M(DISK_DONE), 0, NULL, COUNT(diskDone), "A read is done."},
    {"Write", INFO, 0, M(DISK_DONE), 0, NULL, COUNT(diskDone), "A write is done."},
    {"Flush", INFO, 0, M(DISK_DONE), 0, NULL, COUNT(diskDone), "A flush is done."},
    {"Other", INFO, 0, M(DISK_DONE), 0, NULL, COUNT(diskDone), "Another request is done."},
};

static const EtwDeclaredField fault[] = {
    {"Address", HEX64, NO_ROLE, "address that was accessed"},
    {"ProgramCounter", HEX64, NO_ROLE, "address of the instruction"},
    {"ErrorCode", HEX32, NO_ROLE, "error code of the processor"}};
static const EtwDeclaredEvent faultEvents[] = {
    {"Fault", INFO, 0, 0, 0, NULL, COUNT(fault), "A program had a page fault."},
};
static const EtwDeclaredField hardFault[] = {
    DEVICE, {"Inode", U64, NO_ROLE, "inode of the file"}, BYTE_OFFSET};
static const EtwDeclaredEvent hardFaultEvents[] = {
    {"Read", INFO, 0, 0, 0, NULL, COUNT(hardFault), "A page fault had to read a file."},
};

#define MAPPED                                                                                     \
    {"Address", HEX64, NO_ROLE, "address of the memory"},                                          \
    {"Size", U64, NO_ROLE, "size in bytes"},                                                       \
    {"Protection", HEX32, NO_ROLE, "protection of the pages"}
static const EtwDeclaredField mapped[] = {MAPPED};
static const EtwDeclaredField unmapped[] = {MAPPED, RESULT};
static const EtwDeclaredEvent allocEvents[] = {
    {"Alloc", INFO, 0, 0, 0, NULL, COUNT(mapped), "Memory was mapped."},
    {"Free", INFO, 0, 0, 0, NULL, COUNT(unmapped), "Memory was unmapped."},
};

/* ---- Interrupts, samples, heap, images --------------------------------------------------------------- */

#define VECTOR_NAME {"Name", TEXT, NO_ROLE, "name of the interrupt"}
static const EtwDeclaredField isr[] = {{"Vector", I32, NO_ROLE, "number of the interrupt"}, VECTOR_NAME};
static const EtwDeclaredField isrEnd[] = {
    {"Vector", I32, NO_ROLE, "number of the interrupt"},
    {"Handled", I32, NO_ROLE, "what the handler returned"}};
static const EtwDeclaredEvent interruptEvents[] = {
    {"Enter", START, 0, 0, 0, NULL, COUNT(isr), "An interrupt handler begins."},
    {"Exit", STOP, 0, 0, 0, NULL, COUNT(isrEnd), "It ends."},
};
static const EtwDeclaredField dpc[] = {{"Vector", U32, NO_ROLE, "number of the softirq"}, VECTOR_NAME};
static const EtwDeclaredEvent dpcEvents[] = {
    {"Enter", START, 0, 0, 0, NULL, COUNT(dpc), "A softirq begins."},
    {"Exit", STOP, 0, 0, 0, NULL, COUNT(dpc), "It ends."},
};
static const EtwDeclaredField profile[] = {
    {"InstructionPointer", HEX64, NO_ROLE, "address of the instruction"},
    {"Weight", U64, R(WEIGHT), "nanoseconds of CPU time that the sample stands for"},
    {"Mode", TEXT, NO_ROLE, "user or kernel"}};
static const EtwDeclaredEvent profileEvents[] = {
    {"Sample", INFO, 0, M(CPU_SAMPLE), 0, NULL, COUNT(profile), "A thread was running at the end of an interval of CPU time."},
};

#define ADDRESS {"Address", HEX64, NO_ROLE, "address of the memory"}
#define HEAP_SIZE {"Size", U64, R(SIZE), "bytes requested"}
static const EtwDeclaredField alloc[] = {ADDRESS, HEAP_SIZE};
static const EtwDeclaredField moved[] = {
    ADDRESS, HEAP_SIZE, {"OldAddress", HEX64, NO_ROLE, "address before"}};
static const EtwDeclaredField freed[] = {ADDRESS};
static const EtwDeclaredEvent heapEvents[] = {
    {"Alloc", INFO, 0, M(ALLOC), 0, "heap alloc", COUNT(alloc), "malloc and its kin returned memory."},
    {"Realloc", INFO, 0, M(ALLOC), 0, "heap realloc", COUNT(moved), "realloc returned memory."},
    {"Free", INFO, 0, 0, 0, NULL, COUNT(freed), "Memory was given back."},
};

#define IMAGE                                                                                      \
    {"ImageBase", HEX64, R(BASE), "address of the mapping"},                                       \
    {"ImageSize", HEX64, R(MODULE_SIZE), "its size in bytes"},                                     \
    {"ProcessId", PID, R(PID), "process; 0 for the kernel and its modules"},                       \
    {"FileOffset", HEX64, R(FILE_OFFSET), "where the mapping begins in the file"},                 \
    {"FileName", TEXT, R(NAME), "path of the file, `[vdso]`, `[kernel]`, or `[MODULE]` of the kernel"}, \
    {"BuildId", TEXT, R(BUILD_ID), "the file's GNU build id in hexadecimal digits; empty: none"}
static const EtwDeclaredField image[] = {IMAGE};
static const EtwDeclaredEvent imageEvents[] = {
    {"Load", INFO, 0, 0, N(MODULE), NULL, COUNT(image), "A file was mapped with the right to execute it."},
    {"Unload", INFO, 0, 0, N(MODULE_GONE), NULL, COUNT(image), "It is no longer mapped, because the process executes another program or has ended."},
    {"DCStart", INFO, 0, 0, N(MODULE), NULL, COUNT(image), "It was mapped already when the tracing of the process began."},
    {"DCEnd", INFO, 0, 0, N(MODULE), NULL, COUNT(image), "It is mapped at the end of the session."},
};

/* ---- Providers ------------------------------------------------------------------------------- */

const EtwDeclaredProvider etwDeclaredProviders[] = {
    {ETW_SCRIPT_PROVIDER, COUNT(scriptKeywords), COUNT(scriptEvents)},
    {ETW_SESSION_PROVIDER, NULL, 0, COUNT(sessionEvents)},
    {"Linux-tcpip", NULL, 0, COUNT(tcpEvents)},
    {"Linux-udpip", NULL, 0, COUNT(udpEvents)},
    {"Linux-process", NULL, 0, COUNT(processEvents)},
    {"Linux-thread", NULL, 0, COUNT(threadEvents)},
    {"Linux-contextswitch", NULL, 0, COUNT(switchEvents)},
    {"Linux-dispatcher", NULL, 0, COUNT(dispatcherEvents)},
    {"Linux-systemcall", NULL, 0, COUNT(callEvents)},
    {"Linux-fileio", NULL, 0, COUNT(fileEvents)},
    {"Linux-diskio", NULL, 0, COUNT(diskEvents)},
    {"Linux-pagefault", NULL, 0, COUNT(faultEvents)},
    {"Linux-hardfault", NULL, 0, COUNT(hardFaultEvents)},
    {"Linux-virtualalloc", NULL, 0, COUNT(allocEvents)},
    {"Linux-interrupt", NULL, 0, COUNT(interruptEvents)},
    {"Linux-dpc", NULL, 0, COUNT(dpcEvents)},
    {"Linux-profile", NULL, 0, COUNT(profileEvents)},
    {"Linux-heap", NULL, 0, COUNT(heapEvents)},
    {"Linux-imageload", NULL, 0, COUNT(imageEvents)},
    {NULL, NULL, 0, NULL, 0},
};
/* clang-format on */

const EtwDeclaredProvider *EtwDeclaredFind(const char *name)
{
    const EtwDeclaredProvider *p = etwDeclaredProviders;
    while (p->name != NULL && strcmp(p->name, name) != 0) {
        p++;
    }
    return p->name != NULL ? p : NULL;
}

static const EtwDeclaredField *findField(
        const EtwDeclaredProvider *provider, const char *event, const char *field)
{
    for (int i = 0; i < provider->eventCount; i++) {
        const EtwDeclaredEvent *e = &provider->events[i];
        for (int k = 0; strcmp(e->name, event) == 0 && k < e->fieldCount; k++) {
            if (strcmp(e->fields[k].name, field) == 0) {
                return &e->fields[k];
            }
        }
    }
    return NULL;
}

const EtwMap *EtwFieldNames(const char *provider, const char *event, const char *field)
{
    const EtwDeclaredProvider *declared = EtwDeclaredFind(provider);
    const EtwDeclaredField *f = declared ? findField(declared, event, field) : NULL;
    return declared == NULL ? EtwTracepointNames(provider, event, field) : f ? f->names : NULL;
}

int EtwDeclaredFields(const EtwDeclaredEvent *event, Etw_EventDesc *desc,
        Etw_Field fields[ETW_DECLARED_FIELDS_MAX])
{
    *desc = (Etw_EventDesc){.name = event->name,
            .level = ETW_LEVEL_INFO,
            .opcode = event->opcode,
            .keyword = event->keyword};
    for (int i = 0; i < event->fieldCount; i++) {
        const EtwDeclaredField *f = &event->fields[i];
        fields[i] = (Etw_Field){.name = f->name, .in = f->in, .out = f->out};
    }
    return event->fieldCount;
}
