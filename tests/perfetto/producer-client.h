/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A producer of Perfetto's protocol, written from its description alone
 *
 * Speaks the wire format of the producer port over a connected socket, and writes chunks as Perfetto's own library
 * does: one chunk a page, a fragment counted before it is written, lengths that come later as patches. It does what a
 * command asks for as soon as client_pump() has read it, unless it is told not to. An error ends the connection, and
 * everything after that does nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/bytes.h"
#include "smb/smb.h"
#include "wire/ipc-frame.h"

typedef enum ClientMethod {
        CLIENT_INITIALIZE,
        CLIENT_REGISTER_SOURCE,
        CLIENT_UNREGISTER_SOURCE,
        CLIENT_COMMIT,
        CLIENT_GET_COMMAND,
        CLIENT_REGISTER_WRITER,
        CLIENT_UNREGISTER_WRITER,
        CLIENT_SOURCE_STARTED,
        CLIENT_SOURCE_STOPPED,
        CLIENT_TRIGGERS,
        CLIENT_SYNC,
        CLIENT_UPDATE_SOURCE,
        _CLIENT_METHOD_N,
} ClientMethod;

/* Fields of GetAsyncCommandResponse. */
typedef enum ClientCommand {
        CLIENT_START = 1,
        CLIENT_STOP = 2,
        CLIENT_SETUP_TRACING = 3,
        CLIENT_FLUSH = 5,
        CLIENT_SETUP = 6,
        CLIENT_CLEAR = 7,
        _CLIENT_COMMAND_N,
} ClientCommand;

#define CLIENT_INSTANCES_MAX 32
#define CLIENT_REPLIES_MAX   256
#define CLIENT_COMMANDS_MAX  64

typedef struct ClientInstance {
        uint64_t id;
        char name[64];
        uint16_t target_buffer;
        bool is_started, is_stopped;
        bool is_over; /* for the caller to say */
        unsigned n_clears;
} ClientInstance;

typedef struct ClientReply {
        uint64_t request;
        bool success, has_more;
        size_t n_data;
        uint8_t data[64]; /* the beginning */
} ClientReply;

typedef struct ProducerClient {
        int fd;
        bool is_closed;
        uint64_t n_requests;                /* the last one's number */
        uint32_t methods[_CLIENT_METHOD_N]; /* 0: the service has none of that name */
        uint32_t service_id;
        bool is_bound;
        uint64_t commands_request;
        Bytes received;
        int received_fd;

        /* Said by the caller. */
        bool is_silent; /* acknowledges nothing */

        /* Of the service. */
        ClientReply replies[CLIENT_REPLIES_MAX]; /* but those that are commands */
        size_t n_replies;
        unsigned n_commands[_CLIENT_COMMAND_N];
        struct {
                ClientCommand command;
                uint64_t number;         /* of the instance, or of the flush */
        } commands[CLIENT_COMMANDS_MAX]; /* in order, round and round */
        size_t n_commands_ever;
        uint64_t last_flush, last_flush_flags;
        ClientInstance instances[CLIENT_INSTANCES_MAX];
        size_t n_instances;

        uint8_t *memory;
        SmbArea area;
        uint32_t next_page;

        Bytes commit; /* a CommitDataRequest that is being put together */
} ProducerClient;

typedef struct ClientOptions {
        const char *name;
        uint32_t memory_bytes, page_bytes;
        uint32_t scraping;
        int memory_fd; /* 0: it brings none */
} ClientOptions;

/* Takes the socket over. */
void client_init(ProducerClient *client, int fd);
void client_deinit(ProducerClient *client);

/* Reads all that has come, and does it. Waits for the first of it at most so long; false when the service has gone. */
bool client_pump(ProducerClient *client, int timeout_ms);

/* Any frame, which may be none. */
void client_send(ProducerClient *client, const void *data, size_t n, int fd);

/* Returns the request's number; 0 when the service has no such method. */
uint64_t client_call(ProducerClient *client,
                     ClientMethod method,
                     bool wants_reply,
                     const void *data,
                     size_t n);
const ClientReply *client_reply(const ProducerClient *client,
                                uint64_t request); /* NULL: none yet */

void client_bind(ProducerClient *client);
/* And asks for commands. */
uint64_t client_initialize(ProducerClient *client, const ClientOptions *options);
uint64_t client_register_source(ProducerClient *client, const char *name, uint64_t id);
uint64_t client_describe_source(ProducerClient *client,
                                ClientMethod method,
                                const char *name,
                                uint64_t id,
                                const char *category);
void client_number(ProducerClient *client, ClientMethod method, uint64_t number);
ClientInstance *client_instance(ProducerClient *client, const char *name); /* the newest; NULL */

/* What stands in the commit, with the flush it answers, if any. */
uint64_t client_commit(ProducerClient *client, uint64_t flush_id, bool wants_reply);
/* A chunk that lies in no shared memory. */
void client_commit_bytes(ProducerClient *client,
                         uint16_t target_buffer,
                         const void *chunk,
                         size_t n,
                         bool is_incomplete);

/*
 * Writers
 */

typedef struct ClientWriter {
        ProducerClient *client;
        uint16_t id;
        uint16_t target_buffer;
        uint32_t n_chunks; /* so far: the next one's number */
        bool has_chunk, is_inflated;
        uint32_t page;
        size_t at; /* in the payload */
        uint16_t n_fragments;
        uint8_t flags;
        uint64_t n_dropped;
} ClientWriter;

/* Registers it with the service unless that is not wanted. */
void writer_init(ClientWriter *writer,
                 ProducerClient *client,
                 uint16_t id,
                 uint16_t target_buffer,
                 bool is_registered);
/* Gives its chunk back and says that it is no more. */
void writer_end(ClientWriter *writer);

/* false: there was no room, and the packet is lost. */
bool writer_put(ClientWriter *writer, const void *packet, size_t n);

/* The same; the four bytes at `offset` come as a patch if they lie in a chunk that was full before the packet's end, by
 * message or in place. */
bool writer_put_patched(ClientWriter *writer,
                        const void *packet,
                        size_t n,
                        size_t offset,
                        bool in_place);

/* The chunk goes into the commit. */
void writer_return(ClientWriter *writer);
