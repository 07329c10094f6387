/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Trace import: reads files into a store, in two passes */

#include "trace/trace-import.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/import-envelope.h"
#include "trace/import.h"
#include "trace/trace-ahead.h"

typedef struct PacketKind {
        unsigned parts; /* the parts that need these packets; 0: they are always read */
        void (*read)(TraceImport *import, const ImportPacket *packet, const WireField *payload);
        /* If read() is NULL, such packets are kept as they are until the second pass. */
        void (*apply)(TraceImport *import, uint64_t at_ns, const WireField *payload);
} PacketKind;

#define PARTS_OF_THREADS \
        (TRACE_PART_THREADS | TRACE_PART_SCHED | TRACE_PART_STATES | TRACE_PART_KERNEL)
#define PARTS_OF_NAMES (PARTS_OF_THREADS | TRACE_PART_EVENTS | TRACE_PART_LOGS)

/* By the number of the payload. */
static const PacketKind packet_kinds[] = {
        [1] = { PARTS_OF_THREADS | TRACE_PART_EVENTS, import_ftrace, NULL },
        [11] = { TRACE_PART_EVENTS, import_track_event, NULL },
        [60] = { PARTS_OF_NAMES, import_track_descriptor, apply_track_descriptor },
        [44] = { TRACE_PART_EVENTS, import_thread_descriptor, NULL },
        [6] = { 0, import_clock_snapshot, NULL },
        [45] = { 0, import_system_info, NULL },
        [35] = { 0, import_trace_stats, NULL },
        [34] = { 0, import_ftrace_stats, NULL },
        [33] = { 0, import_trace_config, NULL },
        [89] = { 0, import_trace_uuid, NULL },
        [67] = { 0, import_cpu_info, NULL },
        [2] = { PARTS_OF_NAMES, NULL, apply_process_tree },
        [43] = { PARTS_OF_NAMES, NULL, apply_process_descriptor },
        [9] = { PARTS_OF_NAMES, NULL, apply_process_stats },
        [7] = { TRACE_PART_EVENTS, NULL, apply_sys_stats },
        [38] = { TRACE_PART_EVENTS, NULL, apply_battery },
        [40] = { TRACE_PART_EVENTS, NULL, apply_power_rails },
        [132] = { TRACE_PART_LOGS, NULL, apply_journal },
        [66] = { TRACE_PART_STACKS, import_perf_sample, NULL },
        [135] = { TRACE_PART_STACKS, import_stack_sample, NULL },
        [61] = { TRACE_PART_STACKS, import_module_symbols, NULL },
        [37] = { TRACE_PART_STACKS, import_profile, NULL },
};

/*
 * First pass
 */

static inline const PacketKind *find_kind(uint32_t number) {
        const PacketKind *kind = number < ARRAY_SIZE(packet_kinds) ? &packet_kinds[number] : NULL;

        return kind && (kind->read || kind->apply) ? kind : NULL;
}

static bool is_payload(uint32_t number) {
        return find_kind(number);
}

static TraceSequence *import_sequence(TraceImport *import, uint32_t id) {
        TraceSequence *sequence = trace_sequences_get(&import->sequences, id);

        if (!sequence || sequence->lane != TRACE_LANE_NONE)
                return sequence;
        sequence->lane = trace_queue_add_lane(&import->queue, sequence->number);
        return sequence->lane == TRACE_LANE_NONE ? NULL : sequence;
}

static void sequence_take(TraceImport *import, TraceSequence *sequence, const TracePacket *packet) {
        if (packet->uid)
                sequence->uid = packet->uid;
        if (packet->pid)
                sequence->pid = packet->pid;
        if (packet->loss) {
                sequence->is_valid = false;
                import->n_after_loss++;
        }
        switch (trace_sequence_take(&import->sequences, sequence, packet)) {
        case 0:
                break;
        case -E2BIG:
                import->n_names_left_out++;
                break;
        default:
                import->ran_out = true;
        }
        if (packet->interned.type == WIRE_BYTES && import_wants(import, TRACE_PART_STACKS) &&
            trace_stacks_take_interned(&import->stacks, sequence, &packet->interned))
                import->ran_out = true;
}

/* Returns false if the packet's time is unknown, or if no clock can have it: the tables have times with a sign. */
static bool packet_time(TraceImport *import, ImportPacket *packet, const TracePacket *envelope) {
        uint32_t clock = envelope->clock ? envelope->clock : packet->sequence->default_clock;
        uint64_t ns = envelope->timestamp;

        packet->clock = clock;
        packet->has_time = envelope->has_timestamp;
        if (!envelope->has_timestamp)
                return true;
        if (clock == 0) {
                packet->at_ns = ns;
                return ns <= INT64_MAX;
        }
        if (trace_clocks_convert(import->clocks, &packet->at_ns, packet->sequence->id, clock, ns))
                return false;
        return true;
}

