# tools/coverage.tcl --
#
#	Reports which lines the tests execute: a table by room, and the functions of more than 15 lines that no test
#	executes. Works in a copy of the tree (-work), built with gcov. Each test file runs by itself, so that the map names
#	the test files of each line; tools/mutate.tcl uses that map. What is known of a test file is used again until
#	the test file, a source that it executes or a file of tests/support that it uses changes.
#
#	tclsh tools/coverage.tcl ?-work DIR? ?-jobs N? ?-kernel COMMAND? ?-room GLOBS? ?-tests GLOBS? ?-lines N?
#	    ?-report DIR ?-gcov COMMAND??
#
#	-work DIR        the copy and its builds; default: ~/.cache/etw/mutate
#	-jobs N          processes at a time; default: the number of processors
#	-kernel COMMAND  put before tests that trace the kernel, for example {flock /tmp/lock}
#	-room GLOBS      the rooms to report; default: all
#	-tests GLOBS     the test files to run, for example test_*; default: all
#	-lines N         a function of more lines that no test executes is listed; default: 15
#	-report DIR      runs nothing: reports what has been executed in DIR, a build with --coverage whose tests have run
#	-gcov COMMAND    gcov of the compiler of that build, for clang `llvm-cov gcov`; default: gcov

source [file join [file dirname [info script]] .. tests all.tcl]

namespace eval cover {
    variable tree {}
    # Globs of the names of the test files to use.
    variable only *
    # With 1, what is known of a test file is used although it or a source has changed; the test files of which nothing is known.
    variable stale 0
    variable unmapped {}
    variable top [file dirname [file dirname [file normalize [info script]]]]
}

proc cover::Read {file} {
    set f [open $file]
    fconfigure $f -encoding utf-8
    set text [read $f]
    close $f
    return $text
}

proc cover::Write {file text} {
    set f [open $file w]
    fconfigure $f -encoding utf-8
    puts -nonewline $f $text
    close $f
}

# Runs a shell command, its output shown when it fails.
proc cover::Shell {command} {
    if {[catch {exec sh -c $command < /dev/null 2>@1} output]} {
        puts stderr "$output\nfailed: $command"
        exit 1
    }
    return $output
}

# ---- The copy ------------------------------------------------------------------------------------

# Makes WORK/tree equal to the working tree. Only files that differ are written, so that builds in it stay valid.
proc cover::Sync {work} {
    variable top
    variable tree [file join $work tree]
    file mkdir $tree
    set files [split [exec git -C $top ls-files -co --exclude-standard] \n]
    set list [file join $work files]
    if {[file exists $list]} {
        foreach file [Read $list] {
            if {$file ni $files || ![file exists $top/$file]} {
                file delete $tree/$file
            }
        }
    }
    foreach file $files {
        if {![file exists $top/$file] || ([file exists $tree/$file] && ![catch {exec cmp -s $top/$file $tree/$file}])} {
            continue
        }
        file mkdir [file dirname $tree/$file]
        file copy -force $top/$file $tree/$file
        exec touch $tree/$file
    }
    # Tests with data beside the tree find it.
    if {[file exists $top/../shared] && ![file exists $work/shared]} {
        file link -symbolic $work/shared [file normalize $top/../shared]
    }
    Write $list $files
}

# Configures and builds WORK/tree/DIR.
proc cover::Build {dir cflags jobs} {
    variable tree
    set cc [expr {[auto_execok ccache] ne "" ? "ccache gcc" : "gcc"}]
    Shell "cd '$tree' && . tools/lib.sh && configure_in $dir --enable-testpoints CC='$cc' CFLAGS='$cflags' &&\
        make -C $dir --no-print-directory -j$jobs all ctests"
}

# ---- The map -------------------------------------------------------------------------------------

