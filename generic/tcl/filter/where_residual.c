/*
 * tcl/filter/where_residual.c --
 *
 *	The residual filter, which only Tcl can evaluate: one lambda that is called with the fields
 *	of events that pass the predicate. In it, && || ! and ?: combine parts that C can evaluate
 *	(predicates, whose results are arguments) and parts for Tcl. Each part is false for an event
 *	that lacks one of its fields, so that a comparison has the same meaning everywhere.
 */
#include "tcl/filter/where_int.h"
#include <ctype.h>

typedef EtwWhereSplit Split;

/* Beyond these limits a part is evaluated by Tcl as a whole. */
enum { MAX_PARTS = 1000, MAX_LOGIC = 1000 };

/* ---- The text -------------------------------------------------------------------------------- */

void EtwWhereAppend(Tcl_Obj **textPtr, const Tcl_Token *token)
{
    if (*textPtr == NULL) {
        *textPtr = Tcl_NewStringObj("(", 1);
        Tcl_IncrRefCount(*textPtr);
    } else {
        Tcl_AppendToObj(*textPtr, " && (", 5);
    }
    Tcl_AppendToObj(*textPtr, token->start, token->size);
    Tcl_AppendToObj(*textPtr, ")", 1);
}

/*
 * Collect names after a $ in text that Tcl will parse later (a braced word of a command): fields,
 * or variables of a lambda.
 */
static void collectFromText(Split *split, const char *text, Tcl_Size size)
{
    const char *end = text + size;

    for (; text < end; text++) {
        if (*text != '$') {
            continue;
        }
        const char *name = text + 1;
        const char *at = name;
        while (at < end && (isalnum((unsigned char)*at) || *at == '_')) {
            at++;
        }
        if (at - name == 5 && at < end && *at == '(' && strncmp(name, "props", 5) == 0) {
            const char *close = memchr(at, ')', (size_t)(end - at));
            at = close != NULL ? close + 1 : at;
        }
        if (at > name) {
            Tcl_DictObjPut(NULL, split->maybe, Tcl_NewStringObj(name, at - name), Tcl_NewObj());
        }
        text = at - 1;
    }
}

/* $NAME, $props(NAME) and durations are fields, $::NAME is a variable of Tcl. */
static void collectVariable(Tcl_Obj *names, Split *split, const Tcl_Token *at)
{
    bool indexed = at->numComponents > 1;
    bool props = at[1].size == 5 && strncmp(at[1].start, "props", 5) == 0 &&
                 at->numComponents == 2 && at[2].type == TCL_TOKEN_TEXT;
    const char *name = indexed ? at->start + 1 : at[1].start;
    Tcl_Size size = indexed ? at->size - 1 : at[1].size;

    for (Tcl_Size i = 0; i + 1 < at[1].size; i++) {
        if (at[1].start[i] == ':' && at[1].start[i + 1] == ':') {
            return;
        }
    }
    Tcl_Obj *field = Tcl_NewStringObj(name, size);
    Tcl_IncrRefCount(field);
    if (!indexed || props || EtwWhereIsDuration(at)) {
        Tcl_DictObjPut(NULL, names, field, Tcl_NewObj());
    } else if (split->wrong == NULL) {
        split->wrong = field;
        Tcl_IncrRefCount(field);
    }
    Tcl_DecrRefCount(field);
}

/*
 * Each variable below a token, also inside strings and commands, is a field that the residual
 * filter needs.
 */
static void collectNames(
        Tcl_Obj *names, Split *split, const Tcl_Token *token, int count, bool inCommand)
{
    for (int i = 0; i < count; i++) {
        const Tcl_Token *at = token + i;
        if (at->type == TCL_TOKEN_VARIABLE) {
            collectVariable(names, split, at);
        } else if (at->type == TCL_TOKEN_TEXT && inCommand) {
            collectFromText(split, at->start, at->size);
        } else if (at->type == TCL_TOKEN_COMMAND) {
            const char *start = at->start + 1;
            Tcl_Size left = at->size - 2;
            Tcl_Parse parse;
            while (left > 0 && Tcl_ParseCommand(NULL, start, left, 0, &parse) == TCL_OK) {
                collectNames(names, split, parse.tokenPtr, (int)parse.numTokens, true);
                left -= parse.commandStart + parse.commandSize - start;
                start = parse.commandStart + parse.commandSize;
                Tcl_FreeParse(&parse);
            }
        }
    }
}

