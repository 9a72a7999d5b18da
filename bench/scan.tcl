# bench/scan.tcl --
#
#	Reading without decoding: every event with its header fields, filters on the header, opening a large
#	file; generated uncompressed files and, if the corpus of real files is available (ETW_CORPUS), a
#	compressed merge. Goals: 17.4 million events per second through a filter; large payloads at 60 % of
#	memcpy's speed; 22 million per second without a filter, 5.8 million in compressed files; 200 ms to the
#	first event of 4 GB.

source [file join [file dirname [file normalize [info script]]] support.tcl]

proc scan {label file} {
    dict for {name value} [bench::run scan read $file] {
        set unit [expr {[string match *.bytes $name] || $name eq "scan.memcpy" ? "GB/s" :
            $name eq "scan.open" ? "ms" : $name eq "scan.events" ? "events" : "Mevents/s"}]
        bench::line [string map [list scan. scan-$label-] $name] $value $unit
    }
}

try {
    foreach {label megabytes payload} {small 200 8 ordinary 400 56 large 400 8000} {
        set file [file join [bench::diskTmp] $label.etl]
        exec [file join $bench::build bench programs scan] make $file $megabytes $payload
        scan $label $file
        file delete $file
    }
    set corpus [expr {[info exists env(ETW_CORPUS)] ? $env(ETW_CORPUS) : [file join $bench::root .. shared corpus]}]
    foreach {label name} {kernel diaghub.kernel.1.etl compressed net.4.5.2.x64.etl} {
        set file [file join $corpus microsoft__perfview $name]
        if {[file exists $file]} {
            scan $label $file
        } else {
            bench::note "no $file: set ETW_CORPUS"
        }
    }
} finally {
    bench::cleanup
}
