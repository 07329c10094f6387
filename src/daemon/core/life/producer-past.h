/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Producer past: what a native producer and its memory are, as bytes for the process that comes after this one
 *
 * Its name and identity, the numbers of its chunks and its instances, the shape of its memory, and how many packets it
 * had lost. Its program may change the memory at any time, but never sees these bytes.
 */

#include "core/model/session-info.h"
#include "shared/bytes.h"

#define PRODUCER_PAST_BYTES_MAX (1u << 20)

/* An instance that its program has been told of. */
typedef struct InstancePast {
        uint64_t id;
        uint64_t session;
        uint64_t source; /* index in the session's config */
        uint64_t buffer; /* id */
        uint64_t state;
        uint64_t dropped_before;
} InstancePast;

typedef struct ProducerPast {
        uint64_t id, origin_id;
        Identity identity;
        char name[256]; /* longer ones are not valid */
        uint64_t pages_bytes, page_bytes;
        uint64_t n_memories;
        uint64_t last_instance_id;
        uint64_t n_lost, n_said, looked_at; /* see ProducerLosses */
        InstancePast *instances;
        size_t n_instances;
} ProducerPast;

/* Appends it. Returns 0, -E2BIG or -ENOMEM. */
int producer_put_past(const Producer *producer, Bytes *out);

/* To be deinitialised in any case. Returns 0, -EBADMSG or -ENOMEM. */
int producer_past_read(ProducerPast *ret, const void *data, size_t n_bytes);
void producer_past_deinit(ProducerPast *past);

/* A number that changes whenever the instances or the memory in producer_put_past() do. */
uint64_t producer_past_revision(const Producer *producer);
