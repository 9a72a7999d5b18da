# help.tcl --
#
#	etw help: made of the tables of commands and options. Usage errors of the package's commands in the
#	notation of the shell.

namespace eval ::etw::cli {
    # Columns of help, as in man pages.
    variable helpWidth 80
}

proc ::etw::cli::Help {{command {}}} {
    set known [Commands]
    if {$command eq ""} {
        HelpOverview $known
        return 0
    }
    set name [FindCommand $command]
    lassign [dict get $known $name] usage about
    puts "usage: etw $name $usage\n"
    puts [Wrapped "[string toupper $about 0 0]." {}]
    HelpOptions $name
    HelpFormats $name
    if {$name eq "dump"} {
        HelpListing
    }
    HelpExamples $name
    HelpExitCodes $name
    return 0
}

proc ::etw::cli::HelpOverview {known} {
    variable commonExitCodes
    puts "usage: etw COMMAND \[OPTION ...] \[ARGUMENT ...]\n\nCommands:"
    dict for {name entry} $known {
        puts [format {  %-10s %s} $name [lindex $entry 1]]
    }
    puts ""
    puts [Wrapped {A SOURCE is a trace file (.etl, or an archive of them), session:NAME for a running session, or - for standard input.\
        Default: the file etw.etl, which "etw record" writes. Options are written --name VALUE, --name=VALUE or -name VALUE.} {}]
    puts "\nExit codes:"
    puts [Definitions $commonExitCodes 7]
    puts "\nTo begin:\n  etw record -- tclsh SCRIPT\n  etw dump\n\n\"etw help COMMAND\" or \"etw COMMAND --help\" describes a command."
}

# The full name of a command, which may be abbreviated.
proc ::etw::cli::FindCommand {word} {
    set names [dict keys [Commands]]
    if {![catch {tcl::prefix match -message command $names $word} found]} {
        return $found
    }
    if {[string match ambiguous* $found]} {
        Usage "command \"$word\" is ambiguous: it is the beginning of [join [lsearch -all -inline -glob $names $word*] { and }]" COMMAND $word
    }
    Usage "etw has no command \"$word\"[DidYouMean $word $names]" COMMAND $word
}

# ---- Parts of the help of a command --------------------------------------------------------------

proc ::etw::cli::HelpOptions {command} {
    variable helpWidth
    set table [OptionTable $command]
    if {$table eq ""} {
        return
    }
    puts "\nOptions:"
    foreach entry $table {
        lassign $entry long short argument about
        set names "[expr {$short eq {} ? {} : "-$short, "}]--$long[expr {$argument eq {} ? {} : " $argument"}]"
        puts [Definition $names $about 26]
    }
}

proc ::etw::cli::HelpFormats {command} {
    set formats [FormatsOf $command]
    if {$formats eq ""} {
        return
    }
    puts "\nFormats (--format):"
    foreach row $formats {
        set suffixes [dict get $row suffixes]
        puts [Definition [dict get $row name] "[string toupper [dict get $row about] 0 0][expr {$suffixes eq {} ? {} : " ([join $suffixes {, }])"}]." 26]
    }
}

# The columns and marks of the text that `etw dump` writes.
proc ::etw::cli::HelpListing {} {
    set names [dict get [::etw::lib::commands] dump values -columns]
    puts "\nColumns (--columns):"
    puts [Wrapped "[join $names {, }], and props(FIELD) for a field of the payload. \"event\" is \"name\" and \"details\". The columns are described in etw(n)." "  "]
    puts "\nMarks of calls in the text:"
    puts [Definitions {
        {> {A call or callback begins, with its words.}}
        {< {It returns, after this time.}}
        {| {The event is within a call; one for each.}}
        {. {A command of a traced proc begins (--steps full).}}
        {: {That command ends.}}
        {= {The result.}}
        {! {An error, with its message.}}
        {+N {N calls deeper than the listing shows.}}
        {\u2026 {The rest is not shown: of a long line or name, or the further lines of a command.}}
    } 7]
    puts [Wrapped "A process is written NAME(PID), a thread of it NAME(PID)/TID, an unknown number -." "  "]
}

proc ::etw::cli::HelpExamples {command} {
    variable examples
    puts "\nExamples:\n  [join [dict get $examples $command] "\n  "]"
}

proc ::etw::cli::HelpExitCodes {command} {
    variable exitCodes
    if {[dict exists $exitCodes $command]} {
        puts "\nExit codes:"
        puts [Definitions [dict get $exitCodes $command] 26]
    }
}

proc ::etw::cli::Definitions {rows column} {
    return [join [lmap row $rows {Definition {*}$row $column}] \n]
}

# Indented name, and its text in a column beside it, or below if the name is too long.
proc ::etw::cli::Definition {name text column} {
    set indent [string repeat " " $column]
    set lines [Wrapped $text $indent]
    if {[string length $name] + 3 > $column} {
        return "  $name\n$lines"
    }
    return "[format "  %-*s" [expr {$column - 2}] $name][string range $lines $column end]"
}

# The text in lines of the help's width.
proc ::etw::cli::Wrapped {text indent} {
    variable helpWidth
    set lines {}
    set line $indent
    foreach word [split $text] {
        if {[string length $line] + [string length $word] > $helpWidth - 1 && [string trim $line] ne ""} {
            lappend lines $line
            set line $indent
        }
        append line [expr {[string trim $line] eq "" ? "" : " "}] $word
    }
    return [join [lappend lines $line] \n]
}

# The formats of a command: rows of ::etw::lib::formats.
proc ::etw::cli::FormatsOf {what} {
    return [lsort -index 1 [lmap row [::etw::lib::formats] {
        if {[dict get $row group] ne $what && !($what eq "export" && [dict get $row group] eq "tcl")} continue
        set row
    }]]
}

# ---- Usage errors --------------------------------------------------------------------------------

# A message of the package's command, with options as they are written in the shell.
proc ::etw::cli::ShellMessage {command message code} {
    set known [Commands]
    if {![dict exists $known $command]} {
        return $message
    }
    if {[lrange $code 0 1] eq "TCL WRONGARGS"} {
        return "wrong number of arguments: usage is \"etw $command [lindex [dict get $known $command] 0]\""
    }
    foreach entry [OptionTable $command] {
        regsub -all "(^|\[\\s\"(\])-([lindex $entry 0])(?!\[\\w-\])" $message {\1--\2} message
        if {[lindex $entry 2] eq ""} { ;# a boolean option of the package is a flag here
            regsub -all "(--[lindex $entry 0]) 1(?!\[\\w\])" $message {\1} message
        }
    }
    return $message
}
