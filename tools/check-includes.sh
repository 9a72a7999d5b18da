#!/bin/sh
# tools/check-includes.sh --
#
#	Checks the order and the sizes of the rooms. The rooms are the folders in the table of
#	doc/internals/TOUR.md; a file includes only from its own room and from rooms above it in the
#	table. Also: the core includes no tcl.h; only script/hooks includes Tcl's private headers,
#	in one header; a room has at most 22 files and 5,000 lines, a file at most 1,000 lines; two files
#	share a base name only as X.c and X.h of one room. Prints each violation as FILE:LINE and exits
#	with 1.
set -u
cd "$(dirname "$0")/.." || exit 2

tour=doc/internals/TOUR.md
rooms=$(sed -n '/^<!-- rooms -->$/,/^<!-- end of rooms -->$/s/^| `\([^`]*\)` |.*/\1/p' $tour)
[ -n "$rooms" ] || {
    echo "$tour: has no table of rooms" >&2
    exit 2
}

find generic unix win -name '*.[ch]' | LC_ALL=C sort | xargs awk -v rooms="$rooms" '
BEGIN {
    count = split(rooms, order, "\n")
    for (i = 1; i <= count; i++) level[order[i]] = i
    script = level["generic/script"]
    maxFileLines = 1000
    maxRoomFiles = 22
    maxRoomLines = 5000
}
function folder(file) {
    return file ~ /\// ? substr(file, 1, match(file, /\/[^\/]*$/) - 1) : ""
}
function bad(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    failures++
}
# At the end of a file: check sizes. Lines of generated tables do not count for the room.
function finish() {
    if (file == "") return
    if (lines > maxFileLines) { printf "%s: %d lines, more than %d\n", file, lines, maxFileLines; failures++ }
    roomFiles[folder(file)]++
    if (!generated) roomLines[folder(file)] += lines
    stem = file
    sub(/.*\//, "", stem)
    sub(/\.[ch]$/, "", stem)
    where = folder(file)
    if (stem in stemRoom && stemRoom[stem] != where) {
        printf "%s: the base name %s occurs in %s, too\n", file, stem, stemRoom[stem]
        failures++
    }
    stemRoom[stem] = where
}
FNR == 1 {
    finish()
    file = FILENAME
    generated = 0
    # The public headers are in generic/ itself; any room may include them.
    mine = folder(FILENAME) == "generic" ? 1 : level[folder(FILENAME)]
    if (!mine) bad("is in a folder that the table in doc/internals/TOUR.md does not list")
}
FNR < 6 && /do not edit/ { generated = 1 }
{ lines = FNR }
/^[ \t]*#[ \t]*include[ \t]*[<"]/ {
    name = $0
    sub(/^[^<"]*[<"]/, "", name)
    sub(/[>"].*/, "", name)
    if (name ~ /^(tcl|tk)[A-Za-z]*\.h$/ && mine && mine < script)
        bad("includes " name ": the core knows no Tcl")
    if (name ~ /^(tclInt|tclOOInt|tclCompile)\.h$/) intFiles[FILENAME] = 1
    if (name ~ /\.\.\//) {
        bad("includes " name ": name files from generic/, unix/ or win/ on")
    } else if (name ~ /\// && $0 ~ /"/) {
        platform = name ~ /^(unix|win)\//
        target = folder(platform ? name : "generic/" name)
        if (!(target in level)) bad("includes " name ", which is in no room of the table")
        else if (level[target] > mine) bad("includes " name ", whose room stands below this one in the table")
        else if (platform && FILENAME ~ /^generic\//) bad("includes " name ": platform files are reached through an interface")
    }
}
# Functions whose result other threads change.
match($0, /[^A-Za-z0-9_](localtime|gmtime|ctime|asctime|strtok|strerror|strsignal|getpwuid|getpwnam|ttyname|inet_ntoa|tmpnam|setlocale)[ \t]*\(/) && !/^ ?\*/ {
    bad("calls " substr($0, RSTART + 1, RLENGTH - 2) ", which is not thread-safe")
}
END {
    finish()
    n = 0
    for (f in intFiles) { n++; all = all " " f }
    if (n > 1) { print "private Tcl headers in more than one file:" all; failures++ }
    for (r in roomFiles) {
        if (roomFiles[r] > maxRoomFiles) { printf "%s: %d files, more than %d\n", r, roomFiles[r], maxRoomFiles; failures++ }
        if (roomLines[r] > maxRoomLines) { printf "%s: %d lines, more than %d\n", r, roomLines[r], maxRoomLines; failures++ }
    }
    exit failures > 0
}'
status=$?
[ $status = 0 ] && echo "rooms, includes and sizes: ok"
exit $status
