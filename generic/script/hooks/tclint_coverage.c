/*
 * script/hooks/tclint_coverage.c --
 *
 *	Coverage: a mark (tclint_marks.c) before each command of all code that comes from a source file, which
 *	counts its executions (script_coverage.c).
 *
 *	Tcl compiles files that are sourced, but not the program's main script, whose commands have no marks.
 */
#include "script/hooks/tclint.h"
#include "base/alloc.h"
#include <string.h>

#ifdef ETW_TCLINT

typedef struct Covered {
    EtwMarks marks;        /* the first member */
    EtwCoverage *coverage; /* a reference */
    Interp *iPtr;
} Covered;

typedef struct Mark {
    EtwCoverCount *count;
} Mark;

/* The outermost command of a file that is evaluated without being compiled: of the program's main script. */
static bool coverMain(EtwCoverage *coverage, const Interp *iPtr)
{
    const CmdFrame *outermost = NULL;
    for (const CmdFrame *f = iPtr->cmdFramePtr; f != NULL; f = f->nextPtr) {
        if (f->type == TCL_LOCATION_SOURCE && f->nline > 0) {
            outermost = f;
        }
    }
    if (outermost == NULL) {
        return false;
    }
    EtwCoverMain(coverage, outermost->data.eval.path, (uint32_t)outermost->line[0]);
    return true;
}

bool EtwTclintCoverMain(EtwScriptState *state)
{
    return coverMain(state->coverage, (const Interp *)state->interp);
}

static void coverFires(EtwMarks *marks, void *data, const Tcl_Obj *literal)
{
    const Covered *covered = (const Covered *)marks;
    (void)literal;
    if (EtwCoverAdd(covered->coverage, ((const Mark *)data)->count)) {
        coverMain(covered->coverage, covered->iPtr);
    }
}

static void freeCovered(EtwMarks *marks)
{
    EtwCoverageDrop(((Covered *)marks)->coverage);
    EtwFree(marks);
}

static const EtwMarkOps coverOps = {coverFires, freeCovered};

static uint32_t columnOf(const char *source, int at)
{
    int from = at;
    while (from > 0 && source[from - 1] != '\n') {
        from--;
    }
    return (uint32_t)Tcl_NumUtfChars(source + from, at - from);
}

/* True if the text is that of a file, by its size. Tcl has made one character of each CR LF. */
static bool hasSize(Tcl_Obj *file, const char *text, Tcl_Size size)
{
    Tcl_StatBuf *stat = Tcl_AllocStatBuf();
    bool same = false;
    if (Tcl_FSStat(file, stat) == 0) {
        Tcl_WideUInt bytes = Tcl_GetSizeFromStat(stat), crs = 0;
        for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + size - at))) != NULL;
                at++) {
            crs++;
        }
        same = bytes == (Tcl_WideUInt)size || bytes == (Tcl_WideUInt)size + crs;
    }
    ckfree(stat);
    return same;
}

/*
 * The file of the code, NULL: not known. Tcl compiles a file of simple commands twice, to do without the instruction startCommand,
 * and has forgotten the second time that it is a file.
 */
static Tcl_Obj *fileOf(const CompileEnv *env)
{
    Interp *iPtr = env->iPtr;
    const ExtCmdLoc *map = env->extCmdMapPtr;
    if (map->type == TCL_LOCATION_SOURCE) {
        return map->path;
    }
    bool again = map->type == TCL_LOCATION_BC && iPtr->invokeCmdFramePtr == NULL &&
                 iPtr->invokeWord == INT_MIN && iPtr->scriptFile != NULL;
    return again && hasSize(iPtr->scriptFile, env->source, env->numSrcBytes)
                   ? Tcl_FSGetNormalizedPath((Tcl_Interp *)iPtr, iPtr->scriptFile)
                   : NULL;
}

static Mark *newMark(
        EtwCoverage *coverage, Tcl_Obj *file, const CompileEnv *env, const EtwPlace *place)
{
    Tcl_Size fileSize;
    const char *path = Tcl_GetStringFromObj(file, &fileSize);
    const char *text = env->source + place->from;
    size_t size = (size_t)(place->end - place->from);
    const char *end = memchr(text, '\n', size);
    Mark *mark = EtwAlloc(sizeof *mark);
    mark->count = EtwCoverCountOf(coverage, path, (size_t)fileSize, (uint32_t)place->line,
            columnOf(env->source, place->from), text, end != NULL ? (size_t)(end - text) : size);
    return mark;
}

static void markCode(EtwCoverage *coverage, Tcl_Obj *file, CompileEnv *env)
{
    EtwPlace *places = EtwTclintPlaces(env);
    EtwCodeMark *list = EtwAlloc(((size_t)env->numCommands + 1) * sizeof *list);
    Covered *covered = EtwAlloc(sizeof *covered);
    int count = 0;
    covered->marks.refs = 1;
    covered->marks.ops = &coverOps;
    covered->coverage = EtwCoverageKeep(coverage);
    covered->iPtr = env->iPtr;
    for (int i = 0; i < env->numCommands; i++) {
        const CmdLocation *l = &env->cmdMapPtr[i];
        if (places[i].marked) {
            list[count++] = (EtwCodeMark){.at = (int)l->codeOffset,
                    .from = (int)l->codeOffset,
                    .end = (int)(l->codeOffset + l->numCodeBytes),
                    .data = newMark(coverage, file, env, &places[i])};
        }
    }
    EtwMarksInsert(&covered->marks, env, list, count);
    EtwMarksDrop(&covered->marks);
    EtwFree(places);
    EtwFree(list);
}

static void optimizeAndMark(void *compileEnv)
{
    CompileEnv *env = compileEnv;
    EtwScriptState *state = EtwScriptStateOf((Tcl_Interp *)env->iPtr);
    if (state == NULL) {
        return; /* the interpreter is being deleted */
    }
    if (state->optimizer != NULL) {
        state->optimizer(env);
    }
    if (state->coverage != NULL && EtwTclintLooksValid(env, env->iPtr)) {
        Tcl_Obj *file = fileOf(env);
        if (file != NULL) {
            markCode(state->coverage, file, env);
        }
    }
}

void EtwTclintCover(EtwScriptState *state, bool on)
{
    EtwTclintReplaceOptimizer(state, optimizeAndMark, on);
    if (state->interp != NULL) {
        EtwTclintBodyPlaces(state->interp, on);
    }
}

#endif
