# record_command.tcl --
#
#	etw record: runs a program and traces it. A Tcl program is traced through TCL_LIBRARY, which names a
#	directory with our own init.tcl (library/shim), so that neither the program nor its Tcl children are
#	changed. Kernel events are traced for any program. The program is held until its session has started,
#	shares our terminal, and its exit code becomes ours.

namespace eval ::etw::cli {
    # Variables that are set in the program's environment.
    variable programNames {TCL_LIBRARY ETW_RECORD ETW_SCOPE}
    # The result of `etw stop` if the recording ended before the program.
    variable endedStats {}
    # A file that library/shim/init.tcl deletes when it has added the traces. {}: none.
    variable untraced {}
    # Providers that were registered before the program started, and those that were registered since then.
    variable providersBefore {}
    variable providersSince {}
}

# etw record [OPTION ...] [--] [PROGRAM ARG ...]
proc ::etw::cli::Record {args} {
    lassign [Parse record $args] options program
    set options [RecordDefaults [WithProfiles $options] $program]
    variable endedStats {}
    if {[catch {RecordProgram $options $program} status how]} {
        set code [dict get $how -errorcode]
        if {[lindex $code 0] eq "ETWTOOL"} {
            return -options $how $status
        }
        set exit [Failed record $status $how]
        return [expr {$program eq {} || $exit == 2 ? $exit : [ProgramFailed $code]}]
    }
    return $status
}

# Exit codes as in env(1) and timeout(1).
proc ::etw::cli::ProgramFailed {code} {
    switch -glob -- $code {
        {CHILD ENOENT} {return 127}
        {CHILD *} {return 126}
    }
    return 125
}

# Check the options and add defaults.
proc ::etw::cli::RecordDefaults {options program} {
    if {[dict exists $options attach] && ($program ne "" || [dict exists $options cover])} {
        Usage "\"--attach\" records a running process: it excludes a program and \"--cover\"" OPTION --attach
    }
    if {$program eq "" && ![dict exists $options kernel] && ![dict exists $options provider] && ![dict exists $options attach]} {
        Usage "nothing to record was given: name a program (etw record -- PROGRAM ARG ...), or select events with --kernel, --provider or --profile"
    }
    CheckNumbers $options {duration double snapshots integer maxsize integer buffersize integer interval double}
    CheckWords $options {compress {auto on off} scope {program all}}
    CheckScriptOptions $options
    if {[dict exists $options circular]} {
        if {![dict exists $options maxsize]} {
            Usage "\"--circular\" needs \"--maxsize\"" OPTION --circular
        }
        dict set options mode circular
    }
    if {[dict exists $options cover] && ([dict exists $options noscript] || [Option $options steps off] ne "off")} {
        Usage "\"--cover\" excludes \"--noscript\" and \"--steps\"" OPTION --cover
    }
    if {[dict exists $options lossless] && [dict exists $options trigger]} {
        Usage "\"--lossless\" and \"--trigger\" exclude each other: a flight recorder overwrites its oldest events" OPTION --lossless
    }
    if {![dict exists $options file]} {
        dict set options file etw.etl
    }
    NoForeignFile [dict get $options file]
    if {[dict exists $options allpids]} {
        set options [dict merge {scope all} $options {pids all}]
    }
    if {![dict exists $options scope] || $program eq ""} {
        dict set options scope [expr {$program eq "" ? "all" : "program"}]
    }
    if {[dict exists $options trigger]} {
        dict set options trigger [TriggerOf [dict get $options trigger]]
        CheckTriggerFields $options
    }
    return $options
}

# Check the options of `etw script add` and `etw script sample`.
proc ::etw::cli::CheckScriptOptions {options} {
    CheckNumbers $options {maxlen integer sample double}
    CheckWords $options {steps {off line full} args {0 1} source {0 1}}
    if {![string match {[1-9]*} [Option $options maxlen 200]] || [Option $options maxlen 200] < 16 || [Option $options maxlen 200] > 57344} {
        Usage "expected a number from 16 to 57344 for \"--maxlen\" but got \"[dict get $options maxlen]\"" OPTION --maxlen
    }
    if {[Option $options sample 1] < 0.1 || [Option $options sample 1] > 1000} {
        Usage "expected a number from 0.1 to 1000 for \"--sample\" but got \"[dict get $options sample]\"" OPTION --sample
    }
}

# The options of `etw script add` among those of the tool.
proc ::etw::cli::ScriptOptions {options} {
    set script {}
    foreach name {steps args maxlen source} {
        if {[dict exists $options $name]} {
            lappend script -$name [dict get $options $name]
        }
    }
    if {[dict exists $options redact]} {
        lappend script -redact [Words [dict get $options redact]]
    }
    return $script
}

