/*
 * win/os/win_files.c --
 *
 *	base/os.h for Windows: the runtime directory, shared mappings, positional files, file locks.
 *	Paths are UTF-8 outside and UTF-16 inside. Everything is made for its user alone (a
 *	protected DACL), and what somebody else owns or may open is refused. Files are opened so
 *	that others may rename and delete them meanwhile, as on Linux.
 */
#include "win/os/win_int.h"
#include "base/alloc.h"
#include <aclapi.h>
#include <sddl.h>
#include <shlobj.h>
#include <stdio.h>
#include <winioctl.h>

static const DWORD shareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

/* Files that were removed while mapped are renamed to NAME.etw-gone-XXXXXXXX, and deleted later. */
#define GONE_MARK L".etw-gone-"

/* ---- Text and paths -------------------------------------------------------------------------- */

char *OsWinToUtf8(const wchar_t *text)
{
    int n = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *utf8 = EtwAlloc((size_t)n + 1);
    WideCharToMultiByte(CP_UTF8, 0, text, -1, utf8, n, NULL, NULL);
    return utf8;
}

wchar_t *OsWinFromUtf8(const char *text)
{
    int n = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    wchar_t *wide = EtwAlloc(((size_t)n + 1) * sizeof *wide);
    MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, n);
    return wide;
}

/* Absolute, with backslashes; NULL when it is no path. Caller frees. */
static wchar_t *fullPath(const char *path)
{
    wchar_t *wide = OsWinFromUtf8(path), *full = NULL;
    DWORD n = GetFullPathNameW(wide, 0, NULL, NULL);
    if (n > 0) {
        full = EtwAlloc(((size_t)n + 1) * sizeof *full);
        if (GetFullPathNameW(wide, n + 1, full, NULL) == 0) {
            EtwFree(full);
            full = NULL;
        }
    }
    EtwFree(wide);
    return full;
}

/* A path as the system's functions take it: those longer than MAX_PATH need a prefix. */
static wchar_t *systemPath(const char *path)
{
    wchar_t *full = fullPath(path), *wide;
    size_t n;
    if (full == NULL) {
        return OsWinFromUtf8(path); /* the system's own error is the best one */
    }
    n = wcslen(full);
    if (n < 240 || wcsncmp(full, L"\\\\", 2) == 0) {
        return full;
    }
    wide = EtwAlloc((n + 5) * sizeof *wide);
    wcscpy(wide, L"\\\\?\\");
    wcscpy(wide + 4, full);
    EtwFree(full);
    return wide;
}

void OsFullPath(const char *path, char *full, size_t size)
{
    wchar_t *wide = fullPath(path);
    char *utf8 = wide != NULL ? OsWinToUtf8(wide) : NULL;
    snprintf(full, size, "%s", utf8 != NULL ? utf8 : path);
    for (char *p = full; *p != '\0'; p++) {
        if (*p == '\\') {
            *p = '/'; /* as Tcl writes paths */
        }
    }
    EtwFree(utf8);
    EtwFree(wide);
}

static HANDLE openFile(const char *path, DWORD access, DWORD disposition, DWORD flags,
        SECURITY_ATTRIBUTES *security)
{
    wchar_t *wide = systemPath(path);
    HANDLE file = CreateFileW(wide, access, shareAll, security, disposition, flags, NULL);
    DWORD e = GetLastError();
    EtwFree(wide);
    SetLastError(e);
    return file;
}

static EtwStatus statusOf(DWORD e)
{
    switch (e) {
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
        return ETW_E_STATE;
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
        return ETW_E_LOOKUP;
    default:
        return ETW_E_IO;
    }
}

/* ---- Ours alone ------------------------------------------------------------------------------ */

