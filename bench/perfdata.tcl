# bench/perfdata.tcl --
#
#	Events/s of a perf.data file: `etw summary` and `etw dump` beside `perf script` on the same file, of system calls and of
#	CPU samples with stacks. Skipped without perf or the right to use it.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

proc seconds {script} {
    set best 1e9
    for {set i 0} {$i < 3} {incr i} {
        set best [expr {min($best, [bench::microseconds $script] / 1e6)}]
    }
    return $best
}

# Record a program. Empty: not possible.
proc recorded {name options program} {
    set file [file join [bench::tmp] $name.data]
    if {[catch {exec -ignorestderr perf record -q {*}$options -o $file -- {*}$program > /dev/null 2> /dev/null} message]} {
        puts "# $name: perf record failed: [lindex [split $message \n] 0]"
        return {}
    }
    return $file
}

foreach {name options program} {
    calls {-m 4M -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit} {dd if=/dev/zero of=/dev/null bs=1 count=500000}
    samples {-e cpu-clock -F 20000 -g} {sh -c {i=0; while [ $i -lt 3000000 ]; do i=$((i+1)); done}}
} {
    set file [recorded $name $options $program]
    if {$file eq {}} continue
    set events [dict get [etw dump $file -output /dev/null] events]
    bench::line perfdata-$name-bytes-per-event [expr {[file size $file] / double($events)}] bytes
    set t [seconds {etw summary $file}]
    bench::line perfdata-$name-summary [expr {$events / $t / 1e6}] "M events/s"
    set t [seconds {etw dump $file -output /dev/null}]
    bench::line perfdata-$name-dump [expr {$events / $t / 1e6}] "M events/s"
    set peer [seconds {exec perf script -i $file > /dev/null 2> /dev/null}]
    bench::line perfdata-$name-perf-script [expr {$events / $peer / 1e6}] "M events/s"
    bench::line perfdata-$name-dump-times-perf-script [expr {$peer / $t}] times
    file delete $file
}
bench::cleanup
