/*
 * semantics/semantics.h --
 *
 *	The meaning of events: one table from an event's schema to its meaning, to what it says
 *	about names, and to the fields that have a role. It covers our own events
 *	(semantics/declared_events.h) and the Windows kernel classes that this package interprets.
 *	An event with a known name but other fields or types has no meaning.
 */
#ifndef ETW_SEMANTICS_H
#define ETW_SEMANTICS_H

#include "schema/model/decode.h"

/* What happened. */
typedef enum EtwMeaning {
    ETW_MEANS_OTHER, /* unknown */
    ETW_MEANS_CALL_ENTER,
    ETW_MEANS_CALL_LEAVE,
    ETW_MEANS_STEP_ENTER,
    ETW_MEANS_STEP_LEAVE,
    ETW_MEANS_CALLBACK_ENTER,
    ETW_MEANS_CALLBACK_LEAVE,
    ETW_MEANS_PACKAGE_ENTER,
    ETW_MEANS_PACKAGE_LEAVE,
    ETW_MEANS_LINE,       /* an open call reaches a source line */
    ETW_MEANS_CHANNEL,    /* an operation on a Tcl channel */
    ETW_MEANS_WAIT,       /* a Tcl command has blocked the thread */
    ETW_MEANS_SCHEDULE,   /* a command has set a callback */
    ETW_MEANS_SAMPLE,     /* the stack of Tcl calls at a moment */
    ETW_MEANS_CPU_SAMPLE, /* a thread was running at a moment */
    ETW_MEANS_SWITCH,     /* a CPU changes from one thread to another */
    ETW_MEANS_READY,      /* a thread that waited may run again */
    ETW_MEANS_SYSCALL_ENTER,
    ETW_MEANS_SYSCALL_EXIT,
    ETW_MEANS_SOCKET_CONNECT,
    ETW_MEANS_SOCKET_ACCEPT,
    ETW_MEANS_SOCKET_STATE,
    ETW_MEANS_SOCKET_DISCONNECT,
    ETW_MEANS_SOCKET_RETRANSMIT,
    ETW_MEANS_SOCKET_SEND,
    ETW_MEANS_SOCKET_RECEIVE,
    ETW_MEANS_ALLOC, /* memory from a heap */
    ETW_MEANS_FILE_OPEN,
    ETW_MEANS_FILE,         /* another operation on a file */
    ETW_MEANS_DISK_DONE,    /* a request to a disk, of the thread that issued it */
    ETW_MEANS_THREAD_START, /* the event belongs to the creator */
    ETW_MEANS_PROCESS_START,
    ETW_MEANS_THREAD_END,
    ETW_MEANS_PROCESS_END,
    ETW_MEANS_HOST,    /* the first event of one of our own sessions: machine and program */
    ETW_MEANS_MARK,    /* a note in the trace */
    ETW_MEANS_SYMBOL,  /* the name of an address */
    ETW_MEANS_PROGRAM, /* the program of a process that writes into one of our own sessions */
    ETW_MEANS_MACHINE, /* facts of a Windows machine */
    ETW_MEANS_TRACE,   /* records of a file's own header */
    ETW_MEANS_LOSS     /* events were lost */
} EtwMeaning;

/* What the event says about names of processes, threads, modules, files and registry keys. */
typedef enum EtwNaming {
    ETW_NAMES_NOTHING,
    ETW_NAMES_PROCESS,     /* a process and its name */
    ETW_NAMES_OWN_PROCESS, /* the event's own process, if no better name is known */
    ETW_NAMES_THREAD,      /* a thread and its process */
    ETW_NAMES_MODULE,      /* a module at an address */
    ETW_NAMES_MODULE_GONE,
    ETW_NAMES_OBJECT, /* a file or registry key and its path */
    ETW_NAMES_SYMBOL, /* a function at a place in an image */
    ETW_NAMES_RUNNING /* the thread that a CPU runs from now on */
} EtwNaming;

