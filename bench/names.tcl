# bench/names.tcl --
#
#	A listing of Windows kernel events with the names of their processes and files, and with their stacks,
#	from real files (ETW_CORPUS). Includes reading, decompressing, and looking ahead for names and stacks.
#	Goal: 1 million events/s with names and stacks.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::isolate
bench::loadEtw

proc rate {file args} {
    set best 0
    set events [dict get [etw info $file] events]
    for {set i 0} {$i < 5} {incr i} {
        set us [lindex [time {etw dump $file {*}$args -output /dev/null}] 0]
        set best [expr {max($best, $events / double($us))}]
    }
    return $best
}

try {
    set corpus [expr {[info exists env(ETW_CORPUS)] ? $env(ETW_CORPUS) : [file join $bench::root .. shared corpus]}]
    foreach {label name} {merged microsoft__perfview/net.4.5.2.x64.etl images microsoft__perfview/diaghub.kernel.1.etl
        threads airbus-cert__etl-parser/ShutdownPerfDiagLogger.etl} {
        set file [file join $corpus $name]
        if {![file exists $file]} {
            bench::note "no $file: set ETW_CORPUS"
            continue
        }
        bench::line names-$label [rate $file] "M events/s"
        bench::line stacks-$label [rate $file -stacks 1] "M events/s (goal: at least 1)"
    }
} finally {
    bench::cleanup
}
