/*
 * tcl/filter/where.c --
 *
 *	Filter expressions: Tcl's parser (Tcl_ParseExpr) produces tokens, which this file converts to a predicate tree. The
 *	expression is split at its top-level &&. Parts that C can evaluate become the predicate; the others become the
 *	residual filter (where_residual.c). Also `etw where`.
 */
#include "tcl/filter/where_int.h"
#include "predicate/predicate_value.h"
#include <stdio.h>
#include <stdlib.h>

typedef EtwWhereParser Parser;
typedef EtwWhereSplit Split;

/*
 * Limits of a part and of the number of parts, which together are below the limits of a predicate.
 * The number of tokens limits recursion.
 */
enum { MAX_DEPTH = 160, MAX_PARTS = 80, MAX_TOKENS = 40000 };

static EtwNode *nodeOf(Parser *p, const Tcl_Token *token);

static EtwNode *refuse(Parser *p, const char *format, const char *text, int size)
{
    if (p->reason[0] == '\0') {
        snprintf(p->reason, sizeof p->reason, format, size > 100 ? 100 : size, text);
    }
    return NULL;
}

/* ---- Leaves ---------------------------------------------------------------------------------- */

static EtwNode *textNode(EtwOp op, const char *text, size_t size)
{
    EtwNode *node = EtwNodeNew(op, 0);

    node->text = EtwAlloc(size + 1);
    memcpy(node->text, text, size);
    node->size = size;
    return node;
}

static EtwNode *utf8Node(EtwOp op, Tcl_Obj *obj)
{
    Tcl_DString ds;
    size_t size;

    Tcl_DStringInit(&ds);
    const char *text = EtwUtf8Of(obj, &ds, &size);
    EtwNode *node = textNode(op, text, size);
    Tcl_DStringFree(&ds);
    return node;
}

/* A number, or NULL. 2^63 and above keep their bits, because they are used as masks. */
static EtwNode *numberNode(Tcl_Obj *obj)
{
    uint64_t u;
    Tcl_WideInt wide;
    double d;
    EtwNode *node = NULL;

    if (Tcl_GetWideIntFromObj(NULL, obj, &wide) == TCL_OK) {
        node = EtwNodeNew(ETW_OP_INT, 0);
        node->i = wide;
    } else if (EtwGetUint64(NULL, obj, &u) == TCL_OK) {
        node = EtwNodeNew(ETW_OP_INT, 0);
        node->i = (int64_t)u;
    } else if (Tcl_GetDoubleFromObj(NULL, obj, &d) == TCL_OK) {
        node = EtwNodeNew(ETW_OP_DOUBLE, 0);
        node->d = d;
    }
    return node;
}

/* A number or boolean word of the expression. Its text is kept for comparisons as strings. */
static EtwNode *literalNode(Parser *p, const Tcl_Token *token)
{
    Tcl_Obj *obj = Tcl_NewStringObj(token->start, token->size);
    int flag;

    Tcl_IncrRefCount(obj);
    EtwNode *node = numberNode(obj);
    if (node == NULL && Tcl_GetBooleanFromObj(NULL, obj, &flag) == TCL_OK) {
        node = EtwNodeNew(ETW_OP_INT, 0);
        node->i = flag;
    }
    if (node == NULL) {
        refuse(p, "\"%.*s\" is neither a number nor a boolean", token->start, (int)token->size);
    } else {
        node->text = EtwStrdup(Tcl_GetString(obj));
        node->size = strlen(node->text);
    }
    Tcl_DecrRefCount(obj);
    return node;
}

/*
 * The text of `count` TEXT and BS tokens; NULL if there are others. A new object with one
 * reference.
 */
static Tcl_Obj *constantText(const Tcl_Token *token, int count)
{
    Tcl_Obj *obj = Tcl_NewObj();
    char bytes[8];

    Tcl_IncrRefCount(obj);
    for (int i = 0; i < count; i++) {
        if (token[i].type == TCL_TOKEN_TEXT) {
            Tcl_AppendToObj(obj, token[i].start, token[i].size);
        } else if (token[i].type == TCL_TOKEN_BS) {
            Tcl_AppendToObj(obj, bytes, Tcl_UtfBackslash(token[i].start, NULL, bytes));
        } else {
            Tcl_DecrRefCount(obj);
            return NULL;
        }
    }
    return obj;
}

