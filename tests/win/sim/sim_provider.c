/*
 * tests/win/sim/sim_provider.c --
 *
 *	Providers: registration, enable callbacks (on a thread of the service, the first one inside
 *	of EventRegister), traits, activity ids.
 */
#include "tests/win/sim/sim.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/os.h"

enum { MAX_REGISTRATIONS = 2048 };

typedef struct Slot {
    SimRegistration *registration;
    uint32_t generation;
} Slot;

/* One call of an enable callback, to be made by the notification thread. */
typedef struct Note {
    struct Note *next;
    SimRegistration *registration; /* one of its references; NULL: only `done` */
    GUID source;
    ULONG code;
    UCHAR level;
    ULONGLONG any, all;
    uint8_t *filter; /* owned */
    ULONG filterSize, filterType;
    HANDLE done; /* owned, or NULL */
} Note;

SimProvider *simProviders;
static Slot slots[MAX_REGISTRATIONS]; /* by handle, from 1 */
static CRITICAL_SECTION notesLock;
static CONDITION_VARIABLE notesWake = CONDITION_VARIABLE_INIT;
static Note *notesHead, *notesTail;
static INIT_ONCE notesOnce = INIT_ONCE_STATIC_INIT;
static __thread GUID activityId;

/* ---- Finding ------------------------------------------------------------------------------------ */

SimProvider *SimProviderFind(const GUID *guid, bool create)
{
    SimProvider *p = simProviders;
    while (p != NULL && !SimGuidEqual(&p->guid, guid)) {
        p = p->next;
    }
    if (p == NULL && create) {
        p = EtwAlloc(sizeof *p);
        p->guid = *guid;
        p->next = simProviders;
        simProviders = p;
    }
    return p;
}

SimRegistration *SimRegistrationFind(REGHANDLE handle)
{
    ULONG index = (ULONG)(handle & 0xFFFF);
    if (index == 0 || index >= MAX_REGISTRATIONS || slots[index].registration == NULL ||
            slots[index].generation != (uint32_t)(handle >> 16)) {
        return NULL;
    }
    return slots[index].registration;
}

/* simLock held exclusively. */
static void Unreference(SimRegistration *r)
{
    if (--r->references == 0) {
        DeleteCriticalSection(&r->calling);
        EtwFree(r->traits);
        EtwFree(r);
    }
}

/* ---- Callbacks ---------------------------------------------------------------------------------- */

/* What all sessions together want. */
static void Aggregate(const SimProvider *p, Note *note)
{
    note->all = ~0ull;
    for (int i = 0; i < SIM_ENABLES; i++) {
        const SimEnable *e = &p->enables[i];
        if (e->session == NULL || !SimScopeHere(&e->scope)) {
            continue;
        }
        note->code = EVENT_CONTROL_CODE_ENABLE_PROVIDER;
        note->level = e->level > note->level ? e->level : note->level;
        note->any |= e->any;
        note->all &= e->all;
    }
    note->all = note->code == EVENT_CONTROL_CODE_ENABLE_PROVIDER ? note->all : 0;
}

static void Call(Note *note)
{
    SimRegistration *r = note->registration;
    EVENT_FILTER_DESCRIPTOR filter = {
            (ULONGLONG)(uintptr_t)note->filter, note->filterSize, note->filterType};
    EnterCriticalSection(&r->calling);
    if (!r->gone && r->callback != NULL) {
        r->callback(&note->source, note->code, note->level, note->any, note->all,
                note->filter != NULL ? &filter : NULL, r->context);
    }
    LeaveCriticalSection(&r->calling);
}

static void Finish(Note *note)
{
    if (note->registration != NULL) {
        AcquireSRWLockExclusive(&simLock);
        Unreference(note->registration);
        ReleaseSRWLockExclusive(&simLock);
    }
    if (note->done != NULL) {
        SetEvent(note->done);
        CloseHandle(note->done);
    }
    EtwFree(note->filter);
    EtwFree(note);
}

