# export_pcapng.tcl --
#
#	etw export -format pcapng: packets traced by Windows, for Wireshark:
#	Microsoft-Windows-NDIS-PacketCapture (netsh trace), whose packets are split into fragments, including
#	those in a virtual machine's switch, and Microsoft-Windows-PktMon (pktmon). Each network interface, each
#	port of a switch, and each component at which PktMon captured a packet is an interface of the capture.
#	Other events are omitted. The format: draft-ietf-opsawg-pcapng.

namespace eval ::etw::lib {
    variable pcapProviders {Microsoft-Windows-NDIS-PacketCapture Microsoft-Windows-PktMon}
    # Link types: Ethernet, raw IP, 802.11.
    variable pcapLinks {ethernet 1 ip 101 wifi 105}
    # Keywords of NDIS events.
    variable ndisKeywords {
        wan 0x200 tunnel 0x8000 wifi 0x10000 start 0x40000000 end 0x80000000 send 0x100000000 receive 0x200000000
    }
}

proc ::etw::lib::Export-pcapng {sources file options} {
    variable pcapProviders
    ExportCheck $sources $file
    set where "\$provider in [list $pcapProviders]"
    set options [Options {-event -from -last -limit -pid -progress -provider -records -schema -timeout -to -where} $options]
    if {[dict exists $options -where]} {
        append where " && ([dict get $options -where])"
    }
    dict set options -where $where
    return [ExportViaTemp $file {path {PcapWrite $path $sources $options}}]
}

# State of a capture being written: chan, links (interface -> its number), parts (interface and CPU -> fragments
# so far), counts of packets, and of those without begin or end.
proc ::etw::lib::PcapWrite {path sources options} {
    variable pcapProviders
    set state [dict create chan [OpenFile $path wb] links {} parts {} events 0 packets 0 incomplete 0]
    set warnings {}
    try {
        set app [encoding convertto utf-8 "etw [package provide etw]"]
        PcapBlock [dict get $state chan] 0x0A0D0D0A [binary format issw 0x1A2B3C4D 1 0 -1][PcapOptions 4 $app]
        ::etw foreach event {*}$sources -warnings warnings {*}$options {
            dict incr state events
            if {[dict get $event provider] eq "Microsoft-Windows-PktMon"} {
                PcapPktMon state $event
            } else {
                PcapNdis state $event
            }
        }
    } finally {
        close [dict get $state chan]
    }
    # Packets without an end.
    dict incr state incomplete [dict size [dict get $state parts]]
    if {[dict get $state packets] == 0} {
        return -code error -errorcode {ETW LOOKUP EMPTY pcapng} \
            "no whole packets in the source (events of [join $pcapProviders { or }]: [dict get $state events]):\
            the format pcapng shows captured packets; nothing was written"
    }
    return [dict create events [dict get $state events] packets [dict get $state packets] \
        incomplete [dict get $state incomplete] warnings $warnings]
}

# ---- Events --------------------------------------------------------------------------------------

# The values of these fields; empty if one is missing: another event of the provider.
proc ::etw::lib::PcapFields {event names} {
    set props [dict get $event props]
    set values {}
    foreach name $names {
        if {![dict exists $props $name]} {
            return {}
        }
        lappend values [dict get $props $name]
    }
    return $values
}

proc ::etw::lib::PcapPktMon {stateVar event} {
    upvar 1 $stateVar state
    set values [PcapFields $event {ComponentId EdgeId DirTag PacketType OriginalPayloadSize Payload DropReason}]
    if {$values eq ""} {
        return
    }
    lassign $values component edge direction type original data drop
    set kind [expr {[string match -nocase *wi*fi* $type] ? "wifi" : [string match -nocase *ethernet* $type] ? "ethernet" : "ip"}]
    set comment "component $component, edge $edge"
    if {$drop ni {Unspecified 0}} {
        append comment ", dropped: $drop"
    }
    set flags [expr {[string match -nocase r* $direction] ? 1 : [string match -nocase t* $direction] ? 2 : 0}]
    PcapPacket state $kind "PktMon component $component" [dict get $event time] $data $original $flags $comment
}

