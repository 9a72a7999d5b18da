/*
 * semantics/system_calls_int.h --
 *
 *	Tables of semantics/system_calls.c, which tools/gen-syscalls.tcl makes.
 */
#ifndef ETW_SYSTEM_CALLS_INT_H
#define ETW_SYSTEM_CALLS_INT_H

#include "schema/model/schema.h"

/* How a parameter is shown. The sets are also generated. */
typedef enum SystemCallWay {
    WAY_NONE,
    WAY_INT, /* 32 bits with sign */
    WAY_UINT,
    WAY_INT64,
    WAY_UINT64,
    WAY_HEX,
    WAY_POINTER,
    WAY_DIRECTORY,   /* a descriptor, or AT_FDCWD */
    WAY_MODE,        /* permissions, octal */
    WAY_CREATE_MODE, /* the same, behind flags: only where they create a file */
    SET_FIRST,
    SET_BEFORE_FIRST = SET_FIRST - 1,
    SET_OPEN,
    SET_AT,
    SET_ATUNLINK,
    SET_ATACCESS,
    SET_ACCESS,
    SET_PROT,
    SET_MAP,
    SET_MREMAP,
    SET_MSYNC,
    SET_MLOCKALL,
    SET_MADVISE,
    SET_FADVISE,
    SET_FALLOCATE,
    SET_SEEK,
    SET_FLOCK,
    SET_FCNTL,
    SET_IOCTL,
    SET_DESCRIPTOR,
    SET_DUP3,
    SET_PIPE2,
    SET_FAMILY,
    SET_SOCKET,
    SET_PROTOCOL,
    SET_SOCKETOPTION,
    SET_TCPOPTION,
    SET_SOCKETFLAGS,
    SET_MESSAGE,
    SET_SHUTDOWN,
    SET_LEVEL,
    SET_EPOLLCTL,
    SET_EPOLLCREATE,
    SET_EVENTFD,
    SET_SIGNALFD,
    SET_TIMERFD,
    SET_TIMERFDSET,
    SET_TIMERSET,
    SET_INOTIFY,
    SET_WATCH,
    SET_SIGNAL,
    SET_SIGMASK,
    SET_CLONE,
    SET_UNSHARE,
    SET_WAIT,
    SET_WAITID,
    SET_FUTEX,
    SET_CLOCK,
    SET_ITIMER,
    SET_RLIMIT,
    SET_RUSAGE,
    SET_PRIORITY,
    SET_POLICY,
    SET_ARCH,
    SET_PRCTL,
    SET_PTRACE,
    SET_RANDOM,
    SET_RENAME,
    SET_MEMFD,
    SET_MOUNT,
    SET_UMOUNT,
    SET_STATX,
    SET_SPLICE,
    SET_SYNCRANGE,
    SET_CLOSERANGE,
    SET_XATTR
} SystemCallWay;

/* Names of a number of 32 bits: one of the choices in the bits of the mask, and flags. */
typedef struct SystemCallSet {
    uint32_t mask;
    EtwMap choices;
    const EtwMapEntry *flags; /* those of several bits before their parts */
    int flagCount;
} SystemCallSet;

typedef struct SystemCall {
    uint16_t number;
    uint8_t count, ways[6]; /* SystemCallWay */
} SystemCall;

extern const SystemCallSet etwSystemCallSets[];
extern const SystemCall etwSystemCalls[];
extern const int etwSystemCallCount;

#endif
