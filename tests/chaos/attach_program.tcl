# attach_program.tcl --
#
#	A program for attach_driver.tcl: tclsh attach_program.tcl KIND STEPS STOPFILE. It makes steps, each of which prints a line that
#	depends on its number only, until STOPFILE exists, at least one; or STEPS of them if that is not 0. The last line is the number of steps.

lassign $argv kind steps stopFile
set n 0

proc goesOn {} {
    global n steps stopFile
    incr n
    return [expr {$steps > 0 ? $n <= $steps : $n == 1 || ![file exists $stopFile]}]
}
proc work {n} {
    if {$n % 3 == 0} {
        error "three $n" {} [list WORK $n]
    }
    return [expr {$n > 40 ? $n : [work [expr {$n * 2 + 1}]] + 1}]
}
# The values, errors and error codes of some calls.
proc check {n} {
    set list {}
    for {set i 0} {$i < 50} {incr i} {
        set code [catch {work [expr {$n + $i}]} result options]
        lappend list $code $result [expr {$code ? [dict get $options -errorcode] : {}}]
    }
    return [zlib crc32 $list]
}

# Never waits.
proc busy {} {
    while {[goesOn]} {
        for {set i 0} {$i < 20} {incr i} {
            lappend sums [check [expr {$::n * 20 + $i}]]
        }
        puts "$::n $sums"
        unset sums
    }
}
# Waits in the event loop.
proc tick {} {
    if {[goesOn]} {
        puts "$::n [check $::n]"
        after 2 tick
    } else {
        set ::done 1
    }
}
proc idle {} {
    after 0 tick
    vwait done
}
# Threads that start, work, wait and end.
proc threads {} {
    package require Thread
    set init "[list proc work [info args work] [info body work]]; [list proc check [info args check] [info body check]]"
    set waits [thread::create]
    thread::send $waits $init
    while {[goesOn]} {
        set short [thread::create -joinable "$init; tsv::set result $::n \[check $::n\]"]
        thread::send $waits [list check $::n] sum
        thread::join $short
        puts "$::n $sum [tsv::get result $::n]"
        tsv::unset result $::n
    }
    thread::release $waits
}
# Starts programs, reads their output and exit codes.
proc forks {} {
    while {[goesOn]} {
        set text [exec echo hello $::n | cat]
        set code [catch {exec sh -c "echo error $::n >&2; exit [expr {$::n % 7}]"} message options]
        set chan [open "|cat" r+]
        puts $chan [check $::n]
        close $chan write
        puts "$::n $text $code $message [dict get [dict merge {-errorcode NONE} $options] -errorcode] [read $chan]"
        close $chan
    }
}
# Creates interpreters.
proc interps {} {
    while {[goesOn]} {
        set child [interp create]
        set safe [interp create -safe]
        foreach i [list $child $safe] {
            interp eval $i [list proc work [info args work] [info body work]]
            lappend got [catch {interp eval $i [list work $::n]} message] $message
            interp delete $i
        }
        puts "$::n $got"
        unset got
    }
}
# Blocking reads of standard input, to its end.
proc reads {} {
    while {[gets stdin line] >= 0} {
        incr ::n
        puts "$::n $line [check $::n]"
    }
    incr ::n
}

# Output of children that shows the number of their process is no difference between two runs.
rename exec theExec
proc exec {args} {
    set code [catch {theExec {*}$args} result options]
    if {$code} {
        dict set options -errorcode [lreplace [dict get $options -errorcode] 1 1 PID]
    }
    return -options $options $result
}
$kind
puts "steps [expr {$n - 1}] [info exists errorInfo] [info exists env(ETW_ATTACH)]"
