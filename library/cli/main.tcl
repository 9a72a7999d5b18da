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
    #	bar 1		may take long: has -progress
    #	window 1	the result is a window: wait until it is closed
    #	flags LIST	options whose value may be omitted (1), in addition to those in the row of ::etw::lib::commands
    variable commands {
        record {{[OPTION ...] [-- PROGRAM ARG ...]} {run a program and record what it and the kernel do}
            {proc Record}}
        start {NAME {start a session that runs until "etw stop"} {proc Start}}
        enable {{NAME PROVIDER | NAME kernel GROUPS} {let a provider's events into a session}
            {pass enable flags {-stacks -capture}}}
        disable {{NAME PROVIDER} {keep them out again} {pass disable}}
        stop {{NAME ...} {stop sessions} {proc Stop}}
        flush {NAME {put what a session has on disk} {proc {Query flush}}}
        query {{[NAME ...]} {how sessions stand} {proc {Query query}}}
        snapshot {{NAME FILE} {write what a memory session holds} {pass snapshot}}
        mark {{NAME TEXT} {put a marker into a session} {pass mark}}
        sessions {{[OPTION ...] [PATTERN]} {list the running sessions} {proc Sessions}}
        providers {{[PATTERN]} {list providers} {pass providers print lines}}
        describe {{PROVIDER|kernel [EVENT]} {what a provider's events are} {proc Describe}}
        profiles {{} {list the recording profiles} {proc Profiles}}
        top {{[OPTION ...] [SESSION]} {} {proc Top}}
        dump {{SOURCE ...} {} {pass dump bar 1 notes 1}}
        summary {{SOURCE ...} {} {pass summary bar 1 print 1}}
        calls {{SOURCE ...} {} {pass calls bar 1 print tree}}
        info {FILE {} {pass info bar 1 print 1 defaults {-format text}}}
        export {{SOURCE ... FILE} {} {pass export bar 1 notes 1}}
        load {{DATABASE SOURCE ...} {} {pass load notes 1}}
        relog {{IN ... OUT} {} {pass relog bar 1 notes 1}}
        view {{SOURCE ...} {} {pass view window 1}}
        schema {{load|list|describe|find|diff ...} {what is known of events} {pass schema print 1}}
        completion {bash|zsh {print a script that completes commands, options and files in that shell} {proc Completion}}
        help {{[COMMAND]} {this} {proc Help}}
    }
}

foreach file {terminal cli_options read_commands sessions profiles record_command trigger top completion} {
    source [file join [file dirname [info script]] $file.tcl]
}

# Run the tool with these words: returns the exit code.
proc ::etw::cli::Main {dir words} {
    variable packageDir $dir
    fconfigure stdout -buffering full
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
    puts stderr "[Paint stderr red {etw:}] [::etw::lib::visible $message lines]"
    if {[lindex $code 0] eq "ETWTOOL" || [lrange $code 0 1] in {{TCL WRONGARGS} {TCL LOOKUP} {ETW ARG}}} {
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
    if {$command in {-V --version -version}} {
        puts [Version]
        return 0
    }
    set known [Commands]
    if {[catch {tcl::prefix match -message command [dict keys $known] $command} name]} {
        Usage $name COMMAND $command
    }
    set options [lrange $words 0 [expr {[set end [lsearch -exact $words --]] < 0 ? "end" : $end - 1}]]
    if {"--help" in $options || $words in {-h -help}} {
        return [Help $name]
    }
    lassign [lindex [dict get $known $name] 2] kind what
    if {$kind eq "pass"} {
        return [Pass $what $words [lrange [lindex [dict get $known $name] 2] 2 end]]
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

# ---- Help ----------------------------------------------------------------------------------------

proc ::etw::cli::Help {{command {}}} {
    set known [Commands]
    if {$command eq ""} {
        puts "usage: etw COMMAND \[OPTION ...] \[ARG ...]\n"
        dict for {name entry} $known {
            puts [format {  %-10s %s} $name [lindex $entry 1]]
        }
        puts "\n\"etw help COMMAND\" tells of one. A SOURCE is a trace file, session:NAME, or - for standard input.\
            \nThe first thing to try: etw record -o trace.etl -- tclsh SCRIPT; etw dump trace.etl"
        return 0
    }
    set name [tcl::prefix match -message command [dict keys $known] $command]
    lassign [dict get $known $name] usage about how
    puts "usage: etw $name $usage\n\n$about\n"
    lassign $how kind what
    if {$kind eq "pass"} {
        HelpPassed $what
    } else {
        HelpOptions $name
    }
    return 0
}

# The row of an ensemble's command in ::etw::lib::commands. For commands without a row, the options are taken from
# an error message.
proc ::etw::cli::RowOf {what} {
    set rows [::etw::lib::commands]
    if {[dict exists $rows $what]} {
        return [dict get $rows $what]
    }
    set probes {enable {x Tcl-Script -?} providers {x -? 1}}
    set names {}
    if {[dict exists $probes $what] && [catch {::etw $what {*}[dict get $probes $what]} message]} {
        set names [regexp -all -inline -- {-[a-z]+\M} $message]
    }
    return [dict create options $names flags {} values {}]
}

# The formats of a command: rows of ::etw::lib::formats.
proc ::etw::cli::FormatsOf {what} {
    return [lsort -index 1 [lmap row [::etw::lib::formats] {
        if {[dict get $row group] ne $what && !($what eq "export" && [dict get $row group] eq "tcl")} continue
        set row
    }]]
}

# Prints options and formats of the ensemble's command.
proc ::etw::cli::HelpPassed {what} {
    set names [dict get [RowOf $what] options]
    if {$names ne ""} {
        puts "Options (each \"--name VALUE\", \"--name=VALUE\" or \"-name VALUE\"):"
        puts "  [join [lmap name $names {string cat - $name}] {, }]"
    }
    set formats [FormatsOf $what]
    if {$formats ne ""} {
        puts "Formats (--format NAME):"
        foreach row $formats {
            puts [format {  %-12s%s} [dict get $row name] [dict get $row about]]
        }
    }
    puts "The page of \"etw $what\" (man n etw) tells what they mean."
}
