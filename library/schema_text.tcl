# schema_text.tcl --
#
#	etw schema diff, and readable text for describe, find and diff. Works on the results of `etw schema
#	list` and `etw schema describe`; called by generic/tcl/command/schema_cmd.c. Sourced by etw.tcl.

namespace eval ::etw::lib {
    # Versions of Windows in the catalogue, oldest first. Events of .NET belong to all versions.
    variable releases {Win7-7600 Win10-10240 Win10-17134 Win10-18990 Win11 Win11-26H1}
}

# ---- Texts ---------------------------------------------------------------------------------------------

# A field's type as one word: UInt32/Hex{Map}(length)[count].
proc ::etw::lib::FieldType {field} {
    set text [dict get $field type]
    foreach {key before after} {out / {} map \{ \} length ( ) count \[ \]} {
        if {[dict exists $field $key]} {
            append text $before[dict get $field $key]$after
        }
    }
    return $text
}

proc ::etw::lib::FieldLines {fields indent} {
    set lines {}
    foreach field $fields {
        lappend lines "$indent[dict get $field name] [FieldType $field]"
        if {[dict exists $field fields]} {
            lappend lines {*}[FieldLines [dict get $field fields] "$indent    "]
        }
    }
    return $lines
}

proc ::etw::lib::EventLines {event key} {
    set number [expr {$key eq "opcode" ? "opcode " : ""}][dict get $event $key]
    set words [list "$number v[dict get $event version]" [dict get $event name] \
        level=[dict get $event level] keyword=[format 0x%llx [dict get $event keyword]]]
    foreach key {symbol since} {
        if {[dict exists $event $key]} {
            lappend words $key=[dict get $event $key]
        }
    }
    set lines [list [join $words "  "] {*}[FieldLines [dict get $event fields] "    "]]
    if {[dict exists $event message]} {
        lappend lines "    \"[dict get $event message]\""
    }
    return $lines
}

# The names of the maps that these fields have, as keys of a dict.
proc ::etw::lib::MapsOf {fields} {
    set used {}
    foreach field $fields {
        if {[dict exists $field map]} {
            dict set used [dict get $field map] 1
        }
        if {[dict exists $field fields]} {
            set used [dict merge $used [MapsOf [dict get $field fields]]]
        }
    }
    return $used
}

# The result of `etw schema describe` as text. all 0: only the keywords and maps that its events use.
proc ::etw::lib::SchemaText {description {all 1}} {
    set lines [list "[dict get $description name]  {[dict get $description guid]}  [dict get $description origin]"]
    set mask 0
    set maps {}
    foreach event [dict get $description events] {
        set mask [expr {$mask | [dict get $event keyword]}]
        set maps [dict merge $maps [MapsOf [dict get $event fields]]]
    }
    dict for {name value} [dict get $description keywords] {
        if {$all || $value & $mask} {
            lappend lines "keyword [format 0x%llx $value] $name"
        }
    }
    dict for {name map} [dict get $description maps] {
        if {!$all && ![dict exists $maps $name]} {
            continue
        }
        set values {}
        dict for {value label} [dict get $map values] {
            lappend values $value=$label
        }
        lappend lines "map $name ([dict get $map kind]): [join $values ", "]"
    }
    set key [expr {[dict get $description classic] ? "opcode" : "id"}]
    foreach event [dict get $description events] {
        lappend lines {*}[EventLines $event $key]
    }
    return [visible [join $lines \n] lines]
}

# One event, or those that match a pattern.
proc ::etw::lib::SchemaEventText {description} {
    return [SchemaText $description 0]
}

# The result of `etw schema find` as text: one line for each hit.
proc ::etw::lib::SchemaFindText {hits} {
    return [visible [join [lmap hit $hits {
        set line "[dict get $hit kind] [dict get $hit name]  [dict get $hit provider]"
        if {[dict exists $hit event]} {
            append line "  [dict get $hit event] ([dict get $hit id] v[dict get $hit version])"
        } elseif {[dict exists $hit value]} {
            append line "  [expr {[dict exists $hit map] ? "[dict get $hit map] = [dict get $hit value]" \
                : [format 0x%llx [dict get $hit value]]}]"
        }
        set line
    }] \n] lines]
}

