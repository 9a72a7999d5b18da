# top.tcl --
#
#	etw top: counts events by kind, live, with losses. Uses a running session or its own one. On a terminal
#	each table replaces the previous one; otherwise they follow each other.

namespace eval ::etw::cli {
    # {provider event} -> count since the last table, and in total. Filled by TopBatch.
    variable topNow {}
    variable topAll {}
    # When counting began, in ns since 1970: earlier events of a session that ran already are no part of a rate.
    variable topSince 0
}

proc ::etw::cli::Top {args} {
    variable topNow {}
    variable topAll {}
    lassign [Parse top $args] options words
    if {[llength $words] > 1} {
        Usage "expected at most one session but got \"[join $words {" "}]\""
    }
    CheckNumbers $options {interval double count integer lines integer}
    ::etw::lib::child catch
    set own [expr {$words eq ""}]
    set session [expr {$own ? [TopStart $options] : [lindex $words 0]}]
    try {
        TopRun $session $options
    } finally {
        if {$own} {
            ::etw stop $session
        }
    }
    return 0
}

# Start a temporary session without a file.
proc ::etw::cli::TopStart {options} {
    set options [WithProfiles $options]
    if {![dict exists $options kernel] && ![dict exists $options provider]} {
        dict set options provider Tcl-Script
    }
    set session top-[pid]
    ::etw start $session -realtime 1 -kernellogger [dict exists $options kernel]
    try {
        EnableAll $session $options [Words [list [Option $options pids all]]]
    } on error {message how} {
        ::etw stop $session
        return -options $how $message
    }
    return $session
}

# Events are lists {time provider event}, which is the cheapest form.
proc ::etw::cli::TopBatch {events} {
    variable topNow
    variable topAll
    variable topSince
    foreach event $events {
        set kind [lassign $event time]
        if {$time < $topSince} {
            dict incr topAll $kind
        } else {
            dict incr topNow $kind
        }
    }
}

proc ::etw::cli::TopRun {session options} {
    variable topNow
    variable topSince [expr {wide([clock microseconds]) * 1000}]
    set where [expr {[dict exists $options where] ? [list -where [dict get $options where]] : {}}]
    set consumer [::etw consume session:$session -fields {time provider event} -as list -batch 4096 {*}$where \
        -background 1 -command ::etw::cli::TopBatch]
    set left [Option $options count -1]
    set ms [expr {max(int([Option $options interval 2] * 1000), 50)}]
    try {
        while {$left != 0 && [TopWait $session $ms]} {
            incr left -1
            TopShow $session $options [expr {$ms / 1000.0}]
        }
    } finally {
        catch {::etw consumer cancel $consumer}
    }
    if {$left != 0} {
        puts "[::etw::cli::TopTotal] events; ended by [expr {$session in [::etw sessions] ? {Ctrl-C} : {the session's end}}]"
    }
}

# False: Ctrl-C, or the session has ended.
proc ::etw::cli::TopWait {session ms} {
    set end [expr {[clock milliseconds] + $ms}]
    while {[clock milliseconds] < $end} {
        Pause [expr {max(1, min(100, $end - [clock milliseconds]))}]
        if {[lindex [::etw::lib::child interrupts] 0] > 0 || $session ni [::etw sessions]} {
            return 0
        }
    }
    return 1
}

proc ::etw::cli::TopTotal {} {
    variable topAll
    variable topNow
    return [expr [join [concat 0 [dict values $topAll] [dict values $topNow]] +]]
}

proc ::etw::cli::TopShow {session options seconds} {
    variable topNow
    variable topAll
    if {[catch {::etw query $session} info]} {
        return
    }
    dict for {key count} $topNow {
        dict incr topAll $key $count
    }
    set now $topNow
    set topNow {}
    set lines [TopTable $now $topAll $seconds [Option $options lines {}]]
    set lost [Lost [dict get $info lost]]
    set head "session [::etw::lib::visible [dict get $info name]]: [TopTotal] events, [Seconds [dict get $info duration]],\
        lost: [Paint stdout [expr {$lost eq {nothing} ? "green" : "red"}] $lost]"
    if {[Columns stdout] > 0} {
        puts -nonewline "\x1b\[H\x1b\[2J"
        set lines [lreplace $lines 0 0 [Paint stdout bold [lindex $lines 0]]]
    }
    puts $head
    puts [join $lines \n]
    flush stdout
}

# Most frequent kinds first.
proc ::etw::cli::TopTable {now all seconds rows} {
    if {$rows eq ""} {
        set rows 20
    }
    set table {}
    dict for {key total} $all {
        lassign $key provider event
        set count [expr {[dict exists $now $key] ? [dict get $now $key] : 0}]
        lappend table [list [format %.1f [expr {$count / $seconds}]] $total $provider $event]
    }
    set table [lsort -real -decreasing -index 0 [lsort -integer -decreasing -index 1 $table]]
    return [::etw::lib::Table {>EVENTS/S >TOTAL PROVIDER EVENT} [lrange $table 0 $rows-1]]
}
