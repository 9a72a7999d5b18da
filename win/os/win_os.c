/*
 * win/os/win_os.c --
 *
 *	base/os.h for Windows (7 and later, and Wine): clock; facts about machine, process and
 *	thread; threads, locks, wake-ups, console events, names of errors. Files and mappings are in
 *	win_files.c, functions between processes in win_process.c. Functions that Windows 7 lacks
 *	are looked up at run time, never linked.
 */
#include "win/os/win_int.h"
#include "base/alloc.h"
#include "base/calendar.h"
#include <process.h>
#include <stdatomic.h>
#include <stdio.h>

/* RtlGenRandom. Exported under this name only, since Windows XP. */
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG size);

EtwClock osClock = ETW_CLOCK_QPC;

_Atomic uint32_t osPid;
static INIT_ONCE initOnce = INIT_ONCE_STATIC_INIT;
static int64_t qpcFrequency = 1;
static int cpuCount = 1;
static int groupCount = 1;
static int groupBase[64]; /* number of the first CPU of each processor group */
static DWORD slotIndex;
static void (*slotDestroy)(void *);
static void(WINAPI *systemTime)(FILETIME *) = GetSystemTimeAsFileTime;
static BOOLEAN(NTAPI *shutdownInProgress)(void);

/*
 * Converts the result of GetProcAddress, a generic function pointer, through a union, which avoids
 * a warning.
 */
#define LOOKUP(library, name, target)                                                              \
    do {                                                                                           \
        union {                                                                                    \
            FARPROC from;                                                                          \
            __typeof__(target) to;                                                                 \
        } found_;                                                                                  \
        found_.from = GetProcAddress(GetModuleHandleW(library), name);                             \
        if (found_.from != NULL) {                                                                 \
            target = found_.to;                                                                    \
        }                                                                                          \
    } while (0)

/* ---- Clock ----------------------------------------------------------------------------------- */

uint64_t OsTicksSlow(void)
{
    LARGE_INTEGER t;
    QueryPerformanceCounter(&t);
    return (uint64_t)t.QuadPart;
}

/* Seconds and remainder separately: a count times 10^9 overflows within minutes. */
static int64_t ticksToNs(uint64_t ticks)
{
    uint64_t f = (uint64_t)qpcFrequency;
    return (int64_t)(ticks / f * 1000000000u + ticks % f * 1000000000u / f);
}

static int64_t wallNs(void)
{
    FILETIME ft;
    systemTime(&ft);
    return OsWinFileTimeToUnix(&ft);
}

int64_t OsWinFileTimeToUnix(const FILETIME *ft)
{
    int64_t v = (int64_t)((uint64_t)ft->dwHighDateTime << 32 | ft->dwLowDateTime);
    return EtwNsOfFiletime(v);
}

void OsNow(OsInstant *now)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        uint64_t before = OsTicksSlow();
        int64_t wall = wallNs();
        uint64_t after = OsTicksSlow();
        if (after - before < best) {
            best = after - before;
            now->ticks = before + (after - before) / 2;
            now->steady = ticksToNs(now->ticks);
            now->wall = wall;
        }
    }
}

int64_t OsBootTime(void)
{
    return wallNs() - (int64_t)GetTickCount64() * 1000000;
}

int OsTimeZoneBias(void)
{
    TIME_ZONE_INFORMATION zone;
    switch (GetTimeZoneInformation(&zone)) {
    case TIME_ZONE_ID_DAYLIGHT:
        return (int)(zone.Bias + zone.DaylightBias);
    case TIME_ZONE_ID_INVALID:
        return 0;
    default:
        return (int)(zone.Bias + zone.StandardBias);
    }
}

void OsLocalTimeText(char *buf, size_t size, int64_t wall)
{
    uint64_t ticks = (uint64_t)EtwFiletimeOfNs(wall);
    FILETIME utc = {(DWORD)ticks, (DWORD)(ticks >> 32)};
    SYSTEMTIME time, local;
    if (!FileTimeToSystemTime(&utc, &time) ||
            !SystemTimeToTzSpecificLocalTime(NULL, &time, &local)) {
        snprintf(buf, size, "?");
        return;
    }
    snprintf(buf, size, "%04u-%02u-%02u %02u:%02u:%02u", local.wYear, local.wMonth, local.wDay,
            local.wHour, local.wMinute, local.wSecond);
}

/* ---- Machine, process, thread ---------------------------------------------------------------- */

/* At process exit the other threads are gone: do not wait for locks that they held. */
static void CALLBACK threadGone(void *value)
{
    if (value != NULL && slotDestroy != NULL &&
            !(shutdownInProgress != NULL && shutdownInProgress())) {
        slotDestroy(value);
    }
}

