/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Requests in shared memory: see SmbRequest. The bell only wakes us; the memory says what is requested.
 */

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/source-private.h"
#include "shared/fd.h"

static void silence_bell(int fd) {
        struct pollfd eventfd = { .fd = fd, .events = POLLIN };
        ssize_t n_read;
        uint64_t n;

        if (!fd_is_marked(fd)) /* connection_run() handles a closed descriptor */
                return;
        /* Usually there is nothing: another descriptor woke us. The service can change whether such a read
         * blocks, so this must not depend on the descriptor's own flags. */
        do
                n_read = recv(fd, &n, sizeof(n), MSG_DONTWAIT);
        while (n_read < 0 && errno == EINTR);
        if (n_read < 0 && errno == ENOTSOCK && poll(&eventfd, 1, 0) > 0)
                n_read = read(fd, &n, sizeof(n)); /* of an older service */
}

static void carry_out_on(dt_instance *instance, SmbRequestKind kind, Request *request) {
        switch (kind) {
        case SMB_REQUEST_FLUSH:
                instance_flush(instance, request);
                break;
        case SMB_REQUEST_STOP:
                instance_stop(instance, request);
                break;
        case SMB_REQUEST_CLEAR:
                instance_clear(instance);
                break;
        default: /* of a newer service: answered, so that it does not wait */
                break;
        }
}

/* An instance that is not found has ended, and has nothing left to flush. */
static void carry_out(Connection *connection, const SmbAsked *asked) {
        Request *request;

        /* Out of memory: no reply is sent, and the service's deadline passes. */
        if (request_new_in_memory(&request, connection->memory, asked->place) < 0)
                return;
        for (size_t i = 0; i < asked->n_instances; i++) {
                dt_instance *instance = instance_find(connection, asked->instances[i]);

                if (instance)
                        carry_out_on(instance, asked->kind, request);
        }
        request_close(request, NULL);
}

void connection_drop_memory(Connection *connection) {
        if (connection->memory)
                smb_producer_close(&connection->memory->producer);
        connection->memory = memory_unref(connection->memory);
}

static bool is_among(uint64_t id, const uint64_t *ids, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (ids[i] == id)
                        return true;
        return false;
}

void connection_go_on(Connection *connection, const uint64_t *instances, size_t n_instances) {
        dt_instance *instance;

        connection->away_until_ns = 0;
        list_for_each (instance, &connection->instances, connection_link)
                if (!is_among(instance->id, instances, n_instances))
                        instance_end(instance);
}

void connection_take_requests(Connection *connection) {
        SmbAsked asked;

        if (!connection->memory || connection->memory->bell_fd < 0)
                return;
        silence_bell(connection->memory->bell_fd);
        while (smb_take_request(&connection->memory->producer, &asked)) {
                if (asked.kind == SMB_REQUEST_RELEASE)
                        connection->memory->release_asked = true;
                else
                        carry_out(connection, &asked);
        }
        /* Earlier requests to stop may take a while. */
        if (connection->memory->release_asked && list_is_empty(&connection->instances))
                connection_drop_memory(connection);
}
