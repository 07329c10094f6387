/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The descriptor is shared with its user, so O_NONBLOCK is not ours to set. A pipe is polled first, together with the
 * eventfd that abandons the thread, and then gets at most PIPE_BUF bytes at a time, for which it has room without
 * blocking.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/fd.h"
#include "shared/log.h"
#include "sink-descriptor.h"
#include "sink-file.h"
#include "wire/wire-reader.h"

#define TRACE_PACKET     1 /* field of perfetto.protos.Trace */
#define SINK_COPY_BYTES  (256u << 10)
#define MARKER_BYTES     16
#define MARKER_FRAME_MAX 64 /* a frame with only a marker and its writer */

int sink_file_init(SinkFile *file, const OutputOptions *options, bool is_regular) {
        *file = (SinkFile){
                .fd = -1,
                .abandon = -1,
                .is_regular = is_regular,
                .syncs = options->syncs && is_regular,
                .max_bytes = options->max_bytes ?: UINT64_MAX,
        };
        if (options->compression.codec == CODEC_NONE)
                return 0;
        return compressor_new(&file->compressor, &options->compression);
}

int sink_file_close(SinkFile *file) {
        const int fd = file->fd;

        file->fd = -1;
        return fd >= 0 && close(fd) < 0 && errno != EINTR ? -errno : 0;
}

void sink_file_deinit(SinkFile *file) {
        fd_close(file->fd);
        fd_close(file->abandon);
        compressor_free(file->compressor);
        bytes_deinit(&file->packed);
}

/* Waits until a pipe has room. */
static int sink_file_wait(SinkFile *file) {
        struct pollfd fds[] = {
                { .fd = file->fd, .events = POLLOUT },
                { .fd = file->abandon, .events = POLLIN },
        };

        while (poll(fds, ARRAY_SIZE(fds), -1) < 0)
                if (errno != EINTR)
                        return -errno;
        return fds[1].revents ? -ECANCELED : 0;
}

/* A pipe takes a piece at once and whole, or nothing of it. */
static ssize_t
sink_file_write_piece(SinkFile *file, const uint8_t *data, size_t n, uint64_t n_before) {
        ssize_t n_written;

        if (file->is_regular)
                return write(file->fd, data, n);
        n = MIN(n, (size_t)PIPE_BUF);
        if (!file->outbox)
                return write(file->fd, data, n);
        n_before += file->n_skipped;
        outbox_announce(file->outbox, n_before + n);
        n_written = write(file->fd, data, n);
        outbox_confirm(file->outbox, n_before + (n_written > 0 ? (uint64_t)n_written : 0));
        if (n_written <= 0)
                outbox_announce(file->outbox, n_before);
        return n_written;
}

/* *ret_written has the number of bytes written, also on failure. */
static int
sink_file_write_bytes(SinkFile *file, const uint8_t *data, size_t n, size_t *ret_written) {
        *ret_written = 0;
        while (n > 0) {
                ssize_t n_written;
                int r;

                r = file->is_regular ? 0 : sink_file_wait(file);
                if (r < 0)
                        return r;
                n_written = sink_file_write_piece(file, data, n, *ret_written);
                if (n_written < 0 && (errno == EINTR || errno == EAGAIN))
                        continue;
                if (n_written < 0)
                        return -errno;
                data += n_written;
                n -= (size_t)n_written;
                *ret_written += (size_t)n_written;
                file->n_moved += (uint64_t)n_written;
        }
        return 0;
}

/* How many of the first n bytes are complete packets, in trace file framing. */
static size_t whole_packets(const uint8_t *data, size_t n) {
        const uint8_t *end = data;
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, data, n);
        while (wire_read(&reader, &field) > 0 && field.number == TRACE_PACKET &&
               field.type == WIRE_BYTES)
                end = field.raw + field.n_raw;
        return (size_t)(end - data);
}

/* Removes a packet that could only be written in part. */
static void sink_file_cut_back(SinkFile *file, off_t end) {
        struct stat st;

        if (!file->is_regular || end < 0 || fstat(file->fd, &st) < 0 || st.st_size <= end)
                return;
        if (ftruncate(file->fd, end) < 0)
                log_debug("cannot cut the output back: %s", strerror(errno));
}

/* Where the next write begins; with O_APPEND that is the end of the file. */
static off_t sink_file_offset(SinkFile *file) {
        const int flags = fcntl(file->fd, F_GETFL);

        return lseek(file->fd, 0, flags >= 0 && (flags & O_APPEND) ? SEEK_END : SEEK_CUR);
}

/* If a batch cannot be written completely, its complete packets stay. */
static int sink_file_write(SinkFile *file, const uint8_t *data, size_t n) {
        const off_t start = file->is_regular ? sink_file_offset(file) : -1;
        size_t n_written;
        int r;

        if (file->n_written == 0) {
                file->began_at = start;
                if (file->outbox)
                        outbox_begin(file->outbox, (uint64_t)start);
        }
        file->n_skipped = MIN(file->n_skipped, (uint64_t)n);
        r = sink_file_write_bytes(file, data + file->n_skipped, n - file->n_skipped, &n_written);
        n_written += file->n_skipped;
        file->n_skipped = 0;
        if (r < 0) {
                n_written = whole_packets(data, n_written);
                if (start >= 0)
                        sink_file_cut_back(file, start + (off_t)n_written);
        }
        file->n_written += n_written;
        file->is_dirty |= n_written > 0;
        return r;
}

