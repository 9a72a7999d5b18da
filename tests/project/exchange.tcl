# tests/project/exchange.tcl --
#
#	A .etl file written under Wine reads the same on Linux, and the other way round: each side
#	writes one, both sides dump both, in each format, and the bytes are compared. Run by
#	tools/test.sh when both builds are there; its own child as `exchange.tcl -worker ...`.
#
#	tclsh tests/project/exchange.tcl -linux DIR -windows DIR -wine PROG -wintclsh PROG ?-totals FILE?

namespace eval exchange {
    variable option
    array set option {-linux build -windows build-win -wine wine -wintclsh tclsh86.exe -totals {}}
    variable formats {text csv json list}
}

# ---- In the child --------------------------------------------------------------------------------

proc exchange::Fibonacci {n} {
    return [expr {$n < 2 ? $n : [Fibonacci [expr {$n - 1}]] + [Fibonacci [expr {$n - 2}]]}]
}

proc exchange::Fails {} {
    error "as it \u00fcberhaupt must"
}

# A file with what we make: a provider's values of every kind, script calls and steps, an error, a
# mark, and the kernel's events where they may be had.
proc exchange::Write {file} {
    etw provider create Exchange -keywords {one 1 two 2}
    etw provider event Exchange Values {n int64 x double text string raw binary} -keyword one
    etw provider event Exchange Kinds {a int8 b uint16 c bool d float e wstring f ip g {uint32 *}
        h {struct {x int y string}} i guid j hex32} -keyword two
    etw start exchange -file $file
    etw enable exchange Exchange
    etw enable exchange Tcl-Script
    foreach {n x text} [list 1 0.5 plain -5 1e300 "\u00e4\u20ac \"quoted\", \{braces\}" \
            9223372036854775807 -0.0 "line\nbreak\ttab"] {
        etw write Exchange Values $n $x $text [binary format c* {0 255 10}]
    }
    etw write Exchange Kinds -5 65535 1 0.25 "w\u00efde" 127.0.0.1 {1 2 3} {x 1 y two} \
        01234567-89ab-cdef-0123-456789abcdef 0xff
    if {![catch {etw enable exchange kernel {tcpip process systemcall}}]} {
        set server [socket -server {apply {{c args} {close $c}}} -myaddr 127.0.0.1 0]
        close [socket 127.0.0.1 [lindex [fconfigure $server -sockname] 2]]
        close $server
    }
    etw script add ::exchange::Fibonacci ::exchange::Fails -steps full
    Fibonacci 4
    catch {Fails}
    etw script remove
    etw mark exchange "half way \u2713"
    etw stop exchange
    etw provider delete Exchange
}

proc exchange::Dump {file format output} {
    etw dump $file -format $format -output $output
}

proc exchange::Worker {build what args} {
    lappend ::auto_path $build
    package require -exact etw 1.0
    [string totitle $what] {*}$args
}

# ---- In the parent -------------------------------------------------------------------------------

proc exchange::Run {side args} {
    variable option
    set script [file normalize [info script]]
    if {$side eq "linux"} {
        set ::env(ETW_RUNTIME_DIR) $exchange::dir/run-linux
        exec [info nameofexecutable] $script -worker [file normalize $option(-linux)] {*}$args 2>@1
    } else {
        set ::env(ETW_RUNTIME_DIR) Z:$exchange::dir/run-windows
        exec $option(-wine) $option(-wintclsh) $script -worker [file normalize $option(-windows)] \
            {*}$args 2>@1
    }
}

proc exchange::Read {path} {
    set f [open $path rb]
    try {
        return [read $f]
    } finally {
        close $f
    }
}

# Empty when both files hold the same, but for the path, which each side spells in its own way; else
# where they part.
proc exchange::Difference {a b} {
    variable dir
    set one [list Z:$dir $dir]
    foreach line [split [string map $one [Read $a]] \n] \
            other [split [string map $one [Read $b]] \n] {
        incr number
        if {$line ne $other} {
            return "line $number differs:\n  $line\n  $other"
        }
    }
    if {[file size $a] < 100} {
        return "there is nothing in it"
    }
    return
}

proc exchange::All {} {
    variable option
    variable formats
    variable dir [exec mktemp -d]
    steps::StartWine $option(-wine)
    foreach writer {linux windows} {
        set file $dir/$writer.etl
        steps::Check "written by $writer" {
            Run $writer write $file
        }
        foreach format $formats {
            steps::Check "written by $writer, $format is the same on both sides" {
                Run linux dump $file $format $dir/a.out
                Run windows dump $file $format $dir/b.out
                Difference $dir/a.out $dir/b.out
            }
        }
    }
    file delete -force $dir
    steps::End "files exchanged between Linux and Wine" $option(-totals)
}

if {[lindex $argv 0] eq "-worker"} {
    exchange::Worker {*}[lrange $argv 1 end]
} else {
    source [file join [file dirname [info script]] steps.tcl]
    array set exchange::option $argv
    exchange::All
}
