# tools/mutate.tcl --
#
#	Measures what the tests would find: changes one line of a source, builds, runs the test files that execute this line
#	and reports whether one of them fails (the mutant is killed) or all pass (it survives). Lines and changes are chosen at
#	random, so the share of killed mutants is an estimate for the room. Works in a copy of the tree: a run that is
#	interrupted leaves no mutated source behind.
#
#	tclsh tools/mutate.tcl ?-room GLOBS? ?-lines FILE:FIRST-LAST? ?-changed REV? ?-count N? ?-seed N? ?-again 1?
#	    ?-mutant SPEC? ?-list 1? ?-budget S? ?-tests GLOBS? ?-stale 1? ?-work DIR? ?-jobs N? ?-kernel COMMAND? ?-log FILE?
#
#	-room GLOBS      rooms, for example {base engine flow/*}; -count mutants in each
#	-lines SPEC      only these lines of this file; with `FILE` alone the whole file
#	-changed REV     only lines that differ from this commit
#	-count N         mutants, in each room; default: 40
#	-seed N          start of the random choice; default: 1
#	-again 1         only the survivors of the last run in -work, after tests were added
#	-mutant SPEC     one mutant, {FILE LINE {NEW TEXT}}
#	-list 1          prints the mutants, runs nothing
#	-budget S        seconds of tests for each mutant; test files beyond it do not run. Default: 60
#	-tests GLOBS     the test files to run, for example test_*; default: all
#	-stale 1         the map of coverage stays as it is, although test files or sources have changed: much shorter while tests are
#	                 being written. A test file that is not in the map runs for each mutant of its room
#	-work DIR        the copy, its builds and the map of coverage; default: ~/.cache/etw/mutate
#	-jobs N          processes at a time while building; default: the number of processors
#	-kernel COMMAND  put before tests that trace the kernel, for example {flock /tmp/lock}
#	-log FILE        also writes every line to this file
#
#	A mutant that does not compile, or compiles to the same object, is replaced by another.

source [file join [file dirname [info script]] coverage.tcl]

namespace eval mutate {
    variable option
    array set option [list -room {} -lines {} -changed {} -count 40 -seed 1 -again 0 -mutant {} -list 0 -budget 60 -tests * -stale 0 \
        -work [file join $::env(HOME) .cache etw mutate] -jobs [exec nproc] -kernel {} -log {}]
    # WORK/tree, and the build of the mutants in it.
    variable tree
    variable build
}

proc mutate::Say {text} {
    variable option
    puts $text
    flush stdout
    if {$option(-log) ne ""} {
        set f [open $option(-log) a]
        puts $f $text
        close $f
    }
}

# ---- Mutations of a line -------------------------------------------------------------------------

