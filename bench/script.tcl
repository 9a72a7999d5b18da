# bench/script.tcl --
#
#	The cost of tracing a script, per call (enter and leave) and per step, compared with Tcl's own `trace
#	add execution` with (a) an empty proc as callback and (b) one that formats a line and prints it. Goals:
#	calls at least 20 times cheaper than (a), steps at least 8 times.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

proc steps {n} {
    for {set i 0} {$i < $n} {incr i} {
        set x [expr {$i * 2}]
        set y $x
    }
    return $y
}
proc callback {args} {}
proc formatting {args} {
    puts $::lines [format "%d %s" [clock microseconds] [lindex $args 0]]
}
set ::lines [open [file join [bench::tmp] lines.txt] w]

# A measurement: `setup`, several runs of the script (the best counts), `teardown`. In microseconds.
proc measure {n setup script teardown} {
    uplevel #0 $setup
    uplevel #0 $script
    set best 1e12
    for {set i 0} {$i < $n} {incr i} {
        set best [expr {min($best, [bench::microseconds $script])}]
    }
    uplevel #0 $teardown
    return $best
}
# All variants alternating, in rounds, the best of each: a slow phase of the machine affects all.
proc rounds {rounds script variants} {
    foreach {name n setup teardown} $variants {
        set best($name) 1e12
    }
    for {set i 0} {$i < $rounds} {incr i} {
        foreach {name n setup teardown} $variants {
            set best($name) [expr {min($best($name), [measure $n $setup $script $teardown])}]
        }
    }
    return [array get best]
}
# A flight recorder: no logger thread competes for the second core. Recycling its buffers is included.
proc session {} {
    etw start bench-script -mode memory -buffers 16,16
    etw enable bench-script Tcl-Script
}
proc ours {args} {
    return [list "session; etw script add $args" {etw script remove; etw stop bench-script}]
}
proc peer {proc ops callback} {
    return [list "trace add execution $proc {$ops} $callback" "trace remove execution $proc {$ops} $callback"]
}
proc times {a b} {
    format %.2f [expr {double($a) / $b}]
}

# ---- Calls: fib 18 makes 8361 of them

array set t [rounds 5 {fib 18} [concat \
    plain 9 {{} {}} names 5 [ours fib -args 0] args 5 [ours fib] \
    hooked 5 {{etw script add fib} {etw script remove}} \
    empty 1 [peer fib {enter leave} callback] puts 1 [peer fib {enter leave} formatting]]]
foreach {name variant unit} {
    call-untraced plain "ns/call"
    call-traced names "ns/call (enter and leave, names only; goal: at most 60)"
    call-traced-with-args args "ns/call (arguments and results, the default; goal: at most 150)"
    call-hooked-no-session hooked "ns/call"
    call-trace-add-execution-empty empty "ns/call"
    call-trace-add-execution-puts puts "ns/call"
} {
    set ns($variant) [expr {1000.0 * ($t($variant) - ($variant eq "plain" ? 0 : $t(plain))) / 8361}]
    bench::line $name $ns($variant) $unit
}
bench::line call-cheaper-than-empty [times $ns(empty) $ns(names)] "times (goal: at least 20)"
bench::line call-with-args-cheaper-than-empty [times $ns(empty) $ns(args)] times

# ---- Calls compared with tcllib's profiler, which must be loaded before the procs, and with TWAPI

interp create profiled
interp eval profiled [list set auto_path $auto_path]
if {[catch {interp eval profiled {package require profiler; profiler::init}} message]} {
    bench::note $message
} else {
    interp eval profiled [list proc fib {n} [info body fib]]
    set profiler [measure 3 {} {interp eval profiled {fib 18}} {}]
    bench::line call-tcllib-profiler [expr {1000.0 * ($profiler - $t(plain)) / 8361}] ns/call
}
interp delete profiled

etw provider create Bench-Script
etw provider event Bench-Script Call {Command string Op string}
proc writing {command args} {
    etw write Bench-Script Call $command [lindex $args end]
}
lassign [peer fib {enter leave} writing] start end
array set t [rounds 2 {fib 18} [list event 1 "session; etw enable bench-script Bench-Script; $start" "$end; etw stop bench-script"]]
etw provider delete Bench-Script
bench::line call-twapi-way [expr {1000.0 * ($t(event) - $t(plain)) / 8361}] "ns/call (enter and leave, each an event)"

# ---- Calls of a realistic program: tcllib parses JSON

if {[catch {package require json} message]} {
    bench::note $message
} else {
    set json [bench::json]
    # To a file, because a flight recorder only counts the events it still has.
    set file [file join [bench::tmp] json.etl]
    etw start bench-script -file $file -buffers 64,256
    etw enable bench-script Tcl-Script
    etw script add json::* -args 0
    json::json2dict $json
    etw script remove
    etw stop bench-script
    set calls [dict get [etw calls $file -format list] calls]
    array set t [rounds 9 {json::json2dict $::json} [concat \
        plain 5 {{} {}} names 3 [ours json::* -args 0] args 3 [ours json::*]]]
    bench::line json-untraced [expr {$t(plain) / 1000}] "ms ($calls calls)"
    foreach {name variant goal} {json-traced names "; goal: at most 90" json-traced-with-args args ""} {
        bench::line $name [expr {1000.0 * ($t($variant) - $t(plain)) / $calls}] "ns/call ([times $t($variant) $t(plain)] times untraced$goal)"
    }
}

# ---- Steps: counted with both methods

session
etw script add steps -steps full
steps 2000
etw script remove
set ours [expr {([dict get [etw stop bench-script] events] - 3) / 2}]
session
etw script add steps -steps line
steps 2000
etw script remove
set told [expr {[dict get [etw stop bench-script] events] - 3}]
set theirs 0
proc counting {args} {incr ::theirs}
trace add execution steps enterstep counting
steps 2000
trace remove execution steps enterstep counting

array set t [rounds 5 {steps 2000} [concat \
    plain 9 {{} {}} names 5 [ours steps -steps full -args 0] args 5 [ours steps -steps full] \
    line 5 [ours steps -steps line] bare 5 [ours steps -steps line -args 0] \
    hooked 5 {{etw script add steps -steps full} {etw script remove}} \
    empty 1 [peer steps {enterstep leavestep} callback] puts 1 [peer steps {enterstep leavestep} formatting]]]
foreach {name variant count unit} [list \
    step-no-session hooked $ours "ns/step (what the lost inlining costs)" \
    step-traced args $ours "ns/step (enter and leave, $ours steps, substituted words and results; goal: at most 650)" \
    step-traced-names-only names $ours "ns/step (goal: at most 400)" \
    step-line line $told "ns/step (goal: at most 120; $told steps, file, line and text)" \
    step-line-without-text bare $told ns/step \
    step-trace-add-execution-empty empty $theirs "ns/step ($theirs steps)" \
    step-trace-add-execution-puts puts $theirs "ns/step"] {
    set ns($variant) [expr {1000.0 * ($t($variant) - $t(plain)) / $count}]
    bench::line $name $ns($variant) $unit
}
bench::line step-cheaper-than-empty [times $ns(empty) $ns(args)] "times (goal: at least 8)"
bench::line step-names-only-cheaper-than-empty [times $ns(empty) $ns(names)] times
close $::lines
bench::cleanup
