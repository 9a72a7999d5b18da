# guard_command.tcl --
#
#	etw guard: counts what a program does, writes the counts as a baseline, and checks later runs against it.

# etw guard record|check|update BASELINE [OPTION ...] -- PROGRAM ARG ...
proc ::etw::cli::Guard {args} {
    set at [lsearch -exact $args --]
    set program [expr {$at < 0 ? {} : [lrange $args $at+1 end]}]
    lassign [Parse guard [expr {$at < 0 ? $args : [lrange $args 0 $at-1]}]] options words
    lassign $words action baseline
    if {[catch {tcl::prefix match -message action {check record update} $action} action]} {
        Usage $action
    }
    if {[llength $words] != 2 || $program eq {}} {
        Usage "\"etw guard $action\" needs a baseline and a program: etw guard $action BASELINE -- PROGRAM ARG ..."
    }
    CheckNumbers $options {runs integer}
    if {$action eq "record" && [file exists $baseline]} {
        Usage "\"$baseline\" exists: \"etw guard update\" rewrites it"
    }
    foreach name {kernel script normalize} {
        if {$action ne "record" && [dict exists $options $name]} {
            Usage "\"--$name\" is a setting of the baseline: delete the file and record it again" OPTION --$name
        }
    }
    foreach name {junit markdown} {
        if {$action ne "check" && [dict exists $options $name]} {
            Usage "\"--$name\" is a report of \"etw guard check\"" OPTION --$name
        }
    }
    ::etw::lib::LoadGuard
    if {$action eq "record"} {
        return [GuardRecord $baseline $options $program]
    }
    lassign [::etw::guard::ReadBaseline $baseline] ranges settings
    return [[expr {$action eq "check" ? "GuardCheck" : "GuardUpdate"}] $baseline $ranges $settings $options $program]
}

# The facts of one run of the program: returns {status facts}; facts are empty if it could not be run.
proc ::etw::cli::GuardRun {settings program} {
    close [file tempfile file etwguard.etl]
    try {
        set words [list --quiet --lossless -o $file]
        foreach name {kernel script} {
            if {[dict exists $settings $name]} {
                lappend words --$name [dict get $settings $name]
            }
        }
        set status [Record {*}$words -- {*}$program]
        if {$status in {125 126 127 130}} {
            return [list $status {}]
        }
        return [list $status [::etw::guard::Facts $file [expr {[dict exists $settings normalize] ? [dict get $settings normalize] : {}}]]]
    } finally {
        file delete $file
    }
}

# Several runs: returns {status ranges}; status is not 0 if the program failed.
proc ::etw::cli::GuardRuns {settings runs program} {
    set all {}
    for {set i 0} {$i < $runs} {incr i} {
        lassign [GuardRun $settings $program] status facts
        if {$status != 0} {
            Note "the program ended with code $status: a baseline is that of a program that succeeds"
            return [list $status {}]
        }
        lappend all $facts
    }
    return [list 0 [::etw::guard::Ranges $all]]
}

proc ::etw::cli::GuardRecord {baseline options program} {
    set settings {}
    foreach name {kernel script} {
        if {[dict exists $options $name]} {
            dict set settings $name [join [dict get $options $name] ,]
        }
    }
    if {[dict exists $options normalize]} {
        dict set settings normalize [concat {*}[lmap rules [dict get $options normalize] {ByCommas $rules}]]
    }
    lassign [GuardRuns $settings [Option $options runs 3] $program] status ranges
    if {$status != 0} {
        return $status
    }
    ::etw::guard::WriteBaseline $baseline [::etw::guard::BaselineText $ranges $settings]
    Note "[::etw::lib::visible $baseline]: [GuardSize $ranges]"
    return 0
}

# "12 facts, 2 of them differ from run to run and are not checked"
proc ::etw::cli::GuardSize {ranges} {
    set varying [llength [lmap range [dict values $ranges] {expr {[lindex $range 0] != [lindex $range 1] ? 1 : [continue]}}]]
    return "[::etw::guard::Plural [dict size $ranges] fact][expr {$varying ? ", $varying of them differ from run to run and are not checked" : ""}]"
}

proc ::etw::cli::GuardUpdate {baseline ranges settings options program} {
    lassign [GuardRuns $settings [Option $options runs 3] $program] status new
    if {$status != 0} {
        return $status
    }
    ::etw::guard::WriteBaseline $baseline [::etw::guard::BaselineText $new $settings]
    set changed 0
    foreach words [lsort [dict keys [dict merge $ranges $new]]] {
        set was [::etw::guard::Was $ranges $words]
        set now [::etw::guard::Was $new $words]
        if {$was ne $now} {
            incr changed
            puts "[join [lsort -unique $was] ..] -> [join [lsort -unique $now] ..]  $words"
        }
    }
    Note "[::etw::lib::visible $baseline]: [GuardSize $new], $changed changed"
    return 0
}

# What a run has more than the baseline counts only if further runs have it, too.
proc ::etw::cli::GuardCheck {baseline ranges settings options program} {
    set runs [Option $options runs 3]
    for {set i 0} {$i < $runs} {incr i} {
        lassign [GuardRun $settings $program] status facts
        if {$status != 0} {
            Note "the program ended with code $status: nothing was checked"
            return $status
        }
        set now [::etw::guard::Check $ranges $facts]
        set result [expr {$i == 0 ? $now : [::etw::guard::Both $result $now]}]
        if {[dict get $result more] eq {} && [dict get $result follows] eq {}} {
            break
        }
    }
    flush stdout
    foreach {name proc} {junit JUnit markdown Markdown} {
        if {[dict exists $options $name]} {
            ::etw::guard::WriteBaseline [dict get $options $name] [::etw::guard::$proc $result $baseline]
        }
    }
    puts -nonewline [::etw::guard::Text $result $baseline]
    return [expr {[dict get $result more] ne {}}]
}
