/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Source instance: one session's use of one data source of one producer
 *
 * Owned by its session; linked from its producer for as long as both go on. Its state has one writer,
 * instance_enter(). An instance whose producer is gone, or that has stopped, stays with the session for
 * people to see what became of it, without the producer. requests/source-instance.h drives it.
 */

#include "core/model/producer.h"
#include "core/model/session-info.h"

typedef struct SessionBuffer SessionBuffer;
typedef struct SessionSource SessionSource;

#define INSTANCE_WHY_BYTES 512 /* the rest is cut off */

typedef struct SourceInstance SourceInstance;

struct SourceInstance {
        List session_link;
        List producer_link;
        List changed_link; /* session->changed_instances: nobody was told yet */
        uint64_t id;
        Session *session;
        SessionSource *source;
        SessionBuffer *buffer;
        InstanceState state;
        Producer *producer;      /* NULL: it is gone, or the instance is over */
        ProducerSource *offered; /* what of the producer; NULL with it */
        char *producer_name;
        Identity identity;
        uid_t user;              /* of the producer */
        char *why;               /* why it failed, or NULL */
        unsigned n_notes;        /* in the session's */
        bool is_restored;        /* of the process before: its program has it already */
        bool is_cut_short;       /* its producer left while the session recorded */
        bool is_suspended;       /* its producer is, as far as we know */
        bool missed_end;         /* did not answer the session's last flush, or its stop */
        uint64_t missed_flush;   /* the number of the last one that its producer did not answer */
        uint64_t owed_flush;     /* the last that it did not answer in time, nor since; 0: none */
        uint64_t dropped_before; /* the producer's count of lost packets when the session came */
};

/* Whether its producer can answer; said when that was looked at, and taken back with its next answer. */
void instance_set_suspended(SourceInstance *instance, bool is_suspended);

/* Acknowledgements. */
void instance_started(SourceInstance *instance);

/* Whether its session outlives this process. */
bool instance_can_be_left(const SourceInstance *instance);

/* Whether the producer may write for it now. */
static inline bool instance_is_live(const SourceInstance *instance) {
        return instance->producer && instance->state != INSTANCE_STOPPED;
}

void instance_count(const SourceInstance *instance, int by);
void instance_enter(SourceInstance *instance, InstanceState state);
