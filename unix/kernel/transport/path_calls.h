/*
 * unix/kernel/transport/path_calls.h --
 *
 *	System calls that take a path (open, unlink, rename and their variants), each as one record with its
 *	result and paths. A BPF program writes the record when the call returns: then the page with the path
 *	is in memory, whether the call came from libc, the dynamic linker or a static program. The kernel
 *	removes the program with its last file, also after a kill. Requires CAP_BPF and CAP_PERFMON.
 */
#ifndef ETW_PATH_CALLS_H
#define ETW_PATH_CALLS_H

#include "unix/kernel/transport/transport.h"

/* A record has the common fields, with a type that no tracepoint has. */
enum { PATH_CALL_TYPE_ID = 1, PATH_CALL_ROOM = 4096 };
typedef struct PathCall {
    uint16_t type;
    uint8_t flags, preempted;
    uint32_t tid; /* up to here the common fields */
    uint32_t pid;
    uint32_t number; /* of the system call */
    int64_t result;
    uint64_t openFlags;
    uint32_t pathSize, toSize; /* with NUL; 0: it could not be read, or there is none */
    char paths[];              /* path, to */
} PathCall;

typedef enum PathCallKind {
    PATH_CALL_NONE,
    PATH_CALL_OPEN,
    PATH_CALL_UNLINK,
    PATH_CALL_RENAME
} PathCallKind;
PathCallKind PathCallKindOf(uint32_t number);

struct tep_event *PathCallFormat(void); /* for KernelRequest */
/* Its requests must be for PathCallFormat. */
KernelTransportOpen PathCallsOpen;

#endif
