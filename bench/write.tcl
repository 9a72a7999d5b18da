# bench/write.tcl --
#
#	A provider's write through etw.h: disabled, enabled, one and two threads, 40 bytes of payload; LTTng-UST
#	in the same run. `write-...` is Etw_Enabled with Etw_Write, `line-...` is ETW_WRITE. Goals: enabled at
#	most a third of LTTng's cost, disabled at most 1 ns, ETW_WRITE at most 10 % above Etw_Write.

source [file join [file dirname [file normalize [info script]]] support.tcl]

set events 5000000
# With a file session all events must reach the disk for a valid result, so the burst fits into the buffers.
set burst 300000

proc lttng {threads events} {
    set dir [file join [bench::tmp] lttng-$threads]
    set session etw-bench-[pid]
    exec lttng create $session --output=$dir
    try {
        exec lttng enable-channel -u -s $session ch --subbuf-size=1M --num-subbuf=16 --discard
        exec lttng enable-event -u -s $session -c ch etw_peer:*
        exec lttng start $session
        set result [bench::run lttng_write lttng $threads $events]
        exec lttng stop $session
    } finally {
        exec lttng destroy $session
        file delete -force $dir
    }
    return $result
}

foreach form {write line} {
    foreach threads {1 2} {
        bench::line $form-disabled-$threads-threads \
            [bench::best 3 $form-disabled-$threads-threads {bench::run write disabled $threads 50000000}] ns/event
    }
    bench::line $form-other-keyword-1-threads \
        [bench::best 3 $form-other-1-threads {bench::run write other 1 50000000}] ns/event
}
set peer [bench::lttng]
if {!$peer} {
    bench::note "LTTng is not installed (sh tools/deps.sh bench): no peer"
}
foreach threads {1 2} {
    set file [file join [bench::tmp] write.etl]
    # Alternating, so that a slow phase of the machine affects both.
    set ours {}; set lines {}; set burstNs {}; set theirs {}; set lost 0
    for {set i 0} {$i < 5} {incr i} {
        set r [bench::run write memory $threads $events]
        lappend ours [dict get $r write-memory-$threads-threads]
        lappend lines [dict get $r line-memory-$threads-threads]
        set r [bench::run write file $threads $burst $file]
        lappend burstNs [dict get $r write-file-$threads-threads]
        incr lost [dict get $r write-file-$threads-lost]
        if {$peer} {
            lappend theirs [dict get [lttng $threads $events] lttng-$threads-threads]
        }
    }
    set ours [lindex [lsort -real $ours] 0]
    bench::line write-enabled-memory-$threads-threads $ours ns/event
    bench::line line-enabled-memory-$threads-threads [lindex [lsort -real $lines] 0] ns/event
    bench::line write-enabled-file-$threads-threads [lindex [lsort -real $burstNs] 0] ns/event
    bench::line write-enabled-file-$threads-lost $lost events
    if {$peer} {
        set theirs [lindex [lsort -real $theirs] 0]
        bench::line lttng-enabled-$threads-threads $theirs ns/event
        bench::line write-part-of-lttng-$threads-threads [expr {$ours / $theirs}] "(goal: at most 0.33)"
    }
}
bench::cleanup
