/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * org.desktrace.Tracing1.Producer, as data/dbus/org.desktrace.Tracing1.xml documents it. A caller that is not the
 * service is refused, whatever it asks.
 */

#include <errno.h>

#include "lib/host-task.h"
#include "lib/source-private.h"
#include "shared/names.h"

#define ERROR_WRONG_STATE   TRACING_ERROR_WRONG_STATE
#define ERROR_SOURCE_FAILED TRACING_ERROR_PREFIX "SourceFailed"

static int refuse(Connection *connection, sd_bus_message *call, sd_bus_error *error) {
        if (connection_trusts(connection, call))
                return 0;
        return sd_bus_error_set(
                error, SD_BUS_ERROR_ACCESS_DENIED, "Only the tracing service may call this.");
}

static int
find(Connection *connection, sd_bus_message *call, dt_instance **ret, sd_bus_error *error) {
        uint64_t id;
        int r;

        r = refuse(connection, call, error);
        if (r < 0)
                return r;
        r = sd_bus_message_read(call, "t", &id);
        if (r < 0)
                return r;
        *ret = instance_find(connection, id);
        if (*ret)
                return 0;
        return sd_bus_error_setf(error,
                                 ERROR_WRONG_STATE,
                                 "There is no data source instance %llu.",
                                 (unsigned long long)id);
}

/* Descriptors are the message's; -1: not passed. */
typedef struct SetupOptions {
        int bell_fd, task_link_fd;
        const void *key, *instances; /* the message's; NULL: not passed */
        size_t n_key, n_instances;   /* bytes */
        bool is_again;               /* of the memory that there is */
} SetupOptions;

static int read_numbers(sd_bus_message *call, char type, const void **ret, size_t *ret_n_bytes) {
        const char variant[] = { 'a', type, 0 };
        int r;

        r = sd_bus_message_enter_container(call, 'v', variant);
        if (r >= 0)
                r = sd_bus_message_read_array(call, type, ret, ret_n_bytes);
        return r < 0 ? r : sd_bus_message_exit_container(call);
}

static int read_setup_option(sd_bus_message *call, const char *key, SetupOptions *ret) {
        if (streq(key, "bell"))
                return sd_bus_message_read(call, "v", "h", &ret->bell_fd);
        if (streq(key, "task-link"))
                return sd_bus_message_read(call, "v", "h", &ret->task_link_fd);
        if (streq(key, "key"))
                return read_numbers(call, 'y', &ret->key, &ret->n_key);
        if (streq(key, "instances")) {
                ret->is_again = true;
                return read_numbers(call, 't', &ret->instances, &ret->n_instances);
        }
        return sd_bus_message_skip(call, "v");
}

static int read_setup_options(sd_bus_message *call, SetupOptions *ret) {
        const char *key;
        int r;

        *ret = (SetupOptions){ .bell_fd = -1, .task_link_fd = -1 };
        r = sd_bus_message_enter_container(call, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(call, 'e', "sv")) > 0) {
                r = sd_bus_message_read(call, "s", &key);
                if (r >= 0)
                        r = read_setup_option(call, key, ret);
                if (r >= 0)
                        r = sd_bus_message_exit_container(call);
        }
        return r;
}

static bool is_our_memory(const Connection *connection, const SetupOptions *options) {
        const Memory *memory = connection->memory;

        return connection->away_until_ns > 0 && memory && options->n_key == MEMORY_KEY_BYTES &&
               memcmp(memory->key, options->key, MEMORY_KEY_BYTES) == 0;
}

/* For a service that has succeeded another one, from which it has our memory. */
static int go_on(Connection *connection,
                 sd_bus_message *call,
                 int doorbell_fd,
                 const SetupOptions *options,
                 sd_bus_error *error) {
        if (!is_our_memory(connection, options) ||
            memory_set_bells(connection->memory, doorbell_fd, options->bell_fd) < 0)
                return sd_bus_error_set(
                        error, ERROR_WRONG_STATE, "This program does not have that memory.");
        connection_go_on(connection, options->instances, options->n_instances / sizeof(uint64_t));
        return sd_bus_reply_method_return(call, NULL);
}

static void take_key(Memory *memory, const SetupOptions *options) {
        memory->has_key = options->n_key == MEMORY_KEY_BYTES;
        if (memory->has_key)
                memcpy(memory->key, options->key, MEMORY_KEY_BYTES);
}

static int on_setup_tracing(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        _cleanup_(memory_unrefp) Memory *memory = NULL;
        Connection *connection = userdata;
        int memory_fd, doorbell_fd, r;
        SetupOptions options;

        r = refuse(connection, call, error);
        if (r < 0)
                return r;
        r = sd_bus_message_read(call, "hh", &memory_fd, &doorbell_fd);
        if (r >= 0)
                r = read_setup_options(call, &options);
        if (r < 0)
                return r;
        if (options.is_again)
                return go_on(connection, call, doorbell_fd, &options, error);
        r = memory_new(&memory, memory_fd, doorbell_fd, options.bell_fd);
        if (r == -EBADMSG)
                return sd_bus_error_set(
                        error,
                        SD_BUS_ERROR_INVALID_ARGS,
                        "The shared memory has another layout or is not sealed, the doorbell is no "
                        "eventfd, or the bell is no socket.");
        if (r < 0)
                return r;
        /* Requests in the old memory were made before this call. Instances that have not ended yet end in the old
         * memory. */
        connection_take_requests(connection);
        connection_drop_memory(connection);
        take_key(memory, &options);
        connection->memory = TAKE(memory);
        /* Even if it was short-lived: a service that comes and goes is found again as fast as the first time. */
        connection->connect_delay_ns = CONNECTION_RETRY_FIRST_NS;
        if (options.task_link_fd >= 0)
                host_task_offer(options.task_link_fd);
        return sd_bus_reply_method_return(call, NULL);
}

