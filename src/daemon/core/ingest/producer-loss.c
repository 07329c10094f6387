/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Packets that found no room in shared memory
 *
 * Later packets may refer to the lost ones. Track events start over on their own after such a gap; other sources are
 * asked to, once the producer's count of drops is seen to have grown. That costs one load in a drain.
 */

#include "core/ingest/producer-loss.h"
#include "core/model/service-limits.h"
#include "core/model/source-instance.h"
#include "smb/smb-reader.h"

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

void producer_ask_clears(Producer *producer, uint64_t now) {
        const size_t n = producer_collect_clears(producer, NULL);
        _cleanup_(freep) uint64_t *instances = calloc(n + 1, sizeof(*instances));

        if (n == 0 || !instances)
                return;
        producer->losses.cleared_at = now;
        producer_collect_clears(producer, instances);
        producer->ops->clear_incremental_state(producer->peer, instances, n);
}

/* A producer that loses packets all the time, or claims to, is asked every SESSION_CLEAR_GAP_NS. */
void producer_look_for_losses(Producer *producer, uint64_t now) {
        uint64_t n_dropped = producer_n_dropped(producer);

        if (n_dropped == producer->losses.n_seen ||
            now < producer->losses.cleared_at + SESSION_CLEAR_GAP_NS)
                return;
        producer->losses.n_seen = n_dropped;
        producer_ask_clears(producer, now);
}
