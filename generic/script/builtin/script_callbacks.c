/*
 * script/builtin/script_callbacks.c --
 *
 *	Callbacks of the event loop: scripts passed to after, fileevent, fcopy and `socket -server`
 *	are replaced by scripts that report when they run and how long they were queued. Commands
 *	that return a callback's script (`after info`, `fileevent`) return the original one (see
 *	aliasScript in script_int.h). Callbacks that were set before tracing began are not reported.
 */
#include "script/builtin/builtin_wrappers.h"
#include "script/script_text.h"
#include "base/alloc.h"
#include "base/os.h"
#include "base/wide.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char command[] =
        "::tcl::unsupported::etwCallback"; /* a namespace of every interpreter */

/* ---- When the event loop last checked for events ---------------------------------------------- */

static __thread uint64_t loopTime; /* ticks */
static __thread bool watching;

static void loopCheck(ClientData clientData, int flags)
{
    (void)clientData;
    (void)flags;
    loopTime = OsTicks();
}

static void loopSetup(ClientData clientData, int flags)
{
    (void)clientData;
    (void)flags;
}

/* Installed until the thread ends. Costs one clock read after each wait of the event loop. */
static void watchLoop(void)
{
    if (!watching) {
        watching = true;
        Tcl_CreateEventSource(loopSetup, loopCheck, NULL);
    }
}

/* ---- The origin of a callback ---------------------------------------------------------------- */

/* Describes a callback; reference-counted by the values that contain it. */
typedef struct Origin {
    int refs;
    const char *kind;
    uint64_t id;  /* of its event Schedule */
    uint64_t due; /* ticks; 0: when the event loop has noticed the event */
} Origin;

static void originFree(Tcl_Obj *obj)
{
    Origin *origin = obj->internalRep.twoPtrValue.ptr1;
    if (--origin->refs == 0) {
        EtwFree(origin);
    }
}

static void originCopy(Tcl_Obj *from, Tcl_Obj *to)
{
    Origin *origin = from->internalRep.twoPtrValue.ptr1;
    origin->refs++;
    to->internalRep = from->internalRep;
    to->typePtr = from->typePtr;
}

/* Its string is the kind. Only the string remains when a conversion removes the type. */
static const Tcl_ObjType originType = {
        .name = "etwCallback", .freeIntRepProc = originFree, .dupIntRepProc = originCopy};

static Tcl_Obj *originObj(const char *kind, uint64_t id, uint64_t due)
{
    Tcl_Obj *obj = Tcl_NewStringObj(kind, -1);
    Origin *origin = EtwAlloc(sizeof *origin);
    *origin = (Origin){.refs = 1, .kind = kind, .id = id, .due = due};
    obj->internalRep.twoPtrValue.ptr1 = origin;
    obj->typePtr = &originType;
    return obj;
}

static uint64_t waited(const Origin *origin)
{
    uint64_t now = OsTicks(), from = origin && origin->due ? origin->due : loopTime;
    return from != 0 && now > from ? EtwScriptNanoseconds(now - from) : 0;
}

/* ---- Running a callback ---------------------------------------------------------------------- */

/* The script with the words that the caller has appended: as list elements, or as text separated by blanks. */
static Tcl_Obj *wholeScript(Tcl_Obj *script, bool list, int objc, Tcl_Obj *const objv[])
{
    Tcl_Obj *whole = objc > 0 ? Tcl_DuplicateObj(script) : script;
    for (int i = 0; i < objc; i++) {
        if (list) {
            Tcl_ListObjAppendElement(NULL, whole, objv[i]);
        } else {
            Tcl_AppendToObj(whole, " ", 1);
            Tcl_AppendObjToObj(whole, objv[i]);
        }
    }
    return whole;
}

/* Tcl keeps the prefix of `socket -server` as text: the origin is a word such as accept17. */
static uint64_t acceptId(Tcl_Obj *origin)
{
    const char *text = Tcl_GetString(origin);
    return strncmp(text, "accept", 6) == 0 ? strtoull(text + 6, NULL, 10) : 0;
}

/* etwCallback ORIGIN SCRIPT ?ARG ...? */
static int runNre(ClientData clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    EtwScriptState *state = EtwScriptStateOf(interp);
    (void)clientData;
    etwHookLayer->aliasEntered(objv[0]);
    if (objc < 3) {
        Tcl_WrongNumArgs(interp, 1, objv, "origin script ?arg ...?");
        return TCL_ERROR;
    }
    const Origin *origin =
            objv[1]->typePtr == &originType ? objv[1]->internalRep.twoPtrValue.ptr1 : NULL;
    Tcl_Obj *script = wholeScript(objv[2], origin != NULL, objc - 3, objv + 3);
    Tcl_IncrRefCount(script);
    EtwBlock block = {.kind = origin ? origin->kind : "accept",
            .enter = ETW_SCRIPT_CALLBACK_ENTER,
            .leave = ETW_SCRIPT_CALLBACK_LEAVE,
            .aliased = true,
            .origin = origin ? origin->id : acceptId(objv[1])};
    if (origin != NULL) {
        etwHookLayer->aliasRuns(interp, script);
    }
    if (state != NULL && !Tcl_InterpDeleted(interp)) {
        EtwBlockBegin(state, interp, &block, script, waited(origin));
    }
    int result = Tcl_NREvalObj(interp, script, TCL_EVAL_GLOBAL | (origin ? 0 : TCL_EVAL_DIRECT));
    Tcl_DecrRefCount(script); /* the evaluation has a reference */
    return result;
}

