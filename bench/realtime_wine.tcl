# bench/realtime_wine.tcl --
#
#	The engine "system" under Wine: events of a provider in another thread, through the simulated
#	service of the tests (sim/ of the build directory) and a real-time session, to a Tcl callback in
#	batches. Goals: at least 200,000 events a second, memory flat over 10 million. Windows builds only.
#
#	BENCH_EVENTS: how many millions (10)

source [file join [file dirname [file normalize [info script]]] support.tcl]
if {$tcl_platform(platform) ne "windows"} {
    bench::note "realtime-wine: for a Windows build"
    exit 0
}
set root $bench::build
set bench::build [file join $root sim]
set ::env(ETW_RUNTIME_DIR) [file join $::env(TEMP) etw-bench-[pid]]
bench::loadEtw
lappend auto_path [file join $root tclthreads]
package require tclthreads
etw provider create Bench-Live

# Resident memory in MB, from the Linux below Wine. /proc/self would be Wine's server, which opens the file, so
# this script's name is searched among the newest processes. 0: not available.
proc resident {} {
    variable status
    if {![info exists status]} {
        set status {}
        catch {
            set chan [open Z:/proc/loadavg]
            set last [lindex [gets $chan] end]
            close $chan
            set most 0
            for {set pid $last} {$pid > max(0, $last - 2000)} {incr pid -1} {
                if {[catch {open Z:/proc/$pid/cmdline} chan]} {
                    continue
                }
                set command [read $chan]
                close $chan
                if {[string match *realtime_wine.tcl* $command] && [Pages Z:/proc/$pid/statm] > $most} {
                    set most [Pages Z:/proc/$pid/statm]
                    set status Z:/proc/$pid/statm
                }
            }
        }
    }
    return [expr {$status eq "" ? 0 : [Pages $status] * 4096.0 / 1048576}]
}
proc Pages {file} {
    set chan [open $file]
    set pages [lindex [gets $chan] 1]
    close $chan
    return $pages
}

# A thread that writes n events, `rate` per second; 0: at full speed.
proc producer {n rate} {
    return [tclthreads::start [format {
        lappend auto_path {%s}
        package require etw
        etw provider create Bench-Live
        etw provider event Bench-Live Sent {Bytes int Peer string}
        proc loop {from to} {
            for {set i $from} {$i < $to} {incr i} {
                etw write Bench-Live Sent $i "127.0.0.1:8080"
            }
        }
        proc run {n rate} {
            set start [clock microseconds]
            for {set at 0} {$at < $n} {incr at 2000} {
                loop $at [expr {min($n, $at + 2000)}]
                if {$rate > 0} {
                    set due [expr {$start + int(1e6 * ($at + 2000) / $rate)}]
                    while {[clock microseconds] < $due} {
                        after 1
                    }
                }
            }
        }
        run %d %d
    } $bench::build $n $rate]]
}

# n events at that rate. A dict: delivered, seconds, and the memory of each tenth.
proc deliver {n rate} {
    etw start bench-live -realtime 1 -buffersize 256 -buffers 64,256 -flush 1000
    etw enable bench-live Bench-Live
    set ::seen 0
    set ::memory {}
    set ::step [expr {$n / 10}]
    set ::first 0
    set thread [producer $n $rate]
    set waiter [tclthreads::start [format {
        lappend auto_path {%s} {%s}
        package require etw
        package require tclthreads
        tclthreads::join %s
        etw flush bench-live
        etw stop bench-live
    } $bench::build [file join $::root tclthreads] $thread]]
    etw consume session:bench-live -batch 2000 -fields {time Bytes Peer} -as list \
        -where {$provider eq "Bench-Live"} -command take
    set seconds [expr {($::last - $::first) / 1e6}]
    tclthreads::join $waiter
    return [list delivered $::seen seconds $seconds memory $::memory]
}
proc take {events} {
    set ::last [clock microseconds]
    if {$::first == 0} {
        set ::first $::last
    }
    incr ::seen [llength $events]
    if {$::seen >= [llength $::memory] * $::step} {
        lappend ::memory [resident]
    }
}

set r [deliver 2000000 0]
set rate [expr {[dict get $r delivered] / [dict get $r seconds]}]
bench::line realtime-wine-unpaced $rate "events/s (goal: at least 200000)"
bench::line realtime-wine-unpaced-missing [expr {2000000 - [dict get $r delivered]}] events

set n [expr {int(1e6 * ([info exists env(BENCH_EVENTS)] ? $env(BENCH_EVENTS) : 10))}]
set r [deliver $n 250000]
set memory [dict get $r memory]
bench::line realtime-wine-paced [expr {[dict get $r delivered] / [dict get $r seconds]}] \
    "events/s (written at 250000)"
bench::line realtime-wine-paced-missing [expr {$n - [dict get $r delivered]}] "events of $n"
bench::line realtime-wine-memory-early [lindex $memory 2] MB
bench::line realtime-wine-memory-late [lindex $memory end] "MB (goal: flat)"
catch {file delete -force $::env(ETW_RUNTIME_DIR)}
