/*
 * flow/calls/flame.h --
 *
 *	A tree of calls as a flame graph: frames in drawing order, parents first, each with its self weight
 *	and its total weight.
 */
#ifndef ETW_FLAME_H
#define ETW_FLAME_H

#include "flow/calls/call_tree.h"
#include "flow/render/sink.h"

typedef struct EtwFlameFrame {
    const char *name; /* valid UTF-8 without control characters; owned by the flame graph */
    int parent;       /* index; -1: a thread */
    int depth;        /* 0: a thread */
    uint64_t self, total;
    uint64_t calls, errors;
    bool waiting; /* not a call, but its caller's wait */
    uint64_t before,
            callsBefore; /* of a comparison: the self weight and the calls of the other side */
} EtwFlameFrame;

typedef struct EtwFlame {
    EtwFlameFrame *frames;
    int count, capacity;
    int depth;      /* number of levels */
    uint64_t total; /* of all threads */
    double largest; /* of a comparison: the largest change of a frame's self weight, whose colour is the strongest; otherwise 0 */
    EtwText names;
} EtwFlame;

/*
 * Weights: ns of self time, number of calls, ns off the CPU (with frames for the reason). The calls
 * must be complete (EtwCallsEnd) and have a tree.
 */
EtwFlame *EtwFlameNew(const EtwCalls *calls, EtwWeight weight);
/*
 * For flame graphs of other trees, which begin zeroed (EtwAlloc): append a frame in drawing order, with self and calls to be set,
 * and return its index; then compute the totals. Names are valid after that.
 */
int EtwFlameFrameNew(EtwFlame *f, int parent, const char *name, size_t size);
void EtwFlameSum(EtwFlame *f);
/* Append a frame's name to a folded stack. Semicolons separate frames, so names get colons instead. */
void EtwFlameFoldedName(EtwText *path, const char *name);
void EtwFlameFree(EtwFlame *flame);
/*
 * A self-contained svg element. Its script accesses only the element, so that it also works inside
 * a page.
 */
void EtwFlameSvg(const EtwFlame *flame, EtwWeight weight, const char *title, EtwText *out);

#endif
