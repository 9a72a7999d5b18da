/*
 * flow/calls/call_tree.h --
 *
 *	Aggregates enter and leave events of scripts into calls: their number, total and self time,
 *	and from kernel events their waits, system calls and transfers. The result is a profile (one
 *	row for each proc; memory is bounded by the number of procs and open calls), and optionally
 *	a tree. Events must be passed in time order. Each thread has its own calls.
 */
#ifndef ETW_CALL_TREE_H
#define ETW_CALL_TREE_H

#include "flow/calls/histogram.h"
#include "flow/track/name_tracker.h"
#include "flow/waits/waits.h"
#include "base/hash_table.h"

/* A kind of cost of a call. */
typedef enum EtwCostKind {
    ETW_COST_WAIT,    /* off the CPU until it is woken: named by the system call, if known */
    ETW_COST_READY,   /* off the CPU, although runnable */
    ETW_COST_BLOCK,   /* in a Tcl command that blocks */
    ETW_COST_SYSCALL, /* from enter to exit, including waits */
    ETW_COST_MOVE,    /* bytes sent, received, allocated */
    ETW_COST_EVENT,   /* any other event of the thread */
    ETW_COST_QUEUE,   /* delay of a callback: from the time it was due or noticed until it ran */
    ETW_COST_COUNTER, /* increase of a counter, from samples */
    ETW_COST_KINDS
} EtwCostKind;
const char *EtwCostKindName(EtwCostKind kind);

/* A kind and name; shared by all its costs. */
typedef struct EtwCostClass {
    EtwTableNode node;
    EtwCostKind kind;
    int order; /* by first occurrence */
    char *name;
} EtwCostClass;

/*
 * waited: the part of ns that counts as waiting. Of an operation on a channel it is all of ns, unless the trace
 * has the switches of the thread, which are exact.
 */
typedef struct EtwCost {
    const EtwCostClass *of;
    uint64_t count, ns, bytes, waited;
    uint64_t errors; /* of these that failed; known of operations on channels */
} EtwCost;

typedef struct EtwCosts {
    EtwCost *list; /* sorted by class */
    int count, capacity;
} EtwCosts;

typedef struct EtwCallStats {
    uint64_t calls;
    uint64_t errors;   /* left with code 1 */
    uint64_t cut;      /* never left: the thread or the trace ended */
    uint64_t asleep;   /* the same, of calls suspended by yield (or whose leave was lost) */
    uint64_t lost;     /* the same, of calls whose caller was left: their leave was lost */
    uint64_t total;    /* ns on the stack; in a recursion only of the outermost call */
    uint64_t self;     /* of these without callees; samples: without a called function */
    uint64_t min, max; /* of a single completed call */
    EtwCosts own, all; /* own costs; including those of callees */
} EtwCallStats;
uint64_t EtwCostsWait(const EtwCosts *costs); /* ns off the CPU, or in operations that block */

/*
 * Mean durations of the calls of a proc in blocks: the 1st, the 2nd and 3rd, the 4th to 7th, and so on.
 * Of a proc whose calls become slower the more of them there were, the means rise.
 */
typedef struct EtwCallGrowth {
    uint64_t count, sum; /* of the current block */
    uint64_t size;       /* of the current block; 0: no call yet */
    double means[3];     /* of the last complete blocks, newest first */
} EtwCallGrowth;

/* A proc, or a source line of calls. */
typedef struct EtwCallRow {
    EtwTableNode node;
    struct EtwCallRow *next; /* in order of first call */
    char *name;              /* with byLine FILE:LINE */
    size_t nameSize;
    int order;       /* by first call: 0, 1, ... */
    bool profiled;   /* false: used by the tree only */
    bool idle;       /* waits in the event loop: vwait, update, tkwait */
    char *text;      /* with byLine: the beginning of the line; NULL: not known */
    uint64_t sample; /* serial of the last sample that contained it */
    EtwCallStats stats;
    EtwHistogram times;
    EtwCallGrowth growth;
} EtwCallRow;

