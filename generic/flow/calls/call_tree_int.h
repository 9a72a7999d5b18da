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

/*
 * The number of calls of a row on a thread's stack. Only the outermost counts for the row's total.
 */
typedef struct CallUse {
    EtwTableNode node;
    const struct CallThread *thread;
    EtwCallRow *row;
    uint32_t active;
} CallUse;

/* The suspended calls of one proc of a thread at one depth. */
typedef struct CallPlace {
    EtwTableNode node; /* in Calls.places */
    const struct CallThread *thread;
    const EtwCallRow *proc;
    int depth;
    struct CallFrame *last; /* the one that was suspended last */
} CallPlace;

/* An open call: on its thread's stack, or suspended (a coroutine that has yielded). */
typedef struct CallFrame {
    EtwTableNode byId;                 /* in Calls.open */
    CallPlace *place;                  /* while it is suspended */
    struct CallFrame *older, *younger; /* in the list of the place */
    struct CallThread *thread;
    uint64_t id, parentId; /* parentId: the call below it in its interpreter; 0: none */
    bool nested;           /* parentId is its caller by name and depth, which it cannot outlive */
    uint64_t batch;        /* the same for calls that were suspended together */
    int index;             /* on the stack; -1: suspended */
    int depth, interp;
    int below; /* index of the interpreter's next call down the stack; -1: none */
    bool outermost;
    bool counted;     /* false: not below the proc of config.under */
    EtwCallRow *proc; /* by name; the profile's row by line is use->row */
    CallUse *use;
    EtwCallNode *node;      /* NULL: no tree requested */
    EtwCause *cause;        /* NULL: it was called, or config.causes is not set */
    int64_t entered, since; /* since: on the stack since then */
    bool placeless;         /* no line was reported yet: use refers to "(no source)" */
    uint64_t total, self;
    uint64_t booked; /* part of total that belongs to earlier lines */
    EtwCosts paid;   /* costs since then, including those of callees */
    struct CallFrame *nextFree;
} CallFrame;

/* The calls of one interpreter of a thread, with increasing depths. */
typedef struct CallInterp {
    uint64_t
            block; /* the interpreter of its ids; of ids without: number of the block of 256 ids that it uses */
    uint64_t lastId;
    int top; /* index on the stack; -1: none */
} CallInterp;
enum { CALL_INTERPS = 64 };

/* The threads of a process that have not ended. */
typedef struct CallProcess {
    EtwTableNode node; /* by pid */
    uint32_t pid;
    struct CallThread *first;
} CallProcess;

typedef struct CallThread {
    EtwTableNode node; /* by tid, until it has ended */
    CallProcess *process;
    struct CallThread *nextOfProcess, *previousOfProcess;
    struct CallThread *nextThread;
    uint32_t pid, tid;
    uint64_t serial;
    CallFrame **stack;
    int count, capacity;
    CallInterp *interps; /* CALL_INTERPS at most */
    int interpCount, interpCapacity;
    int64_t mark; /* time is accounted until here */
    int64_t last; /* time of the last event */
    EtwCallNode *root;
    bool ended;
    /* State reported by the kernel. */
    bool switched; /* its switches are in the trace */
    EtwOffCpu off;
    bool inSyscall;
    int64_t syscallSince;
    const EtwCostClass *syscall, *syscallWait;
    /* With config.offCpu. */
    EtwText offStack; /* with which it left the CPU */
    bool offDisk;     /* its wait is not interruptible */
} CallThread;

typedef struct Calls {
    EtwCalls base;
    EtwSchemaStore *store;
    EtwTable charged;         /* by schema: cost classes of other events */
    EtwTable rows;            /* by name */
    EtwTable classes;         /* of costs */
    EtwTable channels;        /* open ones (call_channels.c) */
    EtwTable origins, causes; /* call_causes.c */
    int classCount;
    EtwTable uses, nodes, open, places, threads, processes;
    size_t asleepCount;
    CallThread *firstThread, **threadsEnd, *lastThread;
    EtwCallRow **rowsEnd;
    EtwCallNode *lastRoot;
    CallFrame *freeFrames;
    uint64_t serials, batches;
    EtwCalls *procs; /* with config.samples: the calls that are open at a sample; NULL: none yet */
} Calls;