static DWORD WINAPI NotesMain(void *arg)
{
    (void)arg;
    for (;;) {
        EnterCriticalSection(&notesLock);
        while (notesHead == NULL) {
            SleepConditionVariableCS(&notesWake, &notesLock, INFINITE);
        }
        Note *note = notesHead;
        notesHead = note->next;
        notesTail = notesHead != NULL ? notesTail : NULL;
        LeaveCriticalSection(&notesLock);
        if (note->registration != NULL) {
            Call(note);
        }
        Finish(note);
    }
    return 0;
}

static BOOL CALLBACK NotesInit(INIT_ONCE *unused, void *parameter, void **result)
{
    (void)unused;
    (void)parameter;
    (void)result;
    InitializeCriticalSection(&notesLock);
    HANDLE thread = CreateThread(NULL, 0, NotesMain, NULL, 0, NULL);
    if (thread != NULL) {
        CloseHandle(thread);
    }
    return thread != NULL;
}

static void Post(Note *note)
{
    InitOnceExecuteOnce(&notesOnce, NotesInit, NULL, NULL);
    EnterCriticalSection(&notesLock);
    if (notesTail != NULL) {
        notesTail->next = note;
    } else {
        notesHead = note;
    }
    notesTail = note;
    WakeConditionVariable(&notesWake);
    LeaveCriticalSection(&notesLock);
}

static Note *NoteFor(SimRegistration *r, ULONG code, const SimEnable *enable)
{
    Note *note = EtwAlloc(sizeof *note);
    note->registration = r;
    r->references++;
    if (enable != NULL) {
        note->source = enable->source;
    }
    if (enable != NULL && enable->schematized != NULL) {
        note->filter = EtwAlloc(enable->schematizedSize);
        note->filterSize = enable->schematizedSize;
        note->filterType = enable->schematizedType;
        memcpy(note->filter, enable->schematized, enable->schematizedSize);
    }
    if (code == EVENT_CONTROL_CODE_CAPTURE_STATE && enable != NULL) {
        note->code = code;
        note->level = enable->level;
        note->any = enable->any;
        note->all = enable->all;
    } else {
        Aggregate(r->provider, note);
    }
    return note;
}

void SimNotify(SimProvider *p, ULONG code, const SimEnable *enable, HANDLE done)
{
    for (SimRegistration *r = p->registrations; r != NULL; r = r->next) {
        Post(NoteFor(r, code, enable));
    }
    if (done != NULL) {
        Note *last = EtwAlloc(sizeof *last);
        DuplicateHandle(GetCurrentProcess(), done, GetCurrentProcess(), &last->done, 0, FALSE,
                DUPLICATE_SAME_ACCESS);
        Post(last);
    }
}

/* ---- Registration ------------------------------------------------------------------------------- */

static bool Enabled(const SimProvider *p)
{
    for (int i = 0; i < SIM_ENABLES; i++) {
        if (p->enables[i].session != NULL) {
            return true;
        }
    }
    return false;
}

