/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include "probes/ftrace/bundle.h"

enum {
        BUNDLE_CPU = 1,
        BUNDLE_LOST_EVENTS = 3,
        BUNDLE_ERROR = 8,
        BUNDLE_PREVIOUS_END = 10,
        BUNDLE_GENERIC_DESCRIPTORS = 11,
        ERROR_TIMESTAMP = 1,
        ERROR_STATUS = 2,
};

int bundle_writer_init(BundleWriter *writer,
                       PacketWriter *packets,
                       const EventSet *events,
                       const PageLayout *layout) {
        *writer = (BundleWriter){ .packets = packets, .events = events, .layout = layout };
        return compact_sched_init(&writer->sched);
}

void bundle_writer_deinit(BundleWriter *writer) {
        compact_sched_deinit(&writer->sched);
}

static void bundle_open(BundleWriter *writer, BundleCpu *cpu) {
        if (writer->wire)
                return;
        writer->wire = packet_begin(writer->packets);
        writer->begin = wire_begin(writer->wire, PACKET_FTRACE_EVENTS);
        wire_put_uint(writer->wire, BUNDLE_CPU, cpu->cpu);
        if (cpu->lost)
                wire_put_bool(writer->wire, BUNDLE_LOST_EVENTS, true);
        wire_put_uint(writer->wire, BUNDLE_PREVIOUS_END, cpu->end_timestamp);
        writer->n_generic = 0;
}

void bundle_close(BundleWriter *writer, BundleCpu *cpu) {
        if (!writer->wire)
                return;
        compact_sched_encode(&writer->sched, writer->wire);
        for (size_t i = 0; i < writer->n_generic; i++)
                wire_put_bytes(writer->wire,
                               BUNDLE_GENERIC_DESCRIPTORS,
                               writer->generic[i]->descriptor,
                               writer->generic[i]->n_descriptor);
        wire_end(writer->wire, writer->begin);
        if (writer->symbols)
                kernel_symbols_encode(writer->symbols, writer->wire);
        writer->wire = NULL;

        if (packet_end(writer->packets) < 0) {
                cpu->lost = true;
                cpu->n_losses++;
                return;
        }
        cpu->lost = false;
        cpu->end_timestamp = cpu->read_timestamp;
}

static void
bundle_note_error(BundleWriter *writer, BundleCpu *cpu, uint64_t timestamp, FtraceStatus status) {
        size_t begin;

        writer->statuses |= 1u << status;
        bundle_open(writer, cpu);
        begin = wire_begin(writer->wire, BUNDLE_ERROR);
        wire_put_uint(writer->wire, ERROR_TIMESTAMP, timestamp);
        wire_put_uint(writer->wire, ERROR_STATUS, status);
        wire_end(writer->wire, begin);
}

static bool bundle_is_full(const BundleWriter *writer) {
        return compact_sched_is_full(&writer->sched) || writer->n_generic >= BUNDLE_GENERIC_MAX ||
               wire_writer_size(writer->wire) >= BUNDLE_BYTES_MAX;
}

static void note_generic(BundleWriter *writer, const EventEncoder *encoder) {
        for (size_t i = 0; i < writer->n_generic; i++)
                if (writer->generic[i] == encoder)
                        return;
        writer->generic[writer->n_generic++] = encoder;
}

static void note_pids(PidSet *pids, const EventEncoder *encoder, const uint8_t *record) {
        pid_t pid;

        memcpy(&pid, record + RECORD_PID_OFFSET, sizeof(pid));
        pid_set_add(pids, pid);
        for (size_t i = 0; i < encoder->n_pids; i++) {
                memcpy(&pid, record + encoder->pid_offsets[i], sizeof(pid));
                if (encoder->makes_task)
                        pid_set_remove(pids, pid);
                pid_set_add(pids, pid);
        }
}

/* False when the record is not what its id says. */
static bool add_full(BundleWriter *writer, uint16_t id, const PageRecord *record) {
        const EventEncoder *encoder = event_set_find(writer->events, id);

        if (!encoder)
                return true; /* of another kind than asked for: the kernel's own, like stack traces */
        if (!event_encode(encoder,
                          writer->wire,
                          record->timestamp,
                          record->data,
                          record->n_bytes,
                          writer->symbols))
                return false;
        if (encoder->is_generic)
                note_generic(writer, encoder);
        if (writer->pids)
                note_pids(writer->pids, encoder, record->data);
        return true;
}

static bool add_record(BundleWriter *writer, const PageRecord *record) {
        const CompactLayout *compact = &writer->events->compact;
        int32_t pid;
        uint16_t id;

        if (record->n_bytes < RECORD_COMMON_BYTES)
                return false;
        memcpy(&id, record->data + RECORD_ID_OFFSET, sizeof(id));
        if (LIKELY(id == compact->switch_id && record->n_bytes >= compact->n_switch_bytes))
                pid = compact_sched_add_switch(
                        &writer->sched, compact, record->timestamp, record->data);
        else if (id == compact->waking_id && record->n_bytes >= compact->n_waking_bytes)
                pid = compact_sched_add_waking(
                        &writer->sched, compact, record->timestamp, record->data);
        else
                return add_full(writer, id, record);
        if (writer->pids)
                pid_set_add(writer->pids, pid);
        return true;
}

void bundle_add_page(BundleWriter *writer, BundleCpu *cpu, const void *page, size_t n_bytes) {
        PageReader reader;
        PageRecord record;
        int r;

        r = page_reader_init(&reader, writer->layout, page, n_bytes);
        if (reader.lost) {
                bundle_close(writer, cpu);
                cpu->lost = true;
                cpu->n_losses++;
        }
        while (r >= 0 && (r = page_read(&reader, &record)) > 0) {
                bundle_open(writer, cpu);
                cpu->read_timestamp = record.timestamp;
                cpu->n_events++;
                if (UNLIKELY(!add_record(writer, &record)))
                        bundle_note_error(
                                writer, cpu, record.timestamp, FTRACE_STATUS_INVALID_EVENT);
                if (UNLIKELY(bundle_is_full(writer)))
                        bundle_close(writer, cpu);
        }
        if (r < 0) { /* the rest of the page is gone */
                bundle_note_error(writer, cpu, reader.timestamp, reader.status);
                bundle_close(writer, cpu);
                cpu->lost = true;
                cpu->n_losses++;
        }
}
