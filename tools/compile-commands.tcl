# tools/compile-commands.tcl --
#
#	Writes compile_commands.json, which clangd and clang-tidy read, from the commands of `make -Bn V=1` on
#	standard input: one entry a C file.
#
#	make -Bn V=1 ... | tclsh tools/compile-commands.tcl DIR      DIR: where make runs

lassign $argv dir
set entries {}
while {[gets stdin line] >= 0} {
    if {![regexp {\s-c\s+(\S+\.c)\s+-o\s+\S+} $line -> file]} {
        continue
    }
    set escaped [string map {\\ \\\\ \" \\\"} [list $dir $file $line]]
    lassign $escaped d f command
    lappend entries "  {\"directory\": \"$d\",\n   \"file\": \"$f\",\n   \"command\": \"$command\"}"
}
puts "\[\n[join $entries ",\n"]\n]"
