/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Snapshot writer: a file for each trigger that hits */

#include <errno.h>
#include <glib/gi18n.h>
#include <string.h>
#include <time.h>

#include "client/say.h"
#include "client/session-calls.h"
#include "client/session-info.h"
#include "client/snapshot-writer.h"
#include "client/trace-report.h"
#include "shared/names.h"

#define NUMBERS_MAX      1000000                 /* how many files of one name may exist */
#define DUE_TIMEOUT_USEC (UINT64_C(7) * 1000000) /* as long as the service's flush, and some more */

typedef struct Snapshot {
        char *session_path, *path, *trigger;
        uint64_t taken_ns;
} Snapshot;

static void snapshot_writer_next(SnapshotWriter *writer);

static Snapshot *snapshot_free(Snapshot *snapshot) {
        if (!snapshot)
                return NULL;
        g_free(snapshot->session_path);
        g_free(snapshot->path);
        g_free(snapshot->trigger);
        g_free(snapshot);
        return NULL;
}

static void snapshot_free_item(gpointer item) {
        snapshot_free(item);
}

static uint64_t boot_clock_ns(void) {
        struct timespec now;

        clock_gettime(CLOCK_BOOTTIME, &now);
        return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Creates the first file and removes it again, to find out early whether that is possible. */
ExitStatus snapshot_check_output(const char *output) {
        _cleanup_(output_file_deinit) OutputFile file = OUTPUT_FILE_INIT;
        g_autofree char *path = output_file_numbered_path(output, 1);
        int r = output_file_open(&file, path, false);

        return r == 0 || r == -EEXIST ? STATUS_OK : output_file_say_error(&file, r);
}

/*
 * One snapshot: read, free, report
 */

static void snapshot_writer_trouble(SnapshotWriter *writer, ExitStatus status) {
        if (!writer->status)
                writer->status = status;
}

static void snapshot_writer_done(SnapshotWriter *writer) {
        output_file_deinit(&writer->output);
        writer->output = (OutputFile)OUTPUT_FILE_INIT;
        writer->current = snapshot_free(writer->current);
        snapshot_writer_next(writer);
}

static void snapshot_writer_report(SnapshotWriter *writer) {
        const Snapshot *snapshot = writer->current;
        const TraceReport report = {
                .invocation = writer->options.invocation,
                .output = &writer->output,
                .taken_ns = snapshot->taken_ns,
                .before_ns = writer->options.before_ns,
                .is_one_of_many = writer->n_written > 0,
        };
        ExitStatus status = output_file_keep(&writer->output);

        if (!status && !writer->options.invocation->is_quiet)
                fprintf(stderr, _("Trigger %s: "), snapshot->trigger);
        if (!status)
                status = trace_report(&report);
        writer->n_written++;
        snapshot_writer_trouble(writer, status);
}

static int on_freed(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        SnapshotWriter *writer = userdata;

        snapshot_writer_done(writer); /* if it could not be freed, it will be in a few minutes */
        return 0;
}

static int snapshot_writer_call(SnapshotWriter *writer,
                                const char *member,
                                sd_bus_message_handler_t on_reply) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        const BusClient *client = writer->options.client;
        int r;

        writer->call = sd_bus_slot_unref(writer->call);
        r = bus_client_new_call(
                client, &call, writer->current->path, TRACING_SESSION_INTERFACE, member);
        if (r >= 0 && streq(member, "ReadInto"))
                r = sd_bus_message_append(call, "h", writer->output.fd);
        if (r >= 0)
                r = sd_bus_call_async(client->bus,
                                      &writer->call,
                                      call,
                                      on_reply,
                                      writer,
                                      SESSION_READ_TIMEOUT_USEC);
        return r;
}

/* The service needs the memory for the next one before we look at this one. */
static int on_read(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        SnapshotWriter *writer = userdata;
        int r;

        progress_clear(writer->options.progress);
        if (sd_bus_message_is_method_error(reply, NULL)) {
                snapshot_writer_trouble(writer,
                                        bus_client_say_error(sd_bus_message_get_error(reply)));
                say_error(_("the snapshot %s is incomplete"), writer->output.path);
                output_file_keep(&writer->output);
        } else
                snapshot_writer_report(writer);
        r = snapshot_writer_call(writer, "Free", on_freed);
        if (r < 0)
                snapshot_writer_done(writer);
        return 0;
}

/* Numbers that are taken are skipped. */
static ExitStatus snapshot_writer_open(SnapshotWriter *writer) {
        int r = -EEXIST;

        while (r == -EEXIST && writer->number < NUMBERS_MAX) {
                g_autofree char *path =
                        output_file_numbered_path(writer->options.output, ++writer->number);

                output_file_deinit(&writer->output);
                r = output_file_open(&writer->output, path, false);
        }
        return r ? output_file_say_error(&writer->output, r) : STATUS_OK;
}

