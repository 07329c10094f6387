/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Compact sched: the context switches and wake-ups of one CPU as packed columns */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probes/ftrace/compact-sched.h"

enum {
        BUNDLE_COMPACT_SCHED = 4,
        COMPACT_SWITCH_TIMESTAMP = 1,
        COMPACT_SWITCH_PREV_STATE = 2,
        COMPACT_SWITCH_NEXT_PID = 3,
        COMPACT_SWITCH_NEXT_PRIO = 4,
        COMPACT_INTERN_TABLE = 5,
        COMPACT_SWITCH_NEXT_COMM = 6,
        COMPACT_WAKING_TIMESTAMP = 7,
        COMPACT_WAKING_PID = 8,
        COMPACT_WAKING_TARGET_CPU = 9,
        COMPACT_WAKING_PRIO = 10,
        COMPACT_WAKING_COMM = 11,
        COMPACT_WAKING_FLAGS = 12,
};

enum {
        N_COLUMNS = 11,
        COLUMN_BYTES = COMPACT_EVENTS_MAX * WIRE_VARINT_MAX,
};

/* No record has this length: what a header has instead of a length may also mean other things. */
#define WORDS_NONE UINT32_MAX

/* All columns with their fields, in the order in which they lie in memory. */
static const struct {
        size_t column;
        uint32_t field;
} compact_columns[N_COLUMNS] = {
        { offsetof(CompactSched, switch_timestamp), COMPACT_SWITCH_TIMESTAMP },
        { offsetof(CompactSched, switch_prev_state), COMPACT_SWITCH_PREV_STATE },
        { offsetof(CompactSched, switch_next_pid), COMPACT_SWITCH_NEXT_PID },
        { offsetof(CompactSched, switch_next_prio), COMPACT_SWITCH_NEXT_PRIO },
        { offsetof(CompactSched, switch_comm), COMPACT_SWITCH_NEXT_COMM },
        { offsetof(CompactSched, waking_timestamp), COMPACT_WAKING_TIMESTAMP },
        { offsetof(CompactSched, waking_pid), COMPACT_WAKING_PID },
        { offsetof(CompactSched, waking_cpu), COMPACT_WAKING_TARGET_CPU },
        { offsetof(CompactSched, waking_prio), COMPACT_WAKING_PRIO },
        { offsetof(CompactSched, waking_comm), COMPACT_WAKING_COMM },
        { offsetof(CompactSched, waking_flags), COMPACT_WAKING_FLAGS },
};

static CompactColumn *column(CompactSched *sched, size_t i) {
        return (CompactColumn *)((char *)sched + compact_columns[i].column);
}

static void sched_reset(CompactSched *sched) {
        for (size_t i = 0; i < N_COLUMNS; i++)
                column(sched, i)->at = column(sched, i)->start;
        sched->n_switches = 0;
        sched->n_wakings = 0;
        sched->switch_words = WORDS_NONE;
        sched->waking_words = WORDS_NONE;
        sched->last_switch = 0; /* the first difference in a bundle is the time itself */
        sched->last_waking = 0;
        sched->n_comms = 0;
        memset(sched->slots, 0, sizeof(sched->slots));
        /* Makes all tasks unknown. Their entries are only cleared when the number starts over. */
        if (++sched->n_bundles == 0) {
                memset(sched->tasks, 0, sizeof(sched->tasks));
                sched->n_bundles = 1;
        }
}

int compact_sched_init(CompactSched *sched) {
        *sched = (CompactSched){ .memory = malloc((size_t)N_COLUMNS * COLUMN_BYTES) };
        if (!sched->memory)
                return -ENOMEM;
        for (size_t i = 0; i < N_COLUMNS; i++)
                column(sched, i)->start = sched->memory + i * COLUMN_BYTES;
        sched_reset(sched);
        return 0;
}

void compact_sched_deinit(CompactSched *sched) {
        free(sched->memory);
        *sched = (CompactSched){};
}

static bool layout_take(CompactField *ret,
                        uint32_t *n_bytes,
                        const EventFormat *format,
                        const char *name,
                        FieldKind kind,
                        uint32_t size) {
        const EventField *field = event_format_find(format, name);

        if (!field || field->kind != kind || field->size != size)
                return false;
        *ret = (CompactField){ (uint16_t)field->offset, (uint16_t)field->size };
        *n_bytes = MAX(*n_bytes, field->offset + field->size);
        return true;
}

