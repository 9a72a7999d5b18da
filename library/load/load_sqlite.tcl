# load_sqlite.tcl --
#
#	etw load into an SQLite file, through package sqlite3.

# Helpers for JSON, shared with the export to SQLite.
if {[namespace which ::etw::lib::SqliteValid] eq ""} {
    source [file join [file dirname [file dirname [file normalize [info script]]]] export export_sqlite.tcl]
}

# SQL specific to SQLite.
oo::class create ::etw::load::SqliteForm {
    method Lock {} {}
    method Has {table} {
        return [llength [my Rows "SELECT 1 FROM sqlite_master WHERE name = '$table'"]]
    }
    method Type {} {
        return TEXT
    }
    method Views {} {
        return {}
    }
    method Index {name field} {
        if {$field eq "*"} {
            return -code error -errorcode {ETW UNSUPPORTED INDEX *} \
                "\"-index *\" is not available in SQLite: give the names of fields"
        }
        my Rows "CREATE INDEX IF NOT EXISTS $name ON etw_events (payload ->> [my Literal $field])"
    }
    method Payload {} {
        return props
    }
    export Lock Has Type Views Index Payload
}

oo::class create ::etw::load::Sqlite {
    superclass ::etw::load::SqliteForm
    # The handle.
    variable db

    constructor {target} {
        set path [dict get $target path]
        if {[catch {package require sqlite3} message]} {
            return -code error -errorcode {ETW UNSUPPORTED PACKAGE sqlite3} \
                "loading into a file needs the package sqlite3 (Debian and Ubuntu: libsqlite3-tcl): $message"
        }
        if {[catch {
            sqlite3 [namespace current]::db $path
            set db [namespace current]::db
            $db timeout 60000
            $db eval {PRAGMA temp_store = FILE; SELECT count(*) FROM sqlite_master}
        } message]} {
            return -code error -errorcode [list ETW IO DATABASE $path] "\"$path\": $message"
        }
    }
    # Closing rolls back uncommitted changes.
    destructor {
        if {[info exists db]} {
            $db close
        }
    }

    method Begin {} {
        my Rows {BEGIN IMMEDIATE}
    }
    method Commit {} {
        my Rows COMMIT
    }
    method Rows {sql} {
        if {[catch {
            set rows {}
            $db eval $sql row {
                lappend rows [lmap name $row(*) {set row($name)}]
            }
        } message]} {
            return -code error -errorcode {ETW IO DATABASE} $message
        }
        return $rows
    }
    method Literal {text} {
        return '[string map {' '' \0 \ufffd} $text]'
    }
    # Not in a transaction, because `copy` has its own.
    method Stage {table path progress} {
        if {[catch {$db copy abort $table $path \x1f \x03} message]} {
            return -code error -errorcode {ETW IO DATABASE} $message
        }
        {*}$progress [file size $path] [file size $path]
    }
    # Words with characters that a row cannot contain are JSON after a mark.
    method Words {} {
        return "CASE WHEN words >= char(1) AND words < char(2)
            THEN json_extract([::etw::lib::SqliteValid {substr(words, 2)}], '\$') ELSE words END"
    }
    export Begin Commit Rows Literal Stage Words
}
