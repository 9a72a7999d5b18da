# selftest.tcl --
#
#	etw selftest (also tools/windows-selftest.tcl): tests the system engine on a real Windows, which the project's own
#	tests replace by a simulated service, and writes a report that a user can paste into an issue. The report is
#	written step by step: what is there when a step ends the process. Errors are shown with Windows' English names. A
#	step that this machine or user does not allow counts as not proven. Changes nothing: its sessions are stopped, its
#	files removed.

namespace eval ::etw::selftest {
    variable dir {}       ;# for the files of this run
    variable report {}    ;# the channel
    variable counts {}
    variable name {}
    # title script ..., in order; a step's result is shown in the report.
    variable steps {}
}

proc ::etw::selftest::Step {title script} {
    variable steps
    lappend steps $title $script
}

proc ::etw::selftest::Say {line} {
    variable report
    puts $line
    flush stdout
    puts $report $line
    flush $report
}

# The step cannot be carried out here.
proc ::etw::selftest::NotHere {why} {
    return -level 2 -code error -errorcode {ETW UNSUPPORTED SELFTEST} $why
}

proc ::etw::selftest::Expect {what got wanted} {
    if {$got ne $wanted} {
        return -level 1 -code error -errorcode {ETW SELFTEST} "$what: $got instead of $wanted"
    }
}

# Wait until EXPR (in the caller) is true, half a minute at most.
proc ::etw::selftest::WaitFor {expr} {
    set limit [expr {[clock seconds] + 30}]
    while {![uplevel 1 [list expr $expr]]} {
        if {[clock seconds] > $limit} {
            error "not within 30 seconds: $expr"
        }
        after 20 {set ::etw::selftest::tick 1}
        vwait ::etw::selftest::tick
    }
}

proc ::etw::selftest::File {suffix} {
    variable dir
    return [file join $dir $suffix.etl]
}

# Run BODY in the caller with a session of the system engine with these options; returns the result of stop.
proc ::etw::selftest::With {options body} {
    variable name
    ::etw start system:$name {*}$options
    try {
        uplevel 1 $body
    } finally {
        set stopped [::etw stop system:$name]
    }
    return $stopped
}

proc ::etw::selftest::Enable {args} {
    variable name
    ::etw enable system:$name Etw-Selftest {*}$args
}

# Values of our events in a file.
proc ::etw::selftest::Values {file} {
    set values {}
    ::etw foreach event $file -where {$provider eq "Etw-Selftest"} {
        lappend values [dict get $event props Value]
    }
    return $values
}

# Counts of a session that do not vary.
proc ::etw::selftest::Counts {stopped} {
    return [dict filter $stopped key buffers bytes lost logmode kernelflags clock buffersize minbuffers maxbuffers]
}

# What a program of Windows writes; {}: there is no such program.
proc ::etw::selftest::Output {program args} {
    if {[auto_execok $program] eq "" || [catch {exec {*}[auto_execok $program] {*}$args 2>@1} output]} {
        return {}
    }
    return [string trim $output]
}

# ---- The machine and the user ----------------------------------------------------------------------------------------

::etw::selftest::Step "etw" {
    set config {}
    foreach key [::etw::pkgconfig list] {
        lappend config $key=[::etw::pkgconfig get $key]
    }
    return "[package provide etw], Tcl [info patchlevel], [expr {$::tcl_platform(pointerSize) * 8}] bits, [info nameofexecutable]; [join $config { }]"
}

::etw::selftest::Step "Windows" {
    set version [Output cmd /c ver]
    return "$::tcl_platform(os) $::tcl_platform(osVersion) $::tcl_platform(machine); $version; encoding [encoding system],\
        [Output cmd /c chcp]; [expr {[info exists ::env(NUMBER_OF_PROCESSORS)] ? $::env(NUMBER_OF_PROCESSORS) : "?"}] CPUs"
}

# Groups by their SIDs, which do not depend on the language.
::etw::selftest::Step "rights" {
    set groups [Output whoami /groups /fo csv /nh]
    if {$groups eq ""} {
        NotHere "whoami is not here"
    }
    set found {}
    foreach {sid what} {S-1-16-12288 elevated S-1-16-16384 system S-1-5-32-544 administrator S-1-5-32-559 performance-log-user
            S-1-5-32-558 performance-monitor-user} {
        if {[regexp "\"$sid\"" $groups]} {
            lappend found $what
        }
    }
    set privileges {}
    foreach {- privilege state} [regexp -all -inline -line {^"(Se(?:SystemProfile|Debug|ProfileSingleProcess)Privilege)".*"([^"]*)"} [Output whoami /priv /fo csv /nh]] {
        lappend privileges $privilege=$state
    }
    return "[join $found {, }]; [join $privileges {, }]"
}

