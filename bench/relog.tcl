# bench/relog.tcl --
#
#	The cost of copying a trace: events/s of `etw relog` unchanged, with a filter, with header fields set
#	and with compression, and its peak memory, compared with babeltrace2 copying as many LTTng events of a
#	similar size through its trimmer; and its compression ratio compared with Windows' own files
#	(ETW_CORPUS). Goals: copy 5 million events/s, with -set 2 million, constant memory.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::isolate

# One relog in a separate process; returns a dict of seconds and peak memory (MB).
proc relog {in out args} {
    set script {
        lappend auto_path [lindex $argv 0]
        package require etw
        set us [lindex [time {etw relog {*}[lrange $argv 1 end]}] 0]
        set peak 0
        catch {
            set f [open /proc/self/status]
            regexp {VmHWM:\s+(\d+)} [read $f] -> peak
            close $f
        }
        puts [list seconds [expr {$us / 1e6}] memory [expr {$peak / 1024.0}]]
    }
    return [exec [info nameofexecutable] << "set argv [list [list $bench::build $in $out {*}$args]]\n$script"]
}

proc lttngTrace {dir n} {
    set session etw-relog-[pid]
    exec lttng create $session --output=$dir
    exec lttng enable-channel -u -s $session ch --subbuf-size=4M --num-subbuf=16 --blocking-timeout=inf
    exec lttng enable-event -u -s $session -c ch etw_peer:*
    exec lttng start $session
    exec env LTTNG_UST_ALLOW_BLOCKING=1 [file join $bench::build bench programs lttng_write] lttng 1 $n
    exec lttng destroy $session
}

try {
    bench::loadEtw
    set corpus [expr {[info exists env(ETW_CORPUS)] ? $env(ETW_CORPUS) : [file join $bench::root .. shared corpus]}]
    set in [file join [bench::tmp] in.etl]
    set out [file join [bench::tmp] out.etl]
    exec [file join $bench::build bench programs scan] make $in 400 56
    set n [dict get [etw info $in] events]
    bench::note "$n events, [expr {[file size $in] >> 20}] MB"
    foreach {name goal options} {
        copy " (goal: at least 5)" {} set " (goal: at least 2)" {-set {level 3}} where "" {-where {$id < 10}}
        timeshift "" {-timeshift 1} compress "" {-compress 1}
    } {
        set best [relog $in $out {*}$options]
        for {set i 0} {$i < 2} {incr i} {
            set again [relog $in $out {*}$options]
            set best [expr {[dict get $again seconds] < [dict get $best seconds] ? $again : $best}]
        }
        set rate($name) [expr {$n / [dict get $best seconds] / 1e6}]
        bench::line relog-$name $rate($name) "M events/s$goal"
        bench::line relog-$name-memory [dict get $best memory] "MB, peak"
        set size($name) [file size $out]
    }
    bench::line relog-compress-ratio [expr {double($size(copy)) / $size(compress)}] "to 1"
    foreach file [glob -nocomplain -directory $corpus */net.4.5.2.x*.etl */PktMon.etl] {
        relog $file $out -compress 1
        bench::line relog-compress-[file rootname [file tail $file]] [expr {double([file size $out]) / [file size $file]}] \
            "of the size that Windows' own compression gave (goal: at most 1)"
    }
    # TraceLogging events of 5 fields, 48 bytes.
    set few [file join [bench::tmp] few.etl]
    set count 300000
    exec [file join $bench::build bench programs etl_decode] make $few $count 1000
    foreach {name goal options} {
        redact "2)" {-redact Path} rename "2)" {-rename {Etw-Bench-Decode Renamed}}
        map "0.1)" {-map {apply {e {dict set e level 3}}}} map-keep "0.1)" {-map {apply {e {return keep}}}}
        map-fields "0.3)" {-fields {time id level} -map {apply {e {dict set e level 3}}}}
        map-fields-keep "0.3)" {-fields {time id level} -map {apply {e {return keep}}}}
    } {
        set best [relog $few $out {*}$options]
        for {set i 0} {$i < 2} {incr i} {
            set again [relog $few $out {*}$options]
            set best [expr {[dict get $again seconds] < [dict get $best seconds] ? $again : $best}]
        }
        bench::line relog-$name [expr {$count / [dict get $best seconds] / 1e6}] "M events/s (goal: at least $goal"
        bench::line relog-$name-memory [dict get $best memory] "MB, peak"
    }
    if {[bench::have babeltrace2] && [file exists [file join $bench::build bench programs lttng_write]] && [bench::lttng]} {
        set dir [file join [bench::tmp] ctf]
        lttngTrace $dir 1000000
        set best 1e9
        for {set i 0} {$i < 3} {incr i} {
            file delete -force [file join [bench::tmp] copy]
            set us [lindex [time {
                exec babeltrace2 $dir --begin=1970-01-01 -o ctf -w [file join [bench::tmp] copy] >& /dev/null
            }] 0]
            set best [expr {min($best, $us / 1e6)}]
        }
        bench::line babeltrace2-trimmer [expr {1 / $best}] "M events/s"
        bench::line relog-times-babeltrace2 [expr {$rate(copy) * $best}] times
    } else {
        bench::note "babeltrace2 or lttng is not installed (sh tools/deps.sh bench): no peer"
    }
} finally {
    bench::cleanup
}
