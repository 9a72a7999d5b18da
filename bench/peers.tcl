# bench/peers.tcl --
#
#	Iterating over files, compared with other portable parsers, which are not part of this project: every
#	.etl file of the corpus (ETW_CORPUS), and generated files of small, ordinary and large events. A peer is
#	a command that receives a file and prints `rate N`, the millions of events per second that it iterates
#	over (best of several runs):
#	    ETW_PEER_SNAIL      around snail's reader (C++). Goal: faster on every file that it reads.
#	    ETW_PEER_DISSECT    around dissect.etl (Python). Goal: 100 times.
#	Without any of them only our rates are printed. Small files mainly measure the time of opening; only
#	files with 1,000 events or more count for the worst ratio.

source [file join [file dirname [file normalize [info script]]] support.tcl]

set peers {}
foreach {name goal} {SNAIL 1 DISSECT 100} {
    if {[info exists env(ETW_PEER_$name)]} {
        lappend peers [string tolower $name] $env(ETW_PEER_$name) $goal
        set worst([string tolower $name]) {}
    }
}

# The best rate of a peer after another run; 0: it cannot read the file, with the reason in message.
proc peerRate {command path messagePtr} {
    upvar 1 $messagePtr message
    if {[catch {exec {*}$command $path 2>@1} message] || ![regexp -line {^rate ([\d.]+)} $message -> rate]} {
        return 0
    }
    return $rate
}
# Alternating, so that a slow phase of the machine affects all: times of a millisecond vary by a third.
proc beside {label path} {
    set ours 0
    array set theirs {}
    for {set i 0} {$i < 3} {incr i} {
        set read [bench::run scan read $path]
        set ours [expr {max($ours, [dict get $read scan.all])}]
        foreach {name command goal} $::peers {
            if {![info exists theirs($name)] || $theirs($name) > 0} {
                set rate [peerRate $command $path message($name)]
                set theirs($name) [expr {[info exists theirs($name)] ? max($theirs($name), $rate) : $rate}]
            }
        }
    }
    bench::line peers-$label $ours "M events/s"
    foreach {name command goal} $::peers {
        if {$theirs($name) == 0} {
            bench::note "$name does not read $label: [lindex [split $message($name) \n] end]"
            continue
        }
        bench::line peers-$label-times-$name [expr {$ours / $theirs($name)}] "times (goal: at least $goal)"
        if {[dict get $read scan.events] >= 1000} {
            lappend ::worst($name) [list [expr {$ours / $theirs($name)}] $label]
        }
    }
}

try {
    foreach {label megabytes payload} {small 100 8 ordinary 200 56 large 200 8000} {
        set file [file join [bench::diskTmp] $label.etl]
        exec [file join $bench::build bench programs scan] make $file $megabytes $payload
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
