/*
 * engine/shared/testpoint.c --
 *
 *	See testpoint.h. Empty unless ETW_TEST_POINTS is defined.
 */
#include "engine/shared/testpoint.h"

#ifdef ETW_TEST_POINTS
#include "base/os.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic long passages;

void EtwTestPoint(const char *name)
{
    const char *wanted = getenv("ETW_TEST_POINT"), *action, *count;
    size_t length = strlen(name);
    if (wanted == NULL || strncmp(wanted, name, length) != 0 || wanted[length] != ':') {
        return;
    }
    action = wanted + length + 1;
    count = strchr(action, ':');
    if (atomic_fetch_add(&passages, 1) + 1 != (count ? strtol(count + 1, NULL, 10) : 1)) {
        return;
    }
    if (strncmp(action, "sleep", 5) == 0) {
        for (;;) {
            OsSleepNs(1000000000);
        }
    }
#ifdef _WIN32
    abort();
#else
    raise(strncmp(action, "stop", 4) == 0 ? SIGSTOP : SIGKILL);
#endif
}
#endif