/* A field's name cannot contain `\1` and `\2`, because control characters are escaped. */
#define REST "\001"
#define PART "\002"

/* True for the logical operators. */
static bool isLogic(const Tcl_Token *token)
{
    const Tcl_Token *operator= token + 1;
    return operator->type == TCL_TOKEN_OPERATOR &&(
            (operator->size == 1 &&(*operator->start == '!' || * operator->start == '?')) ||
            (operator->size == 2 &&(strncmp(operator->start, "&&", 2) == 0 ||
                                    strncmp(operator->start, "||", 2) == 0)));
}

static void addPart(Split *split, EtwNode *node, Tcl_Obj *text)
{
    split->parts = EtwRealloc(split->parts, sizeof(EtwNode *) * (size_t)(split->partCount + 1));
    split->parts[split->partCount] = node;
    Tcl_AppendPrintfToObj(text, "${" PART "%d}", split->partCount++);
}

/* "([info exists NAME] && ... (TEXT))" */
static void addGuarded(Split *split, const Tcl_Token *token, Tcl_Obj *text)
{
    Tcl_Obj *names = Tcl_NewDictObj();
    Tcl_Obj *key, *value;
    Tcl_DictSearch search;
    int done;

    Tcl_IncrRefCount(names);
    collectNames(names, split, token, (int)token->numComponents + 1, false);
    Tcl_AppendToObj(text, "(", 1);
    Tcl_DictObjFirst(NULL, names, &search, &key, &value, &done);
    for (; !done; Tcl_DictObjNext(&search, &key, &value, &done)) {
        Tcl_Obj *words[3] = {Tcl_NewStringObj("::info", -1), Tcl_NewStringObj("exists", -1), key};
        Tcl_Obj *command = Tcl_NewListObj(3, words);
        Tcl_AppendPrintfToObj(text, "[%s] && ", Tcl_GetString(command));
        Tcl_DecrRefCount(command);
        Tcl_DictObjPut(NULL, split->maybe, key, value);
    }
    Tcl_DecrRefCount(names);
    Tcl_AppendToObj(text, "(", 1);
    Tcl_AppendToObj(text, token->start, token->size);
    Tcl_AppendToObj(text, "))", 2);
}

static void addTruth(EtwWhereParser *p, Split *split, const Tcl_Token *token, Tcl_Obj *text)
{
    const Tcl_Token *operands[3];
    EtwNode *node = split->partCount < MAX_PARTS ? EtwWhereNode(p, token) : NULL;

    if (node != NULL) {
        addPart(split, node, text);
        return;
    }
    if (!isLogic(token) || split->depth >= MAX_LOGIC) {
        addGuarded(split, token, text);
        return;
    }
    split->depth++;
    int count = EtwWhereOperands(token, operands, 3);
    for (int i = 0; i < count; i++) {
        Tcl_AppendToObj(text, i ? " " : "(", 1);
        if (i == 2) {
            Tcl_AppendToObj(text, ": ", 2);
        } else if (i == 1 || count == 1) {
            Tcl_AppendToObj(text, token[1].start, token[1].size);
            Tcl_AppendToObj(text, " ", 1);
        }
        addTruth(p, split, operands[i], text);
    }
    split->depth--;
    Tcl_AppendToObj(text, ")", 1);
}

static Tcl_Obj *addRef(Tcl_Obj *obj)
{
    Tcl_IncrRefCount(obj);
    return obj;
}

