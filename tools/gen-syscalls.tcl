# tools/gen-syscalls.tcl --
#
#	Writes generic/semantics/system_calls_data.c: the parameters of the system calls of Linux x86_64, and the
#	names of their flags and choices. The kernel's own descriptions of its calls (tracefs, so root is
#	required) are the source of the parameters; the compiler evaluates the macros of the C library's and the
#	kernel's headers. Run it manually for a newer kernel. The result is committed, so that traces can be
#	shown on any system. Needs gcc, clang-format.
#
#	tclsh tools/gen-syscalls.tcl
cd [file dirname [file dirname [file normalize [info script]]]]
set out generic/semantics/system_calls_data.c
set events /sys/kernel/tracing/events/syscalls

# ---- Sets of names ------------------------------------------------------------------------------------------
# NAME {MASK CHOICES BITS}: the bits of the mask are one of the choices, the others are flags. Macros that the
# headers lack are left out. The first name of a value is used. Flags of several bits stand before their parts.

set sets {
    OPEN {O_ACCMODE {O_RDONLY O_WRONLY O_RDWR} {O_CREAT O_EXCL O_NOCTTY O_TRUNC O_APPEND O_NONBLOCK O_SYNC O_DSYNC
        FASYNC O_DIRECT __O_LARGEFILE O_NOFOLLOW O_NOATIME O_CLOEXEC O_PATH O_TMPFILE
        O_DIRECTORY}}
    AT {0 {} {AT_SYMLINK_NOFOLLOW AT_SYMLINK_FOLLOW AT_NO_AUTOMOUNT AT_EMPTY_PATH AT_STATX_FORCE_SYNC
        AT_STATX_DONT_SYNC AT_RECURSIVE}}
    ATUNLINK {0 {} {AT_REMOVEDIR}}
    ATACCESS {0 {} {AT_EACCESS AT_SYMLINK_NOFOLLOW AT_EMPTY_PATH}}
    ACCESS {0 F_OK {R_OK W_OK X_OK}}
    PROT {0 PROT_NONE {PROT_READ PROT_WRITE PROT_EXEC PROT_SEM PROT_GROWSDOWN PROT_GROWSUP}}
    MAP {MAP_TYPE {MAP_SHARED MAP_PRIVATE MAP_SHARED_VALIDATE} {MAP_FIXED MAP_ANONYMOUS MAP_32BIT MAP_GROWSDOWN
        MAP_DENYWRITE MAP_EXECUTABLE MAP_LOCKED MAP_NORESERVE MAP_POPULATE MAP_NONBLOCK MAP_STACK MAP_HUGETLB
        MAP_SYNC MAP_FIXED_NOREPLACE}}
    MREMAP {0 {} {MREMAP_MAYMOVE MREMAP_FIXED MREMAP_DONTUNMAP}}
    MSYNC {0 {} {MS_ASYNC MS_INVALIDATE MS_SYNC}}
    MLOCKALL {0 {} {MCL_CURRENT MCL_FUTURE MCL_ONFAULT}}
    MADVISE {-1 {MADV_NORMAL MADV_RANDOM MADV_SEQUENTIAL MADV_WILLNEED MADV_DONTNEED MADV_FREE MADV_REMOVE
        MADV_DONTFORK MADV_DOFORK MADV_HWPOISON MADV_SOFT_OFFLINE MADV_MERGEABLE MADV_UNMERGEABLE MADV_HUGEPAGE
        MADV_NOHUGEPAGE MADV_DONTDUMP MADV_DODUMP MADV_WIPEONFORK MADV_KEEPONFORK MADV_COLD MADV_PAGEOUT
        MADV_POPULATE_READ MADV_POPULATE_WRITE MADV_DONTNEED_LOCKED MADV_COLLAPSE} {}}
    FADVISE {-1 {POSIX_FADV_NORMAL POSIX_FADV_RANDOM POSIX_FADV_SEQUENTIAL POSIX_FADV_WILLNEED
        POSIX_FADV_DONTNEED POSIX_FADV_NOREUSE} {}}
    FALLOCATE {0 {} {FALLOC_FL_KEEP_SIZE FALLOC_FL_PUNCH_HOLE FALLOC_FL_NO_HIDE_STALE FALLOC_FL_COLLAPSE_RANGE
        FALLOC_FL_ZERO_RANGE FALLOC_FL_INSERT_RANGE FALLOC_FL_UNSHARE_RANGE}}
    SEEK {-1 {SEEK_SET SEEK_CUR SEEK_END SEEK_DATA SEEK_HOLE} {}}
    FLOCK {0 {} {LOCK_SH LOCK_EX LOCK_UN LOCK_NB}}
    FCNTL {-1 {F_DUPFD F_GETFD F_SETFD F_GETFL F_SETFL F_GETLK F_SETLK F_SETLKW F_SETOWN F_GETOWN F_SETSIG
        F_GETSIG F_SETOWN_EX F_GETOWN_EX F_OFD_GETLK F_OFD_SETLK F_OFD_SETLKW F_SETLEASE F_GETLEASE F_NOTIFY
        F_DUPFD_CLOEXEC F_SETPIPE_SZ F_GETPIPE_SZ F_ADD_SEALS F_GET_SEALS F_GET_RW_HINT F_SET_RW_HINT} {}}
    IOCTL {-1 {TCGETS TCSETS TCSETSW TCSETSF TCGETA TCSETA TCSBRK TCXONC TCFLSH TIOCGPGRP TIOCSPGRP TIOCGWINSZ
        TIOCSWINSZ TIOCSCTTY TIOCNOTTY TIOCGSID TIOCGPTN TIOCSPTLCK TIOCSTI TIOCOUTQ FIONREAD FIONBIO FIOASYNC
        FIOCLEX FIONCLEX FIOQSIZE SIOCGIFCONF SIOCGIFFLAGS SIOCGIFADDR SIOCGIFINDEX SIOCGIFNAME FICLONE
        FICLONERANGE FS_IOC_GETFLAGS FS_IOC_SETFLAGS BLKGETSIZE64 BLKSSZGET} {}}
    DESCRIPTOR {0 {} {FD_CLOEXEC}}
    DUP3 {0 {} {O_CLOEXEC}}
    PIPE2 {0 {} {O_CLOEXEC O_NONBLOCK O_DIRECT}}
    FAMILY {-1 {AF_UNSPEC AF_UNIX AF_INET AF_INET6 AF_NETLINK AF_PACKET AF_BLUETOOTH AF_VSOCK AF_ALG AF_XDP AF_CAN
        AF_TIPC AF_KEY} {}}
    SOCKET {0xf {SOCK_STREAM SOCK_DGRAM SOCK_RAW SOCK_RDM SOCK_SEQPACKET} {SOCK_CLOEXEC SOCK_NONBLOCK}}
    PROTOCOL {-1 {IPPROTO_IP IPPROTO_ICMP IPPROTO_TCP IPPROTO_UDP IPPROTO_IPV6 IPPROTO_ICMPV6 IPPROTO_SCTP
        IPPROTO_UDPLITE IPPROTO_RAW} {}}
    SOCKETOPTION {-1 {SO_DEBUG SO_REUSEADDR SO_TYPE SO_ERROR SO_DONTROUTE SO_BROADCAST SO_SNDBUF SO_RCVBUF
        SO_SNDBUFFORCE SO_RCVBUFFORCE SO_KEEPALIVE SO_OOBINLINE SO_PRIORITY SO_LINGER SO_REUSEPORT SO_PASSCRED
        SO_PEERCRED SO_RCVLOWAT SO_SNDLOWAT SO_RCVTIMEO SO_SNDTIMEO SO_BINDTODEVICE SO_ATTACH_FILTER SO_TIMESTAMP
        SO_ACCEPTCONN SO_PEERSEC SO_MARK SO_PROTOCOL SO_DOMAIN SO_BUSY_POLL SO_INCOMING_CPU SO_ZEROCOPY} {}}
    TCPOPTION {-1 {TCP_NODELAY TCP_MAXSEG TCP_CORK TCP_KEEPIDLE TCP_KEEPINTVL TCP_KEEPCNT TCP_SYNCNT TCP_LINGER2
        TCP_DEFER_ACCEPT TCP_WINDOW_CLAMP TCP_INFO TCP_QUICKACK TCP_CONGESTION TCP_USER_TIMEOUT TCP_FASTOPEN} {}}
    SOCKETFLAGS {0 {} {SOCK_CLOEXEC SOCK_NONBLOCK}}
    MESSAGE {0 {} {MSG_OOB MSG_PEEK MSG_DONTROUTE MSG_CTRUNC MSG_TRUNC MSG_DONTWAIT MSG_EOR MSG_WAITALL MSG_CONFIRM
        MSG_ERRQUEUE MSG_NOSIGNAL MSG_MORE MSG_WAITFORONE MSG_ZEROCOPY MSG_FASTOPEN MSG_CMSG_CLOEXEC}}
    SHUTDOWN {-1 {SHUT_RD SHUT_WR SHUT_RDWR} {}}
    LEVEL {-1 {SOL_IP SOL_SOCKET SOL_TCP SOL_UDP SOL_IPV6 SOL_RAW SOL_PACKET SOL_NETLINK} {}}
    EPOLLCTL {-1 {EPOLL_CTL_ADD EPOLL_CTL_DEL EPOLL_CTL_MOD} {}}
    EPOLLCREATE {0 {} {EPOLL_CLOEXEC}}
    EVENTFD {0 {} {EFD_SEMAPHORE EFD_CLOEXEC EFD_NONBLOCK}}
    SIGNALFD {0 {} {SFD_CLOEXEC SFD_NONBLOCK}}
    TIMERFD {0 {} {TFD_CLOEXEC TFD_NONBLOCK}}
    TIMERFDSET {0 {} {TFD_TIMER_ABSTIME TFD_TIMER_CANCEL_ON_SET}}
    TIMERSET {0 {} {TIMER_ABSTIME}}
    INOTIFY {0 {} {IN_CLOEXEC IN_NONBLOCK}}
    WATCH {0 {} {IN_ACCESS IN_MODIFY IN_ATTRIB IN_CLOSE_WRITE IN_CLOSE_NOWRITE IN_OPEN IN_MOVED_FROM IN_MOVED_TO
        IN_CREATE IN_DELETE IN_DELETE_SELF IN_MOVE_SELF IN_ONLYDIR IN_DONT_FOLLOW IN_EXCL_UNLINK IN_MASK_CREATE
        IN_MASK_ADD IN_ISDIR IN_ONESHOT}}
    SIGNAL {-1 {SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2 SIGPIPE
        SIGALRM SIGTERM SIGSTKFLT SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGXCPU SIGXFSZ
        SIGVTALRM SIGPROF SIGWINCH SIGIO SIGPWR SIGSYS} {}}
    SIGMASK {-1 {SIG_BLOCK SIG_UNBLOCK SIG_SETMASK} {}}
    CLONE {0xff {SIGHUP SIGINT SIGQUIT SIGUSR1 SIGUSR2 SIGALRM SIGTERM SIGCHLD} {CLONE_VM CLONE_FS CLONE_FILES
        CLONE_SIGHAND CLONE_PIDFD CLONE_PTRACE CLONE_VFORK CLONE_PARENT CLONE_THREAD CLONE_NEWNS CLONE_SYSVSEM
        CLONE_SETTLS CLONE_PARENT_SETTID CLONE_CHILD_CLEARTID CLONE_DETACHED CLONE_UNTRACED CLONE_CHILD_SETTID
        CLONE_NEWCGROUP CLONE_NEWUTS CLONE_NEWIPC CLONE_NEWUSER CLONE_NEWPID CLONE_NEWNET CLONE_IO}}
    UNSHARE {0 {} {CLONE_NEWTIME CLONE_VM CLONE_FS CLONE_FILES CLONE_SIGHAND CLONE_THREAD CLONE_NEWNS CLONE_SYSVSEM
        CLONE_NEWCGROUP CLONE_NEWUTS CLONE_NEWIPC CLONE_NEWUSER CLONE_NEWPID CLONE_NEWNET}}
    WAIT {0 {} {WNOHANG WUNTRACED WEXITED WCONTINUED WNOWAIT __WNOTHREAD __WALL __WCLONE}}
    WAITID {-1 {P_ALL P_PID P_PGID P_PIDFD} {}}
    FUTEX {0x7f {FUTEX_WAIT FUTEX_WAKE FUTEX_FD FUTEX_REQUEUE FUTEX_CMP_REQUEUE FUTEX_WAKE_OP FUTEX_LOCK_PI
        FUTEX_UNLOCK_PI FUTEX_TRYLOCK_PI FUTEX_WAIT_BITSET FUTEX_WAKE_BITSET FUTEX_WAIT_REQUEUE_PI
        FUTEX_CMP_REQUEUE_PI} {FUTEX_PRIVATE_FLAG FUTEX_CLOCK_REALTIME}}
    CLOCK {-1 {CLOCK_REALTIME CLOCK_MONOTONIC CLOCK_PROCESS_CPUTIME_ID CLOCK_THREAD_CPUTIME_ID CLOCK_MONOTONIC_RAW
        CLOCK_REALTIME_COARSE CLOCK_MONOTONIC_COARSE CLOCK_BOOTTIME CLOCK_REALTIME_ALARM CLOCK_BOOTTIME_ALARM
        CLOCK_TAI} {}}
    ITIMER {-1 {ITIMER_REAL ITIMER_VIRTUAL ITIMER_PROF} {}}
    RLIMIT {-1 {RLIMIT_CPU RLIMIT_FSIZE RLIMIT_DATA RLIMIT_STACK RLIMIT_CORE RLIMIT_RSS RLIMIT_NPROC RLIMIT_NOFILE
        RLIMIT_MEMLOCK RLIMIT_AS RLIMIT_LOCKS RLIMIT_SIGPENDING RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_RTPRIO
        RLIMIT_RTTIME} {}}
    RUSAGE {-1 {RUSAGE_SELF RUSAGE_CHILDREN RUSAGE_THREAD} {}}
    PRIORITY {-1 {PRIO_PROCESS PRIO_PGRP PRIO_USER} {}}
    POLICY {-1 {SCHED_OTHER SCHED_FIFO SCHED_RR SCHED_BATCH SCHED_IDLE SCHED_DEADLINE} {}}
    ARCH {-1 {ARCH_SET_GS ARCH_SET_FS ARCH_GET_FS ARCH_GET_GS ARCH_GET_CPUID ARCH_SET_CPUID ARCH_CET_STATUS
        ARCH_SHSTK_ENABLE ARCH_SHSTK_DISABLE ARCH_SHSTK_STATUS} {}}
    PRCTL {-1 {PR_SET_PDEATHSIG PR_GET_PDEATHSIG PR_GET_DUMPABLE PR_SET_DUMPABLE PR_GET_KEEPCAPS PR_SET_KEEPCAPS
        PR_SET_NAME PR_GET_NAME PR_GET_SECCOMP PR_SET_SECCOMP PR_CAPBSET_READ PR_CAPBSET_DROP PR_GET_SECUREBITS
        PR_SET_SECUREBITS PR_SET_TIMERSLACK PR_GET_TIMERSLACK PR_SET_MM PR_SET_CHILD_SUBREAPER
        PR_GET_CHILD_SUBREAPER PR_SET_NO_NEW_PRIVS PR_GET_NO_NEW_PRIVS PR_GET_TID_ADDRESS PR_SET_THP_DISABLE
        PR_GET_THP_DISABLE PR_CAP_AMBIENT PR_GET_SPECULATION_CTRL PR_SET_SPECULATION_CTRL PR_SET_PTRACER
        PR_SET_VMA} {}}
    PTRACE {-1 {PTRACE_TRACEME PTRACE_PEEKTEXT PTRACE_PEEKDATA PTRACE_PEEKUSER PTRACE_POKETEXT PTRACE_POKEDATA
        PTRACE_POKEUSER PTRACE_CONT PTRACE_KILL PTRACE_SINGLESTEP PTRACE_GETREGS PTRACE_SETREGS PTRACE_ATTACH
        PTRACE_DETACH PTRACE_SYSCALL PTRACE_SETOPTIONS PTRACE_GETEVENTMSG PTRACE_GETSIGINFO PTRACE_GETREGSET
        PTRACE_SETREGSET PTRACE_SEIZE PTRACE_INTERRUPT PTRACE_LISTEN} {}}
    RANDOM {0 {} {GRND_NONBLOCK GRND_RANDOM GRND_INSECURE}}
    RENAME {0 {} {RENAME_NOREPLACE RENAME_EXCHANGE RENAME_WHITEOUT}}
    MEMFD {0 {} {MFD_CLOEXEC MFD_ALLOW_SEALING MFD_HUGETLB}}
    MOUNT {0 {} {MS_RDONLY MS_NOSUID MS_NODEV MS_NOEXEC MS_SYNCHRONOUS MS_REMOUNT MS_MANDLOCK MS_DIRSYNC MS_NOATIME
        MS_NODIRATIME MS_BIND MS_MOVE MS_REC MS_SILENT MS_UNBINDABLE MS_PRIVATE MS_SLAVE MS_SHARED MS_RELATIME
        MS_STRICTATIME MS_LAZYTIME}}
    UMOUNT {0 {} {MNT_FORCE MNT_DETACH MNT_EXPIRE UMOUNT_NOFOLLOW}}
    STATX {0 {} {STATX_TYPE STATX_MODE STATX_NLINK STATX_UID STATX_GID STATX_ATIME STATX_MTIME STATX_CTIME STATX_INO
        STATX_SIZE STATX_BLOCKS STATX_BTIME STATX_MNT_ID}}
    SPLICE {0 {} {SPLICE_F_MOVE SPLICE_F_NONBLOCK SPLICE_F_MORE SPLICE_F_GIFT}}
    SYNCRANGE {0 {} {SYNC_FILE_RANGE_WAIT_BEFORE SYNC_FILE_RANGE_WRITE SYNC_FILE_RANGE_WAIT_AFTER}}
    CLOSERANGE {0 {} {CLOSE_RANGE_UNSHARE CLOSE_RANGE_CLOEXEC}}
    XATTR {0 {} {XATTR_CREATE XATTR_REPLACE}}
}

