/*
 * flow/summary/summary_group.c --
 *
 *	The groups of a summary, and which of them are kept when there are too many: the heaviest,
 *	independent of their order. When the number of groups reaches twice the limit (which is not
 *	small), the lighter half is merged into the group "others". The highest weight among them is
 *	the floor: an upper bound for the weight of any group that is not kept. A group that occurs
 *	(again) is counted from then on, and stores the current floor as the amount that it may have
 *	missed. The floor is at most the total weight divided by the limit: an event adds 1 to the
 *	weights above the floor, and a floor that rises by 1 takes 1 from each group that is removed
 *	or kept. (After Misra and Gries, "Finding repeated elements", 1982, and Metwally and others,
 *	"Efficient computation of frequent and top-k elements", 2005.)
 */
#include "flow/summary/summary_int.h"
#include <stdlib.h>

EtwSummaryGroup *EtwSummaryGroupNew(const char *key, size_t size)
{
    EtwSummaryGroup *g = EtwAlloc(sizeof *g + size);
    EtwCopyShort(g->key, key, size);
    g->keySize = size;
    g->first = INT64_MAX;
    g->last = INT64_MIN;
    g->min = UINT64_MAX;
    return g;
}

void EtwSummaryGroupFree(EtwSummaryGroup *g)
{
    if (g != NULL) {
        EtwHistogramFree(&g->values);
        for (int i = 0; i < ETW_SUMMARY_FIELDS; i++) {
            EtwDistinctFree(&g->distinct[i]);
        }
        EtwFree(g);
    }
}

double EtwSummaryWeight(const EtwSummary *s, const EtwSummaryGroup *g)
{
    return EtwSummaryMeasures(s) ? g->sum : (double)g->count;
}

/* Add one group's statistics to another. */
static void addGroup(EtwSummaryGroup *to, const EtwSummaryGroup *g)
{
    to->count += g->count;
    to->bytes += g->bytes;
    to->first = g->first < to->first ? g->first : to->first;
    to->last = g->last > to->last ? g->last : to->last;
    to->sum += g->sum;
    to->min = g->min < to->min ? g->min : to->min;
    to->max = g->max > to->max ? g->max : to->max;
    EtwHistogramMerge(&to->values, &g->values);
    for (int i = 0; i < ETW_SUMMARY_FIELDS; i++) {
        EtwDistinctMerge(&to->distinct[i], &g->distinct[i]);
    }
}

typedef struct Ranked {
    double most; /* upper bound of its weight */
    EtwSummaryGroup *group;
} Ranked;

typedef struct Ranking {
    const EtwSummary *summary;
    Ranked *list;
    size_t count;
} Ranking;

static void rank(void *ctx, EtwTableNode *node)
{
    Ranking *r = ctx;
    EtwSummaryGroup *g = (EtwSummaryGroup *)node;
    r->list[r->count++] = (Ranked){EtwSummaryWeight(r->summary, g) + g->missed, g};
}

/* Equal weights are ordered by key, so that results are reproducible. */
static int compareRanks(const void *left, const void *right)
{
    const Ranked *a = left, *b = right;
    if (a->most > b->most || a->most < b->most) {
        return a->most > b->most ? -1 : 1;
    }
    size_t size = a->group->keySize < b->group->keySize ? a->group->keySize : b->group->keySize;
    int order = memcmp(a->group->key, b->group->key, size);
    return order != 0 ? order
                      : (a->group->keySize > b->group->keySize) -
                                (a->group->keySize < b->group->keySize);
}

static size_t capacityOf(const Summary *s)
{
    enum { LEAST = 512 }; /* minimum, because few groups may be requested of many that occur */
    return s->pub.config.groupsMax > LEAST ? s->pub.config.groupsMax : LEAST;
}

void EtwSummaryGroupsTrim(Summary *s, size_t keep)
{
    if (s->groups.count <= keep) {
        return;
    }
    Ranking r = {&s->pub, EtwAlloc(s->groups.count * sizeof *r.list), 0};
    EtwTableVisit(&s->groups, rank, &r);
    qsort(r.list, r.count, sizeof *r.list, compareRanks);
    if (s->pub.others == NULL) {
        s->pub.others = EtwSummaryGroupNew("", 0);
    }
    s->pub.floor = r.list[keep].most > s->pub.floor ? r.list[keep].most : s->pub.floor;
    for (size_t i = keep; i < r.count; i++) {
        addGroup(s->pub.others, r.list[i].group);
        EtwTableRemove(&s->groups, &r.list[i].group->node);
        EtwSummaryGroupFree(r.list[i].group);
    }
    EtwFree(r.list);
    memset(s->shortcuts, 0, sizeof s->shortcuts); /* they may refer to removed groups */
}

EtwSummaryGroup *EtwSummaryGroupOf(Summary *s, const char *key, size_t size)
{
    uint64_t hash = EtwHashBytes(0, (const uint8_t *)key, size);
    EtwSummaryGroup *g = (EtwSummaryGroup *)EtwTableFirst(&s->groups, hash);
    while (g != NULL && (g->node.hash != hash || g->keySize != size || memcmp(g->key, key, size))) {
        g = (EtwSummaryGroup *)g->node.next;
    }
    if (g == NULL) {
        if (s->groups.count >= 2 * capacityOf(s)) {
            EtwSummaryGroupsTrim(s, capacityOf(s));
        }
        g = EtwSummaryGroupNew(key, size);
        g->missed = s->pub.floor;
        EtwTableAdd(&s->groups, &g->node, hash);
    }
    return g;
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwSummaryGroupFree((EtwSummaryGroup *)node);
}

void EtwSummaryGroupsFree(Summary *s)
{
    EtwTableFree(&s->groups, freeNode);
    EtwSummaryGroupFree(s->pub.total);
    EtwSummaryGroupFree(s->pub.others);
}
