/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Top session: the slices that programs report now */

#include "client/top-session.h"

#include <errno.h>
#include <glib/gi18n.h>
#include <string.h>

#include "client/bus-watch.h"
#include "client/record-request.h"
#include "client/session-info.h"
#include "client/trace-summary.h"
#include "shared/names.h"
#include "wire/wire-reader.h"

#define BUFFER_KB          (16u << 10)
#define CLEAR_PERIOD_MS    2000 /* after a loss, names come again within this time */
#define FLUSH_TIMEOUT_MS   1000 /* a program that does not answer must not stop the screen */
#define RETRY_USEC         (UINT64_C(5) * 1000000)
#define SOURCE             "track_event"
#define TRACE_FIELD_PACKET 1

typedef enum TopState {
        TOP_OFF, /* no session; `trouble` says why */
        TOP_STARTING,
        TOP_IDLE,
        TOP_FLUSHING, /* programs hand over what they have */
        TOP_READING,
        TOP_LOOKING, /* at the session's own counts */
} TopState;

struct TopSession {
        sd_event *event;
        BusChoice choice;
        TopSessionRefreshed refreshed;
        void *userdata;
        TopState state;
        BusClient client;
        sd_bus_slot *call;
        char *path;
        char *trouble;       /* or NULL */
        uint64_t retry_usec; /* not before */
        TraceSummary *summary;
        SessionInfo info;
        uint64_t n_lost; /* losses that were reported */
};

static void session_start(TopSession *session);

static void session_close(TopSession *session) {
        session->call = sd_bus_slot_unref(session->call);
        if (session->client.bus)
                sd_bus_detach_event(session->client.bus);
        bus_client_deinit(&session->client);
        session->client = (BusClient){ 0 };
        g_clear_pointer(&session->path, g_free);
        g_clear_pointer(&session->summary, trace_summary_free);
        session_info_deinit(&session->info);
        session_info_init(&session->info);
        session->n_lost = 0;
        session->state = TOP_OFF;
}

TopSession *
top_session_new(sd_event *event, BusChoice bus, TopSessionRefreshed refreshed, void *userdata) {
        TopSession *session = g_new0(TopSession, 1);

        session->event = sd_event_ref(event);
        session->choice = bus;
        session->refreshed = refreshed;
        session->userdata = userdata;
        session_info_init(&session->info);
        session_start(session);
        return session;
}

TopSession *top_session_free(TopSession *session) {
        if (!session)
                return NULL;
        session_close(session);
        session_info_deinit(&session->info);
        g_free(session->trouble);
        sd_event_unref(session->event);
        g_free(session);
        return NULL;
}

const char *top_session_trouble(const TopSession *session) {
        return session->trouble;
}

/* Ends the session for now. Takes ownership of the sentence. */
static void session_give_up(TopSession *session, char *trouble) {
        uint64_t now = 0;
        bool is_refreshing = session->state > TOP_IDLE;

        sd_event_now(session->event, CLOCK_MONOTONIC, &now);
        session_close(session);
        g_free(session->trouble);
        session->trouble = trouble;
        session->retry_usec = now + RETRY_USEC;
        if (is_refreshing)
                session->refreshed(session->userdata);
}

static void session_fail(TopSession *session, int r) {
        session_give_up(session, g_strdup(g_strerror(-r)));
}

/* The next process of the service has the session, too, and is asked with the next refresh. */
static void session_lose_service(TopSession *session) {
        g_free(session->trouble);
        session->trouble = g_strdup(_("the service was away"));
        session->state = TOP_IDLE;
        session->refreshed(session->userdata);
}

/* Whether a reply is an error. That ends the session, unless it has gone with its service. */
static bool reply_failed(TopSession *session, sd_bus_message *reply) {
        if (!sd_bus_message_is_method_error(reply, NULL))
                return false;
        if (session->path && bus_watch_has_lost(reply)) {
                session_lose_service(session);
                return true;
        }
        session_give_up(session, bus_error_sentence(sd_bus_message_get_error(reply)));
        return true;
}

static void session_call(TopSession *session,
                         TopState state,
                         sd_bus_message *message,
                         int r,
                         sd_bus_message_handler_t on_reply) {
        session->call = sd_bus_slot_unref(session->call);
        if (r >= 0)
                r = sd_bus_call_async(session->client.bus,
                                      &session->call,
                                      message,
                                      on_reply,
                                      session,
                                      BUS_CALL_TIMEOUT_USEC);
        if (r < 0)
                session_fail(session, r);
        else
                session->state = state;
}

static int new_call(const TopSession *session, sd_bus_message **ret, const char *member) {
        return bus_client_new_call(
                &session->client, ret, session->path, TRACING_SESSION_INTERFACE, member);
}

/*
 * A refresh
 */

static void refresh_done(TopSession *session) {
        session->state = TOP_IDLE;
        session->refreshed(session->userdata);
}

static int on_info(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        TopSession *session = userdata;

        if (reply_failed(session, reply))
                return 0;
        session_info_read(&session->info, reply);
        trace_summary_settle(session->summary);
        g_clear_pointer(&session->trouble, g_free);
        refresh_done(session);
        return 0;
}

static void session_look(TopSession *session) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = bus_client_new_call(&session->client,
                                    &message,
                                    session->path,
                                    "org.freedesktop.DBus.Properties",
                                    "GetAll");

        if (r >= 0)
                r = sd_bus_message_append(message, "s", TRACING_SESSION_INTERFACE);
        session_call(session, TOP_LOOKING, message, r, on_info);
}

static void session_read(TopSession *session);

