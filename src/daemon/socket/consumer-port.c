/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "consumer-port.h"

typedef struct ConsumerPort {
        PortConnection *connection;
} ConsumerPort;

/* In the protocol's order. */
static const PortMethod consumer_methods[] = {
        { "EnableTracing", NULL },
        { "DisableTracing", NULL },
        { "ReadBuffers", NULL },
        { "FreeBuffers", NULL },
        { "Flush", NULL },
        { "StartTracing", NULL },
        { "ChangeTraceConfig", NULL },
        { "Detach", NULL },
        { "Attach", NULL },
        { "GetTraceStats", NULL },
        { "ObserveEvents", NULL },
        { "QueryServiceState", NULL },
        { "QueryCapabilities", NULL },
        { "SaveTraceForBugreport", NULL },
        { "CloneSession", NULL },
};

static int consumer_open(void **ret, PortConnection *connection) {
        ConsumerPort *port = calloc(1, sizeof(*port));

        if (!port)
                return -ENOMEM;
        port->connection = connection;
        *ret = port;
        return 0;
}

static void consumer_close(void *port) {
        free(port);
}

const PortService consumer_port = {
        .name = "ConsumerPort",
        .methods = consumer_methods,
        .n_methods = ARRAY_SIZE(consumer_methods),
        .open = consumer_open,
        .close = consumer_close,
};
