/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Kernel events: bundles of one CPU each, in time order for each CPU. CPU time is the time between
 * the switch to a thread and the next switch on the same CPU; it is unknown from a loss to the next
 * switch.
 */

#include <sched.h>

#include "client/trace-state.h"
#include "trace/trace-names.h"

/* Fields of perfetto.protos.FtraceEventBundle. */
enum {
        BUNDLE_CPU = 1,
        BUNDLE_EVENT = 2,
        BUNDLE_LOST = 3,
        BUNDLE_COMPACT_SCHED = 4,
        BUNDLE_DESCRIPTORS = 11,
};

/* Of FtraceEvent: below are envelope fields, and a single field above is the event. */
enum {
        EVENT_TIMESTAMP = 1,
        EVENT_PID = 2,
        EVENT_SCHED_SWITCH = 4,
        EVENT_COMMON_FLAGS = 5,
        EVENT_TASK_NEWTASK = 235,
        EVENT_TASK_RENAME = 236,
        EVENT_GENERIC = 327,
};

/* Of CompactSched. */
enum {
        COMPACT_SWITCH_TIMESTAMP = 1,
        COMPACT_SWITCH_NEXT_PID = 3,
        COMPACT_INTERN_TABLE = 5,
        COMPACT_SWITCH_COMM_INDEX = 6,
        COMPACT_WAKING_TIMESTAMP = 7,
        COMPACT_FIELDS = 13,
};

#define INTERN_TABLE_MAX 256

typedef struct KernelEvent {
        uint64_t at_ns;
        uint32_t number;
        WireField body;
} KernelEvent;

static void cpu_forget(CpuState *cpu) {
        cpu->is_known = false;
}

static void cpu_charge(TraceSummary *summary, CpuState *cpu, uint64_t until_ns) {
        TraceThread *thread;

        if (!cpu->is_known || until_ns < cpu->since_ns || cpu->tid == 0)
                return;
        thread = trace_state_thread(summary, cpu->tid);
        if (thread)
                thread->cpu_ns += until_ns - cpu->since_ns;
}

static void
cpu_switch(TraceSummary *summary, CpuState *cpu, uint64_t at_ns, int32_t next, const char *comm) {
        TraceThread *thread;

        cpu_charge(summary, cpu, at_ns);
        cpu->tid = next;
        cpu->since_ns = at_ns;
        cpu->is_known = true;
        if (next == 0)
                return; /* idle */
        thread = trace_state_thread(summary, next);
        if (!thread)
                return;
        thread->n_switches++;
        if (comm)
                trace_thread_set_name(thread, comm, NAME_RANK_SCHED);
}

/* Bundles count by the boot clock, whatever trace time is. */
static void kernel_saw_time(TraceSummary *summary, uint64_t ns) {
        trace_state_saw_time(summary, trace_summary_of_boottime(summary, ns));
        summary->state->last_kernel_ns = MAX(summary->state->last_kernel_ns, ns);
}

static void count_events(TraceSummary *summary, const char *name, uint64_t n) {
        if (n == 0)
                return;
        summary->state->last_source->n_events += n;
        trace_state_count_name(summary, summary->kernel_events, name, n);
}

static int read_pid_and_comm(TraceSummary *summary,
                             const WireField *body,
                             uint32_t pid_field,
                             uint32_t comm_field,
                             int32_t *ret_pid,
                             const char **ret_comm) {
        WireReader reader;
        WireField field;
        bool has_pid = false;

        *ret_comm = NULL;
        wire_reader_init_field(&reader, body);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == pid_field && field.type == WIRE_VARINT) {
                        *ret_pid = (int32_t)field.value;
                        has_pid = true;
                } else if (field.number == comm_field && field.type == WIRE_BYTES) {
                        *ret_comm = trace_state_field_name(summary, &field);
                }
        }
        return has_pid ? 0 : -EBADMSG;
}

static void event_switch(TraceSummary *summary, CpuState *cpu, const KernelEvent *event) {
        const char *comm;
        int32_t next;

        if (read_pid_and_comm(summary, &event->body, 6, 5, &next, &comm) == 0)
                cpu_switch(summary, cpu, event->at_ns, next, comm);
}

