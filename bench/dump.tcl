# bench/dump.tcl --
#
#	Text from a trace: events/s of `etw dump` (and of only reading and counting, `etw info`), compared with
#	babeltrace2 on as many LTTng events of the same payload, and perf script on as many tracepoint events.
#	Goal: at least 5 times babeltrace2.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

set n 2000000
set file [file join [bench::tmp] dump.etl]

proc seconds {script} {
    set best 1e9
    for {set i 0} {$i < 3} {incr i} {
        set best [expr {min($best, [bench::microseconds $script] / 1e6)}]
    }
    return $best
}

# Paced, so that every event reaches the file.
set r [bench::run pace 500000 [expr {$n / 500000.0}] 2 $file]
set events [dict get $r events]
bench::line dump-file-bytes-per-event [expr {[file size $file] / double($events)}] bytes
foreach {name options} {text {} csv {-format csv} json {-format json}} {
    set t [seconds {etw dump $file {*}$options -output /dev/null}]
    bench::line dump-$name [expr {$events / $t / 1e6}] "M events/s"
    set rate($name) [expr {$events / $t}]
}
set t [seconds {etw info $file}]
bench::line read-and-count [expr {$events / $t / 1e6}] "M events/s"

set dir [bench::lttngTrace $n]
if {$dir ne ""} {
    set t [seconds {exec babeltrace2 $dir > /dev/null}]
    bench::line babeltrace2-text [expr {$n / $t / 1e6}] "M events/s"
    bench::line dump-text-times-babeltrace2 [expr {$rate(text) / ($n / $t)}] "times (goal: at least 5)"
}
lassign [bench::perfTrace] data count
if {$data ne ""} {
    set t [seconds {exec perf script -i $data > /dev/null 2>/dev/null}]
    bench::line perf-script-text [expr {$count / $t / 1e6}] "M events/s"
}
bench::cleanup
