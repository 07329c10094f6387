/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What everybody may know of a producer; core/producer.h has what a transport does with it.
 */

#include "core/model/peer.h"
#include "packet/packet-rules.h"

typedef struct SourceOptions {
        const void *descriptor; /* serialized DataSourceDescriptor, or NULL */
        size_t n_descriptor;
        bool no_flush;
        const char *const *categories; /* NULL-terminated, or NULL */
        /* TracePacket fields that its packets are about; NULL: it does not say. Those that belong to the machine or the
         * service may not be among them. */
        const uint32_t *packet_fields;
        size_t n_packet_fields;
        const char *
                unavailable; /* why it cannot record now, for people; NULL: as far as is known it can */
} SourceOptions;

typedef struct ProducerOptions {
        size_t memory_bytes; /* hints; 0: default */
        uint32_t page_bytes;
        bool is_native;      /* counts fragments when they are complete; has a control area */
        bool is_not_scanned; /* Perfetto's protocol: no chunk is taken before it is committed */
        const char *
                version; /* of the library that it was made with, for people; copied. NULL: it does not say */
} ProducerOptions;

enum {
        _PRODUCER_E_SUCCESS,
        PRODUCER_E_LIMIT,    /* too many producers, in all or of this uid, or too many sources */
        PRODUCER_E_RESERVED, /* a source name or packet field that is reserved for the system */
        PRODUCER_E_INVALID,  /* an empty, too long or non-ASCII name, a malformed descriptor */
        PRODUCER_E_FIELD,    /* a packet field that it declares is not its to write */
        PRODUCER_E_UNKNOWN,  /* no such source */
        PRODUCER_E_LOCKDOWN, /* only the system's own producers may come now */
};

/* Requests in shared memory, for transports whose producers know them: see smb_ask() and smb_take_answer(). */
int producer_ask(Producer *producer,
                 SmbRequestKind kind,
                 const uint64_t *instances,
                 size_t n_instances,
                 unsigned *ret_place);
bool producer_take_answer(Producer *producer, unsigned place);

/* Whether its process is; asks the host. */
bool producer_is_suspended(const Producer *producer);

/* Whether there is a session that outlives this process, and that this producer has memory for. */
bool producer_can_be_left(const Producer *producer);

uint64_t producer_id(const Producer *producer);
/* Grows with each producer that comes, over all users: for the service alone to know. */
uint64_t producer_order(const Producer *producer);
const char *producer_name(const Producer *producer);
const Identity *producer_identity(const Producer *producer);
uid_t producer_user(const Producer *producer);          /* whose limits count for it */
const char *producer_version(const Producer *producer); /* or "" */
size_t producer_memory_bytes(const Producer *producer);
uint32_t producer_page_bytes(const Producer *producer);
size_t producer_n_sources(const Producer *producer);
const char *producer_source_name(const Producer *producer, size_t i);
/* Whether only the process before has heard of it. */
bool producer_source_is_restored(const Producer *producer, size_t i);
/* As it was registered; NULL without one. */
const void *producer_source_descriptor(const Producer *producer, size_t i, size_t *ret_n);
const char *const *producer_source_categories(const Producer *producer, size_t i); /* or NULL */
const char *producer_source_unavailable(const Producer *producer, size_t i);       /* or NULL */
