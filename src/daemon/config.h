/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * The daemon's configuration
 *
 * desktraced.conf, and one file in producers.d for each producer that can be started when a session wants it. Files of
 * the same name in /etc win over those in /run, and those over the installed ones, as with systemd.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/macro.h"

/* A producer that is started on demand: by its bus name, its unit, or a connection to its socket. */
typedef struct ProducerEntry {
        char *name;
        char **sources; /* NULL-terminated */
        char *bus_name; /* or NULL */
        char *unit;     /* or NULL */
        char *socket;   /* its path, or NULL */
        char *instance; /* "user": only the user's service starts it; or "system"; NULL: both */
} ProducerEntry;

typedef struct DaemonConfig {
        uint64_t idle_timeout_ns;
        ProducerEntry *producers;
        size_t n_producers;
} DaemonConfig;

#define DAEMON_IDLE_TIMEOUT_NS      (UINT64_C(10) * 1000000000)
#define DAEMON_PRODUCER_ENTRIES_MAX 256

/* Reads all files. Wrong entries are logged with file and key, and counted in *ret_n_problems; the rest is used. */
int daemon_config_load(DaemonConfig *ret, size_t *ret_n_problems);
void daemon_config_deinit(DaemonConfig *config);

/* Forgets the producers that only the other instance starts. */
void daemon_config_choose(DaemonConfig *config, bool is_user);

/* A duration as in text.h, or "infinity". */
int daemon_config_parse_timeout(uint64_t *ret_ns, const char *text);