# The test files as {NAME KIND FILE}, C tests first.
proc cover::TestFiles {} {
    variable tree
    variable only
    set tests {}
    foreach {kind glob} {c test_*.c tcl *.test} {
        foreach file [lsort [glob -nocomplain -directory $tree/tests -tails */$glob */*/$glob]] {
            set name [file rootname [file tail $file]]
            if {![string match win/* $file] && [llength [lmap glob $only {if {![string match $glob $name]} continue; set glob}]]} {
                lappend tests [list $name $kind tests/$file]
            }
        }
    }
    return $tests
}

proc cover::Checksum {files} {
    variable tree
    return [lindex [exec sh -c "cd '$tree' && cat [join [lsort $files]] | cksum"] 0]
}

# The files of tests/support that a test file names, and those that these name.
proc cover::SupportOf {file} {
    variable tree
    set found {}
    set next [list $file]
    while {[llength $next]} {
        set next [lassign $next one]
        set text [Read $tree/$one]
        foreach name [glob -nocomplain -directory $tree/tests/support -tails *] {
            if {[string first $name $text] >= 0 && "tests/support/$name" ni $found} {
                lappend found tests/support/$name
                lappend next tests/support/$name
            }
        }
    }
    return $found
}

# The checksums of all sources, as a dict.
proc cover::SourceSums {} {
    variable tree
    set sums {}
    foreach line [split [exec sh -c "cd '$tree' && find generic unix -name '*.\[ch\]' | xargs cksum"] \n] {
        dict set sums [lindex $line 2] [lindex $line 0]
    }
    return $sums
}

# Whether a result is of this test file and of the sources as they are now.
proc cover::IsCurrent {result key sums} {
    if {![file exists $result]} {
        return 0
    }
    set text [Read $result]
    if {[lindex [split $text] 0] ne $key} {
        return 0
    }
    foreach {line file sum} [regexp -all -inline -line {^(\S+) sum (\d+)$} $text] {
        if {![dict exists $sums $file] || [dict get $sums $file] ne $sum} {
            return 0
        }
    }
    return 1
}

# The command that runs one test file in BUILD.
proc cover::TestCommand {build name kind timeout kernel} {
    variable tree
    set command [list [info nameofexecutable] $tree/tests/all.tcl -build $build -file $name -kind $kind -timeout $timeout]
    if {[::run::Shares $name] eq "kernel"} {
        set command [list {*}$kernel {*}$command]
    }
    return $command
}

# Prints a line `FILE seen N N ...` and a line `FILE unseen N N ...` for each source that gcov reports.
set cover::awk {
    /^ *-: *0:Source:/ { sub(/^ *-: *0:Source:/, ""); sub(/^(\.\.\/)+/, ""); file = $0; next }
    /^ *-:/ { next }
    { split($0, part, ":"); n = part[2] + 0 }
    part[1] ~ /#|=/ { unseen[file, n] = 1; next }
    { seen[file, n] = 1 }
    END {
        for (key in unseen) if (!(key in seen)) { split(key, p, SUBSEP); u[p[1]] = u[p[1]] " " p[2] }
        for (key in seen) { split(key, p, SUBSEP); s[p[1]] = s[p[1]] " " p[2] }
        for (f in s) print f " seen" s[f]
        for (f in u) print f " unseen" u[f]
    }
}

# Runs the test files whose result is not known yet. Afterwards WORK/map/NAME.KIND holds one result each:
# a line `CHECKSUM MILLISECONDS EXITCODE`, the lines of the awk program, and `FILE sum CHECKSUM` for each of its sources.
proc cover::MakeMap {work jobs kernel} {
    variable tree
    variable awk
    variable stale
    if {$stale} {
        return
    }
    set sums [SourceSums]
    file mkdir $work/map
    Write $work/map.awk $awk
    set commands {}
    foreach test [TestFiles] {
        lassign $test name kind file
        set key [Checksum [list $file {*}[SupportOf $file]]]
        set result $work/map/$name.$kind
        if {[IsCurrent $result $key $sums]} {
            continue
        }
        set gcda $work/gcda/$name.$kind
        set run [TestCommand $tree/cover $name $kind 600 $kernel]
        set script [string map [list @gcda $gcda @run [join [lmap w $run {string cat ' $w '}]] @key $key @tree $tree @result $result @work $work] {
            rm -rf '@gcda'; mkdir -p '@gcda'
            start=$(date +%s%3N)
            GCOV_PREFIX='@gcda' @run >'@gcda/log' 2>&1; code=$?
            end=$(date +%s%3N)
            cd '@gcda' && find . -name '*.gcda' | while read -r f; do ln -sf "/${f%.gcda}.gcno" "${f%.gcda}.gcno"; done
            { echo @key $((end - start)) $code
              cd '@tree/cover' && find '@gcda' -name '*.gcda' | xargs -r gcov -t 2>/dev/null | awk -f '@work/map.awk'; } >'@result.new'
            cd '@tree'
            sed -n 's/^\(generic[^ ]*\) .*/\1/p; s/^\(unix[^ ]*\) .*/\1/p' '@result.new' | sort -u | xargs -r cksum |
                sed 's/^\([0-9]*\) [0-9]* \(.*\)/\2 sum \1/' >>'@result.new'
            mv '@result.new' '@result'
            [ $code = 0 ] || echo "@result: failed, see @gcda/log"
            find '@gcda' -name '*.gc*' -delete
        }]
        file mkdir $work/gcda
        Write $work/gcda/$name.$kind.sh $script
        lappend commands $work/gcda/$name.$kind.sh
    }
    if {[llength $commands]} {
        puts "running [llength $commands] test files for the map"
        Build cover "-O0 --coverage -fprofile-update=atomic" $jobs
        puts [exec printf %s\\n {*}$commands | xargs -n 1 -P $jobs sh]
    }
}

