/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Own pages: an instance for one data source alone, and the pages of all CPUs' rings
 *
 * This is for sources that turn a few kernel events into packets of their own. They enable what they want in the
 * instance, and they end the instance before they undefine their events.
 */

#include <stddef.h>
#include <stdint.h>

#include "probes/ftrace/instance.h"
#include "probes/ftrace/page.h"
#include "probes/ftrace/trace-dir.h"

typedef struct OwnPages {
        TraceDir *dir;
        Instance *instance;
        PageLayout layout;
        int *cpus; /* descriptors of their pages */
        size_t n_cpus;
        uint8_t *page; /* room for one */
        size_t n_page;
} OwnPages;

/* Makes an instance that is not recording yet, with BOOTTIME as its clock, and with `buffer_kb` or some more for
 * each CPU. Returns 0, PROBE_E_REFUSED or a negative errno. */
int own_pages_init(OwnPages *pages, unsigned buffer_kb, char **ret_error);
/* Call it when the events are enabled and before the first read. Returns 0 or a negative errno. */
int own_pages_open(OwnPages *pages);
/* Removes the instance from the kernel. */
void own_pages_end(OwnPages *pages);
/* Frees the rest. */
void own_pages_deinit(OwnPages *pages);

/* Returns 0 or PROBE_E_REFUSED. */
int own_pages_start(OwnPages *pages, char **ret_error);
/* `source` is only for the log. */
void own_pages_stop(OwnPages *pages, const char *source);
