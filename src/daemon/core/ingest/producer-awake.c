/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Producers that are awake. A producer is asleep (its next commit rings the doorbell) or awake (looked at every
 * PRODUCER_DRAIN_INTERVAL_NS, and a commit is only a store). It falls asleep after QUIET_LOOKS looks that found
 * nothing.
 */

#include "core/ingest/producer-awake.h"
#include "core/ingest/producer-loss.h"
#include "core/ingest/producer-take.h"
#include "core/model/producer.h"
#include "core/model/service-limits.h"
#include "core/model/service.h"
#include "smb/smb-reader.h"

#define QUIET_LOOKS 2

static void producer_awaken(Producer *producer, uint64_t now) {
        Service *service = producer->service;

        if (list_is_linked(&producer->awake_link))
                return;
        smb_wake(&producer->area);
        if (list_is_empty(&service->awake))
                service->next_drain = now + PRODUCER_DRAIN_INTERVAL_NS;
        list_append(&service->awake, &producer->awake_link);
}

void producer_doorbell(Producer *producer, uint64_t now) {
        uint64_t until;

        now = service_note_now(producer->service, now);
        if (!producer->has_memory || !producer->area.control)
                return;
        producer_awaken(producer, now);
        producer->n_quiet = 0;
        until = producer->n_bytes_taken + PRODUCER_RING_BYTES;
        producer_drain_until(producer, until);
        if (producer->n_bytes_taken >= until)
                producer->service->next_drain = now;
        producer_look_for_losses(producer, now);
}

uint64_t producer_look(Producer *producer, uint64_t max_bytes) {
        const uint64_t before = producer->n_bytes_taken;

        if (producer_drain_until(producer, before + max_bytes) > 0) {
                producer->n_quiet = 0;
                producer_look_for_losses(producer, producer->service->now);
                return producer->n_bytes_taken - before;
        }
        if (++producer->n_quiet < QUIET_LOOKS)
                return 0;

        /* A commit just before `sleeping` is seen does not ring the doorbell. */
        if (smb_prepare_sleep(&producer->area)) {
                list_unlink(&producer->awake_link);
                return 0;
        }
        smb_wake(&producer->area);
        producer->n_quiet = 0;
        producer_drain_until(producer, before + max_bytes);
        return producer->n_bytes_taken - before;
}
