# bench/etl_decode.tcl --
#
#	The cost of reading an .etl file in addition to the reader itself (scan.tcl measures the reader): every
#	field as a C value, text, csv, json, Tcl lists and dicts, filters that few events pass, opening. Uses
#	generated TraceLogging events of 48 bytes, and kernel events with names and stacks from the corpus of
#	real files (ETW_CORPUS).
#
#	peers.tcl compares reading with other parsers, file by file. A parser that also decodes fields is
#	compared here: the command in ETW_PEER_DECODER receives a file and prints `rate N`, the millions of
#	events that it decodes per second. Goal: 50 times.
#
#	Goals in millions of events per second: C values 3; text 4.5 for TraceLogging, 1 for kernel events with
#	names and stacks; Tcl list of selected fields 1, full dict 0.25. 200 ms to the first event.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::loadEtw

set runs 5
set corpus [expr {[info exists env(ETW_CORPUS)] ? $env(ETW_CORPUS) : [file join $bench::root .. shared corpus]}]

proc sink {args} {}
# Millions of events per second of a global script: the best of several runs.
proc rate {events script} {
    set best 1e18
    for {set i 0} {$i < $::runs} {incr i} {
        set best [expr {min($best, [bench::microseconds $script])}]
    }
    return [expr {$events / double($best)}]
}
proc measure {name events goal script} {
    bench::line $name [rate $events $script] "M events/s[expr {$goal eq "" ? "" : " (goal: at least $goal)"}]"
}

# All outputs for one file. goals: of C values, text, list, dict.
proc ways {label path fields options goals} {
    lassign $goals values text list dict
    set ::file $path
    set ::options $options
    set ::fields $fields
    set r [bench::run etl_decode read $path $::runs]
    set n [dict get $r decode.events]
    bench::line decode-$label-values [dict get $r decode.rate] "M events/s[expr {$values eq "" ? "" : " (goal: at least $values)"}]"
    measure decode-$label-text $n $text {etw dump $file {*}$options -output /dev/null}
    measure decode-$label-csv $n "" {etw dump $file {*}$options -format csv -output /dev/null}
    measure decode-$label-json $n "" {etw dump $file {*}$options -format json -output /dev/null}
    measure decode-$label-list $n $list {etw consume $file -fields $fields -as list -batch 500 -command sink}
    measure decode-$label-dict $n $dict {etw consume $file -batch 500 -command sink}
    return $n
}

# All fields as C values, compared with a parser that also decodes.
proc besideDecoder {path} {
    set ours [dict get [bench::run etl_decode read $path $::runs] decode.rate]
    bench::line decode-[file rootname [file tail $path]]-values $ours "M events/s"
    if {![info exists ::env(ETW_PEER_DECODER)]} {
        bench::note "ETW_PEER_DECODER is not set: no peer that decodes"
    } elseif {[catch {exec {*}$::env(ETW_PEER_DECODER) $path 2>@1} out]
            || ![regexp -line {^rate ([\d.]+)} $out -> theirs]} {
        bench::note "the peer does not decode $path: [lindex [split $out \n] end]"
    } else {
        bench::line decode-values-times-peer [expr {$ours / $theirs}] "times (goal: at least 50)"
    }
}

try {
    set tl [file join [bench::tmp] decode.etl]
    set events 2000000
    exec [file join $bench::build bench programs etl_decode] make $tl $events 1000
    ways tracelogging $tl {time id Sequence Path} {} {3 4.5 1 0.25}
    foreach {name where} {pid {$pid == 4000} id {$id == 4000} time {$time < 0} name {$provider eq "Etw-Bench-Other"}} {
        measure decode-where-$name $events "" {etw dump $tl -where $where -output /dev/null}
    }
    measure decode-last-millisecond $events "" {etw dump $tl -from +1.999 -output /dev/null}
    bench::line decode-first-event [expr {1 / [rate 1000 {etw events $tl -limit 1}]}] "ms (goal: at most 200, of 4 GB)"
    file delete $tl
    set kernel [file join $corpus microsoft__perfview net.4.5.2.x64.etl]
    if {[file exists $kernel]} {
        ways kernel $kernel {time pid event} {-stacks 1} {3 1 1 0.25}
        besideDecoder [file join $corpus airbus-cert__etl-parser ShutdownPerfDiagLogger.etl]
    } else {
        bench::note "no $kernel: set ETW_CORPUS"
    }
} finally {
    bench::cleanup
}
