# tcltest.tcl --
#
#	etw::tcltest: traces for tests that are run by tcltest. A test that fails (or is slow) leaves its trace
#	and a readable excerpt. A test may assert which events its body raises. Constraints state what can be
#	traced here. Commands of tcltest are not changed: an execution trace on tcltest::test reports the begin
#	and end of a test.

package require Tcl 8.6-
package require tcltest 2.3
package require etw

namespace eval ::etw::tcltest {
    namespace export configure events

    # The options of `configure`.
    variable config {
        -trace off -dir {} -kernel {} -script * -steps off -provider {} -slow 1000 -lines 30 -coverage {}
    }
    # Name of the session that keeps the newest events of all tests; "": none.
    variable recorder ""
    # Name of the session that records what tests execute; "": none.
    variable counter ""
    # The script patterns that it added.
    variable traced {}
    # Running tests, innermost last: {name mark milliseconds failures}.
    variable running {}
    # The number of uses of a test's name for a file; the number of sessions.
    variable written {}
    variable sequence 0
    # The fields that `events` returns of an event; for all others the whole payload.
    variable shown {
        {Tcl-Script Enter} Command
        {Tcl-Script Leave} {Command Code Result}
        {Tcl-Script StepEnter} Command
        {Tcl-Script StepLeave} {Command Code Result}
        {Tcl-Script Line} Command
    }
}

# ---- Configuration -------------------------------------------------------------------------------

# etw::tcltest::configure ?-option? ?value? ?-option value ...?
#
#	-trace off|onfail|always|slow	which tests leave a trace; slow: those that fail, too
#	-dir DIR	where; default: tcltest's temporary directory
#	-script PATTERNS, -steps off|line|full	as `etw script add` has them
#	-provider LIST	providers, each NAME[:LEVEL[:KEYWORDS]] or {NAME ?-level L ...?}
#	-kernel GROUPS	kernel events of this process and its children
#	-slow MS	slower tests are slow
#	-lines N	number of the excerpt's last lines that are shown in the output
#	-coverage FILE	write what the tests execute to this trace, for `etw cover`
proc ::etw::tcltest::configure {args} {
    variable config
    if {[llength $args] == 0} {
        return $config
    }
    if {[llength $args] == 1} {
        return [dict get $config [OptionName [lindex $args 0]]]
    }
    if {[llength $args] % 2} {
        return -code error -errorcode {TCL WRONGARGS} \
            "wrong # args: should be \"etw::tcltest::configure ?-option value ...?\""
    }
    set wanted $config
    foreach {name value} $args {
        set name [OptionName $name]
        dict set wanted $name [CheckOption $name $value]
    }
    Stop
    set config $wanted
    try {
        Start
    } on error {message how} {
        dict set config -trace off
        dict set config -coverage {}
        return -options $how $message
    }
    return
}

proc ::etw::tcltest::OptionName {name} {
    variable config
    return [tcl::prefix match -message option [lsort [dict keys $config]] [::etw::lib::NewName $name {-enable -provider}]]
}

proc ::etw::tcltest::CheckOption {name value} {
    switch -- $name {
        -trace {
            return [tcl::prefix match -message "-trace value" {always off onfail slow} $value]
        }
        -slow - -lines {
            if {![string is integer -strict $value] || $value < 0} {
                return -code error -errorcode [list ETW ARG NUMBER $name] \
                    "expected a number of 0 or more for \"$name\" but got \"$value\""
            }
        }
    }
    return $value
}

# ---- The recorder --------------------------------------------------------------------------------

proc ::etw::tcltest::Start {} {
    variable config
    if {[dict get $config -trace] eq "off" && [dict get $config -coverage] eq ""} {
        return
    }
    try {
        if {[dict get $config -coverage] ne ""} {
            StartCounter
        }
        if {[dict get $config -trace] ne "off"} {
            StartRecorder
        }
    } on error {message how} {
        Stop
        return -options $how $message
    }
    trace add execution ::tcltest::test enter ::etw::tcltest::Enter
    trace add execution ::tcltest::test leave ::etw::tcltest::Leave
}

# Counts what is executed, until the process ends.
proc ::etw::tcltest::StartCounter {} {
    variable config
    variable counter
    variable sequence
    set name "tcltest-cover-[pid]-[incr sequence]"
    ::etw start $name -file [dict get $config -coverage]
    set counter $name
    ::etw enable $name Tcl-Script -any cover
    ::etw script cover
}

