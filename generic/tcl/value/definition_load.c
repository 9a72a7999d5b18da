/*
 * tcl/value/definition_load.c --
 *
 *	Loads definitions: named by the user (`etw schema load`, -schema), and the user's own folders, which
 *	are searched in any case.
 */
#include "tcl/value/definition_load.h"
#include "schema/store/definition_files.h"

/* ---- Files and folders ------------------------------------------------------------------------ */

static void putLoaded(Tcl_Obj *result, Tcl_Obj *path, int providers, int events)
{
    Tcl_Obj *one = Tcl_NewDictObj();

    EtwPut(one, "providers", Tcl_NewIntObj(providers));
    EtwPut(one, "events", Tcl_NewIntObj(events));
    Tcl_DictObjPut(NULL, result, path, one);
}

static int loadFile(Tcl_Interp *interp, Tcl_Obj *path, Tcl_Obj *result)
{
    Tcl_DString ds;
    EtwError err;
    int providers = 0, events = 0, code = TCL_OK;

    Tcl_DStringInit(&ds);
    const char *native = EtwPathOf(interp, path, &ds);
    if (native == NULL) {
        code = TCL_ERROR;
    } else if (EtwSchemaLoad(native, &providers, &events, &err) != ETW_OK) {
        code = EtwTclError(interp, &err);
    } else {
        putLoaded(result, path, providers, events);
    }
    Tcl_DStringFree(&ds);
    return code;
}

static bool hasSchemaSuffix(const char *path)
{
    static const char *const suffixes[] = {".man", ".mof", ".tmf", NULL};
    size_t length = strlen(path);

    for (int i = 0; suffixes[i] != NULL; i++) {
        if (length > 4 && Tcl_StringCaseMatch(path + length - 4, suffixes[i], TCL_MATCH_NOCASE)) {
            return true;
        }
    }
    return false;
}

/*
 * Load all files in a folder and its subfolders with a known suffix. An error in one file does not
 * prevent loading the others: it is stored in that file's dict.
 */
static int loadFolder(Tcl_Interp *interp, Tcl_Obj *folder, Tcl_Obj *result, int depth)
{
    Tcl_GlobTypeData folders = {.type = TCL_GLOB_TYPE_DIR};
    Tcl_Obj *found = Tcl_NewListObj(0, NULL), **paths;
    Tcl_Size count;

    Tcl_IncrRefCount(found);
    Tcl_FSMatchInDirectory(interp, found, folder, "*", NULL);
    Tcl_ListObjGetElements(NULL, found, &count, &paths);
    for (Tcl_Size i = 0; i < count; i++) {
        if (hasSchemaSuffix(Tcl_GetString(paths[i])) &&
                loadFile(interp, paths[i], result) != TCL_OK) {
            Tcl_Obj *one = Tcl_NewDictObj();
            EtwPut(one, "error", Tcl_GetObjResult(interp));
            Tcl_DictObjPut(NULL, result, paths[i], one);
            Tcl_ResetResult(interp);
        }
    }
    Tcl_SetListObj(found, 0, NULL);
    Tcl_FSMatchInDirectory(interp, found, folder, "*", &folders);
    Tcl_ListObjGetElements(NULL, found, &count, &paths);
    for (Tcl_Size i = 0; i < count && depth > 0; i++) {
        loadFolder(interp, paths[i], result, depth - 1);
    }
    Tcl_DecrRefCount(found);
    return TCL_OK;
}

int EtwLoadDefinitions(Tcl_Interp *interp, Tcl_Obj *path, Tcl_Obj *result)
{
    enum { DEPTH = 16 };
    Tcl_StatBuf *stat = Tcl_AllocStatBuf();
    Tcl_Size before, after;
    bool folder = Tcl_FSStat(path, stat) == 0 && (Tcl_GetModeFromStat(stat) & 0170000) == 0040000;

    Tcl_Free((void *)stat);
    if (!folder) {
        return loadFile(interp, path, result);
    }
    Tcl_DictObjSize(NULL, result, &before);
    loadFolder(interp, path, result, DEPTH);
    Tcl_DictObjSize(NULL, result, &after);
    return after > before ? TCL_OK
                          : EtwTclFail(interp, ETW_E_LOOKUP, "SCHEMA", Tcl_GetString(path),
                                    "no file in \"%.300s\" describes events: expected .man, .mof "
                                    "or .tmf files",
                                    Tcl_GetString(path));
}

/* ---- Once ------------------------------------------------------------------------------------- */

TCL_DECLARE_MUTEX(onceMutex)
static Tcl_HashTable loaded; /* path -> time of its last change */
static bool loadedReady, ownLoaded;
static Tcl_DString ownErrors; /* a list; zeroed is the same as initialized for reading */

static Tcl_WideInt changedAt(Tcl_Obj *path)
{
    Tcl_StatBuf *stat = Tcl_AllocStatBuf();
    Tcl_WideInt time =
            Tcl_FSStat(path, stat) == 0 ? (Tcl_WideInt)Tcl_GetModificationTimeFromStat(stat) : -1;

    Tcl_Free((void *)stat);
    return time;
}