static EtwNode *stringNode(Parser *p, const Tcl_Token *tokens, int count, const Tcl_Token *whole)
{
    Tcl_Obj *text = constantText(tokens, count);

    if (text == NULL) {
        return refuse(p, "%.*s contains a substitution", whole->start, (int)whole->size);
    }
    EtwNode *node = utf8Node(ETW_OP_STRING, text);
    Tcl_DecrRefCount(text);
    return node;
}

bool EtwWhereIsDuration(const Tcl_Token *token)
{
    static const char *const names[] = {"$time(elapsed)", "$time(kernel)", "$time(user)"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if ((size_t)token->size == strlen(names[i]) &&
                strncmp(token->start, names[i], (size_t)token->size) == 0) {
            return true;
        }
    }
    return false;
}

/* $NAME, $props(NAME), or the duration $time(kernel), $time(user), $time(elapsed). */
static EtwNode *variableNode(Parser *p, const Tcl_Token *token)
{
    const Tcl_Token *name = token + 1;
    Tcl_Obj *field;
    EtwOp op = ETW_OP_FIELD;

    if (token->numComponents == 1) {
        field = Tcl_NewStringObj(name->start, name->size);
    } else if (name->size == 5 && strncmp(name->start, "props", 5) == 0 &&
               token->numComponents == 2 && token[2].type == TCL_TOKEN_TEXT) {
        field = Tcl_NewStringObj(token[2].start, token[2].size);
        op = ETW_OP_PROP;
    } else if (EtwWhereIsDuration(token)) {
        field = Tcl_NewStringObj(token->start + 1, token->size - 1);
    } else {
        return refuse(p, "%.*s " ETW_WHERE_NO_INDEX, token->start, (int)token->size);
    }
    Tcl_IncrRefCount(field);
    if (op == ETW_OP_FIELD && strstr(Tcl_GetString(field), "::") != NULL) {
        Tcl_DecrRefCount(field);
        return refuse(p, "%.*s is a variable, not a field", token->start, (int)token->size);
    }
    EtwNode *node = utf8Node(op, field);
    Tcl_DecrRefCount(field);
    if (op == ETW_OP_FIELD &&
            (strcmp(node->text, "props") == 0 || strcmp(node->text, "stack") == 0 ||
                    strcmp(node->text, "raw") == 0 || strcmp(node->text, "error") == 0 ||
                    strcmp(node->text, "late") == 0)) {
        EtwNodeFree(node);
        return refuse(p, "%.*s is not a single value", token->start, (int)token->size);
    }
    return node;
}

/* ---- [string ...] ---------------------------------------------------------------------------- */

static EtwNode *wordNode(Parser *p, const Tcl_Token *word)
{
    if (word->type == TCL_TOKEN_EXPAND_WORD) {
        return refuse(p, "%.*s", word->start, (int)word->size);
    }
    if (word->numComponents == 1 + word[1].numComponents && word[1].type == TCL_TOKEN_VARIABLE) {
        return variableNode(p, word + 1);
    }
    return stringNode(p, word + 1, word->numComponents, word);
}

static EtwNode *pairNode(Parser *p, EtwOp op, const Tcl_Token *left, const Tcl_Token *right)
{
    EtwNode *node = EtwNodeNew(op, 2);

    node->children[0] = wordNode(p, left);
    node->children[1] = node->children[0] ? wordNode(p, right) : NULL;
    if (node->children[1] == NULL) {
        EtwNodeFree(node);
        return NULL;
    }
    return node;
}

static bool wordIs(const Tcl_Token *word, const char *text)
{
    size_t size = strlen(text);
    return word->type == TCL_TOKEN_SIMPLE_WORD && (size_t)word[1].size == size &&
           strncmp(word[1].start, text, size) == 0;
}

