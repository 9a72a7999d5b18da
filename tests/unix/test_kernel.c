/*
 * tests/unix/test_kernel.c --
 *
 *	Linux kernel events: each portable group end to end (session, kernel, file, decoded fields),
 *	tracepoints by name, whose events they are, errors, and that no trace instance is left
 *	behind. Needs root; mounts tracefs when it is not there. Skipped elsewhere.
 */
#define _GNU_SOURCE
#include "tests/support/check.h"
#include "schema/model/linux_names.h"
#include "semantics/declared_events.h"

#ifdef __linux__
#include "engine/kernel_events.h"
#include "tests/support/kerneltrace.h"
#include "unix/kernel/kernel_int.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern const char *kernelHidden; /* unix/kernel/transport/tracepoint_format.h */
extern bool kernelPerf;          /* unix/kernel/kernel_int.h */

/* ---- tcpip ----------------------------------------------------------------------------------- */

static const char *const tcpip[] = {"tcpip", NULL};

/* Client and server in this process; both ends of the connection are shown, each from its side. */
static void exchange(int family, bool mapped, const char *address, bool v6)
{
    char toServer[64], toClient[64], peek[10];
    int server = listener(mapped ? AF_INET : family), client, accepted;
    uint16_t port = portOf(server), clientPort;
    const Seen *s;
    REQUIRE(server >= 0);
    REQUIRE(startTrace(tcpip, NULL, 0, false));
    client = dial(family, mapped, port);
    clientPort = portOf(client);
    accepted = accept(server, NULL, NULL);
    sendAll(client, 1000);
    CHECK_EQ(recv(accepted, peek, sizeof peek, MSG_PEEK), 10);
    shutdown(client, SHUT_WR);
    CHECK_EQ(readAll(accepted), 1000);
    sendAll(accepted, 250000);
    close(accepted);
    CHECK_EQ(readAll(client), 250000);
    close(client);
    close(server);
    stopTrace();
    snprintf(toServer, sizeof toServer, " RemotePort=%u ", port);
    snprintf(toClient, sizeof toClient, " RemotePort=%u ", clientPort);
    s = find("tcpip", "Connect", toServer, 0);
    if (CHECK(s != NULL)) {
        char want[16];
        snprintf(want, sizeof want, "%u", clientPort);
        CHECK_STR(field(s, "LocalPort"), want);
        CHECK_STR(field(s, "LocalAddr"), address);
        CHECK_STR(field(s, "RemoteAddr"), address);
        CHECK_STR(field(s, "Family"), v6 ? "AF_INET6" : "AF_INET");
        CHECK_STR(field(s, "OldState"), "SYN_SENT");
        CHECK_STR(field(s, "NewState"), "ESTABLISHED");
        CHECK_EQ(s->pid, OsPid());
        CHECK_EQ(atol(field(s, "ContextPid")), OsPid());
    }
    s = find("tcpip", "Accept", toClient, 0);
    if (CHECK(s != NULL)) {
        CHECK_STR(field(s, "LocalAddr"), address);
        CHECK_EQ(s->pid, OsPid());
    }
    CHECK_EQ(countOf("tcpip", "Connect", toServer), 1);
    CHECK_EQ(countOf("tcpip", "Accept", toClient), 1);
    CHECK_EQ(countOf("tcpip", "Disconnect", toServer), 1);
    CHECK_EQ(countOf("tcpip", "Disconnect", toClient), 1);
    CHECK_EQ(sizeSum("tcpip", "Send", toServer), 1000);
    CHECK_EQ(sizeSum("tcpip", "Receive", toClient), 1000); /* the peek is not counted */
    CHECK_EQ(sizeSum("tcpip", "Send", toClient), 250000);
    CHECK_EQ(sizeSum("tcpip", "Receive", toServer), 250000);
    CHECK(countOf("tcpip", "StateChange", "NewState=SYN_SENT") >= 1);
}

static void tcpip_both_ends(void)
{
    exchange(AF_INET, false, "127.0.0.1", false);
}

static void tcpip_v6(void)
{
    int fd = listener(AF_INET6);
    if (fd < 0) {
        SKIP("no IPv6 here");
    }
    close(fd);
    exchange(AF_INET6, false, "::1", true);
}

/* An IPv6 socket that speaks IPv4. */
static void tcpip_v4_mapped(void)
{
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    if (fd < 0) {
        SKIP("no IPv6 here");
    }
    close(fd);
    exchange(AF_INET6, true, "127.0.0.1", false);
}