# A trace may be replaced, another file not: its name was probably given by mistake.
proc ::etw::cli::NoForeignFile {file} {
    if {[file isfile $file] && [file size $file] > 0 && [catch {::etw info $file -providers 0}]} {
        Usage "\"$file\" exists and is no trace, so it is not overwritten: give another name to \"--file\"" OPTION --file
    }
}

# ---- The session ---------------------------------------------------------------------------------

proc ::etw::cli::RecordProgram {options program} {
    set kind other
    if {$program ne ""} {
        lassign [ProgramKind [lindex $program 0]] kind note
        if {$note ne "" && ![dict exists $options noscript]} {
            Note $note
        }
        set options [WithProcessNames [KernelDefault $options $kind]]
    }
    set session record-[pid]
    KeepFile $session $options $program
    ::etw::lib::child catch
    set options [StartRecording $session $options]
    try {
        set status [RecordRun $session $options $program]
    } finally {
        variable endedStats
        set stats $endedStats
        if {$session in [::etw sessions]} {
            if {[info exists status] && [set how [EndOf $program $status]] ne ""} {
                catch {::etw mark $session $how}
            }
            set stats [::etw stop $session]
        } elseif {$stats eq ""} {
            Note "the session $session was stopped by another process, the recording ended then; the trace is [Option $options file {}]"
        }
        ::etw::lib::child free
        NoteUntraced [expr {[info exists status] && $kind eq "tcl"}] [lindex $program 0]
    }
    RecordEnd $options $stats $program $status
    return $status
}

# The start of a session overwrites its file. What usually fails after it is tried before, so that a file from an earlier
# recording is still there: the program, and what is to be enabled, in a session without a file.
proc ::etw::cli::KeepFile {session options program} {
    if {![file exists [dict get $options file]]} {
        return
    }
    set name [lindex $program 0]
    if {$program ne "" && [auto_execok $name] eq "" && ![FoundInPath $name]} {
        return -code error -errorcode {CHILD ENOENT} "cannot execute \"$name\": No such file or directory"
    }
    if {![OnSystem] && ![dict exists $options kernel-default] && ([dict exists $options kernel] || [dict exists $options provider])} {
        ::etw start $session-try -mode memory
        try {
            EnableAll $session-try [dict merge $options {later 1 quiet 1}] [pid]
        } finally {
            ::etw stop $session-try
        }
    }
}

# True if there is a file of this name, executable or not.
proc ::etw::cli::FoundInPath {name} {
    if {[llength [file split $name]] > 1} {
        return [file exists $name]
    }
    return [expr {[info exists ::env(PATH)] && [llength [lmap dir [split $::env(PATH) [expr {$::tcl_platform(platform) eq "windows" ? ";" : ":"}]] {
        expr {[file exists [file join $dir $name]] ? $dir : [continue]}
    }]] > 0}]
}

# True where `auto` is Windows' own engine.
proc ::etw::cli::OnSystem {} {
    return [expr {[::etw pkgconfig get engine] eq "system"}]
}

# Start the session. Returns the options, without the kernel's groups where they are a default and this user may not have them.
proc ::etw::cli::StartRecording {session options} {
    set start [StartOptions $options]
    if {[dict exists $options trigger]} {
        set start [dict merge [dict remove $start -file -maxsize] {-mode memory -realtime 1}]
        if {[OnSystem]} {
            if {[dict exists $options kernel]} {
                Usage "on Windows \"--trigger\" and \"--kernel\" exclude each other: Windows' sessions in memory have no live consumers" OPTION --trigger
            }
            dict set start -engine embedded
        }
    }
    try {
        ::etw start $session -kernellogger [dict exists $options kernel] {*}$start
    } trap {ETW WIN32 5} {message how} {
        if {![Option $options kernel-default 0]} {
            return -options $how $message
        }
        set options [dict remove $options kernel]
        ::etw start $session {*}$start
        Note "no kernel events are recorded: administrators may do that"
    }
    if {[OnSystem] && ![dict exists $start -engine] && [dict get [::etw query $session] engine] eq "embedded"} {
        Note "recorded by the embedded engine, because Windows' own is for administrators and the group Performance Log Users:\
            events of Tcl scripts and of programs that use etw"
    }
    return $options
}

proc ::etw::cli::Note {text} {
    puts stderr "[Paint stderr yellow etw:] $text"
}