/* words[0] is `string`. */
static EtwNode *stringCommand(Parser *p, const Tcl_Token **words, int count)
{
    if (count == 3 && wordIs(words[1], "length")) {
        EtwNode *child = wordNode(p, words[2]);
        EtwNode *node = child ? EtwNodeNew(ETW_OP_LENGTH, 1) : NULL;
        if (node != NULL) {
            node->children[0] = child;
        }
        return node;
    }
    if (count == 4 && wordIs(words[1], "match")) {
        return pairNode(p, ETW_OP_MATCH, words[2], words[3]);
    }
    if (count == 5 && wordIs(words[1], "match") && wordIs(words[2], "-nocase")) {
        return pairNode(p, ETW_OP_MATCH_NOCASE, words[3], words[4]);
    }
    if (count == 4 && wordIs(words[1], "equal")) {
        return pairNode(p, ETW_OP_STREQ, words[2], words[3]);
    }
    return NULL;
}

static EtwNode *commandNode(Parser *p, const Tcl_Token *token)
{
    enum { MAX_WORDS = 6 };
    const Tcl_Token *words[MAX_WORDS];
    Tcl_Parse parse;
    EtwNode *node = NULL;
    const char *start = token->start + 1;
    Tcl_Size size = token->size - 2;

    if (Tcl_ParseCommand(NULL, start, size, 0, &parse) != TCL_OK) {
        return refuse(p, "%.*s", token->start, (int)token->size);
    }
    const Tcl_Token *word = parse.tokenPtr;
    for (int i = 0; i < parse.numWords && i < MAX_WORDS; i++) {
        words[i] = word;
        word += 1 + word->numComponents;
    }
    bool whole = parse.commandStart + parse.commandSize >= start + size;
    if (whole && parse.numWords <= MAX_WORDS && parse.numWords > 1 && wordIs(words[0], "string")) {
        node = stringCommand(p, words, (int)parse.numWords);
    }
    Tcl_FreeParse(&parse);
    return node ? node
                : refuse(p,
                          "%.*s is a command other than string match, string length and string "
                          "equal",
                          token->start, (int)token->size);
}

/* ---- Operators ------------------------------------------------------------------------------- */

typedef struct Operator {
    const char *text;
    int operands;
    EtwOp op;
} Operator;

static const Operator operators[] = {
        {"!", 1, ETW_OP_NOT},
        {"~", 1, ETW_OP_BITNOT},
        {"-", 1, ETW_OP_NEG},
        {"&&", 2, ETW_OP_AND},
        {"||", 2, ETW_OP_OR},
        {"==", 2, ETW_OP_EQ},
        {"!=", 2, ETW_OP_NE},
        {"<", 2, ETW_OP_LT},
        {"<=", 2, ETW_OP_LE},
        {">", 2, ETW_OP_GT},
        {">=", 2, ETW_OP_GE},
        {"eq", 2, ETW_OP_STREQ},
        {"ne", 2, ETW_OP_STRNE},
        {"in", 2, ETW_OP_IN},
        {"ni", 2, ETW_OP_NI},
        {"+", 2, ETW_OP_ADD},
        {"-", 2, ETW_OP_SUB},
        {"*", 2, ETW_OP_MUL},
        {"/", 2, ETW_OP_DIV},
        {"%", 2, ETW_OP_MOD},
        {"&", 2, ETW_OP_BITAND},
        {"|", 2, ETW_OP_BITOR},
        {"^", 2, ETW_OP_BITXOR},
        {"<<", 2, ETW_OP_SHL},
        {">>", 2, ETW_OP_SHR},
        {"?", 3, ETW_OP_COND},
};

static const Operator *findOperator(const Tcl_Token *token, int operands)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (operators[i].operands == operands && strlen(operators[i].text) == (size_t)token->size &&
                strncmp(operators[i].text, token->start, (size_t)token->size) == 0) {
            return &operators[i];
        }
    }
    return NULL;
}

int EtwWhereOperands(const Tcl_Token *token, const Tcl_Token **operands, int capacity)
{
    const Tcl_Token *at = token + 2;
    const Tcl_Token *end = token + 1 + token->numComponents;
    int count = 0;

    for (; at < end; at += 1 + at->numComponents) {
        if (count < capacity) {
            operands[count] = at;
        }
        count++;
    }
    return count;
}

static bool isString(EtwOp op)
{
    return op == ETW_OP_STREQ || op == ETW_OP_STRNE || op == ETW_OP_IN || op == ETW_OP_NI;
}

