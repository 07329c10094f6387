/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Event names: the kernel's events, as the producer of linux.ftrace has told them last
 *
 * They outlive that producer, so that people can be shown what there is without starting it. The names are those of
 * the kernel's source and no secret.
 */

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-bus.h>

#include "shared/bytes.h"

#define EVENT_NAMES_BYTES_MAX (256u << 10) /* of all names; the rest is left out */
#define EVENT_NAME_MAX        128

typedef struct EventNames {
        Bytes text;       /* each with a newline behind it */
        bool has_changed; /* for whoever keeps them: since that was last reset */
} EventNames;

void event_names_deinit(EventNames *names);

/* Replace what is there. What is no "group/name" is left out. 0 or -ENOMEM: nothing has changed. */
int event_names_set(EventNames *names, const char *const *list);
int event_names_set_text(EventNames *names, const char *text);

/* An "as". */
int event_names_append(const EventNames *names, sd_bus_message *reply);
