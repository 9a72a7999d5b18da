# load.tcl --
#
#	etw load: loads traces of many hosts into a database. The binary writes rows as text
#	(flow/render/format/sink_rows.c), the database reads them into temporary tables of this load, and SQL
#	moves them from there in one transaction. No event passes through Tcl, except into a connection of TDBC,
#	which is slow. The directory load has a class for each kind of database, with
#	    Rows SQL			run it; returns a list of rows
#	    Literal TEXT		TEXT as a literal of SQL
#	    Stage TABLE FILE PROGRESS	rows of a file into a new temporary table; PROGRESS is called with bytes and size
#	    Payload, Words		SQL for the columns `props` and `words` of such a table
#	    Type, Views			type of payloads; additional views for this kind of database
#	    Index NAME FIELD		an index of a field of the payload, unless it exists; `*`: of all fields
#	    Has TABLE, Begin, Commit
#	and a destructor that rolls back what was not committed. ClickHouse has no transactions: its class has a
#	method Fill instead, which does all of this (load/load_clickhouse.tcl).

namespace eval ::etw::load {
    variable dir [file join [file dirname [file normalize [info script]]] load]
    # Option -> default.
    variable defaults {-cafile {} -host {} -index {} -passwordfile {} -progress {} -replace 0}
    # %J is replaced by the type of a payload.
    variable tables {
        {CREATE TABLE IF NOT EXISTS etw_files (id BIGINT PRIMARY KEY, host TEXT NOT NULL, session TEXT NOT NULL,
            file TEXT NOT NULL, started BIGINT NOT NULL, ended BIGINT NOT NULL, size BIGINT NOT NULL,
            options TEXT NOT NULL, events BIGINT NOT NULL, lost BIGINT NOT NULL, UNIQUE (host, session, file, started))}
        {CREATE TABLE IF NOT EXISTS etw_hosts (id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE)}
        {CREATE TABLE IF NOT EXISTS etw_sessions (id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE)}
        {CREATE TABLE IF NOT EXISTS etw_events (file BIGINT NOT NULL, id BIGINT NOT NULL, host BIGINT NOT NULL,
            session BIGINT NOT NULL, time BIGINT NOT NULL, provider TEXT NOT NULL, event TEXT NOT NULL,
            event_id INTEGER, version INTEGER, level INTEGER, opcode INTEGER, task INTEGER, keyword BIGINT, pid BIGINT,
            tid BIGINT, cpu INTEGER, activity TEXT, related TEXT, process TEXT, object TEXT, payload %J,
            PRIMARY KEY (file, id))}
        {CREATE TABLE IF NOT EXISTS etw_calls (file BIGINT NOT NULL, id BIGINT NOT NULL, parent BIGINT, host BIGINT NOT NULL,
            session BIGINT NOT NULL, pid BIGINT, tid BIGINT, depth INTEGER, proc TEXT NOT NULL, words TEXT,
            start BIGINT NOT NULL, duration BIGINT NOT NULL, self BIGINT NOT NULL, wait BIGINT NOT NULL, code INTEGER,
            PRIMARY KEY (file, id))}
        {CREATE INDEX IF NOT EXISTS etw_events_time ON etw_events (time)}
        {CREATE INDEX IF NOT EXISTS etw_calls_proc ON etw_calls (proc)}
    }
    variable views {
        {CREATE VIEW etw_traces AS SELECT f.id, f.host, f.session, f.file, f.started, f.ended, f.events, f.lost,
            (SELECT count(*) FROM etw_calls c WHERE c.file = f.id) AS calls FROM etw_files f}
        {CREATE VIEW etw_timeline AS SELECT h.name AS host, s.name AS session, f.file AS trace, e.id, e.time,
            e.provider, e.event, e.level, e.process, e.pid, e.tid, e.cpu, e.payload FROM etw_events e
            JOIN etw_hosts h ON h.id = e.host JOIN etw_sessions s ON s.id = e.session JOIN etw_files f ON f.id = e.file}
        {CREATE VIEW etw_kinds AS SELECT f.host, f.session, f.file, e.provider, e.event, count(*) AS count,
            min(e.time) AS first, max(e.time) AS last FROM etw_events e JOIN etw_files f ON f.id = e.file
            GROUP BY f.host, f.session, f.file, e.provider, e.event}
        {CREATE VIEW etw_profile AS SELECT f.host, f.session, f.file, c.proc, count(c.words) AS calls,
            sum(c.self) AS self, sum(c.wait) AS wait, max(c.duration) AS longest,
            sum(CASE WHEN c.code = 1 THEN 1 ELSE 0 END) AS errors
            FROM etw_calls c JOIN etw_files f ON f.id = c.file GROUP BY f.host, f.session, f.file, c.proc}
    }
    # Columns of a row in the order of sink_rows.c.
    variable eventColumns {id BIGINT time BIGINT provider TEXT event TEXT event_id INTEGER version INTEGER level INTEGER
        opcode INTEGER task INTEGER keyword BIGINT pid BIGINT tid BIGINT cpu INTEGER activity TEXT related TEXT
        process TEXT object TEXT props TEXT}
    variable callColumns {id BIGINT parent BIGINT pid BIGINT tid BIGINT depth INTEGER proc TEXT words TEXT start BIGINT
        duration BIGINT self BIGINT wait BIGINT code INTEGER}
    # For the names of the handles.
    variable databases 0
}