/* The purpose of a field. Each role accepts certain types only (fitsRole in semantics.c). */
typedef enum EtwRole {
    ETW_ROLE_NONE,
    /* texts: Tcl scripts, and the name of the thread that gets a CPU */
    ETW_ROLE_COMMAND,
    ETW_ROLE_CONTEXT,
    ETW_ROLE_FILE,
    ETW_ROLE_RESULT,
    ETW_ROLE_KIND,
    ETW_ROLE_OPERATION,
    ETW_ROLE_CHANNEL,
    ETW_ROLE_DETAIL,
    ETW_ROLE_STACK,
    ETW_ROLE_COUNTERS,
    ETW_ROLE_NEW_COMMAND,
    ETW_ROLE_NEW_NAME, /* of a file */
    ETW_ROLE_BUILD_ID, /* of a module, in hexadecimal digits */
    /* numbers: Tcl scripts */
    ETW_ROLE_CALL_ID,
    ETW_ROLE_DEPTH,
    ETW_ROLE_LINE,
    ETW_ROLE_CODE,
    ETW_ROLE_DURATION,
    ETW_ROLE_QUEUED,
    ETW_ROLE_ORIGIN, /* pairs the setting of a callback with its calls */
    ETW_ROLE_BYTES,
    ETW_ROLE_WEIGHT,
    /* numbers: the kernel */
    ETW_ROLE_OLD_STATE,
    ETW_ROLE_NEW_STATE,
    ETW_ROLE_WAIT_REASON, /* why the old thread waits; only Windows reports it */
    ETW_ROLE_INTERRUPT,   /* of a wake-up: what ran; see flow/waits */
    ETW_ROLE_SYSCALL,
    ETW_ROLE_SIZE,
    ETW_ROLE_LOCAL_PORT,
    ETW_ROLE_REMOTE_PORT,
    ETW_ROLE_CONTEXT_PID,
    ETW_ROLE_OUTCOME,     /* result of a system call, or a negative errno */
    ETW_ROLE_OFFSET,      /* in a file; -1: its own position */
    ETW_ROLE_NAME_SOURCE, /* of a file */
    /* addresses and other parts of a socket */
    ETW_ROLE_LOCAL_ADDR,
    ETW_ROLE_REMOTE_ADDR,
    ETW_ROLE_SOCKET,
    ETW_ROLE_FAMILY,
    /* identifiers, and the name that belongs to them */
    ETW_ROLE_PID,
    ETW_ROLE_TID, /* of a switch: the thread that gets the CPU; of a wake-up: the one that is ready */
    ETW_ROLE_OLD_TID, /* the thread that leaves it; the thread that ran at the wake-up */
    ETW_ROLE_FILE_KEY,
    ETW_ROLE_FILE_OBJECT,
    ETW_ROLE_BASE, /* of a module: its address and size */
    ETW_ROLE_MODULE_SIZE,
    ETW_ROLE_FILE_OFFSET,   /* where the module's mapping begins in its file */
    ETW_ROLE_BEGIN_TICKS,   /* ticks of the clock when the operation began that ends here */
    ETW_ROLE_ELAPSED_TICKS, /* how many ticks it took */
    ETW_ROLE_NAME,
    /* facts of the machine, of any type */
    ETW_ROLE_COMPUTER,
    ETW_ROLE_DOMAIN,
    ETW_ROLE_SYSTEM,
    ETW_ROLE_TCL,
    ETW_ROLE_PROCESSORS,
    ETW_ROLE_MHZ,
    ETW_ROLE_MEMORY,
    ETW_ROLE_ARCHITECTURE,
    ETW_ROLE_PROCESSOR,
    ETW_ROLE_MANUFACTURER,
    ETW_ROLE_MODEL,
    ETW_ROLE_BIOS,
    ETW_ROLE_PRODUCT,
    ETW_ROLE_BUILD,
    ETW_ROLE_COUNT
} EtwRole;
_Static_assert(ETW_ROLE_COUNT <= 64, "EtwSemantics.roles has a bit for each role");

