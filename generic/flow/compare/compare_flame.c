/*
 * flow/compare/compare_flame.c --
 *
 *	The paths of both sides as a differential flame graph (flow/calls/flame.h draws it), and as pairs of folded stacks.
 */
#include "flow/compare/compare_int.h"
#include "flow/calls/flame.h"

/* A row with its children, in order of first occurrence. */
typedef struct FlameNode {
    EtwTableNode node;
    const EtwCompareRow *row;
    struct FlameNode *first, *last, *next;
} FlameNode;

typedef struct FlameTree {
    EtwTable nodes; /* by row */
    FlameNode top;  /* its children have no caller */
} FlameTree;

static FlameNode *nodeOf(FlameTree *tree, const EtwCompareRow *row)
{
    EtwTableNode *n = EtwTableFirst(&tree->nodes, EtwHashPointer(row));
    while (n != NULL && ((FlameNode *)n)->row != row) {
        n = n->next;
    }
    return row == NULL ? &tree->top : (FlameNode *)n;
}

/* Callers come before what they call. */
static void makeTree(FlameTree *tree, const EtwCompare *c)
{
    for (const EtwCompareRow *row = c->first; row != NULL; row = row->next) {
        FlameNode *parent = row->table == ETW_COMPARE_PATHS ? nodeOf(tree, row->parent) : NULL;
        if (parent == NULL) {
            continue;
        }
        FlameNode *n = EtwAlloc(sizeof *n);
        n->row = row;
        *(parent->last != NULL ? &parent->last->next : &parent->first) = n;
        parent->last = n;
        EtwTableAdd(&tree->nodes, &n->node, EtwHashPointer(row));
    }
}

static uint64_t valueOf(const EtwCompareRow *row, int side, EtwMeasure measure)
{
    return EtwCompareWhole(row->sides[side][measure].median);
}

static int addFrame(EtwFlame *flame, int parent, const EtwCompareRow *row)
{
    int at = EtwFlameFrameNew(flame, parent, row->who, strlen(row->who));
    EtwFlameFrame *frame = &flame->frames[at];
    frame->self = valueOf(row, ETW_SIDE_B, ETW_MEASURE_SELF);
    frame->before = valueOf(row, ETW_SIDE_A, ETW_MEASURE_SELF);
    frame->calls = valueOf(row, ETW_SIDE_B, ETW_MEASURE_COUNT);
    frame->callsBefore = valueOf(row, ETW_SIDE_A, ETW_MEASURE_COUNT);
    frame->errors = valueOf(row, ETW_SIDE_B, ETW_MEASURE_ERRORS);
    double change = (double)frame->self - (double)frame->before;
    change = change < 0 ? -change : change;
    flame->largest = change > flame->largest ? change : flame->largest;
    return at;
}

typedef struct FlameLevel {
    const FlameNode *at; /* the next one */
    int frame;           /* of the caller */
} FlameLevel;

/* Not recursive, because a tree may be deep. */
static void addFrames(EtwFlame *flame, const FlameTree *tree)
{
    EtwText levels = {0};
    EtwTextAdd(&levels,
            &(FlameLevel){tree->top.first, EtwFlameFrameNew(flame, -1, "B, compared with A", 18)},
            sizeof(FlameLevel));
    while (levels.size > 0) {
        FlameLevel *top = (FlameLevel *)(void *)(levels.data + levels.size) - 1;
        const FlameNode *n = top->at;
        if (n == NULL) {
            levels.size -= sizeof *top;
            continue;
        }
        top->at = n->next;
        FlameLevel below = {n->first, addFrame(flame, top->frame, n->row)};
        EtwTextAdd(&levels, &below, sizeof below);
    }
    EtwTextFree(&levels);
}

static void freeNode(void *ctx, EtwTableNode *node)
{
    (void)ctx;
    EtwFree(node);
}

static EtwFlame *flameOf(const EtwCompare *c)
{
    FlameTree tree = {0};
    EtwFlame *flame = EtwAlloc(sizeof *flame);
    flame->largest = 1;
    makeTree(&tree, c);
    addFrames(flame, &tree);
    EtwTableFree(&tree.nodes, freeNode);
    EtwFlameSum(flame);
    return flame;
}

void EtwCompareSvg(const EtwCompare *c, const char *title, EtwText *out)
{
    EtwFlame *flame = flameOf(c);
    EtwTextStr(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    EtwFlameSvg(flame, ETW_WEIGHT_TIME, title, out);
    EtwFlameFree(flame);
}

void EtwCompareFolded(const EtwCompare *c, size_t most, EtwText *out)
{
    EtwFlame *flame = flameOf(c);
    EtwText path = {0};
    size_t *ends = EtwAlloc(((size_t)flame->depth + 1) * sizeof *ends);
    for (int i = 1; i < flame->count && out->size <= most; i++) {
        const EtwFlameFrame *frame = &flame->frames[i];
        path.size = frame->depth > 1 ? ends[frame->depth - 1] : 0;
        EtwTextStr(&path, frame->depth > 1 ? ";" : "");
        EtwFlameFoldedName(&path, frame->name);
        ends[frame->depth] = path.size;
        if (frame->self > 0 || frame->before > 0) {
            EtwTextAdd(out, path.data, path.size);
            EtwTextPrintf(out, " %llu %llu\n", (unsigned long long)frame->before,
                    (unsigned long long)frame->self);
        }
    }
    EtwFree(ends);
    EtwTextFree(&path);
    EtwFlameFree(flame);
}
