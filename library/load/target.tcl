# target.tcl --
#
#	The database that a user names, for etw load, ship and fleet. This is the only code that reads such a name. It separates the
#	password, which is then in no message, error code or argument of another process.

namespace eval ::etw::load {
    # Where the password for ClickHouse comes from, if it is not named otherwise: the first of these variables of the environment that is set.
    variable passwordVariables {ETW_CLICKHOUSE_PASSWORD ETW_CLICKHOUSE_PASSWORD_FILE}
    # Words that a conninfo string of PostgreSQL can begin with.
    variable conninfoWords {
        application_name channel_binding client_encoding connect_timeout dbname gssencmode host hostaddr keepalives options passfile password
        port require_auth service sslcert sslcrl sslkey sslmode sslpassword sslrootcert target_session_attrs user
    }
}

# What DATABASE names, a dict: kind (the name of the class), given (1 if DATABASE contains a password), and
#   Sqlite	path
#   Postgres	connection (the conninfo string or URL without the password), password
#   Clickhouse	scheme, user, password, host, port, database, cafile
#   Tdbc	connection
# ACCESS is a dict that may have the options -passwordfile and -cafile.
proc ::etw::load::Target {database {access {}}} {
    set scheme {}
    if {[regexp {^([A-Za-z][A-Za-z0-9+.-]+):(//)?} $database start scheme slashes]} {
        set scheme [string tolower $scheme]
        if {$slashes eq "" && $scheme ni {clickhouse clickhouses postgres postgresql}} {
            set scheme {}
        }
    }
    if {$scheme in {clickhouse clickhouses}} {
        set target [ClickhouseTarget $scheme $database]
    } elseif {$scheme in {postgres postgresql}} {
        set target [PostgresTarget $database]
    } elseif {$scheme ne ""} {
        BadTarget $database "is no database: write clickhouse://USER@HOST:8123/DATABASE, clickhouses://USER@HOST:8443/DATABASE,\
            postgresql://USER@HOST/DATABASE, or the name of a file for SQLite"
    } elseif {[IsConninfo $database]} {
        set target [ConninfoTarget $database]
    } elseif {[::info object isa object $database] && [::info object isa class ::tdbc::connection]
            && [::info object isa typeof $database ::tdbc::connection]} {
        set target [dict create kind Tdbc connection $database]
    } else {
        set target [dict create kind Sqlite path $database]
    }
    return [AddPassword [AddAuthority $target [expr {[dict exists $access -cafile] ? [dict get $access -cafile] : {}}]] $access]
}

# The file with the certificates of authorities must be readable, and mean something for this database.
proc ::etw::load::AddAuthority {target file} {
    if {$file ne "" && (![dict exists $target scheme] || [dict get $target scheme] ne "clickhouses")} {
        return -code error -errorcode {ETW UNSUPPORTED OPTION -cafile} "\"-cafile\" is for clickhouses:// (HTTPS): change the URL. For PostgreSQL, write\
            sslmode=verify-full and sslrootcert=FILE into the conninfo string or the URL"
    }
    if {$file ne ""} {
        if {[catch {::etw::lib::OpenFile $file} chan] || [catch {gets $chan}]} {
            return -code error -errorcode [list ETW IO CERTIFICATE $file] "the file of -cafile cannot be read: $chan"
        }
        close $chan
    }
    return [dict replace $target cafile $file]
}

# Find the password in the name, in the file of -passwordfile, or, for ClickHouse, in the environment.
proc ::etw::load::AddPassword {target access} {
    set given [expr {[dict exists $target password] && [dict get $target password] ne ""}]
    dict set target given $given
    set file [expr {[dict exists $access -passwordfile] ? [dict get $access -passwordfile] : {}}]
    if {$file ne "" && [dict get $target kind] ni {Clickhouse Postgres}} {
        return -code error -errorcode {ETW UNSUPPORTED OPTION -passwordfile} \
            "\"-passwordfile\" is the password for ClickHouse or PostgreSQL: omit it for a file of SQLite or a connection of TDBC"
    }
    if {$file ne ""} {
        dict set target password [PasswordIn $file -passwordfile]
    } elseif {!$given && [dict get $target kind] eq "Clickhouse"} {
        dict set target password [EnvironmentPassword]
    }
    return $target
}

proc ::etw::load::EnvironmentPassword {} {
    variable passwordVariables
    lassign $passwordVariables direct inFile
    if {[::info exists ::env($direct)]} {
        return $::env($direct)
    }
    if {![::info exists ::env($inFile)] || $::env($inFile) eq ""} {
        return {}
    }
    return [PasswordIn $::env($inFile) $inFile]
}

# The first line of a file that only its owner can read. WHAT names it.
proc ::etw::load::PasswordIn {path what} {
    if {[catch {::etw::lib::OpenFile $path} file]} {
        return -code error -errorcode [list ETW IO PASSWORD $path] "the file with the password, named by $what, cannot be read: $file"
    }
    try {
        fconfigure $file -encoding utf-8
        set password [gets $file]
    } on error message {
        return -code error -errorcode [list ETW IO PASSWORD $path] "the file with the password, named by $what, cannot be read: $message"
    } finally {
        close $file
    }
    if {$::tcl_platform(platform) eq "unix" && [file attributes $path -permissions] & 0o077} {
        return -code error -errorcode [list ETW IO PASSWORD $path] \
            "the file with the password, \"$path\", can be read by other users: run \"chmod 600 $path\""
    }
    return $password
}

# A name of a database, or what was given instead of one, as messages show it: without anything that may be a password.
proc ::etw::load::Shown {database} {
    if {[regexp {^([A-Za-z][A-Za-z0-9+.-]+):} $database -> scheme] && [regexp -nocase {@|%|pass} $database]} {
        return $scheme://...
    }
    return [expr {[regexp -nocase {pass\w*\s*=} $database] ? "..." : $database}]
}

# The advice for a name with a password, which the tool prints; otherwise empty.
proc ::etw::load::PasswordAdvice {database} {
    if {[catch {dict get [Target $database] given} given] || !$given} {
        return {}
    }
    return "the name of the database contains a password, which other users can see in the list of processes: write it into a file that\
        only you can read, and name this file with -passwordfile"
}

proc ::etw::load::BadTarget {database reason} {
    set shown [Shown $database]
    set escape [expr {[string match *...* $shown] && $shown ne $database
        ? ". In a user, a password or the name of a database, write % as %25, / as %2F, : as %3A, ? as %3F and @ as %40" : {}}]
    return -level 2 -code error -errorcode [list ETW ARG URL $shown] "\"$shown\" $reason$escape"
}

# ---- URLs ----------------------------------------------------------------------------------------

# The characters after the last @ that can belong to no password: another @ behind a slash is refused, because the slash may be one
# of the password.
# {user password} of the part of a URL before @.
proc ::etw::load::Login {login} {
    if {[regexp {^([^:]*):(.*)$} $login -> user password]} {
        return [list $user $password]
    }
    return [list $login {}]
}

proc ::etw::load::ClickhouseTarget {scheme url} {
    set wrong "is no URL of ClickHouse: write clickhouse://USER@HOST:8123/DATABASE (HTTP) or clickhouses://USER@HOST:8443/DATABASE (HTTPS)"
    set shape {^[^:]+://(?:([^/]*)@)?(\[[0-9A-Fa-f:.]+\]|[^][/:@?#\s]+)(?::([0-9]{1,5}))?(?:/([^/?#@]*))?(?:\?([^/#@]*))?$}
    if {![regexp $shape $url -> login host port database query]} {
        BadTarget $url $wrong
    }
    lassign [Login $login] user password
    foreach pair [split $query &] {
        if {![regexp {^(user|password)=(.*)$} $pair -> name value]} {
            BadTarget $url $wrong
        }
        set $name $value
    }
    if {![Decode user password database]} {
        BadTarget $url $wrong
    }
    return [dict create kind Clickhouse scheme $scheme user [expr {$user eq "" ? "default" : $user}] password $password host $host \
        port [expr {$port ne "" ? $port : $scheme eq "clickhouses" ? 8443 : 8123}] database [expr {$database eq "" ? "default" : $database}]]
}

# libpq reads the rest of the URL.
proc ::etw::load::PostgresTarget {url} {
    set wrong "is no URL of PostgreSQL: write postgresql://USER@HOST:5432/DATABASE"
    set shape {^[^:]+://(?:([^/]*)@)?((?:\[[0-9A-Fa-f:.%\w]+\]|[^][/:@?,\s]*)(?::[0-9]*)?(?:,(?:\[[0-9A-Fa-f:.]+\]|[^][/:@?,\s]*)(?::[0-9]*)?)*)(/[^?@]*)?(?:\?([^@]*))?$}
    if {![regexp $shape $url -> login hosts path query]} {
        BadTarget $url $wrong
    }
    lassign [Login $login] user password
    set kept {}
    foreach pair [split $query &] {
        set value [lassign [split $pair =] name]
        if {![Decode name]} {
            BadTarget $url $wrong
        }
        if {$name eq "password"} {
            set password [join $value =]
        } elseif {$name eq "sslpassword"} {
            KeyPassword
        } else {
            lappend kept $pair
        }
    }
    if {![Decode password]} {
        BadTarget $url $wrong
    }
    set connection postgresql://[expr {$user eq "" ? {} : "[string map {@ %40} $user]@"}]$hosts$path
    if {$kept ne ""} {
        append connection ?[join $kept &]
    }
    return [dict create kind Postgres connection $connection password $password]
}

# Decode the parts of a URL in the caller's variables. Returns 0 if one of them has a percent sign that does not begin a code, or a NUL.
proc ::etw::load::Decode {args} {
    foreach name $args {
        upvar 1 $name part
        if {[regexp {%(?![0-9A-Fa-f]{2})|%00} $part]} {
            return 0
        }
        set part [UrlText $part]
    }
    return 1
}

# The text of a part of a URL.
proc ::etw::load::UrlText {part} {
    set bytes {}
    foreach {- plain code} [regexp -all -inline {([^%]+)|%([0-9A-Fa-f]{2})|%} $part] {
        append bytes [expr {$code ne "" ? [format %c 0x$code] : [encoding convertto utf-8 $plain]}]
    }
    return [Utf8 $bytes]
}

# The text of bytes in UTF-8, also if some of them are invalid.
proc ::etw::load::Utf8 {bytes} {
    if {[package vsatisfies [package provide Tcl] 9-]} {
        return [encoding convertfrom -profile replace utf-8 $bytes]
    }
    return [encoding convertfrom utf-8 $bytes]
}

# ---- Conninfo strings ----------------------------------------------------------------------------

proc ::etw::load::IsConninfo {database} {
    variable conninfoWords
    return [expr {[regexp {^\s*([a-z_]+)\s*=} $database -> word] && $word in $conninfoWords}]
}

# Pairs WORD = VALUE as libpq reads them: a value may be in apostrophes; a backslash quotes one character. All but the password is kept.
proc ::etw::load::ConninfoTarget {database} {
    set pair {\A\s*([^\s=]+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s\\']|\\.)(?:[^\s\\]|\\.)*)?(?=\s|\Z)}
    set kept {}
    set password {}
    set rest $database
    while {[string trim $rest] ne ""} {
        if {![regexp -indices $pair $rest all] || ![regexp $pair $rest whole word value]} {
            return -code error -errorcode {ETW ARG CONNINFO} "the conninfo string of PostgreSQL cannot be read after \"[join [lmap {w -} $kept {set w}] {, }]\":\
                write pairs such as host=db dbname=traces, with values that contain spaces in apostrophes"
        }
        set rest [string range $rest [lindex $all 1]+1 end]
        if {[string index $value 0] eq "'"} {
            set value [string range $value 1 end-1]
        }
        set value [regsub -all {\\(.)} $value {\1}]
        if {$word eq "sslpassword"} {
            KeyPassword
        }
        if {$word eq "dbname" && [regexp {://.*@|pass\w*\s*=} $value]} {
            return -code error -errorcode {ETW ARG CONNINFO} "\"dbname\" of the conninfo string contains a URL or another conninfo string: give only that one"
        }
        if {$word eq "password"} {
            set password $value
        } else {
            lappend kept $word $value
        }
    }
    set connection [join [lmap {word value} $kept {string cat $word=' [string map {\\ \\\\ ' \\'} $value] '}]]
    return [dict create kind Postgres connection $connection password $password]
}

proc ::etw::load::KeyPassword {} {
    return -level 2 -code error -errorcode {ETW UNSUPPORTED PASSWORD sslpassword} \
        "\"sslpassword\" would be visible in the list of processes: write it into a service file of PostgreSQL, and give \"service=NAME\""
}
