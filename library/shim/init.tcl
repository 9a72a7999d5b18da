# init.tcl --
#
#	Replaces Tcl's own init.tcl, by TCL_LIBRARY, in a Tcl program run by `etw record`: it sources the real
#	init.tcl, as if it had been found directly, then loads etw and adds the traces. ETW_RECORD, a dict, has
#	the settings; with ETW_ATTACH=1 instead, all procs are traced, for sessions that are started later. The program's tcl_library, argv0, argv and info script are unchanged; its array env does not show
#	our variables, but its children get them. An error in this file is reported on stderr and has no other effect.
#	Interpreters that a process creates after `etw attach` source this file, too: attach.tcl leaves the settings in a variable. They
#	report no error, because the program was not started by etw.

apply {{} {
    if {[info exists ::etw::lib::attachHow]} {
        set how $::etw::lib::attachHow
        unset ::etw::lib::attachHow
    } elseif {[info exists ::env(ETW_RECORD)]} {
        set how $::env(ETW_RECORD)
    } else {
        set how [dict create package [file dirname [file dirname [file dirname [file normalize [info script]]]]] \
            patterns [expr {[info exists ::env(ETW_ATTACH)] && $::env(ETW_ATTACH) eq "1" ? "*" : {}}] options {}]
    }

    # The program sees neither errors of this file nor their traces.
    set save {
        set before {}
        foreach name {errorInfo errorCode} {
            if {[info exists ::$name]} {
                dict set before $name [set ::$name]
            }
        }
    }
    set restore {
        foreach name {errorInfo errorCode} {
            if {[dict exists $before $name]} {
                set ::$name [dict get $before $name]
            } else {
                unset -nocomplain ::$name
            }
        }
    }
    eval $save

    # The directories that tclInit searches, in its order.
    set candidates {}
    if {[dict exists $how library]} {
        lappend candidates [dict get $how library] \
            [file join [file dirname [dict get $how library]] tcl[info tclversion]]
    }
    if {[llength [info commands ::tcl::zipfs::tcl_library_init]]
            && ![catch {::tcl::zipfs::tcl_library_init} inside] && $inside ne ""} {
        lappend candidates $inside ;# Tcl 9 with an embedded library
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
    eval $restore
    uplevel #0 [list source [file join $::tcl_library init.tcl]]

    eval $save
    if {[catch {
        set dir [dict get $how package]
        source [file join $dir pkgIndex.tcl]
        package require etw {*}[expr {[dict exists $how version] ? "[dict get $how version]-[dict get $how version]" : {}}]
        if {[dict get $how patterns] ne {}} {
            ::etw script add {*}[dict get $how patterns] {*}[dict get $how options]
        }
        if {[dict exists $how interval] && [dict get $how interval] ne ""} {
            ::etw script sample -interval [dict get $how interval]
        }
        if {[dict exists $how cover] && [dict get $how cover]} {
            ::etw script cover
        }
        if {[info exists ::env(ETW_RECORD)] || [info exists ::env(ETW_ATTACH)] || ![dict exists $how action]} {
            ::etw::lib::hideEnv [list ETW_RECORD {} ETW_SCOPE {} ETW_ATTACH {} \
                TCL_LIBRARY [expr {[dict exists $how library] ? [list [dict get $how library]] : ""}]]
        }
        if {[dict exists $how untraced]} {
            file delete -- [dict get $how untraced]
        } else {
            set ::etw::lib::attached [dict get $how patterns]
        }
        if {[dict exists $how action] && [dict get $how interval] ne ""} {
            set ::etw::lib::attachedSample 1
        }
    } message] && ![dict exists $how action]} {
        catch {puts stderr "etw: this Tcl's script is not traced: $message"}
    }
    eval $restore
}}
