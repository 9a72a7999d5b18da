# describe.tcl --
#
#	The events of the package's own providers, with the documentation of their fields: `etw describe Tcl-Script
#	[EVENT]`. The binary declares them (generic/semantics).

# A provider that the package itself declares: prints the table of its events, or the fields of one. Returns 0 for any other provider.
proc ::etw::cli::DescribeDeclared {provider event} {
    if {[catch {::etw provider describe $provider -events 1} description] || ![dict exists $description documentation]} {
        return 0
    }
    set name [dict get $description name]
    set events [dict get $description documentation]
    if {$event eq ""} {
        puts "provider $name, GUID [dict get $description guid]"
        dict for {keyword mask} [dict get $description keywords] {
            puts "keyword [format 0x%llx $mask] $keyword"
        }
        puts [join [::etw::lib::Table {EVENT KEYWORD MEANING} [lmap {event about} $events {
            list $event [KeywordName $description [dict get $about keyword]] [Plain [dict get $about about]]
        }]] \n]
        puts "\"etw describe $name EVENT\" describes the fields of an event."
        return 1
    }
    set found [lsearch -all -inline -nocase -glob [dict keys $events] $event]
    if {$found eq ""} {
        set hint [DidYouMean $event [dict keys $events]]
        return -code error -errorcode [list ETW LOOKUP EVENT $event] \
            "provider \"$name\" has no event \"$event\"[expr {$hint eq {} ? {; it} : "$hint It"}] has [join [dict keys $events] {, }]"
    }
    foreach one $found {
        puts "$one: [Plain [dict get $events $one about]]"
        set rows {}
        dict for {field about} [dict get $events $one fields] {
            lappend rows [list "  $field" [string map {CountedAnsiString Text} [dict get $about type]] [Plain [dict get $about about]]]
        }
        puts [join [::etw::lib::Table {"  FIELD" TYPE MEANING} $rows] \n]
    }
    return 1
}

proc ::etw::cli::KeywordName {description mask} {
    return [join [dict keys [dict filter [dict get $description keywords] script {name value} {expr {$value == $mask}}]] ,]
}

# The declaration's texts are Markdown: without its marks.
proc ::etw::cli::Plain {text} {
    return [string map {` {}} $text]
}
