/*
 * win/system/system_own.c --
 *
 *	Data of the Windows sessions that this process started: the start time, which Windows does not report; the handles of
 *	sessions inside this process, which Windows does not find by name; and for private sessions the mode, provider and
 *	processes, which each later call must repeat (ControlTrace, "Configuring and Starting a Private Logger Session").
 */
#include "win/system/system_int.h"

enum { OWN = 256 };

typedef struct Slot {
    wchar_t name[SYSTEM_MAX_NAME];
    SystemOwn own; /* handle 0: free */
} Slot;
static Slot slots[OWN];
static SRWLOCK lock = SRWLOCK_INIT;

/* ---- Filters by process ------------------------------------------------------------------------ */

static void addFilter(EVENT_FILTER_DESCRIPTOR *d, ULONG type, const void *data, size_t size)
{
    d->Ptr = (ULONGLONG)(ULONG_PTR)data;
    d->Size = (ULONG)size;
    d->Type = type;
}

ULONG SystemScopeFilters(const SystemScope *scope, EVENT_FILTER_DESCRIPTOR filters[2])
{
    ULONG count = 0;
    if (scope->pidCount > 0) {
        addFilter(&filters[count++], SYSTEM_FILTER_PID, scope->pids,
                (size_t)scope->pidCount * sizeof *scope->pids);
    }
    if (scope->executables != NULL) {
        addFilter(&filters[count++], SYSTEM_FILTER_EXECUTABLE_NAME, scope->executables,
                (wcslen(scope->executables) + 1) * sizeof *scope->executables);
    }
    return count;
}

/* ---- The table --------------------------------------------------------------------------------- */

static Slot *lockedSlot(const wchar_t *name)
{
    for (int i = 0; i < OWN; i++) {
        if (slots[i].own.handle != 0 && _wcsicmp(slots[i].name, name) == 0) {
            return &slots[i];
        }
    }
    return NULL;
}

static Slot *lockedFree(void)
{
    for (int i = 0; i < OWN; i++) {
        if (slots[i].own.handle == 0) {
            return &slots[i];
        }
    }
    return NULL;
}

void SystemOwnRelease(SystemOwn *own)
{
    EtwFree(own->scope.executables);
    *own = (SystemOwn){0};
}

void SystemOwnKeep(const wchar_t *name, SystemOwn *own)
{
    AcquireSRWLockExclusive(&lock);
    Slot *slot = lockedSlot(name);
    slot = slot != NULL ? slot : lockedFree();
    if (slot != NULL) {
        SystemOwnRelease(&slot->own);
        wcscpy(slot->name, name);
        slot->own = *own;
        *own = (SystemOwn){0};
    }
    ReleaseSRWLockExclusive(&lock);
    SystemOwnRelease(own);
}

void SystemOwnForget(const wchar_t *name)
{
    AcquireSRWLockExclusive(&lock);
    Slot *slot = lockedSlot(name);
    if (slot != NULL) {
        SystemOwnRelease(&slot->own);
    }
    ReleaseSRWLockExclusive(&lock);
}

static wchar_t *copyText(const wchar_t *text)
{
    size_t size = text != NULL ? (wcslen(text) + 1) * sizeof *text : 0;
    return text != NULL ? memcpy(EtwAlloc(size), text, size) : NULL;
}

SystemOwn SystemOwnFind(const char *name)
{
    wchar_t wide[SYSTEM_MAX_NAME];
    SystemOwn own = {0};
    if (!SystemName(wide, name)) {
        return own;
    }
    AcquireSRWLockShared(&lock);
    const Slot *slot = lockedSlot(wide);
    if (slot != NULL) {
        own = slot->own;
        own.scope.executables = copyText(own.scope.executables);
    }
    ReleaseSRWLockShared(&lock);
    return own;
}
