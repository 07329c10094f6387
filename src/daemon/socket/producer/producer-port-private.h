/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Producer port, inside: what its parts share
 *
 *      producer-port.c           the table of methods, the connection's life, and short calls
 *      producer-port-ops.c       requests from the core
 *      producer-port-source.c    data sources are registered, changed and removed
 *      producer-port-commit.c    commits of chunks, in shared memory or in the message
 *      producer-port-memory.c    shared memory, made by either side
 *      producer-port-command.c   commands to the producer, which may wait
 *      producer-port-reply.c     reading and answering, for several calls
 *
 * Calls go down in this list only.
 */

#include "core/producer.h"
#include "shared/bytes.h"
#include "shared/list.h"
#include "socket/link/port-observer.h"
#include "socket/link/port.h"
#include "wire/wire-writer.h"

/* Commands wait here until the producer asks for them. */
#define PRODUCER_HELD_COMMANDS_MAX 1024
#define PRODUCER_HELD_BYTES_MAX    (4u << 20)

#define PRODUCER_TRIGGERS_MAX 64 /* of one call; more are refused */

typedef struct ProducerPort {
        PortConnection *connection;
        Producer *producer; /* NULL: it has not initialized the connection */

        PortRequest
                commands; /* of GetAsyncCommand, which is answered for as long as the connection lives */
        bool takes_commands;
        List held; /* HeldCommand: until then */
        size_t n_held, n_held_bytes;
        List unsent; /* UnsentSetup: to be told to the core */

        void *memory;
        size_t n_memory;
        uint32_t page_bytes;
        int memory_fd;

        const PortsObserver *observer; /* of this producer; NULL: nobody */
        void *observed;
        bool has_changed_sources; /* since it was told */

        List sources; /* PortSource: those that have a number */
} ProducerPort;

/* Handlers; see PortHandler. */
int producer_on_initialize(void *port, const PortRequest *request, const void *data, size_t n);
int producer_on_register_source(void *port, const PortRequest *request, const void *data, size_t n);
int producer_on_update_source(void *port, const PortRequest *request, const void *data, size_t n);
int producer_on_unregister_source(void *port,
                                  const PortRequest *request,
                                  const void *data,
                                  size_t n);
int producer_on_commit(void *port, const PortRequest *request, const void *data, size_t n);
int producer_on_get_command(void *port, const PortRequest *request, const void *data, size_t n);

/* The answer to a call that has no result. */
void producer_reply_done(const ProducerPort *port, const PortRequest *request);

/* Notify the observer, which shows producers to people. */
void producer_source_came(ProducerPort *port, const char *source);
void producer_source_went(ProducerPort *port, const char *source);

/* Refuse a call: there is no producer yet. PORT_E_REFUSED. */
int producer_not_initialized(const ProducerPort *port);
/* Reads the numbers of a call like producer_read_numbers(). Returns 0, or PORT_E_REFUSED: the message is not valid. */
int producer_read_call(const ProducerPort *port,
                       const void *data,
                       size_t n,
                       uint64_t *ret,
                       size_t n_fields);

/* Reads the numbers of a message: ret[i] becomes the last value of field i, and keeps its own if the field is missing.
 * false: the bytes are no message. */
bool producer_read_numbers(const void *data, size_t n, uint64_t *ret, size_t n_fields);

void producer_sources_deinit(ProducerPort *port);

extern const ProducerOps producer_port_ops;

/* Ends the message, and sends it if there was memory for it. The descriptor is taken over. */
void producer_command_finish(ProducerPort *port, WireWriter *writer, Bytes *bytes, int fd);
/* The core learns of it after it has returned. If there is no memory even for that, the instance is given up on like a
 * silent one. */
void producer_setup_is_too_long(ProducerPort *port, uint64_t instance);
/* Announces the shared memory, with its descriptor, which is taken over, or without (-1) if the producer brought it. */
void producer_send_memory(ProducerPort *port, int fd, uint32_t page_bytes);
/* Reports to the core what could not be sent. */
void producer_work_commands(ProducerPort *port);
void producer_commands_deinit(ProducerPort *port);

/* Makes shared memory, maps it and sends it. */
int producer_make_memory(ProducerPort *port, size_t pages_bytes, uint32_t page_bytes, SmbArea *ret);
/* Takes the memory that the producer has brought, if it is suitable; the caller keeps the descriptor. */
bool producer_bring_memory(ProducerPort *port, int fd, uint64_t page_bytes);
void producer_drop_memory(ProducerPort *port);
/* See ProducerOps. */
void producer_next_used(const ProducerPort *port, size_t from, size_t *ret_begin, size_t *ret_end);