# ---- Sessions ------------------------------------------------------------------------------------------------------

# Write events into a session with a file, and expect all of them there.
proc ::etw::selftest::WriteInto {name count} {
    set stopped [With [list -file [File $name]] {
        Enable
        for {set i 0} {$i < $count} {incr i} {
            ::etw write Etw-Selftest Number $i
        }
    }]
    Expect "events" [llength [Values [File $name]]] $count
    return [Counts $stopped]
}

::etw::selftest::Step "session with a file" {
    return [WriteInto file 100]
}

::etw::selftest::Step "20,000 events at once, default buffers" {
    return [WriteInto fast 20000]
}

::etw::selftest::Step "live session" {
    variable live {}
    set stopped [With {-realtime 1 -flush 100} {
        Enable
        set consumer [::etw consume session:system:$name -where {$provider eq "Etw-Selftest"} -background 1 \
            -command {lappend ::etw::selftest::live}]
        try {
            for {set i 0} {$i < 50} {incr i} {
                ::etw write Etw-Selftest Number $i
            }
            WaitFor {[llength $::etw::selftest::live] >= 50}
        } finally {
            ::etw consumer cancel $consumer
        }
    }]
    return "[llength $live] events; [Counts $stopped]"
}

::etw::selftest::Step "session in memory, saved" {
    set stopped [With {-mode memory} {
        Enable
        ::etw write Etw-Selftest Number 7
        ::etw snapshot system:$name [File memory]
    }]
    Expect "events" [Values [File memory]] 7
    return [Counts $stopped]
}

apply {{} {foreach {mode options} {circular {-maxsize 1} append {} newfile {-maxsize 1}} {
    ::etw::selftest::Step "-mode $mode" [format {
        set path [File [expr {"%1$s" eq "newfile" ? "newfile%%d" : "%1$s"}]]
        set stopped [With [list -file $path -mode %1$s %2$s] {
            Enable
            ::etw write Etw-Selftest Number 1
        }]
        if {"%1$s" eq "append"} {
            With [list -file $path -mode append] {
                Enable
                ::etw write Etw-Selftest Number 2
            }
        }
        Expect "events" [Values [string map {%%d 1} $path]] [expr {"%1$s" eq "append" ? "1 2" : 1}]
        return [Counts $stopped]
    } $mode $options]
}}}

::etw::selftest::Step "update of flush, buffers, file, real time" {
    set stopped [With [list -file [File one]] {
        Enable
        ::etw write Etw-Selftest Number 1
        ::etw update system:$name -flush 3000 -buffers 140 -realtime 1
        ::etw update system:$name -file [File two]
        ::etw write Etw-Selftest Number 2
        set info [::etw query system:$name]
    }]
    Expect "flush, real time" [list [dict get $info flush] [dict get $info realtime]] {3000 1}
    Expect "events" [list [Values [File one]] [Values [File two]]] {1 2}
    return [Counts $stopped]
}

::etw::selftest::Step "mark" {
    With [list -file [File mark]] {
        ::etw mark system:$name here
    }
    Expect "marks" [llength [::etw events [File mark] -where {$event eq "Mark"}]] 1
    return ok
}

::etw::selftest::Step "modes and clocks" {
    set out {}
    foreach options {{-logmode paged} {-logmode independent} {-logmode compressed} {-clock system} {-clock cycle}} {
        if {[catch {With [list -file [File mode] {*}$options] {
            Enable
            ::etw write Etw-Selftest Number 1
        }} result how]} {
            lappend out "$options: [dict get $how -errorcode]"
        } else {
            lappend out "$options: [catch {Values [File mode]} values] $values"
        }
    }
    return [join $out {; }]
}

::etw::selftest::Step "private session of this process" {
    With [list -inprocess Etw-Selftest -file [File private]] {
        Enable
        ::etw write Etw-Selftest Number 1
    }
    Expect "events" [Values [File private]] 1
    return ok
}

::etw::selftest::Step "private session of a process that is named" {
    With [list -private Etw-Selftest -pids [pid] -file [File private2]] {
        Enable
        ::etw write Etw-Selftest Number 1
    }
    Expect "events" [Values [File private2]] 1
    return ok
}

::etw::selftest::Step "embedded engine" {
    ::etw start embedded:$name -file [File embedded]
    try {
        ::etw enable embedded:$name Etw-Selftest
        ::etw write Etw-Selftest Number 1
    } finally {
        ::etw stop embedded:$name
    }
    Expect "events" [Values [File embedded]] 1
    return ok
}

::etw::selftest::Step "all sessions" {
    return "[llength [::etw sessions]]: [::etw sessions]"
}

