#!/bin/sh
# tools/test.sh --
#
#	Runs all tests from a fresh clone: installs what is needed, builds, runs the C tests and the tcltest
#	suite on Linux, the latter also with Tcl 9, cross-builds, and runs both under Wine (most files also with
#	Tcl 9). Under CI (CI=true) or with --sanitize also: format, clang (C tests, and what they execute), ASan+UBSan (everything), TSan (C
#	tests), the fuzzers for 10 s each. The last line is `N passed, N failed, N skipped`; the exit code is 1
#	if anything failed.
#
#	sh tools/test.sh ?--sanitize? ?--no-windows? ?--no-deps?
set -u
cd "$(dirname "$0")/.."
. tools/lib.sh

sanitize=false windows=true deps=true
[ "${CI:-}" = true ] && sanitize=true
for arg in "$@"; do
    case $arg in
    --sanitize) sanitize=true ;;
    --no-windows) windows=false ;;
    --no-deps) deps=false ;;
    *) die "unknown option $arg: must be --sanitize, --no-windows or --no-deps" ;;
    esac
done

$deps && { sh tools/deps.sh test || die "the packages that the tests need are not installed"; }
$deps && { sh tools/suites.sh >/dev/null || echo "test.sh: other people's suites are not to be had: suites.test is skipped" >&2; }

totals=$(mktemp)
trap 'rm -f "$totals"' EXIT

step() {
    echo
    echo "== $*"
}
# A build or run that failed counts as one failure, with a name.
broken() {
    printf '{%s} 0 1 0\n' "$1" >>"$totals"
}

# build_in DIR ?CONFIGURE ARGS?
build_in() {
    configure_in "$@" && make -C "$1" --no-print-directory -j"$(nproc)" all ctests
}

# suite DIR LABEL BUILD COMMAND...: build with the command, then run the tests of DIR, limited to $only. The
# number of lines in the totals shows whether the runner has finished.
only=
suite() {
    dir=$1 label=$2
    shift 2
    step "$label"
    before=$(wc -l <"$totals")
    "$@" && make -C "$dir" --no-print-directory test LABEL="$label" TESTFLAGS="$only -tries 2 -totals $totals"
    [ "$(wc -l <"$totals")" -gt "$before" ] || broken "$label: did not build or did not run"
}

suite build "Linux" build_in build --enable-werror
# The core does not depend on Tcl, so its tests have run already.
if sh tools/tcl9.sh tcl >/dev/null; then
    only="-kind tcl -notfile 'ring_model mutate'" # they test C sources and tools
    suite build-tcl9 "Linux, Tcl 9" sh tools/tcl9.sh etw --enable-werror
    only=
else
    step "Linux, Tcl 9: skipped, there is no Tcl 9 to be had here"
    printf '{Linux, Tcl 9} 0 0 1\n' >>"$totals"
fi
if [ -f build-tcl9/Makefile ]; then
    step "the tool as one file"
    before=$(wc -l <"$totals")
    tclsh tests/project/single.tcl -totals "$totals"
    [ "$(wc -l <"$totals")" -gt "$before" ] || broken "the tool as one file: did not run"
fi
if $windows; then
    suite build-win "Windows under Wine" sh tools/build-windows.sh
    only="-kind tcl -file tkcon_windows"
    suite build "tkcon with a Tk for Windows" sh tools/build-windows.sh tk
    only=
    # 32-bit Wine requires a foreign architecture, so this only checks the compile-time assertions.
    step "Windows, 32 bits: builds"
    sh tools/build-windows.sh -32 || broken "Windows, 32 bits: does not build"
    if sh tools/build-windows.sh -tcl9 tcl; then
        # Without the slow files, whose results hardly differ from Tcl 9 on Linux and Tcl 8.6 under Wine.
        slow="archive cli doc kernel* manifest filter_pushdown processes profile progress relog* tcltest_pkg testevent twapi"
        only="-kind tcl -notfile '$slow script_calls script_transparency script_sample'"
        suite build-win-tcl9 "Windows under Wine, Tcl 9" sh tools/build-windows.sh -tcl9 etw
        only=
    else
        step "Windows, Tcl 9: skipped, it cannot be built here"
        printf '{Windows, Tcl 9} 0 0 1\n' >>"$totals"
    fi
    step "files exchanged between Linux and Wine"
    value() { sed -n "s/^$1 = //p" "${2:-build-win}/Makefile"; }
    before=$(wc -l <"$totals")
    tclsh tests/project/exchange.tcl -wine "$(value WINE)" -wintclsh "$(value TCLSH_PROG)" -totals "$totals"
    [ "$(wc -l <"$totals")" -gt "$before" ] || broken "exchange of files: did not run"
    step "clients of others"
    before=$(wc -l <"$totals")
    tclsh tests/project/clients.tcl -wine "$(value WINE)" -build build-win -cc "$(value CC)" -totals "$totals"
    [ "$(wc -l <"$totals")" -gt "$before" ] || broken "clients of others: did not run"
    if [ -f build-win-tcl9/Makefile ]; then
        step "zips for Windows"
        before=$(wc -l <"$totals")
        tclsh tests/project/zips.tcl -wine "$(value WINE)" -wintclsh "$(value TCLSH_PROG)" \
            -wintclsh9 "$(value TCLSH_PROG build-win-tcl9)" -totals "$totals"
        [ "$(wc -l <"$totals")" -gt "$before" ] || broken "zips for Windows: did not run"
        step "the tool as one file for Windows"
        before=$(wc -l <"$totals")
        tclsh tests/project/single.tcl -linux 0 -wine "$(value WINE)" -totals "$totals"
        [ "$(wc -l <"$totals")" -gt "$before" ] || broken "the tool as one file for Windows: did not run"
    fi
fi
if $sanitize; then
    step "format"
    sh tools/check-format.sh || broken "format"
    export CHAOSTIME=60 # tests/chaos/chaos.test
    suite build-asan "Linux, address and undefined-behaviour sanitizers" build_in build-asan \
        --enable-werror --enable-sanitize=address,undefined --enable-testpoints
    suite build-tsan "Linux, thread sanitizer (core)" build_in build-tsan \
        --enable-werror --enable-sanitize=thread --enable-testpoints
    # One build shows clang's warnings and what the C tests execute.
    only="-kind c"
    suite build-clang "Linux, clang (core)" build_in build-clang --enable-werror CC=clang CFLAGS="-O0 --coverage -fprofile-update=atomic"
    only=
    step "executed by the C tests"
    tclsh tools/coverage.tcl -report build-clang -gcov "llvm-cov gcov" || broken "coverage: no report"
    step "fuzzers"
    before=$(wc -l <"$totals")
    FUZZSEED=1 make -C build --no-print-directory -j"$(nproc)" fuzz FUZZTIME=10 FUZZTOTALS="$totals"
    [ "$(wc -l <"$totals")" -gt "$before" ] || broken "fuzzers: did not build or did not run"
fi

tclsh tests/all.tcl -sum "$totals"
