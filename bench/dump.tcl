# bench/dump.tcl --
#
#	Text from a trace: events/s of `etw dump` (and of reading and counting alone, `etw info`) beside babeltrace2 on as many LTTng
#	events of the same payload, and perf script on as many tracepoint events. Goal: at least 5 times babeltrace2.

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

if {[bench::have babeltrace2] && [bench::lttng]} {
    set dir [file join [bench::tmp] ctf]
    exec lttng create etw-dump-[pid] --output=$dir
    exec lttng enable-channel -u -s etw-dump-[pid] ch --subbuf-size=4M --num-subbuf=16 --blocking-timeout=inf
    exec lttng enable-event -u -s etw-dump-[pid] -c ch etw_peer:*
    exec lttng start etw-dump-[pid]
    exec env LTTNG_UST_ALLOW_BLOCKING=1 [file join $bench::build bench lttng_write] lttng 1 $n
    exec lttng destroy etw-dump-[pid]
    set t [seconds {exec babeltrace2 $dir > /dev/null}]
    bench::line babeltrace2-text [expr {$n / $t / 1e6}] "M events/s"
    bench::line dump-text-times-babeltrace2 [expr {$rate(text) / ($n / $t)}] "times (goal: at least 5)"
} else {
    bench::note "babeltrace2 or lttng is not installed (sh tools/deps.sh bench): no peer"
}
if {[bench::have perf]} {
    set data [file join [bench::tmp] perf.data]
    if {[catch {exec perf record -q -m 4096 -e raw_syscalls:sys_enter -o $data \
            dd if=/dev/zero of=/dev/null bs=1 count=500000 2>@1} message]} {
        bench::note "perf record: [lindex [split $message \n] 0]"
    } else {
        set count [exec perf script -i $data 2>/dev/null | wc -l]
        set t [seconds {exec perf script -i $data > /dev/null 2>/dev/null}]
        bench::line perf-script-text [expr {$count / $t / 1e6}] "M events/s"
    }
}
bench::cleanup
