# reading.tcl --
#
#	Commands that are the ensemble's: their words handed on, their results shown. What they leave out or could not
#	decode is told on stderr, so that the output stays what it is.

proc ::etw::cli::Pass {what words how} {
    set flags [expr {[dict exists $how flags] ? [dict get $how flags] : {}}]
    lassign [Passed $words $flags] plain options
    if {[dict exists $how defaults]} {
        set options [dict merge [dict get $how defaults] $options]
    }
    flush stdout
    if {[dict exists $how bar] && ([dict exists $how print] || [Columns stdout] == 0)} {
        set options [dict merge [BarOption] $options]
    }
    try {
        set result [::etw $what {*}$plain {*}$options]
    } finally {
        BarEnd
    }
    if {[dict exists $how print]} {
        Show $result [dict get $how print]
    } elseif {[dict exists $how notes]} {
        Notes $result
    } elseif {[dict exists $how window] && [string match .* $result] && [info commands ::winfo] ne "" && [winfo exists $result]} {
        tkwait window $result
    }
    return 0
}

# Text as it is; `lines`: a list, an element a line.
proc ::etw::cli::Show {result kind} {
    if {$kind eq "lines"} {
        set result [join $result \n]
    }
    if {$result ne ""} {
        puts [string trimright $result \n]
    }
}

# What `etw dump` and its like return beside their output: losses and warnings.
proc ::etw::cli::Notes {result} {
    flush stdout
    if {[catch {dict get $result warnings} warnings]} {
        return
    }
    foreach warning $warnings {
        puts stderr "[Paint stderr yellow {etw:}] $warning"
    }
}
