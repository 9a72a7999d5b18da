# bench/size.tcl --
#
#	How large files are: bytes an event, and the time to write and to read them. Calls with names (fib), lines with the defaults
#	of `etw record`, system calls and switches of the kernel (as root). Goals: calls 12 bytes, kernel 14, lines 20 and 120 ns;
#	packed (`etw relog -pack`) 8;
#	compression 3 million events/s; 14 events 16 KB, 179 events 40 KB. Compared with the same events not compressed, with
#	zstd -3 of those, and with LTTng's CTF of a loop of as many events, plain and with zstd -3. Others' published figures: Go's execution trace
#	4 to 6 bytes, ftrace 68, LTTng 47 with a text of some 30 bytes.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::isolate
bench::loadEtw
set tmp [bench::tmp]

proc fib n {
    if {$n < 2} {
        return $n
    }
    return [expr {[fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]}]
}
proc lines n {
    set sum 0
    for {set i 0} {$i < $n} {incr i} {
        incr sum $i
        set half [expr {$sum / 2}]
        set text "sum $half"
    }
    return $text
}
# ns of CPU time of this thread, and of the others of the process, which include the logger's.
proc cpu {} {
    set own 0
    set others 0
    foreach file [glob -nocomplain /proc/self/task/*/schedstat] {
        if {[catch {
            set f [open $file]
            set ns [lindex [read $f] 0]
            close $f
        }]} {
            continue
        }
        if {[file tail [file dirname $file]] eq [pid]} {
            set own $ns
        } else {
            incr others $ns
        }
    }
    return [list $own $others]
}
proc zstd {files} {
    if {[auto_execok zstd] eq ""} {
        return ""
    }
    set sum 0
    foreach file $files {
        incr sum [exec sh -c {zstd -3 -q -c "$0" | wc -c} $file]
    }
    return $sum
}
proc record {compress enable script} {
    variable tmp
    set file [file join $tmp size.etl]
    etw start size -file $file -buffers 64,256 -compress $compress
    uplevel #0 $enable
    set before [cpu]
    uplevel #0 $script
    etw flush size
    set after [cpu]
    catch {etw script remove *}
    etw stop size
    set info [etw info $file]
    return [dict create file $file events [dict get $info events] lost [dict get $info lost] size [file size $file] \
        writer [expr {[lindex $after 0] - [lindex $before 0]}] logger [expr {[lindex $after 1] - [lindex $before 1]}]]
}
proc measure {label goal enable script} {
    variable tmp
    set plain [record off $enable $script]
    set n [dict get $plain events]
    bench::line size-$label-plain [expr {double([dict get $plain size]) / $n}] "bytes an event"
    set packed [zstd [list [dict get $plain file]]]
    if {$packed ne ""} {
        bench::line size-$label-zstd-3 [expr {double($packed) / $n}] "bytes an event, of the same events"
    }
    foreach {name command} {
        relog-copy {etw relog [dict get $plain file] [file join $tmp copy.etl]}
        relog-compress {etw relog [dict get $plain file] [file join $tmp packed.etl] -compress 1}
        relog-pack {etw relog [dict get $plain file] [file join $tmp packed.etl.zst] -pack 1}
        read-plain {etw info [dict get $plain file]}
        read-compressed {etw info [file join $tmp packed.etl]}
        read-packed {etw info [file join $tmp packed.etl.zst]}
    } {
        set before [lindex [cpu] 0]
        for {set i 0} {$i < 5} {incr i} {
            eval $command
        }
        bench::line size-$label-$name [expr {5e3 * $n / ([lindex [cpu] 0] - $before)}] "M events/s of CPU time"
    }
    bench::line size-$label-packed [expr {double([file size [file join $tmp packed.etl.zst]]) / $n}] "bytes an event (goal: 8)"
    set before [lindex [cpu] 0]
    uplevel #0 $script
    set untraced [expr {[lindex [cpu] 0] - $before}]
    set on [record on $enable $script]
    bench::line size-$label [expr {double([dict get $on size]) / [dict get $on events]}] "bytes an event$goal"
    foreach {name result} [list plain $plain compressed $on] {
        set n [dict get $result events]
        if {$label ne "kernel"} {
            bench::line size-$label-write-$name [expr {double([dict get $result writer] - $untraced) / $n}] "ns an event in the traced thread"
        }
        bench::line size-$label-logger-$name [expr {double([dict get $result logger]) / $n}] "ns an event in the logger"
    }
    bench::line size-$label-lost [expr {[dict get $plain lost] + [dict get $on lost]}] events
}

try {
    foreach {calls goal} {7 16 89 40} {
        set result [record auto {etw enable size Tcl-Script; etw script add fib} {for {set i 0} {$i < $calls} {incr i} {fib 1}}]
        bench::line size-of-[dict get $result events]-events [expr {[dict get $result size] / 1024.0}] "KB (goal: at most $goal)"
    }
    measure calls " (goal: 12)" {etw enable size Tcl-Script; etw script add fib} {
        for {set i 0} {$i < 12} {incr i} {
            fib 19
            after 10
        }
    }
    # Keywords and options that `etw record --steps line` uses.
    measure lines " (goal: 20)" {etw enable size Tcl-Script; etw script add lines -steps line} {
        for {set i 0} {$i < 12} {incr i} {
            lines 5000
            after 10
        }
    }
    if {[catch {
        measure kernel " (goal: 14)" {etw enable size kernel {contextswitch systemcall}} {
            set end [expr {[clock milliseconds] + 1000}]
            while {[clock milliseconds] < $end} {
                exec true
            }
        }
    } message]} {
        bench::note "no kernel events: $message"
    }
    if {[auto_execok lttng] ne ""} {
        set dir [file join $tmp lttng]
        set session etw-size-[pid]
        exec lttng create $session --output=$dir
        exec lttng enable-channel -u -s $session ch --subbuf-size=4M --num-subbuf=16 --blocking-timeout=inf
        exec lttng enable-event -u -s $session -c ch etw_peer:*
        exec lttng start $session
        exec env LTTNG_UST_ALLOW_BLOCKING=1 [file join $bench::build bench programs lttng_write] lttng 1 300000
        exec lttng destroy $session
        set streams [exec find $dir -type f -name ch_*]
        set sum 0
        foreach file $streams {
            incr sum [file size $file]
        }
        bench::line size-lttng-ctf [expr {$sum / 300000.0}] "bytes an event"
        set packed [zstd $streams]
        if {$packed ne ""} {
            bench::line size-lttng-ctf-zstd-3 [expr {$packed / 300000.0}] "bytes an event"
        }
    } else {
        bench::note "no lttng: Debian's packages lttng-tools, liblttng-ust-dev"
    }
} finally {
    bench::cleanup
}
