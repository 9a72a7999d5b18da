# png.tcl --
#
#	A drawing (draw.tcl) as PNG: painted into a photo image with a built-in font (5 by 7 dots), because Tk
#	8.6 cannot read its canvas. Missing characters are shown as a box; SVG has all characters.

namespace eval ::etw::view {
    # Columns of the characters 32 to 126, five bytes each, lowest bit at the top.
    variable dots [binary format H* [string map {" " "" \n ""} {
        0000000000 00005f0000 0007000700 147f147f14 242a7f2a12 2313086462 3649562050 0008070300 001c224100 0041221c00
        2a1c7f1c2a 08083e0808 0080703000 0808080808 0000606000 2010080402 3e5149453e 00427f4000 7249494946 2141494d33
        1814127f10 2745454539 3c4a494931 4121110907 3649494936 464949291e 0000140000 0040340000 0008142241 1414141414
        0041221408 0201590906 3e415d594e 7c1211127c 7f49494936 3e41414122 7f4141413e 7f49494941 7f09090901 3e41415173
        7f0808087f 00417f4100 2040413f01 7f08142241 7f40404040 7f021c027f 7f0408107f 3e4141413e 7f09090906 3e4151215e
        7f09192946 2649494932 03017f0103 3f4040403f 1f2040201f 3f4038403f 6314081463 0304780403 6159494d43 007f414141
        0204081020 004141417f 0402010204 4040404040 0003070800 2054547840 7f28444438 3844444428 384444287f 3854545418
        00087e0902 18a4a49c78 7f08040478 00447d4000 2040403d00 7f10284400 00417f4000 7c04780478 7c08040478 3844444438
        fc18242418 18242418fc 7c08040408 4854545424 04043f4424 3c4040207c 1c2040201c 3c4030403c 4428102844 4c9090907c
        4464544c44 0008364100 0000770000 0041360800 0201020402
    }]]
}

proc ::etw::view::Png {drawing width height} {
    set image [image create photo -width $width -height $height]
    try {
        foreach item $drawing {
            Png_[lindex $item 0] $image $width $height {*}[lrange $item 1 end]
        }
        return [$image data -format png]
    } finally {
        image delete $image
    }
}

# Clips to the picture.
proc ::etw::view::PngFill {image width height x0 y0 x1 y1 color} {
    set x0 [expr {max($x0, 0)}]
    set y0 [expr {max($y0, 0)}]
    set x1 [expr {min($x1, $width)}]
    set y1 [expr {min($y1, $height)}]
    if {$x0 < $x1 && $y0 < $y1} {
        $image put $color -to $x0 $y0 $x1 $y1
    }
}

proc ::etw::view::Png_rect {image width height x0 y0 x1 y1 fill outline} {
    if {$fill ne ""} {
        PngFill $image $width $height $x0 $y0 $x1 $y1 $fill
    }
    if {$outline ne ""} {
        foreach {a b c d} [list $x0 $y0 $x1 $y0 $x0 $y1 $x1 $y1 $x0 $y0 $x0 $y1 $x1 $y0 $x1 $y1] {
            Png_line $image $width $height $a $b $c $d $outline 1
        }
    }
}

# Lines are vertical or horizontal.
proc ::etw::view::Png_line {image width height x0 y0 x1 y1 color thick} {
    PngFill $image $width $height $x0 $y0 [expr {$x1 + ($x0 == $x1 ? $thick : 1)}] [expr {$y1 + ($x0 == $x1 ? 1 : $thick)}] $color
}

proc ::etw::view::Png_hatch {image width height x0 y0 x1 y1 color} {
    set x0 [expr {max($x0, 0)}]
    set x1 [expr {min($x1, $width)}]
    for {set y $y0} {$y < $y1} {incr y} {
        for {set x [expr {$x0 + ($y - $x0 % 4 + 4) % 4}]} {$x < $x1} {incr x 4} {
            PngFill $image $width $height $x $y [expr {$x + 1}] [expr {$y + 1}] $color
        }
    }
}

proc ::etw::view::Png_mark {image width height x y size color} {
    for {set i 0} {$i <= $size} {incr i} {
        PngFill $image $width $height [expr {$x - $size + $i}] [expr {$y + $i}] [expr {$x + $size - $i + 1}] [expr {$y + $i + 1}] $color
    }
}

proc ::etw::view::Png_text {image width height x y anchor color text} {
    if {$anchor eq "center"} {
        set x [expr {$x - 3 * [string length $text]}]
    }
    set y [expr {$y - 4}]
    foreach c [split $text {}] {
        set column 0
        foreach bits [PngDots $c] {
            for {set row 0} {$row < 8} {incr row} {
                if {$bits >> $row & 1} {
                    PngFill $image $width $height [expr {$x + $column}] [expr {$y + $row}] [expr {$x + $column + 1}] \
                        [expr {$y + $row + 1}] $color
                }
            }
            incr column
        }
        incr x 6
    }
}

# The five columns of a character; characters that mark states have a substitute.
proc ::etw::view::PngDots {c} {
    variable dots
    set likeness [string map {\u2717 x \u2026 . \u00d7 x \u25b6 > \u25b8 > \u25be v \u2016 | \u26a0 ! \u2212 -} $c]
    set code [scan $likeness %c]
    if {$code < 32 || $code > 126} {
        return {127 65 65 65 127}
    }
    binary scan $dots @[expr {($code - 32) * 5}]cu5 columns
    return $columns
}
