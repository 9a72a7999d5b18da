# completion.tcl --
#
#	etw completion bash|zsh: a script for that shell that completes commands, options, their values, and
#	files. Generated from the tool's tables and the registries of commands and formats, so that a new row
#	needs no other change.

namespace eval ::etw::cli {
    # Suffixes of files that commands read.
    variable traceSuffixes {.etl .zip .zst}
    # %NAME% is replaced. In bash, COMP_WORDS has "--name=value" as three words; if nothing matches, bash
    # completes files. In zsh, the first words of an installed file must be "#compdef etw".
    variable completion
    set completion(bash) {# Completion for etw %VERSION%, written by "etw completion bash".
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
    set completion(zsh) {#compdef etw
# Completion for etw %VERSION%, written by "etw completion zsh".
_etw_sessions() {
    local -a names
    names=(${(f)"$(etw sessions 2>/dev/null | sed '1d;s/ .*//')"})
    compadd -- $names
}
_etw() {
    local -a known
    known=(
%COMMANDS%    )
    if ((CURRENT == 2)); then
        [[ $PREFIX == -* ]] && compadd -- --help --version || _describe -t commands command known
        return
    fi
    local command=$words[2] end=${words[(i)--]}
    if [[ $command == record ]] && ((end < CURRENT)); then
        shift end-1 words
        ((CURRENT -= end - 1))
        _arguments '(-)1:program:_command_names -e' '*::argument:_normal'
        return
    fi
    shift words
    ((CURRENT--))
    case $command in
%CASES%    *) _files ;;
    esac
}
if [[ $funcstack[1] == _etw ]]; then _etw "$@"; elif (($+functions[compdef])); then compdef _etw etw; fi
}
}

proc ::etw::cli::Completion {args} {
    variable completion
    lassign [Parse completion $args] options words
    if {![info exists completion($words)]} {
        Usage "expected the name of a shell, bash or zsh, but got \"$words\"" SHELL $words
    }
    set cases {}
    set lines {}
    dict for {name entry} [Commands] {
        append cases [Case_$words $name [CompletionOf $name {*}$entry]]
        append lines "        [Quoted $name:[lindex $entry 1]]\n"
    }
    puts -nonewline [string map [list %VERSION% [package provide etw] %CASES% $cases \
        %COMMANDS% [expr {$words eq "zsh" ? $lines : [dict keys [Commands]]}]] $completion($words)]
    return 0
}

# What can follow a command: a dict
#   options   option -> {flag? values about}; flag?: it needs no value; values: its literal ones
#   operands  literal words for the first operand
#   files     1: traces; suffixes: what the last operand, a file to be written, may end with
#   sessions  1: the first operand is a session's name
proc ::etw::cli::CompletionOf {name usage about how} {
    set options {}
    set what [lindex $how 1]
    set rows [::etw::lib::commands]
    foreach entry [OptionTable $name] {
        lassign $entry long short argument text
        set flag [expr {$argument eq "" || ([lindex $how 0] eq "pass" && "-$long" in [Flags $what])}]
        set values [expr {[lindex $how 0] eq "pass" && [dict exists $rows $what values -$long]
            ? [dict get $rows $what values -$long] : [Literals $argument]}]
        foreach option [concat --$long [expr {$short eq "" ? {} : "-$short"}]] {
            dict set options $option [list $flag $values $text]
        }
    }
    set formats [FormatsOf $name]
    if {$formats ne ""} {
        dict set options --format [list 0 [lmap row $formats {dict get $row name}] [lindex [dict get $options --format] 2]]
    }
    set suffixes {}
    if {[regexp {SOURCE.*FILE|OUT} $usage]} {
        set suffixes [concat {*}[lmap row $formats {dict get $row suffixes}]]
        set suffixes [expr {$suffixes eq "" ? ".etl" : $suffixes}]
    }
    return [dict create options $options suffixes $suffixes files [regexp {SOURCE|IN|^FILE} $usage] \
        operands [expr {$name eq "help" ? [dict keys [Commands]] : [Literals [lindex $usage 0]]}] \
        sessions [expr {$name ne "start" && [regexp {^\[?NAME|SESSION} $usage]}]]
}

# The branch of one command in the script for bash.
proc ::etw::cli::Case_bash {name facts} {
    variable traceSuffixes
    dict with facts {}
    set flags [dict keys [dict filter $options script {option row} {lindex $row 0}]]
    set case [Assign options [dict keys $options]][Assign flags $flags][Assign operands $operands]
    if {$files} {
        append case [Assign files *@([join $traceSuffixes |])]
    }
    append case [Assign suffixes $suffixes] [Assign sessions $sessions]
    set branches {}
    dict for {option row} $options {
        if {[lindex $row 1] ne ""} {
            append branches "            $option) values='[lindex $row 1]' ;;\n"
        }
    }
    if {$branches ne ""} {
        append case "        case \$prev in\n$branches        esac\n"
    }
    return [expr {$case eq "" ? {} : "    $name)\n$case        ;;\n"}]
}

# The same for zsh: one call of _arguments.
proc ::etw::cli::Case_zsh {name facts} {
    variable traceSuffixes
    dict with facts {}
    set specs {}
    dict for {option row} $options {
        lassign $row flag values about
        set about [expr {$about eq "" ? "" : "\[[string map {\[ ( \] )} $about]\]"}]
        set value [expr {$flag ? "" : ":value:[expr {$values eq "" ? "_files" : "($values)"}]"}]
        set equals [expr {$flag ? "" : [string match --* $option] ? "=" : "+"}]
        lappend specs [Quoted *$option$equals$about$value]
    }
    lappend specs [Quoted "--help\[the options\]"]
    set first [expr {$operands ne "" ? "($operands)" : $sessions ? "_etw_sessions" : ""}]
    if {$first ne ""} {
        lappend specs [Quoted 1:operand:$first]
    }
    if {$files} {
        set globs [lmap suffix [concat $traceSuffixes $suffixes] {string cat * $suffix}]
        lappend specs [Quoted "*:file:_files -g \"([join [lsort -unique $globs] |])\""]
    }
    return "    $name)\n        _arguments \\\n            [join $specs " \\\n            "]\n        ;;\n"
}

# A word for the shell, with its apostrophes.
proc ::etw::cli::Quoted {text} {
    return '[string map {' '\\''} $text]'
}

proc ::etw::cli::Assign {name list} {
    return [expr {$list in {{} 0} ? {} : "        $name='$list'\n"}]
}

# The literal words of a usage such as "PIDS|all".
proc ::etw::cli::Literals {usage} {
    return [lsearch -all -inline -regexp [split $usage |] {^[a-z0-9]+$}]
}