/* Calls that are answered later. */
static int defer(sd_bus_message *call,
                 dt_instance *instance,
                 int (*handler)(dt_instance *instance, Request *request)) {
        Request *request;
        int r;

        r = request_new(&request, call);
        if (r < 0)
                return r;
        r = handler(instance, request);
        request_close(request, r < 0 ? strerror(-r) : NULL);
        return 1;
}

static int read_start(sd_bus_message *call, bool *ret) {
        const char *key;
        int value = 0, r;

        r = sd_bus_message_enter_container(call, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(call, 'e', "sv")) > 0) {
                r = sd_bus_message_read(call, "s", &key);
                if (r >= 0)
                        r = streq(key, "start") ? sd_bus_message_read(call, "v", "b", &value)
                                                : sd_bus_message_skip(call, "v");
                if (r >= 0)
                        r = sd_bus_message_exit_container(call);
        }
        *ret = value;
        return r;
}

static int on_setup_source(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        Connection *connection = userdata;
        const char *name, *why = NULL;
        const void *config;
        size_t n_config;
        uint64_t id;
        bool start;
        int r;

        r = refuse(connection, call, error);
        if (r < 0)
                return r;
        r = sd_bus_message_read(call, "ts", &id, &name);
        if (r >= 0)
                r = sd_bus_message_read_array(call, 'y', &config, &n_config);
        if (r >= 0)
                r = read_start(call, &start);
        if (r < 0)
                return r;
        if (!connection->memory)
                return sd_bus_error_set(error, ERROR_WRONG_STATE, "SetupTracing() comes first.");

        r = instance_new(connection, id, name, config, n_config, &why);
        if (why)
                return sd_bus_error_set(error, ERROR_SOURCE_FAILED, why);
        if (r == -ENOENT)
                return sd_bus_error_setf(error,
                                         TRACING_ERROR_PREFIX "NoSuchSource",
                                         "This program has no data source \"%s\".",
                                         name);
        if (r < 0)
                return r;
        return start ? defer(call, instance_find(connection, id), instance_start)
                     : sd_bus_reply_method_return(call, NULL);
}

static int on_start(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        dt_instance *instance;
        int r;

        r = find(userdata, call, &instance, error);
        return r < 0 ? r : defer(call, instance, instance_start);
}

static int on_stop(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        dt_instance *instance;
        int r;

        r = find(userdata, call, &instance, error);
        return r < 0 ? r : defer(call, instance, instance_stop);
}

/* Unknown numbers are skipped: the instance may have ended while the call was on its way. */
static int for_each_instance(Connection *connection,
                             sd_bus_message *call,
                             void (*handler)(dt_instance *instance, void *userdata),
                             void *userdata) {
        uint64_t id;
        int r;

        r = sd_bus_message_enter_container(call, 'a', "t");
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read(call, "t", &id)) > 0) {
                dt_instance *instance = instance_find(connection, id);

                if (instance)
                        handler(instance, userdata);
        }
        return r;
}

static void flush_one(dt_instance *instance, void *userdata) {
        instance_flush(instance, userdata);
}

static int on_flush(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        Connection *connection = userdata;
        Request *request;
        int r;

        r = refuse(connection, call, error);
        if (r < 0)
                return r;
        r = request_new(&request, call);
        if (r < 0)
                return r;
        r = for_each_instance(connection, call, flush_one, request);
        request_close(request, r < 0 ? strerror(-r) : NULL);
        return 1;
}

static void clear_one(dt_instance *instance, void *userdata) {
        instance_clear(instance);
}

static int on_clear(sd_bus_message *call, void *userdata, sd_bus_error *error) {
        int r;

        r = refuse(userdata, call, error);
        if (r < 0)
                return r;
        r = for_each_instance(userdata, call, clear_one, NULL);
        if (r < 0)
                return r;
        return sd_bus_reply_method_return(call, NULL);
}

/* UNPRIVILEGED: sd-bus would otherwise let only root and our own uid in; refuse() is stricter. */
static const sd_bus_vtable producer_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("SetupTracing", "hha{sv}", "", on_setup_tracing, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("SetupDataSource",
                      "tsaya{sv}",
                      "",
                      on_setup_source,
                      SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("StartDataSource", "t", "", on_start, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("StopDataSource", "t", "", on_stop, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("Flush", "att", "", on_flush, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD("ClearIncrementalState", "at", "", on_clear, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

int connection_serve(Connection *connection) {
        return sd_bus_add_object_vtable(connection->bus,
                                        NULL,
                                        TRACING_PRODUCER_OBJECT,
                                        TRACING_PRODUCER_INTERFACE,
                                        producer_vtable,
                                        connection);
}
