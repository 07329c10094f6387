/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Connection: one place where the service may be found */

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>

#include "lib/connection.h"
#include "lib/source-private.h"
#include "shared/bytes.h"
#include "shared/fd.h"
#include "shared/names.h"
#include "shared/pid-namespace.h"

#define KIB 1024

/* arg0 matters: without it, every client that appears or disappears would wake every process on the desktop. */
#define OWNER_MATCH                                                           \
        "type='signal',sender='" MESSAGE_BUS_NAME "',path='" MESSAGE_BUS_PATH \
        "',interface='" MESSAGE_BUS_NAME "',member='NameOwnerChanged',arg0='" TRACING_BUS_NAME "'"

static void retry_after(Connection *connection, uint64_t *delay_ns) {
        connection->retry_ns = library_now_ns() + *delay_ns;
        *delay_ns = MIN(2 * *delay_ns, CONNECTION_RETRY_MAX_NS);
}

static void register_later(Connection *connection) {
        retry_after(connection, &connection->register_delay_ns);
}

/* A connection that did not last does not count as a success: a program that has no descriptors left finds a bus,
 * and loses it over the shared memory. */
static void connect_later(Connection *connection) {
        if (library_now_ns() - connection->connected_ns >= CONNECTION_SETTLED_NS)
                connection->connect_delay_ns = CONNECTION_RETRY_FIRST_NS;
        retry_after(connection, &connection->connect_delay_ns);
}

static void end_instances(Connection *connection) {
        dt_instance *instance;

        connection->away_until_ns = 0;
        if (connection->memory)
                smb_producer_close(&connection->memory->producer);
        list_for_each (instance, &connection->instances, connection_link)
                instance_end(instance);
        connection_drop_memory(connection);
}

/* Whether the instances may keep writing until the next service comes. */
static bool may_go_on(const Connection *connection) {
        return connection->memory && connection->memory->has_key &&
               memory_has_its_fds(connection->memory) && !list_is_empty(&connection->instances);
}

/* The service has gone, or was never there. */
static void drop_service(Connection *connection) {
        connection->registration = sd_bus_slot_unref(connection->registration);
        if (!may_go_on(connection))
                end_instances(connection);
        else if (connection->away_until_ns == 0)
                connection->away_until_ns = library_now_ns() + CONNECTION_AWAY_NS;
        free(TAKE(connection->owner));
        sources_forget_registration(connection->index);
        if (connection->state > CONNECTION_WATCHING)
                connection->state = CONNECTION_WATCHING;
}

static bool has_its_fds(const Connection *connection) {
        return connection_has_its_bus(connection) &&
               (!connection->memory || memory_has_its_fds(connection->memory));
}

static void disconnect(Connection *connection) {
        /* sd-bus may have closed it itself. */
        bool is_ours = connection_has_its_bus(connection) || sd_bus_get_fd(connection->bus) < 0;
        dt_instance *instance;

        list_for_each (instance, &connection->instances, connection_link)
                if (!is_ours)
                        instance_drop_replies(instance);
        drop_service(connection);
        if (connection->fork_fd >= 0)
                library_fork_keep(connection->fork_fd);
        connection->fork_fd = -1;
        if (is_ours)
                sd_bus_close_unref(connection->bus);
        else
                connection->abandoned = connection->bus;
        connection->bus = NULL;
        connection->state = CONNECTION_OFF;
        connect_later(connection);
}

/*
 * Registration
 */

static int append_kib(sd_bus_message *message, const char *key, size_t n_bytes) {
        return n_bytes > 0
                       ? sd_bus_message_append(message, "{sv}", key, "u", (uint32_t)(n_bytes / KIB))
                       : 0;
}

/* Behind a proxy the bus sees only the proxy. The name makes the proof useless to any other connection. */
static int append_proof(Connection *connection, sd_bus_message *message) {
        _cleanup_(fd_closep) int fd = -1;
        const char *name;

        if (connection->kind == CONNECTION_SOCKET) /* the service sees us */
                return 0;
        if (sd_bus_get_unique_name(connection->bus, &name) < 0 || pid_proof_new(&fd, name) < 0)
                return 0;
        return sd_bus_message_append(message, "{sv}", "pid-proof", "h", fd);
}

