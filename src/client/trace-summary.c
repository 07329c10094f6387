/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Takes each packet apart in two passes: the envelope first, since the service appends its trusted
 * fields behind what the producer wrote, then the payload by its kind.
 */

#include <string.h>

#include "client/keyed-hash.h"
#include "client/trace-state.h"
#include "client/trace-summary.h"
#include "shared/names.h"
#include "trace/trace-reader.h"
#include "trace/trace-service.h"

#define SERVICE_SEQUENCE_ID 1

typedef struct PacketKind {
        uint32_t number;
        const char *name;
        const char *data_source;
        void (*read)(Packet *packet,
                     const WireField *payload); /* NULL: such packets are only counted */
        bool has_events;                        /* read() counts the events in it */
        bool may_be_own;                        /* cpu.stacks writes it, too */
} PacketKind;

enum { PACKET_PROFILE = 37, PACKET_PERF_SAMPLE = 66, PACKET_STACK_SAMPLE = 135 };

static const PacketKind packet_kinds[] = {
        { 1, "ftrace_events", "linux.ftrace", packet_ftrace, true },
        { 34, "ftrace_stats", "linux.ftrace", packet_ftrace_stats },
        { 2, "process_tree", "linux.process_stats", packet_process_tree, .may_be_own = true },
        { 9, "process_stats", "linux.process_stats", NULL },
        { 43, "process_descriptor", "linux.process_stats", NULL },
        { 7, "sys_stats", "linux.sys_stats", packet_sys_stats },
        { 67, "cpu_info", "linux.system_info", NULL },
        { 38, "battery", "linux.sysfs_power", NULL },
        { 40, "power_rails", "linux.sysfs_power", NULL },
        { 71, "gpu_mem_total_event", "linux.drm", NULL },
        { 128, "gpu_info", "linux.drm", NULL },
        { 129, "generic_gpu_frequency_event", "linux.sys_stats", NULL },
        { 132, "journald_event", "linux.systemd_journald", NULL },
        { 130, "interrupt_info", "linux.system_info", NULL },
        { 11, "track_event", "track_event", packet_track_event },
        { 60, "track_descriptor", "track_event", packet_track_descriptor },
        { PACKET_PROFILE, "profile_packet", "heap.malloc", NULL },
        { PACKET_PERF_SAMPLE, "perf_sample", "linux.perf", packet_perf_sample, .may_be_own = true },
        { PACKET_STACK_SAMPLE,
          "stack_sample",
          "linux.perf",
          packet_stack_sample,
          .may_be_own = true },
        { 61, "module_symbols", "", NULL },
        { 6, "clock_snapshot", "", packet_clock_snapshot },
        { 33, "trace_config", "", packet_trace_config },
        { 35, "trace_stats", "", packet_trace_stats },
        { 36, "synchronization_marker", "", NULL },
        { 45, "system_info", "", packet_system_info },
        { 46, "trigger", "", NULL },
        { 50, "compressed_packets", "", packet_compressed },
        { 133, "zstd_compressed_packets", "", packet_compressed },
        { 69, "service_event", "", packet_service_event },
        { 89, "trace_uuid", "", packet_trace_uuid },
        { 113, "clone_snapshot_trigger", "", NULL },
        { 124, "trace_provenance", "", NULL },
        { 0, "other", "", NULL }, /* everything that is not in this table; it comes last */
};

/* The envelope of one packet, and where its payload is. */
typedef struct Envelope {
        TracePacket packet;
        WireField payload;
        size_t kind;
} Envelope;

size_t trace_source_count(void) {
        return ARRAY_SIZE(packet_kinds);
}

static bool has_packets(const TraceSummary *summary, uint32_t number) {
        for (size_t i = 0; i < ARRAY_SIZE(packet_kinds); i++)
                if (packet_kinds[i].number == number)
                        return summary->sources[i].n_packets > 0;
        return false;
}

bool trace_summary_has_stacks(const TraceSummary *summary) {
        return has_packets(summary, PACKET_PERF_SAMPLE) ||
               has_packets(summary, PACKET_STACK_SAMPLE);
}

bool trace_summary_has_heaps(const TraceSummary *summary) {
        return has_packets(summary, PACKET_PROFILE);
}

static void source_init(TraceSource *source, const PacketKind *kind) {
        source->kind = kind->name;
        source->data_source = kind->data_source;
}

static GHashTable *number_table_new(GDestroyNotify free_value) {
        return g_hash_table_new_full(keyed_hash_uint32, g_int_equal, NULL, free_value);
}

/* Names are kept once, so a name's address is the name. */
static GHashTable *name_table_new(void) {
        return g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
}

