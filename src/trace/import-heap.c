/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Dumps of programs' heaps
 */

#include <string.h>

#include "trace/import.h"
#include "trace/trace-stack-text.h"

/* perfetto.protos.ProfilePacket, ProcessHeapSamples, HeapSample */
enum { PROFILE_DUMPS = 5 };
enum {
        HEAP_PID = 1,
        HEAP_SAMPLES = 2,
        HEAP_TIMESTAMP = 9,
        HEAP_NAME = 11,
        HEAP_INTERVAL = 12,
        HEAP_START = 15,
        HEAP_AT_EXIT = 1900, /* ours */
};
enum {
        SAMPLE_STACK = 1,
        SAMPLE_ALLOCATED = 2,
        SAMPLE_FREED = 3,
        SAMPLE_N_ALLOCATED = 5,
        SAMPLE_N_FREED = 6,
        SAMPLE_MAX = 8,
        SAMPLE_N_MAX = 9,
        SAMPLE_FIELDS,
        SAMPLE_OURS = 1900, /* in the order of TRACE_HEAP_AT_PEAK and the values that follow it */
        SAMPLE_OURS_N = 4,
};

#define HEAP_NAME_DEFAULT "libc.malloc"

/* What the second pass needs to know about a sample. */
typedef struct Allocation {
        int32_t pid;
        uint32_t heap;
        uint32_t callsite;
        uint32_t number; /* the number of the writer's heap */
        int64_t n;
        int64_t n_bytes;
} Allocation;

/* The part of a dump that is about one process. */
typedef struct HeapDump {
        const ImportPacket *packet;
        int32_t pid;
        uint32_t heap;
        uint64_t interval;
        uint64_t start, at; /* CLOCK_MONOTONIC */
        bool at_exit;
} HeapDump;

static void queue_change(TraceImport *import,
                         const HeapDump *dump,
                         const TraceHeapSite *site,
                         int64_t n,
                         int64_t n_bytes) {
        const Allocation allocation = { dump->pid,    dump->heap, site->callsite,
                                        site->number, n,          n_bytes };
        TraceEntry entry = { .at_ns = dump->packet->at_ns, .kind = IMPORT_HEAP };
        WireField bytes = { .data = (const uint8_t *)&allocation, .n_bytes = sizeof(allocation) };

        if (n != 0 || n_bytes != 0)
                import_queue_bytes(import, dump->packet->sequence->lane, &entry, &bytes);
}

/* The limit for the difference between two sums. */
static uint64_t bounded(uint64_t value) {
        return MIN(value, (uint64_t)INT64_MAX);
}

/* How much a sum has grown since its previous value. */
static int64_t grow(TraceImport *import, uint64_t *sum, uint64_t value) {
        const uint64_t before = *sum;

        value = bounded(value);
        import->heap.n_malformed += value < before;
        *sum = value;
        return (int64_t)value - (int64_t)before;
}

static void
take_sums(TraceImport *import, const HeapDump *dump, TraceHeapSite *site, const uint64_t *numbers) {
        int64_t n, n_bytes;

        n = grow(import, &site->sums[TRACE_HEAP_N_ALLOCATED], numbers[SAMPLE_N_ALLOCATED]);
        n_bytes = grow(import, &site->sums[TRACE_HEAP_ALLOCATED], numbers[SAMPLE_ALLOCATED]);
        queue_change(import, dump, site, n, n_bytes);
        n = grow(import, &site->sums[TRACE_HEAP_N_FREED], numbers[SAMPLE_N_FREED]);
        n_bytes = grow(import, &site->sums[TRACE_HEAP_FREED], numbers[SAMPLE_FREED]);
        queue_change(import, dump, site, -n, -n_bytes);
}

/* The memory in use at the peak is recorded as if none of it had been freed. Unlike other sums it may shrink. */
static void
take_peak(TraceImport *import, const HeapDump *dump, TraceHeapSite *site, const uint64_t *numbers) {
        const uint64_t n = bounded(numbers[SAMPLE_N_MAX]), n_bytes = bounded(numbers[SAMPLE_MAX]);

        queue_change(import,
                     dump,
                     site,
                     (int64_t)n - (int64_t)site->sums[TRACE_HEAP_N_AT_PEAK],
                     (int64_t)n_bytes - (int64_t)site->sums[TRACE_HEAP_AT_PEAK]);
        site->sums[TRACE_HEAP_AT_PEAK] = n_bytes;
        site->sums[TRACE_HEAP_N_AT_PEAK] = n;
}

/* Our own fields, whose numbers are too large for an array. */
static void take_ours(TraceHeapSite *site, const WireField *message) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                if (field.type == WIRE_VARINT && field.number >= SAMPLE_OURS &&
                    field.number < SAMPLE_OURS + SAMPLE_OURS_N)
                        site->sums[TRACE_HEAP_AT_PEAK + field.number - SAMPLE_OURS] =
                                bounded(field.value);
}

