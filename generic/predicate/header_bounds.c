/*
 * predicate/header_bounds.c --
 *
 *	The conditions on an event's header in a predicate, as a filter that a file's reader applies to records before they
 *	are decoded. It passes every event that the predicate passes, and possibly more. Conjuncts after one that reads the
 *	payload are not used: events that they exclude would be missing for EtwPredicateMissing.
 */
#include "predicate/header_bounds.h"
#include "predicate/predicate_value.h"

enum { MAX_ITEMS = 64 }; /* maximum of a list, because each record is compared with all items */

/* True if evaluating it reads an event's payload. */
static bool readsPayload(const EtwNode *node)
{
    if (node->op == ETW_OP_PROP || (node->op == ETW_OP_FIELD && !EtwIsHeaderName(node->text))) {
        return true;
    }
    for (int i = 0; i < node->childCount; i++) {
        if (readsPayload(node->children[i])) {
            return true;
        }
    }
    return false;
}

static bool isField(const EtwNode *node, const char *name)
{
    return node->op == ETW_OP_FIELD && strcmp(node->text, name) == 0;
}

/* A constant that is an integer in any notation. */
static bool integerOf(const EtwNode *node, EtwWide *iPtr)
{
    Value number;
    if (node->op == ETW_OP_INT) {
        *iPtr = EtwWideInt(node->i);
        return true;
    }
    if (node->op != ETW_OP_STRING || !EtwTextNumber(node->text, node->size, &number) ||
            number.kind != VALUE_INT) {
        return false;
    }
    *iPtr = number.i;
    return true;
}

static bool addProvider(EtwText *list, const EtwNode *item)
{
    EtwGuid guid;
    if (item->op != ETW_OP_STRING || !EtwGuidParse(item->text, &guid)) {
        return false;
    }
    EtwTextAdd(list, &guid, sizeof guid);
    return true;
}

static bool addId(EtwText *list, const EtwNode *item)
{
    EtwWide wide;
    int64_t i;
    if (!integerOf(item, &wide)) {
        return false;
    }
    if (EtwWideFits(wide, &i) && i >= 0 && i <= UINT16_MAX) { /* no event has other ids */
        uint16_t id = (uint16_t)i;
        EtwTextAdd(list, &id, sizeof id);
    }
    return true;
}

static bool addPid(EtwText *list, const EtwNode *item)
{
    EtwWide wide;
    int64_t i;
    if (!integerOf(item, &wide)) {
        return false;
    }
    if (EtwWideFits(wide, &i) && i >= 0 && i < ETW_NO_ID) {
        uint32_t pid = (uint32_t)i;
        EtwTextAdd(list, &pid, sizeof pid);
    }
    return true;
}

/* The field is one of these constants. A second list for the same field is not used. */
static void takeSet(EtwBounds *b, const EtwNode *field, EtwNode *const *items, int count)
{
    static const uint32_t none = ETW_NO_ID; /* a source may determine the pid of such an event */
    bool pid = isField(field, "pid"), id = isField(field, "id");
    EtwText *list = pid ? &b->pids : id ? &b->ids : &b->providers;
    if ((!pid && !id && !isField(field, "provider")) || list->size != 0 || count > MAX_ITEMS) {
        return;
    }
    for (int i = 0; i < count; i++) {
        if (!(pid ? addPid : id ? addId : addProvider)(list, items[i])) {
            list->size = 0;
            return;
        }
    }
    if (pid) {
        EtwTextAdd(list, &none, sizeof none);
    }
}

static void takeConjunct(EtwBounds *b, const EtwNode *node)
{
    EtwNode *const *child = node->children;
    bool after = node->op == ETW_OP_GE || node->op == ETW_OP_GT;
    EtwWide wide;
    int64_t from;
    switch (node->op) {
    case ETW_OP_EQ:
    case ETW_OP_STREQ:
        takeSet(b, child[0], &child[1], 1);
        takeSet(b, child[1], &child[0], 1);
        break;
    case ETW_OP_IN:
        takeSet(b, child[0], child[1]->children, child[1]->childCount);
        break;
    case ETW_OP_GE:
    case ETW_OP_GT:
    case ETW_OP_LE:
    case ETW_OP_LT:
        if (isField(child[!after], "time") && integerOf(child[after], &wide) &&
                EtwWideFits(wide, &from) && from > b->filter.from) {
            b->filter.from = from;
        }
        break;
    default:
        break;
    }
}

/* False: the conjuncts after this one must not be used. */
static bool take(EtwBounds *b, const EtwNode *node)
{
    if (node->op == ETW_OP_AND) {
        return take(b, node->children[0]) && take(b, node->children[1]);
    }
    takeConjunct(b, node);
    return !readsPayload(node);
}

void EtwBoundsOf(EtwBounds *b, const EtwPredicate *pred)
{
    *b = (EtwBounds){.filter = {.from = INT64_MIN, .to = INT64_MAX}};
    if (pred == NULL) {
        return;
    }
    take(b, EtwPredicateTree(pred));
    b->filter.providers = (const EtwGuid *)(void *)b->providers.data;
    b->filter.providerCount = b->providers.size / sizeof *b->filter.providers;
    b->filter.ids = (const uint16_t *)(void *)b->ids.data;
    b->filter.idCount = b->ids.size / sizeof *b->filter.ids;
    b->filter.pids = (const uint32_t *)(void *)b->pids.data;
    b->filter.pidCount = b->pids.size / sizeof *b->filter.pids;
}

bool EtwBoundsAny(const EtwBounds *b)
{
    const EtlFilter *f = &b->filter;
    return f->providerCount != 0 || f->idCount != 0 || f->pidCount != 0 || f->from != INT64_MIN ||
           f->to != INT64_MAX;
}

void EtwBoundsFree(EtwBounds *b)
{
    EtwTextFree(&b->providers);
    EtwTextFree(&b->ids);
    EtwTextFree(&b->pids);
}