# Which parameters have which set: CALL.PARAMETER patterns, the first that matches.
set uses {
    open.flags OPEN openat.flags OPEN mq_open.oflag OPEN open_by_handle_at.flags OPEN
    unlinkat.flag ATUNLINK faccessat2.flags ATACCESS newfstatat.flag AT statx.flags AT linkat.flags AT
    fchownat.flag AT utimensat.flags AT name_to_handle_at.flag AT execveat.flags AT fchmodat2.flags AT
    access.mode ACCESS faccessat.mode ACCESS faccessat2.mode ACCESS
    *.prot PROT mmap.flags MAP mremap.flags MREMAP msync.flags MSYNC mlockall.flags MLOCKALL
    madvise.behavior MADVISE process_madvise.behavior MADVISE fadvise64.advice FADVISE fallocate.mode FALLOCATE
    lseek.whence SEEK flock.cmd FLOCK fcntl.cmd FCNTL ioctl.cmd IOCTL dup3.flags DUP3 pipe2.flags PIPE2
    socket.family FAMILY socketpair.family FAMILY socket.type SOCKET socketpair.type SOCKET
    accept4.flags SOCKETFLAGS sendto.flags MESSAGE recvfrom.flags MESSAGE sendmsg.flags MESSAGE
    recvmsg.flags MESSAGE sendmmsg.flags MESSAGE recvmmsg.flags MESSAGE shutdown.how SHUTDOWN
    *etsockopt.level LEVEL epoll_ctl.op EPOLLCTL epoll_create1.flags EPOLLCREATE eventfd2.flags EVENTFD
    signalfd4.flags SIGNALFD timerfd_create.flags TIMERFD timerfd_settime.flags TIMERFDSET
    timer_settime.flags TIMERSET clock_nanosleep.flags TIMERSET
    inotify_init1.flags INOTIFY inotify_add_watch.mask WATCH *.sig SIGNAL rt_sigprocmask.how SIGMASK
    clone.clone_flags CLONE unshare.unshare_flags UNSHARE setns.flags UNSHARE
    wait4.options WAIT waitid.options WAIT waitid.which WAITID futex.op FUTEX
    *.which_clock CLOCK timerfd_create.clockid CLOCK *etitimer.which ITIMER *rlimit*.resource RLIMIT
    getrusage.who RUSAGE *etpriority.which PRIORITY sched_*.policy POLICY arch_prctl.option ARCH
    prctl.option PRCTL ptrace.request PTRACE getrandom.flags RANDOM renameat2.flags RENAME
    memfd_create.flags MEMFD mount.flags MOUNT umount2.flags UMOUNT statx.mask STATX splice.flags SPLICE
    tee.flags SPLICE vmsplice.flags SPLICE sync_file_range.flags SYNCRANGE close_range.flags CLOSERANGE
    *setxattr.flags XATTR
}

