/*
 * win/system/system_autologger.c --
 *
 *	Autologgers: sessions that Windows starts when it boots. Each is a key of the registry with the members
 *	of EVENT_TRACE_PROPERTIES as values and a key for each provider, documented as "Configuring and
 *	Starting an AutoLogger Session". Here they are the sessions of a third engine, so that all commands
 *	about sessions can change them. Does not depend on tracing: also works in Wine.
 */
#include "win/system/system_int.h"
#include <stdio.h>

#define AUTOLOGGERS L"SYSTEM\\CurrentControlSet\\Control\\WMI\\Autologger"
enum { GUID_CHARACTERS = 39 }; /* with braces and the NUL */

/* ---- Keys ------------------------------------------------------------------------------------- */

static EtwStatus fail(EtwError *err, LSTATUS code, const char *doing, const char *name)
{
    return code == ERROR_FILE_NOT_FOUND ? EtwFail(err, ETW_E_LOOKUP, "SESSION", name,
                                                  "there is no autologger \"%s\": \"etw sessions "
                                                  "autologger:*\" lists them",
                                                  name)
           : code == ERROR_ACCESS_DENIED
                   ? EtwFailOs(err, ETW_E_IO, (int)code, "SYSTEM", name,
                             "cannot %s autologger \"%s\" (run this as administrator)", doing, name)
                   : EtwFailOs(err, ETW_E_IO, (int)code, "SYSTEM", name,
                             "cannot %s autologger \"%s\"", doing, name);
}

/* The path below AUTOLOGGERS. A backslash would be another key. */
static LSTATUS pathOf(wchar_t path[SYSTEM_MAX_NAME + 64], const char *name)
{
    wchar_t wide[SYSTEM_MAX_NAME];
    if (name[0] == '\0' || strchr(name, '\\') != NULL || !SystemName(wide, name)) {
        return ERROR_INVALID_NAME;
    }
    wcscpy(path, AUTOLOGGERS L"\\");
    wcscat(path, wide);
    return ERROR_SUCCESS;
}

static LSTATUS openKey(const char *name, REGSAM access, HKEY *keyPtr)
{
    wchar_t path[SYSTEM_MAX_NAME + 64];
    LSTATUS code = pathOf(path, name);
    return code != ERROR_SUCCESS
                   ? code
                   : RegOpenKeyExW(HKEY_LOCAL_MACHINE, path, 0, access | KEY_WOW64_64KEY, keyPtr);
}

/* Delete the key with its keys. */
static LSTATUS deleteTree(HKEY parent, const wchar_t *name)
{
    HKEY key;
    wchar_t child[256];
    DWORD size = 256;
    LSTATUS code =
            RegOpenKeyExW(parent, name, 0, KEY_READ | KEY_WRITE | DELETE | KEY_WOW64_64KEY, &key);
    if (code != ERROR_SUCCESS) {
        return code;
    }
    while (code == ERROR_SUCCESS &&
            RegEnumKeyExW(key, 0, child, &size, NULL, NULL, NULL, NULL) == ERROR_SUCCESS) {
        code = deleteTree(key, child);
        size = 256;
    }
    RegCloseKey(key);
    return code == ERROR_SUCCESS ? RegDeleteKeyExW(parent, name, KEY_WOW64_64KEY, 0) : code;
}

/* Several values: the first error is kept in *codePtr. */
static void putNumber(HKEY key, const wchar_t *name, DWORD value, LSTATUS *codePtr)
{
    if (*codePtr == ERROR_SUCCESS) {
        *codePtr = RegSetValueExW(key, name, 0, REG_DWORD, (const BYTE *)&value, sizeof value);
    }
}

static void putMask(HKEY key, const wchar_t *name, uint64_t value, LSTATUS *codePtr)
{
    if (*codePtr == ERROR_SUCCESS) {
        *codePtr = RegSetValueExW(key, name, 0, REG_QWORD, (const BYTE *)&value, sizeof value);
    }
}

static void putText(HKEY key, const wchar_t *name, const wchar_t *text, LSTATUS *codePtr)
{
    if (*codePtr == ERROR_SUCCESS) {
        *codePtr = RegSetValueExW(key, name, 0, REG_SZ, (const BYTE *)text,
                (DWORD)((wcslen(text) + 1) * sizeof *text));
    }
}

