/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Instance state: what a recording writes to files of its tracefs instance, beside sizes and switches of events
 *
 * Filters, options, threads, CPUs: an instance has one of each, so recordings share an instance only when all of it is
 * the same. Made and checked before the kernel is touched; applied once, with recording off.
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

/* What the kernel says of a filter that it refused, made one line: "Field not found, at 11: \"prio < 5\"". `text` is of
 * the event's filter file. NULL when that says nothing; malloc'ed. */
char *filter_error(const char *text);