static void take_sample(TraceImport *import, const HeapDump *dump, const WireField *message) {
        uint64_t numbers[SAMPLE_FIELDS];
        const uint64_t found = trace_read_numbers(message, numbers, SAMPLE_FIELDS);
        const uint32_t callsite =
                trace_stacks_callsite(dump->packet->sequence, numbers[SAMPLE_STACK]);
        TraceHeapSite *site;

        if (callsite == TRACE_NONE) {
                import->stacks.n_bad++;
                return;
        }
        site = trace_heap_site(
                &import->heap, dump->packet->sequence->id, dump->pid, dump->heap, callsite);
        if (!site) {
                import->ran_out = true;
                return;
        }
        site->interval = dump->interval;
        if (found & 1u << SAMPLE_MAX)
                take_peak(import, dump, site, numbers);
        else
                take_sums(import, dump, site, numbers);
        take_ours(site, message);
}

/* What a packet says about the heap comes after its samples. */
static void read_dump(TraceImport *import, HeapDump *dump, const WireField *message) {
        WireField name = { .data = (const uint8_t *)HEAP_NAME_DEFAULT,
                           .n_bytes = strlen(HEAP_NAME_DEFAULT) };
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number == HEAP_PID)
                        dump->pid = (int32_t)field.value;
                else if (field.number == HEAP_NAME && field.type == WIRE_BYTES)
                        name = field;
                else if (field.number == HEAP_INTERVAL)
                        dump->interval = bounded(field.value);
                else if (field.number == HEAP_START)
                        dump->start = field.value;
                else if (field.number == HEAP_TIMESTAMP)
                        dump->at = field.value;
                else if (field.number == HEAP_AT_EXIT)
                        dump->at_exit = field.value != 0;
        }
        dump->heap = import_text(import, &name);
}

static void take_dump(TraceImport *import, const ImportPacket *packet, const WireField *message) {
        const uint32_t sequence = packet->sequence->id;
        HeapDump dump = { .packet = packet, .start = UINT64_MAX };
        WireReader reader;
        WireField field;

        read_dump(import, &dump, message);
        if (trace_heap_dump(&import->heap,
                            sequence,
                            dump.pid,
                            dump.heap,
                            MIN(dump.start, dump.at),
                            dump.at)) {
                import->ran_out = true;
                return;
        }
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                if (field.number == HEAP_SAMPLES && field.type == WIRE_BYTES)
                        take_sample(import, &dump, &field);
        if (dump.at_exit && trace_heap_end(&import->heap, sequence, dump.pid, dump.heap))
                import->ran_out = true;
}

void import_profile(TraceImport *import, const ImportPacket *packet, const WireField *profile) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, profile);
        while (wire_read(&reader, &field) > 0)
                if (field.number == PROFILE_DUMPS && field.type == WIRE_BYTES)
                        take_dump(import, packet, &field);
}

void apply_allocation(TraceImport *import, const TraceEntry *entry) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_HEAP);
        const WireField bytes = import_bytes(import, entry);
        const uint32_t row = trace_table_add(table);
        Allocation allocation;

        if (row == TRACE_NONE)
                return;
        memcpy(&allocation, bytes.data, sizeof(allocation));
        trace_table_set_i64(table, HEAP_TS, row, (int64_t)entry->at_ns);
        trace_table_set(
                table, HEAP_UPID, row, trace_threads_process(&import->threads, allocation.pid));
        trace_table_set(table, HEAP_HEAP, row, allocation.heap);
        trace_table_set(table, HEAP_CALLSITE, row, allocation.callsite);
        trace_table_set_i64(table, HEAP_COUNT, row, allocation.n);
        trace_table_set_i64(table, HEAP_SIZE, row, allocation.n_bytes);
        trace_table_set(
                table, HEAP_RECORDING, row, import->heap.spans[allocation.number].recording);
}

static void put_site(TraceImport *import, TraceTable *table, const TraceHeapSite *site) {
        const uint32_t row = trace_table_add(table);

        if (row == TRACE_NONE)
                return;
        trace_table_set(
                table, HEAP_SITE_UPID, row, trace_threads_process(&import->threads, site->pid));
        trace_table_set(table, HEAP_SITE_HEAP, row, site->heap);
        trace_table_set(table, HEAP_SITE_CALLSITE, row, site->callsite);
        trace_table_set_i64(table, HEAP_SITE_INTERVAL, row, (int64_t)site->interval);
        trace_table_set_i64(
                table, HEAP_SITE_AT_EXIT, row, trace_heap_has_ended(&import->heap, site));
        trace_table_set(
                table, HEAP_SITE_RECORDING, row, import->heap.spans[site->number].recording);
        trace_table_set(table,
                        HEAP_SITE_THREAD,
                        row,
                        trace_stack_add_thread(import->store, site->callsite));
        for (unsigned sum = 0; sum < _TRACE_HEAP_SUMS_N; sum++)
                trace_table_set_i64(table, HEAP_SITE_SUMS + sum, row, (int64_t)site->sums[sum]);
}

void import_finish_heap(TraceImport *import) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_HEAP_SITE);

        for (size_t i = 0; i < import->heap.n_sites; i++)
                put_site(import, table, &import->heap.sites[i]);
}
