# bench/paired.tcl --
#
#	Compares two builds: is the second one slower than the first? Each workload runs in a separate process,
#	alternating between the builds, so that a slow phase of the machine affects both. Prints for each
#	workload the best time of either build and two ratios, new / old: of the best times, and the median of
#	the pairs. Run it on an idle machine.
#
#	    tclsh bench/paired.tcl OLD-BUILD NEW-BUILD ?ROUNDS? ?PATTERN ...?     ROUNDS: default 7; patterns of workload names
#
#	The builds need their benches: make bench/programs/write bench/programs/scan bench/programs/etl_decode
#	in each.

set root [file dirname [file dirname [file normalize [info script]]]]
set corpus [expr {[info exists env(ETW_CORPUS)] ? $env(ETW_CORPUS) : [file join $root .. shared corpus]}]

# ---- One run of a workload, in a separate process ------------------------------------------------

namespace eval work {
    # Microseconds of SCRIPT, which runs in the global scope: the best of three runs.
    proc Time {script} {
        set best 1e12
        for {set i 0} {$i < 3} {incr i} {
            set best [expr {min($best, [lindex [uplevel #0 [list time $script 1]] 0])}]
        }
        return $best
    }
    # The value that a C program prints after NAME, converted so that less is better.
    proc Program {name program args} {
        set printed [exec [program $::build $program] {*}$args 2>@stderr]
        regexp -line "^$name (\\S+)" $printed -> value
        return [expr {[string match write* $name] ? $value : 1e3 / $value}]
    }
    proc session {args} {
        etw start paired -mode memory -buffers 16,16
        etw enable paired {*}$args
    }
}
# The path of a C program in a build; older trees have another layout.
proc program {build name} {
    set path [file join $build bench programs $name]
    return [expr {[file exists $path] ? $path : [file join $build bench $name]}]
}
proc fib {n} {
    expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]}
}
proc loop {n} {
    for {set i 0} {$i < $n} {incr i} {
        set x [expr {$i * 2}]
        set y $x
    }
}
proc ignore {args} {}

# name -> {kind of input file; script that returns the time}
set workloads {
    write-enabled {- {work::Program write-memory-1-threads write memory 1 3000000}}
    write-disabled {- {work::Program write-disabled-1-threads write disabled 1 50000000}}
    scan-events {plain {work::Program scan.all scan read $file}}
    scan-filter {plain {work::Program scan.provider scan read $file}}
    decode-values {decode {work::Program decode.rate etl_decode read $file 3}}
    script-call {- {work::session Tcl-Script; etw script add fib; fib 12; work::Time {fib 25}}}
    script-line {- {work::session Tcl-Script; etw script add loop -steps line; loop 10; work::Time {loop 1000000}}}
    script-untraced {- {work::session Tcl-Script; etw script add nothing*; fib 12; work::Time {fib 26}}}
    tcl-write {- {
        etw provider create Paired
        etw provider event Paired Sent {Bytes uint32 Peer string Time double}
        work::session Paired
        proc many {n} {for {set i 0} {$i < $n} {incr i} {::etw::write Paired Sent $i peer 1.5}}
        many 100
        work::Time {many 600000}
    }}
    info {calls {work::Time {etw info $file}}}
    dump-text {decode {work::Time {etw dump $file -output /dev/null}}}
    dump-csv {decode {work::Time {etw dump $file -format csv -output /dev/null}}}
    dump-json {decode {work::Time {etw dump $file -format json -output /dev/null}}}
    dump-calls {calls {work::Time {etw dump $file -output /dev/null}}}
    dump-kernel {kernel {work::Time {etw dump $file -output /dev/null}}}
    consume-dict {decode {work::Time {etw consume $file -batch 500 -limit 200000 -command ignore}}}
    where {decode {work::Time {etw dump $file -where {$Sequence == 5} -output /dev/null}}}
    summary-header {calls {work::Time {etw summary $file -format csv}}}
    summary-payload {calls {work::Time {etw summary $file -format csv -by Depth}}}
    calls-profile {calls {work::Time {etw calls $file -as profile}}}
    calls-tree {calls {work::Time {etw calls $file -as tree}}}
    export-chrome {calls {work::Time {etw export $file /dev/null -format chrome}}}
    timeline {calls {work::Time {set t t[incr n]; etw timeline create $t $file; etw timeline read $t}}}
    relog-copy {plain {work::Time {etw relog $file $out}}}
    relog-set {plain {work::Time {etw relog $file $out -set {level 3}}}}
    relog-redact {decode {work::Time {etw relog $file $out -redact Path}}}
}

if {[lindex $argv 0] eq "-worker"} {
    lassign $argv - build name file out
    set ::env(ETW_RUNTIME_DIR) $out.run
    set auto_path [linsert $auto_path 0 $build]
    package require etw
    puts [eval [lindex [dict get $workloads $name] 1]]
    exit
}

# ---- Alternating runs ----------------------------------------------------------------------------

lassign $argv old new rounds
set patterns [lrange $argv 3 end]
if {![file isdirectory $new]} {
    puts stderr "usage: tclsh bench/paired.tcl OLD-BUILD NEW-BUILD ?ROUNDS? ?PATTERN ...?"
    exit 2
}
set old [file normalize $old]
set new [file normalize $new]
set rounds [expr {$rounds eq "" ? 7 : $rounds}]
set tmp /dev/shm/etw-paired-[pid]
file mkdir $tmp

# The input files, created once by the old build.
proc inputs {} {
    global old tmp corpus files
    exec [program $old scan] make $tmp/plain.etl 200 56
    exec [program $old etl_decode] make $tmp/decode.etl 500000 1000
    exec [info nameofexecutable] << [format {
        set env(ETW_RUNTIME_DIR) %s/run
        set auto_path [linsert $auto_path 0 %s]
        package require etw
        proc fib {n} {expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]}}
        etw start make -file %s/calls.etl -buffersize 1024 -buffers 64,512
        etw enable make Tcl-Script
        etw script add fib
        for {set i 0} {$i < 40} {incr i} {fib 20; etw flush make}
        etw stop make
    } $tmp $old $tmp]
    set files [dict create - "" plain $tmp/plain.etl decode $tmp/decode.etl calls $tmp/calls.etl]
    set kernel [file join $corpus microsoft__perfview net.4.5.2.x64.etl]
    if {[file exists $kernel]} {
        dict set files kernel $kernel
    } else {
        puts "# no $kernel: set ETW_CORPUS"
    }
}
proc once {build name kind} {
    global tmp files
    return [exec [info nameofexecutable] [file normalize [info script]] -worker $build $name [dict get $files $kind] $tmp/out.etl]
}
proc median {list} {
    lindex [lsort -real $list] [expr {[llength $list] / 2}]
}

try {
    inputs
    puts [format "%-18s %14s %14s %10s %14s" workload "old, best" "new, best" "best" "median of pairs"]
    dict for {name workload} $workloads {
        set kind [lindex $workload 0]
        if {![dict exists $files $kind] || ($patterns ne "" && [lsearch -glob $patterns $name] < 0
                && ![llength [lmap p $patterns {if {![string match $p $name]} continue; set p}]])} {
            continue
        }
        set a {}; set b {}; set ratios {}
        for {set i 0} {$i < $rounds} {incr i} {
            if {$i % 2} {
                lappend b [once $new $name $kind]
                lappend a [once $old $name $kind]
            } else {
                lappend a [once $old $name $kind]
                lappend b [once $new $name $kind]
            }
            lappend ratios [expr {double([lindex $b end]) / [lindex $a end]}]
        }
        set bestA [lindex [lsort -real $a] 0]
        set bestB [lindex [lsort -real $b] 0]
        puts [format "%-18s %14.5g %14.5g %10.3f %14.3f" $name $bestA $bestB [expr {double($bestB) / $bestA}] [median $ratios]]
        flush stdout
    }
} finally {
    file delete -force $tmp
}
