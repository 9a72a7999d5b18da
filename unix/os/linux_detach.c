/*
 * unix/os/linux_detach.c --
 *
 *	base/os.h for Linux, detached processes. The program etw-logger is executed by posix_spawn, which calls no fork
 *	handlers and needs no lock of the starting process. Its standard output and error are a pipe to the starter. It
 *	closes all other descriptors, forks, and writes "pid N" into the pipe; any other text there is an error message. So the
 *	logger process is no child of the starter, which sees at most one SIGCHLD, from the first process, and waits for that one.
 */
#define _GNU_SOURCE
#include "base/os.h"
#include "unix/os/logger_dir.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOGGER_PROGRAM "etw-logger"
#define LOGGER_VARIABLE "ETW_LOGGER"

/* ---- The program ----------------------------------------------------------------------------- */

/*
 * Path of the file that this code was loaded from, without symbolic links: a shared library, or a program with the engine
 * linked in. The dynamic linker knows only the name it was given, which may be relative to an earlier directory.
 */
static bool ownFile(char *path, size_t size)
{
    unsigned long own = (unsigned long)(void *)ownFile, from, to;
    char line[PATH_MAX + 200];
    FILE *maps = fopen("/proc/self/maps", "re");
    bool found = false;
    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        const char *name = strchr(line, '/');
        found = sscanf(line, "%lx-%lx", &from, &to) == 2 && own >= from && own < to && name != NULL;
        if (found) {
            snprintf(path, size, "%.*s", (int)strcspn(name, "\n"), name);
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

static bool beside(char *path, size_t size)
{
    char *end;
    if (!ownFile(path, size) || (end = strrchr(path, '/')) == NULL) {
        return false;
    }
    end[1] = '\0';
    return snprintf(end + 1, size - (size_t)(end + 1 - path), "%s", LOGGER_PROGRAM) ==
                   (int)strlen(LOGGER_PROGRAM) &&
           access(path, X_OK) == 0;
}

/* The file belongs to this user or to root: a build directory may be another user's on this machine. */
static bool isOurs(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0);
}

static EtwStatus findProgram(char *path, size_t size, EtwError *err)
{
    const char *own = secure_getenv(LOGGER_VARIABLE);
    if (own != NULL && *own != '\0') {
        snprintf(path, size, "%s", own);
        return ETW_OK;
    }
    if (beside(path, size)) {
        return ETW_OK;
    }
    snprintf(path, size, "%s/%s", osLoggerDir, LOGGER_PROGRAM);
    if (access(path, X_OK) == 0 && isOurs(path)) {
        return ETW_OK;
    }
    return EtwFail(err, ETW_E_LOOKUP, "LOGGER", path,
            "cannot start a detached session: the program \"%.300s\" is missing, and there is none "
            "beside "
            "this program or the package's binary: install etw completely, set " LOGGER_VARIABLE
            " to the path of " LOGGER_PROGRAM ", or start the session without -detached",
            path);
}

/* ---- The starting process -------------------------------------------------------------------- */

/*
 * Descriptors 1 and 2 first: the pipe may have number 0. posix_spawn keeps signals that the program ignores ignored, as
 * nohup wants it; the mask is empty, so that the logger process ends at SIGTERM.
 */
static int spawnWith(pid_t *pidPtr, const char *program, const char *argument, int report,
        posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes)
{
    static char *none[] = {NULL};
    char *argv[] = {(char *)LOGGER_PROGRAM, (char *)argument, NULL};
    sigset_t empty, standard;
    sigemptyset(&empty);
    sigemptyset(&standard);
    sigaddset(&standard, SIGCHLD);
    sigaddset(&standard, SIGPIPE); /* Tcl ignores it */
    int error = posix_spawn_file_actions_adddup2(actions, report, STDOUT_FILENO);
    error = error != 0 ? error : posix_spawn_file_actions_adddup2(actions, report, STDERR_FILENO);
    error = error != 0 ? error
                       : posix_spawn_file_actions_addopen(
                                 actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    error = error != 0 ? error : posix_spawnattr_setsigmask(attributes, &empty);
    error = error != 0 ? error : posix_spawnattr_setsigdefault(attributes, &standard);
    error = error != 0 ? error
                       : posix_spawnattr_setflags(
                                 attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    /* In a setuid program the environment is another user's, and the new program might be none. */
    return error != 0 ? error
                      : posix_spawn(pidPtr, program, actions, attributes, argv,
                                getauxval(AT_SECURE) != 0 ? none : environ);
}

static int spawn(pid_t *pidPtr, const char *program, const char *argument, int report)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) {
        return error;
    }
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = spawnWith(pidPtr, program, argument, report, &actions, &attributes);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* All that the new process writes, up to its end of file: it closes the pipe before it starts its session. */
static void readReport(int fd, char *text, size_t size)
{
    size_t used = 0;
    for (;;) {
        ssize_t n = read(fd, text + used, size - 1 - used);
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            break;
        }
        used += n > 0 ? (size_t)n : 0;
        if (used == size - 1) {
            break;
        }
    }
    text[used] = '\0';
}

EtwStatus OsDetach(const char *argument, uint32_t *pidPtr, EtwError *err)
{
    char program[PATH_MAX], text[400];
    int report[2], status, error;
    unsigned long pid = 0;
    pid_t child;
    EtwStatus found = findProgram(program, sizeof program, err);
    if (found != ETW_OK) {
        return found;
    }
    if (pipe2(report, O_CLOEXEC) != 0) {
        return EtwFailOs(err, ETW_E_LIMIT, errno, "PROCESS", "", "cannot start a process");
    }
    error = spawn(&child, program, argument, report[1]);
    close(report[1]);
    if (error != 0) {
        close(report[0]);
        return EtwFailOs(err, error == EAGAIN || error == ENOMEM ? ETW_E_LIMIT : ETW_E_IO, error,
                "LOGGER", program, "cannot execute \"%.500s\"", program);
    }
    readReport(report[0], text, sizeof text);
    close(report[0]);
    /* ECHILD: the program ignores SIGCHLD, or another thread of it waits for any child. */
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (sscanf(text, "pid %lu\n", &pid) != 1 || pid == 0) {
        text[strcspn(text, "\n")] = '\0';
        return EtwFail(err, ETW_E_STATE, "LOGGER", program, "\"%.250s\" has failed: %.300s",
                program, text[0] != '\0' ? text : "it wrote no message");
    }
    *pidPtr = (uint32_t)pid;
    return ETW_OK;
}

/* ---- The logger process ---------------------------------------------------------------------- */

static void closeFrom(int first)
{
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) != 0) {
        for (int fd = first; fd < (int)sysconf(_SC_OPEN_MAX); fd++) {
            close(fd);
        }
    }
}

bool OsDetachedEnter(void)
{
    pid_t pid;
    closeFrom(STDERR_FILENO + 1);
    if (chdir("/") != 0 || setsid() < 0 || (pid = fork()) < 0) {
        char text[200];
        fprintf(stderr, "cannot leave the starter's session: %s\n",
                OsErrorText(errno, text, sizeof text));
        return false;
    }
    if (pid > 0) {
        printf("pid %ld\n", (long)pid);
        fflush(stdout);
        _exit(0);
    }
    return dup2(STDIN_FILENO, STDOUT_FILENO) >= 0 && dup2(STDIN_FILENO, STDERR_FILENO) >= 0;
}
