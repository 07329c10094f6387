/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Writing protobuf into bytes that grow. */

#include <errno.h>

#include "core/model/bytes-writer.h"

/* The bytes may have moved: all three pointers follow. */
static void bytes_writer_sync(WireWriter *writer, Bytes *bytes, size_t n_written) {
        writer->start = bytes->data + bytes->n;
        writer->at = writer->start + n_written;
        writer->end = bytes->data + bytes->n_allocated;
}

static int bytes_writer_grow(WireWriter *writer, size_t n_more) {
        Bytes *bytes = writer->userdata;
        size_t n_written = wire_writer_size(writer);
        int r;

        r = bytes_reserve(bytes, n_written + n_more);
        if (r < 0)
                return r;
        bytes_writer_sync(writer, bytes, n_written);
        return 0;
}

/* Empty bytes get memory with the first reservation. */
void bytes_writer_init(WireWriter *writer, Bytes *bytes) {
        *writer = (WireWriter){ .grow = bytes_writer_grow, .userdata = bytes };
        if (bytes->data)
                bytes_writer_sync(writer, bytes, 0);
}

int bytes_writer_finish(WireWriter *writer, Bytes *bytes) {
        if (wire_writer_failed(writer))
                return -ENOMEM;
        bytes->n += wire_writer_size(writer);
        return 0;
}

int bytes_writer_finish_within(WireWriter *writer, Bytes *bytes, size_t n_bytes_max) {
        if (!wire_writer_failed(writer) && wire_writer_size(writer) > n_bytes_max)
                return -E2BIG;
        return bytes_writer_finish(writer, bytes);
}
