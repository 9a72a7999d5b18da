# tests/all.tcl --
#
#	Runs the tests of all rooms (tests/ROOM/test_*.c, built as BUILD/tests/ROOM/test_*, and
#	tests/ROOM/*.test, also one folder deeper), for Windows also those with the simulated tracing service (tests/win), each in a
#	process of its own with a runtime directory of its own, and adds up. The last line is
#	`N passed, N failed, N skipped`; the exit code is 1 when anything failed. A program that
#	crashes, hangs or ends without its totals is a failure. Runs on the machine's own tclsh; what
#	is tested may be Windows programs under Wine.
#
#	-jobs programs run at a time; the default is the number of processors. Programs that share something
#	(run::Shares) do not run at the same time. Those that trace the kernel do not run at the same time in several suites either: each
#	locks -lock, which is the same for all suites of the machine, also for those in containers.
#
#	With -tries 2 (CI) a program that failed is run once more, alone, after all others: what passes then is counted as
#	passed, its first output is printed all the same, and a warning in the closing lines names each test that
#	failed at first. Such a test is a defect: mend the test or what it tests.
#
#	tclsh tests/all.tcl -build DIR ?-label TEXT? ?-tclsh PROG? ?-wine PROG? ?-cc PROG?
#	    ?-sanitize LIST? ?-room GLOB? ?-file GLOBS? ?-notfile GLOBS? ?-kind all|c|tcl? ?-timeout S? ?-tries N? ?-totals FILE?
#	    ?-verbose 1? ?-jobs N? ?-lock PATH? ?-watch MS?
#	tclsh tests/all.tcl -sum FILE      closing line over what runs left in FILE

namespace eval run {
    variable option
    array set option {
        -build build -label {} -tclsh tclsh -wine {} -cc gcc -sanitize {} -room * -file * -notfile {} -kind all
        -timeout 300 -tries 1 -totals {} -sum {} -verbose 0 -jobs 0 -lock /sys/kernel/tracing -watch 2000
    }
    # Programs that run: number -> dict of chan, done, output, timer. Channels are no keys: a later one has the name of one that was closed.
    variable runs {}
    variable started 0
    variable total
    array set total {passed 0 failed 0 skipped 0}
    # Constraints that kept tests from running, with how many.
    variable reasons {}
    # Tests that passed only when run again, as PROGRAM: TEST ...
    variable unsteady {}
    variable testDir [file dirname [file normalize [info script]]]
    # Program -> channel of the process that holds the lock for it.
    variable locks {}
}

# ---- One program ---------------------------------------------------------------------------------

# Start COMMAND; `{*}$done HOW OUTPUT` is called when it has ended: HOW is 0 (exit code 0), an exit code, a signal's name
# or TIMEOUT.
proc run::Start {command done} {
    variable option
    variable runs
    variable started
    # Standard input is empty, so that nothing can wait for a person.
    if {[catch {open |[list {*}$command < /dev/null 2>@1] r} chan]} {
        after 0 [list {*}$done "not started" "$chan\n"]
        return
    }
    fconfigure $chan -blocking 0 -translation auto -encoding utf-8
    catch {fconfigure $chan -profile replace}
    set run [incr started]
    dict set runs $run [dict create chan $chan done $done output {} \
        timer [after [expr {$option(-timeout) * 1000}] [list run::Expired $run]]]
    after $option(-watch) [list run::Watch $run 0]
    fileevent $chan readable [list run::Read $run]
}

# A program that has ended while another process still holds its output, as Wine's services do when they were started by the first
# program, has ended: its output has no end of file. `ended`: it was so at the last look, too.
proc run::Watch {run ended} {
    variable option
    variable runs
    if {![dict exists $runs $run]} {
        return
    }
    set chan [dict get $runs $run chan]
    set all [Zombies [pid $chan]]
    if {$all && $ended} {
        dict set runs $run output [dict get $runs $run output][read $chan]
        Finish $run
        return
    }
    after $option(-watch) [list run::Watch $run $all]
}

