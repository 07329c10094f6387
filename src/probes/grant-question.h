/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Grant question: may this requester record this?
 *
 * The tracing service says who asks it for a recording. Here polkit is asked again whether that user may do so. So a
 * service that has been taken over can only name requesters who are really there, and gets what polkit allows to these.
 * What the service says about the requester's user is not believed: the message bus is asked who owns a connection, and
 * the kernel is asked who owns a process. If the recording shows nothing but that user's own programs, polkit is asked
 * about another action, which covers nothing else. Polkit is never asked about root, because the service could claim
 * that anybody is root: root has to be connected itself.
 */

#include <systemd/sd-bus.h>

#include "config/config.h"
#include "probes/grant.h"
#include "shared/macro.h"

typedef struct GrantQuestion GrantQuestion;

typedef enum GrantAnswer {
        GRANT_YES,
        GRANT_NO,
        GRANT_NEEDS_INTERACTION, /* polkit would have to ask the user, but the requester does not want that */
        GRANT_UNAVAILABLE, /* polkit is missing, or does not answer */
        GRANT_IS_ROOT,     /* the requester is root, and the caller decides */
        GRANT_IS_GONE,     /* the requester has gone */
} GrantAnswer;

/* The requester: a connection on the message bus, or a process that has connected to one of the service's sockets. */
typedef struct GrantSubject {
        const char *name; /* on the bus; if it is empty: */
        uint32_t pid;
        uint64_t start_time; /* when the process started, in the kernel's ticks */
} GrantSubject;

/* The question is over, and is freed when this returns. `owner` is set for GRANT_YES and GRANT_IS_ROOT. Never called
 * from inside grant_question_new(). */
typedef void GrantDone(void *userdata, GrantAnswer answer, const GrantOwner *owner);

typedef struct GrantQuestionOptions {
        sd_bus *bus; /* the message bus */
        GrantSubject subject;
        const Config *config; /* stays valid */
        bool is_interactive;
        GrantDone *done;
        void *userdata;
} GrantQuestionOptions;

/* Returns 0 or a negative errno. */
int grant_question_new(GrantQuestion **ret, const GrantQuestionOptions *options);

/* If a prompt is on the screen, it disappears. */
GrantQuestion *grant_question_free(GrantQuestion *question);
DEFINE_CLEANUP(GrantQuestion *, grant_question_free)
