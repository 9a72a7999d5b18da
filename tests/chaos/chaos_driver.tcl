# tests/chaos/chaos_driver.tcl --
#
#	Rounds of chaos: a session, its logger, writers, consumers and controllers run on a file system of the round's choice;
#	processes are killed, stopped, limited and isolated. Then the files are read, and the promises of doc/etw_promises.man
#	are checked. A round is planned from its seed alone, so that a failing round can be repeated. -memory 0: no process gets
#	a limit of memory, which sanitizers do not bear. -kernel 0: no session has kernel events. -lie 1: the first writer of each round
#	reports an event that it has not written, so that each round must fail. -keep 1 leaves the files of failed rounds in /tmp.
#
#	tclsh chaos_driver.tcl -worker PROGRAM ?-seconds S? ?-rounds N? ?-seed N? ?-fs GLOB? ?-mode GLOB? ?-memory 0? ?-kernel 0?
#	    ?-lie 1? ?-verbose 1? ?-keep 1?
#
#	The last lines are the table of rounds and `N rounds, N kills, N failed`. The exit code is 1 when a round failed.
#	As root, the driver continues in a mount namespace of its own, in which it mounts the file systems.

namespace eval chaos {
    variable option
    array set option {-worker {} -seconds 10 -rounds 1000000000 -seed 1 -fs * -mode * -memory 1 -kernel 1 -lie 0 -verbose 0 -keep 0 -inside 0}
    variable modes {sequential compressed circular newfile append memory}
    variable tracefs /sys/kernel/tracing
    # Name, and its mount options; %F is a file of its own.
    variable systems {
        tmpfs        {-t tmpfs -o size=256m tmpfs}
        ext4-ordered {-o loop,data=ordered %F}
        ext4-journal {-o loop,data=journal %F}
        full-tmpfs   {-t tmpfs -o size=32m tmpfs}
        full-ext4    {-o loop,data=ordered %F}
        small-shm    {-t tmpfs -o size=256m tmpfs}
    }
    variable available {}
    variable table {}
    variable kills 0
    variable failed 0
    variable sequence 0
    variable points 0 ;# test points are compiled in
    variable rounds 0
}

# ---- File systems --------------------------------------------------------------------------------

proc chaos::Mount {name options} {
    variable top
    set dir [file join $top $name]
    file mkdir $dir
    if {"%F" in $options} {
        set image $dir.image
        exec truncate -s [expr {[string match full* $name] ? "32M" : "192M"}] $image
        exec mkfs.ext4 -q -F -m 0 $image 2>@1
        set options [string map [list %F $image] $options]
    }
    exec mount {*}$options $dir 2>@1
    return $dir
}

# Without rights to mount, only the temporary directory is used.
proc chaos::MountAll {} {
    variable option
    variable top
    variable systems
    variable available
    if {!$option(-inside)} {
        puts "skip ext4, full disks, small shared memory: mounting requires root and unshare"
        file mkdir $top/tmpfs
        dict set available tmpfs $top/tmpfs
        return
    }
    foreach {name options} $systems {
        if {![string match $option(-fs) $name]} {
            continue
        }
        if {[catch {Mount $name $options} result]} {
            puts "skip $name: [lindex [split $result \n] end]"
        } else {
            dict set available $name $result
        }
    }
    file mkdir $top/small
    exec mount -t tmpfs -o size=8m,mode=0700 tmpfs $top/small
}

# ---- A round's plan ------------------------------------------------------------------------------

proc chaos::Random {n} {
    return [expr {int(rand() * $n)}]
}
proc chaos::OneOf {args} {
    return [lindex $args [Random [llength $args]]]
}