source [file join $::etw::load::dir target.tcl]

# etw load DB SOURCE ?SOURCE ...? ?-option value ...?
proc ::etw::load::Load {args} {
    lassign [::etw::lib::SplitWords $args] words options
    set sources [lassign $words database]
    if {[llength $sources] == 0} {
        return -code error -errorcode {TCL WRONGARGS} \
            "wrong # args: should be \"etw load database source ?source ...? ?-option value ...?\""
    }
    lassign [Options $options] own exporting
    set traces [lmap source $sources {Describe $source [dict get $own -host] $exporting}]
    set db [Open $database $own]
    try {
        return [Store $db $traces $own $exporting]
    } finally {
        $db destroy
    }
}

# Load traces (dicts of Describe) through an object of Open; also for `etw ship`.
proc ::etw::load::Store {db traces own exporting} {
    if {"Fill" in [::info object methods $db -all]} {
        return [$db Fill $traces $own $exporting]
    }
    return [Fill $db $traces $own $exporting]
}

# Returns {options of the load, options of the exporter}.
proc ::etw::load::Options {given} {
    variable defaults
    set options [::etw::lib::Options [dict get [::etw::lib::commands] load options] $given]
    set own [dict merge $defaults [dict filter $options key {*}[dict keys $defaults]]]
    set exporting [dict remove $options {*}[dict keys $defaults]]
    if {![string is boolean -strict [dict get $own -replace]]} {
        return -code error -errorcode [list ETW ARG BOOLEAN -replace] \
            "expected a boolean value for \"-replace\" but got \"[dict get $own -replace]\""
    }
    if {![string is list [dict get $own -index]]} {
        return -code error -errorcode {ETW ARG LIST -index} "expected a list of fields for \"-index\" but got \"[dict get $own -index]\""
    }
    return [list $own $exporting]
}

# The columns of a trace in etw_files, with `source` and the losses.
proc ::etw::load::Describe {source host exporting} {
    if {[regexp {^(clickhouses?|postgres(ql)?):} $source]} {
        return -code error -errorcode {ETW UNSUPPORTED SOURCE load} "\"[Shown $source]\" is a database, which cannot be loaded: give the database first, then the traces"
    }
    if {[string match session:* $source] || $source eq "-"} {
        return -code error -errorcode {ETW UNSUPPORTED SOURCE load} \
            "\"$source\" cannot be loaded, because a trace is read twice: give the file of the session"
    }
    set info [::etw info $source -providers 0]
    set lost 0
    dict for {kind count} [dict get $info losses] {
        incr lost $count
    }
    return [dict create source $source host [expr {$host eq "" ? [Computer $source] : $host}] \
        session [dict get $info session] file [file tail $source] started [dict get $info started] \
        ended [dict get $info ended] size [dict get $info size] options $exporting lost $lost]
}

# The name of the computer in a trace: sessions of ours begin with it, Windows' kernel writes it at the end. Without it, that
# of this machine.
proc ::etw::load::Computer {source} {
    foreach event [::etw events $source -provider {Etw-Session SystemConfig} -event {Host CPU} -limit 1] {
        foreach field {Host ComputerName} {
            if {[dict exists $event props $field]} {
                return [dict get $event props $field]
            }
        }
    }
    return [::info hostname]
}

# An object that accesses the database that a user names (load/target.tcl). ACCESS: a dict that may have -passwordfile and -cafile.
proc ::etw::load::Open {database {access {}}} {
    variable databases
    set target [Target $database $access]
    set kind [dict get $target kind]
    Class $kind
    return [$kind create ::etw::load::Database[incr databases] $target]
}

# Load the class for a kind of database.
proc ::etw::load::Class {kind} {
    variable dir
    if {[::info commands ::etw::load::$kind] eq ""} {
        uplevel #0 [list source [file join $dir load_[string tolower $kind].tcl]]
    }
}

# ---- One load ------------------------------------------------------------------------------------

proc ::etw::load::Fill {db traces own exporting} {
    set result [dict create files 0 skipped 0 events 0 warnings {}]
    set staged {}
    foreach trace $traces {
        if {![dict get $own -replace] && [Loaded $db $trace]} {
            dict incr result skipped
            continue
        }
        set table etw_stage[dict incr result files; dict get $result files]
        lassign [Stage $db $trace $table $exporting [dict get $own -progress]] events warnings
        dict set trace events $events
        dict incr result events $events
        dict lappend result warnings {*}$warnings
        lappend staged $table $trace
    }
    set fields [dict get $own -index]
    if {$staged ne "" || $fields ne ""} {
        $db Begin
        Tables $db
        foreach {table trace} $staged {
            Move $db $table $trace
        }
        foreach field $fields {
            $db Index [IndexName $field] $field
        }
        $db Commit
    }
    return $result
}

