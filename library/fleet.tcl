# fleet.tcl --
#
#	etw fleet: questions about all hosts whose traces are in a database (etw load, etw ship), answered by its SQL. ClickHouse and
#	PostgreSQL have each their form of a source of rows; the questions are the same text for both.

namespace eval ::etw::fleet {
    # Option -> default.
    variable defaults {-by {} -cafile {} -factor 2 -format list -from {} -host {} -limit {} -mincalls 10 -passwordfile {} -proc {} -since {} -until {}}
    # Question -> columns of its rows. Kinds: text; count; ns, a duration; time; number; json.
    variable columns {
        calls {proc text hosts count calls count total ns self ns wait ns min ns p50 ns p99 ns max ns errors count}
        top {proc text hosts count calls count total ns self ns wait ns p50 ns p90 ns p99 ns max ns errors count}
        hosts {host text traces count first time last time events count calls count lost count dropped count}
        diff {host text proc text calls count mean ns rest ns factor number errors count resterrors count restcalls count excess ns}
        trace {time time host text session text pid count tid count process text event text activity text related text payload json}
    }
    # Question -> columns that it can be ordered by; the first is the default.
    variable orders {
        calls {self total wait max p99 calls errors}
        top {self total wait max p99 calls errors}
        diff {excess factor}
        hosts host
        trace time
    }
    # Rounds in which `trace` follows related activities, and how many it follows.
    variable rounds 16
    variable followed 1000
}

# etw fleet QUESTION ?ID? -from DATABASE ?-option value ...?
proc ::etw::fleet::Fleet {args} {
    variable columns
    lassign [::etw::lib::SplitWords $args] words given
    set words [lassign $words question]
    set question [tcl::prefix match -message question [lsort [dict keys $columns]] [::etw::load::Shown $question]]
    if {[llength $words] != ($question eq "trace")} {
        return -code error -errorcode {TCL WRONGARGS} \
            "wrong # args: should be \"etw fleet $question [expr {$question eq "trace" ? "id " : ""}]-from database ?-option value ...?\""
    }
    set options [Options $question $given]
    set db [::etw::load::Open [dict get $options -from] $options]
    try {
        set form [Form $db]
        set rows [Ask-$question $db $form $options {*}$words]
    } finally {
        $db destroy
    }
    return [Show $question $rows [dict get $options -format]]
}

proc ::etw::fleet::Options {question given} {
    variable defaults
    variable orders
    set options [dict merge $defaults [::etw::lib::Options [dict get [::etw::lib::commands] fleet options] $given]]
    if {[dict get $options -from] eq ""} {
        return -code error -errorcode {ETW ARG MISSING -from} "\"etw fleet\" needs \"-from\" with a database, for example clickhouse://USER@HOST:8123/DATABASE"
    }
    if {[dict get $options -limit] eq ""} {
        dict set options -limit [expr {$question eq "trace" ? 1000 : 20}]
    }
    foreach name {-limit -mincalls} {
        if {![string is wideinteger -strict [dict get $options $name]] || [dict get $options $name] < 1} {
            return -code error -errorcode [list ETW ARG NUMBER $name] "expected a number from 1 on for \"$name\" but got \"[dict get $options $name]\""
        }
    }
    set factor [dict get $options -factor]
    if {![string is double -strict $factor] || !($factor >= 1 && $factor <= 1e9)} {
        return -code error -errorcode {ETW ARG NUMBER -factor} "expected a number from 1 on for \"-factor\" but got \"$factor\""
    }
    dict set options -format [tcl::prefix match -message format {csv json list text} [dict get $options -format]]
    set order [dict get $orders $question]
    dict set options -by [expr {[dict get $options -by] eq "" ? [lindex $order 0] : [tcl::prefix match -message order [lsort $order] [dict get $options -by]]}]
    foreach name {-since -until} {
        dict set options $name [Time $name [dict get $options $name]]
    }
    foreach name {-host -proc} {
        if {![string is list [dict get $options $name]]} {
            return -code error -errorcode [list ETW ARG LIST $name] "expected a list of patterns for \"$name\" but got \"[dict get $options $name]\""
        }
    }
    return $options
}

