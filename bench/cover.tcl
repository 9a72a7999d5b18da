# bench/cover.tcl --
#
#	What counting executions (etw script cover) costs: nanoseconds a command in a loop of short commands; how many
#	times as long the test suites of tcllib's json and struct (tools/suites.sh) take as whole programs under
#	`etw record --cover`; and the time of the report (etw cover) on each trace.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

# A sourced file, because only commands with a place in a file are counted.
set file [file join [bench::tmp] loop.tcl]
set f [open $file w]
puts $f {proc loop {n} {
    set sum 0
    for {set i 0} {$i < $n} {incr i} {
        incr sum
        set a $i
        set b $a
        if {$b < 0} {
            error never
        }
        set c $sum
    }
    return $sum
}}
close $f
source $file
proc best {} {
    set best 1e12
    for {set i 0} {$i < 7} {incr i} {
        set best [expr {min($best, [bench::microseconds {loop 100000}])}]
    }
    return $best
}
loop 1000
set plain [best]
etw start bench-cover -mode memory
etw enable bench-cover Tcl-Script -any cover
etw script cover
loop 1000
set counted [best]
etw script cover off
etw stop bench-cover
bench::line cover-command [expr {1000.0 * ($counted - $plain) / (100000 * 6)}] ns
bench::line cover-loop [format %.2f [expr {double($counted) / $plain}]] times

set suites [file join [expr {[info exists env(ETW_CACHE)] ? $env(ETW_CACHE) : "$env(HOME)/.cache/etw"}] suites tcllib]
set tool [list [info nameofexecutable] [file join $bench::build etw]]
foreach {dir test} {json json struct tree struct matrix struct list struct skiplist} {
    if {![file exists [file join $suites $dir $test.test]]} {
        continue
    }
    cd [file join $suites $dir]
    set trace [file join [bench::tmp] suite.etl]
    set plain 1e12
    set counted 1e12
    for {set i 0} {$i < 5} {incr i} {
        set plain [expr {min($plain, [bench::microseconds {exec [info nameofexecutable] $test.test 2>@1}])}]
        set counted [expr {min($counted, [bench::microseconds {exec {*}$tool record --cover -q -o $trace -- [info nameofexecutable] $test.test 2>@1}])}]
    }
    bench::line cover-suite-$test [format %.2f [expr {double($counted) / $plain}]] times
    bench::line cover-suite-$test-alone [expr {$plain / 1000.0}] ms
    bench::line cover-report-$test [expr {[bench::microseconds {etw cover $trace -files */$dir/$test*.tcl}] / 1000.0}] ms
}
bench::cleanup
