/*
 * script/hooks/tclint_interrupt.c --
 *
 *	Calls a C function in an interpreter's thread, between two commands, at the request of
 *	another thread.
 *
 *	An async handler cannot do that without harm. The bytecode engine passes it the code of an
 *	error that was caught earlier, and raises the error again when the handler returns that code
 *	(TclNRExecuteByteCode, Tcl 8.6 and 9.0). At the same place the engine checks the limits of
 *	the interpreter (interp limit), and a handler of a limit does not change the code or the
 *	result. Thus a request sets the flag "a limit on commands is active". The limit is lower
 *	than any count of commands, so that Tcl calls the handler, which removes the flag.
 *
 *	Limits of the program take precedence. While it has a limit on commands, or handlers of one,
 *	requests are ignored. The other thread changes one bit by an atomic operation and reads two
 *	fields. The interpreter's thread writes all other fields. If that thread changes the flags
 *	at the same time, at most the request is lost. A child interpreter inherits limits when it
 *	is created: the wrapper of `interp` suspends interrupts meanwhile (script_sample.c).
 */
#include "script/hooks/tclint.h"
#include "base/alloc.h"
#include <limits.h>

#ifdef ETW_TCLINT

#if TCL_MAJOR_VERSION > 8
#define LEAST TCL_SIZE_MIN
#ifndef TCL_SIZE_MIN
#define TCL_SIZE_MIN PTRDIFF_MIN
#endif
#else
#define LEAST INT_MIN
#endif

enum { OPEN, REQUESTING, HELD };

struct EtwInterrupt {
    Interp *iPtr;
    void (*proc)(void *arg);
    void *arg;
    LimitHandler *handler; /* identifies the list of handlers that contains only this one */
    TclintOffset value;    /* of the program's limit, which is inactive */
    int gate;              /* OPEN ...; atomic */
};

static bool able;

static void take(EtwInterrupt *interrupt)
{
    interrupt->value = interrupt->iPtr->limit.cmdCount;
    __atomic_store_n(&interrupt->iPtr->limit.cmdCount, LEAST, __ATOMIC_RELAXED);
}

static bool isTaken(const EtwInterrupt *interrupt)
{
    return __atomic_load_n(&interrupt->iPtr->limit.cmdCount, __ATOMIC_RELAXED) == LEAST;
}

static void withdraw(const EtwInterrupt *interrupt)
{
    __atomic_and_fetch(&interrupt->iPtr->limit.active, ~TCL_LIMIT_COMMANDS, __ATOMIC_RELAXED);
    interrupt->iPtr->limit.exceeded &= ~TCL_LIMIT_COMMANDS;
}

static void restoreLimit(const EtwInterrupt *interrupt)
{
    if (isTaken(interrupt)) {
        withdraw(interrupt);
        interrupt->iPtr->limit.cmdCount = interrupt->value;
    }
}

void EtwTclintInterruptReached(ClientData clientData, Tcl_Interp *interp)
{
    EtwInterrupt *interrupt = clientData;
    (void)interp;
    if (isTaken(interrupt)) { /* otherwise it is a limit of the program */
        withdraw(interrupt);
        interrupt->proc(interrupt->arg);
    }
}

EtwInterrupt *EtwTclintInterruptOpen(Tcl_Interp *interp, void (*proc)(void *arg), void *arg)
{
    Interp *iPtr = (Interp *)interp;
    if (!able || (iPtr->limit.active & TCL_LIMIT_COMMANDS) || iPtr->limit.cmdHandlers != NULL) {
        return NULL;
    }
    EtwInterrupt *interrupt = EtwAlloc(sizeof *interrupt);
    *interrupt = (EtwInterrupt){.iPtr = iPtr, .proc = proc, .arg = arg};
    Tcl_LimitAddHandler(interp, TCL_LIMIT_COMMANDS, EtwTclintInterruptReached, interrupt, NULL);
    interrupt->handler = iPtr->limit.cmdHandlers;
    take(interrupt);
    return interrupt;
}

void EtwTclintInterruptClose(EtwInterrupt *interrupt)
{
    restoreLimit(interrupt);
    Tcl_LimitRemoveHandler((Tcl_Interp *)interrupt->iPtr, TCL_LIMIT_COMMANDS,
            EtwTclintInterruptReached, interrupt);
    EtwTclintAttachRearm((Tcl_Interp *)interrupt->iPtr);
    EtwFree(interrupt);
}

void EtwTclintInterruptRequest(EtwInterrupt *interrupt)
{
    Interp *iPtr = interrupt->iPtr;
    int open = OPEN;
    if (!__atomic_compare_exchange_n(
                &interrupt->gate, &open, REQUESTING, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return;
    }
    if (isTaken(interrupt) &&
            __atomic_load_n(&iPtr->limit.cmdHandlers, __ATOMIC_RELAXED) == interrupt->handler) {
        __atomic_or_fetch(&iPtr->limit.active, TCL_LIMIT_COMMANDS, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&interrupt->gate, OPEN, __ATOMIC_RELEASE);
}

void EtwTclintInterruptHold(EtwInterrupt *interrupt, bool hold)
{
    if (hold) {
        int open = OPEN;
        while (!__atomic_compare_exchange_n(
                &interrupt->gate, &open, HELD, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            open = OPEN; /* the other thread is in EtwTclintInterruptRequest, for a few
                            instructions */
        }
        restoreLimit(interrupt);
        return;
    }
    if (!(interrupt->iPtr->limit.active & TCL_LIMIT_COMMANDS)) {
        take(interrupt);
    }
    __atomic_store_n(&interrupt->gate, OPEN, __ATOMIC_RELEASE);
}

static void countRun(void *arg)
{
    ++*(int *)arg;
}

/*
 * Verifies that the public functions store their values in these fields, and that a request results
 * in one call.
 */
void EtwTclintCheckInterrupt(Tcl_Interp *interp)
{
    Interp *iPtr = (Interp *)interp;
    int runs = 0;
    bool same = iPtr->limit.active == 0 && iPtr->limit.exceeded == 0;
    Tcl_LimitSetCommands(interp, 12345);
    Tcl_LimitTypeSet(interp, TCL_LIMIT_COMMANDS);
    same &= iPtr->limit.cmdCount == 12345 && iPtr->limit.active == TCL_LIMIT_COMMANDS;
    Tcl_LimitTypeReset(interp, TCL_LIMIT_COMMANDS);
    Tcl_LimitSetCommands(interp, 0);
    able = same && iPtr->limit.active == 0 && iPtr->limit.cmdHandlers == NULL;
    EtwInterrupt *interrupt = EtwTclintInterruptOpen(interp, countRun, &runs);
    if (interrupt == NULL) {
        able = false;
        return;
    }
    EtwTclintInterruptRequest(interrupt);
    able = Tcl_LimitReady(interp) && Tcl_LimitCheck(interp) == TCL_OK && runs == 1 &&
           !Tcl_LimitExceeded(interp) && !Tcl_LimitReady(interp);
    EtwTclintInterruptClose(interrupt);
    able = able && iPtr->limit.cmdHandlers == NULL && iPtr->limit.cmdCount == 0;
}

#endif
