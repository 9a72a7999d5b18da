# demos/crossing_server.tcl --
#
#	The server of crossing.tcl: answers each GET with a text and what the C program given as argument (none when it is empty)
#	makes of it. The work for a request is done under the activity id that came with it. Prints its port, ends when its
#	standard input closes.

package require etw

etw provider create Demo-Server
etw provider event Demo-Server Request {Path string}
etw provider event Demo-Server Reply {Bytes int}
etw script add ::answer ::digest

proc accept {chan host port} {
    fconfigure $chan -blocking 0 -translation crlf -buffering line
    fileevent $chan readable [list request $chan {}]
}

# One line more of a request; head: what came so far.
proc request {chan head} {
    if {[gets $chan line] < 0} {
        if {[eof $chan]} {
            close $chan
        }
        return
    }
    if {$line ne ""} {
        fileevent $chan readable [list request $chan $head$line\n]
        return
    }
    regexp {^GET (\S+)} $head -> path
    regexp -nocase {X-Activity: (\S+)} $head -> id
    etw activity run $id [list answer $chan $path]
}
proc answer {chan path} {
    etw write Demo-Server Request $path
    set body "This is $path.\n[digest [string repeat "$path " 200]]\n"
    etw write Demo-Server Reply [string length $body]
    puts -nonewline $chan "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: [string length $body]\nConnection: close\n\n"
    fconfigure $chan -translation binary
    puts -nonewline $chan $body
    close $chan
}

# By the program, which is told the activity.
proc digest {text} {
    if {[lindex $::argv 0] eq ""} {
        return {}
    }
    return [exec [lindex $::argv 0] [etw activity current] << $text]
}

set server [socket -server accept -myaddr 127.0.0.1 0]
puts [lindex [fconfigure $server -sockname] 2]
flush stdout
fileevent stdin readable {if {[gets stdin line] < 0} {exit}}
vwait forever
