/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * ReadBuffers: what the session holds now, as packets in slices, of which each reply has as many as a frame holds.
 * One batch is read in a turn of the main loop, and the next when the peer has read it: so a trace is never all in
 * the queue, and others have their turns.
 *
 * The core gives packets in trace file framing. A packet that no frame can hold goes in several slices, in several
 * replies.
 */

#include <errno.h>

#include "consumer-private.h"
#include "shared/error.h"

/* Fields of perfetto.protos.ReadBuffersResponse, and of its slices; and of Trace. */
enum {
        READ_SLICES = 2,
        SLICE_DATA = 1,
        SLICE_IS_LAST = 2,
        TRACE_PACKET = 1,
};

#define READ_BATCH_BYTES   (256u << 10)
#define SLICE_OVERHEAD_MAX 16 /* two tags and lengths, and whether it is the last */
#define REPLY_SLACK        64 /* that the writer wants to have, but does not use */

/* A reply that is being filled. */
typedef struct ReadReply {
        Consumer *consumer;
        WireWriter writer;
        uint8_t *memory;
} ReadReply;

static void reply_begin(ReadReply *reply) {
        wire_writer_init(&reply->writer, reply->memory, port_message_max() + REPLY_SLACK);
}

static void reply_send(ReadReply *reply, bool has_more) {
        port_reply(reply->consumer->connection,
                   &reply->consumer->read.request,
                   has_more,
                   reply->memory,
                   wire_writer_size(&reply->writer));
        reply_begin(reply);
}

static size_t reply_room(const ReadReply *reply) {
        return port_message_max() - wire_writer_size(&reply->writer);
}

static void reply_put_slice(ReadReply *reply, const uint8_t *data, size_t n, bool is_last) {
        const size_t slice = wire_begin(&reply->writer, READ_SLICES);

        wire_put_bytes(&reply->writer, SLICE_DATA, data, n);
        wire_put_bool(&reply->writer, SLICE_IS_LAST, is_last);
        wire_end(&reply->writer, slice);
}

/* Starts a new reply rather than splitting a packet, unless the packet is too large for any reply. */
static void reply_put_packet(ReadReply *reply, const uint8_t *data, size_t n) {
        if (n + SLICE_OVERHEAD_MAX > reply_room(reply) && wire_writer_size(&reply->writer) > 0)
                reply_send(reply, true);
        while (n + SLICE_OVERHEAD_MAX > reply_room(reply)) {
                const size_t n_slice = reply_room(reply) - SLICE_OVERHEAD_MAX;

                reply_put_slice(reply, data, n_slice, false);
                reply_send(reply, true);
                data += n_slice;
                n -= n_slice;
        }
        reply_put_slice(reply, data, n, true);
}

/* The core's own framing, so it cannot be wrong. */
static int reply_put_trace(ReadReply *reply, const Bytes *trace) {
        WireReader reader;
        WireField field;
        int r;

        wire_reader_init(&reader, trace->data, trace->n);
        while ((r = wire_read(&reader, &field)) > 0)
                if (field.number == TRACE_PACKET)
                        reply_put_packet(reply, field.data, field.n_bytes);
        return r;
}

static int read_batch(Consumer *consumer, bool *ret_more) {
        _cleanup_(bytes_deinit) Bytes trace = {};
        _cleanup_(freep) uint8_t *memory = malloc(port_message_max() + REPLY_SLACK);
        ReadReply reply = { .consumer = consumer, .memory = memory };
        int r;

        if (!memory)
                return -ENOMEM;
        r = session_read(consumer->session->owned.session,
                         READ_BATCH_BYTES,
                         &trace,
                         ret_more,
                         consumers_now(consumer->consumers));
        if (r)
                return error_fold(r);
        reply_begin(&reply);
        r = reply_put_trace(&reply, &trace);
        if (r < 0)
                return r;
        if (wire_writer_size(&reply.writer) > 0 || !*ret_more)
                reply_send(&reply, *ret_more);
        return 0;
}

/* A session that streams to an output is not read a second time: the answer is empty, as it is without a session. */
static bool consumer_can_read(const Consumer *consumer) {
        return consumer->session && !session_options(consumer->session->owned.session)->has_output;
}

void consumer_read_on(Consumer *consumer) {
        bool more = false;
        int r = 0;

        if (!consumer->read.is_open)
                return;
        if (!consumer_can_read(consumer)) {
                if (consumer->session)
                        port_connection_log(consumer->connection,
                                            "ReadBuffers gives nothing: the session writes into a "
                                            "file");
                consumer_call_reply(consumer, &consumer->read, NULL, 0);
                return;
        }
        r = read_batch(consumer, &more);
        if (r < 0)
                port_connection_break(consumer->connection, strerror(-r));
        consumer->read.is_open = more;
        if (more)
                port_connection_await_drained(consumer->connection);
}

int consumer_read_buffers(void *port, const PortRequest *request, const void *data, size_t n) {
        Consumer *consumer = port;

        consumer_call_open(consumer, &consumer->read, request);
        consumer_read_on(consumer);
        return 0;
}
