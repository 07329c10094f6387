/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Grant question: may this requester have that recorded?
 *
 * The tracing service says who asks it for a recording; polkit is asked here, again, whether that user may. So a
 * service that has been taken over can name only requesters who are there, and gets what polkit gives these. What the
 * service says of the requester's user is not believed: the message bus is asked whose connection it is, or the kernel
 * whose process. Where nothing is wanted but to see that user's own programs, it is another action that polkit is asked
 * about, which covers nothing else. Root is not asked about at all, for everybody could be said to be root: root has to
 * be connected itself.
 */

#include <systemd/sd-bus.h>

#include "config/config.h"
#include "probes/grant.h"
#include "shared/macro.h"

typedef struct GrantQuestion GrantQuestion;

typedef enum GrantAnswer {
        GRANT_YES,
        GRANT_NO,
        GRANT_NEEDS_INTERACTION, /* polkit would have to ask, but the requester does not want that */
        GRANT_UNAVAILABLE,       /* there is no polkit, or it does not answer */
        GRANT_IS_ROOT,           /* root: for the caller to decide */
        GRANT_IS_GONE,           /* the requester is not there */
} GrantAnswer;

/* The requester: a connection on the message bus, or a process that has connected to one of its sockets. */
typedef struct GrantSubject {
        const char *name; /* on the bus; empty: */
        uint32_t pid;
        uint64_t start_time; /* of the process, in the kernel's ticks */
} GrantSubject;

/* The question is over and freed when it returns. `owner` is of GRANT_YES and GRANT_IS_ROOT. Never called from inside
 * grant_question_new(). */
typedef void GrantDone(void *userdata, GrantAnswer answer, const GrantOwner *owner);

typedef struct GrantQuestionOptions {
        sd_bus *bus; /* the message bus */
        GrantSubject subject;
        const Config *config; /* stays valid */
        bool is_interactive;
        GrantDone *done;
        void *userdata;
} GrantQuestionOptions;

/* 0 or a negative errno. */
int grant_question_new(GrantQuestion **ret, const GrantQuestionOptions *options);

/* A prompt that is on the screen goes away. */
GrantQuestion *grant_question_free(GrantQuestion *question);
DEFINE_CLEANUP(GrantQuestion *, grant_question_free)
