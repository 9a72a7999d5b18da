# suites/driver.tcl --
#
#	Runs a file of somebody else's test suite as it is, with enter and leave of all that a script can define
#	written to a trace: BUILD ETL FILE ?STEPS?. STEPS sample: with samples at 10 kHz instead. Without ETL untraced. Leaves nothing of its own in the file's way.

package require tcltest ;# as the suites' own runners do
namespace import ::tcltest::*
namespace eval ::suitesDriver {
    lassign $::argv build etl file steps
    set ::auto_path [linsert $::auto_path 0 $build]
    if {$etl ne ""} {
        package require etw
        etw start suites -file $etl -buffersize 1024 -buffers 16,512
        if {$steps eq "sample"} {
            etw enable suites Tcl-Script -any sample
            etw script sample -interval 0.1
        } else {
            etw enable suites Tcl-Script -any [expr {$steps eq "" ? "call" : "call step"}]
            etw script add * -args 0 -steps [expr {$steps eq "" ? "off" : $steps}]
        }
    }
    set ::argv0 $file
    set ::argv {}
    set ::argc 0
}
cd [file dirname $::suitesDriver::file]
source $::suitesDriver::file
if {$::suitesDriver::etl ne ""} {
    if {$::suitesDriver::steps eq "sample"} {
        etw script sample -interval 0
    }
    etw script remove
    puts "etw: [etw stop suites]"
}
