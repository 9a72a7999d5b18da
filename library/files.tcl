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
