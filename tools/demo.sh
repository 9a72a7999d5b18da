#!/bin/sh
# tools/demo.sh --
#
#	The main job, from a fresh clone: installs what is needed (as root or through sudo), builds
#	into ./build, traces http::geturl against a server on this machine together with the kernel's
#	network events, and prints the listing. Kernel events need root: run it so, or with sudo.
set -eu
cd "$(dirname "$0")/.."
. tools/lib.sh

sh tools/deps.sh build
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{
    configure_in build --enable-werror
    make -C build --no-print-directory -j"$(nproc)" all
} >"$log" 2>&1 || {
    cat "$log" >&2
    die "the build failed"
}

tclsh=$(sed -n 's/^TCLSH_PROG = //p' build/Makefile)
sudo=
[ "$(id -u)" = 0 ] || sudo=$(command -v sudo || true)
if [ -n "$sudo" ] || [ "$(id -u)" = 0 ]; then
    [ -d /sys/kernel/tracing/instances ] || $sudo mount -t tracefs nodev /sys/kernel/tracing || true
fi
# The trace is written to the build directory, not into the tree.
exec $sudo env TCLLIBPATH="{$(pwd)/build}" "$tclsh" demos/http.tcl "${1:-build/http.etl}"