static const char name_no_room[] = "…";

static struct TraceState *trace_state_new(TraceSummary *summary) {
        struct TraceState *state = g_new0(struct TraceState, 1);

        state->names = g_hash_table_new_full(keyed_hash_text, g_str_equal, g_free, NULL);
        state->numbered = g_ptr_array_new();
        g_ptr_array_add(state->numbered, (gpointer)name_no_room);
        state->told = (TraceSequences){
                .kinds = 1u << TRACE_INTERNED_EVENT_NAME | 1u << TRACE_INTERNED_CATEGORY,
                .add_text = trace_state_add_name,
                .texts = summary,
        };
        state->sequences = g_ptr_array_new_with_free_func(g_free);
        state->tracks = trace_tracks_new();
        state->async_tracks = trace_async_tracks_new();
        state->events = g_array_new(FALSE, FALSE, sizeof(TrackEvent));
        state->merged = g_array_new(FALSE, FALSE, sizeof(TrackEvent));
        state->generic_events = g_hash_table_new(keyed_hash_number, g_direct_equal);
        state->clocks = trace_clocks_new();
        if (!state->clocks)
                g_error("out of memory");
        return state;
}

static struct TraceState *trace_state_free(struct TraceState *state) {
        if (!state)
                return NULL;

        trace_clocks_free(state->clocks);
        g_hash_table_unref(state->generic_events);
        g_array_unref(state->events);
        g_array_unref(state->merged);
        g_hash_table_unref(state->async_tracks);
        g_ptr_array_unref(state->tracks);
        trace_map_deinit(&state->track_numbers);
        g_ptr_array_unref(state->sequences);
        trace_sequences_deinit(&state->told);
        g_ptr_array_unref(state->numbered);
        g_hash_table_unref(state->names);
        g_free(state);
        return NULL;
}

TraceSummary *trace_summary_new(void) {
        TraceSummary *summary = g_new0(TraceSummary, 1);

        summary->state = trace_state_new(summary);
        summary->sources = g_new0(TraceSource, ARRAY_SIZE(packet_kinds));
        for (size_t i = 0; i < ARRAY_SIZE(packet_kinds); i++)
                source_init(&summary->sources[i], &packet_kinds[i]);
        summary->producers =
                g_hash_table_new_full(keyed_hash_uint64, g_int64_equal, g_free, g_free);
        summary->threads = number_table_new(g_free);
        summary->processes = number_table_new(g_free);
        summary->slices = name_table_new();
        summary->counters = name_table_new();
        summary->kernel_events = name_table_new();
        summary->losses = g_array_new(FALSE, FALSE, sizeof(TraceLoss));
        summary->doubts = g_ptr_array_new();
        summary->notes = g_ptr_array_new_with_free_func(g_free);
        summary->away = g_array_new(FALSE, FALSE, sizeof(TraceAway));
        return summary;
}

TraceSummary *trace_summary_free(TraceSummary *summary) {
        if (!summary)
                return NULL;

        for (size_t i = 0; i < ARRAY_SIZE(summary->kernel_stats); i++)
                g_free(summary->kernel_stats[i]);
        g_ptr_array_unref(summary->doubts);
        g_ptr_array_unref(summary->notes);
        g_array_unref(summary->away);
        g_array_unref(summary->losses);
        g_hash_table_unref(summary->kernel_events);
        g_hash_table_unref(summary->counters);
        g_hash_table_unref(summary->slices);
        g_hash_table_unref(summary->processes);
        g_hash_table_unref(summary->threads);
        g_hash_table_unref(summary->producers);
        if (summary->config)
                g_byte_array_unref(summary->config);
        g_free(summary->sources);
        trace_state_free(summary->state);
        g_free(summary);
        return NULL;
}

static size_t packet_kind_find(uint32_t number) {
        size_t i = 0;

        while (packet_kinds[i].number != number && packet_kinds[i].number != 0)
                i++;
        return i;
}

static void envelope_take(Envelope *envelope, const WireField *field) {
        size_t kind = packet_kind_find(field->number);

        if (packet_kinds[kind].number == 0 || envelope->payload.number != 0)
                return;
        envelope->payload = *field;
        envelope->kind = kind;
}

static int envelope_read(Envelope *ret, const uint8_t *packet, size_t n_packet) {
        WireReader reader;
        WireField field;
        int r;

        *ret = (Envelope){ .kind = ARRAY_SIZE(packet_kinds) - 1 };
        wire_reader_init(&reader, packet, n_packet);
        while ((r = wire_read_fast(&reader, &field)) > 0)
                if (!trace_packet_take(&ret->packet, &field))
                        envelope_take(ret, &field);
        return r;
}

