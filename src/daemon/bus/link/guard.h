/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Guard: a producer that the service reaches by a socket of the producer's own
 *
 * Configured by Socket= in producers.d. Connecting starts the producer, so only the service and root may connect. Its
 * protocol is D-Bus, point to point. A guard does not take the service's word for who may record its data sources: the
 * service names the requester, and the guard asks polkit itself (probes/grant-question.h).
 */

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "config/config.h"
#include "shared/macro.h"

#define GUARD_TIMEOUT_USEC (UINT64_C(25) * 1000000) /* when nobody types a password */

typedef struct Guard {
        const char *socket;
        const char *const *sources; /* NULL-terminated */
} Guard;

typedef struct GuardQuery GuardQuery;

typedef enum GuardAnswer {
        GUARD_GRANTED, /* also if none of them could be reached */
        GUARD_DENIED,
        GUARD_NEEDS_INTERACTION,
        GUARD_UNAVAILABLE,
        GUARD_ROOT_IS_SILENT, /* the requester is root, whom guards believe only over a connection of root's own */
} GuardAnswer;

/* The query is over and freed when it returns. Never called from inside guard_ask(). */
typedef void GuardDone(void *userdata, GuardAnswer answer);

typedef struct GuardQueryOptions {
        sd_event *event;
        const Guard *guards;
        size_t n_guards;
        const char
                *name; /* of the requester on the message bus; NULL: it is known by its process */
        pid_t pid;
        uint64_t start_time;  /* of the process, in the kernel's ticks */
        const Config *config; /* stays valid */
        bool is_interactive;
        GuardDone *done;
        void *userdata;
} GuardQueryOptions;

/* Connects without waiting for the guard to answer. The caller closes the connection. Returns 0 or a negative errno. */
int guard_connect(sd_bus **ret, sd_event *event, const char *path);

/* Asks each guard with a data source in the config, one after the other, until one denies it. Returns 0 or a
 * negative errno. */
int guard_ask(GuardQuery **ret, const GuardQueryOptions *options);
GuardQuery *guard_query_free(GuardQuery *query);
DEFINE_CLEANUP(GuardQuery *, guard_query_free)
