# files.tcl --
#
#	Opens files with names from users. Sourced by etw.tcl.

# Like Tcl's open, but NAME is always a file name: open runs a command if its argument begins with "|".
proc ::etw::lib::OpenFile {name args} {
    if {[string index $name 0] eq "|"} {
        set name ./$name
    }
    return [open $name {*}$args]
}

# A channel of a new file for rows in UTF-8, which can be written and read, and in the caller's variable PATHVAR the name that opens the
# same file. Where the system allows it, the file has no name in a directory, so that nothing remains when this process is killed.
proc ::etw::lib::RowsFile {pathVar} {
    upvar 1 $pathVar path
    set chan [file tempfile path etwload]
    fconfigure $chan -encoding utf-8 -translation lf
    if {$::tcl_platform(os) eq "Linux" && [regexp {^file(\d+)$} $chan -> number] && [file exists /proc/self/fd/$number]} {
        file delete $path
        set path /proc/self/fd/$number
    }
    return $chan
}

proc ::etw::lib::RowsClose {chan path} {
    close $chan
    if {![string match /proc/self/fd/* $path]} {
        file delete $path
    }
}
