#!/usr/bin/env tclsh
# make-catalog.tcl --
#
#	Builds library/catalog.dat, the catalogue of providers that ship with Windows and .NET, from tables of
#	facts. The same tables result in the same bytes.
#
#	    tclsh tools/make-catalog.tcl -facts DIR -out FILE ?-stats BOOL?
#
#	DIR has providers/*.tsv.xz and kernel-manifests.tsv; tools/data/*.txt are applied afterwards and have
#	precedence. Errors in the tables' fields are repaired (see Repair). doc/internals/CATALOG.md describes
#	the container.
#
#	Files in tools/data, columns separated by tabs, # begins a comment:
#	    provider GUID NAME ?classic|checked?	the following lines are about this one, which is added or renamed.
#		classic: events are identified by opcode. checked: has precedence over manifests inside traces
#	    keyword MASK NAME
#	    map NAME value|bit VALUE=LABEL;...
#	    event ID VERSION LEVEL OPCODE:NAME TASK:NAME MASK SINCE SYMBOL FIELDS	replaces the event in the tables
#	    as FIELD OLDTYPE TYPE		in all events of the provider with that field and in-type: another
#		type, out-type, length ...
#	    guid NAME GUID			for a provider that has only a name in the tables
#	FIELDS and TYPE have the notation of the tables: name:InType/out{map}(length)[count],
#	name:struct<...>[count].

package require Tcl 8.6-

namespace eval catalog {
    # key (GUID, or lower-case name if there is none) -> name, guid
    variable provider {}
    # key -> dict of {id version} -> dict: level opcode opname task taskname mask since symbol fields detail
    variable events
    array set events {}
    # key -> dict of keyword -> mask; key -> dict of map -> {kind entries}; key -> dict of {field type} -> type
    variable keywords
    array set keywords {}
    variable maps
    array set maps {}
    variable retyped
    array set retyped {}
    # key -> 1: events are identified by opcode; has precedence over manifests inside traces
    variable classic
    array set classic {}
    variable checked
    array set checked {}
    # Counts of repairs, for -stats.
    variable counts
    array set counts {}

    # In-types: code of the container and number of TDH's enumeration.
    variable inTypes {
        UnicodeString {u 1} AnsiString {a 2} Int8 {b 3} UInt8 {B 4} Int16 {h 5} UInt16 {H 6} Int32 {i 7} UInt32 {I 8}
        Int64 {l 9} UInt64 {L 10} Float {f 11} Double {d 12} Boolean {o 13} Binary {y 14} GUID {g 15} Pointer {p 16}
        FILETIME {t 17} SYSTEMTIME {s 18} SID {S 19} HexInt32 {x 20} HexInt64 {X 21} CountedUtf16String {U 22}
        CountedMbcsString {A 23}
    }
    # Out-types: number of ETW_OUT_*.
    variable outTypes {
        string 2 bool 3 hex 4 pid 5 tid 6 port 7 ipv4 8 ipv6 9 sockaddr 10 xml 11 json 12 win32 13 ntstatus 14
        hresult 15 unsigned 18 utf8 35 codepointer 37 mac 64
    }
    # Out-types by name, because the tables have none: in-types, names, out-type. Names that only suggest a
    # type (Status, ErrorCode, Port) are not here. "by" stands for a blob whose length is another field's value.
    variable outTypesByName {
        {Int32 UInt32 HexInt32} {(^|[^A-Z])H(RESULT|Result|result)|^(hresult|hResult)|^[Hh]r([0-9_A-Z]|$)|^HR([0-9_]|$)} hresult
        {Int32 UInt32 HexInt32} {(^|_)nt_?[Ss]tatus|N[Tt]_?(Status|STATUS)} ntstatus
        {Int32 UInt32 HexInt32} {[Ww]in32(Last)?(Err|Error|ErrorCode|Status|ExitCode)$} win32
        {UInt32 HexInt32} {IPv4(Source|Dest|Destination)?Addr(ess)?$} ipv4
        {Binary(6)} {(?i)mac|bssid|^hw.?addr} mac
        {Binary(16) Binary(by)} {(?i)ipv6.*addr(ess)?$} ipv6
        {Binary(by)} {(?i)^(?!.*(mac|hw|dl|link|memory|scsi|virtual|physical|pcb|tcb)).*addr(ess)?$} sockaddr
    }
    # Names of fields that alone do not show that a map of another event applies.
    variable commonNames {type state status flags mode reason version value result code count index id action operation level
        kind class source direction instance current event info data options error errorcode method command request response
        size length name number process thread total start stop new old}
    # key -> dict of {field type} -> dict of map -> tasks of the events that link it
    variable links
    array set links {}
    # Sizes in bytes of blobs, by name, for fixed lengths that are missing in the tables.
    variable fixedBlobs {
        {mac|bssid|^(local|peer)addr$} 6
        {sha-?256|thumbprint256} 32
        {sha-?1(hash|$)|imagesha1} 20
        {md5} 16
        {ipv6|^[ds]addr$|address6} 16
    }
}

