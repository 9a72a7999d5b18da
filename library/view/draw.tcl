# draw.tcl --
#
#	Draws the model: a list of rectangles, lines and texts in pixels, from back to front. Needs no Tk;
#	svg.tcl, png.tcl and canvas.tcl output it.
#
#	{rect X0 Y0 X1 Y1 FILL OUTLINE}    OUTLINE "": none
#	{hatch X0 Y0 X1 Y1 COLOUR}         stripes with gaps
#	{line X0 Y0 X1 Y1 COLOUR WIDTH}
#	{text X Y ANCHOR COLOUR TEXT}      ANCHOR w or center, of a line of text centered at Y
#	{mark X Y SIZE COLOUR}             a triangle below X, Y that points down

namespace eval ::etw::view {}

proc ::etw::view::Drawing {p} {
    set theme [dict get $p theme]
    set list [list [list rect 0 0 [dict get $p width] [dict get $p height] [dict get $theme background] {}]]
    lappend list {*}[DrawSelection $p $theme] {*}[DrawGrid $p $theme]
    foreach row [dict get $p rows] {
        lappend list {*}[DrawRow $p $theme $row]
    }
    lappend list {*}[DrawPicked $p $theme] {*}[DrawGutter $p $theme] {*}[DrawRuler $p $theme]
    if {[dict get $p info events] == 0} {
        lappend list [list text [expr {[dict get $p gutter] + 20}] [expr {[dict get $p rulerHeight] * 3}] w [dict get $theme dim] \
            [expr {[dict get $p info more] ? "no events yet" : "this trace has no events"}]]
    }
    return $list
}

proc ::etw::view::X {p time} {
    set plot [expr {[dict get $p width] - [dict get $p gutter]}]
    return [expr {[dict get $p gutter] + wide(($time - [dict get $p from]) * double($plot) / ([dict get $p to] - [dict get $p from]))}]
}

proc ::etw::view::DrawSelection {p theme} {
    if {[dict get $p selection] eq ""} {
        return {}
    }
    lassign [dict get $p selection] a b
    set x0 [expr {max([X $p $a], [dict get $p gutter])}]
    set x1 [expr {min([X $p $b], [dict get $p width])}]
    if {$x1 < $x0} {
        return {}
    }
    set bottom [dict get $p height]
    set color [dict get $theme select]
    return [list [list rect $x0 0 $x1 $bottom [dict get $theme shade] {}] [list line $x0 0 $x0 $bottom $color 1] \
        [list line $x1 0 $x1 $bottom $color 1]]
}

# Lines of the ruler: {x offset step} each.
proc ::etw::view::RulerTimes {p} {
    set first [dict get $p info first]
    set span [expr {[dict get $p to] - [dict get $p from]}]
    set plot [expr {[dict get $p width] - [dict get $p gutter]}]
    set step [NiceStep [expr {$span * 110.0 * [dict get $p scale] / $plot}]]
    set offset [expr {([dict get $p from] - $first) / $step * $step}]
    set times {}
    for {} {$offset + $first <= [dict get $p to]} {incr offset $step} {
        set x [X $p [expr {$first + $offset}]]
        if {$x >= [dict get $p gutter]} {
            lappend times [list $x $offset $step]
        }
    }
    return $times
}

proc ::etw::view::DrawGrid {p theme} {
    set list {}
    foreach time [RulerTimes $p] {
        set x [lindex $time 0]
        lappend list [list line $x [dict get $p rulerHeight] $x [dict get $p height] [dict get $theme line] 1]
    }
    return $list
}

proc ::etw::view::DrawRuler {p theme} {
    set h [dict get $p rulerHeight]
    set list [list [list rect 0 0 [dict get $p width] $h [dict get $theme ruler] {}] \
        [list line 0 $h [dict get $p width] $h [dict get $theme line] 1]]
    foreach time [RulerTimes $p] {
        lassign $time x offset step
        lappend list [list line $x [expr {$h * 2 / 3}] $x $h [dict get $theme dim] 1]
        lappend list [list text [expr {$x + 3}] [expr {$h / 2}] w [dict get $theme text] [Offset $offset $step]]
    }
    set seen [Duration [expr {[dict get $p to] - [dict get $p from]}]]
    lappend list [list rect 0 0 [dict get $p gutter] $h [dict get $theme ruler] {}]
    lappend list [list text 8 [expr {$h / 2}] w [dict get $theme dim] "$seen in sight"]
    return $list
}

proc ::etw::view::DrawGutter {p theme} {
    set right [dict get $p gutter]
    set list [list [list rect 0 0 $right [dict get $p height] [dict get $theme gutter] {}] \
        [list line $right 0 $right [dict get $p height] [dict get $theme line] 1]]
    foreach row [dict get $p rows] {
        set y [dict get $row y]
        set text [dict get $row label]
        set fold [expr {![dict get $row foldable] ? "" : [dict get $row levels] ? "\u25be " : "\u25b8 "}]
        lappend list [list line 0 $y $right $y [dict get $theme line] 1]
        lappend list [list text 8 [expr {$y + [dict get $p stripHeight] / 2 + 3}] w [dict get $theme text] \
            [Fit $fold$text [expr {$right - 12}] [dict get $p charWidth]]]
        if {[dict get $row errors] > 0 && [dict get $row levels] > 0} {
            lappend list [list text 8 [expr {$y + [dict get $p stripHeight] + [dict get $p rowHeight] / 2 + 3}] w \
                [dict get $theme error] "\u2717 [Count [dict get $row errors]] error[expr {[dict get $row errors] == 1 ? "" : "s"}]"]
        }
    }
    return $list
}

