# text.tcl --
#
#	Shared by the Tcl code: options, durations, tables, and text in XML and HTML. Sourced by etw.tcl. The
#	binary's ::etw::lib::visible makes text safe for terminals.

# Returns the words "-name value ..." as a dict with full names. `known` lists the options, `old` their old names.
proc ::etw::lib::Options {known words {old {}}} {
    set options {}
    foreach {name value} $words {
        set name [NewName $name $old]
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

# The words of a command in two lists: those before the first option, and the rest.
proc ::etw::lib::SplitWords {words} {
    set at [lsearch -regexp $words {^-.}]
    if {$at < 0} {
        return [list $words {}]
    }
    return [list [lrange $words 0 $at-1] [lrange $words $at end]]
}

# The new name of an option with an old one. The first use of each in a process is reported.
proc ::etw::lib::NewName {name old} {
    if {![dict exists $old $name]} {
        return $name
    }
    OldName $name [dict get $old $name]
    return [dict get $old $name]
}

proc ::etw::lib::OldName {old new} {
    variable reported
    if {![::info exists reported($old)]} {
        set reported($old) 1
        puts stderr "etw: the option \"$old\" is named \"$new\" now; the next release will reject the old name"
    }
}

# NAME[:LEVEL[:KEYWORDS]], or {NAME -option value ...}: the words of `etw enable`. NAME may be a GUID.
proc ::etw::lib::ProviderWords {provider} {
    if {[string is list $provider] && [llength $provider] > 2 && [string match -* [lindex $provider 1]]} {
        return $provider
    }
    if {[string is list $provider] && [llength $provider] == 1} {
        set provider [lindex $provider 0] ;# a name with blanks, in braces
    }
    lassign [split $provider :] name level keywords
    set words [list $name]
    if {$level ne ""} {
        lappend words -level $level
    }
    if {$keywords ne ""} {
        lappend words -any [split $keywords ,]
    }
    return $words
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

# A JSON string that is also valid in a script element of HTML.
proc ::etw::lib::Json {text} {
    variable jsonEscapes
    if {![::info exists jsonEscapes]} {
        set jsonEscapes {\\ \\\\ \" \\\" < \\u003c > \\u003e & \\u0026 \u2028 \\u2028 \u2029 \\u2029 \n \\n \r \\r \t \\t}
        for {set i 0} {$i < 32} {incr i} {
            lappend jsonEscapes [format %c $i] [format {\u%04x} $i]
        }
    }
    return \"[string map $jsonEscapes $text]\"
}

# Rows of words as columns. Columns whose heading begins with > are numbers, aligned right. Words come from traces
# and sessions, so control characters are made visible.
proc ::etw::lib::Table {headings rows} {
    set rows [lmap row $rows {lmap word $row {visible $word}}]
    set lines [linsert $rows 0 [lmap heading $headings {string trimleft $heading >}]]
    set widths [lmap heading $headings {expr 0}]
    foreach line $lines {
        set widths [lmap width $widths word $line {expr {max($width, [string length $word])}}]
    }
    set text {}
    foreach line $lines {
        set words [lmap word $line width $widths heading $headings {
            format [expr {[string index $heading 0] eq ">" ? {%*s} : {%-*s}}] $width $word
        }]
        lappend text [string trimright [join $words {  }]]
    }
    return $text
}
