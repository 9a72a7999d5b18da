# sessions.tcl --
#
#	Session commands of the tool: list, query, start and hold, stop. Also lists providers.

# ---- Listing -------------------------------------------------------------------------------------

proc ::etw::cli::Sessions {args} {
    lassign [Parse sessions $args] options words
    if {[llength $words] > 1} {
        Usage "expected at most one pattern but got \"[join $words {" "}]\""
    }
    CheckNumbers $options {interval double}
    if {[dict exists $options interval]} {
        ::etw sessions -long 1 ;# start of the interval for rates
        Pause [expr {int(ceil([dict get $options interval] * 1000))}]
    }
    set rows {}
    foreach info [::etw sessions {*}$words -long 1] {
        dict with info {
            lappend rows [list $name $user $owner [Kind $info] [Seconds $duration] [llength $providers] $events \
                [format %.0f $rate] [Bytes $bytes] $usedbuffers/$maxbuffers [Lost $lost] $file]
        }
    }
    if {$rows eq ""} {
        puts "no session runs"
        return 0
    }
    puts [join [::etw::lib::Table {NAME USER >PID MODE >AGE >PROVIDERS >EVENTS >EVENTS/S >WRITTEN >BUFFERS LOST FILE} $rows] \n]
    return 0
}

# The destination of a session's events: file, live, file+live, memory; for other modes of files the mode.
proc ::etw::cli::Kind {info} {
    set kind [dict get $info mode]
    if {$kind eq "sequential"} {
        set kind [expr {[dict get $info file] eq "" ? {} : "file"}]
    }
    return [join [concat $kind [expr {[dict get $info realtime] ? "live" : {}}]] +]
}

proc ::etw::cli::Flush {args} {
    if {$args eq ""} {
        Usage "no session was given; \"etw sessions\" lists those that run"
    }
    foreach name $args {
        set info [::etw flush $name]
        set file [dict get $info file]
        puts "[dict get $info name]: [dict get $info events] events[expr {$file eq {} ? {} : ", [Bytes [dict get $info bytes]] in $file"}], lost: [Lost [dict get $info lost]]"
    }
    return 0
}

# etw recover: any access to sessions recovers, so that this command mostly reports that there is nothing to do.
proc ::etw::cli::Recover {args} {
    if {$args ne ""} {
        Usage "\"etw recover\" has no arguments"
    }
    set failed 0
    set recovered [::etw recover]
    foreach session $recovered {
        dict with session {
            if {$error eq ""} {
                puts "$name: its process $owner was killed; $events events that were still in memory were added to $file"
            } else {
                puts stderr "[Paint stderr red {etw:}] $name: its process $owner was killed; its events are still in memory: [::etw::lib::visible $error]"
                incr failed
            }
        }
    }
    if {$recovered eq ""} {
        puts "no session has to be recovered"
    }
    return [expr {$failed > 0}]
}

# etw query: all sessions if none is named.
proc ::etw::cli::Query {args} {
    if {$args eq ""} {
        return [Sessions]
    }
    foreach name $args {
        set info [::etw query $name]
        foreach one [::etw sessions -long 1] {
            if {[dict get $one engine] eq [dict get $info engine] && [dict get $one name] eq [dict get $info name]} {
                set info [dict merge $info [dict filter $one key rate providers]]
            }
        }
        ShowSession $info
    }
    return 0
}

proc ::etw::cli::ShowSession {info} {
    set rows {}
    dict for {key value} $info {
        switch -- $key {
            started {set value [clock format [expr {$value / 1000000000}] -format {%Y-%m-%d %H:%M:%S}]}
            duration {set value [Seconds $value]}
            bytes {set value [Bytes $value]}
            lost {set value [Lost $value]}
            rate {set value "[format %.0f $value] events/s"}
            providers {set value [join [lmap {name enabled} $value {EnabledProvider $name $enabled}] {, }]}
        }
        lappend rows [list $key $value]
    }
    puts [join [lrange [::etw::lib::Table {{} {}} $rows] 1 end] \n]
}

# A provider in the notation of `-p`: NAME:LEVEL:KEYWORDS, without parts that mean "everything".
proc ::etw::cli::EnabledProvider {name enabled} {
    dict with enabled {
        set masks [expr {$any == 0xFFFFFFFFFFFFFFFF ? {} : [format 0x%llx $any]}]
        set level [expr {$level == 255 ? {} : $level}]
    }
    return [string trimright $name:$level:$masks :]
}

# A group of kernel events: what it records, and its events or one of these.
proc ::etw::cli::DescribeGroup {groups group {event {}}} {
    set names [dict keys $groups]
    set name [lsearch -inline -exact -nocase $names $group]
    if {$name eq ""} {
        return -code error -errorcode [list ETW LOOKUP GROUP $group] \
            "the kernel has no group \"$group\"[DidYouMean $group $names] \"etw describe kernel\" lists the groups"
    }
    if {$event eq ""} {
        puts "$name: [dict get $groups $name]"
    }
    if {![DescribeDeclared Linux-$name $event] && $event ne ""} {
        return -code error -errorcode [list ETW LOOKUP EVENT $event] "the events of the group \"$name\" are not described one by one"
    }
    return 0
}

