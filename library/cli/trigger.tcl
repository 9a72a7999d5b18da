# trigger.tcl --
#
#	`etw record --trigger`: the flight recorder. The session keeps the newest events in memory. A live
#	consumer, whose filter runs in C, waits for the trigger event and then writes the events before it to a
#	file.

namespace eval ::etw::cli {
    # The current trigger: session, consumer, the file, snapshots written and left. Empty: none.
    variable trigger {}
}

# error; slow=DURATION; or an expression that C can evaluate.
proc ::etw::cli::TriggerOf {text} {
    if {$text eq "error"} {
        return {$provider eq "Tcl-Script" && $event eq "Leave" && $Code == 1}
    }
    if {[regexp {^slow\M=?(.*)$} $text -> duration]} {
        set ns [::etw::lib::nanoseconds $duration]
        if {$ns eq ""} {
            Usage "expected slow=DURATION with the unit ns, us, ms, s, min or h for \"--trigger\", for example slow=10ms, but got \"$text\"" OPTION --trigger
        }
        return "\$provider eq \"Tcl-Script\" && \$event eq \"Leave\" && \$Duration > $ns"
    }
    ::etw where $text -conly 1
    return $text
}

proc ::etw::cli::TriggerStart {session options} {
    variable trigger {}
    if {![dict exists $options trigger]} {
        return
    }
    set trigger [dict create session $session file [dict get $options file] written {} \
        left [Option $options snapshots 1]]
    dict set trigger consumer [::etw consume session:$session -where [dict get $options trigger] \
        -background 1 -command ::etw::cli::Triggered]
}

# The trigger has occurred: the first trace gets the file's name, the following ones FILE-2, FILE-3 ...
proc ::etw::cli::Triggered {args} {
    variable trigger
    if {$trigger eq "" || [dict get $trigger left] <= 0} {
        return
    }
    dict incr trigger left -1
    set file [dict get $trigger file]
    set n [expr {[llength [dict get $trigger written]] + 1}]
    if {$n > 1} {
        set file [file rootname $file]-$n[file extension $file]
    }
    ::etw snapshot [dict get $trigger session] $file
    dict lappend trigger written $file
}

# The remaining events of the session may also trigger; then end the consumer.
proc ::etw::cli::TriggerEnd {} {
    variable trigger
    if {$trigger eq ""} {
        return
    }
    set session [dict get $trigger session]
    catch {::etw flush $session}
    set end [expr {[clock milliseconds] + 300}]
    while {[dict get $trigger left] > 0 && [clock milliseconds] < $end} {
        Pause 10
    }
    catch {::etw consumer cancel [dict get $trigger consumer]}
}

proc ::etw::cli::TriggerSummary {options} {
    variable trigger
    if {[Option $options quiet 0]} {
        return
    }
    set written [dict get $trigger written]
    puts stderr "[Paint stderr green etw:] [expr {$written eq {} ? {the trigger did not fire: nothing was written}
        : "triggered: [join $written {, }]"}]"
}
