# observer.tcl --
#
#	A program that prints what tracing could change: the depth of recursion, errors, info frame, compiled and assembled
#	code, array names, coroutines, types of commands and values, the steps that its own traces see, background errors. The
#	tests run it untraced and traced. What differs from run to run (addresses) is not printed.

proc show {name value} {
    puts [list $name $value]
}

# The nesting limit, reached through each command that evaluates a script.
proc deepForeach {} {if {1} {foreach x 1 {incr ::n; deepForeach}}}
proc deepEval {} {incr ::n; eval {if 1 {deepEval}}}
proc deepUplevel {} {incr ::n; uplevel 0 {deepUplevel}}
proc deepTry {} {incr ::n; try {deepTry} finally {set x 1}}
proc deepDict {} {incr ::n; dict for {a b} {1 2} {deepDict}}
proc deepLmap {} {incr ::n; lmap x 1 {deepLmap}}
proc deepNamespace {} {incr ::n; namespace eval :: deepNamespace}
proc deepApply {} {incr ::n; apply {{} deepApply}}
oo::class create Deep {method deep {} {incr ::n; if 1 {my deep}}}
Deep create deep
foreach command {deepForeach deepEval deepUplevel deepTry deepDict deepLmap deepNamespace deepApply {deep deep}} {
    set n 0
    show $command [list [catch $command message] $message $n $errorInfo]
}

# Errors.
proc outer {} {if 1 {foreach y {a b} {inner $y}}}
proc inner {y} {switch $y {a {} b {error "bad $y" "" {X Y}}}}
catch outer message options
show error [list $message $options $errorInfo $errorCode [info errorstack]]

# Frames.
proc frames {} {
    set list {}
    for {set i [info frame]} {$i > 0} {incr i -1} {
        set frame [info frame $i]
        catch {dict unset frame cmd}
        lappend list $frame
    }
    return $list
}
proc framesInLoop {} {
    if {1} {
        foreach x 1 {
            set z [frames]
        }
    }
    return $z
}
oo::define Deep method frames {} {
    if 1 {
        return [frames]
    }
}
show framesInLoop [framesInLoop]
show framesInLambda [apply {{} {
    catch {
        set q [frames]
    }
    return $q
}}]
show framesInEval [eval {
    if 1 {
        frames
    }
}]
show framesInMethod [deep frames]
show framesInUplevel [uplevel #0 {list [frames] \
    [frames]}]
set script {
    frames
}
show framesInScript [eval $script]
show framesInNamespace [namespace eval x {
    frames
}]
proc lastCommand {} {dict get [info frame -1] cmd}
proc callsLast {} {
    if 1 { lastCommand }
}
show command [callsLast]

# Compiled code.
proc assembled {} {tcl::unsupported::assemble {push 5; store x; pop}; incr x; list $x [info locals]}
show assembled [assembled]
proc arrayNames {} {array set v {b 1 a 2 d 3 c 4 zz 5 yy 6 q 7 r 8}; foreach n {k l m} {set v($n) 1}; array names v}
show arrayNames [arrayNames]
proc locals {} {set a 1; foreach b {1 2} {set c 3}; list [info locals] [info vars]}
show locals [locals]
show count [apply {{} {set n [info cmdcount]; foreach x {1 2 3} {if {$x} {string length $x}}; expr {[info cmdcount] - $n}}}]

# Coroutines and the types of commands.
proc generator {} {foreach x {1 2 3} {if 1 {yield [list $x [info coroutine] [info level] [info frame]]}}}
coroutine one generator
show coroutine [list [one] [one] [info commands one]]
if {![catch {info cmdtype set}]} {
    coroutine two generator
    interp alias {} anAlias {} set
    interp create aChild
    namespace eval ensemble {proc a {} {}; namespace export a; namespace ensemble create}
    namespace eval import {namespace import ::ensemble::a}
    show types [lmap command {two generator anAlias aChild ensemble import::a Deep deep set string ::tcl::mathfunc::sin yield} {
        info cmdtype $command
    }]
}

# Traces of the program's own.
proc step args {lappend ::steps [lindex $args 0] [lindex $args end]}
foreach {command ops} {inner {enter leave enterstep leavestep} waits {enterstep leavestep}} {
    proc waits {y} {
        after 0 {set ::waited [info level]}
        vwait ::waited
        update
        catch {nosuch}
        set x [deep frames]
        return
    }
    set steps {}
    trace add execution $command $ops step
    catch {$command b}
    trace remove execution $command $ops step
    show steps $steps
}
show bodies [list [info body waits] [info args inner] [info class definition Deep frames]]

# The form of values that were arguments and results.
proc same {value} {return $value}
foreach script {{expr {1 << 200}} {lreverse {1 2 3}} {dict create a 1} {string range [string reverse \u20acabc] 0 end-1} {binary format a3 abc}} {
    set value [eval $script]
    same $value
    show form [regsub -all {0x[0-9a-f]+|refcount of \d+} [tcl::unsupported::representation $value] {}]
}

# Background errors.
proc failed {message options} {set ::failed [list $message $options]}
interp bgerror {} failed
show background [apply {{} {after 0 {error later}; vwait ::failed; set ::failed}}]
after idle {if 1 {deep nosuch}}
vwait failed
show background $failed
exit 3
