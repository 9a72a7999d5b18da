# tests/support/support.tcl --
#
#	Sourced first by each tests/*.test: tcltest, the package as built (ETW_BUILD_DIR, by default ./build of
#	the tree), constraints, and helpers for child processes, threads and waiting. Each file runs with a
#	separate runtime directory, so that it sees only its own sessions. A test file:
#
#	    source [file join [file dirname [info script]] .. support support.tcl]
#	    test write-1.1 {...} -constraints kernel -setup ... -body ... -cleanup ... -result ...
#	    cleanupTests

package require Tcl 8.6-
package require tcltest 2.3
namespace import -force ::tcltest::*

namespace eval testing {
    namespace export tempFile tempDir tclsh childScript childStart childResult waitFor \
        inThread threadStart threadResult corpusFile readFile readBytes writeFile payloadsOf
    variable topDir [file dirname [file dirname [file dirname [file normalize [info script]]]]]
    variable buildDir
    if {[info exists ::env(ETW_BUILD_DIR)]} {
        set buildDir $::env(ETW_BUILD_DIR)
    } else {
        set buildDir [file join $topDir build]
    }
    # Directory for this run of the file: created by the runner, or here if the file is run alone.
    variable tmpDir
    if {[info exists ::env(ETW_TEST_TMP)]} {
        set tmpDir $::env(ETW_TEST_TMP)
    } else {
        close [file tempfile tmpDir]
        file delete $tmpDir
        file mkdir $tmpDir
        set ::env(ETW_RUNTIME_DIR) [file join $tmpDir run]
    }
    variable sequence 0
}

::tcltest::configure -tmpdir $testing::tmpDir {*}$argv
lappend auto_path $testing::buildDir
# Only the etw of this build may be loaded.
if {[catch {package require -exact etw 1.0} message opts]} {
    puts stderr "cannot load etw from $testing::buildDir: $message"
    exit 2
}

# ---- Constraints ---------------------------------------------------------------------------------

# linux, windows: the platform; wine: Windows emulated by Wine.
testConstraint linux [expr {$tcl_platform(os) eq "Linux"}]
testConstraint windows [expr {$tcl_platform(platform) eq "windows"}]
testConstraint wine [expr {[info exists env(ETW_WINE)] && $env(ETW_WINE)}]
testConstraint notWine [expr {![testConstraint wine]}]
# systemless: the operating system has no working ETW.
testConstraint systemless [expr {[catch {etw query system:any} message opts]
    && [lindex [dict get $opts -errorcode] 1] eq "UNSUPPORTED"}]
# swap: the fast hooks of scripts. The others have limitations, see generic/script/hooks/public_hooks.c.
testConstraint swap [expr {[etw::pkgconfig get hooks] eq "swap"}]
testConstraint tcl9 [package vsatisfies [package provide Tcl] 9.0-]
testConstraint sanitized [expr {[info exists env(ETW_SANITIZE)] && $env(ETW_SANITIZE) ne ""}]
# Times and memory are meaningless under a sanitizer.
testConstraint notSanitized [expr {![testConstraint sanitized]}]
testConstraint threadPackage [expr {![catch {package require Thread}]}]
# A display, and a Tk for this Tcl: checked in another process, because loading Tk creates a window.
testConstraint tk [expr {[testConstraint linux] && [info exists env(DISPLAY)]
    && ![catch {exec [info nameofexecutable] << {package require Tk; exit}}]}]

# kernel: root, and a tracefs with instances, which is mounted here if necessary.
proc testing::HasKernel {} {
    if {![testConstraint linux] || [exec id -u] ne "0"} {
        return 0
    }
    foreach dir {/sys/kernel/tracing /sys/kernel/debug/tracing} {
        if {[file isdirectory $dir/instances]} {
            return [file writable $dir/instances]
        }
    }
    if {[catch {exec mount -t tracefs nodev /sys/kernel/tracing}]} {
        return 0
    }
    return [file writable /sys/kernel/tracing/instances]
}
testConstraint kernel [testing::HasKernel]

# corpus: real files of Windows, next to the tree or in ETW_CORPUS.
namespace eval testing {
    variable corpusDir {}
    foreach dir [list [expr {[info exists ::env(ETW_CORPUS)] ? $::env(ETW_CORPUS) : {}}] \
            [file join $topDir tests corpus] [file join [file dirname $topDir] shared corpus]] {
        if {$dir ne "" && $corpusDir eq "" && [file isdirectory $dir]} {
            set corpusDir $dir
        }
    }
}
testConstraint corpus [expr {$testing::corpusDir ne ""}]

proc testing::corpusFile {name} {
    variable corpusDir
    return [file join $corpusDir $name]
}

# ---- Files ---------------------------------------------------------------------------------------

