/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Host: connects libdesktrace with the probes
 *
 * The library calls back on its private thread, but probes live on the main loop. So each callback becomes a request in
 * a queue, and an eventfd wakes the loop. The library's thread waits for setup and for the end of an instance, because
 * it needs the result before it can go on; start, flush and stop are answered by the loop when they are done.
 *
 * On the loop, each instance also has a timer for its polls.
 */

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

#include "host/probe.h"
#include "shared/macro.h"

#define HOST_INSTANCES_MAX 64 /* at a time, of all probes together */

typedef struct Host Host;

/* Called on the loop when the first instance is set up and when the last one has ended. */
typedef void HostBusy(void *userdata, bool is_busy);

/* What a program can record, and under which name; all of it must outlive the host. */
typedef struct HostProgram {
        const char *producer; /* the name of the producer, as the service lists it */
        const ProbeOps *const *probes;
        size_t n_probes;
        HostBusy *busy;
        void *userdata; /* for `busy` */
} HostProgram;

/* Offers the data sources of `program->probes`, which are registered once the service is available. Returns 0 or a
 * negative errno. */
int host_new(Host **ret, sd_event *event, const HostProgram *program);

/* Says which instances may be set up at all, and how long they may record; on the loop. */
typedef struct HostPermits {
        /* Checks who may record with `config`, which is unparsed. *ret is an opaque grant, *ret_longest_ns how long it
         * lasts (UINT64_MAX: as long as the service wants), *ret_owner for whom it is. Returns 0, PROBE_E_REFUSED with
         * *ret_error, or a negative errno. */
        int (*take)(void **ret,
                    void *userdata,
                    const void *config,
                    size_t n_config,
                    uint64_t *ret_longest_ns,
                    ProbeOwner *ret_owner,
                    char **ret_error);
        /* The instance has been freed. */
        void (*give_back)(void *permit);
} HostPermits;

/* Call it before the loop runs; without permits everything is allowed. `permits` and `userdata` must outlive the
 * host. */
void host_set_permits(Host *host, const HostPermits *permits, void *userdata);

/* Stops all instances and unregisters the data sources. The loop must no longer be running. */
Host *host_free(Host *host);
DEFINE_CLEANUP(Host *, host_free)

bool host_is_busy(const Host *host);
