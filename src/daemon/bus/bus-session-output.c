/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * From a session to its output. What there is to move goes in batches, one a turn of the main loop and of all sessions
 * in turn, so that calls and doorbells come in between whatever is read out.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "bus/bus-emit.h"
#include "bus/bus-session.h"
#include "shared/error.h"
#include "shared/fd.h"
#include "shared/log.h"

static const OutputOps *session_output_ops(const BusSession *session) {
        return session->bus->output_ops;
}

bool bus_session_is_read_into(const BusSession *session) {
        return session->output && !session_options(session->session)->has_output;
}

static void bus_queue_pump(BusSession *session) {
        if (!list_is_linked(&session->pump_link))
                list_append(&session->bus->pumps, &session->pump_link);
        sd_event_source_set_enabled(session->bus->pump_source, SD_EVENT_ON);
}

/* It has failed, is full or is done; or there is room again. */
static void on_output_changed(void *userdata) {
        BusSession *session = userdata;
        const OutputOps *ops = session_output_ops(session);

        if (!session->output_is_due || ops->error(session->output) < 0 ||
            ops->is_full(session->output))
                bus_session_mark(session);
        else
                bus_queue_pump(session);
}

static OutputOptions session_output_options(const BusSession *session,
                                            const Perfetto__Protos__TraceConfig *config) {
        return (OutputOptions){
                .compression = compression_choose(config, session_output_ops(session)->codecs),
                .syncs = config->write_into_file &&
                         config->fflush_post_write ==
                                 PERFETTO__PROTOS__TRACE_CONFIG__FFLUSH_MODE__FFLUSH_ENABLED,
        };
}

static int session_open_output(BusSession *session,
                               const OutputOptions *options,
                               int *fd,
                               sd_bus_error *error) {
        const char *why = NULL;
        int r;

        r = session_output_ops(session)->open(&session->output,
                                              session->bus->output_host,
                                              *fd,
                                              options,
                                              on_output_changed,
                                              session,
                                              &why);
        if (r == OUTPUT_E_LIMIT)
                return bus_error_set(error,
                                     BUS_ERROR_LIMIT_EXCEEDED,
                                     "too many outputs of uid %u are being written, or cannot be; "
                                     "read or close them",
                                     (unsigned)options->uid);
        if (r == OUTPUT_E_UNUSABLE)
                return bus_error_set(
                        error, BUS_ERROR_OUTPUT_FAILED, "cannot write to the output: %s", why);
        if (r < 0)
                return sd_bus_error_set_errnof(
                        error, r, "cannot write to the output: %s", strerror(-r));
        *fd = -1;
        session->output_is_finished = false;
        session->output_is_ending = false;
        return 0;
}

int bus_session_open_output(BusSession *session,
                            uid_t uid,
                            const Config *config,
                            int *fd,
                            sd_bus_error *error) {
        OutputOptions options = session_output_options(session, config->pb);

        options.uid = uid;
        options.max_bytes = config->pb->max_file_size_bytes;
        return session_open_output(session, &options, fd, error);
}

int bus_session_read_into(BusSession *session,
                          Client *client,
                          sd_bus_message *message,
                          int *fd,
                          sd_bus_error *error) {
        OutputOptions options =
                session_output_options(session, session_config(session->session)->pb);
        int r;

        options.uid = client->identity.uid;
        r = session_open_output(session, &options, fd, error);
        if (r < 0)
                return r;
        r = session_wait(NULL, session, client, message, WAIT_READ_INTO, error);
        if (r < 0)
                session->output = session_output_ops(session)->close(session->output);
        session->output_is_due = true;
        return r;
}

static void session_output_failed(BusSession *session, int r) {
        session->output_is_due = false;
        session->output_is_finished = true;
        if (bus_session_is_read_into(session))
                return; /* the call's trouble, not the session's */
        snprintf(session->output_error,
                 sizeof(session->output_error),
                 "output-failed: %s",
                 strerror(-r));
        log_notice("session %" PRIu64 ": %s", session_id(session->session), session->output_error);
        session_stop(session->session, session->output_error, bus_now(session->bus));
        /* The last bytes fail after the stop, whose reason was signalled by then. */
        bus_emit_session_changed(session, (const char *const[]){ "StopReason", NULL });
}

