/*
 * engine/session/detached_logger.c --
 *
 *	Sessions that run in a separate logger process, so that the process that starts them may
 *	end. The logger process ends with its session, and is controlled like any other owner
 *	(session_control.c). The configuration and the result of the start are passed through a file
 *	in the runtime directory that both processes map.
 *
 *	The logger process executes a program of its own: on Linux etw-logger (unix/logger), on
 *	Windows rundll32 with this library. A forked copy of the starting program would not do: other
 *	threads of it may hold locks at the fork (those of time zones, of the dynamic linker, of the program itself), which
 *	nothing releases in the copy. Other programs that could be executed are not always there (the
 *	tool etw, tclsh) or belong to the host (/proc/self/exe).
 */
#include "engine/session/session.h"
#include <stdio.h>

enum { PATIENCE = 60 * 1000 /* ms for the new process to start its session */ };

/* Of both processes; another version has other sizes of the shared structures. */
#define LAUNCH_MAGIC (0x31484e4c57544545ull ^ sizeof(Launch) ^ sizeof(Registry) << 20 ^ RING_MAGIC)

typedef struct Launch {
    uint64_t magic;
    char name[256], file[1024]; /* file: "" without a file */
    char tclVersion[32];
    int32_t mode, realtime, lossless, compress;
    uint32_t bufferKB, minBuffers, maxBuffers, flushMs, maxMB;
    uint32_t starter;
    char program[256];     /* of the starter */
    _Atomic uint32_t done; /* release: the members below are valid */
    int32_t status;
    EtwError error;
} Launch;

/* ---- The logger process ---------------------------------------------------------------------- */

static void fillConfig(const Launch *l, EtwSessionConfig *config)
{
    *config = (EtwSessionConfig){.name = l->name,
            .file = l->file[0] ? l->file : NULL,
            .mode = (EtwFileMode)l->mode,
            .realtime = l->realtime != 0,
            .lossless = l->lossless != 0,
            .compress = (EtwCompress)l->compress,
            .bufferKB = l->bufferKB,
            .minBuffers = l->minBuffers,
            .maxBuffers = l->maxBuffers,
            .flushMs = l->flushMs,
            .maxMB = l->maxMB,
            .starter = l->starter};
}

/* Sessions are shared in the directory of the launch file, whatever this process's environment says. */
static void shareDirOf(const char *path)
{
    char dirOf[1024];
    snprintf(dirOf, sizeof dirOf, "%s", path);
    for (char *end = dirOf + strlen(dirOf); end > dirOf; end--) {
        if (*end == '/' || *end == '\\') {
            *end = '\0';
            break;
        }
    }
    RegUseDir(dirOf);
}

void DetachedRun(const char *path)
{
    OsMap map = {0};
    EtwSessionConfig config;
    EtwError err = {0};
    Launch *l;
    EtwStatus status;
    OsInit();
    if (OsMapShared(&map, path, false, 0, NULL) != ETW_OK || map.size < sizeof *l) {
        return; /* the starter has given up */
    }
    l = (Launch *)map.base;
    if (l->magic == LAUNCH_MAGIC) {
        shareDirOf(path);
        fillConfig(l, &config);
        EtwSetTclVersion(l->tclVersion);
        SessionSetProgram(l->program);
        status = SessionStartLocal(&config, &err);
    } else {
        status = EtwFail(&err, ETW_E_STATE, "LOGGER", "",
                "the logger program has another version of etw than this program: install both "
                "from the same release");
    }
    l->status = status;
    l->error = err;
    atomic_store_explicit(&l->done, 1, memory_order_release);
    OsUnmap(&map);
    if (status == ETW_OK) {
        SessionWaitForAll();
    }
}

#ifdef _WIN32
/* Called by rundll32. */
__declspec(dllexport) void __stdcall EtwDetachedLogger(
        void *window, void *module, char *argument, int show);
void __stdcall EtwDetachedLogger(void *window, void *module, char *argument, int show)
{
    (void)window;
    (void)module;
    (void)show;
    DetachedRun(argument);
}
#endif

/* ---- The starting process -------------------------------------------------------------------- */

static EtwStatus fillLaunch(Launch *l, const EtwSessionConfig *c, EtwError *err)
{
    l->magic = LAUNCH_MAGIC;
    snprintf(l->name, sizeof l->name, "%s", c->name);
    OsProgramName(l->program, sizeof l->program);
    snprintf(l->tclVersion, sizeof l->tclVersion, "%s", EtwTclVersion());
    if (c->file != NULL) {
        EtwStatus status = OsNeedFullPath(c->file, l->file, sizeof l->file, err);
        if (status != ETW_OK) {
            return status;
        }
    }
    l->mode = c->mode;
    l->realtime = c->realtime;
    l->lossless = c->lossless;
    l->compress = c->compress;
    l->bufferKB = c->bufferKB;
    l->minBuffers = c->minBuffers;
    l->maxBuffers = c->maxBuffers;
    l->flushMs = c->flushMs;
    l->maxMB = c->maxMB;
    l->starter = OsPid();
    return ETW_OK;
}

static EtwStatus waitForStart(Launch *l, uint32_t pid, EtwError *err)
{
    uint64_t start = OsProcessStart(pid);
    for (int ms = 0; ms < PATIENCE; ms++) {
        bool lives = start != 0 && OsProcessAlive(pid, start);
        if (atomic_load_explicit(&l->done, memory_order_acquire)) {
            if (err != NULL) {
                *err = l->error;
            }
            return (EtwStatus)l->status;
        }
        if (!lives) {
            break;
        }
        OsSleepNs(1000000);
    }
    return EtwFail(err, ETW_E_STATE, "LOGGER", l->name,
            "the logger process %u of session \"%s\" did not start in time", pid, l->name);
}

EtwStatus DetachStart(const EtwSessionConfig *config, EtwError *err)
{
    OsMap map = {0};
    char path[1024], argument[1024];
    Launch *l;
    uint32_t pid = 0;
    uint64_t mark;
    EtwStatus status;
    if (RegOpen(err) == NULL) {
        return err ? err->status : ETW_E_IO;
    }
    OsRandom(&mark, sizeof mark);
    RegSessionPath(mark, path, sizeof path - 8);
    strcat(path, ".launch");
    status = OsMapShared(&map, path, true, sizeof *l, err);
    if (status != ETW_OK) {
        return status;
    }
    l = (Launch *)map.base;
    status = OsMapReserve(&map, 0, sizeof *l, path, err);
    if (status == ETW_OK) {
        status = fillLaunch(l, config, err);
    }
    if (status == ETW_OK) {
        status = OsNeedFullPath(path, argument, sizeof argument, err);
    }
    if (status == ETW_OK) {
        status = OsDetach(argument, &pid, err);
    }
    if (status == ETW_OK) {
        status = waitForStart(l, pid, err);
    }
    OsUnmap(&map);
    OsFileRemove(path);
    return status;
}
