# ship.tcl --
#
#	etw ship: sends the trace files of a folder, or of a session that continues in new files (-mode newfile), to a database as they are
#	completed. A file is a batch: `etw load` puts it into the database once, however often it is sent, so that this process can be
#	killed at any moment. The folder is the spool. What does not fit into it while the server is away is dropped: the file gets a name
#	that says how many events it had and is cut to its header, which needs no disk space, and stays until the database has
#	its loss.

namespace eval ::etw::ship {
    # Option -> default.
    variable defaults {-cafile {} -delete 0 -host {} -interval 1000 -once 0 -passwordfile {} -progress {} -redact {} -spool 0 -to {}}
    # Milliseconds to the next attempt after the first failure, and at most.
    variable backoff {500 60000}
    # A file that no session of this user writes to and that was not closed is complete when it has not grown for so many seconds.
    variable quiet 60
    # Bytes of a dropped file that are kept: its header.
    variable kept 65536
    # For waiting.
    variable woken 0
}

# etw ship SOURCE -to DATABASE ?-option value ...?
proc ::etw::ship::Ship {source args} {
    set job [Job $source $args]
    set result [dict create files 0 events 0 skipped 0 dropped 0 lost 0 unreadable 0 failures 0 warnings {}]
    lassign $::etw::ship::backoff delay longest
    set shipped [Recall $job]
    while 1 {
        # Asked before the folder is read: the last file of a session is complete when the session has ended.
        set running [Running $job]
        lassign [Complete $job $shipped] files growing
        set away 0
        try {
            ShipLosses $job result shipped
            foreach file $files {
                if {![ShipFile $job $file result shipped]} {
                    set away 1
                }
            }
            if {$away} {
                Bound $job $shipped result
            }
        } trap {ETW IO DATABASE} {message how} {
            dict incr result failures
            if {[dict get $job once]} {
                return -options $how $message
            }
            Notify $job failed $message
            set away 1
            Bound $job $shipped result
        }
        if {!$away && (([dict get $job once] && $files eq "") || (!$running && [dict get $job session] ne "" && $files eq "" && $growing eq ""))} {
            return $result
        }
        Remember $job $shipped
        if {$away} {
            Pause [expr {int($delay * (0.75 + rand() / 2))}]
            set delay [expr {min($delay * 2, $longest)}]
        } else {
            set delay [lindex $::etw::ship::backoff 0]
            if {$files eq ""} {
                Pause [dict get $job interval]
            }
        }
    }
}

# What is to be done: a dict of the options without "-", with folder, pattern, session (empty: a folder) and the options of the export.
proc ::etw::ship::Job {source given} {
    variable defaults
    set options [::etw::lib::Options [dict get [::etw::lib::commands] ship options] $given]
    set own [dict merge $defaults [dict filter $options key {*}[dict keys $defaults]]]
    if {[dict get $own -to] eq ""} {
        return -code error -errorcode {ETW ARG MISSING -to} "\"etw ship\" needs \"-to\" with a database, for example clickhouse://USER@HOST:8123/DATABASE"
    }
    foreach name {-delete -once} {
        if {![string is boolean -strict [dict get $own $name]]} {
            return -code error -errorcode [list ETW ARG BOOLEAN $name] "expected a boolean value for \"$name\" but got \"[dict get $own $name]\""
        }
    }
    foreach {name unit} {-interval milliseconds -spool megabytes} {
        set value [dict get $own $name]
        if {![string is double -strict $value] || !($value >= 0 && $value <= 1e9)} {
            return -code error -errorcode [list ETW ARG NUMBER $name] "expected $unit from 0 to 1000000000 for \"$name\" but got \"$value\""
        }
    }
    if {![string is list [dict get $own -redact]]} {
        return -code error -errorcode {ETW ARG LIST -redact} "expected a list of patterns for \"-redact\" but got \"[dict get $own -redact]\""
    }
    lassign [Place $source] folder pattern session
    set job [dict create folder $folder pattern $pattern session $session source $source exporting [dict remove $options {*}[dict keys $defaults]]]
    dict for {name value} $own {
        dict set job [string range $name 1 end] $value
    }
    dict set job interval [expr {max(10, int([dict get $own -interval]))}]
    # The name of the database and the file with the password are checked before anything is waited for.
    ::etw::load::Target [dict get $own -to] $own
    return $job
}