# ---- Filters, stacks, other processes ---------------------------------------------------------------------------------

::etw::selftest::Step "filters by level, keyword, process, program, event" {
    set out {}
    foreach {options wanted} [list {-level 3} {} {-any 2} {} {-pids 4} {} [list -pids [pid]] 1 {-executables none.exe} {} \
            [list -executables [file tail [info nameofexecutable]]] 1 {-events 99} {}] {
        if {[catch {With [list -file [File filter]] {
            Enable {*}$options
            ::etw write Etw-Selftest Number 1
        }} result how]} {
            lappend out "$options: [dict get $how -errorcode]"
        } else {
            Expect $options [Values [File filter]] $wanted
        }
    }
    return [expr {$out eq "" ? "ok" : [join $out {; }]}]
}

::etw::selftest::Step "stacks of a provider's events" {
    With [list -file [File stack]] {
        Enable -stacks 1 -properties {sid tsid}
        ::etw write Etw-Selftest Number 1
    }
    set event [lindex [::etw events [File stack] -where {$provider eq "Etw-Selftest"}] 0]
    return "[llength [dict get $event stack]] frames; [dict keys $event]"
}

::etw::selftest::Step "a second process, which controls the session" {
    set script [file join $dir second.tcl]
    set f [::etw::lib::OpenFile $script w]
    puts $f [list set auto_path $::auto_path]
    puts $f [list set name $name]
    puts $f {
        package require etw
        etw provider create Etw-Selftest
        etw provider event Etw-Selftest Number {Value uint32}
        etw write Etw-Selftest Number 2
        puts [dict get [etw query system:$name] state]
    }
    close $f
    With [list -file [File second]] {
        Enable -pids all
        set output [exec [info nameofexecutable] $script 2>@1]
    }
    Expect "events" [Values [File second]] 2
    return $output
}

# ---- Kernel ---------------------------------------------------------------------------------------------------------

# Numbers of events by class, and of stacks.
proc ::etw::selftest::Classes {file} {
    set classes {}
    ::etw foreach event $file {
        dict incr classes [dict get $event provider]
    }
    return $classes
}

apply {{} {foreach {title options groups} {
    "kernel events" {-kernellogger 1} {process thread imageload}
    "kernel events of disk, files, faults, network, registry" {-kernellogger 1} {diskio diskfileio fileio hardfault tcpip registry}
    "profile (needs a privilege)" {-kernellogger 1} {profile}
} {
    ::etw::selftest::Step $title [format {
        set stopped [With [list -file [File kernel] %s] {
            ::etw enable system:$name kernel {%s}
            Output cmd /c dir
        }]
        return "[Classes [File kernel]]; [Counts $stopped]"
    } $options $groups]
    ::etw::selftest::Step "$title, with stacks" [format {
        set stopped [With [list -file [File kernel] %s] {
            ::etw enable system:$name kernel {%s} -stacks 1
            Output cmd /c dir
        }]
        set classes [Classes [File kernel]]
        if {![dict exists $classes StackWalk]} {
            error "no stacks: $classes"
        }
        return "$classes; [Counts $stopped]"
    } $options $groups]
}}}

::etw::selftest::Step "NT Kernel Logger" {
    if {"NT Kernel Logger" in [::etw sessions]} {
        NotHere "another program has it"
    }
    ::etw start "NT Kernel Logger" -engine system -file [File nt]
    try {
        ::etw enable "NT Kernel Logger" kernel {process imageload} -stacks 1
        Output cmd /c dir
    } finally {
        set stopped [::etw stop "NT Kernel Logger"]
    }
    return "[Classes [File nt]]; [Counts $stopped]"
}

::etw::selftest::Step "live kernel events" {
    variable live {}
    With {-realtime 1 -flush 100 -kernellogger 1} {
        ::etw enable system:$name kernel process
        set consumer [::etw consume session:system:$name -where {$provider eq "Process"} -background 1 \
            -command {lappend ::etw::selftest::live}]
        try {
            Output cmd /c dir
            WaitFor {[llength $::etw::selftest::live] > 0}
        } finally {
            ::etw consumer cancel $consumer
        }
    }
    return [dict get [lindex $live end] props]
}

# ---- Schemas, and programs of Windows --------------------------------------------------------------------------------

::etw::selftest::Step "installed providers" {
    set described [::etw provider describe Microsoft-Windows-Kernel-Process]
    return "[llength [::etw providers]]; Microsoft-Windows-Kernel-Process has keywords [dict get $described keywords]"
}