# ---- Differences of fields and events -------------------------------------------------------------------

# Fields by name with their types, members of structs as STRUCT.MEMBER, in order.
proc ::etw::lib::FlatFields {fields {prefix {}}} {
    set flat {}
    foreach field $fields {
        set name $prefix[dict get $field name]
        dict set flat $name [FieldType $field]
        if {[dict exists $field fields]} {
            set flat [dict merge $flat [FlatFields [dict get $field fields] $name.]]
        }
    }
    return $flat
}

proc ::etw::lib::FieldChanges {before after} {
    set old [FlatFields $before]
    set new [FlatFields $after]
    set changes {}
    dict for {name type} $old {
        if {![dict exists $new $name]} {
            lappend changes [dict create change removed name $name type $type]
        } elseif {[dict get $new $name] ne $type} {
            lappend changes [dict create change changed name $name type [dict get $new $name] was $type]
        }
    }
    dict for {name type} $new {
        if {![dict exists $old $name]} {
            lappend changes [dict create change added name $name type $type]
        }
    }
    set common [lmap name [dict keys $old] {expr {[dict exists $new $name] ? $name : [continue]}}]
    if {$common ne [lmap name [dict keys $new] {expr {[dict exists $old $name] ? $name : [continue]}}]} {
        lappend changes [dict create change reordered name "" type ""]
    }
    return $changes
}

# The differences between two forms of an event; "": none that matter.
proc ::etw::lib::EventChange {provider before after} {
    set fields [FieldChanges [dict get $before fields] [dict get $after fields]]
    set properties {}
    foreach key {name level opcode task keyword channel message} {
        set old [expr {[dict exists $before $key] ? [dict get $before $key] : ""}]
        set new [expr {[dict exists $after $key] ? [dict get $after $key] : ""}]
        if {$old ne $new} {
            dict set properties $key [list $old $new]
        }
    }
    if {$fields eq "" && $properties eq ""} {
        return ""
    }
    return [dict merge [EventItem changed $provider $after] \
        [dict create was [dict get $before version] properties $properties fields $fields]]
}

proc ::etw::lib::EventItem {change provider event} {
    return [dict create change $change provider $provider event [dict get $event name] id [dict get $event id] \
        version [dict get $event version]]
}

# Two sets of events: dicts from a key to the event.
proc ::etw::lib::EventChanges {provider before after} {
    set items {}
    dict for {key event} $before {
        if {![dict exists $after $key]} {
            lappend items [EventItem removed $provider $event]
        } else {
            set change [EventChange $provider $event [dict get $after $key]]
            if {$change ne ""} {
                lappend items $change
            }
        }
    }
    dict for {key event} $after {
        if {![dict exists $before $key]} {
            lappend items [EventItem added $provider $event]
        }
    }
    return $items
}

# ---- What is compared ------------------------------------------------------------------------------------

proc ::etw::lib::EventKey {description event} {
    return [dict get $event [expr {[dict get $description classic] ? "opcode" : "id"}]]
}

# The events of one version.
proc ::etw::lib::EventsOfVersion {description version} {
    set events {}
    foreach event [dict get $description events] {
        if {[dict get $event version] == $version} {
            dict set events [EventKey $description $event] $event
        }
    }
    return $events
}

# The events of a release of Windows: the latest version of each.
proc ::etw::lib::EventsOfRelease {description rank} {
    variable releases
    set events {}
    foreach event [dict get $description events] {
        set since [expr {[dict exists $event since] ? [dict get $event since] : ""}]
        if {[lsearch -exact $releases $since] <= $rank} {
            dict set events [EventKey $description $event] $event
        }
    }
    return $events
}

