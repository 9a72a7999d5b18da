# hostile.tcl --
#
#	Valid traces that are made to be as expensive as can be: `::hostile::file KIND N FILE` writes one of about N events. Users: tests/project/bounds.test
#	and bench/hostile.tcl. Each kind is a proc of namespace ::hostile::kind that returns records.

namespace eval hostile {
    variable records {}
    variable time 0
    variable id 0
    namespace eval kind {}
}

proc ::hostile::kinds {} {
    return [lsort [lmap name [info commands kind::*] {namespace tail $name}]]
}

proc ::hostile::file {kind n file} {
    variable records {}
    variable time 1000000
    variable id 0
    namespace eval kind [list $kind $n]
    etw relog $file -records $records
    set records {}
    return $file
}

# ---- Records ------------------------------------------------------------------------------------

proc ::hostile::event {provider event values args} {
    variable records
    variable time
    lappend records [etw test event $provider $event $values -time [incr time 1000] {*}[dict merge {-pid 10 -tid 10} $args]]
}
# Writes the begin of a call: returns its id.
proc ::hostile::enter {name depth {context {}} args} {
    variable id
    event Tcl-Script Enter [list CallId [incr id] Depth $depth Command $name Context $context File {} Line 0] {*}$args
    return $id
}
proc ::hostile::leave {id args} {
    event Tcl-Script Leave [list CallId $id Depth 1 Code 0 Duration 0 Command x Result {}] {*}$args
}
# Writes the begin of that many nested calls: returns their ids.
proc ::hostile::nest {name count {from 1}} {
    set ids {}
    for {set i 0} {$i < $count} {incr i} {
        lappend ids [enter $name [expr {$from + $i}] [expr {$i > 0 ? "::$name" : ""}]]
    }
    return $ids
}

# ---- Calls --------------------------------------------------------------------------------------

# One recursion.
proc ::hostile::kind::deep {n} {
    foreach id [lreverse [::hostile::nest f [expr {$n / 2}]]] {
        ::hostile::leave $id
    }
}
# Many different stacks without common frames, each as deep as a tree can be.
proc ::hostile::kind::stacks {n} {
    for {set i 0} {$i < $n} {incr i 1000} {
        foreach id [lreverse [::hostile::nest proc$i 500]] {
            ::hostile::leave $id
        }
    }
}
# Coroutines that have yielded at the same place, and return in the order of their calls.
proc ::hostile::kind::sleepers {n} {
    set ids {}
    for {set i 0} {$i < $n / 2} {incr i} {
        lappend ids [::hostile::enter gen 1]
    }
    foreach id $ids {
        ::hostile::leave $id
    }
}
# A deep coroutine that is resumed and yields again and again.
proc ::hostile::kind::yields {n} {
    set depth [expr {$n / 4}]
    ::hostile::nest gen $depth 2
    for {set i 0} {$i < $n / 4} {incr i} {
        ::hostile::leave [::hostile::enter main 1]
        ::hostile::leave [::hostile::enter next [expr {$depth + 2}] ::gen]
    }
}
# Calls that are never left, of many interpreters.
proc ::hostile::kind::open {n} {
    for {set i 0} {$i < $n} {incr i} {
        incr ::hostile::id 255
        ::hostile::enter open$i [expr {$i % 60000 + 1}]
    }
}
# A deep stack with many kinds of costs.
proc ::hostile::kind::costs {n} {
    set ids [::hostile::nest f [expr {$n / 3}]]
    for {set i 0} {$i < $n / 3} {incr i} {
        ::hostile::event Tcl-Script Channel [list Channel sock$i Bytes 10 Duration 10 Operation read] -missing zero
    }
    foreach id [lreverse $ids] {
        ::hostile::leave $id
    }
}
# Threads of one process, one after the other.
proc ::hostile::kind::threads {n} {
    for {set i 0} {$i < $n / 2} {incr i} {
        ::hostile::enter work 1 {} -tid [expr {1000 + $i}]
    }
    for {set i 0} {$i < $n / 2} {incr i} {
        ::hostile::event Thread 2 [list ProcessId 10 TThreadId [expr {1000 + $i}]] -missing zero -tid [expr {1000 + $i}]
    }
}
# Threads that alternate.
proc ::hostile::kind::switches {n} {
    for {set i 0} {$i < $n / 2} {incr i} {
        set tid [expr {1000 + $i}]
        ::hostile::enter work 1 {} -tid $tid
        ::hostile::event Thread CSwitch [list NewThreadId [expr {$tid + 1}] OldThreadId $tid] -missing zero -tid $tid -cpu [expr {$i % 64}]
    }
}
# Procs of different names.
proc ::hostile::kind::procs {n} {
    for {set i 0} {$i < $n / 2} {incr i} {
        ::hostile::leave [::hostile::enter proc_of_the_name_$i 1]
    }
}

# ---- Events -------------------------------------------------------------------------------------

proc ::hostile::kind::providers {n} {
    for {set i 0} {$i < $n} {incr i} {
        ::hostile::event Provider-$i Event {n 1} -fields {n uint32}
    }
}
proc ::hostile::kind::schemas {n} {
    set fields {}
    for {set f 0} {$f < 100} {incr f} {
        lappend fields field$f uint8
    }
    for {set i 0} {$i < $n} {incr i} {
        ::hostile::event Many Event-$i {} -fields $fields -missing zero
    }
}
proc ::hostile::kind::keys {n} {
    for {set i 0} {$i < $n} {incr i} {
        ::hostile::event Keys Event [list key key$i n $i] -fields {key string n uint32} -pid $i -tid $i
    }
}
proc ::hostile::kind::strings {n} {
    set long [string repeat "\x1b\x01<&\"" 12000]
    for {set i 0} {$i < $n} {incr i 100} {
        ::hostile::event Strings Event [list text $long] -fields {text string}
        ::hostile::enter $long$i 1
    }
}
proc ::hostile::kind::processes {n} {
    for {set i 0} {$i < $n} {incr i} {
        ::hostile::event Process Start [list ProcessId $i ParentId 4 ImageFileName program$i.exe CommandLine "program$i [string repeat x 50]"] -missing zero -pid $i
    }
}
