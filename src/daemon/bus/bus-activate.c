/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "bus/bus-activate.h"
#include "bus/bus-error.h"

typedef struct ActivateRequest {
        Request request;
        List link; /* bus->activate_requests */
} ActivateRequest;

static ActivateRequest *activate_request_free(ActivateRequest *activate) {
        request_deinit(&activate->request);
        list_unlink(&activate->link);
        free(activate);
        return NULL;
}

static void activate_cancel(Request *request) {
        activate_request_free(container_of(request, ActivateRequest, request));
}

/* `awaits` begins what is waited for. */
static int await_producers(Bus *bus,
                           sd_bus_message *message,
                           void (*awaits)(Service *service, uint64_t now),
                           sd_bus_error *error) {
        ActivateRequest *activate;

        activate = calloc(1, sizeof(*activate));
        if (!activate)
                return -ENOMEM;
        list_init(&activate->link);
        if (request_init(&activate->request, bus->caller, message, activate_cancel)) {
                free(activate);
                return bus_error_set(
                        error,
                        BUS_ERROR_LIMIT_EXCEEDED,
                        "this connection has %d unanswered calls; wait for their replies",
                        BUS_REQUESTS_PER_CLIENT_MAX);
        }
        list_append(&bus->activate_requests, &activate->link);
        awaits(bus->service, bus_now(bus));
        return 1;
}

int bus_method_activate_producers(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return await_producers(userdata, message, service_activate_all, error);
}

int bus_method_await_producers(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return await_producers(userdata, message, service_gather, error);
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
