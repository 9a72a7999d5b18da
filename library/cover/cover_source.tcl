# cover_source.tcl --
#
#	What could be executed in a source file: its commands with their lines, the procs and methods, and the
#	places where it branches. The file is parsed with Tcl's own parser (::etw::lib::parse), nothing is
#	evaluated. Scripts are found as arguments of the commands in `handlers`, of which Tcl knows where they stand
#	in the file. Scripts that it passes on as values (to `after`, to the caller's own control structures, to
#	tcltest::test) are not looked into, but count where it knows their place.
#
#	::etw::cover::Source PATH returns a dict:
#	    commands	a list of {LINE PLACE TEXT}: text is the first line of the command, without white space at its ends
#	    functions	a list of {NAME LINE COMMAND}: the index of the first command of the body, -1: none
#	    branches	a list of {LINE KIND COMMAND ARMS}: COMMAND is the index of the command that branches, each arm is
#			{LABEL COMMAND}: -1 has no commands, `rest` is taken when no other one is
#	    excluded	a dict of lines that are not to count
#	    lines	the text of the lines
#	    error	"" or a message about a place that cannot be parsed

namespace eval ::etw::cover {
    # Command -> proc that finds the scripts in its words.
    variable handlers {
        proc OfProc method OfMethod classmethod OfMethod constructor OfConstructor destructor OfDestructor private OfPrivate self OfPrivate
        initialise OfDestructor namespace OfNamespace if OfIf while OfWhile for OfFor foreach OfLoop lmap OfLoop dict OfDict catch OfFirst
        eval OfLast uplevel OfLast try OfTry switch OfSwitch apply OfApply oo::class OfClass oo::define OfClass oo::objdefine OfClass expr OfExpr
    }
    # The file that is analysed: its text, the places of its line feeds, the namespace, and the results.
    variable text
    variable feeds
    variable ns
    variable commands
    variable functions
    variable branches
}

proc ::etw::cover::Source {path} {
    variable text
    variable feeds
    variable ns ""
    variable commands {}
    variable functions {}
    variable branches {}
    set channel [::etw::lib::OpenFile $path]
    try {
        set text [read $channel]
    } finally {
        close $channel
    }
    if {[set end [string first \x1a $text]] >= 0} {
        set text [string range $text 0 $end-1] ;# the end of a script for `source`
    }
    set feeds [lmap range [regexp -all -indices -inline {\n} $text] {lindex $range 0}]
    set error ""
    try {
        Script 0 [string length $text]
    } trap {ETW FORMAT SCRIPT} {message how} {
        set error "line [LineOf [lindex [dict get $how -errorcode] 3]]: $message"
    }
    set result [dict create commands $commands functions $functions branches $branches \
        excluded [Excluded $commands] lines [split $text \n] error $error]
    set text ""
    return $result
}

proc ::etw::cover::LineOf {place} {
    variable feeds
    return [expr {[lsearch -bisect -integer $feeds [expr {$place - 1}]] + 2}]
}