/* A child that the trace does not cover connects to us; only our end is shown, as ours. */
static void tcpip_only_server(void)
{
    int server = listener(AF_INET), go[2], accepted;
    char toClient[64], byte;
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    const Seen *s;
    pid_t child;
    REQUIRE(pipe(go) == 0);
    child = fork(); /* before the trace: not one of its children */
    if (child == 0) {
        int fd;
        close(go[1]);
        (void)!read(go[0], &byte, 1);
        fd = dial(AF_INET, false, portOf(server));
        close(server);
        sendAll(fd, 5000);
        shutdown(fd, SHUT_WR);
        _exit(readAll(fd) == 7000 ? 0 : 1);
    }
    close(go[0]);
    /* Only this process: by number, so that what it takes for granted is not in play. */
    REQUIRE(startTrace(tcpip, &(uint32_t){OsPid()}, 1, false));
    CHECK_EQ(write(go[1], "x", 1), 1);
    accepted = accept(server, (struct sockaddr *)&peer, &size);
    CHECK_EQ(readAll(accepted), 5000);
    sendAll(accepted, 7000);
    close(accepted);
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
    close(go[1]);
    close(server);
    stopTrace();
    snprintf(toClient, sizeof toClient, " RemotePort=%u ", ntohs(peer.sin_port));
    s = find("tcpip", "Accept", toClient, 0);
    if (CHECK(s != NULL)) {
        CHECK_EQ(s->pid, OsPid());
        /* The connection was completed by the client's own packet, in the client's context. */
        CHECK_MSG(atol(field(s, "ContextPid")) == child || atol(field(s, "ContextPid")) != OsPid(),
                "ContextPid is %s", field(s, "ContextPid"));
    }
    CHECK_EQ(sizeSum("tcpip", "Receive", toClient), 5000);
    CHECK_EQ(sizeSum("tcpip", "Send", toClient), 7000);
    CHECK_EQ(countOf("tcpip", "Disconnect", toClient), 1);
    for (int i = 0; i < seenCount; i++) {
        CHECK_MSG(seen[i].pid == OsPid(), "%s%s is pid %u's", seen[i].event, seen[i].fields,
                seen[i].pid);
        CHECK_MSG(strcmp(seen[i].event, "Connect") != 0, "the client's own end is shown");
    }
}

/* The client is traced by number, the server (this process) is not. */
static void tcpip_only_client(void)
{
    int server, go[2], accepted;
    uint16_t port = 0;
    char toServer[64];
    pid_t child;
    REQUIRE(pipe(go) == 0);
    child = fork(); /* before there is a listener: it would be the child's as well */
    if (child == 0) {
        int fd;
        close(go[1]);
        (void)!read(go[0], &port, sizeof port);
        fd = dial(AF_INET, false, port);
        sendAll(fd, 300);
        _exit(readAll(fd) == 200 ? 0 : 1);
    }
    server = listener(AF_INET);
    port = portOf(server);
    close(go[0]);
    REQUIRE(startTrace(tcpip, &(uint32_t){(uint32_t)child}, 1, false));
    CHECK_EQ(write(go[1], &port, sizeof port), sizeof port);
    accepted = accept(server, NULL, NULL);
    char buffer[300];
    CHECK_EQ(recv(accepted, buffer, sizeof buffer, MSG_WAITALL), 300);
    sendAll(accepted, 200);
    close(accepted);
    waitpid(child, NULL, 0);
    close(go[1]);
    close(server);
    stopTrace();
    snprintf(toServer, sizeof toServer, " RemotePort=%u ", port);
    CHECK_EQ(countOf("tcpip", "Connect", toServer), 1);
    CHECK_EQ(countOf("tcpip", "Accept", NULL), 0);
    CHECK_EQ(sizeSum("tcpip", "Send", NULL), 300);
    CHECK_EQ(sizeSum("tcpip", "Receive", NULL), 200);
    for (int i = 0; i < seenCount; i++) {
        CHECK_EQ(seen[i].pid, child);
    }
}

/* Connections that were there before the trace: ours, and another process's. */
static void tcpip_existing(void)
{
    int server = listener(AF_INET), client = dial(AF_INET, false, portOf(server));
    int accepted = accept(server, NULL, NULL), other = dial(AF_INET, false, portOf(server));
    int accepted2 = accept(server, NULL, NULL);
    char toServer[64], toClient[64], toOther[64], byte;
    int go[2];
    pid_t child;
    snprintf(toServer, sizeof toServer, " RemotePort=%u ", portOf(server));
    snprintf(toClient, sizeof toClient, " RemotePort=%u ", portOf(client));
    snprintf(toOther, sizeof toOther, " LocalPort=%u ", portOf(other));
    REQUIRE(pipe(go) == 0);
    child = fork();
    if (child == 0) {
        close(go[1]);
        (void)!read(go[0], &byte, 1);
        sendAll(other, 44);
        _exit(0);
    }
    close(go[0]);
    close(other);
    REQUIRE(startTrace(tcpip, (uint32_t[]){OsPid(), (uint32_t)child}, 2, false));
    CHECK_EQ(write(go[1], "x", 1), 1);
    sendAll(client, 11);
    shutdown(client, SHUT_WR);
    CHECK_EQ(readAll(accepted), 11);
    close(accepted);
    CHECK_EQ(readAll(client), 0);
    close(client);
    CHECK_EQ(readAll(accepted2), 44);
    waitpid(child, NULL, 0);
    close(accepted2);
    close(server);
    close(go[1]);
    stopTrace();
    CHECK_EQ(sizeSum("tcpip", "Send", toOther), 44);
    CHECK_EQ(find("tcpip", "Send", toOther, 0) ? find("tcpip", "Send", toOther, 0)->pid : 0, child);
    CHECK_EQ(sizeSum("tcpip", "Send", toServer), 11 + 44);
    CHECK_EQ(sizeSum("tcpip", "Receive", toClient), 11);
    CHECK_EQ(countOf("tcpip", "Disconnect", toClient), 1);
    CHECK_EQ(countOf("tcpip", NULL ? "" : "Send", " RemoteAddr=0.0.0.0 "), 0);
}

