/*
 * semantics/system_calls_data.c --
 *
 *	Made by tools/gen-syscalls.tcl from the descriptions that a kernel has of its system calls, and from
 *	headers of Linux x86_64; do not edit. Parameters of the system calls, and names of flags.
 */
#include "semantics/system_calls_int.h"

/* clang-format off */
static const EtwMapEntry choices_OPEN[] = {{0x0, "O_RDONLY"}, {0x1, "O_WRONLY"}, {0x2, "O_RDWR"}};
static const EtwMapEntry flags_OPEN[] = {{0x40, "O_CREAT"}, {0x80, "O_EXCL"}, {0x100, "O_NOCTTY"}, {0x200, "O_TRUNC"}, {0x400, "O_APPEND"}, {0x800, "O_NONBLOCK"}, {0x101000, "O_SYNC"}, {0x1000, "O_DSYNC"}, {0x2000, "FASYNC"}, {0x4000, "O_DIRECT"}, {0x20000, "O_NOFOLLOW"}, {0x40000, "O_NOATIME"}, {0x80000, "O_CLOEXEC"}, {0x200000, "O_PATH"}, {0x410000, "O_TMPFILE"}, {0x10000, "O_DIRECTORY"}};
static const EtwMapEntry flags_AT[] = {{0x100, "AT_SYMLINK_NOFOLLOW"}, {0x400, "AT_SYMLINK_FOLLOW"}, {0x800, "AT_NO_AUTOMOUNT"}, {0x1000, "AT_EMPTY_PATH"}, {0x2000, "AT_STATX_FORCE_SYNC"}, {0x4000, "AT_STATX_DONT_SYNC"}, {0x8000, "AT_RECURSIVE"}};
static const EtwMapEntry flags_ATUNLINK[] = {{0x200, "AT_REMOVEDIR"}};
static const EtwMapEntry flags_ATACCESS[] = {{0x200, "AT_EACCESS"}, {0x100, "AT_SYMLINK_NOFOLLOW"}, {0x1000, "AT_EMPTY_PATH"}};
static const EtwMapEntry choices_ACCESS[] = {{0x0, "F_OK"}};
static const EtwMapEntry flags_ACCESS[] = {{0x4, "R_OK"}, {0x2, "W_OK"}, {0x1, "X_OK"}};
static const EtwMapEntry choices_PROT[] = {{0x0, "PROT_NONE"}};
static const EtwMapEntry flags_PROT[] = {{0x1, "PROT_READ"}, {0x2, "PROT_WRITE"}, {0x4, "PROT_EXEC"}, {0x1000000, "PROT_GROWSDOWN"}, {0x2000000, "PROT_GROWSUP"}};
static const EtwMapEntry choices_MAP[] = {{0x1, "MAP_SHARED"}, {0x2, "MAP_PRIVATE"}, {0x3, "MAP_SHARED_VALIDATE"}};
static const EtwMapEntry flags_MAP[] = {{0x10, "MAP_FIXED"}, {0x20, "MAP_ANONYMOUS"}, {0x40, "MAP_32BIT"}, {0x100, "MAP_GROWSDOWN"}, {0x800, "MAP_DENYWRITE"}, {0x1000, "MAP_EXECUTABLE"}, {0x2000, "MAP_LOCKED"}, {0x4000, "MAP_NORESERVE"}, {0x8000, "MAP_POPULATE"}, {0x10000, "MAP_NONBLOCK"}, {0x20000, "MAP_STACK"}, {0x40000, "MAP_HUGETLB"}, {0x80000, "MAP_SYNC"}, {0x100000, "MAP_FIXED_NOREPLACE"}};
static const EtwMapEntry flags_MREMAP[] = {{0x1, "MREMAP_MAYMOVE"}, {0x2, "MREMAP_FIXED"}, {0x4, "MREMAP_DONTUNMAP"}};
static const EtwMapEntry flags_MSYNC[] = {{0x1, "MS_ASYNC"}, {0x2, "MS_INVALIDATE"}, {0x4, "MS_SYNC"}};
static const EtwMapEntry flags_MLOCKALL[] = {{0x1, "MCL_CURRENT"}, {0x2, "MCL_FUTURE"}, {0x4, "MCL_ONFAULT"}};
static const EtwMapEntry choices_MADVISE[] = {{0x0, "MADV_NORMAL"}, {0x1, "MADV_RANDOM"}, {0x2, "MADV_SEQUENTIAL"}, {0x3, "MADV_WILLNEED"}, {0x4, "MADV_DONTNEED"}, {0x8, "MADV_FREE"}, {0x9, "MADV_REMOVE"}, {0xa, "MADV_DONTFORK"}, {0xb, "MADV_DOFORK"}, {0xc, "MADV_MERGEABLE"}, {0xd, "MADV_UNMERGEABLE"}, {0xe, "MADV_HUGEPAGE"}, {0xf, "MADV_NOHUGEPAGE"}, {0x10, "MADV_DONTDUMP"}, {0x11, "MADV_DODUMP"}, {0x12, "MADV_WIPEONFORK"}, {0x13, "MADV_KEEPONFORK"}, {0x14, "MADV_COLD"}, {0x15, "MADV_PAGEOUT"}, {0x16, "MADV_POPULATE_READ"}, {0x17, "MADV_POPULATE_WRITE"}, {0x18, "MADV_DONTNEED_LOCKED"}, {0x64, "MADV_HWPOISON"}};
static const EtwMapEntry choices_FADVISE[] = {{0x0, "POSIX_FADV_NORMAL"}, {0x1, "POSIX_FADV_RANDOM"}, {0x2, "POSIX_FADV_SEQUENTIAL"}, {0x3, "POSIX_FADV_WILLNEED"}, {0x4, "POSIX_FADV_DONTNEED"}, {0x5, "POSIX_FADV_NOREUSE"}};
static const EtwMapEntry flags_FALLOCATE[] = {{0x1, "FALLOC_FL_KEEP_SIZE"}, {0x2, "FALLOC_FL_PUNCH_HOLE"}, {0x4, "FALLOC_FL_NO_HIDE_STALE"}, {0x8, "FALLOC_FL_COLLAPSE_RANGE"}, {0x10, "FALLOC_FL_ZERO_RANGE"}, {0x20, "FALLOC_FL_INSERT_RANGE"}, {0x40, "FALLOC_FL_UNSHARE_RANGE"}};
static const EtwMapEntry choices_SEEK[] = {{0x0, "SEEK_SET"}, {0x1, "SEEK_CUR"}, {0x2, "SEEK_END"}, {0x3, "SEEK_DATA"}, {0x4, "SEEK_HOLE"}};
static const EtwMapEntry flags_FLOCK[] = {{0x1, "LOCK_SH"}, {0x2, "LOCK_EX"}, {0x8, "LOCK_UN"}, {0x4, "LOCK_NB"}};
static const EtwMapEntry choices_FCNTL[] = {{0x0, "F_DUPFD"}, {0x1, "F_GETFD"}, {0x2, "F_SETFD"}, {0x3, "F_GETFL"}, {0x4, "F_SETFL"}, {0x5, "F_GETLK"}, {0x6, "F_SETLK"}, {0x7, "F_SETLKW"}, {0x8, "F_SETOWN"}, {0x9, "F_GETOWN"}, {0xa, "F_SETSIG"}, {0xb, "F_GETSIG"}, {0xf, "F_SETOWN_EX"}, {0x10, "F_GETOWN_EX"}, {0x24, "F_OFD_GETLK"}, {0x25, "F_OFD_SETLK"}, {0x26, "F_OFD_SETLKW"}, {0x400, "F_SETLEASE"}, {0x401, "F_GETLEASE"}, {0x402, "F_NOTIFY"}, {0x406, "F_DUPFD_CLOEXEC"}, {0x407, "F_SETPIPE_SZ"}, {0x408, "F_GETPIPE_SZ"}, {0x409, "F_ADD_SEALS"}, {0x40a, "F_GET_SEALS"}, {0x40b, "F_GET_RW_HINT"}, {0x40c, "F_SET_RW_HINT"}};
static const EtwMapEntry choices_IOCTL[] = {{0x1268, "BLKSSZGET"}, {0x5401, "TCGETS"}, {0x5402, "TCSETS"}, {0x5403, "TCSETSW"}, {0x5404, "TCSETSF"}, {0x5405, "TCGETA"}, {0x5406, "TCSETA"}, {0x5409, "TCSBRK"}, {0x540a, "TCXONC"}, {0x540b, "TCFLSH"}, {0x540e, "TIOCSCTTY"}, {0x540f, "TIOCGPGRP"}, {0x5410, "TIOCSPGRP"}, {0x5411, "TIOCOUTQ"}, {0x5412, "TIOCSTI"}, {0x5413, "TIOCGWINSZ"}, {0x5414, "TIOCSWINSZ"}, {0x541b, "FIONREAD"}, {0x5421, "FIONBIO"}, {0x5422, "TIOCNOTTY"}, {0x5429, "TIOCGSID"}, {0x5450, "FIONCLEX"}, {0x5451, "FIOCLEX"}, {0x5452, "FIOASYNC"}, {0x5460, "FIOQSIZE"}, {0x8910, "SIOCGIFNAME"}, {0x8912, "SIOCGIFCONF"}, {0x8913, "SIOCGIFFLAGS"}, {0x8915, "SIOCGIFADDR"}, {0x8933, "SIOCGIFINDEX"}, {0x40045431, "TIOCSPTLCK"}, {0x40049409, "FICLONE"}, {0x40086602, "FS_IOC_SETFLAGS"}, {0x4020940d, "FICLONERANGE"}, {0x80045430, "TIOCGPTN"}, {0x80081272, "BLKGETSIZE64"}, {0x80086601, "FS_IOC_GETFLAGS"}};
static const EtwMapEntry flags_DESCRIPTOR[] = {{0x1, "FD_CLOEXEC"}};
static const EtwMapEntry flags_DUP3[] = {{0x80000, "O_CLOEXEC"}};
static const EtwMapEntry flags_PIPE2[] = {{0x80000, "O_CLOEXEC"}, {0x800, "O_NONBLOCK"}, {0x4000, "O_DIRECT"}};
static const EtwMapEntry choices_FAMILY[] = {{0x0, "AF_UNSPEC"}, {0x1, "AF_UNIX"}, {0x2, "AF_INET"}, {0xa, "AF_INET6"}, {0xf, "AF_KEY"}, {0x10, "AF_NETLINK"}, {0x11, "AF_PACKET"}, {0x1d, "AF_CAN"}, {0x1e, "AF_TIPC"}, {0x1f, "AF_BLUETOOTH"}, {0x26, "AF_ALG"}, {0x28, "AF_VSOCK"}, {0x2c, "AF_XDP"}};
static const EtwMapEntry choices_SOCKET[] = {{0x1, "SOCK_STREAM"}, {0x2, "SOCK_DGRAM"}, {0x3, "SOCK_RAW"}, {0x4, "SOCK_RDM"}, {0x5, "SOCK_SEQPACKET"}};
static const EtwMapEntry flags_SOCKET[] = {{0x80000, "SOCK_CLOEXEC"}, {0x800, "SOCK_NONBLOCK"}};
static const EtwMapEntry choices_PROTOCOL[] = {{0x0, "IPPROTO_IP"}, {0x1, "IPPROTO_ICMP"}, {0x6, "IPPROTO_TCP"}, {0x11, "IPPROTO_UDP"}, {0x29, "IPPROTO_IPV6"}, {0x3a, "IPPROTO_ICMPV6"}, {0x84, "IPPROTO_SCTP"}, {0x88, "IPPROTO_UDPLITE"}, {0xff, "IPPROTO_RAW"}};
static const EtwMapEntry choices_SOCKETOPTION[] = {{0x1, "SO_DEBUG"}, {0x2, "SO_REUSEADDR"}, {0x3, "SO_TYPE"}, {0x4, "SO_ERROR"}, {0x5, "SO_DONTROUTE"}, {0x6, "SO_BROADCAST"}, {0x7, "SO_SNDBUF"}, {0x8, "SO_RCVBUF"}, {0x9, "SO_KEEPALIVE"}, {0xa, "SO_OOBINLINE"}, {0xc, "SO_PRIORITY"}, {0xd, "SO_LINGER"}, {0xf, "SO_REUSEPORT"}, {0x10, "SO_PASSCRED"}, {0x11, "SO_PEERCRED"}, {0x12, "SO_RCVLOWAT"}, {0x13, "SO_SNDLOWAT"}, {0x14, "SO_RCVTIMEO"}, {0x15, "SO_SNDTIMEO"}, {0x19, "SO_BINDTODEVICE"}, {0x1a, "SO_ATTACH_FILTER"}, {0x1d, "SO_TIMESTAMP"}, {0x1e, "SO_ACCEPTCONN"}, {0x1f, "SO_PEERSEC"}, {0x20, "SO_SNDBUFFORCE"}, {0x21, "SO_RCVBUFFORCE"}, {0x24, "SO_MARK"}, {0x26, "SO_PROTOCOL"}, {0x27, "SO_DOMAIN"}, {0x2e, "SO_BUSY_POLL"}, {0x31, "SO_INCOMING_CPU"}, {0x3c, "SO_ZEROCOPY"}};
static const EtwMapEntry choices_TCPOPTION[] = {{0x1, "TCP_NODELAY"}, {0x2, "TCP_MAXSEG"}, {0x3, "TCP_CORK"}, {0x4, "TCP_KEEPIDLE"}, {0x5, "TCP_KEEPINTVL"}, {0x6, "TCP_KEEPCNT"}, {0x7, "TCP_SYNCNT"}, {0x8, "TCP_LINGER2"}, {0x9, "TCP_DEFER_ACCEPT"}, {0xa, "TCP_WINDOW_CLAMP"}, {0xb, "TCP_INFO"}, {0xc, "TCP_QUICKACK"}, {0xd, "TCP_CONGESTION"}, {0x12, "TCP_USER_TIMEOUT"}, {0x17, "TCP_FASTOPEN"}};
static const EtwMapEntry flags_SOCKETFLAGS[] = {{0x80000, "SOCK_CLOEXEC"}, {0x800, "SOCK_NONBLOCK"}};
static const EtwMapEntry flags_MESSAGE[] = {{0x1, "MSG_OOB"}, {0x2, "MSG_PEEK"}, {0x4, "MSG_DONTROUTE"}, {0x8, "MSG_CTRUNC"}, {0x20, "MSG_TRUNC"}, {0x40, "MSG_DONTWAIT"}, {0x80, "MSG_EOR"}, {0x100, "MSG_WAITALL"}, {0x800, "MSG_CONFIRM"}, {0x2000, "MSG_ERRQUEUE"}, {0x4000, "MSG_NOSIGNAL"}, {0x8000, "MSG_MORE"}, {0x10000, "MSG_WAITFORONE"}, {0x4000000, "MSG_ZEROCOPY"}, {0x20000000, "MSG_FASTOPEN"}, {0x40000000, "MSG_CMSG_CLOEXEC"}};
static const EtwMapEntry choices_SHUTDOWN[] = {{0x0, "SHUT_RD"}, {0x1, "SHUT_WR"}, {0x2, "SHUT_RDWR"}};
static const EtwMapEntry choices_LEVEL[] = {{0x0, "SOL_IP"}, {0x1, "SOL_SOCKET"}, {0x6, "SOL_TCP"}, {0x11, "SOL_UDP"}, {0x29, "SOL_IPV6"}, {0xff, "SOL_RAW"}, {0x107, "SOL_PACKET"}, {0x10e, "SOL_NETLINK"}};
static const EtwMapEntry choices_EPOLLCTL[] = {{0x1, "EPOLL_CTL_ADD"}, {0x2, "EPOLL_CTL_DEL"}, {0x3, "EPOLL_CTL_MOD"}};
static const EtwMapEntry flags_EPOLLCREATE[] = {{0x80000, "EPOLL_CLOEXEC"}};
static const EtwMapEntry flags_EVENTFD[] = {{0x1, "EFD_SEMAPHORE"}, {0x80000, "EFD_CLOEXEC"}, {0x800, "EFD_NONBLOCK"}};
static const EtwMapEntry flags_SIGNALFD[] = {{0x80000, "SFD_CLOEXEC"}, {0x800, "SFD_NONBLOCK"}};
static const EtwMapEntry flags_TIMERFD[] = {{0x80000, "TFD_CLOEXEC"}, {0x800, "TFD_NONBLOCK"}};
static const EtwMapEntry flags_TIMERFDSET[] = {{0x1, "TFD_TIMER_ABSTIME"}, {0x2, "TFD_TIMER_CANCEL_ON_SET"}};
static const EtwMapEntry flags_TIMERSET[] = {{0x1, "TIMER_ABSTIME"}};
static const EtwMapEntry flags_INOTIFY[] = {{0x80000, "IN_CLOEXEC"}, {0x800, "IN_NONBLOCK"}};
static const EtwMapEntry flags_WATCH[] = {{0x1, "IN_ACCESS"}, {0x2, "IN_MODIFY"}, {0x4, "IN_ATTRIB"}, {0x8, "IN_CLOSE_WRITE"}, {0x10, "IN_CLOSE_NOWRITE"}, {0x20, "IN_OPEN"}, {0x40, "IN_MOVED_FROM"}, {0x80, "IN_MOVED_TO"}, {0x100, "IN_CREATE"}, {0x200, "IN_DELETE"}, {0x400, "IN_DELETE_SELF"}, {0x800, "IN_MOVE_SELF"}, {0x1000000, "IN_ONLYDIR"}, {0x2000000, "IN_DONT_FOLLOW"}, {0x4000000, "IN_EXCL_UNLINK"}, {0x10000000, "IN_MASK_CREATE"}, {0x20000000, "IN_MASK_ADD"}, {0x40000000, "IN_ISDIR"}, {0x80000000, "IN_ONESHOT"}};
static const EtwMapEntry choices_SIGNAL[] = {{0x1, "SIGHUP"}, {0x2, "SIGINT"}, {0x3, "SIGQUIT"}, {0x4, "SIGILL"}, {0x5, "SIGTRAP"}, {0x6, "SIGABRT"}, {0x7, "SIGBUS"}, {0x8, "SIGFPE"}, {0x9, "SIGKILL"}, {0xa, "SIGUSR1"}, {0xb, "SIGSEGV"}, {0xc, "SIGUSR2"}, {0xd, "SIGPIPE"}, {0xe, "SIGALRM"}, {0xf, "SIGTERM"}, {0x10, "SIGSTKFLT"}, {0x11, "SIGCHLD"}, {0x12, "SIGCONT"}, {0x13, "SIGSTOP"}, {0x14, "SIGTSTP"}, {0x15, "SIGTTIN"}, {0x16, "SIGTTOU"}, {0x17, "SIGURG"}, {0x18, "SIGXCPU"}, {0x19, "SIGXFSZ"}, {0x1a, "SIGVTALRM"}, {0x1b, "SIGPROF"}, {0x1c, "SIGWINCH"}, {0x1d, "SIGIO"}, {0x1e, "SIGPWR"}, {0x1f, "SIGSYS"}};
static const EtwMapEntry choices_SIGMASK[] = {{0x0, "SIG_BLOCK"}, {0x1, "SIG_UNBLOCK"}, {0x2, "SIG_SETMASK"}};
static const EtwMapEntry choices_CLONE[] = {{0x1, "SIGHUP"}, {0x2, "SIGINT"}, {0x3, "SIGQUIT"}, {0xa, "SIGUSR1"}, {0xc, "SIGUSR2"}, {0xe, "SIGALRM"}, {0xf, "SIGTERM"}, {0x11, "SIGCHLD"}};
static const EtwMapEntry flags_CLONE[] = {{0x100, "CLONE_VM"}, {0x200, "CLONE_FS"}, {0x400, "CLONE_FILES"}, {0x800, "CLONE_SIGHAND"}, {0x1000, "CLONE_PIDFD"}, {0x2000, "CLONE_PTRACE"}, {0x4000, "CLONE_VFORK"}, {0x8000, "CLONE_PARENT"}, {0x10000, "CLONE_THREAD"}, {0x20000, "CLONE_NEWNS"}, {0x40000, "CLONE_SYSVSEM"}, {0x80000, "CLONE_SETTLS"}, {0x100000, "CLONE_PARENT_SETTID"}, {0x200000, "CLONE_CHILD_CLEARTID"}, {0x400000, "CLONE_DETACHED"}, {0x800000, "CLONE_UNTRACED"}, {0x1000000, "CLONE_CHILD_SETTID"}, {0x2000000, "CLONE_NEWCGROUP"}, {0x4000000, "CLONE_NEWUTS"}, {0x8000000, "CLONE_NEWIPC"}, {0x10000000, "CLONE_NEWUSER"}, {0x20000000, "CLONE_NEWPID"}, {0x40000000, "CLONE_NEWNET"}, {0x80000000, "CLONE_IO"}};
static const EtwMapEntry flags_UNSHARE[] = {{0x80, "CLONE_NEWTIME"}, {0x100, "CLONE_VM"}, {0x200, "CLONE_FS"}, {0x400, "CLONE_FILES"}, {0x800, "CLONE_SIGHAND"}, {0x10000, "CLONE_THREAD"}, {0x20000, "CLONE_NEWNS"}, {0x40000, "CLONE_SYSVSEM"}, {0x2000000, "CLONE_NEWCGROUP"}, {0x4000000, "CLONE_NEWUTS"}, {0x8000000, "CLONE_NEWIPC"}, {0x10000000, "CLONE_NEWUSER"}, {0x20000000, "CLONE_NEWPID"}, {0x40000000, "CLONE_NEWNET"}};
static const EtwMapEntry flags_WAIT[] = {{0x1, "WNOHANG"}, {0x2, "WUNTRACED"}, {0x4, "WEXITED"}, {0x8, "WCONTINUED"}, {0x1000000, "WNOWAIT"}, {0x20000000, "WNOTHREAD"}, {0x40000000, "WALL"}, {0x80000000, "WCLONE"}};
static const EtwMapEntry choices_WAITID[] = {{0x0, "P_ALL"}, {0x1, "P_PID"}, {0x2, "P_PGID"}, {0x3, "P_PIDFD"}};
static const EtwMapEntry choices_FUTEX[] = {{0x0, "FUTEX_WAIT"}, {0x1, "FUTEX_WAKE"}, {0x2, "FUTEX_FD"}, {0x3, "FUTEX_REQUEUE"}, {0x4, "FUTEX_CMP_REQUEUE"}, {0x5, "FUTEX_WAKE_OP"}, {0x6, "FUTEX_LOCK_PI"}, {0x7, "FUTEX_UNLOCK_PI"}, {0x8, "FUTEX_TRYLOCK_PI"}, {0x9, "FUTEX_WAIT_BITSET"}, {0xa, "FUTEX_WAKE_BITSET"}, {0xb, "FUTEX_WAIT_REQUEUE_PI"}, {0xc, "FUTEX_CMP_REQUEUE_PI"}};
static const EtwMapEntry flags_FUTEX[] = {{0x80, "FUTEX_PRIVATE_FLAG"}, {0x100, "FUTEX_CLOCK_REALTIME"}};
static const EtwMapEntry choices_CLOCK[] = {{0x0, "CLOCK_REALTIME"}, {0x1, "CLOCK_MONOTONIC"}, {0x2, "CLOCK_PROCESS_CPUTIME_ID"}, {0x3, "CLOCK_THREAD_CPUTIME_ID"}, {0x4, "CLOCK_MONOTONIC_RAW"}, {0x5, "CLOCK_REALTIME_COARSE"}, {0x6, "CLOCK_MONOTONIC_COARSE"}, {0x7, "CLOCK_BOOTTIME"}, {0x8, "CLOCK_REALTIME_ALARM"}, {0x9, "CLOCK_BOOTTIME_ALARM"}, {0xb, "CLOCK_TAI"}};
static const EtwMapEntry choices_ITIMER[] = {{0x0, "ITIMER_REAL"}, {0x1, "ITIMER_VIRTUAL"}, {0x2, "ITIMER_PROF"}};
static const EtwMapEntry choices_RLIMIT[] = {{0x0, "RLIMIT_CPU"}, {0x1, "RLIMIT_FSIZE"}, {0x2, "RLIMIT_DATA"}, {0x3, "RLIMIT_STACK"}, {0x4, "RLIMIT_CORE"}, {0x5, "RLIMIT_RSS"}, {0x6, "RLIMIT_NPROC"}, {0x7, "RLIMIT_NOFILE"}, {0x8, "RLIMIT_MEMLOCK"}, {0x9, "RLIMIT_AS"}, {0xa, "RLIMIT_LOCKS"}, {0xb, "RLIMIT_SIGPENDING"}, {0xc, "RLIMIT_MSGQUEUE"}, {0xd, "RLIMIT_NICE"}, {0xe, "RLIMIT_RTPRIO"}, {0xf, "RLIMIT_RTTIME"}};
static const EtwMapEntry choices_RUSAGE[] = {{0x0, "RUSAGE_SELF"}, {0x1, "RUSAGE_THREAD"}, {0xffffffff, "RUSAGE_CHILDREN"}};
static const EtwMapEntry choices_PRIORITY[] = {{0x0, "PRIO_PROCESS"}, {0x1, "PRIO_PGRP"}, {0x2, "PRIO_USER"}};
static const EtwMapEntry choices_POLICY[] = {{0x0, "SCHED_OTHER"}, {0x1, "SCHED_FIFO"}, {0x2, "SCHED_RR"}, {0x3, "SCHED_BATCH"}, {0x5, "SCHED_IDLE"}, {0x6, "SCHED_DEADLINE"}};
static const EtwMapEntry choices_ARCH[] = {{0x1001, "ARCH_SET_GS"}, {0x1002, "ARCH_SET_FS"}, {0x1003, "ARCH_GET_FS"}, {0x1004, "ARCH_GET_GS"}, {0x1011, "ARCH_GET_CPUID"}, {0x1012, "ARCH_SET_CPUID"}};
static const EtwMapEntry choices_PRCTL[] = {{0x1, "PR_SET_PDEATHSIG"}, {0x2, "PR_GET_PDEATHSIG"}, {0x3, "PR_GET_DUMPABLE"}, {0x4, "PR_SET_DUMPABLE"}, {0x7, "PR_GET_KEEPCAPS"}, {0x8, "PR_SET_KEEPCAPS"}, {0xf, "PR_SET_NAME"}, {0x10, "PR_GET_NAME"}, {0x15, "PR_GET_SECCOMP"}, {0x16, "PR_SET_SECCOMP"}, {0x17, "PR_CAPBSET_READ"}, {0x18, "PR_CAPBSET_DROP"}, {0x1b, "PR_GET_SECUREBITS"}, {0x1c, "PR_SET_SECUREBITS"}, {0x1d, "PR_SET_TIMERSLACK"}, {0x1e, "PR_GET_TIMERSLACK"}, {0x23, "PR_SET_MM"}, {0x24, "PR_SET_CHILD_SUBREAPER"}, {0x25, "PR_GET_CHILD_SUBREAPER"}, {0x26, "PR_SET_NO_NEW_PRIVS"}, {0x27, "PR_GET_NO_NEW_PRIVS"}, {0x28, "PR_GET_TID_ADDRESS"}, {0x29, "PR_SET_THP_DISABLE"}, {0x2a, "PR_GET_THP_DISABLE"}, {0x2f, "PR_CAP_AMBIENT"}, {0x34, "PR_GET_SPECULATION_CTRL"}, {0x35, "PR_SET_SPECULATION_CTRL"}, {0x53564d41, "PR_SET_VMA"}, {0x59616d61, "PR_SET_PTRACER"}};
static const EtwMapEntry choices_PTRACE[] = {{0x0, "PTRACE_TRACEME"}, {0x1, "PTRACE_PEEKTEXT"}, {0x2, "PTRACE_PEEKDATA"}, {0x3, "PTRACE_PEEKUSER"}, {0x4, "PTRACE_POKETEXT"}, {0x5, "PTRACE_POKEDATA"}, {0x6, "PTRACE_POKEUSER"}, {0x7, "PTRACE_CONT"}, {0x8, "PTRACE_KILL"}, {0x9, "PTRACE_SINGLESTEP"}, {0xc, "PTRACE_GETREGS"}, {0xd, "PTRACE_SETREGS"}, {0x10, "PTRACE_ATTACH"}, {0x11, "PTRACE_DETACH"}, {0x18, "PTRACE_SYSCALL"}, {0x4200, "PTRACE_SETOPTIONS"}, {0x4201, "PTRACE_GETEVENTMSG"}, {0x4202, "PTRACE_GETSIGINFO"}, {0x4204, "PTRACE_GETREGSET"}, {0x4205, "PTRACE_SETREGSET"}, {0x4206, "PTRACE_SEIZE"}, {0x4207, "PTRACE_INTERRUPT"}, {0x4208, "PTRACE_LISTEN"}};
static const EtwMapEntry flags_RANDOM[] = {{0x1, "GRND_NONBLOCK"}, {0x2, "GRND_RANDOM"}, {0x4, "GRND_INSECURE"}};
static const EtwMapEntry flags_RENAME[] = {{0x1, "RENAME_NOREPLACE"}, {0x2, "RENAME_EXCHANGE"}, {0x4, "RENAME_WHITEOUT"}};
static const EtwMapEntry flags_MEMFD[] = {{0x1, "MFD_CLOEXEC"}, {0x2, "MFD_ALLOW_SEALING"}, {0x4, "MFD_HUGETLB"}};
static const EtwMapEntry flags_MOUNT[] = {{0x1, "MS_RDONLY"}, {0x2, "MS_NOSUID"}, {0x4, "MS_NODEV"}, {0x8, "MS_NOEXEC"}, {0x10, "MS_SYNCHRONOUS"}, {0x20, "MS_REMOUNT"}, {0x40, "MS_MANDLOCK"}, {0x80, "MS_DIRSYNC"}, {0x400, "MS_NOATIME"}, {0x800, "MS_NODIRATIME"}, {0x1000, "MS_BIND"}, {0x2000, "MS_MOVE"}, {0x4000, "MS_REC"}, {0x8000, "MS_SILENT"}, {0x20000, "MS_UNBINDABLE"}, {0x40000, "MS_PRIVATE"}, {0x80000, "MS_SLAVE"}, {0x100000, "MS_SHARED"}, {0x200000, "MS_RELATIME"}, {0x1000000, "MS_STRICTATIME"}, {0x2000000, "MS_LAZYTIME"}};
static const EtwMapEntry flags_UMOUNT[] = {{0x1, "MNT_FORCE"}, {0x2, "MNT_DETACH"}, {0x4, "MNT_EXPIRE"}, {0x8, "UMOUNT_NOFOLLOW"}};
static const EtwMapEntry flags_STATX[] = {{0x1, "STATX_TYPE"}, {0x2, "STATX_MODE"}, {0x4, "STATX_NLINK"}, {0x8, "STATX_UID"}, {0x10, "STATX_GID"}, {0x20, "STATX_ATIME"}, {0x40, "STATX_MTIME"}, {0x80, "STATX_CTIME"}, {0x100, "STATX_INO"}, {0x200, "STATX_SIZE"}, {0x400, "STATX_BLOCKS"}, {0x800, "STATX_BTIME"}, {0x1000, "STATX_MNT_ID"}};
static const EtwMapEntry flags_SPLICE[] = {{0x1, "SPLICE_F_MOVE"}, {0x2, "SPLICE_F_NONBLOCK"}, {0x4, "SPLICE_F_MORE"}, {0x8, "SPLICE_F_GIFT"}};
static const EtwMapEntry flags_SYNCRANGE[] = {{0x1, "SYNC_FILE_RANGE_WAIT_BEFORE"}, {0x2, "SYNC_FILE_RANGE_WRITE"}, {0x4, "SYNC_FILE_RANGE_WAIT_AFTER"}};
static const EtwMapEntry flags_CLOSERANGE[] = {{0x2, "CLOSE_RANGE_UNSHARE"}, {0x4, "CLOSE_RANGE_CLOEXEC"}};
static const EtwMapEntry flags_XATTR[] = {{0x1, "XATTR_CREATE"}, {0x2, "XATTR_REPLACE"}};

