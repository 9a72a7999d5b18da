# tests/project/zips.tcl --
#
#	What users of Windows get: makes the zips (tools/package.sh windows), unpacks them, looks at what is in them, and
#	runs the package, the command-line tool and its launcher from the unpacked 64-bit one under Wine. There is
#	no Wine for 32 bits here: of that zip's DLL it is read what it is and what it needs. Run by tools/test.sh.
#
#	tclsh tests/project/zips.tcl -wine PROG -wintclsh PROG ?-wintclsh9 PROG? ?-totals FILE?

namespace eval zips {
    variable option
    array set option {-wine wine -wintclsh tclsh86.exe -wintclsh9 {} -totals {}}
    variable top [file dirname [file dirname [file dirname [file normalize [info script]]]]]
    variable dir {} ;# where both are unpacked
}

# ---- What is in them -------------------------------------------------------------------------------

# The files below `root`, as names relative to it, sorted.
proc zips::Files {root} {
    set found {}
    foreach line [split [exec find $root -type f] \n] {
        lappend found [string range $line [string length $root/] end]
    }
    return [lsort $found]
}

# What must be there: the source's library and the catalogue made from it, the pages, and the files around them.
proc zips::Expected {dlls build} {
    variable top
    set files [list CHANGES README.md license.terms etw.bat etw.tcl pkgIndex.tcl windows-selftest.tcl library/catalog.dat library/commit.txt {*}$dlls]
    foreach line [split [exec git -C $top ls-files --cached --others --exclude-standard library] \n] {
        lappend files $line
    }
    set tutorial {}
    foreach page [glob -nocomplain -directory $top/doc *.man tutorial/*.man tutorial/*.md] {
        set name [file rootname [file tail $page]]
        lappend files doc/[expr {$name eq "index" ? "tutorial" : $name}].html
        if {[file extension $page] eq ".md"} {
            append tutorial [exec cat $page]
        }
    }
    foreach picture [glob -directory $top/doc/pictures -tails *] {
        if {[string first ../pictures/$picture $tutorial] >= 0} {
            lappend files doc/$picture
        }
    }
    foreach path [glob -directory $top/doc -tails tutorial/*.md pictures/*] {
        lappend files doc/$path
    }
    lappend files doc/index.html doc/search-index.js doc/site.css doc/site.js
    return [lsort -unique $files]
}

proc zips::Contents {name dlls} {
    variable dir
    set root $dir/$name
    set tops [glob -tails -directory $root *]
    set here [Files $root/etw1.0]
    set there [Expected $dlls $name]
    if {$tops ne "etw1.0"} {
        return "more than one directory: $tops"
    }
    set missing [lmap file $there {expr {$file in $here ? [continue] : $file}}]
    set stray [lmap file $here {expr {$file in $there ? [continue] : $file}}]
    return [expr {$missing eq {} && $stray eq {} ? "" : "missing: $missing; stray: $stray"}]
}

# Links between the pages, and that none is empty.
proc zips::Pages {name} {
    variable dir
    set bad {}
    foreach page [glob $dir/$name/etw1.0/doc/*.html] {
        set f [open $page]
        fconfigure $f -encoding utf-8
        set text [read $f]
        close $f
        if {[string length $text] < 1000} {
            lappend bad $page
        }
        foreach {all target} [regexp -all -inline {href="([^"#:]+)[#"]} $text] {
            if {![file exists [file join [file dirname $page] $target]]} {
                lappend bad "[file tail $page] -> $target"
            }
        }
    }
    return $bad
}

# The DLL is for that processor, stripped, needs what Windows has, and nothing of the tests is in it.
proc zips::Dll {file kind} {
    set odd [lmap dll [dict keys [pe::imports $file]] {
        expr {$dll in $pe::ofWindows ? [continue] : $dll}
    }]
    set data [pe::Bytes $file]
    foreach text {etwsim EtwSim Sim-Manifest-Provider .debug_info} {
        if {[string first $text $data] >= 0} {
            lappend odd $text
        }
    }
    set names [dict get [pe::imports $file] advapi32.dll]
    foreach name {StartTraceW ControlTraceW EnableTraceEx2 OpenTraceW ProcessTrace EventRegister} {
        if {$name ni $names} {
            lappend odd "no $name"
        }
    }
    return [expr {[pe::kind $file] eq $kind ? $odd : "is [pe::kind $file], not $kind"}]
}

# ---- Running them ----------------------------------------------------------------------------------

# A script in a Tcl of Windows, with the unpacked package in its path; its output.
proc zips::Run {tclsh script} {
    variable option
    variable dir
    set path $dir/script.tcl
    set f [open $path w]
    puts $f [list set root Z:$dir/win64/etw1.0]
    puts $f [list set dir Z:$dir]
    puts $f {fconfigure stdout -translation lf}
    puts $f {set auto_path [linsert $auto_path 0 $root]}
    puts $f $script
    close $f
    set ::env(ETW_RUNTIME_DIR) Z:$dir/run
    return [exec $option(-wine) $tclsh Z:$path 2>@1]
}

proc zips::Loads {tclsh} {
    set output [Run $tclsh {
        puts [package require etw]
        set file [file join $dir loads.etl]
        proc twice {n} {expr {2 * $n}}
        etw record $file -script twice {twice 21}
        puts [llength [etw events $file -where {$provider eq "Tcl-Script" && $event eq "Enter"}]]
        puts [file exists [lindex [lsearch -inline -index 1 [info loaded] Etw] 0]]
        puts [llength [etw schema describe Microsoft-Windows-Kernel-Network]]
    }]
    return [expr {[string match "1.0\n1\n1\n\[1-9]*" $output] ? "" : $output}]
}

# etw.bat in a path with a blank, on the file that Loads made.
proc zips::Launcher {args} {
    variable option
    variable dir
    set blank "$dir/with blank"
    if {![file exists $blank]} {
        file copy $dir/win64/etw1.0 $blank
    }
    set ::env(ETW_TCLSH) Z:[string map {/ \\} [file normalize $option(-wintclsh)]]
    set ::env(ETW_RUNTIME_DIR) Z:$dir/run
    return [exec $option(-wine) cmd /c [string map {/ \\} "Z:$blank/etw.bat"] {*}$args 2>@1]
}

# As a user is asked to: from where it was unpacked.
proc zips::Self {} {
    variable option
    variable dir
    set output [exec $option(-wine) $option(-wintclsh) Z:$dir/win64/etw1.0/windows-selftest.tcl Z:$dir/report.txt 2>@1]
    set written [expr {[file exists $dir/report.txt] && [file size $dir/report.txt] > 0}]
    return [expr {$written && [string match *Wine* $output] && ![regexp -line {^FAIL} $output] ? "" : $output}]
}

# ---- All -------------------------------------------------------------------------------------------

proc zips::Look {} {
    variable dir
    foreach {name dlls kind} {
        win64 {etw10.dll tcl9etw10.dll} {0x8664 0x20b}
        win32 etw10.dll {0x14c 0x10b}
    } {
        steps::Check "$name: what is in it, and nothing else" {
            Contents $name $dlls
        }
        steps::Check "$name: the pages are whole" {
            Pages $name
        }
        foreach dll $dlls {
            steps::Check "$name: $dll is for that processor and needs Windows' own libraries only" {
                Dll $dir/$name/etw1.0/$dll $kind
            }
        }
    }
}

proc zips::Use {} {
    variable option
    variable dir
    steps::StartWine $option(-wine)
    steps::Check "win64: the package loads, records and reads, Tcl 8.6" {
        Loads $option(-wintclsh)
    }
    if {$option(-wintclsh9) ne ""} {
        steps::Check "win64: the package loads, records and reads, Tcl 9" {
            Loads $option(-wintclsh9)
        }
    }
    steps::Check "win64: etw.bat, from a path with a blank" {
        set output [Launcher dump Z:$dir/loads.etl -format list]
        expr {[regexp {Tcl-Script} $output] && [regexp {twice} $output] ? "" : $output}
    }
    steps::Check "win64: etw.bat --version" {
        set output [Launcher --version]
        expr {[string match "etw 1.0*" $output] ? "" : $output}
    }
    steps::Check "win64: the self-test says that this is Wine, and reports" {
        Self
    }
}

proc zips::All {} {
    variable option
    variable top
    variable dir [file normalize [exec mktemp -d]]
    steps::Check "make the zips" {
        set made [exec sh $top/tools/package.sh windows 2>@1]
        foreach name {win64 win32} {
            exec unzip -q -d $dir/$name $top/dist/etw1.0-$name.zip
        }
    }
    if {[file isdirectory $dir/win64/etw1.0] && [file isdirectory $dir/win32/etw1.0]} {
        Look
        Use
    }
    file delete -force $dir
    steps::End "zips for Windows" $option(-totals)
}

source [file join $zips::top tests project steps.tcl]
source [file join $zips::top tests win pe.tcl]
array set zips::option $argv
zips::All
