# bench/view.tcl --
#
#	The viewer: reading into a timeline, boxes for the whole trace and for a thousandth of it, memory per
#	event, with 1e4 and 1e6 events (and 1e7 with the argument `huge`); with an Xvfb also the time to the
#	first complete picture in a window, and to a picture when panning. Compared with counting the same
#	events (`etw info`), the minimum of any reading.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

proc write {file events} {
    etw start bench-view -file $file -buffersize 1024 -buffers 64,256
    etw enable bench-view Tcl-Script
    etw script add fib
    for {set done 0} {$done < $events} {incr done [expr {$events < 20000 ? 1972 : 27058}]} {
        fib [expr {$events < 20000 ? 14 : 19}] ;# 986 or 13529 calls
        after 10 ;# lets the logger run
    }
    etw script remove
    etw stop bench-view
}
# Smallest of n runs, in ms.
proc best {n script} {
    set best 1e12
    for {set i 0} {$i < $n} {incr i} {
        set best [expr {min($best, [bench::microseconds $script])}]
    }
    return [expr {$best / 1000.0}]
}
proc timeline {size file} {
    bench::line view-$size-count-only [best 3 [list etw info $file]] ms
    bench::line view-$size-read [best 3 [list apply {{file} {
        etw timeline create bench $file
        etw timeline delete bench
    }} $file]] ms
    etw timeline create bench $file
    set info [etw timeline info bench]
    lassign [list [dict get $info first] [dict get $info last]] first last
    set lanes [lmap lane [etw timeline lanes bench] {dict get $lane lane}]
    set middle [dict get [lindex [etw timeline rows bench all [expr {[dict get $info events] / 2}] 1] 0] time]
    set by [expr {($last - $first) / 2000}]
    bench::line view-$size-events [dict get $info events] events
    bench::line view-$size-memory [expr {double([dict get $info memory]) / [dict get $info events]}] "bytes/event"
    bench::line view-$size-boxes-whole [best 20 [list etw timeline boxes bench $lanes $first $last 1200]] ms
    bench::line view-$size-boxes-thousandth \
        [best 20 [list etw timeline boxes bench $lanes [expr {$middle - $by}] [expr {$middle + $by}] 1200]] ms
    bench::line view-$size-totals [best 5 [list etw timeline totals bench $first $last]] ms
    etw timeline delete bench
}
proc display {} {
    if {![bench::have Xvfb]} {
        return 0
    }
    set said [file join [bench::tmp] display]
    exec Xvfb -displayfd 1 -terminate -screen 0 1300x850x24 -nolisten tcp > $said 2> /dev/null < /dev/null &
    for {set i 0} {$i < 500 && ![file size $said]} {incr i} {
        after 20
    }
    set ::env(DISPLAY) :[string trim [read [set f [open $said]]]]
    close $f
    return [expr {![catch {package require Tk}]}]
}
proc show {file} {
    set top [etw view $file]
    set w [lindex [info class instances ::etw::view::Window] 0]
    while {![$w idle]} {
        update
        after 1
    }
    update
    return $w
}
proc window {size file} {
    set ::shown {}
    bench::line view-$size-first-picture [best 3 [list apply {{file} {
        if {$::shown ne ""} {
            $::shown destroy
        }
        set ::shown [show $file]
    }} $file]] ms
    bench::line view-$size-frame-whole [best 20 {$::shown pan 0.001; $::shown draw; update idletasks}] ms
    $::shown zoom 0.001
    bench::line view-$size-frame-thousandth [best 20 {$::shown pan 0.01; $::shown draw; update idletasks}] ms
    $::shown destroy
}

set sizes {1e4 10000 1e6 1000000}
if {"huge" in $argv} {
    lappend sizes 1e7 10000000
}
set hasDisplay [display]
foreach {size events} $sizes {
    set file [file join [bench::tmp] view.etl]
    write $file $events
    timeline $size $file
    if {$hasDisplay} {
        window $size $file
    } else {
        bench::note "no Xvfb or no Tk: no window"
    }
    file delete $file
}
bench::cleanup
exit