/* What a service outside our pid namespace needs to identify us. */
static int append_namespace(Connection *connection, sd_bus_message *message) {
        uint64_t namespace = 0; /* not known: there is no /proc */
        int r;

        if (pid_namespace_get(&namespace) == 0 && namespace == PID_NAMESPACE_INITIAL)
                return 0;
        r = sd_bus_message_append(message, "{sv}", "pid-namespace", "t", namespace);
        return r < 0 ? r : append_proof(connection, message);
}

static int append_numbers(sd_bus_message *message,
                          const char *key,
                          char type,
                          const void *data,
                          size_t n_bytes) {
        const char variant[] = { 'a', type, 0 };
        int r;

        r = sd_bus_message_open_container(message, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(message, "s", key);
        if (r >= 0)
                r = sd_bus_message_open_container(message, 'v', variant);
        if (r >= 0)
                r = sd_bus_message_append_array(message, type, data, n_bytes);
        if (r >= 0)
                r = sd_bus_message_close_container(message);
        return r < 0 ? r : sd_bus_message_close_container(message);
}

/* The proof that the memory is ours, and the instances that go on in it. */
static int append_memory(Connection *connection, sd_bus_message *message) {
        _cleanup_(bytes_deinit) Bytes ids = { 0 };
        const Memory *memory = connection->memory;
        const dt_instance *instance;
        int r;

        if (connection->away_until_ns == 0)
                return 0;
        list_for_each (instance, &connection->instances, connection_link)
                if (bytes_append(&ids, &instance->id, sizeof(instance->id)) < 0)
                        return -ENOMEM;
        r = append_numbers(message, "memory-key", 'y', memory->key, sizeof(memory->key));
        return r < 0 ? r : append_numbers(message, "instances", 't', ids.data, ids.n);
}

static int append_options(Connection *connection, sd_bus_message *message) {
        int r;

        r = sd_bus_message_open_container(message, 'a', "{sv}");
        if (r < 0)
                return r;
        r = append_kib(message, "shared-memory-kb", library.shared_memory_bytes);
        if (r < 0)
                return r;
        r = append_kib(message, "page-kb", library.page_bytes);
        if (r < 0)
                return r;
        r = append_namespace(connection, message);
        if (r < 0)
                return r;
        r = append_memory(connection, message);
        if (r < 0)
                return r;
        return sd_bus_message_close_container(message);
}

static int on_registered(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Connection *connection = userdata;

        connection->registration = sd_bus_slot_unref(connection->registration);
        if (sd_bus_message_is_method_error(reply, NULL)) {
                if (connection->away_until_ns == 0) /* told to go on, but not known after all */
                        end_instances(connection);
                connection->state = CONNECTION_WATCHING;
                sources_forget_registration(connection->index);
                register_later(connection);
                return 1;
        }
        if (connection->away_until_ns > 0) /* or SetupTracing() would have come before */
                end_instances(connection);
        connection->state = CONNECTION_REGISTERED;
        connection->register_delay_ns = CONNECTION_RETRY_FIRST_NS;
        connection_sources_changed(connection);
        return 1;
}

static int build_registration(Connection *connection, sd_bus_message **ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = connection_new_call(connection, &call, "RegisterProducer");
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "s", library.name);
        if (r < 0)
                return r;
        r = sources_append(call, connection->index);
        if (r < 0)
                return r;
        r = append_options(connection, call);
        if (r < 0)
                return r;
        *ret = TAKE(call);
        return 0;
}

static void register_producer(Connection *connection) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        library_lock();
        r = list_is_empty(&library.sources) ? 1 : build_registration(connection, &call);
        library_unlock();
        connection->retry_ns = UINT64_MAX;
        if (r > 0) /* nothing to offer */
                return;
        if (r == 0)
                r = sd_bus_call_async(connection->bus,
                                      &connection->registration,
                                      call,
                                      on_registered,
                                      connection,
                                      0);
        if (r < 0) {
                sources_forget_registration(connection->index);
                register_later(connection);
                return;
        }
        connection->state = CONNECTION_REGISTERING;
}

