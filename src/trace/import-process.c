/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Processes and threads as /proc lists them, and how much of the machine they use
 */

#include <string.h>

#include "trace/import.h"
#include "trace/trace-process-tree.h"

#define KTHREADD_PID 2

static const unsigned unit_columns[_TRACE_PROCESS_UNITS] = {
        [TRACE_PROCESS_UNIT] = PROCESS_UNIT,
        [TRACE_PROCESS_USER_UNIT] = PROCESS_USER_UNIT,
        [TRACE_PROCESS_APP] = PROCESS_APP,
        [TRACE_PROCESS_CONTAINER] = PROCESS_CONTAINER,
};

/* ProcessDescriptor. */
enum {
        PROCESS_DESCRIPTOR_PID = 1,
        PROCESS_DESCRIPTOR_NAME = 6,
        PROCESS_DESCRIPTOR_START = 7,
        PROCESS_DESCRIPTOR_LABEL = 8,
};

#define CMDLINE_BYTES_MAX (64u << 10)

/* The kernel also names a worker after its latest work, and that name is soon out of date. */
static size_t worker_length(const uint8_t *name, size_t n) {
        if (n < 8 || memcmp(name, "kworker/", 8) != 0)
                return n;
        for (size_t i = 8; i < n; i++)
                if (name[i] == '+' || name[i] == '-')
                        return i;
        return n;
}

/* Joins the arguments with blanks. */
static uint32_t join_arguments(TraceImport *import, const WireField *message) {
        char *text = malloc(CMDLINE_BYTES_MAX);
        size_t n = 0, n_parts = 0;
        WireReader reader;
        WireField field;
        uint32_t name;

        if (!text)
                return 0;
        wire_reader_init_field(&reader, message);
        while (trace_tree_next_argument(&reader, &field)) {
                size_t n_copied;

                if (n_parts++ && n < CMDLINE_BYTES_MAX)
                        text[n++] = ' ';
                n_copied = MIN(field.n_bytes, CMDLINE_BYTES_MAX - n);
                memcpy(text + n, field.data, n_copied);
                n += n_copied;
        }
        name = trace_pool_add(&import->store->pool, text, n);
        free(text);
        return name;
}

/* A program that has overwritten the zeros of its command line with blanks has only one argument. */
static size_t program_length(const TraceTreeProcess *info) {
        const uint8_t *blank = NULL;

        if (info->ppid == KTHREADD_PID) {
                size_t n = worker_length(info->command.data, info->command.n_bytes);

                if (n != info->command.n_bytes)
                        return n;
        }
        if (info->n_arguments == 1 && info->command.n_bytes)
                blank = memchr(info->command.data, ' ', info->command.n_bytes);
        return blank ? (size_t)(blank - info->command.data) : info->command.n_bytes;
}

/* A later description replaces the whole of an earlier one. */
static void process_set_units(TraceImport *import, uint32_t upid, const TraceTreeProcess *info) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_PROCESS);

        for (size_t i = 0; i < _TRACE_PROCESS_UNITS; i++)
                trace_table_set(table,
                                unit_columns[i],
                                upid,
                                import_optional_text(import, &info->units[i]));
}

/* Adds further arguments to a process. */
static void process_store_args(TraceImport *import, uint32_t upid) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_PROCESS);

        trace_table_set(table,
                        PROCESS_ARGS,
                        upid,
                        trace_arg_sets_store(&import->sets, import->store, &import->args));
}

static void process_load_args(TraceImport *import, uint32_t upid) {
        trace_args_clear(&import->args);
        trace_args_add_set(&import->args,
                           import->store,
                           trace_table_get(trace_store_table(import->store, TRACE_TABLE_PROCESS),
                                           PROCESS_ARGS,
                                           upid));
}

