# control.tcl --
#
#	TWAPI's commands that control traces (etw's sessions) and list providers. A trace handle is a number in
#	this interpreter; a trace may also be specified by name.

namespace eval ::etw::twapi {
    # Handle -> name of the session; name -> data that etw does not store: guid, enable_flags.
    variable traces
    array set traces {}
    variable extra
    array set extra {}
    variable lastHandle 15

    # Windows' provider of network events, which corresponds to the kernel groups of the same name on Linux.
    variable kernelNetwork {{7DD42A49-5329-4832-8DFD-43D979153A88}}

    # Event classes of the kernel: their bits; the kernel groups on Linux and on Windows. A class without a group is
    # accepted and has no events: Linux has no registry.
    variable kernelClasses {
        process {0x1 process process} thread {0x2 thread thread} imageload {0x4 imageload imageload}
        processcounter {0x8 {} processcounter} contextswitch {0x10 contextswitch contextswitch} dpc {0x20 dpc dpc}
        interrupt {0x40 interrupt interrupt} systemcall {0x80 systemcall systemcall} diskio {0x100 diskio diskio}
        diskfileio {0x200 diskio diskfileio} diskioinit {0x400 diskio diskioinit} dispatcher {0x800 dispatcher dispatcher}
        pagefault {0x1000 pagefault pagefault} hardfault {0x2000 hardfault hardfault}
        virtualalloc {0x4000 virtualalloc virtualalloc} vamap {0x8000 virtualalloc vamap} tcpip {0x10000 {tcpip udpip} tcpip}
        registry {0x20000 {} registry} dbgprint {0x40000 {} dbgprint} alpc {0x100000 {} alpc} splitio {0x200000 {} splitio}
        driver {0x800000 {} driver} profile {0x1000000 profile profile} fileio {0x2000000 fileio fileiocompletion}
        fileioinit {0x4000000 fileio fileio} sysconfig {0 {} {}}
    }
    # Classes that Windows requires for another one, and that TWAPI adds to it.
    variable alsoClasses {diskfileio {diskio diskioinit} diskio diskioinit}
    variable noSysconfig 0x10000000
    variable kernelLogger "NT Kernel Logger"
    variable kernelProvider {name {Windows Kernel Trace} guid {{9E814AAD-3204-11D2-9A82-006008A86939}}}

    # Bits of EVENT_TRACE_PROPERTIES.LogFileMode; those of options that are not -filemode, with etw's name.
    variable modeBits {-realtime 0x100 -private 0x800 -privateinproc 0x20800}
    variable logModes {-secure {0x80 secure} -paged {0x1000000 paged} -preallocate {0x20 preallocate}}
    variable sequences {none {0 {}} local {0x8000 localsequence} global {0x4000 globalsequence}}
    variable clocks {qpc 1 system 2 cpucycle 3}
    # Sizes where a script names none: buffers in KB, as Windows'; their number, and the largest after an update.
    variable bufferKB 64
    variable mostBuffers 256
    variable capacity 1024

    variable startOptions {
        -logfile arg {} -filemode arg circular -maxfilesize int {} -buffersize int {} -minbuffers int {} -maxbuffers int {}
        -flushtimer int {} -enableflags int {} -clockresolution arg system -realtime bool 0 -private bool 0
        -privateinproc bool 0 -secure bool 0 -sequence arg none -paged bool 0 -preallocate bool 0 -traceguid arg {}
    }
}

# ---- Starting ------------------------------------------------------------------------------------------------

proc ::etw::twapi::etw_start_trace {name args} {
    variable startOptions
    set options [Options etw_start_trace $startOptions $args left]
    if {[llength $left] > 0} {
        BadArgs "Too many arguments: $left."
    }
    CheckStart $name $options
    set flags [Get $options -enableflags 0]
    set handle [StartTrace $name $options $flags]
    EnableKernelOrStop $handle $flags
    return $handle
}

