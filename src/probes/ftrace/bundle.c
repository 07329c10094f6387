/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Bundle writer
 *
 * The fields that differ between receivers come first, as the fields of a bundle may have any order. The packet is
 * encoded behind some free room. Each receiver's tag, length and first fields are written into that room right before
 * its packet is passed on, so nothing is moved or copied.
 */

#include <errno.h>
#include <stdlib.h>

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

#define FIELD_BYTES_MAX (WIRE_TAG_MAX + WIRE_VARINT_MAX)
#define FRONT_BYTES_MAX (4 * FIELD_BYTES_MAX) /* the packet's field, CPU, loss, previous end */

int bundle_receiver_init(BundleReceiver *receiver, PacketSink *sink, size_t n_cpus) {
        *receiver = (BundleReceiver){ .sink = sink, .n_cpus = n_cpus };
        list_init(&receiver->receivers);
        receiver->cpus = calloc(MAX(n_cpus, (size_t)1), sizeof(*receiver->cpus));
        return receiver->cpus ? 0 : -ENOMEM;
}

void bundle_receiver_deinit(BundleReceiver *receiver) {
        if (!receiver->cpus)
                return;
        list_unlink(&receiver->receivers);
        free(receiver->cpus);
        *receiver = (BundleReceiver){};
}

int bundle_writer_init(BundleWriter *writer, const PageLayout *layout) {
        *writer = (BundleWriter){ .layout = layout };
        list_init(&writer->writers);
        list_init(&writer->receivers);
        packet_writer_init(&writer->packets, NULL);
        return compact_sched_init(&writer->sched);
}

void bundle_writer_deinit(BundleWriter *writer) {
        compact_sched_deinit(&writer->sched);
        packet_writer_deinit(&writer->packets);
        pid_set_deinit(&writer->pids);
        pid_set_deinit(&writer->born);
        free(writer->encoders);
        writer->encoders = NULL;
}

int bundle_writer_use(BundleWriter *writer,
                      const EventSet *set,
                      const IdSet *ids,
                      KernelSymbols *symbols) {
        const EventEncoder **encoders;

        encoders = calloc(MAX(set->n_ids, (size_t)1), sizeof(*encoders));
        if (!encoders)
                return -ENOMEM;
        for (size_t id = 0; id < set->n_ids; id++)
                if (id_set_has(ids, (uint16_t)id))
                        encoders[id] = set->by_id[id];
        writer->encoders = encoders;
        writer->n_encoders = set->n_ids;
        writer->symbols = symbols;
        writer->compact = set->compact;
        if (!id_set_has(ids, writer->compact.switch_id))
                writer->compact.switch_id = 0;
        if (!id_set_has(ids, writer->compact.waking_id))
                writer->compact.waking_id = 0;
        /* No event has the id 0, but damaged bytes may say so: no record is that long. */
        if (writer->compact.switch_id == 0)
                writer->compact.n_switch_bytes = UINT32_MAX;
        if (writer->compact.waking_id == 0)
                writer->compact.n_waking_bytes = UINT32_MAX;
        return 0;
}

void bundle_writer_borrow(BundleWriter *writer, const EventSet *set, KernelSymbols *symbols) {
        writer->symbols = symbols;
        for (size_t id = 0; id < writer->n_encoders; id++)
                if (writer->encoders[id])
                        writer->encoders[id] = set->by_id[id];
}

void bundle_writer_add(BundleWriter *writer, BundleReceiver *receiver) {
        list_append(&writer->receivers, &receiver->receivers);
        writer->newest_ns = MAX(writer->newest_ns, receiver->from_ns);
}

static size_t count_takers(const BundleWriter *writer, uint64_t timestamp) {
        BundleReceiver *receiver;
        size_t n = 0;

        list_for_each (receiver, &writer->receivers, receivers)
                n += receiver->from_ns <= timestamp;
        return n;
}

static void bundle_open(BundleWriter *writer, uint64_t timestamp) {
        if (writer->wire)
                return;
        writer->wire = packet_begin(&writer->packets);
        if (wire_reserve(writer->wire, FRONT_BYTES_MAX))
                writer->wire->at += FRONT_BYTES_MAX;
        writer->n_generic = 0;
        writer->first_timestamp = timestamp;
        writer->is_for_all = timestamp >= writer->newest_ns;
        if (!writer->is_for_all)
                writer->n_takers = count_takers(writer, timestamp);
}