static TraceProducer *summary_producer(TraceSummary *summary, int32_t uid, int32_t pid) {
        gint64 key = (gint64)((uint64_t)(uint32_t)uid << 32 | (uint32_t)pid);
        TraceProducer *producer = g_hash_table_lookup(summary->producers, &key);

        if (producer || !trace_state_may_grow(summary))
                return producer;
        producer = g_new0(TraceProducer, 1);
        producer->uid = uid;
        producer->pid = pid;
        g_hash_table_insert(summary->producers, g_memdup2(&key, sizeof(key)), producer);
        return producer;
}

static Sequence *summary_sequence(TraceSummary *summary, const TracePacket *packet) {
        struct TraceState *state = summary->state;
        TraceSequence *told = trace_sequences_get(&state->told, packet->sequence_id);
        TraceProducer *producer;
        Sequence *sequence;

        if (!told) {
                summary->n_omitted++;
                return NULL;
        }
        if (state->sequences->len <= told->number)
                g_ptr_array_set_size(state->sequences, (gint)told->number + 1);
        sequence = g_ptr_array_index(state->sequences, told->number);
        if (sequence)
                return sequence;
        producer = summary_producer(summary, packet->uid, packet->pid);
        if (!producer || !trace_state_may_grow(summary))
                return NULL;
        sequence = g_new0(Sequence, 1);
        sequence->told = told;
        sequence->producer = producer;
        producer->n_sequences++;
        g_ptr_array_index(state->sequences, told->number) = sequence;
        return sequence;
}

/* The names that packets after it use may have been lost with it. */
static void sequence_lose(Packet *packet, const TracePacket *envelope) {
        const bool is_only_a_rings = envelope->loss == TRACE_LOSS_IS_ONLY_A_RINGS;
        Sequence *sequence = packet->sequence;

        if (is_only_a_rings) {
                packet->summary->n_packets_after_overwrite++;
        } else {
                packet->summary->n_packets_after_loss++;
                sequence->producer->n_losses++;
        }
        trace_sequence_clear(&packet->summary->state->told, sequence->told);
        sequence->told->is_valid = false;
        sequence->lost_state |= !is_only_a_rings;
        sequence->forgot_state |= is_only_a_rings;
}

/* What a packet says about its sequence, in the order in which it takes effect. */
static void sequence_take_envelope(Packet *packet, const TracePacket *envelope) {
        Sequence *sequence = packet->sequence;

        if (envelope->loss)
                sequence_lose(packet, envelope);
        if (envelope->is_cleared)
                sequence->lost_state = sequence->forgot_state = false;
        if (trace_sequence_take(&packet->summary->state->told, sequence->told, envelope))
                packet->summary->n_omitted++;
}

static void packet_set_time(Packet *packet, const TracePacket *envelope) {
        const TraceSequence *told = packet->sequence->told;
        uint32_t clock = envelope->clock ? envelope->clock : told->default_clock;

        if (!envelope->has_timestamp)
                return;
        if (envelope->needs_state && !told->is_valid) {
                packet->time = packet_is_behind_forgotten(packet) ? PACKET_TIME_FORGOTTEN
                                                                  : PACKET_TIME_LOST;
                return;
        }
        packet->time = PACKET_TIME_KNOWN;
        packet->at_ns = envelope->timestamp;
        if (clock != 0 && !trace_state_time(packet, &packet->at_ns, clock))
                packet->time = PACKET_TIME_UNKNOWN;
}

static void summary_count_time(TraceSummary *summary, const Packet *packet) {
        switch (packet->time) {
        case PACKET_TIME_UNKNOWN:
                summary->n_unknown_clock++;
                break;
        case PACKET_TIME_LOST:
                summary->n_unknown_names++;
                break;
        case PACKET_TIME_FORGOTTEN:
                summary->n_forgotten++;
                break;
        case PACKET_TIME_NONE:
        case PACKET_TIME_KNOWN:
                break;
        }
}

static void packet_read_payload(Packet *packet, const Envelope *envelope) {
        const PacketKind *kind = &packet_kinds[envelope->kind];
        TraceSource *source = &packet->summary->sources[envelope->kind];

        packet->summary->state->last_source = source;
        if (!kind->has_events)
                source->n_events++;
        if (kind->read && envelope->payload.type == WIRE_BYTES)
                kind->read(packet, &envelope->payload);
}

