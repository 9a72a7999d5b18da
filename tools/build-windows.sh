#!/bin/sh
# tools/build-windows.sh --
#
#	Cross-build etw10.dll with mingw-w64 into ./build-win (64 bits), ./build-win32 or, for Tcl 9.0,
#	./build-win-tcl9. The Windows Tcl for building and testing is built from Debian's source packages
#	(tcl8.6, tclthread; tcl9.0 as in tcl9.sh), and so are the expat and the zstd that are linked in. All are kept in
#	${ETW_CACHE:-$HOME/.cache/etw}, as win-VERSION, win-tcl9, win-expat and win-zstd (win32-... for 32 bits), outside
#	the tree, and built again if missing. zlib is Debian's libz-mingw-w64-dev.
#
#	sh tools/build-windows.sh ?-32|-tcl9? ?tcl|expat|zstd|etw?   (default: all; extra configure flags in
#	                                                        ETW_CONFIGURE)
#	sh tools/build-windows.sh tk                            (Tk 8.6 for that Tcl, as win-tk-VERSION;
#	                                                        only a test of tkcon needs it)
set -eu
cd "$(dirname "$0")/.."
top=$(pwd)
processor=x86_64 bits=--enable-64bit tcl9=false
case ${1:-} in
-32)
    processor=i686 bits=
    shift
    ;;
-tcl9)
    tcl9=true
    shift
    ;;
esac
host=$processor-w64-mingw32
. "$top/tools/lib.sh"
. "$top/tools/debsrc.sh"

# The win32 thread model of gcc needs no libwinpthread-1.dll.
cc=$host-gcc
command -v $host-gcc-win32 >/dev/null 2>&1 && cc=$host-gcc-win32
command -v "$cc" >/dev/null 2>&1 ||
    die "no $cc: install gcc-mingw-w64 (sh tools/deps.sh test)"

tcl=$(win_tcl_dir $processor)
expat=$(win_expat_dir $processor)
zstd=$(win_zstd_dir $processor)
build=build-win$(win_suffix $processor) shell=tclsh86.exe
if $tcl9; then
    tcl=$cache/win-tcl9 build=build-win-tcl9 shell=tclsh90.exe
fi
work=$cache/work-$$
stage=$cache/stage-$$
trap 'rm -rf "$work" "$stage" $debsrc_tmp' EXIT

# ---- expat --------------------------------------------------------------------------------------

# Three files and a header of constants: its configure would require additional tools. The patches are security
# fixes.
build_expat() {
    echo "expat for Windows: building it once, into $expat" >&2
    unpack expat "$work/expat" || die "apt has no source of expat: is the network reachable?"
    apply_patches expat "$work/expat" || die "Debian's patches do not fit expat's source"
    lib=$work/expat/expat/lib
    mkdir -p "$stage/include" "$stage/lib"
    printf '#define %s\n' 'BYTEORDER 1234' 'XML_NS 1' 'XML_DTD 1' 'XML_GE 1' 'XML_CONTEXT_BYTES 1024' \
        'HAVE_MEMMOVE 1' >"$lib/expat_config.h"
    for name in xmlparse xmlrole xmltok; do
        "$cc" -O2 -DXML_STATIC -I"$lib" -c "$lib/$name.c" -o "$work/$name.o"
    done >"$cache/expat-build.log" 2>&1 || die "expat did not build: see $cache/expat-build.log"
    $host-ar crs "$stage/lib/libexpat.a" "$work/xmlparse.o" "$work/xmlrole.o" "$work/xmltok.o"
    cp "$lib/expat.h" "$lib/expat_external.h" "$stage/include/"
    rm -rf "$expat"
    mv "$stage" "$expat"
    rm -rf "$work"
}

# ---- zstd ---------------------------------------------------------------------------------------