static void
packet_take(TraceImport *import, const ImportEnvelope *envelope, TraceSequence *sequence) {
        const PacketKind *kind = find_kind(envelope->payload.number);
        ImportPacket packet = { .sequence = sequence };
        bool has_clock;

        /* This is also done for packets that are not needed: a clock may add up the differences between all packets. */
        has_clock = packet_time(import, &packet, &envelope->packet) ||
                    (kind && kind->read == import_clock_snapshot);
        if (!kind || (kind->parts && !import_wants(import, kind->parts)))
                return;
        if (!has_clock) {
                import->n_without_clock++;
                return;
        }
        if (envelope->packet.needs_state && !sequence->is_valid) {
                import->n_without_state++;
                return;
        }
        if (kind->read)
                kind->read(import, &packet, &envelope->payload);
        if (kind->apply) {
                TraceEntry entry = { .at_ns = packet.at_ns,
                                     .kind = IMPORT_PACKET,
                                     .a = envelope->payload.number };

                import_queue_bytes(import, sequence->lane, &entry, &envelope->payload);
        }
}

static void import_packet(TraceImport *import, const ImportEnvelope *envelope) {
        TraceSequence *sequence;

        import->n_packets++;
        if (envelope->is_malformed) {
                import->n_malformed++;
                return;
        }
        sequence = import_sequence(import, envelope->packet.sequence_id);
        if (!sequence) {
                import->ran_out = true;
                return;
        }
        sequence_take(import, sequence, &envelope->packet);
        packet_take(import, envelope, sequence);
}

#define LOOK_EVERY 65536

/* Asks only now and then, because reading the clock takes longer than handling many an event. */
static inline bool import_stops(TraceImport *import, size_t n) {
        if (LIKELY(import->n_until_look > n)) {
                import->n_until_look -= n;
                return false;
        }
        import->n_until_look = LOOK_EVERY;
        import->was_stopped =
                import->options->stops && import->options->stops(import->options->user_data);
        return import->was_stopped;
}

/* Returns 0 or an errno. */
static int import_packets(TraceImport *import, const ImportEnvelope *envelopes, size_t n) {
        for (size_t i = 0; i < n && !import->ran_out; i++) {
                import_packet(import, &envelopes[i]);
                /* A packet counts by its size, because a large one has many events. */
                if (import_stops(import, 1 + envelopes[i].n_bytes / 16))
                        return -ECANCELED;
        }
        return 0;
}

static int import_batches(TraceImport *import, ImportFile *file) {
        _cleanup_(trace_ahead_freep) TraceAhead *ahead = NULL;
        const ImportEnvelopes *batch;
        int r;
        size_t n;

        r = trace_ahead_new(
                &ahead, sizeof(*batch), import_envelopes_make, file, import->wants_threads);
        while (r == 0 && !import->ran_out && (batch = trace_ahead_next(ahead, &n))) {
                r = import_packets(import, batch->envelopes, n);
                if (batch->is_lent)
                        import_file_return(file);
        }
        import_file_return(file); /* the thread may wait for it */
        return r;
}

/* Returns 0 or an errno. Damage to the file is only counted. */
static int import_read(TraceImport *import, int fd) {
        _cleanup_(import_file_deinit) ImportFile file;
        int r;

        import_file_init(&file, fd, is_payload);
        r = import_batches(import, &file);
        if (r || import->ran_out)
                return r;
        if (file.outcome < 0)
                return file.outcome;
        if (file.outcome != TRACE_READER_E_END)
                trace_store_count(import->store, "trace_file_damaged", -1, 1);
        return 0;
}

/*
 * Second pass
 */

static void apply_packet(TraceImport *import, const TraceEntry *entry) {
        const PacketKind *kind = find_kind(entry->a);
        WireField payload = import_bytes(import, entry);

        if (kind && kind->apply)
                kind->apply(import, entry->at_ns, &payload);
}

