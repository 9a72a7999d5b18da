/*
 * tests/support/engine_support.h --
 *
 *	Shared by the engine's test programs: a private runtime directory, a provider with one event
 *	of two numbers, a session that writes them to a file, and a reader that counts them.
 *	Included by one file of a program.
 */
#ifndef ETW_TESTS_ENGINE_SUPPORT_H
#define ETW_TESTS_ENGINE_SUPPORT_H

#include "base/bytes.h"
#include "base/os.h"
#include "tests/support/check.h"
#include "engine/engine.h"
#include "etl/read/reader.h"
#include <stdio.h>
#include <stdlib.h>

static char dir[512];
static Etw_Provider *provider;
static Etw_Event *event;
static EtwGuid guid;

CHECK_UNUSED static char *at(const char *name)
{
    static char path[4][1024];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

CHECK_UNUSED static EtwStatus startFile(const char *name, const char *file, EtwError *err)
{
    EtwSessionConfig config = {
            .name = name, .file = file, .mode = ETW_FILE_SEQUENTIAL, .bufferKB = 64};
    EtwEnable enable = {.provider = guid, .providerName = "Engine-Test"};
    EtwStatus status = EtwSessionStart(&config, err);
    return status == ETW_OK ? EtwSessionEnable(name, &enable, err) : status;
}

CHECK_UNUSED static int writeOne(uint64_t thread, uint64_t number)
{
    return Etw_Write(event, (Etw_Data[]){{&thread, 8}, {&number, 8}}, 2);
}

/* Count our events in a file, checking that times and each thread's numbers increase. */
CHECK_UNUSED static uint64_t countFile(const char *path, bool wantClosed)
{
    EtlReader *reader;
    EtwEvent e;
    EtwError err;
    uint64_t count = 0, next[64] = {0};
    int64_t last = 0;
    bool orderly = true, rising = true;
    if (!CHECK_MSG(EtlReaderOpen(&reader, path, NULL, NULL, &err) == ETW_OK, "%s", err.message)) {
        return 0;
    }
    CHECK_EQ(EtlReaderInfo(reader)->closed, wantClosed);
    while (EtlReaderNext(reader, &e) == ETW_OK) {
        rising = rising && e.time >= last;
        last = e.time;
        if (EtwGuidEqual(&e.provider, &guid) && e.payloadSize == 16) {
            uint64_t thread = EtwLoad64(e.payload) % 64, number = EtwLoad64(e.payload + 8);
            orderly = orderly && number >= next[thread];
            next[thread] = number + 1;
            count++;
        }
    }
    CHECK(orderly);
    CHECK(rising);
    EtlReaderClose(reader);
    return count;
}

static void makeDir(void)
{
#ifdef _WIN32
    snprintf(dir, sizeof dir, "%s\\etw-test-%u", getenv("TEMP"), OsPid());
    char env[700];
    snprintf(env, sizeof env, "ETW_RUNTIME_DIR=%s", dir);
    _putenv(env);
    char out[700];
    OsRuntimeDir(out, sizeof out, NULL);
#else
    snprintf(dir, sizeof dir, "/tmp/etw-test-XXXXXX");
    if (mkdtemp(dir) == NULL) {
        exit(1);
    }
    setenv("ETW_RUNTIME_DIR", dir, 1);
#endif
}

/*
 * Set up the provider and its event, and a private directory unless the caller is a child that has
 * one.
 */
CHECK_UNUSED static void setUp(bool child)
{
    static const Etw_Field fields[] = {
            {"Thread", ETW_IN_UINT64, 0, 0, 0}, {"Number", ETW_IN_UINT64, 0, 0, 0}};
    OsInit();
    if (getenv("ETW_RUNTIME_DIR") == NULL || !child) {
        makeDir();
    }
    EtwGuidFromName("Engine-Test", &guid);
    provider = Etw_Register("Engine-Test", NULL);
    event = Etw_DefineEvent(provider,
            &(Etw_EventDesc){.name = "Number", .id = 7, .level = 4, .keyword = 3}, fields, 2);
}

#endif
