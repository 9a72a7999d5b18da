# load_postgres.tcl --
#
#	etw load into PostgreSQL: a psql process receives statements through its input; rows are loaded by COPY
#	in CSV format, in which backslashes have no special meaning. The quote character is U+0002, which rows
#	do not contain.

# SQL specific to PostgreSQL, for any connection.
oo::class create ::etw::load::PostgresForm {
    # Only one load at a time assigns numbers of files.
    method Lock {} {
        my Rows "SELECT pg_advisory_xact_lock(hashtext('etw load'))"
    }
    method Has {table} {
        return [llength [my Rows "SELECT 1 WHERE to_regclass('$table') IS NOT NULL"]]
    }
    method Type {} {
        return JSONB
    }
    # With readable times, which have microseconds.
    method Views {} {
        return {
            {CREATE VIEW etw_times AS SELECT timestamptz 'epoch' + time / 1000 * interval '1 microsecond' AS at, t.*
                FROM etw_timeline t}
        }
    }
    # An index of one field is a hash, because values may have any length; one of all fields is an inverted index
    # (GIN).
    method Index {name field} {
        set what [expr {$field eq "*" ? "gin (payload jsonb_path_ops)" : "hash ((payload ->> [my Literal $field]))"}]
        my Rows "CREATE INDEX IF NOT EXISTS $name ON etw_events USING $what"
    }
    # jsonb cannot contain NUL: U+FFFD replaces it.
    method Payload {} {
        return "[my Valid props]::jsonb"
    }
    method Valid {text} {
        return "CASE WHEN $text LIKE '%\\\\u0000%'\
            THEN regexp_replace($text, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1\\\\ufffd', 'g') ELSE $text END"
    }
    export Lock Has Type Views Index Payload Valid
}

oo::class create ::etw::load::Postgres {
    superclass ::etw::load::PostgresForm
    # psql's input and output, the file with its errors, and the number of answers.
    variable chan errors answers

    # TARGET is that of ::etw::load::Target.
    constructor {target} {
        set answers 0
        if {[auto_execok psql] eq ""} {
            return -code error -errorcode {ETW UNSUPPORTED PROGRAM psql} \
                "loading into PostgreSQL needs the program psql, which is not on the PATH: install it, or use a connection of tdbc::postgres"
        }
        close [file tempfile errors etwload]
        set command [list {*}[auto_execok psql] -X -q -A -t -w -F \x1f -v ON_ERROR_STOP=1 -d [dict get $target connection] 2>$errors]
        set chan [my Run $command [dict get $target password]]
        fconfigure $chan -encoding utf-8 -translation lf -buffersize 1000000
        try {
            my Rows "SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET client_min_messages = warning"
        } on error {message how} {
            my Close ;# a failed constructor does not run the destructor
            return -options $how $message
        }
    }
    destructor {
        my Close
    }

    # Start psql. It receives the password in its environment, which other users cannot see.
    method Run {command password} {
        if {$password eq ""} {
            return [open |$command r+]
        }
        set before [array get ::env PGPASSWORD]
        set ::env(PGPASSWORD) $password
        try {
            return [open |$command r+]
        } finally {
            unset ::env(PGPASSWORD)
            array set ::env $before
        }
    }

    # The server rolls back uncommitted changes when the connection ends.
    method Close {} {
        if {[info exists chan]} {
            catch {close $chan}
        }
        if {[info exists errors]} {
            file delete $errors
        }
    }

    method Begin {} {
        my Rows BEGIN
        my Lock
    }
    method Commit {} {
        my Rows COMMIT
    }
    method Rows {sql} {
        my Send "$sql;\n"
        return [my Answer]
    }
    # Read rows up to a line with a requested mark.
    method Answer {} {
        set mark "\x1e[incr answers]"
        my Send "\\echo '$mark'\n"
        if {[catch {flush $chan}]} {
            my Failed
        }
        set rows {}
        while {[gets $chan line] >= 0} {
            if {$line eq $mark} {
                return $rows
            }
            lappend rows [split $line \x1f]
        }
        my Failed
    }
    method Send {text} {
        if {[catch {puts -nonewline $chan $text}]} {
            my Failed
        }
    }
    # psql has ended: report its errors.
    method Failed {} {
        catch {close $chan}
        unset chan
        set f [::etw::lib::OpenFile $errors]
        set message [string trim [read $f]]
        close $f
        return -level 2 -code error -errorcode {ETW IO DATABASE} "psql: $message"
    }
    method Literal {text} {
        return '[string map {' '' \0 \ufffd} $text]'
    }
    method Stage {table path progress} {
        my Send "COPY $table FROM STDIN (FORMAT csv, DELIMITER E'\\x1f', QUOTE E'\\x02', NULL E'\\x03');\n"
        set rows [::etw::lib::OpenFile $path rb]
        try {
            set size [file size $path]
            for {set done 0} {$done < $size} {{*}$progress $done $size} {
                if {[catch {incr done [my Piece $rows]}]} {
                    my Failed
                }
            }
        } finally {
            close $rows
        }
        my Send "\\.\n"
        my Answer
    }
    method Piece {rows} {
        fconfigure $chan -translation binary
        set bytes [fcopy $rows $chan -size 4000000]
        fconfigure $chan -encoding utf-8 -translation lf
        return $bytes
    }
    method Words {} {
        return "CASE WHEN words LIKE E'\\x01%' THEN ([my Valid {substr(words, 2)}]::jsonb #>> '{}') ELSE words END"
    }
    export Begin Commit Rows Literal Stage Words
}