# ---- Reading the tables ------------------------------------------------------------------------------

proc catalog::Rows {file} {
    if {[string match *.xz $file]} {
        set in [open "|[list xz -dc $file]"]
    } else {
        set in [open $file]
    }
    chan configure $in -encoding utf-8 -translation lf
    try {
        return [lrange [split [string trimright [read $in] \n] \n] 1 end]
    } finally {
        close $in
    }
}

proc catalog::Key {guid name} {
    return [expr {$guid ne "" ? [string tolower $guid] : [string tolower $name]}]
}

proc catalog::AddProvider {guid name} {
    variable provider
    set key [Key $guid $name]
    if {![dict exists $provider $key]} {
        dict set provider $key [list $name [string tolower $guid]]
    }
    return $key
}

# The name, or "" if the dump has generated it because the manifest has none.
proc catalog::RealName {name} {
    return [expr {[regexp {^(task|opcode|keyword)_?[0-9a-f]*$} $name] || $name eq "None" ? "" : $name}]
}

proc catalog::Number {text} {
    return [expr {[string is digit -strict $text] ? $text : 0}]
}

proc catalog::ReadEvents {file} {
    variable events
    foreach row [Rows $file] {
        lassign [split $row \t] name guid id version symbol level opcode opname task taskname mask - - fields since detail
        set key [AddProvider $guid $name]
        set event [dict create level [Number $level] opcode $opcode opname [RealName $opname] task $task \
            taskname [RealName $taskname] mask $mask since $since fields $fields detail $detail]
        dict set event symbol [RealSymbol $event $symbol $id $version]
        if {[info exists events($key)] && [dict exists $events($key) "$id $version"] && $detail eq "tsv"} {
            continue
        }
        dict set events($key) "$id $version" $event
    }
}

# The dumps generate symbols from task, opcode, id and version. One that can be generated again is stored as one
# character: "=" task and opcode, "~" task alone, "#" and "%" the same with the id. Others are kept, except
# invalid ones.
proc catalog::RealSymbol {event symbol id version} {
    set task [dict get $event taskname]
    if {$task eq ""} {
        return ""
    }
    set both $task[string map {_ ""} [dict get $event opname]]
    set suffix [expr {$version ? "_V$version" : ""}]
    foreach {mark composed} [list = $both ~ $task # $both$id % $task$id] {
        if {$symbol eq "$composed$suffix"} {
            return $mark
        }
    }
    return [expr {[regexp {[A-Z]{8,}} $symbol] ? "" : $symbol}]
}

proc catalog::ReadKeywords {file} {
    variable keywords
    foreach row [Rows $file] {
        lassign [split $row \t] name guid keyword mask
        if {[RealName $keyword] ne ""} {
            dict set keywords([AddProvider $guid $name]) $keyword $mask
        }
    }
}

proc catalog::ReadMaps {file} {
    variable maps
    foreach row [Rows $file] {
        lassign [split $row \t] name guid map kind entries
        dict set maps([AddProvider $guid $name]) $map [list $kind $entries]
    }
}

# Newer builds of six kernel providers; task and opcode are only given by name.
proc catalog::ReadKernel {file} {
    variable events
    foreach row [Rows $file] {
        lassign [split $row \t] name guid id version symbol since task opname - fields
        set key [AddProvider $guid $name]
        if {[info exists events($key)] && [dict exists $events($key) "$id $version"]} {
            continue
        }
        set event [Nearest $key $id]
        if {$event eq ""} {
            set event [dict create level 4 opcode "" task "" mask 0x0]
        }
        dict set events($key) "$id $version" [dict merge $event [dict create taskname $task opname $opname \
            since $since symbol $symbol fields $fields detail tsv]]
    }
}