static int session_move_batch(BusSession *session, size_t room) {
        const OutputOps *ops = session_output_ops(session);
        _cleanup_(bytes_deinit) Bytes bytes = {};
        bool more = false;
        int r;

        ops->borrow(session->output, &bytes);
        r = session_read(session->session,
                         MIN(room, (size_t)OUTPUT_BATCH_BYTES),
                         &bytes,
                         &more,
                         bus_now(session->bus));
        if (r)
                return error_fold(r);
        session->output_is_due = more;
        return bytes.n > 0 ? ops->push(session->output, &bytes, session->output_is_full) : 0;
}

/* A full output calls back, and the session is queued again then. */
static void session_pump(BusSession *session) {
        const OutputOps *ops = session_output_ops(session);
        size_t room;
        int r = 0;

        if (!session->output || session->output_is_finished || !session->output_is_due)
                return;
        room = ops->room(session->output);
        if (room == 0)
                return;
        r = session_move_batch(session, room);
        if (r < 0)
                session_output_failed(session, r);
        if (session->output_is_due)
                bus_queue_pump(session);
        else
                bus_session_mark(session);
}

static int on_pump(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Bus *bus = userdata;
        BusSession *session = list_first(&bus->pumps, BusSession, pump_link);

        if (session) {
                list_unlink(&session->pump_link);
                session_pump(session);
        }
        if (list_is_empty(&bus->pumps))
                sd_event_source_set_enabled(source, SD_EVENT_OFF);
        return 0;
}

/* A descriptor that is always ready takes its turn among all others. A deferred event source that enables itself again
 * does not: for sd-event it has waited for longer than any of them (seen with systemd 252). */
int bus_open_pump(Bus *bus) {
        int r;

        bus->pump_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        if (bus->pump_fd < 0)
                return -errno;
        r = sd_event_add_io(bus->event, &bus->pump_source, bus->pump_fd, EPOLLIN, on_pump, bus);
        return r < 0 ? r : sd_event_source_set_enabled(bus->pump_source, SD_EVENT_OFF);
}

void bus_close_pump(Bus *bus) {
        sd_event_source_disable_unref(bus->pump_source);
        fd_close(bus->pump_fd);
}

/* What was recorded in excess is dropped; the end of the trace still comes. */
static void session_output_became_full(BusSession *session) {
        session->output_is_full = true;
        session->output_is_finished = false;
        session->output_is_due = true;
        session_output_full(session->session, bus_now(session->bus));
}

/* From here on nothing more is recorded for it, so that it is waited for: no longer than it takes something. */
static void session_output_ending(BusSession *session) {
        if (session->output_is_ending)
                return;
        session->output_is_ending = true;
        session->output_is_due = true; /* whatever the core says is due */
        session->output_n_moved = session_output_ops(session)->n_moved(session->output);
        session->output_moved_at = bus_now(session->bus);
}

void bus_session_attend_output(BusSession *session) {
        const OutputOps *ops = session_output_ops(session);

        if (!session->output)
                return;
        if (bus_session_is_read_into(session) || session_state(session->session) == SESSION_STOPPED)
                session_output_ending(session);
        if (ops->is_full(session->output) && !session->output_is_full)
                session_output_became_full(session);
        if (session->output_is_finished)
                return;
        if (ops->error(session->output) < 0) {
                session_output_failed(session, ops->error(session->output));
        } else if (session->output_is_due) {
                bus_queue_pump(session);
        } else if (session->output_is_ending) {
                session->output_is_finished = true;
                ops->finish(session->output);
        }
}

void bus_session_check_output(BusSession *session) {
        int r;

        if (!session->output || session->output_error[0])
                return;
        r = session_output_ops(session)->error(session->output);
        if (r < 0)
                session_output_failed(session, r);
}

/* What counts as output is what is in the output: its compression and its limit know. */
void bus_session_totals(const BusSession *session, SessionTotals *ret) {
        session_totals(session->session, ret);
        if (session->output && !bus_session_is_read_into(session))
                ret->bytes_output = session_output_ops(session)->n_written(session->output);
}

uint64_t bus_session_output_deadline(const BusSession *session) {
        if (!session->output || !session->output_is_ending ||
            session_output_ops(session)->is_done(session->output))
                return UINT64_MAX;
        return session->output_moved_at + OUTPUT_STALL_NS;
}

void bus_session_output_tick(BusSession *session, uint64_t now) {
        const OutputOps *ops = session_output_ops(session);
        uint64_t n_moved;

        if (bus_session_output_deadline(session) > now)
                return;
        n_moved = ops->n_moved(session->output);
        if (n_moved == session->output_n_moved)
                ops->give_up(session->output, -ETIMEDOUT);
        session->output_n_moved = n_moved;
        session->output_moved_at = now;
        bus_session_mark(session);
}
