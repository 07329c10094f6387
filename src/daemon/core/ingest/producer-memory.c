/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Producer memory: made with a producer's first instance, given back some time after its last
 *
 * The memory is charged to the producer's user before the transport is asked to make it, and for as long as it exists.
 * An unused memory is kept for PRODUCER_KEEP_MEMORY_NS, since one session often follows another: its producer then
 * writes on where it is, without a new setup.
 *
 * Each memory numbers its writers from 1, and readers of a trace tell writers apart by the producer's origin and that
 * number. So each memory of an origin gets a range of numbers of its own, and a producer that has used up all ranges
 * gets another origin: MEMORIES_PER_ORIGIN.
 */

#include <errno.h>

#include "core/ingest/producer-memory.h"
#include "core/model/producer.h"
#include "core/model/service-limits.h"
#include "core/model/service.h"
#include "shared/error.h"
#include "smb/smb-reader.h"

typedef struct MemorySize {
        uint64_t bytes;
        uint64_t page_bytes;
} MemorySize;

/* A hint of 0 leaves the value to the next in line. */
static void memory_size_hint(MemorySize *size, uint64_t bytes, uint64_t page_bytes) {
        if (bytes)
                size->bytes = MIN(bytes, (uint64_t)SMB_PAGES_BYTES_MAX);
        if (page_bytes)
                size->page_bytes = MIN(page_bytes, (uint64_t)SMB_PAGE_BYTES_MAX);
}

static MemorySize producer_memory_size(const Producer *producer,
                                       const Perfetto__Protos__TraceConfig *config) {
        MemorySize size = { SMB_PAGES_BYTES_DEFAULT, SMB_PAGE_BYTES_DEFAULT };

        memory_size_hint(&size, producer->options.memory_bytes, producer->options.page_bytes);
        for (size_t i = 0; i < config->n_producers; i++) {
                const Perfetto__Protos__TraceConfig__ProducerConfig *at = config->producers[i];

                if (at->producer_name && streq(at->producer_name, producer->name))
                        memory_size_hint(&size,
                                         (uint64_t)at->shm_size_kb * 1024,
                                         (uint64_t)at->page_size_kb * 1024);
        }
        /* If the sizes do not fit each other, both are ignored. */
        if (!smb_sizes_valid(size.bytes, (uint32_t)size.page_bytes))
                size = (MemorySize){ SMB_PAGES_BYTES_DEFAULT, SMB_PAGE_BYTES_DEFAULT };
        return size;
}

int producer_setup_memory(Producer *producer, const Perfetto__Protos__TraceConfig *config) {
        MemorySize size;
        int r;

        list_unlink(&producer->unused_link);
        if (producer->has_memory)
                return 0;
        size = producer_memory_size(producer, config);
        r = quota_charge(&producer->service->quota,
                         &producer->memory_charge,
                         producer->user,
                         QUOTA_MEMORY_BYTES,
                         producer->options.is_native
                                 ? smb_native_bytes(size.bytes, (uint32_t)size.page_bytes)
                                 : size.bytes);
        if (r)
                return r == QUOTA_E_EXCEEDED ? PRODUCER_MEMORY_E_LIMIT : error_fold(r);

        r = producer->ops->setup_memory(
                producer->peer, size.bytes, (uint32_t)size.page_bytes, &producer->area);
        if (r < 0) {
                charge_deinit(&producer->memory_charge);
                return r;
        }
        producer->has_memory = true;
        producer->is_rescanning = false;
        producer->n_memories++;
        producer_begin_losses(producer);
        if (producer->area.control)
                smb_prepare_sleep(&producer->area);
        return 0;
}

void producer_memory_unused(Producer *producer) {
        Service *service = producer->service;

        if (!producer->has_memory || !producer->area.control ||
            list_is_linked(&producer->unused_link))
                return;
        producer->release_at = service->now + PRODUCER_KEEP_MEMORY_NS;
        list_append(&service->unused, &producer->unused_link);
}

#define MEMORIES_PER_ORIGIN ((SMB_WRITER_MAX + 1) / SMB_NATIVE_WRITERS_MAX)

/* From here on nobody may write there, so data that is left in it belongs to no buffer. */
void producer_release_memory(Producer *producer) {
        list_unlink(&producer->unused_link);
        list_unlink(&producer->awake_link);
        producer->ops->release_memory(producer->peer);
        producer->has_memory = false;
        producer->area = (SmbArea){};
        charge_deinit(&producer->memory_charge);
        if (producer->n_memories % MEMORIES_PER_ORIGIN != 0)
                return;
        service_producer_gone(producer->service, producer->origin_id);
        producer->origin_id = service_new_producer_id(producer->service, producer->identity.uid);
}

/*
 * A flush or a stop drains everything. Otherwise a look takes a limited number of bytes, and the next look continues
 * from there: a full memory takes tens of milliseconds, in which nobody else would be served.
 */