typedef struct EtwSemantics {
    EtwMeaning meaning;
    EtwNaming naming;
    const char *moves;             /* the transfer that ETW_ROLE_SIZE counts: "tcp send"; or NULL */
    uint64_t roles;                /* ETW_ROLE_BIT of each role that a field has */
    int16_t field[ETW_ROLE_COUNT]; /* index in EtwSchema.fields; -1: no field has the role */
} EtwSemantics;

#define ETW_ROLE_BIT(role) (1ull << (role))

/*
 * The meaning of a schema's events. Determined once for a schema, which owns the result. Any thread
 * may call it for a schema that it may read.
 */
const EtwSemantics *EtwSemanticsFind(const EtwSchema *schema);
static inline const EtwSemantics *EtwSemanticsOf(const EtwSchema *schema)
{
    /* Acquire: pairs with the release in EtwSemanticsFind. */
    const EtwSemantics *known = __atomic_load_n(&schema->semantics, __ATOMIC_ACQUIRE);
    return known ? known : EtwSemanticsFind(schema);
}

static inline EtwMeaning EtwMeaningOf(const EtwSchema *schema)
{
    return EtwSemanticsOf(schema)->meaning;
}

/* Enter or leave of a call or step. */
static inline bool EtwMeansCall(EtwMeaning meaning)
{
    return meaning >= ETW_MEANS_CALL_ENTER && meaning <= ETW_MEANS_STEP_LEAVE;
}

/* The begin or end of a call, callback or package. */
static inline bool EtwMeansBlock(EtwMeaning meaning)
{
    return meaning >= ETW_MEANS_CALL_ENTER && meaning <= ETW_MEANS_PACKAGE_LEAVE;
}

/* ---- Values by role -------------------------------------------------------------------------- */

enum { ETW_ROLE_FIELDS = 64 }; /* fields of a schema that can be read by role */

/* The scalars of an event, to be read by role. */
typedef struct EtwRoleValues {
    const EtwSchema *schema;
    const EtwSemantics *semantics;
    uint64_t found; /* a bit for each field */
    EtwValue values[ETW_ROLE_FIELDS];
} EtwRoleValues;

/* false: the payload does not fit the schema; values before the misfit are there. */
bool EtwRoleValuesRead(EtwRoleValues *v, const EtwSchema *schema, const EtwEvent *event);

/* The same of one role only, which is faster. False: the event has no such field, or its payload ends before it. */
bool EtwRoleValueRead(
        EtwRoleValues *v, const EtwSchema *schema, const EtwEvent *event, EtwRole role);

/* NULL: the event has no such field, or its payload ends before it. */
static inline const EtwValue *EtwRoleValue(const EtwRoleValues *v, EtwRole role)
{
    int index = v->semantics->field[role];
    return index >= 0 && (v->found >> index & 1) ? &v->values[index] : NULL;
}

/* 0 where there is none. */
static inline uint64_t EtwRoleNumber(const EtwRoleValues *v, EtwRole role)
{
    const EtwValue *value = EtwRoleValue(v, role);
    return value ? value->u : 0;
}

/* The name of a number, such as a system call, that the schema has; otherwise the number, stored in `number`. */
const char *EtwRoleName(const EtwRoleValues *v, EtwRole role, char *number, size_t size);
/* Not terminated; "" where there is none. */
static inline const char *EtwRoleText(const EtwRoleValues *v, EtwRole role, size_t *sizePtr)
{
    const EtwValue *value = EtwRoleValue(v, role);
    bool is = value != NULL && value->kind == ETW_V_TEXT;
    *sizePtr = is ? value->size : 0;
    return is ? (const char *)value->data : "";
}

#endif
