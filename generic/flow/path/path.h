/*
 * flow/path/path.h --
 *
 *	The critical path of a request: what its time was spent on, from one event to another. The path is followed
 *	backwards from the end. While its thread runs or waits for a CPU, that is what the time was spent on. Where a
 *	wait of the thread was ended by another thread, the path continues with that one. Its segments have no gaps and
 *	do not overlap: they add up to the time between the two events.
 *
 *	It needs switches and wake-ups of the threads, and knows more with system calls, starts of processes, disk requests and
 *	calls of scripts. Memory and time are linear in the number of events.
 */
#ifndef ETW_PATH_H
#define ETW_PATH_H

#include "base/text.h"
#include "semantics/semantics.h"

typedef struct EtwPath EtwPath;

typedef enum EtwPathKind {
    ETW_PATH_RUN,     /* on a CPU */
    ETW_PATH_READY,   /* could run, had no CPU */
    ETW_PATH_TIMER,   /* until a moment */
    ETW_PATH_DISK,    /* for a disk */
    ETW_PATH_NETWORK, /* for another machine */
    ETW_PATH_DEVICE,  /* for an interrupt of any device, or a timer */
    ETW_PATH_OTHER,   /* for a thread that was not traced */
    ETW_PATH_WAIT     /* the trace does not have what ended the wait */
} EtwPathKind;

/* What the request does meanwhile. */
typedef enum EtwPathRole {
    ETW_PATH_WORK, /* the thread works on it */
    ETW_PATH_LOCK, /* it waits for a lock of the holder */
    ETW_PATH_QUEUE /* its callback is in the queue of the holder, which does something else */
} EtwPathRole;

const char *EtwPathKindName(EtwPathKind kind);
const char *EtwPathRoleName(EtwPathRole role);

/* Texts are valid as long as the path; NULL: unknown or none. */
typedef struct EtwPathSegment {
    int64_t from, to;
    EtwPathKind kind;
    EtwPathRole role;
    uint32_t pid, tid;
    const char *process;
    const char *call;    /* innermost call of the thread */
    const char *syscall; /* of a wait: the system call, or Windows' reason */
    uint32_t by;         /* of a wait for another thread that was not traced: its id */
    const char *byName;
    /* The holder of the lock or the queue. That is the thread itself, or waits for it. */
    uint32_t holderPid, holderTid; /* both 0: none */
    const char *holder;            /* its process */
    const char *holderCall;        /* of a lock: its innermost call when it released the lock */
} EtwPathSegment;

/* One of the two events. */
typedef struct EtwPathPoint {
    int64_t time;
    uint32_t pid, tid;
    const char *process, *provider, *event;
} EtwPathPoint;

EtwPath *EtwPathNew(EtwSchemaStore *store);
/* begins, ends: the event may be the path's begin or end. */
void EtwPathAdd(EtwPath *path, const EtwEvent *event, bool begins, bool ends);

typedef enum EtwPathResult {
    ETW_PATH_FOUND,
    ETW_PATH_EMPTY,    /* there are no events of threads */
    ETW_PATH_NO_BEGIN, /* no event may be the begin; none before the end */
    ETW_PATH_NO_END,
    ETW_PATH_APART /* no begin leads to the end */
} EtwPathResult;

/*
 * After the last event: find the path. The end is the last event that may be one. The begin is the latest one
 * before it that leads to it: one of its activity, else of its thread, else any. needBegin, needEnd: false:
 * the first and last event of the thread, which is the first with calls of scripts, otherwise the first.
 */
EtwPathResult EtwPathFind(EtwPath *path, bool needBegin, bool needEnd);
void EtwPathFree(EtwPath *path);

/* ---- Results -------------------------------------------------------------------------------------- */

const EtwPathSegment *EtwPathSegments(const EtwPath *path, size_t *countPtr); /* in order of time */
const EtwPathPoint *EtwPathBegin(const EtwPath *path);
const EtwPathPoint *EtwPathEnd(const EtwPath *path);
/* False: the trace has no switches; it has no wake-ups. */
bool EtwPathHasSwitches(const EtwPath *path);
bool EtwPathHasWakes(const EtwPath *path);

/* Segments with the same cause together, largest time first. EtwPathCausesFree. */
typedef struct EtwPathCause {
    char *what;
    const EtwPathSegment *first;
    uint64_t count, ns;
} EtwPathCause;
EtwPathCause *EtwPathCauses(const EtwPath *path, size_t *countPtr);
void EtwPathCausesFree(EtwPathCause *causes, size_t count);

void EtwPathText(const EtwPath *path, EtwText *out);
void EtwPathJson(const EtwPath *path, EtwText *out);

#endif