# {folder pattern session} of a source.
proc ::etw::ship::Place {source} {
    if {[file isdirectory $source]} {
        return [list [file normalize $source] *.etl {}]
    }
    set name [regsub {^session:} $source {}]
    if {[catch {::etw query $name} state]} {
        return -code error -errorcode [list ETW LOOKUP SOURCE [::etw::load::Shown $source]] \
            "\"[::etw::load::Shown $source]\" is neither a folder nor a running session: name a folder with trace files, or a session of -mode newfile"
    }
    set path [dict get $state file]
    if {[dict get $state mode] ne "newfile"} {
        return -code error -errorcode [list ETW UNSUPPORTED SOURCE $source] \
            "the session \"$name\" does not continue in new files, so that none is complete before it ends: start it with -mode newfile,\
            -maxsize and -file FOLDER/NAME%d.etl"
    }
    set pattern [string map {%d *} [regsub -all {[][*?\\]} [file tail $path] {\\&}]]
    return [list [file normalize [file dirname $path]] $pattern $name]
}

proc ::etw::ship::Running {job} {
    return [expr {[dict get $job session] ne "" && ![catch {::etw query [dict get $job session]}]}]
}

# Wait; the event loop serves other events.
proc ::etw::ship::Pause {ms} {
    variable woken
    after $ms [list set ::etw::ship::woken 1]
    vwait ::etw::ship::woken
}

# -progress: call the command with a word and its details. An error in it ends the shipping.
proc ::etw::ship::Notify {job args} {
    if {[dict get $job progress] ne ""} {
        uplevel #0 [list {*}[dict get $job progress] {*}$args]
    }
}

# ---- Files ---------------------------------------------------------------------------------------

# {FILES GROWING}: the files to be sent, oldest first, and those that are not complete.
proc ::etw::ship::Complete {job shipped} {
    set found {}
    set growing {}
    foreach path [glob -nocomplain -types f -directory [dict get $job folder] -- [dict get $job pattern]] {
        if {[Identity $path] eq "" || [catch {list [file mtime $path] [file size $path]} stamp]} {
            continue ;# a link, or deleted meanwhile
        }
        if {[dict exists $shipped [file tail $path]] && [dict get $shipped [file tail $path]] eq $stamp} {
            continue
        }
        if {[Closed $path [lindex $stamp 0]]} {
            lappend found [list [lindex $stamp 0] [file tail $path] $path]
        } else {
            lappend growing $path
        }
    }
    return [list [lmap row [lsort -integer -index 0 [lsort -dictionary -index 1 $found]] {lindex $row 2}] $growing]
}

# Is the file complete? Its session has closed it, or nothing has written to it for a while. What is no trace is reported as unreadable later.
proc ::etw::ship::Closed {path changed} {
    variable quiet
    return [expr {[Ended $path] || ([clock seconds] - $changed > $quiet && ![Written $path])}]
}

# Has the session closed the file? Only then it may be deleted: sessions of other users are not seen.
proc ::etw::ship::Ended {path} {
    return [expr {![catch {dict get [::etw info $path -providers 0] closed} closed] && $closed}]
}

# The identity of a file, which a change of the file changes; {} if it is no plain file: links are not followed.
proc ::etw::ship::Identity {path} {
    if {[catch {file lstat $path about}] || $about(type) ne "file"} {
        return {}
    }
    return [list $about(dev) $about(ino) $about(size) $about(mtime)]
}

# Does a running session write to the file?
proc ::etw::ship::Written {path} {
    foreach name [::etw sessions] {
        if {[catch {dict get [::etw query $name] file} file] || $file eq ""} {
            continue
        }
        # The folder may have several names.
        set pattern [string map {%d *} [regsub -all {[][*?\\{}]} [file tail $file] {\\&}]]
        if {[string match $pattern [file tail $path]] && [SameFolder [file dirname $file] [file dirname $path]]} {
            return 1
        }
    }
    return 0
}

proc ::etw::ship::SameFolder {first second} {
    if {[file normalize $first] eq [file normalize $second]} {
        return 1
    }
    return [expr {![catch {file stat $first a; file stat $second b}] && $a(ino) != 0 && $a(dev) == $b(dev) && $a(ino) == $b(ino)}]
}

