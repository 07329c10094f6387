/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Events of the kernel, in bundles of one CPU each
 *
 * In a bundle, the compact switches come first, then the compact wakings (import-compact.c), then all other events.
 * Each of the three parts is in order of time. The parts are merged on their way into the CPU's lane, so that lane
 * seldom has to be sorted.
 */

#include <sched.h>
#include <string.h>

#include "trace/import-kernel.h"
#include "trace/import.h"
#include "trace/trace-bundle.h"
#include "trace/trace-names.h"

#define PARTS_OF_THREADS \
        (TRACE_PART_THREADS | TRACE_PART_SCHED | TRACE_PART_STATES | TRACE_PART_KERNEL)

/*
 * First pass
 */

static void note_unwanted(TraceStore *store, int64_t at_ns) {
        store->kernel_start = store->kernel_end ? MIN(store->kernel_start, at_ns) : at_ns;
        store->kernel_end = MAX(store->kernel_end, at_ns);
}

/* The parts that need each event of the kernel. */
static unsigned event_parts(uint32_t number) {
        switch (number) {
        case TRACE_EVENT_SCHED_SWITCH:
        case TRACE_EVENT_SCHED_WAKING:
        case TRACE_EVENT_TASK_NEWTASK:
        case TRACE_EVENT_TASK_RENAME:
        case TRACE_EVENT_SCHED_PROCESS_FREE:
                return PARTS_OF_THREADS;
        case TRACE_EVENT_SCHED_BLOCKED_REASON:
                return TRACE_PART_STATES | TRACE_PART_KERNEL;
        case TRACE_EVENT_CPU_FREQUENCY:
        case TRACE_EVENT_CPU_IDLE:
        case TRACE_EVENT_SOFTIRQ_ENTRY:
        case TRACE_EVENT_SOFTIRQ_EXIT:
        case TRACE_EVENT_IRQ_ENTRY:
        case TRACE_EVENT_IRQ_EXIT:
        case TRACE_EVENT_RSS_STAT:
        case TRACE_EVENT_WORKQUEUE_EXECUTE_START:
        case TRACE_EVENT_WORKQUEUE_EXECUTE_END:
        case TRACE_EVENT_HRTIMER_EXPIRE_ENTRY:
        case TRACE_EVENT_HRTIMER_EXPIRE_EXIT:
                return TRACE_PART_EVENTS | TRACE_PART_KERNEL;
        default:
                return TRACE_PART_KERNEL;
        }
}

/* The field of an event that holds the address of a kernel function which the sequence may have named; 0 if there is
 * none. */
static unsigned symbol_field(uint32_t number) {
        switch (number) {
        case TRACE_EVENT_SCHED_BLOCKED_REASON:
        case TRACE_EVENT_WORKQUEUE_EXECUTE_START:
                return 2;
        case TRACE_EVENT_HRTIMER_EXPIRE_ENTRY:
                return 3;
        default:
                return 0;
        }
}

/* The name is only known now, so it is stored in the field for flags. */
static uint32_t event_symbol(const TraceSequence *sequence, const WireField *body, unsigned field) {
        uint64_t numbers[4];
        uint32_t name = 0;

        trace_read_numbers(body, numbers, ARRAY_SIZE(numbers));
        trace_sequence_find(sequence, TRACE_INTERNED_KERNEL_SYMBOL, numbers[field], &name);
        return name;
}

static void bundle_add_other(TraceImport *import, const TraceEntry *entry) {
        if (trace_reserve((void **)&import->others,
                          &import->n_others_allocated,
                          import->n_others + 1,
                          sizeof(*entry)))
                import->ran_out = true;
        else
                import->others[import->n_others++] = *entry;
}

