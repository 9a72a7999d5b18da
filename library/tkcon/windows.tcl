# windows.tcl --
#
#	Windows of etw::tkcon: an event's fields, and a list of procs to select from. In the interpreter of the
#	view (tkcon_view.tcl), which accesses console and model.

namespace eval ::etw::tkcon::view {
    # State of the list of procs: the interpreter and its namespace when it was opened, the names, the selected
    # ones.
    variable picking {}
    variable names {}
    variable chosen {}
}

# A separate window next to the console; "" if one of this kind exists.
proc ::etw::tkcon::view::Window {name title} {
    set top $::tkcon::PRIV(base).etw$name
    if {[winfo exists $top]} {
        wm deiconify $top
        raise $top
        return ""
    }
    toplevel $top
    wm title $top $title
    wm transient $top $::tkcon::PRIV(root)
    bind $top <Escape> [list destroy $top]
    return $top
}

# A tree without borders, with a scroll bar, in a frame.
proc ::etw::tkcon::view::Tree {frame args} {
    ttk::frame $frame
    ttk::treeview $frame.tree {*}$args -yscrollcommand [list $frame.y set]
    ttk::scrollbar $frame.y -command [list $frame.tree yview]
    pack $frame.y -side right -fill y
    pack $frame.tree -side left -fill both -expand 1
    return $frame
}

# ---- An event's fields ---------------------------------------------------------------------------

# A table of the fields, and the full value of the selected one.
proc ::etw::tkcon::view::ShowFields {number} {
    if {[catch {Model Fields $number} fields]} {
        Complain $fields
        return
    }
    set top [Window fields Event]
    if {$top ne ""} {
        pack [Tree $top.fields -columns {name value whole} -displaycolumns {name value} -show headings -height 16 \
            -selectmode browse] -fill both -expand 1
        set tree $top.fields.tree
        foreach {column label width} {name Field 110 value Value 460} {
            $tree heading $column -text $label -anchor w
            $tree column $column -width $width -stretch [expr {$column eq "value"}]
        }
        text $top.whole -height 4 -width 60 -wrap word -font TkFixedFont -state disabled
        pack $top.whole -fill x
        bind $tree <<TreeviewSelect>> {::etw::tkcon::view::ShowWhole [winfo toplevel %W]}
    }
    set top $::tkcon::PRIV(base).etwfields
    wm title $top "Event: [dict get $fields provider] [dict get $fields event]"
    set tree $top.fields.tree
    $tree delete [$tree children {}]
    foreach {name value} $fields {
        $tree insert {} end -values [list $name [Visible $value] $value]
    }
    $tree selection set [lindex [$tree children {}] end]
}

# A value in one row of the table.
proc ::etw::tkcon::view::Visible {value} {
    return [string map {\n \u21b5 \t " " \r ""} [string range $value 0 500]]
}

proc ::etw::tkcon::view::ShowWhole {top} {
    set tree $top.fields.tree
    set item [lindex [$tree selection] 0]
    $top.whole configure -state normal
    $top.whole delete 1.0 end
    if {$item ne ""} {
        $top.whole insert end [$tree set $item whole]
    }
    $top.whole configure -state disabled
}

# ---- The list of procs ---------------------------------------------------------------------------

# Namespaces with their procs; a click or the space bar selects. Initially the traced ones are selected.
proc ::etw::tkcon::view::PickProcs {} {
    variable picking
    set there [There]
    destroy $::tkcon::PRIV(base).etwpick
    set top [Window pick "Trace procs"]
    set picking $there
    wm title $top "Trace procs of [expr {[lindex $there 0] eq {} ? {Main} : [lindex $there 0]}]"
    ttk::frame $top.head
    ttk::label $top.head.label -text "Filter:"
    ttk::entry $top.head.filter -textvariable ::etw::tkcon::view::filter
    ttk::checkbutton $top.head.all -text "Tcl's and tkcon's own" -variable ::etw::tkcon::view::all \
        -command [list ::etw::tkcon::view::ReadProcs $top]
    pack $top.head.label -side left
    pack $top.head.filter -side left -fill x -expand 1 -padx 4
    pack $top.head.all -side left
    ttk::frame $top.foot
    ttk::label $top.foot.count
    ttk::button $top.foot.ok -text "Trace" -command [list ::etw::tkcon::view::Picked $top] -default active
    ttk::button $top.foot.cancel -text "Cancel" -command [list destroy $top]
    pack $top.foot.count -side left
    pack $top.foot.cancel $top.foot.ok -side right -padx 2
    pack $top.head -fill x -padx 6 -pady 6
    pack $top.foot -side bottom -fill x -padx 6 -pady 6
    pack [Tree $top.procs -show tree -height 16 -selectmode browse] -fill both -expand 1 -padx 6
    $top.procs.tree column #0 -width 420
    bind $top.head.filter <KeyRelease> [list ::etw::tkcon::view::FillProcs $top]
    bind $top.procs.tree <Button-1> {::etw::tkcon::view::Toggle [winfo toplevel %W] [%W identify item %x %y] [%W identify element %x %y]}
    bind $top.procs.tree <space> {::etw::tkcon::view::Toggle [winfo toplevel %W] [%W focus] {}}
    bind $top <Return> [list $top.foot.ok invoke]
    variable filter ""
    variable all 0
    variable chosen [TracedThere]
    ReadProcs $top
    focus $top.head.filter
    return $top
}