# Have all these processes ended?
proc run::Zombies {pids} {
    foreach pid $pids {
        if {[catch {open /proc/$pid/stat} file]} {
            return 0
        }
        set state [read $file]
        close $file
        if {![regexp {\) Z } $state]} {
            return 0
        }
    }
    return 1
}

proc run::Expired {run} {
    variable runs
    set chan [dict get $runs $run chan]
    foreach pid [pid $chan] {
        catch {exec kill -9 $pid}
    }
    catch {fconfigure $chan -blocking 1; close $chan}
    End $run TIMEOUT
}

proc run::Read {run} {
    variable runs
    set chan [dict get $runs $run chan]
    dict set runs $run output [dict get $runs $run output][read $chan]
    if {[eof $chan]} {
        Finish $run
    }
}

proc run::Finish {run} {
    variable runs
    set chan [dict get $runs $run chan]
    fconfigure $chan -blocking 1
    set how 0
    if {[catch {close $chan} message opts]} {
        set code [dict get $opts -errorcode]
        switch [lindex $code 0] {
            CHILDSTATUS {set how [lindex $code 2]}
            CHILDKILLED {set how [lindex $code 2]}
            default {set how $message}
        }
    }
    End $run $how
}

proc run::End {run how} {
    variable runs
    set ended [dict get $runs $run]
    dict unset runs $run
    after cancel [dict get $ended timer]
    {*}[dict get $ended done] $how [dict get $ended output]
}

# The environment of one program; undone by run::RestoreEnv.
proc run::SetEnv {dir} {
    variable option
    variable testDir
    variable savedEnv [array get ::env]
    array set ::env [list \
        ETW_BUILD_DIR $option(-build) \
        ETW_RUNTIME_DIR [Path [file join $dir run]] \
        ETW_TEST_TMP [Path $dir] \
        ETW_SANITIZE $option(-sanitize) \
        ETW_WINE [expr {$option(-wine) ne ""}] \
        ASAN_OPTIONS "detect_leaks=0:abort_on_error=0:handle_abort=1" \
        LSAN_OPTIONS "suppressions=$testDir/lsan.supp:print_suppressions=0" \
        UBSAN_OPTIONS "print_stacktrace=1:halt_on_error=1" \
        TSAN_OPTIONS "halt_on_error=0:exitcode=66:second_deadlock_stack=1:die_after_fork=0"]
}

proc run::RestoreEnv {} {
    variable savedEnv
    # One by one: an env that was unset as a whole is an ordinary array ever after.
    foreach name [array names ::env] {
        if {![dict exists $savedEnv $name]} {
            unset ::env($name)
        }
    }
    array set ::env $savedEnv
}

# A path of this machine as the program under test reads it.
proc run::Path {path} {
    variable option
    return [expr {$option(-wine) eq "" ? $path : "Z:$path"}]
}

# ---- Wine ----------------------------------------------------------------------------------------

# A prefix of our own, without a display, Mono or Gecko; made once.
proc run::WineSetup {} {
    variable option
    if {[info exists ::env(ETW_CACHE)]} {
        set cache $::env(ETW_CACHE)
    } else {
        set cache [file join $::env(HOME) .cache etw]
    }
    array set ::env [list WINEPREFIX [file join $cache wine] WINEDEBUG -all WINEARCH [expr {[info exists ::env(WINEARCH)] ? $::env(WINEARCH) : "win64"}] \
        WINEDLLOVERRIDES "mscoree=;mshtml=;winemenubuilder.exe="]
    unset -nocomplain ::env(DISPLAY)
    set ready [file join $::env(WINEPREFIX) .etw-ready]
    if {![file exists $ready]} {
        puts "making a Wine prefix, once: $::env(WINEPREFIX)"
        file mkdir $::env(WINEPREFIX)
        exec $option(-wine) wineboot -i >& /dev/null
        close [open $ready w]
    }
    # The server and Windows' services outlive the program that needs them first, and with them its
    # standard output, whose end we wait for: start them on their own, to stay for the whole run.
    foreach server {wineserver64 wineserver} {
        catch {exec [file join [file dirname $option(-wine)] $server] -p20 >& /dev/null}
    }
    catch {exec $option(-wine) cmd /c exit >& /dev/null}
}

