#!/bin/sh
# tools/build-windows.sh --
#
#	Cross-build etw10.dll with mingw-w64 into ./build-win. The Windows Tcl that it is built and
#	tested against is made from Debian's own source packages (tcl8.6, tclthread) and kept in
#	${ETW_CACHE:-$HOME/.cache/etw}/win-VERSION, outside the tree; it is rebuilt when absent.
#	No file of the machine's apt configuration is touched: apt gets a private copy with deb-src.
#
#	sh tools/build-windows.sh ?tcl|etw?      (default: both; extra configure flags in ETW_CONFIGURE)
set -eu
cd "$(dirname "$0")/.."
top=$(pwd)
host=x86_64-w64-mingw32
. "$top/tools/lib.sh"

# The win32 thread model of gcc needs no libwinpthread-1.dll.
cc=$host-gcc
command -v $host-gcc-win32 >/dev/null 2>&1 && cc=$host-gcc-win32
command -v "$cc" >/dev/null 2>&1 ||
    die "no $cc: install gcc-mingw-w64-x86-64 (sh tools/deps.sh test)"

tcl=$(win_tcl_dir)
work=$cache/work-$$
stage=$cache/stage-$$
aptdir=
trap 'rm -rf "$work" "$stage" $aptdir' EXIT

# ---- Source packages ------------------------------------------------------------------------

# The machine's own package sources, as deb-src, in a directory of ours.
private_sources() {
    mkdir -p "$1/parts" "$1/lists/partial" "$1/cache/archives/partial"
    for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -f "$f" ] || continue
        sed -n 's/^deb[[:space:]]/deb-src /p' "$f" >>"$1/parts/machine.list"
    done
    for f in /etc/apt/sources.list.d/*.sources; do
        [ -f "$f" ] || continue
        grep -q '^Types:.*\bdeb\b\([^-]\|$\)' "$f" || continue
        sed 's/^Types:.*/Types: deb-src/' "$f" >"$1/parts/$(basename "$f")"
    done
}

# fetch_source PACKAGE DIR: download the package's source files into DIR, checked by apt.
fetch_source() {
    if [ -z "$aptdir" ]; then
        aptdir=$(mktemp -d)
        chmod 755 "$aptdir"
        private_sources "$aptdir"
        aptopts="-q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$aptdir/parts
            -o Dir::State::Lists=$aptdir/lists -o Dir::Cache=$aptdir/cache
            -o APT::Sandbox::User=$(id -un) -o Acquire::Languages=none"
        # A third-party source without deb-src must not stop us: what counts is the next command.
        apt-get $aptopts update >&2 || true
    fi
    mkdir -p "$2"
    (cd "$2" && apt-get $aptopts source --download-only "$1" >&2)
}

# unpack PACKAGE DIR: its upstream source, unpacked into DIR. Debian's patches touch packaging only.
unpack() {
    ls "$cache/src/$1"_*.orig.tar.* >/dev/null 2>&1 || fetch_source "$1" "$cache/src" || return 1
    rm -rf "$2"
    mkdir -p "$2"
    tar -xf "$(ls "$cache/src/$1"_*.orig.tar.* | sort -V | tail -1)" -C "$2" --strip-components=1
}

# ---- Tcl and its packages ---------------------------------------------------------------------

# Tcl's Makefile would link the zlib1.dll that comes prebuilt with its source; Debian may remove
# such files from its tarball, and one DLL less is better anyway: zlib's source is compiled in.
zlib_from_source() {
    sed -i \
        -e 's/^\(SHARED_LIBRARIES[[:space:]]*=\).*/\1 $(TCL_DLL_FILE)/' \
        -e '/^LIBS[[:space:]]*=/s/\$(shell \$(CYGPATH) .*zlib.*)//' \
        -e '/^LIBS[[:space:]]*=/s/\$(shell \$(CYGPATH) .*ZLIB.*)//' \
        -e 's/^\(TCL_OBJS = .*\) \(\$(TOMMATH_OBJS)\)/\1 ${ZLIB_OBJS} \2/' Makefile
}

