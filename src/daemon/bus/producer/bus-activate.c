/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Calls that wait until producers have been started, or have come, and the question whether the caller may start them.
 */

#include <errno.h>

#include "bus/link/bus-error.h"
#include "bus/permission/client-ask.h"
#include "bus/producer/bus-activate.h"
#include "core/model/policy.h"
#include "shared/names.h"

typedef struct ActivateRequest {
        Request request;
        PolkitQuery *query; /* NULL: answered, or never asked */
        List link;          /* bus->activate_requests, when it waits for producers */
} ActivateRequest;

static ActivateRequest *activate_request_free(ActivateRequest *activate) {
        if (!activate)
                return NULL;
        polkit_query_free(activate->query);
        request_deinit(&activate->request);
        list_unlink(&activate->link);
        free(activate);
        return NULL;
}
DEFINE_CLEANUP(ActivateRequest *, activate_request_free)

static void activate_cancel(Request *request) {
        activate_request_free(container_of(request, ActivateRequest, request));
}

/* `awaits` begins what the call then waits for. */
static void activate_begin(ActivateRequest *activate, void (*awaits)(Service *, uint64_t now)) {
        Bus *bus = activate->request.client->bus;

        list_append(&bus->activate_requests, &activate->link);
        awaits(bus->service, bus_now(bus));
}

static int activate_request_new(ActivateRequest **ret,
                                Client *client,
                                sd_bus_message *message,
                                sd_bus_error *error) {
        _cleanup_(activate_request_freep) ActivateRequest *activate = calloc(1, sizeof(*activate));

        if (!activate)
                return -ENOMEM;
        list_init(&activate->link);
        if (request_init(&activate->request, client, message, activate_cancel))
                return request_refuse(error);
        *ret = TAKE(activate);
        return 0;
}

/* A caller without the right to start producers waits for those that are starting anyway. */
static void on_answer(void *userdata, AccessAnswer answer) {
        ActivateRequest *activate = userdata;

        activate->query = NULL;
        hub_touch(&activate->request.client->hub_link);
        activate_begin(activate, answer == ACCESS_GRANTED ? service_activate_all : service_gather);
}

int bus_method_activate_producers(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        _cleanup_(activate_request_freep) ActivateRequest *activate = NULL;
        Bus *bus = userdata;
        int r;

        r = activate_request_new(&activate, bus->caller, message, error);
        if (r < 0)
                return r;
        if (policy_may_start_producers(bus->info, &bus->caller->identity)) {
                activate_begin(activate, service_activate_all);
        } else {
                r = client_ask_to_start(&activate->query, bus->caller, on_answer, activate);
                if (r < 0)
                        return r;
                if (r > 0)
                        activate_begin(activate, service_gather);
        }
        activate = NULL;
        return 1;
}

int bus_method_await_producers(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        ActivateRequest *activate = NULL;
        Bus *bus = userdata;
        int r;

        r = activate_request_new(&activate, bus->caller, message, error);
        if (r < 0)
                return r;
        activate_begin(activate, service_gather);
        return 1;
}

void bus_answer_activations(Bus *bus) {
        ActivateRequest *activate;

        if (list_is_empty(&bus->activate_requests) || service_awaits_producers(bus->service))
                return;
        list_for_each (activate, &bus->activate_requests, link) {
                request_reply(&activate->request, "");
                activate_request_free(activate);
        }
}
