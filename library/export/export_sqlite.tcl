# export_sqlite.tcl --
#
#	etw export -format sqlite: a database in one file, through package sqlite3. The binary writes rows as
#	text, which the database loads (`copy`). The fields are a view of the payloads: no value passes through
#	Tcl.

namespace eval ::etw::lib {
    # Numbers the handles.
    variable databases 0
    variable sqliteTables {
        CREATE TABLE events (id INTEGER PRIMARY KEY, time INTEGER NOT NULL, provider TEXT NOT NULL, event TEXT NOT NULL,
            event_id INTEGER, version INTEGER, level INTEGER, opcode INTEGER, task INTEGER, keyword INTEGER,
            pid INTEGER, tid INTEGER, cpu INTEGER, activity TEXT, related TEXT, process TEXT, object TEXT, props TEXT);
        CREATE TABLE calls (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES calls(id), pid INTEGER, tid INTEGER,
            depth INTEGER, proc TEXT NOT NULL, words TEXT, start INTEGER NOT NULL, duration INTEGER NOT NULL,
            self INTEGER NOT NULL, wait INTEGER NOT NULL, code INTEGER);
        CREATE TABLE loss (file TEXT NOT NULL, session TEXT, kind TEXT NOT NULL, count INTEGER NOT NULL);
        CREATE TABLE info (name TEXT PRIMARY KEY, value TEXT);
    }
    # Created after loading the rows, which is faster. Readable times have microseconds.
    variable sqliteIndexes {
        CREATE INDEX events_time ON events(time);
        CREATE INDEX events_name ON events(provider, event);
        CREATE INDEX events_thread ON events(pid, tid, time);
        CREATE INDEX calls_proc ON calls(proc);
        CREATE INDEX calls_thread ON calls(pid, tid, start);
        CREATE INDEX calls_parent ON calls(parent);
        CREATE VIEW timeline AS SELECT id,
            strftime('%Y-%m-%dT%H:%M:%S', time / 1000000000, 'unixepoch') || printf('.%06dZ', time / 1000 % 1000000)
            AS time, provider || '/' || event AS event, process, pid, tid, cpu, props FROM events ORDER BY events.time, id;
        CREATE VIEW kinds AS SELECT provider, event, count(*) AS count, min(time) AS first, max(time) AS last
            FROM events GROUP BY provider, event;
        CREATE VIEW profile AS SELECT proc, count(words) AS calls, sum(self) AS self, sum(wait) AS wait,
            max(duration) AS longest, sum(code = 1) AS errors FROM calls GROUP BY proc ORDER BY self DESC;
        CREATE VIEW callers AS SELECT above.proc AS caller, calls.proc AS callee, count(*) AS calls,
            sum(calls.duration) AS duration FROM calls JOIN calls AS above ON above.id = calls.parent
            GROUP BY above.proc, calls.proc;
    }
}

proc ::etw::lib::Export-sqlite {sources file options} {
    if {[catch {package require sqlite3} message]} {
        return -code error -errorcode {ETW UNSUPPORTED PACKAGE sqlite3} \
            "the format sqlite needs the package sqlite3 (Debian and Ubuntu: libsqlite3-tcl): $message"
    }
    ExportCheck $sources $file
    if {[lsearch -glob $sources session:*] >= 0} {
        return -code error -errorcode {ETW UNSUPPORTED SOURCE sqlite} \
            "the format sqlite cannot read a running session, because it reads its sources twice: give the file of the session"
    }
    return [ExportViaTemp $file {path {SqliteFill $path $sources $options}}]
}

# Write the rows of FORMAT to a file, and load it into TABLE. Returns the result of the export.
proc ::etw::lib::SqliteLoad {db path sources options format table} {
    set rows $path.rows
    try {
        set result [::etw::export {*}$sources $rows {*}$options -format $format]
        $db copy abort $table $rows \x1f \x03
        return $result
    } finally {
        file delete -- $rows
    }
}

proc ::etw::lib::SqliteFill {path sources options} {
    variable sqliteTables
    variable sqliteIndexes
    variable databases
    set db ::etw::lib::Database[incr databases]
    sqlite3 $db $path
    try {
        # A failed export is deleted, so no journal is needed.
        $db eval {
            PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536
        }
        $db eval $sqliteTables
        set result [SqliteLoad $db $path $sources [ExportPart $options 0 2] eventrows events]
        # A table would have most of the rows of the database, and take longer than everything else.
        $db eval "CREATE VIEW fields AS SELECT e.id AS event, j.key AS name, j.value AS value
            FROM events e, json_each([SqliteValid e.props]) j"
        SqliteLoad $db $path $sources [ExportPart $options 1 2] callrows calls
        # Words with characters that a row cannot contain are JSON after a mark.
        $db eval "UPDATE calls SET words = json_extract([SqliteValid {substr(words, 2)}], '$')
            WHERE words >= char(1) AND words < char(2)"
        SqliteReport $db $sources $result
        $db eval $sqliteIndexes
        $db eval {PRAGMA analysis_limit = 1000; ANALYZE}
    } finally {
        $db close
    }
    return $result
}

# SQL: JSON without NULs in its texts, which would end them in SQLite; U+FFFD replaces them. `\\u0000` is not a
# NUL.
proc ::etw::lib::SqliteValid {json} {
    return [string map [list JSON $json] {CASE WHEN instr(JSON, '\u0000') = 0 THEN JSON
        ELSE replace(replace(replace(JSON, '\\', char(3)), '\u0000', '\ufffd'), char(3), '\\') END}]
}

# The losses reported by the files, and the messages of the exporter.
proc ::etw::lib::SqliteReport {db sources result} {
    foreach source $sources {
        if {[string match session:* $source] || [catch {::etw info $source -providers 0} info]} {
            continue
        }
        set session [dict get $info session]
        dict for {kind count} [dict get $info losses] {
            $db eval {INSERT INTO loss VALUES ($source, $session, $kind, $count)}
        }
    }
    set told [list exporter "etw [package provide etw]" sources [join $sources \n] {*}[dict remove $result warnings] \
        warnings [join [dict get $result warnings] \n]]
    foreach {name value} $told {
        $db eval {INSERT INTO info VALUES ($name, $value)}
    }
}
