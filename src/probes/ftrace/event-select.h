/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event selection: from the names in a config to events of the running kernel
 *
 * A name is "group/name", a whole group ("group/" and a star), or a bare "name" of any group. One that means
 * nothing refuses
 * the config, and the nearest event that exists is named. An event of the event table that only this kernel
 * lacks is no mistake: configs are meant to work on many kernels. It is listed in the trace as unknown.
 */

#include <stddef.h>

#include "shared/macro.h"

typedef struct EventName {
        char *text; /* "group/name" */
        size_t n_group;
} EventName;

typedef struct EventSelection {
        EventName *events; /* each once */
        size_t n_events;
        char **unknown;
        size_t n_unknown;
} EventSelection;

#define EVENT_PATTERNS_MAX 1024 /* names in one config */

/* `available` is the text of available_events. 0, PROBE_E_REFUSED, -ENOMEM. */
int event_select(EventSelection *ret,
                 const char *available,
                 char *const *patterns,
                 size_t n_patterns,
                 char **ret_error);
void event_selection_deinit(EventSelection *selection);