/* Puts the receiver's own fields before the common body. Returns where the packet begins. */
static uint8_t *
put_front(BundleWriter *writer, const BundleCpu *cpu, const ReceiverCpu *state, size_t n_body) {
        uint8_t *body = writer->wire->start + FRONT_BYTES_MAX;
        uint8_t memory[FRONT_BYTES_MAX], tag[FIELD_BYTES_MAX];
        WireWriter front, length;
        size_t n_front, n_tag;

        wire_writer_init(&front, memory, sizeof(memory));
        wire_put_uint(&front, BUNDLE_CPU, cpu->cpu);
        if (state->lost)
                wire_put_bool(&front, BUNDLE_LOST_EVENTS, true);
        wire_put_uint(&front, BUNDLE_PREVIOUS_END, state->end_timestamp);
        n_front = wire_writer_size(&front);

        wire_writer_init(&length, tag, sizeof(tag));
        wire_put_varint(&length, PACKET_FTRACE_EVENTS << 3 | WIRE_BYTES);
        wire_put_varint(&length, n_front + n_body);
        n_tag = wire_writer_size(&length);

        memcpy(body - n_front, memory, n_front);
        memcpy(body - n_front - n_tag, tag, n_tag);
        return body - n_front - n_tag;
}

static void
bundle_give(BundleWriter *writer, const BundleCpu *cpu, BundleReceiver *receiver, size_t n_body) {
        ReceiverCpu *state = &receiver->cpus[cpu->index];
        uint8_t *packet;
        int r = -ENOMEM;

        /* Either the receiver begins later, or all there is to write is a loss of other receivers. */
        if (receiver->from_ns > writer->first_timestamp || (n_body == 0 && !state->lost))
                return;
        if (!wire_writer_failed(writer->wire)) {
                packet = put_front(writer, cpu, state, n_body);
                r = receiver->sink->write(
                        receiver->sink, packet, (size_t)(writer->wire->at - packet));
        }
        state->lost = r < 0;
        if (r >= 0)
                state->end_timestamp = cpu->read_timestamp;
}

static void bundle_close(BundleWriter *writer, const BundleCpu *cpu) {
        BundleReceiver *receiver;
        size_t n_body;

        if (!writer->wire)
                return;
        compact_sched_encode(&writer->sched, writer->wire);
        for (size_t i = 0; i < writer->n_generic; i++)
                wire_put_bytes(writer->wire,
                               BUNDLE_GENERIC_DESCRIPTORS,
                               writer->generic[i]->descriptor,
                               writer->generic[i]->n_descriptor);
        n_body = wire_writer_size(writer->wire) - FRONT_BYTES_MAX;
        if (writer->symbols)
                kernel_symbols_encode(writer->symbols, writer->wire);
        list_for_each (receiver, &writer->receivers, receivers)
                bundle_give(writer, cpu, receiver, n_body);
        writer->wire = NULL;
        writer->is_for_all = false;
}

static void bundle_note_loss(BundleWriter *writer, BundleCpu *cpu) {
        BundleReceiver *receiver;

        bundle_close(writer, cpu);
        list_for_each (receiver, &writer->receivers, receivers)
                receiver->cpus[cpu->index].lost = true;
}

static void bundle_note_error(BundleWriter *writer, uint64_t timestamp, FtraceStatus status) {
        BundleReceiver *receiver;
        size_t begin;

        list_for_each (receiver, &writer->receivers, receivers)
                receiver->statuses |= 1u << status;
        bundle_open(writer, timestamp);
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

static void note_pids(BundleWriter *writer, const EventEncoder *encoder, const uint8_t *record) {
        pid_t pid;

        memcpy(&pid, record + RECORD_PID_OFFSET, sizeof(pid));
        pid_set_add(&writer->pids, pid);
        for (size_t i = 0; i < encoder->n_pids; i++) {
                memcpy(&pid, record + encoder->pid_offsets[i], sizeof(pid));
                if (encoder->makes_task)
                        pid_set_add(&writer->born, pid);
                pid_set_add(&writer->pids, pid);
        }
}

void bundle_forget_pids(BundleWriter *writer) {
        PidSet *sets[] = { &writer->pids, &writer->born };

        for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
                for (size_t k = 0; k < sets[i]->n_fresh; k++)
                        pid_set_remove(sets[i], sets[i]->fresh[k]);
                pid_set_clear_fresh(sets[i]);
        }
}

/* Returns false when the record does not fit its id. */
static bool add_full(BundleWriter *writer, const EventEncoder *encoder, const PageRecord *record) {
        if (!event_encode(encoder,
                          writer->wire,
                          record->timestamp,
                          record->data,
                          record->n_bytes,
                          writer->symbols))
                return false;
        if (encoder->is_generic)
                note_generic(writer, encoder);
        if (writer->notes_pids)
                note_pids(writer, encoder, record->data);
        return true;
}

