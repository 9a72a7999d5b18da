/*
 * predicate/predicate.c --
 *
 *	Compiles filter expressions and evaluates them. Compiling numbers the nodes, resolves header
 *	names and parses constants. Evaluating looks up the index of a payload field once for
 *	successive events of the same schema. No Tcl, no side effects.
 */
#include "predicate/predicate.h"
#include "predicate/predicate_value.h"
#include "event/event_fields.h"
#include "schema/model/canonical_name.h"
#include "schema/model/tcl_list.h"
#include "schema/store/header_labels.h"
#include <strings.h>

enum { MAX_DEPTH = 250, MAX_NODES = 20000 };

#define HEADER_OF(id, name) HEADER_##id,
typedef enum Header {
    HEADER_NONE = -1,
    ETW_FIELDS_HEADER(HEADER_OF) ETW_FIELDS_TIMES(HEADER_OF) HEADER_COUNT,
    HEADER_WHOLE = HEADER_COUNT, /* from here on: values that cannot be compared */
} Header;

static const char *const headerNames[] = {ETW_FIELDS_HEADER(ETW_FIELD_NAME)
                ETW_FIELDS_TIMES(ETW_FIELD_NAME) ETW_FIELDS_PARTS(ETW_FIELD_NAME) NULL};

/* A node in its compiled form. */
typedef struct Step {
    EtwOp op;
    int childCount;
    int *children;    /* indexes of steps */
    const char *name; /* of a field */
    Header header;
    Value constant;
    bool isGuid; /* the constant is a GUID's text: it equals the GUID in any notation */
    EtwGuid guid;
    char *canonical; /* the constant as the canonical form of a name; NULL: it is one */
    size_t canonicalSize;
    bool alias; /* the names of the events of that schema other than $event or $provider match */
    const EtwSchema *aliasOf;
    const EtwSchema *schema; /* the schema of `index`; index -1: that schema has no such field */
    int index;
    bool found;           /* a schema had the field */
    bool tested, matched; /* a constant that names something: was compared, and was equal */
    Header with;          /* the header value that it was compared with */
} Step;

struct EtwPredicate {
    EtwNode *tree; /* owns the texts */
    Step *steps;   /* children before their parents */
    int count;
    EtwText scratch;
};

/* One evaluation. The schema is looked up when a field needs it. */
typedef struct Run {
    EtwPredicate *pred;
    EtwSchemaStore *store;
    const EtwEvent *event;
    const EtwSchema *schema;
    bool schemaKnown;
} Run;

/* ---- Trees ----------------------------------------------------------------------------------- */

EtwNode *EtwNodeNew(EtwOp op, int childCount)
{
    EtwNode *node = EtwAlloc(sizeof *node);
    node->op = op;
    node->childCount = childCount;
    node->children = childCount > 0 ? EtwAlloc((size_t)childCount * sizeof *node->children) : NULL;
    return node;
}

void EtwNodeFree(EtwNode *node)
{
    if (node == NULL) {
        return;
    }
    for (int i = 0; i < node->childCount; i++) {
        EtwNodeFree(node->children[i]);
    }
    EtwFree(node->children);
    EtwFree(node->text);
    EtwFree(node);
}

/* The number of children of an operator; -1: any number. */
static int arity(EtwOp op)
{
    if (op == ETW_OP_LIST) {
        return -1;
    }
    return op < ETW_OP_NOT ? 0 : op < ETW_OP_AND ? 1 : op < ETW_OP_COND ? 2 : 3;
}

