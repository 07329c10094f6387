/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <errno.h>

#include "producer-port.h"

typedef struct ProducerPort {
        PortConnection *connection;
} ProducerPort;

/* In the protocol's order. */
static const PortMethod producer_methods[] = {
        { "InitializeConnection", NULL },
        { "RegisterDataSource", NULL },
        { "UnregisterDataSource", NULL },
        { "CommitData", NULL },
        { "GetAsyncCommand", NULL },
        { "RegisterTraceWriter", NULL },
        { "UnregisterTraceWriter", NULL },
        { "NotifyDataSourceStarted", NULL },
        { "NotifyDataSourceStopped", NULL },
        { "ActivateTriggers", NULL },
        { "Sync", NULL },
        { "UpdateDataSource", NULL },
};

static int producer_open(void **ret, PortConnection *connection) {
        ProducerPort *port = calloc(1, sizeof(*port));

        if (!port)
                return -ENOMEM;
        port->connection = connection;
        *ret = port;
        return 0;
}

static void producer_close(void *port) {
        free(port);
}

const PortService producer_port = {
        .name = "ProducerPort",
        .methods = producer_methods,
        .n_methods = ARRAY_SIZE(producer_methods),
        .open = producer_open,
        .close = producer_close,
};