# Another version of the event, for properties that versions have in common.
proc catalog::Nearest {key id} {
    variable events
    if {[info exists events($key)]} {
        for {set version 10} {$version >= 0} {incr version -1} {
            if {[dict exists $events($key) "$id $version"]} {
                return [dict get $events($key) "$id $version"]
            }
        }
    }
    return ""
}

# ---- tools/data --------------------------------------------------------------------------------------

proc catalog::ReadData {file} {
    set in [open $file]
    chan configure $in -encoding utf-8 -translation lf
    set key ""
    set number 0
    foreach line [split [read $in] \n] {
        incr number
        if {$line eq "" || [string index $line 0] eq "#"} {
            continue
        }
        set words [split $line \t]
        set key [DataLine $key [lindex $words 0] [lrange $words 1 end] "$file:$number"]
    }
    close $in
}

proc catalog::DataLine {key verb words where} {
    variable provider
    variable keywords
    variable maps
    variable events
    variable retyped
    variable classic
    variable checked
    switch -- $verb {
        provider {
            lassign $words guid name kind
            set key [AddProvider $guid $name]
            dict set provider $key [list $name [string tolower $guid]]
            if {$kind ne ""} {
                set ${kind}($key) 1
            }
        }
        keyword {
            dict set keywords($key) [lindex $words 1] [lindex $words 0]
        }
        map {
            dict set maps($key) [lindex $words 0] [lrange $words 1 2]
        }
        as {
            dict set retyped($key) [lrange $words 0 1] [lindex $words 2]
        }
        guid {
            Identify {*}$words
        }
        event {
            lassign $words id version level opcode task mask since symbol fields
            dict set events($key) "$id $version" [dict create level $level opcode [lindex [split $opcode :] 0] \
                opname [lindex [split $opcode :] 1] task [lindex [split $task :] 0] \
                taskname [lindex [split $task :] 1] mask $mask since $since symbol $symbol fields $fields detail own]
        }
        default {
            return -code error "$where: \"$verb\"?"
        }
    }
    return $key
}

# ---- Maps and out-types ------------------------------------------------------------------------------

