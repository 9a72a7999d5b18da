# tools/windows-selftest.tcl --
#
#	`etw selftest` for users of the zips: tests etw with Windows' own tracing and writes a report to send to etw's
#	authors, because the system engine is developed with a simulated service. Some steps require an administrator.
#
#	tclsh windows-selftest.tcl ?REPORT?       default: etw-selftest.txt in the current directory
#
#	Exit code 0: nothing failed. library/cli/selftest.tcl has the steps.

foreach dir [list [expr {[info exists env(ETW_BUILD_DIR)] ? $env(ETW_BUILD_DIR) : {}}] [file dirname [file normalize [info script]]]] {
    if {[file exists [file join $dir pkgIndex.tcl]]} {
        set auto_path [linsert $auto_path 0 $dir]
        break
    }
}
package require etw
if {![file isdirectory [file join $dir library]]} {
    set dir [file dirname $dir] ;# the simulated service's directory
}
source [file join $dir library cli main.tcl]
exit [::etw::cli::Main $dir [list selftest {*}$argv]]
