/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Host: between libdesktrace and the probes
 *
 * The library calls back on its private thread; probes live on the main loop. Each callback becomes a request in a
 * queue, which an eventfd announces to the loop. Setup and the end of an instance are waited for, as the library
 * needs their result before it goes on; start, flush and stop are answered by the loop when they are done.
 *
 * The loop's side also has a timer for each instance, for its polls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

#include "host/probe.h"
#include "shared/macro.h"

#define HOST_INSTANCES_MAX 64 /* instances of all probes at once */

typedef struct Host Host;

/* Told, on the loop, when the number of instances became 0, or is not 0 any more. */
typedef void HostBusy(void *userdata, bool is_busy);

/* What a program records, and as whom; all of it outlives the host. */
typedef struct HostProgram {
        const char *producer; /* the name of the producer, as the service lists it */
        const ProbeOps *const *probes;
        size_t n_probes;
        HostBusy *busy;
        void *userdata; /* for `busy` */
} HostProgram;

/* Offers the data sources of `program->probes`; they are registered once the service is there. 0, negative errno. */
int host_new(Host **ret, sd_event *event, const HostProgram *program);

/* Stops what records, and takes the data sources back. The loop must not run any more. */
Host *host_free(Host *host);
DEFINE_CLEANUP(Host *, host_free)

bool host_is_busy(const Host *host);
