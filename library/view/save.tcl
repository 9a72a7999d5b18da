# save.tcl --
#
#	Saves a drawing to a file: SVG needs no Tk, PNG needs Tk (photo images) but no window.

namespace eval ::etw::view {}

# The file name's extension selects the format: .svg or .png.
proc ::etw::view::Save {file drawing width height {lineHeight 14}} {
    switch [string tolower [file extension $file]] {
        .svg {
            set data [encoding convertto utf-8 [Svg $drawing $width $height [expr {max(8, $lineHeight * 3 / 4)}]]]
        }
        .png {
            set data [Png $drawing $width $height]
        }
        default {
            return -code error -errorcode [list ETW ARG FORMAT [file extension $file]] \
                "expected a file with the suffix .svg or .png for the picture but got \"$file\""
        }
    }
    set f [::etw::lib::OpenFile $file wb]
    try {
        puts -nonewline $f $data
    } finally {
        close $f
    }
}
