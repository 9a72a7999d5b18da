# script_support.tcl --
#
#	Shared by the tests of the script provider (script_*.test): runs a script traced, compares it with the
#	same script untraced, and runs a file again in a child whose commands are intercepted by the public API
#	only (ETW_SCRIPT_HOOKS=trace).

source [file join [file dirname [info script]] .. support support.tcl]
namespace import -force ::testing::*

# Run SCRIPT (in the caller) with Tcl-Script enabled in a separate session; returns its events, each {event
# props}. SCRIPT's result is stored in ::result.
proc traced {script {keywords {}}} {
    set file [tempFile]
    etw start ScriptTest -file $file -buffers 16,256
    try {
        etw enable ScriptTest Tcl-Script {*}$keywords
        set code [catch {uplevel 1 $script} ::result ::options]
    } finally {
        set lost [dict get [etw stop ScriptTest] lost]
    }
    foreach {kind count} $lost {
        if {$count != 0} {
            error "$count events lost: $kind"
        }
    }
    set found {}
    etw foreach e $file {
        if {[dict get $e provider] eq "Tcl-Script"} {
            lappend found [list [dict get $e event] [dict get $e props]]
        }
    }
    file delete $file
    return $found
}

# Events in a short notation: > enter, < leave, ( and ) for steps, one string each.
proc brief {events} {
    set marks {Enter > Leave < StepEnter ( StepLeave )}
    set lines {}
    foreach e $events {
        lassign $e name p
        if {[dict exists $marks $name]} {
            set text "[dict get $p Depth][dict get $marks $name][dict get $p Command]"
            if {[dict exists $p Code]} {
                append text "=[dict get $p Code]:[dict get $p Result]"
            }
            lappend lines $text
        }
    }
    return $lines
}

proc field {events name} {
    return [lmap e $events {dict get [lindex $e 1] $name}]
}

# Check that all enters have their leaves; returns the number of pairs.
proc pairs {events} {
    array set open {}
    set count 0
    foreach e $events {
        lassign $e name p
        if {$name in {Enter StepEnter}} {
            set open([dict get $p CallId]) $name
            incr count
        } elseif {$name in {Leave StepLeave}} {
            set id [dict get $p CallId]
            if {![info exists open($id)]} {
                return "no enter of $p"
            }
            unset open($id)
        }
    }
    if {[array size open]} {
        return "open: [array get open]"
    }
    return $count
}

proc codeOf {script} {
    if {[catch {uplevel 1 $script} result options] != 1} {
        return "no error: $result"
    }
    return [dict get $options -errorcode]
}

# True if `-steps line` is available.
proc hasLines {} {
    if {[catch {etw script add testNoSuchProc -steps line}]} {
        return 0
    }
    etw script remove testNoSuchProc
    return 1
}
testConstraint lines [hasLines]

# The results of a script in a new interpreter: code, result, return options, errorInfo, output. noInlining:
# without inlining of commands, which is visible in errorInfo and info frame; one of Tcl's enterstep traces
# disables it. Traces of Tcl's own commands (-builtins) do so, too, and full steps where marks are not available.
proc runFresh {script noInlining args} {
    set i [interp create]
    try {
        interp eval $i {set ::out {}; proc say {args} {lappend ::out $args}}
        interp eval $i [list set ::script $script]
        interp eval $i {proc Run {} {uplevel #0 {
            set code [catch $::script result options]
            list $code $result $options [expr {[info exists ::errorInfo] ? $::errorInfo : {}}] $::out
        }}}
        if {$noInlining} {
            interp eval $i {trace add execution Run enterstep list}
        }
        if {[llength $args]} {
            etw script add {*}$args -interp $i
        }
        set code [catch {interp eval $i Run} outcome]
        return [list $code $outcome]
    } finally {
        if {[interp exists $i]} {
            interp delete $i
        }
    }
}

# Compare the script untraced with the script traced in several ways: {} if there is no difference.
proc differences {script {ways {calls lines steps all}}} {
    set found {}
    if {![hasLines]} {
        set ways [lsearch -all -inline -not -exact $ways lines]
    }
    foreach way $ways {
        set plain [runFresh $script [expr {$way eq "all" || ($way eq "steps" && ![hasLines])}]]
        set events [traced {
            set traced [runFresh $script 0 {*}[dict get {
                calls {*}
                lines {* -steps line}
                steps {* -steps full -source 1}
                all {* -builtins 1 -steps full -redact *secret*}
            } $way]]
        }]
        if {$::result ne $plain} {
            lappend found "$way: $plain  BECAME  $::result"
        }
        set balance [pairs $events]
        if {![string is integer $balance] || $balance == 0} {
            lappend found "$way: $balance"
        }
    }
    return [join $found \n]
}

proc fib n {expr {$n < 2 ? $n : [fib [expr {$n-1}]] + [fib [expr {$n-2}]]}}

# Run FILE again with the public API's hooks; returns exit code and number of failed tests.
proc withPublicHooks {file} {
    set ::env(ETW_SCRIPT_HOOKS) trace
    set run $::env(ETW_RUNTIME_DIR)
    set ::env(ETW_RUNTIME_DIR) [tempFile {}]
    try {
        lassign [childResult [open |[list [tclsh] $file -verbose {error body} 2>@1]]] code output
    } finally {
        unset ::env(ETW_SCRIPT_HOOKS)
        set ::env(ETW_RUNTIME_DIR) $run
    }
    regexp {Failed\s+(\d+)} $output -> failed
    if {$code ne "0" || $failed} {
        # so that they do not count as totals of this run
        puts [regsub -all -line {^} $output {| }]
    }
    return [list $code $failed]
}