# LINE with comments, strings and character constants replaced by blanks: positions stay the same.
proc mutate::Mask {line} {
    if {[regexp {^\s*(\*|/\*|#)} $line]} {
        return [string repeat " " [string length $line]]
    }
    foreach pattern {{"(?:[^"\\]|\\.)*"} {'(?:[^'\\]|\\.)+'} {/\*.*?(\*/|$)} {//.*$}} {
        foreach range [lreverse [regexp -all -inline -indices -- $pattern $line]] {
            lassign $range first last
            if {$last >= $first} {
                set line [string replace $line $first $last [string repeat " " [expr {$last - $first + 1}]]]
            }
        }
    }
    return $line
}

# All positions of an expression in the masked line as {FIRST LAST}.
proc mutate::Find {pattern masked} {
    set found {}
    set at 0
    while {[regexp -indices -start $at -- $pattern $masked range]} {
        lappend found $range
        set at [expr {[lindex $range 1] + 1}]
    }
    return $found
}

# The end of the operand beside a logical operator: position of its last character. STEP is 1 or -1. Empty when the operand
# does not end on this line.
proc mutate::Operand {masked at step} {
    set depth 0
    set opens [expr {$step > 0 ? "(\[\{" : ")\]\}"}]
    set closes [expr {$step > 0 ? ")\]\}" : "(\[\{"}]
    set end {}
    for {set i $at} {$i >= 0 && $i < [string length $masked]} {incr i $step} {
        set c [string index $masked $i]
        set pair [string range $masked [expr {min($i, $i + $step)}] [expr {max($i, $i + $step)}]]
        if {[string first $c $opens] >= 0} {
            incr depth
        } elseif {[string first $c $closes] >= 0} {
            if {[incr depth -1] < 0} {
                return $end
            }
        } elseif {$depth == 0 && ($c in {; , ? :} || $pair in {&& ||})} {
            return $end
        } elseif {$depth == 0 && $step < 0 && $c ne " " && [regexp {(=|\mreturn)$} [string range $masked 0 $i]] &&
                ![regexp {[=!<>]=.?$} [string range $masked 0 $i+1]]} {
            return $end
        }
        if {$c ne " "} {
            set end $i
        }
    }
    return [expr {$depth == 0 && $step > 0 ? $end : ""}]
}

# The mutations of one line as {KIND NEW}.
proc mutate::OfLine {line} {
    set masked [Mask $line]
    set made {}
    set put {{kind first last text} {
        upvar 1 made made line line
        lappend made [list $kind [string replace $line $first $last $text]]
    }}
    # Comparisons: the bound moves by one, equal and not equal change places.
    foreach {pattern new} {
        { < } { <= } { <= } { < } { > } { >= } { >= } { > } { == } { != } { != } { == }
    } {
        foreach range [Find $pattern $masked] {
            apply $put comparison {*}$range $new
        }
    }
    # Constants: one more or less; flags of a mask.
    foreach range [Find {\m(0[xX][0-9a-fA-F]+|[0-9]+)(?=[uUlL]*\M)} $masked] {
        lassign $range first last
        set text [string range $line $first $last]
        if {[regexp {[\w.]} [string index $masked [expr {$first - 1}]]] || [scan $text %lli value] != 1} {
            continue
        }
        if {[string match -nocase 0x* $text]} {
            apply $put constant $first $last [format 0x%llX [expr {$value >> 1}]]
            apply $put constant $first $last [format 0x%llX [expr {$value ^ 1}]]
        } else {
            apply $put constant $first $last [expr {$value + 1}]
            if {$value > 0} {
                apply $put constant $first $last [expr {$value - 1}]
            }
        }
    }
    # Conditions: one side dropped, all negated.
    foreach range [Find {&&|\|\|} $masked] {
        lassign $range first last
        set right [Operand $masked [expr {$last + 1}] 1]
        if {$right ne "" && [string trim [string range $masked $last+1 end]] ne ""} {
            apply $put drop-right [expr {$first - 1}] $right ""
        }
        set left [Operand $masked [expr {$first - 1}] -1]
        if {$left ne ""} {
            apply $put drop-left $left [expr {$last + ([string index $masked $last+1] eq " ")}] ""
        }
    }
    if {[regexp -indices {^\s*(?:\} else )?(?:if|while) (\(.*\)) \{$} $masked -> range]} {
        lassign $range first last
        apply $put negate $first $last "(![string range $line $first $last])"
    }
    # Masks and shifts.
    foreach {pattern new} {
        { << } { >> } { >> } { << } { & } { | } { \| } { & } { &= } { |= } { \|= } { &= } { \^ } { | }
    } {
        foreach range [Find $pattern $masked] {
            apply $put bits {*}$range $new
        }
    }
    foreach range [Find {~(?=\w|\()} $masked] {
        apply $put bits {*}$range ""
    }
    foreach range [Find {!(?=[\w(])} $masked] {
        apply $put negate {*}$range ""
    }
    # Arithmetic.
    foreach {pattern new} {{ \+ } { - } { - } { + } { \+= } { -= } { -= } { += } {\+\+} -- {--} ++ { \* } { + } { / } { * } { % } { / }} {
        foreach range [Find $pattern $masked] {
            apply $put arithmetic {*}$range $new
        }
    }
    # Statements that stand on one line. To release memory or a handle is what leak checkers test, not the tests.
    if {[regexp -indices {^\s*((?:[\w.*>\[\]()&+ -]+ [-+*/|&^%]?= [^;]*|[\w.>\[\]-]+\([^;]*\)|[\w.>\[\]-]+(?:\+\+|--)|break|continue|return));$} $masked -> range]} {
        lassign $range first last
        set text [string range $masked $first $last]
        if {![regexp {^\w*(free|Free|Close|close|Release|Unlock|unlock)\w*\(} $text] && ![regexp {^(?:const |static |struct )*\w+ [*]*\w+(?:\[[^]]*\])* = } $text]} {
            apply $put statement $first $last ""
        }
    }
    # Results.
    if {[regexp -indices {^\s*return (.*);$} $masked -> range]} {
        lassign $range first last
        set text [string range $line $first $last]
        switch -regexp -- $text {
            {^true$} {apply $put result $first $last false}
            {^false$} {apply $put result $first $last true}
            {^ETW_OK$} {apply $put result $first $last ETW_E_IO}
            {^(0|NULL)$} {}
            {^[A-Za-z(!*&].*} {apply $put result $first $last 0}
        }
    }
    return $made
}

# ---- Choice --------------------------------------------------------------------------------------

# The lines to choose from as {FILE LINE}, by room: those that gcov calls executable, and their continuation lines.
proc mutate::Lines {codeVar} {
    upvar 1 $codeVar code
    variable option
    set wanted {}
    if {$option(-changed) ne ""} {
        set file {}
        foreach line [split [exec git -C $::cover::top diff -U0 $option(-changed) -- generic unix] \n] {
            if {[regexp {^\+\+\+ b/(.*)} $line -> file]} {
                continue
            }
            if {[regexp {^@@ .*\+(\d+)(?:,(\d+))? @@} $line -> first count]} {
                if {$count eq ""} {
                    set count 1
                }
                for {set n $first} {$n < $first + $count} {incr n} {
                    dict set wanted $file $n 1
                }
            }
        }
    }
    set byRoom {}
    foreach file [lsort [array names code]] {
        if {![string match *.c $file] || ![regexp {^(generic|unix)/} $file]} {
            continue
        }
        set room [::cover::Room $file]
        set from 1
        set to 1000000
        if {$option(-lines) ne ""} {
            if {![regexp {^([^:]+)(?::(\d+)(?:-(\d+))?)?$} $option(-lines) -> only a b]} {
                error "-lines must be FILE:FIRST-LAST, not \"$option(-lines)\""
            }
            if {$only ne $file} {
                continue
            }
            if {$a ne ""} {
                set from $a
                set to [expr {$b ne "" ? $b : $a}]
            }
        } elseif {$option(-changed) ne ""} {
            if {![dict exists $wanted $file]} {
                continue
            }
        } elseif {![llength [lmap g $option(-room) {if {![string match $g $room]} continue; set g}]]} {
            continue
        }
        set n 0
        set before 0
        foreach line [split [::cover::Read $::cover::tree/$file] \n] {
            incr n
            set mine [dict exists $code($file) $n]
            # The rest of a statement counts with its first line.
            if {!$mine && $before && [regexp {^\s{8,}\S} $line]} {
                set mine 1
            }
            set before [expr {$mine && ![regexp {[;\{\}]\s*$} $line]}]
            if {$mine && $n >= $from && $n <= $to && ($option(-changed) eq "" || [dict exists $wanted $file $n])} {
                dict lappend byRoom $room [list $file $n $line]
            }
        }
    }
    return $byRoom
}

# A random permutation.
proc mutate::Shuffle {list} {
    for {set i [llength $list]} {$i > 1} {} {
        set j [expr {int(rand() * $i)}]
        incr i -1
        set item [lindex $list $i]
        lset list $i [lindex $list $j]
        lset list $j $item
    }
    return $list
}

# ---- One mutant ----------------------------------------------------------------------------------

# The test files that execute a line: C tests first, then the fastest first. For a line that no test is known to execute (a child
# process that ends by a signal leaves no counts), those that execute most of the lines around it.
proc mutate::TestsOf {file n} {
    upvar #0 ::mutate::tests tests ::mutate::info info ::mutate::code code
    set names {}
    # A continuation line has the counts of the line where its statement begins.
    for {set i $n} {$i > 0 && ![dict exists $code($file) $i]} {incr i -1} {}
    if {[info exists tests($file,$i)]} {
        set names $tests($file,$i)
    } else {
        set near {}
        for {set k [expr {$i - 15}]} {$k <= $i + 15} {incr k} {
            if {[info exists tests($file,$k)]} {
                foreach name $tests($file,$k) {
                    dict incr near $name
                }
            }
        }
        set names [lmap {name count} [lrange [lsort -stride 2 -index 1 -integer -decreasing $near] 0 11] {set name}]
    }
    set room [lindex [split [::cover::Room $file] /] 0]
    lappend names {*}[lmap name $::cover::unmapped {if {![string match */$room/* [lindex $info($name) 2]]} continue; set name}]
    set keyed [lmap name [lsort -unique $names] {
        lassign $info($name) kind seconds path
        # Tests of the same room come before those that happen to run the line.
        set own [string match */$room/* $path]
        list [expr {($kind eq "c" ? 0 : 1000) + ($own ? 0 : 100) + $seconds}] $name
    }]
    return [lmap pair [lsort -real -index 0 $keyed] {lindex $pair 1}]
}

proc mutate::Make {target} {
    variable build
    return [catch {exec make -C $build --no-print-directory $target >& $build/mutant.log < /dev/null}]
}

# Runs the covering tests; returns the name of the one that failed, or nothing.
proc mutate::Kill {file n} {
    variable build
    variable option
    upvar #0 ::mutate::info info
    set spent 0
    set libraryBuilt 0
    foreach name [TestsOf $file $n] {
        lassign $info($name) kind seconds path
        set spent [expr {$spent + $seconds}]
        if {$spent > $option(-budget) && $spent > $seconds} {
            break
        }
        if {$kind eq "c"} {
            if {[Make [file rootname $path]]} {
                return "the link of $name"
            }
        } elseif {!$libraryBuilt} {
            if {[Make binaries]} {
                return "the link of the package"
            }
            set libraryBuilt 1
        }
        set limit [expr {int(15 + 5 * $seconds)}]
        set run [::cover::TestCommand $build $name $kind $limit $option(-kernel)]
        if {[catch {exec timeout -k 2 [expr {$limit + 300}] {*}$run >& $build/test.log < /dev/null}]} {
            return $name
        }
    }
    return ""
}

# Applies one mutant and restores the file. Returns: invalid, same, or killed NAME, or survived.
proc mutate::Try {file n new} {
    variable tree
    variable build
    set source $tree/$file
    set object $build/[file rootname $file].o
    set original [::cover::Read $source]
    set lines [split $original \n]
    lset lines [expr {$n - 1}] $new
    file copy -force $object $build/mutant.o
    ::cover::Write $source [join $lines \n]
    set result survived
    if {[Make [file rootname $file].o]} {
        set result invalid
    } elseif {![catch {exec cmp -s $object $build/mutant.o}]} {
        set result same
    } else {
        set by [Kill $file $n]
        if {$by ne ""} {
            set result [list killed $by]
        }
    }
    ::cover::Write $source $original
    file copy -force $build/mutant.o $object
    exec touch $object
    return $result
}

proc mutate::Show {file n old new} {
    return "$file:$n\n  - [string trim $old]\n  + [string trim $new]"
}

# ---- Main ----------------------------------------------------------------------------------------

proc mutate::Run {byRoom survivorsFile} {
    variable option
    variable tree
    set survivors {}
    set summary {}
    dict for {room lines} $byRoom {
        set done 0
        set killed 0
        expr {srand($option(-seed) * 1000 + [string length $room] * 7 + 1)}
        foreach item [Shuffle $lines] {
            if {$done >= $option(-count)} {
                break
            }
            lassign $item file n line fixed
            foreach choice [lrange [Shuffle [expr {$fixed ne "" ? [list [list given $fixed]] : [OfLine $line]}]] 0 1] {
                lassign $choice kind new
                if {$option(-list)} {
                    Say "[Show $file $n $line $new]   ($kind)"
                    incr done
                    break
                }
                set result [Try $file $n $new]
                if {$result in {invalid same}} {
                    continue
                }
                incr done
                if {[lindex $result 0] eq "killed"} {
                    incr killed
                    Say "$room $done killed by [lindex $result 1]: $file:$n $kind"
                } else {
                    lappend survivors [list $file $n $line $new]
                    Say "$room $done SURVIVED: [Show $file $n $line $new]   ($kind; [llength [TestsOf $file $n]] test files)"
                    ::cover::Write $survivorsFile [join $survivors \n]
                }
                break
            }
        }
        dict set summary $room [list $done $killed]
        if {!$option(-list)} {
            ::cover::Write $survivorsFile [join $survivors \n]
        }
    }
    if {!$option(-list)} {
        Say [format "%-20s %8s %7s %9s" room mutants killed survived]
        dict for {room counts} $summary {
            lassign $counts done killed
            Say [format "%-20s %8d %7d %9d   %3.0f%%" $room $done $killed [expr {$done - $killed}] [expr {$done ? 100.0 * $killed / $done : 0}]]
        }
    }
}

proc mutate::Main {argv} {
    variable option
    variable tree
    variable build
    foreach {name value} $argv {
        if {![info exists option($name)]} {
            puts stderr "unknown option \"$name\": must be [join [lsort [array names option]] {, }]"
            exit 2
        }
        set option($name) $value
    }
    set work [file normalize $option(-work)]
    set ::cover::only $option(-tests)
    set ::cover::stale $option(-stale)
    ::cover::Sync $work
    set tree $::cover::tree
    set build $tree/mutants
    ::cover::MakeMap $work $option(-jobs) $option(-kernel)
    ::cover::LoadMap $work ::mutate::tests ::mutate::code ::mutate::info
    if {!$option(-list)} {
        ::cover::Build mutants -O1 $option(-jobs)
    }
    set survivorsFile $work/survivors
    if {$option(-again) || $option(-mutant) ne ""} {
        set byRoom {}
        foreach item [expr {$option(-again) ? [split [::cover::Read $survivorsFile] \n] : [list [linsert $option(-mutant) 2 {}]]}] {
            lassign $item file n old new
            set now [lindex [split [::cover::Read $tree/$file] \n] [expr {$n - 1}]]
            if {$old ne "" && $old ne $now} {
                Say "gone: $file:$n $old"
                continue
            }
            dict lappend byRoom [::cover::Room $file] [list $file $n $now $new]
        }
    } else {
        set byRoom [Lines ::mutate::code]
    }
    Run $byRoom $survivorsFile
}

if {[info exists argv0] && [file normalize $argv0] eq [file normalize [info script]]} {
    mutate::Main $argv
}
