#!/bin/sh
# tools/single.sh --
#
#	Builds the tool as one file that needs no Tcl on the machine: a static tclsh of Tcl 9 with a zip behind it
#	(zipfs), which has Tcl's library and the package (tools/single_main.tcl starts them).
#
#	sh tools/single.sh linux         dist/etw; needs the C library (glibc) of this machine or a newer one
#	sh tools/single.sh windows       dist/etw.exe
#
#	The tclsh is built once, from the source of tools/tcl9.sh, and kept in ${ETW_CACHE:-$HOME/.cache/etw}.
set -eu
cd "$(dirname "$0")/.."
top=$(pwd)
. "$top/tools/lib.sh"
version=$(sed -n 's/^AC_INIT(\[etw\], \[\(.*\)\])$/\1/p' configure.ac)
work=$cache/work-single-$$
trap 'rm -rf "$work"' EXIT
mkdir -p "$work" dist

# need_tclsh NAME PROGRAM CONFIGURE-ARG...: $cache/NAME/PROGRAM, from a build directory beside a copy of the source.
need_tclsh() {
    name=$1 program=$2 platform=$3
    shift 3
    [ -x "$cache/$name/$program" ] && return 0
    echo "static tclsh: building it once, into $cache/$name" >&2
    source=$(sh tools/tcl9.sh tcl)/src
    mkdir -p "$work/build"
    cp -r "$source" "$work/tcl"
    (
        cd "$work/build"
        CC=$cc sh "../tcl/$platform/configure" --disable-shared --disable-zipfs "$@"
        # zlib is linked statically where it is a library of the system.
        [ "$platform" = windows ] || sed -i "s| -lz\b| $($cc -print-file-name=libz.a)|" Makefile
        make -j"$(nproc)" binaries TCL_EXE=tclsh
    ) >"$cache/$name.log" 2>&1 || die "the static tclsh did not build: see $cache/$name.log"
    mkdir -p "$cache/$name"
    cp -r "$work/tcl/library" "$cache/$name/tcl_library"
    mv "$work/build/$program" "$cache/$name/$program"
    rm -rf "$work/build" "$work/tcl"
}

# built BUILD TARGET...: brings a build directory up to date, if there is one.
built() {
    dir=$1
    shift
    [ -f "$dir/Makefile" ] && make -C "$dir" --no-print-directory -j"$(nproc)" "$@" libraries pkgIndex.tcl >&2
}

# package_files BUILD: the package as it is installed, into the zip's directory.
package_files() {
    package=$work/zip/etw$version
    mkdir -p "$package"
    cp "$1/pkgIndex.tcl" license.terms "$package/"
    (cd "$1" && find library -type f ! -name '*.copied' -exec cp --parents {} "$package/" \;)
}

# finish NAME PROGRAM OUT: the program, and the zip behind it.
finish() {
    cp tools/single_main.tcl "$work/zip/main.tcl"
    cp -r "$cache/$1/tcl_library" "$work/zip/"
    rm -rf "$work"/zip/tcl_library/tzdata "$work"/zip/tcl_library/msgs
    (cd "$work/zip" && find . -type f | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16 >stamp)
    (cd "$work/zip" && find . -type f | LC_ALL=C sort | zip -q -9 -X "$work/app.zip" -@)
    cat "$cache/$1/$2" "$work/app.zip" >"$work/single"
    zip -q -A "$work/single"
    chmod 755 "$work/single"
    mv "$work/single" "$3"
    echo "$top/$3"
}

# The libraries that a file needs and that a bare Debian lacks, into the package's directory.
copy_libraries() {
    ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\/lib\(tracefs\|traceevent\|expat\|z\|zstd\)\.so[^ ]*\) .*/\1/p' | while read -r path; do
        cp "$(readlink -f "$path")" "$package/$(basename "$path")"
    done
}

case ${1:-} in
linux)
    cc=${CC:-gcc}
    need_tclsh tcl9-single tclsh unix
    strip "$cache/tcl9-single/tclsh"
    built build-tcl9 "libtcl9etw$version.so" etw-logger || sh tools/tcl9.sh etw --enable-werror >&2
    package_files build-tcl9
    # The binaries find the libraries beside them.
    for target in libtcl9etw$version.so etw-logger; do
        mv "build-tcl9/$target" "$work/kept"
        make -C build-tcl9 --no-print-directory "$target" LDFLAGS='-Wl,-rpath,\$$ORIGIN' >&2
        strip --strip-unneeded -o "$package/$target" "build-tcl9/$target"
        mv "$work/kept" "build-tcl9/$target"
    done
    [ ! -f build/libetw$version.so ] || strip --strip-unneeded -o "$package/libetw$version.so" build/libetw$version.so
    copy_libraries "build-tcl9/libtcl9etw$version.so"
    finish tcl9-single tclsh dist/etw
    ;;
windows)
    host=x86_64-w64-mingw32
    cc=$host-gcc
    command -v $host-gcc-win32 >/dev/null 2>&1 && cc=$host-gcc-win32
    need_tclsh win-tcl9-single tclsh90s.exe win --host=$host --enable-64bit
    $host-strip "$cache/win-tcl9-single/tclsh90s.exe"
    built build-win etw10.dll || sh tools/build-windows.sh >&2
    built build-win-tcl9 tcl9etw10.dll || sh tools/build-windows.sh -tcl9 >&2
    package_files build-win
    for dll in build-win/etw10.dll build-win-tcl9/tcl9etw10.dll; do
        $host-strip --strip-unneeded -o "$package/$(basename $dll)" $dll
    done
    finish win-tcl9-single tclsh90s.exe dist/etw.exe
    ;;
*) die "usage: sh tools/single.sh linux | windows" ;;
esac
