/*
 * tests/predicate/test_predicate.c --
 *
 *	Predicates: a truth table over one event, and trees that must be refused. Expressions
 *	are written as lists in prefix form: (&& (== $Count 5) (eq $Name "x")).
 */
#include "tests/support/sample_event.h"
#include "tests/support/check.h"
#include "predicate/glob.h"
#include "predicate/header_bounds.h"
#include "predicate/predicate.h"
#include "predicate/quantity.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* ---- Reading expressions --------------------------------------------------------------------- */

static const struct {
    const char *text;
    EtwOp op;
    int operands;
} operators[] = {{"!", ETW_OP_NOT, 1}, {"neg", ETW_OP_NEG, 1}, {"~", ETW_OP_BITNOT, 1},
        {"length", ETW_OP_LENGTH, 1}, {"&&", ETW_OP_AND, 2}, {"||", ETW_OP_OR, 2},
        {"==", ETW_OP_EQ, 2}, {"!=", ETW_OP_NE, 2}, {"<", ETW_OP_LT, 2}, {"<=", ETW_OP_LE, 2},
        {">", ETW_OP_GT, 2}, {">=", ETW_OP_GE, 2}, {"eq", ETW_OP_STREQ, 2}, {"ne", ETW_OP_STRNE, 2},
        {"in", ETW_OP_IN, 2}, {"ni", ETW_OP_NI, 2}, {"match", ETW_OP_MATCH, 2},
        {"nocase", ETW_OP_MATCH_NOCASE, 2}, {"+", ETW_OP_ADD, 2}, {"-", ETW_OP_SUB, 2},
        {"*", ETW_OP_MUL, 2}, {"/", ETW_OP_DIV, 2}, {"%", ETW_OP_MOD, 2}, {"&", ETW_OP_BITAND, 2},
        {"|", ETW_OP_BITOR, 2}, {"^", ETW_OP_BITXOR, 2}, {"<<", ETW_OP_SHL, 2},
        {">>", ETW_OP_SHR, 2}, {"?", ETW_OP_COND, 3}, {"list", ETW_OP_LIST, -1}};

static EtwNode *leaf(EtwOp op, const char *text, size_t size)
{
    EtwNode *node = EtwNodeNew(op, 0);
    node->text = EtwAlloc(size + 1);
    memcpy(node->text, text, size);
    node->size = size;
    return node;
}

static EtwNode *readWord(const char *word, size_t size)
{
    char copy[64];
    snprintf(copy, sizeof copy, "%.*s", (int)size, word);
    EtwNode *node = leaf(strchr(copy, '.') ? ETW_OP_DOUBLE : ETW_OP_INT, word, size);
    node->d = strtod(copy, NULL);
    node->i = copy[0] == '-' ? strtoll(copy, NULL, 0) : (int64_t)strtoull(copy, NULL, 0);
    return node;
}

static EtwNode *readExpr(const char **at);

static EtwNode *readList(const char **at)
{
    EtwNode *children[8], *node = NULL;
    int count = 0;
    size_t size = strcspn(*at, " )");
    const char *op = *at;
    for (*at += size; **at == ' ' || **at == ')';) {
        if (**at == ')') {
            break;
        }
        ++*at;
        children[count++] = readExpr(at);
    }
    ++*at;
    for (int i = 0; i < COUNT(operators); i++) {
        if (strlen(operators[i].text) == size && strncmp(op, operators[i].text, size) == 0) {
            node = EtwNodeNew(operators[i].op, count);
        }
    }
    for (int i = 0; i < count; i++) {
        node->children[i] = children[i];
    }
    return node;
}

static EtwNode *readExpr(const char **at)
{
    const char *start = *at;
    if (*start == '(') {
        ++*at;
        return readList(at);
    }
    if (*start == '"') {
        size_t size = strcspn(start + 1, "\"");
        *at += size + 2;
        return leaf(ETW_OP_STRING, start + 1, size);
    }
    size_t size = strcspn(start, " )");
    *at += size;
    if (*start == '$' || *start == '@') {
        return leaf(*start == '$' ? ETW_OP_FIELD : ETW_OP_PROP, start + 1, size - 1);
    }
    return readWord(start, size);
}

/* 1 true, 0 false, -1 refused */
static int test(const char *expr, EtwSchemaStore *store, const EtwEvent *event)
{
    EtwPredicate *pred;
    EtwError err = {0};
    const char *at = expr;
    EtwNode *tree = readExpr(&at);
    if (EtwPredicateNew(&pred, tree, &err) != ETW_OK) {
        return err.message[0] ? -1 : -2;
    }
    bool result = EtwPredicateTest(pred, store, event);
    CHECK_EQ(EtwPredicateTest(pred, store, event), result); /* and again, from its caches */
    EtwPredicateFree(pred);
    return result;
}

/* ---- The event ------------------------------------------------------------------------------- */

static Sample *subject(void)
{
    static const Etw_Field fields[] = {{"Count", ETW_IN_INT32, 0, 0, 0},
            {"Big", ETW_IN_UINT64, 0, 0, 0}, {"Name", ETW_IN_COUNTED_ANSI, ETW_OUT_UTF8, 0, 0},
            {"Number", ETW_IN_COUNTED_ANSI, 0, 0, 0}, {"Wide", ETW_IN_UTF16Z, 0, 0, 0},
            {"Flag", ETW_IN_BOOL32, 0, 0, 0}, {"Ratio", ETW_IN_DOUBLE, 0, 0, 0},
            {"Addr", ETW_IN_UINT32, ETW_OUT_IPV4, 0, 0},
            {"Port", ETW_IN_UINT16, ETW_OUT_PORT, 0, 0},
            {"Ids", ETW_IN_UINT16, 0, ETW_ARRAY_COUNTED, 0}, {"Pair", ETW_IN_STRUCT, 0, 0, 2},
            {"X", ETW_IN_UINT8, 0, 0, 0}, {"Y", ETW_IN_UINT8, 0, 0, 0},
            {"When", ETW_IN_FILETIME, 0, 0, 0}, {"Bytes", ETW_IN_BINARY, 0, 0, 0},
            {"Empty", ETW_IN_COUNTED_ANSI, 0, 0, 0}, {"pid", ETW_IN_UINT32, 0, 0, 0},
            {"Addr6", ETW_IN_BINARY, ETW_OUT_IPV6, 0, 0}, {"Lacking", ETW_IN_UINT32, 0, 0, 0}};
    double ratio = 0.5;
    Sample *s = SampleNew("My-Provider", "Subject", fields, COUNT(fields));
    SampleInt(s, (uint64_t)-5, 4);
    SampleInt(s, 0x8000000000000001ull, 8);
    SampleText(s, "h\xc3\xa9llo World");
    SampleText(s, " 0x10 ");
    SampleBytes(s, "\xe9\0!\0\0", 6);
    SampleInt(s, 1, 4);
    SampleBytes(s, &ratio, 8);
    SampleBytes(s, (uint8_t[]){127, 0, 0, 1}, 4);
    SamplePort(s, 8080);
    SampleInt(s, 2, 2);
    SampleInt(s, 7, 2);
    SampleInt(s, 9, 2);
    SampleInt(s, 1, 1);
    SampleInt(s, 2, 1);
    SampleInt(s, 116444736000000000ull + 5, 8);
    SampleInt(s, 2, 2);
    SampleInt(s, 0xE941, 2);
    SampleText(s, "");
    SampleInt(s, 99, 4);
    SampleInt(s, 16, 2);
    SampleBytes(s, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16);
    SampleInt(s, 1, 2); /* Lacking is cut short */
    s->event.time = 1795249392000000000LL;
    s->event.desc.id = 12;
    s->event.desc.keyword = 0x8000000000000010ull;
    s->event.cpu = 1;
    EtwGuidParse("04030201-0605-0807-090a-0b0c0d0e0f10", &s->event.activity);
    return s;
}