# The dumps name a field's map at its first use only. Collect these uses.
proc catalog::ReadLinks {} {
    variable events
    variable links
    foreach key [array names events] {
        set found {}
        dict for {id event} $events($key) {
            if {[dict get $event detail] eq "own" || [string first \{ [dict get $event fields]] < 0} {
                continue
            }
            foreach word [Words [dict get $event fields]] {
                set field [Field $word]
                set map [dict get $field map]
                if {$map ne ""} {
                    set which [list [dict get $field name] [dict get $field type]]
                    set tasks [expr {[dict exists $found $which $map] ? [dict get $found $which $map] : {}}]
                    dict set found $which $map [concat $tasks [list [dict get $event taskname]]]
                }
            }
        }
        set links($key) $found
    }
}

# The map of a field that has none in the tables: the one of a field with the same name and type in the same task,
# otherwise in the provider, if there is one only, and if the name is neither a common word nor numbered.
proc catalog::LinkedMap {key field task} {
    variable links
    variable commonNames
    set name [dict get $field name]
    set which [list $name [dict get $field type]]
    if {![info exists links($key)] || ![dict exists $links($key) $which]} {
        return ""
    }
    set maps [dict get $links($key) $which]
    set near [lmap {map tasks} $maps {expr {$task ne "" && $task in $tasks ? $map : [continue]}}]
    if {[llength $near] == 1} {
        return [lindex $near 0]
    }
    set only [expr {[dict size $maps] == 1 ? [lindex $maps 0] : ""}]
    return [expr {[string tolower $name] in $commonNames || [regexp {[0-9]|Id$} $name] ? "" : $only}]
}

proc catalog::OutTypeOf {field} {
    variable outTypesByName
    dict with field {
        set length [expr {$length eq "" || [string is digit $length] ? $length : $length eq "*" ? "rest" : "by"}]
        set kind [expr {$type eq "Binary" ? "Binary($length)" : $type}]
        foreach {kinds pattern outType} $outTypesByName {
            if {$kind in $kinds && [regexp $pattern $name]} {
                return $outType
            }
        }
    }
    return ""
}

# Add maps and out-types to the repaired fields of an event.
proc catalog::Annotate {key event fields} {
    variable counts
    return [lmap field $fields {
        if {[dict get $field out] eq "" && [dict get $field map] eq ""} {
            dict set field out [OutTypeOf $field]
            if {[dict get $field out] eq "" && [regexp {Int} [dict get $field type]] && [dict get $field count] eq ""} {
                dict set field map [LinkedMap $key $field [dict get $event taskname]]
            }
            incr counts(maps) [expr {[dict get $field map] ne ""}]
            incr counts(outTypes) [expr {[dict get $field out] ne ""}]
        }
        set field
    }]
}

# Add the GUID of a provider that had only a name.
proc catalog::Identify {name guid} {
    variable provider
    variable events
    variable keywords
    variable maps
    set old [string tolower $name]
    set new [string tolower $guid]
    if {![dict exists $provider $old] || [dict exists $provider $new]} {
        return
    }
    dict unset provider $old
    dict set provider $new [list $name $new]
    foreach table {events keywords maps} {
        if {[info exists ${table}($old)]} {
            set ${table}($new) [set ${table}($old)]
            unset ${table}($old)
        }
    }
}

# Numbers of tasks and opcodes for tables with names only: from rows with both, otherwise Windows' own.
proc catalog::FillNumbers {key} {
    variable events
    set tasks {}
    set opcodes {Start 1 Stop 2 DCStart 3 DC_Start 3 DCStop 4 DC_Stop 4 Extension 5 Reply 6 Resume 7 Suspend 8 Send 9
        Receive 240}
    dict for {id event} $events($key) {
        dict with event {
            if {$task ne ""} {
                dict set tasks $taskname $task
            }
            if {$opcode ne "" && $opcode > 9} {
                dict set opcodes "$taskname $opname" $opcode
                dict set opcodes $opname $opcode
            }
        }
    }
    dict for {id event} $events($key) {
        dict with event {
            if {$task eq ""} {
                set task [expr {[dict exists $tasks $taskname] ? [dict get $tasks $taskname] : 0}]
            }
            if {$opcode eq ""} {
                set opcode [FindOpcode $opcodes $taskname $opname]
            }
        }
        dict set events($key) $id $event
    }
}

proc catalog::FindOpcode {opcodes task name} {
    foreach known [list "$task $name" $name] {
        if {[dict exists $opcodes $known]} {
            return [dict get $opcodes $known]
        }
    }
    return 0
}

# ---- Fields ------------------------------------------------------------------------------------------

# Words of a field list: spaces inside <...> and (...) do not separate; a word without a colon belongs to the
# previous one (names of lengths that contained spaces).
proc catalog::Words {text} {
    set words {}
    set word ""
    set depth 0
    foreach part [split $text " "] {
        if {$depth > 0 || ($word ne "" && [string first : $part] < 0)} {
            append word " " $part
        } else {
            if {$word ne ""} {
                lappend words $word
            }
            set word $part
        }
        incr depth [expr {[regexp -all {<} $part] - [regexp -all {>} $part]}]
    }
    if {$word ne ""} {
        lappend words $word
    }
    return $words
}

# One field as a dict: name type out map length count members.
proc catalog::Field {word} {
    # A task's name with parentheses was parsed incorrectly by one dump.
    regsub {:[^:]*\)[A-Za-z_0-9]*\(([A-Za-z0-9]+)$} $word {:\1} word
    if {[regexp {^([^:]*):struct<(.*)>(?:\[([^]]*)\])?$} $word - name members count]} {
        set fields [lmap member [Words $members] {Field $member}]
        return [dict create name $name type struct out "" map "" length "" count $count members $fields]
    }
    if {![regexp {^(.*?):([A-Za-z0-9]+)(?:/([a-z0-9]+))?(?:\{([^\}]*)\})?(?:\(([^)]*)\))?(?:\[([^]]*)\])?$} \
            $word - name type out map length count]} {
        return -code error "field \"$word\"?"
    }
    return [dict create name $name type $type out $out map $map length [string map {" " ""} $length] \
        count [string map {" " ""} $count] members {}]
}

