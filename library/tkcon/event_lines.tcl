# event_lines.tcl --
#
#	Events as lines for a console, in the same form and colours as by `etw dump` on a terminal. A line is a
#	list of pairs: style and text. Events that do not belong to the user's code are omitted: procs of Tcl,
#	tkcon and etw with everything inside of them, and kernel events while no traced call runs, or only its
#	event loop (otherwise showing an event would cause the next one).
#
#	Styles: plain, dim, bold, error, and numbers of terminal colours (31 to 36, 92 to 95).

namespace eval ::etw::tkcon::lines {
    # Open calls by thread: lists of {depth shown name}, outermost first.
    variable open {}
    # The thread of the last enter or leave: events of child processes are shown with it.
    variable thread ""
    # This process, determined once: [pid] is a system call, which would cause another event while those are
    # traced.
    variable self [pid]
    # Time of the first line; "": none yet.
    variable origin ""
    # Procs of Tcl, Tk, tkcon and this package.
    variable foreignPatterns {
        tcl::* tk::* ttk::* oo::* msgcat::* platform::* zlib::* safe::* pkg::* etw::* tkcon::* send::*
        alias auto_* bgerror clear dir dump echo edit history idebug less lremove ls more observe observe_var pkg_mkIndex parray
        tclLog tclPkg* tcl_* tkcon tkcon_* unalias unknown what which
    }
    # Those of them that are shown nevertheless.
    variable named {}
    # Name -> whether it is such a proc (cache).
    variable foreign
    array set foreign {}
    # Colours of providers (cache).
    variable colours {Tcl-Script 36}
    # Fields that identify an event's object are shown first, without their names. Minor fields are shown only in
    # the window of fields.
    variable subjects {FileName Syscall Command}
    variable minor {NameSource}
}

# Called before the first event of a session.
proc ::etw::tkcon::lines::Reset {} {
    variable open {}
    variable thread ""
    variable origin ""
    variable named {}
    variable foreign
    array unset foreign
}

# Show these procs, even if they are foreign.
proc ::etw::tkcon::lines::Name {names} {
    variable named
    variable foreign
    lappend named {*}$names
    array unset foreign
}

# True for a proc of Tcl, tkcon or this package. In "name words ..." only the name is relevant.
proc ::etw::tkcon::lines::Foreign {name} {
    variable foreign
    variable foreignPatterns
    variable named
    set name [string trimleft [NameOf $name] :]
    if {![info exists foreign($name)]} {
        if {[array size foreign] > 10000} {
            array unset foreign
        }
        set foreign($name) 0
        foreach pattern $foreignPatterns {
            if {[string match $pattern $name] && $name ni $named} {
                set foreign($name) 1
                break
            }
        }
    }
    return $foreign($name)
}

# The first word of a command, which may be truncated and then not be a list.
proc ::etw::tkcon::lines::NameOf {command} {
    set end [string first " " $command]
    return [expr {$end < 0 ? $command : [string range $command 0 [expr {$end - 1}]]}]
}

# The line of an event (a dict as in `etw consume`); empty: not shown.
proc ::etw::tkcon::lines::Of {event} {
    variable origin
    variable thread
    if {[dict get $event provider] eq "Tcl-Script"} {
        set thread [dict get $event tid]
        set parts [Script $event]
    } else {
        set parts [Other $event]
    }
    if {$parts eq ""} {
        return {}
    }
    if {$origin eq ""} {
        set origin [dict get $event time]
    }
    set level [lindex $parts 0]
    set seconds [expr {([dict get $event time] - $origin) / 1e9}]
    return [list dim [format "%+10.6f %s" $seconds [string repeat "  " [expr {min($level, 20)}]]] {*}[lrange $parts 1 end]]
}

# Process events that are not shown because there are too many; returns the number of script events. Calls open
# afterwards are unknown: their leaves are shown, kernel events in them are not.
proc ::etw::tkcon::lines::Skip {batch} {
    variable open {}
    set count 0
    foreach event $batch {
        incr count [expr {[dict get $event provider] eq "Tcl-Script"}]
    }
    return $count
}

