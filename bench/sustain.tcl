# bench/sustain.tcl --
#
#	Sustained writing with default buffers: 1,000,000 events/s for 10 s on all cores (goal: no loss), and
#	the share of the machine that 10,000 events/s cost (goal: below 0.5 %; ETW's own rule of thumb is 5 %).
#	The process's memory after 3 s and after 9 s includes the buffers that were needed, at most 32 MB.

source [file join [file dirname [file normalize [info script]]] support.tcl]

proc pace {rate seconds threads file} {
    bench::run pace $rate $seconds $threads $file
}
set cpus [exec getconf _NPROCESSORS_ONLN]
set file [file join [bench::tmp] pace.etl]
set r [pace 1000000 10 2 $file]
bench::line sustained-1M-per-s-10-s-events [dict get $r events] events
bench::line sustained-1M-per-s-10-s-lost [dict get $r lost] "events (goal: 0)"
bench::line sustained-1M-per-s-cpu [expr {100.0 * [dict get $r cpu] / 10 / $cpus}] "% of the machine"
file delete $file
bench::line sustained-1M-per-s-memory-3-s [dict get $r early] KB
bench::line sustained-1M-per-s-memory-9-s [dict get $r late] "KB (goal: at most 32768 above its start)"
# The same loop without a session measures the cost of the pacing.
set with [pace 10000 10 1 $file]
set without [pace 10000 10 1 -]
set cost [expr {100.0 * ([dict get $with cpu] - [dict get $without cpu]) / 10 / $cpus}]
bench::line cpu-of-10000-events-per-s [format %.3f $cost] "% of the machine (goal: below 0.5)"
bench::cleanup