/*
 * How many times longer the latest calls took than those at a quarter of their number: 1 for a constant
 * duration, 4 for one that is proportional to the number of calls before. 0: too few calls.
 */
double EtwCallGrowthOf(const EtwCallRow *row);

/*
 * Bounds of the memory and time that a trace can cost. Both are linear in the number of events:
 * a tree has at most ETW_CALL_LEVELS levels below a thread, of which the last one counts all deeper
 * calls together; an event resumes at most ETW_CALL_RESUMED calls of a coroutine, the innermost ones.
 */
enum { ETW_CALL_LEVELS = 500, ETW_CALL_RESUMED = 128 };
#define ETW_CALL_DEEPER "(deeper calls)" /* the name of a node of the last level */

/* Calls of one proc with the same call path, or a single call; a thread if row is NULL. */
typedef struct EtwCallNode {
    EtwTableNode node;
    struct EtwCallNode *parent, *next, *first, *last;
    const EtwCallRow *row;
    int level;          /* 0: a thread; at most ETW_CALL_LEVELS */
    EtwCallStats stats; /* total: in a recursion of all levels, because each has its own node */
    int64_t start;      /* of the first call */
    uint64_t slept;     /* a single call: ns between enter and leave in which it was suspended */
    char *text;         /* a single call: command with its words; otherwise NULL */
    int code;           /* a single call: return code */
    uint32_t pid, tid;  /* of a thread */
    char *process;      /* NULL: unknown */
    void *own;          /* for the callbacks */
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
    const EtwCostClass *cause; /* reason of the old thread's wait; NULL: it has ended */
    const char *newName;       /* name of the new thread, not NUL-terminated */
    size_t newNameSize;        /* 0: unknown */
} EtwCallsSwitch;

typedef struct EtwCallsWatch {
    /* text: the command with its words; size 0: it resumes after a yield. */
    void (*push)(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc,
            const char *text, size_t size);
    /* code: return code; ETW_CALL_OPEN: no leave (a yield, the end of the trace). */
    void (*pop)(void *ctx, EtwCallNode *thread, int64_t time, const EtwCallRow *proc, int code);
    /* A period in the kernel or off the CPU has just ended. */
    void (*spent)(void *ctx, EtwCallNode *thread, int64_t time, const EtwCost *cost);
    /* With config.samples and config.tree: a sampled stack, which ends in this node, represents ns of time. */
    void (*sampled)(void *ctx, EtwCallNode *thread, int64_t time, EtwCallNode *node, uint64_t ns);
    void *ctx;
    /* The event's CPU has switched to another thread. */
    void (*switched)(void *ctx, const EtwEvent *event, const EtwCallsSwitch *what);
    /* A thread may run again; ready: the reason why it does not run from now on. */
    void (*woken)(void *ctx, const EtwEvent *event, const EtwWake *wake, const EtwCostClass *ready);
} EtwCallsWatch;
enum { ETW_CALL_OPEN = -1 };

/* The columns by which rows can be sorted. The largest comes first; names in alphabetical order. */
typedef enum EtwCallSort {
    ETW_SORT_SELF,
    ETW_SORT_TOTAL,
    ETW_SORT_CALLS,
    ETW_SORT_WAIT,
    ETW_SORT_ERRORS,
    ETW_SORT_MIN,
    ETW_SORT_P50,
    ETW_SORT_P99,
    ETW_SORT_MAX,
    ETW_SORT_NAME
} EtwCallSort;

/* The part of the results that is shown. */
typedef struct EtwCallsView {
    EtwCallSort sort;
    size_t top; /* rows of the profile, and children of a node; 0: all */
    double min; /* percent of the self time of all (profile), of the thread's time (tree) */
    int depth;  /* levels of the tree; 0: all */
} EtwCallsView;

