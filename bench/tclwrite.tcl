# bench/tclwrite.tcl --
#
#	`etw write` from a compiled proc with two values, enabled and disabled. Goal: at most 200 ns. Compared
#	with the cheapest alternative in a script: formatting a line and writing it to a file.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

etw provider create Bench-Tcl
etw provider event Bench-Tcl Sent {Bytes int Peer string}
proc loop {n} {
    for {set i 0} {$i < $n} {incr i} {
        etw write Bench-Tcl Sent $i "127.0.0.1:8080"
    }
}
proc empty {n} {
    for {set i 0} {$i < $n} {incr i} {
        list Bench-Tcl Sent $i "127.0.0.1:8080"
    }
}
proc toFile {n chan} {
    for {set i 0} {$i < $n} {incr i} {
        puts $chan [format "%d sent %d %s" [clock microseconds] $i "127.0.0.1:8080"]
    }
}
# Nanoseconds per iteration, without the loop's own cost; best of several runs.
proc cost {n script} {
    set best 1e9
    for {set i 0} {$i < 7} {incr i} {
        set t [expr {1000.0 * [bench::microseconds $script] / $n}]
        set t0 [expr {1000.0 * [bench::microseconds {empty $n}] / $n}]
        set best [expr {min($best, $t - $t0)}]
    }
    return $best
}
set n 100000
bench::line tcl-write-disabled [cost $n {loop $n}] ns/event
etw start bench-tcl -mode memory
etw enable bench-tcl Bench-Tcl
bench::line tcl-write-enabled [cost $n {loop $n}] "ns/event (goal: at most 200)"
etw stop bench-tcl
set chan [open [file join [bench::tmp] lines.txt] w]
bench::line tcl-format-and-puts [cost $n {toFile $n $chan}] ns/line
close $chan
bench::cleanup
