/*
 * script/builtin/script_channels.c --
 *
 *	Events of keyword `channel`: transfers through channels, and opening them (puts, gets, read,
 *	flush, fcopy, close, open, socket, exec). An event is written after the command. Byte counts refer
 *	to Tcl's data (a byte array, otherwise UTF-8) before translation and encoding; `gets CHAN VAR`
 *	counts characters. fcopy in the background and the channels' buffering are not traced.
 */
#include "script/builtin/builtin_wrappers.h"
#include "script/script_fields.h"
#include "script/script_redact.h"

/* The fields of an event except its duration. */
typedef struct Done {
    const char *operation;
    Tcl_Obj *channel; /* NULL: no channel */
    uint64_t bytes;
    Tcl_Obj *detail; /* NULL: none */
} Done;

static void addName(EtwPieces *p, char size[2], const char *name)
{
    EtwPiecesRaw(p, size, 2);
    EtwFieldBegin(p, ETW_NAME_MAX);
    EtwFieldTcl(p, name, strlen(name));
    put16(size, EtwFieldEnd(p));
}

static void writeDone(EtwScriptState *state, const Done *done, uint64_t ns, int code)
{
    const EtwRule *rule = EtwBuiltinRule(state);
    char operation[2], channel[2], fixed[20], detail[2];
    EtwPieces p;

    EtwPiecesBegin(&p, state);
    addName(&p, operation, done->operation);
    addName(&p, channel, done->channel ? Tcl_GetString(done->channel) : "");
    EtwStore64(fixed, done->bytes);
    EtwStore64(fixed + 8, ns);
    EtwStore32(fixed + 16, (uint32_t)code);
    EtwPiecesRaw(&p, fixed, sizeof fixed);
    EtwPiecesRaw(&p, detail, sizeof detail);
    EtwFieldBegin(&p, rule->maxLength);
    if (done->detail != NULL && rule->options.args) {
        EtwFieldValue(&p, done->detail, rule);
    }
    put16(detail, EtwFieldEnd(&p));
    EtwScriptWrite(state, rule, ETW_SCRIPT_CHANNEL, p.data, p.count, NULL);
}

static inline bool wanted(void)
{
    return EtwScriptOn(ETW_KEYWORD_CHANNEL);
}

static inline int plain(const EtwWrapCall *use)
{
    return EtwWrapRun(use, use->objc, use->objv);
}

/* Called when the command has ended and *done is complete. */
static void writeOperation(const EtwWrapCall *use, uint64_t since, const Done *done, int code)
{
    if (use->hook->state->interp != NULL) {
        writeDone(use->hook->state, done, EtwScriptNanoseconds(OsTicks() - since), code);
    }
}

/* puts ?-nonewline? ?CHAN? TEXT */
int EtwWrapPuts(const EtwWrapCall *use)
{
    if (!wanted() || use->objc < 2 || use->objc > 4) {
        return plain(use);
    }
    bool cut = use->objc > 2 && strcmp(Tcl_GetString(use->objv[1]), "-nonewline") == 0;
    bool named = use->objc == (cut ? 4 : 3);
    Tcl_Obj *channel = named ? use->objv[use->objc - 2] : Tcl_NewStringObj("stdout", -1);
    Done done = {"write", channel, EtwScriptTextBytes(use->objv[use->objc - 1]) + !cut, NULL};
    Tcl_IncrRefCount(channel);
    uint64_t since = OsTicks();
    int code = plain(use);
    writeOperation(use, since, &done, code);
    Tcl_DecrRefCount(channel);
    return code;
}

