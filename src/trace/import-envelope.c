/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Import of envelopes: small packets are copied, and a large one is lent until it has been used
 */

#include "trace/import-envelope.h"

#include <errno.h>
#include <string.h>

void import_file_init(ImportFile *file, int fd, bool (*is_payload)(uint32_t number)) {
        *file = (ImportFile){ .is_payload = is_payload };
        trace_reader_init(&file->reader, fd);
        sem_init(&file->returned, 0, 0);
}

void import_file_deinit(ImportFile *file) {
        trace_reader_deinit(&file->reader);
        sem_destroy(&file->returned);
}

void import_file_return(ImportFile *file) {
        sem_post(&file->returned);
}

static inline void
envelope_take(const ImportFile *file, ImportEnvelope *envelope, const WireField *field) {
        if (trace_packet_take(&envelope->packet, field))
                return;
        if (field->type == WIRE_BYTES && file->is_payload(field->number))
                envelope->payload = *field;
}

static void
envelope_read(const ImportFile *file, ImportEnvelope *ret, const uint8_t *packet, size_t n_bytes) {
        WireReader reader;
        WireField field;
        int r;

        *ret = (ImportEnvelope){ .n_bytes = n_bytes };
        wire_reader_init(&reader, packet, n_bytes);
        do {
                trace_packet_take_usual(&ret->packet, &reader);
                r = wire_read_fast(&reader, &field);
                if (r > 0)
                        envelope_take(file, ret, &field);
        } while (r > 0);
        ret->is_malformed = r < 0;
}

/* Returns false at the end of the file, or at what cannot be read. */
static bool file_next(ImportFile *file) {
        if (!file->packet)
                file->outcome = trace_reader_next(&file->reader, &file->packet, &file->n_packet);
        if (file->outcome)
                file->packet = NULL;
        return file->packet;
}

/* The reader may not go on until the packet has been used. */
static void batch_lend(ImportFile *file, ImportEnvelopes *batch) {
        batch->is_lent = file->has_lent = true;
        envelope_read(file, &batch->envelopes[0], file->packet, file->n_packet);
        file->packet = NULL;
}

static void wait_for_return(ImportFile *file) {
        while (file->has_lent && sem_wait(&file->returned) < 0 && errno == EINTR)
                ;
        file->has_lent = false;
}

size_t import_envelopes_make(void *user_data, void *memory) {
        ImportFile *file = user_data;
        ImportEnvelopes *batch = memory;
        size_t n = 0;

        wait_for_return(file);
        batch->is_lent = false;
        batch->n_bytes = 0;
        while (n < IMPORT_ENVELOPES && file_next(file)) {
                uint8_t *copy = batch->bytes + batch->n_bytes;

                if (file->n_packet > sizeof(batch->bytes) - batch->n_bytes) {
                        if (n > 0)
                                return n;
                        batch_lend(file, batch);
                        return 1;
                }
                memcpy(copy, file->packet, file->n_packet);
                batch->n_bytes += file->n_packet;
                envelope_read(file, &batch->envelopes[n++], copy, file->n_packet);
                file->packet = NULL;
        }
        return n;
}
