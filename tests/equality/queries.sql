-- SPDX-License-Identifier: LGPL-2.1-or-later
--
-- Questions that Desktrace and Perfetto's trace processor answer alike. They are about values and never about ids, which
-- each program gives out in its own order. Above each is its name with the columns, and the modules it includes.

-- threads: tid, name, start_ts, end_ts, is_main_thread, pid
SELECT t.tid, t.name, t.start_ts, t.end_ts, t.is_main_thread, p.pid
FROM thread t LEFT JOIN process p USING (upid) WHERE t.tid <> 0;

-- processes: pid, name, start_ts, end_ts, parent, uid, cmdline
SELECT p.pid, p.name, p.start_ts, p.end_ts, q.pid AS parent, p.uid, p.cmdline
FROM process p LEFT JOIN process q ON q.upid = p.parent_upid WHERE p.pid <> 0;

-- sched: ts, dur, cpu, tid, name, end_state, priority
SELECT s.ts, s.dur, s.cpu, t.tid, t.name, s.end_state, s.priority FROM sched s JOIN thread t USING (utid);

-- sched_module: thread_name, process_name, cpu, end_state, priority, n, first, total
-- include sched.with_context
SELECT thread_name, process_name, cpu, end_state, priority, count(*) AS n, min(ts) AS first, sum(dur) AS total
FROM sched_with_thread_process GROUP BY utid, upid, cpu, end_state, priority;

-- thread_state: ts, dur, tid, state, cpu, io_wait, blocked_function, waker, irq_context, waker_ts
SELECT s.ts, s.dur, t.tid, s.state, s.cpu, s.io_wait, s.blocked_function, w.tid AS waker, s.irq_context,
    ws.ts AS waker_ts
FROM thread_state s JOIN thread t USING (utid) LEFT JOIN thread w ON w.utid = s.waker_utid
LEFT JOIN thread_state ws ON ws.id = s.waker_id;

-- spurious_wakeups: ts, tid, waker, irq_context, state_ts
SELECT s.ts, t.tid, w.tid AS waker, s.irq_context, st.ts AS state_ts FROM spurious_sched_wakeup s JOIN thread t USING (utid)
LEFT JOIN thread w ON w.utid = s.waker_utid LEFT JOIN thread_state st ON st.id = s.thread_state_id;

-- thread_slices: ts, dur, name, category, depth, tid, track, parent, parent_ts
SELECT s.ts, s.dur, s.name, s.category, s.depth, t.tid, k.name AS track, p.name AS parent, p.ts AS parent_ts
FROM slice s JOIN thread_track k ON k.id = s.track_id JOIN thread t USING (utid)
LEFT JOIN slice p ON p.id = s.parent_id;

-- process_slices: ts, dur, name, category, depth, pid, track, parent, parent_ts
SELECT s.ts, s.dur, s.name, s.category, s.depth, r.pid, k.name AS track, p.name AS parent, p.ts AS parent_ts
FROM slice s JOIN process_track k ON k.id = s.track_id JOIN process r USING (upid)
LEFT JOIN slice p ON p.id = s.parent_id;

-- other_slices: ts, dur, name, category, depth, track, type, parent, parent_ts
SELECT s.ts, s.dur, s.name, s.category, s.depth, k.name AS track, k.type, p.name AS parent, p.ts AS parent_ts
FROM slice s JOIN track k ON k.id = s.track_id LEFT JOIN slice p ON p.id = s.parent_id
WHERE s.track_id NOT IN (SELECT id FROM thread_track UNION ALL SELECT id FROM process_track);

-- track_parents: name, type, parent, parent_type, n_slices
SELECT k.name, k.type, p.name AS parent, p.type AS parent_type, count(*) AS n_slices
FROM track k JOIN slice s ON s.track_id = k.id LEFT JOIN track p ON p.id = k.parent_id GROUP BY k.id;

-- slice_args: ts, name, flat_key, key, int_value, string_value, real_value, value_type, display_value
SELECT s.ts, s.name, a.flat_key, a.key, a.int_value, a.string_value,
    CASE WHEN a.real_value IS NOT NULL THEN printf('%.12g', a.real_value) END, a.value_type,
    CASE WHEN a.value_type <> 'real' THEN a.display_value END
FROM slice s JOIN args a USING (arg_set_id);

-- states: ts, dur, value, category, track, type, tid, pid, parent
SELECT s.ts, s.dur, s.value, s.category, k.name AS track, k.type, t.tid, r.pid, p.name AS parent
FROM state s JOIN state_track k ON k.id = s.track_id LEFT JOIN thread_state_track tk ON tk.id = k.id
LEFT JOIN thread t USING (utid) LEFT JOIN process_state_track pk ON pk.id = k.id LEFT JOIN process r ON r.upid = pk.upid
LEFT JOIN track p ON p.id = k.parent_id;