# Patterns traced in the interpreter of the list.
proc ::etw::tkcon::view::TracedThere {} {
    variable picking
    set found {}
    foreach pair [dict get [Model Status] traced] {
        if {[lindex $pair 0] eq [lindex $picking 0]} {
            lappend found [lindex $pair 1]
        }
    }
    return $found
}

proc ::etw::tkcon::view::ReadProcs {top} {
    variable picking
    variable names
    variable all
    set names [Model Procs [lindex $picking 0] $all]
    FillProcs $top
}

# The items that match the filter (a part of the name, or a pattern), and the selected ones regardless of the
# filter.
proc ::etw::tkcon::view::FillProcs {top} {
    variable names
    variable chosen
    variable filter
    set tree $top.procs.tree
    $tree delete [$tree children {}]
    foreach name $names {
        set pattern [Model Literal $name]
        if {![string match -nocase *$filter* $name] && ![string match -nocase $filter $name] && $pattern ni $chosen} {
            continue
        }
        set namespace [namespace qualifiers $name]
        if {![$tree exists ns:$namespace]} {
            $tree insert {} end -id ns:$namespace -open 1
        }
        $tree insert ns:$namespace end -id proc:$pattern -values [list $name]
    }
    Marks $top
}

# The pattern of an item of the list. For the global namespace "*", which also matches all others.
proc ::etw::tkcon::view::PatternOf {item} {
    if {[string match proc:* $item]} {
        return [string range $item 5 end]
    }
    return [expr {$item eq "ns:" ? "*" : "[Model Literal [string range $item 3 end]]::*"}]
}

# [x] before selected items; (x) before namespaces that contain selected items.
proc ::etw::tkcon::view::Marks {top} {
    variable chosen
    set tree $top.procs.tree
    foreach namespace [$tree children {}] {
        set name [string range $namespace 3 end]
        set label [expr {$name eq "" ? "all procs" : "${name}::*  (with those to come)"}]
        $tree item $namespace -text "[Mark [PatternOf $namespace]] $label"
        foreach item [$tree children $namespace] {
            set name [lindex [$tree item $item -values] 0]
            $tree item $item -text "[Mark [PatternOf $item] $name] $name"
        }
    }
    $top.foot.count configure -text "[llength $chosen] chosen"
}

proc ::etw::tkcon::view::Mark {pattern {name ""}} {
    variable chosen
    if {$pattern in $chosen} {
        return "\[x\]"
    }
    foreach wide $chosen {
        if {$name ne "" && [string match $wide $name]} {
            return "(x)"
        }
    }
    return "\[  \]"
}

# Ignores clicks on the triangle that opens and closes a namespace.
proc ::etw::tkcon::view::Toggle {top item element} {
    variable chosen
    if {$item eq "" || $element eq "Treeitem.indicator"} {
        return
    }
    set pattern [PatternOf $item]
    if {$pattern in $chosen} {
        set chosen [lsearch -all -inline -exact -not $chosen $pattern]
    } else {
        lappend chosen $pattern
    }
    Marks $top
}

# Trace the selected items, and stop tracing those that are no longer selected.
proc ::etw::tkcon::view::Picked {top} {
    variable chosen
    variable picking
    set before [TracedThere]
    set gone [lmap pattern $before {
        if {$pattern in $chosen} continue
        set pattern
    }]
    if {[There] ne $picking} {
        Complain "the console was attached to another interpreter meanwhile: open the list again"
        return
    }
    destroy $top
    set absolute [lmap pattern $chosen {string cat :: $pattern}]
    if {[llength $absolute]} {
        Do trace {*}$absolute
    }
    if {[llength $gone]} {
        Do untrace {*}[lmap pattern $gone {string cat :: $pattern}]
    }
}