static void countCpus(void)
{
    groupCount = GetActiveProcessorGroupCount();
    if (groupCount > 64) {
        groupCount = 64;
    }
    cpuCount = 0;
    for (int g = 0; g < groupCount; g++) {
        groupBase[g] = cpuCount;
        cpuCount += (int)GetActiveProcessorCount((WORD)g);
    }
    if (cpuCount < 1) {
        cpuCount = 1;
    }
}

static BOOL CALLBACK initAll(INIT_ONCE *once, void *unused, void **result)
{
    LARGE_INTEGER f;
    (void)once;
    (void)unused;
    (void)result;
    QueryPerformanceFrequency(&f);
    qpcFrequency = f.QuadPart > 0 ? f.QuadPart : 1;
    countCpus();
    slotIndex = FlsAlloc(threadGone);
    LOOKUP(L"kernel32.dll", "GetSystemTimePreciseAsFileTime", systemTime);
    LOOKUP(L"ntdll.dll", "RtlDllShutdownInProgress", shutdownInProgress);
    return TRUE;
}

void OsInit(void)
{
    atomic_store(&osPid, GetCurrentProcessId());
    InitOnceExecuteOnce(&initOnce, initAll, NULL, NULL);
}

int OsCpuCount(void)
{
    return cpuCount;
}

int OsCpuSlow(void)
{
    PROCESSOR_NUMBER n;
    int cpu;
    GetCurrentProcessorNumberEx(&n);
    cpu = (n.Group < groupCount ? groupBase[n.Group] : 0) + n.Number;
    return cpu < cpuCount ? cpu : cpu % cpuCount; /* a CPU was added after OsInit */
}

uint32_t OsTid(void)
{
    return GetCurrentThreadId();
}

uint64_t OsProcessStart(uint32_t pid)
{
    FILETIME created, exited, kernel, user;
    uint64_t start = 0;
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION | SYNCHRONIZE, FALSE, pid);
    if (process == NULL) {
        /* Another user's process: it exists, but its start time is not accessible. */
        return GetLastError() == ERROR_ACCESS_DENIED ? 1 : 0;
    }
    /* A process that has ended can be opened while a handle to it exists. */
    if (WaitForSingleObject(process, 0) == WAIT_TIMEOUT &&
            GetProcessTimes(process, &created, &exited, &kernel, &user)) {
        start = (uint64_t)created.dwHighDateTime << 32 | created.dwLowDateTime;
    }
    CloseHandle(process);
    return start;
}

void OsOnFork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    (void)prepare;
    (void)parent;
    (void)child;
}

uint32_t OsCpuMHz(void)
{
    DWORD mhz = 0, size = sizeof mhz;
    if (RegGetValueW(HKEY_LOCAL_MACHINE, L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                L"~MHz", RRF_RT_REG_DWORD, NULL, &mhz, &size) != ERROR_SUCCESS) {
        return 0;
    }
    return mhz;
}

void OsRandom(void *data, size_t size)
{
    if (!SystemFunction036(data, (ULONG)size)) {
        for (size_t i = 0; i < size; i++) {
            ((uint8_t *)data)[i] = (uint8_t)(OsTicksSlow() >> (i % 8));
        }
    }
}

uint64_t osSecret[2];

__attribute__((constructor)) static void drawSecret(void)
{
    OsRandom(osSecret, sizeof osSecret);
}

void OsHostName(char *buf, size_t size)
{
    wchar_t wide[256];
    DWORD n = 256;
    char *utf8;
    if (!GetComputerNameExW(ComputerNameDnsHostname, wide, &n)) {
        wide[0] = 0;
    }
    utf8 = OsWinToUtf8(wide);
    snprintf(buf, size, "%s", utf8);
    EtwFree(utf8);
}

void OsUserName(char *buf, size_t size)
{
    wchar_t wide[257];
    DWORD n = 257;
    char *utf8;
    if (!GetUserNameW(wide, &n)) {
        wide[0] = 0;
    }
    utf8 = OsWinToUtf8(wide);
    snprintf(buf, size, "%s", utf8);
    EtwFree(utf8);
}

void OsProgramName(char *buf, size_t size)
{
    wchar_t path[1024];
    DWORD n = GetModuleFileNameW(NULL, path, 1024);
    path[n < 1024 ? n : 0] = 0;
    const wchar_t *tail = wcsrchr(path, L'\\');
    char *utf8 = OsWinToUtf8(tail ? tail + 1 : path);
    snprintf(buf, size, "%s", utf8);
    EtwFree(utf8);
}

