# files.tcl --
#
#	Opening files whose names come from users. Sourced by etw.tcl.

# As Tcl's open, but NAME is always the name of a file: open runs a command when its argument begins with "|".
proc ::etw::lib::OpenFile {name args} {
    if {[string index $name 0] eq "|"} {
        set name ./$name
    }
    return [open $name {*}$args]
}