# ---- Counting ------------------------------------------------------------------------------------

# What one run amounts to: {passed failed skipped note}.
proc run::Outcome {kind how output} {
    set counts [Count[string totitle $kind] $output]
    if {$counts eq ""} {
        return [list 0 1 0 " -- ended without its totals ($how)"]
    }
    if {[lindex $counts 1] == 0 && $how ne "0"} {
        return [list [lindex $counts 0] 1 [lindex $counts 2] " -- all passed, but it ended with: $how"]
    }
    return [list {*}$counts ""]
}

# One line for one run; its whole output when something is wrong.
proc run::Tell {name outcome output seconds} {
    variable option
    lassign $outcome passed failed skipped note
    if {$failed > 0 || $option(-verbose)} {
        puts [string trimright $output]
    }
    puts [format "%-4s %-28s %4d passed %3d failed %3d skipped  %5.1f s%s" \
        [expr {$failed ? "FAIL" : "ok"}] $name $passed $failed $skipped $seconds $note]
    flush stdout
}

proc run::Add {outcome} {
    variable total
    foreach what {passed failed skipped} count [lrange $outcome 0 2] {
        incr total($what) $count
    }
}

proc run::CountC {output} {
    if {[regexp {(\d+) passed, (\d+) failed, (\d+) skipped\s*$} $output -> p f s]} {
        foreach {line reason} [regexp -all -inline -line {^skip ([^\n]*)$} $output] {
            AddReason $reason 1
        }
        return [list $p $f $s]
    }
    return {}
}

# tcltest's totals stand at the end; a file that only sets up (no test at all) has them, too.
proc run::CountTcl {output} {
    if {[regexp {Total\s+(\d+)\s+Passed\s+(\d+)\s+Skipped\s+(\d+)\s+Failed\s+(\d+)} \
            $output -> total p s f]} {
        foreach {line n why} [regexp -all -inline -line {^\t(\d+)\t(\S[^\n]*)$} $output] {
            AddReason $why $n
        }
        return [list $p $f $s]
    }
    return {}
}

proc run::AddReason {why n} {
    variable reasons
    dict incr reasons $why $n
}

# ---- All of them ---------------------------------------------------------------------------------

# Start one program in surroundings of its own; run::Ended is called when it has ended. TRY is 1 for the first time; FAILED are
# the tests that failed before.
proc run::Once {program try failed} {
    variable option
    lassign $program name kind command
    set dir [exec mktemp -d]
    SetEnv $dir
    set sanitized [string match *address* $option(-sanitize)]
    if {$sanitized && $kind eq "c"} {
        # Whole stacks, or a leak of a library is not seen to be its own.
        append ::env(ASAN_OPTIONS) ":detect_leaks=1:fast_unwind_on_malloc=0"
    } elseif {$sanitized} {
        # tclsh itself is not instrumented: the runtime must come first.
        set ::env(LD_PRELOAD) [exec $option(-cc) -print-file-name=libasan.so]
    }
    Start $command [list run::Ended $program $try $failed $dir [clock milliseconds]]
    RestoreEnv
}

proc run::Ended {program try failed dir start how output} {
    variable option
    variable reasons
    variable unsteady
    variable again
    variable running
    lassign $program name kind command
    Unlock $program
    set seconds [expr {([clock milliseconds] - $start) / 1000.0}]
    set reasonsBefore $reasons
    set outcome [Outcome $kind $how $output]
    Tell $name $outcome $output $seconds
    catch {file delete -force $dir}
    if {[lindex $outcome 1] > 0} {
        lappend failed {*}[FailedTests $output]
    } elseif {$try > 1} {
        lappend unsteady "$name: [expr {[llength $failed] ? [join $failed {, }] : {ended without its totals}}]"
    }
    if {[lindex $outcome 1] > 0 && $try < $option(-tries)} {
        set reasons $reasonsBefore
        lappend again [list $program [expr {$try + 1}] $failed]
    } else {
        Add $outcome
    }
    # Assigned in every case: run::Wait waits for it.
    set running [dict remove $running $program]
}

