# tkcon_model.tcl --
#
#	etw::tkcon without Tk: the trace of a process's consoles, of which there is one at a time: the traced
#	procs of each interpreter, the session and its file, the consumer whose events become lines
#	(event_lines.tcl), and the newest events by number, for showing their fields. It is in the topmost
#	interpreter, so that it can trace in all of them, and does not depend on tkcon.
#
#	Lines are passed to a command prefix as a list of rows: {number {style text ...}}. Number 0: a remark,
#	-1: omitted events.
#
#	States: idle -> running (start) -> draining (stop: earlier events are still delivered) -> idle.

namespace eval ::etw::tkcon::model {
    # The running session; "": none. Its consumer, which continues after it while draining.
    variable session ""
    variable consumer ""
    # Destination of lines, the interpreter that they belong to, and the maximum per second.
    variable sink {}
    variable home {}
    variable perSecond 200
    # Traced patterns: pairs of an interpreter's path and a pattern. Enabled kernel groups.
    variable traced {}
    variable kernel {}
    # The file of the last session, also after its end.
    variable file ""
    # Files to delete at the end; files that a viewer may be reading.
    variable temporary {}
    variable viewed {}
    # Number of sessions started, for their names.
    variable sessions 0
    # The result of the last session's stop; {}: running, or none.
    variable stats {}
    # Events by number, the newest `kept`.
    variable events
    array set events {}
    variable number 0
    variable kept 5000
    # Rows to be shown, and the timer for it.
    variable rows {}
    variable flushing ""
    # The current second: its start (ms), lines shown; events omitted since the last line, the timer for reporting
    # them.
    variable second 0
    variable shown 0
    variable more 0
    variable reportTimer ""
    # Interpreters whose deletion is watched.
    variable watched {}
}

# ---- What can be traced --------------------------------------------------------------------------

# Names of the procs of an interpreter, without leading colons, sorted; those of Tcl, tkcon and etw only with
# `all`.
proc ::etw::tkcon::model::Procs {path {all 0}} {
    set found {}
    set namespaces {::}
    while {[llength $namespaces]} {
        set namespaces [lassign $namespaces namespace]
        lappend namespaces {*}[interp eval $path [list namespace children $namespace]]
        foreach name [interp eval $path [list info procs [string trimright $namespace :]::*]] {
            if {$all || ![::etw::tkcon::lines::Foreign $name]} {
                lappend found [string trimleft $name :]
            }
        }
    }
    return [lsort -dictionary $found]
}

# A pattern that matches only this name.
proc ::etw::tkcon::model::Literal {name} {
    return [string map {\\ \\\\ * \\* ? \\? [ \\[ ] \\]} $name]
}

# Patterns in the form of `etw script add`: absolute, without leading colons. Relative ones refer to the given
# namespace.
proc ::etw::tkcon::model::Absolute {patterns namespace} {
    return [lmap pattern $patterns {
        if {![string match ::* $pattern] && $namespace ni {"" ::}} {
            set pattern ${namespace}::$pattern
        }
        string trimleft $pattern :
    }]
}

# The traced names of an interpreter, a dict of names and patterns: procs, and commands of other kinds that were
# named.
proc ::etw::tkcon::model::Traced {path} {
    variable traced
    set procs [Procs $path 1]
    set found {}
    foreach pair $traced {
        lassign $pair at pattern
        if {$at ne $path} {
            continue
        }
        foreach name $procs {
            if {[string match $pattern $name] && ([Literal $name] eq $pattern || ![::etw::tkcon::lines::Foreign $name])} {
                dict set found $name $pattern
            }
        }
        set command [string trimleft [interp eval $path [list info commands ::$pattern]] :]
        if {[Literal $command] eq $pattern} {
            dict set found $command $pattern
        }
    }
    return $found
}

# ---- Start ---------------------------------------------------------------------------------------

