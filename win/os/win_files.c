/*
 * win/os/win_files.c --
 *
 *	base/os.h for Windows: the runtime directory, shared mappings, positional files, file locks.
 *	Paths are UTF-8 in the interface and UTF-16 internally. Everything is created for this user
 *	only (a protected DACL). Files that another user owns or may open are refused. Files are
 *	opened so that other processes may rename and delete them meanwhile, as on Linux.
 */
#include "win/os/win_int.h"
#include "base/alloc.h"
#include <aclapi.h>
#include <sddl.h>
#include <shlobj.h>
#include <stdio.h>
#include <winioctl.h>

static const DWORD shareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

/*
 * A file that is removed while it is mapped is renamed to NAME.etw-gone-XXXXXXXX and deleted later.
 */
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

/* The absolute path with backslashes; NULL: not a path. Caller frees. */
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

/* A path for system functions, which require a prefix for paths longer than MAX_PATH. */
static wchar_t *systemPath(const char *path)
{
    wchar_t *full = fullPath(path), *wide;
    size_t n;
    if (full == NULL) {
        return OsWinFromUtf8(path); /* the system reports the best error */
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

bool OsFullPath(const char *path, char *full, size_t size)
{
    wchar_t *wide = fullPath(path);
    char *utf8 = wide != NULL ? OsWinToUtf8(wide) : NULL;
    bool fits = utf8 != NULL && strlen(utf8) < size;
    snprintf(full, size, "%s", fits ? utf8 : path);
    for (char *p = full; *p != '\0'; p++) {
        if (*p == '\\') {
            *p = '/'; /* Tcl's path separator */
        }
    }
    EtwFree(utf8);
    EtwFree(wide);
    return fits;
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

/* ---- Private files --------------------------------------------------------------------------- */

/* The SID of this process's user, determined once: {TOKEN_USER, its SID}. */
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
        /* If two threads do this at the same time, both store the same bytes. */
        memcpy(info.capacity + sizeof(TOKEN_USER), ((TOKEN_USER *)(void *)fresh)->User.Sid,
                GetLengthSid(((TOKEN_USER *)(void *)fresh)->User.Sid));
        InterlockedExchange(&done, 1);
    }
    return (SID *)(void *)(info.capacity + sizeof(TOKEN_USER));
}

/*
 * A descriptor that grants full access to the user and the system only, and inherits nothing. NULL:
 * the user is unknown.
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

/*
 * True for the user, and for accounts that have all rights anyway: the system, the administrators,
 * "owner rights".
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

/* True if the list grants no access to other users. A missing list grants access to all. */
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

/*
 * Returns 0 if the file is owned by the user (or the administrators) and other users have no
 * access, otherwise a Windows error.
 */
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

/* True for a regular file on a disk, not a directory, device, pipe or link. */
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
                "\"%s\" is not a regular file that only this user can access: another user or "
                "program has made it; remove it",
                path);
    }
    return ETW_OK;
}

/* ---- Runtime directory ----------------------------------------------------------------------- */

/*
 * Deletes renamed files (see GONE_MARK) that are no longer mapped: those of one file, or, with path
 * "DIR\\", all in a directory.
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
                "cannot make the runtime directory \"%s\": set ETW_RUNTIME_DIR to another "
                "directory",
                path);
    }
    dir = openFile(path, READ_CONTROL | FILE_READ_ATTRIBUTES, OPEN_EXISTING,
            FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (dir == INVALID_HANDLE_VALUE) {
        return EtwFailOs(err, ETW_E_IO, (int)GetLastError(), "RUNTIME", path,
                "cannot read the attributes of \"%s\"", path);
    }
    BY_HANDLE_FILE_INFORMATION info;
    if (!GetFileInformationByHandle(dir, &info) ||
            !(info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) ||
            (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) || checkOurs(dir) != 0) {
        status = EtwFail(err, ETW_E_ACCESS, "RUNTIME", path,
                "\"%s\" is not a directory that only this user can access: remove it, or set "
                "ETW_RUNTIME_DIR to another directory",
                path);
    }
    CloseHandle(dir);
    return status;
}

/* An environment variable as UTF-8; NULL: unset or empty. Caller frees. */
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
                "the environment has no LOCALAPPDATA, the folder of sessions: set ETW_RUNTIME_DIR");
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

/* Only NTFS has sparse files. On other file systems the file occupies its full size. */
static bool setSize(HANDLE file, size_t size)
{
    FILE_END_OF_FILE_INFO end;
    DWORD got;
    DeviceIoControl(file, FSCTL_SET_SPARSE, NULL, 0, NULL, 0, &got, NULL);
    end.EndOfFile.QuadPart = (LONGLONG)size;
    return SetFileInformationByHandle(file, FileEndOfFileInfo, &end, sizeof end);
}

