# svg.tcl --
#
#	A drawing (draw.tcl) as SVG: a self-contained file without scripts. Needs no Tk.

namespace eval ::etw::view {
    variable fontFamily {system-ui, "DejaVu Sans", sans-serif}
}

interp alias {} ::etw::view::SvgText {} ::etw::lib::Xml

proc ::etw::view::Svg {drawing width height {fontSize 11}} {
    variable fontFamily
    set out [list "<?xml version=\"1.0\" encoding=\"UTF-8\"?>" \
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"$width\" height=\"$height\" viewBox=\"0 0 $width $height\"\
            font-family=\"[SvgText $fontFamily]\" font-size=\"$fontSize\">"]
    set patterns {}
    set body {}
    foreach item $drawing {
        lappend body [Svg_[lindex $item 0] patterns {*}[lrange $item 1 end]]
    }
    foreach {color id} $patterns {
        lappend out "<defs><pattern id=\"$id\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"\
            patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"5\" fill=\"$color\"/></pattern></defs>"
    }
    return "[join [concat $out $body] \n]\n</svg>\n"
}

proc ::etw::view::Svg_rect {- x0 y0 x1 y1 fill outline} {
    set attributes "fill=\"[expr {$fill eq "" ? "none" : $fill}]\""
    if {$outline ne ""} {
        append attributes " stroke=\"$outline\""
    }
    return "<rect x=\"$x0\" y=\"$y0\" width=\"[expr {$x1 - $x0}]\" height=\"[expr {$y1 - $y0}]\" $attributes/>"
}

proc ::etw::view::Svg_hatch {patternsVar x0 y0 x1 y1 color} {
    upvar 1 $patternsVar patterns
    if {![dict exists $patterns $color]} {
        dict set patterns $color hatch[dict size $patterns]
    }
    return "<rect x=\"$x0\" y=\"$y0\" width=\"[expr {$x1 - $x0}]\" height=\"[expr {$y1 - $y0}]\" fill=\"url(#[dict get $patterns $color])\"/>"
}

proc ::etw::view::Svg_line {- x0 y0 x1 y1 color width} {
    return "<line x1=\"$x0\" y1=\"$y0\" x2=\"$x1\" y2=\"$y1\" stroke=\"$color\" stroke-width=\"$width\"/>"
}

proc ::etw::view::Svg_text {- x y anchor color text} {
    set middle [expr {$anchor eq "center" ? " text-anchor=\"middle\"" : ""}]
    return "<text x=\"$x\" y=\"$y\" dominant-baseline=\"central\"$middle fill=\"$color\" xml:space=\"preserve\">[SvgText $text]</text>"
}

proc ::etw::view::Svg_mark {- x y size color} {
    return "<path d=\"M $x [expr {$y + $size}] l -$size -$size h [expr {2 * $size}] z\" fill=\"$color\"/>"
}
