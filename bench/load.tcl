# bench/load.tcl --
#
#	etw load into a private PostgreSQL, compared with psql and COPY of prepared rows into the same columns
#	with the same keys; and into SQLite; both also through TDBC. BENCH_EVENTS is the number of events
#	(default 500,000). Goal: 100,000 events per second.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw
package require tcltest
# Required by tests/support/postgres.tcl.
tcltest::testConstraint linux [expr {$tcl_platform(os) eq "Linux"}]
namespace import ::tcltest::testConstraint
source [file join $bench::root tests support postgres.tcl]

set events [expr {[info exists env(BENCH_EVENTS)] ? $env(BENCH_EVENTS) : 500000}]

proc make {file events} {
    etw provider create Bench-Load
    etw provider event Bench-Load Sample {Id int64 Name string Value double}
    etw start bench -file $file -buffers 64,512 -buffersize 1024
    etw enable bench Bench-Load
    for {set i 0} {$i < $events} {incr i} {
        ::etw::write Bench-Load Sample $i "name[expr {$i % 50}]" [expr {$i / 7.0}]
        if {$i % 50000 == 0} {
            etw flush bench
        }
    }
    etw provider delete Bench-Load
    return [dict get [etw stop bench] events]
}

# Through TDBC, if the driver is installed.
proc measureTdbc {driver words file count} {
    if {[catch {package require tdbc::$driver}]} {
        bench::note "no package tdbc::$driver"
        return
    }
    set connection [::tdbc::${driver}::connection new {*}$words]
    measure tdbc-$driver $connection $file $count
    $connection close
}

proc measure {name database file count} {
    set best 0
    for {set i 0} {$i < 3} {incr i} {
        set us [bench::microseconds [list etw load $database $file -replace 1]]
        set best [expr {max($best, 1e6 * $count / $us)}]
    }
    bench::line load-$name $best events/s
}

# psql alone: copies the rows of the table by COPY into an identical one.
proc peer {server count} {
    set rows [file join [bench::tmp] ready.rows]
    exec psql -X -q -d $server -c "\\copy etw_events TO '$rows'" -c "CREATE TABLE ready (LIKE etw_events INCLUDING ALL)"
    set best 0
    for {set i 0} {$i < 3} {incr i} {
        set us [bench::microseconds [list exec psql -X -q -d $server -c "TRUNCATE ready" -c "\\copy ready FROM '$rows'"]]
        set best [expr {max($best, 1e6 * $count / $us)}]
    }
    bench::line load-psql-ready-rows $best events/s
}

try {
    set file [file join [bench::tmp] load.etl]
    set count [make $file $events]
    bench::note "[file size $file] bytes, $count events"
    if {[testConstraint postgres]} {
        set server [postgresStart]
        measure postgres $server $file $count
        peer $server $count
        measureTdbc postgres [list -host $testing::postgresDir -user etw -database postgres] $file $count
    } else {
        bench::note "no PostgreSQL"
    }
    if {[catch {package require sqlite3}]} {
        bench::note "no package sqlite3"
    } else {
        measure sqlite [file join [bench::tmp] load.db] $file $count
        measureTdbc sqlite3 [list [file join [bench::tmp] tdbc.db]] $file $count
    }
} finally {
    testing::postgresStop
    bench::cleanup
}