-- state_args: ts, value, flat_key, key, int_value, string_value, value_type, display_value
SELECT s.ts, s.value, a.flat_key, a.key, a.int_value, a.string_value, a.value_type, a.display_value
FROM state s JOIN args a USING (arg_set_id);

-- self_time: ts, name, depth, self_dur
-- include slices.self_dur
SELECT s.ts, s.name, s.depth, d.self_dur FROM slice s JOIN slice_self_dur d USING (id) WHERE s.dur > 0;

-- thread_slice_module: ts, dur, name, category, depth, tid, thread_name, pid, process_name, is_main_thread
-- include slices.with_context
SELECT ts, dur, name, category, depth, tid, thread_name, pid, process_name, is_main_thread FROM thread_slice;

-- process_slice_module: name, category, depth, pid, process_name, track_name, n, first, total
-- include slices.with_context
SELECT name, category, depth, pid, process_name, track_name, count(*) AS n, min(ts) AS first, sum(dur) AS total
FROM process_slice GROUP BY track_id, name, category, depth;

-- either_slice_module: name, tid, pid, thread_name, process_name, track_name, n, first, total
-- include slices.with_context
SELECT name, tid, pid, thread_name, process_name, track_name, count(*) AS n, min(ts) AS first, sum(dur) AS total
FROM thread_or_process_slice GROUP BY track_id, name;

-- instants: name, track, n, first, last
SELECT i.name, k.name AS track, count(*) AS n, min(i.ts) AS first, max(i.ts) AS last
FROM instant i JOIN track k ON k.id = i.track_id GROUP BY k.id, i.name;

-- flows: out_ts, out_name, in_ts, in_name
SELECT o.ts AS out_ts, o.name AS out_name, i.ts AS in_ts, i.name AS in_name
FROM flow f JOIN slice o ON o.id = f.slice_out JOIN slice i ON i.id = f.slice_in;

-- process_counters: ts, value, name, unit, pid
SELECT c.ts, printf('%.12g', c.value), k.name, k.unit, p.pid FROM counter c JOIN process_counter_track k ON k.id = c.track_id
JOIN process p USING (upid);

-- thread_counters: ts, value, name, unit, tid
SELECT c.ts, printf('%.12g', c.value), k.name, k.unit, t.tid FROM counter c JOIN thread_counter_track k ON k.id = c.track_id
JOIN thread t USING (utid);

-- cpu_counters: ts, value, name, unit, cpu
SELECT c.ts, printf('%.12g', c.value), k.name, k.unit, k.cpu FROM counter c JOIN cpu_counter_track k ON k.id = c.track_id;

-- idle_module: ts, dur, idle, cpu, track
-- include linux.cpu.idle
SELECT i.ts, i.dur, i.idle, i.cpu, k.name AS track FROM cpu_idle_counters i JOIN track k ON k.id = i.track_id;

-- frequency_module: ts, dur, freq, cpu, track
-- include linux.cpu.frequency
SELECT f.ts, f.dur, f.freq, f.cpu, k.name AS track FROM cpu_frequency_counters f JOIN track k ON k.id = f.track_id;

-- other_counters: ts, value, name, unit, type
SELECT c.ts, printf('%.12g', c.value), k.name, k.unit, k.type FROM counter c JOIN counter_track k ON k.id = c.track_id
WHERE c.track_id NOT IN (SELECT id FROM process_counter_track UNION ALL SELECT id FROM thread_counter_track
    UNION ALL SELECT id FROM cpu_counter_track);

-- kernel_events: ts, name, cpu, tid
SELECT e.ts, e.name, e.cpu, t.tid FROM ftrace_event e LEFT JOIN thread t USING (utid);

-- sched_latency: ts, tid, latency_dur
-- include sched.latency
SELECT s.ts, t.tid, l.latency_dur FROM sched_latency_for_running_interval l
JOIN thread_state s ON s.id = l.thread_state_id JOIN thread t ON t.utid = l.utid
WHERE (s.utid, s.ts) IN (SELECT w.utid, w.ts + w.dur FROM thread_state w WHERE w.state IN ('R', 'R+'));

