# etw.tcl --
#
#	The commands of `etw` that are implemented in Tcl. They are in ::etw::lib, not in ::etw, where `info`,
#	`foreach` and `update` are commands of the package. Loaded after the binary, by pkgIndex.tcl.

namespace eval ::etw::lib {
    # Numbers the sessions of `etw record` in this interpreter.
    variable recordings 0
    # Directory of this file.
    variable dir [file dirname [file normalize [info script]]]
}

# etw record FILE ?-option value ...? BODY
#
#	Trace BODY, evaluated in the caller's frame, into FILE: start a session, enable, run, stop. What BODY
#	returns or raises passes through; the session is stopped whatever happens.
#
#	-kernel GROUPS		kernel events too
#	-pids PIDS|all		whose (default: this process and its children)
#	-script PATTERNS	trace these procs and commands
#	-steps -args -maxlen -source -redact	as `etw script add` has them
#	-keywords LIST		only events of Tcl-Script with these keywords
#	-provider LIST		providers, each NAME[:LEVEL[:KEYWORDS]] or {NAME ?-level L ...?}
#	-buffersize, -buffers, -maxsize, -mode, -compress, -lossless	as `etw start` has them
#	-stats VAR		set to what `etw stop` returned
proc ::etw::lib::record {file args} {
    if {[llength $args] % 2 == 0} {
        return -code error -errorcode {TCL WRONGARGS} \
            "wrong # args: should be \"etw record file ?-option value ...? body\""
    }
    set body [lindex $args end]
    set options [RecordOptions [lrange $args 0 end-1]]
    if {[dict exists $options -stats]} {
        upvar 1 [dict get $options -stats] stats
    }
    set session [RecordStart $file $options]
    set coroutine [info coroutine]
    set whenGone [list ::etw::lib::RecordDeleted $session $options]
    if {$coroutine ne ""} {
        trace add command $coroutine delete $whenGone
    }
    set code [catch {uplevel 1 $body} result how]
    if {$coroutine ne "" && [info coroutine] eq ""} {
        # Deleted while it was running: RecordDeleted has stopped the session.
        set stats {}
        set stopped 0
    } else {
        if {$coroutine ne ""} {
            trace remove command [info coroutine] delete $whenGone
        }
        set stopped [catch {RecordStop $session $options} stats stopHow]
    }
    if {$stopped && $code != 1} {
        return -options $stopHow $stats
    }
    dict incr how -level
    return -options $how $result
}

# Full names of the given options.
proc ::etw::lib::RecordOptions {given} {
    set known {
        -args -buffers -buffersize -compress -interval -kernel -keywords -lossless -maxlen -maxsize -mode -pids -provider -redact -script -source
        -stacks -stats -steps -unwind
    }
    set options [Options $known $given {-enable -provider}]
    foreach {name needs} {
        -args -script -keywords -script -maxlen -script -redact -script -source -script -steps -script -interval -kernel -pids -kernel
        -stacks -kernel -unwind -kernel
    } {
        if {[dict exists $options $name] && ![dict exists $options $needs]} {
            return -code error -errorcode [list ETW ARG MISSING $needs] \
                "\"$name\" needs \"$needs\""
        }
    }
    if {[dict exists $options -script] && [llength [dict get $options -script]] == 0} {
        return -code error -errorcode {ETW ARG PATTERNS -script} "expected names or patterns of procs and commands for \"-script\" but got an empty list"
    }
    return $options
}

# The options in `names` that were given, as words.
proc ::etw::lib::Given {options names} {
    return [dict filter $options script {name value} {expr {$name in $names}}]
}

proc ::etw::lib::RecordStart {file options} {
    variable recordings
    set session "record-[pid]-[incr recordings]"
    ::etw start $session -file $file -kernellogger [dict exists $options -kernel] \
        {*}[Given $options {-buffers -buffersize -compress -lossless -maxsize -mode}]
    try {
        RecordEnable $session $options
    } on error {message how} {
        catch {RecordStop $session $options}
        return -options $how $message
    }
    return $session
}