# The fields of an event, with errors of the dumps repaired:
#
# - Types of structs: the dumps show the number of a struct's first member as if it were the number of a type, and
# omit its members. Members are listed after all other fields, so a field whose "type" is the number of fields is
# a struct, as is one whose "type" exceeds all types.
#
# - Numeric lengths and counts are missing. Blobs of a known kind get theirs by name.
#
# A field of unknown size covers the rest of the payload and is the last one.
proc catalog::Repair {key event} {
    variable retyped
    set fields [lmap word [Words [dict get $event fields]] {Field $word}]
    if {[info exists retyped($key)]} {
        set fields [lmap field $fields {Retype $field $retyped($key)}]
    }
    if {[dict get $event detail] eq "own"} {
        return $fields
    }
    set first [FirstStruct $fields [dict get $event detail] $key]
    if {$first >= 0} {
        set fields [CutAt $fields $first struct]
    }
    for {set i 0} {$i < [llength $fields]} {incr i} {
        set field [lindex $fields $i]
        if {[dict get $field type] ne "Binary" || [dict get $field length] ne ""} {
            continue
        }
        set length [LengthOf $fields $i]
        if {$length eq "" || [dict get $field count] ne ""} {
            return [CutAt $fields $i blob]
        }
        lset fields $i [dict merge $field [dict create length $length]]
    }
    return [CheckReferences $fields]
}

# A length that the tables have stays, and what the new type says of a blob of another length does not apply.
proc catalog::Retype {field types} {
    set which [list [dict get $field name] [dict get $field type]]
    if {![dict exists $types $which]} {
        return $field
    }
    set new [Field [dict get $field name]:[dict get $types $which]]
    if {[dict get $field length] ne "" && [dict get $new length] ne ""} {
        return $field
    }
    if {[dict get $new map] eq ""} {
        dict set new map [dict get $field map]
    }
    return $new
}

proc catalog::CutAt {fields index why} {
    variable counts
    incr counts($why)
    set field [dict merge [lindex $fields $index] {type Binary out {} map {} length * count {} members {}}]
    return [lreplace $fields $index end $field]
}

proc catalog::TypeNumber {type} {
    variable inTypes
    if {[string is digit -strict $type]} {
        return $type
    }
    return [expr {$type eq "Struct" ? 24 : [lindex [dict get $inTypes $type] 1]}]
}

# Index of the first field that is a struct; -1: none.
proc catalog::FirstStruct {fields detail key} {
    set n [llength $fields]
    set beyond [expr {$detail eq "xml" ? 22 : 24}]
    set same {}
    set illegal -1
    set i -1
    foreach field $fields {
        incr i
        set number [TypeNumber [dict get $field type]]
        if {$number >= $beyond && $illegal < 0} {
            set illegal $i
        }
        if {$number == $n} {
            lappend same $i
        }
    }
    if {$illegal >= 0} {
        return [expr {[llength $same] ? [lindex $same 0] : $illegal}]
    }
    set arrays [lmap j $same {expr {[dict get [lindex $fields $j] count] ne "" ? $j : [continue]}}]
    if {[llength $arrays] == 1 && ![PlainArray [lindex $fields [lindex $arrays 0]] $key]} {
        return [lindex $arrays 0]
    }
    return -1
}

# Arrays of numbers whose type equals the number of fields: bytes with a length, and those of Direct3D.
proc catalog::PlainArray {field key} {
    variable provider
    set type [dict get $field type]
    return [expr {($type in {UInt8 UInt16} && [regexp -nocase {(length|size)$|^cb} [dict get $field count]])
        || ($type eq "UInt32" && [regexp {Direct3D|MTP} [lindex [dict get $provider $key] 0]])}]
}

