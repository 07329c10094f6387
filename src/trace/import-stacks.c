/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Samples of call stacks
 */

#include <string.h>

#include "trace/import.h"
#include "wire/stack-sample.h"

/* What the second pass needs to know about a sample. Whose sample it is can only be told when events come in order
 * of time. */
typedef struct Sample {
        int32_t pid;
        int32_t tid;
        uint32_t cpu;
        uint32_t callsite;
        uint8_t mode;
        uint8_t error;
        uint32_t session;
} Sample;

/* Some packets are only there to count. */
static bool take_counts(TraceImport *import, uint64_t found, const uint64_t *numbers) {
        if (found & 1u << SAMPLE_RECORDS_LOST)
                trace_store_count(import->store,
                                  "perf_cpu_lost_records",
                                  (int32_t)MIN(numbers[SAMPLE_CPU], (uint64_t)INT32_MAX),
                                  numbers[SAMPLE_RECORDS_LOST]);
        else if (found & 1u << SAMPLE_SKIPPED_REASON)
                trace_store_count(import->store, "perf_samples_skipped", -1, 1);
        else
                return false;
        return true;
}

void import_perf_sample(TraceImport *import, const ImportPacket *packet, const WireField *message) {
        uint64_t numbers[SAMPLE_FIELDS];
        const uint64_t found = trace_read_numbers(message, numbers, SAMPLE_FIELDS);
        const Sample sample = {
                .pid = (int32_t)numbers[SAMPLE_PID],
                .tid = (int32_t)numbers[SAMPLE_TID],
                .cpu = (uint32_t)numbers[SAMPLE_CPU],
                .callsite = trace_stacks_callsite(packet->sequence, numbers[SAMPLE_CALLSTACK]),
                .mode = (uint8_t)MIN(numbers[SAMPLE_CPU_MODE], UINT64_C(255)),
                .error = (uint8_t)MIN(numbers[SAMPLE_UNWIND_ERROR], UINT64_C(255)),
                .session = packet->sequence->id,
        };
        TraceEntry entry = { .at_ns = packet->at_ns, .kind = IMPORT_SAMPLE };
        WireField bytes = { .data = (const uint8_t *)&sample, .n_bytes = sizeof(sample) };

        if (take_counts(import, found, numbers) || !(found & 1u << SAMPLE_TID))
                return;
        import->stacks.n_bad += found & 1u << SAMPLE_CALLSTACK && sample.callsite == TRACE_NONE;
        import_queue_bytes(import, packet->sequence->lane, &entry, &bytes);
}

/* A sample with a weight. */
typedef struct Weighed {
        Sample sample;
        uint32_t source, counter, unit, error; /* texts */
        uint64_t weight;
} Weighed;

static void take_task(Sample *sample, const WireField *field) {
        uint64_t numbers[TASK_FIELDS];

        (void)trace_read_numbers(field, numbers, TASK_FIELDS);
        sample->pid = (int32_t)numbers[TASK_PID];
        sample->tid = (int32_t)numbers[TASK_TID];
}

/* A PerfSample has other numbers for the modes. */
static void take_execution(Sample *sample, const WireField *field) {
        static const uint8_t modes[] = { 0, 2, 1, 3, 5, 4 };
        uint64_t numbers[EXECUTION_FIELDS];
        const uint64_t found = trace_read_numbers(field, numbers, EXECUTION_FIELDS);

        if (found & 1u << EXECUTION_CPU)
                sample->cpu = (uint32_t)numbers[EXECUTION_CPU];
        if (numbers[EXECUTION_MODE] < ARRAY_SIZE(modes))
                sample->mode = modes[numbers[EXECUTION_MODE]];
}

static void take_field(TraceImport *import,
                       Weighed *weighed,
                       const TraceSequence *sequence,
                       const WireField *field) {
        if (field->number == STACK_TASK && field->type == WIRE_BYTES)
                take_task(&weighed->sample, field);
        else if (field->number == STACK_EXECUTION && field->type == WIRE_BYTES)
                take_execution(&weighed->sample, field);
        else if (field->number == STACK_UNWIND_ERROR && field->type == WIRE_BYTES)
                weighed->error = import_text(import, field);
        else if (field->number == STACK_COUNTER && field->type == WIRE_BYTES)
                trace_sequence_read_counter(
                        &import->sequences, field, &weighed->counter, &weighed->unit);
        else if (field->number == STACK_WEIGHT)
                weighed->weight = field->value;
        else if (field->number == STACK_CALLSTACK && field->type != WIRE_BYTES) {
                weighed->sample.callsite = trace_stacks_callsite(sequence, field->value);
                import->stacks.n_bad += weighed->sample.callsite == TRACE_NONE;
        }
}