# {event ACTION argument ...}: what happens after so many reports of the writers.
proc chaos::PlanActions {p} {
    dict with p {}
    set all [expr {$writers * $threads * $count}]
    set actions {}
    for {set i [Random 4]} {$i >= 0} {incr i -1} {
        set action [OneOf killWriter killWriter stopWriter stopWriter stopLogger flush list snapshot consumer killConsumer killControl]
        lappend actions [list [Random $all] $action [Random $writers] [expr {1 + [Random 60]}]]
    }
    switch [OneOf logger logger recover stop none] {
        logger {lappend actions [list [Random $all] killLogger 0 0]}
        recover {
            set at [Random $all]
            lappend actions [list $at killLogger 0 0] [list [expr {$at + [Random 100]}] recover 0 0]
        }
        stop {lappend actions [list [Random $all] stop 0 0]}
    }
    return [lsort -integer -index 0 $actions]
}

proc chaos::Plan {seed} {
    variable option
    variable modes
    variable systems
    expr {srand($seed * 7919 + 17)}
    expr {rand()}
    set fs [OneOf {*}[dict keys $systems]]
    set mode [OneOf {*}$modes]
    set kb [OneOf 4 4 16 64]
    set p [dict create seed $seed fs $fs mode $mode kb $kb \
        buffers [expr {[OneOf 256 1024 4096] / $kb}] flush [OneOf 1 5 50 60000] detached [OneOf 0 1 1] \
        writers [expr {1 + [Random 3]}] threads [expr {1 + [Random 3]}] count [expr {100 + [Random 2000]}] \
        pause [OneOf 0 0 200 1000] size [OneOf 0 0 40 300 1000]]
    dict set p compress [expr {$mode eq "compressed" ? "on" : [OneOf auto off]}]
    dict set p maxmb [expr {$mode in {circular newfile} ? 1 : 0}]
    dict set p limits [OneOf {} {} {} {} {} {} {-seccomp 1} {-pidns 1} {-noproc 1} {-mountns 1} \
        {-nofile 12} {-as 400000000} {-memlock 65536} {-fsize 65536}]
    # Of the process that owns the session: its file may not grow; no descriptor is left for files.
    dict set p ownerLimits [OneOf {} {} {} {} {} {} {} {-seccomp 1} {-mountns 1} {-memlock 65536} {-nofile 20} {-fsize 16000000}]
    # Kernel events, with uprobes in libc.
    dict set p kernel [lindex {process {process fileio} {process fileio heap}} [Random 40]]
    if {!$option(-kernel)} {
        dict set p kernel {}
    }
    foreach which {limits ownerLimits} {
        if {[lindex [dict get $p $which] 0] in {-pidns -noproc -mountns} && !$option(-inside) ||
                [lindex [dict get $p $which] 0] in {-as -memlock} && !$option(-memory)} {
            dict set p $which {}
        }
    }
    dict set p point [OneOf {} {} {} record.before-open record.open record.before-commit switch.before-claim \
        switch.before-install switch.claimed wipe.before-zeroes recycle.before-take]
    # The owner's points: it reads and frees buffers.
    dict set p ownerPoint [OneOf {} {} {} {} {} {} wipe.before-zeroes recycle.before-take next.considered \
        flush.begun flush.noted flush.done flush.recorded]
    dict set p ownerPoint [expr {[dict get $p ownerPoint] eq "" ? "" : "[dict get $p ownerPoint]:kill:[expr {1 + [Random [OneOf 3 50]]}]"}]
    dict set p pointDoes [OneOf kill kill stop][string cat : [expr {1 + [Random [OneOf 3 50 500]]}]]
    # Recoverers that are killed before the last one: after so many milliseconds, or at a test point.
    set killed {}
    for {set i [Random 3]} {$i > 0} {incr i -1} {
        set flush [OneOf flush.begun flush.noted flush.done flush.recorded]:kill:[expr {1 + [Random 4]}]
        lappend killed [OneOf [Random 12] [Random 12] recovery.claimed:kill recovery.before-count:kill recovery.saved:kill $flush $flush]
    }
    dict set p recoverers $killed
    dict set p free [Random 2]
    dict set p actions [PlanActions $p]
    return $p
}

# ---- Processes of a round ------------------------------------------------------------------------