ULONG WINAPI EventRegister(
        LPCGUID guid, PENABLECALLBACK callback, PVOID context, PREGHANDLE handlePtr)
{
    Note *first = NULL;
    ULONG index = 1;
    SimInit();
    if (guid == NULL || handlePtr == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    AcquireSRWLockExclusive(&simLock);
    while (index < MAX_REGISTRATIONS && slots[index].registration != NULL) {
        index++;
    }
    if (index == MAX_REGISTRATIONS) {
        ReleaseSRWLockExclusive(&simLock);
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    SimRegistration *r = EtwAlloc(sizeof *r);
    InitializeCriticalSection(&r->calling);
    r->provider = SimProviderFind(guid, true);
    r->index = index;
    r->callback = callback;
    r->context = context;
    r->references = 1;
    r->next = r->provider->registrations;
    r->provider->registrations = r;
    slots[index].registration = r;
    slots[index].generation++;
    *handlePtr = (REGHANDLE)slots[index].generation << 16 | index;
    if (Enabled(r->provider)) {
        /* No source and no filter: the provider was not there when they were given. */
        first = NoteFor(r, EVENT_CONTROL_CODE_ENABLE_PROVIDER, NULL);
    }
    ReleaseSRWLockExclusive(&simLock);
    if (first != NULL) {
        Call(first);
        Finish(first);
    }
    return ERROR_SUCCESS;
}

ULONG WINAPI EventUnregister(REGHANDLE handle)
{
    AcquireSRWLockExclusive(&simLock);
    SimRegistration *r = SimRegistrationFind(handle);
    if (r == NULL) {
        ReleaseSRWLockExclusive(&simLock);
        return ERROR_INVALID_HANDLE;
    }
    SimRegistration **link = &r->provider->registrations;
    while (*link != r) {
        link = &(*link)->next;
    }
    *link = r->next;
    slots[r->index].registration = NULL;
    ReleaseSRWLockExclusive(&simLock);
    /* A callback that runs ends first, unless this is called by it; none comes after. */
    EnterCriticalSection(&r->calling);
    r->gone = true;
    LeaveCriticalSection(&r->calling);
    AcquireSRWLockExclusive(&simLock);
    Unreference(r);
    ReleaseSRWLockExclusive(&simLock);
    return ERROR_SUCCESS;
}

static ULONG SetTraits(SimRegistration *r, const void *data, ULONG size)
{
    if (data == NULL || size < 3 || size > 0xFFFF || EtwLoad16(data) != size ||
            memchr((const char *)data + 2, 0, size - 2) == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    EtwFree(r->traits);
    r->traits = EtwAlloc(size);
    memcpy(r->traits, data, size);
    r->traitsSize = (uint16_t)size;
    r->useTypes = true;
    return ERROR_SUCCESS;
}

ULONG WINAPI EventSetInformation(
        REGHANDLE handle, EVENT_INFO_CLASS class, PVOID information, ULONG length)
{
    ULONG error = ERROR_NOT_SUPPORTED;
    AcquireSRWLockExclusive(&simLock);
    SimRegistration *r = SimRegistrationFind(handle);
    if (r == NULL) {
        error = ERROR_INVALID_HANDLE;
    } else if ((int)class == ABI_SET_TRAITS) {
        error = SetTraits(r, information, length);
    } else if ((int)class == ABI_USE_DESCRIPTOR_TYPE) {
        error = information != NULL && length == 1 ? ERROR_SUCCESS : ERROR_INVALID_PARAMETER;
        if (error == ERROR_SUCCESS) {
            r->useTypes = *(const UCHAR *)information != 0;
        }
    } else if (class == EventProviderBinaryTrackInfo) {
        error = ERROR_SUCCESS;
    }
    ReleaseSRWLockExclusive(&simLock);
    return error;
}

void SimProvidersReset(void)
{
    AcquireSRWLockExclusive(&simLock);
    for (SimProvider *p = simProviders; p != NULL; p = p->next) {
        for (int i = 0; i < SIM_ENABLES; i++) {
            SimEnableClear(&p->enables[i]);
        }
    }
    ReleaseSRWLockExclusive(&simLock);
}

/* ---- Activity ids ------------------------------------------------------------------------------- */

static void CreateActivity(GUID *id)
{
    EtwGuid random;
    EtwGuidRandom(&random);
    memcpy(id, &random, sizeof *id);
}

ULONG WINAPI EventActivityIdControl(ULONG code, LPGUID id)
{
    GUID before = activityId;
    if (id == NULL) {
        return ERROR_INVALID_PARAMETER;
    }
    switch (code) {
    case EVENT_ACTIVITY_CTRL_GET_ID:
        *id = before;
        break;
    case EVENT_ACTIVITY_CTRL_SET_ID:
        activityId = *id;
        break;
    case EVENT_ACTIVITY_CTRL_CREATE_ID:
        CreateActivity(id);
        break;
    case EVENT_ACTIVITY_CTRL_GET_SET_ID:
        activityId = *id;
        *id = before;
        break;
    case EVENT_ACTIVITY_CTRL_CREATE_SET_ID:
        CreateActivity(&activityId);
        *id = before;
        break;
    default:
        return ERROR_INVALID_PARAMETER;
    }
    return ERROR_SUCCESS;
}
