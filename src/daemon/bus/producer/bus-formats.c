/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* First a question to polkit, as for ListEvents(), then one to the probes, whose answer is passed on. */

#include <errno.h>

#include "bus/link/bus-error.h"
#include "bus/link/guard.h"
#include "bus/permission/client-ask.h"
#include "bus/producer/bus-events.h"
#include "bus/producer/bus-formats.h"
#include "core/model/policy.h"
#include "shared/names.h"

typedef struct FormatsRequest {
        Request request;
        PolkitQuery *query; /* NULL: answered, or not asked */
        sd_bus *connection; /* to the probes */
        sd_bus_slot *slot;
} FormatsRequest;

static FormatsRequest *formats_request_free(FormatsRequest *formats) {
        if (!formats)
                return NULL;
        polkit_query_free(formats->query);
        sd_bus_slot_unref(formats->slot);
        sd_bus_close_unref(formats->connection);
        request_deinit(&formats->request);
        free(formats);
        return NULL;
}
DEFINE_CLEANUP(FormatsRequest *, formats_request_free)

static void formats_cancel(Request *request) {
        formats_request_free(container_of(request, FormatsRequest, request));
}

/* Takes the request over. `r` is a negative errno; *error has the details if it is set. */
static void formats_fail(FormatsRequest *formats, int r, sd_bus_error *error) {
        if (!sd_bus_error_is_set(error))
                sd_bus_error_set_errno(error, r);
        request_reply_error(&formats->request, error);
        formats_request_free(formats);
}

static int formats_pass_on(FormatsRequest *formats, sd_bus_message *answer, sd_bus_error *error) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        const sd_bus_error *refusal = sd_bus_message_get_error(answer);
        int r;

        if (refusal)
                return bus_error_set(error,
                                     BUS_ERROR_SOURCE_FAILED,
                                     "the probes cannot read the formats of events: %s",
                                     refusal->message);
        if (!sd_bus_message_has_signature(answer, "a(ss)"))
                return -EBADMSG;
        r = sd_bus_message_new_method_return(formats->request.message, &reply);
        if (r >= 0)
                r = sd_bus_message_copy(reply, answer, true);
        if (r < 0)
                return r;
        request_reply_message(&formats->request, reply);
        return 0;
}

static int on_formats(sd_bus_message *answer, void *userdata, sd_bus_error *unused) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        FormatsRequest *formats = userdata;
        int r;

        r = formats_pass_on(formats, answer, &error);
        if (r < 0)
                formats_fail(formats, r, &error);
        else
                formats_request_free(formats);
        return 0;
}

static const Guard *find_probes(const Bus *bus) {
        for (size_t i = 0; i < bus->n_guards; i++)
                for (size_t j = 0; bus->guards[i].sources[j]; j++)
                        if (streq(bus->guards[i].sources[j], TRACING_EVENTS_SOURCE))
                                return &bus->guards[i];
        return NULL;
}

static int formats_call(FormatsRequest *formats, const Guard *probes) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        sd_bus_message *request = formats->request.message;
        int r;

        r = guard_connect(
                &formats->connection, formats->request.client->bus->event, probes->socket);
        if (r >= 0)
                r = sd_bus_message_new_method_call(formats->connection,
                                                   &call,
                                                   NULL,
                                                   TRACING_PROBES_PATH,
                                                   TRACING_PROBES_INTERFACE,
                                                   "ReadFormats");
        if (r >= 0)
                r = sd_bus_message_rewind(request, true);
        if (r >= 0)
                r = sd_bus_message_copy(call, request, true);
        return r < 0 ? r
                     : sd_bus_call_async(formats->connection,
                                         &formats->slot,
                                         call,
                                         on_formats,
                                         formats,
                                         GUARD_TIMEOUT_USEC);
}

static int formats_ask_probes(FormatsRequest *formats, sd_bus_error *error) {
        const Guard *probes = find_probes(formats->request.client->bus);
        int r;

        if (!probes)
                return bus_error_set(error,
                                     BUS_ERROR_NO_SUCH_SOURCE,
                                     "this service has no probes for kernel events");
        r = formats_call(formats, probes);
        return r >= 0 ? 0
                      : bus_error_set(error,
                                      BUS_ERROR_SOURCE_FAILED,
                                      "the probes cannot be reached: %s",
                                      strerror(-r));
}

static int formats_refuse(sd_bus_error *error) {
        return bus_error_set(error,
                             BUS_ERROR_NOT_AUTHORIZED,
                             "the probes are not running, and starting them needs the right to "
                             "record the system (org.desktrace.tracing1.trace-system)");
}

static void on_answer(void *userdata, AccessAnswer answer) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        FormatsRequest *formats = userdata;
        int r;

        formats->query = NULL;
        r = answer == ACCESS_GRANTED ? formats_ask_probes(formats, &error) : formats_refuse(&error);
        if (r < 0)
                formats_fail(formats, r, &error);
}

static int check_names(sd_bus_message *message, sd_bus_error *error) {
        size_t n = 0;
        int r;

        r = sd_bus_message_enter_container(message, 'a', "s");
        while (r >= 0 && n <= TRACING_FORMATS_MAX && (r = sd_bus_message_skip(message, "s")) > 0)
                n++;
        if (n > TRACING_FORMATS_MAX)
                return bus_error_set(
                        error,
                        BUS_ERROR_LIMIT_EXCEEDED,
                        "one call may ask for %u events; ask for the others in another",
                        TRACING_FORMATS_MAX);
        return r < 0 ? r : sd_bus_message_exit_container(message);
}

/* Asks for the permission, or continues at once. Returns 0 or a negative errno. */
static int formats_begin(FormatsRequest *formats, sd_bus_error *error) {
        Client *client = formats->request.client;
        int r;

        if (bus_events_are_current(client->bus) ||
            policy_may_start_producers(client->bus->info, &client->identity))
                return formats_ask_probes(formats, error);
        r = client_ask_to_start(&formats->query, client, on_answer, formats);
        return r > 0 ? formats_refuse(error) : r;
}

int bus_method_get_event_formats(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(formats_request_freep) FormatsRequest *formats = NULL;
        Bus *bus = userdata;
        int r;

        r = check_names(message, error);
        if (r < 0)
                return r;
        formats = calloc(1, sizeof(*formats));
        if (!formats)
                return -ENOMEM;
        if (request_init(&formats->request, bus->caller, message, formats_cancel))
                return request_refuse(error);
        r = formats_begin(formats, error);
        if (r < 0)
                return r;
        formats = NULL; /* answered by polkit or the probes */
        return 1;
}
