/*
 * flow/calls/call_tree.h --
 *
 *	Aggregates enter and leave events of scripts to calls: their number, total and self time, and from
 *	kernel events what they waited for and did meanwhile. The result is a profile (one row per proc;
 *	memory is bounded by the number of procs and open calls), and optionally a tree. Events are passed in
 *	time order. Each thread has its own calls.
 */
#ifndef ETW_CALL_TREE_H
#define ETW_CALL_TREE_H

#include "flow/calls/histogram.h"
#include "schema/model/schema.h"
#include "base/hash_table.h"

/* What a call paid for. */
typedef enum EtwCostKind {
    ETW_COST_WAIT,    /* off the CPU until an event: named by the system call, if known */
    ETW_COST_READY,   /* off the CPU, though it could have run */
    ETW_COST_SYSCALL, /* from its enter to its exit, waits included */
    ETW_COST_MOVE,    /* bytes sent, received, allocated */
    ETW_COST_EVENT,   /* any other event of the thread */
    ETW_COST_QUEUE,   /* a callback's, before it ran: from when it was due or noticed */
    ETW_COST_COUNTER, /* a counter's increase, of samples */
    ETW_COST_KINDS
} EtwCostKind;
const char *EtwCostKindName(EtwCostKind kind);

/* One kind and name; shared by all costs of it. */
typedef struct EtwCostClass {
    EtwTableNode node;
    EtwCostKind kind;
    int order; /* of its first event */
    char *name;
} EtwCostClass;

typedef struct EtwCost {
    const EtwCostClass *of;
    uint64_t count, ns, bytes;
} EtwCost;

typedef struct EtwCosts {
    EtwCost *list;
    int count, capacity;
} EtwCosts;

typedef struct EtwCallStats {
    uint64_t calls;
    uint64_t errors; /* left with code 1 */
    uint64_t cut;    /* never left: the thread or the trace ended */
    uint64_t asleep; /* the same, of calls that were suspended by yield (or whose leave was lost) */
    uint64_t total;  /* ns on the stack; of a recursion only the outermost call's */
    uint64_t self;   /* of these, samples without a called function */
    uint64_t min, max; /* of one left call */
    EtwCosts own, all; /* what was paid in itself; with all that it called */
} EtwCallStats;
uint64_t EtwCostsWait(const EtwCosts *costs); /* ns off the CPU */

/* A proc, or a source line of calls. */
typedef struct EtwCallRow {
    EtwTableNode node;
    struct EtwCallRow *next; /* in the order of their first calls */
    char *name;              /* or, by line, FILE:LINE */
    size_t nameSize;
    int order;       /* of its first call: 0, 1, ... */
    bool profiled;   /* false: only the tree has it */
    uint64_t sample; /* the last that it was in */
    EtwCallStats stats;
    EtwHistogram times;
} EtwCallRow;

/* Calls of one proc below the same callers, or a single call; a thread when row is NULL. */
typedef struct EtwCallNode {
    EtwTableNode node;
    struct EtwCallNode *parent, *next, *first, *last;
    const EtwCallRow *row;
    EtwCallStats
            stats;  /* total: all of it also in a recursion, whose calls have nodes of their own */
    int64_t start;  /* of the first call */
    uint64_t slept; /* a single call: ns between its enter and leave that it was not there */
    char *text;     /* a single call: command with its words; else NULL */
    int code;       /* a single call: how it was left */
    uint32_t pid, tid; /* of a thread */
    char *process;     /* NULL: unknown */
    void *own;         /* of a thread: its watcher's */
} EtwCallNode;

/* The time that this share of the row's calls does not exceed. */
uint64_t EtwCallTimeAt(const EtwCallRow *row, double share);

/*
 * Callbacks for each call as it begins and ends. On a thread, pushes and pops nest, and times do not
 * decrease. A call that yields is popped and pushed again. thread: its node, whose `own` is for use by
 * the callbacks. Each may be NULL.
 */
typedef struct EtwCallsSwitch {
    uint32_t oldTid, newTid;
    const EtwCostClass *cause; /* what the old one waits for; NULL: it has ended */
    const char *newName;       /* what the new one is called, not NUL-terminated */
    size_t newNameSize;        /* 0: not told */
} EtwCallsSwitch;

typedef struct EtwCallsWatch {
    /* text: the command with its words; size 0: it is back from a yield. */
    void (*push)(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc,
            const char *text, size_t size);
    /* code: how it was left; ETW_CALL_OPEN: it was not (a yield, the end of the trace). */
    void (*pop)(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc, int code);
    /* Time that has just ended was spent in the kernel, or off the CPU. */
    void (*spent)(void *ctx, EtwCallNode *thread, int64_t time, const EtwCost *cost);
    void *ctx;
    /* The event's CPU went from one thread to another. */
    void (*switched)(void *ctx, const EtwEvent *event, const EtwCallsSwitch *what);
} EtwCallsWatch;
enum { ETW_CALL_OPEN = -1 };

typedef struct EtwCallsConfig {
    bool tree, single; /* single: a node for each call, not for each path */
    bool byLine;
    bool samples; /* use sampled stacks only */
    EtwCallsWatch watch;
} EtwCallsConfig;

typedef struct EtwCalls {
    EtwCallsConfig config;
    EtwCallRow *rows;
    EtwCallNode *threads; /* those with calls, in the order of their first */
    uint64_t events;      /* taken, those of the kernel included */
    uint64_t calls, cut, asleep;
    uint64_t unmatched; /* leaves without enter: begun before the trace or -from, or lost */
    uint64_t waits;     /* switches of threads with calls; 0: the trace has no waits */
} EtwCalls;

/* The store must outlive it. */
EtwCalls *EtwCallsNew(const EtwCallsConfig *config, EtwSchemaStore *store);
void EtwCallsAdd(EtwCalls *calls, const EtwEvent *event);
/* After the last event: end open calls. Call this before reading results. */
void EtwCallsEnd(EtwCalls *calls);
void EtwCallsFree(EtwCalls *calls);

/* ---- Results in order (call_report.c) ---------------------------------------------------------- */

/* The profile's rows, largest self time first; *countPtr of them, EtwFree. */
const EtwCallRow **EtwCallRows(const EtwCalls *calls, size_t *countPtr);
/* A node's children: paths by total time, single calls in order. The caller frees the array (EtwFree). */
const EtwCallNode **EtwCallChildren(const EtwCallNode *node, size_t *countPtr);
/* Costs, those of most time first; EtwFree. */
const EtwCost **EtwCallCosts(const EtwCosts *costs, size_t *countPtr);

/* For people: the profile and what was waited for; the tree. */
void EtwCallsProfileText(const EtwCalls *calls, EtwText *out);
void EtwCallsTreeText(const EtwCalls *calls, EtwText *out);
/* Append a line NAME;NAME NS for each path with self time: the input of flame graph tools. */
void EtwCallsFoldedText(const EtwCalls *calls, EtwText *out);
/* For programs: rows under a header row; objects. Times in ns. */
void EtwCallsProfileCsv(const EtwCalls *calls, EtwText *out);
void EtwCallsTreeCsv(const EtwCalls *calls, EtwText *out);
void EtwCallsJson(const EtwCalls *calls, bool profile, bool tree, EtwText *out);

#endif