# ---- Parameters ---------------------------------------------------------------------------------------------

# Calls that the kernel describes under another name.
set names {newstat stat newlstat lstat newfstat fstat newuname uname sendfile64 sendfile umount umount2}

# The way to show a parameter, from its call, C type and name.
proc way {call type name} {
    global uses
    if {[string match {*\*} $type]} {
        return WAY_POINTER
    }
    foreach {pattern set} $uses {
        if {[string match $pattern $call.$name]} {
            return SET_$set
        }
    }
    if {$call in {open openat mq_open} && $name eq "mode"} {
        return WAY_CREATE_MODE
    }
    switch -glob -- $type/$name {
        *addr/* - *sighandler_t/* {return WAY_POINTER}
        umode_t/* - int/mask {return WAY_MODE}
        */dfd - */olddfd - */newdfd - */dirfd - */*_dfd {return WAY_DIRECTORY}
        */fd - */oldfd - */newfd - */*fd {return WAY_INT}
        size_t/* - */len - */size - */count - */usize {return WAY_UINT64}
        {unsigned long/start} - {unsigned long/addr} - {unsigned long/newsp} - {unsigned long/brk} - {unsigned long/*addr*} {return WAY_POINTER}
        {unsigned long/tls} {return WAY_POINTER}
        *flag*/* - */*flag* - */*mask* {return WAY_HEX}
        int/* - pid_t/* - *mqd_t/* - key_t/* - timer_t/* - {const clockid_t/*} {return WAY_INT}
        uid_t/* - gid_t/* {return WAY_INT}
        unsigned/* - {unsigned int/*} - u32/* {return WAY_UINT}
        long/* - loff_t/* - off_t/* - {*int64*/*} {return WAY_INT64}
        {unsigned long/off} - {unsigned long/*arg*} - {unsigned long/pgoff} {return WAY_HEX}
        {unsigned long/*} {return WAY_UINT64}
        default {return WAY_HEX}
    }
}

proc parameters {file} {
    set f [open $file]
    set text [read $f]
    close $f
    set list {}
    foreach {- field} [regexp -all -inline {\tfield:([^;]*);} $text] {
        if {[string match *common_* $field] || [string match *__syscall_nr $field]} {
            continue
        }
        regexp {^(.*)\s(\w+)$} $field - type name
        lappend list [string trim $type] $name
    }
    return $list
}

# ---- Values of macros ---------------------------------------------------------------------------------------

proc evaluate {macros} {
    set c "#define _GNU_SOURCE\n"
    foreach header {stdio.h fcntl.h sys/mman.h sys/stat.h sys/socket.h netinet/in.h netinet/tcp.h netinet/udp.h
            sys/epoll.h sys/eventfd.h sys/signalfd.h sys/timerfd.h sys/inotify.h signal.h sched.h sys/wait.h
            linux/futex.h time.h sys/time.h sys/resource.h asm/prctl.h sys/prctl.h sys/ptrace.h sys/random.h
            sys/ioctl.h linux/fs.h sys/mount.h sys/file.h unistd.h linux/falloc.h sys/xattr.h asm/unistd_64.h
            linux/sched.h linux/close_range.h linux/netlink.h sys/syscall.h} {
        append c "#if __has_include(<$header>)\n#include <$header>\n#endif\n"
    }
    # Macros that are enumerators in the headers of the C library, or that are not in them for programs.
    append c "#define FASYNC O_ASYNC\n"
    set enums {P_ALL P_PID P_PGID P_PIDFD SHUT_RD SHUT_WR SHUT_RDWR RLIMIT_* PRIO_* RUSAGE_* ITIMER_* SOCK_*
        MSG_* EPOLL_* EFD_* SFD_* TFD_* IN_* PTRACE_* MS_* MNT_* UMOUNT_* GRND_*}
    append c "int main(void) \{\n"
    foreach m $macros {
        set always 0
        foreach pattern $enums {
            set always [expr {$always || [string match $pattern $m]}]
        }
        if {$always && $m ni {MS_LAZYTIME MSG_CTRUNC}} {
            append c "printf(\"%s %lld\\n\", \"$m\", (long long)$m);\n"
        } else {
            append c "#ifdef $m\nprintf(\"%s %lld\\n\", \"$m\", (long long)$m);\n#endif\n"
        }
    }
    append c "return 0;\n\}\n"
    set dir [file join /tmp etw-gen-[pid]]
    file mkdir $dir
    set f [open $dir/p.c w]
    puts $f $c
    close $f
    try {
        exec gcc -w -o $dir/p $dir/p.c 2>@stderr
        return [string map {\n " "} [exec $dir/p]]
    } finally {
        file delete -force $dir
    }
}

# ---- The file -----------------------------------------------------------------------------------------------

set macros {}
foreach {name set} $sets {
    lassign $set mask choices bits
    lappend macros {*}$choices {*}$bits
    if {![string is integer $mask]} {
        lappend macros $mask
    }
}
set calls {}
foreach file [lsort [glob $events/sys_enter_*]] {
    set call [string range [file tail $file] 10 end]
    if {[dict exists $names $call]} {
        set call [dict get $names $call]
    }
    lappend calls $call [parameters $file/format]
}
set numbers {}
foreach {call -} $calls {
    lappend numbers __NR_$call
}
set value [evaluate [lsort -unique [concat $macros $numbers]]]

proc entries {list} {
    global value
    set rows {}
    foreach m $list {
        if {[dict exists $value $m]} {
            set v [expr {[dict get $value $m] & 0xffffffff}]
            lappend rows [list $v [string trimleft $m _]]
        } else {
            puts stderr "gen-syscalls.tcl: no header has $m"
        }
    }
    return $rows
}
proc cText {rows} {
    set text {}
    foreach row $rows {
        lappend text "{[format 0x%x [lindex $row 0]], \"[lindex $row 1]\"}"
    }
    return [join $text ", "]
}

set f [open $out w]
puts $f "/*
 * semantics/system_calls_data.c --
 *
 *	Made by tools/gen-syscalls.tcl from the descriptions that a kernel has of its system calls, and from
 *	headers of Linux x86_64; do not edit. Parameters of the system calls, and names of flags.
 */
#include \"semantics/system_calls_int.h\"

/* clang-format off */"
set table {}
foreach {name set} $sets {
    lassign $set mask choices bits
    if {![string is integer $mask]} {
        set mask [dict get $value $mask]
    }
    set rows {}
    foreach row [lsort -integer -index 0 [entries $choices]] {
        if {![dict exists $rows [lindex $row 0]]} {
            dict set rows [lindex $row 0] $row
        }
    }
    set choices [dict values $rows]
    set flags {}
    foreach row [entries $bits] {
        if {[lindex $row 0] != 0} {
            lappend flags $row
        }
    }
    set c NULL
    set b NULL
    if {$choices ne ""} {
        puts $f "static const EtwMapEntry choices_$name\[\] = {[cText $choices]};"
        set c choices_$name
    }
    if {$flags ne ""} {
        puts $f "static const EtwMapEntry flags_$name\[\] = {[cText $flags]};"
        set b flags_$name
    }
    lappend table "    \[SET_$name - SET_FIRST\] = {[format 0x%x [expr {$mask & 0xffffffff}]],\
        {$c, [llength $choices], false}, $b, [llength $flags]},"
}
puts $f "\nconst SystemCallSet etwSystemCallSets\[\] = {\n[join $table \n]\n};\n"
set rows {}
foreach {call parameters} $calls {
    if {![dict exists $value __NR_$call]} {
        continue ;# a call that only 32-bit programs have
    }
    set ways {}
    foreach {type name} $parameters {
        lappend ways [way $call $type $name]
    }
    lappend rows [list [dict get $value __NR_$call] $call $ways]
}
puts $f "/* In the order of the numbers. */\nconst SystemCall etwSystemCalls\[\] = {"
foreach row [lsort -integer -index 0 $rows] {
    lassign $row number call ways
    puts $f "    {$number, [llength $ways], {[expr {$ways eq "" ? 0 : [join $ways {, }]}]}}, /* $call */"
}
puts $f "};\nconst int etwSystemCallCount = (int)(sizeof etwSystemCalls / sizeof etwSystemCalls\[0\]);"
close $f

# The names of the sets, in the order of the table.
set h generic/semantics/system_calls_int.h
set in [open $h]
set text [read $in]
close $in
set list [join [lmap {name -} $sets {string cat SET_ $name}] ", "]
regsub {(SET_BEFORE_FIRST = SET_FIRST - 1,).*?(\n\} SystemCallWay;)} $text "\\1\n    $list\\2" text
set f [open $h w]
puts -nonewline $f $text
close $f
exec clang-format -i $h
