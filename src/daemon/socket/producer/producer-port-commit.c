/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * CommitData: all chunks in the order in which they stand, then all patches, then the flush that this answers. One of
 * its parts that cannot be decoded is skipped, as the chunks behind it would otherwise be stuck in shared memory.
 */

#include "producer-port-private.h"
#include "wire/wire-reader.h"

/* Fields of perfetto.protos.CommitDataRequest and of what it is made of. */
enum {
        COMMIT_MOVE = 1,
        COMMIT_PATCH = 2,
        COMMIT_FLUSH_ID = 3,

        MOVE_PAGE = 1,
        MOVE_CHUNK = 2,
        MOVE_BUFFER = 3,
        MOVE_DATA = 4,
        MOVE_INCOMPLETE = 5,
        _MOVE_FIELDS,

        PATCH_BUFFER = 1,
        PATCH_WRITER = 2,
        PATCH_CHUNK_ID = 3,
        PATCH_PATCHES = 4,
        PATCH_HAS_MORE = 5,
        _PATCH_FIELDS,

        PATCHES_OFFSET = 1,
        PATCHES_DATA = 2,
};

#define PATCH_BYTES 4

static bool find_bytes(const WireField *message, uint32_t number, WireField *ret) {
        WireReader reader;
        WireField field;
        bool is_found = false;

        wire_reader_init_field(&reader, message);
        while (wire_read(&reader, &field) > 0) {
                if (field.number != number || field.type != WIRE_BYTES)
                        continue;
                *ret = field;
                is_found = true;
        }
        return is_found;
}

static void move_chunk(Producer *producer, const WireField *move) {
        uint64_t numbers[_MOVE_FIELDS] = {};
        WireField chunk;

        if (!producer_read_numbers(move->data, move->n_bytes, numbers, ARRAY_SIZE(numbers)))
                return;
        if (find_bytes(move, MOVE_DATA, &chunk))
                producer_commit_data(producer,
                                     chunk.data,
                                     chunk.n_bytes,
                                     !numbers[MOVE_INCOMPLETE],
                                     (uint32_t)numbers[MOVE_BUFFER]);
        else
                producer_commit(producer,
                                (uint32_t)numbers[MOVE_PAGE],
                                (uint32_t)numbers[MOVE_CHUNK],
                                (uint32_t)numbers[MOVE_BUFFER]);
}

static bool is_patch(const WireField *patch, WireField *ret_data) {
        return find_bytes(patch, PATCHES_DATA, ret_data) && ret_data->n_bytes == PATCH_BYTES;
}

/* How many patches of the chunk are valid: it is complete with the last one. */
static size_t count_patches(const WireField *chunk) {
        WireReader reader;
        WireField field, data;
        size_t n = 0;

        wire_reader_init_field(&reader, chunk);
        while (wire_read(&reader, &field) > 0)
                n += field.number == PATCH_PATCHES && field.type == WIRE_BYTES &&
                     is_patch(&field, &data);
        return n;
}

static void patch_chunk(Producer *producer, const WireField *chunk) {
        uint64_t numbers[_PATCH_FIELDS] = {};
        size_t n_left = count_patches(chunk);
        WireField field, data;
        WireReader reader;

        if (!producer_read_numbers(chunk->data, chunk->n_bytes, numbers, ARRAY_SIZE(numbers)) ||
            numbers[PATCH_WRITER] > SMB_WRITER_MAX)
                return;
        wire_reader_init_field(&reader, chunk);
        while (n_left > 0 && wire_read(&reader, &field) > 0) {
                uint64_t offset[PATCHES_OFFSET + 1] = {};

                if (field.number != PATCH_PATCHES || field.type != WIRE_BYTES ||
                    !is_patch(&field, &data))
                        continue;
                producer_read_numbers(field.data, field.n_bytes, offset, ARRAY_SIZE(offset));
                n_left--;
                producer_patch(producer,
                               (uint32_t)numbers[PATCH_BUFFER],
                               (uint16_t)numbers[PATCH_WRITER],
                               (uint32_t)numbers[PATCH_CHUNK_ID],
                               (uint32_t)offset[PATCHES_OFFSET],
                               data.data,
                               n_left > 0 || numbers[PATCH_HAS_MORE]);
        }
}

static void for_each_part(Producer *producer,
                          const void *data,
                          size_t n,
                          uint32_t number,
                          void (*visit)(Producer *, const WireField *)) {
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, data, n);
        while (wire_read(&reader, &field) > 0)
                if (field.number == number && field.type == WIRE_BYTES)
                        visit(producer, &field);
}

int producer_on_commit(void *userdata, const PortRequest *request, const void *data, size_t n) {
        uint64_t numbers[COMMIT_FLUSH_ID + 1] = {};
        const ProducerPort *port = userdata;
        int r;

        r = producer_read_call(port, data, n, numbers, ARRAY_SIZE(numbers));
        if (r)
                return r;
        for_each_part(port->producer, data, n, COMMIT_MOVE, move_chunk);
        for_each_part(port->producer, data, n, COMMIT_PATCH, patch_chunk);
        if (numbers[COMMIT_FLUSH_ID])
                producer_flushed(port->producer,
                                 numbers[COMMIT_FLUSH_ID],
                                 port_connection_now(port->connection));
        producer_reply_done(port, request);
        return 0;
}