# ---- Script events: {level style text ...} -------------------------------------------------------

proc ::etw::tkcon::lines::Script {event} {
    set props [dict get $event props]
    set name [dict get $event event]
    switch -- $name {
        Enter - CallbackEnter - PackageEnter {return [Enter $props]}
        Leave - CallbackLeave - PackageLeave {return [Leave $props]}
        Schedule {return {}}
    }
    if {![Inside $props]} {
        return {}
    }
    set level [llength [Open]]
    switch -- $name {
        StepEnter - StepLeave {set level [expr {[dict get $props Depth] - 1}]}
    }
    switch -- $name {
        StepEnter {return [list $level 36 ". " plain [OneLine [dict get $props Command]]]}
        StepLeave {return [list $level 36 ": " plain "[OneLine [dict get $props Command]]  " {*}[Outcome $props]]}
        Line {return [list $level dim "[Place $props]  " plain [OneLine [dict get $props Command]]]}
        Channel {return [list $level {*}[Channel $props]]}
    }
    return [list $level 36 "$name " plain [Fields [dict remove $props CallId Depth Context]]]
}

# Open calls of this thread.
proc ::etw::tkcon::lines::Open {} {
    variable open
    variable thread
    return [expr {[dict exists $open $thread] ? [dict get $open $thread] : {}}]
}

# Remove calls at `depth` and deeper; returns the one at `depth`, if known.
proc ::etw::tkcon::lines::CloseTo {depth} {
    variable open
    variable thread
    set calls [Open]
    set found {}
    while {[llength $calls] && [lindex $calls end 0] >= $depth} {
        if {[lindex $calls end 0] == $depth} {
            set found [lindex $calls end]
        }
        set calls [lrange $calls 0 end-1]
    }
    dict set open $thread $calls
    return $found
}

# True if the event is shown: depends on the enclosing call, otherwise on the proc in the event.
proc ::etw::tkcon::lines::Inside {props} {
    if {[dict exists $props Context] && [Foreign [dict get $props Context]]} {
        return 0
    }
    set calls [Open]
    return [expr {[llength $calls] == 0 || [lindex $calls end 1]}]
}

proc ::etw::tkcon::lines::Enter {props} {
    variable open
    variable thread
    set command [dict get $props Command]
    set depth [dict get $props Depth]
    set kind [expr {[dict exists $props Kind] ? [dict get $props Kind] : ""}]
    CloseTo $depth
    set level [llength [Open]]
    # tkcon evaluates each command through a lambda in namespace ::tcl (Tcl's history).
    set shown [expr {[Inside $props] && ![Foreign $command] && ![string match "apply {* ::tcl} *" $command]}]
    set name [expr {$kind eq "" ? [NameOf $command] : "\[$kind\] [OneLine $command]"}]
    # An event loop outside of traced calls is not shown, only the callbacks in it.
    if {$kind eq "loop" && $level == 0} {
        set name ""
    }
    dict lappend open $thread [list $depth $shown $name $kind]
    if {!$shown || $name eq ""} {
        return {}
    }
    set parts [list $level 36 "> " bold [expr {$kind eq "" ? [OneLine $command] : $name}]]
    if {[dict exists $props Queued] && [dict get $props Queued] > 0} {
        lappend parts plain "  queued " 33 [::etw::lib::Duration [dict get $props Queued]]
    }
    return $parts
}

# Leave events of callbacks and packages have no name.
proc ::etw::tkcon::lines::Leave {props} {
    set call [CloseTo [dict get $props Depth]]
    set name [expr {[dict exists $props Command] ? [dict get $props Command] : [lindex $call 2]}]
    if {$call ne "" ? (![lindex $call 1] || [lindex $call 2] eq "") : (![Inside $props] || [Foreign $name])} {
        return {}
    }
    return [list [llength [Open]] 36 "< " plain "[OneLine $name]  " {*}[Outcome $props]]
}