# Nanoseconds since 1970, from: such a number, a date, a date and time in UTC, or a duration before now.
proc ::etw::fleet::Time {name text} {
    if {$text eq "" || [string is wideinteger -strict $text]} {
        return $text
    }
    if {[regexp {^(\d{1,9})(s|m|min|h|d)$} $text -> number unit]} {
        return [expr {([clock seconds] - [scan $number %d] * [dict get {s 1 m 60 min 60 h 3600 d 86400} $unit]) * 1000000000}]
    }
    foreach format {%Y-%m-%d %Y-%m-%dT%H:%M:%SZ} {
        if {![catch {clock scan $text -format $format -gmt 1} seconds]} {
            return [expr {$seconds * 1000000000}]
        }
    }
    return -code error -errorcode [list ETW ARG TIME $name] "\"$text\" is no time for \"$name\": give 24h (before now), 2026-02-28,\
        2026-02-28T23:59:59Z or nanoseconds since 1970"
}

# ---- The two forms of SQL ------------------------------------------------------------------------

proc ::etw::fleet::Form {db} {
    if {[::info object isa typeof $db ::etw::load::ClickhouseServer]} {
        return clickhouse
    }
    if {"Lock" in [::info object methods $db -all] && [string match JSONB [$db Type]]} {
        return postgres
    }
    return -code error -errorcode {ETW UNSUPPORTED DATABASE} "\"etw fleet\" asks ClickHouse or PostgreSQL: give the URL of such a database to \"-from\""
}

# Conditions of -host, -proc, -since and -until, each with " AND " before it. `time`: the column in nanoseconds.
proc ::etw::fleet::Conditions {db form options names} {
    set sql {}
    foreach {option column} $names {
        set value [dict get $options $option]
        if {$value eq ""} {
            continue
        }
        switch -- $option {
            -since { append sql " AND $column >= $value" }
            -until { append sql " AND $column <= $value" }
            default { append sql " AND ([join [lmap pattern $value {Like $db $form $column $pattern}] { OR }])" }
        }
    }
    return $sql
}

# A pattern with * and ?.
proc ::etw::fleet::Like {db form column pattern} {
    set like [$db Literal [string map {\\ \\\\ % \\% _ \\_ * % ? _} $pattern]]
    return "$column LIKE $like"
}

# The calls that count, with the names of hosts, as a table.
proc ::etw::fleet::Calls {db form options} {
    if {$form eq "clickhouse"} {
        return "(SELECT host, proc, words, duration, self, wait, code FROM etw_calls WHERE load IN (SELECT counts FROM etw_loaded)[Conditions \
            $db $form $options {-host host -proc proc -since start -until start}])"
    }
    return "(SELECT h.name AS host, c.proc, c.words, c.duration, c.self, c.wait, c.code FROM etw_calls c JOIN etw_hosts h ON h.id = c.host
        WHERE TRUE[Conditions $db $form $options {-host h.name -proc c.proc -since c.start -until c.start}]) AS calls"
}

proc ::etw::fleet::Quantile {form q} {
    return [expr {$form eq "clickhouse" ? "quantileExact($q)(duration)" : "percentile_disc($q) WITHIN GROUP (ORDER BY duration)"}]
}

# Sums of the calls of each host and proc, as a table: of minutes where there are some.
proc ::etw::fleet::Sums {db form options} {
    if {$form eq "clickhouse"} {
        return "(SELECT host, proc, sumMerge(calls_state) AS n, sumMerge(duration_state) AS d, sumMerge(errors_state) AS e FROM etw_minutes
            WHERE load IN (SELECT counts FROM etw_loaded)[MinuteConditions $db $form $options] GROUP BY host, proc)"
    }
    return "(SELECT host, proc, count(words) AS n, sum(duration) AS d, sum(CASE WHEN code = 1 THEN 1 ELSE 0 END) AS e
        FROM [Calls $db $form $options] GROUP BY host, proc)"
}
proc ::etw::fleet::MinuteConditions {db form options} {
    foreach {option round} {-since 0 -until 0} {
        if {[dict get $options $option] ne ""} {
            dict set options $option "toDateTime([expr {[dict get $options $option] / 60000000000 * 60}])"
        }
    }
    return [Conditions $db $form $options {-host host -proc proc -since minute -until minute}]
}