static void snapshot_writer_begin(SnapshotWriter *writer, Snapshot *snapshot) {
        ExitStatus status;
        int r;

        writer->current = snapshot;
        status = snapshot_writer_open(writer);
        if (!status) {
                r = snapshot_writer_call(writer, "ReadInto", on_read);
                status = r < 0 ? bus_client_say_errno(r) : STATUS_OK;
        }
        if (!status)
                return;
        progress_clear(writer->options.progress);
        snapshot_writer_trouble(writer, status);
        r = snapshot_writer_call(writer, "Free", on_freed);
        if (r < 0)
                snapshot_writer_done(writer);
}

static void snapshot_writer_next(SnapshotWriter *writer) {
        while (!writer->current && writer->session_path) {
                Snapshot *snapshot = g_queue_pop_head(&writer->pending);

                if (!snapshot)
                        break;
                if (streq(snapshot->session_path, writer->session_path))
                        snapshot_writer_begin(writer, snapshot);
                else /* this is a snapshot of another session that the user may see */
                        snapshot_free(snapshot);
        }
        if (!writer->current && writer->on_idle && writer->n_due == 0) {
                void (*on_idle)(void *) = writer->on_idle;

                writer->on_idle = NULL;
                on_idle(writer->userdata);
        }
}

/*
 * Signals
 */

static int on_taken(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        SnapshotWriter *writer = userdata;
        const char *path, *trigger;
        Snapshot *snapshot;
        int r;

        r = sd_bus_message_read(message, "os", &path, &trigger);
        if (r < 0)
                return r;
        snapshot = g_new0(Snapshot, 1);
        snapshot->session_path = g_strdup(sd_bus_message_get_path(message));
        snapshot->path = g_strdup(path);
        snapshot->trigger = say_clean(trigger, strlen(trigger));
        snapshot->taken_ns = boot_clock_ns();
        g_queue_push_tail(&writer->pending, snapshot);
        if (writer->n_due > 0)
                writer->n_due--;
        snapshot_writer_next(writer);
        return 0;
}

static int on_triggered(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        SnapshotWriter *writer = userdata;
        const char *path = sd_bus_message_get_path(message);

        if (writer->session_path && streq(path, writer->session_path))
                writer->n_due++;
        return 0;
}

void snapshot_writer_init(SnapshotWriter *writer, const SnapshotWriterOptions *options) {
        *writer = (SnapshotWriter){ .options = *options, .output = OUTPUT_FILE_INIT };
        g_queue_init(&writer->pending);
}

int snapshot_writer_match(SnapshotWriter *writer) {
        const BusClient *client = writer->options.client;
        int r;

        writer->taken_match = sd_bus_slot_unref(writer->taken_match);
        writer->triggered_match = sd_bus_slot_unref(writer->triggered_match);
        r = sd_bus_match_signal(client->bus,
                                &writer->taken_match,
                                client->destination,
                                NULL,
                                TRACING_SESSION_INTERFACE,
                                "SnapshotTaken",
                                on_taken,
                                writer);
        if (r < 0)
                return r;
        return sd_bus_match_signal(client->bus,
                                   &writer->triggered_match,
                                   client->destination,
                                   NULL,
                                   TRACING_SESSION_INTERFACE,
                                   "Triggered",
                                   on_triggered,
                                   writer);
}

void snapshot_writer_set_session(SnapshotWriter *writer, const char *path) {
        writer->session_path = g_strdup(path);
        snapshot_writer_next(writer);
}

static int on_overdue(sd_event_source *source, uint64_t usec, void *userdata) {
        SnapshotWriter *writer = userdata;

        writer->n_due = 0;
        snapshot_writer_next(writer);
        return 0;
}

int snapshot_writer_finish(SnapshotWriter *writer, void (*on_idle)(void *), void *userdata) {
        int r;

        writer->on_idle = on_idle;
        writer->userdata = userdata;
        r = sd_event_add_time_relative(sd_bus_get_event(writer->options.client->bus),
                                       &writer->due_timer,
                                       CLOCK_MONOTONIC,
                                       DUE_TIMEOUT_USEC,
                                       0,
                                       on_overdue,
                                       writer);
        if (r < 0)
                return r;
        snapshot_writer_next(writer);
        return 0;
}

void snapshot_writer_deinit(SnapshotWriter *writer) {
        sd_bus_slot_unref(writer->taken_match);
        sd_bus_slot_unref(writer->triggered_match);
        sd_bus_slot_unref(writer->call);
        sd_event_source_disable_unref(writer->due_timer);
        output_file_deinit(&writer->output);
        snapshot_free(writer->current);
        g_queue_clear_full(&writer->pending, snapshot_free_item);
        g_free(writer->session_path);
        *writer = (SnapshotWriter){ .output = OUTPUT_FILE_INIT };
}
