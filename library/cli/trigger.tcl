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

# Usage error for a name in the expression that no event can have, where only scripts are recorded.
proc ::etw::cli::CheckTriggerFields {options} {
    foreach name {provider kernel profile} {
        if {[dict exists $options $name]} {
            return
        }
    }
    set known [::etw::lib::headerFields]
    dict for {event about} [dict get [::etw provider describe Tcl-Script -events 1] documentation] {
        lappend known {*}[dict keys [dict get $about fields]]
    }
    set text [dict get $options trigger]
    foreach {- name} [regexp -all -inline {\$(\w+)(?![\w(:])} $text] {
        if {$name ni $known} {
            Usage "no event of Tcl-Script has the field \"$name\" of \"--trigger\"[DidYouMean $name $known]" OPTION --trigger
        }
    }
}

proc ::etw::cli::TriggerStart {session options} {
    variable trigger {}
    if {![dict exists $options trigger]} {
        return
    }
    set trigger [dict create session $session file [dict get $options file] where [dict get $options trigger] written {} \
        left [Option $options snapshots 1]]
    if {![Option $options quiet 0]} {
        Note "the newest events are kept in memory; \"etw snapshot $session FILE\" writes them without a trigger"
    }
    dict set trigger consumer [::etw consume session:$session -where [dict get $options trigger] \
        -background 1 -command ::etw::cli::Triggered]
}

# The trigger has occurred: the first trace gets the file's name, the following ones FILE-2, FILE-3 ...
proc ::etw::cli::Triggered {event} {
    variable trigger
    if {$trigger eq "" || [dict get $trigger left] <= 0} {
        return
    }
    ::etw snapshot [dict get $trigger session] [TriggerFile]
    TriggerWritten $event
}

# The file of the next trace.
proc ::etw::cli::TriggerFile {} {
    variable trigger
    set file [dict get $trigger file]
    set n [expr {[llength [dict get $trigger written]] + 1}]
    return [expr {$n == 1 ? $file : "[file rootname $file]-$n[file extension $file]"}]
}

# Note that the file of the next trace was written because of this event.
proc ::etw::cli::TriggerWritten {event} {
    variable trigger
    dict lappend trigger written [list [TriggerFile] [TriggerEvent $event]]
    dict set trigger time [dict get $event time]
    dict incr trigger left -1
}

# The event in a few words: the call and how long it took, otherwise the event's name.
proc ::etw::cli::TriggerEvent {event} {
    set props [dict get $event props]
    set text [expr {[dict exists $props Command] ? [dict get $props Command] : "[dict get $event provider] [dict get $event event]"}]
    if {[string length $text] > 60} {
        set text [string range $text 0 56]...
    }
    if {[dict exists $props Duration]} {
        append text ", [format %.3f [expr {[dict get $props Duration] / 1e6}]] ms"
    }
    if {[dict exists $props Code] && [dict get $props Code] == 1} {
        append text ", failed"
    }
    return "$text (process [dict get $event pid])"
}

# The end of the recording. The consumer may be behind, so that all events that are still in memory are examined here.
proc ::etw::cli::TriggerEnd {} {
    variable trigger
    if {$trigger eq "" || [dict exists $trigger info] || [dict get $trigger session] ni [::etw sessions]} {
        return
    }
    set session [dict get $trigger session]
    ::etw flush $session
    update
    dict set trigger info [::etw consumer cancel [dict get $trigger consumer]]
    if {[dict get $trigger left] <= 0} {
        return
    }
    set part [dict get $trigger file].part-[pid]
    try {
        ::etw snapshot $session $part
        set after [expr {[dict exists $trigger time] ? [list -from [expr {[dict get $trigger time] + 1}]] : {}}]
        set found [::etw events $part -where [dict get $trigger where] {*}$after -limit 1 -warnings warnings]
        set overwritten [dict get [::etw query $session] overwritten]
        dict set trigger warnings $warnings
        dict set trigger missed [expr {max(0, $overwritten - [dict get $trigger info examined])}]
        if {$found ne ""} {
            file rename -force -- $part [TriggerFile]
            TriggerWritten [lindex $found 0]
        }
    } finally {
        file delete -- $part
    }
}

proc ::etw::cli::TriggerSummary {options} {
    variable trigger
    foreach one [dict get $trigger written] {
        lassign $one file event
        if {![Option $options quiet 0]} {
            puts stderr "[Paint stderr green etw:] [::etw::lib::visible "triggered by $event: $file"]"
        }
    }
    if {[dict get $trigger written] ne ""} {
        return
    }
    set missed [Option $trigger missed 0]
    puts stderr "[Paint stderr yellow etw:] the trigger did not fire: nothing was written[expr {$missed == 0 ? {}
        : "; $missed events were overwritten before they were examined: trace less, or use more --buffers"}]"
    foreach warning [Option $trigger warnings {}] {
        Note [::etw::lib::visible $warning]
    }
}

# etw snapshot NAME FILE
proc ::etw::cli::Snapshot {args} {
    if {[llength $args] != 2} {
        Usage "expected the name of a session and a file: etw snapshot NAME FILE"
    }
    lassign $args session file
    ::etw snapshot $session $file
    set info [::etw info $file]
    set events [dict get $info events]
    puts "$file: $events [expr {$events == 1 ? {event} : {events}}],\
        [Seconds [expr {$events == 0 ? 0 : [dict get $info last] - [dict get $info first]}]], [Bytes [dict get $info size]]"
    return 0
}
