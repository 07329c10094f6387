/* SPDX-License-Identifier: LGPL-2.1-or-later */

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
        sched->last_switch = 0; /* the first difference of a bundle is the time itself */
        sched->last_waking = 0;
        sched->n_comms = 0;
        memset(sched->slots, 0, sizeof(sched->slots));
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

static inline void column_put(CompactColumn *to, uint64_t value) {
        to->at = wire_encode_varint(to->at, value);
}

/* The index of a name in the bundle's table. All 16 bytes are compared: the kernel pads names with zeros, and if
 * it did not, a name would only be listed twice. The caller has made sure of room for one more. */
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

int32_t compact_sched_add_switch(CompactSched *sched,
                                 const CompactLayout *layout,
                                 uint64_t timestamp,
                                 const uint8_t *record) {
        int32_t next_pid = load_int(record, layout->next_pid);

        /* The boot clock may step back at resume: the difference wraps, and so does the reader's sum. */
        column_put(&sched->switch_timestamp, timestamp - sched->last_switch);
        column_put(&sched->switch_prev_state, (uint64_t)load_long(record, layout->prev_state));
        column_put(&sched->switch_next_pid, (uint64_t)next_pid);
        column_put(&sched->switch_next_prio, (uint64_t)load_int(record, layout->next_prio));
        column_put(&sched->switch_comm, intern_comm(sched, record + layout->next_comm.offset));
        sched->last_switch = timestamp;
        sched->n_switches++;
        return next_pid;
}

int32_t compact_sched_add_waking(CompactSched *sched,
                                 const CompactLayout *layout,
                                 uint64_t timestamp,
                                 const uint8_t *record) {
        int32_t pid = load_int(record, layout->pid);

        column_put(&sched->waking_timestamp, timestamp - sched->last_waking);
        column_put(&sched->waking_pid, (uint64_t)pid);
        column_put(&sched->waking_cpu, (uint64_t)load_int(record, layout->target_cpu));
        column_put(&sched->waking_prio, (uint64_t)load_int(record, layout->prio));
        column_put(&sched->waking_comm, intern_comm(sched, record + layout->comm.offset));
        column_put(&sched->waking_flags, record[2]); /* common_flags: irq context */
        sched->last_waking = timestamp;
        sched->n_wakings++;
        return pid;
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
