# export_html.tcl --
#
#	etw export -format html: a self-contained page with a summary, a timeline and a flame graph. Its data
#	come from `etw timeline` and -format flamegraph; page.js and page.css are the page's code and style. All
#	texts of the trace are escaped here.

namespace eval ::etw::lib {
    variable pageDir [file dirname [file normalize [info script]]]
    # Width of the timeline in pixels at maximum zoom; maximum number of boxes in a page; rows of a table.
    variable pageWidth 4000
    variable pageBoxes 100000
    variable pageRows 50
    # Numbers the timelines.
    variable pages 0
}

proc ::etw::lib::Export-html {sources file options} {
    ExportCheck $sources $file
    if {[lsearch -glob $sources session:*] >= 0} {
        return -code error -errorcode {ETW UNSUPPORTED SOURCE html} \
            "the format html cannot read a running session, because it reads its sources twice: give the file of the session"
    }
    set title [expr {$sources eq "" ? "Records" : [join [lmap source $sources {file tail $source}] {, }]}]
    set filter [Options {-event -from -last -pid -progress -provider -records -schema -title -to -where} $options]
    if {[dict exists $filter -title]} {
        set title [dict get $filter -title]
        dict unset filter -title
    }
    return [ExportViaTemp $file {path {PageWrite $path $sources $title $filter}}]
}

proc ::etw::lib::PageWrite {path sources title filter} {
    variable pages
    set timeline page-[pid]-[incr pages]
    ::etw timeline create $timeline {*}$sources {*}[ExportPart $filter 0 2]
    try {
        set info [::etw timeline info $timeline]
        set page [PageOf $timeline $info $sources $title [PageFlame $path $sources [ExportPart $filter 1 2]]]
    } finally {
        ::etw timeline delete $timeline
    }
    set chan [OpenFile $path w]
    try {
        fconfigure $chan -encoding utf-8 -translation lf
        puts -nonewline $chan $page
    } finally {
        close $chan
    }
    return [dict create events [PageEvents $info] lost [dict get $info lost] warnings [dict get $info warnings]]
}

# The svg element of the flame graph, or a sentence.
proc ::etw::lib::PageFlame {path sources filter} {
    try {
        ::etw::export {*}$sources $path.svg {*}$filter -format flamegraph
        return [regsub {^<\?xml[^>]*>} [PageRead $path.svg] {}]
    } trap {ETW LOOKUP EMPTY} {} {
        return "<p>The trace has no calls.</p>"
    } finally {
        file delete -- $path.svg
    }
}

proc ::etw::lib::PageRead {path} {
    set chan [OpenFile $path]
    try {
        fconfigure $chan -encoding utf-8
        return [read $chan]
    } finally {
        close $chan
    }
}

# ---- Texts ---------------------------------------------------------------------------------------

proc ::etw::lib::PageTime {ns} {
    set seconds [expr {$ns / 1000000000}]
    return [clock format $seconds -format %Y-%m-%dT%H:%M:%S -gmt 1].[format %06lld [expr {$ns / 1000 % 1000000}]]Z
}

# ---- Parts ---------------------------------------------------------------------------------------

