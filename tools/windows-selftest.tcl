# tools/windows-selftest.tcl --
#
#	For Windows users: tests etw with the operating system's own tracing (sessions, live reading, kernel
#	flags, installed providers and TDH, tracerpt on etw's files, TWAPI's commands) and writes one report to
#	send to etw's authors, because the system engine is developed with a simulated service. Changes nothing:
#	it stops its sessions and removes its files. Kernel flags require an administrator; otherwise that step
#	reports it and the others run.
#
#	tclsh windows-selftest.tcl ?REPORT?       default: etw-selftest.txt in the current directory
#
#	Exit code 0: nothing failed.

namespace eval selftest {
    variable dir {}       ;# for the files of this run
    variable lines {}     ;# the report so far
    variable failed 0
    variable name EtwSelftest-[pid]
    # {step title script}, in order; a step's result is shown in the report.
    variable steps {}
}

proc selftest::Step {title script} {
    variable steps
    lappend steps $title $script
}

proc selftest::Say {line} {
    variable lines
    lappend lines $line
    puts $line
}

# Wait until EXPR (in the caller) is true, a minute at most.
proc selftest::WaitFor {expr} {
    set limit [expr {[clock seconds] + 60}]
    while {![uplevel 1 [list expr $expr]]} {
        if {[clock seconds] > $limit} {
            error "nothing came within a minute: $expr"
        }
        after 20 {set ::selftest::tick 1}
        vwait ::selftest::tick
    }
}

# Run BODY with our provider in a session of the system engine with these options; returns the result of stop.
proc selftest::Traced {options body} {
    variable name
    etw start system:$name {*}$options
    try {
        etw enable system:$name Etw-Selftest
        uplevel 1 $body
    } finally {
        set stopped [etw stop system:$name]
    }
    return $stopped
}

# ---- The steps -----------------------------------------------------------------------------------------

selftest::Step "machine" {
    set config {}
    foreach key [etw::pkgconfig list] {
        lappend config $key=[etw::pkgconfig get $key]
    }
    return "$::tcl_platform(os) $::tcl_platform(osVersion) $::tcl_platform(machine), Tcl [info patchlevel],\
        [expr {$::tcl_platform(pointerSize) * 8}] bits; [join $config { }]"
}

selftest::Step "a session with a file" {
    set file [file join $dir file.etl]
    set stopped [selftest::Traced [list -file $file] {
        for {set i 0} {$i < 100} {incr i} {
            etw write Etw-Selftest Number $i
        }
    }]
    set values {}
    etw foreach event $file -where {$provider eq "Etw-Selftest"} {
        lappend values [dict get $event props Value]
    }
    if {[llength $values] != 100 || [lindex $values end] != 99} {
        error "[llength $values] of 100 events came back; $stopped"
    }
    return "100 events; $stopped"
}

selftest::Step "a live session" {
    variable live {}
    set stopped [selftest::Traced {-realtime 1 -flush 100} {
        set consumer [etw consume session:system:$name -where {$provider eq "Etw-Selftest"} -background 1 \
            -command {lappend ::selftest::live}]
        try {
            for {set i 0} {$i < 50} {incr i} {
                etw write Etw-Selftest Number $i
            }
            selftest::WaitFor {[llength $::selftest::live] >= 50}
        } finally {
            etw consumer cancel $consumer
        }
    }]
    return "[llength $live] events; $stopped"
}

selftest::Step "all sessions" {
    return [etw sessions]
}

selftest::Step "kernel flags" {
    set file [file join $dir kernel.etl]
    etw start system:$name -file $file -kernellogger 1
    try {
        etw enable system:$name kernel {process thread imageload}
        exec cmd /c exit
    } finally {
        set stopped [etw stop system:$name]
    }
    set counts {}
    etw foreach event $file {
        dict incr counts [dict get $event provider]
    }
    return "$counts; $stopped"
}

selftest::Step "installed providers" {
    set described [etw provider describe Microsoft-Windows-Kernel-Process]
    return "[llength [etw providers]] providers; Microsoft-Windows-Kernel-Process has keywords\
        [dict get $described keywords]"
}

selftest::Step "tracerpt reads etw's files" {
    set file [file join $dir file.etl]
    set out [file join $dir tracerpt.csv]
    if {[auto_execok tracerpt] eq ""} {
        throw {ETW UNSUPPORTED TRACERPT} "there is no tracerpt here"
    }
    set said [exec [auto_execok tracerpt] [file nativename $file] -o [file nativename $out] -of CSV -y 2>@1]
    set f [open $out]
    set text [read $f]
    close $f
    if {![string match *Etw-Selftest* $text]} {
        error "no event of ours in its csv: $said"
    }
    return "[llength [split [string trim $text] \n]] lines"
}

selftest::Step "TWAPI's commands" {
    package require etw_twapi
    set file [file join $dir twapi.etl]
    set provider [twapi::etw_twapi_provider_register]
    set trace [twapi::etw_start_trace $name -logfile $file]
    try {
        twapi::etw_enable_provider $trace [twapi::etw_twapi_provider_guid] 1 5
        twapi::etw_log_message $provider "from the self-test"
    } finally {
        twapi::etw_stop_trace $trace
        twapi::etw_unregister_provider $provider
    }
    twapi::etw_install_twapi_mof
    set out [file join $dir twapi.txt]
    twapi::etw_dump_to_file -output $out -fields {-timecreated -taskname -opcodename -properties} $file
    set f [open $out]
    set text [read $f]
    close $f
    if {![string match "*from the self-test*" $text]} {
        error "the message is not in the dump:\n$text"
    }
    return "[llength [split [string trim $text] \n]] lines"
}

# ---- Running them --------------------------------------------------------------------------------------

# True for failures that are not etw's: the feature is not available here.
proc selftest::Excused {options} {
    set code [dict get $options -errorcode]
    return [expr {[lindex $code 1] eq "UNSUPPORTED" || "ERROR_ACCESS_DENIED" in $code}]
}

proc selftest::RunStep {title script} {
    variable failed
    if {[catch {apply [list {} "variable dir; variable name; $script" ::selftest]} result options] in {0 2}} {
        Say "ok    $title: $result"
    } elseif {[Excused $options]} {
        Say "skip  $title: $result"
    } else {
        incr failed
        Say "FAIL  $title: $result\n[dict get $options -errorinfo]"
    }
}

proc selftest::Run {report} {
    variable dir
    variable steps
    variable lines
    variable failed
    close [file tempfile dir]
    file delete $dir
    file mkdir $dir
    etw provider create Etw-Selftest
    etw provider event Etw-Selftest Number {Value uint32}
    try {
        foreach {title script} $steps {
            RunStep $title $script
        }
    } finally {
        etw provider delete Etw-Selftest
        file delete -force $dir
    }
    Say "$failed failed"
    set f [open $report w]
    fconfigure $f -encoding utf-8
    puts $f [join $lines \n]
    close $f
    puts "written: [file nativename [file normalize $report]]"
    return [expr {$failed > 0}]
}

foreach dir [list [file dirname [file normalize [info script]]] \
        [expr {[info exists env(ETW_BUILD_DIR)] ? $env(ETW_BUILD_DIR) : {}}]] {
    if {[file exists [file join $dir pkgIndex.tcl]]} {
        set auto_path [linsert $auto_path 0 $dir]
    }
}
package require etw
exit [selftest::Run [expr {$argc ? [lindex $argv 0] : "etw-selftest.txt"}]]