/* The right side of in and ni: a constant list. Consumes the node. */
static EtwNode *listNode(Parser *p, EtwNode *node, const Tcl_Token *token)
{
    Tcl_Size count;
    const char **words;
    EtwNode *list = NULL;

    if ((node->op == ETW_OP_STRING || node->op == ETW_OP_INT) && node->text != NULL &&
            Tcl_SplitList(NULL, node->text, &count, &words) == TCL_OK) {
        list = EtwNodeNew(ETW_OP_LIST, (int)count);
        for (Tcl_Size i = 0; i < count; i++) {
            list->children[i] = textNode(ETW_OP_STRING, words[i], strlen(words[i]));
        }
        Tcl_Free((void *)words);
    } else {
        refuse(p, "%.*s is not a constant list", token->start, (int)token->size);
    }
    EtwNodeFree(node);
    return list;
}

/* As in expr, quoted numbers are numbers for ==, and numbers are texts for eq. */
static EtwNode *coerceOperand(EtwOp op, EtwNode *node)
{
    EtwNode *better = NULL;

    if (isString(op) && (node->op == ETW_OP_INT || node->op == ETW_OP_DOUBLE) &&
            node->text != NULL) {
        better = textNode(ETW_OP_STRING, node->text, node->size);
    } else if (op >= ETW_OP_EQ && op <= ETW_OP_GE && node->op == ETW_OP_STRING) {
        Tcl_Obj *obj = Tcl_NewStringObj(node->text, (Tcl_Size)node->size);
        Tcl_IncrRefCount(obj);
        better = numberNode(obj);
        if (better != NULL) { /* distinguishes 2^63 and above from negative numbers */
            better->text = EtwStrdup(node->text);
            better->size = node->size;
        }
        Tcl_DecrRefCount(obj);
    }
    if (better != NULL) {
        EtwNodeFree(node);
    }
    return better ? better : node;
}

/* "NAME" in $keyword: true if the event has a keyword of that name. NULL: not of this form. */
static EtwNode *keywordNode(Parser *p, const Operator *operator, const Tcl_Token ** operands)
{
    const Tcl_Token *list = operands[1];

    if ((operator->op != ETW_OP_IN && operator->op != ETW_OP_NI) || list->size != 8 ||
            strncmp(list->start, "$keyword", 8) != 0) {
        return NULL;
    }
    EtwNode *name = nodeOf(p, operands[0]);
    if (name == NULL || name->op != ETW_OP_STRING) {
        EtwNodeFree(name);
        return NULL;
    }
    EtwNode *node = EtwNodeNew(operator->op == ETW_OP_IN ? ETW_OP_STREQ : ETW_OP_STRNE, 2);
    node->children[0] = nodeOf(p, list);
    node->children[1] = name;
    return node;
}

static EtwNode *operatorNode(Parser *p, const Tcl_Token *token)
{
    const Tcl_Token *operands[3];
    int count = EtwWhereOperands(token, operands, 3);
    const Operator *operator= count <= 3 ? findOperator(token + 1, count) : NULL;

    if (count == 1 && token[1].size == 1 && token[1].start[0] == '+') {
        return nodeOf(p, operands[0]);
    }
    if (operator== NULL) {
        return refuse(p, "\"%.*s\" is an operator or function that only Tcl has", token[1].start,
                (int)token[1].size);
    }
    EtwNode *node = count == 2 ? keywordNode(p, operator, operands) : NULL;
    if (node != NULL) {
        return node;
    }
    node = EtwNodeNew(operator->op, count);
    for (int i = 0; i < count; i++) {
        EtwNode *child = nodeOf(p, operands[i]);
        bool isList = i == 1 && (operator->op == ETW_OP_IN || operator->op == ETW_OP_NI);
        if (child != NULL) {
            child = isList ? listNode(p, child, operands[i]) : coerceOperand(operator->op, child);
        }
        if (child == NULL) {
            EtwNodeFree(node);
            return NULL;
        }
        node->children[i] = child;
    }
    return node;
}

