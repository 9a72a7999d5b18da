# tools/make-docs.tcl --
#
#	Converts doctools pages with tcllib's doctools: X.man to X.html and to a man page with the title and the
#	section that manpage_begin names.
#
#	tclsh tools/make-docs.tcl -out DIR FILE.man ...

package require doctools

if {[lindex $argv 0] ne "-out"} {
    puts stderr "usage: make-docs.tcl -out DIR ?FILE.man ...?"
    exit 2
}
set files [lassign $argv - out]
file mkdir $out
foreach format {nroff html} {
    foreach path $files {
        set name [file rootname [file tail $path]]
        doctools::new page -format $format -file $path -module $name
        set f [open $path]
        fconfigure $f -encoding utf-8
        set text [read $f]
        close $f
        if {![regexp {\[manpage_begin (\S+) (\S+) } $text -> title section]} {
            error "$path: no manpage_begin"
        }
        set f [open [file join $out [expr {$format eq "html" ? "$name.html" : "$title.$section"}]] w]
        fconfigure $f -encoding utf-8
        puts $f [page format $text]
        close $f
        foreach warning [page warnings] {
            puts stderr "$path: $warning"
        }
        page destroy
    }
}