proc ::etw::tcltest::StartRecorder {} {
    variable config
    variable recorder
    variable sequence
    set name "tcltest-[pid]-[incr sequence]"
    ::etw start $name -mode memory -buffers 4,64 -kernellogger [expr {[dict get $config -kernel] ne ""}]
    set recorder $name
    ::etw enable $name Tcl-Script
    foreach provider [dict get $config -provider] {
        ::etw enable $name {*}[::etw::lib::ProviderWords $provider]
    }
    if {[dict get $config -kernel] ne ""} {
        ::etw enable $name kernel [dict get $config -kernel]
    }
    Arm
}

# Trace the procs; repeated if other code has removed the patterns.
proc ::etw::tcltest::Arm {} {
    variable config
    variable recorder
    variable traced
    if {$recorder ne "" && [dict get $config -script] ne ""} {
        ::etw script add {*}[dict get $config -script] -steps [dict get $config -steps]
        set traced [dict get $config -script]
    }
}

proc ::etw::tcltest::Stop {} {
    variable counter
    variable recorder
    variable running
    variable traced
    trace remove execution ::tcltest::test enter ::etw::tcltest::Enter
    trace remove execution ::tcltest::test leave ::etw::tcltest::Leave
    if {[llength $traced]} {
        catch {::etw script remove {*}$traced}
    }
    if {$recorder ne ""} {
        catch {::etw stop $recorder}
    }
    if {$counter ne ""} {
        catch {::etw script cover off}
        catch {::etw stop $counter}
    }
    set counter ""
    set traced {}
    set recorder ""
    set running {}
}

# ---- Around a test -------------------------------------------------------------------------------

proc ::etw::tcltest::Failures {} {
    return [expr {[info exists ::tcltest::numTests(Failed)] ? $::tcltest::numTests(Failed) : 0}]
}

# Errors in here must not break a test: they are reported on tcltest's error channel.
proc ::etw::tcltest::Enter {command operation} {
    variable counter
    variable recorder
    variable running
    variable sequence
    set name [lindex $command 1]
    set mark "$name #[incr sequence]"
    if {$recorder ne "" && [catch {::etw mark $recorder $mark} message]} {
        Complain $name $message
    }
    if {$counter ne ""} {
        CountTo "test $name"
    }
    lappend running [list $name $mark [clock milliseconds] [Failures]]
}

proc ::etw::tcltest::Leave {command code result operation} {
    variable config
    variable running
    if {[llength $running] == 0} {
        return
    }
    lassign [lindex $running end] name mark start failures
    set running [lrange $running 0 end-1]
    variable counter
    if {$counter ne ""} {
        CountTo [expr {$running eq {} ? "no test" : "test [lindex $running end 0]"}]
    }
    if {[dict get $config -trace] eq "off"} {
        return
    }
    set ms [expr {[clock milliseconds] - $start}]
    set why ""
    if {[Failures] > $failures} {
        set why failed
    } elseif {[dict get $config -trace] eq "slow" && $ms > [dict get $config -slow]} {
        set why "took $ms ms"
    } elseif {[dict get $config -trace] eq "always"} {
        set why "ran $ms ms"
    }
    if {$why ne "" && [catch {Keep $name $mark $why} message]} {
        Complain $name $message
    }
}

# What was counted so far belongs to the test before; what follows to the one that the mark names (library/cover/cover_tests.tcl).
proc ::etw::tcltest::CountTo {mark} {
    variable counter
    if {[catch {
        ::etw script cover flush
        ::etw mark $counter $mark
    } message]} {
        Complain $mark $message
    }
}

proc ::etw::tcltest::Complain {name message} {
    puts [::tcltest::errorChannel] "---- etw: no trace of $name: $message"
}

# Write the recorder's events and an excerpt of them to files, and report that.
proc ::etw::tcltest::Keep {name mark why} {
    variable config
    variable recorder
    set base [FileName $name]
    ::etw flush $recorder
    ::etw snapshot $recorder $base.etl
    set excerpt [Excerpt $base.etl $mark $base.txt]
    set out [::tcltest::outputChannel]
    puts $out "---- etw: $name $why: [file nativename $base.etl]"
    set left [expr {[llength $excerpt] - [dict get $config -lines]}]
    if {$left > 0} {
        puts $out "  ... $left lines more in [file tail $base.txt]"
    }
    puts $out [join [lrange $excerpt [expr {max($left, 0)}] end] \n]
    puts $out "---- etw: $name\n"
}

