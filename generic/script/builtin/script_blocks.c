/*
 * script/builtin/script_blocks.c --
 *
 *	Blocks: operations that have an enter and a leave event and nest among the calls, but are
 *	not traced commands: callbacks, waits in the event loop, `package require`. And waits, which run
 *	nothing and so have one event.
 */
#include "script/builtin/builtin_wrappers.h"
#include "script/script_fields.h"
#include "script/script_redact.h"

/* ---- Events ---------------------------------------------------------------------------------- */

/* What `-args 0` leaves of the command: `package require NAME`, or the first word of a callback. */
static Tcl_Obj *nameOf(const EtwBlock *block, Tcl_Obj *command)
{
    Tcl_Size count;
    Tcl_Obj **words;
    if (block->enter == ETW_SCRIPT_PACKAGE_ENTER &&
            Tcl_ListObjGetElements(NULL, command, &count, &words) == TCL_OK && count > 2) {
        Tcl_Obj *name[3] = {words[0], words[1], words[2]};
        if (count > 3 && *Tcl_GetString(name[2]) == '-') { /* -exact */
            name[2] = words[3];
        }
        return Tcl_NewListObj(3, name);
    }
    if (command->bytes == NULL && EtwScriptTextIsList(command) &&
            Tcl_ListObjGetElements(NULL, command, &count, &words) == TCL_OK && count > 0) {
        return words[0];
    }
    const char *text = Tcl_GetString(command);
    text += strspn(text, " \t\n;");
    return Tcl_NewStringObj(text, (Tcl_Size)strcspn(text, " \t\n;"));
}

static uint64_t writeEnter(const EtwBlock *block, Tcl_Obj *command, uint64_t queued)
{
    char head[16], tail[2 + ETW_NAME_MAX + 64], *at;
    const EtwRule *rule = EtwBuiltinRule(block->state);
    EtwCallSite place;
    EtwPieces p;

    etwHookLayer->place(block->state, &place, false);
    at = EtwPutContext(tail, block->state, &place);
    if (block->enter == ETW_SCRIPT_CALLBACK_ENTER) {
        at = putText(at, block->kind, strlen(block->kind));
        EtwStore64(at, queued);
        EtwStore64(at + 8, block->origin);
        at += 16;
    }
    EtwPiecesBegin(&p, block->state);
    EtwPiecesRaw(&p, head, (size_t)(putHead(head, &block->call) + 2 - head));
    EtwFieldBegin(&p, rule->maxLength);
    Tcl_Obj *shown = rule->options.args ? command : nameOf(block, command);
    Tcl_IncrRefCount(shown);
    EtwFieldValue(&p, shown, rule);
    Tcl_DecrRefCount(shown);
    put16(head + 10, EtwFieldEnd(&p));
    EtwPiecesRaw(&p, tail, (size_t)(at - tail));
    return EtwScriptWrite(block->state, rule, block->enter, p.data, p.count, NULL);
}

void EtwWriteSchedule(EtwScriptState *state, uint64_t origin, const char *kind, Tcl_Obj *script)
{
    const EtwBlock block = {.enter = ETW_SCRIPT_CALLBACK_ENTER};
    const EtwRule *rule = EtwBuiltinRule(state);
    char head[ETW_NAME_MAX + 64], *at = putText(head + 8, kind, strlen(kind));
    EtwPieces p;

    EtwStore64(head, origin);
    EtwPiecesBegin(&p, state);
    EtwPiecesRaw(&p, head, (size_t)(at + 2 - head));
    EtwFieldBegin(&p, rule->maxLength);
    Tcl_Obj *shown = rule->options.args ? script : nameOf(&block, script);
    Tcl_IncrRefCount(shown);
    EtwFieldValue(&p, shown, rule);
    Tcl_DecrRefCount(shown);
    put16(at, EtwFieldEnd(&p));
    EtwScriptWrite(state, rule, ETW_SCRIPT_SCHEDULE, p.data, p.count, NULL);
}

/* The message is converted after taking the time: the duration excludes the conversion. */
static void writeFailedPackage(
        const EtwBlock *block, Tcl_Interp *interp, char *head, char *duration)
{
    const EtwRule *rule = EtwBuiltinRule(block->state);
    char *at = duration + 8;
    EtwPieces p;

    EtwStore64(duration, EtwScriptNanoseconds(OsTicks() - block->call.ticks));
    EtwPiecesBegin(&p, block->state);
    EtwPiecesRaw(&p, head, (size_t)(at + 2 - head));
    EtwFieldBegin(&p, rule->maxLength);
    if (rule->options.args) {
        EtwFieldValue(&p, Tcl_GetObjResult(interp), rule);
    }
    put16(at, EtwFieldEnd(&p));
    EtwScriptWrite(block->state, rule, block->leave, p.data, p.count, NULL);
}

static void writeLeave(const EtwBlock *block, Tcl_Interp *interp, int code)
{
    char head[ETW_NAME_MAX + 64], *duration = put32(putHead(head, &block->call), (uint32_t)code);
    bool package = block->leave == ETW_SCRIPT_PACKAGE_LEAVE;
    EtwElapsed elapsed = {(size_t)(duration - head), block->call.ticks, etwScriptScale};
    size_t size;
    char *end;

    if (package && code == TCL_ERROR) {
        writeFailedPackage(block, interp, head, duration);
        return;
    }
    const char *text = package ? Tcl_GetString(Tcl_GetObjResult(interp)) : block->kind;
    size = strlen(text) < ETW_NAME_MAX ? strlen(text) : 0;
    end = putText(duration + 8, text, EtwScriptTextNeedsConversion(text, size) ? 0 : size);
    EtwScriptWrite(
            block->state, NULL, block->leave, &(Etw_Data){head, (size_t)(end - head)}, 1, &elapsed);
}

