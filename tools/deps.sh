#!/bin/sh
# tools/deps.sh --
#
#	Installs the Debian packages that etw needs and that are missing, as root or through sudo, with at most
#	one `apt-get update`.
#
#	sh tools/deps.sh build|test|bench      (each includes the previous ones)
set -eu

build="tcl-dev tcl tcllib tcl-thread autoconf make gcc libc6-dev pkg-config
    libtraceevent-dev libtracefs-dev libexpat1-dev zlib1g-dev libzstd-dev libdw-dev"
test="golang-go g++ relacy-dev clang llvm clang-format libclang-rt-dev tk xvfb gcc-mingw-w64-x86-64 gcc-mingw-w64-i686 libz-mingw-w64-dev
    wine wine64 zip unzip xz-utils zstd patch systemtap-sdt-dev binutils
    zsh lintian chromium libsqlite3-dev libsqlite3-tcl libxml2-utils lcov postgresql sqlite3 tcl8.6-tdbc-postgres tcl8.6-tdbc-sqlite3 tkcon tshark
    clickhouse-server strace tcl-tls openssl protobuf-compiler"
bench="lttng-tools liblttng-ust-dev babeltrace2 linux-perf"

case ${1:-build} in
build) want=$build ;;
test) want="$build $test" ;;
bench) want="$build $test $bench" ;;
*)
    echo "usage: sh tools/deps.sh build|test|bench" >&2
    exit 2
    ;;
esac

missing=
for p in $want; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true)
    [ "$status" = installed ] || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    sudo=
elif command -v sudo >/dev/null 2>&1; then
    sudo=sudo
else
    echo "deps.sh: these packages are missing, and this is neither root nor a machine with sudo:$missing" >&2
    exit 1
fi

install() {
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
}
echo "installing:$missing" >&2
# The lists may be up to date: try without an update first, quietly.
if ! install >/dev/null 2>&1; then
    $sudo apt-get update -q
    install
fi
