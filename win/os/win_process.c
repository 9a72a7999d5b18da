/*
 * win/os/win_process.c --
 *
 *	base/os.h for Windows, functions between processes: wake-ups, which are named events of the
 *	logon session, and detached processes: rundll32 with this library.
 */
#include "win/os/win_int.h"
#include "base/alloc.h"
#include <stdio.h>

/* ---- Wake-ups -------------------------------------------------------------------------------- */

void OsSharedWakeOpen(OsSharedWake *wake, _Atomic uint32_t *word, const char *name)
{
    wchar_t wide[100];
    _snwprintf(wide, 100, L"Local\\etw-%hs", name);
    wide[99] = 0;
    wake->word = word;
    wake->event = CreateEventW(NULL, FALSE, FALSE, wide);
}

void OsSharedWakeClose(OsSharedWake *wake)
{
    if (wake->event != NULL) {
        CloseHandle(wake->event);
    }
    wake->event = NULL;
    wake->word = NULL;
}

void OsSharedWakePost(const OsSharedWake *wake)
{
    if (wake->event != NULL) {
        SetEvent(wake->event);
    }
}

bool OsSharedWakeWait(const OsSharedWake *wake, int64_t timeoutNs)
{
    if (wake->event == NULL) {
        OsSleepNs(timeoutNs < 10000000 ? timeoutNs : 10000000);
        return false;
    }
    return WaitForSingleObject(wake->event, OsWinToMs(timeoutNs)) == WAIT_OBJECT_0;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

/* Processes are known by pid and start time: there are no forks and no pid namespaces. */
EtwStatus OsSlotHold(OsSlot *slot, const char *path, uint32_t number, EtwError *err)
{
    (void)path;
    (void)number;
    (void)err;
    slot->kept = NULL;
    return ETW_OK;
}

void OsSlotLeave(OsSlot *slot)
{
    (void)slot;
}

OsSlotState OsSlotCheck(const char *path, uint32_t number, uint32_t pid, uint64_t start)
{
    (void)path;
    (void)number;
    return OsProcessAlive(pid, start) ? OS_SLOT_HELD : OS_SLOT_FREE;
}

/* ---- Detached processes ---------------------------------------------------------------------- */

/* The path of the DLL that contains this code. False: not a DLL with the entry point. */
static bool ownLibrary(wchar_t *path, DWORD size)
{
    HMODULE self;
    return GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT |
                                      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS,
                   (LPCWSTR)(void *)ownLibrary, &self) &&
           GetProcAddress(self, OS_DETACHED_ENTRY) != NULL &&
           GetModuleFileNameW(self, path, size) < size;
}

EtwStatus OsDetach(const char *argument, uint32_t *pidPtr, EtwError *err)
{
    wchar_t library[1024], system[MAX_PATH], line[3000];
    wchar_t *wide = OsWinFromUtf8(argument);
    STARTUPINFOW start = {.cb = sizeof start};
    PROCESS_INFORMATION process;
    BOOL made;
    if (!ownLibrary(library, 1024)) {
        EtwFree(wide);
        return EtwFail(err, ETW_E_UNSUPPORTED, "DETACHED", "",
                "a program that is linked with the engine cannot start a logger process on "
                "Windows: start the session from Tcl, or without -detached");
    }
    GetSystemDirectoryW(system, MAX_PATH);
    _snwprintf(line, 3000,
            L"\"%ls\\rundll32.exe\" \"%ls\","
            L"" OS_DETACHED_ENTRY L" %ls",
            system, library, wide);
    line[2999] = 0;
    EtwFree(wide);
    made = CreateProcessW(NULL, line, NULL, NULL, FALSE,
            DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP, NULL, system, &start, &process);
    if (!made) {
        return EtwFailOs(
                err, ETW_E_LIMIT, (int)GetLastError(), "PROCESS", "", "cannot start a process");
    }
    *pidPtr = process.dwProcessId;
    CloseHandle(process.hThread);
    CloseHandle(process.hProcess);
    return ETW_OK;
}