static inline uint64_t keywordOf(const EtwBlock *block)
{
    return block->enter == ETW_SCRIPT_CALLBACK_ENTER ? ETW_KEYWORD_EVENT : ETW_KEYWORD_PACKAGE;
}

/* ---- Enter and leave ------------------------------------------------------------------------- */

static int blockEnd(ClientData data[], Tcl_Interp *interp, int result)
{
    EtwBlock *block = data[0];
    EtwNestEnd(block->state, interp, &block->call);
    if (EtwScriptOn(keywordOf(block))) {
        writeLeave(block, interp, result);
    }
    if (block->aliased && result == TCL_ERROR) {
        etwHookLayer->aliasFailed(interp);
    }
    EtwScriptStateDrop(block->state);
    EtwFree(block);
    return result;
}

void EtwBlockBegin(EtwScriptState *state, Tcl_Interp *interp, const EtwBlock *block,
        Tcl_Obj *command, uint64_t queued)
{
    EtwBlock *copy = EtwAlloc(sizeof *copy);
    *copy = *block;
    copy->state = state;
    state->refs++;
    EtwNestBegin(state, interp, &copy->call);
    Tcl_IncrRefCount(command);
    copy->call.ticks = writeEnter(copy, command, queued);
    Tcl_DecrRefCount(command);
    if (copy->call.ticks == 0) {
        copy->call.ticks = OsTicks();
    }
    Tcl_NRAddCallback(interp, blockEnd, copy, NULL, NULL, NULL);
}

/* ---- Waiting in the event loop, loading packages --------------------------------------------- */

static int runBlock(const EtwWrapCall *use, const EtwBlock *block)
{
    EtwBlockBegin(use->hook->state, use->interp, block, Tcl_NewListObj(use->objc, use->objv), 0);
    return EtwWrapRun(use, use->objc, use->objv);
}

/* vwait, update, tkwait */
int EtwWrapLoop(const EtwWrapCall *use)
{
    if ((use->hook->what & HOOK_CALL) || !EtwScriptOn(ETW_KEYWORD_EVENT)) {
        return EtwWrapRun(use, use->objc, use->objv);
    }
    return runBlock(use, &(EtwBlock){.kind = "loop",
                                 .enter = ETW_SCRIPT_CALLBACK_ENTER,
                                 .leave = ETW_SCRIPT_CALLBACK_LEAVE});
}

int EtwWrapPackage(const EtwWrapCall *use)
{
    const char *sub = use->objc > 2 ? Tcl_GetString(use->objv[1]) : "";
    if (strcmp(sub, "require") != 0 || !EtwScriptOn(ETW_KEYWORD_PACKAGE)) {
        return EtwWrapRun(use, use->objc, use->objv);
    }
    return runBlock(use, &(EtwBlock){.kind = "",
                                 .enter = ETW_SCRIPT_PACKAGE_ENTER,
                                 .leave = ETW_SCRIPT_PACKAGE_LEAVE});
}

/* ---- Waiting without the event loop ---------------------------------------------------------------- */

static void writeWait(const EtwWrapCall *use, uint64_t ns, int code)
{
    EtwScriptState *state = use->hook->state;
    const EtwRule *rule = EtwBuiltinRule(state);
    const char *name = EtwBuiltinName(use->hook->builtin) + 2;
    char head[ETW_NAME_MAX + 32], *at;
    EtwPieces p;

    at = putText(head, name, strlen(name));
    EtwStore64(at, ns);
    at = put32(at + 8, (uint32_t)code);
    EtwPiecesBegin(&p, state);
    EtwPiecesRaw(&p, head, (size_t)(at + 2 - head));
    EtwFieldBegin(&p, rule->maxLength);
    for (int i = 1; i < use->objc && rule->options.args; i++) {
        EtwFieldWord(&p, use->objv[i], rule);
    }
    put16(at, EtwFieldEnd(&p));
    EtwScriptWrite(state, rule, ETW_SCRIPT_WAIT, p.data, p.count, NULL);
}

int EtwWrapWait(const EtwWrapCall *use)
{
    if (!EtwScriptOn(ETW_KEYWORD_EVENT)) {
        return EtwWrapRun(use, use->objc, use->objv);
    }
    uint64_t since = OsTicks();
    int code = EtwWrapRun(use, use->objc, use->objv);
    uint64_t ticks = OsTicks() - since;
    if (use->hook->state->interp != NULL) {
        writeWait(use, EtwScriptNanoseconds(ticks), code);
    }
    return code;
}

/* thread::send ?-async? ?-head? ID SCRIPT ?VAR? */
int EtwWrapSend(const EtwWrapCall *use)
{
    bool async = use->objc > 1 && strcmp(Tcl_GetString(use->objv[1]), "-async") == 0;
    return async ? EtwWrapRun(use, use->objc, use->objv) : EtwWrapWait(use);
}