::etw::selftest::Step "events of an installed provider, decoded by TDH" {
    set stopped [With [list -file [File tdh]] {
        ::etw enable system:$name Microsoft-Windows-Kernel-Process -any 0x10
        Output cmd /c dir
    }]
    set events [::etw events [File tdh] -where {$provider eq "Microsoft-Windows-Kernel-Process"} -limit 1]
    if {[llength $events] == 0} {
        error "no events; [Counts $stopped]"
    }
    return [lindex $events 0]
}

::etw::selftest::Step "tracerpt reads our file" {
    set out [file join $dir tracerpt.csv]
    if {[auto_execok tracerpt] eq "" || ![file exists [File file]]} {
        NotHere "there is no tracerpt, or no file for it"
    }
    set output [exec {*}[auto_execok tracerpt] [file nativename [File file]] -o [file nativename $out] -of CSV -y 2>@1]
    set f [::etw::lib::OpenFile $out]
    set text [read $f]
    close $f
    if {![string match *Etw-Selftest* $text]} {
        error "no event of ours in its csv: $output"
    }
    return "[llength [split [string trim $text] \n]] lines"
}

::etw::selftest::Step "a file that logman records" {
    if {[auto_execok logman] eq ""} {
        NotHere "there is no logman"
    }
    set file [File logman]
    set output [exec {*}[auto_execok logman] start $name -p Microsoft-Windows-Kernel-Process 0x10 -o [file nativename $file] -ets 2>@1]
    try {
        Output cmd /c dir
    } finally {
        append output [exec {*}[auto_execok logman] stop $name -ets 2>@1]
    }
    return [Classes $file]
}

::etw::selftest::Step "TWAPI's commands" {
    package require etw_twapi
    set provider [twapi::etw_twapi_provider_register]
    set trace [twapi::etw_start_trace $name -logfile [File twapi]]
    try {
        twapi::etw_enable_provider $trace [twapi::etw_twapi_provider_guid] 1 5
        twapi::etw_log_message $provider "from the self-test"
    } finally {
        set properties [twapi::etw_stop_trace $trace]
        twapi::etw_unregister_provider $provider
    }
    twapi::etw_install_twapi_mof
    set messages [lmap properties [twapi::recordarray column [twapi::etw_dump [File twapi]] -properties] {
        if {![dict exists $properties Message]} continue
        dict get $properties Message
    }]
    Expect "messages" $messages {{{from the self-test}}}
    return $properties
}

# ---- Running them --------------------------------------------------------------------------------------------------------

# True for failures that are not etw's: this machine or this user does not allow it.
proc ::etw::selftest::Excused {code} {
    return [expr {[lindex $code 1] eq "UNSUPPORTED" || [lindex $code 3] in {ERROR_ACCESS_DENIED ERROR_PRIVILEGE_NOT_HELD}
        || [lrange $code 0 1] in {{TWAPI_WIN32 5} {TWAPI_WIN32 50}}}]
}

proc ::etw::selftest::RunStep {title script} {
    variable counts
    variable report

    if {[catch {apply [list {} "variable dir; variable name; $script" ::etw::selftest]} result options] in {0 2}} {
        dict incr counts proven
        Say "ok    $title: $result"
        return
    }
    set code [dict get $options -errorcode]
    if {[Excused $code]} {
        dict incr counts unproven
        Say "skip  $title: {$code} $result"
    } else {
        dict incr counts failed
        Say "FAIL  $title: {$code} $result\n[dict get $options -errorinfo]"
    }
}

# Write a report; returns the exit code, 1 if a step failed.
proc ::etw::selftest::Run {path} {
    variable dir
    variable report
    variable steps
    variable counts {proven 0 failed 0 unproven 0}
    variable name EtwSelftest-[pid]
    close [file tempfile dir]
    file delete $dir
    file mkdir $dir
    set report [::etw::lib::OpenFile $path w]
    fconfigure $report -encoding utf-8
    ::etw provider create Etw-Selftest -keywords {one 1 two 2}
    ::etw provider event Etw-Selftest Number {Value uint32} -keyword one -level information
    try {
        foreach {title script} $steps {
            RunStep $title $script
        }
    } finally {
        ::etw provider delete Etw-Selftest
        catch {file delete -force $dir}
    }
    Say "[dict get $counts proven] proven, [dict get $counts failed] failed, [dict get $counts unproven] not proven"
    close $report
    puts "report: [file nativename [file normalize $path]]"
    return [expr {[dict get $counts failed] > 0}]
}

# etw selftest ?REPORT?
proc ::etw::cli::Selftest {args} {
    if {[llength $args] > 1} {
        Usage "name one file for the report"
    }
    return [::etw::selftest::Run [expr {[llength $args] ? [lindex $args 0] : "etw-selftest.txt"}]]
}
