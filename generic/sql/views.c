/*
 * sql/views.c --
 *
 *	The ready queries of etw_open, as views over the tables of the traces. Described in doc/etw_sql.man.
 */
#include "sql/sql_int.h"

#define VIEW(name, query) "CREATE TEMP VIEW IF NOT EXISTS " name " AS " query
#define SECONDS "time / 1000000000"

const char *const sqlViews[] = {
        VIEW("kinds", "SELECT provider, event, sum(events) AS count, min(first) AS first, "
                      "max(last) AS last "
                      "FROM classes GROUP BY provider, event ORDER BY count DESC"),
        VIEW("providers", "SELECT provider, sum(events) AS count FROM classes GROUP BY provider "
                          "ORDER BY count DESC"),
        VIEW("timeline",
                "SELECT strftime('%Y-%m-%dT%H:%M:%S', " SECONDS
                ", 'unixepoch') || printf('.%06dZ', time / 1000 % 1000000) AS moment, "
                "provider || '/' || event AS event, process, pid, tid, cpu, payload FROM events"),
        VIEW("rates", "SELECT datetime(" SECONDS ", 'unixepoch') AS second, count(*) AS events "
                      "FROM events GROUP BY " SECONDS),
        VIEW("problems", "SELECT time, level, provider, event, process, pid, tid, message, payload "
                         "FROM events WHERE level BETWEEN 1 AND 3"),
        VIEW("activities",
                "SELECT activity, count(*) AS events, count(DISTINCT pid) AS processes, min(time) "
                "AS first, "
                "max(time) - min(time) AS duration FROM events WHERE activity IS NOT NULL "
                "GROUP BY activity ORDER BY duration DESC"),
        VIEW("cpus", "SELECT cpu, count(*) AS events, count(DISTINCT tid) AS threads FROM events "
                     "GROUP BY cpu"),
        VIEW("profile", "SELECT proc, count(words) AS calls, sum(self) AS self, sum(wait) AS wait, "
                        "max(duration) AS longest, sum(code = 1) AS errors FROM calls GROUP BY "
                        "proc ORDER BY self DESC"),
        VIEW("slowest", "SELECT proc, words, pid, tid, start, duration, self, wait FROM calls "
                        "ORDER BY duration DESC LIMIT 100"),
        VIEW("failures", "SELECT proc, words, pid, tid, start, duration FROM calls WHERE code = 1"),
        VIEW("unfinished",
                "SELECT proc, words, pid, tid, start, duration FROM calls WHERE code IS NULL"),
        VIEW("callers",
                "WITH c AS MATERIALIZED (SELECT trace, id, parent, proc, duration FROM calls) "
                "SELECT above.proc AS caller, c.proc AS callee, count(*) AS calls, sum(c.duration) "
                "AS duration "
                "FROM c JOIN c AS above ON above.id = c.parent AND above.trace = c.trace "
                "GROUP BY above.proc, c.proc ORDER BY duration DESC"),
        VIEW("waiting",
                "SELECT kind, what, count(*) AS count, sum(duration) AS duration, max(duration) AS "
                "longest, "
                "sum(bytes) AS bytes FROM waits GROUP BY kind, what ORDER BY duration DESC"),
        VIEW("busiest", "SELECT process, pid, tid, events, last - first AS duration FROM threads "
                        "ORDER BY events DESC"),
        VIEW("file_use", "SELECT file, count(*) AS operations, count(DISTINCT pid) AS processes, "
                         "sum(bytes) AS bytes "
                         "FROM files GROUP BY file ORDER BY operations DESC"),
        VIEW("functions", "SELECT module, function, count(*) AS stacks FROM stacks WHERE frame = 0 "
                          "GROUP BY module, function ORDER BY stacks DESC"),
        VIEW("lost", "SELECT trace, session, kind, count FROM losses WHERE count > 0"), NULL};