proc ::etw::twapi::etw_start_kernel_trace {classes args} {
    variable startOptions
    variable kernelLogger
    set options [Options etw_start_kernel_trace $startOptions $args left]
    if {[llength $left] > 0} {
        BadArgs "Too many arguments: $left."
    }
    set flags [KernelFlags $classes]
    CheckStart $kernelLogger $options
    set handle [StartTrace $kernelLogger $options $flags]
    EnableKernelOrStop $handle $flags
    return $handle
}

# Windows' engine has the flags already.
proc ::etw::twapi::EnableKernelOrStop {handle flags} {
    set groups [KernelGroups $flags]
    if {[llength $groups] == 0 || [::etw pkgconfig get engine] eq "system"} {
        return
    }
    try {
        AsWindows {::etw enable [SessionOf $handle] kernel $groups -pids all}
    } on error {message how} {
        etw_stop_trace $handle
        return -options $how $message
    }
}

# The bits of event classes.
proc ::etw::twapi::KernelFlags {classes} {
    variable kernelClasses
    variable alsoClasses
    variable noSysconfig
    set flags [expr {"sysconfig" in $classes ? 0 : $noSysconfig}]
    foreach class $classes {
        if {![dict exists $kernelClasses $class]} {
            return -level 2 -code error -errorcode [list TWAPI BADARGS $class] \
                "Invalid event class '$class'. Must be one of [join [dict keys $kernelClasses] {, }]."
        }
        foreach each [list $class {*}[Get $alsoClasses $class {}]] {
            set flags [expr {$flags | [lindex [dict get $kernelClasses $each] 0]}]
        }
    }
    return $flags
}

# The groups of this system for the bits.
proc ::etw::twapi::KernelGroups {flags} {
    variable kernelClasses
    set column [expr {$::tcl_platform(platform) eq "windows" ? 2 : 1}]
    set groups {}
    dict for {class how} $kernelClasses {
        if {$flags & [lindex $how 0]} {
            lappend groups {*}[lindex $how $column]
        }
    }
    return [lsort -unique $groups]
}

# The bits for the groups that a session has.
proc ::etw::twapi::FlagsOfGroups {groups} {
    variable kernelClasses
    set flags 0
    dict for {class how} $kernelClasses {
        foreach group [lindex $how 1] {
            if {$group in $groups} {
                set flags [expr {$flags | [lindex $how 0]}]
            }
        }
    }
    return $flags
}

# Checks for invalid combinations, as in Windows and TWAPI.
proc ::etw::twapi::CheckStart {name options} {
    variable kernelLogger
    set logfile [Get $options -logfile ""]
    set mode [dict get $options -filemode]
    set maxsize [MaxSize $options]
    set private [expr {[dict get $options -private] || [dict get $options -privateinproc]}]
    set realtime [dict get $options -realtime]
    foreach {wrong message} [list \
        [expr {$mode ni {sequential append rotate circular}}] \
            "Invalid value '$mode' for option '-filemode'. Must be one of sequential, append, rotate, circular." \
        [expr {[dict get $options -sequence] ni {none local global}}] \
            "Invalid value '[dict get $options -sequence]' for option '-sequence'. Must be one of none, local, global." \
        [expr {[dict get $options -clockresolution] ni {qpc system cpucycle 1 2 3}}] \
            "Invalid value '[dict get $options -clockresolution]' for option '-clockresolution'. Must be one of qpc, system,\
                cpucycle." \
        [expr {[string equal -nocase $name $kernelLogger] && $mode eq "rotate"}] \
            "Option -filemode cannot have value \"rotate\" for NT Kernel Logger" \
        [expr {$logfile eq "" && !$realtime}] \
            "Log file name must be specified if real time mode is not in effect" \
        [expr {$mode eq "append" && ($private || $realtime)}] \
            "Option -filemode value \"append\" is not compatible with -private, -privateinproc and -realtime" \
        [expr {$realtime && $private}] "Option -realtime is not compatible with -private and -privateinproc" \
        [expr {$mode eq "append" && [dict get $options -clockresolution] ni {system 2}}] \
            "Option -clockresolution must be \"system\" if -filemode is \"append\"" \
        [expr {($mode eq "rotate" || [dict get $options -preallocate]) && $maxsize == 0}] \
            "Option -maxfilesize must not be 0 if -filemode is \"rotate\" or -preallocate is given"] {
        if {$wrong} {
            return -level 2 -code error -errorcode [list TWAPI BADARGS $message] $message
        }
    }
    if {$private && [Get $options -traceguid ""] eq ""} {
        set message "Options -private and -privateinproc require -traceguid, the GUID of the provider"
        return -level 2 -code error -errorcode [list TWAPI BADARGS $message] $message
    }
}

