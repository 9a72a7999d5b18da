# terminal.tcl --
#
#	Output for terminals only: colours, and a bar for long work. Otherwise (files, pipes, NO_COLOR,
#	TERM=dumb) text is plain and there is no bar. Also readable numbers.

namespace eval ::etw::cli {
    variable colours {red 31 yellow 33 green 32 bold 1 dim 2}
    # Length of the bar shown now; 0: none.
    variable barShown 0
    # Minimum duration of work, in ms, for a bar.
    variable barAfter 500
}

# Columns of a terminal; 0: the channel is not a terminal.
proc ::etw::cli::Columns {channel} {
    set columns [::etw::lib::child columns $channel]
    return [expr {$columns < 0 ? 0 : $columns == 0 ? 80 : $columns}]
}

proc ::etw::cli::Coloured {channel} {
    return [expr {!([info exists ::env(NO_COLOR)] && $::env(NO_COLOR) ne "")
        && !([info exists ::env(TERM)] && $::env(TERM) eq "dumb") && [::etw::lib::child escapes $channel]}]
}

proc ::etw::cli::Paint {channel colour text} {
    variable colours
    if {$text eq "" || ![Coloured $channel]} {
        return $text
    }
    return "\x1b\[[dict get $colours $colour]m$text\x1b\[0m"
}

# Draw the bar: part is 0 to 1, negative if unknown.
proc ::etw::cli::Bar {part text} {
    variable barShown
    set text [::etw::lib::visible $text]
    set columns [Columns stderr]
    if {$columns < 20 || ![::etw::lib::child escapes stderr]} {
        return
    }
    if {$part >= 0} {
        set full [expr {int(20 * min($part, 1))}]
        set text "\[[string repeat = $full][string repeat { } [expr {20 - $full}]]\] $text"
    }
    puts -nonewline stderr "\r[string range $text 0 [expr {$columns - 2}]]\x1b\[K"
    flush stderr
    set barShown 1
}

# The options that make a reading command draw a bar; none without a terminal.
proc ::etw::cli::BarOption {} {
    if {[Columns stderr] < 20} {
        return {}
    }
    return [list -progress [list ::etw::cli::BarReading [clock milliseconds]]]
}

proc ::etw::cli::BarReading {started fraction events} {
    if {[clock milliseconds] - $started >= $::etw::cli::barAfter} {
        Bar $fraction "[format %3d [expr {int(100 * $fraction)}]] %, $events events"
    }
}

proc ::etw::cli::BarEnd {} {
    variable barShown
    if {$barShown} {
        puts -nonewline stderr "\r\x1b\[K"
        flush stderr
        set barShown 0
    }
}

# ---- Numbers -------------------------------------------------------------------------------------

proc ::etw::cli::Bytes {n} {
    foreach unit {bytes KB MB GB} {
        if {$n < 1024 || $unit eq "GB"} {
            return [expr {$unit eq "bytes" ? "$n bytes" : [format {%.1f %s} $n $unit]}]
        }
        set n [expr {$n / 1024.0}]
    }
}

proc ::etw::cli::Seconds {ns} {
    return [format {%.3f s} [expr {$ns / 1e9}]]
}

# "no free buffer 3, overran the kernel's ring buffer 1", or "nothing".
proc ::etw::cli::Lost {lost} {
    set known [::etw::lib::losses --]
    set parts {}
    dict for {kind count} $lost {
        if {$count > 0} {
            lappend parts "[lindex [dict get $known $kind] 0] $count"
        }
    }
    return [expr {$parts eq "" ? "nothing" : [join $parts {, }]}]
}

# A sentence for each reason that occurred and that an option prevents.
proc ::etw::cli::LossRemedies {lost} {
    set known [::etw::lib::losses --]
    set sentences {}
    dict for {kind count} $lost {
        lassign [dict get $known $kind] words remedy
        if {$count > 0 && $remedy ne ""} {
            lappend sentences "$count lost, $words: $remedy"
        }
    }
    return $sentences
}
