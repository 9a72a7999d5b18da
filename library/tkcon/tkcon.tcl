# tkcon.tcl --
#
#	etw::tkcon: tracing from tkcon's console. Required where the console's user types, which is seldom where tkcon's widgets
#	are: this file finds the console and sends the rest there. The parts:
#
#	    tkcon_model.tcl	what is traced: session, consumer, files. In the interpreter above all of tkcon's, which reaches all of them
#	    event_lines.tcl	events as lines with colours, beside the model
#	    tkcon_view.tcl	the commands, the menu, lines above the prompt. In the interpreter that has the console's widgets
#	    windows.tcl	the list of procs, an event's fields, beside the view
#
#	Model and lines need no Tk and know nothing of tkcon.

package require Tcl 8.6-
package require etw

apply {dir {
    if {[namespace exists ::tkcon] && [info procs ::tkcon::InitUI] ne ""} {
        uplevel #0 [list source [file join $dir tkcon_view.tcl]]
        ::etw::tkcon::view::Install
    } elseif {[info commands ::tkcon] ne ""} {
        ::tkcon eval source [file join $dir tkcon_view.tcl]
        ::tkcon eval ::etw::tkcon::view::Install
    } else {
        return -code error -errorcode {ETW UNSUPPORTED TKCON} "etw::tkcon belongs into tkcon's console, and this interpreter\
            has no command of its: if one is attached, choose Interp > Send tkcon Commands there"
    }
}} [file dirname [file normalize [info script]]]

package provide etw::tkcon [package provide etw]