static void take_packets(TopSession *session, const void *data, size_t n) {
        WireReader reader;
        WireField field;

        wire_reader_init(&reader, data, n);
        while (wire_read(&reader, &field) > 0)
                if (field.number == TRACE_FIELD_PACKET && field.type == WIRE_BYTES)
                        trace_summary_add(session->summary, field.data, field.n_bytes);
}

static int on_read(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        TopSession *session = userdata;
        const void *data;
        size_t n;
        int r, more = 0;

        if (reply_failed(session, reply))
                return 0;
        r = sd_bus_message_read_array(reply, 'y', &data, &n);
        if (r >= 0)
                take_packets(session, data, n);
        if (r >= 0)
                r = sd_bus_message_read(reply, "b", &more);
        if (r < 0)
                session_fail(session, r);
        else if (more)
                session_read(session);
        else
                session_look(session);
        return 0;
}

static void session_read(TopSession *session) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = new_call(session, &message, "Read");

        if (r >= 0)
                r = sd_bus_message_append(message, "u", UINT32_C(0));
        session_call(session, TOP_READING, message, r, on_read);
}

static int on_flushed(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        TopSession *session = userdata;

        if (!reply_failed(session, reply)) /* the data of silent programs comes with the next one */
                session_read(session);
        return 0;
}

static void session_flush(TopSession *session) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = new_call(session, &message, "Flush");

        if (r >= 0)
                r = sd_bus_message_append(message, "u", (uint32_t)FLUSH_TIMEOUT_MS);
        session_call(session, TOP_FLUSHING, message, r, on_flushed);
}

/* A summary has bounds. When it has no room for something, both begin again. */
static void session_renew(TopSession *session) {
        session_close(session);
        session_start(session);
}

void top_session_refresh(TopSession *session) {
        uint64_t now = 0;

        sd_event_now(session->event, CLOCK_MONOTONIC, &now);
        if (session->state > TOP_IDLE)
                return;
        if (session->state == TOP_OFF && now >= session->retry_usec)
                session_start(session);
        else if (session->state == TOP_IDLE && session->summary->n_omitted)
                session_renew(session);
        if (session->state == TOP_IDLE)
                session_flush(session);
        else
                session->refreshed(session->userdata);
}

/*
 * The start
 */

static int on_started(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error) {
        TopSession *session = userdata;
        const char *path;
        int r;

        if (reply_failed(session, reply))
                return 0;
        r = sd_bus_message_read(reply, "o", &path);
        if (r < 0) {
                session_fail(session, r);
                return 0;
        }
        session->path = g_strdup(path);
        session->summary = trace_summary_new();
        session->state = TOP_IDLE;
        g_clear_pointer(&session->trouble, g_free);
        return 0;
}

static int start_message(const TopSession *session, sd_bus_message **ret) {
        RecordRequest request;
        int r;

        record_request_init(&request);
        request.buffer_kb = BUFFER_KB;
        request.clear_period_ms = CLEAR_PERIOD_MS;
        request.is_ring = true;
        g_ptr_array_add(request.sources, g_strdup(SOURCE));
        r = record_request_to_message(&request, &session->client, -1, ret);
        record_request_deinit(&request);
        return r;
}

static void session_start(TopSession *session) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        int r = bus_client_try_open(&session->client, session->choice);

        if (r >= 0)
                r = sd_bus_attach_event(
                        session->client.bus, session->event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                r = start_message(session, &message);
        if (!session->client.bus)
                session_give_up(session,
                                g_strdup_printf(session->choice == BUS_CHOICE_USER
                                                        ? _("cannot connect to the user bus: %s")
                                                        : _("cannot connect to the system bus: %s"),
                                                g_strerror(-r)));
        else
                session_call(session, TOP_STARTING, message, r, on_started);
}

/*
 * Results
 */

static gint compare_slices(gconstpointer a, gconstpointer b) {
        const TraceSlice *x = *(const TraceSlice *const *)a, *y = *(const TraceSlice *const *)b;

        if (x->total_ns != y->total_ns)
                return x->total_ns > y->total_ns ? -1 : 1;
        return strcmp(x->name, y->name);
}

static int64_t to_signed(uint64_t ns) {
        return (int64_t)MIN(ns, (uint64_t)INT64_MAX);
}

/* What has been taken is no longer in the sums. */
static void take_slice(Answer *answer, TraceSlice *slice) {
        AnswerValue *cells = slice->n_slices ? answer_add_row(answer) : NULL;

        if (cells) {
                answer_set_text(answer, &cells[ENDED_COLUMN_NAME], slice->name);
                answer_set(&cells[ENDED_COLUMN_N], to_signed(slice->n_slices));
                answer_set(&cells[ENDED_COLUMN_NS], to_signed(slice->total_ns));
                answer_set(&cells[ENDED_COLUMN_MAX], to_signed(slice->max_ns));
        }
        slice->n_slices = slice->total_ns = slice->max_ns = 0;
}

int top_session_take(TopSession *session, Answer **ret) {
        _cleanup_(answer_freep) Answer *answer = NULL;
        g_autoptr(GPtrArray) slices = NULL;
        int r;

        *ret = NULL;
        if (!session->summary)
                return 0;
        r = answer_new(&answer, &answer_ended, 0);
        if (r)
                return r;
        slices = trace_summary_sorted(session->summary->slices, compare_slices);
        for (guint i = 0; i < slices->len; i++)
                take_slice(answer, g_ptr_array_index(slices, i));
        if (answer->has_no_memory)
                return -ENOMEM;
        *ret = TAKE(answer);
        return 0;
}

uint64_t top_session_take_losses(TopSession *session) {
        uint64_t n_lost = session->info.n_chunks_lost + session->info.n_packets_lost, n;

        n = n_lost - MIN(session->n_lost, n_lost);
        session->n_lost = n_lost;
        return n;
}