/* The kernel opens the file: it takes backslashes only. */
static void putFile(HKEY key, const wchar_t *path, LSTATUS *codePtr)
{
    wchar_t native[SYSTEM_MAX_NAME];
    wcscpy(native, path);
    for (wchar_t *c = native; *c != 0; c++) {
        *c = *c == L'/' ? L'\\' : *c;
    }
    putText(key, L"FileName", native, codePtr);
}

static DWORD numberOf(HKEY key, const wchar_t *name)
{
    DWORD value = 0, size = sizeof value, type;
    LSTATUS code = RegQueryValueExW(key, name, NULL, &type, (BYTE *)&value, &size);
    return code == ERROR_SUCCESS && type == REG_DWORD ? value : 0;
}

/* Other tools write masks as numbers of 32 bits, too. */
static uint64_t maskOf(HKEY key, const wchar_t *name)
{
    uint64_t value = 0;
    DWORD size = sizeof value;
    return RegQueryValueExW(key, name, NULL, NULL, (BYTE *)&value, &size) == ERROR_SUCCESS ? value
                                                                                           : 0;
}

static void textOf(HKEY key, const wchar_t *name, wchar_t *text, DWORD characters)
{
    DWORD size = (characters - 1) * (DWORD)sizeof *text;
    text[0] = 0;
    if (RegQueryValueExW(key, name, NULL, NULL, (BYTE *)text, &size) == ERROR_SUCCESS) {
        text[size / sizeof *text] = 0;
    } else {
        text[0] = 0;
    }
}

static void guidText(const EtwGuid *guid, wchar_t text[GUID_CHARACTERS])
{
    char plain[ETW_GUID_TEXT];
    EtwGuidFormat(guid, plain);
    text[0] = L'{';
    for (int i = 0; i < 36; i++) {
        text[1 + i] = (wchar_t)(plain[i] >= 'a' ? plain[i] - 32 : plain[i]);
    }
    wcscpy(text + 37, L"}");
}

/* With or without braces. */
static bool guidOf(const wchar_t *text, EtwGuid *guid)
{
    char *utf8 = OsWinToUtf8(text);
    bool good = EtwGuidParse(utf8, guid);
    EtwFree(utf8);
    return good;
}

/* ---- The session's values ---------------------------------------------------------------------- */

static LSTATUS putProperties(HKEY key, const SystemProperties *s, bool boot)
{
    LSTATUS code = ERROR_SUCCESS;
    wchar_t text[GUID_CHARACTERS];
    EtwGuid guid = SystemGuid(&s->p.Wnode.Guid);
    guidText(&guid, text);
    putText(key, L"Guid", text, &code);
    putNumber(key, L"BufferSize", s->p.BufferSize, &code);
    putNumber(key, L"ClockType", s->p.Wnode.ClientContext, &code);
    putNumber(key, L"FlushTimer", s->p.FlushTimer, &code);
    putNumber(key, L"LogFileMode", s->p.LogFileMode, &code);
    putNumber(key, L"MaximumBuffers", s->p.MaximumBuffers, &code);
    if (s->p.MinimumBuffers != 0) {
        putNumber(key, L"MinimumBuffers", s->p.MinimumBuffers, &code);
    }
    if (s->p.MaximumFileSize != 0) {
        putNumber(key, L"MaxFileSize", s->p.MaximumFileSize, &code);
    }
    if (s->file[0] != 0) {
        putFile(key, s->file, &code);
    }
    putNumber(key, L"Start", boot, &code);
    return code;
}

static void readProperties(HKEY key, const char *name, SystemProperties *s)
{
    wchar_t text[64];
    EtwGuid guid;
    SystemPropertiesInit(s);
    SystemName(s->name, name);
    textOf(key, L"FileName", s->file, SYSTEM_MAX_NAME);
    textOf(key, L"Guid", text, 64);
    if (guidOf(text, &guid)) {
        memcpy(&s->p.Wnode.Guid, guid.bytes, sizeof s->p.Wnode.Guid);
    }
    s->p.BufferSize = numberOf(key, L"BufferSize");
    s->p.Wnode.ClientContext = numberOf(key, L"ClockType");
    s->p.FlushTimer = numberOf(key, L"FlushTimer");
    s->p.LogFileMode = numberOf(key, L"LogFileMode");
    s->p.MaximumBuffers = numberOf(key, L"MaximumBuffers");
    s->p.MinimumBuffers = numberOf(key, L"MinimumBuffers");
    s->p.MaximumFileSize = numberOf(key, L"MaxFileSize");
}

