#!/bin/sh
# tools/package.sh --
#
#	Builds packages for users: a Debian package of a build directory, or zips for Windows.
#
#	sh tools/package.sh deb BUILD     BUILD/tcl-etw_VERSION_ARCH.deb, with the files of `make install`
#	sh tools/package.sh windows       dist/etwVERSION-win64.zip and -win32.zip, both cross-built first
#
#	A zip contains one directory: pkgIndex.tcl, the DLL for Tcl 8.6 and, for 64 bits, that for Tcl 9.0,
#	library, documentation as HTML, etw.bat, which runs the command-line tool with the tclsh in PATH, and
#	the self-test.
set -eu
build=${2:+$(cd "$2" && pwd)} # before this directory is left
cd "$(dirname "$0")/.."
top=$(pwd)
. "$top/tools/lib.sh"

version=$(sed -n 's/^AC_INIT(\[etw\], \[\(.*\)\])$/\1/p' configure.ac)
stage=$(mktemp -d)
chmod 755 "$stage"
trap 'rm -rf "$stage"' EXIT

# ---- Debian ---------------------------------------------------------------------------------------

# The packages of the libraries that FILE is linked with, separated by commas. The packages of Tcl are listed by
# name.
libraries_of() {
    ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | while read -r path; do
        dpkg -S "$(readlink -f "$path")" 2>/dev/null || dpkg -S "${path#/usr}" 2>/dev/null || true
    done | sed 's/:.*//' | sort -u | tr '\n' ',' | sed 's/,$//; s/,/, /g'
}

# Debian's Tcl searches /usr/lib/tcltk/MULTIARCH.
make_deb() {
    architecture=$(dpkg --print-architecture)
    multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || ${CC:-gcc} -print-multiarch)
    deb=$build/tcl-etw_${version}_$architecture.deb
    make -C "$build" --no-print-directory doc
    make -C "$build" --no-print-directory install DESTDIR="$stage" prefix=/usr bindir=/usr/bin \
        includedir=/usr/include mandir=/usr/share/man libdir="/usr/lib/$multiarch" \
        pkglibdir="/usr/lib/tcltk/$multiarch/etw$version"
    find "$stage" -name '*.so' -exec strip --strip-unneeded {} +
    find "$stage" -name '*.n' -exec gzip -9n {} +
    mkdir -p "$stage/usr/share/doc/tcl-etw" "$stage/DEBIAN"
    cp README.md CHANGES "$build"/doc/*.html "$stage/usr/share/doc/tcl-etw/"
    cat >"$stage/DEBIAN/control" <<EOF
Package: tcl-etw
Version: $version
Architecture: $architecture
Maintainer: the authors of etw <root@localhost>
Section: interpreters
Priority: optional
Installed-Size: $(du -sk "$stage/usr" | cut -f1)
Depends: tcl (>= 8.6), $(libraries_of "$(ls "$stage"/usr/lib/tcltk/*/etw*/*.so)")
Description: event tracing for Tcl scripts, applications and the kernel
 Traces scripts, applications and the kernel together, in the ways and file
 format of Event Tracing for Windows: sessions, providers, consumers and .etl
 files, on any machine. With a command-line tool, etw.
EOF
    dpkg-deb --root-owner-group -Zgzip --build "$stage" "$deb" >&2
    echo "$deb"
}

# ---- Windows --------------------------------------------------------------------------------------

# make_zip BUILD LABEL HOST ?BUILD9?: HOST is the prefix of the cross tools, BUILD9 contains the DLL for Tcl 9.
make_zip() {
    dir=$stage/etw$version
    rm -rf "$dir"
    mkdir -p "$dir/doc"
    make -C "$1" --no-print-directory doc
    for build in "$1" ${4:-}; do
        cp "$build"/*etw*.dll "$dir/"
    done
    "$3"-strip --strip-unneeded "$dir"/*.dll
    cp "$1/pkgIndex.tcl" README.md CHANGES "$dir/"
    (cd "$1" && find library -type f ! -name '*.copied' -exec cp --parents {} "$dir/" \;)
    cp "$1"/doc/*.html "$dir/doc/"
    cp tools/etw "$dir/etw.tcl"
    cp tools/windows-selftest.tcl "$dir/"
    printf '@echo off\r\nsetlocal\r\nif "%%ETW_TCLSH%%"=="" set ETW_TCLSH=tclsh\r\n"%%ETW_TCLSH%%" "%%~dp0etw.tcl" %%*\r\n' \
        >"$dir/etw.bat"
    mkdir -p dist
    zip="$top/dist/etw$version-$2.zip"
    rm -f "$zip"
    (cd "$stage" && zip -q -r -X "$zip" "etw$version")
    echo "$zip"
}

case ${1:-} in
deb) make_deb ;;
windows)
    sh tools/build-windows.sh >&2
    sh tools/build-windows.sh -32 >&2
    sh tools/build-windows.sh -tcl9 >&2
    make_zip build-win win64 x86_64-w64-mingw32 build-win-tcl9
    make_zip build-win32 win32 i686-w64-mingw32
    ;;
*) die "usage: sh tools/package.sh deb BUILD | windows" ;;
esac
