#!/bin/sh
# tools/package.sh --
#
#	Builds packages for users: a Debian package of a build directory, or zips for Windows.
#
#	sh tools/package.sh deb BUILD     BUILD/tcl-etw_VERSION_ARCH.deb and libetw-dev_..., with the files of
#	                                  `make install`; DEBFULLNAME and DEBEMAIL name the maintainer
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

# The tutorial and its pictures, into DIR/doc; its links to pages of the manual become links to HTML in PATH, as seen from the tutorial.
copy_tutorial() {
    mkdir -p "$1/doc/tutorial" "$1/doc/pictures"
    cp doc/pictures/* "$1/doc/pictures/"
    for page in doc/tutorial/*.md; do
        sed "s#(\.\./\([a-z_-]*\)\.man)#($2/\1.html)#g" "$page" >"$1/$page"
    done
}

# ---- Debian ---------------------------------------------------------------------------------------

# The packages of the libraries that FILE is linked with, separated by commas. The packages of Tcl are listed by
# name.
libraries_of() {
    ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | while read -r path; do
        dpkg -S "$(readlink -f "$path")" 2>/dev/null || dpkg -S "${path#/usr}" 2>/dev/null || true
    done | sed 's/:.*//' | sort -u | tr '\n' ',' | sed 's/,$//; s/,/, /g'
}

# The files of a package that Debian requires: control, copyright, changelog. Fields of control are read from
# standard input.
finish_deb() {
    root=$1 package=$2
    docs=$root/usr/share/doc/$package
    mkdir -p "$docs" "$root/DEBIAN"
    {
        echo "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/"
        echo "Upstream-Name: etw"
        echo
        echo "Files: *"
        echo "Copyright: 2026 the etw contributors"
        echo "License: Tcl"
        sed 's/^$/./; s/^/ /' license.terms
    } >"$docs/copyright"
    {
        printf '%s (%s) unstable; urgency=medium\n\n  * See CHANGES.gz in the documentation of tcl-etw.\n\n' "$package" "$version"
        echo " -- $maintainer  $(date -R)"
    } | gzip -9n >"$docs/changelog.gz"
    {
        echo "Package: $package"
        echo "Version: $version"
        echo "Architecture: $architecture"
        echo "Maintainer: $maintainer"
        echo "Priority: optional"
        echo "Installed-Size: $(du -sk "$root/usr" | cut -f1)"
        cat
    } >"$root/DEBIAN/control"
    find "$root" -type d -exec chmod 755 {} +
    file=$build/${package}_${version}_$architecture.deb
    dpkg-deb --root-owner-group -Zxz --build "$root" "$file" >&2
    echo "$file"
}

# Debian's Tcl searches /usr/lib/tcltk/MULTIARCH. Its pages of Tcl commands are in section 3tcl.
make_deb() {
    : "${DEBFULLNAME:=$(git log -1 --format=%an 2>/dev/null || echo the etw contributors)}"
    : "${DEBEMAIL:=$(git log -1 --format=%ae 2>/dev/null || echo root@localhost)}"
    maintainer="$DEBFULLNAME <$DEBEMAIL>"
    architecture=$(dpkg --print-architecture)
    multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || ${CC:-gcc} -print-multiarch)
    make -C "$build" --no-print-directory install DESTDIR="$stage/all" prefix=/usr bindir=/usr/bin \
        includedir=/usr/include mandir=/usr/share/man datarootdir=/usr/share htmldir=/usr/share/doc/tcl-etw/html libdir="/usr/lib/$multiarch" \
        pkglibdir="/usr/lib/tcltk/$multiarch/etw$version" >&2
    main=$stage/all
    find "$main" -name '*.so' -exec strip --strip-unneeded {} +
    find "$main" -name etw-logger -exec strip {} +
    mkdir -p "$main/usr/share/man/man3" "$main/usr/share/doc/tcl-etw"
    for page in "$main"/usr/share/man/mann/*.n; do
        sed 's/^\(\.TH "[^"]*"\) n /\1 3tcl /; s/\([a-z]*etw[a-z_]*\)(n)/\1(3tcl)/g' "$page" >"$main/usr/share/man/man3/$(basename "$page" .n).3tcl"
    done
    sed -i 's/\([a-z]*etw[a-z_]*\)(n)/\1(3tcl)/g' "$main/usr/share/man/man1/etw.1"
    rm -r "$main/usr/share/man/mann"
    find "$main/usr/share/man" -type f -exec gzip -9n {} +
    mkdir -p "$main/usr/lib/systemd/system"
    cp tools/etw-ship@.service "$main/usr/lib/systemd/system/"
    cp README.md "$main/usr/share/doc/tcl-etw/"
    copy_tutorial "$main/usr/share/doc/tcl-etw" ../../html
    gzip -9nc CHANGES >"$main/usr/share/doc/tcl-etw/CHANGES.gz"

    dev=$stage/dev
    mkdir -p "$dev/usr/lib"
    mv "$main/usr/include" "$dev/usr/"
    mv "$main/usr/lib/$multiarch" "$dev/usr/lib/"
    strip --strip-debug "$dev"/usr/lib/*/*.a
    sed -i "s|^prefix=.*|prefix=/usr|; s|^libdir=.*|libdir=/usr/lib/$multiarch|; s|^includedir=.*|includedir=/usr/include|" \
        "$dev/usr/lib/$multiarch/pkgconfig/etw.pc"

    finish_deb "$main" tcl-etw <<EOF
Section: interpreters
Depends: tcl (>= 8.6), $(libraries_of "$(ls "$main"/usr/lib/tcltk/*/etw*/libetw[0-9]*.so)")
Recommends: libsqlite3-tcl, libdw1
Suggests: libetw-dev, tcllib, tkcon
Description: event tracing for Tcl scripts, applications and the kernel
 Traces scripts, applications and the kernel together, in the ways and file
 format of Event Tracing for Windows: sessions, providers, consumers and .etl
 files, on any machine. With a command-line tool, etw.
EOF
    finish_deb "$dev" libetw-dev <<EOF
Section: libdevel
Depends: libtracefs-dev, libtraceevent-dev, libexpat1-dev, zlib1g-dev, libzstd-dev
Description: event tracing from C and C++ programs
 The header etw.h with the static library libetwcore, which writes, records
 and reads events without Tcl, and the stub library for Tcl extensions that
 write events.
EOF
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
    cp "$1/pkgIndex.tcl" CHANGES license.terms "$dir/"
    cp tools/windows.md "$dir/README.md" # in place of the one about Linux and building
    (cd "$1" && find library -type f ! -name '*.copied' -exec cp --parents {} "$dir/" \;)
    cp "$1"/doc/html/* "$dir/doc/"
    copy_tutorial "$dir" ..
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