static void apply_entry(TraceImport *import, uint32_t cpu, const TraceEntry *entry) {
        switch ((ImportKind)entry->kind) {
        case IMPORT_SWITCH:
                apply_switch(import, cpu, entry);
                break;
        case IMPORT_WAKING:
                apply_waking(import, cpu, entry);
                break;
        case IMPORT_KERNEL:
                apply_kernel(import, cpu, entry);
                break;
        case IMPORT_STATE:
                apply_state(import, entry);
                break;
        case IMPORT_COUNTER:
                apply_counter(import, entry);
                break;
        case IMPORT_SAMPLE:
                apply_sample(import, entry);
                break;
        case IMPORT_WEIGHT:
                apply_stack_sample(import, entry);
                break;
        case IMPORT_HEAP:
                apply_allocation(import, entry);
                break;
        case IMPORT_PACKET:
                apply_packet(import, entry);
                break;
        default:
                apply_track_event(import, entry);
                break;
        }
}

/* Returns the CPU of a lane, or TRACE_NONE if it is not the lane of a CPU. */
static uint32_t *lanes_cpus(const TraceImport *import) {
        uint32_t *cpus = reallocarray(NULL, import->queue.n_lanes + 1, sizeof(*cpus));

        if (!cpus)
                return NULL;
        memset(cpus, 0xff, (import->queue.n_lanes + 1) * sizeof(*cpus));
        for (uint32_t cpu = 0; cpu < TRACE_CPUS_MAX; cpu++)
                if (import->cpu_lanes[cpu] != TRACE_LANE_NONE)
                        cpus[import->cpu_lanes[cpu]] = cpu;
        return cpus;
}

#define TAKEN_AT_ONCE 2048

static size_t take_events(void *user_data, void *batch) {
        return trace_queue_take(user_data, batch, TAKEN_AT_ONCE);
}

/* The next events are put in order while these are applied. */
static int import_apply(TraceImport *import) {
        _cleanup_(trace_ahead_freep) TraceAhead *ahead = NULL;
        _cleanup_(freep) uint32_t *cpus = lanes_cpus(import);
        const TraceTaken *taken;
        size_t n;

        if (!cpus || trace_queue_sort(&import->queue) ||
            trace_heap_number_recordings(&import->heap) ||
            trace_ahead_new(&ahead,
                            TAKEN_AT_ONCE * sizeof(TraceTaken),
                            take_events,
                            &import->queue,
                            import->wants_threads))
                return -ENOMEM;
        while ((taken = trace_ahead_next(ahead, &n))) {
                for (size_t i = 0; i < n; i++)
                        apply_entry(import, cpus[taken[i].lane], &taken[i].entry);
                if (import_stops(import, n))
                        return -ECANCELED;
        }
        return 0;
}

static void import_finish(TraceImport *import) {
        const struct {
                const char *name;
                uint64_t n;
        } counts[] = {
                { "tokenizer_packets", import->n_packets },
                { "tokenizer_malformed_packets", import->n_malformed },
                { "tokenizer_skipped_packets", import->n_without_state },
                { "tokenizer_packets_after_loss", import->n_after_loss },
                { "clock_sync_failure", import->n_without_clock },
                { "track_event_unknown_names", import->n_unknown_names },
                { "track_descriptor_conflicting_reservation", import->tracks.n_conflicts },
                { "stackprofile_invalid", import->stacks.n_bad },
                { "heapprofd_malformed_packet", import->heap.n_malformed },
                { "trace_names_left_out",
                  import->store->pool.n_refused + import->n_names_left_out },
                { "trace_memory_limit_reached", import->ran_out || import->store->budget.is_over },
        };

        import_finish_woken(import);
        import_finish_heap(import);
        import_finish_memory(import);
        trace_sched_finish(&import->sched);
        trace_slices_store_counts(&import->slices);
        for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
                trace_store_set_stat(import->store, counts[i].name, -1, counts[i].n);
        import->store->parts = import->parts;
        import->store->budget.is_over |= import->ran_out;
}

/* Names come before the packets that refer to them. */
static unsigned interned_kinds(unsigned parts) {
        unsigned kinds = 0;

        if (parts & TRACE_PART_EVENTS)
                kinds |= 1u << TRACE_INTERNED_CATEGORY | 1u << TRACE_INTERNED_EVENT_NAME;
        if (parts & TRACE_PART_ARGS)
                kinds |= 1u << TRACE_INTERNED_ARG_NAME | 1u << TRACE_INTERNED_ARG_STRING;
        if (parts & (TRACE_PART_STATES | TRACE_PART_EVENTS))
                kinds |= 1u << TRACE_INTERNED_KERNEL_SYMBOL;
        if (parts & TRACE_PART_STACKS)
                kinds |= 1u << TRACE_INTERNED_FUNCTION_NAME | 1u << TRACE_INTERNED_MAPPING_PATH;
        return kinds;
}