proc ::etw::lib::RecordEnable {session options} {
    if {[dict exists $options -provider]} {
        foreach provider [dict get $options -provider] {
            ::etw enable $session {*}[ProviderWords $provider]
        }
    }
    if {[dict exists $options -kernel]} {
        ::etw enable $session kernel [dict get $options -kernel] {*}[Given $options {-interval -pids -stacks -unwind}]
    }
    if {[dict exists $options -script]} {
        ::etw enable $session Tcl-Script {*}[expr {[dict exists $options -keywords] ? [list -any [dict get $options -keywords]] : {}}]
        ::etw script add {*}[dict get $options -script] {*}[Given $options {-args -maxlen -redact -source -steps}]
    }
}

# The coroutine around a body is deleted, usually while the body waits in `yield`: the code after the body will
# not run.
proc ::etw::lib::RecordDeleted {session options args} {
    catch {RecordStop $session $options}
}

proc ::etw::lib::RecordStop {session options} {
    if {[dict exists $options -script]} {
        catch {::etw script remove {*}[dict get $options -script]}
    }
    return [::etw stop $session]
}

# Parts of etw schema. The catalogue is read when a provider is first needed.
source [file join [file dirname [info script]] schema_text.tcl]
::etw schema catalog [file join [file dirname [file normalize [info script]]] catalog.dat]

# etw export.
source [file join [file dirname [info script]] files.tcl]
source [file join [file dirname [info script]] text.tcl]
source [file join [file dirname [info script]] symbols.tcl]
source [file join [file dirname [info script]] export.tcl]

# etw view. The viewer is loaded at the first call.
proc ::etw::lib::view {args} {
    variable dir
    if {[::info commands ::etw::view::View] eq ""} {
        uplevel #0 [list source [file join $dir view view.tcl]]
    }
    return [::etw::view::View {*}$args]
}

# etw cover. Loaded at the first call.
proc ::etw::lib::cover {args} {
    LoadCover
    return [::etw::cover::Cover {*}$args]
}

proc ::etw::lib::LoadCover {} {
    variable dir
    if {[::info commands ::etw::cover::Cover] eq ""} {
        uplevel #0 [list source [file join $dir cover cover.tcl]]
    }
}

# For `etw guard` of the tool and etw::tcltest::expect.
proc ::etw::lib::LoadGuard {} {
    variable dir
    if {[::info commands ::etw::guard::Facts] eq ""} {
        uplevel #0 [list source [file join $dir guard guard.tcl]]
    }
}

# etw load. Loaded at the first call.
proc ::etw::lib::load {args} {
    LoadDatabases
    return [::etw::load::Load {*}$args]
}

# The code of etw load, which etw ship and etw fleet need, too.
proc ::etw::lib::LoadDatabases {} {
    variable dir
    if {[::info commands ::etw::load::Load] eq ""} {
        uplevel #0 [list source [file join $dir load.tcl]]
    }
}

# etw ship. Loaded at the first call, with the code of etw load.
proc ::etw::lib::ship {args} {
    variable dir
    if {[llength $args] % 2 == 0} {
        return -code error -errorcode {TCL WRONGARGS} "wrong # args: should be \"etw ship source -to database ?-option value ...?\""
    }
    LoadDatabases
    if {[::info commands ::etw::ship::Ship] eq ""} {
        uplevel #0 [list source [file join $dir ship.tcl]]
    }
    return [::etw::ship::Ship {*}$args]
}

# etw sql. Loaded at the first call.
proc ::etw::lib::sql {args} {
    variable dir
    if {[::info commands ::etw::sql::Sql] eq ""} {
        uplevel #0 [list source [file join $dir sql.tcl]]
    }
    return [::etw::sql::Sql {*}$args]
}

# etw fleet. Loaded at the first call, with the code of etw load.
proc ::etw::lib::fleet {args} {
    variable dir
    if {$args eq ""} {
        return -code error -errorcode {TCL WRONGARGS} "wrong # args: should be \"etw fleet question ?id? -from database ?-option value ...?\""
    }
    LoadDatabases
    if {[::info commands ::etw::fleet::Fleet] eq ""} {
        uplevel #0 [list source [file join $dir fleet.tcl]]
    }
    return [::etw::fleet::Fleet {*}$args]
}

# Add these commands to the ensemble of the binary.
namespace ensemble configure ::etw -map [dict merge [namespace ensemble configure ::etw -map] {
    cover ::etw::lib::cover
    export ::etw::lib::export
    fleet ::etw::lib::fleet
    load ::etw::lib::load
    record ::etw::lib::record
    ship ::etw::lib::ship
    sql ::etw::lib::sql
    view ::etw::lib::view
}]