# The names of the tests that failed, of a C program or of tcltest; empty when the program ended before it named one.
proc run::FailedTests {output} {
    set names {}
    foreach {line c tcl} [regexp -all -inline -line {^(?:FAIL \S+:\d+ ([^:]+):.*|==== (\S+) .*FAILED)$} $output] {
        lappend names $c$tcl
    }
    return [lsort -unique $names]
}

# What a test file shares with others: of the files that share something, one runs at a time.
#   kernel  the kernel's tracing, whose records of all processes they receive; also those of other suites on the machine (run::Begin)
#   build   `make` in the build directory
proc run::Shares {name} {
    if {[string match {*kernel*} $name] && $name ni {kernel_names kernel_schema test_kernel_schema} ||
            $name in {faults guard record record_rights record_scope script_probe script_sample top chaos}} {
        return kernel
    }
    if {$name in {build examples manual package ring_model}} {
        return build
    }
    return {}
}

# Start a program as run::Once does; one that traces the kernel when no other suite on this machine does.
proc run::Begin {program try failed} {
    variable option
    variable locks
    if {[Shares [lindex $program 0]] ne "kernel" || $option(-wine) ne "" || ![file readable $option(-lock)] || [auto_execok flock] eq ""} {
        Once $program $try $failed
        return
    }
    # Ends, and releases the lock, when its standard input is closed.
    set lock [open |[list flock $option(-lock) sh -c {echo locked; exec cat} 2>@1] r+]
    fconfigure $lock -blocking 0
    dict set locks $program $lock
    fileevent $lock readable [list run::Locked $lock $program $try $failed]
}

# The lock is held, or cannot be had.
proc run::Locked {lock program try failed} {
    if {[gets $lock line] < 0 && ![eof $lock]} {
        return
    }
    fileevent $lock readable {}
    Once $program $try $failed
}

proc run::Unlock {program} {
    variable locks
    if {[dict exists $locks $program]} {
        set lock [dict get $locks $program]
        fconfigure $lock -blocking 1
        catch {close $lock}
        dict unset locks $program
    }
}

# Wait until a program has ended.
proc run::Wait {} {
    vwait run::running
}

# Run the programs, -jobs at a time; those that failed run again when all others have ended, one at a time. Those that share
# something come first, because they have to wait for each other.
proc run::Programs {programs} {
    variable option
    variable running {}
    variable again {}
    set free [lmap program $programs {if {[Shares [lindex $program 0]] ne ""} continue; set program}]
    set programs [concat [lmap program $programs {if {$program in $free} continue; set program}] $free]
    while {[llength $programs]} {
        set next -1
        if {[dict size $running] < $option(-jobs)} {
            set i 0
            foreach program $programs {
                set shares [Shares [lindex $program 0]]
                if {$shares eq "" || $shares ni [dict values $running]} {
                    set next $i
                    break
                }
                incr i
            }
        }
        if {$next < 0} {
            Wait
            continue
        }
        dict set running $program $shares
        set programs [lreplace $programs $next $next]
        Begin $program 1 {}
    }
    while {[dict size $running]} {
        Wait
    }
    while {[llength $again]} {
        set again [lassign $again first]
        lassign $first program try failed
        puts "run again: [lindex $program 0]"
        dict set running $program {}
        Begin $program $try $failed
        while {[dict size $running]} {
            Wait
        }
    }
}

# The warnings of the closing lines.
proc run::Warn {unsteady} {
    foreach text $unsteady {
        puts "WARNING: passed only when run again: $text"
    }
}

proc run::Wanted {name} {
    variable option
    foreach glob $option(-notfile) {
        if {[string match $glob $name]} {
            return 0
        }
    }
    foreach glob $option(-file) {
        if {[string match $glob $name]} {
            return 1
        }
    }
    return 0
}

