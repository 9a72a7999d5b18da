# cover_join.tcl --
#
#	Joins what traces say was executed (events Cover of Tcl-Script) with what could be executed
#	(cover_source.tcl).

# The counts in traces: a list of a dict of files -> lists of {LINE COLUMN TEXT COUNT} (text "": how far the main script came), the
# lost events, warnings, and the time of the last event in seconds. options: of `etw summary`.
proc ::etw::cover::Counts {sources options} {
    set summary [::etw summary {*}$sources {*}$options -provider Tcl-Script -event Cover -by {File Line Column Command} \
        -value Count -format list -top 0 -groups 1000000]
    set counts {}
    foreach group [dict get $summary groups] {
        lassign [dict get $group by] file line column text
        dict lappend counts $file [list $line $column [string trim $text] [expr {wide([dict get $group sum])}]]
    }
    set last [expr {[dict get $summary groups] eq {} ? 0 : [dict get $summary total last]}]
    return [list $counts [dict get $summary lost] [dict get $summary warnings] [expr {$last / 1000000000}]]
}

# The result for one file: a dict with
#	path lines
#	executed	dict of lines that could be executed -> count
#	functions	a list of {NAME LINE COUNT}
#	branches	a list of {LINE KIND COUNT ARMS}; each arm is {LABEL COUNT}
#	error		"", or why the file could not be analysed: then only lines that were executed are known
#	changed		1: the file was written after `last`, so that lines may be wrong
proc ::etw::cover::Join {path counts last} {
    if {[catch {Source $path} source]} {
        set source [dict create commands {} functions {} branches {} excluded {} lines {} error $source]
    }
    set commands [dict get $source commands]
    lassign [CommandCounts $commands $counts] counted inferred
    set executed {}
    foreach command $commands count $counted {
        set line [lindex $command 0]
        if {![dict exists $executed $line] || [dict get $executed $line] < $count} {
            dict set executed $line $count
        }
    }
    foreach entry $counts { ;# scripts of commands that are not in `handlers`
        lassign $entry line column text count
        if {$text ne "" && (![dict exists $executed $line] || [dict get $executed $line] < $count)} {
            dict set executed $line $count
        }
    }
    set excluded [dict get $source excluded]
    set executed [dict filter $executed script {line count} {expr {![dict exists $excluded $line]}}]
    set functions [lmap function [dict get $source functions] {
        lassign $function name line first
        if {[dict exists $excluded $line]} continue
        list $name $line [expr {$first < 0 ? 0 : [lindex $counted $first]}] [expr {$first < 0}]
    }]
    set branches [lmap branch [dict get $source branches] {
        if {[dict exists $excluded [lindex $branch 0]]} continue
        ArmCounts $branch $counted $inferred
    }]
    return [dict create path $path lines [dict get $source lines] executed [lsort -stride 2 -integer $executed] \
        functions $functions branches [lsort -integer -index 0 $branches] error [dict get $source error] \
        changed [expr {[file exists $path] && [file mtime $path] > $last}]]
}

# For each command of the file how often it was executed, and a dict of those commands of a main script that were executed at least that often. Of several commands in a line with the same text, the first in the line
# is the one with the smallest column.
proc ::etw::cover::CommandCounts {commands counts} {
    set known {}
    set reached {}
    set inferred {}
    foreach entry [lsort -integer -index 1 $counts] {
        lassign $entry line column text count
        if {$text eq ""} {
            lappend reached [expr {$line == 0 ? Inf : $line}] $count
        } else {
            dict lappend known [list $line [Shortened $text]] $count
        }
    }
    set order [lsort -integer -index 1 [lmap command $commands {list [incr index] [lindex $command 1]}]]
    set counted [lrepeat [llength $commands] 0]
    set depth -1
    foreach place $order {
        set at [expr {[lindex $place 0] - 1}]
        lassign [lindex $commands $at] line from text to
        set key [list $line [Shortened $text]]
        set count 0
        if {[dict exists $known $key]} {
            set left [lassign [dict get $known $key] count]
            if {$left ne ""} {
                dict set known $key $left
            }
        }
        if {$from >= $depth} { ;# at the top level of the file
            set depth $to
            if {$count == 0 && $reached ne {}} {
                dict set inferred $at 1
                foreach {end runs} $reached {
                    if {$line <= $end} {
                        set count [expr {max($count, $runs)}]
                    }
                }
            }
        }
        lset counted $at $count
    }
    return [list $counted $inferred]
}

# Traces have the beginning of long commands.
proc ::etw::cover::Shortened {text} {
    return [string trim [string range $text 0 99]]
}

proc ::etw::cover::ArmCounts {branch counted inferred} {
    lassign $branch line kind index arms
    set all [lindex $counted $index]
    set taken 0
    set result {}
    foreach arm $arms {
        lassign $arm label command
        if {$command eq "rest" && [dict exists $inferred $index]} {
            continue ;# it is not known how often the command was executed
        } elseif {$command eq "rest"} {
            lappend result [list $label [expr {max(0, $all - $taken)}]]
        } elseif {$command >= 0} {
            set count [lindex $counted $command]
            incr taken $count
            lappend result [list $label $count]
        }
    }
    return [list $line $kind $all $result]
}
