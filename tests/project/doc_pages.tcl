# doc_pages.tcl --
#
#	Runs the examples of README.md and doc/tutorial, and compares their output with what the page shows.
#
#	A line before a block of code tells what the test does with it:
#	    <!-- file NAME -->           write the block to the file NAME
#	    <!-- run CONSTRAINT ... -->  run the block in sh, in the page's directory; a block of language "text" that
#	                                 follows is the output (standard output and standard error)
#	    <!-- not run: REASON -->     neither
#	    <!-- corpus PATH -->         copy a file of the collection of real traces; not before a block, but by itself
#	Blocks of language "text" need no such line. A run is skipped where one of its constraints does not hold.
#
#	Lines of output are compared by their shape: numbers, directories and the names of the machine and the user are ignored, except
#	in the result of a call ("= 10" at the end of a line). The page's lines must occur in this order, or in any order where the
#	constraints contain "any-order"; the output may have other lines between them.
#	"..." stands for lines that the page leaves out.

namespace eval pages {}

# The blocks of a page: dicts of line, language, marker, text.
proc pages::Blocks {path} {
    set blocks {}
    set marker {}
    set block {}
    set n 0
    foreach line [split [::testing::readFile $path] \n] {
        incr n
        if {$block ne ""} {
            if {[string match "```*" $line]} {
                lappend blocks $block
                set block {}
                set marker {}
            } else {
                dict append block text $line \n
            }
        } elseif {[regexp {^```(.*)$} $line -> language]} {
            set block [dict create line $n language $language marker $marker text {}]
        } elseif {[regexp {^<!-- corpus (\S+) -->$} $line -> name]} {
            lappend blocks [dict create line $n language text marker "corpus $name" text {}]
        } elseif {[regexp {^<!-- (.*) -->$} $line -> found]} {
            set marker $found
        } elseif {[string trim $line] ne ""} {
            set marker {}
        }
    }
    return $blocks
}

# What stays the same from run to run.
proc pages::Shape {line} {
    set result {}
    regexp {^(.*\S)(\s+= \S+)$} $line -> line result
    # On a busy machine, the kernel delivers packets in a thread of its own: the event belongs to the program all the same.
    regsub { \(in process \d+\)$} $line {} line
    # The parts of a note about waits depend on the machine's load.
    regsub { \[[^][]*\]$} $line {} line
    regsub -all {0x[0-9a-fA-F]+} $line {#} line
    # This machine, this user (the pages were made by root), the directories of this run.
    regsub {Etw-Session\s+Host Host.*} $line {Etw-Session Host} line
    regsub {\mSystem \{[^\}]*\}.*} $line {System} line
    regsub -all "\\m(root|$::tcl_platform(user))\\M" $line {USER} line
    regsub -all {(^|[ =])/[\w./-]*/} $line {\1} line
    regsub -all {\msock[0-9a-f]+\M} $line {sock#} line
    regsub -all {\m[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\M} $line {#} line
    regsub -all {<(0\.1 ?%)} $line {\1} line
    regsub -all {[0-9]+(\.[0-9]+)*} $line {#} line
    regsub -all {tclsh#} $line {tclsh} line
    regsub -all {# (ns|us|ms|s|B|KB|MB)\M} $line {T} line
    regsub -all {\s+} $line { } line
    return [string trim [string map {{ - } { T }} $line]]$result
}

# The first line of EXPECTED that is not in ACTUAL, after the one before it if ORDERED; empty if there is none.
proc pages::Missing {expected actual ordered} {
    set shapes [lmap line [split $actual \n] {Shape $line}]
    set at 0
    foreach line [split [string trim $expected \n] \n] {
        if {[string trim $line] in {... {}}} {
            continue
        }
        set found [lsearch -exact -start $at $shapes [Shape $line]]
        if {$found < 0} {
            return $line
        }
        if {$ordered} {
            set at [expr {$found + 1}]
        } else {
            lset shapes $found {} ;# each line is found once
        }
    }
    return {}
}

# A directory with the tclsh and the etw of this build as the reader calls them.
proc pages::Programs {} {
    set dir [::testing::tempDir]
    file link -symbolic [file join $dir tclsh] [::testing::tclsh]
    set tool [::testing::writeFile [file join $dir etw] "#!/bin/sh\nexec \"\$ETW_TCLSH\" '[file join $::testing::buildDir etw]' \"\$@\"\n"]
    file attributes $tool -permissions 0o755
    return $dir
}

# Run TEXT in sh in DIR: its output. The commands of a page run in one directory, after each other, and share sessions only with
# each other. A C compiler finds the headers and the library of this build.
proc pages::RunIn {dir programs text} {
    set saved [array get ::env]
    set here [pwd]
    try {
        cd $dir
        set ::env(PATH) $programs:$::env(PATH)
        set ::env(TCLLIBPATH) [list $::testing::buildDir]
        set ::env(ETW_TCLSH) [::testing::tclsh]
        set ::env(ETW_RUNTIME_DIR) [file join $programs run]
        set ::env(C_INCLUDE_PATH) [file join $::testing::topDir generic]
        set ::env(LIBRARY_PATH) $::testing::buildDir
        set ::env(PKG_CONFIG_PATH) $::testing::buildDir
        set ::env(NO_COLOR) 1
        catch {exec sh -c $text </dev/null 2>@1} output
        return $output
    } finally {
        cd $here
        array unset ::env *
        array set ::env $saved
    }
}

# Run the page's examples: a list of what differs, empty if all is as the page shows it.
proc pages::run {path} {
    set dir [::testing::tempDir]
    set programs [Programs]
    set differences {}
    set blocks [Blocks $path]
    for {set i 0} {$i < [llength $blocks]} {incr i} {
        set block [lindex $blocks $i]
        set marker [dict get $block marker]
        if {[regexp {^file (\S+)$} $marker -> name]} {
            ::testing::writeFile [file join $dir $name] [dict get $block text]
        } elseif {[lindex $marker 0] eq "corpus"} {
            if {[tcltest::testConstraint corpus]} {
                file copy [::testing::corpusFile [lindex $marker 1]] $dir
            }
        } elseif {[lindex $marker 0] eq "run"} {
            set constraints [lsearch -all -inline -not -exact [lrange $marker 1 end] any-order]
            if {0 in [lmap constraint $constraints {tcltest::testConstraint $constraint}]} {
                continue
            }
            set output [RunIn $dir $programs [dict get $block text]]
            set next [expr {$i + 1 < [llength $blocks] ? [lindex $blocks $i+1] : {language {}}}]
            if {[dict get $next language] eq "text"} {
                set missing [Missing [dict get $next text] $output [expr {"any-order" ni $marker}]]
                if {$missing ne ""} {
                    lappend differences "line [dict get $block line]: not in the output: $missing\nThe output:\n$output"
                }
            }
        }
    }
    return $differences
}

# Blocks of commands and programs without a line that tells what to do with them.
proc pages::unmarked {path} {
    set lines {}
    foreach block [Blocks $path] {
        if {[dict get $block language] ne "text" && ![regexp {^(run( [\w-]+)*|file \S+|not run: .+)$} [dict get $block marker]]} {
            lappend lines [dict get $block line]
        }
    }
    return $lines
}
