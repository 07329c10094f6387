/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Silent sources: data sources that did not answer a flush or a stop in time
 *
 * Data that they had committed is still in the trace; data that they held back is not.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "client/json-writer.h"

typedef struct SilentSource {
        char *source, *producer;
        uint32_t uid, pid;
} SilentSource;

/* Reads a reply of Flush() or Stop(). Free with g_ptr_array_unref(). Returns 0 or an errno. */
int silent_sources_read(GPtrArray **ret, sd_bus_message *reply);

/* NULL has none. */
bool silent_sources_have(const GPtrArray *silent, const char *source, uint32_t pid);

/* Prints a line for each to stderr. */
void silent_sources_print(const GPtrArray *silent);

/* The array "silent". */
void silent_sources_write_json(const GPtrArray *silent, JsonWriter *writer);
