# clickhouse_schema.tcl --
#
#	The tables and views of traces in ClickHouse. Inserts there are no transactions. Each load of a batch (a file, or a part
#	of what `etw ship` follows) therefore has a number, which is in all its rows: they count when the number is in
#	etw_batches, whose row is written last. Of several loads of the same batch, the highest number counts. So a batch that was
#	loaded in part, or twice, counts once; rows of the other loads are deleted later.
#
#	What differs between versions of ClickHouse is in clickhouseForms, and nowhere else.

namespace eval ::etw::load {
    # Version from which on it applies -> what is replaced. A later version overrides an earlier one.
    variable clickhouseForms {
        18.10 {%NAME% String %NAME0% Nullable(String) %ACTIVITY% {}}
        20.3 {%NAME% LowCardinality(String) %NAME0% LowCardinality(Nullable(String)) %ACTIVITY% {, INDEX etw_activity activity TYPE bloom_filter GRANULARITY 4}}
    }
    variable clickhouseTables {
        {CREATE TABLE IF NOT EXISTS etw_batches (host String, session String, file String, started Int64, part UInt64, load UInt64,
            ended Int64, size Int64, options String, events UInt64, calls UInt64, lost UInt64, dropped UInt64,
            loaded DateTime DEFAULT now())
            ENGINE = ReplacingMergeTree(load) ORDER BY (host, session, file, started, part)}
        {CREATE TABLE IF NOT EXISTS etw_begun (host String, session String, file String, started Int64, part UInt64, load UInt64,
            begun DateTime DEFAULT now()) ENGINE = MergeTree ORDER BY (host, session, file, started, part, load)}
        {CREATE TABLE IF NOT EXISTS etw_events (load UInt64, host %NAME%, session %NAME%, file %NAME%, id UInt64, time Int64,
            provider %NAME%, event %NAME%, event_id UInt16, version UInt8, level UInt8, opcode UInt8, task UInt16, keyword Int64,
            pid Nullable(UInt32), tid Nullable(UInt32), cpu UInt32, activity Nullable(String), related Nullable(String),
            process %NAME0%, object Nullable(String), payload String%ACTIVITY%)
            ENGINE = MergeTree PARTITION BY toYYYYMM(toDateTime(intDiv(time, 1000000000), 'UTC')) ORDER BY (host, provider, time)}
        {CREATE TABLE IF NOT EXISTS etw_calls (load UInt64, host %NAME%, session %NAME%, file %NAME%, id UInt64, parent Nullable(UInt64),
            pid Nullable(UInt32), tid Nullable(UInt32), depth UInt32, proc %NAME%, words Nullable(String), start Int64, duration Int64,
            self Int64, wait Int64, code Nullable(Int32))
            ENGINE = MergeTree PARTITION BY toYYYYMM(toDateTime(intDiv(start, 1000000000), 'UTC')) ORDER BY (host, proc, start)}
        {CREATE TABLE IF NOT EXISTS etw_minutes (load UInt64, host %NAME%, proc %NAME%, minute DateTime,
            calls_state AggregateFunction(sum, UInt64), duration_state AggregateFunction(sum, Int64),
            self_state AggregateFunction(sum, Int64), wait_state AggregateFunction(sum, Int64),
            longest_state AggregateFunction(max, Int64), errors_state AggregateFunction(sum, UInt64),
            quantiles_state AggregateFunction(quantilesTDigest(0.5, 0.9, 0.99), Int64))
            ENGINE = AggregatingMergeTree PARTITION BY toYYYYMM(minute, 'UTC') ORDER BY (proc, minute, host, load)}
        {CREATE MATERIALIZED VIEW IF NOT EXISTS etw_to_minutes TO etw_minutes AS SELECT load, host, proc,
            toDateTime(intDiv(start, 60000000000) * 60) AS minute, sumState(toUInt64(isNotNull(words))) AS calls_state,
            sumState(duration) AS duration_state, sumState(self) AS self_state, sumState(wait) AS wait_state,
            maxState(duration) AS longest_state, sumState(toUInt64(ifNull(code = 1, 0))) AS errors_state,
            quantilesTDigestState(0.5, 0.9, 0.99)(duration) AS quantiles_state
            FROM etw_calls GROUP BY load, host, proc, minute}
        {CREATE VIEW IF NOT EXISTS etw_loaded AS SELECT max(load) AS counts FROM etw_batches GROUP BY host, session, file, started, part}
        {CREATE VIEW IF NOT EXISTS etw_traces AS SELECT host, session, file, started, max(ended) AS ended, sum(events) AS events,
            sum(lost) AS lost, sum(calls) AS calls, sum(dropped) AS dropped FROM etw_batches
            WHERE load IN (SELECT counts FROM etw_loaded) GROUP BY host, session, file, started}
        {CREATE VIEW IF NOT EXISTS etw_losses AS SELECT host, session, started, max(lost) AS lost, sum(dropped) AS dropped,
            sum(events) AS events FROM etw_batches WHERE load IN (SELECT counts FROM etw_loaded) GROUP BY host, session, started}
        {CREATE VIEW IF NOT EXISTS etw_timeline AS SELECT host, session, file AS trace, id, time, provider, event, level, process, pid, tid,
            cpu, activity, related, object, payload FROM etw_events WHERE load IN (SELECT counts FROM etw_loaded)}
        {CREATE VIEW IF NOT EXISTS etw_kinds AS SELECT host, session, file, provider, event, count() AS count, min(time) AS first,
            max(time) AS last FROM etw_events WHERE load IN (SELECT counts FROM etw_loaded)
            GROUP BY host, session, file, provider, event}
        {CREATE VIEW IF NOT EXISTS etw_profile AS SELECT host, session, file, proc, count(words) AS calls, sum(self) AS self,
            sum(wait) AS wait, max(duration) AS longest, countIf(code = 1) AS errors FROM etw_calls
            WHERE load IN (SELECT counts FROM etw_loaded) GROUP BY host, session, file, proc}
        {CREATE VIEW IF NOT EXISTS etw_procs AS SELECT host, proc, minute, sumMerge(calls_state) AS calls, sumMerge(duration_state) AS duration,
            sumMerge(self_state) AS self, sumMerge(wait_state) AS wait, maxMerge(longest_state) AS longest,
            sumMerge(errors_state) AS errors, quantilesTDigestMerge(0.5, 0.9, 0.99)(quantiles_state) AS quantiles FROM etw_minutes
            WHERE load IN (SELECT counts FROM etw_loaded) GROUP BY host, proc, minute}
    }
}

# The statements that create the tables, for a version such as 18.16.
proc ::etw::load::ClickhouseTables {version} {
    variable clickhouseForms
    variable clickhouseTables
    set map {}
    dict for {from replaced} $clickhouseForms {
        if {[package vcompare $version $from] >= 0} {
            set map [dict merge $map $replaced]
        }
    }
    return [lmap sql $clickhouseTables {string map $map $sql}]
}
