/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Import of envelopes: packets of a file, some of them at a time, with their common fields parsed
 *
 * This needs nothing that earlier packets said, so a thread can do it ahead of the rest of the first pass.
 */

#include <semaphore.h>

#include "trace/trace-packet.h"
#include "trace/trace-reader.h"

#define IMPORT_ENVELOPES      256         /* in a batch, at most */
#define IMPORT_ENVELOPE_BYTES (64u << 10) /* of the packets of a batch */

typedef struct ImportEnvelope {
        TracePacket packet;
        WireField
                payload; /* the last field that may be a payload; number 0: the packet has no payload */
        size_t n_bytes;
        bool is_malformed;
} ImportEnvelope;

typedef struct ImportEnvelopes {
        ImportEnvelope envelopes[IMPORT_ENVELOPES];
        bool is_lent; /* a larger packet, which is alone and still in the reader's memory */
        size_t n_bytes;
        uint8_t bytes[IMPORT_ENVELOPE_BYTES];
} ImportEnvelopes;

typedef struct ImportFile {
        TraceReader reader;
        bool (*is_payload)(uint32_t number);
        const uint8_t *packet; /* that did not fit into the batch before; or NULL */
        size_t n_packet;
        bool has_lent;
        sem_t returned; /* what was lent */
        int outcome;    /* of the reader; valid at the end */
} ImportFile;

void import_file_init(ImportFile *file, int fd, bool (*is_payload)(uint32_t number));
void import_file_deinit(ImportFile *file);

/* Fills ImportEnvelopes, as a TraceMake. */
size_t import_envelopes_make(void *file, void *batch);
/* A batch has been used. Also call it before the thread is stopped, which may wait for that. */
void import_file_return(ImportFile *file);