/* The SID of this process's user, found once: {TOKEN_USER, its SID}. */
static SID *userSid(void)
{
    static union {
        TOKEN_USER user;
        uint8_t capacity[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } info;
    static volatile LONG done;
    if (!done) {
        HANDLE token;
        DWORD size;
        uint8_t fresh[sizeof info] __attribute__((aligned(16)));
        if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) {
            return NULL;
        }
        if (!GetTokenInformation(token, TokenUser, fresh, sizeof fresh, &size)) {
            CloseHandle(token);
            return NULL;
        }
        CloseHandle(token);
        /* Two threads may do this at once: both store the same bytes. */
        memcpy(info.capacity + sizeof(TOKEN_USER), ((TOKEN_USER *)(void *)fresh)->User.Sid,
                GetLengthSid(((TOKEN_USER *)(void *)fresh)->User.Sid));
        InterlockedExchange(&done, 1);
    }
    return (SID *)(void *)(info.capacity + sizeof(TOKEN_USER));
}

/*
 * Full access for the user and the system, for nobody else, nothing inherited. NULL when the
 * system cannot say who the user is.
 */
static SECURITY_DESCRIPTOR *ownerOnly(SECURITY_ATTRIBUTES *attributes)
{
    SID *user = userSid();
    wchar_t *text, sddl[400];
    PSECURITY_DESCRIPTOR sd = NULL;
    if (user == NULL || !ConvertSidToStringSidW(user, &text)) {
        return NULL;
    }
    _snwprintf(sddl, 400, L"D:P(A;OICI;FA;;;%ls)(A;OICI;FA;;;SY)", text);
    LocalFree(text);
    if (!ConvertStringSecurityDescriptorToSecurityDescriptorW(sddl, SDDL_REVISION_1, &sd, NULL)) {
        return NULL;
    }
    attributes->nLength = sizeof *attributes;
    attributes->lpSecurityDescriptor = sd;
    attributes->bInheritHandle = FALSE;
    return sd;
}

/* The user, or one that may do everything anyway: the system, the administrators, "owner rights".
 */
static bool isTrusted(PSID sid)
{
    SID *user = userSid();
    wchar_t *text;
    bool trusted;
    if (user != NULL && EqualSid(sid, user)) {
        return true;
    }
    if (!ConvertSidToStringSidW(sid, &text)) {
        return false;
    }
    trusted = wcscmp(text, L"S-1-5-18") == 0 || wcscmp(text, L"S-1-5-32-544") == 0 ||
              wcscmp(text, L"S-1-3-4") == 0 || wcscmp(text, L"S-1-3-0") == 0;
    LocalFree(text);
    return trusted;
}

/* Does the list let anybody else in? A missing list lets everybody in. */
static bool isPrivate(PACL acl)
{
    if (acl == NULL) {
        return false;
    }
    for (DWORD i = 0; i < acl->AceCount; i++) {
        ACCESS_ALLOWED_ACE *ace;
        if (!GetAce(acl, i, (void **)&ace)) {
            return false;
        }
        /* Wine shows a mode of 0700 as an entry for Everyone that grants no access to the data. */
        if (ace->Header.AceType == ACCESS_ALLOWED_ACE_TYPE &&
                (ace->Mask & (FILE_READ_DATA | FILE_WRITE_DATA | FILE_APPEND_DATA | GENERIC_READ |
                                     GENERIC_WRITE | GENERIC_ALL | DELETE | WRITE_DAC |
                                     WRITE_OWNER)) != 0 &&
                !isTrusted(&ace->SidStart)) {
            return false;
        }
    }
    return true;
}

/* 0: owned by the user (or the administrators) and closed to others; else a Windows error. */
static DWORD checkOurs(HANDLE file)
{
    PSID owner = NULL;
    PACL acl = NULL;
    PSECURITY_DESCRIPTOR sd = NULL;
    DWORD e = GetSecurityInfo(file, SE_FILE_OBJECT,
            OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION, &owner, NULL, &acl, NULL, &sd);
    if (e == ERROR_SUCCESS && (!isTrusted(owner) || !isPrivate(acl))) {
        e = ERROR_ACCESS_DENIED;
    }
    LocalFree(sd);
    return e;
}

