# cover.tcl --
#
#	etw cover: which lines, procs and branches of the source files were executed, and which were not. Reads
#	the events that `etw script cover` writes. Loaded at the first call.

namespace eval ::etw::cover {
    variable options {-dir -files -format -from -last -line -pid -schema -to}
    variable formats {text source list lcov cobertura}
}

apply {dir {
    # The names of loops in procs are not global variables of the program.
    foreach part {cover_source cover_join cover_formats cover_tests} {
        uplevel #0 [list source [file join $dir $part.tcl]]
    }
}} [file dirname [info script]]

# etw cover SOURCE ?SOURCE ...? ?-option value ...?
proc ::etw::cover::Cover {args} {
    variable formats
    variable options
    lassign [::etw::lib::SplitWords $args] sources words
    if {[llength $sources] == 0} {
        return -code error -errorcode {TCL WRONGARGS} \
            "wrong # args: should be \"etw cover source ?source ...? ?-option value ...?\""
    }
    set given [::etw::lib::Options $options $words]
    if {[dict exists $given -line]} {
        return [TestsOf [dict get $given -line] $sources [dict remove $given -dir -files -format -line]]
    }
    set format [tcl::prefix match -message format $formats [expr {[dict exists $given -format] ? [dict get $given -format] : "text"}]]
    return [Format-$format [Result $sources $given]]
}

# The percentage of the lines that were executed; "" if it is not known, because a file has changed or cannot be analysed.
proc ::etw::cover::Percentage {result} {
    set all 0
    set executed 0
    foreach file [dict get $result files] {
        if {[dict get $file error] ne "" || [dict get $file changed]} {
            return ""
        }
        lassign [Figures $file] lines done
        incr all $lines
        incr executed $done
    }
    return [expr {$all == 0 ? 0.0 : 100.0 * $executed / $all}]
}

# A dict: `files`, a list of dicts as Join returns them, in the order of their paths; `lost`, `warnings`.
proc ::etw::cover::Result {sources given} {
    lassign [Counts $sources [dict remove $given -dir -files -format]] counts lost warnings last
    if {[dict size $counts] == 0} {
        return -code error -errorcode [list ETW LOOKUP COVER [lindex $sources 0]] \
            "[join $sources {, }]: no executions were counted[expr {[dict size [dict remove $given -dir -files -format]] ? " that the options select" : ""}]: record with \"etw cover -- PROGRAM\", \"etw record --cover\" or \"etw script cover\""
    }
    set paths [Wanted [dict keys $counts] $given]
    if {$paths eq {}} {
        return -code error -errorcode {ETW LOOKUP COVER -files} "executions were counted in [llength [dict keys $counts]] files, such as\
            \"[lindex [dict keys $counts] 0]\", but none of them is wanted: \"-files\" selects files by patterns of their paths"
    }
    set files [lmap path $paths {
        Join $path [expr {[dict exists $counts $path] ? [dict get $counts $path] : {}}] $last
    }]
    return [dict create files $files lost $lost warnings $warnings]
}

# The paths that are wanted: those that match a pattern, by default those below the current directory, or all if there is none. With -dir also
# files that no program has read.
proc ::etw::cover::Wanted {paths given} {
    if {[dict exists $given -dir]} {
        foreach dir [dict get $given -dir] {
            if {![file isdirectory $dir]} {
                return -code error -errorcode [list ETW LOOKUP DIR $dir] "\"-dir\": there is no directory \"$dir\""
            }
            lappend paths {*}[Below [file normalize $dir]]
        }
    }
    set paths [lsort -unique $paths]
    if {[dict exists $given -files]} {
        return [lmap path $paths {
            expr {[lsearch -exact [lmap pattern [dict get $given -files] {Matches $pattern $path}] 1] >= 0 ? $path : [continue]}
        }]
    }
    set here [lsearch -all -inline -glob $paths [string map {* \\* ? \\? \[ \\[ \\ \\\\} [pwd]]/*]
    return [expr {$here eq {} ? $paths : $here}]
}

# A pattern without a directory is one of the file's name.
proc ::etw::cover::Matches {pattern path} {
    if {[string first / $pattern] < 0} {
        return [string match $pattern [file tail $path]]
    }
    return [expr {[string match $pattern $path] || [string match [pwd]/$pattern $path]}]
}

# The Tcl source files in a directory and those below it.
proc ::etw::cover::Below {dir} {
    set paths [glob -nocomplain -directory $dir -types f *.tcl *.tm]
    foreach sub [glob -nocomplain -directory $dir -types d *] {
        if {[file type $sub] ne "link"} {
            lappend paths {*}[Below $sub]
        }
    }
    return $paths
}

# A path as it is shown: relative to the current directory if it is below.
proc ::etw::cover::Shown {path} {
    set here [pwd]/
    return [expr {[string equal -length [string length $here] $here $path] ? [string range $path [string length $here] end] : $path}]
}

# The figures of a file: lines, executed lines, functions, called functions, branches, taken branches.
proc ::etw::cover::Figures {file} {
    set lines [dict get $file executed]
    set functions [lsearch -all -inline -index 3 [dict get $file functions] 0]
    set arms [concat {*}[lmap branch [dict get $file branches] {lindex $branch 3}]]
    return [list [dict size $lines] [Above [dict values $lines]] [llength $functions] [Above [lmap function $functions {lindex $function 2}]] \
        [llength $arms] [Above [lmap arm $arms {lindex $arm 1}]]]
}

proc ::etw::cover::Above {counts} {
    return [llength [lsearch -all -not -exact $counts 0]]
}
