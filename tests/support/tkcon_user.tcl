# tests/support/tkcon_user.tcl --
#
#	Simulates a user of tkcon, for tkcon.test: sourced in the main interpreter of a real tkcon (-main).
#	Types with key events, clicks with mouse events, selects from menus, waits for the console's output, and
#	prints results for the test. Environment: ETW_USER_SCRIPT, the script to run in namespace user;
#	ETW_USER_SCREEN, the X server's directory; ETW_USER_PICTURES, the directory for screenshots;
#	ETW_USER_BUILD, the package.

# Further consoles get the same arguments.
if {$::tkcon::PRIV(name) ne ""} {
    return
}
source [file join [file dirname [info script]] screen.tcl]

namespace eval user {
    variable keys {
        " " space \n Return : colon \; semicolon \{ braceleft \} braceright \[ bracketleft \] bracketright \$ dollar
        * asterisk / slash - minus + plus = equal < less > greater . period , comma ( parenleft ) parenright \" quotedbl
        ? question ! exclam _ underscore ' apostrophe \\ backslash # numbersign % percent & ampersand | bar ~ asciitilde
    }
}

proc user::console {} {
    return $::tkcon::PRIV(console)
}

# The complete text of the console.
proc user::text {} {
    return [[console] get 1.0 end-1c]
}

# The text after the prompt that is not entered yet.
proc user::typed {} {
    return [[console] get limit end-1c]
}

# Run the event loop until EXPR is true in the caller; an error after a minute.
proc user::until {condition} {
    set end [expr {[clock milliseconds] + 60000}]
    while {![uplevel 1 [list expr $condition]]} {
        if {[clock milliseconds] > $end} {
            error "waited for $condition; the console:\n[text]"
        }
        after 10 {set ::user::tick 1}
        vwait ::user::tick
    }
}

proc user::said {pattern} {
    until [format {[string match %s [::user::text]]} [list $pattern]]
}

proc user::press {window keys} {
    focus -force $window
    update
    foreach key $keys {
        event generate $window <Key> -keysym $key
        if {[winfo exists $window]} {
            event generate $window <KeyRelease> -keysym $key
        }
    }
    update
}

# Send text as key events to the console. A Return evaluates it.
proc user::type {text} {
    variable keys
    press [console] [lmap character [split $text ""] {
        expr {[dict exists $keys $character] ? [dict get $keys $character] : $character}
    }]
}

# Enter a command, and wait for the prompt.
proc user::command {text} {
    type $text\n
    until {[string match {*% } [::user::text]]}
}

# Click with the left button.
proc user::click {window x y} {
    foreach event {Enter Motion Button-1 ButtonRelease-1} {
        event generate $window <$event> -x $x -y $y
    }
    update
}

# Click on the first line with this style and text.
proc user::clickLine {style pattern} {
    set w [console]
    foreach {from to} [$w tag ranges etw-$style] {
        if {[string match $pattern [$w get "$from linestart" "$from lineend"]]} {
            $w see $from
            update
            lassign [$w bbox $from] x y
            click $w [expr {$x + 2}] [expr {$y + 3}]
            return
        }
    }
    error "no line $pattern in $style; the console:\n[text]"
}

# The lines with a style, without the times of events.
proc user::lines {style} {
    set w [console]
    return [lmap {from to} [$w tag ranges etw-$style] {
        regsub {^ *\+\d+\.\d{6} } [$w get "$from linestart" "$from lineend"] {}
    }]
}

proc user::menu {args} {
    set menu $::tkcon::PRIV(menubar).etwtrace
    foreach label [lrange $args 0 end-1] {
        set menu [$menu entrycget $label -menu]
    }
    $menu invoke [lindex $args end]
    update
}

# Output for the test.
proc user::tell {args} {
    ::tkcon_tcl_puts stdout $args
    flush stdout
}

proc user::picture {name} {
    tell picture $name [expr {[screen::png $::env(ETW_USER_SCREEN) [file join $::env(ETW_USER_PICTURES) $name.png]] > 2000}]
}

# Report errors of event handlers in any interpreter: a dialog would wait for ever.
proc user::background {message args} {
    tell failed background $message $::errorInfo $args
    ::tkcon::FinalExit 1
}
interp alias {} ::bgerror {} ::user::background
interp bgerror {} ::user::background

# tkcon runs this file during its start: begin when it shows a prompt.
proc user::begin {} {
    if {![string match {*display active*} [text]]} {
        after 20 ::user::begin
        return
    }
    wm geometry $::tkcon::PRIV(root) +0+0
    set ::tkcon::OPT(lightbrace) 0 ;# its timer fails if the tab is closed within half a second
    if {[catch {namespace eval ::user [list source $::env(ETW_USER_SCRIPT)]} message how]} {
        tell failed [dict get $how -errorinfo]
        ::tkcon::FinalExit 1
    }
}
after 240000 {user::tell failed "four minutes"; ::tkcon::FinalExit 1}
after 20 ::user::begin
