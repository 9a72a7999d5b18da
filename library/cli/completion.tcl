# completion.tcl --
#
#	etw completion bash: a script for bash that completes commands, options, their values, and files.
#	Generated from the tool's tables and the registries of commands and formats, so that a new row needs no
#	other change.

namespace eval ::etw::cli {
    # Suffixes of files that commands read.
    variable traceSuffixes {.etl .zip}
    # %NAME% is replaced. COMP_WORDS has "--name=value" as three words. If nothing matches, bash completes files.
    variable completion {# Completion for etw %VERSION%, written by "etw completion bash".
_etw() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
    local options= flags= values= operands= sessions= files= suffixes= i
    COMPREPLY=()
    [[ $cur == = ]] && cur= || { [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}; }
    [[ $prev == -[a-z][a-z]* ]] && prev=-$prev
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W '%COMMANDS% --help --version' -- "$cur"))
        return
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ $command == record && ${COMP_WORDS[i]} == -- ]]; then
            ((i == COMP_CWORD - 1)) && mapfile -t COMPREPLY < <(compgen -c -- "$cur") ||
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
        fi
    done
    case $command in
%CASES%    esac
    if [[ $prev == -* && " $options " == *" $prev "* && " $flags " != *" $prev "* ]] || [[ -n $values ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$cur"))
        return
    elif [[ $cur == -* ]]; then
        [[ $cur == -[a-z][a-z]* ]] && cur=-$cur
        COMPREPLY=($(compgen -W "$options --help" -- "$cur"))
        return
    fi
    if ((COMP_CWORD == 2)); then
        COMPREPLY=($(compgen -W "$operands" -- "$cur"))
        [[ -n $sessions ]] && COMPREPLY+=($(compgen -W "$("${COMP_WORDS[0]}" sessions 2>/dev/null | sed '1d;s/ .*//')" -- "$cur"))
    fi
    [[ -z $files ]] && return
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$cur"; shopt -s extglob; compgen -f -X "!$files" -- "$cur")
    if [[ $cur == *?.* ]]; then # the file to be written
        for i in $suffixes; do
            [[ ${cur%.*}$i == "$cur"* ]] && COMPREPLY+=("${cur%.*}$i")
        done
    fi
}
complete -o default -F _etw etw
}
}

proc ::etw::cli::Completion {args} {
    variable completion
    lassign [Parse completion $args] options words
    if {$words ne "bash"} {
        Usage "name the shell: bash" SHELL $words
    }
    set cases {}
    dict for {name entry} [Commands] {
        append cases [CompletionCase $name {*}$entry]
    }
    puts -nonewline [string map [list %VERSION% [package provide etw] %COMMANDS% [dict keys [Commands]] %CASES% $cases] \
        $completion]
    return 0
}

# The branch of one command in the script's `case`.
proc ::etw::cli::CompletionCase {name usage about how} {
    variable tables
    variable traceSuffixes
    set values {}
    if {[lindex $how 0] eq "pass"} {
        set row [RowOf [lindex $how 1]]
        set options [lmap option [dict get $row options] {string cat - $option}]
        set flags [lmap option [concat [Flags $name [lrange $how 2 end]]] {string cat - $option}]
        dict for {option names} [dict get $row values] {
            dict set values -$option $names
        }
    } else {
        set options {}
        set flags {}
        foreach entry [dict get $tables $name] {
            lassign $entry long short argument
            set names [concat --$long [expr {$short eq "" ? {} : "-$short"}]]
            lappend options {*}$names
            if {$argument eq ""} {
                lappend flags {*}$names
            }
            foreach option $names {
                dict set values $option [Literals $argument]
            }
        }
    }
    set formats [FormatsOf $name]
    if {$formats ne ""} {
        dict set values --format [lmap row $formats {dict get $row name}]
    }
    set case {}
    append case [Assign options $options] [Assign flags $flags]
    append case [Assign operands [expr {$name eq "help" ? [dict keys [Commands]] : [Literals [lindex $usage 0]]}]]
    if {[regexp {SOURCE|IN|^FILE} $usage]} {
        append case [Assign files *@([join $traceSuffixes |])]
    }
    if {[regexp {SOURCE.*FILE|OUT} $usage]} {
        set suffixes [concat {*}[lmap row $formats {dict get $row suffixes}]]
        append case [Assign suffixes [expr {$suffixes eq "" ? [lindex $traceSuffixes 0] : $suffixes}]]
    }
    append case [Assign sessions [expr {$name ne "start" && [regexp {^\[?NAME|SESSION} $usage]}]]
    set branches {}
    dict for {option names} $values {
        if {$names ne ""} {
            append branches "            $option) values='$names' ;;\n"
        }
    }
    if {$branches ne ""} {
        append case "        case \$prev in\n$branches        esac\n"
    }
    return [expr {$case eq "" ? {} : "    $name)\n$case        ;;\n"}]
}

proc ::etw::cli::Assign {name list} {
    return [expr {$list in {{} 0} ? {} : "        $name='$list'\n"}]
}

# The literal words of a usage such as "PIDS|all".
proc ::etw::cli::Literals {usage} {
    return [lsearch -all -inline -regexp [split $usage |] {^[a-z0-9]+$}]
}