static EtwStatus checkNode(const EtwNode *node, int depth, int *countPtr, EtwError *errPtr)
{
    if (node == NULL || node->op > ETW_OP_COND) {
        return EtwFail(
                errPtr, ETW_E_ARG, "EXPRESSION", "", "bad filter expression: a part is missing");
    }
    if (depth > MAX_DEPTH || ++*countPtr > MAX_NODES) {
        return EtwFail(errPtr, ETW_E_ARG, "EXPRESSION", "",
                "the filter expression is too large: split it, or filter in Tcl");
    }
    int wanted = arity(node->op);
    if (wanted >= 0 && node->childCount != wanted) {
        return EtwFail(errPtr, ETW_E_ARG, "EXPRESSION", "",
                "bad filter expression: an operator has %d operands where it needs %d",
                node->childCount, wanted);
    }
    if (node->text == NULL &&
            (node->op == ETW_OP_FIELD || node->op == ETW_OP_PROP || node->op == ETW_OP_STRING)) {
        return EtwFail(errPtr, ETW_E_ARG, "EXPRESSION", "",
                "bad filter expression: a field or string has no text");
    }
    bool membership = node->op == ETW_OP_IN || node->op == ETW_OP_NI;
    for (int i = 0; i < node->childCount; i++) {
        EtwStatus status = checkNode(node->children[i], depth + 1, countPtr, errPtr);
        if (status != ETW_OK) {
            return status;
        }
        if ((node->children[i]->op == ETW_OP_LIST) != (membership && i == 1)) {
            return EtwFail(errPtr, ETW_E_ARG, "EXPRESSION", "",
                    "bad filter expression: a list is accepted only to the right of \"in\" and "
                    "\"ni\"");
        }
    }
    return ETW_OK;
}

/* ---- Compiling ------------------------------------------------------------------------------- */

static Header headerOf(const char *name)
{
    for (int i = 0; headerNames[i] != NULL; i++) {
        if (strcmp(headerNames[i], name) == 0) {
            return (Header)i;
        }
    }
    return HEADER_NONE;
}

bool EtwIsHeaderName(const char *name)
{
    return headerOf(name) != HEADER_NONE;
}

static void compileConstant(Step *step, const EtwNode *node)
{
    Value *v = &step->constant;
    if (node->op == ETW_OP_INT) {
        v->kind = VALUE_INT;
        v->i = EtwWideInt(node->i);
        if (node->i < 0 && node->text != NULL && node->text[0] != '-') {
            v->i = EtwWideUint((uint64_t)node->i); /* 2^63 and above, stored with the same bits */
        }
    } else if (node->op == ETW_OP_DOUBLE) {
        v->kind = VALUE_DOUBLE;
        v->d = node->d;
    } else if (node->op == ETW_OP_STRING) {
        v->kind = VALUE_TEXT;
        v->text = node->text;
        v->size = node->size;
        step->isGuid = EtwGuidParse(node->text, &step->guid);
        if (!EtwNameIsCanonical(v->text, v->size)) {
            EtwText text = {0};
            EtwAddCanonicalName(&text, v->text, v->size);
            step->canonical = text.data;
            step->canonicalSize = text.size;
        }
    }
}

/* The name of a standard level is its number in a comparison of $level: $level <= "error". */
static void compileLevel(const Step *field, Step *constant)
{
    if (field->header != HEADER_LEVEL || constant->op != ETW_OP_STRING) {
        return;
    }
    const char *name = constant->canonical ? constant->canonical : constant->constant.text;
    size_t size = constant->canonical ? constant->canonicalSize : constant->constant.size;
    const char *level;
    for (int i = 1; (level = EtwStandardName(ETW_NAME_LEVEL, (uint64_t)i)) != NULL; i++) {
        if (strlen(level) == size && strncasecmp(level, name, size) == 0) {
            constant->constant = (Value){.kind = VALUE_INT, .i = EtwWideInt(i)};
        }
    }
}

