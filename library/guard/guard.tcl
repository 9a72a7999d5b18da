# guard.tcl --
#
#	Deterministic counts of a run, as facts of one line each; baselines, which are files of facts; what a run has
#	more than its baseline. Used by `etw guard` and etw::tcltest::expect. Loaded at the first use.

namespace eval ::etw::guard {
    # System calls that a program makes because of what it does, not because of how long it takes: others (futex, poll, read
    # of a part) depend on the scheduler.
    variable syscalls {
        openat open openat2 creat connect socket bind listen accept accept4 execve execveat unlink unlinkat rename renameat renameat2
        mkdir mkdirat rmdir chdir symlink symlinkat link linkat readlink readlinkat chmod fchmodat chown
    }
    # Operations on files and hosts that are counted. The kernel's close and read are not: they belong to no call.
    variable operations {open {chan open} delete rename connect accept {chan socket}}
    variable separator { > }
    variable head "# etw guard 1"
}

# ---- Facts -----------------------------------------------------------------------------------------

# The facts of a run: a dict, fact -> count. A fact is a list {kind subject path}: {calls {} {main page query}}, {errors {} PATH},
# {file {open x.conf} PATH}, {host {connect localhost:80} PATH}, {syscall openat {query}}, {left-open x.conf {}}.
proc ::etw::guard::Facts {file {normalize {}}} {
    variable operations
    variable syscalls
    set found [::etw::lib::counts $file -normalize $normalize]
    if {[dict get $found lost] > 0} {
        return -code error -errorcode [list ETW LIMIT LOST [dict get $found lost]] \
            "[dict get $found lost] events of the run were lost, so that its counts are too small: record fewer events (--script), or use larger buffers (--buffersize, --lossless)"
    }
    set facts {}
    foreach row [dict get $found paths] {
        dict set facts [list calls {} [dict get $row path]] [dict get $row a count]
        if {[dict get $row a errors] > 0} {
            dict set facts [list errors {} [dict get $row path]] [dict get $row a errors]
        }
    }
    foreach table {files hosts} {
        foreach row [dict get $found $table] {
            dict with row {}
            if {$kind in $operations && $path ne {}} {
                dict set facts [list [string range $table 0 end-1] [list $kind $what] $path] [dict get $a count]
            }
        }
    }
    dict for {name count} [LeftOpen $found] {
        dict set facts [list left-open $name {}] $count
    }
    foreach row [dict get $found work] {
        dict with row {}
        if {$kind eq "syscall" && $what in $syscalls && ![string match {\[*} $who]} {
            dict set facts [list syscall $what [list $who]] [dict get $a count]
        }
    }
    return $facts
}

# Files that were opened more often than closed: a dict, name -> how much more often. An `open` that failed has opened nothing; a `close` that
# failed has closed its channel, for example that of a pipeline whose program failed. found: of etw::lib::counts.
proc ::etw::guard::LeftOpen {found} {
    set open {}
    foreach row [dict get $found files] {
        set a [dict get $row a]
        switch -- [dict get $row kind] {
            {chan open} {dict incr open [dict get $row what] [expr {[dict get $a count] - [dict get $a errors]}]}
            {chan close} {dict incr open [dict get $row what] [expr {-[dict get $a count]}]}
        }
    }
    return [dict filter $open script {name count} {expr {$count > 0}}]
}

# A fact in words, on one line: also how it is written in a baseline.
proc ::etw::guard::Words {fact} {
    variable separator
    lassign $fact kind subject path
    set path [join $path $separator]
    switch -- $kind {
        calls - errors {set text "$kind $path"}
        left-open {set text "left-open $subject"}
        default {set text "$kind [join $subject { }] in $path"}
    }
    return [::etw::lib::visible $text]
}

# ---- Baselines -------------------------------------------------------------------------------------

# Several runs' facts -> a dict, words -> {least most}.
proc ::etw::guard::Ranges {runs} {
    set ranges {}
    foreach facts $runs {
        foreach fact [dict keys $facts] {
            dict set all $fact 1
        }
    }
    foreach fact [expr {[info exists all] ? [dict keys $all] : {}}] {
        set counts [lsort -integer [lmap facts $runs {expr {[dict exists $facts $fact] ? [dict get $facts $fact] : 0}}]]
        set words [Words $fact]
        if {[dict exists $ranges $words]} { ;# two facts that read the same
            set counts [lmap count [list [lindex $counts 0] [lindex $counts end]] other [dict get $ranges $words] {expr {$count + $other}}]
        }
        dict set ranges $words [list [lindex $counts 0] [lindex $counts end]]
    }
    return $ranges
}

# The text of a baseline. settings: a dict of lines of the head, such as kernel and script.
proc ::etw::guard::BaselineText {ranges settings} {
    variable head
    set lines [list $head "# One fact a line: what the program does, and how often. A range is of a fact that differed between the runs; it is not checked."]
    dict for {name value} $settings {
        lappend lines "# $name $value"
    }
    foreach words [lsort [dict keys $ranges]] {
        lassign [dict get $ranges $words] least most
        lappend lines "$words = [expr {$least == $most ? $least : "$least..$most"}]"
    }
    return [join $lines \n]\n
}

proc ::etw::guard::WriteBaseline {file text} {
    set channel [::etw::lib::OpenFile $file w]
    fconfigure $channel -encoding utf-8 -translation lf
    puts -nonewline $channel $text
    close $channel
}

# Returns {ranges settings}.
proc ::etw::guard::ReadBaseline {file} {
    variable head
    set channel [::etw::lib::OpenFile $file]
    fconfigure $channel -encoding utf-8
    set lines [split [read $channel] \n]
    close $channel
    if {[string trim [lindex $lines 0]] ne $head} {
        return -code error -errorcode [list ETW FORMAT BASELINE $file] \
            "\"$file\" is no baseline: its first line is not \"$head\"; \"etw guard record\" writes one"
    }
    set ranges {}
    set settings {}
    set number 0
    foreach line $lines {
        incr number
        set line [string trim $line]
        if {$line eq ""} {
            continue
        }
        if {[regexp {^# (kernel|script|normalize) (.*)$} $line -> name value]} {
            dict set settings $name $value
        } elseif {[string match "#*" $line]} {
            continue
        } elseif {[regexp {^(.*) = (\d{1,18})(\.\.(\d{1,18}))?$} $line -> words least - most]} {
            dict set ranges $words [list $least [expr {$most eq "" ? $least : $most}]]
        } else {
            return -code error -errorcode [list ETW FORMAT BASELINE $file] \
                "line $number of \"$file\" is no fact: expected \"FACT = COUNT\" or \"FACT = LEAST..MOST\""
        }
    }
    return [list $ranges $settings]
}

# ---- Comparison ------------------------------------------------------------------------------------

# What the run has more than the baseline, and less. Returns a dict:
#	more	a list of {fact was now}, those with a cause of their own, the largest factor first
#	follows	the same, of facts that follow from others: they are in a path that was called more often
#	less	a list of {words was now}
#	checked	the number of facts that were compared
proc ::etw::guard::Check {ranges facts} {
    set more {}
    set follows {}
    set less {}
    set checked 0
    set seen {}
    dict for {fact now} $facts {
        set words [Words $fact]
        dict set seen $words 1
        lassign [Was $ranges $words] least most
        incr checked
        if {$least < $most || $now == $most} {
            continue
        }
        if {$now < $most} {
            lappend less [list $words $most $now]
        } elseif {[Follows $ranges $facts $fact $most $now]} {
            lappend follows [list $fact $most $now]
        } else {
            lappend more [list $fact $most $now]
        }
    }
    dict for {words range} $ranges {
        lassign $range least most
        if {![dict exists $seen $words] && $least == $most && $most > 0} {
            incr checked
            lappend less [list $words $most 0]
        }
    }
    set more [lmap item [lsort -decreasing -real -index 0 [lmap item $more {
        lassign $item fact was now
        list [expr {double($now) / max($was, 0.5)}] $item
    }]] {lindex $item 1}]
    return [dict create more $more follows $follows less $less checked $checked]
}

proc ::etw::guard::Was {ranges words} {
    return [expr {[dict exists $ranges $words] ? [dict get $ranges $words] : {0 0}}]
}

# The fact that counts the call which a fact is in; {}: there is none. Of a system call only the proc is known.
proc ::etw::guard::Outer {fact} {
    lassign $fact kind subject path
    set caller [expr {$kind eq "calls" ? [lrange $path 0 end-1] : $path}]
    return [expr {$kind in {left-open syscall} || $caller eq {} ? {} : [list calls {} $caller]}]
}

# Whether the fact's increase is that of the call that it is in, which is reported: not more for each of these calls than in the baseline. A call
# that varied in the baseline is not checked, so that nothing follows from it. What happened once in several calls (a cache, an
# initialization) does not follow from them.
proc ::etw::guard::Follows {ranges facts fact was now} {
    set outer [Outer $fact]
    if {$outer eq {} || ![dict exists $facts $outer]} {
        return 0
    }
    set outerNow [dict get $facts $outer]
    lassign [Was $ranges [Words $outer]] outerLeast outerWas
    if {$outerLeast < $outerWas || $outerNow <= $outerWas} {
        return 0
    }
    return [expr {$outerWas == 0 || ($now * $outerWas <= $was * $outerNow && !($was == 1 && $outerWas > 1))}]
}

# Only what all runs have more: facts of `result` that `other` has, too. What followed from a call that does not stay has grown by itself.
proc ::etw::guard::Both {result other} {
    set known {}
    foreach item [concat [dict get $other more] [dict get $other follows]] {
        dict set known [lindex $item 0] 1
    }
    set kept {}
    foreach part {more follows} {
        dict set result $part [lmap item [dict get $result $part] {
            if {![dict exists $known [lindex $item 0]]} {
                continue
            }
            dict set kept [lindex $item 0] 1
            set item
        }]
    }
    set follows {}
    foreach item [dict get $result follows] {
        if {[dict exists $kept [Outer [lindex $item 0]]]} {
            lappend follows $item
        } else {
            dict lappend result more $item
        }
    }
    dict set result follows $follows
    return $result
}

# ---- Reports ---------------------------------------------------------------------------------------

proc ::etw::guard::Times {count} {
    return [expr {$count == 1 ? "once" : $count == 2 ? "twice" : "$count times"}]
}

# A sentence about {fact was now}: "db::query was called 8 times instead of 5, in main > page > db::query".
proc ::etw::guard::Sentence {item} {
    variable separator
    lassign $item fact was now
    lassign $fact kind subject path
    set instead [expr {$was == 0 ? "; the baseline has none" : " instead of [expr {$was == 1 ? "once" : $was}]"}]
    set where ", in [join $path $separator]"
    switch -- $kind {
        calls {set text "[lindex $path end] was called [Times $now]$instead$where"}
        errors {set text "[lindex $path end] failed [Times $now]$instead$where"}
        left-open {set text "$subject was left open [Times $now]$instead: it is opened more often than closed"}
        syscall {set text "system call $subject was made [Times $now]$instead$where"}
        default {set text "[lindex $subject 1]: [regsub {^chan } [lindex $subject 0] {}] [Times $now]$instead$where"}
    }
    return [::etw::lib::visible $text]
}

proc ::etw::guard::Plural {count word} {
    return "$count $word[expr {$count == 1 ? "" : "s"}]"
}

proc ::etw::guard::Text {result baseline} {
    set more [dict get $result more]
    set lines [list "[expr {$more eq {} ? "ok" : [Plural [llength $more] regression]}]: [Plural [dict get $result checked] fact] compared with [::etw::lib::visible $baseline]"]
    foreach item $more {
        lappend lines "  [Sentence $item]"
    }
    if {[dict get $result follows] ne {}} {
        lappend lines "  [Plural [llength [dict get $result follows]] {more fact}] follow[expr {[llength [dict get $result follows]] == 1 ? "s" : ""}] from these calls"
    }
    foreach item [lrange [dict get $result less] 0 9] {
        lassign $item words was now
        lappend lines "  less: $words = $now, the baseline has $was"
    }
    if {[llength [dict get $result less]] > 10} {
        lappend lines "  less: [expr {[llength [dict get $result less]] - 10}] more"
    }
    return [join $lines \n]\n
}

proc ::etw::guard::Xml {text} {
    return [string map {& &amp; < &lt; > &gt; \" &quot;} $text]
}

# JUnit: a test case for each kind of fact.
proc ::etw::guard::JUnit {result baseline} {
    set kinds {calls errors file host left-open syscall}
    set cases {}
    set failures 0
    foreach kind $kinds {
        set items [lmap item [dict get $result more] {expr {[lindex $item 0 0] eq $kind ? $item : [continue]}}]
        set case "    <testcase classname=\"etw.guard\" name=\"[Xml "$kind ([file tail $baseline])"]\""
        if {$items eq {}} {
            lappend cases "$case/>"
            continue
        }
        incr failures
        lappend cases "$case>" "      <failure message=\"[Xml [Sentence [lindex $items 0]]]\">[Xml [join [lmap item $items {Sentence $item}] \n]]</failure>" \
            "    </testcase>"
    }
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"etw guard\" tests=\"[llength $kinds]\" failures=\"$failures\">\n[join $cases \n]\n  </testsuite>\n</testsuites>\n"
}

proc ::etw::guard::MarkdownCell {text} {
    return [string map {| \\| ` \\` < &lt; * \\* _ \\_} $text]
}

proc ::etw::guard::Markdown {result baseline} {
    set more [dict get $result more]
    set lines [list "### etw guard: [expr {$more eq {} ? "no regression" : [Plural [llength $more] regression]}]" "" \
        "[Plural [dict get $result checked] fact] compared with `[file tail $baseline]`."]
    if {$more ne {}} {
        lappend lines "" "| fact | baseline | now |" "|---|---:|---:|"
        foreach item $more {
            lassign $item fact was now
            lappend lines "| [MarkdownCell [Words $fact]] | $was | $now |"
        }
    }
    if {[dict get $result follows] ne {}} {
        lappend lines "" "[Plural [llength [dict get $result follows]] {more fact}] follow from these."
    }
    if {[dict get $result less] ne {}} {
        lappend lines "" "Less than the baseline: [Plural [llength [dict get $result less]] fact]. `etw guard update` records it."
    }
    return [join $lines \n]\n
}
