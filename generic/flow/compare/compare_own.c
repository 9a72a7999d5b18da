/*
 * flow/compare/compare_own.c --
 *
 *	Files of etw itself: buffers and registry of its sessions, in the directories of OsRuntimeDir (base/os.h) of Linux and
 *	Windows. They are there because the program is recorded, so that they are no difference between programs.
 */
#include "flow/compare/compare_int.h"

static bool isSame(char a, char b)
{
    return a == b || (EtwIsSeparator(a) && EtwIsSeparator(b));
}

/* Behind the path, in which a '#' stands for a number if `numbers`; NULL: the name begins otherwise. */
static const char *behind(const char *name, const char *end, const char *path, bool numbers)
{
    for (; *path != '\0'; path++) {
        const char *digits = name;
        while (numbers && *path == '#' && name < end && *name >= '0' && *name <= '9') {
            name++;
        }
        if (name > digits) {
            continue;
        }
        if (name == end || !isSame(*name++, *path)) {
            return NULL;
        }
    }
    return name;
}

/* rest: behind the directory's path, which may end with a separator; NULL: the name begins otherwise. */
static bool isWithin(const char *rest, const char *end)
{
    return rest != NULL && (rest == end || EtwIsSeparator(*rest) || EtwIsSeparator(rest[-1]));
}

bool EtwCompareIsOwnFile(const EtwCompare *c, const char *name, size_t size)
{
    static const char *const usual[] = {"/dev/shm/etw-#", "/run/user/#/etw"};
    static const char local[] = "/AppData/Local/etw";
    const char *end = name + size, *dir = c->config.runtimeDir;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (isWithin(behind(name, end, usual[i], true), end)) {
            return true;
        }
    }
    for (const char *at = name; size >= sizeof local - 1 && at <= end - (sizeof local - 1); at++) {
        if (EtwIsSeparator(*at) && isWithin(behind(at, end, local, true), end)) {
            return true;
        }
    }
    return dir != NULL && *dir != '\0' && isWithin(behind(name, end, dir, false), end);
}
