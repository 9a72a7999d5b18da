# text.tcl --
#
#	Shared by the Tcl code: options, durations, and text in XML and HTML. Sourced by etw.tcl. The
#	binary's ::etw::lib::visible makes text safe for terminals.

# Returns the words "-name value ..." as a dict with full names. `known` lists the options.
proc ::etw::lib::Options {known words} {
    set options {}
    foreach {name value} $words {
        if {[catch {tcl::prefix match -message option $known $name} found]} {
            return -code error -errorcode [list TCL LOOKUP INDEX option $name] [Suggest $found $name $known]
        }
        set name $found
        if {[incr count 2] > [llength $words]} {
            return -code error -errorcode [list ETW ARG MISSING $name] "\"$name\" needs a value"
        }
        dict set options $name $value
    }
    return $options
}

# A message about an unknown word, with the name that was probably meant.
proc ::etw::lib::Suggest {message word names} {
    set similar [similar $word $names]
    return [expr {$similar eq "" || [string match ambiguous* $message] ? $message : "$message; did you mean \"$similar\"?"}]
}

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
