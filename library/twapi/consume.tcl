# consume.tcl --
#
#	TWAPI's commands that read traces: files and live sessions are opened for a handle, processed into raw
#	events, and formatted into record arrays. Dumps whose columns etw supports are written by etw directly.

namespace eval ::etw::twapi {
    # Handle -> source in etw's notation.
    variable sources
    array set sources {}
    variable formatters
    array set formatters {}
    variable lastFormatter 0
    variable forceMof 0
    # Counters of the last etw_process_events.
    variable errors {error_count 0 property_error_count 0 last_winerr 0 last_winerr_text {}}
    variable processing 0
    # Provider GUID -> 1: event class of classic events.
    variable classic {}

    # Fields of the public record of an event, each with the corresponding column of etw; "": none.
    variable eventColumns {
        -eventid id -version version -channel channel -level level -opcode opcode -task task -keywordmask keyword
        -timecreated time -tid tid -pid pid -providerguid {} -usertime {} -kerneltime {} -providername provider
        -eventguid {} -channelname name(channel) -levelname name(level) -opcodename name(opcode)
        -taskname name(task) -keywords name(keyword) -properties tdh(props) -message message(props) -sid {}
    }
    # The fields of a raw event requested from etw, in this order.
    variable rawFields {
        id version channel level opcode task keyword time tid pid cpu guid(provider) time(kernel) time(user) provider
        name(channel) name(level) name(opcode) name(task) name(keyword) tdh(props) template(message) activity related error
    }
    variable nullGuid {{00000000-0000-0000-0000-000000000000}}
    # Events per call of a callback, which corresponds to a buffer of Windows.
    variable bufferEvents 1000
}

namespace eval ::etw::twapi {
    record etw_event [dict keys $eventColumns]
    record etw_trace_properties {logfile trace_name trace_guid buffer_size min_buffers max_buffers max_file_size
        logfile_mode flush_timer enable_flags clock_resolution age_limit buffer_count free_buffers events_lost
        buffers_written log_buffers_lost real_time_buffers_lost logger_tid}
    record etw_event_trace_logfile {logfile logger_name current_time buffers_read trace_logfile_header buffer_size filled
        kernel_trace}
    record etw_trace_logfile_header {buffer_size version_major version_minor version_submajor version_subminor
        provider_version processor_count end_time timer_resolution max_file_size logfile_mode buffers_written pointer_size
        events_lost cpu_mhz time_zone boot_time perf_frequency start_time reserved_flags buffers_lost}
    # Other names of the same two, and raw events of formatters for MOF classes, which only TWAPI itself has.
    record tdh_buffer {logfile logger current_time buffers_read header buffer_size filled kernel_trace}
    record tdh_logfile_header {size major_version minor_version sub_version subminor_version provider_version processor_count
        end_time resolution max_file_size logfile_mode buffers_written pointer_size events_lost cpu_mhz timezone boot_time
        perf_frequency start_time reserved_flags buffers_lost}
    record mof_event {header instance_id parent_instance_id parent_guid data}
    record mof_event_header {type level version tid pid timestamp guid kernel_time user_time processor_time}
    record tdh_event {header buffer_context extended_data data}
    record tdh_event_header {flags event_property tid pid timestamp kernel_time user_time processor_time activity_id
        descriptor provider_guid}
    record tdh_event_data_descriptor {id version channel level opcode task keywords}
    record tdh_event_buffer_context {processor logger_id}
    record tdh_event_data {provider_guid event_guid decoder provider_name level_name channel_name keyword_names task_name
        opcode_name message localized_provider_name activity_id related_activity_id properties flags}
}

# ---- Opening ----------------------------------------------------------------------------------------------------

proc ::etw::twapi::etw_open_file {path} {
    set path [file normalize $path]
    if {![file exists $path]} {
        WinError 2 "The system cannot find the file specified: $path"
    }
    return [OpenSource $path]
}