static void process_set(TraceImport *import,
                        uint32_t upid,
                        const TraceTreeProcess *info,
                        const WireField *message) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_PROCESS);
        size_t n = program_length(info);
        bool is_worker =
                info->ppid == KTHREADD_PID &&
                worker_length(info->command.data, info->command.n_bytes) != info->command.n_bytes;
        uint32_t name = trace_pool_add(&import->store->pool, info->command.data, n);
        uint32_t cmdline = is_worker ? name : join_arguments(import, message), utid;
        uint64_t start_ns = info->start_ns;

        trace_threads_name_process(&import->threads, upid, name, TRACE_RANK_SYSTEM);
        trace_table_set(table, PROCESS_CMDLINE, upid, cmdline);
        if (info->is_comm) {
                utid = trace_threads_get(&import->threads, info->pid);
                if (utid != TRACE_NONE)
                        trace_threads_name(&import->threads, utid, cmdline, TRACE_RANK_TREE);
        }
        if (info->has_uid)
                trace_table_set(table, PROCESS_UID, upid, info->uid);
        if (info->has_start && trace_table_i64(table, PROCESS_START, upid) == TRACE_NO_TIME &&
            import_boottime(import, &start_ns))
                trace_table_set_i64(table, PROCESS_START, upid, (int64_t)start_ns);
        if (info->has_is_kthread && import_wants(import, TRACE_PART_ARGS)) {
                process_load_args(import, upid);
                trace_args_add_bool(&import->args, import->store, "is_kthread", info->is_kthread);
                process_store_args(import, upid);
        }
        process_set_units(import, upid, info);
}

static void tree_process(TraceImport *import, const WireField *message) {
        TraceTreeProcess info;
        uint32_t upid, parent;

        trace_tree_process_read(&info, message);
        if (info.n_arguments == 0)
                return;
        parent = trace_threads_process(&import->threads, info.ppid);
        upid = trace_threads_process(&import->threads, info.pid);
        if (upid == TRACE_NONE || parent == TRACE_NONE)
                return;
        /* A process that already has a parent was adopted by another one. */
        if (trace_table_get(trace_store_table(import->store, TRACE_TABLE_PROCESS),
                            PROCESS_PARENT,
                            upid) == TRACE_NONE)
                trace_table_set(trace_store_table(import->store, TRACE_TABLE_PROCESS),
                                PROCESS_PARENT,
                                upid,
                                parent);
        process_set(import, upid, &info, message);
}

static void tree_thread(TraceImport *import, const WireField *message) {
        TraceTreeThread thread;
        uint32_t utid;

        trace_tree_thread_read(&thread, message);
        utid = trace_threads_of(&import->threads, thread.tid, thread.tgid);
        if (utid == TRACE_NONE || thread.name.type != WIRE_BYTES)
                return;
        if (thread.tid == thread.tgid)
                thread.name.n_bytes = worker_length(thread.name.data, thread.name.n_bytes);
        trace_threads_name(
                &import->threads, utid, import_text(import, &thread.name), TRACE_RANK_TREE);
}

void apply_process_tree(TraceImport *import, uint64_t at_ns, const WireField *tree) {
        static const struct {
                uint32_t number;
                void (*take)(TraceImport *import, const WireField *message);
        } parts[] = { { TRACE_TREE_PROCESS, tree_process }, { TRACE_TREE_THREAD, tree_thread } };
        WireReader reader;
        WireField field;

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
                wire_reader_init_field(&reader, tree);
                while (wire_read(&reader, &field) > 0)
                        if (field.number == parts[i].number && field.type == WIRE_BYTES)
                                parts[i].take(import, &field);
        }
}

void import_process_start(TraceImport *import, uint32_t upid, uint64_t start_ns) {
        TraceTable *table = trace_store_table(import->store, TRACE_TABLE_PROCESS);

        if ((int64_t)start_ns > 0 && trace_table_i64(table, PROCESS_START, upid) == TRACE_NO_TIME)
                trace_table_set_i64(table, PROCESS_START, upid, (int64_t)start_ns);
}

/* ProcessDescriptor: its labels are the services and apps that Desktrace's probes name. */
void apply_process_descriptor(TraceImport *import, uint64_t at_ns, const WireField *process) {
        uint64_t numbers[8];
        unsigned n_labels = 0;
        WireReader reader;
        WireField field;
        uint32_t upid;

        trace_read_numbers(process, numbers, ARRAY_SIZE(numbers));
        upid = trace_threads_process(&import->threads, (int32_t)numbers[PROCESS_DESCRIPTOR_PID]);
        if (upid == TRACE_NONE)
                return;
        import_process_start(import, upid, numbers[PROCESS_DESCRIPTOR_START]);
        process_load_args(import, upid);
        wire_reader_init_field(&reader, process);
        while (wire_read(&reader, &field) > 0) {
                if (field.type != WIRE_BYTES)
                        continue;
                if (field.number == PROCESS_DESCRIPTOR_NAME)
                        trace_threads_name_process(&import->threads,
                                                   upid,
                                                   import_text(import, &field),
                                                   TRACE_RANK_TREE);
                if (field.number == PROCESS_DESCRIPTOR_LABEL &&
                    import_wants(import, TRACE_PART_ARGS)) {
                        TraceArg arg = { .number = TRACE_NO_TIME,
                                         .string = import_text(import, &field) };

                        arg.flat_key =
                                trace_pool_add_text(&import->store->pool, "chrome.process_label");
                        arg.key = trace_pool_add_format(
                                &import->store->pool, "chrome.process_label[%u]", n_labels++);
                        arg.type = trace_pool_add_text(&import->store->pool, "string");
                        trace_args_add(&import->args, &arg);
                }
        }
        if (import_wants(import, TRACE_PART_ARGS))
                process_store_args(import, upid);
}

