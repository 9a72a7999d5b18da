# tkcon_view.tcl --
#
#	etw::tkcon in the interpreter with the console's widgets: the user's commands, the Trace menu, lines
#	above the prompt, clicks on them. The model controls the trace (tkcon_model.tcl); its interpreter is
#	tkcon's Main.

namespace eval ::etw::tkcon::view {
    variable dir [file dirname [file normalize [info script]]]
    # Settings of the menu: steps of new patterns, kernel groups (name -> enabled).
    variable steps off
    variable groups {process fileio tcpip udpip contextswitch systemcall diskio pagefault}
    variable kernel
    array set kernel {process 1 fileio 1 tcpip 1 udpip 1 contextswitch 0 systemcall 0 diskio 0 pagefault 0}
    # Loads the package into the interpreters of widgets and model, in the version of this file.
    variable needEtw {dir {
        if {[package provide etw] eq ""} {
            set dir [file dirname [file dirname $dir]]
            source [file join $dir pkgIndex.tcl]
            package require etw
        }
    }}
    # The console (a text widget) that has started the trace; "": none here.
    variable console ""
    # Colours of a terminal on a light and on a dark background.
    variable palettes {
        light {dim #6c6c72 error #c01c28 31 #c01c28 32 #1b7f3a 33 #8a6a00 34 #1f5fbf 35 #9141ac 36 #0b7285
            92 #2b8a3e 93 #a06a00 94 #2563c9 95 #b5489b}
        dark {dim #9a9aa0 error #ff6b6b 31 #ff6b6b 32 #69db7c 33 #ffd43b 34 #74a9ff 35 #d68fff 36 #4fd1e0
            92 #8ce99a 93 #ffe066 94 #91c0ff 95 #f0a0dd}
    }
}
source [file join $::etw::tkcon::view::dir windows.tcl]

# ---- Installing ----------------------------------------------------------------------------------

# Install, or install again. Before tkcon has its window (in a start-up file), this is delayed.
proc ::etw::tkcon::view::Install {args} {
    if {![info exists ::tkcon::PRIV(menubar)]} {
        trace add execution ::tkcon::InitUI leave ::etw::tkcon::view::Install
        return
    }
    trace remove execution ::tkcon::InitUI leave ::etw::tkcon::view::Install
    variable dir
    uplevel #0 [list apply $::etw::tkcon::view::needEtw $dir]
    ::tkcon::Main [list apply $::etw::tkcon::view::needEtw $dir]
    ::tkcon::Main [list apply {dir {
        if {![namespace exists ::etw::tkcon::model]} {
            uplevel #0 [list source [file join $dir event_lines.tcl]]
            uplevel #0 [list source [file join $dir tkcon_model.tcl]]
            trace add execution ::exit enter ::etw::tkcon::model::Exit
        }
    }} $dir]
    Menus
    trace remove execution ::tkcon::Attach leave ::etw::tkcon::view::Attached
    trace add execution ::tkcon::Attach leave ::etw::tkcon::view::Attached
    Attached
}

# Call a command of the model.
proc ::etw::tkcon::view::Model {args} {
    return [::tkcon::Main [list ::etw::tkcon::model::[lindex $args 0] {*}[lrange $args 1 end]]]
}

# The path of this interpreter, relative to the model's.
proc ::etw::tkcon::view::Here {} {
    return $::tkcon::PRIV(name)
}

# The interpreter in which the console evaluates commands: its path relative to the model's, and its namespace.
proc ::etw::tkcon::view::There {} {
    upvar #0 ::tkcon::PRIV priv
    if {$priv(apptype) ne "slave"} {
        return -code error -errorcode [list ETW UNSUPPORTED ATTACHED $priv(apptype) $priv(app)] \
            "the console is attached to \"$priv(app)\", which is no interpreter of this process: trace it there\
            (\"package require etw\", or \"etw record\")"
    }
    if {$priv(appname) eq ""} {
        set path [concat $priv(name) $::tkcon::OPT(exec)]
    } elseif {$priv(app) eq "Main"} {
        set path {}
    } else {
        set path $priv(app)
    }
    return [list $path $priv(namesp)]
}

# The console was attached to an interpreter, which also gets the command.
proc ::etw::tkcon::view::Attached {args} {
    if {[catch There there]} {
        return
    }
    ::tkcon::Main [list apply {{path here} {
        if {$path ne $here && [interp eval $path {info commands ::etw::tkcon}] eq ""} {
            interp alias $path ::etw::tkcon $here ::etw::tkcon
        }
    }} [lindex $there 0] [Here]]
}

# ---- Commands ------------------------------------------------------------------------------------

# etw::tkcon trace ?pattern ...? ?-steps off|line|full? ?-kernel groups? ?-file path? ?-lines n?
proc ::etw::tkcon::view::trace_ {args} {
    variable steps
    variable console
    lassign [There] path namespace
    lassign [Model Words $args [list -steps $steps -wish [RequestedGroups]]] patterns options
    if {[llength $patterns] == 0} {
        set patterns *
    }
    set fresh [expr {[dict get [Model Status] session] eq ""}]
    set con $::tkcon::PRIV(console)
    Prepare $con
    set sink [list apply {{path con rows} {
        interp eval $path [list ::etw::tkcon::view::Lines $con $rows]
    }} [Here] $con]
    Model Start $sink [Here] $path [Model Absolute $patterns $namespace] $options
    if {$fresh} {
        set console $con
    }
    return
}

# Kernel groups enabled in the menu.
proc ::etw::tkcon::view::RequestedGroups {} {
    variable groups
    variable kernel
    return [lmap group $groups {
        if {!$kernel($group)} continue
        set group
    }]
}

proc ::etw::tkcon::view::untrace {args} {
    lassign [There] path namespace
    return [Model Remove $path [Model Absolute $args $namespace]]
}

proc ::etw::tkcon::view::stop {} {
    return [Model Stop]
}

proc ::etw::tkcon::view::status {} {
    return [Model Status]
}

# Open a viewer for the trace so far; returns its window.
proc ::etw::tkcon::view::view {} {
    return [::etw view [Model File]]
}

proc ::etw::tkcon::view::save {path} {
    return [Model Save $path]
}

proc ::etw::tkcon::view::pick {} {
    return [PickProcs]
}

namespace eval ::etw::tkcon::view {
    namespace ensemble create -command ::etw::tkcon -map {
        trace ::etw::tkcon::view::trace_ untrace ::etw::tkcon::view::untrace stop ::etw::tkcon::view::stop
        status ::etw::tkcon::view::status view ::etw::tkcon::view::view save ::etw::tkcon::view::save
        pick ::etw::tkcon::view::pick
    }
}

# ---- Menu ----------------------------------------------------------------------------------------

proc ::etw::tkcon::view::Menus {} {
    foreach parent [list $::tkcon::PRIV(menubar) $::tkcon::PRIV(popup)] {
        if {![winfo exists $parent.etwtrace]} {
            $parent insert [$parent index Help] cascade -label Trace -underline 0 -menu [Menu $parent.etwtrace]
        }
    }
}

proc ::etw::tkcon::view::Menu {m} {
    variable groups
    menu $m -tearoff 0
    $m add command -label "Trace Procs ..." -underline 6 -command {::etw::tkcon::view::Do pick}
    $m add command -label "Trace All Procs" -underline 6 -command {::etw::tkcon::view::Do trace ::*}
    $m add command -label "Stop Tracing" -underline 0 -command {::etw::tkcon::view::Do stop}
    $m add separator
    $m add cascade -label "Steps" -underline 2 -menu [menu $m.steps -tearoff 0]
    foreach {label value} {"Calls Only" off "Lines" line "Every Command" full} {
        $m.steps add radiobutton -label $label -value $value -variable ::etw::tkcon::view::steps
    }
    $m add cascade -label "Kernel Events" -underline 0 -menu [menu $m.kernel -tearoff 0]
    foreach group $groups {
        $m.kernel add checkbutton -label $group -variable ::etw::tkcon::view::kernel($group)
    }
    $m add separator
    $m add command -label "Open Viewer" -underline 5 -command {::etw::tkcon::view::Do view}
    $m add command -label "Save Trace ..." -underline 1 -command ::etw::tkcon::view::AskSave
    return $m
}

# A command from the menu or a window: errors are shown in the console.
proc ::etw::tkcon::view::Do {args} {
    if {[catch {::etw::tkcon {*}$args} message]} {
        Complain $message
    }
}

proc ::etw::tkcon::view::Complain {message} {
    set con $::tkcon::PRIV(console)
    Prepare $con
    Lines $con [list [list 0 [list error $message]]]
}

proc ::etw::tkcon::view::AskSave {} {
    set path [tk_getSaveFile -parent $::tkcon::PRIV(root) -title "Save trace" -defaultextension .etl \
        -filetypes {{"Event traces" .etl} {"All files" *}}]
    if {$path ne ""} {
        Do save $path
    }
}

# ---- Lines in a console --------------------------------------------------------------------------

# Set colours and clicks of a console, whose font and background may have changed.
proc ::etw::tkcon::view::Prepare {con} {
    variable palettes
    set sum [tcl::mathop::+ {*}[winfo rgb $con [$con cget -background]]]
    set palette [dict get $palettes [expr {$sum > 3 * 32768 ? "light" : "dark"}]]
    foreach {style colour} $palette {
        $con tag configure etw-$style -foreground $colour
    }
    $con tag configure etw-bold -font [BoldOf [$con cget -font]]
    $con tag bind etw-line <ButtonRelease-1> [list ::etw::tkcon::view::Click $con %x %y]
    $con tag bind etw-line <Enter> [list $con configure -cursor hand2]
    $con tag bind etw-line <Leave> [list $con configure -cursor xterm]
    if {![string match *::etw::tkcon::view::Destroyed* [bind $con <Destroy>]]} {
        bind $con <Destroy> [list +::etw::tkcon::view::Destroyed %W]
    }
}

proc ::etw::tkcon::view::BoldOf {font} {
    if {"etwtkconbold" ni [font names]} {
        font create etwtkconbold
    }
    font configure etwtkconbold {*}[font actual $font] -weight bold
    return etwtkconbold
}

# Insert rows (tkcon_model.tcl) above the prompt, as `puts` does: the user's input is unchanged.
proc ::etw::tkcon::view::Lines {con rows} {
    if {![winfo exists $con]} {
        return
    }
    set follow [expr {[lindex [$con yview] 1] >= 1}]
    set words {}
    if {![string match *.0 [$con index output]]} {
        lappend words \n {}
    }
    set columns [Columns $con]
    foreach row $rows {
        lappend words {*}[Row $row $columns]
    }
    $con insert output {*}$words
    ::tkcon::ConstrainBuffer $con $::tkcon::OPT(buffer)
    Forget $con
    if {$follow} {
        $con see end
    }
    if {$con eq $::tkcon::PRIV(console)} {
        set ::tkcon::PRIV(StatusCursor) [$con index insert]
    }
}

# Arguments for the text widget: one line, truncated to the console's width. Remarks are not truncated.
proc ::etw::tkcon::view::Row {row columns} {
    lassign $row number line
    set tags [expr {$number > 0 ? [list etw-line etw:$number] : $number < 0 ? {etw-line etw:more} : {}}]
    set words {}
    foreach {style text} $line {
        set size [string length $text]
        if {$number != 0 && $size > $columns} {
            lappend words [string range $text 0 [expr {$columns - 2}]]\u2026 [list etw-$style {*}$tags]
            break
        }
        incr columns -$size
        lappend words $text [list etw-$style {*}$tags]
    }
    return [lappend words \n $tags]
}

proc ::etw::tkcon::view::Columns {con} {
    set width [expr {[winfo width $con] - 2 * [$con cget -padx] - 2 * [$con cget -borderwidth] - 2 * [$con cget -highlightthickness]}]
    return [expr {max(20, $width / [font measure [$con cget -font] 0])}]
}

# Delete tags of lines that were removed by the console's buffer limit; the oldest come first.
proc ::etw::tkcon::view::Forget {con} {
    foreach tag [$con tag names] {
        if {[string match {etw:[0-9]*} $tag]} {
            if {[$con tag nextrange $tag 1.0] ne ""} {
                return
            }
            $con tag delete $tag
        }
    }
}

# A line was clicked, not dragged.
proc ::etw::tkcon::view::Click {con x y} {
    if {[info exists ::tk::Priv(mouseMoved)] && $::tk::Priv(mouseMoved)} {
        return
    }
    foreach tag [$con tag names @$x,$y] {
        if {$tag eq "etw:more"} {
            Do view
        } elseif {[scan $tag etw:%d number] == 1} {
            ShowFields $number
        }
    }
}

# A tab or the console is closed: its trace ends.
proc ::etw::tkcon::view::Destroyed {con} {
    variable console
    if {$con eq $console} {
        set console ""
        Model Quit
    }
}
