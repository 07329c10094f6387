/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Session stream: moves data from a session to its output in batches, one in each turn of the main loop */

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "output/session-stream.h"
#include "shared/error.h"
#include "shared/fd.h"
#include "shared/log-user.h"

static uint64_t pump_now(const OutputPump *pump) {
        uint64_t usec;

        if (sd_event_now(pump->event, CLOCK_BOOTTIME, &usec) < 0)
                return 0; /* only after a fork, which never happens */
        return usec * 1000;
}

static bool output_is_own(const SessionStream *output) {
        return session_options(output->session)->has_output;
}

bool session_stream_is_read(const SessionStream *output) {
        return output->output && !output_is_own(output);
}

static void output_queue(SessionStream *output) {
        if (!list_is_linked(&output->pump_link))
                list_append(&output->pump->queue, &output->pump_link);
        sd_event_source_set_enabled(output->pump->source, SD_EVENT_ON);
}

/* Called when the output has failed, is full or is done, or when there is room again. */
static void on_output_changed(void *userdata) {
        SessionStream *output = userdata;
        const OutputOps *ops = output->pump->ops;

        if (!output->is_due || ops->error(output->output) < 0 || ops->is_full(output->output))
                output->changed(output);
        else
                output_queue(output);
}

void session_stream_init(SessionStream *output,
                         OutputPump *pump,
                         void (*changed)(SessionStream *output),
                         void (*failed)(SessionStream *output)) {
        *output = (SessionStream){ .pump = pump, .changed = changed, .failed = failed };
        list_init(&output->pump_link);
}

void session_stream_close(SessionStream *output) {
        if (output->output)
                output->output = output->pump->ops->close(output->output);
}

void session_stream_deinit(SessionStream *output) {
        if (!output->pump)
                return;
        session_stream_close(output);
        list_unlink(&output->pump_link);
}

static OutputOptions output_options(const SessionStream *output,
                                    uid_t user,
                                    const Perfetto__Protos__TraceConfig *config) {
        return (OutputOptions){
                .user = user,
                .compression = compression_choose(config, output->pump->ops->codecs),
                .syncs = config->write_into_file &&
                         config->fflush_post_write ==
                                 PERFETTO__PROTOS__TRACE_CONFIG__FFLUSH_MODE__FFLUSH_ENABLED,
        };
}

static int
output_open(SessionStream *output, const OutputOptions *options, int *fd, const char **ret_why) {
        const OutputPump *pump = output->pump;
        int r;

        *ret_why = NULL;
        r = pump->ops->open(
                &output->output, pump->host, *fd, options, on_output_changed, output, ret_why);
        if (r)
                return r;
        *fd = -1;
        output->is_finished = false;
        output->is_ending = false;
        return 0;
}

int session_stream_open(SessionStream *output,
                        uid_t user,
                        const Config *config,
                        int *fd,
                        const char **ret_why) {
        OutputOptions options = output_options(output, user, config->pb);

        options.max_bytes = config->pb->max_file_size_bytes;
        return output_open(output, &options, fd, ret_why);
}

int session_stream_open_kept(SessionStream *output,
                             uid_t user,
                             const Config *config,
                             int *fd,
                             int *outbox,
                             const char **ret_why) {
        OutputOptions options = output_options(output, user, config->pb);

        options.max_bytes = config->pb->max_file_size_bytes;
        options.is_kept = true;
        options.outbox = *outbox >= 0 ? outbox : NULL;
        return output_open(output, &options, fd, ret_why);
}

void session_stream_go_on(SessionStream *output) {
        output->is_full = output->pump->ops->has_end(output->output);
        session_stream_due(output);
}

uint64_t session_stream_n_packets(const SessionStream *output) {
        const OutputOps *ops = output->pump->ops;

        return ops->n_packets(output->output) - ops->n_lost(output->output);
}

uint64_t session_stream_said(const SessionStream *output) {
        return output->pump->ops->said(output->output);
}

int session_stream_open_read(SessionStream *output, uid_t user, int *fd, const char **ret_why) {
        const OutputOptions options =
                output_options(output, user, session_config(output->session)->pb);
        int r;

        r = output_open(output, &options, fd, ret_why);
        if (r == 0)
                output->is_due = true;
        return r;
}

void session_stream_copy(SessionStream *output, const SessionStream *original) {
        if (output->output && original->output && !session_stream_is_read(original))
                output->pump->ops->copy(output->output, original->output);
}

static void output_failed(SessionStream *output, int r) {
        output->is_due = false;
        output->is_finished = true;
        if (session_stream_is_read(output))
                return; /* this concerns the read alone, not the session */
        snprintf(output->error, sizeof(output->error), "output-failed: %s", strerror(-r));
        log_user(session_options(output->session)->owner.uid,
                 LOG_NOTICE,
                 "session %" PRIu64 ": %s",
                 session_id(output->session),
                 output->error);
        session_stop(output->session, output->error, pump_now(output->pump));
        output->failed(output);
}

void session_stream_due(SessionStream *output) {
        output->is_due = true;
        output->changed(output);
}

