# tests/golden/perf/record.tcl --
#
#	Makes the files of this folder, which tests/flow/perf_source.test reads where perf is not installed: what `perf record` writes,
#	packed by gzip, and what `perf script` says about it, in the form of tests/support/perf_script.tcl. Needs root and Debian's linux-perf.
#
#	tclsh tests/golden/perf/record.tcl ?NAME ...?

package require Tcl 8.6-
set here [file dirname [file normalize [info script]]]
source [file join $here .. .. support perf_script.tcl]
set program {sh -c {for i in 1 2; do ls / >/dev/null; done}}
set clock {-k CLOCK_MONOTONIC}
set tracepoints {-e sched:sched_switch -e sched:sched_wakeup -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -e sched:sched_process_exec}
# Name, options of perf record.
set files [list \
    samples "-e cpu-clock -F 5000 -g $clock" \
    noclock "-e cpu-clock -F 5000 --switch-events" \
    packed "-e cpu-clock -F 5000 -g -z $clock" \
    tracepoints "$tracepoints $clock" \
    pipe "-e cpu-clock -F 5000 -g $clock" \
    copies "-e cpu-clock -F 5000 --call-graph dwarf,512 $clock"]

proc put {file bytes} {
    set f [open $file wb]
    puts -nonewline $f $bytes
    close $f
}
proc get {file} {
    set f [open $file rb]
    set bytes [read $f]
    close $f
    return $bytes
}
# Names of files as arguments: only these are made. Copies of stacks contain the environment: it is empty.
foreach {name options} $files {
    if {$argc && $name ni $argv} continue
    set data /tmp/perf-golden.data
    if {$name eq "pipe"} {
        exec -ignorestderr perf record -q --sample-cpu {*}$options -o - -- env -i {*}$program > $data 2> /dev/null
    } else {
        exec -ignorestderr perf record -q --sample-cpu {*}$options -o $data -- env -i {*}$program 2> /dev/null
    }
    put [file join $here $name.data.gz] [zlib gzip [get $data] -level 9]
    set script [perfscript::Script $data [expr {$name eq "tracepoints"}]]
    set stacks [expr {$name eq "tracepoints" ? {} : [perfscript::Stacks $data]}]
    put [file join $here $name.script] [encoding convertto utf-8 "script {\n[join [lmap e $script {list $e}] \n]\n}\nstacks {\n[join [lmap e $stacks {list $e}] \n]\n}\n"]
    file delete $data
}