static void infoOf(HKEY key, const char *name, const char *state, EtwSessionInfo *info)
{
    SystemProperties s;
    readProperties(key, name, &s);
    SystemInfo(&s, state != NULL ? state : numberOf(key, L"Start") ? "boot" : "off", info);
    info->engine = "autologger";
    info->started = info->duration = 0; /* of a running session of this name */
    info->ownerPid = 0;
}

/* ---- Sessions ---------------------------------------------------------------------------------- */

static EtwStatus autologgerHas(const char *name)
{
    HKEY key;
    LSTATUS code = openKey(name, KEY_READ, &key);
    if (code == ERROR_SUCCESS) {
        RegCloseKey(key);
    }
    return code == ERROR_SUCCESS         ? ETW_OK
           : code == ERROR_ACCESS_DENIED ? ETW_E_ACCESS
                                         : ETW_E_LOOKUP;
}

static EtwStatus checkAutologger(const EtwSessionConfig *c, EtwError *err)
{
    const char *wrong = c->inProcess != NULL || c->privateOf != NULL
                                ? "it cannot be private (-inprocess, -private)"
                        : c->kernelLogger || c->kernelFlags != 0
                                ? "Windows does not give it kernel events (-kernellogger, "
                                  "-kernelflags)"
                        : autologgerHas(c->name) == ETW_OK
                                ? "it exists: \"etw update\" changes it, \"etw stop\" deletes it"
                                : NULL;
    return wrong == NULL ? ETW_OK
                         : EtwFail(err, ETW_E_ARG, "OPTIONS", c->name,
                                   "cannot create autologger \"%s\": %s", c->name, wrong);
}

static EtwStatus autologgerStart(const EtwSessionConfig *c, EtwError *err)
{
    SystemProperties s;
    wchar_t path[SYSTEM_MAX_NAME + 64];
    HKEY key;
    EtwStatus status = checkAutologger(c, err);
    if (status == ETW_OK) {
        status = SystemConfigure(c, &s, err);
    }
    if (status != ETW_OK) {
        return status;
    }
    if (c->guid == NULL) { /* an autologger requires one */
        EtwGuid random;
        EtwGuidRandom(&random);
        memcpy(&s.p.Wnode.Guid, random.bytes, sizeof s.p.Wnode.Guid);
    }
    LSTATUS code = pathOf(path, c->name);
    if (code == ERROR_SUCCESS) {
        code = RegCreateKeyExW(HKEY_LOCAL_MACHINE, path, 0, NULL, 0, KEY_WRITE | KEY_WOW64_64KEY,
                NULL, &key, NULL);
    }
    if (code == ERROR_SUCCESS) {
        code = putProperties(key, &s, c->boot >= 0);
        RegCloseKey(key);
        if (code != ERROR_SUCCESS) {
            deleteTree(HKEY_LOCAL_MACHINE, path); /* not a half of one */
        }
    }
    return code == ERROR_SUCCESS ? ETW_OK : fail(err, code, "create", c->name);
}

/* Deletes the autologger. */
static EtwStatus autologgerStop(const char *name, EtwSessionInfo *info, EtwError *err)
{
    wchar_t path[SYSTEM_MAX_NAME + 64];
    HKEY key;
    LSTATUS code = openKey(name, KEY_READ, &key);
    if (code != ERROR_SUCCESS) {
        return fail(err, code, "delete", name);
    }
    if (info != NULL) {
        infoOf(key, name, "deleted", info);
    }
    RegCloseKey(key);
    pathOf(path, name);
    code = deleteTree(HKEY_LOCAL_MACHINE, path);
    return code == ERROR_SUCCESS ? ETW_OK : fail(err, code, "delete", name);
}

static EtwStatus autologgerQuery(const char *name, EtwSessionInfo *info, EtwError *err)
{
    HKEY key;
    LSTATUS code = openKey(name, KEY_READ, &key);
    if (code != ERROR_SUCCESS) {
        return fail(err, code, "read", name);
    }
    infoOf(key, name, NULL, info);
    RegCloseKey(key);
    return ETW_OK;
}