# A Tcl program that does not source init.tcl (that does not call Tcl_Init) has no script events.
proc ::etw::cli::NoteUntraced {hasRun name} {
    variable untraced
    if {$untraced ne "" && [file exists $untraced]} {
        file delete -- $untraced
        if {$hasRun} {
            Note "no script was traced: \"$name\" did not source Tcl's init.tcl. A script can add the traces itself:\
                \"package require etw; etw script add *\""
        }
    }
    set untraced {}
}

# Programs other than Tcl's have only kernel events: the default is the group process. `kernel-default` is set if the
# recording goes on where this user may not trace the kernel, because the scripts of child processes remain.
proc ::etw::cli::KernelDefault {options kind} {
    if {$kind ne "tcl" && ![dict exists $options kernel] && ![dict exists $options provider]
            && ![dict exists $options trigger] && ([::etw pkgconfig get kernel] || [OnSystem])} {
        dict set options kernel process
        dict set options kernel-default [expr {![dict exists $options noscript]}]
    }
    return $options
}

# Linux' groups do not name the program: the group process does, also its children.
proc ::etw::cli::WithProcessNames {options} {
    if {[dict exists $options kernel] && ![OnSystem] && "process" ni [Words [dict get $options kernel]]} {
        dict lappend options kernel process
    }
    return $options
}

proc ::etw::cli::RecordRun {session options program} {
    dict set options later 1
    if {![dict exists $options noscript]} {
        set any [Words [Option $options keywords [expr {[dict exists $options cover] && ![dict exists $options script] ? "cover" : {}}]]]
        ::etw enable $session Tcl-Script -pids [ProviderPids $session $options] {*}[expr {$any eq {} ? {} : [list -any $any]}]
    }
    if {$program eq ""} {
        EnableAll $session $options [Words [list [Option $options pids [Option $options attach all]]]]
        TriggerStart $session $options
        if {[dict exists $options attach] && ![dict exists $options noscript]} {
            RecordAttached $session $options
        } else {
            Hold $session [Option $options duration 0] [Option $options attach {}]
        }
        TriggerEnd
        return 0
    }
    variable providersSince {}
    variable providersBefore [::etw providers -registered 1]
    set pid [StartProgram $session $options $program]
    EnableAll $session $options [Words [list [Option $options pids $pid]]]
    TriggerStart $session $options
    if {[catch {::etw::lib::child go} message how]} {
        return -options [dict merge $how [list -errorcode [list CHILD [lindex [dict get $how -errorcode] 1]]]] $message
    }
    set status [Attend $session [Option $options duration 0]]
    TriggerEnd
    return $status
}

# Start the program, held. Its environment names the session, in addition to those that this process itself is
# recorded by: ETW_SCOPE is a list of instances, the newest first.
proc ::etw::cli::StartProgram {session options program} {
    variable programNames
    set before [Environment $programNames]
    set ::env(ETW_SCOPE) [join [concat [dict get [::etw query $session] instance] [Words [list [Option $before ETW_SCOPE {}]]]] ,]
    if {![dict exists $options noscript]} {
        set ::env(ETW_RECORD) [ShimSettings $options]
        set ::env(TCL_LIBRARY) [file nativename [ShimDirectory [Option [dict get $::env(ETW_RECORD)] library {}]]]
    }
    try {
        return [::etw::lib::child start {*}$program]
    } on error {message how} {
        return -options [dict merge $how [list -errorcode [list CHILD [lindex [dict get $how -errorcode] 1]]]] $message
    } finally {
        foreach name $programNames {
            array unset ::env $name
        }
        array set ::env $before
    }
}

# Those that library/shim/init.tcl hides in this process, if it is recorded itself, are included.
proc ::etw::cli::Environment {names} {
    set hidden [::etw::lib::hideEnv]
    set found {}
    foreach name $names {
        if {[dict exists $hidden $name]} {
            lappend found $name [dict get $hidden $name]
        } elseif {[info exists ::env($name)]} {
            lappend found $name $::env($name)
        }
    }
    return $found
}

# The settings for library/shim/init.tcl.
proc ::etw::cli::ShimSettings {options} {
    variable packageDir
    variable untraced
    set directory [::etw::lib::child directory]
    foreach old [glob -nocomplain -directory $directory untraced-*] { ;# of recorders that were killed
        if {[file isdirectory /proc/self] && ![file exists /proc/[lindex [split [file tail $old] -] 1]]} {
            catch {file delete -- $old}
        }
    }
    close [file tempfile untraced [file join $directory untraced-[pid]-]]
    set patterns [Words [Option $options script {}]]
    set settings [list package $packageDir version [package provide etw] untraced $untraced \
        patterns [expr {$patterns eq {} && ![dict exists $options cover] ? "*" : $patterns}] cover [dict exists $options cover]]
    lappend settings options [ScriptOptions $options] interval [Option $options sample {}]
    set library [ProgramLibrary]
    if {$library ne ""} {
        lappend settings library $library
    }
    return $settings
}