/* gets CHAN ?VAR? */
int EtwWrapGets(const EtwWrapCall *use)
{
    Tcl_WideInt count = -1;
    uint64_t since = OsTicks();
    if (!wanted() || use->objc < 2) {
        return plain(use);
    }
    int code = plain(use);
    Tcl_Obj *result = Tcl_GetObjResult(use->interp);
    Done done = {"read", use->objv[1], 0, NULL};
    if (code == TCL_OK && use->objc == 2) {
        done.bytes = EtwScriptTextBytes(result) + 1;
    } else if (code == TCL_OK && Tcl_GetWideIntFromObj(NULL, result, &count) == TCL_OK) {
        done.bytes = (uint64_t)(count + 1);
    }
    writeOperation(use, since, &done, code);
    return code;
}

/* read ?-nonewline? CHAN, read CHAN ?N? */
int EtwWrapRead(const EtwWrapCall *use)
{
    uint64_t since = OsTicks();
    if (!wanted() || use->objc < 2) {
        return plain(use);
    }
    int code = plain(use);
    int at = use->objc > 2 && strcmp(Tcl_GetString(use->objv[1]), "-nonewline") == 0 ? 2 : 1;
    Done done = {"read", use->objv[at], 0, NULL};
    done.bytes = code == TCL_OK ? EtwScriptTextBytes(Tcl_GetObjResult(use->interp)) : 0;
    writeOperation(use, since, &done, code);
    return code;
}

static int runWithoutBytes(const EtwWrapCall *use, const char *operation)
{
    uint64_t since = OsTicks();
    if (!wanted() || use->objc < 2) {
        return plain(use);
    }
    int code = plain(use);
    writeOperation(use, since, &(Done){operation, use->objv[1], 0, NULL}, code);
    return code;
}

/* close CHAN ?DIRECTION? */
int EtwWrapClose(const EtwWrapCall *use)
{
    return runWithoutBytes(use, "close");
}

int EtwWrapFlush(const EtwWrapCall *use)
{
    return runWithoutBytes(use, "flush");
}

/* fcopy IN OUT ?-size N? */
int EtwWrapBlockingCopy(const EtwWrapCall *use)
{
    Tcl_WideInt count = 0;
    uint64_t since = OsTicks();
    if (!wanted() || use->objc < 3) {
        return plain(use);
    }
    int code = plain(use);
    if (code == TCL_OK) {
        Tcl_GetWideIntFromObj(NULL, Tcl_GetObjResult(use->interp), &count);
    }
    writeOperation(use, since, &(Done){"copy", use->objv[1], (uint64_t)count, NULL}, code);
    return code;
}

/* The words after the command's name say what is opened; the result is the channel. */
static int runOpen(const EtwWrapCall *use, const char *operation, Tcl_Obj *const words[])
{
    uint64_t since = OsTicks();
    int code = EtwWrapRun(use, use->objc, words);
    bool named = code == TCL_OK && strcmp(operation, "exec") != 0;
    Done done = {operation, named ? Tcl_GetObjResult(use->interp) : NULL, 0, NULL};
    done.detail = Tcl_NewListObj(use->objc - 1, use->objv + 1);
    Tcl_IncrRefCount(done.detail);
    writeOperation(use, since, &done, code);
    Tcl_DecrRefCount(done.detail);
    return code;
}

int EtwWrapOpen(const EtwWrapCall *use)
{
    if (!wanted() || use->objc < 2) {
        return plain(use);
    }
    return runOpen(use, strcmp(use->hook->name, "::exec") == 0 ? "exec" : "open", use->objv);
}

int EtwWrapSocket(const EtwWrapCall *use)
{
    uint64_t origin;
    Tcl_Obj *script;
    Tcl_Obj **words = EtwServerWords(use, &origin, &script);
    Tcl_Obj *const *objv = words ? words : use->objv;
    int code = wanted() && use->objc > 1 ? runOpen(use, "socket", objv)
                                         : EtwWrapRun(use, use->objc, objv);
    if (words != NULL && code == TCL_OK && use->hook->state->interp != NULL) {
        EtwWriteSchedule(use->hook->state, origin, "accept", script);
    }
    for (int i = 0; words != NULL && i < use->objc; i++) {
        Tcl_DecrRefCount(words[i]);
    }
    EtwFree(words);
    return code;
}
