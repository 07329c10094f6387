/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * View server: one document, for a browser of the same user on this machine
 *
 * On loopback only, at an address that cannot be guessed. Other users can see it in the arguments of the browser, so
 * the kernel is asked whose each connection is, and only our own user's are served. Requests that name another host, or
 * come from another site's page, are refused. Where all connections are taken, the one that is slowest to ask makes
 * room. It ends when the document has been fetched, or nobody came in time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

#define VIEW_CONNECTIONS_MAX 8
#define VIEW_REQUEST_BYTES   8192
/* A connection that sends or takes nothing for this long is closed. */
#define VIEW_PATIENCE_S 10
/* How long it goes on after the document has been fetched: browsers ask twice now and then. */
#define VIEW_GRACE_MS 2000

typedef struct ViewDocument {
        const char *name; /* UTF-8 */
        const char *type; /* MIME */
        const char *site; /* its pages may fetch it, too, such as "https://example.org"; or NULL */
        const void *data;
        size_t n;
} ViewDocument;

typedef struct ViewServer ViewServer;

/* The document stays the caller's. `port` 0: any. Returns 0, or an errno. */
int view_server_new(ViewServer **ret, const ViewDocument *document, uint16_t port);
ViewServer *view_server_free(ViewServer *server);
DEFINE_CLEANUP(ViewServer *, view_server_free)

const char *view_server_address(const ViewServer *server);
uint16_t view_server_port(const ViewServer *server);

/* Serves the document. Returns 1 if it has been fetched, 0 if nobody came, or an errno. */
int view_server_run(ViewServer *server, uint64_t timeout_ms);
