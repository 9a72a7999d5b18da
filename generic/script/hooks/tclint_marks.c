/*
 * script/hooks/tclint_marks.c --
 *
 *	Marks: points of compiled code at which a procedure of ours is called. Tcl's hook for
 *	optimizers is used to insert them (tclint_code.c). Body, source map, epochs and variables are
 *	unchanged.
 *
 *	A mark is not a command, so Tcl's traces do not see it: two literals are compared. The first
 *	literal has no string. Its updateStringProc calls the procedure. It also removes the string of
 *	the second literal, whose updateStringProc in turn removes that of the first, so that the
 *	mark works again the next time.
 */
#include "script/hooks/tclint.h"
#include "base/alloc.h"

#ifdef ETW_TCLINT

/* ---- Executing marks ------------------------------------------------------------------------- */

static char markString[] = "l";

/* A copy that Tcl may free. */
static char *ownString(void)
{
    char *bytes = Tcl_Alloc(sizeof markString);
    memcpy(bytes, markString, sizeof markString);
    return bytes;
}

/* During execution a mark has two references: the literal's and the stack's. */
static void markFires(Tcl_Obj *obj)
{
    EtwMarks *marks = obj->internalRep.twoPtrValue.ptr1;
    obj->length = 1;
    if (obj->refCount < 2 || marks->fired != NULL || marks->second->bytes == NULL) {
        obj->bytes = ownString();
        marks->stale = true;
        return;
    }
    obj->bytes = markString;
    marks->fired = obj;
    marks->second->bytes = NULL;
    marks->ops->fires(marks, obj->internalRep.twoPtrValue.ptr2, obj);
}

static void secondFires(Tcl_Obj *obj)
{
    EtwMarks *marks = obj->internalRep.twoPtrValue.ptr1;
    obj->bytes = marks->secondBytes;
    obj->length = 1;
    if (marks->fired != NULL) {
        marks->fired->bytes = NULL;
        marks->fired = NULL;
    }
}

void EtwMarksDrop(EtwMarks *marks)
{
    if (--marks->refs == 0) {
        marks->ops->free(marks);
    }
}

static void freeMark(Tcl_Obj *obj)
{
    EtwFree(obj->internalRep.twoPtrValue.ptr2);
    EtwMarksDrop(obj->internalRep.twoPtrValue.ptr1);
}

static void freeSecond(Tcl_Obj *obj)
{
    EtwMarksDrop(obj->internalRep.twoPtrValue.ptr1);
}

static void copyString(Tcl_Obj *from, Tcl_Obj *to)
{
    (void)from;
    if (to->bytes == NULL) {
        to->bytes = ownString();
        to->length = 1;
    }
    to->typePtr = NULL;
}

static const Tcl_ObjType markType = {.name = "etwLine",
        .freeIntRepProc = freeMark,
        .dupIntRepProc = copyString,
        .updateStringProc = markFires};
static const Tcl_ObjType secondType = {.name = "etwLines",
        .freeIntRepProc = freeSecond,
        .dupIntRepProc = copyString,
        .updateStringProc = secondFires};

/* ---- Creating marks -------------------------------------------------------------------------- */

static Tcl_Obj *newMark(EtwMarks *marks, void *data)
{
    Tcl_Obj *obj = Tcl_NewObj();
    marks->refs++;
    Tcl_InvalidateStringRep(obj);
    obj->internalRep.twoPtrValue.ptr1 = marks;
    obj->internalRep.twoPtrValue.ptr2 = data;
    obj->typePtr = &markType;
    return obj;
}

static Tcl_Obj *newSecond(EtwMarks *marks)
{
    marks->second = Tcl_NewObj();
    marks->secondBytes = ownString();
    marks->second->bytes = marks->secondBytes;
    marks->second->length = 1;
    marks->second->internalRep.twoPtrValue.ptr1 = marks;
    marks->second->typePtr = &secondType;
    marks->refs++;
    return marks->second;
}

static void roomForLiterals(CompileEnv *env, int count)
{
    int capacity = env->literalArrayNext + count;
    if (capacity <= env->literalArrayEnd) {
        return;
    }
    size_t size = (size_t)capacity * sizeof *env->literalArrayPtr;
    LiteralEntry *array = (LiteralEntry *)Tcl_Alloc((unsigned)size);
    memcpy(array, env->literalArrayPtr,
            (size_t)env->literalArrayNext * sizeof *env->literalArrayPtr);
    if (env->mallocedLiteralArray) {
        Tcl_Free((char *)env->literalArrayPtr);
    }
    env->mallocedLiteralArray = 1;
    env->literalArrayPtr = array;
    env->literalArrayEnd = capacity;
}

/* The code takes ownership. No later compilation step searches the literal table by text. */
static void addLiteral(CompileEnv *env, Tcl_Obj *obj)
{
    LiteralEntry *entry = &env->literalArrayPtr[env->literalArrayNext++];
    *entry = (LiteralEntry){.objPtr = obj, .refCount = -1};
    Tcl_IncrRefCount(obj);
}

/*
 * A plausibility check of the compile environment, which is accessed through a private structure.
 */
