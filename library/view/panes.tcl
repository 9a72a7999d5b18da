# panes.tcl --
#
#	The lower half of the viewer's window: the table of events (only the visible rows are loaded, whatever
#	the trace's size), details of an event or box, and totals of the selected span. A mixin of window.tcl's
#	class.

oo::class create ::etw::view::Panes {
    # table, totals, details: widgets; first: number of the table's first row; only: matches only; shown: contents
    # of table and totals; late: timer for the totals.
    variable top model textFont table totals details first only shown tableRows late

    method BuildPanes {f} {
        lassign {0 0 {{} {} {}} 12 {}} first only shown tableRows late
        ttk::panedwindow $f.p -orient horizontal
        ttk::notebook $f.p.left
        $f.p.left add [my BuildTable [ttk::frame $f.p.left.events]] -text "Events"
        $f.p.left add [my BuildTotals [ttk::frame $f.p.left.totals]] -text "Totals"
        set details [text $f.p.details -width 46 -height 10 -wrap word -font $textFont -state disabled -borderwidth 0 \
            -padx 8 -pady 6 -tabs 3c -highlightthickness 1]
        bind $f.p.left <<NotebookTabChanged>> [list [self] showTotals]
        $f.p add $f.p.left -weight 3
        $f.p add $f.p.details -weight 1
        pack $f.p -fill both -expand 1
        return $f
    }
    method BuildTable {f} {
        set table [ttk::treeview $f.t -show headings -columns {event time lane provider name duration details} \
            -displaycolumns {event time lane name duration details provider} -selectmode browse -height 9]
        foreach {column title} {event # time Time lane Thread provider Provider name Event duration Duration details Details} {
            $table heading $column -text $title -anchor w
            $table column $column -anchor [expr {$column in {event time duration} ? "e" : "w"}]
        }
        ttk::scrollbar $f.y -orient vertical -command [list [self] tableScroll]
        grid $f.t $f.y -sticky news
        grid columnconfigure $f 0 -weight 1
        grid rowconfigure $f 0 -weight 1
        bind $table <<TreeviewSelect>> [list [self] tablePick]
        foreach {event units} {<ButtonPress-4> -3 <ButtonPress-5> 3 <Prior> -9 <Next> 9} {
            bind $table $event "[list [self]] tableScroll scroll $units units; break"
        }
        bind $table <MouseWheel> "[list [self]] tableScroll scroll \[expr {%D > 0 ? -3 : 3}\] units; break"
        bind $table <Up> "[list [self]] neighbour -1; break"
        bind $table <Down> "[list [self]] neighbour 1; break"
        bind $table <Configure> [list [self] tableResized %h]
        return $f
    }
    method BuildTotals {f} {
        set totals [ttk::treeview $f.t -columns {count self total errors} -height 9]
        $totals heading #0 -text "Of what is selected, or else in sight" -anchor w
        foreach {column title} {count Count self "Own time" total "Whole time" errors Errors} {
            $totals heading $column -text $title -anchor e
            $totals column $column -anchor e
        }
        ttk::scrollbar $f.y -orient vertical -command [list $totals yview]
        $totals configure -yscrollcommand [list $f.y set]
        grid $f.t $f.y -sticky news
        grid columnconfigure $f 0 -weight 1
        grid rowconfigure $f 0 -weight 1
        return $f
    }
    # Set columns to the width of their text in the current font.
    method SizePanes {} {
        set digit [font measure $textFont 0]
        foreach {column digits} {event 7 time 13 lane 18 name 10 details 28 duration 10 provider 14} {
            set width [expr {$digits * $digit}]
            $table column $column -width $width -minwidth [expr {$column in {event time} ? $width : $width / 2}] \
                -stretch [expr {$column eq "details"}]
        }
        foreach {column digits} {#0 40 count 13 self 14 total 14 errors 10} {
            set width [expr {$digits * $digit}]
            $totals column $column -width $width -minwidth [expr {$column eq "#0" ? $width / 3 : $width}] -stretch [expr {$column eq "#0"}]
        }
        $details configure -tabs [expr {14 * $digit}]
        my tableResized [winfo height $table]
    }
    method DressPanes {colors} {
        dict with colors {
            $details configure -background $background -foreground $text -highlightbackground $line
            $details tag configure label -foreground $dim
            $details tag configure error -foreground $error
            $table tag configure error -foreground $error
            $table tag configure note -foreground $note
        }
    }
    method table {} {
        return $table
    }
    method totals {} {
        return $totals
    }
    method details {} {
        return [$details get 1.0 end]
    }

    # ---- The table ------------------------------------------------------------------------------------------

    method TableSize {} {
        return [$model info [expr {$only ? "matches" : "events"}]]
    }
    method tableResized {height} {
        set tableRows [expr {max(1, $height / [my lineHeight] - 1)}]
        lset shown 0 {}
        my ShowTable
    }
    method tableScroll {how amount {what units}} {
        set by [expr {$what eq "pages" ? $tableRows : 1}]
        my TableFrom [expr {$how eq "moveto" ? wide($amount * [my TableSize]) : $first + $amount * $by}]
    }
    method TableFrom {row} {
        set first [expr {max(0, min($row, [my TableSize] - $tableRows))}]
        my ShowTable
    }
    # Scroll to the row of the event.
    method TableTo {event} {
        if {!$only && ($event < $first || $event >= $first + $tableRows)} {
            set first [expr {max(0, min($event - $tableRows / 2, [my TableSize] - $tableRows))}]
        }
        my ShowTable
    }
    method onlyMatches {} {
        set only [expr {!$only}]
        my TableFrom 0
    }
    method ShowTable {} {
        set size [my TableSize]
        set state [list $first $tableRows $only $size [$model picked]]
        if {[lindex $shown 0] eq $state} {
            return
        }
        lset shown 0 $state
        set picked [expr {[$model picked] eq "" ? -1 : [dict get [$model picked] event]}]
        $table delete [$table children {}]
        foreach row [$model page $first $tableRows $only] {
            lassign $row event time lane provider name marks duration contents
            set tags [expr {$marks & 17 ? "error" : $marks & 32 ? "note" : ""}]
            $table insert {} end -id $event -tags $tags \
                -values [list $event $time $lane $provider [expr {$marks & 1 ? "\u2717 $name" : $name}] $duration $contents]
            if {$event == $picked} {
                $table selection set [list $event]
            }
        }
        set size [expr {max($size, 1)}]
        $top.below.p.left.events.y set [expr {double($first) / $size}] [expr {min(1.0, double($first + $tableRows) / $size)}]
    }
    method tablePick {} {
        set event [lindex [$table selection] 0]
        if {$event ne "" && ([$model picked] eq "" || [dict get [$model picked] event] != $event)} {
            $model pickEvent $event
            my Picked
        }
    }

    # ---- Details and totals ------------------------------------------------------------------------------------

    method ShowDetails {box} {
        if {[lindex $shown 2] eq $box} {
            return
        }
        lset shown 2 $box
        $details configure -state normal
        $details delete 1.0 end
        foreach {label value} [$model details $box] {
            $details insert end $label\t label
            $details insert end "[::etw::view::Visible $value]\n" [expr {$label in {state error} ? "error" : ""}]
        }
        $details configure -state disabled
    }
    # Without delay: when the tab is opened.
    method showTotals {} {
        my ShowTotals
    }
    method ShowTotals {} {
        set state [list [$model selection] [$model span] [$model info events]]
        if {[lindex $shown 1] eq $state || [$top.below.p.left index current] != 1} {
            return
        }
        lset shown 1 $state
        $totals delete [$totals children {}]
        set sums [$model totals]
        my TotalsGroup "Procs, by own time" [lmap row [dict get $sums calls] {
            list [dict get $row proc] [dict get $row calls] [dict get $row self] [dict get $row total] [dict get $row errors]
        }]
        my TotalsGroup "Waits, by cause" [lmap row [dict get $sums waits] {
            list [dict get $row cause] [dict get $row count] {} [dict get $row total] {}
        }]
        set providers {}
        foreach row [dict get $sums events] {
            dict lappend providers [dict get $row provider] [list [dict get $row event] [dict get $row count] {} {} {}]
        }
        dict for {provider rows} $providers {
            my TotalsGroup $provider $rows
        }
    }
    method TotalsGroup {title rows} {
        if {[llength $rows] == 0} {
            return
        }
        set count 0
        foreach row $rows {
            incr count [lindex $row 1]
        }
        set group [$totals insert {} end -text $title -open 1 -values [list [::etw::view::Count $count]]]
        foreach row [lrange $rows 0 199] {
            lassign $row name count self total errors
            $totals insert $group end -text $name -values [list [::etw::view::Count $count] \
                [expr {$self eq "" ? "" : [::etw::view::Duration $self]}] [expr {$total eq "" ? "" : [::etw::view::Duration $total]}] \
                [expr {$errors in {{} 0} ? "" : "\u2717 $errors"}]]
        }
    }
    method ShowPanes {} {
        # The table follows the picture, unless an event is selected there.
        if {[$model picked] eq "" && !$only} {
            set first [expr {max(0, min([$model firstInSight], [my TableSize] - $tableRows))}]
        }
        my ShowTable
        after cancel $late
        set late [after 200 [list [namespace which my] ShowTotals]] ;# the most expensive part
    }
}