void connection_sources_changed(Connection *connection) {
        if (connection->state == CONNECTION_WATCHING &&
            (connection->owner || connection->kind == CONNECTION_SOCKET)) {
                register_producer(connection);
                return;
        }
        if (connection->state != CONNECTION_REGISTERED)
                return;

        for (;;) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
                int r;

                r = connection_new_call(connection, &call, "RegisterDataSource");
                if (r < 0)
                        return;
                library_lock();
                r = sources_append_next(call, connection->index);
                library_unlock();
                if (r <= 0)
                        return;
                sd_bus_message_set_expect_reply(call, false);
                sd_bus_send(connection->bus, call, NULL);
        }
}

void connection_source_removed(Connection *connection, const char *name) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        if (connection->state < CONNECTION_REGISTERING)
                return;
        if (connection_new_call(connection, &call, "UnregisterDataSource") < 0 ||
            sd_bus_message_append(call, "s", name) < 0)
                return;
        sd_bus_message_set_expect_reply(call, false);
        sd_bus_send(connection->bus, call, NULL);
}

/*
 * Watching the name
 */

static void set_owner(Connection *connection, const char *owner) {
        if (connection->owner && streq(connection->owner, owner))
                return;
        drop_service(connection);
        if (owner[0] == 0)
                return;
        connection->owner = strdup(owner);
        connection->register_delay_ns = CONNECTION_RETRY_FIRST_NS;
        if (connection->owner)
                register_producer(connection);
}

/* The match does not keep others out: a bus delivers what any peer sends to us alone, and sd-bus takes a peer's unique
 * name for any other. */
static int on_owner_changed(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        const char *owner;

        if (!streq(sd_bus_message_get_sender(signal) ?: "", MESSAGE_BUS_NAME))
                return 0;
        if (sd_bus_message_read(signal, "sss", NULL, NULL, &owner) < 0)
                return 0;
        set_owner(userdata, owner);
        return 0;
}

static int on_owner(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Connection *connection = userdata;
        const char *owner;

        if (sd_bus_message_is_method_error(reply, NULL)) /* no owner: the usual case */
                return 1;
        if (sd_bus_message_read(reply, "s", &owner) < 0)
                return 1;
        set_owner(connection, owner);
        return 1;
}

static int watch_name(Connection *connection) {
        int r;

        /* This order leaves no gap: the bus handles our messages one after another. */
        r = sd_bus_add_match_async(
                connection->bus, NULL, OWNER_MATCH, on_owner_changed, NULL, connection);
        if (r < 0)
                return r;
        return sd_bus_call_method_async(connection->bus,
                                        NULL,
                                        MESSAGE_BUS_NAME,
                                        MESSAGE_BUS_PATH,
                                        MESSAGE_BUS_NAME,
                                        "GetNameOwner",
                                        on_owner,
                                        connection,
                                        "s",
                                        TRACING_BUS_NAME);
}

/*
 * Connecting
 */

/* "unix:path=" and the path, escaped as the D-Bus specification says. */
static int socket_address(char **ret, const char *path) {
        static const char plain[] =
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/.\\*";
        static const char hex[] = "0123456789abcdef";
        char *address = malloc(sizeof("unix:path=") + 3 * strlen(path));
        char *at;

        if (!address)
                return -ENOMEM;
        at = stpcpy(address, "unix:path=");
        for (; *path; path++) {
                if (strchr(plain, *path)) {
                        *at++ = *path;
                        continue;
                }
                *at++ = '%';
                *at++ = hex[(uint8_t)*path >> 4];
                *at++ = hex[(uint8_t)*path & 15];
        }
        *at = 0;
        *ret = address;
        return 0;
}

static int open_socket(sd_bus **ret) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(freep) char *address = NULL;
        int r;

        r = socket_address(&address, library.socket_path);
        if (r < 0)
                return r;
        r = sd_bus_new(&bus);
        if (r < 0)
                return r;
        r = sd_bus_set_address(bus, address);
        if (r < 0)
                return r;
        r = sd_bus_start(bus);
        if (r < 0)
                return r;
        *ret = TAKE(bus);
        return 0;
}

/*
 * sd-bus keeps its socket off the numbers of stdin, stdout and stderr, but not its peer's pidfd, which it keeps as long
 * as it is connected (since systemd 257). Where they are closed, they are taken while it connects.
 */

