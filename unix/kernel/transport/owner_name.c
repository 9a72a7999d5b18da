/*
 * unix/kernel/transport/owner_name.c --
 *
 *	See owner_name.h. The start time distinguishes a process from a later one with its pid.
 */
#include "unix/kernel/transport/owner_name.h"
#include "base/os.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Identifies this process's pid namespace. 0: unknown, because /proc is not that of the namespace. */
static unsigned long long pidNamespace(void)
{
    char self[32] = "", own[32];
    struct stat st;
    snprintf(own, sizeof own, "%u", OsPid());
    if (readlink("/proc/self", self, sizeof self - 1) < 0 || strcmp(self, own) != 0 ||
            stat("/proc/self/ns/pid", &st) != 0) {
        return 0;
    }
    return (unsigned long long)st.st_ino;
}

void TraceOwnerName(char *name, size_t size, char separator)
{
    snprintf(name, size, "etw%c%u%c%llu%cn%llu", separator, OsPid(), separator,
            (unsigned long long)OsProcessStart(OsPid()), separator, pidNamespace());
}

bool TraceOwnerIsDead(const char *name, char separator)
{
    const char *pattern = separator == '_' ? "etw_%u_%llu_n%llu%n" : "etw-%u-%llu-n%llu%n";
    unsigned pid;
    unsigned long long start, space;
    int used = 0;
    bool parsed = sscanf(name, pattern, &pid, &start, &space, &used) == 3 && used != 0 &&
                  (name[used] == 0 || name[used] == separator);
    return parsed && space != 0 && space == pidNamespace() && !OsProcessAlive(pid, start);
}
