# text.tcl --
#
#	Forms of text that the Tcl parts share: durations, and text inside of XML and HTML. Sourced by etw.tcl. Text for
#	terminals is the binary's ::etw::lib::visible.

# 850 ns, 1.234 us, 4.187 ms, 2.500 s
proc ::etw::lib::Duration {ns {digits 3} {micro us}} {
    foreach {unit size} [list s 1000000000 ms 1000000 $micro 1000] {
        if {abs($ns) >= $size} {
            return [format "%.${digits}f %s" [expr {double($ns) / $size}] $unit]
        }
    }
    return "$ns ns"
}

# What is text in the trace stays text: no markup, and only characters that XML may have.
proc ::etw::lib::Xml {text} {
    regsub -all {[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]} $text \ufffd text
    return [string map {& &amp; < &lt; > &gt; \" &quot; ' &#39;} $text]
}
