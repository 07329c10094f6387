/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Views: the names that people know, defined over the tables
 */

#include <string.h>

#include "query/query-private.h"

/* clang-format off */
static const char *const views[] = {
        "slices AS SELECT * FROM slice",
        "instant AS SELECT ts, track_id, name, arg_set_id FROM slice WHERE dur = 0",
        "instants AS SELECT * FROM instant",
        "sched_slice AS SELECT id, ts, dur, cpu, utid, end_state, priority, ucpu FROM sched",
        "raw AS SELECT * FROM ftrace_event",
        "track AS SELECT id, name, type, dimension_arg_set_id, parent_id, source_arg_set_id, machine_id, "
        "track_group_id FROM any_track",
        "thread_track AS SELECT id, name, type, parent_id, source_arg_set_id, machine_id, utid "
        "FROM any_track WHERE kind = 0 AND utid IS NOT NULL",
        "process_track AS SELECT id, name, type, parent_id, source_arg_set_id, machine_id, upid "
        "FROM any_track WHERE kind = 0 AND upid IS NOT NULL",
        "cpu_track AS SELECT id, name, type, parent_id, source_arg_set_id, machine_id, cpu "
        "FROM any_track WHERE kind = 0 AND cpu IS NOT NULL",
        "counter_track AS SELECT id, name, parent_id, type, dimension_arg_set_id, source_arg_set_id, machine_id, "
        "unit, description FROM any_track WHERE kind = 1",
        "thread_counter_track AS SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description, "
        "utid FROM any_track WHERE kind = 1 AND utid IS NOT NULL",
        "process_counter_track AS SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description, "
        "upid FROM any_track WHERE kind = 1 AND upid IS NOT NULL",
        "cpu_counter_track AS SELECT id, name, type, parent_id, source_arg_set_id, machine_id, unit, description, "
        "cpu FROM any_track WHERE kind = 1 AND cpu IS NOT NULL",
        "state_track AS SELECT id, name, parent_id, type, dimension_arg_set_id, source_arg_set_id, machine_id "
        "FROM any_track WHERE kind = 2",
        "thread_state_track AS SELECT id, name, type, parent_id, source_arg_set_id, machine_id, utid "
        "FROM any_track WHERE kind = 2 AND utid IS NOT NULL",
        "process_state_track AS SELECT id, name, type, parent_id, source_arg_set_id, machine_id, upid "
        "FROM any_track WHERE kind = 2 AND upid IS NOT NULL",
        "counters AS SELECT counter.*, t.name, t.unit FROM counter JOIN any_track t ON t.id = counter.track_id",
        "logs AS SELECT id, ts, utid, prio, 'systemd_journald' AS log_source, tag, msg, NULL AS arg_set_id "
        "FROM any_log",
        "android_logs AS SELECT id, ts, utid, prio, tag, msg FROM any_log WHERE 0",
        "linux_systemd_journald_logs AS SELECT id, ts, utid, prio, tag, msg, uid, comm, systemd_unit, hostname, "
        "transport FROM any_log",
        "trace_bounds AS SELECT trace_start() AS start_ts, trace_end() AS end_ts",
        "thread_slice AS SELECT s.id, s.ts, s.dur, s.category, s.name, s.track_id, k.name AS track_name, "
        "t.name AS thread_name, t.utid, t.tid, t.is_main_thread, p.name AS process_name, p.upid, p.pid, s.depth, "
        "s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur FROM slice s JOIN any_track k ON k.id = s.track_id "
        "JOIN thread t ON t.id = k.utid LEFT JOIN process p ON p.id = t.upid WHERE k.utid IS NOT NULL",
        "process_slice AS SELECT s.id, s.ts, s.dur, s.category, s.name, s.track_id, k.name AS track_name, "
        "p.name AS process_name, p.upid, p.pid, s.depth, s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur "
        "FROM slice s JOIN any_track k ON k.id = s.track_id JOIN process p ON p.id = k.upid "
        "WHERE k.upid IS NOT NULL",
        "thread_or_process_slice AS SELECT id, ts, dur, category, name, track_id, track_name, thread_name, utid, tid, "
        "is_main_thread, process_name, upid, pid, depth, parent_id, arg_set_id FROM thread_slice UNION ALL "
        "SELECT id, ts, dur, category, name, track_id, track_name, NULL, NULL, NULL, NULL, process_name, upid, pid, "
        "depth, parent_id, arg_set_id FROM process_slice",
        "sched_with_thread_process AS SELECT s.id, s.ts, s.dur, s.cpu, s.utid, s.end_state, s.priority, t.upid, t.tid, "
        "t.name AS thread_name, p.pid, p.name AS process_name FROM sched s JOIN thread t ON t.id = s.utid "
        "LEFT JOIN process p ON p.id = t.upid",
        /* By its place in the order of the thread's states, as a join by time reads them all for each. */
        "sched_latency_for_running_interval AS SELECT id AS thread_state_id, before_id AS runnable_latency_id, utid, "
        "before_dur AS latency_dur FROM (SELECT id, ts, dur, utid, state, lag(id) OVER own AS before_id, "
        "lag(ts) OVER own AS before_ts, lag(dur) OVER own AS before_dur, lag(state) OVER own AS before_state "
        "FROM thread_state WINDOW own AS (PARTITION BY utid ORDER BY ts, id)) WHERE state = 'Running' AND dur <> -1 "
        "AND before_state IN ('R', 'R+') AND before_ts + before_dur = ts",
        /* The idle state that the kernel calls -1 comes as 32 bits without a sign. */
        "cpu_idle_counters AS SELECT c.id, c.track_id, c.ts, lead(c.ts, 1, trace_end()) OVER own - c.ts AS dur, "
        "CASE c.value WHEN 4294967295 THEN -1 ELSE CAST(c.value AS INTEGER) END AS idle, k.cpu FROM counter c "
        "JOIN cpu_counter_track k ON k.id = c.track_id WHERE k.name = 'cpuidle' "
        "WINDOW own AS (PARTITION BY c.track_id ORDER BY c.ts, c.id)",
        "cpu_frequency_counters AS SELECT c.id, c.track_id, c.ts, lead(c.ts, 1, trace_end()) OVER own - c.ts AS dur, "
        "CAST(c.value AS INTEGER) AS freq, k.cpu AS ucpu, k.cpu FROM counter c "
        "JOIN cpu_counter_track k ON k.id = c.track_id WHERE k.name = 'cpufreq' "
        "WINDOW own AS (PARTITION BY c.track_id ORDER BY c.ts, c.id)",
};

/* Modules of Perfetto's standard library whose tables are listed above. */
static const char *const modules[] = {
        "slices.with_context", "slices.self_dur", "sched.with_context", "sched.latency", "linux.cpu.frequency",
        "linux.cpu.idle", "linux.systemd_journald",
};
/* clang-format on */

bool query_has_module(const char *name, size_t n) {
        for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
                if (strlen(modules[i]) == n && sqlite3_strnicmp(modules[i], name, (int)n) == 0)
                        return true;
        return false;
}

/* Each view has a statement of its own, as the length of a statement is limited. */
int query_add_views(Query *query) {
        int r = SQLITE_OK;

        for (size_t i = 0; i < ARRAY_SIZE(views) && r == SQLITE_OK; i++) {
                char *sql = sqlite3_mprintf("CREATE VIEW %s", views[i]);

                r = sql ? sqlite3_exec(query->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
                sqlite3_free(sql);
        }
        return r;
}
