# tools/pictures.tcl --
#
#	Creates the pictures of README.md and the tutorial with the package, from a trace of tools/demo.sh.
#
#	TCLLIBPATH=build tclsh tools/pictures.tcl ?TRACE?

package require etw

set top [file dirname [file dirname [file normalize [info script]]]]
set trace [expr {$argc > 0 ? [lindex $argv 0] : [file join $top build http.etl]}]
set pictures [file join $top doc pictures]
# Skip the time before the job begins.
set first [lindex [etw events $trace -where {$event eq "Enter"} -limit 1] 0]
etw view $trace -save [file join $pictures view.svg] -size 1200x230 -from [expr {[dict get $first time] - 100000}]
etw export $trace [file join $pictures flame.svg] -format flamegraph
foreach name {view.svg flame.svg} {
    if {$tcl_platform(platform) eq "unix"} {
        file attributes [file join $pictures $name] -permissions 0644
    }
}
