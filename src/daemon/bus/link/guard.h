/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Guard: a producer that the service reaches by a socket of the producer's own
 *
 * Socket= in producers.d. To connect is to have it started, so the socket is open to the service and root only. It
 * speaks D-Bus, point to point. Such a producer does not take the service's word for who may record its data sources:
 * it is told who asks for them, and asks polkit itself (probes/grant-question.h).
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
        GUARD_GRANTED, /* also when none of them could be asked */
        GUARD_DENIED,
        GUARD_NEEDS_INTERACTION,
        GUARD_UNAVAILABLE,
        GUARD_ROOT_IS_SILENT, /* the requester is root, which is believed when it is connected itself */
} GuardAnswer;

/* The query is over and freed when it returns. Never called from inside guard_ask(). */
typedef void GuardDone(void *userdata, GuardAnswer answer);

typedef struct GuardQueryOptions {
        sd_event *event;
        const Guard *guards;
        size_t n_guards;
        const char *name; /* the requester's on the message bus; NULL: */
        pid_t pid;
        uint64_t start_time;  /* of the process, in the kernel's ticks */
        const Config *config; /* stays valid */
        bool is_interactive;
        GuardDone *done;
        void *userdata;
} GuardQueryOptions;

/* Connects, without waiting for whoever is to answer. The caller closes the connection. 0 or a negative errno. */
int guard_connect(sd_bus **ret, sd_event *event, const char *path);

/* Asks each guard that has a data source of the config, one after the other, until one says no. 0 or a negative
 * errno. */
int guard_ask(GuardQuery **ret, const GuardQueryOptions *options);
GuardQuery *guard_query_free(GuardQuery *query);
DEFINE_CLEANUP(GuardQuery *, guard_query_free)
