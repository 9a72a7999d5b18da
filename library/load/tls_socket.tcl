# tls_socket.tcl --
#
#	Connections for clickhouses://. The handshake ends, and the certificate is verified, before anything is sent: its chain by OpenSSL
#	(package tls), and the name of the host here, because package tls does not compare it.

namespace eval ::etw::load {
    # Milliseconds until a connection or a handshake is given up.
    variable tlsWait 60000
    # Channel -> whether something has happened; why OpenSSL has refused a certificate.
    variable tlsReady
    array set tlsReady {}
    variable tlsReason
    array set tlsReason {}
    # Where systems have the certificates of authorities.
    variable tlsAuthorities {-cadir /etc/ssl/certs -cafile /etc/pki/tls/certs/ca-bundle.crt -cafile /etc/ssl/cert.pem}
}

# Options of tls::socket for the authorities: those of CAFILE, or of the system.
proc ::etw::load::TlsAuthorities {cafile} {
    variable tlsAuthorities
    if {$cafile eq "" && [::info exists ::env(SSL_CERT_FILE)]} {
        set cafile $::env(SSL_CERT_FILE)
    }
    if {$cafile ne ""} {
        return [list -cafile $cafile]
    }
    foreach {option path} $tlsAuthorities {
        if {[file exists $path]} {
            return [list $option $path]
        }
    }
    return -code error -errorcode {ETW IO DATABASE CERTIFICATE} "this machine has no certificates of authorities in the usual places: name a file with -cafile"
}

# For http::register: like socket, with options of TlsAuthorities before its words. The last words are host and port.
proc ::etw::load::TlsSocket {authorities args} {
    lassign [lrange $args end-1 end] host port
    set host [string trimright [string trim $host {[]}] .]
    set name [expr {[AddressBytes $host] eq "" ? [list -servername $host] : {}}]
    set reporting [expr {[package vsatisfies [package provide tls] 1.8-] ? "-validatecommand" : "-command"}]
    set chan [::tls::socket {*}$authorities {*}$name -request 1 -require 1 $reporting ::etw::load::TlsReport -async $host $port]
    try {
        fconfigure $chan -blocking 0
        TlsHandshake $chan $port
        set names [CertificateNames [dict get [::tls::status $chan] certificate]]
        if {![NamesMatch $names $host]} {
            return -code error -errorcode {ETW IO DATABASE CERTIFICATE} "the server's certificate is for [NamesText $names], not for \"$host\":\
                write a name of the certificate into the URL, or give the server a certificate with this name"
        }
        fconfigure $chan -blocking 1
    } on error {message how} {
        catch {close $chan}
        return -options $how $message
    } finally {
        unset -nocomplain ::etw::load::tlsReady($chan) ::etw::load::tlsReason($chan)
    }
    return $chan
}

# Called by package tls. The result is whether the certificate is accepted: what OpenSSL says.
proc ::etw::load::TlsReport {what chan args} {
    if {$what ne "verify"} {
        return 1
    }
    lassign $args depth certificate ok reason
    if {!$ok} {
        set ::etw::load::tlsReason($chan) $reason
    }
    return $ok
}

proc ::etw::load::TlsHandshake {chan port} {
    variable tlsWait
    variable tlsReady
    variable tlsReason
    set timer [after $tlsWait [list set ::etw::load::tlsReady($chan) late]]
    try {
        TlsUntil $chan writable
        if {[set problem [fconfigure $chan -error]] ne ""} {
            return -code error -errorcode {ETW IO DATABASE CONNECTION} "couldn't open socket: $problem"
        }
        while {[catch {::tls::handshake $chan} done how] || !$done} {
            if {$done ne "0" && [lindex [dict get $how -errorcode] 1] ne "EAGAIN" && ![string match "*temporarily unavailable*" $done]} {
                TlsRefused $chan $port $done
            }
            TlsUntil $chan readable
        }
    } finally {
        after cancel $timer
        catch {fileevent $chan readable {}}
        catch {fileevent $chan writable {}}
    }
}

proc ::etw::load::TlsUntil {chan event} {
    variable tlsReady
    if {![::info exists tlsReady($chan)]} {
        fileevent $chan $event [list set ::etw::load::tlsReady($chan) $event]
        vwait ::etw::load::tlsReady($chan)
        fileevent $chan $event {}
    }
    if {$tlsReady($chan) eq "late"} {
        return -code error -errorcode {ETW IO DATABASE CONNECTION} "the server has not completed the TLS handshake in time"
    }
    unset tlsReady($chan)
}

