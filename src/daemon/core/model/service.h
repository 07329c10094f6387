/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Service: the root of the core, as its floors know it; core/service.h is for hosts.
 */

#include "core/model/census.h"
#include "core/model/numbers.h"
#include "core/model/trigger-history.h"
#include "shared/bytes.h"

typedef struct SelfTrace SelfTrace;
typedef struct SessionBuffer SessionBuffer;

#define SERVICE_BUFFER_IDS (UINT16_MAX + 1)

/* Fields that programs add to TrackEvent. */
typedef struct ExtensionDescriptor {
        char *file_name;
        Bytes data;
        bool is_gzip;
} ExtensionDescriptor;

struct Service {
        ServiceInfo info;
        ExtensionDescriptor *descriptors;
        size_t n_descriptors, n_descriptor_bytes;
        const ServiceOps *ops;
        void *userdata;
        uint64_t now; /* the latest time that any caller passed */
        uint64_t settled_at;

        Quota quota;
        List recent; /* Recent */
        bool is_locked_down;
        bool is_left; /* what is in shared memory is for another process */
        TriggerHistory trigger_history;
        List sessions, producers;
        List marked; /* sessions that service_settle() will advance */
        List unused; /* producers whose memory will be given back, the next one first */
        List awake;  /* producers that are looked at every PRODUCER_DRAIN_INTERVAL_NS */
        uint64_t next_drain;
        List census; /* CensusRow */
        size_t n_sessions, n_producers, n_buffers;
        Numbers session_numbers, producer_numbers, buffer_numbers;
        uint64_t last_own_session, last_own_producer; /* of the service's own user */
        uint64_t *former_producers; /* ids of an earlier process that are in buffers */
        size_t n_former_producers;
        uint64_t last_flush_id, n_producers_ever,
                n_sessions_ever; /* of all users; shown to nobody */
        uint64_t last_round;

        Activatable *activatables;
        size_t n_activatables;
        bool is_gathering; /* until it has settled: service_gather() */

        SelfTrace *self; /* NULL: nobody has recorded it yet */
        unsigned n_self_writers;

        SessionBuffer **buffers;  /* by buffer id; [0] stays empty */
        uint64_t last_activation; /* call of service_activate_triggers() */
};

/* Time never goes back, whatever a caller says. */
uint64_t service_note_now(Service *service, uint64_t now);

/* Ids of sessions and producers, which their users see. The service's own user counts from 1; the ids of others do not
 * reveal how many there are. */
void service_init_numbers(Service *service);
uint64_t service_new_session_id(Service *service, uid_t uid);
uint64_t service_new_producer_id(Service *service, uid_t uid);
/* Reserves the id of a producer of an earlier process. Returns 0 or -ENOMEM. */
int service_reserve_producer_id(Service *service, uint64_t id);

uint64_t service_count_visible(const Service *service, const Identity *viewer, CensusWhat what);

/* Assigns the next free buffer id. An id is used again only after all others, so that data for a freed buffer does not
 * end up in another session's. */
uint16_t service_claim_buffer_id(Service *service, SessionBuffer *buffer);
void service_release_buffer_id(Service *service, uint16_t id);
/* Gives the buffer the id that it had in an earlier process, unless another one has it. */
void service_reclaim_buffer_id(Service *service, SessionBuffer *buffer, uint16_t id);
SessionBuffer *service_find_buffer(Service *service, uint16_t id);

/* The number of an activatable producer that offers the source; -1 for none. */
ssize_t service_find_activatable(Service *service, const char *source);

/* The producer is gone: buffers stop waiting for the rest of its packets. */
void service_producer_gone(Service *service, uint64_t producer_id);

/* NULL-terminated arrays. The copy is NULL when memory ran out. */
char **strings_copy(const char *const strings[]);
void strings_free(char **strings);