/* The view keeps the file and the mapping, so both handles are closed. */
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
                "cannot set the size of \"%s\" to %zu bytes", path, size);
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

/* A file that is not sparse has its room on the disk. */
EtwStatus OsMapReserve(
        const OsMap *map, size_t offset, size_t size, const char *path, EtwError *err)
{
    (void)map;
    (void)offset;
    (void)size;
    (void)path;
    (void)err;
    return ETW_OK;
}

EtwStatus OsMapFile(OsMap *map, const char *path, EtwError *err)
{
    HANDLE file = openFile(path, GENERIC_READ, OPEN_EXISTING,
            FILE_FLAG_BACKUP_SEMANTICS /* required for directories */, NULL);
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
                err, ETW_E_IO, ERROR_DIRECTORY, "OPEN", path, "\"%s\" is not a regular file", path);
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

/*
 * Unlocking memory that is not locked removes it from the working set, as documented; the call then
 * fails.
 */
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
    if (map->handle != NULL) { /* a temporary file, which is deleted by this */
        CloseHandle(map->handle);
    }
    *map = noMap;
}

/* ---- Files ----------------------------------------------------------------------------------- */

struct OsFile {
    HANDLE handle;
};

/*
 * A new file is a different file: a process that reads the old file is not affected (Windows would
 * refuse to truncate it), and the new file is private regardless of the old one.
 */
static void removeExisting(const char *path)
{
    if (OsFileExists(path)) {
        sweepGone(path);
        OsFileRemove(path); /* refuses directories; if it fails, opening reports the error */
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
        return EtwFail(
                err, ETW_E_IO, "OPEN", path, "cannot write \"%s\": it is not a regular file", path);
    }
    *filePtr = EtwAlloc(sizeof **filePtr);
    (*filePtr)->handle = file;
    /* Not CREATE_ALWAYS, which fails for hidden files and would reset the permissions. */
    if (!keepContent && OsFileTruncate(*filePtr, 0, &e) != ETW_OK) {
        OsFileClose(*filePtr);
        *filePtr = NULL;
        return EtwFailOs(err, ETW_E_IO, e, "OPEN", path, "cannot truncate \"%s\"", path);
    }
    return ETW_OK;
}

/*
 * On a handle that was not opened as overlapped, the call uses the offset and is still synchronous.
 */
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
                "cannot make a temporary file: set TMP to another directory");
    }
    *filePtr = EtwAlloc(sizeof **filePtr);
    (*filePtr)->handle = file;
    return ETW_OK;
}

/* The map keeps the handle: closing it deletes the file. */
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
 * Windows does not delete a mapped file, and an open file keeps its name until the last handle is
 * closed. After this call the name must be free, as on Linux. So the file is renamed first, which
 * Windows permits in both cases. Files that cannot be deleted yet are deleted later (sweepGone).
 */
uint64_t OsFreeSpace(const char *path)
{
    (void)path; /* the size of a mapping is reserved when its file is made */
    return UINT64_MAX;
}

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
        removed = false; /* also if it does not exist: all bits are set then */
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

EtwStatus OsFileLockTry(OsFileLock **lockPtr, const char *path, EtwError *err)
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
    if (status == ETW_OK &&
            !LockFileEx(file, LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &o)) {
        e = GetLastError();
        status = e == ERROR_LOCK_VIOLATION || e == ERROR_IO_PENDING
                         ? ETW_AGAIN
                         : EtwFailOs(
                                   err, ETW_E_IO, (int)e, "LOCK", path, "cannot lock \"%s\"", path);
    }
    if (status != ETW_OK) {
        CloseHandle(file);
        return status;
    }
    *lockPtr = EtwAlloc(sizeof **lockPtr);
    (*lockPtr)->handle = file;
    return ETW_OK;
}

/* Windows does not report which process it is. */
bool OsFileLockHolder(const char *path, OsLockHolder *holder)
{
    (void)path;
    memset(holder, 0, sizeof *holder);
    return false;
}

void OsFileLockRelease(OsFileLock *lock)
{
    if (lock != NULL) {
        OVERLAPPED o = atOffset(0);
        /* Closing the handle also unlocks, but possibly later. */
        UnlockFileEx(lock->handle, 0, 1, 0, &o);
        CloseHandle(lock->handle);
        EtwFree(lock);
    }
}