-- latency_before_sleep: ts, tid, latency_dur
-- include sched.latency
SELECT s.ts, t.tid, l.latency_dur FROM sched_latency_for_running_interval l
JOIN thread_state s ON s.id = l.thread_state_id JOIN thread t ON t.utid = l.utid
WHERE (s.utid, s.ts) NOT IN (SELECT w.utid, w.ts + w.dur FROM thread_state w
    WHERE w.state IN ('R', 'R+') AND w.utid IS NOT NULL AND w.dur IS NOT NULL);

-- journal: ts, prio, tag, msg, tid
SELECT l.ts, l.prio, l.tag, l.msg, t.tid FROM logs l LEFT JOIN thread t USING (utid);

-- journal_module: ts, prio, tag, msg, uid, comm, systemd_unit, hostname, transport
-- include linux.systemd_journald
SELECT ts, prio, tag, msg, uid, comm, systemd_unit, hostname, transport FROM linux_systemd_journald_logs;

-- samples: ts, tid, cpu, cpu_mode, unwind_error, stack
WITH RECURSIVE stack(id, at, text) AS (
    SELECT DISTINCT callsite_id, callsite_id, '' FROM perf_sample WHERE callsite_id IS NOT NULL
    UNION ALL
    SELECT s.id, c.parent_id, s.text || ';' || coalesce(nullif(f.name, ''), '?') || '@' || f.rel_pc || '/' ||
        ltrim(coalesce(m.name, ''), '/') || '#' || coalesce(m.build_id, '')
    FROM stack s JOIN stack_profile_callsite c ON c.id = s.at JOIN stack_profile_frame f ON f.id = c.frame_id
    JOIN stack_profile_mapping m ON m.id = f.mapping)
SELECT p.ts, t.tid, p.cpu, p.cpu_mode, p.unwind_error, s.text
FROM perf_sample p JOIN thread t USING (utid) LEFT JOIN stack s ON s.id = p.callsite_id AND s.at IS NULL;

-- stack_samples: ts, source, stack
WITH RECURSIVE stack(id, at, text) AS (
    SELECT DISTINCT callsite_id, callsite_id, '' FROM stack_sample WHERE callsite_id IS NOT NULL
    UNION ALL
    SELECT s.id, c.parent_id, s.text || ';' || coalesce(nullif(f.name, ''), '?') || '@' || f.rel_pc || '/' ||
        ltrim(coalesce(m.name, ''), '/') || '#' || coalesce(m.build_id, '')
    FROM stack s JOIN stack_profile_callsite c ON c.id = s.at JOIN stack_profile_frame f ON f.id = c.frame_id
    JOIN stack_profile_mapping m ON m.id = f.mapping)
SELECT p.ts, p.source, s.text FROM stack_sample p JOIN stack s ON s.id = p.callsite_id AND s.at IS NULL
WHERE p.source <> 'linux.perf';

-- mappings: name, build_id
SELECT DISTINCT name, coalesce(build_id, '') AS build_id FROM stack_profile_mapping;

-- symbols: name, rel_pc, build_id, symbol, source_file, line_number
SELECT DISTINCT f.name, f.rel_pc, m.build_id, s.name AS symbol, s.source_file, s.line_number
FROM stack_profile_frame f JOIN stack_profile_mapping m ON m.id = f.mapping
JOIN stack_profile_symbol s USING (symbol_set_id);

-- heap: pid, heap_name, count, size, stack
WITH RECURSIVE stack(id, at, text) AS (
    SELECT DISTINCT callsite_id, callsite_id, '' FROM heap_profile_allocation WHERE callsite_id IS NOT NULL
    UNION ALL
    SELECT s.id, c.parent_id, s.text || ';' || f.rel_pc || '/' || coalesce(m.build_id, '')
    FROM stack s JOIN stack_profile_callsite c ON c.id = s.at JOIN stack_profile_frame f ON f.id = c.frame_id
    JOIN stack_profile_mapping m ON m.id = f.mapping)
SELECT p.pid, h.heap_name, h.count, h.size, s.text
FROM heap_profile_allocation h JOIN process p USING (upid) LEFT JOIN stack s ON s.id = h.callsite_id AND s.at IS NULL;

-- heap_times: ts
SELECT DISTINCT ts FROM heap_profile_allocation;

-- losses: name, idx, severity, source, value
SELECT name, idx, severity, source, value FROM stats WHERE severity <> 'info' AND value > 0;

-- bounds: start_ts, end_ts
SELECT start_ts, end_ts FROM trace_bounds;

-- metadata: name, int_value, str_value
SELECT name, int_value, str_value FROM metadata;

-- clocks: ts, clock_id, clock_name, clock_value
SELECT ts, clock_id, clock_name, clock_value FROM clock_snapshot;

-- cpus: cpu, processor, capacity
SELECT cpu, processor, capacity FROM cpu;
