# export.tcl --
#
#	etw export: traces in the formats of other tools (generic/flow/render/format_registry.h). The binary
#	writes text formats (generic/tcl/consume/export_cmd.c). This file selects the format by the file's name,
#	and contains code shared by the formats that are implemented in Tcl, each in a file below export/.

namespace eval ::etw::lib {
    # Formats implemented in Tcl -> the file with their command.
    variable exporters {}
    # Suffixes of file names -> formats.
    variable exportSuffixes {}
}

apply {dir {
    variable exporters
    variable exportSuffixes
    foreach row [formats] {
        dict with row {
            if {$group eq "tcl"} {
                dict set exporters $name [file join $dir export export_$name.tcl]
            }
            foreach suffix $suffixes {
                dict set exportSuffixes $suffix $name
            }
        }
    }
} ::etw::lib} [file dirname [file normalize [info script]]]

# etw export SOURCE ?SOURCE ...? FILE ?-format FORMAT? ?-option value ...?
proc ::etw::lib::export {args} {
    variable exporters
    lassign [SplitWords $args] words given
    if {[llength $words] < 2 && !([llength $words] == 1 && [lsearch -glob $given -r*] >= 0)} { ;# -records is also a source
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

# The format, from -format or the file's name ("": neither), and the other options.
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
    if {[llength $given] % 2} { ;# the binary reports the error
        return [list {} $given]
    }
    if {[info exists format]} {
        return [list $format $others]
    }
    set found {}
    foreach suffix [dict keys $exportSuffixes] { ;# the longest one: .speedscope.json, not .json
        if {[string match -nocase *$suffix $file] && [string length $suffix] > [string length $found]} {
            set found $suffix
        }
    }
    if {$found ne ""} {
        return [list [dict get $exportSuffixes $found] $others]
    }
    if {$others eq ""} {
        return -code error -errorcode {ETW ARG MISSING -format} \
            "the suffix of \"$file\" belongs to no format: give \"-format\" [join [lrange $formats 0 end-1] {, }] or\
            [lindex $formats end]"
    }
    return [list {} $others]
}

# ---- Shared by the formats implemented in Tcl ----------------------------------------------------

# A source must not be overwritten.
proc ::etw::lib::ExportCheck {sources file} {
    if {[set source [SourceAt $sources $file]] ne ""} {
        return -level 2 -code error -errorcode [list ETW ARG OUTPUT $source] \
            "\"$source\" is one of the sources: give another file to \"export\""
    }
    if {$file eq "-" || $file in [chan names]} {
        return -level 2 -code error -errorcode [list ETW ARG CHANNEL $file] \
            "the format writes to a file, not to a channel: give a path"
    }
}

# The source that is this file, or a member of this archive (ARCHIVE::MEMBER). Empty: none.
proc ::etw::lib::SourceAt {sources file} {
    foreach source $sources {
        foreach path [list $source [string range $source 0 [string last :: $source]-1]] {
            if {$path ne "" && [file exists $path] && [file exists $file] && [ExportSame $path $file]} {
                return $source
            }
        }
    }
    return {}
}

proc ::etw::lib::ExportSame {a b} {
    if {[file normalize $a] eq [file normalize $b]} {
        return 1
    }
    file stat $a first
    file stat $b second
    return [expr {$first(ino) != 0 && $first(ino) == $second(ino) && $first(dev) == $second(dev)}]
}

# For a format that reads its sources several times: the options of one pass, with its share of -progress.
proc ::etw::lib::ExportPart {options part parts} {
    set result {}
    foreach {name value} $options {
        if {[string length $name] > 1 && [string equal -length [string length $name] $name -progress] && $value ne ""} {
            set value [list ::etw::lib::ExportProgress $value $part $parts]
        }
        lappend result $name $value
    }
    return $result
}

proc ::etw::lib::ExportProgress {prefix part parts fraction events} {
    tailcall {*}$prefix [expr {($part + $fraction) / $parts}] $events
}

# Run BODY in the caller, with NAME set to a temporary path next to FILE, which is renamed to FILE on success.
proc ::etw::lib::ExportViaTemp {file make} {
    lassign $make name body
    upvar 1 $name path
    set path $file.[pid]-[clock clicks].part
    try {
        # Readable by the owner only, from its creation on.
        close [OpenFile $path {WRONLY CREAT EXCL} 0600]
        set result [uplevel 1 $body]
        file rename -force -- $path $file
        return $result
    } finally {
        file delete -- $path
    }
}
