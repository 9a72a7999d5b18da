# cover_formats.tcl --
#
#	The results of `etw cover` as text, annotated source, for lcov's genhtml, and as Cobertura XML.

proc ::etw::cover::Percent {part all} {
    return [expr {$all == 0 ? "-" : [format %.1f [expr {100.0 * $part / $all}]]}]
}

# Lines that were not executed as ranges: lines between them that cannot be executed belong to a range.
proc ::etw::cover::Missing {executed} {
    set ranges {}
    set from ""
    dict for {line count} $executed {
        if {$count == 0} {
            if {$from eq ""} {
                set from $line
            }
            set to $line
        } elseif {$from ne ""} {
            lappend ranges [expr {$from == $to ? $from : "$from-$to"}]
            set from ""
        }
    }
    if {$from ne ""} {
        lappend ranges [expr {$from == $to ? $from : "$from-$to"}]
    }
    return [join $ranges {, }]
}

proc ::etw::cover::Format-list {result} {
    dict set result files [lmap file [dict get $result files] {dict remove $file lines}]
    return $result
}

# ---- For people ----------------------------------------------------------------------------------

proc ::etw::cover::Format-text {result} {
    set rows {}
    set sums {0 0 0 0 0 0}
    set notes {}
    foreach file [dict get $result files] {
        set figures [Figures $file]
        lassign $figures lines executed functions called branches taken
        set sums [lmap sum $sums figure $figures {expr {$sum + $figure}}]
        set path [Shown [dict get $file path]]
        lappend rows [list $path $lines [Percent $executed $lines] [Percent $called $functions] [Percent $taken $branches] \
            [Missing [dict get $file executed]]]
        if {[dict get $file changed]} {
            lappend notes "-- $path has changed since it was executed: its lines may be wrong"
        }
        if {[dict get $file error] ne ""} {
            lappend notes "-- $path: [dict get $file error]; only lines that were executed are known"
        }
    }
    lassign $sums lines executed functions called branches taken
    lappend rows [list [expr {[llength $rows] == 1 ? "1 file" : "[llength $rows] files"}] $lines [Percent $executed $lines] \
        [Percent $called $functions] [Percent $taken $branches] {}]
    set text [::etw::lib::Table {FILE >LINES >LINES% >PROCS% >BRANCHES% {LINES THAT WERE NOT EXECUTED}} $rows]
    return [join [concat $text $notes [Losses $result]] \n]\n
}

proc ::etw::cover::Losses {result} {
    set notes {}
    if {[dict get $result lost] > 0} {
        lappend notes "-- [dict get $result lost] events were lost: lines that were executed may be missing"
    }
    foreach warning [dict get $result warnings] {
        lappend notes "-- $warning"
    }
    return $notes
}

# The source with the count of each line; lines that were not executed have a mark, as have branches that were not taken.
proc ::etw::cover::Format-source {result} {
    set text {}
    foreach file [dict get $result files] {
        lassign [Figures $file] lines executed
        lappend text "-- [Shown [dict get $file path]]: $executed of $lines lines executed[expr {[dict get $file changed] ? "; the file has changed since" : ""}]"
        set untaken {}
        foreach branch [dict get $file branches] {
            lassign $branch line kind count arms
            if {$count > 0} {
                foreach arm $arms {
                    if {[lindex $arm 1] == 0} {
                        dict lappend untaken $line "$kind: [lindex $arm 0]"
                    }
                }
            }
        }
        set counts [dict get $file executed]
        set number 0
        foreach line [dict get $file lines] {
            incr number
            set count [expr {[dict exists $counts $number] ? [dict get $counts $number] : ""}]
            set note [expr {[dict exists $untaken $number] ? "    <- never: [join [dict get $untaken $number] {, }]" : ""}]
            lappend text [string trimright [format {%s%9s %5d  %s%s} [expr {$count eq "0" ? "!" : " "}] $count $number $line $note]]
        }
    }
    return [::etw::lib::visible [join [concat $text [Losses $result]] \n] lines]\n
}

# ---- For other programs --------------------------------------------------------------------------

