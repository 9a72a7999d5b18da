# view.tcl --
#
#	etw view: loads the viewer and opens its window. Sourced at its first call, because only the viewer
#	needs Tk.

namespace eval ::etw::view {
    variable dir [file dirname [file normalize [info script]]]
    # How many windows were opened, for their names.
    variable windows 0
}

# Source files by name, inside a proc, so that no global loop variable remains.
proc ::etw::view::Load {args} {
    variable dir
    foreach part $args {
        uplevel #0 [list source [file join $dir $part.tcl]]
    }
}
::etw::view::Load theme draw svg save view_model

# Load Tk and the files that need it. Without a display, an error that says so.
proc ::etw::view::NeedTk {} {
    if {[info commands ::etw::view::Window] ne ""} {
        return
    }
    if {[info commands ::tk] eq ""} {
        if {[catch {package require Tk} message]} {
            return -code error -errorcode [list ETW UNSUPPORTED DISPLAY $message] \
                "etw view needs Tk and a display: $message"
        }
        wm withdraw . ;# Tk's main window is not used
    }
    Load canvas png panes window
}

# The sources before the first option, and the options.
proc ::etw::view::Words {words} {
    set at 0
    while {$at < [llength $words] && [string index [lindex $words $at] 0] ne "-"} {
        incr at
    }
    return [list [lrange $words 0 [expr {$at - 1}]] [lrange $words $at end]]
}

# etw view SOURCE ?SOURCE ...? ?-where EXPR? ?-from T? ?-to T? ?-theme light|dark? ?-save FILE? ?-size WxH?
#
# Opens a window and returns its name. With -save no window: a picture of the whole trace in FILE.
proc ::etw::view::View {args} {
    variable windows
    lassign [Words $args] sources options
    if {[llength $sources] == 0} {
        return -code error -errorcode {TCL WRONGARGS} \
            "wrong # args: should be \"etw view source ?source ...? ?-option value ...?\""
    }
    set options [::etw::lib::Options [dict get [::etw::lib::commands] view options] $options]
    set own [dict merge {-theme light -save {} -size 1200x600} $options]
    set rest [dict remove $options -theme -save -size]
    dict set own -theme [tcl::prefix match -message theme [Themes] [dict get $own -theme]]
    if {![regexp {^([1-9]\d{1,4})x([1-9]\d{1,4})$} [dict get $own -size] -> width height]} {
        return -code error -errorcode [list ETW ARG SIZE [dict get $own -size]] \
            "expected WIDTHxHEIGHT such as 1200x600 for \"-size\" but got \"[dict get $own -size]\""
    }
    if {[dict get $own -save] ne ""} {
        return [Picture $sources $rest $own $width $height]
    }
    NeedTk
    set window [Window new .etwview[incr windows] $sources {*}$rest]
    $window theme [dict get $own -theme]
    wm geometry .etwview$windows ${width}x$height
    return .etwview$windows
}

# Save the whole trace as a picture, without a window.
proc ::etw::view::Picture {sources options own width height} {
    if {[string tolower [file extension [dict get $own -save]]] eq ".png"} {
        NeedTk
    }
    set model [Model new $sources {*}$options]
    try {
        $model read
        $model theme [dict get $own -theme]
        $model size $width $height
        $model fit
        Save [dict get $own -save] [$model drawing] $width $height
    } finally {
        $model destroy
    }
    return [dict get $own -save]
}
