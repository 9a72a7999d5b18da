# tkcon.tcl --
#
#	etw::tkcon: tracing from tkcon's console. Required in the interpreter where the user types, which rarely
#	is the interpreter with tkcon's widgets: this file finds the console and loads the other parts there:
#
#	    tkcon_model.tcl	what is traced: session, consumer, files. In the topmost interpreter, which can access all others
#	    event_lines.tcl	events as lines with colours; same interpreter as the model
#	    tkcon_view.tcl	the commands, the menu, lines above the prompt. In the interpreter with the console's widgets
#	    windows.tcl	the list of procs, an event's fields; same interpreter as the view
#
#	Model and lines need no Tk and do not depend on tkcon.

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
