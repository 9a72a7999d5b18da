# tests/support/perf_script.tcl --
#
#	What `perf script` says about a file of perf, and what our events say, in one form: sorted lists, so that a test can
#	compare them. For tests/flow/perf_source.test and tests/golden/perf/record.tcl.

namespace eval perfscript {
    variable names {} ;# call N, error N -> name
    variable letters {running R preempted R+ sleeping S uninterruptible D stopped T traced t dead X zombie Z parked P idle I}
}

# Run perf. A sanitizer that is loaded into our Tcl must not be loaded into perf: it leaks memory.
proc perfscript::Perf {args} {
    return [exec -ignorestderr env -u LD_PRELOAD perf {*}$args 2>/dev/null]
}

# The names that the headers of C have for numbers of system calls and of errors (the negative results).
proc perfscript::NameOf {kind number} {
    variable names
    if {$kind eq "call" && $number == -1} {
        return 4294967295 ;# a call that was changed by a tracer, or the return of a new thread
    }
    if {$names eq {}} {
        foreach {of file pattern} {
            call /usr/include/x86_64-linux-gnu/asm/unistd_64.h {^#define __NR_(\w+) (\d+)}
            error /usr/include/asm-generic/errno-base.h {^#define\s+(E\w+)\s+(\d+)}
            error /usr/include/asm-generic/errno.h {^#define\s+(E\w+)\s+(\d+)}
        } {
            set chan [open $file]
            foreach {- name value} [regexp -line -all -inline $pattern [read $chan]] {
                dict set names $of {*}[expr {$of eq "error" ? [list -$value -$name] : [list $value $name]}]
            }
            close $chan
        }
    }
    return [expr {[dict exists $names $kind $number] ? [dict get $names $kind $number] : $number}]
}

# The fields of a tracepoint in perf's text, as a list in the order that Ours has.
proc perfscript::Fields {event text} {
    switch $event {
        sched:sched_switch {
            regexp {^prev_comm=(.*) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+) next_prio=(-?\d+)$} \
                $text -> oldComm old oldPrio state newComm new newPrio
            return [list $old $new $state $oldPrio $newPrio $oldComm $newComm]
        }
        sched:sched_wakeup {
            regexp {^comm=(.*) pid=(\d+) prio=(-?\d+) target_cpu=(\d+)$} $text -> comm pid prio cpu
            return [list $comm $pid $prio [scan $cpu %d]]
        }
        raw_syscalls:sys_enter {
            regexp {^NR (-?\d+) \((.*)\)$} $text -> number arguments
            return [list [NameOf call $number] {*}[split [string map {, {}} $arguments]]]
        }
        raw_syscalls:sys_exit {
            regexp {^NR (-?\d+) = (-?\d+)$} $text -> number result
            return [list [NameOf call $number] [NameOf error $result]]
        }
        sched:sched_process_exec {
            regexp {^filename=(.*) pid=(\d+) old_pid=(\d+)$} $text -> file pid old
            return [list $file $pid $old]
        }
    }
    return {}
}

# Events {time pid tid cpu event comm fields}.
proc perfscript::Script {file tracepoints} {
    set fields comm,pid,tid,cpu,time,event[expr {$tracepoints ? ",trace" : ""}]
    set result {}
    foreach line [split [Perf script --ns -i $file -F $fields] \n] {
        if {[regexp {^\s*(.*?)\s+(\d+)/(\d+)\s+\[(\d+)\]\s+(\d+)\.(\d{9}):\s+(\S+):\s*(.*?)\s*$} $line -> comm pid tid cpu seconds ns event text]} {
            lappend result [list $seconds$ns $pid $tid [scan $cpu %d] $event $comm [Fields $event $text]]
        }
    }
    return [lsort $result]
}

# Samples {time pid tid address {address ...}}: the last is the stack without the marks between kernel and user.
proc perfscript::Stacks {file} {
    set result {}
    set sample {}
    set stack {}
    foreach line [split [Perf script -D -i $file] \n] {
        if {[regexp {^(?:\d+ )?(\d+) 0x[0-9a-f]+ \[0x[0-9a-f]+\]: PERF_RECORD_SAMPLE\([^)]*\): (\d+)/(\d+): 0x([0-9a-f]+) } $line -> time pid tid ip]} {
            if {[llength $sample]} {lappend result [list {*}$sample $stack]}
            set sample [list $time $pid $tid $ip]
            set stack {}
        } elseif {[regexp {^\.\.\.\.\.\s+\d+: ([0-9a-f]{16})$} $line -> address]} {
            if {"0x$address" < 0xfffffffffffff001} {lappend stack [format %llx 0x$address]}
        }
    }
    if {[llength $sample]} {lappend result [list {*}$sample $stack]}
    return [lsort $result]
}

# ---- Our events -----------------------------------------------------------------------------------

# perf's letter of a task state.
proc perfscript::State {name} {
    variable letters
    return [expr {[dict exists $letters $name] ? [dict get $letters $name] : $name}]
}

# The name that perf has for one of our events, and its fields in the order of Fields. Empty: of another record.
proc perfscript::Named {provider event props clock} {
    switch $provider/$event {
        Linux-profile/Sample {return [list $clock {}]}
        Linux-contextswitch/Switch {
            return [list sched:sched_switch [lreplace [dict values $props] 2 2 [State [dict get $props OldState]]]]
        }
        Linux-systemcall/Enter {
            return [list raw_syscalls:sys_enter [list [dict get $props Syscall] {*}[lmap v [lrange [dict values $props] 1 end] {format %llx $v}]]]
        }
        Linux-systemcall/Exit {return [list raw_syscalls:sys_exit [dict values $props]]}
    }
    if {[string match Linux-sched $provider]} {
        return [list sched:$event [dict values $props]]
    }
    return {}
}

# As Script. offset: what is added to perf's time. Without tracepoints in the file, Switch is of other records.
proc perfscript::Ours {file offset tracepoints {clock cpu-clock}} {
    set result {}
    foreach e [etw::events $file] {
        dict with e {
            set name [Named $provider $event $props $clock]
            if {$name eq {} || ($provider eq "Linux-contextswitch" && !$tracepoints)} continue
            lassign $name name fields
            lappend result [list [expr {$time - $offset}] $pid $tid $cpu $name [expr {[dict exists $e process] ? [dict get $e process] : {}}] $fields]
        }
    }
    return [lsort $result]
}

# As Stacks.
proc perfscript::OurStacks {file offset} {
    set result {}
    foreach e [etw::events $file -stacks 1 -where {$provider eq {Linux-profile}}] {
        set stack [expr {[dict exists $e stack] ? [dict get $e stack] : {}}]
        lappend result [list [expr {[dict get $e time] - $offset}] [dict get $e pid] [dict get $e tid] \
            [format %llx [dict get $e props InstructionPointer]] [lmap address $stack {format %llx $address}]]
    }
    return [lsort $result]
}

# The differences of two lists of events, at most five: empty if they are equal. The names of processes are compared where both
# are known: perf has the thread's name of 15 bytes, we have the name of the process. only: compare these names only; others may have been
# changed by their program, which is no event of ours.
proc perfscript::Differences {theirs ours {only *}} {
    set result {}
    if {[llength $theirs] != [llength $ours]} {
        lappend result "[llength $theirs] events of perf, [llength $ours] of ours"
    }
    foreach their $theirs our $ours {
        if {[llength $their] == 7 && [llength $our] == 7} {
            set name [lindex $our 5]
            set name [string range [expr {[string match /* $name] ? [file tail $name] : $name}] 0 14]
            if {[lindex $their 1] != [lindex $their 2] || $name eq {} || ![string match $only [lindex $their 5]]} {
                set name [lindex $their 5]
            }
            set our [lreplace $our 5 5 $name]
        }
        if {$their ne $our && [llength $result] < 5} {
            lappend result [list perf $their ours $our]
        }
    }
    return $result
}

# ---- Frames of stacks in user mode, as the images and offsets in their files ------------------------

# Samples {time tid {{image offset} ...}}, as perf unwinds them. perf has one byte before a return address.
proc perfscript::UserFrames {file} {
    set result {}
    set sample {}
    foreach line [split [Perf script --ns --no-inline --max-stack 512 -i $file -F tid,time,ip,sym,dso] \n] {
        if {[regexp {^\s*(\d+)\s+(\d+)\.(\d{9}):\s*$} $line -> tid seconds ns]} {
            if {[llength $sample]} {lappend result [list {*}$sample $frames]}
            set sample [list $seconds$ns $tid]
            set frames {}
        } elseif {[regexp {^\s*([0-9a-f]+) .* \((.*?)( \(deleted\))?\)$} $line -> address image] && [string index $image 0] eq "/"} {
            lappend frames [list $image 0x$address]
        }
    }
    if {[llength $sample]} {lappend result [list {*}$sample $frames]}
    return [lsort $result]
}

# The same of our events. offset: what is added to perf's time.
proc perfscript::OurUserFrames {file offset} {
    set result {}
    set images {} ;# pid -> base -> {size offset path}
    foreach e [etw::events $file -stacks 1] {
        set props [dict get $e props]
        switch [dict get $e provider]/[dict get $e event] {
            Linux-imageload/Load - Linux-imageload/DCStart {
                dict with props {dict set images $ProcessId $ImageBase [list $ImageSize $FileOffset $FileName]}
            }
            Linux-imageload/Unload {dict with props {dict unset images $ProcessId $ImageBase}}
            Linux-profile/Sample {
                set frames {}
                set first 1
                foreach address [expr {[dict exists $e stack] ? [dict get $e stack] : {}}] {
                    if {$address >> 63} continue
                    set at [expr {$address - !$first}]
                    set first 0
                    set found {}
                    dict for {base image} [expr {[dict exists $images [dict get $e pid]] ? [dict get $images [dict get $e pid]] : {}}] {
                        lassign $image size from path
                        if {$at >= $base && $at < $base + $size} {set found [list $path [format 0x%llx [expr {$at - $base + $from}]]]}
                    }
                    if {[string index $found 0] eq "/"} {lappend frames $found}
                }
                lappend result [list [expr {[dict get $e time] - $offset}] [dict get $e tid] $frames]
            }
        }
    }
    return [lsort $result]
}
