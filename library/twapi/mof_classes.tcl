# mof_classes.tcl --
#
#	TWAPI's commands for the MOF classes of classic events. TWAPI finds them in WMI; here they are those that etw knows:
#	the kernel's, those of files that were loaded, TWAPI's own. The first argument of those commands, a WMI service, is
#	ignored. A class is a command, whose only method is `destroy`.

namespace eval ::etw::twapi {
    # Command of a class -> GUID.
    variable mofClasses {}
    variable lastMofClass 0
    # Classes that were loaded: GUID -> version -> definition.
    variable mofDefinitions {}
    # etw's types, and those that an output type changes -> {type number}: TWAPI's notation, its number.
    variable mofTypes {
        UnicodeString {wstringnullterminated 2} AnsiString {stringnullterminated 1} CountedString {wstringcounted 5}
        CountedAnsiString {stringcounted 3} Boolean {boolean 7} Int8 {sint8 8} UInt8 {uint8 9} Int16 {sint16 12} UInt16 {uint16 13}
        Int32 {sint32 15} UInt32 {uint32 14} Int64 {sint64 16} UInt64 {uint64 17} HexInt32 {xuint32 21} HexInt64 {xuint64 23}
        Float {real32 24} Double {real64 25} GUID {objectguid 29} SID {objectsid 33} WbemSid {objectsid 33}
        FILETIME {uint64wmitime 34} SYSTEMTIME {datetime 40} Pointer {pointer 43} SizeT {sizet 43} Binary {object 26}
        IPv4 {objectipaddrv4 30} IPv6 {objectipaddrv6 31} Port {objectport 39}
    }
}

# Describe all classes: {name guid ...} each.
proc ::etw::twapi::KnownMofClasses {} {
    return [lmap known [::etw schema list] {
        if {[dict get $known origin] ni {mof kernel}} {
            continue
        }
        set known
    }]
}

proc ::etw::twapi::NewMofClass {guid} {
    variable mofClasses
    variable lastMofClass
    set class ::etw::twapi::mofclass[incr lastMofClass]
    dict set mofClasses $class $guid
    interp alias {} $class {} ::etw::twapi::MofClassCall $class
    return $class
}

proc ::etw::twapi::MofClassCall {class method} {
    variable mofClasses
    if {$method ni {destroy -destroy}} {
        BadArgs "Invalid method '$method' of an event class. Must be destroy."
    }
    dict unset mofClasses $class
    interp alias {} $class {}
    return
}

proc ::etw::twapi::MofClassGuid {class} {
    variable mofClasses
    if {![dict exists $mofClasses $class]} {
        return -level 2 -code error -errorcode [list TWAPI BADARGS $class] "Invalid event class '$class'."
    }
    return [dict get $mofClasses $class]
}

proc ::etw::twapi::etw_get_all_mof_event_classes {service} {
    return [lmap known [KnownMofClasses] {NewMofClass [dict get $known guid]}]
}

# By GUID or by name, in any case.
proc ::etw::twapi::etw_find_mof_event_classes {service args} {
    set wanted [lmap name $args {string tolower [expr {[IsGuid $name] ? [string trim $name {{}}] : $name}]}]
    return [lmap known [KnownMofClasses] {
        if {[string tolower [dict get $known guid]] ni $wanted && [string tolower [dict get $known name]] ni $wanted} {
            continue
        }
        NewMofClass [dict get $known guid]
    }]
}

# -classname, -definitions: event type -> -eventtype -eventtypename -fields -fieldtypes. The newest version of each.
proc ::etw::twapi::etw_parse_mof_event_class {class} {
    return [MofDefinition [MofClassGuid $class]]
}

proc ::etw::twapi::MofDefinition {guid} {
    set description [::etw schema describe $guid]
    set newest {}
    foreach event [dict get $description events] {
        set type [dict get $event opcode]
        if {![dict exists $newest $type] || [dict get $newest $type version] < [dict get $event version]} {
            dict set newest $type $event
        }
    }
    set result {}
    dict for {type event} $newest {
        lassign [MofFields [dict get $event fields]] fields types
        dict set result -definitions $type [dict create -eventtype $type -eventtypename [dict get $event name] \
            -fields $fields -fieldtypes $types]
    }
    if {$result ne ""} {
        dict set result -classname [dict get $description name]
    }
    return $result
}

proc ::etw::twapi::MofFields {described} {
    variable mofTypes
    set fields {}
    set types {}
    set id 0
    foreach field $described {
        set out [Get $field out ""]
        lassign [Get $mofTypes [expr {[dict exists $mofTypes $out] ? $out : [dict get $field type]}] {unknown 0}] type number
        if {[dict exists $field count]} {
            set type arrayof$type
            set number 0
        }
        dict set fields [incr id] [dict create -type $type -fieldtype $number -extension "" -fieldname [dict get $field name]]
        lappend types [dict get $field name] $number
    }
    return [list $fields $types]
}

proc ::etw::twapi::etw_load_mof_event_class_obj {service class} {
    variable mofDefinitions
    set guid [MofClassGuid $class]
    set definition [MofDefinition $guid]
    if {$definition ne ""} {
        dict set mofDefinitions [Guid $guid] "" $definition
    }
    return
}

proc ::etw::twapi::etw_load_mof_event_classes {service args} {
    set classes [expr {[llength $args] ? [etw_find_mof_event_classes $service {*}$args] : [etw_get_all_mof_event_classes $service]}]
    foreach class $classes {
        etw_load_mof_event_class_obj $service $class
        $class destroy
    }
    return
}
