# attach_command.tcl --
#
#	etw attach, etw detach, and the part of `etw record` for a running process. ::etw::lib::attach requests that each
#	interpreter of the process evaluates library/shim/attach.tcl.

namespace eval ::etw::cli {
    # Milliseconds to find a moment at which the process may be stopped, and to wait for its interpreters.
    variable attachStop 10000
    variable attachWait 1000
}

# etw attach PID [SESSION] [OPTION ...]
proc ::etw::cli::AttachCommand {args} {
    lassign [Parse attach $args] options words
    if {[dict exists $options environment]} {
        variable packageDir
        puts "ETW_ATTACH=1 TCL_LIBRARY=[file nativename [file join [file normalize $packageDir] library shim]]"
        return 0
    }
    if {[llength $words] ni {1 2}} {
        Usage "expected the number of a process, and possibly the name of a session, but got [llength $words] words"
    }
    lassign $words pid session
    CheckScriptOptions $options
    if {$session ne "" && "Tcl-Script" ni [EnabledProviders $session]} {
        ::etw enable $session Tcl-Script -pids all
    }
    puts [AttachTo $pid [AttachSettings $options]]
    if {$session eq "" && "Tcl-Script" ni [concat {*}[lmap name [::etw sessions] {EnabledProviders $name}]]} {
        Note "no session records its calls yet: \"etw enable SESSION Tcl-Script\" does"
    }
    return 0
}

# etw detach PID
proc ::etw::cli::DetachCommand {args} {
    lassign [Parse detach $args] options words
    if {[llength $words] != 1} {
        Usage "expected the number of a process but got [llength $words] words"
    }
    puts [DetachFrom [lindex $words 0]]
    return 0
}

# Names of the providers that a session has enabled.
proc ::etw::cli::EnabledProviders {session} {
    ::etw query $session ;# an error if there is none
    foreach info [::etw sessions $session -long 1] {
        return [dict keys [dict get $info providers]]
    }
}

proc ::etw::cli::AttachSettings {options} {
    set patterns [Words [Option $options script {}]]
    return [dict create action attach patterns [expr {$patterns eq {} ? "*" : $patterns}] options [ScriptOptions $options] \
        interval [Option $options sample {}]]
}

# True if the program was started with ETW_ATTACH=1 and our directory as TCL_LIBRARY.
proc ::etw::cli::AttachedItself {pid} {
    if {[catch {::etw::lib::OpenFile /proc/$pid/environ rb} f]} {
        return 0
    }
    set variables [split [read $f] \0]
    close $f
    return [expr {"ETW_ATTACH=1" in $variables && [lsearch -glob $variables TCL_LIBRARY=*/library/shim] >= 0}]
}

# Add the traces to all interpreters of a process. Returns a sentence. A program that has added its own is left as it is, unless
# other settings than the defaults were asked for.
proc ::etw::cli::AttachTo {pid settings} {
    if {$settings eq [AttachSettings {}] && [AttachedItself $pid]} {
        return "process $pid has added traces at its start (ETW_ATTACH)"
    }
    set status [AttachScript $pid $settings]
    set total [expr {[dict get $status total] - [dict get $status skipped]}]
    set done [dict get $status done]
    if {[dict get $status failed] > 0} {
        set message "process $pid: [dict get $status message]"
        if {$done == 0} {
            return -code error -errorcode [list ETW STATE ATTACH $pid] $message
        }
        Note "[dict get $status failed] of its $total interpreters cannot be traced: $message"
    }
    if {[dict get $status limited]} {
        Note "process $pid has so much memory or so many interpreters that not all were searched"
    }
    set waiting [expr {$total - $done - [dict get $status failed]}]
    if {$waiting > 0} {
        Note "$waiting of its $total interpreters wait in a blocking call (gets, exec, after MS): their calls are recorded when it has returned"
    }
    return "attached to process $pid: $done of $total interpreter[expr {$total == 1 ? {} : {s}}]"
}

