# bench/calls.tcl --
#
#	From events to calls: events/s of `etw calls` on a million enter and leave events, as profile and tree,
#	compared with only reading and counting them (`etw info`).

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

set file [file join [bench::tmp] calls.etl]
etw start bench-calls -file $file -buffersize 1024 -buffers 64,256
etw enable bench-calls Tcl-Script
etw script add fib
for {set i 0} {$i < 46} {incr i} {
    fib 19 ;# 13529 calls
    after 10 ;# lets the logger run
}
etw script remove
etw stop bench-calls
set info [etw info $file]
set events [dict get $info events]
bench::line calls-events $events events
bench::line calls-lost [dict get $info lost] events

foreach {name options} {profile {-as profile} tree {-as tree} single {-as tree -merge 0}} {
    set best 1e12
    for {set i 0} {$i < 3} {incr i} {
        set best [expr {min($best, [bench::microseconds [list etw calls $file {*}$options]])}]
    }
    bench::line calls-$name [expr {double($events) / $best}] "M events/s"
}
set best 1e12
for {set i 0} {$i < 3} {incr i} {
    set best [expr {min($best, [bench::microseconds [list etw info $file]])}]
}
bench::line calls-read-and-count [expr {double($events) / $best}] "M events/s"
bench::cleanup
