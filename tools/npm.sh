#!/bin/sh
# tools/npm.sh --
#
#	Installs the viewers that tests open exports with from npm, outside of the tree, and prints the
#	directory that contains their node_modules. Fails without npm, or without network and an earlier
#	installation.
#
#	sh tools/npm.sh
set -u
cd "$(dirname "$0")/.."
. tools/lib.sh

packages="speedscope@1.25.0 @paulirish/trace_engine@0.0.65"
dir=$cache/npm

if [ "$(cat "$dir/.packages" 2>/dev/null)" != "$packages" ]; then
    command -v npm >/dev/null || die "npm is not installed"
    mkdir -p "$dir"
    # shellcheck disable=SC2086
    timeout 180 npm install --prefix "$dir" --no-audit --no-fund --ignore-scripts --loglevel=error $packages \
        </dev/null >&2 || die "npm could not install $packages"
    echo "$packages" >"$dir/.packages"
fi
echo "$dir"
