/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Packets that found no room in shared memory
 *
 * They may have been the ones that later packets refer to. Track events start over by themselves behind such a gap;
 * other sources are asked to, when the producer's count of drops is seen to have grown: for the price of one load in a
 * drain.
 */

#include "core/producer-private.h"
#include "core/session-private.h"
#include "smb/smb-reader.h"

#define NS_PER_S             UINT64_C(1000000000)
#define PRODUCER_DROP_NS     (NS_PER_S / PRODUCER_DROPS_PER_SECOND_MAX)
#define PRODUCER_DROPS_FIRST PRODUCER_DROPS_PER_SECOND_MAX /* the service's clock may be late */

void producer_begin_losses(Producer *producer) {
        ProducerLosses *losses = &producer->losses;

        losses->n_said = 0;
        losses->n_possible = PRODUCER_DROPS_FIRST;
        losses->looked_at = producer->service->now;
}

/* The counter lies in memory that the producer writes to. Where it goes back nothing was lost, and what is more than
 * the time allows is forgotten rather than believed later. */
uint64_t producer_n_dropped(Producer *producer) {
        ProducerLosses *losses = &producer->losses;
        const uint64_t now = producer->service->now;
        uint64_t n_said, n_new;

        if (!producer->has_memory || !producer->area.control)
                return losses->n;
        n_said = smb_n_dropped(&producer->area);
        losses->n_possible =
                add_saturated(losses->n_possible, (now - losses->looked_at) / PRODUCER_DROP_NS);
        losses->looked_at = now;
        n_new = n_said > losses->n_said ? MIN(n_said - losses->n_said, losses->n_possible) : 0;
        losses->n_said = n_said;
        losses->n_possible -= n_new;
        losses->n = add_saturated(losses->n, n_new);
        return losses->n;
}

static size_t producer_collect_clears(const Producer *producer, uint64_t *instances) {
        const SourceInstance *instance;
        size_t n = 0;

        list_for_each (instance, &producer->instances, producer_link) {
                if (instance->state != INSTANCE_STARTED || !instance->offered->clears_state)
                        continue;
                if (instances)
                        instances[n] = instance->id;
                n++;
        }
        return n;
}

/* One that loses all the time, or says so, is asked every SESSION_CLEAR_GAP_NS. */
void producer_look_for_losses(Producer *producer, uint64_t now) {
        _cleanup_(freep) uint64_t *instances = NULL;
        uint64_t n_dropped = producer_n_dropped(producer);
        size_t n;

        if (n_dropped == producer->losses.n_seen ||
            now < producer->losses.cleared_at + SESSION_CLEAR_GAP_NS)
                return;
        producer->losses.n_seen = n_dropped;
        n = producer_collect_clears(producer, NULL);
        instances = calloc(n + 1, sizeof(*instances));
        if (n == 0 || !instances)
                return;
        producer->losses.cleared_at = now;
        producer_collect_clears(producer, instances);
        producer->ops->clear_incremental_state(producer->peer, instances, n);
}
