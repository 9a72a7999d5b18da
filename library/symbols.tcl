# symbols.tcl --
#
#	etw symbols FILE: the names that generic/tcl/relog/symbols_cmd.c has found become events of the trace.
#	Sourced by etw.tcl.

namespace eval ::etw::lib {
    # The fields of event Symbol of Etw-Session, as semantics/declared_events.c declares them.
    variable symbolFields {FileName string BuildId string ProcessId pid Offset hex64 Return uint8 Inlined uint8 Function string
        FunctionOffset hex64 SourceFile string Line uint32}
}

# symbols: dicts of these fields. The events get the time of the first event, so that they precede all stacks. Names that
# the trace had before are among the symbols, so that their events are replaced. output: empty for the file itself.
proc ::etw::lib::SymbolsKeep {source output symbols time missing addresses} {
    variable symbolFields
    set file [lindex $source 0]
    set target [expr {$output eq "" ? $file : $output}]
    set functions 0
    set records {}
    foreach symbol $symbols {
        incr functions [expr {![dict get $symbol Inlined]}]
        lappend records [etw test event Etw-Session Symbol $symbol -fields $symbolFields -time $time -pid 0 -tid 0]
    }
    set result [dict create symbols $functions addresses $addresses missing $missing output $target]
    if {![llength $records] && $output eq ""} {
        return $result
    }
    set temporary $target.symbols-[pid]
    try {
        etw relog $file $temporary -pack [expr {[file extension $target] eq ".zst"}] -inject $records -where {!($provider eq {Etw-Session} && $event eq {Symbol})}
        file rename -force $temporary $target
    } finally {
        file delete $temporary
    }
    return $result
}