static int output_move_batch(SessionStream *output, size_t room) {
        const OutputOps *ops = output->pump->ops;
        const uint64_t n_before = session_n_packets_read(output->session);
        _cleanup_(bytes_deinit) Bytes bytes = {};
        uint64_t n_packets;
        bool more = false;
        int r;

        ops->borrow(output->output, &bytes);
        r = session_read(output->session,
                         MIN(room, (size_t)OUTPUT_BATCH_BYTES),
                         &bytes,
                         &more,
                         pump_now(output->pump));
        if (r)
                return error_fold(r);
        output->is_due = more;
        n_packets = session_n_packets_read(output->session);
        if (bytes.n == 0 && n_packets == n_before)
                return 0;
        ops->note_read(output->output, n_packets, session_said(output->session));
        return ops->push(output->output, &bytes, output->is_full);
}

/* A full output calls back, and the session is queued again then. */
static void output_pump_one(SessionStream *output) {
        size_t room;
        int r = 0;

        if (!output->output || output->is_finished || !output->is_due)
                return;
        room = output->pump->ops->room(output->output);
        if (room == 0)
                return;
        r = output_move_batch(output, room);
        if (r < 0)
                output_failed(output, r);
        if (output->is_due)
                output_queue(output);
        else
                output->changed(output);
}

static int on_pump(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        OutputPump *pump = userdata;
        SessionStream *output = list_first(&pump->queue, SessionStream, pump_link);

        if (output) {
                list_unlink(&output->pump_link);
                output_pump_one(output);
        }
        if (list_is_empty(&pump->queue))
                sd_event_source_set_enabled(source, SD_EVENT_OFF);
        return 0;
}

/* A descriptor that is always ready takes its turn among all others. A deferred event source that enables itself
 * again does not: for sd-event it has waited for longer than any of them (seen with systemd 252). */
int output_pump_init(OutputPump *pump, sd_event *event, const OutputOps *ops, void *host) {
        int r;

        *pump = (OutputPump){
                .event = event, .fd = -1, .stall_ns = OUTPUT_STALL_NS, .ops = ops, .host = host
        };
        list_init(&pump->queue);
        pump->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        if (pump->fd < 0)
                return -errno;
        r = sd_event_add_io(event, &pump->source, pump->fd, EPOLLIN, on_pump, pump);
        return r < 0 ? r : sd_event_source_set_enabled(pump->source, SD_EVENT_OFF);
}

void output_pump_deinit(OutputPump *pump) {
        if (!pump->event)
                return;
        assert(list_is_empty(&pump->queue));
        sd_event_source_disable_unref(pump->source);
        fd_close(pump->fd);
        pump->event = NULL;
}

/* Data that no longer fits is dropped; the end of the trace is still written. */
static void output_became_full(SessionStream *output) {
        output->is_full = true;
        output->is_finished = false;
        output->is_due = true;
        session_output_full(output->session, pump_now(output->pump));
}

/* From here on nothing more is recorded for it. The output is waited for as long as it makes progress. */
static void output_ending(SessionStream *output) {
        if (output->is_ending)
                return;
        output->is_ending = true;
        output->is_due = true; /* everything that the core says is due */
        output->n_moved = output->pump->ops->n_moved(output->output);
        output->moved_at = pump_now(output->pump);
}

void session_stream_attend(SessionStream *output) {
        const OutputOps *ops = output->pump->ops;

        if (!output->output)
                return;
        if (session_stream_is_read(output) || session_state(output->session) == SESSION_STOPPED)
                output_ending(output);
        if (ops->is_full(output->output) && !output->is_full)
                output_became_full(output);
        if (output->is_finished)
                return;
        if (ops->error(output->output) < 0) {
                output_failed(output, ops->error(output->output));
        } else if (output->is_due) {
                output_queue(output);
        } else if (output->is_ending) {
                output->is_finished = true;
                ops->finish(output->output);
        }
}

void session_stream_check(SessionStream *output) {
        int r;

        if (!output->output || output->error[0])
                return;
        r = session_stream_status(output);
        if (r < 0)
                output_failed(output, r);
}

bool session_stream_is_settled(const SessionStream *output) {
        return session_state(output->session) == SESSION_STOPPED &&
               (!output_is_own(output) || session_stream_is_done(output));
}

bool session_stream_is_done(const SessionStream *output) {
        return output->pump->ops->is_done(output->output);
}

int session_stream_status(const SessionStream *output) {
        return output->pump->ops->error(output->output);
}

uint64_t session_stream_n_written(const SessionStream *output) {
        return output->pump->ops->n_written(output->output);
}

uint64_t session_stream_deadline(const SessionStream *output) {
        if (!output->output || !output->is_ending || session_stream_is_done(output))
                return UINT64_MAX;
        return output->moved_at + output->pump->stall_ns;
}

void session_stream_tick(SessionStream *output, uint64_t now) {
        const OutputOps *ops = output->pump->ops;
        uint64_t n_moved;

        if (session_stream_deadline(output) > now)
                return;
        n_moved = ops->n_moved(output->output);
        if (n_moved == output->n_moved)
                ops->give_up(output->output, -ETIMEDOUT);
        output->n_moved = n_moved;
        output->moved_at = now;
        output->changed(output);
}