# TCL_LIBRARY as it was set by the user, also when this process itself is recorded.
proc ::etw::cli::ProgramLibrary {} {
    set own [Environment {TCL_LIBRARY ETW_RECORD}]
    set library [Option $own TCL_LIBRARY {}]
    if {[dict exists $own ETW_RECORD] && [string match shim* [file tail $library]]} {
        return [Option [dict get $own ETW_RECORD] library {}]
    }
    return $library
}

# The directory for TCL_LIBRARY. A Tcl looks for its encodings there before it executes anything. When the user's TCL_LIBRARY has
# some, a directory of the user links to them. It stays, for processes that outlive the recording.
proc ::etw::cli::ShimDirectory {library} {
    variable packageDir
    set shim [file join $packageDir library shim]
    set encodings [file normalize [file join $library encoding]]
    if {$library eq "" || ![file isdirectory $encodings]} {
        return $shim
    }
    set key [encoding convertto utf-8 $encodings\n$shim]
    set dir [file join [::etw::lib::child directory] [format shim-%08x%08x [zlib crc32 $key] [zlib adler32 $key]]]
    if {![file exists [file join $dir encoding]]} {
        file mkdir $dir
        set f [file tempfile script [file join $dir init]]
        fconfigure $f -encoding utf-8
        puts $f "source [list [file join $shim init.tcl]]"
        close $f
        file rename -force $script [file join $dir init.tcl]
        catch {file link -symbolic [file join $dir encoding] $encodings} ;# another process may be faster
    }
    return $dir
}

# Remember the providers that programs register while the program runs.
proc ::etw::cli::WatchProviders {} {
    variable providersBefore
    variable providersSince
    foreach name [::etw providers -registered 1] {
        if {$name ni $providersBefore} {
            dict set providersSince $name 1
        }
    }
}

# Wait for the program's end. The recording may end earlier, by its duration or a second Ctrl-C.
proc ::etw::cli::Attend {session seconds} {
    set end [expr {$seconds > 0 ? [clock milliseconds] + wide($seconds * 1000) : 0}]
    set reported 0
    while {[set how [::etw::lib::child wait 100]] eq ""} {
        update
        WatchProviders
        lassign [::etw::lib::child interrupts] all direct
        if {$direct > $reported} {
            set reported $direct
            ::etw::lib::child interrupt
        }
        if {$session in [::etw sessions] && ($all > 1 || ($end > 0 && [clock milliseconds] >= $end))} {
            TriggerEnd
            variable endedStats [::etw stop $session]
            if {$all > 1} {
                return 130
            }
        }
    }
    lassign $how kind code
    return [expr {$kind eq "killed" ? 128 + $code : $code}]
}

# How the program ended, if not with exit code 0 or by Ctrl-C.
proc ::etw::cli::EndOf {program status} {
    if {$program eq "" || $status in {0 130}} {
        return {}
    }
    return "[file tail [lindex $program 0]] [expr {$status > 128 ? "was ended by signal [expr {$status - 128}]" : "ended with exit code $status"}]"
}

proc ::etw::cli::RecordEnd {options stats program status} {
    if {[dict exists $options trigger]} {
        TriggerSummary $options
    } elseif {$stats ne ""} {
        Summary $options $stats
        if {[Option $options quiet 0] || [dict get $stats file] eq "" || ![file exists [dict get $stats file]]} {
            return
        }
        if {[set how [EndOf $program $status]] ne ""} {
            Note $how
        }
        RecordReport $options $stats
    }
}

# ---- The report at the end -----------------------------------------------------------------------

