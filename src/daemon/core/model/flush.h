/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Flush: one request to empty the producers of a session, with exactly one reply
 *
 * Made when somebody asks (a consumer, a period, a stop), linked in its session, and freed with its reply: when every
 * producer has answered or is gone, at its deadline, or when the session goes away. This header knows which producers
 * are awaited; requests/flush.h asks and replies.
 */

#include "core/model/session-info.h"
#include "shared/macro.h"

typedef struct SessionBuffer SessionBuffer;

/* Whose data a flush is for. A clone flushes its buffers in two groups, so that those which are moved into it, however
 * slow their sources, do not make the others old. */
typedef enum FlushGroup {
        FLUSH_GROUP_ALL,
        FLUSH_GROUP_COPIED, /* of the buffers without transfer_on_clone */
        FLUSH_GROUP_MOVED,  /* of those with it */
} FlushGroup;

typedef struct FlushSlot {
        Producer *producer; /* NULL: it has answered, or is gone */
        uint64_t request;   /* the number that the producer knows it by */
        bool is_given_up;
} FlushSlot;

typedef struct Flush {
        List link;
        Session *session;
        FlushGroup group;
        uint64_t id;
        uint64_t deadline;
        FlushSlot *slots; /* who was asked */
        size_t n_slots;
        size_t n_pending;      /* of them, those that are awaited */
        size_t n_silent;       /* of them, those that were given up on */
        SessionFlushDone done; /* NULL: the asker is gone */
        void *userdata;
} Flush;

bool flush_group_has(FlushGroup group, const SessionBuffer *buffer);

/* Unlinks and frees without a reply. */
Flush *flush_free(Flush *flush);
DEFINE_CLEANUP(Flush *, flush_free)

/* The producer has answered, or none of its instances is left. */
void flush_producer_done(Flush *flush, const Producer *producer);

/* Whether the producer knows this flush by that number. */
bool flush_is_request(const Flush *flush, const Producer *producer, uint64_t request);

/* Whether its answer is awaited. */
bool flush_awaits(const Flush *flush, const Producer *producer);

/* The producer cannot answer: the flush stops waiting for it, but an answer may still come in time. */
void flush_give_up_on(Flush *flush, const Producer *producer);

/* The same for all producers that still owe an answer to an older flush: nobody waits for them twice. */
void flush_give_up_on_debtors(Flush *flush);
