/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * The session is driven by asynchronous calls, one at a time; each reply takes the recording to its next state.
 *
 *      STARTING ─▶ RUNNING ─▶ STOPPING ─▶ READING ─▶ LOOKING ─▶ FREEING ─▶ DONE
 *
 * A session that ended on its own is stopped, too: the reply names silent producers. A detached one is done when it
 * is known what it does not record. One that records nothing at all is stopped then.
 *
 * When the service has gone, another process of it may go on with the session (outage.h): what was asked of the first
 * is asked again.
 */

#include <assert.h>
#include <errno.h>
#include <glib/gi18n.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>

#include "client/outage.h"
#include "client/process.h"
#include "client/progress.h"
#include "client/record-own.h"
#include "client/recording.h"
#include "client/say.h"
#include "client/session-calls.h"
#include "client/silent-sources.h"
#include "client/standalone.h"
#include "shared/fd.h"
#include "shared/names.h"

#define PROGRESS_PERIOD_USEC (UINT64_C(250) * 1000)
#define COMMAND_GRACE_MS     2000
#define PROPERTIES_INTERFACE "org.freedesktop.DBus.Properties"

typedef enum RecordingState {
        RECORDING_STARTING, /* StartSession() or Attach() is under way, perhaps with a question for a
                               password */
        RECORDING_RUNNING,
        RECORDING_STOPPING, /* Stop() has been called */
        RECORDING_READING, /* the buffers are being read into our file, or snapshots into their own */
        RECORDING_LOOKING, /* the last look at the session's properties */
        RECORDING_FREEING,
        RECORDING_DONE,
} RecordingState;

typedef struct Recording {
        const RecordingOptions *options;
        RecordingResult *result;
        RecordingState state;
        ExitStatus status;
        sd_event *event;
        sd_event_source *command_source, *progress_source;
        sd_bus_slot *call; /* the one that takes over our session */
        sd_bus_slot *progress_call;
        sd_bus_slot *notes_call;
        sd_bus_slot *stopped_match;
        Outage outage;
        pid_t command;
        uint64_t started_usec;
        bool is_warned; /* the user was told what another Ctrl-C does */
        Progress progress;
        SnapshotWriter snapshots;
        sd_bus_message *own_start; /* used if that of the options is denied; or NULL */
        int probes_fd; /* connection to the probes, held until the recording begins; only root has one; -1: none */
} Recording;

/* Handles a reply; `reply` is not an error. */
typedef int (*RecordingReply)(Recording *recording, sd_bus_message *reply);

void recording_result_deinit(RecordingResult *result) {
        g_clear_pointer(&result->session_path, g_free);
        session_info_deinit(&result->info);
        g_clear_pointer(&result->silent, g_ptr_array_unref);
}

static void recording_deinit(Recording *recording) {
        progress_clear(&recording->progress);
        sd_bus_slot_unref(recording->call);
        sd_bus_slot_unref(recording->progress_call);
        sd_bus_slot_unref(recording->notes_call);
        sd_bus_slot_unref(recording->stopped_match);
        outage_deinit(&recording->outage);
        snapshot_writer_deinit(&recording->snapshots);
        sd_event_source_disable_unref(recording->command_source);
        sd_event_source_disable_unref(recording->progress_source);
        process_end(&recording->command, COMMAND_GRACE_MS);
        sd_bus_detach_event(recording->options->client->bus);
        sd_event_unref(recording->event);
        sd_bus_message_unref(recording->own_start);
        fd_close(recording->probes_fd);
}

/* Ends the loop. Only the first failure counts. */
static int recording_done(Recording *recording, ExitStatus status) {
        if (recording->state == RECORDING_DONE)
                return 0;
        recording->state = RECORDING_DONE;
        recording->status = status;
        return sd_event_exit(recording->event, 0);
}

static int recording_fail(Recording *recording, const sd_bus_error *error) {
        progress_clear(&recording->progress);
        return recording_done(recording, bus_client_say_error(error));
}