/* True at the first call for a path with this time. */
static bool isFirst(const char *path, Tcl_WideInt time)
{
    int isNew;

    Tcl_MutexLock(&onceMutex);
    if (!loadedReady) {
        Tcl_InitHashTable(&loaded, TCL_STRING_KEYS);
        loadedReady = true;
    }
    Tcl_HashEntry *entry = Tcl_CreateHashEntry(&loaded, path, &isNew);
    bool first = isNew || (intptr_t)Tcl_GetHashValue(entry) != (intptr_t)time;
    Tcl_SetHashValue(entry, (void *)(intptr_t)time);
    Tcl_MutexUnlock(&onceMutex);
    return first;
}

static void forget(const char *path)
{
    Tcl_MutexLock(&onceMutex);
    Tcl_DeleteHashEntry(Tcl_FindHashEntry(&loaded, path));
    Tcl_MutexUnlock(&onceMutex);
}

int EtwLoadDefinitionsOnce(Tcl_Interp *interp, Tcl_Obj *path)
{
    Tcl_Obj *full = Tcl_FSGetNormalizedPath(interp, path);
    Tcl_Obj *key = full != NULL ? full : path, *result = Tcl_NewDictObj();
    int code = TCL_OK;

    Tcl_IncrRefCount(result);
    if (isFirst(Tcl_GetString(key), changedAt(key))) {
        code = EtwLoadDefinitions(interp, path, result);
        if (code != TCL_OK) {
            forget(Tcl_GetString(key));
        }
    }
    Tcl_DecrRefCount(result);
    return code;
}

/* ---- The user's own folders ------------------------------------------------------------------- */

static const char *environment(Tcl_Interp *interp, const char *name)
{
    const char *value = Tcl_GetVar2(interp, "env", name, TCL_GLOBAL_ONLY);
    return value != NULL && *value != '\0' ? value : NULL;
}

/* The list of folders in ETW_SCHEMA_PATH, or the one folder of the user. A new object. */
static Tcl_Obj *ownFolders(Tcl_Interp *interp)
{
#ifdef _WIN32
    const char separator = ';';
    const char *home = environment(interp, "LOCALAPPDATA"), *below = "";
#else
    const char separator = ':';
    const char *home = environment(interp, "HOME"), *below = "/.local/share";
#endif
    const char *path = environment(interp, "ETW_SCHEMA_PATH");
    const char *data = environment(interp, "XDG_DATA_HOME");
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);

    while (path != NULL && *path != '\0') {
        const char *end = strchr(path, separator);
        size_t size = end != NULL ? (size_t)(end - path) : strlen(path);
        if (size > 0) {
            Tcl_ListObjAppendElement(NULL, list, Tcl_NewStringObj(path, (Tcl_Size)size));
        }
        path += size + (end != NULL);
    }
    if (environment(interp, "ETW_SCHEMA_PATH") == NULL && (data != NULL || home != NULL)) {
        Tcl_ListObjAppendElement(NULL, list,
                data != NULL ? Tcl_ObjPrintf("%s/etw/schemas", data)
                             : Tcl_ObjPrintf("%s%s/etw/schemas", home, below));
    }
    return list;
}

static void keepError(const char *message)
{
    Tcl_MutexLock(&onceMutex);
    Tcl_DStringAppendElement(&ownErrors, message);
    Tcl_MutexUnlock(&onceMutex);
}

/* The errors of single files in the dict of EtwLoadDefinitions. */
static void keepFileErrors(Tcl_Obj *result)
{
    Tcl_DictSearch search;
    Tcl_Obj *key, *value, *error, *name = Tcl_NewStringObj("error", -1);
    int done;

    Tcl_IncrRefCount(name);
    Tcl_DictObjFirst(NULL, result, &search, &key, &value, &done);
    for (; !done; Tcl_DictObjNext(&search, &key, &value, &done)) {
        if (Tcl_DictObjGet(NULL, value, name, &error) == TCL_OK && error != NULL) {
            keepError(Tcl_GetString(error));
        }
    }
    Tcl_DecrRefCount(name);
}

Tcl_Obj *EtwOwnDefinitionErrors(void)
{
    Tcl_MutexLock(&onceMutex);
    Tcl_Obj *list =
            Tcl_NewStringObj(Tcl_DStringValue(&ownErrors) ? Tcl_DStringValue(&ownErrors) : "", -1);
    Tcl_MutexUnlock(&onceMutex);
    return list;
}

void EtwLoadOwnDefinitions(Tcl_Interp *interp)
{
    Tcl_Obj *folders, *result, **paths;
    Tcl_Size count;

    Tcl_MutexLock(&onceMutex);
    bool first = !ownLoaded;
    if (first) {
        Tcl_DStringInit(&ownErrors);
        ownLoaded = true;
    }
    Tcl_MutexUnlock(&onceMutex);
    if (!first) {
        return;
    }
    folders = ownFolders(interp);
    result = Tcl_NewDictObj();
    Tcl_IncrRefCount(folders);
    Tcl_IncrRefCount(result);
    Tcl_ListObjGetElements(NULL, folders, &count, &paths);
    for (Tcl_Size i = 0; i < count; i++) {
        Tcl_IncrRefCount(paths[i]);
        if (Tcl_FSAccess(paths[i], 0) == 0 &&
                EtwLoadDefinitions(interp, paths[i], result) != TCL_OK) {
            keepError(Tcl_GetString(Tcl_GetObjResult(interp)));
            Tcl_ResetResult(interp);
        }
        Tcl_DecrRefCount(paths[i]);
    }
    keepFileErrors(result);
    Tcl_DecrRefCount(result);
    Tcl_DecrRefCount(folders);
}
