#!/bin/sh
# tools/npm.sh --
#
#	Installs the viewers and readers that tests open exports with from npm, outside of the tree, and prints the
#	directory that contains their node_modules. Fails without npm, or without network and an earlier
#	installation.
#
#	sh tools/npm.sh
set -u
cd "$(dirname "$0")/.."
. tools/lib.sh

packages="speedscope@1.25.0 @paulirish/trace_engine@0.0.65 @firefox-devtools/profiler-cli@0.10.0
    hyparquet@1.33.0 hyparquet-compressors@1.1.2 @duckdb/node-api@1.5.6-r.1 @opentelemetry/otlp-transformer@0.57.2"
dir=$cache/npm
mkdir -p "$dir"
exec 9>"$dir.lock"
flock 9 # several tests may need it first

if [ "$(cat "$dir/.packages" 2>/dev/null)" != "$packages" ]; then
    command -v npm >/dev/null || die "npm is not installed"
    # shellcheck disable=SC2086
    timeout 180 npm install --prefix "$dir" --no-audit --no-fund --ignore-scripts --loglevel=error $packages \
        </dev/null >&2 || die "npm could not install $packages"
    echo "$packages" >"$dir/.packages"
fi
echo "$dir"