/* Refused: never a connection. */
static void tcpip_refused(void)
{
    int fd = bound(SOCK_STREAM, AF_INET);
    uint16_t port = portOf(fd);
    char toPort[64];
    close(fd);
    REQUIRE(startTrace(tcpip, NULL, 0, false));
    CHECK_EQ(dial(AF_INET, false, port), -1);
    stopTrace();
    snprintf(toPort, sizeof toPort, " RemotePort=%u ", port);
    CHECK_EQ(countOf("tcpip", "Connect", toPort), 0);
    CHECK_EQ(countOf("tcpip", "Disconnect", toPort), 0);
    CHECK_EQ(countOf("tcpip", "StateChange", toPort), 2);
    CHECK(find("tcpip", "StateChange", "OldState=SYN_SENT NewState=CLOSE", 0) != NULL);
}

/* With all processes traced, both ends of others show, each its owner's. */
static void tcpip_all(void)
{
    int server = listener(AF_INET), accepted;
    uint16_t port = portOf(server);
    char toServer[64];
    const Seen *s;
    pid_t child;
    REQUIRE(startTrace(tcpip, NULL, 0, true));
    child = fork();
    if (child == 0) {
        int fd = dial(AF_INET, false, port);
        sendAll(fd, 10);
        _exit(0);
    }
    accepted = accept(server, NULL, NULL);
    CHECK_EQ(readAll(accepted), 10);
    waitpid(child, NULL, 0);
    close(accepted);
    close(server);
    stopTrace();
    snprintf(toServer, sizeof toServer, " RemotePort=%u ", port);
    s = find("tcpip", "Connect", toServer, 0);
    CHECK_EQ(s ? s->pid : 0, child);
    s = find("tcpip", "Accept", NULL, 0);
    CHECK(s != NULL);
    CHECK_EQ(sizeSum("tcpip", "Send", toServer), 10);
}

/* ---- udpip ----------------------------------------------------------------------------------- */

static const char *const udpip[] = {"udpip", NULL};

static void udpip_both(void)
{
    struct sockaddr_storage to;
    socklen_t size;
    int old = bound(SOCK_DGRAM, AF_INET), receiver, connected, loose;
    char buffer[100], local[64], remote[64];
    const Seen *s;
    REQUIRE(startTrace(udpip, NULL, 0, false));
    receiver = bound(SOCK_DGRAM, AF_INET);
    size = loopback(&to, AF_INET, false, portOf(receiver));
    connected = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK_EQ(connect(connected, (struct sockaddr *)&to, size), 0);
    CHECK_EQ(send(connected, "abcd", 4, 0), 4);
    CHECK_EQ(send(connected, "abcde", 5, 0), 5);
    loose = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK_EQ(sendto(loose, "xyz", 3, 0, (struct sockaddr *)&to, size), 3);
    CHECK_EQ(sendto(old, "12", 2, 0, (struct sockaddr *)&to, size), 2);
    for (int i = 0; i < 4; i++) {
        CHECK(recv(receiver, buffer, sizeof buffer, 0) > 0);
    }
    snprintf(remote, sizeof remote, " RemotePort=%u ", portOf(receiver));
    snprintf(local, sizeof local, " LocalPort=%u ", portOf(connected));
    uint16_t loosePort = portOf(loose), oldPort = portOf(old), receiverPort = portOf(receiver);
    close(loose); /* gone before anybody can ask for it */
    close(connected);
    OsSleepNs(100000000); /* the receiver is asked for by the logger's next round */
    stopTrace();
    close(receiver);
    close(old);
    CHECK_EQ(sizeSum("udpip", "Send", remote), 4 + 5 + 3 + 2);
    CHECK_EQ(sizeSum("udpip", "Send", local), 4 + 5);
    s = find("udpip", "Send", local, 0);
    CHECK_STR(s ? field(s, "LocalAddr") : "", "127.0.0.1");
    CHECK_STR(s ? field(s, "RemoteAddr") : "", "127.0.0.1");
    CHECK_EQ(s ? s->pid : 0, OsPid());
    snprintf(local, sizeof local, " LocalPort=%u ", loosePort);
    CHECK_EQ(sizeSum("udpip", "Send", local), 3);
    snprintf(local, sizeof local, " LocalPort=%u ", oldPort);
    CHECK_EQ(sizeSum("udpip", "Send", local), 2);
    snprintf(local, sizeof local, " LocalPort=%u ", receiverPort);
    CHECK_EQ(sizeSum("udpip", "Receive", local), 14);
}