proc ::etw::twapi::etw_open_session {name} {
    if {$name ni [::etw sessions]} {
        WinError 4201 "The instance name passed was not recognized as valid by a WMI data provider: there is no trace '$name'."
    }
    return [OpenSource session:$name]
}

proc ::etw::twapi::OpenSource {source} {
    variable sources
    variable lastHandle
    set sources([incr lastHandle]) $source
    return $lastHandle
}

proc ::etw::twapi::etw_close_session {handle} {
    variable sources
    SourceOf $handle
    unset sources($handle)
    return
}

proc ::etw::twapi::SourceOf {handle} {
    variable sources
    if {![info exists sources($handle)]} {
        BadArgs "Cannot find trace session with handle $handle"
    }
    return $sources($handle)
}

# ---- Processing: raw events -------------------------------------------------------------------------------------

proc ::etw::twapi::etw_process_events {args} {
    variable processing
    set options [Options etw_process_events {-callback arg {} -start arg {} -end arg {}} $args handles]
    if {[llength $handles] == 0} {
        BadArgs "At least one trace handle must be specified."
    }
    if {$processing} {
        BadArgs "Recursive call to ProcessTrace"
    }
    set from [lmap handle $handles {SourceOf $handle}]
    set processing 1
    try {
        return [AsWindows {Process $from $options}]
    } finally {
        set processing 0
    }
}

proc ::etw::twapi::Process {from options} {
    variable rawFields
    variable bufferEvents
    variable errors
    set errors {error_count 0 property_error_count 0 last_winerr 0 last_winerr_text {}}
    set bounds {}
    foreach {option bound} {-start -from -end -to} {
        if {[Get $options $option ""] ne ""} {
            lappend bounds $bound [ToNs [dict get $options $option]]
        }
    }
    set state [dict create buffer [BufferDescriptor [lindex $from 0]] callback [Get $options -callback ""]]
    variable collected {}
    ::etw consume {*}$from {*}$bounds -fields $rawFields -as list -batch $bufferEvents \
        -command [list ::etw::twapi::TakeBatch $state]
    set result $collected
    set collected {}
    return $result
}

