#!/bin/sh
# tools/check-format.sh --
#
#	Fails when a C file is not as clang-format (with .clang-format) would write it.
#	`sh tools/check-format.sh fix` rewrites them.
set -u
cd "$(dirname "$0")/.." || exit 2
command -v clang-format >/dev/null 2>&1 || {
    echo "check-format.sh: no clang-format (sh tools/deps.sh test)" >&2
    exit 2
}
# New files that git does not track yet are checked, too.
files=$(git ls-files -co --exclude-standard '*.c' '*.h')
case ${1:-check} in
fix) clang-format -i $files ;;
*)
    clang-format --dry-run --Werror $files || {
        echo "not formatted: sh tools/check-format.sh fix" >&2
        exit 1
    }
    echo "format: ok"
    ;;
esac