/* ---- As on kernels before 6.3 ---------------------------------------------------------------- */

static void olderKernel(void (*test)(void))
{
    kernelHidden = " sock:sock_send_length sock:sock_recv_length";
    test();
    kernelHidden = NULL;
}

#define OLDER(test)                                                                                \
    static void older_##test(void)                                                                 \
    {                                                                                              \
        olderKernel(test);                                                                         \
    }
OLDER(tcpip_both_ends)
OLDER(tcpip_v6)
OLDER(tcpip_only_server)
OLDER(tcpip_only_client)
OLDER(tcpip_existing)
OLDER(tcpip_all)
OLDER(udpip_both)

/* ---- process, thread ------------------------------------------------------------------------- */

static int spawn(const char *script)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(99);
    }
    waitpid(child, &status, 0);
    return child;
}

/* The exit code of a process's Stop event; 999: there is none. */
static long exitOf(int pid)
{
    for (int i = 0; i < seenCount; i++) {
        if (seen[i].pid == (uint32_t)pid && strcmp(seen[i].event, "Stop") == 0) {
            return atol(field(&seen[i], "ExitCode"));
        }
    }
    return 999;
}

/* The signal comes from a process that is not traced. */
static void killed_from_outside(void)
{
    static const char *const groups[] = {"process", NULL};
    int status;
    int child = fork();
    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    uint32_t pids[] = {(uint32_t)child};
    REQUIRE(startTrace(groups, pids, 1, false));
    kill(child, SIGTERM);
    waitpid(child, &status, 0);
    stopTrace();
    CHECK_EQ(exitOf(child), -SIGTERM);
}

static void process_lifecycle(void)
{
    static const char *const groups[] = {"process", NULL};
    int a, b, terminated, user;
    char text[64];
    const Seen *s;
    REQUIRE(startTrace(groups, NULL, 0, false));
    a = spawn("(exit 3); exit 7");
    b = spawn("kill -9 $$");
    terminated = spawn("kill -TERM $$");
    user = spawn("trap : USR2; kill -USR2 $$; kill -USR1 $$");
    stopTrace();
    CHECK_EQ(exitOf(terminated), -SIGTERM);
    CHECK_EQ(exitOf(user), -SIGUSR1);
    snprintf(text, sizeof text, " ProcessId=%d ", a);
    s = find("process", "Start", text, 0);
    CHECK_EQ(s ? s->pid : 0, OsPid());
    CHECK_EQ(s ? atol(field(s, "ParentId")) : 0, OsPid());
    snprintf(text, sizeof text, " ParentId=%d ", a);
    CHECK_EQ(countOf("process", "Start", text), 1); /* the sub-shell: children of children */
    CHECK_EQ(countOf("process", "Stop", " ExitCode=3 "), 1);
    int starts = 0, stops = 0;
    for (int i = 0; i < seenCount; i++) {
        s = &seen[i];
        if (s->pid == (uint32_t)a && strcmp(s->event, "Exec") == 0) {
            CHECK(strstr(s->fields, "/bin/sh") != NULL || strstr(s->fields, "dash") != NULL);
            starts++;
        }
        if (strcmp(s->event, "Stop") == 0 && (s->pid == (uint32_t)a || s->pid == (uint32_t)b)) {
            CHECK_EQ(atol(field(s, "ExitCode")), s->pid == (uint32_t)a ? 7 : -9);
            CHECK_STR(field(s, "Command"), "sh");
            stops++;
        }
    }
    CHECK_EQ(starts, 1);
    CHECK_EQ(stops, 2);
}

static void *threadBody(void *arg)
{
    *(pid_t *)arg = (pid_t)syscall(SYS_gettid);
    prctl(PR_SET_NAME, "worker");
    return NULL;
}

static void thread_lifecycle(void)
{
    static const char *const groups[] = {"thread", NULL};
    pthread_t thread;
    pid_t tid = 0;
    char text[96];
    const Seen *s;
    REQUIRE(startTrace(groups, NULL, 0, false));
    REQUIRE(pthread_create(&thread, NULL, threadBody, &tid) == 0);
    pthread_join(thread, NULL);
    /* Joining does not wait for the kernel's exit event: wait until the thread is really gone. */
    snprintf(text, sizeof text, "/proc/self/task/%d", tid);
    while (access(text, F_OK) == 0) {
        OsSleepNs(1000000);
    }
    stopTrace();
    snprintf(text, sizeof text, " ThreadId=%d ProcessId=%u ", tid, OsPid());
    s = find("thread", "Start", text, 0);
    CHECK_EQ(s ? s->tid : 0, OsTid());
    s = find("thread", "Stop", text, 0);
    CHECK_EQ(s ? s->tid : 0, tid);
    CHECK_STR(s ? field(s, "Command") : "", "worker");
}

/* ---- contextswitch, systemcall --------------------------------------------------------------- */

typedef struct Pong {
    int in, out;
    pid_t tid;
} Pong;

static void *pong(void *arg)
{
    Pong *p = arg;
    char byte;
    p->tid = (pid_t)syscall(SYS_gettid);
    while (read(p->in, &byte, 1) == 1 && write(p->out, &byte, 1) == 1) {
    }
    return NULL;
}

