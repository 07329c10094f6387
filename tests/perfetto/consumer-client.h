/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A consumer of Perfetto's protocol, written from its description alone
 *
 * Speaks the wire format of the consumer port over a connected socket: calls methods by the numbers that the service
 * gives them, and keeps all replies until they are looked at.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/bytes.h"
#include "wire/ipc-frame.h"

typedef enum ConsumerMethod {
        CONSUMER_ENABLE,
        CONSUMER_DISABLE,
        CONSUMER_READ,
        CONSUMER_FREE,
        CONSUMER_FLUSH,
        CONSUMER_START,
        CONSUMER_CHANGE,
        CONSUMER_DETACH,
        CONSUMER_ATTACH,
        CONSUMER_STATS,
        CONSUMER_OBSERVE,
        CONSUMER_QUERY_STATE,
        CONSUMER_QUERY_CAPABILITIES,
        CONSUMER_SAVE,
        CONSUMER_CLONE,
        _CONSUMER_METHOD_N,
} ConsumerMethod;

#define CONSUMER_REPLIES_MAX 512

typedef struct ConsumerReply {
        uint64_t request;
        bool success, has_more;
        Bytes data;
} ConsumerReply;

typedef struct ConsumerClient {
        int fd;
        bool is_closed; /* by the service */
        bool is_bound;
        bool is_refused; /* the bind */
        uint32_t service_id;
        uint32_t methods[_CONSUMER_METHOD_N]; /* 0: the service has none of that name */
        uint64_t n_requests;                  /* the last one's number */
        Bytes received;
        ConsumerReply replies[CONSUMER_REPLIES_MAX]; /* in their order */
        size_t n_replies;
        WireWriter message; /* a request's, begun by consumer_message() */
        uint8_t memory[IPC_FRAME_BYTES_MAX];
} ConsumerClient;

/* Takes the socket over. */
void consumer_client_init(ConsumerClient *client, int fd);
void consumer_client_deinit(ConsumerClient *client);

/* Reads all that has come. Returns whether anything has. */
bool consumer_client_pump(ConsumerClient *client);

void consumer_client_bind(ConsumerClient *client);

/* For the fields of the next call's message. */
WireWriter *consumer_message(ConsumerClient *client);

/* With what consumer_message() was given since the last call. Return the request's number. */
uint64_t consumer_call(ConsumerClient *client, ConsumerMethod method);
uint64_t consumer_call_with_fd(ConsumerClient *client, ConsumerMethod method, int fd);

/* The nth reply to the request; NULL: there is none yet. */
const ConsumerReply *consumer_reply(const ConsumerClient *client, uint64_t request, size_t nth);
size_t consumer_n_replies(const ConsumerClient *client, uint64_t request);

/* Of a reply's message: the last field of that number; false when there is none. */
bool consumer_reply_field(const ConsumerReply *reply, uint32_t number, WireField *ret);

/* What ReadBuffers has given, as a trace file has it. */
void consumer_read_trace(const ConsumerClient *client, uint64_t request, Bytes *ret);
