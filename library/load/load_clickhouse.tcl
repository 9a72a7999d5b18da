# load_clickhouse.tcl --
#
#	etw load into ClickHouse. clickhouse_schema.tcl explains how a load counts as a whole or not at all.

apply {dir {
    foreach part {tls_socket clickhouse_http clickhouse_schema} {
        uplevel #0 [list source [file join $dir $part.tcl]]
    }
}} [file dirname [file normalize [info script]]]

namespace eval ::etw::load {
    # Columns that name a batch.
    variable batchKey {host session file started part}
    # Bytes of rows in one request.
    variable clickhousePiece 16000000
}

oo::class create ::etw::load::Clickhouse {
    superclass ::etw::load::ClickhouseServer

    # ---- Files -----------------------------------------------------------------------------------

    # Load traces (dicts of ::etw::load::Describe). All of them count, or none.
    method Fill {traces own exporting} {
        if {[dict get $own -index] ne ""} {
            return -code error -errorcode [list ETW UNSUPPORTED INDEX [lindex [dict get $own -index] 0]] \
                "\"-index\" is not available in ClickHouse, which searches columns without one: omit it"
        }
        my Tables
        set result [dict create files 0 skipped 0 events 0 warnings {}]
        set batches {}
        set begun {}
        try {
            foreach trace $traces {
                dict set trace part 0
                if {![dict get $own -replace] && [my Loaded $trace]} {
                    dict incr result skipped
                    continue
                }
                dict incr result files
                set batch [my Begin [dict replace $trace dropped 0]]
                lappend begun [dict get $batch load]
                set batch [my Stage $batch $exporting [dict get $own -progress]]
                lappend batches $batch
                dict incr result events [dict get $batch events]
                dict lappend result warnings {*}[dict get $batch warnings]
            }
        } on error {message how} {
            catch {my Discard $begun}
            return -options $how $message
        }
        # Not inside: what the server may have committed is not discarded, also if its answer is lost.
        my Commit $batches
        return $result
    }
    # Add a trace of which DROPPED events were not sent, unless the trace is there. Returns 1 if it was added.
    method FillLoss {trace dropped} {
        my Tables
        dict set trace part 0
        dict set trace dropped $dropped
        if {[lindex [my Rows "SELECT count() FROM etw_batches WHERE [my Same $trace $::etw::load::batchKey]"] 0 0]} {
            return 0
        }
        my Commit [list [dict merge [my Begin $trace] {events 0 calls 0}]]
        return 1
    }
    method Tables {} {
        my Create
        if {[lindex [my Rows "EXISTS TABLE etw_procs"] 0 0]} { ;# the last of them
            return
        }
        foreach sql [::etw::load::ClickhouseTables [my Version]] {
            my Rows $sql
        }
    }
    method Loaded {trace} {
        set same [my Same $trace {ended size options}]
        return [lindex [my Rows "SELECT count() FROM etw_batches WHERE [my Same $trace $::etw::load::batchKey] AND $same\
            AND load IN (SELECT counts FROM etw_loaded)"] 0 0]
    }
    method Same {trace names} {
        return [join [lmap name $names {string cat "$name = " [my Value $trace $name]}] " AND "]
    }
    method Value {trace name} {
        set value [dict get $trace $name]
        return [expr {$name in {host session file options} ? [my Literal $value] : [expr {wide($value)}]}]
    }

    # Send the events and calls of a file. Returns the batch with the numbers of its rows.
    method Stage {batch exporting progress} {
        foreach {kind table columns} [list event etw_events $::etw::load::eventColumns call etw_calls $::etw::load::callColumns] {
            set rows [::etw::lib::RowsFile path]
            try {
                set done [::etw::export [dict get $batch source] $rows {*}$exporting -format ${kind}rows]
                if {$kind eq "event"} {
                    set exported $done
                }
                set report [list ::etw::load::Progress $progress [dict get $batch source] ${kind}s]
                dict set batch ${kind}s [my Send $batch $table $columns $rows $report]
            } finally {
                ::etw::lib::RowsClose $rows $path
            }
        }
        return [dict merge $batch [dict create warnings [dict get $exported warnings]]]
    }

    # ---- Batches ---------------------------------------------------------------------------------

    # A new load of a batch. Its number is higher than those of earlier loads, also if the clock was set back.
    method Begin {batch} {
        set key [my Same $batch $::etw::load::batchKey]
        set last 0
        foreach table {etw_begun etw_batches} {
            set last [expr {max($last, [lindex [my Rows "SELECT max(load) FROM $table WHERE $key"] 0 0])}]
        }
        set load [expr {max($last + 1, ([clock microseconds] << 11) + int(rand() * 2048))}]
        dict set batch load $load
        my Insert etw_begun [concat $::etw::load::batchKey load] [my Row $batch [concat $::etw::load::batchKey load]]
        return $batch
    }
    # A row in TabSeparated, with line feed.
    method Row {batch names} {
        return [encoding convertto utf-8 [join [lmap name $names {
            string map $::etw::load::tsvEscapes [dict get $batch $name]
        }] \t]]\n
    }
    # Insert the rows of a channel, as sink_rows.c writes them. Returns their number.
    method Send {batch table columns rows progress} {
        set names [concat load host session file [string map {props payload} [dict keys $columns]]]
        set prefix [string range [my Row $batch {load host session file}] 0 end-1]\t
        fconfigure $rows -translation binary
        seek $rows 0 end
        set size [tell $rows]
        seek $rows 0
        set count 0
        while {[set piece [read $rows $::etw::load::clickhousePiece]] ne ""} {
            append piece [gets $rows]
            if {[string index $piece end] ne "\n"} {
                append piece \n
            }
            incr count [my Insertion $table $names $prefix $piece]
            {*}$progress [tell $rows] $size
        }
        return $count
    }
    # Each row of a piece gets the prefix; its separators and NULLs become those of TabSeparated.
    method Insertion {table names prefix piece} {
        set count [expr {[string length $piece] - [string length [string map {\n {}} $piece]]}]
        set texts [string first \x01 $piece]
        set piece [string map [list \\ \\\\ \x1f \t \x03 \\N \n \n$prefix] $piece]
        if {$texts >= 0} {
            set piece [my Words $piece]
        }
        my Insert $table $names $prefix[string range $piece 0 end-[string length $prefix]]
        return $count
    }
    # Words of calls that are JSON after a mark, in which the backslashes have been doubled.
    method Words {piece} {
        set result {}
        set from 0
        while {[set at [string first \t\x01\" $piece $from]] >= 0} {
            set end [string first \"\t $piece $at+3]
            append result [string range $piece $from $at] [string map [list \\\\\\\\ \\\\ \\\\\" \" \\\\u00 \\x \\\\ \\] [string range $piece $at+3 $end-1]]
            set from [expr {$end + 1}]
        }
        return $result[string range $piece $from end]
    }
    # From now on these batches count. Earlier loads of them, which no longer do, are deleted; if that fails, by the next load.
    method Commit {batches} {
        if {$batches eq ""} {
            return
        }
        set names [concat $::etw::load::batchKey {load ended size options events calls lost dropped}]
        set rows {}
        foreach batch $batches {
            append rows [my Row $batch $names]
        }
        my Insert etw_batches $names $rows
        foreach batch $batches {
            catch {
                my Discard [lmap row [my Rows "SELECT load FROM etw_begun\
                    WHERE [my Same $batch $::etw::load::batchKey] AND load < [dict get $batch load]"] {lindex $row 0}]
            }
        }
    }
    # Delete the rows of loads that do not count. The server does it later.
    method Discard {loads} {
        if {$loads eq ""} {
            return
        }
        foreach table {etw_events etw_calls etw_minutes etw_begun} {
            my Rows "ALTER TABLE $table DELETE WHERE load IN ([join $loads {, }])"
        }
    }
    export Fill FillLoss Tables Begin Send Commit Discard Insertion
}
