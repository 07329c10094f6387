/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * A reply that is too long is taken from sd-bus and forgotten. An error with its serial numbers goes out instead, or
 * nothing: then the caller of gate_refuse_replies() makes sure that there is another reply later.
 *
 * A call that is dropped is answered here, too, as sd-bus never sees it.
 */

#include <endian.h>
#include <string.h>

#include "gate/gate-private.h"
#include "shared/names.h"

#define REPLY_BYTES_MAX 1024 /* room for the error: its names and its text are short */

/* The D-Bus specification, "Header Fields". */
enum {
        FIELD_ERROR_NAME = 4,
        FIELD_REPLY_SERIAL = 5,
        FIELD_DESTINATION = 6,
        FIELD_SIGNATURE = 8,
};

/* A message in the byte order of this machine. Fields that do not fit are left out, and `is_whole` is then false. */
typedef struct Message {
        uint8_t data[REPLY_BYTES_MAX];
        size_t n;
        bool is_whole;
} Message;

static void put(Message *message, const void *data, size_t n) {
        message->is_whole = message->is_whole && n <= sizeof(message->data) - message->n;
        if (!message->is_whole)
                return;
        memcpy(message->data + message->n, data, n);
        message->n += n;
}

static void put_byte(Message *message, uint8_t value) {
        put(message, &value, sizeof(value));
}

static void align(Message *message, size_t to) {
        while (message->is_whole && message->n % to > 0)
                put_byte(message, 0);
}

static void put_u32(Message *message, uint32_t value) {
        align(message, sizeof(value));
        put(message, &value, sizeof(value));
}

static void put_text(Message *message, const char *text) {
        put_u32(message, (uint32_t)strlen(text));
        put(message, text, strlen(text) + 1);
}

static void begin_field(Message *message, uint8_t code, const char *type) {
        align(message, 8);
        put_byte(message, code);
        put_byte(message, 1);
        put(message, type, 2);
}

static void set_u32(Message *message, size_t at, size_t value) {
        const uint32_t n = (uint32_t)value;

        memcpy(message->data + at, &n, sizeof(n));
}

static void write_error(Message *message, const FrameFields *reply, const GateRefusal *refusal) {
        const uint8_t order = __BYTE_ORDER == __LITTLE_ENDIAN ? 'l' : 'B';
        size_t begin;

        *message = (Message){ .is_whole = true };
        put(message, (uint8_t[]){ order, FRAME_ERROR, FRAME_NO_REPLY_EXPECTED, 1 }, 4);
        put_u32(message, 0); /* how long the body is */
        put_u32(message, reply->serial);
        put_u32(message, 0); /* and the fields */
        begin_field(message, FIELD_ERROR_NAME, "s");
        put_text(message, refusal->error);
        begin_field(message, FIELD_REPLY_SERIAL, "u");
        put_u32(message, reply->reply_serial);
        begin_field(message, FIELD_DESTINATION, "s");
        put_text(message, reply->destination);
        begin_field(message, FIELD_SIGNATURE, "g");
        put(message, "\1s", 3);
        set_u32(message, 12, message->n - FRAME_HEAD_BYTES);
        align(message, 8);
        begin = message->n;
        put_text(message, refusal->text);
        set_u32(message, 4, message->n - begin);
}

/* Whether another reply is meant than this one. */
static bool is_spared(const GateRefusal *refusal, const FrameFields *reply) {
        return !refusal->error && (reply->reply_serial != refusal->reply_to ||
                                   !streq(reply->destination, refusal->caller));
}

bool flow_refuse_reply(GateFlow *flow, const Frame *frame, const uint8_t *data, size_t n) {
        const GateRefusal *refusal = &flow->gate->refusal;
        FrameFields fields;
        Message message;

        if (refusal->n_bytes == 0 || frame->n_bytes <= refusal->n_bytes ||
            n < frame->n_header_bytes || frame_read_fields(&fields, data, n) < 0 ||
            fields.type != FRAME_METHOD_RETURN || !fields.destination[0] ||
            is_spared(refusal, &fields))
                return false;
        if (!refusal->error) {
                flow->gate->has_taken = true;
                flow->n_skip = frame->n_bytes;
                return true;
        }
        write_error(&message, &fields, refusal);
        if (!message.is_whole)
                return false;
        flow->n_skip = frame->n_bytes;
        flow_send(flow, message.data, message.n);
        return true;
}

/* sd-bus counts from 1, and never reaches 0 again. */
#define OWN_SERIAL UINT32_MAX

GateCall gate_call_of(const FrameFields *fields) {
        GateCall call = {};

        if (fields->type == FRAME_METHOD_CALL && !(fields->flags & FRAME_NO_REPLY_EXPECTED)) {
                call.serial = fields->serial;
                strcpy(call.sender, fields->sender); /* shorter than FRAME_NAME_BYTES */
        }
        return call;
}

void gate_refuse_call(Gate *gate, const GateCall *call, const char *text) {
        const FrameFields to = { .serial = OWN_SERIAL,
                                 .reply_serial = call->serial,
                                 .destination = call->sender };
        const GateRefusal refusal = { .error = TRACING_ERROR_PREFIX "LimitExceeded", .text = text };
        Message message;

        if (call->serial == 0 || !call->sender[0])
                return;
        write_error(&message, &to, &refusal);
        if (message.is_whole)
                flow_send(&gate->out, message.data, message.n);
}
