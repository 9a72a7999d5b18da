#!/bin/sh
# tools/test-win32.sh --
#
#	Runs the suite of the 32-bit Windows build under a 32-bit Wine, which needs an i386 Debian: it is
#	created once with debootstrap, in ${ETW_CACHE:-$HOME/.cache/etw}/i386 (1 GB), and entered with chroot.
#	This machine is not changed except for mounts, which are removed. Requires root. Not part of
#	tools/test.sh.
#
#	sh tools/test-win32.sh ?ARGUMENT OF tests/all.tcl ...?
set -eu
cd "$(dirname "$0")/.."
top=$(pwd)
. "$top/tools/lib.sh"

root=$cache/i386
mirror=${ETW_MIRROR:-http://deb.debian.org/debian}
wine=/usr/lib/wine/wine
prefix=$(win_tcl_dir i686)

leave() {
    for at in dev proc "$top" "$prefix"; do
        umount "$root/$at" 2>/dev/null || true
    done
}

# Moved into place when complete.
need_root() {
    [ -d "$root" ] && return 0
    command -v debootstrap >/dev/null 2>&1 || die "no debootstrap: apt-get install debootstrap"
    echo "Debian of i386 with wine32: making it once, in $root" >&2
    rm -rf "$root.new"
    debootstrap --arch=i386 --variant=minbase --include=tcl8.6,tcllib,zip,unzip,wine,wine32 bookworm "$root.new" "$mirror" \
        >"$cache/i386.log" 2>&1 || die "see $cache/i386.log"
    mv "$root.new" "$root"
}

[ "$(id -u)" = 0 ] || die "chroot is root's: run as root"
sh tools/build-windows.sh -32
make -C build-win32 --no-print-directory -j"$(nproc)" ctests
need_root
trap leave EXIT
mkdir -p "$root$top" "$root$prefix"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount --bind "$top" "$root$top"
mount --bind "$prefix" "$root$prefix"
chroot "$root" env -u DISPLAY HOME=/root ETW_CACHE=/var/cache/etw WINEARCH=win32 sh -c 'mkdir -p "$ETW_CACHE"; cd "$1" && shift && exec "$@"' \
    sh "$top/build-win32" tclsh8.6 ../tests/all.tcl -build . -label "windows, 32 bits" -wine "$wine" \
    -tclsh "$prefix/bin/tclsh86.exe" -cc i686-w64-mingw32-gcc "$@"
