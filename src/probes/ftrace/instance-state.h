/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Instance state: what a recording writes to the files of its tracefs instance, besides buffer sizes and event switches
 *
 * Filters, options, threads, CPUs: an instance has one of each, so recordings share an instance only if all of these
 * are the same. The state is made and checked before the kernel is touched, and applied once, while recording is off.
 */

#include <stdbool.h>
#include <stddef.h>

#include "probes/ftrace/instance.h"
#include "shared/macro.h"

typedef struct InstanceWrite {
        char *what; /* the config's words for it, for errors */
        char *file;
        char *value;
} InstanceWrite;

typedef struct InstanceState {
        InstanceWrite *writes; /* in the order in which they are applied */
        size_t n_writes;
} InstanceState;

/* Returns 0 or -ENOMEM. */
int instance_state_add(InstanceState *state, const char *what, const char *file, const char *value);
void instance_state_deinit(InstanceState *state);

/* The value to be written to a file, for the caller to change; or NULL. */
InstanceWrite *instance_state_find(InstanceState *state, const char *file);

/* The whole state as one text, malloc'ed. Equal states have equal texts. Returns NULL if memory has run out. */
char *instance_state_key(const InstanceState *state);

/* Returns 0, -ENOMEM, or PROBE_E_REFUSED with the kernel's own words if it has any. */
int instance_state_apply(const InstanceState *state, Instance *instance, char **ret_error);

/* The kernel's reason for refusing a filter, as one line: "Field not found, at 11: \"prio < 5\"". `text` comes from
 * the event's filter file. Returns NULL if there is no reason there. malloc'ed. */
char *filter_error(const char *text);