# Optional: without it .etl.zst files cannot be read and written.
build_zstd() {
    echo "zstd for Windows: building it once, into $zstd" >&2
    unpack libzstd "$work/zstd" || {
        echo "no source of libzstd: going on without it" >&2
        return 0
    }
    mkdir -p "$stage/include" "$stage/lib" "$work/zstd-objects"
    (
        cd "$work/zstd-objects"
        "$cc" -O2 -DZSTD_DISABLE_ASM -DXXH_NAMESPACE=ZSTD_ -I../zstd/lib -I../zstd/lib/common -c \
            ../zstd/lib/common/*.c ../zstd/lib/compress/*.c ../zstd/lib/decompress/*.c
    ) >"$cache/zstd-build.log" 2>&1 || die "zstd did not build: see $cache/zstd-build.log"
    $host-ar crs "$stage/lib/libzstd.a" "$work/zstd-objects"/*.o
    cp "$work/zstd/lib/zstd.h" "$work/zstd/lib/zstd_errors.h" "$stage/include/"
    rm -rf "$zstd"
    mv "$stage" "$zstd"
    rm -rf "$work"
}

# ---- Tcl and its packages ---------------------------------------------------------------------

# Tcl's Makefile would link the prebuilt zlib1.dll in its source, which Debian's tarball may lack. Compiling
# zlib's source also avoids a DLL.
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
        CC=$cc sh ../tcl/win/configure --host=$host $bits --enable-threads \
            --prefix="$stage" --exec-prefix="$stage"
        zlib_from_source
        make binaries libraries TCL_EXE=tclsh
        make install-binaries install-libraries install-private-headers TCL_EXE=tclsh
    ) >"$cache/tcl-build.log" 2>&1 || die "Tcl did not build: see $cache/tcl-build.log"
    # configure --with-tcl needs files of the source and build directories.
    sed -i "s|$work/build|$stage/lib|g; s|$work/tcl|$stage/src|g" "$stage/lib/tclConfig.sh"
    mkdir -p "$stage/src"
    cp -r "$work/tcl/generic" "$work/tcl/win" "$work/tcl/libtommath" "$stage/src/"
    build_thread
    tcllib=$(ls -d /usr/share/tcltk/tcllib1.* 2>/dev/null | tail -1)
    [ -n "$tcllib" ] && cp -r "$tcllib" "$stage/lib/"
    # Replace the staging path by the final one.
    sed -i "s|$stage|$tcl|g" "$stage/lib/tclConfig.sh"
    rm -rf "$tcl"
    mv "$stage" "$tcl"
    rm -rf "$work"
}

# Built from the source that tools/tcl9.sh has unpacked. It includes zlib and libtommath as DLLs, which stay next
# to Tcl's.
build_tcl9() {
    echo "Tcl 9.0 for Windows: building it once, into $tcl" >&2
    prefix=$(sh tools/tcl9.sh tcl) || die "no source of tcl9.0"
    mkdir -p "$work/build"
    cp -r "$prefix/src" "$work/tcl"
    (
        cd "$work/build"
        CC=$cc sh ../tcl/win/configure --host=$host $bits --disable-zipfs --prefix="$stage" --exec-prefix="$stage"
        make -j"$(nproc)" binaries libraries TCL_EXE=tclsh
        make install-binaries install-libraries install-headers install-private-headers TCL_EXE=tclsh
        cp zlib1.dll libtommath.dll "$stage/bin/"
    ) >"$cache/win-tcl9-build.log" 2>&1 || die "Tcl 9 did not build: see $cache/win-tcl9-build.log"
    sed -i "s|$work/build|$tcl/lib|g; s|$work/tcl|$tcl/src|g; s|$stage|$tcl|g" "$stage/lib/tclConfig.sh"
    mkdir -p "$stage/src"
    cp -r "$work/tcl/generic" "$work/tcl/win" "$work/tcl/libtommath" "$stage/src/"
    rm -rf "$tcl"
    mv "$stage" "$tcl"
    rm -rf "$work"
}

# Optional: some mirrors lack this source; the tests then use their own threads.
build_thread() {
    unpack tclthread "$work/thread" || {
        echo "no source of the thread package: going on without it" >&2
        return 0
    }
    mkdir -p "$work/build-thread"
    (
        cd "$work/build-thread"
        CC=$cc sh ../thread/configure --host=$host $bits --enable-threads \
            --with-tcl="$stage/lib" --with-tclinclude="$stage/include" \
            --prefix="$stage" --exec-prefix="$stage"
        make binaries TCLSH_PROG=tclsh
        make install-binaries install-libraries TCLSH_PROG=tclsh
    ) >"$cache/thread-build.log" 2>&1 || {
        echo "the thread package did not build, going on: see $cache/thread-build.log" >&2
    }
}

# Not next to Tcl: without a display, a program that only checks whether Tk is available would end there.
build_tk() {
    echo "Tk for Windows: building it once, into $tk" >&2
    unpack tk8.6 "$work/tk" || {
        echo "no source of tk8.6: going on without it" >&2
        return 0
    }
    mkdir -p "$work/build-tk"
    (
        cd "$work/build-tk"
        CC=$cc sh ../tk/win/configure --host=$host $bits --enable-threads --with-tcl="$tcl/lib" \
            --prefix="$stage" --exec-prefix="$stage" &&
            make -j"$(nproc)" binaries libraries TCL_EXE=tclsh &&
            make install-binaries install-libraries TCL_EXE=tclsh
    ) >"$cache/tk-build.log" 2>&1 || {
        echo "Tk did not build, going on: see $cache/tk-build.log" >&2
        return 0
    }
    rm -rf "$tk"
    mv "$stage" "$tk"
    rm -rf "$work"
}

# ---- etw ------------------------------------------------------------------------------------

build_etw() {
    configure_in "$build" --host=$host CC="$cc" $bits --with-tcl="$tcl/lib" \
        --with-tclinclude="$tcl/include" --with-expat="$expat" --with-zstd="$zstd" --enable-werror ${ETW_CONFIGURE:-}
    make -C "$build" --no-print-directory -j"$(nproc)" all ctests
    check_imports "$build"/*.dll
}

# Checks that only DLLs of every Windows are imported.
check_imports() {
    for dll in "$@"; do
        odd=$($host-objdump -p "$dll" | sed -n 's/^[[:space:]]*DLL Name: //p' | tr 'A-Z' 'a-z' |
            grep -v -x -e 'kernel32.dll' -e 'advapi32.dll' -e 'msvcrt.dll' -e 'user32.dll' \
                -e 'ntdll.dll' -e 'shell32.dll' -e 'ole32.dll' -e 'ws2_32.dll' \
                -e 'tdh.dll' -e 'bcrypt.dll' -e 'api-ms-win-.*' || true)
        [ -z "$odd" ] || die "$dll needs DLLs that are not Windows' own:" $odd
    done
}

need_tcl() {
    [ -x "$tcl/bin/$shell" ] && return 0
    if $tcl9; then build_tcl9; else build_tcl; fi
}
need_zstd() {
    [ -f "$zstd/lib/libzstd.a" ] || build_zstd
}
need_expat() {
    [ -f "$expat/lib/libexpat.a" ] || build_expat
}

need_tk() {
    tk=$cache/win-tk-${tcl##*-}
    need_tcl
    [ -f "$tk/bin/tk86.dll" ] || build_tk
}

case ${1:-all} in
tcl) need_tcl ;;
tk) need_tk ;;
expat) need_expat ;;
zstd) need_zstd ;;
etw)
    need_expat
    need_zstd
    build_etw
    ;;
all)
    need_tcl
    need_expat
    need_zstd
    build_etw
    ;;
*) die "usage: sh tools/build-windows.sh ?-32|-tcl9? ?tcl|tk|expat|zstd|etw?" ;;
esac
