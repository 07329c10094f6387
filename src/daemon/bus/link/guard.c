/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Connections to guards, and the question that is put to each of them in turn. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "bus/link/guard.h"
#include "shared/fd.h"
#include "shared/log.h"
#include "shared/names.h"

#define GUARD_ASKING_TIMEOUT_USEC \
        (UINT64_C(5) * 60 * 1000000) /* a person may be typing a password */

static int socket_connect(int *ret, const char *path) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_(fd_closep) int fd = -1;

        if (strlen(path) >= sizeof(address.sun_path))
                return -ENAMETOOLONG;
        strcpy(address.sun_path, path);
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                return -errno;
        *ret = TAKE_FD(fd);
        return 0;
}

int guard_connect(sd_bus **ret, sd_event *event, const char *path) {
        _cleanup_(sd_bus_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(fd_closep) int fd = -1;
        int r;

        r = socket_connect(&fd, path);
        if (r >= 0)
                r = sd_bus_new(&bus);
        if (r >= 0)
                r = sd_bus_set_fd(bus, fd, fd);
        if (r < 0)
                return r;
        fd = -1; /* the connection owns it from here on */
        r = sd_bus_start(bus);
        if (r >= 0)
                r = sd_bus_attach_event(bus, event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        *ret = TAKE(bus);
        return 0;
}

/*
 * Queries
 */

struct GuardQuery {
        GuardQueryOptions options;
        char *name;
        size_t next; /* the guard that comes next */
        sd_event_source *begin;
        sd_bus *connection;
        sd_bus_slot *slot;
};

static void query_hang_up(GuardQuery *query) {
        query->slot = sd_bus_slot_unref(query->slot);
        query->connection = sd_bus_close_unref(query->connection);
}

GuardQuery *guard_query_free(GuardQuery *query) {
        if (!query)
                return NULL;
        query_hang_up(query);
        sd_event_source_disable_unref(query->begin);
        free(query->name);
        free(query);
        return NULL;
}

static void query_done(GuardQuery *query, GuardAnswer answer) {
        GuardDone *done = query->options.done;
        void *userdata = query->options.userdata;

        guard_query_free(query);
        done(userdata, answer);
}

static bool guard_has(const Guard *guard, const Config *config) {
        for (size_t i = 0; i < config->pb->n_data_sources; i++) {
                const Perfetto__Protos__DataSourceConfig *source =
                        config->pb->data_sources[i]->config;

                for (size_t j = 0; source && source->name && guard->sources[j]; j++)
                        if (streq(guard->sources[j], source->name))
                                return true;
        }
        return false;
}

static int on_guard_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error);

static int query_call(GuardQuery *query, const Guard *guard) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        const GuardQueryOptions *options = &query->options;
        int r;

        r = guard_connect(&query->connection, options->event, guard->socket);
        if (r >= 0)
                r = sd_bus_message_new_method_call(query->connection,
                                                   &call,
                                                   NULL,
                                                   TRACING_PROBES_PATH,
                                                   TRACING_PROBES_INTERFACE,
                                                   "Authorize");
        if (r >= 0)
                r = sd_bus_message_append(call,
                                          "sut",
                                          query->name ?: "",
                                          (uint32_t)options->pid,
                                          options->start_time);
        if (r >= 0)
                r = sd_bus_message_append_array(
                        call, 'y', options->config->bytes, options->config->n_bytes);
        if (r >= 0)
                r = sd_bus_message_append(call, "b", options->is_interactive);
        if (r < 0)
                return r;
        return sd_bus_call_async(query->connection,
                                 &query->slot,
                                 call,
                                 on_guard_answer,
                                 query,
                                 options->is_interactive ? GUARD_ASKING_TIMEOUT_USEC
                                                         : GUARD_TIMEOUT_USEC);
}

/* The next guard that can be reached. A guard that cannot be reached records nothing, so it need not be asked. */
static void query_go_on(GuardQuery *query) {
        const GuardQueryOptions *options = &query->options;

        query_hang_up(query);
        while (query->next < options->n_guards) {
                const Guard *guard = &options->guards[query->next++];
                int r;

                if (!guard_has(guard, options->config))
                        continue;
                r = query_call(query, guard);
                if (r >= 0)
                        return;
                log_debug("cannot ask at %s: %s", guard->socket, strerror(-r));
                query_hang_up(query);
        }
        query_done(query, GUARD_GRANTED);
}

static int on_guard_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        static const struct {
                const char *name;
                GuardAnswer answer;
        } refusals[] = {
                { TRACING_ERROR_PREFIX "NotAuthorized", GUARD_DENIED },
                { TRACING_ERROR_PREFIX "AuthorizationNeeded", GUARD_NEEDS_INTERACTION },
                { TRACING_ERROR_PREFIX "PolkitUnavailable", GUARD_UNAVAILABLE },
                { TRACING_ERROR_ROOT_IS_SILENT, GUARD_ROOT_IS_SILENT },
        };
        const sd_bus_error *refusal = sd_bus_message_get_error(reply);
        GuardQuery *query = userdata;

        for (size_t i = 0; refusal && i < ARRAY_SIZE(refusals); i++)
                if (streq(refusal->name, refusals[i].name)) {
                        query_done(query, refusals[i].answer);
                        return 0;
                }
        if (refusal)
                log_debug("a producer did not say whether it may record: %s", refusal->message);
        query_go_on(query);
        return 0;
}

static int on_begin(sd_event_source *source, void *userdata) {
        query_go_on(userdata);
        return 0;
}

int guard_ask(GuardQuery **ret, const GuardQueryOptions *options) {
        _cleanup_(guard_query_freep) GuardQuery *query = calloc(1, sizeof(*query));
        int r;

        if (!query)
                return -ENOMEM;
        query->options = *options;
        if (options->name) {
                query->name = strdup(options->name);
                if (!query->name)
                        return -ENOMEM;
        }
        r = sd_event_add_defer(options->event, &query->begin, on_begin, query);
        if (r < 0)
                return r;
        *ret = TAKE(query);
        return 0;
}