/* Makes sure that the current bundle is exactly for the receivers that want this record. */
static inline void bundle_prepare(BundleWriter *writer, BundleCpu *cpu, uint64_t timestamp) {
        if (LIKELY(writer->is_for_all))
                return;
        if (writer->wire && count_takers(writer, timestamp) != writer->n_takers)
                bundle_close(writer, cpu);
        bundle_open(writer, timestamp);
}

static void close_at(BundleWriter *writer, BundleCpu *cpu, uint64_t timestamp) {
        cpu->read_timestamp = timestamp;
        bundle_close(writer, cpu);
}

/* Handles events that are written in full, and damaged records. */
static __attribute__((__noinline__)) void
add_other(BundleWriter *writer, BundleCpu *cpu, uint16_t id, const PageRecord *record) {
        const EventEncoder *encoder = id < writer->n_encoders ? writer->encoders[id] : NULL;

        /* Unwanted events belong to other recordings or are the kernel's own, such as stack traces. */
        if (!encoder || event_is_filtered(encoder, record->data, record->n_bytes))
                return;
        bundle_prepare(writer, cpu, record->timestamp);
        if (!add_full(writer, encoder, record))
                bundle_note_error(writer, record->timestamp, FTRACE_STATUS_INVALID_EVENT);
        if (bundle_is_full(writer))
                close_at(writer, cpu, record->timestamp);
}

/* Most events are of these two types, so this reads nothing twice. */
static inline void
bundle_add_record(BundleWriter *writer, BundleCpu *cpu, const PageRecord *record) {
        const CompactLayout *compact = &writer->compact;
        int32_t pid;
        uint16_t id;

        if (UNLIKELY(record->n_bytes < RECORD_COMMON_BYTES)) {
                bundle_note_error(writer, record->timestamp, FTRACE_STATUS_INVALID_EVENT);
                if (bundle_is_full(writer))
                        close_at(writer, cpu, record->timestamp);
                return;
        }
        memcpy(&id, record->data + RECORD_ID_OFFSET, sizeof(id));
        if (LIKELY(id == compact->switch_id && record->n_bytes >= compact->n_switch_bytes)) {
                bundle_prepare(writer, cpu, record->timestamp);
                pid = compact_sched_add_switch(&writer->sched, compact, record);
        } else if (id == compact->waking_id && record->n_bytes >= compact->n_waking_bytes) {
                bundle_prepare(writer, cpu, record->timestamp);
                pid = compact_sched_add_waking(&writer->sched, compact, record);
        } else {
                add_other(writer, cpu, id, record);
                return;
        }
        if (writer->notes_pids)
                pid_set_add(&writer->pids, pid);
        if (UNLIKELY(compact_sched_is_full(&writer->sched)))
                close_at(writer, cpu, record->timestamp);
}

/* Whether a run of records is likely enough to look for one. */
static inline bool has_compact_next(const BundleWriter *writer, const PageReader *reader) {
        uint16_t id;

        if (!writer->is_for_all || reader->end - reader->at < 8)
                return false;
        memcpy(&id, reader->at + 4 + RECORD_ID_OFFSET, sizeof(id));
        return id == writer->compact.switch_id || id == writer->compact.waking_id;
}

static void bundle_add_run(BundleWriter *writer, BundleCpu *cpu, PageReader *reader) {
        compact_sched_run(&writer->sched, &writer->compact, reader);
        if (compact_sched_is_full(&writer->sched))
                close_at(writer, cpu, reader->timestamp);
}

void bundle_add_page(BundleWriter *writer, BundleCpu *cpu, const void *page, size_t n_bytes) {
        PageReader reader;
        PageRecord record;
        bool found = false;
        int r;

        r = page_reader_init(&reader, writer->layout, page, n_bytes);
        if (reader.lost)
                bundle_note_loss(writer, cpu);
        while (r >= 0 && (r = page_read(&reader, &record)) > 0) {
                found = true;
                bundle_add_record(writer, cpu, &record);
                if (has_compact_next(writer, &reader))
                        bundle_add_run(writer, cpu, &reader);
        }
        if (found)
                cpu->read_timestamp = reader.timestamp;
        if (r < 0) { /* the rest of the page is lost */
                bundle_note_error(writer, reader.timestamp, reader.status);
                bundle_note_loss(writer, cpu);
        }
}

/* A loss must be reported even if no wanted event comes after it. */
static bool has_untold_loss(const BundleWriter *writer, const BundleCpu *cpu) {
        BundleReceiver *receiver;

        list_for_each (receiver, &writer->receivers, receivers)
                if (receiver->cpus[cpu->index].lost)
                        return true;
        return false;
}

void bundle_end_turn(BundleWriter *writer, BundleCpu *cpu) {
        if (!writer->wire && has_untold_loss(writer, cpu))
                bundle_open(writer, UINT64_MAX);
        bundle_close(writer, cpu);
}