static void
event_names_thread(TraceSummary *summary, const KernelEvent *event, uint32_t comm_field) {
        TraceThread *thread;
        const char *comm;
        int32_t tid;

        if (read_pid_and_comm(summary, &event->body, 1, comm_field, &tid, &comm) < 0 || !comm)
                return;
        thread = trace_state_thread(summary, tid);
        if (thread)
                trace_thread_set_name(thread, comm, NAME_RANK_PROCFS);
}

/* A task that is cloned without CLONE_THREAD is a process. */
static void event_new_process(TraceSummary *summary, const KernelEvent *event) {
        uint64_t numbers[4];
        TraceThread *thread;

        trace_read_numbers(&event->body, numbers, ARRAY_SIZE(numbers));
        thread =
                numbers[3] & CLONE_THREAD ? NULL : trace_state_thread(summary, (int32_t)numbers[1]);
        if (thread)
                thread->pid = thread->tid;
}

/* The old way of events without a number: the name is in each. */
static const char *generic_event_name(TraceSummary *summary, const WireField *body) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, body);
        while (wire_read(&reader, &field) > 0)
                if (field.number == 1 && field.type == WIRE_BYTES)
                        return trace_state_field_name(summary, &field);
        return "generic";
}

static const char *event_name(TraceSummary *summary, const KernelEvent *event) {
        const char *name = trace_event_name(event->number);
        char number[32];

        if (event->number == EVENT_GENERIC)
                return generic_event_name(summary, &event->body);
        if (!name)
                name = g_hash_table_lookup(summary->state->generic_events,
                                           GUINT_TO_POINTER(event->number));
        if (!name) {
                g_snprintf(number, sizeof(number), "event-%u", event->number);
                name = trace_state_name(summary, number, strlen(number));
        }
        return name;
}

static void event_apply(TraceSummary *summary, CpuState *cpu, const KernelEvent *event) {
        kernel_saw_time(summary, event->at_ns);
        count_events(summary, event_name(summary, event), 1);
        switch (event->number) {
        case EVENT_SCHED_SWITCH:
                event_switch(summary, cpu, event);
                break;
        case EVENT_TASK_NEWTASK:
                event_names_thread(summary, event, 2);
                event_new_process(summary, event);
                break;
        case EVENT_TASK_RENAME:
                event_names_thread(summary, event, 3);
                break;
        }
}

static void bundle_event(TraceSummary *summary, CpuState *cpu, const WireField *bytes) {
        KernelEvent event = { 0 };
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, bytes);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == EVENT_TIMESTAMP)
                        event.at_ns = field.value;
                else if (field.number != EVENT_PID && field.number != EVENT_COMMON_FLAGS &&
                         field.type == WIRE_BYTES) {
                        event.number = field.number;
                        event.body = field;
                }
        }
        if (event.number)
                event_apply(summary, cpu, &event);
}

/* The columns of compact scheduling events, read in step. */
typedef struct CompactSched {
        WireReader columns[COMPACT_FIELDS];
        const char *comms[INTERN_TABLE_MAX];
        size_t n_comms;
} CompactSched;

static void compact_init(CompactSched *compact, TraceSummary *summary, const WireField *bytes) {
        WireReader reader;
        WireField field;

        compact->n_comms = 0;
        for (size_t i = 0; i < COMPACT_FIELDS; i++)
                wire_reader_init(&compact->columns[i], NULL, 0);
        wire_reader_init_field(&reader, bytes);
        while (wire_read(&reader, &field) > 0) {
                if (field.type != WIRE_BYTES || field.number >= COMPACT_FIELDS)
                        continue;
                if (field.number != COMPACT_INTERN_TABLE)
                        wire_reader_init_field(&compact->columns[field.number], &field);
                else if (compact->n_comms < INTERN_TABLE_MAX)
                        compact->comms[compact->n_comms++] =
                                trace_state_field_name(summary, &field);
        }
}

static bool compact_next(CompactSched *compact, uint32_t column, uint64_t *ret) {
        WireReader *reader = &compact->columns[column];

        return reader->at < reader->end && wire_read_varint(reader, ret) == 0;
}

