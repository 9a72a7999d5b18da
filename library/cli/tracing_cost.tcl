# tracing_cost.tcl --
#
#	What tracing a script has cost, for the end of `etw record`: the events of the trace by kind, and what an
#	event of each kind costs on this machine, which is measured. Calls are measured with a word as long as
#	those of the trace, because their words are converted to text and copied. It is a lower bound: the
#	measured loop has warm caches and a machine with nothing else to do.

namespace eval ::etw::cli {
    # Event of Tcl-Script -> kind. All others are taken to cost as much as those of calls.
    variable costKinds {StepEnter step StepLeave step Line line Channel channel}
    # kind -> {keyword, value of -steps, the body that is measured}.
    variable costBodies {
        call {call off {for {set i 0} {$i < 300} {incr i} {word [linsert $words end $i]}}}
        step {step full {for {set i 0} {$i < 300} {incr i} {set x $i}}}
        line {step line {
            for {set i 0} {$i < 300} {incr i} {
                set x $i
            }
        }}
        channel {channel off {for {set i 0} {$i < 300} {incr i} {puts -nonewline $file x}}}
    }
}

# Print what the events of scripts in the trace have cost. kinds: {{provider event count} ...} A circular trace stands for all events of its session.
proc ::etw::cli::TracingCost {file stats kinds} {
    variable costKinds
    set duration [dict get $stats duration]
    set part [expr {[dict get $stats mode] eq "circular" ? 1 - double([dict get $stats overwritten]) / max(1, [dict get $stats events]) : 1}]
    set count 0
    set counts {}
    foreach row $kinds {
        lassign $row provider event number
        if {$provider eq "Tcl-Script"} {
            dict incr counts [expr {[dict exists $costKinds $event] ? [dict get $costKinds $event] : "call"}] $number
            incr count $number
        }
    }
    if {$count == 0 || $duration <= 0 || $part <= 0} {
        return
    }
    set counts [dict map {kind number} $counts {expr {round($number / $part)}}]
    set count [expr {round($count / $part)}]
    set cost 0
    dict for {kind number} $counts {
        set cost [expr {$cost + $number * [EventCost $kind [expr {$kind eq "call" ? [WordsLength $file] : 0}]]}]
    }
    set percent [expr {100.0 * $cost / $duration}]
    set time [expr {$cost < 1e5 ? [format "%.1f us" [expr {$cost / 1e3}]] : [format "%.1f ms" [expr {$cost / 1e6}]]}]
    puts stderr [format "%s tracing took at least %s, %s %% of the run: %d %s of scripts, %.0f ns each" [Paint stderr dim etw:] \
        $time [expr {$percent < 0.1 ? "<0.1" : [format %.1f $percent]}] $count [expr {$count == 1 ? "event" : "events"}] [expr {double($cost) / $count}]]
    if {$percent > 10} {
        Note "the times below include what tracing took: record fewer procs (-s PATTERN) or events (--keywords) to measure them"
    }
}

# The mean length of the words of calls: of the first ones, which is exact enough.
proc ::etw::cli::WordsLength {file} {
    set count 0
    set length 0
    foreach row [::etw events $file -where {$provider eq "Tcl-Script" && $event eq "Enter"} -fields Command -as list -limit 2000] {
        incr count
        incr length [string length [lindex $row 0]]
    }
    return [expr {$count == 0 ? 0 : $length / $count}]
}

# The nanoseconds that an event of this kind adds to a script: the median of some runs, traced minus untraced. The
# words of calls have this length.
proc ::etw::cli::EventCost {kind length} {
    variable costBodies
    lassign [dict get $costBodies $kind] keyword steps body
    set session cost-[pid]
    ::etw start $session -mode memory -buffers 16,16 -buffersize 256
    set child [interp create]
    try {
        $child eval {proc word {n} {return $n}; set f [file tempfile path]}
        $child eval [list set words [lrepeat [expr {max(0, $length - 8) / 8}] "a word,"]]
        $child eval [list proc run {file} "set words \$::words; $body"]
        ::etw enable $session Tcl-Script -pids [pid] -any $keyword
        set untraced [MedianTime $child]
        ::etw script add [expr {$kind eq "call" ? "word" : "run"}] -steps $steps -interp $child
        set before [EventsOf $session]
        set traced [MedianTime $child]
        set events [expr {[EventsOf $session] - $before}]
    } finally {
        ::etw stop $session
        catch {$child eval {close $f; file delete $path}} ;# on a full disk there is none
        interp delete $child
    }
    return [expr {$events == 0 ? 0 : max(0, ($traced - $untraced) * 1000.0 * 9 / $events)}]
}

# Microseconds of a run; there are nine runs.
proc ::etw::cli::MedianTime {child} {
    for {set round 0} {$round < 9} {incr round} {
        lappend times [lindex [$child eval {time {run $f}}] 0]
    }
    return [lindex [lsort -real $times] 4]
}

proc ::etw::cli::EventsOf {session} {
    ::etw flush $session
    return [dict get [::etw query $session] events]
}
