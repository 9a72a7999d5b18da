# bench/processes.tcl --
#
#	Sessions across processes: two provider processes at full speed into one session, compared with
#	LTTng-UST with two processes in the same run; the time from an enable to the first event of another
#	process; the latency of live events at three rates. Goals: at most half of LTTng's cost; callbacks
#	within 10 ms; median latency below 5 ms.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::isolate
bench::loadEtw

set events 5000000

# Two processes of a program at once; the mean of the values that they print.
proc two {command} {
    return [list [open |[concat $command 2>@stderr]] [open |[concat $command 2>@stderr]]]
}
proc mean {chans} {
    set sum 0.0
    foreach chan $chans {
        set sum [expr {$sum + [lindex [read $chan] 1]}]
        close $chan
    }
    return [expr {$sum / [llength $chans]}]
}

# A flight recorder, like the peer's ring: this measures writing, not the disk.
proc ours {events} {
    etw start bench-two -mode memory -buffers 128,128
    try {
        set chans [two [list [file join $bench::build bench programs processes] write $events]]
        while {[catch {etw enable bench-two Etw-Bench -pids all}]} {
            after 10
        }
        return [mean $chans]
    } finally {
        etw stop bench-two
    }
}
proc theirs {events} {
    set dir [file join [bench::tmp] lttng-two]
    set session etw-bench-[pid]
    exec lttng create $session --output=$dir
    try {
        exec lttng enable-channel -u -s $session ch --subbuf-size=1M --num-subbuf=16 --discard
        exec lttng enable-event -u -s $session -c ch etw_peer:*
        exec lttng start $session
        set result [mean [two [list [file join $bench::build bench programs lttng_write] lttng 1 $events]]]
        exec lttng stop $session
        return $result
    } finally {
        exec lttng destroy $session
        file delete -force $dir
    }
}

set peer [bench::lttng]
if {!$peer} {
    bench::note "LTTng is not installed (sh tools/deps.sh bench): no peer"
}
set own {}
set other {}
for {set i 0} {$i < 3} {incr i} {
    lappend own [ours $events]
    if {$peer} {
        lappend other [theirs $events]
    }
}
set own [lindex [lsort -real $own] 0]
bench::line two-processes-one-session $own ns/event
if {$peer} {
    set other [lindex [lsort -real $other] 0]
    bench::line lttng-two-processes $other ns/event
    bench::line two-processes-part-of-lttng [expr {$own / $other}] "(goal: at most 0.5)"
}
dict for {name value} [bench::run processes enable 100] {
    bench::line $name $value us
}
foreach {rate events} {100 300 10000 30000 500000 1500000} {
    dict for {name value} [bench::run processes latency $rate $events] {
        bench::line $name $value [expr {[string match *-lost $name] ? "events" : "us"}]
    }
}
bench::cleanup