# Each fragment of a packet is an event; those of a packet are consecutive on one CPU. The first and the last one
# are marked.
proc ::etw::lib::PcapNdis {stateVar event} {
    variable ndisKeywords
    upvar 1 $stateVar state
    set values [PcapFields $event {MiniportIfIndex LowerIfIndex Fragment}]
    set comment "PID=[dict get $event pid]"
    if {$values ne ""} {
        lassign $values miniport lower data
        set interface "interface $miniport, filter on $lower"
    } else {
        lassign [PcapSwitched $event] interface data vlan
        if {$interface eq ""} {
            return
        }
        append comment [expr {$vlan ? ", VLAN $vlan" : ""}]
    }
    set keyword [expr {[dict exists $event keyword] ? [dict get $event keyword] : 0}]
    foreach {name mask} $ndisKeywords {
        set is($name) [expr {($keyword & $mask) != 0}]
    }
    set key [list $interface [dict get $event cpu]]
    if {$is(start)} {
        dict incr state incomplete [dict exists $state parts $key]
        dict set state parts $key $data
    } elseif {[dict exists $state parts $key]} {
        dict set state parts $key [dict get $state parts $key]$data
    } else {
        dict incr state incomplete $is(end)
        return
    }
    if {!$is(end)} {
        return
    }
    set data [dict get $state parts $key]
    dict unset state parts $key
    set kind [expr {$is(wifi) ? "wifi" : $is(wan) || $is(tunnel) ? "ip" : "ethernet"}]
    PcapPacket state $kind $interface [dict get $event time] $data [string length $data] \
        [expr {$is(receive) ? 1 : $is(send) ? 2 : 0}] $comment
}

# A packet in a virtual machine's switch: its interface, its bytes, its VLAN (0: none); empty: another event.
# Destination is an array of structs with undocumented members, followed by FragmentSize, Fragment, OOBDataSize
# and OOBData. The two sizes are determined by the condition that the data end with the payload. OOBData contains
# NetBufferListInfo's pointers; bits 4 to 15 of the fifth one are the VLAN.
proc ::etw::lib::PcapSwitched {event} {
    set values [PcapFields $event {SourcePortId SourceNicName Destination}]
    if {$values eq ""} {
        return {}
    }
    lassign $values port nic bytes
    set end [string length $bytes]
    for {set at 0} {$at + 8 < $end} {incr at 2} {
        binary scan $bytes @${at}iu size
        set behind [expr {$at + 4 + $size}]
        if {$size > 0 && $behind + 4 <= $end && [binary scan $bytes @${behind}iu oob] && $behind + 4 + $oob == $end} {
            set vlan 0
            binary scan [string range $bytes $behind+4 end] @32i vlan
            return [list "switch port $port, $nic" [string range $bytes $at+4 $behind-1] [expr {$vlan >> 4 & 0xFFF}]]
        }
    }
    return {}
}

# ---- Blocks --------------------------------------------------------------------------------------

# flags: 1 inbound, 2 outbound. Times are ns.
proc ::etw::lib::PcapPacket {stateVar kind interface time data original flags comment} {
    upvar 1 $stateVar state
    set link [PcapLink state $kind $interface]
    set size [string length $data]
    set body [binary format iiiii $link [expr {wide($time) >> 32 & 0xFFFFFFFF}] [expr {wide($time) & 0xFFFFFFFF}] $size \
        [expr {max($original, $size)}]]
    append body $data [PcapPadding $size] \
        [PcapOptions 1 [encoding convertto utf-8 $comment] 2 [binary format i $flags]]
    PcapBlock [dict get $state chan] 6 $body
    dict incr state packets
}

# The number of an interface, which is described before its first packet.
proc ::etw::lib::PcapLink {stateVar kind interface} {
    variable pcapLinks
    upvar 1 $stateVar state
    set key [list $kind $interface]
    if {![dict exists $state links $key]} {
        dict set state links $key [dict size [dict get $state links]]
        PcapBlock [dict get $state chan] 1 [binary format ssi [dict get $pcapLinks $kind] 0 0][PcapOptions \
            2 [encoding convertto utf-8 $interface] 9 [binary format c 9]]
    }
    return [dict get $state links $key]
}

proc ::etw::lib::PcapPadding {size} {
    return [string repeat \0 [expr {-$size & 3}]]
}

# Codes and values, followed by the end of options.
proc ::etw::lib::PcapOptions {args} {
    set options {}
    foreach {code value} $args {
        set size [string length $value]
        append options [binary format ss $code $size] $value [PcapPadding $size]
    }
    return $options[binary format ss 0 0]
}

proc ::etw::lib::PcapBlock {chan type body} {
    set size [expr {[string length $body] + 12}]
    puts -nonewline $chan [binary format ii $type $size]$body[binary format i $size]
}
