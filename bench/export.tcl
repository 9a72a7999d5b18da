# bench/export.tcl --
#
#	The throughput of `etw export` for each format, from the same trace of script calls: a recursive proc
#	with its arguments, as recorded by the script tracer; for pcapng from a capture of the corpus
#	(ETW_CORPUS). Compared in the same run with babeltrace2's text of as many LTTng events, perf script's of
#	system calls, and perf's own JSON of them.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

# Creates the file with the events.
proc make {file} {
    etw start bench-export -file $file -buffers 64,256 -buffersize 1024
    etw enable bench-export Tcl-Script -any call
    etw script add fib
    for {set i 0} {$i < 20} {incr i} {
        fib 22
        etw flush bench-export
    }
    etw script remove
    return [dict get [etw stop bench-export] events]
}
# The best of two runs, in millions of events per second.
proc rate {events script} {
    set best 1e18
    for {set i 0} {$i < 2} {incr i} {
        set best [expr {min($best, [bench::microseconds $script])}]
    }
    return [expr {$events / double($best)}]
}
proc measure {format events sources} {
    set ::out [file join [bench::tmp] out.$format]
    set ::sources $sources
    set ::format $format
    set r [rate $events {etw export {*}$sources $out -format $format}]
    bench::line export-$format $r "M events/s ([expr {[file size $::out] / $events}] bytes an event)"
    file delete $::out
}

try {
    set file [file join [bench::tmp] export.etl]
    set events [make $file]
    bench::note "[file size $file] bytes, $events events"
    foreach row [etw::lib::formats] {
        set format [dict get $row name]
        if {[dict get $row group] ni {export tcl} || $format eq "pcapng"} { ;# packets: see below
            continue
        }
        if {$format eq "sqlite" && [catch {package require sqlite3}]} {
            bench::note "no sqlite3 for Tcl (sh tools/deps.sh test)"
            continue
        }
        measure $format $events [list $file]
    }
    set corpus [expr {[info exists env(ETW_CORPUS)] ? $env(ETW_CORPUS) : [file join $bench::root .. shared corpus]}]
    set capture [lindex [glob -nocomplain [file join $corpus * PktMon.etl]] 0]
    if {$capture ne ""} {
        set copies [lrepeat 50 $capture]
        measure pcapng [dict get [etw summary {*}$copies -format list] total count] $copies
    } else {
        bench::note "no PktMon.etl in $corpus: set ETW_CORPUS"
    }
    file delete $file
    set dir [bench::lttngTrace $events]
    if {$dir ne ""} {
        bench::line export-babeltrace2-text [rate $events {exec babeltrace2 $dir > /dev/null}] "M events/s"
    }
    lassign [bench::perfTrace] data count
    if {$data ne ""} {
        bench::line export-perf-script-text [rate $count {exec perf script -i $data > /dev/null 2>/dev/null}] "M events/s"
        set json [file join [bench::tmp] perf.json]
        if {[catch {exec perf data convert -i $data --to-json $json --force 2>@1} message]} {
            bench::note "perf data convert: [lindex [split $message \n] end]"
        } else {
            bench::line export-perf-json [rate $count {exec perf data convert -i $data --to-json $json --force 2>@1}] "M events/s"
        }
    }
} finally {
    bench::cleanup
}