# Reads the map. Afterwards tests(FILE,LINE) has the names of test files, code(FILE) a dict of the executable lines,
# info(NAME) = {KIND SECONDS FILE}. Test files that failed without any mutation are left out.
proc cover::LoadMap {work testsVar codeVar infoVar} {
    upvar 1 $testsVar tests $codeVar code $infoVar info
    variable stale
    variable unmapped
    foreach test [TestFiles] {
        lassign $test name kind file
        if {$stale && ![file exists $work/map/$name.$kind]} {
            set info($name) [list $kind 1.0 $file]
            lappend unmapped $name
            continue
        }
        set lines [split [Read $work/map/$name.$kind] \n]
        lassign [lindex $lines 0] key ms failed
        set info($name) [list $kind [expr {$ms / 1000.0}] $file]
        foreach line [lrange $lines 1 end] {
            set numbers [lassign $line source how]
            if {$how eq "sum"} {
                continue
            }
            foreach n $numbers {
                dict set code($source) $n 1
                if {$how eq "seen" && !$failed} {
                    lappend tests($source,$n) $name
                }
            }
        }
    }
}

# Reads what all tests together have executed in a build, as if it were one test file.
proc cover::LoadBuild {build gcov testsVar codeVar} {
    variable tree
    variable top
    variable awk
    upvar 1 $testsVar tests $codeVar code
    set tree $top
    set counts [exec sh -c "cd '$build' && find generic unix -name '*.gcda' | xargs -r $gcov -t 2>/dev/null" | awk $awk]
    foreach line [split $counts \n] {
        set numbers [lassign $line source how]
        foreach n $numbers {
            dict set code($source) $n 1
            if {$how eq "seen"} {
                set tests($source,$n) all
            }
        }
    }
}

# ---- The report ----------------------------------------------------------------------------------

# The room of a source: unix/kernel, flow/calls, engine.
proc cover::Room {file} {
    set parts [split [file dirname $file] /]
    if {[lindex $parts 0] eq "generic"} {
        set parts [lrange $parts 1 end]
        return [join [lrange $parts 0 [expr {[lindex $parts 0] eq "flow"}]] /]
    }
    return [join [lrange $parts 0 1] /]
}

# The functions of a source as {NAME FIRST LAST}: in this project's format their braces are in the first column.
proc cover::Functions {text} {
    set functions {}
    set head {}
    set n 0
    foreach line [split $text \n] {
        incr n
        if {$line eq "\{"} {
            set first $n
        } elseif {$line eq "\}" && [info exists first]} {
            if {[regexp {(\w+)\(} $head -> name]} {
                lappend functions [list $name $first $n]
            }
            unset first
        } elseif {[regexp {^\w.*\(} $line]} {
            set head $line
        }
    }
    return $functions
}

# The arrays are those of LoadMap.
proc cover::Report {testsVar codeVar rooms longest} {
    variable tree
    upvar 1 $testsVar tests $codeVar code
    set idle {}
    foreach file [lsort [array names code]] {
        if {![string match *.c $file] || ![regexp {^(generic|unix)/} $file]} {
            continue
        }
        set room [Room $file]
        if {$rooms ne "" && ![llength [lmap g $rooms {if {![string match $g $room]} continue; set g}]]} {
            continue
        }
        foreach n [dict keys $code($file)] {
            dict incr all $room
            dict incr seen $room [info exists tests($file,$n)]
        }
        foreach function [Functions [Read $tree/$file]] {
            lassign $function name first last
            if {$last - $first - 1 <= $longest} {
                continue
            }
            set lines [lsearch -all -inline [dict keys $code($file)] *]
            set own [lmap n $lines {if {$n <= $first || $n > $last} continue; set n}]
            set ran [lmap n $own {if {![info exists tests($file,$n)]} continue; set n}]
            if {[llength $own] && ![llength $ran]} {
                lappend idle "$file:$first $name ([expr {$last - $first - 1}] lines)"
            }
        }
    }
    puts [format "%-20s %8s %9s" room lines executed]
    set total {0 0}
    foreach room [lsort [dict keys $all]] {
        set a [dict get $all $room]
        set s [dict get $seen $room]
        puts [format "%-20s %8d %8.1f%%" $room $a [expr {100.0 * $s / $a}]]
        set total [list [expr {[lindex $total 0] + $a}] [expr {[lindex $total 1] + $s}]]
    }
    puts [format "%-20s %8d %8.1f%%" all [lindex $total 0] [expr {100.0 * [lindex $total 1] / [lindex $total 0]}]]
    puts "\nfunctions of more than $longest lines that no test executes: [llength $idle]"
    foreach line $idle {
        puts "  $line"
    }
}

proc cover::Main {argv} {
    array set option [list -work [file join $::env(HOME) .cache etw mutate] -jobs [exec nproc] -kernel {} -room {} -tests * -lines 15 -report {} -gcov gcov]
    foreach {name value} $argv {
        if {![info exists option($name)]} {
            puts stderr "unknown option \"$name\": must be [join [lsort [array names option]] {, }]"
            exit 2
        }
        set option($name) $value
    }
    if {$option(-report) ne ""} {
        LoadBuild $option(-report) $option(-gcov) tests code
    } else {
        variable only $option(-tests)
        Sync $option(-work)
        MakeMap $option(-work) $option(-jobs) $option(-kernel)
        LoadMap $option(-work) tests code info
    }
    Report tests code $option(-room) $option(-lines)
}

if {[info exists argv0] && [file normalize $argv0] eq [file normalize [info script]]} {
    cover::Main $argv
}
