/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Producer: a connected process with data sources
 *
 * Created when a peer registers, freed when its connection ends; a free drains what it had finished into the
 * buffers of its sessions first. Owned by the transport that made it, listed by the service.
 */

#include "core/peer.h"
#include "core/service.h"
#include "packet/packet-rules.h"
#include "shared/bytes.h"

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
        PRODUCER_E_LIMIT, /* too many producers, or of this uid, or sources */
        PRODUCER_E_RESERVED, /* the source's name, or a packet field, belongs to the system's producers */
        PRODUCER_E_INVALID,  /* an empty, too long or non-ASCII name, a descriptor that is none */
        PRODUCER_E_FIELD,    /* a packet field that it declares is not its to write */
        PRODUCER_E_UNKNOWN,  /* no such source */
        PRODUCER_E_LOCKDOWN, /* only the system's own producers may come now */
};

int producer_new(Producer **ret,
                 Service *service,
                 const Identity *identity,
                 const char *name,
                 const ProducerOptions *options,
                 const ProducerOps *ops,
                 void *peer);

/* The connection is gone. */
Producer *producer_free(Producer *producer);
DEFINE_CLEANUP(Producer *, producer_free)

/* Adds a source or changes its options; joins it to running sessions that want it. */
int producer_add_source(Producer *producer,
                        const char *name,
                        const SourceOptions *options,
                        uint64_t now);
int producer_remove_source(Producer *producer, const char *name, uint64_t now);

/* The config that setup_source() came with; may be called from within the other requests. 0, -ENOENT, -ENOMEM. */
int producer_instance_config(const Producer *producer, uint64_t instance, Bytes *ret);

/* Answers to ProducerOps requests. Unknown numbers are ignored: the instance may be gone by now. */
void producer_source_started(Producer *producer, uint64_t instance, uint64_t now);
void producer_source_failed(Producer *producer, uint64_t instance, const char *why, uint64_t now);
/* What an instance does not record although it records, for people. One more than it may have is left out. */
void producer_source_note(Producer *producer, uint64_t instance, const char *text, uint64_t now);
void producer_source_stopped(Producer *producer, uint64_t instance, uint64_t now);
void producer_flushed(Producer *producer, uint64_t request, uint64_t now);

/* Requests in shared memory, for transports whose producers know them: see smb_ask() and smb_take_answer(). */
int producer_ask(Producer *producer,
                 SmbRequestKind kind,
                 const uint64_t *instances,
                 size_t n_instances,
                 unsigned *ret_place);
bool producer_take_answer(Producer *producer, unsigned place);

/* The doorbell rang: takes everything committed, then keeps looking (service_tick()) until it stays quiet. */
void producer_doorbell(Producer *producer, uint64_t now);

/*
 * Perfetto's protocol: producers that say by message what native ones say in the control area. Foreign buffers and bad
 * numbers are counted and ignored, as all of it may be a lie.
 */

/* Which buffer a writer writes to (0: none any more). */
void producer_register_writer(Producer *producer, uint32_t writer_id, uint32_t target_buffer);

/* A chunk in shared memory is complete. */
void producer_commit(Producer *producer, uint32_t page, uint32_t chunk, uint32_t target_buffer);

/* A chunk with its header, in the message itself; it is copied. */
void producer_commit_data(Producer *producer,
                          const void *data,
                          size_t n,
                          bool is_complete,
                          uint32_t target_buffer);
void producer_patch(Producer *producer,
                    uint32_t target_buffer,
                    uint16_t writer_id,
                    uint32_t chunk_id,
                    uint32_t offset,
                    const uint8_t data[static 4],
                    bool more_patches);

/* The producer has brought its memory, in which it writes already; the caller has mapped it and made sure that nobody
 * can shorten it. It stays mapped until producer_free(). Before the first source. 0; PRODUCER_E_INVALID: sizes or a
 * page size that the service would not have chosen; PRODUCER_E_LIMIT: of this user's memory. */
int producer_adopt_memory(Producer *producer, void *memory, size_t n_bytes, uint32_t page_bytes);

/* Whether its process is; asks the host. */
bool producer_is_suspended(const Producer *producer);

uint64_t producer_id(const Producer *producer);
/* Grows with each producer that comes, over all users: for the service alone to know. */
uint64_t producer_order(const Producer *producer);
const char *producer_name(const Producer *producer);
const Identity *producer_identity(const Producer *producer);
const char *producer_version(const Producer *producer); /* or "" */
size_t producer_memory_bytes(const Producer *producer);
size_t producer_n_sources(const Producer *producer);
const char *producer_source_name(const Producer *producer, size_t i);
/* As it was registered; NULL without one. */
const void *producer_source_descriptor(const Producer *producer, size_t i, size_t *ret_n);
const char *const *producer_source_categories(const Producer *producer, size_t i); /* or NULL */
const char *producer_source_unavailable(const Producer *producer, size_t i);       /* or NULL */
