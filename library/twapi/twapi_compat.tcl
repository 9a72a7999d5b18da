# twapi_compat.tcl --
#
#	Parts of TWAPI's base package that scripts for ETW use: record arrays, records, times; and, for the
#	other files, options and errors in TWAPI's form.

namespace eval ::etw::twapi {
    # From 1601 to 1970, in 100 ns.
    variable epoch 116444736000000000
}

# ---- Options and errors -------------------------------------------------------------------------------------

# Parse options before `words`: returns a dict of those in `spec` ({name type default ...}; types arg, int, bool,
# switch) that were given or have a default other than "". The remaining words are stored in the caller's
# `leftVar`. Names are exact.
proc ::etw::twapi::Options {command spec words leftVar} {
    upvar 1 $leftVar left
    set values {}
    set types {}
    foreach {name type default} $spec {
        dict set types $name $type
        if {$default ne ""} {
            dict set values $name $default
        }
    }
    while {[llength $words] > 0 && [string match -* [lindex $words 0]]} {
        set words [lassign $words name]
        if {$name in {- --}} {
            break
        }
        if {![dict exists $types $name]} {
            BadArgs "Invalid option '$name' for $command. Must be one of [join [lsort [dict keys $types]] {, }]."
        }
        if {[dict get $types $name] eq "switch"} {
            dict set values $name 1
            continue
        }
        if {[llength $words] == 0} {
            BadArgs "No value supplied for option '$name'."
        }
        set words [lassign $words value]
        dict set values $name [Checked $name [dict get $types $name] $value]
    }
    set left $words
    return $values
}

proc ::etw::twapi::Checked {name type value} {
    if {$type eq "int" && ![string is entier -strict $value]} {
        BadArgs "Value '$value' specified for option '$name' is not an integer."
    }
    if {$type eq "bool"} {
        if {![string is boolean -strict $value]} {
            BadArgs "Value '$value' specified for option '$name' is not a boolean."
        }
        return [expr {bool($value)}]
    }
    return $value
}

# An option's value, or a default.
proc ::etw::twapi::Get {options name default} {
    return [expr {[dict exists $options $name] ? [dict get $options $name] : $default}]
}

# The caller's command fails like TWAPI's commands on invalid arguments.
proc ::etw::twapi::BadArgs {message} {
    return -level 2 -code error -errorcode [list TWAPI BADARGS $message] $message
}

# The caller's command fails like a call of Windows.
proc ::etw::twapi::WinError {code message} {
    return -level 2 -code error -errorcode [list TWAPI_WIN32 $code $message] $message
}

# Run a script of the caller; an error of etw is converted to one of Windows with etw's message.
proc ::etw::twapi::AsWindows {script} {
    try {
        return [uplevel 1 $script]
    } on error {message options} {
        set code [WindowsCode [dict get $options -errorcode]]
        if {$code == 0} {
            return -options $options $message
        }
        if {$code == 5} {
            set message "Access denied: $message"
        }
        return -code error -errorcode [list TWAPI_WIN32 $code $message] $message
    }
}

proc ::etw::twapi::WindowsCode {errorCode} {
    switch -glob -- $errorCode {
        {ETW WIN32 *} {return [lindex $errorCode 2]}
        {ETW STATE EXISTS*} {return 183}
        {ETW STATE FILE*} {return 32}
        {ETW LOOKUP SESSION*} {return 4201}
        {ETW STATE *} {return 4201}
        {ETW LOOKUP *} {return 1168}
        {ETW ACCESS *} - {POSIX EACCES *} - {POSIX EPERM *} {return 5}
        {ETW UNSUPPORTED *} {return 50}
        {ETW LIMIT *} {return 1450}
        {ETW FORMAT *} {return 11}
        {ETW IO *} {return 1117}
        {ETW ARG *} {return 87}
        {POSIX ENOENT *} {return 2}
        {POSIX ENOTDIR *} {return 3}
        {POSIX EEXIST *} {return 80}
        {POSIX ENOSPC *} {return 112}
    }
    return 0
}

# ---- GUIDs ----------------------------------------------------------------------------------------------------

