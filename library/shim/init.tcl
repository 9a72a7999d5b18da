# init.tcl --
#
#	What `etw record` lets a Tcl program find in place of Tcl's own init.tcl, by TCL_LIBRARY: it sources the real one,
#	as if it had been found at once, and then loads etw and adds the traces. ETW_RECORD, a dict, says how. The program
#	sees its own tcl_library, argv0, argv and info script; a fault in here is told on stderr and changes nothing else.

apply {{} {
    set how $::env(ETW_RECORD)

    # Where tclInit would have looked, in its order.
    set candidates {}
    if {[dict exists $how library]} {
        lappend candidates [dict get $how library] \
            [file join [file dirname [dict get $how library]] tcl[info tclversion]]
    }
    if {![catch {::tcl::zipfs::tcl_library_init} inside] && $inside ne ""} {
        lappend candidates $inside ;# Tcl 9 with its library in itself
    }
    if {[info exists ::tclDefaultLibrary]} {
        lappend candidates $::tclDefaultLibrary
    }
    lappend candidates [::tcl::pkgconfig get scriptdir,runtime]
    set up [file dirname [file dirname [info nameofexecutable]]]
    foreach {base rest} [list $up lib $up library [file dirname $up] lib [file dirname $up] library] {
        lappend candidates [file join $base $rest tcl[info tclversion]] [file join $base $rest]
    }
    if {[info exists ::tcl_libPath]} {
        lappend candidates {*}$::tcl_libPath
    }
    foreach dir $candidates {
        if {[file exists [file join $dir init.tcl]]
                && [file normalize $dir] ne [file normalize [file dirname [info script]]]} {
            set ::tcl_library $dir
            break
        }
    }
    uplevel #0 [list source [file join $::tcl_library init.tcl]]

    set before {}
    foreach name {errorInfo errorCode} {
        if {[info exists ::$name]} {
            dict set before $name [set ::$name]
        }
    }
    if {[catch {
        set dir [dict get $how package]
        source [file join $dir pkgIndex.tcl]
        package require -exact etw [dict get $how version]
        ::etw script add {*}[dict get $how patterns] {*}[dict get $how options]
    } message]} {
        catch {puts stderr "etw: this Tcl's script is not traced: $message"}
    }
    foreach name {errorInfo errorCode} {
        if {[dict exists $before $name]} {
            set ::$name [dict get $before $name]
        } else {
            unset -nocomplain ::$name
        }
    }
}}
