/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Producer, as the floors of the core know it; core/producer.h is for transports.
 */

#include "core/model/producer-info.h"
#include "core/model/quota.h"
#include "packet/packet-rules.h"
#include "shared/bytes.h"
#include "shared/macro.h"
#include "smb/smb-reader.h"

typedef struct CensusRow CensusRow;
typedef struct SourceInstance SourceInstance;

#define PRODUCER_FORMER_BUFFERS 16 /* that it wrote to, and are remembered */

typedef struct ProducerSource {
        char *name;
        Bytes descriptor;  /* empty: none */
        char **categories; /* NULL-terminated, or NULL */
        char *unavailable; /* why it cannot record, or NULL */
        bool no_flush;
        bool is_restored;  /* of the process before: its producer has not offered it again yet */
        bool clears_state; /* wants ClearIncrementalState */
        bool tells_start, tells_stop; /* answers these requests, so sessions wait for it */
        PacketRules rules;            /* what its packets may be about */
        Charge charge;                /* descriptor and category bytes */
} ProducerSource;

/* How many packets the producer's own counter reports as lost, and how many of these losses are believed. */
typedef struct ProducerLosses {
        uint64_t n;          /* losses that are believed, in all of its memories */
        uint64_t n_said;     /* what the counter said last */
        uint64_t n_possible; /* more that it can have lost, as of then: */
        uint64_t looked_at;
        uint64_t n_seen, cleared_at; /* when its sources were asked to start over */
} ProducerLosses;

struct Producer {
        Service *service;
        List link;
        uint64_t id, order;
        Identity identity;
        uid_t user;           /* who is charged */
        char *name, *version; /* the latter may be NULL */
        ProducerOptions options;
        const ProducerOps *ops;
        void *peer;
        Charge charge;
        CensusRow *census;

        ProducerSource *
                *sources; /* allocated exactly: most have one, and there are many producers */
        size_t n_sources;
        List instances;
        uint64_t last_instance_id;
        uint64_t last_flush_id;      /* asked */
        uint64_t last_flush_request; /* the number by which the producer knows it */
        uint64_t last_round;         /* a session went over its producers */

        /* The shared memory, from the first setup of a source on. */
        SmbArea area;
        bool has_memory;
        Charge memory_charge;
        unsigned n_memories; /* so far */
        uint64_t origin_id;  /* whose its chunks are: its id, until that has no more writer ids */
        ProducerLosses losses;
        uint64_t release_at; /* when it is given back, unless it is used again */
        List unused_link;    /* service->unused until then */
        uint16_t *
                writer_buffers; /* Perfetto's protocol: by writer id, as far as any is registered */
        size_t n_writer_buffers;

        uint16_t former_buffers[PRODUCER_FORMER_BUFFERS]; /* the newest, round and round */
        size_t n_former_buffers;

        /* Awake: drained by service_tick() until it was quiet twice. */
        List awake_link;
        unsigned n_quiet;
        bool is_rescanning; /* looks at all pages, and is at this one: */
        uint32_t rescan_page;

        bool is_builtin;        /* the service's own: no shared memory, no peer, in no list */
        uint64_t n_bytes_taken; /* into buffers, ever */
};

/* From now on it may not write to this buffer. */
void producer_forget_buffer(Producer *producer, uint16_t id);

/* There is new memory, with a counter that begins again. */
void producer_begin_losses(Producer *producer);

/* Packets that the producer says it had no room for, as far as that can be: never fewer than before, and never more
 * than PRODUCER_DROPS_PER_SECOND_MAX while it had memory. */
uint64_t producer_n_dropped(Producer *producer);

ProducerSource *source_free(ProducerSource *source);
DEFINE_CLEANUP(ProducerSource *, source_free)

/* Returns 0, PRODUCER_E_LIMIT, PRODUCER_E_FIELD, PRODUCER_E_INVALID or -ENOMEM. */
int source_new(ProducerSource **ret,
               const Producer *producer,
               const char *name,
               const SourceOptions *options);

/* Printable ASCII without spaces at least at its ends: it goes into lists, logs and regular expressions. */
bool name_is_valid(const char *name, size_t max);

SourceInstance *producer_find_instance(const Producer *producer, uint64_t id);
ssize_t producer_find_source(const Producer *producer, const char *name);
bool producer_had_buffer(const Producer *producer, uint32_t id);
