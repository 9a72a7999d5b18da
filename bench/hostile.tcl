# bench/hostile.tcl --
#
#	The maximum cost of a megabyte of untrusted input: zip archives of at most that size, whose traces are
#	as slow as possible (smallest records, a thread or a provider for each record, longest text). Goal: no
#	command takes more than a second on an idle machine.

source [file join [file dirname [file normalize [info script]]] support.tcl]
bench::isolate
bench::loadEtw

set limit [expr {1 << 20}]

# One record each: index -> bytes, padded to 8.
proc perfinfo {i} {
    return [binary format cucucucususuwu 1 0 0x11 0xC0 16 0x50f [expr {2000 + $i}]]
}
proc compact {i} {
    return [binary format sucucususuiuiuwu 2 4 0xC0 24 0x324 $i 4 [expr {2000 + $i}]]
}
proc threads {i} {
    return [header [expr {1000 + $i}] $i 1 7 {}]
}
proc providers {i} {
    return [header 1000 1000 $i 7 {}]
}
proc names {i} {
    # a process start, with a different name each
    return [system 0x301 [binary format wuiuiuiuiuwuiu $i $i 4 1 0 0 0][binary format x12][encoding convertto utf-8 p$i.exe]\0\0\0]
}
proc header {pid tid provider id payload} {
    set size [expr {80 + [string length $payload]}]
    return [pad [binary format sucucususuiuiuwu $size 19 0xC0 0 0 $tid $pid [expr {2000 + $tid}]][binary format iux12 \
        $provider][binary format sucucucucuswu $id 0 0 4 0 0 0][string repeat \0 24]$payload]
}
proc system {hook payload} {
    set size [expr {32 + [string length $payload]}]
    return [pad [binary format sucucususuiuiuwuwu 2 2 0xC0 $size $hook 8 4 3000 0]$payload]
}
proc pad {record} {
    return $record[string repeat \0 [expr {-[string length $record] & 7}]]
}

# A file's header buffer, taken from an empty trace.
proc headerBuffer {file} {
    etw start hostile -file $file -buffersize 64
    etw stop hostile
    set f [open $file rb]
    set bytes [read $f 65536]
    close $f
    return $bytes
}

proc bufferOf {records} {
    set size [expr {0x48 + [string length $records]}]
    return [binary format iuiuiux4wuwuwususuiuiususux16 $size $size $size 0 0 1 0 1 3 $size 0x20 0]$records
}

proc zipOf {name data} {
    set packed [zlib deflate $data 9]
    set tail [binary format sususususuiuiuiususu 20 0 8 0 0 [zlib crc32 $data] [string length $packed] [string length $data] \
        [string length $name] 0]
    set local PK\3\4$tail$name$packed
    set entry PK\1\2[binary format su 20]$tail[binary format sususuiuiu 0 0 0 0 0]$name
    return $local$entry[binary format a4susususuiuiusu PK\5\6 0 0 1 1 [string length $entry] [string length $local] 0]
}

# As many records as fit into a megabyte of zip, or into the limit for its data. They repeat within deflate's
# window, or never.
proc hostile {kind repeats head} {
    set period [expr {$repeats ? 30000 / [string length [$kind 0]] : 50000}]
    set records {}
    for {set i 0} {[string length $records] < (31 << 20)} {} {
        if {!$repeats || $i == 0} {
            set chunk {}
            for {set n 0} {$n < $period} {incr n; incr i} {
                append chunk [$kind $i]
            }
        }
        if {[string length [zlib deflate $records$chunk 6]] > $::limit - 1000} {
            break
        }
        append records $chunk
        if {$repeats} {
            set records [string repeat $chunk [expr {(31 << 20) / [string length $chunk]}]]
            break
        }
    }
    return [zipOf a.etl $head[bufferOf $records]]
}

try {
    set file [file join [bench::tmp] own.etl]
    set zip [file join [bench::tmp] hostile.etl.zip]
    set head [headerBuffer $file]
    foreach {kind repeats} {perfinfo 1 perfinfo 0 compact 1 threads 1 threads 0 providers 1 providers 0 names 1
        names 0} {
        set bytes [hostile $kind $repeats $head]
        set f [open $zip wb]
        puts -nonewline $f $bytes
        close $f
        bench::note "$kind repeats $repeats: [string length $bytes] bytes, [dict get [etw info $zip] events] events"
        foreach {what command} {
            info {etw info $zip} text {etw dump $zip -output /dev/null} csv {etw dump $zip -format csv -output /dev/null}
            calls {etw calls $zip} first {etw events $zip -limit 1}
        } {
            set us [lindex [time {catch $command}] 0]
            bench::line hostile-$kind-$what [expr {$us / 1e6}] "s"
        }
    }
} finally {
    bench::cleanup
}
