    # attach.tcl --
    #
    #	The body of a proc that `etw attach` and `etw detach` call in each interpreter of another process. `how` is a dict:
    #	action, package, version, runtime, patterns, options, interval. It is in the namespace ::etw::lib, whose procs are not traced.
    #	The program sees neither errors of this script nor
    #	their traces; an error is reported to the attaching process.
    set before {}
    foreach name {errorInfo errorCode} {
        if {[info exists ::$name]} {
            dict set before $name [set ::$name]
        }
    }
    set code [catch {
        if {[dict get $how action] eq "attach"} {
            if {[package provide etw] eq ""} {
                set dir [dict get $how package]
                source [file join $dir pkgIndex.tcl]
            }
            package require -exact etw [dict get $how version]
            if {[::etw::lib::child directory] ne [dict get $how runtime]} {
                error "its runtime directory is [::etw::lib::child directory], not [dict get $how runtime]:\
                    set ETW_RUNTIME_DIR to that directory for etw"
            }
            # The program's own traces stay at the end.
            set own [lmap trace [::etw script list] {dict get $trace pattern}]
            foreach pattern [dict get $how patterns] {
                ::etw script add $pattern {*}[dict get $how options]
                if {$pattern ni $own} {
                    lappend ::etw::lib::attached $pattern
                }
            }
            if {[dict get $how interval] ne ""} {
                ::etw script sample -interval [dict get $how interval]
                set ::etw::lib::attachedSample 1
            }
            # Interpreters that are created from now on, also in new threads, find init.tcl of this directory, which does the same.
            # An interpreter that is itself being created has no tcl_library yet.
            set library [expr {[info exists ::tcl_library] ? [list library $::tcl_library] : {}}]
            ::etw::lib::newInterps [format {catch {
                namespace eval ::etw::lib {}
                set ::etw::lib::attachHow %1$s
                if {[info exists ::tcl_library]} {
                    dict set ::etw::lib::attachHow library $::tcl_library
                }
                if {[file readable [file join %2$s init.tcl]]} {
                    set ::tcl_library %2$s
                }
            }} [list [dict merge $how $library]] [list [file join [dict get $how package] library shim]]]
        } else {
            if {[llength [info commands ::etw::lib::newInterps]]} {
                ::etw::lib::newInterps {}
            }
            if {[info exists ::etw::lib::attachedSample]} {
                ::etw script sample -interval 0
            }
            if {[info exists ::etw::lib::attached]} {
                ::etw script remove {*}[lsort -unique $::etw::lib::attached]
            }
            unset -nocomplain ::etw::lib::attachedSample ::etw::lib::attached
        }
    } message]
    foreach name {errorInfo errorCode} {
        if {[dict exists $before $name]} {
            set ::$name [dict get $before $name]
        } else {
            unset -nocomplain ::$name
        }
    }
    return -code $code $message
