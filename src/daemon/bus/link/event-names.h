/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event names: the kernel's events, as last reported by the producer of linux.ftrace
 *
 * They outlive that producer, so that people can list the events without starting it. The names are in the kernel's
 * source and no secret.
 */

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-bus.h>

#include "shared/bytes.h"

#define EVENT_NAMES_BYTES_MAX (256u << 10) /* of all names; the rest is left out */
#define EVENT_NAME_MAX        128

typedef struct EventNames {
        Bytes text;       /* each with a newline behind it */
        bool has_changed; /* since its reader last reset it (kept-events.c) */
} EventNames;

void event_names_deinit(EventNames *names);

/* Replace the names. Entries that are no "group/name" are left out. Returns 0 or -ENOMEM: nothing has changed. */
int event_names_set(EventNames *names, const char *const *list);
int event_names_set_text(EventNames *names, const char *text);

/* An "as". */
int event_names_append(const EventNames *names, sd_bus_message *reply);