void EtwWhereAddResidual(EtwWhereParser *p, const Tcl_Token *token, Split *split)
{
    if (split->tclText == NULL) {
        memcpy(split->reason, p->reason, sizeof split->reason);
        split->firstTcl = addRef(Tcl_NewStringObj(token->start, token->size));
        split->names = addRef(Tcl_NewDictObj());
        split->maybe = addRef(Tcl_NewDictObj());
    }
    EtwWhereAppend(&split->tclText, token);
    if (!isLogic(token)) {
        collectNames(split->names, split, token, (int)token->numComponents + 1, false);
        EtwWhereAppend(&split->residual, token);
        return;
    }
    if (split->residual == NULL) {
        split->residual = addRef(Tcl_NewObj());
    } else {
        Tcl_AppendToObj(split->residual, " && ", 4);
    }
    addTruth(p, split, token, split->residual);
}

void EtwWhereFreeResidual(Split *split)
{
    Tcl_Obj *objs[] = {split->tclText, split->residual, split->names, split->maybe, split->wrong,
            split->firstTcl};

    for (size_t i = 0; i < sizeof objs / sizeof objs[0]; i++) {
        if (objs[i] != NULL) {
            Tcl_DecrRefCount(objs[i]);
        }
    }
    for (int i = 0; i < split->partCount; i++) {
        EtwNodeFree(split->parts[i]);
    }
    EtwFree(split->parts);
}

/* ---- The lambda ------------------------------------------------------------------------------ */

/*
 * Add a required field as an argument. props(NAME) and time(NAME) are passed as scalars and stored in
 * arrays.
 */
static void addArgument(Tcl_Obj *field, Tcl_Obj *arguments, Tcl_Obj *body)
{
    Tcl_Obj *set[2];
    Tcl_Size count;

    if (strchr(Tcl_GetString(field), '(') == NULL) {
        Tcl_ListObjAppendElement(NULL, arguments, field);
        return;
    }
    Tcl_ListObjLength(NULL, arguments, &count);
    Tcl_Obj *argument = Tcl_ObjPrintf(REST "%d", (int)count);
    Tcl_ListObjAppendElement(NULL, arguments, argument);
    set[0] = Tcl_NewStringObj("set", -1);
    set[1] = field;
    Tcl_Obj *command = Tcl_NewListObj(2, set);
    Tcl_AppendPrintfToObj(body, "%s ${%s}; ", Tcl_GetString(command), Tcl_GetString(argument));
    Tcl_DecrRefCount(command);
}

/* {{f0 f1 ... \1 \0020 \0021 ...} {dict with \1 {}; expr {...}} ::} */
static void makeLambda(EtwWhere *where, const Split *split)
{
    Tcl_Obj *arguments = Tcl_NewListObj(0, NULL);
    Tcl_Obj *body = Tcl_NewObj();
    Tcl_Obj *expr = Tcl_NewListObj(0, NULL);
    Tcl_Obj *key, *value, *known;
    Tcl_DictSearch search;
    int done;

    where->fields = Tcl_NewListObj(0, NULL);
    Tcl_IncrRefCount(where->fields);
    Tcl_DictObjFirst(NULL, split->names, &search, &key, &value, &done);
    for (; !done; Tcl_DictObjNext(&search, &key, &value, &done)) {
        Tcl_ListObjAppendElement(NULL, where->fields, key);
        addArgument(key, arguments, body);
        where->required++;
    }
    Tcl_DictObjFirst(NULL, split->maybe, &search, &key, &value, &done);
    for (; !done; Tcl_DictObjNext(&search, &key, &value, &done)) {
        if (Tcl_DictObjGet(NULL, split->names, key, &known) == TCL_OK && known == NULL) {
            Tcl_ListObjAppendElement(NULL, where->fields, key);
        }
    }
    Tcl_ListObjAppendElement(NULL, arguments, Tcl_NewStringObj(REST, -1));
    for (int i = 0; i < split->partCount; i++) {
        Tcl_ListObjAppendElement(NULL, arguments, Tcl_ObjPrintf(PART "%d", i));
    }
    Tcl_AppendToObj(body, "dict with " REST " {}; ", -1);
    Tcl_ListObjAppendElement(NULL, expr, Tcl_NewStringObj("expr", -1));
    Tcl_ListObjAppendElement(NULL, expr, split->residual);
    Tcl_AppendObjToObj(body, expr);
    Tcl_DecrRefCount(expr);
    Tcl_Obj *parts[3] = {arguments, body, Tcl_NewStringObj("::", 2)};
    where->lambda = Tcl_NewListObj(3, parts);
    Tcl_IncrRefCount(where->lambda);
}

