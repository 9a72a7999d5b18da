/*
 * script/hooks/tclint_code.c --
 *
 *	Inserts marks into bytecode that has just been compiled and is not yet in use: before
 *	or after selected commands, two literals are pushed, compared and dropped (tclint_marks.c
 *	describes the purpose). Jumps, jump tables, loops, exception ranges and the map of commands are
 *	adjusted, so that the code has the same effect and the same source positions as before.
 *	tclCompile.h and tclExecute.c define the instructions. Tcl's table of instructions shows
 *	which operands are offsets, except for jump tables, foreach and returnCodeBranch.
 *
 *	All code is checked before anything is changed. Code with an unknown construct stays
 *	unchanged.
 */
#include "script/hooks/tclint.h"
#include "base/alloc.h"

#ifdef ETW_TCLINT

enum {
    MARK = 12,       /* push4 A, push4 B, streq, pop */
    BRANCHES = 9,    /* of returnCodeBranch: jumps to itself + 1, 3, 5, 7 or 9 */
    FOREACH_SIZE = 5 /* of foreach_start */
};

/* An instruction of the original code. */
typedef struct Step {
    int at, size;
    int newAt, newSize; /* newAt: offset of the first mark before it */
    int mark, marks;    /* the marks before it, as a range of the list of marks */
    bool fixed;         /* must keep its size */
} Step;

typedef struct Code {
    CompileEnv *env;
    const EtwCodeMark *marks;
    int markCount;
    unsigned second; /* the literal that every mark is compared with */
    int size, newSize;
    Step *steps;
    int count;
    int *stepAt; /* instruction at an original offset, -1: none; one more entry for the end */
} Code;

static const InstructionDesc *describe(unsigned char op)
{
    const InstructionDesc *table = TclGetInstructionTable();
    return op <= LAST_INST_OPCODE ? &table[op] : NULL;
}

/* ---- Parsing the code ------------------------------------------------------------------------ */

static bool splitInstructions(Code *c)
{
    int at = 0;
    for (int i = 0; i < c->size; i++) {
        c->stepAt[i] = -1;
    }
    while (at < c->size) {
        const InstructionDesc *desc = describe(c->env->codeStart[at]);
        if (desc == NULL || desc->numBytes <= 0 || at + desc->numBytes > c->size) {
            return false;
        }
        c->stepAt[at] = c->count;
        c->steps[c->count++] = (Step){.at = at, .size = desc->numBytes, .newSize = desc->numBytes};
        at += desc->numBytes;
    }
    c->stepAt[c->size] = c->count;
    c->steps[c->count] = (Step){.at = c->size};
    return true;
}

static bool placeMarks(Code *c)
{
    for (int i = 0; i < c->markCount; i++) {
        int at = c->marks[i].at;
        int step = at >= 0 && at < c->size ? c->stepAt[at] : -1;
        if (step < 0) {
            return false;
        }
        if (c->steps[step].marks++ == 0) {
            c->steps[step].mark = i;
        }
    }
    return true;
}

/*
 * A returnCodeBranch jumps into the instructions after it by fixed distances, so their sizes must
 * not change.
 */
static bool fixBranches(Code *c)
{
    for (int i = 0; i < c->count; i++) {
        const Step *s = &c->steps[i];
        if (c->env->codeStart[s->at] != INST_RETURN_CODE_BRANCH) {
            continue;
        }
        for (int j = i + 1; j < c->count && c->steps[j].at < s->at + BRANCHES; j++) {
            c->steps[j].fixed = true;
            if (c->steps[j].marks > 0) {
                return false;
            }
        }
    }
    return true;
}

/* ---- New offsets ----------------------------------------------------------------------------- */

static int instructionAt(const Step *s)
{
    return s->newAt + MARK * s->marks;
}

/*
 * The new target of a jump between two original offsets: the marks before the instruction, except
 * those at the start of a command that contains the jump, and those at the end of a command that
 * does not contain it.
 */
static int targetOf(const Code *c, int from, int to)
{
    const Step *s = &c->steps[c->stepAt[to]];
    int at = s->newAt;
    for (int i = s->mark; i < s->mark + s->marks; i++) {
        const EtwCodeMark *mark = &c->marks[i];
        bool inside = from >= mark->from && from < mark->end;
        if (inside == (mark->at == mark->end)) {
            break;
        }
        at += MARK;
    }
    return at;
}

static bool isPlace(const Code *c, int at)
{
    return at >= 0 && at <= c->size && c->stepAt[at] >= 0;
}

static bool isShortJump(unsigned char op)
{
    return op == INST_JUMP1 || op == INST_JUMP_TRUE1 || op == INST_JUMP_FALSE1;
}

static int shortOffset(const Code *c, const Step *s)
{
    return TclGetInt1AtPtr(c->env->codeStart + s->at + 1);
}

static void layOut(Code *c)
{
    int at = 0;
    for (int i = 0; i <= c->count; i++) {
        Step *s = &c->steps[i];
        s->newAt = at;
        at += MARK * s->marks + s->newSize;
    }
    c->newSize = at;
}