/* A plain file of the disk: no directory, device, pipe, link. */
static bool isPlain(HANDLE file)
{
    BY_HANDLE_FILE_INFORMATION info;
    return GetFileType(file) == FILE_TYPE_DISK && GetFileInformationByHandle(file, &info) &&
           !(info.dwFileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT));
}

static EtwStatus checkPlainAndOurs(HANDLE file, const char *path, EtwError *err)
{
    if (!isPlain(file) || checkOurs(file) != 0) {
        return EtwFail(err, ETW_E_ACCESS, "FOREIGN", path,
                "\"%s\" is not a plain file of this user alone: somebody else put it there; remove "
                "it",
                path);
    }
    return ETW_OK;
}

/* ---- Runtime directory ----------------------------------------------------------------------- */

/*
 * What was renamed away because it was mapped when it was removed can go once nobody maps it. The
 * leftovers of one file, or, with path "DIR\\", of all in a directory.
 */
static void sweepGone(const char *path)
{
    wchar_t *wide = systemPath(path), *pattern, *name;
    WIN32_FIND_DATAW found;
    HANDLE find;
    size_t n = wcslen(wide) + MAX_PATH + 32;
    const wchar_t *last = wcsrchr(wide, L'\\');
    int dirLength = last != NULL ? (int)(last - wide) + 1 : 0;
    pattern = EtwAlloc(n * sizeof *pattern);
    name = EtwAlloc(n * sizeof *name);
    _snwprintf(pattern, n, L"%ls*" GONE_MARK L"*", wide);
    find = FindFirstFileW(pattern, &found);
    if (find != INVALID_HANDLE_VALUE) {
        do {
            _snwprintf(name, n, L"%.*ls%ls", dirLength, wide, found.cFileName);
            DeleteFileW(name);
        } while (FindNextFileW(find, &found));
        FindClose(find);
    }
    EtwFree(name);
    EtwFree(pattern);
    EtwFree(wide);
}

