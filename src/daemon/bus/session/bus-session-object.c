/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The object /org/desktrace/Tracing1/session/N: properties and methods. A call here has passed the access gate, and
 * find() shows a session only to those who may see it.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "bus/link/bus-property.h"
#include "bus/link/bus-turns.h"
#include "bus/link/passed-fd.h"
#include "bus/session/bus-clone.h"
#include "bus/session/bus-options.h"
#include "bus/session/bus-session-object.h"
#include "bus/session/bus-session-output.h"
#include "bus/session/bus-session-owner.h"
#include "bus/session/bus-session.h"
#include "core/session-clone.h"
#include "shared/fd.h"

PROPERTY(get_id) {
        BusSession *session = userdata;

        return sd_bus_message_append(reply, "t", session_id(session->owned.session));
}

PROPERTY(get_name) {
        BusSession *session = userdata;

        return sd_bus_message_append(reply, "s", session_name(session->owned.session));
}

PROPERTY(get_owner_uid) {
        BusSession *session = userdata;

        return sd_bus_message_append(
                reply, "u", (uint32_t)session_options(session->owned.session)->owner.uid);
}

PROPERTY(get_scope) {
        BusSession *session = userdata;
        const SessionScope scope = session_options(session->owned.session)->scope;

        return sd_bus_message_append(reply, "s", scope == SESSION_SCOPE_SYSTEM ? "system" : "own");
}

PROPERTY(get_detached) {
        BusSession *session = userdata;

        return sd_bus_message_append(reply, "b", session_options(session->owned.session)->detached);
}

PROPERTY(get_duration) {
        BusSession *session = userdata;

        return sd_bus_message_append(
                reply, "u", session_config(session->owned.session)->pb->duration_ms);
}

PROPERTY(get_cloned_from) {
        BusSession *session = userdata;

        return sd_bus_message_append(reply, "t", session_cloned_from(session->owned.session));
}

PROPERTY(get_start_time) {
        BusSession *session = userdata;

        return sd_bus_message_append(reply, "t", session_started_at(session->owned.session));
}

/* The earlier of two ends: that of the recording, and that of the data of a session without an owner. */
PROPERTY(get_end_time) {
        BusSession *session = userdata;
        uint64_t ends_at = MIN(session_ends_at(session->owned.session),
                               owned_session_deadline(&session->owned));

        return sd_bus_message_append(reply, "t", ends_at == UINT64_MAX ? (uint64_t)0 : ends_at);
}

PROPERTY(get_state) {
        BusSession *session = userdata;

        return sd_bus_message_append(
                reply, "s", session_state_name(session_state(session->owned.session)));
}

PROPERTY(get_stop_reason) {
        return sd_bus_message_append(reply, "s", bus_session_stop_reason(userdata));
}