proc ::etw::twapi::MaxSize {options} {
    return [Get $options -maxfilesize [expr {[dict get $options -filemode] in {circular rotate}}]]
}

# Invalid sizes are corrected, as by Windows. The embedded engine cannot have more buffers than a session started with: it
# starts with as many as an update may request.
proc ::etw::twapi::StartTrace {name options flags} {
    variable traces
    variable extra
    variable lastHandle
    variable bufferKB
    variable mostBuffers
    variable capacity
    set given [FileOptions $options]
    if {[dict get $options -realtime]} {
        lappend given -realtime 1
    }
    set size [Get $options -buffersize 0]
    lappend given -buffersize [expr {$size > 0 ? min(max($size, 4), 1024) : $bufferKB}]
    set most [expr {[Get $options -maxbuffers 0] > 0 ? max([dict get $options -maxbuffers], 2) : $mostBuffers}]
    set least [expr {min(max([Get $options -minbuffers 1], 1), $most)}]
    if {[Get $options -flushtimer 0] > 0} {
        lappend given -flush [expr {[dict get $options -flushtimer] * 1000}]
    }
    set guid [Get $options -traceguid ""]
    if {[::etw pkgconfig get engine] eq "system"} {
        if {$flags != 0} {
            lappend given -kernelflags $flags
        }
        AsWindows {::etw start $name -buffers $least,$most {*}[SystemOptions $options] {*}$given}
        set state {}
    } else {
        AsWindows {::etw start $name -buffers $least,[expr {max($most, min(4 * $most, $capacity))}] {*}$given}
        ::etw update $name -buffers $most
        set state [dict create guid [SessionGuid $name $guid] enable_flags $flags mode [ModeBits $options] \
            clock [ClockNumber [dict get $options -clockresolution]] private [dict get $options -privateinproc]]
    }
    set handle [incr lastHandle]
    set traces($handle) $name
    set extra([string tolower $name]) $state
    return $handle
}

proc ::etw::twapi::ClockNumber {clock} {
    variable clocks
    return [Get $clocks $clock $clock]
}

proc ::etw::twapi::SessionGuid {name guid} {
    variable kernelLogger
    variable kernelProvider
    if {[string equal -nocase $name $kernelLogger]} {
        return [dict get $kernelProvider guid]
    }
    return [Guid [expr {$guid eq "" ? [::etw activity create] : $guid}]]
}

# What Windows' own engine takes.
proc ::etw::twapi::SystemOptions {options} {
    variable logModes
    variable sequences
    set names [lindex [dict get $sequences [dict get $options -sequence]] 1]
    dict for {option bit} $logModes {
        if {[dict get $options $option]} {
            lappend names [lindex $bit 1]
        }
    }
    set guid [string trim [Get $options -traceguid ""] {{}}]
    set given [list -clock [lindex {auto qpc system cycle} [ClockNumber [dict get $options -clockresolution]]]]
    if {[llength $names] > 0} {
        lappend given -logmode $names
    }
    if {[dict get $options -privateinproc]} {
        return [list {*}$given -inprocess $guid]
    }
    if {[dict get $options -private]} {
        return [list {*}$given -private $guid]
    }
    return [expr {$guid eq "" ? $given : [list {*}$given -guid $guid]}]
}

