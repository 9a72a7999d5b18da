# main.tcl --
#
#	The command-line tool: the table of its commands, help, and exit codes. A command that only passes its
#	words to the ensemble is one entry in the table; the others are procs in other files of this directory.
#
#	Exit codes: 0 done; 1 failed; 2 wrong usage; 130 ended by Ctrl-C before there was anything to keep; 141
#	the reader of the output has closed it. `etw record` ends with its program's code, 128 and the signal's
#	number if a signal killed it, 126 or 127 if it could not be run, 125 if the recording itself failed.

namespace eval ::etw::cli {
    # Directory of the package: contains pkgIndex.tcl and library.
    variable packageDir {}

    # command -> {usage about how}; no about: that of ::etw::lib::commands. How: {proc NAME}, or {pass WORDS ?option value ...?}:
    #	print 1		print the result (otherwise the command prints); lines: a list, one element a line; tree: a dict of calls is printed in pieces
    #	defaults LIST	default options
    #	source PLACE	without a source, the file of `etw record` is read. PLACE is where the other word is: none, first, last
    #	sides 1		sources before and behind --
    #	bar 1		may take long: has -progress
    #	window 1	the result is a window: wait until it is closed
    variable commands {
        record {{[OPTION ...] [-- PROGRAM ARG ...]} {record what a program, its Tcl scripts and the kernel do}
            {proc Record}}
        attach {{PID [SESSION] [OPTION ...]} {trace the Tcl scripts of a running process} {proc AttachCommand}}
        detach {{PID} {stop tracing the Tcl scripts of a running process} {proc DetachCommand}}
        start {{NAME [OPTION ...]} {start a session that runs until "etw stop"} {proc Start}}
        enable {{NAME PROVIDER|kernel [GROUP,...] [OPTION ...]} {record the events of a provider, or of the kernel, in a session} {pass enable defaults {-pids all}}}
        disable {{NAME PROVIDER|kernel} {stop recording the events of a provider in a session} {pass disable}}
        stop {{NAME ...} {stop sessions and close their files} {proc Stop}}
        flush {{NAME ...} {write the buffers of sessions to their files} {proc Flush}}
        query {{[NAME ...]} {show the status of sessions} {proc Query}}
        recover {{} {save the events of sessions whose processes were killed} {proc Recover}}
        snapshot {{NAME FILE} {write the events of a memory session to a file} {proc Snapshot}}
        mark {{NAME TEXT} {write a marker event into a session} {pass mark}}
        sessions {{[PATTERN] [OPTION ...]} {list the running sessions} {proc Sessions}}
        providers {{[PATTERN] [OPTION ...]} {list providers} {pass providers print lines}}
        describe {{PROVIDER [EVENT] | kernel [GROUP [EVENT]]} {describe the events of a provider, or the groups of kernel events} {proc Describe}}
        profiles {{} {list the recording profiles} {proc Profiles}}
        top {{[SESSION] [OPTION ...]} {} {proc Top}}
        dump {{[SOURCE ...] [OPTION ...]} {} {pass dump bar 1 notes 1 source none}}
        summary {{[SOURCE ...] [OPTION ...]} {} {pass summary bar 1 print 1 source none}}
        calls {{[SOURCE ...] [OPTION ...]} {} {pass calls bar 1 print tree source none}}
        cover {{[OPTION ...] [SOURCE ...] | [OPTION ...] -- PROGRAM ARG ...} {show which lines of scripts were executed} {proc Cover}}
        diff {{A B [OPTION ...] | A ... [OPTION ...] -- B ...} {} {pass diff bar 1 print 1 sides 1}}
        guard {{record|check|update BASELINE [OPTION ...] -- PROGRAM ARG ...} {count what a program does, and find what later runs do more often} {proc Guard}}
        report {{[SOURCE ...] [OPTION ...]} {} {pass report bar 1 print 1 source none}}
        info {{[FILE ...] [OPTION ...]} {} {pass info bar 1 print 1 defaults {-format text} source none}}
        export {{[SOURCE ...] FILE [OPTION ...]} {} {pass export bar 1 notes 1 source last}}
        load {{DATABASE [SOURCE ...] [OPTION ...]} {} {pass load notes 1 source first}}
        fleet {{top|calls|diff|hosts|trace [ID] --from DATABASE [OPTION ...]} {} {pass fleet print 1 defaults {-format text}}}
        ship {{SESSION|FOLDER --to DATABASE [OPTION ...]} {} {pass ship notes 1 defaults {-progress ::etw::cli::ShipOn}}}
        sql {{[FILE ...] QUERY [OPTION ...]} {} {pass sql notes 1 source last defaults {-format table -output -}}}
        relog {{[IN ...] OUT [OPTION ...]} {} {pass relog bar 1 notes 1 source last}}
        symbols {{FILE [OPTION ...]} {} {pass symbols bar 1 print 1}}
        path {{[SOURCE ...] [OPTION ...]} {} {pass path bar 1 print 1 source none}}
        view {{[SOURCE ...] [OPTION ...]} {} {pass view window 1 source none}}
        schema {{load|list|describe|find|diff ... [OPTION ...]} {search descriptions of events} {pass schema print 1}}
        selftest {{[REPORT]} {test the package with Windows' own tracing and write a report} {proc Selftest}}
        completion {bash|zsh {print a script that completes commands, options and files in that shell} {proc Completion}}
        help {{[COMMAND]} {describe a command} {proc Help}}
    }
}

apply {dir {
    foreach part {
        terminal cli_options command_texts help read_commands sessions describe profiles record_command attach_command cover_command tracing_cost trigger top
        completion
    } {
        uplevel #0 [list source [file join $dir $part.tcl]]
    }
}} [file dirname [info script]]

# etw selftest. Its steps are loaded at the call, and replace this proc.
proc ::etw::cli::Selftest {args} {
    variable packageDir
    source [file join $packageDir library cli selftest.tcl]
    tailcall Selftest {*}$args
}

# etw guard. Loaded at the call; it replaces this proc.
proc ::etw::cli::Guard {args} {
    source [file join $::etw::lib::dir cli guard_command.tcl]
    tailcall Guard {*}$args
}

# Run the tool with these words: returns the exit code.
proc ::etw::cli::Main {dir words} {
    variable packageDir $dir
    fconfigure stdout -buffering full
    set ::etw::lib::dash -- ;# listings name options as they are written in a shell
    set words [lassign $words command]
    set code [catch {Run $command $words} result how]
    if {$code == 0} {
        set status [expr {$result eq "" ? 0 : $result}]
    } else {
        set status [Failed $command $result $how]
    }
    if {[catch {flush stdout} message how] && $status == 0} {
        set status [Failed $command $message $how]
    }
    return $status
}

# Report an error: returns the exit code.
proc ::etw::cli::Failed {command message how} {
    set code [dict get $how -errorcode]
    if {[lrange $code 0 1] eq "POSIX EPIPE"} {
        return 141 ;# the reader of the output has closed it: the code of SIGPIPE
    }
    if {[lrange $code 0 1] eq "ETWTOOL INTERRUPTED"} {
        return 130
    }
    set usage [expr {[lindex $code 0] eq "ETWTOOL" || [lrange $code 0 1] in {{TCL WRONGARGS} {TCL LOOKUP} {TCL VALUE} {ETW ARG}}}]
    set command [expr {[catch {FindCommand $command} full] || [lindex $code 2] eq "COMMAND" ? {} : $full}]
    puts stderr "[Paint stderr red {etw:}] [::etw::lib::visible [ShellMessage $command $message $code] lines]"
    if {$usage} {
        puts stderr "Try \"etw help[expr {$command eq {} ? {} : " $command"}]\"."
        return 2
    }
    if {[info exists ::env(ETW_TOOL_DEBUG)]} {
        puts stderr [dict get $how -errorinfo]
    }
    return 1
}

proc ::etw::cli::Usage {message args} {
    return -code error -errorcode [list ETWTOOL USAGE {*}$args] $message
}

# The commands that this build has. Those that are passed on must exist in the ensemble.
proc ::etw::cli::Commands {} {
    variable commands
    set map [namespace ensemble configure ::etw -map]
    set rows [::etw::lib::commands]
    set known {}
    dict for {name entry} $commands {
        lassign $entry usage about how
        lassign $how kind what
        if {$kind ne "pass" || [dict exists $map $what]} {
            dict set known $name [list $usage [expr {$about ne "" ? $about : [dict get $rows $name about]}] $how]
        }
    }
    return $known
}

proc ::etw::cli::Run {command words} {
    if {$command in {{} -h --help -help}} {
        return [Help]
    }
    if {$command in {-V --version -version version} && $words eq {}} {
        puts [Version]
        return 0
    }
    set known [Commands]
    set name [FindCommand $command]
    set options [lrange $words 0 [expr {[set end [lsearch -exact $words --]] < 0 ? "end" : $end - 1}]]
    if {"--help" in $options || $words in {-h -help}} {
        return [Help $name]
    }
    lassign [lindex [dict get $known $name] 2] kind what
    if {$kind eq "pass"} {
        return [Pass $name $what $words [lrange [lindex [dict get $known $name] 2] 2 end]]
    }
    return [{*}$what {*}$words]
}

# Version and commit, the Tcl that runs this, and the engine for sessions.
proc ::etw::cli::Version {} {
    variable packageDir
    set commit {}
    if {![catch {::etw::lib::OpenFile [file join $packageDir library commit.txt]} channel]} {
        gets $channel commit
        close $channel
    }
    set lines [list "etw [package provide etw][expr {$commit eq {} ? {} : " (commit [join [split $commit] {, }])"}]"]
    lappend lines "Tcl [info patchlevel], [info nameofexecutable]"
    lappend lines "engine [::etw pkgconfig get engine], on $::tcl_platform(os) $::tcl_platform(machine)"
    return [join $lines \n]
}
