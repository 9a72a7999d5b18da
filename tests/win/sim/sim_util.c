/*
 * tests/win/sim/sim_util.c --
 *
 *	Queues of buffers, text, privileges, the start and the reset of the simulated service.
 */
#define INITGUID
#include "tests/win/sim/sim.h"
#include "base/unicode.h"
#include "base/os.h"

SRWLOCK simLock = SRWLOCK_INIT;
static INIT_ONCE once = INIT_ONCE_STATIC_INIT;

static BOOL CALLBACK InitOnce(INIT_ONCE *unused, void *parameter, void **result)
{
    (void)unused;
    (void)parameter;
    (void)result;
    OsInit();
    return TRUE;
}

void SimInit(void)
{
    InitOnceExecuteOnce(&once, InitOnce, NULL, NULL);
}

void SimQueueAdd(SimQueue *queue, SimBuffer *buffer)
{
    buffer->next = NULL;
    if (queue->tail != NULL) {
        queue->tail->next = buffer;
    } else {
        queue->head = buffer;
    }
    queue->tail = buffer;
    queue->count++;
}

SimBuffer *SimQueueTake(SimQueue *queue)
{
    SimBuffer *buffer = queue->head;
    if (buffer != NULL) {
        queue->head = buffer->next;
        queue->tail = queue->head != NULL ? queue->tail : NULL;
        queue->count--;
    }
    return buffer;
}

void SimQueueFree(SimQueue *queue)
{
    SimBuffer *buffer;
    while ((buffer = SimQueueTake(queue)) != NULL) {
        EtwFree(buffer);
    }
}

char *SimUtf8(const WCHAR *text)
{
    EtwText out = {0};
    EtwTextUtf16(&out, (const uint8_t *)text, wcslen(text));
    EtwTextChar(&out, '\0');
    return out.data;
}

bool SimGuidZero(const GUID *guid)
{
    static const GUID zero;
    return SimGuidEqual(guid, &zero);
}

bool SimMayControl(bool kernelLogger)
{
    WCHAR value[16];
    DWORD length = GetEnvironmentVariableW(L"ETWSIM_PRIVILEGE", value, 16);
    if (length == 0 || length >= 16 || wcscmp(value, L"noprofile") == 0) {
        return true;
    }
    return wcscmp(value, L"users") == 0 && !kernelLogger;
}

static ULONG NumberOf(const WCHAR *variable, ULONG otherwise)
{
    WCHAR value[16];
    DWORD length = GetEnvironmentVariableW(variable, value, 16);
    return length > 0 && length < 16 ? wcstoul(value, NULL, 10) : otherwise;
}

ULONG SimBuild(void)
{
    return NumberOf(L"ETWSIM_BUILD", 19045);
}

ULONG SimMaxSessions(void)
{
    ULONG most = NumberOf(L"ETWSIM_LOGGERS", 64);
    return most < SIM_SESSIONS ? most : SIM_SESSIONS;
}

bool SimMayProfile(void)
{
    WCHAR value[16];
    HANDLE token;
    BOOL held = FALSE;
    PRIVILEGE_SET set = {.PrivilegeCount = 1, .Control = PRIVILEGE_SET_ALL_NECESSARY};
    DWORD length = GetEnvironmentVariableW(L"ETWSIM_PRIVILEGE", value, 16);
    if ((length > 0 && length < 16 && wcscmp(value, L"noprofile") == 0) ||
            !OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
        return false;
    }
    if (LookupPrivilegeValueW(NULL, L"SeSystemProfilePrivilege", &set.Privilege[0].Luid)) {
        PrivilegeCheck(token, &set, &held);
    }
    CloseHandle(token);
    return held;
}

void WINAPI EtwSimReset(void)
{
    SimInit();
    for (int id = 1; id <= SIM_SESSIONS; id++) {
        AcquireSRWLockExclusive(&simLock);
        SimSession *session = simSessions[id];
        if (session != NULL) {
            session->users++;
            EnterCriticalSection(&session->lock);
            session->paused = false;
            LeaveCriticalSection(&session->lock);
        }
        ReleaseSRWLockExclusive(&simLock);
        if (session != NULL) {
            SimSessionStop(session);
            SimSessionRelease(session);
        }
    }
    SimProvidersReset();
    SimConsumersReset();
    SimTdhReset();
}