static EtwNode *anyNode(Parser *p, const Tcl_Token *token)
{
    const Tcl_Token *first = token + 1;
    bool quoted = *token->start == '"' || *token->start == '{';

    switch (first->type) {
    case TCL_TOKEN_OPERATOR:
        return operatorNode(p, token);
    case TCL_TOKEN_VARIABLE:
        return variableNode(p, first);
    case TCL_TOKEN_COMMAND:
        return commandNode(p, first);
    case TCL_TOKEN_WORD:
        return stringNode(p, first + 1, first->numComponents, token);
    case TCL_TOKEN_TEXT:
    case TCL_TOKEN_BS:
        return quoted ? stringNode(p, first, token->numComponents, token) : literalNode(p, first);
    default:
        return refuse(p, "%.*s", token->start, (int)token->size);
    }
}

static EtwNode *nodeOf(Parser *p, const Tcl_Token *token)
{
    if (p->depth >= MAX_DEPTH) {
        return refuse(p, "%.*s is nested too deeply", token->start, (int)token->size);
    }
    p->depth++;
    EtwNode *node = anyNode(p, token);
    p->depth--;
    return node;
}

EtwNode *EtwWhereNode(Parser *p, const Tcl_Token *token)
{
    return nodeOf(p, token);
}

/* ---- Splitting ------------------------------------------------------------------------------- */

static void addTree(Split *split, EtwNode *node)
{
    split->treeParts++;
    if (split->tree == NULL) {
        split->tree = node;
        return;
    }
    EtwNode *both = EtwNodeNew(ETW_OP_AND, 2);
    both->children[0] = split->tree;
    both->children[1] = node;
    split->tree = both;
}

static void splitPart(Parser *p, const Tcl_Token *token, Split *split)
{
    const Tcl_Token *operands[2];

    if (token[1].type == TCL_TOKEN_OPERATOR && token[1].size == 2 &&
            strncmp(token[1].start, "&&", 2) == 0 && EtwWhereOperands(token, operands, 2) == 2) {
        splitPart(p, operands[0], split);
        splitPart(p, operands[1], split);
        return;
    }
    p->reason[0] = '\0';
    EtwNode *node = split->treeParts < MAX_PARTS
                            ? nodeOf(p, token)
                            : refuse(p, "%.*s: too many parts", token->start, (int)token->size);
    if (node != NULL) {
        addTree(split, node);
        EtwWhereAppend(&split->cText, token);
        return;
    }
    EtwWhereAddResidual(p, token, split);
}

static void freeSplit(Split *split)
{
    EtwNodeFree(split->tree);
    EtwWhereFreeResidual(split);
    if (split->cText != NULL) {
        Tcl_DecrRefCount(split->cText);
    }
}

/* ---- Predicate and residual filter ----------------------------------------------------------- */

static int buildWhere(Tcl_Interp *interp, Split *split, bool cOnly, EtwWhere *where)
{
    EtwError err = {0};

    if (cOnly && split->tclText != NULL) {
        return EtwTclFail(interp, ETW_E_UNSUPPORTED, "EXPRESSION", Tcl_GetString(split->firstTcl),
                "this filter must be evaluated without Tcl, but \"%.200s\" needs Tcl: %s",
                Tcl_GetString(split->firstTcl), split->reason);
    }
    if (split->wrong != NULL) {
        return EtwTclFail(interp, ETW_E_ARG, "FIELD", Tcl_GetString(split->wrong),
                "\"$%.100s\" " ETW_WHERE_NO_INDEX, Tcl_GetString(split->wrong));
    }
    if (split->tree != NULL) {
        EtwNode *tree = split->tree;
        split->tree = NULL;
        if (EtwPredicateNew(&where->predicate, tree, &err) != ETW_OK) {
            return EtwTclError(interp, &err);
        }
    }
    where->cText = split->cText;
    split->cText = NULL;
    return split->tclText ? EtwWhereMakeResidual(interp, split, where) : TCL_OK;
}

/*
 * A syntax error: the parser's message, which is about Tcl's own expressions. For common mistakes, one that
 * says how to write the filter.
 */
