/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A request counts against its client's limit until it is answered or dropped. */

#include <assert.h>
#include <errno.h>
#include <stdarg.h>

#include "bus/link/bus-error.h"
#include "bus/link/request.h"
#include "shared/log.h"

int request_init(Request *request, Client *client, sd_bus_message *message, RequestCancel cancel) {
        if (client->n_requests >= BUS_REQUESTS_PER_CLIENT_MAX)
                return REQUEST_E_LIMIT;
        *request = (Request){
                .client = client,
                .message = sd_bus_message_ref(message),
                .cancel = cancel,
        };
        list_append(&client->requests, &request->link);
        client->n_requests++;
        return 0;
}

int request_refuse(sd_bus_error *error) {
        return bus_error_set(error,
                             BUS_ERROR_LIMIT_EXCEEDED,
                             "this connection has %d unanswered calls; wait for their replies",
                             BUS_REQUESTS_PER_CLIENT_MAX);
}

void request_deinit(Request *request) {
        if (!request->client)
                return;
        assert(request->client->n_requests > 0);
        list_unlink(&request->link);
        request->client->n_requests--;
        hub_touch(&request->client->hub_link); /* it may have been answered */
        request->client = NULL;
        request->message = sd_bus_message_unref(request->message);
}

/* If a reply cannot be sent the connection is broken, and its end frees the client. */
static void request_sent(Request *request, int r) {
        if (r < 0)
                log_debug("cannot reply to %s: %s", client_describe(request->client), strerror(-r));
        request_deinit(request);
}

void request_reply(Request *request, const char *types, ...) {
        va_list args;
        int r;

        va_start(args, types);
        r = sd_bus_reply_method_returnv(request->message, types, args);
        va_end(args);
        request_sent(request, r);
}

void request_reply_message(Request *request, sd_bus_message *reply) {
        request_sent(request, sd_bus_send(NULL, reply, NULL));
}

void request_reply_error(Request *request, const sd_bus_error *error) {
        request_sent(request, sd_bus_reply_method_error(request->message, error));
}