# A blob's length: an earlier number with a corresponding name, or by its kind.
proc catalog::LengthOf {fields index} {
    variable fixedBlobs
    set name [dict get [lindex $fields $index] name]
    foreach field [lrange $fields 0 $index-1] {
        set other [dict get $field name]
        foreach pattern {%sLength %sSize %sLen %sLengthInBytes cb%s %s_Length %s_Size Length%s SizeOf%s} {
            if {[string equal -nocase [string map [list %s $name] $pattern] $other]} {
                return $other
            }
        }
    }
    foreach {pattern size} $fixedBlobs {
        if {[regexp -nocase $pattern $name]} {
            return $size
        }
    }
    return ""
}

# Lengths and counts must refer to earlier numbers.
proc catalog::CheckReferences {fields} {
    set before {}
    set i 0
    foreach field $fields {
        foreach what {length count} {
            set reference [dict get $field $what]
            if {$reference ni {"" *} && ![string is digit $reference] && ![dict exists $before $reference]} {
                return [CutAt $fields $i reference]
            }
        }
        if {[regexp {Int} [dict get $field type]] && [dict get $field count] eq ""} {
            dict set before [dict get $field name] 1
        }
        incr i
    }
    return $fields
}

# ---- The text of a provider --------------------------------------------------------------------------

# Index of a value in a growing table.
proc catalog::Intern {tableVar value} {
    upvar 1 $tableVar table
    if {![dict exists $table $value]} {
        dict set table $value [dict size $table]
    }
    return [dict get $table $value]
}