# proc(N) is a dict: what; chan; pid; killed: a signal may end it; output; done; how.
proc chaos::Start {what limits args} {
    variable option
    variable proc
    variable round
    variable sequence
    set errors $round(dir)/errors
    set chan [open |[list $option(-worker) {*}$limits {*}$args 2>>$errors] r+b]
    fconfigure $chan -blocking 0 -buffering none
    set n [incr sequence]
    set proc($n) [dict create what $what chan $chan pid [pid $chan] killed 0 output {} done 0]
    fileevent $chan readable [list chaos::Read $n]
    return $n
}

proc chaos::Read {n} {
    variable proc
    variable round
    set chan [dict get $proc($n) chan]
    set data [read $chan]
    if {[dict get $proc($n) what] eq "writer"} {
        puts -nonewline $round(evidence) $data
        incr round(reports) [expr {[string length $data] / 16}]
        Act
    } else {
        dict append proc($n) output $data
    }
    if {[eof $chan]} {
        End $n
    }
}

proc chaos::End {n} {
    variable proc
    variable round
    set what [dict get $proc($n) what]
    set chan [dict get $proc($n) chan]
    fconfigure $chan -blocking 1
    set how ok
    if {[catch {close $chan} message opts]} {
        set how [lrange [dict get $opts -errorcode] 2 2]
    }
    # A control call may be refused: the session has just gone, or its owner was killed. A signal is a fault.
    set startFails [expr {$what in {start owner} && [MayFail $round(plan)]}]
    set harmless [expr {$startFails || $how eq "SIGKILL" && [dict get $proc($n) killed] || $how eq "1" && $what ni {writer check start}}]
    if {$how ne "ok" && !$harmless} {
        Problem "$what ended with $how"
    }
    dict set proc($n) done 1
    dict set proc($n) how $how
    set round(changed) 1
}

# The session may be refused, or its owner may end at a test point.
proc chaos::MayFail {p} {
    return [expr {[dict get $p fs] in {full-tmpfs full-ext4 small-shm} || [IsShort $p] || [dict get $p ownerPoint] ne ""}]
}

# The owner may not be able to write its file.
proc chaos::IsShort {p} {
    return [expr {[lindex [dict get $p ownerLimits] 0] in {-nofile -fsize -memlock -as}}]
}

proc chaos::Signal {chan signal} {
    variable proc
    variable kills
    variable round
    if {[info exists proc($chan)] && ![dict get $proc($chan) done]} {
        if {$signal eq "KILL"} {
            dict set proc($chan) killed 1
            incr kills
            incr round(killed)
        }
        catch {exec kill -$signal [dict get $proc($chan) pid]}
    }
}

proc chaos::Problem {text} {
    variable round
    lappend round(problems) $text
}

# Run the event loop until the processes have ended; those that do not are hung.
proc chaos::Await {chans {seconds 90}} {
    variable proc
    variable round
    set timer [after [expr {$seconds * 1000}] {set ::chaos::round(changed) timeout}]
    foreach chan $chans {
        while {![dict get $proc($chan) done]} {
            vwait ::chaos::round(changed)
            if {$round(changed) eq "timeout"} {
                Problem "[dict get $proc($chan) what] hangs"
                set round(changed) 0
                Signal $chan KILL
                Signal $chan CONT
            }
        }
    }
    after cancel $timer
}

# The output of one call that is waited for; "" when it failed.
proc chaos::Call {args} {
    variable proc
    set chan [Start [lindex $args 0] {} {*}$args]
    Await [list $chan]
    return [expr {[dict get $proc($chan) how] eq "ok" ? [dict get $proc($chan) output] : ""}]
}

# ---- Actions -------------------------------------------------------------------------------------

# Perform the actions that are due.
proc chaos::Act {} {
    variable round
    while {[llength $round(actions)] > 0 && [lindex $round(actions) 0 0] <= $round(reports)} {
        set action [lindex $round(actions) 0]
        set round(actions) [lrange $round(actions) 1 end]
        Do {*}[lrange $action 1 end]
    }
}