/*
 * Two threads on one CPU hand a byte to and fro: each turn is a switch from one to the other. (Not
 * by sleeping: here a CPU's idle thread was seen to give way to a thread without any event.)
 */
static void contextswitch_pair(void)
{
    static const char *const groups[] = {"contextswitch", NULL};
    cpu_set_t all, one;
    pthread_t thread;
    Pong p = {0};
    int there[2], back[2], left = 0, came = 0, slept = 0;
    char out[64], in[64], byte = 'x';
    REQUIRE(pipe(there) == 0 && pipe(back) == 0);
    p.in = there[0];
    p.out = back[1];
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    REQUIRE(startTrace(groups, NULL, 0, false));
    REQUIRE(pthread_create(&thread, NULL, pong, &p) == 0);
    for (int i = 0; i < 50; i++) {
        CHECK(write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1);
    }
    close(there[1]);
    pthread_join(thread, NULL);
    stopTrace();
    sched_setaffinity(0, sizeof all, &all);
    snprintf(out, sizeof out, " OldThreadId=%d ", p.tid);
    snprintf(in, sizeof in, " NewThreadId=%d ", p.tid);
    for (int i = 0; i < seenCount; i++) {
        left += strstr(seen[i].fields, out) != NULL;
        slept += strcmp(field(&seen[i], "OldState"), "sleeping") == 0;
        came += strstr(seen[i].fields, in) != NULL;
        CHECK_EQ(seen[i].pid, OsPid());
    }
    CHECK_MSG(left >= 50, "left the CPU %d times", left);
    CHECK(slept > 0); /* else it was preempted, when its partner woke */
    CHECK_MSG(came >= 50, "got the CPU %d times", came);
    close(there[0]);
    close(back[0]);
    close(back[1]);
}

static void systemcall_names(void)
{
    static const char *const groups[] = {"systemcall", NULL};
    const Seen *s = NULL;
    REQUIRE(startTrace(groups, NULL, 0, false));
    for (int i = 0; i < 5; i++) {
        syscall(SYS_getppid);
    }
    syscall(SYS_close, 12345);
    stopTrace();
    CHECK_EQ(countOf("systemcall", "Enter", " Syscall=getppid "), 5);
    CHECK_EQ(countOf("systemcall", "Exit", " Syscall=getppid "), 5);
    s = find("systemcall", "Exit", " Syscall=close Result=-EBADF ", 0);
    CHECK(s != NULL);
    CHECK(find("systemcall", "Enter", " Syscall=close Arg0=0x3039 ", 0) != NULL);
    CHECK_EQ(s ? s->tid : 0, OsTid());
}

/* Thread of this process by name; 0: none. */
static uint32_t threadNamed(const char *name)
{
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    uint32_t tid = 0;
    while (d != NULL && (e = readdir(d)) != NULL) {
        char file[320], text[32] = "";
        FILE *f;
        snprintf(file, sizeof file, "/proc/self/task/%s/comm", e->d_name);
        f = fopen(file, "r");
        if (f != NULL) {
            if (fgets(text, sizeof text, f) != NULL && strncmp(text, name, strlen(name)) == 0) {
                tid = (uint32_t)atoi(e->d_name);
            }
            fclose(f);
        }
    }
    if (d != NULL) {
        closedir(d);
    }
    return tid;
}

/* The logger itself makes system calls all the time: none of them may show, in no scope. */
static void logger_is_not_traced(void)
{
    static const char *const groups[] = {"systemcall", NULL};
    uint32_t logger;
    REQUIRE(startTrace(groups, NULL, 0, true));
    logger = threadNamed("etw-logger");
    CHECK(logger != 0);
    OsSleepNs(100000000);
    seenPid = OsPid();
    stopTrace();
    seenPid = 0;
    CHECK(seenCount > 0);
    for (int i = 0; i < seenCount; i++) {
        CHECK_MSG(seen[i].tid != logger, "the logger: %s%s", seen[i].event, seen[i].fields);
    }
}

/* ---- Tracepoints by name --------------------------------------------------------------------- */

static void raw_tracepoints(void)
{
    static const char *const groups[] = {"linux:sched:sched_process_exec",
            "linux:raw_syscalls:sys_enter", "linux:sock:inet_sock_set_state", "tcpip", NULL};
    int server = listener(AF_INET), client, accepted, child;
    char text[64];
    const Seen *s;
    REQUIRE(startTrace(groups, NULL, 0, false));
    child = spawn("exit 0");
    client = dial(AF_INET, false, portOf(server));
    accepted = accept(server, NULL, NULL);
    snprintf(text, sizeof text, " dport=%u ", portOf(server));
    close(client);
    close(accepted);
    close(server);
    stopTrace();
    s = find("sched", "sched_process_exec", "sh ", 0);
    CHECK_EQ(s ? s->pid : 0, child);
    CHECK(s != NULL && strcmp(field(s, "filename"), "/bin/sh") == 0);
    CHECK(find("raw_syscalls", "sys_enter", " id=connect args=[6]", 0) != NULL);
    s = find("sock", "inet_sock_set_state", text, 0);
    CHECK_STR(s ? field(s, "newstate") : "", "SYN_SENT");
    CHECK_STR(s ? field(s, "daddr") : "", "127.0.0.1");
    CHECK_STR(s ? field(s, "protocol") : "", "IPPROTO_TCP");
    CHECK_EQ(countOf("tcpip", "Connect", NULL), 1);
}

