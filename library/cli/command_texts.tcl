# command_texts.tcl --
#
#	The options of commands that the tool passes on to the package: an argument and a sentence for each, and
#	examples of all commands. `etw help`, the completion scripts, the page etw(1) (tools/gen-tool-page.tcl)
#	and the parser of the command line read these tables. Which options a command has is in the package's
#	own tables (::etw::lib::commands); tests compare the two.
#
#	An argument that ends in ",..." is a list: its elements are separated by commas. An empty argument is a
#	boolean option that needs no value.

namespace eval ::etw::cli {
    # Options that have the same meaning in all commands: option -> {argument about}.
    variable sharedTexts {
        -where {EXPR {Select events for which the expression is true, for example '$Duration > 10ms && $pid == 4711'.}}
        -provider {NAME,... {Select events of these providers: names, patterns with * and ?, or GUIDs.}}
        -event {NAME,... {Select events with these names, patterns with * and ?, or event ids.}}
        -keyword {NAME,... {Select events with one of these keywords: names such as GCKeyword, or numbers. In --where: '"GCKeyword" in $keyword'.}}
        -level {LEVEL {Select events of this level and of more important ones: critical, error, warning, information, verbose, or a number. Same as --where '$level > 0 && $level <= "error"'.}}
        -pid {PID,... {Select events of these processes.}}
        -from {TIME {Select events from this time on: +SECONDS or 20ms from the start of the trace, a date such as 2024-02-29T23:59:59Z or 2024-02-29T23:59:59+01:00, nanoseconds since 1970, or a FILETIME.}}
        -to {TIME {Select events up to this time. Takes the same times as --from.}}
        -last {DURATION {Select the events of this time before the last event, for example 20ms or 1.5s.}}
        -limit {N {Stop after N events.}}
        -schema {FILE,... {Load these files or folders that describe events: manifests (.man), .mof, .tmf.}}
        -symbols {auto|off|DIR,... {Set where names of functions in stacks come from: files of this machine, nothing, or folders that are searched first. Default: auto.}}
        -stacks {{} {Attach stacks that are records of their own to the events that they belong to. The files are read twice.}}
        -timeout {MS {Stop when a running session has had no event for this number of milliseconds. Default: read until the session stops.}}
        -messages {{} {Also write the messages of events that have one.}}
        -title {TEXT {Set the title of the output. Default: the names of the files.}}
    }
    # Options that only Tcl code can use.
    variable tclOnly {-progress -records -map -inject}
    # command -> {option {argument about} ...}. They precede the shared ones.
    variable optionTexts {
        enable {
            -level {LEVEL {Set the maximum level of events: 1 to 255, or critical, error, warning, information, verbose. Default: events of all levels.}}
            -any {KEYWORD,... {Select events that have at least one of these keywords: numbers, or names that the provider declared. Default: all events.}}
            -all {KEYWORD,... {Select events that have all of these keywords. Default: all events.}}
            -arguments {NAME,VALUE,... {Windows: names and values that are passed to the provider, as EventSource of .NET takes them.}}
            -counters {NAME,... {Windows: add these counters of the processor to each event of the kernel groups.}}
            -events {ID,... {Select events with these ids, at most 64. Windows: "not,ID,..." selects all others.}}
            -names {NAME,... {Windows: select TraceLogging events with these names; "not,NAME,..." selects all others.}}
            -pids {PID,...|all|scope {Select the processes whose events are recorded. Default: all.}}
            -capture {{} {Request that the provider write its state now.}}
            -stacks {{} {Record the stack of each event: for kernel groups, and for providers on Windows.}}
            -unwind {fp|dwarf {Kernel groups of Linux: record stacks whose callers in user mode are found by frame pointers, or by the call frame information of programs. Default: fp.}}
            -interval {MS {Set the CPU time between two samples of kernel group profile, 0.1 to 1000. Default: 1.}}
            -properties {NAME,... {Windows: add this to each event: sid, tsid, stacks, psmkey, ignorekeyword0, processstartkey, eventkey, excludeinprivate.}}
            -executables {NAME,... {Windows: select events of programs with these file names.}}
            -payload {TEST,... {Windows: select events whose fields pass tests of the form "ID VERSION FIELD OPERATOR VALUE".}}
            -payloadmatch {all|any {Windows: whether all tests of an event must be true, or any of them. Default: all.}}
        }
        providers {
            -registered {{} {List only the providers that are registered now.}}
        }
        dump {
            -format {FORMAT {Select the form of the output; see Formats below. Default: text.}}
            -fields {NAME,... {csv and list: write these columns. A name is a value of the header (time, provider, event, pid ...) or a field of the payload. time(elapsed) is the number of nanoseconds that a disk access, page fault, DPC, interrupt or registry access of Windows took.}}
            -headers {NAME,... {csv with --fields: write these names in the first row. An empty list writes no such row.}}
            -separator {CHAR {csv with --fields: separate columns by this character. Default: a comma.}}
            -output {FILE {Write to this file. Default: standard output.}}
            -color {auto|on|off {Use colours. Default: auto, colours on a terminal unless NO_COLOR is set.}}
            -timeformat {FORMAT {Write times as relative (seconds from the start of the trace), iso (UTC), ns (nanoseconds since 1970) or filetime. Default: relative in text, otherwise ns.}}
            -columns {NAME,... {text: write these columns in this order; see Columns below. Default: time,process,provider,event.}}
            -raw {{} {text: write the bytes of each payload below the line, in hexadecimal digits.}}
            -width {COLUMNS|full {text: cut lines at this number of terminal columns; full: write whole lines. A cut line ends with an ellipsis. Default: the width of the terminal, and 200 in a file or pipe. To search, use --where, or grep with --width full.}}
        }
        summary {
            -by {NAME,... {Make a group for each combination of these values: header values or payload fields, at most 8. Default: provider,event.}}
            -distinct {NAME,... {Count the different values of these in each group, at most 8.}}
            -value {FIELD {Show sum, minimum, mean, percentiles and maximum of this number in the payload.}}
            -pair {BEGIN,END {Show the durations between events with these two names.}}
            -key {NAME,... {With --pair: match a begin and an end whose values of these fields are equal. Default: CallId where events have it, otherwise the thread.}}
            -histogram {{} {With --value or --pair: print a histogram with a line for each power of two.}}
            -top {N {Show the N groups with the largest sum or the most events; 0: all. Default: 20 in text, otherwise all.}}
            -groups {N {Keep at most N groups in memory; further ones are combined as (others). Default: 10000.}}
            -format {FORMAT {Select the form of the output; see Formats below. Default: text.}}
        }
        calls {
            -as {both|profile|tree {Show the profile (a row for each proc), the tree of callers, or both. Default: both.}}
            -by {proc|line|sample|cause {Make a row for each proc, for each line that calls were made from, for each proc on sampled stacks, or for each call that set callbacks. Default: proc.}}
            -callers {PROC {Show which procs call this one, instead of the profile and the tree.}}
            -depth {N {Show this number of levels of the tree. Default: 0, all.}}
            -min {PERCENT {Leave out rows and calls with a smaller share of the time, 0 to 100. Default: 0.}}
            -sort {COLUMN {Sort by self, total, calls, wait, errors, min, p50, p99, max (the largest first) or name. Default: self.}}
            -top {N {Show this number of rows, and of calls for each caller. Default: 0, all.}}
            -under {PROC {Count only calls of this proc and the calls that are made in them.}}
            -merge {0|1 {With 0, the tree has a line for each single call. Default: 1, calls of a proc by the same callers are combined.}}
            -format {FORMAT {Select the form of the output; see Formats below. Default: text.}}
        }
        diff {
            -by {TABLE,... {Print these tables: proc, path, work, file, host. Default: all.}}
            -format {FORMAT {Select the form of the output; see Formats below. Default: text.}}
            -min {PERCENT {Leave out rows of which only the time differs, by less than this share of the time of all procs, 0 to 100. Default: 0.5.}}
            -normalize {REGEXP,REPLACEMENT,... {Replace the parts of names that match, before names are compared; \1 is the first part in parentheses.}}
            -same {{} {Also print rows without a difference.}}
            -sort {COLUMN {Sort by the difference in self, total, calls, wait, bytes or errors (the largest first), or by name. Default: self.}}
            -top {N {Print this number of rows of each table; 0: all. Default: 20 in text, otherwise all.}}
        }
        symbols {
            -output {FILE {Write another file. Default: the trace itself gets the names.}}
        }
        report {
            -brief {{} {Print only the findings and what to try next, without the tables.}}
            -format {FORMAT {Select the form of the output; see Formats below. Default: text.}}
            -maxbytes {BYTES {Limit the size of the JSON object, at least 2048; a number may end in K or M. Default: 16K.}}
        }
        info {
            -format {FORMAT {Select the form of the output; see Formats below. Default: text.}}
            -providers {0|1 {With 0, read only the headers, without counting events. Default: 1.}}
        }
        export {
            -format {FORMAT {Select the format; see Formats below. Default: by the suffix of FILE.}}
            -weight {time|count|wait|sample|offcpu {folded and flamegraph: use the time in calls, the number of calls, their time off the CPU, the CPU time by samples, or the time off the CPU by the stacks of context switches as the width. Default: time, of a trace without calls sample.}}
        }
        load {
            -cafile {FILE {clickhouses://: trust the authorities whose certificates are in this file. Default: those that this machine trusts.}}
            -host {NAME {Store this name as the host of the traces. Default: the computer that the trace names, otherwise this machine.}}
            -index {FIELD,... {Create an index for searches by these fields of payloads. PostgreSQL: * is an index of all fields. Not for ClickHouse.}}
            -passwordfile {FILE {Read the password for ClickHouse or PostgreSQL from the first line of this file, which only its owner may read.}}
            -replace {{} {Replace traces that the database already has. Default: skip them.}}
        }
        fleet {
            -from {DATABASE {Ask this database: clickhouse://USER@HOST:8123/DATABASE, or one of PostgreSQL.}}
            -by {COLUMN {Order by self, total, wait, max, p99, calls or errors; diff: by excess or factor. Default: self, excess.}}
            -cafile {FILE {clickhouses://: trust the authorities whose certificates are in this file. Default: those that this machine trusts.}}
            -factor {N {diff: list procs whose mean duration on a host differs by this factor. Default: 2.}}
            -mincalls {N {diff: compare procs with at least this number of calls. Default: 10.}}
            -format {list|text|csv|json {Select the format. Default: text.}}
            -host {PATTERN,... {Select hosts that match one of these patterns.}}
            -limit {N {Write at most N rows. Default: 20, trace: 1000.}}
            -passwordfile {FILE {Read the password for ClickHouse or PostgreSQL from the first line of this file, which only its owner may read.}}
            -proc {PATTERN,... {Select procs that match one of these patterns.}}
            -since {TIME {Select what happened from this time on: 24h (before now), 2026-02-28 or 2026-02-28T23:59:59Z.}}
            -until {TIME {Select what happened up to this time.}}
        }
        ship {
            -to {DATABASE {Send the traces there: clickhouse://USER@HOST:8123/DATABASE, or a database of "etw load".}}
            -cafile {FILE {clickhouses://: trust the authorities whose certificates are in this file. Default: those that this machine trusts.}}
            -delete {{} {Delete files that the database has. Default: keep them.}}
            -host {NAME {Store this name as the host of the traces. Default: the computer that the trace names, otherwise this machine.}}
            -interval {MS {Look for new files after this number of milliseconds. Default: 1000.}}
            -once {{} {End when all complete files are sent; a failure ends the command. Default: continue, and try again after failures.}}
            -passwordfile {FILE {Read the password for ClickHouse or PostgreSQL from the first line of this file, which only its owner may read.}}
            -redact {PATTERN,... {Mask payload fields whose names match one of these patterns before anything is sent.}}
            -spool {MB {Drop the oldest files while the database cannot be reached and the files exceed this size. Default: 0, drop none.}}
        }
        sql {
            -format {FORMAT {Write the rows as a table for people, or as csv or json (an object on each line). Default: table.}}
            -output {FILE {Write to this file. Default: standard output.}}
        }
        relog {
            -compress {{} {Compress the buffers of the output, as Windows does (XPRESS). Default: no.}}
            -pack {{} {Pack the output with zstd: the smallest form, for archives, which all commands read. Default: if OUT ends in .zst.}}
            -redact {PATTERN,... {Mask payload fields whose names match one of these patterns.}}
            -rename {OLD,NEW {Rename a provider, or an event as PROVIDER/EVENT, in the descriptions that events carry.}}
            -split {KIND,N {Write several files: "process", "provider", "size,BYTES" or "time,SECONDS".}}
            -timeshift {SECONDS {Add this to all times, with a fraction if necessary. Default: 0.}}
            -schemas {{} {Add descriptions of events to the output, so that it can be decoded on other machines. Default: no.}}
            -set {FIELD,VALUE,... {Set fields of all headers: provider, activity, id, version, channel, level, opcode, task, keyword, pid, tid, cpu.}}
            -fields {NAME,... {With -map, which is available in Tcl only: the fields that the command receives.}}
        }
        path {
            -begin {EXPR {Begin the path at the latest event for which this expression is true and that leads to the end. Default: the first event of the end's thread.}}
            -end {EXPR {End the path at the last event for which this expression is true. Default: the last event of the begin's thread.}}
            -format {FORMAT {Select the form of the output; see Formats below. Default: text.}}
        }
        view {
            -theme {light|dark {Select the colours. Default: light.}}
            -size {WIDTHxHEIGHT {Set the size of the window or picture in pixels. Default: 1200x600.}}
            -save {FILE {Write the trace as a picture, .svg or .png, and open no window.}}
        }
        schema {
            -format {dict|text {Select a Tcl dict or a text for people. Default: text.}}
            -from {FILE {list, describe: search this file, without loading it.}}
            -in {PATTERN {find: search only providers that match.}}
            -limit {N {find: stop after N results.}}
        }
    }
    # Options of commands that have no row in ::etw::lib::commands, in the order of help.
    variable unlisted {
        enable {-level -any -all -events -names -pids -capture -arguments -stacks -unwind -counters -interval -properties -executables -payload -payloadmatch}
        providers -registered
        schema {-format -from -in -limit}
    }
    # Two commands that can be copied.
    variable examples {
        record {{etw record -- tclsh server.tcl 8080} {sudo etw record -k process,tcpip -o make.etl -- make}}
        attach {{etw attach 4711 web --script 'web::*'} {etw attach 4711 --steps line}}
        detach {{etw detach 4711} {etw detach 4711 && etw stop web}}
        start {{etw start web -o web.etl -p Tcl-Script} {etw start web -o web.etl -k process,fileio --maxsize 100 --mode circular}}
        enable {{etw enable web Tcl-Script --any call,step} {sudo etw enable web kernel process,tcpip}}
        disable {{etw disable web Tcl-Script} {etw disable web kernel}}
        stop {{etw stop web} {etw stop web build}}
        flush {{etw flush web} {etw flush web && etw dump web.etl}}
        query {{etw query} {etw query web}}
        recover {{etw recover} {etw recover && etw sessions}}
        snapshot {{etw start recorder --mode memory -p Tcl-Script} {etw snapshot recorder now.etl}}
        mark {{etw mark web "load test begins"} {etw mark web "load test ends"}}
        sessions {{etw sessions} {etw sessions --interval 2 'web*'}}
        providers {{etw providers} {etw providers '*Kernel*'}}
        describe {{etw describe kernel} {etw describe Microsoft-Windows-DNS-Client 3008}}
        profiles {{etw profiles} {etw record --profile network -- tclsh server.tcl}}
        top {{etw top} {sudo etw top -k process,fileio --interval 1}}
        dump {{etw dump --event Leave --where '$Duration > 10ms'} {etw dump web.etl --last 20ms --columns time,cpu,level,id,event}}
        summary {{etw summary} {etw summary web.etl --by Command --value Duration --event Leave}}
        calls {{etw calls} {etw calls web.etl --as tree --merge 0}}
        cover {{etw cover -- tclsh all.tcl} {etw cover --format lcov --dir lib >cover.info}}
        diff {{etw diff before.etl after.etl} {etw diff --by proc a1.etl a2.etl a3.etl -- b1.etl b2.etl b3.etl}}
        guard {{etw guard record shop.guard -- tclsh shop.tcl} {etw guard check shop.guard --junit guard.xml -- tclsh shop.tcl}}
        report {{etw report} {etw report web.etl --format json}}
        symbols {{etw symbols web.etl} {etw symbols web.etl --output named.etl --symbols /srv/debug}}
        info {{etw info} {etw info web.etl --providers 0}}
        export {{etw export web.etl web.html} {etw export web.etl calls.svg --weight count}}
        load {{etw load traces.db web1.etl web2.etl --host web} {etw load postgresql://localhost/traces web1.etl --index Command}}
        fleet {{etw fleet top --from clickhouse://etw@db:8123/traces --since 24h} {etw fleet diff --from postgresql://db/traces --proc 'checkout*'}}
        ship {{etw ship web --to clickhouse://etw@db:8123/traces} {etw ship /var/log/etw --to postgresql://db/traces --delete --spool 1000}}
        sql {{etw sql web.etl "SELECT provider, event, count(*) FROM events GROUP BY 1, 2"} {etw sql a.etl b.etl "SELECT trace, count(*) FROM events GROUP BY trace"}}
        relog {{etw relog web.etl short.etl --from +10.0 --to +20.0} {etw relog web.etl hidden.etl --redact Command,Result --compress}}
        path {{etw path} {etw path web.etl --begin '$Command eq "serve"'}}
        view {{etw view web.etl} {etw view web.etl --save web.svg --size 1600x900}}
        schema {{etw schema describe Microsoft-Windows-DNS-Client} {etw schema find CommandLine --in 'Microsoft-Windows-*'}}
        selftest {{etw selftest} {etw selftest report.txt}}
        completion {{source <(etw completion bash)} {etw completion zsh >~/.zfunc/_etw}}
        help {{etw help} {etw help record}}
    }
    # Exit codes of single commands; those of all are in `etw help`.
    variable exitCodes {
        record {
            {{the program's code} {The program has ended. 128 and the signal's number if a signal killed it.}}
            {125 {The recording failed.}}
            {126 {The program cannot be executed.}}
            {127 {There is no such program.}}
            {130 {A second Ctrl-C ended the recording.}}
        }
        selftest {
            {0 {No step failed. A skipped step is not proven.}}
            {1 {A step failed.}}
        }
        guard {
            {0 {check: the program does nothing more often than in the baseline.}}
            {1 {check: it does; or the command failed.}}
            {{the program's code} {The program has failed, and nothing was checked or written.}}
        }
        export {
            {1 {The export failed, or had no contents: a flame graph without calls, for example.}}
        }
    }
    variable commonExitCodes {
        {0 {Done.}}
        {1 {The command failed. The message is on standard error.}}
        {2 {Usage error: an unknown command or option, or a wrong value.}}
        {130 {Ctrl-C ended the command before it had a result.}}
        {141 {The reader of the output closed the pipe.}}
    }
}

# Argument and text of an option of the package's command.
proc ::etw::cli::TextOf {command option} {
    variable sharedTexts
    variable optionTexts
    if {[dict exists $optionTexts $command $option]} {
        return [dict get $optionTexts $command $option]
    }
    return [expr {[dict exists $sharedTexts $option] ? [dict get $sharedTexts $option] : {VALUE {}}}]
}

# The options of a command in the form of the tool's own tables: {long short argument about}. The command's own
# options come first.
proc ::etw::cli::PassedTable {command what} {
    variable optionTexts
    variable unlisted
    variable tclOnly
    set rows [::etw::lib::commands]
    if {[dict exists $unlisted $what]} {
        set names [dict get $unlisted $what]
    } elseif {[dict exists $rows $what]} {
        set names [lsearch -all -inline -not -regexp [dict get $rows $what options] ^([join $tclOnly |])$]
    } else {
        return {}
    }
    set own [expr {[dict exists $optionTexts $what] ? [dict keys [dict get $optionTexts $what]] : {}}]
    set first [lsearch -all -inline -regexp $own ^([join $names |])$]
    set order [dict keys [dict merge [Keys $first] [Keys [lsort $names]]]]
    return [lmap name $order {
        lassign [TextOf $what $name] argument about
        list [string range $name 1 end] {} $argument $about
    }]
}

proc ::etw::cli::Keys {names} {
    set dict {}
    foreach name $names {
        dict set dict $name 1
    }
    return $dict
}

# The options of a command of the tool: its own table, or that of the package's command.
proc ::etw::cli::OptionTable {command} {
    variable tables
    lassign [lindex [dict get [Commands] $command] 2] kind what
    return [expr {$kind eq "pass" ? [PassedTable $command $what] : [dict get $tables $command]}]
}
