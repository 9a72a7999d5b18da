# bench/guard.tcl --
#
#	False alarms of `etw guard`: five programs with modules of tcllib are checked N times each (default 20) against their baselines, while
#	busy loops load the machine; then each with a planted regression once. A check is one run (--runs 1), so that chance has no second try.
#
#	tclsh bench/guard.tcl ?N? ?GROUPS?	GROUPS: kernel events, such as systemcall,fileio

source [file join [file dirname [file normalize [info script]]] support.tcl]
source [file join $bench::root bench programs guard_programs.tcl]

set runs [expr {[llength $argv] > 0 ? [lindex $argv 0] : 20}]
set kernel [expr {[llength $argv] > 1 ? [list --kernel [lindex $argv 1]] : {}}]
set tool [list [info nameofexecutable] [file join [file normalize $bench::build] etw]]
cd [bench::tmp]
# The exit code and the output.
proc guard {args} {
    set code 0
    if {[catch {exec {*}$::tool guard {*}$args 2>@1} out how]} {
        set code [lindex [dict get $how -errorcode] 2]
    }
    return [list $code $out]
}
set busy [lmap i {1 2 3 4} {exec [info nameofexecutable] << {while 1 {incr i}} &}]
set alarms 0
set checks 0
set found 0
try {
    foreach name [dict keys $guardPrograms] {
        guardWrite $name 0 program.tcl
        lassign [guard record $name.guard {*}$kernel -- [info nameofexecutable] program.tcl] code out
        if {$code != 0} {
            error $out
        }
        for {set i 0} {$i < $runs} {incr i} {
            lassign [guard check $name.guard --runs 1 -- [info nameofexecutable] program.tcl] code out
            incr checks
            if {$code != 0} {
                incr alarms
                puts "$name: $out"
            }
        }
        guardWrite $name 1 program.tcl
        incr found [expr {[lindex [guard check $name.guard -- [info nameofexecutable] program.tcl] 0] == 1}]
    }
} finally {
    exec kill {*}$busy
}
bench::line guard-checks $checks checks
bench::line guard-false-alarms $alarms alarms
bench::line guard-regressions-found $found "of [dict size $guardPrograms]"
cd /
bench::cleanup
