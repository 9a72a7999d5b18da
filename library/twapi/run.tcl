# run.tcl --
#
#	Runs a script that was written for TWAPI: tclsh run.tcl ?-namespace NAME? SCRIPT ?argument ...?
#
#	The script's `package require twapi` and `package require twapi_etw` load etw's commands. Finds etw
#	relative to its own path.

namespace eval ::etw::twapi {}
if {[lindex $argv 0] eq "-namespace"} {
    set ::etw::twapi::namespace [lindex $argv 1]
    set argv [lrange $argv 2 end]
}
if {[llength $argv] == 0} {
    puts stderr "usage: [info nameofexecutable] [info script] ?-namespace NAME? SCRIPT ?argument ...?"
    exit 2
}
# library/twapi/run.tcl is in the package's directory.
lappend auto_path [file dirname [file dirname [file dirname [file normalize [info script]]]]]
package require etw_twapi

set argv0 [lindex $argv 0]
set argv [lrange $argv 1 end]
set argc [llength $argv]
info script $argv0
source $argv0