# Fields in the container's notation; `numbers` maps names of earlier fields to their indexes.
proc catalog::Encode {fields mapIndex numbersVar indexVar} {
    variable inTypes
    variable outTypes
    upvar 1 $numbersVar numbers $indexVar index
    set words {}
    foreach field $fields {
        set word [dict get $field name]:
        dict set numbers [dict get $field name] $index
        incr index
        dict with field {
            if {$type eq "struct"} {
                append word r[llength $members]
            } else {
                append word [lindex [dict get $inTypes $type] 0]
            }
            if {$out ne ""} {
                append word / [dict get $outTypes $out]
            }
            if {$map ne "" && [dict exists $mapIndex $map]} {
                append word \{[dict get $mapIndex $map]
            }
            append word [Reference ( $length $numbers] [Reference \[ $count $numbers]
        }
        lappend words $word {*}[Encode [dict get $field members] $mapIndex numbers index]
    }
    return $words
}

proc catalog::Reference {mark what numbers} {
    if {$what eq ""} {
        return ""
    }
    if {$what eq "*" || [string is digit $what]} {
        return $mark$what
    }
    return $mark=[dict get $numbers $what]
}

proc catalog::Mask {text} {
    return [format %llx [expr {$text eq "" ? 0 : $text}]]
}

# All data of a provider as lines of text: maps, keywords, shared data of events (tasks, opcodes, versions of
# Windows, field lists), then the events.
proc catalog::Text {key} {
    variable maps
    variable keywords
    variable events
    variable classic
    variable checked
    set lines {}
    set mapIndex {}
    if {[info exists classic($key)]} {
        lappend lines C
    }
    if {[info exists checked($key)]} {
        lappend lines P
    }
    if {[info exists maps($key)]} {
        foreach name [lsort [dict keys $maps($key)]] {
            Intern mapIndex $name
            lappend lines [MapLine $name {*}[dict get $maps($key) $name]]
        }
    }
    if {[info exists keywords($key)]} {
        foreach name [lsort [dict keys $keywords($key)]] {
            lappend lines "K\t[Mask [dict get $keywords($key) $name]]\t$name"
        }
    }
    if {[info exists events($key)]} {
        lappend lines {*}[EventLines $key $mapIndex]
    }
    return [join $lines \n]\n
}

proc catalog::MapLine {name kind entries} {
    set line "M\t$name\t[string index $kind 0]"
    foreach entry [split $entries ";"] {
        set at [string first = $entry]
        set value [string range $entry 0 $at-1]
        if {$at > 0 && [string is entier -strict $value]} {
            append line "\t[Mask $value]=[string range $entry $at+1 end]"
        }
    }
    return $line
}

proc catalog::EventLines {key mapIndex} {
    variable events
    FillNumbers $key
    set tasks {}
    set opcodes {}
    set sinces {}
    set lists {}
    set masks {}
    set lines {}
    set before 0
    foreach id [lsort -command catalog::ById [dict keys $events($key)]] {
        set event [dict get $events($key) $id]
        set numbers {}
        set index 0
        set fields [Repair $key $event]
        if {[dict get $event detail] ne "own"} {
            set fields [Annotate $key $event $fields]
        }
        set list [join [Encode $fields $mapIndex numbers index] " "]
        dict with event {
            set columns [list E [expr {[lindex $id 0] - $before}] [lindex $id 1] $level \
                [Intern opcodes "$opcode\t$opname"] [Intern tasks "$task\t$taskname"] [Intern masks [Mask $mask]] \
                [Intern sinces $since] [expr {$list eq "" ? "" : [Intern lists $list]}]]
            lappend columns {*}[expr {$symbol eq "" ? "" : [list $symbol]}]
        }
        set before [lindex $id 0]
        lappend lines [join $columns \t]
    }
    set shared {}
    foreach {mark table} [list O $opcodes T $tasks W $masks S $sinces F $lists] {
        foreach value [dict keys $table] {
            lappend shared "$mark\t$value"
        }
    }
    return [concat $shared $lines]
}

proc catalog::ById {a b} {
    lassign $a id version
    lassign $b otherId otherVersion
    return [expr {$id != $otherId ? $id - $otherId : $version - $otherVersion}]
}

# ---- The container -----------------------------------------------------------------------------------

# A GUID in Windows' memory layout; none: zeros.
proc catalog::GuidBytes {guid} {
    if {$guid eq ""} {
        return [binary format x16]
    }
    scan $guid %8x-%4x-%4x-%4x-%s a b c d e
    return [binary format issSH12 $a $b $c $d $e]
}

proc catalog::Write {out} {
    variable provider
    set entries [lmap {key value} $provider {
        lassign $value name guid
        list [GuidBytes $guid] $name $key
    }]
    set entries [lsort -command catalog::ByGuid $entries]
    set names ""
    set blocks ""
    set index ""
    set order {}
    set number 0
    foreach entry $entries {
        lassign $entry guid name key
        set raw [encoding convertto utf-8 [Text $key]]
        set packed [zlib compress $raw 9]
        append index $guid [binary format iiiii [string length $names] [string length $blocks] \
            [string length $packed] [string length $raw] [regexp -all -line {^E\t} $raw]]
        append names [encoding convertto utf-8 $name] \0
        append blocks $packed
        lappend order [list [string tolower $name] $number]
        incr number
    }
    foreach pair [lsort -command catalog::ByName $order] {
        append index [binary format i [lindex $pair 1]]
    }
    append index $names
    set header [binary format a8iiiii ETWCATLG 1 $number [string length $names] [string length $blocks] \
        [zlib crc32 $index]]
    set channel [open $out wb]
    puts -nonewline $channel $header$index$blocks
    close $channel
    return [list providers $number bytes [expr {[string length $header] + [string length $index] + [string length $blocks]}]]
}

# Compares like memcmp: unsigned bytes.
proc catalog::ByGuid {a b} {
    set order [string compare [binary encode hex [lindex $a 0]] [binary encode hex [lindex $b 0]]]
    return [expr {$order ? $order : [string compare [string tolower [lindex $a 1]] [string tolower [lindex $b 1]]]}]
}

proc catalog::ByName {a b} {
    set order [string compare [lindex $a 0] [lindex $b 0]]
    return [expr {$order ? $order : [lindex $a 1] - [lindex $b 1]}]
}

proc catalog::Make {facts out} {
    set dir [file join $facts providers]
    foreach row [Rows [file join $dir provider-guids.tsv.xz]] {
        AddProvider {*}[split $row \t]
    }
    ReadEvents [file join $dir provider-events.tsv.xz]
    ReadKeywords [file join $dir provider-keywords.tsv.xz]
    ReadMaps [file join $dir provider-maps.tsv.xz]
    ReadKernel [file join $facts kernel-manifests.tsv]
    foreach file [lsort [glob -directory [file join [file dirname [file normalize [info script]]] data] *.txt]] {
        ReadData $file
    }
    ReadLinks
    return [Write $out]
}

set options [dict merge {-stats 0} $argv]
set result [catalog::Make [dict get $options -facts] [dict get $options -out]]
if {[dict get $options -stats]} {
    puts [concat $result [array get catalog::counts]]
}
