# tests/support/tkcon_user.tcl --
#
#	A person before a tkcon, for tkcon.test: sourced in the main interpreter of a real one (-main). It types with key events,
#	clicks with mouse events, chooses from menus, waits for what the console shows, and prints what the test wants to know.
#	Environment: ETW_USER_SCRIPT, what to do, run in namespace user; ETW_USER_SCREEN, the X server's directory;
#	ETW_USER_PICTURES, where pictures go; ETW_USER_BUILD, the package.

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

# All that the console shows.
proc user::text {} {
    return [[console] get 1.0 end-1c]
}

# What is typed after the prompt and not yet entered.
proc user::typed {} {
    return [[console] get limit end-1c]
}

# Serve events until EXPR is true in the caller; an error after a minute.
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

# Text as keys into the console. A Return evaluates it.
proc user::type {text} {
    variable keys
    press [console] [lmap character [split $text ""] {
        expr {[dict exists $keys $character] ? [dict get $keys $character] : $character}
    }]
}

# A whole command, and the prompt after it.
proc user::command {text} {
    type $text\n
    until {[string match {*% } [::user::text]]}
}

# A click of the left button.
proc user::click {window x y} {
    foreach event {Enter Motion Button-1 ButtonRelease-1} {
        event generate $window <$event> -x $x -y $y
    }
    update
}

# A click on the first line that has this style and text.
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

# Lines that have a style, those of events without their times.
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

# For the test to read.
proc user::tell {args} {
    ::tkcon_tcl_puts stdout $args
    flush stdout
}

proc user::picture {name} {
    tell picture $name [expr {[screen::png $::env(ETW_USER_SCREEN) [file join $::env(ETW_USER_PICTURES) $name.png]] > 2000}]
}

# What an event's script raised, in whichever interpreter: no dialog that nobody answers.
proc user::background {message args} {
    tell failed background $message $::errorInfo $args
    ::tkcon::FinalExit 1
}
interp alias {} ::bgerror {} ::user::background
interp bgerror {} ::user::background

# tkcon runs this file while it starts: begin when its prompt stands.
proc user::begin {} {
    if {![string match {*display active*} [text]]} {
        after 20 ::user::begin
        return
    }
    wm geometry $::tkcon::PRIV(root) +0+0
    set ::tkcon::OPT(lightbrace) 0 ;# its timer fails when the tab is closed within half a second
    if {[catch {namespace eval ::user [list source $::env(ETW_USER_SCRIPT)]} message how]} {
        tell failed [dict get $how -errorinfo]
        ::tkcon::FinalExit 1
    }
}
after 240000 {user::tell failed "four minutes"; ::tkcon::FinalExit 1}
after 20 ::user::begin