static const struct {
    const char *expr;
    int want;
} table[] = {
        /* Numbers */
        {"(== $Count -5)", 1},
        {"(!= $Count -5)", 0},
        {"(< $Count 0)", 1},
        {"(<= $Count -5)", 1},
        {"(> $Count -6)", 1},
        {"(>= $Count -4)", 0},
        {"(== $Count -5.0)", 1},
        {"(< $Ratio 1)", 1},
        {"(== $Ratio 0.5)", 1},
        {"(== (+ $Ratio $Ratio) 1)", 1},
        {"$Count", 1},
        {"$Flag", 1},
        {"(== $Flag 1)", 1},
        {"(! $Count)", 0},
        {"(== (neg $Count) 5)", 1},
        {"(== $Port 8080)", 1},
        {"(== (/ $Count 2) -3)", 1},
        {"(== (% $Count 3) 1)", 1},
        {"(== (/ 7 -2) -4)", 1},
        {"(== (% 7 -2) -1)", 1},
        {"(== (* $Count $Count) 25)", 1},
        {"(== (- $Count 1) -6)", 1},
        {"(== (/ 1.0 4) 0.25)", 1},
        /* Unsigned 64-bit masks are exact */
        {"(== $Big 0x8000000000000001)", 1},
        {"(== $Big 9223372036854775809)", 1},
        {"(> $Big 0)", 1},
        {"(== (& $Big 0x8000000000000000) 0x8000000000000000)", 1},
        {"(& $Big 2)", 0},
        {"(& $keyword 0x8000000000000000)", 1},
        {"(== (| $Big 2) 0x8000000000000003)", 1},
        {"(== (^ $Big $Big) 0)", 1},
        {"(== (>> $Big 63) 1)", 1},
        {"(== (<< 1 63) 0x8000000000000000)", 1},
        {"(== (- (<< 1 64) 1) 0xffffffffffffffff)", 1},
        {"(== (+ $Big $Big) (+ 18446744073709551615 3))", 1},
        {"(== (& (~ $Big) 1) 0)", 1},
        {"(== (~ 0) -1)", 1},
        /* What cannot be is not true, nor is its opposite */
        {"(== (/ 1 0) 0)", 0},
        {"(!= (/ 1 0) 0)", 0},
        {"(== (% 1 0) 0)", 0},
        {"(<< 1 200)", 0},
        {"(>> 1 -1)", 0},
        {"(== (+ $Name 1) 1)", 0},
        {"(! (+ $Name 1))", 0},
        {"(== (% 1.5 2) 1)", 0},
        {"(== (>> -1 500) -1)", 1},
        /* Numbers in texts, in Tcl's notation */
        {"(== \"-7\" -7)", 1},
        {"(== \"+7\" 7)", 1},
        {"(== \" \t\n\r 7 \" 7)", 1},
        {"(eq \"7 \" 7)", 0},
        {"(== \"-0x10\" -16)", 1},
        {"(== \"0o17\" 15)", 1},
        {"(== \"0O17\" 15)", 1},
        {"(== \"0b101\" 5)", 1},
        {"(== \"0b102\" 5)", 0},
        {"(== \"0o18\" 1)", 0},
        {"(== \"0x\" 0)", 0},
        {"(== \"010\" 10)", 1},
        {"(== \"0xfF\" 255)", 1},
        {"(== \"0xg\" 0)", 0},
        {"(== \"-\" 0)", 0},
        {"(== \"--1\" 1)", 0},
        {"(== \"  \" 0)", 0},
        {"(== \"\" 0)", 0},
        {"(== \"1.5e2\" 150)", 1},
        {"(== \"-1.5\" -1.5)", 1},
        {"(== \".5\" 0.5)", 1},
        {"(== \"1e-1\" 0.1)", 1},
        {"(== \"1e\" 1)", 0},
        {"(== \"1 2\" 12)", 0},
        {"(== \"0x1p3\" 8)", 0},
        {"(== \"inf\" \"infinity\")", 0},
        {"(< \"9\" \"10\")", 1},
        {"(< \"9a\" \"10a\")", 0},
        {"(< \"ab\" \"abc\")", 1},
        {"(> \"abc\" \"ab\")", 1},
        {"(<= \"ab\" \"ab\")", 1},
        {"(< \"ab\" \"ab\")", 0},
        {"(>= \"abc\" \"abd\")", 0},
        {"(== \"170141183460469231731687303715884105727\" (- (<< 1 126) (neg (- (<< 1 126) 1))))",
                1},
        {"(== (+ \"170141183460469231731687303715884105727\" 1) 0)", 0},
        {"(== \"170141183460469231731687303715884105728\" 0)", 0},
        /* Limits of arithmetic */
        {"(== (<< 1 126) \"85070591730234615865843651857942052864\")", 1},
        {"(== (<< 1 127) 0)", 0},
        {"(== (<< 0 500) 0)", 1},
        {"(== (>> 5 1) 2)", 1},
        {"(== (>> 5 0) 5)", 1},
        {"(== (<< 5 0) 5)", 1},
        {"(== (>> 5 500) 0)", 1},
        {"(== (>> -5 1) -3)", 1},
        {"(== (- 1.5 1) 0.5)", 1},
        {"(== (* 1.5 2) 3)", 1},
        {"(== (/ 1.0 0) 0)", 0},
        {"(== (neg 1.5) -1.5)", 1},
        {"(== (~ 1.5) -2.5)", 0},
        {"(== (neg \"x\") 0)", 0},
        {"(== (~ \"5\") -6)", 1},
        /* Truth of texts */
        {"\"on\"", 1},
        {"\"t\"", 1},
        {"\"ye\"", 1},
        {"\"Tru\"", 1},
        {"\"o\"", 0},
        {"\"truee\"", 0},
        {"\"off\"", 0},
        {"0.0", 0},
        {"0.5", 1},
        {"\"-1\"", 1},
        /* Texts */
        {"(eq $Name \"h\xc3\xa9llo World\")", 1},
        {"(ne $Name \"x\")", 1},
        {"(== $Name \"h\xc3\xa9llo World\")", 1},
        {"(eq $Wide \"\xc3\xa9!\")", 1},
        {"(< $Name \"i\")", 1},
        {"(> $Name \"h\")", 1},
        {"(eq $Empty \"\")", 1},
        {"(eq $Count \"-5\")", 1},
        {"(eq $Count -5)", 1},
        {"(eq $Ratio \"0.5\")", 1},
        {"(eq $Flag 1)", 1},
        {"(== $Number 16)", 1},
        {"(eq $Number 16)", 0},
        {"(== (+ $Number 1) 17)", 1},
        {"(== (length $Name) 11)", 1},
        {"(== (length $Empty) 0)", 1},
        {"(== (length $Count) 2)", 1},
        {"(eq $Bytes \"A\xc3\xa9\")", 1},
        {"(&& \"yes\" 1)", 1},
        {"(&& \"no\" 1)", 0},
        {"(&& \"TRUE\" 1)", 1},
        {"(&& \"what\" 1)", 0},
        {"$Empty", 0},
        /* Globs */
        {"(match \"h*W?rld\" $Name)", 1},
        {"(match \"H*\" $Name)", 0},
        {"(nocase \"H\xc3\x89*WORLD\" $Name)", 1},
        {"(match \"h?llo*\" $Name)", 1},
        {"(match \"*[A-Z]orl[a-f]\" $Name)", 1},
        {"(match \"[^h]*\" $Name)", 1},
        {"(match \"*o*o*d\" $Name)", 1},
        {"(match \"*o*o*o*\" $Name)", 0},
        {"(match \"\" $Empty)", 1},
        {"(match \"*\" $Empty)", 1},
        {"(match \"?\" $Empty)", 0},
        {"(match \"-?\" $Count)", 1},
        {"(match \"a\\*b\" \"a*b\")", 1},
        {"(match \"a\\*b\" \"axb\")", 0},
        {"(match \"[z-a]\" \"m\")", 1},
        {"(match \"[a\" \"a\")", 1},
        {"(match \"a*\" \"\")", 0},
        {"(match \"*a*a*a*a*a*a*a*a*a*b\" "
         "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\")",
                0},
        /* Lists */
        {"(in $Count (list \"1\" \"-5\"))", 1},
        {"(ni $Count (list \"1\" \"-5\"))", 0},
        {"(in $Count (list))", 0},
        {"(ni $Count (list))", 1},
        {"(in $event (list \"A\" \"Subject\"))", 1},
        {"(in $Count (list -5))", 1},
        /* Arrays and structs are the lists that Tcl sees */
        {"(eq $Ids \"7 9\")", 1},
        {"(eq $Pair \"X 1 Y 2\")", 1},
        {"(match \"*9\" $Ids)", 1},
        {"(== $X 1)", 0},
        /* Addresses have a text and a number */
        {"(eq $Addr \"127.0.0.1\")", 1},
        {"(== $Addr \"127.0.0.1\")", 1},
        {"(match \"127.*\" $Addr)", 1},
        {"(== (& $Addr 0xff) 127)", 1},
        {"(in $Addr (list \"10.0.0.1\" \"127.0.0.1\"))", 1},
        {"(in $Addr (list \"16777343\"))", 1},
        {"(in $Addr (list \"0x100007f\"))", 1},
        {"(in $Addr (list \"16777344\" \"16777343.0\"))", 0},
        {"(eq $Addr6 \"fd00::1\")", 1},
        {"(match \"fd00::*\" $Addr6)", 1},
        {"(ni $Addr (list \"127.0.0.2\" \"x\"))", 1},
        {"(!= $Addr \"10.0.0.1\")", 1},
        /* Times are ns since 1970 */
        {"(== $When 500)", 1},
        {"(> $time 1795249391999999999)", 1},
        {"(<= $time 1795249392000000000)", 1},
        /* Header names win, @ asks for the payload */
        {"(== $pid 4711)", 1},
        {"(== @pid 99)", 1},
        {"(== $tid 4711)", 1},
        {"(== $id 12)", 1},
        {"(== $cpu 1)", 1},
        {"(== $level 4)", 1},
        {"(== $opcode 0)", 1},
        {"(== $version 0)", 1},
        {"(== $channel 11)", 1},
        {"(== $task 0)", 1},
        {"(eq $provider \"My-Provider\")", 1},
        {"(eq $event \"Subject\")", 1},
        {"(match \"My-*\" $provider)", 1},
        {"(match \"my-*\" $provider)", 0},
        {"(nocase \"my-*\" $provider)", 1},
        {"(match \"SUB*\" $event)", 0},
        {"(nocase \"SUB*\" $event)", 1},
        /* Names of levels, in any case; of $level only, and of texts only */
        {"(== $level \"information\")", 1},
        {"(== $level \"INFORMATION\")", 1},
        {"(== $level \"Informatio\")", 0},
        {"(== $level \"Informations\")", 0},
        {"(== \"Information\" $level)", 1},
        {"(!= $level \"Information\")", 0},
        {"(>= $level \"Error\")", 1},
        {"(<= $level \"Error\")", 0},
        {"(< $level \"Verbose\")", 1},
        {"(> $level \"Critical\")", 1},
        {"(match \"Info*\" $level)", 1},
        {"(match \"info*\" $level)", 0},
        {"(nocase \"info*\" $level)", 1},
        {"(== $cpu \"Critical\")", 0},
        {"(<= $cpu \"Critical\")", 1}, /* as texts */
        {"(< $Count \"Critical\")", 1},
        {"(== @X \"Critical\")", 0},
        {"(eq $activity \"{04030201-0605-0807-090A-0B0C0D0E0F10}\")", 1},
        {"(ne $activity \"04030201-0605-0807-090a-0b0c0d0e0f10\")", 0},
        {"(eq $provider \"00000000-0000-0000-0000-000000000000\")", 0},
        {"(ne $provider \"00000000-0000-0000-0000-000000000000\")", 1},
        {"(in $activity (list \"x\" \"04030201-0605-0807-090A-0B0C0D0E0F10\"))", 1},
        /* A field that the event lacks makes its comparison false, whatever the comparison */
        {"(== $Nope 1)", 0},
        {"(!= $Nope 1)", 0},
        {"(< $Nope 1)", 0},
        {"(>= $Nope 1)", 0},
        {"(eq $Nope \"\")", 0},
        {"(ne $Nope \"x\")", 0},
        {"(in $Nope (list \"\"))", 0},
        {"(ni $Nope (list \"x\"))", 0},
        {"(match \"*\" $Nope)", 0},
        {"(nocase \"*\" $Nope)", 0},
        {"(== (length $Nope) 0)", 0},
        {"(== (+ $Nope 1) 1)", 0},
        {"(== (neg $Nope) 0)", 0},
        {"$Nope", 0},
        {"(! $Nope)", 0},
        {"(! (== $Nope 1))", 1},
        {"(|| (== $Nope 1) (== $Count -5))", 1},
        {"(&& (== $Nope 1) (== $Count -5))", 0},
        {"(== $related \"x\")", 0},
        {"(ne $related \"x\")", 0},
        {"(== $session \"x\")", 0},
        {"(== $Lacking 1)", 0},
        {"(!= $Lacking 1)", 0},
        {"(== 1 $Nope)", 0},
        /* The rest */
        {"(? $Flag (== $Count -5) 0)", 1},
        {"(? $Nope 1 (== $Count -5))", 1},
        {"(&& 1 (|| 0 1))", 1},
        {"0", 0},
        {"\"0x0\"", 0},
        {"(&& 0 1)", 0},
        {"(|| 0 0)", 0},
        {"(! (! 5))", 1},
        /* Refused */
        {"$props", -1},
        {"(== $stack 1)", -1},
        {"(== 1)", -1},
        {"(! 1 2)", -1},
        {"(in 1 2)", -1},
        {"(== 1 (list 1))", -1},
        {"(list 1)", 0},
};

