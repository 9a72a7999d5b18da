# theme.tcl --
#
#	The viewer's appearance: themes, a colour for each name that is distinguishable with any colour vision
#	(Okabe and Ito's palette, in two lightnesses), and formats of times and numbers. Needs no Tk.

namespace eval ::etw::view {
    # Roles of colours. Colour is never the only sign of a state: errors are also hatched and have a cross.
    variable themes {
        light {
            background #ffffff lane #f4f5f7 line #d5d8de text #1b1f24 dim #6b7280 gutter #eceef2 gap #d9dce3 tick #4b5563
            error #b3261e match #b45309 select #2563eb shade #dbe7ff note #6d28d9 loss #b3261e cursor #111827 ruler #e3e6ec
        }
        dark {
            background #14171c lane #1b1f26 line #343a46 text #e6e8ec dim #9aa3b2 gutter #20252d gap #323945 tick #aab2c0
            error #ff8a80 match #ffb454 select #7aa7ff shade #22324f note #c4a7ff loss #ff8a80 cursor #f3f4f6 ruler #262c36
        }
    }
    variable palette {
        #E69F00 #56B4E9 #009E73 #F0E442 #0072B2 #D55E00 #CC79A7 #999999
        #F5CF80 #AADAF4 #80CFB9 #F8F2A1 #80B9D9 #EAAF80 #E6BCD3 #CCCCCC
    }
    variable paints {}
}

proc ::etw::view::Theme {name} {
    variable themes
    return [dict get $themes $name]
}

proc ::etw::view::Themes {} {
    variable themes
    return [dict keys $themes]
}

# The colour of a name and one for text on it; the same in every trace.
proc ::etw::view::Paint {name} {
    variable paints
    variable palette
    if {![dict exists $paints $name]} {
        set fill [lindex $palette [expr {[zlib crc32 [encoding convertto utf-8 $name]] % [llength $palette]}]]
        dict set paints $name [list $fill [Ink $fill]]
    }
    return [dict get $paints $name]
}

# Black or white, whichever has more contrast.
proc ::etw::view::Ink {fill} {
    scan $fill #%2x%2x%2x r g b
    return [expr {0.299 * $r + 0.587 * $g + 0.114 * $b > 120 ? "#000000" : "#ffffff"}]
}

interp alias {} ::etw::view::Duration {} ::etw::lib::Duration

# An offset from the trace's start, with enough digits to distinguish times `step` apart.
proc ::etw::view::Offset {ns step} {
    foreach {unit size} {s 1000000000 ms 1000000 us 1000 ns 1} {
        if {abs($ns) >= $size || $size == 1} {
            break
        }
    }
    set digits 0
    for {set part $size} {$part > $step && $digits < 9} {set part [expr {$part / 10}]} {
        incr digits
    }
    return "+[format %.${digits}f [expr {double($ns) / $size}]] $unit"
}

# 1,234,567
proc ::etw::view::Count {n} {
    while {[regsub {^([-+]?\d+)(\d{3})} $n {\1,\2} n]} {}
    return $n
}

# The smallest 1, 2 or 5 times a power of ten that is not below ns.
proc ::etw::view::NiceStep {ns} {
    set step 1
    while {1} {
        foreach factor {1 2 5} {
            if {$step * $factor >= $ns} {
                return [expr {$step * $factor}]
            }
        }
        set step [expr {$step * 10}]
    }
}

# The part of a text that fits into a width in pixels.
proc ::etw::view::Fit {text width charWidth} {
    set room [expr {$width / double($charWidth)}]
    if {[string length $text] <= $room} {
        return $text
    }
    set room [expr {wide($room - 0.5)}] ;# space for the ellipsis
    return [expr {$room < 3 ? "" : "[string range $text 0 [expr {$room - 2}]]\u2026"}]
}

# A value on one line: control characters as symbols, very long values truncated.
proc ::etw::view::Visible {text} {
    set text [string range $text 0 2000]
    if {[regexp {[\u0000-\u001f\u007f]} $text]} {
        set shown ""
        foreach c [split $text {}] {
            set code [scan $c %c]
            append shown [expr {$code < 32 ? [format %c [expr {0x2400 + $code}]] : $code == 127 ? "\u2421" : $c}]
        }
        return $shown
    }
    return $text
}