# Reports from here on have no promise: the session may have ended.
proc chaos::MarkStop {} {
    variable round
    puts -nonewline $round(evidence) [binary format iiw 5 0 0]
    set round(stopped) 1
}

# Each control call recovers a session whose logger was killed.
proc chaos::MarkRecovery {} {
    variable round
    if {$round(loggerKilled) || [dict get $round(plan) ownerPoint] ne ""} {
        MarkStop
    }
}

proc chaos::KillLogger {} {
    variable round
    variable kills
    if {$round(owner) ne "" && !$round(loggerKilled)} {
        set round(loggerKilled) 1
        incr kills
        foreach n [concat $round(calls) $round(consumers)] {
            if {![dict get $::chaos::proc($n) done]} {
                MarkStop
            }
        }
        if {[info exists ::chaos::proc($round(ownerChan))]} {
            dict set ::chaos::proc($round(ownerChan)) killed 1
        }
        catch {exec kill -KILL $round(owner)}
    }
}

proc chaos::Do {action which ms} {
    variable round
    variable kills
    set writer [lindex $round(writers) $which]
    switch $action {
        killWriter {Signal $writer KILL}
        stopWriter {
            Signal $writer STOP
            set round(frozen) 1
            after [expr {$ms * 4}] [list chaos::Signal $writer CONT]
        }
        killLogger KillLogger
        stopLogger {
            catch {exec kill -STOP $round(owner)}
            after $ms [list catch [list exec kill -CONT $round(owner)]]
        }
        flush - list {
            MarkRecovery
            # From the first writer's pid namespace, too: the session of a process outside lives.
            set limits [dict get $round(plan) limits]
            lappend round(calls) [Start $action [expr {[lindex $limits 0] in {-pidns -noproc} ? $limits : {}}] $action chaos]
        }
        snapshot {
            MarkRecovery
            if {[dict get $round(plan) mode] eq "memory"} {
                lappend round(calls) [Start snapshot {} snapshot chaos $round(dir)/middle.etl]
            }
        }
        consumer - killConsumer {
            MarkRecovery
            if {[dict get $round(plan) mode] eq "sequential"} {
                set chan [Start consumer {} consume chaos]
                lappend round(consumers) $chan
                if {$action eq "killConsumer"} {
                    after $ms [list chaos::Signal $chan KILL]
                }
            }
        }
        killControl {
            MarkRecovery
            set chan [Start control {} flush chaos]
            lappend round(calls) $chan
            after [expr {$ms / 10}] [list chaos::Signal $chan KILL]
        }
        recover {
            MarkStop
            lappend round(calls) [Start recover {} recover]
        }
        stop {
            MarkStop
            set round(stopChan) [Start stop {} stop chaos]
            lappend round(calls) $round(stopChan)
        }
    }
}

# ---- A round -------------------------------------------------------------------------------------

proc chaos::StartSession {} {
    variable round
    variable proc
    set p $round(plan)
    dict with p {}
    set round(file) $round(data)/[expr {$mode eq "newfile" ? "trace-%d.etl" : "trace.etl"}]
    set words [list chaos [expr {$mode eq "memory" ? "" : $round(file)}] [string map {compressed sequential} $mode] \
        $maxmb $kb $buffers $flush $detached $compress $kernel]
    set round(ownerChan) {}
    if {$ownerPoint ne ""} {
        lappend ownerLimits -point $ownerPoint
    }
    if {$detached} {
        set n [Start start $ownerLimits start {*}$words]
        dict set proc($n) killed [expr {$ownerPoint ne ""}]
        Await [list $n]
        set text [dict get $proc($n) output]
    } else {
        set round(ownerChan) [Start owner $ownerLimits own {*}$words]
        dict set proc($round(ownerChan)) killed [expr {$ownerPoint ne ""}]
        set timer [after 60000 {set ::chaos::round(changed) timeout}]
        while {[string first \n [dict get $proc($round(ownerChan)) output]] < 0 && ![dict get $proc($round(ownerChan)) done]} {
            vwait ::chaos::proc($round(ownerChan))
        }
        after cancel $timer
        set text [dict get $proc($round(ownerChan)) output]
    }
    if {[scan $text "owner %d" round(owner)] != 1} {
        set round(owner) {}
        return 0
    }
    return 1
}