static int recording_fail_errno(Recording *recording, int r) {
        progress_clear(&recording->progress);
        return recording_done(recording, bus_client_say_errno(r));
}

/*
 * Calls
 */

static int recording_call(Recording *recording,
                          const char *member,
                          sd_bus_message_handler_t on_reply,
                          uint64_t timeout_usec) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        const BusClient *client = recording->options->client;
        int r;

        recording->call = sd_bus_slot_unref(recording->call);
        r = bus_client_new_call(client,
                                &message,
                                recording->result->session_path,
                                TRACING_SESSION_INTERFACE,
                                member);
        if (r >= 0 && streq(member, "ReadInto"))
                r = sd_bus_message_append(message, "h", recording->options->ring_fd);
        if (r >= 0)
                r = sd_bus_call_async(
                        client->bus, &recording->call, message, on_reply, recording, timeout_usec);
        return r < 0 ? recording_fail_errno(recording, r) : 0;
}

static int
recording_get_info(Recording *recording, sd_bus_slot **slot, sd_bus_message_handler_t on_reply) {
        const BusClient *client = recording->options->client;

        *slot = sd_bus_slot_unref(*slot);
        return sd_bus_call_method_async(client->bus,
                                        slot,
                                        client->destination,
                                        recording->result->session_path,
                                        PROPERTIES_INTERFACE,
                                        "GetAll",
                                        on_reply,
                                        recording,
                                        "s",
                                        TRACING_SESSION_INTERFACE);
}

/* Asks for the properties, for what comes next. */
static int recording_ask(Recording *recording, sd_bus_message_handler_t on_reply) {
        int r = recording_get_info(recording, &recording->call, on_reply);

        return r < 0 ? recording_fail_errno(recording, r) : 0;
}

/* Reports each note once: those of the start when it records, later ones at the end. */
static void recording_say_notes(Recording *recording) {
        RecordingResult *result = recording->result;

        if (recording->options->is_quiet || result->info.notes->len <= result->n_notes_said)
                return;
        progress_clear(&recording->progress);
        session_info_say_notes(&result->info, result->n_notes_said);
        result->n_notes_said = result->info.notes->len;
}

static int on_freed(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;

        /* The session ends with our connection anyway, and everything in it has been read. */
        return recording_done(recording, STATUS_OK);
}

static int on_last_info(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;

        if (!sd_bus_message_is_method_error(reply, NULL))
                session_info_read(&recording->result->info, reply);
        recording_say_notes(recording);
        recording->state = RECORDING_FREEING;
        return recording_call(recording, "Free", on_freed, SESSION_STOP_TIMEOUT_USEC);
}

static int recording_look(Recording *recording) {
        recording->state = RECORDING_LOOKING;
        return recording_ask(recording, on_last_info);
}

static int on_read(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;

        if (sd_bus_message_is_method_error(reply, NULL))
                return recording_fail(recording, sd_bus_message_get_error(reply));
        return recording_look(recording);
}

static void on_snapshots_written(void *userdata) {
        Recording *recording = userdata;

        recording->result->n_snapshots = recording->snapshots.n_written;
        recording->result->snapshot_status = recording->snapshots.status;
        recording_look(recording);
}

/* The session has stopped. */
static int recording_ended(Recording *recording) {
        outage_end(&recording->outage); /* Stop() may have been its end */
        progress_clear(&recording->progress);
        recording->progress_source = sd_event_source_disable_unref(recording->progress_source);
        recording->progress_call = sd_bus_slot_unref(recording->progress_call);
        recording->state = RECORDING_READING;
        if (recording->options->snapshots) {
                int r = snapshot_writer_finish(
                        &recording->snapshots, on_snapshots_written, recording);

                return r < 0 ? recording_fail_errno(recording, r) : 0;
        }
        if (recording->options->ring_fd < 0)
                return recording_look(recording);
        return recording_call(recording, "ReadInto", on_read, SESSION_READ_TIMEOUT_USEC);
}

