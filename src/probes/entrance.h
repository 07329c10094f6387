/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Entrance: the socket that starts the probes, and on which they learn for whom to record
 *
 * systemd listens on it for us, and lets only the service's user and root connect. Each peer speaks D-Bus, point to
 * point. To connect, and to be answered a Ping(), is to have the probes started.
 *
 *      Authorize(name s, pid u, start_time t, config ay, interactive b)   on /org/desktrace/Probes1
 *
 * says who wants to record what: a connection on the message bus, by its unique name, or if that is empty, a process,
 * by its number and start time (proc(5)); and the serialized TraceConfig. It is answered when polkit has answered, and
 * adds a grant (grant.h). Requests of root are granted only while root is connected, too.
 *
 *      ReadFormats(events as) -> a(ss)   there, too
 *
 * returns the text in tracefs of up to TRACING_FORMATS_MAX of the kernel's events.
 *
 * Errors are org.desktrace.Tracing1.Error.NotAuthorized, AuthorizationNeeded, PolkitUnavailable and RootIsSilent; of
 * the config, InvalidArgs; and LimitsExceeded for ENTRANCE_QUESTIONS_MAX and GRANTS_MAX.
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "probes/grant.h"
#include "shared/macro.h"

#define ENTRANCE_PEERS_MAX     64 /* connected at once; further ones are refused */
#define ENTRANCE_QUESTIONS_MAX 64 /* questions that polkit has not answered yet */

typedef struct Entrance Entrance;

/* The loop calls it when a question has come or was answered. */
typedef void EntranceAsked(void *userdata, bool is_asking);

typedef struct EntranceOptions {
        sd_event *event;
        int fd;              /* a listening socket, which the entrance takes over in any case */
        sd_bus *bus;         /* the message bus, for polkit; NULL: not connected */
        GrantBook *grants;   /* NULL if: */
        bool trusts_service; /* nobody is asked, and nothing needs a grant */
        EntranceAsked *asked;
        void *userdata;
} EntranceOptions;

/* Returns 0 or a negative errno. */
int entrance_new(Entrance **ret, const EntranceOptions *options);
Entrance *entrance_free(Entrance *entrance);
DEFINE_CLEANUP(Entrance *, entrance_free)