static void table_1_1_truth(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = subject();
    for (int i = 0; i < COUNT(table); i++) {
        int got = test(table[i].expr, store, SampleEvent(s));
        CHECK_MSG(got == table[i].want, "%s is %d, not %d", table[i].expr, got, table[i].want);
    }
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

/* One predicate over events of different shape: the field's place is found anew for each. */
static void table_1_2_shapes(void)
{
    static const Etw_Field first[] = {{"A", ETW_IN_UINT32, 0, 0, 0}, {"B", ETW_IN_UINT8, 0, 0, 0}};
    static const Etw_Field other[] = {{"B", ETW_IN_COUNTED_ANSI, 0, 0, 0}};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    EtwPredicate *pred;
    const char *expr = "(== $B 5)";
    Sample *x = SampleNew("P", "E", first, 2), *y = SampleNew("P", "E", other, 1);
    Sample *z = SampleNew("P", "E", NULL, 0);
    SampleInt(x, 1, 4);
    SampleInt(x, 5, 1);
    SampleText(y, "5");
    REQUIRE(EtwPredicateNew(&pred, readExpr(&expr), NULL) == ETW_OK);
    for (int round = 0; round < 3; round++) {
        CHECK(EtwPredicateTest(pred, store, SampleEvent(x)));
        CHECK(EtwPredicateTest(pred, store, SampleEvent(y)));
        CHECK(!EtwPredicateTest(pred, store, SampleEvent(z)));
    }
    z->meta.size = 0; /* nobody can decode it */
    CHECK(!EtwPredicateTest(pred, store, SampleEvent(z)));
    EtwPredicateFree(pred);
    SampleFree(x);
    SampleFree(y);
    SampleFree(z);
    EtwSchemaStoreFree(store);
}

static void trees_2_1_deep(void)
{
    EtwNode *node = EtwNodeNew(ETW_OP_INT, 0);
    EtwPredicate *pred;
    EtwError err;
    for (int i = 0; i < 1000; i++) {
        EtwNode *outer = EtwNodeNew(ETW_OP_NOT, 1);
        outer->children[0] = node;
        node = outer;
    }
    CHECK_EQ(EtwPredicateNew(&pred, node, &err), ETW_E_ARG);
    CHECK(pred == NULL);
    CHECK(strstr(err.message, "too large") != NULL);
    CHECK_EQ(EtwPredicateNew(&pred, EtwNodeNew(ETW_OP_AND, 2), &err),
            ETW_E_ARG); /* children missing */
    CHECK_EQ(EtwPredicateNew(&pred, NULL, &err), ETW_E_ARG);
    EtwPredicateFree(NULL);
    EtwNodeFree(NULL);
}

/* The sizes of trees, at their limits. */
static void trees_2_2_limits(void)
{
    for (int depth = 250; depth <= 251; depth++) {
        EtwNode *node = EtwNodeNew(ETW_OP_INT, 0);
        EtwPredicate *pred;
        for (int i = 0; i < depth; i++) {
            EtwNode *outer = EtwNodeNew(ETW_OP_NOT, 1);
            outer->children[0] = node;
            node = outer;
        }
        CHECK_EQ(EtwPredicateNew(&pred, node, NULL), depth == 250 ? ETW_OK : ETW_E_ARG);
        EtwPredicateFree(pred);
    }
    for (int items = 19997; items <= 19998; items++) { /* and the operator, the field, the list */
        EtwNode *list = EtwNodeNew(ETW_OP_LIST, items), *in = EtwNodeNew(ETW_OP_IN, 2);
        EtwPredicate *pred;
        for (int i = 0; i < items; i++) {
            list->children[i] = EtwNodeNew(ETW_OP_INT, 0);
        }
        in->children[0] = leaf(ETW_OP_FIELD, "id", 2);
        in->children[1] = list;
        CHECK_EQ(EtwPredicateNew(&pred, in, NULL), items == 19997 ? ETW_OK : ETW_E_ARG);
        EtwPredicateFree(pred);
    }
    /* Leaves without their text, and an operator that there is not. */
    static const EtwOp ops[] = {ETW_OP_FIELD, ETW_OP_PROP, ETW_OP_STRING, (EtwOp)(ETW_OP_COND + 1)};
    for (int i = 0; i < COUNT(ops); i++) {
        EtwPredicate *pred;
        EtwError err = {0};
        CHECK_EQ(EtwPredicateNew(&pred, EtwNodeNew(ops[i], 0), &err), ETW_E_ARG);
        CHECK(strstr(err.message, i < 3 ? "text" : "missing") != NULL);
    }
}

/* ---- What an event has, or lacks ---------------------------------------------------------------- */

static void addName(void *ctx, const char *name)
{
    char *names = ctx;
    strcat(strcat(names, name), " ");
}

/* Reported are fields of the payload that were looked for and that no event had. */
static void fields_3_1_missing(void)
{
    static const Etw_Field one[] = {{"A", ETW_IN_UINT32, 0, 0, 0}},
                           two[] = {{"B", ETW_IN_UINT32, 0, 0, 0}};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *a = SampleNew("P", "E", one, 1), *b = SampleNew("P", "F", two, 1);
    EtwPredicate *pred;
    const char *expr =
            "(|| (|| (== $A 7) (== @B 7)) (|| (== $C 7) (&& (== $object \"x\") (== $D 1))))";
    char names[100] = "";
    SampleInt(a, 1, 4);
    SampleInt(b, 1, 4);
    REQUIRE(EtwPredicateNew(&pred, readExpr(&expr), NULL) == ETW_OK);
    EtwPredicateMissing(pred, addName, names);
    CHECK_STR(names, ""); /* no event yet */
    CHECK(!EtwPredicateTest(pred, store, SampleEvent(a)));
    EtwPredicateMissing(pred, addName, names);
    CHECK_STR(names, "B C ");
    CHECK(!EtwPredicateTest(pred, store, SampleEvent(b)));
    CHECK(!EtwPredicateTest(pred, store, SampleEvent(a)));
    names[0] = '\0';
    EtwPredicateMissing(pred, addName, names);
    CHECK_STR(names, "C ");
    EtwPredicateFree(pred);
    SampleFree(a);
    SampleFree(b);
    EtwSchemaStoreFree(store);
}

static void fields_3_2_header(void)
{
    static const struct {
        const char *expr;
        int want;
    } cases[] = {{"(== $pid -1)", 1}, {"(== $tid -1)", 1}, {"(== $pid 4294967295)", 0},
            {"(eq $process \"tclsh\")", 1}, {"(eq $object \"obj\")", 1},
            {"(eq $related \"04030201-0605-0807-090a-0b0c0d0e0f10\")", 1},
            {"(eq $related \"{04030201-0605-0807-090A-0B0C0D0E0F10}\")", 1},
            {"(match \"04030201-*\" $related)", 1}, {"(eq $activity \"\")", 0},
            {"(ne $activity \"\")", 0}, {"(== $keyword 18446744073709551615)", 1},
            {"(< $keyword 0)", 0}, {"(== $version 255)", 1}, {"(== $channel 254)", 1},
            {"(== $level 253)", 1}, {"(== $opcode 252)", 1}, {"(== $task 65535)", 1},
            {"(== $id 65534)", 1}, {"(== $cpu 65533)", 1}, {"(== $time -5)", 1},
            {"(eq $event \"\")", 1}, {"(match \"*}\" $provider)", 0}};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = SampleNew("P", "E", NULL, 0);
    static const uint8_t related[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    s->event.desc = (EtwDescriptor){.id = 65534,
            .version = 255,
            .channel = 254,
            .level = 253,
            .opcode = 252,
            .task = 65535,
            .keyword = UINT64_MAX};
    s->event.pid = s->event.tid = ETW_NO_ID;
    s->event.cpu = 65533;
    s->event.time = -5;
    s->event.process = "tclsh";
    s->event.object = "obj";
    s->event.related = related;
    s->meta.size = s->traits.size = 0; /* nobody describes it */
    for (int i = 0; i < COUNT(cases); i++) {
        CHECK_MSG(test(cases[i].expr, store, SampleEvent(s)) == cases[i].want, "%s", cases[i].expr);
    }
    s->event.process = NULL;
    s->event.related = NULL;
    CHECK_EQ(test("(ne $process \"x\")", store, SampleEvent(s)), 0);
    CHECK_EQ(test("(ne $related \"04030201-0605-0807-090a-0b0c0d0e0f10\")", store, SampleEvent(s)),
            0);
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

/* FIELD == NUMBER, for names that readExpr does not read. */
static bool isEqual(const char *field, int64_t number, EtwSchemaStore *store, const EtwEvent *event)
{
    EtwPredicate *pred;
    EtwNode *node = EtwNodeNew(ETW_OP_EQ, 2);
    node->children[0] = leaf(ETW_OP_FIELD, field, strlen(field));
    node->children[1] = EtwNodeNew(ETW_OP_INT, 0);
    node->children[1]->i = number;
    if (!CHECK(EtwPredicateNew(&pred, node, NULL) == ETW_OK)) {
        return false;
    }
    CHECK(EtwPredicateTree(pred) == node);
    bool is = EtwPredicateTest(pred, store, event);
    EtwPredicateFree(pred);
    return is;
}

/* CPU times and elapsed times; an elapsed time of 0 is none. */
static void fields_3_3_times(void)
{
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = SampleNew("P", "E", NULL, 0);
    s->event.kernelTime = 7;
    s->event.userTime = 8;
    s->event.elapsed = 9;
    const EtwEvent *event = SampleEvent(s);
    CHECK(isEqual("time(kernel)", 7, store, event) && !isEqual("time(kernel)", 8, store, event));
    CHECK(isEqual("time(user)", 8, store, event) && !isEqual("time(user)", 7, store, event));
    CHECK(isEqual("time(elapsed)", 9, store, event));
    s->event.kernelTime = s->event.userTime = s->event.elapsed = 0;
    event = SampleEvent(s);
    CHECK(isEqual("time(kernel)", 0, store, event) && isEqual("time(user)", 0, store, event));
    CHECK(!isEqual("time(elapsed)", 0, store, event));
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

static void addUnmatched(void *ctx, const char *header, const char *constant)
{
    char *names = ctx;
    strcat(strcat(strcat(strcat(names, header), "="), constant), " ");
}

/* Reported are constants that were compared with a header value and that no event had. */
static void fields_3_4_unmatched(void)
{
    static const struct {
        const char *expr, *unmatched;
    } cases[] = {{"(== $event \"Nope\")", "event=Nope "}, {"(== \"Nope\" $event)", "event=Nope "},
            {"(== $event \"E\")", ""}, {"(!= $provider \"Q\")", "provider=Q "},
            {"(!= $provider \"P\")", ""}, {"(in $event (list \"F\" \"E\"))", "event=F "},
            {"(match \"F*\" $event)", "event=F* "}, {"(match \"E*\" $event)", ""},
            {"(== $Count \"x\")", ""}, {"(&& 0 (== $event \"F\"))", ""}, {"(== \"a\" \"b\")", ""}};
    EtwSchemaStore *store = EtwSchemaStoreNew();
    Sample *s = SampleNew("P", "E", NULL, 0);
    for (int i = 0; i < COUNT(cases); i++) {
        char names[100] = "";
        const char *expr = cases[i].expr;
        EtwPredicate *pred;
        REQUIRE(EtwPredicateNew(&pred, readExpr(&expr), NULL) == ETW_OK);
        EtwPredicateUnmatched(pred, addUnmatched, names);
        CHECK_STR(names, ""); /* no event yet */
        EtwPredicateTest(pred, store, SampleEvent(s));
        EtwPredicateUnmatched(pred, addUnmatched, names);
        CHECK_MSG(strcmp(names, cases[i].unmatched) == 0, "%s: %s", cases[i].expr, names);
        EtwPredicateFree(pred);
    }
    const char *const *names = EtwHeaderNames();
    CHECK_STR(names[0], "time");
    int count = 0;
    while (names[count] != NULL) {
        count++;
    }
    CHECK_STR(names[count - 1], "late");
    SampleFree(s);
    EtwSchemaStoreFree(store);
}

/* ---- Filters on record headers ------------------------------------------------------------------- */

/* "from=N ids=... pids=... providers=N", of what there is. */
static const char *boundsOf(const char *expr)
{
    static char text[400];
    EtwPredicate *pred;
    EtwBounds b;
    int used = 0;
    if (EtwPredicateNew(&pred, readExpr(&expr), NULL) != ETW_OK) {
        return "refused";
    }
    EtwBoundsOf(&b, pred);
    text[0] = '\0';
    if (b.filter.from != INT64_MIN) {
        used += snprintf(
                text + used, sizeof text - (size_t)used, "from=%lld ", (long long)b.filter.from);
    }
    for (size_t i = 0; i < b.filter.idCount; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "id=%u ", b.filter.ids[i]);
    }
    for (size_t i = 0; i < b.filter.pidCount && i < 5; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "pid=%d ", (int)b.filter.pids[i]);
    }
    for (size_t i = 0; i < b.filter.providerCount; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "provider=%02x ",
                b.filter.providers[i].bytes[0]);
    }
    CHECK(b.filter.to == INT64_MAX);
    CHECK_EQ(EtwBoundsAny(&b), used > 0);
    EtwBoundsFree(&b);
    EtwPredicateFree(pred);
    return text;
}

#define GUID "04030201-0605-0807-090a-0b0c0d0e0f10"

/* The filter passes all that the predicate passes: conjuncts on header fields, up to the first that reads the payload. */
static void bounds_4_1_of_a_predicate(void)
{
    static const char *const cases[][2] = {{"(== $id 5)", "id=5 "}, {"(== 5 $id)", "id=5 "},
            {"(eq $id \"0x10\")", "id=16 "}, {"(!= $id 5)", ""},
            {"(in $id (list 1 \"2\" 3))", "id=1 id=2 id=3 "}, {"(ni $id (list 1))", ""},
            {"(in $id (list 1 \"x\"))", ""},
            {"(in $id (list 0 65535 65536 -1 5))", "id=0 id=65535 id=5 "}, {"(== $id 1.0)", ""},
            {"(== $id \"1.0\")", ""}, {"(== $pid 7)", "pid=7 pid=-1 "},
            {"(in $pid (list 0 4294967294 4294967295 -1))", "pid=0 pid=-2 pid=-1 "},
            {"(== $provider \"" GUID "\")", "provider=01 "},
            {"(in $provider (list \"" GUID "\" \"{" GUID "}\"))", "provider=01 provider=01 "},
            {"(== $provider \"Name\")", ""}, {"(in $provider (list \"" GUID "\" \"Name\"))", ""},
            {"(== $provider 5)", ""}, {"(== $tid 7)", ""},
            /* Times. A limit may pass more than the predicate: >= also for >. */
            {"(>= $time 100)", "from=100 "}, {"(> $time 100)", "from=100 "},
            {"(<= 100 $time)", "from=100 "}, {"(< 100 $time)", "from=100 "}, {"(<= $time 100)", ""},
            {"(< $time 100)", ""}, {"(>= 100 $time)", ""}, {"(> 100 $time)", ""},
            {"(== $time 100)", ""}, {"(>= $time \"0x64\")", "from=100 "}, {"(>= $time 1.5)", ""},
            {"(>= $pid 100)", ""}, {"(&& (>= $time 100) (>= $time 300))", "from=300 "},
            {"(&& (>= $time 300) (>= $time 100))", "from=300 "},
            /* Conjunctions; a second list for a field is not used. */
            {"(&& (== $id 5) (&& (== $pid 7) (>= $time 9)))", "from=9 id=5 pid=7 pid=-1 "},
            {"(&& (== $id 5) (== $id 6))", "id=5 "}, {"(|| (== $id 5) (== $id 6))", ""},
            {"(! (== $id 5))", ""}, {"(? (== $id 5) 1 0)", ""},
            {"(&& (|| (== $level 1) (== $level 2)) (== $id 5))", "id=5 "},
            /* What follows a conjunct that reads the payload excludes nothing, so that fields that no event has are reported. */
            {"(&& (== $Count 1) (== $id 5))", ""}, {"(&& (== $id 5) (== $Count 1))", "id=5 "},
            {"(&& (&& (== $id 5) (== $Count 1)) (== $pid 7))", "id=5 "},
            {"(&& (== @pid 1) (== $id 5))", ""}, {"(&& (! (== (+ 1 $Count) 1)) (== $id 5))", ""},
            {"(&& (== $pid $Count) (== $id 5))", ""}};
    for (int i = 0; i < COUNT(cases); i++) {
        const char *got = boundsOf(cases[i][0]);
        CHECK_MSG(strcmp(got, cases[i][1]) == 0, "%s: %s", cases[i][0], got);
    }
    EtwBounds none;
    EtwBoundsOf(&none, NULL);
    CHECK(!EtwBoundsAny(&none));
    none.filter.to = 5;
    CHECK(EtwBoundsAny(&none));
    EtwBoundsFree(&none);
}

/* Long lists are not compared with each record. */
static void bounds_4_2_long_lists(void)
{
    for (int items = 64; items <= 65; items++) {
        EtwNode *list = EtwNodeNew(ETW_OP_LIST, items), *in = EtwNodeNew(ETW_OP_IN, 2);
        EtwPredicate *pred;
        EtwBounds b;
        for (int i = 0; i < items; i++) {
            list->children[i] = EtwNodeNew(ETW_OP_INT, 0);
            list->children[i]->i = i;
        }
        in->children[0] = leaf(ETW_OP_FIELD, "id", 2);
        in->children[1] = list;
        REQUIRE(EtwPredicateNew(&pred, in, NULL) == ETW_OK);
        EtwBoundsOf(&b, pred);
        CHECK_EQ(b.filter.idCount, items == 64 ? 64 : 0);
        EtwBoundsFree(&b);
        EtwPredicateFree(pred);
    }
}

/* ---- Numbers with a unit ---------------------------------------------------------------------------- */

static void quantities_5_1(void)
{
    static const struct {
        const char *text;
        size_t length; /* 0: not such a text */
        EtwQuantityKind kind;
        int64_t value;
    } cases[] = {{"10ms", 4, ETW_QUANTITY_DURATION, 10000000}, {"1ns", 3, ETW_QUANTITY_DURATION, 1},
            {"2us", 3, ETW_QUANTITY_DURATION, 2000}, {"1.5s", 4, ETW_QUANTITY_DURATION, 1500000000},
            {"2min", 4, ETW_QUANTITY_DURATION, 120000000000},
            {"3h", 2, ETW_QUANTITY_DURATION, 10800000000000}, {"0s", 2, ETW_QUANTITY_DURATION, 0},
            {".5s", 3, ETW_QUANTITY_DURATION, 500000000},
            {"5.s", 3, ETW_QUANTITY_DURATION, 5000000000}, {"1.4ns", 5, ETW_QUANTITY_DURATION, 1},
            {"1.5ns", 5, ETW_QUANTITY_DURATION, 2}, {"0.0125us", 8, ETW_QUANTITY_DURATION, 13},
            {"64K", 3, ETW_QUANTITY_SIZE, 65536}, {"64KB", 4, ETW_QUANTITY_SIZE, 65536},
            {"64kb", 4, ETW_QUANTITY_SIZE, 65536}, {"1kiB", 4, ETW_QUANTITY_SIZE, 1024},
            {"1Mb", 3, ETW_QUANTITY_SIZE, 1048576}, {"1GiB", 4, ETW_QUANTITY_SIZE, 1073741824},
            {"1T", 2, ETW_QUANTITY_SIZE, 1099511627776}, {"0.5K", 4, ETW_QUANTITY_SIZE, 512},
            {"10ms && 1", 4, ETW_QUANTITY_DURATION, 10000000},
            {"10ms)", 4, ETW_QUANTITY_DURATION, 10000000},
            {"9223372036854775807ns", 21, ETW_QUANTITY_DURATION, INT64_MAX},
            {"9007199254740991K", 17, ETW_QUANTITY_SIZE, 9007199254740991 * 1024}, {"64k", 0, 0, 0},
            {"10MS", 0, 0, 0}, {"10Ms", 0, 0, 0}, {"10", 0, 0, 0}, {"ms", 0, 0, 0}, {".s", 0, 0, 0},
            {"", 0, 0, 0}, {"1.2.3s", 0, 0, 0}, {"1 s", 3, ETW_QUANTITY_DURATION, 1000000000},
            {"1  s", 0, 0, 0}, {"1 sx", 0, 0, 0}, {"1 ", 0, 0, 0}, {"10msx", 0, 0, 0},
            {"10ms1", 0, 0, 0}, {"10ms_", 0, 0, 0}, {"10ms:", 0, 0, 0}, {"10ms\xc3\xa9", 0, 0, 0},
            {"10m", 0, 0, 0}, {"1KiBs", 0, 0, 0}, {"-1s", 0, 0, 0},
            {"9223372036854775808ns", 0, 0, 0}, {"9223372036854775807.5ns", 0, 0, 0},
            {"9007199254740992K", 0, 0, 0},
            /* Beyond 64 bits, where the number begins again at 0. */
            {"18446744073709551616ns", 0, 0, 0}, {"18446744073709551617ns", 0, 0, 0},
            {"36893488147419103232ns", 0, 0, 0}, {"99999999999999999999999999999999s", 0, 0, 0}};
    for (int i = 0; i < COUNT(cases); i++) {
        EtwQuantityKind kind = ETW_QUANTITY_DURATION;
        int64_t value = 0;
        size_t length = EtwQuantityAt(cases[i].text, strlen(cases[i].text), &kind, &value);
        CHECK_MSG(length == cases[i].length &&
                          (length == 0 || (kind == cases[i].kind && value == cases[i].value)),
                "%s: %d characters, %lld", cases[i].text, (int)length, (long long)value);
        bool whole = length == strlen(cases[i].text) && length > 0;
        CHECK_EQ(EtwQuantityParse(cases[i].text, cases[i].kind, &value), whole);
        CHECK(!EtwQuantityParse(cases[i].text,
                cases[i].kind == ETW_QUANTITY_SIZE ? ETW_QUANTITY_DURATION : ETW_QUANTITY_SIZE,
                &value));
    }
    /* The text ends where its size says. */
    EtwQuantityKind kind;
    int64_t value;
    CHECK_EQ(EtwQuantityAt("10msx", 4, &kind, &value), 4);
    CHECK_EQ(EtwQuantityAt("10ms", 3, &kind, &value), 0);
}

/* ---- Globs ------------------------------------------------------------------------------------------ */

/* Sets, ranges, escapes and case, as string match has them. */
static void globs_6_1(void)
{
    static const struct {
        const char *pattern, *text;
        bool match, nocase;
    } cases[] = {{"[a-c]", "a", 1, 1}, {"[a-c]", "c", 1, 1}, {"[a-c]", "d", 0, 0},
            {"[a-c]", "B", 0, 1}, {"[A-C]", "b", 0, 1}, {"[ac]", "c", 1, 1}, {"[ac]", "b", 0, 0},
            {"[ac]b", "cb", 1, 1}, {"[ac]b", "c", 0, 0}, {"[c-a]", "b", 1, 1}, {"x[", "x[", 0, 0},
            {"[]", "]", 0, 0}, {"[]", "", 0, 0}, {"\\a", "a", 1, 1}, {"\\*", "*", 1, 1},
            {"\\*", "x", 0, 0}, {"\\?", "?", 1, 1}, {"\\[", "[", 1, 1}, {"\\A", "a", 0, 1},
            {"a**b", "ab", 1, 1}, {"a**b", "axxb", 1, 1}, {"*", "", 1, 1}, {"?", "\xc3\xa9", 1, 1},
            {"??", "\xc3\xa9", 0, 0}, {"[\xc3\xa0-\xc3\xaf]", "\xc3\xa9", 1, 1},
            {"[\xc3\xa0-\xc3\xaf]", "\xc3\xb0", 0, 0}, {"\xc3\x89", "\xc3\xa9", 0, 1},
            {"*b*b", "abab", 1, 1}, {"*b*bc", "abab", 0, 0}, {"*[0-9]", "ab7", 1, 1},
            {"*[0-9]", "ab7x", 0, 0}, {"a?c", "abc", 1, 1}, {"a?c", "ac", 0, 0},
            {"ABC", "abc", 0, 1}, {"abc", "ab", 0, 0}, {"ab", "abc", 0, 0}, {"*.etl", ".etl", 1, 1},
            {"*.etl", "x.etlx", 0, 0}};
    for (int i = 0; i < COUNT(cases); i++) {
        const char *p = cases[i].pattern, *t = cases[i].text;
        CHECK_MSG(EtwGlobMatch(p, strlen(p), t, strlen(t), false) == cases[i].match, "%s %s", p, t);
        CHECK_MSG(EtwGlobMatch(p, strlen(p), t, strlen(t), true) == cases[i].nocase,
                "%s %s, any case", p, t);
    }
}

/* Case is folded in Latin, Greek and Cyrillic: the pairs, and their neighbours, which are no pairs. */
static void globs_6_2_case(void)
{
    static const char *const pairs[][2] = {{"A", "a"}, {"Z", "z"}, {"\xc3\x80", "\xc3\xa0"},
            {"\xc3\x9e", "\xc3\xbe"}, {"\xce\x91", "\xce\xb1"}, {"\xce\xa9", "\xcf\x89"},
            {"\xd0\x90", "\xd0\xb0"}, {"\xd0\xaf", "\xd1\x8f"}, {"\xd0\x80", "\xd1\x90"},
            {"\xd0\x8f", "\xd1\x9f"}, {"\xc4\x80", "\xc4\x81"}, {"\xc4\xb6", "\xc4\xb7"},
            {"\xc5\x8a", "\xc5\x8b"}, {"\xc5\xb6", "\xc5\xb7"}, {"\xc4\xb9", "\xc4\xba"},
            {"\xc5\x87", "\xc5\x88"}, {"\xc5\xb9", "\xc5\xba"}, {"\xc5\xbd", "\xc5\xbe"}};
    static const char *const others[][2] = {{"@", "`"}, {"[", "{"}, {"\xc3\x97", "\xc3\xb7"},
            {"\xc3\x9f", "\xc3\xbf"}, {"\xc2\xbf", "\xc3\x9f"}, {"\xce\x90", "\xce\xb0"},
            {"\xce\xaa", "\xcf\x8a"}, {"\xd0\xb0", "\xd1\x90"}, {"\xc4\x81", "\xc4\x82"},
            {"\xc4\xb8", "\xc4\xb9"}, {"\xc4\xba", "\xc4\xbb"}, {"\xc5\x88", "\xc5\x89"},
            {"\xc5\x89", "\xc5\x8a"}, {"\xc5\xb8", "\xc5\xb9"}, {"\xc5\xbf", "\xc6\x80"}};
    for (int i = 0; i < COUNT(pairs); i++) {
        const char *upper = pairs[i][0], *lower = pairs[i][1];
        CHECK_MSG(EtwGlobMatch(upper, strlen(upper), lower, strlen(lower), true), "%s %s", upper,
                lower);
        CHECK_MSG(EtwGlobMatch(lower, strlen(lower), upper, strlen(upper), true), "%s %s", lower,
                upper);
        CHECK(!EtwGlobMatch(lower, strlen(lower), upper, strlen(upper), false));
    }
    for (int i = 0; i < COUNT(others); i++) {
        const char *a = others[i][0], *b = others[i][1];
        CHECK_MSG(!EtwGlobMatch(a, strlen(a), b, strlen(b), true), "%s %s", a, b);
    }
    /* Bytes that are no UTF-8 are characters, one by one. */
    CHECK_EQ(EtwTextLength("a\xc3\xa9\xe6\x97\xa5\xf0\x9f\x98\x80", 10), 4);
    CHECK_EQ(EtwTextLength("\xc3", 1), 1);
    CHECK_EQ(EtwTextLength("\xc3x", 2), 2);
    CHECK_EQ(EtwTextLength("\xf0\x9f\x98", 3), 3);
    CHECK_EQ(EtwTextLength("\xa9\xa9", 2), 2);
    CHECK(!EtwGlobMatch("\xc3x", 2, "\xc4x", 2, false));
    CHECK(EtwGlobMatch("[ab]x[ac]y", 10, "bxay", 4, false));
    CHECK(EtwGlobMatch("?\xa9", 2, "\xe6\xa9", 2, false));
}

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(table_1_1_truth);
    CHECK_RUN(table_1_2_shapes);
    CHECK_RUN(trees_2_1_deep);
    CHECK_RUN(trees_2_2_limits);
    CHECK_RUN(fields_3_1_missing);
    CHECK_RUN(fields_3_2_header);
    CHECK_RUN(fields_3_3_times);
    CHECK_RUN(fields_3_4_unmatched);
    CHECK_RUN(bounds_4_1_of_a_predicate);
    CHECK_RUN(bounds_4_2_long_lists);
    CHECK_RUN(quantities_5_1);
    CHECK_RUN(globs_6_1);
    CHECK_RUN(globs_6_2_case);
    return CHECK_DONE();
}