static LSTATUS putChanges(HKEY key, const EtwSessionConfig *c)
{
    LSTATUS code = ERROR_SUCCESS;
    DWORD mode = numberOf(key, L"LogFileMode");
    wchar_t path[SYSTEM_MAX_NAME];
    if (c->file != NULL) {
        if (!SystemPath(path, c->file)) {
            return ERROR_BAD_LENGTH;
        }
        putFile(key, path, &code);
    }
    if (c->flushMs != 0) {
        bool ms = (mode & SYSTEM_MODE_USE_MS_FLUSH_TIMER) != 0;
        putNumber(key, L"FlushTimer", ms ? c->flushMs : (c->flushMs + 999) / 1000, &code);
    }
    if (c->maxBuffers != 0) {
        putNumber(key, L"MaximumBuffers", c->maxBuffers, &code);
    }
    if (c->minBuffers != 0) {
        putNumber(key, L"MinimumBuffers", c->minBuffers, &code);
    }
    if (c->maxMB != 0) {
        putNumber(key, L"MaxFileSize", c->maxMB, &code);
    }
    if (c->realtimeChange) {
        mode &= ~(DWORD)EVENT_TRACE_REAL_TIME_MODE;
        putNumber(
                key, L"LogFileMode", mode | (c->realtime ? EVENT_TRACE_REAL_TIME_MODE : 0u), &code);
    }
    if (c->boot != 0) {
        putNumber(key, L"Start", c->boot > 0, &code);
    }
    return code;
}

static EtwStatus autologgerUpdate(
        const char *name, const EtwSessionConfig *c, EtwSessionInfo *info, EtwError *err)
{
    HKEY key;
    if (c->kernelFlagsChange) {
        return EtwFail(err, ETW_E_ARG, "OPTIONS", name,
                "cannot change autologger \"%s\": Windows does not give it kernel events "
                "(-kernelflags)",
                name);
    }
    LSTATUS code = openKey(name, KEY_READ | KEY_WRITE, &key);
    if (code == ERROR_SUCCESS) {
        code = putChanges(key, c);
        RegCloseKey(key);
    }
    if (code != ERROR_SUCCESS) {
        return fail(err, code, "change", name);
    }
    return info != NULL ? autologgerQuery(name, info, err) : ETW_OK;
}

/* ---- Listing ----------------------------------------------------------------------------------- */

/* Call visit for each key below; false from it ends the walk. */
static void eachKey(HKEY parent, bool (*visit)(void *ctx, HKEY key, const wchar_t *name), void *ctx)
{
    wchar_t name[256];
    HKEY key;
    bool more = true;
    for (DWORD i = 0, size = 256;
            more && RegEnumKeyExW(parent, i, name, &size, NULL, NULL, NULL, NULL) == ERROR_SUCCESS;
            i++, size = 256) {
        if (RegOpenKeyExW(parent, name, 0, KEY_READ | KEY_WOW64_64KEY, &key) == ERROR_SUCCESS) {
            more = visit(ctx, key, name);
            RegCloseKey(key);
        }
    }
}

typedef struct Walk {
    EtwSessionVisit *session;
    EtwProviderVisit *provider;
    void *ctx;
    char *name; /* of the autologger */
} Walk;

static bool visitProvider(void *ctx, HKEY key, const wchar_t *name)
{
    Walk *w = ctx;
    EtwProviderInfo info = {.enables = 1};
    if (!guidOf(name, &info.guid) || numberOf(key, L"Enabled") == 0) {
        return true;
    }
    info.enabled[0].engine = "autologger";
    snprintf(info.enabled[0].session, sizeof info.enabled[0].session, "%s", w->name);
    info.enabled[0].level = (uint8_t)numberOf(key, L"EnableLevel");
    info.enabled[0].any = maskOf(key, L"MatchAnyKeyword");
    info.enabled[0].all = maskOf(key, L"MatchAllKeyword");
    return w->provider(w->ctx, &info);
}

static bool visitAutologger(void *ctx, HKEY key, const wchar_t *name)
{
    Walk *w = ctx;
    EtwSessionInfo info;
    bool more = true;
    w->name = OsWinToUtf8(name);
    if (w->session != NULL) {
        infoOf(key, w->name, NULL, &info);
        more = w->session(w->ctx, &info);
    } else {
        eachKey(key, visitProvider, w);
    }
    EtwFree(w->name);
    return more;
}

static void walk(Walk *w)
{
    HKEY all;
    if (RegOpenKeyExW(HKEY_LOCAL_MACHINE, AUTOLOGGERS, 0, KEY_READ | KEY_WOW64_64KEY, &all) ==
            ERROR_SUCCESS) {
        eachKey(all, visitAutologger, w);
        RegCloseKey(all);
    }
}

static void autologgerList(EtwSessionVisit *visit, void *ctx)
{
    walk(&(Walk){.session = visit, .ctx = ctx});
}

static void autologgerProviders(EtwProviderVisit *visit, void *ctx)
{
    walk(&(Walk){.provider = visit, .ctx = ctx});
}

/* ---- Providers --------------------------------------------------------------------------------- */

