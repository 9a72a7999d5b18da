# bench/peers.tcl --
#
#	Iterating files beside other portable parsers, which are not part of this project: every .etl file of the corpus
#	(ETW_CORPUS), and files of small, ordinary and large events made here. A peer is a command that is given a file and
#	prints `rate N`, the millions of events a second that it iterates (best of several runs):
#	    ETW_PEER_SNAIL      around snail's reader (C++). Goal: faster on every file that it reads.
#	    ETW_PEER_DISSECT    around dissect.etl (Python). Goal: 100 times.
#	Without any of them only our rates are printed. Files of a few events measure what opening leaves over; they count
#	for the worst ratio only from 1,000 events on.

source [file join [file dirname [file normalize [info script]]] support.tcl]

set peers {}
foreach {name goal} {SNAIL 1 DISSECT 100} {
    if {[info exists env(ETW_PEER_$name)]} {
        lappend peers [string tolower $name] $env(ETW_PEER_$name) $goal
        set worst([string tolower $name]) {}
    }
}

proc beside {label path} {
    set read [bench::run scan read $path]
    set ours [dict get $read scan.all]
    bench::line peers-$label $ours "M events/s"
    foreach {name command goal} $::peers {
        if {[catch {exec {*}$command $path 2>@1} out] || ![regexp -line {^rate ([\d.]+)} $out -> theirs] || $theirs == 0} {
            bench::note "$name does not read $label: [lindex [split $out \n] end]"
            continue
        }
        bench::line peers-$label-times-$name [expr {$ours / $theirs}] "times (goal: at least $goal)"
        if {[dict get $read scan.events] >= 1000} {
            lappend ::worst($name) [list [expr {$ours / $theirs}] $label]
        }
    }
}

try {
    foreach {label megabytes payload} {small 100 8 ordinary 200 56 large 200 8000} {
        set file [file join [bench::tmp] $label.etl]
        exec [file join $bench::build bench scan] make $file $megabytes $payload
        beside made-$label $file
        file delete $file
    }
    set corpus [expr {[info exists env(ETW_CORPUS)] ? $env(ETW_CORPUS) : [file join $bench::root .. shared corpus]}]
    set files [lsort [glob -nocomplain -directory $corpus */*.etl]]
    if {$files eq ""} {
        bench::note "no files in $corpus: set ETW_CORPUS"
    }
    foreach file $files {
        beside [file tail $file] $file
    }
    foreach {name command goal} $peers {
        lassign [lindex [lsort -real -index 0 $worst($name)] 0] times label
        bench::line peers-worst-$name $times "times, $label (goal: at least $goal)"
    }
} finally {
    bench::cleanup
}
