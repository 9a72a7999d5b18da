# bench/workloads.tcl --
#
#	How much longer a program takes while it is traced: all its procs by call, names only; with words and
#	results; each line; each step in full; and sampled at 1 kHz. Compared with Tcl's own `trace add
#	execution` with an empty proc (the same procs, enter and leave; each step). Programs: recursive fib, a
#	loop of 1e5 commands, tcllib parsing JSON and a MIME message, and files of Tcl's own test suite
#	(tools/suites.sh), each in a separate process. script.tcl measures the cost of one call and one step.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

proc loop {n} {
    for {set i 0} {$i < $n} {incr i 4} {
        set x [expr {$i * 2}]
        set y $x
        lappend list $y
        set list [lrange $list end-3 end]
    }
}
proc callback {args} {}

# Patterns of a program's procs, and their names.
proc procsOf {patterns} {
    set procs {}
    foreach pattern $patterns {
        lappend procs {*}[info procs ::$pattern]
    }
    return $procs
}
proc peer {what ops procs} {
    foreach proc $procs {
        trace $what execution $proc $ops callback
    }
}
# Best of several runs of each variant, alternating, in microseconds.
proc ways {script patterns} {
    set procs [procsOf $patterns]
    set session {etw start bench-work -mode memory -buffers 16,16; etw enable bench-work Tcl-Script}
    set stop {etw script remove; etw stop bench-work}
    set ways [list untraced {} {} \
        calls "$session -any call; etw script add $patterns -args 0" $stop \
        calls-with-words "$session -any call; etw script add $patterns" $stop \
        lines "$session; etw script add $patterns -steps line" $stop \
        full "$session; etw script add $patterns -steps full" $stop \
        sampled "$session; etw script sample -interval 1" "etw script sample -interval 0; $stop" \
        trace-add-execution [list peer add {enter leave} $procs] [list peer remove {enter leave} $procs] \
        trace-add-execution-steps [list peer add {enterstep leavestep} $procs] [list peer remove {enterstep leavestep} $procs]]
    for {set round 0} {$round < 5} {incr round} {
        foreach {name begin end} $ways {
            if {$round > 0 && $name eq "trace-add-execution-steps"} continue ;# one run takes long enough
            uplevel #0 $begin
            uplevel #0 $script
            set took [bench::microseconds $script]
            uplevel #0 $end
            set best($name) [expr {[info exists best($name)] ? min($best($name), $took) : $took}]
        }
    }
    return [array get best]
}
proc program {name script patterns} {
    array set best [ways $script $patterns]
    bench::line work-$name [expr {$best(untraced) / 1000.0}] "ms (untraced)"
    foreach way {calls calls-with-words lines full sampled trace-add-execution trace-add-execution-steps} {
        bench::line work-$name-$way [expr {double($best($way)) / $best(untraced)}] "times untraced"
    }
}

# Milliseconds of a suite's file in a separate process, best of several runs, minus those of an empty file.
proc suiteTakes {file traced} {
    set driver [file join $bench::root tests suites driver.tcl]
    set etl [expr {$traced ? [file join [bench::tmp] suite.etl] : ""}]
    set empty [file join [bench::tmp] empty.test]
    close [open $empty w]
    foreach name [list $file $empty] {
        set best($name) 1e12
        for {set i 0} {$i < 5} {incr i} {
            set start [clock microseconds]
            catch {exec [info nameofexecutable] $driver $bench::build $etl $name </dev/null 2>@1}
            set best($name) [expr {min($best($name), [clock microseconds] - $start)}]
        }
    }
    return [expr {($best($file) - $best($empty)) / 1000.0}]
}
proc suite {file} {
    set plain [suiteTakes $file 0]
    set name work-suite-[file rootname [file tail $file]]
    bench::line $name $plain "ms (untraced)"
    bench::line $name-calls [expr {[suiteTakes $file 1] / $plain}] "times untraced (every proc, method and lambda)"
}

program fib {fib 18} fib
program loop {loop 100000} loop
if {[catch {package require json; package require mime} message]} {
    bench::note $message
} else {
    set json [bench::json]
    program json {json::json2dict $::json} {json::*}
    set head {}
    for {set i 0} {$i < 40} {incr i} {
        append head "X-Header-$i: value \"quoted $i\"; parameter=$i\r\n"
    }
    set message "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n$head\r\n[string repeat "body of the message\r\n" 100]"
    program http-message {mime::finalize [mime::initialize -string $::message]} {mime::*}
}
set suites [file join [expr {[info exists env(ETW_CACHE)] ? $env(ETW_CACHE) : "$env(HOME)/.cache/etw"}] suites tcl]
foreach name {proc trace oo coroutine} {
    if {[file exists [file join $suites $name.test]] && ![package vsatisfies [info tclversion] 9]} {
        suite [file join $suites $name.test]
    } else {
        bench::note "no $name.test: sh tools/suites.sh"
    }
}
bench::cleanup
