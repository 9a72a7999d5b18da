# cover_command.tcl --
#
#	etw cover: runs a program, counting what it executes, and reports it; or reports what recordings have
#	counted.

# etw cover [OPTION ...] [SOURCE ...] [-- PROGRAM ARG ...]
proc ::etw::cli::Cover {args} {
    set at [lsearch -exact $args --]
    set program [expr {$at < 0 ? {} : [lrange $args $at+1 end]}]
    lassign [Parse cover [expr {$at < 0 ? $args : [lrange $args 0 $at-1]}]] options sources
    CheckWords $options {format {text source lcov cobertura}}
    if {[dict exists $options min] && !([string is double -strict [dict get $options min]] && [dict get $options min] >= 0
            && [dict get $options min] <= 100)} {
        Usage "expected a percentage, 0 to 100, for \"--min\" but got \"[dict get $options min]\"" OPTION --min
    }
    if {[dict exists $options line] && [dict exists $options min]} {
        Usage "\"--line\" prints tests, so it excludes \"--min\"" OPTION --line
    }
    if {$at >= 0 && $program eq {}} {
        Usage "\"--\" must be followed by a program"
    }
    set first [lindex $sources 0]
    if {$first ne "" && ![file exists $first] && ![string match *.etl $first] && [auto_execok $first] ne ""} {
        Usage "there is no trace \"$first\": to count what a program executes, give \"etw cover -- [join $sources]\""
    }
    if {$program ne {} && $sources ne {}} {
        Usage "a program and the source \"[lindex $sources 0]\" were given: report either of them"
    }
    set status 0
    if {$program ne {}} {
        set file [Option $options file etw.etl]
        set status [Record --cover --quiet -o $file -- {*}$program]
        if {$status in {125 126 127}} {
            return $status
        }
        set sources [list $file]
    } elseif {[dict exists $options file]} {
        Usage "\"--file\" is the trace of a program: \"etw cover -o FILE -- PROGRAM\"" OPTION --file
    }
    set sources [WithSource cover $sources none]
    set given {}
    foreach name {files dir pid schema} {
        if {[dict exists $options $name]} {
            lappend given -$name [Words [dict get $options $name]]
        }
    }
    foreach name {from to last} {
        if {[dict exists $options $name]} {
            lappend given -$name [dict get $options $name]
        }
    }
    if {[dict exists $options line]} {
        set tests [::etw cover {*}$sources {*}[dict remove $given -files -dir] -line [dict get $options line]]
        if {$tests eq ""} {
            Note "no test executes this line"
        }
        puts -nonewline $tests
        return $status
    }
    ::etw::lib::LoadCover
    set result [::etw::cover::Result $sources $given]
    puts -nonewline [::etw::cover::Format-[Option $options format text] $result]
    return [expr {$status == 0 && ![Enough $result $options] ? 1 : $status}]
}

# False: less than --min was executed, or it is not known.
proc ::etw::cli::Enough {result options} {
    if {![dict exists $options min]} {
        return 1
    }
    set percent [::etw::cover::Percentage $result]
    if {$percent ne "" && $percent >= [dict get $options min]} {
        return 1
    }
    Note [expr {$percent eq "" ? "the coverage is not known, because a file has changed or cannot be analysed: --min [dict get $options min] is not reached"
        : "[format %.2f $percent] % of the lines were executed, less than --min [dict get $options min]"}]
    return 0
}
