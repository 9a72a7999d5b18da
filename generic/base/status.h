/*
 * base/status.h --
 *
 *	How a core function reports failure: a status enum as its result, and an EtwError with a
 *	message for the user. One place (tcl/core/errors.c) converts an EtwError to a Tcl result and
 *	an errorCode {ETW CLASS DETAIL ...}. The core does not depend on Tcl.
 */
#ifndef ETW_BASE_STATUS_H
#define ETW_BASE_STATUS_H

typedef enum EtwStatus {
    ETW_OK = 0,
    ETW_END,           /* no more (of a source, a buffer, a list); not an error */
    ETW_AGAIN,         /* nothing yet, try again later (live sources); not an error */
    ETW_PAUSE,         /* nothing yet, but there is more input: try again at once; not an error */
    ETW_E_ARG,         /* an invalid value */
    ETW_E_STATE,       /* a valid call in the wrong state: name in use, session stopped */
    ETW_E_LOOKUP,      /* no such session, provider, keyword, field ... */
    ETW_E_FORMAT,      /* malformed bytes */
    ETW_E_IO,          /* the operating system refused to read or write; see osError */
    ETW_E_LIMIT,       /* a documented limit was hit */
    ETW_E_ACCESS,      /* a privilege is missing; the message names the remedy */
    ETW_E_UNSUPPORTED, /* not on this platform or kernel */
    ETW_E_MEMORY       /* allocation failed */
} EtwStatus;

typedef struct EtwError {
    EtwStatus status;
    int osError;     /* errno or GetLastError() value, 0 when none */
    char detail[32]; /* second word of errorCode after the class: EXISTS, SESSION, TRUNCATED ... */
    char subject[160]; /* the thing it is about (a name, a path); may be empty */
    char message[700]; /* a sentence for the user: what is wrong and what to do */
} EtwError;

#if defined(__GNUC__)
#define ETW_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define ETW_PRINTF(fmt, args)
#endif

/*
 * Fill *errPtr (may be NULL) and return status, so that a caller writes
 *	return EtwFail(errPtr, ETW_E_LOOKUP, "SESSION", name, "no session \"%s\" ...", name);
 */
EtwStatus EtwFail(EtwError *errPtr, EtwStatus status, const char *detail, const char *subject,
        const char *format, ...) ETW_PRINTF(5, 6);

/* As EtwFail with the operating system's error number and text appended (": No space left on
 * device"). When the limit of open files was hit, the status is ETW_E_LIMIT and the detail FILES, whatever
 * was given. */
EtwStatus EtwFailOs(EtwError *errPtr, EtwStatus status, int osError, const char *detail,
        const char *subject, const char *format, ...) ETW_PRINTF(6, 7);

/* The class word of errorCode: "ARG", "STATE", ... */
const char *EtwStatusName(EtwStatus status);

#endif
