# view_model.tcl --
#
#	The viewer's model: a timeline (etw timeline), the visible part of it, its lanes, the selection, matches
#	and the box under the pointer. Needs no Tk and draws nothing: draw.tcl creates a drawing of it,
#	window.tcl shows that.
#
#	set m [etw::view::Model new trace.etl]
#	$m size 1200 600; $m zoom 0.5 300; set drawing [$m drawing]; $m destroy

oo::class create ::etw::view::Model {
    # name: of the timeline; info: its last information. from, to: visible span in ns. rows: the layout of lanes,
    # a dict each. folded: lanes whose calls are not shown. order: of threads; hidden: lanes; fewest: events of a thread that is
    # shown. picked: the box that is shown in detail.
    variable order hidden fewest
    variable name source info from to width height top rows folded rowHeight stripHeight gutter charWidth rulerHeight
    variable selection picked where theme follow scale

    constructor {sources args} {
        set name [namespace current]
        set source $sources
        ::etw timeline create $name {*}$sources {*}$args -read 0
        set info [::etw timeline info $name]
        lassign {0 1 1000 600 0} from to width height top
        lassign {{} {} {} {} {}} rows folded selection picked where
        set theme light
        lassign {process {} 0} order hidden fewest
        set follow [dict get $info live]
        my scale 1.0
    }
    destructor {
        catch {::etw timeline delete $name}
    }

    # ---- Reading -------------------------------------------------------------------------------------------

    # Read for a number of ms (0: everything available); true while there may be more.
    method read {{ms 0}} {
        set before [dict get $info events]
        set whole [expr {$before == 0 || ($from <= [dict get $info begin] && $to >= [dict get $info last])}]
        set info [::etw timeline read $name $ms]
        if {[dict get $info events] != $before} {
            my Layout
            if {[dict get $info live] && $follow && !$whole} {
                my Show [expr {[dict get $info last] - ($to - $from)}] [dict get $info last]
            } elseif {$whole} {
                my fit
            }
        }
        return [expr {[dict get $info more] || [dict get $info searching]}]
    }
    method info {{key {}}} {
        return [expr {$key eq "" ? $info : [dict get $info $key]}]
    }
    method source {} {
        return $source
    }
    method follow {{on {}}} {
        if {$on ne ""} {
            set follow $on
        }
        return $follow
    }

    # Notices for the user: losses and other reasons why the picture is incomplete.
    method notices {} {
        set notices {}
        foreach {key text} {lost "events lost: the picture has holes" unordered "events out of order: shown at the time of the one before"
                unmatched "leaves without an enter" cut "calls never left" folded "calls deeper than 500 levels: not shown"} {
            if {[dict get $info $key] > 0} {
                lappend notices "[::etw::view::Count [dict get $info $key]] $text"
            }
        }
        return [concat $notices [dict get $info warnings]]
    }

    # ---- Sizes ---------------------------------------------------------------------------------------------

    method size {w h} {
        set width [expr {max($w, $gutter + 50)}]
        set height [expr {max($h, 50)}]
        my scroll 0
    }
    # Set sizes for a screen with that multiple of the usual density; char: width of a character in pixels.
    method scale {factor {char {}}} {
        set scale $factor
        foreach {var pixels} {rowHeight 16 stripHeight 14 gutter 190 rulerHeight 24} {
            set $var [expr {round($pixels * $factor)}]
        }
        set charWidth [expr {$char eq "" ? 6.2 * $factor : $char}]
        my Layout
    }
    method theme {{new {}}} {
        if {$new ne ""} {
            ::etw::view::Theme $new
            set theme $new
        }
        return $theme
    }
    method PlotWidth {} {
        return [expr {$width - $gutter}]
    }

    # ---- Lanes ---------------------------------------------------------------------------------------------

    # Rows: notes first, threads by process, CPUs last. Each: lane, kind, label, y, height, levels.
    method Layout {} {
        set groups {}
        foreach lane [::etw timeline lanes $name] {
            if {![my IsHidden $lane]} {
                dict lappend groups [my GroupOf $lane] $lane
            }
        }
        set rows {}
        set y 0
        foreach group [lsort -command {apply {{a b} {
            expr {[lindex $a 0] != [lindex $b 0] ? [lindex $a 0] - [lindex $b 0] : [lindex $a 1] < [lindex $b 1] ? -1 : 1}
        }}} [dict keys $groups]] {
            foreach lane [my InOrder [lindex $group 0] [dict get $groups $group]] {
                set row [my RowOf $lane $y]
                lappend rows $row
                incr y [dict get $row height]
            }
        }
        my scroll 0
    }
    method GroupOf {lane} {
        switch [dict get $lane kind] {
            notes {return {0 0}}
            thread {return [list 1 [expr {$order ne "process" ? 0 : [dict exists $lane pid] ? [dict get $lane pid] : -1}]]}
        }
        return {2 0}
    }
    method InOrder {group lanes} {
        if {$group == 2} {
            return [lsort -command {apply {{a b} {expr {[dict get $a cpu] - [dict get $b cpu]}}}} $lanes]
        }
        switch [expr {$group == 1 ? $order : ""}] {
            events {
                return [lsort -command {apply {{a b} {expr {[dict get $b events] - [dict get $a events]}}}} $lanes]
            }
            name {
                set labels [lmap lane $lanes {my LabelOf $lane}]
                return [lmap index [lsort -indices -dictionary $labels] {lindex $lanes $index}]
            }
        }
        return $lanes
    }
    method IsHidden {lane} {
        return [expr {[dict get $lane lane] in $hidden || ([dict get $lane kind] eq "thread" && [dict get $lane events] < $fewest)}]
    }
    # Order of threads: process, events (most first) or name; without an argument the order.
    method order {{new {}}} {
        if {$new ne ""} {
            set order $new
            my Layout
        }
        return $order
    }
    # Hide threads with fewer events; without an argument the number.
    method fewest {{events {}}} {
        if {$events ne ""} {
            set fewest $events
            my Layout
        }
        return $fewest
    }
    # Hide the lane, or all of its process.
    method hide {lane {process 0}} {
        set pid ""
        foreach one [::etw timeline lanes $name] {
            if {[dict get $one lane] == $lane && [dict exists $one pid]} {
                set pid [dict get $one pid]
            }
        }
        foreach one [::etw timeline lanes $name] {
            if {[dict get $one lane] == $lane || ($process && $pid ne "" && [dict exists $one pid] && [dict get $one pid] == $pid)} {
                lappend hidden [dict get $one lane]
            }
        }
        my Layout
    }
    # Show all lanes again.
    method showAll {} {
        lassign {{} 0} hidden fewest
        my Layout
    }
    # How many lanes are not shown.
    method hiddenCount {} {
        return [expr {[llength [::etw timeline lanes $name]] - [llength $rows]}]
    }
    method RowOf {lane y} {
        set kind [dict get $lane kind]
        set levels [expr {[dict get $lane lane] in $folded ? 0 : [dict get $lane levels]}]
        set pixels [expr {$kind eq "cpu" ? $rowHeight : $stripHeight + $levels * $rowHeight}]
        return [dict create lane [dict get $lane lane] kind $kind label [my LabelOf $lane] y $y \
            height [expr {$pixels + round(6 * $scale)}] levels $levels errors [dict get $lane errors] \
            foldable [expr {[dict get $lane levels] > 0}] events [dict get $lane events]]
    }
    method LabelOf {lane} {
        switch [dict get $lane kind] {
            notes {
                set lost [dict get $info lost]
                return [expr {$lost > 0 ? "\u26a0 [::etw::view::Count $lost] lost, marks" : "losses and marks"}]
            }
            cpu {
                return "CPU [dict get $lane cpu]"
            }
        }
        if {![dict exists $lane tid]} {
            return "no thread"
        }
        set ids [expr {[dict exists $lane pid] ? "[dict get $lane pid]/" : ""}][dict get $lane tid]
        return [expr {[dict exists $lane process] ? "[file tail [dict get $lane process]] $ids" : "thread $ids"}]
    }
    method rows {} {
        return $rows
    }
    method fold {lane} {
        set at [lsearch -exact $folded $lane]
        set folded [expr {$at < 0 ? [concat $folded $lane] : [lreplace $folded $at $at]}]
        my Layout
    }
    # The visible rows, with their y in the picture.
    method Visible {} {
        set visible {}
        foreach row $rows {
            set y [expr {[dict get $row y] - $top + $rulerHeight}]
            if {$y + [dict get $row height] > $rulerHeight && $y < $height} {
                dict set row y $y
                lappend visible $row
            }
        }
        return $visible
    }

    # ---- The visible span --------------------------------------------------------------------------------------

    method span {} {
        return [list $from $to]
    }
    # At least a few ns, and not much wider than the trace.
    method Show {a b} {
        set first [dict get $info first]
        set last [dict get $info last]
        set most [expr {max($last - $first, 100) * 12 / 10}]
        set span [expr {min(max($b - $a, 20), $most)}]
        set a [expr {($a + $b) / 2 - $span / 2}]
        set a [expr {max($a, $first - $span / 2)}]
        set a [expr {min($a, $last - $span / 2)}]
        set from $a
        set to [expr {$a + $span}]
    }
    method show {a b} {
        set follow 0
        my Show $a $b
    }
    # Show everything except the session's own first events, which may be much earlier.
    method fit {} {
        set first [dict get $info begin]
        set last [dict get $info last]
        set margin [expr {max(($last - $first) / 100, 10)}]
        my Show [expr {$first - $margin}] [expr {$last + $margin}]
    }
    # factor < 1: zoom in. The time at pixel x is kept.
    method zoom {factor {x {}}} {
        if {$x eq ""} {
            set x [expr {$gutter + [my PlotWidth] / 2}]
        }
        set share [expr {min(max(($x - $gutter) / double([my PlotWidth]), 0.0), 1.0)}]
        set span [expr {wide(($to - $from) * double($factor))}]
        set span [expr {max($span, 20)}]
        set a [expr {$from + wide(($to - $from) * $share) - wide($span * $share)}]
        my show $a [expr {$a + $span}]
    }
    # Move by that share of the visible span.
    method pan {share} {
        set by [expr {wide(($to - $from) * double($share))}]
        my show [expr {$from + $by}] [expr {$to + $by}]
    }
    method panPixels {pixels} {
        my pan [expr {$pixels / double([my PlotWidth])}]
    }
    method scroll {pixels} {
        set all 0
        if {[llength $rows]} {
            set last [lindex $rows end]
            set all [expr {[dict get $last y] + [dict get $last height]}]
        }
        set top [expr {max(0, min($top + $pixels, $all - ($height - $rulerHeight)))}]
        return [list $top $all]
    }
    method scrolled {} {
        lassign [my scroll 0] at all
        set all [expr {max($all, 1)}]
        return [list [expr {double($at) / $all}] [expr {min(1.0, double($at + $height - $rulerHeight) / $all)}]]
    }
    method timeAt {x} {
        return [expr {$from + wide(($x - $gutter) * double($to - $from) / [my PlotWidth])}]
    }
    method xOf {time} {
        return [expr {$gutter + wide(($time - $from) * double([my PlotWidth]) / ($to - $from))}]
    }

    # ---- Queries ---------------------------------------------------------------------------------------------------

    method rowAt {y} {
        foreach row [my Visible] {
            if {$y >= [dict get $row y] && $y < [dict get $row y] + [dict get $row height]} {
                return $row
            }
        }
        return {}
    }
    # The box at a point of the picture, as in `etw timeline at`; empty: none.
    method at {x y} {
        set row [my rowAt $y]
        if {$row eq "" || $x < $gutter || $y < $rulerHeight} {
            return {}
        }
        set time [my timeAt $x]
        set slack [expr {wide(4 * $scale * ($to - $from) / [my PlotWidth])}]
        set lane [dict get $row lane]
        set inside [expr {$y - [dict get $row y] - round(3 * $scale)}]
        if {[dict get $row kind] eq "cpu"} {
            return [::etw timeline at $name $lane run 0 $time]
        }
        if {$inside >= $stripHeight} {
            set level [expr {($inside - $stripHeight) / $rowHeight}]
            return [expr {$level < [dict get $row levels] ? [::etw timeline at $name $lane call $level $time] : {}}]
        }
        foreach {kind near} [list match $slack event $slack gap 0] {
            set box [::etw timeline at $name $lane $kind 0 $time $near]
            if {$box ne ""} {
                return $box
            }
        }
        return {}
    }
    # Select the box for details, or none.
    method pick {box} {
        set picked $box
    }
    method picked {} {
        return $picked
    }
    # Select the event number n and make it visible.
    method pickEvent {n} {
        set row [lindex [::etw timeline rows $name all $n 1] 0]
        if {$row eq ""} {
            return
        }
        set time [dict get $row time]
        set picked [dict create kind event lane [dict get $row lane] level 0 from $time to $time \
            text [dict get $row name] marks [dict get $row marks] event $n]
        if {$time < $from || $time > $to} {
            set half [expr {($to - $from) / 2}]
            my show [expr {$time - $half}] [expr {$time + $half}]
        }
        foreach lane $rows {
            if {[dict get $lane lane] == [dict get $row lane]} {
                my Reveal $lane
            }
        }
    }
    method Reveal {lane} {
        set y [expr {[dict get $lane y] - $top}]
        if {$y < 0 || $y + $stripHeight > $height - $rulerHeight} {
            my scroll [expr {$y - ($height - $rulerHeight) / 3}]
        }
    }
    # Readable lines {label value ...} for a box, with the payload of its event.
    method details {box} {
        if {$box eq ""} {
            return {}
        }
        set lines [list [dict get $box kind] [dict get $box text]]
        lappend lines at [::etw::view::Offset [expr {[dict get $box from] - [dict get $info first]}] 1]
        if {[dict get $box kind] in {call gap run}} {
            lappend lines lasts [::etw::view::Duration [expr {[dict get $box to] - [dict get $box from]}]]
        }
        foreach {mark text} {1 error 2 "never left" 4 "went without a leave: yielded, lost, or its thread ended" 8 "goes on"} {
            if {[dict get $box marks] & $mark} {
                lappend lines state $text
            }
        }
        if {[dict get $box kind] in {gap run}} {
            return $lines
        }
        return [concat $lines [my EventLines [dict get $box event]]]
    }
    method EventLines {n} {
        set event [lindex [::etw timeline event $name $n] 0]
        set lines [list event #$n]
        if {$event eq ""} {
            return [concat $lines {payload {not kept: the session is live}}]
        }
        foreach key {provider event level pid tid cpu error message} {
            if {[dict exists $event $key]} {
                lappend lines $key [dict get $event $key]
            }
        }
        return [concat $lines [dict get $event props]]
    }

    # ---- Selection ---------------------------------------------------------------------------------------------------

    method select {a b} {
        set selection [list [expr {min($a, $b)}] [expr {max($a, $b)}]]
    }
    method unselect {} {
        set selection {}
    }
    method selection {} {
        return $selection
    }
    # Totals of the selection, otherwise of the visible span.
    method totals {} {
        lassign [expr {$selection ne "" ? $selection : [list $from $to]}] a b
        return [::etw timeline totals $name $a $b]
    }

    # ---- Search ---------------------------------------------------------------------------------------------------------

    # An expression as in -where, or a text without $ that names or payloads contain; "" ends the search. Errors are
    # passed to the caller.
    method search {expression {ms 0}} {
        set where [string trim $expression]
        set info [::etw timeline [expr {[string match *$* $where] ? "search" : "contains"}] $name $where $ms]
    }
    method found {} {
        if {$where eq ""} {
            return ""
        }
        set text "[::etw::view::Count [dict get $info matches]] of [::etw::view::Count [dict get $info tested]] events match"
        return [expr {[dict get $info searching] ? "$text so far" : $text}]
    }
    # Go to the next or previous match. False: none.
    method seek {direction} {
        if {$picked ne "" && [dict exists $picked event]} {
            set start [dict get $picked event]
        } else {
            set start [::etw timeline find $name $from]
            set start [expr {$direction eq "next" ? $start - 1 : $start}]
        }
        set n [::etw timeline match $name $direction $start]
        if {$n ne ""} {
            my pickEvent $n
        }
        return [expr {$n ne ""}]
    }

    # ---- The table --------------------------------------------------------------------------------------------------------

    # Rows of the table from number `first` on; only: matches only. A row: number, time, lane, provider, name, marks, duration,
    # details.
    method page {first count {only 0}} {
        set listed [::etw timeline rows $name [expr {$only ? "matches" : "all"}] $first $count]
        # Files are read again for payloads: once for rows that follow each other.
        set events [expr {$only ? [lmap row $listed {lindex [::etw timeline event $name [dict get $row event]] 0}]
            : [::etw timeline event $name $first $count]}]
        set page {}
        foreach row $listed event $events {
            lassign [my Contents $event] duration details
            lappend page [list [dict get $row event] [::etw::view::Offset [expr {[dict get $row time] - [dict get $info first]}] 1000] \
                [my LaneLabel [dict get $row lane]] [dict get $row provider] [dict get $row name] [dict get $row marks] \
                $duration $details]
        }
        return $page
    }
    # What the event lasted, if it says so, and its message or the values of its payload: {duration details}.
    method Contents {event} {
        if {$event eq ""} {
            return {{} {}}
        }
        set props [dict get $event props]
        set details [expr {[dict exists $event message] ? [dict get $event message] : [dict exists $props Command] ? [dict get $props Command]
            : [join [lmap {key value} $props {string cat $key = $value}] {  }]}]
        return [list [expr {[dict exists $props Duration] && [string is entier -strict [dict get $props Duration]]
            ? [::etw::view::Duration [dict get $props Duration]] : ""}] [::etw::view::Visible [string range $details 0 199]]]
    }
    method LaneLabel {lane} {
        foreach row $rows {
            if {[dict get $row lane] == $lane} {
                return [dict get $row label]
            }
        }
        return ""
    }
    method firstInSight {} {
        return [::etw timeline find $name $from]
    }

    # The input of draw.tcl.
    method picture {} {
        return [dict create name $name info $info from $from to $to width $width height $height gutter $gutter \
            rowHeight $rowHeight stripHeight $stripHeight rulerHeight $rulerHeight charWidth $charWidth scale $scale \
            rows [my Visible] selection $selection picked $picked theme [::etw::view::Theme $theme]]
    }
    method drawing {} {
        return [::etw::view::Drawing [my picture]]
    }
}