const SystemCallSet etwSystemCallSets[] = {
    [SET_OPEN - SET_FIRST] = {0x3, {choices_OPEN, 3, false}, flags_OPEN, 16},
    [SET_AT - SET_FIRST] = {0x0, {NULL, 0, false}, flags_AT, 7},
    [SET_ATUNLINK - SET_FIRST] = {0x0, {NULL, 0, false}, flags_ATUNLINK, 1},
    [SET_ATACCESS - SET_FIRST] = {0x0, {NULL, 0, false}, flags_ATACCESS, 3},
    [SET_ACCESS - SET_FIRST] = {0x0, {choices_ACCESS, 1, false}, flags_ACCESS, 3},
    [SET_PROT - SET_FIRST] = {0x0, {choices_PROT, 1, false}, flags_PROT, 5},
    [SET_MAP - SET_FIRST] = {0xf, {choices_MAP, 3, false}, flags_MAP, 14},
    [SET_MREMAP - SET_FIRST] = {0x0, {NULL, 0, false}, flags_MREMAP, 3},
    [SET_MSYNC - SET_FIRST] = {0x0, {NULL, 0, false}, flags_MSYNC, 3},
    [SET_MLOCKALL - SET_FIRST] = {0x0, {NULL, 0, false}, flags_MLOCKALL, 3},
    [SET_MADVISE - SET_FIRST] = {0xffffffff, {choices_MADVISE, 23, false}, NULL, 0},
    [SET_FADVISE - SET_FIRST] = {0xffffffff, {choices_FADVISE, 6, false}, NULL, 0},
    [SET_FALLOCATE - SET_FIRST] = {0x0, {NULL, 0, false}, flags_FALLOCATE, 7},
    [SET_SEEK - SET_FIRST] = {0xffffffff, {choices_SEEK, 5, false}, NULL, 0},
    [SET_FLOCK - SET_FIRST] = {0x0, {NULL, 0, false}, flags_FLOCK, 4},
    [SET_FCNTL - SET_FIRST] = {0xffffffff, {choices_FCNTL, 27, false}, NULL, 0},
    [SET_IOCTL - SET_FIRST] = {0xffffffff, {choices_IOCTL, 37, false}, NULL, 0},
    [SET_DESCRIPTOR - SET_FIRST] = {0x0, {NULL, 0, false}, flags_DESCRIPTOR, 1},
    [SET_DUP3 - SET_FIRST] = {0x0, {NULL, 0, false}, flags_DUP3, 1},
    [SET_PIPE2 - SET_FIRST] = {0x0, {NULL, 0, false}, flags_PIPE2, 3},
    [SET_FAMILY - SET_FIRST] = {0xffffffff, {choices_FAMILY, 13, false}, NULL, 0},
    [SET_SOCKET - SET_FIRST] = {0xf, {choices_SOCKET, 5, false}, flags_SOCKET, 2},
    [SET_PROTOCOL - SET_FIRST] = {0xffffffff, {choices_PROTOCOL, 9, false}, NULL, 0},
    [SET_SOCKETOPTION - SET_FIRST] = {0xffffffff, {choices_SOCKETOPTION, 32, false}, NULL, 0},
    [SET_TCPOPTION - SET_FIRST] = {0xffffffff, {choices_TCPOPTION, 15, false}, NULL, 0},
    [SET_SOCKETFLAGS - SET_FIRST] = {0x0, {NULL, 0, false}, flags_SOCKETFLAGS, 2},
    [SET_MESSAGE - SET_FIRST] = {0x0, {NULL, 0, false}, flags_MESSAGE, 16},
    [SET_SHUTDOWN - SET_FIRST] = {0xffffffff, {choices_SHUTDOWN, 3, false}, NULL, 0},
    [SET_LEVEL - SET_FIRST] = {0xffffffff, {choices_LEVEL, 8, false}, NULL, 0},
    [SET_EPOLLCTL - SET_FIRST] = {0xffffffff, {choices_EPOLLCTL, 3, false}, NULL, 0},
    [SET_EPOLLCREATE - SET_FIRST] = {0x0, {NULL, 0, false}, flags_EPOLLCREATE, 1},
    [SET_EVENTFD - SET_FIRST] = {0x0, {NULL, 0, false}, flags_EVENTFD, 3},
    [SET_SIGNALFD - SET_FIRST] = {0x0, {NULL, 0, false}, flags_SIGNALFD, 2},
    [SET_TIMERFD - SET_FIRST] = {0x0, {NULL, 0, false}, flags_TIMERFD, 2},
    [SET_TIMERFDSET - SET_FIRST] = {0x0, {NULL, 0, false}, flags_TIMERFDSET, 2},
    [SET_TIMERSET - SET_FIRST] = {0x0, {NULL, 0, false}, flags_TIMERSET, 1},
    [SET_INOTIFY - SET_FIRST] = {0x0, {NULL, 0, false}, flags_INOTIFY, 2},
    [SET_WATCH - SET_FIRST] = {0x0, {NULL, 0, false}, flags_WATCH, 19},
    [SET_SIGNAL - SET_FIRST] = {0xffffffff, {choices_SIGNAL, 31, false}, NULL, 0},
    [SET_SIGMASK - SET_FIRST] = {0xffffffff, {choices_SIGMASK, 3, false}, NULL, 0},
    [SET_CLONE - SET_FIRST] = {0xff, {choices_CLONE, 8, false}, flags_CLONE, 24},
    [SET_UNSHARE - SET_FIRST] = {0x0, {NULL, 0, false}, flags_UNSHARE, 14},
    [SET_WAIT - SET_FIRST] = {0x0, {NULL, 0, false}, flags_WAIT, 8},
    [SET_WAITID - SET_FIRST] = {0xffffffff, {choices_WAITID, 4, false}, NULL, 0},
    [SET_FUTEX - SET_FIRST] = {0x7f, {choices_FUTEX, 13, false}, flags_FUTEX, 2},
    [SET_CLOCK - SET_FIRST] = {0xffffffff, {choices_CLOCK, 11, false}, NULL, 0},
    [SET_ITIMER - SET_FIRST] = {0xffffffff, {choices_ITIMER, 3, false}, NULL, 0},
    [SET_RLIMIT - SET_FIRST] = {0xffffffff, {choices_RLIMIT, 16, false}, NULL, 0},
    [SET_RUSAGE - SET_FIRST] = {0xffffffff, {choices_RUSAGE, 3, false}, NULL, 0},
    [SET_PRIORITY - SET_FIRST] = {0xffffffff, {choices_PRIORITY, 3, false}, NULL, 0},
    [SET_POLICY - SET_FIRST] = {0xffffffff, {choices_POLICY, 6, false}, NULL, 0},
    [SET_ARCH - SET_FIRST] = {0xffffffff, {choices_ARCH, 6, false}, NULL, 0},
    [SET_PRCTL - SET_FIRST] = {0xffffffff, {choices_PRCTL, 29, false}, NULL, 0},
    [SET_PTRACE - SET_FIRST] = {0xffffffff, {choices_PTRACE, 23, false}, NULL, 0},
    [SET_RANDOM - SET_FIRST] = {0x0, {NULL, 0, false}, flags_RANDOM, 3},
    [SET_RENAME - SET_FIRST] = {0x0, {NULL, 0, false}, flags_RENAME, 3},
    [SET_MEMFD - SET_FIRST] = {0x0, {NULL, 0, false}, flags_MEMFD, 3},
    [SET_MOUNT - SET_FIRST] = {0x0, {NULL, 0, false}, flags_MOUNT, 21},
    [SET_UMOUNT - SET_FIRST] = {0x0, {NULL, 0, false}, flags_UMOUNT, 4},
    [SET_STATX - SET_FIRST] = {0x0, {NULL, 0, false}, flags_STATX, 13},
    [SET_SPLICE - SET_FIRST] = {0x0, {NULL, 0, false}, flags_SPLICE, 4},
    [SET_SYNCRANGE - SET_FIRST] = {0x0, {NULL, 0, false}, flags_SYNCRANGE, 3},
    [SET_CLOSERANGE - SET_FIRST] = {0x0, {NULL, 0, false}, flags_CLOSERANGE, 2},
    [SET_XATTR - SET_FIRST] = {0x0, {NULL, 0, false}, flags_XATTR, 2},
};