# Lines between "# etw cover off" and "# etw cover on", and those of the commands that begin in a line that ends with ";# etw cover off".
proc ::etw::cover::Excluded {commands} {
    variable text
    set excluded {}
    set off 0
    set line 0
    set ends {}
    foreach content [split $text \n] {
        incr line
        if {[regexp {^\s*#+\s*etw cover (off|on)\M} $content -> word]} {
            set off [expr {$word eq "off"}]
        } elseif {[regexp {;\s*#+\s*etw cover off\M} $content]} {
            dict set ends $line $line
        }
        if {$off} {
            dict set excluded $line 1
        }
    }
    foreach command $commands {
        lassign $command line from first to
        if {[dict exists $ends $line]} {
            dict set ends $line [expr {max([dict get $ends $line], [LineOf [expr {$to - 1}]])}]
        }
    }
    dict for {line end} $ends {
        for {} {$line <= $end} {incr line} {
            dict set excluded $line 1
        }
    }
    return $excluded
}

# ---- Commands ------------------------------------------------------------------------------------

# Add the commands of a script. shown: the line of the command around it, if the script is in brackets: what is in the same line counts
# as a part of it. Returns the index of the first command, -1: none.
proc ::etw::cover::Script {from to {shown 0}} {
    variable text
    variable commands
    set first -1
    foreach command [Parse script $from $to] {
        set at [dict get $command from]
        set line [LineOf $at]
        set index -1
        if {$line != $shown} {
            set index [llength $commands]
            set content [string range $text $at [dict get $command to]-1]
            lappend commands [list $line $at [string trim [lindex [split $content \n] 0]] [dict get $command to]]
            if {$first < 0} {
                set first $index
            }
        }
        Words $index $line [dict get $command words]
        foreach range [dict get $command scripts] {
            Inner {*}$range $line
        }
    }
    return $first
}

# The parser's result for a part of the file, with places in the file.
proc ::etw::cover::Parse {kind from to} {
    variable text
    if {[catch {::etw::lib::parse $kind [string range $text $from $to-1]} parsed how]} {
        return -code error -errorcode [lreplace [dict get $how -errorcode] 3 3 [expr {[lindex [dict get $how -errorcode] 3] + $from}]] $parsed
    }
    if {$kind eq "expr"} {
        return [lmap range $parsed {lmap place $range {expr {$place + $from}}}]
    }
    return [lmap command $parsed {
        dict set command from [expr {[dict get $command from] + $from}]
        dict set command to [expr {[dict get $command to] + $from}]
        dict set command words [lmap word [dict get $command words] {
            lassign $word begin end how
            list [expr {$begin + $from}] [expr {$end + $from}] $how
        }]
        dict set command scripts [lmap range [dict get $command scripts] {lmap place $range {expr {$place + $from}}}]
    }]
}

# Like Script, for a text that may turn out not to be a script: then it has no commands.
proc ::etw::cover::Inner {from to {shown 0}} {
    variable commands
    variable functions
    variable branches
    set saved [list $commands $functions $branches]
    try {
        return [Script $from $to $shown]
    } trap {ETW FORMAT SCRIPT} {} {
        lassign $saved commands functions branches
        return -1
    }
}

# The scripts in the words of a command.
proc ::etw::cover::Words {index line words} {
    variable handlers
    set name [string trimleft [Word [lindex $words 0]] :]
    if {[dict exists $handlers $name]} {
        [dict get $handlers $name] $index $line $words
    }
}

# The text of a word; "" if it has substitutions.
proc ::etw::cover::Word {word} {
    variable text
    lassign $word from to kind
    return [expr {$kind in {braced plain} ? [string range $text $from $to-1] : ""}]
}

# A word that is a script. Returns its first command.
proc ::etw::cover::Body {word} {
    lassign $word from to kind
    return [expr {$kind in {braced plain} ? [Inner $from $to] : -1}]
}

# A word that is an expression: the scripts in its brackets.
proc ::etw::cover::Expression {word line} {
    lassign $word from to kind
    if {$kind ne "braced" || [catch {Parse expr $from $to} ranges]} {
        return
    }
    foreach range $ranges {
        Inner {*}$range $line
    }
}

# The words of a list, or the words in all lines of a script: {FROM TO KIND} each.
proc ::etw::cover::Elements {word} {
    lassign $word from to kind
    if {$kind ne "braced" || [catch {Parse script $from $to} parsed]} {
        return {}
    }
    return [concat {*}[lmap command $parsed {dict get $command words}]]
}

proc ::etw::cover::Branch {line kind index arms} {
    variable branches
    if {$index >= 0} {
        lappend branches [list $line $kind $index $arms]
    }
}

proc ::etw::cover::Qualified {name} {
    variable ns
    return [expr {[string match ::* $name] ? $name : $ns eq "" ? $name : "[set ns]::$name"}]
}

proc ::etw::cover::Function {name line body} {
    variable functions
    set place [llength $functions]
    lappend functions {}
    set first [Body $body]
    lset functions $place [list [string trimleft $name :] $line $first]
}

# Evaluate BODY in the caller, in another namespace.
proc ::etw::cover::InNamespace {name body} {
    variable ns
    set before $ns
    set ns [string trimleft [Qualified $name] :]
    uplevel 1 $body
    set ns $before
}

# ---- Handlers: index and line of the command, and its words ---------------------------------------

proc ::etw::cover::OfProc {index line words} {
    if {[llength $words] == 4} {
        Function [Qualified [Word [lindex $words 1]]] $line [lindex $words 3]
    }
}

proc ::etw::cover::OfMethod {index line words} {
    if {[llength $words] >= 4} { ;# TclOO of Tcl 9 permits -export and others before the arguments
        Function [Qualified [Word [lindex $words 1]]] $line [lindex $words end]
    }
}

proc ::etw::cover::OfConstructor {index line words} {
    if {[llength $words] >= 3} {
        Function [Qualified constructor] $line [lindex $words end]
    }
}

proc ::etw::cover::OfDestructor {index line words} {
    if {[llength $words] == 2} {
        Function [Qualified [Word [lindex $words 0]]] $line [lindex $words 1]
    }
}

# private method NAME ARGS BODY
proc ::etw::cover::OfPrivate {index line words} {
    if {[llength $words] == 2} {
        Body [lindex $words 1]
    } else {
        Words -1 $line [lrange $words 1 end]
    }
}

proc ::etw::cover::OfNamespace {index line words} {
    if {[llength $words] == 4 && [Word [lindex $words 1]] eq "eval"} {
        InNamespace [Word [lindex $words 2]] {Body [lindex $words 3]}
    } elseif {[llength $words] == 3 && [Word [lindex $words 1]] eq "code"} {
        Body [lindex $words 2]
    }
}

proc ::etw::cover::OfLast {index line words} {
    if {[llength $words] > 1 && [lindex $words end 2] eq "braced"} {
        Body [lindex $words end]
    }
}

# oo::class create CLASS BODY, oo::define CLASS BODY, oo::define CLASS method NAME ARGS BODY
proc ::etw::cover::OfClass {index line words} {
    set at [expr {[string match *class [Word [lindex $words 0]]] ? 2 : 1}]
    InNamespace [Word [lindex $words $at]] {
        if {[llength $words] == $at + 2} {
            Body [lindex $words end]
        } elseif {$at == 1 && [llength $words] > 3} {
            Words -1 $line [lrange $words 2 end]
        }
    }
}

proc ::etw::cover::OfFirst {index line words} {
    if {[llength $words] > 1} {
        Body [lindex $words 1]
    }
}

proc ::etw::cover::OfExpr {index line words} {
    if {[llength $words] == 2} {
        Expression [lindex $words 1] $line
    }
}

proc ::etw::cover::OfIf {index line words} {
    set arms {}
    set rest 1
    set words [lrange $words 1 end]
    while {[llength $words] > 1} {
        set words [lassign $words condition]
        Expression $condition $line
        if {[Word [lindex $words 0]] eq "then"} {
            set words [lrange $words 1 end]
        }
        set words [lassign $words body]
        lappend arms [list [expr {$arms eq {} ? "then" : "elseif"}] [Body $body]]
        set next [Word [lindex $words 0]]
        if {$next eq "elseif"} {
            set words [lrange $words 1 end]
            continue
        }
        if {[llength $words] > 0} {
            if {$next eq "else"} {
                set words [lrange $words 1 end]
            }
            lappend arms [list else [Body [lindex $words 0]]]
            set rest 0
        }
        break
    }
    Branch $line if $index [concat $arms [expr {$rest ? {{else rest}} : {}}]]
}

proc ::etw::cover::OfWhile {index line words} {
    if {[llength $words] == 3} {
        Expression [lindex $words 1] $line
        Branch $line while $index [list [list body [Body [lindex $words 2]]]]
    }
}

proc ::etw::cover::OfFor {index line words} {
    if {[llength $words] == 5} {
        Body [lindex $words 1]
        Expression [lindex $words 2] $line
        Body [lindex $words 3]
        Branch $line for $index [list [list body [Body [lindex $words 4]]]]
    }
}

proc ::etw::cover::OfLoop {index line words} {
    if {[llength $words] >= 4} {
        Branch $line [Word [lindex $words 0]] $index [list [list body [Body [lindex $words end]]]]
    }
}

proc ::etw::cover::OfDict {index line words} {
    set name [Word [lindex $words 1]]
    if {$name in {for map} && [llength $words] == 5} {
        Branch $line "dict $name" $index [list [list body [Body [lindex $words 4]]]]
    } elseif {($name in {update with} && [llength $words] > 3) || ($name eq "filter" && [Word [lindex $words 3]] eq "script")} {
        Body [lindex $words end]
    }
}

proc ::etw::cover::OfTry {index line words} {
    set arms {}
    Body [lindex $words 1]
    set words [lrange $words 2 end]
    while {[llength $words] > 1} {
        set kind [Word [lindex $words 0]]
        if {$kind eq "finally"} {
            Body [lindex $words 1]
            break
        }
        if {[Word [lindex $words 3]] ne "-"} {
            lappend arms [list "$kind [Word [lindex $words 1]]" [Body [lindex $words 3]]]
        }
        set words [lrange $words 4 end]
    }
    if {$arms ne {}} {
        Branch $line try $index $arms
    }
}

proc ::etw::cover::OfSwitch {index line words} {
    set at 1
    while {[string match -* [Word [lindex $words $at]]] && [llength $words] - $at > 2} {
        set option [Word [lindex $words $at]]
        incr at [expr {$option in {-matchvar -indexvar} ? 2 : 1}]
        if {$option eq "--"} {
            break
        }
    }
    set pairs [lrange $words $at+1 end]
    if {[llength $pairs] == 1} {
        set pairs [Elements [lindex $pairs 0]]
    }
    set arms {}
    set rest 1
    foreach {pattern body} $pairs {
        if {[Word $pattern] eq "default"} {
            set rest 0
        }
        if {$body ne "" && [Word $body] ne "-"} {
            lappend arms [list [Word $pattern] [Body $body]]
        }
    }
    Branch $line switch $index [concat $arms [expr {$rest ? {{default rest}} : {}}]]
}

# apply {ARGS BODY ?NAMESPACE?} ...
proc ::etw::cover::OfApply {index line words} {
    set parts [Elements [lindex $words 1]]
    if {[llength $parts] in {2 3}} {
        Body [lindex $parts 1]
    }
}
