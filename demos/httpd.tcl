# demos/httpd.tcl --
#
#	A small HTTP server on a loopback port of the system's choice, for the demos: prints its port, answers every GET with a few lines,
#	ends when its standard input closes.

proc accept {chan host port} {
    fconfigure $chan -blocking 0 -translation crlf -buffering line
    fileevent $chan readable [list request $chan]
}
proc request {chan} {
    if {[gets $chan line] < 0} {
        if {[eof $chan]} {
            close $chan
        }
        return
    }
    if {$line ne ""} {
        return
    }
    set body "Hello from [pid]\n[string repeat "twelve bytes" 100]\n"
    puts -nonewline $chan "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: [string length $body]\nConnection: close\n\n"
    fconfigure $chan -translation binary
    puts -nonewline $chan $body
    close $chan
}
set server [socket -server accept -myaddr 127.0.0.1 0]
puts [lindex [fconfigure $server -sockname] 2]
flush stdout
fileevent stdin readable {if {[gets stdin line] < 0} {exit}}
vwait forever
