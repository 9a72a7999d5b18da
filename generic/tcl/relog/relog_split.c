/*
 * tcl/relog/relog_split.c --
 *
 *	The files of `etw relog -split`. Each is written under a temporary name and is open only while bytes are written,
 *	since there may be more files than a process can open. All of them are renamed together when they are complete.
 */
#include "etl/compress/pack.h"
#include "tcl/core/text_output.h"
#include "tcl/relog/relog_int.h"

enum { SIZE_MIN = 64 * 1024, NAME_MAX_BYTES = 100 };

typedef struct File {
    struct File *next;
    Tcl_Obj *path, *tempPath; /* tempPath: NULL: not created */
    EtlPacker *packer;        /* NULL: not packed */
} File;

struct EtwRelogFiles {
    Tcl_Interp *interp;
    Tcl_Obj *out;
    const EtwSource *source;
    EtwSchemaStore *store;
    EtwSplitKind kind;
    bool pack;
    EtwText packed; /* of the bytes that are written now */
    File *first, *last;
};

/* ---- Words ----------------------------------------------------------------------------------- */

static int splitError(Tcl_Interp *interp, Tcl_Obj *words)
{
    return EtwTclFail(interp, ETW_E_ARG, "SPLIT", Tcl_GetString(words),
            "bad value for \"-split\": must be \"process\", \"provider\", \"size BYTES\" (at least "
            "%d) or \"time SECONDS\", not \"%.100s\"",
            SIZE_MIN, Tcl_GetString(words));
}