static int on_stop_replied(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;
        int r;

        if (outage_has_lost(&recording->outage, reply))
                return 0;
        if (sd_bus_message_is_method_error(reply, NULL))
                return recording_fail(recording, sd_bus_message_get_error(reply));
        r = silent_sources_read(&recording->result->silent, reply);
        return r < 0 ? recording_fail_errno(recording, r) : recording_ended(recording);
}

static int recording_stop(Recording *recording) {
        if (recording->state != RECORDING_RUNNING)
                return 0;
        recording->state = RECORDING_STOPPING;
        return recording_call(recording, "Stop", on_stop_replied, SESSION_STOP_TIMEOUT_USEC);
}

/*
 * What happens on its own
 */

static int on_stopped_signal(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;
        const char *path = recording->result->session_path;

        if (!path || !streq(sd_bus_message_get_path(message), path))
                return 0;
        return recording_stop(recording); /* does nothing if we have stopped it */
}

static int recording_match(Recording *recording) {
        const BusClient *client = recording->options->client;
        int r = 0;

        if (recording->options->snapshots)
                r = snapshot_writer_match(&recording->snapshots);
        return r < 0 ? r
                     : sd_bus_match_signal(client->bus,
                                           &recording->stopped_match,
                                           client->destination,
                                           NULL,
                                           TRACING_SESSION_INTERFACE,
                                           "Stopped",
                                           on_stopped_signal,
                                           recording);
}

static int recording_fail_lost(Recording *recording) {
        say_error(_("the service failed, and its next process could not continue the recording"));
        progress_clear(&recording->progress);
        return recording_done(recording, STATUS_NO_SERVICE);
}

static void recording_say_outage(Recording *recording, uint64_t usec) {
        progress_clear(&recording->progress);
        if (!recording->options->is_quiet)
                fprintf(stderr,
                        _("The service was away for %.2f s; the recording goes on.\n"),
                        (double)usec / 1e6);
}

/* It is as it was, or it has ended meanwhile. */
static int on_back_info(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;
        SessionInfo *info = &recording->result->info;

        if (outage_has_lost(&recording->outage, reply))
                return 0; /* gone again */
        if (sd_bus_message_is_method_error(reply, NULL) || session_info_read(info, reply) < 0)
                return recording_fail_lost(recording);
        recording_say_outage(recording, outage_end(&recording->outage));
        recording_say_notes(recording);
        if (recording->state == RECORDING_STOPPING)
                recording->state = RECORDING_RUNNING;
        else if (!streq(info->state, "stopped"))
                return 0;
        return recording_stop(recording);
}

static int on_taken_over(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;

        if (outage_has_lost(&recording->outage, reply))
                return 0; /* gone again */
        return sd_bus_message_is_method_error(reply, NULL) ? recording_fail_lost(recording)
                                                           : recording_ask(recording, on_back_info);
}

/* On a message bus the session still belongs to our connection. */
static int on_service_back(void *userdata) {
        Recording *recording = userdata;

        if (recording->options->client->destination)
                return recording_ask(recording, on_back_info);
        return recording_call(recording, "Attach", on_taken_over, BUS_START_TIMEOUT_USEC);
}

static int on_service_lost(void *userdata) {
        Recording *recording = userdata;

        if (!recording->result->is_started)
                return 0; /* the call's own error says more */
        if (outage_is_on(&recording->outage) && !recording->options->client->destination)
                return recording_fail_lost(recording);
        return recording_fail_errno(recording, -ECONNRESET);
}

/* A read that was under way ends with the service and cannot be resumed. */
static bool recording_can_go_on(void *userdata) {
        const Recording *recording = userdata;

        return recording->result->is_started &&
               (recording->state == RECORDING_RUNNING || recording->state == RECORDING_STOPPING);
}