proc chaos::StartWriters {} {
    variable option
    variable points
    variable round
    set p $round(plan)
    dict with p {}
    for {set i 0} {$i < $writers} {incr i} {
        set limited [expr {$i == 0 ? $limits : {}}]
        if {$i == 0 && $option(-lie)} {
            lappend limited -lie 1
        }
        if {$i == $writers - 1 && $point ne "" && $points} {
            lappend limited -point $point:$pointDoes
            set round(pointed) $i
        }
        set chan [Start writer $limited write [expr {$i * 16}] $threads $count $pause $size]
        lappend round(writers) $chan
        # A test point ends it, or stops it: it is continued until it has ended.
        if {[info exists round(pointed)] && $round(pointed) == $i} {
            dict set ::chaos::proc($chan) killed 1
            incr round(killed)
            if {[string match stop* $pointDoes]} {
                set round(frozen) 1
                after 300 [list chaos::Signal $chan CONT]
                after 3000 [list chaos::Signal $chan CONT]
                after 20000 [list chaos::Signal $chan CONT]
            }
        }
    }
}

# The process has ended with all of its threads, also when its parent has not waited for it.
proc chaos::Ended {pid} {
    if {[catch {open /proc/$pid/stat} f]} {
        return 1
    }
    catch {set state [read $f]}
    close $f
    return [expr {![info exists state] || ([regexp {\) [ZX]} $state] && [llength [glob -nocomplain /proc/$pid/task/*]] <= 1)}]
}

proc chaos::WaitEnded {pid ms} {
    for {set end [expr {[clock milliseconds] + $ms}]} {![Ended $pid] && [clock milliseconds] < $end} {} {
        after 5 {set ::chaos::tick 1}
        vwait ::chaos::tick
    }
    return [Ended $pid]
}

# The owner has ended at its test point.
proc chaos::HasDied {ms} {
    variable round
    variable kills
    if {[dict get $round(plan) ownerPoint] ne "" && [WaitEnded $round(owner) $ms]} {
        set round(loggerKilled) 1
        incr kills
    }
    return $round(loggerKilled)
}

proc chaos::KillRecoverer {when} {
    variable kills
    variable proc
    if {[string is integer $when]} {
        set n [Start recoverer {} recover]
        after $when [list chaos::Signal $n KILL]
        Await [list $n]
    } elseif {$::chaos::points} {
        set n [Start recoverer [list -point $when] recover]
        dict set proc($n) killed 1
        Await [list $n]
        incr kills [expr {[dict get $proc($n) how] ne "ok"}]
    }
}

# Stop the session, or recover it when its logger was killed.
proc chaos::Finish {} {
    variable round
    variable proc
    Await $round(calls)
    if {!$round(loggerKilled) && ([info exists round(stopChan)] || ![HasDied 0])} {
        if {![info exists round(stopChan)]} {
            set round(liveConsumers) [llength [lsearch -all -exact [lmap n $round(consumers) {dict get $proc($n) done}] 0]]
            set round(stopChan) [Start stop {} stop chaos]
            Await [list $round(stopChan)]
        }
        set text [dict get $proc($round(stopChan)) output]
        if {[string match owner* $text]} {
            set round(stop) $text
        } elseif {![HasDied 10000]} {
            Problem "stop failed"
        }
        if {$round(ownerChan) ne ""} {
            catch {close [dict get $proc($round(ownerChan)) chan] w}
            Await [list $round(ownerChan)] 30
        } elseif {![WaitEnded $round(owner) 30000]} {
            Problem "the logger process [set round(owner)] does not end"
            exec kill -KILL $round(owner)
        }
    }
    if {$round(loggerKilled)} {
        WaitEnded $round(owner) 30000
        foreach when [dict get $round(plan) recoverers] {
            KillRecoverer $when
        }
        # A full disk: the events stay in memory until there is space.
        set chan [Start recover {} recover]
        Await [list $chan]
        Free
        set chan2 [Start recover {} recover]
        Await [list $chan2]
        set round(recovered) [dict get $proc($chan) output][dict get $proc($chan2) output]
        if {[dict get $proc($chan2) how] ne "ok"} {
            Problem "recovery failed: [dict get $proc($chan2) output]"
        }
    }
    Await $round(consumers) 60
}

# Each consumer has seen each event at most once and in order, and what it has not seen is counted: by the writers, by itself, or as
# abandoned. A killed consumer is no longer counted.
proc chaos::CheckConsumers {lost} {
    variable round
    variable proc
    foreach n $round(consumers) {
        set text [dict get $proc($n) output]
        if {[dict get $proc($n) how] ne "ok" || $text eq ""} {
            continue
        }
        if {[scan $text "found %d lost %d twice %d disorder %d gaps %d" found missed twice disorder gaps] != 5 || $twice || $disorder} {
            Problem "a consumer: $text"
        } elseif {$gaps > $missed + $lost + $round(killed)} {
            Problem "a consumer lacks $gaps events, $missed are counted as lost; the writers lost $lost"
        }
    }
    if {[info exists round(liveConsumers)] && [info exists round(stop)] && [regexp {consumers (\d+)} $round(stop) -> counted] &&
            $counted > $round(liveConsumers)} {
        Problem "$counted consumers are counted, $round(liveConsumers) live"
    }
}

proc chaos::Free {} {
    variable round
    variable top
    file delete {*}[glob -nocomplain $round(data)/filler]
    if {[dict get $round(plan) fs] eq "small-shm"} {
        exec mount -o remount,size=64m $top/small
    }
}

proc chaos::Check {} {
    variable round
    variable proc
    set p $round(plan)
    dict with p {}
    set files [lsort [glob -nocomplain $round(data)/trace*.etl $round(run)/*.etl]]
    if {$mode eq "memory"} {
        if {$round(loggerKilled)} {
            set files [lsort [glob -nocomplain $round(run)/*.etl]] ;# not the snapshot in which it died
        }
        if {[llength $files] == 0 && $round(loggerKilled)} {
            Problem "no file of the flight recorder"
        }
        if {[llength $files] == 0} {
            return
        }
    }
    set text [Call check $round(dir)/evidence [expr {$mode in {circular memory} ? "newest" : "all"}] {*}[lsort -dictionary $files]]
    if {[scan $text "promised %d lost %d found %d missing %d late %d stray %d twice %d disorder %d invented %d overwritten %d header %d files %d closed %d" \
            promised lost found missing late stray twice disorder invented overwritten header files closed] != 13} {
        Problem "the files cannot be checked: $text"
        return
    }
    set round(summary) [string trim $text]
    CheckConsumers $lost
    foreach name {twice disorder invented} {
        if {[set $name] != 0} {
            Problem "$name: [set $name]"
        }
    }
    set full [expr {[string match full* $fs] || [IsShort $p]}]
    if {$full && $mode eq "memory"} {
        return ;# the snapshot has failed, and says so
    }
    set counted $header
    if {[info exists round(stop)]} {
        scan $round(stop) "owner %d events %d overwritten %d nobuffer %d toobig %d full %d io %d abandoned %d" \
            - - - noBuffer tooBig fileFull io abandoned
        set counted [expr {$noBuffer + $tooBig + $fileFull + $io + $abandoned}]
    }
    # An event that a frozen writer finishes after the logger has given it up is counted as abandoned.
    set given [expr {$round(frozen) ? max(0, $counted - $lost) : 0}]
    if {$mode in {circular memory}} {
        # A writer that is killed inside an event keeps the buffer with older events from being overwritten. On a full disk a
        # circular file needs space for two buffers.
        set each [expr {$kb * 1024 / (56 + $size)}]
        if {$late + $missing > $given && ($stray > $each * ($round(killed) + 2 * $full))} {
            Problem "$late of the newest and $missing other acknowledged events are missing; $stray older ones are there"
        }
    } elseif {$missing > ($full ? $counted - $lost : $given)} {
        Problem "$missing acknowledged events are missing"
    }
    if {!$round(stopped) && ($mode ne "newfile" || [info exists round(stop)])} {
        set most [expr {$lost + $missing + $overwritten + $writers * $threads + 8}]
        set least [expr {$mode in {circular memory} ? $lost : $lost + $missing}]
        if {$counted < $least || ($counted > $most && !$full && $kernel eq "")} {
            Problem "$counted counted as lost, where $lost were reported and $missing are missing"
        }
    }
    if {$closed != $files} {
        Problem "$closed of $files files are closed"
    }
}

proc chaos::CheckRest {} {
    variable round
    set list [Call list]
    if {[string trim $list] ne ""} {
        Problem "sessions are left: $list"
    }
    set rest {}
    foreach path [glob -nocomplain -tails -directory $round(run) *] {
        if {$path ni {registry-4 registry.lock} && ![string match *.etl $path]} {
            lappend rest $path
        }
    }
    if {[llength $rest] > 0} {
        Problem "files are left in the runtime directory: $rest"
    }
    CheckKernel
}

# The list of sessions has removed what killed owners have left in the kernel.
proc chaos::CheckKernel {} {
    variable round
    variable tracefs
    set left [glob -nocomplain -tails -directory $tracefs/instances etw-$round(owner)-*]
    if {$round(owner) ne "" && ![catch {open $tracefs/uprobe_events} f]} {
        lappend left {*}[regexp -all -inline "etw_$round(owner)_\\S+" [read $f]]
        close $f
    }
    if {$round(owner) ne "" && [llength $left] > 0 && [Ended $round(owner)]} {
        Problem "left in the kernel: $left"
    }
}

# The disk is nearly full: a file takes what is too much. A circular file needs space for two buffers of each CPU.
proc chaos::Fill {} {
    variable round
    if {[string match full* [dict get $round(plan) fs]]} {
        set left [OneOf 0 100 400 1500]
        if {[dict get $round(plan) mode] eq "circular"} {
            incr left 400
        }
        set free [lindex [exec df --output=avail -k $round(data)] end]
        catch {exec fallocate -l [expr {$free - $left}]K $round(data)/filler}
    }
}

proc chaos::Round {p} {
    variable round
    variable proc
    variable available
    variable top
    array unset round
    array unset proc
    set fs [dict get $p fs]
    set dir $top/round-[dict get $p seed]
    array set round [list plan $p problems {} reports 0 writers {} calls {} consumers {} frozen 0 killed 0 stopped 0 loggerKilled 0 owner {} \
        dir $dir data [dict get $available $fs]/data run [expr {$fs eq "small-shm" ? "$top/small/run" : "$dir/run"}] \
        actions [dict get $p actions] changed 0 summary {}]
    file delete -force $dir $round(data) $round(run)
    file mkdir $dir $round(data) $round(run)
    file attributes $round(run) -permissions 0700
    set ::env(ETW_RUNTIME_DIR) $round(run)
    if {$fs eq "small-shm"} {
        exec mount -o remount,size=8m $top/small
    }
    set round(evidence) [open $dir/evidence wb]
    Fill
    if {[StartSession]} {
        StartWriters
        Await $round(writers)
        if {[dict get $p mode] eq "memory" && !$round(loggerKilled) && ![info exists round(stopChan)]} {
            Await $round(calls)
            Call snapshot chaos $round(data)/trace.etl
        }
        if {[dict get $p free]} {
            Free
        }
        Finish
        flush $round(evidence)
        Check
    } elseif {[MayFail $p]} {
        Await $round(ownerChan) ;# too little space to start
    } else {
        Problem "the session does not start"
    }
    close $round(evidence)
    CheckRest
    foreach id [after info] {
        after cancel $id
    }
    return $round(problems)
}

# ---- All rounds ----------------------------------------------------------------------------------

proc chaos::Report {p problems} {
    variable option
    variable round
    puts "FAIL seed [dict get $p seed]: [join $problems {; }]"
    puts "  $round(summary)"
    if {[info exists round(stop)]} {
        puts "  $round(stop)"
    }
    puts "  $p"
    catch {
        set f [open $round(dir)/errors]
        puts "  [string range [read $f] 0 2000]"
        close $f
    }
    puts "  repeat: [info nameofexecutable] [file normalize [info script]] -worker $option(-worker) -seed [dict get $p seed] -rounds 1"
    flush stdout
}

proc chaos::PrintTable {} {
    variable table
    variable modes
    variable systems
    puts [format "%-14s[string repeat %12s [llength $modes]]" rounds {*}$modes]
    foreach fs [dict keys $systems] {
        set row [lmap mode $modes {expr {[dict exists $table $fs $mode] ? [dict get $table $fs $mode] : 0}}]
        puts [format "%-14s[string repeat %12d [llength $modes]]" $fs {*}$row]
    }
}

proc chaos::Main {} {
    variable option
    variable available
    variable table
    variable rounds
    variable failed
    variable kills
    variable round
    variable points
    variable tracefs
    MountAll
    set points [string trim [exec $option(-worker) points]]
    set option(-kernel) [expr {$option(-kernel) && [file writable $tracefs/instances]}]
    set end [expr {[clock seconds] + $option(-seconds)}]
    for {set seed $option(-seed)} {$rounds < $option(-rounds) && [clock seconds] < $end} {incr seed} {
        set p [Plan $seed]
        if {![dict exists $available [dict get $p fs]] || ![string match $option(-mode) [dict get $p mode]]} {
            continue
        }
        if {$option(-verbose)} {
            puts "round $p"
            flush stdout
        }
        set problems [Round $p]
        incr rounds
        dict set table [dict get $p fs] [dict get $p mode] [expr {[dict exists $table [dict get $p fs] [dict get $p mode]]
            ? [dict get $table [dict get $p fs] [dict get $p mode]] + 1 : 1}]
        if {[llength $problems] > 0} {
            incr failed
            Report $p $problems
        }
        if {$option(-verbose)} {
            puts "  $round(summary)"
        }
        if {!$option(-keep) || [llength $problems] == 0} {
            file delete -force $round(dir)
        }
    }
    PrintTable
    puts "$rounds rounds, $kills kills, $failed failed"
}

# Mounts are private to this process and end with it.
proc chaos::Enter {} {
    variable option
    if {!$option(-inside) && ![catch {exec unshare --mount true}]} {
        set again [list unshare --mount --propagation private [info nameofexecutable] [file normalize [info script]] \
            {*}[array get option] -inside 1]
        set status [catch {exec {*}$again >@ stdout 2>@ stderr} message opts]
        exit [expr {$status ? 1 : 0}]
    }
}

array set ::chaos::option $argv
set ::chaos::option(-worker) [file normalize $::chaos::option(-worker)]
chaos::Enter
set ::chaos::top [exec mktemp -d /tmp/etw-chaos-XXXXXX]
set ::chaos::status 0
try {
    chaos::Main
} on error {message opts} {
    puts [dict get $opts -errorinfo]
    set ::chaos::status 1
} finally {
    foreach chaos::fs [list small {*}[dict keys $::chaos::available]] {
        catch {exec umount $::chaos::top/$::chaos::fs}
    }
    if {!$::chaos::option(-keep)} {
        file delete -force $::chaos::top
    }
}
exit [expr {$::chaos::status || $::chaos::failed > 0}]
