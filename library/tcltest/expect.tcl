# expect.tcl --
#
#	etw::tcltest::expect: what a body may do at most, in counts that do not depend on the machine's speed: calls, errors, files
#	opened, hosts, system calls, bytes.

namespace eval ::etw::tcltest {
    namespace export expect
    # What can be expected, and the name that each takes: pattern, name or none.
    variable quantities {calls pattern errors optional files pattern hosts pattern syscalls pattern bytes name left-open none}
    # Names of `bytes`: the table that has them, of files or of hosts, and the operations that move them.
    variable moves {read {files {read {chan read}}} written {files {write {chan write}}} sent {hosts {send {chan write}}} received {hosts {receive {chan read}}}}
}

# etw::tcltest::expect EXPECTATIONS BODY ?-option value ...?
#
#	Run BODY in the caller's frame and return its result. EXPECTATIONS is a list: QUANTITY {NAME OPERATOR COUNT ...}, or
#	QUANTITY.NAME OPERATOR COUNT; without an operator the count must be equal. Quantities that exceed what is expected are an error that
#	names the paths of calls.
#
#	-script PATTERNS, -steps off|line|full, -provider LIST, -kernel GROUPS	what to trace, as `etw record` has it; default: -script *
#	-normalize LIST	replacements in names, as `etw diff` has them
proc ::etw::tcltest::expect {expectations body args} {
    set options [dict merge {-script *} [::etw::lib::Options {-kernel -normalize -provider -script -steps} $args]]
    set limits [Limits $expectations]
    CheckTraced $limits $options
    close [file tempfile file]
    try {
        set result [uplevel 1 [list ::etw record $file {*}[dict remove $options -normalize] -stats ::etw::tcltest::stats $body]]
        Arm
        CheckLost
        set found [::etw::lib::counts $file -normalize [expr {[dict exists $options -normalize] ? [dict get $options -normalize] : {}}]]
    } finally {
        Arm
        file delete $file
    }
    set wrong {}
    foreach limit $limits {
        lappend wrong {*}[Exceeded $limit $found]
    }
    if {$wrong ne {}} {
        return -code error -errorcode {ETW STATE EXPECT} [join $wrong \n]
    }
    return $result
}

# A list of {quantity name operator count}.
proc ::etw::tcltest::Limits {expectations} {
    set limits {}
    while {[llength $expectations]} {
        set expectations [lassign $expectations quantity]
        if {[regexp {^([^.]+)\.(.+)$} $quantity -> quantity name]} {
            set expectations [OneLimit limits $quantity $name $expectations]
        } elseif {[IsCount $expectations]} {
            set expectations [OneLimit limits $quantity {} $expectations]
        } else {
            variable quantities
            set quantity [tcl::prefix match -message quantity [dict keys $quantities] $quantity]
            set expectations [lassign $expectations names]
            if {[catch {llength $names} count] || $count == 0} {
                return -code error -errorcode {ETW ARG EXPECT} \
                    "\"$quantity\" needs a number, or a list of names and numbers"
            }
            while {[llength $names]} {
                set names [lassign $names name]
                set names [OneLimit limits $quantity $name $names]
            }
        }
    }
    return $limits
}

proc ::etw::tcltest::IsCount {words} {
    return [expr {[lindex $words 0] in {< <= == = != >= >} || [string is wideinteger -strict [lindex $words 0]]}]
}

# Append the limit of the first words; returns the others.
proc ::etw::tcltest::OneLimit {limitsVar quantity name words} {
    upvar 1 $limitsVar limits
    variable moves
    variable quantities
    set quantity [tcl::prefix match -message quantity [dict keys $quantities] $quantity]
    set operator ==
    if {![string is wideinteger -strict [lindex $words 0]]} {
        set words [lassign $words operator]
    }
    set words [lassign $words count]
    if {$operator ni {< <= == = != >= >} || ![string is wideinteger -strict $count]} {
        return -code error -errorcode [list ETW ARG EXPECT $quantity] \
            "expected an operator (< <= == != >= >) and a number, or a number, for \"$quantity\" but got \"$operator $count\""
    }
    set takes [dict get $quantities $quantity]
    if {($name eq "") != ($takes eq "none") && $takes ne "optional"} {
        return -code error -errorcode [list ETW ARG EXPECT $quantity] \
            [expr {$takes eq "none" ? "\"$quantity\" has no name: give \"$quantity <= COUNT\"" : "\"$quantity\" needs a name: give \"$quantity.NAME <= COUNT\" or \"$quantity {NAME <= COUNT}\""}]
    }
    if {$quantity eq "bytes"} {
        set name [tcl::prefix match -message "name of bytes" [dict keys $moves] $name]
    }
    lappend limits [list $quantity $name [expr {$operator eq "=" ? "==" : $operator}] $count]
    return $words
}

