/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Service view: the service's objects, as lists
 *
 * Each list is an array of structs that owns them; free it with g_array_unref(). The functions report errors.
 */

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "client/session-info.h"

typedef struct ViewSource {
        char *name;
        char **producers; /* object paths */
        bool is_activatable;
        bool is_system;    /* recording it needs polkit's trace-system */
        char **categories; /* or NULL */
        char *unavailable; /* why it cannot record, or NULL */
} ViewSource;

typedef struct ViewProducer {
        char *path, *name;
        uint32_t uid, pid;
        char *unit, *app, *container; /* "" for none */
        char **sources;
        uint64_t n_memory_bytes;
} ViewProducer;

typedef struct ViewManager {
        char *version;
        uint32_t n_sessions, n_producers;
} ViewManager;

ExitStatus view_manager_get(ViewManager *ret, const BusClient *client);
void view_manager_deinit(ViewManager *manager);

/* Starts the producers that a recording would start, so that the list below includes their answers. */
ExitStatus view_activate_producers(const BusClient *client);

/* Gives running programs the time to register with a service that has just started. */
void view_await_producers(const BusClient *client);

ExitStatus view_list_sources(GArray **ret, const BusClient *client);
ExitStatus view_list_producers(GArray **ret, const BusClient *client);
ExitStatus view_list_sessions(GArray **ret, const BusClient *client); /* of SessionInfo */

/* A user's name, or else the number. Malloc'ed. */
char *view_user_name(uint32_t uid);