int EtwRelogSplitParse(Tcl_Interp *interp, Tcl_Obj *list, EtwSplitKind *kindPtr, int64_t *amountPtr)
{
    static const char *const kinds[] = {"process", "provider", "size", "time", NULL};
    Tcl_Obj **words;
    Tcl_Size count;
    Tcl_WideInt bytes;
    double seconds;
    int kind;

    Tcl_ListObjGetElements(NULL, list, &count, &words);
    if (count < 1 || Tcl_GetIndexFromObj(NULL, words[0], kinds, "split", 0, &kind) != TCL_OK ||
            count != (kind >= ETW_SPLIT_SIZE ? 2 : 1)) {
        return splitError(interp, list);
    }
    *kindPtr = (EtwSplitKind)kind;
    *amountPtr = 0;
    if (kind == ETW_SPLIT_SIZE) {
        if (Tcl_GetWideIntFromObj(NULL, words[1], &bytes) != TCL_OK || bytes < SIZE_MIN) {
            return splitError(interp, list);
        }
        *amountPtr = bytes;
    } else if (kind == ETW_SPLIT_TIME) {
        if (Tcl_GetDoubleFromObj(NULL, words[1], &seconds) != TCL_OK ||
                !(seconds >= 1e-9 && seconds < 9e9)) {
            return splitError(interp, list);
        }
        *amountPtr = (int64_t)(seconds * 1e9 + 0.5);
    }
    return TCL_OK;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* A provider's name, or its GUID, without characters that file names must not contain. */
static Tcl_Obj *providerWord(const EtwRelogFiles *files, const EtwGuid *guid)
{
    char text[ETW_GUID_TEXT], word[NAME_MAX_BYTES + 1];
    const char *name = EtwProviderName(files->store, guid);
    size_t size = 0;

    if (name == NULL || name[0] == 0) {
        EtwGuidFormat(guid, text);
        name = text;
    }
    for (; name[size] != 0 && size < NAME_MAX_BYTES; size++) {
        char c = name[size];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     c == '-' || c == '.';
        word[size] = plain ? c : '_';
    }
    return Tcl_NewStringObj(word, (Tcl_Size)size);
}

static Tcl_Obj *wordOf(const EtwRelogFiles *files, const EtwPiece *piece)
{
    if (files->kind == ETW_SPLIT_PROVIDER) {
        return providerWord(files, &piece->provider);
    }
    if (files->kind != ETW_SPLIT_PROCESS) {
        return Tcl_ObjPrintf("%04d", piece->number);
    }
    return piece->pid == ETW_NO_ID ? Tcl_NewStringObj("none", -1) : EtwUint64Obj(piece->pid);
}

/* Size of the file name without its extension. A packed file has two: .etl.zst. */
static size_t stemOf(const char *path)
{
    size_t end = strlen(path);
    end -= end > 8 && strcmp(path + end - 8, ".etl.zst") == 0 ? 4 : 0;
    for (size_t at = end; at > 0 && path[at - 1] != '/' && path[at - 1] != '\\'; at--) {
        if (path[at - 1] == '.') {
            return at - 1;
        }
    }
    return end;
}

/* Names that differ only in case are the same on some systems. */
static bool isTaken(const EtwRelogFiles *files, Tcl_Obj *path)
{
    const char *text = Tcl_GetString(path);
    Tcl_Size size = Tcl_NumUtfChars(text, -1);
    for (const File *f = files->first; f != NULL; f = f->next) {
        const char *other = Tcl_GetString(f->path);
        if (Tcl_NumUtfChars(other, -1) == size && Tcl_UtfNcasecmp(other, text, (size_t)size) == 0) {
            return true;
        }
    }
    return false;
}

/* OUT-WORD.EXTENSION, with a number if two providers would have the same name. */
static Tcl_Obj *pathOf(const EtwRelogFiles *files, const EtwPiece *piece)
{
    const char *out = Tcl_GetString(files->out);
    size_t stem = stemOf(out);
    Tcl_Obj *word = wordOf(files, piece), *path = NULL;

    Tcl_IncrRefCount(word);
    for (int n = 1; path == NULL || (files->kind == ETW_SPLIT_PROVIDER && isTaken(files, path));
            n++) {
        if (path != NULL) {
            Tcl_DecrRefCount(path);
        }
        path = Tcl_NewStringObj(out, (Tcl_Size)stem);
        Tcl_AppendPrintfToObj(path, "-%s", Tcl_GetString(word));
        if (n > 1) {
            Tcl_AppendPrintfToObj(path, "-%d", n);
        }
        Tcl_AppendToObj(path, out + stem, -1);
        Tcl_IncrRefCount(path);
    }
    Tcl_DecrRefCount(word);
    return path;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Write the bytes with the given open mode. False: the error is in the interpreter's result. */
static bool writeBytes(
        EtwRelogFiles *files, const File *file, const char *mode, const EtwText *text)
{
    Tcl_Channel channel = Tcl_FSOpenFileChannel(files->interp, file->tempPath, mode, 0600);
    bool good = channel != NULL;

    if (good) {
        Tcl_SetChannelOption(NULL, channel, "-translation", "binary");
        good = text->size == 0 || Tcl_Write(channel, text->data, (Tcl_Size)text->size) >= 0;
        good = Tcl_Close(NULL, channel) == TCL_OK && good;
    }
    if (!good) {
        Tcl_SetObjResult(
                files->interp, Tcl_ObjPrintf("error writing \"%s\": %s", Tcl_GetString(file->path),
                                       Tcl_PosixError(files->interp)));
    }
    return good;
}

static bool checkCount(const EtwRelogFiles *files, const EtwPiece *piece)
{
    bool tempPath = files->kind == ETW_SPLIT_PROCESS || files->kind == ETW_SPLIT_PROVIDER;
    int most = tempPath ? ETW_SPLIT_MAX_PARALLEL : ETW_SPLIT_MAX;

    if (piece->number > most) {
        EtwTclFail(files->interp, ETW_E_LIMIT, "FILES", Tcl_GetString(files->out),
                "\"-split\" would write more than %d files, which is the maximum: select fewer "
                "events, or larger pieces (each file begins with the names and descriptions that "
                "its "
                "events need)",
                most);
    }
    return piece->number <= most;
}

static bool beginFile(void *ctx, EtwPiece *piece)
{
    EtwRelogFiles *files = ctx;
    EtwText none = {0};

    if (!checkCount(files, piece)) {
        return false;
    }
    File *file = EtwAlloc(sizeof *file);
    file->path = pathOf(files, piece);
    if (files->last != NULL) {
        files->last->next = file;
    } else {
        files->first = file;
    }
    files->last = file;
    piece->file = file;
    if (EtwOutputCheck(files->interp, file->path, files->source, "relog") != TCL_OK) {
        return false;
    }
    file->tempPath = EtwOutputTempName(file->path);
    file->packer = files->pack ? EtlPackerNew() : NULL;
    return writeBytes(files, file, "w", &none);
}

static bool writePiece(void *ctx, EtwPiece *piece)
{
    EtwRelogFiles *files = ctx;
    File *file = piece->file;
    if (piece->bytes.size == 0 || file->packer == NULL) {
        return piece->bytes.size == 0 || writeBytes(files, file, "a", &piece->bytes);
    }
    files->packed.size = 0;
    EtlPackerAdd(file->packer, piece->bytes.data, piece->bytes.size, &files->packed);
    return writeBytes(files, file, "a", &files->packed);
}

static bool endFile(void *ctx, EtwPiece *piece, const EtwText *header)
{
    EtwRelogFiles *files = ctx;
    File *file = piece->file;
    if (file->packer == NULL) {
        return writeBytes(files, file, "r+", header);
    }
    files->packed.size = 0;
    EtlPackerEnd(file->packer, &files->packed);
    if (!writeBytes(files, file, "a", &files->packed)) {
        return false;
    }
    files->packed.size = 0;
    EtlPackHeader(header->data, header->size, &files->packed);
    return writeBytes(files, file, "r+", &files->packed);
}

/* ---- All files ------------------------------------------------------------------------------- */

EtwRelogFiles *EtwRelogFilesNew(Tcl_Interp *interp, EtwSplitKind kind, Tcl_Obj *out, bool pack,
        const EtwSource *source, EtwSchemaStore *store)
{
    EtwRelogFiles *files = EtwAlloc(sizeof *files);
    files->interp = interp;
    files->out = out;
    files->source = source;
    files->store = store;
    files->kind = kind;
    files->pack = pack;
    return files;
}

uint64_t EtwRelogFilesPacked(const EtwRelogFiles *files)
{
    uint64_t bytes = 0;
    for (const File *file = files->first; file != NULL; file = file->next) {
        bytes += EtlPackerBytes(file->packer);
    }
    return bytes;
}

EtwSplitSink EtwRelogFilesSink(EtwRelogFiles *files)
{
    return (EtwSplitSink){beginFile, writePiece, endFile, files};
}

Tcl_Obj *EtwRelogFilesDict(const EtwSplit *split)
{
    Tcl_Obj *dict = Tcl_NewDictObj();

    for (const EtwPiece *piece = EtwSplitFirst(split); piece != NULL; piece = piece->next) {
        const File *file = piece->file;
        Tcl_DictObjPut(NULL, dict, file->path, EtwUint64Obj(piece->events));
    }
    return dict;
}

/* Rename the file, or delete it. */
static int settle(EtwRelogFiles *files, const File *file, int result)
{
    if (result == TCL_OK && Tcl_FSRenameFile(file->tempPath, file->path) != TCL_OK) {
        Tcl_SetObjResult(
                files->interp, Tcl_ObjPrintf("error writing \"%s\": %s", Tcl_GetString(file->path),
                                       Tcl_PosixError(files->interp)));
        result = TCL_ERROR;
    }
    if (result != TCL_OK) {
        Tcl_FSDeleteFile(file->tempPath);
    }
    return result;
}

int EtwRelogFilesClose(EtwRelogFiles *files, int result)
{
    for (File *file = files->first, *next; file != NULL; file = next) {
        next = file->next;
        if (file->tempPath != NULL) {
            result = settle(files, file, result);
            Tcl_DecrRefCount(file->tempPath);
        }
        Tcl_DecrRefCount(file->path);
        EtlPackerFree(file->packer);
        EtwFree(file);
    }
    EtwTextFree(&files->packed);
    EtwFree(files);
    return result;
}