# The bits of options that are not a session's own in the embedded engine.
proc ::etw::twapi::ModeBits {options} {
    variable modeBits
    variable logModes
    variable sequences
    set bits [lindex [dict get $sequences [dict get $options -sequence]] 0]
    foreach option {-private -privateinproc} {
        if {[dict get $options $option]} {
            set bits [expr {$bits | [dict get $modeBits $option]}]
        }
    }
    dict for {option bit} $logModes {
        if {[dict get $options $option]} {
            set bits [expr {$bits | [lindex $bit 0]}]
        }
    }
    return $bits
}

proc ::etw::twapi::FileOptions {options} {
    set logfile [Get $options -logfile ""]
    set size [MaxSize $options]
    if {$logfile eq ""} {
        return {}
    }
    set mode [dict get {sequential sequential append append rotate newfile circular circular} [dict get $options -filemode]]
    if {$mode eq "circular" && $size == 0} {
        set mode sequential
    }
    return [list -file $logfile -mode $mode {*}[expr {$size > 0 ? [list -maxsize $size] : ""}]]
}

# ---- Stopping, querying, changing --------------------------------------------------------------------------------

proc ::etw::twapi::etw_stop_trace {trace} {
    return [etw_control_trace stop $trace]
}

proc ::etw::twapi::etw_flush_trace {trace} {
    return [etw_control_trace flush $trace]
}

# Here the clock is a name, as in TWAPI; the other commands return its number.
proc ::etw::twapi::etw_query_trace {trace} {
    set properties [etw_control_trace query $trace]
    dict set properties clock_resolution [lindex {- qpc system cpucycle} [dict get $properties clock_resolution]]
    return $properties
}

proc ::etw::twapi::etw_update_trace {trace args} {
    return [etw_control_trace update $trace {*}$args]
}

proc ::etw::twapi::etw_control_trace {action trace args} {
    if {$action ni {query stop update flush}} {
        BadArgs "Invalid action '$action'. Must be one of flush, query, stop, update."
    }
    set options [Options etw_control_trace {-enableflags int {} -flushtimer int {} -logfile arg {} -maxbuffers int {}
        -realtime bool {} -traceguid arg {}} $args left]
    if {[llength $left] > 0} {
        BadArgs "Too many arguments: $left."
    }
    set name [SessionOf $trace]
    if {$action eq "update"} {
        return [Properties [AsWindows {UpdateTrace $name $options}]]
    }
    set info [AsWindows {::etw $action $name}]
    set properties [Properties $info]
    if {$action eq "stop"} {
        ForgetTrace $name
    }
    return $properties
}

proc ::etw::twapi::UpdateTrace {name options} {
    variable extra
    set changes {}
    if {[dict exists $options -realtime]} {
        lappend changes -realtime [dict get $options -realtime]
    }
    if {[Get $options -logfile ""] ne ""} {
        lappend changes -file [dict get $options -logfile]
    }
    if {[Get $options -flushtimer 0] > 0} {
        lappend changes -flush [expr {[dict get $options -flushtimer] * 1000}]
    }
    if {[Get $options -maxbuffers 0] > 0} {
        lappend changes -buffers [dict get $options -maxbuffers]
    }
    if {[dict exists $options -enableflags] && [dict get [::etw query $name] engine] eq "system"} {
        lappend changes -kernelflags [dict get $options -enableflags]
    } elseif {[dict exists $options -enableflags]} {
        set flags [dict get $options -enableflags]
        ::etw disable $name kernel
        if {[set groups [KernelGroups $flags]] ne ""} {
            ::etw enable $name kernel $groups -pids all
        }
        if {[dict exists [Extra $name] enable_flags]} {
            dict set extra([string tolower $name]) enable_flags $flags
        }
    }
    return [expr {[llength $changes] ? [::etw update $name {*}$changes] : [::etw query $name]}]
}

# Data of a trace that was started here; {}: Windows has them all, or another process started it.
proc ::etw::twapi::Extra {name} {
    variable extra
    set key [string tolower $name]
    return [expr {[info exists extra($key)] ? $extra($key) : ""}]
}