# Send a file. It is remembered, or deleted. Returns 0 if something on this machine failed, for example because its disk is full, so
# that the file must be sent later.
proc ::etw::ship::ShipFile {job path resultVar shippedVar} {
    upvar 1 $resultVar result $shippedVar shipped
    if {[catch {list [file mtime $path] [file size $path]} stamp]} {
        return 1
    }
    set identity [Identity $path]
    try {
        set trace [::etw::load::Describe $path [dict get $job host] [Options $job]]
        set loaded [Send $job $trace]
    } trap {ETW IO DATABASE} {message how} {
        return -options $how $message
    } on error {message how} {
        if {![Exists $path]} {
            return 1
        }
        if {[Unreadable [dict get $how -errorcode]]} {
            dict incr result unreadable
            dict lappend result warnings "[file tail $path]: $message"
            dict set shipped [file tail $path] $stamp
            Notify $job unreadable $path $message
            return 1
        }
        if {[dict get $job once] || [lrange [dict get $how -errorcode] 0 1] in {{ETW UNSUPPORTED} {ETW ARG}}} {
            return -options $how $message
        }
        dict incr result failures
        Notify $job failed "[file tail $path]: $message"
        return 0
    }
    foreach name {files skipped events} {
        dict incr result $name [dict get $loaded $name]
    }
    dict lappend result warnings {*}[dict get $loaded warnings]
    if {[dict get $job delete] && [Ended $path] && $identity ne "" && [Identity $path] eq $identity && [Delete $job $path result]} {
        dict unset shipped [file tail $path]
    } else {
        dict set shipped [file tail $path] $stamp
    }
    Notify $job shipped $path [dict get $loaded events]
    return 1
}

# `file exists` asks access(2), which denies a user with CAP_DAC_OVERRIDE what open(2) allows.
proc ::etw::ship::Exists {path} {
    return [expr {![catch {file lstat $path found}]}]
}

# Does an error of the reader say that the file is no trace, or one that it cannot read, so that another attempt is useless?
proc ::etw::ship::Unreadable {code} {
    return [expr {[string match {ETW FORMAT *} $code] || [lrange $code 0 2] in {{ETW UNSUPPORTED PACKED} {ETW UNSUPPORTED PERF}
        {ETW LIMIT ZIP} {ETW LIMIT ZSTD} {ETW LIMIT PIPE}}}]
}

# The options that a file is loaded with, which the database keeps.
proc ::etw::ship::Options {job} {
    set options [dict get $job exporting]
    if {[dict get $job redact] ne ""} {
        dict set options -redact [dict get $job redact]
    }
    return $options
}

proc ::etw::ship::Database {job} {
    return [::etw::load::Open [dict get $job to] [list -cafile [dict get $job cafile] -passwordfile [dict get $job passwordfile]]]
}

# Load a trace, or what remains of it without the fields to be masked. Returns the result of the load.
proc ::etw::ship::Send {job trace} {
    set db [Database $job]
    try {
        if {[dict get $job redact] eq ""} {
            return [::etw::load::Store $db [list $trace] {-replace 0 -index {} -progress {}} [dict get $job exporting]]
        }
        set chan [::etw::lib::RowsFile masked]
        try {
            ::etw::relog [dict get $trace source] $masked -redact [dict get $job redact]
            dict set trace source $masked
            return [::etw::load::Store $db [list $trace] {-replace 0 -index {} -progress {}} [dict get $job exporting]]
        } finally {
            ::etw::lib::RowsClose $chan $masked
        }
    } finally {
        $db destroy
    }
}

# ---- Bookmarks -----------------------------------------------------------------------------------

# They only save work: the database skips what it has.
proc ::etw::ship::BookmarkFile {job} {
    set key [encoding convertto utf-8 [list [Destination $job] [dict get $job host] [Options $job]]]
    return [file join [dict get $job folder] [format .etw-shipped-%08x [expr {[zlib crc32 $key] & 0xffffffff}]]]
}

# The name of the database without its password.
proc ::etw::ship::Destination {job} {
    set target [::etw::load::Target [dict get $job to]]
    return [expr {[dict get $target given] ? [dict remove $target password] : [dict get $job to]}]
}

# File -> {time size} of what was sent.
proc ::etw::ship::Recall {job} {
    set shipped {}
    if {[Identity [BookmarkFile $job]] ne "" && ![catch {::etw::lib::OpenFile [BookmarkFile $job]} f]} {
        fconfigure $f -encoding utf-8
        catch {
            foreach {name stamp} [read $f] {
                dict set shipped $name $stamp
            }
        }
        close $f
    }
    return $shipped
}

proc ::etw::ship::Remember {job shipped} {
    set shipped [dict filter $shipped script {name stamp} {Exists [file join [dict get $job folder] $name]}]
    set path [BookmarkFile $job]
    if {$shipped eq [Recall $job]} {
        return
    }
    catch { ;# a full disk, or a folder that must not be written
        file delete $path.new
        set f [::etw::lib::OpenFile $path.new {WRONLY CREAT EXCL}]
        try {
            fconfigure $f -encoding utf-8
            puts $f $shipped
        } finally {
            close $f
        }
        file rename -force $path.new $path
    }
}