# What is not traced is 0, and would pass.
proc ::etw::tcltest::CheckTraced {limits options} {
    foreach limit $limits {
        if {[lindex $limit 0] eq "syscalls" && !([dict exists $options -kernel] && [lsearch -glob [dict get $options -kernel] system*] >= 0)} {
            return -code error -errorcode {ETW ARG EXPECT syscalls} "\"syscalls\" needs the option \"-kernel systemcall\""
        }
    }
}

# The lines of the error about a limit that is exceeded; an empty list: it is not.
proc ::etw::tcltest::Exceeded {limit found} {
    lassign $limit quantity name operator count
    lassign [Quantity $quantity $name $found] now details
    if {[expr "$now $operator $count"]} {
        return {}
    }
    set what [expr {$name eq "" ? $quantity : "$quantity.$name"}]
    set lines [list "$what is $now, expected [expr {$operator eq {==} ? {} : "$operator "}]$count[expr {$details eq {} ? {} : {:}}]"]
    foreach detail [lrange [lsort -integer -decreasing -index 0 $details] 0 9] {
        lappend lines [::etw::lib::visible [format "%8d  %s" {*}$detail]]
    }
    return [list [join $lines \n]]
}

# Returns {count details}; a detail is {count text}.
proc ::etw::tcltest::Quantity {quantity name found} {
    set sum 0
    set details {}
    if {$quantity eq "left-open"} {
        return [LeftOpen $found]
    }
    variable moves
    set table [expr {$quantity eq "bytes" ? [lindex [dict get $moves $name] 0]
        : [dict get {calls paths errors paths files files hosts hosts syscalls work} $quantity]}]
    set rows [dict get $found $table]
    set measure [expr {$quantity in {errors bytes} ? $quantity : "count"}]
    # What the kernel reports outside of calls is also the recording's own work.
    set rows [lmap row $rows {
        expr {[string match {\[*} [dict get $row who]] && ![string match "chan *" [dict get $row kind]] ? [continue] : $row}
    }]
    foreach row [Counted $quantity $name $rows] {
        set count [dict get $row a $measure]
        incr sum $count
        if {$count > 0} {
            lappend details [list $count [Place $row]]
        }
    }
    return [list $sum $details]
}

# The rows that count. Of a file or host that the kernel and Tcl's channels have reported, the kernel's.
proc ::etw::tcltest::Counted {quantity name rows} {
    variable moves
    switch -- $quantity {
        calls - errors {
            return [lmap row $rows {expr {$name eq "" || [IsCall [dict get $row who] [list $name]] ? $row : [continue]}}]
        }
        syscalls {
            return [lmap row $rows {expr {[dict get $row kind] eq "syscall" && [string match $name [dict get $row what]] ? $row : [continue]}}]
        }
        bytes {set kinds [lindex [dict get $moves $name] 1]}
        files {set kinds {open {chan open}}}
        hosts {set kinds {connect {chan socket}}}
    }
    set chosen {}
    foreach kind $kinds {
        set chosen [lmap row $rows {
            expr {[dict get $row kind] eq $kind && ($quantity eq "bytes" || [IsNamed [dict get $row what] $name]) ? $row : [continue]}
        }]
        if {$chosen ne {}} {
            break
        }
    }
    return $chosen
}

# A pattern without a slash is one of the file's name.
proc ::etw::tcltest::IsNamed {what pattern} {
    # Names have "#" for what differs from run to run.
    return [expr {[string match $pattern $what] || [::etw::lib::normalized $pattern] eq $what || ([string first / $pattern] < 0 && [string match $pattern [file tail $what]])}]
}

proc ::etw::tcltest::Place {row} {
    set path [dict get $row path]
    set place [expr {$path eq {} ? [dict get $row who] : [join $path { > }]}]
    set what [string trim "[dict get $row kind] [dict get $row what]"]
    return [expr {$what eq "" ? $place : "$what, in $place"}]
}

proc ::etw::tcltest::LeftOpen {found} {
    ::etw::lib::LoadGuard
    foreach row [dict get $found files] {
        if {[dict get $row kind] eq "chan open" && [dict get $row a count] > [dict get $row a errors]} {
            dict lappend places [dict get $row what] [join [dict get $row path] { > }]
        }
    }
    set sum 0
    set details {}
    dict for {name count} [::etw::guard::LeftOpen $found] {
        incr sum $count
        lappend details [list $count "$name, opened in [join [dict get $places $name] {, }]"]
    }
    return [list $sum $details]
}
