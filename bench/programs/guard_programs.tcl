# bench/programs/guard_programs.tcl --
#
#	Five programs that use modules of tcllib, each with a regression that can be planted: a dict, name -> {script before after}. The
#	regression replaces the text `before` of the script by `after`. For tests/library/guard.test and bench/guard.tcl. The scripts read
#	and write only files below the directory in argv.

set guardPrograms {}

# Orders in JSON; each page looks up its customers with one query. Planted: a query for each row.
dict set guardPrograms query {{
    package require json
    namespace eval db {variable rows}
    proc db::query {what} {
        variable rows
        return [dict get [json::json2dict $rows] $what]
    }
    proc page {from} {
        set customers [db::query customers]
        set out {}
        foreach order [lrange [db::query orders] $from $from+4] {
            lappend out [row $order $customers]
        }
        return $out
    }
    proc row {order customers} {
        return "[dict get $customers [dict get $order by]] [dict get $order sum]"
    }
    proc main {} {
        set db::rows {{"customers": {"a": "Ann", "b": "Bob"}, "orders": [
            {"by": "a", "sum": 1}, {"by": "b", "sum": 2}, {"by": "a", "sum": 3}, {"by": "b", "sum": 4}, {"by": "a", "sum": 5}]}}
        for {set i 0} {$i < 3} {incr i} {page $i}
    }
    main
} {"[dict get $customers [dict get $order by]]} {"[dict get [db::query customers] [dict get $order by]]}}

# Duplicates in a list of words are found with a set. Planted: each word is compared with all before.
dict set guardPrograms quadratic {{
    package require struct::set
    package require textutil
    proc words {text} {return [textutil::splitx $text]}
    proc same {a b} {string equal -nocase $a $b}
    proc isNew {word seen} {
        return [expr {![struct::set contains $seen $word]}]
    }
    proc unique {words} {
        set seen {}
        foreach word $words {
            if {[isNew $word $seen]} {struct::set include seen $word}
        }
        return $seen
    }
    proc main {} {unique [words [string repeat "the quick brown fox jumps over the lazy dog " 5]]}
    main
} {return [expr {![struct::set contains $seen $word]}]} {foreach old $seen {if {[same $old $word]} {return 0}}; return 1}}

# Settings are read from a file at the start. Planted: the file is read for each setting.
dict set guardPrograms twice {{
    package require fileutil
    package require inifile
    proc load {} {
        global ini settings
        set ini [ini::open settings.ini r]
        foreach key [ini::keys $ini main] {set settings($key) [ini::value $ini main $key]}
        ini::close $ini
    }
    proc setting {key} {
        return $::settings($key)
    }
    proc main {} {
        fileutil::writeFile settings.ini "\[main\]\nhost = localhost\nport = 80\n"
        load
        return [list [setting host] [setting port]]
    }
    main
} {return $::settings($key)} {load; return $::settings($key)}}

# Rows of csv files are added up. Planted: a file whose first row is empty is not closed.
dict set guardPrograms close {{
    package require csv
    package require fileutil
    proc total {file} {
        set f [open $file]
        set sum 0
        if {[gets $f line] < 1} {
            close $f
            return 0
        }
        while {[gets $f line] >= 0} {incr sum [lindex [csv::split $line] 1]}
        close $f
        return $sum
    }
    proc main {} {
        foreach {name text} {a name,n\nx,1\ny,2\n b {} c name,n\nz,3\n} {
            fileutil::writeFile $name.csv [subst $text]
            lappend totals [total $name.csv]
        }
        return $totals
    }
    main
} {            close $f
            return 0} {            return 0}}

# Digests of texts are kept. Planted: they are not.
dict set guardPrograms cache {{
    package require md5
    package require uri
    proc digest {text} {
        global known
        if {![info exists known($text)]} {set known($text) [compute $text]}
        return $known($text)
    }
    proc compute {text} {md5::md5 -hex $text}
    proc host {url} {dict get [uri::split $url] host}
    proc main {} {
        foreach url {http://a.example/1 http://b.example/2 http://a.example/3 http://b.example/4 http://a.example/5} {
            lappend out [digest [host $url]]
        }
        return $out
    }
    main
} {if {![info exists known($text)]}} {if 1}}

# Writes the program, with or without its regression, to FILE.
proc guardWrite {name planted file} {
    lassign [dict get $::guardPrograms $name] script before after
    if {$planted} {
        if {[string first $before $script] < 0} {
            error "$name: the text to be replaced is not in the program"
        }
        set script [string map [list $before $after] $script]
    }
    set f [open $file w]
    puts $f $script
    close $f
}