static void bundle_event(TraceImport *import, const ImportPacket *packet, const WireField *bytes) {
        TraceEntry entry = { .kind = IMPORT_KERNEL };
        TraceKernelEvent event;

        trace_kernel_event_read(&event, bytes);
        if (!event.body.number || !import_kernel_time(import, &event.at_ns))
                return;
        if (!import_wants(import, event_parts(event.body.number))) {
                note_unwanted(import->store, (int64_t)event.at_ns);
                return;
        }
        entry.at_ns = event.at_ns;
        if (symbol_field(event.body.number))
                entry.a = event_symbol(
                        packet->sequence, &event.body, symbol_field(event.body.number));
        import_keep_bytes(import, &entry, bytes);
        bundle_add_other(import, &entry);
}

static void bundle_descriptor(TraceImport *import, const WireField *bytes) {
        WireField name;
        uint32_t number;

        if (trace_kernel_descriptor_read(&number, &name, bytes) &&
            import->descriptors.n < IMPORT_DESCRIPTORS_MAX &&
            trace_map_set(&import->descriptors, number, import_text(import, &name)))
                import->ran_out = true;
}

static void bundle_descriptors(TraceImport *import, const WireField *bundle) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, bundle);
        while (wire_read(&reader, &field) > 0)
                if (field.number == TRACE_BUNDLE_DESCRIPTORS && field.type == WIRE_BYTES)
                        bundle_descriptor(import, &field);
}

static size_t cpu_lane(TraceImport *import, uint64_t cpu) {
        if (cpu >= TRACE_CPUS_MAX)
                return TRACE_LANE_NONE;
        if (import->cpu_lanes[cpu] == TRACE_LANE_NONE)
                import->cpu_lanes[cpu] =
                        trace_queue_add_lane(&import->queue, IMPORT_CPU_RANK + cpu);
        return import->cpu_lanes[cpu];
}

/* Returns TRACE_LANE_NONE if there is no such CPU. */
static size_t bundle_head(TraceImport *import, TraceBundle *bundle, const WireField *bytes) {
        trace_bundle_read(bundle, bytes);
        if (bundle->has_descriptors && import_wants(import, TRACE_PART_KERNEL))
                bundle_descriptors(import, bytes);
        if (bundle->is_lossy && bundle->cpu < TRACE_CPUS_MAX)
                trace_store_count(
                        import->store, "ftrace_cpu_has_data_loss", (int32_t)bundle->cpu, 1);
        return cpu_lane(import, bundle->cpu);
}

void import_ftrace(TraceImport *import, const ImportPacket *packet, const WireField *bundle) {
        TraceBundle head;
        size_t lane = bundle_head(import, &head, bundle);
        WireField compact = { 0 }, field;
        WireReader reader;

        if (lane == TRACE_LANE_NONE)
                return;
        wire_reader_init_field(&reader, bundle);
        while (wire_read(&reader, &field) > 0) {
                if (field.type != WIRE_BYTES)
                        continue;
                if (field.number == TRACE_BUNDLE_EVENT)
                        bundle_event(import, packet, &field);
                else if (field.number == TRACE_BUNDLE_COMPACT_SCHED &&
                         import_wants(import, PARTS_OF_THREADS))
                        compact = field;
        }
        import_bundle_end(import, (size_t)head.cpu, lane, &compact);
}

/*
 * Second pass
 */

static void kernel_row(TraceImport *import,
                       uint64_t at_ns,
                       uint32_t cpu,
                       uint32_t name,
                       uint32_t utid,
                       uint32_t flags) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_KERNEL_EVENT);
        uint32_t row;

        if (!import_wants(import, TRACE_PART_KERNEL)) {
                note_unwanted(import->store, (int64_t)at_ns);
                return;
        }
        row = trace_table_add(table);
        if (row == TRACE_NONE)
                return;
        trace_table_set_i64(table, KERNEL_TS, row, (int64_t)at_ns);
        trace_table_set(table, KERNEL_NAME, row, name);
        trace_table_set(table, KERNEL_CPU, row, cpu);
        trace_table_set(table, KERNEL_UTID, row, utid);
        trace_table_set(table, KERNEL_FLAGS, row, flags);
}

static uint32_t kernel_name(TraceImport *import, uint32_t number) {
        const char *name = trace_event_name(number);
        uint64_t described;

        if (name)
                return trace_pool_add_text(&import->store->pool, name);
        described = trace_map_find(&import->descriptors, number);
        if (described != TRACE_MAP_NONE)
                return (uint32_t)described;
        return trace_pool_add_format(&import->store->pool, "event-%u", number);
}

