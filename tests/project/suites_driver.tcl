# suites_driver.tcl --
#
#	Runs a file of another project's test suite unchanged: BUILD TRACE FILE ?MODE?. TRACE: a file for the
#	events; - for a buffer in memory, where old events are overwritten; empty: nothing is traced. MODE:
#	call (the default), line, full, cover, sample (at 10 kHz) or slowsample (at 1 kHz). With TRACE - all keywords are
#	enabled. Creates nothing that the suite could find, except the package etw.

if {![llength [info commands ::sqlite3]]} {
    package require tcltest ;# as the suites' own runners do
    namespace import ::tcltest::*
}
namespace eval ::suitesDriver {
    lassign $::argv build etl file mode
    if {$mode eq ""} {
        set mode call
    }
    if {[info exists ::auto_path]} {
        set ::auto_path [linsert $::auto_path 0 $build]
    } elseif {$etl ne ""} {
        apply {dir {source [file join $dir pkgIndex.tcl]}} $build ;# a shell that does not source init.tcl, such as SQLite's
    }
    if {$etl ne ""} {
        package require etw
        if {$etl eq "-"} {
            set session suites[pid]
            etw start $session -mode memory -buffersize 256 -buffers 16,16
            etw enable $session Tcl-Script
        } else {
            set session suites
            etw start $session -file $etl -buffersize 1024 -buffers 16,512
            etw enable $session Tcl-Script -any [dict get {
                call call line {call step} full {call step} sample sample slowsample sample cover cover
            } $mode]
        }
        if {$mode in {sample slowsample}} {
            etw script sample -interval [expr {$mode eq "sample" ? 0.1 : 1}]
        } elseif {$mode eq "cover"} {
            etw script cover
        } else {
            etw script add * -args 0 -steps [dict get {call off line line full full} $mode]
        }
    }
    set ::argv0 $file
    set ::argv {}
    set ::argc 0
}
cd [file dirname $::suitesDriver::file]
if {[file exists constraints.tcl]} {
    package require Tk ;# as all.tcl of Tk's tests
    ::tcltest::configure -loadfile [file join [pwd] constraints.tcl]
}
source $::suitesDriver::file
if {$::suitesDriver::etl ne ""} {
    if {$::suitesDriver::mode in {sample slowsample}} {
        etw script sample -interval 0
    }
    etw script remove
    etw script cover off
    puts "etw: [etw stop $::suitesDriver::session]"
}
