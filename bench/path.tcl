# bench/path.tcl --
#
#	events/s of `etw path` on a trace of switches, wake-ups, system calls and calls, compared with only reading and
#	counting them (`etw info`). Requires root.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

set file [file join [bench::tmp] path.etl]
proc fib {n} { expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
etw start bench-path -file $file -buffersize 1024 -buffers 64,256
etw enable bench-path Tcl-Script
etw enable bench-path kernel {contextswitch dispatcher systemcall process}
etw script add fib
for {set i 0} {$i < 30} {incr i} {
    fib 19 ;# 13529 calls
    exec sh -c {i=0; while [ $i -lt 50 ]; do i=$((i + 1)); echo $i; done | while read x; do :; done}
}
etw script remove
etw stop bench-path
set events [dict get [etw info $file] events]
bench::line path-events $events events
foreach {name command} {path {etw path $file} read-and-count {etw info $file}} {
    set best 1e12
    for {set i 0} {$i < 3} {incr i} {
        set best [expr {min($best, [bench::microseconds [subst -nocommands $command]])}]
    }
    bench::line path-$name [expr {double($events) / $best}] "M events/s"
}
bench::cleanup
