/*
 * script/hooks/tclint_script.c --
 *
 *	Scripts with another string representation: lists whose string differs from their elements.
 *	Tcl regards them as canonical and therefore evaluates the elements. Code that reads a
 *	callback's script (`after info`, `fileevent`) or compares it (`after cancel`) uses the
 *	string.
 */
#include "script/hooks/tclint.h"
#include "script/script_text.h"

#ifdef ETW_TCLINT

/* Set the flag that marks the string as canonical. */
static void setCanonical(Tcl_Obj *list)
{
#if TCL_MAJOR_VERSION > 8
    ListObjStorePtr(list)->flags |= LISTSTORE_CANONICAL;
#else
    ListRepPtr(list)->canonicalFlag = 1;
#endif
}

Tcl_Obj *EtwTclintAlias(Tcl_Obj *look, Tcl_Size objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *list = Tcl_NewListObj(objc, objv);
    Tcl_Size size;
    const char *text = Tcl_GetStringFromObj(look, &size);
    list->bytes = Tcl_Alloc((unsigned)size + 1);
    memcpy(list->bytes, text, (size_t)size + 1);
    list->length = size;
    setCanonical(list);
    return list;
}

/* ---- The command word of an alias ------------------------------------------------------------- */

/*
 * A script's own execution traces do not see the command that an alias calls. Tcl converts the word
 * when it has found the command, and checks for traces of the interpreter right after that. So the
 * word's type takes the traces away when it is converted, and the command puts them back before it
 * does anything, and gives the word its type again. Nothing is evaluated between the two.
 */
static __thread struct {
    EtwScriptState *state; /* a reference; NULL: no conversion since the command was last entered */
    const Tcl_Obj *word;
    Trace *traces;
} converted;

static void putBackTraces(void)
{
    Interp *iPtr = (Interp *)converted.state->interp;
    if (converted.traces != NULL && iPtr != NULL && iPtr->tracePtr == NULL) {
        iPtr->tracePtr = converted.traces;
    }
    converted.traces = NULL;
    converted.word = NULL;
}

static void wordFree(Tcl_Obj *word)
{
    EtwScriptState *state = word->internalRep.twoPtrValue.ptr1;
    if (word->length == (Tcl_Size)-1 || state->interp == NULL) {
        EtwScriptStateDrop(state); /* the word is being deleted */
        return;
    }
    if (converted.state != NULL) {
        putBackTraces(); /* the conversion was for another purpose */
        EtwScriptStateDrop(converted.state);
    }
    converted.state = state;
    converted.word = word;
    if (Tcl_FindCommand(state->interp, word->bytes, NULL, TCL_GLOBAL_ONLY) != NULL) {
        converted.traces = ((Interp *)state->interp)->tracePtr;
        ((Interp *)state->interp)->tracePtr = NULL;
    }
}

static void setWord(Tcl_Obj *word, EtwScriptState *state);

static void wordCopy(Tcl_Obj *from, Tcl_Obj *to)
{
    EtwScriptState *state = from->internalRep.twoPtrValue.ptr1;
    state->refs++;
    setWord(to, state);
}

static const Tcl_ObjType wordType = {
        .name = "etwCallbackName", .freeIntRepProc = wordFree, .dupIntRepProc = wordCopy};

static void setWord(Tcl_Obj *word, EtwScriptState *state)
{
    word->internalRep.twoPtrValue.ptr1 = state;
    word->typePtr = &wordType;
}

Tcl_Obj *EtwTclintAliasWord(EtwScriptState *state, const char *command)
{
    Tcl_Obj *word = Tcl_NewStringObj(command, -1);
    state->refs++;
    setWord(word, state);
    return word;
}

void EtwTclintAliasEntered(Tcl_Obj *word)
{
    EtwScriptState *state = converted.state;
    if (state == NULL) {
        return;
    }
    bool same = converted.word == word;
    putBackTraces();
    converted.state = NULL;
    if (!same) {
        EtwScriptStateDrop(state);
        return;
    }
    if (word->typePtr != NULL && word->typePtr->freeIntRepProc != NULL) {
        word->typePtr->freeIntRepProc(word);
    }
    setWord(word, state);
}

/*
 * Tcl has pushed a frame for the list, and will later pop to the frame below it. Remove it, unless
 * the script is itself a list, which has such a frame; its text is then that of the alias.
 */
void EtwTclintAliasRuns(Tcl_Interp *interp, Tcl_Obj *script)
{
    Interp *iPtr = (Interp *)interp;
    bool list = EtwScriptTextIsList(script) && ListObjIsCanonical(script);
    if (!list && iPtr->cmdFramePtr != NULL && iPtr->cmdFramePtr->type == TCL_LOCATION_EVAL) {
        iPtr->cmdFramePtr = iPtr->cmdFramePtr->nextPtr;
    }
}

/* Tcl 8.6 evaluates the prefix as text, with words appended: there the word is a variable's value. */
Tcl_Obj *EtwTclintAliasPrefix(EtwScriptState *state, const char *command, Tcl_Obj *rest)
{
    Tcl_Obj *word = EtwTclintAliasWord(state, command);
#if TCL_MAJOR_VERSION > 8
    Tcl_Obj *prefix = Tcl_NewListObj(1, &word);
    Tcl_ListObjAppendList(NULL, prefix, rest);
#else
    Tcl_Obj *prefix = Tcl_ObjPrintf("${%s} %s", command, Tcl_GetString(rest));
    Tcl_SetVar2Ex(state->interp, command, NULL, word, TCL_GLOBAL_ONLY);
#endif
    return prefix;
}

void EtwTclintAliasFailed(Tcl_Interp *interp)
{
    ((Interp *)interp)->flags |= ERR_ALREADY_LOGGED;
}

bool EtwTclintCheckScript(Tcl_Interp *interp)
{
    Tcl_Obj *words[2] = {Tcl_NewStringObj("list", -1), Tcl_NewStringObj("runs", -1)};
    Tcl_Obj *look = Tcl_NewStringObj("no such; script", -1);
    Tcl_IncrRefCount(look);
    Tcl_Obj *script = EtwTclintAlias(look, 2, words);
    Tcl_IncrRefCount(script);
    bool ok = Tcl_EvalObjEx(interp, script, TCL_EVAL_GLOBAL) == TCL_OK &&
              strcmp(Tcl_GetStringResult(interp), "runs") == 0 &&
              strcmp(Tcl_GetString(script), Tcl_GetString(look)) == 0;
    Tcl_DecrRefCount(script);
    Tcl_DecrRefCount(look);
    Tcl_ResetResult(interp);
    return ok;
}

#endif