proc ::etw::cli::Describe {args} {
    if {$args in {{} {{}}}} {
        Usage "no provider was given: give a name, a GUID, or \"kernel\""
    }
    if {[lindex $args 0] eq "kernel"} {
        set groups [dict filter [::etw provider describe kernel] script {name about} {expr {![string match linux:* $name]}}]
        if {[llength $args] > 1} {
            return [DescribeGroup $groups {*}[lrange $args 1 end]]
        }
        set rows {}
        dict for {name about} $groups {
            lappend rows [list $name $about]
        }
        puts [join [lrange [::etw::lib::Table {{} {}} $rows] 1 end] \n]
        puts "Each tracepoint of the kernel as well: linux:SYSTEM:EVENT."
        return 0
    }
    if {[DescribeDeclared {*}[lrange [concat $args {{}}] 0 1]]} {
        return 0
    }
    if {![catch {::etw schema describe {*}$args -format text} text how]} {
        puts $text
        return 0
    }
    # Not in a description: a provider that is registered, whose events are known to its program only.
    if {[llength $args] != 1 || [catch {::etw provider describe [lindex $args 0]} known]} {
        return -options $how $text
    }
    set rows {}
    dict for {key value} $known {
        lappend rows [list $key [expr {$value eq "" ? "-" : $value}]]
    }
    puts [join [lrange [::etw::lib::Table {{} {}} $rows] 1 end] \n]
    puts "A program has registered this provider. Its events are described in the traces that have some:\
        \"etw record -p [lindex $args 0]\" records them, \"etw dump\" shows their names and fields."
    return 0
}

# ---- Start and stop ------------------------------------------------------------------------------

# The options of `etw start` among those of the tool.
proc ::etw::cli::StartOptions {options} {
    set start {}
    foreach name {file maxsize buffersize buffers mode compress realtime lossless} {
        if {[dict exists $options $name]} {
            dict set start -$name [dict get $options $name]
        }
    }
    return $start
}

# Enable what the options name: providers, and kernel groups for `pids`. With the option `later`, a provider may be one that a program
# registers only later: its GUID is that of its name.
proc ::etw::cli::EnableAll {session options pids} {
    foreach provider [Option $options provider {}] {
        set settings [lassign [::etw::lib::ProviderWords $provider] name]
        lappend settings -pids [ProviderPids $session $options]
        try {
            ::etw enable $session $name {*}$settings
        } trap {ETW LOOKUP PROVIDER} {message how} {
            if {![Option $options later 0]} {
                return -options $how $message
            }
            if {[llength [lmap keyword [Option $settings -any {}] {expr {[string is entier -strict $keyword] ? [continue] : $keyword}}]] > 0} {
                Usage "no program has registered the provider \"$name\" yet, so that the names of its keywords are unknown: give the numbers of the keywords,\
                    for example \"--provider $name:[Option $settings -level 5]:0x1\"" OPTION --provider
            }
            ::etw enable $session [::etw::lib::guidOf $name] {*}$settings
            if {![Option $options quiet 0]} {
                Note "no program has registered the provider \"$name\" yet: its events are recorded from then on"
            }
        }
    }
    try {
        EnableKernel $session $options $pids
    } trap {ETW ACCESS} {message how} - trap {ETW UNSUPPORTED} {message how} - trap {ETW WIN32} {message how} {
        if {![Option $options kernel-default 0]} {
            return -options $how $message
        }
        Note "only script events are recorded, no kernel events: $message"
    }
}

proc ::etw::cli::EnableKernel {session options pids} {
    if {$pids ne "all" && [dict exists $options kernel] && [dict get [::etw query $session] engine] eq "system"} {
        Note "Windows' kernel events are those of all processes: --where '\$pid == $pids' selects the program's when they are read"
        set pids all
    }
    if {[pid] ni $pids} {
        # What this program itself does is no part of the trace. Tcl 8.6 starts a thread when it first waits.
        Pause 1
        ::etw::lib::child hide
    }
    set settings [list -pids $pids -stacks [Option $options stacks 0]]
    if {[dict exists $options unwind]} {
        lappend settings -unwind [dict get $options unwind]
    }
    if {[dict exists $options interval]} {
        lappend settings -interval [dict get $options interval]
    }
    foreach group [Words [Option $options kernel {}]] {
        if {[string match linux:* $group]} {
            ::etw enable $session $group {*}$settings
        } else {
            lappend groups $group
        }
    }
    if {[info exists groups]} {
        ::etw enable $session kernel $groups {*}$settings
    }
}

