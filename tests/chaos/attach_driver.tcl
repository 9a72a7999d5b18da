# attach_driver.tcl --
#
#	Attaches to running programs and detaches from them, many times: programs that never wait, wait in the event loop, have
#	threads, start other programs, create interpreters, and read from a blocking channel (attach_program.tcl). Meanwhile a session records their
#	calls. Then each program runs again without etw, for as many steps: its output and exit code must be the same.
#
#	tclsh attach_driver.tcl -build DIR ?-rounds N? ?-seconds S? ?-kind GLOB? ?-verbose 1? ?-lie 1?
#
#	The last line is `N rounds, N refused, N failed`. A round is refused if no thread of the program could be stopped
#	at a safe place. -lie 1: the program makes one step more without etw, so that each program must differ. The exit code is 1 when a program differed, or an attach failed for another reason.

namespace eval chaos {
    variable option
    array set option {-build build -rounds 60 -seconds 0 -kind * -verbose 0 -lie 0}
    variable kinds {busy idle threads forks interps reads}
    variable options {{} {steps line} {sample 1} {script check} {steps full script work}}
    variable failed 0
    variable refused 0
    variable top {}
    variable program {}
}

proc chaos::Fail {text} {
    variable failed
    puts "FAIL $text"
    incr failed
}

# Start a program, traced later or for a number of steps: its channel, which is its standard input.
proc chaos::Start {kind steps name} {
    variable top
    variable script
    return [open |[list [info nameofexecutable] $script $kind $steps [file join $top stop] > [file join $top $name] 2>@1] w]
}
proc chaos::Read {name} {
    variable top
    set f [open [file join $top $name]]
    set text [read $f]
    close $f
    return $text
}
# Wait for its end: its exit code.
proc chaos::End {chan} {
    fconfigure $chan -blocking 1
    if {![catch {close $chan} message options]} {
        return 0
    }
    return [dict get $options -errorcode]
}

# One call of the tool. A program that reads gets a line, so that it leaves its wait.
proc chaos::Try {kind chan command} {
    variable refused
    set code [catch $command message options]
    if {$code && [lrange [dict get $options -errorcode] 0 2] eq {ETW STATE BUSY}} {
        incr refused
    } elseif {$code} {
        Fail "$kind: $command: $message"
    }
    if {$kind eq "reads"} {
        variable lines
        puts $chan "line [incr lines]"
        flush $chan
    }
}

proc chaos::Round {n kind chan} {
    variable options
    variable option
    set how [lindex $options [expr {$n % [llength $options]}]]
    if {$option(-verbose)} {
        puts "round $n: $kind $how"
    }
    Try $kind $chan [list ::etw::cli::AttachTo [pid $chan] [::etw::cli::AttachSettings $how]]
    if {$n % 3 == 0} {
        after [expr {$n % 50}]
    }
    if {$n % 11 == 0} { ;# once more, before a program that waits has seen the first
        Try $kind $chan [list ::etw::cli::AttachTo [pid $chan] [::etw::cli::AttachSettings {}]]
    }
    Try $kind $chan [list ::etw::cli::DetachFrom [pid $chan]]
}

# Run a program without etw, for as many steps as it has made: {steps channel}, {} if it has failed.
proc chaos::Again {kind code} {
    variable lines
    variable option
    set got [Read $kind]
    if {$code ne 0 || ![regexp {(?:^|\n)steps ([0-9]+) [^\n]*\n$} $got -> steps]} {
        Fail "$kind: exit code $code, output ends with \"[string range $got end-300 end]\""
        return
    }
    set chan [Start $kind [expr {$steps + $option(-lie)}] $kind.again]
    for {set i 1} {$kind eq "reads" && $i <= $lines + $option(-lie)} {incr i} {
        puts $chan "line $i"
    }
    return [list $steps $chan]
}

# Wait for the end of that, and compare its output: the number of steps.
proc chaos::Compare {kind steps chan} {
    set code [End $chan]
    set got [Read $kind]
    set again [Read $kind.again]
    if {$code ne 0 || $got ne $again} {
        foreach one [split $got \n] two [split $again \n] {
            if {$one ne $two} {
                break
            }
        }
        Fail "$kind: exit code without etw $code; the first line that differs: \"$one\", without etw \"$two\""
    }
    return $steps
}

proc chaos::Memory {pid} {
    set f [open /proc/$pid/status]
    regexp {VmRSS:\s*([0-9]+)} [read $f] -> size
    close $f
    return $size
}

proc chaos::Main {argv} {
    variable option
    variable kinds
    variable top
    variable script
    variable failed
    variable refused
    variable lines 0
    array set option $argv
    set build [file normalize $option(-build)]
    set script [file join [file dirname [file normalize [info script]]] attach_program.tcl]
    set ::auto_path [linsert $::auto_path 0 $build]
    package require etw
    uplevel #0 [list source [file join $build library cli main.tcl]]
    ::etw::cli::Main $build --version
    proc ::etw::cli::Note {args} {} ;# interpreters that wait
    set ::etw::cli::attachWait 50
    close [file tempfile top]
    file delete $top
    file mkdir $top
    set kinds [lsearch -all -inline -glob $kinds $option(-kind)]
    if {[catch {package require Thread}]} {
        set kinds [lsearch -all -inline -not $kinds threads]
    }
    foreach kind $kinds {
        dict set programs $kind [Start $kind 0 $kind]
    }
    set session chaos-[pid]
    ::etw start $session -file $top/chaos.etl -mode circular -maxsize 16
    ::etw enable $session Tcl-Script -pids all
    set begin [clock milliseconds]
    try {
        after 500
        dict for {kind chan} $programs {
            dict set before $kind [Memory [pid $chan]]
        }
        for {set n 0} {$n < $option(-rounds) && $failed == 0} {incr n} {
            if {$option(-seconds) > 0 && [clock milliseconds] - $begin > $option(-seconds) * 1000} {
                break
            }
            set kind [lindex $kinds [expr {$n % [llength $kinds]}]]
            Round $n $kind [dict get $programs $kind]
        }
        set seconds [expr {([clock milliseconds] - $begin) / 1000.0}]
        dict for {kind chan} $programs {
            if {[catch {Memory [pid $chan]} memory]} {
                set memory 0
            }
            dict lappend before $kind $memory
        }
    } finally {
        close [open [file join $top stop] w]
        ::etw stop $session
    }
    foreach kind $kinds {
        dict set codes $kind [End [dict get $programs $kind]]
    }
    file delete [file join $top stop]
    foreach kind $kinds {
        dict set again $kind [Again $kind [dict get $codes $kind]]
    }
    foreach kind $kinds {
        if {[dict get $again $kind] ne {}} {
            set steps [Compare $kind {*}[dict get $again $kind]]
            puts [format "%-8s %8d steps, memory %s KB" $kind $steps [join [dict get $before $kind] " to "]]
        }
    }
    file delete -force $top
    puts [format "%.1f seconds" $seconds]
    puts "$n rounds, $refused refused, $failed failed"
    return [expr {$failed > 0}]
}

exit [chaos::Main $argv]