bool EtwTclintLooksValid(const CompileEnv *env, const Interp *iPtr)
{
    return env->iPtr == iPtr && env->codeStart != NULL && env->codeNext > env->codeStart &&
           env->codeNext <= env->codeEnd && env->codeNext[-1] == INST_DONE &&
           env->mallocedCodeArray == (env->codeStart != env->staticCodeSpace) &&
           env->mallocedLiteralArray == (env->literalArrayPtr != env->staticLiteralSpace) &&
           env->mallocedCmdMap == (env->cmdMapPtr != env->staticCmdMapSpace) &&
           env->mallocedAuxDataArray == (env->auxDataArrayPtr != env->staticAuxDataArraySpace) &&
           env->extCmdMapPtr != NULL && env->extCmdMapPtr->nuloc == env->numCommands;
}

void EtwTclintReplaceOptimizer(EtwScriptState *state, TclintOptimizer *ours, bool on)
{
    Interp *iPtr = (Interp *)state->interp;
    TclintOptimizer **at = EtwTclintOptimizer(iPtr);
    if (on && *at != ours && state->optimizer == NULL) {
        state->optimizer = *at;
        *at = ours;
    } else if (!on && *at == ours) {
        *at = state->optimizer;
        state->optimizer = NULL;
    }
    iPtr->compileEpoch++;
}

void EtwMarksInsert(EtwMarks *marks, CompileEnv *env, EtwCodeMark *list, int count)
{
    int first = (int)env->literalArrayNext;
    for (int i = 0; i < count; i++) {
        list[i].literal = (unsigned)(first + i);
    }
    bool marked = EtwTclintMark(env, list, count, (unsigned)(first + count));
    roomForLiterals(env, count + 1);
    for (int i = 0; i < count; i++) {
        if (marked) {
            addLiteral(env, newMark(marks, list[i].data));
        } else {
            EtwFree(list[i].data);
        }
    }
    /* Without marks the second literal alone. */
    addLiteral(env, newSecond(marks));
}

EtwMarks *EtwMarksOf(const ByteCode *code)
{
    if (code == NULL || code->numLitObjects == 0) {
        return NULL;
    }
    const Tcl_Obj *last = code->objArrayPtr[code->numLitObjects - 1];
    return last->typePtr == &secondType ? last->internalRep.twoPtrValue.ptr1 : NULL;
}

/* ---- The commands of compiled code ----------------------------------------------------------- */

/* True if the text contains only what may separate two commands of a script. */
static bool isGap(const char *at, const char *end)
{
    while (at < end) {
        if (*at == '#') {
            while (at < end && *at != '\n') {
                at++;
            }
        } else if (strchr(" \t\r\n\f\v;\\", *at) == NULL) {
            return false;
        } else {
            at++;
        }
    }
    return true;
}

static bool afterBracket(const char *source, int at)
{
    while (at > 0 && strchr(" \t\r\n\f\v;\\", source[at - 1]) != NULL) {
        at--;
    }
    return at > 0 && source[at - 1] == '[';
}

/* `before`: the command before it in the same script, NULL: none. */
static bool isBracketed(
        const CompileEnv *env, const EtwPlace *p, const EtwPlace *around, const EtwPlace *before)
{
    return before != NULL ? before->bracketed
                          : around != NULL && afterBracket(env->source, p->from);
}

static int countLines(const char *at, const char *end)
{
    int lines = 0;
    for (; at < end; at++) {
        lines += *at == '\n';
    }
    return lines;
}

/*
 * Sets counted and line. Tcl stores the lines of literal words, except inside expressions.
 * Backslash-newlines are missing in the text, so the later one of both lines is correct. The text is
 * counted from the command before it on, so that the costs are linear in the size of the body.
 */
static void findLine(
        const CompileEnv *env, EtwPlace *p, int i, const EtwPlace *around, const EtwPlace *before)
{
    const ECL *words = &env->extCmdMapPtr->loc[i];
    int known = words->nline > 0 ? words->line[0] : 0;
    int from = before != NULL ? before->from : around != NULL ? around->from : 0;
    p->counted = before != NULL   ? before->counted
                 : around != NULL ? around->line
                                  : env->extCmdMapPtr->start;
    p->counted += countLines(env->source + from, env->source + p->from);
    p->line = known > p->counted ? known : p->counted;
}

static void findPlace(const CompileEnv *env, EtwPlace *places, int i)
{
    EtwPlace *p = &places[i];
    int up = i - 1, sibling = -1; /* the command before it in the same script */
    p->from = env->cmdMapPtr[i].srcOffset;
    p->end = p->from + env->cmdMapPtr[i].numSrcBytes;
    while (up >= 0 && (p->from < places[up].from || p->end > places[up].end)) {
        sibling = up;
        up = places[up].parent;
    }
    const EtwPlace *around = up >= 0 ? &places[up] : NULL;
    const EtwPlace *before =
            sibling >= 0 && places[sibling].from <= p->from ? &places[sibling] : NULL;
    p->parent = up;
    findLine(env, p, i, around, before);
    if (sibling < 0 || places[sibling].end > p->from ||
            !isGap(env->source + places[sibling].end, env->source + p->from)) {
        sibling = -1;
    } else {
        places[sibling].followed = true;
    }
    p->bracketed = isBracketed(env, p, around, sibling >= 0 ? &places[sibling] : NULL);
    p->marked = !p->bracketed || around == NULL || p->line != around->shown;
    p->shown = p->marked || around == NULL ? p->line : around->shown;
}

EtwPlace *EtwTclintPlaces(const CompileEnv *env)
{
    EtwPlace *places = EtwAlloc(((size_t)env->numCommands + 1) * sizeof *places);
    for (int i = 0; i < env->numCommands; i++) {
        findPlace(env, places, i);
    }
    return places;
}

#endif
