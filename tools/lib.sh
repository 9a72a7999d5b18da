# tools/lib.sh --
#
#	Shell functions shared by the scripts in tools/; sourced with the current directory at the top of the
#	tree. POSIX sh.

cache=${ETW_CACHE:-${HOME:-/tmp}/.cache/etw}

die() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# Directory of the Windows build of Tcl for the processor $1 (x86_64, i686), named after the version of the
# machine's own Tcl.
win_tcl_dir() {
    v=$(dpkg-query -W -f '${source:Upstream-Version}' tcl8.6-dev 2>/dev/null || echo 8.6)
    echo "$cache/win$(win_suffix "$1")-$v"
}

# Directory of the build of Tcl 9.0 for this machine.
tcl9_dir() {
    echo "$cache/tcl9"
}

# Directories of the Windows builds of zstd and of expat for the processor $1.
win_zstd_dir() {
    echo "$cache/win$(win_suffix "$1")-zstd"
}

win_expat_dir() {
    echo "$cache/win$(win_suffix "$1")-expat"
}

# The suffix of names for 32 bits.
win_suffix() {
    [ "$1" = x86_64 ] || echo 32
}

# configure_in DIR ARGS...: configure into DIR, unless that was done with the same arguments and the same
# configure script.
configure_in() {
    dir=$1
    shift
    if [ ! -f configure ] || [ configure.ac -nt configure ] || [ m4/etw.m4 -nt configure ]; then
        autoconf -f -I m4 && rm -f configure~
    fi
    mkdir -p "$dir"
    if [ -f "$dir/Makefile" ] && [ "$dir/config.status" -nt configure ] &&
        [ "$(cat "$dir/.args" 2>/dev/null)" = "$*" ]; then
        return 0
    fi
    (cd "$dir" && sh ../configure -q "$@")
    echo "$*" >"$dir/.args"
}

# Prepares running Windows programs in a private prefix, without a display.
wine_setup() {
    WINEPREFIX=$cache/wine
    WINEDEBUG=-all
    WINEARCH=win64
    WINEDLLOVERRIDES="mscoree=;mshtml=;winemenubuilder.exe="
    export WINEPREFIX WINEDEBUG WINEARCH WINEDLLOVERRIDES
    unset DISPLAY
    # Debian's `wine` wrapper prints a warning about a missing wine32 each time.
    wine=/usr/lib/wine/wine64
    [ -x $wine ] || wine=$(command -v wine64 || command -v wine) || return 1
    if [ ! -f "$WINEPREFIX/.etw-ready" ]; then
        mkdir -p "$WINEPREFIX"
        "$wine" wineboot -i >/dev/null 2>&1 && touch "$WINEPREFIX/.etw-ready"
    fi
}