# Trace the procs of an interpreter that match the patterns: in a new session, or in the running one, which is
# unchanged if this fails. Lines are passed to the prefix; `home` is the interpreter that they belong to, and the
# trace ends with it. Options:
#
# 	-steps off|line|full	as in `etw script add`
# 	-kernel GROUPS	kernel events; an error if they are not available
# 	-wish GROUPS	the same, but unavailable groups are reported in a line
# 	-file FILE	keep the trace there. By default, a file that is deleted at the end
# 	-lines N	maximum number of lines shown per second
proc ::etw::tkcon::model::Start {prefix home path patterns options} {
    variable session
    Tidy
    set fresh [expr {$session eq ""}]
    if {!$fresh && [dict exists $options -file]} {
        return -code error -errorcode [list ETW STATE RUNNING $session] \
            "a trace is running: stop it before you start one in another file"
    }
    if {$fresh} {
        Open $prefix $home $options
    }
    try {
        Add $path $patterns [expr {[dict exists $options -steps] ? [dict get $options -steps] : "off"}]
        Kernel $options
    } on error {message how} {
        if {$fresh} {
            Abort
        }
        return -options $how $message
    }
    if {[dict exists $options -lines]} {
        variable perSecond [dict get $options -lines]
    }
    ReportTraced $path $patterns
}

# The words of a command: patterns, then options, with `defaults` for those not given.
proc ::etw::tkcon::model::Words {words defaults} {
    set at 0
    while {$at < [llength $words] && ![string match -* [lindex $words $at]]} {
        incr at
    }
    set patterns [lrange $words 0 [expr {$at - 1}]]
    set options [::etw::lib::Options {-file -kernel -lines -steps} [lrange $words $at end]]
    if {[dict exists $options -kernel]} {
        dict unset defaults -wish
    }
    foreach lines [dict values [dict filter $options key -lines]] {
        if {![string is integer -strict $lines] || $lines < 1} {
            return -code error -errorcode {ETW ARG NUMBER -lines} \
                "expected a number of 1 or more for \"-lines\" but got \"$lines\""
        }
    }
    return [list $patterns [dict merge $defaults $options]]
}

# Start a new session. The temporary file of the previous one is deleted, unless a viewer may have it open.
proc ::etw::tkcon::model::Open {prefix from options} {
    variable home
    variable session
    variable consumer
    variable sink
    variable file
    variable sessions
    variable stats
    if {$consumer ne ""} {
        Drained
    }
    set path [expr {[dict exists $options -file] ? [file normalize [dict get $options -file]] : [TemporaryFile]}]
    set name tkcon-[pid]-[incr sessions]
    try {
        ::etw start $name -file $path -realtime 1 -kernellogger [::etw pkgconfig get kernel]
        set session $name
        set file $path
        set stats {}
        set sink $prefix
        set home $from
        Watch $home
        ::etw enable $name Tcl-Script
        ::etw::tkcon::lines::Reset
        set consumer [::etw consume session:$name -background 1 -batch 500 \
            -where "\$provider eq {Tcl-Script} || \$tid == [pid] || \$pid != [pid]" -command ::etw::tkcon::model::Show]
    } on error {message how} {
        Abort
        return -options $how $message
    }
}

proc ::etw::tkcon::model::TemporaryFile {} {
    variable temporary
    variable viewed
    set temporary [lmap path $temporary {
        if {$path ni $viewed && ![catch {file delete $path}]} continue
        set path
    }]
    close [file tempfile path etw-tkcon.etl]
    lappend temporary $path
    return $path
}

# Add patterns of one interpreter: all or none.
proc ::etw::tkcon::model::Add {path patterns steps} {
    variable traced
    set new [lmap pattern $patterns {
        if {[list $path $pattern] in $traced} continue
        set pattern
    }]
    try {
        ::etw script add {*}$patterns -steps $steps -interp $path
    } on error {message how} {
        if {[llength $new]} {
            catch {::etw script remove {*}$new -interp $path}
        }
        return -options $how $message
    }
    lappend traced {*}[lmap pattern $new {list $path $pattern}]
    ::etw::tkcon::lines::Name [lsearch -all -inline -not -regexp $new {[][*?\\]}]
    Watch $path
}

