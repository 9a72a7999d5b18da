# profiles.tcl --
#
#	Recording profiles: named sets of options for `etw record`. A profile is a file NAME.profile with a dict
#	(words as in Tcl, lines that begin with # are comments; nothing in it is evaluated):
#
#	    about	one line for `etw profiles`
#	    kernel script provider redact	lists, as those options of `etw record`
#	    steps args source stacks interval maxsize buffersize buffers	values, as those options
#	    light verbose	dicts of the same keys, which replace the above for NAME.light and NAME.verbose
#
#	A profile is searched as a path, in $XDG_CONFIG_HOME/etw (otherwise ~/.config/etw), then among those of
#	the package.

namespace eval ::etw::cli {
    variable profileLists {kernel script provider redact}
    variable profileValues {steps args source stacks interval maxsize buffersize buffers}
}

proc ::etw::cli::ProfileDirs {} {
    variable packageDir
    set dirs {}
    if {[info exists ::env(XDG_CONFIG_HOME)] && $::env(XDG_CONFIG_HOME) ne ""} {
        lappend dirs [file join $::env(XDG_CONFIG_HOME) etw]
    } elseif {[info exists ::env(HOME)]} {
        lappend dirs [file join $::env(HOME) .config etw]
    }
    return [lappend dirs [file join $packageDir library profiles]]
}

# Names -> paths; a user's profile hides the package's.
proc ::etw::cli::ProfileFiles {} {
    set files {}
    foreach dir [lreverse [ProfileDirs]] {
        foreach path [lsort [glob -nocomplain -directory $dir *.profile]] {
            dict set files [file rootname [file tail $path]] $path
        }
    }
    return $files
}

proc ::etw::cli::Profiles {args} {
    Parse profiles $args
    set rows {}
    dict for {name path} [ProfileFiles] {
        if {[catch {ReadProfile $path} profile]} {
            set profile [list about "(broken: $profile)"]
        }
        set variants [lmap variant {light verbose} {
            if {![dict exists $profile $variant]} continue
            set variant
        }]
        lappend rows [list $name [join $variants ,] [Option $profile about {}]]
    }
    puts [join [::etw::lib::Table {NAME ALSO ABOUT} $rows] \n]
    return 0
}

# The dict in a file, checked.
proc ::etw::cli::ReadProfile {path} {
    set f [::etw::lib::OpenFile $path]
    try {
        fconfigure $f -encoding utf-8
        set text [read $f]
    } finally {
        close $f
    }
    set text [join [lsearch -all -inline -not -regexp [split $text \n] {^\s*#}] \n]
    if {[catch {dict size $text} message]} {
        Broken $path "it is not a list of keys and values: $message"
    }
    set profile [NewKeys $text]
    CheckProfile $path $profile 1
    return $profile
}

# A profile with old names of keys renamed.
proc ::etw::cli::NewKeys {profile} {
    variable oldNames
    set renamed {}
    dict for {key value} $profile {
        if {$key in {light verbose} && ![catch {dict size $value}]} {
            set value [NewKeys $value]
        }
        dict set renamed [expr {[dict exists $oldNames $key] ? [dict get $oldNames $key] : $key}] $value
    }
    return $renamed
}

proc ::etw::cli::Broken {path why} {
    return -code error -errorcode [list ETW FORMAT PROFILE $path] "profile \"$path\": $why"
}

proc ::etw::cli::CheckProfile {path profile variants} {
    variable profileLists
    variable profileValues
    set known [concat $profileLists $profileValues [expr {$variants ? {about light verbose} : {}}]]
    dict for {key value} $profile {
        if {$key ni $known} {
            Broken $path "unknown key \"$key\": must be [join $known {, }][DidYouMean $key $known]"
        }
        if {$key in $profileLists && [catch {llength $value}]} {
            Broken $path "the value of \"$key\" is not a list"
        }
        if {$key in {light verbose}} {
            if {[catch {dict size $value}]} {
                Broken $path "the value of \"$key\" is not a list of keys and values"
            }
            CheckProfile $path $value 0
        }
    }
}

# The settings of NAME, NAME.light or NAME.verbose, or of a file.
proc ::etw::cli::ProfileOf {name} {
    set files [ProfileFiles]
    set variant {}
    if {[string match */* $name] || [string match *.profile $name]} {
        set path $name
    } else {
        if {![dict exists $files $name]} {
            regexp {^(.*)\.(light|verbose)$} $name -> name variant
        }
        if {![dict exists $files $name]} {
            return -code error -errorcode [list ETW LOOKUP PROFILE $name] \
                "there is no profile \"$name\"; there are [join [dict keys $files] {, }]"
        }
        set path [dict get $files $name]
    }
    set profile [ReadProfile $path]
    set settings [dict remove $profile about light verbose]
    if {$variant ne ""} {
        if {![dict exists $profile $variant]} {
            return -code error -errorcode [list ETW LOOKUP PROFILE $name.$variant] \
                "profile \"$name\" has no variant \"$variant\""
        }
        set settings [dict merge $settings [dict get $profile $variant]]
    }
    return $settings
}

# The options, merged with those of their profiles: lists are combined, single values of the command line have
# precedence.
proc ::etw::cli::WithProfiles {options} {
    variable profileLists
    foreach name [Words [Option $options profile {}]] {
        dict for {key value} [ProfileOf $name] {
            if {$key in $profileLists} {
                dict lappend options $key {*}$value
            } elseif {![dict exists $options $key]} {
                dict set options $key $value
            }
        }
    }
    return $options
}