# Position of a release, given in full or as a prefix (the last match).
proc ::etw::lib::ReleaseRank {name} {
    variable releases
    set rank [lindex [lsearch -all -nocase -glob $releases $name*] end]
    if {$rank eq ""} {
        return -code error -errorcode [list ETW LOOKUP RELEASE $name] \
            "there is no release \"$name\": must be [join $releases ", "], or two numbers of versions of events"
    }
    return $rank
}

proc ::etw::lib::DiffVersions {provider a b} {
    set description [::etw schema describe $provider]
    set name [dict get $description name]
    if {[string is digit -strict $a] && [string is digit -strict $b]} {
        set old [EventsOfVersion $description $a]
        set new [EventsOfVersion $description $b]
        # Events without this version are unchanged.
        set both [dict filter $old script {key event} {dict exists $new $key}]
        return [EventChanges $name $both [dict filter $new script {key event} {dict exists $both $key}]]
    }
    return [EventChanges $name [EventsOfRelease $description [ReleaseRank $a]] \
        [EventsOfRelease $description [ReleaseRank $b]]]
}

# All versions of all events of a file, by provider.
proc ::etw::lib::ProvidersOfFile {file} {
    set providers {}
    foreach known [::etw schema list -from $file] {
        set description [::etw schema describe [dict get $known guid] -from $file]
        set events {}
        foreach event [dict get $description events] {
            dict set events [list [EventKey $description $event] [dict get $event version]] $event
        }
        dict set providers [dict get $known guid] [list [dict get $known name] $events]
    }
    return $providers
}

proc ::etw::lib::DiffFiles {a b} {
    set old [ProvidersOfFile $a]
    set new [ProvidersOfFile $b]
    set items {}
    dict for {guid provider} [dict merge $old $new] {
        set before [expr {[dict exists $old $guid] ? [lindex [dict get $old $guid] 1] : ""}]
        set after [expr {[dict exists $new $guid] ? [lindex [dict get $new $guid] 1] : ""}]
        lappend items {*}[EventChanges [lindex $provider 0] $before $after]
    }
    return $items
}

# etw schema diff FILE FILE, etw schema diff PROVIDER A B
proc ::etw::lib::SchemaDiff {args} {
    set format dict
    if {[llength $args] >= 4 && [string match -* [lindex $args end-1]]} {
        tcl::prefix match -message option {-format} [lindex $args end-1]
        set format [tcl::prefix match -message format {dict text} [lindex $args end]]
        set args [lrange $args 0 end-2]
    }
    switch [llength $args] {
        2 {
            set items [DiffFiles {*}$args]
        }
        3 {
            set items [DiffVersions {*}$args]
        }
        default {
            return -code error -errorcode {TCL WRONGARGS} \
                "wrong # args: should be \"etw schema diff file file\" or \"etw schema diff provider a b\""
        }
    }
    return [expr {$format eq "text" ? [SchemaDiffText $items] : $items}]
}

proc ::etw::lib::SchemaDiffText {items} {
    set marks {added + removed - changed ~ reordered ~}
    set lines {}
    foreach item $items {
        set line "[dict get $marks [dict get $item change]] [dict get $item event] ([dict get $item id] v"
        if {[dict exists $item was] && [dict get $item was] != [dict get $item version]} {
            append line "[dict get $item was] -> v"
        }
        lappend lines "$line[dict get $item version])"
        if {[dict get $item change] ne "changed"} {
            continue
        }
        dict for {property values} [dict get $item properties] {
            lappend lines "    ~ $property: [join $values " -> "]"
        }
        foreach field [dict get $item fields] {
            dict with field {
                lappend lines [switch $change {
                    reordered {string cat "    ~ order of fields"}
                    changed {string cat "    ~ $name $was -> $type"}
                    default {string cat "    [dict get $marks $change] $name $type"}
                }]
            }
        }
    }
    return [visible [join $lines \n] lines]
}