# A path without suffix that no test of this run has used.
proc ::etw::tcltest::FileName {name} {
    variable config
    variable written
    set dir [dict get $config -dir]
    if {$dir eq ""} {
        set dir [::tcltest::temporaryDirectory]
    }
    file mkdir $dir
    set file [regsub -all {[^A-Za-z0-9._-]} $name _]
    set key [string tolower $file]
    dict incr written $key
    if {[dict get $written $key] > 1} {
        append file ~[dict get $written $key]
    }
    return [file join $dir $file]
}

# Write the test's events to the file TEXT, starting at the test's mark, without events of tcltest itself (its
# procs, its output). Returns the lines.
proc ::etw::tcltest::Excerpt {file mark text} {
    set began [::etw events $file -fields time -as list \
        -where "\$provider eq {Etw-Session} && \$event eq {Mark} && \$Text eq [Quote $mark]"]
    # No mark: it was overwritten by newer events.
    set from [expr {$began eq "" ? {} : [list -from [lindex $began end]]}]
    ::etw dump $file {*}$from -color off -output $text -where {
        !([string match {tcltest::*} $Command] || [string match {::tcltest::*} $Command]
            || ($event eq "Channel" && $Channel in {stdout stderr}))
    }
    set f [::etw::lib::OpenFile $text]
    try {
        fconfigure $f -encoding utf-8
        return [split [string trimright [read $f] \n] \n]
    } finally {
        close $f
    }
}

# Quote a text for an expression.
proc ::etw::tcltest::Quote {text} {
    return \"[string map {\\ \\\\ \" \\\" \[ \\\[ \] \\\] \$ \\\$} $text]\"
}

# ---- Assertions ----------------------------------------------------------------------------------

# etw::tcltest::events BODY ?EXPECTED? ?-option value ...?
#
#	Run BODY in the caller's frame and return the events that it raised, each a list: event,
#	then values of its payload. With EXPECTED, a list of the same form whose elements may be glob
#	patterns (or have some as elements), anything else is an error that shows both. What differs from run to run is made equal:
#	moments of the run are @TIME, durations @NS, this process is @PID.
#
#	-script PATTERNS, -steps off|line|full, -provider LIST, -kernel GROUPS	what to trace, as `etw record` has it
#	-call PATTERNS	only calls of these procs: their Enter and Leave, and the same of steps
#	-where EXPR	only these events
#	-fields LIST	these values instead; header fields, too
proc ::etw::tcltest::events {body args} {
    variable shown
    if {[llength $args] % 2} {
        set args [lassign $args expected]
    }
    set options [::etw::lib::Options {-call -fields -kernel -provider -script -steps -where} $args {-enable -provider}]
    close [file tempfile file]
    try {
        set start [Nanoseconds]
        uplevel 1 [list ::etw record $file {*}[dict remove $options -call -where -fields] \
            -stats ::etw::tcltest::stats $body]
        Arm
        set raised [Raised $file $options $start [Nanoseconds]]
        CheckLost
    } finally {
        Arm
        file delete $file
    }
    if {[info exists expected]} {
        Compare $expected $raised
    }
    return $raised
}

proc ::etw::tcltest::CheckLost {} {
    variable stats
    dict for {kind count} [dict get $stats lost] {
        if {$count != 0} {
            return -code error -errorcode [list ETW LIMIT LOST $count] \
                "$count events were lost ($kind), so that the events of the body are incomplete: use larger buffers, or trace less"
        }
    }
}

proc ::etw::tcltest::Nanoseconds {} {
    return [expr {wide([clock microseconds]) * 1000}]
}

# The events of the file in normalized form.
proc ::etw::tcltest::Raised {file options start end} {
    variable shown
    set where {}
    if {[dict exists $options -where]} {
        set where [list -where [dict get $options -where]]
    }
    set raised {}
    set warnings {}
    ::etw foreach event $file {*}$where -warnings warnings {
        set provider [dict get $event provider]
        if {$provider in {EventTrace Etw-Session}} {
            continue
        }
        set props [dict get $event props]
        if {[dict exists $options -call] && !($provider eq "Tcl-Script" && [dict exists $props Command]
                && [IsCall [dict get $props Command] [dict get $options -call]])} {
            continue
        }
        set name [dict get $event event]
        set line [list $name]
        if {[dict exists $options -fields]} {
            set fields [dict get $options -fields]
        } elseif {[dict exists $shown [list $provider $name]]} {
            set fields [dict get $shown [list $provider $name]]
        } else {
            set fields [dict keys $props]
        }
        foreach field $fields {
            if {[dict exists $props $field]} {
                lappend line [Normal $field [dict get $props $field] $start $end]
            } elseif {[dict exists $event $field]} {
                lappend line [Normal $field [dict get $event $field] $start $end]
            } else {
                lappend line {}
            }
        }
        lappend raised $line
    }
    CheckFields $options $warnings
    return $raised
}

