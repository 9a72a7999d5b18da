# tests/support/windows_records.tcl --
#
#	Records as Windows writes them, for sources of records (-records): from the documented layout of EVENT_HEADER, without the package.

namespace eval testing {
    namespace export guidBytes manifestRecord classicRecord manifestChunk manifestText
}

# The 16 bytes of a GUID.
proc testing::guidBytes {guid} {
    lassign [split $guid -] a b c d e
    scan $a %x a
    scan $b %x b
    scan $c %x c
    return [binary format issH4H12 $a $b $c $d $e]
}

# The record of an event of a manifest. Options: -version -level -opcode -task -keyword -time (100 ns).
proc testing::manifestRecord {guid id payload args} {
    set o [dict merge {-version 0 -level 4 -opcode 0 -task 0 -keyword 0 -time 132000000000000000} $args]
    set size [expr {80 + [string length $payload]}]
    set header [binary format sccssiiw $size 0x13 0xC0 0 0 12 34 [dict get $o -time]]
    append header [guidBytes $guid] [binary format sccccsw $id [dict get $o -version] 0 [dict get $o -level] \
        [dict get $o -opcode] [dict get $o -task] [dict get $o -keyword]]
    return [dict create cpu 0 record $header[binary format x24]$payload]
}

# The record of a classic event, such as one of a kernel class, of a 64-bit system.
proc testing::classicRecord {guid opcode version payload} {
    set header [binary format sccccsiiw [expr {48 + [string length $payload]}] 0x14 0xC0 $opcode 0 $version 12 34 132000000000000000]
    return [dict create cpu 0 record $header[guidBytes $guid][binary format x8]$payload]
}

# A manifest of one provider with this GUID. events: the XML inside its element <events>; rest: its other elements.
proc testing::manifestText {name guid events {rest {}}} {
    return "<instrumentationManifest xmlns=\"http://schemas.microsoft.com/win/2004/08/events\"><instrumentation><events>
<provider name=\"$name\" guid=\"{$guid}\" resourceFileName=\"x\" messageFileName=\"x\" symbol=\"x\">
<events>$events</events>$rest</provider></events></instrumentation></instrumentationManifest>"
}

# The payload of the event 0xFFFE, with which an EventSource describes itself: chunk `number` of `total`.
proc testing::manifestChunk {xml {total 1} {number 0}} {
    return [binary format ccccss 1 1 0 0x5b $total $number]$xml
}