void trace_summary_add(TraceSummary *summary, const uint8_t *data, size_t n_data) {
        Packet packet = { .summary = summary };
        Envelope envelope;

        summary->n_packets++;
        if (envelope_read(&envelope, data, n_data) < 0) {
                summary->n_malformed++;
                return;
        }
        summary->sources[envelope.kind].n_packets++;
        summary->sources[envelope.kind].n_bytes += n_data;
        packet.sequence = summary_sequence(summary, &envelope.packet);
        if (!packet.sequence)
                return;

        summary->state->in_service_packet = envelope.packet.sequence_id == SERVICE_SEQUENCE_ID;
        packet.sequence->producer->n_packets++;
        packet.sequence->producer->n_bytes += n_data;
        sequence_take_envelope(&packet, &envelope.packet);
        packet_set_time(&packet, &envelope.packet);
        if (*packet_kinds[envelope.kind].data_source)
                summary_count_time(summary, &packet);
        trace_state_saw_time(summary, packet.at_ns);
        packet_read_payload(&packet, &envelope);
}

static void summary_sum_processes(TraceSummary *summary) {
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, summary->threads);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                TraceThread *thread = value;
                TraceProcess *process;

                if (thread->pid <= 0)
                        continue;
                process = trace_state_process(summary, thread->pid);
                if (!process)
                        continue;
                process->cpu_ns += thread->cpu_ns;
                process->n_threads++;
        }
}

static bool config_names(const TraceSummary *summary, const char *name) {
        TraceRecordedSource source;
        WireReader reader;

        wire_reader_init(&reader, summary->config->data, summary->config->len);
        while (trace_recorded_config_next_source(&reader, &source))
                if (source.name.n_bytes == strlen(name) &&
                    memcmp(source.name.data, name, source.name.n_bytes) == 0)
                        return true;
        return false;
}

/* Where users record their own programs, the same packets come from another data source. */
static void summary_name_sources(TraceSummary *summary) {
        if (!summary->config || !config_names(summary, TRACING_OWN_STACKS_SOURCE))
                return;
        for (size_t i = 0; i < ARRAY_SIZE(packet_kinds); i++)
                if (packet_kinds[i].may_be_own &&
                    !config_names(summary, packet_kinds[i].data_source))
                        summary->sources[i].data_source = TRACING_OWN_STACKS_SOURCE;
}

void trace_summary_finish(TraceSummary *summary, TraceEnd end, uint64_t end_offset) {
        summary->end = end;
        summary->end_offset = end_offset;
        trace_ftrace_finish(summary);
        trace_slices_finish(summary);
        summary_sum_processes(summary);
        trace_losses_finish(summary);
        summary_name_sources(summary);
}

int trace_summary_read(TraceSummary **ret, int fd) {
        static const TraceEnd ends[] = {
                [TRACE_READER_E_END] = TRACE_END_COMPLETE,
                [TRACE_READER_E_TRUNCATED] = TRACE_END_TRUNCATED,
                [TRACE_READER_E_GARBAGE] = TRACE_END_GARBAGE,
        };
        _cleanup_(trace_summary_freep) TraceSummary *summary = trace_summary_new();
        _cleanup_(trace_reader_deinit) TraceReader reader;
        const uint8_t *packet;
        size_t n_packet;
        int r;

        trace_reader_init(&reader, fd);
        while ((r = trace_reader_next(&reader, &packet, &n_packet)) == 0)
                trace_summary_add(summary, packet, n_packet);
        if (r < 0)
                return r;
        summary->n_bytes = reader.offset + reader.buffer.n;
        trace_summary_finish(summary, ends[r], trace_reader_offset(&reader));
        *ret = TAKE(summary);
        return 0;
}

GPtrArray *trace_summary_sorted(GHashTable *table, GCompareFunc compare) {
        GPtrArray *sorted = g_ptr_array_new();
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, table);
        while (g_hash_table_iter_next(&iter, NULL, &value))
                g_ptr_array_add(sorted, value);
        g_ptr_array_sort(sorted, compare);
        return sorted;
}

uint64_t trace_summary_n_kernel_events(const TraceSummary *summary) {
        return summary->sources[0].n_events;
}

uint64_t trace_summary_n_undecodable(const TraceSummary *summary) {
        return summary->n_unknown_clock + summary->n_unknown_names;
}

uint64_t trace_summary_duration_ns(const TraceSummary *summary) {
        if (summary->started_ns && summary->stopped_ns > summary->started_ns)
                return summary->stopped_ns - summary->started_ns;
        return summary->last_ns - summary->first_ns;
}

const char *trace_summary_process_name(const TraceSummary *summary, int32_t pid) {
        const TraceProcess *process = g_hash_table_lookup(summary->processes, &pid);
        const TraceThread *thread;

        if (process && process->name)
                return process->name;
        thread = g_hash_table_lookup(summary->threads, &pid);
        return thread ? thread->name : NULL;
}
