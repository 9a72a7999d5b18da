# suites_matrix.tcl --
#
#	Runs whole test suites of other projects untraced and in each mode of tracing, and prints a table:
#	suite, mode, files, tests, and the files whose results differ. `make suites` calls it. Not a test of `make test`:
#	it takes hours. suites.test runs a selection.
#
#	BUILD TCLSH ?-suite GLOBS? ?-file GLOBS? ?-modes LIST? ?-jobs N? ?-limit SECONDS? ?-seconds SECONDS? ?-log FOLDER?
#	-suite and -file are lists of patterns, -limit is for one file, -seconds for the whole: files that are not begun by then are not run.
#
#	A file is run untraced twice. Its result is the line of totals, each failed test with its output (result,
#	errorInfo), and the exit code. Addresses, times, process ids and lines that differ between the untraced runs are
#	ignored. A file that differs is run again in the same mode, and untraced a third time: it differs if no
#	traced run matches an untraced one. Exit code 1: a file differs.

namespace eval ::suites {
    variable options {-suite * -file * -modes {call line full slowsample} -jobs 2 -limit 120 -seconds 1e9 -log {}}
    variable here [file dirname [file normalize [info script]]]
    variable cache [expr {[info exists env(ETW_CACHE)] ? $env(ETW_CACHE) : "$env(HOME)/.cache/etw"}]
    # Files that never end without a terminal or a network, that test the runner itself, or that run other files.
    variable omitted {all.test socket.test http.test http11.test httpd.test permutations.test veryquick.test quick.test
        extraquick.test full.test soak.test mutex1.test}
    variable running 0
    variable results
}