# ---- Losses --------------------------------------------------------------------------------------

# While the server is away: drop the oldest files that their sessions have closed, until the others of these fit into the spool. What cannot
# be dropped is one failure; its files stay.
proc ::etw::ship::Bound {job shipped resultVar} {
    upvar 1 $resultVar result
    if {[dict get $job spool] == 0} {
        return
    }
    set files {}
    set size 0
    foreach path [lindex [Complete $job $shipped] 0] {
        if {[Ended $path] && ![catch {file size $path} own]} {
            lappend files $path $own
            incr size $own
        }
    }
    set problems {}
    foreach {path own} $files {
        if {$size <= [dict get $job spool] * 1e6} {
            break
        }
        try {
            Drop $job $path
            set size [expr {$size - $own}]
        } trap {POSIX ENOENT} {} {
            set size [expr {$size - $own}]
        } trap POSIX message {
            lappend problems $message
        }
    }
    if {$problems ne ""} {
        dict incr result failures
        Notify $job failed "[llength $problems] files that exceed -spool cannot be dropped: [lindex $problems 0]"
    }
}

# The name says what was lost, so that nothing else must be written before the space is free.
proc ::etw::ship::Drop {job path} {
    # A file that cannot be cut would keep its space, and its loss could not be counted.
    close [::etw::lib::OpenFile $path r+]
    set events 0
    catch {set events [dict get [::etw info $path] events]}
    set number {}
    while 1 {
        set dropped [file join [file dirname $path] .etw-lost-$events$number-[file tail $path]]
        if {[catch {file lstat $dropped about}]} {
            break
        }
        # An earlier file of the same name with as many events.
        set number .[incr again]
    }
    file rename $path $dropped
    Cut $dropped
    Notify $job dropped $path $events
}

# Delete a file that the database has. A failure is counted.
proc ::etw::ship::Delete {job path resultVar} {
    upvar 1 $resultVar result
    try {
        file delete $path
        return 1
    } trap POSIX message {
        dict incr result failures
        Notify $job failed "a file that was sent cannot be deleted: $message"
        return 0
    }
}

# Cut a dropped file to its header. Any user with the right to write to the folder can give a link such a name: what is no plain file, has other
# names, or is no trace stays as it is. Returns whether the file is a dropped one.
proc ::etw::ship::Cut {path} {
    variable kept
    set identity [Identity $path]
    if {$identity eq "" || [catch {::etw::lib::OpenFile $path r+} f]} {
        return 0
    }
    try {
        # What was opened, not what has the name now.
        set opened $path
        if {$::tcl_platform(os) eq "Linux" && [regexp {^file(\d+)$} $f -> number] && [file exists /proc/self/fd/$number]} {
            set opened /proc/self/fd/$number
        }
        file stat $opened about
        if {[list $about(dev) $about(ino) $about(size) $about(mtime)] ne $identity || $about(nlink) > 1 || [catch {::etw info $opened -providers 0}]} {
            return 0
        }
        if {$about(size) > $kept} {
            chan truncate $f $kept
        }
    } finally {
        close $f
    }
    return 1
}

# Put the losses into the database: a file without events, with the number that it had.
proc ::etw::ship::ShipLosses {job resultVar shippedVar} {
    upvar 1 $resultVar result $shippedVar shipped
    foreach path [glob -nocomplain -types f -directory [dict get $job folder] -- .etw-lost-*-[dict get $job pattern]] {
        if {![regexp {^\.etw-lost-(0|[1-9]\d{0,17})(?:\.\d+)?-(.*)$} [file tail $path] -> events name]
                || ([dict exists $shipped [file tail $path]] && [dict get $shipped [file tail $path]] eq [Identity $path])} {
            continue
        }
        if {[catch {Cut $path} cut] || !$cut || [catch {::etw::load::Describe $path [dict get $job host] dropped} trace]} {
            continue
        }
        dict set trace file $name
        # Only what the session lost: the events behind the header are those that were dropped.
        dict set trace lost [dict get [::etw info $path -providers 0] losses events]
        set db [Database $job]
        try {
            set new [::etw::load::StoreLoss $db $trace $events]
        } finally {
            $db destroy
        }
        if {$new} {
            dict incr result dropped
            dict incr result lost $events
        }
        if {![Delete $job $path result]} {
            dict set shipped [file tail $path] [Identity $path]
        }
    }
}