void import_stack_sample(TraceImport *import,
                         const ImportPacket *packet,
                         const WireField *message) {
        const TraceSequence *sequence = packet->sequence;
        Weighed weighed = {
                .sample = { .cpu = TRACE_NONE, .callsite = TRACE_NONE, .session = sequence->id },
                .source = sequence->stack_source,
                .counter = sequence->stack_counter,
                .unit = sequence->stack_unit,
        };
        TraceEntry entry = { .at_ns = packet->at_ns, .kind = IMPORT_WEIGHT };
        const WireField bytes = { .data = (const uint8_t *)&weighed, .n_bytes = sizeof(weighed) };
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                take_field(import, &weighed, sequence, &field);
        import_queue_bytes(import, sequence->lane, &entry, &bytes);
}

void import_module_symbols(TraceImport *import,
                           const ImportPacket *packet,
                           const WireField *symbols) {
        trace_stacks_take_symbols(&import->stacks, symbols);
}

static uint32_t mode_name(TracePool *pool, uint8_t mode) {
        static const char *const names[] = {
                "unknown", "kernel", "user", "hypervisor", "guest_kernel", "guest_user",
        };

        return trace_pool_add_text(pool, names[mode < ARRAY_SIZE(names) ? mode : 0]);
}

/* perfetto.protos.Profiling.StackUnwindError */
static uint32_t error_name(TracePool *pool, uint8_t error) {
        static const char *const names[] = {
                "unknown",     "none",        "memory_invalid",      "unwind_info",
                "unsupported", "invalid_map", "max_frames_exceeded", "repeated_frame",
                "invalid_elf", "system_call", "thread_timeout",      "thread_does_not_exist",
                "bad_arch",    "maps_parse",  "invalid_parameter",   "ptrace_call",
        };

        if (error == 0)
                return 0;
        return trace_pool_add_text(pool, names[error < ARRAY_SIZE(names) ? error : 0]);
}

void apply_sample(TraceImport *import, const TraceEntry *entry) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_SAMPLE);
        TracePool *pool = &import->store->pool;
        const WireField bytes = import_bytes(import, entry);
        const uint32_t row = trace_table_add(table);
        Sample sample;

        if (row == TRACE_NONE)
                return;
        memcpy(&sample, bytes.data, sizeof(sample));
        trace_table_set_i64(table, PERF_TS, row, (int64_t)entry->at_ns);
        trace_table_set(
                table, PERF_UTID, row, trace_threads_of(&import->threads, sample.tid, sample.pid));
        trace_table_set(table, PERF_CPU, row, sample.cpu);
        trace_table_set(table, PERF_MODE, row, mode_name(pool, sample.mode));
        trace_table_set(table, PERF_CALLSITE, row, sample.callsite);
        trace_table_set(table, PERF_ERROR, row, error_name(pool, sample.error));
        trace_table_set(table, PERF_SESSION, row, sample.session);
}

void apply_stack_sample(TraceImport *import, const TraceEntry *entry) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_STACK_SAMPLE);
        TracePool *pool = &import->store->pool;
        const WireField bytes = import_bytes(import, entry);
        const uint32_t row = trace_table_add(table);
        const Sample *sample;
        Weighed weighed;

        if (row == TRACE_NONE)
                return;
        memcpy(&weighed, bytes.data, sizeof(weighed));
        sample = &weighed.sample;
        trace_table_set_i64(table, WEIGHED_TS, row, (int64_t)entry->at_ns);
        trace_table_set(table,
                        WEIGHED_UTID,
                        row,
                        sample->tid > 0
                                ? trace_threads_of(&import->threads, sample->tid, sample->pid)
                                : TRACE_NONE);
        trace_table_set(table, WEIGHED_CPU, row, sample->cpu);
        trace_table_set(table, WEIGHED_MODE, row, mode_name(pool, sample->mode));
        trace_table_set(table, WEIGHED_CALLSITE, row, sample->callsite);
        trace_table_set(table, WEIGHED_ERROR, row, weighed.error);
        trace_table_set(table, WEIGHED_SESSION, row, sample->session);
        trace_table_set(table, WEIGHED_SOURCE, row, weighed.source);
        trace_table_set(table, WEIGHED_COUNTER, row, weighed.counter);
        trace_table_set(table, WEIGHED_UNIT, row, weighed.unit);
        trace_table_set_i64(
                table, WEIGHED_WEIGHT, row, (int64_t)MIN(weighed.weight, (uint64_t)INT64_MAX));
}
