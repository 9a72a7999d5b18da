# tools/make-docs.tcl --
#
#	Converts doctools pages with tcllib's doctools.
#
#	tclsh tools/make-docs.tcl man -out DIR FILE.man ...	man pages, with the title and the section that manpage_begin names
#	tclsh tools/make-docs.tcl site -out DIR -assets DIR FILE ...	one linked site of all pages (tools/docs_site.tcl); Markdown pages, too

package require doctools
source [file join [file dirname [info script]] docs_site.tcl]

namespace eval docs {}

proc docs::usage {} {
    puts stderr "usage: make-docs.tcl man -out DIR ?FILE.man ...?\n       make-docs.tcl site -out DIR -assets DIR ?FILE ...?"
    exit 2
}

proc docs::readFile {path} {
    set f [open $path]
    fconfigure $f -encoding utf-8
    set text [read $f]
    close $f
    return $text
}

proc docs::writeFile {path text} {
    set f [open $path w]
    fconfigure $f -encoding utf-8 -translation lf
    puts $f $text
    close $f
}

# The page in this format of doctools, "nroff" or "html". Warnings go to stderr.
proc docs::convert {path format} {
    doctools::new page -format $format -file $path -module [file rootname [file tail $path]]
    set result [page format [readFile $path]]
    foreach warning [page warnings] {
        puts stderr "$path: $warning"
    }
    page destroy
    return $result
}

# {title section version} of manpage_begin.
proc docs::heading {path} {
    if {![regexp {\[manpage_begin (\S+) (\S+) ([^\]\s]+)\]} [readFile $path] -> title section version]} {
        error "$path: no manpage_begin"
    }
    return [list $title $section $version]
}

proc docs::main {argv} {
    set files [lassign $argv what - out]
    if {$what ni {man site} || [lindex $argv 1] ne "-out"} {
        usage
    }
    file mkdir $out
    if {$what eq "man"} {
        foreach path $files {
            lassign [heading $path] title section
            writeFile [file join $out $title.$section] [convert $path nroff]
        }
        return
    }
    set files [lassign $files option assets]
    if {$option ne "-assets"} {
        usage
    }
    site::make $out $assets $files
}

docs::main $argv
