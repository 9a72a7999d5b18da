/*
 * flow/calls/call_tree_int.h --
 *
 *	Shared by the files of the call tree: a thread's open calls. call_tree.c opens and closes calls,
 *	call_events.c interprets events, call_stats.c counts.
 */
#ifndef ETW_CALL_TREE_INT_H
#define ETW_CALL_TREE_INT_H

#include "flow/calls/call_tree.h"

struct CallThread;

/* How many calls of a row are on a thread's stack: only the outermost counts for the row's total. */
typedef struct CallUse {
    EtwTableNode node;
    const struct CallThread *thread;
    EtwCallRow *row;
    uint32_t active;
} CallUse;

/* An open call: on its thread's stack, or asleep (a coroutine that has yielded). */
typedef struct CallFrame {
    EtwTableNode byId;    /* in Calls.open */
    EtwTableNode byPlace; /* in Calls.asleep, while it is */
    struct CallThread *thread;
    uint64_t id, parentId; /* parentId: what was below it in its interpreter; 0: nothing */
    uint64_t batch;        /* those that fell asleep together have the same */
    int index;             /* on the stack; -1: asleep */
    int depth, interp;
    int below; /* the interpreter's next frame down the stack; -1: none */
    bool outermost;
    EtwCallRow *proc; /* by name; the profile's row by line is use->row */
    CallUse *use;
    EtwCallNode *node;      /* NULL: no tree is wanted */
    int64_t entered, since; /* since: on the stack */
    bool placeless;         /* nobody has told a line of it: use is of "(no source)" */
    uint64_t total, self;
    uint64_t booked; /* of total, on lines that it has left */
    EtwCosts paid;   /* since then, those of calls from here included */
    struct CallFrame *nextFree;
} CallFrame;

/* The calls of one interpreter of a thread: depths rise within it. */
typedef struct CallInterp {
    uint64_t block; /* of 256 ids, which one interpreter gets */
    uint64_t lastId;
    int top; /* index on the stack; -1: none */
} CallInterp;
enum { CALL_INTERPS = 64 };

typedef struct CallThread {
    EtwTableNode node;  /* by tid */
    EtwTableNode byPid; /* in Calls.processes; neither once it has ended */
    struct CallThread *nextThread;
    uint32_t pid, tid;
    uint64_t serial;
    CallFrame **stack;
    int count, capacity;
    CallInterp *interps; /* CALL_INTERPS at most */
    int interpCount, interpCapacity;
    int64_t mark; /* until then time is accounted for */
    int64_t last; /* event */
    EtwCallNode *root;
    bool ended;
    /* What the kernel said. */
    bool out, ready; /* off the CPU since outSince; ready: could run */
    int64_t outSince;
    bool inSyscall;
    int64_t syscallSince;
    const EtwCostClass *syscall, *syscallWait;
} CallThread;

typedef struct Calls {
    EtwCalls base;
    EtwSchemaStore *store;
    EtwTable charged; /* by schema: what other events are charged to */
    EtwTable rows;    /* by name */
    EtwTable classes; /* of costs */
    int classCount;
    EtwTable uses, nodes, open, asleep, threads, processes;
    CallThread *firstThread, **threadsEnd, *lastThread;
    EtwCallRow **rowsEnd;
    EtwCallNode *lastRoot;
    CallFrame *freeFrames;
    uint64_t serials, batches;
} Calls;

enum { CALL_BLOCK_NAME = 100 };
/* An enter event's fields; the texts are not terminated. */
typedef struct CallEnter {
    uint64_t id;
    int depth;
    const char *command, *context, *file;
    size_t commandSize, contextSize, fileSize;
    const char *name; /* what it is called; NULL: by its first word */
    size_t nameSize;
    uint32_t line;
} CallEnter;

/* A stack, the outermost first, parted by semicolons, and {NAME INCREASE ...}; not terminated. */
typedef struct CallSample {
    int64_t time;
    uint64_t ns; /* that it stands for */
    const char *stack, *counters;
    size_t stackSize, countersSize;
} CallSample;

/* ---- call_tree.c --------------------------------------------------------------------------------- */

/* The thread of an event. enter: create it; otherwise NULL when it has had no calls. */
CallThread *EtwCallThreadOf(Calls *c, const EtwEvent *event, bool enter);
CallThread *EtwCallThreadById(Calls *c, uint32_t tid);
void EtwCallEnterAt(Calls *c, CallThread *t, int64_t time, const CallEnter *enter);
void EtwCallLeaveAt(Calls *c, CallThread *t, int64_t time, uint64_t id, int code);
/* With byLine: the open call of that id comes to file and line; the time from here on is that row's. */
void EtwCallLineAt(Calls *c, CallThread *t, int64_t time, const CallEnter *line);
/* The thread, or all threads of the process, have come to their end. */
void EtwCallThreadEnd(Calls *c, CallThread *t);
void EtwCallProcessEnd(Calls *c, uint32_t pid);
void EtwCallSample(Calls *c, CallThread *t, const CallSample *sample);
/* Charge the cost to the top of the stack. */
void EtwCallCharge(Calls *c, CallThread *t, const EtwCost *cost);

/* ---- call_stats.c --------------------------------------------------------------------------- */

EtwCallRow *EtwCallRowFind(Calls *c, const char *name, size_t size);
EtwCallRow *EtwCallRowOf(Calls *c, const char *name, size_t size);
CallUse *EtwCallUseOf(Calls *c, const CallThread *thread, EtwCallRow *row);
/* A child of parent for one more call. */
EtwCallNode *EtwCallNodeOf(Calls *c, EtwCallNode *parent, const EtwCallRow *row);
const EtwCostClass *EtwCostClassOf(Calls *c, EtwCostKind kind, const char *name);
void EtwCostAdd(EtwCosts *costs, const EtwCost *cost);
void EtwCostAddAll(EtwCosts *costs, const EtwCosts *more);
void EtwCallStatsFree(EtwCallStats *stats);

/* ---- call_events.c -------------------------------------------------------------------------- */

void EtwCallClassesFree(Calls *c);

#endif
