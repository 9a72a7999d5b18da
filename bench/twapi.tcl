# bench/twapi.tcl --
#
#	etw_dump_to_file of a million events (library/twapi), compared with a script with a callback and a
#	formatted line for each event. Goal: at least 20 times faster.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw
package require etw_twapi

set n 1000000
set file [file join [bench::tmp] twapi.etl]

# Paced, so that every event reaches the file.
set r [bench::run pace 500000 [expr {$n / 500000.0}] 2 $file]
set events [dict get $r events]

set fields {-timecreated -levelname -providername -pid -taskname -opcodename -message}

# One event per call, each a row of the same columns.
proc writeEvent {chan buffer raw} {
    set event [lindex [twapi::recordarray getlist [twapi::etw_format_events $::formatter $buffer $raw] -format dict] 0]
    set message [dict get $event -message]
    if {$message eq ""} {
        set message "Properties: [dict get $event -properties]"
    } else {
        set message [twapi::etw_format_event_message $message [dict get $event -properties]]
    }
    dict set event -message $message
    set row {}
    foreach field $::fields {
        set value [dict get $event $field]
        if {[regexp {[",\r\n]} $value]} {
            set value "\"[string map {{"} {""}} $value]\""
        }
        lappend row $value
    }
    puts $chan [join $row ,]
}

# The same without TWAPI's commands: a minimal callback that writes such a row.
proc writeLean {chan event} {
    set row [list [expr {[dict get $event time] / 100 + 116444736000000000}] [dict get $event event] \
        [dict get $event provider] [dict get $event pid] [dict get $event event] 0 "Properties: [dict get $event props]"]
    puts $chan [join [lmap value $row {
        expr {[regexp {[",\r\n]} $value] ? "\"[string map {{"} {""}} $value]\"" : $value}
    }] ,]
}

proc perEvent {script} {
    return [expr {[bench::microseconds $script] / double($::events)}]
}

set dumped [file join [bench::tmp] dumped.csv]
set fast [perEvent {file delete $dumped; twapi::etw_dump_to_file -output $dumped $file}]

set formatter [twapi::etw_open_formatter]
set handle [twapi::etw_open_file $file]
set ::etw::twapi::bufferEvents 1
set chan [open /dev/null w]
set slow [perEvent {twapi::etw_process_events -callback [list writeEvent $chan] $handle}]
set lean [perEvent {etw consume $file -command [list writeLean $chan]}]
close $chan

bench::line twapi-dump $fast "us/event"
bench::line twapi-callback-and-format $slow "us/event"
bench::line etw-lean-callback-and-format $lean "us/event"
bench::line twapi-dump-times-callback [expr {$slow / $fast}] "times (goal: at least 20)"
bench::line twapi-dump-times-lean-callback [expr {$lean / $fast}] "times"
bench::cleanup
