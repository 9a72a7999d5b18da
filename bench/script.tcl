# bench/script.tcl --
#
#	What tracing a script costs, per call (enter and leave) and per step, beside Tcl's own `trace add execution` with (a) an empty
#	proc as its callback and (b) one that formats a line and puts it. Goals: calls at least 20 times cheaper than (a), steps
#	at least 8 times.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

proc fib {n} {
    if {$n < 2} {
        return $n
    }
    return [expr {[fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]}]
}
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

# One measurement: `setup`, the script some times (the best counts), `teardown`. In microseconds.
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
# All variants in turn, in rounds, the best of each: a slow moment of the machine meets them all alike.
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
# A flight recorder: no logger competes for the second core, and recycling its buffers is part of the figure.
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
    format %.1f [expr {$a / $b}]
}

# ---- Calls: fib 18 makes 8361 of them

array set t [rounds 5 {fib 18} [concat \
    plain 9 {{} {}} names 5 [ours fib -args 0] args 5 [ours fib] \
    hooked 5 {{etw script add fib} {etw script remove}} \
    empty 1 [peer fib {enter leave} callback] puts 1 [peer fib {enter leave} formatting]]]
foreach {name variant unit} {
    call-untraced plain "ns/call"
    call-traced names "ns/call (enter and leave, names only)"
    call-traced-with-args args "ns/call (arguments and results, the default)"
    call-hooked-nobody-listens hooked "ns/call"
    call-trace-add-execution-empty empty "ns/call"
    call-trace-add-execution-puts puts "ns/call"
} {
    set ns($variant) [expr {1000.0 * ($t($variant) - ($variant eq "plain" ? 0 : $t(plain))) / 8361}]
    bench::line $name $ns($variant) $unit
}
bench::line call-cheaper-than-empty [times $ns(empty) $ns(names)] "times (goal: at least 20)"
bench::line call-with-args-cheaper-than-empty [times $ns(empty) $ns(args)] times

# ---- Steps: how many there are is counted both ways

session
etw script add steps -steps full
steps 2000
etw script remove
set ours [expr {([dict get [etw stop bench-script] events] - 3) / 2}]
set theirs 0
proc counting {args} {incr ::theirs}
trace add execution steps enterstep counting
steps 2000
trace remove execution steps enterstep counting

array set t [rounds 5 {steps 2000} [concat \
    plain 9 {{} {}} names 5 [ours steps -steps full -args 0] args 5 [ours steps -steps full] \
    hooked 5 {{etw script add steps -steps full} {etw script remove}} \
    empty 1 [peer steps {enterstep leavestep} callback] puts 1 [peer steps {enterstep leavestep} formatting]]]
foreach {name variant count unit} [list \
    step-nobody-listens hooked $ours "ns/step (what the lost inlining costs)" \
    step-traced args $ours "ns/step (enter and leave, $ours steps, substituted words and results)" \
    step-traced-names-only names $ours "ns/step" \
    step-trace-add-execution-empty empty $theirs "ns/step ($theirs steps)" \
    step-trace-add-execution-puts puts $theirs "ns/step"] {
    set ns($variant) [expr {1000.0 * ($t($variant) - $t(plain)) / $count}]
    bench::line $name $ns($variant) $unit
}
bench::line step-cheaper-than-empty [times $ns(empty) $ns(args)] "times (goal: at least 8)"
bench::line step-names-only-cheaper-than-empty [times $ns(empty) $ns(names)] times
close $::lines
bench::cleanup
