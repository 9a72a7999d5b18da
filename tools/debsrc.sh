# tools/debsrc.sh --
#
#	Shell functions that download and unpack Debian's source packages; sourced after tools/lib.sh. The
#	machine's apt configuration is not changed: apt gets a private copy of it with deb-src. Downloads are
#	kept in $cache/src, separately for each named release. The script that sources this file removes
#	$debsrc_tmp.

debsrc_tmp=
debsrc_options=
debsrc_release=

# debsrc_use ?RELEASE?: selects the release of the sources (default: that of the machine).
debsrc_use() {
    debsrc_release=${1:-}
    debsrc_options=
}

# Directory of the selected release's files.
debsrc_dir() {
    echo "$cache/src${debsrc_release:+-$debsrc_release}"
}

# Write the machine's own package sources, as deb-src, to the directory $1.
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

# Write the main archive of another release, from the machine's mirror, to the directory $1.
debsrc_other() {
    from=$(sed -n -e 's/^URIs:[[:space:]]*//p' -e 's/^deb[[:space:]]\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' \
        /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
        tr ' ' '\n' | grep '/debian/*$' | head -1)
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    printf '%s\n' 'Types: deb-src' "URIs: ${from:-http://deb.debian.org/debian}" "Suites: $debsrc_release" \
        'Components: main' >"$1/release.sources"
    [ ! -f $key ] || echo "Signed-By: $key" >>"$1/release.sources"
}

# Get the lists of the selected release, and set debsrc_options so that apt uses only them.
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
    # A third-party source without deb-src is not an error: the next command decides.
    apt-get $debsrc_options update >&2 || true
}

# debsrc_fetch PACKAGE ?tar?: download the package's source files, checked by apt. If the mirror lacks some of them,
# or with `tar`, only the upstream source.
debsrc_fetch() {
    [ -n "$debsrc_options" ] || debsrc_prepare
    mkdir -p "$(debsrc_dir)"
    # Mirrors may lack the newest version's files: the previous one suffices.
    versions=$(apt-cache $debsrc_options showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort -rV)
    for what in --download-only '--download-only --tar-only'; do
        [ "${2:-}" != tar ] || [ "$what" != --download-only ] || continue
        for version in $versions; do
            (cd "$(debsrc_dir)" && apt-get $debsrc_options source $what "$1=$version" >&2) && return 0
        done
    done
    return 1
}

# unpack PACKAGE DIR: unpack the upstream source into DIR. Debian's patches are not applied, because they only
# change packaging, unless the caller does.
unpack() {
    ls "$(debsrc_dir)/$1"_*.orig.tar.* >/dev/null 2>&1 || debsrc_fetch "$1" || return 1
    rm -rf "$2"
    mkdir -p "$2"
    # Beside some there is a signature, .asc.
    tar -xf "$(ls "$(debsrc_dir)/$1"_*.orig.tar.?z* | grep -v '\.asc$' | sort -V | tail -1)" -C "$2" --strip-components=1
}

# apply_patches PACKAGE DIR: apply Debian's patches to the result of unpack.
apply_patches() {
    tar -xf "$(ls "$(debsrc_dir)/$1"_*.debian.tar.* | sort -V | tail -1)" -C "$2" || return 1
    sed 's/#.*//' "$2/debian/patches/series" | while read -r name rest; do
        [ -z "$name" ] || patch -s -d "$2" -p1 <"$2/debian/patches/$name" || return 1
    done
}