static int on_connected(void *userdata) {
        Recording *recording = userdata;

        recording->call = sd_bus_slot_unref(recording->call);
        recording->progress_call = sd_bus_slot_unref(recording->progress_call);
        recording->notes_call = sd_bus_slot_unref(recording->notes_call);
        recording->stopped_match = sd_bus_slot_unref(recording->stopped_match);
        return recording_match(recording);
}

static int on_command_ended(sd_event_source *source, const siginfo_t *info, void *userdata) {
        Recording *recording = userdata;

        recording->command = 0;
        recording->result->command_status =
                info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;
        return recording_stop(recording);
}

static int recording_give_up(Recording *recording) {
        recording->result->is_discarded = true;
        return recording_done(recording, STATUS_FAILED);
}

/* Warns only once: a second Ctrl-C is meant, even if the recording was already ending on its own at the first one. */
static void recording_warn(Recording *recording) {
        recording->is_warned = true;
        progress_clear(&recording->progress);
        if (!recording->options->is_quiet)
                fputs(recording->options->snapshots
                              ? _("Stopping; press Ctrl-C again to abandon unwritten data.\n")
                              : _("Stopping; press Ctrl-C again to discard the recording.\n"),
                      stderr);
}

static int
on_interrupt(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata) {
        Recording *recording = userdata;

        if (recording->state == RECORDING_STARTING) {
                say_error(_("cancelled before anything was recorded"));
                return recording_give_up(recording);
        }
        /* We are about to exit, and have to report the session's number first. */
        if (recording->state == RECORDING_RUNNING && recording->options->is_detached)
                return 0;
        if (!recording->is_warned) {
                recording_warn(recording);
                return recording_stop(recording); /* does nothing if it has ended on its own */
        }
        progress_clear(&recording->progress);
        if (!recording->options->is_quiet)
                fputs(_("Discarded.\n"), stderr);
        return recording_give_up(recording);
}

static int on_progress_info(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;
        SessionInfo *info = &recording->result->info;
        uint64_t now;

        if (sd_bus_message_is_method_error(reply, NULL) || session_info_read(info, reply) < 0)
                return 0; /* only for show */
        if (!recording->options->snapshots && !streq(info->state, "configured"))
                recording->progress.label = _("Recording:");
        sd_event_now(recording->event, CLOCK_MONOTONIC, &now);
        progress_draw(&recording->progress,
                      (now - recording->started_usec) * 1000,
                      MAX(info->n_bytes_written, info->n_bytes_output),
                      info->n_chunks_lost + info->n_packets_lost);
        return 0;
}