# True if the first word of a call is a name that matches one of the patterns. The fully qualified name of a proc of :: may begin with ::.
proc ::etw::tcltest::IsCall {command patterns} {
    regexp {^\S+} $command name
    foreach pattern $patterns {
        if {[info exists name] && [string match [string trimleft $pattern :] [string trimleft $name :]]} {
            return 1
        }
    }
    return 0
}

# An error for a name in -where that no event of the body had and that is no field of Tcl-Script: such a filter finds nothing, and
# a test that expects no events would pass. Fields of other providers' events are not known until they occur.
proc ::etw::tcltest::CheckFields {options warnings} {
    set known {}
    dict for {event about} [dict get [::etw provider describe Tcl-Script -events 1] documentation] {
        lappend known {*}[dict keys [dict get $about fields]]
    }
    foreach warning $warnings {
        if {![regexp {^no event had a field "([^"]*)"} $warning - name] || $name in $known} {
            continue
        }
        set similar [::etw::lib::similar $name [concat [::etw::lib::headerFields] $known]]
        if {$similar ne "" || !([dict exists $options -provider] || [dict exists $options -kernel])} {
            return -code error -errorcode [list ETW LOOKUP FIELD $name] \
                "no event of the body has the field \"$name\" of -where[expr {$similar eq {} ? {} : "; did you mean \"$similar\"?"}]"
        }
    }
}

# A value without parts that differ between runs. The clocks may differ slightly: a second of tolerance.
proc ::etw::tcltest::Normal {field value start end} {
    if {$field eq "Duration"} {
        return @NS
    }
    if {![string is wideinteger -strict $value]} {
        return $value
    }
    if {$value > $start - 1000000000 && $value < $end + 1000000000} {
        return @TIME
    }
    if {$value == [pid] && [regexp -nocase {pid|tid|process|thread} $field]} {
        return @PID
    }
    return $value
}

proc ::etw::tcltest::Compare {expected raised} {
    set same [expr {[llength $expected] == [llength $raised]}]
    set lines {}
    set count [expr {max([llength $expected], [llength $raised])}]
    for {set i 0} {$i < $count} {incr i} {
        set want [lindex $expected $i]
        set got [lindex $raised $i]
        # Compared as lists: blanks and quoting between elements do not matter.
        if {$i < [llength $expected] && $i < [llength $raised] && [Matches $want $got]} {
            lappend lines "  $got"
            continue
        }
        set same 0
        if {$i < [llength $expected]} {
            lappend lines "- $want"
        }
        if {$i < [llength $raised]} {
            lappend lines "+ $got"
        }
    }
    if {!$same} {
        return -code error -errorcode {ETW STATE EVENTS} \
            "the events differ: expected (-), but the body raised (+):\n[join $lines \n]"
    }
}

proc ::etw::tcltest::Matches {want got} {
    if {[string match $want $got]} {
        return 1
    }
    if {[llength $want] != [llength $got]} {
        return 0
    }
    foreach pattern $want value $got {
        if {$pattern ne $value && ![string match $pattern $value]} {
            return 0
        }
    }
    return 1
}

# ---- Constraints ---------------------------------------------------------------------------------

# etwKernel: kernel events can be traced here; etwSystem: the operating system's own ETW works. Determined when
# first needed.
proc ::etw::tcltest::Constraint {name probe} {
    set variable ::tcltest::testConstraints($name)
    set $variable 0
    trace add variable $variable read [list ::etw::tcltest::Probe $variable $probe]
}

proc ::etw::tcltest::Probe {variable probe args} {
    trace remove variable $variable read [list ::etw::tcltest::Probe $variable $probe]
    set $variable [{*}$probe]
}

proc ::etw::tcltest::HasKernel {} {
    variable sequence
    set name "tcltest-probe-[pid]-[incr sequence]"
    if {[catch {::etw start $name -mode memory -kernellogger 1}]} {
        return 0
    }
    set works [expr {![catch {::etw enable $name kernel process}]}]
    catch {::etw stop $name}
    return $works
}

proc ::etw::tcltest::HasSystem {} {
    return [expr {![catch {::etw query system:tcltest-no-such-session} message how]
        || [lindex [dict get $how -errorcode] 1] ne "UNSUPPORTED"}]
}

::etw::tcltest::Constraint etwKernel ::etw::tcltest::HasKernel
::etw::tcltest::Constraint etwSystem ::etw::tcltest::HasSystem

source [file join [file dirname [info script]] expect.tcl]

package provide etw::tcltest [package provide etw]
