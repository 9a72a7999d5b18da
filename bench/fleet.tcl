# bench/fleet.tcl --
#
#	etw fleet over BENCH_CALLS calls (default 10,000,000) of BENCH_HOSTS hosts (default 200) in a private ClickHouse. A real trace of script
#	calls is loaded once by etw load; SQL multiplies its rows over hosts and minutes of a month, with durations that vary from host to
#	host, and the rows pass the materialized view as those of a load. The answers from the sums of minutes are compared with plain SQL over the calls.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw
package require tcltest
# Required by tests/support/clickhouse.tcl.
namespace eval testing {}
namespace import ::tcltest::testConstraint
testConstraint linux [expr {$tcl_platform(os) eq "Linux"}]
proc testing::waitFor {condition} {
    for {set i 0} {$i < 6000} {incr i} {
        if {[uplevel 1 [list expr $condition]]} return
        after 10
    }
    error "waited in vain for $condition"
}
proc testing::readFile {path} {
    set f [open $path]
    try { return [read $f] } finally { close $f }
}
proc testing::writeFile {path text} {
    set f [open $path w]
    fconfigure $f -encoding utf-8
    puts -nonewline $f $text
    close $f
    return $path
}
proc testing::canListen {} {
    return 1
}
source [file join $bench::root tests support clickhouse.tcl]

set calls [expr {[info exists env(BENCH_CALLS)] ? $env(BENCH_CALLS) : 10000000}]
set hosts [expr {[info exists env(BENCH_HOSTS)] ? $env(BENCH_HOSTS) : 200}]

# A trace of tcllib's JSON parser, and of procs of this file.
proc record {file} {
    package require json
    proc parse {text} { return [::json::json2dict $text] }
    proc fib {n} { expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
    etw start bench -file $file -buffers 64,512 -buffersize 1024
    etw enable bench Tcl-Script
    etw script add parse fib ::json::* -args 1
    for {set i 0} {$i < 3} {incr i} {
        fib 14
        parse [bench::json]
    }
    etw script remove
    etw stop bench
}
proc best {name count script} {
    set best 1e18
    for {set i 0} {$i < 3} {incr i} {
        set best [expr {min($best, [bench::microseconds $script])}]
    }
    bench::line $name [expr {$best / 1e3}] ms
    return $best
}

if {![testConstraint clickhouse]} {
    bench::note "no ClickHouse"
    exit
}
try {
    clickhouseStart
    set url [clickhouseUrl fleet]
    set file [file join [bench::tmp] fleet.etl]
    record $file
    set us [bench::microseconds {set loaded [etw load $url $file -host real]}]
    bench::line fleet-load [expr {1e6 * [dict get $loaded events] / $us}] events/s
    set rows [lindex [clickhouseQuery fleet "SELECT count() FROM etw_calls"] 0 0]
    bench::note "[dict get $loaded events] events, $rows calls in the trace"
    # A load for each host: all its rows have the number of the load.
    set rounds [expr {int(ceil(double($calls) / $hosts / $rows))}]
    set us [bench::microseconds {
        for {set host 0} {$host < $hosts} {incr host} {
            set factor [expr {$host == min(17, $hosts - 1) ? 3.0 : 1 + ($host % 10) / 50.0}]
            clickhouseQuery fleet "INSERT INTO etw_calls (load, host, session, file, id, parent, pid, tid, depth, proc, words, start, duration, self, wait, code)
                SELECT toUInt64($host + 1), 'host$host', session, file, id + r * 10000000, parent + r * 10000000, pid, tid, depth, proc, words,
                start - r * 43200000000000 % 2592000000000000, toInt64(duration * $factor), toInt64(self * $factor), wait, code
                FROM (SELECT * FROM etw_calls WHERE host = 'real') CROSS JOIN (SELECT number AS r FROM system.numbers LIMIT $rounds)
                LIMIT [expr {$calls / $hosts}]"
            clickhouseQuery fleet "INSERT INTO etw_batches (host, session, file, started, part, load, ended, size, options, events, calls, lost, dropped)
                VALUES ('host$host', 's', 'f', 1, 0, [expr {$host + 1}], 2, 3, '', 0, [expr {$calls / $hosts}], 0, 0)"
        }
    }]
    set total [lindex [clickhouseQuery fleet "SELECT count() FROM etw_calls"] 0 0]
    bench::line fleet-calls $total calls
    bench::line fleet-insert [expr {1e6 * $total / $us}] calls/s
    bench::line fleet-bytes [expr {double([lindex [clickhouseQuery fleet "SELECT sum(bytes) FROM system.parts WHERE active AND table = 'etw_calls'"] 0 0]) / $total}] bytes/call
    bench::line fleet-sums [lindex [clickhouseQuery fleet "SELECT count() FROM etw_minutes"] 0 0] rows
    best fleet-top 3 {etw fleet top -from $url}
    best fleet-top-plain-sql 3 {clickhouseQuery fleet "SELECT proc, count(DISTINCT host), count(words), sum(duration), sum(self) AS s, sum(wait), max(duration), countIf(code = 1),
        quantilesTDigest(0.5, 0.9, 0.99)(duration) FROM etw_calls WHERE load IN (SELECT counts FROM etw_loaded) GROUP BY proc ORDER BY s DESC LIMIT 20"}
    best fleet-calls 3 {etw fleet calls -from $url}
    best fleet-calls-one-host 3 {etw fleet calls -from $url -host host17}
    best fleet-diff 3 {set differ [etw fleet diff -from $url]}
    best fleet-diff-plain-sql 3 {clickhouseQuery fleet "SELECT host, proc, n, d / n, (dd - d) / (nn - n) FROM
        (SELECT host, proc, count(words) AS n, sum(duration) AS d FROM etw_calls WHERE load IN (SELECT counts FROM etw_loaded) GROUP BY host, proc) ANY INNER JOIN
        (SELECT proc, count(words) AS nn, sum(duration) AS dd FROM etw_calls WHERE load IN (SELECT counts FROM etw_loaded) GROUP BY proc) USING proc WHERE nn > n
        ORDER BY abs(d - n * (dd - d) / (nn - n)) DESC LIMIT 20"}
    bench::note "the host that differs most: [dict get [lindex $differ 0] host], by the factor [dict get [lindex $differ 0] factor]"
    # The same sums by both ways.
    set sums [lmap row [etw fleet top -from $url -limit 100] {list [dict get $row proc] [dict get $row calls] [dict get $row total] [dict get $row errors]}]
    set plain [clickhouseQuery fleet "SELECT proc, count(words), sum(duration), countIf(code = 1) FROM etw_calls WHERE load IN (SELECT counts FROM etw_loaded) GROUP BY proc"]
    bench::line fleet-wrong-sums [expr {[lsort $sums] eq [lsort $plain] ? 0 : 1}] answers
} finally {
    clickhouseStop
    bench::cleanup
}