proc ::etw::twapi::IsGuid {text} {
    return [regexp -nocase {^\{?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?$} $text]
}

# In braces and upper case, in Windows' notation.
proc ::etw::twapi::Guid {guid} {
    return [expr {$guid eq "" ? "" : "{[string toupper [string trim $guid {{}}]]}"}]
}

# ---- Times -------------------------------------------------------------------------------------------------------

proc ::etw::twapi::secs_since_1970_to_large_system_time {secs} {
    variable epoch
    return [expr {entier($secs * 10000000) + $epoch}]
}

proc ::etw::twapi::large_system_time_to_secs_since_1970 {time {fraction false}} {
    variable epoch
    set ticks [expr {$time - $epoch}]
    set secs [expr {$ticks / 10000000}]
    return [expr {$fraction ? "$secs.[format %07d [expr {$ticks % 10000000}]]" : $secs}]
}

proc ::etw::twapi::get_system_time {} {
    variable epoch
    return [expr {[clock microseconds] * 10 + $epoch}]
}

# Year month day hour minute second millisecond weekday, UTC.
proc ::etw::twapi::large_system_time_to_timelist {time} {
    variable epoch
    set ms [expr {($time - $epoch) / 10000}]
    set list {}
    foreach part [clock format [expr {$ms / 1000}] -gmt 1 -format {%Y %m %d %H %M %S}] {
        lappend list [scan $part %d]
    }
    return [list {*}$list [expr {$ms % 1000}] [clock format [expr {$ms / 1000}] -gmt 1 -format %w]]
}

proc ::etw::twapi::timelist_to_large_system_time {timelist} {
    variable epoch
    lassign $timelist year month day hour minute second ms
    foreach part {hour minute second ms} {
        if {[set $part] eq ""} {
            set $part 0
        }
    }
    set secs [clock scan [format {%04d-%02d-%02d %02d:%02d:%02d} $year $month $day $hour $minute $second] -gmt 1 \
        -format {%Y-%m-%d %H:%M:%S}]
    return [expr {($secs * 1000 + $ms) * 10000 + $epoch}]
}

# etw's nanoseconds since 1970, and back.
proc ::etw::twapi::FromNs {ns} {
    variable epoch
    return [expr {$ns / 100 + $epoch}]
}

proc ::etw::twapi::ToNs {time} {
    variable epoch
    return [expr {($time - $epoch) * 100}]
}

# ---- Records -------------------------------------------------------------------------------------------------------

# Create a command for records, which are lists with these fields.
proc ::etw::twapi::record {name fields} {
    set name [expr {[string match ::* $name] ? $name : "[uplevel 1 {namespace current}]::$name"}]
    interp alias {} $name {} ::etw::twapi::RecordCall $fields
    return $name
}

proc ::etw::twapi::RecordCall {fields args} {
    switch [llength $args] {
        0 {
            return $fields
        }
        1 {
            return [RecordDict $fields [lindex $args 0]]
        }
    }
    set rest [lassign $args action record]
    switch -- $action {
        get {
            return [lindex $record [FieldAt $fields [lindex $rest 0]]]
        }
        set {
            foreach {field value} $rest {
                lset record [FieldAt $fields $field] $value
            }
            return $record
        }
        select {
            return [lmap field [lindex $rest 0] {lindex $record [FieldAt $fields $field]}]
        }
    }
    return [lindex $record [FieldAt $fields $action]]
}

proc ::etw::twapi::RecordDict {fields record} {
    set dict {}
    foreach field $fields value $record {
        dict set dict $field $value
    }
    return $dict
}

proc ::etw::twapi::FieldAt {fields field} {
    set at [lsearch -exact $fields $field]
    if {$at < 0} {
        BadArgs "Field '$field' not found: there is [join $fields {, }]."
    }
    return $at
}

# ---- Record arrays: {fields {record ...}} -------------------------------------------------------------------------------

namespace eval ::etw::twapi::RecordArray {
    namespace path ::etw::twapi

    proc size {ra} {
        return [llength [lindex $ra 1]]
    }

    proc fields {ra} {
        return [lindex $ra 0]
    }

    proc cell {ra index field} {
        return [lindex $ra 1 $index [FieldAt [lindex $ra 0] $field]]
    }

    proc column {ra field args} {
        set selected [Select $ra $args {-filter}]
        set at [FieldAt [lindex $ra 0] $field]
        return [lmap record [lindex $selected 1] {lindex $record $at}]
    }

    proc concat {args} {
        set fields {}
        set records {}
        foreach ra $args {
            if {[llength [lindex $ra 0]] == 0} {
                continue
            }
            if {$fields ne "" && $fields ne [lindex $ra 0]} {
                BadArgs "Attempt to concat record arrays with different fields ([join $fields ,] and [join [lindex $ra 0] ,])."
            }
            set fields [lindex $ra 0]
            lappend records {*}[lindex $ra 1]
        }
        return [list $fields $records]
    }

    proc get {ra args} {
        return [Select $ra $args {-filter -slice}]
    }

    proc getlist {ra args} {
        set ra [Select $ra $args {-filter -slice -format} options]
        set fields [lindex $ra 0]
        switch [Form $options {list dict flat}] {
            flat {
                return [::concat {*}[lindex $ra 1]]
            }
            dict {
                return [lmap record [lindex $ra 1] {RecordDict $fields $record}]
            }
        }
        return [lindex $ra 1]
    }

    # The key is the first field unless -key specifies one.
    proc getdict {ra args} {
        set key {}
        if {[set at [lsearch -exact $args -key]] >= 0} {
            set key [lindex $args $at+1]
            set args [lreplace $args $at $at+1]
        }
        set at [expr {$key eq "" ? 0 : [FieldAt [lindex $ra 0] $key]}]
        set kept [Select $ra $args {-filter -slice -format} options 0]
        set sliced [Slice $kept $options]
        set form [Form $options {list dict}]
        set fields [lindex $sliced 0]
        set dict {}
        foreach record [lindex $kept 1] part [lindex $sliced 1] {
            dict set dict [lindex $record $at] [expr {$form eq "dict" ? [RecordDict $fields $part] : $part}]
        }
        return $dict
    }

    proc index {ra index args} {
        set one [list [lindex $ra 0] [lrange [lindex $ra 1] $index $index]]
        set one [Select $one $args {-slice -format} options]
        set record [lindex $one 1 0]
        return [expr {[Form $options {list dict}] eq "dict" ? [RecordDict [lindex $one 0] $record] : $record}]
    }

    proc range {ra low high} {
        return [list [lindex $ra 0] [lrange [lindex $ra 1] $low $high]]
    }

    proc rename {ra map} {
        return [list [lmap field [lindex $ra 0] {expr {[dict exists $map $field] ? [dict get $map $field] : $field}}] \
            [lindex $ra 1]]
    }

    # Runs the body with each record in an array variable.
    proc iterate {varName ra args} {
        upvar 1 $varName row
        set body [lindex $args end]
        set selected [Select $ra [lrange $args 0 end-1] {-filter -slice}]
        set fields [lindex $selected 0]
        foreach record [lindex $selected 1] {
            array set row [RecordDict $fields $record]
            set code [catch {uplevel 1 $body} result options]
            if {$code == 3} {
                break
            } elseif {$code ni {0 4}} {
                dict incr options -level
                return -options $options $result
            }
        }
    }

    # ---- Internal -------------------------------------------------------------------------------------------

    # Select the records and fields that match the options. slice 0: keep all fields.
    proc Select {ra words allowed {optionsVar options} {slice 1}} {
        upvar 1 $optionsVar options
        set spec {}
        foreach name $allowed {
            lappend spec $name arg {}
        }
        set options [Options recordarray $spec $words left]
        if {[llength $left] > 0} {
            BadArgs "Too many arguments: $left."
        }
        if {[dict exists $options -filter]} {
            set ra [Filter $ra [dict get $options -filter]]
        }
        return [expr {$slice ? [Slice $ra $options] : $ra}]
    }

    proc Slice {ra options} {
        if {![dict exists $options -slice]} {
            return $ra
        }
        set wanted [dict get $options -slice]
        set at [lmap field $wanted {FieldAt [lindex $ra 0] $field}]
        return [list $wanted [lmap record [lindex $ra 1] {lmap i $at {lindex $record $i}}]]
    }

    proc Form {options allowed} {
        set form [Get $options -format list]
        if {$form ni $allowed} {
            BadArgs "Invalid value '$form' for option '-format'. Must be one of [join $allowed {, }]."
        }
        return $form
    }

    # Conditions {FIELD OPERATOR VALUE ?-nocase?}: all must hold.
    proc Filter {ra conditions} {
        set tests [lmap condition $conditions {
            lassign $condition field operator value nocase
            list [FieldAt [lindex $ra 0] $field] $operator $value [expr {$nocase eq "-nocase"}]
        }]
        return [list [lindex $ra 0] [lmap record [lindex $ra 1] {
            if {![Passes $record $tests]} {
                continue
            }
            set record
        }]]
    }

    proc Passes {record tests} {
        foreach test $tests {
            lassign $test at operator value nocase
            if {![Holds [lindex $record $at] $operator $value $nocase]} {
                return 0
            }
        }
        return 1
    }

    proc Holds {left operator right nocase} {
        switch -- $operator {
            eq {return [expr {$nocase ? [string equal -nocase $left $right] : $left eq $right}]}
            ne {return [expr {$nocase ? ![string equal -nocase $left $right] : $left ne $right}]}
            ~ {return [expr {$nocase ? [string match -nocase $right $left] : [string match $right $left]}]}
            !~ {return [expr {$nocase ? ![string match -nocase $right $left] : ![string match $right $left]}]}
            == - != - < - <= - > - >= {return [::tcl::mathop::$operator $left $right]}
        }
        BadArgs "Invalid operator '$operator' in filter. Must be one of eq, ne, ~, !~, ==, !=, <, <=, >, >=."
    }
}

namespace eval ::etw::twapi::RecordArray {
    namespace export {[a-z]*}
    namespace ensemble create -command ::etw::twapi::recordarray
}