# Remove the traces. Returns a sentence.
proc ::etw::cli::DetachFrom {pid} {
    set status [AttachScript $pid {action detach}]
    set total [expr {[dict get $status total] - [dict get $status skipped]}]
    set done [dict get $status done]
    if {[dict get $status failed] > 0} {
        return -code error -errorcode [list ETW STATE ATTACH $pid] "process $pid: [dict get $status message]"
    }
    if {$done < $total} {
        Note "[expr {$total - $done}] of its $total interpreters wait in a blocking call: their traces are removed when it has returned"
    }
    return "detached from process $pid: $done of $total interpreter[expr {$total == 1 ? {} : {s}}]"
}

# Request the script, and wait until all interpreters have evaluated it, for a limited time. Returns the status as a dict.
proc ::etw::cli::AttachScript {pid settings} {
    variable packageDir
    variable attachStop
    variable attachWait
    set f [::etw::lib::OpenFile [file join $packageDir library shim attach.tcl]]
    set body [read $f]
    close $f
    set dir [file normalize $packageDir]
    dict set settings package $dir
    dict set settings version [package provide etw]
    dict set settings runtime [::etw::lib::child directory]
    set script "namespace eval ::etw::lib {}
        [list proc ::etw::lib::Attached how $body]
        try [list [list ::etw::lib::Attached $settings]] finally {rename ::etw::lib::Attached {}}"
    set started [::etw::lib::attach start $pid $script {*}[AttachLibraries $dir] $attachStop]
    set end [expr {[clock milliseconds] + $attachWait}]
    while {1} {
        set status [::etw::lib::attach status $pid [dict get $started address]]
        set open [expr {[dict get $status total] - [dict get $status done] - [dict get $status failed] - [dict get $status skipped]}]
        if {[dict get $status generation] != [dict get $started generation]} {
            return -code error -errorcode [list ETW STATE ATTACH $pid] "another etw has attached to process $pid, or detached from it, meanwhile: try again"
        }
        if {$open == 0 || [clock milliseconds] >= $end} {
            return [dict merge $started $status]
        }
        Pause 5
    }
}

# The package's binaries for Tcl 8.6 and for Tcl 9, {} for one that is not installed.
proc ::etw::cli::AttachLibraries {dir} {
    set libraries [dict create 8 {} 9 {}]
    foreach file [glob -nocomplain -directory $dir *etw[package provide etw][info sharedlibextension]] {
        dict set libraries [expr {[string match *tcl9* [file tail $file]] ? 9 : 8}] [file nativename $file]
    }
    return [dict values $libraries]
}

# ---- etw record --attach ---------------------------------------------------------------------------

# Record a running process until Ctrl-C, the end of the duration, or its own end.
proc ::etw::cli::RecordAttached {session options} {
    set pid [dict get $options attach]
    set settings [AttachSettings $options]
    set itself [expr {$settings eq [AttachSettings {}] && [AttachedItself $pid]}]
    Note [AttachTo $pid $settings]
    try {
        Hold $session [Option $options duration 0] $pid
    } finally {
        if {!$itself && [IsProcess $pid]} {
            try {
                Note [DetachFrom $pid]
            } trap {ETW LOOKUP PROCESS} {} {
                # It has ended meanwhile.
            } on error {message how} {
                Note "the traces of process $pid are still there (\"etw detach $pid\" removes them): $message"
            }
        }
        if {![IsProcess $pid]} {
            Note "process $pid has ended"
        }
    }
}

# False also for a process that has ended and whose parent has not asked for its exit code yet.
proc ::etw::cli::IsProcess {pid} {
    if {[catch {::etw::lib::OpenFile /proc/$pid/stat} f]} {
        return 0
    }
    set text [read $f]
    close $f
    return [expr {![regexp {\) [ZX] } $text]}]
}