static EtwStatus autologgerEnable(const char *name, const EtwEnable *request, EtwError *err)
{
    wchar_t guid[GUID_CHARACTERS];
    HKEY key, provider;
    if ((request->pidCount > 0 && !request->pidsByDefault) || request->scoped ||
            request->idCount > 0 || request->executables != NULL || request->names.count > 0 ||
            request->stackIdCount > 0 || request->stackNames.count > 0 ||
            request->payloadCount > 0 || request->arguments != NULL || request->captureState) {
        return EtwFail(err, ETW_E_UNSUPPORTED, "FILTER", name,
                "autologger \"%s\" takes -level, -any, -all, -properties and -stacks 1 only: omit "
                "the "
                "other options",
                name);
    }
    LSTATUS code = openKey(name, KEY_WRITE, &key);
    if (code != ERROR_SUCCESS) {
        return fail(err, code, "change", name);
    }
    guidText(&request->provider, guid);
    code = RegCreateKeyExW(
            key, guid, 0, NULL, 0, KEY_WRITE | KEY_WOW64_64KEY, NULL, &provider, NULL);
    RegCloseKey(key);
    if (code == ERROR_SUCCESS) {
        putNumber(provider, L"Enabled", 1, &code);
        putNumber(provider, L"EnableLevel", request->level != 0 ? request->level : 0xFF, &code);
        putMask(provider, L"MatchAnyKeyword", request->any != 0 ? request->any : UINT64_MAX, &code);
        putMask(provider, L"MatchAllKeyword", request->all, &code);
        putNumber(provider, L"EnableProperty", request->properties, &code);
        RegCloseKey(provider);
    }
    return code == ERROR_SUCCESS ? ETW_OK : fail(err, code, "change", name);
}

static EtwStatus autologgerDisable(const char *name, const EtwGuid *provider, EtwError *err)
{
    wchar_t guid[GUID_CHARACTERS];
    HKEY key;
    LSTATUS code = openKey(name, KEY_READ | KEY_WRITE, &key);
    if (code != ERROR_SUCCESS) {
        return fail(err, code, "change", name);
    }
    guidText(provider, guid);
    code = deleteTree(key, guid);
    RegCloseKey(key);
    return code == ERROR_SUCCESS || code == ERROR_FILE_NOT_FOUND ? ETW_OK
                                                                 : fail(err, code, "change", name);
}

/* ---- What only a running session does ---------------------------------------------------------- */

static EtwStatus notRunning(const char *name, EtwError *err)
{
    return EtwFail(err, ETW_E_STATE, "AUTOLOGGER", name,
            "\"autologger:%s\" is what Windows starts when it boots; the running session is "
            "\"system:%s\"",
            name, name);
}

static EtwStatus autologgerFlush(const char *name, EtwSessionInfo *info, EtwError *err)
{
    (void)info;
    return notRunning(name, err);
}

static EtwStatus autologgerSnapshot(
        const char *name, const char *file, EtwSessionInfo *info, EtwError *err)
{
    (void)file, (void)info;
    return notRunning(name, err);
}

static EtwStatus autologgerMark(const char *name, const char *text, EtwError *err)
{
    (void)text;
    return notRunning(name, err);
}

static EtwStatus autologgerKernel(const char *name, const EtwKernelEnable *enable, EtwError *err)
{
    (void)enable;
    return EtwFail(err, ETW_E_UNSUPPORTED, "KERNEL", name,
            "autologger \"%s\": Windows does not give autologgers kernel events", name);
}

static EtwStatus autologgerNoKernel(const char *name, EtwError *err)
{
    return autologgerKernel(name, NULL, err);
}

static EtwStatus autologgerLive(const char *name, EtwLive **live, EtwError *err)
{
    (void)live;
    return notRunning(name, err);
}

static const EtwEngineOps ops = {.name = "autologger",
        .has = autologgerHas,
        .start = autologgerStart,
        .stop = autologgerStop,
        .flush = autologgerFlush,
        .query = autologgerQuery,
        .update = autologgerUpdate,
        .snapshot = autologgerSnapshot,
        .mark = autologgerMark,
        .list = autologgerList,
        .enable = autologgerEnable,
        .disable = autologgerDisable,
        .enableKernel = autologgerKernel,
        .disableKernel = autologgerNoKernel,
        .providers = autologgerProviders,
        .liveOpen = autologgerLive};

const EtwEngineOps *EtwAutologgerOps(EtwError *errPtr)
{
    (void)errPtr;
    return &ops;
}