# The files that match in the rooms that were asked for and in their sub-rooms, as ROOM/NAME; win/ is for Windows alone.
proc run::RoomFiles {glob} {
    variable option
    variable testDir
    set files {}
    foreach file [lsort [glob -nocomplain -directory $testDir -tails */$glob */*/$glob]] {
        set room [file dirname $file]
        if {([string match $option(-room) $room] || [string match $option(-room)/* $room]) && ($room ne "win" || $option(-wine) ne "")} {
            lappend files $file
        }
    }
    return $files
}

proc run::All {} {
    variable option
    variable testDir
    set option(-build) [file normalize $option(-build)]
    if {$option(-jobs) < 1 && [catch {exec nproc} option(-jobs)]} {
        set option(-jobs) 1
    }
    if {$option(-wine) ne ""} {
        WineSetup
    }
    # C tests name their golden files by __FILE__, which make gave as seen from the build directory.
    cd $option(-build)
    set programs {}
    if {$option(-kind) in {all c}} {
        set suffix [expr {$option(-wine) eq "" ? "" : ".exe"}]
        foreach source [RoomFiles test_*.c] {
            set name [file rootname [file tail $source]]
            # Thread sanitizer's own thread, in the traced process, is what kernel tests would see.
            if {$name eq "test_kernel" && [string match *thread* $option(-sanitize)]} {
                continue
            }
            if {[Wanted $name]} {
                # Those of win/ link the simulated service.
                set program [expr {[string match win/* $source] ? "sim/$name" : "tests/[file rootname $source]"}]
                lappend programs [list $name c [list {*}$option(-wine) $option(-build)/$program$suffix]]
            }
        }
    }
    # Thread sanitizer is for the core: Tcl is not instrumented, every report would be about it.
    if {$option(-kind) in {all tcl} && ![string match *thread* $option(-sanitize)]} {
        foreach file [RoomFiles *.test] {
            set name [file rootname [file tail $file]]
            if {[Wanted $name]} {
                lappend programs [list $name tcl [list {*}$option(-wine) $option(-tclsh) [file join $testDir $file]]]
            }
        }
    }
    Programs $programs
    if {![llength $programs]} {
        puts "no test matches: -room $option(-room) -file $option(-file)"
        set ::run::total(failed) 1
    }
}

# ---- Totals --------------------------------------------------------------------------------------

proc run::Close {} {
    variable option
    variable total
    variable reasons
    set line "$total(passed) passed, $total(failed) failed, $total(skipped) skipped"
    if {[dict size $reasons]} {
        puts "skipped for:"
        dict for {why n} $reasons {
            puts [format "%6d  %s" $n $why]
        }
    }
    variable unsteady
    Warn $unsteady
    if {$option(-totals) ne ""} {
        set f [open $option(-totals) a]
        puts $f [list [string trim $option(-label)] $total(passed) $total(failed) $total(skipped) $unsteady]
        close $f
        puts "[string trim $option(-label)]: $line"
    } else {
        puts $line
    }
    exit [expr {$total(failed) > 0}]
}

proc run::Sum {file} {
    variable total
    set f [open $file]
    set warnings {}
    puts ""
    while {[gets $f line] >= 0} {
        lassign $line label passed failed skipped unsteady
        puts [format "%-40s %5d passed %4d failed %4d skipped" $label $passed $failed $skipped]
        lappend warnings {*}[lmap text $unsteady {string cat "$label: " $text}]
        incr total(passed) $passed
        incr total(failed) $failed
        incr total(skipped) $skipped
    }
    close $f
    Warn $warnings
}

proc run::Main {argv} {
    variable option
    foreach {name value} $argv {
        if {![info exists option($name)]} {
            puts stderr "unknown option \"$name\": must be [join [lsort [array names option]] {, }]"
            exit 2
        }
        set option($name) $value
    }
    if {$option(-sum) ne ""} {
        Sum $option(-sum)
    } else {
        All
    }
    Close
}

# tools/coverage.tcl reads run::Shares.
if {[info exists argv0] && [file normalize $argv0] eq [file normalize [info script]]} {
    run::Main $argv
}