# Rows of cells below their headings; a heading that begins with # marks a column of numbers.
proc ::etw::lib::PageTable {heads rows} {
    variable pageRows
    set html "<table><thead><tr>"
    set classes {}
    foreach head $heads {
        lappend classes [expr {[string match #* $head] ? " class=\"n\"" : ""}]
        append html "<th[lindex $classes end]>[Xml [string trimleft $head #]]</th>"
    }
    append html "</tr></thead><tbody>\n"
    foreach row [lrange $rows 0 $pageRows-1] {
        append html <tr>
        foreach cell $row class $classes {
            append html "<td$class>[Xml $cell]</td>"
        }
        append html "</tr>\n"
    }
    append html "</tbody></table>"
    if {[llength $rows] > $pageRows} {
        append html "<p class=\"more\">and [expr {[llength $rows] - $pageRows}] more</p>"
    }
    return $html
}

# Records of the files' headers do not count, as in the other commands.
proc ::etw::lib::PageEvents {info} {
    return [expr {[dict get $info events] - [dict get $info headers]}]
}

proc ::etw::lib::PageSummary {info sources} {
    set rows [list [list Sources [join $sources {, }]] [list Events [PageEvents $info]]]
    if {[dict get $info events] > 0} {
        set first [dict get $info first]
        lappend rows [list From [PageTime $first]] [list To [PageTime [dict get $info last]]] \
            [list Duration [Duration [expr {[dict get $info last] - $first}] 2 \u00b5s]]
    }
    lappend rows [list Calls [dict get $info calls]] [list Lost [dict get $info lost]]
    if {[dict get $info cut]} {
        lappend rows [list {Calls that were never left} [dict get $info cut]]
    }
    set html "<table class=\"summary\">"
    foreach row $rows {
        lassign $row name value
        append html "<tr><th>[Xml $name]</th><td>[Xml $value]</td></tr>\n"
    }
    append html </table>
    if {[dict get $info lost] > 0} {
        append html "<p class=\"loss\">[dict get $info lost] events were lost: what follows has holes.</p>"
    }
    foreach warning [dict get $info warnings] {
        append html "<p class=\"warning\">[Xml $warning]</p>"
    }
    return $html
}

proc ::etw::lib::PageTotals {timeline info} {
    set totals [::etw timeline totals $timeline [dict get $info first] [dict get $info last]]
    set calls [lmap row [lsort -integer -decreasing -index 5 [lmap row [dict get $totals calls] {
        list [dict get $row proc] [dict get $row calls] [dict get $row total] [dict get $row errors] {} \
            [dict get $row self]
    }]] {
        lassign $row proc count total errors - self
        list $proc $count [Duration $self 2 \u00b5s] [Duration $total 2 \u00b5s] $errors
    }]
    set events [lsort -integer -decreasing -index 2 [lmap row [dict get $totals events] {
        list [dict get $row provider] [dict get $row event] [dict get $row count]
    }]]
    set waits [lmap row [lsort -integer -decreasing -index 2 [lmap row [dict get $totals waits] {
        list [dict get $row cause] [dict get $row count] [dict get $row total]
    }]] {
        list [lindex $row 0] [lindex $row 1] [Duration [lindex $row 2] 2 \u00b5s]
    }]
    set html {}
    foreach {title heads rows} [list Calls {Proc #Calls #Self #Total #Errors} $calls Waits {In #Times #Time} $waits \
            Events {Provider Event #Count} $events] {
        if {$rows ne ""} {
            append html "<section><h2>$title</h2>[PageTable $heads $rows]</section>\n"
        }
    }
    return $html
}

# "PID/TID". Events of drivers and of some providers lack one or both of them.
proc ::etw::lib::LaneIds {lane} {
    if {![dict exists $lane tid]} {
        return "no thread"
    }
    return [expr {[dict exists $lane pid] ? "[dict get $lane pid]/" : "thread "}][dict get $lane tid]
}

proc ::etw::lib::PageLane {lane} {
    set name {}
    switch [dict get $lane kind] {
        notes {
            return {losses and marks}
        }
        cpu {
            return "CPU [dict get $lane cpu]"
        }
    }
    if {[dict exists $lane process]} {
        set name "[dict get $lane process] "
    }
    return $name[LaneIds $lane]
}

# The timeline's data: each text once, lanes with boxes of seven numbers: kind level x0 x1 text count marks.
proc ::etw::lib::PageData {timeline info} {
    variable pageWidth
    variable pageBoxes
    set kinds {call 0 event 1 gap 2 run 3 match 4}
    set texts {}
    set lanes {}
    set boxes 0
    set left 0
    foreach lane [::etw timeline lanes $timeline] {
        if {$boxes >= $pageBoxes} {
            incr left
            continue
        }
        set rows {}
        foreach {kind - level x0 x1 text count marks -} [::etw timeline boxes $timeline [dict get $lane lane] \
                [dict get $info first] [dict get $info last] $pageWidth] {
            if {![dict exists $texts $text]} {
                dict set texts $text [dict size $texts]
            }
            lappend rows [dict get $kinds $kind],$level,[format %.2f,%.2f $x0 $x1],[dict get $texts $text],$count,$marks
        }
        if {$rows eq ""} {
            continue
        }
        incr boxes [llength $rows]
        lappend lanes "\{\"name\":[Json [PageLane $lane]],\"kind\":[Json [dict get $lane kind]],\"levels\":[dict get \
            $lane levels],\"boxes\":\[[join $rows ,]\]\}"
    }
    return "\{\"width\":$pageWidth,\"first\":\"[dict get $info first]\",\"span\":[expr {
        [dict get $info last] - [dict get $info first]}],\"left\":$left,\"texts\":\[[join [lmap text [dict keys $texts] {
        Json $text}] ,]\],\"lanes\":\[[join $lanes ,\n]\]\}"
}

proc ::etw::lib::PageOf {timeline info sources title flame} {
    variable pageDir
    set totals {}
    set data "{\"width\":1,\"first\":\"0\",\"span\":0,\"left\":0,\"texts\":\[\],\"lanes\":\[\]}"
    if {[dict get $info events] > 0} {
        set totals [PageTotals $timeline $info]
        set data [PageData $timeline $info]
    }
    return [join [list "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">" \
        "<meta name=\"viewport\" content=\"width=device-width\">" \
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline';\
            style-src 'unsafe-inline'\">" \
        "<title>[Xml $title]</title>\n<style>[PageRead [file join $pageDir page.css]]</style></head><body>" \
        "<h1>[Xml $title]</h1>\n[PageSummary $info $sources]" \
        "<section><h2>Timeline</h2><p class=\"help\">Wheel or + and - zoom, drag or arrows move, a double click or 0 shows\
            all.</p><div id=\"timeline\" tabindex=\"0\"><canvas></canvas><div class=\"tip\" hidden></div></div></section>" \
        "<section><h2>Calls by time</h2>$flame</section>" $totals \
        "<script type=\"application/json\" id=\"data\">$data</script>" \
        "<script>[PageRead [file join $pageDir page.js]]</script></body></html>\n"] \n]
}