# True if the database contains this trace, loaded with these options.
proc ::etw::load::Loaded {db trace} {
    if {![$db Has etw_files]} {
        return 0
    }
    set same [Same $db $trace {host session file started ended size options}]
    return [llength [$db Rows "SELECT 1 FROM etw_files WHERE $same"]]
}

proc ::etw::load::Same {db trace names} {
    return [join [lmap name $names {string cat "$name = " [Value $db $name $trace]}] " AND "]
}

proc ::etw::load::Value {db name trace} {
    set value [dict get $trace $name]
    return [expr {$name in {host session file options} ? [$db Literal $value] : [expr {wide($value)}]}]
}

# Load both kinds of rows into temporary tables: returns {events warnings}.
proc ::etw::load::Stage {db trace table exporting progress} {
    variable eventColumns
    variable callColumns
    foreach {kind columns} [list event $eventColumns call $callColumns] {
        set rows [::etw::lib::RowsFile path]
        try {
            set done [::etw::export [dict get $trace source] $rows {*}$exporting -format ${kind}rows]
            flush $rows
            if {$kind eq "event"} {
                set exported $done
            }
            $db Rows "CREATE TEMPORARY TABLE $table$kind ([join [lmap {name type} $columns {string cat "$name $type"}] {, }])"
            $db Stage $table$kind $path [list ::etw::load::Progress $progress [dict get $trace source] ${kind}s]
        } finally {
            ::etw::lib::RowsClose $rows $path
        }
    }
    return [list [dict get $exported events] [dict get $exported warnings]]
}

# -progress: call the command with the source, the kind of rows, the bytes loaded and the size.
proc ::etw::load::Progress {progress source kind bytes size} {
    if {$progress ne ""} {
        uplevel #0 [list {*}$progress $source $kind $bytes $size]
    }
}

proc ::etw::load::Tables {db} {
    variable tables
    variable views
    if {[$db Has etw_files]} {
        return
    }
    foreach sql $tables {
        $db Rows [string map [list %J [$db Type]] $sql]
    }
    foreach sql [concat $views [$db Views]] {
        $db Rows $sql
    }
}

# A short name, because the length of index names is limited in some databases and fields have any names.
proc ::etw::load::IndexName {field} {
    set bytes [encoding convertto utf-8 $field]
    return [format etw_payload_%08x%08x [expr {[zlib crc32 $bytes] & 0xffffffff}] [expr {[zlib adler32 $bytes] & 0xffffffff}]]
}

# The id of NAME in one of the tables of names; added if missing.
proc ::etw::load::Number {db table name} {
    set name [$db Literal $name]
    set known "SELECT id FROM $table WHERE name = $name"
    if {[$db Rows $known] eq ""} {
        $db Rows "INSERT INTO $table (id, name) SELECT coalesce(max(id), 0) + 1, $name FROM $table"
    }
    return [lindex [$db Rows $known] 0 0]
}

# Move a trace from its temporary tables to the permanent ones, and delete an older version of the same trace.
proc ::etw::load::Move {db table trace} {
    variable eventColumns
    variable callColumns
    set host [Number $db etw_hosts [dict get $trace host]]
    set session [Number $db etw_sessions [dict get $trace session]]
    foreach row [$db Rows "SELECT id FROM etw_files WHERE [Same $db $trace {host session file started}]"] {
        foreach {from column} {etw_events file etw_calls file etw_files id} {
            $db Rows "DELETE FROM $from WHERE $column = [lindex $row 0]"
        }
    }
    AddFile $db $trace
    set file [lindex [$db Rows "SELECT id FROM etw_files WHERE [Same $db $trace {host session file started}]"] 0 0]
    foreach {kind columns} [list event $eventColumns call $callColumns] {
        set names [dict keys $columns]
        set values [lmap name $names {Column $db $name}]
        $db Rows "INSERT INTO etw_${kind}s (file, host, session, [join [string map {props payload} $names] {, }])\
            SELECT $file, $host, $session, [join $values {, }] FROM $table$kind"
    }
}

proc ::etw::load::AddFile {db trace} {
    set names {host session file started ended size options events lost}
    set values [lmap name $names {Value $db $name $trace}]
    $db Rows "INSERT INTO etw_files (id, [join $names {, }])\
        SELECT coalesce(max(id), 0) + 1, [join $values {, }] FROM etw_files"
}

# For `etw ship`: add a trace of which DROPPED events were not sent, unless the database has the trace. Returns 1 if it was added.
proc ::etw::load::StoreLoss {db trace dropped} {
    if {"FillLoss" in [::info object methods $db -all]} {
        return [$db FillLoss $trace $dropped]
    }
    dict set trace events 0
    dict set trace lost $dropped
    $db Begin
    Tables $db
    set new [expr {[$db Rows "SELECT id FROM etw_files WHERE [Same $db $trace {host session file started}]"] eq ""}]
    if {$new} {
        AddFile $db $trace
    }
    $db Commit
    return $new
}

proc ::etw::load::Column {db name} {
    switch -- $name {
        props { return [$db Payload] }
        words { return [$db Words] }
    }
    return $name
}