static int on_progress_due(sd_event_source *source, uint64_t usec, void *userdata) {
        Recording *recording = userdata;

        recording_get_info(recording, &recording->progress_call, on_progress_info);
        sd_event_source_set_time_relative(source, PROGRESS_PERIOD_USEC);
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/*
 * The start
 */

static int recording_start_command(Recording *recording) {
        const RecordingOptions *options = recording->options;
        const ProcessSpec spec = { .argv = options->command,
                                   .variables = options->command_variables,
                                   .is_without_stdout = options->owns_stdout };
        int r;

        if (!options->command)
                return 0;
        r = process_spawn(&recording->command, &spec);
        if (r < 0) {
                say_error(_("cannot run %s: %s"), options->command[0], g_strerror(-r));
                recording->result->is_discarded = true;
                return recording_done(recording,
                                      r == -ENOENT ? STATUS_COMMAND_NOT_FOUND : STATUS_CANNOT_RUN);
        }
        r = sd_event_add_child(recording->event,
                               &recording->command_source,
                               recording->command,
                               WEXITED,
                               on_command_ended,
                               recording);
        return r < 0 ? recording_fail_errno(recording, r) : 0;
}

/* They were refused, or their producer could not be started: none of them will come. */
static bool source_is_in_vain(const SessionSource *source) {
        return g_str_has_prefix(source->state, "failed: ") ||
               (streq(source->state, "missing") && standalone_is_probe_source(source->source));
}

static bool recording_is_in_vain(const Recording *recording) {
        const GArray *sources = recording->result->info.sources;

        if (!recording->options->may_be_in_vain || sources->len == 0)
                return false;
        for (guint i = 0; i < sources->len; i++)
                if (!source_is_in_vain(&g_array_index(sources, SessionSource, i)))
                        return false;
        return true;
}

/* The command starts once it is certain that something records it. */
static int on_first_info(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;
        bool is_known = !sd_bus_message_is_method_error(reply, NULL) &&
                        session_info_read(&recording->result->info, reply) >= 0;

        if (is_known)
                recording_say_notes(recording);
        if (recording->state != RECORDING_RUNNING)
                return 0;
        if (is_known && recording_is_in_vain(recording)) {
                recording->result->is_in_vain = true;
                return recording_stop(recording);
        }
        if (recording->options->is_detached)
                return recording_done(recording, STATUS_OK);
        return recording_start_command(recording);
}

/* It records now, so what was requested together with it begins. */
static int recording_is_running(Recording *recording) {
        const RecordingOptions *options = recording->options;
        int r;

        recording->result->is_started = true;
        recording->state = RECORDING_RUNNING;
        r = recording_get_info(recording, &recording->notes_call, on_first_info);
        if (r < 0 || options->is_detached)
                return r < 0 ? recording_fail_errno(recording, r) : 0;
        if (options->snapshots)
                snapshot_writer_set_session(&recording->snapshots, recording->result->session_path);
        sd_event_now(recording->event, CLOCK_MONOTONIC, &recording->started_usec);
        if (recording->progress.is_on)
                sd_event_add_time_relative(recording->event,
                                           &recording->progress_source,
                                           CLOCK_MONOTONIC,
                                           0,
                                           0,
                                           on_progress_due,
                                           recording);
        if (options->on_running)
                options->on_running(options, recording->result);
        return 0;
}

/* The probes believe that root wants something only while root is connected. Returns false if there was no need, or
 * no success. */
static bool recording_speak_for_root(Recording *recording, const sd_bus_error *error) {
        static const struct sockaddr_un address = { AF_UNIX, TRACING_PROBES_SOCKET };

        if (!sd_bus_error_has_name(error, TRACING_ERROR_ROOT_IS_SILENT) ||
            recording->probes_fd >= 0)
                return false;
        recording->probes_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        return recording->probes_fd >= 0 &&
               connect(recording->probes_fd, (const struct sockaddr *)&address, sizeof(address)) >=
                       0;
}

/* Tries once more, with only what needs no permission. Returns false if there is no such start. */
static bool recording_make_do(Recording *recording, const sd_bus_error *error) {
        const RecordingOptions *options = recording->options;
        const ExitStatus status = exit_status_of_bus_error(error->name);

        if (recording->own_start || !options->preset ||
            (status != STATUS_NOT_AUTHORIZED && status != STATUS_NEEDS_AUTHENTICATION))
                return false;
        progress_clear(&recording->progress);
        recording->own_start =
                record_own_start(options->preset, options->client, options->output_fd);
        return recording->own_start;
}

static int recording_begin(Recording *recording);

static int on_started(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;
        const char *path;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL) &&
            (recording_speak_for_root(recording, sd_bus_message_get_error(reply)) ||
             recording_make_do(recording, sd_bus_message_get_error(reply)))) {
                recording->call = sd_bus_slot_unref(recording->call);
                r = recording_begin(recording);
                return r < 0 ? recording_fail_errno(recording, r) : 0;
        }
        recording->probes_fd = fd_close(recording->probes_fd);
        if (sd_bus_message_is_method_error(reply, NULL))
                return recording_fail(recording, sd_bus_message_get_error(reply));
        r = sd_bus_message_read(reply, "o", &path);
        if (r < 0)
                return recording_fail_errno(recording, r);
        recording->result->session_path = g_strdup(path);
        return recording_is_running(recording);
}

