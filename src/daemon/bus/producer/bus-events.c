/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Calls that wait for the probes, if these may be started, and the list of events that the probes have sent last. */

#include <errno.h>

#include "bus/link/bus-error.h"
#include "bus/link/option-reader.h"
#include "bus/object/bus-source.h"
#include "bus/permission/client-ask.h"
#include "bus/producer/bus-events.h"
#include "core/model/policy.h"
#include "shared/names.h"

typedef struct EventsOptions {
        bool start;
} EventsOptions;

typedef struct EventsRequest {
        Request request;
        PolkitQuery *query; /* NULL: answered */
        List link;          /* bus->events_requests, when probes are awaited */
        const char *why;    /* why the probes are not started, static; NULL: they were */
} EventsRequest;

#define WHY_NOT_ASKED N_("the probes are not running, and the caller asked not to start them")
#define WHY_NO_PROBES N_("this service has no probes for kernel events")
#define WHY_NOT_ALLOWED                                                        \
        N_("the probes are not running, and starting them needs the right to " \
           "record the system (org.desktrace.tracing1.trace-system)")
#define WHY_SILENT N_("the probes are running but cannot list the events")

static EventsRequest *events_request_free(EventsRequest *events) {
        if (!events)
                return NULL;
        polkit_query_free(events->query);
        request_deinit(&events->request);
        list_unlink(&events->link);
        free(events);
        return NULL;
}
DEFINE_CLEANUP(EventsRequest *, events_request_free)

static void events_cancel(Request *request) {
        events_request_free(container_of(request, EventsRequest, request));
}

void bus_events_note(Bus *bus, const char *source, const char *const *names) {
        if (names && names[0] && streq(source, TRACING_EVENTS_SOURCE))
                (void)event_names_set(&bus->events, names); /* out of memory: as before */
}

bool bus_events_are_current(Bus *bus) {
        const BusSource *source = bus_source_by_name(bus, TRACING_EVENTS_SOURCE);

        return source && bus_source_has_names(source);
}

/* The reason that the probes give, if they do. */
static const char *events_why(Bus *bus, const char *why) {
        const BusSource *source = bus_source_by_name(bus, TRACING_EVENTS_SOURCE);
        const char *unavailable = source ? bus_source_unavailable(source, NULL) : NULL;

        if (unavailable)
                return unavailable;
        return why ? why : WHY_SILENT;
}

static int append_details(Bus *bus, sd_bus_message *reply, const char *why) {
        const bool is_current = bus_events_are_current(bus);
        int r;

        r = sd_bus_message_open_container(reply, 'a', "{sv}");
        if (r >= 0)
                r = sd_bus_message_append(reply, "{sv}", "current", "b", is_current);
        if (r >= 0 && !is_current)
                r = sd_bus_message_append(reply, "{sv}", "why", "s", events_why(bus, why));
        return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int events_reply_new(sd_bus_message **ret, Bus *bus, sd_bus_message *call, const char *why) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = event_names_append(&bus->events, reply);
        if (r >= 0)
                r = append_details(bus, reply, why);
        if (r < 0)
                return r;
        *ret = TAKE(reply);
        return 0;
}

static int events_reply_now(Bus *bus, sd_bus_message *call, const char *why) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        r = events_reply_new(&reply, bus, call, why);
        return r < 0 ? r : sd_bus_send(NULL, reply, NULL);
}

static void events_request_answer(EventsRequest *events) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        int r;

        r = events_reply_new(
                &reply, events->request.client->bus, events->request.message, events->why);
        if (r >= 0) {
                request_reply_message(&events->request, reply);
        } else {
                sd_bus_error_set_errno(&error, r);
                request_reply_error(&events->request, &error);
        }
        events_request_free(events);
}

void bus_answer_event_lists(Bus *bus) {
        EventsRequest *events;

        if (list_is_empty(&bus->events_requests) || service_awaits_producers(bus->service))
                return;
        list_for_each (events, &bus->events_requests, link)
                events_request_answer(events);
}

static void events_start_probes(EventsRequest *events) {
        Bus *bus = events->request.client->bus;

        events->why = NULL;
        list_append(&bus->events_requests, &events->link);
        service_activate_all(bus->service, bus_now(bus));
}

static void on_answer(void *userdata, AccessAnswer answer) {
        EventsRequest *events = userdata;

        events->query = NULL;
        if (answer == ACCESS_GRANTED)
                events_start_probes(events);
        else
                events_request_answer(events);
}

/* 1: the call is answered later, and bus->events_requests has the request. */
static int events_ask(EventsRequest *events) {
        Client *client = events->request.client;
        int r;

        if (policy_may_start_producers(client->bus->info, &client->identity)) {
                events_start_probes(events);
                return 1;
        }
        r = client_ask_to_start(&events->query, client, on_answer, events);
        return r < 0 ? r : r == 0;
}

static int read_events_options(EventsOptions *ret, sd_bus_message *message, sd_bus_error *error) {
        static const OptionField fields[] = {
                { "start", "b", offsetof(EventsOptions, start) },
        };
        static const OptionTable table = { "ListEvents", fields, ARRAY_SIZE(fields) };
        uint64_t given;

        *ret = (EventsOptions){ .start = true };
        return options_read(&table, ret, &given, message, error);
}

static int events_start(Bus *bus, sd_bus_message *message, sd_bus_error *error) {
        _cleanup_(events_request_freep) EventsRequest *events = calloc(1, sizeof(*events));
        int r;

        if (!events)
                return -ENOMEM;
        list_init(&events->link);
        events->why = WHY_NOT_ALLOWED;
        if (request_init(&events->request, bus->caller, message, events_cancel))
                return request_refuse(error);
        r = events_ask(events);
        if (r > 0)
                events = NULL;
        return r;
}

int bus_method_list_events(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        EventsOptions options;
        Bus *bus = userdata;
        int r;

        r = read_events_options(&options, message, error);
        if (r < 0)
                return r;
        if (bus_events_are_current(bus))
                return events_reply_now(bus, message, NULL);
        if (!service_can_activate(bus->service, TRACING_EVENTS_SOURCE))
                return events_reply_now(bus, message, WHY_NO_PROBES);
        if (!options.start)
                return events_reply_now(bus, message, WHY_NOT_ASKED);
        r = events_start(bus, message, error);
        return r == 0 ? events_reply_now(bus, message, WHY_NOT_ALLOWED) : r;
}