proc ::etw::tkcon::model::Kernel {options} {
    variable session
    variable kernel
    if {[dict exists $options -kernel]} {
        set groups [dict get $options -kernel]
        if {[llength $groups]} {
            ::etw enable $session kernel $groups
        }
        lappend kernel {*}$groups
    } elseif {[dict exists $options -wish]} {
        lappend kernel {*}[KernelRequest [dict get $options -wish]]
    }
    set kernel [lsort -unique $kernel]
}

# Enable the available groups, in one call if all are available.
proc ::etw::tkcon::model::KernelRequest {groups} {
    variable session
    variable kernel
    set groups [lmap group $groups {
        if {$group in $kernel} continue
        set group
    }]
    if {[llength $groups] == 0 || ![catch {::etw enable $session kernel $groups}]} {
        return $groups
    }
    set had {}
    foreach group $groups {
        if {[catch {::etw enable $session kernel $group} message]} {
            dict lappend missing $message $group
        } else {
            lappend had $group
        }
    }
    dict for {message names} $missing {
        Remark dim "no kernel events ([join $names {, }]): $message"
    }
    return $had
}

# Report what will be shown.
proc ::etw::tkcon::model::ReportTraced {path patterns} {
    variable kernel
    set found [Traced $path]
    foreach pattern $patterns {
        if {$pattern ni [dict values $found]} {
            Remark dim "no proc matches \"$pattern\" yet: those to come will be traced"
        }
    }
    set names [lsort -dictionary [dict keys $found]]
    set said "tracing [Count [llength $names] proc]"
    if {[llength $names] in {1 2 3 4 5}} {
        append said ": [join $names {, }]"
    }
    if {[llength $kernel]} {
        append said "; the kernel's [join $kernel {, }]"
    }
    Remark dim $said
}

# ---- Stop ----------------------------------------------------------------------------------------

# End the session; its last events are still shown. Returns the file. If stopping fails, the session is kept for
# another try.
proc ::etw::tkcon::model::Stop {} {
    variable session
    variable stats
    variable file
    Tidy
    if {$session eq ""} {
        return -code error -errorcode {ETW STATE STOPPED} "nothing is traced"
    }
    set stats [::etw stop $session]
    Ended
    after 20 ::etw::tkcon::model::Drain 1
    return $file
}

# Remove patterns of an interpreter from the trace, which continues.
proc ::etw::tkcon::model::Remove {path patterns} {
    variable traced
    foreach pattern $patterns {
        if {[list $path $pattern] ni $traced} {
            return -code error -errorcode [list ETW LOOKUP PATTERN $pattern] "\"$pattern\" is not traced"
        }
    }
    ::etw script remove {*}$patterns -interp $path
    set traced [lmap pair $traced {
        if {[lindex $pair 0] eq $path && [lindex $pair 1] in $patterns} continue
        set pair
    }]
    return
}

# The session has ended: nothing is traced.
proc ::etw::tkcon::model::Ended {} {
    variable session ""
    variable traced
    variable kernel {}
    foreach pair $traced {
        lassign $pair path pattern
        catch {::etw script remove $pattern -interp $path} ;# the interpreter may have been deleted
    }
    set traced {}
}

# Clean up after a session that was stopped elsewhere.
proc ::etw::tkcon::model::Tidy {} {
    variable session
    if {$session ne "" && $session ni [::etw sessions]} {
        Ended
        Remark dim "the session was stopped by another process"
        Drained
    }
}

# Clean up after a failed start.
proc ::etw::tkcon::model::Abort {} {
    variable session
    if {$session ne ""} {
        catch {::etw stop $session}
    }
    Ended
    Drained
    TemporaryFiles
}