/* It may have stopped before we took it over, and then no signal comes. */
static int on_attached_info(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;
        SessionInfo *info = &recording->result->info;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL))
                return recording_fail(recording, sd_bus_message_get_error(reply));
        r = session_info_read(info, reply);
        if (r < 0)
                return recording_fail_errno(recording, r);
        r = recording_is_running(recording);
        if (r < 0 || !info->state || !streq(info->state, "stopped"))
                return r;
        return recording_stop(recording);
}

static int on_attached(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        Recording *recording = userdata;

        if (sd_bus_message_is_method_error(reply, NULL))
                return recording_fail(recording, sd_bus_message_get_error(reply));
        recording->result->session_path = g_strdup(recording->options->attach_path);
        return recording_ask(recording, on_attached_info);
}

/* Every signal that the loop takes from signalfd has to be blocked, and so does SIGCHLD for the command. */
static int recording_watch_signals(Recording *recording) {
        static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
        sigset_t mask;
        int r = 0;

        sigemptyset(&mask);
        sigaddset(&mask, SIGCHLD);
        for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
                sigaddset(&mask, signals[i]);
        if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0)
                return -errno;
        for (size_t i = 0; i < ARRAY_SIZE(signals) && r >= 0; i++)
                r = sd_event_add_signal(
                        recording->event, NULL, signals[i], on_interrupt, recording);
        return r;
}

static int recording_watch_bus(Recording *recording) {
        const RecordingOptions *options = recording->options;
        const OutageOptions outage = {
                .client = options->client,
                .event = recording->event,
                .socket = options->socket,
                .can_go_on = recording_can_go_on,
                .on_connected = on_connected,
                .on_back = on_service_back,
                .on_lost = on_service_lost,
                .userdata = recording,
        };
        int r;

        if (options->snapshots) {
                SnapshotWriterOptions snapshots = *options->snapshots;

                snapshots.progress = &recording->progress;
                snapshot_writer_init(&recording->snapshots, &snapshots);
        }
        r = recording_match(recording);
        return r < 0 ? r : outage_watch(&recording->outage, &outage);
}

static int recording_begin(Recording *recording) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *attach = NULL;
        const RecordingOptions *options = recording->options;
        int r = 0;

        if (options->attach_path)
                r = bus_client_new_call(options->client,
                                        &attach,
                                        options->attach_path,
                                        TRACING_SESSION_INTERFACE,
                                        "Attach");
        if (r < 0)
                return r;
        return sd_bus_call_async(options->client->bus,
                                 &recording->call,
                                 attach ? attach : recording->own_start ?: options->start,
                                 attach ? on_attached : on_started,
                                 recording,
                                 BUS_START_TIMEOUT_USEC);
}

static int recording_prepare(Recording *recording) {
        const RecordingOptions *options = recording->options;
        int r;

        r = sd_event_new(&recording->event);
        if (r >= 0)
                r = recording_watch_signals(recording);
        if (r >= 0)
                r = sd_bus_attach_event(
                        options->client->bus, recording->event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                r = recording_watch_bus(recording);
        if (r < 0)
                return r;
        return recording_begin(recording);
}

ExitStatus recording_run(RecordingResult *result, const RecordingOptions *options) {
        _cleanup_(recording_deinit) Recording recording = {
                .options = options,
                .result = result,
                .probes_fd = -1,
        };
        int r;

        session_info_init(&result->info);
        progress_init(&recording.progress,
                      options->waits_for_trigger ? _("Waiting for triggers:") : _("Recording:"),
                      options->is_quiet);
        r = recording_prepare(&recording);
        if (r >= 0)
                r = sd_event_loop(recording.event);
        if (r < 0 && recording.state != RECORDING_DONE)
                return bus_client_say_errno(r);
        return recording.status;
}
