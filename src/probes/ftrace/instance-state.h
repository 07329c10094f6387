/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Instance state: what a recording writes to the files of its tracefs instance, besides buffer sizes and event switches
 *
 * Filters, options, threads, CPUs: an instance has one of each, so recordings share an instance only if all of it is
 * the same. It is made and checked before the kernel is touched, and applied once, with recording off.
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

/* 0, -ENOMEM. */
int instance_state_add(InstanceState *state, const char *what, const char *file, const char *value);
void instance_state_deinit(InstanceState *state);

/* The value that is written to a file, to be changed; or NULL. */
InstanceWrite *instance_state_find(InstanceState *state, const char *file);

/* All of it as one text, malloc'ed: those of equal states are equal. NULL: no memory. */
char *instance_state_key(const InstanceState *state);

/* 0, PROBE_E_REFUSED with the kernel's own words where it has any, -ENOMEM. */
int instance_state_apply(const InstanceState *state, Instance *instance, char **ret_error);

/* The kernel's reason for refusing a filter, as one line: "Field not found, at 11: \"prio < 5\"". `text` is from the
 * event's filter file. NULL if it has no reason; malloc'ed. */
char *filter_error(const char *text);
