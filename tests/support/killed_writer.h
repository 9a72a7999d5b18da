/*
 * tests/support/killed_writer.h --
 *
 *	A writer that is killed inside a write, at a test point. Linux only. For one file of a program, which defines
 *	_GNU_SOURCE, after engine_support.h.
 */
#ifndef ETW_TESTS_KILLED_WRITER_H
#define ETW_TESTS_KILLED_WRITER_H

#ifdef ETW_TEST_POINTS
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

/* Everything on one CPU, so that it is one stream. */
CHECK_UNUSED static void pin(bool on)
{
    static cpu_set_t all;
    cpu_set_t one;
    if (on) {
        sched_getaffinity(0, sizeof all, &all);
        CPU_ZERO(&one);
        for (int i = 0; i < CPU_SETSIZE; i++) {
            if (CPU_ISSET(i, &all)) {
                CPU_SET(i, &one);
                break;
            }
        }
        sched_setaffinity(0, sizeof one, &one);
    } else {
        sched_setaffinity(0, sizeof all, &all);
    }
}

/* A child that is killed at a test point inside a write. */
CHECK_UNUSED static void killWriterAt(const char *action)
{
    pid_t child = fork();
    int status;
    if (child == 0) {
        setenv("ETW_TEST_POINT", action, 1);
        writeOne(1, 0);
        _exit(0);
    }
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
}
#endif

#endif
