# bench/kernel.tcl --
#
#	The cost of tracing a system call (Enter and Exit) for the program: through tracefs, through perf,
#	through perf with stacks, and with copies of stacks that are unwound, in the same run. Also the cost of a malloc
#	and its free in group heap, for the traced process and for another one. Requires root.

source [file join [file dirname [file normalize [info script]]] support.tcl]

set calls 100000
set file [file join [bench::tmp] kernel.etl]
set lost 0
if {[catch {bench::run kernel tracefs 1 $file} message]} {
    bench::note "no kernel events here: $message"
    bench::cleanup
    return
}
# Alternating, so that a slow phase of the machine affects all variants.
for {set i 0} {$i < 3} {incr i} {
    foreach mode {none tracefs perf stacks copies malloc heap beside} {
        set r [bench::run kernel $mode $calls $file]
        lappend ns($mode) [dict get $r call]
        incr lost [dict get $r lost]
    }
}
foreach mode {none tracefs perf stacks copies malloc heap beside} {
    set best($mode) [lindex [lsort -real $ns($mode)] 0]
}
bench::line syscall-untraced $best(none) ns
foreach {mode name} {tracefs tracefs perf perf stacks perf-with-stacks copies perf-with-unwound-stacks} {
    bench::line syscall-traced-$name [expr {$best($mode) - $best(none)}] "ns (Enter and Exit)"
}
bench::line syscall-traced-lost $lost events
bench::line malloc-untraced $best(malloc) "ns (with its free)"
bench::line malloc-traced [expr {$best(heap) - $best(malloc)}] "ns (Alloc and Free)"
bench::line malloc-beside-a-traced-process [expr {$best(beside) - $best(malloc)}] "ns (goal: nothing)"
bench::cleanup