/* Replace each short jump whose target is too far by a long one. */
static bool widen(Code *c)
{
    for (bool again = true; again;) {
        again = false;
        layOut(c);
        for (int i = 0; i < c->count; i++) {
            Step *s = &c->steps[i];
            if (!isShortJump(c->env->codeStart[s->at]) || s->newSize != s->size) {
                continue;
            }
            int to = s->at + shortOffset(c, s);
            int offset = isPlace(c, to) ? targetOf(c, s->at, to) - instructionAt(s) : INT_MAX;
            if (offset >= -128 && offset <= 127) {
                continue;
            }
            if (s->fixed || offset == INT_MAX) {
                return false;
            }
            s->newSize = 5;
            again = true;
        }
    }
    return true;
}

/* ---- Other places with offsets --------------------------------------------------------------- */

static void *auxOf(const Code *c, const Step *s)
{
    unsigned index = TclGetUInt4AtPtr(c->env->codeStart + s->at + 1);
    return (int)index < c->env->auxDataArrayNext ? c->env->auxDataArrayPtr[index].clientData : NULL;
}

/* With `change` false, only checks whether it can be moved. */
static bool moveTable(const Code *c, const Step *s, bool change)
{
    JumptableInfo *table = auxOf(c, s);
    Tcl_HashSearch search;
    if (table == NULL) {
        return false;
    }
    for (Tcl_HashEntry *e = Tcl_FirstHashEntry(&table->hashTable, &search); e != NULL;
            e = Tcl_NextHashEntry(&search)) {
        int to = s->at + (int)(intptr_t)Tcl_GetHashValue(e);
        if (!isPlace(c, to)) {
            return false;
        }
        if (change) {
            int offset = targetOf(c, s->at, to) - instructionAt(s);
            Tcl_SetHashValue(e, (ClientData)(intptr_t)offset);
        }
    }
    return true;
}

/* foreach_start jumps to foreach_step, and foreach_step jumps back. One number encodes both. */
static bool moveLoop(const Code *c, const Step *s, bool change)
{
    ForeachInfo *info = auxOf(c, s);
    int step = info != NULL ? s->at + FOREACH_SIZE - info->loopCtTemp : -1;
    if (!isPlace(c, step) || c->env->codeStart[step] != INST_FOREACH_STEP) {
        return false;
    }
    if (change) {
        info->loopCtTemp =
                instructionAt(s) + FOREACH_SIZE - instructionAt(&c->steps[c->stepAt[step]]);
    }
    return c->steps[c->stepAt[step]].marks == 0;
}

/* Instructions of older versions that Tcl 8.6 no longer generates. */
static inline bool isOldLoop(unsigned char op)
{
#if TCL_MAJOR_VERSION > 8
    (void)op;
    return false;
#else
    return op == INST_FOREACH_START4 || op == INST_FOREACH_STEP4;
#endif
}

static bool moveAux(const Code *c, bool change)
{
    for (int i = 0; i < c->count; i++) {
        unsigned char op = c->env->codeStart[c->steps[i].at];
        if ((op == INST_JUMP_TABLE && !moveTable(c, &c->steps[i], change)) ||
                (op == INST_FOREACH_START && !moveLoop(c, &c->steps[i], change)) || isOldLoop(op)) {
            return false;
        }
    }
    return true;
}

/* The value -1 means none. */
static bool moveOffset(const Code *c, int from, TclintOffset *offset, bool change)
{
    if (*offset == -1) {
        return true;
    }
    if (!isPlace(c, *offset)) {
        return false;
    }
    if (change) {
        *offset = targetOf(c, from, *offset);
    }
    return true;
}

static bool moveRange(const Code *c, TclintOffset *at, TclintOffset *size, bool change)
{
    int end = (int)(*at + *size);
    if (!isPlace(c, *at) || *size < 0 || !isPlace(c, end)) {
        return false;
    }
    if (change) {
        *at = c->steps[c->stepAt[*at]].newAt;
        *size = c->steps[c->stepAt[end]].newAt - *at;
    }
    return true;
}

static bool moveRanges(const Code *c, bool change)
{
    bool ok = true;
    for (int i = 0; ok && i < c->env->exceptArrayNext; i++) {
        ExceptionRange *r = &c->env->exceptArrayPtr[i];
        int from = (int)r->codeOffset;
        ok = moveRange(c, &r->codeOffset, &r->numCodeBytes, change);
        if (r->type == LOOP_EXCEPTION_RANGE) {
            ok = ok && moveOffset(c, from, &r->breakOffset, change) &&
                 moveOffset(c, from, &r->continueOffset, change);
        } else {
            ok = ok && moveOffset(c, from, &r->catchOffset, change);
        }
    }
    for (int i = 0; ok && i < c->env->numCommands; i++) {
        CmdLocation *l = &c->env->cmdMapPtr[i];
        ok = moveRange(c, &l->codeOffset, &l->numCodeBytes, change);
    }
    return ok;
}

