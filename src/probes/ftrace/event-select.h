/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event selection: finds the events of the running kernel that a config names
 *
 * A name is "group/name", a whole group ("group/" and a star), or a bare "name" in any group. A name that this kernel
 * lacks affects nothing else: configs are meant to work on many kernels. It is listed in the trace as unknown, with the
 * nearest existing event in case of a typing error.
 */

#include <stdbool.h>
#include <stddef.h>

#include "shared/macro.h"

typedef struct EventName {
        char *text; /* "group/name" */
        size_t n_group;
        size_t n_whole; /* this many events from here on are the whole group; 0: unknown */
} EventName;

typedef struct UnknownEvent {
        char *name;
        char *why; /* a sentence, with the event that was perhaps meant */
} UnknownEvent;

typedef struct EventSelection {
        EventName *events; /* each once */
        size_t n_events;
        UnknownEvent *unknown;
        size_t n_unknown;
} EventSelection;

#define EVENT_PATTERNS_MAX 1024 /* names in one config */
#define EVENT_NEAREST_MAX  32 /* unknown names for which the error suggests what was perhaps meant */
#define EVENT_ALL          "*/*"

/* `available` is the text of available_events. Without `generic`, events that are not in the event table are left
 * out. Returns 0, PROBE_E_REFUSED when there are too many names or -ENOMEM. */
int event_select(EventSelection *ret,
                 const char *available,
                 char *const *patterns,
                 size_t n_patterns,
                 bool generic,
                 char **ret_error);
void event_selection_deinit(EventSelection *selection);

/* For events that are made rather than found. Takes over `why`. Returns 0 or -ENOMEM. */
int event_selection_add(EventSelection *selection, const char *full);
int event_selection_add_unknown(EventSelection *selection, const char *name, char *why);

/* For a config that names no known event: lists all unknown ones. Returns PROBE_E_REFUSED or -ENOMEM. */
int event_selection_refuse(const EventSelection *selection, char **ret_error);