/* Add the node's steps, children first. Returns the node's own index. */
static int compileNode(EtwPredicate *pred, const EtwNode *node)
{
    int *children = node->childCount ? EtwAlloc((size_t)node->childCount * sizeof(int)) : NULL;
    for (int i = 0; i < node->childCount; i++) {
        children[i] = compileNode(pred, node->children[i]);
    }
    Step *step = &pred->steps[pred->count];
    step->op = node->op;
    step->childCount = node->childCount;
    step->children = children;
    step->name = node->text;
    step->header = node->op == ETW_OP_FIELD ? headerOf(node->text) : HEADER_NONE;
    compileConstant(step, node);
    if (step->op >= ETW_OP_EQ && step->op <= ETW_OP_GE) {
        compileLevel(&pred->steps[children[0]], &pred->steps[children[1]]);
        compileLevel(&pred->steps[children[1]], &pred->steps[children[0]]);
    }
    return pred->count++;
}

EtwStatus EtwPredicateNew(EtwPredicate **predPtr, EtwNode *root, EtwError *errPtr)
{
    int count = 0;
    EtwStatus status = checkNode(root, 0, &count, errPtr);
    *predPtr = NULL;
    if (status != ETW_OK) {
        EtwNodeFree(root);
        return status;
    }
    EtwPredicate *pred = EtwAlloc(sizeof *pred);
    pred->tree = root;
    pred->steps = EtwAlloc((size_t)count * sizeof *pred->steps);
    compileNode(pred, root);
    for (int i = 0; i < pred->count; i++) {
        const Step *step = &pred->steps[i];
        if (step->header >= HEADER_WHOLE) {
            status = EtwFail(errPtr, ETW_E_ARG, "EXPRESSION", step->name,
                    "$%s cannot be compared: it is not a single value", step->name);
            EtwPredicateFree(pred);
            return status;
        }
    }
    *predPtr = pred;
    return ETW_OK;
}

void EtwPredicateMissing(
        const EtwPredicate *pred, void (*visit)(void *ctx, const char *name), void *ctx)
{
    for (int i = 0; i < pred->count; i++) {
        if (pred->steps[i].schema != NULL && !pred->steps[i].found) {
            visit(ctx, pred->steps[i].name);
        }
    }
}

const char *const *EtwHeaderNames(void)
{
    return headerNames;
}

void EtwPredicateUnmatched(const EtwPredicate *pred,
        void (*visit)(void *ctx, const char *header, const char *constant), void *ctx)
{
    for (int i = 0; i < pred->count; i++) {
        const Step *step = &pred->steps[i];
        if (step->tested && !step->matched && step->name != NULL) {
            visit(ctx, headerNames[step->with], step->name);
        }
    }
}

const EtwNode *EtwPredicateTree(const EtwPredicate *pred)
{
    return pred->tree;
}