# Wait in the background until the consumer has delivered all events; at most ten seconds.
proc ::etw::tkcon::model::Drain {turn} {
    variable consumer
    if {$consumer eq ""} {
        return
    }
    if {[dict get [::etw consumer info $consumer] state] eq "running" && $turn < 500} {
        after 20 ::etw::tkcon::model::Drain [incr turn]
        return
    }
    Drained
}

proc ::etw::tkcon::model::Drained {} {
    variable consumer
    variable stats
    set dropped 0
    if {$consumer ne ""} {
        set dropped [dict get [::etw consumer info $consumer] dropped]
        ::etw consumer cancel $consumer
        set consumer ""
    }
    ReportDropped
    if {[dict size $stats]} {
        Remark {*}[Summary $stats $dropped]
    }
    Flush
}

# A style and a text.
proc ::etw::tkcon::model::Summary {stats dropped} {
    variable file
    variable temporary
    set lost [dict remove [dict get $stats lost] consumer]
    set sum [tcl::mathop::+ {*}[dict values $lost]]
    set said "stopped: [Count [dict get $stats events] event], "
    append said [expr {$sum == 0 ? "nothing lost" : "$sum lost ([dict filter $lost script {kind n} {expr {$n > 0}}])"}]
    if {$dropped > 0} {
        append said ", $dropped came too fast for the console"
    }
    append said [expr {$file in $temporary ? "; \"etw::tkcon save FILE\" keeps them" : ", in $file"}]
    return [list [expr {$sum == 0 ? "dim" : "error"}] $said]
}

# The process exits: delete all files.
proc ::etw::tkcon::model::Exit {args} {
    variable viewed {}
    Quit
}

# The console ends: end the session, and delete all files except those open in a viewer.
proc ::etw::tkcon::model::Quit {} {
    variable session
    variable sink {}
    if {$session ne ""} {
        catch {::etw stop $session}
    }
    Ended
    Drained
    TemporaryFiles
}

# Delete the files that no viewer has open.
proc ::etw::tkcon::model::TemporaryFiles {} {
    variable temporary
    variable viewed
    variable file
    foreach path $temporary {
        if {$path ni $viewed} {
            catch {file delete $path}
            if {$path eq $file} {
                set file ""
            }
        }
    }
    set temporary [lmap path $temporary {
        if {![file exists $path]} continue
        set path
    }]
}

# ---- Deletion of interpreters --------------------------------------------------------------------

# Watch the deletion of an interpreter, through its command in the parent interpreter.
proc ::etw::tkcon::model::Watch {path} {
    variable watched
    if {[llength $path] == 0 || $path in $watched} {
        return
    }
    set above [lrange $path 0 end-1]
    set callback [list ::etw::tkcon::model::Gone $path]
    if {[llength $above]} {
        set callback ::etw::tkcon::gone-[llength $watched]
        interp alias $above $callback {} ::etw::tkcon::model::Gone $path
    }
    if {![catch {interp eval $above [list trace add command [lindex $path end] delete $callback]}]} {
        lappend watched $path
    }
}

# Called while the interpreter still exists.
proc ::etw::tkcon::model::Gone {path args} {
    variable watched
    variable traced
    variable session
    variable home
    set watched [lsearch -all -inline -exact -not $watched $path]
    if {[lrange $home 0 [llength $path]-1] eq $path} {
        Quit
        return
    }
    foreach pair $traced {
        lassign $pair at pattern
        if {[lrange $at 0 [llength $path]-1] eq $path} {
            set hit 1
            catch {::etw script remove $pattern -interp $at}
            set traced [lsearch -all -inline -exact -not $traced $pair]
        }
    }
    if {[info exists hit] && $session ne ""} {
        Remark dim "the interpreter \"$path\" is gone, and its traces"
    }
}

# ---- The file ------------------------------------------------------------------------------------

