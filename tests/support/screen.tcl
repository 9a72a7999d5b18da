# tests/support/screen.tcl --
#
#	A virtual X server (Xvfb) for a test file, and screenshots as PNG. Independent of support.tcl, so that
#	programs under test can source it; screenshots need Tk.

namespace eval screen {}

# A private server, in an empty directory. It reports its display, and ends with its last client. Returns {display
# pid}; empty: it did not start within a minute.
proc screen::start {dir size} {
    set path [file join $dir display]
    set pid [exec env -u LD_PRELOAD Xvfb -displayfd 1 -terminate -screen 0 ${size}x24 -fbdir $dir -nolisten tcp \
        > $path 2> /dev/null < /dev/null &]
    for {set turn 0} {$turn < 6000} {incr turn} {
        set f [open $path]
        set said [read $f]
        close $f
        if {[string index $said end] eq "\n"} {
            return [list :[string trim $said] $pid]
        }
        after 10
    }
    catch {exec kill $pid}
    return {}
}

# A screenshot as PNG: Xvfb stores the screen in a file in its directory, 32 bits per pixel.
proc screen::png {dir path} {
    update
    set f [open [file join $dir Xvfb_screen0] rb]
    set data [read $f]
    close $f
    binary scan $data Iu25 header
    set width [lindex $header 4]
    set height [lindex $header 5]
    set line [lindex $header 12]
    set start [expr {[lindex $header 0] + 12 * [lindex $header 19]}]
    set ppm "P6\n$width $height\n255\n"
    for {set y 0} {$y < $height} {incr y} {
        binary scan $data @[expr {$start + $y * $line}]iu$width pixels
        set bytes {}
        foreach pixel $pixels {
            lappend bytes [expr {$pixel >> 16 & 255}] [expr {$pixel >> 8 & 255}] [expr {$pixel & 255}]
        }
        append ppm [binary format c* $bytes]
    }
    set image [image create photo -data $ppm]
    file mkdir [file dirname $path]
    $image write $path -format png
    image delete $image
    return [file size $path]
}