void OsHostText(char *buf, size_t size)
{
    /*
     * GetVersionEx returns the version in the program's manifest. RtlGetVersion returns the real
     * one.
     */
    LONG(NTAPI * getVersion)(OSVERSIONINFOW *) = NULL;
    const char *(CDECL * wineVersion)(void) = NULL;
    OSVERSIONINFOW v = {.dwOSVersionInfoSize = sizeof v};
    LOOKUP(L"ntdll.dll", "RtlGetVersion", getVersion);
    LOOKUP(L"ntdll.dll", "wine_get_version", wineVersion);
    if (getVersion != NULL) {
        getVersion(&v);
    }
    snprintf(buf, size, "Windows %lu.%lu.%lu x86_64%s%s%s", (unsigned long)v.dwMajorVersion,
            (unsigned long)v.dwMinorVersion, (unsigned long)v.dwBuildNumber,
            wineVersion ? " (Wine " : "", wineVersion ? wineVersion() : "", wineVersion ? ")" : "");
}

int OsTerminalColumns(intptr_t handle)
{
    CONSOLE_SCREEN_BUFFER_INFO info;
    DWORD mode;
    if (!GetConsoleMode((HANDLE)handle, &mode)) {
        return -1;
    }
    return GetConsoleScreenBufferInfo((HANDLE)handle, &info)
                   ? info.srWindow.Right - info.srWindow.Left + 1
                   : 0;
}

bool OsTerminalEscapes(intptr_t handle)
{
    enum { PROCESS_ESCAPES = 0x0004 }; /* ENABLE_VIRTUAL_TERMINAL_PROCESSING */
    DWORD mode;
    if (!GetConsoleMode((HANDLE)handle, &mode)) {
        return false;
    }
    return (mode & PROCESS_ESCAPES) != 0 || SetConsoleMode((HANDLE)handle, mode | PROCESS_ESCAPES);
}

/* ---- Threads, locks, wake-ups ---------------------------------------------------------------- */

struct OsThread {
    HANDLE handle;
    void (*proc)(void *);
    void *arg;
    wchar_t name[16];
};

static unsigned __stdcall threadMain(void *arg)
{
    OsThread *t = arg;
    HRESULT(WINAPI * describe)(HANDLE, PCWSTR) = NULL;
    LOOKUP(L"kernel32.dll", "SetThreadDescription", describe);
    if (describe != NULL) {
        describe(GetCurrentThread(), t->name);
    }
    t->proc(t->arg);
    return 0;
}

EtwStatus OsThreadStart(OsThread **threadPtr, const char *name, void (*proc)(void *), void *arg)
{
    OsThread *t = EtwAlloc(sizeof *t);
    t->proc = proc;
    t->arg = arg;
    for (int i = 0; i < 15 && name[i] != '\0'; i++) {
        t->name[i] = (unsigned char)name[i];
    }
    /* Not CreateThread, which would leak the C library's data of the thread. */
    t->handle = (HANDLE)_beginthreadex(NULL, 0, threadMain, t, 0, NULL);
    if (t->handle == NULL) {
        EtwFree(t);
        return ETW_E_LIMIT;
    }
    *threadPtr = t;
    return ETW_OK;
}

void OsThreadJoin(OsThread *t)
{
    WaitForSingleObject(t->handle, INFINITE);
    CloseHandle(t->handle);
    EtwFree(t);
}

struct OsMutex {
    SRWLOCK lock;
};

OsMutex *OsMutexNew(void)
{
    OsMutex *m = EtwAlloc(sizeof *m);
    InitializeSRWLock(&m->lock);
    return m;
}

void OsMutexFree(OsMutex *m)
{
    EtwFree(m);
}

void OsMutexLock(OsMutex *m)
{
    AcquireSRWLockExclusive(&m->lock);
}

void OsMutexUnlock(OsMutex *m)
{
    ReleaseSRWLockExclusive(&m->lock);
}

/* An auto-reset event: several posts while no thread waits count as one, as os.h requires. */
struct OsWake {
    HANDLE event;
};

OsWake *OsWakeNew(void)
{
    OsWake *w = EtwAlloc(sizeof *w);
    w->event = CreateEventW(NULL, FALSE, FALSE, NULL);
    return w;
}

void OsWakeFree(OsWake *w)
{
    CloseHandle(w->event);
    EtwFree(w);
}

void OsWakePost(OsWake *w)
{
    SetEvent(w->event);
}

/* In milliseconds, rounded up, so that a short wait is not zero. */
DWORD OsWinToMs(int64_t ns)
{
    int64_t ms = ns / 1000000 + (ns % 1000000 > 0);
    return ms >= 0x7fffffff ? 0x7fffffff : (DWORD)ms;
}

bool OsWakeWait(OsWake *w, int64_t timeoutNs)
{
    return WaitForSingleObject(w->event, timeoutNs < 0 ? INFINITE : OsWinToMs(timeoutNs)) ==
           WAIT_OBJECT_0;
}

void OsSleepNs(int64_t ns)
{
    Sleep(ns <= 0 ? 0 : OsWinToMs(ns));
}

