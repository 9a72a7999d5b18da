# bench/diff.tcl --
#
#	Events/s of `etw diff` on two traces of a million enter and leave events each, and the same for many runs; compared with only reading and
#	counting the events (`etw info`).

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

foreach {side calls} {a 40 b 44} {
    set files($side) [file join [bench::tmp] $side.etl]
    etw start bench-diff -file $files($side) -buffersize 1024 -buffers 64,256
    etw enable bench-diff Tcl-Script
    etw script add fib
    for {set i 0} {$i < $calls} {incr i} {
        fib 19 ;# 13529 calls
        after 10 ;# lets the logger run
    }
    etw script remove
    etw stop bench-diff
    set info [etw info $files($side)]
    incr events [dict get $info events]
    incr lost [dict get $info lost]
}
bench::line diff-events $events events
bench::line diff-lost $lost events
proc rate {count script} {
    set best 1e12
    for {set i 0} {$i < 3} {incr i} {
        set best [expr {min($best, [bench::microseconds $script])}]
    }
    return [expr {double($count) / $best}]
}
# Of CPU time, which other load of the machine does not change much.
proc cpuSeconds {} {
    set f [open /proc/self/stat]
    set fields [split [lindex [split [read $f] )] end]]
    close $f
    return [expr {([lindex $fields 12] + [lindex $fields 13]) / 100.0}]
}
if {[file readable /proc/self/stat]} {
    set before [cpuSeconds]
    etw diff $files(a) $files(b)
    bench::line diff-two-cpu [expr {$events / 1e6 / ([cpuSeconds] - $before)}] "M events/s of CPU time"
}
bench::line diff-two [rate $events [list etw diff $files(a) $files(b)]] "M events/s"
bench::line diff-runs [rate [expr {2 * $events}] [list etw diff $files(a) $files(b) -- $files(b) $files(a)]] "M events/s"
bench::line diff-json [rate $events [list etw diff $files(a) $files(b) -format json -same 1]] "M events/s"
bench::line diff-read-and-count [rate $events "[list etw info $files(a)]; [list etw info $files(b)]"] "M events/s"
bench::cleanup