static EtwStatus checkDir(const char *path, EtwError *err)
{
    SECURITY_ATTRIBUTES attributes;
    SECURITY_DESCRIPTOR *sd = ownerOnly(&attributes);
    wchar_t *wide = systemPath(path);
    BOOL made = CreateDirectoryW(wide, sd != NULL ? &attributes : NULL);
    DWORD e = made ? 0 : GetLastError();
    HANDLE dir;
    EtwStatus status = ETW_OK;
    LocalFree(sd);
    EtwFree(wide);
    if (!made && e != ERROR_ALREADY_EXISTS) {
        return EtwFailOs(err, ETW_E_IO, (int)e, "RUNTIME", path,
                "cannot make the runtime directory \"%s\" (set ETW_RUNTIME_DIR to another place)",
                path);
    }
    dir = openFile(path, READ_CONTROL | FILE_READ_ATTRIBUTES, OPEN_EXISTING,
            FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (dir == INVALID_HANDLE_VALUE) {
        return EtwFailOs(
                err, ETW_E_IO, (int)GetLastError(), "RUNTIME", path, "cannot look at \"%s\"", path);
    }
    BY_HANDLE_FILE_INFORMATION info;
    if (!GetFileInformationByHandle(dir, &info) ||
            !(info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) ||
            (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) || checkOurs(dir) != 0) {
        status = EtwFail(err, ETW_E_ACCESS, "RUNTIME", path,
                "\"%s\" is not a directory of this user alone: remove it, or set ETW_RUNTIME_DIR",
                path);
    }
    CloseHandle(dir);
    return status;
}

/* An environment variable as UTF-8, or NULL when unset or empty. Caller frees. */
static char *environment(const wchar_t *name)
{
    DWORD n = GetEnvironmentVariableW(name, NULL, 0);
    wchar_t *wide;
    char *utf8 = NULL;
    if (n == 0) {
        return NULL;
    }
    wide = EtwAlloc(((size_t)n + 1) * sizeof *wide);
    if (GetEnvironmentVariableW(name, wide, n + 1) > 0) {
        utf8 = OsWinToUtf8(wide);
    }
    EtwFree(wide);
    return utf8;
}

EtwStatus OsRuntimeDir(char *path, size_t size, EtwError *err)
{
    static volatile LONG swept;
    char *own = environment(L"ETW_RUNTIME_DIR");
    char *local = environment(L"LOCALAPPDATA");
    wchar_t folder[MAX_PATH];
    EtwStatus status;
    if (own != NULL) {
        snprintf(path, size, "%s", own);
    } else if (local != NULL) {
        snprintf(path, size, "%s\\etw", local);
    } else if (SHGetFolderPathW(NULL, CSIDL_LOCAL_APPDATA, NULL, 0, folder) == S_OK) {
        char *utf8 = OsWinToUtf8(folder);
        snprintf(path, size, "%s\\etw", utf8);
        EtwFree(utf8);
    } else {
        status = EtwFail(err, ETW_E_IO, "RUNTIME", "",
                "no LOCALAPPDATA to keep the sessions in: set ETW_RUNTIME_DIR");
        EtwFree(own);
        EtwFree(local);
        return status;
    }
    EtwFree(own);
    EtwFree(local);
    status = checkDir(path, err);
    if (status == ETW_OK && InterlockedExchange(&swept, 1) == 0) {
        char all[1100];
        snprintf(all, sizeof all, "%s\\", path);
        sweepGone(all);
    }
    return status;
}

/* ---- Mappings -------------------------------------------------------------------------------- */

/* Sparse files are NTFS's; elsewhere the file is simply as large as it says. */
static bool setSize(HANDLE file, size_t size)
{
    FILE_END_OF_FILE_INFO end;
    DWORD got;
    DeviceIoControl(file, FSCTL_SET_SPARSE, NULL, 0, NULL, 0, &got, NULL);
    end.EndOfFile.QuadPart = (LONGLONG)size;
    return SetFileInformationByHandle(file, FileEndOfFileInfo, &end, sizeof end);
}

/* The view keeps file and mapping alive: both handles are closed by the caller and here. */
static EtwStatus mapView(OsMap *map, HANDLE file, bool writable, size_t size)
{
    HANDLE mapping =
            CreateFileMappingW(file, NULL, writable ? PAGE_READWRITE : PAGE_READONLY, 0, 0, NULL);
    void *base = NULL;
    DWORD e;
    if (mapping != NULL) {
        base = MapViewOfFile(
                mapping, writable ? FILE_MAP_READ | FILE_MAP_WRITE : FILE_MAP_READ, 0, 0, size);
    }
    e = GetLastError();
    if (mapping != NULL) {
        CloseHandle(mapping);
    }
    SetLastError(e);
    if (base == NULL) {
        return ETW_E_MEMORY;
    }
    map->base = base;
    map->size = size;
    map->handle = NULL;
    return ETW_OK;
}

static const OsMap noMap;

EtwStatus OsMapShared(OsMap *map, const char *path, bool create, size_t size, EtwError *err)
{
    SECURITY_ATTRIBUTES attributes;
    SECURITY_DESCRIPTOR *sd = create ? ownerOnly(&attributes) : NULL;
    HANDLE file = openFile(path, GENERIC_READ | GENERIC_WRITE, create ? CREATE_NEW : OPEN_EXISTING,
            (create ? FILE_ATTRIBUTE_TEMPORARY : 0) | FILE_FLAG_OPEN_REPARSE_POINT,
            sd != NULL ? &attributes : NULL);
    DWORD e = GetLastError();
    LARGE_INTEGER have;
    EtwStatus status;
    *map = noMap;
    LocalFree(sd);
    if (file == INVALID_HANDLE_VALUE) {
        return EtwFailOs(err, statusOf(e), (int)e, "MAP", path, "cannot %s \"%s\"",
                create ? "make" : "open", path);
    }
    status = checkPlainAndOurs(file, path, err);
    if (status == ETW_OK && create && !setSize(file, size)) {
        status = EtwFailOs(err, ETW_E_IO, (int)GetLastError(), "MAP", path,
                "cannot size \"%s\" to %zu bytes", path, size);
    }
    if (status == ETW_OK && !create) {
        size = GetFileSizeEx(file, &have) ? (size_t)have.QuadPart : 0;
        if (size == 0) {
            status = EtwFail(err, ETW_E_FORMAT, "EMPTY", path, "\"%s\" is empty", path);
        }
    }
    if (status == ETW_OK && mapView(map, file, true, size) != ETW_OK) {
        status = EtwFailOs(
                err, ETW_E_MEMORY, (int)GetLastError(), "MAP", path, "cannot map \"%s\"", path);
    }
    CloseHandle(file);
    if (status != ETW_OK && create) {
        OsFileRemove(path);
    }
    return status;
}

EtwStatus OsMapFile(OsMap *map, const char *path, EtwError *err)
{
    HANDLE file = openFile(path, GENERIC_READ, OPEN_EXISTING,
            FILE_FLAG_BACKUP_SEMANTICS /* open directories */, NULL);
    LARGE_INTEGER size;
    EtwStatus status = ETW_OK;
    *map = noMap;
    if (file == INVALID_HANDLE_VALUE) {
        return EtwFailOs(
                err, ETW_E_IO, (int)GetLastError(), "OPEN", path, "cannot open \"%s\"", path);
    }
    BY_HANDLE_FILE_INFORMATION info;
    if (GetFileType(file) != FILE_TYPE_DISK || !GetFileInformationByHandle(file, &info) ||
            (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) || !GetFileSizeEx(file, &size)) {
        status = EtwFailOs(
                err, ETW_E_IO, ERROR_DIRECTORY, "OPEN", path, "\"%s\" is not a plain file", path);
    } else if (size.QuadPart > 0 && mapView(map, file, false, (size_t)size.QuadPart) != ETW_OK) {
        status = EtwFailOs(
                err, ETW_E_MEMORY, (int)GetLastError(), "MAP", path, "cannot map \"%s\"", path);
    }
    CloseHandle(file);
    return status;
}

void OsMapRead(const OsMap *map, uint64_t at, void *to, size_t size)
{
    memcpy(to, map->base + at, size);
}

/* Unlocking what is not locked takes it out of the working set: documented, its failure too. */
void OsMapEvict(OsMap *map)
{
    if (map->base != NULL) {
        VirtualUnlock(map->base, map->size);
    }
}

void OsUnmap(OsMap *map)
{
    if (map->base != NULL) {
        UnmapViewOfFile(map->base);
    }
    if (map->handle != NULL) { /* a temporary file, deleted by this */
        CloseHandle(map->handle);
    }
    *map = noMap;
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct OsFile {
    HANDLE handle;
};

/*
 * A file that is made anew is another file: whoever reads the old one goes on reading it (Windows
 * would refuse to truncate it), and the new one is for its owner alone whatever the old one was.
 */
static void removeExisting(const char *path)
{
    if (OsFileExists(path)) {
        sweepGone(path);
        OsFileRemove(path); /* refuses directories; what it cannot remove, opening tells */
    }
}

EtwStatus OsFileCreate(OsFile **filePtr, const char *path, bool keepContent, EtwError *err)
{
    SECURITY_ATTRIBUTES attributes;
    SECURITY_DESCRIPTOR *sd = ownerOnly(&attributes);
    HANDLE file;
    if (!keepContent) {
        removeExisting(path);
    }
    file = openFile(path, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL,
            sd != NULL ? &attributes : NULL);
    int e = (int)GetLastError();
    LocalFree(sd);
    if (file == INVALID_HANDLE_VALUE) {
        return EtwFailOs(err, ETW_E_IO, e, "OPEN", path, "cannot write \"%s\"", path);
    }
    if (!isPlain(file)) {
        CloseHandle(file);
        return EtwFail(err, ETW_E_IO, "OPEN", path, "cannot write \"%s\": not a plain file", path);
    }
    *filePtr = EtwAlloc(sizeof **filePtr);
    (*filePtr)->handle = file;
    /* Not CREATE_ALWAYS: it refuses hidden files and would take away what the file allows. */
    if (!keepContent && OsFileTruncate(*filePtr, 0, &e) != ETW_OK) {
        OsFileClose(*filePtr);
        *filePtr = NULL;
        return EtwFailOs(err, ETW_E_IO, e, "OPEN", path, "cannot empty \"%s\"", path);
    }
    return ETW_OK;
}

/* On a handle that was not opened overlapped the offset is taken and the call still waits. */
static OVERLAPPED atOffset(uint64_t offset)
{
    OVERLAPPED o = {0};
    o.Offset = (DWORD)offset;
    o.OffsetHigh = (DWORD)(offset >> 32);
    return o;
}

static DWORD piece(size_t size)
{
    return size > 1u << 30 ? 1u << 30 : (DWORD)size;
}

EtwStatus OsFileWriteAt(
        OsFile *file, uint64_t offset, const void *data, size_t size, int *osErrorPtr)
{
    const char *p = data;
    while (size > 0) {
        OVERLAPPED o = atOffset(offset);
        DWORD n = 0;
        if (!WriteFile(file->handle, p, piece(size), &n, &o) || n == 0) {
            DWORD e = GetLastError();
            *osErrorPtr = (int)(n == 0 && e == 0 ? ERROR_DISK_FULL : e);
            return ETW_E_IO;
        }
        p += n;
        offset += n;
        size -= n;
    }
    return ETW_OK;
}

EtwStatus OsFileReadAt(OsFile *file, uint64_t offset, void *data, size_t size, int *osErrorPtr)
{
    char *p = data;
    while (size > 0) {
        OVERLAPPED o = atOffset(offset);
        DWORD n = 0;
        BOOL good = ReadFile(file->handle, p, piece(size), &n, &o);
        DWORD e = good ? ERROR_HANDLE_EOF : GetLastError();
        if (!good || n == 0) {
            *osErrorPtr = (int)e;
            return e == ERROR_HANDLE_EOF ? ETW_END : ETW_E_IO;
        }
        p += n;
        offset += n;
        size -= n;
    }
    return ETW_OK;
}

uint64_t OsFileSize(OsFile *file)
{
    LARGE_INTEGER size;
    return GetFileSizeEx(file->handle, &size) ? (uint64_t)size.QuadPart : 0;
}

EtwStatus OsFileTruncate(OsFile *file, uint64_t size, int *osErrorPtr)
{
    FILE_END_OF_FILE_INFO end;
    end.EndOfFile.QuadPart = (LONGLONG)size;
    if (!SetFileInformationByHandle(file->handle, FileEndOfFileInfo, &end, sizeof end)) {
        *osErrorPtr = (int)GetLastError();
        return ETW_E_IO;
    }
    return ETW_OK;
}

void OsFileClose(OsFile *file)
{
    if (file != NULL) {
        CloseHandle(file->handle);
        EtwFree(file);
    }
}

EtwStatus OsFileTemp(OsFile **filePtr, EtwError *err)
{
    wchar_t dir[MAX_PATH + 1], path[MAX_PATH + 1];
    SECURITY_ATTRIBUTES attributes;
    HANDLE file = INVALID_HANDLE_VALUE;
    if (GetTempPathW(MAX_PATH + 1, dir) != 0 && GetTempFileNameW(dir, L"etw", 0, path) != 0) {
        SECURITY_DESCRIPTOR *sd = ownerOnly(&attributes);
        file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_DELETE,
                sd != NULL ? &attributes : NULL, CREATE_ALWAYS,
                FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
        DWORD e = GetLastError();
        LocalFree(sd);
        SetLastError(e);
    }
    if (file == INVALID_HANDLE_VALUE) {
        return EtwFailOs(err, ETW_E_IO, (int)GetLastError(), "OPEN", "",
                "cannot make a temporary file (set TMP to another place)");
    }
    *filePtr = EtwAlloc(sizeof **filePtr);
    (*filePtr)->handle = file;
    return ETW_OK;
}

/* The map keeps the handle: the file goes with it. */
EtwStatus OsFileTempMap(OsFile *file, OsMap *map, EtwError *err)
{
    size_t size = (size_t)OsFileSize(file);
    *map = noMap;
    if (size != 0 && mapView(map, file->handle, false, size) != ETW_OK) {
        int e = (int)GetLastError();
        OsFileClose(file);
        return EtwFailOs(err, ETW_E_MEMORY, e, "MAP", "", "cannot map a temporary file");
    }
    if (size == 0) {
        OsFileClose(file);
        return ETW_OK;
    }
    map->handle = file->handle;
    EtwFree(file);
    return ETW_OK;
}

/*
 * Windows does not delete a file that somebody maps, and keeps the name of one that somebody has
 * open until the last handle closes; either way the name must be free when this returns, as on
 * Linux. So the file is renamed first, which both allow, and what cannot go yet is swept later.
 */
bool OsFileRemove(const char *path)
{
    wchar_t *wide = systemPath(path);
    size_t n = wcslen(wide) + 32;
    wchar_t *gone = EtwAlloc(n * sizeof *gone);
    uint32_t random;
    bool removed;
    OsRandom(&random, sizeof random);
    _snwprintf(gone, n, L"%ls" GONE_MARK L"%08x", wide, random);
    if (GetFileAttributesW(wide) & FILE_ATTRIBUTE_DIRECTORY) {
        removed = false; /* or does not exist: all bits are set then */
    } else if (MoveFileExW(wide, gone, 0)) {
        DeleteFileW(gone);
        removed = true;
    } else {
        removed = DeleteFileW(wide);
    }
    EtwFree(gone);
    EtwFree(wide);
    return removed;
}

bool OsFileExists(const char *path)
{
    wchar_t *wide = systemPath(path);
    bool exists = GetFileAttributesW(wide) != INVALID_FILE_ATTRIBUTES;
    EtwFree(wide);
    return exists;
}

/* ---- Locks ----------------------------------------------------------------------------------- */

struct OsFileLock {
    HANDLE handle;
};

EtwStatus OsFileLockAcquire(OsFileLock **lockPtr, const char *path, EtwError *err)
{
    SECURITY_ATTRIBUTES attributes;
    SECURITY_DESCRIPTOR *sd = ownerOnly(&attributes);
    HANDLE file = openFile(path, GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS,
            FILE_ATTRIBUTE_NORMAL | FILE_FLAG_OPEN_REPARSE_POINT, sd != NULL ? &attributes : NULL);
    DWORD e = GetLastError();
    OVERLAPPED o = atOffset(0);
    EtwStatus status;
    LocalFree(sd);
    if (file == INVALID_HANDLE_VALUE) {
        return EtwFailOs(err, ETW_E_IO, (int)e, "LOCK", path, "cannot open the lock \"%s\"", path);
    }
    status = checkPlainAndOurs(file, path, err);
    if (status == ETW_OK && !LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &o)) {
        status = EtwFailOs(
                err, ETW_E_IO, (int)GetLastError(), "LOCK", path, "cannot lock \"%s\"", path);
    }
    if (status != ETW_OK) {
        CloseHandle(file);
        return status;
    }
    *lockPtr = EtwAlloc(sizeof **lockPtr);
    (*lockPtr)->handle = file;
    return ETW_OK;
}

void OsFileLockRelease(OsFileLock *lock)
{
    if (lock != NULL) {
        OVERLAPPED o = atOffset(0);
        /* Closing releases, too, but the system says that it may take its time over that. */
        UnlockFileEx(lock->handle, 0, 1, 0, &o);
        CloseHandle(lock->handle);
        EtwFree(lock);
    }
}
