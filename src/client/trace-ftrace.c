/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Kernel events: bundles of one CPU each, in time order for each CPU. CPU time is the time between
 * the switch to a thread and the next switch on the same CPU; it is unknown from a loss to the next
 * switch.
 */

#include <sched.h>

#include "client/trace-state.h"
#include "trace/trace-bundle.h"
#include "trace/trace-names.h"

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

/* Text of an event, or NULL. */
static const char *fields_text(TraceSummary *summary, const TraceKernelFields *fields, size_t i) {
        return fields->texts[i].type == WIRE_BYTES
                       ? trace_state_field_name(summary, &fields->texts[i])
                       : NULL;
}

static void event_switch(TraceSummary *summary, CpuState *cpu, const TraceKernelEvent *event) {
        TraceKernelFields fields;

        trace_kernel_fields_read(&fields, &event->body);
        if (fields.has_numbers & 1u << 6)
                cpu_switch(summary,
                           cpu,
                           event->at_ns,
                           (int32_t)fields.numbers[6],
                           fields_text(summary, &fields, 5));
}

static TraceThread *
event_names_thread(TraceSummary *summary, const TraceKernelFields *fields, size_t comm_field) {
        const char *comm = fields_text(summary, fields, comm_field);
        TraceThread *thread = NULL;

        if (comm && fields->has_numbers & 1u << 1)
                thread = trace_state_thread(summary, (int32_t)fields->numbers[1]);
        if (thread)
                trace_thread_set_name(thread, comm, NAME_RANK_PROCFS);
        return thread;
}

/* A task that is cloned without CLONE_THREAD is a process. */
static void event_new_task(TraceSummary *summary, const TraceKernelEvent *event) {
        TraceKernelFields fields;
        TraceThread *thread = NULL;

        trace_kernel_fields_read(&fields, &event->body);
        event_names_thread(summary, &fields, 2);
        if (!(fields.numbers[3] & CLONE_THREAD))
                thread = trace_state_thread(summary, (int32_t)fields.numbers[1]);
        if (thread)
                thread->pid = thread->tid;
}

static void event_rename(TraceSummary *summary, const TraceKernelEvent *event) {
        TraceKernelFields fields;

        trace_kernel_fields_read(&fields, &event->body);
        event_names_thread(summary, &fields, 3);
}

/* The old way of events without a number: the name is in each. */
static const char *generic_event_name(TraceSummary *summary, const WireField *body) {
        WireField name;

        return trace_kernel_name_read(&name, body) ? trace_state_field_name(summary, &name)
                                                   : "generic";
}

static const char *event_name(TraceSummary *summary, const TraceKernelEvent *event) {
        const char *name = trace_event_name(event->body.number);
        char number[32];

        if (event->body.number == TRACE_EVENT_GENERIC)
                return generic_event_name(summary, &event->body);
        if (!name)
                name = g_hash_table_lookup(summary->state->generic_events,
                                           GUINT_TO_POINTER(event->body.number));
        if (!name) {
                g_snprintf(number, sizeof(number), "event-%u", event->body.number);
                name = trace_state_name(summary, number, strlen(number));
        }
        return name;
}

static void event_apply(TraceSummary *summary, CpuState *cpu, const TraceKernelEvent *event) {
        kernel_saw_time(summary, event->at_ns);
        count_events(summary, event_name(summary, event), 1);
        switch (event->body.number) {
        case TRACE_EVENT_SCHED_SWITCH:
                event_switch(summary, cpu, event);
                break;
        case TRACE_EVENT_TASK_NEWTASK:
                event_new_task(summary, event);
                break;
        case TRACE_EVENT_TASK_RENAME:
                event_rename(summary, event);
                break;
        }
}

static void bundle_event(TraceSummary *summary, CpuState *cpu, const WireField *bytes) {
        TraceKernelEvent event;

        trace_kernel_event_read(&event, bytes);
        if (event.body.number)
                event_apply(summary, cpu, &event);
}

static uint64_t compact_switches(TraceCompactSched *compact, TraceSummary *summary, CpuState *cpu) {
        const char *comms[TRACE_COMPACT_COMMS_MAX];
        TraceCompactSwitch event;
        uint64_t n = 0;

        for (size_t i = 0; i < compact->n_comms; i++)
                comms[i] = trace_state_name(summary, compact->comms[i].data, compact->comms[i].n);
        for (; trace_compact_switch(compact, &event); n++) {
                cpu_switch(summary,
                           cpu,
                           event.at_ns,
                           event.next_tid,
                           event.comm == UINT32_MAX ? NULL : comms[event.comm]);
                kernel_saw_time(summary, event.at_ns);
        }
        return n;
}

static uint64_t compact_wakings(TraceCompactSched *compact, TraceSummary *summary) {
        TraceCompactWaking event;
        uint64_t n = 0;

        for (; trace_compact_waking(compact, &event); n++)
                kernel_saw_time(summary, event.at_ns);
        return n;
}

static void bundle_compact_sched(TraceSummary *summary, CpuState *cpu, const WireField *bytes) {
        TraceCompactSched compact;

        trace_compact_init(&compact, bytes);
        count_events(summary, "sched_switch", compact_switches(&compact, summary, cpu));
        count_events(summary, "sched_waking", compact_wakings(&compact, summary));
}

static void bundle_descriptor(TraceSummary *summary, const WireField *bytes) {
        GHashTable *names = summary->state->generic_events;
        uint32_t number;
        WireField name;

        if (trace_kernel_descriptor_read(&number, &name, bytes) &&
            !g_hash_table_contains(names, GUINT_TO_POINTER(number)) &&
            trace_state_may_grow(summary))
                g_hash_table_insert(names,
                                    GUINT_TO_POINTER(number),
                                    (gpointer)trace_state_field_name(summary, &name));
}

static void bundle_descriptors(TraceSummary *summary, const WireField *payload) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, payload);
        while (wire_read(&reader, &field) > 0)
                if (field.number == TRACE_BUNDLE_DESCRIPTORS && field.type == WIRE_BYTES)
                        bundle_descriptor(summary, &field);
}

static CpuState *bundle_head(TraceSummary *summary, const WireField *payload) {
        TraceBundle bundle;

        trace_bundle_read(&bundle, payload);
        if (bundle.has_descriptors)
                bundle_descriptors(summary, payload);
        if (bundle.is_lossy)
                summary->n_kernel_bundles_lost++;
        if (bundle.cpu >= TRACE_CPUS_MAX)
                return NULL;
        if (bundle.is_lossy)
                cpu_forget(&summary->state->cpus[bundle.cpu]);
        return &summary->state->cpus[bundle.cpu];
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
                if (field.number == TRACE_BUNDLE_EVENT)
                        bundle_event(summary, cpu, &field);
                else if (field.number == TRACE_BUNDLE_COMPACT_SCHED)
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
