# load_tdbc.tcl --
#
#	etw load through a connection of TDBC that the caller has opened: the slow way, row by row, to any server that TDBC
#	reaches. PostgreSQL and SQLite have the same tables and indexes as by their own ways; of others only the SQL is
#	used that those two have in common, payloads are text, and there are no indexes of payloads. The connection stays
#	open; what was not committed and the tables of this load go.

# Their forms of SQL.
::etw::load::Class Postgres
::etw::load::Class Sqlite

oo::class create ::etw::load::Tdbc {
    # The connection, tables to drop, whether we are in a transaction, and what a backslash in a literal is written as.
    variable db staged working backslash

    constructor {connection} {
        set db $connection
        set staged {}
        set working 0
        switch -- [::info object class $db] {
            ::tdbc::postgres::connection { oo::objdefine [self] mixin ::etw::load::PostgresForm }
            ::tdbc::sqlite3::connection { oo::objdefine [self] mixin ::etw::load::SqliteForm }
        }
        # Some servers take a backslash as an escape: a text of two is one there.
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
    # SCRIPT of the caller; what it says against it is the database's error.
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

    method Stage {table path told} {
        lappend staged $table
        set rows [::etw::lib::OpenFile $path]
        fconfigure $rows -encoding utf-8 -translation lf
        try {
            my Do {$db begintransaction}
            set working 1
            my Insert $table $rows $told [file size $path]
            my Commit
        } finally {
            close $rows
        }
    }
    # A statement for all rows; it needs to know how many columns there are.
    method Insert {table rows told size} {
        set statement {}
        try {
            for {set count 0} {[gets $rows line] >= 0} {incr count} {
                set cells [split $line \x1f]
                if {$statement eq ""} {
                    set statement [my Statement $table [llength $cells]]
                }
                my Do {$statement execute [my Values $cells]}
                if {$count % 1000 == 999} {
                    {*}$told [tell $rows] $size
                }
            }
        } finally {
            if {$statement ne ""} {
                $statement close
            }
        }
        {*}$told $size $size
    }
    method Statement {table count} {
        set names {}
        for {set i 0} {$i < $count} {incr i} {
            lappend names :v$i
        }
        return [my Do {$db prepare "INSERT INTO $table VALUES ([join $names {, }])"}]
    }
    # A dict of what is not NULL. A text that a row cannot have is JSON behind a mark, whose escapes are Tcl's, too.
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

    # ---- What a server that we do not know has -----------------------------------------------------

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
            "how this server makes indexes of payloads is not known: make one of \"$field\" there"
    }
    method Payload {} {
        return props
    }
    export Begin Commit Rows Literal Stage Words Lock Has Type Views Index Payload
}
