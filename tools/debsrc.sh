# tools/debsrc.sh --
#
#	Shell functions that download and unpack Debian's source packages; sourced after tools/lib.sh.
#	No file of the machine's apt configuration is touched: apt gets a private copy of it with
#	deb-src. What was downloaded is kept in $cache/src, for each release apart where one is named.
#	$debsrc_tmp is removed by the script that sources this.

debsrc_tmp=
debsrc_options=
debsrc_release=

# debsrc_use ?RELEASE?: the release whose sources are wanted from here on (default: the machine's own).
debsrc_use() {
    debsrc_release=${1:-}
    debsrc_options=
}

# Where files of the wanted release are kept.
debsrc_dir() {
    echo "$cache/src${debsrc_release:+-$debsrc_release}"
}

# The machine's own package sources, as deb-src, in the directory $1.
debsrc_machine() {
    for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -f "$f" ] || continue
        sed -n 's/^deb[[:space:]]/deb-src /p' "$f" >>"$1/machine.list"
    done
    for f in /etc/apt/sources.list.d/*.sources; do
        [ -f "$f" ] || continue
        grep -q '^Types:.*\bdeb\b\([^-]\|$\)' "$f" || continue
        sed 's/^Types:.*/Types: deb-src/' "$f" >"$1/$(basename "$f")"
    done
}

# The main archive of another release, from the place where the machine gets its own, in the
# directory $1.
debsrc_other() {
    from=$(sed -n -e 's/^URIs:[[:space:]]*//p' -e 's/^deb[[:space:]]\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' \
        /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
        tr ' ' '\n' | grep '/debian/*$' | head -1)
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    printf '%s\n' 'Types: deb-src' "URIs: ${from:-http://deb.debian.org/debian}" "Suites: $debsrc_release" \
        'Components: main' >"$1/release.sources"
    [ ! -f $key ] || echo "Signed-By: $key" >>"$1/release.sources"
}

# Lists of the wanted release, and in debsrc_options what makes apt use only them.
debsrc_prepare() {
    [ -n "$debsrc_tmp" ] || debsrc_tmp=$(mktemp -d)
    chmod 755 "$debsrc_tmp"
    dir=$debsrc_tmp/${debsrc_release:-machine}
    mkdir -p "$dir/parts" "$dir/lists/partial" "$dir/cache/archives/partial"
    if [ -n "$debsrc_release" ]; then
        debsrc_other "$dir/parts"
    else
        debsrc_machine "$dir/parts"
    fi
    debsrc_options="-q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$dir/parts
        -o Dir::State::Lists=$dir/lists -o Dir::Cache=$dir/cache
        -o APT::Sandbox::User=$(id -un) -o Acquire::Languages=none"
    # A third-party source without deb-src must not stop us: what counts is the next command.
    apt-get $debsrc_options update >&2 || true
}

# debsrc_fetch PACKAGE: download the package's source files, checked by apt; where the mirror lacks
# some of them, its upstream source alone.
debsrc_fetch() {
    [ -n "$debsrc_options" ] || debsrc_prepare
    mkdir -p "$(debsrc_dir)"
    # Mirrors may have lost the newest version's files: the one before will do.
    versions=$(apt-cache $debsrc_options showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort -rV)
    for what in --download-only '--download-only --tar-only'; do
        for version in $versions; do
            (cd "$(debsrc_dir)" && apt-get $debsrc_options source $what "$1=$version" >&2) && return 0
        done
    done
    return 1
}

# unpack PACKAGE DIR: its upstream source, unpacked into DIR. Debian's patches touch packaging only,
# unless the caller applies them.
unpack() {
    ls "$(debsrc_dir)/$1"_*.orig.tar.* >/dev/null 2>&1 || debsrc_fetch "$1" || return 1
    rm -rf "$2"
    mkdir -p "$2"
    tar -xf "$(ls "$(debsrc_dir)/$1"_*.orig.tar.* | sort -V | tail -1)" -C "$2" --strip-components=1
}

# apply_patches PACKAGE DIR: Debian's, upon what unpack made.
apply_patches() {
    tar -xf "$(ls "$(debsrc_dir)/$1"_*.debian.tar.* | sort -V | tail -1)" -C "$2" || return 1
    sed 's/#.*//' "$2/debian/patches/series" | while read -r name rest; do
        [ -z "$name" ] || patch -s -d "$2" -p1 <"$2/debian/patches/$name" || return 1
    done
}
