/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the parts of the core know of a producer; not for transports.
 */

#include "config/config.h"
#include "core/producer.h"
#include "core/quota.h"
#include "core/service-private.h"
#include "packet/packet-rules.h"
#include "smb/smb-reader.h"

#define PRODUCER_FORMER_BUFFERS 16 /* that it wrote to, and are remembered */

typedef struct SourceInstance SourceInstance;

typedef struct ProducerSource {
        char *name;
        Bytes descriptor;  /* empty: none */
        char **categories; /* NULL-terminated, or NULL */
        char *unavailable; /* why it cannot record, or NULL */
        bool no_flush;
        bool clears_state;            /* wants ClearIncrementalState */
        bool tells_start, tells_stop; /* answers to these, so that it is to be waited for */
        PacketRules rules;            /* what its packets may be about */
        Charge charge;                /* descriptor and category bytes */
} ProducerSource;

/* What the producer's counter says of packets that it lost, and what of that is taken for true. */
typedef struct ProducerLosses {
        uint64_t n;          /* taken for true, in all of its memories */
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

        ProducerSource **sources; /* exactly so many: most have one, and there are many producers */
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

/* The service's own producer, with one source. `peer` is its SelfTrace. 0, PRODUCER_E_LIMIT, -ENOMEM. */
int producer_new_builtin(Producer **ret,
                         Service *service,
                         const char *source,
                         const ProducerOps *ops,
                         void *peer);

enum {
        _PRODUCER_MEMORY_E_SUCCESS,
        PRODUCER_MEMORY_E_LIMIT, /* of the user's shared memory */
};

/* Makes the shared memory, unless it is there. The sizes come from the config's entry for this producer's name, else
 * from its hints, else from the defaults. */
int producer_setup_memory(Producer *producer, const Perfetto__Protos__TraceConfig *config);

/* The last instance of a native producer has gone: the memory is given back, but not at once, as the next session may
 * be near. */
void producer_memory_unused(Producer *producer);
void producer_release_memory(Producer *producer);

/* Takes what is committed. Returns how many entries there were. */
size_t producer_drain(Producer *producer);

/* Takes one complete chunk, for the buffer that was declared with it (0: for none), and frees it. */
#define PRODUCER_BUFFER_OF_WRITER UINT32_MAX /* only the writer says which */
void producer_take_chunk(Producer *producer, uint32_t page, uint32_t chunk, uint32_t declared);

/* Likewise one that lies elsewhere. */
void producer_put_message(Producer *producer, SmbChunk *chunk, uint32_t declared);

/* Takes what was never committed, too: of writers to this session's buffers, or to any if NULL. */
void producer_scan(Producer *producer, const Session *session);

/* It may not write to this buffer any more. */
void producer_forget_buffer(Producer *producer, uint16_t id);

/* One look at a producer that is awake, for about so many bytes. Returns how many there were. */
uint64_t producer_look(Producer *producer, uint64_t max_bytes);

/* Whether it lost packets: then what comes behind them shall not depend on them. */
void producer_look_for_losses(Producer *producer, uint64_t now);

/* producer-loss.c: there is new memory, with a counter that begins again. */
void producer_begin_losses(Producer *producer);

/* Packets that the producer says it had no room for, as far as that can be: never fewer than before, and never more
 * than PRODUCER_DROPS_PER_SECOND_MAX while it had memory. */
uint64_t producer_n_dropped(Producer *producer);

ProducerSource *source_free(ProducerSource *source);
DEFINE_CLEANUP(ProducerSource *, source_free)
/* 0, PRODUCER_E_LIMIT, PRODUCER_E_FIELD, PRODUCER_E_INVALID or -ENOMEM. */
int source_new(ProducerSource **ret,
               const Producer *producer,
               const char *name,
               const SourceOptions *options);

/* Printable ASCII without spaces at least at its ends: it goes into lists, logs and regular expressions. */
bool name_is_valid(const char *name, size_t max);

SourceInstance *producer_find_instance(const Producer *producer, uint64_t id);
ssize_t producer_find_source(const Producer *producer, const char *name);
bool producer_had_buffer(const Producer *producer, uint32_t id);

/* Takes the source over on success only. */
int producer_append_source(Producer *producer, ProducerSource *source);
void producer_take_all(Producer *producer);
void producer_end_instances(Producer *producer, const ProducerSource *source);
void producer_stop_instances(Producer *producer, const ProducerSource *source);
/* Takes what is committed, until so many bytes were taken ever. */
size_t producer_drain_until(Producer *producer, uint64_t until);
