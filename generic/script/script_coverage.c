/*
 * script/script_coverage.c --
 *
 *	How often each command of an interpreter's source files is executed. The hook layer marks all code
 *	and adds up the counts, which outlive the code: a body that is compiled again goes on with its counts.
 *	The first execution of a command is written at once, so that a killed process loses only how often it
 *	executed what it executed. The rest is written when counting ends.
 *
 *	The commands of a program's main script are not compiled. Instead, it is written how far the script came: events
 *	without a command, with the line, or line 0 for its end.
 */
#include "script/script_redact.h"
#include "script/script_fields.h"
#include "base/alloc.h"
#include "base/hash_table.h"
#include <stdlib.h>
#include <string.h>

typedef struct CoverFile {
    EtwTableNode node; /* the first member */
    char *path;        /* Tcl's UTF-8 */
    size_t size;
} CoverFile;

struct EtwCoverCount {
    EtwTableNode node; /* the first member */
    const CoverFile *file;
    char *text; /* Tcl's UTF-8 */
    size_t size;
    uint32_t line, column;
    uint64_t count, written;
};

/* Belongs to the interpreter's thread. */
struct EtwCoverage {
    int refs;
    EtwScriptState *state; /* NULL: counting has ended */
    Tcl_ThreadId thread;
    EtwTable files, counts;
    uint32_t mainLine; /* that the main script has reached */
};

/* ---- Counting -------------------------------------------------------------------------------- */

static CoverFile *fileOf(EtwCoverage *coverage, const char *path, size_t size)
{
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)path, size);
    CoverFile *file = (CoverFile *)EtwTableFirst(&coverage->files, hash);
    while (file != NULL && (file->size != size || memcmp(file->path, path, size) != 0)) {
        file = (CoverFile *)file->node.next;
    }
    if (file == NULL) {
        file = EtwAlloc(sizeof *file);
        file->path = EtwAlloc(size + 1);
        file->size = size;
        memcpy(file->path, path, size);
        EtwTableAdd(&coverage->files, &file->node, hash);
    }
    return file;
}

EtwCoverCount *EtwCoverCountOf(EtwCoverage *coverage, const char *path, size_t pathSize,
        uint32_t line, uint32_t column, const char *text, size_t size)
{
    const CoverFile *file = fileOf(coverage, path, pathSize);
    uint64_t hash = EtwHashMix(EtwHashPointer(file), (uint64_t)line << 32 | column);
    EtwCoverCount *count = (EtwCoverCount *)EtwTableFirst(&coverage->counts, hash);
    while (count != NULL &&
            (count->file != file || count->line != line || count->column != column ||
                    count->size != size || memcmp(count->text, text, size) != 0)) {
        count = (EtwCoverCount *)count->node.next;
    }
    if (count == NULL) {
        count = EtwAlloc(sizeof *count);
        count->file = file;
        count->text = EtwAlloc(size + 1);
        memcpy(count->text, text, size);
        count->size = size;
        count->line = line;
        count->column = column;
        EtwTableAdd(&coverage->counts, &count->node, hash);
    }
    return count;
}

/* Write the executions that are not written yet, if a session takes them. */
static void writeCount(EtwScriptState *state, EtwCoverCount *count)
{
    uint16_t textSize, fileSize;
    char numbers[16];
    EtwPieces p;
    if (count->count == count->written || !EtwScriptOn(ETW_KEYWORD_COVER)) {
        return;
    }
    EtwPiecesBegin(&p, state);
    EtwPiecesRaw(&p, &textSize, sizeof textSize);
    EtwFieldBegin(&p, ETW_SCRIPT_LENGTH);
    EtwFieldTcl(&p, count->text, count->size);
    textSize = EtwFieldEnd(&p);
    EtwPiecesRaw(&p, &fileSize, sizeof fileSize);
    EtwFieldBegin(&p, ETW_NAME_MAX);
    EtwFieldTcl(&p, count->file->path, count->file->size);
    fileSize = EtwFieldEnd(&p);
    EtwStore64(put32(put32(numbers, count->line), count->column), count->count - count->written);
    EtwPiecesRaw(&p, numbers, sizeof numbers);
    EtwScriptWrite(state, NULL, ETW_SCRIPT_COVER, p.data, p.count, NULL);
    count->written = count->count;
}

bool EtwCoverAdd(EtwCoverage *coverage, EtwCoverCount *count)
{
    if (coverage->state == NULL || count->count++ > 0) {
        return false;
    }
    writeCount(coverage->state, count);
    return true;
}

void EtwCoverMain(EtwCoverage *coverage, Tcl_Obj *path, uint32_t line)
{
    Tcl_Size size;
    const char *text = path != NULL ? Tcl_GetStringFromObj(path, &size) : NULL;
    if (text == NULL || (line <= coverage->mainLine && line > 0)) {
        return;
    }
    coverage->mainLine = line;
    EtwCoverAdd(coverage, EtwCoverCountOf(coverage, text, (size_t)size, line, 0, "", 0));
}

