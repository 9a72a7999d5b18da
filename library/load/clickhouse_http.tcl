# clickhouse_http.tcl --
#
#	A connection to a ClickHouse server through its HTTP interface (package http, with package tls for
#	clickhouses://). Answers are read as TabSeparated, in which NaN, Inf, quotes and control characters of values are
#	unambiguous. The password is sent in a header: it is in no URL, message or process argument.

namespace eval ::etw::load {
    # For texts in TabSeparated; and back.
    variable tsvEscapes [list \\ \\\\ \t \\t \n \\n]
    variable tsvTexts [list \\\\ \\ \\t \t \\n \n \\r \r \\b \b \\f \f \\0 \0 \\' ']
}

oo::class create ::etw::load::ClickhouseServer {
    # Beginning of all URLs, the database, headers, whether bodies are compressed, milliseconds until an answer is given up, the
    # version of the server, and options for the authorities of its certificate.
    variable base database headers compress timeout version authorities

    # TARGET is that of ::etw::load::Target.
    constructor {target {wait 600000}} {
        dict with target {}
        set authorities {}
        my Packages $scheme $cafile
        set base [expr {$scheme eq "clickhouses" ? "etwhttps" : "http"}]://$host:$port/
        set credentials [encoding convertto utf-8 $user:$password]
        set headers [list Authorization "Basic [binary encode base64 $credentials]"]
        # What does not leave the machine is not compressed.
        set compress [expr {$host ni {localhost 127.0.0.1 [::1]}}]
        set timeout $wait
    }

    # Load the packages, and set the authorities for HTTPS.
    method Packages {scheme cafile} {
        if {[catch {package require http 2.7} message]} {
            return -level 2 -code error -errorcode {ETW UNSUPPORTED PACKAGE http} "ClickHouse needs Tcl's package http: $message"
        }
        if {$scheme ne "clickhouses"} {
            return
        }
        set authorities [::etw::load::TlsAuthorities $cafile]
        if {[catch {package require tls 1.7} message]} {
            return -level 2 -code error -errorcode {ETW UNSUPPORTED PACKAGE tls} \
                "clickhouses:// needs the package tls (Debian and Ubuntu: tcl-tls): $message"
        }
    }

    # Send SQL; returns rows, each a list of texts. NULL is an empty text.
    method Rows {sql} {
        set answer [my Post [dict create wait_end_of_query 1 database $database default_format TabSeparated] [encoding convertto utf-8 $sql]]
        return [lmap line [lrange [split $answer \n] 0 end-1] {
            lmap cell [split $line \t] {my Cell $cell}
        }]
    }
    method Cell {cell} {
        if {[string first \\ $cell] < 0} {
            return $cell
        }
        return [expr {$cell eq "\\N" ? {} : [string map $::etw::load::tsvTexts $cell]}]
    }

    # Add rows in TabSeparated, as bytes of UTF-8. They become visible together, unless there are more than a million.
    method Insert {table columns rows} {
        my Post [dict create database $database query "INSERT INTO $table ([join $columns {, }]) FORMAT TabSeparated"] $rows
    }

    # One request; returns the body of the answer. An error of the server has its number in the error code, one of the
    # connection the word CONNECTION.
    method Post {parameters body} {
        set send $headers
        if {$compress && [string length $body] > 1000} {
            set body [zlib gzip $body -level 1]
            lappend send Content-Encoding gzip
        }
        if {$authorities ne ""} {
            # Its own scheme: what the program has registered for https stays.
            ::http::register etwhttps 8443 [list ::etw::load::TlsSocket $authorities]
        }
        if {[catch {
            ::http::geturl $base?[::http::formatQuery {*}$parameters] -query $body -type application/octet-stream \
                -headers $send -timeout $timeout -binary 1
        } token how]} {
            my Unreachable $token [dict get $how -errorcode]
        }
        try {
            switch -- [::http::status $token] {
                ok {}
                timeout { my Unreachable "no answer for [expr {$timeout / 1000}] s" }
                default { my Unreachable "the server closed the connection [::http::error $token]" }
            }
            set answer [::etw::load::Utf8 [::http::data $token]]
            if {[::http::ncode $token] != 200} {
                my Refused [::http::ncode $token] $answer
            }
            return $answer
        } finally {
            ::http::cleanup $token
        }
    }
    method Unreachable {reason {code {}}} {
        if {$code ne {ETW IO DATABASE CERTIFICATE}} {
            set code {ETW IO DATABASE CONNECTION}
        }
        return -level 2 -code error -errorcode $code "ClickHouse at [string map {etwhttps https} $base]: [string trim $reason]"
    }
    method Refused {status answer} {
        set code $status
        regexp {^Code: (\d+)} $answer -> code
        set reason [string trim $answer]
        regexp {DB::Exception: (.*?)(?:, e\.what\(\) = .*)?$} $reason -> reason
        return -level 2 -code error -errorcode [list ETW IO DATABASE $code] "ClickHouse: [string range $reason 0 2000]"
    }
    method Literal {text} {
        return '[string map {\\ \\\\ ' \\'} $text]'
    }
    method Database {} {
        return $database
    }
    # Create the database, unless it exists.
    method Create {} {
        try {
            my Rows "SELECT 1"
        } trap {ETW IO DATABASE 81} {} {
            set name $database
            set database default
            try {
                my Rows "CREATE DATABASE IF NOT EXISTS `[string map {\\ \\\\ ` \\`} $name]`"
            } finally {
                set database $name
            }
        }
    }
    # The number of its version, for example 18.16.
    method Version {} {
        if {![::info exists version]} {
            regexp {^\d+\.\d+} [lindex [my Rows "SELECT version()"] 0 0] version
        }
        return $version
    }
    export Rows Insert Literal Database Create Version
}