# Process a batch as one buffer of Windows. TWAPI accepts only ok and break from a callback.
proc ::etw::twapi::TakeBatch {state rows} {
    variable collected
    set buffer [dict get $state buffer]
    lset buffer 6 [llength $rows]
    set events [lmap row $rows {RawEvent $row}]
    if {[dict get $state callback] eq ""} {
        lappend collected $buffer $events
        return
    }
    set code [catch {uplevel #0 [list {*}[dict get $state callback] $buffer $events]} result how]
    switch $code {
        0 {
            return
        }
        3 {
            return -code break
        }
        1 {
            return -options [dict incr how -level 0] $result
        }
    }
    return -code error -errorcode {TWAPI BADARGS CALLBACK} "callback returned code $code: expected ok or break"
}

proc ::etw::twapi::RawEvent {row} {
    variable errors
    variable nullGuid
    lassign $row id version channel level opcode task keyword time tid pid cpu guid kernel user provider channelName levelName \
        opcodeName taskName keywordNames properties message activity related error
    if {$channel eq "" && $channelName eq "11"} {
        set channel 11 ;# for events that describe themselves, because etw does not report it
    }
    foreach name {id version channel level opcode task keyword} {
        if {[set $name] eq ""} {
            set $name 0
        }
    }
    if {$error ne ""} {
        dict incr errors error_count
        dict set errors last_winerr_text $error
    }
    set guid [Guid $guid]
    set opcodeName [OpcodeText $guid $opcode $opcodeName]
    set class [IsClassic $guid]
    set activity [expr {$activity eq "" ? $nullGuid : [Guid $activity]}]
    return [list [list [expr {$class ? 0x140 : 0x40}] 0 $tid $pid [FromNs $time] $kernel $user 0 $activity \
        [list $id $version $channel $level $opcode $task $keyword] $guid] [list $cpu 0] \
        [expr {$related eq "" ? "" : [list relatedactivity [Guid $related]]}] \
        [list [ProviderOfClass $guid] [expr {$class ? $guid : $nullGuid}] $class $provider $levelName $channelName \
            $keywordNames $taskName $opcodeName $message $provider $activity [Guid $related] $properties 0]]
}

# The texts of opcodes of the network's provider, as Windows displays them: etw's names have no blanks.
proc ::etw::twapi::OpcodeText {guid opcode name} {
    variable kernelNetwork
    variable opcodeTexts
    variable directory
    if {$guid ne $kernelNetwork} {
        return $name
    }
    if {![info exists opcodeTexts]} {
        set chan [::etw::lib::OpenFile [file join $directory kernel-network.man] r]
        foreach {- text value} [regexp -all -inline {<opcode name="([^"]*)" value="(\d+)"/>} [read $chan]] {
            dict set opcodeTexts $value $text
        }
        close $chan
    }
    return [Get $opcodeTexts $opcode $name]
}

# True if a GUID is that of classic events, according to its definition.
proc ::etw::twapi::IsClassic {guid} {
    variable classic
    if {![dict exists $classic $guid]} {
        dict set classic $guid [expr {$guid eq [etw_twapi_eventclass_guid] ||
            (![catch {::etw schema describe [string trim $guid {{}}]} description] && [dict get $description classic])}]
    }
    return [dict get $classic $guid]
}

proc ::etw::twapi::ProviderOfClass {guid} {
    return [expr {$guid eq [etw_twapi_eventclass_guid] ? [etw_twapi_provider_guid] : $guid}]
}

# A record etw_event_trace_logfile; `filled` is the number of events.
proc ::etw::twapi::BufferDescriptor {source} {
    if {[string match session:* $source]} {
        set name [string range $source 8 end]
        set info [::etw query $name]
        set size [expr {[dict get $info buffersize] * 1024}]
        set header [list $size 10 0 1 5 0 0 0 156250 [dict get $info maxsize] 0x100 [dict get $info buffers] 8 0 0 {} 0 0 \
            [FromNs [dict get $info started]] 1 0]
        return [list "" $name [get_system_time] [dict get $info buffers] $header $size 0 0]
    }
    set info [::etw info $source]
    lassign [split [dict get $info version] .] major minor build
    set zone [dict get $info zone]
    set header [list [dict get $info buffersize] $major $minor 1 5 $build [dict get $info cpus] [FromNs [dict get $info ended]] \
        156250 0 [dict get $info mode] [dict get $info buffers] [dict get $info pointersize] [dict get $info lost] \
        [dict get $info cpumhz] [dict values $zone] [FromNs [dict get $info boot]] [dict get $info frequency] \
        [FromNs [dict get $info started]] [lindex {0 1 2 3} [lsearch {none qpc system cycle} [dict get $info clock]]] \
        [dict get $info lostbuffers]]
    return [list [file nativename $source] "" [FromNs [dict get $info started]] \
        [dict get $info buffers] $header [dict get $info buffersize] 0 0]
}

proc ::etw::twapi::etw_errors {} {
    variable errors
    return $errors
}

# ---- Formatting: record arrays --------------------------------------------------------------------------------

proc ::etw::twapi::etw_force_mof {args} {
    variable forceMof
    if {[llength $args] > 0} {
        set forceMof [expr {bool([lindex $args 0])}]
    }
    return $forceMof
}

proc ::etw::twapi::etw_open_formatter {} {
    variable formatters
    variable lastFormatter
    variable forceMof
    set id [expr {$forceMof ? "mof" : "tdh"}][incr lastFormatter]
    set formatters($id) 1
    return $id
}

proc ::etw::twapi::etw_close_formatter {id} {
    variable formatters
    CheckFormatter $id
    unset formatters($id)
    return
}

proc ::etw::twapi::CheckFormatter {id} {
    variable formatters
    if {![info exists formatters($id)]} {
        return -level 2 -code error -errorcode {TWAPI BADARGS FORMATTER} "Invalid ETW formatter id \"$id\""
    }
}

proc ::etw::twapi::etw_format_events {formatter args} {
    variable eventColumns
    CheckFormatter $formatter
    if {[llength $args] % 2} {
        BadArgs "Buffer descriptors and events must come in pairs."
    }
    set records {}
    foreach {buffer events} $args {
        set resolution [lindex $buffer 4 8]
        foreach event $events {
            lappend records [FormatEvent $event $resolution]
        }
    }
    return [list [dict keys $eventColumns] $records]
}

# A record etw_event.
proc ::etw::twapi::FormatEvent {event resolution} {
    lassign $event header buffer extended data
    lassign $header flags property tid pid time kernel user processor activity descriptor
    lassign $data provider eventGuid decoder name level channel keywords task opcode message localized activity related properties
    return [list {*}$descriptor $time $tid $pid $provider [expr {$user * $resolution}] [expr {$kernel * $resolution}] $name \
        $eventGuid $channel $level $opcode $task $keywords $properties $message [Get $extended sid ""]]
}

# FormatMessage's inserts: %1, %1!s!, %n %t %r %b %. %! %% %0. Invalid ones are left unchanged.
proc ::etw::twapi::etw_format_event_message {format properties} {
    set values [lmap {name value} $properties {join $value {, }}]
    set text ""
    while {[regexp {^([^%]*)%(\d\d?|.)(.*)$} $format -> before what format]} {
        append text $before
        switch -glob -- $what {
            0 {
                return $text
            }
            [0-9]* {
                if {$what > [llength $values]} {
                    return [lindex [info level 0] 1]
                }
                append text [lindex $values $what-1]
                regsub {^![^!]*!} $format {} format
            }
            default {
                append text [expr {[dict exists {n "\n" t "\t" r "\r" b " "} $what]
                    ? [dict get {n "\n" t "\t" r "\r" b " "} $what] : $what}]
            }
        }
    }
    return $text$format
}

# ---- Dumps -----------------------------------------------------------------------------------------------------

# An existing file, otherwise a session.
proc ::etw::twapi::OpenLog {source} {
    return [expr {[file exists $source] ? [etw_open_file $source] : [etw_open_session $source]}]
}

proc ::etw::twapi::etw_dump {args} {
    variable eventColumns
    if {[llength $args] == 0} {
        return [list [dict keys $eventColumns] {}]
    }
    set formatter [etw_open_formatter]
    set handles {}
    try {
        foreach source $args {
            lappend handles [OpenLog $source]
        }
        return [etw_format_events $formatter {*}[etw_process_events {*}$handles]]
    } finally {
        foreach handle $handles {
            etw_close_session $handle
        }
        etw_close_formatter $formatter
    }
}

proc ::etw::twapi::etw_dump_to_list {args} {
    return [lindex [etw_dump {*}$args] 1]
}

proc ::etw::twapi::etw_dump_to_file {args} {
    variable eventColumns
    set options [Options etw_dump_to_file {
        -output arg stdout -limit int -1 -format arg csv -separator arg , -filter arg {}
        -fields arg {-timecreated -levelname -providername -pid -taskname -opcodename -message}
    } $args logs]
    set fields [dict get $options -fields]
    foreach field $fields {
        FieldAt [dict keys $eventColumns] $field
    }
    if {[dict get $options -format] ni {csv list}} {
        BadArgs "Invalid value '[dict get $options -format]' for option '-format'. Must be one of csv, list."
    }
    set output [dict get $options -output]
    set own [expr {$output ni [chan names]}]
    if {$own && [file exists $output]} {
        BadArgs "File $output already exists."
    }
    set chan [expr {$own ? [AsWindows {::etw::lib::OpenFile $output w}] : $output}]
    try {
        if {$own} {
            fconfigure $chan -encoding utf-8
        }
        if {[llength $logs] == 0 || [dict get $options -limit] == 0} {
            PutHeader $chan $options
        } elseif {[IsPlainDump $options] && ("-opcodename" ni $fields || ![HasNetwork $logs])} {
            AsWindows {PlainDump $chan $options $logs}
        } else {
            RecordDump $chan $options $logs
        }
        flush $chan
    } finally {
        if {$own} {
            close $chan
        }
    }
    return
}

# True if etw has columns for everything requested.
proc ::etw::twapi::IsPlainDump {options} {
    variable eventColumns
    foreach field [dict get $options -fields] {
        if {[dict get $eventColumns $field] eq ""} {
            return 0
        }
    }
    return [expr {[Get $options -filter ""] eq ""}]
}

# True if the network's events may be in a log, whose opcodes have other texts in records.
proc ::etw::twapi::HasNetwork {logs} {
    foreach log $logs {
        if {![file exists $log]
                || [llength [::etw events [file normalize $log] -where {$provider eq "Microsoft-Windows-Kernel-Network"} -limit 1 -fields id]]} {
            return 1
        }
    }
    return 0
}

proc ::etw::twapi::PlainDump {chan options logs} {
    variable eventColumns
    set fields [dict get $options -fields]
    set words [list -format [dict get $options -format] -fields [lmap field $fields {dict get $eventColumns $field}] \
        -headers $fields -separator [dict get $options -separator] -timeformat filetime -output $chan]
    if {[dict get $options -limit] > 0} {
        lappend words -limit [dict get $options -limit]
    }
    ::etw dump {*}[lmap log $logs {LogSource $log}] {*}$words
}

proc ::etw::twapi::LogSource {log} {
    if {[file exists $log]} {
        return [file normalize $log]
    }
    set handle [etw_open_session $log]
    etw_close_session $handle
    return session:$log
}

# Dump through records, for fields and filters that only records support.
proc ::etw::twapi::RecordDump {chan options logs} {
    set formatter [etw_open_formatter]
    set handles {}
    variable dumped 0
    PutHeader $chan $options
    try {
        foreach log $logs {
            lappend handles [OpenLog $log]
        }
        etw_process_events -callback [list ::etw::twapi::DumpBuffer $chan $options $formatter] {*}$handles
    } finally {
        foreach handle $handles {
            etw_close_session $handle
        }
        etw_close_formatter $formatter
    }
}

proc ::etw::twapi::DumpBuffer {chan options formatter buffer events} {
    variable dumped
    set limit [dict get $options -limit]
    set rows [recordarray get [etw_format_events $formatter $buffer $events] -filter [Get $options -filter ""]]
    foreach row [recordarray getlist $rows -format dict] {
        dict set row -message [MessageOf $row]
        PutRow $chan $options [lmap field [dict get $options -fields] {dict get $row $field}]
        if {[incr dumped] == $limit} {
            return -code break
        }
    }
}

proc ::etw::twapi::MessageOf {row} {
    set text [dict get $row -message]
    return [expr {$text eq "" ? "Properties: [dict get $row -properties]"
        : [etw_format_event_message $text [dict get $row -properties]]}]
}

# csv begins with a row of names.
proc ::etw::twapi::PutHeader {chan options} {
    if {[dict get $options -format] eq "csv"} {
        PutRow $chan $options [dict get $options -fields]
    }
}

proc ::etw::twapi::PutRow {chan options values} {
    if {[dict get $options -format] eq "list"} {
        puts $chan [list {*}$values]
        return
    }
    set separator [dict get $options -separator]
    puts $chan [join [lmap value $values {
        if {[string first $separator $value] >= 0 || [regexp {["\r\n]} $value]} {
            set value "\"[string map {{"} {""}} $value]\""
        }
        set value
    }] $separator]
}