static uint64_t compact_switches(CompactSched *compact, TraceSummary *summary, CpuState *cpu) {
        uint64_t at_ns = 0, step, next, index, n = 0;

        while (compact_next(compact, COMPACT_SWITCH_TIMESTAMP, &step) &&
               compact_next(compact, COMPACT_SWITCH_NEXT_PID, &next)) {
                const char *comm = NULL;

                if (compact_next(compact, COMPACT_SWITCH_COMM_INDEX, &index) &&
                    index < compact->n_comms)
                        comm = compact->comms[index];
                at_ns += step;
                cpu_switch(summary, cpu, at_ns, (int32_t)next, comm);
                kernel_saw_time(summary, at_ns);
                n++;
        }
        return n;
}

static uint64_t compact_wakings(CompactSched *compact, TraceSummary *summary) {
        uint64_t at_ns = 0, step, n = 0;

        for (; compact_next(compact, COMPACT_WAKING_TIMESTAMP, &step); n++) {
                at_ns += step;
                kernel_saw_time(summary, at_ns);
        }
        return n;
}

static void bundle_compact_sched(TraceSummary *summary, CpuState *cpu, const WireField *bytes) {
        CompactSched compact;

        compact_init(&compact, summary, bytes);
        count_events(summary, "sched_switch", compact_switches(&compact, summary, cpu));
        count_events(summary, "sched_waking", compact_wakings(&compact, summary));
}

/* The name in a serialized DescriptorProto. */
static const char *descriptor_name(TraceSummary *summary, const WireField *descriptor) {
        return generic_event_name(summary, descriptor);
}

static void bundle_descriptor(TraceSummary *summary, const WireField *bytes) {
        const char *name = NULL;
        uint32_t number = 0;
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, bytes);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == 1 && field.type == WIRE_VARINT)
                        number = (uint32_t)field.value;
                else if (field.number == 2 && field.type == WIRE_BYTES)
                        name = descriptor_name(summary, &field);
        }
        if (number && name &&
            !g_hash_table_contains(summary->state->generic_events, GUINT_TO_POINTER(number)) &&
            trace_state_may_grow(summary))
                g_hash_table_insert(
                        summary->state->generic_events, GUINT_TO_POINTER(number), (gpointer)name);
}

/* What concerns the bundle as a whole, wherever in it that is written. */
static CpuState *bundle_head(TraceSummary *summary, const WireField *payload) {
        WireReader reader;
        WireField field;
        uint64_t cpu = 0;
        bool is_lossy = false;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == BUNDLE_CPU)
                        cpu = field.value;
                else if (field.number == BUNDLE_LOST)
                        is_lossy = field.value != 0;
                else if (field.number == BUNDLE_DESCRIPTORS && field.type == WIRE_BYTES)
                        bundle_descriptor(summary, &field);
        }
        if (is_lossy)
                summary->n_kernel_bundles_lost++;
        if (cpu >= TRACE_CPUS_MAX)
                return NULL;
        if (is_lossy)
                cpu_forget(&summary->state->cpus[cpu]);
        return &summary->state->cpus[cpu];
}

void packet_ftrace(Packet *packet, const WireField *payload) {
        TraceSummary *summary = packet->summary;
        CpuState *cpu = bundle_head(summary, payload);
        WireReader reader;
        WireField field;

        if (!cpu)
                return;
        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0) {
                if (field.type != WIRE_BYTES)
                        continue;
                if (field.number == BUNDLE_EVENT)
                        bundle_event(summary, cpu, &field);
                else if (field.number == BUNDLE_COMPACT_SCHED)
                        bundle_compact_sched(summary, cpu, &field);
        }
}

/* A task that runs when the recording ends has run until then. */
void trace_ftrace_finish(TraceSummary *summary) {
        struct TraceState *state = summary->state;

        for (size_t i = 0; i < TRACE_CPUS_MAX; i++) {
                cpu_charge(summary, &state->cpus[i], state->last_kernel_ns);
                cpu_forget(&state->cpus[i]);
        }
}
