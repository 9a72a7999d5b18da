# cli_options.tcl --
#
#	Parsing of a command line: options of the tool's own commands by a table, and words that are passed to
#	the ensemble.

namespace eval ::etw::cli {
    # command -> {{long short argument about ?many?} ...}; an empty argument: a flag. many: may be repeated.
    variable tables {
        record {
            {output o FILE {the trace; default etw.etl}}
            {kernel k GROUPS {kernel events: groups, or linux:SYSTEM:EVENT, by commas} many}
            {script s PATTERNS {procs and commands of Tcl programs, by commas; default *} many}
            {provider p {PROVIDER[:LEVEL[:KEYWORDS]]} {another provider} many}
            {profile P {NAME[.light|.verbose]} {a recording profile (etw profiles)} many}
            {keywords {} LIST {of Tcl-Script's events: call,step,channel ...; default all} many}
            {no-script N {} {do not trace Tcl scripts}}
            {steps {} off|line|full {also lines, or commands, inside of traced procs}}
            {args {} 0|1 {words of calls and results; default 1}}
            {maxlen {} BYTES {longest text of words or a result; default 200}}
            {source {} 0|1 {file and line of calls}}
            {redact {} PATTERNS {words to be masked, by commas} many}
            {scope {} program|all {script and provider events: of the program and its children (default), or of all processes of the user}}
            {pids {} PIDS|all {whose kernel events; default the program and its children}}
            {all-pids a {} {events of all processes: --pids all --scope all}}
            {stacks {} {} {kernel events with stacks}}
            {sample-interval {} MS {between samples of kernel group profile; default 1}}
            {duration t SECONDS {record so long; the program goes on}}
            {max-size m MB {the trace grows no larger}}
            {circular C {} {at --max-size the oldest events make room}}
            {buffer-size b KB {of a buffer}}
            {buffers {} MIN,MAX {how many}}
            {lossless {} {} {the program waits for the trace's disk instead of losing events}}
            {trigger T {EXPR|error|slow=TIME} {flight recorder: keep the newest events in memory, write them when an event fits}}
            {snapshots {} N {with --trigger: so many traces at most; default 1}}
            {quiet q {} {no summary}}
        }
        start {
            {output o FILE {the trace}}
            {kernel k GROUPS {kernel events} many}
            {provider p {PROVIDER[:LEVEL[:KEYWORDS]]} {a provider} many}
            {profile P {NAME[.light|.verbose]} {a recording profile} many}
            {pids {} PIDS|all {whose kernel events; default all}}
            {stacks {} {} {kernel events with stacks}}
            {sample-interval {} MS {between samples of kernel group profile; default 1}}
            {realtime r {} {live consumers may attach}}
            {mode {} MODE {as "etw start -mode"}}
            {hold {} {} {this process has the session, until Ctrl-C}}
            {duration t SECONDS {hold it for so long}}
            {max-size m MB {the trace grows no larger}}
            {buffer-size b KB {of a buffer}}
            {buffers {} MIN,MAX {how many}}
            {lossless {} {} {traced programs wait for the disk instead of losing events}}
            {quiet q {} {no summary}}
        }
        top {
            {kernel k GROUPS {kernel events} many}
            {provider p {PROVIDER[:LEVEL[:KEYWORDS]]} {a provider; default Tcl-Script} many}
            {profile P {NAME[.light|.verbose]} {a recording profile} many}
            {pids {} PIDS|all {whose kernel events; default all}}
            {where w EXPR {only events that fit}}
            {interval d SECONDS {between two tables; default 2}}
            {count n N {so many tables, then end}}
            {lines l N {rows of a table; default what the terminal has, else 20}}
        }
        sessions {
            {interval d SECONDS {rates of so long from now; default since each session's start}}
        }
        stop {}
        query {}
        flush {}
        describe {}
        profiles {}
        help {}
        completion {}
    }
}

# Options of a command: returns {options words}; options is a dict by long name, values of `many` are lists. The
# first word that is not an option, or --, ends them.
proc ::etw::cli::Parse {command words} {
    variable tables
    set table [dict get $tables $command]
    set options {}
    while {[llength $words] > 0} {
        set word [lindex $words 0]
        if {$word eq "--"} {
            set words [lrange $words 1 end]
            break
        }
        if {[string length $word] < 2 || [string index $word 0] ne "-"} {
            break
        }
        set words [lrange $words 1 end]
        set hasValue [regexp {^(--?[a-zA-Z][^=]*)=(.*)$} $word -> word value]
        lassign [FindOption $table $word] long short argument about many
        if {$argument eq ""} {
            if {$hasValue} {
                Usage "option \"$word\" takes no value" OPTION $word
            }
            set value 1
        } elseif {!$hasValue} {
            if {[llength $words] == 0} {
                Usage "option \"$word\" needs a value: $argument" OPTION $word
            }
            set words [lassign $words value]
        }
        if {$many ne ""} {
            dict lappend options $long $value
        } else {
            dict set options $long $value
        }
    }
    return [list $options $words]
}

# Usage error if one of these options is given and not a number above 0. kinds: name -> integer or double.
proc ::etw::cli::CheckNumbers {options kinds} {
    dict for {name kind} $kinds {
        if {[dict exists $options $name]} {
            set value [dict get $options $name]
            if {![string is $kind -strict $value] || $value <= 0} {
                Usage "\"--$name\" must be a number above 0" OPTION --$name
            }
        }
    }
}

# The table's entry for -x, --long, or -long, also abbreviated.
proc ::etw::cli::FindOption {table word} {
    set name [string trimleft $word -]
    foreach entry $table {
        if {$word eq "-[lindex $entry 1]" && [lindex $entry 1] ne ""} {
            return $entry
        }
    }
    set names [lmap entry $table {lindex $entry 0}]
    if {[catch {tcl::prefix match -message option $names $name} found]} {
        Usage "unknown option \"$word\"" OPTION $word
    }
    return [lindex $table [lsearch -exact $names $found]]
}

proc ::etw::cli::HelpOptions {command} {
    variable tables
    if {[dict get $tables $command] eq ""} {
        return
    }
    puts "Options:"
    foreach entry [dict get $tables $command] {
        lassign $entry long short argument about
        set names "[expr {$short eq {} ? {    } : "-$short, "}]--$long [expr {$argument eq {} ? {} : $argument}]"
        if {[string length $names] > 32} {
            puts "  $names"
            set names {}
        }
        puts [format {  %-32s %s} $names $about]
    }
}

# ---- Words for the ensemble ----------------------------------------------------------------------

# Words in any order -> words in the ensemble's order: those that are not options, then options. `flags` may lack
# a value; lists of names may be separated by commas, as everywhere in the tool.
proc ::etw::cli::Passed {words flags} {
    set plain {}
    set options {}
    while {[llength $words] > 0} {
        set words [lassign $words word]
        if {$word eq "--"} {
            lappend plain {*}$words
            break
        }
        if {![regexp {^--?([a-zA-Z][-a-zA-Z]*)(=(.*))?$} $word -> name hasValue value]} {
            lappend plain $word
            continue
        }
        if {$hasValue eq ""} {
            if {"-$name" in $flags && ![string is boolean -strict [lindex $words 0]]} {
                set value 1
            } elseif {[llength $words] == 0} {
                Usage "option \"$word\" needs a value" OPTION $word
            } else {
                set words [lassign $words value]
            }
        }
        if {$name in {by distinct fields key pair} && [regexp {^[^\s{}"]+$} $value]} {
            set value [split $value ,]
        }
        dict set options -[string map {- {}} $name] $value
    }
    return [list $plain $options]
}
