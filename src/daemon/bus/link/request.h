/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Request: a call that is answered later
 *
 * Embedded in the object that waits. A request_reply…() function answers it once. If the caller disconnects first, it
 * is dropped without an answer, and `cancel` is called to free the object that embeds it.
 */

#include "bus/link/connection.h"

typedef struct Request Request;

typedef void (*RequestCancel)(Request *request);

struct Request {
        Client *client; /* NULL: not waiting */
        sd_bus_message *message;
        RequestCancel cancel;
        List link; /* client->requests */
};

enum {
        _REQUEST_E_SUCCESS,
        REQUEST_E_LIMIT, /* BUS_REQUESTS_PER_CLIENT_MAX */
};

int request_init(Request *request, Client *client, sd_bus_message *message, RequestCancel cancel);

/* What to reply after REQUEST_E_LIMIT: fills *error and returns a negative errno, for a handler to return. */
int request_refuse(sd_bus_error *error);

void request_deinit(Request *request);

/* Each answers and deinits. */
void request_reply(Request *request, const char *types, ...);
void request_reply_message(Request *request, sd_bus_message *reply);
void request_reply_error(Request *request, const sd_bus_error *error);
