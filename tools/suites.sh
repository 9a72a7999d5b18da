#!/bin/sh
# tools/suites.sh --
#
#	Test suites of other projects, which tests/project/suites.test runs traced: those of Tcl's core and of
#	tcllib, with the word `all` also of Tk and SQLite (with its program testfixture), from Debian's source packages; and a
#	conformance test of Wine, which tests/project/clients.tcl runs. Kept in
#	${ETW_CACHE:-$HOME/.cache/etw}/suites; without them that
#	test is skipped. TWAPI's tests for ETW, which tests/library/twapi_suite.test runs, are copied from a copy of its
#	repository in ../twapi, or a bare one in ../.mirror, if there is one. Prints the directory.
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

# need_file PACKAGE PATH: install one file of a large source, which is not kept.
need_file() {
    [ -f "$suites/$1/$(basename "$2")" ] && return 0
    debsrc_fetch "$1" tar || die "apt has no source of $1: is the network reachable?"
    mkdir -p "$work/$1" "$suites/$1"
    tar -xf "$(ls "$(debsrc_dir)/$1"_*.orig.tar.* | sort -V | tail -1)" -C "$work/$1" --strip-components=1 --wildcards "*/$2"
    rm -f "$(debsrc_dir)/$1"_*
    mv "$work/$1/$2" "$suites/$1/"
}

# The two files of TWAPI.
copy_twapi() {
    for above in .. ../..; do
        for name in etw.test testutil.tcl; do
            if [ -f "$above/twapi/tests/$name" ]; then
                cp "$above/twapi/tests/$name" "$work/twapi/"
            else
                git --git-dir="$above/.mirror/apnadkarni+twapi/repo" show "HEAD:tests/$name" >"$work/twapi/$name" 2>/dev/null || break
            fi
        done
        [ -s "$work/twapi/testutil.tcl" ] || continue
        mkdir -p "$suites"
        mv "$work/twapi" "$suites/twapi"
        return 0
    done
    echo "suites.sh: no copy of TWAPI's repository: twapi_suite.test is skipped" >&2
}
[ -d "$suites/twapi" ] || {
    mkdir -p "$work/twapi"
    copy_twapi
}

need tcl8.6 tcl tests
need tcllib tcllib modules
need_file wine dlls/advapi32/tests/eventlog.c
# SQLite's tests run in a Tcl shell of its own, which takes half a minute to compile.
need_sqlite() {
    [ -d "$suites/sqlite" ] && return 0
    unpack sqlite3 "$work/sqlite" || die "apt has no source of sqlite3: is the network reachable?"
    mkdir -p "$work/sqlite/build" "$work/result"
    (
        cd "$work/sqlite/build"
        sh ../configure --with-tcl="$(dirname "$(find /usr/lib -name tclConfig.sh -path '*tcl8*' | head -1)")" CFLAGS=-O1
        make testfixture
    ) >"$cache/sqlite-build.log" 2>&1 || die "testfixture did not build: see $cache/sqlite-build.log"
    mv "$work/sqlite/build/testfixture" "$work/sqlite/test" "$work/result/"
    mkdir -p "$suites"
    mv "$work/result" "$suites/sqlite"
}
if [ "${1-}" = all ]; then
    need tk8.6 tk tests
    need_sqlite
fi
echo "$suites"