int EtwWhereMakeResidual(Tcl_Interp *interp, Split *split, EtwWhere *where)
{
    EtwError err = {0};

    where->tclText = split->tclText;
    split->tclText = NULL;
    where->parts = EtwAlloc(sizeof *where->parts * (size_t)(split->partCount + 1));
    for (int i = 0; i < split->partCount; i++) {
        EtwNode *node = split->parts[i];
        split->parts[i] = NULL;
        if (EtwPredicateNew(&where->parts[i], node, &err) != ETW_OK) {
            return EtwTclError(interp, &err);
        }
        where->partCount++;
    }
    makeLambda(where, split);
    return TCL_OK;
}

/* ---- Testing an event ------------------------------------------------------------------------ */

/*
 * True if the error was caused by reading a field that the event lacks. The last element of
 * `values` is the dict of the fields it has.
 */
static bool lacksField(Tcl_Interp *interp, const EtwWhere *where, Tcl_Obj *values)
{
    Tcl_Size wanted, there;
    Tcl_Obj *residual, *options, *code = NULL, *key;

    Tcl_ListObjLength(NULL, where->fields, &wanted);
    Tcl_ListObjIndex(NULL, values, where->required, &residual);
    Tcl_DictObjSize(NULL, residual, &there);
    if (there == wanted - where->required) {
        return false;
    }
    options = Tcl_GetReturnOptions(interp, TCL_ERROR);
    key = Tcl_NewStringObj("-errorcode", -1);
    Tcl_IncrRefCount(options);
    Tcl_IncrRefCount(key);
    Tcl_DictObjGet(NULL, options, key, &code);
    bool lacks = code != NULL && Tcl_StringMatch(Tcl_GetString(code), "TCL * VARNAME*");
    Tcl_DecrRefCount(key);
    Tcl_DecrRefCount(options);
    return lacks;
}

static int callLambda(Tcl_Interp *interp, const EtwWhere *where, EtwSchemaStore *store,
        const EtwEvent *event, Tcl_Obj *values, bool *passPtr)
{
    Tcl_Obj *apply[2] = {Tcl_NewStringObj("::apply", -1), where->lambda};
    Tcl_Obj *command = Tcl_NewListObj(2, apply);
    int flag = 0;

    Tcl_IncrRefCount(command);
    Tcl_ListObjAppendList(NULL, command, values);
    for (int i = 0; i < where->partCount; i++) {
        bool is = EtwPredicateTest(where->parts[i], store, event);
        Tcl_ListObjAppendElement(NULL, command, Tcl_NewBooleanObj(is));
    }
    int result = Tcl_EvalObjEx(interp, command, TCL_EVAL_GLOBAL | TCL_EVAL_DIRECT);
    Tcl_DecrRefCount(command);
    if (result == TCL_OK) {
        result = Tcl_GetBooleanFromObj(interp, Tcl_GetObjResult(interp), &flag);
    } else if (where->fields != NULL && lacksField(interp, where, values)) {
        result = TCL_OK; /* where->fields is NULL if the expression has ended the consumer */
    }
    *passPtr = flag != 0;
    return result;
}

int EtwWhereTest(Tcl_Interp *interp, const EtwWhere *where, EtwEventMaker *maker,
        const EtwEvent *event, bool *passPtr)
{
    *passPtr = where->lambda == NULL;
    Tcl_Obj *values = where->lambda ? EtwEventValues(maker, event, where->required) : NULL;
    if (values == NULL) {
        return TCL_OK;
    }
    Tcl_IncrRefCount(values);
    int result = callLambda(interp, where, EtwEventMakerStore(maker), event, values, passPtr);
    Tcl_DecrRefCount(values);
    if (result != TCL_OK) {
        Tcl_AddErrorInfo(interp, "\n    (\"-where\" expression)");
        return TCL_ERROR;
    }
    Tcl_ResetResult(interp);
    return TCL_OK;
}
