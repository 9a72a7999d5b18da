# tools/make-docs.tcl --
#
#	Converts doctools pages to man pages (.n) and HTML with tcllib's doctools.
#
#	tclsh tools/make-docs.tcl -out DIR FILE.man ...

package require doctools

if {[lindex $argv 0] ne "-out"} {
    puts stderr "usage: make-docs.tcl -out DIR ?FILE.man ...?"
    exit 2
}
set files [lassign $argv - out]
file mkdir $out
foreach {format suffix} {nroff .n html .html} {
    foreach path $files {
        set name [file rootname [file tail $path]]
        doctools::new page -format $format -file $path -module $name
        set f [open $path]
        fconfigure $f -encoding utf-8
        set text [read $f]
        close $f
        set f [open [file join $out $name$suffix] w]
        fconfigure $f -encoding utf-8
        puts $f [page format $text]
        close $f
        foreach warning [page warnings] {
            puts stderr "$path: $warning"
        }
        page destroy
    }
}