static int failSyntax(Tcl_Interp *interp, const char *expression)
{
    const char *message = Tcl_GetStringResult(interp), *word = strchr(message, '"');
    char name[64] = "", hint[160] = "";

    if (word != NULL) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 1, "\""), word + 1);
    }
    if (strncmp(message, "invalid bareword", 16) == 0) {
        bool header = EtwIsHeaderName(name) && strcmp(name, "error") != 0;
        snprintf(hint, sizeof hint,
                header ? "write $%s" : "write $%s for a field, \"%s\" for a text", name, name);
    } else if (strcmp(name, "=") == 0) {
        snprintf(hint, sizeof hint, "use == to compare numbers, eq to compare texts");
    }
    Tcl_Obj *text = hint[0] != '\0'
                            ? Tcl_ObjPrintf("bad filter expression \"%.200s\": %.*s: %s",
                                      expression, (int)strcspn(message, "\n"), message, hint)
                            : Tcl_NewStringObj(message, -1);
    Tcl_IncrRefCount(text);
    int result = EtwTclFail(interp, ETW_E_ARG, "EXPRESSION", expression, "%s", Tcl_GetString(text));
    Tcl_DecrRefCount(text);
    return result;
}

static int parseExpression(Tcl_Interp *interp, Tcl_Obj *expr, bool cOnly, EtwWhere *where)
{
    Parser parser = {.reason = ""};
    Split split = {0};
    Tcl_Size length;
    const char *text = Tcl_GetStringFromObj(expr, &length);

    memset(where, 0, sizeof *where);
    if (Tcl_ParseExpr(interp, text, length, &parser.parse) != TCL_OK) {
        return failSyntax(interp, text);
    }
    if (parser.parse.numTokens > MAX_TOKENS) {
        Tcl_FreeParse(&parser.parse);
        return EtwTclFail(interp, ETW_E_LIMIT, "EXPRESSION", "",
                "the filter expression is too large: it has %ld tokens, at most %d are accepted",
                (long)parser.parse.numTokens, MAX_TOKENS);
    }
    splitPart(&parser, parser.parse.tokenPtr, &split);
    int result = buildWhere(interp, &split, cOnly, where);
    freeSplit(&split);
    Tcl_FreeParse(&parser.parse);
    if (result != TCL_OK) {
        EtwWhereFree(where);
    }
    return result;
}

int EtwWhereParse(Tcl_Interp *interp, Tcl_Obj *expr, bool cOnly, EtwWhere *where)
{
    Tcl_Obj *plain = EtwWhereUnits(expr);

    Tcl_IncrRefCount(plain);
    int result = parseExpression(interp, plain, cOnly, where);
    Tcl_DecrRefCount(plain);
    return result;
}

void EtwWhereFree(EtwWhere *where)
{
    Tcl_Obj *objs[] = {where->cText, where->tclText, where->fields, where->lambda};

    EtwPredicateFree(where->predicate);
    for (int i = 0; i < where->partCount; i++) {
        EtwPredicateFree(where->parts[i]);
    }
    EtwFree(where->parts);
    for (size_t i = 0; i < sizeof objs / sizeof objs[0]; i++) {
        if (objs[i] != NULL) {
            Tcl_DecrRefCount(objs[i]);
        }
    }
    memset(where, 0, sizeof *where);
}

/* ---- etw where ------------------------------------------------------------------------------- */

typedef struct WhereOptions {
    int cOnly;
} WhereOptions;

static const EtwOption whereOptions[] = {
        {"-conly", ETW_OPT_BOOL, offsetof(WhereOptions, cOnly), 0, 0, 0, NULL},
        ETW_OPTION_END,
};

int EtwWhereCmd(void *clientData, Tcl_Interp *interp, int objc, Tcl_Obj *const objv[])
{
    WhereOptions options = {0};
    EtwWhere where;
    (void)clientData;

    if (objc < 2) {
        Tcl_WrongNumArgs(interp, 1, objv, "expression ?-conly boolean?");
        return TCL_ERROR;
    }
    if (EtwParseOptions(interp, whereOptions, objc - 2, objv + 2, &options, NULL) != TCL_OK ||
            EtwWhereParse(interp, objv[1], options.cOnly != 0, &where) != TCL_OK) {
        return TCL_ERROR;
    }
    Tcl_Obj *dict = Tcl_NewDictObj();
    EtwPut(dict, "c", where.cText ? where.cText : Tcl_NewObj());
    EtwPut(dict, "tcl", where.tclText ? where.tclText : Tcl_NewObj());
    EtwPut(dict, "fields", where.fields ? where.fields : Tcl_NewObj());
    EtwWhereFree(&where);
    Tcl_SetObjResult(interp, dict);
    return TCL_OK;
}