/* In the order of the numbers. */
const SystemCall etwSystemCalls[] = {
    {0, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* read */
    {1, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* write */
    {2, 3, {WAY_POINTER, SET_OPEN, WAY_CREATE_MODE}}, /* open */
    {3, 1, {WAY_INT}}, /* close */
    {4, 2, {WAY_POINTER, WAY_POINTER}}, /* stat */
    {5, 2, {WAY_INT, WAY_POINTER}}, /* fstat */
    {6, 2, {WAY_POINTER, WAY_POINTER}}, /* lstat */
    {7, 3, {WAY_POINTER, WAY_UINT, WAY_INT}}, /* poll */
    {8, 3, {WAY_INT, WAY_INT64, SET_SEEK}}, /* lseek */
    {9, 6, {WAY_POINTER, WAY_UINT64, SET_PROT, SET_MAP, WAY_INT, WAY_HEX}}, /* mmap */
    {10, 3, {WAY_POINTER, WAY_UINT64, SET_PROT}}, /* mprotect */
    {11, 2, {WAY_POINTER, WAY_UINT64}}, /* munmap */
    {12, 1, {WAY_POINTER}}, /* brk */
    {13, 4, {SET_SIGNAL, WAY_POINTER, WAY_POINTER, WAY_UINT64}}, /* rt_sigaction */
    {14, 4, {SET_SIGMASK, WAY_POINTER, WAY_POINTER, WAY_UINT64}}, /* rt_sigprocmask */
    {15, 0, {0}}, /* rt_sigreturn */
    {16, 3, {WAY_INT, SET_IOCTL, WAY_HEX}}, /* ioctl */
    {17, 4, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_INT64}}, /* pread64 */
    {18, 4, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_INT64}}, /* pwrite64 */
    {19, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* readv */
    {20, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* writev */
    {21, 2, {WAY_POINTER, SET_ACCESS}}, /* access */
    {22, 1, {WAY_POINTER}}, /* pipe */
    {23, 5, {WAY_INT, WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_POINTER}}, /* select */
    {24, 0, {0}}, /* sched_yield */
    {25, 5, {WAY_POINTER, WAY_UINT64, WAY_UINT64, SET_MREMAP, WAY_POINTER}}, /* mremap */
    {26, 3, {WAY_POINTER, WAY_UINT64, SET_MSYNC}}, /* msync */
    {27, 3, {WAY_POINTER, WAY_UINT64, WAY_POINTER}}, /* mincore */
    {28, 3, {WAY_POINTER, WAY_UINT64, SET_MADVISE}}, /* madvise */
    {29, 3, {WAY_INT, WAY_UINT64, WAY_INT}}, /* shmget */
    {30, 3, {WAY_INT, WAY_POINTER, WAY_INT}}, /* shmat */
    {31, 3, {WAY_INT, WAY_INT, WAY_POINTER}}, /* shmctl */
    {32, 1, {WAY_UINT}}, /* dup */
    {33, 2, {WAY_INT, WAY_INT}}, /* dup2 */
    {34, 0, {0}}, /* pause */
    {35, 2, {WAY_POINTER, WAY_POINTER}}, /* nanosleep */
    {36, 2, {SET_ITIMER, WAY_POINTER}}, /* getitimer */
    {37, 1, {WAY_UINT}}, /* alarm */
    {38, 3, {SET_ITIMER, WAY_POINTER, WAY_POINTER}}, /* setitimer */
    {39, 0, {0}}, /* getpid */
    {40, 4, {WAY_INT, WAY_INT, WAY_POINTER, WAY_UINT64}}, /* sendfile */
    {41, 3, {SET_FAMILY, SET_SOCKET, WAY_INT}}, /* socket */
    {42, 3, {WAY_INT, WAY_POINTER, WAY_INT}}, /* connect */
    {43, 3, {WAY_INT, WAY_POINTER, WAY_POINTER}}, /* accept */
    {44, 6, {WAY_INT, WAY_POINTER, WAY_UINT64, SET_MESSAGE, WAY_POINTER, WAY_INT}}, /* sendto */
    {45, 6, {WAY_INT, WAY_POINTER, WAY_UINT64, SET_MESSAGE, WAY_POINTER, WAY_POINTER}}, /* recvfrom */
    {46, 3, {WAY_INT, WAY_POINTER, SET_MESSAGE}}, /* sendmsg */
    {47, 3, {WAY_INT, WAY_POINTER, SET_MESSAGE}}, /* recvmsg */
    {48, 2, {WAY_INT, SET_SHUTDOWN}}, /* shutdown */
    {49, 3, {WAY_INT, WAY_POINTER, WAY_INT}}, /* bind */
    {50, 2, {WAY_INT, WAY_INT}}, /* listen */
    {51, 3, {WAY_INT, WAY_POINTER, WAY_POINTER}}, /* getsockname */
    {52, 3, {WAY_INT, WAY_POINTER, WAY_POINTER}}, /* getpeername */
    {53, 4, {SET_FAMILY, SET_SOCKET, WAY_INT, WAY_POINTER}}, /* socketpair */
    {54, 5, {WAY_INT, SET_LEVEL, WAY_INT, WAY_POINTER, WAY_INT}}, /* setsockopt */
    {55, 5, {WAY_INT, SET_LEVEL, WAY_INT, WAY_POINTER, WAY_POINTER}}, /* getsockopt */
    {56, 5, {SET_CLONE, WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_POINTER}}, /* clone */
    {57, 0, {0}}, /* fork */
    {58, 0, {0}}, /* vfork */
    {59, 3, {WAY_POINTER, WAY_POINTER, WAY_POINTER}}, /* execve */
    {60, 1, {WAY_INT}}, /* exit */
    {61, 4, {WAY_INT, WAY_POINTER, SET_WAIT, WAY_POINTER}}, /* wait4 */
    {62, 2, {WAY_INT, SET_SIGNAL}}, /* kill */
    {63, 1, {WAY_POINTER}}, /* uname */
    {64, 3, {WAY_INT, WAY_INT, WAY_INT}}, /* semget */
    {65, 3, {WAY_INT, WAY_POINTER, WAY_UINT}}, /* semop */
    {66, 4, {WAY_INT, WAY_INT, WAY_INT, WAY_HEX}}, /* semctl */
    {67, 1, {WAY_POINTER}}, /* shmdt */
    {68, 2, {WAY_INT, WAY_INT}}, /* msgget */
    {69, 4, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_INT}}, /* msgsnd */
    {70, 5, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_INT64, WAY_INT}}, /* msgrcv */
    {71, 3, {WAY_INT, WAY_INT, WAY_POINTER}}, /* msgctl */
    {72, 3, {WAY_INT, SET_FCNTL, WAY_HEX}}, /* fcntl */
    {73, 2, {WAY_INT, SET_FLOCK}}, /* flock */
    {74, 1, {WAY_INT}}, /* fsync */
    {75, 1, {WAY_INT}}, /* fdatasync */
    {76, 2, {WAY_POINTER, WAY_INT64}}, /* truncate */
    {77, 2, {WAY_INT, WAY_INT64}}, /* ftruncate */
    {78, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* getdents */
    {79, 2, {WAY_POINTER, WAY_UINT64}}, /* getcwd */
    {80, 1, {WAY_POINTER}}, /* chdir */
    {81, 1, {WAY_INT}}, /* fchdir */
    {82, 2, {WAY_POINTER, WAY_POINTER}}, /* rename */
    {83, 2, {WAY_POINTER, WAY_MODE}}, /* mkdir */
    {84, 1, {WAY_POINTER}}, /* rmdir */
    {85, 2, {WAY_POINTER, WAY_MODE}}, /* creat */
    {86, 2, {WAY_POINTER, WAY_POINTER}}, /* link */
    {87, 1, {WAY_POINTER}}, /* unlink */
    {88, 2, {WAY_POINTER, WAY_POINTER}}, /* symlink */
    {89, 3, {WAY_POINTER, WAY_POINTER, WAY_INT}}, /* readlink */
    {90, 2, {WAY_POINTER, WAY_MODE}}, /* chmod */
    {91, 2, {WAY_INT, WAY_MODE}}, /* fchmod */
    {92, 3, {WAY_POINTER, WAY_INT, WAY_INT}}, /* chown */
    {93, 3, {WAY_INT, WAY_INT, WAY_INT}}, /* fchown */
    {94, 3, {WAY_POINTER, WAY_INT, WAY_INT}}, /* lchown */
    {95, 1, {WAY_MODE}}, /* umask */
    {96, 2, {WAY_POINTER, WAY_POINTER}}, /* gettimeofday */
    {97, 2, {SET_RLIMIT, WAY_POINTER}}, /* getrlimit */
    {98, 2, {SET_RUSAGE, WAY_POINTER}}, /* getrusage */
    {99, 1, {WAY_POINTER}}, /* sysinfo */
    {100, 1, {WAY_POINTER}}, /* times */
    {101, 4, {SET_PTRACE, WAY_INT64, WAY_POINTER, WAY_UINT64}}, /* ptrace */
    {102, 0, {0}}, /* getuid */
    {103, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* syslog */
    {104, 0, {0}}, /* getgid */
    {105, 1, {WAY_INT}}, /* setuid */
    {106, 1, {WAY_INT}}, /* setgid */
    {107, 0, {0}}, /* geteuid */
    {108, 0, {0}}, /* getegid */
    {109, 2, {WAY_INT, WAY_INT}}, /* setpgid */
    {110, 0, {0}}, /* getppid */
    {111, 0, {0}}, /* getpgrp */
    {112, 0, {0}}, /* setsid */
    {113, 2, {WAY_INT, WAY_INT}}, /* setreuid */
    {114, 2, {WAY_INT, WAY_INT}}, /* setregid */
    {115, 2, {WAY_INT, WAY_POINTER}}, /* getgroups */
    {116, 2, {WAY_INT, WAY_POINTER}}, /* setgroups */
    {117, 3, {WAY_INT, WAY_INT, WAY_INT}}, /* setresuid */
    {118, 3, {WAY_POINTER, WAY_POINTER, WAY_POINTER}}, /* getresuid */
    {119, 3, {WAY_INT, WAY_INT, WAY_INT}}, /* setresgid */
    {120, 3, {WAY_POINTER, WAY_POINTER, WAY_POINTER}}, /* getresgid */
    {121, 1, {WAY_INT}}, /* getpgid */
    {122, 1, {WAY_INT}}, /* setfsuid */
    {123, 1, {WAY_INT}}, /* setfsgid */
    {124, 1, {WAY_INT}}, /* getsid */
    {125, 2, {WAY_HEX, WAY_HEX}}, /* capget */
    {126, 2, {WAY_HEX, WAY_HEX}}, /* capset */
    {127, 2, {WAY_POINTER, WAY_UINT64}}, /* rt_sigpending */
    {128, 4, {WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_UINT64}}, /* rt_sigtimedwait */
    {129, 3, {WAY_INT, SET_SIGNAL, WAY_POINTER}}, /* rt_sigqueueinfo */
    {130, 2, {WAY_POINTER, WAY_UINT64}}, /* rt_sigsuspend */
    {131, 2, {WAY_POINTER, WAY_POINTER}}, /* sigaltstack */
    {132, 2, {WAY_POINTER, WAY_POINTER}}, /* utime */
    {133, 3, {WAY_POINTER, WAY_MODE, WAY_UINT}}, /* mknod */
    {135, 1, {WAY_UINT}}, /* personality */
    {136, 2, {WAY_UINT, WAY_POINTER}}, /* ustat */
    {137, 2, {WAY_POINTER, WAY_POINTER}}, /* statfs */
    {138, 2, {WAY_INT, WAY_POINTER}}, /* fstatfs */
    {139, 3, {WAY_INT, WAY_HEX, WAY_HEX}}, /* sysfs */
    {140, 2, {SET_PRIORITY, WAY_INT}}, /* getpriority */
    {141, 3, {SET_PRIORITY, WAY_INT, WAY_INT}}, /* setpriority */
    {142, 2, {WAY_INT, WAY_POINTER}}, /* sched_setparam */
    {143, 2, {WAY_INT, WAY_POINTER}}, /* sched_getparam */
    {144, 3, {WAY_INT, SET_POLICY, WAY_POINTER}}, /* sched_setscheduler */
    {145, 1, {WAY_INT}}, /* sched_getscheduler */
    {146, 1, {SET_POLICY}}, /* sched_get_priority_max */
    {147, 1, {SET_POLICY}}, /* sched_get_priority_min */
    {148, 2, {WAY_INT, WAY_POINTER}}, /* sched_rr_get_interval */
    {149, 2, {WAY_POINTER, WAY_UINT64}}, /* mlock */
    {150, 2, {WAY_POINTER, WAY_UINT64}}, /* munlock */
    {151, 1, {SET_MLOCKALL}}, /* mlockall */
    {152, 0, {0}}, /* munlockall */
    {153, 0, {0}}, /* vhangup */
    {154, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* modify_ldt */
    {155, 2, {WAY_POINTER, WAY_POINTER}}, /* pivot_root */
    {157, 5, {SET_PRCTL, WAY_HEX, WAY_HEX, WAY_HEX, WAY_HEX}}, /* prctl */
    {158, 2, {SET_ARCH, WAY_HEX}}, /* arch_prctl */
    {159, 1, {WAY_POINTER}}, /* adjtimex */
    {160, 2, {SET_RLIMIT, WAY_POINTER}}, /* setrlimit */
    {161, 1, {WAY_POINTER}}, /* chroot */
    {162, 0, {0}}, /* sync */
    {163, 1, {WAY_POINTER}}, /* acct */
    {164, 2, {WAY_POINTER, WAY_POINTER}}, /* settimeofday */
    {165, 5, {WAY_POINTER, WAY_POINTER, WAY_POINTER, SET_MOUNT, WAY_POINTER}}, /* mount */
    {166, 2, {WAY_POINTER, SET_UMOUNT}}, /* umount2 */
    {167, 2, {WAY_POINTER, WAY_HEX}}, /* swapon */
    {168, 1, {WAY_POINTER}}, /* swapoff */
    {169, 4, {WAY_INT, WAY_INT, WAY_UINT, WAY_POINTER}}, /* reboot */
    {170, 2, {WAY_POINTER, WAY_UINT64}}, /* sethostname */
    {171, 2, {WAY_POINTER, WAY_UINT64}}, /* setdomainname */
    {172, 1, {WAY_UINT}}, /* iopl */
    {173, 3, {WAY_UINT64, WAY_UINT64, WAY_INT}}, /* ioperm */
    {179, 4, {WAY_UINT, WAY_POINTER, WAY_HEX, WAY_POINTER}}, /* quotactl */
    {186, 0, {0}}, /* gettid */
    {187, 3, {WAY_INT, WAY_INT64, WAY_UINT64}}, /* readahead */
    {188, 5, {WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_UINT64, SET_XATTR}}, /* setxattr */
    {189, 5, {WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_UINT64, SET_XATTR}}, /* lsetxattr */
    {190, 5, {WAY_INT, WAY_POINTER, WAY_POINTER, WAY_UINT64, SET_XATTR}}, /* fsetxattr */
    {191, 4, {WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_UINT64}}, /* getxattr */
    {192, 4, {WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_UINT64}}, /* lgetxattr */
    {193, 4, {WAY_INT, WAY_POINTER, WAY_POINTER, WAY_UINT64}}, /* fgetxattr */
    {194, 3, {WAY_POINTER, WAY_POINTER, WAY_UINT64}}, /* listxattr */
    {195, 3, {WAY_POINTER, WAY_POINTER, WAY_UINT64}}, /* llistxattr */
    {196, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* flistxattr */
    {197, 2, {WAY_POINTER, WAY_POINTER}}, /* removexattr */
    {198, 2, {WAY_POINTER, WAY_POINTER}}, /* lremovexattr */
    {199, 2, {WAY_INT, WAY_POINTER}}, /* fremovexattr */
    {200, 2, {WAY_INT, SET_SIGNAL}}, /* tkill */
    {201, 1, {WAY_POINTER}}, /* time */
    {202, 6, {WAY_POINTER, SET_FUTEX, WAY_UINT, WAY_POINTER, WAY_POINTER, WAY_UINT}}, /* futex */
    {203, 3, {WAY_INT, WAY_UINT64, WAY_POINTER}}, /* sched_setaffinity */
    {204, 3, {WAY_INT, WAY_UINT64, WAY_POINTER}}, /* sched_getaffinity */
    {206, 2, {WAY_UINT, WAY_POINTER}}, /* io_setup */
    {207, 1, {WAY_HEX}}, /* io_destroy */
    {208, 5, {WAY_HEX, WAY_INT64, WAY_INT64, WAY_POINTER, WAY_POINTER}}, /* io_getevents */
    {209, 3, {WAY_HEX, WAY_INT64, WAY_POINTER}}, /* io_submit */
    {210, 3, {WAY_HEX, WAY_POINTER, WAY_POINTER}}, /* io_cancel */
    {213, 1, {WAY_UINT64}}, /* epoll_create */
    {216, 5, {WAY_POINTER, WAY_UINT64, SET_PROT, WAY_HEX, WAY_HEX}}, /* remap_file_pages */
    {217, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* getdents64 */
    {218, 1, {WAY_POINTER}}, /* set_tid_address */
    {219, 0, {0}}, /* restart_syscall */
    {220, 4, {WAY_INT, WAY_POINTER, WAY_UINT, WAY_POINTER}}, /* semtimedop */
    {221, 4, {WAY_INT, WAY_INT64, WAY_UINT64, SET_FADVISE}}, /* fadvise64 */
    {222, 3, {SET_CLOCK, WAY_POINTER, WAY_POINTER}}, /* timer_create */
    {223, 4, {WAY_INT, SET_TIMERSET, WAY_POINTER, WAY_POINTER}}, /* timer_settime */
    {224, 2, {WAY_INT, WAY_POINTER}}, /* timer_gettime */
    {225, 1, {WAY_INT}}, /* timer_getoverrun */
    {226, 1, {WAY_INT}}, /* timer_delete */
    {227, 2, {SET_CLOCK, WAY_POINTER}}, /* clock_settime */
    {228, 2, {SET_CLOCK, WAY_POINTER}}, /* clock_gettime */
    {229, 2, {SET_CLOCK, WAY_POINTER}}, /* clock_getres */
    {230, 4, {SET_CLOCK, SET_TIMERSET, WAY_POINTER, WAY_POINTER}}, /* clock_nanosleep */
    {231, 1, {WAY_INT}}, /* exit_group */
    {232, 4, {WAY_INT, WAY_POINTER, WAY_INT, WAY_INT}}, /* epoll_wait */
    {233, 4, {WAY_INT, SET_EPOLLCTL, WAY_INT, WAY_POINTER}}, /* epoll_ctl */
    {234, 3, {WAY_INT, WAY_INT, SET_SIGNAL}}, /* tgkill */
    {235, 2, {WAY_POINTER, WAY_POINTER}}, /* utimes */
    {237, 6, {WAY_POINTER, WAY_UINT64, WAY_UINT64, WAY_POINTER, WAY_UINT64, WAY_HEX}}, /* mbind */
    {238, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* set_mempolicy */
    {239, 5, {WAY_POINTER, WAY_POINTER, WAY_UINT64, WAY_POINTER, WAY_HEX}}, /* get_mempolicy */
    {240, 4, {WAY_POINTER, SET_OPEN, WAY_CREATE_MODE, WAY_POINTER}}, /* mq_open */
    {241, 1, {WAY_POINTER}}, /* mq_unlink */
    {242, 5, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_UINT, WAY_POINTER}}, /* mq_timedsend */
    {243, 5, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_POINTER, WAY_POINTER}}, /* mq_timedreceive */
    {244, 2, {WAY_INT, WAY_POINTER}}, /* mq_notify */
    {245, 3, {WAY_INT, WAY_POINTER, WAY_POINTER}}, /* mq_getsetattr */
    {247, 5, {SET_WAITID, WAY_INT, WAY_POINTER, SET_WAIT, WAY_POINTER}}, /* waitid */
    {248, 5, {WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_UINT64, WAY_HEX}}, /* add_key */
    {249, 4, {WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_HEX}}, /* request_key */
    {250, 5, {WAY_INT, WAY_HEX, WAY_HEX, WAY_HEX, WAY_HEX}}, /* keyctl */
    {251, 3, {WAY_INT, WAY_INT, WAY_INT}}, /* ioprio_set */
    {252, 2, {WAY_INT, WAY_INT}}, /* ioprio_get */
    {253, 0, {0}}, /* inotify_init */
    {254, 3, {WAY_INT, WAY_POINTER, SET_WATCH}}, /* inotify_add_watch */
    {255, 2, {WAY_INT, WAY_HEX}}, /* inotify_rm_watch */
    {256, 4, {WAY_INT, WAY_UINT64, WAY_POINTER, WAY_POINTER}}, /* migrate_pages */
    {257, 4, {WAY_DIRECTORY, WAY_POINTER, SET_OPEN, WAY_CREATE_MODE}}, /* openat */
    {258, 3, {WAY_DIRECTORY, WAY_POINTER, WAY_MODE}}, /* mkdirat */
    {259, 4, {WAY_DIRECTORY, WAY_POINTER, WAY_MODE, WAY_UINT}}, /* mknodat */
    {260, 5, {WAY_DIRECTORY, WAY_POINTER, WAY_INT, WAY_INT, SET_AT}}, /* fchownat */
    {261, 3, {WAY_DIRECTORY, WAY_POINTER, WAY_POINTER}}, /* futimesat */
    {262, 4, {WAY_DIRECTORY, WAY_POINTER, WAY_POINTER, SET_AT}}, /* newfstatat */
    {263, 3, {WAY_DIRECTORY, WAY_POINTER, SET_ATUNLINK}}, /* unlinkat */
    {264, 4, {WAY_DIRECTORY, WAY_POINTER, WAY_DIRECTORY, WAY_POINTER}}, /* renameat */
    {265, 5, {WAY_DIRECTORY, WAY_POINTER, WAY_DIRECTORY, WAY_POINTER, SET_AT}}, /* linkat */
    {266, 3, {WAY_POINTER, WAY_DIRECTORY, WAY_POINTER}}, /* symlinkat */
    {267, 4, {WAY_DIRECTORY, WAY_POINTER, WAY_POINTER, WAY_INT}}, /* readlinkat */
    {268, 3, {WAY_DIRECTORY, WAY_POINTER, WAY_MODE}}, /* fchmodat */
    {269, 3, {WAY_DIRECTORY, WAY_POINTER, SET_ACCESS}}, /* faccessat */
    {270, 6, {WAY_INT, WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_POINTER}}, /* pselect6 */
    {271, 5, {WAY_POINTER, WAY_UINT, WAY_POINTER, WAY_POINTER, WAY_UINT64}}, /* ppoll */
    {272, 1, {SET_UNSHARE}}, /* unshare */
    {273, 2, {WAY_POINTER, WAY_UINT64}}, /* set_robust_list */
    {274, 3, {WAY_INT, WAY_POINTER, WAY_POINTER}}, /* get_robust_list */
    {275, 6, {WAY_INT, WAY_POINTER, WAY_INT, WAY_POINTER, WAY_UINT64, SET_SPLICE}}, /* splice */
    {276, 4, {WAY_INT, WAY_INT, WAY_UINT64, SET_SPLICE}}, /* tee */
    {277, 4, {WAY_INT, WAY_INT64, WAY_INT64, SET_SYNCRANGE}}, /* sync_file_range */
    {278, 4, {WAY_INT, WAY_POINTER, WAY_UINT64, SET_SPLICE}}, /* vmsplice */
    {279, 6, {WAY_INT, WAY_UINT64, WAY_POINTER, WAY_POINTER, WAY_POINTER, WAY_HEX}}, /* move_pages */
    {280, 4, {WAY_DIRECTORY, WAY_POINTER, WAY_POINTER, SET_AT}}, /* utimensat */
    {281, 6, {WAY_INT, WAY_POINTER, WAY_INT, WAY_INT, WAY_POINTER, WAY_UINT64}}, /* epoll_pwait */
    {282, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* signalfd */
    {283, 2, {SET_CLOCK, SET_TIMERFD}}, /* timerfd_create */
    {284, 1, {WAY_UINT64}}, /* eventfd */
    {285, 4, {WAY_INT, SET_FALLOCATE, WAY_INT64, WAY_UINT64}}, /* fallocate */
    {286, 4, {WAY_INT, SET_TIMERFDSET, WAY_POINTER, WAY_POINTER}}, /* timerfd_settime */
    {287, 2, {WAY_INT, WAY_POINTER}}, /* timerfd_gettime */
    {288, 4, {WAY_INT, WAY_POINTER, WAY_POINTER, SET_SOCKETFLAGS}}, /* accept4 */
    {289, 4, {WAY_INT, WAY_POINTER, WAY_UINT64, SET_SIGNALFD}}, /* signalfd4 */
    {290, 2, {WAY_UINT64, SET_EVENTFD}}, /* eventfd2 */
    {291, 1, {SET_EPOLLCREATE}}, /* epoll_create1 */
    {292, 3, {WAY_INT, WAY_INT, SET_DUP3}}, /* dup3 */
    {293, 2, {WAY_POINTER, SET_PIPE2}}, /* pipe2 */
    {294, 1, {SET_INOTIFY}}, /* inotify_init1 */
    {295, 5, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_UINT64, WAY_UINT64}}, /* preadv */
    {296, 5, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_UINT64, WAY_UINT64}}, /* pwritev */
    {297, 4, {WAY_INT, WAY_INT, SET_SIGNAL, WAY_POINTER}}, /* rt_tgsigqueueinfo */
    {298, 5, {WAY_POINTER, WAY_INT, WAY_INT, WAY_INT, WAY_HEX}}, /* perf_event_open */
    {299, 5, {WAY_INT, WAY_POINTER, WAY_UINT, SET_MESSAGE, WAY_POINTER}}, /* recvmmsg */
    {300, 2, {WAY_HEX, WAY_HEX}}, /* fanotify_init */
    {301, 5, {WAY_INT, WAY_HEX, WAY_HEX, WAY_DIRECTORY, WAY_POINTER}}, /* fanotify_mark */
    {302, 4, {WAY_INT, SET_RLIMIT, WAY_POINTER, WAY_POINTER}}, /* prlimit64 */
    {303, 5, {WAY_DIRECTORY, WAY_POINTER, WAY_POINTER, WAY_POINTER, SET_AT}}, /* name_to_handle_at */
    {304, 3, {WAY_INT, WAY_POINTER, SET_OPEN}}, /* open_by_handle_at */
    {305, 2, {SET_CLOCK, WAY_POINTER}}, /* clock_adjtime */
    {306, 1, {WAY_INT}}, /* syncfs */
    {307, 4, {WAY_INT, WAY_POINTER, WAY_UINT, SET_MESSAGE}}, /* sendmmsg */
    {308, 2, {WAY_INT, SET_UNSHARE}}, /* setns */
    {309, 3, {WAY_POINTER, WAY_POINTER, WAY_POINTER}}, /* getcpu */
    {310, 6, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_POINTER, WAY_UINT64, WAY_HEX}}, /* process_vm_readv */
    {311, 6, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_POINTER, WAY_UINT64, WAY_HEX}}, /* process_vm_writev */
    {312, 5, {WAY_INT, WAY_INT, WAY_INT, WAY_UINT64, WAY_UINT64}}, /* kcmp */
    {314, 3, {WAY_INT, WAY_POINTER, WAY_HEX}}, /* sched_setattr */
    {315, 4, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_HEX}}, /* sched_getattr */
    {316, 5, {WAY_DIRECTORY, WAY_POINTER, WAY_DIRECTORY, WAY_POINTER, SET_RENAME}}, /* renameat2 */
    {317, 3, {WAY_UINT, WAY_HEX, WAY_POINTER}}, /* seccomp */
    {318, 3, {WAY_POINTER, WAY_UINT64, SET_RANDOM}}, /* getrandom */
    {319, 2, {WAY_POINTER, SET_MEMFD}}, /* memfd_create */
    {321, 3, {WAY_INT, WAY_POINTER, WAY_UINT64}}, /* bpf */
    {322, 5, {WAY_INT, WAY_POINTER, WAY_POINTER, WAY_POINTER, SET_AT}}, /* execveat */
    {323, 1, {WAY_HEX}}, /* userfaultfd */
    {324, 3, {WAY_INT, WAY_HEX, WAY_INT}}, /* membarrier */
    {325, 3, {WAY_POINTER, WAY_UINT64, WAY_HEX}}, /* mlock2 */
    {326, 6, {WAY_INT, WAY_POINTER, WAY_INT, WAY_POINTER, WAY_UINT64, WAY_HEX}}, /* copy_file_range */
    {327, 6, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_UINT64, WAY_UINT64, WAY_HEX}}, /* preadv2 */
    {328, 6, {WAY_INT, WAY_POINTER, WAY_UINT64, WAY_UINT64, WAY_UINT64, WAY_HEX}}, /* pwritev2 */
    {329, 4, {WAY_POINTER, WAY_UINT64, SET_PROT, WAY_INT}}, /* pkey_mprotect */
    {330, 2, {WAY_HEX, WAY_UINT64}}, /* pkey_alloc */
    {331, 1, {WAY_INT}}, /* pkey_free */
    {332, 5, {WAY_DIRECTORY, WAY_POINTER, SET_AT, SET_STATX, WAY_POINTER}}, /* statx */
    {333, 6, {WAY_HEX, WAY_INT64, WAY_INT64, WAY_POINTER, WAY_POINTER, WAY_POINTER}}, /* io_pgetevents */
    {334, 4, {WAY_POINTER, WAY_UINT, WAY_HEX, SET_SIGNAL}}, /* rseq */
    {424, 4, {WAY_INT, SET_SIGNAL, WAY_POINTER, WAY_HEX}}, /* pidfd_send_signal */
    {425, 2, {WAY_UINT, WAY_POINTER}}, /* io_uring_setup */
    {426, 6, {WAY_INT, WAY_UINT, WAY_UINT, WAY_HEX, WAY_POINTER, WAY_UINT64}}, /* io_uring_enter */
    {427, 4, {WAY_INT, WAY_UINT, WAY_POINTER, WAY_UINT}}, /* io_uring_register */
    {428, 3, {WAY_DIRECTORY, WAY_POINTER, WAY_HEX}}, /* open_tree */
    {429, 5, {WAY_DIRECTORY, WAY_POINTER, WAY_DIRECTORY, WAY_POINTER, WAY_HEX}}, /* move_mount */
    {430, 2, {WAY_POINTER, WAY_HEX}}, /* fsopen */
    {431, 5, {WAY_INT, WAY_UINT, WAY_POINTER, WAY_POINTER, WAY_INT}}, /* fsconfig */
    {432, 3, {WAY_INT, WAY_HEX, WAY_HEX}}, /* fsmount */
    {433, 3, {WAY_DIRECTORY, WAY_POINTER, WAY_HEX}}, /* fspick */
    {434, 2, {WAY_INT, WAY_HEX}}, /* pidfd_open */
    {435, 2, {WAY_POINTER, WAY_UINT64}}, /* clone3 */
    {436, 3, {WAY_INT, WAY_INT, SET_CLOSERANGE}}, /* close_range */
    {437, 4, {WAY_DIRECTORY, WAY_POINTER, WAY_POINTER, WAY_UINT64}}, /* openat2 */
    {438, 3, {WAY_INT, WAY_INT, WAY_HEX}}, /* pidfd_getfd */
    {439, 4, {WAY_DIRECTORY, WAY_POINTER, SET_ACCESS, SET_ATACCESS}}, /* faccessat2 */
    {440, 5, {WAY_INT, WAY_POINTER, WAY_UINT64, SET_MADVISE, WAY_HEX}}, /* process_madvise */
    {441, 6, {WAY_INT, WAY_POINTER, WAY_INT, WAY_POINTER, WAY_POINTER, WAY_UINT64}}, /* epoll_pwait2 */
    {442, 5, {WAY_DIRECTORY, WAY_POINTER, WAY_HEX, WAY_POINTER, WAY_UINT64}}, /* mount_setattr */
    {443, 4, {WAY_INT, WAY_UINT, WAY_HEX, WAY_POINTER}}, /* quotactl_fd */
    {444, 3, {WAY_HEX, WAY_UINT64, WAY_HEX}}, /* landlock_create_ruleset */
    {445, 4, {WAY_INT, WAY_HEX, WAY_HEX, WAY_HEX}}, /* landlock_add_rule */
    {446, 2, {WAY_INT, WAY_HEX}}, /* landlock_restrict_self */
    {447, 1, {WAY_HEX}}, /* memfd_secret */
    {448, 2, {WAY_INT, WAY_HEX}}, /* process_mrelease */
    {449, 5, {WAY_POINTER, WAY_UINT, WAY_HEX, WAY_POINTER, WAY_HEX}}, /* futex_waitv */
    {450, 4, {WAY_POINTER, WAY_UINT64, WAY_UINT64, WAY_HEX}}, /* set_mempolicy_home_node */
};
const int etwSystemCallCount = (int)(sizeof etwSystemCalls / sizeof etwSystemCalls[0]);
