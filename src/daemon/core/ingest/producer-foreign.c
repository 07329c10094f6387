/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Messages of producers that use Perfetto's protocol. producer-take.c decides where their chunks go, by the same rules
 * as for all others.
 */

#include <errno.h>

#include "core/ingest/producer-foreign.h"
#include "core/ingest/producer-take.h"
#include "core/model/producer.h"
#include "core/model/service.h"
#include "shared/error.h"

#define WRITERS_AT_FIRST 64

/* Ids are assigned from 1 on, so the table is as large as the highest id needs. */
static bool producer_reserve_writers(Producer *producer, uint32_t writer_id) {
        size_t n = producer->n_writer_buffers ?: WRITERS_AT_FIRST;
        uint16_t *grown;

        if (writer_id < producer->n_writer_buffers)
                return true;
        while (n <= writer_id)
                n *= 2;
        grown = reallocarray(producer->writer_buffers, n, sizeof(*grown));
        if (!grown)
                return false;
        memset(&grown[producer->n_writer_buffers],
               0,
               (n - producer->n_writer_buffers) * sizeof(*grown));
        producer->writer_buffers = grown;
        producer->n_writer_buffers = n;
        return true;
}

/* A writer to an impossible buffer is forgotten, as its chunks have nowhere to go. If there is no memory, the message
 * is ignored: committed chunks name their buffer, too. */
void producer_register_writer(Producer *producer, uint32_t writer_id, uint32_t target_buffer) {
        if (producer->options.is_native || writer_id == 0 || writer_id > SMB_WRITER_MAX)
                return;
        if (target_buffer > UINT16_MAX)
                target_buffer = 0;
        if (target_buffer ? producer_reserve_writers(producer, writer_id)
                          : writer_id < producer->n_writer_buffers)
                producer->writer_buffers[writer_id] = (uint16_t)target_buffer;
}

/* No number in a message has a special meaning. */
static uint32_t declared_buffer(uint32_t target_buffer) {
        return target_buffer <= UINT16_MAX ? target_buffer : 0;
}

void producer_commit(Producer *producer, uint32_t page, uint32_t chunk, uint32_t target_buffer) {
        if (producer->has_memory)
                producer_take_chunk(producer, page, chunk, declared_buffer(target_buffer));
}

void producer_commit_data(Producer *producer,
                          const void *data,
                          size_t n,
                          bool is_complete,
                          uint32_t target_buffer) {
        SmbChunk chunk;

        if (smb_read_chunk(data, n, is_complete, &chunk) == 0)
                producer_put_message(producer, &chunk, declared_buffer(target_buffer));
}

int producer_adopt_memory(Producer *producer, void *memory, size_t n_bytes, uint32_t page_bytes) {
        int r;

        if (producer->options.is_native || producer->has_memory ||
            !smb_sizes_valid(n_bytes, page_bytes))
                return PRODUCER_E_INVALID;
        r = quota_charge(&producer->service->quota,
                         &producer->memory_charge,
                         producer->user,
                         QUOTA_MEMORY_BYTES,
                         n_bytes);
        if (r)
                return r == QUOTA_E_EXCEEDED ? PRODUCER_E_LIMIT : error_fold(r);
        smb_area_create_plain(&producer->area, memory, n_bytes, page_bytes);
        producer->has_memory = true;
        producer->n_memories++;
        return 0;
}
