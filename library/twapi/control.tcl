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

    # Event classes of the kernel: their bits, and the corresponding kernel groups.
    variable kernelClasses {
        process {0x1 process} thread {0x2 thread} imageload {0x4 {}} processcounter {0x8 {}}
        contextswitch {0x10 contextswitch} dpc {0x20 {}} interrupt {0x40 {}} systemcall {0x80 systemcall}
        diskio {0x100 {}} diskfileio {0x200 {}} diskioinit {0x400 {}} dispatcher {0x800 {}} pagefault {0x1000 {}}
        hardfault {0x2000 {}} virtualalloc {0x4000 {}} vamap {0x8000 {}} tcpip {0x10000 {tcpip udpip}}
        registry {0x20000 {}} dbgprint {0x40000 {}} alpc {0x100000 {}} splitio {0x200000 {}} driver {0x800000 {}}
        profile {0x1000000 {}} fileio {0x2000000 {}} fileioinit {0x4000000 {}} sysconfig {0 {}}
    }
    variable noSysconfig 0x10000000
    variable kernelLogger "NT Kernel Logger"

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
    return [StartTrace $name $options [Get $options -enableflags 0]]
}

proc ::etw::twapi::etw_start_kernel_trace {classes args} {
    variable startOptions
    variable kernelLogger
    set options [Options etw_start_kernel_trace $startOptions $args left]
    if {[llength $left] > 0} {
        BadArgs "Too many arguments: $left."
    }
    lassign [KernelClasses $classes] flags groups
    CheckStart $kernelLogger $options
    set handle [StartTrace $kernelLogger $options $flags]
    try {
        if {[llength $groups] > 0} {
            AsWindows {::etw enable $kernelLogger kernel $groups -pids all}
        }
    } on error {message how} {
        etw_stop_trace $handle
        return -options $how $message
    }
    return $handle
}

# The bits of event classes, and the groups.
proc ::etw::twapi::KernelClasses {classes} {
    variable kernelClasses
    variable noSysconfig
    set flags [expr {"sysconfig" in $classes ? 0 : $noSysconfig}]
    set groups {}
    foreach class $classes {
        if {![dict exists $kernelClasses $class]} {
            return -level 2 -code error -errorcode [list TWAPI BADARGS $class] \
                "Invalid event class '$class'. Must be one of [join [dict keys $kernelClasses] {, }]."
        }
        lassign [dict get $kernelClasses $class] bit names
        if {$class ne "sysconfig" && [llength $names] == 0} {
            set there [dict keys [dict filter $kernelClasses script {name value} {expr {[lindex $value 1] ne ""}}]]
            set message "Event class '$class' cannot be had on this system: there is [join $there {, }], sysconfig."
            return -level 2 -code error -errorcode [list TWAPI_WIN32 50 $message] $message
        }
        set flags [expr {$flags | $bit}]
        lappend groups {*}$names
    }
    return [list $flags $groups]
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
    foreach {option off} {-private 0 -privateinproc 0 -sequence none} {
        if {[dict get $options $option] ne $off} {
            set message "Option $option: there are no such traces on this system."
            return -level 2 -code error -errorcode [list TWAPI_WIN32 50 $message] $message
        }
    }
}

proc ::etw::twapi::MaxSize {options} {
    return [Get $options -maxfilesize [expr {[dict get $options -filemode] in {circular rotate}}]]
}

# Invalid sizes are corrected, as by Windows.
proc ::etw::twapi::StartTrace {name options flags} {
    variable traces
    variable extra
    variable lastHandle
    set given [FileOptions $options]
    if {[dict get $options -realtime]} {
        lappend given -realtime 1
    }
    if {[Get $options -buffersize 0] > 0} {
        lappend given -buffersize [expr {min(max([dict get $options -buffersize], 4), 1024)}]
    }
    set most [Get $options -maxbuffers 0]
    if {$most > 0} {
        lappend given -buffers [expr {min(max([Get $options -minbuffers 1], 1), $most)}],$most
    }
    if {[Get $options -flushtimer 0] > 0} {
        lappend given -flush [expr {[dict get $options -flushtimer] * 1000}]
    }
    AsWindows {::etw start $name {*}$given}
    set handle [incr lastHandle]
    set traces($handle) $name
    set extra([string tolower $name]) [dict create guid [Get $options -traceguid [Guid [::etw activity create]]] \
        enable_flags $flags]
    return $handle
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
    set now [::etw query $name]
    set changes {}
    if {[dict exists $options -realtime] && [dict get $options -realtime] != [dict get $now realtime]} {
        set message "Option -realtime: a running trace cannot be changed to that on this system."
        return -code error -errorcode [list TWAPI_WIN32 50 $message] $message
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
    return [expr {[llength $changes] ? [::etw update $name {*}$changes] : $now}]
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

# Convert etw's session information to TWAPI's dictionary.
proc ::etw::twapi::Properties {info} {
    variable extra
    set name [dict get $info name]
    set more [expr {[info exists extra([string tolower $name])] ? $extra([string tolower $name])
        : [dict create guid [format {{%08X-0000-0000-0000-000000000000}} [dict get $info instance]] enable_flags 0]}]
    set lost [dict get $info lost]
    set consumer [dict get $lost consumer]
    set mode [dict get {sequential 0 circular 2 append 4 newfile 8 memory 0x400} [dict get $info mode]]
    if {[dict get $info mode] eq "sequential" && [dict get $info maxsize] > 0} {
        set mode 1
    }
    set logfile [dict get $info file]
    return [dict create logfile [expr {$logfile eq "" ? "" : [file nativename $logfile]}] trace_name $name \
        trace_guid [dict get $more guid] buffer_size [dict get $info buffersize] min_buffers [dict get $info minbuffers] \
        max_buffers [dict get $info maxbuffers] max_file_size [dict get $info maxsize] \
        logfile_mode [expr {$mode | ([dict get $info realtime] ? 0x100 : 0)}] \
        flush_timer [expr {[dict get $info flush] / 1000}] enable_flags [dict get $more enable_flags] clock_resolution 1 \
        age_limit 0 buffer_count [expr {[dict get $info usedbuffers] + [dict get $info freebuffers]}] \
        free_buffers [dict get $info freebuffers] events_lost [expr {[::tcl::mathop::+ {*}[dict values $lost]] - $consumer}] \
        buffers_written [dict get $info buffers] log_buffers_lost [dict get $lost io] real_time_buffers_lost $consumer \
        logger_tid 0]
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
    variable kernelNetwork
    set guid [ProviderGuid $provider]
    set name [TraceByHandle $trace]
    set any [expr {$flags & 0xffffffff}]
    set level [Level $level]
    if {$guid eq $kernelNetwork} {
        AsWindows {::etw enable $name kernel [NetworkGroups $any] -pids all}
    } else {
        AsWindows {::etw enable $name $guid -level $level -pids all {*}[expr {$any ? [list -any $any] : ""}]}
    }
    return
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
    variable kernelNetwork
    set guid [ProviderGuid $provider]
    set name [TraceByHandle $trace]
    AsWindows {::etw disable $name [expr {$guid eq $kernelNetwork ? "kernel" : $guid}]}
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
    foreach name [::etw providers -registered 1] {
        if {"xml" in [dict get $options -types] && ![dict exists $found $name]} {
            dict set found $name [dict create guid [etw_get_provider_guid $name] type xml name $name]
        }
    }
    return [expr {[dict get $options -detail] ? [dict values $found] : [dict keys $found]}]
}
