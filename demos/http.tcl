# demos/http.tcl --
#
#	The main job: what did my script do, and what did the system do meanwhile? Traces http::geturl and all that it calls, together
#	with the kernel's TCP events, into one .etl file, and lists them interleaved on one clock.
#
#	usage: tclsh demos/http.tcl ?FILE.etl?

package require http
package require etw

set here [file dirname [file normalize [info script]]]
set file [expr {$argc > 0 ? [lindex $argv 0] : "http.etl"}]

# A server in another process: only this one is traced.
set server [open |[list [info nameofexecutable] [file join $here httpd.tcl]] r+]
gets $server port

etw start http -file $file
etw enable http Tcl-Script
if {[catch {etw enable http kernel tcpip} message]} {
    puts "(no kernel events: $message)\n"
}
etw script add ::http::geturl ::http::Connect* ::http::Event ::http::Write ::http::Finish ::http::cleanup -args 1 -maxlen 60

set token [http::geturl http://127.0.0.1:$port/hello]
set status [http::status $token]
http::cleanup $token

etw script remove
set stats [etw stop http]
close $server

etw dump $file
puts "\n$file: [dict get $stats events] events, [file size $file] bytes, HTTP status: $status"
