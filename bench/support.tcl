# bench/support.tcl --
#
#	Shared by the bench scripts: the build directory, running programs and peers, printing `name value
#	unit`. A peer that is not installed is reported, not a failure. Every value is the best of several runs,
#	so that other load matters less; losses are summed over all of them.

namespace eval bench {
    variable build [expr {[info exists ::env(ETW_BUILD_DIR)] ? $::env(ETW_BUILD_DIR) : [pwd]}]
    variable root [file dirname [file dirname [file normalize [info script]]]]
    variable tmp ""
    variable diskTmp ""

    # Directory for large files: in memory if there is enough, so that the disk is not measured.
    proc tmp {} {
        variable tmp
        if {$tmp eq ""} {
            set base [expr {[file writable /dev/shm] ? "/dev/shm" : "/tmp"}]
            set tmp [file join $base etw-bench-[pid]]
            file mkdir $tmp
        }
        return $tmp
    }
    # A private runtime directory, because other sessions of the user could enable the measured providers.
    proc isolate {} {
        set ::env(ETW_RUNTIME_DIR) [file join [tmp] run]
    }
    # For files that are read in a measurement: in the build directory, on a disk. They stay in the page cache,
    # whose pages are larger there than in /dev/shm, as for users' files.
    proc diskTmp {} {
        variable diskTmp
        variable build
        set diskTmp [file join $build bench-[pid]]
        file mkdir $diskTmp
        return $diskTmp
    }
    proc cleanup {} {
        variable tmp
        variable diskTmp
        foreach dir [list $tmp $diskTmp] {
            if {$dir ne ""} {
                file delete -force $dir
            }
        }
    }
    proc loadEtw {} {
        variable build
        set ::auto_path [linsert $::auto_path 0 $build]
        package require etw
    }
    # The text that tcllib parses in the benches of scripts.
    proc json {} {
        return "\[[join [lrepeat 300 {{"name": "a b c", "value": [1, 2.5, null, true], "more": {"x": "y"}}}] ,]\]"
    }
    proc line {name value unit} {
        if {[string is double -strict $value]} {
            set value [format [expr {abs($value) < 1000 ? "%.2f" : "%.0f"}] $value]
        }
        puts [format "%-44s %14s %s" $name $value $unit]
        flush stdout
    }
    proc note {text} {
        puts "# $text"
    }
    # Run a program of bench/programs/*.c; returns a dict name -> value of the lines it prints.
    proc run {program args} {
        variable build
        set result {}
        foreach l [split [exec [file join $build bench programs $program] {*}$args 2>@stderr] \n] {
            dict set result [lindex $l 0] [lindex $l 1]
        }
        return $result
    }
    # Smallest value of `name` in n runs of a script that returns such a dict.
    proc best {n name script} {
        set best ""
        for {set i 0} {$i < $n} {incr i} {
            set v [dict get [uplevel 1 $script] $name]
            if {$best eq "" || $v < $best} {
                set best $v
            }
        }
        return $best
    }
    # Start an LTTng session daemon if there is none. False: not available.
    proc lttng {} {
        if {![have lttng] || ![have lttng-sessiond]} {
            return 0
        }
        if {[catch {exec lttng list 2>@1}]} {
            catch {exec lttng-sessiond -d --no-kernel 2>@1}
            for {set i 0} {$i < 50 && [catch {exec lttng list 2>@1}]} {incr i} {
                after 100
            }
        }
        return [expr {![catch {exec lttng list 2>@1}]}]
    }
    # An LTTng trace of `count` events, written by bench/programs/lttng_write.c; "": not available, with a note.
    proc lttngTrace {count} {
        variable build
        if {![have babeltrace2] || ![lttng]} {
            note "babeltrace2 or lttng is not installed (sh tools/deps.sh bench): no peer"
            return ""
        }
        set dir [file join [tmp] ctf]
        set session etw-bench-[pid]
        exec lttng create $session --output=$dir
        exec lttng enable-channel -u -s $session ch --subbuf-size=4M --num-subbuf=16 --blocking-timeout=inf
        exec lttng enable-event -u -s $session -c ch etw_peer:*
        exec lttng start $session
        exec env LTTNG_UST_ALLOW_BLOCKING=1 [file join $build bench programs lttng_write] lttng 1 $count
        exec lttng destroy $session
        return $dir
    }
    # A perf.data with some hundred thousand system calls: {file events}, or "" with a note.
    proc perfTrace {} {
        if {![have perf]} {
            note "perf is not installed (sh tools/deps.sh bench): no peer"
            return ""
        }
        set data [file join [tmp] perf.data]
        if {[catch {exec perf record -q -m 4096 -e raw_syscalls:sys_enter -o $data \
                dd if=/dev/zero of=/dev/null bs=1 count=500000 2>@1} message]} {
            note "perf record: [lindex [split $message \n] 0]"
            return ""
        }
        return [list $data [exec perf script -i $data 2>/dev/null | wc -l]]
    }
    proc have {program} {
        expr {[auto_execok $program] ne ""}
    }
    # Microseconds that a global script takes, once.
    proc microseconds {script} {
        lindex [uplevel #0 [list time $script 1]] 0
    }
}
bench::isolate

# The proc that the benches of scripts call and trace.
proc fib {n} {
    if {$n < 2} {
        return $n
    }
    return [expr {[fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]}]
}
