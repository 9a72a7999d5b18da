# export.tcl --
#
#	etw export: traces in the formats of other tools. Those that are text are made by the binary (generic/tcl/
#	export_cmd.c); here are the choice of the format by a file's name, and the formats that are made of more than
#	text, each in a file of its own below export/.

namespace eval ::etw::lib {
    # Formats that are made here -> the file that has their command.
    variable exporters {}
    # Ends of file names -> formats; the first that fits.
    variable exportSuffixes {
        .speedscope.json speedscope .folded folded .svg flamegraph .json chrome .jsonl json .ndjson json .csv csv
        .xml xml
    }
}

# etw export SOURCE ?SOURCE ...? FILE ?-format FORMAT? ?-option value ...?
proc ::etw::lib::export {args} {
    variable exporters
    set options [lsearch -regexp $args {^-.}]
    if {$options < 0} {
        set options [llength $args]
    }
    set words [lrange $args 0 $options-1]
    set given [lrange $args $options end]
    if {[llength $words] < 2} {
        return -code error -errorcode {TCL WRONGARGS} \
            "wrong # args: should be \"etw export source ?source ...? file ?-option value ...?\""
    }
    lassign [ExportFormat [lindex $words end] $given] format given
    if {$format eq "" || ![dict exists $exporters $format]} {
        if {$format ne ""} {
            lappend given -format $format
        }
        return [uplevel 1 [list ::etw::export {*}$words {*}$given]]
    }
    if {[namespace which Export-$format] eq ""} {
        source [dict get $exporters $format]
    }
    return [uplevel 1 [list ::etw::lib::Export-$format [lrange $words 0 end-1] [lindex $words end] $given]]
}

# The format, by -format or by the file's name ("": neither tells), and the other options.
proc ::etw::lib::ExportFormat {file given} {
    variable exporters
    variable exportSuffixes
    set formats [lsort -unique [concat [dict values $exportSuffixes] [dict keys $exporters]]]
    set others {}
    foreach {name value} $given {
        if {[string length $name] > 2 && [string equal -length [string length $name] $name -format]} {
            set format [tcl::prefix match -message format $formats $value]
        } else {
            lappend others $name $value
        }
    }
    if {[llength $given] % 2} { ;# the binary says what is wrong with that
        return [list {} $given]
    }
    if {[info exists format]} {
        return [list $format $others]
    }
    foreach {suffix format} $exportSuffixes {
        if {[string match -nocase *$suffix $file]} {
            return [list $format $others]
        }
    }
    if {$others eq ""} {
        return -code error -errorcode {ETW ARG MISSING -format} \
            "the name of \"$file\" does not tell the format: give \"-format\" [join [lrange $formats 0 end-1] {, }] or\
            [lindex $formats end]"
    }
    return [list {} $others]
}
