# window.tcl --
#
#	The viewer's window: a model (view_model.tcl) on a canvas, a bar with the filter, and below them the
#	panes (panes.tcl). All functions are available by keys: F1 lists them.

package require Tk

namespace eval ::etw::view {
    # The help of F1: {keys description}.
    variable help {
        "Left, Right" "a quarter of the picture back, on" "Up, Down" "scroll the lanes"
        "+, -" "nearer, farther (the wheel, too)" "Home, End" "to the beginning, the end"
        "f" "the whole trace" "z" "the selected span, or the picked box"
        ", ." "previous, next event" "[ ]" "the selection begins, ends at the picked event"
        "/" "to the filter; Return searches, Escape comes back" "n, N" "next, previous match"
        "m" "table: all events, or matches only" "Escape" "nothing selected, nothing picked"
        "h, H" "hide the picked lane, its process" "a" "show all lanes again"
        "space" "follow a live session, or stay" "t" "light, dark" "Ctrl-S" "save as SVG or PNG"
        "Ctrl-+, Ctrl--" "larger, smaller" "F1" "this list" "q" "close"
    }
}

oo::class create ::etw::view::Window {
    mixin ::etw::view::Panes
    # top: the toplevel; c: the canvas; font: the canvas's; textFont: of all other parts; due, timer, hover:
    # pending `after` calls; drag: {x what} while a button is down; larger: magnification by Ctrl-+.
    # lanesOrder: for the menu of lanes.
    variable top model c font textFont due timer hover drag larger late lanesOrder

    constructor {path sources args} {
        lassign {{} {} {} {} 1.0} due timer hover drag larger
        set top $path
        set model [::etw::view::Model new $sources {*}$args]
        set font [font create -family [font actual TkDefaultFont -family] -size 9]
        set textFont [font create {*}[font actual TkDefaultFont]]
        toplevel $top
        wm title $top "etw view [join $sources]"
        wm protocol $top WM_DELETE_WINDOW [list [self] destroy]
        my Build
        my Bind
        my theme light
        my size
        my Step
    }
    destructor {
        foreach id [list $timer $due $hover $late] {
            after cancel $id
        }
        $model destroy
        if {[winfo exists $top]} {
            bind $top <Destroy> {}
            destroy $top
        }
        font delete $font $textFont
    }
    method model {} {
        return $model
    }
    method canvas {} {
        return $c
    }

    # ---- Parts ---------------------------------------------------------------------------------------------

    method Build {} {
        my BuildBar [ttk::frame $top.bar -padding 4]
        ttk::panedwindow $top.panes -orient vertical
        set f [ttk::frame $top.lanes]
        set c [canvas $f.c -width 1100 -height 400 -highlightthickness 1 -takefocus 1 -borderwidth 0]
        ttk::scrollbar $f.y -orient vertical -command [list [self] scrollbar]
        ttk::label $top.state -anchor w -padding {6 2}
        grid $f.c $f.y -sticky news
        grid columnconfigure $f 0 -weight 1
        grid rowconfigure $f 0 -weight 1
        pack $top.bar -side top -fill x
        pack $top.state -side bottom -fill x
        pack $top.panes -fill both -expand 1
        $top.panes add $f -weight 3
        $top.panes add [my BuildPanes [ttk::frame $top.below]] -weight 1
        my Styled $top
        focus $c
    }
    method BuildBar {bar} {
        ttk::label $bar.name -text "Filter"
        ttk::entry $bar.where -width 42 -font $textFont
        ttk::label $bar.found -anchor w
        foreach {name text command} {
            previous \u25c0 {seek previous} next \u25b6 {seek next} in + {zoom 0.5} out \u2212 {zoom 2.0}
            fit Whole fit theme Theme {theme {}} save Save save help Keys help
        } {
            ttk::button $bar.$name -text $text -width [expr {[string length $text] > 1 ? "" : 2}] -command [list [self] {*}$command]
        }
        my BuildLanes $bar.lanes
        ttk::checkbutton $bar.follow -text Follow -command [list [self] follow]
        $bar.follow state [expr {[$model info live] ? "selected !alternate" : "!selected !alternate"}]
        # In a narrow window the filter shrinks first.
        pack $bar.help $bar.save $bar.theme $bar.lanes $bar.fit $bar.in $bar.out -side right -padx 1
        if {[$model info live]} {
            pack $bar.follow -side right -padx 6
        }
        pack $bar.name -side left -padx 2
        pack $bar.found $bar.next $bar.previous -side right -padx 2
        pack $bar.where -side left -padx 2 -fill x -expand 1
    }
    # The menu of lanes: their order, and which are hidden.
    method BuildLanes {button} {
        ttk::menubutton $button -text Lanes -menu $button.m
        menu $button.m -tearoff 0 -postcommand [list [namespace which my] LanesPosted $button.m]
        foreach {order text} {process "Threads by process" events "Most events first" name "By name"} {
            $button.m add radiobutton -label $text -value $order -variable [my varname lanesOrder] -command [list [self] lanes order $order]
        }
        $button.m add separator
        $button.m add command -label "Hide threads with less than 10 events" -command [list [self] lanes fewest 10]
        $button.m add command -label "Hide the picked lane (h)" -command [list [self] hidePicked]
        $button.m add command -label "Hide the picked lane's process (H)" -command [list [self] hidePicked 1]
        $button.m add command -label "Show all lanes (a)" -command [list [self] lanes showAll]
    }
    method LanesPosted {menu} {
        set lanesOrder [$model order]
        foreach entry {5 6} {
            $menu entryconfigure $entry -state [expr {[$model picked] eq "" ? "disabled" : "normal"}]
        }
    }
    method lanes {args} {
        $model {*}$args
        my Redraw
    }
    method hidePicked {{process 0}} {
        if {[$model picked] eq ""} {
            bell
            return
        }
        my lanes hide [dict get [$model picked] lane] $process
    }
    method Bind {} {
        foreach {event command} {
            <Configure> {resized} <Left> {pan -0.25} <Right> {pan 0.25} <Up> {scroll -40} <Down> {scroll 40}
            <Prior> {scroll -200} <Next> {scroll 200} <plus> {zoom 0.5} <equal> {zoom 0.5} <KP_Add> {zoom 0.5}
            <minus> {zoom 2.0} <KP_Subtract> {zoom 2.0} <Home> {goto first} <End> {goto last} <f> {fit} <z> {zoomPicked}
            <comma> {neighbour -1} <period> {neighbour 1} <bracketleft> {edge 0} <bracketright> {edge 1}
            <slash> {toFilter} <n> {seek next} <N> {seek previous} <m> {onlyMatches} <h> {hidePicked} <H> {hidePicked 1} <a> {lanes showAll} <Escape> {nothing} <space> {follow}
            <t> {theme {}} <Control-s> {save} <Control-plus> {size 1.25} <Control-equal> {size 1.25} <Control-minus> {size 0.8}
            <F1> {help} <q> {destroy} <ButtonPress-1> {press %x %y} <Shift-ButtonPress-1> {press %x %y select}
            <B1-Motion> {drag %x %y} <ButtonRelease-1> {release %x %y} <ButtonPress-3> {press %x %y select}
            <B3-Motion> {drag %x %y} <ButtonRelease-3> {release %x %y} <Motion> {hover %x %y}
            <ButtonPress-4> {zoom 0.8 %x} <ButtonPress-5> {zoom 1.25 %x} <MouseWheel> {wheel %D %x}
            <Shift-ButtonPress-4> {scroll -60} <Shift-ButtonPress-5> {scroll 60} <Double-ButtonPress-1> {zoomPicked}
        } {
            bind $c $event "[list [self]] $command; break"
        }
        bind $top.bar.where <Return> [list [self] search]
        bind $top.bar.where <Escape> [list focus $c]
        bind $top <Destroy> [list [namespace which my] Gone %W]
    }
    method Gone {window} {
        if {$window eq $top} {
            my destroy
        }
    }

    # ---- Drawing ---------------------------------------------------------------------------------------------

    # Redraw once, when idle, for all changes until then.
    method Redraw {} {
        if {$due eq ""} {
            set due [after idle [list [namespace which my] Draw]]
        }
    }
    method Draw {} {
        set due {}
        ::etw::view::CanvasShow $c [$model drawing] $font
        $top.lanes.y set {*}[$model scrolled]
        my ShowState
        my ShowPanes
    }
    # Redraw at once: for tests and benches.
    method draw {} {
        after cancel $due
        my Draw
    }
    method ShowState {} {
        set parts [list "[::etw::view::Count [$model info events]] events"]
        if {[$model info more] && ![$model info live]} {
            lappend parts "reading: [expr {wide([$model info progress] * 100)}] %"
        } elseif {[$model info live]} {
            lappend parts [expr {[$model info more] ? "live" : "the session has stopped"}]
        }
        if {[$model hiddenCount] > 0} {
            lappend parts "[$model hiddenCount] lanes hidden"
        }
        if {[$model selection] ne ""} {
            lassign [$model selection] a b
            lappend parts "selected: [::etw::view::Duration [expr {$b - $a}]]"
        }
        $top.state configure -text [join [concat $parts [$model notices]] "   \u00b7   "]
        $top.bar.found configure -text [$model found] -foreground {}
    }
    method resized {} {
        $model size [winfo width $c] [winfo height $c]
        my Redraw
    }
    # Set all sizes from the density of the screen and the user's magnification.
    method size {{factor 1.0}} {
        set larger [expr {min(max($larger * $factor, 0.5), 4.0)}]
        set scale [expr {max(1.0, [tk scaling] / 1.34) * $larger}]
        font configure $font -size [expr {round(-11 * $scale)}]
        set sample "the quick brown fox ::ns::proc 0123456789"
        $model scale $scale [expr {[font measure $font $sample] / double([string length $sample])}]
        font configure $textFont -size [expr {round(-[font actual TkDefaultFont -size] * [tk scaling] * $larger)}]
        ttk::style configure [my Style Treeview] -rowheight [my lineHeight]
        my SizePanes
        my resized
    }
    # Height of lines in the panes' tables.
    method lineHeight {} {
        return [expr {[font metrics $textFont -linespace] + 4}]
    }
    method theme {name} {
        set themes [::etw::view::Themes]
        if {$name eq ""} {
            set name [lindex $themes [expr {([lsearch $themes [$model theme]] + 1) % [llength $themes]}]]
        }
        $model theme $name
        my Dress [::etw::view::Theme $name]
        my Redraw
    }
    # Styles of this window only: other widgets of an application, and other windows, are unchanged.
    method Style {class} {
        return [string range $top 1 end].$class
    }
    method Styled {widget} {
        set class [winfo class $widget]
        if {$class in {TFrame TLabel TButton TCheckbutton TMenubutton TEntry TNotebook TPanedwindow Treeview}} {
            $widget configure -style [my Style $class]
        } elseif {$class eq "TScrollbar"} {
            $widget configure -style [my Style Vertical.TScrollbar]
        }
        foreach child [winfo children $widget] {
            my Styled $child
        }
    }
    method Dress {colors} {
        dict with colors {
            foreach class {TFrame TLabel TButton TCheckbutton TMenubutton TEntry TNotebook TNotebook.Tab TPanedwindow Treeview Treeview.Heading
                    Vertical.TScrollbar} {
                ttk::style configure [my Style $class] -background $gutter -foreground $text -bordercolor $line -troughcolor $lane \
                    -lightcolor $gutter -darkcolor $gutter -arrowcolor $text -font $textFont
                ttk::style map [my Style $class] -background [list active $ruler disabled $gutter] -foreground [list disabled $dim]
            }
            ttk::style configure [my Style Treeview] -background $background -fieldbackground $background
            ttk::style map [my Style Treeview] -background [list selected $select] -foreground [list selected $background]
            ttk::style configure [my Style TNotebook.Tab] -background $ruler
            ttk::style map [my Style TNotebook.Tab] -background [list selected $background]
            ttk::style configure [my Style TEntry] -fieldbackground $background -insertcolor $text -selectbackground $select \
                -selectforeground $background
            ttk::style map [my Style TEntry] -fieldbackground [list readonly $background] -foreground {}
            $top configure -background $gutter
            $c configure -background $background -highlightcolor $select -highlightbackground $line
            my DressPanes $colors
            if {[winfo exists $top.help]} {
                $top.help.t configure -background $background -foreground $text
            }
        }
    }

    # ---- Reading ----------------------------------------------------------------------------------------------

    # Read a part of the trace, then let the window update; a live session is read ten times a second.
    method Step {} {
        set before [list [$model info events] [$model info tested] [$model info more] [$model info searching]]
        set more [$model read [expr {[$model info live] ? 30 : 60}]]
        set changed [expr {$before ne [list [$model info events] [$model info tested] [$model info more] [$model info searching]]}]
        if {$changed} {
            my Redraw
        }
        set timer {}
        if {$more} {
            set timer [after [expr {[$model info live] && !$changed ? 100 : 5}] [list [namespace which my] Step]]
        }
    }
    # True: nothing more to read, and everything is drawn.
    method idle {} {
        return [expr {$timer eq "" && $due eq ""}]
    }

    # ---- Actions of keys and buttons ---------------------------------------------------------------------------

    method zoom {factor {x {}}} {
        $model zoom $factor $x
        my Redraw
    }
    method wheel {delta x} {
        my zoom [expr {$delta > 0 ? 0.8 : 1.25}] $x
    }
    method pan {share} {
        $model pan $share
        my Redraw
    }
    method scroll {pixels} {
        $model scroll $pixels
        my Redraw
    }
    method scrollbar {how amount args} {
        lassign [$model scroll 0] at all
        my scroll [expr {$how eq "moveto" ? round($amount * $all) - $at : $amount * ([lindex $args 0] eq "pages" ? 200 : 30)}]
    }
    method goto {end} {
        lassign [$model span] a b
        set time [$model info $end]
        $model show [expr {$time - ($b - $a) / 2}] [expr {$time + ($b - $a) / 2}]
        my Redraw
    }
    method fit {} {
        $model fit
        my Redraw
    }
    method zoomPicked {} {
        set span [$model selection]
        if {$span eq "" && [$model picked] ne ""} {
            set span [list [dict get [$model picked] from] [dict get [$model picked] to]]
        }
        if {$span ne ""} {
            lassign $span a b
            set margin [expr {max(($b - $a) / 10, 10)}]
            $model show [expr {$a - $margin}] [expr {$b + $margin}]
            my Redraw
        }
    }
    method follow {} {
        set on [expr {![$model follow]}]
        $model follow $on
        $top.bar.follow state [expr {$on ? "selected" : "!selected"}]
    }
    method toFilter {} {
        focus $top.bar.where
        $top.bar.where selection range 0 end
    }
    method search {{expression {}}} {
        if {$expression eq ""} {
            set expression [$top.bar.where get]
        } else {
            $top.bar.where delete 0 end
            $top.bar.where insert 0 $expression
        }
        try {
            $model search $expression 30
        } on error message {
            $top.bar.found configure -text [lindex [split $message \n] 0] -foreground [dict get [::etw::view::Theme [$model theme]] error]
            return
        }
        focus $c
        if {$timer eq ""} {
            my Step
        }
        my Redraw
    }
    method seek {direction} {
        if {[$model seek $direction]} {
            my Picked
        } else {
            bell
        }
    }
    method neighbour {by} {
        set box [$model picked]
        $model pickEvent [expr {$box eq "" ? [$model firstInSight] : max(0, [dict get $box event] + $by)}]
        my Picked
    }
    # Make the picked event one end of the selection.
    method edge {end} {
        if {[$model picked] eq ""} {
            return
        }
        set span [$model selection]
        set at [dict get [$model picked] [expr {$end ? "to" : "from"}]]
        $model select {*}[expr {$span eq "" ? [list $at $at] : $end ? [list [lindex $span 0] $at] : [list $at [lindex $span 1]]}]
        my Redraw
    }
    method nothing {} {
        $model unselect
        $model pick {}
        my Redraw
    }
    method Picked {} {
        if {[$model picked] eq ""} {
            return
        }
        my ShowDetails [$model picked]
        my TableTo [dict get [$model picked] event]
        my Redraw
    }

    # ---- The pointer --------------------------------------------------------------------------------------------

    method press {x y {what pan}} {
        focus $c
        set drag [list $x $y $what 0]
    }
    method drag {x y} {
        if {$drag eq ""} {
            return
        }
        lassign $drag x0 y0 what moved
        if {!$moved && abs($x - $x0) + abs($y - $y0) < 4} {
            return
        }
        if {$what eq "select"} {
            $model select [$model timeAt $x0] [$model timeAt $x]
            lset drag 3 1
        } else {
            $model panPixels [expr {$x0 - $x}]
            $model scroll [expr {$y0 - $y}]
            set drag [list $x $y $what 1]
        }
        my Redraw
    }
    method release {x y} {
        set moved [expr {$drag ne "" && [lindex $drag 3]}]
        set drag {}
        if {$moved} {
            return
        }
        set row [$model rowAt $y]
        if {$row ne "" && $x < [lindex [my Gutter] 0] && [dict get $row foldable]} {
            $model fold [dict get $row lane]
        } else {
            $model pick [$model at $x $y]
            my Picked
        }
        my Redraw
    }
    method Gutter {} {
        return [dict get [$model picture] gutter]
    }
    # Show the box under the pointer when it rests.
    method hover {x y} {
        after cancel $hover
        set hover [after 80 [list [namespace which my] Hover $x $y]]
    }
    method Hover {x y} {
        set hover {}
        set box [$model at $x $y]
        if {$box ne ""} {
            my ShowDetails $box
        } elseif {[$model picked] ne ""} {
            my ShowDetails [$model picked]
        }
    }

    # ---- Files and help --------------------------------------------------------------------------------------------

    # Save as SVG or PNG, by the file name's extension.
    method save {{file {}}} {
        if {$file eq ""} {
            set file [tk_getSaveFile -parent $top -defaultextension .svg \
                -filetypes {{{Pictures} {.svg .png}} {SVG .svg} {PNG .png}}]
            if {$file eq ""} {
                return
            }
        }
        ::etw::view::Save $file [$model drawing] [winfo width $c] [winfo height $c] [font metrics $font -linespace]
    }
    method help {} {
        set lines [join [lmap {keys what} $::etw::view::help {string cat $keys \t $what}] \n]
        set w $top.help
        if {[winfo exists $w]} {
            raise $w
            return
        }
        toplevel $w
        wm title $w "Keys of etw view"
        wm transient $w $top
        text $w.t -width 76 -height [expr {[llength $::etw::view::help] / 2}] -tabs 5c -font $textFont -padx 12 -pady 12
        $w.t insert end $lines
        $w.t configure -state disabled
        pack $w.t -fill both -expand 1
        bind $w <Escape> [list destroy $w]
        my Dress [::etw::view::Theme [$model theme]]
        focus $w
    }
}
