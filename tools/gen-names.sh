#!/bin/sh
# tools/gen-names.sh --
#
#	Writes generic/schema/model/linux_names_data.c: names of syscalls, errnos, signals, address families and
#	message flags on Linux x86_64, taken from the kernel's and C library's headers on this machine through
#	the preprocessor. Run it manually for newer headers. The result is committed, so that traces can be
#	decoded on any system. Needs gcc or clang, awk, clang-format.
set -eu
cd "$(dirname "$0")/.."
out=generic/schema/model/linux_names_data.c

# All macros NAME VALUE of some headers; values that are names are resolved by the compiler.
macros() { # PATTERN HEADER...
    pattern=$1
    shift
    {
        echo '#define _GNU_SOURCE'
        for h in "$@"; do echo "#include <$h>"; done
    } | ${CC:-gcc} -E -dM -x c - | awk -v p="$pattern" '$1 == "#define" && $2 ~ p && NF >= 3 {print $2}' |
        LC_ALL=C sort >"$tmp/names"
    {
        echo '#define _GNU_SOURCE'
        for h in "$@"; do echo "#include <$h>"; done
        echo '#include <stdio.h>'
        echo 'int main(void) {'
        awk '{printf "printf(\"%%lld %s\\n\", (long long)(%s));\n", $1, $1}' "$tmp/names"
        echo 'return 0; }'
    } >"$tmp/p.c"
    ${CC:-gcc} -w -o "$tmp/p" "$tmp/p.c"
    "$tmp/p"
}

# Converts "VALUE NAME" lines to a table; of several names with the same value the first one is kept.
table() { # NAME BITS
    LC_ALL=C sort -n -s -k1,1 | awk -v name="$1" -v bits="$2" '
        !seen[$1]++ {text = text sprintf("    {%s, \"%s\"},\n", $1 < 0 ? "(uint64_t)" $1 : $1, $2); n++}
        END {
            printf "static const EtwMapEntry %sEntries[] = {\n%s};\n", name, text
            printf "const EtwMap etwMap%s = {%sEntries, %d, %s};\n\n", name, name, n, bits
        }'
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Syscalls that older headers lack (from 424 on numbers are the same on all architectures).
newer='451 cachestat
452 fchmodat2
453 map_shadow_stack
454 futex_wake
455 futex_wait
456 futex_requeue
457 statmount
458 listmount
459 lsm_get_self_attr
460 lsm_set_self_attr
461 lsm_list_modules
462 mseal
463 setxattrat
464 getxattrat
465 listxattrat
466 removexattrat
467 open_tree_attr
468 file_getattr
469 file_setattr'

{
    cat <<'HEAD'
/*
 * schema/model/linux_names_data.c --
 *
 *	Made by tools/gen-names.sh from the headers of Linux x86_64; do not edit. Names of
 *	syscalls, (negative) errnos, signals, address families, protocols and message flags.
 */
#include "schema/model/linux_names.h"

/* clang-format off */
HEAD
    {
        macros '^__NR_[a-z]' asm/unistd_64.h | sed 's/__NR_//'
        echo "$newer"
    } | table Syscall false
    # EAGAIN before EWOULDBLOCK etc.: alphabetical order ensures that, with two exceptions.
    # Calls that a signal interrupts, and that the kernel restarts, have numbers that programs do not see.
    {
        macros '^E[A-Z0-9]+$' errno.h | grep -v -e EWOULDBLOCK -e EDEADLOCK -e ENOTSUP
        printf '%s\n' '512 ERESTARTSYS' '513 ERESTARTNOINTR' '514 ERESTARTNOHAND' '516 ERESTART_RESTARTBLOCK'
    } |
        awk '{print -$1, "-" $2}' | table Errno false
    macros '^SIG[A-Z0-9]+$' signal.h | grep -v -e ' SIGCLD' -e ' SIGIOT' -e ' SIGPOLL' -e ' SIGSTKSZ' \
        -e ' SIGRT' -e SIGUNUSED | awk '$1 > 0 && $1 < 65' | table Signal false
    macros '^AF_[A-Z0-9]+$' sys/socket.h | grep -v -e AF_MAX -e AF_LOCAL -e AF_FILE -e AF_ROUTE |
        table Family false
    printf '%s\n' '1 IPPROTO_ICMP' '6 IPPROTO_TCP' '17 IPPROTO_UDP' '33 IPPROTO_DCCP' \
        '58 IPPROTO_ICMPV6' '132 IPPROTO_SCTP' '136 IPPROTO_UDPLITE' '255 IPPROTO_RAW' \
        '262 IPPROTO_MPTCP' | table Protocol false
    {
        printf '%s\n' '1 MSG_OOB' '2 MSG_PEEK' '4 MSG_DONTROUTE' '8 MSG_CTRUNC' '16 MSG_PROBE' \
            '32 MSG_TRUNC' '64 MSG_DONTWAIT' '128 MSG_EOR' '256 MSG_WAITALL' '512 MSG_FIN' \
            '1024 MSG_SYN' '2048 MSG_CONFIRM' '4096 MSG_RST' '8192 MSG_ERRQUEUE' \
            '16384 MSG_NOSIGNAL' '32768 MSG_MORE' '65536 MSG_WAITFORONE' '262144 MSG_BATCH' \
            '67108864 MSG_ZEROCOPY' '134217728 MSG_SPLICE_PAGES' '536870912 MSG_FASTOPEN' \
            '1073741824 MSG_CMSG_CLOEXEC'
    } | table Message true
} | sed -e '${/^$/d;}' >"$tmp/out"
mv "$tmp/out" "$out"
echo "$out: $(grep -c '^    {' "$out") names"
