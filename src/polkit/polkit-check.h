/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * Polkit check: one question to polkit, asked asynchronously
 *
 * The service and the probes each ask about the same recordings. How the question is asked, answered and taken back
 * is the same for both. Whom it is about, and what follows from the answer, is up to them.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "shared/macro.h"

#define POLKIT_TIMEOUT_USEC (UINT64_C(25) * 1000000) /* polkit only looks at its rules */
#define POLKIT_PERSON_TIMEOUT_USEC \
        (UINT64_C(5) * 60 * 1000000) /* a person may be typing a password */

/* How long polkit may still answer a question that nobody waits for, and how many such questions there may be:
 * beyond that limit they are taken back at once. */
#define POLKIT_LEFT_USEC (UINT64_C(250) * 1000)
#define POLKIT_LEFT_MAX  64

typedef struct PolkitCheck PolkitCheck;

typedef enum PolkitVerdict {
        POLKIT_VERDICT_GRANTED,
        POLKIT_VERDICT_DENIED,
        POLKIT_VERDICT_NEEDS_INTERACTION, /* polkit would ask a person, but the question does not allow it */
        POLKIT_VERDICT_UNAVAILABLE, /* polkit is not installed, or does not answer */
} PolkitVerdict;

/* A connection on the bus, or a process: then polkit knows its seat and session by its number and its start time. */
typedef struct PolkitSubject {
        uid_t uid;
        uid_t user;       /* whose limits apply, and who is named in the log */
        const char *name; /* on the bus; NULL: */
        pid_t pid;
        uint64_t start_time; /* of the process, in the kernel's ticks */
} PolkitSubject;

/* A detail that rules can examine, and that the prompt's text may name. */
typedef struct PolkitDetail {
        const char *key;
        const char *value;
} PolkitDetail;

/* Never called from inside polkit_check_new(). The check is over and freed when it is called. */
typedef void (*PolkitCheckDone)(void *userdata, PolkitVerdict verdict);

typedef struct PolkitCheckOptions {
        PolkitSubject subject;
        const char *action;
        const PolkitDetail *details;
        size_t n_details;
        bool is_interactive; /* a person may be asked */
        PolkitCheckDone done;
        void *userdata;
} PolkitCheckOptions;

/* Returns 0 or a negative errno. `bus` is the system bus; everything in the options may go when it returns. */
int polkit_check_new(PolkitCheck **ret, sd_bus *bus, const PolkitCheckOptions *options);

/* Takes the question back: a prompt that is on the screen goes away, after POLKIT_LEFT_USEC if the bus has an event
 * loop. */
PolkitCheck *polkit_check_free(PolkitCheck *check);
DEFINE_CLEANUP(PolkitCheck *, polkit_check_free)