static int runObj(ClientData clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    return Tcl_NRCallObjProc(interp, runNre, clientData, objc, objv);
}

/* ---- Replacing scripts ----------------------------------------------------------------------- */

static bool wanted(const EtwWrapCall *use)
{
    Tcl_CmdInfo info;
    if (!EtwScriptOn(ETW_KEYWORD_EVENT) || etwHookLayer->aliasScript == NULL) {
        return false;
    }
    watchLoop();
    if (!Tcl_GetCommandInfo(use->interp, command, &info)) {
        Tcl_NRCreateCommand(use->interp, command, runObj, runNre, NULL, NULL);
    }
    return true;
}

/*
 * A script that is a list without a string keeps that form, because its words may be large values. The alias needs the string:
 * the callback is not reported if that is long.
 */
static Tcl_Obj *aliased(const EtwWrapCall *use, Tcl_Obj *script, const char *kind, uint64_t due)
{
    enum { LONGEST = 4096 };
    Tcl_Obj *look = EtwScriptTextExact(script, LONGEST);
    if (look == NULL) {
        return script;
    }
    Tcl_Obj *words[3] = {etwHookLayer->aliasWord(use->hook->state, command),
            originObj(kind, EtwScriptNewId(use->hook->state), due), script};
    Tcl_IncrRefCount(look);
    Tcl_Obj *alias = etwHookLayer->aliasScript(look, 3, words);
    Tcl_DecrRefCount(look);
    return alias;
}

/* The words of an aliased script; NULL: not an aliased script. */
static Tcl_Obj **aliasWords(Tcl_Obj *script)
{
    Tcl_Size count;
    Tcl_Obj **words;
    if (!EtwScriptTextIsList(script) ||
            Tcl_ListObjGetElements(NULL, script, &count, &words) != TCL_OK || count != 3 ||
            words[1]->typePtr != &originType) {
        return NULL;
    }
    return words;
}

/* The original of an aliased script; NULL: not an aliased script. */
static Tcl_Obj *unaliased(Tcl_Obj *script)
{
    Tcl_Obj **words = aliasWords(script);
    return words != NULL ? words[2] : NULL;
}

/* The command has set this callback, if it is an aliased script. */
static void reportSet(const EtwWrapCall *use, Tcl_Obj *callback)
{
    Tcl_Obj **words = aliasWords(callback);
    if (words != NULL && use->hook->state->interp != NULL) {
        const Origin *origin = words[1]->internalRep.twoPtrValue.ptr1;
        EtwWriteSchedule(use->hook->state, origin->id, origin->kind, words[2]);
    }
}

/* Run the command with one word replaced. */
static int runWith(const EtwWrapCall *use, int at, Tcl_Obj *word)
{
    Tcl_Obj **words = EtwAlloc((size_t)use->objc * sizeof *words);
    memcpy(words, use->objv, (size_t)use->objc * sizeof *words);
    words[at] = word;
    Tcl_IncrRefCount(word);
    int result = EtwWrapRun(use, use->objc, words);
    if (result == TCL_OK) {
        reportSet(use, word);
    }
    Tcl_DecrRefCount(word);
    EtwFree(words);
    return result;
}

static bool isPrefix(Tcl_Obj *word, const char *of, size_t atLeast)
{
    const char *text = Tcl_GetString(word);
    return strlen(text) >= atLeast && strncmp(text, of, strlen(text)) == 0;
}

/* after MS SCRIPT ..., after idle SCRIPT ... */
static int runAfter(const EtwWrapCall *use, const char *kind, Tcl_WideInt ms)
{
    uint64_t ticks = EtwShift32Div((uint64_t)(ms > 0 ? ms : 0) * 1000000, etwScriptScale);
    Tcl_Obj *script = use->objc == 3 ? use->objv[2] : Tcl_ConcatObj(use->objc - 2, use->objv + 2);
    Tcl_IncrRefCount(script);
    Tcl_Obj *words[3] = {use->objv[0], use->objv[1], aliased(use, script, kind, OsTicks() + ticks)};
    Tcl_IncrRefCount(words[2]);
    int result = EtwWrapRun(use, 3, words);
    if (result == TCL_OK) {
        reportSet(use, words[2]);
    }
    Tcl_DecrRefCount(words[2]);
    Tcl_DecrRefCount(script);
    return result;
}

