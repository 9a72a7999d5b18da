#!/bin/sh
# tools/suites.sh --
#
#	Test suites of other projects, which tests/project/suites.test runs traced: those of Tcl's core and of
#	tcllib, with the word `all` also of Tk, from Debian's source packages. Kept in
#	${ETW_CACHE:-$HOME/.cache/etw}/suites; without them that
#	test is skipped. Prints the directory.
set -eu
cd "$(dirname "$0")/.."
top=$(pwd)
. "$top/tools/lib.sh"
. "$top/tools/debsrc.sh"

suites=$cache/suites
work=$cache/work-suites-$$
trap 'rm -rf "$work" $debsrc_tmp' EXIT

# need PACKAGE NAME PART: install the part of its source with the tests. It is moved into place when complete.
need() {
    [ -d "$suites/$2" ] && return 0
    unpack "$1" "$work/$2" || die "apt has no source of $1: is the network reachable?"
    mkdir -p "$suites"
    mv "$work/$2/$3" "$suites/$2"
}

need tcl8.6 tcl tests
need tcllib tcllib modules
[ "${1-}" != all ] || need tk8.6 tk tests
echo "$suites"
