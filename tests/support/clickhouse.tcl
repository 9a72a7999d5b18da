# clickhouse.tcl --
#
#	A private ClickHouse server for tests: in its own directory, on free ports of the loopback interface. It ends when the
#	file that has started it ends, also if that is killed. Sourced after support.tcl.

namespace eval testing {
    namespace export clickhouseStart clickhouseKill clickhouseStop clickhouseUrl clickhouseQuery
    # Directory, port and process of the server.
    variable clickhouseDir {}
    variable clickhousePort 0
    variable clickhousePid 0
    # Users: etw has a password with special characters.
    variable clickhousePassword "p:w'\"\u00e9 %41&"
}

proc testing::FreePorts {count} {
    set sockets {}
    for {set i 0} {$i < $count} {incr i} {
        lappend sockets [socket -server list -myaddr 127.0.0.1 0]
    }
    return [lmap socket $sockets {
        set port [lindex [fconfigure $socket -sockname] 2]
        close $socket
        set port
    }]
}

# Start it, or start it again with the same directory and port after clickhouseKill. Returns a URL.
proc testing::clickhouseStart {} {
    variable clickhouseDir
    variable clickhousePort
    set again [expr {$clickhouseDir ne ""}]
    for {set try 1} 1 {incr try} {
        if {!$again} {
            set clickhouseDir [string trim [exec mktemp -d /tmp/etwch-XXXXXX]]
            lassign [FreePorts 2] clickhousePort tcp
            ClickhouseFiles $tcp
        }
        if {[ClickhouseRun]} {
            return [clickhouseUrl]
        }
        if {$again || $try == 3} { ;# another process may have taken the port
            set log [readFile $clickhouseDir/out]
            clickhouseStop
            error "clickhouse-server has not started: [string range $log 0 2000]"
        }
        clickhouseStop
    }
}

proc testing::ClickhouseFiles {tcp} {
    variable clickhouseDir
    variable clickhousePort
    variable clickhousePassword
    foreach name {data tmp files schemas} {
        file mkdir $clickhouseDir/$name
    }
    writeFile $clickhouseDir/config.xml [subst -nocommands {<?xml version="1.0"?>
<yandex><logger><level>error</level><console>1</console></logger>
<http_port>$clickhousePort</http_port><tcp_port>$tcp</tcp_port><listen_host>127.0.0.1</listen_host>
<path>$clickhouseDir/data/</path><tmp_path>$clickhouseDir/tmp/</tmp_path><user_files_path>$clickhouseDir/files/</user_files_path>
<format_schema_path>$clickhouseDir/schemas/</format_schema_path><users_config>$clickhouseDir/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>
<timezone>America/St_Johns</timezone></yandex>}]
    set password [string map {& &amp; < &lt;} $clickhousePassword]
    set rights "<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>"
    writeFile $clickhouseDir/users.xml [subst -nocommands {<?xml version="1.0" encoding="utf-8"?>
<yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles>
<users><default><password></password>$rights</default><etw><password>$password</password>$rights</etw></users>
<quotas><default></default></quotas></yandex>}]
}

# True when it answers, false when it has ended.
proc testing::ClickhouseRun {} {
    variable clickhouseDir
    variable clickhousePort
    variable clickhousePid
    set clickhousePid [exec env -u LD_PRELOAD -u ASAN_OPTIONS LC_ALL=C setpriv --pdeathsig KILL clickhouse-server \
        --config-file=$clickhouseDir/config.xml </dev/null >>$clickhouseDir/out 2>>$clickhouseDir/out &]
    waitFor {[testing::ClickhouseAnswers] || [testing::ClickhouseEnded]}
    return [expr {![ClickhouseEnded]}]
}

proc testing::ClickhouseAnswers {} {
    variable clickhousePort
    if {[catch {socket 127.0.0.1 $clickhousePort} chan]} {
        return 0
    }
    set answer {}
    catch {
        fconfigure $chan -translation crlf
        puts $chan "GET /ping HTTP/1.0\n"
        flush $chan
        set answer [gets $chan]
    }
    close $chan
    return [string match "HTTP/1.? 200*" $answer]
}

# It ended: it is a zombie of this process, or gone.
proc testing::ClickhouseEnded {} {
    variable clickhousePid
    if {$clickhousePid == 0 || [catch {readFile /proc/$clickhousePid/stat} stat]} {
        return 1
    }
    return [regexp {\) [ZX] } $stat]
}

# As if the machine had lost power; its directory stays.
proc testing::clickhouseKill {} {
    variable clickhousePid
    if {![ClickhouseEnded]} {
        exec kill -9 $clickhousePid
        waitFor {[testing::ClickhouseEnded]}
    }
    set clickhousePid 0
}

proc testing::clickhouseStop {} {
    variable clickhouseDir
    clickhouseKill
    if {$clickhouseDir ne ""} {
        file delete -force $clickhouseDir
        set clickhouseDir {}
    }
}

proc testing::clickhouseUrl {{database default} {user {}}} {
    variable clickhousePort
    return clickhouse://[expr {$user eq "" ? {} : "$user@"}]127.0.0.1:$clickhousePort/$database
}

# Rows by a client that is not ours: curl is not needed, clickhouse-server answers a plain request. Cells are as the server writes them.
proc testing::clickhouseQuery {database sql} {
    variable clickhousePort
    set chan [socket 127.0.0.1 $clickhousePort]
    fconfigure $chan -translation binary
    set sql [encoding convertto utf-8 $sql]
    puts -nonewline $chan "POST /?database=$database HTTP/1.0\r\nContent-Length: [string length $sql]\r\n\r\n$sql"
    flush $chan
    set answer [read $chan]
    close $chan
    set at [string first \r\n\r\n $answer]
    set body [encoding convertfrom utf-8 [string range $answer $at+4 end]]
    if {![string match "HTTP/1.? 200*" $answer]} {
        error $body
    }
    return [lmap line [lrange [split $body \n] 0 end-1] {split $line \t}]
}

testConstraint clickhouse [expr {[testConstraint linux] && [auto_execok clickhouse-server] ne "" && [auto_execok setpriv] ne ""
    && ![catch {package require http}] && [testing::canListen]}]

namespace import -force ::testing::clickhouse*
