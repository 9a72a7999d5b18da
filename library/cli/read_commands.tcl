# read_commands.tcl --
#
#	Commands of the ensemble: passes their words on, prints their results, ends live ones at Ctrl-C. Losses
#	and warnings are printed on stderr, so that they do not mix with the output.

# Options of the ensemble's command whose value may be omitted.
proc ::etw::cli::Flags {what} {
    set rows [::etw::lib::commands]
    return [expr {[dict exists $rows $what] ? [dict get $rows $what flags] : {}}]
}

# Adds the file that `etw record` writes if the words name no source. place: where the other word is: none, first, last.
proc ::etw::cli::WithSource {command plain place} {
    if {[llength $plain] != ($place ne "none")} {
        return $plain
    }
    set file etw.etl
    if {$place eq "last" && [file exists [lindex $plain 0]] && [file extension [lindex $plain 0]] in {.etl .zip .zst}} {
        Usage "\"etw $command [lindex $plain 0]\" names only one file: name the source and [expr {$command eq "sql" ? "the query" : "the file to be written"}]"
    }
    if {![file exists $file]} {
        Usage "no source was given, and this directory has no file \"$file\", which \"etw record\" writes: name a trace file or session:NAME" SOURCE
    }
    return [expr {$place eq "last" ? [linsert $plain 0 $file] : [linsert $plain end $file]}]
}

# Usage error if a command lacks words: the ensemble would take the options for them.
proc ::etw::cli::CheckWordCount {what plain} {
    set least [dict create enable 2 disable 2 mark 2 schema 1]
    set ofSchema [dict create load 2 describe 2 find 2 diff 3]
    set count [expr {[dict exists $least $what] ? [dict get $least $what] : 0}]
    if {$what eq "schema" && [dict exists $ofSchema [lindex $plain 0]]} {
        set count [dict get $ofSchema [lindex $plain 0]]
    }
    if {[llength $plain] < $count} {
        return -code error -errorcode {TCL WRONGARGS} "wrong number of arguments"
    }
}

proc ::etw::cli::Pass {command what words how} {
    set behind {}
    if {[dict exists $how sides] && [set at [lsearch -exact $words --]] >= 0} {
        lassign [Passed $command [PassedTable $command $what] [Flags $what] [lrange $words $at+1 end]] plain behind
        set behind [list {*}$behind -- {*}$plain]
        set words [lrange $words 0 $at-1]
    }
    lassign [Passed $command [PassedTable $command $what] [Flags $what] $words] plain options
    CheckWordCount $what $plain
    if {[dict exists $how source]} {
        set plain [WithSource $command $plain [dict get $how source]]
    } elseif {$what eq "enable" && [lindex $plain 1] eq "kernel" && [llength $plain] == 3} {
        lset plain 2 [ByCommas [lindex $plain 2]]
    }
    if {$what eq "schema" && [lindex $plain 0] in {describe find diff}} {
        set options [dict merge {-format text} $options]
    }
    if {[dict exists $how defaults]} {
        set options [dict merge [dict get $how defaults] $options]
    }
    if {$what eq "info" && [llength $plain] > 1} {
        return [InfoOfEach $plain $options]
    }
    NotePassword $what $plain $options
    flush stdout
    if {$what eq "dump" && [lsearch -glob $plain session:*] >= 0} {
        return [DumpLive $plain $options]
    }
    if {[dict exists $how bar] && ([dict exists $how print] || [Columns stdout] == 0)} {
        set options [dict merge [BarOption] $options]
    }
    try {
        set result [::etw $what {*}$plain {*}$options {*}$behind]
    } finally {
        BarEnd
    }
    if {$what eq "schema" && [lindex $plain 0] eq "list"} {
        puts [join [::etw::lib::Table {PROVIDER GUID FROM >EVENTS} [lmap row $result {
            dict with row {list $name [expr {$guid eq "" ? "-" : $guid}] $origin $events}
        }]] \n]
    } elseif {[dict exists $how print]} {
        set kind [dict get $how print]
        if {$kind eq "tree" && [WantsList $options]} {
            PutTree $result
            puts ""
        } else {
            Show $result $kind
        }
    } elseif {[dict exists $how notes]} {
        Notes $result $command
        if {$what eq "load"} {
            LoadedFiles $result
        }
        if {$what eq "relog"} {
            if {![dict exists $result redacted] || [dict get $result redacted] > 0} {
                Written [lindex $plain end] $result
            } else {
                # Not an unmasked copy that is taken for a masked one.
                file delete -- {*}[expr {[dict exists $result files] ? [dict keys [dict get $result files]]
                    : [lindex $plain end] eq "-" ? {} : [list [lindex $plain end]]}]
                puts stderr "[Paint stderr red etw:] nothing was masked: \"--redact\" takes names of fields, such as Command or Result, not the values to be masked. No copy was kept"
                return 1
            }
        }
    } elseif {[dict exists $how window] && [string match .* $result] && [info commands ::winfo] ne "" && [winfo exists $result]} {
        tkwait window $result
    }
    return 0
}

# etw info FILE ...: one text or object after the other.
proc ::etw::cli::InfoOfEach {files options} {
    foreach file $files {
        puts "[expr {[incr number] > 1 && [dict get $options -format] eq "text" ? "\n" : ""}][string trimright [::etw info $file {*}$options] \n]"
    }
    return 0
}

# What etw load has added to the database, and what was there before.
proc ::etw::cli::LoadedFiles {result} {
    set number {{count what} {string cat $count " " $what [expr {$count == 1 ? "" : "s"}]}}
    set skipped [dict get $result skipped]
    puts stderr "[Paint stderr yellow {etw:}] [apply $number [dict get $result files] file] loaded with\
        [apply $number [dict get $result events] event][expr {$skipped == 0 ? {} : "; [apply $number $skipped file] skipped,\
        because the database has [expr {$skipped == 1 ? {it} : {them}}] already"}]"
}

