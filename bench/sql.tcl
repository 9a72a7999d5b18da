# bench/sql.tcl --
#
#	`etw sql` on a file of BENCH_MB megabytes (default 300), beside `etw dump` with the same filter, and beside the export
#	to SQLite of the same file with the same query on it. Goals: number of events by provider, 5 million events per
#	second; a filtered query at the speed of the filter; memory that does not grow with the file.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

set megabytes [expr {[info exists env(BENCH_MB)] ? $env(BENCH_MB) : 300}]

# Events with payload, as the script tracer writes them.
proc make {file megabytes} {
    etw provider create Bench-Sql
    etw provider event Bench-Sql Begin {CallId int64 Command string}
    etw provider event Bench-Sql End {CallId int64 Command string Result string}
    etw start bench-sql -file $file -buffers 64,512 -buffersize 1024
    etw enable bench-sql Bench-Sql
    set id 0
    while {![file exists $file] || [file size $file] < wide($megabytes) << 20} {
        for {set i 0} {$i < 100000} {incr i} {
            incr id
            ::etw::write Bench-Sql Begin $id "command[expr {$id % 50}]"
            ::etw::write Bench-Sql End $id "command[expr {$id % 50}]" ok
        }
        etw flush bench-sql
    }
    etw provider delete Bench-Sql
    return [dict get [etw stop bench-sql] events]
}

# Kilobytes of this process without file pages.
proc memory {} {
    set f [open /proc/self/status]
    regexp {RssAnon:\s+(\d+)} [read $f] -> kilobytes
    close $f
    return $kilobytes
}

# The best of two runs, in millions of events per second.
proc rate {count script} {
    set best 1e18
    for {set i 0} {$i < 2} {incr i} {
        set best [expr {min($best, [bench::microseconds $script])}]
    }
    return [expr {$count / double($best)}]
}

set queries {
    count {SELECT count(*) FROM events}
    by-provider {SELECT provider, count(*) FROM events GROUP BY provider}
    by-event {SELECT provider, event, count(*) FROM events GROUP BY provider, event}
    by-time {SELECT count(*) FROM (SELECT time FROM events ORDER BY time)}
    providers {SELECT * FROM providers}
    filter-pid {SELECT count(*) FROM events WHERE pid = 1}
    filter-event {SELECT count(*) FROM events WHERE event = 'None'}
    field {SELECT sum(payload ->> 'CallId') FROM events WHERE event = 'End'}
    column {SELECT sum(CallId) FROM "Bench-Sql_End"}
}

try {
    if {[catch {package require sqlite3}] || [catch {etw sql [info script] {SELECT 1}} message how] && [lindex [dict get $how -errorcode] 1] eq "UNSUPPORTED"} {
        bench::note "no sqlite3 for Tcl, or no libetwsqlite (sh tools/deps.sh test)"
        return
    }
    set file [file join [bench::tmp] sql.etl]
    set count [make $file $megabytes]
    bench::note "[file size $file] bytes, $count events"
    dict for {name query} $queries {
        set before [memory]
        bench::line sql-$name [rate $count [list etw sql $file $query]] "M events/s"
        bench::line sql-$name-memory [expr {([memory] - $before) / 1024.0}] "MB more afterwards"
    }
    bench::line sql-first-ten [expr {[bench::microseconds [list etw sql $file {SELECT * FROM events ORDER BY time LIMIT 10}]] / 1000.0}] "ms"
    bench::line dump-filter-pid [rate $count [list etw dump $file -pid 1 -output /dev/null]] "M events/s"
    bench::line dump-filter-event [rate $count [list etw dump $file -event None -output /dev/null]] "M events/s"
    # A part of the file: the export of all would take minutes.
    set part [file join [bench::tmp] part.etl]
    etw relog $file $part -limit 500000
    set database [file join [bench::tmp] part.db]
    bench::line export-sqlite [expr {500000.0 / [bench::microseconds {etw export $part $database}]}] "M events/s"
    sqlite3 exported $database
    foreach name {count by-provider by-event} {
        bench::line exported-$name [rate 500000 [list exported eval [dict get $queries $name]]] "M events/s"
    }
    exported close
} finally {
    bench::cleanup
}