/* after info ID: {SCRIPT timer|idle} */
static int runAfterInfo(const EtwWrapCall *use)
{
    int result = EtwWrapRun(use, use->objc, use->objv);
    Tcl_Obj *answer = Tcl_GetObjResult(use->interp), *first, *second, *script;
    if (result == TCL_OK && Tcl_ListObjIndex(NULL, answer, 0, &first) == TCL_OK &&
            Tcl_ListObjIndex(NULL, answer, 1, &second) == TCL_OK && second != NULL &&
            (script = unaliased(first)) != NULL) {
        Tcl_Obj *words[2] = {script, second};
        Tcl_SetObjResult(use->interp, Tcl_NewListObj(2, words));
    }
    return result;
}

int EtwWrapAfter(const EtwWrapCall *use)
{
    Tcl_WideInt ms;
    if (use->objc == 2 && Tcl_GetWideIntFromObj(NULL, use->objv[1], &ms) == TCL_OK && ms > 0) {
        return EtwWrapWait(use);
    }
    if (use->objc == 3 && isPrefix(use->objv[1], "info", 2)) {
        return runAfterInfo(use);
    }
    if (use->objc < 3 || !wanted(use)) {
        return EtwWrapRun(use, use->objc, use->objv);
    }
    if (isPrefix(use->objv[1], "idle", 2)) {
        return runAfter(use, "idle", 0);
    }
    return Tcl_GetWideIntFromObj(NULL, use->objv[1], &ms) == TCL_OK
                   ? runAfter(use, "after", ms < INT32_MAX ? ms : INT32_MAX)
                   : EtwWrapRun(use, use->objc, use->objv);
}

/* fileevent CHAN readable|writable ?SCRIPT? */
int EtwWrapFileevent(const EtwWrapCall *use)
{
    if (use->objc == 4 && *Tcl_GetString(use->objv[3]) != '\0' && wanted(use)) {
        const char *kind = Tcl_GetString(use->objv[2])[0] == 'w' ? "writable" : "readable";
        return runWith(use, 3, aliased(use, use->objv[3], kind, 0));
    }
    int result = EtwWrapRun(use, use->objc, use->objv);
    Tcl_Obj *script = unaliased(Tcl_GetObjResult(use->interp));
    if (script != NULL) {
        Tcl_SetObjResult(use->interp, script);
    }
    return result;
}

/* fcopy IN OUT ?-size N? ?-command PREFIX? */
int EtwWrapCopy(const EtwWrapCall *use)
{
    Tcl_Size length;
    bool blocking = true;
    for (int i = 3; i + 1 < use->objc; i += 2) {
        if (isPrefix(use->objv[i], "-command", 2) &&
                Tcl_ListObjLength(NULL, use->objv[i + 1], &length) == TCL_OK && wanted(use)) {
            return runWith(use, i + 1, aliased(use, use->objv[i + 1], "copy", 0));
        }
        blocking = blocking && !isPrefix(use->objv[i], "-command", 2);
    }
    return blocking ? EtwWrapBlockingCopy(use) : EtwWrapRun(use, use->objc, use->objv);
}

/* socket -server PREFIX ?-myaddr ADDR? PORT. Tcl keeps the prefix as text and appends channel, address and port. */
Tcl_Obj **EtwServerWords(const EtwWrapCall *use, uint64_t *originPtr, Tcl_Obj **scriptPtr)
{
    int at = 1;
    while (at + 1 < use->objc && !isPrefix(use->objv[at], "-server", 2)) {
        at += *Tcl_GetString(use->objv[at]) == '-' && !isPrefix(use->objv[at], "-async", 2) ? 2 : 1;
    }
    if (at + 1 >= use->objc || !wanted(use)) {
        return NULL;
    }
    Tcl_Obj **words = EtwAlloc((size_t)use->objc * sizeof *words);
    *originPtr = EtwScriptNewId(use->hook->state);
    char word[32];
    snprintf(word, sizeof word, "accept%llu", (unsigned long long)*originPtr);
    Tcl_Obj *parts[2] = {Tcl_NewStringObj(word, -1), use->objv[at + 1]};
    Tcl_Obj *rest = Tcl_NewListObj(2, parts);
    *scriptPtr = use->objv[at + 1];
    Tcl_IncrRefCount(rest);
    for (int i = 0; i < use->objc; i++) {
        words[i] = i == at + 1 ? etwHookLayer->aliasPrefix(use->hook->state, command, rest)
                               : use->objv[i];
        Tcl_IncrRefCount(words[i]);
    }
    Tcl_DecrRefCount(rest);
    return words;
}
