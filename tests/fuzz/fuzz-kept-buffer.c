/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Files of a kept trace buffer in which anything was changed: a process that adopts them goes on with what is possible
 * of them. Whatever they say, what is read lies in the segments, and all can be read, written, cloned and adopted
 * again.
 */

#include <fcntl.h>

#include "buffer/trace-buffer-private.h"
#include "fuzz.h"
#include "shared/fd.h"

#define SEGMENT_BYTES 1024
#define N_SEGMENTS    4
#define N_PUTS        12
#define STEPS_MAX     200

static void put(TraceBuffer *buffer, uint16_t writer, uint32_t chunk_id, unsigned shape) {
        static const uint8_t payload[128] = { 60, [61] = 40 };
        ChunkOrigin origin = { .producer_id = 1 + shape % 2, .writer_id = writer };
        ChunkData chunk = {
                .chunk_id = chunk_id,
                .n_fragments = (uint16_t)(shape & 4 ? 2 : 1),
                .flags = shape >> 3 & 7,
                .complete = !(shape & 0x40),
                .payload = payload,
                .n_payload = 64 + shape % 60,
        };

        trace_buffer_put(buffer, &origin, &chunk);
}

/* Anything in the head, the slots, the records or the sequences, which share one piece of memory each. */
static void scribble(TraceBuffer *buffer, FuzzInput *input) {
        const BufferIndexFile *file = &buffer->file;
        struct {
                void *memory;
                size_t n_bytes;
        } places[] = {
                { file->head, file->n_head },
                { file->slots, N_SEGMENTS * sizeof(Slot) },
                { file->records, MIN(file->n_records, 20 * sizeof(Record)) },
                { buffer->sequences.pool.pieces[0], 4 * sizeof(Sequence) },
        };
        unsigned place = fuzz_take(input) % ARRAY_SIZE(places);
        size_t offset = fuzz_take_16(input) % places[place].n_bytes;
        const uint8_t *bytes;
        size_t n = fuzz_take_bytes(input, 1 + fuzz_take(input) % 8, &bytes);

        n = MIN(n, places[place].n_bytes - offset);
        memcpy((uint8_t *)places[place].memory + offset, bytes, n);
}

static size_t read_all(TraceBuffer *buffer) {
        TracePacket packet;
        size_t n_packets = 0;
        uint64_t digest = 0;
        int r;

        trace_buffer_begin_read(buffer);
        while ((r = trace_buffer_read(buffer, &packet)) == 0) {
                size_t n = 0;

                for (size_t i = 0; i < packet.n_slices; i++) {
                        const uint8_t *bytes = packet.slices[i].iov_base;

                        for (size_t k = 0; k < packet.slices[i].iov_len; k++)
                                digest = (digest ^ bytes[k]) * UINT64_C(0x100000001b3);
                        n += packet.slices[i].iov_len;
                }
                FUZZ_CHECK(n == packet.n_bytes && n > 0);
                n_packets++;
        }
        FUZZ_CHECK(r == TRACE_BUFFER_E_END);
        return digest != 0 || n_packets == 0 ? n_packets : n_packets + 1;
}

/* 0, or why it is none. */
static int adopt(TraceBuffer **ret, int index_fd, int segments_fd) {
        TraceBufferFound found;
        int fds[] = {
                fcntl(index_fd, F_DUPFD_CLOEXEC, 3),
                fcntl(segments_fd, F_DUPFD_CLOEXEC, 3),
        };
        int r = trace_buffer_adopt(ret, fds[0], fds[1], &found);

        if (r != 0) {
                FUZZ_CHECK(r == TRACE_BUFFER_E_LAYOUT || r == TRACE_BUFFER_E_BROKEN);
                fd_close(fds[0]);
                fd_close(fds[1]);
        }
        return r;
}

static void use(TraceBuffer *buffer, FuzzInput *input) {
        TraceBuffer *clone;

        for (unsigned i = 0; i < N_PUTS; i++)
                put(buffer, (uint16_t)(1 + i % 2), fuzz_take(input), fuzz_take(input));
        FUZZ_CHECK(trace_buffer_clone(&clone, buffer, 0) == 0);
        read_all(clone);
        FUZZ_CHECK(trace_buffer_unread_bytes(clone) == 0);
        trace_buffer_free(clone);
        trace_buffer_producer_gone(buffer, 1);
        trace_buffer_producer_gone(buffer, 2);
        read_all(buffer);
}

/* It goes on as a clone with files of its own. */
static TraceBuffer *replace_by_clone(TraceBuffer *buffer) {
        TraceBuffer *clone;
        int r;

        FUZZ_CHECK(trace_buffer_clone(&clone, buffer, 0) == 0);
        while ((r = trace_buffer_keep(clone, 1)) == TRACE_BUFFER_E_MORE)
                ;
        FUZZ_CHECK(r == 0);
        trace_buffer_free(buffer);
        return clone;
}

/* The files as a process leaves them whose memory is then changed. */
static void make_files(FuzzInput *input, int *ret_index_fd, int *ret_segments_fd) {
        const uint8_t shape = fuzz_take(input);
        BufferIndexFile file;
        TraceBuffer *buffer;
        BufferShape ignored;
        int index_fd, segments_fd;

        FUZZ_CHECK(trace_buffer_new_kept(&buffer,
                                         N_SEGMENTS * SEGMENT_BYTES,
                                         SEGMENT_BYTES,
                                         shape & 1 ? TRACE_BUFFER_DISCARD : TRACE_BUFFER_RING) ==
                   0);
        for (unsigned i = 0; i < N_PUTS; i++)
                put(buffer, (uint16_t)(1 + i % 3), i / 3, fuzz_take(input));
        if (shape & 2)
                buffer = replace_by_clone(buffer);
        FUZZ_CHECK(trace_buffer_files(buffer, &index_fd, &segments_fd));
        *ret_index_fd = fcntl(index_fd, F_DUPFD_CLOEXEC, 3);
        *ret_segments_fd = fcntl(segments_fd, F_DUPFD_CLOEXEC, 3);
        /* Freed by what it knew, and changed in another mapping. */
        trace_buffer_leave(buffer);
        FUZZ_CHECK(buffer_index_find(&file, *ret_index_fd, &ignored) == 0);
        buffer = NULL;
        FUZZ_CHECK(trace_buffer_new_empty(&buffer, &file, &ignored) == 0);
        FUZZ_CHECK(sequence_pool_find(&buffer->sequences.pool) == 0);
        for (unsigned i = 0; i < STEPS_MAX && input->n_left > 2 * N_PUTS + 4; i++)
                scribble(buffer, input);
        buffer->file.fd = -1;
        sequence_pool_deinit(&buffer->sequences.pool);
        buffer_index_deinit(&buffer->file);
        free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
        FuzzInput input = { data, n_bytes };
        TraceBuffer *buffer, *again;
        int index_fd, segments_fd;

        make_files(&input, &index_fd, &segments_fd);
        if (adopt(&buffer, index_fd, segments_fd) == 0) {
                use(buffer, &input);
                trace_buffer_leave(buffer);
                FUZZ_CHECK(adopt(&again, index_fd, segments_fd) == 0);
                use(again, &input);
                trace_buffer_free(again);
        }
        fd_close(index_fd);
        fd_close(segments_fd);
        return 0;
}