/* The end of the main script: without an error, or an error in a line, which errorInfo has then. */
static void mainEnded(EtwCoverage *coverage, Tcl_Interp *interp)
{
    Tcl_Obj *script = Tcl_GetStartupScript(NULL);
    Tcl_Obj *path = script != NULL ? Tcl_FSGetNormalizedPath(interp, script) : NULL;
    const char *info = Tcl_GetVar(interp, "errorInfo", TCL_GLOBAL_ONLY);
    int line = 0;
    if (path == NULL || Tcl_GetParent(interp) != NULL) {
        return;
    }
    Tcl_Obj *mark = Tcl_ObjPrintf("\n    (file \"%s\" line ", Tcl_GetString(script));
    const char *at = info != NULL ? strstr(info, Tcl_GetString(mark)) : NULL;
    if (at != NULL) {
        line = atoi(at + strlen(Tcl_GetString(mark)));
    }
    Tcl_IncrRefCount(mark);
    Tcl_DecrRefCount(mark);
    EtwCoverMain(coverage, path, line > 0 ? (uint32_t)line : 0);
}

static void writeVisited(void *state, EtwTableNode *node)
{
    writeCount(state, (EtwCoverCount *)node);
}

static void writeAll(EtwCoverage *coverage)
{
    EtwTableVisit(&coverage->counts, writeVisited, coverage->state);
}

/* ---- Begin and end --------------------------------------------------------------------------- */

EtwCoverage *EtwCoverageKeep(EtwCoverage *coverage)
{
    coverage->refs++;
    return coverage;
}

static void freeCount(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((EtwCoverCount *)node)->text);
    EtwFree(node);
}

static void freeFile(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(((CoverFile *)node)->path);
    EtwFree(node);
}

void EtwCoverageDrop(EtwCoverage *coverage)
{
    if (--coverage->refs == 0) {
        EtwTableFree(&coverage->counts, freeCount);
        EtwTableFree(&coverage->files, freeFile);
        EtwFree(coverage);
    }
}

/* The thread ends, or the process, perhaps by another thread. */
static void onExit(ClientData clientData)
{
    EtwScriptState *state = clientData;
    if (state->coverage->thread != Tcl_GetCurrentThread()) {
        return;
    }
    if (!Tcl_InterpDeleted(state->interp) && !etwHookLayer->coverMain(state)) {
        mainEnded(state->coverage, state->interp);
    }
    EtwCoverageStop(state);
}

void EtwCoverageStop(EtwScriptState *state)
{
    EtwCoverage *coverage = state->coverage;
    if (coverage == NULL) {
        return;
    }
    writeAll(coverage);
    coverage->state = NULL;
    state->coverage = NULL;
    Tcl_DeleteThreadExitHandler(onExit, state);
    Tcl_DeleteExitHandler(onExit, state);
    if (!Tcl_InterpDeleted(state->interp)) {
        etwHookLayer->cover(state, false);
    }
    EtwCoverageDrop(coverage);
}

void EtwScriptCoverFlush(Tcl_Interp *target)
{
    EtwScriptState *state = EtwScriptStateOf(target);
    if (state != NULL && state->coverage != NULL) {
        writeAll(state->coverage);
    }
}

int EtwScriptCover(Tcl_Interp *interp, Tcl_Interp *target, int on)
{
    if (EtwScriptProviderOpen(interp) != TCL_OK) {
        return TCL_ERROR;
    }
    if (etwHookLayer->cover == NULL || !etwHookLayer->hasLines()) {
        return EtwScriptFail(interp, ETW_E_UNSUPPORTED, "COVERAGE", "",
                "executions cannot be counted: the package does not know the private interface of "
                "Tcl %s",
                TCL_VERSION);
    }
    EtwScriptState *state = EtwScriptStateMake(target);
    if (!on || state->coverage != NULL) {
        if (!on) {
            EtwCoverageStop(state);
        }
        return TCL_OK;
    }
    for (const EtwPattern *p = state->patterns; p != NULL; p = p->next) {
        if (p->rule->options.steps != ETW_STEPS_OFF) {
            return EtwScriptFail(interp, ETW_E_STATE, "STEPS", p->glob,
                    "coverage and \"-steps\" exclude each other: \"etw script remove %.100s\" "
                    "first",
                    p->glob);
        }
    }
    if (state->stepping) {
        return EtwScriptFail(interp, ETW_E_STATE, "STEPS", "",
                "coverage and \"-steps\" exclude each other, and steps are traced now");
    }
    state->coverage = EtwAlloc(sizeof *state->coverage);
    state->coverage->refs = 1;
    state->coverage->state = state;
    state->coverage->thread = Tcl_GetCurrentThread();
    Tcl_CreateThreadExitHandler(onExit, state);
    Tcl_CreateExitHandler(onExit, state); /* before that of sessions, which was created earlier */
    etwHookLayer->cover(state, true);
    return TCL_OK;
}
