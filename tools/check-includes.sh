#!/bin/sh
# tools/check-includes.sh --
#
#	The arrows of the house: a file includes only from its own room and from rooms below it; the
#	core knows no tcl.h; one header knows tclInt.h; a file has at most 1000 lines. Prints each
#	breach as FILE:LINE and fails.
set -u
cd "$(dirname "$0")/.." || exit 2

find generic unix win -name '*.[ch]' | LC_ALL=C sort | xargs awk '
BEGIN {
    count = split("base event etl schema predicate engine flow script tcl", order, " ")
    for (i = 1; i <= count; i++) level[order[i]] = i
    maxLines = 1000
}
# The height of a file: that of its room; platform files stand beside base or engine; what lies in
# generic/ itself is the public header (any room may know it) or the entry of the extension.
function height(file,    part) {
    split(file, part, "/")
    if (part[1] == "generic" && part[3] == "") return file ~ /\.h$/ ? level["base"] : count + 1
    if (part[1] == "generic") return (part[2] in level) ? level[part[2]] : 0
    return part[2] ~ /^os_/ ? level["base"] : level["engine"]
}
function bad(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    failures++
}
FNR == 1 {
    if (file != "" && lines > maxLines) { printf "%s: %d lines, more than %d\n", file, lines, maxLines; failures++ }
    file = FILENAME
    mine = height(FILENAME)
    if (!mine) bad("is in no room: generic/ has " length(order) " of them")
}
{ lines = FNR }
/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    name = $0
    sub(/^[^<"]*[<"]/, "", name)
    sub(/[>"].*/, "", name)
    if (name ~ /^(tcl|tk)[A-Za-z]*\.h$/ && mine < level["script"])
        bad("includes " name ": the core knows no Tcl")
    if (name ~ /^(tclInt|tclOOInt|tclCompile)\.h$/) intFiles[FILENAME] = 1
    split(name, part, "/")
    if ((part[1] in level) && part[2] != "") {
        if (level[part[1]] > mine) bad("includes " name ", which is above it")
        if (mine <= count && FILENAME ~ /^(unix|win)\// && part[1] == "tcl") bad("includes " name)
    } else if (name ~ /^(unix|win)\// && FILENAME ~ /^generic\//) {
        bad("includes " name ": platform files are reached through an interface")
    } else if (name ~ /\.\.\//) {
        bad("includes " name ": name files from generic/ on")
    }
}
END {
    if (lines > maxLines) { printf "%s: %d lines, more than %d\n", file, lines, maxLines; failures++ }
    n = 0
    for (f in intFiles) { n++; all = all " " f }
    if (n > 1) { print "private Tcl headers in more than one file:" all; failures++ }
    exit failures > 0
}'
status=$?
[ $status = 0 ] && echo "arrows and sizes: ok"
exit $status
