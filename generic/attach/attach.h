/*
 * attach/attach.h --
 *
 *	Runs a script in the Tcl interpreters of another process that does not cooperate. Implemented by unix/attach for
 *	Linux on x86-64; win/os/win_attach.c reports that it is not available. What is here is shared with the code that runs
 *	in the other process (script/hooks/tclint_attach.c).
 */
#ifndef ETW_ATTACH_ATTACH_H
#define ETW_ATTACH_ATTACH_H

#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

/* ---- What both processes read and write ------------------------------------------------------ */

/* The argument of Etw_AttachBegin, in memory that is valid during the call. */
typedef struct EtwAttachRequest {
    uint64_t stubs;  /* address of Tcl's table of functions */
    uint64_t count;  /* of interps */
    uint64_t script; /* address of a text that ends with NUL */
    uint64_t interps[1];
} EtwAttachRequest;

enum { ETW_ATTACH_TEXT = 500 };

typedef enum EtwAttachRefusal { ETW_ATTACH_ACCEPTED, ETW_ATTACH_NO_THREADS } EtwAttachRefusal;

/* The progress of the newest request; Etw_AttachBegin returns its address. Counters are atomic. */
typedef struct EtwAttachStatus {
    uint64_t generation;            /* number of the request in its process, from 1 */
    uint32_t prepared;              /* Etw_AttachArm may be called */
    uint32_t refused;               /* EtwAttachRefusal */
    uint32_t total;                 /* interpreters */
    uint32_t done, failed, skipped; /* those that have ended; skipped: safe, or deleted meanwhile */
    char message[ETW_ATTACH_TEXT];  /* of the first that failed */
} EtwAttachStatus;

/* Functions of the package's binary, which are called in the other process. */
#define ETW_ATTACH_BEGIN "Etw_AttachBegin" /* (EtwAttachRequest *): EtwAttachStatus * */
#define ETW_ATTACH_ARM "Etw_AttachArm"     /* (): with all threads stopped */

/* ---- The attaching process ------------------------------------------------------------------- */

enum { OS_ATTACH_TCL8, OS_ATTACH_TCL9, OS_ATTACH_TCLS };

typedef struct OsAttachRequest {
    const char *script;                    /* evaluated in each interpreter, in its thread; UTF-8 */
    const char *libraries[OS_ATTACH_TCLS]; /* the package's binary for each Tcl; NULL: none */
    int milliseconds; /* to wait for a moment at which the process may be stopped */
} OsAttachRequest;

typedef struct OsAttached {
    uint64_t status;     /* address of the EtwAttachStatus */
    uint64_t generation; /* of this request */
    uint32_t interps;    /* that were found */
    bool limited;        /* not all of the memory was searched for them */
} OsAttached;

/*
 * Request that the interpreters of a process evaluate a script. Each does so when it executes its next command, or when
 * its event loop runs: at once, unless it waits in a blocking call.
 */
EtwStatus OsAttach(
        uint32_t pid, const OsAttachRequest *request, OsAttached *attached, EtwError *errPtr);
/* Read the progress. The request was replaced by a newer one if status->generation is another. */
EtwStatus OsAttachStatus(uint32_t pid, uint64_t address, EtwAttachStatus *status, EtwError *errPtr);

#endif