build_tcl() {
    echo "Tcl for Windows: building it once, into $tcl" >&2
    unpack tcl8.6 "$work/tcl" || die "apt has no source of tcl8.6: is the network reachable?"
    mkdir -p "$work/build"
    (
        cd "$work/build"
        printf 'debian' >../tcl/manifest.uuid
        CC=$cc sh ../tcl/win/configure --host=$host --enable-64bit --enable-threads \
            --prefix="$stage" --exec-prefix="$stage"
        zlib_from_source
        make binaries libraries TCL_EXE=tclsh
        make install-binaries install-libraries install-private-headers TCL_EXE=tclsh
    ) >"$cache/tcl-build.log" 2>&1 || die "Tcl did not build: see $cache/tcl-build.log"
    # What lies about in source and build directory is needed by configure --with-tcl.
    sed -i "s|$work/build|$stage/lib|g; s|$work/tcl|$stage/src|g" "$stage/lib/tclConfig.sh"
    mkdir -p "$stage/src"
    cp -r "$work/tcl/generic" "$work/tcl/win" "$work/tcl/libtommath" "$stage/src/"
    build_thread
    tcllib=$(ls -d /usr/share/tcltk/tcllib1.* 2>/dev/null | tail -1)
    [ -n "$tcllib" ] && cp -r "$tcllib" "$stage/lib/"
    # Names that were made for the staging place now hold for the final one.
    sed -i "s|$stage|$tcl|g" "$stage/lib/tclConfig.sh"
    rm -rf "$tcl"
    mv "$stage" "$tcl"
    rm -rf "$work"
}

# Optional: mirrors have been seen that lack this source; the tests then use their own threads.
build_thread() {
    unpack tclthread "$work/thread" || {
        echo "no source of the thread package: going on without it" >&2
        return 0
    }
    mkdir -p "$work/build-thread"
    (
        cd "$work/build-thread"
        CC=$cc sh ../thread/configure --host=$host --enable-64bit --enable-threads \
            --with-tcl="$stage/lib" --with-tclinclude="$stage/include" \
            --prefix="$stage" --exec-prefix="$stage"
        make binaries TCLSH_PROG=tclsh
        make install-binaries install-libraries TCLSH_PROG=tclsh
    ) >"$cache/thread-build.log" 2>&1 || {
        echo "the thread package did not build, going on: see $cache/thread-build.log" >&2
    }
}

# ---- etw ------------------------------------------------------------------------------------

build_etw() {
    configure_in build-win --host=$host CC="$cc" --enable-64bit --with-tcl="$tcl/lib" \
        --with-tclinclude="$tcl/include" --enable-werror ${ETW_CONFIGURE:-}
    make -C build-win --no-print-directory -j"$(nproc)" all ctests
    check_imports build-win/*.dll
}

# Only DLLs that every Windows has.
check_imports() {
    for dll in "$@"; do
        odd=$($host-objdump -p "$dll" | sed -n 's/^[[:space:]]*DLL Name: //p' | tr 'A-Z' 'a-z' |
            grep -v -x -e 'kernel32.dll' -e 'advapi32.dll' -e 'msvcrt.dll' -e 'user32.dll' \
                -e 'ntdll.dll' -e 'shell32.dll' -e 'ole32.dll' -e 'ws2_32.dll' \
                -e 'tdh.dll' -e 'bcrypt.dll' -e 'api-ms-win-.*' || true)
        [ -z "$odd" ] || die "$dll needs DLLs that are not Windows' own:" $odd
    done
}

case ${1:-all} in
tcl) [ -x "$tcl/bin/tclsh86.exe" ] || build_tcl ;;
etw) build_etw ;;
all)
    [ -x "$tcl/bin/tclsh86.exe" ] || build_tcl
    build_etw
    ;;
*) die "usage: sh tools/build-windows.sh ?tcl|etw?" ;;
esac