static void hold_standard_fds(int held[LIBRARY_FD_MIN]) {
        for (int i = 0; i < LIBRARY_FD_MIN; i++) {
                held[i] = -1;
                if (fcntl(i, F_GETFD) >= 0 || errno != EBADF)
                        continue;
                held[i] = eventfd(0, EFD_CLOEXEC);
                if (held[i] >= LIBRARY_FD_MIN) /* the program has just opened a file there */
                        held[i] = fd_close(held[i]);
        }
}

static void free_standard_fds(int held[LIBRARY_FD_MIN]) {
        for (size_t i = 0; i < LIBRARY_FD_MIN; i++)
                held[i] = fd_close(held[i]);
}

static int open_bus_of_kind(Connection *connection) {
        switch (connection->kind) {
        case CONNECTION_SYSTEM:
                return sd_bus_open_system(&connection->bus);
        case CONNECTION_SESSION:
                return sd_bus_open_user(&connection->bus);
        default:
                return open_socket(&connection->bus);
        }
}

static int open_bus(Connection *connection) {
        int r, held[LIBRARY_FD_MIN];

        hold_standard_fds(held);
        r = open_bus_of_kind(connection);
        free_standard_fds(held);
        return r;
}

static void connect_now(Connection *connection) {
        int r;

        connection->retry_ns = UINT64_MAX;
        r = open_bus(connection);
        if (r == -ENOMEDIUM || r == -ENOPKG) /* the environment never names such a bus */
                return;
        if (r < 0) {
                retry_after(connection, &connection->connect_delay_ns);
                return;
        }

        connection->connected_ns = library_now_ns();
        sd_bus_set_exit_on_disconnect(connection->bus, false);
        connection->state = CONNECTION_WATCHING;
        r = connection_serve(connection);
        if (r >= 0 && connection->kind != CONNECTION_SOCKET)
                r = watch_name(connection);
        connection->fork_fd = sd_bus_get_fd(connection->bus);
        if (connection->fork_fd >= 0) {
                fd_mark(connection->fork_fd);
                library_fork_close(connection->fork_fd);
        }
        if (r < 0) {
                disconnect(connection);
                return;
        }
        if (connection->kind == CONNECTION_SOCKET)
                register_producer(connection);
}

int connection_new(Connection **ret, ConnectionKind kind, unsigned index) {
        Connection *connection = malloc(sizeof(*connection));

        if (!connection)
                return -ENOMEM;
        *connection = (Connection){
                .kind = kind,
                .index = index,
                .connect_delay_ns = CONNECTION_RETRY_FIRST_NS,
                .register_delay_ns = CONNECTION_RETRY_FIRST_NS,
                .fork_fd = -1,
        };
        list_init(&connection->instances);
        *ret = connection;
        return 0;
}

static void process(Connection *connection) {
        int r;

        do
                r = sd_bus_process(connection->bus, NULL);
        while (r > 0);
        if (r < 0)
                disconnect(connection);
}

void connection_run(Connection *connection, uint64_t now_ns) {
        if (connection->away_until_ns > 0 && now_ns >= connection->away_until_ns)
                end_instances(connection);
        if (now_ns >= connection->retry_ns) {
                if (connection->state == CONNECTION_OFF)
                        connect_now(connection);
                else
                        register_producer(connection);
        }
        if (connection->bus && !has_its_fds(connection))
                disconnect(connection);
        if (connection->bus)
                process(connection);
        connection_take_requests(connection); /* after the calls that came before them */
        connection_return_idle_chunks(connection);
}

uint64_t connection_prepare(Connection *connection, struct pollfd ret[static CONNECTION_FDS]) {
        uint64_t due_ns = connection->retry_ns, usec;
        int events;

        if (connection->away_until_ns > 0)
                due_ns = MIN(due_ns, connection->away_until_ns);
        ret[0] = (struct pollfd){ .fd = -1 };
        ret[1] = (struct pollfd){ .fd = connection->memory ? connection->memory->bell_fd : -1,
                                  .events = POLLIN };
        if (!connection->bus)
                return due_ns;
        events = sd_bus_get_events(connection->bus);
        if (events < 0 || sd_bus_get_timeout(connection->bus, &usec) < 0)
                return 0; /* sd_bus_process() will return the reason */
        ret->fd = sd_bus_get_fd(connection->bus);
        ret->events = (short)events;
        if (usec < UINT64_MAX / 1000)
                due_ns = MIN(due_ns, usec * 1000);
        return due_ns;
}