# The session of a handle or a name.
proc ::etw::twapi::SessionOf {trace} {
    variable traces
    return [expr {[info exists traces($trace)] ? $traces($trace) : $trace}]
}

proc ::etw::twapi::ForgetTrace {name} {
    variable traces
    variable extra
    foreach {handle session} [array get traces] {
        if {[string equal -nocase $session $name]} {
            unset traces($handle)
        }
    }
    unset -nocomplain extra([string tolower $name])
}

# Convert etw's session information to TWAPI's dictionary. Windows' engine reports all; the embedded one has no GUID, bits
# and thread: then they are those that the trace was started with here, or those that correspond.
proc ::etw::twapi::Properties {info} {
    set name [dict get $info name]
    set lost [dict get $info lost]
    set live [dict get $lost consumer]
    if {[dict get $info engine] eq "system"} {
        set own [dict create guid [Guid [dict get $info guid]] enable_flags [dict get $info kernelflags] clock [dict get $info clock]]
        set mode [dict get $info logmode]
        set thread [expr {[dict get $info instance] >> 16}]
        set live [dict get $lost livebuffers]
        set written [dict get $lost filebuffers]
    } else {
        set own [dict merge [dict create guid [SessionGuid $name [format %08x-0000-0000-0000-000000000000 \
            [expr {[dict get $info instance] & 0xffffffff}]]] enable_flags [FlagsOfGroups [dict get $info kernel]] clock 1 mode 0] \
            [Extra $name]]
        set mode [expr {[BaseMode $info] | ([dict get $info realtime] ? 0x100 : 0) | [dict get $own mode]}]
        set thread [dict get $info owner]
        set written [dict get $lost io]
    }
    set logfile [dict get $info file]
    set events 0
    foreach kind {nobuffer toobig filefull abandoned kernel} {
        incr events [dict get $lost $kind]
    }
    return [dict create logfile [expr {$logfile eq "" ? "" : [file nativename $logfile]}] trace_name $name \
        trace_guid [dict get $own guid] buffer_size [dict get $info buffersize] min_buffers [dict get $info minbuffers] \
        max_buffers [dict get $info maxbuffers] max_file_size [dict get $info maxsize] logfile_mode $mode \
        flush_timer [expr {[dict get $info flush] / 1000}] enable_flags [dict get $own enable_flags] \
        clock_resolution [dict get $own clock] age_limit 0 \
        buffer_count [expr {[dict get $info usedbuffers] + [dict get $info freebuffers]}] \
        free_buffers [dict get $info freebuffers] events_lost $events buffers_written [dict get $info buffers] \
        log_buffers_lost $written real_time_buffers_lost $live logger_tid $thread]
}

proc ::etw::twapi::BaseMode {info} {
    set mode [dict get {sequential 0 circular 2 append 4 newfile 8 memory 0x400} [dict get $info mode]]
    return [expr {$mode == 0 && [dict get $info maxsize] > 0 ? 1 : $mode}]
}

proc ::etw::twapi::etw_get_traces {args} {
    set options [Options etw_get_traces {-detail switch 0} $args left]
    if {[llength $left] > 0} {
        BadArgs "Too many arguments: $left."
    }
    set names [::etw sessions]
    if {![dict get $options -detail]} {
        return $names
    }
    set details {}
    foreach name $names {
        # The session may have been stopped meanwhile.
        if {![catch {::etw query $name} info]} {
            lappend details [Properties $info]
        }
    }
    return $details
}

# ---- Providers -----------------------------------------------------------------------------------------------

proc ::etw::twapi::etw_enable_provider {trace provider flags level} {
    set guid [ProviderGuid $provider]
    set name [TraceByHandle $trace]
    set any [expr {$flags & 0xffffffff}]
    set level [Level $level]
    if {[NetworkIsKernel $name $guid]} {
        AsWindows {::etw enable $name kernel [NetworkGroups $any] -pids all}
    } else {
        set pids [expr {[Get [Extra $name] private 0] ? [pid] : "all"}]
        AsWindows {::etw enable $name $guid -level $level -pids $pids {*}[expr {$any ? [list -any $any] : ""}]}
    }
    return
}

