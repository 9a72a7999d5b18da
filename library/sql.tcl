# sql.tcl --
#
#	etw sql: a query over traces, in place. The extension of SQLite beside the package's binary (generic/sql) has the
#	tables; this file opens them through package sqlite3, and writes the result.

namespace eval ::etw::sql {
    variable dir [file dirname [file dirname [file normalize [info script]]]]
    variable formats {csv dict json table}
    # Lines that determine the widths of a table's columns.
    variable measured 1000
    # Numbers the handles.
    variable databases 0
}

# etw sql FILE ?FILE ...? QUERY ?-option value ...?
proc ::etw::sql::Sql {args} {
    variable formats
    lassign [::etw::lib::SplitWords $args] words given
    if {[llength $words] < 2} {
        return -code error -errorcode {TCL WRONGARGS} \
            "wrong # args: should be \"etw sql file ?file ...? query ?-option value ...?\""
    }
    set options [dict merge {-format dict -output {} -schema {}} \
        [::etw::lib::Options [dict get [::etw::lib::commands] sql options] $given]]
    dict with options {}
    if {[catch {tcl::prefix match -message format $formats ${-format}} format]} {
        return -code error -errorcode [list TCL LOOKUP INDEX format ${-format}] $format
    }
    if {$format eq "dict" && ${-output} ne ""} {
        return -code error -errorcode {ETW ARG FORMAT dict} \
            "the format dict is a result and cannot be written to \"${-output}\": expected csv, json or table"
    }
    if {![string is list ${-schema}]} {
        return -code error -errorcode {ETW ARG LIST -schema} "expected a list of files for \"-schema\" but got \"${-schema}\""
    }
    set sources [lrange $words 0 end-1]
    if {${-output} ni {- {}} && [set source [::etw::lib::SourceAt $sources ${-output}]] ne ""} {
        return -code error -errorcode [list ETW ARG OUTPUT $source] \
            "\"$source\" is one of the sources: give another file to \"-output\""
    }
    set db [Open $sources ${-schema}]
    try {
        return [Run $db [lindex $words end] $format ${-output}]
    } finally {
        $db close
    }
}

# The file of the extension.
proc ::etw::sql::Extension {} {
    variable dir
    set file [file join $dir libetwsqlite[::info sharedlibextension]]
    if {![file exists $file]} {
        return -code error -errorcode {ETW UNSUPPORTED SQLITE} "\"etw sql\" needs [file tail $file], which this installation lacks:\
            SQLite's header was not found when etw was configured (Debian and Ubuntu: libsqlite3-dev; Linux only)"
    }
    return $file
}

# A connection with the tables of these files.
proc ::etw::sql::Open {files schemas} {
    variable databases
    set extension [Extension]
    if {[catch {package require sqlite3} message]} {
        return -code error -errorcode {ETW UNSUPPORTED PACKAGE sqlite3} \
            "\"etw sql\" needs the package sqlite3 (Debian and Ubuntu: libsqlite3-tcl): $message"
    }
    set db ::etw::sql::Database[incr databases]
    sqlite3 $db :memory:
    try {
        $db enable_load_extension 1
        $db eval {SELECT load_extension($extension, 'sqlite3_etwsqlite_init')}
        $db enable_load_extension 0
        foreach schema $schemas {
            $db eval {SELECT etw_schema_load($schema)}
        }
        # As one BLOB of paths that end with NULs: a function of SQLite has at most 127 arguments.
        set paths [encoding convertto utf-8 [join $files \0]\0]
        $db eval {SELECT etw_open(@paths)}
    } on error {message} {
        $db close
        return -code error -errorcode {ETW IO DATABASE} $message
    }
    return $db
}

proc ::etw::sql::Run {db query format output} {
    if {[catch {
        if {$format eq "dict"} {
            # Not as a query of its own: SQLite's interface for Tcl would bind its parameters to variables of this program.
            set result {}
            Lines $db $query dict {lappend result}
        } elseif {$output eq ""} {
            set lines {}
            Lines $db $query $format {lappend lines}
            set result [expr {$lines eq {} ? "" : "[join $lines \n]\n"}]
        } else {
            set result [Write $db $query $format $output]
        }
    } message how]} {
        if {[lindex [dict get $how -errorcode] 0] in {ETW POSIX}} {
            return -options $how $message
        }
        return -code error -errorcode {ETW IO DATABASE} $message
    }
    return $result
}

# Write the lines to a file, or to stdout (-). Returns {rows N warnings LIST}. A failed query leaves an old file as it was. A device, a pipe or a
# link is not replaced, but written to.
proc ::etw::sql::Write {db query format output} {
    if {$output eq "-"} {
        set rows [Lines $db $query $format [list puts stdout]]
        flush stdout
    } elseif {[catch {file type $output} type] || $type eq "file"} {
        set rows [::etw::lib::ExportViaTemp $output {path {WriteFile $db $query $format $path}}]
    } else {
        set rows [WriteFile $db $query $format $output]
    }
    return [dict create rows $rows warnings [Warnings $db]]
}

# What was wrong with the files that were read.
proc ::etw::sql::Warnings {db} {
    set warnings {}
    set index 0
    while {![$db onecolumn {SELECT etw_warnings($index) IS NULL}]} {
        lappend warnings [$db onecolumn {SELECT etw_warnings($index)}]
        incr index
    }
    return $warnings
}

proc ::etw::sql::WriteFile {db query format path} {
    set channel [::etw::lib::OpenFile $path w]
    try {
        fconfigure $channel -encoding utf-8
        set rows [Lines $db $query $format [list puts $channel]]
        flush $channel
    } finally {
        close $channel
    }
    return $rows
}

# Call COMMAND with each line of the result, in the caller's frame. Returns the number of rows.
proc ::etw::sql::Lines {db query format command} {
    variable measured
    set rows 0
    set names [expr {$format ni {dict json}}]
    if {$format ne "table"} {
        $db eval {SELECT line FROM etw_lines($query, $format)} {
            uplevel 1 [list {*}$command $line]
            incr rows
        }
        return [expr {max(0, $rows - $names)}]
    }
    set first {}
    set widths {}
    $db eval {SELECT line FROM etw_lines($query, 'list')} {
        set cells [lmap cell $line {::etw::lib::visible $cell}]
        if {[incr rows] <= $measured} {
            lappend first $cells
        } else {
            if {$rows == $measured + 1} {
                set widths [Widths $first]
                foreach row $first {
                    uplevel 1 [list {*}$command [TableLine $row $widths]]
                }
                set first {}
            }
            uplevel 1 [list {*}$command [TableLine $cells $widths]]
        }
    }
    set widths [Widths $first]
    foreach cells $first {
        uplevel 1 [list {*}$command [TableLine $cells $widths]]
    }
    return [expr {max(0, $rows - 1)}]
}

# For each column its width, negative if it has only numbers below its name, which are aligned right.
proc ::etw::sql::Widths {lines} {
    set widths {}
    set names [lindex $lines 0]
    for {set i 0} {$i < [llength $names]} {incr i} {
        set width [string length [lindex $names $i]]
        set number -1
        foreach line [lrange $lines 1 end] {
            set cell [lindex $line $i]
            set width [expr {max($width, [string length $cell])}]
            if {$cell ne "" && ![string is double -strict $cell]} {
                set number 1
            }
        }
        lappend widths [expr {$width * $number}]
    }
    return $widths
}

proc ::etw::sql::TableLine {cells widths} {
    return [string trimright [join [lmap cell $cells width $widths {
        format [expr {$width < 0 ? {%*s} : {%-*s}}] [expr {abs($width)}] $cell
    }] {  }]]
}
