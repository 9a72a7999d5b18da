#!/bin/sh
# tools/check-installed.sh --
#
#	The last step of `make install`: says whether tclsh finds the package where it was installed, and what
#	to set if it does not. An installation into DESTDIR is only named.
#
#	sh tools/check-installed.sh TCLSH PKGLIBDIR DESTDIR
set -eu
tclsh=$1 dir=$2 destdir=$3

if [ -n "$destdir" ]; then
    echo "installed into $destdir$dir"
    exit 0
fi
# A TCLLIBPATH of this shell is not there in the next one.
found=$(echo 'puts [package require etw]' |
    env -u TCLLIBPATH "$tclsh" 2>/dev/null | head -1) || found=
if [ -n "$found" ]; then
    echo "installed into $dir: \"package require etw\" finds version $found"
else
    echo "installed into $dir, which $tclsh does not search. Set TCLLIBPATH for programs that use the package:"
    echo "    export TCLLIBPATH=$(dirname "$dir")"
fi
