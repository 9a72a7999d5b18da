#!/usr/bin/env tclsh
# tools/gen-kernel-schemas.tcl --
#
#	Writes generic/schema/kernel/kernel_tables.c, the layouts of Windows' kernel events, from
#	tools/data/kernel-events.tsv (one line for each opcode and version: fields in wire order) and
#	tools/data/kernel-hooks.tsv (names of hook ids without a layout).
#
#	    tclsh tools/gen-kernel-schemas.tcl          write the file
#	    tclsh tools/gen-kernel-schemas.tcl check    fail if it differs from the result
#
#	The tables below define how a field is shown, which the data does not contain: they turn plain integers
#	into ids, addresses, error codes and values with names (schema/kernel/kernel_maps.c).
#	schema/kernel/kernel_extra_rows.c adds layouts that are not in the data. A new class needs a name in
#	classNames below, a new group also a GUID in generic/etl/kernel_class_guids.c.

set top [file dirname [file dirname [file normalize [info script]]]]
set target [file join $top generic schema kernel kernel_tables.c]

# Names of providers by group number; classes without a group by GUID.
set classNames {
    0x01 DiskIo 0x02 PageFault 0x03 Process 0x04 FileIo 0x05 Thread 0x06 TcpIp 0x07 Job 0x08 UdpIp
    0x09 Registry 0x0A DbgPrint 0x0B SystemConfig 0x0D Wnf 0x0E Pool 0x0F PerfInfo 0x10 Heap 0x11 Object
    0x12 Power 0x13 ModBound 0x14 Image 0x15 Dpc 0x16 Cc 0x17 CritSec 0x18 StackWalk 0x19 Ums 0x1A Alpc
    0x1B SplitIo 0x1C ThreadPool 0x1D Hypervisor 0x1E HypervisorX
    f8f10121-b617-4a56-868b-9df1b27fe32c MMCSS
    99134383-5248-43fc-834b-529454e75df3 LastBranch
    6a399ae0-4bc6-4de9-870b-3657f8947e7e Lost_Event
}
# GUIDs of groups without a layout.
set groupGuids {
    0x07 3282fc76-feed-498e-8aa7-e70f459d430e 0x0D 42695762-ea50-497a-9068-5cbbb35e0b95
    0x13 a9152f00-3f58-4bee-92a1-70c7d079d5dd 0x15 b2d14872-7c5b-463d-8419-ee9bf7d23e04
    0x16 7687a439-f752-45b8-b741-321aec0f8df9 0x1D 7f2a405c-69b5-4bf9-a1f5-30e8f1afab5e
    0x1E 2ce9a149-effe-42f0-a635-a1d39e26c8f2
}