/*
 * Counters of processes
 */

typedef struct ProcessCounter {
        uint32_t number; /* in ProcessStats.Process */
        const char *type, *name, *key;
        int64_t factor;
} ProcessCounter;

static const ProcessCounter process_counters[] = {
        { 2, "process_memory", "mem.virt", "virt", 1024 },
        { 3, "process_memory", "mem.rss", "rss", 1024 },
        { 4, "process_memory", "mem.rss.anon", "rss.anon", 1024 },
        { 5, "process_memory", "mem.rss.file", "rss.file", 1024 },
        { 6, "process_memory", "mem.rss.shmem", "rss.shmem", 1024 },
        { 7, "process_memory", "mem.swap", "swap", 1024 },
        { 8, "process_memory", "mem.locked", "locked", 1024 },
        { 9, "process_memory", "mem.rss.watermark", "rss.watermark", 1024 },
        { 24, "process_memory", "mem.dmabuf_rss", "dmabuf_rss", 1024 },
        { 10, "oom_score_adj", "oom_score_adj", NULL, 1 },
        { 16, "smaps", "mem.smaps.rss", "rss", 1024 },
        { 17, "smaps", "mem.smaps.pss", "pss", 1024 },
        { 18, "smaps", "mem.smaps.pss.anon", "pss.anon", 1024 },
        { 19, "smaps", "mem.smaps.pss.file", "pss.file", 1024 },
        { 20, "smaps", "mem.smaps.pss.smem", "pss.smem", 1024 },
        { 23, "smaps", "mem.smaps.swap.pss", "swap.pss", 1024 },
        { 21, "proc_stat_runtime", "runtime.user_ns", "user_ns", 1 },
        { 22, "proc_stat_runtime", "runtime.kernel_ns", "kernel_ns", 1 },
};

static void
process_value(TraceImport *import, uint64_t at_ns, uint32_t upid, const WireField *field) {
        for (size_t i = 0; i < ARRAY_SIZE(process_counters); i++) {
                const ProcessCounter *counter = &process_counters[i];
                TracePool *pool = &import->store->pool;
                char dimension[64];
                TracePlainTrack track = {
                        .type = counter->type,
                        .kind = TRACK_KIND_COUNTER,
                        .utid = TRACE_NONE,
                        .upid = upid,
                        .cpu = TRACE_NONE,
                };

                if (counter->number != field->number)
                        continue;
                track.name = trace_pool_add_text(pool, counter->name);
                if (counter->key) {
                        strcpy(dimension, counter->type);
                        strcat(dimension, "_key");
                        track.dimension = dimension;
                        track.value = trace_pool_add_text(pool, counter->key);
                }
                import_value(import,
                             trace_tracks_plain(&import->tracks, &track),
                             at_ns,
                             (double)(int64_t)(field->value * (uint64_t)counter->factor));
        }
}

static void stats_process(TraceImport *import, uint64_t at_ns, const WireField *message) {
        uint64_t numbers[2];
        WireReader reader;
        WireField field;
        uint32_t upid;

        trace_read_numbers(message, numbers, ARRAY_SIZE(numbers));
        upid = trace_threads_process(&import->threads, (int32_t)numbers[1]);
        if (upid == TRACE_NONE || !import_wants(import, TRACE_PART_EVENTS))
                return;
        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0)
                if (field.type == WIRE_VARINT)
                        process_value(import, at_ns, upid, &field);
}

void apply_process_stats(TraceImport *import, uint64_t at_ns, const WireField *stats) {
        WireReader reader;
        WireField field;

        wire_reader_init_field(&reader, stats);
        while (wire_read(&reader, &field) > 0)
                if (field.number == 1 && field.type == WIRE_BYTES)
                        stats_process(import, at_ns, &field);
}
