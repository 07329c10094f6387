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

int bus_method_activate_producers(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Bus *bus = userdata;
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
        service_activate_all(bus->service, bus_now(bus));
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
