# tests/win/pe.tcl --
#
#	What a DLL of Windows says of itself: its processor, and its import table, read byte by byte. Programs
#	and DLLs with an import table; delay-loaded imports are not looked at (the package has none).

namespace eval pe {
    # What a Windows has of its own, from 7 on.
    variable ofWindows {kernel32.dll advapi32.dll msvcrt.dll user32.dll ntdll.dll shell32.dll ole32.dll ws2_32.dll
        bcrypt.dll}

    # Offset in the file of an address relative to the image.
    proc Offset {sections address} {
        foreach {start size at} $sections {
            if {$address >= $start && $address < $start + $size} {
                return [expr {$at + $address - $start}]
            }
        }
        error "address $address is in no section"
    }
    # A name's bytes only: text operations on all of the file would turn it into a string.
    proc Text {data at} {
        binary scan $data @${at}a256 text
        return [lindex [split $text \0] 0]
    }
    proc Bytes {file} {
        set f [open $file rb]
        try {
            return [read $f]
        } finally {
            close $f
        }
    }
    # The processor and the format: 0x8664 and 0x20b of 64 bits, 0x14c and 0x10b of 32.
    proc kind {file} {
        set data [Bytes $file]
        binary scan $data @60iu pe
        binary scan $data @${pe}a4su signature machine
        binary scan $data @[expr {$pe + 24}]su magic
        if {$signature ne "PE\0\0"} {
            error "$file is no program or DLL of Windows"
        }
        return [format {0x%x 0x%x} $machine $magic]
    }
    # A dict: DLL in lower case -> the names taken from it.
    proc imports {file} {
        set data [Bytes $file]
        binary scan $data @60iu pe
        binary scan $data @[expr {$pe + 6}]su count
        binary scan $data @[expr {$pe + 20}]su optional
        set at [expr {$pe + 24}]
        binary scan $data @${at}su magic
        set wide [expr {$magic == 0x20b}]
        binary scan $data @[expr {$at + ($wide ? 120 : 104)}]iu table
        set sections {}
        for {set i 0} {$i < $count} {incr i} {
            binary scan $data @[expr {$at + $optional + 40 * $i + 8}]iuiuiuiu size start raw where
            lappend sections $start [expr {max($size, $raw)}] $where
        }
        set result {}
        for {set d [Offset $sections $table]} 1 {incr d 20} {
            binary scan $data @${d}iux8iuiu lookup name first
            if {$name == 0} {
                return $result
            }
            set dll [string tolower [Text $data [Offset $sections $name]]]
            dict set result $dll [Names $data $sections [expr {$lookup ? $lookup : $first}] $wide]
        }
    }
    proc Names {data sections table wide} {
        set names {}
        set t [Offset $sections $table]
        while 1 {
            binary scan $data @$t[expr {$wide ? "wu" : "iu"}] entry
            if {$entry == 0} {
                return $names
            }
            if {$entry < 0x80000000} {
                lappend names [Text $data [expr {[Offset $sections $entry] + 2}]]
            }
            incr t [expr {$wide ? 8 : 4}]
        }
    }
}