static char *pointNames[400];
static int pointCount;

/* "tracepoints A B C" of a few busy systems, as names to enable. */
static void collectPoints(void *ctx, const char *group, const char *description)
{
    static const char *const systems[] = {"linux:sched", "linux:skb", "linux:net", "linux:sock",
            "linux:task", "linux:signal", "linux:timer", "linux:irq", "linux:napi", "linux:fib",
            "linux:workqueue", "linux:writeback", "linux:tcp", NULL};
    (void)ctx;
    for (int i = 0; systems[i] != NULL; i++) {
        char *words = strcmp(systems[i], group) == 0 ? EtwStrdup(description) : NULL, *next = words;
        for (char *w; words != NULL && (w = strsep(&next, " ")) != NULL;) {
            char name[200];
            snprintf(name, sizeof name, "%s:%s", group, w);
            if (strcmp(w, "tracepoints") != 0 && pointCount < 399) {
                pointNames[pointCount++] = EtwStrdup(name);
            }
        }
        EtwFree(words);
    }
}

/* Whatever fields a tracepoint has, its event decodes to the last byte (kerneltrace.h looks). */
static void raw_many(void)
{
    int server, client;
    pointCount = 0;
    EtwKernelGroups(collectPoints, NULL);
    CHECK(pointCount > 50);
    REQUIRE(startTrace((const char *const *)pointNames, NULL, 0, false));
    server = listener(AF_INET);
    client = dial(AF_INET, false, portOf(server));
    sendAll(client, 100);
    close(client);
    close(server);
    spawn("true | cat; sleep 0.01");
    stopTrace();
    CHECK(seenCount > 100);
    for (int i = 0; i < pointCount; i++) {
        EtwFree(pointNames[i]);
        pointNames[i] = NULL;
    }
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static EtwStatus tryOpen(const char *group, EtwError *err)
{
    EtwKernel *kernel = NULL;
    EtwKernelEnable enable = {.groups = &group, .groupCount = 1};
    EtwStatus status = EtwKernelOpen(&kernel, "errors", &enable, err);
    CHECK_EQ(kernel != NULL, status == ETW_OK);
    EtwKernelClose(kernel);
    return status;
}

static void errors_tell(void)
{
    EtwError err;
    uint32_t nobody = 0x3fffffff;
    const char *group = "tcpip";
    EtwKernel *kernel = NULL;
    EtwKernelEnable enable = {.groups = &group, .groupCount = 1, .pids = &nobody, .pidCount = 1};
    CHECK_EQ(tryOpen("tcp", &err), ETW_E_LOOKUP);
    CHECK_STR(err.detail, "GROUP");
    CHECK(strstr(err.message,
                  "process, thread, contextswitch, dispatcher, systemcall, tcpip, udpip") != NULL);
    CHECK_EQ(tryOpen("linux:sched:sched_swich", &err), ETW_E_LOOKUP);
    CHECK_STR(err.detail, "TRACEPOINT");
    CHECK_MSG(strstr(err.message, "did you mean \"linux:sched:sched_switch\"?") != NULL, "%s",
            err.message);
    CHECK_EQ(tryOpen("linux:shed:sched_switch", &err), ETW_E_LOOKUP);
    CHECK_MSG(strstr(err.message, "did you mean \"linux:sched:...\"?") != NULL, "%s", err.message);
    CHECK_EQ(tryOpen("linux:../sched", &err), ETW_E_ARG);
    CHECK_EQ(EtwKernelOpen(&kernel, "errors", &enable, &err), ETW_E_LOOKUP);
    CHECK_STR(err.detail, "PROCESS");
    CHECK(kernel == NULL);
    kernelHidden = " sock:inet_sock_set_state";
    CHECK_EQ(tryOpen("tcpip", &err), ETW_E_UNSUPPORTED);
    CHECK_MSG(strstr(err.message, "sock:inet_sock_set_state") != NULL, "%s", err.message);
    kernelHidden = NULL;
    CHECK_EQ(instanceCount(), 0);
}

/* In a child of its own, which gives its rights away. */
static void errors_without_root(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        EtwError err = {0};
        bool good = setgid(65534) == 0 && setuid(65534) == 0 &&
                    tryOpen("tcpip", &err) == ETW_E_ACCESS &&
                    strstr(err.message, "run as root") != NULL &&
                    strstr(err.message, "remount,gid=") != NULL;
        if (!good) {
            fprintf(stderr, "    %s\n", err.message);
        }
        _exit(good ? 0 : 1);
    }
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
}

