# twapi_script.tcl --
#
#	TWAPI's provider for Tcl scripts: messages, and prefixes for `trace add` that write events. Its events
#	are classic ones with TWAPI's layout; twapi.mof describes them.

namespace eval ::etw::twapi {
    variable identity {
        provider_name TwapiETWProvider
        provider_guid {{B358E9D9-4D82-4A82-A129-BAC098C54746}}
        eventclass_name TwapiETWEventClass
        eventclass_guid {{D5B52E95-8447-40C1-B316-539894449B36}}
    }
    # The registration's handle, and the levels whose messages are defined; "" and none: not registered.
    variable registration {}
    variable messageLevels {}
    # The last request of a session.
    variable lastLevel 0
    variable lastFlags 0
    # Longer texts of trackers are truncated to this number of characters.
    variable maxText 80

    # Not a loop here: the names of its variables would be those of the program's global variables, where it has such.
    apply {identity {
        foreach {key value} $identity {
            proc ::etw::twapi::etw_twapi_$key {} [list return $value]
        }
    }} $identity
}

# ---- Registration --------------------------------------------------------------------------------------------

proc ::etw::twapi::etw_twapi_provider_register {} {
    variable identity
    variable registration
    variable lastHandle
    if {$registration ne ""} {
        return $registration
    }
    dict with identity {
        AsWindows {::etw provider create $provider_name -guid [string trim $provider_guid {{}}]}
        foreach {event opcode fields} {
            VariableTrace 2 {Operation Name Index Value Context}
            ExecutionTrace 3 {Operation Command Code Result Context}
            CommandTrace 4 {Operation OldName NewName Context}
        } {
            DefineEvent $event $opcode 0 $fields
        }
    }
    set registration [incr lastHandle]
    return $registration
}

proc ::etw::twapi::DefineEvent {event opcode level fields} {
    variable identity
    set typed {}
    foreach field $fields {
        lappend typed $field wstringz
    }
    ::etw provider event [dict get $identity provider_name] $event $typed -opcode $opcode -level $level \
        -class [string trim [dict get $identity eventclass_guid] {{}}]
}

proc ::etw::twapi::etw_unregister_provider {handle} {
    variable identity
    variable registration
    variable messageLevels
    if {$registration eq "" || $handle ne $registration} {
        BadArgs "Unknown ETW provider registration handle"
    }
    ::etw provider delete [dict get $identity provider_name]
    set registration {}
    set messageLevels {}
    return
}

proc ::etw::twapi::etw_provider_enabled {} {
    variable registration
    return [expr {$registration ne "" && [::etw enabled TwapiETWProvider]}]
}

# The highest level and all flags requested by sessions; without sessions the last ones.
proc ::etw::twapi::RefreshEnableState {} {
    variable registration
    variable lastLevel
    variable lastFlags
    if {![etw_provider_enabled]} {
        return
    }
    set level 0
    set flags 0
    dict for {session enable} [dict get [::etw provider describe TwapiETWProvider] sessions] {
        set level [expr {max($level, [dict get $enable level])}]
        set flags [expr {($flags | [dict get $enable any]) & 0xffffffff}]
    }
    set lastLevel $level
    set lastFlags $flags
}

proc ::etw::twapi::etw_provider_enable_level {} {
    variable lastLevel
    RefreshEnableState
    return $lastLevel
}

proc ::etw::twapi::etw_provider_enable_flags {} {
    variable lastFlags
    RefreshEnableState
    return $lastFlags
}

# ---- Its description ---------------------------------------------------------------------------------------------

proc ::etw::twapi::MofFile {} {
    variable directory
    return [file join $directory twapi.mof]
}

proc ::etw::twapi::etw_install_twapi_mof {} {
    AsWindows {::etw schema load [MofFile]}
    return
}

# Other loaded definitions are kept.
proc ::etw::twapi::etw_uninstall_twapi_mof {} {
    set files {}
    foreach known [::etw schema list] {
        if {[dict exists $known file] && [file normalize [dict get $known file]] ne [MofFile]} {
            dict set files [dict get $known file] 1
        }
    }
    ::etw schema unload
    foreach file [dict keys $files] {
        ::etw schema load $file
    }
    return
}

# ---- Writing: must not cause an error in traced code -----------------------------------------------------------

proc ::etw::twapi::etw_log_message {provider message {level 4}} {
    variable messageLevels
    set level [Level $level]
    CheckRegistration $provider
    if {![::etw enabled TwapiETWProvider $level]} {
        return
    }
    if {$level ni $messageLevels} {
        DefineEvent Message.$level 1 $level Message
        lappend messageLevels $level
    }
    ::etw write TwapiETWProvider Message.$level $message
    return
}

proc ::etw::twapi::CheckRegistration {provider} {
    variable registration
    if {$provider ne $registration || $registration eq ""} {
        return -level 2 -code error -errorcode {TWAPI BADARGS HANDLE} "Unknown ETW provider registration handle"
    }
}

# True if a session has enabled the provider, and the handle is valid.
proc ::etw::twapi::Listens {provider} {
    variable registration
    return [expr {$provider eq $registration && $registration ne "" && [::etw enabled TwapiETWProvider]}]
}

# Truncate a text that is longer than the limit, as TWAPI does: one character fewer than the three dots is removed.
proc ::etw::twapi::Cut {text} {
    variable maxText
    return [expr {[string length $text] > $maxText ? "[string range $text 0 $maxText-3]..." : $text}]
}

# trace add variable NAME OPS [list etw_variable_tracker PROVIDER]
proc ::etw::twapi::etw_variable_tracker {provider name1 name2 op} {
    if {![Listens $provider]} {
        return
    }
    set value ""
    set context [expr {[info level] > 1 ? [info level -1] : ""}]
    if {$op ni {array unset}} {
        upvar 1 $name1 variable
        catch {set value [expr {$name2 eq "" && ![array exists variable] ? $variable : $variable($name2)}]}
    }
    catch {::etw write TwapiETWProvider VariableTrace $op $name1 $name2 $value [Cut $context]}
    return
}

# trace add execution COMMAND OPS [list etw_execution_tracker PROVIDER]: called with COMMAND ?CODE RESULT? OP.
proc ::etw::twapi::etw_execution_tracker {provider command args} {
    if {![Listens $provider]} {
        return
    }
    set context [expr {[info level] > 1 ? [info level -1] : ""}]
    if {[llength $args] == 1} {
        lassign $args op
        set code [set result ""]
    } else {
        lassign $args code result op
    }
    catch {::etw write TwapiETWProvider ExecutionTrace $op [Cut $command] $code [Cut $result] [Cut $context]}
    return
}

# trace add command NAME OPS [list etw_command_tracker PROVIDER]
proc ::etw::twapi::etw_command_tracker {provider old new op} {
    if {![Listens $provider]} {
        return
    }
    set context [expr {[info level] > 1 ? [info level -1] : ""}]
    catch {::etw write TwapiETWProvider CommandTrace $op $old $new [Cut $context]}
    return
}
