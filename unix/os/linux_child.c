/*
 * unix/os/linux_child.c --
 *
 *	Implements base/child.h on Linux: fork, and a pipe on which the child waits before its exec.
 *	A pidfd reports the child's end, so there is no polling, and the program's SIGCHLD handlers
 *	are not affected.
 */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "base/child.h"
#include "base/os.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct OsChild {
    pid_t pid;
    int go;      /* writing a byte starts the program; closing ends the child. -1: started */
    int failure; /* the child writes errno if exec fails; end of file if it succeeds */
    int pidfd;   /* -1: not supported by this kernel */
    bool ended;
    OsChildEnd end;
    char *program; /* for messages */
};

/* ---- In the child: async-signal-safe calls only ------------------------------------------------ */

static void runChild(const char *path, char *const argv[], int go, int failure)
{
    char byte;
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;
    int code;

    sigaction(SIGPIPE, &standard, NULL); /* Tcl ignores it */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (read(go, &byte, 1) != 1) {
        _exit(127);
    }
    if (path != NULL) {
        execv(path, argv);
    }
    execvp(argv[0], argv); /* a script without #!, or the right errno */
    code = errno;
    if (write(failure, &code, sizeof code) != sizeof code) {
        _exit(126);
    }
    _exit(127);
}

/* ---- In the recording process ------------------------------------------------------------------ */

/*
 * The file that execvp would execute for a name without a slash. Found here, because each failed
 * attempt of execvp is a system call in the trace of the program. Allocated; NULL: not found.
 */
static char *pathOf(const char *name)
{
    const char *dir = getenv("PATH");
    while (strchr(name, '/') == NULL && name[0] != '\0' && dir != NULL) {
        const char *end = strchrnul(dir, ':');
        size_t size = (size_t)(end - dir);
        char *path = EtwAlloc(size + strlen(name) + 3);
        struct stat info;
        memcpy(path, size > 0 ? dir : ".", size > 0 ? size : 1);
        strcat(strcat(path, "/"), name);
        if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0) {
            return path;
        }
        EtwFree(path);
        dir = *end == ':' ? end + 1 : NULL;
    }
    return NULL;
}

static void closePipe(int fds[2])
{
    close(fds[0]);
    close(fds[1]);
}

EtwStatus OsChildStart(char *const argv[], OsChild **childPtr, EtwError *err)
{
    int go[2], failure[2];
    char *path;
    pid_t pid;

    if (pipe2(go, O_CLOEXEC) != 0) {
        return EtwFailOs(err, ETW_E_IO, errno, "CHILD", argv[0], "cannot start \"%s\"", argv[0]);
    }
    if (pipe2(failure, O_CLOEXEC) != 0) {
        int code = errno;
        closePipe(go);
        return EtwFailOs(err, ETW_E_IO, code, "CHILD", argv[0], "cannot start \"%s\"", argv[0]);
    }
    path = pathOf(argv[0]);
    pid = fork();
    if (pid == 0) {
        close(go[1]);
        runChild(path, argv, go[0], failure[1]);
    }
    EtwFree(path);
    if (pid < 0) {
        int code = errno;
        closePipe(go);
        closePipe(failure);
        return EtwFailOs(err, ETW_E_IO, code, "CHILD", argv[0], "cannot start \"%s\"", argv[0]);
    }
    close(go[0]);
    close(failure[1]);
    *childPtr = EtwAlloc(sizeof **childPtr);
    (*childPtr)->pid = pid;
    (*childPtr)->go = go[1];
    (*childPtr)->failure = failure[0];
    (*childPtr)->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    (*childPtr)->program = EtwAlloc(strlen(argv[0]) + 1);
    memcpy((*childPtr)->program, argv[0], strlen(argv[0]));
    return ETW_OK;
}

uint32_t OsChildPid(const OsChild *child)
{
    return (uint32_t)child->pid;
}

EtwStatus OsChildResume(OsChild *child, EtwError *err)
{
    int code = 0;
    ssize_t n;

    n = write(child->go, "g", 1); /* if it was killed meanwhile, waiting for it reports that */
    close(child->go);
    child->go = -1;
    do {
        n = read(child->failure, &code, sizeof code);
    } while (n < 0 && errno == EINTR);
    if (n != sizeof code) {
        return ETW_OK;
    }
    OsChildWait(child, -1, &child->end);
    return EtwFailOs(
            err, ETW_E_IO, code, "CHILD", child->program, "cannot execute \"%s\"", child->program);
}

/* Without a pidfd: sleep a little, then the caller polls. */
static void waitBriefly(const OsChild *child, int ms)
{
    struct pollfd end = {.fd = child->pidfd, .events = POLLIN};

    if (child->pidfd >= 0) {
        poll(&end, 1, ms);
    } else {
        poll(NULL, 0, ms < 0 || ms > 10 ? 10 : ms);
    }
}

static bool reap(OsChild *child, int options)
{
    int status;

    if (child->ended) {
        return true;
    }
    if (waitpid(child->pid, &status, options) != child->pid) {
        return false;
    }
    child->ended = true;
    child->end.killed = WIFSIGNALED(status);
    child->end.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

bool OsChildWait(OsChild *child, int ms, OsChildEnd *endPtr)
{
    int before = OsInterrupts(NULL);

    while (!reap(child, WNOHANG)) {
        if (ms == 0 || (ms > 0 && OsInterrupts(NULL) != before)) {
            return false;
        }
        waitBriefly(child, ms);
        if (ms > 0) {
            ms = 0; /* one more check, then give up */
        }
    }
    *endPtr = child->end;
    return true;
}

void OsChildFree(OsChild *child)
{
    if (child->go >= 0) {
        close(child->go); /* the child ends when it reads end of file */
        reap(child, 0);
    }
    close(child->failure);
    if (child->pidfd >= 0) {
        close(child->pidfd);
    }
    EtwFree(child->program);
    EtwFree(child);
}

/* ---- Ctrl-C ------------------------------------------------------------------------------------ */

static atomic_int interrupts, direct, lastDirect; /* the last: the number of a signal */

static void onInterrupt(int sig, siginfo_t *info, void *context)
{
    (void)context;
    if (info->si_code <= 0) { /* sent by kill(2), not by the terminal */
        atomic_store_explicit(&lastDirect, sig, memory_order_relaxed);
        atomic_fetch_add_explicit(&direct, 1, memory_order_relaxed);
    }
    atomic_fetch_add_explicit(
            &interrupts, 1, memory_order_relaxed); /* counters only: no order is needed */
}

void OsInterruptsCatch(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_sigaction = onInterrupt, .sa_flags = SA_SIGINFO};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaction(signals[i], &action, NULL);
    }
}

void OsChildInterrupt(OsChild *child)
{
    int sig = atomic_load_explicit(&lastDirect, memory_order_relaxed);
    if (!child->ended) {
        kill(child->pid, sig != 0 ? sig : SIGINT);
    }
}

int OsInterrupts(int *directPtr)
{
    if (directPtr != NULL) {
        *directPtr = atomic_load_explicit(&direct, memory_order_relaxed);
    }
    return atomic_load_explicit(&interrupts, memory_order_relaxed);
}