/* The size of the marker's packet at the front; 0: the batch begins without one. Readers look for the next marker of
 * a damaged file in plain bytes, so markers are not compressed. */
static size_t marker_size(const uint8_t *data, size_t n) {
        static const uint8_t marker[MARKER_BYTES] = {
                0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba,
                0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79,
        };
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, data, n);
        if (wire_read(&reader, &field) <= 0 || field.number != TRACE_PACKET ||
            field.type != WIRE_BYTES || field.n_raw > MARKER_FRAME_MAX ||
            field.n_raw < MARKER_BYTES)
                return 0;
        return memcmp(field.raw + field.n_raw - MARKER_BYTES, marker, MARKER_BYTES) ? 0
                                                                                    : field.n_raw;
}

static int sink_file_pack(SinkFile *file, const uint8_t *data, size_t n) {
        const size_t n_marker = marker_size(data, n);
        int r;

        bytes_clear(&file->packed);
        r = bytes_append(&file->packed, data, n_marker);
        if (r < 0 || n == n_marker)
                return r;
        return compressor_put(file->compressor, data + n_marker, n - n_marker, &file->packed);
}

/* If the compressed batch is too large, halves of it are tried: little room remains, so this ends soon. */
static int sink_file_put_packed(SinkFile *file, const uint8_t *data, size_t n, uint64_t room) {
        int r;

        for (; n > 0; n = whole_packets(data, n / 2)) {
                r = sink_file_pack(file, data, n);
                if (r < 0)
                        return r;
                if (file->packed.n <= room)
                        return sink_file_write(file, file->packed.data, file->packed.n);
                file->is_full = true;
        }
        return 0;
}

static int sink_file_put_plain(SinkFile *file, const uint8_t *data, size_t n, uint64_t room) {
        if (n > room) {
                file->is_full = true;
                n = whole_packets(data, (size_t)room);
        }
        return n > 0 ? sink_file_write(file, data, n) : 0;
}

static uint64_t sink_file_room(const SinkFile *file, bool is_end) {
        uint64_t limit = file->max_bytes;

        if (!is_end && limit < UINT64_MAX)
                limit -= MIN((uint64_t)SINK_END_BYTES, limit / SINK_END_SHARE);
        return limit > file->n_written ? limit - file->n_written : 0;
}

/* Once. */
static int sink_file_check(SinkFile *file) {
        int r;

        if (!file->is_regular || file->is_checked)
                return 0;
        r = sink_check_file_system(file->fd);
        file->is_checked = r == 0;
        return r;
}

int sink_file_resume(SinkFile *file) {
        off_t end;
        int r;

        file->n_written = outbox_written(file->outbox, &file->is_full);
        file->began_at = (off_t)outbox_began_at(file->outbox);
        if (!file->is_regular)
                return outbox_moved(file->outbox, &file->n_skipped) ? 0 : -EINTR;
        r = sink_file_check(file);
        if (r < 0 || file->n_written == 0)
                return r;
        end = file->began_at + (off_t)file->n_written;
        sink_file_cut_back(file, end);
        return lseek(file->fd, end, SEEK_SET) < 0 ? -errno : 0;
}

int sink_file_put(SinkFile *file, const Bytes *batch, bool is_end) {
        const uint64_t room = sink_file_room(file, is_end);
        int r;

        if (file->is_full && !is_end)
                return 0;
        r = sink_file_check(file);
        if (r < 0)
                return r;
        return file->compressor ? sink_file_put_packed(file, batch->data, batch->n, room)
                                : sink_file_put_plain(file, batch->data, batch->n, room);
}

int sink_file_copy(SinkFile *file, int from, off_t *offset, uint64_t *n) {
        _cleanup_(bytes_deinit) Bytes piece = {};
        ssize_t n_read;
        int r;

        r = sink_file_check(file);
        if (r == 0)
                r = bytes_reserve(&piece, SINK_COPY_BYTES);
        if (r < 0)
                return r;
        do
                n_read = pread(from, piece.data, MIN(*n, (uint64_t)SINK_COPY_BYTES), *offset);
        while (n_read < 0 && errno == EINTR);
        if (n_read < 0)
                return -errno;
        *offset += n_read;
        *n = n_read > 0 ? *n - (uint64_t)n_read : 0; /* its user may have truncated it */
        return n_read > 0 ? sink_file_write(file, piece.data, (size_t)n_read) : 0;
}

int sink_file_sync(SinkFile *file) {
        if (!file->syncs || !file->is_dirty)
                return 0;
        if (fdatasync(file->fd) < 0 && errno != EINVAL && errno != ENOSYS)
                return -errno; /* otherwise: the file system does not support it */
        file->is_dirty = false;
        return 0;
}