# Flush the session and return the file, for a viewer.
proc ::etw::tkcon::model::File {} {
    variable session
    variable file
    variable viewed
    Tidy
    if {$file eq ""} {
        return -code error -errorcode {ETW STATE EMPTY} "nothing has been traced yet"
    }
    if {$session ne ""} {
        ::etw flush $session
    }
    lappend viewed $file
    return $file
}

proc ::etw::tkcon::model::Save {path} {
    set path [file normalize $path]
    file copy -force [File] $path
    return $path
}

proc ::etw::tkcon::model::Status {} {
    variable session
    variable traced
    variable kernel
    variable file
    variable stats
    Tidy
    set now [expr {$session eq "" ? $stats : [::etw query $session]}]
    set status [dict create session $session traced $traced kernel $kernel file $file]
    foreach key {events lost} {
        dict set status $key [expr {[dict size $now] ? [dict get $now $key] : {}}]
    }
    return $status
}

# ---- Events --------------------------------------------------------------------------------------

# The consumer's command.
proc ::etw::tkcon::model::Show {batch} {
    variable rows
    variable more
    variable shown
    set at 0
    foreach event $batch {
        if {![Room]} {
            incr more [::etw::tkcon::lines::Skip [lrange $batch $at end]]
            break
        }
        incr at
        set line [::etw::tkcon::lines::Of $event]
        if {$line ne ""} {
            lappend rows [list [Keep $event] $line]
            incr shown
        }
    }
    Flush 30
}

# True if another line may be shown in this second.
proc ::etw::tkcon::model::Room {} {
    variable second
    variable shown
    variable perSecond
    variable more
    variable reportTimer
    set now [clock milliseconds]
    if {$now - $second >= 1000 || $now < $second} {
        ReportDropped
        set second $now
        set shown 0
    }
    if {$shown < $perSecond} {
        return 1
    }
    if {$reportTimer eq ""} {
        set reportTimer [after [expr {1000 - ($now - $second)}] {::etw::tkcon::model::ReportDropped; ::etw::tkcon::model::Flush}]
    }
    return 0
}

proc ::etw::tkcon::model::ReportDropped {} {
    variable more
    variable rows
    variable reportTimer
    after cancel $reportTimer
    set reportTimer ""
    if {$more > 0} {
        lappend rows [list -1 [list dim "... [Count $more {more event}], in the file"]]
        set more 0
    }
}

proc ::etw::tkcon::model::Remark {style text} {
    variable rows
    lappend rows [list 0 [list $style "-- $text"]]
    Flush 0
}

# Pass the rows to the console now, or after a delay, which reduces the cost of single events.
proc ::etw::tkcon::model::Flush {{ms ""}} {
    variable rows
    variable flushing
    variable sink
    if {$ms ne ""} {
        if {$flushing eq "" && [llength $rows]} {
            set flushing [after $ms ::etw::tkcon::model::Flush]
        }
        return
    }
    after cancel $flushing
    set flushing ""
    if {[llength $rows] && [llength $sink]} {
        set now $rows
        set rows {}
        {*}$sink $now
    }
    set rows {}
}

proc ::etw::tkcon::model::Keep {event} {
    variable events
    variable number
    variable kept
    set events([incr number]) $event
    unset -nocomplain events([expr {$number - $kept}])
    return $number
}

# Names and values of an event's fields: the header's, then the payload's.
proc ::etw::tkcon::model::Fields {number} {
    variable events
    if {![info exists events($number)]} {
        return -code error -errorcode [list ETW LOOKUP EVENT $number] "the event is no longer in memory: open the viewer, which reads the file"
    }
    set event $events($number)
    set ns [dict get $event time]
    dict set event time "[clock format [expr {$ns / 1000000000}] -format {%Y-%m-%d %H:%M:%S}].[format %09lld \
        [expr {$ns % 1000000000}]]"
    return [list {*}[dict remove $event props] {*}[dict get $event props]]
}

proc ::etw::tkcon::model::Count {n noun} {
    return "$n $noun[expr {$n == 1 ? {} : {s}}]"
}
