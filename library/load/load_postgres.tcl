# load_postgres.tcl --
#
#	etw load into PostgreSQL: one psql, which is told what to do through its input; rows go by COPY. COPY reads them
#	as CSV, in which a backslash is only that; its quote is U+0002, which no row has.

# What PostgreSQL has of its own in SQL, whoever carries it there.
oo::class create ::etw::load::PostgresForm {
    # The numbers of files are given one load after the other.
    method Lock {} {
        my Rows "SELECT pg_advisory_xact_lock(hashtext('etw load'))"
    }
    method Has {table} {
        return [llength [my Rows "SELECT 1 WHERE to_regclass('$table') IS NOT NULL"]]
    }
    method Type {} {
        return JSONB
    }
    # With times for people, which have microseconds.
    method Views {} {
        return {
            {CREATE VIEW etw_times AS SELECT timestamptz 'epoch' + time / 1000 * interval '1 microsecond' AS at, t.*
                FROM etw_timeline t}
        }
    }
    # Of one field a hash, which takes values of any length; of all of them a tree of what is in them.
    method Index {name field} {
        set what [expr {$field eq "*" ? "gin (payload jsonb_path_ops)" : "hash ((payload ->> [my Literal $field]))"}]
        my Rows "CREATE INDEX IF NOT EXISTS $name ON etw_events USING $what"
    }
    # jsonb has no NUL: U+FFFD stands for it.
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
    # psql's input and output, the file of its errors, and numbers the answers.
    variable chan errors answers

    # DATABASE is a conninfo string or a URL.
    constructor {database} {
        set answers 0
        if {[auto_execok psql] eq ""} {
            return -code error -errorcode {ETW UNSUPPORTED PROGRAM psql} \
                "loading into PostgreSQL needs the program psql, which is not on the PATH"
        }
        close [file tempfile errors etwload]
        set chan [open |[list {*}[auto_execok psql] -X -q -A -t -w -F \x1f -v ON_ERROR_STOP=1 \
            -d $database 2>$errors] r+]
        fconfigure $chan -encoding utf-8 -translation lf -buffersize 1000000
        try {
            my Rows "SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; SET client_min_messages = warning"
        } on error {message how} {
            my Close ;# without a constructor's end, no destructor
            return -options $how $message
        }
    }
    destructor {
        my Close
    }

    # What was not committed ends with the connection.
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
    # Rows up to a line that we ask for.
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
    # psql has ended: it has said why.
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
    method Stage {table path told} {
        my Send "COPY $table FROM STDIN (FORMAT csv, DELIMITER E'\\x1f', QUOTE E'\\x02', NULL E'\\x03');\n"
        set rows [::etw::lib::OpenFile $path rb]
        try {
            set size [file size $path]
            for {set done 0} {$done < $size} {{*}$told $done $size} {
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