void compact_layout_set_switch(CompactLayout *layout, const EventFormat *format) {
        uint32_t *n = &layout->n_switch_bytes;

        *n = 0;
        if ((layout_take(&layout->prev_state, n, format, "prev_state", FIELD_SIGNED, 8) ||
             layout_take(&layout->prev_state, n, format, "prev_state", FIELD_SIGNED, 4)) &&
            layout_take(&layout->next_pid, n, format, "next_pid", FIELD_SIGNED, 4) &&
            layout_take(&layout->next_prio, n, format, "next_prio", FIELD_SIGNED, 4) &&
            layout_take(&layout->next_comm, n, format, "next_comm", FIELD_CHARS, COMM_BYTES))
                layout->switch_id = format->id;
}

void compact_layout_set_waking(CompactLayout *layout, const EventFormat *format) {
        uint32_t *n = &layout->n_waking_bytes;

        *n = 0;
        if (layout_take(&layout->pid, n, format, "pid", FIELD_SIGNED, 4) &&
            layout_take(&layout->target_cpu, n, format, "target_cpu", FIELD_SIGNED, 4) &&
            layout_take(&layout->prio, n, format, "prio", FIELD_SIGNED, 4) &&
            layout_take(&layout->comm, n, format, "comm", FIELD_CHARS, COMM_BYTES))
                layout->waking_id = format->id;
}

static inline int32_t load_int(const uint8_t *record, CompactField field) {
        int32_t value;

        memcpy(&value, record + field.offset, sizeof(value));
        return value;
}

static inline int64_t load_long(const uint8_t *record, CompactField field) {
        int64_t value;

        if (field.size == 4)
                return load_int(record, field);
        memcpy(&value, record + field.offset, sizeof(value));
        return value;
}

/* Nearly all values take one or two bytes. Returns the end. */
static inline uint8_t *put_value(uint8_t *at, uint64_t value) {
        if (LIKELY(value < 1u << 7)) {
                *at = (uint8_t)value;
                return at + 1;
        }
        if (LIKELY(value < 1u << 14)) {
                at[0] = (uint8_t)(value | 0x80);
                at[1] = (uint8_t)(value >> 7);
                return at + 2;
        }
        return wire_encode_varint(at, value);
}

static inline void column_put(CompactColumn *to, uint64_t value) {
        to->at = put_value(to->at, value);
}

/* The index of a name in the bundle's table. All 16 bytes are compared, because the kernel pads names with zeros; if
 * it did not, a name would merely be listed twice. The caller has made sure that there is room for one more. */
static uint8_t intern_comm(CompactSched *sched, const uint8_t *comm) {
        uint64_t low, high;
        size_t slot;

        memcpy(&low, comm, sizeof(low));
        memcpy(&high, comm + sizeof(low), sizeof(high));
        slot = (low * 0x9e3779b97f4a7c15u ^ high * 0xc2b2ae3d27d4eb4fu) >> 32;
        for (;; slot++) {
                uint8_t *at = &sched->slots[slot % ARRAY_SIZE(sched->slots)];

                if (*at == 0) {
                        memcpy(sched->comms[sched->n_comms], comm, COMM_BYTES);
                        *at = ++sched->n_comms;
                        return *at - 1;
                }
                if (memcmp(sched->comms[*at - 1], comm, COMM_BYTES) == 0)
                        return *at - 1;
        }
}

static inline uint64_t task_key(const CompactSched *sched, int32_t pid) {
        return (uint64_t)sched->n_bundles << 32 | (uint32_t)pid;
}

/* Writes both columns that say which thread it is, and remembers the thread, unless its pid does not fit into four
 * bytes. */
static void put_task(CompactSched *sched,
                     int32_t pid,
                     const uint8_t *comm,
                     CompactColumn *pids,
                     CompactColumn *comms) {
        CompactTask *task = &sched->tasks[(uint32_t)pid % COMPACT_TASKS];
        uint8_t *begin = pids->at;

        column_put(pids, (uint64_t)(int64_t)pid);
        task->comm_index = intern_comm(sched, comm);
        column_put(comms, task->comm_index);
        task->n_pid_varint = (uint8_t)(pids->at - begin);
        memcpy(&task->pid_varint, begin, sizeof(task->pid_varint));
        memcpy(task->comm, comm, COMM_BYTES);
        task->key = task->n_pid_varint <= sizeof(task->pid_varint) ? task_key(sched, pid) : 0;
}

