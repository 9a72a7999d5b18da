# load_tdbc.tcl --
#
#	etw load through a TDBC connection that the caller has opened: slower, row by row, to any server that
#	TDBC supports. PostgreSQL and SQLite get the same tables and indexes as with their own loaders. For
#	other servers only the SQL common to both is used, payloads are text and are not indexed. The connection
#	stays open; uncommitted changes are rolled back and the tables of this load are dropped.

# SQL specific to these databases.
::etw::load::Class Postgres
::etw::load::Class Sqlite

oo::class create ::etw::load::Tdbc {
    # The connection, tables to drop, whether a transaction is open, and the notation of a backslash in a literal.
    variable db staged working backslash

    constructor {target} {
        set db [dict get $target connection]
        set staged {}
        set working 0
        switch -- [::info object class $db] {
            ::tdbc::postgres::connection { oo::objdefine [self] mixin ::etw::load::PostgresForm }
            ::tdbc::sqlite3::connection { oo::objdefine [self] mixin ::etw::load::SqliteForm }
        }
        # On servers where a backslash is an escape character, a text of two backslashes has length 1.
        set backslash \\
        if {[string length [lindex [my Rows {SELECT '\\'}] 0 0]] == 1} {
            set backslash \\\\
        }
    }
    destructor {
        if {$working} {
            catch {$db rollback}
        }
        foreach table $staged {
            catch {$db allrows "DROP TABLE $table"}
        }
    }

    method Begin {} {
        my Do {$db begintransaction}
        set working 1
        my Lock
    }
    method Commit {} {
        my Do {$db commit}
        set working 0
    }
    method Rows {sql} {
        return [my Do {$db allrows -as lists $sql}]
    }
    # Run SCRIPT in the caller; convert its error to one of the database.
    method Do {script} {
        try {
            return [uplevel 1 $script]
        } on error message {
            return -level 2 -code error -errorcode {ETW IO DATABASE} $message
        }
    }
    method Literal {text} {
        return '[string map [list ' '' \0 \ufffd \\ $backslash] $text]'
    }

    # ---- Rows ------------------------------------------------------------------------------------

    method Stage {table path progress} {
        lappend staged $table
        set rows [::etw::lib::OpenFile $path]
        fconfigure $rows -encoding utf-8 -translation lf
        try {
            my Do {$db begintransaction}
            set working 1
            my Insert $table $rows $progress [file size $path]
            my Commit
        } finally {
            close $rows
        }
    }
    # A statement for all rows, which depends on the number of columns.
    method Insert {table rows progress size} {
        set statement {}
        try {
            for {set count 0} {[gets $rows line] >= 0} {incr count} {
                set cells [split $line \x1f]
                if {$statement eq ""} {
                    set statement [my Statement $table [llength $cells]]
                }
                my Do {$statement execute [my Values $cells]}
                if {$count % 1000 == 999} {
                    {*}$progress [tell $rows] $size
                }
            }
        } finally {
            if {$statement ne ""} {
                $statement close
            }
        }
        {*}$progress $size $size
    }
    method Statement {table count} {
        set names {}
        for {set i 0} {$i < $count} {incr i} {
            lappend names :v$i
        }
        return [my Do {$db prepare "INSERT INTO $table VALUES ([join $names {, }])"}]
    }
    # A dict of the non-NULL values. A text with characters that a row cannot contain is JSON after a mark; its
    # escapes are also valid in Tcl.
    method Values {cells} {
        set values {}
        set i -1
        foreach cell $cells {
            incr i
            if {[string index $cell 0] eq "\x01"} {
                set cell [string map {\0 \ufffd} [subst -nocommands -novariables [string range $cell 2 end-1]]]
            }
            if {$cell ne "\x03"} {
                dict set values v$i $cell
            }
        }
        return $values
    }
    method Words {} {
        return words
    }

    # ---- Defaults for unknown servers --------------------------------------------------------------

    method Lock {} {}
    method Has {table} {
        return [expr {[dict size [my Do {$db tables $table}]] > 0}]
    }
    method Type {} {
        return TEXT
    }
    method Views {} {
        return {}
    }
    method Index {name field} {
        return -code error -errorcode [list ETW UNSUPPORTED INDEX $field] \
            "an index for the field \"$field\" cannot be made on this kind of server: omit \"-index\", and make the index with SQL"
    }
    method Payload {} {
        return props
    }
    export Begin Commit Rows Literal Stage Words Lock Has Type Views Index Payload
}