void apply_switch(TraceImport *import, uint32_t cpu, const TraceEntry *entry) {
        const TraceSwitch event = {
                .at_ns = entry->at_ns,
                .cpu = cpu,
                .is_compact = true,
                .next_tid = (int32_t)entry->a,
                .next_comm = entry->b,
                .next_prio = entry->small,
                .prev_state = (uint16_t)entry->c,
        };
        uint32_t prev = import->sched.cpus[cpu].utid;

        trace_sched_switch(&import->sched, &event);
        if (prev != TRACE_NONE && import_wants(import, TRACE_PART_KERNEL))
                kernel_row(import,
                           entry->at_ns,
                           cpu,
                           kernel_name(import, TRACE_EVENT_SCHED_SWITCH),
                           prev,
                           0);
}

void apply_waking(TraceImport *import, uint32_t cpu, const TraceEntry *entry) {
        const TraceWaking event = {
                .at_ns = entry->at_ns,
                .cpu = cpu,
                .is_compact = true,
                .tid = (int32_t)entry->a,
                .flags = entry->flags,
        };
        uint32_t waker = trace_sched_running(&import->sched, cpu);

        trace_sched_waking(&import->sched, &event);
        if (waker != TRACE_NONE)
                kernel_row(import,
                           entry->at_ns,
                           cpu,
                           import_wants(import, TRACE_PART_KERNEL)
                                   ? kernel_name(import, TRACE_EVENT_SCHED_WAKING)
                                   : 0,
                           waker,
                           entry->flags);
}

static void kernel_read(TraceImport *import, KernelEvent *event) {
        TraceKernelFields fields;

        trace_kernel_fields_read(&fields, &event->body);
        for (size_t i = 0; i < TRACE_KERNEL_FIELDS; i++) {
                event->numbers[i] = fields.numbers[i];
                if (fields.texts[i].type == WIRE_BYTES)
                        event->texts[i] = import_text(import, &fields.texts[i]);
        }
}

static void apply_full_switch(TraceImport *import, const KernelEvent *event) {
        const TraceSwitch change = {
                .at_ns = event->at_ns,
                .cpu = event->cpu,
                .prev_tid = (int32_t)event->numbers[2],
                .prev_comm = event->texts[1],
                .prev_state = (uint16_t)event->numbers[4],
                .next_tid = (int32_t)event->numbers[6],
                .next_comm = event->texts[5],
                .next_prio = (int16_t)event->numbers[7],
        };

        trace_sched_switch(&import->sched, &change);
}

static void apply_full_waking(TraceImport *import, const KernelEvent *event) {
        const TraceWaking waking = {
                .at_ns = event->at_ns,
                .cpu = event->cpu,
                .tid = (int32_t)event->numbers[2],
                .waker_tid = event->pid,
        };

        trace_sched_waking(&import->sched, &waking);
}

/* A task that is cloned without CLONE_THREAD is a process. */
static void apply_newtask(TraceImport *import, const KernelEvent *event) {
        int32_t tid = (int32_t)event->numbers[1];
        uint32_t source, utid, upid;

        if (tid == 0)
                return; /* the idle tasks of a kernel that boots */
        if (event->numbers[3] & CLONE_THREAD) {
                source = trace_threads_get(&import->threads, event->pid);
                utid = trace_threads_start(&import->threads, tid, (int64_t)event->at_ns);
                if (source == TRACE_NONE || utid == TRACE_NONE)
                        return;
                trace_threads_name(&import->threads, utid, event->texts[2], TRACE_RANK_COMM);
                trace_threads_join(&import->threads, source, utid);
        } else {
                upid = trace_threads_start_process(
                        &import->threads, tid, (int64_t)event->at_ns, event->texts[2]);
                source = trace_threads_get(&import->threads, event->pid);
                utid = trace_threads_get(&import->threads, tid);
                if (upid == TRACE_NONE || source == TRACE_NONE || utid == TRACE_NONE)
                        return;
                trace_threads_set_parent(&import->threads, upid, source);
        }
        trace_sched_new_task(&import->sched, event->at_ns, utid, source);
}

