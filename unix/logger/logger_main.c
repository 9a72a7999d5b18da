/*
 * unix/logger/logger_main.c --
 *
 *	The program etw-logger: the logger process of a detached session. OsDetach (unix/os/linux_detach.c) starts it
 *	with the launch file of detached_logger.c. It is linked with the core and does not use Tcl, so that programs
 *	without Tcl can start it, too.
 */
#include "base/os.h"
#include "engine/kernel_events.h"
#include "engine/session/session.h"
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 2 || argv[1][0] != '/') {
        fprintf(stderr, "etw-logger: \"etw start -detached 1\" runs this program; start a session "
                        "with it\n");
        return 2;
    }
    if (!OsDetachedEnter()) {
        return 1;
    }
    EtwKernelIgnoreProcess();
    DetachedRun(argv[1]);
    return 0;
}
