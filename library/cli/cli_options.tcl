# cli_options.tcl --
#
#	Parsing of a command line: options of the tool's own commands by a table, and words that are passed to
#	the ensemble.

namespace eval ::etw::cli {
    # command -> {{long short argument about ?many?} ...}; an empty argument: a flag. many: may be repeated. An argument
    # that ends in ",..." is a list, whose elements are separated by commas.
    variable tables {
        record {
            {file o FILE {Write the trace to FILE. Default: etw.etl.}}
            {kernel k GROUP,... {Record kernel events: groups that "etw describe kernel" lists, or linux:SYSTEM:EVENT. With a program, the group process is added on Linux, because it has the names of programs. Default: none for Tcl programs, process for others.} many}
            {script s PATTERN,... {Trace the procs and commands of Tcl programs that match. Default: *.} many}
            {provider p {PROVIDER[:LEVEL[:KEYWORDS]]} {Record the events of a provider, also of one that the program registers only later.} many}
            {profile P {NAME[.light|.verbose]} {Use a recording profile; "etw profiles" lists them.} many}
            {attach {} PID {Record a running process instead of a program that is started, until it ends, Ctrl-C or --duration. Its Tcl scripts are traced without its cooperation, see etw_attach(n).}}
            {keywords {} KEYWORD,... {Record only events of Tcl-Script with these keywords: call, step, channel ... Default: all.}}
            {noscript N {} {Do not trace Tcl scripts.}}
            {cover {} {} {Count how often each command of Tcl source files is executed, for "etw cover". Calls are traced only with --script.}}
            {steps {} off|line|full {Trace each line, or each command, inside of traced procs. Default: off.}}
            {sample {} MS {Sample the call stack of Tcl scripts at this interval, 0.1 to 1000.}}
            {args {} 0|1 {Record the words of calls and their results. Default: 1.}}
            {maxlen {} BYTES {Cut the words of a call, and its result, at this size, 16 to 57344. Default: 200.}}
            {source {} 0|1 {Record the file and line of each call. Default: 0.}}
            {redact {} PATTERN,... {Mask the words of calls, and results, that match one of these patterns. A pattern matches the secret itself, not the name of a field. Kernel events (-k fileio) are not masked.} many}
            {scope {} program|all {Select the processes whose script and provider events are recorded: the program and those that it starts, or all of the user. Default: program; without a program all.}}
            {pids {} PID,...|all {Select the processes whose kernel events are recorded. Default: the program and those that it starts.}}
            {allpids a {} {Record the kernel events of all processes, and the scripts and providers of all programs of this user: --pids all --scope all. With -N, scripts are left out.}}
            {stacks {} {} {Record the stack of each kernel event.}}
            {unwind {} fp|dwarf {Record stacks whose callers in user mode are found by frame pointers, or by the call frame information of programs, which most programs and libraries need, and which costs more. Default: fp.}}
            {interval {} MS {Set the CPU time between two samples of kernel group profile, 0.1 to 1000. Default: 1.}}
            {duration t SECONDS {Stop recording after this time. The program goes on.}}
            {realtime r {} {Allow other commands to read the events while the program runs ("etw dump session:NAME", "etw top NAME"). "etw sessions" lists the name.}}
            {maxsize m MB {Limit the size of the trace. The events that follow are lost, unless the mode is circular. Default: no limit.}}
            {circular C {} {Replace the oldest events when the trace has reached --maxsize.}}
            {buffersize b KB {Set the size of each buffer, 4 to 1024. Default: 256.}}
            {buffers {} MIN,MAX {Set the number of buffers at the start, and the maximum number. With more than the default, each CPU's ring buffer of the kernel has the size of MIN buffers instead of 4 MB. Default: 16,128.}}
            {compress {} auto|on|off {Compress the trace. Default: auto, which means yes except in circular mode.}}
            {lossless {} {} {Make traced programs wait for a free buffer instead of losing events. Kernel events are not covered.}}
            {trigger T {EXPR|error|slow=DURATION} {Keep the newest events in memory, and write them when an event matches: a failed call, a call that takes longer, or an expression.}}
            {snapshots {} N {With --trigger: write at most N traces. Default: 1.}}
            {noreport {} {} {Do not print at the end what is conspicuous in the trace (etw report).}}
            {quiet q {} {Print no summary and no report at the end.}}
        }
        attach {
            {environment {} {} {Print the variables with which a program traces itself from its start: env `etw attach --environment` tclsh FILE.}}
            {script s PATTERN,... {Trace the procs and commands that match. Default: *.} many}
            {steps {} off|line|full {Trace each line, or each command, inside of traced procs. Default: off.}}
            {sample {} MS {Sample the call stack at this interval, 0.1 to 1000.}}
            {args {} 0|1 {Record the words of calls and their results. Default: 1.}}
            {maxlen {} BYTES {Cut the words of a call, and its result, at this size, 16 to 57344. Default: 200.}}
            {source {} 0|1 {Record the file and line of each call. Default: 0.}}
            {redact {} PATTERN,... {Mask the words of calls, and results, that match one of these patterns.} many}
        }
        detach {}
        cover {
            {file o FILE {With "-- PROGRAM": write the trace to FILE. Default: etw.etl.}}
            {files {} PATTERN,... {Report source files that match: patterns of names, or of paths if they contain a slash. Default: those below the current directory.} many}
            {dir {} DIR,... {Report also the source files (.tcl, .tm) below DIR that no program has read.} many}
            {format f text|source|lcov|cobertura {Print a table, the source with counts, a tracefile for lcov's genhtml, or XML of Cobertura. Default: text.}}
            {line {} FILE:LINE {Print the tests that executed this line, of a trace by etw::tcltest (-coverage).}}
            {pid {} PID,... {Count only the executions of these processes.} many}
            {from {} TIME {Count only the executions from this time on. Takes the times that "etw dump --from" takes.}}
            {to {} TIME {Count only the executions up to this time.}}
            {last {} DURATION {Count only the executions of this time before the last event, for example 20ms or 1.5s.}}
            {schema {} FILE,... {Load these files or folders that describe events.} many}
            {min {} PERCENT {End with exit code 1 if less of the lines were executed.}}
        }
        guard {
            {runs n N {record, update: run the program N times; facts that differ between the runs are not checked. check: run it up to N times; only what all runs do more often is reported. Default: 3.}}
            {kernel k GROUP,... {record: count kernel events of these groups, too, such as systemcall and fileio.} many}
            {script s PATTERN,... {record: count calls of the procs that match. Default: all.} many}
            {normalize {} REGEXP,REPLACEMENT,... {record: replace the parts of names that match; see "etw help diff".} many}
            {junit {} FILE {check: also write the result to FILE as JUnit XML.}}
            {markdown {} FILE {check: also write a summary to FILE in Markdown.}}
        }
        start {
            {file o FILE {Write the trace to FILE.}}
            {kernel k GROUP,... {Record kernel events: groups that "etw describe kernel" lists, or linux:SYSTEM:EVENT.} many}
            {provider p {PROVIDER[:LEVEL[:KEYWORDS]]} {Record the events of a provider.} many}
            {profile P {NAME[.light|.verbose]} {Use a recording profile; "etw profiles" lists them.} many}
            {pids {} PID,...|all {Select the processes whose kernel events are recorded. Default: all.}}
            {stacks {} {} {Record the stack of each kernel event.}}
            {unwind {} fp|dwarf {Record stacks whose callers in user mode are found by frame pointers, or by the call frame information of programs, which most programs and libraries need, and which costs more. Default: fp.}}
            {interval {} MS {Set the CPU time between two samples of kernel group profile, 0.1 to 1000. Default: 1.}}
            {realtime r {} {Allow other commands to read the events while the session runs (session:NAME).}}
            {mode {} sequential|circular|append|newfile|memory {Set what happens at --maxsize, or keep the events in memory for "etw snapshot". Default: sequential.}}
            {hold {} {} {Keep the session in this process, until Ctrl-C. Default: a logger process has it until "etw stop".}}
            {duration t SECONDS {Hold the session for this time.}}
            {maxsize m MB {Limit the size of the trace. Default: no limit.}}
            {buffersize b KB {Set the size of each buffer, 4 to 1024. Default: 256.}}
            {buffers {} MIN,MAX {Set the number of buffers at the start, and the maximum number. With more than the default, each CPU's ring buffer of the kernel has the size of MIN buffers instead of 4 MB. Default: 16,128.}}
            {compress {} auto|on|off {Compress the trace. Default: auto, which means yes except in circular mode.}}
            {lossless {} {} {Make traced programs wait for a free buffer instead of losing events. Kernel events are not covered.}}
            {quiet q {} {Print no message about the session.}}
        }
        top {
            {kernel k GROUP,... {Count kernel events of these groups.} many}
            {provider p {PROVIDER[:LEVEL[:KEYWORDS]]} {Count the events of a provider. Default: Tcl-Script.} many}
            {profile P {NAME[.light|.verbose]} {Use a recording profile; "etw profiles" lists them.} many}
            {pids {} PID,...|all {Select the processes whose kernel events are counted. Default: all.}}
            {where w EXPR {Count only events for which the expression is true.}}
            {interval d SECONDS {Set the time between two tables. Default: 2.}}
            {count n N {Stop after N tables. Default: no limit.}}
            {lines l N {Print at most N rows in a table. Default: as many as the terminal has, otherwise 20.}}
        }
        sessions {
            {interval d SECONDS {Measure rates for this time. Default: print the rates since the start of each session.}}
        }
        stop {}
        snapshot {}
        query {}
        flush {}
        describe {}
        profiles {}
        recover {}
        help {}
        completion {}
        selftest {}
    }
    # Old names of options, which this release still accepts: old -> new.
    variable oldNames {
        output file max-size maxsize buffer-size buffersize sample-interval interval no-script noscript all-pids allpids
    }
}

# Options of a command: returns {options words}; options is a dict by long name, values of `many` are lists. The
# first word that is not an option, or --, ends them.
proc ::etw::cli::Parse {command words} {
    variable tables
    set table [dict get $tables $command]
    set options {}
    set others {}
    while {[llength $words] > 0} {
        set word [lindex $words 0]
        if {$word eq "--"} {
            set words [lrange $words 1 end]
            break
        }
        if {[string length $word] < 2 || [string index $word 0] ne "-"} {
            if {$command eq "record"} {
                break ;# the program; what follows are its options
            }
            lappend others $word
            set words [lrange $words 1 end]
            continue
        }
        set words [lrange $words 1 end]
        set hasValue [regexp {^(--?[a-zA-Z][^=]*)=(.*)$} $word -> word value]
        lassign [FindOption $command $table $word] long short argument about many
        if {$argument eq ""} {
            if {$hasValue} {
                Usage "option \"$word\" takes no value" OPTION $word
            }
            set value 1
        } elseif {!$hasValue} {
            if {[llength $words] == 0 || [lindex $words 0] eq "--"} {
                Usage "option \"$word\" needs a value: $argument" OPTION $word
            }
            set words [lassign $words value]
        }
        if {$argument eq "SECONDS"} {
            set value [InSeconds $value]
        }
        if {$many ne ""} {
            dict lappend options $long $value
        } else {
            dict set options $long $value
        }
    }
    return [list $options [concat $others $words]]
}

# A time in seconds, or with a unit, in seconds.
proc ::etw::cli::InSeconds {value} {
    set ns [::etw::lib::nanoseconds $value]
    return [expr {$ns eq "" ? $value : $ns / 1e9}]
}

# Usage error if one of these options is given and not a number above 0. kinds: name -> integer or double.
proc ::etw::cli::CheckNumbers {options kinds} {
    dict for {name kind} $kinds {
        if {[dict exists $options $name]} {
            set value [dict get $options $name]
            if {![string is $kind -strict $value] || $value <= 0} {
                Usage "expected a number above 0 for \"--$name\" but got \"$value\"" OPTION --$name
            }
        }
    }
}

# Usage error if one of these options is given and is none of the words. kinds: name -> words.
proc ::etw::cli::CheckWords {options kinds} {
    dict for {name words} $kinds {
        if {[dict exists $options $name] && [dict get $options $name] ni $words} {
            Usage "expected [join [lrange $words 0 end-1] {, }] or [lindex $words end] for \"--$name\" but got \"[dict get $options $name]\"" OPTION --$name
        }
    }
}

# The table's entry for -x, --long, or -long, also abbreviated. An error names the command.
proc ::etw::cli::FindOption {command table word} {
    variable oldNames
    set name [string trimleft $word -]
    foreach entry $table {
        if {$word eq "-[lindex $entry 1]" && [lindex $entry 1] ne ""} {
            return $entry
        }
    }
    set names [lmap entry $table {lindex $entry 0}]
    if {[dict exists $oldNames $name] && [dict get $oldNames $name] in $names} {
        set new [dict get $oldNames $name]
        ::etw::lib::OldName $word --$new
        set name $new
    }
    if {[catch {tcl::prefix match -message option $names $name} found]} {
        if {[string match ambiguous* $found]} {
            Usage "option \"$word\" is ambiguous: it is the beginning of [join [Begin -- [lsearch -all -inline -glob $names $name*]] { and }]" OPTION $word
        }
        Usage "\"etw $command\" has no option \"$word\"[DidYouMean --$name [Begin -- $names]]" OPTION $word
    }
    return [lindex $table [lsearch -exact $names $found]]
}

proc ::etw::cli::Begin {prefix words} {
    return [lmap word $words {string cat $prefix $word}]
}

# "; did you mean "NAME"?", or nothing.
proc ::etw::cli::DidYouMean {word names} {
    set similar [::etw::lib::similar $word $names]
    return [expr {$similar eq "" ? "" : "; did you mean \"$similar\"?"}]
}

# ---- Words for the ensemble ----------------------------------------------------------------------

# Words in any order -> words in the ensemble's order: those that are not options, then options. A boolean option may
# lack its value, and a list may have commas between its elements.
proc ::etw::cli::Passed {command table flags words} {
    set plain {}
    set options {}
    while {[llength $words] > 0} {
        set words [lassign $words word]
        if {$word eq "--"} {
            lappend plain {*}$words
            break
        }
        if {![regexp {^(--?[a-zA-Z][-a-zA-Z]*)(=(.*))?$} $word -> given hasValue value]} {
            lappend plain $word
            continue
        }
        lassign [FindOption $command $table $given] name short argument
        if {$hasValue eq ""} {
            if {($argument eq "" || "-$name" in $flags) && ![string is boolean -strict [lindex $words 0]]} {
                set value 1
            } elseif {[llength $words] == 0 || [lindex $words 0] eq "--"} {
                Usage "option \"$word\" needs a value: $argument" OPTION $word
            } else {
                set words [lassign $words value]
            }
        }
        if {[string first , $argument] >= 0} {
            set value [expr {$name in {event provider keyword} && [string first \{ $value] < 0 && [string first \" $value] < 0
                ? [split $value ,] : [ByCommas $value]}]
        }
        dict set options -$name $value
    }
    return [list $plain $options]
}

# The list in a word: elements separated by commas. A word with blanks, braces or quotes is a list of Tcl.
proc ::etw::cli::ByCommas {word} {
    return [expr {[regexp {^[^\s{}"]+$} $word] ? [split $word ,] : $word}]
}