/* The header that a record of this length has, if the header tells the length. */
static uint32_t header_words(const PageRecord *record) {
        return record->n_bytes / 4 <= PAGE_TYPE_DATA_MAX ? record->n_bytes / 4 : WORDS_NONE;
}

int32_t compact_sched_add_switch(CompactSched *sched,
                                 const CompactLayout *layout,
                                 const PageRecord *record) {
        const uint8_t *data = record->data;
        int32_t next_pid = load_int(data, layout->next_pid);

        /* The boot clock may step back at resume: the difference wraps, and so does the reader's sum. */
        column_put(&sched->switch_timestamp, record->timestamp - sched->last_switch);
        column_put(&sched->switch_prev_state, (uint64_t)load_long(data, layout->prev_state));
        column_put(&sched->switch_next_prio, (uint64_t)load_int(data, layout->next_prio));
        put_task(sched,
                 next_pid,
                 data + layout->next_comm.offset,
                 &sched->switch_next_pid,
                 &sched->switch_comm);
        sched->last_switch = record->timestamp;
        sched->switch_words = header_words(record);
        sched->n_switches++;
        return next_pid;
}

int32_t compact_sched_add_waking(CompactSched *sched,
                                 const CompactLayout *layout,
                                 const PageRecord *record) {
        const uint8_t *data = record->data;
        int32_t pid = load_int(data, layout->pid);

        column_put(&sched->waking_timestamp, record->timestamp - sched->last_waking);
        column_put(&sched->waking_cpu, (uint64_t)load_int(data, layout->target_cpu));
        column_put(&sched->waking_prio, (uint64_t)load_int(data, layout->prio));
        column_put(&sched->waking_flags, data[RECORD_FLAGS_OFFSET]);
        put_task(sched, pid, data + layout->comm.offset, &sched->waking_pid, &sched->waking_comm);
        sched->last_waking = record->timestamp;
        sched->waking_words = header_words(record);
        sched->n_wakings++;
        return pid;
}

/*
 * Runs
 *
 * The ends of the columns are kept in local variables: a pointer to bytes may point at anything, so the compiler would
 * read them again after each byte that is written.
 */

typedef struct RunColumns {
        uint8_t *timestamp, *pid, *prio, *comm;
        uint8_t *state;       /* of switches */
        uint8_t *cpu, *flags; /* of wake-ups */
        uint64_t last;
        uint32_t n;
} RunColumns;

static inline const CompactTask *
find_task(const CompactSched *sched, int32_t pid, const uint8_t *comm) {
        const CompactTask *task = &sched->tasks[(uint32_t)pid % COMPACT_TASKS];
        uint64_t name[2];

        memcpy(name, comm, sizeof(name));
        if (UNLIKELY(task->key != task_key(sched, pid) || task->comm[0] != name[0] ||
                     task->comm[1] != name[1]))
                return NULL;
        return task;
}

/* A column has room for the longest varint, so it has room for these four bytes, too. */
static inline void run_put(RunColumns *to, const CompactTask *task, uint64_t now, int32_t prio) {
        to->timestamp = put_value(to->timestamp, now - to->last);
        to->prio = put_value(to->prio, (uint64_t)(int64_t)prio);
        memcpy(to->pid, &task->pid_varint, sizeof(task->pid_varint));
        to->pid += task->n_pid_varint;
        *to->comm++ = task->comm_index;
        to->last = now;
        to->n++;
}

static inline bool run_switch(CompactSched *sched,
                              const CompactLayout *layout,
                              RunColumns *to,
                              const uint8_t *data,
                              uint64_t now) {
        const CompactTask *task =
                find_task(sched, load_int(data, layout->next_pid), data + layout->next_comm.offset);

        if (UNLIKELY(!task || to->n >= COMPACT_EVENTS_MAX))
                return false;
        run_put(to, task, now, load_int(data, layout->next_prio));
        to->state = put_value(to->state, (uint64_t)load_long(data, layout->prev_state));
        return true;
}

