# tests/project/steps.tcl --
#
#	For the scripts that tools/test.sh runs beside the suites (exchange.tcl, zips.tcl): steps that are
#	counted, Wine as all.tcl has it, and the line of totals.

namespace eval steps {
    variable count
    array set count {passed 0 failed 0 skipped 0}
}

# A step is well when SCRIPT, run by the caller, gives an empty result.
proc steps::Check {name script} {
    variable count
    if {[catch {uplevel 1 $script} problem] || $problem ne ""} {
        puts "FAIL $name: [lindex [split $problem \n] 0]"
        puts [string range $problem 0 2000]
        incr count(failed)
    } else {
        puts "ok   $name"
        incr count(passed)
    }
}

proc steps::Skip {name why} {
    variable count
    puts "skip $name: $why"
    incr count(skipped)
}

# As in all.tcl: the server must not hold on to our pipes.
proc steps::StartWine {wine} {
    array set ::env [list WINEDEBUG -all WINEPREFIX [expr {[info exists ::env(ETW_CACHE)] ?
        "$::env(ETW_CACHE)/wine" : "$::env(HOME)/.cache/etw/wine"}]]
    foreach server {wineserver64 wineserver} {
        catch {exec [file join [file dirname $wine] $server] -p20 >& /dev/null}
    }
    catch {exec $wine cmd /c exit >& /dev/null}
}

# Exits; the line is for all.tcl -sum when there is a file of totals.
proc steps::End {label totals} {
    variable count
    if {$totals ne ""} {
        set f [open $totals a]
        puts $f [list $label $count(passed) $count(failed) $count(skipped)]
        close $f
    }
    puts "$label: $count(passed) passed, $count(failed) failed, $count(skipped) skipped"
    exit [expr {$count(failed) > 0}]
}
