# postgres.tcl --
#
#	A private PostgreSQL server for tests: in its own directory, on a Unix socket only, as an unprivileged
#	user, because it refuses to run as root. Sourced after support.tcl.

namespace eval testing {
    namespace export postgresStart postgresStop
    # Directory of its programs; directory of the running server's files.
    variable postgresBin [lindex [lsort -dictionary [glob -nocomplain /usr/lib/postgresql/*/bin]] end]
    variable postgresDir {}
}

# Run a program of the server as the owner of its files.
proc testing::PostgresRun {program args} {
    variable postgresBin
    set as {}
    if {[exec id -u] == 0} {
        set as [list setpriv --reuid=postgres --regid=postgres --clear-groups]
    }
    exec {*}$as env -u LD_PRELOAD LC_ALL=C {*}[list [file join $postgresBin $program]] {*}$args </dev/null 2>@1
}

# Start it; returns a conninfo string. The socket's path must be short.
proc testing::postgresStart {} {
    variable postgresDir
    set postgresDir [string trim [exec mktemp -d /tmp/etwpg-XXXXXX]]
    if {[exec id -u] == 0} {
        exec chown postgres: $postgresDir
    }
    PostgresRun initdb -D $postgresDir/data -U etw -A trust -E UTF8 --no-locale --no-sync
    PostgresRun pg_ctl start -w -t 120 -D $postgresDir/data -l $postgresDir/log \
        -o "-c listen_addresses='' -c unix_socket_directories=$postgresDir -c fsync=off"
    return "host=$postgresDir user=etw dbname=postgres"
}

proc testing::postgresStop {} {
    variable postgresDir
    if {$postgresDir ne ""} {
        catch {PostgresRun pg_ctl stop -m immediate -w -t 120 -D $postgresDir/data}
        file delete -force $postgresDir
        set postgresDir {}
    }
}

# Not with a preloaded sanitizer, which would also affect psql.
testConstraint postgres [expr {[testConstraint linux] && $testing::postgresBin ne "" && ![info exists ::env(LD_PRELOAD)]
    && [auto_execok psql] ne "" && ([exec id -u] != 0 || ([auto_execok setpriv] ne "" && ![catch {exec id postgres}]))}]

namespace import -force ::testing::postgresStart ::testing::postgresStop