# Suites: name, folder, pattern of the files below it, and a shell other than TCLSH.
proc ::suites::suites {tclsh} {
    variable cache
    set library [exec $tclsh << {puts [list [info patchlevel] [info library]]}]
    lassign $library version dir
    if {[string match 9* $version]} {
        return [list [list tcl$version [file join $dir .. .. src tests] *.test]]
    }
    set all [list [list tcl$version [file join $cache suites tcl] *.test]]
    foreach module [lsort [glob -nocomplain -tails -directory [file join $cache suites tcllib] -types d *]] {
        lappend all [list tcllib/$module [file join $cache suites tcllib] $module/*.test]
    }
    lappend all [list tk8.6 [file join $cache suites tk] *.test]
    lappend all [list sqlite3 [file join $cache suites sqlite test] *.test [file join $cache suites sqlite testfixture]]
    return $all
}

# What of a run's output is the same each time.
proc ::suites::normalized {output dir} {
    set lines {}
    foreach line [split [string map [list $dir DIR] $output] \n] {
        if {![regexp {^etw: |files left behind|\.test:\t(?!Total)|^Tests (began|ended) at|^Working|microseconds|seconds per} $line]} {
            lappend lines [regsub -all {0x[0-9a-fA-F]+|\m(pid|sock|file|exec)\s*\d+\M|\m\d{5,}\M|\d+(\.\d+)?\s*(ms|us|s)\M} $line N]
        }
    }
    return $lines
}

# Begins a run in a copy of the folder; DONE is called with its lines.
proc ::suites::start {shell dir file mode done} {
    variable options
    variable here
    variable build
    set words [list $shell [file join $here suites_driver.tcl] $build [expr {$mode eq "" ? "" : "-"}] \
        [file join $dir $file] $mode]
    if {$::suites::display ne "" && [string match tk* [file tail $dir]]} {
        set words [linsert $words 0 env DISPLAY=$::suites::display]
    }
    # Suites write files to the folder in which tcltest was loaded.
    set words [list sh -c {cd "$1" && shift && exec "$@"} sh [file dirname [file join $dir $file]] {*}$words]
    set channel [open |[list timeout -k 5 [dict get $options -limit] {*}$words </dev/null 2>@1] r]
    fconfigure $channel -blocking 0 -encoding iso8859-1
    set ::suites::output($channel) {}
    fileevent $channel readable [list ::suites::read $channel $dir $done]
}
proc ::suites::read {channel dir done} {
    variable output
    append output($channel) [::read $channel]
    if {[eof $channel]} {
        fconfigure $channel -blocking 1
        set code [catch {close $channel} message options]
        set lines [normalized $output($channel) $dir]
        lappend lines "exit [expr {$code ? [lrange [dict get $options -errorcode] 2 end] : 0}]"
        unset output($channel)
        {*}$done $lines
    }
}
# The same from a coroutine.
proc ::suites::run {shell dir file mode} {
    start $shell $dir $file $mode [list [info coroutine]]
    return [yield]
}

proc ::suites::same {lines untraced} {
    foreach other $untraced {
        if {$lines eq $other} {
            return 1
        }
    }
    # without the lines that differ between untraced runs
    set common [lindex $untraced 0]
    foreach other [lrange $untraced 1 end] {
        set common [lmap line $common {if {$line in $other} {set line} else continue}]
    }
    set steady [lmap line $lines {if {$line in $common} {set line} else continue}]
    set extra [expr {[llength $lines] - [llength $steady]}]
    set extras [lmap other $untraced {expr {[llength $other] - [llength $common]}}]
    return [expr {[lsort $steady] eq [lsort $common] && $extra in $extras}]
}

proc ::suites::totals {lines} {
    foreach line $lines {
        if {[regexp {Total\s+(\d+)\s+Passed\s+(\d+)\s+Skipped\s+(\d+)\s+Failed\s+(\d+)} $line -> total passed skipped failed]} {
            return [list $passed $failed]
        }
        if {[regexp {^(\d+) errors out of (\d+) tests} $line -> failed all]} {
            return [list [expr {$all - $failed}] $failed] ;# SQLite's
        }
    }
    return {0 0}
}

proc ::suites::note {suite mode what {count 1}} {
    variable results
    dict incr results [list $suite $mode $what] $count
}

proc ::suites::log {suite file mode lines untraced} {
    variable options
    set log [dict get $options -log]
    puts "DIFFERS $suite $file $mode"
    if {$log ne ""} {
        file mkdir $log
        set name [string map {/ _} $suite-$file-$mode]
        foreach {suffix content} [list traced $lines untraced [lindex $untraced 0]] {
            set f [open [file join $log $name.$suffix] w]
            puts $f [join $content \n]
            close $f
        }
    }
}

proc ::suites::runFile {shell dir suite file} {
    variable options
    set untraced [list [run $shell $dir $file {}] [run $shell $dir $file {}]]
    if {[lindex $untraced 0 end] in {"exit 124" "exit 137"}} {
        note $suite untraced slow
        return
    }
    lassign [totals [lindex $untraced 0]] passed failed
    note $suite untraced files
    note $suite untraced passed $passed
    note $suite untraced failed $failed
    foreach mode [dict get $options -modes] {
        set lines [run $shell $dir $file $mode]
        for {set try 1} {$try < 3 && ![same $lines $untraced]} {incr try} {
            lappend untraced [run $shell $dir $file {}]
            if {![same $lines $untraced]} {
                set lines [run $shell $dir $file $mode]
            }
        }
        lassign [totals $lines] passed failed
        note $suite $mode files
        note $suite $mode passed $passed
        note $suite $mode failed $failed
        if {[lindex $lines end] in {"exit 124" "exit 137"}} {
            note $suite $mode slow
            puts "SLOW $suite $file $mode"
        } elseif {![same $lines $untraced]} {
            note $suite $mode differ
            log $suite $file $mode $lines $untraced
        }
        flush stdout
    }
}

# One of the jobs: takes files from the queue. Each works in its own copies of the folders.
proc ::suites::worker {number} {
    variable queue
    variable options
    variable running
    variable deadline
    incr running
    yield
    set root [file join [file normalize [expr {[info exists ::env(TMPDIR)] ? $::env(TMPDIR) : "/tmp"}]] etw-suites-[pid]-$number]
    file mkdir $root
    while {[llength $queue] && [clock seconds] < $deadline} {
        set queue [lassign $queue next]
        lassign $next suite source file shell
        set dir [file join $root [file tail $source]]
        if {![file exists $dir]} {
            file copy $source $dir
        }
        runFile $shell $dir $suite $file
    }
    file delete -force $root
    if {[incr running -1] == 0} {
        set ::suites::done 1
    }
}

proc ::suites::table {} {
    variable results
    variable queue
    variable options
    set format "%-22s %-11s %6s %8s %7s %7s %8s"
    puts [format $format suite mode files passed failed slow differing]
    set suites [lsort -unique [lmap key [dict keys $results] {lindex $key 0}]]
    foreach suite $suites {
        foreach mode [list untraced {*}[dict get $options -modes]] {
            set row [lmap what {files passed failed slow differ} {
                set key [list $suite $mode $what]
                expr {[dict exists $results $key] ? [dict get $results $key] : 0}
            }]
            puts [format $format $suite $mode {*}$row]
        }
    }
    if {[llength $queue]} {
        puts "not run, for lack of time: [llength $queue] files"
    }
}

# True if one of an option's patterns matches.
proc ::suites::matches {name option} {
    variable options
    foreach glob [dict get $options $option] {
        if {[string match $glob $name]} {
            return 1
        }
    }
    return 0
}

proc ::suites::main {argv} {
    variable options
    variable omitted
    variable results {}
    variable queue {}
    variable build
    variable tclsh
    variable deadline
    variable display [expr {[info exists ::env(DISPLAY)] ? $::env(DISPLAY) : ""}]
    set args [lassign $argv build tclsh]
    set build [file normalize $build]
    set options [dict merge $options $args]
    set ::env(LC_ALL) C.UTF-8
    set ::env(ETW_RUNTIME_DIR) [file join [expr {[info exists ::env(TMPDIR)] ? $::env(TMPDIR) : "/tmp"}] etw-suites-run-[pid]]
    foreach suite [suites $tclsh] {
        lassign $suite name dir pattern shell
        if {![matches $name -suite] || ([string match tk* $name] && $display eq "")} {
            continue
        }
        foreach path [lsort [glob -nocomplain -directory $dir $pattern]] {
            if {[file tail $path] ni $omitted && [matches [file tail $path] -file]} {
                lappend queue [list $name [file normalize $dir] [string range $path [string length $dir]+1 end] \
                    [expr {$shell eq "" ? $tclsh : $shell}]]
            }
        }
    }
    set deadline [expr {[clock seconds] + wide([dict get $options -seconds])}]
    for {set i 0} {$i < [dict get $options -jobs]} {incr i} {
        coroutine ::suites::worker$i ::suites::worker $i
        after 0 ::suites::worker$i
    }
    vwait ::suites::done
    table
    file delete -force $::env(ETW_RUNTIME_DIR)
    foreach key [dict keys $results] {
        if {[lindex $key 2] eq "differ"} {
            exit 1
        }
    }
}

::suites::main $argv