# Refinements: "CLASS FIELD TYPE", patterns of string match, or CLASS/EVENT. The first one that matches a u32, u64, ... of the
# same width is used. Types are those of schema/kernel/kernel_classes.c, with a map's name after a semicolon.
set refinements {
    Process    ProcessId:u32     pid           Process   ParentId:u32      pid
    Process    ProcessId:ptr     size          Process   ParentId:ptr      size
    Process    Flags:u32         u32;ProcessFlags
    Process    ExitTime:u64      time
    *          ProcessId:u32     pid           *         PID:u32           pid
    *          StackProcess:u32  pid           *         HRPid:u32         pid
    *          ScheduledPID:u32  pid           *         TargetProcessId:u32 pid
    *          ThreadId:u32      tid           *         TThreadId:u32     tid
    *          StackThread:u32   tid           *         TTID:u32          tid
    *          TTID:ptr          size          *         IssuingThreadId:u32 tid
    *          NewThreadId:u32   tid           *         OldThreadId:u32   tid
    *          ScheduledTID:u32  tid           *         *ScheduledThreadId:u32 tid
    *          PrimaryThreadId:u32 tid         *         OwningThread:ptr  size
    *          NtStatus:u32      nts           *         SysCallNtStatus:u32 nts
    *          Status:u32        nts
    Thread     OldThreadWaitReason:s8 s8;WaitReason
    Thread     OldThreadWaitMode:s8   s8;WaitMode
    Thread     WaitMode:s8       s8;WaitMode
    Thread     OldThreadState:s8 s8;ThreadState
    Thread     AdjustReason:s8   s8;AdjustReason
    Thread     Flag:s8           s8;ReadyFlags
    Thread     IoPriority:u8     u8;IoPriority
    DiskIo     IrpFlags:u32      u32;IrpFlags
    *          MajorFunction:u32 u32;MajorFunction
    FileIo     CreateOptions:u32 u32;CreateOptions
    FileIo     FileAttributes:u32 u32;FileAttributes
    FileIo     ShareAccess:u32   u32;ShareAccess
    FileIo     MiscInfo:u64      x64
    FileIo     IoFlags:u32       x32
    PageFault  Flags:u32         u32;VirtualFlags
    PageFault  *Flags:u32        x32           PageFault DeviceChar:u32    x32
    PageFault  *Char:u16         x16
    Image      SignatureLevel:u8 u8;SignatureLevel
    Image      SignatureType:u8  u8;SignatureType
    Image      LoadReason:u32    u32;LoadReason
    Image      BaseAddress:u64   x64           Image     *Flags:u32        x32
    Image      SearchInfo:u32    x32
    PerfInfo   Source:u32        u32;ProfileSource
    PerfInfo   ProfileSource:u16 u16;ProfileSource
    PerfInfo/SampleProf Reserved:u16 u16;SampleFlags
    PerfInfo   R*:u64            x64           PerfInfo  X*:u64            x64
    PerfInfo   ReturnValue:u8    b8
    PerfInfo   Cpsr:u32          x32           PerfInfo  Fp:u64            x64
    PerfInfo   Lr:u64            x64           PerfInfo  Sp:u64            x64
    PerfInfo   Pc:u64            x64           PerfInfo  TimerFlags:u8     x8
    Pool       Tag:u32           c8[4]         Object    Tag:u32           c8[4]
    Registry   PoolTag:u32       c8[4]         Registry  Type:u8           u8
    SystemConfig PhysicalAddr:u64 mac
    SystemConfig ServiceState:u32 u32;ServiceState
    SystemConfig ProcessorArchitecture:u16 u16;Architecture
    SystemConfig FirmwareType:u32 u32;FirmwareType
    SystemConfig *Enabled:u8     b8            SystemConfig *Capable:u8    b8
    SystemConfig IRQAffinity:u64 x64           SystemConfig NodeMap:u64    x64
    SystemConfig FeatureSet:u32  x32           SystemConfig BootFlags:u64  x64
    SystemConfig IpAddress:s32   ip4           SystemConfig SubnetMask:s32 ip4
    SystemConfig DhcpServer:s32  ip4           SystemConfig Gateway:s32    ip4
    SystemConfig *WinsServer:s32 ip4           SystemConfig DnsServer?:s32 ip4
    *          *Flags:u32        x32           *         InstructionPointer:ptr code
    *          ProgramCounter:ptr code         *         *Routine*:ptr     code
    *          Callback*:ptr     code          *         SysCallAddress:ptr code
}
# Complete lists of fields that the data's types cannot express.
set typeNames {boolean b8 bool8 b8 sizet size obj raw}

proc fail {text} {
    puts stderr "gen-kernel-schemas.tcl: $text"
    exit 1
}

proc rows {file} {
    set f [open [file join $::top tools data $file]]
    fconfigure $f -encoding utf-8
    set lines [split [string trimright [read $f] \n] \n]
    close $f
    return [lmap line $lines {split $line \t}]
}

