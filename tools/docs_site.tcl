# tools/docs_site.tcl --
#
#	Makes a static site of doctools pages and Markdown pages: pages with navigation, an index page, and search-index.js for the search in the page
#	(doc/site/site.js). Sourced by make-docs.tcl.
#
#	A page is a dict: name (of its file), label, summary (one line), keywords, body (HTML), entries: {anchor title} of its headings and definitions.

namespace eval site {
    variable pages {}    ;# name -> page, in the order of the contents
    variable groups {}   ;# group -> names of its pages
    variable labels {}   ;# title(section) -> name
    variable commands {} ;# name of page -> dict: command -> anchor
    variable terms {}    ;# term of the glossary -> anchor
    variable images {}   ;# paths of pictures in Markdown pages
    variable sources {}  ;# path of a source -> name of its page
}

# ---- Text ------------------------------------------------------------------------------------------

proc site::plain {html} {
    set text [regsub -all {<[^>]*>} $html {}]
    return [string map {&lt; < &gt; > &quot; \" &copy; © &nbsp; " " &amp; &} [string trim [regsub -all {\s+} $text { }]]]
}

proc site::escape {text} {
    return [string map {& &amp; < &lt; > &gt; \" &quot;} $text]
}

proc site::slug {text} {
    set slug [string trim [regsub -all {[^a-z0-9_]+} [string map {+ p} [string tolower $text]] -] -]
    return [expr {$slug eq "" ? "x" : [string trimright [string range $slug 0 47] -]}]
}

proc site::json {text} {
    return \"[string map {\\ \\\\ \" \\\" \n \\n \t \\t < \\u003c} $text]\"
}

# Cuts the text before the next element with one of these tags off `rest`, and the element. Sets `before`, `kind`, `open` (its start tag), `inner`;
# returns 0, and `before` is all that is left, when there is none. Elements of these tags contain none of the same tag.
proc site::nextElement {tags restVar} {
    upvar 1 $restVar rest before before kind kind open open inner inner
    if {![regexp -indices "<($tags)(?= |>)\[^>\]*>" $rest all tag]} {
        set before $rest
        return 0
    }
    set before [string range $rest 0 [lindex $all 0]-1]
    set kind [string range $rest {*}$tag]
    set open [string range $rest {*}$all]
    set end [string first </$kind> $rest [lindex $all 1]]
    set inner [string range $rest [lindex $all 1]+1 $end-1]
    set rest [string range $rest [expr {$end + [string length </$kind>]}] end]
    return 1
}

# The text from the first `start` to the next `end` behind it, without both; empty when there is none.
proc site::between {text start end} {
    set from [string first $start $text]
    set to [string first $end $text [expr {$from + [string length $start]}]]
    return [expr {$from < 0 || $to < 0 ? "" : [string range $text [expr {$from + [string length $start]}] $to-1]}]
}

# ---- Pages -----------------------------------------------------------------------------------------

# A doctools page: the body of doctools' HTML without its title, Name and Table of Contents.
proc site::readMan {path} {
    lassign [docs::heading $path] title section
    set name [nameOf $path]
    set html [docs::convert $path html]
    set body [between $html {<body><div class="doctools">} {</div></body>}]
    set summary [regsub {^\S+ - } [between [between $body {id="name"} </div>] <p> </p>] {}]
    if {$body eq "" || $summary eq ""} {
        error "$path: the HTML of doctools is not as expected"
    }
    set body [string range $body [expr {[string first </h1> $body] + 5}] end]
    foreach id {name toc} {
        set start [string first "<div id=\"$id\"" $body]
        set body [string replace $body $start [expr {[string first </div> $body $start] + 5}]]
    }
    set keywords [between [between $body {<a name="keywords">} </div>] <p> </p>]
    variable labels
    dict set labels $title\($section) $name
    return [dict create name $name label $title\($section) summary [plain $summary] keywords [split [string map {{, } ,} [plain $keywords]] ,] body $body]
}

# The name of a page on the site. The tutorial's own index is the page "tutorial".
proc site::nameOf {path} {
    set name [file rootname [file tail $path]]
    return [expr {$name eq "index" && [file tail [file dirname $path]] eq "tutorial" ? "tutorial" : $name}]
}

# A Markdown page: its first heading is the label, the first sentence of its first paragraph the summary. tcllib's Markdown does not recognise all fences, so
# they are replaced by words before the conversion.
proc site::readMarkdown {path} {
    package require Markdown
    set name [nameOf $path]
    lassign [cutFences [docs::readFile $path]] text fences
    set body [Markdown::convert [withoutComments $text]]
    set label $name
    set rest $body
    if {[nextElement h1 rest]} {
        set label $inner
        set body $before$rest
    }
    set summary [plain [between $body <p> </p>]]
    regexp {^.*?[.:](?= |$)} $summary summary
    return [dict create name $name label [plain $label] summary [string trimright $summary .:] keywords {} body [string map $fences [localTargets $path $body]]]
}

# {text without what is in fences, map from the paragraphs in their places to HTML}
proc site::cutFences {text} {
    set result {}
    set fences {}
    set fence {}
    foreach line [split $text \n] {
        if {[regexp {^\s*```} $line]} {
            if {$fence eq ""} {
                set fence "<pre><code>"
            } else {
                set mark xFENCE[llength $fences]x
                lappend fences <p>$mark</p> [string trimright $fence \n]</code></pre>
                append result \n$mark\n\n
                set fence {}
            }
        } elseif {$fence ne ""} {
            append fence [escape $line] \n
        } else {
            append result $line \n
        }
    }
    return [list $result $fences]
}

proc site::withoutComments {text} {
    while {[set from [string first <!-- $text]] >= 0} {
        set to [string first --> $text $from]
        set text [string replace $text $from [expr {$to < 0 ? "end" : $to + 2}]]
    }
    return $text
}

# Links of a Markdown page: those to other sources of pages lead to the pages, pictures go beside the pages, and links to other files of the source tree are no links.
proc site::localTargets {path body} {
    variable images
    variable sources
    set result {}
    while {[regexp -indices {<(?:a href|img src)=("([^":#]+)(#[^"]*)?")} $body all quoted target fragment]} {
        set file [file normalize [file join [file dirname $path] [string range $body {*}$target]]]
        if {[dict exists $sources $file]} {
            set new "[dict get $sources $file].html[string range $body {*}$fragment]"
        } elseif {[file extension $file] in {.png .svg} && [file isfile $file]} {
            set new [file tail $file]
            lappend images $file
        } else {
            set new {}
        }
        append result [string range $body 0 [lindex $all 0]-1]
        append result [expr {$new ne "" ? "[string range $body [lindex $all 0] [lindex $quoted 0]]$new\"" : "<a"}]
        set body [string range $body [lindex $all 1]+1 end]
    }
    return $result$body
}

# Gives every heading and definition of a page an anchor of its name, in place of doctools' numbers, and changes the page's links to them.
proc site::anchors {pageVar} {
    upvar 1 $pageVar page
    variable commands
    set body [dict get $page body]
    set result {}
    set seen {search 1 query 1 menu 1 results 1 page 1} ;# of the frame
    set renamed {}
    set entries {}
    set call {}
    set own {}
    while {[nextElement h2|h3|dt body]} {
        append result $before
        set old {}
        regexp {^<a name="([^"]*)">(.*)</a>$} $inner -> old inner
        set words [commandOf $inner]
        set isCall [expr {$kind eq "dt" && $old ne ""}]
        if {$kind ne "dt"} {
            set call {}
            set anchor [slug [plain $inner]]
        } elseif {$words ne ""} {
            set call [slug $words]
            set anchor $call
        } elseif {[regexp {^<b class="option">([^<]*)</b>} $inner -> option]} {
            set anchor [slug "[expr {$call eq "" ? "option" : $call}] [regsub {^-\w, } [plain $option] {}]"]
        } else {
            set anchor [slug [plain $inner]]
        }
        set base $anchor
        for {set n 2} {[dict exists $seen $anchor]} {incr n} {
            set anchor $base-$n
        }
        dict set seen $anchor 1
        if {$old ne ""} {
            dict set renamed $old $anchor
        }
        foreach command [expr {$isCall || $words eq "" ? [list $words] : [commandsOf $inner]}] {
            if {$command ne "" && ![dict exists $own $command]} {
                dict set own $command $anchor
            }
        }
        lappend entries [list $kind $anchor [plain $inner]]
        append result "<$kind id=\"$anchor\"[expr {$isCall ? { class="call"} : {}}]>$inner<a class=\"anchor\" href=\"#$anchor\" aria-label=\"Link to this place\">#</a></$kind>"
    }
    append result $before
    regsub -all {<div id="[^"]*"} $result {<div} result
    dict for {old new} $renamed {
        set result [string map [list "href=\"#$old\"" "href=\"#\x01$new\""] $result]
    }
    dict set page body [string map [list \x01 {}] $result]
    dict set page entries $entries
    dict set commands [dict get $page name] $own
}

# The command that a definition is about, as "etw script add"; otherwise empty.
proc site::commandOf {html} {
    if {![regexp {^<b class="cmd">([^<]*)</b>((?: <b class="method">[^<]*</b>)*)} $html -> command methods]} {
        return {}
    }
    return [plain $command$methods]
}

# All commands of a definition such as "etw enable, etw disable".
proc site::commandsOf {html} {
    return [lmap {- command} [regexp -all -inline {<b class="cmd">(etw [^<]*)</b>} $html] {plain $command}]
}

# ---- Links between pages ---------------------------------------------------------------------------

# The place on the site that describes a command: on the page itself, on the tool's page for a shell command (`shell` is 1), else on a page of Tcl commands.
proc site::placeOf {name command shell} {
    variable commands
    variable pages
    set order [list $name]
    if {$shell} {
        lappend order etw-tool
    }
    # A page about one command describes it better than the page of all commands.
    lappend order {*}[lsearch -all -inline -exact -not [lsearch -all -inline -exact -not [dict keys $pages] etw] etw-tool] etw etw-tool
    set words [split $command { }]
    for {set n [llength $words]} {$n > 1} {incr n -1} {
        set prefix [join [lrange $words 0 $n-1] { }]
        foreach page $order {
            if {[dict exists $commands $page $prefix]} {
                return [expr {$page eq $name ? "" : "$page.html"}]#[dict get $commands $page $prefix]
            }
        }
    }
    return {}
}

# Links commands (etw summary), terms of the glossary and names of pages, such as etw_summary(n), in the text of a page. What is inside a link or an
# example stays as it is; so do headings and terms of definitions.
proc site::crossLink {page} {
    set name [dict get $page name]
    set result {}
    set rest [dict get $page body]
    while {[nextElement a|pre|h2|h3|dt rest]} {
        append result [linkText $name $before] $open $inner </$kind>
    }
    return $result[linkText $name $before]
}

proc site::linkText {name html} {
    variable labels
    variable terms
    set result {}
    while {[regexp -indices {<b class="cmd">(etw [^<]+)</b>|<i class="term">([^<]+)</i>|\m[\w-]+\((?:n|1)\)} $html all command term]} {
        append result [string range $html 0 [lindex $all 0]-1]
        set text [string range $html {*}$all]
        set target {}
        if {[lindex $command 0] >= 0} {
            set words [plain [string range $html {*}$command]]
            set target [placeOf $name $words [regexp { --| -[a-zA-Z](?: |$)} $words]]
        } elseif {[lindex $term 0] >= 0} {
            set word [string tolower [plain [string range $html {*}$term]]]
            if {[dict exists $terms $word] && $name ne "etw_glossary"} {
                set target etw_glossary.html#[dict get $terms $word]
            } elseif {[dict exists $terms $word]} {
                set target #[dict get $terms $word]
            }
        } elseif {[dict exists $labels $text]} {
            set target [dict get $labels $text].html
        }
        append result [expr {$target eq "" ? $text : "<a href=\"[escape $target]\">$text</a>"}]
        set html [string range $html [lindex $all 1]+1 end]
    }
    return $result$html
}

# Each keyword of a page leads to the pages that have it.
proc site::linkKeywords {page body} {
    set links [lmap keyword [dict get $page keywords] {
        set target index.html#keyword-[slug $keyword]
        string cat "<a href=\"$target\">" [escape $keyword] </a>
    }]
    set start [string first <p> $body [string first {<h2 id="keywords">} $body]]
    if {[llength $links] == 0 || $start < 0} {
        return $body
    }
    return [string replace $body $start [expr {[string first </p> $body $start] + 3}] "<p>[join $links {, }]</p>"]
}

# ---- Contents --------------------------------------------------------------------------------------

# The groups of the contents file, with the pages that exist.
proc site::readContents {path names tutorial} {
    variable groups
    set group {}
    set placed {}
    foreach line [split [docs::readFile $path] \n] {
        if {[string match "#*" $line] || [string trim $line] eq ""} {
            continue
        }
        if {![string match " *" $line]} {
            set group [string trim $line]
            dict set groups $group [expr {$group eq "Tutorial" ? $tutorial : {}}]
        } elseif {[string trim $line] in $names} {
            dict lappend groups $group [string trim $line]
        } else {
            error "$path: there is no page [string trim $line]"
        }
    }
    dict for {- members} $groups {
        lappend placed {*}$members
    }
    dict set groups More [lmap name $names {expr {$name in $placed ? [continue] : $name}}]
    set groups [dict filter $groups script {group members} {expr {$members ne ""}}]
}

# Pages of the tutorial: its index, then the others in the order in which the index has links to them, then the rest.
proc site::inOrder {names} {
    variable pages
    set order {}
    if {"tutorial" in $names} {
        lappend order tutorial
        foreach {- name} [regexp -all -inline {<a href="([^"#]+)\.html} [dict get $pages tutorial body]] {
            if {$name in $names && $name ni $order} {
                lappend order $name
            }
        }
    }
    return [concat $order [lmap name $names {expr {$name in $order ? [continue] : $name}}]]
}

proc site::navigation {current} {
    variable pages
    variable groups
    set html "<p><a href=\"index.html\"[expr {$current eq "" ? { aria-current="page"} : {}}]>All pages</a></p>\n"
    dict for {group names} $groups {
        append html "<h2>[escape $group]</h2>\n<ul>\n"
        foreach name $names {
            set page [dict get $pages $name]
            append html "<li><a href=\"$name.html\" title=\"[escape [dict get $page summary]]\""
            if {$name eq $current} {
                append html " aria-current=\"page\"" > [escape [dict get $page label]] </a> [sections $page] </li>\n
            } else {
                append html > [escape [dict get $page label]] </a></li>\n
            }
        }
        append html </ul>\n
    }
    return $html
}

# The sections of the page that is shown, below its name.
proc site::sections {page} {
    set html {}
    foreach entry [dict get $page entries] {
        lassign $entry kind anchor title
        if {$kind eq "h2" && $anchor ni {see-also keywords copyright}} {
            append html "<li><a href=\"#$anchor\">[escape $title]</a></li>\n"
        }
    }
    return [expr {$html eq "" ? "" : "\n<ul>\n$html</ul>\n"}]
}

# ---- Output ----------------------------------------------------------------------------------------

proc site::frame {name title body} {
    return "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<title>[escape $title]</title>
<link rel=\"stylesheet\" href=\"site.css\">
<script src=\"search-index.js\" defer></script>
<script src=\"site.js\" defer></script>
</head>
<body>
<header>
<a class=\"home\" href=\"index.html\">etw</a>
<form id=\"search\" role=\"search\" hidden><input id=\"query\" type=\"search\" placeholder=\"Search the manual ( / )\" aria-label=\"Search the manual\" autocomplete=\"off\"></form>
<label class=\"menu\" for=\"menu\">Pages</label>
</header>
<input id=\"menu\" type=\"checkbox\" aria-label=\"Show the list of pages\">
<nav>
[navigation $name]</nav>
<main>
<ol id=\"results\" hidden></ol>
<div id=\"page\">
$body
</div>
</main>
</body>
</html>"
}

# Links to the page before and the page after.
proc site::neighbours {name} {
    variable pages
    set names [dict keys $pages]
    set at [lsearch -exact $names $name]
    set html {<p class="neighbours">}
    foreach {offset class} {-1 before 1 after} {
        set other [lindex $names $at+$offset]
        if {$other ne ""} {
            append html "<a class=\"$class\" href=\"$other.html\">[escape [dict get $pages $other label]]</a> "
        }
    }
    return $html</p>
}

# One line for each page, then the keywords.
proc site::indexBody {} {
    variable pages
    variable groups
    set html "<h1>etw</h1>\n<p class=\"lead\">Event tracing for Tcl scripts, applications and the kernel.</p>\n"
    dict for {group names} $groups {
        append html "<h2 id=\"[slug $group]\">[escape $group]</h2>\n<dl class=\"pages\">\n"
        foreach name $names {
            set page [dict get $pages $name]
            append html "<dt><a href=\"$name.html\">[escape [dict get $page label]]</a></dt><dd>[escape [dict get $page summary]]</dd>\n"
        }
        append html </dl>\n
    }
    set keywords {}
    dict for {name page} $pages {
        foreach keyword [dict get $page keywords] {
            dict lappend keywords [string tolower $keyword] $name
        }
    }
    append html "<h2 id=\"keywords\">Keywords</h2>\n<dl class=\"pages\">\n"
    foreach keyword [lsort [dict keys $keywords]] {
        set links [lmap name [dict get $keywords $keyword] {
            string cat "<a href=\"$name.html\">" [escape [dict get $pages $name label]] </a>
        }]
        append html "<dt id=\"keyword-[slug $keyword]\">[escape $keyword]</dt><dd>[join $links {, }]</dd>\n"
    }
    return $html</dl>
}

# search-index.js: etwSearch = {pages: [[file, label, summary] ...], places: [[number of the page, anchor, title, text] ...]}. A page's first place is the page itself.
proc site::searchIndex {} {
    variable pages
    set rows {}
    set places {}
    set number 0
    dict for {name page} $pages {
        lappend rows "\[[json $name.html],[json [dict get $page label]],[json [dict get $page summary]]\]"
        set pieces [split [regsub -all {<(?:h2|h3|dt) id="} [dict get $page body] \x01] \x01]
        lappend places "\[$number,\"\",[json [dict get $page label]],[json "[dict get $page summary]. [plain [lindex $pieces 0]]"]\]"
        foreach piece [lrange $pieces 1 end] entry [dict get $page entries] {
            lassign $entry - anchor title
            if {$anchor in {see-also keywords copyright synopsis}} {
                continue
            }
            set text [string range $piece [string first </[lindex $entry 0]> $piece] end]
            lappend places "\[$number,[json $anchor],[json $title],[json [plain $text]]\]"
        }
        incr number
    }
    return "var etwSearch = {pages: \[\n[join $rows ,\n]\n\], places: \[\n[join $places ,\n]\n\]};"
}

# Writes the site into `out`: `files` are the sources of the pages, `assets` is the directory with contents.txt, site.css and site.js.
proc site::make {out assets files} {
    variable pages
    variable groups
    variable commands
    variable terms
    variable images
    variable sources
    variable labels
    foreach path $files {
        dict set sources [file normalize $path] [nameOf $path]
    }
    foreach path [lsort $files] {
        set page [expr {[file extension $path] eq ".md" ? [readMarkdown $path] : [readMan $path]}]
        set name [dict get $page name]
        if {[dict exists $pages $name] || $name eq "index"} {
            error "$path: another page has this name"
        }
        anchors page
        dict set pages $name $page
        if {[file tail [file dirname $path]] eq "tutorial"} {
            lappend tutorial $name
        }
    }
    readContents [file join $assets contents.txt] [dict keys $pages] [expr {[info exists tutorial] ? [inOrder $tutorial] : {}}]
    set sorted {}
    dict for {- names} $groups {
        foreach name $names {
            dict set sorted $name [dict get $pages $name]
        }
    }
    set pages $sorted
    if {[dict exists $pages etw_glossary]} {
        foreach entry [dict get $pages etw_glossary entries] {
            lassign $entry kind anchor title
            if {$kind eq "dt"} {
                foreach term [split $title ,] {
                    dict set terms [string tolower [string trim $term]] $anchor
                }
            }
        }
    }
    dict for {name page} $pages {
        set body [linkKeywords $page [crossLink $page]]
        set head "<h1>[escape [dict get $page label]]</h1>\n"
        if {[dict get $page label] in [dict keys $labels]} { ;# Markdown pages begin with their summary
            append head "<p class=\"lead\">[escape [dict get $page summary]]</p>\n"
        }
        docs::writeFile [file join $out $name.html] \
            [frame $name "[dict get $page label] - [dict get $page summary]" "$head<div class=\"$name\">$body</div>\n[neighbours $name]"]
    }
    docs::writeFile [file join $out index.html] [frame {} "etw - the manual" [indexBody]]
    docs::writeFile [file join $out search-index.js] [searchIndex]
    foreach path [list [file join $assets site.css] [file join $assets site.js] {*}$images] {
        file copy -force $path [file join $out [file tail $path]]
    }
}
