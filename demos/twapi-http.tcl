# demos/twapi-http.tcl --
#
#	The transcript of the Tcl wiki's page "Event Tracing for Windows", written for TWAPI: http::geturl with what the script
#	and the network do meanwhile. Its lines are as they stand there; before them a server to ask, and the one line that a
#	script for TWAPI needs to run here. `tclsh library/twapi/run.tcl SCRIPT` runs one without that line.
#
#	usage: tclsh demos/twapi-http.tcl ?DIRECTORY?

package require etw_twapi ;# the one line

set here [file dirname [file normalize [info script]]]
set server [open |[list [info nameofexecutable] [file join $here httpd.tcl]] r+]
if {[gets $server port] < 0} {
    set port 9 ;# no sockets here: geturl fails, and is traced all the same
}
cd [expr {$argc > 0 ? [lindex $argv 0] : "."}]
file delete http.etl

package require twapi_etw
namespace import twapi::*

package require http
set hprov [etw_twapi_provider_register]

set htrace [twapi::etw_start_trace MyHttpTrace -logfile http.etl]
twapi::etw_enable_provider $htrace [twapi::etw_twapi_provider_guid] -1 5
trace add execution ::http::geturl {enter enterstep leave leavestep} [list ::twapi::etw_execution_tracker $hprov]
# Not on every system, and not for everybody, can the network's events be had.
if {[catch {twapi::etw_enable_provider $htrace Microsoft-Windows-Kernel-Network 0x10 5} message]} {
    puts "(no network events: $message)"
}

if {[catch {http::geturl http://127.0.0.1:$port/} message]} {
    puts "(no page: $message)"
}
puts [etw_stop_trace $htrace]

etw_install_twapi_mof
etw_dump_to_file -fields {-timecreated -taskname -opcodename -properties} http.etl

catch {close $server}
