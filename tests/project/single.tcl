# tests/project/single.tcl --
#
#	The tool as one file (tools/single.sh), where there is no Tcl: dist/etw in a root directory that has nothing but the C
#	library, and dist/etw.exe under Wine. Run by tools/test.sh.
#
#	tclsh tests/project/single.tcl ?-wine PROG? ?-linux BOOLEAN? ?-totals FILE?

namespace eval single {
    variable option
    array set option {-wine {} -linux 1 -totals {}}
    variable top [file dirname [file dirname [file dirname [file normalize [info script]]]]]
    variable dir {}
}

# A script, and what its recording must show.
proc single::Script {path} {
    set f [open $path w]
    puts $f {
        proc twice {n} {return [expr {2 * $n}]}
        puts [twice 21]
        puts [package require etw]
    }
    close $f
}

# The files of the C library that a program and its libraries need: into the same places below the root.
proc single::Bare {root file} {
    foreach {- path} [regexp -all -inline {(/\S+/(?:lib[cm]|libdl|libpthread|librt|ld-linux[^ ]*)\.so[^ ]*)} [exec ldd $file]] {
        file mkdir $root/[file dirname $path]
        if {![file exists $root/$path]} {
            exec cp -L $path $root/$path
        }
    }
}

# In the bare root, which has /proc: the tool's output.
proc single::InRoot {args} {
    variable dir
    return [exec unshare --mount sh -c {mount -t proc proc "$0/proc" && exec env -i PATH=/ TMPDIR=/tmp "$(command -v chroot)" "$0" "$@"} \
        $dir/root {*}$args 2>@1]
}

proc single::Linux {} {
    variable top
    variable dir
    steps::Check "make etw" {
        set output [exec sh $top/tools/single.sh linux 2>@1]
        expr {[file exists $top/dist/etw] ? "" : $output}
    }
    if {![file exists $top/dist/etw]} {
        return
    }
    if {[exec id -u] ne "0"} {
        steps::Skip "etw in a bare root" "chroot needs root"
        return
    }
    file mkdir $dir/root/tmp $dir/root/proc $dir/root/dev/shm ;# as containers have them
    file copy $top/dist/etw $dir/root/etw
    Bare $dir/root $top/dist/etw
    Script $dir/root/script.tcl
    exec mknod -m 666 $dir/root/dev/null c 1 3
    steps::Check "etw in a bare root: --version" {
        set output [InRoot /etw --version]
        expr {[string match "etw 1.0*Tcl 9*" $output] ? "" : $output}
    }
    steps::Check "etw in a bare root: runs a script, which has the package" {
        set output [InRoot /etw tclsh /script.tcl]
        expr {$output eq "42\n1.0" ? "" : $output}
    }
    steps::Check "etw in a bare root: records a script, and reads the file" {
        set output [InRoot /etw record -o /tmp/t.etl -- /etw tclsh /script.tcl]
        append output \n[InRoot /etw dump /tmp/t.etl]
        expr {[regexp {twice 21} $output] ? "" : $output}
    }
    steps::Check "etw in a bare root: a session of a process of its own" {
        set output [InRoot /etw start bare --file /tmp/bare.etl]
        append output \n[InRoot /etw stop bare]
        expr {[file exists $dir/root/tmp/bare.etl] ? "" : $output}
    }
}

proc single::Exe {args} {
    variable option
    variable top
    variable dir
    set ::env(LOCALAPPDATA) Z:$dir/cache
    set ::env(ETW_RUNTIME_DIR) Z:$dir/run
    return [string map {\r {}} [exec $option(-wine) $top/dist/etw.exe {*}$args 2>@1]]
}

proc single::Windows {} {
    variable option
    variable top
    variable dir
    steps::Check "make etw.exe" {
        set output [exec sh $top/tools/single.sh windows 2>@1]
        expr {[file exists $top/dist/etw.exe] ? "" : $output}
    }
    if {![file exists $top/dist/etw.exe]} {
        return
    }
    steps::Check "etw.exe needs Windows' own libraries only" {
        lmap dll [dict keys [pe::imports $top/dist/etw.exe]] {
            expr {$dll in $pe::ofWindows || $dll in {netapi32.dll userenv.dll} ? [continue] : $dll}
        }
    }
    steps::StartWine $option(-wine)
    file mkdir $dir/cache
    Script $dir/script.tcl
    steps::Check "etw.exe: --version" {
        set output [Exe --version]
        expr {[string match "etw 1.0*Tcl 9*" $output] ? "" : $output}
    }
    steps::Check "etw.exe: runs a script, which has the package" {
        set output [Exe tclsh Z:$dir/script.tcl]
        expr {$output eq "42\n1.0" ? "" : $output}
    }
    steps::Check "etw.exe: records a script, and reads the file" {
        set output [Exe record -o Z:$dir/t.etl -- Z:$top/dist/etw.exe tclsh Z:$dir/script.tcl]
        append output \n[Exe dump Z:$dir/t.etl]
        expr {[regexp {twice 21} $output] ? "" : $output}
    }
    steps::Check "etw.exe: calls, report, relog" {
        set output [Exe calls Z:$dir/t.etl]
        append output \n[Exe report Z:$dir/t.etl] \n[Exe relog Z:$dir/t.etl Z:$dir/copy.etl]
        append output \n[Exe dump Z:$dir/copy.etl --event Enter]
        expr {[regexp {twice.*twice.*twice 21} $output] && [file exists $dir/copy.etl] ? "" : $output}
    }
    steps::Check "etw.exe: view saves a picture; a window needs Tk, which is not in the file" {
        catch {Exe view Z:$dir/t.etl} output
        append output [Exe view Z:$dir/t.etl --save Z:$dir/t.svg]
        expr {[regexp {etw view needs Tk} $output] && [file exists $dir/t.svg] ? "" : $output}
    }
    steps::Check "etw.exe: selftest reports that this is Wine" {
        set output [Exe selftest Z:$dir/report.txt]
        expr {[regexp {Wine} $output] && [regexp {0 failed, \d+ not proven} $output] ? "" : $output}
    }
}

proc single::All {} {
    variable option
    variable dir [file normalize [exec mktemp -d]]
    if {$option(-linux)} {
        Linux
    }
    if {$option(-wine) ne ""} {
        Windows
    }
    file delete -force $dir
    steps::End "the tool as one file" $option(-totals)
}

source [file join $single::top tests project steps.tcl]
source [file join $single::top tests win pe.tcl]
array set single::option $argv
single::All