typedef struct EtwCallsConfig {
    bool tree, single; /* single: a node for each call, not for each path */
    bool byLine;
    bool samples; /* use sampled stacks only: Tcl's own samples, and the kernel's */
    bool offCpu;  /* with samples: instead of them the stacks with which threads leave the CPU */
    const EtwTrack
            *track;    /* names of the kernel's stacks; may be set before each event; NULL: none */
    const char *under; /* only calls of this proc and those that they make; NULL: all */
    bool causes;       /* with tree: count callbacks by the call that set them */
    bool allThreads;   /* count the costs of threads without calls, too: in their nodes */
    EtwCallsView view;
    EtwCallsWatch watch;
} EtwCallsConfig;

/* Events that no call could use. */
typedef struct EtwCallsLeft {
    uint64_t unknown;    /* without a known schema: not in `events` */
    uint64_t own;        /* of the session itself, such as Host and Mark: not in `events` */
    uint64_t threadless; /* of threads without calls (of the kernel, of other providers) */
    uint64_t samples;    /* sampled stacks; with config.samples everything but those */
} EtwCallsLeft;

typedef struct EtwCalls {
    EtwCallsConfig config;
    EtwCallRow *rows;
    EtwCallNode *threads; /* threads with calls, in order of first call */
    uint64_t events;      /* including the kernel's */
    EtwCallsLeft left;
    uint64_t calls, cut, asleep, lost;
    uint64_t unmatched; /* leaves without enter: begun before the trace or -from, or lost */
    uint64_t waits;     /* switches of threads with calls; 0: the trace has none */
    uint64_t blocks;    /* operations in calls that count as waits without switches */
    uint64_t folded;    /* calls of the tree's last level */
    uint64_t shortened; /* coroutines resumed without their outer calls, see ETW_CALL_RESUMED */
} EtwCalls;

/* The store must outlive it. */
EtwCalls *EtwCallsNew(const EtwCallsConfig *config, EtwSchemaStore *store);
void EtwCallsAdd(EtwCalls *calls, const EtwEvent *event);
/* After the last event: end open calls. Call this before reading results. */
void EtwCallsEnd(EtwCalls *calls);
void EtwCallsFree(EtwCalls *calls);
/*
 * The innermost call of the event's thread while events are added: the node that its costs are charged
 * to; the thread's own node outside of calls. NULL: the thread is not known. Requires a tree.
 */
EtwCallNode *EtwCallsInnermost(EtwCalls *calls, const EtwEvent *event);

/* ---- Results in order (call_report.c) ---------------------------------------------------------- */

/*
 * The profile's rows of the view, *countPtr of them. Rows that are idle come last. The caller frees
 * the array (EtwFree). *hiddenPtr: the number of rows that the view leaves out; may be NULL.
 */
const EtwCallRow **EtwCallRows(const EtwCalls *calls, size_t *countPtr, size_t *hiddenPtr);
/*
 * A node's children in the view: paths in its order, single calls in order of time. As above; calls
 * NULL: all children, by total time.
 */
const EtwCallNode **EtwCallChildren(
        const EtwCalls *calls, const EtwCallNode *node, size_t *countPtr, size_t *hiddenPtr);
/* "tclsh 17/18": name of the process if it is known, pid and tid. */
void EtwCallThreadName(const EtwCallNode *thread, EtwText *out);
/* Self time of all rows that are not idle; of idle rows. */
uint64_t EtwCallsWork(const EtwCalls *calls);
uint64_t EtwCallsIdle(const EtwCalls *calls);

/* The calls of a proc that another one makes (call_callers.c). Requires a tree of paths. */
typedef struct EtwCaller {
    const EtwCallRow *row; /* NULL: no traced proc */
    uint64_t calls, errors, total, self;
} EtwCaller;
/* Largest total time first. NULL and 0: the proc was not called. The caller frees the array (EtwFree). */
EtwCaller *EtwCallCallers(const EtwCalls *calls, const char *proc, size_t *countPtr);
void EtwCallersText(const EtwCalls *calls, const char *proc, EtwText *out);
void EtwCallersCsv(const EtwCalls *calls, const char *proc, EtwText *out);
void EtwCallersJson(const EtwCalls *calls, const char *proc, EtwText *out);
/*
 * Callbacks by the call that set them, and threads by the call that started them (call_causes.c). Requires
 * config.causes.
 */