static uint32_t pool_add_text(void *pool, const void *data, size_t n) {
        return trace_pool_add(pool, data, n);
}

static int import_init(TraceImport *import, TraceStore *store, const TraceImportOptions *options) {
        const unsigned parts = options->parts;

        *import = (TraceImport){ .store = store, .parts = parts, .options = options };
        import->clocks = trace_clocks_new();
        if (!import->clocks)
                return -ENOMEM;
        for (size_t i = 0; i < TRACE_CPUS_MAX; i++)
                import->cpu_lanes[i] = TRACE_LANE_NONE;
        import->queue.unpack = import_unpack;
        import->queue.user_data = import;
        import->sequences.kinds = interned_kinds(parts);
        import->sequences.add_text = pool_add_text;
        import->sequences.texts = &store->pool;
        import->tracks.store = store;
        import->tracks.threads = &import->threads;
        import->tracks.sets = &import->sets;
        import->tracks.wants_args = parts & TRACE_PART_ARGS;
        import->slices.store = store;
        import->stacks.store = store;
        import->slices.sets = &import->sets;
        import->states.store = store;
        import->states.sets = &import->sets;
        if (trace_threads_init(&import->threads, store) ||
            trace_sched_init(&import->sched, store, &import->threads))
                return -ENOMEM;
        import->sched.wants_sched = parts & TRACE_PART_SCHED;
        import->sched.wants_states = parts & TRACE_PART_STATES;
        import->sched.columns_left_out = options->sched_left_out;
        return 0;
}

static void import_deinit(TraceImport *import) {
        trace_sequences_deinit(&import->sequences);
        free(import->extras);
        free(import->flows);
        trace_map_deinit(&import->open_flows);
        trace_map_deinit(&import->descriptors);
        trace_map_deinit(&import->rails);
        trace_map_deinit(&import->disks);
        trace_map_deinit(&import->memory_owners);
        trace_map_deinit(&import->memory_tracks);
        free(import->memory_later);
        trace_map_deinit(&import->woken);
        trace_queue_deinit(&import->queue);
        import_compact_free(import);
        free(import->others);
        trace_arena_deinit(&import->arena);
        trace_args_deinit(&import->args);
        trace_slices_deinit(&import->slices);
        trace_track_states_deinit(&import->states);
        trace_tracks_deinit(&import->tracks);
        trace_sched_deinit(&import->sched);
        trace_stacks_deinit(&import->stacks);
        trace_heap_deinit(&import->heap);
        trace_threads_deinit(&import->threads);
        trace_arg_sets_deinit(&import->sets);
        trace_clocks_free(import->clocks);
}

/* Reading less than this takes no longer than starting threads, which need memory as well. */
#define THREADS_BYTES_MIN (256u << 10)

/* How much there is in what is not a file is not known. */
static bool are_small(const int *fds, size_t n_fds) {
        uint64_t n_bytes = 0;
        struct stat st;

        for (size_t i = 0; i < n_fds; i++) {
                if (fstat(fds[i], &st) < 0 || !S_ISREG(st.st_mode))
                        return false;
                n_bytes += (uint64_t)st.st_size;
        }
        return n_bytes < THREADS_BYTES_MIN;
}

static int import_run(TraceImport *import, const int *fds, size_t n_fds) {
        int r = 0;

        import->wants_threads = !are_small(fds, n_fds);
        for (size_t i = 0; i < n_fds && r == 0; i++)
                r = import_read(import, fds[i]);
        if (r == 0 && import->n_packets == import->n_malformed)
                r = -EBADMSG;
        if (r == 0)
                r = import_apply(import);
        if (r == 0)
                import_finish(import);
        return r;
}

int trace_import_files(TraceStore **ret,
                       const int *fds,
                       size_t n_fds,
                       const TraceImportOptions *options) {
        _cleanup_(trace_store_freep) TraceStore *store = NULL;
        TraceImport *import;
        int r;

        r = trace_store_new(&store, options->n_bytes_max);
        if (r)
                return r;
        import = malloc(sizeof(*import));
        if (!import)
                return -ENOMEM;
        r = import_init(import, store, options);
        if (r == 0)
                r = import_run(import, fds, n_fds);
        import_deinit(import);
        free(import);
        if (r == 0)
                *ret = TAKE(store);
        return r;
}

int trace_import(TraceStore **ret, int fd, unsigned parts, uint64_t n_bytes_max) {
        const TraceImportOptions options = { .parts = parts, .n_bytes_max = n_bytes_max };

        return trace_import_files(ret, &fd, 1, &options);
}
