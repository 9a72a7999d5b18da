# canvas.tcl --
#
#	Shows a drawing (draw.tcl) on a Tk canvas.

namespace eval ::etw::view {}

# Show the drawing on canvas c with that font.
proc ::etw::view::CanvasShow {c drawing font} {
    $c delete all
    foreach item $drawing {
        switch [lindex $item 0] {
            rect {
                lassign $item - x0 y0 x1 y1 fill outline
                $c create rectangle $x0 $y0 $x1 $y1 -fill $fill -outline $outline -width [expr {$outline ne ""}]
            }
            text {
                lassign $item - x y anchor color text
                $c create text $x $y -anchor $anchor -fill $color -text $text -font $font
            }
            line {
                lassign $item - x0 y0 x1 y1 color width
                $c create line $x0 $y0 $x1 $y1 -fill $color -width $width
            }
            hatch {
                lassign $item - x0 y0 x1 y1 color
                $c create rectangle $x0 $y0 $x1 $y1 -fill $color -outline {} -stipple gray25
            }
            mark {
                lassign $item - x y size color
                $c create polygon [expr {$x - $size}] $y [expr {$x + $size}] $y $x [expr {$y + $size}] -fill $color -outline {}
            }
        }
    }
}
