/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * What the parts of the core know of the service; not for transports.
 */

#include "core/quota.h"
#include "core/service.h"
#include "core/trigger-history.h"
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
        uint64_t now; /* the latest that anybody told */
        uint64_t settled_at;

        Quota quota;
        List recent; /* Recent */
        bool is_locked_down;
        TriggerHistory trigger_history;
        List sessions, producers;
        List unused; /* producers whose memory will be given back, the next one first */
        List awake;  /* producers that are looked at every PRODUCER_DRAIN_INTERVAL_NS */
        uint64_t next_drain;
        size_t n_sessions, n_producers, n_sources, n_buffers;
        uint64_t n_producers_seen, n_sources_seen;
        uint64_t last_session_id, last_producer_id, last_instance_id, last_flush_id;
        uint64_t last_round;

        Activatable *activatables;
        size_t n_activatables;
        bool is_gathering; /* until it has settled: service_gather() */

        SelfTrace *self; /* NULL: nobody has recorded it yet */
        unsigned n_self_writers;

        SessionBuffer **buffers; /* by buffer id; [0] stays empty */
        uint16_t last_buffer_id;
        uint64_t last_activation; /* call of service_activate_triggers() */
};

/* Time never goes back, whatever a caller says. */
uint64_t service_note_now(Service *service, uint64_t now);

/* Takes the next free buffer id for the buffer. Ids are used round robin, so that what a producer still writes to a
 * freed one does not land in another session's. */
uint16_t service_claim_buffer_id(Service *service, SessionBuffer *buffer);
void service_release_buffer_id(Service *service, uint16_t id);
SessionBuffer *service_find_buffer(Service *service, uint16_t id);

/* The number of an activatable producer that offers the source; -1 for none. */
ssize_t service_find_activatable(Service *service, const char *source);

/* service-activate.c: a producer has come, or has one more source. */
void service_activated(Service *service);
void service_tick_activations(Service *service, uint64_t now);
uint64_t service_activations_deadline(const Service *service);
/* Of service_activation_failed(), for those that service_activate_all() has asked for. */
void service_activation_ends(Service *service, size_t index, const char *why, uint64_t now);

/* Nothing more will come from it: buffers stop waiting for the rest of its packets. */
void service_producer_gone(Service *service, uint64_t producer_id);

/* NULL-terminated arrays. The copy is NULL when memory ran out. */
char **strings_copy(const char *const strings[]);
void strings_free(char **strings);
