# cover_tests.tcl --
#
#	Which tests execute a line, and which lines a test executes: traces that etw::tcltest has written
#	(-coverage) have a mark at the begin and the end of each test, in between are the executions of its body.

# A dict of tests -> dicts of files -> lists of lines that the test executed.
proc ::etw::cover::Tests {sources options} {
    set tests {}
    set current {}
    ::etw foreach event {*}$sources {*}$options -where {($provider eq "Tcl-Script" && $event eq "Cover") || ($provider eq "Etw-Session" && $event eq "Mark")} {
        set pid [dict get $event pid]
        set props [dict get $event props]
        if {[dict get $event event] eq "Mark"} {
            set text [dict get $props Text]
            if {[string match "test *" $text]} {
                dict set current $pid [string range $text 5 end]
            } else {
                dict unset current $pid
            }
        } elseif {[dict exists $current $pid] && [dict get $props Command] ne ""} {
            dict set tests [dict get $current $pid] [dict get $props File] [dict get $props Line] 1
        }
    }
    return $tests
}

# The names of the tests that executed FILE:LINE, a line each.
proc ::etw::cover::TestsOf {place sources options} {
    if {![regexp {^(.+):(\d+)$} $place - file line]} {
        return -code error -errorcode [list ETW ARG PLACE $place] "expected FILE:LINE for \"-line\", such as lib.tcl:17, but got \"$place\""
    }
    set tests [Tests $sources $options]
    if {$tests eq {}} {
        return -code error -errorcode [list ETW LOOKUP TESTS [lindex $sources 0]] \
            "[join $sources {, }]: no test has executed anything: \"etw::tcltest::configure -coverage FILE\" records what tests execute"
    }
    CheckPlace $file $line [Counts $sources $options]
    set names {}
    dict for {name files} $tests {
        dict for {path lines} $files {
            if {[Matches $file $path] && [dict exists $lines $line]} {
                lappend names $name
                break
            }
        }
    }
    return [join [lsort -dictionary $names] \n][expr {$names eq {} ? "" : "\n"}]
}

# An error if no file matches, or if no command begins in the line.
proc ::etw::cover::CheckPlace {file line counted} {
    lassign $counted counts lost warnings last
    set paths [lmap path [dict keys $counts] {expr {[Matches $file $path] ? $path : [continue]}}]
    if {$paths eq {}} {
        return -code error -errorcode [list ETW LOOKUP FILE $file] "\"-line\": no program has executed a file \"$file\""
    }
    foreach path $paths {
        if {[dict exists [Join $path [dict get $counts $path] $last] executed $line]} {
            return
        }
    }
    return -code error -errorcode [list ETW LOOKUP LINE $line] "\"-line\": no command begins in line $line of \"[Shown [lindex $paths 0]]\""
}
