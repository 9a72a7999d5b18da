# tests/project/clients.tcl --
#
#	Clients of Windows' event tracing that we did not write, against the simulated service (tests/win/sim) under Wine. Run by
#	tools/test.sh.
#
#	- Wine's conformance test of StartTrace (advapi32), from Debian's source of Wine (tools/suites.sh). Wine's developers run it on
#	  real versions of Windows: where it fails, the simulated service is wrong. Skipped without that source.
#
#	tclsh tests/project/clients.tcl -wine PROG -build DIR -cc COMPILER ?-totals FILE?

namespace eval clients {
    variable option
    array set option {-wine {} -build build-win -cc x86_64-w64-mingw32-gcc -totals {}}
    variable top [file dirname [file dirname [file dirname [file normalize [info script]]]]]
    variable cache [expr {[info exists env(ETW_CACHE)] ? $env(ETW_CACHE) : [file join $env(HOME) .cache etw]}]
}

# The functions of a test of Wine, with a main that calls them.
proc clients::WineProgram {source to names} {
    set f [open $source]
    set text [read $f]
    close $f
    set f [open $to w]
    puts $f "#include \"tests/win/wine_test.h\""
    foreach name $names {
        if {![regexp "\nstatic void ${name}\\(void\\)\n\{.*?\n\}\n" $text body]} {
            close $f
            error "Wine's [file tail $source] has no function $name any more"
        }
        puts $f $body
    }
    puts $f "int main(void)\n\{\n    [join $names "();\n    "]();"
    puts $f "    printf(\"%d checks, %d failed, %d skipped\\n\", wineChecks, wineFailures, wineSkips);\n    return wineFailures != 0;\n\}"
    close $f
}

proc clients::Wine {source} {
    variable option
    variable top
    variable dir
    set sim [file normalize [file join $option(-build) sim]]
    steps::Check "Wine's test of StartTrace: builds" {
        WineProgram $source $dir/starttrace.c test_start_trace
        exec $option(-cc) -I$top -I$top/generic -o $dir/starttrace.exe $dir/starttrace.c $sim/libetwsim.dll.a 2>@1
    }
    file copy $sim/etwsim.dll $dir
    steps::StartWine $option(-wine)
    steps::Check "Wine's test of StartTrace: the simulated service answers as Windows does" {
        cd $dir
        catch {exec $option(-wine) starttrace.exe 2>@1} output
        expr {[regexp {(\d+) checks, 0 failed, 0 skipped} $output -> checks] && $checks >= 11 ? "" : $output}
    }
}

proc clients::All {} {
    variable option
    variable cache
    variable dir [file normalize [exec mktemp -d]]
    set source [file join $cache suites wine eventlog.c]
    if {[file exists $source]} {
        Wine $source
    } else {
        steps::Skip "Wine's test of StartTrace" "$source is not there (sh tools/suites.sh gets it)"
    }
    cd /
    file delete -force $dir
    steps::End "clients of others" $option(-totals)
}

source [file join $clients::top tests project steps.tcl]
array set clients::option $argv
clients::All