# The files that etw relog has written, with their events.
proc ::etw::cli::Written {file result} {
    set events {count {string cat $count " event" [expr {$count == 1 ? "" : "s"}]}}
    set size [Bytes [dict get $result bytes]]
    if {[dict exists $result files]} {
        dict for {path count} [dict get $result files] {
            puts stderr "[Paint stderr yellow {etw:}] [::etw::lib::visible $path]: [apply $events $count]"
        }
        set file "[dict size [dict get $result files]] files"
    }
    set count [dict get $result events]
    set masked [expr {[dict exists $result redacted] ? ", [dict get $result redacted] with masked values" : ""}]
    set named [expr {[dict exists $result names] ? ", [dict get $result names] of them only for the names of processes" : ""}]
    puts stderr "[Paint stderr yellow {etw:}] [::etw::lib::visible $file]: [apply $events $count]$named$masked, $size"
}

# Events of running sessions, until these end or Ctrl-C; then a line with the numbers of events read and lost.
proc ::etw::cli::DumpLive {sources options} {
    variable liveRead 0
    ::etw::lib::child catch
    set by "the session's end"
    if {[catch {::etw dump {*}$sources {*}[dict merge {-progress ::etw::cli::LiveOn} $options]} result how]} {
        if {[lrange [dict get $how -errorcode] 0 2] ne "ETW STATE CANCELLED"} {
            return -options $how $result
        }
        set by Ctrl-C
        set result {}
    }
    Notes $result
    # A session that runs did not end the listing: an option did.
    if {$result ne {} && [llength [lmap source [lsearch -all -inline -glob $sources session:*] {
        expr {[string range $source 8 end] in [::etw sessions] ? 1 : [continue]}
    }]] > 0} {
        set by [join [lmap name [dict keys $options] {expr {$name in {-limit -timeout -to} ? "-$name" : [continue]}}] " or "]
    }
    set lost [lmap source [lsearch -all -inline -glob $sources session:*] {
        expr {[catch {::etw query [string range $source 8 end]} info] ? [continue] : [Lost [dict get $info lost]]}
    }]
    puts stderr "[Paint stderr dim {etw:}] $liveRead events read; ended by $by[expr {$lost eq {} ? {} : ", lost: [join $lost {; }]"}]"
    return 0
}

proc ::etw::cli::LiveOn {fraction events} {
    variable liveRead $events
    if {[lindex [::etw::lib::child interrupts] 0] > 0} {
        return -code break
    }
}

# A note on stderr if the database of a command is named with a password.
proc ::etw::cli::NotePassword {what plain options} {
    switch -- $what {
        load {set database [lindex $plain 0]}
        fleet {set database [Option $options -from {}]}
        ship {set database [Option $options -to {}]}
        default {return}
    }
    ::etw::lib::LoadDatabases
    set advice [::etw::load::PasswordAdvice $database]
    if {$advice ne ""} {
        puts stderr "[Paint stderr yellow {etw:}] [string map {-passwordfile --passwordfile} $advice]"
    }
}

# -progress of etw ship: failures, each once, and what was dropped or cannot be read.
proc ::etw::cli::ShipOn {what args} {
    variable shipFailure
    switch -- $what {
        failed {
            if {![info exists shipFailure] || $shipFailure ne $args} {
                set shipFailure $args
                puts stderr "[Paint stderr yellow {etw:}] [::etw::lib::visible [lindex $args 0] lines]; trying again"
            }
        }
        shipped { unset -nocomplain shipFailure }
        dropped { puts stderr "[Paint stderr yellow {etw:}] dropped [::etw::lib::visible [lindex $args 0]]: [lindex $args 1] events are lost" }
        unreadable { puts stderr "[Paint stderr yellow {etw:}] [::etw::lib::visible "[lindex $args 0]: [lindex $args 1]"]" }
    }
}

# Prints text unchanged; kind `lines`: a list, one element per line.
proc ::etw::cli::Show {result kind} {
    if {$kind eq "lines"} {
        set result [join [lmap element $result {::etw::lib::visible $element}] \n]
    }
    if {$result ne ""} {
        puts [string trimright $result \n]
    }
}

proc ::etw::cli::WantsList {options} {
    dict for {name value} $options {
        if {[string match ${name}* -format]} {
            return [string match ${value}* list]
        }
    }
    return 0
}

# Prints the dict of `etw calls -format list` in pieces. As one string, each level of the tree would hold a copy of all deeper levels.
proc ::etw::cli::PutTree {dict} {
    set separator ""
    dict for {key value} $dict {
        puts -nonewline "$separator$key "
        set separator " "
        if {$key ni {threads children}} {
            puts -nonewline [list $value]
            continue
        }
        puts -nonewline "{"
        set gap ""
        foreach element $value {
            puts -nonewline "$gap{"
            set gap " "
            PutTree $element
            puts -nonewline "}"
        }
        puts -nonewline "}"
    }
}

# Prints the losses and warnings in the result of `etw dump` and similar commands.
proc ::etw::cli::Notes {result {command dump}} {
    flush stdout
    if {[catch {dict get $result warnings} warnings]} {
        return
    }
    foreach warning $warnings {
        puts stderr "[Paint stderr yellow {etw:}] [::etw::lib::visible [ShellMessage $command $warning {}]]"
    }
    if {[dict exists $result cut] && [Columns stdout] == 0} { ;# a reader such as grep misses what was cut
        puts stderr "[Paint stderr yellow {etw:}] [dict get $result cut] line[expr {[dict get $result cut] == 1 ? " was" : "s were"}] cut; --width full writes whole lines"
    }
}