/* ---- Generating the new code ----------------------------------------------------------------- */

static unsigned char *putPush(unsigned char *at, unsigned literal)
{
    *at = INST_PUSH4;
    TclStoreInt4AtPtr(literal, at + 1);
    return at + 5;
}

static unsigned char *putMarks(const Code *c, const Step *s, unsigned char *at)
{
    for (int i = s->mark; i < s->mark + s->marks; i++) {
        at = putPush(putPush(at, c->marks[i].literal), c->second);
        *at++ = INST_STR_EQ;
        *at++ = INST_POP;
    }
    return at;
}

/* True if the first operand is an offset, which is stored in *offset. */
static bool hasOffset(const Code *c, const Step *s, int *offset)
{
    const unsigned char *at = c->env->codeStart + s->at;
    const InstructionDesc *desc = describe(*at);
    if (desc->numOperands == 0 ||
            (desc->opTypes[0] != OPERAND_OFFSET1 && desc->opTypes[0] != OPERAND_OFFSET4)) {
        return false;
    }
    *offset =
            desc->opTypes[0] == OPERAND_OFFSET1 ? TclGetInt1AtPtr(at + 1) : TclGetInt4AtPtr(at + 1);
    return true;
}

static bool checkOffsets(const Code *c)
{
    for (int i = 0; i < c->count; i++) {
        int offset;
        if (hasOffset(c, &c->steps[i], &offset) && !isPlace(c, c->steps[i].at + offset)) {
            return false;
        }
    }
    return true;
}

static void putInstruction(const Code *c, const Step *s, unsigned char *at)
{
    int offset;
    memcpy(at, c->env->codeStart + s->at, (size_t)s->size);
    if (!hasOffset(c, s, &offset)) {
        return;
    }
    offset = targetOf(c, s->at, s->at + offset) - instructionAt(s);
    if (s->newSize == 2) {
        at[1] = (unsigned char)offset;
        return;
    }
    if (s->size == 2) {
        at[0]++; /* the opcode of the long jump is one higher */
    }
    TclStoreInt4AtPtr(offset, at + 1);
}

static void replaceCode(Code *c)
{
    CompileEnv *env = c->env;
    unsigned char *code = (unsigned char *)Tcl_Alloc((unsigned)c->newSize);
    for (int i = 0; i < c->count; i++) {
        putInstruction(c, &c->steps[i], putMarks(c, &c->steps[i], code + c->steps[i].newAt));
    }
    moveAux(c, true);
    moveRanges(c, true);
    if (env->mallocedCodeArray) {
        Tcl_Free((char *)env->codeStart);
    }
    env->mallocedCodeArray = 1;
    env->codeStart = code;
    env->codeNext = env->codeEnd = code + c->newSize;
    env->maxStackDepth += 2;
}

bool EtwTclintMark(void *compileEnv, const EtwCodeMark *marks, int count, unsigned second)
{
    CompileEnv *env = compileEnv;
    Code c = {.env = env, .marks = marks, .markCount = count, .second = second};
    bool ok;
    c.size = (int)(env->codeNext - env->codeStart);
    c.steps = EtwAlloc(((size_t)c.size + 1) * sizeof *c.steps);
    c.stepAt = EtwAlloc(((size_t)c.size + 1) * sizeof *c.stepAt);
    ok = splitInstructions(&c) && placeMarks(&c) && fixBranches(&c) && checkOffsets(&c) &&
         widen(&c) && moveAux(&c, false) && moveRanges(&c, false);
    if (ok) {
        replaceCode(&c);
    }
    EtwFree(c.steps);
    EtwFree(c.stepAt);
    return ok;
}

/* ---- The self-check -------------------------------------------------------------------------- */

static bool isNamed(int op, const char *name, int size)
{
    const InstructionDesc *desc = describe((unsigned char)op);
    return desc != NULL && strcmp(desc->name, name) == 0 && desc->numBytes == size;
}

bool EtwTclintCheckCode(void)
{
    return isNamed(INST_PUSH4, "push4", 5) && isNamed(INST_STR_EQ, "streq", 1) &&
           isNamed(INST_POP, "pop", 1) && isNamed(INST_JUMP1, "jump1", 2) &&
           isNamed(INST_JUMP1 + 1, "jump4", 5) && isNamed(INST_JUMP_TRUE1 + 1, "jumpTrue4", 5) &&
           isNamed(INST_JUMP_FALSE1 + 1, "jumpFalse4", 5) &&
           isNamed(INST_START_CMD, "startCommand", 9) && isNamed(INST_JUMP_TABLE, "jumpTable", 5) &&
           isNamed(INST_FOREACH_START, "foreach_start", FOREACH_SIZE) &&
           isNamed(INST_FOREACH_STEP, "foreach_step", 1) &&
           isNamed(INST_RETURN_CODE_BRANCH, "returnCodeBranch", 1);
}

#endif