# Size of a type with 4- or 8-byte pointers; 0: variable.
proc sizeOf {type pointer} {
    set sizes [dict create u8 1 s8 1 u16 2 s16 2 u32 4 s32 4 u64 8 s64 8 ptr $pointer sizet $pointer ip4 4 \
            ip6 16 port 2 guid 16 boolean 1 bool8 1 char16 2]
    set times 1
    if {[regexp {^(.*)\[(\d+)\]$} $type -> type times] || ![string match {*\[*} $type]} {
        return [expr {[dict exists $sizes $type] ? [dict get $sizes $type] * $times : 0}]
    }
    return 0
}

# The text of a row's fields in the notation of schema/kernel/kernel_classes.c.
proc translate {class event fields} {
    set out {}
    foreach field $fields {
        regexp {^([^:]+):(.*)$} $field -> name type
        foreach {pattern what new} $::refinements {
            if {[string match $what $field] && ([string match $pattern $class] || $pattern eq "$class/$event")} {
                set type $new
                break
            }
        }
        if {[dict exists $::typeNames $type]} {
            set type [dict get $::typeNames $type]
        }
        regsub {^char16} $type c16 type
        regsub {^ptr\[\(?size.*\]$} $type {code[*]} type
        if {[string match *Filters $name] || $name eq "CounterName"} {
            append type \[[expr {$name eq "CounterName" ? "CounterCount" : "${name}Count"}]\]
        }
        if {$class eq "SystemConfig" && $name eq "ProcessorNumber"} {
            append type {[ProcessorCount]}
        }
        if {$class eq "EventTrace" && $name eq "TimeStamp"} {
            set type {u64[*]}
        }
        lappend out $name:$type
    }
    return [join $out " "]
}

proc checkSizes {row fields} {
    lassign $row guid group opcode version class name size32 size64
    foreach pointer {4 8} told [list $size32 $size64] {
        set sum 0
        foreach field $fields {
            incr sum [sizeOf [regsub {^[^:]+:} $field {}] $pointer]
        }
        if {$sum != $told} {
            fail "$class opcode $opcode version $version: fields take $sum bytes, not $told"
        }
    }
}

# classes: name -> group or GUID, GUID; events: name -> list of {version opcode name fields}.
proc load {} {
    global classes events
    foreach row [lrange [rows kernel-events.tsv] 1 end] {
        lassign $row guid group opcode version mof name size32 size64 fields
        if {$group eq "0x00"} {
            continue ;# the records of a file's header, which are in schema/kernel/kernel_extra_rows.c
        }
        set key $group
        if {![dict exists $::classNames $group]} {
            set key $guid
        }
        if {$fields eq "(no payload)"} {
            set fields {}
        }
        checkSizes $row $fields
        if {![dict exists $::classNames $key]} {
            fail "class $key of tools/data/kernel-events.tsv has no name: add one to classNames"
        }
        set class [dict get $::classNames $key]
        dict set classes $class [list $key $guid]
        dict lappend events $class [list $version $opcode $name [translate $class $name $fields]]
    }
}

# Rows of one class: {versions events fields}; equal ones are combined.
proc joined {list} {
    set groups {}
    foreach event $list {
        lassign $event version opcode name fields
        dict lappend groups [list $version $fields] "$opcode $name"
    }
    set rows {}
    dict for {key names} $groups {
        lassign $key version fields
        dict lappend rows [list [join $names ,] $fields] $version
    }
    return $rows
}

# A C string literal, on several lines if necessary.
proc literal {text indent} {
    set lines {}
    set line ""
    foreach word [split $text " "] {
        if {$line ne "" && [string length $line] + [string length $word] > 86} {
            lappend lines $line
            set line ""
        }
        append line $word " "
    }
    lappend lines [string range $line 0 end-1]
    return \"[join $lines "\"\n$indent\""]\"
}

proc hookRows {} {
    set known {}
    foreach row [lrange [rows kernel-events.tsv] 1 end] {
        lassign $row guid group opcode
        dict set known $group,$opcode 1
    }
    set hooks {}
    foreach row [rows kernel-hooks.tsv] {
        lassign $row hook symbol
        if {![string match 0x* $hook] || $hook eq "0x030a"} {
            continue ;# the loader's event has the hook id of an older class: it belongs to Image
        }
        set group 0x[string toupper [string range $hook 2 3]]
        scan [string range $hook 4 5] %x opcode
        if {$group eq "0x00" || [dict exists $known $group,$opcode]} {
            continue
        }
        dict set known $group,$opcode 1
        regsub {^(PERFINFO|WMI)_LOG_TYPE_} $symbol {} name
        dict lappend hooks $group "$opcode $name"
    }
    return $hooks
}

proc generate {} {
    global classes events
    set hooks [hookRows]
    foreach group [dict keys $hooks] {
        if {![dict exists $::classNames $group]} {
            dict unset hooks $group
            continue
        }
        set class [dict get $::classNames $group]
        if {![dict exists $classes $class]} {
            dict set classes $class [list $group [dict get $::groupGuids $group]]
            dict set events $class {}
        }
    }
    foreach {group class} $::classNames {
        if {![dict exists $classes $class] && [dict exists $::groupGuids $group]} {
            dict set classes $class [list $group [dict get $::groupGuids $group]]
            dict set events $class {}
        }
    }
    set out {/*
 * schema/kernel/kernel_tables.c --
 *
 *	Made by tools/gen-kernel-schemas.tcl from tools/data; do not edit. Layouts of the events of
 *	Windows' kernel: per class, versions, opcodes with their names, fields in wire order.
 */
#include "schema/kernel/kernel_tables.h"

/* clang-format off */
}
    set index {}
    foreach class [lsort [dict keys $classes]] {
        lassign [dict get $classes $class] group guid
        append out "static const EtwKernelRow [string map {_ {}} $class]Rows\[\] = {\n"
        dict for {key versions} [joined [dict get $events $class]] {
            lassign $key names fields
            append out "    {\"[join $versions ,]\", [literal $names {        }],\n        [literal $fields {        }]},\n"
        }
        if {[dict exists $hooks $group]} {
            append out "    {NULL, [literal [string map {, ", "} [join [dict get $hooks $group] ,]] {        }], NULL},\n"
        } elseif {[dict get $events $class] eq ""} {
            append out "    {NULL, \"\", NULL},\n"
        }
        append out "};\n"
        append index "    {\"$class\", \"$guid\", [string map {_ {}} $class]Rows,\n" \
                "        (int)(sizeof [string map {_ {}} $class]Rows / sizeof *[string map {_ {}} $class]Rows)},\n"
    }
    append out "\nconst EtwKernelClass etwKernelTables\[\] = {\n$index    {0},\n};\n"
    return $out
}

set classes {}
set events {}
load
set text [generate]
if {[lindex $argv 0] eq "check"} {
    set f [open $target]
    set now [read $f]
    close $f
    if {$now ne $text} {
        fail "generic/schema/kernel/kernel_tables.c is not what tools/data gives: run tclsh tools/gen-kernel-schemas.tcl"
    }
} else {
    set f [open $target w]
    fconfigure $f -encoding utf-8 -translation lf
    puts -nonewline $f $text
    close $f
}
