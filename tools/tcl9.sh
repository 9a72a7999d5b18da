#!/bin/sh
# tools/tcl9.sh --
#
#	Builds Tcl 9.0 for this machine in a private prefix, once, from the source package of one of Debian's
#	newer releases: bookworm has no Tcl 9, and the binaries of newer releases need a newer C library. Kept
#	in ${ETW_CACHE:-$HOME/.cache/etw}/tcl9 and built again if missing. The machine is not changed.
#
#	sh tools/tcl9.sh ?tcl?           build that Tcl, print its prefix
#	sh tools/tcl9.sh etw ?ARG ...?   also configure (with ARGs) and build etw with it in build-tcl9
set -eu
cd "$(dirname "$0")/.."
top=$(pwd)
. "$top/tools/lib.sh"
. "$top/tools/debsrc.sh"

# Some mirrors lack the source in one of these.
releases="trixie forky sid"
prefix=$(tcl9_dir)
work=$cache/work-tcl9-$$
trap 'rm -rf "$work" $debsrc_tmp' EXIT

# Unpack the source into directory $1, from the first release for which the mirror has it.
unpack_tcl() {
    for release in $releases; do
        debsrc_use $release
        unpack tcl9.0 "$1" && return 0
    done
    return 1
}

# The source is kept next to the binaries: tracing scripts needs its private headers.
build_tcl() {
    mkdir -p "$work/build"
    (
        cd "$work/build"
        printf debian >"$work/src/manifest.uuid"
        sh "$work/src/unix/configure" --prefix="$prefix" --disable-zipfs
        make -j"$(nproc)" binaries libraries
        make INSTALL_ROOT="$work/root" install-binaries install-libraries install-headers install-private-headers
    )
    sed -i "s|$work/build|$prefix/lib|g; s|$work/src|$prefix/src|g" "$work/root$prefix/lib/tclConfig.sh"
    mv "$work/src" "$work/root$prefix/src"
}

# The prefix is moved into place when complete.
need_tcl() {
    [ -x "$prefix/bin/tclsh9.0" ] && return 0
    echo "Tcl 9.0: building it once, into $prefix" >&2
    mkdir -p "$work"
    unpack_tcl "$work/src" || die "apt has no source of tcl9.0 in $releases: is the network reachable?"
    build_tcl >"$cache/tcl9-build.log" 2>&1 || die "Tcl 9 did not build: see $cache/tcl9-build.log"
    rm -rf "$prefix"
    mv "$work/root$prefix" "$prefix"
}

build_etw() {
    configure_in build-tcl9 --with-tcl="$prefix/lib" --with-tclinclude="$prefix/include" "$@"
    make -C build-tcl9 --no-print-directory -j"$(nproc)" all ctests
}

case ${1:-tcl} in
tcl)
    need_tcl
    echo "$prefix"
    ;;
etw)
    shift
    need_tcl
    build_etw "$@"
    ;;
*) die "usage: sh tools/tcl9.sh ?tcl | etw ?ARG ...??" ;;
esac
