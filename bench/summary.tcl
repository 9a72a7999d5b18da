# bench/summary.tcl --
#
#	etw summary of a file of a gigabyte (BENCH_MB megabytes), compared with awk counting the same groups in
#	a prepared csv. Goals: 10 million events per second by header fields, 2.5 million by a payload field or
#	with pairs, in constant memory.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

set megabytes [expr {[info exists env(BENCH_MB)] ? $env(BENCH_MB) : 1000}]

# Enter and leave events of a proc with payload, as written by the script tracer.
proc make {file megabytes} {
    etw provider create Bench-Summary
    etw provider event Bench-Summary Begin {CallId int64 Command string}
    etw provider event Bench-Summary End {CallId int64 Command string Result string}
    etw start bench -file $file -buffers 64,512 -buffersize 1024
    etw enable bench Bench-Summary
    set id 0
    while {![file exists $file] || [file size $file] < wide($megabytes) << 20} {
        for {set i 0} {$i < 100000} {incr i} {
            incr id
            ::etw::write Bench-Summary Begin $id "command[expr {$id % 50}]"
            ::etw::write Bench-Summary End $id "command[expr {$id % 50}]" ok
        }
        etw flush bench
    }
    etw provider delete Bench-Summary
    return [etw stop bench]
}

# Kilobytes of this process without file pages (those of the trace are mapped, and evicted).
proc memory {} {
    set f [open /proc/self/status]
    regexp {RssAnon:\s+(\d+)} [read $f] -> kilobytes
    close $f
    return $kilobytes
}

proc measure {name file count args} {
    set best 0
    set before [memory]
    for {set i 0} {$i < 3} {incr i} {
        set us [bench::microseconds [list etw summary $file -format csv {*}$args]]
        set best [expr {max($best, double($count) / $us)}]
    }
    bench::line summary-$name $best Mevents/s
    bench::line summary-$name-memory [expr {([memory] - $before) / 1024.0}] "MB more afterwards"
}

proc awk {file count} {
    set csv [file join [bench::tmp] part.csv]
    etw dump $file -format csv -output $csv -fields {provider event Command} -limit 2000000
    set script {{n[$1 "," $2]++} END {for (k in n) print k, n[k]}}
    foreach program {mawk gawk} {
        if {![bench::have $program]} {
            bench::note "no $program"
            continue
        }
        set us [bench::microseconds [list exec $program -F, $script $csv]]
        bench::line summary-$program-ready-csv [expr {2000000.0 / $us}] Mevents/s
    }
}

try {
    set file [file join [bench::tmp] summary.etl]
    set stats [make $file $megabytes]
    set count [dict get $stats events]
    bench::note "[file size $file] bytes, $count events"
    measure header $file $count
    measure pid-cpu $file $count -by {pid cpu level}
    measure payload $file $count -by Command
    measure distinct $file $count -by event -distinct CallId
    measure more-groups-than-room $file $count -by CallId
    measure pair $file $count -pair {Begin End} -by Command
    awk $file $count
} finally {
    bench::cleanup
}
