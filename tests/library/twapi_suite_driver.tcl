# twapi_suite_driver.tcl --
#
#	Runs TWAPI's own test file for ETW, unchanged: BUILD DIRECTORY, where DIRECTORY has its etw.test and
#	testutil.tcl. It replaces what the file takes from other packages of TWAPI, from Windows' registry and
#	from the network. Written to the standard output are tcltest's own lines.

lassign $argv build suite
set auto_path [linsert $auto_path 0 $build]
package require etw_twapi

# ---- Other packages of TWAPI ------------------------------------------------------------------------------------

package provide twapi_process 5.2.0
namespace eval ::twapi {
    proc min_os_version {args} {return 1}
    proc process_in_administrators {} {return 1}
    proc get_process_elevation {} {return full}
    proc get_current_thread_id {} {return [pid]}
    proc twine {keys values} {
        set list {}
        foreach key $keys value $values {
            lappend list $key $value
        }
        return $list
    }
}

# ---- Activity that the file causes while it traces the kernel ------------------------------------------------------

namespace eval ::twapi::etw::test {
    # A server of this process instead of one on the Internet.
    proc socket {host port} {
        set server [::socket -server {apply {{chan args} {close $chan}}} -myaddr 127.0.0.1 0]
        set chan [::socket 127.0.0.1 [lindex [fconfigure $server -sockname] 2]]
        close $server
        return $chan
    }
    proc registry {args} {}
}

# Of a machine in no domain.
foreach {name value} {COMPUTERNAME etw LOGONSERVER {\\\\etw}} {
    if {![info exists env($name)]} {
        set env($name) $value
    }
}

# tcllib's csv, which the file sources from its directory.
set work [file join [expr {[info exists env(TEMP)] ? $env(TEMP) : "/tmp"}] etw-twapi-[pid]]
file mkdir $work
cd $work
set chan [open csv.tcl w]
puts $chan {namespace eval ::csv {proc split {line} {::split $line ,}}}
close $chan

set argv0 etw.test
set argv [list -verbose {pass skip error body} -tmpdir $work]
set argc [llength $argv]
rename exit RealExit
proc exit {{code 0}} {
    cd ..
    file delete -force $::work
    RealExit $code
}
source [file join $suite etw.test]
exit
