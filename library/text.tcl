# text.tcl --
#
#	Text formats shared by the Tcl code: durations, and text in XML and HTML. Sourced by etw.tcl. The
#	binary's ::etw::lib::visible makes text safe for terminals.

# 850 ns, 1.234 us, 4.187 ms, 2.500 s
proc ::etw::lib::Duration {ns {digits 3} {micro us}} {
    foreach {unit size} [list s 1000000000 ms 1000000 $micro 1000] {
        if {abs($ns) >= $size} {
            return [format "%.${digits}f %s" [expr {double($ns) / $size}] $unit]
        }
    }
    return "$ns ns"
}

# Escape text of the trace: no markup, and only characters that XML permits.
proc ::etw::lib::Xml {text} {
    regsub -all {[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]} $text \ufffd text
    return [string map {& &amp; < &lt; > &gt; \" &quot; ' &#39;} $text]
}