/* What a killed process leaves is removed by the next that starts a session. */
static void sweep_dead(void)
{
    char name[300];
    int ready[2], status;
    char byte;
    struct stat st;
    pid_t child;
    REQUIRE(pipe(ready) == 0);
    child = fork();
    if (child == 0) {
        EtwKernel *kernel = NULL;
        const char *group = "process";
        EtwKernelEnable enable = {.groups = &group, .groupCount = 1};
        if (EtwKernelOpen(&kernel, "left-behind", &enable, NULL) == ETW_OK) {
            (void)!write(ready[1], "x", 1);
        }
        pause();
        _exit(0);
    }
    close(ready[1]);
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    REQUIRE(stat("/proc/self/ns/pid", &st) == 0);
    snprintf(name, sizeof name, TRACEFS "/instances/etw-%d-%llu-n%llu-left_behind", child,
            (unsigned long long)OsProcessStart((uint32_t)child), (unsigned long long)st.st_ino);
    CHECK_MSG(stat(name, &st) == 0, "no %s", name);
    EtwKernelSweep();
    CHECK_MSG(stat(name, &st) == 0, "swept while its owner lives: %s", name);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    EtwKernelSweep(); /* or another process has done it since: each stop of a session does */
    CHECK_MSG(stat(name, &st) != 0, "still there: %s", name);
    close(ready[0]);
}

/* The owner is in another pid namespace, where its pid means another process: it may be alive. */
static void sweep_leaves_other_namespaces(void)
{
    const char *name = TRACEFS "/instances/etw-4000000-1-n1-elsewhere";
    struct stat st;
    REQUIRE(mkdir(name, 0700) == 0);
    EtwKernelSweep();
    CHECK(stat(name, &st) == 0);
    rmdir(name);
}

/* ---- Listing, names -------------------------------------------------------------------------- */

static void onGroup(void *ctx, const char *group, const char *description)
{
    int *found = ctx;
    *found |= strcmp(group, "tcpip") == 0 ? 1 : 0;
    *found |= strcmp(group, "linux:sched") == 0 && strstr(description, " sched_switch") ? 2 : 0;
}

/* Each group has a provider in the declaration, and its events have numbers of their own. */
static void groups_declared(void)
{
    int owner[EVENTS];
    memset(owner, -1, sizeof owner);
    for (int g = 0; g < GROUPS; g++) {
        char name[64];
        if (g == GROUP_WINDOWS4 || g == GROUP_WINDOWS6) {
            continue; /* Microsoft-Windows-Kernel-Network */
        }
        snprintf(name, sizeof name, "Linux-%s", kernelGroups[g].name);
        const EtwDeclaredProvider *declared = EtwDeclaredFind(name);
        if (!CHECK_MSG(declared != NULL, "%s is not declared", name)) {
            continue;
        }
        for (int e = 0; e < declared->eventCount; e++) {
            int number = (int)kernelGroups[g].firstEvent + e;
            REQUIRE(number < EVENTS);
            CHECK_MSG(owner[number] < 0, "event %d belongs to %s and to %s", number,
                    kernelGroups[owner[number] < 0 ? g : owner[number]].name, kernelGroups[g].name);
            owner[number] = g;
        }
    }
}

static void groups_listed(void)
{
    int found = 0;
    EtwKernelGroups(onGroup, &found);
    CHECK_EQ(found, 3);
}

static void names_maps(void)
{
    const EtwMap *map = EtwFieldNames("Linux-systemcall", "Exit", "Result");
    REQUIRE(map != NULL);
    CHECK_STR(EtwMapName(map, (uint64_t)-2), "-ENOENT");
    CHECK(EtwMapName(map, 2) == NULL);
    CHECK_STR(EtwMapName(EtwFieldNames("Linux-systemcall", "Enter", "Syscall"), 41), "socket");
    CHECK(EtwFieldNames("Linux-systemcall", "Enter", "Arg0") == NULL);
    CHECK_STR(EtwMapName(EtwFieldNames("Linux-tcpip", "Connect", "NewState"), 1), "ESTABLISHED");
}

/* ---- Many events ----------------------------------------------------------------------------- */

typedef struct Tally {
    uint64_t count, last;
    bool ordered;
} Tally;

static void tally(void *ctx, const EtwKernelRecord *record)
{
    Tally *t = ctx;
    t->ordered = t->ordered && record->ticks >= t->last;
    t->last = record->ticks;
    t->count++;
}