# Duration and outcome.
proc ::etw::tkcon::lines::Outcome {props} {
    set parts [list 33 [::etw::lib::Duration [dict get $props Duration]]]
    set code [dict get $props Code]
    set result [expr {[dict exists $props Result] ? [OneLine [dict get $props Result]] : ""}]
    if {$code == 1} {
        return [lappend parts error "  ! error $result"]
    }
    set said ""
    if {$code != 0} {
        set name [lindex {ok error return break continue} $code]
        append said "  " [expr {$name eq "" ? "code $code" : $name}]
    }
    if {$result ne ""} {
        append said "  = $result"
    }
    return [lappend parts plain $said]
}

# file.tcl:12, or the line in a body without a file.
proc ::etw::tkcon::lines::Place {props} {
    if {[dict get $props File] eq ""} {
        return "line [dict get $props Line]"
    }
    return "[file tail [dict get $props File]]:[dict get $props Line]"
}

proc ::etw::tkcon::lines::Channel {props} {
    set said [dict get $props Operation]
    if {[dict get $props Channel] ne ""} {
        append said " " [dict get $props Channel]
    }
    if {[dict get $props Bytes] != 0} {
        append said " [dict get $props Bytes] bytes"
    }
    if {[dict get $props Detail] ne ""} {
        append said " ([OneLine [dict get $props Detail]])"
    }
    set parts [list plain "$said  " 33 [::etw::lib::Duration [dict get $props Duration]]]
    if {[dict get $props Code] != 0} {
        lappend parts error "  ! error"
    }
    return $parts
}

# ---- Other events, mostly the kernel's -----------------------------------------------------------

proc ::etw::tkcon::lines::Other {event} {
    variable thread
    variable self
    set provider [dict get $event provider]
    if {$provider in {EventTrace Etw-Session}} {
        return {}
    }
    if {[dict get $event pid] == $self && [dict get $event tid] ne $thread} {
        return {}
    }
    lassign [lindex [Open] end] depth shown name kind
    if {$depth eq "" || !$shown || $kind eq "loop"} {
        return {}
    }
    set said "[dict get $event event] [Fields [dict get $event props]]"
    return [list [llength [Open]] [Colour $provider] "[regsub {^Linux-} $provider {}] " plain $said]
}

# A payload: the event's object, its result, then NAME=value.
proc ::etw::tkcon::lines::Fields {props} {
    variable subjects
    variable minor
    set first {}
    set result {}
    set rest {}
    dict for {name value} $props {
        if {$value eq "" || $name in $minor || ($name eq "Offset" && $value == -1)} { ;# -1: the file's own position
            continue
        }
        if {$name in $subjects} {
            lappend first [OneLine $value]
        } elseif {$name eq "Result"} {
            set result [list "= [OneLine $value]"]
        } elseif {[string match {Arg[0-9]} $name] && [string is entier -strict $value]} {
            lappend rest [format %s=0x%llx $name $value]
        } else {
            lappend rest $name=[OneLine $value]
        }
    }
    return [join [list {*}$first {*}$result {*}$rest] " "]
}

# The colour that the listing (generic/flow/render/listing/listing_layout.c) gives a provider.
proc ::etw::tkcon::lines::Colour {provider} {
    variable colours
    if {![dict exists $colours $provider]} {
        set hash 0
        foreach character [split $provider ""] {
            set hash [expr {(($hash ^ [scan $character %c]) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF}]
            set hash [expr {$hash ^ ($hash >> 32) ^ ($hash >> 48)}]
        }
        dict set colours $provider [lindex {33 35 34 32 93 95 94 92} [expr {($hash >> 32) & 7}]]
    }
    return [dict get $colours $provider]
}

# ---- Texts ---------------------------------------------------------------------------------------

# The first line of a text, without control characters.
proc ::etw::tkcon::lines::OneLine {text} {
    set text [string trim $text "\n"]
    set end [string first "\n" $text]
    if {$end >= 0} {
        set text "[string range $text 0 [expr {$end - 1}]] ..."
    }
    return [regsub -all {[[:cntrl:]]} [string map {\t " "} $text] \ufffd]
}
