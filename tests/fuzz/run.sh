#!/bin/sh
# tests/fuzz/run.sh --
#
#	Runs each fuzzer for so many seconds on its seeds and on what it found before. What a fuzzer
#	finds is left in DIR as FUZZER-crash-..., FUZZER-leak-... or FUZZER-timeout-...; `DIR/FUZZER FILE`
#	replays it. The exit code is 1 when one found something. FUZZSEED in the environment makes the
#	inputs the same each time (CI: what a search finds by luck is for a search, not for a landing).
#
#	sh tests/fuzz/run.sh DIR SECONDS TOTALS FUZZER ...    TOTALS: file for tests/all.tcl -sum, or ""
set -u
# Twice as many inputs a second: short stacks in reports (replay an input for long ones), little freed memory kept apart.
: "${ASAN_OPTIONS=malloc_context_size=4:quarantine_size_mb=4:allocator_release_to_os_interval_ms=-1}"
export ASAN_OPTIONS
dir=$1 seconds=$2 totals=$3
shift 3
passed=0 failed=0
for fuzzer in "$@"; do
    mkdir -p "$dir/corpus/$fuzzer" "$dir/seeds/$fuzzer"
    log=$dir/$fuzzer.log
    if "$dir/$fuzzer" -max_total_time="$seconds" -seed="${FUZZSEED:-0}" -timeout=60 -rss_limit_mb=3000 -print_final_stats=1 \
        -artifact_prefix="$dir/$fuzzer-" "$dir/corpus/$fuzzer" "$dir/seeds/$fuzzer" </dev/null >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok $fuzzer: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs in $seconds s"
    else
        failed=$((failed + 1))
        echo "FAIL $fuzzer: see $log"
        grep -v '^#' "$log" | tail -60
    fi
done
[ -z "$totals" ] || echo "{fuzzers} $passed $failed 0" >>"$totals"
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