static inline bool run_waking(CompactSched *sched,
                              const CompactLayout *layout,
                              RunColumns *to,
                              const uint8_t *data,
                              uint64_t now) {
        const CompactTask *task =
                find_task(sched, load_int(data, layout->pid), data + layout->comm.offset);

        if (UNLIKELY(!task || to->n >= COMPACT_EVENTS_MAX))
                return false;
        run_put(to, task, now, load_int(data, layout->prio));
        to->cpu = put_value(to->cpu, (uint64_t)load_int(data, layout->target_cpu));
        to->flags = put_value(to->flags, data[RECORD_FLAGS_OFFSET]);
        return true;
}

static inline void run_records(CompactSched *sched,
                               const CompactLayout *layout,
                               PageReader *reader,
                               RunColumns *switches,
                               RunColumns *wakings) {
        const uint32_t switch_words = sched->switch_words, waking_words = sched->waking_words;
        const uint16_t switch_id = layout->switch_id, waking_id = layout->waking_id;
        const uint8_t *at = reader->at, *const end = reader->end;
        uint64_t timestamp = reader->timestamp;

        while (end - at >= 8) {
                uint32_t header = page_load_word(at), words = page_type_len(header);
                uint64_t now = timestamp + page_delta(header);
                uint16_t id;

                memcpy(&id, at + 4 + RECORD_ID_OFFSET, sizeof(id));
                if ((size_t)(end - at) < 4 + words * 4)
                        break;
                if (id == switch_id && words == switch_words) {
                        if (!run_switch(sched, layout, switches, at + 4, now))
                                break;
                } else if (id != waking_id || words != waking_words ||
                           !run_waking(sched, layout, wakings, at + 4, now)) {
                        break;
                }
                at += 4 + words * 4;
                timestamp = now;
        }
        reader->at = at;
        reader->timestamp = timestamp;
}

void compact_sched_run(CompactSched *sched, const CompactLayout *layout, PageReader *reader) {
        RunColumns switches = {
                .timestamp = sched->switch_timestamp.at,
                .pid = sched->switch_next_pid.at,
                .prio = sched->switch_next_prio.at,
                .comm = sched->switch_comm.at,
                .state = sched->switch_prev_state.at,
                .last = sched->last_switch,
                .n = sched->n_switches,
        };
        RunColumns wakings = {
                .timestamp = sched->waking_timestamp.at,
                .pid = sched->waking_pid.at,
                .prio = sched->waking_prio.at,
                .comm = sched->waking_comm.at,
                .cpu = sched->waking_cpu.at,
                .flags = sched->waking_flags.at,
                .last = sched->last_waking,
                .n = sched->n_wakings,
        };

        run_records(sched, layout, reader, &switches, &wakings);
        sched->switch_timestamp.at = switches.timestamp;
        sched->switch_next_pid.at = switches.pid;
        sched->switch_next_prio.at = switches.prio;
        sched->switch_comm.at = switches.comm;
        sched->switch_prev_state.at = switches.state;
        sched->last_switch = switches.last;
        sched->n_switches = switches.n;
        sched->waking_timestamp.at = wakings.timestamp;
        sched->waking_pid.at = wakings.pid;
        sched->waking_prio.at = wakings.prio;
        sched->waking_comm.at = wakings.comm;
        sched->waking_cpu.at = wakings.cpu;
        sched->waking_flags.at = wakings.flags;
        sched->last_waking = wakings.last;
        sched->n_wakings = wakings.n;
}

void compact_sched_encode(CompactSched *sched, WireWriter *wire) {
        size_t begin;

        if (compact_sched_is_empty(sched))
                return;
        begin = wire_begin(wire, BUNDLE_COMPACT_SCHED);
        for (uint8_t i = 0; i < sched->n_comms; i++)
                wire_put_bytes(wire,
                               COMPACT_INTERN_TABLE,
                               sched->comms[i],
                               strnlen(sched->comms[i], COMM_BYTES));
        for (size_t i = 0; i < N_COLUMNS; i++) {
                CompactColumn *from = column(sched, i);

                if (from->at > from->start)
                        wire_put_bytes(wire,
                                       compact_columns[i].field,
                                       from->start,
                                       (size_t)(from->at - from->start));
        }
        wire_end(wire, begin);
        sched_reset(sched);
}