# True if the kernel groups of Linux stand for the provider. On Windows it is the system's own.
proc ::etw::twapi::NetworkIsKernel {name guid} {
    variable kernelNetwork
    return [expr {$guid eq $kernelNetwork && [dict get [AsWindows {::etw query $name}] engine] ne "system"}]
}

proc ::etw::twapi::NetworkGroups {any} {
    set groups {}
    foreach {bit group} {0x10 kernel-network-ipv4 0x20 kernel-network-ipv6} {
        if {$any == 0 || ($any & $bit)} {
            lappend groups $group
        }
    }
    return [expr {[llength $groups] ? $groups : "kernel-network-ipv4 kernel-network-ipv6"}]
}

proc ::etw::twapi::etw_disable_provider {trace provider} {
    set guid [ProviderGuid $provider]
    set name [TraceByHandle $trace]
    AsWindows {::etw disable $name [expr {[NetworkIsKernel $name $guid] ? "kernel" : $guid}]}
    return
}

proc ::etw::twapi::TraceByHandle {trace} {
    variable traces
    if {![info exists traces($trace)]} {
        WinError 6 "The handle is invalid: there is no trace '$trace'."
    }
    return $traces($trace)
}

proc ::etw::twapi::ProviderGuid {provider} {
    if {[IsGuid $provider]} {
        return [Guid $provider]
    }
    set guid [etw_get_provider_guid $provider]
    if {$guid eq ""} {
        return -level 2 -code error -errorcode {TWAPI BADARGS PROVIDER} "Provider \"$provider\" not found."
    }
    return $guid
}

# A level by name or number.
proc ::etw::twapi::Level {level} {
    set names {verbose 5 information 4 info 4 informational 4 warning 3 error 2 fatal 1 critical 1}
    set word [string tolower $level]
    if {[dict exists $names $word]} {
        return [dict get $names $word]
    }
    if {![string is entier -strict $level] || $level < 0 || $level > 255} {
        BadArgs "Invalid level '$level': expected 0 to 255, or one of [join [dict keys $names] {, }]."
    }
    return $level
}

proc ::etw::twapi::etw_get_provider_guid {name} {
    variable identity
    if {[string equal -nocase $name [dict get $identity provider_name]]} {
        return [dict get $identity provider_guid]
    }
    variable kernelProvider
    if {[string equal -nocase $name [dict get $kernelProvider name]]} {
        return [dict get $kernelProvider guid]
    }
    if {[catch {::etw provider describe $name} description] || ![dict exists $description guid]} {
        return ""
    }
    return [Guid [dict get $description guid]]
}

proc ::etw::twapi::etw_get_providers {args} {
    set options [Options etw_get_providers {-detail switch 0 -types arg {mof xml}} $args left]
    if {[llength $left] > 0} {
        BadArgs "Too many arguments: $left."
    }
    set found {}
    foreach known [::etw schema list] {
        set type [expr {[dict get $known origin] in {mof kernel} ? "mof" : "xml"}]
        if {$type in [dict get $options -types] && ![dict exists $found [dict get $known name]]} {
            dict set found [dict get $known name] \
                [dict create guid [Guid [dict get $known guid]] type $type name [dict get $known name]]
        }
    }
    variable kernelProvider
    if {"mof" in [dict get $options -types]} {
        dict set found [dict get $kernelProvider name] \
            [dict create guid [dict get $kernelProvider guid] type mof name [dict get $kernelProvider name]]
    }
    foreach name [::etw providers -registered 1] {
        if {"xml" in [dict get $options -types] && ![dict exists $found $name]} {
            dict set found $name [dict create guid [etw_get_provider_guid $name] type xml name $name]
        }
    }
    return [expr {[dict get $options -detail] ? [dict values $found] : [dict keys $found]}]
}
