# bench/script_sample.tcl --
#
#	The cost of sampling a script's stacks, in percent of the workload's time, at 1 kHz and 100 Hz:
#	alternating runs with and without it, the median of their differences, and the same for two runs without
#	(the noise of the machine). Goal: below 1 % at 1 kHz. Also the kernel's own samples (group profile), if
#	available.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw
package require json

proc loop {n} {for {set i 0} {$i < $n} {incr i} {set x [expr {$i * 2}]; set y $x}}
set text [bench::json]

proc median {values} {
    lindex [lsort -real $values] [expr {[llength $values] / 2}]
}
# The additional time in percent of runs with sampling, compared with the runs before and after without.
proc cost {on off script} {
    set differences {}
    for {set i 0} {$i < 41} {incr i} {
        set before [bench::microseconds $script]
        {*}$on
        set sampled [bench::microseconds $script]
        {*}$off
        set after [bench::microseconds $script]
        lappend differences [expr {100.0 * ($sampled / (($before + $after) / 2.0) - 1)}]
    }
    return [median $differences]
}
etw start bench-sample -mode memory -buffers 16,16
etw enable bench-sample Tcl-Script -any sample
set kernel [expr {![catch {etw enable bench-sample kernel profile; etw disable bench-sample kernel} message]}]
foreach {name script} {fib {fib 21} loop {loop 200000} json {json::json2dict $::text}} {
    set off {etw script sample -interval 0}
    bench::line sample-$name-control [cost $off $off $script] "% (goal: noise)"
    bench::line sample-$name-100Hz [cost {etw script sample -interval 10} $off $script] %
    bench::line sample-$name-1kHz [cost {etw script sample -interval 1} $off $script] "% (goal: below 1)"
    if {$kernel} {
        bench::line sample-$name-kernel-1kHz \
            [cost {etw enable bench-sample kernel profile} {etw disable bench-sample kernel} $script] %
    }
}
if {!$kernel} {
    bench::note "no kernel samples: $message"
}
etw stop bench-sample
bench::cleanup
