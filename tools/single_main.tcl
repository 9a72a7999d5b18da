# tools/single_main.tcl --
#
#	The start of the single file (tools/single.sh), main.tcl in its zip. Programs that it records load the package with
#	a Tcl of their own, which cannot see into this file: the package is copied into the user's cache, once for each
#	version. `etw tclsh SCRIPT ARG ...` runs a script with the Tcl in this file, which has the package.

namespace eval ::single {
    variable inside [file dirname [file normalize [info script]]]

    # The user's cache, or a directory for this user alone among the temporary ones.
    proc Cache {} {
        foreach {name below} {ETW_SINGLE_CACHE {} LOCALAPPDATA {} XDG_CACHE_HOME {} HOME .cache} {
            if {[info exists ::env($name)] && $::env($name) ne "" && [file isdirectory $::env($name)] && [file writable $::env($name)]} {
                return [file join $::env($name) $below etw]
            }
        }
        foreach name {TMPDIR TEMP TMP} {
            if {[info exists ::env($name)] && [file isdirectory $::env($name)]} {
                return [file join $::env($name) etw-$::tcl_platform(user)]
            }
        }
        return /tmp/etw-$::tcl_platform(user)
    }

    # The directory of the package, copied if it is not there yet. Renamed into place when complete.
    proc Package {} {
        variable inside
        set chan [open [file join $inside stamp]]
        set stamp [string trim [read $chan]]
        close $chan
        set cache [Cache]
        set to [file join $cache $stamp]
        if {![file isdirectory $cache]} {
            file mkdir $cache
            catch {file attributes $cache -permissions 0700}
        }
        if {[file exists $cache] && $::tcl_platform(platform) eq "unix" && ![file owned $cache]} {
            error "\"$cache\" belongs to another user: set ETW_SINGLE_CACHE to a directory of yours"
        }
        if {![file isdirectory $to]} {
            set new $to-[pid]
            file mkdir $new
            try {
                foreach path [glob -directory [lindex [glob -directory $inside -types d {etw[0-9]*}] 0] *] {
                    file copy $path $new
                }
                foreach program [glob -nocomplain -directory $new etw-logger] {
                    file attributes $program -permissions 0755
                }
                if {[catch {file rename $new $to} message how] && ![file isdirectory $to]} {
                    return -options $how $message ;# otherwise another process was faster
                }
            } finally {
                file delete -force $new
            }
        }
        return $to
    }
}

set dir [::single::Package]
set auto_path [linsert $auto_path 0 $dir]
if {![info exists env(ETW_LOGGER)] && [file exists [file join $dir etw-logger]]} {
    set env(ETW_LOGGER) [file join $dir etw-logger]
}
if {[lindex $argv 0] eq "tclsh" && [llength $argv] > 1} {
    set argv [lassign $argv - argv0]
    set argc [llength $argv]
    info script $argv0
    source -encoding utf-8 $argv0
    exit
}
package require etw
source [file join $dir library cli main.tcl]
exit [::etw::cli::Main $dir $argv]