# A tracefile of lcov (geninfo(1)): `genhtml` makes HTML of it.
proc ::etw::cover::Format-lcov {result} {
    set text {}
    foreach file [dict get $result files] {
        lassign [Figures $file] lines executed functions called branches taken
        lappend text TN: SF:[dict get $file path]
        set known {}
        foreach function [dict get $file functions] {
            lassign $function name line count empty
            if {!$empty} {
                set name [string map {, _ \n { }} $name]
                lappend text FN:$line,$name
                lappend known FNDA:$count,$name
            }
        }
        lappend text {*}$known FNF:$functions FNH:$called
        set block -1
        foreach branch [dict get $file branches] {
            lassign $branch line kind count arms
            incr block
            set number -1
            foreach arm $arms {
                lappend text BRDA:$line,$block,[incr number],[expr {$count == 0 ? "-" : [lindex $arm 1]}]
            }
        }
        lappend text BRF:$branches BRH:$taken
        dict for {line count} [dict get $file executed] {
            lappend text DA:$line,$count
        }
        lappend text LF:$lines LH:$executed end_of_record
    }
    return [join $text \n]\n
}

proc ::etw::cover::Rate {part all} {
    return [format %.4f [expr {$all == 0 ? 1.0 : double($part) / $all}]]
}

# Cobertura's coverage-04.dtd, which GitLab, Jenkins and Azure read. A package is a directory, a class is a file.
proc ::etw::cover::Format-cobertura {result} {
    set packages {}
    set sums {0 0 0 0 0 0}
    foreach file [dict get $result files] {
        set figures [Figures $file]
        set sums [lmap sum $sums figure $figures {expr {$sum + $figure}}]
        dict lappend packages [file dirname [Shown [dict get $file path]]] [list $file $figures]
    }
    lassign $sums lines executed functions called branches taken
    set xml [list {<?xml version="1.0" encoding="UTF-8"?>} {<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">} \
        "<coverage line-rate=\"[Rate $executed $lines]\" branch-rate=\"[Rate $taken $branches]\" lines-covered=\"$executed\" lines-valid=\"$lines\"\
branches-covered=\"$taken\" branches-valid=\"$branches\" complexity=\"0\" version=\"etw [package provide etw]\" timestamp=\"[clock seconds]\">" \
        "<sources><source>[::etw::lib::Xml [pwd]]</source></sources>" <packages>]
    dict for {directory files} $packages {
        set all {0 0 0 0 0 0}
        foreach entry $files {
            set all [lmap sum $all figure [lindex $entry 1] {expr {$sum + $figure}}]
        }
        lappend xml "<package name=\"[::etw::lib::Xml $directory]\" [Rates $all]><classes>"
        foreach entry $files {
            lappend xml {*}[CoberturaClass {*}$entry]
        }
        lappend xml </classes></package>
    }
    return [join [concat $xml </packages></coverage>] \n]\n
}

proc ::etw::cover::Rates {figures} {
    lassign $figures lines executed functions called branches taken
    return "line-rate=\"[Rate $executed $lines]\" branch-rate=\"[Rate $taken $branches]\" complexity=\"0\""
}

proc ::etw::cover::CoberturaClass {file figures} {
    set path [Shown [dict get $file path]]
    set arms {}
    foreach branch [dict get $file branches] {
        dict lappend arms [lindex $branch 0] {*}[lindex $branch 3]
    }
    set xml [list "<class name=\"[::etw::lib::Xml [file rootname [file tail $path]]]\" filename=\"[::etw::lib::Xml $path]\" [Rates $figures]><methods>"]
    foreach function [dict get $file functions] {
        lassign $function name line count empty
        if {!$empty} {
            lappend xml "<method name=\"[::etw::lib::Xml $name]\" signature=\"()\" line-rate=\"[Rate [expr {$count > 0}] 1]\" branch-rate=\"1.0000\"\
complexity=\"0\"><lines><line number=\"$line\" hits=\"$count\"/></lines></method>"
        }
    }
    lappend xml </methods><lines>
    dict for {line count} [dict get $file executed] {
        set branch {branch="false"}
        if {[dict exists $arms $line]} {
            set counts [lmap arm [dict get $arms $line] {lindex $arm 1}]
            set branch "branch=\"true\" condition-coverage=\"[expr {100 * [Above $counts] / [llength $counts]}]% ([Above $counts]/[llength $counts])\""
        }
        lappend xml "<line number=\"$line\" hits=\"$count\" $branch/>"
    }
    return [lappend xml </lines></class>]
}
