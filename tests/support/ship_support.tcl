# ship_support.tcl --
#
#	For tests of etw ship: sessions that write several files, what they wrote, and shippers in other processes. Sourced after
#	support.tcl and clickhouse.tcl.

# ---- Traces --------------------------------------------------------------------------------------

# A session that has written COUNT events into several files of FOLDER. BETWEEN is evaluated after each tenth.
proc record {folder count {between {}} {end {}}} {
    set name ship[incr ::sessions]
    etw provider create Ship
    etw provider event Ship Sent {n int secret string}
    etw start $name -file [file join $folder $name-%d.etl] -mode newfile -maxsize 1 -buffersize 64 -compress off
    etw enable $name Ship
    try {
        for {set i 0} {$i < $count} {incr i} {
            etw write Ship Sent [incr ::number] "geheim [string repeat $i 60]"
            if {$i % ($count / 10) == 0} {
                etw flush $name
                uplevel 1 $between
            }
        }
        uplevel 1 $end
    } finally {
        etw stop $name
        etw provider delete Ship
    }
    return $name
}
# Numbers of the provider's events in all files of a folder, as etw events reads them.
proc numbersOf {folder} {
    set numbers {}
    foreach file [glob -directory $folder *.etl] {
        etw foreach event $file -provider Ship -fields n -as list {lappend numbers [lindex $event 0]}
    }
    return [lsort -integer $numbers]
}
# Bytes of the traces in a folder, some of which may vanish.
proc sizeOf {folder} {
    set bytes 0
    foreach file [glob -nocomplain -directory $folder *.etl] {
        catch {incr bytes [file size $file]}
    }
    return $bytes
}

# Start the tool's command in another process; it ends with the session, or is killed.
proc shipper {source db args} {
    return [childStart [list etw ship $source -to $db -interval 20 {*}$args]]
}
proc killShipper {chan} {
    exec kill -9 [lindex [pid $chan] 0]
    catch {childResult $chan}
}

# ---- Folders -------------------------------------------------------------------------------------

# mountNamespace: tmpfs can be mounted in a namespace of its own.
testConstraint mountNamespace [expr {[testConstraint linux] && ![catch {exec unshare -m mount -t tmpfs tmpfs [tempDir]}]}]

# Evaluate a script in another process, which has mounted a path over itself with options: "ro" for a folder that cannot be changed, "rw" for
# a file that cannot be deleted. To an administrator, permissions are no obstacle. Returns the script's output.
proc withMount {path options script} {
    set file [childScript [format {
        exec mount --bind %1$s %1$s
        exec mount -o remount,bind,%2$s %1$s
        catch {etw ship . -to {}} ;# loads its procs
        %3$s
    } [list $path] $options $script]]
    return [exec unshare -m [testing::tclsh] $file 2>@1]
}
