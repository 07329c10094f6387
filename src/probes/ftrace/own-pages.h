/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Own pages: an instance for one data source alone, and the pages of all CPUs' rings
 *
 * For sources that turn a few events of the kernel into packets of their own. What is on in the instance is theirs:
 * they end the instance before they undefine their events.
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

/* An instance with recording off, in BOOTTIME, with `buffer_kb` or some more for each CPU. 0, PROBE_E_REFUSED, negative
 * errno. */
int own_pages_init(OwnPages *pages, unsigned buffer_kb, char **ret_error);
/* Reading begins with it, when the events are on. 0 or a negative errno. */
int own_pages_open(OwnPages *pages);
/* Removes the instance from the kernel. */
void own_pages_end(OwnPages *pages);
/* Frees the rest. */
void own_pages_deinit(OwnPages *pages);

/* 0, PROBE_E_REFUSED. */
int own_pages_start(OwnPages *pages, char **ret_error);
/* `source` is for the log. */
void own_pages_stop(OwnPages *pages, const char *source);
