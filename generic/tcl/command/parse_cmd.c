/*
 * tcl/command/parse_cmd.c --
 *
 *	For parts of the package in Tcl: ::etw::lib::parse splits a script into its commands, and these into
 *	words, with Tcl's own parser. Nothing is evaluated.
 *
 *	parse script TEXT	a list with a dict for each command: `from` and `to`, its place; `words`, a list of
 *				{FROM TO KIND}; `scripts`, a list of {FROM TO}, the scripts in brackets in its words
 *	parse expr TEXT		a list of {FROM TO}, the scripts in brackets in an expression
 *
 *	Places are indices of characters, TO is behind the last one. KIND is `braced`, `plain` (without substitutions) or
 *	`other`; FROM and TO of a word in braces or quotes are those of its content. An error has the errorCode
 *	{ETW FORMAT SCRIPT FROM}: the place of the command that is wrong.
 */
#include "tcl/core/tclglue.h"

/* Converts places in bytes to places in characters, counting from the place before. */
typedef struct Places {
    const char *text;
    Tcl_Size byte, character;
} Places;

static Tcl_Obj *placeOf(Places *places, const char *at)
{
    Tcl_Size byte = (Tcl_Size)(at - places->text);
    if (byte < places->byte) {
        places->character -= Tcl_NumUtfChars(at, places->byte - byte);
    } else {
        places->character += Tcl_NumUtfChars(places->text + places->byte, byte - places->byte);
    }
    places->byte = byte;
    return Tcl_NewWideIntObj(places->character);
}

static Tcl_Obj *rangeOf(Places *places, const char *from, Tcl_Size size)
{
    Tcl_Obj *range[2] = {placeOf(places, from), placeOf(places, from + size)};
    return Tcl_NewListObj(2, range);
}

/* Add the ranges of the command substitutions among tokens, without the brackets. */
static void addScripts(Places *places, const Tcl_Token *tokens, Tcl_Size count, Tcl_Obj *scripts)
{
    for (Tcl_Size i = 0; i < count; i++) {
        if (tokens[i].type == TCL_TOKEN_COMMAND && tokens[i].size >= 2) {
            Tcl_ListObjAppendElement(
                    NULL, scripts, rangeOf(places, tokens[i].start + 1, tokens[i].size - 2));
        }
    }
}

/* A word in braces that contains a backslash-newline is not a simple one for Tcl. */
static Tcl_Obj *wordOf(Places *places, const Tcl_Token *token)
{
    bool braced = token->type != TCL_TOKEN_EXPAND_WORD && *token->start == '{';
    bool simple = token->type == TCL_TOKEN_SIMPLE_WORD;
    Tcl_Obj *word = braced   ? rangeOf(places, token->start + 1, token->size - 2)
                    : simple ? rangeOf(places, token[1].start, token[1].size)
                             : rangeOf(places, token->start, token->size);
    Tcl_ListObjAppendElement(NULL, word,
            Tcl_NewStringObj(braced   ? "braced"
                             : simple ? "plain"
                                      : "other",
                    -1));
    return word;
}

static Tcl_Obj *commandOf(Places *places, const Tcl_Parse *parse)
{
    Tcl_Obj *command = Tcl_NewDictObj(), *words = Tcl_NewListObj(0, NULL),
            *scripts = Tcl_NewListObj(0, NULL);
    const Tcl_Token *token = parse->tokenPtr;
    const Tcl_Token *last = token;
    for (Tcl_Size i = 0; i < parse->numWords; i++, token += token->numComponents + 1) {
        Tcl_ListObjAppendElement(NULL, words, wordOf(places, token));
        addScripts(places, token + 1, token->numComponents, scripts);
        last = token;
    }
    Tcl_DictObjPut(
            NULL, command, Tcl_NewStringObj("from", -1), placeOf(places, parse->tokenPtr->start));
    Tcl_DictObjPut(
            NULL, command, Tcl_NewStringObj("to", -1), placeOf(places, last->start + last->size));
    Tcl_DictObjPut(NULL, command, Tcl_NewStringObj("words", -1), words);
    Tcl_DictObjPut(NULL, command, Tcl_NewStringObj("scripts", -1), scripts);
    return command;
}

static int fail(Tcl_Interp *interp, Places *places, const char *at)
{
    Tcl_Obj *code[4] = {Tcl_NewStringObj("ETW", -1), Tcl_NewStringObj("FORMAT", -1),
            Tcl_NewStringObj("SCRIPT", -1), placeOf(places, at)};
    Tcl_SetObjErrorCode(interp, Tcl_NewListObj(4, code));
    return TCL_ERROR;
}

static int parseScript(Tcl_Interp *interp, const char *text, Tcl_Size size)
{
    Places places = {.text = text};
    Tcl_Obj *list = Tcl_NewListObj(0, NULL);
    const char *at = text, *end = text + size;
    while (at < end) {
        Tcl_Parse parse;
        if (Tcl_ParseCommand(interp, at, (Tcl_Size)(end - at), 0, &parse) != TCL_OK) {
            Tcl_DecrRefCount(list);
            return fail(interp, &places, at);
        }
        if (parse.numWords > 0) {
            Tcl_ListObjAppendElement(NULL, list, commandOf(&places, &parse));
        }
        at = parse.commandStart + parse.commandSize;
        Tcl_FreeParse(&parse);
    }
    Tcl_SetObjResult(interp, list);
    return TCL_OK;
}

static int parseExpr(Tcl_Interp *interp, const char *text, Tcl_Size size)
{
    Places places = {.text = text};
    Tcl_Obj *list;
    Tcl_Parse parse;
    if (Tcl_ParseExpr(interp, text, size, &parse) != TCL_OK) {
        return fail(interp, &places, text);
    }
    list = Tcl_NewListObj(0, NULL);
    addScripts(&places, parse.tokenPtr, parse.numTokens, list);
    Tcl_FreeParse(&parse);
    Tcl_SetObjResult(interp, list);
    return TCL_OK;
}

static int parseCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    static const char *const kinds[] = {"expr", "script", NULL};
    Tcl_Size size;
    int kind;
    (void)clientData;

    if (objc != 3) {
        Tcl_WrongNumArgs(interp, 1, objv, "kind text");
        return TCL_ERROR;
    }
    if (Tcl_GetIndexFromObjStruct(interp, objv[1], kinds, sizeof *kinds, "kind", 0, &kind) !=
            TCL_OK) {
        return TCL_ERROR;
    }
    const char *text = Tcl_GetStringFromObj(objv[2], &size);
    return kind == 0 ? parseExpr(interp, text, size) : parseScript(interp, text, size);
}

void EtwParseInit(Tcl_Interp *interp)
{
    Tcl_CreateObjCommand(interp, "::etw::lib::parse", parseCmd, NULL, NULL);
}