# Prints what is conspicuous in the trace of a program, what was to be recorded and is not in it, and what tracing its
# calls cost. Large traces take too long for that.
proc ::etw::cli::RecordReport {options stats} {
    set file [dict get $stats file]
    if {[file size $file] > 100 * 1024 * 1024} {
        if {![Option $options noreport 0]} {
            Note "the trace is large: \"etw report [file tail $file]\" prints what is conspicuous in it"
        }
        return
    }
    variable providersSince
    if {[Option $options noreport 0] && $providersSince eq {} && ![dict exists $options provider] && ![dict exists $options script]} {
        return ;# nothing to say, so that the trace need not be read
    }
    if {[catch {::etw summary $file -by {provider event} -format list} summary]} {
        return ;# no file that can be read, such as one of several of -mode newfile
    }
    set kinds [lmap group [dict get $summary groups] {list {*}[dict get $group by] [dict get $group count]}]
    NoteMissing $options $kinds
    if {[Option $options noreport 0]} {
        return
    }
    if {[catch {::etw report $file -brief 1} text]} {
        return
    }
    if {[catch {TracingCost $file $stats $kinds} message]} {
        Note "what tracing took is not known: $message"
    }
    if {![string match "*\nnothing conspicuous\n*" $text]} {
        puts stderr [::etw::lib::visible [string trimright [regsub {^[^\n]*\n} $text {}]] lines]
    }
}

# Say so when something that was asked for has no event. kinds: {{provider event count} ...}
proc ::etw::cli::NoteMissing {options kinds} {
    set providers [lmap kind $kinds {string tolower [lindex $kind 0]}]
    set selected [lmap provider [Option $options provider {}] {lindex [::etw::lib::ProviderWords $provider] 0}]
    variable providersSince
    foreach name $selected {
        if {![string match "{*}" $name] && [string tolower $name] ni $providers} {
            Note "the trace has no event of the provider \"$name\": [expr {[dict exists $providersSince $name] ? "" :
                "the program did not register it (is the name right?), or "}]no event of the selected level and keywords was written"
        }
    }
    foreach name [dict keys $providersSince] {
        if {[string tolower $name] ni $providers && $name ni $selected} {
            Note "the provider \"$name\" was registered while the program ran, and its events were not recorded: \"-p $name\" records them"
        }
    }
    if {[dict exists $options script] && ![dict exists $options noscript] && [lsearch -exact -index 1 $kinds Enter] < 0} {
        Note "the trace has no call: no procs that match \"--script [join [dict get $options script] ,]\" were called. A pattern matches the full name\
            of a proc, for example web::*"
    }
}

# ---- The kind of program -------------------------------------------------------------------------

# {tcl|static|starkit|other note} for a program's name or path.
proc ::etw::cli::ProgramKind {name} {
    set path [lindex [auto_execok $name] 0]
    if {[namespace exists ::single] && $path ne "" && [file normalize $path] eq [file normalize [info nameofexecutable]]} {
        return {tcl {}} ;# etw as one file (tools/single_main.tcl)
    }
    if {$path eq "" || [catch {::etw::lib::OpenFile $path rb} f]} {
        return {other {}}
    }
    try {
        set head [read $f 4096]
        if {[string match "#!*" $head]} {
            return [ScriptKind $name $head [read $f]]
        }
        return [BinaryKind $name $head[read $f]]
    } finally {
        close $f
    }
}

# A script is Tcl by its first line, or by `exec tclsh "$0"` within the next lines.
proc ::etw::cli::ScriptKind {name head rest} {
    if {[IsStarkit $head$rest]} {
        return [list starkit "\"$name\" is a starkit: its Tcl has its own library, the script is not traced"]
    }
    set lines [join [lrange [split $head \n] 0 30] \n]
    if {[regexp {^#![^\n]*(tclsh|wish|tclkit)} $lines] || [regexp {\n\s*exec\s[^\n]*(tclsh|wish)[^\n]*\$0} $lines]} {
        return {tcl {}}
    }
    return {other {}}
}

# An executable is Tcl if it is linked with libtcl. One that contains Tcl may have its own file system.
proc ::etw::cli::BinaryKind {name bytes} {
    if {[IsStarkit $bytes]} {
        return [list starkit "\"$name\" is a starpack: its Tcl has its own library, the script is not traced"]
    }
    if {[regexp {libtcl[0-9.]+\.so|libtcl[0-9.]*\.dylib|[Tt][Cc][Ll][89][0-9]t?\.[Dd][Ll][Ll]} $bytes]} {
        return {tcl {}}
    }
    if {[string first {rename tclInit {}} $bytes] >= 0} {
        return [list static "\"$name\" has Tcl linked in: its script is traced only if it takes its library from TCL_LIBRARY"]
    }
    return {other {}}
}

# True for a file with a metakit database at the end, or that declares itself a starkit.
proc ::etw::cli::IsStarkit {bytes} {
    set tail [string range $bytes end-15 end]
    return [expr {[string first "\x80" $tail] >= 0 && [regexp {JL\x1a\x00|LJ\x1a\x00} $bytes]
        || [string first "package require starkit" $bytes] >= 0}]
}