proc ::etw::load::TlsRefused {chan port message} {
    variable tlsReason
    if {[::info exists tlsReason($chan)] || [string match "*certificate verify failed*" $message]} {
        set reason [expr {[::info exists tlsReason($chan)] ? $tlsReason($chan) : $message}]
        return -code error -errorcode {ETW IO DATABASE CERTIFICATE} "the server's certificate cannot be trusted ($reason): if it is the right server, write\
            the certificate of the authority that has signed it into a file, and name this file with -cafile"
    }
    return -code error -errorcode {ETW IO DATABASE CONNECTION} "the TLS handshake has failed ([regsub {^handshake failed: } $message {}]): port $port must be one for HTTPS"
}

# ---- Names ---------------------------------------------------------------------------------------

# The subject alternative names of a certificate in PEM: {names addresses}, addresses as bytes. A certificate that cannot be read has none.
proc ::etw::load::CertificateNames {pem} {
    set names {}
    set addresses {}
    catch {
        regexp -- {-----BEGIN CERTIFICATE-----([^-]*)-----END} $pem -> text
        set der [binary decode base64 $text]
        foreach {tag from to} [AlternativeNames $der] {
            switch -- $tag {
                130 { lappend names [string range $der $from $to-1] }
                135 { lappend addresses [string range $der $from $to-1] }
            }
        }
    }
    return [list $names $addresses]
}

# The elements of the extension 2.5.29.17: tag, first byte, byte behind the last.
proc ::etw::load::AlternativeNames {der} {
    lassign [DerParts $der 0 [string length $der]] - from to
    lassign [DerParts $der $from $to] - from to
    foreach {tag from to} [DerParts $der $from $to] {
        if {$tag != 0xa3} {
            continue
        }
        lassign [DerParts $der $from $to] - from to
        foreach {- from to} [DerParts $der $from $to] {
            set parts [DerParts $der $from $to]
            if {[string range $der [lindex $parts 1] [lindex $parts 2]-1] eq "\x55\x1d\x11"} {
                lassign [lrange $parts end-1 end] from to
                lassign [DerParts $der $from $to] - from to
                return [DerParts $der $from $to]
            }
        }
    }
    return {}
}

# The elements of DER from a byte up to another one: tag, first byte of the contents, byte behind them.
proc ::etw::load::DerParts {der at end} {
    set parts {}
    while {$at < $end} {
        if {[binary scan $der @${at}cucu tag length] != 2} {
            error "cut"
        }
        incr at 2
        if {$length >= 128} {
            set count [expr {$length & 127}]
            if {$count < 1 || $count > 3 || [binary scan $der @${at}cu$count bytes] != 1} {
                error "length"
            }
            incr at $count
            set length 0
            foreach byte $bytes {
                set length [expr {$length << 8 | $byte}]
            }
        }
        if {$length > $end - $at} {
            error "cut"
        }
        lappend parts $tag $at [incr at $length]
        lset parts end-1 [expr {$at - $length}]
    }
    return $parts
}

# Is a host, a name or an address, one of a certificate? An asterisk is the first label of a name.
proc ::etw::load::NamesMatch {found host} {
    lassign $found names addresses
    set address [AddressBytes $host]
    if {$address ne ""} {
        return [expr {$address in $addresses}]
    }
    set host [string tolower $host]
    foreach name $names {
        set name [string tolower $name]
        if {$name eq $host || ([regexp {^\*(\.[^.]+\..+)$} $name -> rest] && [regexp {^[^.]+(\..+)$} $host -> other] && $rest eq $other)} {
            return 1
        }
    }
    return 0
}

proc ::etw::load::NamesText {found} {
    lassign $found names addresses
    set all [lmap name $names {::etw::lib::visible $name}]
    foreach address $addresses {
        binary scan $address cu* bytes
        if {[llength $bytes] == 4} {
            lappend all [join $bytes .]
        } elseif {[binary scan $address Su8 words]} {
            lappend all [join [lmap word $words {format %x $word}] :]
        }
    }
    if {[llength $all] > 10} {
        set all [list {*}[lrange $all 0 9] ...]
    }
    return [expr {$all eq "" ? "no host" : [join $all {, }]}]
}

# The bytes of an IP address; empty if it is none.
proc ::etw::load::AddressBytes {host} {
    if {[regexp {^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$} $host]} {
        return [binary format c4 [lmap part [split $host .] {scan $part %d}]]
    }
    if {![regexp {^[0-9A-Fa-f:]*:[0-9A-Fa-f:]*$} $host]} {
        return {}
    }
    lassign [split [string map {:: /} $host] /] before after
    set before [lmap word [split $before :] {scan $word %x}]
    set after [lmap word [split $after :] {scan $word %x}]
    set zeros [lrepeat [expr {max(0, 8 - [llength $before] - [llength $after])}] 0]
    return [string range [binary format S* [concat $before $zeros $after]] 0 15]
}