/* In order, all of them, nothing younger than asked for. */
static void drain_in_order(void)
{
    const char *group = "tcpip";
    EtwKernel *kernel = NULL;
    EtwKernelEnable enable = {.groups = &group, .groupCount = 1};
    EtwError err;
    Tally t = {.ordered = true};
    int server = listener(AF_INET), client = dial(AF_INET, false, portOf(server));
    int accepted = accept(server, NULL, NULL);
    uint64_t middle = 0, begin, spent;
    char buffer[64] = {0};
    REQUIRE(EtwKernelOpen(&kernel, "drain", &enable, &err) == ETW_OK);
    for (int i = 0; i < 20000; i++) {
        if (i == 10000) {
            middle = OsTicks();
        }
        CHECK_EQ(send(client, buffer, sizeof buffer, 0), 64);
        CHECK_EQ(recv(accepted, buffer, sizeof buffer, MSG_WAITALL), 64);
    }
    EtwKernelDrain(kernel, middle, tally, &t);
    CHECK_EQ(t.count, 20000);
    CHECK(t.last <= middle);
    begin = OsTicks();
    EtwKernelDrain(kernel, UINT64_MAX, tally, &t);
    spent = OsTicks() - begin;
    CHECK_EQ(t.count, 40000);
    CHECK(t.ordered);
    EtwKernelQuiesce(kernel);
    CHECK_EQ(EtwKernelLost(kernel), 0);
    EtwKernelClose(kernel);
    CHECK_EQ(instanceCount(), 0);
    close(client);
    close(accepted);
    close(server);
    if (getenv("KERNEL_SHOW") != NULL) {
        printf("    %.0f ticks an event\n", (double)spent / 20000);
    }
}

/* A ring that nobody empties loses events, and says so. */
static void loss_is_counted(void)
{
    const char *group = "systemcall";
    EtwKernel *kernel = NULL;
    EtwKernelEnable enable = {.groups = &group, .groupCount = 1};
    EtwError err;
    Tally t = {.ordered = true};
    uint64_t made = 200000;
    REQUIRE(EtwKernelOpen(&kernel, "loss", &enable, &err) == ETW_OK);
    for (uint64_t i = 0; i < made; i++) {
        syscall(SYS_getppid);
    }
    EtwKernelQuiesce(kernel);
    EtwKernelDrain(kernel, UINT64_MAX, tally, &t);
    CHECK(EtwKernelLost(kernel) > 0);
    CHECK_MSG(t.count + EtwKernelLost(kernel) >= 2 * made, "%llu drained, %llu lost",
            (unsigned long long)t.count, (unsigned long long)EtwKernelLost(kernel));
    CHECK(t.count + EtwKernelLost(kernel) < 2 * made + 1000);
    EtwKernelClose(kernel);
}

/* A session with more buffers has larger rings, so that they hold a burst that the default ones lose. */
static void loss_ends_with_larger_rings(void)
{
    const char *group = "systemcall";
    EtwKernel *kernel = NULL;
    EtwKernelEnable enable = {.groups = &group, .groupCount = 1, .ringKB = 32768};
    EtwError err;
    Tally t = {.ordered = true};
    uint64_t made = 80000;
    REQUIRE(EtwKernelOpen(&kernel, "larger", &enable, &err) == ETW_OK);
    for (uint64_t i = 0; i < made; i++) {
        syscall(SYS_getppid);
    }
    EtwKernelQuiesce(kernel);
    EtwKernelDrain(kernel, UINT64_MAX, tally, &t);
    CHECK_EQ(EtwKernelLost(kernel), 0);
    CHECK(t.count >= 2 * made);
    EtwKernelClose(kernel);
}

/* ---- All ------------------------------------------------------------------------------------- */

/* Through tracefs, as root gets it, and through perf. */
#define BOTH(test) (kernelPerf ? CheckRun("perf_" #test, test) : CheckRun(#test, test))

static void groupTests(void)
{
    BOTH(errors_tell);
    BOTH(tcpip_both_ends);
    BOTH(tcpip_v6);
    BOTH(tcpip_v4_mapped);
    BOTH(tcpip_only_server);
    BOTH(tcpip_only_client);
    BOTH(tcpip_existing);
    BOTH(tcpip_refused);
    BOTH(tcpip_all);
    BOTH(udpip_both);
    BOTH(older_tcpip_both_ends);
    BOTH(process_lifecycle);
    BOTH(killed_from_outside);
    BOTH(thread_lifecycle);
    BOTH(contextswitch_pair);
    BOTH(systemcall_names);
    BOTH(logger_is_not_traced);
    BOTH(raw_tracepoints);
    BOTH(raw_many);
    BOTH(drain_in_order);
    BOTH(loss_is_counted);
    BOTH(loss_ends_with_larger_rings);
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    OsInit();
    CHECK_RUN(names_maps);
    CHECK_RUN(groups_declared);
    if (prepare()) {
        CHECK_RUN(groups_listed);
        CHECK_RUN(errors_without_root);
        CHECK_RUN(sweep_dead);
        CHECK_RUN(sweep_leaves_other_namespaces);
        CHECK_RUN(older_tcpip_v6);
        CHECK_RUN(older_tcpip_only_server);
        CHECK_RUN(older_tcpip_only_client);
        CHECK_RUN(older_tcpip_existing);
        CHECK_RUN(older_tcpip_all);
        CHECK_RUN(older_udpip_both);
        groupTests();
        kernelPerf = true;
        groupTests();
        EtwSessionStopAll();
        removeDir();
    } else {
        checkState.skipped++;
    }
    return CHECK_DONE();
}

#else

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    printf("skip kernel: Linux only\n");
    checkState.skipped++;
    return CHECK_DONE();
}

#endif