# A new path in the run's directory.
proc testing::tempFile {{suffix .etl}} {
    variable tmpDir
    variable sequence
    return [file join $tmpDir t[incr sequence]$suffix]
}

proc testing::tempDir {} {
    set dir [tempFile {}]
    file mkdir $dir
    return $dir
}

proc testing::readFile {path {encoding utf-8}} {
    set f [open $path]
    try {
        fconfigure $f -encoding $encoding
        return [read $f]
    } finally {
        close $f
    }
}

# Not readFile with another encoding: in text mode, a file ends at its first control-Z on Windows.
proc testing::readBytes {path} {
    set f [open $path rb]
    try {
        return [read $f]
    } finally {
        close $f
    }
}

proc testing::writeFile {path text {encoding utf-8}} {
    set f [open $path w]
    try {
        fconfigure $f -encoding $encoding
        puts -nonewline $f $text
    } finally {
        close $f
    }
    return $path
}

# The events of this project's providers in a trace, as {PROVIDER EVENT} -> count. An error if a payload does not fit
# its declaration (tests/semantics/test_payloads.c).
proc testing::payloadsOf {file} {
    variable buildDir
    set counts {}
    foreach line [split [exec [file join $buildDir tests semantics test_payloads] -file $file] \n] {
        if {[string match "bad *" $line]} {
            error $line
        }
        lassign $line provider event count
        dict set counts [list $provider $event] $count
    }
    return $counts
}

# True if a server can listen at the address. Not tried where Tcl 9 panics: it needs a window, which Wine lacks
# without a display.
proc testing::canListen {{address 127.0.0.1}} {
    if {[testConstraint wine] && [testConstraint tcl9]} {
        return 0
    }
    return [expr {![catch {close [socket -server list -myaddr $address 0]}]}]
}

# Where sockets end the program, tcltest's own constraint must not try one.
if {![testing::canListen]} {
    testConstraint socket 0
}

# ---- Other processes -----------------------------------------------------------------------------

# The interpreter that runs this file, for child processes.
proc testing::tclsh {} {
    return [info nameofexecutable]
}

# Write SCRIPT to a file whose first lines load the package as here.
proc testing::childScript {script} {
    variable buildDir
    set path [tempFile .tcl]
    writeFile $path [format {
        fconfigure stdout -encoding utf-8
        lappend auto_path %s
        package require -exact etw 1.0
        %s
    } [list $buildDir] $script]
    return $path
}

# Start SCRIPT in another tclsh with etw loaded; returns a channel for its input and its output (with errors).
# `pid $chan` returns its process id.
proc testing::childStart {script args} {
    set chan [open |[list [tclsh] [childScript $script] {*}$args 2>@1] r+]
    fconfigure $chan -buffering line -encoding utf-8
    return $chan
}

# The remaining output when the child has ended: {code output} with its exit code or signal.
proc testing::childResult {chan} {
    fconfigure $chan -blocking 1
    set output [read $chan]
    if {[catch {close $chan} message opts]} {
        set code [dict get $opts -errorcode]
        if {[lindex $code 0] in {CHILDSTATUS CHILDKILLED}} {
            return [list [lindex $code 2] $output]
        }
        return [list $message $output]
    }
    return [list 0 $output]
}

# ---- Waiting -------------------------------------------------------------------------------------

# Run the event loop until EXPR (evaluated in the caller) is true; an error after MS.
proc testing::waitFor {condition {ms 60000}} {
    set end [expr {[clock milliseconds] + $ms}]
    while {![uplevel 1 [list expr $condition]]} {
        if {[clock milliseconds] > $end} {
            error "waited $ms ms for: $condition"
        }
        after 2 {set ::testing::tick 1}
        vwait ::testing::tick
    }
}

# ---- Threads -------------------------------------------------------------------------------------

# Threads through the Thread package if available, otherwise through tests/support/tclthreads.c.
proc testing::threadStart {script} {
    variable buildDir
    set load [format {
        lappend auto_path %s
        package require -exact etw 1.0
    } [list $buildDir]]
    if {[testConstraint threadPackage]} {
        set id [thread::create -joinable]
        thread::send $id $load
        thread::send -async $id $script ::testing::threadDone($id)
        return $id
    }
    package require tclthreads
    return [tclthreads::start $load\n$script]
}

# The result or the error of a thread that has ended.
proc testing::threadResult {id} {
    variable threadDone
    if {[testConstraint threadPackage]} {
        while {![info exists threadDone($id)]} {
            vwait ::testing::threadDone($id)
        }
        set result $threadDone($id)
        unset threadDone($id)
        thread::release $id
        thread::join $id
        return $result
    }
    return [tclthreads::join $id]
}

proc testing::inThread {script} {
    return [threadResult [threadStart $script]]
}

namespace import -force ::testing::*