PROPERTY(get_sources) {
        BusSession *session = userdata;
        InstanceCursor cursor = {};
        InstanceInfo info;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(ssuus)");
        if (r < 0)
                return r;
        while (session_next_instance(session->owned.session, &cursor, &info)) {
                r = bus_append_source(reply, "(ssuus)", &info);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(reply);
}

PROPERTY(get_notes) {
        BusSession *session = userdata;
        const List *at = NULL;
        NoteInfo info;
        int r;

        r = sd_bus_message_open_container(reply, 'a', "(ssuus)");
        while (r >= 0 && session_next_note(session->owned.session, &at, &info))
                r = sd_bus_message_append(reply,
                                          "(ssuus)",
                                          info.source,
                                          info.producer,
                                          (uint32_t)info.identity.uid,
                                          (uint32_t)info.identity.pid,
                                          info.text);
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

/* One getter for all totals, which are told apart by the property's name. */
PROPERTY(get_total) {
        BusSession *session = userdata;
        SessionTotals totals;
        const struct {
                const char *name;
                const uint64_t *value;
        } fields[] = {
                { "BytesWritten", &totals.bytes_written },
                { "BytesOutput", &totals.bytes_output },
                { "ChunksLost", &totals.chunks_lost },
                { "PacketsLost", &totals.packets_lost },
        };

        bus_session_totals(session, &totals);
        for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
                if (streq(fields[i].name, property))
                        return sd_bus_message_append(reply, "t", *fields[i].value);
        return -EINVAL;
}

static int method_start(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        BusSession *session = userdata;
        int r;

        r = session_start(session->owned.session, bus_now(session->bus));
        if (r)
                return bus_error_set_session(error, "cannot start the session", r, NULL);
        return session_wait(NULL, session, session->bus->caller, message, WAIT_STARTED, error);
}

static int method_stop(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        BusSession *session = userdata;

        session_stop(session->owned.session, "requested", bus_now(session->bus));
        return session_wait(NULL, session, session->bus->caller, message, WAIT_STOPPED, error);
}

static void on_flushed(void *userdata, int outcome) {
        SessionWaiter *waiter = userdata;

        waiter->is_flushed = true;
        waiter->outcome = outcome;
        if (outcome == 0)
                waiter->outcome = bus_session_reply_silent(
                        &waiter->reply, waiter->request.message, waiter->session->owned.session);
        bus_session_mark(waiter->session);
}

static int method_flush(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        BusSession *session = userdata;
        SessionWaiter *waiter;
        uint32_t timeout_ms;
        int r;

        r = sd_bus_message_read(message, "u", &timeout_ms);
        if (r < 0)
                return r;
        r = session_wait(&waiter, session, session->bus->caller, message, WAIT_FLUSHED, error);
        if (r < 0)
                return r;
        r = session_flush(session->owned.session,
                          (uint64_t)timeout_ms * 1000000,
                          0,
                          on_flushed,
                          waiter,
                          bus_now(session->bus));
        if (r == 0)
                return 1;
        session_waiter_free(waiter);
        return bus_error_set_session(error, "cannot flush", r, NULL);
}

static int check_readable(BusSession *session, sd_bus_error *error) {
        int r;

        r = bus_session_check_own(session, error);
        if (r < 0)
                return r;
        if (session_options(session->owned.session)->has_output)
                return bus_error_set(
                        error,
                        BUS_ERROR_WRONG_STATE,
                        "cannot read: the session writes to its output; read that instead");
        if (session->owned.stream.output)
                return bus_error_set(error,
                                     BUS_ERROR_WRONG_STATE,
                                     "cannot read: another ReadInto() of this session is still "
                                     "running; wait until it has finished");
        return 0;
}

static int reply_data(sd_bus_message *message, const Bytes *data, bool more) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_message_new_method_return(message, &reply);
        if (r < 0)
                return r;
        r = sd_bus_message_append_array(reply, 'y', data->data, data->n);
        if (r < 0)
                return r;
        r = sd_bus_message_append(reply, "b", more);
        if (r < 0)
                return r;
        return sd_bus_send(NULL, reply, NULL);
}

static int method_read(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(bytes_deinit) Bytes data = {};
        BusSession *session = userdata;
        uint32_t max_bytes;
        bool more = false;
        int r;

        r = sd_bus_message_read(message, "u", &max_bytes);
        if (r < 0)
                return r;
        r = check_readable(session, error);
        if (r < 0)
                return r;
        max_bytes = max_bytes ? MIN(max_bytes, (uint32_t)OUTPUT_BATCH_BYTES) : OUTPUT_BATCH_BYTES;
        max_bytes =
                (uint32_t)MIN((size_t)max_bytes, bus_turns_read_bytes_max(session->bus->caller));
        r = session_read(session->owned.session, max_bytes, &data, &more, bus_now(session->bus));
        if (r)
                return bus_error_set_session(error, "cannot read", r, NULL);
        bus_counters_changed(session->bus);
        return reply_data(message, &data, more);
}

static int method_read_into(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        BusSession *session = userdata;
        const Client *client = session->bus->caller;
        int stand_in, fd, r;

        r = sd_bus_message_read(message, "h", &stand_in);
        if (r < 0)
                return r;
        r = check_readable(session, error);
        if (r < 0)
                return r;
        r = passed_fd_take(&fd, stand_in, error);
        if (r < 0)
                return r;
        r = bus_session_read_into(session, session->bus->caller, message, &fd, error);
        passed_fd_close(client, fd);
        return r;
}

static int method_free(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        BusSession *session = userdata;
        int r;

        r = bus_session_check_own(session, error);
        if (r < 0)
                return r;
        if (session_options(session->owned.session)->has_output &&
            !owned_session_is_finished(&session->owned)) {
                session_stop(session->owned.session, "requested", bus_now(session->bus));
                session->owned.free_when_finished = true;
                return session_wait(
                        NULL, session, session->bus->caller, message, WAIT_FREED, error);
        }
        bus_session_free(session);
        return sd_bus_reply_method_return(message, "");
}

static int method_change_config(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(config_freep) Config *config = NULL;
        BusSession *session = userdata;
        SessionError why = {};
        int r;

        r = config_options_read(&config, "ChangeConfig", message, error);
        if (r < 0)
                return r;
        r = session_change_config(session->owned.session, config, &why, bus_now(session->bus));
        if (r)
                return bus_error_set_session(error, "cannot change the config", r, &why);
        config = NULL;
        return sd_bus_reply_method_return(message, "");
}

#define CONST   SD_BUS_VTABLE_PROPERTY_CONST
#define CHANGES SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE

/* sd-bus lets everybody call; the access gate (bus-access.h) decides. */
#define GATED SD_BUS_VTABLE_UNPRIVILEGED

const sd_bus_vtable bus_session_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD("Start", "", "", method_start, GATED),
        SD_BUS_METHOD_WITH_NAMES("Stop", "", , "a(ssuu)", SD_BUS_PARAM(silent), method_stop, GATED),
        SD_BUS_METHOD_WITH_NAMES("Flush",
                                 "u",
                                 SD_BUS_PARAM(timeout_ms),
                                 "a(ssuu)",
                                 SD_BUS_PARAM(silent),
                                 method_flush,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("Read",
                                 "u",
                                 SD_BUS_PARAM(max_bytes),
                                 "ayb",
                                 SD_BUS_PARAM(data) SD_BUS_PARAM(more),
                                 method_read,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("ReadInto",
                                 "h",
                                 SD_BUS_PARAM(output),
                                 "t",
                                 SD_BUS_PARAM(n_bytes),
                                 method_read_into,
                                 GATED),
        SD_BUS_METHOD("Free", "", "", method_free, GATED),
        SD_BUS_METHOD_WITH_NAMES("ChangeConfig",
                                 "a{sv}",
                                 SD_BUS_PARAM(options),
                                 "",
                                 ,
                                 method_change_config,
                                 GATED),
        SD_BUS_METHOD("Attach", "", "", bus_method_attach, GATED),
        SD_BUS_METHOD("Detach", "", "", bus_method_detach, GATED),
        SD_BUS_METHOD_WITH_NAMES("Clone",
                                 "a{sv}",
                                 SD_BUS_PARAM(options),
                                 "o",
                                 SD_BUS_PARAM(clone),
                                 bus_method_clone,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("GetBufferStats",
                                 "",
                                 ,
                                 "aa{sv}",
                                 SD_BUS_PARAM(buffers),
                                 bus_method_get_buffer_stats,
                                 GATED),
        SD_BUS_METHOD_WITH_NAMES("GetWriterStats",
                                 "",
                                 ,
                                 "aa{sv}",
                                 SD_BUS_PARAM(writers),
                                 bus_method_get_writer_stats,
                                 GATED),
        SD_BUS_SIGNAL("AllSourcesStarted", "", 0),
        SD_BUS_SIGNAL_WITH_NAMES("SourceStateChanged",
                                 "ssuus",
                                 SD_BUS_PARAM(source) SD_BUS_PARAM(producer) SD_BUS_PARAM(uid)
                                         SD_BUS_PARAM(pid) SD_BUS_PARAM(state),
                                 0),
        SD_BUS_SIGNAL_WITH_NAMES("Triggered",
                                 "ssu",
                                 SD_BUS_PARAM(trigger) SD_BUS_PARAM(producer) SD_BUS_PARAM(uid),
                                 0),
        SD_BUS_SIGNAL_WITH_NAMES("SnapshotTaken",
                                 "os",
                                 SD_BUS_PARAM(clone) SD_BUS_PARAM(trigger),
                                 0),
        SD_BUS_SIGNAL_WITH_NAMES("Stopped", "s", SD_BUS_PARAM(reason), 0),
        SD_BUS_PROPERTY("Id", "t", get_id, 0, CONST),
        SD_BUS_PROPERTY("Name", "s", get_name, 0, CONST),
        SD_BUS_PROPERTY("OwnerUID", "u", get_owner_uid, 0, CONST),
        SD_BUS_PROPERTY("Scope", "s", get_scope, 0, CONST),
        SD_BUS_PROPERTY("Detached", "b", get_detached, 0, CHANGES),
        SD_BUS_PROPERTY("DurationMSec", "u", get_duration, 0, CONST),
        SD_BUS_PROPERTY("ClonedFrom", "t", get_cloned_from, 0, CONST),
        SD_BUS_PROPERTY("StartTime", "t", get_start_time, 0, 0),
        SD_BUS_PROPERTY("EndTime", "t", get_end_time, 0, 0),
        SD_BUS_PROPERTY("State", "s", get_state, 0, CHANGES),
        SD_BUS_PROPERTY("StopReason", "s", get_stop_reason, 0, CHANGES),
        SD_BUS_PROPERTY("Sources", "a(ssuus)", get_sources, 0, CHANGES),
        SD_BUS_PROPERTY("Notes", "a(ssuus)", get_notes, 0, CHANGES),
        SD_BUS_PROPERTY("BytesWritten", "t", get_total, 0, CHANGES),
        SD_BUS_PROPERTY("BytesOutput", "t", get_total, 0, CHANGES),
        SD_BUS_PROPERTY("ChunksLost", "t", get_total, 0, CHANGES),
        SD_BUS_PROPERTY("PacketsLost", "t", get_total, 0, CHANGES),
        SD_BUS_VTABLE_END,
};

int bus_session_find(sd_bus *connection,
                     const char *path,
                     const char *interface,
                     void *userdata,
                     void **ret_found,
                     sd_bus_error *error) {
        Bus *bus = userdata;
        BusSession *session = bus_session_by_path(bus, path);

        if (!session || !streq(session->path, path) || !bus->caller ||
            !bus_session_is_visible(session, bus->caller))
                return 0;
        *ret_found = session;
        return 1;
}

/* Appends the session's nodes to the n that are there. If memory runs out the list ends early: sd-bus frees what it
 * gets. */
static size_t session_add_nodes(const BusSession *session, char **nodes, size_t n) {
        nodes[n] = strdup(session->path);
        if (!nodes[n])
                return n;
        n++;
        for (size_t i = 0; i < session->n_buffers; i++) {
                nodes[n] = strdup(session->buffers[i].path);
                if (!nodes[n])
                        return n;
                n++;
        }
        return n;
}

int bus_session_enumerate(sd_bus *connection,
                          const char *prefix,
                          void *userdata,
                          char ***ret_nodes,
                          sd_bus_error *error) {
        Bus *bus = userdata;
        BusSession *session;
        char **nodes;
        size_t n = 1;

        list_for_each (session, &bus->sessions.all, owned.link) {
                n += 1 + session->n_buffers;
        }
        nodes = calloc(n, sizeof(*nodes));
        if (!nodes)
                return -ENOMEM;
        n = 0;
        list_for_each (session, &bus->sessions.all, owned.link) {
                if (bus->caller && bus_session_is_visible(session, bus->caller))
                        n = session_add_nodes(session, nodes, n);
        }
        *ret_nodes = nodes;
        return 0;
}