# The processes whose script and provider events a session takes. Windows' own engine filters only by process id.
proc ::etw::cli::ProviderPids {session options} {
    if {[dict exists $options attach]} {
        return [dict get $options attach]
    }
    if {[Option $options scope all] eq "program" && [dict get [::etw query $session] engine] eq "embedded"} {
        return scope
    }
    return all
}

proc ::etw::cli::Option {options name default} {
    return [expr {[dict exists $options $name] ? [dict get $options $name] : $default}]
}

# Values of a repeatable option, each with commas -> one list.
proc ::etw::cli::Words {values} {
    return [concat {*}[lmap value $values {split [string map {, { }} $value]}]]
}

# etw start NAME: a logger process runs the session; with --hold or --duration, this process.
proc ::etw::cli::Start {args} {
    if {[llength $args] > 0 && ![string match -* [lindex $args 0]]} {
        set args [concat [lrange $args 1 end] [list [lindex $args 0]]]
    }
    lassign [Parse start $args] options words
    if {[llength $words] != 1} {
        Usage "expected one name for the session but got [llength $words] words"
    }
    set session [lindex $words 0]
    set options [WithProfiles $options]
    set hold [expr {[dict exists $options hold] || [dict exists $options duration]}]
    ::etw::lib::child catch
    ::etw start $session -detached [expr {!$hold}] -kernellogger [dict exists $options kernel] {*}[StartOptions $options]
    if {!$hold} {
        return [StartDetached $session $options]
    }
    try {
        EnableAll $session $options [Words [list [Option $options pids all]]]
        puts "session $session runs; Ctrl-C stops it"
        flush stdout
        Hold $session [Option $options duration 0]
    } finally {
        set stats [::etw stop $session]
    }
    Summary $options $stats
    return 0
}

proc ::etw::cli::StartDetached {session options} {
    try {
        EnableAll $session $options [Words [list [Option $options pids all]]]
    } on error {message how} {
        catch {::etw stop $session}
        return -options $how $message
    }
    if {![Option $options quiet 0]} {
        puts "session $session runs; \"etw stop $session\" ends it"
    }
    return 0
}

# Wait until Ctrl-C, the session's end, a process's end, or a number of seconds.
proc ::etw::cli::Hold {session seconds {pid {}}} {
    set end [expr {$seconds > 0 ? [clock milliseconds] + wide($seconds * 1000) : 0}]
    while {[lindex [::etw::lib::child interrupts] 0] == 0 && $session in [::etw sessions]
            && ($end == 0 || [clock milliseconds] < $end) && ($pid eq "" || [IsProcess $pid])} {
        Pause 100
        Progress $session $end $seconds
    }
    BarEnd
}

# Run the event loop for some time.
proc ::etw::cli::Pause {ms} {
    variable paused 0
    after $ms {set ::etw::cli::paused 1}
    vwait ::etw::cli::paused
}

# On a terminal: show the elapsed part and the session's counters.
proc ::etw::cli::Progress {session end seconds} {
    if {[Columns stderr] == 0 || [catch {::etw query $session} info]} {
        return
    }
    set part [expr {$end == 0 ? -1 : 1 - ($end - [clock milliseconds]) / ($seconds * 1000.0)}]
    Bar $part "$session: [dict get $info events] events, [Bytes [dict get $info bytes]], lost: [Lost [dict get $info lost]]"
}

proc ::etw::cli::Stop {args} {
    if {$args eq ""} {
        Usage "no session was given; \"etw sessions\" lists those that run"
    }
    foreach name $args {
        Summary {} [::etw stop $name] stdout
    }
    return 0
}

# "1 event", "3 events", or "kept the newest 3 of 10 events" if a file or the memory has only the newest.
proc ::etw::cli::KeptEvents {stats} {
    set events [dict get $stats events]
    set text "$events [expr {$events == 1 ? {event} : {events}}]"
    if {[dict get $stats overwritten] > 0} {
        return "kept the newest [expr {$events - [dict get $stats overwritten]}] of $text"
    }
    return $text
}

# One line with a session's counters.
proc ::etw::cli::Summary {options stats {channel stderr}} {
    if {[Option $options quiet 0]} {
        return
    }
    set lost [Lost [dict get $stats lost]]
    set colour [expr {$lost eq "nothing" ? "green" : "yellow"}]
    set where [expr {[dict get $stats file] eq "" ? [dict get $stats name] : [dict get $stats file]}]
    puts $channel "[Paint $channel $colour etw:] $where: [KeptEvents $stats] in\
        [Seconds [dict get $stats duration]], [Bytes [dict get $stats bytes]], lost: $lost"
    foreach sentence [LossRemedies [dict get $stats lost]] {
        puts $channel "[Paint $channel yellow etw:] $sentence"
    }
}
