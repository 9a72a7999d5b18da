#!/bin/sh
# tools/check-format.sh --
#
#	Fails if a C file is not formatted as by clang-format (with .clang-format). `sh tools/check-format.sh
#	fix` reformats the files.
set -u
cd "$(dirname "$0")/.." || exit 2
command -v clang-format >/dev/null 2>&1 || {
    echo "check-format.sh: no clang-format (sh tools/deps.sh test)" >&2
    exit 2
}
# Files that git does not track yet are also checked.
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