static void apply_rename(TraceImport *import, const KernelEvent *event) {
        uint32_t utid = trace_threads_get(&import->threads, (int32_t)event->numbers[1]);

        if (utid != TRACE_NONE)
                trace_threads_rename(&import->threads, utid, event->texts[3]);
}

static void apply_blocked_reason(TraceImport *import, const KernelEvent *event) {
        uint32_t utid = trace_threads_get(&import->threads, (int32_t)event->numbers[1]);

        if (utid != TRACE_NONE)
                trace_sched_blocked_reason(
                        &import->sched, utid, event->numbers[3] != 0, event->symbol);
}

static void apply_cpu_counter(TraceImport *import,
                              const KernelEvent *event,
                              const char *type,
                              const char *name) {
        const TracePlainTrack track = {
                .type = type,
                .name = trace_pool_add_text(&import->store->pool, name),
                .kind = TRACK_KIND_COUNTER,
                .utid = TRACE_NONE,
                .upid = TRACE_NONE,
                .cpu = (uint32_t)event->numbers[2],
        };

        if (import_wants(import, TRACE_PART_EVENTS))
                import_value(import,
                             trace_tracks_plain(&import->tracks, &track),
                             event->at_ns,
                             (double)(uint32_t)event->numbers[1]);
}

static void apply_known(TraceImport *import, const KernelEvent *event) {
        switch (event->body.number) {
        case TRACE_EVENT_SCHED_SWITCH:
                apply_full_switch(import, event);
                break;
        case TRACE_EVENT_SCHED_WAKING:
                apply_full_waking(import, event);
                break;
        case TRACE_EVENT_TASK_NEWTASK:
                apply_newtask(import, event);
                break;
        case TRACE_EVENT_TASK_RENAME:
                apply_rename(import, event);
                break;
        case TRACE_EVENT_SCHED_PROCESS_FREE:
                trace_threads_end(
                        &import->threads, (int32_t)event->numbers[2], (int64_t)event->at_ns);
                break;
        case TRACE_EVENT_SCHED_BLOCKED_REASON:
                apply_blocked_reason(import, event);
                break;
        case TRACE_EVENT_CPU_FREQUENCY:
                apply_cpu_counter(import, event, "cpu_frequency", "cpufreq");
                break;
        case TRACE_EVENT_CPU_IDLE:
                apply_cpu_counter(import, event, "cpu_idle", "cpuidle");
                break;
        case TRACE_EVENT_RSS_STAT:
                apply_memory_of_process(import, event);
                break;
        default:
                apply_handler(import, event);
                break;
        }
}

/* The older form of events without a number: each one carries its name. */
static uint32_t event_name(TraceImport *import, const KernelEvent *event) {
        WireField name;

        if (event->body.number == TRACE_EVENT_GENERIC &&
            trace_kernel_name_read(&name, &event->body))
                return import_text(import, &name);
        return kernel_name(import, event->body.number);
}

void apply_kernel(TraceImport *import, uint32_t cpu, const TraceEntry *entry) {
        KernelEvent event = { .at_ns = entry->at_ns, .cpu = cpu, .symbol = entry->a };
        WireField bytes = import_bytes(import, entry);
        TraceKernelEvent envelope;
        uint32_t utid;

        trace_kernel_event_read(&envelope, &bytes);
        event.pid = envelope.pid;
        event.flags = envelope.flags;
        event.body = envelope.body;
        if (event_parts(event.body.number) & ~TRACE_PART_KERNEL) {
                kernel_read(import, &event);
                apply_known(import, &event);
        }
        if (!import_wants(import, TRACE_PART_KERNEL)) {
                note_unwanted(import->store, (int64_t)event.at_ns);
                return;
        }
        utid = trace_threads_get(&import->threads, event.pid);
        kernel_row(import, event.at_ns, cpu, event_name(import, &event), utid, event.flags);
}
