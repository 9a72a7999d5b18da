/*
 * tests/engine/test_unmapped.c --
 *
 *	What is released while a process runs: its mappings of sessions that have ended, into which it wrote. Linux only:
 *	forks, reads /proc.
 */
#ifdef _WIN32
#include <stdio.h>
int main(void)
{
    printf("0 passed, 0 failed, 1 skipped\n");
    return 0;
}
#else
#define _GNU_SOURCE
#include "tests/support/engine_support.h"
#include <sys/wait.h>
#include <unistd.h>

/* The mappings of files of the runtime directory in this process. */
static int mappings(void)
{
    char line[2000];
    int count = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        count += strstr(line, dir) != NULL;
    }
    if (f != NULL) {
        fclose(f);
    }
    return count;
}

static bool readByte(int fd)
{
    char byte;
    alarm(60); /* ends the program: better than a test that hangs */
    bool good = read(fd, &byte, 1) == 1;
    alarm(0);
    return good;
}

enum { ROUNDS = 20 };

/* Another process starts and stops sessions, into each of which this one writes. */
static void mappings_1_1_of_ended_sessions(void)
{
    int toChild[2], toParent[2], status, first = 0;
    REQUIRE(pipe(toChild) == 0 && pipe(toParent) == 0);
    pid_t child = fork();
    if (child == 0) {
        EtwSessionConfig config = {.name = "other", .mode = ETW_FILE_MEMORY, .bufferKB = 4};
        EtwEnable enable = {.provider = guid};
        EtwSessionInfo info;
        EtwError err;
        bool good = true;
        for (int i = 0; good && i < ROUNDS; i++) {
            good = EtwSessionStart(&config, &err) == ETW_OK &&
                   EtwSessionEnable("other", &enable, &err) == ETW_OK &&
                   write(toParent[1], "s", 1) == 1 && readByte(toChild[0]) &&
                   EtwSessionStop("other", &info, &err) == ETW_OK && info.events >= 2;
        }
        _exit(!good);
    }
    for (int i = 0; i < ROUNDS && readByte(toParent[0]); i++) {
        CHECK_EQ(writeOne(0, (uint64_t)i), ETW_WRITTEN);
        first = i == 1 ? mappings() : first; /* with the session and the one before */
        CHECK(write(toChild[1], "w", 1) == 1);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(first > 0);
    CHECK_MSG(mappings() <= first, "%d mappings after %d sessions, %d after the second", mappings(),
            ROUNDS, first);
    close(toChild[0]);
    close(toChild[1]);
    close(toParent[0]);
    close(toParent[1]);
}

int main(int argc, char **argv)
{
    setUp(false);
    CHECK_ARGS(argc, argv);
    CHECK_RUN(mappings_1_1_of_ended_sessions);
    return CHECK_DONE();
}
#endif
