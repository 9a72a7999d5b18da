# twapi.tcl --
#
#	Package etw_twapi: the commands of TWAPI's package twapi_etw on every platform, implemented on etw. It
#	creates them in ::twapi and provides twapi_etw (and twapi, if the real one is not installed), so that
#	scripts written for TWAPI run unchanged. doc/twapi_etw.man describes differences.
#
#	This file determines the namespace of the commands. twapi_compat.tcl has record arrays, options and
#	times, control.tcl sessions and providers, twapi_script.tcl the provider for Tcl scripts, consume.tcl
#	reading and dumping, mof_classes.tcl the classes of classic events.

package require etw

namespace eval ::etw::twapi {
    # The namespace of the commands; to be set before the package is loaded. ::twapi may be used by the real
    # TWAPI.
    variable namespace
    if {![info exists namespace]} {
        set namespace ::twapi
    }
    # The version of TWAPI that these commands correspond to.
    variable like 5.2.0
    variable directory [file dirname [file normalize [info script]]]
}

apply {dir {
    # The names of loops in procs are not global variables of the program.
    foreach part {twapi_compat control twapi_script consume mof_classes} {
        uplevel #0 [list source [file join $dir $part.tcl]]
    }
}} $::etw::twapi::directory

# install ?-namespace NS?
#
# Create the commands in a namespace, which exports them. Fails for ::twapi if the real TWAPI is loaded.
proc ::etw::twapi::install {args} {
    variable namespace
    variable like
    set given [Options install [list -namespace arg $namespace] $args words]
    if {[llength $words] > 0} {
        return -code error -errorcode {TCL WRONGARGS} "wrong # args: should be \"install ?-namespace namespace?\""
    }
    set target ::[string trimleft [dict get $given -namespace] :]
    if {$target eq "::twapi"} {
        RefuseReal
        package provide twapi_etw $like
        package provide twapi_base $like
        if {![RealInstalled]} {
            package provide twapi $like
        }
    }
    namespace eval $target {namespace import -force ::etw::twapi::*}
    namespace eval $target {namespace export {[a-z]*}}
    return $target
}

# The real TWAPI is loaded if ::twapi has its command, or if other code has provided its package.
proc ::etw::twapi::RefuseReal {} {
    variable like
    set command ::twapi::etw_start_trace
    set taken [expr {[llength [info commands $command]] > 0}]
    if {$taken ? [namespace origin $command] eq "::etw::twapi::etw_start_trace"
            : [package provide twapi] eq "" && [package provide twapi_base] eq ""} {
        return
    }
    return -code error -errorcode {ETW STATE TWAPI ::twapi} "the real TWAPI is loaded, and has ::twapi: to have these commands\
        beside it, set ::etw::twapi::namespace before \"package require etw_twapi\", or call\
        \"etw::twapi::install -namespace NAME\""
}

# Possible on Windows only.
proc ::etw::twapi::RealInstalled {} {
    if {$::tcl_platform(platform) ne "windows"} {
        return 0
    }
    catch {{*}[package unknown] twapi 0-}
    return [expr {[llength [package versions twapi]] > 0}]
}

namespace eval ::etw::twapi {
    namespace export {[a-z]*}
    # Windows' names of the events of its network provider, which have precedence over the catalogue.
    ::etw schema load [file join $directory kernel-network.man]
    install
}
package provide etw_twapi 1.0