void EtwPredicateFree(EtwPredicate *pred)
{
    if (pred == NULL) {
        return;
    }
    for (int i = 0; i < pred->count; i++) {
        EtwFree(pred->steps[i].children);
        EtwFree(pred->steps[i].canonical);
    }
    EtwFree(pred->steps);
    EtwNodeFree(pred->tree);
    EtwTextFree(&pred->scratch);
    EtwFree(pred);
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static Value intValue(int64_t i)
{
    return (Value){.kind = VALUE_INT, .i = EtwWideInt(i)};
}

static Value uintValue(uint64_t u)
{
    return (Value){.kind = VALUE_INT, .i = EtwWideUint(u)};
}

static Value textValue(const char *text, size_t size)
{
    return (Value){.kind = VALUE_TEXT, .text = text, .size = size};
}

/* The text that was appended to the scratch buffer from `from` on. */
static Value scratchValue(const EtwText *scratch, size_t from)
{
    return (Value){.kind = VALUE_TEXT, .at = from, .size = scratch->size - from};
}

static const EtwSchema *schemaOf(Run *run)
{
    if (!run->schemaKnown) {
        run->schema = EtwSchemaOf(run->store, run->event);
        run->schemaKnown = true;
    }
    return run->schema;
}

static Value guidValue(Run *run, const uint8_t *bytes)
{
    EtwText *scratch = &run->pred->scratch;
    size_t from = scratch->size;
    EtwGuid guid;
    if (bytes == NULL) {
        return (Value){.kind = VALUE_MISSING};
    }
    memcpy(guid.bytes, bytes, sizeof guid.bytes);
    EtwTextReserve(scratch, ETW_GUID_TEXT);
    EtwGuidFormat(&guid, scratch->data + from);
    scratch->size += ETW_GUID_TEXT - 1;
    return scratchValue(scratch, from);
}

static Value providerValue(Run *run)
{
    const EtwSchema *schema = schemaOf(run);
    const char *name = EtwProviderNameOf(run->store, schema, run->event);
    return name ? textValue(name, strlen(name)) : guidValue(run, run->event->provider.bytes);
}

static int64_t idOf(uint32_t id)
{
    return id == ETW_NO_ID ? -1 : (int64_t)id;
}

/* The GUID of a header field; NULL: absent, or not a GUID. */
static const uint8_t *headerGuid(const EtwEvent *event, Header header)
{
    switch (header) {
    case HEADER_PROVIDER:
        return event->provider.bytes;
    case HEADER_ACTIVITY:
        return EtwGuidIsNull(&event->activity) ? NULL : event->activity.bytes;
    case HEADER_RELATED:
        return event->related;
    default:
        return NULL;
    }
}

static Value nameValue(const char *name)
{
    return name ? textValue(name, strlen(name)) : (Value){.kind = VALUE_MISSING};
}

static Value headerValue(Run *run, Header header)
{
    const EtwEvent *e = run->event;
    const EtwSchema *schema;
    switch (header) {
    case HEADER_TIME:
        return intValue(e->time);
    case HEADER_PROVIDER:
        return providerValue(run);
    case HEADER_EVENT:
        schema = schemaOf(run);
        return schema ? textValue(schema->event, strlen(schema->event)) : textValue("", 0);
    case HEADER_ID:
        return intValue(e->desc.id);
    case HEADER_VERSION:
        return intValue(e->desc.version);
    case HEADER_CHANNEL:
        return intValue(e->desc.channel);
    case HEADER_LEVEL:
        return intValue(e->desc.level);
    case HEADER_OPCODE:
        return intValue(e->desc.opcode);
    case HEADER_TASK:
        return intValue(e->desc.task);
    case HEADER_KEYWORD:
        return uintValue(e->desc.keyword);
    case HEADER_PID:
        return intValue(idOf(e->pid));
    case HEADER_TID:
        return intValue(idOf(e->tid));
    case HEADER_CPU:
        return intValue(e->cpu);
    case HEADER_ACTIVITY:
    case HEADER_RELATED:
        return guidValue(run, headerGuid(e, header));
    case HEADER_KERNEL_TIME:
        return intValue(e->kernelTime);
    case HEADER_USER_TIME:
        return intValue(e->userTime);
    case HEADER_ELAPSED:
        return e->elapsed != 0 ? intValue(e->elapsed) : (Value){.kind = VALUE_MISSING};
    case HEADER_PROCESS:
        return nameValue(e->process);
    case HEADER_OBJECT:
        return nameValue(e->object);
    default:
        return (Value){.kind = VALUE_MISSING};
    }
}

/* Converts bytes as Tcl does: each is a character. */
static void addBytesAsText(EtwText *out, const EtwValue *v)
{
    for (size_t i = 0; i < v->size; i++) {
        if (v->data[i] >= 0x80) {
            EtwTextChar(out, (char)(0xC0 | v->data[i] >> 6));
            EtwTextChar(out, (char)(0x80 | (v->data[i] & 0x3F)));
        } else {
            EtwTextChar(out, (char)v->data[i]);
        }
    }
}

static bool isAscii(const uint8_t *bytes, size_t size)
{
    uint8_t all = 0;
    for (size_t i = 0; i < size; i++) {
        all |= bytes[i];
    }
    return all < 0x80;
}

static Value textOfField(Run *run, const EtwField *field, const EtwValue *v)
{
    EtwText *scratch = &run->pred->scratch;
    size_t from = scratch->size;
    if (v->kind == ETW_V_TEXT && isAscii(v->data, v->size)) {
        return textValue(v->size ? (const char *)v->data : "", v->size);
    }
    EtwTextReserve(scratch, 1);
    bool address = v->out == ETW_OUT_IPV4 || v->out == ETW_OUT_IPV6 || v->out == ETW_OUT_SOCKADDR ||
                   v->out == ETW_OUT_MAC;
    if (v->kind == ETW_V_BYTES && !address) {
        addBytesAsText(scratch, v);
    } else {
        EtwFormatValue(scratch, field, v);
    }
    return scratchValue(scratch, from);
}

static Value valueOfField(Run *run, const EtwField *field, const EtwValue *v)
{
    EtwWide ns;
    if (EtwValueTime(v, &ns)) {
        return (Value){.kind = VALUE_INT, .i = ns};
    }
    bool isText = EtwValueIsText(field, v);
    Value value = isText ? textOfField(run, field, v) : (Value){.kind = VALUE_MISSING};
    switch (v->kind) {
    case ETW_V_INT:
    case ETW_V_UINT:
        value.kind = VALUE_INT;
        value.named = isText;
        value.i = v->kind == ETW_V_INT ? EtwWideInt(v->i) : EtwWideUint(v->u);
        return value;
    case ETW_V_BOOL:
        return uintValue(v->u);
    case ETW_V_DOUBLE:
        return (Value){.kind = VALUE_DOUBLE, .d = v->d};
    default:
        return value;
    }
}

static int findField(const EtwSchema *schema, const char *name)
{
    for (int i = 0; i < schema->fieldCount; i += schema->fields[i].span) {
        if (strcmp(schema->fields[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static Value payloadValue(Run *run, Step *step)
{
    const EtwSchema *schema = schemaOf(run);
    const Value missing = {.kind = VALUE_MISSING};
    EtwText *scratch = &run->pred->scratch;
    EtwValue v;
    if (schema == NULL) {
        return missing;
    }
    if (step->schema != schema) {
        step->schema = schema;
        step->index = findField(schema, step->name);
        step->found |= step->index >= 0;
    }
    if (step->index < 0) {
        return missing;
    }
    const EtwField *field = &schema->fields[step->index];
    if ((field->array == ETW_SCALAR && field->in != ETW_IN_STRUCT) || EtwFieldIsChars(field)) {
        return EtwDecodeField(schema, run->event, step->index, &v) == ETW_OK
                       ? valueOfField(run, field, &v)
                       : missing;
    }
    size_t from = scratch->size; /* an array or a struct: the same list as in Tcl */
    EtwStatus status = EtwListField(scratch, schema, run->event, step->index);
    return status != ETW_OK && scratch->size == from ? missing : scratchValue(scratch, from);
}

/* ---- Other names of events and providers ------------------------------------------------------- */

/* A constant that is compared with a name, or a pattern (op) for it. */
typedef struct NameConstant {
    const Step *step;
    EtwOp op;
} NameConstant;

static bool nameFits(EtwOp op, const char *wanted, size_t size, const char *name)
{
    size_t length = strlen(name);
    return op == ETW_OP_MATCH || op == ETW_OP_MATCH_NOCASE
                   ? EtwGlobMatch(wanted, size, name, length, op == ETW_OP_MATCH_NOCASE)
                   : size == length && memcmp(wanted, name, size) == 0;
}

static bool testName(void *ctx, const char *name)
{
    const NameConstant *c = ctx;
    const Step *s = c->step;
    return nameFits(c->op, s->constant.text, s->constant.size, name) ||
           (s->canonical != NULL && nameFits(c->op, s->canonical, s->canonicalSize, name));
}

static bool testLabel(void *ctx, const char *label)
{
    const NameConstant *c = ctx;
    const Step *s = c->step;
    const char *wanted = s->canonical ? s->canonical : s->constant.text;
    size_t size = s->canonical ? s->canonicalSize : s->constant.size;
    return c->op == ETW_OP_EQ ? strlen(label) == size && strncasecmp(wanted, label, size) == 0
                              : nameFits(c->op, wanted, size, label);
}

/* True if the constant is the name of the event's level, opcode, task or channel, or of one of its keywords. */
static bool hasLabel(Run *run, Header header, const Step *constant, EtwOp op)
{
    static const EtwNameKind kinds[] = {[HEADER_CHANNEL] = ETW_NAME_CHANNEL,
            [HEADER_LEVEL] = ETW_NAME_LEVEL,
            [HEADER_OPCODE] = ETW_NAME_OPCODE,
            [HEADER_TASK] = ETW_NAME_TASK};
    NameConstant wanted = {constant, op};
    Value number;
    if (EtwTextNumber(constant->constant.text, constant->constant.size, &number)) {
        return false;
    }
    const EtwSchema *schema = schemaOf(run);
    if (header == HEADER_KEYWORD) {
        return EtwEventHasKeyword(schema, run->event, testLabel, &wanted);
    }
    const char *label = EtwEventLabel(schema, run->event, kinds[header]);
    return label != NULL && testLabel(&wanted, label);
}

/* An event of a class may be called CLASS/NAME, as other tools do: "DiskIo/Read". */
static bool isClassName(const EtwSchema *schema, const EtwEvent *event, NameConstant *wanted)
{
    EtwText text = {0};
    if (!event->classic ||
            memchr(wanted->step->constant.text, '/', wanted->step->constant.size) == NULL) {
        return false;
    }
    EtwTextPrintf(&text, "%s/%s", schema->provider, schema->event);
    bool is = testName(wanted, text.data);
    EtwTextFree(&text);
    return is;
}

/*
 * True if the header value (field) has another spelling or another name that the constant is equal
 * to or matches. The result for $event and $provider is kept for successive events of a schema.
 */
static bool hasOtherName(Run *run, const Step *field, Step *constant, EtwOp op)
{
    NameConstant wanted = {constant, op};
    if (field->op != ETW_OP_FIELD || constant->op != ETW_OP_STRING ||
            constant->constant.kind != VALUE_TEXT) {
        return false;
    }
    if (field->header >= HEADER_CHANNEL && field->header <= HEADER_KEYWORD) {
        return hasLabel(run, field->header, constant, op);
    }
    if ((field->header != HEADER_EVENT && field->header != HEADER_PROVIDER)) {
        return false;
    }
    const EtwSchema *schema = schemaOf(run);
    if (schema != NULL && constant->aliasOf == schema) {
        return constant->alias;
    }
    constant->aliasOf = schema;
    constant->alias = field->header == HEADER_PROVIDER
                              ? EtwProviderOtherName(run->store, run->event, testName, &wanted)
                              : schema != NULL && schema->def != NULL &&
                                        (testName(&wanted, schema->event) ||
                                                isClassName(schema, run->event, &wanted) ||
                                                EtwEventOtherName(run->store, schema, run->event,
                                                        testName, &wanted));
    return constant->alias;
}

/* ---- Evaluating ------------------------------------------------------------------------------ */

static Value evaluate(Run *run, int index);

static Value boolValue(bool is)
{
    return intValue(is);
}

/*
 * Compare a header GUID with a constant that is a GUID's text in any notation. False: not such a
 * pair.
 */
static bool compareGuids(Run *run, const Step *a, const Step *b, bool *equalPtr)
{
    const Step *field = a->op == ETW_OP_FIELD ? a : b, *constant = field == a ? b : a;
    const uint8_t *guid = field->op == ETW_OP_FIELD ? headerGuid(run->event, field->header) : NULL;
    if (guid == NULL || !constant->isGuid) {
        return false;
    }
    *equalPtr = memcmp(guid, constant->guid.bytes, sizeof constant->guid.bytes) == 0;
    return true;
}

/* Note for EtwPredicateUnmatched that a constant was compared with a header value. */
static bool noteMatch(const Step *field, Step *constant, bool equal)
{
    if (field->op == ETW_OP_FIELD && field->header != HEADER_NONE &&
            (constant->op == ETW_OP_STRING || constant->op == ETW_OP_INT)) {
        constant->tested = true;
        constant->matched |= equal;
        constant->with = field->header;
    }
    return equal;
}

static Value evaluateCompare(Run *run, const Step *step)
{
    Step *steps = run->pred->steps;
    Step *left = &steps[step->children[0]], *right = &steps[step->children[1]];
    EtwText *scratch = &run->pred->scratch;
    bool byText = step->op == ETW_OP_STREQ || step->op == ETW_OP_STRNE;
    bool negated = step->op == ETW_OP_NE || step->op == ETW_OP_STRNE, equal;
    if ((byText || step->op == ETW_OP_EQ || step->op == ETW_OP_NE) &&
            compareGuids(run, left, right, &equal)) {
        noteMatch(left, right, equal);
        noteMatch(right, left, equal);
        return boolValue(equal != negated);
    }
    Value a = evaluate(run, step->children[0]), b = evaluate(run, step->children[1]);
    if (a.kind == VALUE_MISSING || b.kind == VALUE_MISSING) {
        return boolValue(false);
    }
    Order order = byText ? ORDER_NONE : EtwValueOrder(&a, &b, scratch);
    switch (step->op) {
    case ETW_OP_EQ:
    case ETW_OP_NE:
    case ETW_OP_STREQ:
    case ETW_OP_STRNE:
        equal = byText ? EtwValueSameText(&a, &b, scratch) : order == ORDER_EQUAL;
        equal = equal || hasOtherName(run, left, right, ETW_OP_EQ) ||
                hasOtherName(run, right, left, ETW_OP_EQ);
        noteMatch(left, right, equal);
        noteMatch(right, left, equal);
        return boolValue(equal != negated);
    case ETW_OP_LT:
        return boolValue(order == ORDER_LESS);
    case ETW_OP_LE:
        return boolValue(order == ORDER_LESS || order == ORDER_EQUAL);
    case ETW_OP_GT:
        return boolValue(order == ORDER_GREATER);
    default:
        return boolValue(order == ORDER_GREATER || order == ORDER_EQUAL);
    }
}

static bool isItem(Run *run, Value *v, const Step *field, int index)
{
    EtwText *scratch = &run->pred->scratch;
    Step *item = &run->pred->steps[index];
    Value constant = evaluate(run, index), number;
    bool equal;
    if (compareGuids(run, field, item, &equal)
                    ? equal
                    : EtwValueSameText(v, &constant, scratch) ||
                              hasOtherName(run, field, item, ETW_OP_EQ)) {
        return true;
    }
    /* A number with a name may be compared by either. */
    return v->kind == VALUE_INT && v->named && constant.kind == VALUE_TEXT &&
           EtwTextNumber(constant.text, constant.size, &number) && number.kind == VALUE_INT &&
           EtwWideOrder(number.i, v->i) == 0;
}

static bool isMember(Run *run, Value *v, const Step *field, const Step *list)
{
    for (int i = 0; i < list->childCount; i++) {
        int index = list->children[i];
        if (noteMatch(field, &run->pred->steps[index], isItem(run, v, field, index))) {
            return true;
        }
    }
    return false;
}

static Value evaluateIn(Run *run, const Step *step)
{
    const Step *steps = run->pred->steps;
    Value v = evaluate(run, step->children[0]);
    if (v.kind == VALUE_MISSING) {
        return boolValue(false);
    }
    bool member = isMember(run, &v, &steps[step->children[0]], &steps[step->children[1]]);
    return boolValue(member == (step->op == ETW_OP_IN));
}

static Value evaluateMatch(Run *run, const Step *step)
{
    EtwText *scratch = &run->pred->scratch;
    Value pattern = evaluate(run, step->children[0]), text = evaluate(run, step->children[1]);
    if (pattern.kind == VALUE_MISSING || text.kind == VALUE_MISSING) {
        return boolValue(false);
    }
    EtwValueText(&pattern, scratch);
    EtwValueText(&text, scratch);
    Step *steps = run->pred->steps;
    Step *constant = &steps[step->children[0]], *field = &steps[step->children[1]];
    bool match =
            EtwGlobMatch(EtwValueChars(&pattern, scratch), pattern.size,
                    EtwValueChars(&text, scratch), text.size, step->op == ETW_OP_MATCH_NOCASE) ||
            hasOtherName(run, field, constant, step->op);
    return boolValue(noteMatch(field, constant, match));
}

static Value evaluateLength(Run *run, const Step *step)
{
    EtwText *scratch = &run->pred->scratch;
    Value v = evaluate(run, step->children[0]);
    if (v.kind == VALUE_MISSING) {
        return v;
    }
    EtwValueText(&v, scratch);
    return uintValue(EtwTextLength(EtwValueChars(&v, scratch), v.size));
}

static bool isTrue(Run *run, int index)
{
    Value v = evaluate(run, index);
    return EtwValueTrue(&v, &run->pred->scratch);
}

static Value evaluate(Run *run, int index)
{
    Step *step = &run->pred->steps[index];
    const EtwText *scratch = &run->pred->scratch;
    Value a, b;
    switch (step->op) {
    case ETW_OP_FIELD:
        return step->header != HEADER_NONE ? headerValue(run, step->header)
                                           : payloadValue(run, step);
    case ETW_OP_PROP:
        return payloadValue(run, step);
    case ETW_OP_INT:
    case ETW_OP_DOUBLE:
    case ETW_OP_STRING:
    case ETW_OP_LIST:
        return step->constant;
    case ETW_OP_NOT:
        a = evaluate(run, step->children[0]);
        return a.kind == VALUE_MISSING ? a : boolValue(!EtwValueTrue(&a, scratch));
    case ETW_OP_NEG:
    case ETW_OP_BITNOT:
        a = evaluate(run, step->children[0]);
        return EtwValueNegate((int)step->op, &a, scratch);
    case ETW_OP_LENGTH:
        return evaluateLength(run, step);
    case ETW_OP_AND:
        return boolValue(isTrue(run, step->children[0]) && isTrue(run, step->children[1]));
    case ETW_OP_OR:
        return boolValue(isTrue(run, step->children[0]) || isTrue(run, step->children[1]));
    case ETW_OP_IN:
    case ETW_OP_NI:
        return evaluateIn(run, step);
    case ETW_OP_MATCH:
    case ETW_OP_MATCH_NOCASE:
        return evaluateMatch(run, step);
    case ETW_OP_COND:
        return evaluate(run, step->children[isTrue(run, step->children[0]) ? 1 : 2]);
    default:
        break;
    }
    if (step->op >= ETW_OP_EQ && step->op <= ETW_OP_STRNE) {
        return evaluateCompare(run, step);
    }
    a = evaluate(run, step->children[0]);
    b = evaluate(run, step->children[1]);
    return EtwValueArith((int)step->op, &a, &b, scratch);
}

bool EtwPredicateTest(EtwPredicate *pred, EtwSchemaStore *store, const EtwEvent *event)
{
    Run run = {.pred = pred, .store = store, .event = event};
    pred->scratch.size = 0;
    return isTrue(&run, pred->count - 1);
}
