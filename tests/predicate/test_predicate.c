/*
 * tests/predicate/test_predicate.c --
 *
 *	Predicates: a truth table over one event, and trees that must be refused. Expressions
 *	are written as lists in prefix form: (&& (== $Count 5) (eq $Name "x")).
 */
#include "tests/support/sample_event.h"
#include "tests/support/check.h"
#include "predicate/predicate.h"

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
            {"Lacking", ETW_IN_UINT32, 0, 0, 0}};
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

int main(int argc, char **argv)
{
    CHECK_ARGS(argc, argv);
    CHECK_RUN(table_1_1_truth);
    CHECK_RUN(table_1_2_shapes);
    CHECK_RUN(trees_2_1_deep);
    return CHECK_DONE();
}
