# tests/fuzz/seeds.tcl --
#
#	What the fuzzers begin with: files that our own writer makes, and small real ones where they are
#	(../shared/corpus beside the tree, or ETW_CORPUS). A fuzzer says what it reads in a line of its
#	header comment, `Seeds: *.etl`; with -DFUZZ_SEEDS it is a program that writes seeds of its own.
#
#	tclsh tests/fuzz/seeds.tcl DIR FUZZER.c ?FUZZER.c ...?    into DIR/FUZZER; ETW_BUILD_DIR has the package

namespace eval seeds {
    variable testDir [file dirname [file dirname [file normalize [info script]]]]
    # A corpus of large files is slow to mutate.
    variable maxBytes 131072
    variable maxFiles 40
}

# Patterns of file names that a fuzzer reads.
proc seeds::PatternsOf {source} {
    set chan [open $source]
    set text [read $chan]
    close $chan
    if {[regexp -line {^ \*\s+Seeds:\s+(.*)$} $text -> patterns]} {
        return $patterns
    }
    return {}
}

proc seeds::FilesBelow {dir pattern} {
    set found [glob -nocomplain -directory $dir -types f $pattern]
    foreach sub [glob -nocomplain -directory $dir -types d *] {
        lappend found {*}[FilesBelow $sub $pattern]
    }
    return $found
}

# The smallest real files, small ones only.
proc seeds::CopyReal {patterns dir} {
    variable testDir
    variable maxBytes
    variable maxFiles
    set corpus [file join [file dirname [file dirname $testDir]] shared corpus]
    if {[info exists ::env(ETW_CORPUS)]} {
        set corpus $::env(ETW_CORPUS)
    }
    set files {}
    foreach pattern $patterns {
        foreach file [FilesBelow $corpus $pattern] {
            if {[file size $file] <= $maxBytes} {
                lappend files [list [file size $file] $file]
            }
        }
    }
    set number 0
    foreach sized [lrange [lsort -integer -index 0 $files] 0 [expr {$maxFiles - 1}]] {
        file copy -force [lindex $sized 1] [file join $dir real-[incr number]-[file tail [lindex $sized 1]]]
    }
    return $number
}

# Traces of every kind that we write, with the smallest buffers.
proc seeds::WriteTraces {dir} {
    etw provider create Fuzz-Seeds -keywords {k 1}
    etw provider event Fuzz-Seeds Plain {n int text string wide wstring} -keyword k
    etw provider event Fuzz-Seeds Rich {pairs {struct {a int b string} *} list {uint16 *} ip ipv4 any ip at filetime
        d double f float flag bool g guid bytes binary sid sid day systemtime} -id 7 -opcode 1
    foreach {name options} {sequential {} circular {-mode circular -maxsize 1} append {-mode append}} {
        etw start seeds -file [file join $dir own-$name.etl] -buffersize 4 {*}$options
        Fill seeds
        etw stop seeds
    }
    etw start seeds -mode memory -buffersize 4
    Fill seeds
    etw snapshot seeds [file join $dir own-snapshot.etl]
    etw stop seeds
    etw provider delete Fuzz-Seeds
}

proc seeds::Fill {session} {
    etw enable $session Fuzz-Seeds
    etw enable $session Tcl-Script
    for {set n 0} {$n < 20} {incr n} {
        etw write Fuzz-Seeds Plain $n "text $n" "wide \u00e9\u4e2d"
    }
    etw write Fuzz-Seeds Rich {{a 1 b x} {a 2 b y}} {80 443} 10.0.0.1 ::1 1700000000123456700 0.1 0.2 1 \
        01234567-89ab-cdef-0123-456789abcdef abc S-1-5-18 1700000000123456700
    etw script run {set x [string length abc]; catch {error oops}}
    etw mark $session "a mark"
}

# The recordings of perf that are in the tree.
proc seeds::UnpackPerf {dir} {
    variable testDir
    foreach file [glob -directory [file join $testDir golden perf] *.data.gz] {
        set from [open $file rb]
        set to [open [file join $dir [file rootname [file tail $file]]] wb]
        puts -nonewline $to [zlib gunzip [read $from]]
        close $from
        close $to
    }
}

proc seeds::Main {dir sources} {
    foreach source $sources {
        set into [file join $dir [file rootname [file tail $source]]]
        file mkdir $into
        set patterns [PatternsOf $source]
        if {"*.etl" in $patterns} {
            WriteTraces $into
        }
        if {"*.perf" in $patterns} {
            UnpackPerf $into
        }
        CopyReal $patterns $into
    }
}

lappend auto_path $env(ETW_BUILD_DIR)
package require etw
seeds::Main [lindex $argv 0] [lrange $argv 1 end]