# ---- The questions -------------------------------------------------------------------------------

proc ::etw::fleet::Order {options} {
    return "ORDER BY [dict get $options -by] DESC, proc LIMIT [dict get $options -limit]"
}

# The calls of each proc, from the calls themselves.
proc ::etw::fleet::Ask-calls {db form options} {
    return [$db Rows "SELECT proc, hosts, calls, total, self_time, wait_time, least, p50, p99, most, errors FROM (SELECT proc, count(DISTINCT host) AS hosts,
        count(words) AS calls, sum(duration) AS total, sum(self) AS self_time, sum(wait) AS wait_time, min(duration) AS least,
        [Quantile $form 0.5] AS p50, [Quantile $form 0.99] AS p99, max(duration) AS most, sum(CASE WHEN code = 1 THEN 1 ELSE 0 END) AS errors
        FROM [Calls $db $form $options] GROUP BY proc)[expr {$form eq "postgres" ? " AS procs" : ""}] [ProcOrder $options]"]
}
proc ::etw::fleet::ProcOrder {options} {
    dict set options -by [string map {self self_time wait wait_time max most} [dict get $options -by]]
    return [Order $options]
}

# The slowest procs, from the sums of minutes.
proc ::etw::fleet::Ask-top {db form options} {
    if {$form eq "clickhouse"} {
        set source "SELECT proc, count(DISTINCT host) AS hosts, sumMerge(calls_state) AS calls, sumMerge(duration_state) AS total,
            sumMerge(self_state) AS self_time, sumMerge(wait_state) AS wait_time, quantilesTDigestMerge(0.5, 0.9, 0.99)(quantiles_state) AS q,
            maxMerge(longest_state) AS most, sumMerge(errors_state) AS errors FROM etw_minutes
            WHERE load IN (SELECT counts FROM etw_loaded)[MinuteConditions $db $form $options] GROUP BY proc"
        set quantiles "toInt64(round(q\[1])) AS p50, toInt64(round(q\[2])) AS p90, toInt64(round(q\[3])) AS p99"
    } else {
        set source "SELECT proc, count(DISTINCT host) AS hosts, count(words) AS calls, sum(duration) AS total, sum(self) AS self_time,
            sum(wait) AS wait_time, [Quantile $form 0.5] AS p50, [Quantile $form 0.9] AS p90, [Quantile $form 0.99] AS p99, max(duration) AS most,
            sum(CASE WHEN code = 1 THEN 1 ELSE 0 END) AS errors FROM [Calls $db $form $options] GROUP BY proc"
        set quantiles "p50, p90, p99"
    }
    return [$db Rows "SELECT proc, hosts, calls, total, self_time, wait_time, $quantiles, most, errors FROM ($source)[expr {$form eq "postgres" ? " AS procs" : ""}]
        [ProcOrder $options]"]
}

# A row for each host.
proc ::etw::fleet::Ask-hosts {db form options} {
    set limit "LIMIT [dict get $options -limit]"
    if {$form eq "clickhouse"} {
        return [$db Rows "SELECT host, traces, first, last, events, calls, lost, dropped FROM
            (SELECT host, count() AS traces, min(started) AS first, max(ended) AS last, sum(events) AS events, sum(calls) AS calls FROM etw_traces GROUP BY host)
            ANY INNER JOIN (SELECT host, sum(lost) AS lost, sum(dropped) AS dropped FROM etw_losses GROUP BY host) USING host
            WHERE 1[Conditions $db $form $options {-host host -since last -until first}] ORDER BY host $limit"]
    }
    # What etw ship dropped is the loss of a file without events.
    return [$db Rows "SELECT host, sum(traces), min(first), max(last), sum(events), sum(calls), sum(lost), sum(dropped) FROM
        (SELECT f.host, f.session, f.started, count(*) AS traces, min(f.started) AS first, max(f.ended) AS last, sum(f.events) AS events,
            sum((SELECT count(*) FROM etw_calls c WHERE c.file = f.id)) AS calls, max(CASE WHEN f.options = 'dropped' THEN 0 ELSE f.lost END) AS lost,
            sum(CASE WHEN f.options = 'dropped' THEN f.lost ELSE 0 END) AS dropped FROM etw_files f GROUP BY f.host, f.session, f.started) AS sessions
        WHERE TRUE[Conditions $db $form $options {-host host -since last -until first}] GROUP BY host ORDER BY host $limit"]
}

# Hosts on which a proc is much slower or faster than on all others, or fails more or less often.
proc ::etw::fleet::Ask-diff {db form options} {
    # Of a host: calls n, duration d, errors e; of all hosts: in capitals.
    set sums [Sums $db $form [dict replace $options -host {}]]
    set factor [expr {double([dict get $options -factor])}]
    set all "(SELECT proc, sum(n) AS nn, sum(d) AS dd, sum(e) AS ee FROM $sums[expr {$form eq "postgres" ? " AS a" : ""}] GROUP BY proc)"
    if {$form eq "clickhouse"} {
        set joined "SELECT host, proc, n, d, e, nn, dd, ee FROM $sums ANY INNER JOIN $all USING proc"
        set float toFloat64
    } else {
        set joined "SELECT host, proc, n, d, e, nn, dd, ee FROM $sums AS h INNER JOIN $all AS t USING (proc)"
        set float float8
    }
    set compared "SELECT host, proc, n, d / ${float}(n) AS mean, (dd - d) / ${float}(nn - n) AS rest,
        CASE WHEN dd > d THEN (d / ${float}(n)) / ((dd - d) / ${float}(nn - n)) ELSE NULL END AS factor, e, ee - e AS resterrors, nn - n AS restcalls,
        d - n * ((dd - d) / ${float}(nn - n)) AS excess, e / ${float}(n) AS rate, (ee - e) / ${float}(nn - n) AS restrate
        FROM ($joined)[expr {$form eq "postgres" ? " AS j" : ""}]
        WHERE n >= [dict get $options -mincalls] AND nn - n >= [dict get $options -mincalls]"
    return [$db Rows "SELECT host, proc, n, round(mean), round(rest), factor, e, resterrors, restcalls, round(excess)
        FROM ($compared)[expr {$form eq "postgres" ? " AS c" : ""}]
        WHERE (factor >= $factor OR factor <= [expr {1 / $factor}] OR rate - restrate >= 0.1 OR restrate - rate >= 0.1)[Conditions $db $form $options {-host host}]
        ORDER BY [expr {[dict get $options -by] eq "factor" ? "factor" : "abs(excess)"}] DESC, host, proc LIMIT [dict get $options -limit]"]
}

# The events of an activity and of those related to it, over all hosts in the order of time.
proc ::etw::fleet::Ask-trace {db form options id} {
    variable rounds
    variable followed
    set id [string tolower [string trim $id "{} "]]
    if {![regexp {^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$} $id]} {
        return -code error -errorcode [list ETW ARG GUID $id] "expected the id of an activity, such as 2fa6b86c-7a1c-4bd1-8f14-1a3c2d4e5f60, but got \"$id\""
    }
    if {$form eq "clickhouse"} {
        set source {etw_events WHERE load IN (SELECT counts FROM etw_loaded)}
        set listed "time, host, session, pid, tid, process, concat(concat(provider, '/'), event) AS what, activity, related, payload FROM $source"
        set order "time, host, load, id"
    } else {
        set source {etw_events e JOIN etw_hosts h ON h.id = e.host JOIN etw_sessions s ON s.id = e.session WHERE TRUE}
        set listed "e.time, h.name, s.name, e.pid, e.tid, e.process, e.provider || '/' || e.event, e.activity, e.related, e.payload FROM $source"
        set order "e.time, h.name, e.file, e.id"
    }
    set conditions [Conditions $db $form $options [expr {$form eq "clickhouse" ? {-host host -since time -until time} : {-host h.name -since e.time -until e.time}}]]
    # Work that was begun by a known activity belongs to it.
    set ids [list $id]
    for {set round 0; set new $ids} {$round < $rounds && $new ne "" && [llength $ids] < $followed} {incr round} {
        set in [join [lmap one $new {string cat ' $one '}] ,]
        set new [lmap row [$db Rows "SELECT DISTINCT activity FROM $source AND related IN ($in)$conditions LIMIT $followed"] {
            expr {[lindex $row 0] in $ids || ![regexp {^[0-9a-f-]{36}$} [lindex $row 0]] ? [continue] : [lindex $row 0]}
        }]
        lappend ids {*}$new
    }
    set in [join [lmap one $ids {string cat ' $one '}] ,]
    return [$db Rows "SELECT $listed AND (activity IN ($in) OR related IN ($in))$conditions ORDER BY $order LIMIT [dict get $options -limit]"]
}

# ---- Output --------------------------------------------------------------------------------------

proc ::etw::fleet::Show {question rows format} {
    variable columns
    set kinds [dict get $columns $question]
    set names [dict keys $kinds]
    set rows [lmap row $rows {lmap cell $row kind [dict values $kinds] {Value $kind $cell}}]
    switch -- $format {
        list {
            return [lmap row $rows {
                set dict {}
                foreach name $names cell $row {
                    dict set dict $name $cell
                }
                set dict
            }]
        }
        csv {
            set lines [list [join $names ,]]
            foreach row $rows {
                lappend lines [join [lmap cell $row {Csv $cell}] ,]
            }
        }
        json {
            set lines [lmap row $rows {
                set pairs [lmap name $names kind [dict values $kinds] cell $row {string cat [::etw::lib::Json $name] : [JsonValue $kind $cell]}]
                string cat "{" [join $pairs ,] "}"
            }]
        }
        text {
            return [join [Text $question $kinds $rows] \n]
        }
    }
    return [join $lines \n]
}

# A number as Tcl writes it; what is not finite is empty, as NULL is.
proc ::etw::fleet::Value {kind cell} {
    if {$kind in {text json} || $cell eq ""} {
        return $cell
    }
    if {[string is wideinteger -strict $cell]} {
        return [expr {$cell}]
    }
    if {![string is double -strict $cell] || [regexp -nocase {inf|nan} $cell]} {
        return {}
    }
    if {$kind ne "number" && abs($cell) < 9e18} {
        return [expr {wide(round($cell))}]
    }
    return [expr {double($cell)}]
}

proc ::etw::fleet::Csv {cell} {
    return [expr {[regexp {[,"\r\n]} $cell] ? "\"[string map {\" \"\"} $cell]\"" : $cell}]
}

proc ::etw::fleet::JsonValue {kind cell} {
    if {$kind eq "text"} {
        return [expr {$cell eq "" ? "null" : [::etw::lib::Json $cell]}]
    }
    return [expr {$cell eq "" ? "null" : $cell}]
}

proc ::etw::fleet::Text {question kinds rows} {
    if {$rows eq ""} {
        return [list "no rows: nothing in the database fits"]
    }
    set start {}
    if {$question eq "trace"} { ;# times from the first event on
        set start [lindex $rows 0 0]
        set kinds {+time time host text pid/tid text event text fields text}
        set rows [lmap row $rows {
            lassign $row time host session pid tid process event activity related payload
            list $time $host $pid/$tid $event $payload
        }]
    }
    set heads [lmap {name kind} $kinds {string cat [expr {$kind in {text json} ? "" : ">"}] [string toupper $name]}]
    return [::etw::lib::Table $heads [lmap row $rows {
        lmap cell $row kind [dict values $kinds] {Cell $kind $cell $start}
    }]]
}

# START: the time that times are relative to, or empty.
proc ::etw::fleet::Cell {kind cell start} {
    if {$cell eq ""} {
        return -
    }
    switch -- $kind {
        ns { return [::etw::lib::Duration $cell] }
        number { return [format %.2f $cell] }
        time {
            if {$start ne ""} {
                return [format +%.6f [expr {($cell - $start) / 1e9}]]
            }
            return [clock format [expr {$cell / 1000000000}] -format %Y-%m-%dT%H:%M:%S -gmt 1]Z
        }
    }
    return $cell
}