enum { CALL_BLOCK_NAME = 100 };
/* An enter event's fields; the texts are not terminated. */
typedef struct CallEnter {
    uint64_t id;
    int depth;
    const char *command, *context, *file;
    size_t commandSize, contextSize, fileSize;
    const char *name; /* its display name; NULL: the first word */
    size_t nameSize;
    uint32_t line;
    bool idle;       /* it waits in the event loop */
    uint64_t origin; /* of a callback: the setting; 0: none */
    uint64_t queued; /* of a callback: ns */
} CallEnter;

/* A stack, outermost first, separated by semicolons, and {NAME INCREASE ...}; not terminated. */
typedef struct CallSample {
    int64_t time;
    uint64_t ns; /* that the sample represents */
    const char *stack, *counters;
    size_t stackSize, countersSize;
} CallSample;

/* ---- call_tree.c --------------------------------------------------------------------------------- */

/* The thread of an event. enter: create it; otherwise NULL if it has no calls. */
CallThread *EtwCallThreadOf(Calls *c, const EtwEvent *event, bool enter);
CallThread *EtwCallThreadById(Calls *c, uint32_t tid);
void EtwCallEnterAt(Calls *c, CallThread *t, int64_t time, const CallEnter *enter);
void EtwCallLeaveAt(Calls *c, CallThread *t, int64_t time, uint64_t id, int code);
/*
 * With byLine: the open call with that id executes this file and line; the following time belongs
 * to that row.
 */
void EtwCallLineAt(Calls *c, CallThread *t, int64_t time, const CallEnter *line);
/* The thread, or all threads of the process, have ended. */
void EtwCallThreadEnd(Calls *c, CallThread *t);
void EtwCallProcessEnd(Calls *c, uint32_t pid);
void EtwCallSample(Calls *c, CallThread *t, const CallSample *sample);
/* Append the stack of a CPU sample, outermost first (cpu_samples.c). procs: its thread in Calls.procs, or NULL. */
void EtwCpuStack(
        EtwText *stack, const EtwTrack *track, const EtwEvent *event, const CallThread *procs);
/* With config.offCpu (off_cpu.c): a switch, a wake-up. */
void EtwCallSwitchOff(Calls *c, const EtwRoleValues *v, const EtwEvent *event);
void EtwCallWakeOff(Calls *c, const EtwRoleValues *v, const EtwEvent *event);
/* Charge the cost to the innermost call. */
void EtwCallCharge(Calls *c, CallThread *t, const EtwCost *cost);

/* ---- call_stats.c --------------------------------------------------------------------------- */

EtwCallRow *EtwCallRowFind(Calls *c, const char *name, size_t size);
EtwCallRow *EtwCallRowOf(Calls *c, const char *name, size_t size);
CallUse *EtwCallUseOf(Calls *c, const CallThread *thread, EtwCallRow *row);
/* The child of parent for another call; parent itself if it is on the last level. */
EtwCallNode *EtwCallNodeOf(Calls *c, EtwCallNode *parent, const EtwCallRow *row);
const EtwCostClass *EtwCostClassOf(Calls *c, EtwCostKind kind, const char *name);
void EtwCostAdd(EtwCosts *costs, const EtwCost *cost);
void EtwCostAddAll(EtwCosts *costs, const EtwCosts *more);
void EtwCallStatsFree(EtwCallStats *stats);

/* ---- call_events.c -------------------------------------------------------------------------- */

void EtwCallClassesFree(Calls *c);

/* ---- call_causes.c -------------------------------------------------------------------------- */

void EtwCallSet(Calls *c, const EtwRoleValues *v, CallThread *t, int64_t time);
void EtwCallStarted(Calls *c, const EtwRoleValues *v, CallThread *creator, int64_t time);
/* The cause of a call that begins now; NULL: it has a caller, or its cause is not known. */
EtwCause *EtwCallCauseOf(
        Calls *c, const CallThread *t, const EtwCallRow *callback, const CallEnter *enter);
void EtwCallForget(
        Calls *c, uint32_t pid, uint32_t tid); /* the thread has ended; its id may come again */
void EtwCallCausesEnd(Calls *c);
void EtwCallCausesFree(Calls *c);

/* ---- call_channels.c ------------------------------------------------------------------------ */

enum { CALL_CHANNEL_NAME = 120 };
/*
 * The name of the cost of an operation on a channel: "open config.txt", "read config.txt". The texts
 * have at most CALL_CHANNEL_NAME - 1 bytes.
 */
void EtwCallChannelName(Calls *c, uint32_t pid, const char *operation, const char *channel,
        const char *detail, char *out, size_t capacity);
void EtwCallChannelsFree(Calls *c);

#endif