_Atomic bool osCheapFenceIsFull; /* never: FlushProcessWriteBuffers cannot fail */

void OsProcessFence(void)
{
    FlushProcessWriteBuffers();
}

/* A fiber-local slot, because only these have a callback at the end of the thread. */
void *OsThreadSlotGet(void)
{
    return FlsGetValue(slotIndex);
}

void OsThreadSlotSet(void *value, void (*destroy)(void *))
{
    slotDestroy = destroy;
    FlsSetValue(slotIndex, value);
}

/* ---- Termination ----------------------------------------------------------------------------- */

static void (*terminationProc)(void);
static atomic_flag terminating = ATOMIC_FLAG_INIT;

/*
 * Windows calls this on a thread created for the purpose. Handlers that were installed later run
 * first and may consume the event. FALSE: the next handler runs, and finally that of Windows, which
 * ends the process.
 */
static BOOL WINAPI onConsole(DWORD event)
{
    (void)event;
    if (!atomic_flag_test_and_set(&terminating)) {
        terminationProc();
    }
    return FALSE;
}

void OsOnTermination(void (*proc)(void))
{
    static bool installed;
    if (!installed) {
        installed = true;
        terminationProc = proc;
        SetConsoleCtrlHandler(onConsole, TRUE);
    }
}

/* ---- Errors ---------------------------------------------------------------------------------- */

const char *OsErrorText(int osError, char *buf, size_t size)
{
    wchar_t text[512];
    char *utf8;
    DWORD n = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
            (DWORD)osError, 0, text, 511, NULL);
    while (n > 0 && (text[n - 1] <= L' ' || text[n - 1] == L'.')) {
        n--;
    }
    text[n] = 0;
    if (n == 0) {
        snprintf(buf, size, "Windows error %d", osError);
        return buf;
    }
    utf8 = OsWinToUtf8(text);
    snprintf(buf, size, "%s", utf8);
    EtwFree(utf8);
    return buf;
}

const char *OsFileLimitHint(int osError)
{
    return osError == ERROR_TOO_MANY_OPEN_FILES ? "close some" : NULL;
}

const char *OsErrorName(int osError)
{
    /* The errors of files, mappings, processes and tracing. */
    static const struct {
        int code;
        const char *name;
    } names[] = {
#define NAME(x) {x, #x}
            NAME(ERROR_INVALID_FUNCTION), NAME(ERROR_FILE_NOT_FOUND), NAME(ERROR_PATH_NOT_FOUND),
            NAME(ERROR_TOO_MANY_OPEN_FILES), NAME(ERROR_ACCESS_DENIED), NAME(ERROR_INVALID_HANDLE),
            NAME(ERROR_NOT_ENOUGH_MEMORY), NAME(ERROR_BAD_LENGTH), NAME(ERROR_OUTOFMEMORY),
            NAME(ERROR_INVALID_DRIVE), NAME(ERROR_WRITE_PROTECT), NAME(ERROR_NOT_READY),
            NAME(ERROR_SHARING_VIOLATION), NAME(ERROR_LOCK_VIOLATION), NAME(ERROR_HANDLE_EOF),
            NAME(ERROR_HANDLE_DISK_FULL), NAME(ERROR_NOT_SUPPORTED), NAME(ERROR_FILE_EXISTS),
            NAME(ERROR_INVALID_PARAMETER), NAME(ERROR_BROKEN_PIPE), NAME(ERROR_DISK_FULL),
            NAME(ERROR_CALL_NOT_IMPLEMENTED), NAME(ERROR_INSUFFICIENT_BUFFER),
            NAME(ERROR_INVALID_NAME), NAME(ERROR_DIR_NOT_EMPTY), NAME(ERROR_BUSY),
            NAME(ERROR_ALREADY_EXISTS), NAME(ERROR_FILENAME_EXCED_RANGE), NAME(ERROR_MORE_DATA),
            NAME(ERROR_NO_MORE_ITEMS), NAME(ERROR_DIRECTORY), NAME(ERROR_USER_MAPPED_FILE),
            NAME(ERROR_IO_DEVICE), NAME(ERROR_NOT_FOUND), NAME(ERROR_CANCELLED),
            NAME(ERROR_PRIVILEGE_NOT_HELD), NAME(ERROR_NO_SYSTEM_RESOURCES), NAME(ERROR_TIMEOUT),
            NAME(ERROR_WMI_GUID_NOT_FOUND), NAME(ERROR_WMI_INSTANCE_NOT_FOUND),
            NAME(ERROR_CTX_CLOSE_PENDING), NAME(ERROR_EVT_INVALID_EVENT_DATA)
#undef NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].code == osError) {
            return names[i].name;
        }
    }
    return "";
}
