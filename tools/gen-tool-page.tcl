#!/usr/bin/env tclsh
# gen-tool-page.tcl --
#
#	Writes the section Commands of doc/etw-tool.man from the tables of the command-line tool (library/cli),
#	from which `etw help` is made, too. Usage: tclsh tools/gen-tool-page.tcl BUILD ?PAGE?. BUILD has the
#	package; with PAGE, the page is written there, for a comparison.

namespace eval gen {
    variable begin {[comment {written by tools/gen-tool-page.tcl: begin}]}
    variable end {[comment {written by tools/gen-tool-page.tcl: end}]}
}

# Text for doctools: brackets are its commands.
proc gen::text {text} {
    return [string map {\[ {[lb]} \] {[rb]}} $text]
}

# An argument of a doctools command.
proc gen::word {text} {
    return "\"[string map {\" {[const {"}]}} [text $text]]\""
}

proc gen::options {command} {
    set lines {}
    foreach entry [::etw::cli::OptionTable $command] {
        lassign $entry long short argument about
        set name "[expr {$short eq {} ? {} : "-$short, "}]--$long"
        lappend lines "\[opt_def [word $name][expr {$argument eq {} ? {} : " [word $argument]"}]\]" [text $about]
    }
    return [expr {$lines eq "" ? {} : [list {[list_begin options]} {*}$lines {[list_end]}]}]
}

proc gen::formats {command} {
    set lines {}
    foreach row [::etw::cli::FormatsOf $command] {
        set suffixes [dict get $row suffixes]
        lappend lines "\[def \[const [dict get $row name]\]\]" \
            [text "[string toupper [dict get $row about] 0 0][expr {$suffixes eq {} ? {} : " ([join $suffixes {, }])"}]."]
    }
    return [expr {$lines eq "" ? {} : [list "Formats:" {[list_begin definitions]} {*}$lines {[list_end]}]}]
}

proc gen::exits {command} {
    if {![dict exists $::etw::cli::exitCodes $command]} {
        return {}
    }
    set lines [concat {*}[lmap row [dict get $::etw::cli::exitCodes $command] {list "\[def [word [lindex $row 0]]\]" [text [lindex $row 1]]}]]
    return [list "Exit codes:" {[list_begin definitions]} {*}$lines {[list_end]}]
}

proc gen::commands {} {
    set lines {}
    dict for {name entry} [::etw::cli::Commands] {
        lassign $entry usage about
        lappend lines {} "\[def \"\[cmd [word "etw $name"]\] [text $usage]\"\]" [text "[string toupper $about 0 0]."] \
            {*}[options $name] {*}[formats $name] {*}[exits $name] \
            {[example_begin]} {*}[lmap example [dict get $::etw::cli::examples $name] {text $example}] {[example_end]}
    }
    return [join $lines \n]
}

proc gen::page {build page} {
    variable begin
    variable end
    set top [file dirname [file dirname [file normalize [info script]]]]
    lappend ::auto_path $build
    package require etw
    source [file join $top library cli main.tcl]
    set path [file join $top doc etw-tool.man]
    set channel [open $path]
    fconfigure $channel -encoding utf-8
    set text [read $channel]
    close $channel
    set from [expr {[string first $begin $text] + [string length $begin]}]
    set text [string replace $text $from [expr {[string first $end $text] - 1}] "\n\[list_begin definitions\]\n[commands]\n\[list_end\]\n"]
    set channel [open [expr {$page eq "" ? $path : $page}] w]
    fconfigure $channel -encoding utf-8 -translation lf
    puts -nonewline $channel $text
    close $channel
}
gen::page [lindex $argv 0] [lindex $argv 1]
