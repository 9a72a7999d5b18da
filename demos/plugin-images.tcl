# demos/plugin-images.tcl --
#
#	A host that loads plug-ins by itself, without the system's loader, is a black box to every tool: no ImageLoad event tells
#	what lies at the addresses of its stacks. Its own events do tell. This makes a trace of such a host, and another one of it
#	in which each plug-in is a module as the kernel would have told: a classic record of class Image, opcode 10, in the
#	kernel's layout. Stacks then name the plug-in, here and in any other tool that reads .etl files.
#
#	usage: tclsh demos/plugin-images.tcl ?FILE.etl?

package require etw

set out [expr {$argc > 0 ? [lindex $argv 0] : "plugins.etl"}]
set raw [file rootname $out]-raw.etl

# ---- The host: what it writes as it loads plug-ins and runs them ------------------------------------------------------

etw provider create Audio-Host
etw provider event Audio-Host PluginLoaded {Path string Base hex64 Size hex64}
etw provider event Audio-Host Underrun {Missing int Addresses {hex64 *}}
etw start host -file $raw
etw enable host Audio-Host
etw write Audio-Host PluginLoaded C:/Plugins/reverb.plugin 0x5a0000000 0x24000
etw write Audio-Host PluginLoaded C:/Plugins/chorus.plugin 0x5b0000000 0x18000
etw write Audio-Host Underrun 64 {0x5a0001f40 0x5a0000310 0x7ff612345678}
etw write Audio-Host Underrun 128 {0x5b0017fff 0x5a0000310 0x7ff612345678}
etw stop host
etw provider delete Audio-Host

puts "As the host wrote it:"
etw dump $raw -where {$provider eq "Audio-Host"}

# ---- The edit: plug-ins become modules, addresses become stacks -----------------------------------------------------------

proc image {e} {
    dict with e props {}
    return [etw test event Image Load \
        [dict create ImageBase $Base ImageSize $Size ProcessId [dict get $e pid] DefaultBase $Base FileName $Path] \
        -missing zero -time [dict get $e time] -pid [dict get $e pid] -tid [dict get $e tid] -cpu [dict get $e cpu]]
}
proc edit {e} {
    switch [dict get $e event] {
        PluginLoaded {
            return [dict create inject [list [image $e]]]
        }
        Underrun {
            return [dict replace $e stack [dict get $e props Addresses]]
        }
    }
}
etw relog $raw $out -map edit

puts "\nWith its plug-ins as modules:"
etw dump $out -stacks 1 -where {$provider in {Audio-Host Image}}
