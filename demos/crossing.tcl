# demos/crossing.tcl --
#
#	One request on its way: a client in this process, a server in another one, a C program that the server runs, and the
#	kernel's network between them, all in one session and on one clock. The client gives each request an activity id and sends it
#	along in a header; the server and its program work under that id. The listing at the end is one request's: what carries
#	its id, in whichever process, and what the kernel did for these processes meanwhile.
#
#	The C program (digest.c) is compiled here, against libetwcore.a; without a C compiler, and without the right to see
#	kernel events, the demo goes on and says what is missing.
#
#	usage: tclsh demos/crossing.tcl ?FILE.etl?

package require http
package require etw

namespace eval crossing {
    variable here [file dirname [file normalize [info script]]]
}

# ---- The C program -------------------------------------------------------------------------------

# libetwcore.a is where the package is, or beside its directory.
proc crossing::coreLibrary {} {
    foreach dir $::auto_path {
        foreach path [list [file join $dir libetwcore.a] [file join [file dirname $dir] libetwcore.a]] {
            if {[file exists $path]} {
                return $path
            }
        }
    }
    error "libetwcore.a is not in auto_path"
}

# Its path, "" when it cannot be made.
proc crossing::compile {} {
    variable here
    set program [file tempfile path digest]
    close $program
    set command [list cc -I [file join $here .. generic] [file join $here digest.c]]
    if {[catch {exec {*}$command [coreLibrary] {*}[etw::pkgconfig get libs] -o $path 2>@1} message]} {
        puts "(no C program: [lindex [split $message \n] 0])"
        file delete $path
        return {}
    }
    return $path
}

# ---- The client ----------------------------------------------------------------------------------

etw provider create Demo-Client
etw provider event Demo-Client Ask {Url string}
etw provider event Demo-Client Answer {Status int Bytes int}
# The C program does not run yet: its provider is made known here, so that it can be enabled by name.
etw provider create Demo-Digest

# One request under an activity of its own, whose id is returned.
proc crossing::ask {url} {
    etw activity run {
        set id [etw activity current]
        etw write Demo-Client Ask $url
        set token [http::geturl $url -headers [list X-Activity $id]]
        etw write Demo-Client Answer [http::ncode $token] [string length [http::data $token]]
        http::cleanup $token
    }
    return $id
}

# ---- The listing ---------------------------------------------------------------------------------

# From the first to the last event of the activity: those that carry its id, and the kernel's.
proc crossing::follow {file id} {
    set mine [etw events $file -where [format {$activity eq "%s"} $id]]
    set from [dict get [lindex $mine 0] time]
    set to [dict get [lindex $mine end] time]
    set who [dict create [pid] client]
    etw foreach e $file -from $from -to $to {
        set kernel [string match Linux-* [dict get $e provider]]
        if {[dict get $e event] eq "StateChange"
                || (!$kernel && (![dict exists $e activity] || [dict get $e activity] ne $id))} {
            continue
        }
        if {[dict get $e provider] in {Demo-Server Demo-Digest}} {
            dict set who [dict get $e pid] [string tolower [string range [dict get $e provider] 5 end]]
        }
        lappend events $e
    }
    puts "      us  process  what"
    foreach e $events {
        set pid [dict get $e pid]
        set name [expr {[dict exists $who $pid] ? [dict get $who $pid] : $pid}]
        puts [format {%8.1f  %-7s  %s} [expr {([dict get $e time] - $from) / 1e3}] $name [what $e]]
    }
}

# An event in a few words.
proc crossing::what {e} {
    set words {}
    dict for {name value} [dict get $e props] {
        if {$name in {Url Path Status Bytes Sum Command FileName RemotePort Size ProcessId ExitCode}} {
            append words " $name=[regsub {^(.{40}).*} $value {\1...}]"
        }
    }
    return "[dict get $e provider] [dict get $e event]$words"
}

# ---- The session ---------------------------------------------------------------------------------

proc crossing::main {file} {
    variable here
    set program [compile]
    set server [open |[list [info nameofexecutable] [file join $here crossing_server.tcl] $program 2>@stderr] r+]
    try {
        gets $server port
        etw start crossing -file $file
        foreach provider {Demo-Client Demo-Server Demo-Digest} {
            etw enable crossing $provider -pids all
        }
        etw enable crossing Tcl-Script -any call -pids all
        if {[catch {etw enable crossing kernel {tcpip process} -pids [list [pid] [pid $server]]} message]} {
            puts "(no kernel events: $message)"
        }
        etw script add ::crossing::ask ::http::geturl
        foreach path {/one /two /three} {
            lappend ids [ask http://127.0.0.1:$port$path]
        }
        etw script remove
        set stats [etw stop crossing]
    } finally {
        close $server
        if {$program ne ""} {
            file delete $program
        }
    }
    puts "the second of [llength $ids] requests, activity [lindex $ids 1]:"
    follow $file [lindex $ids 1]
    puts "$file: [dict get $stats events] events, lost: [tcl::mathop::+ {*}[dict values [dict get $stats lost]]]"
}

crossing::main [expr {$argc > 0 ? [lindex $argv 0] : "crossing.etl"}]