# ---- Lanes ---------------------------------------------------------------------------------------------------

proc ::etw::view::DrawRow {p theme row} {
    set y [dict get $row y]
    set inside [expr {$y + round(3 * [dict get $p scale])}]
    set plot [expr {[dict get $p width] - [dict get $p gutter]}]
    set list [list [list line [dict get $p gutter] $y [dict get $p width] $y [dict get $theme line] 1]]
    foreach {kind lane level x0 x1 text count marks event} [etw timeline boxes [dict get $p name] [dict get $row lane] \
            [dict get $p from] [dict get $p to] $plot [dict get $p scale]] {
        incr x0 [dict get $p gutter]
        incr x1 [dict get $p gutter]
        switch $kind {
            call {
                if {$level < [dict get $row levels]} {
                    set top [expr {$inside + [dict get $p stripHeight] + $level * [dict get $p rowHeight]}]
                    lappend list {*}[DrawCall $p $theme $x0 $x1 $top $text $count $marks]
                }
            }
            run {
                lappend list {*}[DrawCall $p $theme $x0 $x1 $inside $text $count 0]
            }
            gap {
                lappend list {*}[DrawGap $p $theme $x0 $x1 $inside $text $count]
            }
            event {
                lappend list {*}[DrawEvent $p $theme $x0 $x1 $inside $marks]
            }
            match {
                lappend list [list mark $x0 $inside [expr {round(5 * [dict get $p scale])}] [dict get $theme match]]
            }
        }
    }
    return $list
}

proc ::etw::view::DrawCall {p theme x0 x1 y text count marks} {
    lassign [Paint $text] fill ink
    set bottom [expr {$y + [dict get $p rowHeight] - 1}]
    set x1 [expr {max($x1, $x0 + 1)}]
    set wide [expr {$x1 - $x0 > 3 * [dict get $p scale]}]
    set list [list [list rect $x0 $y $x1 $bottom $fill [expr {$wide ? [dict get $theme background] : {}}]]]
    if {$marks & 1} {
        lappend list [list hatch $x0 $y $x1 $bottom [dict get $theme error]]
        lappend list [list line $x0 $bottom $x1 $bottom [dict get $theme error] 2]
    }
    set left [expr {max($x0, [dict get $p gutter]) + 3}]
    if {$x1 - $left > 3 * [dict get $p charWidth]} {
        set label [Fit [CallLabel $text $count $marks] [expr {$x1 - $left}] [dict get $p charWidth]]
        if {$label ne ""} {
            lappend list [list text $left [expr {($y + $bottom) / 2}] w $ink $label]
        }
    }
    return $list
}

# States are also shown in the text, not only by colour.
proc ::etw::view::CallLabel {text count marks} {
    set label [expr {$count > 1 ? "[Count $count] \u00d7 $text" : $text}]
    foreach {mark before} {1 "\u2717 " 2 "\u2026 " 4 "\u2016 " 8 "\u25b6 "} {
        if {$marks & $mark} {
            set label $before$label
        }
    }
    return $label
}

proc ::etw::view::DrawGap {p theme x0 x1 y text count} {
    set bottom [expr {$y + [dict get $p stripHeight] - 2}]
    set list [list [list rect $x0 $y [expr {max($x1, $x0 + 1)}] $bottom [dict get $theme gap] {}]]
    set left [expr {max($x0, [dict get $p gutter]) + 3}]
    set label [Fit $text [expr {$x1 - $left}] [dict get $p charWidth]]
    if {$count == 1 && $label ne ""} {
        lappend list [list text $left [expr {($y + $bottom) / 2}] w [dict get $theme dim] $label]
    }
    return $list
}

# A point: a tick; errors, losses and marks are higher and have a head.
proc ::etw::view::DrawEvent {p theme x0 x1 y marks} {
    set bottom [expr {$y + [dict get $p stripHeight] - 2}]
    foreach {mark role} {1 error 16 loss 32 note} {
        if {$marks & $mark} {
            set color [dict get $theme $role]
            return [list [list line $x0 $y $x0 $bottom $color 2] [list mark $x0 $y [expr {round(4 * [dict get $p scale])}] $color]]
        }
    }
    return [list [list line $x0 [expr {$y + 3}] $x0 $bottom [dict get $theme tick] [expr {max(1, min($x1 - $x0, 2))}]]]
}

proc ::etw::view::DrawPicked {p theme} {
    set box [dict get $p picked]
    if {$box eq "" || [dict get $box to] < [dict get $p from] || [dict get $box from] > [dict get $p to]} {
        return {}
    }
    set x0 [expr {max([X $p [dict get $box from]], [dict get $p gutter])}]
    set x1 [expr {min([X $p [dict get $box to]], [dict get $p width])}]
    set list {}
    foreach row [dict get $p rows] {
        if {[dict get $row lane] == [dict get $box lane]} {
            set y [expr {[dict get $row y] + round(3 * [dict get $p scale])}]
            set h [dict get $p stripHeight]
            if {[dict get $box kind] eq "call"} {
                incr y [expr {$h + [dict get $box level] * [dict get $p rowHeight]}]
                set h [dict get $p rowHeight]
            }
            lappend list [list rect [expr {$x0 - 1}] [expr {$y - 1}] [expr {max($x1, $x0 + 1) + 1}] [expr {$y + $h}] {} [dict get $theme cursor]]
        }
    }
    return $list
}