typedef enum EtwCauseKind {
    ETW_CAUSE_AFTER,
    ETW_CAUSE_IDLE,
    ETW_CAUSE_READABLE,
    ETW_CAUSE_WRITABLE,
    ETW_CAUSE_ACCEPT,
    ETW_CAUSE_COPY,
    ETW_CAUSE_OTHER, /* of a later version */
    ETW_CAUSE_PROCESS,
    ETW_CAUSE_THREAD,
    ETW_CAUSE_KINDS
} EtwCauseKind;
const char *EtwCauseKindName(EtwCauseKind kind);

typedef struct EtwCause {
    EtwTableNode node;
    const EtwCallNode *by; /* the call; a thread: no traced call */
    EtwCauseKind kind;
    const EtwCallRow *callback; /* NULL: it did not run */
    int order;                  /* by first occurrence */
    uint64_t set;               /* how many were set (started) */
    uint64_t calls, errors, total, self;
    uint64_t delay, maxDelay; /* sum and maximum of ns from the setting to its first run */
    uint64_t queued;          /* sum of ns from the time that it was due or noticed */
    int active;               /* runs that have not ended */
} EtwCause;
/* In the order of the view, largest total time first by default. The caller frees the array (EtwFree). */
const EtwCause **EtwCallCauses(const EtwCalls *calls, size_t *countPtr, size_t *hiddenPtr);
void EtwCausePath(const EtwCause *cause, EtwText *out);   /* "main > start > after" */
const char *EtwCauseCallback(const EtwCause *cause);      /* "tick"; "": it did not run */
const EtwCallNode *EtwCauseThread(const EtwCause *cause); /* of the call */
void EtwCausesText(const EtwCalls *calls, EtwText *out);
void EtwCausesCsv(const EtwCalls *calls, EtwText *out);
void EtwCausesJson(const EtwCalls *calls, EtwText *out);
/* Costs, largest time first. The caller frees the array (EtwFree). */
const EtwCost **EtwCallCosts(const EtwCosts *costs, size_t *countPtr);
/*
 * The costs as rows of a result, EtwFree. A trace can have hundreds of kinds of costs in each of many calls: of results that
 * have listed enough (`sums`), one row of each kind stands for all of it, named ETW_COST_ALL.
 */
typedef struct EtwCostRow {
    const char *kind, *what;
    uint64_t count, ns, bytes;
} EtwCostRow;
#define ETW_COST_ALL "(all)"
enum { ETW_COST_ROWS = 50000 /* in addition to one for each event */ };
EtwCostRow *EtwCallCostRows(const EtwCosts *costs, bool sums, size_t *countPtr);

/* Readable text: the profile and the waits; the tree. */
void EtwCallsProfileText(const EtwCalls *calls, EtwText *out);
void EtwCallsTreeText(const EtwCalls *calls, EtwText *out);
/* A line on the events that were left out, and why; nothing when there are none. */
void EtwCallsLeftText(const EtwCalls *calls, EtwText *out);
/* The kinds of left events: "unknown", "own" ...; NULL: no kind of this number. *countPtr: how many. */
const char *EtwCallsLeftKind(const EtwCalls *calls, int index, uint64_t *countPtr);
/*
 * Append a line NAME;NAME NS for each path with self time: the input of flame graph tools. Ends when *out has more than
 * `most` bytes. In flame.c.
 */
void EtwCallsFoldedText(const EtwCalls *calls, size_t most, EtwText *out);
/* For programs: csv with a header row; json objects. Times in ns. */
void EtwCallsProfileCsv(const EtwCalls *calls, EtwText *out);
void EtwCallsTreeCsv(const EtwCalls *calls, EtwText *out);
void EtwCallsJson(const EtwCalls *calls, bool profile, bool tree, EtwText *out);

#endif
